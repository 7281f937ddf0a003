package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// Stats is where a consumer is.
type Stats struct {
	At time.Time // of the store
	sqlstore.Consumer
	Parked      int
	FirstParked time.Time     // when the oldest of them was parked
	Lag         time.Duration // the age of the first line that it is not done with; zero for none
}

// StatsOf reads where a consumer is: [statemachine.ErrNotFound] for a name that
// never ran.
func StatsOf(ctx context.Context, db *sqlstore.Store, name string) (s Stats, err error) {
	err = db.View(ctx, func(u store.Unit) error {
		c, err := sqlstore.ConsumersOf(u)
		if err == nil {
			s.At, err = u.Now()
		}
		if err == nil {
			s.Consumer, err = c.Get(name)
		}
		if err == nil && s.Name == "" {
			err = fmt.Errorf("%w: no consumer %q", statemachine.ErrNotFound, name)
		}
		if err == nil {
			s.Parked, _, s.FirstParked, err = c.Parked(name)
		}
		if err != nil {
			return err
		}
		first, _, err := c.Lines(s.Cursor, 1, s.Machines...)
		if len(first) > 0 {
			s.Lag = max(0, s.At.Sub(first[0].At))
		}
		return err
	})
	return s, err
}

// Thresholds are the limits of [Alerts]. A count alerts when it exceeds its limit; a
// zero duration is not watched.
type Thresholds struct {
	Parked int
	Lag    time.Duration
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Add(s.Stopped, "consumer stopped", "%s stopped at %s: %s", s.Name, s.FailedAt.UTC().Format(time.RFC3339), s.Error)
	a.Add(s.Parked > t.Parked, "consumer parked", "%s has parked %d lines since %s, more than %d", s.Name, s.Parked,
		s.FirstParked.UTC().Format(time.RFC3339), t.Parked)
	a.Add(t.Lag > 0 && s.Lag > t.Lag, "consumer lag", "%s is %v behind the log, more than %v", s.Name, s.Lag, t.Lag)
	return a.Alerts
}
