package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// SelfCheck tells at start-up whether a store of all domains keeps the rules
// that money depends on: it writes, compares, and takes everything back. What
// it finds broken is [statemachine.ErrCorrupt]. Package storetest proves far
// more.
func SelfCheck(ctx context.Context, s Store[Unit]) error {
	return errors.Join(SelfCheckWallets(ctx, s), SelfCheckWithdrawals(ctx, s), SelfCheckTenants(ctx, s), SelfCheckSwaps(ctx, s), SelfCheckRefreshes(ctx, s))
}

// SelfCheckWallets is [SelfCheck] for a store that has wallets: a wallet, a
// transaction that was submitted, its output, a lease, the trail, and a change of
// a version that is stored no longer. It does not look at blocks, since that of
// another process may come between, at conflicts, or at two transactions at once.
func SelfCheckWallets[T WalletUnit](ctx context.Context, s Store[T]) error {
	id := uuid.New()
	w := utxo.WalletID(binary.BigEndian.Uint64(id[:])>>1 | 1)
	var labelled utxo.ChangeSet
	return selfCheck(ctx, s, probe[T]{
		write: func(tx T) (err error) {
			labelled, err = writeWallet(tx, w)
			return err
		},
		left: func(tx T) (bool, error) {
			_, err := tx.Wallets().Wallets(w)
			if errors.Is(err, statemachine.ErrNotFound) {
				return false, nil
			}
			return true, err
		},
		stale: func(tx T) error { return tx.Wallets().Save(labelled) },
		refused: []refusal[T]{outdated(func(tx T) error {
			label, err := writeWallet(tx, w)
			for range 2 {
				if err == nil {
					err = tx.Wallets().Save(label)
				}
				if err == nil {
					_, err = tx.Wallets().Wallets(w) // write now
				}
			}
			return err
		})},
	})
}

// probe is what a self-check does with one domain.
type probe[T any] struct {
	write   func(T) error         // stores records, reads them and compares
	left    func(T) (bool, error) // whether any of them is stored
	stale   func(T) error         // saves a change of a version that is not stored
	refused []refusal[T]
}

// refusal is something that a store must refuse, with one of some errors.
type refusal[T any] struct {
	what string
	do   func(T) error
	is   []error
}

// outdated is the refusal of a change of a version that is stored no longer.
func outdated[T any](save func(T) error) refusal[T] {
	return refusal[T]{"a change of a version that is stored no longer", save, []error{statemachine.ErrConflict}}
}

// after does two things, the second if the first has succeeded.
func after[T any](first, second func(T) error) func(T) error {
	return func(tx T) error {
		if err := first(tx); err != nil {
			return err
		}
		return second(tx)
	}
}

// errTakenBack ends the transaction of a self-check.
var errTakenBack = errors.New("taken back")

func selfCheck[T any](ctx context.Context, s Store[T], p probe[T]) error {
	s = present(s)
	takenBack := func(do func(T) error) error {
		return s.Update(ctx, func(tx T) error {
			if err := do(tx); err != nil {
				return err
			}
			if _, err := p.left(tx); err != nil { // write now
				return err
			}
			return errTakenBack
		})
	}
	if broken := unless(takenBack(p.write), "an update that failed reported", errTakenBack); broken != nil {
		return broken
	}
	err := s.View(ctx, func(tx T) error {
		left, err := p.left(tx)
		if left && err == nil {
			err = broken("an update that failed left a trace")
		}
		return err
	})
	if err != nil {
		return err
	}
	if broken := unless(s.Update(ctx, p.stale), "a change of a version that is not stored gave", statemachine.ErrConflict); broken != nil {
		return broken
	}
	if broken := unless(s.View(ctx, p.stale), "a write in a View gave", statemachine.ErrIllegal); broken != nil {
		return broken
	}
	for _, r := range p.refused {
		err := takenBack(r.do)
		if errors.Is(err, errTakenBack) {
			err = nil
		}
		if broken := unless(err, r.what+" gave", r.is...); broken != nil {
			return broken
		}
	}
	return nil
}

// writeWallet stores a wallet with a transaction and a lease, of values that
// stores like to change, and returns a change of it that is not saved.
func writeWallet(tx WalletUnit, w utxo.WalletID) (utxo.ChangeSet, error) {
	r := tx.Wallets()
	if err := r.Lock(0); err != nil {
		return utxo.ChangeSet{}, err
	}
	now, err := tx.Now()
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	p := utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) { return utxo.Owner{Wallet: w, Tag: "0xé世"}, len(script) > 0 }}
	do := func(ev utxo.Event) utxo.ChangeSet {
		var set utxo.ChangeSet
		if err == nil {
			set, err = p.PlanAt(r, ev, now)
		}
		if err == nil {
			err = r.Save(set)
		}
		return set
	}
	const maxMoney = 21e14 // satoshi
	msg := wire.NewMsgTx(2)
	msg.AddTxIn(wire.NewTxIn(&wire.OutPoint{Hash: chainhash.Hash{31: 0xff}, Index: math.MaxUint32 - 1}, nil, wire.TxWitness{{0, 0xff}}))
	msg.AddTxOut(wire.NewTxOut(maxMoney, []byte{0, 0xff}))
	coin := wire.OutPoint{Hash: msg.TxHash()}
	lock := utxo.LockID{31: 0xff}
	do(utxo.WalletOpened{Wallet: w, Birth: math.MaxInt32})
	submitted := do(utxo.Submitted{Wallet: w, Tx: msg})
	leased := do(utxo.OutputsLeased{Wallet: w, OutPoints: []wire.OutPoint{coin}, Lock: lock, Duration: time.Microsecond})
	if err != nil {
		return utxo.ChangeSet{}, err
	}

	want := *submitted.Inserts[0]
	d, err := utxo.ReadDetail(r, want.ID)
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	want.Arrival = d.Tx.Arrival // the store's own number
	if !reflect.DeepEqual(*d.Tx, want) {
		return utxo.ChangeSet{}, broken(fmt.Sprintf("stored %+v, read %+v", want, *d.Tx))
	}
	leases, err := r.Leases(w, coin)
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	if len(leases) != 1 || leases[0] != leased.Leases[0].New {
		return utxo.ChangeSet{}, broken(fmt.Sprintf("stored %+v, read %+v", leased.Leases[0].New, leases))
	}
	coins, err := r.Unspent(w, nil)
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	if len(coins) != 1 || coins[0].OutPoint != coin || p.State(coins[0], -1, now) != utxo.CoinLeased {
		return utxo.ChangeSet{}, broken(fmt.Sprintf("one leased coin is stored, %+v were read", coins))
	}
	trail, err := r.Transitions(want.ID)
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	if err := utxo.Replay(want, trail); err != nil {
		return utxo.ChangeSet{}, err
	}
	return p.Plan(r, utxo.Labelled{ID: want.ID, Label: "self-check", By: utxo.By{At: now}})
}

// unless returns nil for an error that was expected, one of some, and nothing else.
func unless(err error, what string, expected ...error) error {
	if err == nil {
		return broken(what + " no error")
	}
	for _, e := range expected {
		if errors.Is(err, e) && !errors.Is(err, statemachine.ErrCorrupt) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

func broken(what string) error {
	return fmt.Errorf("%w: the store breaks a rule: %s", statemachine.ErrCorrupt, what)
}
