package withdrawal_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func TestLookingPutsTheNextCheckOff(t *testing.T) {
	at := t0.Add(time.Minute)
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

func TestStampSetsOnlyATimeThatIsMissing(t *testing.T) {
	events := []withdrawal.Event{withdrawal.Submitted{}, withdrawal.Approved{}, withdrawal.Rejected{}, withdrawal.Cancelled{}, withdrawal.Enqueued{},
		withdrawal.Requeued{}, withdrawal.Imported{}, withdrawal.Claimed{}, withdrawal.Prepared{}, withdrawal.Dispatched{}, withdrawal.Broadcast{},
		withdrawal.Rebumped{}, withdrawal.AttemptFailed{}, withdrawal.Snoozed{}, withdrawal.Rebroadcast{}, withdrawal.Looking{}, withdrawal.Receipt{},
		withdrawal.Missing{}, withdrawal.ProvenDead{}, withdrawal.Resolved{}, withdrawal.Elapsed{}}
	for _, ev := range events {
		stamped := withdrawal.Stamp(ev, t0)
		if reflect.TypeOf(stamped) != reflect.TypeOf(ev) {
			t.Fatalf("%T became %T", ev, stamped)
		}
		if at := reflect.ValueOf(stamped).FieldByName("At").Interface().(time.Time); !at.Equal(t0) {
			t.Errorf("%T has time %v", ev, at)
		}
		if again := withdrawal.Stamp(stamped, t0.Add(time.Hour)); !reflect.DeepEqual(again, stamped) {
			t.Errorf("%T was stamped twice", ev)
		}
	}
}
