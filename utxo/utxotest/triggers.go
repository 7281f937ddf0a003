package utxotest

import "github.com/settlehq/settle/utxo"

// The triggers that the model writes into trails, by their texts.
var (
	onBroadcast      = trigger("broadcast")
	onConfirmed      = trigger("confirmed")
	onDisconnect     = trigger("block_disconnected")
	onDoubleSpent    = trigger("double_spent")
	onInvalidated    = trigger("invalidated")
	onJoined         = trigger("joined")
	onJoinedFailed   = trigger("joined_failed")
	onJoinedOrphaned = trigger("joined_orphaned")
	onJoinedReplaced = trigger("joined_replaced")
	onLabelled       = trigger("labelled")
	onObserved       = trigger("observed")
	onOrphaned       = trigger("coinbase_orphaned")
	onParentDied     = trigger("parent_died")
	onProven         = trigger("proven_by_child")
	onReconfirmed    = trigger("reconfirmed")
	onReplaced       = trigger("replaced")
	onRevealed       = trigger("output_revealed")
	onSigned         = trigger("signed")
	onSubmit         = trigger("submit")
)

func trigger(text string) (t utxo.Trigger) {
	if err := t.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return t
}
