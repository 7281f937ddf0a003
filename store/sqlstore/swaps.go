package sqlstore

import (
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// swaps stores the items of one direction of package swap. This file reads,
// swaps_save.go writes, swaps_house.go knows what concerns all swaps.
type swaps[A any] struct {
	feed[string]
	of *swapTables[A]
}

// swapTables are the tables of a direction with the statements on them.
type swapTables[A any] struct {
	direction swap.Direction
	machine   string
	places    []*placed[A] // in the order of [swap.Place]
	get       statement    // of all places at once: an item is in one of them
}

// placed is one of the four tables.
type placed[A any] struct {
	*table[A]
	list   statement
	remove statement
	due    *dueWork
	leases *leases
	held   statement
	stats  statement
}

var (
	depositSwaps = newSwapTables(swap.ToUSDD, depositTables)
	creditSwaps  = newSwapTables(swap.ToUSDC, creditTables)
)

// Deposits implements [store.SwapUnit].
func (t *tx) Deposits() store.DepositRecords {
	if none, lacks := t.lacks(store.DomainSwaps); lacks {
		return store.UnimplementedSwaps[swap.Deposit]{Unimplemented: none}
	}
	return swaps[swap.Deposit]{feed[string]{t, asText, []string{depositSwaps.machine}}, depositSwaps}
}

// Credits implements [store.SwapUnit].
func (t *tx) Credits() store.CreditRecords {
	if none, lacks := t.lacks(store.DomainSwaps); lacks {
		return store.UnimplementedSwaps[swap.Credit]{Unimplemented: none}
	}
	return swaps[swap.Credit]{feed[string]{t, asText, []string{creditSwaps.machine}}, creditSwaps}
}

// amountOf is the column of what came in.
var amountOf = map[swap.Direction]string{swap.ToUSDD: "amount_usdc_units", swap.ToUSDC: "amount_usdd_units"}

func newSwapTables[A any](d swap.Direction, tables map[swap.Place]*table[A]) *swapTables[A] {
	s := &swapTables[A]{direction: d}
	for _, place := range swap.Place(0).Values() {
		t := tables[place]
		s.machine = t.machine
		key := columnNames(t.key, "")
		what := newDue(due{from: "@" + t.name + " x", owner: "x." + key, where: "x.check_at IS NOT NULL",
			at:    "(CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END)",
			order: "x.item_time, x." + key})
		p := &placed[A]{table: t,
			list: t.page("", key),
			remove: statement{set: t.key, text: "DELETE FROM @" + t.name + " WHERE " + key + " IN (SELECT r." + key + " FROM {set}) RETURNING " +
				key + ", lease_until"},
			due:    what,
			leases: leaseTable(t),
			held:   t.heldBy(),
			stats: statement{text: "SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x." +
				amountOf[d] + ", EXISTS (SELECT 1 FROM @swap_intents t WHERE t.direction = '" + d.String() + "' AND t.item = x." + key +
				" AND (t.outcome IS NULL OR t.outcome = '" + statemachine.Unknown.String() + "')) FROM @" + t.name + " x WHERE " +
				map[bool]string{true: "$1 = $1 AND $2 = $2",
					false: "x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1"}[place == swap.Unprocessed]}}
		s.places = append(s.places, p)
	}
	s.get = s.getting()
	return s
}

// getting is the statement for items in whichever table they are. Each table gives the columns of the first one, which
// has exactly what a record is read from; a fixed column that has another name in another table has the same place
// there.
func (s *swapTables[A]) getting() statement {
	first := s.places[0]
	var texts []string
	for _, p := range s.places {
		var names []string
		for k, c := range strings.Split(first.all, ", ") {
			if !slices.Contains(strings.Split(p.all, ", "), c) {
				c = strings.Split(p.all, ", ")[k]
			}
			names = append(names, c)
		}
		texts = append(texts, "SELECT "+columnNames(strings.Join(names, ", "), "x.")+" FROM @"+p.name+" x WHERE "+p.sameKey("x", "r"))
	}
	return statement{once: true, each: first.key, text: strings.Join(texts, " UNION ALL ")}
}

func head[A any](a *A) *swap.Item { return any(a).(swap.Record).Head() }

var (
	intentsOf = statement{once: true, each: "direction text, item text",
		text: "SELECT " + intentTable.columns("x.") + " FROM @swap_intents x WHERE x.direction = r.direction AND x.item = r.item"}
	discrepanciesOf = statement{once: true, each: "direction text, item text",
		text: "SELECT x.n, " + discrepancyTable.columns("x.") + " FROM @swap_discrepancies x WHERE x.direction = r.direction AND x.item = r.item"}
)

// Get implements [store.DepositRecords]. One statement asks all tables, so that an item
// which moves meanwhile is found in one of them, and a new one costs no more.
func (w swaps[A]) Get(ids ...string) ([]A, error) {
	stored, set := make(map[string]*A, len(ids)), new(batch)
	for _, id := range ids {
		set.add(id)
	}
	err := w.of.places[0].read(w.tx, &w.of.get, set, func(a *A) {
		one := *a
		stored[head(&one).ID] = &one
	})
	if err != nil {
		return nil, err
	}
	if err := w.complete(stored); err != nil {
		return nil, err
	}
	found := make([]A, len(ids))
	for k, id := range ids {
		if a := stored[id]; a != nil {
			found[k] = *a
		}
	}
	return found, nil
}

// complete adds intents and discrepancies.
func (w swaps[A]) complete(stored map[string]*A) error {
	set := new(batch)
	for id := range stored {
		set.add(w.of.direction, id)
	}
	if set.len() == 0 {
		return nil
	}
	err := intentTable.read(w.tx, &intentsOf, set, func(r *intentRow) {
		i := head(stored[r.item])
		i.Intents = append(i.Intents, r.Intent)
	})
	if err != nil {
		return err
	}
	order := map[string][]int64{}
	var n int64
	var d swap.Discrepancy
	fields := append([]any{&n}, discrepancyTable.cells(&d)...)
	err = w.tx.read(&discrepanciesOf, set, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return located(err, discrepancyTable.name, n)
		}
		i := head(stored[d.Item])
		at, _ := slices.BinarySearch(order[d.Item], n)
		order[d.Item] = slices.Insert(order[d.Item], at, n)
		i.Discrepancies = slices.Insert(i.Discrepancies, at, d)
		return nil
	})
	for _, a := range stored {
		slices.SortFunc(head(a).Intents, func(a, b swap.Intent) int { return int(a.Number - b.Number) })
	}
	return err
}

// Due implements [store.DepositRecords].
func (w swaps[A]) Due(now time.Time, limit int) ([]A, error) { return w.due(now, time.Time{}, limit) }

// Overslept implements [store.DepositRecords].
func (w swaps[A]) Overslept(latest time.Time, limit int) ([]A, error) {
	return w.due(time.Time{}, latest, limit)
}

func (w swaps[A]) due(now, latest time.Time, limit int) ([]A, error) {
	var all []A
	for _, p := range w.of.places {
		found, _, err := dueOf(w.tx, w.of.machine, p.due, now, latest, 0, limit, w.Get)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b A) int { return swap.CompareDue(head(&a), head(&b)) })
	return all[:min(len(all), limit)], nil
}

// NextDue implements [store.DepositRecords].
func (w swaps[A]) NextDue(now time.Time) (next time.Time, err error) {
	for _, p := range w.of.places {
		at, err := p.due.nextDue(w.tx, now, 0)
		if err != nil {
			return next, err
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

// List implements [store.DepositRecords].
func (w swaps[A]) List(place swap.Place, after string, limit int) ([]A, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	p := w.of.places[place-1]
	page, err := p.find(w.tx, &p.list, nil, after, int64(limit))
	if err != nil {
		return nil, err
	}
	stored := make(map[string]*A, len(page))
	for k := range page {
		stored[head(&page[k]).ID] = &page[k]
	}
	return page, w.complete(stored)
}

// HeldBy implements [store.DepositRecords].
func (w swaps[A]) HeldBy(holder, after string, limit int) (all []string, err error) {
	for _, p := range w.of.places {
		held, err := w.ids(&p.held, after, limit, holder)
		if err != nil {
			return nil, err
		}
		all = append(all, held...)
	}
	slices.Sort(all)
	return all[:min(len(all), limit)], nil
}

var (
	oldestDeposit = statement{text: "SELECT min(item_time) FROM @unprocessed_sigs WHERE (status IS NULL OR status <> '" +
		swap.DepositQuarantineFailed.String() + "') AND $1 = $1"}
	oldestCredit = statement{text: "SELECT min(item_time) FROM @unprocessed_txids WHERE gone_at IS NULL OR gone_at >= $1"}
)

// Oldest implements [store.DepositRecords].
func (w swaps[A]) Oldest(vanished time.Time) (at time.Time, err error) {
	st := &oldestDeposit
	if w.of.direction == swap.ToUSDC {
		st = &oldestCredit
	}
	var n sql.NullInt64
	err = w.tx.read(st, nil, func(rows *sql.Rows) error { return rows.Scan(&n) }, vanished)
	if n.Valid {
		at = time.Unix(n.Int64, 0).UTC()
	}
	return at, err
}

// Renew implements [store.DepositRecords]: each lease in the table where its item is.
func (w swaps[A]) Renew(now time.Time, held ...store.Lease[string]) ([]string, error) {
	left := slices.Clone(held)
	for _, p := range w.of.places {
		lost, err := renew(w.tx, p.leases, w.of.machine, now, left)
		if err != nil || len(lost) == 0 {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(l store.Lease[string]) bool { return !slices.Contains(lost, l.ID) })
	}
	lost := make([]string, len(left))
	for i, r := range left {
		lost[i] = r.ID
	}
	return lost, nil
}
