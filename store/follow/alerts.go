package follow

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order, and behind them those of
// [DepositAlerts].
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "consumer stopped", Person: true,
			Ends: "mend what the line fails on, then Run: it begins with the same line"},
		{Name: "consumer parked", Person: true,
			Ends: "mend what the lines or deposits fail on: each is tried again after a pause that doubles, a day at most"},
		{Name: "consumer late", Person: true,
			Ends: "with the first commit in time: it is tried again, ten seconds later at most; " +
				"else make the database faster, or Consumer.Lease longer"},
		{Name: "consumer lag", Ends: "with the next turns of its runner; where none runs, start it"},
		{Name: "deposits shaken", Person: true,
			Ends: "with the blocks that bring them back or prove them dead; else look at the chain, and say ReverseDeposit"},
		{Name: "deposits waiting", Person: true,
			Ends: "look whether Deposits runs, what it fails on, and whether the wallets are scanned"},
	}
}
