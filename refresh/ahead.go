package refresh

import (
	"slices"
	"time"
)

// Latest are the latest times that the rules set at At. What is later was written while
// the store's clock was ahead.
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
func (c Config) Latest(now time.Time) Latest {
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

// Passed reports whether a time of w is later, of which all live jobs and watching rows
// must be loaded.
func (l *Latest) Passed(w *Work) bool {
	x := *w
	x.Jobs, x.Watchers = slices.Clone(w.Jobs), slices.Clone(w.Watchers)
	return l.back(&x) || x.Wallet != w.Wallet || x.Lock != w.Lock || !slices.Equal(x.Jobs, w.Jobs) ||
		!slices.Equal(x.Watchers, w.Watchers)
}

// back brings what is later back: work is due, and a lease ends when the longest one that
// is given now would. Its holder may live, and counts with no later end by its own clock.
// It reports whether it moved what is in the wallet's version.
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
		return s.moveWallet(WalletReconcile)
	}
	return nil
}

// MovedLeases are those of slot and jobs whose end the step moved. A save keeps the end
// that is stored, so the store renews them, up to until.
func (c *Change) MovedLeases() (held []Held, until time.Time) {
	if was, is := &c.Old.Wallet.Lease, &c.New.Wallet.Lease; was.Fence == is.Fence && is.Holder != "" && !was.Until.Equal(is.Until) {
		held, until = append(held, Held{Slot: is.Fence}), is.Until
	}
	for i := range c.Old.Jobs {
		was, is := &c.Old.Jobs[i].Lease, &c.New.Jobs[i].Lease
		if was.Fence == is.Fence && is.Holder != "" && !was.Until.Equal(is.Until) {
			held, until = append(held, Held{Job: c.New.Jobs[i].ID, Fence: is.Fence}), is.Until
		}
	}
	return held, until
}
