package withdrawal_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// What a clock that was ahead has put off is done at once, in each state that gives a due time:
// of each kind there is a record, the column that its due time is made of, and the event that the
// kind asks for. At the longest time that the rules give the record waits.
func TestNothingWaitsForAClockThatWasAhead(t *testing.T) {
	lease := func(w *withdrawal.Withdrawal, at time.Time) { w.Job.Lease.Until = at }
	check := func(w *withdrawal.Withdrawal, at time.Time) { w.Job.NextCheckAt = at }
	putOff := func(w *withdrawal.Withdrawal, at time.Time) { w.Job.OfferAt, w.Request.OfferAt = at, at }
	claim := withdrawal.Claimed{By: by(withdrawal.WithdrawalWorker, t0)}
	claim.Actor = "another"
	cases := map[string]struct {
		kind  withdrawal.DueKind
		state string
		set   func(*withdrawal.Withdrawal, time.Time)
		do    withdrawal.Do    // what Next names
		ev    withdrawal.Event // what is refused before it is due; nil: the kind has none
	}{
		"claim, put off":  {withdrawal.DueClaim, "job pending", putOff, withdrawal.DoClaim, nil},
		"rescue":          {withdrawal.DueRescue, "prepared", lease, withdrawal.DoRescue, withdrawal.Elapsed{By: by(withdrawal.System, t0)}},
		"check":           {withdrawal.DueCheck, "confirming", check, withdrawal.DoLookUp, nil},
		"check in review": {withdrawal.DueCheck, "confirming review", check, withdrawal.DoLookUp, nil},
		"rebroadcast": {withdrawal.DueRebroadcast, "leased confirming", func(w *withdrawal.Withdrawal, at time.Time) {
			w.Job.Rebroadcast, w.Job.NextCheckAt = true, t0
			lease(w, at)
		}, withdrawal.DoRebroadcast, claim},
		"enqueue":            {withdrawal.DueEnqueue, "approved", putOff, withdrawal.DoEnqueue, nil},
		"refund, a dispatch": {withdrawal.DueRefund, "failed", nil, 0, nil},
	}
	known := map[withdrawal.DueKind]bool{}
	p := policy
	for name, c := range cases {
		known[c.kind] = true
		if c.set == nil {
			continue // [TestARefundDoesNotWaitForAClockThatWasAhead]
		}
		longest := p.Longest(c.kind)
		if c.kind == withdrawal.DueRebroadcast || c.kind == withdrawal.DueRescue {
			longest = p.Lease
		}
		for _, at := range []struct {
			after time.Duration
			due   bool
		}{{0, true}, {time.Microsecond, false}, {longest, false}, {longest + time.Microsecond, true}, {10_000 * 24 * time.Hour, true}} {
			w := states(t)[c.state]
			c.set(&w, t0.Add(at.after))
			named := false
			for _, a := range p.Next(w, t0).Actions {
				named = named || a.Do == c.do
			}
			if named != at.due {
				t.Errorf("%s: %v ahead: Next names it: %v", name, at.after, named)
			}
			if c.ev == nil {
				continue
			}
			done, err := p.ApplyAt(w, c.ev, t0)
			if took := err == nil && !done.Empty(); took != at.due {
				t.Errorf("%s: %v ahead: taken %v, %v", name, at.after, took, err)
			}
			if at.due && err == nil {
				if err := withdrawal.Check(done.New); err != nil {
					t.Errorf("%s: %v ahead: %v", name, at.after, err)
				}
			}
		}
	}
	for _, kind := range withdrawal.DueKind(0).Values() {
		if !known[kind] {
			t.Errorf("%v: nothing says what becomes of a time of a clock that was ahead", kind)
		}
	}
	for _, kind := range withdrawal.BatchDue(0).Values() {
		longest, send := p.LongestOfBatch(kind), kind == withdrawal.DueBatchSend
		for after, due := range map[time.Duration]bool{longest: false, longest + time.Microsecond: true} {
			b := newBatch(t, 2)
			b.Batch.Lease = b.Batch.Lease.Release()
			b.Batch.NextCheckAt = t0.Add(after)
			if send {
				b.Batch.NextCheckAt, b.Batch.Rebroadcast = t0, true
				b.Batch.Lease = statemachine.Lease{Holder: "w", Fence: 5, Until: t0.Add(after)}
			}
			do := map[bool]withdrawal.Do{false: withdrawal.DoLookUp, true: withdrawal.DoRebroadcast}[send]
			named := false
			for _, a := range p.NextBatch(b, t0).Actions {
				named = named || a.Do == do
			}
			if named != due {
				t.Errorf("batch %v: %v ahead: Next names it: %v", kind, after, named)
			}
			if c, err := p.ApplyBatch(b, withdrawal.BatchClaimed{By: claim.By}, t0); send && (err == nil) != due {
				t.Errorf("batch %v: %v ahead: claimed: %v", kind, after, err)
			} else if send && due && c.New.Batch.Lease.Fence != 6 {
				t.Errorf("batch: the fence is %d", c.New.Batch.Lease.Fence)
			}
		}
	}
}

// A job that nothing delays is due at once, whatever the clock says that stamped it. A snooze, a
// back-off and a deferral wait from when they were said, for as long as they said; where the clock
// of then was ahead by more than a look-up's pause, they are due at once.
func TestWhatWasAskedIsWaitedForUnlessTheClockWasAhead(t *testing.T) {
	const day = 24 * time.Hour
	p := policy
	p.HoldInsufficient, p.HoldFor, p.HoldCap = true, 10*time.Minute, time.Hour
	snoozed := func(d time.Duration) (time.Duration, func(withdrawal.By) withdrawal.Event) {
		return d, func(by withdrawal.By) withdrawal.Event {
			return withdrawal.GivenBack{By: by, Fence: 1, For: d, Reason: "r"}
		}
	}
	failed := func(d time.Duration, why withdrawal.Failure) (time.Duration, func(withdrawal.By) withdrawal.Event) {
		return d, func(by withdrawal.By) withdrawal.Event {
			return withdrawal.AttemptFailed{By: by, Fence: 1, Failure: why, Error: "e"}
		}
	}
	type said struct {
		asked time.Duration
		ev    func(withdrawal.By) withdrawal.Event
	}
	of := func(d time.Duration, ev func(withdrawal.By) withdrawal.Event) said { return said{d, ev} }
	for name, c := range map[string]said{
		"given back":          of(snoozed(0)),
		"snoozed":             of(snoozed(time.Microsecond)),
		"snoozed for an hour": of(snoozed(time.Hour)),
		"snoozed for long":    of(snoozed(withdrawal.MaxSnooze)),
		"back-off":            of(failed(time.Minute, withdrawal.Retryable)),
		"deferred":            of(failed(10*time.Minute, withdrawal.InsufficientBalance)),
	} {
		for _, ahead := range []time.Duration{0, time.Microsecond, p.CheckEvery, p.CheckEvery + time.Microsecond, day, 29 * day, 31 * day, 400 * day} {
			stamped := t0.Add(ahead)
			pending := states(t)["job pending"]
			pending.Job.ScheduledAt, pending.Job.ScheduledFrom = stamped, stamped // made by that clock too
			w := runWith(t, p, runWith(t, p, pending, withdrawal.Claimed{By: worker(stamped)}), c.ev(worker(stamped)))
			end := stamped.Add(c.asked)
			for _, now := range []time.Time{t0, end.Add(-time.Microsecond), end, end.Add(time.Microsecond)} {
				due := c.asked == 0 || !now.Before(end) || stamped.Sub(now) > p.CheckEvery
				limit := now.Add(p.Longest(withdrawal.DueClaim))
				if got := withdrawal.IsDue(withdrawal.DueClaim, &w, 0, now) || withdrawal.IsAhead(withdrawal.DueClaim, &w, 0, now, limit); got != due {
					t.Errorf("%s, %v ahead, %v later: due: %v", name, ahead, now.Sub(t0), got)
				}
				if got := len(p.Next(w, now).Actions) > 0; got != due {
					t.Errorf("%s, %v ahead, %v later: Next names it: %v", name, ahead, now.Sub(t0), got)
				}
				if _, err := p.ApplyAt(w, withdrawal.Claimed{By: worker(now)}, now); (err == nil) != due {
					t.Errorf("%s, %v ahead, %v later: claimed: %v", name, ahead, now.Sub(t0), err)
				}
			}
		}
	}
}

// A job that is stamped by a clock that was ahead, and then refused and put off by the right one,
// waits as long as that says.
func TestWhatIsPutOffIsNotOfferedAgainAtOnceThoughItsStampIsAhead(t *testing.T) {
	w := states(t)["job pending"]
	w.Job.ScheduledAt, w.Job.ScheduledFrom = t0.Add(48*time.Hour), t0.Add(48*time.Hour)
	w = run(t, w, withdrawal.PutOff{By: by(withdrawal.System, t0)})
	for after, due := range map[time.Duration]bool{0: false, policy.CheckEvery - time.Microsecond: false, policy.CheckEvery: true} {
		now := t0.Add(after)
		limit := now.Add(policy.Longest(withdrawal.DueClaim))
		if got := withdrawal.IsAhead(withdrawal.DueClaim, &w, 0, now, limit); got != due {
			t.Errorf("%v after it was put off: due: %v", after, got)
		}
		if got := len(policy.Next(w, now).Actions) > 0; got != due {
			t.Errorf("%v after it was put off: Next names it: %v", after, got)
		}
	}
}

// The place in the queue of an execution that a hold ends is that of before, and so is when that was said.
func TestAHeldExecutionKeepsItsPlaceAndWhenItWasStamped(t *testing.T) {
	w := states(t)["processing"]
	w.Job.ScheduledFrom = w.Job.ScheduledAt.Add(-time.Minute)
	held := run(t, w, withdrawal.Held{By: by(withdrawal.Operator, t0.Add(time.Second)), Reason: "r"})
	if j := &held.Job; !j.ScheduledAt.Equal(w.Job.ScheduledAt) || !j.ScheduledFrom.Equal(w.Job.ScheduledFrom) {
		t.Errorf("scheduled at %v from %v", j.ScheduledAt, j.ScheduledFrom)
	}
}

// A worker whose lease a clock that was ahead gave works on under its fence until somebody else
// takes over: then it is refused.
func TestALeaseOfAClockThatWasAheadEndsWithTheNextClaim(t *testing.T) {
	w := states(t)["processing"]
	w.Job.Lease.Until = t0.Add(policy.Lease + 48*time.Hour)
	if c, err := policy.ApplyAt(w, prepared(t0, 1, "tx1", 7), t0); err != nil || !c.New.Job.Live() {
		t.Errorf("its holder prepares: %v", err)
	}
	c, err := policy.ApplyAt(w, withdrawal.Elapsed{By: by(withdrawal.System, t0)}, t0)
	if err != nil || c.New.Job.Status != withdrawal.JobPending {
		t.Fatalf("rescued: %v, %v", c.New.Job.Status, err)
	}
	again := run(t, c.New, withdrawal.Claimed{By: worker(c.New.Job.ScheduledAt)})
	for name, w := range map[string]withdrawal.Withdrawal{"rescued": c.New, "claimed": again} {
		at := c.New.Job.ScheduledAt
		if _, err := policy.ApplyAt(w, prepared(at, 1, "tx1", 7), at); err == nil {
			t.Errorf("%s: the old fence prepares", name)
		}
	}
}

// The end of a dispatched execution that a clock which was ahead has dated says nothing of how
// long its signer has been silent: no time refunds it, and a person may.
func TestARefundDoesNotWaitForAClockThatWasAhead(t *testing.T) {
	p := policy
	p.Chain.AnswerWithin = time.Hour
	day := 24 * time.Hour
	for _, c := range []struct {
		ended    time.Duration // ahead of now
		at       time.Duration // from when on the system may; -1: a person has to
		operator time.Duration
	}{
		{-time.Hour, 0, 0},
		{-time.Hour + time.Microsecond, time.Microsecond, time.Microsecond},
		{day, day + time.Hour, day + time.Hour},
		{day + time.Microsecond, -1, 0},
		{1000 * day, -1, 0},
	} {
		w := states(t)["not sent"]
		w.Dispatches = append([]withdrawal.Attempt(nil), w.Dispatches...)
		w.Request.Status, w.Job.Status = withdrawal.RequestCancelled, withdrawal.JobFailed
		w.Dispatches[0].EndedAt = t0.Add(c.ended)
		for role, want := range map[withdrawal.Role]time.Duration{withdrawal.System: c.at, withdrawal.Operator: c.operator} {
			at, err := p.Refundable(w, role, t0)
			switch {
			case want < 0 && err == nil, want >= 0 && err != nil:
				t.Errorf("ended %v ahead: %v: %v", c.ended, role, err)
			case want > 0 && !at.Equal(t0.Add(want)), want == 0 && !at.IsZero():
				t.Errorf("ended %v ahead: %v may at %v", c.ended, role, at)
			}
		}
	}
}
