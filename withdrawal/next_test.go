package withdrawal_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// No state is stuck silently: each that is not terminal names who moves it on,
// and an event of that party does.
func TestEveryStateHasAnOwner(t *testing.T) {
	requests, jobs := map[withdrawal.RequestStatus]bool{}, map[withdrawal.JobStatus]bool{}
	for name, w := range states(t) {
		requests[w.Request.Status], jobs[w.Job.Status] = true, true
		for _, now := range []time.Time{t0, t0.Add(policy.CheckEvery), t0.Add(policy.Lease), t0.Add(1000 * time.Hour)} {
			step := policy.Next(w, now)
			ended := withdrawal.RequestMachine.Terminal(w.Request.Status) || w.Request.Status == 0 || w.Request.RefundReference != ""
			if ended != (step.Party == 0) {
				t.Errorf("%s: %+v", name, step)
			}
			byPerson := step.Party == withdrawal.Operator || step.Party == withdrawal.Approver
			if !ended && !byPerson && !step.Due.After(now) {
				t.Errorf("%s: nobody asks again: %+v", name, step)
			}
			text, err := json.Marshal(step)
			var back withdrawal.Step
			if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, step) {
				t.Errorf("%s: a step does not survive JSON: %v\n%+v\n%+v", name, err, step, back)
			}
			later := policy.Next(w, now.Add(time.Microsecond))
			for _, a := range step.Actions {
				for _, b := range later.Actions {
					if a.Do == b.Do && a.Key != b.Key {
						t.Errorf("%s: the key of %v is not stable", name, a.Do)
					}
				}
			}
		}
	}
	for _, s := range withdrawal.RequestMachine.States() {
		if !requests[s] {
			t.Errorf("no example of request %v", s)
		}
	}
	for _, s := range withdrawal.JobMachine.States() {
		if !jobs[s] {
			t.Errorf("no example of job %v", s)
		}
	}
}

// What an end leaves unclear is an operator's, until it is acknowledged or settled.
func TestNextOfAnEndThatMayHavePaidIsAnOperators(t *testing.T) {
	for _, ended := range []string{"confirmed", "rejected", "cancelled", "refunded"} {
		for name, tt := range map[string]struct {
			change func(*withdrawal.Request)
			party  withdrawal.Role
		}{
			"nothing beside it": {func(*withdrawal.Request) {}, 0},
			"mined":             {func(r *withdrawal.Request) { r.Mined = "another" }, withdrawal.Operator},
			"acknowledged":      {func(r *withdrawal.Request) { r.Mined, r.Acknowledged = "another", true }, 0},
			"its own":           {func(r *withdrawal.Request) { r.Mined, r.FinalTxHash = "0xAB", "ab" }, 0},
			"sent":              {func(r *withdrawal.Request) { r.StraysSent = 1 }, withdrawal.Operator},
			"taken":             {func(r *withdrawal.Request) { r.Taken = "another's" }, withdrawal.Operator},
			"taken, looked at":  {func(r *withdrawal.Request) { r.Taken, r.Acknowledged = "another's", true }, 0},
			"paid after":        {func(r *withdrawal.Request) { r.PaidAfter = "another" }, withdrawal.Operator},
			"paid after, known": {func(r *withdrawal.Request) { r.PaidAfter, r.Acknowledged = "another", true }, 0},
		} {
			w := states(t)[ended]
			tt.change(&w.Request)
			if step := policy.Next(w, t0); step.Party != tt.party || len(step.Actions) > 0 || !step.Due.IsZero() {
				t.Errorf("%s, %s: %+v", ended, name, step)
			}
		}
	}
}

func TestNext(t *testing.T) {
	late, check, parked := t0.Add(policy.Lease), t0.Add(policy.CheckEvery), states(t)["confirming review"].Job.NextCheckAt.Add(-policy.CheckEvery)
	for name, tt := range map[string]struct {
		now   time.Time
		party withdrawal.Role
		do    []withdrawal.Do
	}{
		"none":              {t0, 0, nil},
		"pending":           {t0, withdrawal.Approver, nil},
		"approved":          {t0, withdrawal.System, []withdrawal.Do{withdrawal.DoEnqueue}},
		"requeued":          {t0, withdrawal.System, []withdrawal.Do{withdrawal.DoEnqueue}},
		"job pending":       {t0, withdrawal.WithdrawalWorker, []withdrawal.Do{withdrawal.DoClaim}},
		"processing":        {t0, withdrawal.WithdrawalWorker, []withdrawal.Do{withdrawal.DoPay}},
		"prepared":          {t0, withdrawal.WithdrawalWorker, []withdrawal.Do{withdrawal.DoBroadcast}},
		"dispatched":        {t0, withdrawal.WithdrawalWorker, nil},
		"review":            {late, withdrawal.Operator, []withdrawal.Do{withdrawal.DoResolve}},
		"confirming":        {check, withdrawal.ConfirmationWorker, []withdrawal.Do{withdrawal.DoLookUp}},
		"leased confirming": {t0, withdrawal.ConfirmationWorker, nil},
		"confirming review": {parked, withdrawal.Operator, []withdrawal.Do{withdrawal.DoResolve}},
		"confirmed":         {late, 0, nil},
		"reverted":          {late, withdrawal.Operator, nil},
		"failed":            {late, withdrawal.Operator, nil},
		"rejected":          {late, 0, nil},
		"cancelled":         {late, 0, nil},
	} {
		step := policy.Next(states(t)[name], tt.now)
		var do []withdrawal.Do
		for _, a := range step.Actions {
			do = append(do, a.Do)
		}
		if step.Party != tt.party || !slices.Equal(do, tt.do) {
			t.Errorf("%s: %v by %v, expected %v by %v", name, do, step.Party, tt.do, tt.party)
		}
	}
	s := states(t)
	if step := policy.Next(s["processing"], late); step.Actions[0].Do != withdrawal.DoRescue {
		t.Errorf("%+v", step)
	}
	retry := run(t, s["processing"], failedAttempt(t0, 1, withdrawal.Retryable))
	if step := policy.Next(retry, t0); len(step.Actions) != 0 || !step.Due.Equal(retry.Job.ScheduledAt) {
		t.Errorf("%+v", step)
	}
	// One payment key for all executions until something is proven dead.
	first := policy.Next(s["processing"], t0).Actions[0].Key
	at := retry.Job.ScheduledAt
	second := run(t, retry, withdrawal.Claimed{By: worker(at)})
	if key := policy.Next(second, at).Actions[0].Key; key != first {
		t.Errorf("%s, then %s", first, key)
	}
	after := run(t, s["confirming"], dead(t0, "tx1", 3, 7))
	after = run(t, after, withdrawal.Claimed{By: worker(after.Job.ScheduledAt)})
	if key := policy.Next(after, after.Job.ScheduledAt).Actions[0].Key; key == first {
		t.Error("a new payment has the key of a dead one")
	}
}

// All that a store or a queue may keep survives JSON.
func TestEverythingSurvivesJSON(t *testing.T) {
	for name, w := range states(t) {
		text, err := json.Marshal(w)
		var back withdrawal.Withdrawal
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, w) {
			t.Errorf("%s: %v\n%+v\n%+v", name, err, w, back)
		}
	}
	for _, step := range benchSteps(t) {
		c, err := policy.Apply(step.from, step.ev)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(c)
		var back withdrawal.Change
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s: %v", step.name, err)
		}
		ev := reflect.New(reflect.TypeOf(step.ev))
		text, err = json.Marshal(step.ev)
		if err != nil || json.Unmarshal(text, ev.Interface()) != nil || !reflect.DeepEqual(ev.Elem().Interface(), step.ev) {
			t.Errorf("%T: %v: %s", step.ev, err, text)
		}
	}
}

// Check finds each invariant broken: one field of a sound record is changed.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		from  string
		spoil func(*withdrawal.Withdrawal)
	}{
		"no version":           {"pending", func(w *withdrawal.Withdrawal) { w.Request.Version = 0 }},
		"no address":           {"pending", func(w *withdrawal.Withdrawal) { w.Request.ToAddress = "" }},
		"decimals":             {"pending", func(w *withdrawal.Withdrawal) { w.Request.Decimals = 78 }},
		"amounts disagree":     {"pending", func(w *withdrawal.Withdrawal) { w.Request.AmountRaw = "1" }},
		"negative amount":      {"pending", func(w *withdrawal.Withdrawal) { w.Request.AmountRaw = "-1" }},
		"one approver twice":   {"pending", func(w *withdrawal.Withdrawal) { w.Request.FirstApprover, w.Request.SecondApprover = "a", "a" }},
		"own request":          {"pending", func(w *withdrawal.Withdrawal) { w.Request.FirstApprover = w.Request.RequestedBy }},
		"nobody closed it":     {"rejected", func(w *withdrawal.Withdrawal) { w.Request.ClosedBy = "" }},
		"no final hash":        {"confirmed", func(w *withdrawal.Withdrawal) { w.Request.FinalTxHash = "" }},
		"another final hash":   {"confirmed", func(w *withdrawal.Withdrawal) { w.Request.FinalTxHash = "x" }},
		"queued without a job": {"job pending", func(w *withdrawal.Withdrawal) { w.Job = withdrawal.Job{} }},
		"completed, not confirmed": {"confirming", func(w *withdrawal.Withdrawal) {
			w.Request.Status, w.Request.FinalTxHash = withdrawal.RequestCompleted, "tx1"
		}},
		"failed, job active":      {"confirming", func(w *withdrawal.Withdrawal) { w.Request.Status = withdrawal.RequestFailed }},
		"another amount":          {"processing", func(w *withdrawal.Withdrawal) { w.Job.AmountRaw = "1" }},
		"another wallet":          {"processing", func(w *withdrawal.Withdrawal) { w.Wallet.ID = id(99) }},
		"too many executions":     {"processing", func(w *withdrawal.Withdrawal) { w.Job.RetryCount = 6 }},
		"no execution left":       {"job pending", func(w *withdrawal.Withdrawal) { w.Job.RetryCount = 5 }},
		"no execution counted":    {"processing", func(w *withdrawal.Withdrawal) { w.Job.RetryCount = 0 }},
		"nobody works":            {"processing", func(w *withdrawal.Withdrawal) { w.Job.Lease.Holder = "" }},
		"leased at rest":          {"job pending", func(w *withdrawal.Withdrawal) { w.Job.Lease.Holder = "x" }},
		"slot at rest":            {"job pending", func(w *withdrawal.Withdrawal) { w.Job.Slot.Valid = true }},
		"review of nothing":       {"processing", func(w *withdrawal.Withdrawal) { w.Job.Review = true }},
		"two intents":             {"prepared", func(w *withdrawal.Withdrawal) { w.Job.DispatchedAt = t0 }},
		"transactions lost":       {"confirming", func(w *withdrawal.Withdrawal) { w.Txs = nil }},
		"pending with a live one": {"confirming", func(w *withdrawal.Withdrawal) { w.Job.Status = withdrawal.JobPending }},
		"nothing to confirm":      {"confirming", func(w *withdrawal.Withdrawal) { w.Job.TxsDead = 1 }},
		"checked at rest":         {"job pending", func(w *withdrawal.Withdrawal) { w.Job.Rebroadcast = true }},
		"processed, not ended":    {"confirming", func(w *withdrawal.Withdrawal) { w.Job.ProcessedAt = t0 }},
		"confirmed by nothing":    {"confirmed", func(w *withdrawal.Withdrawal) { w.Job.EvidenceHash = "" }},
		"failed with a live one":  {"reverted", func(w *withdrawal.Withdrawal) { w.Job.EvidenceHash = "" }},
		"hash of nothing":         {"confirming", func(w *withdrawal.Withdrawal) { w.Job.TxHash = "x" }},
		"attempt left open":       {"confirming", func(w *withdrawal.Withdrawal) { w.Attempt.EndedAt = time.Time{} }},
		"attempt from the future": {"confirming", func(w *withdrawal.Withdrawal) { w.Attempt.Fence = 9 }},
		"gap in the transactions": {"confirming", func(w *withdrawal.Withdrawal) { w.Txs = slices.Clone(w.Txs); w.Txs[0].Seq = 2 }},
		"both could be mined": {"confirming", func(w *withdrawal.Withdrawal) {
			second := w.Txs[0]
			second.Seq, second.Hash, second.Nonce = 2, "tx2", 8
			w.Txs = append(slices.Clone(w.Txs), second)
			w.Job.TxsOnFile = 2
		}},
		"the same one twice": {"confirming", func(w *withdrawal.Withdrawal) {
			second := w.Txs[0]
			second.Seq = 2
			w.Txs = append(slices.Clone(w.Txs), second)
			w.Job.TxsOnFile = 2
		}},
	} {
		w := states(t)[tt.from]
		if err := withdrawal.Check(w); err != nil {
			t.Fatalf("%s: %v", tt.from, err)
		}
		tt.spoil(&w)
		if err := withdrawal.Check(w); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: not found", name)
		}
	}
}

func TestAlertsAtTheirLimits(t *testing.T) {
	th := withdrawal.Thresholds{ApprovalWait: time.Hour, EnqueueWait: time.Hour, ClaimWait: time.Hour, ReviewWait: time.Hour,
		ConfirmWait: time.Hour, NonceGaps: 3, CompletionRate: 9000, RetryRate: 1000}
	names := func(s withdrawal.Stats) (out []string) {
		for _, a := range withdrawal.Alerts(s, th) {
			out = append(out, a.Name)
		}
		return out
	}
	at := t0.Add(-time.Hour)
	fine := withdrawal.Stats{At: t0, OldestPending: at, OldestApproved: at, OldestJob: at, OldestReview: at, OldestSent: at,
		Ended: 10, Completed: 9, Executions: 10, Retries: 1, Gaps: map[uuid.UUID][]uint64{hot: {7, 8}, id(99): {3}, id(98): nil}}
	if got := names(fine); got != nil {
		t.Errorf("at the limits: %v", got)
	}
	at = at.Add(-1)
	bad := withdrawal.Stats{At: t0, OldestPending: at, OldestApproved: at, OldestJob: at, OldestReview: at, OldestSent: at,
		Ended: 10, Completed: 8, Executions: 10, Retries: 2, LeaseExpired: 1, Incidents: 1, Gaps: map[uuid.UUID][]uint64{hot: {7, 8}, id(99): {3, 4}}}
	want := []string{"approval wait", "enqueue wait", "claim wait", "review wait", "confirm wait", "stuck", "incidents", "nonce gaps", "completion rate", "retry rate"}
	if got := names(bad); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := withdrawal.Alerts(withdrawal.Stats{At: t0}, withdrawal.Thresholds{}); got != nil {
		t.Errorf("nothing happened: %v", got)
	}
}
