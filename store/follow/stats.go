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
	Parked int             // lines, of deposits the deposits
	Oldest sqlstore.Parked // of them, the one that was parked first
	Lag    time.Duration   // the age of the first line that it is not done with; zero for none
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
		if err != nil {
			return err
		}
		return s.read(c)
	})
	return s, err
}

// AllStats are those of up to limit consumers, by name, after a name, which is empty at first.
func AllStats(ctx context.Context, db *sqlstore.Store, after string, limit int) (all []Stats, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	err = db.View(ctx, func(u store.Unit) error {
		all = nil
		c, err := sqlstore.ConsumersOf(u)
		if err != nil {
			return err
		}
		now, err := u.Now()
		if err != nil {
			return err
		}
		rows, err := c.List(after, limit)
		for i := range rows {
			s := Stats{At: now, Consumer: rows[i]}
			if err := s.read(c); err != nil {
				return err
			}
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// read reads what is not in the consumer's row.
func (s *Stats) read(c sqlstore.Consumers) (err error) {
	if s.Parked, _, err = c.Parked(s.Name); err == nil {
		s.Oldest, err = c.OldestParked(s.Name)
	}
	if err != nil {
		return err
	}
	first, _, err := c.Lines(s.Cursor, 1, s.Machines...)
	if len(first) > 0 {
		s.Lag = max(0, s.At.Sub(first[0].At))
	}
	return err
}

// Thresholds are the limits of [Alerts]. A count alerts when it exceeds its limit; a
// zero duration is not watched.
type Thresholds struct {
	Parked int
	Lag    time.Duration
}

// DefaultThresholds are no parked line, and a consumer that is ten minutes behind.
func DefaultThresholds() Thresholds { return Thresholds{Lag: 10 * time.Minute} }

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Add(s.Stopped, "consumer stopped", "%s stopped at %s: %s", s.Name, s.FailedAt.UTC().Format(time.RFC3339), s.Error)
	a.Add(s.Parked > t.Parked, "consumer parked", "%s goes on without %d lines or deposits, more than %d: since %s without %s %s: %s",
		s.Name, s.Parked, t.Parked, s.Oldest.At.UTC().Format(time.RFC3339), s.Oldest.Machine, s.Oldest.ID, s.Oldest.Error)
	a.Add(s.Late > 0, "consumer late", "the lease of %s has ended before its commit %d times, at last at %s: %s", s.Name, s.Late,
		s.FailedAt.UTC().Format(time.RFC3339), s.Error)
	a.Add(t.Lag > 0 && s.Lag > t.Lag, "consumer lag", "%s is %v behind the log, more than %v", s.Name, s.Lag, t.Lag)
	return a.Alerts
}
