package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/examples/swap/payer"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// Swaps change USDC on the chain Solana for USDD on the chain Nexus, and back.
const (
	usdc, usdd = "USDC", "USDD"
	vault      = "vault" // the account of the house on both chains
	finality   = 4
	houseFloat = 1_000_000_000_000 // units of 10^-6, of each
)

// swapper is what a payer of swaps asks: package payer of examples/swap does what they owe.
type swapper struct {
	swaps *store.Swaps
	out   *outside
	known map[swap.Chain]map[string]bool // what the vault sent, stored when it was final
}

func (s *service) swapper() *swapper {
	return &swapper{s.Swaps, s.out, map[swap.Chain]map[string]bool{swap.Solana: {}, swap.Nexus: {}}}
}

// Chain implements [payer.World].
func (k *swapper) Chain(c swap.Chain) *chain.Client {
	return k.out.chains[c].Client(250 * time.Millisecond)
}

// Memos implements [payer.World].
func (k *swapper) Memos(ctx context.Context, id string) ([]string, error) {
	in, err := k.arrival(ctx, swap.Solana, id)
	return []string{in.Memo}, err
}

// Mapping implements [payer.World]. The simulated Nexus has the sender's account beside the payment.
func (k *swapper) Mapping(ctx context.Context, id string) swap.MappingLooked {
	switch in, err := k.arrival(ctx, swap.Nexus, id); {
	case err != nil:
		return swap.MappingLooked{Finding: swap.MappingUnknown}
	case in.Memo == "":
		return swap.MappingLooked{Finding: swap.MappingMissing}
	default:
		return swap.MappingLooked{Finding: swap.MappingFound, TxID: id, Owner: in.From, Account: in.Memo}
	}
}

// Account implements [payer.World].
func (k *swapper) Account(_ context.Context, _, account string) swap.AccountState {
	if strings.Contains(account, "frozen") {
		return swap.AccountFrozen
	}
	return swap.AccountUsable
}

// LookBack implements [payer.World]. This database is never put back: examples/swap shows what to do then.
func (k *swapper) LookBack(context.Context, swap.Record, time.Time) ([]swap.Event, error) {
	return nil, statemachine.ErrIllegal
}

// arrival finds what came in under an id.
func (k *swapper) arrival(ctx context.Context, c swap.Chain, id string) (chain.Transfer, error) {
	all, _, _, err := k.Chain(c).History(ctx, false)
	for _, t := range all {
		if t.ID == id {
			return t.Transfer, nil
		}
	}
	return chain.Transfer{}, errors.Join(err, statemachine.ErrNotFound)
}

// scan reads what came in on a chain, and what the vault itself sent: so a payment whose answer was
// lost is found.
func (k *swapper) scan(ctx context.Context, c swap.Chain) (time.Duration, error) {
	const again = 100 * time.Millisecond
	_, scan, err := k.swaps.Waterline(ctx, c, false)
	if err != nil {
		return again, err
	}
	in, _, _, err := k.Chain(c).History(ctx, false)
	if err != nil {
		return again, err
	}
	scan.Complete, scan.Empty, scan.Tip = true, len(in) == 0, scan.Began
	for i := range in {
		t := &in[i]
		if t.Time.Before(scan.From) { // was seen by an earlier scan
			continue
		}
		seen := swap.Observed{By: watcher, ID: t.ID, Amount: t.Amount, From: t.From, Time: t.Time, Success: true, Finalized: t.Final}
		if c == swap.Nexus {
			seen.To, seen.Owner = t.To, t.From
			_, err = k.swaps.Credits.Do(ctx, t.ID, seen)
		} else if t.Final {
			_, err = k.swaps.Deposits.Do(ctx, t.ID, seen)
		} else if t.Time.Before(scan.Tip) {
			scan.Tip = t.Time // not counted yet: the scan ends here
		}
		if err != nil {
			return again, err
		}
	}
	if _, err := k.swaps.Scanned(ctx, c, false, scan); err != nil {
		return again, err
	}
	_, scan, err = k.swaps.Waterline(ctx, c, true)
	if err != nil {
		return again, err
	}
	own, _, _, err := k.Chain(c).History(ctx, true)
	for i := range own {
		if t := &own[i]; err == nil && !k.known[c][t.ID] {
			err = k.swaps.Outbound(ctx, watcher, payer.Sighting(c, t))
			k.known[c][t.ID] = err == nil && t.Final
		}
	}
	if err != nil {
		return again, err
	}
	if scan.From.IsZero() {
		scan.From = k.out.began
	}
	scan.Complete, scan.Tip = true, scan.Began // what is on its way is on file here; after a restore wait first until nothing is
	_, err = k.swaps.Scanned(ctx, c, true, scan)
	return again, err
}
