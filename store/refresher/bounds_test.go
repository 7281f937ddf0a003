package refresher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
)

// How long a pass may take, and what follows when it takes longer.

// A pass takes at most (2 + assets) x HTTP_TIMEOUT, though none of its calls times out, and at
// most 2 x HTTP_TIMEOUT while its assets are not known. No call starts at its end.
func TestPassIsBounded(t *testing.T) {
	for _, c := range []struct {
		took   time.Duration
		assets int
		over   time.Duration
		calls  int
	}{
		{59 * time.Second, 0, 2 * time.Minute, 3},
		{40*time.Second + time.Millisecond, 0, 2 * time.Minute, 3},
		{60*time.Second - time.Nanosecond, 1, 2 * time.Minute, 3},
		{60 * time.Second / 2, 0, 90 * time.Second, 3}, // it has its three calls
		{39 * time.Second, 1, 3 * time.Minute, 5},      // refresh, two lists, and the first of twenty cancellations
		{36 * time.Second, 1, 3 * time.Minute, 5},      // the next cancellation would start at the very end
	} {
		virtual(t, nil, func(t *testing.T, s *system) {
			s.node.took, s.node.keep = c.took, true
			for i := range 20 * c.assets { // and 20 cancellations
				old := incoming(fmt.Sprint("r", i), "asset")
				old.Expiration, old.Index = s.begin.Unix()-1, int32(i)
				s.node.transfer(0, old)
			}
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(c.over - time.Millisecond)
			if w := s.get(0); w.Wallet.HungRounds != 0 || w.Jobs[0].Status != refresh.JobProcessing {
				t.Errorf("calls of %v, %d assets, before %v: %+v", c.took, c.assets, c.over, w)
			}
			time.Sleep(2 * time.Millisecond)
			w, inTime := s.get(0), c.took <= 30*time.Second
			if (w.Wallet.HungRounds == 0) != inTime || w.Jobs[0].Status == refresh.JobProcessing {
				t.Errorf("calls of %v, %d assets, after %v: %+v", c.took, c.assets, c.over, w)
			}
			_, _, log := s.node.seen()
			log = slices.DeleteFunc(log, func(call string) bool { return strings.HasSuffix(call, " ended") })
			if len(log) != c.calls {
				t.Errorf("calls of %v, %d assets: %v", c.took, c.assets, log)
			}
		})
	}
}

// A pass that may take more than ten calls is told.
func TestLongPass(t *testing.T) {
	for assets, want := range map[int]bool{8: false, 9: true} {
		virtual(t, nil, func(t *testing.T, s *system) {
			for i := range assets {
				s.node.transfer(0, incoming(fmt.Sprint("r", i), fmt.Sprint("asset", i)))
			}
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(time.Second)
			if told := strings.Contains(s.logged.String(), "long pass"); told != want {
				t.Errorf("%d assets: told %v", assets, told)
			}
		})
	}
}

// The first call that times out ends the round. The wallet rests 30, 60, ... s, and other wallets
// get its slot meanwhile.
func TestHungWallet(t *testing.T) {
	virtual(t, func(c *refresh.Policy) { c.MaxWalletProcesses = 1 }, func(t *testing.T, s *system) {
		s.node.wallet(refreshtest.Wallet(0).XpubVan).hang = 3
		s.node.keep = true
		s.enqueue(0, refresh.InvoiceCreated, "p", "")
		time.Sleep(time.Millisecond)
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(time.Second)
		s.enqueue(1, refresh.Sync, "", "")
		time.Sleep(62 * time.Second)
		if w := s.get(0).Wallet; w.HungRounds != 1 || w.NotBefore.Sub(s.begin).Truncate(time.Second) != 90*time.Second {
			t.Errorf("%+v", w)
		}
		if j := s.get(1).Jobs[0]; j.Status != refresh.JobCompleted {
			t.Errorf("another wallet waits for one that hangs: %+v", j)
		}
		time.Sleep(2 * time.Minute)
		if p := s.watcher(0, "p"); p.EndReason != refresh.EndProvisional && p.Status != refresh.Watching {
			t.Errorf("%+v", p)
		}
		time.Sleep(20 * time.Minute)
		w := s.get(0)
		if w.Wallet.HungRounds != 0 || w.Jobs[1].Status != refresh.JobCompleted || w.Jobs[1].Attempts != 4 {
			t.Errorf("%+v %+v", w.Wallet, w.Jobs)
		}
		if p := s.watcher(0, "p"); p.EndedAt.Sub(p.ExpiresAt) > 3*time.Second {
			t.Errorf("a provisional expiry came %v late", p.EndedAt.Sub(p.ExpiresAt))
		}
	})
}

// The first call that times out is the last one of its round.
func TestNothingAfterATimeout(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.keep = true
		for i := range 3 {
			old := incoming(fmt.Sprint("r", i), "asset")
			old.Expiration, old.Index = s.begin.Unix()-1, int32(i)
			s.node.transfer(0, old)
		}
		s.node.wallet(refreshtest.Wallet(0).XpubVan).hangOn = "failtransfers"
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(65 * time.Second)
		_, _, log := s.node.seen()
		calls := 0
		for _, call := range log {
			if strings.Contains(call, "failtransfers") {
				calls++
			}
		}
		if w := s.get(0); calls != 1 || w.Wallet.HungRounds != 1 || w.Wallet.Status != refresh.Unserved {
			t.Errorf("%d cancellations, %+v: %v", calls, w.Wallet, log)
		}
	})
}
