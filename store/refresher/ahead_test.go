package refresher_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/store/memory"
)

// A process claims a wallet and a job while the store's clock is an hour ahead, and dies; then
// the clock is right again. Another process gets the wallet after one lease and not only after an
// hour, also where a wallet before it in the order cannot be read.
func TestAfterAClockThatWasAhead(t *testing.T) {
	for _, torn := range []string{"", refreshtest.Wallet(0).XpubVan} {
		afterAClockThatWasAhead(t, torn)
	}
}

func afterAClockThatWasAhead(t *testing.T, torn string) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		ahead.Store(int64(time.Hour))
		s := newSystem(t, nil)
		s.db = memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		s.service = s.serviceOf(s.db)
		job, waits := s.enqueue(0, refresh.Sync, "", ""), s.enqueue(1, refresh.Sync, "", "")
		by := refresh.By{Actor: "dead", Role: refresh.Orchestrator}
		ctx, xpub := context.Background(), refreshtest.Wallet(0).XpubVan
		if _, err := s.service.Step(ctx, xpub, refresh.SlotClaimed{By: by, Slot: 1}); err != nil {
			t.Fatal(err)
		}
		by.Role = refresh.Worker
		if _, err := s.service.Step(ctx, xpub, refresh.JobClaimed{By: by, Slot: 1}); err != nil {
			t.Fatal(err)
		}
		ahead.Store(0)
		s.torn = torn
		s.start("w1")
		time.Sleep(2 * s.policy.LockTTL)
		for n, j := range map[int]refresh.Job{0: s.job(0, job), 1: s.job(1, waits)} {
			if j.Status != refresh.JobCompleted && torn != refreshtest.Wallet(n).XpubVan {
				t.Errorf("the job of wallet %d is %+v", n, j)
			}
		}
	})
}

// The store's clock is moved when a provisional watcher has just expired, and the transfer shows
// only then. The sync job of the expiry watches the transfer, and it is refreshed again within a
// minute of the right clock; where the clock was two days ahead meanwhile, as soon as the clock
// is right.
func TestTheClockStepsAtAnExpiry(t *testing.T) {
	for _, step := range []time.Duration{-48 * time.Hour, -20 * time.Second, -5 * time.Second, -2 * time.Second,
		0, 5 * time.Second, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var ahead atomic.Int64
			if step == 48*time.Hour { // it is ahead until the expiry, and then right
				ahead.Store(int64(step))
			}
			s := newSystem(t, nil)
			s.db = memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
			s.service = s.serviceOf(s.db)
			before, stepped := 0, false
			s.lost = func() bool { // behind each commit
				all, err := s.service.Get(context.Background(), refreshtest.Wallet(0).XpubVan)
				if err == nil && !stepped && len(all.Watchers) > 0 && all.Watchers[0].EndReason == refresh.EndProvisional {
					if ahead.Store(int64(step)); step == 48*time.Hour {
						ahead.Store(0)
					}
					s.node.transfer(0, incoming("p", "asset"))
					before, stepped = len(s.node.refreshes(0)), true
				}
				return false
			}
			s.enqueue(0, refresh.InvoiceCreated, "p", "")
			s.start("w1")
			time.Sleep(180 * time.Second)
			time.Sleep(2 * time.Minute)
			if w := s.watcher(0, "p"); w.Status != refresh.Watching || !stepped || w.RefreshCount < 2 || len(s.node.refreshes(0)) < before+3 {
				t.Errorf("the clock steps %v: %+v", step, w)
			}
		})
	}
}

// A watcher expired open while the store's clock was two days ahead. With the right clock, the
// manual job that the package comment tells the operator to enqueue watches the transfer again,
// and the alert ends.
func TestAManualJobAfterAClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		s := newSystem(t, nil)
		s.db = memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		s.service = s.serviceOf(s.db)
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(time.Minute)
		ahead.Store(int64(48 * time.Hour))
		time.Sleep(time.Minute)
		if w := s.watcher(0, "r"); w.EndReason != refresh.EndOpen {
			t.Fatalf("%+v", w)
		}
		ahead.Store(0)
		time.Sleep(time.Minute)
		if stats, err := s.service.Stats(t.Context()); err != nil || stats.ExpiredOpen != 1 {
			t.Fatalf("%+v, %v", stats, err)
		}
		s.enqueue(0, refresh.Manual, "", "")
		time.Sleep(2 * time.Minute)
		stats, err := s.service.Stats(t.Context())
		if w := s.watcher(0, "r"); w.Status != refresh.Watching || w.RefreshCount < 3 || err != nil || stats.ExpiredOpen != 0 {
			t.Errorf("%+v, %+v, %v", w, stats, err)
		}
	})
}
