package withdrawal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

// ended: nothing is owed any more.
func ended(w world) bool {
	switch w.rec.Request.Status {
	case withdrawal.RequestCompleted, withdrawal.RequestFailed, withdrawal.RequestCancelled:
		return true
	}
	return false
}

// mustAct is who acts at last where it can again and again: workers, the clock, who confirms, and
// the chain, each by each of its steps. What fails, is lost, undone or said by a person need not come.
func mustAct(action string) string {
	action = strings.TrimPrefix(strings.TrimPrefix(action, "worker 1 "), "worker 2 ")
	for _, begins := range []string{"claims", "prepares", "sends", "has the signer send", "is refused by the signer", "dispatches", "reports A",
		"reports B", "reports C", "reports D", "reports the re-broadcast", "the lease ends", "the chain shows", "the node misses", "finds nothing",
		"confirmer sees paid by the twin", "nobody can tell"} {
		if strings.HasPrefix(action, begins) && !strings.HasSuffix(action, "misses the answer") {
			return action
		}
	}
	for _, ends := range []string{"is mined", "is buried", "is proven dead"} {
		if strings.HasSuffix(action, ends) {
			return action
		}
	}
	return ""
}

// payments counts what is mined so deep, by whatever hash.
func (w *world) payments(deep place) (n int) {
	for _, tx := range w.txs[:w.signed] {
		if tx.place >= deep {
			n++
		}
	}
	if w.twin != 0 && w.foreign[w.twin-1] >= deep {
		n++
	}
	return n
}

func properties(r rules) []explore.Property[world] {
	return []explore.Property[world]{
		explore.Always("at most one transaction of the request is mined", func(w world) bool { return w.payments(shallow) <= 1 }),
		explore.Always("no two transactions of the request can both be mined", func(w world) bool {
			for a := range w.signed {
				for b := range a {
					if w.possible(a) && w.possible(b) && w.txs[a].nonce != w.txs[b].nonce {
						return false
					}
				}
			}
			return true
		}),
		explore.Always("completed: exactly the final hash is mined at depth and paid", func(w world) bool {
			if w.rec.Request.Status != withdrawal.RequestCompleted {
				return true
			}
			if w.rec.Request.FinalTxHash == twinHash {
				return w.foreign[w.twin-1] == final
			}
			tx := w.txs[w.rec.Request.FinalTxHash[0]-'A']
			return tx.place == final && !tx.reverted && !tx.cancel
		}),
		explore.Always("failed or cancelled: nothing was paid or can be", func(w world) bool {
			if s := w.rec.Request.Status; s != withdrawal.RequestFailed && s != withdrawal.RequestCancelled {
				return true
			}
			if w.twin != 0 && w.rec.Request.Mined == "" {
				return false
			}
			for n := range w.signed {
				tx := w.txs[n]
				if w.possible(n) && !(tx.place == final && (tx.reverted || tx.cancel)) {
					return false
				}
			}
			return true
		}),
		explore.Valid("the record is sound", func(w world) error {
			if err := withdrawal.Check(*w.rec); !errors.Is(err, withdrawal.ErrPaidTwice) { // which other properties count
				return err
			}
			return nil
		}),
		explore.Always("somebody is named, or a moment", func(w world) bool {
			step := r.policy.Next(*w.rec, t0)
			return ended(w) || step.Party != 0 && (step.Party == withdrawal.Operator || !step.Due.IsZero() || len(step.Actions) > 0)
		}),
		explore.CanFinish("the request ends", ended),
		explore.EndsFairly("the request ends, or an operator has it", func(w world) bool {
			return ended(w) || w.rec.Job.Review || w.rec.Request.Held
		}, mustAct),
		explore.NoDeadlock("only an ended request rests", ended),
		explore.Reachable("it is paid", func(w world) bool { return w.rec.Request.Status == withdrawal.RequestCompleted }),
	}
}

// lieProperties is what holds though one proof of death was wrong.
func lieProperties(r rules) []explore.Property[world] {
	honest := properties(r)
	payments := func(w world) int { return w.payments(final) }
	return []explore.Property[world]{
		honest[2], honest[4], honest[5], // completed; sound; somebody is named
		explore.Always("one lie costs at most one second payment", func(w world) bool {
			nonces := map[int8]bool{}
			for n := range w.signed {
				if w.possible(n) {
					nonces[w.txs[n].nonce] = true
				}
			}
			return len(nonces) <= 2
		}),
		explore.Always("failed: nothing was paid or can be, but by what was declared dead", func(w world) bool {
			if w.rec.Request.Status != withdrawal.RequestFailed {
				return true
			}
			for n := range w.signed {
				i := slices.IndexFunc(w.rec.Txs, func(tx withdrawal.Tx) bool { return tx.Hash == hashOf(n) })
				if w.possible(n) && !(i >= 0 && i < int(w.rec.Job.TxsDead)) {
					return false
				}
			}
			return true
		}),
		explore.Always("after the incident nothing begins", func(w world) bool { return !w.lie.went }),
		explore.Always("after the incident an operator has it until they act or it ends", func(w world) bool {
			return !w.lie.incident || w.lie.operated || ended(w) || w.rec.Job.Review
		}),
		explore.CanFinish("it ends, and a second payment is an incident", func(w world) bool {
			return ended(w) && (payments(w) < 2 || w.lie.incident)
		}),
		explore.NoDeadlock("only an ended request rests", ended),
		explore.Reachable("it is paid twice, and known", func(w world) bool { return payments(w) == 2 && w.lie.incident }),
	}
}

func TestModelSurvivesALie(t *testing.T) {
	prepare := newRules()
	prepare.lies = true
	dispatch := newRules()
	dispatch.lies, dispatch.dispatch = true, true
	told := dispatch
	told.told = true
	for _, tt := range []stopRun{
		{modelRun{"prepared", prepare, 82335}, lieProperties, true},
		{modelRun{"dispatched", dispatch, 17494}, lieProperties, false},
		{modelRun{"dispatched, and an operator says so first", told, 21554}, lieProperties, false},
	} {
		t.Run(tt.name, tt.prove)
	}
}

func TestModel(t *testing.T) {
	for _, tt := range modelRuns() {
		t.Run(tt.name, stopRun{tt, properties, false}.prove)
	}
}

type modelRun struct {
	name   string
	rules  rules
	states int // exactly: a model that shrinks proves less
}

func modelRuns() []modelRun {
	prepare := newRules()
	dispatch := newRules()
	dispatch.dispatch = true
	rebump := newRules()
	rebump.rebump, rebump.policy.MaxRetries = true, 1
	revert := newRules()
	revert.revert, revert.dispatch = true, true
	requeue := newRules()
	requeue.policy.MaxRetries, requeue.maxJobs = 1, 2
	return []modelRun{
		{"prepared", prepare, 18150},
		{"dispatched", dispatch, 16018},
		{"rebumped", rebump, 39477},
		{"reverted", revert, 20173},
		{"requeued", requeue, 18474},
	}
}

// A rule taken away: the checker finds the run in which money is lost.
func TestModelFindsABrokenRule(t *testing.T) {
	type step = func(withdrawal.Policy, withdrawal.Withdrawal, withdrawal.Event) (withdrawal.Change, error)
	// unknownIsFailed forgets what may have been sent, as a retry loop does.
	unknownIsFailed := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		switch ev.(type) {
		case withdrawal.AttemptFailed, withdrawal.Elapsed, withdrawal.GivenBack:
			w.Job.DispatchedAt = time.Time{}
			w.Job.TxsDead = w.Job.TxsOnFile
			if w.Job.Status == withdrawal.JobProcessing {
				w.Job.TxHash, w.Job.HasNonce = "", false
			}
		}
		return p.Apply(w, ev)
	}
	// noFence lets a worker write that has lost its lease to another.
	noFence := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		switch e := ev.(type) {
		case withdrawal.Dispatched:
			e.Fence, e.Actor = w.Job.Lease.Fence, w.Job.Lease.Holder
			ev = e
		case withdrawal.AttemptFailed:
			e.Fence, e.Actor = w.Job.Lease.Fence, w.Job.Lease.Holder
			ev = e
		case withdrawal.GivenBack:
			e.Fence, e.Actor = w.Job.Lease.Fence, w.Job.Lease.Holder
			ev = e
		}
		return p.Apply(w, ev)
	}
	// forgetful rescues as if the signer had not been called.
	forgetful := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		if _, ok := ev.(withdrawal.Elapsed); ok {
			w.Job.DispatchedAt = time.Time{}
		}
		return p.Apply(w, ev)
	}
	for _, tt := range []struct {
		name     string
		run      int // of modelRuns
		property int // of properties
		step     step
		shallow  bool
	}{
		{"unknown is taken for failed after Prepared: paid twice", 0, 0, unknownIsFailed, false},
		{"unknown is taken for failed after Dispatched: paid twice", 1, 0, unknownIsFailed, false},
		{"a rescue forgets the dispatch: paid twice", 1, 0, forgetful, false},
		{"no fence: failed, and paid", 1, 3, noFence, false},
		{"depth 1 is final: completed without a payment", 0, 2, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := modelRuns()[tt.run].rules
			r.shallowOK = tt.shallow
			if tt.step != nil {
				r.apply = tt.step
			}
			result, err := explore.CheckBy(model(r), world.key, properties(r)[tt.property])
			var found *explore.Counterexample[world]
			if !errors.As(err, &found) {
				t.Fatalf("not found among %v: %v", result, err)
			}
			t.Log(err)
		})
	}
}
