package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Options of [Open] and [Migrate]. The zero value is the default.
type Options struct {
	// Schema holds our tables on PostgreSQL: a lower-case identifier; empty
	// means the first of the connection's search path.
	Schema string
	// Now is what leases and due times are measured by. nil means the
	// database's, so that hosts whose clocks differ agree.
	Now func() time.Time
	// Retries is how often Update runs again after a conflict or a deadlock;
	// 0 means 10, negative means never.
	Retries int
}

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

func (o Options) syntax(d Dialect) (syntax, error) {
	switch {
	case d != SQLite && d != Postgres:
		return syntax{}, fmt.Errorf("%w: %v", statemachine.ErrInvalid, d)
	case o.Schema == "":
		return syntax{Dialect: d}, nil
	case d == SQLite:
		return syntax{}, fmt.Errorf("%w: SQLite has no schemas", statemachine.ErrInvalid)
	case !identifier.MatchString(o.Schema):
		return syntax{}, fmt.Errorf("%w: schema %q is no lower-case identifier", statemachine.ErrInvalid, o.Schema)
	}
	return syntax{Dialect: d, prefix: o.Schema + "."}, nil
}

// ErrClosed: the store was closed.
var ErrClosed = errors.New("the store is closed")

// Store is a database that holds our tables.
type Store struct {
	syntax
	db     *sql.DB
	opts   Options
	texts  sync.Map // *statement -> *texts
	writer *pool    // SQLite
	reader *pool
}

var _ store.Store[store.Tx] = (*Store)(nil)

// Open checks that db keeps what it commits and has the current tables, see
// [Migrate]. On SQLite it takes connections of db, which Close gives back; a
// limit of db's open connections must leave room for them. db stays the
// caller's.
func Open(ctx context.Context, db *sql.DB, d Dialect, opts Options) (*Store, error) {
	syn, err := opts.syntax(d)
	if err != nil {
		return nil, err
	}
	if opts.Retries == 0 {
		opts.Retries = 10
	}
	s := &Store{syntax: syn, db: db, opts: opts}
	if d == Postgres {
		err = checkPostgres(ctx, db)
	} else {
		err = s.openPools(ctx)
	}
	if err == nil {
		err = current(ctx, db, syn)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %v: %w", d, err), s.Close())
	}
	return s, nil
}

// Close waits for running transactions on SQLite and gives the connections
// back. The *sql.DB stays open.
func (s *Store) Close() error { return errors.Join(s.writer.close(), s.reader.close()) }

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	for attempt := 0; ; attempt++ {
		err := s.once(ctx, false, fn)
		if err == nil || attempt >= s.opts.Retries || !s.again(err) {
			return err
		}
		pause := min(time.Millisecond<<min(attempt, 7), 100*time.Millisecond)
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(rand.N(pause) + pause/4):
		}
	}
}

// again reports whether another run can do better. On SQLite a conflict cannot
// be another writer's: there is one at a time.
func (s *Store) again(err error) bool {
	if errors.Is(err, store.ErrUnknownCommit) {
		return false
	}
	return transient(err) || s.Dialect == Postgres && errors.Is(err, statemachine.ErrConflict)
}

// View implements [store.Store].
func (s *Store) View(ctx context.Context, fn func(store.Tx) error) error {
	return s.once(ctx, true, fn)
}

// once runs fn in one transaction.
func (s *Store) once(ctx context.Context, view bool, fn func(store.Tx) error) error {
	u, err := s.begin(ctx, view)
	if err != nil {
		return err
	}
	committing := false
	defer func() {
		if !committing { // an error, a panic, or Goexit
			u.rollback()
		}
	}()
	t := &tx{ctx: ctx, store: s, run: u.session, view: view}
	err = fn(t)
	if err == nil {
		err = t.flush()
	}
	if err == nil {
		err = t.err // fn must not commit past an error that it did not look at
	}
	if err == nil {
		err = ctx.Err()
	}
	t.err = errDone
	if err != nil {
		return err
	}
	committing = true
	return u.commit()
}

// unit is a transaction of the database.
type unit struct {
	*session
	commit   func() error // rolls back if it fails
	rollback func()
}

func (s *Store) begin(ctx context.Context, view bool) (unit, error) {
	if s.Dialect == Postgres {
		return s.beginPostgres(ctx, view)
	}
	return s.beginSQLite(ctx, view)
}

// Within joins a transaction that the host has begun: what the returned Tx
// writes commits, or not, with tx. Nothing is delayed, and errors come back
// unretried; after one, the host rolls back. On SQLite the host begins
// IMMEDIATE, on a connection with the pragmas that Open sets, which are checked.
// On PostgreSQL its isolation is READ COMMITTED; any other is
// [statemachine.ErrInvalid].
func (s *Store) Within(ctx context.Context, tx *sql.Tx) (store.Tx, error) {
	t, err := s.within(ctx, tx)
	if err != nil {
		return nil, err
	}
	return t, nil
}
