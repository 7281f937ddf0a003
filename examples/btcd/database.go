package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	_ "modernc.org/sqlite" // registers "sqlite"
)

// The host's own tables, in the same file as those of settle.
const hostTables = `
CREATE TABLE IF NOT EXISTS credits ( -- what customers have got, and what was taken back
	outpoint TEXT NOT NULL, round INTEGER NOT NULL, kind TEXT NOT NULL, customer TEXT NOT NULL, amount INTEGER NOT NULL,
	PRIMARY KEY (outpoint, round, kind)) STRICT;
CREATE TABLE IF NOT EXISTS payouts ( -- what is to be paid; an amount of 0 sends all
	id INTEGER PRIMARY KEY, script BLOB NOT NULL, amount INTEGER NOT NULL, round INTEGER NOT NULL DEFAULT 0,
	done INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE IF NOT EXISTS versions ( -- transactions that pay a payout, and children that pay for them
	hash TEXT PRIMARY KEY, payout INTEGER NOT NULL, round INTEGER NOT NULL, kind TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS refused ( -- what the node did not take
	hash TEXT NOT NULL, reason TEXT NOT NULL) STRICT;`

// database is settle's store and the host's tables in one SQLite file.
type database struct {
	*sqlstore.Store
	wallets *store.Wallets
	db      *sql.DB
}

// connect opens the file for the host. A host's transaction that settle joins
// begins IMMEDIATE and has the pragmas that sqlstore sets.
func connect(path string) (*sql.DB, error) {
	name := url.URL{Path: filepath.ToSlash(path)}
	return sql.Open("sqlite", "file:"+name.EscapedPath()+
		"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}

func openDatabase(ctx context.Context, path string) (*database, error) {
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	d := &database{db: db}
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

func (d *database) prepare(ctx context.Context) (err error) {
	if _, err = d.db.ExecContext(ctx, hostTables); err != nil {
		return err
	}
	if err = sqlstore.Migrate(ctx, d.db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return err
	}
	if d.Store, err = sqlstore.Open(ctx, d.db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return err
	}
	if d.wallets, err = store.NewWallets(d.Store, walletPolicy); err != nil {
		return err
	}
	_, err = d.wallets.Do(ctx, utxo.WalletOpened{Wallet: walletID, Birth: 1})
	return err
}

func (d *database) Close() error { return errors.Join(d.Store.Close(), d.db.Close()) }

// commit runs fn in a transaction of the host that settle joins: what fn does
// with wallets and with tx lands together, or not at all.
func (d *database) commit(ctx context.Context, fn func(wallets *store.Wallets, tx *sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	within, err := d.Within(ctx, tx)
	if err != nil {
		return err
	}
	if err := fn(d.wallets.Within(within), tx); err != nil {
		return err
	}
	return tx.Commit()
}

// column reads the first column of a query.
func column[T any](ctx context.Context, db *sql.DB, query string, args ...any) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
