package refresher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

var (
	errTimedOut    = errors.New("the call took longer than HTTP_TIMEOUT")
	errNotHeld     = fmt.Errorf("%w: the lock ended before the call", statemachine.ErrFenced)
	errTooMany     = fmt.Errorf("%w: more than %d transfers are listed", statemachine.ErrInvalid, refresh.MaxTransfers)
	errPanicked    = errors.New("the host panicked, see the log")
	errLeft        = fmt.Errorf("%w: an earlier call for this wallet has not returned", ErrDeferred)
	errNotReturned = errors.New("the call has not returned and is left behind")
	errJobFirst    = errors.New("a due job goes first")
	errLockLost    = fmt.Errorf("%w: the lock ended during the call", statemachine.ErrFenced)
)

// outcome translates the error of a call. An error that is neither ErrPermanent nor ErrDeferred
// is Unknown, and is retried, since a refresh can be repeated.
func outcome(err error) statemachine.Outcome {
	switch {
	case err == nil:
		return statemachine.Done
	case errors.Is(err, ErrPermanent):
		return statemachine.Failed
	case errors.Is(err, ErrDeferred):
		return statemachine.Deferred
	}
	return statemachine.Unknown
}

// call makes one call of the host. It ends at the latest after HTTP_TIMEOUT, at the end of its
// pass, and, if it needs the lock, at the end of the lock. A panic is an unknown answer. A call
// that does not return is left behind and its answer is dropped; until it has returned, this
// process makes no other call for the wallet.
func call[V any](ctx context.Context, r *round, locked bool, fn func(context.Context) (V, error)) (v V, err error) {
	if r.hung {
		return v, errTimedOut
	}
	if err := context.Cause(ctx); err != nil {
		return v, err
	}
	now := time.Now()
	end := now.Add(r.policy.HTTPTimeout)
	if r.deadline.Before(end) {
		end = r.deadline
	}
	if !now.Before(end) {
		r.hung = true
		return v, errTimedOut
	}
	ctx, cancel := context.WithDeadlineCause(ctx, end, errTimedOut)
	defer cancel()
	if locked {
		if !time.Now().Before(r.lockEnd()) {
			return v, errNotHeld
		}
		var lose context.CancelCauseFunc
		ctx, lose = context.WithCancelCause(ctx)
		defer lose(nil)
		defer r.watchLock(lose)()
	}
	if _, left := r.calling.LoadOrStore(r.xpub, true); left {
		r.hung = true
		return v, errLeft
	}
	r.calls++
	type answer struct {
		v   V
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errPanicked}
		defer func() {
			if p := recover(); p != nil {
				r.log.Error("the host panicked", "panic", p, "stack", string(debug.Stack()))
			}
			r.calling.Delete(r.xpub)
			answers <- a
		}()
		a.v, a.err = fn(ctx)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		patience := time.NewTimer(r.policy.LockTTL / 3)
		defer patience.Stop()
		select {
		case a = <-answers:
		case <-patience.C:
			a.err = errNotReturned
		}
	}
	if a.err == nil {
		return a.v, nil
	}
	cause := context.Cause(ctx)
	r.hung = r.hung || errors.Is(cause, errTimedOut)
	if cause != nil {
		a.err = fmt.Errorf("%w: %w", cause, a.err)
	}
	return v, a.err
}

// callFor is call for what has no answer but its error.
func (r *round) callFor(ctx context.Context, fn func(context.Context) error) error {
	_, err := call(ctx, r, true, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// watchLock calls lose when the lock ends without a renewal, until the returned stop is called.
func (r *round) watchLock(lose context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			left := time.Until(r.lockEnd())
			if left <= 0 {
				lose(errLockLost)
				return
			}
			end := time.NewTimer(left)
			select {
			case <-done:
				end.Stop()
				return
			case <-end.C:
			}
		}
	}()
	return func() { close(done) }
}

// bound lets the pass or the tick last (2 + assets) x HTTP_TIMEOUT from its begin; assets is 0
// while they are not known.
func (r *round) bound(assets int) {
	r.deadline = r.began.Add(time.Duration(2+assets) * r.policy.HTTPTimeout)
}

// look lists everything: the transfers without asset, then those of each asset. If one call
// fails, there is no listing. first, if not nil, is asked between two calls whether a job goes
// first; if so, look ends with errJobFirst.
func (r *round) look(ctx context.Context, w refresh.Credentials, locked bool, first func() bool) (refresh.Listing, error) {
	var l refresh.Listing
	list := func(ctx context.Context, asset string) error {
		if asset != "" && first != nil && first() {
			return errJobFirst
		}
		transfers, err := call(ctx, r, locked,
			func(ctx context.Context) ([]refresh.Transfer, error) { return r.host.ListTransfers(ctx, w, asset) })
		for _, t := range transfers {
			t.Asset = cmp.Or(t.Asset, asset)
			l.Transfers = append(l.Transfers, t)
		}
		if err == nil && len(l.Transfers) > refresh.MaxTransfers {
			err = errTooMany
		}
		return err
	}
	if err := list(ctx, ""); err != nil {
		return refresh.Listing{}, err
	}
	if first != nil && first() {
		return refresh.Listing{}, errJobFirst
	}
	assets, err := call(ctx, r, locked, func(ctx context.Context) ([]string, error) { return r.host.ListAssets(ctx, w) })
	if err != nil {
		return refresh.Listing{}, err
	}
	if r.bound(len(assets)); len(assets) > 8 {
		r.log.Warn("long pass", "calls", 2+len(assets), "bound", r.deadline.Sub(r.began))
	}
	for _, asset := range assets {
		if err := list(ctx, asset); err != nil {
			return refresh.Listing{}, err
		}
	}
	l.Answered = r.now()
	return l, nil
}

// cancel calls failtransfers once for each index. It stops at the first call that can no longer
// be made, or when a job goes first, and returns the answers of the calls it made.
func (r *round) cancel(ctx context.Context, w refresh.Credentials, indexes []int32, first func() bool) (all []refresh.Cancelled) {
	for i, index := range indexes {
		if i > 0 && first != nil && first() {
			return all
		}
		calls := r.calls
		err := r.callFor(ctx, func(ctx context.Context) error { return r.host.FailTransfers(ctx, w, index) })
		if err != nil {
			r.log.Warn("transfer not cancelled", "index", index, "error", err)
		}
		if r.calls == calls {
			return all
		}
		all = append(all, refresh.Cancelled{Index: index, Outcome: outcome(err)})
	}
	return all
}
