package utxo

import (
	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// Reader is what the rules read from a store. Every method is one batch, so that the number
// of round trips does not grow with the depth and width of the graph. The records belong to
// the store: a caller never changes them. All answers are of one moment.
type Reader interface {
	// Tip returns the highest block; ok is false for an empty chain.
	Tip() (tip Block, ok bool, err error)
	// Blocks returns the stored blocks of heights from to to, both included, by height.
	Blocks(from, to int32) ([]Block, error)
	// BlocksNamed returns those of the best chain that have one of the hashes, in any order.
	BlocksNamed(hashes ...chainhash.Hash) ([]Block, error)
	// Wallets returns the named wallets by id; without ids it returns all wallets. An
	// unknown id is [statemachine.ErrNotFound].
	Wallets(ids ...WalletID) ([]Wallet, error)
	// Owners returns which of these owners were announced to a wallet, in any
	// order.
	Owners(w WalletID, tags ...string) ([]Owned, error)
	// Txs returns those of the named transactions that are stored, in any
	// order. An id with wallet zero stands for every wallet.
	Txs(ids ...TxID) ([]*Tx, error)
	// Spenders returns every stored transaction, dead ones too, that has one
	// of the outpoints as an input, in every wallet that has a row of it, in
	// order of arrival.
	Spenders(ops ...wire.OutPoint) ([]*Tx, error)
	// Children returns every stored transaction, dead ones too, that spends
	// any output of one of the named transactions, in every wallet, in order
	// of arrival.
	Children(hashes ...chainhash.Hash) ([]*Tx, error)
	// Descendants returns the live descendants of the named transactions in every wallet,
	// without the named ones. A transaction is live if a row of it in any wallet is. The
	// walk does not go below a confirmed transaction.
	Descendants(hashes ...chainhash.Hash) ([]*Tx, error)
	// Ancestors returns those of the named transactions and of their ancestors that are
	// within the reach, in every wallet. The walk does not go above a transaction that is
	// outside the reach.
	Ancestors(reach Reach, hashes ...chainhash.Hash) ([]*Tx, error)
	// Seq returns the highest sequence number of a mempool observation so far.
	Seq() (int64, error)
	// ConfirmedAt returns the transactions of a range of heights, both ends
	// included, of every wallet, by height, wallet and position.
	ConfirmedAt(from, to int32) ([]*Tx, error)
	// Replacements returns the edges that touch one of the transactions,
	// ordered by wallet, loser bytes, winner bytes.
	Replacements(ids ...TxID) ([]Replacement, error)
	// Leases returns the stored leases of these outpoints, expired ones too.
	Leases(w WalletID, ops ...wire.OutPoint) ([]Lease, error)
	// Raw returns serialised transactions in the order of ids,
	// [statemachine.ErrNotFound] if one is not stored.
	Raw(ids ...TxID) ([][]byte, error)
}

// Reach bounds a walk to the ancestors.
type Reach uint8

const (
	// NotPublished: pending or dead.
	NotPublished Reach = iota + 1
	// NotConfirmed: in no block.
	NotConfirmed
)

// Includes reports whether t is within the reach.
func (r Reach) Includes(t *Tx) bool {
	if r == NotPublished {
		return t.Status != Published
	}
	return !t.Confirmed()
}
