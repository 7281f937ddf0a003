package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/withdrawal"
)

// Get returns the aggregate of a request, [statemachine.ErrNotFound] for an
// unknown one.
func (s *Withdrawals) Get(ctx context.Context, request uuid.UUID) (withdrawal.Withdrawal, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) (withdrawal.Withdrawal, error) { return s.get(tx, request) })
}

// RequestOf returns the request of a job, [statemachine.ErrNotFound] for an
// unknown one.
func (s *Withdrawals) RequestOf(ctx context.Context, job uuid.UUID) (uuid.UUID, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) (uuid.UUID, error) { return tx.Withdrawals().RequestOf(job) })
}

// Next says what a request owes now, see [withdrawal.Policy.Next]; Due is on the
// store's clock.
func (s *Withdrawals) Next(ctx context.Context, request uuid.UUID) (step withdrawal.Step, now time.Time, err error) {
	return next(ctx, &s.withdrawalCore, request, func(tx WithdrawalUnit, w withdrawal.Withdrawal, now time.Time) (withdrawal.Step, error) {
		state, err := tx.Switches().Ask(switches.Chain(w.Request.Chain))
		w.Level, w.Recovering = state.Level, state.Recovering
		return s.policy.Next(w, now), err
	})
}

// Attempts returns all executions of a job, by fence.
func (s *Withdrawals) Attempts(ctx context.Context, job uuid.UUID) ([]withdrawal.Attempt, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Attempt, error) { return tx.Withdrawals().Attempts(job) })
}

// HotWallets returns the wallets of a chain, by id.
func (s *Withdrawals) HotWallets(ctx context.Context, chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.HotWallet, error) { return tx.HotWallets().OfChain(chain) })
}

// Requests pages through the requests with a status, or with any for zero, by
// created_at and id, after the given one; nil is the beginning.
func (s *Withdrawals) Requests(ctx context.Context, status withdrawal.RequestStatus, after *withdrawal.Request,
	limit int) ([]withdrawal.Request, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Request, error) {
		return tx.Withdrawals().Requests(status, after, limit)
	})
}

// Incidents pages through the evidence that contradicts a record, oldest first,
// after a cursor from 0, and returns the cursor of the next page.
func (s *Withdrawals) Incidents(ctx context.Context, after int64, limit int) (page []withdrawal.Incident, cursor int64, err error) {
	return paged(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Incident, int64, error) {
		return tx.Withdrawals().Incidents(false, after, limit)
	})
}

// Trail returns the audit trail of a request or a job, oldest first, after replaying it through the table. A trail that
// does not end in the stored status and version is [statemachine.ErrCorrupt]; a trail of nothing stored is
// [statemachine.ErrNotFound]. For a job that is not the latest of its request only the replay is checked.
func (s *Withdrawals) Trail(ctx context.Context, id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return s.trail(ctx, id)
}

// Verify is [Withdrawals.Trail] for its check alone.
func (s *Withdrawals) Verify(ctx context.Context, id uuid.UUID) error {
	_, err := s.Trail(ctx, id)
	return err
}

// Stats counts at the store's time; rates and means are over what ended in the
// window before it.
func (s *Withdrawals) Stats(ctx context.Context, window time.Duration) (withdrawal.Stats, error) {
	return s.StatsOf(ctx, uuid.Nil, window, nil)
}

// StatsOf is [Withdrawals.Stats] of one chain; the zero id means all chains. nonces has, for wallets, the next nonce as
// the chain knows it, for Stats.Gaps; entries for wallets of another chain are ignored.
func (s *Withdrawals) StatsOf(ctx context.Context, chain uuid.UUID, window time.Duration,
	nonces map[uuid.UUID]uint64) (withdrawal.Stats, error) {
	return readNow(ctx, s.view, func(tx WithdrawalUnit, now time.Time) (withdrawal.Stats, error) {
		stats, err := tx.Withdrawals().Stats(now, window, chain)
		if err != nil || len(nonces) == 0 {
			return stats, err
		}
		if chain != uuid.Nil {
			wallets, err := tx.HotWallets().OfChain(chain)
			if err != nil {
				return stats, err
			}
			of := make(map[uuid.UUID]uint64, len(nonces))
			for _, w := range wallets {
				if n, told := nonces[w.ID]; told {
					of[w.ID] = n
				}
			}
			nonces = of
		}
		stats.Gaps, err = gapsOf(tx, nonces, withdrawal.MaxGaps)
		return stats, err
	})
}

// Alerts counts and compares with limits, see [withdrawal.Alerts]; nonces are as
// in [Withdrawals.StatsOf].
func (s *Withdrawals) Alerts(ctx context.Context, window time.Duration, limits withdrawal.Thresholds,
	nonces map[uuid.UUID]uint64) ([]statemachine.Alert, error) {
	stats, err := s.StatsOf(ctx, uuid.Nil, window, nonces)
	if err != nil {
		return nil, err
	}
	return withdrawal.Alerts(stats, limits), nil
}

// Audit checks the invariants of a page of aggregates, see [withdrawal.Check], by created_at and id, behind a place,
// which is empty at the beginning. It returns the place of the next page, empty at the end, and everything that it
// found wrong.
func (s *Withdrawals) Audit(ctx context.Context, after string, limit int) (place string, err error) {
	return auditByID(ctx, &s.withdrawalCore, after, func(tx WithdrawalUnit, id uuid.UUID) ([]uuid.UUID, error) {
		var behind *withdrawal.Request
		if id != uuid.Nil {
			w, err := s.get(tx, id)
			if err != nil {
				return nil, err
			}
			behind = &w.Request
		}
		page, err := tx.Withdrawals().Requests(0, behind, limit)
		return mapped(page, func(r *withdrawal.Request) uuid.UUID { return r.ID }), err
	}, withdrawal.Check)
}

// Follow returns up to limit committed transitions of requests and jobs after a cursor, and the cursor to go on with,
// see [Feed]. An observer stores the cursor together with its effect, and so sees each transition at least once, those
// of one record in order. Notifications and metrics belong here.
func (s *Withdrawals) Follow(ctx context.Context, after Cursor,
	limit int) (page []statemachine.Transition[uuid.UUID], next Cursor, err error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition: where an observer begins
// that needs nothing of the past.
func (s *Withdrawals) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }
