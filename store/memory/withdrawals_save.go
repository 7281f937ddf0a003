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
	return saveFreed(w.tx, changes, (*withdrawal.Change).FreesSlot, w.save)
}

func (w withdrawals) save(c *withdrawal.Change) error {
	if err := c.Complete(); err != nil {
		return err
	}
	head := w.requests.at[c.New.Request.ID]
	switch r := c.New.Request; {
	case c.Old.Request.Version != r.Version:
		if err := w.requests.save(w.tx, c.Old.Request.Version, &r); err != nil {
			return err
		}
	case head == nil && c.New.Job.ID != c.Old.Job.ID: // said below
	case head == nil || head.Version != r.Version:
		return conflict(withdrawal.RequestMachine.Name(), r.ID, "expected version %d", r.Version)
	case c.TouchRequest():
		if !head.OfferAt.Equal(c.Old.Request.OfferAt) {
			return conflict(withdrawal.RequestMachine.Name(), r.ID, "its due time was moved")
		}
		touched := *head
		touched.OfferAt = r.OfferAt
		if err := w.requests.put(w.tx, &touched); err != nil {
			return err
		}
	}
	if c.New.Job.ID != c.Old.Job.ID || c.New.Job.Version != c.Old.Job.Version || c.Touch() {
		if err := w.saveJob(c); err != nil {
			return err
		}
	}
	for i := range c.Txs {
		if err := w.addTx(c, &c.Txs[i]); err != nil {
			return err
		}
	}
	for _, s := range c.Strays {
		if err := w.putStray(c, s); err != nil {
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
	if err := w.add(w.tx, c.Log); err != nil {
		return err
	}
	for _, incident := range c.Incidents {
		w.addIncident(incident)
	}
	return nil
}

func (w withdrawals) saveJob(c *withdrawal.Change) error {
	old, j := &c.Old.Job, c.New.Job
	if j.ID != old.ID {
		if w.requests.at[j.Request] == nil {
			return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: withdrawal.RequestMachine.Name(),
				ID: j.Request.String(), Event: "save"}
		}
		if err := w.jobs.insert(w.tx, &j); err != nil {
			return err
		}
		set(w.tx, w.jobsOf, j.Request, append(w.jobsOf[j.Request], j.ID))
		return nil
	}
	stored := w.jobs.at[j.ID]
	if stored == nil || stored.Version != old.Version {
		return conflict(withdrawal.JobMachine.Name(), j.ID, "expected version %d", old.Version)
	}
	if err := sameLease(withdrawal.JobMachine.Name(), j.ID, stored.Lease, old.Lease, &j.Lease); err != nil {
		return err
	}
	if !stored.OfferAt.Equal(old.OfferAt) || !stored.NextCheckAt.Equal(old.NextCheckAt) || stored.Rebroadcast != old.Rebroadcast {
		return conflict(withdrawal.JobMachine.Name(), j.ID, "its next check was moved")
	}
	if j.Version == old.Version { // a touch
		touched := *stored
		touched.Lease, touched.OfferAt, touched.NextCheckAt, touched.Rebroadcast = j.Lease, j.OfferAt, j.NextCheckAt, j.Rebroadcast
		j = touched
	}
	return w.jobs.put(w.tx, &j)
}

// sameLease refuses a lease that was read and is stored no more. The end of one
// that somebody keeps stays: a writer may know an older one.
func sameLease(machine string, id any, stored, old statemachine.Lease, now *statemachine.Lease) error {
	switch {
	case stored.Fence != old.Fence:
		return &statemachine.Refusal{Err: statemachine.ErrFenced, Machine: machine, ID: fmt.Sprint(id), Event: "save",
			Reason: fmt.Sprintf("expected fence %d, stored is %d", old.Fence, stored.Fence)}
	case stored.Holder != old.Holder:
		return conflict(machine, id, "its lease was given back")
	case now.Fence == stored.Fence && now.Holder == stored.Holder:
		now.Until = stored.Until
	}
	return nil
}

func (w withdrawals) addTx(c *withdrawal.Change, t *withdrawal.Tx) error {
	all := w.txs[t.Request]
	if int(t.Seq) != len(all)+1 || slices.ContainsFunc(all, func(o withdrawal.Tx) bool { return o.Hash == t.Hash }) {
		return conflict(withdrawal.RequestMachine.Name(), t.Request, "transaction %d (%s) is on file, or the one before is not", t.Seq, t.Hash)
	}
	if t.Batch != uuid.Nil {
		w.addMember(t.Batch, t.Request)
	}
	if c.OwnsNonce(t) {
		if err := w.takeNonce(t.Wallet, t.Nonce, nonceOwner{job: t.Job}); err != nil {
			return err
		}
	}
	set(w.tx, w.txs, t.Request, append(all, *t))
	return w.pay(c.New.Request.Chain, t.Hash, payment{t.Request, t.ByOutput, t.Output})
}

// putStray inserts a stray, or settles one.
func (w withdrawals) putStray(c *withdrawal.Change, s withdrawal.Stray) error {
	all := slices.Clone(w.strays[s.Request])
	switch i := int(s.Seq) - 1; {
	case i == len(all):
		all = append(all, s)
	case i > len(all) || !all[i].SettledAt.IsZero() || all[i].Hash != s.Hash:
		return conflict(withdrawal.RequestMachine.Name(), s.Request, "stray %d (%s) is settled, or another", s.Seq, s.Hash)
	default:
		all[i].SettledAt = s.SettledAt
	}
	if s.Seq > c.Old.Request.StraysOnFile && c.OwnsStrayNonce(&s) {
		if err := w.takeNonce(s.Wallet, s.Nonce, nonceOwner{job: s.Job}); err != nil {
			return err
		}
	}
	set(w.tx, w.strays, s.Request, all)
	return w.pay(c.New.Request.Chain, s.Hash, payment{s.Request, s.ByOutput, s.Output})
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
	set(w.tx, w.attempts, a.Job, changed)
	return nil
}

func (w withdrawals) reserve(r withdrawal.Reservation) error {
	row := w.wallets.at[r.Wallet]
	if row == nil {
		return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "hot wallet", ID: r.Wallet.String(), Event: "reserve"}
	}
	wallet := *row
	wallet.Reserve(r)
	return w.wallets.put(w.tx, &wallet)
}

func (w withdrawals) addIncident(i withdrawal.Incident) {
	key := incidentOf(&i)
	if w.known[key] {
		return
	}
	set(w.tx, w.known, key, true)
	assign(w.tx, &w.withdrawalTables.incidents, append(w.incidents, i))
}

// Renew implements [store.WithdrawalRecords].
func (w withdrawals) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) ([]uuid.UUID, error) {
	return renewAll(w.tx, w.jobs, now, leases, func(j *withdrawal.Job) *statemachine.Lease { return &j.Lease })
}
