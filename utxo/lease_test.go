package utxo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A lease begins and ends by the store's clock. A host whose clock is an hour behind gets
// the whole lease, and is not told that it still holds a lease that has ended.
func TestALeaseGoesByTheStoresClock(t *testing.T) {
	b, now := newDesk(t), utxotest.Start.Add(time.Hour)
	coin := b.tx(nil, mine('a'))
	b.connect(coin)
	behind := utxo.By{At: utxotest.Start}
	lease := utxo.OutputsLeased{By: behind, Wallet: 1, OutPoints: []wire.OutPoint{out(coin, 0)}, Lock: utxo.LockID{1}, Duration: time.Minute}
	until := func() time.Time {
		t.Helper()
		held, err := b.Leases(1, out(coin, 0))
		if err != nil || len(held) != 1 {
			t.Fatal(held, err)
		}
		return held[0].Until
	}
	b.at(now, lease)
	if got := until(); !got.Equal(now.Add(time.Minute)) {
		t.Errorf("a lease of a minute that begins at %v ends at %v", now, got)
	}
	other := lease
	other.Lock = utxo.LockID{2}
	over := now.Add(time.Minute)
	other.At = over // ahead of the store's clock
	if _, err := b.DoAt(other, over.Add(-time.Microsecond)); !errors.Is(err, statemachine.ErrHeld) {
		t.Errorf("before its end: %v", err)
	}
	if _, err := b.DoAt(utxo.LeasesRenewed(lease), over); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("renewed at its end, dated before it: %v", err)
	}
	other.At = behind.At
	b.at(over, other)
	pay := utxo.Submitted{By: behind, Wallet: 1, Tx: b.tx(ins(out(coin, 0)), mine('a')), Lock: lease.Lock}
	if _, err := b.DoAt(pay, over); !errors.Is(err, statemachine.ErrHeld) {
		t.Errorf("spent under another's lease: %v", err)
	}
	b.at(until(), pay)
}
