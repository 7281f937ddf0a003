package utxo

import (
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Queries are the reads that a host shows to people; a store offers them beside [Reader].
// An answer does not change when the store changes later. Its parts (scripts, inputs, raw
// bytes) may be shared with other answers and with the store, so a caller must not change
// them.
type Queries interface {
	// Balance sums the live unspent outputs by [Policy.State], as if there were no leases;
	// tag nil stands for every owner. Its cost does not grow with history. An unknown
	// wallet is [statemachine.ErrNotFound], less than 0 confirmations are
	// [statemachine.ErrInvalid].
	Balance(p Policy, w WalletID, tag *string, minConfirmations int32, now time.Time) (Balance, error)
	// LiveUnconfirmed returns the live unconfirmed transactions of a wallet,
	// without context, in order of arrival.
	LiveUnconfirmed(w WalletID) ([]*Tx, error)
	// PendingElsewhere returns the pending transactions of all other wallets, in order of
	// arrival. Their inputs count as spent, though w has no row of these transactions.
	PendingElsewhere(w WalletID) ([]*Tx, error)
	// Unspent returns the live unspent outputs of a wallet with their leases,
	// in order of arrival and index; tag nil stands for every owner.
	Unspent(w WalletID, tag *string) ([]Coin, error)
	// Coins returns the owned ones of these outputs, in any state, in the order asked.
	Coins(w WalletID, ops ...wire.OutPoint) ([]Coin, error)
	// Outputs pages through all owned outputs of a wallet, in any state, ordered by hash
	// bytes and index, from the output after the given one. In Outputs and in History a
	// limit that [statemachine.Limit] refuses is [statemachine.ErrInvalid].
	Outputs(w WalletID, after *wire.OutPoint, limit int) ([]Coin, error)
	// Watch returns the outputs whose spending would still matter, in order of arrival and
	// index: their transaction is live and no confirmed transaction spends them.
	Watch(w WalletID) ([]Coin, error)
	// LeasesOf returns the stored leases of a lock, expired ones too, by hash
	// bytes and index.
	LeasesOf(w WalletID, lock LockID) ([]Lease, error)
	// ActiveLeases returns the leases of a wallet that are active at now, also those of
	// spent and dead outputs, by hash bytes and index.
	ActiveLeases(w WalletID, now time.Time) ([]Lease, error)
	// History pages through the transactions of a wallet, without context,
	// newest first, after the given key.
	History(w WalletID, after *HistoryKey, limit int) ([]*Tx, error)
	// Transitions returns the audit trail of a transaction, oldest first.
	Transitions(id TxID) ([]statemachine.Transition[TxID], error)
	// Snapshot returns everything that is stored. It reads the whole history:
	// for audits and tests.
	Snapshot() (Snapshot, error)
}

// HistoryKey is the place of a transaction in the history: unconfirmed ones
// first, by FirstSeen and then hash bytes, both descending; then by height and
// position, both descending.
type HistoryKey struct {
	Height    int32 // [Unconfirmed] sorts first
	Position  int32
	FirstSeen time.Time
	Hash      chainhash.Hash
}

// Key returns the place of t in the history.
func (t *Tx) Key() HistoryKey {
	return HistoryKey{Height: t.Height, Position: t.Position, FirstSeen: t.FirstSeen, Hash: t.ID.Hash}
}

// Snapshot is everything that is stored, in an order that is total and the same for every
// store.
type Snapshot struct {
	Blocks   []Block       // by height
	Wallets  []Wallet      // by id
	Owners   []Owned       // by wallet and tag
	Txs      []*Tx         // by wallet and hash bytes, with Raw
	Replaced []Replacement // by wallet, loser and winner bytes
	Leases   []Lease       // by wallet, outpoint hash bytes and index
}

// Detail is one transaction as a person wants to see it.
type Detail struct {
	Tx         *Tx    // with Raw
	Spends     []Coin // owned outputs that are its inputs, in order of the inputs
	ReplacedBy []chainhash.Hash
	Replaces   []chainhash.Hash
}

// Source is what a whole store of wallets answers.
type Source interface {
	Reader
	Queries
}

// ReadDetail puts together what is stored of a transaction, dead or alive. An unknown
// transaction is [statemachine.ErrNotFound].
func ReadDetail(s Source, id TxID) (Detail, error) {
	txs, err := s.Txs(id)
	if err != nil {
		return Detail{}, err
	}
	if len(txs) == 0 {
		return Detail{}, notFound(id)
	}
	tx := txs[0].clone()
	d := Detail{Tx: tx}
	raw, err := s.Raw(id)
	if err != nil {
		return Detail{}, err
	}
	tx.Raw = raw[0]
	if d.Spends, err = s.Coins(id.Wallet, tx.Inputs...); err != nil {
		return Detail{}, err
	}
	edges, err := s.Replacements(id)
	for _, e := range edges {
		if e.Loser == id.Hash {
			d.ReplacedBy = append(d.ReplacedBy, e.Winner)
		} else {
			d.Replaces = append(d.Replaces, e.Loser)
		}
	}
	return d, err
}

func notFound(id TxID) error {
	return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: TxMachine.Name(), ID: id.String()}
}
