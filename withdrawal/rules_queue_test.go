package withdrawal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// expect applies an event and compares the word for its result.
func expect(t *testing.T, p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event, want string) withdrawal.Withdrawal {
	t.Helper()
	c, err := p.Apply(w, ev)
	if got := word(c, err); got != want {
		t.Errorf("%T: %s (%v), expected %s", ev, got, err, want)
	}
	if err == nil {
		sound(t, c)
	}
	return c.New
}

func failedAttempt(at time.Time, fence int64, f withdrawal.Failure) withdrawal.AttemptFailed {
	return withdrawal.AttemptFailed{By: worker(at), Fence: fence, Failure: f, Error: "RPC timeout"}
}

func TestRule1RetriesAreCountedOnceAtTheClaim(t *testing.T) {
	for _, limit := range []int32{1, 2, 5} {
		w := states(t)["approved"]
		e := enqueued(t0, job1)
		e.MaxRetries = limit
		w = run(t, w, e)
		at := t0
		for k := int32(1); ; k++ {
			w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: int64(k)})
			if w.Job.RetryCount != k {
				t.Fatalf("execution %d has retry_count %d", k, w.Job.RetryCount)
			}
			w = run(t, w, failedAttempt(at, int64(k), withdrawal.Retryable))
			if k == limit {
				break
			}
			want := at.Add(30 * time.Second << k) // 60, 120, 240, 480
			if w.Job.Status != withdrawal.JobPending || !w.Job.ScheduledAt.Equal(want) {
				t.Fatalf("after execution %d of %d: %v at %v, expected pending at %v", k, limit, w.Job.Status, w.Job.ScheduledAt, want)
			}
			expect(t, policy, w, withdrawal.Claimed{By: worker(want.Add(-time.Microsecond))}, "illegal")
			at = want
		}
		if w.Job.Status != withdrawal.JobFailed || w.Job.ErrorMessage != "Max retries exceeded" || w.Request.Status != withdrawal.RequestFailed {
			t.Errorf("after %d executions: %v, %q", limit, w.Job.Status, w.Job.ErrorMessage)
		}
		if w.Attempt.Error != "RPC timeout" || w.Attempt.Outcome != statemachine.Failed || !w.Job.ProcessedAt.Equal(at) {
			t.Errorf("the last attempt is %+v", w.Attempt)
		}
	}
	e := enqueued(t0, job1)
	e.MaxRetries = -1
	expect(t, policy, states(t)["approved"], e, "invalid")
	expect(t, withdrawal.Policy{}, states(t)["approved"], enqueued(t0, job1), "invalid")
}

func TestRule1BackoffSaturates(t *testing.T) {
	for _, k := range []int32{1, 11, 12, 62, 63, 1000, 1<<31 - 2} {
		w := states(t)["processing"]
		w.Job.RetryCount, w.Job.MaxRetries = k, 1<<31-1
		w = run(t, w, failedAttempt(t0, 1, withdrawal.Retryable))
		want := 24 * time.Hour
		if k < 12 { // 30 s x 2^12 is more than a day
			want = 30 * time.Second << k
		}
		if got := w.Job.ScheduledAt.Sub(t0); got != want {
			t.Errorf("after execution %d: %v, expected %v", k, got, want)
		}
	}
}

func TestRule1JitterIsStableAndOnlyShortens(t *testing.T) {
	p := policy
	p.Backoff.JitterPercent = 20
	w := states(t)["processing"]
	first := runWith(t, p, w, failedAttempt(t0, 1, withdrawal.Retryable)).Job.ScheduledAt
	again := runWith(t, p, w, failedAttempt(t0, 1, withdrawal.Retryable)).Job.ScheduledAt
	if d := first.Sub(t0); first != again || d < 48*time.Second || d > time.Minute {
		t.Errorf("%v and %v", first, again)
	}
}

func TestRule2OneActiveJob(t *testing.T) {
	for name, w := range states(t) {
		_, err := policy.Apply(w, enqueued(t0, job2))
		var taken *withdrawal.TakenError
		if active := w.Request.Status == withdrawal.RequestQueued; active != (errors.As(err, &taken) && taken.ID == job1 && errors.Is(err, withdrawal.ErrActiveJob)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := run(t, states(t)["requeued"], enqueued(t0, job2))
	if w.Job.ID != job2 || w.Job.RetryCount != 0 {
		t.Errorf("%+v", w.Job)
	}
}

func TestRule3Wallet(t *testing.T) {
	h := func(n byte, used time.Time, reserved withdrawal.Raw, change ...func(*withdrawal.HotWallet)) withdrawal.HotWallet {
		w := withdrawal.HotWallet{ID: id(n), Chain: chain, Role: "hot_wallet", Status: "active", LastUsedAt: used, BalanceReserved: reserved}
		for _, c := range change {
			c(&w)
		}
		return w
	}
	cold := func(w *withdrawal.HotWallet) { w.Role = "cold_wallet" }
	off := func(w *withdrawal.HotWallet) { w.Status = "disabled" }
	other := func(w *withdrawal.HotWallet) { w.Chain = id(99) }
	for name, tt := range map[string]struct {
		candidates []withdrawal.HotWallet
		want       byte
	}{
		"never used first":           {[]withdrawal.HotWallet{h(1, t0, "0"), h(2, time.Time{}, "9")}, 2},
		"then the longest unused":    {[]withdrawal.HotWallet{h(1, t0, "0"), h(2, t0.Add(-1), "9")}, 2},
		"then numerically":           {[]withdrawal.HotWallet{h(1, t0, "10"), h(2, t0, "9")}, 2},
		"negative is less":           {[]withdrawal.HotWallet{h(1, t0, "-9"), h(2, t0, "-10")}, 2},
		"absent is zero, then by id": {[]withdrawal.HotWallet{h(2, t0, ""), h(1, t0, "0")}, 1},
		"only hot":                   {[]withdrawal.HotWallet{h(1, time.Time{}, "0", cold), h(2, t0, "9")}, 2},
		"only active":                {[]withdrawal.HotWallet{h(1, time.Time{}, "0", off), h(2, t0, "9")}, 2},
		"only of the chain":          {[]withdrawal.HotWallet{h(1, time.Time{}, "0", other), h(2, t0, "9")}, 2},
		"none":                       {[]withdrawal.HotWallet{h(1, time.Time{}, "0", other)}, 0},
	} {
		e := enqueued(t0, job1)
		e.Wallets = tt.candidates
		c, err := policy.Apply(states(t)["approved"], e)
		if tt.want == 0 {
			if !errors.Is(err, withdrawal.ErrNoHotWallet) || c.New.Request.Status != withdrawal.RequestApproved {
				t.Errorf("%s: %v", name, err)
			}
			step := policy.Next(c.New, t0)
			if !step.Due.Equal(t0.Add(policy.EnqueueEvery)) || step.Actions[0].Do != withdrawal.DoEnqueue {
				t.Errorf("%s: then %+v", name, step)
			}
			continue
		}
		if err != nil || c.New.Job.Wallet != id(tt.want) {
			t.Errorf("%s: chose %v, %v", name, c.New.Job.Wallet, err)
		}
	}
	// last_used_at = max(old, now), and the amount is a difference.
	e := enqueued(t0, job1)
	e.Wallets[0].LastUsedAt = t0.Add(time.Hour)
	c, _ := policy.Apply(states(t)["approved"], e)
	if r := c.Reservations[0]; !r.UsedAt.Equal(t0.Add(time.Hour)) || r.Delta() != "100000000000000000000" {
		t.Errorf("%+v", r)
	}
	c, _ = policy.Apply(states(t)["confirming"], receipt(t0, "tx1", 3))
	if r := c.Reservations[0]; !r.UsedAt.IsZero() || r.Delta() != "-100000000000000000000" {
		t.Errorf("%+v", r)
	}
}

func TestRule3RetriesKeepTheWallet(t *testing.T) {
	w := run(t, states(t)["processing"], failedAttempt(t0, 1, withdrawal.Retryable), withdrawal.Claimed{By: worker(t0.Add(time.Minute))})
	if w.Job.Wallet != hot {
		t.Error(w.Job.Wallet)
	}
}

func TestRule4Claim(t *testing.T) {
	a := withdrawal.Job{ID: id(1), Priority: withdrawal.Low, ScheduledAt: t0}
	b := withdrawal.Job{ID: id(2), Priority: withdrawal.High, ScheduledAt: t0.Add(time.Hour)}
	c := withdrawal.Job{ID: id(3), Priority: withdrawal.High, ScheduledAt: t0}
	d := withdrawal.Job{ID: id(4), Priority: withdrawal.High, ScheduledAt: t0}
	inOrder := []withdrawal.Job{c, d, b, a}
	for i := range inOrder {
		for k := range inOrder {
			if got := withdrawal.CompareClaims(&inOrder[i], &inOrder[k]); got != cmpInt(i, k) {
				t.Errorf("%d and %d compare %d", i, k, got)
			}
		}
	}
	for p, rank := range map[withdrawal.Priority]int{withdrawal.High: 2, withdrawal.Normal: 1, withdrawal.Low: 0} {
		if withdrawal.PriorityRank(p) != rank {
			t.Errorf("%v has rank %d", p, withdrawal.PriorityRank(p))
		}
	}
	e := enqueued(t0, job1)
	for _, p := range []withdrawal.Priority{4, 255} {
		e.Priority = p
		expect(t, policy, states(t)["approved"], e, "invalid")
	}
	e.Priority = 0 // the host has named none
	if w := runWith(t, policy, states(t)["approved"], e); w.Job.Priority != withdrawal.Normal {
		t.Errorf("a job without a priority has %v", w.Job.Priority)
	}
}

func cmpInt(a, b int) int { return max(-1, min(1, a-b)) }

func TestRule4Slot(t *testing.T) {
	s := states(t)
	free := policy
	free.Chains = map[uuid.UUID]withdrawal.Chain{chain: {Nonces: false, Confirmations: 1}}
	for name, w := range s {
		executing := w.Job.Status == withdrawal.JobProcessing && !w.Job.Review
		if w.Job.Slot.Valid != executing || executing && w.Job.Slot.UUID != hot {
			t.Errorf("%s: slot %v", name, w.Job.Slot)
		}
	}
	if w := runWith(t, free, s["job pending"], withdrawal.Claimed{By: worker(t0)}); w.Job.Slot.Valid {
		t.Error("a chain without nonces takes a slot")
	}
}
