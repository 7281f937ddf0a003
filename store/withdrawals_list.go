package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// List returns a page of requests as people look for them: in review, held, overdue, with an ended lease, or by user,
// chain, hot wallet and holder. The next page begins after the last one of this page.
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

// Acknowledge says that an operator has settled an incident, so that it counts
// as open no more. The same again changes nothing.
func (s *Withdrawals) Acknowledge(ctx context.Context, a withdrawal.Acknowledgement) error {
	by := withdrawal.By{Actor: a.Actor, Role: a.Role, At: a.At}
	return call(ctx, s.update, by, DomainWithdrawals, withdrawal.RequestMachine.Name(), a.Request.String(), "Acknowledge",
		func(tx WithdrawalUnit) error {
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
