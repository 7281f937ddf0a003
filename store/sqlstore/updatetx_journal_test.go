package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// outcomes are those of the lines of the journal behind a cursor, which moves on.
func (l *ledger) outcomes(t *testing.T, cursor *store.Cursor) (all []string) {
	t.Helper()
	lines, next, err := store.NewJournal(l.Store).Page(context.Background(), *cursor, 100)
	if err != nil {
		t.Fatal(err)
	}
	*cursor = next
	for _, line := range lines {
		all = append(all, line.Outcome)
	}
	return all
}

// inTheWay is the error of a statement that a serialization failure has ended.
type inTheWay struct{}

func (inTheWay) Error() string    { return "could not serialize access" }
func (inTheWay) SQLState() string { return "40001" }

// What an operator tries is in the journal once, whatever the host makes of the
// transaction, and whether the store asks the database for the time.
func TestUpdateTxTellsTheJournalOnce(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		l := newLedger(t, d)
		tellOnce(t, l, d)
		l.reopen(t, time.Now)
		tellOnce(t, l, d)
	})
}

func tellOnce(t *testing.T, l *ledger, d sqlstore.Dialect) {
	ctx, boom := context.Background(), errors.New("boom")
	mined := l.confirming(t, bsc).Request.ID
	pending, err := l.Withdrawals.Submit(ctx, l.submission(bsc))
	if err != nil {
		t.Fatal(err)
	}
	stale, err := l.policy.ApplyAt(pending, withdrawal.Rejected{By: as(withdrawal.Approver), Reason: "no"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.do(t, pending.Request.ID, withdrawal.Held{By: as(withdrawal.Operator), Reason: "fraud?"})
	fails := func(unit store.Unit) { _ = unit.Withdrawals().Save(stale) }
	refused := func(unit store.Unit) error {
		_, err := l.Withdrawals.Within(unit).Do(ctx, mined, withdrawal.Cancelled{By: as(withdrawal.Operator), Reason: "too late"})
		return err
	}
	done := func(unit store.Unit) error {
		_, err := l.Withdrawals.Within(unit).Do(ctx, pending.Request.ID, withdrawal.Released{By: as(withdrawal.Operator)})
		return err
	}
	runs := 0
	var cursor store.Cursor
	l.outcomes(t, &cursor)
	for _, c := range []struct {
		name string
		fn   func(store.Unit) error
		ends error // nil: it is committed
		want []string
	}{
		{"the refusal is returned", func(u store.Unit) error { return fmt.Errorf("cancel: %w", refused(u)) }, statemachine.ErrIllegal, []string{"illegal"}},
		{"the refusal is swallowed", func(u store.Unit) error { _ = refused(u); return nil }, nil, []string{"illegal"}},
		{"another error takes all back", func(u store.Unit) error { _ = refused(u); return boom }, boom, []string{"illegal"}},
		{"refused in a transaction that has failed", func(u store.Unit) error { fails(u); return refused(u) }, statemachine.ErrConflict, []string{"conflict"}},
		{"refused in one that has failed, and swallowed", func(u store.Unit) error { fails(u); _ = refused(u); return nil }, statemachine.ErrConflict, []string{"conflict"}},
		{"refused, and a later write fails", func(u store.Unit) error { _ = refused(u); fails(u); return nil }, statemachine.ErrConflict, []string{"illegal"}},
		{"done, and a later write fails", func(u store.Unit) error { err := done(u); fails(u); return err }, statemachine.ErrConflict, []string{"conflict"}},
		{"done, and another error takes it back", func(u store.Unit) error { return errors.Join(done(u), boom) }, boom, nil},
		{"refused in each of three runs", func(u store.Unit) error {
			err := refused(u)
			if runs++; runs < 3 {
				return fmt.Errorf("begin again: %w", inTheWay{})
			}
			return err
		}, statemachine.ErrIllegal, []string{"illegal"}},
		{"refused twice and done at last", func(u store.Unit) error {
			if runs++; runs < 6 {
				return errors.Join(refused(u), inTheWay{})
			}
			return done(u)
		}, nil, []string{"done"}},
		{"done again", done, nil, []string{"already so"}},
	} {
		err := l.Store.UpdateTx(ctx, func(_ context.Context, _ sqlstore.Tx, unit store.Unit) error { return c.fn(unit) })
		if got := l.outcomes(t, &cursor); !errors.Is(err, c.ends) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, the journal has %q, want %v, %q", c.name, err, got, c.ends, c.want)
		}
	}
}

// The line of what was done is there as often as the commit landed, also where its answer
// was lost and the person has said it again.
func TestUpdateTxWithALostCommitTellsTheJournal(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		name := map[sqlstore.Dialect]string{sqlstore.SQLite: "sqlite", sqlstore.Postgres: "pgx"}[d]
		var cursor store.Cursor
		for _, landed := range []bool{false, true} {
			db, process, err := cutdb.Open(name, l.url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			cut, err := sqlstore.Open(ctx, db, d, l.database.opts)
			if err != nil {
				t.Fatal(err)
			}
			w, err := l.Withdrawals.Submit(ctx, l.submission(bsc))
			if err != nil {
				t.Fatal(err)
			}
			l.outcomes(t, &cursor)
			held := func(_ context.Context, _ sqlstore.Tx, unit store.Unit) error {
				_, err := l.Withdrawals.Within(unit).Do(ctx, w.Request.ID, withdrawal.Held{By: as(withdrawal.Operator), Reason: "fraud?"})
				return err
			}
			process.Cut(1, landed, "COMMIT")
			err = cut.UpdateTx(ctx, held)
			process.Revive()
			again := cut.UpdateTx(ctx, held)
			want := []string{"done"}
			if landed {
				want = append(want, "already so")
			}
			if got := l.outcomes(t, &cursor); !errors.Is(err, store.ErrUnknownCommit) || again != nil || !slices.Equal(got, want) {
				t.Errorf("landed %v: %v, said again: %v, the journal has %q, want %q", landed, err, again, got, want)
			}
			refused := func(_ context.Context, _ sqlstore.Tx, unit store.Unit) error { // and swallowed
				_, _ = l.Withdrawals.Within(unit).Do(ctx, w.Request.ID, withdrawal.Resolved{By: as(withdrawal.Operator)})
				return nil
			}
			process.Cut(1, landed, "COMMIT")
			err = cut.UpdateTx(ctx, refused)
			process.Revive()
			if got := l.outcomes(t, &cursor); !errors.Is(err, store.ErrUnknownCommit) || landed != (len(got) == 1) {
				t.Errorf("landed %v: %v, the journal has %q of what was refused", landed, err, got)
			}
			if err := cut.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
