package relaysync

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At        time.Time
	Phases    map[Phase]int64
	OldestDue time.Time // the least due time at or before At; zero: none
	// OldestOwed is the earliest time since when a relay has been due, waiting or syncing,
	// however often it was changed or tried since: Timer.Since, or, where another writer has set
	// none, the time of [Sync.DueAt]; zero: none. Exhausted relays, which wait for a person, do
	// not count.
	OldestOwed time.Time
	Latest     time.Time // the latest of these times, and of their due times; zero: none
	Untimed    int64     // clean, but not synced or with an error: a reconcile gives them a timer
	Lapsed     int64     // syncing, the lease ended at or before At
	Lapses     int64     // leases in a row that ended without a result, of all that are syncing
	Failures   int64     // fail_relay_sync in the window [At - window, At)
	Successes  int64     // complete_relay_sync in the window
}

// Add counts a relay; At is set.
func (s *Stats) Add(one *Sync) {
	at := one.Phase()
	s.Phases[at]++
	due, ok := one.DueAt()
	if ok {
		since := one.Timer.Since
		if since.IsZero() {
			since = due
		}
		if s.OldestOwed.IsZero() || since.Before(s.OldestOwed) {
			s.OldestOwed = since
		}
		s.Latest = later(s.Latest, later(since, due))
	}
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

// Thresholds are the limits of [Alerts]. A zero duration or rate switches its alert off; a count
// alerts when it exceeds its limit.
type Thresholds struct {
	DueWait     time.Duration // a due relay is not claimed
	Owed        time.Duration // a relay is not synced: above the back-off of all attempts together
	Ahead       time.Duration // a time lies in the future: above Backoff.Cap
	Exhausted   int64
	Untimed     int64
	Lapsed      int64
	Lapses      int64
	FailureRate int64 // basis points of the syncs in the window, alert above
}

// DefaultThresholds watch everything, for [DefaultPolicy]: a relay that is not claimed for five
// minutes, or not synced for an hour (the back-off ends after 31 minutes); relays that need a
// person; a sync in which three leases have ended; half of the syncs failing. A host that changes
// the policy changes the thresholds with it.
func DefaultThresholds() Thresholds {
	return Thresholds{DueWait: 5 * time.Minute, Owed: time.Hour, Ahead: time.Hour, Lapses: 2, FailureRate: 5_000}
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
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Wait("relay due wait", s.OldestDue, t.DueWait, "a relay is due")
	a.Wait("relay owed", s.OldestOwed, t.Owed, "a relay is not synced")
	a.Add(t.Ahead > 0 && s.Latest.Sub(s.At) > t.Ahead, "relay ahead",
		"a time of a relay is %s, more than %v from now: a clock was ahead, or is behind",
		s.Latest.UTC().Format(time.RFC3339), t.Ahead)
	a.Add(s.Phases[PhaseExhausted] > t.Exhausted, "exhausted",
		"%d relays await manual intervention, more than %d", s.Phases[PhaseExhausted], t.Exhausted)
	a.Add(s.Untimed > t.Untimed, "untimed", "%d relays are unsynced without a timer, more than %d", s.Untimed, t.Untimed)
	a.Add(s.Lapsed > t.Lapsed, "lapsed", "%d syncs have lost their lease, more than %d", s.Lapsed, t.Lapsed)
	a.Add(s.Lapses > t.Lapses, "lapses", "%d leases ended without a result, more than %d", s.Lapses, t.Lapses)
	a.Add(t.FailureRate > 0 && s.FailureRate() > t.FailureRate, "failure rate",
		"%d of %d syncs failed, more than %s", s.Failures, s.Failures+s.Successes, statemachine.Percent(t.FailureRate))
	return a.Alerts
}
