package storetest

import (
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// walletLimits: every method that takes a limit, of the records and of the service.
func (w *wallets) walletLimits(t *testing.T) {
	must(w.service.Do(ctx, utxo.WalletOpened{Wallet: 1}))(t)
	refusedWith(t, errOf(w.service.Balance(ctx, 1, nil, -1)), statemachine.ErrInvalid, "a balance with -1 confirmations")
	records := func(fn func(store.WalletRecords, int) error) func(int) error {
		return func(n int) error { return w.View(ctx, func(tx store.WalletUnit) error { return fn(tx.Wallets(), n) }) }
	}
	limited(t, map[string]func(int) error{
		"records: Outputs": records(func(r store.WalletRecords, n int) error { _, err := r.Outputs(1, nil, n); return err }),
		"records: History": records(func(r store.WalletRecords, n int) error { _, err := r.History(1, nil, n); return err }),
		"records: Follow":  records(func(r store.WalletRecords, n int) error { _, _, err := r.Follow("", n); return err }),
		"Outputs":          func(n int) error { _, err := w.service.Outputs(ctx, 1, nil, n); return err },
		"History":          func(n int) error { _, err := w.service.History(ctx, 1, nil, n); return err },
		"Follow":           func(n int) error { _, _, err := w.service.Follow(ctx, "", n); return err },
	}, nil)
}
