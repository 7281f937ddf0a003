package utxo_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestUnsigned(t *testing.T) {
	push := func(script ...byte) []byte { return append([]byte{byte(len(script))}, script...) }
	program := func(version byte, n int) []byte { return append([]byte{version, byte(n)}, make([]byte, n)...) }
	for _, c := range []struct {
		name    string
		script  []byte
		witness wire.TxWitness
		signed  bool
	}{
		{"nothing", nil, nil, false},
		{"an empty witness", nil, wire.TxWitness{}, false},
		{"a witness of empty items", nil, wire.TxWitness{{}, {}}, false},
		{"a witness", nil, wire.TxWitness{{}, {1}}, true},
		{"a script", []byte{1, 2}, nil, true},
		{"nested P2WPKH", push(program(0, 20)...), nil, false},
		{"nested P2WPKH with its witness", push(program(0, 20)...), wire.TxWitness{{1}}, true},
		{"nested P2WSH", push(program(0, 32)...), nil, false},
		{"the shortest witness program", push(program(0x60, 2)...), nil, false},
		{"the longest witness program", push(program(0x51, 40)...), nil, false},
		{"a push of what is too short for a witness program", push(program(0x51, 1)...), nil, true},
		{"a push of what is too long for a witness program", push(program(0x51, 41)...), nil, true},
		{"a push that starts with no version", push(program(0x61, 20)...), nil, true},
		{"two pushes, the last a witness program", append([]byte{1, 7}, push(program(0, 20)...)...), nil, true},
	} {
		tx := wire.NewMsgTx(2)
		tx.AddTxIn(&wire.TxIn{SignatureScript: []byte{1, 1}})
		tx.AddTxIn(&wire.TxIn{SignatureScript: c.script, Witness: c.witness})
		var want []int
		if !c.signed {
			want = []int{1}
		}
		if got := utxo.Unsigned(tx); !slices.Equal(got, want) {
			t.Errorf("%s: unsigned are %v, want %v", c.name, got, want)
		}
	}
}

func bare(tx *wire.MsgTx) *wire.MsgTx {
	tx = tx.Copy()
	for _, in := range tx.TxIn {
		in.Witness = nil
	}
	return tx
}

// A transaction that lacks a signature is not sent, nor are its descendants, nor the one
// that it is meant to replace. With the signature all are sent, and until then the host can
// stop it.
func TestNextWaitsForSignatures(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'), mine('a'))
	b.connect(deposit)
	old := b.submit(b.tx(ins(out(deposit, 0)), mine('a')))
	tx := b.tx(ins(out(deposit, 0), out(deposit, 1)), mine('a'))
	b.submit(bare(tx), old)
	child := b.submit(b.tx(ins(out(tx, 0)), mine('a')))
	other := b.submit(b.tx(ins(out(deposit, 2)), mine('a')))
	owed := func(want ...*wire.MsgTx) {
		t.Helper()
		actions, next := b.owed(utxotest.Policy(), time.Time{}, utxotest.Start.Add(time.Hour))
		if !reflect.DeepEqual(actions, broadcasts(want...)) || !next.IsZero() {
			t.Errorf("owed is %v, again at %v, want %v", actions, next, broadcasts(want...))
		}
	}
	owed(other)
	half := tx.Copy()
	half.TxIn[1].Witness = nil
	b.submit(half)
	owed(other)
	b.submit(tx)
	owed(tx, child, other)
	b.submit(bare(tx))
	owed(tx, child, other)

	// Stopped before it was signed: what it was to replace is sent again.
	b = newDesk(t)
	b.connect(deposit)
	b.submit(old)
	b.submit(bare(tx), old)
	do(t, b.Ledger, utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: tx.TxHash()}})
	owed(old)
}

// Signatures that come after the transaction was given up revive nothing: the caller pays
// anew with one of its inputs. What the network shows revives it, and ends what was paid anew.
func TestSignaturesAfterInvalidated(t *testing.T) {
	for name, shown := range map[string]func(*desk, *wire.MsgTx){
		"in a mempool": func(b *desk, tx *wire.MsgTx) { b.observe(tx) },
		"in a block":   func(b *desk, tx *wire.MsgTx) { b.connect(tx) },
	} {
		b := newDesk(t)
		deposit := b.tx(nil, mine('a'), mine('a'))
		b.connect(deposit)
		tx := b.tx(ins(out(deposit, 0), out(deposit, 1)), mine('a'))
		id := utxo.TxID{Wallet: 1, Hash: tx.TxHash()}
		b.submit(bare(tx))
		do(t, b.Ledger, utxo.Invalidated{ID: id})
		for _, again := range []*wire.MsgTx{bare(tx), tx} {
			set, err := b.DoAt(utxo.Submitted{Wallet: 1, Tx: again}, utxotest.Start)
			if !errors.Is(err, statemachine.ErrIllegal) || len(set.Log) > 0 {
				t.Errorf("%s: submitted again: %v, %v", name, err, set.Log)
			}
		}
		anew := b.submit(b.tx(ins(out(deposit, 0)), mine('b')))
		shown(b, tx)
		for _, want := range []struct {
			tx   *wire.MsgTx
			dead bool
		}{{tx, false}, {anew, true}} {
			id := utxo.TxID{Wallet: 1, Hash: want.tx.TxHash()}
			if all, err := b.Txs(id); err != nil || len(all) != 1 || (all[0].Status == utxo.Failed) != want.dead {
				t.Errorf("%s: %+v, %v", name, all, err)
			}
		}
		if raw, err := b.Raw(id); err != nil || len(raw[0]) != tx.SerializeSize() {
			t.Errorf("%s: %d bytes are stored, %v", name, len(raw[0]), err)
		}
	}
}

// A transaction that the host has sent without giving its signatures to the ledger is not
// sent again before a submission or a mempool brings them.
func TestNextRebroadcastsWhatIsSigned(t *testing.T) {
	for name, learn := range map[string]func(*desk, *wire.MsgTx){
		"submitted": func(b *desk, tx *wire.MsgTx) { b.submit(tx) },
		"observed":  func(b *desk, tx *wire.MsgTx) { b.observe(tx) },
		"in a block that left the chain": func(b *desk, tx *wire.MsgTx) {
			b.connect(tx)
			do(t, b.Ledger, utxo.Disconnected{Hash: b.tip.Hash})
		},
	} {
		b := newDesk(t)
		deposit := b.tx(nil, mine('a'))
		b.connect(deposit)
		tx := b.tx(ins(out(deposit, 0)), mine('a'))
		id := utxo.TxID{Wallet: 1, Hash: tx.TxHash()}
		b.submit(bare(tx))
		do(t, b.Ledger, utxo.Broadcasted{ID: id})
		p := utxotest.Policy()
		p.Rebroadcast = time.Minute
		later := utxotest.Start.Add(time.Hour)
		if actions, next := b.owed(p, time.Time{}, later); len(actions) > 0 || !next.IsZero() {
			t.Errorf("%s: owed is %v, again at %v, want nothing", name, actions, next)
		}
		learn(b, tx)
		actions, next := b.owed(p, time.Time{}, later)
		if want := []utxo.Action{{Kind: utxo.Rebroadcast, ID: id}}; !reflect.DeepEqual(actions, want) || next.IsZero() {
			t.Errorf("%s: owed is %v, again at %v, want %v", name, actions, next, want)
		}
		if raw, err := b.Raw(id); err != nil || len(raw[0]) != tx.SerializeSize() {
			t.Errorf("%s: %d bytes are stored, want %d, %v", name, len(raw[0]), tx.SerializeSize(), err)
		}
	}
}

// Each change of the bytes makes one version and one line of the trail; bytes that stay
// make none.
func TestSignaturesMoveTheVersion(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	tx := b.tx(ins(out(deposit, 0)), mine('a'))
	id := utxo.TxID{Wallet: 1, Hash: tx.TxHash()}
	trail := func(want ...utxo.Trigger) {
		t.Helper()
		lines, err := b.Transitions(id)
		if err != nil || len(lines) != len(want) {
			t.Fatalf("%d lines, want %d, %v", len(lines), len(want), err)
		}
		for i, l := range lines {
			if l.Trigger != want[i].String() {
				t.Errorf("line %d is %s, want %s", i, l.Trigger, want[i])
			}
		}
	}
	b.submit(bare(tx))
	b.submit(bare(tx))
	trail(utxo.OnSubmit)
	b.submit(tx)
	b.submit(tx)
	b.submit(bare(tx))
	trail(utxo.OnSubmit, utxo.OnSigned)
	b.observe(tx)
	trail(utxo.OnSubmit, utxo.OnSigned, utxo.OnObserved)
	do(t, b.Ledger, utxo.Observed{Txs: []*wire.MsgTx{tx}, Tip: b.tip.Hash})
	trail(utxo.OnSubmit, utxo.OnSigned, utxo.OnObserved)
	other := tx.Copy()
	other.TxIn[0].Witness = wire.TxWitness{{9}}
	do(t, b.Ledger, utxo.Observed{Txs: []*wire.MsgTx{other}, Tip: b.tip.Hash})
	trail(utxo.OnSubmit, utxo.OnSigned, utxo.OnObserved, utxo.OnObserved)
	b.connect(tx)
	trail(utxo.OnSubmit, utxo.OnSigned, utxo.OnObserved, utxo.OnObserved, utxo.OnConfirmed)
	do(t, b.Ledger, utxo.Connected{Block: b.tip, Txs: []*wire.MsgTx{other}, Positions: []int32{1}})
	trail(utxo.OnSubmit, utxo.OnSigned, utxo.OnObserved, utxo.OnObserved, utxo.OnConfirmed, utxo.OnConfirmed)
}

// Signatures from several submissions may not add up to more than a block holds.
func TestSignaturesHaveALimit(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'))
	b.connect(deposit)
	tx := b.tx(ins(out(deposit, 0), out(deposit, 1)), mine('a'))
	id := utxo.TxID{Wallet: 1, Hash: tx.TxHash()}
	with := func(i, n int) *wire.MsgTx {
		other := bare(tx)
		other.TxIn[i].Witness = wire.TxWitness{make([]byte, n)}
		other.TxIn[i].Witness[0][0] = 1
		return other
	}
	b.submit(with(0, 3_000_000))
	size := with(0, 3_000_000).SerializeSize()
	most := 4_000_000 - size - 4 // the length of the item takes five bytes instead of one for none
	if _, err := b.DoAt(utxo.Submitted{Wallet: 1, Tx: with(1, most)}, utxotest.Start); err == nil {
		t.Error("a byte too many is taken")
	}
	if raw, _ := b.Raw(id); len(raw[0]) != size {
		t.Errorf("%d bytes are stored, want the %d of before", len(raw[0]), size)
	}
	b.submit(with(1, most-1))
	if raw, _ := b.Raw(id); len(raw[0]) != 4_000_000 {
		t.Errorf("%d bytes are stored", len(raw[0]))
	}
}

// Bytes that change twice change once, from the first to the last.
func TestMergeCarriesSignatures(t *testing.T) {
	step := func(from int64, old, raw []byte) utxo.ChangeSet {
		return utxo.ChangeSet{Updates: []utxo.TxUpdate{{
			ID: utxo.TxID{Wallet: 1}, FromVersion: from, New: utxo.TxState{Version: from + 1}, OldRaw: old, Raw: raw,
		}}}
	}
	a, b, c := []byte{1}, []byte{2}, []byte{3}
	for name, sets := range map[string][]utxo.ChangeSet{
		"twice":             {step(1, a, b), step(2, b, c)},
		"before what stays": {step(1, a, c), step(2, nil, nil)},
		"after what stays":  {step(1, nil, nil), step(2, a, c)},
	} {
		merged := utxo.Merge(sets...)
		if len(merged) != 1 || !reflect.DeepEqual(merged[0].Updates[0].OldRaw, a) || !reflect.DeepEqual(merged[0].Updates[0].Raw, c) {
			t.Errorf("%s: %+v", name, merged)
		}
	}
}
