package relaysync

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Apply takes one step. It is pure: the same arguments give the same result.
//
// The same event again (its key is in the record already) gives Old equal to New, an empty log
// and no error. A refusal changes nothing and is a [statemachine.Refusal] around its sentinel.
// Where an event is refused for several reasons, the first of these is given: role or actor,
// existence, fence or revision, version, state, input.
//
// Two kinds of events have no key and always count as new: a Claimed without a fence, and an
// Updated, Activated or Deactivated without a revision. A Finished that is sent again after a
// later claim was taken over cannot be told from that of a holder that lost its lease, and costs
// one more sync.
func (p Policy) Apply(s Sync, ev Event) (Change, error) { return p.ApplyAt(s, ev, time.Time{}) }

// ApplyAt is [Policy.Apply]; now is the store's time, see [statemachine.EventTime].
func (p Policy) ApplyAt(s Sync, ev Event, now time.Time) (Change, error) {
	st := step{Change: Change{Old: s, New: s}, ev: ev}
	st.New.Level = 0 // of this event alone
	err := st.begin(now)
	if err == nil {
		err = p.take(&st)
	}
	if err != nil {
		return Change{Old: s, New: s}, err
	}
	return st.Change, nil
}

func (p *Policy) take(c *step) error {
	if e, ok := c.ev.(Created); ok {
		return p.create(c, &e)
	}
	if c.Old.Phase() == 0 {
		return c.refuse(statemachine.ErrNotFound, "")
	}
	switch e := c.ev.(type) {
	case Updated:
		return p.update(c, &e)
	case Activated:
		return c.setStatus(Active, onActivate, ActivateRelay, e.Revision)
	case Deactivated:
		return c.setStatus(Inactive, onDeactivate, DeactivateRelay, e.Revision)
	case Deleted:
		return c.remove()
	case Claimed:
		return p.claim(c, &e)
	case Finished:
		return p.finish(c, &e)
	case Revoked:
		return p.revoke(c, &e)
	case Reconciled:
		return p.reconcile(c)
	case Retried:
		return c.retry(&e)
	case Recreated:
		return c.recreate(&e)
	}
	return fmt.Errorf("%w: no event", statemachine.ErrInvalid)
}

// Speakers are the roles that may send an event; none for what is no event of the domain.
func Speakers(ev Event) statemachine.Roles[Role] {
	switch ev.(type) {
	case Created, Updated, Activated, Deleted:
		return byHost | byOperator
	case Deactivated:
		return byHost | byOperator | byBiller
	case Claimed, Finished:
		return byReactor
	case Reconciled, Revoked:
		return byReactor | byOperator
	case Retried, Recreated:
		return byOperator
	}
	return 0
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event {
	return []Event{
		Created{}, Updated{}, Activated{}, Deleted{}, Deactivated{}, Claimed{}, Finished{}, Reconciled{}, Revoked{}, Retried{},
		Recreated{},
	}
}

// roles is a set of [Role].
type roles = statemachine.Roles[Role]

const (
	byHost     roles = 1 << Host
	byReactor  roles = 1 << Reactor
	byOperator roles = 1 << Operator
	byBiller   roles = 1 << Biller
)

// step is the work on one event.
type step struct {
	Change
	ev Event
	by By
}

// event names what is refused.
func (c *step) event() string { return statemachine.EventName(c.ev) }

// begin checks role and actor, which is the first of all checks, and brings the time of the event to
// UTC microseconds.
func (c *step) begin(now time.Time) error {
	var reason string
	var err error
	if c.by, _, reason, err = statemachine.Begin(c.ev, Speakers(c.ev), now); err != nil {
		return c.refuse(err, reason)
	}
	return nil
}

func (c *step) version() error {
	if c.by.Version != 0 && c.by.Version != c.Old.Relay.Version {
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", c.by.Version, c.Old.Relay.Version))
	}
	return nil
}

// move is the only place that sets a version. The phase that follows from the new timer must be
// the one that the table names; another phase is a defect of a rule.
func (c *step) move(on Trigger, reason string) error {
	at := c.Old.Phase()
	if _, ok := Machine.Next(at, on); !ok {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	c.Log = make([]statemachine.Transition[string], 1)
	line := &c.Log[0]
	line.ID, line.At, line.Actor, line.Role, line.Trace, line.Reason = c.New.Relay.ID, c.by.At, c.by.Actor,
		c.by.Role.String(), c.by.Trace, reason
	if err := statemachine.Move(Machine, &at, &c.New.Relay.Version, on, line); err != nil {
		return err
	}
	if is := c.New.Phase(); is != at {
		return c.refuse(statemachine.ErrCorrupt, fmt.Sprintf("the timer says %v, the table %v", is, at))
	}
	switch t := &c.New.Timer; {
	case !scheduled(at):
		t.Since = time.Time{}
	case !scheduled(c.Old.Phase()) || t.Since.IsZero() || t.Since.After(c.by.At): // of another writer, of a clock that went back
		t.Since = c.by.At
	}
	return nil
}

// scheduled reports whether a sync is owed, and no person is awaited.
func scheduled(p Phase) bool { return p == PhaseDue || p == PhaseSyncing || p == PhaseWaiting }

// append adds an activity. Its time is never before that of the newest one, so that times and
// sequence numbers have the same order.
func (c *step) append(kind string) Activity {
	h := &c.New.History
	a := Activity{ResourceType: ResourceRelay, ResourceID: c.New.Relay.ID, Type: kind, CreatedAt: c.by.At}
	if a.CreatedAt.Before(h.Newest) {
		a.CreatedAt = h.Newest
	}
	c.Activities = append(c.Activities, a)
	h.Newest = a.CreatedAt
	if kind == FailRelaySync {
		h.Streak++
	} else {
		h.Streak = 0
	}
	h.Completed = h.Completed || kind == CompleteRelaySync
	return a
}

// dueNow makes the relay unsynced and due at once. A timer that is due already keeps its due
// time.
func (c *step) dueNow() {
	t := &c.New.Timer
	c.New.Relay.Synced = false
	if t.Due.IsZero() || t.Due.After(c.by.At) {
		t.Due = c.by.At
	}
	t.Generation++
	t.Backoff, t.Exhausted = false, false
}

func (c *step) refuse(err error, reason string) error {
	id := c.Old.Relay.ID
	if e, ok := c.ev.(Created); ok {
		id = e.Relay
	}
	return &statemachine.Refusal{Err: err, Machine: Machine.Name(), ID: statemachine.Bounded(id, 100), State: c.state(),
		Event: c.event(), Reason: reason}
}

func (c *step) state() string {
	if p := c.Old.Phase(); p != 0 {
		return p.String()
	}
	return ""
}
