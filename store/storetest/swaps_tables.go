package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// everyTable: lists, what a worker holds, what is due next and what is overdue are
// asked of each of the four tables, and page by page.
func everyTable[T store.SwapUnit, A any](t *testing.T, s *swapSubject[T, A], rows func(T) store.SwapRecords[A], d swap.Direction, statuses func(*A, swap.Place)) {
	head := func(a *A) *swap.Item { return any(a).(swap.Record).Head() }
	var all []A
	for n := range 3 {
		for _, place := range swap.Place(0).Values() {
			var none A
			c := s.change(t, none, arrival(d, fmt.Sprintf("a%d%d", n, place)))
			statuses(&c.New, place)
			i := head(&c.New)
			i.CheckAt = start.Add(time.Duration(10*n+int(place)) * time.Hour)
			i.OverdueAt = i.CheckAt
			if n > 0 {
				i.Lease.Holder, i.Lease.Fence, i.Lease.Until = []string{"", "w", "other"}[n], 1, i.CheckAt.Add(30*time.Minute)
			}
			if err := s.save(c); err != nil {
				t.Fatal(err)
			}
			all = append(all, c.New)
		}
	}
	page := func(place swap.Place, after string, limit int) (ids []string) {
		got, err := read(s.Store, func(tx T) ([]A, error) { return rows(tx).List(place, after, limit) })
		if err != nil {
			t.Fatal(err)
		}
		for k := range got {
			ids = append(ids, head(&got[k]).ID)
		}
		return ids
	}
	for _, place := range swap.Place(0).Values() {
		ids := []string{fmt.Sprintf("a0%d", place), fmt.Sprintf("a1%d", place), fmt.Sprintf("a2%d", place)}
		same(t, "all", page(place, "", 5), ids)
		same(t, "the second", page(place, ids[0], 1), ids[1:2])
		same(t, "behind the last", page(place, ids[2], 5), []string(nil))
	}
	var held []string
	for after := ""; len(held) < 10; after = held[len(held)-1] {
		ids, err := read(s.Store, func(tx T) ([]string, error) { return rows(tx).HeldBy("w", after, 1) })
		if err != nil {
			t.Fatal(err)
		}
		if held = append(held, ids...); len(ids) == 0 {
			break
		}
	}
	same(t, "held", held, []string{"a11", "a12", "a13", "a14"})
	var due []time.Time
	for k := range all {
		due = append(due, head(&all[k]).DueAt())
	}
	slices.SortFunc(due, time.Time.Compare)
	for k, now := 0, time.Time(start); k < len(due); k++ {
		at, err := read(s.Store, func(tx T) (time.Time, error) { return rows(tx).NextDue(now) })
		if err != nil || !at.Equal(due[k]) {
			t.Errorf("due after %v is %v, expected %v, %v", now, at, due[k], err)
		}
		now = due[k]
	}
	// Long after all has entered its status, each is overdue.
	late := start.Add(1000 * time.Hour)
	got, err := read(s.Store, func(tx T) (swap.Stats, error) { return tx.SwapHouse().Stats(late, time.Hour) })
	if err != nil || got.Overdue != int64(len(all)) {
		t.Errorf("%d are overdue, expected %d, %v", got.Overdue, len(all), err)
	}
}

// closedAlone: of discrepancies that differ in one part of their key one is closed.
func closedAlone[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	s := newDeposits(t, db)
	id := s.newID()
	other := arrival(swap.ToUSDD, id)
	other.Amount++
	d := s.do(t, id, arrival(swap.ToUSDD, id), other)
	loose, err := swap.Unattributed(swap.Sighting{Chain: swap.Nexus, TxID: "n1", Amount: 5}, swapBy(swap.Observer, "observer"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(f func(store.SwapHouse) error) {
		t.Helper()
		if err := db.Update(ctx, func(tx T) error { return f(tx.SwapHouse()) }); err != nil {
			t.Fatal(err)
		}
	}
	open := func() (n int) {
		all, err := read(db, func(tx T) ([]swap.Discrepancy, error) {
			all, _, err := tx.SwapHouse().Discrepancies(0, 100)
			return all, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for k := range all {
			if all[k].ClosedBy == "" {
				n++
			}
		}
		return n
	}
	write(func(h store.SwapHouse) error { return h.Note(loose) })
	for _, of := range []swap.Discrepancy{loose, d.Discrepancies[0]} {
		like := []swap.Discrepancy{of, of, of, of}
		like[0].Direction, like[1].Item, like[2].Kind, like[3].Key = swap.ToUSDC, "another", swap.OwnSender, "another"
		write(func(h store.SwapHouse) error { return h.Note(like...) })
	}
	if n := open(); n != 10 {
		t.Fatalf("%d are open", n)
	}
	s.do(t, id, swap.Ordered{By: swapBy(swap.Operator, "oscar"), Order: swap.Acknowledge, Number: 1, Reason: "seen"})
	if n := open(); n != 9 {
		t.Errorf("%d are open behind one that was acknowledged", n)
	}
	for k := range 2 {
		loose.ClosedBy, loose.ClosedAt = "oscar", start.Add(time.Duration(k)*time.Hour)
		write(func(h store.SwapHouse) error { return h.Close(loose) })
	}
	all, err := read(db, func(tx T) ([]swap.Discrepancy, error) {
		all, _, err := tx.SwapHouse().Discrepancies(0, 100)
		return all, err
	})
	if n := open(); err != nil || n != 8 {
		t.Errorf("%d are open, %v", n, err)
	}
	if k := slices.IndexFunc(all, func(d swap.Discrepancy) bool { return d.Key == loose.Key && d.ClosedBy != "" }); k < 0 || !all[k].ClosedAt.Equal(start) {
		t.Errorf("closed: %+v", all)
	}
}
