package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
)

// Switches proves the switches of a store.
func Switches[T store.SwitchUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *switched { return newSwitched(t, timedSwitches(open(t))) }
	versioned(t, func(t *testing.T) *switchSubject { return opened(t).switchSubject }, func(t *testing.T) *switchSubject {
		return newSwitched(t, timedSwitches(memory.New(memory.Options{}))).switchSubject
	})
	type of = *switched
	prove(t, opened, []rule[of]{
		{"every field of a switch comes back", of.everySwitchField},
		{"what counts for a scope is what the domain says of its row and of that of everything", of.asked},
		{"a stop is answered, and what does not exist stops nothing", of.stopAndStart},
	})
}

type (
	switchSubject = subject[store.SwitchUnit, switches.Scope, switches.Scope, switches.Switch, switches.Event, switches.Change]
	switchStage   = stage[switches.Scope, switches.Switch, switches.Event]
)

// switched is one store under test.
type switched struct {
	*switchSubject
	service *store.Switches
}

func newSwitched(t *testing.T, s store.Store[store.SwitchUnit]) *switched {
	t.Helper()
	w := &switched{service: must(store.NewSwitches(s))(t)}
	w.switchSubject = w.subject(s)
	return w
}

func switchBy(at time.Time) switches.By {
	return switches.By{Actor: "olga", Role: switches.Operator, At: at}
}

func stopEvent(scope switches.Scope, level switches.Level) switches.Stopped {
	return switches.Stopped{By: switchBy(start), Scope: scope, Level: level, Reason: "stop"}
}

func startEvent(scope switches.Scope, to switches.Level) switches.Started {
	return switches.Started{By: switchBy(start), Scope: scope, To: to, Reason: "start"}
}

func endedEvent(scope switches.Scope) switches.Started {
	return switches.Started{By: switchBy(start), Scope: scope, Recovery: true, Reason: "start"}
}

func recoveringEvent(scope switches.Scope, level switches.Level, generation int64) switches.Recovering {
	return switches.Recovering{By: switchBy(start), Scope: scope, Level: level, Generation: generation, Reason: "restored"}
}

// subject says how to make switches, for the rules of any versioned record.
func (w *switched) subject(s store.Store[store.SwitchUnit]) *switchSubject {
	return &switchSubject{
		Store:   s,
		service: w.service,
		within: func(tx store.SwitchUnit) service[switches.Scope, switches.Scope, switches.Switch, switches.Event] {
			return w.service.Within(tx)
		},
		records: func(tx store.SwitchUnit) records[switches.Scope, switches.Scope, switches.Switch, switches.Change] {
			return tx.Switches()
		},
		apply: func(s switches.Switch, ev switches.Event) (switches.Change, error) {
			return switches.Apply(s, ev, time.Time{})
		},
		check: switches.Check,
		states: func(s *switches.Switch) (all []stored[switches.Scope]) {
			if s.Version > 0 {
				all = append(all, stored[switches.Scope]{s.Scope, s.Version, s.Level.String()})
			}
			return all
		},
		named:  true,
		newID:  func() switches.Scope { return switches.Chain(uuid.New()) },
		id:     func(s *switches.Switch) switches.Scope { return s.Scope },
		stages: switchStages(),
		speech: &speech[switches.Scope, switches.Switch, switches.Event]{"switches", switches.Machine.Name(), switches.Events(),
			func(ev switches.Event) uint8 { return uint8(switches.Speakers(ev)) }, nil},
		lists: []list[store.SwitchUnit, switches.Scope, switches.Switch]{
			{"List", func(tx store.SwitchUnit, _ time.Time, after switches.Scope, limit int) (ids []switches.Scope, err error) {
				page, err := tx.Switches().List(after, limit)
				for i := range page {
					ids = append(ids, page[i].Scope)
				}
				return ids, err
			}, func(*switches.Switch, time.Time) bool { return true }, nil},
		},
		limits: map[string]func(int) error{
			"Audit": func(n int) error { return errOf(w.service.Audit(ctx, "", n)) },
		},
		selfCheck: func(ctx context.Context) error { return store.SelfCheckSwitches(ctx, s) },
		draw: func(rt *rapid.T) history[switches.Scope, switches.Switch, switches.Event] {
			scope := switches.Chain(uuid.New())
			return history[switches.Scope, switches.Switch, switches.Event]{id: scope, steps: 20, next: func(s *switches.Switch) switches.Event {
				if s.Version == 0 {
					return stopEvent(scope, switches.Begin)
				}
				levels := switches.Level(0).Values()
				level, generation := rapid.SampledFrom(levels).Draw(rt, "level"), rapid.Int64Range(0, 4).Draw(rt, "generation")
				return rapid.SampledFrom([]switches.Event{stopEvent(scope, level), startEvent(scope, level), endedEvent(scope),
					recoveringEvent(scope, level, generation)}).Draw(rt, "event")
			}}
		},
	}
}

func switchStages() []switchStage {
	made := func(events ...func(switches.Scope) switches.Event) func(switches.Scope) []switches.Event {
		return func(scope switches.Scope) (all []switches.Event) {
			for _, ev := range events {
				all = append(all, ev(scope))
			}
			return all
		}
	}
	begin := func(s switches.Scope) switches.Event { return stopEvent(s, switches.Begin) }
	send := func(s switches.Scope) switches.Event { return stopEvent(s, switches.Send) }
	run := func(s switches.Scope) switches.Event { return startEvent(s, 0) }
	restored := func(s switches.Scope) switches.Event { return recoveringEvent(s, switches.Send, 1) }
	rivals := func(s *switches.Switch, i int) switches.Event {
		return recoveringEvent(s.Scope, switches.Begin, s.Generation+1+int64(i))
	}
	return []switchStage{
		{name: "nothing begins", events: made(begin), rivals: rivals,
			back: func(s *switches.Switch) []switches.Event { return made(run, begin)(s.Scope) }},
		{name: "nothing is sent", events: made(begin, send), rivals: rivals,
			back: func(s *switches.Switch) []switches.Event { return made(run, send)(s.Scope) }},
		{name: "started again", events: made(send, run), rivals: rivals,
			back: func(s *switches.Switch) []switches.Event { return made(begin, run)(s.Scope) }},
		{name: "recovering", events: made(restored), rivals: rivals},
	}
}

// everySwitchField goes through a life that sets and moves every field.
func (w *switched) everySwitchField(t *testing.T) {
	f := newLife(t, w.switchSubject)
	f.records = func(s *switches.Switch) map[string]any { return map[string]any{"Switch": *s} }
	by := func(actor string) switches.By {
		return switches.By{Actor: actor, Role: switches.Operator, At: f.tick()}
	}
	scope := switches.Direction("solana_nexus")
	f.do(switches.Stopped{By: by("ölga"), Scope: scope, Level: switches.All, Reason: `é世 "quoted"`},
		switches.Stopped{By: by("b"), Scope: scope, Level: switches.Send, Reason: "stolen key"},
		switches.Recovering{By: by("c"), Scope: scope, Level: switches.Send, Generation: 1<<62 - 1, Reason: "x"},
		switches.Recovering{By: by("c"), Scope: scope, Level: switches.Begin, Generation: 1<<62 - 1, Reason: "x"},
		switches.Started{By: by("d"), Scope: scope, Recovery: true, Reason: "known"},
		switches.Started{By: by("d"), Scope: scope, Reason: "y"},
		switches.Recovering{By: by("c"), Scope: scope, Level: switches.All, Generation: 1<<63 - 1, Reason: "x"})
	f.end(strings.Fields("Switch.Scope"), map[string]any{"Switch": switches.Switch{}}, nil)
}

// asked compares what a store says of scopes with [switches.Of], for all rows that a
// history of events leads to.
func (w *switched) asked(t *testing.T) {
	chain, other := switches.Chain(uuid.New()), switches.Chain(uuid.New())
	for i, ev := range []switches.Event{
		nil, stopEvent(chain, switches.Begin), stopEvent(switches.Everything, switches.Send), startEvent(switches.Everything, 0),
		recoveringEvent(switches.Everything, switches.Send, 1), recoveringEvent(chain, switches.Begin, 1),
		endedEvent(chain), startEvent(chain, 0),
		recoveringEvent(switches.Everything, switches.Begin, 2), endedEvent(other), stopEvent(switches.Charges, switches.Begin),
	} {
		if ev != nil {
			w.do(t, switches.ScopeOf(ev), ev)
		}
		for _, scope := range []switches.Scope{switches.Everything, chain, other, switches.Charges, switches.Relays,
			switches.Direction("to_solana")} {
			for _, update := range []bool{true, false} {
				run := w.View
				if update {
					run = w.Update
				}
				noError(t, run(ctx, func(tx store.SwitchUnit) error {
					rows, err := tx.Switches().Get(switches.Everything, scope)
					if err != nil {
						return err
					}
					got, err := tx.Switches().Ask(scope)
					if want := switches.Of(rows[0], rows[1]); got != want {
						t.Errorf("step %d, in an update %v: %s is %+v, expected %+v", i, update, scope, got, want)
					}
					return err
				}))
			}
		}
	}
	noError(t, w.View(ctx, func(tx store.SwitchUnit) error {
		refusedWith(t, errOf(tx.Switches().Ask("chain/x")), statemachine.ErrInvalid, "a scope that is none")
		refusedWith(t, errOf(tx.Switches().Open(chain)), statemachine.ErrIllegal, "a look at open transactions in a View")
		return nil
	}))
}

func (w *switched) stopAndStart(t *testing.T) {
	live(w.Store)
	chain := switches.Chain(uuid.New())
	by := switches.By{Actor: "olga", Role: switches.Operator}
	for range 2 {
		is, quiet, err := w.service.Stop(ctx, switches.Stopped{By: by, Scope: chain, Level: switches.Send, Reason: "stolen key"})
		if err != nil || is.Level != switches.Send || is.Version != 1 || quiet.Since.Before(is.Since) || len(quiet.Open) > 0 {
			t.Fatalf("stopped: %+v, %+v, %v", is, quiet, err)
		}
	}
	if is, err := w.service.Start(ctx, switches.Started{By: by, Scope: chain, Reason: "found"}); err != nil ||
		is.Level != switches.On || is.Version != 2 {
		t.Fatalf("started: %+v, %v", is, err)
	}
	within := switches.Chain(uuid.New())
	noError(t, w.Update(ctx, func(tx store.SwitchUnit) error {
		joined := w.service.Within(tx)
		is, quiet, err := joined.Stop(ctx, switches.Stopped{By: by, Scope: within, Level: switches.Send, Reason: "stolen key"})
		if err != nil || is.Level != switches.Send || !quiet.Since.IsZero() {
			t.Errorf("a stop that is not committed says %+v, %+v, %v", is, quiet, err)
		}
		refusedWith(t, errOf(joined.Quiet(ctx, within, 0)), statemachine.ErrIllegal, "a transaction that asks about itself")
		return nil
	}))
	if quiet, err := w.service.Quiet(ctx, within, 0); err != nil || quiet.Since.IsZero() {
		t.Errorf("once the stop is committed: %+v, %v", quiet, err)
	}
	never := switches.Chain(uuid.New())
	if is, err := w.service.Start(ctx, switches.Started{By: by, Scope: never, Reason: "x"}); err != nil || is.Version != 0 {
		t.Errorf("what was never stopped is %+v after a start, %v", is, err)
	}
	if state, err := w.service.State(ctx, never); err != nil || !state.Begins() || !state.Sends() {
		t.Errorf("what was never stopped is %+v, %v", state, err)
	}
	refusedWith(t, errOf(w.service.Quiet(ctx, "chain/x", 0)), statemachine.ErrInvalid, "a scope that is none")
	_, _, err := w.service.Stop(ctx, switches.Stopped{By: by, Scope: "chain/x", Level: switches.Send, Reason: "typed by hand"})
	refusedWith(t, err, statemachine.ErrInvalid, "a stop of a scope that is none")
}

// stopped: syncs that begin are refused and not offered, and what has begun ends.
func (r *relays) stopped(t *testing.T) {
	service := must(store.NewSwitches(r.Store))(t)
	claim := relaysync.Claimed{By: relayBy(relaysync.Reactor, start)}
	for _, scope := range []switches.Scope{switches.Relays, switches.Everything} {
		waits, syncs := r.id(), r.id()
		r.do(t, waits, relayCreated(waits, start))
		r.do(t, syncs, relayCreated(syncs, start), claim)
		offered := func() (due int, next time.Time, actions int) {
			t.Helper()
			noError(t, r.Update(ctx, func(tx store.RelayUnit) error {
				all, _, err := tx.Relays().Due(start.Add(time.Second), 100)
				due = len(all)
				if err == nil {
					next, err = tx.Relays().NextDue(start.Add(-time.Hour))
				}
				return err
			}))
			dated(r.Store, start.Add(time.Second))
			defer dated(r.Store, time.Time{})
			step, now, err := r.service.Next(ctx, waits)
			if err != nil || !now.Equal(start.Add(time.Second)) {
				t.Fatal(now, err)
			}
			return due, next, len(step.Actions)
		}
		if due, next, actions := offered(); due != 1 || !next.Equal(start) || actions != 1 {
			t.Fatalf("before the stop: %d, %v, %d", due, next, actions)
		}
		noError(t, errOf(service.Do(ctx, scope, stopEvent(scope, switches.Begin))))
		if due, next, actions := offered(); due != 0 || !next.IsZero() || actions != 0 {
			t.Errorf("of %s that is stopped: %d, %v, %d", scope, due, next, actions)
		}
		refusedWith(t, errOf(r.service.Do(ctx, waits, claim)), switches.ErrOnHold, "a claim")
		r.do(t, syncs, relayFinished(start, 1, statemachine.Done))
		noError(t, errOf(service.Do(ctx, scope, startEvent(scope, 0))))
		r.do(t, waits, claim, relayFinished(start, 1, statemachine.Done))
	}
}

// restored: relays are not started before each is due again, whatever the copy says of it, and
// what the host has said again meanwhile is what is sent.
func (r *relays) restored(t *testing.T) {
	service := must(store.NewSwitches(r.Store))(t)
	claim := relaysync.Claimed{By: relayBy(relaysync.Reactor, start)}
	clean, off, gone, due := r.id(), r.id(), r.id(), r.id()
	for _, id := range []string{clean, off, gone} {
		r.do(t, id, relayCreated(id, start), claim, relayFinished(start, 1, statemachine.Done))
	}
	r.do(t, due, relayCreated(due, start))
	r.do(t, gone, relaysync.Deleted{By: relayBy(relaysync.Host, start)})
	started := func() error { return errOf(service.Do(ctx, switches.Relays, endedEvent(switches.Relays))) }
	noError(t, started()) // nothing was restored
	noError(t, errOf(service.Do(ctx, switches.Everything, recoveringEvent(switches.Everything, switches.Send, 1))))
	refusedWith(t, started(), switches.ErrUnsettled, "a start before anything is said")
	refusedWith(t, errOf(r.service.Do(ctx, due, claim)), switches.ErrOnHold, "a claim")
	r.do(t, off, relaysync.Deactivated{By: relayBy(relaysync.Host, start)})
	refusedWith(t, started(), switches.ErrUnsettled, "a start while a relay is clean")
	for after, page := "", 0; page == 0 || after != ""; page++ {
		last, refused, err := r.service.Resync(ctx, relaysync.Retried{By: relayBy(relaysync.Operator, start), Reason: "restored"}, after, 1)
		noError(t, errors.Join(refused, err))
		after = last
	}
	refusedWith(t, errOf(r.service.Do(ctx, clean, claim)), switches.ErrOnHold, "a claim before the start")
	noError(t, started())
	for id, status := range map[string]relaysync.Status{clean: relaysync.Active, off: relaysync.Inactive, due: relaysync.Active} {
		if s := r.do(t, id, claim); s.Relay.Status != status || s.Phase() != relaysync.PhaseSyncing || s.Relay.Synced {
			t.Errorf("%s is %+v", id, s.Relay)
		}
	}
}

// stopped: charges that begin are refused and not offered, nobody is churned or reminded
// meanwhile for what is not charged, and what is out is answered.
func (r *tenants) stopped(t *testing.T) {
	service, policy := must(store.NewSwitches(r.Store))(t), r.service.Policy()
	biller := dunningBy(dunning.Biller, start)
	for _, scope := range []switches.Scope{switches.Charges, switches.Everything} {
		waits, out := r.id(), r.id()
		intended := func(id string) dunning.ChargeIntended {
			return dunning.ChargeIntended{By: biller, Invoice: issued(id).Invoice, Key: issued(id).Invoice + "/0"}
		}
		r.do(t, waits, enrolled(waits, dunning.Stripe), issued(waits))
		r.do(t, out, enrolled(out, dunning.Stripe), issued(out), intended(out))
		owed := func(at time.Time) *dunning.Action {
			t.Helper()
			return policy.Next(r.do(t, waits, dunning.StepBegun{By: dunningBy(dunning.Biller, at)}), at).Action
		}
		if do := owed(start); do == nil || do.Do != dunning.DoCharge {
			t.Fatalf("before the stop it owes %+v", do)
		}
		noError(t, errOf(service.Do(ctx, scope, stopEvent(scope, switches.Begin))))
		for _, after := range []time.Duration{0, policy.FreshGrace + time.Second, policy.Grace + 24*time.Hour} {
			if do := owed(start.Add(after)); do != nil {
				t.Errorf("%v after the issue of what is not charged it owes %+v", after, do)
			}
		}
		refusedWith(t, errOf(r.service.Do(ctx, waits, intended(waits))), switches.ErrOnHold, "a charge")
		r.do(t, out, dunning.ChargeAnswered{By: biller, Invoice: issued(out).Invoice,
			Key: issued(out).Invoice + "/0", Outcome: statemachine.Done})
		noError(t, errOf(service.Do(ctx, scope, startEvent(scope, 0))))
		late := intended(waits)
		late.By = dunningBy(dunning.Biller, start.Add(policy.Grace+48*time.Hour))
		r.do(t, waits, late)
	}
}

// stopped: outbounds that begin are refused and not owed, the other direction goes on, and
// what was begun is answered.
func (db *swaps) stopped(t *testing.T) {
	service := must(store.NewSwitches(db.Store))(t)
	for _, scope := range []switches.Scope{swap.Scope(swap.ToUSDD), switches.Everything} {
		for _, level := range []switches.Level{switches.Begin, switches.All, switches.Send} {
			waits, out, other := db.deposits.newID(), db.deposits.newID(), db.credits.newID()
			db.deposits.do(t, waits, arrived(swap.ToUSDD, waits)...)
			db.deposits.do(t, out, append(arrived(swap.ToUSDD, out), begun(swap.ToUSDD, out))...)
			db.credits.do(t, other, arrived(swap.ToUSDC, other)...)
			owed := func() (n int) {
				t.Helper()
				step, _, err := db.service.Deposits.Next(ctx, waits)
				noError(t, err)
				for _, task := range step.Tasks {
					if task.Do == swap.Begin {
						n++
					}
				}
				return n
			}
			if n := owed(); n != 1 {
				t.Fatalf("before the stop %d are owed", n)
			}
			noError(t, errOf(service.Do(ctx, scope, stopEvent(scope, level))))
			refusedWith(t, errOf(db.deposits.service.Do(ctx, waits, begun(swap.ToUSDD, waits))), switches.ErrOnHold, "an outbound")
			if n := owed(); n != 0 {
				t.Errorf("%d are owed at %v of %s", n, level, scope)
			}
			if err := errOf(db.credits.service.Do(ctx, other, begun(swap.ToUSDC, other))); (err == nil) != (scope != switches.Everything) {
				t.Errorf("the other direction beside %s: %v", scope, err)
			}
			d := db.deposits.get(t, out)
			db.deposits.do(t, out, swap.Answered{By: swapBy(swap.Worker, d.Lease.Holder), Fence: d.Lease.Fence, Number: 1,
				Outcome: statemachine.Unknown, Reason: "time-out"})
			noError(t, errOf(service.Do(ctx, scope, startEvent(scope, 0))))
			db.deposits.do(t, waits, begun(swap.ToUSDD, waits))
		}
	}
}
