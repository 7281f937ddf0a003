// Package cutdb is a driver for tests between database/sql and another driver. It
// ends the process, as the database sees that, at a chosen statement: all of its
// connections are gone, before the statement was run or after, and the caller gets
// no answer. Any number of goroutines may use a process: a connection is touched by one
// of them at a time, also when the process ends.
package cutdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"time"
)

// Process holds the connections of one process that will be cut.
type Process struct {
	driver driver.Driver
	url    string

	mu    sync.Mutex
	conns map[*conn]bool
	count int
	only  string // of which statements are counted; empty: all
	at    int    // the statement to cut at, from 1; 0 for none
	after bool
	dead  bool

	committed func() // see Committed; nil for none
}

// Open returns a database of a registered driver, of which nothing is cut yet.
func Open(name, url string) (*sql.DB, *Process, error) {
	db, err := sql.Open(name, url)
	if err != nil {
		return nil, nil, err
	}
	p := &Process{driver: db.Driver(), url: url, conns: map[*conn]bool{}}
	return sql.OpenDB(p), p, db.Close()
}

// Cut makes the n-th statement from now on the last one, from 1, run or not. BEGIN
// and COMMIT of database/sql are statements. If only is not empty, statements with
// another text are not counted.
func (p *Process) Cut(n int, after bool, only string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.at, p.after, p.only = 0, n, after, only
}

// Committed has fn called after each COMMIT that was made, before its caller knows.
// It must be set before the first statement.
func (p *Process) Committed(fn func()) { p.committed = fn }

// Dead reports whether the process was cut.
func (p *Process) Dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// Revive begins another process with the same pool; nothing of it is cut.
func (p *Process) Revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead, p.at = false, 0
}

// do runs a statement of c, unless the process dies of it.
func (p *Process) do(c *conn, text string, run func() error) error {
	c.use.Lock()
	defer c.use.Unlock()
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return driver.ErrBadConn
	}
	if p.only == "" || p.only == text {
		p.count++
	}
	last := p.at > 0 && p.count == p.at
	p.mu.Unlock()
	if !last {
		return p.run(text, run)
	}
	if p.after {
		_ = p.run(text, run)
	}
	p.kill(c)
	return driver.ErrBadConn
}

// run runs a statement, and tells of a commit.
func (p *Process) run(text string, run func() error) error {
	err := run()
	if err == nil && text == "COMMIT" && p.committed != nil {
		p.committed()
	}
	return err
}

// kill undoes the open transactions, that of the caller's connection first. Another connection is undone once its
// statement has ended, and this statement may wait for a lock that a third one holds: so kill first takes connections
// that nobody uses. database/sql closes the connections: SQLite cannot close a connection before its prepared
// statements.
func (p *Process) kill(own *conn) {
	p.mu.Lock()
	p.dead = true
	open := p.conns
	p.conns = map[*conn]bool{}
	p.mu.Unlock()
	if open[own] {
		own.undo()
		delete(open, own)
	}
	for ; len(open) > 0; time.Sleep(time.Millisecond) {
		for c := range open {
			if c.use.TryLock() {
				c.undo()
				c.use.Unlock()
				delete(open, c)
			}
		}
	}
}

// Connect implements [driver.Connector].
func (p *Process) Connect(context.Context) (driver.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return nil, driver.ErrBadConn
	}
	base, err := p.driver.Open(p.url)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: base, p: p}
	p.conns[c] = true
	return c, nil
}

// Driver implements [driver.Connector].
func (p *Process) Driver() driver.Driver { return p.driver }

type conn struct {
	driver.Conn
	p     *Process
	use   sync.Mutex // held while the connection is used; before the lock of the process
	begun bool
	over  bool // closed
}

// undo rolls back what is open. The caller has the connection.
func (c *conn) undo() {
	if c.begun && !c.over {
		_, _ = c.Conn.(driver.ExecerContext).ExecContext(context.Background(), "ROLLBACK", nil)
	}
}

func (c *conn) Close() error {
	c.p.mu.Lock()
	delete(c.p.conns, c)
	c.p.mu.Unlock()
	c.use.Lock()
	defer c.use.Unlock()
	if c.p.Dead() { // before kill came to it: with statements that are open, Close leaves its transaction
		c.undo()
	}
	c.over = true
	return c.Conn.Close()
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.p.conns[c]
}

// ResetSession implements [driver.SessionResetter].
func (c *conn) ResetSession(ctx context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	c.use.Lock()
	defer c.use.Unlock()
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (t driver.Tx, err error) {
	err = c.p.do(c, "BEGIN", func() (err error) {
		t, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
		c.begun = err == nil
		return err
	})
	return tx{t, c}, err
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	err = c.p.do(c, query, func() (err error) {
		res, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.p.do(c, query, func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	return c.rows(rows, err)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if !c.IsValid() {
		return nil, driver.ErrBadConn
	}
	c.use.Lock()
	defer c.use.Unlock()
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return stmt{s, c, query}, err
}

type stmt struct {
	driver.Stmt
	c    *conn
	text string
}

// Close leaves a statement to its connection if that was closed before, as
// database/sql does with a bad one that a sql.Conn holds.
func (s stmt) Close() error {
	s.c.use.Lock()
	defer s.c.use.Unlock()
	if s.c.over {
		return nil
	}
	return s.Stmt.Close()
}

func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (res driver.Result, err error) {
	err = s.c.p.do(s.c, s.text, func() (err error) {
		res, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		s.c.begun = s.c.begun || s.text == "BEGIN IMMEDIATE"
		return err
	})
	return res, err
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.c.p.do(s.c, s.text, func() (err error) {
		rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	return s.c.rows(rows, err)
}

// rows are read on the connection that they are of, which nobody else uses meanwhile.
type rows struct {
	driver.Rows
	c *conn
}

func (c *conn) rows(r driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	return rows{r, c}, nil
}

func (r rows) Next(to []driver.Value) error {
	r.c.use.Lock()
	defer r.c.use.Unlock()
	if !r.c.IsValid() {
		return driver.ErrBadConn
	}
	return r.Rows.Next(to)
}

func (r rows) Close() error {
	r.c.use.Lock()
	defer r.c.use.Unlock()
	if r.c.over {
		return nil
	}
	return r.Rows.Close()
}

type tx struct {
	driver.Tx
	c *conn
}

func (t tx) Commit() error { return t.c.p.do(t.c, "COMMIT", t.Tx.Commit) }

func (t tx) Rollback() error {
	t.c.use.Lock()
	defer t.c.use.Unlock()
	if !t.c.IsValid() {
		return driver.ErrBadConn
	}
	return t.Tx.Rollback()
}
