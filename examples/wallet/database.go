package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/store/sqlstore"
)

// openDatabase opens a database, brings its tables up to date, and makes sure
// that it watches what is asked for.
func openDatabase(ctx context.Context, name string, watch watchSet, log io.Writer) (*program.Database, error) {
	if name == "" {
		var err error
		if name, err = program.Temporary("wallet"); err != nil {
			return nil, err
		}
		fmt.Fprintln(log, "the database is", name)
	}
	return program.Open(ctx, name, program.Options{
		Before: func(ctx context.Context, db *sql.DB, dialect sqlstore.Dialect, o sqlstore.Options) error {
			if err := sqlstore.Migrate(ctx, db, dialect, o); err != nil {
				return err
			}
			return claim(ctx, db, watch.String())
		}})
}

// claim remembers, in a table of the program's own, what the wallet watches. A
// wallet that was filled for one set of scripts and went on with another would
// miss money, so another set is refused.
func claim(ctx context.Context, db *sql.DB, watch string) error {
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS example_watch (wallet INTEGER PRIMARY KEY, flags TEXT NOT NULL)",
		// Flags are letters, hex digits and spaces.
		fmt.Sprintf("INSERT INTO example_watch VALUES (%d, '%s') ON CONFLICT DO NOTHING", walletID, watch),
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var stored string
	row := db.QueryRowContext(ctx, fmt.Sprintf("SELECT flags FROM example_watch WHERE wallet = %d", walletID))
	if err := row.Scan(&stored); err != nil {
		return err
	}
	if stored != watch {
		return fmt.Errorf("it was filled with %s; use the same flags, or another database", stored)
	}
	return nil
}
