package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest"
)

func TestRefreshes(t *testing.T) {
	suite(t, store.DomainRefreshes, storetest.Refreshes[store.Unit])
}

// The source's monitoring, as it is written there.
const refreshMonitoring = `# Active wallet processes
SELECT COUNT(*) FROM wallet_locks;

# Active watchers
SELECT COUNT(*) FROM refresh_watchers WHERE status='watching';

# Job queue status
SELECT status, COUNT(*) FROM refresh_jobs GROUP BY status;

# Pending jobs by wallet
SELECT xpub_van, COUNT(*) FROM refresh_jobs WHERE status='pending' GROUP BY xpub_van;
`

// wallets makes one wallet under a lock with two watchers, and one with two
// pending jobs.
func refreshWallets(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	ctx := context.Background()
	r, err := store.NewRefreshes(s, refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	by := func(role refresh.Role) refresh.By { return refresh.By{Actor: "w1", Role: role} }
	step := func(xpub string, ev refresh.Event) refresh.Change {
		t.Helper()
		c, err := r.Step(ctx, xpub, ev)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	enqueue := func(xpub string) {
		step(xpub, refresh.Enqueued{By: by(refresh.API), Job: uuid.New(), Cause: refresh.Sync,
			Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "col", MasterFingerprint: "f"}})
	}
	enqueue("a")
	step("a", refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: 1})
	c := step("a", refresh.JobClaimed{By: by(refresh.Worker), Slot: 1})
	now := time.Now().Add(-time.Minute)
	step("a", refresh.JobDone{By: by(refresh.Worker), Fences: refresh.Fences{Slot: 1, Job: c.Job, Fence: 1, Lock: c.New.Lock.Lease.Fence},
		Listing: refresh.Listing{Answered: now, Transfers: []refresh.Transfer{{Recipient: "r"}, {Recipient: "s"}}}})
	enqueue("a")
	step("a", refresh.JobClaimed{By: by(refresh.Worker), Slot: 1})
	enqueue("b")
	enqueue("b")
}

func TestMonitoringOfRefreshes(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		refreshWallets(t, s)
		conn := session(t, db.DB)
		if db.opts.Schema != "" {
			if _, err := conn.ExecContext(context.Background(), "SET search_path = "+db.opts.Schema); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]string{}
		for part := range strings.SplitSeq(strings.TrimSpace(refreshMonitoring), "\n\n") {
			name, query, _ := strings.Cut(part, "\n")
			rows, err := conn.QueryContext(context.Background(), query)
			if err != nil {
				t.Fatal(name, ": ", err)
			}
			columns, _ := rows.Columns()
			for rows.Next() {
				var key string
				var n int
				into := []any{&key, &n}
				if err := rows.Scan(into[2-len(columns):]...); err != nil {
					t.Fatal(name, ": ", err)
				}
				got[name[2:]+" "+key] = fmt.Sprint(n)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]string{"Active wallet processes ": "1", "Active watchers ": "2", "Job queue status completed": "1",
			"Job queue status processing": "1", "Job queue status pending": "2", "Pending jobs by wallet b": "2"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// What a hand-made statement must not break.
func TestRefreshRowsKeepTheirShape(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		refreshWallets(t, s)
		for _, text := range []string{
			"UPDATE {refresh_jobs} SET status = 'done'",
			"UPDATE {refresh_jobs} SET status = 'completed' WHERE status = 'pending'",
			"UPDATE {refresh_jobs} SET status = 'processing' WHERE status = 'pending'",
			"UPDATE {refresh_jobs} SET trigger = 'invoice_created'",
			"UPDATE {refresh_jobs} SET trigger = 'recovery'",
			"UPDATE {refresh_jobs} SET attempts = -1",
			"UPDATE {refresh_jobs} SET trigger = 'x'",
			"UPDATE {refresh_jobs} SET status = 'x' WHERE status = 'pending'",
			"UPDATE {refresh_jobs} SET lease_fence = -1",
			"UPDATE {refresh_jobs} SET version = 0",
			"UPDATE {refresh_jobs} SET seq = 0",
			"UPDATE {refresh_jobs} SET end_seq = 1 WHERE status = 'pending'",
			"UPDATE {refresh_watchers} SET end_seq = 1 WHERE status = 'watching'",
			"UPDATE {wallet_locks} SET seq = 0",
			"UPDATE {refresh_watchers} SET recipient_id = '' WHERE recipient_id = 'r'",
			"UPDATE {refresh_watchers} SET status = 'x', ended_at = next_at, end_seq = 1, end_reason = 'transfer'",
			"UPDATE {refresh_watchers} SET status = 'failed', ended_at = next_at, end_seq = 1, end_reason = 'x'",
			"UPDATE {refresh_watchers} SET refresh_count = -1",
			"UPDATE {refresh_watchers} SET version = 0",
			"UPDATE {refresh_wallets} SET status = 'x', unserved_since = NULL WHERE status = 'unserved'",
			"UPDATE {refresh_wallets} SET status = 'served', slot = 1, lease_holder = 'w', lease_until = created_at, unserved_since = NULL",
			"UPDATE {refresh_wallets} SET work_seq = 0",
			"UPDATE {refresh_wallets} SET lease_fence = -1",
			"UPDATE {refresh_wallets} SET hung_rounds = -1",
			"UPDATE {refresh_wallets} SET version = 0",
			"UPDATE {refresh_wallets} SET lease_until = created_at WHERE status = 'unserved'",
			"UPDATE {refresh_wallets} SET unserved_since = created_at WHERE status = 'served'",
			"UPDATE {wallet_locks} SET fence = 0",
			"UPDATE {refresh_watchers} SET status = 'expired'",
			"UPDATE {refresh_watchers} SET end_reason = 'gone'",
			"UPDATE {refresh_watchers} SET recipient_id = 'r'",
			"UPDATE {refresh_watchers} SET asset_id = 'a', provisional = (1 = 1)",
			"UPDATE {refresh_wallets} SET slot = 1",
			"UPDATE {refresh_wallets} SET slot = 0 WHERE slot = 1",
			"UPDATE {refresh_wallets} SET slot = NULL",
			"UPDATE {refresh_wallets} SET status = 'unserved' WHERE status = 'served'",
			"INSERT INTO {wallet_locks} SELECT * FROM {wallet_locks}",
			"DELETE FROM {refresh_jobs}", "DELETE FROM {refresh_watchers}", "DELETE FROM {refresh_wallets}",
		} {
			for _, name := range []string{"refresh_jobs", "refresh_watchers", "refresh_wallets", "wallet_locks"} {
				text = strings.ReplaceAll(text, "{"+name+"}", db.table(name))
			}
			if _, err := db.ExecContext(context.Background(), text); err == nil {
				t.Errorf("%s: it was done", text)
			}
		}
	})
}

// A turn waits for nobody: a wallet that another transaction has locked keeps its
// slot, though the lease has ended, and its number is not given to another.
func TestTurnWaitsForNobody(t *testing.T) {
	s, db := newStore(t, sqlstore.Postgres) // the only one with several writers
	ctx, config := context.Background(), refresh.DefaultPolicy()
	config.MaxWalletProcesses = 1
	r, err := store.NewRefreshes(s, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, xpub := range []string{"a", "b"} {
		ev := refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync, Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "c", MasterFingerprint: "f"}}
		if _, err := r.Enqueue(ctx, ev); err != nil {
			t.Fatal(err)
		}
	}
	before, err := store.NewRefreshes(db.at(t, time.Now().Add(-time.Hour)), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := before.Step(ctx, "a", refresh.SlotClaimed{By: refresh.By{Actor: "dead", Role: refresh.Orchestrator}, Slot: 1}); err != nil {
		t.Fatal(err)
	}
	free := lockedWallet(t, s, "a")
	turn := func() store.Turned {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		turned, err := r.Turn(ctx, "p", nil, 5)
		if err != nil {
			t.Error(err)
		}
		return turned
	}
	if got := turn(); len(got.Claimed) != 0 || got.Waiting != 1 {
		t.Errorf("%+v", got)
	}
	free()
	if got := turn(); len(got.Claimed) != 1 || got.Claimed[0].XpubVan != "b" {
		t.Errorf("%+v", got)
	}
}

// lockedWallet locks a wallet's row in a transaction of its own until free is called.
func lockedWallet(t *testing.T, s *sqlstore.Store, xpub string) (free func()) {
	locked, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.Update(context.Background(), func(tx store.Unit) error {
			_, err := tx.Refreshes().Heads(xpub)
			close(locked)
			<-end
			return err
		})
	}()
	<-locked
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// A transaction that keeps one wallet for long, such as an API's that enqueues and
// then does something else, holds up neither the renewals of the others that the
// same process serves nor their turns.
func TestALockedWalletHoldsUpNoOther(t *testing.T) {
	s, _ := newStore(t, sqlstore.Postgres)
	r, err := store.NewRefreshes(s, refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, xpub := range []string{"a", "b"} {
		ev := refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync, Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "c", MasterFingerprint: "f"}}
		if _, err := r.Enqueue(ctx, ev); err != nil {
			t.Fatal(err)
		}
	}
	turned, err := r.Turn(ctx, "p", nil, 5)
	if err != nil || len(turned.Claimed) != 2 {
		t.Fatalf("%+v, %v", turned, err)
	}
	until := func(xpub string) time.Time {
		w, err := r.Get(ctx, xpub)
		if err != nil {
			t.Fatal(err)
		}
		return w.Wallet.Lease.Until
	}
	first := map[string]time.Time{"a": until("a"), "b": until("b")}
	free := lockedWallet(t, s, "a")
	held := func(xpub string) store.RefreshLease {
		return store.RefreshLease{XpubVan: xpub, Fences: refresh.Fences{Slot: 1}}
	}
	lost, busy, err := r.Renew(ctx, held("a"), held("b"))
	if err != nil || len(lost) != 0 || fmt.Sprint(busy) != "[a]" || !until("a").Equal(first["a"]) || !until("b").After(first["b"]) {
		t.Errorf("lost %v, busy %v, %v", lost, busy, err)
	}
	mine := []store.HeldSlot{{XpubVan: "a", Fence: 1, End: refresh.EndHung}, {XpubVan: "b", Fence: 1, Start: true}}
	if turned, err = r.Turn(ctx, "p", mine, 5); err != nil || len(turned.Gone) != 0 || fmt.Sprint(turned.Busy, turned.Started) != "[a] [b]" {
		t.Errorf("%+v, %v", turned, err)
	}
	free()
	if turned, err = r.Turn(ctx, "p", mine[:1], 5); err != nil || fmt.Sprint(turned.Gone, turned.Busy) != "[a] []" {
		t.Errorf("%+v, %v", turned, err)
	}
}
