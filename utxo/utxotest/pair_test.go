package utxotest_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// pair is the ledger and the model, doing the same things.
type pair struct {
	ledger     *utxo.Ledger
	model      *utxotest.Model
	difference error // the first one
	sums       map[utxo.SumChange]int64
}

func newPair(p utxo.Policy) *pair {
	return &pair{ledger: utxo.NewLedger(p), model: utxotest.NewModel(p), sums: map[utxo.SumChange]int64{}}
}

// do gives the event to both the ledger and the model and compares what they return and
// store. It returns the ledger's error.
func (p *pair) do(ev utxo.Event) error {
	if p.difference != nil {
		return p.difference
	}
	before, err := p.ledger.Snapshot()
	if err != nil {
		p.difference = err
		return err
	}
	set, got := p.ledger.Do(ev)
	want := p.model.Apply(ev)
	if p.difference = p.compare(ev, before, set, got, want); p.difference == nil && got == nil {
		p.difference = p.sameRefusals(set)
	}
	return utxotest.Outcome(set, got)
}

func (p *pair) compare(ev utxo.Event, before utxo.Snapshot, set utxo.ChangeSet, got, want error) error {
	if g, w := utxotest.RefusalName(got), utxotest.RefusalName(want); g != w {
		return fmt.Errorf("the refusal is %q (%v), want %q (%v)", g, got, w, want)
	}
	after, err := p.ledger.Snapshot()
	if err != nil {
		return err
	}
	if same := equal(before, after); got != nil && !same {
		return fmt.Errorf("a refused event changed something: %w", utxotest.Compare(p.model, after))
	} else if got == nil && same != set.Empty() {
		return fmt.Errorf("the change set is empty: %t, but nothing changed: %t", set.Empty(), same)
	}
	for _, check := range []func() error{
		func() error { return utxotest.Compare(p.model, after) },
		func() error { return utxo.Check(after) },
		func() error { return utxotest.CompareReads(p.model, p.ledger, utxo.Said(ev).At) },
		func() error { return parentsFirst(set, after) },
		func() error { return p.finality(after) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if got != nil {
		return nil
	}
	if err := errors.Join(p.sameSums(set, after), says(set)); err != nil {
		return err
	}
	return p.undo(before, set, after)
}

// says checks that the parts of a set agree: a credited transaction has a new version, and
// a new version changes something; a spend changes the spender; and owners that are behind
// have a number of their own.
func says(set utxo.ChangeSet) error {
	for _, c := range set.Wallets {
		numbers := map[int64]bool{}
		for _, o := range c.New.Behind {
			if numbers[o.ID] || o.ID > c.New.Announced || len(o.Tags) == 0 {
				return fmt.Errorf("the owners behind are %+v", c.New.Behind)
			}
			numbers[o.ID] = true
		}
	}
	for _, c := range set.Joined {
		if !slices.ContainsFunc(set.Updates, func(u utxo.TxUpdate) bool { return u.ID == c.ID }) {
			return fmt.Errorf("output %d joins %s, which has no new version", c.Output.Index, c.ID)
		}
	}
	for _, u := range set.Updates {
		old := u.Old
		old.Version = u.New.Version
		if old == u.New && u.Raw == nil && !slices.ContainsFunc(set.Joined, func(c utxo.JoinedOutput) bool { return u.ID == c.ID }) {
			return fmt.Errorf("%s has a new version, and nothing new", u.ID)
		}
		if u.Raw != nil && (u.OldRaw == nil || bytes.Equal(u.Raw, u.OldRaw)) || u.Raw == nil && u.OldRaw != nil {
			return fmt.Errorf("%s has the bytes %x after %x", u.ID, u.Raw, u.OldRaw)
		}
	}
	for _, s := range set.Spends {
		if s.Old == s.New {
			return fmt.Errorf("%s is spent by %s as before", s.OutPoint, s.New)
		}
	}
	return nil
}

// sameSums adds what the sets carry, and compares it with the coins that are there.
func (p *pair) sameSums(set utxo.ChangeSet, after utxo.Snapshot) error {
	for _, s := range set.Sums {
		amount := s.Amount
		s.Amount = 0
		p.sums[s] += amount
	}
	maps.DeleteFunc(p.sums, func(_ utxo.SumChange, amount int64) bool { return amount == 0 })
	want := map[utxo.SumChange]int64{}
	for _, t := range after.Txs {
		for _, o := range t.Outputs {
			state := utxo.CoinUnconfirmed
			switch {
			case t.Status != utxo.Pending && t.Status != utxo.Published, o.SpentBy != chainhash.Hash{}, o.Amount == 0:
				continue
			case t.Height >= 0:
				state = utxo.CoinConfirmed
			case t.Status == utxo.Pending:
				state = utxo.CoinPending
			}
			want[utxo.SumChange{Wallet: t.ID.Wallet, Tag: o.Tag, State: state}] += o.Amount
		}
	}
	if !maps.Equal(p.sums, want) {
		return fmt.Errorf("the sets add up to %v, the coins to %v", p.sums, want)
	}
	return nil
}

// sameRefusals compares what was refused of a list.
func (p *pair) sameRefusals(set utxo.ChangeSet) error {
	want := p.model.Refused()
	if len(want) != len(set.Refused) {
		return fmt.Errorf("%v were refused of the list, want %v", set.Refused, want)
	}
	for _, r := range set.Refused {
		if g, w := utxotest.RefusalName(r.Err), utxotest.RefusalName(want[r.Index]); g != w {
			return fmt.Errorf("%d of the list is refused by %q (%v), want %q (%v)", r.Index, g, r.Err, w, want[r.Index])
		}
	}
	return nil
}

// finality holds what is provably dead against the model.
func (p *pair) finality(s utxo.Snapshot) error {
	for _, tx := range s.Txs {
		for _, depth := range []int32{1, 3} {
			got, err := utxo.ProvablyDead(p.ledger, tx.ID, depth)
			if want := p.model.ProvablyDead(tx.ID, depth); err != nil || got != want {
				return fmt.Errorf("%s is provably dead at depth %d: %t, want %t (%v)", tx.ID, depth, got, want, err)
			}
		}
	}
	return nil
}

// undo takes the change set back and applies it again.
func (p *pair) undo(before utxo.Snapshot, set utxo.ChangeSet, after utxo.Snapshot) error {
	p.ledger.Undo(set)
	if s, err := p.ledger.Snapshot(); err != nil || !equal(s, before) {
		return fmt.Errorf("undone, the change set leaves another state than before (%v)", err)
	}
	if err := p.ledger.Apply(set); err != nil {
		return fmt.Errorf("the change set does not apply again: %w", err)
	}
	if s, err := p.ledger.Snapshot(); err != nil || !equal(s, after) {
		return fmt.Errorf("applied again, the change set gives another state (%v)", err)
	}
	return nil
}

// replay walks the audit trail of every transaction through the table.
func (p *pair) replay() error {
	s, err := p.ledger.Snapshot()
	if err != nil {
		return err
	}
	for _, tx := range s.Txs {
		log, err := p.ledger.Transitions(tx.ID)
		if err != nil {
			return err
		}
		status, err := statemachine.Replay(utxo.TxMachine, log)
		if err != nil || status != tx.Status || int64(len(log)) != tx.Version {
			return fmt.Errorf("the trail of %s has %d steps and ends in %s, want version %d and %s (%v)", tx.ID, len(log), status,
				tx.Version, tx.Status, err)
		}
	}
	return nil
}

// parentsFirst: every part of a change set names parents before their children.
func parentsFirst(set utxo.ChangeSet, after utxo.Snapshot) error {
	inputs := map[utxo.TxID][]wire.OutPoint{}
	for _, tx := range after.Txs {
		inputs[tx.ID] = tx.Inputs
	}
	var inserts, updates, log []utxo.TxID
	for _, tx := range set.Inserts {
		inserts = append(inserts, tx.ID)
	}
	for _, u := range set.Updates {
		updates = append(updates, u.ID)
	}
	for _, line := range set.Log {
		log = append(log, line.ID)
	}
	for _, ids := range [][]utxo.TxID{inserts, updates, log} {
		for i, child := range ids {
			for _, op := range inputs[child] {
				if parent := (utxo.TxID{Wallet: child.Wallet, Hash: op.Hash}); slices.Contains(ids[i:], parent) {
					return fmt.Errorf("the change set names %s before its parent %s", child, parent)
				}
			}
		}
	}
	return nil
}

// equal compares everything that is stored, versions included; a nil list equals an empty
// one.
func equal(a, b utxo.Snapshot) bool {
	for _, s := range []utxo.Snapshot{a, b} {
		for i, w := range s.Wallets {
			s.Wallets[i].Behind = append([]utxo.OwnerScan(nil), w.Behind...)
		}
		for _, tx := range s.Txs {
			tx.Inputs, tx.Outputs = append([]wire.OutPoint(nil), tx.Inputs...), append([]utxo.Output(nil), tx.Outputs...)
		}
	}
	return reflect.DeepEqual(a, b)
}
