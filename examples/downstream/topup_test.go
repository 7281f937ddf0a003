package downstream

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/looplab/fsm"
	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// before is the list that ran on looplab/fsm.
var before = fsm.Events{
	{Name: "authorize", Src: []string{"created"}, Dst: "authorized"},
	{Name: "capture", Src: []string{"authorized"}, Dst: "captured"},
	{Name: "void", Src: []string{"created", "authorized"}, Dst: "voided"},
	{Name: "refund", Src: []string{"captured"}, Dst: "refunded"},
}

// In each state each event leads where it led on looplab, or is refused as it was there.
func TestTheMachineIsTheSame(t *testing.T) {
	for _, s := range Machine.States() {
		for _, on := range Machine.Triggers() {
			old := fsm.NewFSM(s.String(), before, nil)
			err := looplab.Fire(t.Context(), old, on)
			to, legal := Machine.Next(s, on)
			if legal != (err == nil) || legal && to.String() != old.Current() {
				t.Errorf("%s in %s: %s (%v), and %s on looplab (%v)", on, s, to, legal, old.Current(), err)
			}
		}
	}
}

func open(t *testing.T, opts sqlstore.Options) *sqlstore.Store {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "host.db"))
	if err == nil {
		t.Cleanup(func() { db.Close() })
		err = sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, opts)
	}
	if err == nil {
		_, err = db.ExecContext(t.Context(), tables)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Whatever steps are tried on whatever copies of the record, the history replays to the record: one line for each version,
// each from where the one before led to.
func TestHistoryReplays(t *testing.T) {
	s := open(t, sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals}})
	rapid.Check(t, func(t *rapid.T) {
		copies := []TopUp{{ID: uuid.New()}}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			of := rapid.SampledFrom(copies).Draw(t, "copy")
			on := rapid.SampledFrom(Machine.Triggers()).Draw(t, "trigger")
			var now TopUp
			err := s.UpdateTx(context.Background(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) (err error) {
				if is, err := get(ctx, tx, of.ID); err == nil && of.Version == 0 && on == create {
					_, err = step(ctx, tx, is, on, "host", time.Now()) // it is there
					return err
				}
				now, err = step(ctx, tx, of, on, "host", time.Now())
				return err
			})
			switch {
			case err == nil:
				copies = append(copies, now)
			case !errors.Is(err, statemachine.ErrIllegal) && !errors.Is(err, statemachine.ErrConflict):
				t.Fatal(err)
			}
		}
		_ = s.UpdateTx(context.Background(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
			is, err := get(ctx, tx, copies[0].ID)
			if errors.Is(err, statemachine.ErrNotFound) {
				return nil
			}
			rows, err := tx.QueryContext(ctx, "SELECT from_state, event, to_state FROM topup_history WHERE id = ? ORDER BY version", is.ID.String())
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var at State
			n := int64(0)
			for ; rows.Next(); n++ {
				var from, to string
				var on Trigger
				if err := rows.Scan(&from, &on, &to); err != nil {
					t.Fatal(err)
				}
				next, legal := Machine.Next(at, on)
				if !legal || n > 0 && from != at.String() || next.String() != to {
					t.Fatalf("line %d: %s, %s, %s", n+1, from, on, to)
				}
				at = next
			}
			if n != is.Version || at != is.State {
				t.Fatalf("%d lines lead to %s, and the record is %+v", n, at, is)
			}
			return nil
		})
	})
}

// The kit plays workers, an operator and a chain with reorganisations on the host's service: nobody is paid twice, and
// every request ends.
func TestNobodyIsPaidTwice(t *testing.T) {
	now := withdrawaltest.Start
	s := open(t, sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals}, Now: func() time.Time { return now }})
	service, err := store.NewBatches(s, withdrawaltest.BatchPolicy())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) { withdrawaltest.RunBatches(t, 20, service.Withdrawals(), service, &now) })
}
