package utxo

import (
	"fmt"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// lease locks outputs for one lock id, all or none.
func (pl *plan) lease(ev OutputsLeased) error {
	leases, err := pl.leasing(ev)
	if err != nil {
		return err
	}
	ids := make([]TxID, len(ev.OutPoints))
	for i, op := range ev.OutPoints {
		ids[i] = TxID{ev.Wallet, op.Hash}
	}
	if err := pl.graph.load(pl.r.Txs(ids...)); err != nil { // of this wallet alone: a lease walks nowhere
		return err
	}
	for i, op := range ev.OutPoints {
		n := pl.graph.get(ids[i])
		var out *Output
		if n != nil {
			out = n.tx.Output(op.Index)
		}
		held := leases[op]
		switch {
		case out == nil:
			return fmt.Errorf("output %s of wallet %d: %w", op, ev.Wallet, statemachine.ErrNotFound)
		case held.Active(pl.now) && held.Lock != ev.Lock:
			return heldBy(held)
		case held.Active(pl.now):
		case !n.tx.Live() || out.Spent():
			return pl.refuse(n.at, statemachine.ErrIllegal, op.String()+" is not a live unspent output")
		}
		pl.setLease(held, op, ev)
	}
	return nil
}

// renew moves the end of active leases, all or none.
func (pl *plan) renew(ev LeasesRenewed) error {
	leases, err := pl.leasing(OutputsLeased(ev))
	if err != nil {
		return err
	}
	for _, op := range ev.OutPoints {
		held := leases[op]
		switch {
		case held.Active(pl.now) && held.Lock != ev.Lock:
			return heldBy(held)
		case !held.Active(pl.now):
			return fmt.Errorf("lease on %s of wallet %d: %w", op, ev.Wallet, statemachine.ErrNotFound)
		}
		pl.setLease(held, op, OutputsLeased(ev))
	}
	return nil
}

// release ends leases, all or none.
func (pl *plan) release(ev LeasesReleased) error {
	leases, err := pl.leasing(OutputsLeased{Wallet: ev.Wallet, OutPoints: ev.OutPoints, Lock: ev.Lock, Duration: time.Microsecond})
	if err != nil {
		return err
	}
	for _, op := range ev.OutPoints {
		held, ok := leases[op]
		switch {
		case !ok:
		case held.Lock != ev.Lock:
			return heldBy(held)
		default:
			pl.set.Leases = append(pl.set.Leases, LeaseChange{Old: held, New: Lease{Wallet: ev.Wallet, OutPoint: op}})
		}
	}
	return nil
}

// leasing checks what the three lease events share and reads the leases.
func (pl *plan) leasing(ev OutputsLeased) (map[wire.OutPoint]Lease, error) {
	if ev.Duration < time.Microsecond || ev.Lock == (LockID{}) || len(ev.OutPoints) == 0 {
		return nil, invalid("a lease needs outputs, a lock id and a duration of at least a microsecond")
	}
	if _, err := statemachine.Time(pl.now.Add(ev.Duration)); err != nil {
		return nil, err
	}
	if op, twice := duplicate(ev.OutPoints); twice {
		return nil, invalid("%s is named twice", op)
	}
	if _, err := pl.wallet(ev.Wallet); err != nil {
		return nil, err
	}
	stored, err := pl.r.Leases(ev.Wallet, ev.OutPoints...)
	if err != nil {
		return nil, err
	}
	leases := make(map[wire.OutPoint]Lease, len(stored))
	for _, l := range stored {
		leases[l.OutPoint] = l
	}
	return leases, nil
}

func (pl *plan) setLease(held Lease, op wire.OutPoint, ev OutputsLeased) {
	until, since := pl.now.Add(ev.Duration).Truncate(time.Microsecond), pl.now
	if held.Active(pl.now) && held.Since.Before(since) { // by the same lock; later is what a clock said that was ahead
		since = held.Since
	}
	if lease := (Lease{ev.Wallet, op, ev.Lock, until, since}); lease != held {
		pl.set.Leases = append(pl.set.Leases, LeaseChange{Old: held, New: lease})
	}
}

func heldBy(l Lease) error {
	return fmt.Errorf("lease on %s of wallet %d: %w until %s", l.OutPoint, l.Wallet, statemachine.ErrHeld, l.Until.Format(time.RFC3339Nano))
}
