package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// poolWait is how long a connection of the host's pool is waited for.
const poolWait = 3 * time.Second

// lend takes a connection out of the host's pool. One that is limited and used
// up says so instead of hanging.
func (d *dials) lend(ctx context.Context) (*sql.Conn, error) {
	short, cancel := context.WithTimeoutCause(ctx, poolWait, errPool)
	defer cancel()
	conn, err := d.take(short)
	if err == nil || context.Cause(short) != errPool {
		return conn, err
	}
	if stats := d.db.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return nil, fmt.Errorf("%w: no connection was free for %v: SetMaxOpenConns is %d, and %d are in use", statemachine.ErrInvalid,
			poolWait, stats.MaxOpenConnections, stats.InUse)
	}
	return d.take(ctx) // it connects, and is slow
}

var errPool = errors.New("the pool gave no connection")

// discard closes a connection instead of giving it back.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// checkPool refuses a limit of the host's pool that would let it, or us, wait
// for ever.
func (s *Store) checkPool() error {
	if limit := s.db.Stats().MaxOpenConnections; s.Dialect == SQLite && limit > 0 && limit < needed {
		return fmt.Errorf("%w: SetMaxOpenConns is %d and must be %d or more, or 0 for no limit: on SQLite the store keeps %d connections, "+
			"one writer and %d readers, and the rest is yours", statemachine.ErrInvalid, limit, needed, 1+readers, readers)
	}
	return nil
}

// idleProbe is one more than the idle connections that database/sql keeps unless
// it is told otherwise.
const idleProbe = 3

// warnIdle logs that the host's pool closes connections that would be needed a
// moment later. The limit can be seen only by giving some back.
func (s *Store) warnIdle(ctx context.Context) {
	before := s.db.Stats()
	if s.Dialect != Postgres || before.MaxOpenConnections > 0 && before.MaxOpenConnections < idleProbe {
		return
	}
	short, cancel := context.WithTimeout(ctx, poolWait)
	defer cancel()
	var all []*sql.Conn
	for range idleProbe {
		conn, err := s.db.Conn(short)
		if err != nil {
			break
		}
		all = append(all, conn)
	}
	for _, conn := range all {
		_ = conn.Close()
	}
	if after := s.db.Stats(); after.MaxIdleClosed > before.MaxIdleClosed {
		s.opts.Log.Warn("settle: the pool closes connections that it needs again, and work takes two to three times as long: "+
			"call SetMaxIdleConns with as many as work at once", slog.Int("idle", after.Idle))
	}
}

// warnReadOnly tells of a server of PostgreSQL that takes no writes. It is no error: reports may be read there.
func (s *Store) warnReadOnly(ctx context.Context) {
	var is bool
	ask := "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
	if s.Dialect == Postgres && s.db.QueryRowContext(ctx, ask).Scan(&is) == nil && is {
		s.opts.Log.Warn("settle: the server takes no writes, since it is a standby, was demoted, or default_transaction_read_only is on: " +
			"where the URL names several servers, target_session_attrs=read-write in it finds the right one")
	}
}

// whileBusy runs fn again while another process has the file.
func whileBusy(ctx context.Context, fn func() error) error {
	for until := time.Now().Add(busyTimeout * time.Millisecond); ; {
		err := fn()
		if !transient(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// pool lends connections, each to one transaction at a time.
type pool struct {
	open   func(context.Context) (*session, error)
	slots  chan *session // nil for one that is not open yet
	closed chan struct{}
	once   sync.Once
}

func newPool(size int, open func(context.Context) (*session, error)) *pool {
	p := &pool{open: open, slots: make(chan *session, size), closed: make(chan struct{})}
	for range size {
		p.slots <- nil
	}
	return p
}

func (p *pool) take(ctx context.Context) (*session, error) {
	select { // a closed pool and a cancelled context come before a free slot
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	default:
	}
	select {
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-p.slots:
		if c != nil {
			return c, nil
		}
		return p.connect(ctx)
	}
}

// connect opens a connection for a place that has none. It goes on when the caller has
// left, and the next one finds it.
func (p *pool) connect(ctx context.Context) (*session, error) {
	var c *session
	var err error
	opened := make(chan struct{})
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTime)
	go func() {
		defer close(opened)
		defer cancel()
		if c, err = p.open(late); err != nil {
			p.slots <- nil
		}
	}()
	select {
	case <-opened:
		return c, err
	case <-ctx.Done():
		go func() {
			if <-opened; err == nil {
				p.slots <- c
			}
		}()
		return nil, ctx.Err()
	}
}

func (p *pool) put(c *session) { p.slots <- c }

// drop gives up a connection; the next one to need it opens another.
func (p *pool) drop(c *session) {
	_ = c.end()
	p.slots <- nil
}

func (p *pool) close() error {
	var err error
	if p != nil {
		p.once.Do(func() {
			close(p.closed)
			for range cap(p.slots) {
				if c := <-p.slots; c != nil {
					err = errors.Join(err, c.end())
				}
			}
		})
	}
	return err
}
