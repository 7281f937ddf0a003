package withdrawal

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "approval wait", Person: true, Ends: "an approver says Approved or Rejected"},
		{Name: "enqueue wait", Person: true,
			Ends: "switch a wallet or the chain on, release or cancel what is held, or start what enqueues"},
		{Name: "queue wait", Person: true,
			Ends: "its last error says why; what is held or switched off is released or cancelled, what is put off is tried " +
				"again, at the latest in Policy.Backoff.Cap or HoldCap"},
		{Name: "claim wait", Person: true, Ends: "start workers for its chain"},
		{Name: "review wait", Person: true, Ends: "find out what was sent, then Resolved, PaidBy or ProvenDead"},
		{Name: "confirm wait",
			Ends: "it is looked up each Policy.CheckEvery, and sent again: with the block that has it, or with a version that " +
				"pays more"},
		{Name: "batch wait",
			Ends: "it is looked up each Policy.CheckEvery, and sent again: with the block that has it, or with a version that " +
				"pays more"},
		{Name: "refund wait", Person: true,
			Ends: "the host posts what Policy.Refundable allows; a person settles what forbids it"},
		{Name: "withdrawal ahead", Person: true,
			Ends: "set the clocks right: jobs are claimed at once all the same, and what waits is measured from then on"},
		{Name: "stuck", Person: true,
			Ends: "start what rescues and what looks up: an expired lease and an overdue look-up are the next turn's"},
		{Name: "incidents", Ends: "the count is of the window: once they are older than it"},
		{Name: "open incidents", Person: true, Ends: "find out what was paid, then acknowledge each"},
		{Name: "paid and refunded", Person: true,
			Ends: "settle it with the user, then Acknowledged, and the incident too"},
		{Name: "unknown outbound", Person: true,
			Ends: "nothing of the chain is begun from any wallet, and nothing is refunded, until then: find out who else has the key, or " +
				"whether the database was put back; then Used of each nonce, or PutFiller, the request of each transfer, or Unclaimed, and " +
				"an operator puts the wallet on or off"},
		{Name: "nonce gaps", Person: true,
			Ends: "let the nonce be used: send what has it, or a transfer of the wallet to itself, and record that with PutFiller"},
		{Name: "completion rate", Ends: "the rate is of the window: once what failed is older than it"},
		{Name: "retry rate", Ends: "the rate is of the window: once the retries are older than it"},
	}
}
