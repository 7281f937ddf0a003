package utxo

import (
	"errors"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// Refusals of this domain. Each matches the sentinel of package statemachine
// that its text starts with only where it says so; all of them change nothing.
var (
	// ErrInputSpent: a live transaction spends an input of the submitted one.
	ErrInputSpent = errors.New("input is spent by a live transaction")
	// ErrDeadParent: it stands on what is dead. A mempool or a block that shows a
	// transaction proves its ancestors too, and revives them; but not an orphaned
	// coinbase, which exists in its block alone, nor a parent that the same list was
	// refused for. What is submitted is no evidence, and has no dead parent at all.
	ErrDeadParent = errors.New("an ancestor is dead")
	// ErrImmature: an input is a coinbase below maturity.
	ErrImmature = errors.New("input is an immature coinbase")
	// ErrSelfConflict: an outpoint is spent twice within the transaction and
	// its ancestors.
	ErrSelfConflict = errors.New("transaction conflicts with itself or an ancestor")
	// ErrSpentByConfirmed: a rival is confirmed, or has a confirmed descendant.
	ErrSpentByConfirmed = errors.New("input is spent by the confirmed chain")
	// ErrConfirmedElsewhere: the transaction is confirmed in another block: a
	// disconnect was missed.
	ErrConfirmedElsewhere = errors.New("confirmed in another block")
	// ErrChainMismatch: the block does not continue the best chain.
	ErrChainMismatch = errors.New("block does not fit the best chain")
	// ErrStale: the observation is older than what the ledger knows.
	ErrStale = errors.New("observation is out of date")
)

// Event is something that the host saw or decided. The set is closed. Any event
// may be sent by anybody: the source knows no roles.
type Event interface{ by() By }

// By says who speaks, in which capacity, and when.
type By struct {
	// Actor and Role are the host's own words for the audit trail, at most
	// [MaxActor] bytes each. They may be empty: what a chain feed says has no
	// actor.
	Actor string `json:",omitempty"`
	Role  string `json:",omitempty"`
	// At is when it was seen or said, UTC, in microseconds. The clock of the store, of a
	// [Ledger] or of the caller of [Policy.PlanAt] counts, and gives and ends leases,
	// whatever At says: leave it zero. Where nobody has a clock ([Policy.Plan], a Ledger
	// without one) At is the time, and a zero one is [statemachine.ErrInvalid]. See
	// [statemachine.EventTime].
	At time.Time
}

// MaxActor bounds an actor and a role, in bytes.
const MaxActor = 200

func (b By) by() By { return b }

// Said returns who sent an event, and when.
func Said(ev Event) By { return ev.by() }

// WalletOpened adds a wallet. The same wallet again is a no-op, another birth
// is ErrIllegal.
type WalletOpened struct {
	By
	Wallet WalletID // from 1
	Birth  int32    // first height that can hold one of its coins, from 0
}

// Submitted: the application created a transaction. It becomes pending and
// spends its inputs at once; published, where the network has it already and another
// wallet of the store knows that. What its ancestors conflict with is looked at where
// it replaces something or has several unconfirmed parents: with one, they were
// looked at with that parent, and what came between shows when it is placed. What
// spends an output that a stored parent does not have, or pays more than its inputs
// bring, all their parents being stored, is ErrInvalid; what a mempool or a block shows
// is not tested so.
//
// All that the hash commits to must be there: the outputs, the inputs with their
// sequences, and the scripts of inputs that are no segwit, so also the redeem script
// of P2SH-P2WPKH. Witnesses may come later, by a Submitted of the same hash: one that
// is new to an input is taken, another one replaces the first until the network has
// the transaction, and none is ever taken away. [Policy.Next] broadcasts only what is
// signed, see [Unsigned]; before that nobody can send it, and [Invalidated] stops it.
// The bytes that a mempool or a block shows are valid, and replace what was submitted.
type Submitted struct {
	By
	Wallet WalletID
	Tx     *wire.MsgTx
	// Replaces names the unconfirmed transactions that this one is meant to
	// replace; live ones keep the shared inputs until it is placed. Of one that the
	// network has already it may name dead ones too: it declares what it replaced.
	Replaces []chainhash.Hash
	Lock     LockID // of the leases on its inputs, zero for none
}

// Broadcasted: the host handed the pending transaction to the network, which took
// it. Where the ledger lacks signatures, a [Submitted] or a mempool brings them, and
// nothing is sent again before. It wins against what was observed before; a mempool list that was read before
// it is to be sent before it, or not at all, since it would undo it.
type Broadcasted struct {
	By
	ID TxID
}

// Observed: a mempool held these transactions when its best block was Tip. It
// concerns all wallets. Another tip than the ledger's is [ErrStale], and nothing
// is done: read the mempool again. Parents are placed before children, whatever
// the order of the list. A transaction that is refused is in
// [ChangeSet.Refused], and a host skips it; of two that conflict the later in
// the list is. That one is missing from a list says nothing.
type Observed struct {
	By
	Txs []*wire.MsgTx
	// Seq is the number of this reading, higher than that of any before it in
	// this store, whatever the source: nothing wins against what was observed
	// at the same number or later, which is [ErrStale]. A reading may come in
	// parts of one number; of two in it that conflict the first wins. 0 draws
	// the next number when the list is planned.
	Seq int64
	Tip chainhash.Hash // zero for an empty chain
}

// Connected: the block joined the best chain. It concerns all wallets. A block
// that is already on the chain is applied again and adds only what is missing.
type Connected struct {
	By
	Block Block
	// Txs are the block's transactions in its order, the coinbase first. A
	// host that filters sends those that it needs, with their Positions.
	Txs []*wire.MsgTx
	// Positions are the places of Txs in the block; nil for 0, 1, 2, ...
	Positions []int32
}

// Disconnected: the tip left the best chain. A hash that is not on the chain
// is a no-op; a block below the tip is ErrChainMismatch.
//
// A deposit dies with what it stands on where the ledger has a row of that: its
// direct parent, if it was shown together with the deposit or after it. It is not
// told that a stranger's transaction further up, or a parent that was mined before
// it came, was double-spent after a reorg: then it stays unconfirmed. A host treats
// it as the unconfirmed money that it is, and what is in no mempool and no block for
// long after a reorg, which [Alerts] names, it ends by [Invalidated]; a block that has
// it revives it.
type Disconnected struct {
	By
	Hash chainhash.Hash
}

// Invalidated: the host gives up an unconfirmed transaction.
type Invalidated struct {
	By
	ID     TxID
	Reason string // at most 500 bytes are kept
}

// OwnersAnnounced: these owners are the wallet's, and the first block that can
// hold a coin of one of them is at height Birth. [Policy.Owner] knows them
// before the event is sent. Where the wallet is scanned further, they are behind
// (see [Wallet.Behind]) until the host has applied the blocks from Birth on
// again; then it offers the mempool once more. The unit is the tag: a late key
// gets a tag of its own until it is scanned. The same or a higher birth again is
// a no-op, a lower one starts the scan there.
type OwnersAnnounced struct {
	By
	Wallet WalletID
	Tags   []string // 1 to [MaxOwners]
	Birth  int32
}

// OutputRevealed: an output of a stored transaction turned out to be owned. The
// owner is announced with it, see [OwnersAnnounced].
type OutputRevealed struct {
	By
	ID    TxID
	Index uint32
	Tag   string
	Birth int32
}

// Labelled sets the label of a transaction.
type Labelled struct {
	By
	ID    TxID
	Label string // at most [MaxLabel] characters
}

// OutputsLeased locks outputs, all or none. The same lock renews. The duration
// counts from now by the store's clock, from At without a store.
type OutputsLeased struct {
	By
	Wallet    WalletID
	OutPoints []wire.OutPoint
	Lock      LockID
	Duration  time.Duration // at least a microsecond
}

// LeasesRenewed sets the end of active leases to now + Duration, all or none.
type LeasesRenewed OutputsLeased

// LeasesReleased ends leases, all or none. A lease that is gone is no error.
type LeasesReleased struct {
	By
	Wallet    WalletID
	OutPoints []wire.OutPoint
	Lock      LockID
}

// Scope returns the wallet that an event concerns, zero for all of them. A
// store that does not serialise its writers locks what the scope names, the
// tip too for zero, before it reads for [Policy.Plan].
func Scope(ev Event) WalletID {
	switch ev := ev.(type) {
	case WalletOpened:
		return ev.Wallet
	case Submitted:
		return ev.Wallet
	case Broadcasted:
		return ev.ID.Wallet
	case Invalidated:
		return ev.ID.Wallet
	case OwnersAnnounced:
		return ev.Wallet
	case OutputRevealed:
		return ev.ID.Wallet
	case Labelled:
		return ev.ID.Wallet
	case OutputsLeased:
		return ev.Wallet
	case LeasesRenewed:
		return ev.Wallet
	case LeasesReleased:
		return ev.Wallet
	}
	return 0
}
