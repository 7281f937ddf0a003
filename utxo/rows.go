package utxo

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
)

// This file decides which wallet has a row of which transaction. A wallet has rows of the
// transactions in which it owns or spends an output (its core), and of the direct rivals
// and direct parents of these (its context). No other transaction is copied.

// spread adds rows for transactions that evidence has just shown: a row of the transaction
// in each wallet that it concerns, and rows of its neighbours where these are context now.
func (pl *plan) spread(vs []*vertex) error {
	if err := pl.spreadRows(vs); err != nil {
		return err
	}
	return pl.spreadAround()
}

// spreadRows is the first half of spread: the transactions themselves.
func (pl *plan) spreadRows(vs []*vertex) error {
	if err := pl.readRaw(vs); err != nil {
		return err
	}
	if err := pl.graph.loadKids(vs); err != nil {
		return err
	}
	if err := pl.graph.loadParents(vs); err != nil {
		return err
	}
	if err := pl.graph.loadRivals(vs); err != nil {
		return err
	}
	for _, v := range vs {
		if err := pl.settle(v); err != nil {
			return err
		}
	}
	return nil
}

// spreadAround is the second half: what belongs beside them.
func (pl *plan) spreadAround() error {
	around := pl.due
	pl.due = nil
	for _, a := range around {
		if a.core {
			if err := pl.beside(a.of, a.wallet); err != nil {
				return err
			}
		}
		if err := pl.spenders(a.of, a.wallet, a.credited); err != nil {
			return err
		}
	}
	return nil
}

// neighbours are due a row in a wallet.
type neighbours struct {
	of       *vertex
	wallet   WalletID
	core     bool     // its parents and rivals are
	credited []uint32 // what spends these outputs is
}

// settle gives v its rows, with everything around it loaded.
func (pl *plan) settle(v *vertex) error {
	var core []WalletID
	if v.height != 0 { // the outputs of block 0 cannot be spent
		for _, o := range v.shown.owners {
			if v.free(o.index) {
				core = join(core, o.Wallet)
			}
		}
	}
	for i, op := range v.inputs {
		v.from[i].owner(op.Index, func(n *row, _ *Output) { core = join(core, n.tx.ID.Wallet) })
	}
	all := slices.Clone(core)
	beside := func(u *vertex) {
		for _, n := range u.rows {
			if !n.tx.Context {
				all = join(all, n.tx.ID.Wallet)
			}
		}
	}
	for i, op := range v.inputs {
		for _, s := range v.from[i].kids.of(op.Index) {
			beside(s.by)
		}
	}
	for _, s := range v.kids {
		beside(s.by)
	}
	for _, w := range all {
		_, in := slices.BinarySearch(core, w)
		if err := pl.join(v, w, in); err != nil {
			return err
		}
	}
	return nil
}

// free reports whether no wallet owns the output. An output that was revealed to a wallet
// stays in it, whatever a host says of its script afterwards.
func (v *vertex) free(index uint32) bool {
	free := true
	v.owner(index, func(*row, *Output) { free = false })
	return free
}

// join makes sure that a wallet has a row of v with its owned outputs.
func (pl *plan) join(v *vertex, w WalletID, core bool) error {
	n := v.in(w)
	stored := n != nil
	if !stored {
		var err error
		if n, err = pl.enter(v, w, core); err != nil {
			return err
		}
	}
	var credited []uint32
	if v.height != 0 {
		for _, o := range v.shown.owners {
			if o.Wallet == w && v.free(o.index) {
				pl.credit(n, o.index, v.shown.msg.TxOut[o.index], o.Tag)
				credited = append(credited, o.index)
			}
		}
	}
	if stored {
		if len(credited) == 0 {
			return nil
		}
		if err := pl.step(n, onRevealed, "", func(t *Tx) { t.Context = false }); err != nil {
			return err
		}
	}
	pl.due = append(pl.due, neighbours{v, w, core, credited})
	return nil
}

// beside adds rows of the parents and rivals of v to a wallet that has v in its core, so
// that the wallet sees the conflicts of v.
func (pl *plan) beside(v *vertex, w WalletID) error {
	if err := pl.graph.loadParents([]*vertex{v}); err != nil {
		return err
	}
	if err := pl.graph.loadRivals([]*vertex{v}); err != nil {
		return err
	}
	for i, op := range v.inputs {
		if pl.later != nil {
			if err := pl.later(v.from[i].hash); err != nil {
				return err
			}
		}
		for _, u := range append([]*vertex{v.from[i]}, vertices(v.from[i].kids.of(op.Index))...) {
			if !u.public || u.in(w) != nil {
				continue
			}
			own := u.spendsOwn(w)
			if _, err := pl.enter(u, w, own); err != nil {
				return err
			}
			if own {
				if err := pl.beside(u, w); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// spendsOwn reports whether v spends an output that the wallet owns.
func (v *vertex) spendsOwn(w WalletID) bool {
	for i, op := range v.inputs {
		if n := v.from[i].in(w); n != nil && n.tx.Output(op.Index) != nil {
			return true
		}
	}
	return false
}

func vertices(kids spends[vertex]) []*vertex {
	all := make([]*vertex, len(kids))
	for i, s := range kids {
		all[i] = s.by
	}
	return all
}

// spenders makes the transactions that spend outputs which were just credited to a wallet
// part of the wallet's core.
func (pl *plan) spenders(v *vertex, w WalletID, credited []uint32) error {
	for _, index := range credited {
		for _, kid := range vertices(v.kids.of(index)) {
			n := kid.in(w)
			switch {
			case n == nil && !kid.public:
				continue
			case n == nil:
				if _, err := pl.enter(kid, w, true); err != nil {
					return err
				}
			case n.tx.Context:
				if err := pl.step(n, onRevealed, "", func(t *Tx) { t.Context = false }); err != nil {
					return err
				}
			default:
				continue
			}
			if err := pl.beside(kid, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter adds a row of what evidence has shown, in the state that it has.
func (pl *plan) enter(v *vertex, w WalletID, core bool) (*row, error) {
	tx := Tx{ID: TxID{w, v.hash}, Height: Unconfirmed, Coinbase: v.coinbase, FirstSeen: pl.by.At, Inputs: v.inputs, Context: !core}
	if len(v.rows) > 0 {
		tx.FirstSeen = v.rows[0].tx.FirstSeen
		if tx.Raw = v.proof; tx.Raw == nil && v.status != Pending { // the event says no more than what is stored
			raw, err := pl.mostSigned(v)
			if err != nil {
				return nil, err
			}
			tx.Raw = raw
		}
		pl.joined = append(pl.joined, TxID{w, v.hash})
	}
	if tx.Raw == nil {
		raw, err := pl.serialize(v.shown.msg)
		if err != nil {
			return nil, err
		}
		tx.Raw = raw
	}
	if v.shown != nil {
		tx.Outputs = make([]Output, 0, len(v.shown.owners))
	}
	n := pl.graph.add(v, tx, nil)
	n.ownOutputs = true
	pl.graph.fresh = append(pl.graph.fresh, n)
	if v.live() { // a dead one takes no input, and who does may not be known
		pl.graph.moved(v)
	}
	on := map[Status]Trigger{Published: onJoined, Replaced: onJoinedReplaced, Failed: onJoinedFailed, Orphaned: onJoinedOrphaned}[v.status]
	if v.status == Published && v.shownOn != 0 {
		on = v.shownOn
	}
	if v.status == Pending {
		on = onSubmit
	}
	return n, pl.step(n, on, "", func(t *Tx) { t.Height, t.Position, t.Seq, t.Public = v.height, v.position, v.seq, v.public })
}

// credit adds an owned output to n. Who spends it is found in the end.
func (pl *plan) credit(n *row, index uint32, out *wire.TxOut, tag string) {
	pl.graph.outputs(n)
	if n.old != nil && !slices.Contains(pl.graph.fresh, n) {
		pl.graph.fresh = append(pl.graph.fresh, n)
	}
	at, _ := slices.BinarySearchFunc(n.tx.Outputs, index, func(o Output, i uint32) int { return cmp.Compare(o.Index, i) })
	n.tx.Outputs = slices.Insert(n.tx.Outputs, at, Output{Index: index, Amount: out.Value, Script: bytes.Clone(out.PkScript), Tag: tag})
}

// readRaw parses the stored bytes of those transactions among vs that the event does not
// show, since the owners of their outputs are asked for when evidence first speaks of them.
func (pl *plan) readRaw(vs []*vertex) error {
	var ids []TxID
	for _, v := range vs {
		if v.shown == nil {
			ids = append(ids, v.rows[0].tx.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	raws, err := pl.r.Raw(ids...)
	if err != nil {
		return err
	}
	_, open, err := pl.wallets()
	if err != nil {
		return err
	}
	for i, id := range ids {
		msg, err := ParseTx(raws[i])
		if err != nil {
			return err
		}
		s, err := pl.inspect(msg)
		if err != nil {
			return err
		}
		s.owners = slices.DeleteFunc(s.owners, func(o owned) bool { return !open[o.Wallet] })
		pl.graph.vertices[id.Hash].shown = &s
		pl.graph.get(id).tx.Raw = raws[i]
	}
	return nil
}

// join adds ids to an ascending list that has each once.
func join(ws []WalletID, more ...WalletID) []WalletID {
	for _, w := range more {
		if at, found := slices.BinarySearch(ws, w); !found {
			ws = slices.Insert(ws, at, w)
		}
	}
	return ws
}
