package follow

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A process that is cut before or after any of its statements has credited, or reversed,
// once or not yet, and the next process goes on.
func TestDepositsKilledAtEveryStatement(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		var tx *wire.MsgTx
		x.blocks(1)
		for _, c := range []struct {
			name    string
			prepare func() string
		}{
			{"credit", func() string {
				tx = x.pays(to("ann", 5), to("ben", 6))
				x.connect(tx)
				for range depth - 1 {
					x.connect()
				}
				return "credited 1"
			}},
			{"reversal", func() string {
				tx = x.pays(to("ann", 5), to("ben", 6))
				x.mine(tx)
				x.blocks(depth - 1)
				for range depth {
					x.do(utxo.Disconnected{Hash: x.tip().Hash})
					x.chain = x.chain[:len(x.chain)-1]
				}
				x.connect(x.spends(tx.TxIn[0].PreviousOutPoint, utxotest.Pay(1, utxotest.Foreign)))
				for range depth - 1 {
					x.connect()
				}
				return "reversed 1"
			}},
		} {
			// Before and after each commit, and before or after some of the statements.
			every := sampled(x.dialect)
			commits := x.cuts(c.name, c.prepare, &tx, 1, "COMMIT", func(n int) bool { return n%2 == 0 })
			if all := x.cuts(c.name, c.prepare, &tx, every, "", func(n int) bool { return n/every%2 == 0 }); commits < 4 || all*every < 20 {
				t.Errorf("%s: %d cuts at commits, %d at statements", c.name, commits, all)
			}
		}
	})
}

// sampled is how many statements are passed over from one cut to the next: with
// SETTLE_SOAK=1 each second one is cut, and on PostgreSQL, where each cut takes longer, each
// fifth; else each ninth and each nineteenth.
func sampled(d sqlstore.Dialect) int {
	if os.Getenv("SETTLE_SOAK") != "" {
		return map[sqlstore.Dialect]int{sqlstore.SQLite: 2, sqlstore.Postgres: 5}[d]
	}
	return map[sqlstore.Dialect]int{sqlstore.SQLite: 9, sqlstore.Postgres: 19}[d]
}

// cuts kills a process at one statement after the other, of those with a text, and
// returns how many there were.
func (x *exchange) cuts(name string, prepare func() string, tx **wire.MsgTx, every int, only string, after func(n int) bool) (cuts int) {
	x.t.Helper()
	for n := every; ; n += every {
		want, at := prepare(), n
		if only != "" {
			at = (n + 1) / 2 // each one twice
		}
		x.r.release(x.t.Context())
		x.r.fence = 0
		s, process, closed := x.cut()
		r, err := newDeposits(s, Consumer{}, x.policy, x.credit)
		if err != nil {
			x.t.Fatal(err)
		}
		process.Cut(at, after(n), only)
		err = settle(x.t.Context(), r)
		switch v := judge(r.Consumer, err, 0, false); {
		case err == nil && process.Dead():
			x.t.Fatalf("%s, cut at %d %s: nothing failed", name, at, only)
		case err != nil && v != again:
			x.t.Errorf("%s, cut at %d %s, after %v: Run would not go on after %v", name, at, only, after(n), err)
		}
		x.check()
		closed()
		x.pass(time.Minute)
		x.work()
		x.is(name, *tx, 0, want)
		x.is(name, *tx, 1, want)
		if err == nil {
			return cuts
		}
		cuts++
	}
}

// Another process takes the consumer between the look at a deposit and its posting.
func TestDepositsTakenOver(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		ctx := t.Context()
		tx := x.pays(to("ann", 5))
		x.mine(tx)
		x.blocks(depth - 2)
		x.connect()
		s := x.looks()
		x.pass(time.Minute)
		other, err := newDeposits(x.store, Consumer{}, x.policy, x.credit)
		if err != nil {
			t.Fatal(err)
		}
		if err := settle(ctx, other); err != nil {
			t.Fatal(err)
		}
		x.is("the other process", tx, 0, "credited 1")
		if err := x.r.tasked(ctx, s, x.posts(s)); err != nil || x.r.fence != 0 {
			t.Errorf("%v, fence %d", err, x.r.fence)
		}
		x.check()
		x.pass(time.Minute)
		x.work()
		if n := x.postings(tx, 0); n != 1 {
			t.Errorf("%d postings", n)
		}
	})
}

// looks lets the consumer look until it has found a deposit to post.
func (x *exchange) looks() seen {
	x.t.Helper()
	for range 10 {
		s, err := x.r.look(x.t.Context())
		if err != nil {
			x.t.Fatal(err)
		}
		if s.task != nil {
			return s
		}
		if _, err := x.r.step(x.t.Context()); err != nil {
			x.t.Fatal(err)
		}
	}
	x.t.Fatal("it finds nothing")
	return seen{}
}

// posts is the commit of what was found.
func (x *exchange) posts(s seen) error {
	return x.r.commit(x.t.Context(), s, true, s.task.run, func(_ sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
		return moved(x.r.Consumer, s.row, s.row.Cursor, now), nil
	})
}

// What is stored in the transaction of the posting counts, and not what was looked at
// before.
func TestABlockLeavesBeforeThePosting(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		tx := x.pays(to("ann", 5))
		x.mine(tx)
		x.blocks(depth - 2)
		x.connect()
		s := x.looks()
		x.do(utxo.Disconnected{Hash: x.tip().Hash})
		if err := x.posts(s); err != nil {
			t.Fatal(err)
		}
		x.is("a block less", tx, 0, "waiting 0")
		x.chain = x.chain[:len(x.chain)-1]
		x.restart()
		x.blocks(1)
		x.is("the block again", tx, 0, "credited 1")
	})
}

// A block may leave while the posting is under way: the credit stands, and is shaken. No
// block may come or leave while a reversal is judged and posted.
func TestABlockLeavesDuringThePosting(t *testing.T) {
	x := newExchange(newHost(t, sqlstore.Postgres))
	during := func(fn func(context.Context, sqlstore.Tx)) {
		credit := x.credit
		r, err := newDeposits(x.store, Consumer{}, x.policy, func(ctx context.Context, tx sqlstore.Tx, u store.Unit, facts []Fact) error {
			fn(ctx, tx)
			return credit(ctx, tx, u, facts)
		})
		if err != nil {
			t.Fatal(err)
		}
		x.r.release(t.Context())
		x.r = r
	}
	x.blocks(1)
	tx := x.pays(to("ann", 5))
	x.mine(tx)
	x.blocks(depth - 2)
	x.connect()
	during(func(context.Context, sqlstore.Tx) {
		for range depth {
			x.do(utxo.Disconnected{Hash: x.tip().Hash})
			x.chain = x.chain[:len(x.chain)-1]
		}
	})
	x.work()
	x.is("credited while it left", tx, 0, "credited 1 shaken")
	locked := false
	during(func(context.Context, sqlstore.Tx) {
		_, err := x.db.Exec("SELECT id FROM " + x.name("chain_tip") + " FOR NO KEY UPDATE NOWAIT")
		var state *pgconn.PgError
		locked = errors.As(err, &state) && state.Code == "55P03" // lock_not_available
	})
	x.connect(x.spends(tx.TxIn[0].PreviousOutPoint, utxotest.Pay(1, utxotest.Foreign)))
	for range depth - 1 {
		x.connect()
	}
	x.work()
	x.is("its rival", tx, 0, "reversed 1")
	if !locked {
		t.Error("a block could come between a proof and its posting")
	}
}

// An operator's word and the consumer's proof meet: the consumer reverses the deposit after the
// operator's call has read it. That call meets ErrRetry, runs again, and is refused by the deposit as it is
// then: the fact is posted once, and the operator reads why his word changes nothing.
func TestAReversalByWordMeetsThatOfTheConsumer(t *testing.T) {
	x := newExchange(newHost(t, sqlstore.Postgres))
	x.blocks(1)
	tx := x.pays(to("ann", 5))
	x.mine(tx)
	x.blocks(depth - 1)
	x.is("deep", tx, 0, "credited 1")
	for range depth {
		x.do(utxo.Disconnected{Hash: x.tip().Hash})
		x.chain = x.chain[:len(x.chain)-1]
	}
	calls := 0
	_, err := ReverseDeposit(t.Context(), x.store, utxotest.Out(tx, 0), "olga", "it will not come back",
		func(ctx context.Context, conn sqlstore.Tx, u store.Unit, facts []Fact) error {
			calls++
			x.connect(x.spends(tx.TxIn[0].PreviousOutPoint, utxotest.Pay(1, utxotest.Foreign)))
			for range depth - 1 {
				x.connect()
			}
			x.work()
			x.is("its rival, meanwhile", tx, 0, "reversed 1")
			return nil // the posting of the consumer would refuse it already: here the deposit alone does
		})
	if !errors.Is(err, statemachine.ErrIllegal) || errors.Is(err, store.ErrRetry) || calls != 1 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	if n := x.postings(tx, 0); n != 2 {
		t.Errorf("%d postings", n)
	}
	x.check()
	lines, _, err := store.NewJournal(x.store).Page(t.Context(), "", 100)
	if err != nil || len(lines) != 1 || lines[0].Outcome != "illegal" {
		t.Errorf("the journal has %+v, %v", lines, err)
	}
}

// An output that turns out to be owned, by an owner who is not behind, is credited without
// a new block; also where another process has put it on file, and has ended.
func TestFiledWithoutABlock(t *testing.T) {
	exchanges(t, func(t *testing.T, x *exchange) {
		ctx := t.Context()
		x.do(utxo.OwnersAnnounced{Wallet: 1, Tags: []string{"dora"}, Birth: 1})
		tx := x.pays(to("change", 5), utxotest.Pay(6, utxotest.Foreign), utxotest.Pay(7, utxotest.Foreign))
		x.mine(tx)
		x.blocks(depth)
		reveal := func(index uint32) {
			x.do(utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: tx.TxHash()}, Index: index, Tag: "dora", Birth: 1})
		}
		reveal(1)
		x.work()
		x.is("by this process", tx, 1, "credited 1")
		reveal(2)
		x.pass(time.Minute)
		other, err := newDeposits(x.store, Consumer{}, x.policy, x.credit)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // its claim, and the line
			if _, err := other.step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		x.is("by the other process", tx, 2, "waiting 0")
		x.pass(time.Minute)
		x.work()
		x.is("after it has ended", tx, 2, "credited 1")
	})
}
