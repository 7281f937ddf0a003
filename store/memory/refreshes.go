package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// refreshTables are the records of package refresh. The index has a record under
// its wallet, a live one in a second place too.
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
				return indexed(j.Live(), textKey(j.XpubVan)+timeKey(j.CreatedAt)+idKey(j.ID))
			},
			unique: []unique[refresh.Job]{ruleRecovery: {func(j *refresh.Job) any { return unless(j.Cause != refresh.Recovery || !j.Live(), j.XpubVan) },
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

// Refreshes implements [store.RefreshTx].
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
	ws := make([]refresh.Work, len(xpubs))
	for i, xpub := range xpubs {
		if w := r.wallets.at[xpub]; w != nil {
			ws[i].Wallet = *w
		}
		if l := r.locks.at[xpub]; l != nil {
			ws[i].Lock = *l
		}
	}
	return ws, nil
}

func (r refreshes) Free(xpubs ...string) ([]refresh.Work, error) {
	if err := r.tx.writes(); err != nil {
		return nil, err
	}
	return r.Heads(xpubs...)
}

// Load asks the domain which records a set has; only its order and limits are
// here.
func (r refreshes) Load(w *refresh.Work, reads refresh.Reads, now time.Time) error {
	w.Jobs, w.Watchers = nil, nil
	xpub := w.Wallet.XpubVan
	if reads.Jobs != refresh.NoJobs {
		r.jobs.scan(r.of(reads.Jobs == refresh.AllJobs, xpub), r.of(reads.Jobs == refresh.AllJobs, xpub), func(_ string, j *refresh.Job) bool {
			if reads.Jobs.Has(j, now) {
				w.Jobs = append(w.Jobs, *j)
			}
			return true
		})
	}
	slices.SortFunc(w.Jobs, func(a, b refresh.Job) int {
		first := func(j *refresh.Job) int {
			switch {
			case reads.Jobs == refresh.DueJobs && j.Status == refresh.JobProcessing, reads.Jobs == refresh.JoinableJobs && j.Cause == refresh.Recovery:
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(&a), first(&b)), refresh.CompareJobs(&a, &b))
	})
	w.Jobs = clip(w.Jobs, map[refresh.JobSet]int{refresh.AnyLiveJob: 1, refresh.DueJobs: refresh.MaxDueJobs, refresh.JoinableJobs: 2, refresh.AllJobs: len(w.Jobs)}[reads.Jobs])
	w.Jobs = w.Jobs[max(0, len(w.Jobs)-refresh.MaxHistory):]
	if j := r.jobs.at[reads.Job]; j != nil && j.XpubVan == xpub && !slices.ContainsFunc(w.Jobs, func(o refresh.Job) bool { return o.ID == j.ID }) {
		w.Jobs = append(w.Jobs, *j)
	}
	if reads.Watchers != refresh.NoWatchers {
		prefix := r.of(reads.Watchers == refresh.AllWatchers, xpub)
		r.watchers.scan(prefix, prefix, func(_ string, x *refresh.Watcher) bool {
			if reads.Watchers.Has(x, now) {
				w.Watchers = append(w.Watchers, *x)
			}
			return true
		})
	}
	slices.SortFunc(w.Watchers, func(a, b refresh.Watcher) int {
		if reads.Watchers == refresh.NewestActive || reads.Watchers == refresh.AllWatchers {
			return refresh.CompareWatchers(&a, &b)
		}
		return refresh.CompareTicks(&a, &b)
	})
	if reads.Watchers == refresh.NewestActive {
		w.Watchers = w.Watchers[max(0, len(w.Watchers)-1):]
	}
	w.Watchers = clip(w.Watchers, map[refresh.WatcherSet]int{refresh.AnyWatching: 1, refresh.DueWatchers: refresh.MaxTick, refresh.LapsedWatchers: refresh.MaxTick,
		refresh.NewestActive: 1, refresh.AllWatchers: len(w.Watchers)}[reads.Watchers])
	w.Watchers = w.Watchers[max(0, len(w.Watchers)-refresh.MaxHistory):]
	recipients := reads.Recipients
	if reads.Invoices {
		for i := range w.Jobs {
			if w.Jobs[i].Recipient != "" {
				recipients = append(slices.Clone(recipients), w.Jobs[i].Recipient)
			}
		}
	}
	for _, recipient := range recipients {
		x := r.watchers.at[refresh.WatcherID(xpub, recipient)]
		if x != nil && !slices.ContainsFunc(w.Watchers, func(o refresh.Watcher) bool { return o.Recipient == recipient }) {
			w.Watchers = append(w.Watchers, *x)
		}
	}
	return nil
}

func (r refreshes) of(all bool, xpub string) string {
	if all {
		return everyKey + textKey(xpub)
	}
	return liveKey + textKey(xpub)
}

func clip[V any](all []V, limit int) []V { return all[:min(len(all), limit)] }

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

func (r refreshes) Waiting(now time.Time, limit int) (all []refresh.Candidate, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r.wallets.scan("", "", func(_ string, wallet *refresh.Wallet) bool {
		if wallet.Status != refresh.Unserved {
			return true
		}
		w := refresh.Work{Wallet: *wallet}
		r.live(&w)
		if c, needs := wallet.Candidate(w.Jobs, w.Watchers, now); needs {
			all = append(all, c)
		}
		return true
	})
	slices.SortFunc(all, refresh.CompareCandidates)
	return clip(all, limit), nil
}

// live loads all live jobs and watching watchers of a wallet.
func (r refreshes) live(w *refresh.Work) {
	prefix := r.of(false, w.Wallet.XpubVan)
	r.jobs.scan(prefix, prefix, func(_ string, j *refresh.Job) bool { w.Jobs = append(w.Jobs, *j); return true })
	r.watchers.scan(prefix, prefix, func(_ string, x *refresh.Watcher) bool { w.Watchers = append(w.Watchers, *x); return true })
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

func (r refreshes) Renew(now, until time.Time, held ...store.RefreshLease) (lost []string, err error) {
	if err := r.tx.writes(); err != nil {
		return nil, err
	}
	for _, h := range held {
		ok := true
		if w := r.wallets.at[h.XpubVan]; w == nil || w.Lease.Fenced(h.Slot, now) != nil {
			ok = false
		} else {
			renewed := *w
			renewed.Lease.Until = until
			ok = r.wallets.put(r.tx, &renewed) == nil
		}
		if j := r.jobs.at[h.Job]; h.Job != uuid.Nil && ok {
			if ok = j != nil && j.Lease.Fenced(h.Fence, now) == nil; ok {
				renewed := *j
				renewed.Lease.Until = until
				ok = r.jobs.put(r.tx, &renewed) == nil
			}
		}
		if l := r.locks.at[h.XpubVan]; h.Lock != 0 && ok {
			if ok = l != nil && l.Lease.Fenced(h.Lock, now) == nil; ok {
				renewed := *l
				renewed.Lease.Until = until
				ok = r.locks.put(r.tx, &renewed) == nil
			}
		}
		if !ok {
			lost = append(lost, h.XpubVan)
		}
	}
	return lost, nil
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
		w.Wallet, w.Jobs = *r.wallets.at[j.XpubVan], []refresh.Job{*j}
		return w, nil
	}
	if x := r.watchers.at[id]; x != nil {
		w.Wallet, w.Watchers = *r.wallets.at[x.XpubVan], []refresh.Watcher{*x}
		return w, nil
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
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	for _, j := range r.jobs.at {
		if (status == 0 || j.Status == status) && (after == nil || refresh.CompareJobs(after, j) < 0) {
			all = append(all, *j)
		}
	}
	slices.SortFunc(all, func(a, b refresh.Job) int { return refresh.CompareJobs(&a, &b) })
	return clip(all, limit), nil
}

func (r refreshes) Watchers(reason refresh.EndReason, after *refresh.Watcher, limit int) (all []refresh.Watcher, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	compare := func(a, b *refresh.Watcher) int {
		return cmp.Or(strings.Compare(a.XpubVan, b.XpubVan), strings.Compare(a.Recipient, b.Recipient))
	}
	for _, w := range r.watchers.at {
		if w.EndReason == reason && (after == nil || compare(after, w) < 0) {
			all = append(all, *w)
		}
	}
	slices.SortFunc(all, func(a, b refresh.Watcher) int { return compare(&a, &b) })
	return clip(all, limit), nil
}

func (r refreshes) Stats(now time.Time) (refresh.Stats, error) {
	s := refresh.Stats{At: now, Jobs: map[refresh.JobStatus]int64{}, Watchers: map[refresh.WatcherStatus]int64{}, Locks: int64(len(r.locks.at))}
	failed := map[string]int64{}
	oldest := func(at *time.Time, t time.Time) {
		if !now.Before(t) && (at.IsZero() || t.Before(*at)) {
			*at = t
		}
	}
	for _, j := range r.jobs.at {
		s.Jobs[j.Status]++
		switch {
		case j.Status == refresh.JobPending:
			oldest(&s.OldestJob, j.AvailableAt)
		case j.Status == refresh.JobProcessing && !now.Before(j.Lease.Until):
			s.LeaseExpired++
		case j.Status == refresh.JobFailed:
			failed[j.XpubVan]++
		}
	}
	for _, w := range r.watchers.at {
		s.Watchers[w.Status]++
		switch {
		case w.EndReason == refresh.EndOpen:
			s.ExpiredOpen++
		case w.Status == refresh.Watching:
			oldest(&s.OldestWatcher, w.NextAt)
			if !now.Before(w.ExpiresAt) {
				s.PastExpiry++
			}
		}
	}
	for _, w := range r.wallets.at {
		if w.Status == refresh.Served && w.Lease.Held(now) {
			s.Served++
		}
		if w.HungRounds > 0 {
			s.Hung++
		}
	}
	for xpub, n := range failed {
		s.Failed = append(s.Failed, refresh.WalletCount{XpubVan: xpub, Count: n})
	}
	slices.SortFunc(s.Failed, func(a, b refresh.WalletCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.XpubVan, b.XpubVan))
	})
	s.Failed = clip(s.Failed, refresh.MaxFailed)
	return s, nil
}

// Save implements [store.RefreshRecords].
func (r refreshes) Save(changes ...refresh.Change) error {
	if err := r.tx.writes(); err != nil {
		return err
	}
	for _, frees := range []bool{true, false} { // slots are given back before others take them
		for i := range changes {
			if c := &changes[i]; (c.New.Wallet.Slot == 0) == frees {
				if err := r.save(c); err != nil {
					return r.tx.fail(err)
				}
			}
		}
	}
	return nil
}

func (r refreshes) save(c *refresh.Change) (err error) {
	if err := c.Complete(); err != nil {
		return err
	}
	if w := c.New.Wallet; w != c.Old.Wallet {
		if err := exchange(r.wallets, r.tx, c.Old.Wallet, &w, func(w *refresh.Wallet) *statemachine.Lease { return &w.Lease }); err != nil {
			return err
		}
	}
	c.Written(func(old, now *refresh.Job) {
		if j := *now; err == nil {
			err = exchange(r.jobs, r.tx, *old, &j, func(j *refresh.Job) *statemachine.Lease { return &j.Lease })
		}
	}, func(old, now *refresh.Watcher) {
		if w := *now; err == nil {
			err = exchange(r.watchers, r.tx, *old, &w, nil)
		}
	})
	if err == nil {
		err = r.saveLock(&c.Old.Lock, &c.New.Lock)
	}
	if err != nil {
		return err
	}
	return r.add(r.tx, c.Log)
}

func (r refreshes) saveLock(old, now *refresh.Lock) error {
	switch stored := r.locks.at[cmp.Or(now.XpubVan, old.XpubVan)]; {
	case *old == *now:
		return nil
	case *now == refresh.Lock{}:
		if stored == nil || stored.Lease.Fence != old.Lease.Fence {
			return &statemachine.Refusal{Err: statemachine.ErrFenced, Machine: r.locks.machine, ID: old.XpubVan, Event: "save"}
		}
		r.locks.remove(r.tx, old.XpubVan)
		return nil
	case stored != nil && now.LockedAt.Before(stored.Lease.Until):
		return &statemachine.Refusal{Err: statemachine.ErrHeld, Machine: r.locks.machine, ID: now.XpubVan, Event: "save", Reason: "by " + stored.Lease.Holder}
	}
	l := *now
	return r.locks.put(r.tx, &l)
}

// exchange writes a record that is stored as it was read, but for the end of a lease:
// only a renewal moves that of one which is kept.
func exchange[K, V comparable](r *rows[K, V], t *tx, old V, now *V, lease func(*V) *statemachine.Lease) error {
	var stored V
	if v := r.at[r.key(now)]; v != nil {
		stored = *v
	}
	if r.version(&stored) != r.version(&old) {
		return conflict(r.machine, r.key(now), "expected version %d, stored is %d", r.version(&old), r.version(&stored))
	}
	if lease != nil {
		kept, was, is := lease(&stored), lease(&old), lease(now)
		if kept.Fence != was.Fence {
			return &statemachine.Refusal{Err: statemachine.ErrFenced, Machine: r.machine, ID: fmt.Sprint(r.key(now)), Event: "save"}
		}
		if is.Fence == kept.Fence && is.Holder == kept.Holder {
			is.Until = kept.Until
		}
		was.Until = kept.Until
	}
	if stored != old {
		return conflict(r.machine, r.key(now), "what is outside its version was changed since it was read")
	}
	return r.put(t, now)
}
