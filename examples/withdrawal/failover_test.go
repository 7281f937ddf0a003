//go:build unix

package main

import (
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
)

// The synchronous standby of the database takes over again and again while the program runs: after a crash of the
// primary, and beside a primary that stays up read-only with all its connections. Each request is paid once, and the
// workers go on without a restart. SETTLE_PROMOTIONS says how often, 6 without it.
func TestPromotionsPayOnce(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK=1 starts two servers")
	}
	promotions, err := strconv.Atoi(cmp.Or(os.Getenv("SETTLE_PROMOTIONS"), "6"))
	if err != nil {
		t.Fatal(err)
	}
	pair := pgtest.NewPair(t)
	s := newScene(t, pair.URL(), 800*promotions)
	program, stdout, stderr := s.start("-lossless", "-timeout", "30m")
	var longest time.Duration
	done := 0
	for i := range promotions {
		time.Sleep(2 * time.Second)
		pair.Promote(i%2 == 1)
		from := time.Now()
		over, err := goesOn(pair.Primary())
		if err != nil {
			t.Fatalf("promotion %d: %v\n%s", i, err, stderr)
		}
		if over { // a fast machine has paid everything
			break
		}
		done++
		longest = max(longest, time.Since(from))
		pair.Rejoin()
	}
	r := s.wait(program, stdout, stderr)
	if r.Requests["completed"]+r.Requests["cancelled"] != r.Rows || done == 0 {
		t.Errorf("%v of %d, after %d promotions", r.Requests, r.Rows, done)
	}
	t.Logf("%d promotions, work went on within %v of each", done, longest)
}

// goesOn waits until a line is added to the history on a server; over: nothing is left to do there.
func goesOn(url string) (over bool, err error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return false, err
	}
	defer db.Close()
	before := -1
	for range 150 { // two minutes, for machines with much else to do
		var lines, open int
		err = db.QueryRow("SELECT (SELECT count(*) FROM transitions), "+
			"(SELECT count(*) FROM withdrawal_requests WHERE status NOT IN ('completed', 'cancelled'))").Scan(&lines, &open)
		if err == nil && open == 0 {
			return true, nil
		}
		if err == nil && before >= 0 && lines > before {
			return false, nil
		}
		if err == nil && before < 0 {
			before = lines
		}
		time.Sleep(200 * time.Millisecond)
	}
	return false, fmt.Errorf("no work goes on: %w", err)
}

// A pgbouncer in transaction pooling, with fewer connections to the server than the workers have to it, stands between
// the program and its database.
func TestPayOnceThroughPgbouncer(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK=1 starts a server and a pgbouncer")
	}
	s := newScene(t, pgtest.Private(t).Bouncer(t), 120)
	s.killAll(2*time.Second, false, "-chaos")
	r := s.finish("-chaos", "-timeout", "9m")
	if done := r.Requests["completed"] + r.Requests["cancelled"]; done != r.Rows {
		t.Errorf("%v of %d", r.Requests, r.Rows)
	}
}
