package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// ledger is a bank whose host keeps a book in the same database.
type ledger struct {
	*bank
	book, post string
}

func newLedger(t *testing.T, d sqlstore.Dialect) *ledger {
	t.Helper()
	l := &ledger{bank: newBank(t, d)}
	l.book = l.table("host_book")
	l.post = "INSERT INTO " + l.book + " (request, amount) VALUES ($1, $2)"
	if _, err := l.DB.Exec("CREATE TABLE " + l.book + " (request text PRIMARY KEY, amount text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return l
}

// postings and requests are what other transactions see.
func (l *ledger) posted(t *testing.T) (postings, requests int) {
	t.Helper()
	err := errors.Join(l.DB.QueryRow("SELECT count(*) FROM "+l.book).Scan(&postings),
		l.DB.QueryRow("SELECT count(*) FROM "+l.table("withdrawal_requests")).Scan(&requests))
	if err != nil {
		t.Fatal(err)
	}
	return postings, requests
}

// submit asks for a payment and holds the amount, in one commit.
func (l *ledger) submit(ctx context.Context, tx sqlstore.Tx, unit store.Unit, s withdrawal.Submitted) error {
	if _, err := l.Withdrawals.Within(unit).Submit(ctx, s); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, l.post, s.Request.String(), "1")
	return err
}

func TestUpdateTxIsOneCommit(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		boom := errors.New("boom")
		err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
			s := l.submission(bsc)
			if err := l.submit(ctx, tx, unit, s); err != nil {
				return err
			}
			var status string
			ask := "SELECT status FROM " + l.table("withdrawal_requests") + " WHERE id = $1"
			if err := tx.QueryRowContext(ctx, ask, s.Request.String()).Scan(&status); err != nil || status == "" {
				t.Errorf("the host's statement does not see what was sent before: %q, %v", status, err)
			}
			return boom
		})
		if p, r := l.posted(t); err != boom || p+r != 0 {
			t.Fatalf("after an error: %v, %d postings, %d requests", err, p, r)
		}
		s := l.submission(bsc)
		submit := func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error { return l.submit(ctx, tx, unit, s) }
		if err := l.Store.UpdateTx(ctx, submit); err != nil {
			t.Fatal(err)
		}
		if p, r := l.posted(t); p != 1 || r != 1 {
			t.Errorf("%d postings, %d requests", p, r)
		}
		if err := l.Store.UpdateTx(ctx, submit); err == nil {
			t.Error("a posting that is there already was not refused")
		}
		if err := l.Store.UpdateTx(ctx, nil); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("no function: %v", err)
		}
		over, cancel := context.WithCancel(ctx)
		if err := l.Store.UpdateTx(over, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
			defer cancel()
			return l.submit(ctx, tx, unit, l.submission(bsc))
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if p, r := l.posted(t); p != 1 || r != 1 {
			t.Errorf("after a cancellation: %d postings, %d requests", p, r)
		}
	})
}

// Another transaction inside of the function would wait for the function.
func TestUpdateTxDoesNotNest(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		l, other := newLedger(t, d), newLedger(t, d)
		host := func(context.Context, sqlstore.Tx, store.Unit) error { return nil }
		unit := func(store.Unit) error { return nil }
		err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, u store.Unit) error {
			below, cancel := context.WithCancel(ctx)
			defer cancel()
			_, read := l.Get(ctx, l.id())
			for name, err := range map[string]error{"Update": l.Store.Update(below, unit), "View": l.Store.View(ctx, unit),
				"UpdateTx": l.Store.UpdateTx(ctx, host), "a service": read} {
				if !errors.Is(err, statemachine.ErrInvalid) {
					t.Errorf("%s inside of UpdateTx: %v", name, err)
				}
			}
			return errors.Join(l.submit(ctx, tx, u, l.submission(bsc)), other.Store.UpdateTx(ctx, host))
		})
		if p, r := l.posted(t); err != nil || p != 1 || r != 1 {
			t.Errorf("afterwards: %v, %d postings, %d requests", err, p, r)
		}
	})
}

// Nothing commits past a statement that failed.
func TestUpdateTxWithASwallowedError(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		for _, c := range []struct {
			name    string
			swallow func(ctx context.Context, tx sqlstore.Tx)
			hidden  bool // from the Tx: SQLite then undoes the statement alone
		}{
			{"Exec", func(ctx context.Context, tx sqlstore.Tx) { _, _ = tx.ExecContext(ctx, l.post, "x", nil) }, false},
			{"Query", func(ctx context.Context, tx sqlstore.Tx) {
				_, _ = tx.QueryContext(ctx, l.post+" RETURNING request", "x", nil)
			}, false},
			{"QueryRow", func(ctx context.Context, tx sqlstore.Tx) {
				_ = tx.QueryRowContext(ctx, l.post+" RETURNING request", "x", nil)
			}, false},
			{"Prepare", func(ctx context.Context, tx sqlstore.Tx) { _, _ = tx.PrepareContext(ctx, "SELECT * FROM nowhere") }, false},
			{"a refused text", func(ctx context.Context, tx sqlstore.Tx) { _, _ = tx.ExecContext(ctx, "SAVEPOINT a") }, false},
			{"Stmt", func(ctx context.Context, tx sqlstore.Tx) {
				st, err := tx.PrepareContext(ctx, l.post)
				if err == nil {
					_, err = st.ExecContext(ctx, "x", nil)
				}
				if err == nil || strings.Contains(err.Error(), "nowhere") {
					t.Errorf("the statement: %v", err)
				}
			}, true},
		} {
			before, _ := l.posted(t)
			err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
				if err := l.submit(ctx, tx, unit, l.submission(bsc)); err != nil {
					return err
				}
				c.swallow(ctx, tx)
				return nil
			})
			after, _ := l.posted(t)
			switch {
			case c.hidden && d == sqlstore.SQLite:
				if err != nil || after != before+1 {
					t.Errorf("%s: %v, %d postings more", c.name, err, after-before)
				}
			case err == nil || after != before || errors.Is(err, store.ErrUnknownCommit) || c.hidden != errors.Is(err, sqlstore.ErrAborted):
				t.Errorf("%s: %v, %d postings more", c.name, err, after-before)
			}
		}
	})
}

// A host's text can end the transaction only where it is hidden, and then it is seen.
func TestUpdateTxThatTheHostEnds(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		nested := map[sqlstore.Dialect]string{sqlstore.SQLite: "/* a /* b */ COMMIT", sqlstore.Postgres: "/* a /* b */ c */ COMMIT"}[d]
		for _, text := range []string{nested, "COMMIT", "rollback", " \n;begin", "BEGIN IMMEDIATE", "/* a */ -- b\n commit;", "END", "SAVEPOINT a",
			"RELEASE a", "SET search_path = x", "SET LOCAL x = 1", "PRAGMA synchronous = OFF", "PREPARE TRANSACTION 'a'", "ATTACH 'x' AS y", "Start Transaction"} {
			for name, send := range map[string]func(context.Context, sqlstore.Tx) error{
				"Exec":     func(ctx context.Context, tx sqlstore.Tx) error { _, err := tx.ExecContext(ctx, text); return err },
				"Query":    func(ctx context.Context, tx sqlstore.Tx) error { _, err := tx.QueryContext(ctx, text); return err },
				"QueryRow": func(ctx context.Context, tx sqlstore.Tx) error { return tx.QueryRowContext(ctx, text).Scan(new(int)) },
				"Prepare":  func(ctx context.Context, tx sqlstore.Tx) error { _, err := tx.PrepareContext(ctx, text); return err },
			} {
				err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
					if err := send(ctx, tx); !errors.Is(err, statemachine.ErrInvalid) {
						t.Errorf("%s of %q: %v", name, text, err)
					}
					return nil
				})
				if !errors.Is(err, statemachine.ErrInvalid) || errors.Is(err, sqlstore.ErrEnded) {
					t.Errorf("%s of %q was swallowed: %v", name, text, err)
				}
			}
		}
		for _, hidden := range []string{"COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN"} {
			err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
				if err := l.submit(ctx, tx, unit, l.submission(bsc)); err != nil {
					return err
				}
				var args []any
				if d == sqlstore.Postgres {
					args = []any{pgx.QueryExecModeSimpleProtocol} // which takes several statements
				}
				_, err := tx.ExecContext(ctx, "SELECT 1; "+hidden, args...)
				return err
			})
			if !errors.Is(err, sqlstore.ErrEnded) || !errors.Is(err, store.ErrUnknownCommit) {
				t.Errorf("%q: %v", hidden, err)
			}
		}
		before, _ := l.posted(t)
		err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
			return l.submit(ctx, tx, unit, l.submission(bsc))
		})
		if after, requests := l.posted(t); err != nil || after != before+1 || requests != after {
			t.Errorf("afterwards: %v, %d postings, then %d and %d requests", err, before, after, requests)
		}
	})
}

// fakeDeadlock has the SQLSTATE of one.
type fakeDeadlock struct{ error }

func (fakeDeadlock) SQLState() string { return "40P01" }

func TestUpdateTxRunsAgain(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		for _, lasting := range []bool{false, true} {
			runs := 0
			s := l.submission(bsc)
			err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
				if err := l.submit(ctx, tx, unit, s); err != nil {
					return err
				}
				if runs++; runs < 3 || lasting {
					return fmt.Errorf("the host's words: %w", fakeDeadlock{errors.New("deadlock")})
				}
				return nil
			})
			postings, _ := l.posted(t)
			switch {
			case !lasting && (err != nil || runs != 3 || postings != 1):
				t.Errorf("a deadlock: %v after %d runs, %d postings", err, runs, postings)
			case lasting && (!errors.Is(err, store.ErrRetry) || runs != 11 || postings != 1):
				t.Errorf("a deadlock for ever: %v after %d runs, %d postings", err, runs, postings)
			}
		}
	})
	t.Run("a deadlock that is swallowed comes again from the next statement", func(t *testing.T) {
		l, runs := newLedger(t, sqlstore.Postgres), 0
		err := l.Store.UpdateTx(t.Context(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
			if runs++; runs == 1 {
				_, _ = tx.ExecContext(ctx, "DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$")
			}
			_, err := tx.ExecContext(ctx, "SELECT 1")
			return err
		})
		if err != nil || runs != 2 {
			t.Errorf("%v after %d runs", err, runs)
		}
	})
	t.Run("a real deadlock", func(t *testing.T) {
		ctx, l := context.Background(), newLedger(t, sqlstore.Postgres)
		if _, err := l.DB.Exec("INSERT INTO " + l.book + " VALUES ('a', '0'), ('b', '0')"); err != nil {
			t.Fatal(err)
		}
		var both, all sync.WaitGroup
		both.Add(2)
		var runs [2]int
		for i, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
			all.Go(func() {
				if err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
					runs[i]++
					for n, row := range order {
						if _, err := tx.ExecContext(ctx, "UPDATE "+l.book+" SET amount = amount || 'x' WHERE request = $1", row); err != nil {
							return err
						}
						if n == 0 && runs[i] == 1 {
							both.Done()
							both.Wait()
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var a, b string
		if err := l.DB.QueryRow("SELECT min(amount), max(amount) FROM "+l.book).Scan(&a, &b); err != nil || a != "0xx" || b != "0xx" || runs[0]+runs[1] < 3 {
			t.Errorf("%q, %q after %v runs, %v", a, b, runs, err)
		}
	})
}

// A lost answer is unknown, whether the commit landed or not; calling again is right.
func TestUpdateTxWithALostCommit(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		name := map[sqlstore.Dialect]string{sqlstore.SQLite: "sqlite", sqlstore.Postgres: "pgx"}[d]
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
			before, _ := l.posted(t)
			s := l.submission(bsc)
			submit := func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
				_, err := l.Withdrawals.Within(unit).Submit(ctx, s)
				if err == nil {
					_, err = tx.ExecContext(ctx, l.post+" ON CONFLICT DO NOTHING", s.Request.String(), "1")
				}
				return err
			}
			process.Cut(1, landed, "COMMIT")
			err = cut.UpdateTx(ctx, submit)
			postings, requests := l.posted(t)
			want := before
			if landed {
				want++
			}
			if !errors.Is(err, store.ErrUnknownCommit) || postings != want || requests != want {
				t.Errorf("landed %v: %v, %d postings, %d requests, want %d", landed, err, postings, requests, want)
			}
			process.Revive()
			err = cut.UpdateTx(ctx, submit)
			if postings, requests := l.posted(t); err != nil || postings != before+1 || requests != before+1 {
				t.Errorf("landed %v, called again: %v, %d postings, %d requests, want %d", landed, err, postings, requests, before+1)
			}
			if err := cut.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// What the function leaves behind is closed, and the store goes on.
func TestUpdateTxThatLeavesRowsOpenOrPanics(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, l := context.Background(), newLedger(t, d)
		if _, err := l.DB.Exec("INSERT INTO " + l.book + " VALUES ('a', '0'), ('b', '0')"); err != nil {
			t.Fatal(err)
		}
		var kept sqlstore.Tx
		leave := func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
			kept = tx
			rows, err := tx.QueryContext(ctx, "SELECT request FROM "+l.book)
			if err == nil {
				rows.Next()
			}
			return err
		}
		if err := l.Store.UpdateTx(ctx, leave); err != nil {
			t.Errorf("open rows: %v", err)
		}
		if _, err := kept.ExecContext(ctx, "SELECT 1"); err == nil {
			t.Error("the transaction still answers after its end")
		}
		err := l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
			_ = tx.QueryRowContext(ctx, "SELECT request FROM "+l.book) // and no Scan
			return nil
		})
		if d == sqlstore.SQLite && err != nil || errors.Is(err, store.ErrUnknownCommit) {
			t.Errorf("a row that is not scanned: %v", err)
		}
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic is gone")
				}
			}()
			_ = l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
				err := errors.Join(l.submit(ctx, tx, unit, l.submission(bsc)), leave(ctx, tx, unit))
				panic(map[bool]any{true: "boom", false: err}[err == nil])
			})
		}()
		err = l.Store.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
			return l.submit(ctx, tx, unit, l.submission(bsc))
		})
		if postings, requests := l.posted(t); err != nil || postings != 3 || requests != 1 {
			t.Errorf("afterwards: %v, %d postings, %d requests", err, postings, requests)
		}
		if n := l.DB.Stats().InUse; d == sqlstore.Postgres && n != 0 {
			t.Errorf("%d connections were not given back", n)
		}
	})
}

var _ sqlstore.Tx = (*sql.Conn)(nil)
