package main

import (
	"context"
	"database/sql"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// service takes deposits of customers and pays their withdrawals, and keeps its book in
// the same database.
type service struct {
	conn        *sql.DB // the pool below db
	db          *sqlstore.Store
	withdrawals *store.Withdrawals
	wallets     *store.Wallets
	log         *slog.Logger
}

var house = withdrawal.By{Actor: "ledger", Role: withdrawal.System}

// withdraw stores what a customer asks for and sets the amount aside, in one commit: no
// request is without its hold, and no hold without its request. The same order again
// changes nothing, so that whoever got no answer asks again.
func (s *service) withdraw(ctx context.Context, order withdrawal.Submitted) (w withdrawal.Withdrawal, err error) {
	err = s.db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) (err error) {
		if w, err = s.withdrawals.Within(unit).Submit(ctx, order); err != nil {
			return err
		}
		return post(ctx, tx, hold(&w.Request)) // too little is available: the request is undone too
	})
	return w, err
}

// bring says of a request that a restored database has forgotten, or that failed in it, which transaction pays it, and
// sets the amount aside, in one commit: Imported takes no hold in a book. A hold that the copy has is found by its key.
func (s *service) bring(ctx context.Context, e withdrawal.Imported) error {
	return s.db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
		w, err := s.withdrawals.Within(unit).Import(ctx, e)
		if err != nil {
			return err
		}
		return post(ctx, tx, hold(&w.Request))
	})
}

// giveBack is called by [follow.RefundDue] for what has ended unpaid, once nothing of it
// can be paid any more. The release and Refunded are one commit: from then on nobody
// orders the request again.
func (s *service) giveBack(ctx context.Context, tx sqlstore.Tx, _ store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
	p := release(&w.Request)
	return withdrawal.Refunded{By: house, Reference: p.reference()}, post(ctx, tx, p)
}

// book is called by [follow.Run] with what has happened to withdrawals, each line once,
// and posts the payments in the commit that says how far it came.
func (s *service) book(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []follow.Line) error {
	for i := range lines {
		if lines[i].Machine != withdrawal.RequestMachine.Name() { // what becomes of a job is a line of its request too
			continue
		}
		id, err := uuid.Parse(lines[i].Aggregate)
		if err != nil {
			return err
		}
		w, err := s.withdrawals.Within(unit).Get(ctx, id) // what the record says now counts, not the line
		if err != nil {
			return err
		}
		switch r := &w.Request; {
		case r.Status == withdrawal.RequestCompleted:
			err = post(ctx, tx, capture(r))
		case r.RefundReference != "" && r.Told.Says(withdrawal.ClaimMined): // paid all the same: an alert stands until people have settled it
			err = post(ctx, tx, lateCapture(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requeue orders another job for a failed request, on the word of an operator. Whether
// its hold was released is looked up in the book in the same transaction; what was
// released is [withdrawal.ErrRefunded].
func (s *service) requeue(ctx context.Context, by withdrawal.By, id uuid.UUID, reason string) error {
	return s.db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
		within := s.withdrawals.Within(unit)
		w, err := within.Get(ctx, id)
		if err != nil {
			return err
		}
		released, err := posted(ctx, tx, release(&w.Request))
		if err != nil {
			return err
		}
		_, err = within.Do(ctx, id, withdrawal.Requeued{By: by, Job: w.Job.ID, Reason: reason, NotRefunded: !released})
		return err
	})
}

// newJob is what the service decides of an approved request when it gets a job.
func newJob(r withdrawal.Request) withdrawal.Enqueued {
	// The id is that of the step: ordered twice, it is the same job.
	job := uuid.NewSHA1(r.ID, strconv.AppendInt(nil, r.Version, 10))
	return withdrawal.Enqueued{By: house, Job: job, AssetOnChain: asset, Priority: withdrawal.Normal}
}

// refund releases the holds of what has ended unpaid. Requests end while it waits, so that
// it comes again soon.
func (s *service) refund(ctx context.Context) (time.Duration, error) {
	_, wait, err := follow.RefundDue(ctx, s.db, s.withdrawals, page, s.giveBack)
	return min(wait, s.withdrawals.Policy().EnqueueEvery), err
}

// page is how many withdrawals one call is for.
const page = 50
