package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// lists: each filter, and each pair of them, lists what its function says of the
// stored records, both ways and page by page.
func lists[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	chains := []uuid.UUID{utxos, utxos2} // without slots
	wallets := []uuid.UUID{utxoHot, w.id()}
	w.putWallet(t, withdrawal.HotWallet{ID: wallets[1], Chain: utxos2})
	var all []uuid.UUID
	for i := range 3 {
		at := start.Add(time.Duration(i/2) * time.Second) // two of them at the same time
		for _, chain := range chains {
			for _, make := range []func(testing.TB, uuid.UUID, time.Time) withdrawal.Withdrawal{w.approved, w.pending, w.processing, w.confirming} {
				all = append(all, make(t, chain, at).Request.ID)
			}
		}
	}
	reviewed := w.declaredNotSent(t, chains[0])
	w.do(t, all[0], withdrawal.Held{By: operatorAt(start), Reason: "a person wants to look"})
	w.do(t, all[1], withdrawal.Held{By: operatorAt(start), Reason: "a person wants to look"})
	parked := w.processing(t, chains[1], start)
	parked = w.do(t, parked.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref"},
		withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"})
	all = append(all, reviewed.Request.ID, parked.Request.ID)

	kinds := append([]withdrawal.ListKind{0}, withdrawal.ListKind(0).Values()...)
	moments := []time.Time{start, start.Add(time.Hour)}
	stored := w.aggregates(t, all)
	for _, a := range stored {
		for _, at := range []time.Time{a.Job.Lease.Until, a.Job.NextCheckAt} {
			if !at.IsZero() {
				moments = append(moments, at.Add(-tick), at, at.Add(tick))
			}
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	moments = slices.CompactFunc(moments, time.Time.Equal)
	listed := map[withdrawal.ListKind]int{}
	for _, kind := range kinds {
		times := moments[:1]
		if kind == withdrawal.ListLeaseEnded || kind == withdrawal.ListCheckOverdue {
			times = moments
		}
		for _, n := range []int{0, 1, 2, 3, 4, 8, 14} {
			for _, now := range times {
				f := withdrawal.Filter{Kind: kind}
				if n&1 > 0 {
					f.User = aUser
				}
				if n&2 > 0 {
					f.Chain = chains[0]
				}
				if n&4 > 0 {
					f.Wallet = wallets[n&1]
				}
				if n&8 > 0 {
					f.Holder = worker1
				}
				listed[kind] += w.listed(t, stored, f, now)
			}
		}
		if listed[kind] == 0 {
			t.Errorf("nothing is ever listed by kind %v: the rule is not tested", kind)
		}
	}
	for name, q := range map[string]store.ListWithdrawals{
		"no limit":         {},
		"a limit below 0":  {Limit: -1},
		"a limit too high": {Limit: store.MaxPage + 1},
		"no such kind":     {Limit: 1, Filter: withdrawal.Filter{Kind: 99}},
		"a long holder":    {Limit: 1, Filter: withdrawal.Filter{Holder: strings.Repeat("x", withdrawal.MaxActor+1)}},
		"a NUL":            {Limit: 1, Filter: withdrawal.Filter{Holder: "a\x00"}},
	} {
		if _, err := w.service.List(ctx, q); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (w *withdrawals[T]) aggregates(t testing.TB, ids []uuid.UUID) (all []withdrawal.Withdrawal) {
	t.Helper()
	for _, id := range ids {
		all = append(all, w.get(t, id))
	}
	slices.SortFunc(all, func(a, b withdrawal.Withdrawal) int { return withdrawal.CompareListed(&a.Request, &b.Request) })
	return all
}

// listed compares a list with the function, and returns its length.
func (w *withdrawals[T]) listed(t testing.TB, stored []withdrawal.Withdrawal, f withdrawal.Filter, now time.Time) int {
	t.Helper()
	var want []uuid.UUID
	for i := range stored {
		if f.Has(&stored[i], now) {
			want = append(want, stored[i].Request.ID)
		}
	}
	for _, backwards := range []bool{false, true} {
		if backwards {
			slices.Reverse(want)
		}
		var got []uuid.UUID
		for q := (store.ListWithdrawals{Filter: f, Now: now, Backwards: backwards, Limit: 5}); ; {
			page, err := w.service.List(ctx, q)
			if err != nil {
				t.Fatalf("%+v: %v", f, err)
			}
			for i := range page {
				got = append(got, page[i].Request.ID)
				q.After = &page[i].Request
			}
			if len(page) < q.Limit {
				break
			}
		}
		equalIDs(t, fmt.Sprintf("%+v at %v, backwards %v", f, now.Sub(start), backwards), got, want)
	}
	return len(want)
}

// support: what a person asks who has a hash or a request.
func support[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	a := w.confirming(t, w.payingChain(t), start)
	b := w.confirming(t, w.payingChain(t), start)
	hash := a.Job.TxHash
	for _, spelled := range []string{hash, strings.ToUpper(hash)} {
		found, err := w.service.ByHash(ctx, spelled)
		if want := []uuid.UUID{a.Request.ID}; err != nil || statemachine.SameHash(spelled, hash) != slices.Equal(found, want) {
			t.Errorf("%s is of %v, %v, want %v", spelled, found, err, want)
		}
	}
	if found, err := w.service.ByHash(ctx, "nobody's"); err != nil || len(found) != 0 {
		t.Errorf("an unknown hash is of %v, %v", found, err)
	}
	late := paidBy(&b, "0xAbC1", start.Add(time.Hour))
	w.do(t, b.Request.ID, late)
	if found, err := w.service.ByHash(ctx, "ABC1"); err != nil || !slices.Equal(found, []uuid.UUID{b.Request.ID}) {
		t.Errorf("what paid a request is of %v, %v", found, err)
	}

	failed := w.pending(t, a.Request.Chain, start)
	first := failed.Job.ID
	failed = w.do(t, failed.Request.ID, withdrawal.Claimed{By: workerAt(start)},
		withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "no such address"},
		withdrawal.Requeued{By: operatorAt(start), Job: first, Reason: "again"}, w.enqueued(start, withdrawal.Normal))
	jobs, err := w.service.Jobs(ctx, failed.Request.ID)
	if err != nil || len(jobs) != 2 || jobs[0].ID != first || jobs[0].Status != withdrawal.JobFailed || jobs[1].ID != failed.Job.ID || jobs[1].Status != withdrawal.JobPending {
		t.Errorf("jobs are %+v, %v", jobs, err)
	}
	if jobs, err := w.service.Jobs(ctx, w.id()); err != nil || len(jobs) != 0 {
		t.Errorf("an unknown request has %v, %v", jobs, err)
	}
}

// payingChain is a chain of its own with a hot wallet.
func (w *withdrawals[T]) payingChain(t testing.TB) uuid.UUID {
	chain := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: chain})
	return chain
}
