package utxo

import (
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Refusals of this domain. A refusal changes nothing. It matches a sentinel of package
// statemachine only where its comment says so.
var (
	// ErrInputSpent: a live transaction spends an input of the submitted one.
	ErrInputSpent = statemachine.NewSentinel("input-spent", "input is spent by a live transaction")
	// ErrDeadParent: the transaction spends an output of a dead transaction. A mempool or a block
	// that shows a transaction proves its ancestors too, and revives dead ones. Two kinds of
	// ancestors cannot be revived so: an orphaned coinbase, which exists in its block alone, and a
	// parent that was refused in the same list. A submission is no evidence and revives nothing.
	ErrDeadParent = statemachine.NewSentinel("dead-parent", "an ancestor is dead")
	// ErrImmature: an input is a coinbase below maturity.
	ErrImmature = statemachine.NewSentinel("immature", "input is an immature coinbase")
	// ErrSelfConflict: an outpoint is spent twice within the transaction and
	// its ancestors.
	ErrSelfConflict = statemachine.NewSentinel("self-conflict", "transaction conflicts with itself or an ancestor")
	// ErrSpentByConfirmed: a rival is confirmed, or has a confirmed descendant.
	ErrSpentByConfirmed = statemachine.NewSentinel("spent-by-confirmed", "input is spent by the confirmed chain")
	// ErrConfirmedElsewhere: the transaction is stored as confirmed in another block, so
	// the host has missed a disconnect.
	ErrConfirmedElsewhere = statemachine.NewSentinel("confirmed-elsewhere", "confirmed in another block")
	// ErrChainMismatch: the block does not continue the best chain.
	ErrChainMismatch = statemachine.NewSentinel("chain-mismatch", "block does not fit the best chain")
	// ErrStale: the observation is older than what the ledger knows.
	ErrStale = statemachine.NewSentinel("stale", "observation is out of date")
)

// Event is something that the host saw or decided. The set of events is closed. Anybody may
// send any event: the source knows no roles.
type Event interface {
	by() By
	Line() (line statemachine.JournalLine, person bool)
}

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
	// Trace and Via are as in [statemachine.By], at most [statemachine.MaxTrace] bytes.
	Trace string `json:",omitempty"`
	Via   string `json:",omitempty"`
}

// MaxActor bounds an actor and a role, in bytes.
const MaxActor = 200

func (b By) by() By { return b }

// Line is as that of [statemachine.By]: Role is the text "operator" or "approver" where a
// person speaks.
func (b By) Line() (line statemachine.JournalLine, person bool) {
	if !statemachine.Person(b.Role) {
		return line, false
	}
	return statemachine.JournalLine{At: b.At, Actor: b.Actor, Role: b.Role, Trace: b.Trace, Via: b.Via}, true
}

// Said returns who sent an event, and when.
func Said(ev Event) By { return ev.by() }

// WalletOpened adds a wallet. Opening the same wallet again changes nothing; with another
// birth it is ErrIllegal.
type WalletOpened struct {
	By
	Wallet WalletID // from 1
	Birth  int32    // first height that can hold one of its coins, from 0
}

// Submitted: the application created a transaction. The transaction becomes pending and
// spends its inputs at once; it becomes published where the network has it already and
// another wallet of the store knows that. What is tested:
//
//   - Conflicts of its ancestors are looked for where it replaces something or has
//     several unconfirmed parents. With a single unconfirmed parent they were looked
//     for when that parent was submitted, and a conflict that came afterwards shows
//     when the transaction is placed.
//   - It is ErrInvalid if it spends an output that a stored parent does not have, or
//     if all its parents are stored and it pays more than its inputs bring.
//     Transactions that a mempool or a block shows are not tested for this.
//
// The transaction must have everything that its hash commits to: the outputs, the inputs
// with their sequences, and the scripts of inputs that are not segwit, so also the redeem
// script of P2SH-P2WPKH. Witnesses may come later, by another Submitted of the same hash. A
// witness for an input that has none is stored. A different witness replaces a stored one
// until the network has the transaction. No witness is ever taken away.
//
// A dead transaction, so also one that [Invalidated] has ended, is not submitted again, with
// signatures or without: Submitted of the same hash is ErrIllegal, since its inputs may be
// spent by another transaction by now. The caller who still has such a transaction signed has
// two ways. A payment is made anew by a Submitted of another transaction, which spends at
// least one input of the dead one, so that not both can pay. Where the dead transaction was
// sent to the network after all, the network is the evidence: [Observed], or [Connected] of
// its block, revives it, stores its bytes, and fails what conflicts with it.
//
// [Policy.Next] broadcasts only signed transactions, see [Unsigned]; before a transaction
// is signed nobody can send it, and [Invalidated] stops it. The bytes that a mempool or a
// block shows are valid, and replace the submitted ones.
type Submitted struct {
	By
	Wallet WalletID
	Tx     *wire.MsgTx
	// Replaces names the unconfirmed transactions that this one is meant to replace. Live
	// ones keep the shared inputs until this one is placed. For a transaction that the
	// network has already, Replaces may name dead ones too, as a record of what it
	// replaced.
	Replaces []chainhash.Hash
	Lock     LockID // of the leases on its inputs, zero for none
	// Unsettled: the wallet has not been started since the database was put back. Then a new
	// transaction pays the wallet itself alone, else it is an [UnsettledError]. A service brings
	// this from the switch.
	Unsettled bool `json:"-"`
}

// Broadcasted: the host handed the pending transaction to the network, and the network took
// it. Where the ledger lacks signatures, the transaction is not sent again before a
// [Submitted] or a mempool brings them. A Broadcasted wins against every rival that was
// observed before it. A mempool list that was read before the broadcast must therefore be
// sent before it or dropped: sent afterwards, the list would undo the broadcast.
type Broadcasted struct {
	By
	ID TxID
}

// Observed: a mempool held these transactions when its best block was Tip. The event
// concerns all wallets. If Tip is not the ledger's tip, it is [ErrStale] and nothing is
// done: read the mempool again. Parents are placed before children, whatever the order of
// the list. Refused transactions are in [ChangeSet.Refused], and a host skips them; of two
// transactions of the list that conflict the later is refused. A transaction that is
// missing from the list proves nothing.
type Observed struct {
	By
	Txs []*wire.MsgTx
	// Seq is the number of this reading. It must be higher than the number of every earlier
	// reading in this store, whatever the source: against a rival that was observed at the
	// same number or later a transaction is refused with [ErrStale]. A reading may be sent
	// in several parts with one number; of two conflicting transactions in it the first
	// wins. With 0 the next number is drawn when the list is planned.
	Seq int64
	Tip chainhash.Hash // zero for an empty chain
}

// Connected: the block joined the best chain. The event concerns all wallets. A block that
// is already on the chain is applied again and adds only what is missing.
type Connected struct {
	By
	Block Block
	// Txs are the block's transactions in its order, the coinbase first. A host that
	// filters the block sends only the transactions that it needs, with their Positions.
	Txs []*wire.MsgTx
	// Positions are the places of Txs in the block; nil for 0, 1, 2, ...
	Positions []int32
}

// Disconnected: the tip left the best chain. A hash that is not on the chain changes
// nothing; a block below the tip is ErrChainMismatch.
//
// When a transaction that a deposit descends from is double-spent after a reorganisation,
// the ledger fails the deposit only if it has a row of that transaction: it keeps the
// direct parent, if the parent was shown together with the deposit or after it. Of
// transactions further up, and of a parent that was mined before the deposit came, it has
// no row, and the deposit stays unconfirmed. A host treats such a deposit as unconfirmed
// money. [Alerts] names what is in no mempool and no block for long; the host ends it by
// [Invalidated], and a block that has it revives it.
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

// OwnersAnnounced: these owners belong to the wallet, and the first block that can hold a
// coin of one of them is at height Birth. [Policy.Owner] must know the owners before the
// event is sent. Where the wallet is scanned beyond Birth, the owners are behind (see
// [Wallet.Behind]) until the host has applied the blocks from Birth on again; then the host
// offers the mempool once more. Scan progress is kept per tag, so a late key needs a tag of
// its own until it is scanned. Announcing an owner again with the same or a higher birth
// changes nothing; with a lower birth the scan begins there.
type OwnersAnnounced struct {
	By
	Wallet WalletID
	Tags   []string // 1 to [MaxOwners]
	Birth  int32
}

// OutputRevealed: an output of a stored transaction turned out to be owned. The event
// announces the owner too, see [OwnersAnnounced].
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

// OutputsLeased leases outputs to a lock, all or none. The same lock renews its leases. The
// duration counts from the time of the store's clock, or from At without a store.
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

// Scope returns the wallet that an event concerns, zero for all wallets. A store that lets
// several writers run at once locks this wallet before it reads for [Policy.Plan]; for zero
// it locks all wallets and the tip.
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

// Names returns the transaction that an event is about by its id; zero if it names none.
func Names(ev Event) TxID {
	switch ev := ev.(type) {
	case Broadcasted:
		return ev.ID
	case Invalidated:
		return ev.ID
	case OutputRevealed:
		return ev.ID
	case Labelled:
		return ev.ID
	}
	return TxID{}
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event {
	return []Event{
		WalletOpened{}, Submitted{}, Broadcasted{}, Observed{}, Connected{}, Disconnected{}, Invalidated{},
		OwnersAnnounced{}, OutputRevealed{}, Labelled{}, OutputsLeased{}, LeasesRenewed{}, LeasesReleased{},
	}
}
