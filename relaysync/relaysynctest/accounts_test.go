package relaysynctest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
)

func dunningPolicy(t *rapid.T) dunning.Policy {
	p := dunning.DefaultPolicy()
	p.ChurnNeedsNotice = rapid.Bool().Draw(t, "churn needs notice")
	p.Tick = rapid.SampledFrom([]time.Duration{time.Hour, 24 * time.Hour, 12 * 24 * time.Hour}).Draw(t, "tick")
	if rapid.Bool().Draw(t, "long grace") {
		p.Grace = 60 * 24 * time.Hour
	}
	if rapid.Bool().Draw(t, "restored") {
		p.RecoveredAt = relaysynctest.Start.Add(rapid.SampledFrom([]time.Duration{time.Minute, 30 * 24 * time.Hour}).Draw(t, "restored at"))
	}
	return p
}

func words(s dunning.Step) string {
	if s.Action == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%v %s", s.Action.Do, strings.Join(s.Action.Invoices, " ")))
}

func TestDunningAgainstTheAdversary(t *testing.T) { rapid.Check(t, accountAdversary(map[string]int{})) }

// The same runs each time: the adversary comes to every trigger of a tenant and of an invoice.
func TestTheAccountAdversaryReachesEverything(t *testing.T) {
	reached := map[string]int{}
	fixedtest.Run(t, 160, accountAdversary(reached))
	for _, on := range dunning.TenantMachine.Triggers() {
		if reached["tenant "+on.String()] == 0 {
			t.Errorf("no tenant came to %v", on)
		}
	}
	for _, on := range dunning.InvoiceMachine.Triggers() {
		if reached["invoice "+on.String()] == 0 {
			t.Errorf("no invoice came to %v", on)
		}
	}
	t.Log(reached)
}

// accountAdversary sends every event in any order. After each step, what is owed then, at the named
// due time and just before it must agree with the naive model. It counts the triggers.
func accountAdversary(reached map[string]int) func(*rapid.T) {
	return func(t *rapid.T) {
		p := dunningPolicy(t)
		relaysynctest.RunAccount(t, 80, p, func(ev dunning.Event, a dunning.Account) (dunning.Change, error) {
			c, err := p.Apply(a, ev)
			now := c.New.Tenant.DueAt
			if len(c.Log) > 0 {
				now = c.Log[0].At
			}
			for _, l := range c.Log {
				reached[l.Machine+" "+l.Trigger]++
			}
			if now.IsZero() {
				return c, err
			}
			next := p.Next(c.New, now)
			for _, at := range []time.Time{now, next.Due, next.Due.Add(-time.Microsecond), next.Due.Add(-time.Second), now.Add(240 * time.Hour),
				now.Add(-240 * time.Hour)} {
				if at.Unix() < 0 {
					continue
				}
				if got, want := words(p.Next(c.New, at)), relaysynctest.Naive(p, c.New, at); got != want {
					t.Fatalf("at %v %q is owed, expected %q: %+v", at, got, want, c.New)
				}
			}
			// Nothing is due before the named time, and it is at most p.Tick away.
			if next.Action == nil && !next.Due.IsZero() && (next.Due.Sub(now) > p.Tick || next.Due.Before(now) ||
				words(p.Next(c.New, next.Due.Add(-time.Microsecond))) != "" && next.Due.After(now) && next.Due.Sub(now) < time.Second) {
				t.Fatalf("asked again in %v", next.Due.Sub(now))
			}
			return c, err
		})
	}
}

// One message for each reminder that is due, whatever the tick rate.
func TestTickRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := dunning.DefaultPolicy()
		p.Grace = 40 * 24 * time.Hour
		by := func(role dunning.Role, at time.Time) dunning.By { return dunning.By{Actor: "x", Role: role, At: at} }
		var a dunning.Account
		for _, ev := range []dunning.Event{dunning.Enrolled{By: by(dunning.Host, relaysynctest.Start), Tenant: "t", Method: dunning.Manual},
			dunning.Issued{By: by(dunning.Host, relaysynctest.Start), Invoice: "i", Amount: 1}} {
			c, err := p.Apply(a, ev)
			if err != nil {
				t.Fatal(err)
			}
			a = c.New
		}
		rate := time.Duration(rapid.IntRange(1, 300).Draw(t, "minutes")) * time.Minute
		p.Tick = max(p.Tick, rate)
		var messages []time.Duration
		churned := time.Duration(0)
		for d := time.Duration(0); d < 60*24*time.Hour; d += rate {
			now := relaysynctest.Start.Add(d)
			tick, err := p.Apply(a, dunning.StepBegun{By: by(dunning.Biller, now)})
			if err != nil {
				t.Fatal(err)
			}
			a = tick.New
			for range 2 { // two billers
				do := p.Next(a, now).Action
				if do == nil {
					continue
				}
				var ev dunning.Event = dunning.Churned{By: by(dunning.Biller, now)}
				if do.Do == dunning.DoNotify {
					ev = dunning.NoticeIntended{By: by(dunning.Biller, now), Notice: do.Key}
					messages = append(messages, d)
				} else {
					churned = d
				}
				c, err := p.Apply(a, ev)
				if err != nil {
					t.Fatal(err)
				}
				a = c.New
			}
		}
		const day = 24 * time.Hour
		want := []time.Duration{}
		for at := day; at < 40*day; at += 12 * day {
			at = (at + rate - 1) / rate * rate // the first tick at or after it
			if at < 40*day {
				want = append(want, at)
			}
		}
		if fmt.Sprint(messages) != fmt.Sprint(want) || churned != (40*day+rate-1)/rate*rate {
			t.Fatalf("every %v: messages after %v, expected %v; churned after %v", rate, messages, want, churned)
		}
	})
}
