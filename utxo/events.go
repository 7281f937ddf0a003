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
	// ErrDeadParent: an ancestor is dead and this evidence cannot revive it.
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

// Event is something that happened. The set is closed.
type Event interface{ event() }

// WalletOpened adds a wallet. The same wallet again is a no-op, another birth
// is ErrIllegal.
type WalletOpened struct {
	Wallet WalletID // from 1
	Birth  int32    // first height that can hold one of its coins, from 0
	At     time.Time
}

// Submitted: the application created a transaction. It becomes pending and
// spends its inputs at once.
type Submitted struct {
	Wallet WalletID
	Tx     *wire.MsgTx
	// Replaces names the live unconfirmed transactions that this one is meant
	// to replace; they keep the shared inputs until it is placed.
	Replaces []chainhash.Hash
	Lock     LockID // of the leases on its inputs, zero for none
	At       time.Time
}

// Broadcasted: the host handed the pending transaction to the network, which took it.
type Broadcasted struct {
	ID TxID
	At time.Time
}

// Observed: a mempool holds the transaction. It concerns all wallets.
type Observed struct {
	Tx  *wire.MsgTx
	Seq int64          // grows with every observation of the host's source, from 1
	Tip chainhash.Hash // the best block when it was seen, zero for an empty chain
	At  time.Time
}

// Connected: the block joined the best chain. It concerns all wallets. A block
// that is already on the chain is applied again and adds only what is missing.
type Connected struct {
	Block Block
	// Txs are the block's transactions in its order, the coinbase first. A
	// host that filters sends those that it needs, with their Positions.
	Txs []*wire.MsgTx
	// Positions are the places of Txs in the block; nil for 0, 1, 2, ...
	Positions []int32
	At        time.Time
}

// Disconnected: the tip left the best chain. A hash that is not on the chain
// is a no-op; a block below the tip is ErrChainMismatch.
type Disconnected struct {
	Hash chainhash.Hash
	At   time.Time
}

// Invalidated: the host gives up an unconfirmed transaction.
type Invalidated struct {
	ID     TxID
	Reason string // at most 500 bytes are kept
	At     time.Time
}

// OutputRevealed: an output of a stored transaction turned out to be owned.
type OutputRevealed struct {
	ID    TxID
	Index uint32
	Tag   string
	Birth int32 // first height that can hold a coin of this owner; it is scanned to Birth-1
	At    time.Time
}

// Labelled sets the label of a transaction.
type Labelled struct {
	ID    TxID
	Label string // at most [MaxLabel] characters
	At    time.Time
}

// OutputsLeased locks outputs, all or none. The same lock renews.
type OutputsLeased struct {
	Wallet    WalletID
	OutPoints []wire.OutPoint
	Lock      LockID
	Duration  time.Duration // > 0
	At        time.Time
}

// LeasesRenewed sets the end of active leases to At + Duration, all or none.
type LeasesRenewed OutputsLeased

// LeasesReleased ends leases, all or none. A lease that is gone is no error.
type LeasesReleased struct {
	Wallet    WalletID
	OutPoints []wire.OutPoint
	Lock      LockID
	At        time.Time
}

func (WalletOpened) event()   {}
func (Submitted) event()      {}
func (Broadcasted) event()    {}
func (Observed) event()       {}
func (Connected) event()      {}
func (Disconnected) event()   {}
func (Invalidated) event()    {}
func (OutputRevealed) event() {}
func (Labelled) event()       {}
func (OutputsLeased) event()  {}
func (LeasesRenewed) event()  {}
func (LeasesReleased) event() {}

// Stamp returns ev with At set to now where it is zero.
func Stamp(ev Event, now time.Time) Event {
	set := func(at *time.Time) {
		if at.IsZero() {
			*at = now
		}
	}
	switch e := ev.(type) {
	case WalletOpened:
		set(&e.At)
		return e
	case Submitted:
		set(&e.At)
		return e
	case Broadcasted:
		set(&e.At)
		return e
	case Observed:
		set(&e.At)
		return e
	case Connected:
		set(&e.At)
		return e
	case Disconnected:
		set(&e.At)
		return e
	case Invalidated:
		set(&e.At)
		return e
	case OutputRevealed:
		set(&e.At)
		return e
	case Labelled:
		set(&e.At)
		return e
	case OutputsLeased:
		set(&e.At)
		return e
	case LeasesRenewed:
		set(&e.At)
		return e
	case LeasesReleased:
		set(&e.At)
		return e
	}
	return ev
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
