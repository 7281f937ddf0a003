package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// The whole service with the times of production, which pass at once here: its process
// ends at random commits, before or after they are made, and after every single commit the book is held against the records and the chain.
func TestEveryCommit(t *testing.T) {
	runs, orders := 2, 30
	if os.Getenv("SETTLE_SOAK") != "" {
		runs, orders = 8, 60
	}
	for seed := range runs {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { everyCommit(t, dir, uint64(seed), orders) })
		})
	}
}

func everyCommit(t *testing.T, dir string, seed uint64, orders int) {
	const lease = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 30*24*time.Hour) // of virtual time: what hangs reaches it
	db := filepath.Join(dir, "ledger.db")
	misbehaves := faults
	misbehaves.Seed = seed
	w := newWorld(t, filepath.Join(dir, "chain"), misbehaves, 10*time.Second)
	w.observe(ctx, db, lease)
	mined := make(chan error)
	go func() { mined <- w.chain.Mine(ctx) }()
	var serving atomic.Pointer[api]
	w.ask = func(ctx context.Context, method, path string, in, out any) int {
		for ; !w.over(ctx); children.Pause(ctx, time.Second) {
			a := serving.Load()
			if a == nil {
				continue
			}
			answer := httptest.NewRecorder()
			a.handler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(body(in))))
			if answer.Code >= 500 {
				continue
			}
			if out != nil {
				if err := json.Unmarshal(answer.Body.Bytes(), out); err != nil {
					t.Error(err)
				}
			}
			return answer.Code
		}
		return 0
	}
	over := make(chan bool)
	go func() {
		w.everything(ctx, seed, orders)
		close(over)
	}()
	random, lives := rand.New(rand.NewPCG(seed, 2)), 0
	for done := false; !done; lives++ {
		done = w.live(ctx, db, lease, random, &serving, over)
	}
	if ctx.Err() != nil {
		t.Error("it does not end")
	} else {
		w.ended(ctx)
	}
	if lives < 2 {
		t.Error("no life was ended")
	}
	t.Logf("%d lives", lives)
	cancel()
	if err := <-mined; err != nil {
		t.Error(err)
	}
	if err := w.watch.close(); err != nil {
		t.Error(err)
	}
	if err := w.chain.Close(); err != nil {
		t.Error(err)
	}
}

// live is one life of the service: it ends at a random commit, or once all is over.
func (w *world) live(ctx context.Context, db string, lease time.Duration, random *rand.Rand,
	serving *atomic.Pointer[api], over <-chan bool,
) (done bool) {
	conn, process, err := cutdb.Open("sqlite", "file:"+db+"?_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	process.Committed(func() {
		w.check(ctx)
		w.told(ctx)
	})
	s, err := newService(ctx, conn, sqlstore.SQLite, policy(lease), slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	process.Cut(1+random.IntN(150), random.IntN(2) == 0, "COMMIT")
	loops := newGroup(ctx)
	client := w.chain.Client(lease / 10)
	s.work(loops, client)
	serving.Store(&api{service: s, node: client})
	for !process.Dead() && !done {
		select {
		case <-over:
			done = true
		case <-time.After(time.Second):
		}
	}
	serving.Store(nil)
	loops.stop()
	if err := loops.wait(); err != nil && !process.Dead() {
		w.t.Error(err)
	}
	_ = s.close() // of one that is dead its connections are gone
	return done
}

// told holds the book against the feed: of what is paid and not booked the lines are still
// to come. The book is read last: what the cursor has passed meanwhile is in it.
func (w *world) told(ctx context.Context) {
	paid, next := []string{}, map[string]bool{}
	rows, err := w.watch.conn.QueryContext(ctx, "SELECT CAST(id AS text) FROM withdrawal_requests "+
		"WHERE status = 'completed' OR paid_after IS NOT NULL AND mined IS NOT NULL")
	if err != nil {
		w.t.Errorf("what is paid: %v", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			w.t.Errorf("what is paid: %v", err)
		}
		paid = append(paid, id)
	}
	err = w.watch.db.View(ctx, func(u store.Unit) error {
		c, err := sqlstore.ConsumersOf(u)
		if err != nil {
			return err
		}
		row, err := c.Get(consumer)
		if err != nil {
			return err
		}
		lines, _, err := c.Lines(row.Cursor, store.MaxPage, withdrawal.RequestMachine.Name())
		for i := range lines {
			next[lines[i].Aggregate] = true
		}
		return err
	})
	if err = errors.Join(err, rows.Err()); err != nil {
		w.t.Errorf("the feed: %v", err)
	}
	booked := w.postings(ctx)
	for _, id := range paid {
		if !booked[id]["capture"] && !next[id] {
			w.t.Errorf("request %s is paid, and the book is never told", id)
		}
	}
}
