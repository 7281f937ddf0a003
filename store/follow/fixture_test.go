package follow

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// host is a service with a table of its own, which gets each line once.
type host struct {
	t       *testing.T
	dialect sqlstore.Dialect
	url     string
	opts    sqlstore.Options
	db      *sql.DB
	store   *sqlstore.Store
	orders  *store.Withdrawals
	table   string

	mu  sync.Mutex
	now time.Time // of the store
	ids uint64
}

// both runs a test on each database, one after the other: an open transaction holds
// up whoever follows a feed of the same server.
func both(t *testing.T, test func(*testing.T, *host)) {
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		t.Run(d.String(), func(t *testing.T) { test(t, newHost(t, d)) })
	}
}

func newHost(t *testing.T, d sqlstore.Dialect) *host {
	t.Helper()
	h := &host{t: t, dialect: d, table: "host_lines", now: noon}
	h.opts.Now = func() time.Time {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}
	driver := "sqlite"
	if d == sqlstore.Postgres {
		driver, h.url = "pgx", pgtest.URL(t)
	} else {
		h.url = pgtest.FileURL(filepath.Join(t.TempDir(), "settle.db"))
	}
	var err error
	if h.db, err = sql.Open(driver, h.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.db.Close() })
	h.db.SetMaxIdleConns(16)
	if d == sqlstore.Postgres {
		h.opts.Schema = pgtest.Schema(t, h.db)
		h.table = h.opts.Schema + "." + h.table
	}
	if err := sqlstore.Migrate(t.Context(), h.db, d, h.opts); err != nil {
		t.Fatal(err)
	}
	h.exec("CREATE TABLE " + h.table + " (n integer, machine text, id text, version integer, aggregate text, " +
		"PRIMARY KEY (machine, id, version))")
	h.reopen()
	hot := withdrawal.HotWallet{ID: h.id(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	if err := h.orders.PutHotWallet(t.Context(), withdrawal.By{Actor: "setup", Role: withdrawal.System}, hot); err != nil {
		t.Fatal(err)
	}
	return h
}

// reopen opens the database as a new process does.
func (h *host) reopen() {
	h.t.Helper()
	var err error
	h.store = h.open(h.db)
	if h.orders, err = store.NewWithdrawals(h.store, withdrawal.DefaultPolicy()); err != nil {
		h.t.Fatal(err)
	}
}

var chain = uuid.NewSHA1(uuid.NameSpaceOID, []byte("chain"))

func (h *host) open(db *sql.DB) *sqlstore.Store {
	h.t.Helper()
	s, err := sqlstore.Open(context.Background(), db, h.dialect, h.opts)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	return s
}

// cut is another process with a store of its own, which can be cut, and what closes
// its connections.
func (h *host) cut() (s *sqlstore.Store, process *cutdb.Process, closed func()) {
	h.t.Helper()
	db, process, err := cutdb.Open(map[sqlstore.Dialect]string{sqlstore.SQLite: "sqlite", sqlstore.Postgres: "pgx"}[h.dialect], h.url)
	if err != nil {
		h.t.Fatal(err)
	}
	db.SetMaxIdleConns(16)
	s = h.open(db)
	return s, process, func() {
		process.Revive()
		s.Close()
		db.Close()
	}
}

func (h *host) exec(text string, args ...any) {
	h.t.Helper()
	if _, err := h.db.Exec(text, args...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *host) id() (id uuid.UUID) {
	h.ids++
	binary.BigEndian.PutUint64(id[:8], h.ids*0x9e3779b97f4a7c15)
	return id
}

// order makes a request that has a job: lines of two machines.
func (h *host) order() uuid.UUID {
	h.t.Helper()
	return h.approved(withdrawal.Enqueued{By: withdrawal.By{Actor: "system", Role: withdrawal.System}, Job: h.id(), AssetOnChain: h.id()})
}

// approved is a request that was approved, and what follows in the same transaction.
func (h *host) approved(more ...withdrawal.Event) uuid.UUID {
	h.t.Helper()
	by := func(r withdrawal.Role) withdrawal.By { return withdrawal.By{Actor: r.String(), Role: r} }
	id := h.id()
	_, err := h.orders.Do(h.t.Context(), id, append([]withdrawal.Event{
		withdrawal.Submitted{By: by(withdrawal.System), Request: id, User: h.id(), Asset: h.id(),
			Chain: chain, ToAddress: "0xABC", Amount: "100", Decimals: 18},
		withdrawal.Approved{By: by(withdrawal.Approver)}}, more...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// post is the function of the host: a line that it gets twice is a failure.
func (h *host) post(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
	for i := range lines {
		l := &lines[i]
		_, err := tx.ExecContext(ctx, "INSERT INTO "+h.table+" (n, machine, id, version, aggregate) "+
			"SELECT count(*), $1, $2, $3, $4 FROM "+h.table,
			l.Machine, l.ID, l.Version, l.Aggregate)
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *host) consumer() Consumer {
	return Consumer{Name: "book", Domains: []store.Domain{store.DomainWithdrawals}, From: Beginning, Lease: time.Minute, Lines: 3}
}

func (h *host) runner(s *sqlstore.Store, c Consumer, fn Func) *runner {
	h.t.Helper()
	r, err := newRunner(s, c, fn)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// settle lets a runner work until it has nothing to do, or fails.
func settle(ctx context.Context, r *runner) error {
	for range 1000 {
		if wait, err := r.step(ctx); err != nil || wait > 0 {
			return err
		}
	}
	return fmt.Errorf("it goes on for ever")
}

func (h *host) count(text string, args ...any) (n int) {
	h.t.Helper()
	if err := h.db.QueryRow(text, args...).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// name is a table of ours.
func (h *host) name(table string) string {
	if h.opts.Schema != "" {
		return h.opts.Schema + "." + table
	}
	return table
}

// posted checks that the host has so many of the log's lines, each record's in the
// order of their versions.
func (h *host) posted(want int) {
	h.t.Helper()
	all := h.count("SELECT count(*) FROM " + h.table)
	known := h.count("SELECT count(*) FROM " + h.table + " p JOIN " + h.name("transitions") +
		" l ON l.machine = p.machine AND l.id = p.id AND l.version = p.version")
	wrong := h.count("SELECT count(*) FROM " + h.table + " a JOIN " + h.table +
		" b ON a.machine = b.machine AND a.id = b.id AND a.version < b.version AND a.n > b.n")
	if all != want || known != want || wrong != 0 {
		h.t.Errorf("the host has %d lines and not %d, %d of the log, %d out of order", all, want, known, wrong)
	}
}

// log is how many lines there are.
func (h *host) log() int { return h.count("SELECT count(*) FROM " + h.name("transitions")) }

func (h *host) stats() Stats {
	h.t.Helper()
	s, err := StatsOf(h.t.Context(), h.store, "book")
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}
