package withdrawal_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

// unsentProperties is what holds though one answer "not sent" was wrong.
func unsentProperties(r rules) []explore.Property[world] {
	honest := properties(r)
	return []explore.Property[world]{
		honest[2], honest[4], honest[5], // completed; sound; somebody is named
		explore.Always("the wrong answer costs at most one second payment", func(w world) bool { return w.payments(shallow) <= 2 }),
		explore.Always("once the library was told, nothing else begins", func(w world) bool { return !w.begun }),
		explore.CanFinish("it ends", ended),
		explore.NoDeadlock("only an ended request rests", ended),
		explore.Reachable("it was sent all the same, told, and paid once", func(w world) bool {
			return w.lie.told && w.heard != 0 && w.rec.Request.Status == withdrawal.RequestCompleted && w.payments(final) == 1
		}),
	}
}

// anothersProperties is what holds though a signer names what is another
// request's, and one answer "not sent" was wrong.
func anothersProperties(r rules) []explore.Property[world] {
	unsent := unsentProperties(r)
	return []explore.Property[world]{
		unsent[1], unsent[2], unsent[4], // sound; somebody is named; once told nothing begins
		explore.Reachable("it is held", func(w world) bool { return w.rec.Request.Held }),
	}
}

// twiceProperties is what holds though a signer signs twice for one reference.
func twiceProperties(r rules) []explore.Property[world] {
	unsent := unsentProperties(r)
	return append(unsent[:len(unsent)-1], explore.Reachable("both are told, and one has paid", func(w world) bool {
		return w.heard == 3 && w.rec.Request.Status == withdrawal.RequestCompleted && w.payments(final) == 1
	}))
}

// staleProperties is what holds though one proof was wrong and somebody writes
// late what they decided early.
func staleProperties(r rules) []explore.Property[world] {
	lies := lieProperties(r)
	return []explore.Property[world]{
		lies[1], lies[3], lies[5], // sound; at most one second payment; after the incident nothing begins
		explore.CanFinish("it ends, or an operator cancels it", func(w world) bool { return ended(w) || w.rec.Request.Status == withdrawal.RequestApproved }),
		explore.Reachable("somebody has read before the incident, and not written yet", func(w world) bool {
			return w.snap != nil && w.snap.Request.Mined == "" && w.rec.Request.Mined == "" && w.rec.Request.Status == withdrawal.RequestFailed && w.payments(final) == 1
		}),
	}
}

type stopRun struct {
	modelRun
	properties func(rules) []explore.Property[world]
	soak       bool // too wide for every run: under SETTLE_SOAK=1 alone
}

func stopRuns() []stopRun {
	twins, twinDispatch, unsent, stop, stale := newRules(), newRules(), newRules(), newRules(), newRules()
	twins.twins, twins.careless, twins.policy.MaxRetries = true, true, 1
	twinDispatch.twins, twinDispatch.dispatch, twinDispatch.policy.MaxRetries = true, true, 1
	unsent.unsent, unsent.dispatch, unsent.quiet = true, true, true
	anothers := unsent
	anothers.anothers, anothers.stale = true, true
	twice := newRules()
	twice.twice, twice.dispatch, twice.quiet = true, true, true
	stop.stop, stop.policy.MaxRetries, stop.quiet = true, 1, true
	stale.stale, stale.lies, stale.policy.MaxRetries, stale.maxJobs, stale.quiet = true, true, 1, 2, true
	staleOnce := stale
	staleOnce.maxJobs = 1
	return []stopRun{
		{modelRun{"paid under another hash", twins, 19661}, properties, false},
		{modelRun{"paid under another hash, dispatched", twinDispatch, 5035}, properties, false},
		{modelRun{"sent after not sent", unsent, 72531}, unsentProperties, false},
		{modelRun{"named what is another's, after not sent", anothers, 201855}, anothersProperties, true},
		{modelRun{"cancelled, held and released", stop, 6937}, properties, false},
		{modelRun{"decided on what was read before", stale, 66024}, staleProperties, true},
		{modelRun{"sent twice for one reference", twice, 98828}, twiceProperties, true},
		{modelRun{"decided on what was read before, one job", staleOnce, 1923}, staleProperties, false},
	}
}

func TestModelStops(t *testing.T) {
	for _, tt := range stopRuns() {
		t.Run(tt.name, tt.prove)
	}
}

// prove checks one run of a model, a run whose field soak is set under SETTLE_SOAK=1 alone: its
// rules have tests of their own in rules_told_test.go and rules_stop_test.go.
func (s stopRun) prove(t *testing.T) {
	if s.soak && os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK is not set")
	}
	result, err := explore.CheckBy(model(s.rules), world.key, s.properties(s.rules)...)
	if err != nil {
		t.Fatalf("%v\n%v", result, err)
	}
	t.Log(result)
	if result.States != s.states {
		t.Errorf("%d states, expected %d", result.States, s.states)
	}
}

// Each of the rules that were missing, taken away: the checker finds the run in
// which money is lost.
func TestModelFindsEachMissingRule(t *testing.T) {
	// bySpelling takes another spelling for another transaction (M5).
	bySpelling := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		if e, ok := ev.(withdrawal.ProvenDead); ok && strings.HasPrefix(e.Other, "0x") {
			e.Other = "other"
			ev = e
		}
		return p.Apply(w, ev)
	}
	// deaf refuses the answer of a dispatch that was declared not sent (M6).
	deaf := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		if e, ok := ev.(withdrawal.Broadcast); ok && (w.Job.DispatchedAt.IsZero() || e.Fence != w.Job.Lease.Fence) {
			w.Dispatches, w.Job.Dispatches = nil, 0
		}
		return p.Apply(w, ev)
	}
	// once forgets a dispatch that was answered.
	once := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		if _, ok := ev.(withdrawal.Broadcast); ok {
			w.Dispatches = slices.DeleteFunc(slices.Clone(w.Dispatches), func(a withdrawal.Attempt) bool { return a.Outcome == statemachine.Done })
			w.Job.Dispatches = int32(len(w.Dispatches))
		}
		return p.Apply(w, ev)
	}
	// unstopped records that a hash is another's, and goes on.
	unstopped := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		c, err := p.Apply(w, ev)
		if len(c.Incidents) > 0 && c.Incidents[0].Claim == withdrawal.ClaimTaken {
			c.New = c.Old
		}
		return c, err
	}
	// unread records it without a version where an operator has the job.
	unread := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		if w.Job.Review {
			return unstopped(p, w, ev)
		}
		return p.Apply(w, ev)
	}
	// versionless records an incident beside the record, as a fact that no
	// version covers (M7).
	versionless := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		c, err := p.Apply(w, ev)
		if len(c.Incidents) > 0 && c.New.Job.Version == c.Old.Job.Version {
			c.New.Request.Version, c.Log = c.Old.Request.Version, nil
		}
		return c, err
	}
	for _, tt := range []struct {
		name     string
		run      int // of stopRuns
		property int
		change   func(*rules)
	}{
		{"M4: the host compares hashes: paid twice", 0, 0, func(r *rules) { r.hashesOnly, r.policy.MaxRetries = true, 2 }},
		{"M4: the same for a signer's hash", 1, 0, func(r *rules) { r.hashesOnly, r.policy.MaxRetries = true, 2 }},
		{"M5: a spelling is another transaction: paid twice", 0, 0, func(r *rules) { r.apply, r.policy.MaxRetries = bySpelling, 2 }},
		{"M6: the late answer is refused: it is paid again", 2, 4, func(r *rules) { r.apply = deaf }},
		{"a second answer is refused: it is paid again", 6, 4, func(r *rules) { r.apply = once }},
		{"the hash of another stops nothing: it is paid again", 3, 2, func(r *rules) { r.apply = unstopped }},
		{"the hash of another is no news to an operator: it is paid again", 3, 2, func(r *rules) { r.apply = unread }},
		{"M7: an incident moves no version: it is paid again", 5, 2, func(r *rules) { r.apply = versionless }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := stopRuns()[tt.run]
			tt.change(&run.rules)
			result, err := explore.CheckBy(model(run.rules), world.key, run.properties(run.rules)[tt.property])
			var found *explore.Counterexample[world]
			if !errors.As(err, &found) {
				t.Fatalf("not found among %v: %v", result, err)
			}
			t.Log(err)
		})
	}
}
