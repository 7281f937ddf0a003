package store

import (
	"context"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Switches is the switch that stops payments, of package switches: everything, a chain, a direction of swaps, charges,
// relays. It is safe for concurrent use.
//
// Every command may be repeated: a command that asks for what is so already changes nothing. After [ErrUnknownCommit] a
// caller sends it again. Actor and role of an event come from the caller, the time of an event is the store's.
//
// A transaction that begins something, or hands something out to be sent, asks the switch. So once a stop is committed
// it refuses every transaction that asks later, in every process, whatever policy the process has; no worker is told,
// and none has to be restarted.
type Switches struct {
	switchCore
	joined bool // in a transaction that its caller commits
}

type (
	switchCore  = core[SwitchUnit, switches.Scope, switches.Scope, switches.Switch, switches.Event, switches.Change]
	switchBatch = batch[SwitchUnit, switches.Scope, switches.Scope, switches.Switch, switches.Event, switches.Change]
)

// NewSwitches returns the service for a store of any transaction type that has
// switches.
func NewSwitches[T SwitchUnit](s Store[T]) (*Switches, error) {
	return &Switches{newCore(s, switchAggregate(), func(tx T) SwitchUnit { return tx }), false}, nil
}

func switchAggregate() *aggregate[SwitchUnit, switches.Scope, switches.Scope, switches.Switch, switches.Event, switches.Change] {
	return &aggregate[SwitchUnit, switches.Scope, switches.Scope, switches.Switch, switches.Event, switches.Change]{
		domain: DomainSwitches,
		records: func(tx SwitchUnit) records[switches.Scope, switches.Scope, switches.Switch, switches.Change] {
			return tx.Switches()
		},
		machines: []machine[switches.Scope]{machineOf[switches.Scope](switches.Machine)},
		id:       func(s *switches.Switch) switches.Scope { return s.Scope },
		exists:   func(s *switches.Switch) bool { return s.Version != 0 },
		states: func(s *switches.Switch) []state[switches.Scope] {
			return []state[switches.Scope]{{switches.Machine.Name(), s.Scope, s.Version, s.Level.String()}}
		},
		creates: func(ev switches.Event) (switches.Scope, bool) { return switches.ScopeOf(ev), true },
		apply:   switches.Apply,
		result:  func(c *switches.Change) *switches.Switch { return &c.New },
		empty:   (*switches.Change).Empty,
		merge:   (*switches.Change).Merge,
		beside: func(b *switchBatch) beside[switches.Switch, switches.Event, switches.Change] {
			return everything{b}
		},
	}
}

// asked is what the switch says of scopes, each asked once in a transaction.
type asked map[switches.Scope]switches.State

func (a *asked) state(tx SwitchUnit, scope switches.Scope) (switches.State, error) {
	if state, known := (*a)[scope]; known {
		return state, nil
	}
	state, err := tx.Switches().Ask(scope)
	if err == nil && *a == nil {
		*a = asked{}
	}
	if err == nil {
		(*a)[scope] = state
	}
	return state, err
}

// level is the level at which a scope is stopped, zero where something may begin.
func (a *asked) level(tx SwitchUnit, scope switches.Scope) (switches.Level, error) {
	state, err := a.state(tx, scope)
	if state.Begins() {
		return 0, err
	}
	return state.Level, err
}

// everything reads the row of [switches.Everything], by which a scope may be recovering.
type everything struct{ *switchBatch }

func (e everything) fill(_ *switches.Switch, ev switches.Event) (switches.Event, error) {
	started, is := ev.(switches.Started)
	if !is {
		return ev, nil
	}
	if err := e.save(); err != nil { // what was written before it counts
		return ev, err
	}
	all, err := only(e.tx.Switches().Get(switches.Everything))
	if started.All = all; err == nil && started.Recovery {
		var is switches.State
		if is, err = e.tx.Switches().Ask(started.Scope); err == nil {
			started.Moved = is.Moved
			started.Unsettled, err = unsettled(e.tx, started.Scope, is)
		}
	}
	return started, err
}

func (e everything) follow(*switches.Change) error { return nil }

// Within returns the service inside a transaction that the caller has begun and will end; its methods then commit
// nothing themselves. A stop holds from the caller's commit on, so Stop does not say there whether earlier transactions
// have ended: call Quiet afterwards, on the service outside of the transaction.
func (s *Switches) Within(tx SwitchUnit) *Switches { return &Switches{s.within(tx), true} }

// Quiet says since when nothing has begun that a stop refuses.
type Quiet struct {
	// Since is when every transaction that had asked the switch before the stop had ended; every later one is refused.
	// Zero: Open names transactions that asked before and have not ended; each may still begin, or send, what it asked
	// for. One claim is not waited for: a claim to send bytes on file again, which was under way, may hand them out
	// after Since.
	Since time.Time
	Open  []OpenTransaction
}

// stopWait is how long Stop waits for transactions to end, and askAgain how often it looks.
const (
	stopWait = 5 * time.Second
	askAgain = 50 * time.Millisecond
)

// Stop stops a scope. The row is committed at once, whatever else is under way: every transaction that asks later is
// refused. Then Stop looks for at most 5 s whether the transactions that asked before have ended, as [Switches.Quiet]
// does, and returns the answer. The stop holds whatever this answer is, and also if Stop returns the switch with an
// error: then only the second part has failed.
//
// A worker that has signed bytes in hand at that moment may still send them.
//
// The stop waits for whoever locks the tables settle_switches, transitions or settle_journal as a whole, such as CREATE
// INDEX without CONCURRENTLY, and on SQLite for the one writer that a database has.
func (s *Switches) Stop(ctx context.Context, ev switches.Stopped) (switches.Switch, Quiet, error) {
	is, err := s.Do(ctx, ev.Scope, ev)
	if err != nil || s.joined {
		return is, Quiet{}, err
	}
	quiet, err := s.Quiet(ctx, ev.Scope, stopWait)
	return is, quiet, err
}

// Quiet looks whether all transactions that asked the switch of a scope have ended, again and again for at most wait,
// and at least once. It stops nobody and waits for no lock. It may be called at any time, but its answer is about a
// stop only once the stop is committed.
func (s *Switches) Quiet(ctx context.Context, scope switches.Scope, wait time.Duration) (Quiet, error) {
	if err := scope.Validate(); err != nil {
		return Quiet{}, err
	}
	if s.joined {
		return Quiet{}, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: switches.Machine.Name(), ID: string(scope), Event: "quiet",
			Reason: "the transaction that asks has not ended itself"}
	}
	end := time.NewTimer(max(wait, 0))
	defer end.Stop()
	for {
		var q Quiet
		err := s.update(ctx, func(tx SwitchUnit) (err error) {
			q = Quiet{}
			if q.Open, err = tx.Switches().Open(scope); err == nil && len(q.Open) == 0 {
				q.Since, err = tx.Now()
			}
			return err
		})
		if err != nil || len(q.Open) == 0 {
			return q, err
		}
		again := time.NewTimer(askAgain)
		select {
		case <-again.C:
		case <-end.C:
			again.Stop()
			return q, nil
		case <-ctx.Done():
			again.Stop()
			return q, ctx.Err()
		}
	}
}

// Start lowers the level of a scope, or ends its recovery, see [switches.Started]. While something that may have been
// paid before the restore is not settled, the recovery does not end: Start is [switches.ErrUnsettled], for a chain in a
// [withdrawal.UnsettledError] with the first open point. [Withdrawals.Unsettled] returns all points. For relays see
// [Relays.Resync]. Work that waited is offered again when a worker asks the next time.
func (s *Switches) Start(ctx context.Context, ev switches.Started) (switches.Switch, error) {
	return s.Do(ctx, ev.Scope, ev)
}

// Recover makes a scope recovering, see [switches.Recovering].
func (s *Switches) Recover(ctx context.Context, ev switches.Recovering) (switches.Switch, error) {
	return s.Do(ctx, ev.Scope, ev)
}

// Do sends events to the switch of a scope, in order, and returns it as it is stored
// afterwards. An error of one event changes nothing at all.
func (s *Switches) Do(ctx context.Context, scope switches.Scope, events ...switches.Event) (switches.Switch, error) {
	return only(s.do(ctx, []command[switches.Scope, switches.Switch, switches.Event]{{id: scope, events: events}}))
}

// Get returns the row of a scope, [statemachine.ErrNotFound] for one that was never
// stopped.
func (s *Switches) Get(ctx context.Context, scope switches.Scope) (switches.Switch, error) {
	return read(ctx, s.view, func(tx SwitchUnit) (switches.Switch, error) { return s.get(tx, scope) })
}

// State is what counts for a scope, see [switches.Of].
func (s *Switches) State(ctx context.Context, scope switches.Scope) (switches.State, error) {
	if err := scope.Validate(); err != nil {
		return switches.State{}, err
	}
	return read(ctx, s.view, func(tx SwitchUnit) (switches.State, error) { return tx.Switches().Ask(scope) })
}

// List pages through the rows in byte order of their scopes, behind one.
func (s *Switches) List(ctx context.Context, after switches.Scope, limit int) ([]switches.Switch, error) {
	return read(ctx, s.view, func(tx SwitchUnit) ([]switches.Switch, error) { return tx.Switches().List(after, limit) })
}

// Trail returns the audit trail of a scope, oldest first, after replaying it through the table: a trail that does not
// end in the stored level and version is [statemachine.ErrCorrupt].
func (s *Switches) Trail(ctx context.Context, scope switches.Scope) ([]statemachine.Transition[switches.Scope], error) {
	return s.trail(ctx, scope)
}

// Audit checks the invariants of a page of switches, see [switches.Check], behind a scope. It returns the last scope
// for the next page, empty at the end, and everything that it found wrong.
func (s *Switches) Audit(ctx context.Context, after switches.Scope, limit int) (last switches.Scope, err error) {
	return s.audit(ctx, func(tx SwitchUnit) ([]switches.Scope, error) {
		all, err := tx.Switches().List(after, limit)
		return mapped(all, func(s *switches.Switch) switches.Scope { return s.Scope }), err
	}, switches.Check)
}

// Follow returns up to limit committed transitions of switches after a cursor, and the
// cursor to go on with, see [Feed].
func (s *Switches) Follow(ctx context.Context, after Cursor,
	limit int) (page []statemachine.Transition[switches.Scope], next Cursor, err error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition.
func (s *Switches) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }
