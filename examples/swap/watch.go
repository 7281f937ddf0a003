package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/examples/swap/payer"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

var observer = swap.By{Actor: "watcher", Role: swap.Observer}

// watch stores what comes in and what the vault sent, for ever, and moves the
// waterlines.
func watch(ctx context.Context, s *store.Swaps, w *world, log func(string, ...any)) {
	known := map[string]bool{} // outbounds that were stored when they were final
	for ctx.Err() == nil {
		for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
			if err := errors.Join(observe(ctx, s, w, c), history(ctx, s, w, c, known)); err != nil && ctx.Err() == nil {
				log("the watcher tries again: %v", err)
			}
		}
		children.Pause(ctx, 50*time.Millisecond)
	}
}

// observe reads what came in on a chain.
func observe(ctx context.Context, s *store.Swaps, w *world, c swap.Chain) error {
	_, scan, err := s.Waterline(ctx, c, false)
	if err != nil {
		return err
	}
	all, _, _, err := w.Chain(c).History(ctx, false)
	if err != nil {
		return err
	}
	var commands []store.SwapCommand
	tip := scan.Began
	for k := range all {
		if t := &all[k]; t.Time.Before(scan.From) || t.Errored || t.Amount == 0 { // moved nothing
			continue
		} else if c == swap.Solana && !t.Final { // not counted yet: the scan ends here
			tip = earlier(tip, t.Time)
			continue
		}
		commands = append(commands, store.SwapCommand{ID: all[k].ID, Events: []swap.Event{arrival(w, c, &all[k])}})
	}
	doAll := func(commands ...store.SwapCommand) error {
		if c == swap.Solana {
			_, err := s.Deposits.DoAll(ctx, commands...)
			return err
		}
		_, err := s.Credits.DoAll(ctx, commands...)
		return err
	}
	if err := doAll(commands...); errors.Is(err, statemachine.ErrInvalid) { // one is refused: it holds up no other
		var refused error
		for _, one := range commands {
			if err := doAll(one); errors.Is(err, statemachine.ErrInvalid) {
				refused = errors.Join(refused, err)
			} else if err != nil {
				return err
			}
		}
		return refused // the waterline does not pass what is not stored; its alert is "scan"
	} else if err != nil {
		return err
	}
	scan.Complete, scan.Empty, scan.Tip = true, len(all) == 0, tip
	_, err = s.Scanned(ctx, c, false, scan)
	return err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func arrival(w *world, c swap.Chain, t *chain.Status) swap.Observed {
	o := swap.Observed{By: observer, ID: t.ID, Amount: t.Amount, From: t.From, Time: t.Time, Success: !t.Errored, Finalized: t.Final}
	if c == swap.Nexus {
		o.To, o.Owner = t.To, w.people[t.ID].Owner
	}
	return o
}

// history reads what the vault sent on a chain.
func history(ctx context.Context, s *store.Swaps, w *world, c swap.Chain, known map[string]bool) error {
	_, scan, err := s.Waterline(ctx, c, true)
	if err != nil {
		return err
	}
	all, _, _, err := w.Chain(c).History(ctx, true)
	if err != nil {
		return err
	}
	var failed error // one that cannot be stored holds up no other, and the scan is not complete
	for k := range all {
		t := &all[k]
		if known[t.ID] {
			continue
		}
		if err := s.Outbound(ctx, observer, payer.Sighting(c, t)); err != nil {
			failed = err
			continue
		}
		known[t.ID] = t.Final
	}
	if failed != nil {
		return failed
	}
	if scan.From.IsZero() {
		scan.From = w.began
	}
	scan.Complete, scan.Tip = true, scan.Began // what is on its way is on file: rebuild has waited until nothing else was
	_, err = s.Scanned(ctx, c, true, scan)
	return err
}

// rebuild fills an empty database from the chains: finished items from memos and
// references, the reference counter, and then the scans that let things go out
// again. Nothing that was handed over may be on its way any more.
func rebuild(ctx context.Context, s *store.Swaps, w *world, log func(string, ...any)) error {
	by := swap.By{Actor: "recovery", Role: swap.System}
	if _, err := s.Restored(ctx, by); err != nil {
		return err
	}
	lost := swap.Lost{PastDeposits: []swap.Fees{policy.Deposits}, PastCredits: []swap.Fees{policy.Credits}}
	reference := uint64(0)
	for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
		in, own, err := w.settled(ctx, c)
		if err != nil {
			return err
		}
		for k := range in {
			if c == swap.Nexus {
				lost.Credits = append(lost.Credits, arrival(w, c, &in[k]))
			} else {
				memo := ""
				if m := w.people[in[k].ID].Memos; len(m) == 1 {
					memo = m[0]
				}
				lost.Deposits = append(lost.Deposits, swap.LostDeposit{Observed: arrival(w, c, &in[k]), Memo: memo})
			}
		}
		h := swap.History{Chain: c}
		for k := range own {
			h.Outbound = append(h.Outbound, payer.Sighting(c, &own[k]))
			reference = max(reference, own[k].Reference)
		}
		if c == swap.Nexus {
			lost.Nexus = h
		} else {
			lost.Solana = h
		}
	}
	r := policy.RecoverMissing(lost, by)
	var deposits, credits []store.SwapCommand
	for _, ev := range r.Deposits {
		deposits = append(deposits, store.SwapCommand{ID: ev.Observed.ID, Events: []swap.Event{ev}})
	}
	for _, ev := range r.Credits {
		credits = append(credits, store.SwapCommand{ID: ev.Observed.ID, Events: []swap.Event{ev}})
	}
	_, err1 := s.Deposits.DoAll(ctx, deposits...)
	_, err2 := s.Credits.DoAll(ctx, credits...)
	control, err3 := s.Seed(ctx, by, reference)
	log("rebuilt %d deposits and %d credits from memos and references; %d outbounds name nobody; the next reference is %d",
		len(r.Deposits), len(r.Credits), len(r.Unattributed), control.Reference+1)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := s.MissingSaid(ctx, by)
	return err
}

// settled waits until nothing of the vault is on its way, and returns what came in
// and went out, all final.
func (w *world) settled(ctx context.Context, c swap.Chain) (in, own []chain.Status, err error) {
	for ctx.Err() == nil {
		var waiting int
		own, waiting, _, err = w.Chain(c).History(ctx, true)
		if err == nil {
			in, _, _, err = w.Chain(c).History(ctx, false)
		}
		final := err == nil && waiting == 0
		for _, t := range append(own[:len(own):len(own)], in...) {
			final = final && t.Final
		}
		if final {
			return in, own, nil
		}
		children.Pause(ctx, 50*time.Millisecond)
	}
	return nil, nil, fmt.Errorf("waiting for the chains: %w", context.Cause(ctx))
}
