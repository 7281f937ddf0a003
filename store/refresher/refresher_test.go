package refresher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/refresher"
)

// virtual runs a test in virtual time.
func virtual(t *testing.T, change func(*refresh.Policy), test func(t *testing.T, s *system)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newSystem(t, change)) })
}

// Flows 1, 3 and 4: a pass, a refresh every 30 s, and the end of the transfer.
func TestPassThenTicks(t *testing.T) {
	for _, cause := range []refresh.Cause{refresh.InvoiceCreated, refresh.AssetSent, refresh.Sync} {
		virtual(t, nil, func(t *testing.T, s *system) {
			s.node.transfer(0, incoming("r", "asset"))
			job := s.enqueue(0, cause, "r", "asset")
			s.start("w1")
			time.Sleep(100 * time.Second)
			w := s.get(0)
			if len(w.Jobs) != 1 || w.Jobs[0].ID != job || w.Jobs[0].Status != refresh.JobCompleted || w.Jobs[0].Attempts != 1 {
				t.Errorf("%v: %+v", cause, w.Jobs)
			}
			if x := s.watcher(0, "r"); x.Status != refresh.Watching || x.RefreshCount != 4 || x.Asset != "asset" ||
				x.ExpiresAt.Sub(s.begin) != 24*time.Hour {
				t.Errorf("%v: %+v", cause, x)
			}
			got, want := s.node.refreshes(0), []time.Duration{0, 0, 30 * time.Second, 60 * time.Second, 90 * time.Second}
			if !slices.Equal(got, want) {
				t.Errorf("%v: refreshed at %v", cause, got)
			}
			done := incoming("r", "asset")
			done.Status = refresh.TransferSettled
			s.node.transfer(0, done)
			time.Sleep(30 * time.Second)
			if x := s.watcher(0, "r"); x.Status != refresh.Settled || x.EndReason != refresh.EndTransfer {
				t.Errorf("%v: %+v", cause, x)
			}
			s.audit(1)
		})
	}
}

// Flow 2 refreshes at 0, 30, ... 150 s. At 180 s it makes one sync job, whose pass watches the
// transfer as the node lists it then.
func TestInvoiceWithoutAsset(t *testing.T) {
	const ttl = time.Hour
	virtual(t, func(c *refresh.Policy) { c.WatcherTTL = ttl }, func(t *testing.T, s *system) {
		s.node.took = time.Millisecond // a listing that begins at the very end of the watcher does not count
		s.enqueue(0, refresh.InvoiceCreated, "r", "")
		s.start("w1")
		time.Sleep(179 * time.Second)
		var want []time.Duration
		for i := range 6 {
			want = append(want, time.Duration(i)*30*time.Second)
		}
		got := s.node.refreshes(0)
		for i := range got {
			got[i] = got[i].Truncate(time.Second)
		}
		if !slices.Equal(got, want) {
			t.Errorf("refreshed at %v", got)
		}
		if x := s.watcher(0, "r"); !x.Provisional || x.RefreshCount != 6 || len(s.get(0).Jobs) != 1 {
			t.Errorf("%+v", x)
		}
		s.node.transfer(0, incoming("r", "")) // the counterparty came, late
		time.Sleep(2 * time.Second)
		w := s.get(0)
		if len(w.Jobs) != 2 || w.Jobs[1].Cause != refresh.Sync || w.Jobs[1].Status != refresh.JobCompleted {
			t.Fatalf("%+v", w.Jobs)
		}
		if x := s.watcher(0, "r"); x.Status != refresh.Watching || x.Provisional || x.Version != 3 {
			t.Errorf("%+v", x)
		}
		s.node.transfer(0, func() refresh.Transfer {
			t := incoming("r", "asset")
			t.Status = refresh.WaitingConfirmations
			return t
		}())
		time.Sleep(time.Minute)
		if x := s.watcher(0, "r"); x.Asset != "asset" || x.Status != refresh.Watching {
			t.Errorf("%+v", x)
		}
		time.Sleep(ttl + time.Minute) // nothing ever settles
		if x := s.watcher(0, "r"); x.EndReason != refresh.EndOpen {
			t.Errorf("%+v", x)
		}
		s.audit(1)
	})
}

// A transfer past its expiration is cancelled: by the pass, or by a tick.
func TestCancellations(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		old := incoming("old", "asset")
		old.Expiration = s.begin.Unix() - 1
		soon := incoming("soon", "asset")
		soon.Expiration, soon.Index = s.begin.Unix()+45, 0
		s.node.transfer(0, old)
		s.node.transfer(0, soon)
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(50 * time.Second)
		if w := s.get(0); len(w.Watchers) != 1 {
			t.Errorf("the cancelled transfer is watched: %+v", w.Watchers)
		}
		time.Sleep(20 * time.Second)
		if x := s.watcher(0, "soon"); x.EndReason != refresh.EndCancelled {
			t.Errorf("%+v", x)
		}
		s.audit(1)
	})
}

// Retries are 5, 10, 20 ... 1280 s apart; the 10th failure ends the job. The lock is free between
// them.
func TestRetries(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.wallet(refreshtest.Wallet(0).XpubVan).fail = errors.New("busy")
		s.node.keep = true
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(5*time.Second + 1279*2*time.Second)
		w := s.get(0)
		if j := w.Jobs[0]; j.Status != refresh.JobFailed || j.Attempts != 10 || j.Error != "busy" {
			t.Errorf("%+v", j)
		}
		if _, _, log := s.node.seen(); len(log) != 10 || w.Lock != (refresh.Lock{}) {
			t.Errorf("%d calls: %v", len(log), log)
		}
	})
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err      error
		status   refresh.JobStatus
		attempts int32
	}{
		{refresher.ErrPermanent, refresh.JobFailed, 1},
		{fmt.Errorf("paused: %w", refresher.ErrDeferred), refresh.JobPending, 0},
		{errors.New("anything else"), refresh.JobPending, 1},
	} {
		virtual(t, nil, func(t *testing.T, s *system) {
			s.node.wallet(refreshtest.Wallet(0).XpubVan).fail = c.err
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(2 * time.Second)
			if j := s.get(0).Jobs[0]; j.Status != c.status || j.Attempts != c.attempts {
				t.Errorf("%v: %+v", c.err, j)
			}
		})
	}
}

// A job that comes at any moment around the exit of an idle worker is done.
func TestGapBetweenIdleAndExit(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		const wallets = 50
		for n := range wallets {
			s.enqueue(n, refresh.Sync, "", "")
		}
		s.start("w1")
		time.Sleep(58 * time.Second)
		var late [wallets]uuid.UUID
		for n := range wallets { // around 60 s and the rests of 5 s
			late[n] = s.enqueue(n, refresh.Manual, "", "")
			time.Sleep(210 * time.Millisecond)
		}
		time.Sleep(8 * time.Second)
		exits := 0
		for n := range wallets {
			w := s.get(n)
			j := w.Jobs[1]
			if j.ID != late[n] || j.Status != refresh.JobCompleted ||
				j.ProcessedAt.Sub(j.CreatedAt) > s.policy.WalletWorkerPollInterval+2*s.policy.PollInterval {
				t.Errorf("wallet %d: %+v", n, j)
			}
			if w.Wallet.Lease.Fence > 1 {
				exits++
			}
		}
		if exits == 0 || exits == wallets {
			t.Errorf("%d of %d workers had left: the gap was not met", exits, wallets)
		}
		time.Sleep(2 * time.Minute)
		for n := range wallets {
			if w := s.get(n).Wallet; w.Status != refresh.Unserved {
				t.Errorf("an idle wallet is %v", w.Status)
			}
		}
		s.audit(wallets)
	})
}

// The idle exit is at 60 s, not before.
func TestIdleTimeout(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(60*time.Second - time.Microsecond)
		if w := s.get(0).Wallet; w.Status != refresh.Served {
			t.Error("it left early")
		}
		time.Sleep(s.policy.WalletWorkerPollInterval + s.policy.PollInterval)
		if w := s.get(0).Wallet; w.Status != refresh.Unserved {
			t.Error("it stays")
		}
	})
}

// 50 watching wallets have the 50 slots. A 51st wallet with a job is served within one round and
// a poll, and the wallet that gave its slot up gets one again.
func TestStarvation(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		for n := range 50 {
			s.node.transfer(n, incoming("r", "asset"))
			s.enqueue(n, refresh.Sync, "", "")
		}
		s.start("w1")
		time.Sleep(40 * time.Second)
		if stats, err := s.service.Stats(context.Background()); err != nil || stats.Served != 50 {
			t.Fatalf("%d served, %v", stats.Served, err)
		}
		for n := 50; n < 60; n++ {
			s.enqueue(n, refresh.Sync, "", "")
		}
		time.Sleep(2 * s.policy.PollInterval)
		for n := 50; n < 60; n++ {
			if j := s.get(n).Jobs[0]; j.Status != refresh.JobCompleted {
				t.Errorf("wallet %d starves: %+v", n, j)
			}
		}
		time.Sleep(5 * time.Minute)
		for n := range 50 { // a watcher is refreshed every 30 s, wherever its slot is
			times := s.node.refreshes(n)
			for i := 2; i < len(times); i++ {
				if gap := times[i] - times[i-1]; gap > 45*time.Second {
					t.Errorf("wallet %d was not refreshed for %v", n, gap)
				}
			}
			if len(times) < 9 {
				t.Errorf("wallet %d was refreshed %d times", n, len(times))
			}
		}
	})
}

// 500 wallets with a job each, 50 slots: the last one waits within the bound.
func TestBoundedWait(t *testing.T) {
	const wallets, took = 500, 700 * time.Millisecond
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.took = took
		for n := range wallets {
			if n%5 == 0 {
				s.node.transfer(n, incoming("r", "asset")) // these are watched, and come back
			}
			s.enqueue(n, refresh.Sync, "", "")
		}
		p := s.start("w1")
		longest := 7 * took // refresh, two lists, and a tick
		bound := wallets / 50 * (longest + s.policy.PollInterval)
		time.Sleep(bound)
		worst := time.Duration(0)
		for n := range wallets {
			w := s.get(n)
			if len(w.Jobs) != 1 || w.Jobs[0].Status != refresh.JobCompleted {
				t.Fatalf("wallet %d after %v: %+v", n, bound, w.Jobs)
			}
			worst = max(worst, w.Jobs[0].ProcessedAt.Sub(s.begin))
		}
		t.Logf("the last job was done after %v, the bound is %v", worst, bound)
		if _, most, _ := s.node.seen(); most > 50 {
			t.Errorf("%d wallets were called at once", most)
		}
		p.end()
	})
}

// Several processes share the slots: no wallet is served twice, no more than MAX wallets are
// served at once, and each job is done once.
func TestTwoOrchestrators(t *testing.T) {
	virtual(t, func(c *refresh.Policy) { c.MaxWalletProcesses = 7 }, func(t *testing.T, s *system) {
		const wallets = 60
		s.node.took = 300 * time.Millisecond
		for n := range wallets {
			s.node.transfer(n, incoming("r", "asset"))
			s.enqueue(n, refresh.InvoiceCreated, "r", "asset")
			s.enqueue(n, refresh.Sync, "", "")
		}
		s.start("w1")
		s.start("w2") // sees the same snapshot
		time.Sleep(111 * time.Millisecond)
		s.start("w3")
		time.Sleep(3 * time.Minute)
		for n := range wallets {
			for _, j := range s.get(n).Jobs {
				if j.Status != refresh.JobCompleted || j.Attempts != 1 {
					t.Errorf("wallet %d: %+v", n, j)
				}
			}
		}
		if overlaps, most, _ := s.node.seen(); overlaps > 0 || most > 7 {
			t.Errorf("%d overlaps, %d wallets at once", overlaps, most)
		}
		done := incoming("r", "asset")
		done.Status = refresh.TransferSettled
		for n := range wallets {
			s.node.transfer(n, done)
		}
		time.Sleep(2 * time.Minute)
		s.audit(wallets)
	})
}

// A round is at most 10 jobs, then the watchers; no sleep while a job is due.
func TestRoundOfTenJobs(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.keep = true
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.InvoiceCreated, "r", "")
		time.Sleep(time.Millisecond)
		for range 25 {
			s.enqueue(0, refresh.Sync, "", "")
		}
		s.start("w1")
		time.Sleep(s.policy.PollInterval)
		for _, j := range s.get(0).Jobs {
			if j.Status != refresh.JobCompleted {
				t.Errorf("slept while a job was due: %+v", j)
			}
		}
		if x := s.watcher(0, "r"); x.RefreshCount != 1 {
			t.Errorf("%+v", x)
		}
		refreshed := 0
		_, _, log := s.node.seen()
		for i, call := range log { // a pass has three calls and one for the asset
			if i > 0 && call[len(call)-len("listtransfers "):] == "listtransfers " && log[i-1][len(log[i-1])-len("refresh"):] != "refresh" {
				refreshed = i
				break
			}
		}
		if refreshed != 4*9 { // the first of ten jobs made no call
			t.Errorf("the first tick came after %d calls", refreshed)
		}
	})
}

func TestRunRefuses(t *testing.T) {
	s := newSystem(t, nil)
	for name, err := range map[string]error{
		"nothing": refresher.Run(t.Context(), nil, nil, refresher.Options{}),
		"a long name": refresher.Run(t.Context(), s.service, &caller{node: s.node},
			refresher.Options{Name: strings.Repeat("x", refresh.MaxActor+1)}),
		"a name of NULs": refresher.Run(t.Context(), s.service, &caller{node: s.node}, refresher.Options{Name: "\x00"}),
	} {
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.service.Turn(t.Context(), "", nil, 1); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a turn of nobody: %v", err)
	}
}

// A process whose clock is far from the store's works as any other: the store says what is due
// and what has expired, and a lease is a duration.
func TestClocksApart(t *testing.T) {
	for _, apart := range []time.Duration{-time.Hour, time.Hour} {
		virtual(t, nil, func(t *testing.T, s *system) {
			s.db = memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(apart) }})
			s.service = s.serviceOf(s.db)
			s.node.took = time.Millisecond
			s.node.transfer(0, incoming("r", "asset"))
			s.enqueue(0, refresh.InvoiceCreated, "p", "")
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(100 * time.Second)
			if r, p := s.watcher(0, "r"), s.watcher(0, "p"); r.RefreshCount != 4 || p.RefreshCount != 4 {
				t.Errorf("%v apart: %+v %+v", apart, r, p)
			}
			done := incoming("r", "asset")
			done.Status = refresh.TransferSettled
			s.node.transfer(0, done)
			time.Sleep(90 * time.Second)
			if r, p := s.watcher(0, "r"), s.watcher(0, "p"); r.Status != refresh.Settled || p.EndReason != refresh.EndProvisional ||
				p.EndedAt.Sub(p.ExpiresAt) > 6*time.Second {
				t.Errorf("%v apart: %+v %+v", apart, r, p)
			}
			s.audit(1)
		})
	}
}

var _ store.Store[store.Unit] = (*process)(nil)
