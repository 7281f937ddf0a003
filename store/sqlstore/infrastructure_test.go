package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// opened is the change set of a new wallet.
func opened(id utxo.WalletID) utxo.ChangeSet {
	return utxo.ChangeSet{Wallets: []utxo.WalletChange{{New: utxo.Wallet{ID: id, Birth: 1}}}}
}

func open(id utxo.WalletID) func(store.Unit) error {
	return func(tx store.Unit) error { return tx.Wallets().Save(opened(id)) }
}

// stored lists the wallets that other transactions see.
func stored(t *testing.T, s *sqlstore.Store) (ids []utxo.WalletID) {
	t.Helper()
	err := s.View(context.Background(), func(tx store.Unit) error {
		ws, err := tx.Wallets().Wallets()
		for _, w := range ws {
			ids = append(ids, w.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestNothingOfAFailedUpdateLands(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, _ := newStore(t, d)
		flushed := func(tx store.Unit) error { // a read carries the delayed writes out
			if err := open(1)(tx); err != nil {
				return err
			}
			_, err := tx.Wallets().Wallets(1)
			return err
		}
		t.Run("error", func(t *testing.T) {
			boom := errors.New("boom")
			err := s.Update(context.Background(), func(tx store.Unit) error { return errors.Join(flushed(tx), boom) })
			if !errors.Is(err, boom) || len(stored(t, s)) != 0 {
				t.Errorf("%v, %v", err, stored(t, s))
			}
		})
		t.Run("panic", func(t *testing.T) {
			defer func() {
				if recover() != "boom" || len(stored(t, s)) != 0 {
					t.Errorf("%v", stored(t, s))
				}
			}()
			_ = s.Update(context.Background(), func(tx store.Unit) error {
				_ = flushed(tx)
				panic("boom")
			})
		})
		t.Run("cancelled", func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			err := s.Update(ctx, func(tx store.Unit) error {
				defer cancel()
				return flushed(tx)
			})
			if !errors.Is(err, context.Canceled) || len(stored(t, s)) != 0 {
				t.Errorf("%v, %v", err, stored(t, s))
			}
		})
		t.Run("swallowed", func(t *testing.T) {
			if err := s.Update(context.Background(), open(7)); err != nil {
				t.Fatal(err)
			}
			err := s.Update(context.Background(), func(tx store.Unit) error {
				_ = tx.Wallets().Save(opened(8))
				_ = tx.Wallets().Save(opened(7)) // is there already
				_, _, _ = tx.Wallets().Tip()     // carries both out, and fails
				return nil
			})
			if ids := stored(t, s); !errors.Is(err, statemachine.ErrConflict) || len(ids) != 1 {
				t.Errorf("%v, %v", err, ids)
			}
		})
		t.Run("after the end", func(t *testing.T) {
			var kept store.Unit
			if err := s.View(context.Background(), func(tx store.Unit) error { kept = tx; return nil }); err != nil {
				t.Fatal(err)
			}
			if _, _, err := kept.Wallets().Tip(); err == nil {
				t.Error("the transaction still answers")
			}
		})
	})
}

func TestViewIsReadOnlyAndOneMoment(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, _ := newStore(t, d)
		ctx := context.Background()
		if err := s.View(ctx, open(1)); !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("save in a View: %v", err)
		}
		err := s.View(ctx, func(tx store.Unit) error {
			before, err := tx.Wallets().Wallets()
			if err != nil {
				return err
			}
			if err := s.Update(ctx, open(1)); err != nil {
				return err
			}
			after, err := tx.Wallets().Wallets()
			if len(before) != 0 || len(after) != 0 {
				t.Errorf("a View sees a later commit: %v %v", before, after)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWritersDoNotLoseEachOther(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, _ := newStore(t, d)
		if err := s.Update(context.Background(), open(1)); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var ran atomic.Int64
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if err := s.Update(context.Background(), func(tx store.Unit) error {
						ran.Add(1)
						if err := tx.Wallets().Lock(1); err != nil {
							return err
						}
						ws, err := tx.Wallets().Wallets(1)
						if err != nil {
							return err
						}
						next := ws[0]
						next.ScannedTo++
						return tx.Wallets().Save(utxo.ChangeSet{Wallets: []utxo.WalletChange{{Old: ws[0], New: next}}})
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		_ = s.View(context.Background(), func(tx store.Unit) error {
			ws, err := tx.Wallets().Wallets(1)
			if err != nil || ws[0].ScannedTo != 40 {
				t.Errorf("40 steps arrived at %v, %v", ws, err)
			}
			return nil
		})
		if ran.Load() != 40 {
			t.Errorf("the wallet's lock let %d transactions run", ran.Load())
		}
	})
}

// Another run can end a conflict only where it reads anew what the first one read
// too early. On SQLite there is no other writer that could have caused one.
func TestConflictRunsAgain(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, _ := newStore(t, d)
		ctx := context.Background()
		if err := s.Update(ctx, open(1)); err != nil {
			t.Fatal(err)
		}
		stale := func(tx store.Unit) error {
			old := utxo.Wallet{ID: 1, Birth: 1, ScannedTo: 500}
			return tx.Wallets().Save(utxo.ChangeSet{Wallets: []utxo.WalletChange{{Old: old, New: old}}})
		}
		read := func(tx store.Unit) error { _, err := tx.Wallets().Wallets(1); return err }
		clock := func(tx store.Unit) error { _, err := tx.Now(); return err }
		domain := func(store.Unit) error {
			return &statemachine.Refusal{Err: statemachine.ErrConflict, Reason: "decided on an old version"}
		}
		for _, tt := range []struct {
			name     string
			fn       []func(store.Unit) error
			postgres int // how often it runs
		}{
			{"what was read before the transaction is stale", []func(store.Unit) error{stale}, 1},
			{"so it is where only the clock is read", []func(store.Unit) error{clock, stale}, 1},
			{"and where it is read afterwards", []func(store.Unit) error{stale, read}, 1},
			{"what was read in the transaction is stale", []func(store.Unit) error{read, stale}, 11},
			{"a domain calls it a conflict", []func(store.Unit) error{read, domain}, 1},
			{"a row is there already", []func(store.Unit) error{open(1)}, 1},
			{"a row is there that was not when it was looked for", []func(store.Unit) error{read, open(1)}, 11},
		} {
			t.Run(tt.name, func(t *testing.T) {
				runs := 0
				err := s.Update(ctx, func(tx store.Unit) error {
					runs++
					for _, fn := range tt.fn {
						if err := fn(tx); err != nil {
							return err
						}
					}
					return nil
				})
				if !errors.Is(err, statemachine.ErrConflict) {
					t.Errorf("got %v", err)
				}
				if want := map[sqlstore.Dialect]int{sqlstore.SQLite: 1, sqlstore.Postgres: tt.postgres}[d]; runs != want {
					t.Errorf("it ran %d times, want %d", runs, want)
				}
			})
		}
		t.Run("a race ends well", func(t *testing.T) {
			runs := 0
			err := s.Update(ctx, func(tx store.Unit) error {
				ws, err := tx.Wallets().Wallets(1)
				if err != nil {
					return err
				}
				next := ws[0]
				next.ScannedTo++
				if runs++; runs <= 3 && d == sqlstore.Postgres { // another one is between
					if err := s.Update(ctx, func(tx store.Unit) error {
						return tx.Wallets().Save(utxo.ChangeSet{Wallets: []utxo.WalletChange{{Old: ws[0], New: next}}})
					}); err != nil {
						return err
					}
				}
				return tx.Wallets().Save(utxo.ChangeSet{Wallets: []utxo.WalletChange{{Old: ws[0], New: next}}})
			})
			if want := map[sqlstore.Dialect]int{sqlstore.SQLite: 1, sqlstore.Postgres: 4}[d]; err != nil || runs != want {
				t.Errorf("it ran %d times, want %d, and ended with %v", runs, want, err)
			}
		})
	})
}

func TestMigrateAgainChangesNothing(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		if err := s.Update(context.Background(), open(1)); err != nil {
			t.Fatal(err)
		}
		db.migrate(t)
		if ids := stored(t, s); len(ids) != 1 {
			t.Errorf("after another Migrate: %v", ids)
		}
		files, err := sqlstore.Migrations(d, db.opts)
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.Glob(files, "*.sql")
		if err != nil || len(names) < 2 {
			t.Fatalf("%v %v", names, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil || strings.ContainsAny(string(text), "@{") {
				t.Errorf("%s has macros left, or %v", name, err)
			}
		}
	})
}

func TestConcurrentMigrations(t *testing.T) {
	pgtest.Beside(t)
	db := newDatabase(t, sqlstore.Postgres)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := sqlstore.Migrate(context.Background(), db.DB, db.dialect, db.opts); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpenRefuses(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	refused := func(t *testing.T, db *sql.DB, d sqlstore.Dialect, opts sqlstore.Options, why string) {
		t.Helper()
		if s, err := sqlstore.Open(ctx, db, d, opts); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
			if err == nil {
				s.Close()
			}
		}
	}
	t.Run("unknown dialect", func(t *testing.T) { refused(t, nil, 9, sqlstore.Options{}, "dialect 9") })
	t.Run("unknown domain", func(t *testing.T) {
		refused(t, nil, sqlstore.SQLite, sqlstore.Options{Domains: []store.Domain{store.DomainSwaps, "shared"}}, `no domain "shared"`)
	})
	t.Run("schema that needs quotes", func(t *testing.T) {
		refused(t, nil, sqlstore.Postgres, sqlstore.Options{Schema: `a"; DROP TABLE x; --`}, "identifier")
	})
	t.Run("memory", func(t *testing.T) {
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		refused(t, db, sqlstore.SQLite, sqlstore.Options{}, "must be wal")
	})
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		db := newDatabase(t, d)
		refused(t, db.DB, d, db.opts, "run Migrate")
		db.migrate(t)
		db.exec(t, "INSERT INTO %s (version, domain, oldest) VALUES (99999, 'swaps', 5)", "settle_versions")
		refused(t, db.DB, d, db.opts, "migration 99999")
	})
	t.Run("synchronous_commit off", func(t *testing.T) {
		_, migrated := newStore(t, sqlstore.Postgres)
		db, err := sql.Open("pgx", migrated.url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("SET synchronous_commit = off"); err != nil {
			t.Fatal(err)
		}
		refused(t, db, sqlstore.Postgres, migrated.opts, "synchronous_commit")
	})
}

func TestClose(t *testing.T) {
	s, db := newStore(t, sqlstore.SQLite)
	running, closed, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- s.Update(context.Background(), func(tx store.Unit) error {
			close(running)
			select {
			case <-closed:
				t.Error("Close did not wait for a transaction")
			case <-time.After(20 * time.Millisecond):
			}
			return tx.Wallets().Save(opened(1))
		})
	}()
	<-running
	err := s.Close()
	close(closed)
	if err := errors.Join(err, <-over); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(context.Background(), open(2)); !errors.Is(err, sqlstore.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
}

// A directory has the name of its test, and a file the one that it is given.
func TestFilesWithNamesThatAURLMustEscape(t *testing.T) {
	for _, name := range []string{"a#b", "a?b", "a%41b", "a b", "a&b=c;d+e"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name+".db")
			text, err := sqlstore.EmptyFile()
			if err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			// Another file would have no tables.
			d := database{openFile(t, path), sqlstore.SQLite, sqlstore.Options{}, pgtest.FileURL(path)}
			if err := d.open(t).Update(context.Background(), open(1)); err != nil {
				t.Fatal(err)
			}
		})
	}
}
