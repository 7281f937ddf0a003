package utxo_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// The line of a parent that its child proves names another edge than the line of a
// transaction that was shown itself. The line of a row that is only context says so.
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

// A plan says when the lock of its wallet was not enough: it met an unconfirmed transaction
// of another wallet, also if the event was refused for this.
func TestAPlanSaysWhenItsLockWasNotEnough(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	theirs := utxotest.Script(2, "a")
	both := b.tx(nil, mine('a'), theirs, mine('b'), utxotest.Foreign)
	own := b.tx(nil, mine('a'), utxotest.Foreign)
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
		{"a coin that another has spent", utxo.Submitted{Wallet: 1, Tx: b.tx(ins(out(alone, 0), out(both, 1)), mine('a'))},
			true, utxo.ErrInputSpent},
		{"a coin that is no wallet's", utxo.Submitted{Wallet: 1, Tx: b.tx(nil, mine('a'))}, true, nil},
		{"an output of what two have confirmed",
			utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: both.TxHash()}, Index: 3, Tag: "c"}, true, nil},
		{"an output of what one has", utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: own.TxHash()}, Index: 1, Tag: "c"}, false, nil},
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

// A failure of the store ends the whole list; a refusal concerns one transaction of the
// list.
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

// When a transaction is seen again after the host has learnt of an owner, its output is
// credited to this owner. The test gives a sequence number once and has one drawn once.
func TestWhatIsSeenAgainIsCreditedToALateOwner(t *testing.T) {
	for _, seq := range []int64{0, 7} {
		policy, learn := late(utxo.Owner{Wallet: 1, Tag: "b"})
		l := utxo.NewLedger(policy)
		do(t, l, utxo.WalletOpened{Wallet: 1})
		tx := utxotest.NewTx(1, ins(utxotest.External(1)), utxotest.Pay(5, mine('a')), utxotest.Pay(6, mine('b')))
		do(t, l, utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: 1})
		learn()
		set := do(t, l, utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: seq})
		if len(set.Log) == 0 || set.Log[0].Trigger != "output_revealed" {
			t.Errorf("with sequence %d the lines are %+v", seq, set.Log)
		}
		if sum, err := l.Balance(policy, 1, nil, 1, utxotest.Start); err != nil || sum.Unconfirmed != 11 {
			t.Errorf("with sequence %d: %+v, %v", seq, sum, err)
		}
	}
}

// By what its host knows later, a stored transaction can pay a wallet that is not open. The
// transaction stays as it is, without a row in that wallet.
func TestAStoredPaymentToAClosedWalletStands(t *testing.T) {
	policy, learn := late(utxo.Owner{Wallet: 9, Tag: "b"})
	l := utxo.NewLedger(policy)
	do(t, l, utxo.WalletOpened{Wallet: 1})
	deposit := utxotest.NewTx(1, ins(utxotest.External(1)), utxotest.Pay(9, mine('a')))
	parent := utxotest.NewTx(2, ins(out(deposit, 0)), utxotest.Pay(5, mine('a')), utxotest.Pay(3, mine('b')))
	child := utxotest.NewTx(3, ins(out(parent, 0)), utxotest.Pay(4, mine('a')))
	do(t, l, utxo.Observed{Txs: []*wire.MsgTx{deposit}})
	do(t, l, utxo.Submitted{Wallet: 1, Tx: parent})
	learn()
	do(t, l, utxo.Observed{Txs: []*wire.MsgTx{child}})
	if rows, err := l.Txs(utxo.TxID{Hash: parent.TxHash()}); err != nil || len(rows) != 1 || rows[0].Status != utxo.Published {
		t.Errorf("%v, %v", rows, err)
	}
}

// A wallet that is scanned to the tip follows the tip: blocks that join or leave the chain
// write nothing about it.
func TestABlockWritesNothingAboutAWalletThatFollows(t *testing.T) {
	b := newDesk(t)
	first := b.next()
	b.tip = first.Block
	if set := do(t, b.Ledger, first); len(set.Wallets) != 1 || !set.Wallets[0].New.Follows {
		t.Errorf("the first block writes %+v", set.Wallets)
	}
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2, Birth: b.tip.Height + 1})
	second := b.next()
	for _, ev := range []utxo.Event{second, utxo.Disconnected{Hash: second.Block.Hash}, second} {
		if set := do(t, b.Ledger, ev); len(set.Wallets) != 0 {
			t.Errorf("%T writes %+v", ev, set.Wallets)
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
	if _, err := b.DoAt(utxo.Broadcasted{ID: id}, utxotest.Start); !errors.As(err, &refusal) || refusal.ID != id.String() ||
		refusal.State != "failed" || refusal.Event != "Broadcasted" {
		t.Errorf("it is %+v", refusal)
	}
	if _, err := utxo.ParseTx([]byte{1, 2}); !errors.Is(err, statemachine.ErrCorrupt) {
		t.Errorf("bytes that are no transaction: %v", err)
	}
}

// late is a policy whose host learns later that mine('b') belongs to an owner.
func late(to utxo.Owner) (policy utxo.Policy, learn func()) {
	policy = utxotest.Policy()
	known, learnt := policy.Owner, false
	policy.Owner = func(script []byte) (utxo.Owner, bool) {
		if string(script) != string(mine('b')) {
			return known(script)
		}
		return to, learnt
	}
	return policy, func() { learnt = true }
}

// A transaction that the network has, known only to another wallet, becomes published in
// the wallet that submits it, and may declare what it replaced.
func TestSubmittedOfWhatAnotherWalletHasPublished(t *testing.T) {
	policy, learn := late(utxo.Owner{Wallet: 2, Tag: "b"})
	l := utxo.NewLedger(policy)
	do(t, l, utxo.WalletOpened{Wallet: 1})
	do(t, l, utxo.WalletOpened{Wallet: 2})
	rival := utxotest.NewTx(1, ins(utxotest.External(1)), utxotest.Pay(5, mine('a')))
	tx := utxotest.NewTx(2, ins(utxotest.External(1)), utxotest.Pay(5, mine('a')), utxotest.Pay(6, mine('b')))
	do(t, l, utxo.Observed{Txs: []*wire.MsgTx{rival}})
	do(t, l, utxo.Observed{Txs: []*wire.MsgTx{tx}})
	id := utxo.TxID{Wallet: 2, Hash: tx.TxHash()}
	if _, err := l.DoAt(utxo.Submitted{Wallet: 2, Tx: tx}, utxotest.Start); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("before it concerns the wallet: %v", err)
	}
	learn()
	for name, hash := range map[string]chainhash.Hash{"nothing": {1}, "itself": tx.TxHash()} {
		_, err := l.DoAt(utxo.Submitted{Wallet: 2, Tx: tx, Replaces: []chainhash.Hash{hash}}, utxotest.Start)
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("it replaces %s: %v", name, err)
		}
	}
	set := do(t, l, utxo.Submitted{Wallet: 2, Tx: tx, Replaces: []chainhash.Hash{rival.TxHash(), rival.TxHash()}})
	rows, _ := l.Txs(id)
	if n := len(set.Replaced) + len(set.Declared); n != 1 { // a table would meet its key
		t.Errorf("one that is named twice is written %d times", n)
	}
	if !set.Wide || len(rows) != 1 || rows[0].Status != utxo.Published || len(rows[0].Outputs) != 1 || rows[0].Outputs[0].Amount != 6 {
		t.Errorf("wide %t, its rows are %+v", set.Wide, rows)
	}
	edges, _ := l.Replacements(id)
	if !slices.Equal(edges, []utxo.Replacement{{Wallet: 2, Loser: rival.TxHash(), Winner: tx.TxHash(), Declared: true}}) {
		t.Errorf("the edges of wallet 2 are %v", edges)
	}
	if set := do(t, l, utxo.Submitted{Wallet: 2, Tx: tx, Replaces: []chainhash.Hash{rival.TxHash()}}); !set.Empty() {
		t.Errorf("the same again changes %+v", set)
	}
	s, err := l.Snapshot()
	if err == nil {
		err = utxo.Check(s)
	}
	if err != nil {
		t.Error(err)
	}
}

// old is a store whose sequence numbers were given before they had an end.
type old struct{ *utxo.Ledger }

func (old) Seq() (int64, error) { return math.MaxInt64, nil }

// After the highest sequence number none can be drawn, and an observation with a lower
// number of its own is older than the highest.
func TestNoSequenceComesAfterTheLast(t *testing.T) {
	b := newDesk(t)
	for seq, want := range map[int64]error{0: statemachine.ErrInvalid, utxo.MaxSeq: nil} {
		set, err := utxotest.Policy().PlanAt(old{b.Ledger}, b.seen(seq, b.tx(nil, mine('a'))), utxotest.Start)
		if !errors.Is(err, want) || set.Seq != (utxo.SeqChange{}) {
			t.Errorf("sequence %d: %v, %v", seq, set.Seq, err)
		}
	}
}

// An answer to a host stays as it was when the ledger moves on.
func TestAnswersDoNotMoveOn(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	tx := b.submit(b.tx(ins(out(deposit, 0)), mine('a'), mine('b')))
	id := utxo.TxID{Wallet: 1, Hash: tx.TxHash()}
	answers := map[string]*utxo.Tx{}
	keep := func(name string, txs []*utxo.Tx, err error) {
		if err != nil || len(txs) == 0 {
			t.Fatal(name, err)
		}
		answers[name] = txs[0]
	}
	live, err := b.LiveUnconfirmed(1)
	keep("LiveUnconfirmed", live, err)
	pending, err := b.PendingElsewhere(2)
	keep("PendingElsewhere", pending, err)
	history, err := b.History(1, nil, 10)
	keep("History", history, err)
	all, err := b.Snapshot()
	keep("Snapshot", all.Txs[slices.IndexFunc(all.Txs, func(x *utxo.Tx) bool { return x.ID == id }):], err)
	detail, err := utxo.ReadDetail(b, id)
	keep("ReadDetail", []*utxo.Tx{detail.Tx}, err)
	b.submit(b.tx(ins(out(tx, 1)), mine('a')))
	b.connect(tx)
	for name, tx := range answers {
		if tx.ID != id || tx.Status != utxo.Pending || tx.Confirmed() || tx.Outputs[1].Spent() {
			t.Errorf("%s has moved on: %s is %s at height %d, spent by %s", name, tx.ID, tx.Status, tx.Height, tx.Outputs[1].SpentBy)
		}
	}
}

// A caller's bytes are its own, before and after.
func TestACallerKeepsItsTransaction(t *testing.T) {
	b := newDesk(t)
	tx := b.observe(b.tx(nil, mine('a')))
	op := out(tx, 0)
	tx.TxOut[0].PkScript[0]++
	if coins, err := b.Coins(1, op); err != nil || len(coins) != 1 || string(coins[0].Script) != string(mine('a')) {
		t.Errorf("the coin is %v, %v", coins, err)
	}
	for _, broken := range []*wire.MsgTx{{TxIn: []*wire.TxIn{nil}, TxOut: tx.TxOut}, {TxIn: tx.TxIn, TxOut: []*wire.TxOut{nil}}} {
		if _, err := b.DoAt(utxo.Submitted{Wallet: 1, Tx: broken}, utxotest.Start); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("a transaction with nothing in a place: %v", err)
		}
	}
}

// The ledger cannot prove that a transaction on a stranger's coin is dead. A person can,
// and may pay again without naming the old payment.
func TestWhatStandsOnAStrangersCoinIsNotProvablyDead(t *testing.T) {
	b := newDesk(t)
	funds := b.tx(nil, mine('a'))
	b.connect(funds)
	coin := ins(utxotest.External(99))
	parent := b.observe(b.tx(coin, utxotest.Foreign))
	deposit := b.tx(ins(out(parent, 0)), mine('a'))
	do(t, b.Ledger, utxo.Observed{Txs: []*wire.MsgTx{parent, deposit}, Tip: b.tip.Hash})
	payment := b.submit(b.tx(ins(out(deposit, 0)), utxotest.Foreign))
	b.connect(b.tx(coin, utxotest.Foreign))
	b.connect()
	b.connect()
	id := utxo.TxID{Wallet: 1, Hash: payment.TxHash()}
	if rows, err := b.Txs(id); err != nil || rows[0].Status != utxo.Failed {
		t.Errorf("the payment is %v, %v", rows[0].Status, err)
	}
	if dead, err := utxo.ProvablyDead(b, id, 1); err != nil || dead {
		t.Errorf("what beat a stranger's transaction is kept: %t, %v", dead, err)
	}
	again := b.tx(ins(out(funds, 0)), utxotest.Foreign)
	_, err := b.DoAt(utxo.Submitted{Wallet: 1, Tx: again, Replaces: []chainhash.Hash{id.Hash}}, utxotest.Start)
	if !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a payment that names it: %v", err)
	}
	b.submit(again)
}

// A deposit whose foreign grandparent was double-spent waits, and an alert names it, until
// the host gives it up. A block that has the deposit after all revives it.
func TestADepositOfALostAncestorWaitsToBeGivenUp(t *testing.T) {
	b := newDesk(t)
	coin := ins(utxotest.External(99))
	first := b.tx(coin, utxotest.Foreign)
	second := b.tx(ins(out(first, 0)), utxotest.Foreign)
	deposit := b.tx(ins(out(second, 0)), mine('a'))
	do(t, b.Ledger, utxo.Observed{Txs: []*wire.MsgTx{first, second, deposit}, Tip: b.tip.Hash})
	b.connect(b.tx(coin, utxotest.Foreign))
	id := utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}
	waits := func() bool {
		stats, err := utxo.ReadStats(b, 1, utxotest.Start.Add(48*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		alerts := utxo.Alerts(stats, utxo.Thresholds{PublishedWait: 24 * time.Hour})
		return len(alerts) == 1 && alerts[0].Name == "published wait" && strings.Contains(alerts[0].Text, id.String())
	}
	if !waits() {
		t.Error("no alert names the deposit that waits")
	}
	do(t, b.Ledger, utxo.Invalidated{ID: id, Reason: "its line was double-spent"})
	if sum, _ := b.Balance(utxotest.Policy(), 1, nil, 1, utxotest.Start); waits() || sum != (utxo.Balance{}) {
		t.Errorf("given up, it waits %t and counts %+v", waits(), sum)
	}
	b.connect(deposit)
	if sum, _ := b.Balance(utxotest.Policy(), 1, nil, 1, utxotest.Start); sum.Confirmed != 100_000 {
		t.Errorf("in a block it counts %+v", sum)
	}
}

// What spends a revealed output joins its wallet as the wallet's own, by one line.
func TestRivalsOfARevealedOutputJoinByOneLine(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	theirs := utxotest.Script(2, "a")
	parent := b.tx(nil, mine('a'), utxotest.Foreign)
	b.observe(parent)
	coin := ins(out(parent, 1))
	do(t, b.Ledger, b.seen(2, b.tx(coin, theirs)))
	do(t, b.Ledger, b.seen(3, b.tx(coin, theirs)))
	set := do(t, b.Ledger, utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: parent.TxHash()}, Index: 1, Tag: "b"})
	if len(set.Inserts) != 2 || len(set.Log) != 3 {
		t.Errorf("%d rows join by the lines %+v", len(set.Inserts), set.Log)
	}
}

// A line says by what a transaction ended, and the reason is its own alone.
func TestWhatIsGivenUpSaysWhy(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	sent := b.observe(b.tx(ins(out(deposit, 0)), mine('a')))
	b.observe(b.tx(ins(out(sent, 0)), mine('a')))
	set := do(t, b.Ledger, utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: sent.TxHash()}, Reason: "lost"})
	if len(set.Log) != 2 || set.Log[0].Trigger != "invalidated" || set.Log[0].Reason != "lost" || set.Log[1].Trigger != "parent_died" ||
		set.Log[1].Reason != "" {
		t.Errorf("the lines are %+v", set.Log)
	}
}

// The last sequence of a store never falls.
func TestAnOlderSequenceMovesNothingBack(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, b.seen(9, b.tx(nil, mine('a'))))
	if set := do(t, b.Ledger, b.seen(5, b.tx(nil, mine('a')))); len(set.Inserts) != 1 || set.Seq != (utxo.SeqChange{}) {
		t.Errorf("%d rows, the sequence moves %v", len(set.Inserts), set.Seq)
	}
}

// When a transaction is given up, its line has the host's reason; the lines of its
// descendants say only that their parent died. This holds for a pending and a published
// one.
func TestTheReasonOfWhatIsGivenUpIsInItsLineAlone(t *testing.T) {
	for _, published := range []bool{false, true} {
		b := newDesk(t)
		parent := b.submit(b.tx(nil, mine('a')))
		child := b.submit(b.tx(ins(out(parent, 0)), mine('a')))
		id := utxo.TxID{Wallet: 1, Hash: parent.TxHash()}
		if published {
			do(t, b.Ledger, utxo.Broadcasted{ID: id})
		}
		set := do(t, b.Ledger, utxo.Invalidated{ID: id, Reason: "no fee"})
		var lines []string
		for _, line := range set.Log {
			lines = append(lines, line.Trigger+" "+line.Reason)
		}
		if want := []string{utxo.OnInvalidated.String() + " no fee", utxo.OnParentDied.String() + " "}; !slices.Equal(lines, want) {
			t.Errorf("published %t: the lines are %q, want %q", published, lines, want)
		}
		if last := set.Log[len(set.Log)-1].ID.Hash; last != child.TxHash() {
			t.Errorf("the last line is of %s", last)
		}
	}
}
