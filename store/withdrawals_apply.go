package store

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// apply sends the events of commands to ws, saves, and leaves the new
// aggregates in ws.
func (s *Withdrawals) apply(tx WithdrawalTx, ws []withdrawal.Withdrawal, commands []HeldWithdrawal) error {
	if len(commands) == 0 {
		return nil
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	b := batch{policy: &s.policy, tx: tx, now: now, room: len(commands)}
	order := inOrderOfUsers(commands)
	// All first events come before the second ones: users are locked before wallets.
	for round, more := 0, true; more; round++ {
		more = false
		for _, i := range order {
			if events := commands[i].Events; round < len(events) {
				more = more || round+1 < len(events)
				if err := b.step(&ws[i], commands[i].Withdrawal.Request.ID, events[round]); err != nil {
					return err
				}
			}
		}
	}
	return b.save()
}

// inOrderOfUsers returns the indexes of commands such that submissions lock
// their users in one order everywhere, and before what locks wallets alone.
func inOrderOfUsers(commands []HeldWithdrawal) []int {
	order := make([]int, len(commands))
	for i := range order {
		order[i] = i
	}
	user := func(i int) uuid.UUID {
		if len(commands[i].Events) > 0 {
			if e, ok := commands[i].Events[0].(withdrawal.Submitted); ok {
				return e.User
			}
		}
		return uuid.Max
	}
	if len(order) > 1 {
		slices.SortStableFunc(order, func(i, j int) int {
			a, b := user(i), user(j)
			return bytes.Compare(a[:], b[:])
		})
	}
	return order
}

// batch collects the changes of one transaction.
type batch struct {
	policy  *withdrawal.Policy
	tx      WithdrawalTx
	now     time.Time
	room    int // changes to expect
	changes []withdrawal.Change
	at      map[uuid.UUID]int                    // where the change of a request is
	wallets map[uuid.UUID][]withdrawal.HotWallet // by chain, with what the batch did to them
}

// step applies one event to w, the aggregate of a request.
func (b *batch) step(w *withdrawal.Withdrawal, request uuid.UUID, ev withdrawal.Event) error {
	ev, err := b.fill(w, request, ev)
	if err != nil {
		return err
	}
	change, err := b.policy.ApplyAt(*w, ev, b.now)
	if err != nil {
		return err
	}
	if !change.Empty() {
		if err := b.reserve(&change); err != nil {
			return err
		}
		if err := b.add(&change); err != nil {
			return err
		}
	}
	*w = change.New
	return nil
}

// add takes the next change. One that follows another of its request is merged
// with it, so that each record is written once.
func (b *batch) add(c *withdrawal.Change) error {
	if i, ok := b.at[c.New.Request.ID]; ok {
		first := &b.changes[i]
		if merges(first, c) {
			first.New = c.New
			first.Log = slices.Concat(first.Log, c.Log)
			first.Txs = slices.Concat(first.Txs, c.Txs)
			first.Reservations = slices.Concat(first.Reservations, c.Reservations)
			first.Incidents = slices.Concat(first.Incidents, c.Incidents)
			return nil
		}
		if err := b.save(); err != nil {
			return err
		}
	}
	if b.changes == nil {
		b.changes, b.at = make([]withdrawal.Change, 0, b.room), make(map[uuid.UUID]int, b.room)
	}
	b.at[c.New.Request.ID] = len(b.changes)
	b.changes = append(b.changes, *c)
	return nil
}

// merges reports whether a change and the next one of its request can be saved
// as one: between them is nothing that a unique rule must see, a slot that was
// taken, and no job or attempt that the next one holds no longer.
func merges(c, next *withdrawal.Change) bool {
	job, a := &c.New.Job, c.Attempt()
	return job.Slot == c.Old.Job.Slot &&
		(job.ID == next.New.Job.ID || *job == c.Old.Job) &&
		(a == nil || a.Job == next.New.Attempt.Job && a.Fence == next.New.Attempt.Fence)
}

func (b *batch) save() error {
	if len(b.changes) == 0 {
		return nil
	}
	changes := b.changes
	b.changes, b.at, b.room = nil, nil, 0 // the store may keep the slice
	return b.tx.Withdrawals().Save(changes...)
}

// fill brings what an event needs from the store.
func (b *batch) fill(w *withdrawal.Withdrawal, request uuid.UUID, ev withdrawal.Event) (withdrawal.Event, error) {
	exists := w.Request.Status != 0
	var err error
	switch e := ev.(type) {
	case withdrawal.Submitted:
		if e.Request != request {
			return nil, wrongRequest(e.Request, request)
		}
		if !exists {
			err = b.usage(&e)
		}
		return e, err
	case withdrawal.Imported:
		if e.Request != request {
			return nil, wrongRequest(e.Request, request)
		}
		chain := e.Chain
		if exists {
			chain = w.Request.Chain
		}
		if e.Wallets == nil {
			e.Wallets, err = b.hotWallets(chain)
		}
		return e, err
	case withdrawal.Enqueued:
		if exists && e.Wallets == nil {
			e.Wallets, err = b.hotWallets(w.Request.Chain)
		}
		ev = e
	}
	if !exists {
		return nil, notFound(request, fmt.Sprintf("%T", ev))
	}
	return ev, err
}

func wrongRequest(got, want uuid.UUID) error {
	return fmt.Errorf("%w: the event is for request %s, the command for %s", statemachine.ErrInvalid, got, want)
}

// usage reads the sums of the windows. They have no end but the lock of the
// user: a request that is stored counts, whatever clock stamped it.
func (b *batch) usage(e *withdrawal.Submitted) error {
	limits := b.policy.Approval.Assets[e.Asset]
	if !b.policy.Approval.Enabled || len(limits.Windows) == 0 {
		return nil
	}
	e.At = b.now                     // one that is dated back would be outside the windows of the next
	if err := b.save(); err != nil { // earlier ones of the same user count
		return err
	}
	const ahead = 24 * time.Hour
	windows := slices.Clone(limits.Windows)
	for i := range windows {
		windows[i].Length = min(windows[i].Length, math.MaxInt64-ahead) + ahead
	}
	u, err := b.tx.Withdrawals().Usage(e.User, e.Asset, windows, b.now.Add(ahead))
	e.Usage.Sums = u.Sums
	return err
}

// hotWallets reads the candidates of a chain once.
func (b *batch) hotWallets(chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	if cached, ok := b.wallets[chain]; ok {
		return cached, nil
	}
	wallets, err := b.tx.Withdrawals().HotWallets(chain)
	if err != nil {
		return nil, err
	}
	if wallets == nil {
		wallets = []withdrawal.HotWallet{}
	}
	if b.wallets == nil {
		b.wallets = map[uuid.UUID][]withdrawal.HotWallet{}
	}
	b.wallets[chain] = wallets
	return wallets, nil
}

// reserve does to the loaded wallets what the store will do to their rows. A
// sum that is too long is a refusal of this change alone.
func (b *batch) reserve(c *withdrawal.Change) error {
	for _, r := range c.Reservations {
		wallets := []*withdrawal.HotWallet{&c.New.Wallet}
		for i := range b.wallets[c.New.Job.Chain] {
			wallets = append(wallets, &b.wallets[c.New.Job.Chain][i])
		}
		for _, w := range wallets {
			if w.ID != r.Wallet {
				continue
			}
			sum, err := w.BalanceReserved.Add(r.Delta())
			if err != nil {
				return &statemachine.Refusal{Err: statemachine.ErrInvalid, Machine: withdrawal.RequestMachine.Name(), ID: c.New.Request.ID.String(),
					State: c.Old.Request.Status.String(), Event: "reserve", Reason: fmt.Sprintf("the sum that hot wallet %s reserves: %v", r.Wallet, err)}
			}
			w.BalanceReserved = sum
			if w.LastUsedAt.Before(r.UsedAt) {
				w.LastUsedAt = r.UsedAt
			}
		}
	}
	return nil
}
