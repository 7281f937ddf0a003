package withdrawal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func TestLookingPutsTheNextCheckOff(t *testing.T) {
	at := t0.Add(2 * time.Hour)
	looking := withdrawal.Looking{By: checker(at)}
	for name, w := range states(t) {
		c, err := policy.Apply(w, looking)
		if w.Job.Status != withdrawal.JobConfirming {
			if !errors.Is(err, statemachine.ErrIllegal) || !c.Empty() {
				t.Errorf("%s: got %v, %v", name, c.New.Job, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sound(t, c)
		want := w.Job
		want.NextCheckAt = at.Add(policy.CheckEvery)
		if !c.Touch() || len(c.Log) > 0 || c.New.Job != want {
			t.Errorf("%s: got %+v", name, c.New.Job)
		}
		again, err := policy.Apply(c.New, looking)
		if err != nil || !again.Empty() {
			t.Errorf("%s: the same again gave %+v, %v", name, again.New.Job, err)
		}
		renewed := run(t, c.New, withdrawal.Looking{By: checker(at.Add(time.Second))})
		if !renewed.Job.NextCheckAt.Equal(at.Add(time.Second + policy.CheckEvery)) {
			t.Errorf("%s: renewed until %v", name, renewed.Job.NextCheckAt)
		}
	}
}

func TestLookingIsForConfirmationWorkersAndTheVersionTheySaw(t *testing.T) {
	w := states(t)["confirming"]
	for _, role := range withdrawal.Role(0).Values() {
		_, err := policy.Apply(w, withdrawal.Looking{By: by(role, t0)})
		if allowed := role == withdrawal.ConfirmationWorker; errors.Is(err, statemachine.ErrForbidden) == allowed {
			t.Errorf("%v: got %v", role, err)
		}
	}
	old := checker(t0)
	old.Version = w.Job.Version - 1
	if _, err := policy.Apply(w, withdrawal.Looking{By: old}); !errors.Is(err, statemachine.ErrConflict) {
		t.Errorf("another version: got %v", err)
	}
}

// Evidence that comes while somebody looks is taken as at any time.
func TestLookingKeepsNothingFromHappening(t *testing.T) {
	w := run(t, states(t)["confirming"], withdrawal.Looking{By: checker(t0)})
	if w = run(t, w, receipt(t0, "tx1", 3)); w.Job.Status != withdrawal.JobConfirmed {
		t.Errorf("got %v", w.Job.Status)
	}
}

// The store's clock counts, whatever time an event brings.
func TestApplyAtGoesByTheStoresClock(t *testing.T) {
	w, p := states(t)["confirming"], policy
	late := t0.Add(time.Hour)
	for _, c := range []struct{ at, want time.Time }{{time.Time{}, late}, {t0, late}} {
		change, err := p.ApplyAt(w, withdrawal.Looking{By: checker(c.at)}, late)
		if err != nil {
			t.Fatal(err)
		}
		if got := change.New.Job.NextCheckAt; !got.Equal(c.want.Add(p.CheckEvery)) {
			t.Errorf("at %v: the next look-up is at %v", c.at, got)
		}
	}
	if _, err := p.Apply(w, withdrawal.Looking{By: checker(time.Time{})}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("no time at all: %v", err)
	}
}
