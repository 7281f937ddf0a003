package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// handMade enqueues a job for each of some wallets and then writes a time of one of
// their rows by hand.
func handMade(t *testing.T, d sqlstore.Dialect, column, value string) *store.Refreshes {
	t.Helper()
	s, db := newStore(t, d)
	r, err := store.NewRefreshes(s, refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, xpub := range []string{"a", "b"} {
		_, err := r.Enqueue(ctx, refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync,
			Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "c", MasterFingerprint: "f"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	table := map[string]string{"available_at": "refresh_jobs", "unserved_since": "refresh_wallets"}[column]
	for _, text := range []string{fmt.Sprintf("UPDATE %s SET unserved_since = '2026-01-01 00:00:00.000000' WHERE xpub_van = 'a'", db.table("refresh_wallets")),
		fmt.Sprintf("UPDATE %s SET %s = %s WHERE xpub_van = 'a'", db.table(table), column, value)} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// A time that an operator writes by hand is one in whatever form the database itself
// has it: SQLite's CURRENT_TIMESTAMP has no fraction, its %f three digits.
func TestHandMadeTimes(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		values := []string{"CURRENT_TIMESTAMP"}
		if d == sqlstore.SQLite {
			values = append(values, "strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 second')")
		}
		for _, column := range []string{"available_at", "unserved_since"} {
			for _, value := range values {
				r := handMade(t, d, column, value)
				ctx := context.Background()
				turned, err := r.Turn(ctx, "p", nil, 5)
				if err != nil || len(turned.Claimed) != 2 {
					t.Fatalf("%s = %s: %+v, %v", column, value, turned, err)
				}
				c, err := r.Step(ctx, "a", refresh.JobClaimed{By: refresh.By{Actor: "p", Role: refresh.Worker}, Slot: 1})
				if err != nil || len(c.New.Jobs) != 1 || c.Job != c.New.Jobs[0].ID {
					t.Errorf("%s = %s: claimed %v of %+v, %v", column, value, c.Job, c.New.Jobs, err)
				}
			}
		}
	})
}

// One wallet with a time that is none is told, and stops no other.
func TestATimeThatIsNoneStopsNoOtherWallet(t *testing.T) {
	for value, column := range map[string]string{"'2026-01-01T00:00:00Z'": "unserved_since", "'2026-01-02 00:00:00Z'": "available_at",
		// Times that a comparison with the stored text would not find again.
		"'2026-01-02 9:00:00'": "available_at", "'2026-01-02 09:00:00.1234567'": "available_at", "'2026-01-02 09:00:00,123'": "available_at"} {
		r := handMade(t, sqlstore.SQLite, column, value)
		turned, err := r.Turn(context.Background(), "p", nil, 5)
		if err != nil || len(turned.Claimed) != 1 || turned.Claimed[0].XpubVan != "b" ||
			turned.Unreadable == nil || !strings.Contains(turned.Unreadable.Error(), "refresh wallet a") {
			t.Errorf("%s: %+v, %v", column, turned, err)
		}
	}
}

// One wallet that cannot be read keeps no other from being brought back.
func TestAReconcileGoesOnBehindWhatItCannotRead(t *testing.T) {
	r := handMade(t, sqlstore.SQLite, "available_at", "'3000-01-01T00:00:00Z'")
	_, next, err := r.Reconcile(context.Background(), refresh.By{Actor: "p", Role: refresh.Orchestrator}, "", 1)
	if err == nil || next != "a" {
		t.Errorf("it goes on behind %q, %v", next, err)
	}
}

// The next due time is that of the first row that can be read.
func TestATimeThatIsNoneHidesNoNextDueTime(t *testing.T) {
	for d, values := range map[sqlstore.Dialect][]string{sqlstore.SQLite: {"'3000-01-01T00:00:00Z'", "'soon'"}, sqlstore.Postgres: {"'infinity'"}} {
		b := newRelayBench(t, d)
		b.clean("a", "b", "good")
		for i, value := range values {
			b.exec(fmt.Sprintf("UPDATE {relays} SET synced = 0, due_at = %s WHERE id = '%c'", value, 'a'+i))
		}
		next := func() (at time.Time) {
			t.Helper()
			if err := b.store.View(t.Context(), func(tx store.Unit) (err error) {
				at, err = tx.Relays().NextDue(time.Now())
				return err
			}); err != nil {
				t.Fatal(d, err)
			}
			return at
		}
		if at := next(); !at.IsZero() {
			t.Errorf("%v: none can be read, the next is due at %v", d, at)
		}
		b.exec("UPDATE {relays} SET synced = 0, due_at = '4000-01-01 00:00:00.000000' WHERE id = 'good'")
		if at := next(); at.Year() != 4000 {
			t.Errorf("%v: %v", d, at)
		}
	}
}
