package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// capture is called with what has happened to withdrawals, each line once, and posts what is paid in the commit
// that says how far it came. What the record says now counts, and not the line.
func (s *shop) capture(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []follow.Line) error {
	for i := range lines {
		if lines[i].Machine != withdrawal.RequestMachine.Name() {
			continue
		}
		id, err := uuid.Parse(lines[i].Aggregate)
		if err != nil {
			return err
		}
		w, err := s.withdrawals.Within(unit).Get(ctx, id)
		if err == nil && w.Request.Status == withdrawal.RequestCompleted {
			err = post(ctx, tx, id.String()+"/capture", "held", "bank", cents(&w.Request))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow calls capture until ctx ends.
func (s *shop) follow(ctx context.Context) error {
	consumer := follow.Consumer{Name: "book", Domains: []store.Domain{store.DomainWithdrawals}, From: follow.Beginning}
	return follow.Run(ctx, s.db, consumer, s.capture)
}

// release gives the hold of an ended request back. The posting and Refunded are one commit, and from then on
// nobody orders the request again.
func (s *shop) release(ctx context.Context, tx sqlstore.Tx, _ store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
	key := w.Request.ID.String() + "/release"
	return withdrawal.Refunded{By: house, Reference: key},
		post(ctx, tx, key, "held", account(w.Request.User), cents(&w.Request))
}

// refunds releases what has ended unpaid, as soon as it is certain that nothing of it can be paid any more.
func (s *shop) refunds(ctx context.Context) error {
	call := func(ctx context.Context) (time.Duration, error) {
		_, wait, err := follow.RefundDue(ctx, s.db, s.withdrawals, 50, s.release)
		return min(wait, time.Second), err
	}
	return worker.Sweep{Name: "refund", Call: call}.Run(ctx)
}
