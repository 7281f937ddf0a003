package utxo

import (
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/internal/topological"
	"github.com/settlehq/settle/statemachine"
)

// Action is what the host owes the network for one transaction.
type Action struct {
	Kind ActionKind
	ID   TxID // also the idempotency key: broadcasting twice is harmless
}

// ActionKind says why a transaction is sent.
// Values: Broadcast, Rebroadcast.
type ActionKind = statemachine.Enum[actionKind]

const (
	// Broadcast: the transaction is pending. Send it and report [Broadcasted], or
	// [Observed] when a mempool shows it.
	Broadcast ActionKind = iota + 1
	// Rebroadcast: it is our own, published and in no block yet.
	Rebroadcast
)

type actionKind struct{}

func (actionKind) Kind() string    { return "wallet action" }
func (actionKind) Names() []string { return actionNames }

var actionNames = []string{"broadcast", "rebroadcast"}

// Next returns what the host must send for a wallet now, parents before children, and when
// to ask again; a zero time means that nothing is owed until the next event. last is when
// the host last carried out what Next said, zero after a restart. The stored records alone
// say what is owed.
//
// Every pending transaction is broadcast, except one that a later pending transaction of
// any wallet is meant to replace, and the pending descendants of such a one: if they were
// sent now, they would win. A transaction that lacks a signature (see [Unsigned]) is not
// sent before the signature is submitted, and neither are its pending descendants: up to
// then [Invalidated] stops it for certain.
//
// A published unconfirmed transaction that spends an owned output is broadcast again at
// every multiple of [Policy.Rebroadcast] since it was first seen. Next does not rebroadcast
// a parent that is not ours: its sender does. Where a node misses it, [Reader.Raw] has its
// bytes.
func (p Policy) Next(r Source, w WalletID, last, now time.Time) (actions []Action, next time.Time, err error) {
	every := p.Rebroadcast
	if every <= 0 {
		every = time.Hour
	}
	txs, err := r.LiveUnconfirmed(w)
	if err != nil {
		return nil, time.Time{}, err
	}
	own, err := spendsOwned(r, w, txs)
	if err != nil {
		return nil, time.Time{}, err
	}
	unsigned, err := notSigned(r, txs, own)
	if err != nil {
		return nil, time.Time{}, err
	}
	others, err := r.PendingElsewhere(w)
	if err != nil {
		return nil, time.Time{}, err
	}
	at := make(map[TxID]int, len(txs))
	latest := map[wire.OutPoint]*Tx{} // pending spender, in whichever wallet
	for i, t := range append(txs, others...) {
		at[t.ID] = i
		for _, op := range t.Inputs {
			if t.Status == Pending && (latest[op] == nil || t.Arrival > latest[op].Arrival) {
				latest[op] = t
			}
		}
	}
	held := make([]bool, len(txs)) // superseded, or descends from what is
	for _, i := range topological.Order(len(txs), func(i int, add func(int)) {
		for _, op := range txs[i].Inputs {
			if p, ok := at[TxID{w, op.Hash}]; ok {
				add(p)
			}
		}
	}) {
		t := txs[i]
		for _, op := range t.Inputs {
			p, known := at[TxID{w, op.Hash}]
			held[i] = held[i] || t.Status == Pending && (unsigned[t] || latest[op].ID.Hash != t.ID.Hash || known && held[p])
		}
		switch {
		case held[i] || unsigned[t]:
			continue
		case t.Status == Pending:
			actions = append(actions, Action{Broadcast, t.ID})
			continue
		case !own[t]:
			continue
		}
		due := t.FirstSeen.Add(now.Sub(t.FirstSeen).Truncate(every)) // the last multiple
		if !now.Before(t.FirstSeen.Add(every)) && due.After(last) {
			actions = append(actions, Action{Rebroadcast, t.ID})
		}
		if again := maxTime(due, t.FirstSeen).Add(every); next.IsZero() || again.Before(next) {
			next = again
		}
	}
	return actions, next, nil
}

// notSigned tells which transactions, of those that may have to be sent, lack a signature.
func notSigned(r Reader, txs []*Tx, own map[*Tx]bool) (map[*Tx]bool, error) {
	var ids []TxID
	var ask []*Tx
	for _, t := range txs {
		if t.Status == Pending || own[t] {
			ids, ask = append(ids, t.ID), append(ask, t)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	raws, err := r.Raw(ids...)
	if err != nil {
		return nil, err
	}
	unsigned := map[*Tx]bool{}
	for i, t := range ask {
		tx, err := ParseTx(raws[i])
		if err != nil {
			return nil, err
		}
		unsigned[t] = len(Unsigned(tx)) > 0
	}
	return unsigned, nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// spendsOwned tells which transactions spend an owned output.
func spendsOwned(r Reader, w WalletID, txs []*Tx) (map[*Tx]bool, error) {
	var ids []TxID
	for _, t := range txs {
		for _, op := range t.Inputs {
			ids = append(ids, TxID{w, op.Hash})
		}
	}
	parents, err := r.Txs(ids...)
	if err != nil {
		return nil, err
	}
	owned := map[wire.OutPoint]bool{}
	for _, p := range parents {
		for i := range p.Outputs {
			owned[wire.OutPoint{Hash: p.ID.Hash, Index: p.Outputs[i].Index}] = true
		}
	}
	own := map[*Tx]bool{}
	for _, t := range txs {
		own[t] = slices.ContainsFunc(t.Inputs, func(op wire.OutPoint) bool { return owned[op] })
	}
	return own, nil
}

// ProvablyDead reports whether spending the inputs of a dead transaction again can no
// longer pay twice: an input of it, or of an unconfirmed ancestor, is spent by another
// transaction that is confirmed at least depth deep (the tip itself is one deep). The
// status "failed" or "replaced" alone proves nothing.
//
// The answer is about what is stored, and where the store knows too little it is false. Of
// a transaction that descends from a coin that no wallet of the store owns, the ledger
// keeps the direct parent, if it was shown together with its child or later, but no earlier
// ancestor, and no transaction that beat such a parent. A person then asks a node which
// transaction of the best chain spends the inputs of the ancestors, and how deep it is. If
// another transaction does, deep enough, he may pay again by a [Submitted] that names
// nothing in Replaces (naming the old payment would ask for the proof that the ledger
// lacks): the second payment then rests on his word. If no transaction spends these inputs,
// only a payment that keeps an input of the first one cannot pay twice.
func ProvablyDead(r Reader, id TxID, depth int32) (bool, error) {
	if depth < 1 {
		return false, invalid("a depth of %d proves nothing", depth)
	}
	tip, ok, err := r.Tip()
	if err != nil || !ok {
		return false, err
	}
	txs, err := r.Txs(id)
	if err != nil {
		return false, err
	}
	if len(txs) == 0 {
		return false, notFound(id)
	}
	line, err := r.Ancestors(NotConfirmed, id.Hash)
	if err != nil {
		return false, err
	}
	// A transaction of the line can be confirmed between the two reads, where a store does
	// not read both at one moment. It is no rival of its own line.
	inLine := map[chainhash.Hash]bool{}
	var ops []wire.OutPoint
	for _, t := range line {
		inLine[t.ID.Hash] = true
		ops = append(ops, t.Inputs...)
	}
	if len(ops) == 0 {
		return false, nil
	}
	rivals, err := r.Spenders(ops...)
	if err != nil {
		return false, err
	}
	for _, t := range rivals {
		if !inLine[t.ID.Hash] && t.Confirmed() && tip.Height-t.Height >= depth-1 {
			return true, nil
		}
	}
	return false, nil
}
