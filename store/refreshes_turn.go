package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/refresh"
)

// HeldSlot is a slot that a process has.
type HeldSlot struct {
	XpubVan string
	Fence   int64
	Since   time.Time // when the process got it, by the store's time
	Due     time.Time // from when its wallet waits for its next round, see [refresh.Slot]
	// End, if not zero, gives it back; WorkSeq belongs to [refresh.EndIdle].
	End     refresh.RoundEnd
	WorkSeq int64
	// Start: its next round is due, so its lease is renewed; otherwise it rests.
	Start bool
}

// Turned is what a [Refreshes.Turn] made of the slots of a process.
type Turned struct {
	Now     time.Time  // the store's
	Until   time.Time  // of the leases of Claimed and Started
	Claimed []HeldSlot // new ones, to start with
	Started []string   // of those that it had, renewed
	Gone    []string   // of those that it had: given back, or lost
	Busy    []string   // of those that it had: neither given back nor started, as another transaction has the wallet; ask again
	Waiting int        // wallets with due work and without a slot, before this turn
	// Unreadable names the waiting wallets with a time that cannot be read; nobody serves them.
	// It is set again in each turn; nil: there are none.
	Unreadable error
}

// Turn is one turn of an orchestrator. It gives back the slots of ended rounds, frees leases that
// have ended, and claims and yields slots as [refresh.Policy.Assign] says. mine are the slots of
// this process whose rounds are done; name is the holder of its leases; room is how many more
// slots it can take.
func (s *Refreshes) Turn(ctx context.Context, name string, mine []HeldSlot, room int) (t Turned, err error) {
	if err := refresh.ValidActor(name); err != nil { // else each of its events would be refused
		return Turned{}, err
	}
	mine = slices.Clone(mine)
	slices.SortFunc(mine, func(a, b HeldSlot) int { return strings.Compare(a.XpubVan, b.XpubVan) })
	err = s.update(ctx, func(tx RefreshUnit) error {
		turn := refreshTurn{Refreshes: s, tx: tx, name: name, gone: map[string]bool{}, busy: map[string]bool{}}
		t, err = turn.run(mine, room)
		return err
	})
	if err != nil {
		return Turned{}, err
	}
	s.alive(ctx, name)
	return t, nil
}

// refreshTurn is one run of a Turn.
type refreshTurn struct {
	*Refreshes
	tx   RefreshUnit
	b    *refreshBatch
	name string
	gone map[string]bool
	busy map[string]bool
}

func (t *refreshTurn) by(r refresh.Role) refresh.By { return refresh.By{Actor: t.name, Role: r} }

func (t *refreshTurn) run(mine []HeldSlot, room int) (done Turned, err error) {
	if err := t.giveBack(mine); err != nil {
		return done, err
	}
	records := t.tx.Refreshes()
	slots, err := records.Slots()
	if err != nil {
		return done, err
	}
	if t.b, err = t.batch(t.tx); err != nil {
		return done, err
	}
	done.Now, done.Until = t.b.now, t.b.now.Add(t.policy.LockTTL)
	waiting, unreadable, err := records.Waiting(done.Now, min(t.policy.Candidates(), MaxPage))
	if err != nil {
		return done, err
	}
	done.Unreadable = errors.Join(unreadable...)
	for i := range waiting {
		if waiting[i].Due(done.Now) {
			done.Waiting++
		}
	}
	ready := map[string]*HeldSlot{}
	for i := range mine {
		if h := &mine[i]; !t.gone[h.XpubVan] && !t.busy[h.XpubVan] { // what is to be given back is not yielded
			ready[h.XpubVan] = h
		}
	}
	for i := range slots {
		if h := ready[slots[i].XpubVan]; h != nil && slots[i].Lease.Holder == t.name && slots[i].Lease.Fence == h.Fence {
			slots[i].Ready, slots[i].Since, slots[i].Due = true, h.Since, h.Due
		}
	}
	if err := t.assign(&done, t.policy.Assign(refresh.Snapshot{Now: done.Now, Slots: slots, Waiting: waiting}, max(room, 0))); err != nil {
		return done, err
	}
	return done, t.start(&done, mine)
}

// giveBack ends the slots whose rounds asked for it. An idle exit that finds work is refused, and
// the slot stays. A wallet that another transaction has locked is left for the next turn, without
// waiting for it.
func (t *refreshTurn) giveBack(mine []HeldSlot) error {
	var ends []HeldSlot
	var xpubs []string
	for _, h := range mine {
		if h.End != 0 || h.Start { // those that start are locked now: in one order
			ends, xpubs = append(ends, h), append(xpubs, h.XpubVan)
		}
	}
	ws, err := t.tx.Refreshes().Free(xpubs...)
	if err != nil || len(ws) == 0 {
		return err
	}
	if t.b, err = t.batch(t.tx); err != nil {
		return err
	}
	for i, h := range ends {
		t.gone[h.XpubVan], t.busy[h.XpubVan] = lostOrBusy(&ws[i])
		if ws[i].Wallet.Status == 0 || h.End == 0 {
			continue
		}
		refused, err := t.b.try(&ws[i], h.XpubVan, refresh.RoundEnded{By: t.by(refresh.Worker), Slot: h.Fence, End: h.End, WorkSeq: h.WorkSeq})
		if err != nil {
			return err
		}
		t.gone[h.XpubVan] = refresh.SlotGone(refused)
	}
	return t.b.save()
}

// lostOrBusy reads a result of Free: lost, if there is no such wallet; busy, if another
// transaction has locked it.
func lostOrBusy(w *refresh.Work) (lost, busy bool) {
	return w.Wallet.XpubVan == "", w.Wallet.Status == 0 && w.Wallet.XpubVan != ""
}

// assign carries out an assignment, except for wallets that another transaction has locked and
// for numbers that are therefore not free.
func (t *refreshTurn) assign(done *Turned, a refresh.Assignment) error {
	xpubs := slices.Concat(a.Free, a.Yield)
	for _, c := range a.Claim {
		xpubs = append(xpubs, c.XpubVan)
	}
	slices.Sort(xpubs)
	ws, err := t.tx.Refreshes().Free(xpubs...)
	if err != nil {
		return err
	}
	byName := map[string]*refresh.Work{}
	for i, xpub := range xpubs {
		if ws[i].Wallet.Status != 0 {
			byName[xpub] = &ws[i]
		}
	}
	send := func(xpub string, ev refresh.Event) (bool, error) {
		w := byName[xpub]
		if w == nil {
			return false, nil
		}
		refused, err := t.b.try(w, xpub, ev)
		return err == nil && refused == nil, err
	}
	freed := map[string]bool{"": true}
	free := func(xpubs []string, ev func(*refresh.Work) refresh.Event) error {
		for _, xpub := range xpubs {
			if byName[xpub] == nil {
				continue
			}
			ok, err := send(xpub, ev(byName[xpub]))
			if err != nil {
				return err
			}
			if ok {
				freed[xpub], t.gone[xpub] = true, true
			}
		}
		return nil
	}
	if err := free(a.Free, func(*refresh.Work) refresh.Event { return refresh.SlotElapsed{By: t.by(refresh.Orchestrator)} }); err != nil {
		return err
	}
	err = free(a.Yield, func(w *refresh.Work) refresh.Event {
		return refresh.RoundEnded{By: t.by(refresh.Worker), Slot: w.Wallet.Lease.Fence, End: refresh.EndYield}
	})
	if err != nil {
		return err
	}
	for _, c := range a.Claim {
		if !freed[c.After] {
			continue
		}
		ok, err := send(c.XpubVan, refresh.SlotClaimed{By: t.by(refresh.Orchestrator), Slot: c.Number})
		if err != nil {
			return err
		}
		if ok {
			done.Claimed = append(done.Claimed, HeldSlot{XpubVan: c.XpubVan, Fence: byName[c.XpubVan].Wallet.Lease.Fence, Since: done.Now})
		}
	}
	return t.b.save()
}

// start renews the leases of the rounds that begin.
func (t *refreshTurn) start(done *Turned, mine []HeldSlot) error {
	var held []RefreshLease
	for _, h := range mine {
		if h.Start && !t.gone[h.XpubVan] && !t.busy[h.XpubVan] {
			held = append(held, RefreshLease{h.XpubVan, refresh.Fences{Slot: h.Fence}})
			done.Started = append(done.Started, h.XpubVan)
		}
	}
	lost, err := t.tx.Refreshes().Renew(done.Now, done.Until, held...)
	if err != nil {
		return err
	}
	for _, xpub := range lost {
		t.gone[xpub] = true
	}
	done.Started = slices.DeleteFunc(done.Started, func(xpub string) bool { return t.gone[xpub] })
	for _, h := range mine {
		switch {
		case t.gone[h.XpubVan]:
			done.Gone = append(done.Gone, h.XpubVan)
		case t.busy[h.XpubVan]:
			done.Busy = append(done.Busy, h.XpubVan)
		}
	}
	return nil
}

// Renew renews the leases that rounds hold, all for LockTTL from the store's time on. lost are
// the wallets of which a lease is gone. busy are the wallets that another transaction has locked:
// their leases are not renewed, and Renew does not wait for them.
func (s *Refreshes) Renew(ctx context.Context, held ...RefreshLease) (lost, busy []string, err error) {
	xpubs := mapped(held, func(l *RefreshLease) string { return l.XpubVan })
	err = s.update(ctx, func(tx RefreshUnit) error {
		lost, busy = nil, nil
		ws, err := tx.Refreshes().Free(xpubs...)
		if err != nil {
			return err
		}
		var free []RefreshLease
		for i := range held {
			if _, is := lostOrBusy(&ws[i]); is {
				busy = append(busy, held[i].XpubVan)
			} else {
				free = append(free, held[i])
			}
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		lost, err = tx.Refreshes().Renew(now, now.Add(s.policy.LockTTL), free...)
		return err
	})
	return lost, busy, err
}
