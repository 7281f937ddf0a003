package utxo

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "pending wait", Person: true,
			Ends: "sign and submit it, or send what Next names and report Broadcasted; else replace it, or give it up with " +
				"Invalidated"},
		{Name: "published wait", Person: true,
			Ends: "it is sent again each Policy.Rebroadcast; raise its fee with a replacement or a child, or give up with " +
				"Invalidated what can no longer be mined"},
		{Name: "lease", Ends: "at its end, or when its holder releases it or renews it for less"},
		{Name: "lease wait", Person: true, Ends: "submit the payment of the lock, or release the lease"},
		{Name: "behind", Person: true, Ends: "connect the blocks again from the one behind Stats.ScannedTo on"},
	}
}
