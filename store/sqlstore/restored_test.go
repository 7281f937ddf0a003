package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

type line = statemachine.Transition[uuid.UUID]

// rest reads the feed from a cursor to its end.
func (b *bank) rest(t *testing.T, after store.Cursor) (all []line, end store.Cursor) {
	t.Helper()
	for end = after; ; {
		page, next, err := b.Follow(context.Background(), end, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all, end
		}
		all, end = append(all, page...), next
	}
}

// over is the same service on another store.
func (b *bank) over(t *testing.T, d database, s *sqlstore.Store) *bank {
	t.Helper()
	service, err := store.NewWithdrawals(s, b.policy)
	if err != nil {
		t.Fatal(err)
	}
	moved := &bank{Withdrawals: service, Store: s, database: d, policy: b.policy}
	moved.ids.Store(b.ids.Load() + 1000)
	return moved
}

// A dump that is restored where transactions have lower numbers: nothing is
// written or followed until the store was told, and then nothing is missed.
func TestFollowAfterADumpAndRestore(t *testing.T) {
	ctx := context.Background()
	b := newBank(t, sqlstore.Postgres)
	for _, text := range []string{"CREATE TABLE {counter} (n int)",
		"DO $$ BEGIN FOR i IN 1..20000 LOOP BEGIN INSERT INTO {counter} VALUES (i); EXCEPTION WHEN unique_violation THEN NULL; END; END LOOP; END $$",
		"DROP TABLE {counter}"} {
		if _, err := b.Exec(b.tables(text)); err != nil {
			t.Fatal(err)
		}
	}
	paying := b.confirming(t, bsc)
	begin, cursor, err := b.Follow(ctx, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	known, end := b.rest(t, cursor)
	dump := pgtest.Tool(t, "pg_dump", "--schema", b.opts.Schema, b.url)
	text, err := dump.Output()
	if err != nil {
		t.Fatal(err)
	}
	b.pending(t, bsc)
	_, lost := b.rest(t, end)

	fresh := pgtest.Private(t)
	db, err := sql.Open("pgx", fresh.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	d := database{db, sqlstore.Postgres, b.opts, fresh.URL()}
	db.SetMaxIdleConns(4)
	d.migrate(t)
	running := b.over(t, d, d.open(t)) // a process that the restore does not stop
	if _, err := db.Exec("DROP SCHEMA " + b.opts.Schema + " CASCADE"); err != nil {
		t.Fatal(err)
	}
	restore := pgtest.Tool(t, "psql", "-q", "-v", "ON_ERROR_STOP=1", fresh.URL())
	restore.Stdin = bytes.NewReader(text)
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	_, err = sqlstore.Open(ctx, db, d.dialect, d.opts)
	if !errors.Is(err, store.ErrRestored) {
		t.Fatalf("Open says %v", err)
	}
	for _, after := range []store.Cursor{"", cursor, end} {
		if _, _, err := running.Follow(ctx, after, 10); !errors.Is(err, store.ErrRestored) {
			t.Errorf("Follow(%q) says %v", after, err)
		}
	}
	if _, err := running.Head(ctx); !errors.Is(err, store.ErrRestored) {
		t.Errorf("Head says %v", err)
	}
	if _, err := running.Do(ctx, paying.Request.ID, mined(&paying)); !errors.Is(err, store.ErrRestored) {
		t.Errorf("an event says %v", err)
	}
	base := func() (base int64) {
		if err := db.QueryRow(d.tables("SELECT base FROM {settle_places} ORDER BY n DESC LIMIT 1")).Scan(&base); err != nil {
			t.Fatal(err)
		}
		return base
	}
	for range 2 { // the second time changes nothing
		if err := errors.Join(atOnce(3, func(int) error { return sqlstore.Restored(ctx, db, d.dialect, d.opts, burned(1)) })); err != nil {
			t.Fatal(err)
		}
		if base() <= 0 {
			t.Fatalf("the base is %d", base())
		}
	}
	raised := base()
	if _, err := running.Do(ctx, paying.Request.ID, mined(&paying)); !errors.Is(err, store.ErrRestored) {
		t.Errorf("a process that lived across the restore writes: %v", err)
	}
	s := d.open(t)
	moved := b.over(t, d, s)
	again, to := moved.rest(t, cursor)
	if fmt.Sprint(again) != fmt.Sprint(known) || to != end {
		t.Errorf("from an old cursor there are\n%v up to %s\nnot\n%v up to %s", again, to, known, end)
	}
	before := moved.do(t, paying.Request.ID)
	after := moved.do(t, paying.Request.ID, mined(&paying))
	next := moved.submission(bsc)
	moved.do(t, next.Request, next) // nobody approves it automatically, and nothing is ordered
	fresher, _ := moved.rest(t, end)
	if want := int(after.Job.Version-before.Job.Version) + int(after.Request.Version-before.Request.Version) + 1; len(fresher) != want {
		t.Errorf("after the last cursor of before are %d lines, not %d: %v", len(fresher), want, fresher)
	}
	whole, _ := moved.rest(t, "")
	if !slices.EqualFunc(whole, slices.Concat(begin, known, fresher), func(a, b line) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("the whole feed is\n%v", whole)
	}
	if _, _, err := moved.Follow(ctx, lost, 10); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor on a line that the dump has not: %v", err)
	}
	if err := sqlstore.Restored(ctx, db, d.dialect, d.opts, burned(2)); err != nil || base() != raised {
		t.Errorf("once more, base %d instead of %d, %v", base(), raised, err)
	}
}

// A move in which nothing was lost stops nothing.
func TestRestoredWhereNothingWasLost(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d)
		b.confirming(t, bsc)
		all, end := b.rest(t, "")
		move := burned(1)
		move.Lossless = true
		if err := sqlstore.Restored(context.Background(), b.DB, d, b.opts, move); err != nil {
			t.Fatal(err)
		}
		lines, _, err := store.NewJournal(b.Store).Page(context.Background(), "", 100)
		if n := len(lines); err != nil || n == 0 || lines[n-1].Event != "Restored" || lines[n-1].Actor != move.Actor || lines[n-1].Via != "lossless" {
			t.Errorf("the journal is %v, %v", lines, err)
		}
		b.pending(t, bsc)
		more, _ := b.rest(t, end)
		defer func() { // something was lost after all
			for range 2 {
				b.restored(t, burned(1))
			}
			if rows, generation := b.place(t); rows != 3 || generation != 1 {
				t.Errorf("the same moment, with a loss: %d rows, generation %d", rows, generation)
			}
			b.restored(t, move)
			if rows, generation := b.place(t); rows != 3 || generation != 1 {
				t.Errorf("what was lost is taken back: %d rows, generation %d", rows, generation)
			}
		}()
		whole, _ := b.rest(t, "")
		if len(more) != 4 || len(whole) != len(all)+4 {
			t.Errorf("%d lines after it, %d before it, %d in all", len(more), len(all), len(whole))
		}
		if d == sqlstore.Postgres {
			var base int64
			if err := b.QueryRow(b.tables("SELECT base FROM {settle_places} ORDER BY n DESC LIMIT 1")).Scan(&base); err != nil || base != 0 {
				t.Errorf("the base is %d, %v", base, err)
			}
		}
	})
}

// An SQLite file that is put back: a cursor from before it goes on, one on a
// line that was lost is refused, also when other lines have its number now.
func TestFollowAfterAFileWasPutBack(t *testing.T) {
	ctx := context.Background()
	b := newBank(t, sqlstore.SQLite)
	b.confirming(t, bsc)
	_, cursor, err := b.Follow(ctx, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	known, end := b.rest(t, cursor)
	backup := t.TempDir() + "/backup.db"
	if _, err := b.Exec("VACUUM INTO '" + backup + "'"); err != nil {
		t.Fatal(err)
	}
	b.pending(t, bsc)
	_, lost := b.rest(t, end)
	path := t.TempDir() + "/back.db"
	text, err := os.ReadFile(backup)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := database{openFile(t, path), sqlstore.SQLite, sqlstore.Options{}, ""}
	moved := b.over(t, d, d.open(t))
	if _, _, err := moved.Follow(ctx, lost, 10); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor on a line that is lost: %v", err)
	}
	moved.pending(t, bsc)
	moved.pending(t, bsc)
	if _, _, err := moved.Follow(ctx, lost, 10); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor on a line that is another now: %v", err)
	}
	all, _ := moved.rest(t, cursor)
	if len(all) != len(known)+8 || fmt.Sprint(all[:len(known)]) != fmt.Sprint(known) {
		t.Errorf("from an old cursor there are %d lines, not %d and 8", len(all), len(known))
	}
}
