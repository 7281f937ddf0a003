package withdrawal_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// What is unfinished is named by an alert a bounded time after it entered its state,
// whatever happens again and again meanwhile, in each state of each machine that is no
// end. That of a failed request is its refund.

// waits says of a state how it is come to, how long it may last without an alert, and
// which alert names it then.
type waits struct {
	state string
	from  string // of states
	alert string
	limit func(*withdrawal.Thresholds) *time.Duration
}

var unfinished = []waits{
	{"withdrawal_request pending", "pending", "approval wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.ApprovalWait }},
	{"withdrawal_request approved", "approved", "enqueue wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.EnqueueWait }},
	{"withdrawal_request approved", "requeued", "enqueue wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.EnqueueWait }},
	{"withdrawal_request queued", "job pending", "queue wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.QueueWait }},
	{"withdrawal_request failed", "failed", "refund wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.RefundWait }},
	{"withdrawal_request failed", "reverted", "refund wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.RefundWait }},
	{"withdrawal_job pending", "job pending", "queue wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.QueueWait }},
	{"withdrawal_job pending", "held", "queue wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.QueueWait }},
	{"withdrawal_job processing", "processing", "queue wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.QueueWait }},
	{"withdrawal_job processing", "review", "review wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.ReviewWait }},
	{"withdrawal_job confirming", "confirming", "confirm wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.ConfirmWait }},
	{"withdrawal_job confirming", "confirming review", "review wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.ReviewWait }},
	{"withdrawal_batch confirming", "", "batch wait", func(t *withdrawal.Thresholds) *time.Duration { return &t.BatchWait }},
}

func TestWhatIsUnfinishedIsOverdue(t *testing.T) {
	known := map[string]bool{}
	for _, u := range unfinished {
		known[u.state] = true
	}
	for _, state := range slices.Concat(notEnded(withdrawal.RequestMachine), notEnded(withdrawal.JobMachine),
		notEnded(withdrawal.BatchMachine)) {
		if !known[state] {
			t.Errorf("%s: nothing says when it is overdue", state)
		}
	}
	p := policy
	p.HoldInsufficient = true
	for _, u := range unfinished {
		for _, silent := range []bool{true, false} {
			var w withdrawal.Withdrawal
			var b withdrawal.Payout
			if u.from != "" {
				w = states(t)[u.from]
			} else {
				b = newBatch(t, 2)
			}
			alerts := func(at time.Duration, limits withdrawal.Thresholds) (names []string) {
				s := withdrawal.StatsOf([]withdrawal.Counted{{Request: w.Request, Latest: w.Job, Jobs: []withdrawal.Job{w.Job},
					Attempts: [][]withdrawal.Attempt{nil},
					Wallet:   withdrawal.HotWallet{Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}}, t0.Add(at), time.Hour)
				if u.from == "" {
					s = withdrawal.Stats{At: t0.Add(at)}
					s.CountBatch(&b.Batch)
				}
				for _, a := range withdrawal.Alerts(s, limits) {
					names = append(names, a.Name)
				}
				return names
			}
			limits := withdrawal.DefaultThresholds()
			bound := *u.limit(&limits)
			for at := time.Minute; at < bound && !silent; at += time.Minute {
				w, b = again(t, p, w, t0.Add(at)), batchAgain(t, b, t0.Add(at))
			}
			if got := alerts(0, limits); len(got) > 0 && silent {
				t.Errorf("%s: at once %v", u.state, got)
			}
			if got := alerts(bound, limits); slices.Contains(got, u.alert) {
				t.Errorf("%s (%s), silent %v: at its bound %v", u.state, u.from, silent, got)
			}
			if got := alerts(bound+time.Microsecond, limits); !slices.Contains(got, u.alert) {
				t.Errorf("%s (%s), silent %v: behind its bound %v, expected %s", u.state, u.from, silent, got, u.alert)
			}
			if *u.limit(&limits) = 0; slices.Contains(alerts(bound+time.Microsecond, limits), u.alert) {
				t.Errorf("%s: a limit of zero is watched", u.state)
			}
		}
	}
}

// notEnded are the names of the states of a machine that are no end.
func notEnded[S, T statemachine.Label](m *statemachine.Machine[S, T]) (all []string) {
	for _, s := range m.States() {
		if !m.Terminal(s) {
			all = append(all, m.Name()+" "+s.String())
		}
	}
	return all
}

// again makes happen what may happen for ever: w is put off, given back, deferred,
// claimed to be sent again, and looked up without an answer.
func again(t *testing.T, p withdrawal.Policy, w withdrawal.Withdrawal, now time.Time) withdrawal.Withdrawal {
	t.Helper()
	if w.Request.Status == 0 {
		return w
	}
	w.Wallet.Role, w.Wallet.Status = withdrawal.WalletRoleHot, withdrawal.WalletActive
	fence := w.Job.Lease.Fence + 1
	shallow := receipt(now, w.Job.TxHash, 1)
	for _, ev := range []withdrawal.Event{withdrawal.PutOff{By: by(withdrawal.System, now)},
		withdrawal.Elapsed{By: by(withdrawal.System, now)},
		withdrawal.Claimed{By: worker(now)}, failedAttempt(now, fence, withdrawal.InsufficientBalance),
		withdrawal.Rebroadcast{By: worker(now), Fence: fence, Hash: w.Job.TxHash}, shallow,
		withdrawal.Missing{By: checker(now), Tx: w.Job.TxHash, Error: "no answer"}, withdrawal.Looking{By: checker(now)}} {
		c, err := p.ApplyAt(w, ev, now)
		if err != nil && !errors.As(err, new(*statemachine.Refusal)) {
			t.Fatal(err)
		}
		w = c.New
	}
	return w
}

// batchAgain is the same of a batch, whose members an operator has.
func batchAgain(t *testing.T, b withdrawal.Payout, now time.Time) withdrawal.Payout {
	t.Helper()
	if b.Batch.Status == 0 {
		return b
	}
	fence := b.Batch.Lease.Fence + 1
	for _, ev := range []withdrawal.BatchEvent{withdrawal.BatchMissing{By: checker(now), Error: "no answer"},
		withdrawal.BatchClaimed{By: worker(now), Fence: fence},
		withdrawal.BatchSent{By: worker(now), Fence: fence, Hash: b.Batch.TxHash}, withdrawal.BatchCannotTell{By: checker(now), Other: "x",
			Reason: "r"},
		withdrawal.BatchLooking{By: checker(now)}} {
		c, err := policy.ApplyBatch(b, ev, now)
		if err != nil && !errors.As(err, new(*statemachine.Refusal)) {
			t.Fatal(err)
		}
		b = c.New
	}
	return b
}

// A wait that begins in the future hides itself from every other alert: it is named, whatever it
// is that waits.
func TestATimeOfAClockThatWasAheadIsAnAlert(t *testing.T) {
	limits := withdrawal.DefaultThresholds()
	for after, want := range map[time.Duration]bool{-time.Hour: false, 0: false, limits.Ahead: false, limits.Ahead + time.Microsecond: true} {
		at := t0.Add(after)
		job := states(t)["job pending"]
		job.Request.QueuedAt = t0.Add(-time.Hour)
		job.Job.ScheduledAt, job.Job.ScheduledFrom = at, at
		approved := states(t)["approved"]
		approved.Request.UpdatedAt = at
		sent := states(t)["confirming"]
		sent.Job.BroadcastAt = at
		for name, w := range map[string]withdrawal.Withdrawal{"job": job, "approved": approved, "sent": sent} {
			w.Request.CreatedAt = t0.Add(-time.Hour)
			s := withdrawal.StatsOf([]withdrawal.Counted{{Request: w.Request, Latest: w.Job, Wallet: w.Wallet}}, t0, time.Hour)
			got := slices.ContainsFunc(withdrawal.Alerts(s, limits), func(a statemachine.Alert) bool { return a.Name == "withdrawal ahead" })
			if got != want {
				t.Errorf("%s, %v ahead: %v", name, after, got)
			}
		}
	}
}

// The default limits watch everything that a zero would not.
func TestDefaultThresholdsWatchEverything(t *testing.T) {
	limits := reflect.ValueOf(withdrawal.DefaultThresholds())
	for i := range limits.NumField() {
		name := limits.Type().Field(i).Name
		count := name == "Incidents" || name == "OpenIncidents" || name == "NonceGaps" // which are exceeded by one
		if limits.Field(i).IsZero() != count {
			t.Errorf("%s is %v", name, limits.Field(i))
		}
	}
	stats := withdrawal.Stats{At: t0, Requests: map[withdrawal.RequestStatus]int64{}, Incidents: 1, OpenIncidents: 1, PaidAndRefunded: 1,
		Gaps: map[uuid.UUID][]uint64{hot: {7}}, Ended: 10_000, Completed: 8_999, Executions: 10_000, Retries: 2_001, LeaseExpired: 21}
	var names []string
	for _, a := range withdrawal.Alerts(stats, withdrawal.DefaultThresholds()) {
		names = append(names, a.Name)
	}
	if want := []string{"stuck", "incidents", "open incidents", "paid and refunded", "nonce gaps", "completion rate",
		"retry rate"}; !slices.Equal(names, want) {
		t.Errorf("%v, expected %v", names, want)
	}
	stats = withdrawal.Stats{At: t0, Ended: 95, Completed: 76, Executions: 8, Retries: 3}
	var texts []string
	for _, a := range withdrawal.Alerts(stats, withdrawal.DefaultThresholds()) {
		texts = append(texts, a.Text)
	}
	if want := []string{"76 of 95 requests completed, less than 90 %", "3 of 8 executions are retries, more than 20 %"}; !slices.Equal(texts, want) {
		t.Errorf("%q, expected %q", texts, want)
	}
	stats = withdrawal.Stats{At: t0, Ended: 10_000, Completed: 9_000, Executions: 10_000, Retries: 2_000, LeaseExpired: 20}
	if got := withdrawal.Alerts(stats, withdrawal.DefaultThresholds()); len(got) > 0 {
		t.Errorf("at the limits: %v", got)
	}
}
