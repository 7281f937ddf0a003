package utxo

import (
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// submit enters what the application created.
func (pl *plan) submit(ev Submitted) error {
	s, err := pl.inspect(ev.Tx)
	if err != nil {
		return err
	}
	if s.coinbase {
		return invalid("coinbase %s cannot be submitted", s.hash)
	}
	w, err := pl.wallet(ev.Wallet)
	if err != nil {
		return err
	}
	if _, _, err := pl.scope([]seen{s}); err != nil {
		return err
	}
	if err := pl.loadAround(w.ID, []seen{s}, nil); err != nil {
		return err
	}
	id := TxID{w.ID, s.hash}
	if n := pl.get(id); n != nil && n.tx.Live() {
		return nil
	} else if n != nil {
		return pl.refuse(n, statemachine.ErrIllegal, "a dead transaction cannot be submitted again")
	}
	if len(pl.relevant(&s, map[WalletID]bool{w.ID: true}, true)) == 0 {
		return invalid("transaction %s does not concern wallet %d", s.hash, w.ID)
	}
	replaced, err := pl.replaceable(&s, ev)
	if err != nil {
		return err
	}
	if err := pl.spendable(&s, ev, replaced); err != nil {
		return err
	}
	n, err := pl.node(&s, w.ID, true)
	if err != nil {
		return err
	}
	// With one unconfirmed parent and no rival the ancestors were tested with
	// the parent; walking them for each of a chain would be quadratic.
	if len(replaced) > 0 || pl.unconfirmedParents(n) > 1 {
		lift, err := pl.lift(n)
		if err != nil {
			return err
		}
		if _, _, err := pl.conflicts(n, lift); err != nil {
			return err
		}
	}
	if err := pl.mature(&s, ev); err != nil {
		return err
	}
	if err := pl.step(n, OnSubmit, "", nil); err != nil {
		return err
	}
	for i := range n.from {
		pl.spend(n, i, none, s.hash)
	}
	declared := make([]rivalry, len(replaced))
	for i, old := range replaced {
		declared[i] = rivalry{old, n}
	}
	if err := pl.replace(declared); err != nil {
		return err
	}
	for _, s := range n.at.kids {
		if kid := s.by; kid.tx.ID.Wallet == w.ID && kid.tx.Status == Published {
			return pl.place(n, evidence{on: OnProven, height: Unconfirmed})
		}
	}
	return nil
}

// unconfirmedParents counts the known parents that are not confirmed.
func (pl *plan) unconfirmedParents(n *node) int {
	seen := map[*node]bool{}
	for i := range n.from {
		if p := n.parent(i); p != nil && !p.tx.Confirmed() {
			seen[p] = true
		}
	}
	return len(seen)
}

// replaceable loads what a submission declares to replace.
func (pl *plan) replaceable(s *seen, ev Submitted) ([]*node, error) {
	var nodes []*node
	for _, hash := range ev.Replaces {
		n := pl.get(TxID{ev.Wallet, hash})
		shares := n != nil && slices.ContainsFunc(n.tx.Inputs, func(op wire.OutPoint) bool { return slices.Contains(s.inputs, op) })
		if !shares || !n.tx.Live() || n.tx.Confirmed() {
			return nil, invalid("%s is no live unconfirmed transaction that shares an input with %s", hash, s.hash)
		}
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// spendable refuses inputs that a submission may not take.
func (pl *plan) spendable(tx *seen, ev Submitted, replaced []*node) error {
	for _, op := range tx.inputs {
		if p := pl.get(TxID{ev.Wallet, op.Hash}); p != nil && !p.tx.Live() {
			return fmt.Errorf("transaction %s: %w: %s is %s", tx.hash, ErrDeadParent, op.Hash, p.tx.Status)
		}
	}
	for _, op := range tx.inputs {
		for _, s := range pl.spenders(op) {
			if r := s.by; r.tx.ID.Wallet == ev.Wallet && r.tx.Live() && !slices.Contains(replaced, r) {
				return fmt.Errorf("transaction %s: %w: %s by %s", tx.hash, ErrInputSpent, op, r.tx.ID.Hash)
			}
		}
	}
	return nil
}

// mature refuses immature inputs and those that another lock leases.
func (pl *plan) mature(s *seen, ev Submitted) error {
	tip, _, err := pl.tip()
	if err != nil {
		return err
	}
	for _, op := range s.inputs {
		p := pl.get(TxID{ev.Wallet, op.Hash})
		if p != nil && pl.bucket(p.tx.Status, p.tx.Height, p.tx.Coinbase, tip) == CoinImmature {
			return fmt.Errorf("transaction %s: %w: %s at height %d", s.hash, ErrImmature, op, p.tx.Height)
		}
	}
	leases, err := pl.r.Leases(ev.Wallet, s.inputs...)
	if err != nil {
		return err
	}
	for _, l := range leases {
		if l.Active(pl.by.At) && l.Lock != ev.Lock {
			return fmt.Errorf("transaction %s: %w: %s is leased until %s", s.hash, statemachine.ErrHeld, l.OutPoint, l.Until)
		}
	}
	return nil
}
