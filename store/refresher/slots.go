package refresher

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
)

// slots are the wallets that this process serves, and the source of its worker. An item of the
// worker is one round of one wallet.
type slots struct {
	service  *store.Refreshes
	host     Host
	policy   refresh.Policy
	name     string
	log      *slog.Logger
	stopping context.Context // done once nothing new may begin
	sweepAt  time.Time
	calling  sync.Map // wallets for which the host is being called

	mu  sync.Mutex
	all map[string]*slot
}

// slot is one wallet that is served.
type slot struct {
	held      store.HeldSlot
	running   *round    // nil: it rests
	again     time.Time // when the next round is due, by this process's clock
	idleSince time.Time // zero: not idle
	workSeq   int64     // as it was then
}

// result is what became of a round.
type result struct {
	of      *round
	again   time.Time // when the next one is due; zero: at once
	due     time.Time // from when its wallet waits for the next one, see [refresh.Slot]
	end     refresh.RoundEnd
	idle    bool // there was neither a live job nor a watching row
	workSeq int64
}

// ShortestLease implements [worker.Source].
func (s *slots) ShortestLease() time.Duration { return s.policy.LockTTL }

// Release implements [worker.Source]: the wallet's next round is due at once.
func (s *slots) Release(r *round) result { return r.ended(result{}) }

// Panicked implements [worker.Source]: the wallet's next round is due an interval later.
func (s *slots) Panicked(r *round, _ any) result {
	return r.ended(result{again: time.Now().Add(s.policy.RefreshInterval)})
}

// Turn implements [worker.Source].
func (s *slots) Turn(ctx context.Context, done []result, n int) (items []worker.Item[*round], next time.Time, err error) {
	at := time.Now()
	mine, starts := s.ready(at, done, n)
	t, err := s.service.Turn(ctx, s.name, mine, n-starts)
	if err != nil {
		return nil, next, err
	}
	if t.Unreadable != nil && !at.Before(s.sweepAt) { // no more often than the sweep
		s.log.Error("wallets that cannot be served", "error", t.Unreadable)
	}
	s.sweep(ctx, at)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range mine { // an exit that was refused is no longer asked for
		if slot := s.all[mine[i].XpubVan]; slot != nil && !slices.Contains(t.Busy, mine[i].XpubVan) {
			slot.held.End = 0
		}
	}
	for _, xpub := range t.Gone {
		delete(s.all, xpub)
	}
	for _, h := range t.Claimed {
		s.all[h.XpubVan] = &slot{held: h}
		t.Started = append(t.Started, h.XpubVan)
	}
	for _, xpub := range t.Started {
		slot := s.all[xpub]
		r := &round{slots: s, xpub: xpub, log: s.log.With("wallet", xpub)}
		r.held.Slot = slot.held.Fence
		slot.running = r
		items = append(items, worker.Item[*round]{Key: xpub, Until: at.Add(s.policy.LockTTL), Work: r})
	}
	for _, slot := range s.all {
		if slot.running == nil && (next.IsZero() || slot.again.Before(next)) {
			next = slot.again
		}
	}
	return items, next, nil
}

// inOrder returns the slots, the one whose next round has been due longest first. The caller has the lock.
func (s *slots) inOrder() []*slot {
	return slices.SortedFunc(maps.Values(s.all), func(a, b *slot) int {
		return cmp.Or(a.again.Compare(b.again), cmp.Compare(a.held.XpubVan, b.held.XpubVan))
	})
}

// ready takes over the results of rounds. It returns the slots of which no round runs, and how
// many of them, at most n, start their next round now.
func (s *slots) ready(at time.Time, done []result, n int) (mine []store.HeldSlot, starts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range done {
		slot := s.all[r.of.xpub]
		if slot == nil || slot.running != r.of { // noted already, or the slot is lost, and perhaps another one was got since
			continue
		}
		slot.running, slot.again, slot.held.Due, slot.held.End = nil, r.again, r.due, r.end
		switch {
		case !r.idle:
			slot.idleSince = time.Time{}
		case slot.idleSince.IsZero() || slot.workSeq != r.workSeq:
			slot.idleSince, slot.workSeq = at, r.workSeq
		case r.end == 0 && s.policy.IdleOver(slot.idleSince, at):
			slot.held.End, slot.held.WorkSeq = refresh.EndIdle, slot.workSeq
		}
	}
	for _, slot := range s.inOrder() {
		if slot.running != nil {
			continue
		}
		h := slot.held
		h.Start = h.End == 0 && starts < n && !at.Before(slot.again)
		if h.Start {
			starts++
		}
		mine = append(mine, h)
	}
	return mine, starts
}

// Renew implements [worker.Source]: slot, job and lock of each round, on one beat.
func (s *slots) Renew(ctx context.Context, items []worker.Item[*round]) error {
	at := time.Now()
	held := make([]store.RefreshLease, len(items))
	for i := range items {
		held[i] = items[i].Work.lease()
	}
	lost, busy, err := s.service.Renew(ctx, held...)
	if err != nil {
		return err
	}
	var gone worker.LostError
	isLost := map[string]bool{}
	for _, xpub := range lost {
		isLost[xpub] = true
	}
	for i := range items {
		if isLost[items[i].Key] && items[i].Work.lease() == held[i] { // else it ended meanwhile
			gone.Keys = append(gone.Keys, items[i].Key)
			continue
		}
		if !isLost[items[i].Key] && !slices.Contains(busy, items[i].Key) {
			items[i].Until = at.Add(s.policy.LockTTL)
			items[i].Work.renewed(held[i].Lock, items[i].Until)
		}
	}
	if len(gone.Keys) > 0 {
		return &gone
	}
	return nil
}

// lost frees the slot of a round that never began.
func (s *slots) lost(r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot := s.all[r.xpub]; slot != nil && slot.running == r && !r.started.Load() {
		slot.running = nil
	}
}

// sweep deletes locks that have ended, and reconciles, once in LockTTL.
func (s *slots) sweep(ctx context.Context, now time.Time) {
	if now.Before(s.sweepAt) {
		return
	}
	s.sweepAt = now.Add(s.policy.LockTTL)
	if _, err := s.service.Sweep(ctx, 1000); err != nil {
		s.log.Warn("locks not swept", "error", err)
	}
	for after, limit := "", 10; ; {
		n, next, err := s.service.Reconcile(ctx, refresh.By{Actor: s.name, Role: refresh.Orchestrator}, after, limit)
		switch {
		case err != nil && limit > 1 && ctx.Err() == nil: // one that cannot be read stops no other
			limit = 1
			continue
		case err != nil:
			s.log.Warn("times that are too far ahead are not brought back", "error", err)
		case n > 0:
			s.log.Warn("the store's clock was ahead: times that were too far away are brought back", "wallets", n)
		}
		if after = next; after == "" {
			return
		}
	}
}

// release gives the slots back at the end, and what a dropped round left behind.
func (s *slots) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.policy.LockTTL/3)
	defer cancel()
	s.mu.Lock()
	var mine []store.HeldSlot
	for _, slot := range s.inOrder() {
		if slot.held.End != refresh.EndHung { // a round that hung says so
			slot.held.End = refresh.EndStop
		}
		mine = append(mine, slot.held)
	}
	s.mu.Unlock()
	if len(mine) > 0 {
		if _, err := s.service.Turn(ctx, s.name, mine, 0); err != nil {
			return err
		}
	}
	_, err := s.service.Revoke(ctx, refresh.By{Actor: s.name, Role: refresh.Worker}, statemachine.Revocation{Holder: s.name})
	return err
}
