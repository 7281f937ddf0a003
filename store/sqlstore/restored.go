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
// What a restored database has forgotten, a dump, an old file or a standby that had
// not the last commits, it would pay again. So before any worker runs on it:
//
//  1. Begin nothing: Paused of every withdrawal.Chain in the policy that
//     workers start with, or PutHotWallet of every wallet with a status that is not
//     active. Look-ups go on.
//  2. Ask the chain for the next nonce of each hot wallet, pending transactions
//     included. Each nonce below it that WithdrawalRecords.NoncesFrom(wallet, 0) does not have was used
//     since, below HotWallet.NextNonce too: it may have filled a gap. Where there are no
//     nonces, list what the wallet has sent since.
//  3. Look at each such transaction, in a block or not. For each request that it pays say
//     withdrawal.Imported where the request is not stored or has had no job, else an
//     operator's withdrawal.PaidBy; with ByOutput and Output where it pays many, and with its
//     nonce for one of them alone. The example "restored" of store.Withdrawals does so for a
//     batch: the batch itself does not come back, and its members are looked up one by one.
//     Nothing is sent again without the bytes: send them by hand where a node has lost them.
//     What pays none is a withdrawal.Filler.
//     Cancellations, holds and rejections since are said again.
//  4. Let the chains begin again when none is left.
//
// A wallet has forgotten what was submitted since: follow the chain to its tip and
// offer the mempool before coins are selected, and what was sent and is not there is
// still a payment that may be mined.
//
// For swaps it is swap.Control.RecoveredAt, before which nothing is sent that was not
// looked back for.
//
// For tenants it is dunning.Policy.RecoveredAt, in the policy of every biller from then
// on: each open invoice from before is looked back for. First the host says again
// what it said since: Issued with its CreatedAt, Paid, Voided, MethodSet, Reinstated.
//
// For relays an operator says relaysync.Retried of each, since the server may hold what
// this database does not know; relays that were made since are made again.
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
