package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// burned is the restore of the nth day.
func burned(n int) sqlstore.Restore {
	return sqlstore.Restore{Actor: "olga", Reason: "the disk of the old server burned", Lost: time.Date(2026, 3, n, 2, 14, 0, 0, time.UTC)}
}

func (d database) restored(t testing.TB, r sqlstore.Restore) {
	t.Helper()
	if err := sqlstore.Restored(context.Background(), d.DB, d.dialect, d.opts, r); err != nil {
		t.Fatal(err)
	}
}

// place is how many rows there are, and the generation.
func (d database) place(t testing.TB) (rows, generation int) {
	t.Helper()
	err := d.QueryRow(d.tables("SELECT count(*), max(generation) FROM {settle_places}")).Scan(&rows, &generation)
	if err != nil {
		t.Fatal(err)
	}
	return rows, generation
}

// stands asserts that nothing begins in a database that has moved, and nothing is sent,
// but that evidence is taken, and that an alert says so.
func (b *bank) stands(t *testing.T, why string) {
	t.Helper()
	ctx, service, scope := context.Background(), switchOf(t, b.database), switches.Chain(chain1)
	for _, s := range []switches.Scope{scope, switches.Charges, switches.Direction("usdc_to_usdd")} {
		if is, err := service.State(ctx, s); err != nil || !is.Moved || !is.Recovering || is.Level != switches.Send {
			t.Errorf("%s: %s is %+v, %v", why, s, is, err)
		}
	}
	claimed, err := b.offered(ctx)
	if err != nil || len(claimed) != 0 {
		t.Errorf("%s: %d are offered, %v", why, len(claimed), err)
	}
	end := switches.Started{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: scope, Recovery: true, Reason: "it looks complete"}
	if _, err := service.Start(ctx, end); !errors.Is(err, switches.ErrUnsettled) {
		t.Errorf("%s: the recovery of %s ends: %v", why, scope, err)
	}
	stats, err := sqlstore.StatsOf(ctx, b.Store)
	if err != nil || !stats.Moved {
		t.Errorf("%s: %+v, %v", why, stats, err)
	}
	if all := sqlstore.Alerts(stats, sqlstore.DefaultThresholds()); !slices.ContainsFunc(all, func(a statemachine.Alert) bool { return a.Name == "database moved" && a.Person }) {
		t.Errorf("%s: the alerts are %v", why, all)
	}
}

// offered is what a payer of chain1 is given.
func (b *bank) offered(ctx context.Context) ([]worker.Item[withdrawal.Withdrawal], error) {
	claimed, _, err := b.Payments(chain1, "payer").Turn(ctx, nil, 10)
	return claimed, err
}

// goes asserts that the database is where it was and something begins.
func (b *bank) goes(t *testing.T, why string) {
	t.Helper()
	w := b.claimed(t, chain1)
	if _, err := b.Do(context.Background(), w.Request.ID, prepared(&w)); err != nil {
		t.Errorf("%s: %v", why, err)
	}
	if stats, err := sqlstore.StatsOf(context.Background(), b.Store); err != nil || stats.Moved {
		t.Errorf("%s: %+v, %v", why, stats, err)
	}
}

// A standby that takes over stops what begins, by itself, in processes that were
// connected before and in new ones, until somebody says what was lost.
func TestAPromotionStopsWhatBegins(t *testing.T) {
	cluster := pgtest.Private(t)
	db, err := sql.Open("pgx", cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(4)
	d := database{db, sqlstore.Postgres, sqlstore.Options{Schema: "s"}, cluster.URL()}
	if _, err := db.Exec("CREATE SCHEMA s"); err != nil {
		t.Fatal(err)
	}
	d.migrate(t)
	b := bankOf(t, d, d.open(t), withdrawal.HotWallet{ID: named("wallet 1"), Chain: chain1})
	b.goes(t, "before")
	held, out := b.claimed(t, chain1), b.confirming(t, chain1)
	promote := func() {
		t.Helper()
		if err := cluster.Promote(); err != nil {
			t.Fatal(err)
		}
		for db.Ping() != nil { // the connections of before are thrown away, one at a time
		}
	}
	ctx := context.Background()

	promote()
	b.stands(t, "promoted")
	if _, err := b.Do(ctx, held.Request.ID, prepared(&held)); !errors.Is(err, withdrawal.ErrOnHold) {
		t.Errorf("what was claimed before is prepared: %v", err)
	}
	if _, err := b.Do(ctx, out.Request.ID, mined(&out)); err != nil {
		t.Errorf("evidence is refused: %v", err)
	}
	lossless := d
	lossless.opts.LosslessPromotion = true
	b.over(t, lossless, lossless.open(t)).goes(t, "promoted, and a promotion loses nothing")
	b.over(t, d, d.open(t)).stands(t, "opened anew")

	whole := burned(1)
	whole.Lossless = true
	for range 2 {
		d.restored(t, whole)
		if rows, generation := d.place(t); rows != 2 || generation != 0 {
			t.Errorf("%d rows, generation %d", rows, generation)
		}
		b.goes(t, "nothing was lost")
	}

	promote()
	b.stands(t, "promoted again")
	for range 2 {
		d.restored(t, burned(2))
		if rows, generation := d.place(t); rows != 3 || generation != 1 {
			t.Errorf("%d rows, generation %d", rows, generation)
		}
	}
	if _, err := b.Do(ctx, held.Request.ID, withdrawal.Held{By: as(withdrawal.Operator), Reason: "of before"}); !errors.Is(err, store.ErrRestored) {
		t.Errorf("a process that lived across the restore writes: %v", err)
	}
	after := b.over(t, d, d.open(t))
	after.recovering(t)
	after.goes(t, "started")
	promote()
	after.stands(t, "a third time")
	d.restored(t, burned(2)) // the same words in another place are another restore
	if rows, generation := d.place(t); rows != 4 || generation != 2 {
		t.Errorf("%d rows, generation %d", rows, generation)
	}
}

// recovering asserts that nothing begins before a person has started the chain, and
// starts it.
func (b *bank) recovering(t *testing.T) {
	t.Helper()
	ctx, service, scope := context.Background(), switchOf(t, b.database), switches.Chain(chain1)
	if is, err := service.State(ctx, scope); err != nil || is.Moved || !is.Recovering || is.Level != switches.Send {
		t.Errorf("after Restored the chain is %+v, %v", is, err)
	}
	if claimed, err := b.offered(ctx); err != nil || len(claimed) != 0 {
		t.Errorf("%d are offered after Restored, %v", len(claimed), err)
	}
	end := switches.Started{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: scope, Recovery: true, Reason: "all is explained"}
	if _, err := service.Start(ctx, end); !errors.Is(err, withdrawal.ErrUnsettled) {
		t.Errorf("before anything was explained the start is %v", err)
	}
	storetest.Settle(t, b.Withdrawals, chain1)
	if is, err := service.Start(ctx, end); err != nil || is.Recovering {
		t.Errorf("started, it is %+v, %v", is, err)
	}
	w := b.pending(t, chain1)
	if claimed, err := b.offered(ctx); err != nil || !slices.ContainsFunc(claimed, func(c worker.Item[withdrawal.Withdrawal]) bool { return c.Work.Request.ID == w.Request.ID }) {
		t.Errorf("%d are offered after the start, %v", len(claimed), err)
	}
}

// A dump that is loaded where it was made makes the tables anew.
func TestADumpThatIsLoadedStopsWhatBegins(t *testing.T) {
	b := newPayer(t, sqlstore.Postgres)
	b.goes(t, "before")
	text, err := pgtest.Tool(t, "pg_dump", "--schema", b.opts.Schema, b.url).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec("DROP SCHEMA " + b.opts.Schema + " CASCADE"); err != nil {
		t.Fatal(err)
	}
	load := pgtest.Tool(t, "psql", "-q", "-v", "ON_ERROR_STOP=1", b.url)
	load.Stdin = bytes.NewReader(text)
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.over(t, b.database, b.open(t)).stands(t, "loaded")
	b.restored(t, burned(1))
	after := b.over(t, b.database, b.open(t))
	after.recovering(t)
	after.goes(t, "started")
}

// A role that may not ask for the server's number compares the rest.
func TestAServerThatDoesNotSayItsNumber(t *testing.T) {
	cluster := pgtest.Private(t)
	db, err := sql.Open("pgx", cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, text := range []string{"CREATE ROLE app LOGIN", "REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_walfile_name(pg_lsn) FROM PUBLIC",
		"CREATE SCHEMA s AUTHORIZATION app", "GRANT CREATE ON DATABASE postgres TO app"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	url := pgtest.With(t, cluster.URL(), "user", "app")
	app, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	app.SetMaxIdleConns(4)
	d := database{app, sqlstore.Postgres, sqlstore.Options{Schema: "s"}, url}
	d.migrate(t)
	b := bankOf(t, d, d.open(t), withdrawal.HotWallet{ID: named("wallet 1"), Chain: chain1})
	b.goes(t, "nothing is known of the server")
	if _, err := db.Exec("ALTER TABLE s.settle_places DISABLE TRIGGER USER; UPDATE s.settle_places SET relation = relation + 1"); err != nil {
		t.Fatal(err)
	}
	b.stands(t, "the tables were made anew")
}

// What Restored does in one commit, on both databases.
func TestRestored(t *testing.T) {
	both(t, func(t *testing.T, dialect sqlstore.Dialect) {
		b := newPayer(t, dialect)
		ctx := context.Background()
		b.goes(t, "before")
		control := func() (c swap.Control) {
			t.Helper()
			if err := b.View(ctx, func(u store.Unit) (err error) { c, err = u.SwapHouse().Control(false); return err }); err != nil {
				t.Fatal(err)
			}
			return c
		}
		fence := func() (n int64) {
			t.Helper()
			text := "SELECT fence FROM {wallet_lock_fences}"
			if dialect == sqlstore.Postgres {
				text = "SELECT last_value FROM {wallet_lock_fences}"
			}
			if err := b.QueryRow(b.tables(text)).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		was, before := control(), fence()
		for name, bad := range map[string]func(*sqlstore.Restore){
			"no actor": func(r *sqlstore.Restore) { r.Actor = "" }, "no reason": func(r *sqlstore.Restore) { r.Reason = "" },
			"a long reason": func(r *sqlstore.Restore) { r.Reason = string(make([]byte, switches.MaxReason+1)) },
			"no moment":     func(r *sqlstore.Restore) { r.Lost = time.Time{} },
			"the future":    func(r *sqlstore.Restore) { r.Lost = time.Now().Add(24 * time.Hour) },
		} {
			r := burned(1)
			bad(&r)
			if err := sqlstore.Restored(ctx, b.DB, dialect, b.opts, r); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if rows, generation := b.place(t); rows != 1 || generation != 0 || control() != was || fence() != before {
			t.Errorf("what is refused has left %d rows, generation %d", rows, generation)
		}
		if err := atOnce(3, func(int) error { return sqlstore.Restored(ctx, b.DB, dialect, b.opts, burned(1)) }); err != nil {
			t.Fatal(err)
		}
		if rows, generation := b.place(t); rows != 2 || generation != 1 {
			t.Errorf("said three times, there are %d rows, generation %d", rows, generation)
		}
		if now := control(); !now.RecoveredAt.After(was.RecoveredAt) || now.Version != was.Version+1 {
			t.Errorf("the house is %+v", now)
		}
		if fence() != before+1<<32 {
			t.Errorf("fences go on at %d, behind %d", fence(), before)
		}
		w := b.submission(chain1)
		if _, err := b.Do(ctx, w.Request, w); !errors.Is(err, store.ErrRestored) {
			t.Errorf("a process that lived across the restore writes: %v", err)
		}
		after := b.over(t, b.database, b.open(t))
		after.recovering(t)
		after.goes(t, "started")
		b.restored(t, burned(2))
		if rows, generation := b.place(t); rows != 3 || generation != 2 {
			t.Errorf("restored again, there are %d rows, generation %d", rows, generation)
		}
		after.over(t, b.database, b.open(t)).recovering(t)
	})
}

// A restore is of every domain that the database has, whatever the caller works with, and of a generation above all that
// somebody has said of the switch by hand.
func TestARestoreIsOfEveryDomainAndAboveEveryGeneration(t *testing.T) {
	ctx := context.Background()
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		for name, said := range map[string]map[switches.Scope]int64{
			"nothing by hand": {}, "everything": {switches.Everything: 1}, "everything, far above": {switches.Everything: 7},
			"a chain": {switches.Chain(chain1): 3},
		} {
			s, db := newStore(t, d)
			service, err := store.NewSwitches(s)
			if err != nil {
				t.Fatal(err)
			}
			olga := switches.By{Actor: "olga", Role: switches.Operator}
			for scope, generation := range said {
				if _, err := service.Recover(ctx, switches.Recovering{By: olga, Scope: scope, Level: switches.Send, Generation: generation, Reason: "x"}); err != nil {
					t.Fatal(err)
				}
			}
			some := db
			some.opts.Domains = []store.Domain{store.DomainWallets}
			some.restored(t, burned(1))
			is, err := switchOf(t, db).State(ctx, switches.Chain(chain1))
			if err != nil || !is.Recovering || is.Generation != max(1, said[switches.Everything]+1, said[switches.Chain(chain1)]+1) {
				t.Errorf("%s: the chain is %+v, %v", name, is, err)
			}
			err = db.open(t).View(ctx, func(u store.Unit) error {
				control, err := u.SwapHouse().Control(false)
				if control.RecoveredAt.IsZero() {
					t.Errorf("%s: swaps do not look back: %+v", name, control)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}
