package sqlstore_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// logged keeps what is logged.
type logged struct {
	sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(line)
}

func (l *logged) count(text string) int {
	l.Lock()
	defer l.Unlock()
	return strings.Count(l.text.String(), text)
}

// The table of processes is locked on PostgreSQL, and takes no row on SQLite, which locks no
// table alone. A worker claims and stores all the same, and the failure is logged. A worker that
// comes later notes itself once the table is free.
func TestALockedTableOfProcessesStopsNoWorker(t *testing.T) {
	pgtest.Beside(t)
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		name := map[sqlstore.Dialect]string{sqlstore.SQLite: "payer-at-sqlite", sqlstore.Postgres: "payer-at-postgres"}[d]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a worker that waits for the table fails
		defer cancel()
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
		b.pending(t, named("no nonces"))
		table := b.table("settle_processes")
		free := func() { b.exec(t, "DROP TRIGGER no_process") }
		if d == sqlstore.Postgres {
			locker, err := b.DB.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := locker.Exec("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
			free = func() { _ = locker.Rollback() }
		} else {
			b.exec(t, "CREATE TRIGGER no_process BEFORE INSERT ON "+table+" BEGIN SELECT RAISE(ABORT, 'no process'); END")
		}
		source := b.Payments(named("no nonces"), name)
		items, _, err := source.Turn(ctx, nil, 1)
		if err != nil || len(items) != 1 {
			t.Fatalf("%d items, %v", len(items), err)
		}
		if _, _, err := source.Turn(ctx, []store.HeldWithdrawal{source.Release(items[0].Work)}, 1); err != nil {
			t.Fatal(err)
		}
		if got := log.count("could not note that it is alive\" worker=" + name); got != 1 { // once a minute
			t.Errorf("the log has %d lines of it", got)
		}
		free()
		if _, _, err := b.Payments(named("no nonces"), "later").Turn(ctx, nil, 1); err != nil {
			t.Fatal(err)
		}
		list, err := store.NewProcesses[store.Unit](b.Store)
		if err != nil {
			t.Fatal(err)
		}
		all, err := list.List(context.Background(), processes.Key{}, 10)
		if err != nil || len(all) != 1 || all[0].Name != "later" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
