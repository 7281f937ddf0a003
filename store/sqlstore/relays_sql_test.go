package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// relayBench is a store with relays, and a connection behind its back that may
// break what the database checks.
type relayBench struct {
	*store.Relays
	database
	store *sqlstore.Store
	t     *testing.T
	conn  *sql.Conn
}

// unchecked lets a column have any text.
func (b *relayBench) unchecked(table, column string) string {
	if b.dialect == sqlstore.Postgres {
		return fmt.Sprintf("ALTER TABLE {%s} DROP CONSTRAINT %[1]s_%[2]s_check", table, column)
	}
	return "PRAGMA ignore_check_constraints = ON"
}

func (b *relayBench) truth() string {
	if b.dialect == sqlstore.Postgres {
		return "true"
	}
	return "1"
}

func newRelayBench(t *testing.T, d sqlstore.Dialect) *relayBench {
	t.Helper()
	s, db := newStore(t, d)
	relays, err := store.NewRelays(s, relaysynctest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &relayBench{relays, db, s, t, conn}
}

func (b *relayBench) exec(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if _, err := b.conn.ExecContext(b.t.Context(), b.tables(text)); err != nil {
			b.t.Fatalf("%s: %v", text, err)
		}
	}
}

var hostBy = relaysync.By{Actor: "host", Role: relaysync.Host}

// clean makes relays that are synced.
func (b *relayBench) clean(ids ...string) {
	b.t.Helper()
	ctx, work := b.t.Context(), b.Work("reactor")
	for _, id := range ids {
		e := relaysync.Created{By: hostBy, Relay: id, Tenant: "t", Subdomain: "s",
			Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + strings.Repeat("ab", 32) + `"}`)}}
		if _, err := b.Do(ctx, id, e); err != nil {
			b.t.Fatal(err)
		}
	}
	items, _, err := work.Turn(ctx, nil, len(ids))
	if err != nil || len(items) != len(ids) {
		b.t.Fatal(len(items), err)
	}
	var done []store.HeldRelay
	for _, item := range items {
		done = append(done, work.Finish(item.Work, relaysync.Finished{Outcome: statemachine.Done}))
	}
	if _, _, err := work.Turn(ctx, done, 0); err != nil {
		b.t.Fatal(err)
	}
}

// What another writer does to the rows, in the source's own words: its relays
// get a timer, by the history that it wrote.
func TestRowsOfOtherWriters(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newRelayBench(t, d)
		ctx := t.Context()
		b.clean("blank", "failed", "ties", "gone", "fine")
		now := "'2026-01-01 00:00:00.000000'"
		fail := func(relay string, n int, at string) {
			for range n {
				b.exec("INSERT INTO {activities} (resource_type, resource_id, activity_type, created_at) VALUES ('relay', '" + relay + "', 'fail_relay_sync', " + at + ")")
			}
		}
		b.exec("UPDATE {relays} SET synced = 0, sync_error = '\t \u2003' WHERE id = 'blank'", "UPDATE {relays} SET sync_error = 'no' WHERE id IN ('failed', 'ties', 'gone')",
			"UPDATE {relays} SET sync_error = '   ' WHERE id = 'fine'")
		future := "'2100-01-01 00:00:00.000000'"
		fail("failed", 2, future)
		fail("failed", 3, now) // before the success
		fail("ties", 2, future)
		b.exec("INSERT INTO {activities} (resource_type, resource_id, activity_type, created_at) VALUES ('relay', 'ties', 'archive_relay', " + future + "), ('tenant', 'ties', 'x', " + future + ")")
		fail("ties", 1, future)
		fail("gone", 7, future)
		rows, err := b.conn.QueryContext(ctx, b.tables("SELECT id FROM {relays} WHERE synced = 0 OR TRIM(sync_error) != '' ORDER BY id"))
		if err != nil {
			t.Fatal(err)
		}
		var source []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			source = append(source, id)
		}
		pending, err := b.Pending(ctx, "", 100)
		if want := []string{"blank", "failed", "gone", "ties"}; err != nil || !slices.Equal(source, want) || !slices.Equal(pending, want) {
			t.Fatalf("the source's query finds %v, we %v, %v", source, pending, err)
		}
		stats, err := b.Stats(ctx, time.Hour)
		if err != nil || stats.Untimed != 4 {
			t.Errorf("%+v, %v", stats, err)
		}
		if s, err := b.Get(ctx, "blank"); err != nil || s.Relay.SyncError != "" {
			t.Errorf("an error of white space is %q, %v", s.Relay.SyncError, err)
		}
		_, changed, refused, err := b.Reconcile(ctx, relaysync.By{Actor: "reactor", Role: relaysync.Reactor}, "", 100)
		if err != nil || refused != nil || len(changed) != 4 {
			t.Fatal(len(changed), refused, err)
		}
		for id, want := range map[string]string{"blank": "due 0s 0", "failed": "waiting 1m0s 2", "ties": "waiting 30s 1", "gone": "exhausted - 7", "fine": "clean - 0"} {
			s, err := b.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			in := "-"
			if due, ok := s.DueAt(); ok {
				trail, _ := b.Trail(ctx, id)
				in = due.Sub(trail[len(trail)-1].At).String()
			}
			if got := fmt.Sprint(s.Phase(), " ", in, " ", s.History.Streak); got != want {
				t.Errorf("%s: %s, expected %s", id, got, want)
			}
		}
	})
}

// A row that a later version has written, or that is damaged, stops nothing but
// itself, and is named by a turn, by a reconcile and by an audit.
func TestRowsThatCannotBeRead(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		for what, damage := range map[string]string{
			`unknown relay status "delinquent" in relays bad`: "UPDATE {relays} SET status = 'delinquent'",
			"relays bad": "UPDATE {relays} SET lapses = 1099511627776", // of 32 bits
		} {
			b := newRelayBench(t, d)
			ctx := t.Context()
			b.clean("bad", "good")
			b.exec(b.unchecked("relays", "status"), damage+", synced = 0 WHERE id = 'bad'", "UPDATE {relays} SET synced = 0 WHERE id = 'good'")
			named := func(by string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "good") {
					t.Errorf("%s does not name it: %v", by, err)
				}
			}
			last, changed, refused, err := b.Reconcile(ctx, relaysync.By{Actor: "reactor", Role: relaysync.Reactor}, "", 100)
			if err != nil || len(changed) != 1 || last != "good" {
				t.Fatalf("%d reconciled up to %q, %v, %v", len(changed), last, refused, err)
			}
			named("a reconcile", refused)
			b.exec("UPDATE {relays} SET due_at = created_at WHERE id = 'bad'")
			for _, limit := range []int{1, 10} {
				w := b.Work(fmt.Sprint("reactor-", limit))
				var told error
				w.Unreadable = func(err error) { told = err }
				items, _, err := w.Turn(ctx, nil, limit)
				if err != nil || len(items) != 2-min(limit, 2) && limit == 10 || limit == 1 && len(items) != 1 {
					t.Errorf("limit %d: %d are claimed, %v", limit, len(items), err)
				}
				named("a turn", told)
			}
			if _, err := b.Get(ctx, "bad"); err == nil {
				t.Error("Get names what cannot be read")
			}
			b.exec("UPDATE {relays} SET synced = 1, sync_error = 'x' WHERE id = 'good'", "UPDATE {relays} SET exhausted = "+b.truth()+", due_at = NULL, claimed_at = NULL, lease_holder = NULL, lapses = 2 WHERE id = 'good'")
			_, err = b.Audit(ctx, "", 100)
			if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "relay good") {
				t.Errorf("an audit names both: %v", err)
			}
		}
	})
}

// The same of a tenant.
func TestTenantsThatCannotBeRead(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newRelayBench(t, d)
		ctx := t.Context()
		tenants, err := store.NewTenants(b.store, b.Relays, dunning.DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		by := dunning.By{Actor: "host", Role: dunning.Host}
		for _, id := range []string{"bad", "good"} {
			if _, err := tenants.Do(ctx, id, dunning.Enrolled{By: by, Tenant: id, Method: dunning.Stripe}, dunning.Issued{By: by, Invoice: id, Amount: 1}); err != nil {
				t.Fatal(err)
			}
		}
		b.exec(b.unchecked("tenants", "method"), "UPDATE {tenants} SET method = 'barter' WHERE id = 'bad'")
		w := tenants.Work("biller")
		var told error
		w.Unreadable = func(err error) { told = err }
		items, _, err := w.Turn(ctx, nil, 10)
		if err != nil || len(items) != 1 || told == nil || !strings.Contains(told.Error(), `"barter" in tenants bad`) {
			t.Errorf("%d steps, %v, told of %v", len(items), err, told)
		}
		told = nil
		if _, _, err := w.Turn(ctx, nil, 0); err != nil || told != nil {
			t.Errorf("a turn that looks for nothing: %v, told of %v", err, told)
		}
		if _, err := tenants.Audit(ctx, "", 10); err == nil || !strings.Contains(err.Error(), `"barter" in tenants bad`) {
			t.Errorf("an audit does not name it: %v", err)
		}
	})
}

// The history is kept, and a truth is a number in both databases.
func TestRelayTablesKeepTheirRules(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newRelayBench(t, d)
		b.clean("a")
		b.exec("INSERT INTO {tenants} (id, method, payment_error, version, created_at) VALUES ('t', 'nwc', '', 1, '2026-01-01 00:00:00.000000')",
			"INSERT INTO {invoices} (id, tenant, amount, created_at, payment_error, attempts, charge, charge_amount, version) VALUES "+
				"('i', 't', 1, '2026-01-01 00:00:00.000000', '', 0, 'none', 0, 1), ('j', 't', 1, '2026-01-01 00:00:00.000000', '', 0, 'none', 0, 1)")
		for _, text := range []string{
			"DELETE FROM {activities}", "UPDATE {activities} SET activity_type = 'x'", "DELETE FROM {relays}", "DELETE FROM {tenants}", "DELETE FROM {invoices}",
			"UPDATE {relays} SET synced = 2", "UPDATE {relays} SET exhausted = 'true', due_at = created_at", "UPDATE {relays} SET claimed_at = created_at",
			"UPDATE {relays} SET deleted_at = created_at, due_at = created_at", "UPDATE {relays} SET status = 'x'",
			"UPDATE {invoices} SET paid_at = created_at", "UPDATE {invoices} SET charge = 'open'", "UPDATE {invoices} SET amount = -1",
			"UPDATE {relays} SET revision = 0", "UPDATE {relays} SET version = 0", "UPDATE {relays} SET lease_fence = -1",
			"UPDATE {tenants} SET method = 'x'", "UPDATE {tenants} SET version = 0", "UPDATE {invoices} SET attempts = -1", "UPDATE {invoices} SET version = 0",
			"UPDATE {invoices} SET charge = 'open', charge_key = id, charge_at = created_at, charge_after = created_at", // two at a time
			"UPDATE {invoices} SET charge = 'x', charge_key = 'k', charge_at = created_at, charge_after = created_at",
			"UPDATE {invoices} SET paid_at = created_at, method = 'nwc', voided_at = created_at",
		} {
			if d == sqlstore.SQLite {
				text = strings.ReplaceAll(text, "'true'", "1")
			}
			if _, err := b.conn.ExecContext(context.Background(), b.tables(text)); err == nil {
				t.Errorf("%s is done", text)
			}
		}
	})
}
