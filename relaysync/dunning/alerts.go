package dunning

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "tenant due wait", Person: true, Ends: "start a biller"},
		{Name: "charge unknown",
			Ends: "it is looked up at the latest each Policy.ChargeAgain: with an answer of the provider, or with Resolved and " +
				"its proof"},
		{Name: "tenant owed", Person: true,
			Ends: "start a biller, or let it come oftener: only time in which it comes counts; a churn that waits for a message needs the " +
				"mails to work; where the switch stops charges, start them"},
		{Name: "tenant ahead", Person: true, Ends: "set the clocks right; Reinstated for who was churned too early"},
		{Name: "never arrives", Person: true,
			Ends: "mend why the provider does not get the charge, which is made again each Policy.ChargeAgain, or not at all where the " +
				"tenant's method charges no more; or Resolved, Failed, once it cannot arrive any more"},
		{Name: "overpaid", Person: true,
			Ends: "give back what is beyond what was owed (all of a payment that is not PaidKey), then Acknowledged"},
	}
}
