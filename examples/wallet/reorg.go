package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settlehq/settle/utxo"
)

// reorg disconnects the last blocks, shows what that changes, and connects them
// again. The file has count blocks; before is the state at the tip.
func (w *wallet) reorg(ctx context.Context, o options, before state, count int32) error {
	length := before.Tip.Height + 1
	n := int32(min(int64(o.reorg), int64(length)))
	switch {
	case o.reorg == 0, length == 0 && !o.reorgAsked:
		return nil
	case length > count && !o.reorgAsked:
		fmt.Fprintf(w.out, "\nno reorg: the chain is longer than the file, which could not bring it back\n")
		return nil
	case length > count:
		return fmt.Errorf("-reorg %d: the chain has %d blocks, and the file, with %d, could not bring the last ones back", o.reorg, length, count)
	case o.reorgAsked && o.reorg > int(length):
		return fmt.Errorf("-reorg %d: the chain has only %d blocks", o.reorg, length)
	}
	fmt.Fprintf(w.out, "\nreorg: the last %d blocks leave the chain\n", n)
	changed, err := w.disconnect(ctx, before.Tip.Height, n)
	if err != nil {
		return err
	}
	between, err := w.state(ctx)
	if err != nil {
		return err
	}
	w.printChanges(changed)
	w.printBalance(between)

	fmt.Fprintf(w.out, "\nreorg: they come back\n")
	if _, err := w.replay(ctx); err != nil {
		return err
	}
	after, err := w.state(ctx)
	if err != nil {
		return err
	}
	w.printBalance(after)
	if after != before {
		return errors.New("the wallet is not what it was before the reorg")
	}
	fmt.Fprintln(w.out, "the wallet is what it was before")
	return nil
}

// disconnect takes n blocks off the chain, from the tip down, and returns what
// became of the transactions that changed. A host whose node has switched to
// another branch does this down to the fork, and then connects the branch.
func (w *wallet) disconnect(ctx context.Context, tip, n int32) ([]utxo.TxUpdate, error) {
	last := map[utxo.TxID]int{}
	var changed []utxo.TxUpdate
	for end := tip - n; tip > end; tip -= batchBlocks {
		blocks, err := w.service.Blocks(ctx, max(tip-batchBlocks, end)+1, tip)
		if err != nil {
			return nil, err
		}
		var events []utxo.Event
		for _, b := range slices.Backward(blocks) {
			events = append(events, utxo.Disconnected{Hash: b.Hash})
		}
		sets, err := w.service.Do(ctx, events...)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			for _, u := range set.Updates {
				if i, again := last[u.ID]; again {
					changed[i].New = u.New
					continue
				}
				last[u.ID] = len(changed)
				changed = append(changed, u)
			}
		}
	}
	return changed, nil
}

func (w *wallet) printChanges(changed []utxo.TxUpdate) {
	count := map[utxo.Status]int{}
	for _, u := range changed {
		count[u.New.Status]++
	}
	fmt.Fprintf(w.out, "%d transactions are unconfirmed again, %d coinbases are orphaned, %d that spent from those have failed\n",
		count[utxo.Published], count[utxo.Orphaned], count[utxo.Failed])
	for _, u := range changed[:min(len(changed), listed)] {
		fmt.Fprintf(w.out, "  %s, was in block %d, is %s\n", u.ID.Hash, u.Old.Height, u.New.Status)
	}
	w.printMore(len(changed))
}
