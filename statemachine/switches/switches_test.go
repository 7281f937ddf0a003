package switches_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

var (
	t0    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	chain = switches.Chain(uuid.MustParse("0193a1b2-0000-7000-8000-000000000001"))
	olga  = switches.By{Actor: "olga", Role: switches.Operator}
)

func stop(l switches.Level) switches.Event {
	return switches.Stopped{By: olga, Scope: chain, Level: l, Reason: "why"}
}

func start(to switches.Level) switches.Event {
	return switches.Started{By: olga, Scope: chain, To: to, Reason: "why"}
}

// ended is the end of a recovery.
func ended() switches.Event {
	return switches.Started{By: olga, Scope: chain, Recovery: true, Reason: "why"}
}

func recovering(l switches.Level, generation int64) switches.Event {
	return switches.Recovering{By: olga, Scope: chain, Level: l, Generation: generation, Reason: "why"}
}

// after applies events to a scope without a row.
func after(t *testing.T, events ...switches.Event) (s switches.Switch) {
	t.Helper()
	for _, ev := range events {
		c, err := switches.Apply(s, ev, t0)
		if err != nil {
			t.Fatalf("%T %+v: %v", ev, ev, err)
		}
		if err := errors.Join(c.Complete(), func() error {
			if c.New.Version == 0 {
				return nil
			}
			return switches.Check(c.New)
		}()); err != nil {
			t.Fatalf("%T %+v: %v", ev, ev, err)
		}
		s = c.New
	}
	return s
}

// Each level and each event, with what becomes of it: the state that follows, "=" for no
// change, or the refusal.
func TestEveryEventAtEveryLevel(t *testing.T) {
	direction := switches.Direction("to_solana")
	at := func(ev switches.Event) switches.Event { // only a direction has all levels
		switch e := ev.(type) {
		case switches.Stopped:
			e.Scope = direction
			return e
		case switches.Started:
			e.Scope = direction
			return e
		case switches.Recovering:
			e.Scope = direction
			return e
		}
		return ev
	}
	from := []switches.Switch{{}}
	for _, l := range switches.Level(0).Values()[1:] {
		from = append(from, after(t, at(stop(l))))
	}
	from = append(from[:1], append([]switches.Switch{after(t, at(stop(switches.Begin)), at(start(0)))}, from[1:]...)...)
	events := []struct {
		ev   switches.Event
		want string // of a scope without a row, on, begin, all, send
	}{
		{stop(0), "invalid invalid invalid invalid invalid"},
		{stop(switches.On), "invalid invalid invalid invalid invalid"},
		{stop(switches.Begin), "begin begin = = ="},
		{stop(switches.All), "all all all = ="},
		{stop(switches.Send), "send send send send ="},
		{stop(9), "invalid invalid invalid invalid invalid"},
		{start(0), "= = on on on"},
		{start(switches.On), "= = on on on"},
		{start(switches.Begin), "invalid invalid = begin begin"},
		{start(switches.All), "invalid invalid invalid = all"},
		{start(switches.Send), "invalid invalid invalid invalid ="},
		{recovering(switches.On, 1), "invalid invalid invalid invalid invalid"},
		{recovering(switches.Begin, 0), "invalid invalid invalid invalid invalid"},
		{recovering(switches.Begin, 1), "on on begin all send"},
		{recovering(switches.Send, 1), "on on begin all send"},
	}
	for _, e := range events {
		for i, want := range strings.Fields(e.want) {
			c, err := switches.Apply(from[i], at(e.ev), t0.Add(time.Hour))
			got := c.New.Level.String()
			switch {
			case errors.Is(err, statemachine.ErrInvalid):
				got = "invalid"
			case err != nil:
				got = err.Error()
			case c.Empty():
				got = "="
			}
			if got != want {
				t.Errorf("%T %+v at %v: %s, expected %s", e.ev, e.ev, from[i].Level, got, want)
			}
			if (err != nil || c.Empty()) && (c.Old != from[i] || c.New.Version != from[i].Version) {
				t.Errorf("%T at %v changed something", e.ev, from[i].Level)
			}
			if err == nil && !c.Empty() && (c.Log[0].At != t0.Add(time.Hour) || c.Log[0].Reason != "why" || c.Log[0].Actor != "olga" || switches.Check(c.New) != nil) {
				t.Errorf("%T at %v: %+v, %+v", e.ev, from[i].Level, c.New, c.Log)
			}
		}
	}
}

func TestWhoSaysWhat(t *testing.T) {
	system := switches.By{Actor: "alarm", Role: switches.System}
	for _, x := range []struct {
		what string
		s    switches.Switch
		ev   switches.Event
		want error
	}{
		{"the system stops", switches.Switch{}, switches.Stopped{By: system, Scope: chain, Level: switches.Begin, Reason: "x"}, nil},
		{"the system restores", switches.Switch{}, switches.Recovering{By: system, Scope: switches.Everything, Level: switches.Send, Generation: 1, Reason: "x"}, nil},
		{"the system lets a chain send again", switches.Switch{}, switches.Recovering{By: system, Scope: chain, Level: switches.Begin, Generation: 1, Reason: "x"},
			statemachine.ErrForbidden},
		{"a start of both", switches.Switch{}, switches.Started{By: olga, Scope: chain, To: switches.On, Recovery: true, Reason: "x"}, statemachine.ErrInvalid},
		{"a start of what is not settled", after(t, recovering(switches.Send, 1)),
			switches.Started{By: olga, Scope: chain, Recovery: true, Reason: "x", Unsettled: statemachine.ErrHeld}, statemachine.ErrHeld},
		{"a start of what has been started, which has nothing to settle", switches.Switch{},
			switches.Started{By: olga, Scope: chain, Recovery: true, Reason: "x", Unsettled: statemachine.ErrHeld}, nil},
		{"a start in a copy of which nobody has said what was lost", after(t, recovering(switches.Send, 1)),
			switches.Started{By: olga, Scope: chain, Recovery: true, Reason: "x", Moved: true}, switches.ErrUnsettled},
		{"a lower level there", after(t, stop(switches.Send)), switches.Started{By: olga, Scope: chain, Reason: "x", Moved: true}, nil},
		{"the system starts", after(t, stop(switches.Begin)), switches.Started{By: system, Scope: chain, Reason: "x"}, statemachine.ErrForbidden},
		{"nobody stops", switches.Switch{}, switches.Stopped{By: switches.By{Role: switches.Operator}, Scope: chain, Level: switches.Begin, Reason: "x"}, statemachine.ErrInvalid},
		{"no reason", switches.Switch{}, switches.Stopped{By: olga, Scope: chain, Level: switches.Begin}, statemachine.ErrInvalid},
		{"no event", switches.Switch{}, nil, statemachine.ErrInvalid},
		{"no scope", switches.Switch{}, switches.Stopped{By: olga, Level: switches.Begin, Reason: "x"}, statemachine.ErrInvalid},
		{"another scope", after(t, stop(switches.Begin)), switches.Stopped{By: olga, Scope: switches.Charges, Level: switches.Send, Reason: "x"}, statemachine.ErrInvalid},
		{"all of a chain", switches.Switch{}, stop(switches.All), statemachine.ErrInvalid},
		{"all of everything", switches.Switch{}, switches.Stopped{By: olga, Scope: switches.Everything, Level: switches.All, Reason: "x"}, nil},
		{"another version", after(t, stop(switches.Begin)), switches.Stopped{By: switches.By{Actor: "olga", Role: switches.Operator, Version: 2}, Scope: chain,
			Level: switches.Send, Reason: "x"}, statemachine.ErrConflict},
		{"the row of another scope as that of everything", switches.Switch{}, switches.Started{By: olga, Scope: chain, Reason: "x", All: after(t, stop(switches.Begin))}, statemachine.ErrInvalid},
	} {
		c, err := switches.Apply(x.s, x.ev, t0)
		if !errors.Is(err, x.want) || err != nil && (c.New != x.s || !c.Empty()) {
			t.Errorf("%s: %+v, %v, expected %v", x.what, c.New, err, x.want)
		}
	}
}

// A restore stops everything, each scope is started by itself, and a person's stop stays.
func TestRecovery(t *testing.T) {
	all := switches.Switch{}
	everything := func(ev switches.Event) {
		t.Helper()
		c, err := switches.Apply(all, ev, t0)
		if err != nil {
			t.Fatal(err)
		}
		all = c.New
	}
	began := func(generation int64) switches.Event {
		return switches.Recovering{By: olga, Scope: switches.Everything, Level: switches.Send, Generation: generation, Reason: "x"}
	}
	started := func() switches.Event {
		return switches.Started{By: olga, Scope: chain, Recovery: true, Reason: "known", All: all}
	}
	is := func(own switches.Switch, level switches.Level, recovering bool) {
		t.Helper()
		if s := switches.Of(all, own); s.Level != level || s.Recovering != recovering || s.Begins() != (level < switches.Begin) || s.Sends() != (level < switches.Send) {
			t.Fatalf("%+v beside %+v counts as %+v", own, all, s)
		}
	}
	own := after(t, stop(switches.Begin))
	everything(began(1))
	is(own, switches.Send, true)
	is(switches.Switch{}, switches.Send, true)
	own = after(t, stop(switches.Begin), recovering(switches.Begin, 1))
	is(own, switches.Begin, true) // lowered for this scope
	own = after(t, stop(switches.Begin), recovering(switches.Begin, 1), started())
	is(own, switches.Begin, false) // the person's stop
	own = after(t, stop(switches.Begin), recovering(switches.Begin, 1), started(), started())
	is(own, switches.Begin, false) // the same start again lifts no other reason
	own = after(t, stop(switches.Begin), recovering(switches.Begin, 1), start(0), start(0))
	is(own, switches.Begin, true) // nor does a start of the person's stop end the recovery
	own = after(t, stop(switches.Begin), recovering(switches.Begin, 1), start(0), started())
	is(own, switches.On, false)
	named := after(t, started()) // had no row
	is(named, switches.On, false)
	everything(began(2))
	is(named, switches.Send, true)
	if _, err := switches.Apply(all, switches.Started{By: olga, Scope: switches.Everything, Recovery: true, Reason: "x", All: all}, t0); !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("everything is started out of its recovery: %v", err)
	}
	for _, x := range []struct {
		ev   switches.Event
		want error
	}{{recovering(switches.Send, 1), statemachine.ErrIllegal}, {recovering(switches.Send, 0), statemachine.ErrInvalid}, {recovering(switches.Send, 2), nil}} {
		if _, err := switches.Apply(named, x.ev, t0); !errors.Is(err, x.want) {
			t.Errorf("%+v: %v, expected %v", x.ev, err, x.want)
		}
	}
	late := after(t, recovering(switches.Begin, 3))
	if _, err := switches.Apply(late, recovering(switches.Send, 2), t0); !errors.Is(err, statemachine.ErrConflict) {
		t.Errorf("an older generation: %v", err)
	}
}

// levelOf is a second way to [switches.Of], by a list of all that can stop.
func levelOf(all, own switches.Switch) switches.State {
	var s switches.State
	stops := []switches.Level{all.Level, own.Level}
	if own.Generation < all.Generation {
		s.Recovering, s.Generation = all.Recovering, all.Generation
		stops = append(stops, all.Recovery)
	} else {
		s.Recovering, s.Generation = own.Recovering, own.Generation
		stops = append(stops, own.Recovery)
	}
	for _, at := range []time.Time{all.Since, own.Since, own.RecoveredAt} {
		if s.RunsSince.Before(at) {
			s.RunsSince = at
		}
	}
	for _, l := range stops {
		if l > s.Level {
			s.Level = l
		}
	}
	return s
}

// In a database that is not where it was nothing is sent, whatever its rows say.
func TestElsewhereNothingIsSent(t *testing.T) {
	for _, rows := range [][2]switches.Switch{{}, {after(t, stop(switches.Begin))}, {{}, after(t, recovering(switches.Begin, 1))},
		{{}, after(t, recovering(switches.Begin, 1), ended())}} {
		if s := switches.Of(rows[0], rows[1]).Elsewhere(); s.Begins() || s.Sends() || s.Level != switches.Send || !s.Recovering || !s.Moved {
			t.Errorf("%+v is %+v", rows, s)
		}
	}
}

func TestTheHigherLevelCounts(t *testing.T) {
	var rows []switches.Switch
	for l := switches.Level(0); l <= switches.Send; l++ {
		for r := switches.Level(0); r <= switches.Send; r++ {
			for g := range int64(3) {
				if r != switches.On {
					n := time.Duration(len(rows) + 1) // no two rows have the same times
					rows = append(rows, switches.Switch{Level: l, Since: t0.Add(n * time.Hour), Recovering: r > 0,
						Recovery: r, Generation: g})
				}
			}
		}
	}
	for _, all := range rows {
		for _, own := range rows {
			if got, want := switches.Of(all, own), levelOf(all, own); got != want {
				t.Fatalf("%+v beside %+v counts as %+v, expected %+v", own, all, got, want)
			}
		}
	}
}

// A scope runs since the last stop of it or of everything has ended, or its recovery, in whichever
// order these end.
func TestSinceWhenAScopeRuns(t *testing.T) {
	var all, own switches.Switch
	hour := 0
	say := func(row *switches.Switch, scope switches.Scope, ev switches.Event) time.Time {
		t.Helper()
		hour++
		at := t0.Add(time.Duration(hour) * time.Hour)
		switch e := ev.(type) {
		case switches.Stopped:
			e.Scope = scope
			ev = e
		case switches.Started:
			e.Scope, e.All = scope, all
			ev = e
		case switches.Recovering:
			e.Scope = scope
			ev = e
		}
		c, err := switches.Apply(*row, ev, at)
		if err != nil {
			t.Fatalf("%+v: %v", ev, err)
		}
		*row = c.New
		return at
	}
	runs := func(what string, since time.Time) {
		t.Helper()
		if s := switches.Of(all, own); !s.Begins() || !s.RunsSince.Equal(since) {
			t.Errorf("%s: %+v, expected since %v", what, s, since)
		}
	}
	runs("nothing was stopped", time.Time{})
	say(&own, chain, stop(switches.Send))
	say(&all, switches.Everything, stop(switches.Begin))
	say(&own, chain, start(0))
	last := say(&all, switches.Everything, start(0))
	runs("everything is started last", last)
	say(&all, switches.Everything, stop(switches.Begin))
	say(&own, chain, stop(switches.Send))
	say(&all, switches.Everything, start(0))
	runs("the scope is started last", say(&own, chain, start(0)))
	say(&all, switches.Everything, recovering(switches.Send, 1))
	ended := switches.Started{By: olga, Scope: chain, Recovery: true, Reason: "x"}
	runs("the recovery has ended", say(&own, chain, ended))
	say(&all, switches.Everything, recovering(switches.Send, 2))
	say(&own, chain, stop(switches.Begin))
	say(&own, chain, ended)
	runs("the stop ends after the recovery", say(&own, chain, start(0)))
}

func TestScopes(t *testing.T) {
	for scope, valid := range map[switches.Scope]bool{
		switches.Everything: true, switches.Charges: true, switches.Relays: true, chain: true, switches.Direction("to_solana"): true,
		"": false, "chain/": false, "chain/x": false, switches.Chain(uuid.Nil): false, switches.Scope(strings.ToUpper(string(chain))): false,
		"chain/0193A1B2-0000-7000-8000-000000000001": false, "chain/{0193a1b2-0000-7000-8000-000000000001}": false, "direction/": false, "direction/A": false,
		switches.Wallet(1): true, "wallet/0": false, "wallet/-1": false, "wallet/01": false, "wallet/": false, "wallet/9223372036854775808": false,
		switches.Scope("direction/" + strings.Repeat("a", 50)): true, switches.Scope("direction/" + strings.Repeat("a", 51)): false, "everything ": false,
	} {
		if err := scope.Validate(); (err == nil) != valid || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%q: %v", scope, err)
		}
	}
}

func TestCheckNamesWhatIsBroken(t *testing.T) {
	good := after(t, stop(switches.Begin), recovering(switches.Send, 1))
	if err := switches.Check(good); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*switches.Switch){
		"scope":                   func(s *switches.Switch) { s.Scope = "x" },
		"version":                 func(s *switches.Switch) { s.Version = 0 },
		"level":                   func(s *switches.Switch) { s.Level = switches.All },
		"no level":                func(s *switches.Switch) { s.Level = 0 },
		"recovery without":        func(s *switches.Switch) { s.Recovering = false },
		"recovering without":      func(s *switches.Switch) { s.Recovery = 0 },
		"recovering that is on":   func(s *switches.Switch) { s.Recovery = switches.On },
		"recovery of a swap":      func(s *switches.Switch) { s.Recovery = switches.All },
		"generation":              func(s *switches.Switch) { s.Generation = 0 },
		"a stop of nobody":        func(s *switches.Switch) { s.Actor, s.Since = "", time.Time{} },
		"an actor without a time": func(s *switches.Switch) { s.Since = time.Time{} },
		"a negative generation":   func(s *switches.Switch) { s.Recovering, s.Recovery, s.Generation = false, 0, -1 },
	} {
		s := good
		spoil(&s)
		if err := switches.Check(s); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A trail replays to the level.
func TestTrails(t *testing.T) {
	var s switches.Switch
	var log []statemachine.Transition[switches.Scope]
	for _, ev := range []switches.Event{stop(switches.Begin), stop(switches.Begin), stop(switches.Send), start(switches.Begin), recovering(switches.Send, 1), ended(), start(0), start(0)} {
		c, err := switches.Apply(s, ev, t0)
		if err != nil {
			t.Fatal(err)
		}
		s, log = c.New, append(log, c.Log...)
	}
	var lines []string
	for _, l := range log {
		lines = append(lines, fmt.Sprintf("%s>%s", l.From, l.To))
	}
	if got := strings.Join(lines, " "); got != ">begin begin>send send>begin begin>begin begin>begin begin>on" {
		t.Error(got)
	}
	if end, err := statemachine.Replay(switches.Machine, log); err != nil || end != s.Level {
		t.Errorf("%v, %v", end, err)
	}
}

// A wallet is not stopped. It recovers with everything, by itself, and from that time on.
func TestAWalletHasARecoveryAndNoStop(t *testing.T) {
	scope := switches.Wallet(7)
	stopped := switches.Stopped{By: olga, Scope: scope, Level: switches.Begin, Reason: "why"}
	if _, err := switches.Apply(switches.Switch{}, stopped, t0); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a stop: %v", err)
	}
	all, err := switches.Apply(switches.Switch{}, switches.Recovering{By: olga, Scope: switches.Everything, Level: switches.Send, Generation: 1, Reason: "why"}, t0)
	if is := switches.Of(all.New, switches.Switch{}); err != nil || !is.Recovering || !is.RestoredAt.Equal(t0) || !is.RecoveredAt.IsZero() {
		t.Errorf("%+v, %v", is, err)
	}
	later := t0.Add(time.Hour)
	own, err := switches.Apply(switches.Switch{}, switches.Started{By: olga, Scope: scope, Recovery: true, Reason: "why", All: all.New}, later)
	if is := switches.Of(all.New, own.New); err != nil || is.Recovering || !is.RestoredAt.Equal(t0) || !is.RecoveredAt.Equal(later) {
		t.Errorf("%+v, %v", is, err)
	}
}
