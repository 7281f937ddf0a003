package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A deposit is credited at its depth, once, whatever comes again; change is none, and
// dust waits.
func TestCreditedOnceAtItsDepth(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		tx := x.pays(to("ann", 5), to("change", 6), to("ben", 1), utxotest.Pay(8, utxotest.Foreign), to("ann", 9))
		x.observe(tx)
		x.is("in the mempool", tx, 0, "")
		x.mine(tx)
		x.blocks(depth - 2)
		x.is("before its depth", tx, 0, "waiting 0")
		x.blocks(1)
		x.is("at its depth", tx, 0, "credited 1")
		x.is("change", tx, 1, "")
		x.is("dust", tx, 2, "waiting 0")
		x.is("another one of the transaction", tx, 4, "credited 1")
		x.do(x.chain[0]) // a rescan
		x.restart()
		x.blocks(2)
		if n := x.postings(tx, 0); n != 1 {
			t.Errorf("%d postings", n)
		}
		// Whose the inputs are does not matter: a withdrawal to a customer is a deposit.
		inside := x.spends(utxotest.Out(tx, 1), to("ben", 4))
		x.do(utxo.Submitted{Wallet: 1, Tx: inside})
		x.mine(inside)
		x.blocks(depth - 1)
		x.is("a withdrawal to a customer", inside, 0, "credited 1")
		x.is("spent meanwhile", tx, 0, "credited 1")
	})
}

// Lines of another domain that come all the time hold up no credit.
func TestOtherDomainsHoldUpNoDeposit(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		tx := x.pays(to("ann", 5))
		x.mine(tx)
		x.blocks(depth - 2)
		x.connect()
		for range 10 {
			x.approved()
			if _, err := x.r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := x.postings(tx, 0); n != 1 {
			t.Errorf("%d postings", n)
		}
	})
}

// What was credited and reversed is credited again once it is deep, whatever the policy
// asks of new deposits meanwhile.
func TestCreditedAgainUnderAnotherPolicy(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		tx := x.pays(to("ann", 5))
		x.mine()
		x.mine(tx)
		x.blocks(depth - 1)
		x.is("at its depth", tx, 0, "credited 1")
		x.drop(depth)
		if _, err := ReverseDeposit(t.Context(), x.store, utxotest.Out(tx, 0), "olga", "it will not come back", x.credit); err != nil {
			t.Fatal(err)
		}
		x.policy.Minimum = 6
		x.restart()
		x.mine(tx)
		x.blocks(depth - 1)
		x.is("deep again", tx, 0, "credited 2")
	})
}

// A reorganisation that a deposit survives posts nothing, whether it left its depth, its
// block, or its height.
func TestReorganised(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		x.blocks(1)
		tx := x.pays(to("ann", 5))
		x.mine(tx)
		x.blocks(depth - 1)
		x.is("at its depth", tx, 0, "credited 1")
		x.drop(depth - 1)
		x.is("its own block is the tip", tx, 0, "credited 1 shaken")
		x.blocks(depth - 1)
		x.is("as deep again", tx, 0, "credited 1")
		x.drop(depth)
		x.is("its block has left", tx, 0, "credited 1 shaken")
		x.blocks(1)
		x.mine(tx)
		x.is("higher up", tx, 0, "credited 1 shaken")
		x.blocks(depth - 1)
		x.is("deep there", tx, 0, "credited 1")
		if n := x.postings(tx, 0); n != 1 {
			t.Errorf("%d postings", n)
		}
		// One that waits goes with its block and comes back with another one.
		late := x.pays(to("ben", 5))
		x.mine(late)
		x.blocks(depth - 2)
		x.drop(depth - 1)
		x.blocks(depth + 1)
		x.is("out of the chain", late, 0, "waiting 0")
		x.mine(late)
		x.blocks(depth - 1)
		x.is("in it again", late, 0, "credited 1")
	})
}

// A credit is reversed once its rival is as deep as the credit was, and it is
// credited again, in another round, if another reorganisation brings it back.
func TestDoubleSpent(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		x.blocks(1)
		tx := x.pays(to("ann", 5))
		rival := x.spends(tx.TxIn[0].PreviousOutPoint, utxotest.Pay(5, utxotest.Foreign))
		child := x.spends(utxotest.Out(tx, 0), to("ben", 4))
		x.mine(tx)
		x.mine(child)
		x.blocks(depth)
		x.is("the child", child, 0, "credited 1")
		x.drop(depth + 2)
		x.observe(rival) // in the mempool it proves nothing
		x.is("replaced", tx, 0, "credited 1 shaken")
		x.mine(rival)
		x.blocks(depth - 2)
		x.is("the rival is one block less deep", tx, 0, "credited 1 shaken")
		x.is("the child then", child, 0, "credited 1 shaken")
		x.blocks(1)
		x.is("the rival is as deep", tx, 0, "reversed 1")
		x.is("the child", child, 0, "reversed 1")
		x.drop(depth)
		x.mine(tx)
		x.mine(child)
		x.is("it comes back", tx, 0, "reversed 1")
		x.blocks(depth - 1)
		x.is("deep again", tx, 0, "credited 2")
		x.is("the child again", child, 0, "credited 2")
		if n := x.postings(tx, 0); n != 3 {
			t.Errorf("%d postings", n)
		}
	})
}

// A deposit that is replaced before it is deep is never credited, the one that takes its
// place is.
func TestReplaced(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		tx := x.pays(to("ann", 5))
		other := x.spends(tx.TxIn[0].PreviousOutPoint, to("ann", 4))
		x.mine(tx)
		x.drop(1)
		x.observe(other)
		x.mine(other)
		x.blocks(depth + 3)
		x.is("replaced", tx, 0, "waiting 0")
		x.is("in its place", other, 0, "credited 1")
		// As is one that no block had.
		never := x.pays(to("ben", 5))
		instead := x.spends(never.TxIn[0].PreviousOutPoint, to("ben", 4))
		x.observe(never)
		x.mine(instead)
		x.blocks(depth)
		x.is("never in a block", never, 0, "")
		x.is("in its place", instead, 0, "credited 1")
	})
}

// The ledger knows nothing of the strangers above a deposit's parent: that one of them
// was double-spent it cannot prove, so that an operator says it, with a reason.
func TestDoubleSpendBehindAnUnknownParent(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		ctx := t.Context()
		grandparent := x.pays(utxotest.Pay(7, utxotest.Foreign))
		parent := x.spends(utxotest.Out(grandparent, 0), utxotest.Pay(6, utxotest.Foreign))
		tx := x.spends(utxotest.Out(parent, 0), to("ann", 5))
		rival := x.spends(grandparent.TxIn[0].PreviousOutPoint, utxotest.Pay(7, utxotest.Foreign))
		op := utxotest.Out(tx, 0)
		x.mine(grandparent, parent, tx)
		x.blocks(depth)
		if _, err := ReverseDeposit(ctx, x.store, op, "olga", "no reason", x.credit); !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("it is deep: %v", err)
		}
		x.drop(depth + 1)
		x.mine(rival)
		x.blocks(3 * depth)
		x.is("the ledger cannot prove it", tx, 0, "credited 1 shaken")
		stats, err := DepositStatsOf(ctx, x.store, x.policy)
		if err != nil || stats.Shaken != 1 || stats.ShakenAmount != 5 || stats.Waiting != 0 || !stats.At.Equal(x.now) {
			t.Errorf("%+v, %v", stats, err)
		}
		page, err := ShakenDeposits(ctx, x.store, nil, 10)
		if err != nil || len(page) != 1 || page[0].OutPoint != op {
			t.Fatalf("%+v, %v", page, err)
		}
		if rest, err := ShakenDeposits(ctx, x.store, &page[0], 10); err != nil || len(rest) != 0 {
			t.Errorf("%+v, %v", rest, err)
		}
		if _, err := ShakenDeposits(ctx, x.store, nil, 0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Error(err)
		}
		failing := func(context.Context, sqlstore.Tx, store.Unit, []Fact) error { panic(errBooks) }
		if _, err := ReverseDeposit(ctx, x.store, op, "olga", "its grandparent was double-spent", failing); err == nil {
			t.Error("the books fail, and it is reversed")
		}
		x.is("the books failed", tx, 0, "credited 1 shaken")
		for range 2 { // the second time it is no news
			fact, err := ReverseDeposit(ctx, x.store, op, "olga", "its grandparent was double-spent", x.credit)
			if err != nil || fact.Kind != utxo.FactReversed || fact.Round != 1 || fact.Actor != "olga" || fact.Amount != 5 {
				t.Errorf("%+v, %v", fact, err)
			}
		}
		x.check()
		x.is("by word", tx, 0, "reversed 1")
		if _, err := ReverseDeposit(ctx, x.store, wire.OutPoint{}, "olga", "why", x.credit); !errors.Is(err, statemachine.ErrNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
		if _, err := ReverseDeposit(ctx, x.store, op, "olga", "", x.credit); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("no reason: %v", err)
		}
		if _, err := ReverseDeposit(ctx, x.store, op, "olga", "why", nil); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("no function: %v", err)
		}
		lines, _, err := store.NewJournal(x.store).Page(ctx, "", 100)
		var outcomes []string
		for _, l := range lines {
			outcomes = append(outcomes, l.Actor+" "+l.Role+" "+l.Event+" "+l.Outcome)
		}
		var want []string
		for _, outcome := range []string{"illegal", "done", "already so", "not-found", "invalid"} {
			want = append(want, "olga operator ReverseDeposit "+outcome)
		}
		if err != nil || !slices.Equal(outcomes, want) {
			t.Errorf("the journal has %q and not %q, %v", outcomes, want, err)
		}
		// She was wrong: what is deep is credited, in another round.
		x.drop(3*depth + 1)
		x.mine(grandparent, parent, tx)
		x.blocks(depth - 1)
		x.is("deep again", tx, 0, "credited 2")
	})
}

// A coinbase is credited when it is mature, and taken back when the chain without it
// is as deep as the credit was.
func TestCoinbase(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		maturity := int(x.policy.Maturity)
		x.blocks(1)
		coinbase := utxotest.NewCoinbase(7, to("pool", 50))
		x.mine(coinbase)
		x.blocks(maturity - 1)
		x.is("at its depth, and immature", coinbase, 0, "waiting 0")
		x.blocks(1)
		x.is("mature", coinbase, 0, "credited 1")
		x.drop(maturity + 1)
		x.blocks(depth - 1)
		x.is("the chain is not as deep above the fork", coinbase, 0, "credited 1 shaken")
		x.blocks(1)
		x.is("as deep", coinbase, 0, "reversed 1")
		x.drop(depth)
		x.mine(coinbase)
		x.blocks(maturity)
		x.is("mined again", coinbase, 0, "credited 2")
	})
}

// What the policy becomes counts for what waits, not for what is credited.
func TestDepthRaisedAndLowered(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		old, tx := x.pays(to("ann", 5)), x.pays(to("ben", 5))
		x.mine(old)
		x.blocks(depth - 2)
		x.mine(tx)
		x.policy.Depth = func(utxo.Owner, int64) int32 { return depth + 1 }
		x.restart()
		x.work()
		x.is("credited before", old, 0, "credited 1")
		x.blocks(depth - 1)
		x.is("raised: at the old depth", tx, 0, "waiting 0")
		x.policy.Depth = func(utxo.Owner, int64) int32 { return 1 }
		x.restart()
		x.work()
		x.is("lowered, without a block", tx, 0, "credited 1")
		next := x.pays(to("ann", 1))
		x.mine(next)
		x.is("below the minimum", next, 0, "waiting 0")
		x.policy.Minimum = 0
		x.restart()
		x.work()
		x.is("the minimum is lowered", next, 0, "credited 1")
		// One block less is shaken for what was credited at three, and not for what was at one.
		x.drop(1)
		x.drop(len(x.chain) - depth)
		x.is("credited at three, three deep", old, 0, "credited 1")
		x.drop(1)
		x.is("credited at three, two deep", old, 0, "credited 1 shaken")
	})
}

// A wallet that is opened late credits from a height on; an owner who is announced late,
// once it has caught up.
func TestOpenedAndAnnouncedLate(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		pay3 := func(tag string) *wire.MsgTx { return x.pays(utxotest.Pay(5, utxotest.Script(3, tag))) }
		early, late := pay3("ann"), pay3("ben")
		x.mine(early)
		x.mine(late)
		x.blocks(depth)
		x.policy.From = map[utxo.WalletID]int32{3: 2}
		x.third = true
		x.restart()
		x.do(utxo.WalletOpened{Wallet: 3, Birth: 1})
		for i, again := range x.chain {
			x.do(again)
			x.work()
			if i == len(x.chain)-2 {
				x.is("while the wallet is scanned", late, 0, "waiting 0")
			}
		}
		x.is("below From", early, 0, "")
		x.is("at From", late, 0, "credited 1")

		// An output turns out to be owned; its owner has to be scanned from block 3 on.
		tx := x.pays(to("ann", 5), utxotest.Pay(6, utxotest.Foreign))
		x.mine(tx)
		x.blocks(depth)
		x.do(utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: tx.TxHash()}, Index: 1, Tag: "carl", Birth: 3})
		x.work()
		x.is("its owner is behind", tx, 1, "waiting 0")
		for _, again := range x.chain[2:] {
			x.do(again)
		}
		x.work()
		x.is("its owner has caught up", tx, 1, "credited 1")
	})
}

// A posting that fails alone stops the consumer, or is put off while the others go on.
func TestADepositThatFails(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		ctx := t.Context()
		bad, good := x.pays(to("ann", 5), to("ann", 6)), x.pays(to("ben", 5))
		fails := true
		fn := func(ctx context.Context, tx sqlstore.Tx, u store.Unit, facts []Fact) error {
			for _, f := range facts {
				if f.Tag == "ann" && fails {
					return errBooks
				}
			}
			return x.credit(ctx, tx, u, facts)
		}
		runner := func(c Consumer) *runner {
			r, err := newDeposits(x.store, c, x.policy, fn)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		x.connect(bad, good)
		for range depth - 1 {
			x.connect()
		}
		stops := runner(Consumer{})
		err := settle(ctx, stops)
		s, failed := StatsOf(ctx, x.store, DepositsName)
		if !errors.Is(err, errBooks) || failed != nil || !s.Stopped || s.Error != errBooks.Error() {
			t.Errorf("%v, %+v, %v", err, s, failed)
		}
		stops.release(ctx)
		parks := runner(Consumer{OnFailure: Park})
		if err := settle(ctx, parks); err != nil {
			t.Fatal(err)
		}
		x.check()
		x.is("it fails", bad, 0, "waiting 0")
		x.is("so does its sibling", bad, 1, "waiting 0")
		x.is("the others go on", good, 0, "credited 1")
		stats, err := DepositStatsOf(ctx, x.store, x.policy)
		if err != nil || stats.Waiting != 2 || stats.WaitingAmount != 11 || !stats.WaitsSince.Equal(x.now) {
			t.Errorf("%+v, %v", stats, err)
		}
		// Both are counted and named, in whatever process, and a restart does not forget when they are tried.
		n, err := StatsOf(ctx, x.store, DepositsName)
		if a := Alerts(n, Thresholds{Parked: 1}); err != nil || n.Parked != 2 || n.Oldest.Error != errBooks.Error() ||
			len(a) != 1 || a[0].Name != "consumer parked" || !strings.Contains(a[0].Text, utxotest.Out(bad, 0).Hash.String()) {
			t.Errorf("%+v, %v, %v", n, a, err)
		}
		parks.release(ctx)
		parks = runner(Consumer{OnFailure: Park})
		if err := settle(ctx, parks); err != nil {
			t.Fatal(err)
		}
		if again, err := StatsOf(ctx, x.store, DepositsName); err != nil || again.Parked != 2 || again.Oldest != n.Oldest {
			t.Errorf("after a restart: %+v, not %+v, %v", again.Oldest, n.Oldest, err)
		}
		fails = false
		x.connect() // a reason to look at all that waits
		x.pass(time.Minute - time.Microsecond)
		if err := settle(ctx, parks); err != nil {
			t.Fatal(err)
		}
		x.is("before it is tried again", bad, 0, "waiting 0")
		x.pass(time.Microsecond)
		if err := settle(ctx, parks); err != nil {
			t.Fatal(err)
		}
		x.check()
		x.is("a minute later", bad, 0, "credited 1")
		x.is("its sibling", bad, 1, "credited 1")
		if s, err := StatsOf(ctx, x.store, DepositsName); err != nil || s.Stopped || s.Error != "" || s.Parked != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		// A policy that makes no sense fails likewise, and credits nothing.
		tx := x.pays(to("ben", 5))
		x.connect(tx)
		x.policy.Depth = func(utxo.Owner, int64) int32 { return 0 }
		parks.release(ctx)
		if err := settle(ctx, runner(Consumer{})); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("a depth of 0: %v", err)
		}
		x.is("a depth of 0", tx, 0, "waiting 0")
	})
}

// A deposit that fails waits twice as long each time, and is parked no longer where nothing is to be posted of it
// any more. It comes back with its block.
func TestAParkedDeposit(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		ctx, fails, tries := t.Context(), true, 0
		tx := x.pays(to("ann", 7))
		r, err := newDeposits(x.store, Consumer{OnFailure: Park}, x.policy,
			func(ctx context.Context, db sqlstore.Tx, u store.Unit, facts []Fact) error {
				if tries++; fails {
					return errBooks
				}
				return x.credit(ctx, db, u, facts)
			})
		if err != nil {
			t.Fatal(err)
		}
		x.r.release(ctx)
		x.r = r
		x.mine(tx)
		x.blocks(depth)
		for n := range 3 {
			if tries != n+1 {
				t.Errorf("%d tries after %d waits", tries, n)
			}
			x.pass(time.Minute<<n - 1000)
			x.work()
			if tries != n+1 {
				t.Errorf("%d tries just before the wait number %d ends", tries, n+1)
			}
			x.pass(1000)
			x.work()
		}
		lost := x.drop(depth + 1)
		x.pass(time.Hour)
		x.work()
		if s, err := StatsOf(ctx, x.store, DepositsName); err != nil || s.Parked != 0 || tries != 4 {
			t.Errorf("of a deposit that is in no block: %+v, %v, %d tries", s, err, tries)
		}
		fails = false
		for i := range lost {
			x.do(lost[len(lost)-1-i])
			x.chain = append(x.chain, lost[len(lost)-1-i])
		}
		x.work()
		x.is("back in the chain", tx, 0, "credited 1")
	})
}

// Not more than MaxParked deposits are parked: the consumer stops instead.
func TestNoMoreThanMaxParkedDeposits(t *testing.T) {
	x := newExchange(newHost(t, sqlstore.SQLite))
	r, err := newDeposits(x.store, Consumer{OnFailure: Park}, x.policy,
		func(context.Context, sqlstore.Tx, store.Unit, []Fact) error { return errBooks })
	if err != nil {
		t.Fatal(err)
	}
	x.r.release(t.Context())
	x.r = r
	x.mine(x.pays(to("ann", 7)))
	full := make([]sqlstore.Line, MaxParked)
	for i := range full {
		full[i] = sqlstore.Line{Transition: statemachine.Transition[string]{Machine: "m", ID: fmt.Sprint(i), Version: 1}, Aggregate: "other", Root: "m"}
	}
	if err := x.store.Update(t.Context(), func(u store.Unit) error {
		of, err := sqlstore.ConsumersOf(u)
		if err != nil {
			return err
		}
		return of.Park(parkable(r.Consumer, full, 0, errBooks, x.now)...)
	}); err != nil {
		t.Fatal(err)
	}
	for range depth - 1 {
		x.connect()
	}
	if err := settle(t.Context(), r); !errors.Is(err, ErrTooManyParked) || !errors.Is(err, errBooks) {
		t.Error(err)
	}
}

// An owner who becomes a customer after the output's line was given: the next process finds what is in the chain,
// and so does one that runs, once somebody says RescanDeposits. From is a height of the policy likewise.
func TestACustomerWhoIsKnownLater(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		customer := false
		is := x.policy.Customer
		x.policy.Customer = func(o utxo.Owner) bool { return is(o) && (customer || o.Tag != "ann") }
		x.policy.From = map[utxo.WalletID]int32{1: 2}
		x.restart()
		below, early, spent, late := x.pays(to("ben", 4)), x.pays(to("ann", 5)), x.pays(to("ann", 6)), x.pays(to("ann", 7))
		x.mine(below)
		x.mine(early, spent)
		x.mine(x.spends(utxotest.Out(spent, 0), to("hot", 5)))
		x.blocks(depth)
		x.is("of nobody", early, 0, "")
		customer = true
		x.blocks(1)
		x.is("the running process was told nothing", early, 0, "")
		if err := RescanDeposits(t.Context(), x.store); err != nil {
			t.Fatal(err)
		}
		x.work()
		x.is("the running process is told", early, 0, "credited 1")
		x.is("and spent since", spent, 0, "credited 1")
		x.is("below From", below, 0, "")

		customer = false
		x.restart()
		x.mine(late)
		x.work()
		x.is("of nobody again", late, 0, "")
		customer, x.policy.From = true, nil
		x.restart()
		x.work()
		x.is("another process, too early", late, 0, "waiting 0")
		x.is("another process, of a lower From", below, 0, "credited 1")
		x.blocks(depth)
		x.is("another process", late, 0, "credited 1")
	})
	x := newExchange(newHost(t, sqlstore.SQLite))
	if err := RescanDeposits(t.Context(), x.store); !errors.Is(err, statemachine.ErrNotFound) {
		t.Error(err)
	}
}

func TestDepositAlerts(t *testing.T) {
	at := utxotest.Start
	stats := DepositStats{At: at.Add(time.Hour), DepositTally: sqlstore.DepositTally{Shaken: 2, ShakenAmount: 7,
		Waiting: 1, WaitingAmount: 5, WaitsSince: at}}
	for name, tt := range map[string]struct {
		limits DepositThresholds
		want   []string
	}{
		"at the limits":   {DepositThresholds{2, time.Hour}, nil},
		"above":           {DepositThresholds{1, time.Hour - 1}, []string{"deposits shaken", "deposits waiting"}},
		"none is watched": {DepositThresholds{}, []string{"deposits shaken"}},
	} {
		var got []string
		for _, a := range DepositAlerts(stats, tt.limits) {
			got = append(got, a.Name)
			if a.Text == "" {
				t.Errorf("%s says nothing", a.Name)
			}
		}
		if len(got) != len(tt.want) || len(got) > 0 && got[0] != tt.want[0] || len(got) > 1 && got[1] != tt.want[1] {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := DepositAlerts(DepositStats{At: at}, DepositThresholds{0, 1}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestDepositArguments(t *testing.T) {
	x := newExchange(newHost(t, sqlstore.SQLite))
	ctx := t.Context()
	if err := Deposits(ctx, x.store, Consumer{}, x.policy, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if err := Deposits(ctx, nil, Consumer{}, x.policy, x.credit); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if err := Deposits(ctx, x.store, Consumer{}, utxo.DepositPolicy{}, x.credit); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if err := Deposits(ctx, x.store, Consumer{Lines: -1}, x.policy, x.credit); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
}
