package statemachine

import (
	"fmt"
	"strconv"
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
	// Person: a person has to act, or the statistics cannot tell whether a person has to. Where
	// it is false, the work that the alert names goes on by itself.
	Person bool
	// Ends says what ends the alert. With Person it is what the person does; without Person it is
	// what goes on by itself, and when.
	Ends string
}

// Alarms collects the alerts of one comparison of statistics with limits. The alerts are in the
// order of the calls that added them.
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

// Wait adds the alert of a name if something has waited for longer than a limit. what names the
// thing that waits; since is when its wait began, zero if nothing waits. A zero limit switches the
// alert off.
func (a *Alarms) Wait(name string, since time.Time, limit time.Duration, what string) {
	a.Add(limit > 0 && !since.IsZero() && a.At.Sub(since) > limit, name, "%s since %s, longer than %v", what,
		since.UTC().Format(time.RFC3339), limit)
}

// Percent returns a share in basis points as a person reads it, such as "80 %" or "7.25 %".
func Percent(basisPoints int64) string {
	return strconv.FormatFloat(float64(basisPoints)/100, 'f', -1, 64) + " %"
}

// kind looks the name up in each call, also where the limit is not exceeded, so that a name which
// is in no list panics in the first comparison and not only in the first alert.
func (a *Alarms) kind(name string) AlertKind {
	for _, k := range a.Kinds {
		if k.Name == name {
			return k
		}
	}
	panic("statemachine: no kind of alert is named " + name)
}
