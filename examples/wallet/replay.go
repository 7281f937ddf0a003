package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/examples/internal/mainnet"
	"github.com/settlehq/settle/examples/wallet/blockfile"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

var firstBlocks = mainnet.Blocks

// A commit is what costs, so a transaction takes many blocks, within bounds.
const (
	batchBlocks = 100
	batchBytes  = 8 << 20
)

// replay connects those blocks of the file that are not on the chain yet, and
// returns how many blocks the file has. After an error everything before the
// block at fault is committed.
func (w *wallet) replay(ctx context.Context) (count int32, err error) {
	name, file := "the built-in file", io.NopCloser(bytes.NewReader(firstBlocks))
	if w.blocks != "" {
		name = w.blocks
		if file, err = os.Open(name); err != nil {
			return 0, err
		}
	}
	defer file.Close()
	r := &pass{wallet: w, file: blockfile.NewReader(file), started: time.Now()}
	err = r.run(ctx)
	if r.connected > 0 {
		took := time.Since(r.started)
		fmt.Fprintf(w.log, "connected %d blocks with %d transactions in %v\n", r.connected, r.txs, took.Round(time.Millisecond))
	}
	var fault *blockfile.Error
	if errors.As(err, &fault) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return 0, err
	}
	return r.next, nil
}

// pass is one walk over the file.
type pass struct {
	*wallet
	file    *blockfile.Reader
	next    int32        // height of the next block of the file
	known   []utxo.Block // of the chain, from next on
	atTip   bool         // next is above the chain
	batch   []blockfile.Block
	size    int // of the batch, in bytes
	started time.Time
	told    time.Time

	connected, txs int
}

func (r *pass) run(ctx context.Context) error {
	for {
		b, err := r.file.Next()
		if err != nil {
			// What is whole counts, whatever comes after it.
			if err := r.commit(ctx); err != nil {
				return err
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if b.Index == 0 && b.Header.PrevBlock != (chainhash.Hash{}) {
			// An empty ledger takes any block as its base.
			return &blockfile.Error{Index: b.Index, Offset: b.Offset, Err: fmt.Errorf(
				"%w: it is not block 0, it follows %s", utxo.ErrChainMismatch, b.Header.PrevBlock)}
		}
		onChain, err := r.onChain(ctx, b.BlockHash())
		if err != nil {
			return err
		}
		r.next++
		if onChain {
			continue
		}
		r.batch, r.size = append(r.batch, b), r.size+b.Size
		if len(r.batch) == batchBlocks || r.size >= batchBytes {
			if err := r.commit(ctx); err != nil {
				return err
			}
		}
	}
}

// onChain reports whether the block at the next height is stored already. A
// different one there is for the ledger to refuse.
func (r *pass) onChain(ctx context.Context, hash chainhash.Hash) (bool, error) {
	if r.atTip {
		return false, nil
	}
	if len(r.known) == 0 {
		var err error
		if r.known, err = r.service.Blocks(ctx, r.next, r.next+999); err != nil {
			return false, err
		}
		if r.atTip = len(r.known) == 0; r.atTip {
			if r.next > 0 {
				fmt.Fprintf(r.log, "continuing at height %d\n", r.next)
			}
			return false, nil
		}
	}
	stored := r.known[0]
	r.known = r.known[1:]
	return stored.Hash == hash, nil
}

// commit sends the batch in one transaction.
func (r *pass) commit(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	events := make([]utxo.Event, len(r.batch))
	for i, b := range r.batch {
		r.txs += len(b.Transactions)
		events[i] = utxo.Connected{
			Block: utxo.Block{Height: int32(b.Index), Hash: b.BlockHash(), Prev: b.Header.PrevBlock, Time: b.Header.Timestamp},
			Txs:   b.Transactions,
		}
	}
	if _, err := r.service.Do(ctx, events...); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// Nothing of it landed, or all of it did and the reply was lost. One
		// by one, the good ones land, and the error is that of one block; a
		// block that is on the chain already changes nothing.
		for i, ev := range events {
			_, err := r.service.Do(ctx, ev)
			switch {
			case err == nil:
			case refused(err):
				return &blockfile.Error{Index: r.batch[i].Index, Offset: r.batch[i].Offset, Err: err}
			default: // the database is at fault, not the file
				return fmt.Errorf("store block %d: %w", r.batch[i].Index, err)
			}
		}
	}
	last := r.batch[len(r.batch)-1]
	r.connected += len(r.batch)
	r.batch, r.size = r.batch[:0], 0
	if now := time.Now(); now.Sub(r.told) >= time.Second {
		r.told = now
		fmt.Fprintf(r.log, "height %d, %s\n", last.Index, last.Header.Timestamp.UTC().Format(time.DateTime))
	}
	return nil
}

// refused reports whether the ledger has refused a block, for what is in it.
func refused(err error) bool {
	for _, why := range []error{
		utxo.ErrChainMismatch, utxo.ErrConfirmedElsewhere, utxo.ErrSpentByConfirmed, utxo.ErrSelfConflict,
		utxo.ErrDeadParent, statemachine.ErrInvalid,
	} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}
