package statemachine_test

import (
	"math"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
)

func TestWhatAClockThatWasAheadHasPutOffIsDue(t *testing.T) {
	now, tick := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Microsecond
	for name, c := range map[string]struct {
		at         time.Duration // behind now
		longest    time.Duration
		ahead, due bool
	}{
		"passed":                       {-tick, time.Hour, false, true},
		"now":                          {0, time.Hour, false, true},
		"just ahead":                   {tick, time.Hour, false, false},
		"before the longest pause":     {time.Hour - tick, time.Hour, false, false},
		"the longest pause":            {time.Hour, time.Hour, false, false},
		"longer than any pause":        {time.Hour + tick, time.Hour, true, true},
		"a rule that puts off nothing": {tick, 0, true, true},
		"300 years":                    {math.MaxInt64, time.Hour, true, true},
		"a pause without an end":       {math.MaxInt64, math.MaxInt64, false, false},
	} {
		at := now.Add(c.at)
		if got := statemachine.Ahead(now, at, c.longest); got != c.ahead {
			t.Errorf("%s: ahead %v", name, got)
		}
		if got := statemachine.Due(now, at, c.longest); got != c.due {
			t.Errorf("%s: due %v", name, got)
		}
		if got := (statemachine.Lease{Holder: "a", Fence: 1, Until: at}).Taken(now, c.longest); got == c.due {
			t.Errorf("%s: a lease until then is taken: %v", name, got)
		}
		if (statemachine.Lease{Fence: 1, Until: at}).Taken(now, c.longest) {
			t.Errorf("%s: a lease that nobody has is taken", name)
		}
	}
	if far := now.AddDate(5000, 0, 0); !statemachine.Due(now, far, time.Hour) {
		t.Error("a time that is further away than a Duration is not due")
	}
	if statemachine.Due(now, now.Add(time.Hour), time.Hour) || !statemachine.Due(now.In(time.FixedZone("x", 3600)), now, 0) {
		t.Error("a zone counts")
	}
}
