package sqlstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// causes are all sentinels for what is wrong with a database: an error is of
// exactly one.
var causes = []error{sqlstore.ErrConnection, sqlstore.ErrCannotOpen, sqlstore.ErrReadOnly, sqlstore.ErrNotADatabase, sqlstore.ErrDamaged,
	sqlstore.ErrDialect, sqlstore.ErrNoTables, sqlstore.ErrOldTables, sqlstore.ErrNewerTables, sqlstore.ErrForeignTables, store.ErrRetry, store.ErrUnknownCommit}

func because(t *testing.T, what string, err, want error, words ...string) {
	t.Helper()
	for _, c := range causes {
		if errors.Is(err, c) != (c == want) {
			t.Errorf("%s: %v, want %q", what, err, want)
			return
		}
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q does not say %q", what, err, word)
		}
	}
}

// What is wrong with a file is told apart, by Migrate and by Open.
func TestCausesOfAFile(t *testing.T) {
	pgtest.Beside(t)
	ctx, dir := context.Background(), t.TempDir()
	good := filepath.Join(dir, "good.db")
	d := database{openFile(t, good), sqlstore.SQLite, sqlstore.Options{}, ""}
	d.migrate(t)
	s := d.open(t)
	for id := range 200 {
		if err := s.Update(ctx, open(utxo.WalletID(1+id))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return pgtest.FileURL(path)
	}
	damaged := bytes.Clone(whole)
	copy(damaged[100:4096], bytes.Repeat([]byte{0xff}, 3996)) // the list of tables
	for _, c := range []struct {
		name, address string
		want          error
		words         []string
	}{
		{"text", file("text.db", bytes.Repeat([]byte("this is no database\n"), 300)), sqlstore.ErrNotADatabase, nil},
		{"damaged page", file("damaged.db", damaged), sqlstore.ErrDamaged, []string{"backup"}},
		{"missing folder", pgtest.FileURL(filepath.Join(dir, "missing", "x.db")), sqlstore.ErrCannotOpen, []string{"folder"}},
		{"the URL of another database", "mysql://user@host/database", sqlstore.ErrCannotOpen, []string{"no path of a file"}},
		{"a folder", pgtest.FileURL(dir), sqlstore.ErrCannotOpen, nil},
		{"read-only", file("ro.db", nil) + "?mode=ro", sqlstore.ErrReadOnly, nil},
	} {
		db, err := sql.Open("sqlite", c.address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		because(t, c.name+": Migrate", sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}), c.want, c.words...)
		if c.want != sqlstore.ErrReadOnly {
			_, err = sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{})
			because(t, c.name+": Open", err, c.want, c.words...)
		}
	}
	ro, err := sql.Open("sqlite", file("ro2.db", whole)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	s, err = sqlstore.Open(ctx, ro, sqlstore.SQLite, sqlstore.Options{})
	if err == nil {
		err = errors.Join(s.Update(ctx, open(1000)), s.Close())
	}
	because(t, "an update of a read-only file", err, sqlstore.ErrReadOnly)

	// A page that is met only later.
	damaged = bytes.Clone(whole)
	copy(damaged[4096:], bytes.Repeat([]byte{0xff}, len(damaged)-4096))
	late, err := sql.Open("sqlite", file("late.db", damaged))
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	s, err = sqlstore.Open(ctx, late, sqlstore.SQLite, sqlstore.Options{})
	if err == nil {
		defer s.Close()
		err = s.View(ctx, func(tx store.Unit) error { _, err := tx.Wallets().Wallets(); return err })
	}
	because(t, "a damaged page of a table", err, sqlstore.ErrDamaged)
}

// The two databases are not taken for one another, nor is one without tables.
func TestCausesOfADatabase(t *testing.T) {
	pgtest.Beside(t)
	other := map[sqlstore.Dialect]sqlstore.Dialect{sqlstore.SQLite: sqlstore.Postgres, sqlstore.Postgres: sqlstore.SQLite}
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := context.Background(), newDatabase(t, d)
		because(t, "Migrate of the wrong dialect", sqlstore.Migrate(ctx, db.DB, other[d], sqlstore.Options{}), sqlstore.ErrDialect, other[d].String())
		_, err := sqlstore.Open(ctx, db.DB, other[d], sqlstore.Options{})
		because(t, "Open of the wrong dialect", err, sqlstore.ErrDialect, other[d].String())
		_, err = sqlstore.Open(ctx, db.DB, d, db.opts)
		because(t, "Open of an empty database", err, sqlstore.ErrNoTables, "run Migrate")
		db.migrate(t)
		later, _ := db.with(t, "later")
		_, err = sqlstore.Open(ctx, db.DB, d, later.opts)
		because(t, "Open of old tables", err, sqlstore.ErrOldTables, "migration 90001 of shared", "run Migrate")

		s, lost := newStore(t, d)
		drop := "ALTER TABLE " + lost.table("wallets") + " RENAME TO gone"
		if _, err := lost.Exec(drop); err != nil {
			t.Fatal(err)
		}
		err = s.View(ctx, func(tx store.Unit) error { _, err := tx.Wallets().Wallets(); return err })
		because(t, "a table that is gone", err, sqlstore.ErrNoTables)
	})
}

// A server that is not there, or goes away, is no question of tables.
func TestCausesOfAServer(t *testing.T) {
	pgtest.Beside(t)
	ctx, cluster := context.Background(), pgtest.Private(t)
	db, err := sql.Open("pgx", cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxIdleConns(4)
	if err := sqlstore.Migrate(ctx, db, sqlstore.Postgres, sqlstore.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.Open(ctx, db, sqlstore.Postgres, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	missing, err := sql.Open("pgx", strings.Replace(cluster.URL(), "/postgres?", "/missing?", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer missing.Close()
	because(t, "a database that does not exist", sqlstore.Migrate(ctx, missing, sqlstore.Postgres, sqlstore.Options{}), sqlstore.ErrCannotOpen, "missing")

	standby, err := sql.Open("pgx", pgtest.With(t, cluster.URL(), "default_transaction_read_only", "on"))
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	ro, err := sqlstore.Open(ctx, standby, sqlstore.Postgres, sqlstore.Options{})
	if err == nil {
		err = ro.Update(ctx, open(1))
	}
	because(t, "a server that takes no writes", err, sqlstore.ErrReadOnly)

	err = s.Update(ctx, func(tx store.Unit) error { // the backend is killed in the middle
		if _, err := tx.Wallets().Wallets(); err != nil { // BEGIN was sent
			return err
		}
		if err := tx.Wallets().Save(opened(1)); err != nil {
			return err
		}
		if _, err := db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
		_, err := tx.Wallets().Wallets()
		return err
	})
	because(t, "a connection that is cut", err, sqlstore.ErrConnection)
	if err := s.Update(ctx, open(1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := cluster.Crash(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the idle connections first, then new ones
		because(t, "Update while the server is down", s.Update(ctx, open(2)), sqlstore.ErrConnection)
	}
	_, err = sqlstore.Open(ctx, db, sqlstore.Postgres, sqlstore.Options{})
	because(t, "Open while the server is down", err, sqlstore.ErrConnection)
	because(t, "Migrate while the server is down", sqlstore.Migrate(ctx, db, sqlstore.Postgres, sqlstore.Options{}), sqlstore.ErrConnection)
	short, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	if err := s.Update(short, open(2)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sqlstore.ErrConnection) {
		t.Errorf("the caller's deadline is %v", err)
	}
}

// pgbouncer in transaction pooling gives the statements that one session has
// prepared to another; pgx meets that in its default mode alone.
func TestPreparedStatementsOfAnotherSession(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	for _, mode := range []string{"cache_statement", "cache_describe", "exec", "simple_protocol"} {
		db, err := sql.Open("pgx", pgtest.With(t, pgtest.URL(t), "default_query_exec_mode", mode))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1) // the connection that the pooler would hand to everybody
		opts := sqlstore.Options{Schema: pgtest.Schema(t, db)}
		if err := sqlstore.Migrate(ctx, db, sqlstore.Postgres, opts); err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		sum := sha256.Sum256([]byte("SELECT current_setting('transaction_isolation')"))
		another := `PREPARE "stmtcache_` + hex.EncodeToString(sum[:24]) + `" AS SELECT 1`
		if _, err := db.Exec(another); err != nil {
			t.Fatal(err)
		}
		s, err := sqlstore.Open(ctx, db, sqlstore.Postgres, opts)
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		host, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Within(ctx, host)
		if mode == "cache_statement" {
			because(t, mode, err, sqlstore.ErrConnection, "pgbouncer", "default_query_exec_mode", "cache_describe")
		} else if err == nil {
			err = tx.Wallets().Save(opened(1))
		}
		if err := errors.Join(err, host.Rollback()); mode != "cache_statement" && err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		db.SetMaxOpenConns(8)
	}
}
