package memory

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Save implements [store.WithdrawalRecords].
func (w withdrawals) Save(changes ...withdrawal.Change) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	for _, gives := range []bool{true, false} { // slots are given back before others take them
		for i := range changes {
			if c := &changes[i]; givesSlot(c) == gives {
				if err := w.save(c); err != nil {
					return w.tx.fail(err)
				}
			}
		}
	}
	return nil
}

func givesSlot(c *withdrawal.Change) bool {
	return c.Old.Job.Slot.Valid && c.New.Job.Slot != c.Old.Job.Slot
}

func (w withdrawals) save(c *withdrawal.Change) error {
	if c.Old.Request.Version != c.New.Request.Version {
		if err := w.saveRequest(c); err != nil {
			return err
		}
	}
	if c.New.Job.ID != c.Old.Job.ID || c.New.Job.Version != c.Old.Job.Version || c.Touch() {
		if err := w.saveJob(c); err != nil {
			return err
		}
	}
	for _, t := range c.Txs {
		if err := w.addTx(t); err != nil {
			return err
		}
	}
	if a := c.Attempt(); a != nil {
		if err := w.putAttempt(*a); err != nil {
			return err
		}
	}
	for _, r := range c.Reservations {
		if err := w.reserve(r); err != nil {
			return err
		}
	}
	for _, t := range c.Log {
		if t.ID != c.New.Request.ID && t.ID != c.New.Job.ID {
			return fmt.Errorf("%w: the change of request %s has a line of %s in its log", statemachine.ErrInvalid, c.New.Request.ID, t.ID)
		}
		if err := w.log(t); err != nil {
			return err
		}
	}
	if r, j := &c.New.Request, &c.New.Job; int64(len(w.trails[r.ID])) != r.Version || int64(len(w.trails[j.ID])) != j.Version {
		return fmt.Errorf("%w: the change of request %s has versions without a line in its log", statemachine.ErrInvalid, r.ID)
	}
	for _, incident := range c.Incidents {
		w.addIncident(incident)
	}
	return nil
}

func conflict(machine string, id uuid.UUID, format string, args ...any) error {
	return &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: machine, ID: id.String(), Event: "save", Reason: fmt.Sprintf(format, args...)}
}

func (w withdrawals) saveRequest(c *withdrawal.Change) error {
	id := c.New.Request.ID
	stored := w.requests[id]
	var version int64
	if stored != nil {
		version = stored.Version
	}
	if version != c.Old.Request.Version {
		return conflict(withdrawal.RequestMachine.Name(), id, "expected version %d, stored is %d", c.Old.Request.Version, version)
	}
	r := c.New.Request
	w.do(func() { w.swapRequest(stored, &r) }, func() { w.swapRequest(&r, stored) })
	return nil
}

func (w withdrawals) saveJob(c *withdrawal.Change) error {
	old, j := &c.Old.Job, c.New.Job
	stored := w.jobs[j.ID]
	if j.ID != old.ID {
		if latest := w.latest(j.Request); latest != nil && latest.Status != withdrawal.JobFailed {
			return &withdrawal.TakenError{Err: withdrawal.ErrActiveJob, ID: latest.ID}
		}
		switch {
		case stored != nil:
			return conflict(withdrawal.JobMachine.Name(), j.ID, "the job exists")
		case w.requests[j.Request] == nil:
			return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: withdrawal.RequestMachine.Name(), ID: j.Request.String(), Event: "save"}
		}
	} else {
		switch {
		case stored == nil || stored.Version != old.Version:
			return conflict(withdrawal.JobMachine.Name(), j.ID, "expected version %d", old.Version)
		case stored.Lease.Fence != old.Lease.Fence:
			return &statemachine.Refusal{Err: statemachine.ErrFenced, Machine: withdrawal.JobMachine.Name(), ID: j.ID.String(), Event: "save",
				Reason: fmt.Sprintf("expected fence %d, stored is %d", old.Lease.Fence, stored.Lease.Fence)}
		case stored.Lease.Holder != old.Lease.Holder || !stored.NextCheckAt.Equal(old.NextCheckAt) || stored.Rebroadcast != old.Rebroadcast:
			return conflict(withdrawal.JobMachine.Name(), j.ID, "its lease was given back, or its next check was moved")
		}
		if j.Version == old.Version { // a touch
			touched := *stored
			touched.Lease, touched.NextCheckAt, touched.Rebroadcast = j.Lease, j.NextCheckAt, j.Rebroadcast
			j = touched
		}
		if j.Lease.Fence == stored.Lease.Fence && j.Lease.Holder == stored.Lease.Holder {
			j.Lease.Until = stored.Lease.Until
		}
	}
	if holder, taken := w.slots[j.Slot.UUID]; j.Slot.Valid && taken && holder != j.ID {
		return &withdrawal.TakenError{Err: withdrawal.ErrSlotTaken, ID: holder}
	}
	w.do(func() { w.swapJob(stored, &j) }, func() { w.swapJob(&j, stored) })
	return nil
}

func (w withdrawals) addTx(t withdrawal.Tx) error {
	all := w.txs[t.Request]
	if int(t.Seq) != len(all)+1 || slices.ContainsFunc(all, func(o withdrawal.Tx) bool { return o.Hash == t.Hash }) {
		return conflict(withdrawal.RequestMachine.Name(), t.Request, "transaction %d (%s) is on file, or the one before is not", t.Seq, t.Hash)
	}
	key := walletNonce{t.Wallet, t.Nonce}
	owner, taken := w.nonces[key]
	if t.HasNonce && taken && owner != t.Job {
		return &withdrawal.TakenError{Err: withdrawal.ErrNonceTaken, ID: owner}
	}
	next, had := w.nextNonce[t.Wallet]
	w.do(func() {
		w.txs[t.Request] = append(all[:len(all):len(all)], t)
		if t.HasNonce {
			w.nonces[key] = t.Job
			w.nextNonce[t.Wallet] = max(next, t.Nonce+1)
		}
	}, func() {
		w.txs[t.Request] = all
		if t.HasNonce && !taken {
			delete(w.nonces, key)
		}
		restore(w.nextNonce, t.Wallet, next, had)
	})
	return nil
}

func (w withdrawals) putAttempt(a withdrawal.Attempt) error {
	all := w.attempts[a.Job]
	changed := slices.Clone(all)
	i, exists := w.attempt(a.Job, a.Fence)
	switch {
	case !exists:
		changed = slices.Insert(changed, i, a)
	case !all[i].EndedAt.IsZero() && all[i] != a:
		return conflict(withdrawal.JobMachine.Name(), a.Job, "execution %d is closed", a.Fence)
	default:
		a.Worker, a.StartedAt = all[i].Worker, all[i].StartedAt
		changed[i] = a
	}
	w.do(func() { w.attempts[a.Job] = changed }, func() { w.attempts[a.Job] = all })
	return nil
}

func (w withdrawals) reserve(r withdrawal.Reservation) error {
	row := w.wallets[r.Wallet]
	if row == nil {
		return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "hot wallet", ID: r.Wallet.String(), Event: "reserve"}
	}
	wallet := *row
	var err error
	if wallet.BalanceReserved, err = wallet.BalanceReserved.Add(r.Delta()); err != nil {
		return err
	}
	if wallet.LastUsedAt.Before(r.UsedAt) {
		wallet.LastUsedAt = r.UsedAt
	}
	w.setWallet(wallet)
	return nil
}

func (w withdrawals) setWallet(wallet withdrawal.HotWallet) {
	old, had := w.wallets[wallet.ID]
	w.do(func() { w.wallets[wallet.ID] = &wallet }, func() { restore(w.wallets, wallet.ID, old, had) })
}

func (w withdrawals) log(t statemachine.Transition[uuid.UUID]) error {
	trail, feed := w.trails[t.ID], w.feed
	if t.Version != int64(len(trail))+1 {
		return fmt.Errorf("%w: %s %s: version %d of the log does not follow %d", statemachine.ErrInvalid, t.Machine, t.ID, t.Version, len(trail))
	}
	w.do(func() {
		w.trails[t.ID] = append(trail, t)
		w.withdrawalTables.feed = append(feed, line{t.ID, t.Version})
	}, func() {
		w.trails[t.ID] = trail
		w.withdrawalTables.feed = feed
	})
	return nil
}

func (w withdrawals) addIncident(i withdrawal.Incident) {
	key := incidentKey{i.Request, i.Hash, i.Claim, i.BlockHash}
	if w.known[key] {
		return
	}
	old, mined := w.incidents, w.mined[i.Request]
	w.do(func() {
		w.known[key] = true
		w.mined[i.Request] = mined || i.Claim == withdrawal.ClaimMined
		w.withdrawalTables.incidents = append(old, i)
	}, func() {
		delete(w.known, key)
		w.mined[i.Request] = mined
		w.withdrawalTables.incidents = old
	})
}

// Renew implements [store.WithdrawalRecords].
func (w withdrawals) Renew(now time.Time, leases ...store.JobLease) (lost []uuid.UUID, err error) {
	if err := w.tx.writes(); err != nil {
		return nil, err
	}
	for _, l := range leases {
		stored := w.jobs[l.Job]
		if stored == nil || stored.Lease.Fenced(l.Fence, now) != nil {
			lost = append(lost, l.Job)
			continue
		}
		j := *stored
		j.Lease.Until = l.Until
		w.do(func() { w.swapJob(stored, &j) }, func() { w.swapJob(&j, stored) })
	}
	return lost, nil
}

// do makes one change and remembers how to take it back.
func (w withdrawals) do(change, undo func()) {
	change()
	w.tx.undo = append(w.tx.undo, undo)
}

// swapRequest replaces a row; nil stands for none.
func (w *withdrawalTables) swapRequest(old, now *withdrawal.Request) {
	w.reindex(requestKeys(old), requestKeys(now))
	if now == nil {
		delete(w.requests, old.ID)
		return
	}
	w.requests[now.ID] = now
}

// swapJob replaces a row; nil stands for none.
func (w *withdrawalTables) swapJob(old, now *withdrawal.Job) {
	w.reindex(jobKeys(old), jobKeys(now))
	if old != nil && old.Slot.Valid {
		delete(w.slots, old.Slot.UUID)
	}
	switch {
	case now == nil:
		delete(w.jobs, old.ID)
		ids := w.jobsOf[old.Request]
		w.jobsOf[old.Request] = ids[:len(ids)-1]
		return
	case old == nil:
		w.jobsOf[now.Request] = append(w.jobsOf[now.Request], now.ID)
	}
	w.jobs[now.ID] = now
	if now.Slot.Valid {
		w.slots[now.Slot.UUID] = now.ID
	}
}

func restore[K comparable, V any](m map[K]V, key K, old V, had bool) {
	if had {
		m[key] = old
	} else {
		delete(m, key)
	}
}
