package store

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/swap"
)

// SelfCheckSwaps is [SelfCheck] for a store that has swaps. It checks a deposit with its claim, an intent with a drawn
// reference, its move to another table and its trail, a second claim, and a change of a version that is no longer
// stored. Everything is taken back. It does not check credits, two transactions at once, or a crash.
func SelfCheckSwaps[T SwapUnit](ctx context.Context, s Store[T]) error {
	p := swap.DefaultPolicy()
	p.USDCQuarantineAccount, p.USDDQuarantineAccount = "self-check-solana", "self-check-nexus"
	all, err := NewSwaps(s, p)
	if err != nil {
		return err
	}
	id := "selfcheck" + strings.ReplaceAll(uuid.NewString(), "-", "")
	return probeOf(&all.Deposits.swapCore, id, func(tx SwapUnit) (swap.DepositChange, error) {
		return writeSwap(ctx, tx,
			all.Within(tx), id)
	}).run(ctx)
}

// writeSwap stores a deposit that is paid, and returns a change of it that is not
// saved.
func writeSwap(ctx context.Context, tx SwapUnit, s *Swaps, id string) (stale swap.DepositChange, err error) {
	at, err := changeControlNow(tx)
	if err != nil {
		return stale, err
	}
	by := func(r swap.Role) swap.By { return swap.By{Actor: "self-check", Role: r, At: at} }
	worker := by(swap.Worker)
	d, err := s.Deposits.Do(ctx, id, swap.Observed{By: by(swap.Observer), ID: id, Amount: swap.MaxAmount, From: "é世", Time: at,
		Success: true, Finalized: true},
		swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:é世"}},
		swap.AccountChecked{By: worker, State: swap.AccountUsable})
	if err != nil {
		return stale, err
	}
	if stale, err = s.policy.ApplyDeposit(d, swap.Held{By: by(swap.Operator), Reason: "self-check"}, at); err != nil {
		return stale, err
	}
	// Within one transaction a second claim is the domain's to refuse.
	if _, err := s.policy.ApplyDeposit(d, swap.Claimed{By: worker}, at); err == nil {
		return stale, broken("a second claim was given")
	}
	d, err = s.Deposits.Do(ctx, id, swap.Begun{By: worker, Fence: d.Lease.Fence, Number: 1, Action: swap.Send})
	if err != nil {
		return stale, err
	}
	in := d.Intents[0]
	seen := swap.Looked{By: worker, Number: 1, Finding: swap.LookFound, Seen: swap.Sighting{VaultSigned: true, Chain: swap.Nexus,
		TxID: "n" + id, Reference: in.Reference,
		Amount: in.Net, Destination: in.Destination, Token: s.policy.USDD, Confirmations: s.policy.FinalConfirmations}}
	if d, err = s.Deposits.Do(ctx, id, seen, seen); err != nil {
		return stale, err
	}
	read, err := s.Deposits.Get(ctx, id)
	if err == nil && !reflect.DeepEqual(read, d) {
		err = broken(fmt.Sprintf("stored %+v, read %+v", d, read))
	}
	if err == nil && d.Status != swap.DepositProcessed {
		err = broken("a payment that is final left the deposit as " + d.Status.String())
	}
	if err == nil {
		_, err = s.Deposits.Trail(ctx, id)
	}
	return stale, err
}

// changeControlNow lets things go out for the rest of the transaction.
func changeControlNow(tx SwapUnit) (now time.Time, err error) {
	if now, err = tx.Now(); err != nil {
		return now, err
	}
	old, err := tx.SwapHouse().Control(true)
	if err != nil {
		return now, err
	}
	return now, tx.SwapHouse().SaveControl(old, swap.Control{SolanaScanned: true, NexusScanned: true,
		Reference: old.Reference, Version: old.Version + 1})
}
