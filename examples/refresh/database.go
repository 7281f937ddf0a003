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
	_ "modernc.org/sqlite"             // registers "sqlite"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// openService opens a database, an SQLite file or a PostgreSQL URL, and first
// brings its tables up to date if migrate is set.
func openService(ctx context.Context, name string, c refresh.Policy, migrate bool) (*store.Refreshes, func() error, error) {
	driver, dialect, source, shown := "sqlite", sqlstore.SQLite, name, name
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		driver, dialect, shown = "pgx", sqlstore.Postgres, "the PostgreSQL database" // the URL may have a password
	} else {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, nil, err
		}
		file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_pragma=busy_timeout(60000)"}
		source = file.String()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, nil, err
	}
	if dialect == sqlstore.Postgres {
		db.SetMaxOpenConns(int(c.PostgresMaxConnections))
		db.SetMaxIdleConns(int(c.PostgresMaxConnections)) // else two are kept, and the others opened anew all the time
	}
	if dialect == sqlstore.Postgres {
		err = warm(ctx, db, c.PostgresMinConnections)
	}
	if migrate && err == nil {
		err = sqlstore.Migrate(ctx, db, dialect, sqlstore.Options{})
	}
	var opened *sqlstore.Store
	if err == nil {
		opened, err = sqlstore.Open(ctx, db, dialect, sqlstore.Options{})
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", shown, err), db.Close())
	}
	shut := func() error { return errors.Join(opened.Close(), db.Close()) }
	service, err := store.NewRefreshes(opened, c)
	if err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	return service, shut, nil
}

// warm opens n connections, which the pool keeps.
func warm(ctx context.Context, db *sql.DB, n int32) error {
	for range n {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
	}
	return nil
}
