package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/user"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/sqlstore"
)

// database is one that is open, with the services of the domains that it has.
type database struct {
	ops.Services
	sql     *sql.DB
	dialect sqlstore.Dialect
	opts    sqlstore.Options
	store   *sqlstore.Store
	session string // who the database or this machine says is speaking
}

func (d *database) close() error {
	var err error
	if d.store != nil {
		err = d.store.Close()
	}
	return errors.Join(err, d.sql.Close())
}

// connect opens the database and looks at no table of it.
func (a *app) connect() error {
	if a.url == "" {
		return fmt.Errorf("%w: --db or SETTLE_DB names the database", errUsage)
	}
	driver, dialect, at := "pgx", sqlstore.Postgres, a.url
	if !strings.HasPrefix(at, "postgres://") && !strings.HasPrefix(at, "postgresql://") {
		path := strings.TrimPrefix(at, "file:")
		path, query, _ := strings.Cut(path, "?")
		if _, err := os.Stat(path); err != nil { // a path that was mistyped makes no new database
			return err
		}
		driver, dialect = "sqlite", sqlstore.SQLite
		query = strings.TrimPrefix(query+"&_pragma=synchronous(full)&_pragma=foreign_keys(1)", "&")
		at = "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query
	}
	db, err := sql.Open(driver, at)
	if err != nil {
		return err
	}
	db.SetMaxIdleConns(10)
	a.database = &database{sql: db, dialect: dialect, opts: sqlstore.Options{Schema: a.schema, Log: slog.New(slog.DiscardHandler)}}
	return nil
}

// open opens the database with the domains that it has.
func (a *app) open(ctx context.Context) error {
	if err := a.connect(); err != nil {
		return err
	}
	d := a.database
	err := d.choose(ctx)
	if err != nil {
		return err
	}
	policies, err := a.policies()
	if err != nil {
		return err
	}
	if d.store, err = sqlstore.Open(ctx, d.sql, d.dialect, d.opts); err != nil {
		return err
	}
	if d.Services, err = ops.NewServices(d.store, policies); err != nil {
		return err
	}
	d.session, err = d.speaker(ctx)
	return err
}

// policies are the defaults, with what the host's file says instead.
func (a *app) policies() (ops.Policies, error) {
	p := ops.DefaultPolicies()
	if a.policy == "" {
		if a.actor != "" || a.reason != "" { // somebody speaks, and depths, approvals and pauses are judged by it
			fmt.Fprintln(a.errs, "settle: judged by the default policies: --policy names the file with the host's")
		}
		return p, nil
	}
	text, err := os.ReadFile(a.policy)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// speaker is the session user of the database, or on SQLite the user of this machine.
func (d *database) speaker(ctx context.Context) (name string, err error) {
	if d.dialect == sqlstore.Postgres {
		err = d.sql.QueryRowContext(ctx, "SELECT session_user").Scan(&name)
		return name, err
	}
	if u, err := user.Current(); err == nil {
		return u.Username, nil
	}
	return "unknown", nil
}

// speaks is who the journal says has spoken: the session, and the name that --actor gives.
func (a *app) speaks() string {
	actor := "cli:" + a.session
	if a.actor != "" {
		actor += ":" + a.actor
	}
	return statemachine.Bounded(actor, statemachine.MaxActor)
}

// personal reports whether the session of the database is of one person, by that person's word.
func (a *app) personal() bool {
	return a.anyone || a.dialect == sqlstore.Postgres && a.actor != "" && a.actor == a.session
}

// choose takes the domains that the database has: none is an error, since a store without a choice is one of all domains.
func (d *database) choose(ctx context.Context) error {
	found, err := d.migrated(ctx)
	for _, m := range found {
		if m.domain != "shared" && m.domain != store.DomainSwitches {
			d.opts.Domains = append(d.opts.Domains, m.domain)
		}
	}
	if err == nil && len(d.opts.Domains) == 0 {
		err = fmt.Errorf("%w: no domain has any here, neither withdrawals, wallets, swaps, refreshes nor relays; "+
			"settle migrate up --domains withdrawals makes those of withdrawals", sqlstore.ErrNoTables)
	}
	return err
}

type migration struct {
	version int64
	domain  store.Domain
}

// migrated are the latest migrations of each domain that the database notes, none without the table.
func (d *database) migrated(ctx context.Context) (all []migration, err error) {
	table, exists := "settle_versions", "SELECT count(*) FROM sqlite_master WHERE name = $1"
	if d.dialect == sqlstore.Postgres {
		exists = "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)"
	}
	if d.opts.Schema != "" {
		table = d.opts.Schema + map[sqlstore.Dialect]string{sqlstore.SQLite: "_", sqlstore.Postgres: "."}[d.dialect] + table
	}
	if _, err := sqlstore.Script(d.dialect, d.opts); err != nil { // a schema that is no identifier
		return nil, err
	}
	var n int
	if err := d.sql.QueryRowContext(ctx, exists, table).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	rows, err := d.sql.QueryContext(ctx, "SELECT max(version), domain FROM "+table+" GROUP BY domain ORDER BY 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m migration
		if err := rows.Scan(&m.version, &m.domain); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}
