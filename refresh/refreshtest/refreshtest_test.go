package refreshtest_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
)

func apply(config refresh.Policy) refreshtest.Apply {
	return func(ev refresh.Event, w refresh.Work, now time.Time) (refresh.Change, error) {
		return config.ApplyAt(refreshtest.Load(w, refresh.Needs(ev), now), ev, now)
	}
}

// The adversary reaches what it is for, in any order, and no rule breaks.
func TestAdversary(t *testing.T) {
	reached := map[string]bool{}
	play := func(t *rapid.T) {
		config := refresh.DefaultPolicy()
		config.Coalesce = rapid.Bool().Draw(t, "coalesce")
		rules := apply(config)
		refreshtest.Run(t, 60, config, func(ev refresh.Event, w refresh.Work, now time.Time) (refresh.Change, error) {
			c, err := rules(ev, w, now)
			reached["refused"] = reached["refused"] || err != nil
			if again, err2 := rules(ev, w, now); (err2 == nil) != (err == nil) || len(again.Log) != len(c.Log) {
				t.Fatalf("%T: not the same result twice", ev)
			}
			for _, line := range c.Log {
				reached[line.Machine+" "+line.To] = true
			}
			return c, err
		})
	}
	fixedtest.Run(t, 40, play)
	rapid.Check(t, play)
	for _, want := range []string{"refused", "refresh_job completed", "refresh_job processing", "refresh_watcher watching",
		"refresh_watcher expired", "refresh_wallet served"} {
		if !reached[want] {
			t.Errorf("never reached %s: %v", want, reached)
		}
	}
}

// Hosts that are wrong in a way that is seldom seen.
func TestTheAdversaryFindsABrokenHost(t *testing.T) {
	rules := apply(refresh.DefaultPolicy())
	for name, host := range map[string]refreshtest.Apply{
		"one that drops the end of every lease": func(ev refresh.Event, w refresh.Work, now time.Time) (refresh.Change, error) {
			c, err := rules(ev, w, now)
			c.New.Wallet.Lease.Until = time.Time{}
			return c, err
		},
		"one that takes an old fence for nothing changed": func(ev refresh.Event, w refresh.Work, now time.Time) (refresh.Change, error) {
			c, err := rules(ev, w, now)
			if errors.Is(err, statemachine.ErrFenced) {
				err = nil
			}
			return c, err
		},
		"one that does nothing": func(_ refresh.Event, w refresh.Work, _ time.Time) (refresh.Change, error) {
			return refresh.Change{Old: w, New: w}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixedtest.Finds(t, 60, func(t *rapid.T) { refreshtest.Run(t, 60, refresh.DefaultPolicy(), host) })
		})
	}
}
