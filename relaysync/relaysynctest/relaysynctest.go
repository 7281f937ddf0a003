// Package relaysynctest has generators, events and invariants for property tests of hosts and
// adapters. Its adversaries send a relay, or a tenant with its invoices, any event in any order,
// twice, too late, in the wrong role and under old fences. Naive second implementations and the
// rules that must hold after each step check the answers.
package relaysynctest

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// Start is a moment from which the generators' times go on.
var Start = time.Date(2001, 1, 2, 3, 4, 5, 0, time.UTC)

// IDs draws ids that a server takes as a schema.
func IDs() *rapid.Generator[string] { return rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_]{7,30}`) }

// Policy is the default policy with a domain.
func Policy() relaysync.Policy {
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "relays.example"
	return p
}

// Configs draws documents that are accepted.
func Configs() *rapid.Generator[relaysync.Config] {
	return rapid.Custom(func(t *rapid.T) relaysync.Config {
		doc := func(label string) relaysync.Document {
			texts := []string{"", "{}", `{"a":1}`, `{"a":{"b":[1,"é"],"c":true}}`, `{"b":{"x":1.50}}`}
			return relaysync.Document(rapid.SampledFrom(texts).Draw(t, label))
		}
		return relaysync.Config{
			Info: relaysync.Document(fmt.Sprintf(`{"pubkey":"%064x","name":"%s"}`, rapid.Uint64().Draw(t, "pubkey"),
				rapid.StringMatching(`[a-zé ]{0,8}`).Draw(t, "name"))),
			Policy: doc("policy"), Groups: doc("groups"), Management: doc("management"), Push: doc("push"), Roles: doc("roles"),
			BlossomEnabled: rapid.Int64Range(0, 2).Draw(t, "blossom"), Blossom: doc("blossom settings"),
			LivekitEnabled: rapid.Int64Range(0, 2).Draw(t, "livekit"), Livekit: doc("livekit settings"),
		}
	})
}

// Creations draws relays that are accepted.
func Creations() *rapid.Generator[relaysync.Created] {
	return rapid.Custom(func(t *rapid.T) relaysync.Created {
		return relaysync.Created{
			By: relaysync.By{Actor: "host", Role: relaysync.Host, At: Start}, Relay: IDs().Draw(t, "relay"), Tenant: IDs().Draw(t, "tenant"),
			Subdomain: rapid.StringMatching(`[a-z]([a-z0-9-]{0,20}[a-z0-9])?`).Draw(t, "subdomain"), Config: Configs().Draw(t, "config"),
		}
	})
}

// Adversary draws the next event for a relay. The zero value is ready for use, by one test at a
// time.
type Adversary struct {
	Now      time.Time // starts at Start; now and then it goes back
	sent     []relaysync.Event
	stubborn bool // a server that fails for long
}

// Next draws an event for s.
func (a *Adversary) Next(t *rapid.T, s relaysync.Sync) relaysync.Event {
	if a.Now.IsZero() {
		a.Now = Start
	}
	tm := &s.Timer
	moments := []time.Time{a.Now, a.Now.Add(time.Second), tm.Due, tm.Due.Add(-time.Microsecond), tm.Lease.Until,
		tm.Lease.Until.Add(-time.Microsecond), a.Now.Add(time.Hour)}
	if m := rapid.SampledFrom(moments).Draw(t, "moment"); m.After(a.Now) {
		a.Now = m
	}
	if rapid.IntRange(0, 39).Draw(t, "the clock goes back") == 0 {
		a.Now = a.Now.Add(-time.Duration(rapid.IntRange(1, 7200).Draw(t, "seconds")) * time.Second)
	}
	if rapid.IntRange(0, 29).Draw(t, "mood") == 0 {
		a.stubborn = !a.stubborn
	}
	if a.stubborn && s.Phase() != 0 && rapid.IntRange(0, 19).Draw(t, "unswayed") > 0 {
		if tm.Due.After(a.Now) {
			a.Now = tm.Due
		}
		if tm.Lease.Holder != "" {
			return relaysync.Finished{By: relaysync.By{Actor: tm.Lease.Holder, Role: relaysync.Reactor, At: a.Now}, Fence: tm.Lease.Fence,
				Outcome: statemachine.Failed, Error: "status 503: down"}
		}
		return relaysync.Claimed{By: relaysync.By{Actor: "reactor-1", Role: relaysync.Reactor, At: a.Now}, Fence: tm.Lease.Fence + 1}
	}
	if len(a.sent) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		return rapid.SampledFrom(a.sent).Draw(t, "event again")
	}
	ev := a.draw(t, &s)
	a.sent = append(a.sent, ev)
	return ev
}

func (a *Adversary) draw(t *rapid.T, s *relaysync.Sync) relaysync.Event {
	by := func(role relaysync.Role, actor string) relaysync.By {
		if rapid.IntRange(0, 49).Draw(t, "wrong role") == 0 {
			role = rapid.SampledFrom(append(relaysync.Role(0).Values(), 0)).Draw(t, "role")
		}
		return relaysync.By{Actor: actor, Role: role, At: a.Now}
	}
	reactor := rapid.SampledFrom([]string{"reactor-1", "reactor-2"}).Draw(t, "reactor")
	if s.Timer.Lease.Holder != "" && rapid.IntRange(0, 9).Draw(t, "holder") > 0 {
		reactor = s.Timer.Lease.Holder
	}
	fence := s.Timer.Lease.Fence - rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1, 2, -1}).Draw(t, "fence")
	var revision int64
	if rapid.Bool().Draw(t, "revision given") {
		revision = s.Relay.Revision + rapid.SampledFrom([]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2}).Draw(t, "revision")
	}
	work := func() relaysync.Event {
		if s.Phase() == relaysync.PhaseSyncing {
			return relaysync.Finished{By: by(relaysync.Reactor, reactor), Fence: fence,
				Outcome: rapid.SampledFrom([]statemachine.Outcome{statemachine.Done, statemachine.Failed, statemachine.Failed, statemachine.Unknown,
					statemachine.Deferred}).Draw(t, "outcome"),
				Error: rapid.SampledFrom([]string{"", " \t", "no", "status 500: boom"}).Draw(t, "error")}
		}
		return relaysync.Claimed{By: by(relaysync.Reactor, reactor)}
	}
	switch rapid.IntRange(0, 24).Draw(t, "kind") {
	case 0, 1:
		return relaysync.Updated{By: by(relaysync.Host, "host"), Revision: revision, Subdomain: s.Relay.Subdomain,
			Config: Configs().Draw(t, "config")}
	case 2:
		return relaysync.Activated{By: by(relaysync.Host, "host"), Revision: revision}
	case 3:
		return relaysync.Deactivated{By: by(relaysync.Biller, "biller"), Revision: revision}
	case 4:
		if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
			return relaysync.Deleted{By: by(relaysync.Host, "host")}
		}
		return relaysync.Recreated{By: by(relaysync.Operator, "olga"), Reason: "gone"}
	case 5:
		return relaysync.Retried{By: by(relaysync.Operator, "olga")}
	case 6:
		if s.Timer.Lease.Holder != "" {
			return relaysync.Revoked{By: by(relaysync.Operator, "olga"),
				Revocation: statemachine.Revocation{Holder: s.Timer.Lease.Holder, Reason: "dead"}}
		}
		return relaysync.Reconciled{By: by(relaysync.Reactor, reactor)}
	case 7, 8:
		return relaysync.Claimed{By: by(relaysync.Reactor, reactor), Fence: fence + 1}
	case 9:
		return relaysync.Finished{By: by(relaysync.Reactor, reactor), Fence: fence,
			Outcome: rapid.SampledFrom(statemachine.Outcome(0).Values()).Draw(t, "any outcome")}
	}
	return work()
}

// Apply is the function under test: [relaysync.Policy.Apply], or a service that stores the change
// and reads it again.
type Apply func(ev relaysync.Event, s relaysync.Sync) (relaysync.Change, error)

// Run sends n events to a new relay and checks every answer with a [History], and that [Explored]
// knows the change. Events under an old
// fence must be refused, and at least one event must be stored.
func Run(t *rapid.T, n int, p relaysync.Policy, apply Apply) {
	first := Creations().Draw(t, "creation")
	h := History{Policy: p}
	var a Adversary
	var s relaysync.Sync
	for i := range n {
		var ev relaysync.Event = first
		if i > 0 {
			ev = a.Next(t, s)
		}
		for _, what := range []string{"", " again"} {
			c, err := apply(ev, s)
			if _, want := p.Apply(s, ev); errors.Is(want, statemachine.ErrFenced) && err == nil {
				t.Fatalf("step %d, %T: it comes under an old fence and is not refused", i, ev)
			}
			if what != "" && err == nil && !c.Empty() && !repeatable(ev) {
				t.Fatalf("step %d, %T is taken twice", i, ev)
			}
			if err := h.Add(ev, c, err); err != nil {
				t.Fatalf("step %d, %T%s %+v: %v", i, ev, what, ev, err)
			}
			if err := Explored(c); err != nil {
				t.Fatalf("step %d, %T%s %+v: %v", i, ev, what, ev, err)
			}
			if s = c.New; s.Phase() == 0 {
				t.Fatalf("step %d, %T: nothing is stored (%v)", i, ev, err)
			}
		}
	}
}

// repeatable: events without a key.
func repeatable(ev relaysync.Event) bool {
	switch e := ev.(type) {
	case relaysync.Updated:
		return e.Revision == 0
	case relaysync.Activated:
		return e.Revision == 0
	case relaysync.Deactivated:
		return e.Revision == 0
	case relaysync.Claimed:
		return e.Fence == 0
	}
	return false
}
