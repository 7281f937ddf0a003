package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// brokenRefreshes is a store of refreshes with one fault.
type brokenRefreshes struct {
	good *memory.Store
	refreshFault
}

// refreshFault is what a store does wrong; nil is right.
type refreshFault struct {
	read    func(*refresh.Work)
	save    func(stored refresh.Work, c *refresh.Change) (skip bool)
	renew   func(*store.RefreshLease)
	lines   func([]statemachine.Transition[uuid.UUID]) []statemachine.Transition[uuid.UUID]
	commits bool // what failed
	writes  bool // in a View
}

func (b brokenRefreshes) Update(ctx context.Context, fn func(store.RefreshUnit) error) error {
	var failed error
	err := b.good.Update(ctx, func(tx store.Unit) error {
		failed = fn(brokenRefreshTx{tx, b.refreshFault})
		if b.commits && !errors.Is(failed, statemachine.ErrConflict) {
			return nil
		}
		return failed
	})
	return errors.Join(failed, err)
}

func (b brokenRefreshes) View(ctx context.Context, fn func(store.RefreshUnit) error) error {
	if b.writes {
		return b.Update(ctx, fn)
	}
	return b.good.View(ctx, func(tx store.Unit) error { return fn(brokenRefreshTx{tx, b.refreshFault}) })
}

type brokenRefreshTx struct {
	store.Unit
	refreshFault
}

func (t brokenRefreshTx) Refreshes() store.RefreshRecords {
	return brokenRefreshRecords{t.Unit.Refreshes(), t.refreshFault}
}

type brokenRefreshRecords struct {
	store.RefreshRecords
	refreshFault
}

func (r brokenRefreshRecords) reads(ws []refresh.Work, err error) ([]refresh.Work, error) {
	for i := range ws {
		if r.read != nil && ws[i].Wallet.Status != 0 {
			r.read(&ws[i])
		}
	}
	return ws, err
}

func (r brokenRefreshRecords) Get(xpubs ...string) ([]refresh.Work, error) {
	return r.reads(r.RefreshRecords.Get(xpubs...))
}

func (r brokenRefreshRecords) Heads(xpubs ...string) ([]refresh.Work, error) {
	return r.reads(r.RefreshRecords.Heads(xpubs...))
}

func (r brokenRefreshRecords) Load(w *refresh.Work, reads refresh.Reads, now time.Time) error {
	err := r.RefreshRecords.Load(w, reads, now)
	if r.read != nil {
		r.read(w)
	}
	return err
}

func (r brokenRefreshRecords) Save(changes ...refresh.Change) error {
	var kept []refresh.Change
	for _, c := range changes {
		ws, err := r.RefreshRecords.Get(c.New.Wallet.XpubVan)
		if err != nil {
			return err
		}
		if r.save == nil || !r.save(ws[0], &c) {
			kept = append(kept, c)
		}
	}
	return r.RefreshRecords.Save(kept...)
}

func (r brokenRefreshRecords) Renew(now, until time.Time, held ...store.RefreshLease) ([]string, error) {
	for i := range held {
		if r.renew != nil {
			r.renew(&held[i])
		}
	}
	return r.RefreshRecords.Renew(now, until, held...)
}

func (r brokenRefreshRecords) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	all, err := r.RefreshRecords.Transitions(id)
	if r.lines != nil {
		all = r.lines(all)
	}
	return all, err
}

// Each thing that the self-check promises to find is found.
func TestSelfCheckOfRefreshesFinds(t *testing.T) {
	check := func(f refreshFault) error {
		return store.SelfCheckRefreshes(context.Background(), brokenRefreshes{memory.New(memory.Options{}), f})
	}
	if err := check(refreshFault{}); err != nil {
		t.Fatalf("a sound store: %v", err)
	}
	read := func(change func(*refresh.Work)) refreshFault { return refreshFault{read: change} }
	jobs := func(change func(*refresh.Job)) refreshFault {
		return read(func(w *refresh.Work) {
			for i := range w.Jobs {
				change(&w.Jobs[i])
			}
		})
	}
	watchers := func(change func(*refresh.Watcher)) refreshFault {
		return read(func(w *refresh.Work) {
			for i := range w.Watchers {
				change(&w.Watchers[i])
			}
		})
	}
	holder := ""
	for what, f := range map[string]refreshFault{
		"the number of a slot is lost":      read(func(w *refresh.Work) { w.Wallet.Slot = 0 }),
		"the fence of a slot is lost":       read(func(w *refresh.Work) { w.Wallet.Lease.Fence = 0 }),
		"the holder of a slot is lost":      read(func(w *refresh.Work) { w.Wallet.Lease.Holder = "" }),
		"the end of a slot's lease is lost": read(func(w *refresh.Work) { w.Wallet.Lease.Until = time.Time{} }),
		"the work sequence is lost":         read(func(w *refresh.Work) { w.Wallet.WorkSeq = 0 }),
		"times are whole hours":             read(func(w *refresh.Work) { w.Wallet.CreatedAt = w.Wallet.CreatedAt.Truncate(time.Hour) }),
		"the lock is lost":                  read(func(w *refresh.Work) { w.Lock = refresh.Lock{} }),
		"the fence of the lock is lost":     read(func(w *refresh.Work) { w.Lock.Lease.Fence = 0 }),
		"the end of the lock is lost":       read(func(w *refresh.Work) { w.Lock.Lease.Until = time.Time{} }),
		"the fence of a job is lost":        jobs(func(j *refresh.Job) { j.Lease.Fence = 0 }),
		"the end of a job's lease is lost":  jobs(func(j *refresh.Job) { j.Lease.Until = time.Time{} }),
		"the attempt is lost":               jobs(func(j *refresh.Job) { j.Attempts = 0 }),
		"watchers are lost":                 read(func(w *refresh.Work) { w.Watchers = nil }),
		"assets are ASCII":                  watchers(func(w *refresh.Watcher) { w.Asset = "?" }),
		"recipients are cut":                watchers(func(w *refresh.Watcher) { w.Recipient = w.Recipient[:2] }),
		"a lock is kept after its release": {save: func(_ refresh.Work, c *refresh.Change) bool {
			if c.New.Lock == (refresh.Lock{}) {
				c.New.Lock = c.Old.Lock
			}
			return false
		}},
		"a stale save is nothing changed": {save: func(stored refresh.Work, c *refresh.Change) bool { return stored.Wallet.Version > c.Old.Wallet.Version }},
		"a save of what is not stored is nothing changed": {save: func(stored refresh.Work, c *refresh.Change) bool {
			return stored.Wallet.Version < c.Old.Wallet.Version
		}},
		"the second in a slot is left out": {save: func(_ refresh.Work, c *refresh.Change) bool {
			switch takes := c.New.Wallet.Slot != 0; {
			case takes && holder != "" && holder != c.New.Wallet.XpubVan:
				return true
			case takes:
				holder = c.New.Wallet.XpubVan
			case holder == c.New.Wallet.XpubVan:
				holder = ""
			}
			return false
		}},
		"a lock of another fence is renewed": {renew: func(l *store.RefreshLease) { l.Lock = 0 }},
		"nothing is renewed":                 {renew: func(l *store.RefreshLease) { l.Slot++ }},
		"a line of the trail is lost": {lines: func(all []statemachine.Transition[uuid.UUID]) []statemachine.Transition[uuid.UUID] {
			return all[:len(all)-1]
		}},
		"what failed is committed": {commits: true},
		"a View writes":            {writes: true},
	} {
		if err := check(f); !errors.Is(err, statemachine.ErrCorrupt) && !errors.Is(err, statemachine.ErrConflict) || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
