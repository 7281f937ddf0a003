package sqlstore

import (
	"database/sql"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// swapRows are the rows of a Save in one table, by what happens to them.
type swapRows struct {
	changed, touched, removed, added batch
}

// Save implements [store.DepositRecords]. A row that changes its table is compared in the old one, by a touch, then
// deleted there and inserted into the new one, with the end of its lease that the touch has left.
func (w swaps[A]) Save(changes ...swap.Change[A]) error {
	return w.save(w.of.machine, func() error {
		tables := make([]swapRows, len(w.of.places))
		var intents, answered, discrepancies, dealt batch
		var log []statemachine.Transition[string]
		moved := map[string]A{}
		for i := range changes {
			c := &changes[i]
			if err := c.Complete(); err != nil {
				return err
			}
			old, now := any(&c.Old).(swap.Record), any(&c.New).(swap.Record)
			from, to := int(old.Place())-1, int(now.Place())-1
			switch {
			case now.Head().Version == 0: // of no item
			case from < 0:
				w.of.places[to].insertRow(&tables[to].added, &c.New)
			case from != to:
				w.of.places[from].touchRow(&tables[from].touched, &c.Old, &c.New)
				tables[from].removed.add(now.Head().ID)
				moved[now.Head().ID] = c.New
			case now.Head().Version != old.Head().Version:
				w.of.places[to].updateRow(&tables[to].changed, &c.Old, &c.New)
			case c.Touched:
				w.of.places[to].touchRow(&tables[to].touched, &c.Old, &c.New)
			}
			newIntents, oldIntents := c.Intents()
			for _, in := range newIntents {
				intentTable.insertRow(&intents, &intentRow{w.of.direction, now.Head().ID, in})
			}
			for _, in := range oldIntents {
				intentTable.alterRow(&answered, &intentRow{w.of.direction, now.Head().ID, in})
			}
			noted, closed := c.Discrepancies()
			for i := range noted {
				discrepancyTable.insertRow(&discrepancies, &noted[i])
			}
			for i := range closed {
				discrepancyTable.alterRow(&dealt, &closed[i])
			}
			log = append(log, c.Log...)
		}
		for k, p := range w.of.places {
			changed, touched := writing{&p.updateOne, &tables[k].changed}, writing{&p.touchOne, &tables[k].touched}
			if err := p.lockInOrder(w.tx, changed, touched); err != nil {
				return err
			}
		}
		for k, p := range w.of.places {
			if err := p.compareAndSwap(w.tx, &p.updateOne, &tables[k].changed); err != nil {
				return err
			}
			if err := p.compareAndSwap(w.tx, &p.touchOne, &tables[k].touched); err != nil {
				return err
			}
			var id string
			var until time.Time
			err := w.tx.read(&p.remove, &tables[k].removed, func(rows *sql.Rows) error {
				if err := rows.Scan(&id, maybe(&until)); err != nil {
					return located(err, p.name, id)
				}
				a := moved[id]
				head(&a).Lease.Until = until
				to := any(&a).(swap.Record).Place() - 1
				w.of.places[to].insertRow(&tables[to].added, &a)
				return nil
			})
			if err != nil {
				return err
			}
		}
		for k, p := range w.of.places {
			if err := w.tx.some(&p.insertOne, &tables[k].added); err != nil {
				return err
			}
		}
		return inTurn(
			func() error { return w.tx.some(&intentTable.insertOne, &intents) },
			func() error { return w.tx.some(&alterIntents, &answered) },
			func() error { return discrepancyRows.add(w.tx, &discrepancies) },
			func() error { return w.tx.some(&alterDiscrepancies, &dealt) },
			func() error { return logTransitions(w.tx, log) })
	})
}

var (
	alterIntents       = intentTable.alter()
	alterDiscrepancies = discrepancyTable.alter()
)
