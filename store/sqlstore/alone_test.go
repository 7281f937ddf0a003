package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// alonePayer is a bank on PostgreSQL with a wallet of a chain without nonces.
func alonePayer(t *testing.T) *bank {
	pgtest.Beside(t)
	return newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
}

// signed returns a withdrawal that the service was the last to write, and whose next step is its broadcast: the store
// sends the clock and one statement for it.
func (b *bank) signed(t *testing.T) withdrawal.Withdrawal {
	t.Helper()
	ctx, chain := context.Background(), named("no nonces")
	if _, err := b.DoAll(ctx, b.enqueued(chain, 1)...); err != nil {
		t.Fatal(err)
	}
	items, _, err := b.Payments(chain, "worker").Turn(ctx, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := items[0].Work
	ws, err := b.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: w, Events: []withdrawal.Event{prepared(&w)}})
	if err != nil {
		t.Fatal(err)
	}
	return ws[0]
}

func (b *bank) broadcastHeld(ctx context.Context, w withdrawal.Withdrawal) error {
	_, err := b.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: w, Events: []withdrawal.Event{broadcast(&w)}})
	return err
}

func (b *bank) lines(t *testing.T) (n int) {
	t.Helper()
	if err := b.database.QueryRow(b.database.tables("SELECT count(*) FROM {transitions}")).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A statement that is sent without COMMIT is its transaction: without its answer nobody knows whether that landed.
func TestALostAnswerOfAStatementAlone(t *testing.T) {
	ctx := context.Background()
	b := alonePayer(t)
	whole := b.Withdrawals
	db, process, err := cutdb.Open("pgx", b.database.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b.database.DB = db
	b.Store = b.database.open(t)
	b.serve(t)
	for _, landed := range []bool{false, true} {
		w := b.signed(t)
		process.Cut(2, landed, "") // the clock is the first
		err = b.broadcastHeld(ctx, w)
		now, err2 := whole.Get(ctx, w.Request.ID)
		if !errors.Is(err, store.ErrUnknownCommit) || err2 != nil || (now.Job.Version > w.Job.Version) != landed {
			t.Errorf("landed %v: %v; version %d was %d, %v", landed, err, now.Job.Version, w.Job.Version, err2)
		}
		process.Revive()
		if _, err = b.Do(ctx, w.Request.ID, broadcast(&w)); err != nil {
			t.Errorf("landed %v, again: %v", landed, err)
		}
		if now, err := whole.Get(ctx, w.Request.ID); err != nil || now.Job.Version != w.Job.Version+1 {
			t.Errorf("landed %v: version %d was %d, %v", landed, now.Job.Version, w.Job.Version, err)
		}
	}
}

// After a restore a statement changes the job and no line of the log: so it writes nothing, and says the same as in a
// transaction.
func TestAStatementAloneWritesAllOrNothing(t *testing.T) {
	ctx := context.Background()
	b := alonePayer(t)
	w := b.signed(t)
	b.database.restored(t, burned(1))
	before := b.lines(t) // with those of the restore
	if err := b.broadcastHeld(ctx, w); !errors.Is(err, store.ErrRestored) {
		t.Errorf("after a restore: %v", err)
	}
	if now, err := b.Withdrawals.Get(ctx, w.Request.ID); err != nil || now.Job.Version != w.Job.Version || b.lines(t) != before {
		t.Errorf("version %d was %d, %v; %d lines were %d", now.Job.Version, w.Job.Version, err, b.lines(t), before)
	}
}

// endsAfter cancels a context when a statement with a word has ended.
type endsAfter struct {
	word   string
	cancel func()
}

func (e *endsAfter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, e, strings.Contains(q.SQL, e.word))
}

func (e *endsAfter) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(e).(bool) && e.cancel != nil {
		e.cancel()
	}
}

// A caller that goes away when its statement has landed is told that it has.
func TestACallerThatLeavesAfterAStatementAlone(t *testing.T) {
	b := alonePayer(t)
	config, err := pgx.ParseConfig(b.database.url)
	if err != nil {
		t.Fatal(err)
	}
	leaves := &endsAfter{word: "1 / CASE"}
	config.Tracer = leaves
	b.database.DB = stdlib.OpenDB(*config)
	t.Cleanup(func() { b.database.Close() })
	b.Store = b.database.open(t)
	b.serve(t)
	w := b.signed(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	leaves.cancel = cancel
	if err := b.broadcastHeld(ctx, w); err != nil || ctx.Err() == nil {
		t.Errorf("%v; the context: %v", err, ctx.Err())
	}
}
