package withdrawaltest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

func TestApplyAgainstTheAdversary(t *testing.T) {
	reached := map[withdrawal.JobStatus]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := withdrawaltest.Policies().Draw(t, "policy")
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		withdrawaltest.Run(t, 120, func(ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			reached[c.New.Job.Status]++
			return c, err
		})
	})
	for _, s := range withdrawal.JobMachine.States() {
		if reached[s] == 0 {
			t.Errorf("no run reached %v", s)
		}
	}
	t.Log(reached)
}
