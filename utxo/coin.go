package utxo

import (
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/statemachine"
)

// OutputState says what an output is worth right now. It is derived, never stored.
// Values: CoinConfirmed, CoinUnconfirmed, CoinImmature, CoinPending, CoinLeased, CoinSpent,
// CoinRecoverable, CoinDead.
type OutputState = statemachine.Enum[outputState]

const (
	CoinConfirmed   OutputState = iota + 1 // available, mature funds
	CoinUnconfirmed                        // incoming funds, may be replaced
	CoinImmature                           // coinbase below maturity
	CoinPending                            // its transaction is not broadcast yet: never money
	CoinLeased                             // locked by the application
	CoinSpent                              // a live transaction spends it
	CoinRecoverable                        // dead with its orphaned coinbase, revived by a block
	CoinDead                               // dead with its replaced or failed transaction
)

type outputState struct{}

func (outputState) Kind() string    { return "output state" }
func (outputState) Names() []string { return outputStateNames }

var outputStateNames = []string{
	"confirmed", "unconfirmed", "immature", "pending", "leased", "spent", "dead (recoverable)", "dead (permanent)",
}

// State derives what a coin is worth from the height of the tip and the time now. It
// follows the table "Derivation Logic" of the source, where the first match counts: dead
// parent, live spender, active lease, pending parent, coinbase below maturity, no height,
// else confirmed. Every list, balance and selection uses it.
func (p Policy) State(c Coin, tip int32, now time.Time) OutputState {
	switch {
	case c.Status == Replaced, c.Status == Failed:
		return CoinDead
	case c.Status == Orphaned:
		return CoinRecoverable
	case c.SpentBy != chainhash.Hash{}:
		return CoinSpent
	case c.Lease != nil && c.Lease.Active(now):
		return CoinLeased
	}
	return p.bucket(c.Status, c.Height, c.Coinbase, tip)
}

// bucket is the tail of [Policy.State]: where a live unspent output counts.
func (p Policy) bucket(s Status, height int32, coinbase bool, tip int32) OutputState {
	switch {
	case s == Pending:
		return CoinPending
	case coinbase && height > p.MatureHeight(tip):
		return CoinImmature
	case height == Unconfirmed:
		return CoinUnconfirmed
	}
	return CoinConfirmed
}

// Balance is money by bucket, in satoshi. The buckets do not overlap, except that Leased
// counts the money of all buckets that is under an active lease.
type Balance struct {
	Confirmed   int64 // mature, with at least the asked confirmations
	BelowMin    int64 // mature and confirmed, but with fewer confirmations than asked
	Unconfirmed int64
	Immature    int64
	Pending     int64 // outputs of what is not broadcast: never money
	Unscanned   int64 // of owners that are behind, in any state: what spent them may not be known yet
	Leased      int64
}

// Policy holds what a host decides. The zero Policy serves for reads and leases.
type Policy struct {
	// Owner returns the wallet and the owner tag that an output script belongs to, or false
	// where it belongs to nobody of the store. It is called for every output of every
	// transaction that an event shows, so it must be fast (a look-up in memory), and it
	// must be pure: its answer depends only on the script and on what the host has
	// announced. When the host adds a key later, Owner must know the key before the host
	// sends [OwnersAnnounced] or [OutputRevealed]. An output that has an owner keeps this
	// owner, whatever Owner says of its script later. The wallet that Owner names must be
	// open, else the event is [statemachine.ErrInvalid]; so is an event with a transaction
	// where Owner is nil.
	Owner func(script []byte) (Owner, bool)
	// Maturity is the number of blocks for which a coinbase is immature:
	// immature while tip - height < Maturity, one block longer than consensus
	// asks. 0 means 100.
	Maturity int32
	// Rebroadcast is how often an own unconfirmed transaction is published
	// again; 0 means one hour.
	Rebroadcast time.Duration
	// FinalDepth is how many blocks deep a confirmed rival must be (the tip is one deep)
	// for [Submitted] to take an earlier version of a payment for provably dead. With 0 no
	// version counts as dead by depth: each new version must share an input with every
	// other.
	FinalDepth int32
}

// MatureHeight returns the highest height whose coinbase is mature at this tip.
func (p Policy) MatureHeight(tip int32) int32 { return tip - p.maturity() }

func (p Policy) maturity() int32 {
	if p.Maturity == 0 {
		return 100
	}
	return p.Maturity
}
