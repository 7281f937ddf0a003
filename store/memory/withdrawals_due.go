package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Due implements [store.WithdrawalRecords]. There is one transaction at a time,
// so nothing is skipped.
func (w withdrawals) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := w.tx.writes(); err != nil {
		return nil, err // it locks
	}
	if q.Limit < 1 || dueKeys[q.Kind] == "" {
		return nil, fmt.Errorf("%w: %d of due work of kind %v", statemachine.ErrInvalid, q.Limit, q.Kind)
	}
	var found []withdrawal.Withdrawal
	w.chains(q, func(prefix string) {
		for _, request := range w.due(prefix, q) {
			found = append(found, w.aggregate(request))
		}
	})
	if q.Chain == uuid.Nil { // each chain's are in order
		slices.SortFunc(found, func(a, b withdrawal.Withdrawal) int { return compareDue(q.Kind, &a, &b) })
	}
	return found[:min(len(found), q.Limit)], nil
}

// compareDue is the order of a kind.
func compareDue(kind store.DueKind, a, b *withdrawal.Withdrawal) int {
	byID := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
	switch kind {
	case store.DueClaim:
		return withdrawal.CompareClaims(&a.Job, &b.Job)
	case store.DueRebroadcast:
		return withdrawal.CompareRebroadcasts(&a.Job, &b.Job)
	case store.DueCheck:
		return cmp.Or(a.Job.NextCheckAt.Compare(b.Job.NextCheckAt), byID(a.Job.ID, b.Job.ID))
	case store.DueRescue:
		return cmp.Or(a.Job.Lease.Until.Compare(b.Job.Lease.Until), byID(a.Job.ID, b.Job.ID))
	}
	return cmp.Or(a.Request.UpdatedAt.Compare(b.Request.UpdatedAt), byID(a.Request.ID, b.Request.ID))
}

// chains visits the key prefix of the one chain of q, or of every one.
func (w *withdrawalTables) chains(q store.DueWithdrawals, visit func(prefix string)) {
	if q.Chain != uuid.Nil {
		visit(dueKeys[q.Kind] + idKey(q.Chain))
		return
	}
	if q.Kind == store.DueEnqueue {
		w.requests.groups(dueKeys[q.Kind], 16, visit)
	} else {
		w.jobs.groups(dueKeys[q.Kind], 16, visit)
	}
}

// due returns the first requests of one chain, in the order of the kind.
func (w *withdrawalTables) due(prefix string, q store.DueWithdrawals) (requests []uuid.UUID) {
	switch q.Kind {
	case store.DueClaim:
		return w.dueClaims(prefix, q)
	case store.DueRebroadcast:
		w.jobs.scan(prefix, prefix, func(_ string, j *withdrawal.Job) bool {
			if !j.NextCheckAt.After(q.Now) && !j.Lease.Held(q.Now) {
				requests = append(requests, j.Request)
			}
			return len(requests) < q.Limit
		})
	case store.DueEnqueue:
		w.requests.scan(prefix, prefix, func(_ string, r *withdrawal.Request) bool {
			requests = append(requests, r.ID)
			return len(requests) < q.Limit
		})
	default:
		w.jobs.scan(prefix, prefix, func(key string, j *withdrawal.Job) bool {
			if timeBefore(key).After(q.Now) {
				return false
			}
			if q.Kind != store.DueCheck || !j.NextCheckAt.Add(grace(j, q)).After(q.Now) {
				requests = append(requests, j.Request)
			}
			return len(requests) < q.Limit
		})
	}
	return requests
}

// grace is for how long a due look-up is left to a re-broadcast.
func grace(j *withdrawal.Job, q store.DueWithdrawals) time.Duration {
	if j.Rebroadcast && !j.Review {
		return q.Grace
	}
	return 0
}

// dueClaims takes the first of each wallet and merges them.
func (w *withdrawalTables) dueClaims(chain string, q store.DueWithdrawals) []uuid.UUID {
	limit := q.Limit
	if q.Sequential {
		limit = 1
	}
	var jobs []*withdrawal.Job
	w.jobs.groups(chain, 16, func(wallet string) {
		if q.Sequential && w.jobs.holder(ruleSlot, uuidAt(wallet, len(chain))) != nil {
			return
		}
		n := 0
		w.jobs.groups(wallet, 1, func(priority string) {
			w.jobs.scan(priority, priority, func(key string, j *withdrawal.Job) bool {
				if n >= limit || timeBefore(key).After(q.Now) {
					return false
				}
				n++
				jobs = append(jobs, j)
				return true
			})
		})
	})
	slices.SortFunc(jobs, withdrawal.CompareClaims)
	requests := make([]uuid.UUID, min(len(jobs), q.Limit))
	for i := range requests {
		requests[i] = jobs[i].Request
	}
	return requests
}

// NextDue implements [store.WithdrawalRecords].
func (w withdrawals) NextDue(q store.DueWithdrawals) (next time.Time, err error) {
	// first reports whether a later key can still be earlier than next.
	first := func(at time.Time) bool {
		if at.After(q.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
		return next.IsZero() || at.Before(next)
	}
	later := timeKey(q.Now.Add(time.Microsecond))
	w.chains(q, func(prefix string) {
		switch q.Kind {
		case store.DueClaim:
			w.jobs.groups(prefix, 17, func(queue string) { // wallet and priority
				w.jobs.scan(queue, queue+later, func(key string, _ *withdrawal.Job) bool { first(timeBefore(key)); return false })
			})
		case store.DueRebroadcast:
			w.jobs.scan(prefix, prefix, func(_ string, j *withdrawal.Job) bool {
				at := j.NextCheckAt
				if j.Lease.Holder != "" && j.Lease.Until.After(at) {
					at = j.Lease.Until
				}
				first(at)
				return true
			})
		case store.DueCheck:
			w.jobs.scan(prefix, prefix+timeKey(q.Now.Add(time.Microsecond-q.Grace)), func(_ string, j *withdrawal.Job) bool {
				first(j.NextCheckAt.Add(grace(j, q)))
				return next.IsZero() || j.NextCheckAt.Before(next)
			})
		case store.DueRescue:
			w.jobs.scan(prefix, prefix+later, func(key string, _ *withdrawal.Job) bool { return first(timeBefore(key)) })
		}
	})
	return next, nil
}
