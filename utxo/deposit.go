package utxo

import (
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// DepositState is what the host's ledger has of a deposit.
// Values: DepositWaiting, DepositCredited, DepositReversed.
type DepositState = statemachine.Enum[depositState]

const (
	// DepositWaiting: a block had the deposit, and it was never credited. While the deposit
	// is in the best chain, every new tip is a reason to look at it. When a deposit that
	// left the chain comes back, its transaction gets a line in the log.
	DepositWaiting DepositState = iota + 1
	// DepositCredited: the ledger has credited the deposit. While it is shaken (see
	// [Deposit.Shaken]), every new tip is a reason to look at it, and an operator may
	// reverse it.
	DepositCredited
	// DepositReversed: the ledger had credited the deposit and has taken the credit back.
	// While the deposit is in the best chain, every new tip is a reason to look at it.
	DepositReversed
)

type depositState struct{}

func (depositState) Kind() string    { return "deposit state" }
func (depositState) Names() []string { return []string{"waiting", "credited", "reversed"} }

// DepositTrigger is what moves a deposit.
// Values: onDeposited, onDeep, onDead, onForkedOff, onOrdered.
type DepositTrigger = statemachine.Enum[depositTrigger]

const (
	onDeposited DepositTrigger = iota + 1 // a block pays a customer
	onDeep                                // it is deep enough to be credited
	onDead                                // another transaction has spent an input of it, or of an ancestor, as deep
	onForkedOff                           // the coinbase is in no block, and the chain without it is as deep
	onOrdered                             // an operator says that it will not come back
)

type depositTrigger struct{}

func (depositTrigger) Kind() string { return "deposit trigger" }
func (depositTrigger) Names() []string {
	return []string{"deposited", "deep", "provably_dead", "forked_off", "operator"}
}

// DepositMachine holds the allowed steps of a deposit's state. Each step but the first is
// one posting of the host.
var DepositMachine = statemachine.Must("utxo.deposit", []statemachine.Edge[DepositState, DepositTrigger]{
	{From: 0, Trigger: onDeposited, To: DepositWaiting},
	{From: DepositWaiting, Trigger: onDeep, To: DepositCredited},
	{From: DepositCredited, Trigger: onDead, To: DepositReversed},
	{From: DepositCredited, Trigger: onForkedOff, To: DepositReversed},
	{From: DepositCredited, Trigger: onOrdered, To: DepositReversed},
	{From: DepositReversed, Trigger: onDeep, To: DepositCredited},
}, statemachine.Cyclic)

// Deposit is an output that pays a customer, and what the host's ledger has of it.
type Deposit struct {
	OutPoint wire.OutPoint
	Owner
	Amount int64 // satoshi
	// Height and Block are the last block of the best chain that the output was seen in;
	// [Unconfirmed] and zero for none. InChain says whether this block is still in the best
	// chain.
	Height  int32
	Block   chainhash.Hash
	InChain bool
	State   DepositState
	Round   int64 // how often it was credited; 0 while it waits
	Depth   int32 // that it was credited at the last time, in blocks; 0 while it waits
	// Actor and Reason say who reversed the last round and why. Where an operator did, they
	// are his name and his words; else Actor is empty and Reason is the trigger.
	Actor  string
	Reason string
	At     time.Time // of the last change of State, UTC microseconds
}

// DepositSight is what a store knows of an output, and of its chain, at one moment.
type DepositSight struct {
	Owner
	OutPoint wire.OutPoint
	Amount   int64  // satoshi
	Status   Status // of its transaction, zero where that is not stored
	Coinbase bool
	Height   int32          // of its block, or [Unconfirmed]
	Block    chainhash.Hash // zero while it is unconfirmed
	Tip      int32          // the height of the best chain, -1 for none
	Scanned  int32          // up to which block the owner's coins are complete, see [Wallet.ScannedFor]
	// Dead is what [ProvablyDead] says of the transaction at the Depth of the deposit. A
	// store needs to ask it only where [Deposit.Suspect] reports true.
	Dead bool
}

// FactKind is what a host posts of a deposit.
// Values: FactCredited, FactReversed.
type FactKind = statemachine.Enum[factKind]

const (
	FactCredited FactKind = iota + 1 // the customer gets the amount
	FactReversed                     // the amount of the same round is taken back
)

type factKind struct{}

func (factKind) Kind() string    { return "kind of fact" }
func (factKind) Names() []string { return []string{"credited", "reversed"} }

// DepositKey identifies a posting for ever: a ledger that already has a posting with this
// key must not post again.
type DepositKey struct {
	OutPoint wire.OutPoint
	Round    int64 // from 1
	Kind     FactKind
}

// String returns "hash:index/round/kind".
func (k DepositKey) String() string { return fmt.Sprintf("%s/%d/%s", k.OutPoint, k.Round, k.Kind) }

// DepositFact is one posting of a deposit. After each fact of an outpoint the sum of its
// facts, credits less reversals, is 0 or the amount of the deposit.
type DepositFact struct {
	DepositKey
	Owner
	Amount int64 // satoshi, above 0, of either kind
	Height int32 // of the last block that the output was in
	Block  chainhash.Hash
	Actor  string // of a reversal: the operator, empty for none
	Reason string // of a reversal: his words, or the trigger
}

// fact is what the last step of d says to the ledger.
func (d *Deposit) fact() *DepositFact {
	kind := FactCredited
	if d.State == DepositReversed {
		kind = FactReversed
	}
	return &DepositFact{DepositKey: DepositKey{d.OutPoint, d.Round, kind}, Owner: d.Owner, Amount: d.Amount,
		Height: d.Height, Block: d.Block, Actor: d.Actor, Reason: d.Reason}
}

// CheckDeposit reports a deposit that breaks an invariant, as [statemachine.ErrCorrupt].
func CheckDeposit(d Deposit) error {
	waits, reversed := d.State == DepositWaiting, d.State == DepositReversed
	switch {
	case d.State < DepositWaiting || d.State > DepositReversed:
		return corrupt("deposit %s is in state %s", d.OutPoint, d.State)
	case d.Amount < 1:
		return corrupt("deposit %s has an amount of %d", d.OutPoint, d.Amount)
	case d.Wallet < 1:
		return corrupt("deposit %s is of wallet %d", d.OutPoint, d.Wallet)
	case waits != (d.Round == 0) || waits != (d.Depth == 0) || d.Round < 0 || d.Depth < 0:
		return corrupt("deposit %s is %s in round %d at depth %d", d.OutPoint, d.State, d.Round, d.Depth)
	case reversed != (d.Reason != "") || !reversed && d.Actor != "":
		return corrupt("deposit %s is %s, and reversed by %q for %q", d.OutPoint, d.State, d.Actor, d.Reason)
	case d.Height < Unconfirmed || (d.Height == Unconfirmed) != (d.Block == chainhash.Hash{}) || d.InChain && d.Height < 0:
		return corrupt("deposit %s has the height %d and the block %s, in the chain: %v", d.OutPoint, d.Height, d.Block, d.InChain)
	}
	return nil
}
