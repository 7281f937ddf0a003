package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// A transaction that is open somewhere in the cluster and has written holds Follow back:
// the statistics say for how long, and the alert names it.
func TestTheFeedIsHeldBackByAWriterThatIsNamed(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, chain := context.Background(), named("without nonces")
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
		stats := func() sqlstore.Stats {
			t.Helper()
			s, err := sqlstore.StatsOf(ctx, b.Store)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if d == sqlstore.SQLite {
			b.pending(t, chain)
			if s := stats(); s.FeedLag != 0 || len(s.Holding) > 0 || s.At.IsZero() {
				t.Errorf("SQLite has one writer: %+v", s)
			}
			return
		}
		conn, err := b.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var pid int64
		for _, text := range []string{"SET track_activities = on", "SET application_name = 'night report'", "BEGIN", "SELECT pg_current_xact_id()"} {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		if s := stats(); s.FeedLag != 0 || len(s.Holding) > 0 {
			t.Errorf("nothing is behind it: %+v", s)
		}
		w := b.pending(t, chain)
		s := stats()
		if s.FeedLag <= 0 || s.FeedLag > s.At.Sub(w.Request.CreatedAt)+time.Minute || len(s.Holding) == 0 ||
			s.Holding[0].PID != pid || s.Holding[0].Age <= 0 {
			t.Fatalf("pid %d holds a line back: %+v", pid, s)
		}
		followed, _, err := b.Follow(ctx, "", 10)
		if err != nil || len(followed) > 0 {
			t.Fatalf("%d lines, %v", len(followed), err)
		}
		alerts := sqlstore.Alerts(s, sqlstore.Thresholds{FeedLag: s.FeedLag - 1})
		if len(alerts) != 1 || alerts[0].Name != "feed behind" || !strings.Contains(alerts[0].Text, fmt.Sprint("pid ", pid)) ||
			!strings.Contains(alerts[0].Text, "night report") || !strings.Contains(alerts[0].Text, "idle in transaction") {
			t.Errorf("the alert is %+v", alerts)
		}
		for _, limit := range []time.Duration{s.FeedLag, 0} {
			if alerts := sqlstore.Alerts(s, sqlstore.Thresholds{FeedLag: limit}); len(alerts) > 0 {
				t.Errorf("a limit of %v: %+v", limit, alerts)
			}
		}
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if s := stats(); s.FeedLag != 0 || len(s.Holding) > 0 {
			t.Errorf("it has ended: %+v", s)
		}
		if followed, _, err = b.Follow(ctx, store.Cursor(""), 10); err != nil || len(followed) == 0 {
			t.Errorf("%d lines, %v", len(followed), err)
		}
	})
}
