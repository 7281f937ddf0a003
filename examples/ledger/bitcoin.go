package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// bitcoin stands for a node of Bitcoin and for what watches it: it tells the wallets of
// each block. A host copies this from examples/btcd.
type bitcoin struct {
	wallets *store.Wallets
	mu      sync.Mutex
}

// mine connects a block on top of the last one.
func (b *bitcoin) mine(ctx context.Context, txs ...*wire.MsgTx) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	tip, _, err := b.wallets.Tip(ctx)
	if err != nil {
		return err
	}
	_, err = b.wallets.Do(ctx, blockOn(tip, txs))
	return err
}

// blockOn is a block behind another one, with a coinbase that is not shown.
func blockOn(tip utxo.Block, txs []*wire.MsgTx) utxo.Connected {
	salt := uuid.New()
	b := utxo.Connected{Txs: txs, Block: utxo.Block{Height: tip.Height + 1, Prev: tip.Hash, Hash: chainhash.HashH(salt[:]),
		Time: time.Now().UTC().Truncate(time.Second)}}
	for i := range txs {
		b.Positions = append(b.Positions, int32(i)+1)
	}
	return b
}

// payIn is a transaction that pays a customer from an output that the key names.
func payIn(key string, customer uuid.UUID, amount int64) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{Hash: chainhash.HashH([]byte(key))}, nil, nil))
	tx.AddTxOut(wire.NewTxOut(amount, script(customer)))
	return tx
}

// deposit has a customer pay in: the same key is the same transaction.
func (b *bitcoin) deposit(ctx context.Context, key string, customer uuid.UUID, amount withdrawal.Raw) (txid string, err error) {
	if n := amount.Int(); !n.IsInt64() || n.Sign() <= 0 || n.Int64() > 21e14 {
		return "", fmt.Errorf("%w: a deposit is 1 to 21e14 satoshi", statemachine.ErrInvalid)
	}
	tx := payIn(key, customer, amount.Int().Int64())
	_, err = b.wallets.Trail(ctx, utxo.TxID{Wallet: wallet, Hash: tx.TxHash()})
	if errors.Is(err, statemachine.ErrNotFound) {
		err = b.mine(ctx, tx)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNode, err)
	}
	return tx.TxHash().String(), nil
}
