package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// gate is a server that makes one connection after another, and works for those whose
// client has left as for the others, as a real one does.
type gate struct {
	mu      sync.Mutex
	busy    time.Time // until when
	cost    time.Duration
	made    int
	refuses error
}

func (g *gate) Driver() driver.Driver { return nil }

// asked is how many connections the server was asked for.
func (g *gate) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.made
}

// set says how long a connection takes from now on, and why there is none.
func (g *gate) set(cost time.Duration, refuses error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cost, g.refuses = cost, refuses
}

func (g *gate) Connect(ctx context.Context) (driver.Conn, error) {
	g.mu.Lock()
	if now := time.Now(); g.busy.Before(now) {
		g.busy = now
	}
	g.busy = g.busy.Add(g.cost)
	g.made++
	turn, err := time.NewTimer(time.Until(g.busy)), g.refuses
	g.mu.Unlock()
	defer turn.Stop()
	select {
	case <-turn.C:
		return idle{}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type idle struct{}

func (idle) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (idle) Close() error                        { return nil }
func (idle) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }

// Loops of several processes, each of whose calls has an eighth of a second, lose their
// connections, and all together ask for more than the server makes in that time. The
// work goes on although not one connection is made in the time of a call.
func TestAConnectStormEnds(t *testing.T) {
	const (
		processes, loops = 5, 4
		call             = 125 * time.Millisecond
	)
	synctest.Test(t, func(t *testing.T) {
		server := &gate{cost: 5 * call}
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		worked := map[[2]int]time.Time{} // when each loop did so for the last time
		var running sync.WaitGroup
		for p := range processes {
			db := sql.OpenDB(server)
			defer db.Close()
			db.SetMaxIdleConns(loops)
			d := newDials(db)
			for l := range loops {
				retry := statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second}
				running.Go(func() {
					for fails := 0; ctx.Err() == nil; {
						short, cancel := context.WithTimeout(ctx, call)
						conn, err := d.take(short)
						cancel()
						if err != nil {
							time.Sleep(retry.Delay(fails, 0))
							fails++
							continue
						}
						time.Sleep(time.Millisecond)
						_ = conn.Close()
						mu.Lock()
						worked[[2]int{p, l}], fails = time.Now(), 0
						mu.Unlock()
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
		}
		time.Sleep(10 * time.Second)
		server.set(60*time.Millisecond, nil) // if all ask, more than a second
		ended := time.Now()
		time.Sleep(5 * time.Second)
		stop()
		running.Wait()
		time.Sleep(connectTime) // what was asked for and nobody waits for ends
		for p := range processes {
			for l := range loops {
				if at := worked[[2]int{p, l}]; at.Before(ended.Add(4 * time.Second)) {
					t.Errorf("loop %d of process %d worked at %v for the last time, %v after the overload", l, p, at, at.Sub(ended))
				}
			}
		}
		// An idle connection that another loop takes first is asked for anew, now and then;
		// where no caller is followed by another there are hundreds.
		if made := server.asked(); made > 2*processes*loops {
			t.Errorf("%d connections were asked for, of %d loops: a caller that left was not followed by another", made, processes*loops)
		}
	})
}

// What comes goes to who waits, in order; what nobody waits for is idle in the pool; a
// server that refuses says so at once; and an idle connection is taken although another
// is on its way.
func TestDialsServeWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &gate{cost: time.Second}
		db := sql.OpenDB(server)
		defer db.Close()
		d := newDials(db)
		within := func(limit time.Duration) (*sql.Conn, time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			conn, err := d.take(ctx)
			return conn, time.Since(began), err
		}
		if _, took, err := within(600 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) || took != 600*time.Millisecond {
			t.Fatalf("the caller left with %v after %v", err, took)
		}
		first, took, err := within(time.Second)
		if err != nil || took != 400*time.Millisecond || server.asked() != 1 {
			t.Fatalf("the next one has %v after %v, and %d were asked for", err, took, server.asked())
		}
		if _, _, err := within(time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		_ = first.Close() // a second one is on its way
		again, took, err := within(time.Millisecond)
		if err != nil || took != 0 || server.asked() != 2 {
			t.Fatalf("the idle one: %v after %v, and %d were asked for", err, took, server.asked())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if stats := db.Stats(); stats.Idle != 1 || d.asked != 0 {
			t.Errorf("%d are idle and %d asked for", stats.Idle, d.asked)
		}
		other, _, err := within(time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		refuses := errors.New("too many clients")
		server.set(time.Second, refuses)
		if _, took, err := within(time.Minute); err != refuses || took != time.Second {
			t.Errorf("refused with %v after %v", err, took)
		}
		server.set(connectTime+time.Second, nil)
		if _, took, err := within(time.Minute); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("a server that takes longer than a request: %v after %v", err, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.take(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(connectTime)
		synctest.Wait()
		if d.asked != 0 || len(d.waiting) != 0 {
			t.Errorf("%d requests and %d callers are left", d.asked, len(d.waiting))
		}
		_, _ = again.Close(), other.Close()
	})
}

// Writer is the connection that writes, of a store on SQLite that nobody uses; nil: it
// is not open.
func Writer(s *Store) any {
	c := <-s.writer.slots
	s.writer.slots <- c
	return c
}
