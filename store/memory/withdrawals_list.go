package memory

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// List implements [store.WithdrawalRecords]. It reads everything.
func (w withdrawals) List(q store.ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	order := withdrawal.CompareListed
	if q.Backwards {
		order = func(a, b *withdrawal.Request) int { return withdrawal.CompareListed(b, a) }
	}
	var page []withdrawal.Withdrawal
	for _, r := range w.requests.at {
		if a := w.aggregate(r.ID); (q.After == nil || order(r, q.After) > 0) && q.Has(&a, q.Now) {
			page = append(page, a)
		}
	}
	return firstOf(page, q.Limit, func(a, b withdrawal.Withdrawal) int { return order(&a.Request, &b.Request) })
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
	return firstOf(requests, store.MaxPage, compareIDs)
}

// Incidents implements [store.WithdrawalRecords].
func (w withdrawals) Incidents(open bool, after int64, limit int) (page []withdrawal.Incident, cursor int64, err error) {
	if err := store.CheckPage(after, limit); err != nil {
		return nil, after, err
	}
	cursor = after
	for at := after; at < int64(len(w.incidents)) && len(page) < limit; at++ {
		if i := w.incidents[at]; !open || !w.acked[incidentOf(&i)] {
			page, cursor = append(page, i), at+1
		}
	}
	return page, cursor, nil
}

// Acknowledge implements [store.WithdrawalRecords].
func (w withdrawals) Acknowledge(a withdrawal.Acknowledgement) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	key := incidentKey{a.Request, a.Hash, a.BlockHash, a.Claim}
	switch {
	case !w.known[key]:
		return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "withdrawal incident", ID: a.Request.String(), Event: "acknowledge"}
	case w.acked[key]:
		return nil
	}
	set(w.tx, w.acked, key, true)
	assign(w.tx, &w.withdrawalTables.acks, append(w.acks, a))
	return nil
}

// Acknowledgements implements [store.WithdrawalRecords].
func (w withdrawals) Acknowledgements(request uuid.UUID) (of []withdrawal.Acknowledgement, err error) {
	for _, a := range w.acks {
		if a.Request == request {
			of = append(of, a)
		}
	}
	slices.SortFunc(of, func(a, b withdrawal.Acknowledgement) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Claim.String(), b.Claim.String()),
			cmp.Compare(a.BlockHash, b.BlockHash))
	})
	return of, nil
}
