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
	fork, err := s.fork(ctx, height)
	if err != nil || fork == height {
		return err // a node that is only behind, as after a crash, comes back
	}
	if ok && fork < ours.Height {
		blocks, err := s.wallets.Blocks(ctx, fork+1, ours.Height)
		if err != nil {
			return err
		}
		for i := len(blocks) - 1; i >= 0; i-- {
			if _, err := s.wallets.Do(ctx, utxo.Disconnected{Hash: blocks[i].Hash}); err != nil {
				return err
			}
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

// fork returns the last block that the node and the store have in common, -1
// for none, where height is the node's.
func (s *service) fork(ctx context.Context, height int32) (int32, error) {
	tip, ok, err := s.wallets.Tip(ctx)
	if err != nil || !ok {
		return 0, err
	}
	for at := min(tip.Height, height); at > 0; at-- {
		ours, err := s.wallets.Blocks(ctx, at, at)
		if err != nil {
			return 0, err
		}
		theirs, err := s.node.hashAt(ctx, at)
		if err != nil {
			return 0, err
		}
		if len(ours) == 1 && ours[0].Hash == theirs {
			return at, nil
		}
	}
	return 0, nil
}
