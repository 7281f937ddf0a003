package follow

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "consumer stopped", Person: true,
			Ends: "mend what the line fails on, then Run: it begins with the same line"},
		{Name: "consumer parked", Person: true,
			Ends: "mend what the lines fail on: each is tried again after a pause that doubles, a day at most"},
		{Name: "consumer lag", Ends: "with the next turns of its runner; where none runs, start it"},
	}
}
