package memory

import (
	"cmp"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Save implements [store.RefreshRecords].
func (r refreshes) Save(changes ...refresh.Change) error {
	return saveFreed(r.tx, changes, (*refresh.Change).FreesSlot, r.save)
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
	case stored != nil && now.LockedAt.Before(stored.Lease.Until) && now.Lease.Fence != stored.Lease.Fence:
		return &statemachine.Refusal{Err: statemachine.ErrHeld, Machine: r.locks.machine, ID: now.XpubVan, Event: "save",
			Reason: "by " + stored.Lease.Holder}
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
		if err := sameLease(r.machine, r.key(now), *kept, *was, is); err != nil {
			return err
		}
		was.Until = kept.Until
	}
	if stored != old {
		return conflict(r.machine, r.key(now), "what is outside its version was changed since it was read")
	}
	return r.put(t, now)
}
