package relaysync_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// What is owed in each phase, when, and by whom: no phase is without an owner.
func TestNext(t *testing.T) {
	exhausted := start(t)
	for at := t0; exhausted.s.Phase() != relaysync.PhaseExhausted; at = exhausted.s.Timer.Due {
		exhausted.fail(at, "no")
	}
	untimed := start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s
	untimed.Relay.Synced = false
	for _, tt := range []struct {
		name string
		s    relaysync.Sync
		at   float64
		want string // action fence, or wait; the party
	}{
		{"due", start(t).s, 0, "claim 1, reactor"},
		{"before the due time", start(t).s, -1, "wait 1s, reactor"},
		{"syncing", start(t, claimed(t0)).s, 10, "send 1 wait 20s, reactor"},
		{"just before the end of the lease", start(t, claimed(t0)).s, 29, "send 1 wait 1s, reactor"},
		{"lapsed", start(t, claimed(t0)).s, 30, "claim 2, reactor"},
		{"a lease of the future", start(t, claimed(t0)).s, -1, "claim 2, reactor"},
		{"waiting", start(t, claimed(t0), finished(t0, 1, statemachine.Failed, "no")).s, 10, "wait 20s, reactor"},
		{"the back-off is over", start(t, claimed(t0), finished(t0, 1, statemachine.Failed, "no")).s, 30, "claim 2, reactor"},
		{"exhausted", exhausted.s, 1e6, "retry 7, operator"},
		{"clean", start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s, 1e6, "none"},
		{"without a timer", untimed, 0, "reconcile 1, reactor"},
		{"nothing", relaysync.Sync{}, 0, "none"},
	} {
		step := policy.Next(tt.s, sec(tt.at))
		got := ""
		for _, a := range step.Actions {
			got += fmt.Sprintf(" %v %d", a.Do, a.Fence)
			if a.Key != fmt.Sprintf("%v/relay_1/%d", a.Do, a.Fence) || a.By != step.Party {
				t.Errorf("%s: %+v", tt.name, a)
			}
			data, err := json.Marshal(a)
			var back relaysync.Action
			if err != nil || json.Unmarshal(data, &back) != nil || back != a {
				t.Errorf("%s: %s does not survive JSON", tt.name, data)
			}
		}
		if !step.Due.IsZero() {
			got += " wait " + step.Due.Sub(sec(tt.at)).String()
		}
		if step.Party != 0 {
			got += ", " + step.Party.String()
		} else {
			got += " none"
		}
		if got[1:] != tt.want {
			t.Errorf("%s: %q, expected %q", tt.name, got[1:], tt.want)
		}
		if due, ok := tt.s.DueAt(); ok && policy.Next(tt.s, due).Actions[0].Do != relaysync.DoClaim {
			t.Errorf("%s: at its due time nothing is to be claimed", tt.name)
		}
	}
}

func TestAlerts(t *testing.T) {
	s := relaysync.Stats{At: sec(100), Phases: map[relaysync.Phase]int64{relaysync.PhaseExhausted: 2}, OldestDue: sec(40), Untimed: 1,
		Lapsed: 3, Lapses: 4, Failures: 1, Successes: 2}
	all := relaysync.Thresholds{DueWait: time.Minute - 1, Exhausted: 1, Lapsed: 2, Lapses: 3, FailureRate: 3332}
	var names []string
	for _, a := range relaysync.Alerts(s, all) {
		names = append(names, a.Name)
	}
	if want := []string{"relay due wait", "exhausted", "untimed", "lapsed", "lapses", "failure rate"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v", names)
	}
	got := relaysync.Alerts(s, relaysync.Thresholds{DueWait: time.Minute, Exhausted: 2, Untimed: 1, Lapsed: 3, Lapses: 4, FailureRate: 3333})
	if got != nil {
		t.Errorf("at the limits: %v", got)
	}
	if got := relaysync.Alerts(relaysync.Stats{}, relaysync.Thresholds{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestPolicyBounds(t *testing.T) {
	for name, set := range map[string]func(*relaysync.Policy){
		"zero":            func(p *relaysync.Policy) { *p = relaysync.Policy{} },
		"no domain":       func(p *relaysync.Policy) { p.RelayDomain = "" },
		"no host name":    func(p *relaysync.Policy) { p.RelayDomain = "a/b" },
		"two requests":    func(p *relaysync.Policy) { p.Lease = 10 * time.Second },
		"base":            func(p *relaysync.Policy) { p.Backoff.Base = 0 },
		"negative cap":    func(p *relaysync.Policy) { p.Backoff.Cap = -1 },
		"enormous linger": func(p *relaysync.Policy) { p.Linger = 1 << 62 },
		"attempts":        func(p *relaysync.Policy) { p.MaxAttempts = -1 },
		"jitter":          func(p *relaysync.Policy) { p.Backoff.JitterPercent = 101 },
	} {
		p := policy
		set(&p)
		if p.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := policy.Validate(); err != nil {
		t.Error(err)
	}
	p := policy
	p.RelayDomain, p.Lease = "localhost:3334", 10*time.Second+2
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}
