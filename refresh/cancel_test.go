package refresh_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
)

// TestCancellationTruthTable is the whole truth table of the source: status, kind, and the
// expiration around now and around now - DURATION_RCV_TRANSFER.
func TestCancellationTruthTable(t *testing.T) {
	now := t0.Add(300 * time.Millisecond) // whole unix seconds are compared
	sec := now.Unix()
	day := int64(24 * 60 * 60)
	cells := 0
	for status := -1; status <= 4; status++ {
		for kind := -1; kind <= 4; kind++ {
			for _, c := range []struct {
				expiration  int64
				blind, rest bool // what a blind receive, and any other kind, may do
			}{
				{0, false, false}, {-1, false, false}, {math.MinInt64, false, false},
				{sec - 1, true, false}, {sec, false, false}, {sec + 1, false, false}, {math.MaxInt64, false, false},
				{sec - day - 1, true, true}, {sec - day, true, false}, {sec - day + 1, true, false}, {1, true, true},
			} {
				want := status == 0 && kind >= 0 && kind <= 3 && (kind == 1 && c.blind || kind != 1 && c.rest)
				got := config.CanCancel(refresh.Transfer{Recipient: "r", Status: status, Kind: kind, Expiration: c.expiration}, now)
				if got != want {
					t.Errorf("status %d, kind %d, expiration now%+d: %v", status, kind, c.expiration-sec, got)
				}
				cells++
			}
		}
	}
	if cells != 396 {
		t.Errorf("%d cells", cells)
	}
	short := config
	short.DurationRcvTransfer = time.Hour
	witness := refresh.Transfer{Kind: refresh.ReceiveWitness, Expiration: sec - 3601}
	if !short.CanCancel(witness, now) || config.CanCancel(witness, now) {
		t.Error("DURATION_RCV_TRANSFER is policy")
	}
}

// Each transfer of which something is unknown is reported; the others go on.
func TestFaultyTransfersAreReportedAndNeverEnded(t *testing.T) {
	past := t0.Unix() - 100
	faulty := []refresh.Transfer{
		{Recipient: "unknown status", Status: 9, Kind: 1, Expiration: past, HasIndex: true},
		{Recipient: "unknown status 2", Status: -1, Kind: 1, Expiration: past, HasIndex: true},
		{Recipient: "unknown kind", Status: 2, Kind: 9, HasIndex: true},
		{Recipient: "unknown kind open", Status: 0, Kind: 9, Expiration: past, HasIndex: true},
		{Recipient: "negative expiration", Status: 3, Kind: 1, Expiration: -1},
		{Recipient: "negative index", Status: 3, Kind: 1, Index: -1, HasIndex: true},
		{Recipient: "no text", Status: 2, Kind: 1, Asset: "\x00"},
		{Recipient: "far", Status: 0, Kind: 1, Expiration: t0.Add(refresh.MaxAhead).Unix() + 1},
		{Recipient: "no index", Status: 0, Kind: 1, Expiration: past},
	}
	good := refresh.Transfer{Recipient: "good", Status: 2, Kind: 1, HasIndex: true, Index: 5}
	x := newWorld(t)
	for i, f := range append(faulty, good) {
		x.do(enqueued(t0, byte(10+i), refresh.InvoiceCreated, f.Recipient, ""))
		x.claim(t0)
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	c := x.pass(t0, listing(t0, append(faulty, good)...))
	if len(c.Faults) != len(faulty) {
		t.Errorf("%d faults: %v", len(c.Faults), c.Faults)
	}
	for _, f := range faulty {
		if w := x.watcher(f.Recipient); w.Status != refresh.Watching {
			t.Errorf("%s is %v", f.Recipient, w.Status)
		}
	}
	if w := x.watcher("good"); w.Status != refresh.Settled {
		t.Errorf("good is %v", w.Status)
	}
	cancel, _ := config.PlanPass(listing(t0, append(faulty, good)...), 0)
	if len(cancel) != 0 {
		t.Errorf("cancels %v", cancel)
	}
}

// A status number that a newer node has added does not end a transfer: the transfer gets its
// watcher, and at the expiry an operator learns that it was open.
func TestATransferInAnUnknownStatusIsWatched(t *testing.T) {
	for _, status := range []int{-1, refresh.TransferFailed + 1} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", "rgb:a"))
		x.pass(t0, listing(t0,
			refresh.Transfer{Recipient: "r", Asset: "rgb:a", Status: status, Kind: refresh.ReceiveBlind, Index: 1, HasIndex: true}))
		if w := x.watcher("r"); x.job(1).Status != refresh.JobCompleted || w.Status != refresh.Watching || w.Provisional {
			t.Errorf("status %d: the job is %v, the watcher %v", status, x.job(1).Status, w.Status)
		}
	}
}

// A watcher waits for the expiration of its transfer, whatever else of the transfer is unknown;
// an impossible expiration counts as none.
func TestAnUnknownTransferIsWatchedUntilItsExpiration(t *testing.T) {
	in2d := t0.Add(48 * time.Hour).Unix()
	with := func(change func(*refresh.Transfer)) refresh.Transfer {
		o := open("r", "rgb:a")
		o.Expiration = in2d
		change(&o)
		return o
	}
	const day, late = 24 * time.Hour, (48+24)*time.Hour + 30*time.Second
	for name, c := range map[string]struct {
		listed refresh.Transfer
		lives  time.Duration
	}{
		"known":               {with(func(*refresh.Transfer) {}), late},
		"unknown status":      {with(func(o *refresh.Transfer) { o.Status = 9 }), late},
		"unknown kind":        {with(func(o *refresh.Transfer) { o.Kind = 9 }), late},
		"negative index":      {with(func(o *refresh.Transfer) { o.Index = -1 }), late},
		"negative":            {with(func(o *refresh.Transfer) { o.Expiration = -1 }), day},
		"too far":             {with(func(o *refresh.Transfer) { o.Expiration = t0.Add(refresh.MaxAhead).Unix() + 1 }), day},
		"too far and unknown": {with(func(o *refresh.Transfer) { o.Expiration, o.Status = math.MaxInt64, 9 }), day},
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, c.listed))
		if w := x.watcher("r"); w.ExpiresAt.Sub(t0) != c.lives {
			t.Errorf("%s, by a pass: lives %v, want %v", name, w.ExpiresAt.Sub(t0), c.lives)
		}
		x = newWorld(t) // a tick that takes the asset over
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
		x.claim(t0)
		x.tick(t0, listing(t0, c.listed), done)
		if w := x.watcher("r"); w.Provisional || w.ExpiresAt.Sub(t0) != c.lives {
			t.Errorf("%s, by a tick: lives %v, want %v", name, w.ExpiresAt.Sub(t0), c.lives)
		}
	}
}

// A batch is cancelled as a whole: not while one of it may be paid, or has time.
func TestABatchThatMayBePaidIsNotCancelled(t *testing.T) {
	old := refresh.Transfer{Recipient: "a", Kind: refresh.ReceiveBlind, Expiration: t0.Unix() - 1, Index: 7, HasIndex: true}
	for name, c := range map[string]struct {
		sibling func(*refresh.Transfer)
		called  bool
	}{
		"also due":      {func(*refresh.Transfer) {}, true},
		"failed":        {func(s *refresh.Transfer) { s.Status = refresh.TransferFailed }, true},
		"confirming":    {func(s *refresh.Transfer) { s.Status = refresh.WaitingConfirmations }, false},
		"settled":       {func(s *refresh.Transfer) { s.Status = refresh.TransferSettled }, false},
		"unknown":       {func(s *refresh.Transfer) { s.Status = 9 }, false},
		"has time":      {func(s *refresh.Transfer) { s.Expiration = t0.Unix() }, false},
		"another batch": {func(s *refresh.Transfer) { s.Status, s.Index = refresh.TransferSettled, 8 }, true},
		"in no batch":   {func(s *refresh.Transfer) { s.Status, s.HasIndex = refresh.TransferSettled, false }, true},
	} {
		sibling := old
		sibling.Recipient = "b"
		c.sibling(&sibling)
		for _, all := range [][]refresh.Transfer{{old, sibling}, {sibling, old}} {
			cancel, faults := config.PlanPass(listing(t0, all...), 0)
			if c.called && fmt.Sprint(cancel) != "[7]" || !c.called && (len(cancel) != 0 || len(faults) == 0) {
				t.Errorf("%s: cancels %v, %v", name, cancel, faults)
			}
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.InvoiceCreated, "a", "usd"))
			x.pass(t0, listing(t0, refresh.Transfer{Recipient: "a", Kind: refresh.ReceiveBlind, Asset: "usd"}))
			now := t0.Add(time.Minute)
			look := x.do(refresh.Looked{By: worker(now), Slot: x.serve(now), Lock: x.fence(), Began: now, Listing: listing(now, all...)})
			if got := fmt.Sprint(look.Tick.Cancel); c.called && got != "[7]" || !c.called && got != "[]" && name != "has time" {
				t.Errorf("%s: a tick cancels %v", name, got)
			}
		}
	}
}

// A tick calls failtransfers once for each index, in the order of the listing; the answer holds
// for every open transfer of that index.
func TestOneCancellationForEachIndex(t *testing.T) {
	past := t0.Unix() - 1
	old := func(recipient string, index int32) refresh.Transfer {
		return refresh.Transfer{Recipient: recipient, Kind: refresh.ReceiveBlind, Expiration: past, Index: index, HasIndex: true}
	}
	sibling := refresh.Transfer{Recipient: "sibling", Kind: refresh.Send, Status: 3, Index: 7, HasIndex: true}
	nobody := old("", 0) // no recipient, and 0 is an index
	l := listing(t0, old("b", 7), old("a", 7), sibling, nobody, old("c", 3))
	cancel, faults := config.PlanPass(l, 0)
	if fmt.Sprint(cancel, faults) != "[7 0 3] []" {
		t.Fatal(cancel, faults)
	}
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, l, refresh.Cancelled{Index: 7, Outcome: done}, refresh.Cancelled{Index: 0, Outcome: done},
		refresh.Cancelled{Index: 3, Outcome: failed})
	if len(x.w.Watchers) != 1 || x.watcher("c").Status != refresh.Watching {
		t.Errorf("watchers %+v", x.w.Watchers)
	}
}
