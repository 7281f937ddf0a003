// Package payer does what swaps owe outside of the database: it asks, stores the intent of a payment,
// sends it, and looks up what became of it. The examples share it; a host copies it, and brings its
// own clients of the chains.
package payer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// World is what a payer asks beside the database.
type World interface {
	Chain(swap.Chain) *chain.Client
	// Memos are those of a deposit, which say who is paid on Nexus; an error: nobody knows now.
	Memos(ctx context.Context, id string) ([]string, error)
	// Account is the state of an account that an item would be paid to.
	Account(ctx context.Context, id, account string) swap.AccountState
	// Mapping looks for the account on Solana that the sender of a credit has published.
	Mapping(ctx context.Context, id string) swap.MappingLooked
	// LookBack looks for all that was sent for an item, after a database was lost.
	LookBack(ctx context.Context, item swap.Record, now time.Time) ([]swap.Event, error)
}

// Payer is a worker of both directions.
type Payer struct {
	Swaps *store.Swaps
	World World
	Name  string      // that holds the leases
	Left  func(error) // told why an item was left for later; nil: nobody is
}

// Deposit is the handler of [store.RunSwaps] for deposits.
func (p *Payer) Deposit(ctx context.Context, d swap.Deposit) store.HeldDeposit {
	d, err := handle(ctx, p, p.Swaps.Deposits, d)
	p.left(ctx, err)
	return store.HeldDeposit{Deposit: d, Events: []swap.Event{swap.GivenBack{By: p.by(), Fence: d.Lease.Fence}}}
}

// Credit is the handler of [store.RunSwaps] for credits.
func (p *Payer) Credit(ctx context.Context, c swap.Credit) store.HeldCredit {
	c, err := handle(ctx, p, p.Swaps.Credits, c)
	p.left(ctx, err)
	return store.HeldCredit{Credit: c, Events: []swap.Event{swap.GivenBack{By: p.by(), Fence: c.Lease.Fence}}}
}

func (p *Payer) by() swap.By { return swap.By{Actor: p.Name, Role: swap.Worker} }

func (p *Payer) left(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && p.Left != nil {
		p.Left(err)
	}
}

// items is the service of one direction.
type items[A any] interface {
	Do(ctx context.Context, id string, events ...swap.Event) (A, error)
	Next(ctx context.Context, id string) (swap.Step, time.Time, error)
}

func headOf[A any](item *A) *swap.Item { return any(item).(swap.Record).Head() }

// handle does what a claimed item owes, one thing after the other, until nothing new comes of it. After
// an error the record says what is owed.
func handle[A any](ctx context.Context, p *Payer, s items[A], item A) (A, error) {
	for version := int64(-1); version != headOf(&item).Version; {
		version = headOf(&item).Version
		step, now, err := s.Next(ctx, headOf(&item).ID)
		if err != nil {
			return item, err
		}
		for _, task := range step.Tasks {
			next, err := do(ctx, p, s, item, task, now)
			if err != nil {
				return item, err
			}
			item = next
		}
	}
	return item, nil
}

// do does one thing and stores what came of it. now is the time of the store.
func do[A any](ctx context.Context, p *Payer, s items[A], item A, t swap.Task, now time.Time) (A, error) {
	head := headOf(&item)
	var ev swap.Event
	switch t.Do {
	case swap.FetchMemo:
		memos, err := p.World.Memos(ctx, head.ID)
		ev = swap.MemoFetched{By: p.by(), Memos: memos, Failed: err != nil}
	case swap.CheckAccount:
		ev = swap.AccountChecked{By: p.by(), State: p.World.Account(ctx, head.ID, t.Account)}
	case swap.LookUpMapping:
		looked := p.World.Mapping(ctx, head.ID)
		looked.By, looked.Asked = p.by(), now
		ev = looked
	case swap.CountConfirmations: // a block of the example's Nexus stays
		ev = swap.Confirmations{By: swap.By{Actor: p.Name, Role: swap.Observer}, Asked: now, Count: 2}
	case swap.Tell:
		ev = swap.Elapsed{By: p.by()}
	case swap.LookUp:
		ev = p.look(ctx, head, t.Number, now)
	case swap.LookBack:
		events, err := p.World.LookBack(ctx, any(&item).(swap.Record), now)
		if err != nil {
			return item, err
		}
		return s.Do(ctx, head.ID, events...)
	case swap.Begin:
		return begin(ctx, p, s, item, t, now)
	}
	return s.Do(ctx, head.ID, ev)
}

// begin signs, stores, hands over, and says what came of it. Whatever kills it in between leaves an open
// intent, which is looked up.
func begin[A any](ctx context.Context, p *Payer, s items[A], item A, t swap.Task, now time.Time) (A, error) {
	head := headOf(&item)
	ev := swap.Begun{By: p.by(), Fence: head.Lease.Fence, Number: t.Number, Action: t.Action}
	if t.Chain == swap.Solana { // its payments have a signature, and end at a height; those of Nexus have a reference, which is drawn for us
		height, err := p.World.Chain(t.Chain).Height(ctx)
		if err != nil {
			return item, err
		}
		// A real signature is of the whole transaction, so no two are the same.
		ev.Signature, ev.LastValid = fmt.Sprintf("%s-%s-%d-%d", head.ID, t.Action, t.Number, now.UnixMicro()), height+25
	}
	item, err := s.Do(ctx, head.ID, ev)
	if err != nil {
		return item, err
	}
	head = headOf(&item)
	in := head.Intent(t.Number)
	answer := swap.Answered{By: p.by(), Fence: head.Lease.Fence, Number: in.Number,
		Outcome: statemachine.Deferred, Reason: "the lease is almost over"}
	// By the clock that gave the lease there must be time for the whole call.
	if in.SendBy.Sub(in.At) > 2*p.Swaps.Policy().CallTimeout {
		p.send(ctx, in, ev.LastValid, &answer)
	}
	return s.Do(ctx, head.ID, answer)
}

func (p *Payer) send(ctx context.Context, in *swap.Intent, valid uint64, answer *swap.Answered) {
	policy := p.Swaps.Policy()
	token := policy.USDD
	if in.Chain == swap.Solana {
		token = policy.USDC
	}
	id, err := p.World.Chain(in.Chain).Send(ctx, chain.Sent{Valid: valid, Transfer: chain.Transfer{
		ID: in.Signature, Vault: true, From: "vault", To: in.Destination, Amount: in.Net, Token: token, Memo: in.Memo, Reference: in.Reference}})
	switch {
	case err == nil:
		answer.Outcome, answer.TxID, answer.Reason = statemachine.Done, id, ""
	case errors.Is(err, chain.ErrRefused):
		answer.Outcome, answer.Reason = statemachine.Failed, err.Error()
	default: // it may have been taken
		answer.Outcome, answer.Reason = statemachine.Unknown, err.Error()
	}
}

// look looks one intent up, and says how much that covers.
func (p *Payer) look(ctx context.Context, head *swap.Item, number int64, now time.Time) swap.Event {
	ev := swap.Looked{By: p.by(), Number: number, Finding: swap.LookUnknown}
	in := head.Intent(number)
	if in == nil { // another worker has begun it meanwhile
		return ev
	}
	c := p.World.Chain(in.Chain)
	before, err := c.Height(ctx)
	if err != nil {
		return ev
	}
	key := in.Signature
	switch {
	case in.Filed:
		key = in.TxID
	case in.Reference != 0:
		key = fmt.Sprint("reference ", in.Reference)
	}
	s, err := c.Status(ctx, key)
	if err == nil { // a chain takes a reference number once
		ev.Finding = swap.LookMissing
		if s.Found {
			ev.Finding, ev.Seen = swap.LookFound, Sighting(in.Chain, &s)
		}
		ev.View = swap.View{From: in.At.Add(-p.Swaps.Policy().WaterlineMargin), Asked: now, ByID: true, ByMemo: true,
			Before: before, After: s.Height, CannotLand: !s.Waiting}
	}
	return ev
}

// Sighting is what a chain shows, in the words of the rules.
func Sighting(c swap.Chain, s *chain.Status) swap.Sighting {
	return swap.Sighting{VaultSigned: s.Vault, Chain: c, TxID: s.ID, Memo: s.Memo, Reference: s.Reference, Amount: s.Amount,
		Destination: s.To, Token: s.Token, Errored: s.Errored, Confirmations: s.Confirmations, Finalized: s.Final, Time: s.Time}
}
