package utxo

import (
	"errors"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// MaxMoney is the most that there can be, in satoshi.
const MaxMoney = 21_000_000 * 100_000_000

// MaxSeq is the highest sequence number that a host can give: higher numbers are reserved
// for those that a store draws.
const MaxSeq int64 = 1 << 62

const maxTxSize = 4_000_000 // bytes, the weight limit of a block

var none chainhash.Hash

// seen is a transaction as the outside world showed it.
type seen struct {
	msg      *wire.MsgTx
	hash     chainhash.Hash
	coinbase bool
	inputs   []wire.OutPoint
	owners   []owned // of its outputs
	passed   bool    // it concerned nobody at its turn
}

type owned struct {
	index uint32
	Owner
}

// inspect checks a transaction from outside and asks whose its outputs are.
func (pl *plan) inspect(msg *wire.MsgTx) (s seen, err error) {
	if msg == nil || len(msg.TxIn) == 0 || len(msg.TxOut) == 0 || slices.Contains(msg.TxIn, nil) || slices.Contains(msg.TxOut, nil) {
		return s, invalid("a transaction needs inputs and outputs")
	}
	if pl.Owner == nil {
		return s, invalid("a policy without Owner would miss every deposit")
	}
	if s, known := pl.inspected[msg]; known {
		pl.inputs = append(pl.inputs, s.inputs...)
		return s, nil
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
		if out.Value < 0 || out.Value > MaxMoney || sum+out.Value > MaxMoney {
			return s, invalid("transaction %s creates an impossible amount", s.hash)
		}
		sum += out.Value
		if o, ok := pl.Owner(out.PkScript); ok {
			if len(o.Tag) > MaxTag || !statemachine.Storable(o.Tag) {
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

// known refuses an owner whose wallet is not open.
func (s *seen) known(open map[WalletID]bool) error {
	for _, o := range s.owners {
		if !open[o.Wallet] {
			return invalid("output %d of %s belongs to wallet %d, which is not open", o.index, s.hash, o.Wallet)
		}
	}
	return nil
}

// loadAround loads what the stored graph has around these transactions: the transactions
// themselves, their parents, their children and their rivals. at has the hashes that the
// event shows together.
func (pl *plan) loadAround(txs []seen, at map[chainhash.Hash]int) error {
	hashes := make([]chainhash.Hash, len(txs), len(txs)+len(pl.inputs))
	for i := range txs {
		hashes[i] = txs[i].hash
	}
	if err := pl.graph.load(pl.r.Children(hashes...)); err != nil {
		return err
	}
	for _, op := range pl.inputs {
		if _, shown := at[op.Hash]; !shown {
			hashes = append(hashes, op.Hash)
		}
	}
	if err := pl.graph.loadRows(hashes); err != nil || len(pl.inputs) == 0 {
		return err
	}
	return pl.graph.load(pl.r.Spenders(pl.inputs...))
}

// show makes a transaction of the event part of the graph. Its neighbours must be loaded
// already.
func (pl *plan) show(s *seen, on Trigger) *vertex {
	v := pl.graph.vertex(s.hash)
	v.shown, v.shownOn = s, on
	pl.graph.link(v, slices.Clone(s.inputs), s.coinbase)
	v.parentsIn, v.rivalsIn, v.kidsIn = true, true, true
	return v
}

// touches reports whether a transaction has anything to do with what is known:
// an output with an owner, a row, a parent, a rival or a child.
func (pl *plan) touches(s *seen) bool {
	if len(s.owners) > 0 || pl.graph.vertices[s.hash] != nil {
		return true
	}
	return slices.ContainsFunc(s.inputs, func(op wire.OutPoint) bool { return pl.graph.vertices[op.Hash] != nil })
}

// untouched returns a function that shows a parent that was passed over. Most transactions
// of an event concern no wallet, so they are passed over; one is shown after all when it
// turns out to be the parent of a transaction that does. A transaction that was not passed
// over is left alone: it is shown in its own turn.
func untouched(at map[chainhash.Hash]int, txs []seen, show func(i int) error) func(chainhash.Hash) error {
	return func(hash chainhash.Hash) error {
		i, shown := at[hash]
		if !shown || !txs[i].passed {
			return nil
		}
		txs[i].passed = false
		return show(i)
	}
}

// wallets returns all wallets, and which ids are open.
func (pl *plan) wallets() ([]Wallet, map[WalletID]bool, error) {
	if pl.opened == nil {
		all, err := pl.r.Wallets()
		if err != nil {
			return nil, nil, err
		}
		pl.every, pl.opened = all, make(map[WalletID]bool, len(all))
		for _, w := range all {
			pl.opened[w.ID] = true
		}
	}
	return pl.every, pl.opened, nil
}

// observe places the transactions that a mempool held, parents first. A transaction that is
// refused does not stop the others.
func (pl *plan) observe(ev Observed) error {
	if ev.Seq < 0 || ev.Seq > MaxSeq {
		return invalid("the sequence number %d is not from 0 to %d", ev.Seq, MaxSeq)
	}
	if _, tip, err := pl.tip(); err != nil || tip != ev.Tip {
		if err == nil {
			err = fmt.Errorf("%w: seen at tip %s, now at %s", ErrStale, ev.Tip, tip)
		}
		return err
	}
	last, err := pl.r.Seq()
	if err != nil {
		return err
	}
	seq := ev.Seq
	if seq == 0 {
		if seq = last + 1; seq < 1 { // of a ledger from before [MaxSeq]
			return invalid("no sequence number comes after %d", last)
		}
	}
	_, open, err := pl.wallets()
	if err != nil {
		return err
	}
	out := map[chainhash.Hash]bool{} // of the list
	refused := func(i int, hash chainhash.Hash, err error) {
		out[hash] = true
		pl.set.Refused = append(pl.set.Refused, Refused{Index: i, Hash: hash, Err: err})
	}
	txs := make([]seen, 0, len(ev.Txs))
	index := make([]int, 0, len(ev.Txs))
	at := make(map[chainhash.Hash]int, len(ev.Txs))
	for i, msg := range ev.Txs {
		s, err := pl.inspect(msg)
		switch {
		case err == nil && s.coinbase:
			err = invalid("coinbase %s cannot be in a mempool", s.hash)
		case err == nil:
			err = s.known(open)
		}
		if err != nil {
			refused(i, s.hash, err)
		} else if _, twice := at[s.hash]; !twice {
			at[s.hash] = len(txs)
			txs, index = append(txs, s), append(index, i)
		}
	}
	if err := pl.loadAround(txs, at); err != nil {
		return err
	}
	if err := pl.readShown(txs); err != nil {
		return err
	}
	see := func(i int) error { return pl.see(pl.show(&txs[i], onObserved), seq, ev.Seq == 0) }
	pl.later = untouched(at, txs, see)
	taken := make(map[wire.OutPoint]chainhash.Hash, len(pl.inputs)) // by what the list has placed
	for _, i := range parentsFirst(txs, at) {
		s := &txs[i]
		if v := pl.graph.vertices[s.hash]; v != nil && seq <= v.seq {
			if v.listed = v.status == Published; v.listed {
				s.take(taken)
				if err := pl.complete(v, s); err != nil {
					return err
				}
			}
			continue
		}
		err := s.free(taken, out)
		if err == nil {
			if s.passed = !pl.touches(s); !s.passed {
				err = see(i)
			}
		}
		switch {
		case err == nil:
			s.take(taken)
		case isRefusal(err):
			refused(index[i], s.hash, err)
		default:
			return err
		}
	}
	slices.SortFunc(pl.set.Refused, func(a, b Refused) int { return a.Index - b.Index })
	if len(pl.graph.steps) > 0 && seq > last {
		pl.set.Seq = SeqChange{last, seq}
	}
	return nil
}

// take notes that a list has placed s, or shows again what it placed before.
func (s *seen) take(taken map[wire.OutPoint]chainhash.Hash) {
	for _, op := range s.inputs {
		taken[op] = s.hash
	}
}

// free refuses a transaction that shares an input with another that the same list has
// placed already, and a child of a transaction that was refused in the same list.
func (s *seen) free(taken map[wire.OutPoint]chainhash.Hash, out map[chainhash.Hash]bool) error {
	for _, op := range s.inputs {
		if out[op.Hash] {
			return fmt.Errorf("transaction %s: %w: %s of the same list was refused", s.hash, ErrDeadParent, op.Hash)
		}
	}
	for _, op := range s.inputs {
		if by, spent := taken[op]; spent {
			return fmt.Errorf("transaction %s: %w: %s by %s of the same list", s.hash, ErrInputSpent, op, by)
		}
	}
	return nil
}

// isRefusal tells the refusals of one transaction from failures.
func isRefusal(err error) bool {
	return slices.ContainsFunc([]error{
		statemachine.ErrInvalid, ErrInputSpent, ErrDeadParent, ErrSelfConflict, ErrSpentByConfirmed, ErrStale,
	}, func(why error) bool { return errors.Is(err, why) })
}

// see places one transaction of a mempool. A drawn sequence number is higher than any
// before, so a transaction that is published already need not store it.
func (pl *plan) see(v *vertex, seq int64, drawn bool) error {
	var err error
	if v.status == Published && !v.confirmed() { // what a block shows, a mempool does not change
		err = pl.prove(v)
	}
	switch {
	case err != nil:
	case v.status == Published && drawn:
		if err = pl.spread([]*vertex{v}); err == nil {
			err = pl.mendAll(v, onObserved)
		}
	case v.status == Published:
		if err = pl.spread([]*vertex{v}); err == nil {
			err = pl.move(v, onObserved, "", func(f *facts) { f.seq = seq })
		}
	default:
		err = pl.place(v, evidence{on: onObserved, height: Unconfirmed, seq: seq})
	}
	v.listed = err == nil
	return err
}
