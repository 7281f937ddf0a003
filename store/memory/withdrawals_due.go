package memory

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Due implements [store.WithdrawalRecords]. There is one transaction at a time,
// so nothing is skipped.
func (w withdrawals) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := w.tx.writes(); err != nil {
		return nil, err // it locks
	}
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	if dueKeys[q.Kind] == "" {
		return nil, fmt.Errorf("%w: due work of kind %v", statemachine.ErrInvalid, q.Kind)
	}
	var found []withdrawal.Withdrawal
	w.chains(q, func(prefix string) { found = append(found, w.due(prefix, q)...) })
	slices.SortFunc(found, func(a, b withdrawal.Withdrawal) int { return withdrawal.CompareDue(q.Kind, &a, &b) })
	return found[:min(len(found), q.Limit)], nil
}

// chains visits the key prefix of the one chain of q, or of every one, but for those
// whose switch offers nothing of the kind.
func (w withdrawals) chains(q store.DueWithdrawals, visit func(prefix string)) {
	of := func(prefix string) {
		chain := uuidAt(prefix, len(dueKeys[q.Kind]))
		if withdrawal.DueIn(q.Kind, w.tx.store.switches.state(switches.Chain(chain)), w.outbound(chain)) {
			visit(prefix)
		}
	}
	switch {
	case q.Chain != uuid.Nil:
		of(dueKeys[q.Kind] + idKey(q.Chain))
	case ofRequests(q.Kind):
		w.requests.groups(dueKeys[q.Kind], 16, of)
	default:
		w.jobs.groups(dueKeys[q.Kind], 16, of)
	}
}

// ofRequests reports whether a kind is due of requests, and not of jobs.
func ofRequests(kind withdrawal.DueKind) bool {
	return kind == withdrawal.DueEnqueue || kind == withdrawal.DueRefund
}

// due returns the first of one chain, and perhaps others. The index only narrows
// where it looks: the domain says what is due.
func (w withdrawals) due(prefix string, q store.DueWithdrawals) (found []withdrawal.Withdrawal) {
	take := func(request uuid.UUID) bool {
		if a := w.aggregate(request); isDue(&a, &q) {
			found = append(found, a)
		}
		return len(found) < q.Limit
	}
	switch q.Kind {
	case withdrawal.DueClaim:
		return w.dueClaims(prefix, q)
	case withdrawal.DueEnqueue:
		w.requests.scan(prefix, prefix, func(_ string, r *withdrawal.Request) bool { return take(r.ID) })
	case withdrawal.DueRefund: // by time
		w.requests.scan(prefix, prefix+laterThan(q.Ahead, 0), func(_ string, r *withdrawal.Request) bool {
			return asked(r.OfferAt,
				q.Now, q.Ahead) && take(r.ID)
		})
	case withdrawal.DueRebroadcast:
		return w.dueRebroadcasts(prefix, q)
	default:
		w.jobs.scan(prefix, prefix+laterThan(q.Ahead, q.Grace), func(key string, j *withdrawal.Job) bool {
			return (!q.Ahead.IsZero() || !timeBefore(key).After(q.Now)) && take(j.Request)
		})
	}
	return found
}

// isDue reports whether q asks for what is due of a.
func isDue(a *withdrawal.Withdrawal, q *store.DueWithdrawals) bool {
	if q.Ahead.IsZero() {
		return withdrawal.IsDue(q.Kind, a, q.Grace, q.Now)
	}
	return withdrawal.IsAhead(q.Kind, a, q.Grace, q.Now, q.Ahead)
}

// asked reports whether something is due at now, or, where ahead is set, later than ahead.
func asked(at, now, ahead time.Time) bool {
	if ahead.IsZero() {
		return !at.After(now)
	}
	return at.After(ahead)
}

// laterThan is where the times begin in an index that are later than ahead less a grace; empty
// where ahead is zero.
func laterThan(ahead time.Time, grace time.Duration) string {
	if ahead.IsZero() {
		return ""
	}
	return timeKey(ahead.Add(time.Microsecond - grace))
}

// dueClaims takes the first of each wallet.
func (w withdrawals) dueClaims(chain string, q store.DueWithdrawals) (found []withdrawal.Withdrawal) {
	limit := q.Limit
	if q.Sequential {
		limit = 1
	}
	w.jobs.groups(chain, 16, func(wallet string) {
		if q.Wallet != uuid.Nil && q.Wallet != uuidAt(wallet, len(chain)) || q.Sequential &&
			w.jobs.holder(ruleSlot, uuidAt(wallet, len(chain))) != nil {
			return
		}
		n := 0
		w.jobs.groups(wallet, 1, func(priority string) {
			begin := priority
			if !q.Ahead.IsZero() {
				begin += laterThan(q.Now, 0) // a snooze of any length may have been given by a clock that was ahead
			}
			w.jobs.scan(priority, begin, func(key string, j *withdrawal.Job) bool {
				if n >= limit || q.Ahead.IsZero() && timeBefore(key).After(q.Now) {
					return false
				}
				if a := w.aggregate(j.Request); isDue(&a, &q) {
					n++
					found = append(found, a)
				}
				return true
			})
		})
	})
	return found
}

// dueRebroadcasts takes the lowest nonce of each wallet.
func (w withdrawals) dueRebroadcasts(prefix string, q store.DueWithdrawals) (found []withdrawal.Withdrawal) {
	var lowest *withdrawal.Job                                           // with a nonce
	w.jobs.scan(prefix, prefix, func(_ string, j *withdrawal.Job) bool { // by wallet and nonce
		if lowest != nil && withdrawal.LowerNonce(lowest, j) {
			return true
		}
		if a := w.aggregate(j.Request); isDue(&a, &q) {
			found = append(found, a)
			if j.HasNonce {
				lowest = j
			}
		}
		return true
	})
	return found
}

// NextDue implements [store.WithdrawalRecords].
func (w withdrawals) NextDue(q store.DueWithdrawals) (next time.Time, err error) {
	first := func(a withdrawal.Withdrawal) {
		if at, ok := withdrawal.DueAt(q.Kind, &a, q.Grace); ok && at.After(q.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	visit := func(key string, j *withdrawal.Job) bool { // by time
		first(w.aggregate(j.Request))
		return next.IsZero() || timeBefore(key).Before(next)
	}
	later := timeKey(q.Now.Add(time.Microsecond - q.Grace))
	w.chains(q, func(prefix string) {
		switch q.Kind {
		case withdrawal.DueClaim: // of each wallet and priority
			w.jobs.groups(prefix, 17, func(queue string) { w.jobs.scan(queue, queue+later, visit) })
		case withdrawal.DueRebroadcast:
			w.jobs.scan(prefix, prefix, func(_ string, j *withdrawal.Job) bool { first(w.aggregate(j.Request)); return true })
		case withdrawal.DueEnqueue:
			w.requests.scan(prefix, prefix, func(_ string, r *withdrawal.Request) bool { first(withdrawal.Withdrawal{Request: *r}); return true })
		case withdrawal.DueRefund:
			w.requests.scan(prefix, prefix+timeKey(q.Now.Add(time.Microsecond)), func(_ string, r *withdrawal.Request) bool {
				first(withdrawal.Withdrawal{Request: *r})
				return next.IsZero() // by time
			})
		case withdrawal.DueCheck, withdrawal.DueRescue:
			w.jobs.scan(prefix, prefix+later, visit)
		}
	})
	return next, nil
}
