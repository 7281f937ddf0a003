package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"
	"github.com/settlehq/settle/store/sqlstore"
	_ "modernc.org/sqlite" // registers "sqlite"
)

// database is a store and the connections below it, which are the host's.
type database struct {
	*sqlstore.Store
	db *sql.DB
}

func (d *database) Close() error { return errors.Join(d.Store.Close(), d.db.Close()) }

// openDatabase opens a database, brings its tables up to date, and makes sure
// that it watches what is asked for.
func openDatabase(ctx context.Context, name string, watch watchSet, log io.Writer) (*database, error) {
	if name == "" {
		dir, err := os.MkdirTemp("", "settle-wallet-")
		if err != nil {
			return nil, err
		}
		name = filepath.Join(dir, "wallet.db")
		fmt.Fprintln(log, "the database is", name)
	}
	driver, dialect, source, shown := "sqlite", sqlstore.SQLite, name, name
	if isPostgres(name) {
		driver, dialect = "pgx", sqlstore.Postgres
		shown = "the PostgreSQL database" // the URL may have a password
	} else {
		path := url.URL{Path: filepath.ToSlash(filepath.Clean(name))}
		source = "file:" + path.EscapedPath() + "?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", shown, err)
	}
	db.SetMaxIdleConns(8) // PostgreSQL: else two are kept, and the others opened anew all the time
	d := &database{db: db}
	if err := d.prepare(ctx, dialect, watch); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", shown, err), db.Close())
	}
	return d, nil
}

func isPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

func (d *database) prepare(ctx context.Context, dialect sqlstore.Dialect, watch watchSet) error {
	if err := sqlstore.Migrate(ctx, d.db, dialect, sqlstore.Options{}); err != nil {
		return err
	}
	if err := d.claim(ctx, watch.String()); err != nil {
		return err
	}
	var err error
	d.Store, err = sqlstore.Open(ctx, d.db, dialect, sqlstore.Options{})
	return err
}

// claim remembers, in a table of the program's own, what the wallet watches. A
// wallet that was filled for one set of scripts and went on with another would
// miss money, so another set is refused.
func (d *database) claim(ctx context.Context, watch string) error {
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS example_watch (wallet INTEGER PRIMARY KEY, flags TEXT NOT NULL)",
		// Flags are letters, hex digits and spaces.
		fmt.Sprintf("INSERT INTO example_watch VALUES (%d, '%s') ON CONFLICT DO NOTHING", walletID, watch),
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var stored string
	row := d.db.QueryRowContext(ctx, fmt.Sprintf("SELECT flags FROM example_watch WHERE wallet = %d", walletID))
	if err := row.Scan(&stored); err != nil {
		return err
	}
	if stored != watch {
		return fmt.Errorf("it was filled with %s; use the same flags, or another database", stored)
	}
	return nil
}
