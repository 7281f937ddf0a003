package utxo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// failing is a store of which one read fails: the one before which left is 0.
type failing struct {
	*utxo.Ledger
	left *int
}

func failed[T any](f failing, answer T, err error) (T, error) {
	if *f.left--; *f.left == -1 {
		var none T
		return none, errBroken
	}
	return answer, err
}

func (f failing) Tip() (b utxo.Block, ok bool, err error) {
	b, ok, _ = f.Ledger.Tip()
	_, err = failed(f, 0, nil)
	return b, ok && err == nil, err
}
func (f failing) Blocks(from, to int32) ([]utxo.Block, error) {
	all, err := f.Ledger.Blocks(from, to)
	return failed(f, all, err)
}
func (f failing) BlocksNamed(hashes ...chainhash.Hash) ([]utxo.Block, error) {
	all, err := f.Ledger.BlocksNamed(hashes...)
	return failed(f, all, err)
}
func (f failing) Wallets(ids ...utxo.WalletID) ([]utxo.Wallet, error) {
	all, err := f.Ledger.Wallets(ids...)
	return failed(f, all, err)
}
func (f failing) Owners(w utxo.WalletID, tags ...string) ([]utxo.Owned, error) {
	all, err := f.Ledger.Owners(w, tags...)
	return failed(f, all, err)
}
func (f failing) Txs(ids ...utxo.TxID) ([]*utxo.Tx, error) {
	all, err := f.Ledger.Txs(ids...)
	return failed(f, all, err)
}
func (f failing) Spenders(ops ...wire.OutPoint) ([]*utxo.Tx, error) {
	all, err := f.Ledger.Spenders(ops...)
	return failed(f, all, err)
}
func (f failing) Children(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	all, err := f.Ledger.Children(hashes...)
	return failed(f, all, err)
}
func (f failing) Descendants(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	all, err := f.Ledger.Descendants(hashes...)
	return failed(f, all, err)
}
func (f failing) Ancestors(reach utxo.Reach, hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	all, err := f.Ledger.Ancestors(reach, hashes...)
	return failed(f, all, err)
}
func (f failing) Seq() (int64, error) {
	seq, err := f.Ledger.Seq()
	return failed(f, seq, err)
}
func (f failing) ConfirmedAt(from, to int32) ([]*utxo.Tx, error) {
	all, err := f.Ledger.ConfirmedAt(from, to)
	return failed(f, all, err)
}
func (f failing) Replacements(ids ...utxo.TxID) ([]utxo.Replacement, error) {
	all, err := f.Ledger.Replacements(ids...)
	return failed(f, all, err)
}
func (f failing) Leases(w utxo.WalletID, ops ...wire.OutPoint) ([]utxo.Lease, error) {
	all, err := f.Ledger.Leases(w, ops...)
	return failed(f, all, err)
}
func (f failing) Raw(ids ...utxo.TxID) ([][]byte, error) {
	all, err := f.Ledger.Raw(ids...)
	return failed(f, all, err)
}

func (f failing) LiveUnconfirmed(w utxo.WalletID) ([]*utxo.Tx, error) {
	all, err := f.Ledger.LiveUnconfirmed(w)
	return failed(f, all, err)
}
func (f failing) PendingElsewhere(w utxo.WalletID) ([]*utxo.Tx, error) {
	all, err := f.Ledger.PendingElsewhere(w)
	return failed(f, all, err)
}

// Nor is one of what a host asks.
func TestNoFailedReadOfAQuestionIsLost(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	tx := b.submit(b.tx(ins(out(deposit, 0)), mine('a')))
	for name, ask := range map[string]func(failing) error{
		"Next": func(f failing) error {
			_, _, err := utxotest.Policy().Next(f, 1, utxotest.Start, utxotest.Start)
			return err
		},
		"ProvablyDead": func(f failing) error {
			_, err := utxo.ProvablyDead(f, utxo.TxID{Wallet: 1, Hash: tx.TxHash()}, 1)
			return err
		},
	} {
		at := 0
		for ; ; at++ {
			left := at
			if err := ask(failing{b.Ledger, &left}); left >= 0 {
				break // no such read
			} else if !errors.Is(err, errBroken) {
				t.Errorf("%s: read %d fails, it says %v", name, at, err)
			}
		}
		if at < 3 {
			t.Errorf("%s reads %d times", name, at)
		}
	}
}

// Whichever read of a store fails, alone or in a batch, the plan returns the error and
// plans nothing.
func TestNoFailedReadIsLost(t *testing.T) {
	reads := 0
	fail := func(name string, policy utxo.Policy, l *utxo.Ledger, ev utxo.Event) {
		for at := 0; ; at++ {
			left := at
			set, err := policy.PlanAt(failing{l, &left}, ev, utxotest.Start)
			if left >= 0 {
				break // no such read
			}
			if reads++; !errors.Is(err, errBroken) || len(set.Log)+len(set.Refused) > 0 {
				t.Fatalf("%s, %s: read %d fails, the plan is %v with %d lines", name, utxotest.Describe(ev), at, err, len(set.Log))
			}
			left = at
			if _, err := policy.PlanAll(failing{l, &left}, utxotest.Start, ev, ev); left < 0 && !errors.Is(err, errBroken) {
				t.Fatalf("%s, %s: read %d fails, the batch is %v", name, utxotest.Describe(ev), at, err)
			}
		}
	}
	for seed := range uint64(60) {
		h := utxotest.NewHistory(seed, 40)
		l := utxo.NewLedger(h.Policy)
		if err := h.Play(func(ev utxo.Event) error {
			fail(fmt.Sprint("seed ", seed), h.Policy, l, ev)
			_, _ = l.Do(ev)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range utxotest.Scenarios() { // what is rarer
		l := utxo.NewLedger(utxotest.Policy())
		if err := s.Run(func(ev utxo.Event) error {
			fail(s.Name, utxotest.Policy(), l, ev)
			return utxotest.Outcome(l.Do(ev))
		}, l.Snapshot); err != nil {
			t.Fatal(err)
		}
	}
	if reads < 1000 {
		t.Errorf("%d reads were tried", reads)
	}
}
