package refresh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Each change breaks one invariant of a sound record.
func TestCheck(t *testing.T) {
	sound := func() refresh.Work {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 2, refresh.InvoiceCreated, "p", ""), enqueued(t0, 3, refresh.Recovery, "", ""))
		x.pass(t0, listing(t0, open("r", "a"), open("s", "a")))
		x.claim(t0)
		x.tick(t0, listing(t0, ended("s", "a", 2), open("r", "a")), done)
		x.claim(t0) // the recovery job is in processing
		return x.w
	}
	if err := refresh.Check(sound()); err != nil {
		t.Fatal(err)
	}
	if err := refresh.Check(refresh.Work{}); err != nil {
		t.Fatal(err)
	}
	w := sound()
	if w.Jobs[2].Status != refresh.JobProcessing || len(w.Watchers) != 3 || w.Watchers[1].Status != refresh.Settled ||
		!w.Watchers[2].Provisional {
		t.Fatalf("%+v", w)
	}
	for name, change := range map[string]func(*refresh.Work){
		"wallet status":        func(w *refresh.Work) { w.Wallet.Status = 9 },
		"wallet version":       func(w *refresh.Work) { w.Wallet.Version = 0 },
		"wallet xpub":          func(w *refresh.Work) { w.Wallet.XpubVan = "" },
		"work sequence":        func(w *refresh.Work) { w.Wallet.WorkSeq = 0 },
		"no slot":              func(w *refresh.Work) { w.Wallet.Slot = 0 },
		"no lease":             func(w *refresh.Work) { w.Wallet.Lease.Holder = "" },
		"served and waiting":   func(w *refresh.Work) { w.Wallet.UnservedSince = t0 },
		"hung without a pause": func(w *refresh.Work) { w.Wallet.HungRounds = 1 },
		"wallet time":          func(w *refresh.Work) { w.Wallet.CreatedAt = time.Time{} },
		"another's lock":       func(w *refresh.Work) { w.Lock.XpubVan = "x" },
		"a lock without fence": func(w *refresh.Work) { w.Lock.Lease.Fence = 0 },
		"a lock of no length":  func(w *refresh.Work) { w.Lock.LockedAt = w.Lock.Lease.Until },
		"job status":           func(w *refresh.Work) { w.Jobs[0].Status = 0 },
		"job id":               func(w *refresh.Work) { w.Jobs[0].ID[6] = 0 },
		"job twice":            func(w *refresh.Work) { w.Jobs[0].ID = w.Jobs[1].ID },
		"job of another":       func(w *refresh.Work) { w.Jobs[0].XpubVan = "x" },
		"no credentials":       func(w *refresh.Work) { w.Jobs[0].XpubCol = "" },
		"no recipient":         func(w *refresh.Work) { w.Jobs[1].Recipient = "" },
		"no attempt":           func(w *refresh.Work) { w.Jobs[0].Attempts = 0 },
		"leased at the end":    func(w *refresh.Work) { w.Jobs[0].Lease.Holder = "w" },
		"processing unleased":  func(w *refresh.Work) { w.Jobs[2].Lease.Holder = "" },
		"no processed_at":      func(w *refresh.Work) { w.Jobs[0].ProcessedAt = time.Time{} },
		"early processed_at":   func(w *refresh.Work) { w.Jobs[2].ProcessedAt = t0 },
		"job time":             func(w *refresh.Work) { w.Jobs[0].AvailableAt = time.Time{} },
		"a long error":         func(w *refresh.Work) { w.Jobs[0].Error = string(make([]byte, 1001)) },
		"two in processing": func(w *refresh.Work) {
			j := w.Jobs[2]
			j.ID, j.Cause = id(9), refresh.Sync
			w.Jobs = append(w.Jobs, j)
		},
		"two recoveries": func(w *refresh.Work) {
			j := w.Jobs[2]
			j.ID, j.Status, j.Lease.Holder = id(9), refresh.JobPending, ""
			w.Jobs = append(w.Jobs, j)
		},
		"watcher status":         func(w *refresh.Work) { w.Watchers[0].Status = 0 },
		"watcher recipient":      func(w *refresh.Work) { w.Watchers[0].Recipient = "" },
		"watcher of another":     func(w *refresh.Work) { w.Watchers[0].XpubVan = "x" },
		"watcher twice":          func(w *refresh.Work) { w.Watchers[0].Recipient = "s" },
		"provisional with asset": func(w *refresh.Work) { w.Watchers[2].Asset = "a" },
		"ended without a time":   func(w *refresh.Work) { w.Watchers[1].EndedAt = time.Time{} },
		"ended without a reason": func(w *refresh.Work) { w.Watchers[1].EndReason = 0 },
		"watching with an end":   func(w *refresh.Work) { w.Watchers[0].EndedAt = t0 },
		"a reason that is not its status": func(w *refresh.Work) {
			w.Watchers[1].EndReason = refresh.EndGone
		},
		"refresh count":                 func(w *refresh.Work) { w.Watchers[0].RefreshCount = -1 },
		"no next tick":                  func(w *refresh.Work) { w.Watchers[0].NextAt = time.Time{} },
		"no expiry":                     func(w *refresh.Work) { w.Watchers[0].ExpiresAt = time.Time{} },
		"an end before the end":         func(w *refresh.Work) { w.Watchers[0].EndSeq = 1 },
		"an end that is later than all": func(w *refresh.Work) { w.Watchers[1].EndSeq = w.Wallet.WorkSeq + 1 },
		"a job that is later than all":  func(w *refresh.Work) { w.Jobs[0].Seq = w.Wallet.WorkSeq + 1 },
		"a job that ended after all":    func(w *refresh.Work) { w.Jobs[0].EndSeq = w.Wallet.WorkSeq + 1 },
		"a lock that is later than all": func(w *refresh.Work) { w.Lock.Seq = w.Wallet.WorkSeq + 1 },
		"a live job that ended":         func(w *refresh.Work) { w.Jobs[2].EndSeq = 1 },
		"a job before all":              func(w *refresh.Work) { w.Jobs[0].Seq = -1 },
		"a long last error":             func(w *refresh.Work) { w.Watchers[0].LastError = string(make([]byte, 1001)) },
	} {
		w := sound()
		change(&w)
		if err := refresh.Check(w); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unserved := sound()
	unserved.Wallet.Slot, unserved.Wallet.Lease.Holder, unserved.Wallet.Status = 0, "", refresh.Unserved
	if err := refresh.Check(unserved); !errors.Is(err, statemachine.ErrCorrupt) {
		t.Error("an unserved wallet waits since a time")
	}
}
