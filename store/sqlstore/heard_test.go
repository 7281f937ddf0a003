package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/settlehq/settle/store/sqlstore"
)

// hearing is a driver that notes each text which reaches the driver behind it.
type hearing struct {
	behind driver.Driver
	url    string

	mu    sync.Mutex
	texts map[string]bool
}

// heard returns the database with a driver that hears what is sent.
func (d database) heard(t testing.TB) (database, *hearing) {
	h := &hearing{behind: d.DB.Driver(), url: d.url, texts: map[string]bool{}}
	d.DB = sql.OpenDB(h)
	d.DB.SetMaxIdleConns(16)
	t.Cleanup(func() { d.DB.Close() })
	return d, h
}

// schemas are those of the databases that suites use.
var schemas = regexp.MustCompile(`\bsettle_spare_\d+_\d+\.`)

// onlyListed requires that all that was heard since the last call is in the golden file.
func (h *hearing) onlyListed(t testing.TB, d sqlstore.Dialect) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	is := sqlstore.Listed(d)
	for _, text := range slices.Sorted(maps.Keys(h.texts)) {
		if !is(schemas.ReplaceAllString(text, "")) {
			t.Errorf("what was sent is none of the statements of the golden file: %s", text)
		}
	}
	clear(h.texts)
}

func (h *hearing) note(text string) {
	h.mu.Lock()
	h.texts[text] = true
	h.mu.Unlock()
}

// Connect implements [driver.Connector].
func (h *hearing) Connect(context.Context) (driver.Conn, error) {
	conn, err := h.behind.Open(h.url)
	if err != nil {
		return nil, err
	}
	return heardConn{conn.(fullConn), h}, nil
}

// Driver implements [driver.Connector].
func (h *hearing) Driver() driver.Driver { return h.behind }

// fullConn is what the connections of both drivers are.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
}

type heardConn struct {
	fullConn
	by *hearing
}

func (c heardConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.by.note(text)
	return c.fullConn.PrepareContext(ctx, text)
}

func (c heardConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.by.note(text)
	return c.fullConn.ExecContext(ctx, text, args)
}

func (c heardConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.by.note(text)
	return c.fullConn.QueryContext(ctx, text, args)
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c heardConn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.fullConn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
