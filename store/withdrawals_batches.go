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

type (
	payoutCore  = core[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]
	payoutBatch = batch[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]
)

// payoutRecords are the batches among the records of withdrawals.
type payoutRecords struct{ WithdrawalRecords }

func (r payoutRecords) Get(ids ...uuid.UUID) ([]withdrawal.Payout, error) { return r.Batches(ids...) }
func (r payoutRecords) Save(changes ...withdrawal.BatchChange) error {
	return r.SaveBatches(changes...)
}

// payoutAggregate is a batch with its members as the core sees it. The members
// have trails of their own; every save compares their versions.
func payoutAggregate(p *withdrawal.Policy) *aggregate[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange] {
	return &aggregate[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]{
		domain: DomainWithdrawals,
		records: func(tx WithdrawalUnit) records[uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchChange] {
			return payoutRecords{tx.Withdrawals()}
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
	p.Level = 0
	ask := func(chain uuid.UUID) error {
		state, err := b.chains.state(b.tx, switches.Chain(chain))
		p.Level = state.Level
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
					err = &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: withdrawal.BatchMachine.Name(), ID: e.Batch.String(), Event: "prepare"}
				}
			}
			if i := slices.IndexFunc(p.Members, func(w withdrawal.Withdrawal) bool { return w.Request.Chain != uuid.Nil }); err == nil && i >= 0 {
				err = ask(p.Members[i].Request.Chain) // another chain than the batch's is refused
			}
		}
	case withdrawal.BatchMined:
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

func (b *payees) follow(*withdrawal.BatchChange) error { return nil }

// Batch sends events to a batch, in order, with all members that they concern,
// and returns it as it is stored afterwards; see [withdrawal.Policy.ApplyBatch].
// [withdrawal.BatchPrepared] makes one that does not exist; any other event for
// one is [statemachine.ErrNotFound]. An error of one event changes nothing at all:
// of one BatchPrepared that was refused nothing may be sent. What an operator says
// and is refused is in the journal, as [Withdrawals.Do] says.
func (s *Withdrawals) Batch(ctx context.Context, batch uuid.UUID, events ...withdrawal.BatchEvent) (withdrawal.Payout, error) {
	return only(s.payouts.do(ctx, []command[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]{{id: batch, events: events}}))
}

func batchID(p *withdrawal.Payout) uuid.UUID { return p.Batch.ID }

// GetBatch returns a batch with its members, [statemachine.ErrNotFound] for an
// unknown one.
func (s *Withdrawals) GetBatch(ctx context.Context, batch uuid.UUID) (withdrawal.Payout, error) {
	return read(ctx, s.payouts.view, func(tx WithdrawalUnit) (withdrawal.Payout, error) { return s.payouts.get(tx, batch) })
}

// NextBatch says what a batch owes now, see [withdrawal.Policy.NextBatch].
func (s *Withdrawals) NextBatch(ctx context.Context, batch uuid.UUID) (withdrawal.Step, error) {
	return next(ctx, &s.payouts, batch, func(tx WithdrawalUnit, p withdrawal.Payout, now time.Time) (withdrawal.Step, error) {
		state, err := tx.Switches().Ask(switches.Chain(p.Batch.Chain))
		p.Level = state.Level
		return s.policy.NextBatch(p, now), err
	})
}

// BatchTrail is [Withdrawals.Trail] for a batch.
func (s *Withdrawals) BatchTrail(ctx context.Context, batch uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return s.payouts.trail(ctx, batch)
}

// AuditBatches is [Withdrawals.Audit] for batches and their members, see
// [withdrawal.CheckBatch]. It returns the last one for the next page, the zero id
// at the end.
func (s *Withdrawals) AuditBatches(ctx context.Context, after uuid.UUID, limit int) (last uuid.UUID, err error) {
	return s.payouts.audit(ctx, func(tx WithdrawalUnit) ([]uuid.UUID, error) { return tx.Withdrawals().BatchIDs(after, limit) }, withdrawal.CheckBatch)
}
