package statemachine

import (
	"fmt"
	"time"
)

// Alert is one limit of a domain's statistics that is exceeded.
type Alert struct {
	AlertKind
	Text string // what exceeds which limit, with the numbers
}

// AlertKind is what all alerts of one name have in common.
type AlertKind struct {
	Name string // stable, and unique over all domains
	// Person: a person has to act, or the statistics cannot tell whether one has to.
	// False: what the alert names goes on by itself.
	Person bool
	// Ends is what ends the alert. With Person it is what the person does; without, it is
	// what goes on by itself, and when.
	Ends string
}

// Alarms collects the alerts of one comparison of statistics with limits, in the order
// in which they are asked for.
type Alarms struct {
	At     time.Time   // of the statistics
	Kinds  []AlertKind // of the domain; another name panics
	Alerts []Alert
}

// Add adds the alert of a name if its limit is exceeded.
func (a *Alarms) Add(exceeded bool, name, format string, args ...any) {
	kind := a.kind(name)
	if exceeded {
		a.Alerts = append(a.Alerts, Alert{kind, fmt.Sprintf(format, args...)})
	}
}

// Wait adds the alert of a name if something has waited for longer than a limit: since
// is when the wait began, zero for none, and what says what waits. A limit of zero is
// not watched.
func (a *Alarms) Wait(name string, since time.Time, limit time.Duration, what string) {
	a.Add(limit > 0 && !since.IsZero() && a.At.Sub(since) > limit, name, "%s since %s, longer than %v", what,
		since.UTC().Format(time.RFC3339), limit)
}

// kind looks in each call, so that a name which is in no list shows in the first
// comparison and not in the first alert.
func (a *Alarms) kind(name string) AlertKind {
	for _, k := range a.Kinds {
		if k.Name == name {
			return k
		}
	}
	panic("statemachine: no kind of alert is named " + name)
}
