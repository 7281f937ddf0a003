package storetest

import (
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

// refreshStatistics compares with the domain's count over everything.
func refreshStatistics[T store.RefreshUnit](t *testing.T, r *refreshes[T]) {
	s := versionedRefreshes(r)
	s.population(t)
	var all []refresh.Work
	err := r.View(ctx, func(tx T) error {
		xpubs, err := tx.Refreshes().Wallets("", 1000)
		if err != nil {
			return err
		}
		all, err = tx.Refreshes().Get(xpubs...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, now := range []time.Time{start, start.Add(time.Minute), start.Add(30 * 24 * time.Hour)} {
		var got refresh.Stats
		if err := r.View(ctx, func(tx T) (err error) { got, err = tx.Refreshes().Stats(now); return err }); err != nil {
			t.Fatal(err)
		}
		same(t, "statistics", got, refresh.StatsOf(all, now))
	}
}

// turns: four processes take turns at the same time over ten wallets and three
// numbers.
func turns[T store.RefreshUnit](t *testing.T, r *refreshes[T]) {
	r.config.MaxWalletProcesses = 3
	r.restart(t)
	for range 10 {
		xpub := r.xpub()
		if _, err := r.service.Enqueue(ctx, func() refresh.Enqueued { e := enqueuedJob(xpub, 0, refresh.Sync, "", ""); e.At = time.Time{}; return e }()); err != nil {
			t.Fatal(err)
		}
	}
	const processes = 4
	mine := make([][]store.HeldSlot, processes)
	served := map[string]bool{}
	for round := range 40 {
		claimed := make([][]store.HeldSlot, processes)
		for _, err := range atOnce(processes, func(i int) error {
			turned, err := r.service.Turn(ctx, fmt.Sprint("process-", i), mine[i], 2)
			if err != nil {
				return err
			}
			claimed[i] = turned.Claimed
			mine[i] = slices.DeleteFunc(mine[i], func(h store.HeldSlot) bool { return slices.Contains(turned.Gone, h.XpubVan) })
			mine[i] = append(mine[i], turned.Claimed...)
			return nil
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		total, holders := 0, map[string]int{}
		for i := range mine {
			total += len(mine[i])
			for _, h := range mine[i] {
				holders[h.XpubVan]++
				served[h.XpubVan] = true
			}
		}
		var slots []refresh.Slot
		if err := r.Update(ctx, func(tx T) (err error) { slots, err = tx.Refreshes().Slots(); return err }); err != nil {
			t.Fatal(err)
		}
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
func exits[T store.RefreshUnit](t *testing.T, r *refreshes[T]) {
	left, stayed := 0, 0
	for n := range 20 {
		xpub := r.xpub()
		first := enqueuedJob(xpub, 0, refresh.InvoiceCreated, "r", "")
		first.At = time.Time{}
		if _, err := r.service.Enqueue(ctx, first); err != nil {
			t.Fatal(err)
		}
		turned, err := r.service.Turn(ctx, "w1", nil, 1)
		if err != nil || len(turned.Claimed) != 1 {
			t.Fatalf("%+v, %v", turned, err)
		}
		mine := turned.Claimed[0]
		by := refresh.By{Actor: "w1", Role: refresh.Worker}
		if _, err := r.service.Step(ctx, xpub, refresh.JobClaimed{By: by, Slot: mine.Fence}); err != nil {
			t.Fatal(err)
		}
		_, _, now, err := r.service.Owed(ctx, xpub)
		if err != nil {
			t.Fatal(err)
		}
		look := refresh.Looked{By: by, Slot: mine.Fence, Began: now, Listing: listed(now, refresh.Transfer{Recipient: "r", Status: refresh.TransferSettled})}
		if _, err := r.service.Step(ctx, xpub, look); err != nil {
			t.Fatal(err)
		}
		step, w, _, err := r.service.Owed(ctx, xpub)
		if err != nil || !step.Idle {
			t.Fatalf("%+v, %v", step, err)
		}
		mine.End, mine.WorkSeq = refresh.EndIdle, w.Wallet.WorkSeq
		second := enqueuedJob(xpub, 1, refresh.Manual, "", "")
		second.At = time.Time{}
		var gone []string
		errs := atOnce(2, func(i int) error {
			if i == n%2 {
				_, err := r.service.Enqueue(ctx, second)
				return err
			}
			turned, err := r.service.Turn(ctx, "w1", []store.HeldSlot{mine}, 0)
			gone = turned.Gone
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		after, err := r.service.Get(ctx, xpub)
		if err != nil {
			t.Fatal(err)
		}
		switch exited := len(gone) == 1; {
		case exited != (after.Wallet.Status == refresh.Unserved):
			t.Fatalf("the turn says %v, the wallet is %v", gone, after.Wallet.Status)
		case exited:
			left++
			err := r.View(ctx, func(tx T) error {
				now, err := tx.Now()
				if err != nil {
					return err
				}
				waiting, err := tx.Refreshes().Waiting(now.Add(time.Minute), 100)
				if err == nil && !slices.ContainsFunc(waiting, func(c refresh.Candidate) bool { return c.XpubVan == xpub }) {
					t.Fatal("the job is lost: its wallet neither is served nor waits")
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
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
func everyRefreshField[T store.RefreshUnit](t *testing.T, r *refreshes[T]) {
	r.config.Coalesce = false
	r.restart(t)
	l := newLife(t, versionedRefreshes(r))
	l.follow = func(refresh.Work, *refresh.Change) {}
	l.compareMore = func(T, string) error { return nil }
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
	claim := func(n int) refresh.Held {
		fence++
		l.do(refresh.JobClaimed{By: by(refresh.Worker), Slot: l.a.Wallet.Lease.Fence, Lock: fence})
		held := refresh.Held{Slot: l.a.Wallet.Lease.Fence, Job: jobOf(xpub, n), Lock: fence}
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
	l.do(refresh.JobNotDone{By: by(refresh.Worker), Held: held, Outcome: statemachine.Unknown, Error: "no answer"})
	old := refresh.Transfer{Recipient: "r", Expiration: 1, HasIndex: true}
	job(2, refresh.Sync, "", "")
	held = claim(2)
	l.do(refresh.JobDone{By: by(refresh.Worker), Held: held, Listing: listed(l.now, old)})
	look := func(transfers ...refresh.Transfer) {
		fence++
		l.do(refresh.Looked{By: by(refresh.Worker), Slot: l.a.Wallet.Lease.Fence, Lock: fence, Began: l.now, Listing: listed(l.now, transfers...)})
	}
	tick := func(outcome statemachine.Outcome, transfers ...refresh.Transfer) {
		look(transfers...)
		l.do(refresh.Ticked{By: by(refresh.Worker), Held: refresh.Held{Slot: l.a.Wallet.Lease.Fence, Lock: fence}, Began: l.now, Listing: listed(l.now, transfers...),
			Recipients: []string{"p", "r"}, Cancelled: []refresh.Cancelled{{Index: 0, Outcome: statemachine.Unknown}}, Refreshed: outcome, Error: "busy"})
	}
	found := refresh.Transfer{Recipient: "p", Asset: "asset", Status: refresh.WaitingConfirmations}
	tick(statemachine.Done, old, found)
	l.do(refresh.RoundEnded{By: by(refresh.Worker), Slot: l.a.Wallet.Lease.Fence, End: refresh.EndHung})
	l.now = l.now.Add(25 * time.Hour)
	l.do(refresh.SlotClaimed{By: refresh.By{Actor: "w2", Role: refresh.Orchestrator, At: l.tick()}, Slot: r.slot()})
	l.do(refresh.RoundEnded{By: refresh.By{Actor: "w2", Role: refresh.Worker, At: l.tick()}, Slot: l.a.Wallet.Lease.Fence, End: refresh.EndYield})
	l.do(refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: r.slot()})
	tick(statemachine.Failed, old, found) // past the expiry: one more interval
	l.now = l.now.Add(r.config.RefreshInterval)
	l.do(refresh.SlotElapsed{By: by(refresh.Orchestrator)})
	l.do(refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: r.slot()})
	tick(statemachine.Done, old, found)
	fixed := strings.Fields("Wallet.XpubVan Wallet.CreatedAt Job.ID Job.Credentials.XpubVan Job.Credentials.XpubCol Job.Credentials.MasterFingerprint Job.Cause Job.Recipient " +
		"Job.Asset Job.CreatedAt Watcher.Credentials.XpubVan Watcher.Credentials.XpubCol Watcher.Credentials.MasterFingerprint Watcher.Recipient Watcher.CreatedAt")
	for path := range l.set { // whichever of several
		kind, rest, _ := strings.Cut(path, ".")
		name := strings.Fields(kind)[0] + "." + rest
		if _, known := l.set[name]; !known || !l.set[name] {
			l.set[name] = l.set[path]
		}
		l.moved[name] = l.moved[name] || l.moved[path]
	}
	l.end(fixed, map[string]any{"Wallet": refresh.Wallet{}, "Job": refresh.Job{}, "Watcher": refresh.Watcher{}}, map[string]any{"Lock": refresh.Lock{}})
}

func refreshPages[T store.RefreshUnit](t *testing.T, r *refreshes[T]) {
	s := versionedRefreshes(r)
	s.population(t)
	err := r.View(ctx, func(tx T) error {
		x := tx.Refreshes()
		whole, err := x.Jobs(0, nil, 1000)
		if err != nil {
			return err
		}
		var paged []refresh.Job
		for after := (*refresh.Job)(nil); ; after = &paged[len(paged)-1] {
			page, err := x.Jobs(0, after, 7)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
		}
		same(t, "jobs in pages", paged, whole)
		if !slices.IsSortedFunc(whole, func(a, b refresh.Job) int { return refresh.CompareJobs(&a, &b) }) || len(whole) < 20 {
			t.Errorf("%d jobs out of order", len(whole))
		}
		for _, status := range refresh.JobStatus(0).Values() {
			got, err := x.Jobs(status, nil, 1000)
			if err != nil {
				return err
			}
			same(t, "jobs of a status", got, slices.DeleteFunc(slices.Clone(whole), func(j refresh.Job) bool { return j.Status != status }))
		}
		wallets, err := x.Wallets("", 1000)
		if err != nil {
			return err
		}
		var some []string
		for after := ""; ; after = some[len(some)-1] {
			page, err := x.Wallets(after, 5)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			some = append(some, page...)
		}
		same(t, "wallets in pages", some, wallets)
		watching, err := x.Watchers(0, nil, 1000)
		if err != nil {
			return err
		}
		rest, err := x.Watchers(0, &watching[0], 1000)
		if err != nil {
			return err
		}
		same(t, "watchers behind the first", rest, watching[1:])
		for _, limit := range []int{0, -1, store.MaxPage + 1} {
			_, err1 := x.Jobs(0, nil, limit)
			_, err2 := x.Watchers(0, nil, limit)
			_, err3 := x.Wallets("", limit)
			_, err4 := x.Waiting(start, limit)
			_, err5 := x.Recoverable(start, "", limit)
			for i, err := range []error{err1, err2, err3, err4, err5} {
				refusedWith(t, err, statemachine.ErrInvalid, fmt.Sprint("limit ", limit, " of method ", i))
			}
		}
		_, err = x.Find(uuid.New())
		refusedWith(t, err, statemachine.ErrNotFound, "an unknown record")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.service.Recover(ctx, refreshBy(refresh.Orchestrator), "", 0)
	refusedWith(t, err, statemachine.ErrInvalid, "a recovery of no wallets")
	_, err = r.service.Audit(ctx, "", 0)
	refusedWith(t, err, statemachine.ErrInvalid, "an audit of no wallets")
	_, err = r.service.Sweep(ctx, -1)
	refusedWith(t, err, statemachine.ErrInvalid, "a sweep of no locks")
	if next, err := r.service.Audit(ctx, "", 10_000); err != nil || next != "" {
		t.Errorf("audit: %q, %v", next, err)
	}
}
