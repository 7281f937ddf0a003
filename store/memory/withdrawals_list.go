package memory

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// List implements [store.WithdrawalRecords]. It reads everything.
func (w withdrawals) List(q store.ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	var found []*withdrawal.Request
	for _, r := range w.requests.at {
		a := w.aggregate(r.ID)
		behind := true
		if q.After != nil {
			side := withdrawal.CompareListed(r, q.After)
			behind = side > 0 && !q.Backwards || side < 0 && q.Backwards
		}
		if behind && q.Has(&a, q.Now) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, withdrawal.CompareListed)
	if q.Backwards {
		slices.Reverse(found)
	}
	var page []withdrawal.Withdrawal
	for _, r := range found[:min(q.Limit, len(found))] {
		page = append(page, w.aggregate(r.ID))
	}
	return page, nil
}

// Jobs implements [store.WithdrawalRecords].
func (w withdrawals) Jobs(request uuid.UUID) (jobs []withdrawal.Job, err error) {
	for _, id := range w.jobsOf[request] {
		jobs = append(jobs, *w.jobs.at[id])
	}
	return jobs, nil
}

// ByHash implements [store.WithdrawalRecords].
func (w withdrawals) ByHash(hash string) (requests []uuid.UUID, err error) {
	for id := range w.requests.at {
		a := w.aggregate(id)
		if slices.ContainsFunc(a.Txs, func(t withdrawal.Tx) bool { return statemachine.SameHash(t.Hash, hash) }) ||
			slices.ContainsFunc(a.Strays, func(t withdrawal.Stray) bool { return statemachine.SameHash(t.Hash, hash) }) {
			requests = append(requests, id)
		}
	}
	slices.SortFunc(requests, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return requests[:min(len(requests), store.MaxPage)], nil
}
