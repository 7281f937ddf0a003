package relaysynctest_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
)

func adversary(reached map[relaysync.Phase]int, triggers map[string]int) func(*rapid.T) {
	return func(t *rapid.T) {
		p := relaysynctest.Policy()
		if triggers == nil {
			p.Backoff.JitterPercent = rapid.SampledFrom([]uint8{0, 0, 50, 100}).Draw(t, "jitter")
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		relaysynctest.Run(t, 100, p, func(ev relaysync.Event, s relaysync.Sync) (relaysync.Change, error) {
			c, err := p.Apply(s, ev)
			if reached != nil {
				reached[c.New.Phase()]++
				for _, l := range c.Log {
					triggers[l.Trigger]++
				}
			}
			return c, err
		})
	}
}

func TestApplyAgainstTheAdversary(t *testing.T) { rapid.Check(t, adversary(nil, nil)) }

// The same runs each time: the adversary comes everywhere.
func TestTheAdversaryReachesEverything(t *testing.T) {
	reached, triggers := map[relaysync.Phase]int{}, map[string]int{}
	fixedtest.Run(t, 60, adversary(reached, triggers))
	for _, s := range relaysync.Machine.States() {
		if reached[s] == 0 {
			t.Errorf("no run reached %v", s)
		}
	}
	for _, on := range relaysync.Machine.Triggers() {
		if triggers[on.String()] == 0 && on.String() != "reconcile error" && on.String() != "reconcile exhausted" { // of other writers
			t.Errorf("no run reached %v", on)
		}
	}
}

// Hosts that are wrong in a way that is seldom seen.
func TestTheAdversaryFindsABrokenHost(t *testing.T) {
	p := relaysynctest.Policy()
	for name, host := range map[string]relaysynctest.Apply{
		"one that drops the end of every lease": func(ev relaysync.Event, s relaysync.Sync) (relaysync.Change, error) {
			c, err := p.Apply(s, ev)
			c.New.Timer.Lease.Until = time.Time{}
			return c, err
		},
		"one that takes an old fence for nothing changed": func(ev relaysync.Event, s relaysync.Sync) (relaysync.Change, error) {
			c, err := p.Apply(s, ev)
			if errors.Is(err, statemachine.ErrFenced) {
				err = nil
			}
			return c, err
		},
		"one that does nothing": func(_ relaysync.Event, s relaysync.Sync) (relaysync.Change, error) {
			return relaysync.Change{Old: s, New: s}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixedtest.Finds(t, 60, func(t *rapid.T) { relaysynctest.Run(t, 100, p, host) })
		})
	}
}
