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
	db     *sql.DB
	schema string
}

func (d *database) Close() error { return errors.Join(d.Store.Close(), d.db.Close()) }

// openDatabase opens a database, and first brings its tables up to date if
// migrate is set. The schema is PostgreSQL's.
func openDatabase(ctx context.Context, name, schema string, migrate bool) (*database, error) {
	driver, dialect, source, opts := "sqlite", sqlstore.SQLite, name, sqlstore.Options{Schema: schema}
	if isPostgres(name) {
		driver, dialect = "pgx", sqlstore.Postgres
	} else {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_pragma=busy_timeout(60000)"}
		source = file.String()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	if dialect == sqlstore.Postgres {
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(8)
	}
	if migrate {
		err = sqlstore.Migrate(ctx, db, dialect, opts)
	}
	d := &database{db: db, schema: schema}
	if err == nil {
		d.Store, err = sqlstore.Open(ctx, db, dialect, opts)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), db.Close())
	}
	return d, nil
}

func isPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// count runs one of the source's queries "status, count" as it is written.
func (d *database) count(ctx context.Context, query string) (map[string]int, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if d.schema != "" {
		if _, err := conn.ExecContext(ctx, "SET search_path TO "+d.schema); err != nil {
			return nil, err
		}
		defer conn.ExecContext(context.WithoutCancel(ctx), "RESET search_path")
	}
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var status sql.NullString
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, err
		}
		if !status.Valid {
			status.String = "detected"
		}
		all[status.String] += n
	}
	return all, rows.Err()
}
