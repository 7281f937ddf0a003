package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"
	_ "modernc.org/sqlite"             // registers "sqlite"

	"github.com/settlehq/settle/store/sqlstore"
)

// database is a store and the connections below it, which are the host's.
type database struct {
	*sqlstore.Store
	db *sql.DB
}

func (d *database) Close() error { return errors.Join(d.Store.Close(), d.db.Close()) }

// openDatabase opens a database, and first makes its tables if migrate is set.
// now is the store's clock; nil: its own.
func openDatabase(ctx context.Context, name string, migrate bool, now func() time.Time) (*database, error) {
	driver, dialect, source, shown := "sqlite", sqlstore.SQLite, name, name
	if isPostgres(name) {
		driver, dialect = "pgx", sqlstore.Postgres
		shown = "the PostgreSQL database" // the URL may have a password
	} else {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		source = (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_pragma=busy_timeout(5000)"}).String()
	}
	db, err := sql.Open(driver, source)
	if err == nil && dialect == sqlstore.Postgres {
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(8) // else two are kept, and the others opened anew all the time
	}
	if err == nil && migrate {
		err = sqlstore.Migrate(ctx, db, dialect, sqlstore.Options{})
	}
	d := &database{db: db}
	if err == nil {
		d.Store, err = sqlstore.Open(ctx, db, dialect, sqlstore.Options{Now: now})
	}
	if err != nil {
		err = fmt.Errorf("open %s: %w", shown, err)
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		return nil, err
	}
	return d, nil
}

func isPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// texts returns every text of our tables, for a search. The tables have no
// column in which a secret could be but those of text.
func (d *database) texts(ctx context.Context) (string, error) {
	var all strings.Builder
	for _, table := range []string{"relays", "activities", "tenants", "invoices", "transitions"} {
		rows, err := d.db.QueryContext(ctx, "SELECT * FROM "+table)
		if err != nil {
			return "", err
		}
		columns, err := rows.Columns()
		for err == nil && rows.Next() {
			row, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				places[i] = &row[i]
			}
			if err = rows.Scan(places...); err == nil {
				fmt.Fprintf(&all, "%s\n", row)
			}
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}
