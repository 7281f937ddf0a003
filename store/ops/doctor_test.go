package ops

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/sqlstore"
)

// says asks a doctor and holds one answer against what it has to contain; empty: it is fine.
func says(t *testing.T, d Doctor, check, want string) {
	t.Helper()
	if d.Limits == (DoctorLimits{}) {
		d.Limits = DefaultDoctorLimits()
		d.Limits.Wait = time.Minute
	}
	for _, a := range d.Ask(t.Context()) {
		if a.Check != check {
			continue
		}
		if a.Fine != (want == "") || !strings.Contains(a.Is, want) || a.Fine != (a.Why == "" && a.Do == "") {
			t.Errorf("%s: %+v, not %q", check, a, want)
		}
		return
	}
	t.Errorf("nobody looks at %s", check)
}

func (h *house) doctor() Doctor { return Doctor{DB: h.sql, Dialect: h.dialect, Options: h.opts} }

func TestDoctorOfSQLite(t *testing.T) {
	h := newHouse(t, sqlstore.SQLite)
	for _, check := range []string{"tables", "clock", "pool", "journal", "synchronous"} {
		says(t, h.doctor(), check, "")
	}
	d := h.doctor()
	d.SelfCheck = true
	says(t, d, "self-check", "")
	d.now = func() time.Time { return time.Now().Add(-3 * time.Second) }
	says(t, d, "clock", "the clock of the database is")
	d.Limits = DefaultDoctorLimits()
	d.Limits.Clock = time.Minute
	says(t, d, "clock", "")

	open := func(name, pragma string) Doctor {
		db, err := sql.Open("sqlite", pgtest.FileURL(filepath.Join(t.TempDir(), name))+pragma)
		h.check(err)
		t.Cleanup(func() { db.Close() })
		return Doctor{DB: db, Dialect: sqlstore.SQLite}
	}
	says(t, open("other.db", ""), "tables", sqlstore.ErrNoTables.Error())
	says(t, open("other.db", ""), "journal", "journal_mode is delete")
	says(t, open("other.db", "?_pragma=synchronous(normal)"), "synchronous", "synchronous is 1")
	_, err := h.sql.Exec("DROP TABLE withdrawal_attempts")
	h.check(err)
	says(t, d, "self-check", "withdrawal_attempts")
}

// A server of its own, since the settings of the others make it fast and not safe.
func TestDoctorOfPostgres(t *testing.T) {
	ctx := t.Context()
	cluster := pgtest.Private(t)
	open := func(settings ...string) Doctor {
		url := cluster.URL()
		for i := 0; i < len(settings); i += 2 {
			url = pgtest.With(t, url, settings[i], settings[i+1])
		}
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return Doctor{DB: db, Dialect: sqlstore.Postgres}
	}
	d := open()
	says(t, d, "tables", sqlstore.ErrNoTables.Error())
	if err := sqlstore.Migrate(ctx, d.DB, d.Dialect, d.Options); err != nil {
		t.Fatal(err)
	}
	for _, check := range []string{"tables", "place", "server", "standbys", "clock", "pool", "pooler", "old transactions", "dead rows",
		"statistics"} {
		says(t, d, check, "")
	}
	says(t, d, "durability", "fsync off")
	says(t, open("synchronous_commit", "off"), "durability", "synchronous_commit, fsync off")
	says(t, open("synchronous_commit", "off"), "tables", "synchronous_commit is off")
	says(t, open("default_transaction_read_only", "on"), "server", "default_transaction_read_only is on")
	wrong := d
	wrong.Dialect = sqlstore.SQLite
	says(t, wrong, "tables", sqlstore.ErrDialect.Error())

	exec := func(text string) {
		t.Helper()
		if _, err := d.DB.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	// An old transaction, and a table that is not vacuumed and not analyzed.
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	strict := d
	strict.Limits = DefaultDoctorLimits()
	strict.Limits.Transaction, strict.Limits.DeadRows, strict.Limits.Unanalyzed = 0, 100, 100
	says(t, strict, "old transactions", "idle in transaction")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{"CREATE TABLE many (n int) WITH (autovacuum_enabled = off)",
		"INSERT INTO many SELECT generate_series(1, 1000)", "UPDATE many SET n = n + 1", "SELECT pg_stat_force_next_flush()", "SELECT 1"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	told := func(check, want string) { // the server counts with a delay
		t.Helper()
		for range 1000 {
			for _, a := range strict.Ask(ctx) {
				if a.Check == check && !a.Fine {
					says(t, strict, check, want)
					return
				}
			}
		}
		t.Errorf("%s is never told", check)
	}
	told("dead rows", "many has 1000 dead rows")
	told("statistics", "many has 1000 rows and no statistics")

	// Two connections that are one are what a pooler makes of two.
	if shared, err := sharesServer(ctx, conn, conn); err != nil || !shared {
		t.Errorf("one process is not seen: %v", err)
	}
	// Nobody answers as a standby, and commits wait for it.
	exec("ALTER SYSTEM SET synchronous_standby_names = 'away'")
	exec("SELECT pg_reload_conf()")
	told("standbys", "commits wait for away")

	done, cancel := context.WithCancel(ctx)
	cancel()
	for _, a := range d.Ask(done) {
		if a.Fine && a.Check != "pool" || a.Do == "" && a.Check != "pool" {
			t.Errorf("the database does not answer, and %+v", a)
		}
	}
}
