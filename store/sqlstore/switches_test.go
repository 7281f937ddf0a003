package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
	"github.com/settlehq/settle/withdrawal"
)

func TestSwitches(t *testing.T) {
	suite(t, store.DomainRefreshes, storetest.Switches[store.Unit]) // every domain has them
}

func TestProcesses(t *testing.T) {
	suite(t, store.DomainRefreshes, storetest.Processes[store.Unit]) // every domain has them
}

// switchOf is the switch of a store that another process has opened on a database.
func switchOf(t testing.TB, db database) *store.Switches {
	t.Helper()
	s, err := store.NewSwitches(db.open(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stopped(scope switches.Scope, level switches.Level) switches.Stopped {
	return switches.Stopped{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: scope, Level: level, Reason: "stolen key"}
}

var chain1 = named("chain 1") // without nonces

func newPayer(t testing.TB, d sqlstore.Dialect) *bank {
	return newBank(t, d, withdrawal.HotWallet{ID: named("wallet 1"), Chain: chain1})
}

// Who waits for the scope of a stop has begun its statement before the stop was
// committed, and its first snapshot is from before it too: it is refused all the same.
func TestAStopRefusesWhoAskedBeforeItAndWaited(t *testing.T) {
	b := newPayer(t, sqlstore.Postgres)
	ctx := context.Background()
	w := b.claimed(t, chain1)
	scope := switches.Chain(chain1)
	stopper, err := b.DB.BeginTx(ctx, nil) // holds the scope as the look of a stop does, for longer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stopper.Rollback() }()
	lock := b.table("settle_switches") + " " + string(scope)
	if _, err := stopper.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", lock); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, w.Request.ID, prepared(&w))
		done <- err
	}()
	for waits := false; !waits; {
		err := b.DB.QueryRow("SELECT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND NOT l.granted "+
			"AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended($1, 0))", lock).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatal("who asks does not wait for the scope: ", err)
		default:
		}
	}
	if _, err := switchOf(t, b.database).Do(ctx, scope, stopped(scope, switches.Begin)); err != nil {
		t.Fatal(err)
	}
	if err := stopper.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, withdrawal.ErrOnHold) {
		t.Errorf("it was prepared after the stop: %v", err)
	}
}

// A transaction that hangs keeps neither the stop nor others from what they do: the stop
// lands, refuses who asks from then on, and names the one that is open.
func TestAStopNamesWhatIsOpen(t *testing.T) {
	b := newPayer(t, sqlstore.Postgres)
	ctx := context.Background()
	hung, other := b.claimed(t, chain1), b.claimed(t, chain1)
	scope := switches.Chain(chain1)
	host, err := b.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Rollback() }()
	var pid int64
	if err := host.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	tx, err := b.Store.Within(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Withdrawals.Within(tx).Do(ctx, hung.Request.ID, prepared(&hung)); err != nil {
		t.Fatal(err)
	}
	operator := switchOf(t, b.database)
	if is, err := operator.Do(ctx, scope, stopped(scope, switches.Begin)); err != nil || is.Level != switches.Begin {
		t.Fatal(is, err)
	}
	for _, s := range []switches.Scope{scope, switches.Everything} {
		q, err := operator.Quiet(ctx, s, 0)
		if err != nil || !q.Since.IsZero() || len(q.Open) != 1 || q.Open[0].PID != pid {
			t.Fatalf("%s: %+v, %v, expected process %d", s, q, err, pid)
		}
	}
	if q, err := operator.Quiet(ctx, switches.Chain(bsc), 0); err != nil || q.Since.IsZero() || len(q.Open) > 0 {
		t.Errorf("of another chain: %+v, %v", q, err)
	}
	if _, err := b.Do(ctx, other.Request.ID, prepared(&other)); !errors.Is(err, withdrawal.ErrOnHold) {
		t.Errorf("who asks after the stop: %v", err)
	}
	if err := host.Commit(); err != nil {
		t.Fatal(err)
	}
	if q, err := operator.Quiet(ctx, scope, 0); err != nil || q.Since.IsZero() || len(q.Open) > 0 {
		t.Errorf("after its end: %+v, %v", q, err)
	}
}

// A stop needs three tables: its own, the log and the journal. Nobody who reads, counts or writes anything else is in its way.
func TestAStopLandsWhileEverythingElseIsLocked(t *testing.T) {
	b := newPayer(t, sqlstore.Postgres)
	ctx := context.Background()
	locker, err := b.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Rollback() }()
	rows, err := b.DB.Query("SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' "+
		"AND c.relname NOT IN ('settle_switches', 'transitions', 'settle_places', 'settle_versions', 'settle_journal')", b.opts.Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		if _, err := locker.Exec("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil || n < 10 {
		t.Fatal(n, err)
	}
	service, err := store.NewSwitches(b.Store)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []switches.Scope{switches.Chain(chain1), switches.Everything} {
		if _, q, err := service.Stop(ctx, stopped(scope, switches.Send)); err != nil || q.Since.IsZero() {
			t.Errorf("%s: %+v, %v", scope, q, err)
		}
	}
}

// One process stops while others pay: when the stop has said since when, no payment of any
// process begins any more.
func TestNothingBeginsAfterAConfirmedStop(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newPayer(t, d)
		ctx := context.Background()
		const payers, before = 4, 3 // of payments that each may begin before the stop
		var stops atomic.Bool
		var begun atomic.Int64
		var work sync.WaitGroup
		ready, confirmation := make(chan struct{}, payers), make(chan struct{})
		for i := range payers {
			process, err := store.NewWithdrawals(b.database.open(t), b.policy)
			if err != nil {
				t.Fatal(err)
			}
			all := make([]withdrawal.Withdrawal, 40)
			for k := range all {
				all[k] = b.claimed(t, chain1)
			}
			work.Go(func() {
				refused := 0
				for k := range all {
					if k == len(all)-1 {
						<-confirmation
					}
					confirmed := stops.Load()
					_, err := process.Do(ctx, all[k].Request.ID, prepared(&all[k]))
					switch {
					case err == nil && confirmed:
						t.Errorf("payer %d began a payment after the stop was confirmed", i)
					case err == nil:
						begun.Add(1)
					case errors.Is(err, withdrawal.ErrOnHold):
						refused++
					default:
						t.Errorf("payer %d: %v", i, err)
					}
					if k == before {
						ready <- struct{}{}
					}
				}
				if refused == 0 {
					t.Errorf("payer %d was refused nothing", i)
				}
			})
		}
		for range payers {
			<-ready
		}
		_, q, err := switchOf(t, b.database).Stop(ctx, stopped(switches.Chain(chain1), switches.Begin))
		if err != nil || q.Since.IsZero() {
			t.Errorf("%+v, %v", q, err)
		}
		stops.Store(true)
		close(confirmation)
		var then int64
		count := func() (n int64) {
			if err := b.DB.QueryRow("SELECT count(*) FROM " + b.table("transitions") + " WHERE machine = 'withdrawal_job' AND trigger = 'prepare'").Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		then = count()
		work.Wait()
		if now := count(); now != then || now != begun.Load() {
			t.Errorf("%d payments had begun when the stop was confirmed, %d at the end", then, now)
		}
	})
}

// sentTo counts the statements that a server gets and that have a word.
type sentTo struct {
	word string
	n    atomic.Int64
	all  atomic.Int64
}

func (s *sentTo) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.all.Add(1)
	if strings.Contains(q.SQL, s.word) {
		s.n.Add(1)
	}
	return ctx
}

func (*sentTo) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// The switch costs one statement for each transaction in which something begins, whatever
// begins in it, and none for a claim or an order.
func TestTheSwitchCostsOneStatementPerBeginning(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	b := newPayer(t, sqlstore.Postgres)
	config, err := pgx.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	asked := &sentTo{word: "settle_ask"}
	config.Tracer = asked
	db := b.database
	db.DB = stdlib.OpenDB(*config)
	t.Cleanup(func() { db.DB.Close() })
	db.DB.SetMaxIdleConns(4)
	service, err := store.NewWithdrawals(db.open(t), b.policy)
	if err != nil {
		t.Fatal(err)
	}
	costs := func(what string, want int64, do func() error) {
		t.Helper()
		before := asked.n.Load()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := asked.n.Load() - before; got != want {
			t.Errorf("%s asks the switch %d times, expected %d", what, got, want)
		}
	}
	for range 20 {
		s := b.submission(chain1)
		b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)})
	}
	costs("an order of 20", 1, func() error { // while the chain is recovering after a restore, nothing is ordered
		_, _, err := service.EnqueueDue(ctx, chain1, 20, func(withdrawal.Request) withdrawal.Enqueued {
			return withdrawal.Enqueued{By: as(withdrawal.System), Job: b.id(), AssetOnChain: named("usdt on bsc"), Priority: withdrawal.Normal}
		})
		return err
	})
	source := service.Payments(chain1, "payer")
	var held []store.HeldWithdrawal
	costs("a claim of 20", 0, func() error {
		items, _, err := source.Turn(ctx, nil, 20)
		for i := range items {
			w := items[i].Work
			held = append(held, store.HeldWithdrawal{Withdrawal: w, Events: []withdrawal.Event{prepared(&w)}})
		}
		if len(items) != 20 {
			return fmt.Errorf("%d are claimed", len(items))
		}
		return err
	})
	costs("one preparation", 1, func() error {
		_, err := service.DoHeld(ctx, held[0])
		return err
	})
	costs("19 preparations in one transaction", 1, func() error {
		_, err := service.DoHeld(ctx, held[1:]...)
		return err
	})
	costs("a broadcast", 0, func() error {
		w := held[0].Withdrawal
		_, err := service.Do(ctx, w.Request.ID, broadcast(&w))
		return err
	})
	costs("a look at what is owed", 0, func() error {
		_, _, err := service.Next(ctx, held[1].Withdrawal.Request.ID)
		return err
	})

	o := newOldSwaps(t, db.at(t, time.Time{}))
	o.add(t, swap.ToUSDD, "", swap.Observed{By: swapOf(swap.Observer, 0), Amount: 10_000_000, From: "alice", Time: swaptest.Start, Success: true, Finalized: true})
	row, worker := o.rows[len(o.rows)-1], swapOf(swap.Worker, time.Second)
	send := swap.Begun{By: worker, Fence: 1, Number: 1, Action: swap.Send}
	for _, c := range []struct {
		what string
		want int64
		ev   []swap.Event
	}{
		{"a swap until it is to be paid", 0, []swap.Event{swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:carol"}},
			swap.AccountChecked{By: worker, State: swap.AccountUsable}}},
		{"its send", 1, []swap.Event{send}},
		{"the answer", 0, []swap.Event{swap.Answered{By: worker, Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "sig"}}},
	} {
		costs(c.what, c.want, func() error { _, err := o.Deposits.Do(ctx, row.id, c.ev...); return err })
	}
	others := newOldOthers(t, db)
	biller := dunning.By(relayOf(relaysync.Biller))
	costs("a charge", 1, func() error {
		_, err := others.tenants.Do(ctx, "t1", dunning.StepBegun{By: biller}, dunning.ChargeIntended{By: biller, Invoice: "t1/1", Key: "t1/1/0"})
		return err
	})
	costs("its answer", 0, func() error {
		_, err := others.tenants.Do(ctx, "t1", dunning.ChargeAnswered{By: biller, Invoice: "t1/1", Key: "t1/1/0", Outcome: statemachine.Done})
		return err
	})
	costs("a sync, whose claim is its beginning", 1, func() error {
		_, err := others.relays.Do(ctx, "relay_0", relaysync.Claimed{By: relayOf(relaysync.Reactor)})
		return err
	})
	costs("its end", 0, func() error {
		_, err := others.relays.Do(ctx, "relay_0", relaysync.Finished{By: relayOf(relaysync.Reactor), Fence: 1, Outcome: statemachine.Done})
		return err
	})
}

// The database refuses deletes, and values that no event can produce.
func TestTheTableOfSwitches(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		_, db := newStore(t, d)
		service := switchOf(t, db)
		scope := switches.Chain(uuid.New())
		if _, err := service.Do(context.Background(), scope, stopped(scope, switches.Begin)); err != nil {
			t.Fatal(err)
		}
		undo, err := db.DB.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := undo.Exec(fmt.Sprintf("UPDATE %s SET level = 'send', actor = 'olga', recovering = TRUE, recovery = 'begin', generation = 1, version = 2",
			db.table("settle_switches"))); err != nil {
			t.Errorf("what an event can produce is refused: %v", err)
		}
		if err := undo.Rollback(); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"DELETE FROM %s", "UPDATE %s SET level = 'off'", "UPDATE %s SET level = 'send', actor = NULL", "UPDATE %s SET recovering = NOT recovering",
			"UPDATE %s SET recovery = 'begin'", "UPDATE %s SET generation = -1", "UPDATE %s SET version = 0"} {
			if _, err := db.DB.Exec(fmt.Sprintf(text, db.table("settle_switches"))); err == nil {
				t.Errorf("%s is taken", text)
			}
		}
		if last, err := service.Audit(context.Background(), "", 10); err != nil || last != scope {
			t.Errorf("%q, %v", last, err)
		}
	})
}
