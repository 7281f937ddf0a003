package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// swapHouse is what concerns all swaps.
type swapHouse struct{ *tx }

// SwapHouse implements [store.SwapUnit].
func (t *tx) SwapHouse() store.SwapHouse {
	if none, lacks := t.lacks(store.DomainSwaps); lacks {
		return store.UnimplementedSwapHouse{Unimplemented: none}
	}
	return swapHouse{t}
}

var (
	selectControl   = statement{text: "SELECT " + controlTable.columns("x.") + " FROM @swap_control x WHERE x.id = 1"}
	lockControl     = statement{text: selectControl.text + " FOR NO KEY UPDATE"}
	selectWaterline = statement{text: "SELECT " + waterlineTable.columns("x.") + " FROM @swap_waterlines x WHERE x.chain = $1 AND x.own = $2"}
	allWaterlines   = statement{text: "SELECT " + waterlineTable.columns("x.") + " FROM @swap_waterlines x"}
	ofReference     = statement{text: "SELECT direction, item FROM @swap_intents WHERE reference = $1"}
	ofClaim         = statement{text: "SELECT direction, item FROM @swap_intents WHERE claim = $1"}
	openOnes        = statement{text: "SELECT count(*) FROM @swap_discrepancies WHERE closed_by IS NULL"}
)

// Control implements [store.SwapHouse]. The migration makes the row.
func (h swapHouse) Control(lock bool) (swap.Control, error) {
	if lock && h.view {
		return swap.Control{}, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: controlTable.machine, Event: "lock",
			Reason: "a View locks nothing"}
	}
	st := &selectControl
	if lock && h.store.Dialect == Postgres {
		st = &lockControl
	}
	all, err := controlTable.find(h.tx, st, nil)
	if err != nil || len(all) == 0 {
		return swap.Control{}, err
	}
	return all[0].Control, nil
}

// OfReference implements [store.SwapHouse].
func (h swapHouse) OfReference(reference uint64) (swap.Direction, string, error) {
	if reference == 0 || reference > swap.MaxAmount {
		return 0, "", nil
	}
	return h.item(&ofReference, int64(reference))
}

// OfClaim implements [store.SwapHouse].
func (h swapHouse) OfClaim(claim string) (swap.Direction, string, error) {
	return h.item(&ofClaim, claim)
}

func (h swapHouse) item(st *statement, key any) (d swap.Direction, id string, err error) {
	err = h.tx.read(st, nil, func(rows *sql.Rows) error { return rows.Scan(always(&d), &id) }, key)
	return d, id, err
}

// SaveControl implements [store.SwapHouse].
func (h swapHouse) SaveControl(old, now swap.Control) error {
	return h.save(controlTable.machine, func() error {
		rows := new(batch)
		controlTable.updateRow(rows, &controlRow{1, old}, &controlRow{1, now})
		n, err := h.write(&controlTable.updateOne, rows)
		if err == nil && n != 1 {
			err = &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: controlTable.machine, Event: "save",
				Reason: fmt.Sprintf("version %d is not the stored one", old.Version)}
		}
		return err
	})
}

// Waterline implements [store.SwapHouse].
func (h swapHouse) Waterline(chain swap.Chain, own bool) (swap.Waterline, error) {
	all, err := waterlineTable.find(h.tx, &selectWaterline, nil, chain.String(), own)
	if err != nil || len(all) == 0 {
		return swap.Waterline{Chain: chain, Own: own}, err
	}
	return all[0], nil
}

// SaveWaterline implements [store.SwapHouse].
func (h swapHouse) SaveWaterline(old, now swap.Waterline) error {
	return h.save(waterlineTable.machine, func() error {
		rows := new(batch)
		st := &waterlineTable.updateOne
		if old.Version == 0 {
			st = &waterlineTable.insertOne
			waterlineTable.insertRow(rows, &now)
		} else {
			waterlineTable.updateRow(rows, &old, &now)
		}
		n, err := h.write(st, rows)
		if err == nil && n != 1 {
			err = &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: waterlineTable.machine, ID: now.Chain.String(), Event: "save",
				Reason: fmt.Sprintf("version %d is not the stored one", old.Version)}
		}
		return err
	})
}

// Note implements [store.SwapHouse].
func (h swapHouse) Note(all ...swap.Discrepancy) error {
	return h.save("swap discrepancy", func() error {
		rows := new(batch)
		for i := range all {
			discrepancyTable.insertRow(rows, &all[i])
		}
		return discrepancyRows.add(h.tx, rows)
	})
}

var closeDiscrepancy = func() statement {
	st := alterDiscrepancies
	st.text = strings.Replace(st.text, "closed_by = r.closed_by, closed_at = r.closed_at",
		"closed_by = coalesce(x.closed_by, r.closed_by), closed_at = coalesce(x.closed_at, r.closed_at)", 1)
	return st
}()

// Close implements [store.SwapHouse].
func (h swapHouse) Close(d swap.Discrepancy) error {
	return h.save("swap discrepancy", func() error {
		rows := new(batch)
		discrepancyTable.alterRow(rows, &d)
		n, err := h.write(&closeDiscrepancy, rows)
		if err == nil && n == 0 {
			err = &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "swap discrepancy", ID: d.Key, Event: "close"}
		}
		return err
	})
}

// Discrepancies implements [store.SwapHouse].
func (h swapHouse) Discrepancies(after int64, limit int) ([]swap.Discrepancy, int64, error) {
	return discrepancyRows.pageOf(h.tx, after, limit)
}

// Stats implements [store.SwapHouse]: it reads what is unprocessed, and of the
// rest what ended in the window or is overdue. The domain counts.
func (h swapHouse) Stats(now time.Time, window time.Duration) (swap.Stats, error) {
	tally := swap.NewTally(now, window)
	from := now.Add(-window)
	err := tallied(h, depositSwaps, func(d *swap.Deposit) any { return depositStatus{&d.Status} }, tally.Deposit, from, now)
	if err == nil {
		err = tallied(h, creditSwaps, func(c *swap.Credit) any { return always(&c.Status) }, tally.Credit, from, now)
	}
	if err != nil {
		return swap.Stats{}, err
	}
	lines, err := waterlineTable.find(h.tx, &allWaterlines, nil)
	if err != nil {
		return swap.Stats{}, err
	}
	for i := range lines {
		tally.Waterline(&lines[i])
	}
	row, err := h.Control(false)
	if err != nil {
		return swap.Stats{}, err
	}
	tally.Control(row)
	s := tally.Stats()
	err = h.tx.read(&openOnes, nil, func(rows *sql.Rows) error { return rows.Scan(&s.Discrepancies) })
	return s, err
}

// tallied counts the items of a direction by the columns that the statistics need.
func tallied[A any](h swapHouse, of *swapTables[A], status func(*A) any, count func(*A), from, now time.Time) error {
	for _, p := range of.places {
		var a A
		var open bool
		i := head(&a)
		fields := []any{status(&a), always(&i.Stored), always(&i.Entered), maybe(&i.Hold.Kind), maybe(&i.Hold.At),
			maybe(&i.OverdueAt), maybe(&i.ByHand.At),
			always(&i.Amount), &open}
		err := h.tx.read(&p.stats, nil, func(rows *sql.Rows) error {
			err := rows.Scan(fields...)
			if i.Intents = nil; open {
				i.Intents = []swap.Intent{{Number: 1}} // of which nobody knows what became
			}
			count(&a)
			return located(err, p.name, "")
		}, from, now)
		if err != nil {
			return err
		}
	}
	return nil
}
