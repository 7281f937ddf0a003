package relaysync_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

var (
	t0     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy = func() relaysync.Policy {
		p := relaysync.DefaultPolicy()
		p.RelayDomain = "relays.example"
		return p
	}()
	pubkey = strings.Repeat("ab", 32)
)

func sec(n float64) time.Time { return t0.Add(time.Duration(n * float64(time.Second))) }

func by(role relaysync.Role, at time.Time) relaysync.By {
	actor := "somebody"
	if role == relaysync.Reactor {
		actor = "reactor-1"
	}
	return relaysync.By{Actor: actor, Role: role, At: at}
}

func config(name string) relaysync.Config {
	return relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + pubkey + `","name":"` + name + `"}`)}
}

func created(at time.Time) relaysync.Created {
	return relaysync.Created{By: by(relaysync.Host, at), Relay: "relay_1", Tenant: "tenant", Subdomain: "one", Config: config("a")}
}

func updated(at time.Time, name string) relaysync.Updated {
	return relaysync.Updated{By: by(relaysync.Host, at), Subdomain: "one", Config: config(name)}
}

func claimed(at time.Time) relaysync.Claimed {
	return relaysync.Claimed{By: by(relaysync.Reactor, at)}
}

func finished(at time.Time, fence int64, o statemachine.Outcome, text string) relaysync.Finished {
	return relaysync.Finished{By: by(relaysync.Reactor, at), Fence: fence, Outcome: o, Error: text}
}

// log is a relay with all its activities, as a store keeps them.
type log struct {
	t    *testing.T
	s    relaysync.Sync
	all  []relaysync.Activity
	last relaysync.Change
}

// do applies events and checks each answer.
func (l *log) do(events ...relaysync.Event) relaysync.Sync {
	l.t.Helper()
	for _, ev := range events {
		c, err := policy.Apply(l.s, ev)
		if err != nil {
			l.t.Fatalf("%T: %v", ev, err)
		}
		l.take(c)
	}
	return l.s
}

func (l *log) take(c relaysync.Change) {
	l.t.Helper()
	for _, a := range c.Activities {
		a.Sequence = int64(len(l.all)) + 1
		l.all = append(l.all, a)
	}
	l.last, l.s = c, c.New
	if err := relaysync.Check(c.New); err != nil {
		l.t.Fatal(err)
	}
	if h := relaysync.HistoryOf(l.all); h != c.New.History {
		l.t.Fatalf("the history is %+v, the record says %+v", h, c.New.History)
	}
	if len(c.Log) != int(c.New.Relay.Version-c.Old.Relay.Version) {
		l.t.Fatalf("%d lines for versions %d to %d", len(c.Log), c.Old.Relay.Version, c.New.Relay.Version)
	}
}

// start is a relay that was created at t0, with what happened to it since.
func start(t *testing.T, events ...relaysync.Event) *log {
	t.Helper()
	l := &log{t: t}
	l.do(created(t0))
	l.do(events...)
	return l
}

// fail claims at a time and fails at once.
func (l *log) fail(at time.Time, text string) relaysync.Sync {
	l.t.Helper()
	s := l.do(claimed(at))
	return l.do(finished(at, s.Timer.Lease.Fence, statemachine.Failed, text))
}

func (l *log) succeed(at time.Time) relaysync.Sync {
	l.t.Helper()
	s := l.do(claimed(at))
	return l.do(finished(at, s.Timer.Lease.Fence, statemachine.Done, ""))
}

func (l *log) refused(want error, ev relaysync.Event) {
	l.t.Helper()
	c, err := policy.Apply(l.s, ev)
	if !errors.Is(err, want) {
		l.t.Errorf("%T: %v, expected %v", ev, err, want)
	}
	if c.New != l.s || !c.Empty() || c.Activities != nil {
		l.t.Errorf("%T: a refusal changed something", ev)
	}
}

func (l *log) nothing(ev relaysync.Event) {
	l.t.Helper()
	c, err := policy.Apply(l.s, ev)
	if err != nil || c.New != l.s || !c.Empty() || c.Activities != nil {
		l.t.Errorf("%T is no no-op: %v, %+v", ev, err, c.Log)
	}
}
