package utxo_test

import (
	"errors"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// What a child shows of its parents is another edge than what is shown itself,
// and a line of what is only context says so.
func TestLinesSayHowATransactionWasShown(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	parent := b.submit(b.tx(ins(out(deposit, 0)), mine('a'), utxotest.Foreign))
	foreign := b.tx(nil, utxotest.Foreign)
	child := b.tx(ins(out(parent, 0), out(foreign, 0)), mine('a'))
	set := do(t, b.Ledger, utxo.Observed{Txs: []*wire.MsgTx{child, foreign}, Tip: b.tip.Hash})
	triggers, data := map[string]string{}, map[string]string{}
	for _, line := range set.Log {
		triggers[line.ID.Hash.String()], data[line.ID.Hash.String()] = line.Trigger, line.Data
	}
	for _, want := range []struct {
		tx            *wire.MsgTx
		trigger, data string
	}{{parent, "proven_by_child", ""}, {child, "observed", ""}, {foreign, "observed", utxo.ContextLine}} {
		hash := want.tx.TxHash().String()
		if triggers[hash] != want.trigger || data[hash] != want.data {
			t.Errorf("%s came by %q with %q, want %q with %q", hash, triggers[hash], data[hash], want.trigger, want.data)
		}
	}
}

// A plan says when its wallet's lock was not enough: it met what another wallet
// has not confirmed, also if it was refused for that.
func TestAPlanSaysWhenItsLockWasNotEnough(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	theirs := utxotest.Script(2, "a")
	both := b.tx(nil, mine('a'), theirs, mine('b'))
	own := b.tx(nil, mine('a'))
	b.connect(both, own)
	shared := b.observe(b.tx(ins(out(both, 0)), mine('a'), theirs))
	alone := b.observe(b.tx(ins(out(own, 0)), mine('a')))
	do(t, b.Ledger, utxo.Submitted{Wallet: 2, Tx: b.tx(ins(out(both, 1)), theirs)})
	for _, tt := range []struct {
		name string
		ev   utxo.Event
		wide bool
		err  error
	}{
		{"what two wallets have", utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: shared.TxHash()}}, true, nil},
		{"what one has", utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: alone.TxHash()}}, false, nil},
		{"a coin of what two have confirmed", utxo.Submitted{Wallet: 1, Tx: b.tx(ins(out(both, 2)), mine('a'))}, false, nil},
		{"a coin that another has spent", utxo.Submitted{Wallet: 1, Tx: b.tx(ins(out(alone, 0), out(both, 1)), mine('a'))}, true, utxo.ErrInputSpent},
		{"an event of all wallets", b.seen(9, b.tx(ins(out(shared, 0)), mine('a'))), false, nil},
	} {
		set, err := utxotest.Policy().PlanAt(b, tt.ev, utxotest.Start)
		if set.Wide != tt.wide || !errors.Is(err, tt.err) {
			t.Errorf("%s: wide is %t, want %t; %v", tt.name, set.Wide, tt.wide, err)
		}
	}
}

// broken is a store that cannot say what a transaction is.
type broken struct{ *utxo.Ledger }

var errBroken = errors.New("the disk is gone")

func (broken) Raw(...utxo.TxID) ([][]byte, error) { return nil, errBroken }

// A failure of the store ends a list; only what refuses a transaction is that
// transaction's alone.
func TestAFailureOfTheStoreIsNoRefusal(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	parent := b.submit(b.tx(ins(out(deposit, 0)), mine('a')))
	_, err := utxotest.Policy().PlanAt(broken{b.Ledger}, b.seen(1, b.tx(ins(out(parent, 0)), mine('a'))), utxotest.Start)
	if !errors.Is(err, errBroken) {
		t.Errorf("it is answered %v, want %v", err, errBroken)
	}
}

// What is seen again is credited to an owner whom the host has learnt meanwhile,
// with a sequence of the host's and with a drawn one.
func TestWhatIsSeenAgainIsCreditedToALateOwner(t *testing.T) {
	for _, seq := range []int64{0, 7} {
		learnt := false
		policy := utxotest.Policy()
		known := policy.Owner
		policy.Owner = func(script []byte) (utxo.Owner, bool) {
			if string(script) == string(mine('b')) && !learnt {
				return utxo.Owner{}, false
			}
			return known(script)
		}
		l := utxo.NewLedger(policy)
		do(t, l, utxo.WalletOpened{Wallet: 1})
		tx := utxotest.NewTx(1, ins(utxotest.External(1)), utxotest.Pay(5, mine('a')), utxotest.Pay(6, mine('b')))
		do(t, l, utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: 1})
		learnt = true
		do(t, l, utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: seq})
		if sum, err := l.Balance(policy, 1, nil, 1, utxotest.Start); err != nil || sum.Unconfirmed != 11 {
			t.Errorf("with sequence %d: %+v, %v", seq, sum, err)
		}
	}
}

// A refusal names the transaction, its wallet and its state.
func TestARefusalNamesWhatItIsAbout(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	dead := b.submit(b.tx(ins(out(deposit, 0)), mine('a')))
	id := utxo.TxID{Wallet: 1, Hash: dead.TxHash()}
	do(t, b.Ledger, utxo.Invalidated{ID: id})
	var refusal *statemachine.Refusal
	if _, err := b.DoAt(utxo.Broadcasted{ID: id}, utxotest.Start); !errors.As(err, &refusal) || refusal.ID != id.String() || refusal.State != "failed" || refusal.Event != "Broadcasted" {
		t.Errorf("it is %+v", refusal)
	}
	if _, err := utxo.ParseTx([]byte{1, 2}); !errors.Is(err, statemachine.ErrCorrupt) {
		t.Errorf("bytes that are no transaction: %v", err)
	}
}
