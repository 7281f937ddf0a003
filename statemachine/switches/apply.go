package switches

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Role is the capacity in which somebody speaks.
// Values: Operator, System.
type Role = statemachine.Enum[role]

const (
	Operator Role = iota + 1 // a person
	System                   // the host, such as an alarm that stops what a person starts again
)

type role struct{}

func (role) Kind() string    { return "role at a switch" }
func (role) Names() []string { return roleNames }

var roleNames = []string{"operator", "system"}

// By says who speaks, in which capacity, when, and about which version of the switch. At
// counts for no event: all goes by the store's clock.
type By = statemachine.By[Role]

// Event is what somebody decided. The set is closed.
type Event interface{ statemachine.Event[Role] }

type (
	// Stopped stops the scope at Level at least, of an operator or the system: at a
	// scope that is stopped so far already it changes nothing. A reason is needed.
	Stopped struct {
		By
		Scope  Scope
		Level  Level `json:",omitzero"` // Begin, Send, and for swaps and everything All
		Reason string
	}
	// Started, of an operator, lowers the level of a scope to To; zero is [On]. With Recovery it
	// ends the recovery of the scope instead, and leaves the level as it is. A scope that is
	// stopped and recovering has two reasons to stand still, and needs one start for each: so a
	// start that is sent again, after a lost answer, never lifts the other reason. A reason is
	// needed.
	//
	// The recovery of [Everything] is never ended: it holds for scopes that are named later, and
	// each scope is started by itself.
	Started struct {
		By
		Scope    Scope
		To       Level `json:",omitzero"` // zero with Recovery
		Recovery bool  // the recovery ends
		Reason   string
		// All is the row of [Everything]. Moved says whether the database is a copy, or a standby
		// that took over, see [State.Elsewhere]; no recovery ends in such a database before
		// somebody has said what was lost. The service fills in both.
		All   Switch
		Moved bool `json:",omitzero"`
		// Unsettled is why the recovery of the scope must not end yet; nil if it may. The service sets
		// it, and no field of the event overrides it.
		Unsettled error `json:"-"`
	}
	// Recovering says, of an operator or the system, that the database was put back to an earlier
	// state, so that the scope is recovering at Level. The restore says it of [Everything]; an
	// operator may say it of one scope, to give this scope another level. The system says it of
	// Everything alone, and lowers no level. Generation is the generation of the database after the
	// restore, 1 or more; below the row's generation the event is ErrConflict.
	Recovering struct {
		By
		Scope      Scope
		Level      Level `json:",omitzero"`
		Generation int64
		Reason     string
	}
)

// Change is the result of one step.
type Change struct {
	Old, New Switch
	Log      []statemachine.Transition[Scope]
}

// Empty reports that there is nothing to save.
func (c *Change) Empty() bool { return len(c.Log) == 0 }

// Merge takes the following change into this one, so that both are saved as one.
func (c *Change) Merge(next *Change) bool {
	c.New = next.New
	c.Log = slices.Concat(c.Log, next.Log)
	return true
}

// Complete checks that the log has one line for each new version, see
// [statemachine.Complete].
func (c *Change) Complete() error {
	return statemachine.Complete(c.Log, statemachine.Versions[Scope]{Machine: Machine.Name(), ID: c.New.Scope,
		Old: c.Old.Version, New: c.New.Version})
}

// ScopeOf is the scope of an event.
func ScopeOf(ev Event) Scope {
	switch e := ev.(type) {
	case Stopped:
		return e.Scope
	case Started:
		return e.Scope
	case Recovering:
		return e.Scope
	}
	return ""
}

// Apply takes one step of the switch of the event's scope; s is zero where the scope has no row
// yet. now is the store's time, see [statemachine.EventTime].
//
// An event that asks for what is so already gives Old equal to New, an empty log and no error. A
// refusal changes nothing and is a [statemachine.Refusal] around its sentinel. Where several
// reasons hold, the first of these is given: role or actor, scope, input, version, state.
func Apply(s Switch, ev Event, now time.Time) (Change, error) {
	c := step{Change: Change{Old: s, New: s}, ev: ev}
	if err := c.take(now); err != nil {
		return Change{Old: s, New: s}, err
	}
	return c.Change, nil
}

// step is the work on one event.
type step struct {
	Change
	ev Event
	by By
}

// Speakers are the roles that may send an event; none for what is no event of switches.
func Speakers(ev Event) statemachine.Roles[Role] {
	switch ev.(type) {
	case Stopped, Recovering:
		return 1<<Operator | 1<<System
	case Started:
		return 1 << Operator
	}
	return 0
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event { return []Event{Stopped{}, Started{}, Recovering{}} }

func (c *step) take(now time.Time) error {
	var reason string
	var err error
	if c.by, _, reason, err = statemachine.Begin(c.ev, Speakers(c.ev), now); err != nil {
		return c.refuse(err, reason)
	}
	c.New.Scope = ScopeOf(c.ev)
	if err := c.New.Scope.Validate(); err != nil {
		return c.refuse(err, "")
	}
	if c.Old.Version != 0 && c.Old.Scope != c.New.Scope {
		return c.refuse(statemachine.ErrInvalid, "the event is for "+string(c.New.Scope))
	}
	switch e := c.ev.(type) {
	case Stopped:
		return c.stop(&e)
	case Started:
		return c.start(&e)
	case Recovering:
		return c.recover(&e)
	}
	return fmt.Errorf("%w: no event", statemachine.ErrInvalid)
}

func (c *step) stop(e *Stopped) error {
	if err := c.wellSaid(e.Level, e.Reason); err != nil {
		return err
	}
	if e.Level < Begin {
		return c.refuse(statemachine.ErrInvalid, "Stopped stops: at begin or higher")
	}
	if _, is := e.Scope.OfWallet(); is {
		return c.refuse(statemachine.ErrInvalid, "a wallet has no stop of its own: stop what pays from it")
	}
	if c.Old.Level >= e.Level {
		return nil
	}
	return c.setLevel(map[Level]Trigger{Begin: onStopBegin, All: onStopAll, Send: onStopSend}[e.Level], e.Reason)
}

func (c *step) start(e *Started) error {
	if e.Recovery && e.To != 0 {
		return c.refuse(statemachine.ErrInvalid, "a start ends the recovery, or lowers the level: To is of the second")
	}
	if e.To == 0 {
		e.To = On
	}
	if err := c.wellSaid(e.To, e.Reason); err != nil {
		return err
	}
	if e.All.Scope != "" && e.All.Scope != Everything {
		return c.refuse(statemachine.ErrInvalid, "All is the row of everything")
	}
	if e.Recovery {
		is := Of(e.All, c.Old)
		switch {
		case e.Moved:
			return c.refuse(ErrUnsettled, "the database is not where it was: say first what was lost")
		case !is.Recovering:
			return nil
		case e.Scope == Everything:
			return c.refuse(statemachine.ErrIllegal, "after a restore each scope is started by itself")
		case e.Unsettled != nil:
			return c.refuse(e.Unsettled, "")
		}
		c.New.Recovering, c.New.Recovery, c.New.Generation, c.New.RecoveredAt = false, 0, is.Generation, c.by.At
		return c.move(onRecovered, e.Reason)
	}
	switch {
	case e.To > max(c.Old.Level, On):
		return c.refuse(statemachine.ErrInvalid, "Started lowers the level, and Stopped raises it")
	case e.To == max(c.Old.Level, On):
		return nil
	}
	return c.setLevel(map[Level]Trigger{On: onStart, Begin: onLowerBegin, All: onLowerAll}[e.To], e.Reason)
}

func (c *step) recover(e *Recovering) error {
	if err := c.wellSaid(e.Level, e.Reason); err != nil {
		return err
	}
	switch o := &c.Old; {
	case e.Level < Begin:
		return c.refuse(statemachine.ErrInvalid, "nothing begins while it is recovering: at begin or higher")
	case e.Generation < 1:
		return c.refuse(statemachine.ErrInvalid, "the generation of a database that was put back is 1 or more")
	case e.Generation < o.Generation:
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("it was said of generation %d, and the switch is of %d", e.Generation,
			o.Generation))
	case e.Generation == o.Generation && !o.Recovering:
		return c.refuse(statemachine.ErrIllegal, "it was started in this generation")
	case e.Generation == o.Generation && e.Level == o.Recovery:
		return nil
	case c.by.Role == System && (e.Scope != Everything || e.Generation == o.Generation && e.Level < o.Recovery):
		return c.refuse(statemachine.ErrForbidden, "only an operator lets more go on while it is recovering")
	}
	c.New.Recovering, c.New.Recovery, c.New.Generation, c.New.RecoveredAt = true, e.Level, e.Generation, c.by.At
	return c.move(onRestored, e.Reason)
}

// wellSaid checks what every event says, then the version.
func (c *step) wellSaid(l Level, reason string) error {
	switch {
	case !c.New.Scope.takes(l):
		return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("the level %v is none of %s", l, c.New.Scope))
	case reason == "":
		return c.refuse(statemachine.ErrInvalid, "a reason is needed")
	case c.by.Version != 0 && c.by.Version != c.Old.Version:
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", c.by.Version, c.Old.Version))
	}
	return nil
}

func (c *step) setLevel(on Trigger, reason string) error {
	n := &c.New
	n.Actor, n.Reason, n.Since = c.by.Actor, statemachine.Bounded(reason, MaxReason), c.by.At
	return c.move(on, reason)
}

// move is the only place that sets a level and a version.
func (c *step) move(on Trigger, reason string) error {
	if _, ok := Machine.Next(c.New.Level, on); !ok {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	c.Log = []statemachine.Transition[Scope]{{ID: c.New.Scope, At: c.by.At, Actor: c.by.Actor, Role: c.by.Role.String(), Trace: c.by.Trace,
		Reason: statemachine.Bounded(reason, MaxReason)}}
	return statemachine.Move(Machine, &c.New.Level, &c.New.Version, on, &c.Log[0])
}

func (c *step) refuse(err error, reason string) error {
	r := &statemachine.Refusal{Err: err, Machine: Machine.Name(), ID: statemachine.Bounded(string(c.New.Scope), 2*MaxScope),
		Event: statemachine.EventName(c.ev), Reason: reason}
	if c.Old.Level != 0 {
		r.State = c.Old.Level.String()
	}
	return r
}
