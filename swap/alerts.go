package swap

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "refund rate", Ends: "the rate is of the window: once the refunds are older than it"},
		{Name: "quarantine", Person: true,
			Ends: "find out why; after the window the alert ends, and what is quarantined stays there"},
		{Name: "backlog", Ends: "the rate is of the window: once as many ended as came in"},
		{Name: "confirmation", Ends: "it is looked up each Policy.LookEvery: with the answer of a node"},
		{Name: "hold", Person: true, Ends: "release it, or order a refund or the quarantine"},
		{Name: "scan", Person: true, Ends: "mend the node, or what refuses it; AcceptGap of what no node has any more"},
		{Name: "discrepancies", Person: true, Ends: "find out what it is, then acknowledge each"},
		{Name: "overdue", Person: true,
			Ends: "Next says in Why what a person has to order; where it says nothing, mend what is waited for, or start the direction where the " +
				"switch stops it: the item is tried" +
				" again after as long as it has waited, a day at most"},
	}
}
