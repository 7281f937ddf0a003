package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Revoke ends the leases of a worker that is dead, in all that its domain has, and returns of how many records.
func (s *Services) Revoke(ctx context.Context, d store.Domain, by Said, of statemachine.Revocation) (n int, err error) {
	add := func(more int, bad error) { n, err = n+more, errors.Join(err, bad) }
	switch {
	case d == store.DomainWithdrawals && s.Batches != nil:
		by := withdrawal.By{Actor: by.Actor, Role: withdrawal.Operator, Via: by.Via, Trace: by.Trace}
		add(s.Withdrawals.Revoke(ctx, by, of))
		add(s.Batches.Revoke(ctx, by, of))
	case d == store.DomainSwaps && s.Swaps != nil:
		by := swap.By{Actor: by.Actor, Role: swap.Operator, Via: by.Via, Trace: by.Trace}
		add(s.Swaps.Deposits.Revoke(ctx, by, of))
		add(s.Swaps.Credits.Revoke(ctx, by, of))
	case d == store.DomainRefreshes && s.Refreshes != nil:
		add(s.Refreshes.Revoke(ctx, refresh.By{Actor: by.Actor, Role: refresh.Operator, Via: by.Via, Trace: by.Trace}, of))
	case d == store.DomainRelays && s.Relays != nil:
		add(s.Relays.Revoke(ctx, relaysync.By{Actor: by.Actor, Role: relaysync.Operator, Via: by.Via, Trace: by.Trace}, of))
	default:
		return 0, fmt.Errorf("%w: no leases of a domain %q", statemachine.ErrNotFound, d)
	}
	return n, err
}

// HotWallets are those of the chains that the policy, the switches or the open requests name.
func (s *Services) HotWallets(ctx context.Context, stats *withdrawal.Stats) (all []withdrawal.HotWallet, err error) {
	if s.Withdrawals == nil {
		return nil, nil
	}
	var chains []uuid.UUID
	for id := range s.Withdrawals.Policy().Chains {
		chains = append(chains, id)
	}
	stops, err := s.Switches.List(ctx, "", store.MaxPage)
	if err != nil {
		return nil, err
	}
	for _, w := range stops {
		if id, is := w.Scope.OfChain(); is {
			chains = append(chains, id)
		}
	}
	if stats != nil {
		for _, m := range stats.Money {
			chains = append(chains, m.Chain)
		}
	}
	slices.SortFunc(chains, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	for _, chain := range slices.Compact(chains) {
		some, err := s.Withdrawals.HotWallets(ctx, chain)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// WalletPaused is the status of a hot wallet that a person has switched off.
const WalletPaused = "paused"

// PutWallet sets the status of a hot wallet. Where that is not what was seen, it is [statemachine.ErrConflict].
func (s *Services) PutWallet(ctx context.Context, by Said, chain, wallet uuid.UUID, seen, status string) error {
	if s.Withdrawals == nil {
		return store.ErrNoDomain
	}
	all, err := s.Withdrawals.HotWallets(ctx, chain)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(w withdrawal.HotWallet) bool { return w.ID == wallet })
	switch {
	case i < 0:
		err = fmt.Errorf("%w: no hot wallet %s of chain %s", statemachine.ErrNotFound, wallet, chain)
	case seen != "" && all[i].Status != seen && all[i].Status != status:
		err = fmt.Errorf("%w: it is %q and was %q", statemachine.ErrConflict, all[i].Status, seen)
	default:
		w := all[i]
		w.Status = status
		return s.Withdrawals.PutHotWallet(ctx, withdrawal.By{Actor: by.Actor, Role: withdrawal.Operator, Via: by.Via, Trace: by.Trace}, w)
	}
	return s.Note(ctx, statemachine.JournalLine{Actor: by.Actor, Role: withdrawal.Operator.String(), Domain: string(store.DomainWithdrawals),
		Machine: "hot wallet", ID: wallet.String(), Event: "PutHotWallet", Via: by.Via, Trace: by.Trace}, err)
}

// Drawing draws a machine by its name, with the counts of its states; empty for an unknown name.
func Drawing(name string, counts map[string]int64) string {
	return cmp.Or(draw(withdrawal.RequestMachine, name, counts), draw(withdrawal.JobMachine, name, counts),
		draw(withdrawal.BatchMachine, name, counts), draw(swap.DepositMachine, name, counts), draw(swap.CreditMachine, name, counts),
		draw(refresh.WalletMachine, name, counts), draw(refresh.JobMachine, name, counts), draw(refresh.WatcherMachine, name, counts),
		draw(relaysync.Machine, name, counts), draw(dunning.TenantMachine, name, counts), draw(dunning.InvoiceMachine, name, counts),
		draw(utxo.TxMachine, name, counts))
}

func draw[S, T statemachine.Label](m *statemachine.Machine[S, T], name string, counts map[string]int64) string {
	if m.Name() != name {
		return ""
	}
	of := map[S]int64{}
	for _, s := range m.States() {
		if n, has := counts[s.String()]; has {
			of[s] = n
		}
	}
	return m.SVG(of)
}
