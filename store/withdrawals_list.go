package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// List returns a page of what people look for: what is in review, held, whose
// lease has ended, what is overdue, by user, chain, hot wallet and holder. The
// last one of a page is where the next begins.
func (s *Withdrawals) List(ctx context.Context, q ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	return read(ctx, s.view, func(tx WithdrawalTx) ([]withdrawal.Withdrawal, error) {
		if q := q; q.Now.IsZero() {
			var err error
			if q.Now, err = tx.Now(); err != nil {
				return nil, err
			}
			return tx.Withdrawals().List(q)
		}
		return tx.Withdrawals().List(q)
	})
}

// Jobs returns all jobs of a request, in the order in which they were made.
func (s *Withdrawals) Jobs(ctx context.Context, request uuid.UUID) ([]withdrawal.Job, error) {
	return read(ctx, s.view, func(tx WithdrawalTx) ([]withdrawal.Job, error) { return tx.Withdrawals().Jobs(request) })
}

// ByHash returns the requests that have a transaction on file, or heard of it,
// whatever the spelling of its hash.
func (s *Withdrawals) ByHash(ctx context.Context, hash string) ([]uuid.UUID, error) {
	return read(ctx, s.view, func(tx WithdrawalTx) ([]uuid.UUID, error) { return tx.Withdrawals().ByHash(hash) })
}
