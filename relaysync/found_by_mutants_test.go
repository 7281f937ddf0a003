package relaysync_test

import (
	"testing"

	"github.com/settlehq/settle/relaysync"
)

// Rules whose removal internal/mutants found to be noticed by no test.

func TestASecretOfOneByteIsRedacted(t *testing.T) {
	if got, other := relaysync.Redact("axb", "x"), relaysync.Redact("asecretb", "secret"); got != other {
		t.Errorf("%q, and of a longer one %q", got, other)
	}
}

// The oldest due time is the least one, whatever has been owed for longer.
func TestTheOldestDueTimeIsTheLeastOne(t *testing.T) {
	c, err := policy.Apply(relaysync.Sync{}, created(t0))
	if err != nil {
		t.Fatal(err)
	}
	one := c.New
	for _, dues := range [][]float64{{30, 20, 40}, {20, 30}, {40, 20}} {
		s := relaysync.Stats{At: sec(100), Phases: map[relaysync.Phase]int64{}}
		for _, due := range dues {
			one.Timer.Due = sec(due)
			s.Add(&one)
		}
		if !s.OldestDue.Equal(sec(20)) {
			t.Errorf("%v: %v", dues, s.OldestDue)
		}
	}
}
