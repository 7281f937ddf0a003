package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settlehq/settle/refresh"
)

// wallets is the node: what happens to transfers in the world shows in a wallet
// only after it was refreshed.
type wallets struct {
	mu       sync.Mutex
	all      map[string]*wallet
	overlaps int // refreshes or cancellations of one wallet at a time, of living callers
	calls    int
}

type wallet struct {
	transfers []*transfer
	busy      []context.Context // of calls that change it
}

// transfer is one payment: as the wallet shows it, and what becomes of it.
type transfer struct {
	apiTransfer
	flow      string
	asset     string    // which it turns out to be
	assetAt   time.Time // from when it has one
	payAt     time.Time // the counterparty comes; zero: never
	confirmAt time.Time // it is confirmed, or fails
	fails     bool
	cancelled bool // by us
}

func newWallets() *wallets { return &wallets{all: map[string]*wallet{}} }

func (w *wallets) of(xpub string) *wallet {
	if w.all[xpub] == nil {
		w.all[xpub] = &wallet{}
	}
	return w.all[xpub]
}

// add makes a transfer; its index is the place in its wallet, from 0.
func (w *wallets) add(xpub string, t transfer) apiTransfer {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.of(xpub)
	index := int32(len(x.transfers))
	t.BatchTransferIdx = &index
	if t.RecipientID == "" && t.flow != "issuance" {
		t.RecipientID = fmt.Sprintf("%s:recipient:%d", xpub, index)
	}
	x.transfers = append(x.transfers, &t)
	return t.apiTransfer
}

// change runs a call that changes a wallet, and notes others that do so now.
func (w *wallets) change(ctx context.Context, xpub string, took time.Duration, do func(*wallet, time.Time) error) error {
	w.mu.Lock()
	x := w.of(xpub)
	w.calls++
	x.busy = slices.DeleteFunc(x.busy, func(other context.Context) bool { return other.Err() != nil })
	if len(x.busy) > 0 {
		w.overlaps++
	}
	x.busy = append(x.busy, ctx)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		x.busy = slices.DeleteFunc(x.busy, func(other context.Context) bool { return other == ctx })
		w.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(took):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return do(x, time.Now())
}

// refresh shows what happened in the world.
func (x *wallet) refresh(now time.Time) {
	past := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	for _, t := range x.transfers {
		if past(t.assetAt) {
			t.AssetID = t.asset
		}
		if t.Status == refresh.WaitingCounterparty && past(t.payAt) {
			t.Status = refresh.WaitingConfirmations
		}
		if t.Status == refresh.WaitingConfirmations && past(t.confirmAt) {
			t.Status = refresh.TransferSettled
			if t.fails {
				t.Status = refresh.TransferFailed
			}
		}
	}
}

// fail cancels the transfers with an index, unless one of them has moved.
func (x *wallet) fail(index int32) error {
	for _, t := range x.transfers {
		if *t.BatchTransferIdx == index && t.Status != refresh.WaitingCounterparty {
			return fmt.Errorf("transfer %d has status %d", index, t.Status)
		}
	}
	for _, t := range x.transfers {
		if *t.BatchTransferIdx == index {
			t.Status, t.cancelled = refresh.TransferFailed, true
		}
	}
	return nil
}

func (w *wallets) assets(xpub string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := []string{}
	for _, t := range w.of(xpub).transfers {
		if t.AssetID != "" && !slices.Contains(found, t.AssetID) {
			found = append(found, t.AssetID)
		}
	}
	return found
}

func (w *wallets) list(xpub, asset string) []apiTransfer {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := []apiTransfer{}
	for _, t := range w.of(xpub).transfers {
		if t.AssetID == asset {
			found = append(found, t.apiTransfer)
		}
	}
	return found
}
