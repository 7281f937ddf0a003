package withdrawaltest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// adversary plays one run, and counts the states of the job, and how it ends.
func adversary(reached map[withdrawal.JobStatus]int, ends map[string]int) func(*rapid.T) {
	return func(t *rapid.T) {
		var last withdrawal.Withdrawal
		var clock time.Time
		p := withdrawaltest.Policies().Draw(t, "policy")
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		withdrawaltest.Run(t, 120, func(ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			if e, ok := ev.(withdrawal.Broadcast); ok { // one that a signer names is a filler
				w.Owner.Valid = strings.HasSuffix(e.Hash, "late2")
			}
			c, err := p.Apply(w, ev)
			reached[c.New.Job.Status]++
			last = c.New
			if at := ev.Said().At; err == nil && !c.Empty() && !at.Before(clock) { // not of one that is said again
				clock = at
				withinLongest(t, p, &c, at)
			}
			return c, err
		})
		switch r := &last.Request; {
		case r.Status == withdrawal.RequestCompleted:
			ends["paid"]++
		case r.PaidAfter != "":
			ends["refunded, and told that it was paid"]++
		case r.RefundReference != "":
			ends["refunded"]++
		case len(last.Txs) == 0 && (r.Status == withdrawal.RequestCancelled || r.Status == withdrawal.RequestRejected):
			ends["stopped at once"]++
		default:
			ends["other"]++
		}
	}
}

// withinLongest fails where a step at a time has put something off until later than the rules say
// of its kind: a later time is taken for that of a clock that was ahead.
func withinLongest(t *rapid.T, p withdrawal.Policy, c *withdrawal.Change, at time.Time) {
	for _, kind := range withdrawal.DueKind(0).Values() {
		was, _ := withdrawal.DueAt(kind, &c.Old, 0)
		is, due := withdrawal.DueAt(kind, &c.New, 0)
		if due && !is.Equal(was) && withdrawal.IsAhead(kind, &c.New, 0, at, at.Add(p.Longest(kind))) {
			t.Fatalf("%v is due at %v, %v behind %v, and is taken for what a clock that was ahead has put off", kind, is, is.Sub(at), at)
		}
	}
}

func TestApplyAgainstTheAdversary(t *testing.T) {
	rapid.Check(t, adversary(map[withdrawal.JobStatus]int{}, map[string]int{}))
}

// The same runs each time: the adversary comes everywhere.
func TestTheAdversaryReachesEveryState(t *testing.T) {
	reached, ends := map[withdrawal.JobStatus]int{}, map[string]int{}
	fixedtest.Run(t, 100, adversary(reached, ends))
	for _, s := range withdrawal.JobMachine.States() {
		if reached[s] == 0 {
			t.Errorf("no run reached %v", s)
		}
	}
	// Where no money moves little is tried.
	if ends["paid"] < 40 || ends["stopped at once"] > 20 || ends["refunded, and told that it was paid"] == 0 {
		t.Errorf("the runs end so: %v", ends)
	}
	t.Log(reached, ends)
}

// Hosts that are wrong in a way that is seldom seen.
func TestTheAdversaryFindsABrokenHost(t *testing.T) {
	for name, broken := range map[string]func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error){
		"one that drops the end of every lease": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			c.New.Job.Lease.Until = time.Time{}
			return c, err
		},
		"one that takes an old fence for nothing changed": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			if errors.Is(err, statemachine.ErrFenced) {
				err = nil
			}
			return c, err
		},
		"one that is deaf to who says that a dead one paid": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			if e, ok := ev.(withdrawal.PaidBy); ok && slices.ContainsFunc(w.Txs[:w.Job.TxsDead], func(tx withdrawal.Tx) bool { return tx.Hash == e.Tx }) {
				return withdrawal.Change{Old: w, New: w}, nil
			}
			return p.Apply(w, ev)
		},
		"one that takes what a signer names for nothing": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			if e, ok := ev.(withdrawal.Broadcast); ok && strings.Contains(e.Hash, "late") && w.Job.Status == withdrawal.JobPending {
				return withdrawal.Change{Old: w, New: w}, nil
			}
			return p.Apply(w, ev)
		},
		"one that hears no second answer of a signer": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			if _, ok := ev.(withdrawal.Broadcast); ok {
				w.Dispatches = slices.DeleteFunc(slices.Clone(w.Dispatches), func(a withdrawal.Attempt) bool { return a.Outcome == statemachine.Done })
				w.Job.Dispatches = int32(len(w.Dispatches))
			}
			return p.Apply(w, ev)
		},
		"one that does nothing": func(_ withdrawal.Policy, _ withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			return withdrawal.Change{Old: w, New: w}, nil
		},
		"one that requeues what is refunded": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			if _, ok := ev.(withdrawal.Requeued); ok {
				w.Request.RefundReference = ""
			}
			return p.Apply(w, ev)
		},
		"one that refunds what a signer says it sent": func(p withdrawal.Policy, ev withdrawal.Event,
			w withdrawal.Withdrawal) (withdrawal.Change, error) {
			sent := w.Request.StraysSent
			if _, ok := ev.(withdrawal.Refunded); ok {
				w.Request.StraysSent = 0
			}
			c, err := p.Apply(w, ev)
			if _, ok := ev.(withdrawal.Refunded); ok {
				c.Old.Request.StraysSent, c.New.Request.StraysSent = sent, sent
			}
			return c, err
		},
		"one that does not see a payment after the refund": func(p withdrawal.Policy, ev withdrawal.Event,
			w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			c.New.Request.PaidAfter = ""
			return c, err
		},
		"one for which what was acknowledged is settled for ever": func(p withdrawal.Policy, ev withdrawal.Event,
			w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			if o, n := &c.Old.Request, &c.New.Request; o.Acknowledged && o.PaidAfter == n.PaidAfter && o.Taken == n.Taken {
				n.Acknowledged = true
			}
			return c, err
		},
		"one that refunds what was told since somebody looked": func(p withdrawal.Policy, ev withdrawal.Event,
			w withdrawal.Withdrawal) (withdrawal.Change, error) {
			open := w.Request.Told != "" && !w.Request.Acknowledged
			if e, ok := ev.(withdrawal.Refunded); ok && open && e.Role == withdrawal.Operator {
				w.Request.Acknowledged = true
			}
			c, err := p.Apply(w, ev)
			if c.Old.Request.Acknowledged = w.Request.Acknowledged && !open; err != nil && open {
				c.New.Request.Acknowledged = false
			}
			return c, err
		},
		"one that opens what was acknowledged whatever is said again": func(p withdrawal.Policy, ev withdrawal.Event,
			w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			if len(c.Incidents) > 0 {
				c.New.Request.Acknowledged = false
			}
			return c, err
		},
		"one that forgets what was mined": func(p withdrawal.Policy, ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			w.Request.Mined = ""
			return p.Apply(w, ev)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixedtest.Finds(t, 250, func(t *rapid.T) {
				p := withdrawaltest.Policies().Draw(t, "policy")
				withdrawaltest.Run(t, 120, func(ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) { return broken(p, ev, w) })
			})
		})
	}
}
