package swap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

// No history after a restore draws a number of the history before it, whatever the copy knows.
func TestReferencesAfterARestoreAreAboveAllBefore(t *testing.T) {
	at := time.Unix(1_800_000_000, 5).UTC()
	raised := uint64(1_800_000_000 << 20)
	for _, local := range []uint64{0, raised - 1, raised, raised + 1} {
		c := swap.Control{Reference: local}.Restored(at)
		if want := max(local, raised); c.Reference != want {
			t.Errorf("from %d to %d, not %d", local, c.Reference, want)
		}
		if next, err := c.Draw(); err != nil || next.Reference != c.Reference+1 || next.Reference > 1<<53 {
			t.Errorf("the next one is %d, %v", next.Reference, err)
		}
		if c, err := c.Seed(c.Reference + 7); err != nil || c.Reference != max(local, raised)+7 {
			t.Errorf("seeded to %d, %v", c.Reference, err)
		}
	}
	if c := (swap.Control{Reference: 3}).Restored(time.Unix(-5, 0)); c.Reference != 3 {
		t.Errorf("by a clock of before 1970: %d", c.Reference)
	}
	// The copy that this line of history has left drew 1,000 numbers each second.
	first := swap.Control{Reference: 41}.Restored(at)
	drawn := first.Reference + 1000*3600
	if again := (swap.Control{Reference: 41}).Restored(at.Add(time.Hour)); again.Reference <= drawn {
		t.Errorf("a number up to %d comes again: %d", drawn, again.Reference)
	}
}

// What came in before a restore is stored after the finished rows of then, since a row that is
// stored is not rebuilt.
func TestWhatCameInBeforeARestoreWaitsForMissingSaid(t *testing.T) {
	forgot := open.Restored(t0)
	system := by(swap.System, t0)
	said, err := forgot.SaysMissing(system, t0)
	if again, err2 := said.SaysMissing(system, t0.Add(time.Hour)); err != nil || err2 != nil || again != said {
		t.Fatalf("%+v, %v, said again %+v, %v", said, err, again, err2)
	}
	after := t0.Add(policy.WaterlineMargin)
	for _, c := range []struct {
		name    string
		control swap.Control
		at      time.Time
		waits   bool
	}{
		{"before", forgot, after.Add(-time.Second), true},
		{"at an unknown time", forgot, time.Time{}, true},
		{"after", forgot, after, false},
		{"before, and it was said", said, after.Add(-time.Second), false},
		{"before, at a store that was never restored", swap.Control{}, after.Add(-time.Second), false},
	} {
		o := observedDeposit("sig1", amount)
		o.Time, o.Control, o.At = c.at, c.control, t0.Add(time.Hour)
		r := deposits(t)
		r.now, r.ctl = o.At, c.control
		if err := r.try(o); (err != nil) != c.waits || c.waits && (!errors.Is(err, swap.ErrUnsettled) || !errors.Is(err, switches.ErrOnHold)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// In this order the row is rebuilt, and seen again it is the same.
	debit := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "ab", Reference: 3, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0}
	o := observedDeposit("sig1", amount)
	o.Control = forgot
	r := deposits(t).do(swap.Recovered{By: system, Observed: o, Memo: "nexus:carol", Action: swap.Send, Seen: debit}).is("debit_confirmed")
	if r.do(o); len(r.last.Log)+len(r.last.Notes) != 0 {
		t.Errorf("seen again: %+v", r.last)
	}
	// An item that nobody can attribute is made while the others wait.
	deposits(t).do(swap.Recovered{By: system, Observed: o, Memo: "nexus:carol"}).is("detected")
}

func TestWhoEndsARestore(t *testing.T) {
	forgot := open.Restored(t0)
	for _, role := range append(swap.Role(0).Values(), 0) {
		who := by(role, t0)
		_, missing := forgot.SaysMissing(who, t0)
		_, books := forgot.ReadsBooks(who, t0)
		if allowed := role == swap.Operator || role == swap.System; (missing == nil) != allowed || !allowed && !errors.Is(missing, statemachine.ErrForbidden) {
			t.Errorf("%v says missing: %v", role, missing)
		}
		if allowed := role == swap.Operator; (books == nil) != allowed || !allowed && !errors.Is(books, statemachine.ErrForbidden) {
			t.Errorf("%v reads the books: %v", role, books)
		}
	}
	if c, err := (swap.Control{}).ReadsBooks(by(swap.Operator, t0), t0); err != nil || c != (swap.Control{}) {
		t.Errorf("nothing was restored: %+v, %v", c, err)
	}
	nobody := swap.By{Role: swap.Operator}
	if _, err := forgot.ReadsBooks(nobody, t0); err == nil {
		t.Error("nobody reads the books")
	}
}

// A direction is not started before all that concerns every item is known; each point stands
// open alone, whatever was said first.
func TestADirectionIsNotStartedWhileAPointStandsOpen(t *testing.T) {
	say := map[string]func(swap.Control) swap.Control{
		"MissingSaid": func(c swap.Control) swap.Control { c, _ = c.SaysMissing(by(swap.System, t0), t0); return c },
		"BooksRead":   func(c swap.Control) swap.Control { c, _ = c.ReadsBooks(by(swap.Operator, t0), t0); return c },
		"solana":      func(c swap.Control) swap.Control { return c.Scanned(swap.Solana) },
		"nexus":       func(c swap.Control) swap.Control { return c.Scanned(swap.Nexus) },
	}
	for missing := range say {
		c := open.Restored(t0)
		for name, said := range say {
			if name != missing {
				c = said(c)
			}
		}
		if err := c.Unsettled(); !errors.Is(err, swap.ErrUnsettled) || !errors.Is(err, switches.ErrUnsettled) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(missing)) {
			t.Errorf("without %s: %v", missing, err)
		}
		if c = say[missing](c); c.Unsettled() != nil {
			t.Errorf("all was said: %v", c.Unsettled())
		}
		if again := c.Restored(t0.Add(time.Hour)); again.Unsettled() == nil || !again.MissingSaid.IsZero() || !again.BooksRead.IsZero() {
			t.Errorf("what was said of an earlier restore counts: %+v", again)
		}
	}
	if err := (swap.Control{}).Unsettled(); err != nil {
		t.Errorf("nothing was restored: %v", err)
	}
}

// What was lost in the copy may have been requeued and paid since.
func TestWhatIsBehindIsNotRequeued(t *testing.T) {
	r := refunded(t)
	r.wait(time.Hour).missing(1).is("refunded").kinds(swap.OutboundLost)
	o := swap.Requeued{By: r.operator(), Reason: "once more"}
	o.Control = restored(r).ctl
	version := r.i().Version
	if r.refused(o, swap.ErrUnsettled); r.i().Version != version {
		t.Errorf("something changed: %+v", r.i())
	}
	// No worker is offered a finished item: whoever has read both histories tells of them.
	r.wait(time.Hour).missing(0)
	o.By = r.operator()
	r.do(o).is("refund pending")
}

// A scan that began before the restore has stored what it found in a database that is no more: it
// moves no waterline. One of what came in moves none before MissingSaid.
func TestAWaterlineIsOfItsGeneration(t *testing.T) {
	forgot := open.Restored(t0)
	said, _ := forgot.SaysMissing(by(swap.System, t0), t0)
	for _, own := range []bool{false, true} {
		for _, x := range []struct {
			control    swap.Control
			generation int64
			moves      bool
		}{
			{swap.Control{}, 0, true}, {open, 1, true}, {open, 0, false},
			{forgot, 1, false}, {forgot, 2, own}, {said, 1, false}, {said, 2, true}, {said, 3, false},
		} {
			s := policy.NextScan(swap.Waterline{Chain: swap.Nexus, Own: own}, swap.Control{Generation: x.generation}, t0)
			s.From, s.Complete, s.Tip = t0.Add(-time.Hour), true, t0
			w := policy.Advance(swap.Waterline{Chain: swap.Nexus, Own: own}, x.control, s, time.Time{}, t0)
			if (w.Version > 0) != x.moves || w.At.IsZero() == x.moves {
				t.Errorf("own %v, a scan of %d at %+v: %+v", own, x.generation, x.control, w)
			}
		}
	}
}
