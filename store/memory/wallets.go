package memory

import (
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// Wallets implements [store.WalletUnit].
func (t *tx) Wallets() store.WalletRecords { return t.wallets() }

// WalletQueries implements [store.WalletUnit].
func (t *tx) WalletQueries() store.WalletQueries { return t.wallets() }

func (t *tx) wallets() wallets { return wallets{t.store.wallets, t.store.walletFeed, t} }

// wallets is a ledger within a transaction.
type wallets struct {
	*utxo.Ledger
	*trails[utxo.TxID] // the feed
	tx                 *tx
}

// Lock has nothing to do: there is one writer.
func (w wallets) Lock(utxo.WalletID) error { return nil }

// Save implements [store.WalletRecords].
func (w wallets) Save(sets ...utxo.ChangeSet) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	for _, set := range sets {
		if err := set.Complete(); err != nil {
			return w.tx.fail(err)
		}
		if err := w.Apply(set); err != nil {
			return w.tx.fail(err)
		}
		w.tx.undo = append(w.tx.undo, func() { w.Undo(set) })
		if err := w.add(w.tx, set.Log); err != nil {
			return w.tx.fail(err)
		}
	}
	return nil
}

func walletFeed() *trails[utxo.TxID] {
	feed := newTrails[utxo.TxID]()
	feed.hidden = utxo.ContextLine
	return feed
}
