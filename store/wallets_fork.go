package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/utxo"
)

// Fork returns the height of the last block that the stored chain and a node's chain have in
// common: -1 if there is none, and the birth of the oldest wallet less one if nothing is stored
// yet. A host then disconnects the stored blocks above this height, from the tip down, and
// connects the node's blocks above it. If an event is refused with [utxo.ErrChainMismatch], the
// node has moved meanwhile, and the host calls Fork again.
//
// hashAt asks the node for its block at a height; ok is false above its tip. Fork checks its
// answer once more, together with the stored block above, to notice a reorganisation of the node
// during the walk. If the node's chain keeps changing, Fork returns [utxo.ErrStale].
func (s *Wallets) Fork(ctx context.Context,
	hashAt func(ctx context.Context, height int32) (hash chainhash.Hash, ok bool, err error)) (int32, error) {
	const attempts = 5
	for range attempts {
		fork, above, err := s.fork(ctx, hashAt)
		if err != nil || fork == nil {
			return s.beginning(ctx, above, err)
		}
		same := func(b *utxo.Block) (bool, error) {
			hash, ok, err := hashAt(ctx, b.Height)
			return ok && hash == b.Hash, err
		}
		still, err := same(fork)
		if err == nil && still && above != nil {
			var joined bool
			if joined, err = same(above); joined {
				still = false
			}
		}
		if err != nil || still {
			return fork.Height, err
		}
	}
	return 0, fmt.Errorf("%w: the node's chain moved %d times while it was compared", utxo.ErrStale, attempts)
}

// fork walks down to the first stored block that the node has too; above is the stored block
// right above it.
func (s *Wallets) fork(ctx context.Context, hashAt func(context.Context, int32) (chainhash.Hash, bool, error)) (fork,
	above *utxo.Block, err error) {
	const chunk = 100
	tip, ok, err := s.Tip(ctx)
	if err != nil || !ok {
		return nil, nil, err
	}
	for to := tip.Height; to >= 0; to -= chunk {
		blocks, err := s.Blocks(ctx, max(to-chunk+1, 0), to)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range slices.Backward(blocks) {
			hash, ok, err := hashAt(ctx, b.Height)
			if err != nil {
				return nil, nil, err
			}
			if ok && hash == b.Hash {
				return &b, above, nil
			}
			above = &b
		}
	}
	return nil, above, nil
}

// beginning is the result of Fork where no block is common: nothing is stored, or the node has
// none of the stored blocks.
func (s *Wallets) beginning(ctx context.Context, stored *utxo.Block, err error) (int32, error) {
	if err != nil || stored != nil {
		return -1, err
	}
	birth := int32(0)
	err = s.view(ctx, func(tx WalletUnit) error {
		all, err := tx.Wallets().Wallets()
		for i, w := range all {
			if i == 0 || w.Birth < birth {
				birth = w.Birth
			}
		}
		return err
	})
	return birth - 1, err
}
