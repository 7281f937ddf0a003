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
// Values: OnSubmit, OnBroadcast, OnObserved, OnConfirmed, OnProven, OnReplaced, OnDoubleSpent, OnParentDied,
// OnDisconnect, OnOrphaned, OnReconfirmed, OnInvalidated, OnRevealed, OnLabelled, OnJoined, OnJoinedReplaced,
// OnJoinedFailed, OnJoinedOrphaned, OnSigned.
type Trigger = statemachine.Enum[trigger]

const (
	OnSubmit         Trigger = iota + 1 // the wallet created it
	OnBroadcast                         // the host published it
	OnObserved                          // seen in a mempool
	OnConfirmed                         // in a connected block
	OnProven                            // a published child proves it
	OnReplaced                          // a rival won in the mempool
	OnDoubleSpent                       // a rival won in a block, or before it was broadcast
	OnParentDied                        // an ancestor is dead
	OnDisconnect                        // its block left the best chain
	OnOrphaned                          // the block that created it left the best chain
	OnReconfirmed                       // an orphaned coinbase is in the best chain again
	OnInvalidated                       // the host gave it up
	OnRevealed                          // an output was found to be owned
	OnLabelled                          // the host changed its label
	OnJoined                            // another wallet's facts concern this one: published
	OnJoinedReplaced                    // the same, replaced by now
	OnJoinedFailed                      // the same, failed by now
	OnJoinedOrphaned                    // the same, orphaned by now
	OnSigned                            // the wallet brought signatures
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
	{From: 0, Trigger: OnSubmit, To: Pending},
	{From: 0, Trigger: OnObserved, To: Published},
	{From: 0, Trigger: OnConfirmed, To: Published},

	{From: 0, Trigger: OnJoined, To: Published, Extension: joining},
	{From: 0, Trigger: OnJoinedReplaced, To: Replaced, Extension: joining},
	{From: 0, Trigger: OnJoinedFailed, To: Failed, Extension: joining},
	{From: 0, Trigger: OnJoinedOrphaned, To: Orphaned, Extension: joining},

	{From: Pending, Trigger: OnBroadcast, To: Published},
	{From: Pending, Trigger: OnObserved, To: Published},
	{From: Pending, Trigger: OnConfirmed, To: Published},
	{From: Pending, Trigger: OnProven, To: Published},
	{From: Pending, Trigger: OnDoubleSpent, To: Failed},
	{From: Pending, Trigger: OnParentDied, To: Failed},
	{From: Pending, Trigger: OnInvalidated, To: Failed, Extension: "the host gives up what it never broadcast"},

	{From: Published, Trigger: OnReplaced, To: Replaced},
	{From: Published, Trigger: OnDoubleSpent, To: Failed},
	{From: Published, Trigger: OnParentDied, To: Failed},
	{From: Published, Trigger: OnOrphaned, To: Orphaned},
	{From: Published, Trigger: OnInvalidated, To: Failed,
		Extension: "the source knows no abandoned state; finality is derived, see ProvablyDead"},
	{From: Published, Trigger: OnObserved, To: Published, Extension: heightMap},
	{From: Published, Trigger: OnConfirmed, To: Published, Extension: heightMap},
	{From: Published, Trigger: OnDisconnect, To: Published, Extension: heightMap},

	{From: Orphaned, Trigger: OnReconfirmed, To: Published},

	{From: Replaced, Trigger: OnObserved, To: Published, Extension: revival},
	{From: Replaced, Trigger: OnConfirmed, To: Published, Extension: revival},
	{From: Replaced, Trigger: OnProven, To: Published, Extension: revival},
	{From: Failed, Trigger: OnObserved, To: Published, Extension: revival},
	{From: Failed, Trigger: OnConfirmed, To: Published, Extension: revival},
	{From: Failed, Trigger: OnProven, To: Published, Extension: revival},

	{From: Pending, Trigger: OnSigned, To: Pending, Extension: heightMap},
	{From: Published, Trigger: OnSigned, To: Published, Extension: heightMap},

	{From: Pending, Trigger: OnRevealed, To: Pending, Extension: heightMap},
	{From: Published, Trigger: OnRevealed, To: Published, Extension: heightMap},
	{From: Replaced, Trigger: OnRevealed, To: Replaced, Extension: heightMap},
	{From: Failed, Trigger: OnRevealed, To: Failed, Extension: heightMap},
	{From: Orphaned, Trigger: OnRevealed, To: Orphaned, Extension: heightMap},
	{From: Pending, Trigger: OnLabelled, To: Pending, Extension: heightMap},
	{From: Published, Trigger: OnLabelled, To: Published, Extension: heightMap},
	{From: Replaced, Trigger: OnLabelled, To: Replaced, Extension: heightMap},
	{From: Failed, Trigger: OnLabelled, To: Failed, Extension: heightMap},
	{From: Orphaned, Trigger: OnLabelled, To: Orphaned, Extension: heightMap},
}, statemachine.Cyclic)
