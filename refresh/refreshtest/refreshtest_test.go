package refreshtest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
)

// The adversary reaches what it is for, in any order, and no rule breaks.
func TestAdversary(t *testing.T) {
	reached := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		config := refresh.DefaultConfig()
		config.Coalesce = rapid.Bool().Draw(t, "coalesce")
		a := refreshtest.Adversary{Of: refreshtest.Wallet(1), Config: config}
		var w refresh.Work
		now := refreshtest.Start
		for range 60 {
			now = now.Add(refreshtest.Pause(t))
			ev := a.Event(t, w, now)
			c, err := config.ApplyAt(refreshtest.Load(w, refresh.Needs(ev), now), ev, now)
			if err != nil {
				reached["refused"] = true
				continue
			}
			if err := refreshtest.Sound(c); err != nil {
				t.Fatalf("%T: %v", ev, err)
			}
			if again, err := config.ApplyAt(refreshtest.Load(w, refresh.Needs(ev), now), ev, now); err != nil || len(again.Log) != len(c.Log) {
				t.Fatalf("%T: not the same result twice", ev)
			}
			w = refreshtest.Store(w, c)
			if err := refresh.Check(w); err != nil {
				t.Fatalf("%T: %v", ev, err)
			}
			for _, line := range c.Log {
				reached[line.Machine+" "+line.To] = true
			}
		}
	})
	for _, want := range []string{"refused", "refresh_job completed", "refresh_job processing", "refresh_watcher watching", "refresh_watcher expired", "refresh_wallet served"} {
		if !reached[want] {
			t.Errorf("never reached %s: %v", want, reached)
		}
	}
}
