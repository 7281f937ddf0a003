package utxo

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// WalletID names a wallet, from 1. Zero means every wallet, in the functions that say so.
type WalletID int64

// TxID names the row that a wallet has of a transaction. Each wallet that a transaction
// concerns has a row of its own, with its own label, outputs and audit trail. Evidence
// changes all rows at once, so status and height are the same in each. Rows differ only
// before there is evidence: what a wallet has submitted, and perhaps given up, concerns
// this wallet alone.
type TxID struct {
	Wallet WalletID
	Hash   chainhash.Hash
}

// String returns "wallet/hash", the id of the audit trail.
func (id TxID) String() string { return fmt.Sprintf("%d/%s", id.Wallet, id.Hash) }

// Unconfirmed is the Height of a transaction that is in no block of the best chain.
const Unconfirmed int32 = -1

// MaxLabel bounds a transaction's label, in characters.
const MaxLabel = 500

// Wallet is one account book of the store.
type Wallet struct {
	ID    WalletID
	Birth int32 // first height that can hold one of its coins
	// ScannedTo is the height up to which every block was matched against the wallet; a new
	// wallet has Birth-1. The coins of the wallet are not selectable before ScannedTo
	// reaches the tip.
	ScannedTo int32
	Follows   bool  // ScannedTo is the tip, wherever that goes
	Announced int64 // how often late owners were announced that had to be scanned for
	// Behind lists the owners that were announced late and have not caught up
	// with ScannedTo yet, in the order of their announcements. Their coins are
	// in [Balance.Unscanned] alone and not selectable.
	Behind []OwnerScan
}

// OwnerScan is the scan progress of owners of a wallet that were announced late and
// together.
type OwnerScan struct {
	ID        int64 // number of the announcement
	ScannedTo int32
	Tags      []string // ascending
}

// Owned is an owner that was announced to a wallet, kept for ever.
type Owned struct {
	Wallet WalletID
	Tag    string
	Birth  int32 // first height that can hold one of its coins
}

// Block is one block of the best chain, shared by all wallets of a store.
type Block struct {
	Height int32
	Hash   chainhash.Hash
	Prev   chainhash.Hash
	Time   time.Time
}

// Tx is a stored transaction with its inputs and the outputs that the wallet owns. No other
// record of this package has a version and an audit trail.
type Tx struct {
	ID        TxID
	Status    Status
	Height    int32     // of its block, or [Unconfirmed]
	Position  int32     // in its block, 0 while unconfirmed
	Coinbase  bool      // creates money
	FirstSeen time.Time // UTC microseconds
	Seq       int64     // of the last mempool observation, 0 for none
	Label     string    // the host's, at most [MaxLabel] characters
	// Context: the wallet owns no output of the transaction and spends none of its own by it. The
	// row is kept since the transaction is the direct parent or rival of one that does concern the
	// wallet. It is in no history, feed or list, only in [Detail] and in replacement edges.
	Context bool
	// Public: the network has had the transaction. A transaction that was only submitted
	// concerns its wallet alone, and no other wallet learns of it.
	Public  bool
	Version int64 // from 1
	// Arrival grows with every row that a store learns, in whichever wallet. Each store has
	// its own numbers, so Arrival is 0 in a [ChangeSet] and a [Snapshot].
	Arrival int64
	Inputs  []wire.OutPoint
	Outputs []Output // owned ones only, by index
	// Raw is the serialised transaction with the witnesses that are known, see [Submitted].
	// A [Reader] leaves it nil. [ChangeSet.Inserts] has the bytes of a new transaction, and
	// [TxUpdate.Raw] new bytes of a stored one.
	Raw []byte
}

// Live reports whether t holds its inputs: pending or published.
func (t *Tx) Live() bool { return t.Status == Pending || t.Status == Published }

// Confirmed reports whether t is in a block of the best chain.
func (t *Tx) Confirmed() bool { return t.Height != Unconfirmed }

// Output is an owned output: a coin.
type Output struct {
	Index  uint32
	Amount int64 // satoshi
	Script []byte
	Tag    string // the owner within the wallet, the host's
	// SpentBy is the live spender, the zero hash for none.
	SpentBy chainhash.Hash
}

// Spent reports whether a live transaction spends o.
func (o *Output) Spent() bool { return o.SpentBy != chainhash.Hash{} }

// Output returns the owned output with this index, or nil.
func (t *Tx) Output(index uint32) *Output {
	i, found := slices.BinarySearchFunc(t.Outputs, index, func(o Output, i uint32) int { return cmp.Compare(o.Index, i) })
	if !found {
		return nil
	}
	return &t.Outputs[i]
}

// Replacement says that Winner took an input of Loser, or that Winner was submitted in
// order to replace Loser.
type Replacement struct {
	Wallet        WalletID
	Loser, Winner chainhash.Hash
	Declared      bool // by [Submitted]; whether Winner then won, their status says
}

// byEvidence returns r as it is without a declaration.
func (r Replacement) byEvidence() Replacement {
	r.Declared = false
	return r
}

// LockID names the holder of a lease: 32 bytes that the application chooses.
type LockID [32]byte

// Lease keeps an output from being selected, and from being spent by [Submitted] without
// its lock id, while now < Until. The zero Lease holds nothing.
type Lease struct {
	Wallet   WalletID
	OutPoint wire.OutPoint
	Lock     LockID
	Until    time.Time
	// Since is when Lock took the lease; a renewal keeps it. A lock that takes a lease
	// again after its end has a new Since.
	Since time.Time
}

// String says what is held, by which lock, and until when.
func (l Lease) String() string {
	return fmt.Sprintf("%s of wallet %d by %x until %s", l.OutPoint, l.Wallet, l.Lock, l.Until.Format(time.RFC3339Nano))
}

// Active reports whether l is held at now.
func (l Lease) Active(now time.Time) bool { return now.Before(l.Until) }

// Owner says whose an output script is.
type Owner struct {
	Wallet WalletID
	Tag    string // at most [MaxTag] bytes
}

// MaxTag bounds an owner tag, in bytes.
const MaxTag = 200

// Coin is an owned output with everything that its derived state depends on.
type Coin struct {
	Wallet   WalletID
	OutPoint wire.OutPoint
	Amount   int64 // satoshi
	Script   []byte
	Tag      string
	SpentBy  chainhash.Hash // live spender, zero for none
	Status   Status         // of the transaction that created it
	Height   int32          // of that transaction
	Coinbase bool
	Lease    *Lease // nil if there is none; it may have expired
}
