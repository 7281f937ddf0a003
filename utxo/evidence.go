package utxo

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

const (
	maxMoney  = 21_000_000 * 100_000_000 // satoshi
	maxTxSize = 4_000_000                // bytes, the weight limit of a block
)

var none chainhash.Hash

// seen is a transaction as the outside world showed it.
type seen struct {
	msg      *wire.MsgTx
	hash     chainhash.Hash
	coinbase bool
	inputs   []wire.OutPoint
	owners   []owned // of its outputs
}

type owned struct {
	index uint32
	Owner
}

// inspect checks a transaction from outside and asks whose its outputs are.
func (pl *plan) inspect(msg *wire.MsgTx) (s seen, err error) {
	if msg == nil || len(msg.TxIn) == 0 || len(msg.TxOut) == 0 {
		return s, invalid("a transaction needs inputs and outputs")
	}
	if pl.Owner == nil {
		return s, invalid("a policy without Owner would miss every deposit")
	}
	s = seen{msg: msg, hash: msg.TxHash()}
	if size := msg.SerializeSize(); size > maxTxSize {
		return s, invalid("transaction %s has %d bytes, at most %d are possible", s.hash, size, maxTxSize)
	}
	null := wire.OutPoint{Index: wire.MaxPrevOutIndex}
	s.coinbase = len(msg.TxIn) == 1 && msg.TxIn[0].PreviousOutPoint == null
	if !s.coinbase {
		from := len(pl.inputs)
		for _, in := range msg.TxIn {
			pl.inputs = append(pl.inputs, in.PreviousOutPoint)
			if in.PreviousOutPoint == null {
				return s, invalid("transaction %s has a null input", s.hash)
			}
		}
		s.inputs = pl.inputs[from:]
		if dup, ok := duplicate(s.inputs); ok {
			return s, fmt.Errorf("transaction %s: %w: %s is spent twice", s.hash, ErrSelfConflict, dup)
		}
	}
	var sum int64
	from := len(pl.owners)
	for i, out := range msg.TxOut {
		if out.Value < 0 || out.Value > maxMoney || sum+out.Value > maxMoney {
			return s, invalid("transaction %s creates an impossible amount", s.hash)
		}
		sum += out.Value
		if o, ok := pl.Owner(out.PkScript); ok {
			if o.Wallet <= 0 || len(o.Tag) > MaxTag || !statemachine.Storable(o.Tag) {
				return s, invalid("the owner of output %d of %s has wallet %d and the tag %.200q", i, s.hash, o.Wallet, o.Tag)
			}
			pl.owners = append(pl.owners, owned{uint32(i), o})
		}
	}
	s.owners = pl.owners[from:]
	return s, nil
}

// duplicate finds an element that occurs twice.
func duplicate(ops []wire.OutPoint) (wire.OutPoint, bool) {
	if len(ops) <= 8 {
		for i, op := range ops {
			if slices.Contains(ops[:i], op) {
				return op, true
			}
		}
		return wire.OutPoint{}, false
	}
	set := make(map[wire.OutPoint]bool, len(ops))
	for _, op := range ops {
		if set[op] {
			return op, true
		}
		set[op] = true
	}
	return wire.OutPoint{}, false
}

// loadAround makes everything known that the stored graph has around these
// transactions: themselves, their parents, their children and their rivals. at
// says which are of one block.
func (pl *plan) loadAround(w WalletID, txs []seen, at map[chainhash.Hash]int) error {
	ids := make([]TxID, len(txs), len(txs)+len(pl.inputs))
	for i := range txs {
		ids[i] = TxID{w, txs[i].hash}
	}
	if err := pl.loadKids(ids...); err != nil {
		return err
	}
	for _, op := range pl.inputs {
		if _, inBlock := at[op.Hash]; !inBlock {
			ids = append(ids, TxID{w, op.Hash})
		}
	}
	if err := pl.loadTxs(ids...); err != nil || len(pl.inputs) == 0 {
		return err
	}
	return pl.load(pl.r.Spenders(w, pl.inputs...))
}

// relevant returns the wallets, of those in scope, that keep a record of s: it
// is stored, has an owned output, spends one, shares an input with a stored
// transaction, or is spent by one.
func (pl *plan) relevant(s *seen, scope map[WalletID]bool, credits bool) []WalletID {
	var ws []WalletID
	add := func(w WalletID) {
		if scope[w] {
			ws = join(ws, w)
		}
	}
	if credits {
		for _, o := range s.owners {
			add(o.Wallet)
		}
	}
	for _, n := range pl.nodes(s.hash) {
		add(n.tx.ID.Wallet)
	}
	for _, op := range s.inputs {
		for _, p := range pl.nodes(op.Hash) {
			if p.tx.Output(op.Index) != nil {
				add(p.tx.ID.Wallet)
			}
		}
		for _, rival := range pl.spenders(op) {
			add(rival.by.tx.ID.Wallet)
		}
	}
	for _, kid := range pl.kids(s.hash) {
		add(kid.by.tx.ID.Wallet)
	}
	return ws
}

// node returns the record of s in wallet w, a new one where there is none. The
// graph around s must be loaded. In a new record, and in a stored one that
// misses them, the owned outputs are credited if credits says so.
func (pl *plan) node(s *seen, w WalletID, credits bool) (*node, error) {
	id := TxID{w, s.hash}
	n := pl.get(id)
	if n == nil {
		pl.buf.Reset()
		if err := s.msg.Serialize(&pl.buf); err != nil {
			return nil, invalid("transaction %s: %v", s.hash, err)
		}
		n = pl.add(pl.vertex(s.hash), Tx{
			ID: id, Height: Unconfirmed, Coinbase: s.coinbase, FirstSeen: pl.by.At,
			Inputs: slices.Clone(s.inputs), Outputs: make([]Output, 0, len(s.owners)), Raw: bytes.Clone(pl.buf.Bytes()),
		}, nil)
		n.ownOutputs = true
	}
	n.parentsIn, n.rivalsIn = true, true
	if !credits {
		return n, nil
	}
	missing := false
	for _, o := range s.owners {
		if o.Wallet == w && n.tx.Output(o.index) == nil {
			pl.credit(n, o.index, s.msg.TxOut[o.index], o.Tag)
			missing = true
		}
	}
	if missing && n.old != nil {
		return n, pl.step(n, OnRevealed, "", nil)
	}
	return n, nil
}

// scope returns the ids of all wallets, and refuses an owner outside them.
func (pl *plan) scope(txs []seen) (map[WalletID]bool, []Wallet, error) {
	all, err := pl.r.Wallets()
	if err != nil {
		return nil, nil, err
	}
	scope := make(map[WalletID]bool, len(all))
	for _, w := range all {
		scope[w.ID] = true
	}
	for _, s := range txs {
		for _, o := range s.owners {
			if !scope[o.Wallet] {
				return nil, nil, invalid("output %d of %s belongs to wallet %d, which is not open", o.index, s.hash, o.Wallet)
			}
		}
	}
	return scope, all, nil
}

// observe places what a mempool showed, in every wallet that it concerns.
func (pl *plan) observe(ev Observed) error {
	if ev.Seq < 1 {
		return invalid("an observation needs a sequence number from 1")
	}
	s, err := pl.inspect(ev.Tx)
	if err != nil {
		return err
	}
	if s.coinbase {
		return invalid("coinbase %s cannot be in a mempool", s.hash)
	}
	if _, tip, err := pl.tip(); err != nil || tip != ev.Tip {
		if err == nil {
			err = fmt.Errorf("transaction %s: %w: seen at tip %s, now at %s", s.hash, ErrStale, ev.Tip, tip)
		}
		return err
	}
	scope, _, err := pl.scope([]seen{s})
	if err != nil {
		return err
	}
	if err := pl.loadAround(0, []seen{s}, nil); err != nil {
		return err
	}
	for _, w := range pl.relevant(&s, scope, true) {
		if n := pl.get(TxID{w, s.hash}); n != nil && ev.Seq <= n.tx.Seq {
			continue
		}
		n, err := pl.node(&s, w, true)
		if err != nil {
			return err
		}
		if n.tx.Status == Published {
			err = pl.step(n, OnObserved, "", func(t *Tx) { t.Seq = ev.Seq })
		} else {
			err = pl.place(n, evidence{on: OnObserved, height: Unconfirmed, seq: ev.Seq})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
