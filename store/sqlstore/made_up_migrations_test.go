package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// with is the database as a binary sees it that has made-up migrations of some
// directories beside ours, and log is what that binary logs.
func (d database) with(t *testing.T, directories ...string) (later database, log *bytes.Buffer) {
	t.Helper()
	all := fstest.MapFS{}
	add := func(files fs.FS) {
		names, err := fs.Glob(files, "*.sql")
		for _, name := range names {
			var text []byte
			if err == nil {
				text, err = fs.ReadFile(files, name)
			}
			all[name] = &fstest.MapFile{Data: text}
		}
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
	}
	add(sqlstore.Ours)
	for _, directory := range directories {
		add(os.DirFS("testdata/migrations/" + directory))
	}
	log = new(bytes.Buffer)
	d.opts = sqlstore.WithMigrations(d.opts, all)
	d.opts.Log = slog.New(slog.NewTextHandler(log, nil))
	return d, log
}

// goose runs the migrations of a database both ways.
func (d database) goose(t *testing.T, options ...goose.ProviderOption) *goose.Provider {
	t.Helper()
	files, err := sqlstore.Migrations(d.dialect, d.opts)
	if err != nil {
		t.Fatal(err)
	}
	dialect := map[sqlstore.Dialect]goose.Dialect{sqlstore.SQLite: goose.DialectSQLite3, sqlstore.Postgres: goose.DialectPostgres}[d.dialect]
	p, err := goose.NewProvider(dialect, d.DB, files, append(options, goose.WithTableName(d.table("settle_db_version")))...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rowsOf are the rows of all tables, in the order of their columns.
func (d database) rowsOf(t *testing.T) (all []string) {
	t.Helper()
	tables := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%db_version'"
	if d.dialect == sqlstore.Postgres {
		tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname NOT LIKE '%db_version' AND relnamespace = '" + d.opts.Schema + "'::regnamespace"
	}
	for _, table := range d.texts(t, tables) {
		name := table
		if d.dialect == sqlstore.Postgres {
			name = d.table(table)
		}
		all = append(all, d.rows(t, table, "SELECT * FROM "+name)...)
	}
	slices.Sort(all)
	return all
}

func (d database) rows(t *testing.T, table, query string) (all []string) {
	t.Helper()
	rows, err := d.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), []any{}
		line := table
		for i := range cells {
			into = append(into, &cells[i])
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, c := range cells {
			line += "|" + columns[i] + "=" + c.String
		}
		all = append(all, line)
	}
	return all
}

// Every migration of ours ends with its row, which has the number and the domain of its file's name, and its Down
// begins with the end of it.
func TestEveryMigrationNotesItself(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		db, _ := newMigrated(t, d).with(t, "later", "raised")
		db.migrate(t)
		var all []string
		for _, version := range db.versions(t, "settle_db_version")[1:] {
			all = append(all, db.rows(t, "", "SELECT version FROM "+db.table("settle_versions")+" WHERE version = "+strconv.FormatInt(version, 10))...)
		}
		if rows := db.rows(t, "", "SELECT version FROM "+db.table("settle_versions")); len(rows) != len(all) || len(all) < 10 {
			t.Errorf("%d migrations were run, and %d are noted of %d", len(all), len(rows), len(db.versions(t, "settle_db_version"))-1)
		}
		noted := db.rows(t, "", "SELECT version, domain FROM "+db.table("settle_versions"))
		names, err := fs.Glob(sqlstore.Ours, "*.sql")
		for _, name := range names {
			number, domain, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
			domain, _, _ = strings.Cut(domain, "_")
			if row := "|version=" + strings.TrimLeft(number, "0") + "|domain=" + domain; !slices.Contains(noted, row) {
				t.Errorf("%s is not noted as %s", name, row)
			}
		}
		if err != nil || len(names) < 6 {
			t.Error(names, err)
		}
		host := db.goose(t)
		for n := len(all) - 1; n > 0; n-- {
			if _, err := host.Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rows := db.rows(t, "", "SELECT version FROM "+db.table("settle_versions")); len(rows) != n {
				t.Errorf("after %d ways down %d migrations are noted", len(all)-n, len(rows))
			}
		}
	})
}

// What an additive migration leaves behind is used by binaries that know it and by
// those that do not, at once, with rows in every state of every domain.
func TestOldAndNewBinariesBesideEachOther(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
		schema := b.schemaOf(t)
		f := fill(t, b)
		if err := b.Store.Close(); err != nil {
			t.Fatal(err)
		}
		later, _ := b.with(t, "later")
		if _, err := sqlstore.Open(t.Context(), later.DB, d, later.opts); !errors.Is(err, sqlstore.ErrOldTables) {
			t.Errorf("the new binary opens before it migrates: %v", err)
		}
		later.migrate(t)
		old, log := b.with(t)
		b.database = old
		old.migrate(t)
		if !strings.Contains(log.String(), "migrations=\"[90001 90002 90003 90004 90005 90006]\"") {
			t.Errorf("the old binary logs %s", log)
		}
		f.same(t, later)
		f.goOn(t)
		f.ended(t, later)
		if _, err := later.goose(t).DownTo(t.Context(), slices.Max(old.numbers(t))); err != nil {
			t.Fatal(err)
		}
		sameSchema(t, "after the way down", b.schemaOf(t), schema)
		f.ended(t, old)
	})
}

// A process that runs while an additive migration is made beside it goes on with its connections and prepared
// statements: it pays, stops and starts, follows the log, notes that it is alive, and stands still in a database
// that is not where it was.
func TestAProcessThatRunsGoesOnBesideALaterMigration(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, b := t.Context(), newPayer(t, d)
		later, _ := b.with(t, "later")
		operator, err := store.NewSwitches(b.Store)
		if err != nil {
			t.Fatal(err)
		}
		by := switches.By{Actor: "olga", Role: switches.Operator}
		var row sqlstore.Consumer
		work := func(when string) {
			t.Helper()
			b.goes(t, when)
			_, _, err := operator.Stop(ctx, stopped(switches.Chain(chain1), switches.Send))
			if err == nil {
				_, err = operator.Start(ctx, switches.Started{By: by, Scope: switches.Chain(chain1), Reason: "found"})
			}
			if err != nil {
				t.Errorf("%s: the switch: %v", when, err)
			}
			if claimed, err := b.offered(ctx); err != nil || len(claimed) != 0 {
				t.Errorf("%s: %d are offered, %v", when, len(claimed), err)
			}
			if err := b.Update(ctx, func(u store.Unit) error {
				c, err := sqlstore.ConsumersOf(u)
				if err != nil {
					return err
				}
				next := sqlstore.Consumer{Name: "c", Machines: []string{"m"}, Fence: row.Fence + 1, Until: time.Now()}
				is, err := c.Move(row, next)
				if err != nil || !is {
					t.Errorf("%s: the consumer moves: %v, %v", when, is, err)
				}
				p := sqlstore.Parked{Consumer: "c", N: 1, Machine: "m", ID: "x", Version: 1, Aggregate: "x", At: time.Now(), NextTry: time.Now()}
				if err == nil {
					err = errors.Join(c.Park(p), c.Retry(p), c.Unpark(p))
				}
				if err == nil {
					row, err = c.Get("c")
				}
				return err
			}); err != nil {
				t.Errorf("%s: the consumer: %v", when, err)
			}
			if _, _, err := store.NewJournal(b.Store).Page(ctx, "", 10); err != nil { // its lines wait for transactions of other tests
				t.Errorf("%s: the journal: %v", when, err)
			}
			if lines := b.rows(t, "", "SELECT n FROM "+b.table("settle_journal")); len(lines) == 0 {
				t.Errorf("%s: the journal has no line", when)
			}
		}
		work("before")
		later.migrate(t)
		work("after")
		if _, err := b.Exec(b.tables("INSERT INTO {settle_places} (n, generation, lines, base, system, timeline, relation, actor, reason) " +
			"SELECT n + 1, generation, lines, base, system, timeline, relation + 1, '', '' FROM {settle_places}")); err != nil {
			t.Fatal(err)
		}
		if d == sqlstore.Postgres { // a file has no place
			b.stands(t, "moved")
		}
	})
}

// A migration that raises oldest keeps those away that do not know it, with all that
// they would have run; after its Down they are back.
func TestAMigrationThatRaisesOldestKeepsOldBinariesAway(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := context.Background(), newMigrated(t, d)
		others := db
		others.opts.Domains = []store.Domain{store.DomainWallets, store.DomainWithdrawals}
		later, _ := db.with(t, "raised")
		another, _ := db.with(t, "later")
		later.migrate(t)
		want, rows := db.schemaOf(t), db.rowsOf(t)
		for _, old := range []database{db, another} {
			if err := sqlstore.Migrate(ctx, db.DB, d, old.opts); !errors.Is(err, sqlstore.ErrNewerTables) || !strings.Contains(err.Error(), "migration 90010 of relays") {
				t.Errorf("Migrate: %v", err)
			}
			if _, err := sqlstore.Open(ctx, db.DB, d, old.opts); !errors.Is(err, sqlstore.ErrNewerTables) {
				t.Errorf("Open: %v", err)
			}
		}
		others.migrate(t)
		others.open(t)
		sameSchema(t, "the database", db.schemaOf(t), want)
		if !slices.Equal(db.rowsOf(t), rows) {
			t.Error("rows were written")
		}
		if _, err := later.goose(t).Down(ctx); err != nil {
			t.Fatal(err)
		}
		db.migrate(t)
		db.open(t)
	})
}

// A process that runs when a migration raises oldest stops writing: where it asks the time or the switch, where it writes
// a line of the log, and where a consumer moves. It may read, as another may whose domains the migration leaves alone may
// write. After the way down it goes on.
func TestAProcessThatRunsStopsWhenOldestIsRaised(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := t.Context(), newMigrated(t, d)
		until := time.Now().UTC().Truncate(time.Microsecond)
		old, now := db.at(t, until), db.open(t) // which does not ask the database for the time, and which does
		others := db
		others.opts.Domains = []store.Domain{store.DomainWallets, store.DomainWithdrawals}
		other := others.open(t)
		row := sqlstore.Consumer{Name: "c", Machines: []string{"m"}, Fence: 1, Until: until}
		move := func(s *sqlstore.Store, old, row sqlstore.Consumer) error {
			return s.Update(ctx, func(u store.Unit) error {
				c, err := sqlstore.ConsumersOf(u)
				if err == nil {
					_, err = c.Move(old, row)
				}
				return err
			})
		}
		if err := move(old, sqlstore.Consumer{}, row); err != nil {
			t.Fatal(err)
		}
		scope := switches.Chain(bsc)
		line := func(s *sqlstore.Store) error {
			w, err := store.NewSwitches(s)
			if err == nil {
				_, _, err = w.Stop(ctx, switches.Stopped{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: scope,
					Level: switches.Send, Reason: "a stolen key"})
			}
			return err
		}
		ask := func(s *sqlstore.Store) error {
			return s.Update(ctx, func(u store.Unit) error { _, err := u.Switches().Ask(scope); return err })
		}
		clock := func(s *sqlstore.Store) error {
			return s.Update(ctx, func(u store.Unit) error { _, err := u.Now(); return err })
		}
		later, _ := db.with(t, "raised")
		later.migrate(t)
		tries := map[string]error{"a line": line(old), "the switch": ask(old), "a consumer": move(old, row, row),
			"a new consumer": move(old, sqlstore.Consumer{}, sqlstore.Consumer{Name: "d", Machines: []string{"m"}, Fence: 1, Until: until})}
		if d == sqlstore.Postgres {
			tries["the time"] = clock(now)
		}
		for what, err := range tries {
			if !errors.Is(err, sqlstore.ErrNewerTables) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for what, err := range map[string]error{"a reader": now.View(ctx, func(u store.Unit) error {
			if _, err := u.Now(); err != nil {
				return err
			}
			_, err := u.Switches().Ask(scope)
			return err
		}), "the new process": line(later.open(t)), "another domain": errors.Join(line(other), ask(other), clock(other))} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if rows := db.rows(t, "", "SELECT name FROM "+db.table("settle_consumers")); len(rows) != 1 {
			t.Errorf("%q are on file", rows)
		}
		if _, err := later.goose(t).Down(ctx); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(line(old), ask(old), move(old, row, row), clock(now)); err != nil {
			t.Errorf("after the way down: %v", err)
		}
	})
}

// A migration that fails half way leaves a filled database as it was, and what came
// before it in the same call too.
func TestAMigrationThatFailsHalfWayOverRows(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
		f := fill(t, b)
		want, rows := b.schemaOf(t), b.rowsOf(t)
		later, _ := b.with(t, "later", "failing")
		if err := sqlstore.Migrate(t.Context(), later.DB, d, later.opts); err == nil || !strings.Contains(err.Error(), "migration 90021") {
			t.Errorf("the sums are not below zero: %v", err)
		}
		sameSchema(t, "the database", b.schemaOf(t), want)
		if got := b.rowsOf(t); !slices.Equal(got, rows) {
			t.Error("rows were written")
		}
		if len(rows) < 300 {
			t.Errorf("only %d rows are there", len(rows))
		}
		if err := b.Store.Close(); err != nil {
			t.Fatal(err)
		}
		f.same(t, b.database)
	})
}

// A SQLite database in which every name has a prefix does all that another one does.
func TestAPrefixOnSQLite(t *testing.T) {
	pgtest.Beside(t)
	db := newDatabase(t, sqlstore.SQLite)
	for _, text := range []string{"CREATE TABLE blocks (n int)", "CREATE TABLE transitions (n int)", "CREATE INDEX transactions_live ON blocks (n)"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	theirs := db.schemaOf(t)
	db.opts.Schema = "house"
	db.migrate(t)
	for _, line := range db.schemaOf(t) {
		if kind, name, _ := strings.Cut(line, " "); !strings.HasPrefix(name, "house_") && !strings.HasPrefix(name, "sqlite_autoindex_house_") && !slices.Contains(theirs, line) {
			t.Errorf("a %s is called %.60s", kind, name)
		}
	}
	b := bankOf(t, db, db.open(t), withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")}, withdrawal.HotWallet{ID: named("hot wallet"), Chain: bsc})
	f := fill(t, b)
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	f.same(t, db)
	f.goOn(t)
	f.ended(t, db)
	if err := store.SelfCheck(t.Context(), db.open(t)); err != nil {
		t.Error(err)
	}
	if _, err := db.goose(t).DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	db.opts.Schema = ""
	db.exec(t, "DROP TABLE house_settle_db_version")
	sameSchema(t, "after all steps down", db.schemaOf(t), theirs)
}
