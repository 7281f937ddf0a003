package refresh

import (
	"slices"
	"time"
)

// Latest holds the latest times that the rules can set at the time At. A later time in a record
// was written while the store's clock was ahead.
type Latest struct {
	At        time.Time
	Lease     time.Time // the end of a slot, of a job's lease, of a lock
	First     time.Time // AvailableAt of a pending job without an attempt
	Available time.Time // AvailableAt of any other pending job
	Next      time.Time // NextAt of a watching watcher
	NotBefore time.Time // of a wallet with a live job or a watching row
	Unserved  time.Time // UnservedSince of such a wallet; a little after At, for clocks that differ a little
}

// Latest returns the latest times at now.
func (c Policy) Latest(now time.Time) Latest {
	first := max(c.RefreshInterval, c.WalletWorkerPollInterval)
	return Latest{
		At:        now,
		Lease:     now.Add(c.LockTTL),
		First:     now.Add(first),
		Available: now.Add(max(c.RetryDelay(c.MaxRefreshRetries), first)),
		Next:      now.Add(c.RefreshInterval),
		NotBefore: now.Add(max(c.MaxHungPause, c.RefreshInterval)),
		Unserved:  now.Add(c.LockTTL),
	}
}

// Passed reports whether a time in w is later than the rules could set it. w must hold all live
// jobs and watching rows of the wallet.
func (l *Latest) Passed(w *Work) bool {
	x := *w
	x.Jobs, x.Watchers = slices.Clone(w.Jobs), slices.Clone(w.Watchers)
	return l.back(&x) || x.Wallet != w.Wallet || x.Lock != w.Lock || !slices.Equal(x.Jobs, w.Jobs) ||
		!slices.Equal(x.Watchers, w.Watchers)
}

// back corrects every time that is later than the rules could set it: work becomes due now, and a lease
// ends when the longest lease that is given now would end. The holder of such a lease may be alive, and
// does not count on a later end, since its lease was at most the longest one. back reports whether it
// changed a column that is in the wallet's version.
func (l *Latest) back(w *Work) (moved bool) {
	back := func(at *time.Time, latest, to time.Time) bool {
		later := at.After(latest)
		if later {
			*at = to
		}
		return later
	}
	live := false
	back(&w.Wallet.Lease.Until, l.Lease, l.Lease)
	if back(&w.Lock.Lease.Until, l.Lease, l.Lease) {
		back(&w.Lock.LockedAt, l.At, l.At)
	}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		live = live || j.Live()
		back(&j.Lease.Until, l.Lease, l.Lease)
		switch {
		case j.Status != JobPending:
		case j.Attempts == 0:
			back(&j.AvailableAt, l.First, l.At)
		default:
			back(&j.AvailableAt, l.Available, l.At)
		}
	}
	for i := range w.Watchers {
		if x := &w.Watchers[i]; x.Status == Watching {
			live = true
			back(&x.NextAt, l.Next, l.At)
		}
	}
	if live {
		moved = back(&w.Wallet.NotBefore, l.NotBefore, l.At)
		moved = back(&w.Wallet.UnservedSince, l.Unserved, l.At) || moved
	}
	return moved
}

// reconcile is [Reconciled].
func (s *step) reconcile() error {
	latest := s.c.Latest(s.by.At)
	if latest.back(&s.New) {
		return s.moveWallet(walletReconcile)
	}
	return nil
}

// MovedLeases returns the leases of the slot and of jobs whose end the step moved, and the new end. A
// save writes no end of a lease, so the store renews these leases up to until.
func (c *Change) MovedLeases() (held []Fences, until time.Time) {
	if was, is := &c.Old.Wallet.Lease, &c.New.Wallet.Lease; was.Fence == is.Fence && is.Holder != "" && !was.Until.Equal(is.Until) {
		held, until = append(held, Fences{Slot: is.Fence}), is.Until
	}
	for i := range c.Old.Jobs {
		was, is := &c.Old.Jobs[i].Lease, &c.New.Jobs[i].Lease
		if was.Fence == is.Fence && is.Holder != "" && !was.Until.Equal(is.Until) {
			held, until = append(held, Fences{Job: c.New.Jobs[i].ID, Fence: is.Fence}), is.Until
		}
	}
	return held, until
}
