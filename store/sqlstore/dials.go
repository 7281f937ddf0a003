package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A call that has run out of time must not make the next call slower, or an overload would never end: each next call
// would again have to connect and prepare its statements in the same time, beside all others that do so.
//
//   - Connecting goes on when its caller has left ([dials]).
//   - A running statement comes to its end, and its transaction is rolled back ([outlast], statementWait): drivers of
//     PostgreSQL close a connection whose context ends during a statement.

const (
	// connectTime is for how long one request of a connection goes on, whether its
	// caller waits or not.
	connectTime = 15 * time.Second
	// statementWait is for how long a statement goes on whose caller has no more time,
	// and commitWait a COMMIT: without its answer nobody knows what was claimed.
	statementWait = time.Second
	commitWait    = 5 * time.Second
)

// dials takes connections out of a pool of database/sql. A connection whose caller did not wait for it goes to the next
// caller, or to the idle connections of the pool. So there are never more requests for connections than there were
// callers at one time, and each connection is used.
type dials struct {
	db      *sql.DB
	mu      sync.Mutex
	asked   int           // requests that are under way: at least as many as wait
	waiting []chan dialed // one for each caller, in the order in which they came
}

type dialed struct {
	conn *sql.Conn
	err  error
}

func newDials(db *sql.DB) *dials { return &dials{db: db} }

// errSlow: a request was given up after connectTime.
var errSlow = fmt.Errorf("%w: none for %v", ErrConnection, connectTime)

// take returns a connection, which the caller closes.
func (d *dials) take(ctx context.Context) (*sql.Conn, error) {
	for {
		if conn, err := d.wait(ctx); err != errSlow {
			return conn, err
		}
	}
}

func (d *dials) wait(ctx context.Context) (*sql.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mine := make(chan dialed, 1)
	d.mu.Lock()
	d.waiting = append(d.waiting, mine)
	if d.asked < len(d.waiting) || d.db.Stats().Idle > 0 { // an idle one is there before one that is on its way
		d.asked++
		go d.ask(context.WithoutCancel(ctx))
	}
	d.mu.Unlock()
	select {
	case got := <-mine:
		return got.conn, got.err
	case <-ctx.Done():
	}
	d.mu.Lock()
	i := slices.Index(d.waiting, mine)
	if i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	d.mu.Unlock()
	if i >= 0 {
		return nil, ctx.Err()
	}
	got := <-mine // it came at the same moment
	return got.conn, got.err
}

// ask makes one request of the pool, and gives what comes to who waits longest.
func (d *dials) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := d.db.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		err = errSlow
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked--
	if len(d.waiting) > 0 {
		d.waiting[0] <- dialed{conn, err}
		d.waiting = slices.Delete(d.waiting, 0, 1)
	} else if err == nil {
		_ = conn.Close() // it is idle in the pool
	}
}

// outlast returns a context that ends so long after ctx does as wait says then.
func outlast(ctx context.Context, wait func() time.Duration) (late context.Context, cancel func()) {
	late, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(wait(), end) })
	return late, func() { stop(); end() }
}

// ended adds the error of ctx to what failed since ctx was done.
func ended(ctx context.Context, err error) error {
	if cut := ctx.Err(); err != nil && cut != nil && !errors.Is(err, cut) {
		return fmt.Errorf("%w: %w", cut, err)
	}
	return err
}
