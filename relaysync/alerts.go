package relaysync

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "relay due wait", Person: true, Ends: "start a reactor; where the switch stops relays, start them"},
		{Name: "relay owed",
			Ends: "it is tried again after a pause that doubles, at most Policy.Backoff.Cap: with the first sync that the server " +
				"answers, else it is exhausted after Policy.MaxAttempts retries"},
		{Name: "relay ahead", Person: true, Ends: "set the clocks right, then Relays.Reconcile"},
		{Name: "exhausted", Person: true, Ends: "the last error says why: mend that, then Retried"},
		{Name: "untimed", Ends: "with the start of a reactor, which reconciles, or with Relays.Reconcile"},
		{Name: "lapsed", Ends: "with the next turn of a reactor, which claims it again"},
		{Name: "lapses", Person: true,
			Ends: "its syncs hang or its reactor dies: mend the server, or what ends the process"},
		{Name: "failure rate", Ends: "the rate is of the window: once the failures are older than it"},
	}
}
