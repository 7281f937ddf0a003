package storetest

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

func (db *swaps) houseVersions(t *testing.T) {
	control := func() swap.Control { return must(db.service.Control(ctx))(t) }
	old := control()
	now := old.Restored(start.Add(time.Hour)).Scanned(swap.Solana).Scanned(swap.Nexus)
	now = must(now.SaysMissing(swapBy(swap.System, "host"), start.Add(4*time.Hour)))(t)
	now = must(now.ReadsBooks(swapBy(swap.Operator, "oscar"), start.Add(5*time.Hour)))(t)
	now = must(now.Seed(now.Reference + 41))(t)
	save := func() error {
		return db.Update(ctx, func(tx store.SwapUnit) error { return tx.SwapHouse().SaveControl(old, now) })
	}
	noError(t, save())
	same(t, "the control row", control(), now)
	refusedWith(t, save(), statemachine.ErrConflict, "a stale control row")
	refusedWith(t, db.View(ctx, func(tx store.SwapUnit) error {
		return tx.SwapHouse().SaveControl(now, now.Restored(start.Add(9*time.Hour)))
	}), statemachine.ErrIllegal, "a write in a view")
	refusedWith(t, db.View(ctx, func(tx store.SwapUnit) error { return errOf(tx.SwapHouse().Control(true)) }),
		statemachine.ErrIllegal, "a lock in a view")
	noError(t, errors.Join(atOnce(concurrentAttempts, func(int) error {
		return db.Update(ctx, func(tx store.SwapUnit) error {
			c, err := tx.SwapHouse().Control(true)
			if err != nil {
				return err
			}
			next, err := c.Draw()
			if err != nil {
				return err
			}
			return tx.SwapHouse().SaveControl(c, next)
		})
	})...))
	if c := control(); c.Reference != now.Reference+uint64(concurrentAttempts) {
		t.Errorf("%d draws end at %d", concurrentAttempts, c.Reference)
	}

	for _, own := range []bool{false, true} {
		w, err := read(db.Store, func(tx store.SwapUnit) (swap.Waterline, error) { return tx.SwapHouse().Waterline(swap.Nexus, own) })
		if err != nil || !w.At.IsZero() || w.Chain != swap.Nexus || w.Own != own {
			t.Fatalf("a new waterline is %+v, %v", w, err)
		}
		for k := range 2 {
			next := w
			next.At, next.Version = start.Add(time.Duration(k)*time.Hour), w.Version+1
			put := func() error {
				return db.Update(ctx, func(tx store.SwapUnit) error { return tx.SwapHouse().SaveWaterline(w, next) })
			}
			noError(t, put())
			refusedWith(t, put(), statemachine.ErrConflict, "a stale waterline")
			w = must(read(db.Store, func(tx store.SwapUnit) (swap.Waterline, error) { return tx.SwapHouse().Waterline(swap.Nexus, own) }))(t)
			same(t, "a waterline", w, next)
		}
	}
}

func (db *swaps) discrepancies(t *testing.T) {
	s := db.deposits
	id := s.newID()
	other := arrival(swap.ToUSDD, id)
	other.Amount++
	s.do(t, id, arrival(swap.ToUSDD, id), other, other)
	loose := must(swap.Unattributed(swap.Sighting{Chain: swap.Nexus, TxID: "n1", Amount: 5}, swapBy(swap.Observer, "observer")))(t)
	for range 2 {
		noError(t, db.Update(ctx, func(tx store.SwapUnit) error { return tx.SwapHouse().Note(loose) }))
	}
	page := func() []swap.Discrepancy { return everyPage(t, 1, db.service.Discrepancies) }
	all := page()
	if len(all) != 2 || all[0].Kind != swap.InboundChanged || all[0].Item != id {
		t.Fatalf("recorded are %+v", all)
	}
	same(t, "one of no item", all[1], loose)
	dated(db.Store, start)
	for _, who := range []string{"oscar", "somebody later"} {
		noError(t, db.service.Acknowledge(ctx, who, loose))
	}
	if got := page()[1]; got.ClosedBy != "oscar" || got.ClosedAt.IsZero() {
		t.Errorf("closed: %+v", got)
	}
	loose.Key = "no such thing"
	refusedWith(t, db.service.Acknowledge(ctx, "oscar", loose), statemachine.ErrNotFound, "one that was not recorded")
	refusedWith(t, db.service.Acknowledge(ctx, "oscar", all[0]), statemachine.ErrIllegal, "one of an item")
	huge := arrival(swap.ToUSDD, s.newID())
	huge.Amount = math.MaxUint64
	for range 2 {
		none, err := db.service.Deposits.Do(ctx, huge.ID, huge)
		if now := page(); err != nil || none.Version != 0 || len(now) != 3 || now[2].Kind != swap.InboundTooLarge || now[2].Key != huge.ID ||
			now[2].Amount != swap.MaxAmount {
			t.Fatalf("more than an item has: %+v, %v, recorded are %+v", none, err, now)
		}
	}
	d := s.do(t, id, swap.Acknowledged{By: swapBy(swap.Operator, "oscar"), Number: 1, Reason: "a fork"})
	if all = page(); all[0].ClosedBy != "oscar" || !all[0].ClosedAt.Equal(start) || d.Discrepancies[0] != all[0] {
		t.Errorf("dealt with: %+v", all[0])
	}
}

// scans are of the store's clock, and the history of the vault is an observer's.
func (db *swaps) scansOfTheStore(t *testing.T) {
	live(db.Store)
	noError(t, db.Update(ctx, func(tx store.SwapUnit) error {
		old, err := tx.SwapHouse().Control(true)
		c := old
		c.SolanaScanned, c.Version = false, old.Version+1
		return errors.Join(err, tx.SwapHouse().SaveControl(old, c))
	}))
	for _, own := range []bool{false, true} {
		_, scan, err := db.service.Waterline(ctx, swap.Solana, own)
		noError(t, err)
		scan.From, scan.Complete, scan.Tip = scan.Began.Add(-time.Hour), true, scan.Began
		ahead := scan
		ahead.Began = ahead.Began.Add(time.Hour)
		refusedWith(t, errOf(db.service.Scanned(ctx, swap.Solana, own, ahead)), statemachine.ErrInvalid, "a scan from the future")
		if w, err := db.service.Scanned(ctx, swap.Solana, own, scan); err != nil ||
			!w.Seen.Equal(scan.Began.Add(-swaptest.Policy().WaterlineMargin)) {
			t.Errorf("scanned: %+v, %v", w, err)
		}
		c, err := db.service.Control(ctx)
		if err != nil || own != c.SolanaScanned {
			t.Errorf("own %v: %+v, %v", own, c, err)
		}
	}
	s, err := db.service.Stats(ctx, time.Hour)
	if err != nil || s.OldestScan.IsZero() || s.At.Sub(s.OldestScan) > time.Hour {
		t.Errorf("read up to %v at %v, %v", s.OldestScan, s.At, err)
	}
	refusedWith(t, db.service.Outbound(ctx, swap.By{}, swap.Sighting{}), statemachine.ErrForbidden, "an outbound by nobody")
	refusedWith(t, db.service.Outbound(ctx, swapBy(swap.Observer, "o"), swap.Sighting{}), statemachine.ErrInvalid, "no outbound")
}

func (db *swaps) oldestItem(t *testing.T) {
	d, c := db.deposits, db.credits
	oldest := func(of swap.Direction, vanished time.Time) time.Time {
		return must(read(db.Store, func(tx store.SwapUnit) (time.Time, error) {
			if of == swap.ToUSDD {
				return tx.Deposits().Oldest(vanished)
			}
			return tx.Credits().Oldest(vanished)
		}))(t)
	}
	if at := oldest(swap.ToUSDD, start); !at.IsZero() {
		t.Errorf("nothing is as old as %v", at)
	}
	for k := range 3 {
		for _, of := range []swap.Direction{swap.ToUSDD, swap.ToUSDC} {
			o := arrival(of, fmt.Sprint("old", k))
			o.Time = start.Truncate(time.Second).Add(-time.Duration(3-k) * time.Hour)
			if of == swap.ToUSDD {
				d.do(t, o.ID, o)
			} else {
				c.do(t, o.ID, o)
			}
		}
	}
	want := func(of swap.Direction, vanished time.Time, hours int) {
		t.Helper()
		if at := oldest(of, vanished); !at.Equal(start.Truncate(time.Second).Add(-time.Duration(hours) * time.Hour)) {
			t.Errorf("the oldest %v is of %v", of, at)
		}
	}
	want(swap.ToUSDD, start, 3)
	want(swap.ToUSDC, start, 3)
	c.do(t, "old0", swap.Confirmations{By: swapBy(swap.Observer, "observer"), Asked: start, Gone: true})
	want(swap.ToUSDC, start, 3)
	want(swap.ToUSDC, start.Add(tick), 2)
	// A scan waits for those of its chain, and for what has vanished lately.
	live(db.Store)
	now := must(read(db.Store, func(tx store.SwapUnit) (time.Time, error) { return tx.Now() }))(t)
	c.do(t, "old1", swap.Confirmations{By: swap.By{Actor: "observer", Role: swap.Observer}, Asked: now, Gone: true})
	for _, s := range []struct {
		chain swap.Chain
		own   bool
		hours int
	}{{swap.Solana, false, 3}, {swap.Nexus, false, 2}, {swap.Solana, true, 0}} {
		_, scan, err := db.service.Waterline(ctx, s.chain, s.own)
		noError(t, err)
		scan.From, scan.Complete, scan.Tip = scan.Began.Add(-time.Hour), true, scan.Began
		at := scan.Tip
		if s.hours > 0 {
			at = start.Truncate(time.Second).Add(-time.Duration(s.hours) * time.Hour)
		}
		if w, err := db.service.Scanned(ctx, s.chain, s.own, scan); err != nil || !w.At.Equal(at.Add(-swaptest.Policy().WaterlineMargin)) {
			t.Errorf("%+v: %+v, %v", s, w, err)
		}
	}
}

func (db *swaps) swapStatistics(t *testing.T) {
	d, c := db.deposits, db.credits
	ds, cs := d.population(t, nil), c.population(t, nil)
	ended := d.newID() // at least one has ended, and has a discrepancy
	micro, changed := arrival(swap.ToUSDD, ended), arrival(swap.ToUSDD, ended)
	micro.Amount = 5
	worker := swapBy(swap.Worker, "worker")
	d.do(t, ended, micro, swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:carol"}},
		swap.Elapsed{By: worker}, changed)
	held := d.newID() // and at least one is held
	d.do(t, held, arrival(swap.ToUSDD, held), swap.Held{By: swapBy(swap.Operator, "oscar"), Reason: "x"})
	ds = append(ds, ended, held)
	refunded := c.newID() // it has ended before the window, and nobody knows how
	c.do(t, refunded, arrival(swap.ToUSDC, refunded), swap.Confirmations{By: swapBy(swap.Observer, "observer"),
		Count: 2}, swap.Claimed{By: worker},
		swap.MappingLooked{By: worker, Finding: swap.MappingFound, TxID: refunded, Owner: "bob", Account: "bob-usdc"},
		swap.AccountChecked{By: worker, State: swap.AccountClosed},
		swap.Begun{By: worker, Fence: 1, Number: 1, Action: swap.Refund}, swap.Answered{By: worker, Fence: 1, Number: 1,
			Outcome: statemachine.Done, TxID: "refund" + refunded})
	byHand := c.newID() // it has ended, too, and is given back by hand later, in the window
	c.do(t, byHand, arrival(swap.ToUSDC, byHand), swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2},
		swap.RefundOrdered{By: swapBy(swap.Operator, "oscar"), Reason: "x"},
		swap.QuarantineOrdered{By: swapBy(swap.Operator, "oscar"), Reason: "x"},
		swap.Settled{By: swap.By{Actor: "oscar", Role: swap.Operator, At: start.Add(25 * time.Hour)}, Reference: "refund 1", Reason: "x"})
	cs = append(cs, refunded, byHand)
	now := swaptest.Start.Add(30 * time.Hour)
	for _, window := range []time.Duration{time.Hour, 20 * time.Hour, now.Sub(start), 1000 * time.Hour} {
		tally := swap.NewTally(now, window)
		deposits := must(read(db.Store, func(tx store.SwapUnit) ([]swap.Deposit, error) { return tx.Deposits().Get(ds...) }))(t)
		credits := must(read(db.Store, func(tx store.SwapUnit) ([]swap.Credit, error) { return tx.Credits().Get(cs...) }))(t)
		for k := range deposits {
			tally.Deposit(&deposits[k])
			for n := range deposits[k].Discrepancies {
				tally.Discrepancy(&deposits[k].Discrepancies[n])
			}
		}
		for k := range credits {
			tally.Credit(&credits[k])
			for n := range credits[k].Discrepancies {
				tally.Discrepancy(&credits[k].Discrepancies[n])
			}
		}
		got := must(read(db.Store, func(tx store.SwapUnit) (swap.Stats, error) { return tx.SwapHouse().Stats(now, window) }))(t)
		want := tally.Stats()
		same(t, "the statistics", got, want)
		if want.Backlog == 0 || want.Ended() == 0 && window > 100*time.Hour || want.Discrepancies == 0 || want.Overdue == 0 || want.Held == 0 ||
			want.GivenBack == 0 && window > 10*time.Hour {
			t.Errorf("this counts too little: %+v", want)
		}
	}
}
