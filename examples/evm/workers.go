package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// payer is the withdrawal worker: it signs and sends.
type payer struct {
	*store.Withdrawals
	chain *chain
	by    withdrawal.By
}

// handle does what a claimed withdrawal owes. Each intent is stored before its
// effect, so wherever the process dies, the record says how to go on.
func (p *payer) handle(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	if w.Job.Status == withdrawal.JobConfirming {
		return p.again(ctx, w)
	}
	policy := p.Policy()
	given := policy.GivenAt(&w) // by the store's clock, which gave the lease
	for {
		owed := policy.Next(w, given).Actions
		switch {
		case len(owed) == 1 && owed[0].Do == withdrawal.DoPay:
			intent := p.chain.payment(ctx, p.by, &w)
			if _, signed := intent.(withdrawal.Prepared); !signed {
				return result(w, intent)
			}
			held, err := p.DoHeld(ctx, result(w, intent))
			if err != nil { // stored or not, nothing is sent
				return result(w, p.unclear(&w, err))
			}
			w = held[0]
		case len(owed) == 1 && owed[0].Do == withdrawal.DoBroadcast:
			if err := p.chain.send(ctx, owed[0].Raw); err != nil { // sent or not, it is looked up
				return result(w, p.unclear(&w, err))
			}
			return result(w, withdrawal.Broadcast{By: p.by, Fence: owed[0].Fence, Hash: owed[0].Hashes[0]})
		default:
			return result(w) // not this worker's
		}
	}
}

func (p *payer) unclear(w *withdrawal.Withdrawal, err error) withdrawal.Event {
	return withdrawal.AttemptFailed{By: p.by, Fence: w.Job.Lease.Fence, Failure: withdrawal.Unclear, Error: err.Error()}
}

// again sends the bytes on file once more, or a replacement that pays more.
func (p *payer) again(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	report := withdrawal.Rebroadcast{By: p.by, Fence: w.Job.Lease.Fence, Hash: w.Job.TxHash}
	if bump := p.chain.replacement(ctx, p.by, &w); bump != nil {
		held, err := p.DoHeld(ctx, result(w, bump))
		if err != nil { // stored or not, it is not sent
			return result(w, report)
		}
		w = held[0]
	}
	live := w.Live()
	newest := live[len(live)-1]
	err := p.chain.send(ctx, newest.Raw)
	report.Hash, report.Done = newest.Hash, err == nil || pointless(err)
	return result(w, report)
}

// checker is the confirmation worker: it tells what the chain says.
type checker struct {
	chain *chain
	by    withdrawal.By
}

func (c *checker) handle(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	said := c.chain.lookUp(ctx, c.by, &w)
	if ctx.Err() != nil { // nobody was asked: nothing is learnt, and it is looked up again
		return result(w)
	}
	return result(w, said...)
}

func result(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
	return store.HeldWithdrawal{Withdrawal: w, Events: events}
}

var system = withdrawal.By{Actor: "clerk", Role: withdrawal.System}

// clerk makes jobs of approved requests, and picks up what dead workers left.
func clerk(ctx context.Context, s *store.Withdrawals) error {
	for {
		_, rescue, err := s.Rescue(ctx, system, 50)
		var enqueue time.Duration
		if err == nil {
			_, enqueue, err = s.EnqueueDue(ctx, chainID, 50, func(r withdrawal.Request) withdrawal.Enqueued {
				// The id is that of the request's turn: twice, it is the same job.
				return withdrawal.Enqueued{By: system, AssetOnChain: r.Asset, Priority: withdrawal.Normal,
					Job: uuid.NewSHA1(r.ID, []byte("job/"+strconv.FormatInt(r.Version, 10)))}
			})
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(rescue, enqueue)):
		}
	}
}

// work runs the clerk, two withdrawal workers and a confirmation worker until
// ctx is done. One of them that fails ends all.
func work(ctx context.Context, s *store.Withdrawals, c *chain) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := func(source store.WithdrawalSource, handle func(context.Context, withdrawal.Withdrawal) store.HeldWithdrawal) error {
		return worker.Run(ctx, source, handle, worker.Options[withdrawal.Withdrawal, store.HeldWithdrawal]{
			Concurrency: 4,
			CallTimeout: min(5*time.Second, source.ShortestLease()/2),
			Poll:        statemachine.Backoff{Base: 20 * time.Millisecond, Cap: 100 * time.Millisecond, JitterPercent: 50},
		})
	}
	pay := func() error {
		name := worker.NewName("payer")
		p := &payer{s, c, withdrawal.By{Actor: name, Role: withdrawal.WithdrawalWorker}}
		return run(s.Payments(chainID, name), p.handle)
	}
	jobs := []func() error{
		func() error { return clerk(ctx, s) },
		pay, pay,
		func() error {
			by := withdrawal.By{Actor: worker.NewName("checker"), Role: withdrawal.ConfirmationWorker}
			return run(s.Lookups(chainID, by.Actor), (&checker{c, by}).handle)
		},
	}
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, job := range jobs {
		all.Go(func() {
			defer cancel()
			errs[i] = job()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
