package main

import (
	"context"
	"fmt"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// state is what -json prints. Amounts are in satoshi.
type state struct {
	Tip          tip     `json:"tip"`
	Transactions int     `json:"transactions"` // with an owned input or output
	Unspent      int     `json:"unspent"`      // live unspent outputs
	Balance      balance `json:"balance"`
}

// tip has height -1 and no hash while the chain is empty.
type tip struct {
	Height int32  `json:"height"`
	Hash   string `json:"hash"`
}

type balance struct {
	Confirmed   int64 `json:"confirmed"`
	Unconfirmed int64 `json:"unconfirmed"`
	Immature    int64 `json:"immature"`
	Pending     int64 `json:"pending"`
	Leased      int64 `json:"leased"`
}

// state reads everything in one view, so that all of it is of one moment.
func (w *wallet) state(ctx context.Context) (s state, err error) {
	err = w.store.View(ctx, func(tx store.Unit) error {
		s = state{Tip: tip{Height: -1}}
		service := w.service.Within(tx)
		block, ok, err := service.Tip(ctx)
		if err != nil {
			return err
		}
		if ok {
			s.Tip = tip{block.Height, block.Hash.String()}
		}
		sum, err := service.Balance(ctx, walletID, nil, 1)
		if err != nil {
			return err
		}
		s.Balance = balance{sum.Confirmed, sum.Unconfirmed, sum.Immature, sum.Pending, sum.Leased}
		coins, err := service.Unspent(ctx, walletID, nil)
		if err != nil {
			return err
		}
		s.Unspent = len(coins)
		s.Transactions, err = countOwned(tx.WalletQueries())
		return err
	})
	return s, err
}

// countOwned counts the transactions with an owned input or output. The history
// may have others, which matter for conflicts alone.
func countOwned(records utxo.Queries) (count int, err error) {
	var after *utxo.HistoryKey
	for {
		page, err := records.History(walletID, after, 1000)
		if err != nil || len(page) == 0 {
			return count, err
		}
		var inputs []wire.OutPoint // of those without an owned output
		for _, tx := range page {
			if len(tx.Outputs) > 0 {
				count++
			} else {
				inputs = append(inputs, tx.Inputs...)
			}
		}
		coins, err := records.Coins(walletID, inputs...)
		if err != nil {
			return 0, err
		}
		owned := map[wire.OutPoint]bool{}
		for _, c := range coins {
			owned[c.OutPoint] = true
		}
		for _, tx := range page {
			if len(tx.Outputs) == 0 && spendsAny(tx, owned) {
				count++
			}
		}
		key := page[len(page)-1].Key()
		after = &key
	}
}

func spendsAny(tx *utxo.Tx, owned map[wire.OutPoint]bool) bool {
	for _, in := range tx.Inputs {
		if owned[in] {
			return true
		}
	}
	return false
}

// listed bounds every list that is printed.
const listed = 10

func (w *wallet) print(ctx context.Context, s state) error {
	fmt.Fprintf(w.out, "tip %d %s\n", s.Tip.Height, s.Tip.Hash)
	w.printBalance(s)

	coins, err := w.service.Unspent(ctx, walletID, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "\n%d unspent, in order of arrival\n", len(coins))
	for _, c := range coins[:min(len(coins), listed)] {
		fmt.Fprintf(w.out, "  %18s  %-11s %s\n", btc(c.Amount), c.State, c.OutPoint)
	}
	w.printMore(len(coins))

	history, err := w.service.History(ctx, walletID, nil, listed)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "\n%d transactions, newest first\n", s.Transactions)
	for _, tx := range history {
		detail, err := w.service.Detail(ctx, tx.ID)
		if err != nil {
			return err
		}
		var change int64
		for _, out := range tx.Outputs {
			change += out.Amount
		}
		for _, coin := range detail.Spends {
			change -= coin.Amount
		}
		fmt.Fprintf(w.out, "  %18s  block %-5d %s\n", btc(change), tx.Height, tx.ID.Hash)
	}
	w.printMore(s.Transactions)
	return nil
}

func (w *wallet) printBalance(s state) {
	b := s.Balance
	fmt.Fprintf(w.out, "balance: %s confirmed, %s unconfirmed, %s immature, %s pending; %s of it leased\n",
		btc(b.Confirmed), btc(b.Unconfirmed), btc(b.Immature), btc(b.Pending), btc(b.Leased))
}

func (w *wallet) printMore(all int) {
	if all > listed {
		fmt.Fprintf(w.out, "  and %d more\n", all-listed)
	}
}

// btc formats an amount of satoshi.
func btc(amount int64) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	return fmt.Sprintf("%s%d.%08d", sign, amount/1e8, amount%1e8)
}
