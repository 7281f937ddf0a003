package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// turns: four processes take turns at the same time over ten wallets and three
// numbers.
func (r *refreshes) turns(t *testing.T) {
	r.config.MaxWalletProcesses = 3
	r.patient(t)
	for range 10 {
		must(r.service.Enqueue(ctx, enqueuedNow(r.xpub(), 0, refresh.Sync, "")))(t)
	}
	const processes = 4
	mine := make([][]store.HeldSlot, processes)
	served := map[string]bool{}
	for round := range 40 {
		claimed := make([][]store.HeldSlot, processes)
		noError(t, errors.Join(atOnce(processes, func(i int) error {
			turned, err := r.service.Turn(ctx, fmt.Sprint("process-", i), mine[i], 2)
			if err != nil {
				return err
			}
			claimed[i] = turned.Claimed
			mine[i] = slices.DeleteFunc(mine[i], func(h store.HeldSlot) bool { return slices.Contains(turned.Gone, h.XpubVan) })
			mine[i] = append(mine[i], turned.Claimed...)
			return nil
		})...))
		total, holders := 0, map[string]int{}
		for i := range mine {
			total += len(mine[i])
			for _, h := range mine[i] {
				holders[h.XpubVan]++
				served[h.XpubVan] = true
			}
		}
		var slots []refresh.Slot
		noError(t, r.Update(ctx, func(tx store.RefreshUnit) (err error) { slots, err = tx.Refreshes().Slots(); return err }))
		numbers := map[int32]bool{}
		for _, s := range slots {
			if numbers[s.Number] || s.Number < 1 || s.Number > 3 {
				t.Fatalf("round %d: numbers %+v", round, slots)
			}
			numbers[s.Number] = true
		}
		if total > 3 || len(holders) != total || len(slots) != total {
			t.Fatalf("round %d: %d wallets are served, %d slots", round, total, len(slots))
		}
	}
	if len(served) != 10 {
		t.Errorf("%d wallets of 10 were ever served", len(served))
	}
	for i := range mine { // and all give back
		for k := range mine[i] {
			mine[i][k].End = refresh.EndStop
		}
		if turned, err := r.service.Turn(ctx, fmt.Sprint("process-", i), mine[i], 0); err != nil || len(turned.Gone) != len(mine[i]) {
			t.Errorf("%+v, %v", turned, err)
		}
	}
}

// exits: a job comes while the worker of an idle wallet leaves.
func (r *refreshes) exits(t *testing.T) {
	r.patient(t)
	left, stayed := 0, 0
	for n := range 20 {
		xpub := r.xpub()
		must(r.service.Enqueue(ctx, enqueuedNow(xpub, 0, refresh.InvoiceCreated, "r")))(t)
		turned, err := r.service.Turn(ctx, "w1", nil, 1)
		if err != nil || len(turned.Claimed) != 1 {
			t.Fatalf("%+v, %v", turned, err)
		}
		mine := turned.Claimed[0]
		by := refresh.By{Actor: "w1", Role: refresh.Worker}
		must(r.service.Step(ctx, xpub, refresh.JobClaimed{By: by, Slot: mine.Fence}))(t)
		_, _, now, err := r.service.Owed(ctx, xpub)
		noError(t, err)
		look := refresh.Looked{By: by, Slot: mine.Fence, Began: now, Listing: listed(now, refresh.Transfer{Recipient: "r",
			Status: refresh.TransferSettled})}
		must(r.service.Step(ctx, xpub, look))(t)
		step, w, _, err := r.service.Owed(ctx, xpub)
		if err != nil || !step.Idle {
			t.Fatalf("%+v, %v", step, err)
		}
		mine.End, mine.WorkSeq = refresh.EndIdle, w.Wallet.WorkSeq
		var gone []string
		errs := atOnce(2, func(i int) error {
			if i == n%2 {
				_, err := r.service.Enqueue(ctx, enqueuedNow(xpub, 1, refresh.Manual, ""))
				return err
			}
			turned, err := r.service.Turn(ctx, "w1", []store.HeldSlot{mine}, 0)
			gone = turned.Gone
			return err
		})
		noError(t, errors.Join(errs...))
		after := r.get(t, xpub)
		switch exited := len(gone) == 1; {
		case exited != (after.Wallet.Status == refresh.Unserved):
			t.Fatalf("the turn says %v, the wallet is %v", gone, after.Wallet.Status)
		case exited:
			left++
			noError(t, r.View(ctx, func(tx store.RefreshUnit) error {
				now := must(tx.Now())(t)
				waiting, err := readable(tx.Refreshes().Waiting(now.Add(time.Minute), 100))
				if err == nil && !slices.ContainsFunc(waiting, func(c refresh.Candidate) bool { return c.XpubVan == xpub }) {
					t.Fatal("the job is lost: its wallet neither is served nor waits")
				}
				return err
			}))
			// out of the way of the next one
			turned, err := r.service.Turn(ctx, "other", nil, 1)
			if err != nil || len(turned.Claimed) != 1 {
				t.Fatalf("%+v, %v", turned, err)
			}
		default:
			stayed++
		}
	}
	t.Logf("%d left before the job came, %d stayed", left, stayed)
}

// everyRefreshField takes a wallet through all that moves its fields.
func (r *refreshes) everyRefreshField(t *testing.T) {
	r.config.Coalesce = false
	r.restart(t, r.Store)
	l := newLife(t, r.refreshSubject)
	l.records = func(w *refresh.Work) map[string]any {
		all := map[string]any{"Wallet": w.Wallet, "Lock": w.Lock}
		for i := range w.Jobs {
			all["Job "+w.Jobs[i].ID.String()] = w.Jobs[i]
		}
		for i := range w.Watchers {
			all["Watcher "+w.Watchers[i].Recipient] = w.Watchers[i]
		}
		return all
	}
	xpub := r.xpub()
	by := func(role refresh.Role) refresh.By { return refresh.By{Actor: "w1", Role: role, At: l.tick()} }
	job := func(n int, cause refresh.Cause, recipient, asset string) {
		e := enqueuedJob(xpub, n, cause, recipient, asset)
		e.By = by(refresh.API)
		l.do(e)
	}
	fence := int64(0)
	claim := func(n int) refresh.Fences {
		fence++
		l.do(refresh.JobClaimed{By: by(refresh.Worker), Slot: l.a.Wallet.Lease.Fence, Lock: fence})
		held := refresh.Fences{Slot: l.a.Wallet.Lease.Fence, Job: jobOf(xpub, n), Lock: fence}
		for _, j := range l.a.Jobs {
			if j.ID == held.Job {
				held.Fence = j.Lease.Fence
			}
		}
		return held
	}
	job(0, refresh.InvoiceCreated, "p", "")
	l.do(refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: r.slot()})
	claim(0)
	job(1, refresh.AssetSent, "x", "asset")
	held := claim(1)
	l.do(refresh.JobNotDone{By: by(refresh.Worker), Fences: held, Outcome: statemachine.Unknown, Error: "no answer"})
	old := refresh.Transfer{Recipient: "r", Expiration: 1, HasIndex: true}
	job(2, refresh.Sync, "", "")
	held = claim(2)
	l.do(refresh.JobDone{By: by(refresh.Worker), Fences: held, Listing: listed(l.now, old)})
	look := func(transfers ...refresh.Transfer) {
		fence++
		l.do(refresh.Looked{By: by(refresh.Worker), Slot: l.a.Wallet.Lease.Fence, Lock: fence, Began: l.now,
			Listing: listed(l.now, transfers...)})
	}
	tick := func(outcome statemachine.Outcome, transfers ...refresh.Transfer) {
		look(transfers...)
		l.do(refresh.Ticked{By: by(refresh.Worker), Fences: refresh.Fences{Slot: l.a.Wallet.Lease.Fence, Lock: fence}, Began: l.now,
			Listing:    listed(l.now, transfers...),
			Recipients: []string{"p", "r"}, Cancelled: []refresh.Cancelled{{Index: 0, Outcome: statemachine.Failed}},
			Refreshed: outcome, Error: "busy"})
	}
	found := refresh.Transfer{Recipient: "p", Asset: "asset", Status: refresh.WaitingConfirmations}
	tick(statemachine.Done, old, found)
	l.do(refresh.RoundEnded{By: by(refresh.Worker), Slot: l.a.Wallet.Lease.Fence, End: refresh.EndHung})
	l.now = l.now.Add(25 * time.Hour)
	l.do(refresh.SlotClaimed{By: refresh.By{Actor: "w2", Role: refresh.Orchestrator, At: l.tick()}, Slot: r.slot()})
	l.do(refresh.RoundEnded{By: refresh.By{Actor: "w2", Role: refresh.Worker, At: l.tick()},
		Slot: l.a.Wallet.Lease.Fence, End: refresh.EndYield})
	l.do(refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: r.slot()})
	tick(statemachine.Failed, old, found) // past the expiry: one more interval
	l.now = l.now.Add(r.config.RefreshInterval)
	l.do(refresh.SlotElapsed{By: by(refresh.Orchestrator)})
	l.do(refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: r.slot()})
	tick(statemachine.Done, old, found)
	fixed := strings.Fields("Wallet.XpubVan Wallet.CreatedAt Job.ID Job.Credentials.XpubVan Job.Credentials.XpubCol " +
		"Job.Credentials.MasterFingerprint Job.Cause Job.Recipient " +
		"Job.Asset Job.Seq Job.CreatedAt Watcher.Credentials.XpubVan Watcher.Credentials.XpubCol Watcher.Credentials.MasterFingerprint " +
		"Watcher.Recipient Watcher.CreatedAt")
	for path := range l.set { // whichever of several
		kind, rest, _ := strings.Cut(path, ".")
		name := strings.Fields(kind)[0] + "." + rest
		if _, known := l.set[name]; !known || !l.set[name] {
			l.set[name] = l.set[path]
		}
		l.moved[name] = l.moved[name] || l.moved[path]
	}
	l.end(fixed, map[string]any{"Wallet": refresh.Wallet{}, "Job": refresh.Job{}, "Watcher": refresh.Watcher{}},
		map[string]any{"Lock": refresh.Lock{}})
}

// refreshPages compares every list with the domain's rule on the whole records, just
// before, at and after the moments at which it changes.
func (r *refreshes) refreshPages(t *testing.T) {
	r.population(t, nil)
	r.do(t, r.make(t, &r.stages[2]).Wallet.XpubVan, refresh.Looked{By: refreshBy(refresh.Worker), Slot: 1, Began: start,
		Listing: listed(start, refresh.Transfer{Recipient: "r", Status: refresh.TransferSettled})})
	noError(t, r.View(ctx, func(tx store.RefreshUnit) error {
		x := tx.Refreshes()
		xpubs := must(x.Wallets("", 1000))(t)
		all := must(x.Get(xpubs...))(t)
		jobs, watchers := map[refresh.JobStatus][]refresh.Job{}, map[refresh.EndReason][]refresh.Watcher{}
		moments := []time.Time{start}
		for i := range all {
			w := &all[i]
			if c, _ := w.Wallet.Candidate(w.Jobs, w.Watchers, start); !c.Since.IsZero() {
				moments = append(moments, c.Since)
			}
			for _, j := range w.Jobs {
				jobs[0], jobs[j.Status] = append(jobs[0], j), append(jobs[j.Status], j)
			}
			for _, x := range w.Watchers {
				if x.EndReason != refresh.EndOpen || w.Refreshed() <= x.EndSeq {
					watchers[x.EndReason] = append(watchers[x.EndReason], x)
				}
				moments = append(moments, x.ExpiresAt)
			}
		}
		for status, want := range jobs {
			slices.SortFunc(want, func(a, b refresh.Job) int { return refresh.CompareJobs(&a, &b) })
			inPages(t, fmt.Sprintf("Jobs(%v)", status), want, func(after *refresh.Job, limit int) ([]refresh.Job,
				error) {
				return x.Jobs(status, after, limit)
			})
		}
		for reason, want := range watchers {
			slices.SortFunc(want, func(a, b refresh.Watcher) int {
				return cmp.Or(strings.Compare(a.XpubVan, b.XpubVan), strings.Compare(a.Recipient, b.Recipient))
			})
			inPages(t, fmt.Sprintf("Watchers(%v)", reason), want, func(after *refresh.Watcher, limit int) ([]refresh.Watcher, error) {
				return x.Watchers(reason, after, limit)
			})
		}
		slices.SortFunc(moments, time.Time.Compare)
		moments = slices.CompactFunc(moments, time.Time.Equal)
		waited := 0
		for i := 0; i < len(moments); i += max(1, len(moments)/10) {
			for _, now := range []time.Time{moments[i].Add(-tick), moments[i], moments[i].Add(tick)} {
				var waiting []refresh.Candidate
				for k := range all {
					w := &all[k]
					if c, needs := w.Wallet.Candidate(w.Jobs, w.Watchers, now); needs {
						waiting = append(waiting, c)
					}
				}
				slices.SortFunc(waiting, refresh.CompareCandidates)
				same(t, "Waiting at "+now.Format(time.RFC3339Nano), must(readable(x.Waiting(now, 1000)))(t), waiting)
				waited += len(waiting)
			}
		}
		if len(jobs) < 4 || len(watchers) < 2 || waited == 0 {
			t.Errorf("%d lists of jobs, %d of watchers, %d waiting: a rule is not tested", len(jobs), len(watchers), waited)
		}
		refusedWith(t, errOf(x.Find(uuid.New())), statemachine.ErrNotFound, "an unknown record")
		return nil
	}))
	if next, err := r.service.Audit(ctx, "", 10_000); err != nil || next != "" {
		t.Errorf("audit: %q, %v", next, err)
	}
}
