package main

import (
	"context"
	"errors"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// follow brings the store to the node's chain and mempool. Whatever happens
// meanwhile, the next call goes on from what is stored.
func (s *service) follow(ctx context.Context) error {
	_, hash, err := s.node.tip(ctx)
	if err != nil {
		return err
	}
	ours, ok, err := s.wallets.Tip(ctx)
	if err != nil {
		return err
	}
	if !ok || ours.Hash != hash {
		if err := s.followChain(ctx, ours, ok); err != nil {
			return err
		}
	}
	return s.followMempool(ctx)
}

func (s *service) followChain(ctx context.Context, ours utxo.Block, ok bool) error {
	height, _, err := s.node.tip(ctx)
	if err != nil {
		return err
	}
	fork, err := s.wallets.Fork(ctx, func(ctx context.Context, at int32) (hash chainhash.Hash, ok bool, err error) {
		if at > height {
			return hash, false, nil
		}
		hash, err = s.node.hashAt(ctx, at)
		return hash, true, err
	})
	fork = max(fork, 0) // block 0 pays nobody
	if err != nil || fork == height {
		return err // a node that is only behind, as after a crash, comes back
	}
	for ok && fork < ours.Height {
		if _, err = s.wallets.Do(ctx, utxo.Disconnected{Hash: ours.Hash}); err == nil {
			ours, ok, err = s.wallets.Tip(ctx)
		}
		if err != nil {
			return err
		}
	}
	for fork < height {
		var batch []utxo.Event
		for ; fork < height && len(batch) < 50; fork++ {
			hash, err := s.node.hashAt(ctx, fork+1)
			if err != nil {
				return err
			}
			block, err := s.node.block(ctx, hash)
			if err != nil {
				return err
			}
			batch = append(batch, utxo.Connected{Txs: block.Transactions, Block: utxo.Block{
				Height: fork + 1, Hash: hash, Prev: block.Header.PrevBlock, Time: block.Header.Timestamp,
			}})
		}
		// ErrChainMismatch: the chain moved while it was read.
		if _, err := s.wallets.Do(ctx, batch...); err != nil {
			return err
		}
	}
	return nil
}

// followMempool reads the mempool at one tip, which must be ours.
func (s *service) followMempool(ctx context.Context) error {
	_, before, err := s.node.tip(ctx)
	if err != nil {
		return err
	}
	ours, _, err := s.wallets.Tip(ctx)
	if err != nil || ours.Hash != before {
		return err
	}
	hashes, err := s.node.mempool(ctx)
	if err != nil {
		return err
	}
	var txs []*wire.MsgTx
	pool := map[chainhash.Hash]*wire.MsgTx{}
	for _, hash := range hashes {
		tx := s.pool[hash]
		if tx == nil {
			if tx, err = s.node.transaction(ctx, hash); err != nil {
				return err
			}
		}
		pool[hash] = tx
		txs = append(txs, tx)
	}
	if s.pool = pool; len(txs) == 0 {
		return nil
	}
	// What the ledger refuses of the list, such as the loser of a race that the
	// node has not dropped yet, is skipped. ErrStale: a block came meanwhile.
	if _, err = s.wallets.Do(ctx, utxo.Observed{Txs: txs, Tip: before}); errors.Is(err, utxo.ErrStale) {
		return nil
	}
	return err
}
