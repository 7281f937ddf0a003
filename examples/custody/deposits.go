package main

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// wallet has the addresses at which customers pay in.
const wallet utxo.WalletID = 1

const btc = "BTC"

var customers = []string{"ann", "bea", "cid", "dan"}

// ownerOf says whose an output is. A service gives out addresses, and looks a script up among them.
// Here all of Bitcoin's first blocks pay our four customers.
func ownerOf(script []byte) (utxo.Owner, bool) {
	h := fnv.New32a()
	_, _ = h.Write(script) // cannot fail
	return utxo.Owner{Wallet: wallet, Tag: customers[h.Sum32()%uint32(len(customers))]}, true
}

// depositPolicy says what is credited, and how deep.
var depositPolicy = utxo.DepositPolicy{
	Customer: func(utxo.Owner) bool { return true }, // no output is the house's own
	Depth:    func(utxo.Owner, int64) int32 { return 6 },
	Minimum:  1000,
}

// credit is called by [follow.Deposits] with what is to be posted of deposits, and posts it in the
// commit that moves the deposits. Reversed is what was credited and will not come back.
func (s *service) credit(ctx context.Context, tx sqlstore.Tx, _ store.Unit, facts []follow.Fact) error {
	for i := range facts {
		f := &facts[i]
		p := posting{f.OutPoint.String(), f.Kind.String(), f.Round, btc, outsideAccount, available(f.Tag), f.Amount}
		if f.Kind == utxo.FactReversed {
			p.Debit, p.Credit = owed(f.Tag), outsideAccount
		}
		if err := post(ctx, tx, p); err != nil {
			return err
		}
	}
	return nil
}

// followChain brings the wallet to the chain of the node. Whatever ends it in the middle, the next
// call goes on from what is stored.
func (s *service) followChain(ctx context.Context) (time.Duration, error) {
	const again = 50 * time.Millisecond
	chain := s.out.bitcoin.chain()
	fork, err := s.Wallets.Fork(ctx, func(_ context.Context, height int32) (hash chainhash.Hash, ok bool, err error) {
		if int(height) >= len(chain) {
			return hash, false, nil
		}
		return chain[height].Block.Hash, true, nil
	})
	if err != nil || int(fork) == len(chain)-1 { // a node that is only behind comes back
		return again, err
	}
	tip, ok, err := s.Wallets.Tip(ctx)
	for ; err == nil && ok && tip.Height > fork; tip, ok, err = s.Wallets.Tip(ctx) {
		if _, err := s.Wallets.Do(ctx, utxo.Disconnected{Hash: tip.Hash}); err != nil {
			return again, err
		}
	}
	for _, block := range chain[fork+1:] {
		if err == nil {
			_, err = s.Wallets.Do(ctx, block)
		}
	}
	return again, err
}
