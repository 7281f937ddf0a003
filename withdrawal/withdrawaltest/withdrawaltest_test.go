package withdrawaltest_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// adversary plays one run, and counts the states of the job.
func adversary(reached map[withdrawal.JobStatus]int) func(*rapid.T) {
	return func(t *rapid.T) {
		p := withdrawaltest.Policies().Draw(t, "policy")
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		withdrawaltest.Run(t, 120, func(ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error) {
			c, err := p.Apply(w, ev)
			reached[c.New.Job.Status]++
			return c, err
		})
	}
}

func TestApplyAgainstTheAdversary(t *testing.T) {
	rapid.Check(t, adversary(map[withdrawal.JobStatus]int{}))
}

// The same runs each time: the adversary comes everywhere.
func TestTheAdversaryReachesEveryState(t *testing.T) {
	reached := map[withdrawal.JobStatus]int{}
	for seed := range 100 {
		input := make([]byte, 1<<18)
		_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(input)
		t.Run("", func(t *testing.T) { rapid.MakeFuzz(adversary(reached))(t, input) })
	}
	for _, s := range withdrawal.JobMachine.States() {
		if reached[s] == 0 {
			t.Errorf("no run reached %v", s)
		}
	}
	t.Log(reached)
}
