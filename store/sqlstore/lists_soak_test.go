package sqlstore

import (
	"context"
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

// TestOtherListsBesideAMillion: beside a million relays, tenants, jobs and
// watchers that are done with, and ten thousand that are not, a page of any list
// takes less than 200 ms on an idle machine, see patience. It runs under SETTLE_SOAK=1 alone.
func TestOtherListsBesideAMillion(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK is not set")
	}
	ctx := context.Background()
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			db, opts, syn, conn := migrated(t, d)
			fillRelays(t, conn, syn, 1_000_000)
			fillRefreshes(t, conn, syn, 1_000_000)
			for _, text := range []string{
				"UPDATE @relays SET synced = 0, sync_error = 'e', exhausted = TRUE WHERE id LIKE 'r99____'",
				"UPDATE @invoices SET charge = 'unknown', charge_key = 'k', charge_at = created_at, charge_after = created_at WHERE id LIKE 'i99____'",
				"UPDATE @refresh_jobs SET status = 'pending', processed_at = NULL, end_seq = NULL WHERE xpub_van LIKE 'w99____'",
				"UPDATE @refresh_watchers SET status = 'watching', ended_at = NULL, end_seq = NULL, end_reason = NULL WHERE xpub_van LIKE 'w99____'",
				"UPDATE @refresh_watchers SET status = 'expired', end_reason = 'expired_open' WHERE xpub_van LIKE 'w98____'",
				"ANALYZE",
			} {
				if _, err := conn.ExecContext(ctx, syn.expand(text)); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, db, d, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for name, list := range map[string]func(tx store.Unit) (int, error){
				"relays":               func(tx store.Unit) (int, error) { return count(tx.Relays().List("", "r5", 100)) },
				"relays of a tenant":   func(tx store.Unit) (int, error) { return count(tx.Relays().List("t77", "", 100)) },
				"pending relays":       func(tx store.Unit) (int, error) { return count(tx.Relays().Pending("", 100)) },
				"relays given up":      func(tx store.Unit) (int, error) { return count(tx.Relays().ForOperator("", 100)) },
				"relays held":          func(tx store.Unit) (int, error) { return count(tx.Relays().HeldBy("w", "", 100)) },
				"tenants":              func(tx store.Unit) (int, error) { return count(tx.Tenants().List("t5", 100)) },
				"tenants for a person": func(tx store.Unit) (int, error) { return count(tx.Tenants().ForOperator(time.Now(), "", 100)) },
				"refresh wallets":      func(tx store.Unit) (int, error) { return count(tx.Refreshes().Wallets("w5", 100)) },
				"refresh jobs":         func(tx store.Unit) (int, error) { return count(tx.Refreshes().Jobs(0, nil, 100)) },
				"pending jobs":         func(tx store.Unit) (int, error) { return count(tx.Refreshes().Jobs(refresh.JobPending, nil, 100)) },
				"failed jobs":          func(tx store.Unit) (int, error) { return count(tx.Refreshes().Jobs(refresh.JobFailed, nil, 100)) },
				"watching":             func(tx store.Unit) (int, error) { return count(tx.Refreshes().Watchers(0, nil, 100)) },
				"expired and open":     func(tx store.Unit) (int, error) { return count(tx.Refreshes().Watchers(refresh.EndOpen, nil, 100)) },
				"wallets held":         func(tx store.Unit) (int, error) { return count(tx.Refreshes().HeldBy("w", "", 100)) },
			} {
				took, n := time.Duration(1<<62), 0
				for range 3 { // the first one plans
					began := time.Now()
					err := s.View(ctx, func(tx store.Unit) (err error) {
						n, err = list(tx)
						return err
					})
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					took = min(took, time.Since(began))
				}
				t.Logf("%-22s %4d in %v", name, n, took)
				if took > patience() {
					t.Errorf("%s: %v", name, took)
				}
			}
		})
	}
}

func count[V any](page []V, err error) (int, error) { return len(page), err }

// patience is 200 ms, and more where the machine is slow, or busy just now: in
// proportion to 16 MiB that are hashed in 30 ms at most where it is not.
func patience() time.Duration {
	text, best := make([]byte, 16<<20), time.Hour
	for range 3 {
		began := time.Now()
		_ = sha256.Sum256(text)
		best = min(best, time.Since(began))
	}
	return 200 * max(best, 30*time.Millisecond) / 30
}
