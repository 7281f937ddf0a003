package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// openService opens a database, an SQLite file or a PostgreSQL URL, and first
// brings its tables up to date if migrate is set.
func openService(ctx context.Context, name string, c refresh.Policy, migrate bool) (*store.Refreshes, func() error, error) {
	prepare := func(ctx context.Context, db *sql.DB, dialect sqlstore.Dialect, o sqlstore.Options) (err error) {
		if dialect == sqlstore.Postgres {
			err = warm(ctx, db, c.PostgresMinConnections)
		}
		if migrate && err == nil {
			err = sqlstore.Migrate(ctx, db, dialect, o)
		}
		return err
	}
	d, err := program.Open(ctx, name, program.Options{Before: prepare, Connections: int(c.PostgresMaxConnections)})
	if err != nil {
		return nil, nil, err
	}
	service, err := store.NewRefreshes(d, c)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return service, d.Close, nil
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
