package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A wallet's transaction has versions, a trail and a feed as any record has; the
// rules are the same. What it is planned on is the store.

type (
	txSubject = subject[store.WalletUnit, utxo.TxID, utxo.TxID, utxo.Tx, utxo.Event, utxo.ChangeSet]
	txStage   = stage[utxo.TxID, utxo.Tx, utxo.Event]
)

// txService is the service of wallets, for one transaction.
type txService struct{ *store.Wallets }

func (s txService) Do(ctx context.Context, id utxo.TxID, events ...utxo.Event) (utxo.Tx, error) {
	if _, err := s.Wallets.Do(ctx, events...); err != nil {
		return utxo.Tx{}, err
	}
	return s.Get(ctx, id)
}

func (s txService) Get(ctx context.Context, id utxo.TxID) (utxo.Tx, error) {
	d, err := s.Detail(ctx, id)
	if err != nil {
		return utxo.Tx{}, err
	}
	d.Tx.Raw, d.Tx.Arrival = nil, 0 // each store numbers its own
	return *d.Tx, nil
}

// txRecords are the wallets' rows, in the order that is asked for.
type txRecords struct {
	store.WalletRecords
	store.WalletQueries
}

func (r txRecords) Get(ids ...utxo.TxID) ([]utxo.Tx, error) {
	all := make([]utxo.Tx, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	found, err := r.Txs(ids...)
	for i, id := range ids {
		for _, tx := range found {
			if tx.ID == id {
				all[i] = *tx
				all[i].Arrival = 0
			}
		}
	}
	return all, err
}

// txs makes transactions of wallet 1.
type txs struct {
	*wallets
	mu     sync.Mutex
	made   map[utxo.TxID]*wire.MsgTx
	opened utxo.WalletID
}

func versionedTxs(t *testing.T, w *wallets) *txSubject {
	x := &txs{wallets: w, made: map[utxo.TxID]*wire.MsgTx{}}
	w.do(t, utxo.WalletOpened{Wallet: 1})
	return &txSubject{
		Store:   w.Store,
		service: txService{w.service},
		within: func(tx store.WalletUnit) service[utxo.TxID, utxo.TxID, utxo.Tx, utxo.Event] {
			return txService{w.service.Within(tx)}
		},
		records: func(tx store.WalletUnit) records[utxo.TxID, utxo.TxID, utxo.Tx, utxo.ChangeSet] {
			return txRecords{tx.Wallets(), tx.WalletQueries()}
		},
		apply: x.plan,
		parts: func(set *utxo.ChangeSet) (old, now *utxo.Tx, log *[]statemachine.Transition[utxo.TxID]) {
			now = new(utxo.Tx)
			for _, tx := range set.Inserts {
				*now = *tx
			}
			for _, u := range set.Updates {
				now.ID, now.Status, now.Version = u.ID, u.New.Status, u.New.Version
			}
			return new(utxo.Tx), now, &set.Log
		},
		check: func(utxo.Tx) error { return nil },
		states: func(tx *utxo.Tx) []stored[utxo.TxID] {
			if tx.Version == 0 {
				return nil
			}
			return []stored[utxo.TxID]{{tx.ID, tx.Version, tx.Status.String()}}
		},
		newID:  x.next,
		id:     func(tx *utxo.Tx) utxo.TxID { return tx.ID },
		speech: &speech[utxo.TxID, utxo.Tx, utxo.Event]{}, // wallets have a rule of their own
		stages: []txStage{
			{name: "a submitted transaction", events: x.submitted, rivals: labelled, back: relabelled},
			{name: "a sent transaction", events: func(id utxo.TxID) []utxo.Event {
				return append(x.submitted(id),
					utxo.Broadcasted{ID: id, By: txBy})
			},
				rivals: labelled, back: relabelled},
		},
		more: x.openWallet,
		limits: map[string]func(int) error{
			"Outputs": func(n int) error { return errOf(w.service.Outputs(ctx, 1, nil, n)) },
			"History": func(n int) error { return errOf(w.service.History(ctx, 1, nil, n)) },
		},
		selfCheck: func(ctx context.Context) error { return store.SelfCheckWallets(ctx, w.Store) },
		world: func(tx store.WalletUnit) (map[string]any, error) {
			all, err := tx.WalletQueries().Snapshot()
			return map[string]any{"Wallets": all.Wallets, "Leases": all.Leases, "Blocks": all.Blocks}, err
		},
	}
}

// openWallet opens one wallet more.
func (x *txs) openWallet(tx store.WalletUnit) error {
	x.opened++
	set := utxo.ChangeSet{Wallets: []utxo.WalletChange{{New: utxo.Wallet{ID: 100 + x.opened, Birth: 5, ScannedTo: 4}}}}
	return tx.Wallets().Save(set)
}

var txBy = utxo.By{At: utxotest.Start}

// next names a new transaction, which is made later.
func (x *txs) next() utxo.TxID {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := uint32(len(x.made) + 1)
	tx := utxotest.NewTx(n, []wire.OutPoint{utxotest.External(n)}, utxotest.Pay(1000, utxotest.Script(1, "a")))
	id := utxo.TxID{Wallet: 1, Hash: tx.TxHash()}
	x.made[id] = tx
	return id
}

func (x *txs) submitted(id utxo.TxID) []utxo.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return []utxo.Event{utxo.Submitted{Wallet: 1, Tx: x.made[id], By: txBy}}
}

func labelled(tx *utxo.Tx, i int) utxo.Event {
	return utxo.Labelled{ID: tx.ID, Label: fmt.Sprint("label ", i), By: txBy}
}

func relabelled(tx *utxo.Tx) []utxo.Event {
	return []utxo.Event{utxo.Labelled{ID: tx.ID, Label: "another", By: txBy}, utxo.Labelled{ID: tx.ID, Label: tx.Label, By: txBy}}
}

// plan plans on what is stored; one that is stored and comes as new, on an empty
// ledger.
func (x *txs) plan(tx utxo.Tx, ev utxo.Event) (set utxo.ChangeSet, err error) {
	err = x.View(ctx, func(t store.WalletUnit) error {
		if e, ok := ev.(utxo.Submitted); ok && tx.Version == 0 {
			id := utxo.TxID{Wallet: 1, Hash: e.Tx.TxHash()}
			if there, err := t.Wallets().Txs(id); err != nil || len(there) > 0 {
				l := utxo.NewLedger(utxotest.Policy())
				if _, err := l.Do(utxo.WalletOpened{Wallet: 1, By: txBy}); err != nil {
					return err
				}
				set, err = utxotest.Policy().PlanAt(l, ev, utxotest.Start)
				return err
			}
		}
		set, err = utxotest.Policy().PlanAt(t.Wallets(), ev, utxotest.Start)
		return err
	})
	return set, err
}
