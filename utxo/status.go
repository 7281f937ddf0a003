package utxo

import "github.com/settlehq/settle/statemachine"

// Status is the validity of a transaction. Whether the transaction is confirmed is not part
// of it: see [Tx.Height].
// Values: Pending, Published, Replaced, Failed, Orphaned.
type Status = statemachine.Enum[status]

const (
	// Pending: the transaction was created here and is not known to be broadcast. It holds
	// its inputs; its outputs are no money yet. [Policy.Next] owes a broadcast, also after
	// a crash.
	Pending Status = iota + 1
	// Published: the transaction is in a mempool or in a block. A block confirms it. A
	// rival or a dead parent ends it; while it is unconfirmed, the host can end it too.
	// While it is our own and unconfirmed, [Policy.Next] owes a rebroadcast at intervals,
	// before and after a crash.
	Published
	// Replaced: another transaction took an input while both were unconfirmed. A replaced
	// transaction holds no input, and nothing is owed for it. Only evidence (a block, the
	// mempool) revives it. A crash leaves nothing to do.
	Replaced
	// Failed: a confirmed rival spends its input, its parent is dead, or the host gave it
	// up. Only evidence revives it, as for Replaced. That its inputs are free does not
	// prove that it cannot be mined, see [ProvablyDead].
	Failed
	// Orphaned: the transaction is a coinbase whose block left the best chain. Only a block
	// that has the coinbase revives it, when the host that follows the chain reports the
	// block, before or after a crash.
	Orphaned
)

type status struct{}

func (status) Kind() string    { return "transaction status" }
func (status) Names() []string { return statusNames }

var statusNames = []string{"pending", "published", "replaced", "failed", "orphaned"}

// Trigger is what moves a transaction.
// Values: onSubmit, onBroadcast, onObserved, onConfirmed, onProven, onReplaced, onDoubleSpent, onParentDied,
// onDisconnect, onOrphaned, onReconfirmed, onInvalidated, onRevealed, onLabelled, onJoined, onJoinedReplaced,
// onJoinedFailed, onJoinedOrphaned, onSigned.
type Trigger = statemachine.Enum[trigger]

const (
	onSubmit         Trigger = iota + 1 // the wallet created it
	onBroadcast                         // the host published it
	onObserved                          // seen in a mempool
	onConfirmed                         // in a connected block
	onProven                            // a published child proves it
	onReplaced                          // a rival won in the mempool
	onDoubleSpent                       // a rival won in a block, or before it was broadcast
	onParentDied                        // an ancestor is dead
	onDisconnect                        // its block left the best chain
	onOrphaned                          // the block that created it left the best chain
	onReconfirmed                       // an orphaned coinbase is in the best chain again
	onInvalidated                       // the host gave it up
	onRevealed                          // an output was found to be owned
	onLabelled                          // the host changed its label
	onJoined                            // another wallet's facts concern this one: published
	onJoinedReplaced                    // the same, replaced by now
	onJoinedFailed                      // the same, failed by now
	onJoinedOrphaned                    // the same, orphaned by now
	onSigned                            // the wallet brought signatures
)

type trigger struct{}

func (trigger) Kind() string    { return "transaction trigger" }
func (trigger) Names() []string { return triggerNames }

var triggerNames = []string{
	"submit", "broadcast", "observed", "confirmed", "proven_by_child", "replaced", "double_spent", "parent_died",
	"block_disconnected", "coinbase_orphaned", "reconfirmed", "invalidated", "output_revealed", "labelled",
	"joined", "joined_replaced", "joined_failed", "joined_orphaned", "signed",
}

const (
	revival   = "evidence revives a dead transaction: else a wallet sticks on a valid block or misses confirmed money"
	joining   = "a store has one chain: what one wallet knows joins another that it concerns, in the state that it has"
	heightMap = "a change of height, or of a fact beside the status, is a step of its own in the audit trail"
)

// TxMachine is the law of a transaction's status.
var TxMachine = statemachine.Must("utxo.tx", []statemachine.Edge[Status, Trigger]{
	{From: 0, Trigger: onSubmit, To: Pending},
	{From: 0, Trigger: onObserved, To: Published},
	{From: 0, Trigger: onConfirmed, To: Published},

	{From: 0, Trigger: onJoined, To: Published, Extension: joining},
	{From: 0, Trigger: onJoinedReplaced, To: Replaced, Extension: joining},
	{From: 0, Trigger: onJoinedFailed, To: Failed, Extension: joining},
	{From: 0, Trigger: onJoinedOrphaned, To: Orphaned, Extension: joining},

	{From: Pending, Trigger: onBroadcast, To: Published},
	{From: Pending, Trigger: onObserved, To: Published},
	{From: Pending, Trigger: onConfirmed, To: Published},
	{From: Pending, Trigger: onProven, To: Published},
	{From: Pending, Trigger: onDoubleSpent, To: Failed},
	{From: Pending, Trigger: onParentDied, To: Failed},
	{From: Pending, Trigger: onInvalidated, To: Failed, Extension: "the host gives up what it never broadcast"},

	{From: Published, Trigger: onReplaced, To: Replaced},
	{From: Published, Trigger: onDoubleSpent, To: Failed},
	{From: Published, Trigger: onParentDied, To: Failed},
	{From: Published, Trigger: onOrphaned, To: Orphaned},
	{From: Published, Trigger: onInvalidated, To: Failed,
		Extension: "the source knows no abandoned state; finality is derived, see ProvablyDead"},
	{From: Published, Trigger: onObserved, To: Published, Extension: heightMap},
	{From: Published, Trigger: onConfirmed, To: Published, Extension: heightMap},
	{From: Published, Trigger: onDisconnect, To: Published, Extension: heightMap},

	{From: Orphaned, Trigger: onReconfirmed, To: Published},

	{From: Replaced, Trigger: onObserved, To: Published, Extension: revival},
	{From: Replaced, Trigger: onConfirmed, To: Published, Extension: revival},
	{From: Replaced, Trigger: onProven, To: Published, Extension: revival},
	{From: Failed, Trigger: onObserved, To: Published, Extension: revival},
	{From: Failed, Trigger: onConfirmed, To: Published, Extension: revival},
	{From: Failed, Trigger: onProven, To: Published, Extension: revival},

	{From: Pending, Trigger: onSigned, To: Pending, Extension: heightMap},
	{From: Published, Trigger: onSigned, To: Published, Extension: heightMap},

	{From: Pending, Trigger: onRevealed, To: Pending, Extension: heightMap},
	{From: Published, Trigger: onRevealed, To: Published, Extension: heightMap},
	{From: Replaced, Trigger: onRevealed, To: Replaced, Extension: heightMap},
	{From: Failed, Trigger: onRevealed, To: Failed, Extension: heightMap},
	{From: Orphaned, Trigger: onRevealed, To: Orphaned, Extension: heightMap},
	{From: Pending, Trigger: onLabelled, To: Pending, Extension: heightMap},
	{From: Published, Trigger: onLabelled, To: Published, Extension: heightMap},
	{From: Replaced, Trigger: onLabelled, To: Replaced, Extension: heightMap},
	{From: Failed, Trigger: onLabelled, To: Failed, Extension: heightMap},
	{From: Orphaned, Trigger: onLabelled, To: Orphaned, Extension: heightMap},
}, statemachine.Cyclic)
