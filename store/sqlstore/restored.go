package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/settlehq/settle/store"
)

// Restored tells a database that it was restored from a dump: from then on what
// is written sorts behind all that is stored, and observers go on from the
// cursors that they have. Call it once, before [Open], when that says
// [store.ErrRestored]; where nothing is wrong it changes nothing.
//
// The order of committed transitions on PostgreSQL is made of transaction
// numbers, which belong to the cluster and not to the dump. Lines that were
// written after the dump are lost whatever is done here; an observer that has
// seen one of them gets [store.ErrCursor]. On SQLite, where a file is put back,
// there is nothing to tell.
//
// # What was paid since
//
// What a restored database has forgotten (a dump, an old file, a standby that lacked the
// last commits) it would pay again. So before any worker runs on it, a person follows
// docs/restore.md of this module: nothing begins on a chain until every nonce, input or
// coin that its wallets may have used before the restore is used at depth, by a
// transaction whose every transfer is on file. What a node shows as pending is no
// evidence: neither that it has it nor that it has it not. Nothing is refunded before
// the chain has begun again, but for a refund that was made before the restore
// (withdrawal.Refunded.Already); and what paid a cancelled or rejected request is told
// by withdrawal.PaidBy, since an import leads nowhere from there. The example "restored" of
// store.Withdrawals is the part for nonces.
func Restored(ctx context.Context, db *sql.DB, d Dialect, opts Options) error {
	s, err := opts.syntax(d)
	if err == nil && db == nil {
		err = errNilDB
	}
	if err == nil && d == Postgres {
		err = s.raise(ctx, db)
	}
	return wrapped("restored", err)
}

// raise moves the base so far that the next horizon is above all that are
// stored, whatever is running.
func (s syntax) raise(ctx context.Context, db *sql.DB) error {
	t, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }()
	if err := s.checkDialect(ctx, t); err != nil {
		return err
	}
	if err := s.current(ctx, t); err != nil {
		return err
	}
	for _, text := range []string{
		"SELECT id FROM @transitions_base FOR UPDATE", // who waits here sees what the other one did
		"UPDATE @transitions_base SET base = (SELECT max(l.horizon) FROM @transitions l) + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint WHERE " + restored,
	} {
		if _, err := t.ExecContext(ctx, s.expand(text)); err != nil {
			return err
		}
	}
	return t.Commit()
}

// checkRestored refuses a database that nobody has called [Restored] for.
func (s syntax) checkRestored(ctx context.Context, q queryer) error {
	var is bool
	if err := q.QueryRowContext(ctx, s.expand("SELECT "+restored)).Scan(&is); err != nil {
		return err
	}
	if is {
		return fmt.Errorf("%w: call sqlstore.Restored", store.ErrRestored)
	}
	return nil
}
