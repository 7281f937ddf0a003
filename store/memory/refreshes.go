package memory

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// refreshTables are the records of package refresh. The index has each record under its wallet; a live record in a
// second place too, and a sync job that others may join in a third.
type refreshTables struct {
	wallets  *rows[string, refresh.Wallet]
	jobs     *rows[uuid.UUID, refresh.Job]
	watchers *rows[uuid.UUID, refresh.Watcher]
	locks    *rows[string, refresh.Lock]
	fence    int64
	*trails[uuid.UUID]
}

const (
	ruleNumber   = 0 // of wallets: one for each slot
	ruleRecovery = 0 // of jobs: one recovery that is live
	everyKey     = "a"
	liveKey      = "l"
	joinKey      = "j"
)

func newRefreshTables() *refreshTables {
	return &refreshTables{
		wallets: newRows(rows[string, refresh.Wallet]{
			machine: refresh.WalletMachine.Name(),
			key:     func(w *refresh.Wallet) string { return w.XpubVan },
			version: func(w *refresh.Wallet) int64 { return w.Version },
			sorted:  func(w *refresh.Wallet) []string { return []string{textKey(w.XpubVan)} },
			unique: []unique[refresh.Wallet]{ruleNumber: {func(w *refresh.Wallet) any { return unless(w.Slot == 0, w.Slot) },
				func(w *refresh.Wallet) error {
					return &refresh.TakenError{Err: refresh.ErrSlotTaken, By: w.ID().String()}
				}}},
		}),
		jobs: newRows(rows[uuid.UUID, refresh.Job]{
			machine: refresh.JobMachine.Name(),
			key:     func(j *refresh.Job) uuid.UUID { return j.ID },
			version: func(j *refresh.Job) int64 { return j.Version },
			sorted: func(j *refresh.Job) []string {
				key := textKey(j.XpubVan) + timeKey(j.CreatedAt) + idKey(j.ID)
				keys := indexed(j.Live(), key)
				if j.Joinable() && j.Cause != refresh.Recovery {
					keys = append(keys, joinKey+key)
				}
				return keys
			},
			unique: []unique[refresh.Job]{ruleRecovery: {func(j *refresh.Job) any {
				return unless(j.Cause != refresh.Recovery || !j.Live(),
					j.XpubVan)
			},
				func(j *refresh.Job) error {
					return &refresh.TakenError{Err: refresh.ErrRecovering, By: j.ID.String()}
				}}},
		}),
		watchers: newRows(rows[uuid.UUID, refresh.Watcher]{
			machine: refresh.WatcherMachine.Name(),
			key:     (*refresh.Watcher).ID,
			version: func(w *refresh.Watcher) int64 { return w.Version },
			sorted: func(w *refresh.Watcher) []string {
				return indexed(w.Status == refresh.Watching, textKey(w.XpubVan)+textKey(w.Recipient))
			},
		}),
		locks: newRows(rows[string, refresh.Lock]{
			machine: "wallet lock",
			key:     func(l *refresh.Lock) string { return l.XpubVan },
			sorted:  func(l *refresh.Lock) []string { return []string{textKey(l.XpubVan)} },
		}),
		trails: newTrails[uuid.UUID](),
	}
}

func indexed(live bool, key string) []string {
	if live {
		return []string{everyKey + key, liveKey + key}
	}
	return []string{everyKey + key}
}

// Refreshes implements [store.RefreshUnit].
func (t *tx) Refreshes() store.RefreshRecords { return refreshes{t.store.refreshes, t} }

// refreshes are the tables within a transaction.
type refreshes struct {
	*refreshTables
	tx *tx
}

func (r refreshes) Get(xpubs ...string) ([]refresh.Work, error) {
	ws, _ := r.Heads(xpubs...)
	for i := range ws {
		if ws[i].Wallet.Status != 0 {
			_ = r.Load(&ws[i], refresh.Reads{Jobs: refresh.AllJobs, Watchers: refresh.AllWatchers}, time.Time{})
		}
	}
	return ws, nil
}

func (r refreshes) Heads(xpubs ...string) ([]refresh.Work, error) {
	return inOrderOf(xpubs, func(xpub string) (w refresh.Work) {
		if stored := r.wallets.at[xpub]; stored != nil {
			w.Wallet = *stored
		}
		if stored := r.locks.at[xpub]; stored != nil {
			w.Lock = *stored
		}
		return w
	})
}

func (r refreshes) Free(xpubs ...string) ([]refresh.Work, error) {
	if err := r.tx.writes(); err != nil {
		return nil, err
	}
	return r.Heads(xpubs...)
}

// Load asks the domain which records a set has.
func (r refreshes) Load(w *refresh.Work, reads refresh.Reads, now time.Time) error {
	xpub := w.Wallet.XpubVan
	w.Jobs = reads.Jobs.Pick(r.jobsOf(xpub, reads.Jobs), now)
	w.Watchers = reads.Watchers.Pick(r.watchersOf(xpub, reads.Watchers), now)
	if j := r.jobs.at[reads.Job]; j != nil && j.XpubVan == xpub && !slices.Contains(w.Jobs, *j) {
		w.Jobs = append(w.Jobs, *j)
	}
	recipients, known := slices.Clone(reads.Recipients), map[string]bool{}
	for i := range w.Jobs {
		if reads.Invoices {
			recipients = append(recipients, w.Jobs[i].Recipient)
		}
	}
	for i := range w.Watchers {
		known[w.Watchers[i].Recipient] = true
	}
	for _, recipient := range recipients {
		if x := r.watchers.at[refresh.WatcherID(xpub, recipient)]; x != nil && !known[recipient] {
			known[recipient] = true
			w.Watchers = append(w.Watchers, *x)
		}
	}
	return nil
}

// jobsOf are the jobs of a wallet that a set may have, and no more than it needs.
func (r refreshes) jobsOf(xpub string, set refresh.JobSet) (jobs []refresh.Job) {
	scan := func(place string, all bool) {
		place += textKey(xpub)
		r.jobs.scan(place, place, func(_ string, j *refresh.Job) bool { jobs = append(jobs, *j); return all })
	}
	switch set {
	case refresh.AnyLiveJob:
		scan(liveKey, false)
	case refresh.DueJobs:
		scan(liveKey, true)
	case refresh.JoinableJobs: // however many wait
		if j := r.jobs.holder(ruleRecovery, xpub); j != nil {
			jobs = append(jobs, *j)
		}
		place := joinKey + textKey(xpub)
		r.jobs.scan(place, place, func(_ string, j *refresh.Job) bool {
			if !slices.ContainsFunc(jobs, func(o refresh.Job) bool { return o.ID == j.ID }) {
				jobs = append(jobs, *j)
			}
			return len(jobs) < 2
		})
	case refresh.AllJobs:
		scan(everyKey, true)
	}
	return jobs
}

// watchersOf are the watchers of a wallet that a set may have.
func (r refreshes) watchersOf(xpub string, set refresh.WatcherSet) (watchers []refresh.Watcher) {
	place := liveKey + textKey(xpub)
	switch set {
	case refresh.NoWatchers:
		return nil
	case refresh.AllWatchers:
		place = everyKey + textKey(xpub)
	}
	r.watchers.scan(place, place, func(_ string, w *refresh.Watcher) bool { watchers = append(watchers, *w); return true })
	return watchers
}

func (r refreshes) NextFence() (int64, error) {
	if err := r.tx.writes(); err != nil {
		return 0, err
	}
	assign(r.tx, &r.fence, r.fence+1)
	return r.fence, nil
}

func (r refreshes) Slots() (all []refresh.Slot, err error) {
	if err := r.tx.writes(); err != nil {
		return nil, err
	}
	for _, xpub := range r.wallets.taken[ruleNumber] {
		w := r.wallets.at[xpub]
		all = append(all, refresh.Slot{XpubVan: xpub, Number: w.Slot, Lease: w.Lease})
	}
	slices.SortFunc(all, func(a, b refresh.Slot) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

func (r refreshes) Waiting(now time.Time, limit int) (all []refresh.Candidate, unreadable []error, err error) {
	r.wallets.scan("", "", func(_ string, wallet *refresh.Wallet) bool {
		if wallet.Status != refresh.Unserved {
			return true
		}
		x := wallet.XpubVan
		if c, needs := wallet.Candidate(r.jobsOf(x, refresh.DueJobs), r.watchersOf(x, refresh.DueWatchers), now); needs {
			all = append(all, c)
		}
		return true
	})
	all, err = firstOf(all, limit, refresh.CompareCandidates)
	return all, nil, err
}

func (r refreshes) HeldBy(holder, after string, limit int) ([]string, error) {
	held := map[string]bool{}
	has := func(xpub string, l statemachine.Lease) { held[xpub] = held[xpub] || l.Holder == holder && xpub > after }
	for xpub, w := range r.wallets.at {
		has(xpub, w.Lease)
		if l := r.locks.at[xpub]; l != nil {
			has(xpub, l.Lease)
		}
	}
	r.jobs.scan(liveKey, liveKey, func(_ string, j *refresh.Job) bool { has(j.XpubVan, j.Lease); return true })
	maps.DeleteFunc(held, func(_ string, is bool) bool { return !is })
	return firstOf(slices.Collect(maps.Keys(held)), limit, strings.Compare)
}

func (r refreshes) Recoverable(now time.Time, after string, limit int) (all []string, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r.watchers.scan(liveKey, liveKey, func(_ string, w *refresh.Watcher) bool {
		if w.Active(now) && w.XpubVan > after && (len(all) == 0 || all[len(all)-1] != w.XpubVan) {
			all = append(all, w.XpubVan)
		}
		return len(all) < limit
	})
	return all, nil
}

func (r refreshes) Ahead(latest refresh.Latest, after string, limit int) (all []string, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r.wallets.scan("", textKey(after), func(_ string, w *refresh.Wallet) bool {
		if w.XpubVan > after {
			ws, _ := r.Heads(w.XpubVan)
			ws[0].Jobs, ws[0].Watchers = r.jobsOf(w.XpubVan, refresh.DueJobs), r.watchersOf(w.XpubVan, refresh.DueWatchers) // all live ones
			if latest.Passed(&ws[0]) {
				all = append(all, w.XpubVan)
			}
		}
		return len(all) < limit
	})
	return all, nil
}

func (r refreshes) Renew(now, until time.Time, held ...store.RefreshLease) (lost []string, err error) {
	if err := r.tx.writes(); err != nil {
		return nil, err
	}
	for _, h := range held {
		ok := (h.Slot == 0 || renewed(r.tx, r.wallets, h.XpubVan, h.Slot, now, until,
			func(w *refresh.Wallet) *statemachine.Lease { return &w.Lease })) &&
			(h.Job == uuid.Nil || renewed(r.tx, r.jobs, h.Job, h.Fence, now, until, func(j *refresh.Job) *statemachine.Lease { return &j.Lease })) &&
			(h.Lock == 0 || renewed(r.tx, r.locks, h.XpubVan, h.Lock, now, until, func(l *refresh.Lock) *statemachine.Lease { return &l.Lease }))
		if !ok {
			lost = append(lost, h.XpubVan)
		}
	}
	return lost, nil
}

// renewed moves the end of the lease of a record, if it is held at now under a fence.
func renewed[K comparable, V any](t *tx, r *rows[K, V], k K, fence int64, now, until time.Time, lease func(*V) *statemachine.Lease) bool {
	v := r.at[k]
	if v == nil || lease(v).Fenced(fence, now) != nil {
		return false
	}
	later := *v
	lease(&later).Until = until
	return r.put(t, &later) == nil
}

func (r refreshes) Sweep(now time.Time, limit int) (int, error) {
	if err := cmp.Or(r.tx.writes(), store.CheckLimit(limit)); err != nil {
		return 0, err
	}
	var ended []string
	r.locks.scan("", "", func(_ string, l *refresh.Lock) bool {
		if !now.Before(l.Lease.Until) {
			ended = append(ended, l.XpubVan)
		}
		return len(ended) < limit
	})
	for _, xpub := range ended {
		r.locks.remove(r.tx, xpub)
	}
	return len(ended), nil
}

func (r refreshes) Find(id uuid.UUID) (w refresh.Work, err error) {
	if j := r.jobs.at[id]; j != nil {
		return refresh.Work{Jobs: []refresh.Job{*j}}, nil
	}
	if x := r.watchers.at[id]; x != nil {
		return refresh.Work{Watchers: []refresh.Watcher{*x}}, nil
	}
	for _, wallet := range r.wallets.at {
		if wallet.ID() == id {
			return refresh.Work{Wallet: *wallet}, nil
		}
	}
	return w, &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: refresh.WalletMachine.Name(), ID: id.String()}
}

func (r refreshes) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return r.trail(id, refresh.WalletMachine.Name(), refresh.JobMachine.Name(), refresh.WatcherMachine.Name()), nil
}

func (r refreshes) Wallets(after string, limit int) (all []string, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r.wallets.scan("", textKey(after), func(_ string, w *refresh.Wallet) bool {
		if w.XpubVan > after {
			all = append(all, w.XpubVan)
		}
		return len(all) < limit
	})
	return all, nil
}

func (r refreshes) Jobs(status refresh.JobStatus, after *refresh.Job, limit int) (all []refresh.Job, err error) {
	for _, j := range r.jobs.at {
		if (status == 0 || j.Status == status) && (after == nil || refresh.CompareJobs(after, j) < 0) {
			all = append(all, *j)
		}
	}
	return firstOf(all, limit, func(a, b refresh.Job) int { return refresh.CompareJobs(&a, &b) })
}

func (r refreshes) Watchers(reason refresh.EndReason, after *refresh.Watcher, limit int) (all []refresh.Watcher, err error) {
	compare := func(a, b *refresh.Watcher) int {
		return cmp.Or(strings.Compare(a.XpubVan, b.XpubVan), strings.Compare(a.Recipient, b.Recipient))
	}
	for _, w := range r.watchers.at {
		of := refresh.Work{}
		if reason == refresh.EndOpen {
			of.Jobs = r.jobsOf(w.XpubVan, refresh.AllJobs)
		}
		if w.EndReason == reason && of.Refreshed() <= w.EndSeq && (after == nil || compare(after, w) < 0) {
			all = append(all, *w)
		}
	}
	return firstOf(all, limit, func(a, b refresh.Watcher) int { return compare(&a, &b) })
}

func (r refreshes) Stats(now time.Time) (refresh.Stats, error) {
	var all []refresh.Work
	for xpub := range r.wallets.at {
		ws, _ := r.Heads(xpub)
		ws[0].Jobs, ws[0].Watchers = r.jobsOf(xpub, refresh.AllJobs), r.watchersOf(xpub, refresh.AllWatchers)
		all = append(all, ws[0])
	}
	return refresh.StatsOf(all, now), nil
}
