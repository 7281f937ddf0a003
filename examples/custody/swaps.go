package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/examples/swap/chain"
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

// swapper does what swaps owe outside of the database, under the name of one worker.
type swapper struct {
	swaps *store.Swaps
	out   *outside
	by    swap.By
	known map[swap.Chain]map[string]bool // what the vault sent, stored when it was final
}

func (s *service) swapper(name string) *swapper {
	return &swapper{s.Swaps, s.out, swap.By{Actor: name, Role: swap.Worker}, map[swap.Chain]map[string]bool{swap.Solana: {}, swap.Nexus: {}}}
}

func (k *swapper) deposit(ctx context.Context, d swap.Deposit) store.HeldDeposit {
	d = handle(ctx, k, k.swaps.Deposits, d)
	return store.HeldDeposit{Deposit: d, Events: []swap.Event{swap.GivenBack{By: k.by, Fence: d.Lease.Fence}}}
}

func (k *swapper) credit(ctx context.Context, c swap.Credit) store.HeldCredit {
	c = handle(ctx, k, k.swaps.Credits, c)
	return store.HeldCredit{Credit: c, Events: []swap.Event{swap.GivenBack{By: k.by, Fence: c.Lease.Fence}}}
}

// items is the service of one direction.
type items[A any] interface {
	Do(ctx context.Context, id string, events ...swap.Event) (A, error)
	Next(ctx context.Context, id string) (swap.Step, time.Time, error)
}

func headOf[A any](item *A) *swap.Item { return any(item).(swap.Record).Head() }

// handle does what a claimed item owes, one thing after the other, until nothing new comes of it. An
// error leaves the rest for later: the record says what is owed.
func handle[A any](ctx context.Context, k *swapper, s items[A], item A) A {
	for version := int64(0); version != headOf(&item).Version; {
		version = headOf(&item).Version
		step, now, err := s.Next(ctx, headOf(&item).ID)
		if err != nil {
			return item
		}
		for _, task := range step.Tasks {
			next, err := do(ctx, k, s, item, task, now)
			if err != nil {
				return item
			}
			item = next
		}
	}
	return item
}

// do does one thing and stores what came of it. now is the time of the store.
func do[A any](ctx context.Context, k *swapper, s items[A], item A, t swap.Task, now time.Time) (A, error) {
	head := headOf(&item)
	var ev swap.Event
	switch t.Do {
	case swap.FetchMemo: // of a deposit: who is to be paid on Nexus
		in, err := k.arrival(ctx, swap.Solana, head.ID)
		ev = swap.MemoFetched{By: k.by, Memos: []string{in.Memo}, Failed: err != nil}
	case swap.LookUpMapping: // of a credit: the sender's account on Solana
		in, err := k.arrival(ctx, swap.Nexus, head.ID)
		looked := swap.MappingLooked{By: k.by, Asked: now, Finding: swap.MappingMissing}
		switch {
		case err != nil:
			looked.Finding = swap.MappingUnknown
		case in.Memo != "":
			looked.Finding, looked.TxID, looked.Owner, looked.Account = swap.MappingFound, head.ID, in.From, in.Memo
		}
		ev = looked
	case swap.CheckAccount:
		checked := swap.AccountChecked{By: k.by, State: swap.AccountUsable}
		if strings.Contains(t.Account, "frozen") {
			checked.State = swap.AccountFrozen
		}
		ev = checked
	case swap.CountConfirmations:
		ev = swap.Confirmations{By: watcher, Asked: now, Count: 2}
	case swap.Tell:
		ev = swap.Elapsed{By: k.by}
	case swap.LookUp:
		ev = k.look(ctx, head, t.Number, now)
	case swap.Begin:
		return begin(ctx, k, s, item, t, now)
	default:
		return item, fmt.Errorf("%s is for a database that was put back: see examples/swap", t.Do)
	}
	return s.Do(ctx, head.ID, ev)
}

// begin stores the intent, hands the payment over, and says what came of it. Whatever kills it in
// between leaves an open intent, which is looked up.
func begin[A any](ctx context.Context, k *swapper, s items[A], item A, t swap.Task, now time.Time) (A, error) {
	head := headOf(&item)
	ev := swap.Begun{By: k.by, Fence: head.Lease.Fence, Number: t.Number, Action: t.Action}
	if t.Chain == swap.Solana { // its payments have a signature, and end at a height; those of Nexus have a reference, which is drawn for us
		height, err := k.out.swapChain(t.Chain).Height(ctx)
		if err != nil {
			return item, err
		}
		ev.Signature, ev.LastValid = fmt.Sprintf("%s-%s-%d-%d", head.ID, t.Action, t.Number, now.UnixMicro()), height+25
	}
	item, err := s.Do(ctx, head.ID, ev)
	if err != nil {
		return item, err
	}
	head = headOf(&item)
	in := head.Intent(t.Number)
	answer := swap.Answered{By: k.by, Fence: head.Lease.Fence, Number: in.Number,
		Outcome: statemachine.Deferred, Reason: "the lease is almost over"}
	if in.SendBy.Sub(in.At) > 2*k.swaps.Deposits.Policy().CallTimeout {
		token := usdd
		if in.Chain == swap.Solana {
			token = usdc
		}
		answer.TxID, err = k.out.swapChain(in.Chain).Send(ctx, chain.Sent{Valid: ev.LastValid, Transfer: chain.Transfer{
			ID: in.Signature, Vault: true, From: vault, To: in.Destination, Amount: in.Net, Token: token, Memo: in.Memo, Reference: in.Reference}})
		switch answer.Outcome, answer.Reason = statemachine.Done, ""; {
		case errors.Is(err, chain.ErrRefused):
			answer.Outcome, answer.Reason = statemachine.Failed, err.Error()
		case err != nil: // it may have been taken
			answer.Outcome, answer.Reason = statemachine.Unknown, err.Error()
		}
	}
	return s.Do(ctx, head.ID, answer)
}

// look looks one intent up, and says how much that covers.
func (k *swapper) look(ctx context.Context, head *swap.Item, number int64, now time.Time) swap.Event {
	ev := swap.Looked{By: k.by, Number: number, Finding: swap.LookUnknown}
	in := head.Intent(number)
	if in == nil { // another worker has begun it meanwhile
		return ev
	}
	client, id := k.out.swapChain(in.Chain), in.Signature
	if in.Reference != 0 {
		id = fmt.Sprint("reference ", in.Reference)
	}
	before, err := client.Height(ctx)
	if err != nil {
		return ev
	}
	found, err := client.Status(ctx, id)
	if err != nil {
		return ev
	}
	ev.Finding = swap.LookMissing
	if found.Found {
		ev.Finding, ev.Seen = swap.LookFound, sighting(in.Chain, &found)
	}
	ev.View = swap.View{From: in.At.Add(-k.swaps.Deposits.Policy().WaterlineMargin), Asked: now, ByID: true, ByMemo: true,
		Before: before, After: found.Height, CannotLand: !found.Waiting}
	return ev
}

// sighting is what the chain shows, in the words of the rules.
func sighting(c swap.Chain, s *chain.Status) swap.Sighting {
	return swap.Sighting{VaultSigned: s.Vault, Chain: c, TxID: s.ID, Memo: s.Memo, Reference: s.Reference, Amount: s.Amount,
		Destination: s.To, Token: s.Token, Errored: s.Errored, Confirmations: s.Confirmations, Finalized: s.Final, Time: s.Time}
}

// arrival finds what came in under an id.
func (k *swapper) arrival(ctx context.Context, c swap.Chain, id string) (chain.Transfer, error) {
	all, _, _, err := k.out.swapChain(c).History(ctx, false)
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
	in, _, _, err := k.out.swapChain(c).History(ctx, false)
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
	own, _, _, err := k.out.swapChain(c).History(ctx, true)
	for i := range own {
		if t := &own[i]; err == nil && !k.known[c][t.ID] {
			err = k.swaps.Outbound(ctx, watcher, sighting(c, t))
			k.known[c][t.ID] = err == nil && t.Final
		}
	}
	if err != nil {
		return again, err
	}
	if scan.From.IsZero() {
		scan.From = k.out.began
	}
	scan.Complete, scan.Tip = true, scan.Began
	_, err = k.swaps.Scanned(ctx, c, true, scan)
	return again, err
}
