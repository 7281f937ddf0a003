package relaysynctest_test

import (
	"maps"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/internal/shapes"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
)

// Each edge of the model is taken by the adversary, so that the two are about the same machine.
func TestTheAdversaryTakesEachEdgeOfTheModel(t *testing.T) {
	text, err := os.ReadFile("testdata/edges.txt")
	if err != nil {
		t.Fatal(err)
	}
	left := shapes.Parse(string(text))
	runs := 400
	if os.Getenv("SETTLE_SOAK") == "" {
		runs = 120
		maps.DeleteFunc(left, func(e shapes.Edge, _ bool) bool { return e.Trigger == "late send" }) // seldom
	}
	p := relaysynctest.Policy()
	fixedtest.Run(t, runs, func(t *rapid.T) {
		relaysynctest.Run(t, 100, p, func(ev relaysync.Event, s relaysync.Sync) (relaysync.Change, error) {
			c, err := p.Apply(s, ev)
			for _, line := range c.Log {
				delete(left, shapes.Edge{From: relaysynctest.Shape(c.Old), Trigger: line.Trigger, To: relaysynctest.Shape(c.New)})
			}
			return c, err
		})
	})
	if len(left) > 0 {
		t.Errorf("nothing takes\n%v", left)
	}
}

func TestExploredFindsAnEdgeThatTheModelDoesNotHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := relaysynctest.Policy()
		do := func(s relaysync.Sync, ev relaysync.Event) relaysync.Change {
			c, err := p.Apply(s, ev)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		s := do(relaysync.Sync{}, relaysynctest.Creations().Draw(t, "creation")).New
		by := relaysync.By{Actor: "reactor", Role: relaysync.Reactor, At: relaysynctest.Start}
		s = do(s, relaysync.Claimed{By: by}).New
		c := do(s, relaysync.Finished{By: by, Fence: 1, Outcome: statemachine.Done})
		if err := relaysynctest.Explored(c); err != nil {
			t.Fatal(err)
		}
		c.New.Relay.Synced = false
		if relaysynctest.Explored(c) == nil {
			t.Error("a success that does not sync is in the model")
		}
	})
}
