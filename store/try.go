package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// TriedMove is one record that would get a new version by an event that was tried.
type TriedMove struct {
	Machine, ID string
	From, To    string // "none" for a record that the event creates
	Version     int64  // that it would get
}

// try is do of events for one aggregate without saving, on one state of the database. What
// the store alone can refuse, such as a nonce that another job took, is not refused here.
func (s *core[T, K, L, A, E, C]) try(ctx context.Context, id K, events []E) (a A, moves []TriedMove, err error) {
	err = s.view(ctx, func(tx T) error {
		as, err := s.of.records(tx).Get(id)
		if err != nil {
			return err
		}
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		a = as[0]
		for _, ev := range events {
			if err := b.take(&a, id, ev); err != nil {
				return err
			}
		}
		moves = s.moves(&as[0], &a)
		return nil
	})
	if err != nil {
		var none A
		return none, nil, err
	}
	return a, moves, nil
}

// moves are the records of is whose version is not that of was.
func (s *core[T, K, L, A, E, C]) moves(was, is *A) (all []TriedMove) {
	var before []state[L]
	if s.of.exists(was) {
		before = s.of.states(was)
	}
	for _, now := range s.of.states(is) {
		m := TriedMove{Machine: now.machine, ID: fmt.Sprint(now.id), From: "none", To: now.status, Version: now.version}
		version := int64(0)
		for _, b := range before {
			if b.machine == now.machine && b.id == now.id {
				m.From, version = b.status, b.version
			}
		}
		if now.version != version {
			all = append(all, m)
		}
	}
	return all
}

// Try says what [Withdrawals.Do] would do, or how it would refuse: a dry run, also for a database user who may only
// read. It stores nothing, and nothing is in the journal. If it returns no moves, the request is already as the events
// ask.
func (s *Withdrawals) Try(ctx context.Context, request uuid.UUID, events ...withdrawal.Event) (withdrawal.Withdrawal, []TriedMove, error) {
	return s.withdrawalCore.try(ctx, request, events)
}

// Try is [Withdrawals.Try] for a switch.
func (s *Switches) Try(ctx context.Context, scope switches.Scope, events ...switches.Event) (switches.Switch, []TriedMove, error) {
	return s.try(ctx, scope, events)
}

// Try is [Withdrawals.Try] for a deposit.
func (s *SwapDeposits) Try(ctx context.Context, id string, events ...swap.Event) (swap.Deposit, []TriedMove, error) {
	return s.try(ctx, id, events)
}

// Try is [Withdrawals.Try] for a credit.
func (s *SwapCredits) Try(ctx context.Context, id string, events ...swap.Event) (swap.Credit, []TriedMove, error) {
	return s.try(ctx, id, events)
}

// Try is [Withdrawals.Try] for a wallet that is refreshed.
func (s *Refreshes) Try(ctx context.Context, xpub string, events ...refresh.Event) (refresh.Work, []TriedMove, error) {
	return s.try(ctx, xpub, events)
}

// Try is [Withdrawals.Try] for a relay.
func (s *Relays) Try(ctx context.Context, relay string, events ...relaysync.Event) (relaysync.Sync, []TriedMove, error) {
	return s.try(ctx, relay, events)
}

// Try is [Withdrawals.Try] for a tenant.
func (s *Tenants) Try(ctx context.Context, tenant string, events ...dunning.Event) (dunning.Account, []TriedMove, error) {
	return s.try(ctx, tenant, events)
}
