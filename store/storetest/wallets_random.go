package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/utxo/utxotest"
)

// histories plays random histories in the store and in the memory ledger.
func histories(t *testing.T, open func(testing.TB) store.Store[store.WalletUnit]) {
	seeds, events := uint64(usual(4, 24)), 60
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			h := utxotest.NewHistory(seed, events)
			s := open(t)
			w := &wallets{s, must(store.NewWallets(s, h.Policy))(t)}
			ledger := utxo.NewLedger(h.Policy)
			err := h.Play(func(ev utxo.Event) error {
				planned, want := ledger.Do(ev)
				want = utxotest.Outcome(planned, want)
				sets, got := w.service.Do(ctx, ev)
				if got == nil {
					got = utxotest.Outcome(sets[0], nil)
				}
				if utxotest.RefusalName(want) != utxotest.RefusalName(got) {
					return fmt.Errorf("the store says %v, want %v", got, want)
				}
				snap, _ := ledger.Snapshot()
				sameSnapshot(t, snap, w.snapshot(t))
				return w.sameReads(ledger, utxo.Said(ev).At)
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, h)
			}
		})
	}
}

// sameReads compares the queries that a snapshot does not show.
func (w *wallets) sameReads(ledger *utxo.Ledger, now time.Time) error {
	return w.View(ctx, func(tx store.WalletUnit) error {
		got := store.WalletSource(tx)
		wallets, err := ledger.Wallets()
		if err != nil {
			return err
		}
		all, err := ledger.Snapshot()
		if err != nil {
			return err
		}
		for _, wallet := range wallets {
			if err := sameStats(ledger, got, &all, wallet, now); err != nil {
				return err
			}
			for _, read := range walletReads {
				want, err := read.ask(ledger, wallet.ID, now)
				if err != nil {
					return err
				}
				answer, err := read.ask(got, wallet.ID, now)
				if err != nil {
					return err
				}
				if want, answer := fmt.Sprint(want), fmt.Sprint(answer); want != answer {
					return fmt.Errorf("%s of wallet %d is\n%s\nwant\n%s", read.name, wallet.ID, answer, want)
				}
			}
		}
		return nil
	})
}

// sameStats compares what a store counts with what the domain counts of all that
// is stored, now and when the last lease ends.
func sameStats(ledger *utxo.Ledger, got utxo.Source, all *utxo.Snapshot, w utxo.Wallet, now time.Time) error {
	tip := int32(-1)
	for _, b := range all.Blocks {
		tip = b.Height
	}
	var txs []*utxo.Tx
	for _, t := range all.Txs {
		if t.ID.Wallet == w.ID {
			txs = append(txs, t)
		}
	}
	coins, err := ledger.Outputs(w.ID, nil, store.MaxPage)
	for at := now; err == nil && !at.IsZero(); {
		want := utxo.StatsOf(w, tip, txs, coins, at)
		var stats utxo.Stats
		if stats, err = utxo.ReadStats(got, w.ID, at); err == nil && fmt.Sprintf("%+v", stats) != fmt.Sprintf("%+v", want) {
			return fmt.Errorf("the statistics of wallet %d are\n%+v\nwant\n%+v", w.ID, stats, want)
		}
		at = want.LastLease.Until
	}
	return err
}

var walletReads = []struct {
	name string
	ask  func(utxo.Source, utxo.WalletID, time.Time) (any, error)
}{
	{"the balance", func(s utxo.Source, w utxo.WalletID, now time.Time) (any, error) {
		return s.Balance(utxotest.Policy(), w, nil, 1, now)
	}},
	{"the balance with 3 confirmations", func(s utxo.Source, w utxo.WalletID, now time.Time) (any, error) {
		return s.Balance(utxotest.Policy(), w, nil, 3, now)
	}},
	{"the balance of an owner with 2 confirmations", func(s utxo.Source, w utxo.WalletID, now time.Time) (any, error) {
		tag := "main"
		return s.Balance(utxotest.Policy(), w, &tag, 2, now)
	}},
	{"the balance of an owner who was announced late", func(s utxo.Source, w utxo.WalletID, now time.Time) (any, error) {
		tag := "late"
		return s.Balance(utxotest.Policy(), w, &tag, 2, now)
	}},
	{"the list of unspent outputs", func(s utxo.Source, w utxo.WalletID, _ time.Time) (any, error) { return s.Unspent(w, nil) }},
	{"the list of outputs to watch", func(s utxo.Source, w utxo.WalletID, _ time.Time) (any, error) { return s.Watch(w) }},
	{"the list of all outputs", func(s utxo.Source, w utxo.WalletID, _ time.Time) (any, error) { return s.Outputs(w, nil, 1000) }},
	{"the history", func(s utxo.Source, w utxo.WalletID, _ time.Time) (any, error) {
		txs, err := s.History(w, nil, 1000)
		var keys []utxo.HistoryKey
		for _, tx := range txs {
			keys = append(keys, tx.Key())
		}
		return keys, err
	}},
	{"the list of live unconfirmed transactions", func(s utxo.Source, w utxo.WalletID, _ time.Time) (any, error) {
		txs, err := s.LiveUnconfirmed(w)
		var ids []utxo.TxID
		for _, tx := range txs {
			ids = append(ids, tx.ID)
		}
		return ids, err
	}},
	{"the candidates for selection", func(s utxo.Source, w utxo.WalletID, now time.Time) (any, error) {
		return coinselect.Candidates(utxotest.Policy(), s, coinselect.Query{Wallet: w, At: now})
	}},
}

// scenarios plays the scenarios of package utxotest in the store: every third in short mode, since each has a store of
// its own. At the end, and under SETTLE_SOAK after each event, the store and a ledger in memory are asked the same
// questions.
func scenarios(t *testing.T, open func(testing.TB) store.Store[store.WalletUnit]) {
	for i, scenario := range utxotest.Scenarios() {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(scenario.Name, func(t *testing.T) {
			s := open(t)
			w := &wallets{s, must(store.NewWallets(s, utxotest.Policy()))(t)}
			ledger := utxo.NewLedger(utxotest.Policy())
			var last time.Time
			err := scenario.Run(func(ev utxo.Event) error {
				_, _ = ledger.Do(ev)
				last = utxo.Said(ev).At
				sets, err := w.service.Do(ctx, ev)
				if err == nil && usual(0, 1) > 0 {
					err = w.sameReads(ledger, last)
				}
				if err != nil {
					return err
				}
				return utxotest.Outcome(sets[0], nil)
			}, func() (utxo.Snapshot, error) { return w.snapshot(t), nil })
			if err == nil {
				err = w.sameReads(ledger, last)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
