package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// A server that was the primary takes no writes after a failover, and answers on the connections of a pool all
// the same. They are closed one by one, and the work goes on by new ones, which lead elsewhere. Where
// no server takes writes, the error says so, soon.
func TestWorkLeavesAServerThatTakesNoWrites(t *testing.T) {
	const pinned = 4
	_, near := newStore(t, sqlstore.Postgres)
	ctx := t.Context()
	for name, update := range map[string]func(*sqlstore.Store, utxo.WalletID) error{
		"Update": func(s *sqlstore.Store, id utxo.WalletID) error { return s.Update(ctx, open(id)) },
		"UpdateTx": func(s *sqlstore.Store, id utxo.WalletID) error {
			return s.UpdateTx(ctx, func(_ context.Context, _ sqlstore.Tx, u store.Unit) error { return open(id)(u) })
		},
		"a statement of the host": func(s *sqlstore.Store, id utxo.WalletID) error {
			return s.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, u store.Unit) error {
				if _, err := tx.ExecContext(ctx, "SELECT nextval('host')"); err != nil {
					return err
				}
				return open(id)(u)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sql.Open("pgx", near.url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxIdleConns(pinned)
			t.Cleanup(func() { _, _ = near.Exec("DROP SEQUENCE IF EXISTS host") })
			if _, err := db.Exec("CREATE SEQUENCE IF NOT EXISTS host"); err != nil {
				t.Fatal(err)
			}
			far := near
			far.DB = db
			s := far.open(t)
			demote := func() {
				t.Helper()
				var all []*sql.Conn
				for range pinned {
					conn, err := db.Conn(ctx)
					if err == nil {
						_, err = conn.ExecContext(ctx, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
					}
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, conn)
				}
				for _, conn := range all {
					_ = conn.Close()
				}
			}
			demote()
			id := utxo.WalletID(len(stored(t, s)) + 1)
			if err := update(s, id); err != nil {
				t.Errorf("beside %d connections that lead to the old primary: %v", pinned, err)
			}
			if ids := stored(t, s); len(ids) != int(id) {
				t.Errorf("%d wallets are stored, expected %d", len(ids), id)
			}
		})
	}

	var log bytes.Buffer
	standby := near
	standby.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	standby.url = pgtest.With(t, near.url, "default_transaction_read_only", "on")
	db, err := sql.Open("pgx", standby.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	standby.DB = db
	s := standby.open(t)
	if !strings.Contains(log.String(), "the server takes no writes") {
		t.Errorf("Open of a standby logs %q", &log)
	}
	if ids := stored(t, s); len(ids) != 3 {
		t.Errorf("a standby shows %d wallets", len(ids))
	}
	if err := s.Update(ctx, open(100)); !errors.Is(err, sqlstore.ErrReadOnly) {
		t.Errorf("an update of a standby: %v", err)
	}
	log.Reset()
	near.opts.Log = standby.opts.Log
	near.open(t)
	if strings.Contains(log.String(), "no writes") {
		t.Errorf("Open of a primary logs %q", &log)
	}
}
