package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// reads: what is asked of many records at once is what the functions of the domain
// say of all of them, one by one.
func (w *withdrawals) reads(t *testing.T) { w.readsBeside(t, nil) }

// readsBeside is reads in a store that has some batches too.
func (w *withdrawals) readsBeside(t *testing.T, batches []withdrawal.Payout) {
	ids := w.population(t, nil)
	for i := range batches {
		for k := range batches[i].Members {
			ids = append(ids, batches[i].Members[k].Request.ID)
		}
	}
	all := must(w.counted(ids, batches))(t)
	for name, read := range map[string]func(*testing.T, []withdrawal.Counted){"pages of requests": w.requestPages, "lists": w.lists,
		"statistics of a chain, and of all": func(t *testing.T, all []withdrawal.Counted) { w.statistics(t, all, batches) },
		"what counts for a window":          w.usage, "by a hash": w.byHash, "jobs of a request": w.jobs} {
		t.Run(name, func(t *testing.T) { read(t, all) })
	}
	for name, q := range map[string]store.ListWithdrawals{
		"no such kind":  {Limit: 1, Filter: withdrawal.Filter{Kind: 99}},
		"a long holder": {Limit: 1, Filter: withdrawal.Filter{Holder: strings.Repeat("x", withdrawal.MaxActor+1)}},
		"a NUL":         {Limit: 1, Filter: withdrawal.Filter{Holder: "a\x00"}},
	} {
		refusedWith(t, errOf(w.service.List(ctx, q)), statemachine.ErrInvalid, name)
	}
}

// counted reads what the domain's functions need of some requests, by created_at
// and id.
func (w *withdrawals) counted(ids []uuid.UUID, batches []withdrawal.Payout) (all []withdrawal.Counted, err error) {
	incidents, _, err := w.service.Incidents(ctx, 0, 1000)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		a, err1 := w.service.Get(ctx, id)
		jobs, err2 := w.service.Jobs(ctx, id)
		trail, err3 := w.service.Trail(ctx, id)
		settled, err4 := w.service.Acknowledgements(ctx, id)
		c := withdrawal.Counted{Request: a.Request, Latest: a.Job, Wallet: a.Wallet, Jobs: jobs, Settled: len(settled)}
		for _, j := range jobs {
			attempts, err := w.service.Attempts(ctx, j.ID)
			c.Attempts = append(c.Attempts, attempts)
			err1 = errors.Join(err1, err)
		}
		for i := range trail {
			if withdrawal.IsApproval(&trail[i]) {
				c.Approved = trail[i].At
			}
		}
		for _, i := range incidents {
			if i.Request == id {
				c.Incidents = append(c.Incidents, i)
			}
		}
		for _, p := range batches {
			if p.Batch.ID == a.Job.Batch {
				c.Batch = p.Batch
			}
		}
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b withdrawal.Counted) int { return withdrawal.CompareListed(&a.Request, &b.Request) })
	return all, nil
}

func (w *withdrawals) requestPages(t *testing.T, all []withdrawal.Counted) {
	for _, status := range append([]withdrawal.RequestStatus{0}, withdrawal.RequestStatus(0).Values()...) {
		var want []withdrawal.Request
		for i := range all {
			if r := all[i].Request; status == 0 || r.Status == status {
				want = append(want, r)
			}
		}
		inPages(t, "requests with status "+status.String(), want, func(after *withdrawal.Request, limit int) ([]withdrawal.Request, error) {
			return w.service.Requests(ctx, status, after, limit)
		})
	}
}

// lists: each filter, and some pairs of them, both ways and page by page.
func (w *withdrawals) lists(t *testing.T, all []withdrawal.Counted) {
	moved := moments(all, 4, func(c *withdrawal.Counted) []time.Time {
		return []time.Time{c.Latest.Lease.Until, c.Latest.NextCheckAt}
	})
	for _, kind := range append([]withdrawal.ListKind{0}, withdrawal.ListKind(0).Values()...) {
		times, listed := moved[:1], 0
		if kind == withdrawal.ListLeaseEnded || kind == withdrawal.ListCheckOverdue {
			times = moved
		}
		for _, n := range []int{0, 1, 2, 3, 4, 8, 14} {
			f := withdrawal.Filter{Kind: kind}
			if n&1 > 0 {
				f.User = aUser
			}
			if n&2 > 0 {
				f.Chain = utxos
			}
			if n&4 > 0 {
				f.Wallet = utxoHot
			}
			if n&8 > 0 {
				f.Holder = worker1
			}
			for _, now := range times {
				listed += w.listed(t, all, f, now)
			}
		}
		if listed == 0 {
			t.Errorf("nothing is ever listed by kind %v: the rule is not tested", kind)
		}
	}
}

// listed compares a list with the function, and returns its length.
func (w *withdrawals) listed(t testing.TB, all []withdrawal.Counted, f withdrawal.Filter, now time.Time) int {
	t.Helper()
	var want []uuid.UUID
	requests := map[uuid.UUID]*withdrawal.Request{}
	for i := range all {
		c := &all[i]
		requests[c.Request.ID] = &c.Request
		if f.Has(&withdrawal.Withdrawal{Request: c.Request, Job: c.Latest, Wallet: c.Wallet}, now) {
			want = append(want, c.Request.ID)
		}
	}
	for _, backwards := range []bool{false, true} {
		if backwards {
			slices.Reverse(want)
		}
		inPages(t, fmt.Sprintf("%+v at %v, backwards %v", f, now.Sub(start), backwards), want,
			func(after *uuid.UUID, limit int) (ids []uuid.UUID, err error) {
				q := store.ListWithdrawals{Filter: f, Now: now, Backwards: backwards, Limit: limit}
				if after != nil {
					q.After = requests[*after]
				}
				page, err := w.service.List(ctx, q)
				for i := range page {
					ids = append(ids, page[i].Request.ID)
				}
				return ids, err
			})
	}
	return len(want)
}

func (w *withdrawals) statistics(t *testing.T, all []withdrawal.Counted, batches []withdrawal.Payout) {
	times := []time.Time{start.In(elsewhere)}
	seen := map[string]bool{"Stats.Gaps": true, "Stats.UnknownOutbound": true, "Stats.WalletsOff": true} // which have rules of their own
	if len(batches) == 0 {
		seen["Stats.OldestBatch"], seen["Stats.BatchesOverdue"] = true, true
	}
	var ends [5][]time.Time // a window begins or ends at what it counts
	var due [4][]time.Time
	for i := range all {
		c := &all[i]
		ends[0] = append(ends[0], c.Approved)
		if c.Request.Status == withdrawal.RequestCompleted || c.Request.Status == withdrawal.RequestFailed {
			ends[1] = append(ends[1], c.Request.UpdatedAt)
		}
		for _, n := range c.Incidents {
			ends[2] = append(ends[2], n.At)
		}
		for k := range c.Jobs {
			ends[3] = append(ends[3], c.Jobs[k].ProcessedAt)
			for _, a := range c.Attempts[k] {
				ends[4] = append(ends[4], a.StartedAt)
			}
		}
		due[0], due[1], due[2] = append(due[0], c.Latest.DueAt()), append(due[1], c.Latest.Lease.Until), append(due[2], c.Latest.NextCheckAt)
	}
	for i := range batches {
		due[3] = append(due[3], batches[i].Batch.NextCheckAt)
	}
	itself := func(at *time.Time) []time.Time { return []time.Time{*at} }
	for _, of := range ends {
		times = append(times, moments(of, 4, itself, 0, tick, time.Hour, time.Hour+tick)...)
	}
	for _, of := range due {
		times = append(times, moments(of, 3, itself)...)
	}
	later := times[1:] // the first is in another zone
	slices.SortFunc(later, time.Time.Compare)
	times = append(times[:1], slices.CompactFunc(later, time.Time.Equal)...)
	chains := []uuid.UUID{{}, w.id()}
	for i := range all {
		if !slices.Contains(chains, all[i].Request.Chain) {
			chains = append(chains, all[i].Request.Chain)
		}
	}
	for _, chain := range chains {
		of := slices.DeleteFunc(slices.Clone(all), func(c withdrawal.Counted) bool { return chain != uuid.Nil && chain != c.Request.Chain })
		for _, now := range times {
			got := w.stats(t, now, time.Hour, chain)
			got.UnknownOutbound, got.WalletsOff = nil, nil
			want := withdrawal.StatsOf(of, now, time.Hour)
			for i := range batches {
				if chain == uuid.Nil || chain == batches[i].Batch.Chain {
					want.CountBatch(&batches[i].Batch)
				}
			}
			same(t, fmt.Sprintf("chain %v at start %v", chain, now.Sub(start)), got, want)
			leaves("Stats", reflect.ValueOf(got), func(path string, v reflect.Value) { seen[path] = seen[path] || !v.IsZero() })
		}
	}
	leaves("Stats", reflect.ValueOf(withdrawal.Stats{}), func(path string, _ reflect.Value) {
		if !seen[path] {
			t.Errorf("%s is never counted: the rule is not tested", path)
		}
	})
}

func (w *withdrawals) stats(t testing.TB, now time.Time, window time.Duration, chain uuid.UUID) (got withdrawal.Stats) {
	t.Helper()
	noError(t, w.View(ctx, func(tx store.WithdrawalUnit) (err error) {
		got, err = tx.Withdrawals().Stats(now, window, chain)
		return err
	}))
	return got
}

// usage compares the windows with their definition, at their boundaries.
func (w *withdrawals) usage(t *testing.T, all []withdrawal.Counted) {
	var requests []withdrawal.Request
	for i := range all {
		requests = append(requests, all[i].Request)
	}
	windows := []withdrawal.Window{{Length: time.Hour, Max: decimalOf("1")}, {Length: time.Minute}, {Length: 240 * time.Hour}, {Length: tick}}
	of := slices.DeleteFunc(slices.Clone(all), func(c withdrawal.Counted) bool { return c.Request.User != aUser })
	for _, now := range moments(of, 8, func(c *withdrawal.Counted) []time.Time { return []time.Time{c.Request.CreatedAt} }, 0, tick, time.Hour,
		time.Hour+tick, 240*time.Hour, 240*time.Hour+tick) {
		noError(t, w.Update(ctx, func(tx store.WithdrawalUnit) error {
			got, err := tx.Withdrawals().Usage(aUser, anAsset, windows, now)
			if err == nil {
				same(t, "usage at "+now.String(), got, withdrawal.UsageOf(requests, aUser, anAsset, windows, now, false))
			}
			return err
		}))
	}
}

// byHash: a hash in any spelling leads to the requests that have it on file, or
// heard of it.
func (w *withdrawals) byHash(t *testing.T, all []withdrawal.Counted) {
	of := map[string][]uuid.UUID{"nobody's": nil}
	for i := range all {
		a, forms := w.get(t, all[i].Request.ID), map[string]bool{}
		for _, tx := range a.Txs {
			forms[statemachine.HashForm(tx.Hash)] = true
		}
		for _, s := range a.Strays {
			forms[statemachine.HashForm(s.Hash)] = true
		}
		for form := range forms {
			of[form] = append(of[form], a.Request.ID)
		}
	}
	for hash, requests := range of {
		slices.SortFunc(requests, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		for _, spelled := range []string{hash, strings.ToUpper(hash), "0x" + hash} {
			found := must(w.service.ByHash(ctx, spelled))(t)
			equalIDs(t, spelled, found, of[statemachine.HashForm(spelled)])
		}
	}
}

// jobs: those of a request, in the order in which they were made.
func (w *withdrawals) jobs(t *testing.T, all []withdrawal.Counted) {
	made, again := map[uuid.UUID][]uuid.UUID{}, 0
	feed, _ := w.followAll(t, "", 1000)
	for _, line := range feed {
		if line.Machine == withdrawal.JobMachine.Name() && line.Version == 1 {
			request := must(w.service.RequestOf(ctx, line.ID))(t)
			made[request] = append(made[request], line.ID)
		}
	}
	for i := range all {
		var got []uuid.UUID
		for _, j := range all[i].Jobs {
			got = append(got, j.ID)
		}
		equalIDs(t, "jobs", got, made[all[i].Request.ID])
		if n := len(got); n > 0 {
			same(t, "the latest job", all[i].Jobs[n-1], all[i].Latest)
			again += n - 1
		}
	}
	if again == 0 {
		t.Error("no request has a second job: the rule is not tested")
	}
}

// payingChain is a chain of its own with a hot wallet.
func (w *withdrawals) payingChain(t testing.TB) uuid.UUID {
	chain := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: chain})
	return chain
}
