package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// RefundDue gives back the money of up to n requests that the system may refund now, the longest due first, see
// [store.Withdrawals.RefundsDue]. For each request fn posts the refund in the host's books and returns its event;
// posting and event are one commit of [sqlstore.Store.UpdateTx]. A host whose books are elsewhere returns the event
// alone, and posts under its Reference once the request says that it is refunded.
//
// A request that is no longer due in its transaction, since somebody has requeued or refunded it, is skipped: fn is not
// called, or what it posted is undone. If fn or the event of a request fails, nothing of the request is kept, it is
// named in err and put off, and the others go on. wait is when to call RefundDue again.
func RefundDue(ctx context.Context, db *sqlstore.Store, withdrawals *store.Withdrawals, n int,
	fn func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error),
) (refunded []withdrawal.Withdrawal, wait time.Duration, err error) {
	if db == nil || withdrawals == nil || fn == nil {
		return nil, 0, fmt.Errorf("%w: the store, the service or the function is nil", statemachine.ErrInvalid)
	}
	due, wait, err := withdrawals.RefundsDue(ctx, n)
	if err != nil {
		return nil, 0, err
	}
	var failed []error
	for i := range due {
		w, err := refund(ctx, db, withdrawals, &due[i], fn)
		if ctx.Err() != nil {
			return refunded, 0, errors.Join(append(failed, err)...)
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("refund of %v: %w", due[i].Request.ID, err))
			if !isAny(err, store.ErrUnknownCommit, store.ErrRetry, sqlstore.ErrConnection) {
				_, err = withdrawals.Do(ctx, due[i].Request.ID, withdrawal.PutOff{By: withdrawal.By{Actor: "settle", Role: withdrawal.System}})
				failed = append(failed, err)
			}
		case w != nil:
			refunded = append(refunded, *w)
		}
	}
	return refunded, wait, errors.Join(failed...)
}

// refund makes one refund; nil without an error where it is no longer due.
func refund(ctx context.Context, db *sqlstore.Store, withdrawals *store.Withdrawals, due *withdrawal.Withdrawal,
	fn func(context.Context, sqlstore.Tx, store.Unit, withdrawal.Withdrawal) (withdrawal.Refunded, error),
) (done *withdrawal.Withdrawal, err error) {
	version := int64(0) // of the request whose event was refused
	err = db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
		done, version = nil, 0
		service := withdrawals.Within(unit)
		now, err := unit.Now()
		if err != nil {
			return err
		}
		w, err := service.Get(ctx, due.Request.ID)
		if err != nil {
			return err
		}
		policy := service.Policy()
		if at, why := policy.Refundable(w, withdrawal.System, now); why != nil || !at.IsZero() {
			return nil
		}
		ev, err := call(func() (withdrawal.Refunded, error) { return fn(ctx, tx, unit, w) })
		if err != nil {
			return err
		}
		after, err := service.Do(ctx, w.Request.ID, ev)
		if done = &after; err != nil {
			version = w.Request.Version
		}
		return err
	})
	if err != nil {
		// What fn and the event did is undone, so another version is somebody else's doing.
		if is, failed := withdrawals.Get(ctx, due.Request.ID); failed == nil && version != 0 && is.Request.Version != version {
			return nil, nil
		}
		return nil, err
	}
	return done, nil
}
