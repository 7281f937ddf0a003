package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// readers is how many Views run at once on SQLite.
const readers = 4

// busyTimeout is how long a statement waits for another process.
const busyTimeout = 5000 // milliseconds

// cacheSize bounds the pages that a connection keeps, in KiB. A transaction
// that outgrows it writes pages twice.
const cacheSize = 32 << 10

// walPages is how long the log grows before its pages go to the database file.
// Hashes touch pages all over the file: the longer the log, the fewer times.
const walPages = 8000

// needed is how many connections a host's pool must have, if it is limited: ours
// and one for the host.
const needed = 1 + readers + 1

// openPools takes the connections out of the pool of database/sql and sets
// their pragmas. They do not go back: whoever got one would find it read-only.
func (s *Store) openPools(ctx context.Context) error {
	s.writer = newPool(1, func(ctx context.Context) (*session, error) { return s.connect(ctx, false) })
	s.reader = newPool(readers, func(ctx context.Context) (*session, error) { return s.connect(ctx, true) })
	for _, p := range []*pool{s.writer, s.reader} { // fail now and not at first use
		c, err := p.take(ctx)
		if err != nil {
			return err
		}
		p.put(c)
	}
	return nil
}

func (s *Store) connect(ctx context.Context, readOnly bool) (*session, error) {
	conn, err := s.dials.lend(ctx)
	if err != nil {
		return nil, err
	}
	set := fmt.Sprintf("PRAGMA busy_timeout = %d; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; "+
		"PRAGMA temp_store = MEMORY; PRAGMA cache_size = -%d; PRAGMA wal_autocheckpoint = %d", busyTimeout, cacheSize, walPages)
	if readOnly {
		set += "; PRAGMA query_only = ON"
	}
	// Several processes that open one file are in one another's way while its
	// journal is switched, and SQLite does not wait for that.
	err = whileBusy(ctx, func() error {
		if err := execAll(ctx, conn, strings.Split(set, "; ")...); err != nil {
			return err
		}
		return checkPragmas(ctx, conn)
	})
	if err != nil {
		discard(conn)
		return nil, err
	}
	return &session{db: conn, close: func() error { discard(conn); return nil }, stmts: map[string]*sql.Stmt{}}, nil
}

// checkFile refuses a database that is not in a file: each connection would have
// one of its own.
func checkFile(ctx context.Context, q queryer) error {
	var path string
	err := q.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	if err == nil && path == "" {
		err = fmt.Errorf("%w: the database is in memory; journal_mode must be wal, which needs a file", statemachine.ErrInvalid)
	}
	return err
}

// checkPragmas refuses a connection that forgets commits or breaks references.
func checkPragmas(ctx context.Context, q queryer) error {
	var version, journal string
	var synchronous, foreignKeys int
	for _, ask := range []struct {
		text string
		dst  any
	}{
		{"SELECT sqlite_version()", &version}, {"PRAGMA journal_mode", &journal},
		{"PRAGMA synchronous", &synchronous}, {"PRAGMA foreign_keys", &foreignKeys},
	} {
		if err := q.QueryRowContext(ctx, ask.text).Scan(ask.dst); err != nil {
			return fmt.Errorf("%s: %w", ask.text, err)
		}
	}
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor)
	switch {
	case major < 3 || major == 3 && minor < 39:
		return fmt.Errorf("%w: SQLite %s is older than 3.39", statemachine.ErrInvalid, version)
	case journal != "wal":
		return fmt.Errorf("%w: journal_mode is %s and must be wal, which needs a file", statemachine.ErrInvalid, journal)
	case synchronous < 2:
		return fmt.Errorf("%w: synchronous is %d and must be FULL: a crash would forget a committed intent, and pay twice",
			statemachine.ErrInvalid, synchronous)
	case foreignKeys != 1:
		return fmt.Errorf("%w: foreign_keys is off", statemachine.ErrInvalid)
	}
	return nil
}

func (s *Store) beginSQLite(ctx context.Context, view bool) (unit, error) {
	p, begin := s.writer, "BEGIN IMMEDIATE"
	if view {
		p, begin = s.reader, "BEGIN"
	}
	c, err := p.take(ctx)
	if err != nil {
		return unit{}, err
	}
	// The end of a transaction does not depend on the caller's patience.
	always := context.WithoutCancel(ctx)
	rollback := func() {
		if _, err := c.exec(always, "ROLLBACK"); err != nil && !strings.Contains(err.Error(), "no transaction is active") {
			p.drop(c)
			return
		}
		p.put(c) // BEGIN may have failed, as behind another writer, or SQLite has rolled back already
	}
	commit := func() error {
		_, err := c.exec(always, "COMMIT")
		switch {
		case err == nil:
			p.put(c)
			return nil
		case code(err) == 0 || code(err)&0xff == sqliteIOErr:
			p.drop(c)
			return fmt.Errorf("%w: %w", store.ErrUnknownCommit, err)
		}
		rollback()
		return err
	}
	if _, err := c.exec(ctx, begin); err != nil {
		rollback()
		return unit{}, err
	}
	return unit{session: c, late: ctx, commit: commit, rollback: rollback}, nil
}
