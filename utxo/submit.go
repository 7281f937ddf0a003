package utxo

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
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
	_, open, err := pl.wallets()
	if err != nil {
		return err
	}
	if err := s.known(open); err != nil {
		return err
	}
	if err := pl.loadAround([]seen{s}, nil); err != nil {
		return err
	}
	v := pl.graph.vertex(s.hash)
	n := v.in(w.ID)
	switch {
	case n != nil && n.tx.Live():
		if err := pl.sign(n, ev.Tx); err != nil {
			return err
		}
		return pl.declare(v, ev)
	case n != nil, v.public && !v.live():
		return pl.refuse(v, statemachine.ErrIllegal, "a dead transaction cannot be submitted again")
	}
	v = pl.show(&s, 0)
	if !pl.concerns(v, w.ID) {
		return invalid("transaction %s does not concern wallet %d", s.hash, w.ID)
	}
	if v.status == Published { // another wallet's facts
		if err := pl.spread([]*vertex{v}); err != nil {
			return err
		}
		if n := v.in(w.ID); n != nil { // what block 0 creates has no row
			if err := pl.sign(n, ev.Tx); err != nil {
				return err
			}
		}
		return pl.declare(v, ev)
	}
	if err := pl.payself(v, ev); err != nil {
		return err
	}
	replaced, err := pl.replaceable(v, ev)
	if err != nil {
		return err
	}
	if err := pl.spendable(v, ev, replaced); err != nil {
		return err
	}
	// With one unconfirmed parent and no rival, the ancestors were tested when the parent
	// was submitted; walking them again for each transaction of a chain would be quadratic.
	// A conflict of an ancestor that came afterwards makes place refuse.
	if len(replaced) > 0 || unconfirmedParents(v) > 1 {
		lift, err := pl.lift(v)
		if err != nil {
			return err
		}
		if _, _, err := pl.conflicts(v, lift); err != nil {
			return err
		}
	}
	if err := pl.mature(v, ev); err != nil {
		return err
	}
	if err := pl.funded(v); err != nil {
		return err
	}
	v.status = Pending
	if err := pl.join(v, w.ID, true); err != nil {
		return err
	}
	if err := pl.spreadAround(); err != nil {
		return err
	}
	for _, old := range replaced {
		pl.set.Replaced = append(pl.set.Replaced, Replacement{Wallet: w.ID, Loser: old.hash, Winner: v.hash, Declared: true})
	}
	for _, s := range v.kids {
		if s.by.status == Published {
			return pl.place(v, evidence{on: onProven, height: Unconfirmed})
		}
	}
	return nil
}

// concerns reports whether the wallet owns an output of v, or one that v spends. An input
// that is not a coin of the wallet may be spent by another wallet's submission too, so it
// makes the plan wide.
func (pl *plan) concerns(v *vertex, w WalletID) bool {
	concerned := slices.ContainsFunc(v.shown.owners, func(o owned) bool { return o.Wallet == w && v.free(o.index) })
	for i, op := range v.inputs {
		if own := v.from[i].in(w); own != nil && own.tx.Output(op.Index) != nil {
			concerned = true
		} else {
			pl.graph.wide = true
		}
	}
	return concerned
}

// unconfirmedParents counts the known parents that are not confirmed.
func unconfirmedParents(v *vertex) int {
	seen := map[*vertex]bool{}
	for _, p := range v.from {
		if p.status != 0 && !p.confirmed() {
			seen[p] = true
		}
	}
	return len(seen)
}

// replaceable finds what a submission declares to replace.
func (pl *plan) replaceable(v *vertex, ev Submitted) ([]*vertex, error) {
	var replaced []*vertex
	for _, hash := range ev.Replaces {
		n := pl.graph.get(TxID{ev.Wallet, hash})
		if n == nil || !n.tx.Live() || n.tx.Confirmed() { // that it shares an input, versions tests
			return nil, invalid("%s is no live unconfirmed transaction that %s could replace", hash, v.hash)
		}
		if !slices.Contains(replaced, n.at) {
			replaced = append(replaced, n.at)
		}
	}
	if len(replaced) == 0 {
		return nil, nil
	}
	return replaced, pl.versions(v, ev)
}

// declare records what a live transaction was meant to replace. A mempool may have shown
// the transaction before its submission, so that the replaced one is dead already.
func (pl *plan) declare(v *vertex, ev Submitted) error {
	if len(ev.Replaces) == 0 {
		return nil
	}
	if err := pl.graph.loadRows(ev.Replaces); err != nil {
		return err
	}
	known, err := pl.r.Replacements(TxID{ev.Wallet, v.hash})
	if err != nil {
		return err
	}
	var due []Replacement
	for _, hash := range ev.Replaces {
		e := Replacement{Wallet: ev.Wallet, Loser: hash, Winner: v.hash, Declared: true}
		if slices.Contains(known, e) || slices.Contains(due, e) {
			continue
		}
		if n := pl.graph.get(TxID{ev.Wallet, hash}); n == nil || n.at == v || !sharesInput(n.tx.Inputs, v.inputs) ||
			slices.Contains(known, Replacement{Wallet: ev.Wallet, Loser: v.hash, Winner: hash, Declared: true}) {
			return invalid("%s is no unconfirmed rival of %s", hash, v.hash)
		}
		due = append(due, e)
	}
	if len(due) == 0 {
		return nil
	}
	for _, e := range due {
		if slices.Contains(known, e.byEvidence()) {
			pl.set.Declared = append(pl.set.Declared, e)
		} else {
			pl.set.Replaced = append(pl.set.Replaced, e)
		}
	}
	return pl.versions(v, ev)
}

func sharesInput(a, b []wire.OutPoint) bool {
	return slices.ContainsFunc(a, func(op wire.OutPoint) bool { return slices.Contains(b, op) })
}

// versions refuses a replacement that could confirm beside another version of the same
// payment. All transactions that were declared to replace one another, in whichever wallet,
// are versions, also those that are dead or given up: a block can revive each of them,
// unless it is provably dead or shares an input with the new one.
func (pl *plan) versions(v *vertex, ev Submitted) error {
	known := map[chainhash.Hash]bool{}
	next := slices.Clone(ev.Replaces)
	for len(next) > 0 {
		if err := pl.graph.loadRows(next); err != nil {
			return err
		}
		var ids []TxID
		for _, h := range next {
			for _, n := range pl.graph.vertices[h].rows {
				ids = append(ids, n.tx.ID)
			}
			known[h] = true
		}
		edges, err := pl.r.Replacements(ids...)
		if err != nil {
			return err
		}
		for _, e := range edges {
			if e.Declared {
				next = append(next, e.Loser, e.Winner)
			}
		}
		next = slices.DeleteFunc(next, func(h chainhash.Hash) bool { return known[h] })
	}
	for _, h := range slices.SortedFunc(maps.Keys(known), func(a, b chainhash.Hash) int { return bytes.Compare(a[:], b[:]) }) {
		version := pl.graph.vertices[h]
		if sharesInput(v.inputs, version.inputs) {
			continue
		}
		dead := false
		if pl.FinalDepth > 0 {
			var err error
			if dead, err = ProvablyDead(pl.r, version.rows[0].tx.ID, pl.FinalDepth); err != nil {
				return err
			}
		}
		if !dead {
			return invalid("%s shares no input with %s, a version of the same payment that can still be mined", v.hash, h)
		}
	}
	return nil
}

// spendable refuses inputs that a submission may not take.
func (pl *plan) spendable(v *vertex, ev Submitted, replaced []*vertex) error {
	for i, op := range v.inputs {
		p := v.from[i]
		status := p.status
		if own := p.in(ev.Wallet); own != nil {
			status = own.tx.Status // it may have been given up here alone
		}
		if status != 0 && status != Pending && status != Published {
			return fmt.Errorf("transaction %s: %w: %s is %s", v.hash, ErrDeadParent, op.Hash, status)
		}
	}
	for i, op := range v.inputs {
		for _, s := range v.from[i].kids.of(op.Index) {
			if r := s.by; r != v && r.live() && !slices.Contains(replaced, r) {
				return fmt.Errorf("transaction %s: %w: %s by %s", v.hash, ErrInputSpent, op, r.hash)
			}
		}
	}
	return nil
}

// mature refuses immature inputs, and inputs that another lock leases in whichever wallet.
func (pl *plan) mature(v *vertex, ev Submitted) error {
	tip, _, err := pl.tip()
	if err != nil {
		return err
	}
	coins := map[WalletID][]wire.OutPoint{}
	for i, op := range v.inputs {
		p := v.from[i]
		if pl.bucket(p.status, p.height, p.coinbase, tip) == CoinImmature {
			return fmt.Errorf("transaction %s: %w: %s at height %d", v.hash, ErrImmature, op, p.height)
		}
		p.owner(op.Index, func(n *row, _ *Output) { coins[n.tx.ID.Wallet] = append(coins[n.tx.ID.Wallet], op) })
	}
	for _, w := range slices.Sorted(maps.Keys(coins)) {
		leases, err := pl.r.Leases(w, coins[w]...)
		if err != nil {
			return err
		}
		for _, l := range leases {
			if l.Active(pl.now) && l.Lock != ev.Lock {
				return fmt.Errorf("transaction %s: %w: %s is leased until %s", v.hash, statemachine.ErrHeld, l.OutPoint, l.Until)
			}
		}
	}
	return nil
}

// funded refuses a transaction that can never be mined: one with an input that its stored
// parent does not have, or with outputs that pay more than the inputs bring. While a parent
// is in no wallet of the store, the value of its output is unknown, and the sum is not
// tested.
func (pl *plan) funded(v *vertex) error {
	var due int64 // of the outputs, satoshi that no input covers so far
	for _, out := range v.shown.msg.TxOut {
		due += out.Value
	}
	var foreign []wire.OutPoint // outputs of stored transactions that no wallet owns
	var ids []TxID              // of these transactions
	parents := map[chainhash.Hash]*wire.MsgTx{}
	unknown := false
	for i, op := range v.inputs {
		p, owned := v.from[i], false
		p.owner(op.Index, func(_ *row, out *Output) { owned, due = true, max(due-out.Amount, 0) })
		if len(p.rows) == 0 {
			unknown = true
		} else if !owned {
			foreign = append(foreign, op)
			if _, asked := parents[op.Hash]; !asked {
				parents[op.Hash] = nil
				ids = append(ids, p.rows[0].tx.ID)
			}
		}
	}
	raws, err := pl.r.Raw(ids...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if parents[id.Hash], err = ParseTx(raws[i]); err != nil {
			return err
		}
	}
	for _, op := range foreign {
		outs := parents[op.Hash].TxOut
		if int64(op.Index) >= int64(len(outs)) {
			return invalid("transaction %s spends %s, which does not exist", v.hash, op)
		}
		due = max(due-outs[op.Index].Value, 0)
	}
	if due > 0 && !unknown {
		return invalid("the outputs of %s pay %d satoshi more than its inputs bring", v.hash, due)
	}
	return nil
}
