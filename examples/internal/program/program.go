// Package program is what the programs of the examples begin with: a main function, and a database by its name.
// A user does not copy it.
package program

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"
	"github.com/settlehq/settle/store/sqlstore"
	_ "modernc.org/sqlite" // registers "sqlite"
)

// Main runs a program until it ends or is interrupted, and exits with 1 if it fails.
func Main(name string, run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Temporary returns the path of a file in a new directory, for a program that was given none.
func Temporary(program string) (string, error) {
	dir, err := os.MkdirTemp("", "settle-"+program+"-")
	return filepath.Join(dir, program+".db"), err
}

// Database is a store and the connections below it, which are the host's.
type Database struct {
	*sqlstore.Store
	DB *sql.DB
}

// Close closes the store and the connections.
func (d *Database) Close() error { return errors.Join(d.Store.Close(), d.DB.Close()) }

// Options say how a database is opened.
type Options struct {
	sqlstore.Options
	// Before is called with the connections before the store is opened, if it is not nil: [Migrate], or more.
	Before func(context.Context, *sql.DB, sqlstore.Dialect, sqlstore.Options) error
	// Connections is how many connections to PostgreSQL a process has, 0 for 8.
	Connections int
}

// Migrate is the usual Before: it brings the tables up to date.
var Migrate = sqlstore.Migrate

// Open opens a database by the path of an SQLite file, which several processes may have open, or by a URL of PostgreSQL.
func Open(ctx context.Context, name string, o Options) (*Database, error) {
	driver, dialect, source, shown := "sqlite", sqlstore.SQLite, name, name
	if IsPostgres(name) {
		driver, dialect = "pgx", sqlstore.Postgres
		shown = "the PostgreSQL database" // the URL may have a password
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
		return nil, fmt.Errorf("open %s: %w", shown, err)
	}
	if dialect == sqlstore.Postgres {
		if o.Connections == 0 {
			o.Connections = 8
		}
		db.SetMaxOpenConns(o.Connections)
		db.SetMaxIdleConns(o.Connections) // else two are kept, and the others opened anew all the time
	}
	if o.Before != nil {
		err = o.Before(ctx, db, dialect, o.Options)
	}
	d := &Database{DB: db}
	if err == nil {
		d.Store, err = sqlstore.Open(ctx, db, dialect, o.Options)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", shown, err), db.Close())
	}
	return d, nil
}

// IsPostgres reports whether the name of a database is a URL of PostgreSQL.
func IsPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}
