package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// tables are items in each of the four tables of a direction, as they are stored.
type tables[A any] struct {
	*swapSubject[A]
	rows func(store.SwapUnit) store.SwapRecords[A]
	set  func(*A, swap.Place) // its own columns, the status of a place with them
	all  []A                  // five by number, each in every place; in later places older ones become due later
	line statemachine.Transition[string]
}

func (s *tables[A]) head(a *A) *swap.Item { return any(a).(swap.Record).Head() }

// everyTable: each of the eight tables is asked for items that are due, listed, held, overdue and counted, and a write
// changes only the one item that was read. Deposits and credits have the same ids.
func (db *swaps) everyTable(t *testing.T) {
	ds := newTables(t, db.deposits, func(tx store.SwapUnit) store.SwapRecords[swap.Deposit] { return tx.Deposits() }, swap.ToUSDD,
		func(d *swap.Deposit, place swap.Place) {
			d.Status = []swap.DepositStatus{swap.DepositReady, swap.DepositProcessed, swap.DepositRefunded, swap.DepositQuarantined}[place-1]
			d.Memo, d.Read = fmt.Sprint("memo ", d.Version), !d.Read
		})
	cs := newTables(t, db.credits, func(tx store.SwapUnit) store.SwapRecords[swap.Credit] { return tx.Credits() }, swap.ToUSDC,
		func(c *swap.Credit, place swap.Place) {
			c.Status = []swap.CreditStatus{swap.CreditReady, swap.CreditProcessed, swap.CreditRefunded, swap.CreditQuarantined}[place-1]
			c.Account, c.Confirmations, c.SettledBy = fmt.Sprint("account ", c.Version), uint64(c.Version), c.Version
			c.GoneAt, c.Collecting = start.Add(time.Duration(c.Version)*time.Hour), !c.Collecting
		})
	// All have just come in the window, or are overdue for long.
	for _, now := range []time.Time{start.Add(time.Hour), start.Add(1000 * time.Hour)} {
		tally := swap.NewTally(now, time.Hour)
		for k := range ds.all {
			tally.Deposit(&ds.all[k])
			tally.Credit(&cs.all[k])
		}
		got := must(read(db.Store, func(tx store.SwapUnit) (swap.Stats, error) { return tx.SwapHouse().Stats(now, time.Hour) }))(t)
		same(t, "the statistics", got, tally.Stats())
	}
	ds.proves(t)
	cs.proves(t)
}

func newTables[A any](t *testing.T, of *swapSubject[A], rows func(store.SwapUnit) store.SwapRecords[A], d swap.Direction,
	set func(*A, swap.Place)) *tables[A] {
	s := &tables[A]{swapSubject: of, rows: rows, set: set}
	for n := range 5 {
		for _, place := range swap.Place(0).Values() {
			o := arrival(d, fmt.Sprintf("a%d%d", n, place))
			o.Time = o.Time.Add(-time.Duration(10*int(place)+[]int{0, 0, 1, 1, 0}[n]) * time.Hour)
			var none A
			c := s.change(t, none, o)
			set(&c.New, place)
			i := s.head(&c.New)
			i.CheckAt = start.Add(time.Duration(10*int(place)+[]int{0, 1, 2, 1, 1}[n]) * time.Hour)
			i.OverdueAt = i.CheckAt
			i.Lease = statemachine.Lease{Holder: []string{"", "w", "other", "w", "w"}[n], Fence: 1, Until: i.CheckAt.Add(90 * time.Minute)}
			if n == 3 { // it ends before the item is due
				i.Lease.Until = start.Add(time.Hour)
			}
			noError(t, s.save(c))
			s.all, s.line = append(s.all, c.New), c.Log[0]
		}
	}
	return s
}

func (s *tables[A]) proves(t *testing.T) {
	s.stored(t, "new ones")
	s.reads(t)
	s.renewals(t)
	s.writes(t)
}

func (s *tables[A]) stored(t *testing.T, what string) {
	t.Helper()
	got := must(read(s.Store, func(tx store.SwapUnit) ([]A, error) { return s.rows(tx).Get(s.ids(s.all)...) }))(t)
	same(t, what, got, s.all)
}

func (s *tables[A]) ids(of []A) (ids []string) {
	for k := range of {
		ids = append(ids, s.id(&of[k]))
	}
	return ids
}

func (s *tables[A]) reads(t *testing.T) {
	for _, place := range swap.Place(0).Values() {
		var all []A
		for k := range s.all {
			if any(&s.all[k]).(swap.Record).Place() == place {
				all = append(all, s.all[k])
			}
		}
		for _, limit := range []int{1, 6} {
			inPages(t, place.String(), all, func(after *A, _ int) ([]A, error) {
				behind := ""
				if after != nil {
					behind = s.id(after)
				}
				return read(s.Store, func(tx store.SwapUnit) ([]A, error) { return s.rows(tx).List(place, behind, limit) })
			})
		}
	}
	inPages(t, "held", []string{"a11", "a12", "a13", "a14", "a31", "a32", "a33", "a34", "a41", "a42", "a43", "a44"},
		func(after *string, _ int) ([]string, error) {
			return read(s.Store, func(tx store.SwapUnit) ([]string, error) { return s.rows(tx).HeldBy("w", orZero(after), 1) })
		})
	for k := range s.all {
		s.compareDue(t, &s.due[0], s.all, s.head(&s.all[k]).DueAt(), false)
	}
}

// renewals of all at once: the first have no holder, the third another fence, and the
// fourth have just ended.
func (s *tables[A]) renewals(t *testing.T) {
	now, until := start.Add(time.Hour), start.Add(2*time.Hour)
	var ask []store.Lease[string]
	var lost, want []string
	for k := range s.all {
		i := s.head(&s.all[k])
		n := k / len(swap.Place(0).Values())
		ask = append(ask, store.Lease[string]{ID: i.ID, Fence: []int64{1, 1, 2, 1, 1}[n], Until: until})
		if n == 1 || n == 4 {
			i.Lease.Until = until
		} else {
			want = append(want, i.ID)
		}
	}
	err := s.Update(ctx, func(tx store.SwapUnit) (err error) {
		lost, err = s.rows(tx).Renew(now, ask...)
		return err
	})
	if slices.Sort(lost); err != nil || !slices.Equal(lost, want) {
		t.Errorf("lost are %v, expected %v, %v", lost, want, err)
	}
	s.stored(t, "after renewals")
}

// step moves the due time and the lease's end of an item: in a touch, or with a new
// version in a table, which changes all that a version can.
func (s *tables[A]) step(a A, to swap.Place) swap.Change[A] {
	c := swap.Change[A]{Old: a, New: a, Touched: to == 0}
	i := s.head(&c.New)
	i.CheckAt, i.Lease.Until = i.CheckAt.Add(tick), i.Lease.Until.Add(time.Hour)
	if to != 0 {
		i.Version++
		s.set(&c.New, to)
		n := i.Version
		later, units, kind := start.Add(time.Duration(n)*time.Minute), uint64(n), 1+n%2
		i.Entered, i.LookedBack, i.OverdueAt, i.Stood, i.Lost = later, n, later, time.Duration(n), n
		i.Terms, i.Fees = swap.Terms{Frozen: !i.Terms.Frozen, Net: units, Fee: units, Min: units}, units
		i.Tried, i.Checked, i.Attempts = !i.Tried, !i.Checked, swap.Attempts{int32(n), int32(n), int32(n)}
		i.ByHand = swap.ByHand{Reference: fmt.Sprint("ref", n), Actor: fmt.Sprint("oscar", n), At: later}
		i.Reason, i.Hold = swap.RefundReason(kind), swap.Hold{Kind: swap.HoldKind(kind), At: later, Reason: fmt.Sprint(n)}
		line := s.line
		line.ID, line.Version, line.From = i.ID, i.Version, line.To
		c.Log = append(c.Log, line)
	} else {
		i.Lost++ // which a touch does not write
	}
	return c
}

// writes: an item of each table is touched, another changed there, and one goes around from
// table to table, each as it was read. The end of a lease stays under its holder and fence.
func (s *tables[A]) writes(t *testing.T) {
	places := swap.Place(0).Values()
	for n, give := range []func(*statemachine.Lease){func(*statemachine.Lease) {}, func(l *statemachine.Lease) { l.Fence++ },
		func(l *statemachine.Lease) { l.Holder += "x" }} {
		for k, place := range places {
			next := places[(k+1)%len(places)]
			for _, to := range []swap.Place{0, place, next} {
				a := &s.all[len(places)+k]
				switch to {
				case 0: // beside another one with the same version and lease
					a = &s.all[3*len(places)+k]
				case next:
					a = &s.all[len(places)]
				}
				what := fmt.Sprintf("lease %d, %v to %v", n, place, to)
				if n == 0 {
					stale := *a
					s.head(&stale).Version++
					refusedWith(t, s.save(s.step(stale, to)), statemachine.ErrConflict, what+": of a version that is not stored")
					for name, forge := range s.outside {
						c, want := s.step(*a, to), statemachine.ErrConflict
						if forge(&c.Old); s.lease(&c.Old).Fence != s.lease(a).Fence {
							want = statemachine.ErrFenced
						}
						refusedWith(t, s.save(c), want, what+": of another "+name+" than the stored one")
					}
				}
				c := s.step(*a, to)
				give(s.lease(&c.New))
				if err := s.save(c); err != nil {
					t.Fatal(what, ": ", err)
				}
				until, lost := s.lease(a).Until, s.head(a).Lost
				if *a = c.New; n == 0 {
					s.lease(a).Until = until
				}
				if to == 0 {
					s.head(a).Lost = lost
				}
				s.stored(t, what)
			}
		}
	}
}

// closedAlone: of discrepancies that differ in one part of their key one is closed.
func (db *swaps) closedAlone(t *testing.T) {
	s := db.deposits
	id := s.newID()
	other := arrival(swap.ToUSDD, id)
	other.Amount++
	d := s.do(t, id, arrival(swap.ToUSDD, id), other)
	loose := must(swap.Unattributed(swap.Sighting{Chain: swap.Nexus, TxID: "n1", Amount: 5}, swapBy(swap.Observer, "observer")))(t)
	write := func(f func(store.SwapHouse) error) {
		t.Helper()
		noError(t, db.Update(ctx, func(tx store.SwapUnit) error { return f(tx.SwapHouse()) }))
	}
	open := func(want int) (all []swap.Discrepancy) {
		t.Helper()
		all = everyPage(t, 100, db.service.Discrepancies)
		closed := func(d swap.Discrepancy) bool { return d.ClosedBy != "" }
		if n := len(slices.DeleteFunc(slices.Clone(all), closed)); n != want {
			t.Fatalf("%d are open, expected %d", n, want)
		}
		return all
	}
	write(func(h store.SwapHouse) error { return h.Note(loose) })
	for _, of := range []swap.Discrepancy{loose, d.Discrepancies[0]} {
		like := []swap.Discrepancy{of, of, of, of}
		like[0].Direction, like[1].Item, like[2].Kind, like[3].Key = swap.ToUSDC, "another", swap.OwnSender, "another"
		write(func(h store.SwapHouse) error { return h.Note(like...) })
	}
	open(10)
	s.do(t, id, swap.Acknowledged{By: swapBy(swap.Operator, "oscar"), Number: 1, Reason: "seen"})
	open(9)
	for k := range 2 {
		loose.ClosedBy, loose.ClosedAt = "oscar", start.Add(time.Duration(k)*time.Hour)
		write(func(h store.SwapHouse) error { return h.Close(loose) })
	}
	all := open(8)
	if k := slices.IndexFunc(all, func(d swap.Discrepancy) bool { return d.Key == loose.Key && d.ClosedBy != "" }); k < 0 ||
		!all[k].ClosedAt.Equal(start) {
		t.Errorf("closed: %+v", all)
	}
}
