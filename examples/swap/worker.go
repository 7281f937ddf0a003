package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/examples/swap/payer"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
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

// Chain implements [payer.World].
func (w *world) Chain(c swap.Chain) *chain.Client {
	if c == swap.Solana {
		return w.solana
	}
	return w.nexus
}

// Memos implements [payer.World].
func (w *world) Memos(_ context.Context, id string) ([]string, error) {
	if seen := w.people[id]; !seen.Unreadable {
		return seen.Memos, nil
	}
	return nil, errUnreadable
}

var errUnreadable = errors.New("the memo cannot be fetched")

// Account implements [payer.World].
func (w *world) Account(_ context.Context, id, _ string) swap.AccountState {
	seen := w.people[id]
	return seen.account()
}

// Mapping implements [payer.World].
func (w *world) Mapping(_ context.Context, id string) swap.MappingLooked {
	seen := w.people[id]
	return seen.mapping(time.Since(w.began))
}

// work does what items owe until ctx is done.
func work(ctx context.Context, s *store.Swaps, w *world, log *slog.Logger) error {
	p := &payer.Payer{Swaps: s, World: w, Name: w.name, Left: func(err error) { log.Warn("an item is left for later", "error", err) }}
	return s.Run(ctx, store.RunSwaps{
		Name: w.name, Deposit: p.Deposit, Credit: p.Credit, Concurrency: 8, Grace: 2 * time.Second, CallTimeout: time.Second, Log: log,
		Poll:  statemachine.Backoff{Base: 20 * time.Millisecond, Cap: 200 * time.Millisecond, JitterPercent: 50},
		Retry: statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second, JitterPercent: 50},
	})
}

// LookBack implements [payer.World]. It looks through the whole history of both chains for outbounds of an item
// that are not on file, after a lost database.
func (w *world) LookBack(ctx context.Context, item swap.Record, now time.Time) ([]swap.Event, error) {
	head, direction := item.Head(), swap.ToUSDC
	if _, ok := item.(*swap.Deposit); ok {
		direction = swap.ToUSDD
	}
	control, err := w.swaps.Control(ctx)
	if err != nil {
		return nil, err
	}
	var scans []swap.History
	for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
		before, err := w.Chain(c).Height(ctx)
		if err != nil {
			return nil, err
		}
		all, waiting, after, err := w.Chain(c).History(ctx, true)
		if err != nil {
			return nil, err
		}
		h := swap.History{Chain: c, View: swap.View{From: policy.Since(direction, head.At), Asked: now, ByID: true, ByMemo: true, Before: before,
			After: after, CannotLand: waiting == 0}}
		for k := range all {
			seen := payer.Sighting(c, &all[k])
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
	db, err := program.Open(ctx, c.Database, program.Options{Options: sqlstore.Options{Schema: c.Schema}})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	s, err := store.NewSwaps(db, policy)
	if err == nil {
		err = work(ctx, s, newWorld(s, c.Solana, c.Nexus, people, c.Began, c.Name, policy.CallTimeout),
			slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	}
	return errors.Join(err, db.Close())
}

// newWorld asks the chains, for an answer up to patience: a worker as long as the policy
// says, who only reads longer.
func newWorld(s *store.Swaps, solana, nexus string, people []observation, began time.Time, name string, patience time.Duration) *world {
	w := &world{swaps: s, solana: chain.NewClient(solana, patience), nexus: chain.NewClient(nexus, patience),
		people: map[string]observation{}, began: began, name: name}
	for _, o := range people {
		if _, known := w.people[o.ID]; !known {
			w.people[o.ID] = o
		}
	}
	return w
}
