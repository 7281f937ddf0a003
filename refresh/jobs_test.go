package refresh_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Delays 5, 10, 20 ... 1280 s after failures 1 to 9; the 10th is the end.
func TestRetries(t *testing.T) {
	for _, outcome := range []statemachine.Outcome{failed, statemachine.Unknown} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		now := t0
		for n := 1; n <= 10; n++ {
			h := x.claim(now)
			x.do(refresh.JobNotDone{By: worker(now), Held: h, Outcome: outcome, Error: "busy"})
			j := x.job(1)
			if int(j.Attempts) != n || j.Error != "busy" || x.w.Lock != (refresh.Lock{}) {
				t.Fatalf("failure %d: %+v", n, j)
			}
			if n == 10 {
				if j.Status != refresh.JobFailed || !j.ProcessedAt.Equal(now) {
					t.Fatalf("after the 10th failure: %+v", j)
				}
				break
			}
			delay := time.Duration(5<<(n-1)) * time.Second
			if j.Status != refresh.JobPending || j.AvailableAt.Sub(now) != delay {
				t.Fatalf("failure %d: %v, due in %v", n, j.Status, j.AvailableAt.Sub(now))
			}
			if h := x.claim(now.Add(delay - time.Microsecond)); h.Job != uuid.Nil {
				t.Fatalf("failure %d: claimed before it is due", n)
			}
			now = now.Add(delay)
		}
		if h := x.claim(now.Add(24 * time.Hour)); h.Job != uuid.Nil {
			t.Error("a failed job was claimed")
		}
	}
	if d := config.RetryDelay(9); d != 1280*time.Second {
		t.Error(d)
	}
	if d := config.RetryDelay(10_000); d != 24*time.Hour {
		t.Error(d)
	}
}

func TestPermanentAndGivenBack(t *testing.T) {
	for _, c := range []struct {
		name     string
		event    refresh.JobNotDone
		status   refresh.JobStatus
		attempts int32
		due      time.Duration
	}{
		{"permanent", refresh.JobNotDone{Outcome: failed, Permanent: true}, refresh.JobFailed, 1, 0},
		{"unknown is no proof", refresh.JobNotDone{Outcome: statemachine.Unknown, Permanent: true}, refresh.JobPending, 1, 5 * time.Second},
		{"deferred", refresh.JobNotDone{Outcome: statemachine.Deferred}, refresh.JobPending, 0, 30 * time.Second},
		{"stopped", refresh.JobNotDone{Outcome: statemachine.Deferred, Stopped: true}, refresh.JobPending, 0, 0},
	} {
		x := newWorld(t)
		now := after(time.Second)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		c.event.Held, c.event.By = x.claim(now), worker(now)
		x.do(c.event)
		j := x.job(1)
		if j.Status != c.status || j.Attempts != c.attempts || j.Status == refresh.JobPending && j.AvailableAt.Sub(now) != c.due {
			t.Errorf("%s: %+v", c.name, j)
		}
		version := j.Version
		x.do(c.event) // again: no-op
		if x.job(1).Version != version {
			t.Errorf("%s: counted twice", c.name)
		}
	}
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	h := x.claim(t0)
	for _, o := range []statemachine.Outcome{0, done, 9} {
		if _, err := x.try(refresh.JobNotDone{By: worker(t0), Held: h, Outcome: o}, t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// The end of a job is stored once; the same event again changes nothing.
func TestJobDoneAgain(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	ev := refresh.JobDone{By: worker(t0), Held: x.claim(t0), Listing: listing(t0, open("r", "a"))}
	x.do(ev)
	if c := x.do(ev); !c.Empty() {
		t.Error("stored twice")
	}
}

// An invoice that no listing shows ends its attempt as failed, the last one its job: the
// same event again is not an old fence. One that shows it is, as is any end of another
// attempt.
func TestJobDoneAgainOfAnInvoiceThatIsNotListed(t *testing.T) {
	for _, attempts := range []int32{0, config.MaxRefreshRetries - 1} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", "a"))
		x.w.Jobs[0].Attempts = attempts
		ev := refresh.JobDone{By: worker(t0), Held: x.claim(t0), Listing: listing(t0, open("another", "a"))}
		x.do(ev)
		if c := x.do(ev); !c.Empty() {
			t.Error("stored twice")
		}
		shown, next := ev, ev
		shown.Listing = listing(t0, open("r", "a"))
		next.Fence++
		for _, late := range []refresh.JobDone{shown, next} {
			if _, err := x.try(late, t0); !errors.Is(err, statemachine.ErrFenced) {
				t.Errorf("%d attempts: %v", attempts, err)
			}
		}
	}
}

// A processing job whose lease has ended is due work: the next claim returns it
// first, at the cost of the attempt.
func TestOrphans(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(after(time.Second), 2, refresh.Sync, "", ""))
	x.claim(t0) // and its worker is gone
	end := after(config.LockTTL)
	if h := x.claim(end.Add(-time.Microsecond)); h.Job != uuid.Nil {
		t.Fatal("claimed under a held lock")
	}
	j := x.job(2)
	if j.Status != refresh.JobPending || j.Attempts != 0 || j.Version != 1 || !j.AvailableAt.Equal(end.Add(5*time.Second-time.Microsecond)) {
		t.Errorf("a held lock claims nothing and puts the job off: %+v", j)
	}
	if h := x.claim(end); h.Job != uuid.Nil {
		t.Fatal("nothing is due but the orphan")
	}
	j = x.job(1)
	if j.Status != refresh.JobPending || j.Attempts != 1 || j.Error != "lease expired" || !j.AvailableAt.Equal(end.Add(5*time.Second)) {
		t.Errorf("%+v", j)
	}
	if h := x.claim(end.Add(5 * time.Second)); h.Job != id(1) {
		t.Errorf("claimed %v: creation orders", h.Job)
	}
	for i := range x.w.Jobs {
		x.w.Jobs[i].Attempts = 10
	}
	x.claim(end.Add(time.Hour))
	if j := x.job(1); j.Status != refresh.JobFailed || j.Error != "lease expired" {
		t.Errorf("%+v", j)
	}
}

// An invoice with asset is not done while no listing shows its recipient.
func TestInvoiceWhoseRecipientIsNotListed(t *testing.T) {
	for status, want := range map[int]refresh.JobStatus{-1: refresh.JobPending, 0: refresh.JobCompleted, 1: refresh.JobCompleted, 2: refresh.JobCompleted, 3: refresh.JobCompleted} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", "a"))
		l := listing(t0, open("another", "a"))
		if status >= 0 {
			l.Transfers = append(l.Transfers, ended("r", "a", status))
		}
		x.pass(t0, l)
		if j := x.job(1); j.Status != want || j.Attempts != 1 || x.w.Lock != (refresh.Lock{}) {
			t.Errorf("status %d: %+v", status, j)
		}
		if x.watcher("another").Status != refresh.Watching {
			t.Error("the pass counts for the others")
		}
	}
}

func TestEnqueueRefuses(t *testing.T) {
	long := strings.Repeat("x", refresh.MaxID+1)
	for name, change := range map[string]func(*refresh.Enqueued){
		"no xpub_van":        func(e *refresh.Enqueued) { e.XpubVan = "" },
		"no xpub_col":        func(e *refresh.Enqueued) { e.XpubCol = "" },
		"no fingerprint":     func(e *refresh.Enqueued) { e.MasterFingerprint = "" },
		"a long xpub":        func(e *refresh.Enqueued) { e.XpubVan = long },
		"no text":            func(e *refresh.Enqueued) { e.XpubVan = "a\x00" },
		"no trigger":         func(e *refresh.Enqueued) { e.Cause = 0 },
		"an unknown trigger": func(e *refresh.Enqueued) { e.Cause = 99 },
		"no recipient":       func(e *refresh.Enqueued) { e.Recipient = "" },
		"a long recipient":   func(e *refresh.Enqueued) { e.Recipient = long },
		"a long asset":       func(e *refresh.Enqueued) { e.Asset = long },
		"no id":              func(e *refresh.Enqueued) { e.Job = uuid.Nil },
		"an id of time":      func(e *refresh.Enqueued) { e.Job[6] = 0x10 },
		"the year 20000":     func(e *refresh.Enqueued) { e.At = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"no actor":           func(e *refresh.Enqueued) { e.Actor = "" },
	} {
		e := enqueued(t0, 1, refresh.InvoiceCreated, "r", "a")
		change(&e)
		x := newWorld(t)
		if _, err := x.try(e, t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 1, refresh.Sync, "", ""))
	if len(x.w.Jobs) != 1 || x.w.Wallet.WorkSeq != 1 {
		t.Error("the same job twice")
	}
	if _, err := x.try(enqueued(t0, 1, refresh.Manual, "", ""), t0); !errors.Is(err, statemachine.ErrConflict) {
		t.Error(err)
	}
	// What other triggers bring is stored, and not used.
	x.do(enqueued(t0, 2, refresh.AssetSent, "r", "a"))
	if j := x.job(2); j.Recipient != "r" || j.Asset != "a" || j.Invoice() {
		t.Errorf("%+v", j)
	}
}

// At most one recovery job is pending or processing; the loser gets its id.
func TestOneRecoveryJob(t *testing.T) {
	x := newWorld(t)
	recovering := func(now time.Time, n byte) refresh.Recovering {
		return refresh.Recovering{By: by(refresh.Orchestrator, now), Job: id(n)}
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	if c := x.do(recovering(t0, 2)); !c.Empty() {
		t.Error("recovered without a watcher")
	}
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(recovering(t0, 3))
	j := x.job(3)
	if j.Cause != refresh.Recovery || j.Credentials != alice || j.Recipient != "" || j.Asset != "" {
		t.Errorf("%+v", j)
	}
	seq := x.w.Wallet.WorkSeq
	for _, ev := range []refresh.Event{recovering(t0, 4), enqueued(t0, 5, refresh.Recovery, "", "")} {
		if c := x.do(ev); c.Job != id(3) || !c.Empty() || x.w.Wallet.WorkSeq != seq {
			t.Errorf("%T: %v", ev, c.Job)
		}
	}
	h := x.claim(t0)
	if c := x.do(recovering(t0, 6)); c.Job != id(3) {
		t.Error("one in processing is live")
	}
	x.do(refresh.JobDone{By: worker(t0), Held: h, Listing: listing(t0, open("r", "a"))})
	if c := x.do(recovering(t0, 7)); c.Job != id(7) {
		t.Error("after its end a start adds one")
	}
	// A watcher past its expiry is not active.
	x = newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	if c := x.do(recovering(after(24*time.Hour), 2)); !c.Empty() {
		t.Error("recovered for an expired watcher")
	}
	if c := x.do(recovering(after(24*time.Hour-time.Microsecond), 2)); c.Empty() {
		t.Error("not recovered")
	}
	// The newest active watcher gives the credentials.
	x = newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	e := enqueued(after(time.Second), 2, refresh.Sync, "", "")
	e.XpubCol = "a newer one"
	x.do(e)
	x.pass(after(time.Second), listing(after(time.Second), open("r", "a"), open("new", "a")))
	x.do(recovering(after(time.Second), 3))
	if j := x.job(3); j.XpubCol != "a newer one" {
		t.Errorf("%+v", j)
	}
}

// Coalescing is a policy, off by default; it joins only what was never tried.
func TestCoalescing(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	if c := x.do(enqueued(t0, 2, refresh.Sync, "", "")); c.Job != id(2) {
		t.Error("off by default")
	}
	x = newWorld(t)
	x.c.Coalesce = true
	x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 9, refresh.Manual, "", ""))
	x.w.Jobs[0].AvailableAt = after(time.Hour)
	for n, cause := range map[byte]refresh.Cause{2: refresh.Sync, 3: refresh.Recovery} {
		c := x.do(enqueued(t0, n, cause, "", ""))
		if c.Job != id(1) || len(c.Log) != 0 || !x.job(1).AvailableAt.Equal(t0) || x.job(1).Version != 1 {
			t.Errorf("%v: %v %+v", cause, c.Job, x.job(1))
		}
	}
	x.do(enqueued(after(time.Hour), 8, refresh.Sync, "", ""))
	if j := x.job(1); !j.AvailableAt.Equal(t0) {
		t.Errorf("what joins put the job off to %v", j.AvailableAt.Sub(t0))
	}
	if x.w.Wallet.WorkSeq != 5 {
		t.Errorf("work sequence %d: what joins is work too", x.w.Wallet.WorkSeq)
	}
	for n, cause := range map[byte]refresh.Cause{4: refresh.Manual, 5: refresh.AssetSent} {
		if c := x.do(enqueued(t0, n, cause, "", "")); c.Job != id(n) {
			t.Errorf("%v joined", cause)
		}
	}
	h := x.claim(t0)
	x.do(refresh.JobNotDone{By: worker(t0), Held: h, Outcome: failed})
	if c := x.do(enqueued(t0, 6, refresh.Sync, "", "")); c.Job != id(6) {
		t.Error("joined a job that was tried")
	}
}

// A wallet whose calls time out rests 30, 60, ... 900 s; only expiries of
// provisional watchers are on time.
func TestHungRounds(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 2, refresh.InvoiceCreated, "p", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.claim(t0)
	x.do(enqueued(t0, 3, refresh.Sync, "", ""))
	now := t0
	for k, pause := range []time.Duration{30, 60, 120, 240, 480, 900, 900} {
		slot := x.serve(now)
		x.do(refresh.RoundEnded{By: worker(now), Slot: slot, End: refresh.EndHung})
		w := x.w.Wallet
		if int(w.HungRounds) != k+1 || w.NotBefore.Sub(now) != pause*time.Second || w.Status != refresh.Unserved || w.Slot != 0 {
			t.Fatalf("round %d: %+v", k+1, w)
		}
		if h := x.claim(w.NotBefore.Add(-time.Microsecond)); h.Job != uuid.Nil {
			t.Fatalf("round %d: a job was claimed during the pause", k+1)
		}
		if j := x.job(3); !j.Due(&w).Equal(w.NotBefore) {
			t.Errorf("due at %v", j.Due(&w))
		}
		if r := x.watcher("r"); !r.Due(&w).Equal(w.NotBefore) {
			t.Errorf("due at %v", r.Due(&w))
		}
		if p := x.watcher("p"); p.Due(&w).After(p.ExpiresAt) {
			t.Errorf("a provisional expiry is put off to %v", p.Due(&w))
		}
		x.do(refresh.RoundEnded{By: worker(w.NotBefore.Add(-time.Microsecond)), Slot: x.w.Wallet.Lease.Fence, End: refresh.EndYield})
		now = w.NotBefore
	}
	h := x.claim(now)
	if h.Job != id(3) {
		t.Fatal("not due after the pause")
	}
	c := x.do(refresh.JobDone{By: worker(now), Held: h, Listing: listing(now)})
	if w := c.New.Wallet; w.HungRounds != 0 || !w.NotBefore.IsZero() || w.Status != refresh.Served {
		t.Errorf("%+v", w)
	}
}

// A tick that was answered to its end ends a series of hung rounds; its first
// half alone does not.
func TestAnsweredTicks(t *testing.T) {
	hung := func() *world {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		x.do(refresh.RoundEnded{By: worker(t0), Slot: x.serve(t0), End: refresh.EndHung})
		return x
	}
	now := after(30 * time.Second)
	x := hung()
	x.do(refresh.Looked{By: worker(now), Slot: x.serve(now), Lock: x.fence(), Began: now, Listing: listing(now, open("r", "a"))})
	if x.w.Wallet.HungRounds != 1 {
		t.Error("the refresh was not answered yet")
	}
	x = hung()
	x.tick(now, listing(now, open("r", "a")), done)
	if x.w.Wallet.HungRounds != 0 {
		t.Error("answered")
	}
	x = hung()
	x.tick(now, listing(now, ended("r", "a", 2)), done)
	if x.w.Wallet.HungRounds != 0 {
		t.Error("answered, and nothing was left to do")
	}
}

// The exit is one commit that finds no live job, no watching row, and the work
// sequence at which the wallet was found idle.
func TestIdleExit(t *testing.T) {
	type prepare func(x *world)
	for name, c := range map[string]struct {
		prepare
		ok bool
	}{
		"nothing":       {func(x *world) {}, true},
		"a pending job": {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")) }, false},
		"a job that is not due": {func(x *world) {
			x.do(enqueued(t0, 2, refresh.Sync, "", ""))
			x.w.Jobs[1].AvailableAt = after(time.Hour)
		}, false},
		"a job in processing":     {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.claim(t0) }, false},
		"a watching row":          {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.pass(t0, listing(t0, open("r", "a"))) }, false},
		"work that came and went": {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.pass(t0, listing(t0)) }, false},
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0))
		seq := x.w.Wallet.WorkSeq
		c.prepare(x)
		slot := x.serve(t0)
		ev := refresh.RoundEnded{By: worker(t0), Slot: slot, End: refresh.EndIdle, WorkSeq: seq}
		_, err := x.try(ev, t0)
		if c.ok && (err != nil || x.w.Wallet.Status != refresh.Unserved) || !c.ok && (!errors.Is(err, statemachine.ErrIllegal) || x.w.Wallet.Status != refresh.Served) {
			t.Errorf("%s: %v, %v", name, err, x.w.Wallet.Status)
		}
		if c.ok {
			if again := x.do(ev); !again.Empty() {
				t.Error("stored twice")
			}
		}
	}
}

// The slot is a lease: who holds it, who may take it over, and under which fence.
func TestSlots(t *testing.T) {
	x := newWorld(t)
	if _, err := x.try(slotClaimed(t0, 1), t0); !errors.Is(err, statemachine.ErrIllegal) {
		t.Error(err)
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	for _, n := range []int32{-1, 0, 51} {
		if _, err := x.try(slotClaimed(t0, n), t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("slot %d: %v", n, err)
		}
	}
	x.do(slotClaimed(t0, 50))
	if w := x.w.Wallet; w.Slot != 50 || !w.UnservedSince.IsZero() || w.Lease.Holder != "w1" || w.Lease.Until.Sub(t0) != 30*time.Second {
		t.Errorf("%+v", w)
	}
	for _, now := range []time.Time{t0, after(30*time.Second - time.Microsecond)} {
		if _, err := x.try(slotClaimed(now, 2), now); !errors.Is(err, statemachine.ErrHeld) {
			t.Error("a holder that claims again:", err)
		}
		if _, err := x.try(refresh.SlotElapsed{By: by(refresh.Orchestrator, now)}, now); !errors.Is(err, statemachine.ErrHeld) {
			t.Error(err)
		}
	}
	same := slotClaimed(t0, 50)
	same.Fence = 1
	if c := x.do(same); !c.Empty() {
		t.Error("the same claim again")
	}
	end := after(30 * time.Second)
	x.do(refresh.SlotElapsed{By: by(refresh.Orchestrator, end.Add(time.Minute))})
	if w := x.w.Wallet; w.Status != refresh.Unserved || !w.UnservedSince.Equal(end) || w.Lease.Fence != 1 {
		t.Errorf("it waits from the end of the lease: %+v", w)
	}
	if c := x.do(refresh.SlotElapsed{By: by(refresh.Orchestrator, end.Add(time.Minute))}); !c.Empty() {
		t.Error("elapsed twice")
	}
	x.do(slotClaimed(end.Add(time.Minute), 1))
	if _, err := x.try(refresh.JobClaimed{By: worker(end.Add(time.Minute)), Slot: 1, Lock: 1}, end.Add(time.Minute)); !errors.Is(err, statemachine.ErrFenced) {
		t.Error("an old fence:", err)
	}
	other := refresh.JobClaimed{By: worker(end.Add(time.Minute)), Slot: 2, Lock: 1}
	other.Actor = "w2"
	if _, err := x.try(other, end.Add(time.Minute)); !errors.Is(err, statemachine.ErrFenced) {
		t.Error("another process:", err)
	}
}

// A holder that takes the lock again is held off like everybody.
func TestLock(t *testing.T) {
	x := newWorld(t)
	lock := func(now time.Time, fence int64) refresh.Locked {
		return refresh.Locked{By: by(refresh.API, now), Fence: fence}
	}
	if _, err := x.try(lock(t0, 1), t0); !errors.Is(err, statemachine.ErrNotFound) {
		t.Error(err)
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.do(lock(t0, 5))
	end := after(30 * time.Second)
	if _, err := x.try(lock(end.Add(-time.Microsecond), 6), end.Add(-time.Microsecond)); !errors.Is(err, statemachine.ErrHeld) {
		t.Error(err)
	}
	for _, old := range []int64{0, 4, 5} {
		if _, err := x.try(lock(end, old), end); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("fence %d repeats: %v", old, err)
		}
	}
	x.do(lock(end, 6))
	for _, fence := range []int64{5, 7} {
		if _, err := x.try(refresh.Unlocked{By: by(refresh.API, end), Fence: fence}, end); !errors.Is(err, statemachine.ErrFenced) {
			t.Error(err)
		}
	}
	if _, err := x.try(refresh.Unlocked{By: by(refresh.Operator, end), Fence: 6}, end); !errors.Is(err, statemachine.ErrFenced) {
		t.Error("another's lock:", err)
	}
	x.do(refresh.Unlocked{By: by(refresh.API, end), Fence: 6})
	if x.w.Lock != (refresh.Lock{}) {
		t.Error("held still")
	}
}

// Who may send what.
func TestRoles(t *testing.T) {
	allowed := map[string]string{"Enqueued": "api operator", "Recovering": "orchestrator", "SlotClaimed": "orchestrator", "SlotElapsed": "orchestrator",
		"RoundEnded": "wallet-worker", "Locked": "api operator", "Unlocked": "api operator", "JobClaimed": "wallet-worker", "JobDone": "wallet-worker",
		"JobNotDone": "wallet-worker", "Looked": "wallet-worker", "Ticked": "wallet-worker", "Elapsed": "wallet-worker"}
	for _, r := range append([]refresh.Role{0, 99}, refresh.Role(0).Values()...) {
		b := by(r, t0)
		b.Actor = "somebody"
		for _, ev := range []refresh.Event{refresh.Enqueued{By: b}, refresh.Recovering{By: b}, refresh.SlotClaimed{By: b}, refresh.SlotElapsed{By: b},
			refresh.RoundEnded{By: b}, refresh.Locked{By: b}, refresh.Unlocked{By: b}, refresh.JobClaimed{By: b}, refresh.JobDone{By: b},
			refresh.JobNotDone{By: b}, refresh.Looked{By: b}, refresh.Ticked{By: b}, refresh.Elapsed{By: b}} {
			_, err := config.Apply(refresh.Work{}, ev)
			name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "refresh.")
			want := !strings.Contains(allowed[name], r.String())
			if errors.Is(err, statemachine.ErrForbidden) != want {
				t.Errorf("%s by %v: %v", name, r, err)
			}
		}
	}
	if _, err := config.Apply(refresh.Work{}, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
}
