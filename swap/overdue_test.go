package swap_test

import (
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// A row is one state that something leads out of: how an item comes there, and how long
// after it entered it is overdue if nothing is heard.
type waits[A any] struct {
	enter func(*testing.T) *run[A]
	limit time.Duration
}

var (
	awhile     = policy.OverdueAfter
	patient    = policy.RefundTimeout + policy.OverdueAfter
	unanswered = policy.ConfirmTimeout // an outbound is not settled
)

var depositWaits = map[swap.DepositStatus]waits[swap.Deposit]{
	swap.DepositDetected:        {detected, patient},
	swap.DepositReady:           {ready, awhile},
	swap.DepositDebited:         {debited, unanswered},
	swap.DepositToBeRefunded:    {toBeRefunded, awhile},
	swap.DepositRefundSent:      {refundSent, unanswered},
	swap.DepositToBeQuarantined: {toBeQuarantined, awhile},
	swap.DepositQuarantined: {func(t *testing.T) *run[swap.Deposit] {
		return toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done)
	}, unanswered},
	swap.DepositQuarantineFailed: {func(t *testing.T) *run[swap.Deposit] {
		r := toBeQuarantined(t)
		for range 3 {
			r.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed)
			if r.item.Status == swap.DepositToBeQuarantined {
				r.prove()
			}
		}
		return r.prove()
	}, -1}, // at once
}

var creditWaits = map[swap.CreditStatus]waits[swap.Credit]{
	swap.CreditPending:           {ripe, patient},
	swap.CreditReady:             {creditReady, awhile},
	swap.CreditSending:           {func(t *testing.T) *run[swap.Credit] { return sending(t).answer(statemachine.Failed).prove() }, awhile},
	swap.CreditAwaiting:          {awaiting, unanswered},
	swap.CreditRefundPending:     {refundPending, awhile},
	swap.CreditTradeBalanceCheck: {balanceCheck, awhile},
	swap.CreditCollectingRefund:  {collecting, awhile},
	swap.CreditRefunded:          {refunded, unanswered},
	swap.CreditQuarantined:       {quarantined, awhile},
}

// What is not finished and not held is overdue a bounded time after it entered its
// state, in each state of both machines, whatever it waits for and whatever repeats
// meanwhile, and the alert says so.
func TestInEveryStateWhatIsNotFinishedIsOverdue(t *testing.T) {
	everyState(t, swap.DepositMachine, depositWaits, func(tally *swap.Tally, d *swap.Deposit) { tally.Deposit(d) })
	everyState(t, swap.CreditMachine, creditWaits, func(tally *swap.Tally, c *swap.Credit) { tally.Credit(c) })
}

func everyState[A any, S, T statemachine.Label](t *testing.T, m *statemachine.Machine[S, T], table map[S]waits[A], count func(*swap.Tally, *A)) {
	// told is whether the alert names what is overdue.
	told := func(r *run[A], at time.Time) bool {
		tally := swap.NewTally(at, time.Microsecond)
		count(tally, &r.item)
		alerts := swap.Alerts(tally.Stats(), swap.DefaultThresholds())
		return slices.ContainsFunc(alerts, func(a statemachine.Alert) bool { return a.Name == "overdue" })
	}
	for _, s := range m.States() {
		leaves := slices.ContainsFunc(m.Edges(), func(e statemachine.Edge[S, T]) bool { return e.From == s && e.To != s })
		w, listed := table[s]
		if leaves != listed {
			t.Errorf("%s %v: something leads out of it %v, and it is listed %v", m.Name(), s, leaves, listed)
		}
		if !listed {
			continue
		}
		name := m.Name() + " " + s.String()
		t.Run(name+", silence", func(t *testing.T) {
			r := w.enter(t).is(s.String())
			at := r.i().Entered.Add(w.limit)
			if w.limit == unanswered {
				at = r.latest().At.Add(w.limit)
			}
			if w.limit < 0 {
				at = r.last.Log[len(r.last.Log)-1].At
			}
			if !r.i().OverdueAt.Equal(at) || told(r, at) || !told(r, at.Add(time.Microsecond)) {
				t.Errorf("entered at %v, overdue at %v, expected %v", r.i().Entered, r.i().OverdueAt, at)
			}
		})
		for answers, answer := range map[string]func(*run[A], swap.Task) *run[A]{"nothing is known": unknown[A], "nothing is tried": deferred[A]} {
			for _, behind := range []bool{false, true} {
				t.Run(name+", "+answers+map[bool]string{true: ", after a restore"}[behind], func(t *testing.T) {
					r := w.enter(t).release()
					if behind {
						r.ctl = r.ctl.Restored(r.now).Scanned(swap.Solana).Scanned(swap.Nexus)
					}
					for end := r.now.Add(72 * time.Hour); r.now.Before(end); {
						step := r.next()
						for _, task := range step.Tasks {
							answer(r, task)
						}
						r.release().wait(10 * time.Minute)
						i, limit := r.i(), awhile
						for s, w := range table {
							if s.String() == r.state(&r.item) && w.limit == patient {
								limit = patient
							}
						}
						finished := r.next().Party == 0
						if now := r.now; !finished && now.After(i.Entered.Add(limit)) && (!i.Overdue(now) || !told(r, now)) {
							t.Fatalf("%s since %v, overdue at %v, now %v: %+v", r.state(&r.item), i.Entered, i.OverdueAt, now, r.next())
						}
					}
					if n := len(r.i().Intents); n > 30 {
						t.Errorf("%d intents in three days", n)
					}
				})
			}
		}
	}
}

// unknown answers a task with nothing known, as of a node that is down.
func unknown[A any](r *run[A], task swap.Task) *run[A] {
	r.t.Helper()
	if at := r.i().DueAt(); task.Do != swap.Tell && !r.i().Lease.Held(r.now) && !at.IsZero() && !r.now.Before(at) {
		r.claim()
	}
	switch task.Do {
	case swap.FetchMemo:
		return r.do(swap.MemoFetched{By: r.worker(), Failed: true})
	case swap.CheckAccount:
		return r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUnknown})
	case swap.LookUpMapping:
		return r.do(swap.MappingLooked{By: r.worker(), Asked: r.now, Finding: swap.MappingUnknown})
	case swap.LookUp, swap.LookBack:
		return r.do(swap.Looked{By: r.worker(), Number: task.Number, Finding: swap.LookUnknown, Control: r.ctl})
	case swap.Tell:
		return r.elapse()
	case swap.Begin:
		return r.do(r.begun(task.Action)).answer(statemachine.Unknown)
	}
	return r
}

// deferred answers a task as [unknown] does, but for what is begun: it is not tried, and
// proved not to have been.
func deferred[A any](r *run[A], task swap.Task) *run[A] {
	r.t.Helper()
	switch task.Do {
	case swap.CheckAccount:
		return r.claim().do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	case swap.LookUp:
		if in := r.i().Intent(task.Number); in.Outcome == statemachine.Deferred && !in.Settled() {
			return r.missing(task.Number)
		}
	case swap.Begin:
		return r.claim().do(r.begun(task.Action)).answer(statemachine.Deferred)
	}
	return unknown(r, task)
}
