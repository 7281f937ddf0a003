package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Refreshes proves the refreshes of a store.
func Refreshes[T store.RefreshUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *refreshes { return newRefreshes(t, timedRefreshes(open(t))) }
	versioned(t, func(t *testing.T) *refreshSubject { return opened(t).refreshSubject }, func(t *testing.T) *refreshSubject {
		return newRefreshes(t, timedRefreshes(memory.New(memory.Options{}))).refreshSubject
	})
	type of = *refreshes
	prove(t, opened, []rule[of]{
		{"a slot belongs to one wallet, the loser learns which, and it is handed over within one save", of.refreshSlots},
		{"a wallet has one live recovery job, and the loser gets its id", of.oneRecovery},
		{"a lock goes to one, is deleted at its release or when it is swept, and its fence never repeats", of.walletLocks},
		{"what a round holds is renewed together", of.renewedTogether},
		{"a lock that has ended is not renewed", of.lateRenewal},
		{"under a lock that was lost nothing of a job is stored", of.lostLock},
		{"an expiry and its sync job are stored once, together", of.oneExpiry},
		{"what is loaded is what the domain says", of.loadedSets},
		{"orchestrators never serve more than the maximum, and everybody in turn", of.turns},
		{"no job is lost between the last look and the exit", of.exits},
		{"every field of a refresh comes back", of.everyRefreshField},
		{"jobs and watchers are listed, and wallets wait, in the domain's order", of.refreshPages},
		{"a page is grouped by what each waits for, with what the switch says", of.causes},
		{"an unknown wallet is lost, and nobody is busy with it", of.unknownWallets},
		{"an event from after the store's time is refused and takes nothing", of.futureEvents},
		{"what a clock that was ahead left is found and brought back", of.clockAhead},
		{"after a restore nobody is served while a call that was forgotten may run, and each wallet that is named has one recovery job",
			of.restored},
	})
}

// renewed renews what a round holds of a wallet and returns whether it is lost.
func (r *refreshes) renewed(t *testing.T, now, until time.Time, l store.RefreshLease) bool {
	t.Helper()
	var lost []string
	noError(t, r.Update(ctx, func(tx store.RefreshUnit) (err error) {
		lost, err = tx.Refreshes().Renew(now, until, l)
		return err
	}))
	return len(lost) > 0
}

// keep makes the slot of a stage's wallet last.
func (r *refreshes) keep(t *testing.T, xpub string, until time.Time) {
	t.Helper()
	r.renewed(t, start, until, store.RefreshLease{XpubVan: xpub, Fences: refresh.Fences{Slot: 1}})
}

func (r *refreshes) restored(t *testing.T) {
	dated(r.Store, start)
	_, err := must(store.NewSwitches(r.Store))(t).Do(ctx, switches.Everything, recoveringEvent(switches.Everything, switches.Send, 1))
	noError(t, err)
	known := r.make(t, &r.stages[0]).Wallet
	cred := refresh.Credentials{XpubVan: r.xpub(), XpubCol: "c", MasterFingerprint: "f"} // in no table
	recovery := refresh.Enqueued{By: refresh.By{Actor: "olga", Role: refresh.Operator}, Credentials: cred, Cause: refresh.Recovery}
	first, err1 := r.service.Enqueue(ctx, recovery)
	again, err2 := r.service.Enqueue(ctx, recovery)
	if err := errors.Join(err1, err2); err != nil || first != again {
		t.Errorf("the recovery jobs are %v and %v, %v", first, again, err)
	}
	served := func(after time.Duration) (n int) {
		t.Helper()
		dated(r.Store, start.Add(after))
		turned, err := r.service.Turn(ctx, "w1", nil, 10)
		noError(t, err)
		_, err = r.service.Step(ctx, known.XpubVan, refresh.Locked{By: refresh.By{Actor: "api", Role: refresh.API}})
		if len(turned.Claimed) == 0 {
			refusedWith(t, err, switches.ErrOnHold, "a lock")
		} else {
			noError(t, err)
		}
		return len(turned.Claimed)
	}
	free := r.config.LockTTL + r.config.HTTPTimeout
	if n := served(0) + served(free-time.Microsecond); n != 0 {
		t.Errorf("%d wallets are served too early", n)
	}
	if n := served(free); n == 0 {
		t.Error("nobody is served")
	}
}

func (r *refreshes) refreshSlots(t *testing.T) {
	claim := func(actor string, slot int32) refresh.SlotClaimed {
		return refresh.SlotClaimed{By: refresh.By{Actor: actor, Role: refresh.Orchestrator, At: start}, Slot: slot}
	}
	n := r.slot()
	var all []refresh.Work
	for range concurrentAttempts {
		all = append(all, r.make(t, &r.stages[0]))
	}
	winner := oneOf(t, atOnce(len(all), func(i int) error {
		_, err := r.service.Step(ctx, all[i].Wallet.XpubVan, claim("w1", n))
		return err
	}), refresh.ErrSlotTaken)
	other := all[(winner+1)%len(all)]
	_, err := r.service.Step(ctx, other.Wallet.XpubVan, claim("w1", n))
	var taken *refresh.TakenError
	if !errors.As(err, &taken) || taken.By != all[winner].Wallet.ID().String() {
		t.Errorf("the loser got %v, the slot is of %v", err, all[winner].Wallet.ID())
	}
	holder := r.get(t, all[winner].Wallet.XpubVan)
	taking, err1 := r.config.Apply(other, claim("w2", n))
	freeing, err2 := r.config.Apply(holder, refresh.RoundEnded{By: refreshBy(refresh.Worker), Slot: 1, End: refresh.EndYield})
	noError(t, errors.Join(err1, err2))
	noError(t, r.save(taking, freeing), "a slot that is given back in the same save: ")
}

// now is the store's time.
func (r *refreshes) now(t *testing.T) time.Time {
	t.Helper()
	return must(read(r.Store, func(tx store.RefreshUnit) (time.Time, error) { return tx.Now() }))(t)
}

// sweep deletes the locks that have ended.
func (r *refreshes) sweep(t *testing.T, at time.Time) {
	t.Helper()
	noError(t, r.Update(ctx, func(tx store.RefreshUnit) error { return errOf(tx.Refreshes().Sweep(at, 10)) }))
}

func (r *refreshes) oneRecovery(t *testing.T) {
	r.patient(t)
	now := r.now(t)
	w := r.make(t, &r.stages[0])
	xpub := w.Wallet.XpubVan
	by := func(role refresh.Role) refresh.By { return refresh.By{Actor: "w1", Role: role} }
	c := must(r.service.Step(ctx, xpub, refresh.SlotClaimed{By: by(refresh.Orchestrator), Slot: r.slot()}))(t)
	held := refresh.Fences{Slot: c.New.Wallet.Lease.Fence}
	c = must(r.service.Step(ctx, xpub, refresh.JobClaimed{By: by(refresh.Worker), Slot: held.Slot}))(t)
	held.Job, held.Fence, held.Lock = c.Job, 1, c.New.Lock.Lease.Fence
	must(r.service.Step(ctx, xpub, refresh.JobDone{By: by(refresh.Worker), Fences: held,
		Listing: listed(now.Add(-time.Minute), refresh.Transfer{Recipient: "r"})}))(t)
	made := make([][]uuid.UUID, concurrentAttempts)
	noError(t, errors.Join(atOnce(concurrentAttempts, func(i int) (err error) {
		made[i], _, err = r.service.Recover(ctx, by(refresh.Orchestrator), "", 100)
		return err
	})...))
	all := slices.Concat(made...)
	if len(all) != 1 {
		t.Fatalf("%d recovery jobs", len(all))
	}
	loser, err := r.service.Enqueue(ctx, enqueuedJob(xpub, 7, refresh.Recovery, "", ""))
	if err != nil || loser != all[0] {
		t.Errorf("the loser got %v, %v", loser, err)
	}
	second := r.config
	second.Coalesce = false
	stale := r.get(t, xpub)
	stale.Jobs = nil // did not see it
	change := must(second.Apply(stale, enqueuedJob(xpub, 8, refresh.Recovery, "", "")))(t)
	err = r.save(change)
	var taken *refresh.TakenError
	if !errors.As(err, &taken) || taken.Err != refresh.ErrRecovering || taken.By != all[0].String() {
		t.Errorf("a second one was saved: %v", err)
	}
}

func (r *refreshes) walletLocks(t *testing.T) {
	xpub := r.make(t, &r.stages[0]).Wallet.XpubVan
	api := func(at time.Time) refresh.By { return refresh.By{Actor: "api", Role: refresh.API, At: at} }
	var last int64
	lock := func(what string, at time.Time) int64 {
		t.Helper()
		c, err := r.service.Step(ctx, xpub, refresh.Locked{By: api(at)})
		if err != nil {
			t.Fatal(what, ": ", err)
		}
		if f := c.New.Lock.Lease.Fence; f <= last {
			t.Fatalf("%s: fence %d after %d", what, f, last)
		}
		last = c.New.Lock.Lease.Fence
		return last
	}
	count := func(want int64) {
		t.Helper()
		s, err := r.service.Stats(ctx)
		if err != nil || s.Locks != want {
			t.Fatalf("%d locks, expected %d, %v", s.Locks, want, err)
		}
	}
	oneOf(t, atOnce(concurrentAttempts, func(int) error {
		_, err := r.service.Step(ctx, xpub, refresh.Locked{By: api(start)})
		return err
	}), statemachine.ErrHeld)
	count(1)
	w := r.get(t, xpub)
	last = w.Lock.Lease.Fence
	refusedWith(t, errOf(r.service.Step(ctx, xpub, refresh.Locked{By: api(start.Add(r.config.LockTTL - tick))})), statemachine.ErrHeld,
		"a lock that is held until a moment later")
	fence := lock("an expired one is replaced", start.Add(r.config.LockTTL))
	count(1)
	stale := w
	refusedWith(t, errOf(r.service.Step(ctx, xpub, refresh.Unlocked{By: api(start.Add(r.config.LockTTL)), Fence: stale.Lock.Lease.Fence})),
		statemachine.ErrFenced, "the old holder")
	r.do(t, xpub, refresh.Unlocked{By: api(start.Add(r.config.LockTTL)), Fence: fence})
	count(0)
	lock("after a release", start)
	_ = r.Update(ctx, func(tx store.RefreshUnit) error {
		must(tx.Refreshes().NextFence())(t)
		return errRollback
	})
	for _, c := range []struct {
		at   time.Time
		left int64
	}{{start.Add(r.config.LockTTL - tick), 1}, {start.Add(r.config.LockTTL), 0}} {
		r.sweep(t, c.at)
		count(c.left)
	}
	lock("after a sweep", start)
	taken := must(r.config.Apply(stale, refresh.Locked{By: api(start.Add(r.config.LockTTL)), Fence: last + 1000}))(t)
	taken.New.Lock.LockedAt = start
	refusedWith(t, r.save(taken), statemachine.ErrHeld, "a lock that another took since it was read")
}

func (r *refreshes) renewedTogether(t *testing.T) {
	all := map[string]func(*store.RefreshLease){
		"held":             func(*store.RefreshLease) {},
		"another slot":     func(l *store.RefreshLease) { l.Slot++ },
		"another job":      func(l *store.RefreshLease) { l.Job = uuid.New() },
		"another attempt":  func(l *store.RefreshLease) { l.Fence++ },
		"another lock":     func(l *store.RefreshLease) { l.Lock++ },
		"no job, no lock":  func(l *store.RefreshLease) { l.Job, l.Lock = uuid.Nil, 0 },
		"an unknown place": func(l *store.RefreshLease) { l.XpubVan += "x" },
	}
	for name, change := range all {
		w := r.make(t, &r.stages[1])
		lease := store.RefreshLease{XpubVan: w.Wallet.XpubVan, Fences: refresh.Fences{Slot: 1, Job: w.Jobs[0].ID,
			Fence: 1, Lock: w.Lock.Lease.Fence}}
		change(&lease)
		now, until := start.Add(r.config.LockTTL-tick), start.Add(time.Hour)
		ok := name == "held" || name == "no job, no lock"
		if lost := r.renewed(t, now, until, lease); lost == ok {
			t.Errorf("%s: lost is %v", name, lost)
		}
		w.Wallet.Lease.Until = until
		if name == "held" {
			w.Jobs[0].Lease.Until, w.Lock.Lease.Until = until, until
		}
		if ok {
			same(t, name, r.get(t, w.Wallet.XpubVan), w)
		}
	}
}

// lateRenewal: a lock that has ended is lost, though slot and job are held.
func (r *refreshes) lateRenewal(t *testing.T) {
	w := r.make(t, &r.stages[1])
	lease, end := store.RefreshLease{XpubVan: w.Wallet.XpubVan, Fences: refresh.Fences{Slot: 1, Job: w.Jobs[0].ID,
		Fence: 1}}, start.Add(r.config.LockTTL)
	if r.renewed(t, end.Add(-tick), end.Add(time.Hour), lease) {
		t.Fatal("slot and job are held")
	}
	lease.Lock = w.Lock.Lease.Fence
	if !r.renewed(t, end, end.Add(time.Hour), lease) {
		t.Error("a lock was renewed at its end")
	}
}

// unknownWallets: a process that serves a wallet which the store does not have, as
// after a restore, is told that it is gone.
func (r *refreshes) unknownWallets(t *testing.T) {
	known, now := r.make(t, &r.stages[1]).Wallet, r.now(t)
	r.keep(t, known.XpubVan, now.Add(time.Hour))
	slot := refresh.Fences{Slot: 1}
	lost, busy, err := r.service.Renew(ctx, store.RefreshLease{XpubVan: "unknown", Fences: slot},
		store.RefreshLease{XpubVan: known.XpubVan, Fences: slot})
	if err != nil || fmt.Sprint(lost, busy) != "[unknown] []" {
		t.Errorf("Renew: lost %v, busy %v, %v", lost, busy, err)
	}
	turned, err := r.service.Turn(ctx, "w1", []store.HeldSlot{{XpubVan: "unknown 1", Fence: 1, End: refresh.EndHung},
		{XpubVan: "unknown 2", Fence: 1, Start: true},
		{XpubVan: known.XpubVan, Fence: 1, Start: true}}, 0)
	if err != nil || fmt.Sprint(turned.Gone, turned.Busy, turned.Started) != "[unknown 1 unknown 2] [] ["+known.XpubVan+"]" {
		t.Errorf("Turn: %+v, %v", turned, err)
	}
}

// futureEvents: a clock that is ahead neither takes what is held nor frees it.
func (r *refreshes) futureEvents(t *testing.T) {
	live(r.Store)
	xpub, now := r.xpub(), r.now(t)
	e := enqueuedNow(xpub, 0, refresh.Sync, "")
	e.At = now.Add(100 * 365 * 24 * time.Hour)
	refusedWith(t, errOf(r.service.Enqueue(ctx, e)), statemachine.ErrInvalid, "a job that is enqueued in a hundred years")
	e.At = time.Time{}
	r.do(t, xpub, e, refresh.SlotClaimed{By: refresh.By{Actor: "w1", Role: refresh.Orchestrator}, Slot: r.slot()},
		refresh.Locked{By: refresh.By{Actor: "api", Role: refresh.API}})
	before := r.snapshot(t, xpub)
	for _, ev := range []refresh.Event{
		refresh.Locked{By: refresh.By{Actor: "other", Role: refresh.API, At: now.Add(r.config.LockTTL + time.Minute)}},
		refresh.SlotElapsed{By: refresh.By{Actor: "other", Role: refresh.Orchestrator, At: now.Add(time.Hour)}},
		refresh.SlotClaimed{By: refresh.By{Actor: "other", Role: refresh.Orchestrator, At: now.Add(time.Hour)}, Slot: r.slot()},
	} {
		refusedWith(t, errOf(r.service.Step(ctx, xpub, ev)), statemachine.ErrInvalid, fmt.Sprintf("%T", ev))
	}
	same(t, "it left a trace", r.snapshot(t, xpub), before)
}

// clockAhead: leases and due times that were written before the store's clock went back.
func (r *refreshes) clockAhead(t *testing.T) {
	r.population(t, nil)
	locked := r.make(t, &r.stages[0]).Wallet.XpubVan
	api := refresh.By{Actor: "api", Role: refresh.API, At: start}
	r.do(t, locked, refresh.Locked{By: api})
	ahead := func(latest refresh.Latest) (want []string) {
		t.Helper()
		if err := r.View(ctx, func(tx store.RefreshUnit) error {
			x := tx.Refreshes()
			xpubs, err := x.Wallets("", 1000)
			if err != nil {
				return err
			}
			all, err := x.Get(xpubs...)
			for i := range all {
				if latest.Passed(&all[i]) {
					want = append(want, xpubs[i])
				}
			}
			inPages(t, "Ahead at "+latest.At.String(), want, func(after *string, limit int) ([]string, error) {
				return x.Ahead(latest, *cmp.Or(after, new(string)), limit)
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return want
	}
	found := map[int]bool{}
	for _, back := range []time.Duration{0, tick, time.Second, 30 * time.Second, time.Hour, 48 * time.Hour} {
		found[len(ahead(r.config.Latest(start.Add(-back))))] = true
	}
	if len(found) < 3 {
		t.Errorf("wallets with times ahead: %v: the rule is not tested", found)
	}
	now := start.Add(-time.Hour)
	dated(r.Store, now)
	want := ahead(r.config.Latest(now))
	n := 0
	for after, more := "", true; more; more = after != "" {
		changed, next, err := r.service.Reconcile(ctx, refresh.By{Actor: "w1", Role: refresh.Orchestrator}, after, 7)
		if err != nil {
			t.Fatal(err)
		}
		n, after = n+changed, next
	}
	if n != len(want) || len(ahead(r.config.Latest(now))) > 0 {
		t.Errorf("%d of %d were brought back, %d are left", n, len(want), len(ahead(r.config.Latest(now))))
	}
	for _, xpub := range want {
		if err := refresh.Check(r.get(t, xpub)); err != nil {
			t.Error(err)
		}
	}
	api.At = time.Time{}
	for _, end := range []struct {
		at  time.Time
		err error
	}{{now.Add(r.config.LockTTL - tick), statemachine.ErrHeld}, {now.Add(r.config.LockTTL), nil}} {
		dated(r.Store, end.at)
		if _, err := r.service.Step(ctx, locked, refresh.Locked{By: api}); !errors.Is(err, end.err) {
			t.Errorf("the lock %v after the reconcile: %v", end.at.Sub(now), err)
		}
	}
}

func (r *refreshes) lostLock(t *testing.T) {
	w := r.make(t, &r.stages[1])
	xpub := w.Wallet.XpubVan
	r.sweep(t, start.Add(r.config.LockTTL))
	before := r.snapshot(t, xpub)
	held := refresh.Fences{Slot: 1, Job: w.Jobs[0].ID, Fence: 1, Lock: w.Lock.Lease.Fence}
	refusedWith(t, errOf(r.service.Step(ctx, xpub, refresh.JobDone{By: refreshBy(refresh.Worker), Fences: held,
		Listing: listed(start, refresh.Transfer{Recipient: "r"})})), statemachine.ErrFenced, "the end of a job whose lock was swept")
	change := must(r.config.Apply(w, refresh.JobDone{By: refreshBy(refresh.Worker), Fences: held,
		Listing: listed(start, refresh.Transfer{Recipient: "r"})}))(t)
	refusedWith(t, r.save(change), statemachine.ErrFenced, "a change from before the sweep")
	defer func() {
		must(r.service.Step(ctx, xpub, refresh.Locked{By: refresh.By{Actor: "api", Role: refresh.API, At: start}}))(t)
		refusedWith(t, r.save(change), statemachine.ErrFenced, "the release of a lock that another has")
	}()
	same(t, "it left a trace", r.snapshot(t, xpub), before)
}

func (r *refreshes) oneExpiry(t *testing.T) {
	w := r.make(t, &r.stages[2])
	xpub := w.Wallet.XpubVan
	end := w.Watchers[0].ExpiresAt
	r.keep(t, xpub, end.Add(time.Hour))
	by := refresh.By{Actor: "w1", Role: refresh.Worker, At: end}
	noError(t, errors.Join(atOnce(concurrentAttempts, func(int) error {
		_, err := r.service.Step(ctx, xpub, refresh.Elapsed{By: by, Slot: 1})
		return err
	})...))
	after, err := r.service.Get(ctx, xpub)
	if err != nil || len(after.Jobs) != 2 || after.Jobs[1].Cause != refresh.Sync || after.Watchers[0].EndReason != refresh.EndProvisional {
		t.Fatalf("%+v, %v", after, err)
	}
	late := must(r.config.Apply(func() refresh.Work { w.Wallet.Lease = after.Wallet.Lease; return w }(), refresh.Elapsed{By: by, Slot: 1}))(t)
	refusedWith(t, r.save(late), statemachine.ErrConflict, "a second worker's expiry")
}

// loadedSets compares each set with the domain's predicate on the whole wallet.
func (r *refreshes) loadedSets(t *testing.T) {
	w := r.make(t, &r.stages[2]) // a tick at its expiry, of which the second half never came
	end := w.Watchers[0].ExpiresAt
	r.keep(t, w.Wallet.XpubVan, end.Add(time.Hour))
	w = r.do(t, w.Wallet.XpubVan, refresh.Looked{By: refresh.By{Actor: "w1", Role: refresh.Worker, At: end}, Slot: 1, Began: end,
		Listing: listed(end, refresh.Transfer{Recipient: "r", Kind: refresh.ReceiveBlind, Expiration: 1, HasIndex: true})})
	if x := w.Watchers[0]; !x.Lapsed(end) || !x.NextAt.After(end) {
		t.Fatalf("%+v", x)
	}
	ids := append(r.population(t, nil), w.Wallet.XpubVan)
	found := map[string]bool{}
	noError(t, r.View(ctx, func(tx store.RefreshUnit) error {
		all := must(tx.Refreshes().Get(ids...))(t)
		for i := range all {
			moments := []time.Time{start}
			for _, j := range all[i].Jobs {
				moments = append(moments, j.AvailableAt, j.AvailableAt.Add(-tick), j.Lease.Until)
			}
			for _, w := range all[i].Watchers {
				moments = append(moments, w.NextAt, w.NextAt.Add(-tick), w.ExpiresAt, w.ExpiresAt.Add(-tick))
			}
			moments = slices.DeleteFunc(moments, time.Time.IsZero)
			slices.SortFunc(moments, time.Time.Compare)
			for _, now := range slices.CompactFunc(moments, time.Time.Equal) {
				for set := refresh.NoJobs; set <= refresh.AllJobs; set++ {
					reads := refresh.Reads{Jobs: set, Watchers: refresh.WatcherSet(set), Invoices: set == refresh.DueJobs,
						Recipients: refreshtest.Recipients[:set%2]}
					got := refresh.Work{Wallet: all[i].Wallet, Lock: all[i].Lock}
					noError(t, tx.Refreshes().Load(&got, reads, now))
					want := refreshtest.Load(all[i], reads, now)
					if reads.Invoices || len(reads.Recipients) > 0 { // those by name come in any order
						for _, w := range []*refresh.Work{&got, &want} {
							slices.SortFunc(w.Watchers, func(a, b refresh.Watcher) int { return refresh.CompareWatchers(&a, &b) })
						}
					}
					same(t, fmt.Sprint("set ", set), got, want)
					found[fmt.Sprint(set, len(got.Jobs) > 0)], found[fmt.Sprint(set, len(got.Watchers) > 0, "w")] = true, true
				}
			}
		}
		return nil
	}))
	if len(found) < 16 {
		t.Errorf("the sets were never empty or never full: %v", found)
	}
}
