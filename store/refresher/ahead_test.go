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

// A process claims a wallet and a job while the store's clock is an hour ahead, and is
// gone; then the clock is right again. Another process has the wallet after a lease, and
// not in an hour. A wallet before it that cannot be read changes nothing of that.
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
		time.Sleep(2 * s.config.LockTTL)
		for n, j := range map[int]refresh.Job{0: s.job(0, job), 1: s.job(1, waits)} {
			if j.Status != refresh.JobCompleted && torn != refreshtest.Wallet(n).XpubVan {
				t.Errorf("the job of wallet %d is %+v", n, j)
			}
		}
	})
}
