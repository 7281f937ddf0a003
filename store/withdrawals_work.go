package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// WithdrawalSource is work on withdrawals for [worker.Run]: see
// [Withdrawals.Payments] and [Withdrawals.Lookups].
type WithdrawalSource interface {
	worker.Source[withdrawal.Withdrawal, HeldWithdrawal]
}

// Payments is the work of a withdrawal worker on one chain: due executions, in the order of [withdrawal.CompareClaims],
// and confirming jobs whose bytes are owed another broadcast, in the order of [withdrawal.CompareRebroadcasts]. The
// broadcasts get the first half of a claim, since a later nonce cannot be mined before an earlier one; claims of one
// item alternate.
//
// An item is a claimed aggregate, in processing or in confirming. Its lease lasts [withdrawal.Policy.Lease] and belongs
// to name, which no other process may use. Sources of one service may share a name, also with [Batches.Payments] of
// this service: what the name holds is given back when the last of them ends. For an item in processing
// [withdrawal.Policy.Next] says what it owes. For an item in confirming the handler sends the bytes of the newest of
// Live again, or a replacement that it stored first ([withdrawal.Rebumped]), and returns [withdrawal.Rebroadcast]; Next
// names this work only while nobody has claimed it. The handler stores its intent ([withdrawal.Prepared] or Dispatched)
// with [Withdrawals.DoHeld] before it sends anything, and returns the last event, such as Broadcast, with the aggregate
// that DoHeld returned. A result without events leaves the lease to expire. A result that meets another version is
// judged by what is stored.
//
// A result that is refused is dropped, and Hooks.Refused of [worker.Options] is called. A Broadcast that was refused
// for its nonce ([withdrawal.ErrNonceTaken], [withdrawal.ErrNonceUsed]) still reports a transaction: in Hooks.Refused
// send it again, with [Withdrawals.Do] and without the nonce, or the operator who gets the job does not have the hash.
//
// Keys are the wallet for an execution on a chain with nonces, else the job.
func (s *Withdrawals) Payments(chain uuid.UUID, name string) WithdrawalSource {
	return s.payments(chain, name)
}

func (s *Withdrawals) payments(chain uuid.UUID, name string) *payments {
	return &payments{Withdrawals: s, chain: chain, holder: s.runs.holds(name, chain.String()), nonces: s.policy.ChainOf(chain).Nonces}
}

type payments struct {
	*Withdrawals
	holder
	chain  uuid.UUID
	nonces bool
	again  atomic.Bool // the last claim of one was a re-broadcast
}

func (p *payments) by() withdrawal.By {
	return withdrawal.By{Actor: p.name, Role: withdrawal.WithdrawalWorker}
}

func (p *payments) Turn(ctx context.Context, done []HeldWithdrawal,
	n int) (all []worker.Item[withdrawal.Withdrawal], next time.Time, err error) {
	if p.chain == uuid.Nil {
		return nil, next, fmt.Errorf("%w: payments are of one chain", statemachine.ErrInvalid)
	}
	both := func(b *withdrawalBatch) (all []worker.Item[withdrawal.Withdrawal], wait time.Duration, err error) {
		wait = p.policy.Lease
		again := DueWithdrawals{Kind: withdrawal.DueRebroadcast, Chain: p.chain, Now: b.now,
			Limit: withdrawal.RebroadcastShare(n, p.again.Load())}
		first := DueWithdrawals{Kind: withdrawal.DueClaim, Chain: p.chain, Now: b.now, Sequential: p.nonces}
		kinds := []*DueWithdrawals{&again, &first}
		if !p.policy.Begins(p.chain) { // what is out goes on
			again.Limit, kinds = n, kinds[:1]
		}
		if again.Limit == 0 {
			slices.Reverse(kinds)
		}
		item := func(w *withdrawal.Withdrawal, _ time.Time) (string, withdrawal.Withdrawal) { return p.key(&w.Job), *w }
		refused := func(w *withdrawal.Withdrawal) error { return p.putOff(b, w) }
		for _, q := range kinds {
			if q.Limit == 0 {
				q.Limit = n - len(all)
			}
			if q.Limit == 0 {
				wait = 0
				continue
			}
			items, more, err := p.claim(b, *q, withdrawal.Claimed{By: p.by()}, p.policy.Lease, item, refused)
			if err != nil {
				return nil, 0, err
			}
			all, wait = append(all, items...), min(wait, more)
		}
		return all, wait, nil
	}
	// Another worker may take a wallet between the look at its slot and the
	// claim: then look again.
	for range 3 {
		if all, next, err = items(ctx, &p.withdrawalCore, p.holder, heldWithdrawals(done), n, both); !errors.Is(err, withdrawal.ErrSlotTaken) {
			break
		}
	}
	if n == 1 && len(all) == 1 {
		p.again.Store(all[0].Work.Job.Status == withdrawal.JobConfirming)
	}
	return all, next, err
}

// claim claims one kind of due work by an event.
func (s *Withdrawals) claim(b *withdrawalBatch, q DueWithdrawals, ev withdrawal.Event, lease time.Duration,
	item func(*withdrawal.Withdrawal, time.Time) (string, withdrawal.Withdrawal),
	refused func(*withdrawal.Withdrawal) error) ([]worker.Item[withdrawal.Withdrawal], time.Duration, error) {
	return claim(b, claims[withdrawal.Withdrawal, withdrawal.Event, withdrawal.Withdrawal]{
		due:   func() ([]withdrawal.Withdrawal, error) { return s.due(b.tx, q) },
		next:  func() (time.Time, error) { return b.tx.Withdrawals().NextDue(q) },
		claim: ev, lease: lease, most: s.policy.Lease, item: item, refused: refused,
	}, q.Limit)
}

// ShortestLease implements [worker.Source].
func (p *payments) ShortestLease() time.Duration { return p.policy.Lease }

func (p *payments) key(j *withdrawal.Job) string {
	if p.nonces && j.Status == withdrawal.JobProcessing {
		return j.Wallet.String()
	}
	return j.ID.String()
}

func (p *payments) Renew(ctx context.Context, items []worker.Item[withdrawal.Withdrawal]) error {
	return renewLeases(ctx, p.update, items, p.policy.Lease, jobLease, func(tx WithdrawalUnit, now time.Time,
		leases ...Lease[uuid.UUID]) ([]uuid.UUID, error) {
		return tx.Withdrawals().Renew(now, leases...)
	})
}

func jobLease(w *withdrawal.Withdrawal) Lease[uuid.UUID] {
	return Lease[uuid.UUID]{ID: w.Job.ID, Fence: w.Job.Lease.Fence}
}

// Revoke implements [worker.Revoking].
func (p *payments) Revoke(ctx context.Context) error {
	return p.end(func() (int, error) { return p.revokeOf(ctx, p.chain, p.by(), statemachine.Revocation{Holder: p.name}) })
}

func (p *payments) Release(w withdrawal.Withdrawal) HeldWithdrawal {
	return HeldWithdrawal{w, []withdrawal.Event{w.GivenBack(p.by())}}
}

func (p *payments) Panicked(w withdrawal.Withdrawal, value any) HeldWithdrawal {
	return HeldWithdrawal{w, []withdrawal.Event{w.Abandoned(p.by(), fmt.Sprintf("the handler panicked: %v", value))}}
}

// Lookups is the work of a confirmation worker on one chain, or on every chain for the zero id: confirming jobs whose
// next check is due. While a job is looked up its next check is put off ([withdrawal.Looking]), so that no other worker
// takes it. A job that is owed another broadcast is left to [Withdrawals.Payments] for one
// [withdrawal.Policy.CheckEvery] more.
//
// The handler looks all live transactions up, see [withdrawal.DoLookUp], and returns what the chain says of each; if
// one of them is mined, only of that one. Evidence does not depend on the version that it was looked up for: it is
// judged by what is stored then. The key is the job.
// The page docs/lookups.md of the module writes the handler for a chain with nonces.
func (s *Withdrawals) Lookups(chain uuid.UUID, name string) WithdrawalSource {
	return &lookups{s, holder{name: name}, chain}
}

type lookups struct {
	*Withdrawals
	holder
	chain uuid.UUID
}

// ShortestLease implements [worker.Source].
func (l *lookups) ShortestLease() time.Duration { return l.policy.CheckEvery }

func (l *lookups) by() withdrawal.By {
	return withdrawal.By{Actor: l.name, Role: withdrawal.ConfirmationWorker}
}

func (l *lookups) Turn(ctx context.Context, done []HeldWithdrawal, n int) ([]worker.Item[withdrawal.Withdrawal], time.Time, error) {
	found := mapped(done, func(h *HeldWithdrawal) HeldWithdrawal {
		seen := func(ev *withdrawal.Event) withdrawal.Event { return l.policy.LookedUp(*ev, &h.Withdrawal) }
		return HeldWithdrawal{h.Withdrawal, mapped(h.Events, seen)}
	})
	return items(ctx, &l.withdrawalCore, l.holder, heldWithdrawals(found), n,
		func(b *withdrawalBatch) ([]worker.Item[withdrawal.Withdrawal], time.Duration, error) {
			q := DueWithdrawals{Kind: withdrawal.DueCheck, Chain: l.chain, Now: b.now, Limit: n, Grace: l.policy.CheckEvery}
			item := func(w *withdrawal.Withdrawal, _ time.Time) (string, withdrawal.Withdrawal) {
				return w.Job.ID.String(), *w
			}
			return l.claim(b, q, withdrawal.Looking{By: l.by()}, l.policy.CheckEvery, item, nil)
		})
}

// Renew puts the next check off once more. A job that confirms no longer is
// lost.
func (l *lookups) Renew(ctx context.Context, items []worker.Item[withdrawal.Withdrawal]) error {
	return extend(ctx, &l.withdrawalCore, items, l.policy.CheckEvery, func(w *withdrawal.Withdrawal) *withdrawal.Withdrawal { return w },
		withdrawal.Event(withdrawal.Looking{By: l.by()}),
		func(was, is *withdrawal.Withdrawal) bool {
			return is.Job.ID == was.Job.ID && is.Job.Status == withdrawal.JobConfirming
		})
}

// Release lets the look-up be made when the next check is due again.
func (l *lookups) Release(w withdrawal.Withdrawal) HeldWithdrawal {
	return HeldWithdrawal{Withdrawal: w}
}

// Panicked does what Release does: nothing was learnt.
func (l *lookups) Panicked(w withdrawal.Withdrawal, _ any) HeldWithdrawal { return l.Release(w) }
