package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// TestListsBesideAMillion: beside a million requests that have ended, and ten
// thousand that are under way, a page of any list takes less than 200 ms on
// an idle machine, see patience. It runs under SETTLE_SOAK=1 alone.
func TestListsBesideAMillion(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK is not set")
	}
	ctx := context.Background()
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			db, opts, syn, conn := migrated(t, d)
			fillWithdrawals(t, conn, syn, 1_000_000)
			openWithdrawals(t, conn, syn)
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, db, d, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			someone, wallet, chain := uuid.MustParse("20000000-0000-0000-0000-000000000007"), uuid.MustParse("f0000000-0000-0000-0000-000000000000"), uuid.MustParse("b0000000-0000-0000-0000-000000000000")
			for _, kind := range append([]withdrawal.ListKind{0}, withdrawal.ListKind(0).Values()...) {
				for name, f := range map[string]withdrawal.Filter{
					"": {}, "user": {User: someone}, "chain": {Chain: chain}, "wallet": {Wallet: wallet}, "holder": {Holder: "w"}, "wallet and holder": {Wallet: wallet, Holder: "w"},
				} {
					for _, backwards := range []bool{false, true} {
						f.Kind = kind
						took, n := time.Duration(1<<62), 0
						for range 3 { // the first one plans
							began := time.Now()
							err := s.View(ctx, func(tx store.Unit) error {
								page, err := tx.Withdrawals().List(store.ListWithdrawals{Filter: f, Backwards: backwards, Limit: 100, Now: time.Now().Add(time.Hour)})
								n = len(page)
								return err
							})
							if err != nil {
								t.Fatal(err)
							}
							took = min(took, time.Since(began))
						}
						t.Logf("%-14v %-18s backwards %-5v %4d in %v", kind, name, backwards, n, took)
						if took > patience() {
							t.Errorf("%v of %q, backwards %v: %v", kind, name, backwards, took)
						}
					}
				}
			}
		})
	}
}

// openWithdrawals makes the last ten thousand of a history be under way, and
// gives the database its statistics.
func openWithdrawals(t *testing.T, conn *sql.Conn, syn syntax) {
	t.Helper()
	id := "CAST(%s AS text) >= '%d0000000-0000-0000-0000-000000990000'"
	for _, text := range []string{
		"UPDATE @withdrawal_requests SET status = 'queued', final_tx_hash = NULL WHERE " + fmt.Sprintf(id, "id", 1),
		"UPDATE @withdrawal_queue SET status = 'confirming', processed_at = NULL, evidence_hash = NULL, next_check_at = created_at, lease_holder = 'w', lease_until = created_at WHERE " + fmt.Sprintf(id, "id", 3),
		"UPDATE @withdrawal_requests SET held = TRUE WHERE " + fmt.Sprintf(id, "id", 1) + " AND CAST(id AS text) LIKE '%7'",
		"UPDATE @withdrawal_queue SET review = TRUE, lease_holder = NULL, lease_until = NULL WHERE " + fmt.Sprintf(id, "id", 3) + " AND CAST(id AS text) LIKE '%3'",
		"ANALYZE",
	} {
		if _, err := conn.ExecContext(context.Background(), syn.expand(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}
