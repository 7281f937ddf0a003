package relaysync

import (
	"fmt"
	"time"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At        time.Time
	Phases    map[Phase]int64
	OldestDue time.Time // the least due time at or before At; zero: none
	Untimed   int64     // clean, but not synced or with an error: a reconcile gives them a timer
	Lapsed    int64     // syncing, the lease ended at or before At
	Lapses    int64     // leases in a row that ended without a result, of all that are syncing
	Failures  int64     // fail_relay_sync in the window [At - window, At)
	Successes int64     // complete_relay_sync in the window
}

// Add counts a relay; At is set.
func (s *Stats) Add(one *Sync) {
	at := one.Phase()
	s.Phases[at]++
	due, ok := one.DueAt()
	switch {
	case at == PhaseClean && one.Relay.Pending():
		s.Untimed++
	case at == PhaseSyncing:
		s.Lapses += int64(one.Timer.Lapses)
		if !due.After(s.At) {
			s.Lapsed++
		}
	case ok && !due.After(s.At) && (s.OldestDue.IsZero() || due.Before(s.OldestDue)):
		s.OldestDue = due
	}
}

// AddActivity counts an activity if it is of a relay and in the window.
func (s *Stats) AddActivity(a *Activity, window time.Duration) {
	if a.ResourceType != ResourceRelay || a.CreatedAt.Before(s.At.Add(-window)) || !a.CreatedAt.Before(s.At) {
		return
	}
	switch a.Type {
	case FailRelaySync:
		s.Failures++
	case CompleteRelaySync:
		s.Successes++
	}
}

// Thresholds are the limits of [Alerts]. A zero duration or rate is not watched;
// a count alerts when it exceeds its limit.
type Thresholds struct {
	DueWait     time.Duration // a due relay is not claimed
	Exhausted   int64
	Untimed     int64
	Lapsed      int64
	Lapses      int64
	FailureRate int64 // basis points of the syncs in the window, alert above
}

// Alert is one limit that is exceeded.
type Alert struct {
	Name string // stable: "due wait", "exhausted", ...
	Text string
}

// FailureRate is the share of syncs in the window that failed, in basis points
// (10 000 = all), rounded down; 0 of 0 is 0.
func (s *Stats) FailureRate() int64 {
	if n := s.Failures + s.Successes; n > 0 {
		return s.Failures * 10_000 / n
	}
	return 0
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []Alert {
	var out []Alert
	add := func(exceeded bool, name, format string, args ...any) {
		if exceeded {
			out = append(out, Alert{Name: name, Text: fmt.Sprintf(format, args...)})
		}
	}
	add(t.DueWait > 0 && !s.OldestDue.IsZero() && s.At.Sub(s.OldestDue) > t.DueWait, "due wait",
		"a relay is due since %s, longer than %v", s.OldestDue.UTC().Format(time.RFC3339), t.DueWait)
	add(s.Phases[PhaseExhausted] > t.Exhausted, "exhausted", "%d relays await manual intervention, more than %d", s.Phases[PhaseExhausted], t.Exhausted)
	add(s.Untimed > t.Untimed, "untimed", "%d relays are unsynced without a timer, more than %d", s.Untimed, t.Untimed)
	add(s.Lapsed > t.Lapsed, "lapsed", "%d syncs have lost their lease, more than %d", s.Lapsed, t.Lapsed)
	add(s.Lapses > t.Lapses, "lapses", "%d leases ended without a result, more than %d", s.Lapses, t.Lapses)
	add(t.FailureRate > 0 && s.FailureRate() > t.FailureRate, "failure rate", "%d of 10000 syncs failed, more than %d", s.FailureRate(), t.FailureRate)
	return out
}
