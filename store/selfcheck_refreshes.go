package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// SelfCheckRefreshes is [SelfCheck] for a store that has refreshes. It checks a wallet with its slot, a job with its
// claim (fence, lock, end of the leases, renewal), the watcher that its pass makes, the trails, a change of a version
// that is no longer stored, and a second wallet in a slot. Everything is taken back. It does not check two transactions
// at once or a crash.
func SelfCheckRefreshes[T RefreshUnit](ctx context.Context, s Store[T]) error {
	c := refresh.DefaultPolicy()
	c.MaxWalletProcesses = 10_000 // the last number, that nobody serves with
	all, err := NewRefreshes(s, c)
	if err != nil {
		return err
	}
	xpub := "self-check é世 " + uuid.NewString()
	return probeOf(&all.refreshCore, xpub, func(tx RefreshUnit) (refresh.Change, error) { return writeRefresh(ctx, all.Within(tx), xpub) },
		refusal[RefreshUnit]{"a second wallet in a slot", func(tx RefreshUnit) error {
			_, err1 := refreshClaimed(ctx, all.Within(tx), xpub)
			_, err2 := refreshClaimed(ctx, all.Within(tx), xpub+" 2")
			return errors.Join(err1, err2)
		}, []error{refresh.ErrSlotTaken}}).run(ctx)
}

func selfCheckBy(r refresh.Role) refresh.By { return refresh.By{Actor: "self-check é世", Role: r} }

// refreshClaimed stores a wallet whose job is claimed.
func refreshClaimed(ctx context.Context, s *Refreshes, xpub string) (refresh.Work, error) {
	w, err := s.Do(ctx, xpub, refresh.Enqueued{By: selfCheckBy(refresh.API), Job: uuid.New(), Cause: refresh.Sync,
		Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "é世", MasterFingerprint: "0"}},
		refresh.SlotClaimed{By: selfCheckBy(refresh.Orchestrator), Slot: s.policy.MaxWalletProcesses},
		refresh.JobClaimed{By: selfCheckBy(refresh.Worker), Slot: 1})
	return w, notHeld(err)
}

// notHeld: what was claimed in this transaction is held in it.
func notHeld(err error) error {
	if errors.Is(err, statemachine.ErrFenced) {
		return broken(err.Error())
	}
	return err
}

// writeRefresh takes a job to its end, compares what comes back, and returns a
// change of the wallet as it was while the job was under way.
func writeRefresh(ctx context.Context, s *Refreshes, xpub string) (stale refresh.Change, err error) {
	w, err := refreshClaimed(ctx, s, xpub)
	if err != nil {
		return stale, err
	}
	j, worker, now := w.Jobs[0], selfCheckBy(refresh.Worker), w.Lock.LockedAt
	held := refresh.Fences{Slot: 1, Job: j.ID, Fence: j.Lease.Fence, Lock: w.Lock.Lease.Fence}
	other := held
	other.Lock++
	lost, _, err1 := s.Renew(ctx, RefreshLease{xpub, held})
	gone, _, err2 := s.Renew(ctx, RefreshLease{xpub, other})
	if err := errors.Join(err1, err2); err != nil {
		return stale, err
	}
	if len(lost) != 0 || len(gone) != 1 {
		return stale, broken(fmt.Sprintf("a renewal lost %q, one under another fence lost %q", lost, gone))
	}
	by := worker
	by.At = now
	if stale, err = s.policy.Apply(w, refresh.RoundEnded{By: by, Slot: 1, End: refresh.EndStop}); err != nil {
		return stale, err
	}
	after, err := s.Do(ctx, xpub, refresh.JobDone{By: worker, Fences: held, Listing: refresh.Listing{Answered: now,
		Transfers: []refresh.Transfer{{Recipient: "é世", Asset: "世"}}}}, refresh.RoundEnded{By: worker, Slot: 1, End: refresh.EndYield})
	if err != nil {
		return stale, notHeld(err)
	}
	read, err := s.Get(ctx, xpub)
	switch {
	case err != nil:
		return stale, err
	case !reflect.DeepEqual(read, after) || len(read.Jobs) != 1 || read.Jobs[0].Status != refresh.JobCompleted ||
		read.Lock != (refresh.Lock{}) ||
		len(read.Watchers) != 1 || read.Watchers[0].Recipient != "é世" || read.Watchers[0].Asset != "世" || read.Wallet.Slot != 0:
		return stale, broken(fmt.Sprintf("stored %+v, read %+v", after, read))
	}
	_, err1 = s.Trail(ctx, w.Wallet.ID())
	_, err2 = s.Trail(ctx, j.ID)
	_, err = s.Trail(ctx, read.Watchers[0].ID())
	return stale, errors.Join(err1, err2, err)
}
