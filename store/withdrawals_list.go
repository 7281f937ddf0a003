package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// List returns a page of what people look for: what is in review, held, whose
// lease has ended, what is overdue, by user, chain, hot wallet and holder. The
// last one of a page is where the next begins.
func (s *Withdrawals) List(ctx context.Context, q ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	return readNow(ctx, s.view, func(tx WithdrawalUnit, now time.Time) ([]withdrawal.Withdrawal, error) {
		q := q
		if q.Now.IsZero() {
			q.Now = now
		}
		return tx.Withdrawals().List(q)
	})
}

// Jobs returns all jobs of a request, in the order in which they were made.
func (s *Withdrawals) Jobs(ctx context.Context, request uuid.UUID) ([]withdrawal.Job, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Job, error) { return tx.Withdrawals().Jobs(request) })
}

// ByHash returns the requests that have a transaction on file, or heard of it,
// whatever the spelling of its hash.
func (s *Withdrawals) ByHash(ctx context.Context, hash string) ([]uuid.UUID, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]uuid.UUID, error) { return tx.Withdrawals().ByHash(hash) })
}

// ListBatches is [Withdrawals.List] for batches, see [withdrawal.Filter.HasBatch].
func (s *Withdrawals) ListBatches(ctx context.Context, q ListBatches) ([]withdrawal.Payout, error) {
	return readNow(ctx, s.view, func(tx WithdrawalUnit, now time.Time) ([]withdrawal.Payout, error) {
		q := q
		if q.Now.IsZero() {
			q.Now = now
		}
		return tx.Withdrawals().ListBatches(q)
	})
}

// BatchesByHash is [Withdrawals.ByHash] for batches: every version leads to its
// batch, also one that pays nobody.
func (s *Withdrawals) BatchesByHash(ctx context.Context, hash string) ([]uuid.UUID, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]uuid.UUID, error) { return tx.Withdrawals().BatchesByHash(hash) })
}

// Acknowledge says that an operator has settled an incident, so that it counts
// as open no more. The same again changes nothing.
func (s *Withdrawals) Acknowledge(ctx context.Context, a withdrawal.Acknowledgement) error {
	return s.update(ctx, func(tx WithdrawalUnit) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		checked, err := a.Checked(now)
		if err != nil {
			return err
		}
		return tx.Withdrawals().Acknowledge(checked)
	})
}

// OpenIncidents pages through the incidents that nobody has acknowledged, as
// [Withdrawals.Incidents] does.
func (s *Withdrawals) OpenIncidents(ctx context.Context, after int64, limit int) (page []withdrawal.Incident, cursor int64, err error) {
	return paged(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Incident, int64, error) {
		return tx.Withdrawals().Incidents(true, after, limit)
	})
}

// Acknowledgements returns those of a request's incidents, oldest first.
func (s *Withdrawals) Acknowledgements(ctx context.Context, request uuid.UUID) ([]withdrawal.Acknowledgement, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Acknowledgement, error) {
		return tx.Withdrawals().Acknowledgements(request)
	})
}

// Refusals pages through the journal of what operators and approvers tried and
// were refused, oldest first, as [Withdrawals.Incidents] does. It has what was
// sent as one event of one command; what a larger command was refused for rolled
// back with it, and so did what a unique rule of the store refused
// ([withdrawal.ErrNonceTaken], [withdrawal.ErrActiveJob], and
// [withdrawal.ErrPaymentTaken] of a race).
func (s *Withdrawals) Refusals(ctx context.Context, after int64, limit int) (page []withdrawal.Refused, cursor int64, err error) {
	return paged(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Refused, int64, error) {
		return tx.Withdrawals().Refusals(after, limit)
	})
}

// journalOf keeps what withdrawal.RefusedOf says, of requests or of batches.
func journalOf[E any](refused func(uuid.UUID, E, error, time.Time) (withdrawal.Refused, bool)) func(WithdrawalUnit, uuid.UUID, E, error) (bool, error) {
	return func(tx WithdrawalUnit, id uuid.UUID, ev E, refusal error) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		line, keep := refused(id, ev, refusal, now)
		if !keep {
			return false, nil
		}
		return true, tx.Withdrawals().Refuse(line)
	}
}
