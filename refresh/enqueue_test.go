package refresh_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// How a job comes to be, or joins one that is there.

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
	x.do(refresh.JobDone{By: worker(t0), Fences: h, Listing: listing(t0, open("r", "a"))})
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
	x.do(refresh.JobNotDone{By: worker(t0), Fences: h, Outcome: failed})
	if c := x.do(enqueued(t0, 6, refresh.Sync, "", "")); c.Job != id(6) {
		t.Error("joined a job that was tried")
	}
}
