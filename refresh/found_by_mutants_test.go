package refresh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Rules whose removal internal/mutants found to be noticed by no test.

func TestEachCounterHasItsOwnAlert(t *testing.T) {
	for want, s := range map[string]refresh.Stats{
		"expired open":         {ExpiredOpen: 3},
		"cancellation refused": {Refused: 3},
		"hung":                 {Hung: 3},
		"not enqueued":         {NotEnqueued: 3},
	} {
		got := refresh.Alerts(s, refresh.Thresholds{ExpiredOpen: 2, Refused: 2, Hung: 2, NotEnqueued: 2})
		if len(got) != 1 || got[0].Name != want {
			t.Errorf("%s: %v", want, got)
		}
	}
	for _, limits := range []refresh.Thresholds{{ExpiredOpen: 1}, {Refused: 1}, {Hung: 1}, {NotEnqueued: 1}} {
		s := refresh.Stats{ExpiredOpen: limits.ExpiredOpen, Refused: limits.Refused, Hung: limits.Hung, NotEnqueued: limits.NotEnqueued}
		if got := refresh.Alerts(s, limits); len(got) != 0 {
			t.Errorf("at the limit: %v", got)
		}
	}
}

func TestADurationIsAMillisecondToTenYears(t *testing.T) {
	for interval, want := range map[time.Duration]error{
		time.Millisecond: nil, time.Millisecond - time.Microsecond: statemachine.ErrInvalid,
		10 * 365 * 24 * time.Hour: nil, 10*365*24*time.Hour + time.Microsecond: statemachine.ErrInvalid,
	} {
		c := config
		c.RefreshInterval = interval
		if err := c.Validate(); !errors.Is(err, want) {
			t.Errorf("%v: %v, expected %v", interval, err, want)
		}
	}
}
