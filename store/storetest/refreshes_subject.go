package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

type (
	refreshSubject = subject[store.RefreshUnit, string, uuid.UUID, refresh.Work, refresh.Event, refresh.Change]
	refreshStage   = stage[string, refresh.Work, refresh.Event]
)

// refreshes is one store under test.
type refreshes struct {
	*refreshSubject
	config  refresh.Policy
	service *store.Refreshes
	n       atomic.Int32
}

func newRefreshes(t testing.TB, s store.Store[store.RefreshUnit]) *refreshes {
	r := &refreshes{config: refresh.DefaultPolicy()}
	r.config.MaxWalletProcesses, r.config.Coalesce = 10_000, true
	r.restart(t, s)
	return r
}

// patient makes leases last for longer than a test that goes by the store's clock
// takes on the slowest machine.
func (r *refreshes) patient(t testing.TB) {
	live(r.Store)
	r.config.LockTTL = time.Hour
	r.restart(t, r.Store)
}

// restart makes the service anew, after a change of the configuration.
func (r *refreshes) restart(t testing.TB, s store.Store[store.RefreshUnit]) {
	t.Helper()
	r.service = must(store.NewRefreshes(s, r.config))(t)
	r.refreshSubject = r.subject(s)
}

// xpub names a new wallet.
func (r *refreshes) xpub() string { return refreshtest.Wallet(int(r.n.Add(1))).XpubVan }

// slot is a number that no test has yet.
func (r *refreshes) slot() int32 { return r.n.Add(1) }

func refreshBy(role refresh.Role) refresh.By {
	return refresh.By{Actor: "w1", Role: role, At: start}
}

// jobOf is the n-th job of a wallet.
func jobOf(xpub string, n int) uuid.UUID {
	id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, xpub, n))
	id[6] = id[6]&0x0f | 0x40
	return id
}

func enqueuedJob(xpub string, n int, cause refresh.Cause, recipient, asset string) refresh.Enqueued {
	return refresh.Enqueued{By: refreshBy(refresh.API), Job: jobOf(xpub, n), Cause: cause, Recipient: recipient, Asset: asset,
		Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "col " + xpub, MasterFingerprint: "fingerprint"}}
}

// enqueuedNow is of the store's time.
func enqueuedNow(xpub string, n int, cause refresh.Cause, recipient string) refresh.Enqueued {
	e := enqueuedJob(xpub, n, cause, recipient, "")
	e.At = time.Time{}
	return e
}

func listed(at time.Time, transfers ...refresh.Transfer) refresh.Listing {
	return refresh.Listing{Answered: at, Transfers: transfers}
}

// subject says how to make wallets with their jobs and watchers, for
// the rules of any versioned record.
func (r *refreshes) subject(s store.Store[store.RefreshUnit]) *refreshSubject {
	return &refreshSubject{
		Store:   s,
		service: r.service,
		within: func(tx store.RefreshUnit) service[string, uuid.UUID, refresh.Work, refresh.Event] {
			return r.service.Within(tx)
		},
		records: func(tx store.RefreshUnit) records[string, uuid.UUID, refresh.Work, refresh.Change] {
			return tx.Refreshes()
		},
		apply:  r.config.Apply,
		check:  refresh.Check,
		states: refreshStates,
		newID:  r.xpub,
		id:     func(w *refresh.Work) string { return w.Wallet.XpubVan },
		stages: refreshStages(r),
		speech: &speech[string, refresh.Work, refresh.Event]{store.DomainRefreshes, refresh.WalletMachine.Name(), refresh.Events(),
			func(ev refresh.Event) uint8 { return uint8(refresh.Speakers(ev)) }, refreshLives(r)},
		outside: map[string]func(*refresh.Work){
			"holder":        func(w *refresh.Work) { w.Wallet.Lease.Holder += "x" },
			"fence":         func(w *refresh.Work) { w.Wallet.Lease.Fence-- },
			"work sequence": func(w *refresh.Work) { w.Wallet.WorkSeq += 5 },
		},
		lease: func(w *refresh.Work) *statemachine.Lease { return &w.Wallet.Lease },
		renew: func(tx store.RefreshUnit, now time.Time, w *refresh.Work, fence int64, until time.Time) (bool, error) {
			lost, err := tx.Refreshes().Renew(now, until, store.RefreshLease{XpubVan: w.Wallet.XpubVan, Fences: refresh.Fences{Slot: fence}})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			return r.service.Revoke(ctx, refresh.By{Actor: "op", Role: refresh.Operator}, of)
		},
		world: func(tx store.RefreshUnit) (map[string]any, error) {
			all := map[string]any{}
			var errs []error
			add := func(name string, v any, err error) { all[name] = v; errs = append(errs, err) }
			x := tx.Refreshes()
			jobs, err := x.Jobs(0, nil, 1000)
			add("Jobs", jobs, err)
			for _, reason := range append(refresh.EndReason(0).Values(), 0) {
				watchers, err := x.Watchers(reason, nil, 1000)
				add("Watchers "+reason.String(), watchers, err)
			}
			waiting, err := readable(x.Waiting(start.Add(time.Hour), 1000))
			add("Waiting", waiting, err)
			return all, cmp.Or(errs...)
		},
		due:       []dueKind[store.RefreshUnit, refresh.Work]{r.waiting()},
		also:      r.made,
		draw:      r.draw,
		sentinels: []error{refresh.ErrSlotTaken, refresh.ErrRecovering},
		lists: []list[store.RefreshUnit, string, refresh.Work]{
			{"Wallets", func(tx store.RefreshUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Refreshes().Wallets(after, limit)
			},
				func(*refresh.Work, time.Time) bool { return true }, nil},
			{"HeldBy", func(tx store.RefreshUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Refreshes().HeldBy("w1", after, limit)
			},
				func(w *refresh.Work, _ time.Time) bool {
					return w.Wallet.Lease.Holder == "w1" || w.Lock.Lease.Holder == "w1" || slices.ContainsFunc(w.Jobs,
						func(j refresh.Job) bool { return j.Lease.Holder == "w1" })
				}, nil},
			{"Recoverable", func(tx store.RefreshUnit, now time.Time, after string, limit int) ([]string, error) {
				return tx.Refreshes().Recoverable(now, after, limit)
			}, func(w *refresh.Work, now time.Time) bool {
				return slices.ContainsFunc(w.Watchers, func(x refresh.Watcher) bool { return x.Active(now) })
			}, func(w *refresh.Work) (at []time.Time) {
				for _, x := range w.Watchers {
					at = append(at, x.ExpiresAt)
				}
				return at
			}},
		},
		stats: func(tx store.RefreshUnit, all []refresh.Work, now time.Time) (got, want any, err error) {
			got, err = tx.Refreshes().Stats(now)
			return got, refresh.StatsOf(all, now), err
		},
		overdue: &overdue[store.RefreshUnit, refresh.Work]{
			states: slices.Concat(unfinished(refresh.WalletMachine), unfinished(refresh.JobMachine),
				unfinished(refresh.WatcherMachine, refresh.Settled, refresh.Failed, refresh.Expired)), // which watch again, and are at rest until then
			until: r.overdueIn,
			again: r.again,
			alerts: func(tx store.RefreshUnit, now time.Time) (names []string, err error) {
				stats, err := tx.Refreshes().Stats(now)
				for _, a := range refresh.Alerts(stats, refresh.DefaultThresholds()) {
					names = append(names, a.Name)
				}
				return names, err
			},
		},
		limits: map[string]func(int) error{
			"Jobs": func(n int) error {
				return r.View(ctx, func(tx store.RefreshUnit) error { return errOf(tx.Refreshes().Jobs(0, nil, n)) })
			},
			"Watchers": func(n int) error {
				return r.View(ctx, func(tx store.RefreshUnit) error { return errOf(tx.Refreshes().Watchers(0, nil, n)) })
			},
			"Ahead": func(n int) error {
				return r.View(ctx, func(tx store.RefreshUnit) error { return errOf(tx.Refreshes().Ahead(refresh.Latest{}, "", n)) })
			},
			"Recover": func(n int) error {
				_, _, err := r.service.Recover(ctx, refreshBy(refresh.Orchestrator), "", n)
				return err
			},
			"Audit": func(n int) error { return errOf(r.service.Audit(ctx, "", n)) },
			"Sweep": func(n int) error { return errOf(r.service.Sweep(ctx, n)) },
		},
		selfCheck: func(ctx context.Context) error { return store.SelfCheckRefreshes(ctx, s) },
	}
}

// refreshStates are in the order of their ids: a job that a change adds comes
// last in it, and anywhere in what is read.
func refreshStates(w *refresh.Work) (all []stored[uuid.UUID]) {
	for i := range w.Jobs {
		all = append(all, stored[uuid.UUID]{w.Jobs[i].ID, w.Jobs[i].Version, w.Jobs[i].Status.String()})
	}
	for i := range w.Watchers {
		all = append(all, stored[uuid.UUID]{w.Watchers[i].ID(), w.Watchers[i].Version, w.Watchers[i].Status.String()})
	}
	slices.SortFunc(all, func(a, b stored[uuid.UUID]) int { return strings.Compare(a.id.String(), b.id.String()) })
	if w.Wallet.Status == 0 {
		return nil
	}
	return append([]stored[uuid.UUID]{{w.Wallet.ID(), w.Wallet.Version, w.Wallet.Status.String()}}, all...)
}

// refreshStages: a wallet that waits, a job under way, a watcher.
func refreshStages(r *refreshes) []refreshStage {
	first := func(xpub string) []refresh.Event {
		return []refresh.Event{enqueuedJob(xpub, 0, refresh.Sync, "", "")}
	}
	served := func(xpub string, job refresh.Event) []refresh.Event {
		return []refresh.Event{job, refresh.SlotClaimed{By: refreshBy(refresh.Orchestrator), Slot: r.slot()},
			refresh.JobClaimed{By: refreshBy(refresh.Worker), Slot: 1, Lock: 1}}
	}
	return []refreshStage{{
		name: "a wallet that waits", events: first,
		rivals: func(w *refresh.Work, i int) refresh.Event {
			return refresh.SlotClaimed{By: refresh.By{Actor: fmt.Sprint("process-", i), Role: refresh.Orchestrator, At: start}, Slot: r.slot()}
		},
		back: func(w *refresh.Work) []refresh.Event {
			fence := w.Wallet.Lease.Fence + 1
			return []refresh.Event{refresh.SlotClaimed{By: refreshBy(refresh.Orchestrator), Slot: r.slot()},
				refresh.RoundEnded{By: refreshBy(refresh.Worker), Slot: fence, End: refresh.EndYield}}
		},
		touch: func(w *refresh.Work, at time.Time) refresh.Event {
			e := enqueuedJob(w.Wallet.XpubVan, int(at.Unix()), refresh.Sync, "", "")
			e.At = at
			return e
		},
	}, {
		name: "a job in processing", events: func(xpub string) []refresh.Event { return served(xpub, first(xpub)[0]) },
		rivals: func(w *refresh.Work, i int) refresh.Event {
			return refresh.JobNotDone{By: refreshBy(refresh.Worker), Outcome: statemachine.Failed, Error: fmt.Sprint("error ", i),
				Fences: refresh.Fences{Slot: w.Wallet.Lease.Fence, Job: w.Jobs[0].ID, Fence: w.Jobs[0].Lease.Fence, Lock: w.Lock.Lease.Fence}}
		},
		back: func(w *refresh.Work) []refresh.Event {
			held := refresh.Fences{Slot: w.Wallet.Lease.Fence, Job: w.Jobs[0].ID, Fence: w.Jobs[0].Lease.Fence, Lock: w.Lock.Lease.Fence}
			return []refresh.Event{refresh.JobNotDone{By: refreshBy(refresh.Worker), Fences: held, Outcome: statemachine.Deferred, Stopped: true},
				refresh.JobClaimed{By: refreshBy(refresh.Worker), Slot: held.Slot, Lock: held.Lock + 1}}
		},
	}, {
		name: "a watcher of an invoice",
		events: func(xpub string) []refresh.Event {
			return served(xpub, enqueuedJob(xpub, 0, refresh.InvoiceCreated, "r", ""))
		},
		rivals: func(w *refresh.Work, i int) refresh.Event {
			return refresh.Looked{By: refreshBy(refresh.Worker), Slot: w.Wallet.Lease.Fence, Lock: 1, Began: start,
				Listing: listed(start, refresh.Transfer{Recipient: "r", Asset: fmt.Sprint("asset ", i)})}
		},
	}}
}

// overdueIn is JobAge of a job; a watcher ends, and its sync job if it makes one.
func (r *refreshes) overdueIn(w *refresh.Work) time.Duration {
	limits := refresh.DefaultThresholds()
	longest := limits.JobAge
	for i := range w.Watchers {
		if x := &w.Watchers[i]; x.Status == refresh.Watching {
			longest = max(longest, x.ExpiresAt.Sub(start)+limits.ExpiryWait+limits.JobAge)
		}
	}
	return longest
}

// again is a round in which a job is deferred, no look-up is answered, and the slot is
// given back.
func (r *refreshes) again(t testing.TB, w *refresh.Work, now time.Time) {
	t.Helper()
	xpub := w.Wallet.XpubVan
	send := func(ev refresh.Event) refresh.Change {
		t.Helper()
		c := must(r.service.Step(ctx, xpub, ev))(t)
		return c
	}
	if w.Wallet.Status == refresh.Served && !w.Wallet.Lease.Held(now) {
		send(refresh.SlotElapsed{By: refreshBy(refresh.Orchestrator)})
	}
	if slot := (refresh.SlotClaimed{By: refreshBy(refresh.Orchestrator), Slot: r.slot()}); r.get(t, xpub).Wallet.Status == refresh.Unserved {
		send(slot)
	}
	held := refresh.Fences{Slot: r.get(t, xpub).Wallet.Lease.Fence}
	c := send(refresh.JobClaimed{By: refreshBy(refresh.Worker), Slot: held.Slot, Known: w.Lock.Lease.Fence})
	for i := range c.New.Jobs {
		if j := &c.New.Jobs[i]; j.ID == c.Job && j.Status == refresh.JobProcessing {
			held.Job, held.Fence, held.Lock = j.ID, j.Lease.Fence, c.New.Lock.Lease.Fence
			send(refresh.JobNotDone{By: refreshBy(refresh.Worker), Fences: held, Outcome: statemachine.Deferred, Error: "busy"})
		}
	}
	send(refresh.Looked{By: refreshBy(refresh.Worker), Slot: held.Slot, Began: now, Error: "no answer"})
	send(refresh.RoundEnded{By: refreshBy(refresh.Worker), Slot: held.Slot, End: refresh.EndYield})
}

// waiting compares what waits for a slot with the domain's function.
func (r *refreshes) waiting() dueKind[store.RefreshUnit, refresh.Work] {
	candidate := func(w *refresh.Work) refresh.Candidate {
		c, _ := w.Wallet.Candidate(w.Jobs, w.Watchers, start)
		return c
	}
	return dueKind[store.RefreshUnit, refresh.Work]{
		name: "wallets that wait for a slot", reads: true,
		find: func(tx store.RefreshUnit, now time.Time, limit int) ([]refresh.Work, error) {
			all, err := readable(tx.Refreshes().Waiting(now, limit))
			var due []string
			for i := range all {
				if all[i].Due(now) {
					due = append(due, all[i].XpubVan)
				}
			}
			if err != nil {
				return nil, err
			}
			return tx.Refreshes().Get(due...)
		},
		at: func(w *refresh.Work) (time.Time, bool) {
			since := candidate(w).Since
			return since, !since.IsZero()
		},
		compare: func(a, b *refresh.Work) int { return refresh.CompareCandidates(candidate(a), candidate(b)) },
	}
}

// draw begins the history of one wallet. Ids are of the wallet, so that nothing
// depends on what earlier histories left behind.
func (r *refreshes) draw(rt *rapid.T) history[string, refresh.Work, refresh.Event] {
	n := r.slot()
	of := refreshtest.Wallet(100_000 + int(n))
	adversary := refreshtest.Adversary{Of: of, Policy: r.config, Slot: n}
	now := start
	return history[string, refresh.Work, refresh.Event]{id: of.XpubVan, steps: 40, next: func(w *refresh.Work) refresh.Event {
		now = now.Add(refreshtest.Pause(rt))
		own := func(job *uuid.UUID) {
			if !slices.ContainsFunc(w.Jobs, func(j refresh.Job) bool { return j.ID == *job }) {
				*job = jobOf(of.XpubVan+job.String(), 0)
			}
		}
		ev := adversary.Event(rt, *w, now)
		switch e := ev.(type) {
		case refresh.Enqueued:
			own(&e.Job)
			ev = e
		case refresh.Recovering:
			own(&e.Job)
			ev = e
		}
		return ev
	}}
}
