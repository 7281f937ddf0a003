package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/withdrawal"
)

// Batches pays several requests by one transaction: it runs the rules of package withdrawal about batches on a store,
// as [Withdrawals] runs the rules about requests, and has the same policy. A host that pays each request alone needs
// neither this service nor [BatchRecords].
type Batches struct {
	payoutCore
	members *Withdrawals
	policy  withdrawal.Policy
}

type (
	payoutCore    = core[BatchUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]
	payoutBatch   = batch[BatchUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]
	payoutCommand = command[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]
)

// NewBatches returns the service for a store of any transaction type that has batches. A policy
// that [withdrawal.Policy.Validate] refuses is [statemachine.ErrInvalid].
func NewBatches[T BatchUnit](s Store[T], p withdrawal.Policy) (*Batches, error) {
	members, err := NewWithdrawals(s, p)
	if err != nil {
		return nil, err
	}
	b := &Batches{newCore(s, payoutAggregate(&p), func(tx T) BatchUnit { return tx }), members, p}
	b.lives = members.lives
	return b, nil
}

// Withdrawals returns the service of the requests, on the same store and with the same policy. Of
// this one [Withdrawals.Payments] may have the name of [Batches.Payments].
func (s *Batches) Withdrawals() *Withdrawals { return s.members }

// Within returns the service inside a transaction that the caller has begun and will end, as
// [Withdrawals.Within] does.
func (s *Batches) Within(tx BatchUnit) *Batches {
	return &Batches{s.within(tx), s.members.Within(tx), s.policy}
}

// Policy returns the policy of the service.
func (s *Batches) Policy() withdrawal.Policy { return s.policy }

// payoutRecords are the records of batches, whose lines are in the feed of withdrawals.
type payoutRecords struct {
	BatchRecords
	Feed[uuid.UUID]
}

// payoutAggregate is a batch with its members as the core sees it. The members
// have trails of their own; every save compares their versions.
func payoutAggregate(p *withdrawal.Policy) *aggregate[BatchUnit, uuid.UUID, uuid.UUID, withdrawal.Payout,
	withdrawal.BatchEvent, withdrawal.BatchChange] {
	return &aggregate[BatchUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]{
		domain: DomainWithdrawals,
		records: func(tx BatchUnit) records[uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchChange] {
			return payoutRecords{tx.Batches(), tx.Withdrawals()}
		},
		machines: []machine[uuid.UUID]{machineOf[uuid.UUID](withdrawal.BatchMachine)},
		id:       batchID,
		exists:   func(b *withdrawal.Payout) bool { return b.Batch.Status != 0 },
		states: func(b *withdrawal.Payout) []state[uuid.UUID] {
			h := &b.Batch
			return []state[uuid.UUID]{{withdrawal.BatchMachine.Name(), h.ID, h.Version, h.Status.String()}}
		},
		creates: func(ev withdrawal.BatchEvent) (uuid.UUID, bool) {
			e, ok := ev.(withdrawal.BatchPrepared)
			return e.Batch, ok
		},
		apply:  p.ApplyBatch,
		result: func(c *withdrawal.BatchChange) *withdrawal.Payout { return &c.New },
		empty:  (*withdrawal.BatchChange).Empty,
		kept:   unknownOutbound[BatchUnit](p),
		signed: (*withdrawal.Payout).Signed,
		beside: func(b *payoutBatch) beside[withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange] {
			return &payees{payoutBatch: b}
		},
	}
}

// payees reads whom the events of a batch concern.
type payees struct {
	*payoutBatch
	chains asked
}

// fill loads the requests that a new batch pays, asks the switch of its chain, and looks
// up whose a transaction is that is none of the batch.
func (b *payees) fill(p *withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchEvent, error) {
	var err error
	p.Level, p.Recovering, p.Owner, p.Generation, p.Said = 0, false, uuid.NullUUID{}, 0, nil
	ask := func(chain uuid.UUID) error {
		state, err := b.chains.state(b.tx, switches.Chain(chain))
		p.Level, p.Recovering, p.Generation = state.Level, state.Recovering, state.Generation
		return err
	}
	switch e := ev.(type) {
	case withdrawal.BatchReplaced:
		err = ask(p.Batch.Chain)
	case withdrawal.BatchPrepared:
		if p.Batch.Status == 0 && len(e.Pays) <= withdrawal.MaxMembers {
			p.Members, err = b.tx.Withdrawals().Get(mapped(e.Pays, func(p *withdrawal.Pay) uuid.UUID { return p.Request })...)
			for i := range p.Members {
				if err == nil && p.Members[i].Job.Batch == e.Batch && e.Batch != uuid.Nil { // made since the batch was read
					err = &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: withdrawal.BatchMachine.Name(),
						ID: e.Batch.String(), Event: "prepare"}
				}
			}
			if i := slices.IndexFunc(p.Members, func(w withdrawal.Withdrawal) bool { return w.Request.Chain != uuid.Nil }); err == nil && i >= 0 {
				err = ask(p.Members[i].Request.Chain) // another chain than the batch's is refused
				if next := p.Members[i].Wallet.NextNonce; err == nil && e.HasChainNonce &&
					(e.ChainNonce > next || next == 0) {
					p.Said, err = b.tx.HotWallets().Statements(p.Members[i].Request.Chain, 0)
				}
			}
		}
	case withdrawal.BatchMined:
		if p.NamesOthers(e.Tx) {
			if err = ask(p.Batch.Chain); err == nil {
				p.Owner, err = b.tx.Withdrawals().PaidRequest(uuid.Nil, p.Batch.Chain, e.Tx, false, 0)
			}
			if err == nil {
				p.Said, err = b.tx.HotWallets().Statements(p.Batch.Chain, 0)
			}
		}
		outputs := p.PaidOutputs(&e)
		for i := range p.Members {
			w := &p.Members[i]
			if w.Owner = (uuid.NullUUID{}); err == nil && outputs[i] >= 0 && w.NamesOthers(e.Tx) {
				w.Owner, err = b.tx.Withdrawals().PaidRequest(w.Request.ID, p.Batch.Chain, e.Tx, true, uint32(outputs[i]))
			}
		}
	}
	return ev, err
}

func (b *payees) follow(c *withdrawal.BatchChange) error { return switchOff(b.tx, c.Said) }

// BatchCommand is one or more events for one batch, in order.
type BatchCommand struct {
	Batch  uuid.UUID
	Events []withdrawal.BatchEvent
}

// Do sends events to a batch, in order, with all members that they concern, and returns the batch as it is stored
// afterwards; see [withdrawal.Policy.ApplyBatch]. [withdrawal.BatchPrepared] makes a batch that does not exist; any
// other event for such a batch is [statemachine.ErrNotFound]. An error of one event changes nothing at all: nothing of
// a refused BatchPrepared may be sent. An operator's events are in the journal, refused ones too, as for
// [Withdrawals.Do].
func (s *Batches) Do(ctx context.Context, batch uuid.UUID, events ...withdrawal.BatchEvent) (withdrawal.Payout, error) {
	return only(s.DoAll(ctx, BatchCommand{batch, events}))
}

// DoAll is [Batches.Do] for many batches in one transaction: all of it or, with the first error,
// nothing. A batch may come once, and so may a request among their members; the batches are in the
// order of the commands.
func (s *Batches) DoAll(ctx context.Context, commands ...BatchCommand) ([]withdrawal.Payout, error) {
	return s.do(ctx, mapped(commands, func(c *BatchCommand) payoutCommand { return payoutCommand{id: c.Batch, events: c.Events} }))
}

func batchID(p *withdrawal.Payout) uuid.UUID { return p.Batch.ID }

// Get returns a batch with its members, [statemachine.ErrNotFound] for an
// unknown one.
func (s *Batches) Get(ctx context.Context, batch uuid.UUID) (withdrawal.Payout, error) {
	return read(ctx, s.view, func(tx BatchUnit) (withdrawal.Payout, error) { return s.get(tx, batch) })
}

// Next says what a batch owes now, see [withdrawal.Policy.NextBatch].
func (s *Batches) Next(ctx context.Context, batch uuid.UUID) (step withdrawal.Step, now time.Time, err error) {
	return next(ctx, &s.payoutCore, batch, func(tx BatchUnit, p withdrawal.Payout, now time.Time) (withdrawal.Step, error) {
		state, err := tx.Switches().Ask(switches.Chain(p.Batch.Chain))
		p.Level = state.Level
		return s.policy.NextBatch(p, now), err
	})
}

// List is [Withdrawals.List] for batches, see [withdrawal.Filter.HasBatch].
func (s *Batches) List(ctx context.Context, q ListBatches) ([]withdrawal.Payout, error) {
	return readNow(ctx, s.view, func(tx BatchUnit, now time.Time) ([]withdrawal.Payout, error) {
		q := q
		if q.Now.IsZero() {
			q.Now = now
		}
		return tx.Batches().List(q)
	})
}

// ByHash is [Withdrawals.ByHash] for batches: every version leads to its
// batch, also one that pays nobody.
func (s *Batches) ByHash(ctx context.Context, hash string) ([]uuid.UUID, error) {
	return read(ctx, s.view, func(tx BatchUnit) ([]uuid.UUID, error) { return tx.Batches().ByHash(hash) })
}

// Trail is [Withdrawals.Trail] for a batch. [Withdrawals.Follow] has the transitions of batches too.
func (s *Batches) Trail(ctx context.Context, batch uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return s.trail(ctx, batch)
}

// Verify is [Batches.Trail] for its check alone.
func (s *Batches) Verify(ctx context.Context, batch uuid.UUID) error {
	_, err := s.Trail(ctx, batch)
	return err
}

// Audit is [Withdrawals.Audit] for batches and their members, see
// [withdrawal.CheckBatch].
func (s *Batches) Audit(ctx context.Context, after string, limit int) (place string, err error) {
	return auditByID(ctx, &s.payoutCore, after, func(tx BatchUnit, id uuid.UUID) ([]uuid.UUID, error) {
		return tx.Batches().IDs(id, limit)
	}, withdrawal.CheckBatch)
}

// Revoke is [Withdrawals.Revoke] for the batches that a worker holds, to send them again. The
// requests that it has claimed as members of a new one are among those of Withdrawals.Revoke.
func (s *Batches) Revoke(ctx context.Context, by withdrawal.By, of statemachine.Revocation) (n int, err error) {
	return s.revokeOf(ctx, uuid.Nil, by, of)
}

func (s *Batches) revokeOf(ctx context.Context, chain uuid.UUID, by withdrawal.By, of statemachine.Revocation) (int, error) {
	ev := withdrawal.BatchRevoked{By: by, Revocation: of}
	if err := of.Check(by.Actor, by.Role == withdrawal.WithdrawalWorker); err != nil {
		return 0, s.unheard(ctx, of.Holder, ev, err)
	}
	return s.revoke(ctx, func(tx BatchUnit, after *withdrawal.Payout, limit int) ([]withdrawal.Payout, error) {
		q := ListBatches{Filter: withdrawal.Filter{Chain: chain, Holder: of.Holder}, Limit: limit}
		if after != nil {
			q.After = &after.Batch
		}
		return tx.Batches().List(q)
	}, ev)
}
