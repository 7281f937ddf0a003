package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
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

// openDatabase opens a database, and first brings its tables up to date if
// migrate is set. Several processes may have the same one open, SQLite too.
func openDatabase(ctx context.Context, name string, migrate bool, options sqlstore.Options) (*database, error) {
	driver, dialect, source, shown := "sqlite", sqlstore.SQLite, name, name
	if isPostgres(name) {
		driver, dialect = "pgx", sqlstore.Postgres
		shown = "the PostgreSQL database" // the URL may have a password
	} else {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_pragma=busy_timeout(5000)"}
		source = file.String()
	}
	db, err := sql.Open(driver, source)
	if err == nil && dialect == sqlstore.Postgres {
		db.SetMaxOpenConns(8) // of each process
		db.SetMaxIdleConns(8) // else two are kept, and the others opened anew all the time
	}
	if err == nil && migrate {
		err = sqlstore.Migrate(ctx, db, dialect, options)
	}
	d := &database{db: db}
	if err == nil {
		d.Store, err = sqlstore.Open(ctx, db, dialect, options)
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
