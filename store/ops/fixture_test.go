package ops

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// house is a database with its services.
type house struct {
	Services
	t       *testing.T
	dialect sqlstore.Dialect
	sql     *sql.DB
	opts    sqlstore.Options
	now     time.Time // of the store
}

// both runs a test on each database.
func both(t *testing.T, test func(*testing.T, *house)) {
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		t.Run(d.String(), func(t *testing.T) { test(t, newHouse(t, d)) })
	}
}

func newHouse(t *testing.T, d sqlstore.Dialect) *house {
	t.Helper()
	h := &house{t: t, dialect: d, now: noon}
	h.opts.Now = func() time.Time { return h.now }
	driver, url := "sqlite", pgtest.FileURL(filepath.Join(t.TempDir(), "ops.db"))
	if d == sqlstore.Postgres {
		driver, url = "pgx", pgtest.URL(t)
	}
	var err error
	if h.sql, err = sql.Open(driver, url); err != nil {
		t.Fatal(err)
	}
	h.sql.SetMaxIdleConns(10)
	t.Cleanup(func() { h.sql.Close() })
	if d == sqlstore.Postgres {
		h.opts.Schema = pgtest.Schema(t, h.sql)
	}
	h.check(sqlstore.Migrate(t.Context(), h.sql, d, h.opts))
	db, err := sqlstore.Open(t.Context(), h.sql, d, h.opts)
	h.check(err)
	t.Cleanup(func() { h.check(db.Close()) })
	h.Services, err = NewServices(db, DefaultPolicies())
	h.check(err)
	return h
}

func (h *house) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

var (
	chain  = uuid.MustParse("10000000-0000-4000-8000-000000000001")
	asset  = uuid.MustParse("10000000-0000-4000-8000-000000000002")
	system = withdrawal.By{Actor: "intake", Role: withdrawal.System}
	payer  = withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}
)

// wallet adds an active hot wallet of the chain.
func (h *house) wallet() {
	h.check(h.Withdrawals.PutHotWallet(h.t.Context(), withdrawal.By{Actor: "setup", Role: withdrawal.System},
		withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot,
			Status: withdrawal.WalletActive}))
}

// request makes an approved request of 100 with a job.
func (h *house) request(events ...withdrawal.Event) withdrawal.Withdrawal {
	h.t.Helper()
	id := uuid.New()
	all := append([]withdrawal.Event{
		withdrawal.Submitted{By: system, Request: id, User: uuid.New(), Asset: asset, Chain: chain, ToAddress: "payee", Amount: "100"},
		withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
		withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset, Priority: withdrawal.Normal},
	}, events...)
	w, err := h.Withdrawals.Do(context.Background(), id, all...)
	h.check(err)
	return w
}

// review makes a request whose signer was called and never answered.
func (h *house) review() withdrawal.Withdrawal {
	h.t.Helper()
	w := h.request(withdrawal.Claimed{By: payer}, withdrawal.Dispatched{By: payer, Fence: 1, Reference: "r7"})
	h.now = h.now.Add(time.Hour)
	w, err := h.Withdrawals.Do(h.t.Context(), w.Request.ID, withdrawal.Elapsed{By: system})
	h.check(err)
	if !w.Job.Review {
		h.t.Fatalf("it is not in review: %+v", w.Job)
	}
	return w
}

// consumer puts a consumer of the log on file, and what it has parked.
func (h *house) consumer(row sqlstore.Consumer, parked ...sqlstore.Parked) {
	h.t.Helper()
	h.check(h.DB.Update(h.t.Context(), func(u store.Unit) error {
		c, err := sqlstore.ConsumersOf(u)
		if err == nil {
			_, err = c.Move(sqlstore.Consumer{}, row)
		}
		if err == nil {
			err = c.Park(parked...)
		}
		return err
	}))
}
