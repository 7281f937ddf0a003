package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// world is what a worker asks beside the database: the two chains, and what people
// have published.
type world struct {
	solana, nexus *chain.Client
	swaps         *store.Swaps
	people        map[string]observation // by id
	began         time.Time
	name          string
}

func (w *world) of(c swap.Chain) *chain.Client {
	if c == swap.Solana {
		return w.solana
	}
	return w.nexus
}

func (w *world) by() swap.By { return swap.By{Actor: w.name, Role: swap.Worker} }

// items is the service of one direction.
type items[A any] interface {
	Do(ctx context.Context, id string, events ...swap.Event) (A, error)
	Next(ctx context.Context, id string) (swap.Step, time.Time, error)
}

// work does what items owe until ctx is done.
func work(ctx context.Context, s *store.Swaps, w *world, log *slog.Logger) error {
	left := func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			log.Warn("an item is left for later", "error", err)
		}
	}
	return s.Run(ctx, store.RunSwaps{
		Name: w.name, Concurrency: 8, Grace: 2 * time.Second, CallTimeout: time.Second, Log: log,
		Poll:  statemachine.Backoff{Base: 20 * time.Millisecond, Cap: 200 * time.Millisecond, JitterPercent: 50},
		Retry: statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second, JitterPercent: 50},
		Deposit: func(ctx context.Context, d swap.Deposit) store.HeldDeposit {
			d, err := handle(ctx, s.Deposits, w, d)
			left(ctx, err)
			return store.HeldDeposit{Deposit: d, Events: []swap.Event{swap.GivenBack{By: w.by(), Fence: d.Lease.Fence}}}
		},
		Credit: func(ctx context.Context, c swap.Credit) store.HeldCredit {
			c, err := handle(ctx, s.Credits, w, c)
			left(ctx, err)
			return store.HeldCredit{Credit: c, Events: []swap.Event{swap.GivenBack{By: w.by(), Fence: c.Lease.Fence}}}
		},
	})
}

// handle does what a claimed item owes, one thing after the other, until nothing
// new comes of it.
func handle[A any](ctx context.Context, s items[A], w *world, item A) (A, error) {
	for range 8 {
		head := any(&item).(swap.Record).Head()
		step, now, err := s.Next(ctx, head.ID)
		if err != nil || len(step.Tasks) == 0 {
			return item, err
		}
		version := head.Version
		for _, t := range step.Tasks {
			next, err := do(ctx, s, w, item, t, now)
			if err != nil {
				return item, err
			}
			item = next
		}
		if any(&item).(swap.Record).Head().Version == version {
			return item, nil
		}
	}
	return item, nil
}

// do does one thing and stores what came of it.
func do[A any](ctx context.Context, s items[A], w *world, item A, t swap.Task, now time.Time) (A, error) {
	head := any(&item).(swap.Record).Head()
	seen := w.people[head.ID]
	var ev swap.Event
	switch t.Do {
	case swap.FetchMemo:
		ev = swap.MemoFetched{By: w.by(), Memos: seen.Memos, Failed: seen.Unreadable}
	case swap.CheckAccount:
		ev = swap.AccountChecked{By: w.by(), State: seen.account()}
	case swap.LookUpMapping:
		ev = seen.mapping(w.by(), now, time.Since(w.began))
	case swap.CountConfirmations:
		ev = swap.Confirmations{By: swap.By{Actor: w.name, Role: swap.Observer}, Asked: now, Count: 2}
	case swap.Tell:
		ev = swap.Elapsed{By: w.by()}
	case swap.LookUp:
		ev = w.look(ctx, head, t.Number, now)
	case swap.LookBack:
		events, err := w.lookBack(ctx, &item, now)
		if err != nil {
			return item, err
		}
		return s.Do(ctx, head.ID, events...)
	case swap.Begin:
		return begin(ctx, s, w, item, t, now)
	}
	return s.Do(ctx, head.ID, ev)
}

// begin: sign, store, hand over, and say what came of it. Who crashes in between
// leaves an open intent, which is looked up.
func begin[A any](ctx context.Context, s items[A], w *world, item A, t swap.Task, now time.Time) (A, error) {
	head := any(&item).(swap.Record).Head()
	ev := swap.Begun{By: w.by(), Fence: head.Lease.Fence, Number: t.Number, Action: t.Action}
	valid := uint64(0)
	if t.Chain == swap.Solana {
		height, err := w.solana.Height(ctx)
		if err != nil {
			return item, err
		}
		valid = height + 25
		// A real signature is of the whole transaction, so no two are the same.
		ev.Signature, ev.LastValid = fmt.Sprintf("%s-%s-%d-%d", head.ID, t.Action, t.Number, now.UnixMicro()), valid
	}
	item, err := s.Do(ctx, head.ID, ev)
	if err != nil {
		return item, err
	}
	head = any(&item).(swap.Record).Head()
	in := head.Intent(t.Number)
	answer := swap.Answered{By: w.by(), Fence: head.Lease.Fence, Number: in.Number, Outcome: statemachine.Deferred, Reason: "the lease is almost over"}
	// By the clock that gave the lease there must be time for the whole call.
	if left := in.SendBy.Sub(in.At); left > 2*policy.CallTimeout {
		answer = w.send(ctx, in, valid, answer)
	}
	return s.Do(ctx, head.ID, answer)
}

func (w *world) send(ctx context.Context, in *swap.Intent, valid uint64, answer swap.Answered) swap.Answered {
	token := policy.USDD
	if in.Chain == swap.Solana {
		token = policy.USDC
	}
	id, err := w.of(in.Chain).Send(ctx, chain.Sent{Valid: valid, Transfer: chain.Transfer{ID: in.Signature, Vault: true, From: "vault", To: in.Destination,
		Amount: in.Net, Token: token, Memo: in.Memo, Reference: in.Reference}})
	switch {
	case err == nil:
		answer.Outcome, answer.TxID, answer.Reason = statemachine.Done, id, ""
	case errors.Is(err, chain.ErrRefused):
		answer.Outcome, answer.Reason = statemachine.Failed, err.Error()
	default: // it may have been taken
		answer.Outcome, answer.Reason = statemachine.Unknown, err.Error()
	}
	return answer
}

// look looks one intent up, and says how much that covers. now is the store's time.
func (w *world) look(ctx context.Context, head *swap.Item, number int64, now time.Time) swap.Event {
	ev := swap.Looked{By: w.by(), Number: number, Finding: swap.LookUnknown}
	in := head.Intent(number)
	if in == nil { // another worker has begun it meanwhile
		return ev
	}
	c := w.of(in.Chain)
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
			ev.Finding, ev.Seen = swap.LookFound, sighting(in.Chain, &s)
		}
		ev.View = swap.View{From: in.At.Add(-policy.WaterlineMargin), Asked: now, ByID: true, ByMemo: true, Before: before, After: s.Height, CannotLand: !s.Waiting}
	}
	return ev
}

// lookBack looks through the whole history of both chains for outbounds of an item
// that are not on file, after a lost database.
func (w *world) lookBack(ctx context.Context, item any, now time.Time) ([]swap.Event, error) {
	head, direction := item.(swap.Record).Head(), swap.ToUSDC
	if _, ok := item.(*swap.Deposit); ok {
		direction = swap.ToUSDD
	}
	control, err := w.swaps.Control(ctx)
	if err != nil {
		return nil, err
	}
	var scans []swap.History
	for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
		before, err := w.of(c).Height(ctx)
		if err != nil {
			return nil, err
		}
		all, waiting, after, err := w.of(c).History(ctx, true)
		if err != nil {
			return nil, err
		}
		h := swap.History{Chain: c, View: swap.View{From: policy.Since(direction, head.At), Asked: now, ByID: true, ByMemo: true, Before: before, After: after, CannotLand: waiting == 0}}
		for k := range all {
			seen := sighting(c, &all[k])
			if _, id, err := w.swaps.Named(ctx, seen); err != nil {
				return nil, err
			} else if id == "" || id == head.ID { // not another item's
				h.Outbound = append(h.Outbound, seen)
			}
		}
		scans = append(scans, h)
	}
	by := swap.By{Actor: w.name, Role: swap.Observer}
	if d, ok := item.(*swap.Deposit); ok {
		return policy.RecoverDeposit(*d, control, nil, by, scans...), nil
	}
	return policy.RecoverCredit(*item.(*swap.Credit), control, nil, by, scans...), nil
}

// sighting is what the chain shows, in the words of the rules.
func sighting(c swap.Chain, s *chain.Status) swap.Sighting {
	return swap.Sighting{VaultSigned: s.Vault, Chain: c, TxID: s.ID, Memo: s.Memo, Reference: s.Reference, Amount: s.Amount, Destination: s.To, Token: s.Token,
		Errored: s.Errored, Confirmations: s.Confirmations, Finalized: s.Final, Time: s.Time}
}

// workerConfig is the first line on a worker's standard input.
type workerConfig struct {
	Database, Schema, Solana, Nexus, File, Name string
	Began                                       time.Time
}

func runWorker(ctx context.Context, c workerConfig, stderr io.Writer) error {
	people, err := readFile(c.File)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, c.Database, c.Schema, false)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	s, err := store.NewSwaps(db, policy)
	if err == nil {
		err = work(ctx, s, newWorld(s, c.Solana, c.Nexus, people, c.Began, c.Name, policy.CallTimeout), slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	}
	return errors.Join(err, db.Close())
}

// newWorld asks the chains, for an answer up to patience: a worker as long as the policy
// says, who only reads longer.
func newWorld(s *store.Swaps, solana, nexus string, people []observation, began time.Time, name string, patience time.Duration) *world {
	w := &world{swaps: s, solana: chain.NewClient(solana, patience), nexus: chain.NewClient(nexus, patience), people: map[string]observation{}, began: began, name: name}
	for _, o := range people {
		if _, known := w.people[o.ID]; !known {
			w.people[o.ID] = o
		}
	}
	return w
}
