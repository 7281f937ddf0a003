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

// SelfCheckWallets is [SelfCheck] for a store that has wallets. It checks a wallet, a transaction that was submitted,
// its output, a lease, the trail, and a change of a version that is no longer stored. It does not check blocks, since a
// block of another process may come between, conflicts, or two transactions at once.
func SelfCheckWallets[T WalletUnit](ctx context.Context, s Store[T]) error {
	id := uuid.New()
	w := utxo.WalletID(binary.BigEndian.Uint64(id[:])>>1 | 1)
	var labelled utxo.ChangeSet
	s = present(s)
	return probe[T]{update: s.Update, view: s.View,
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
	}.run(ctx)
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
	signed := msg.Copy()
	signed.TxIn[0].Witness = wire.TxWitness{{0xfe, 0}}
	resigned := do(utxo.Submitted{Wallet: w, Tx: signed}) // the same hash, and other bytes
	leased := do(utxo.OutputsLeased{Wallet: w, OutPoints: []wire.OutPoint{coin}, Lock: lock, Duration: time.Microsecond})
	if err != nil {
		return utxo.ChangeSet{}, err
	}

	want := *submitted.Inserts[0]
	want.Version, want.Raw = resigned.Updates[0].New.Version, resigned.Updates[0].Raw
	d, err := utxo.ReadDetail(WalletSource(tx), want.ID)
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
	coins, err := tx.WalletQueries().Unspent(w, nil)
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	if len(coins) != 1 || coins[0].OutPoint != coin || p.State(coins[0], -1, now) != utxo.CoinLeased {
		return utxo.ChangeSet{}, broken(fmt.Sprintf("one leased coin is stored, %+v were read", coins))
	}
	trail, err := tx.WalletQueries().Transitions(want.ID)
	if err != nil {
		return utxo.ChangeSet{}, err
	}
	if err := utxo.Replay(want, trail); err != nil {
		return utxo.ChangeSet{}, err
	}
	return p.Plan(r, utxo.Labelled{ID: want.ID, Label: "self-check", By: utxo.By{At: now}})
}
