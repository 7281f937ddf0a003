package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// oldSwaps are items in every status of both machines, so in all eight tables, with
// what concerns the house.
type oldSwaps struct {
	*store.Swaps
	db   *sqlstore.Store
	p    swap.Policy
	rows []oldSwap
}

type oldSwap struct {
	d       swap.Direction
	id, end string
}

// swapOf is the time of an event in these rows: all before has happened then.
func swapOf(r swap.Role, after time.Duration) swap.By {
	return swap.By{Actor: r.String(), Role: r, At: swaptest.Start.Add(after)}
}

func newOldSwaps(t *testing.T, db *sqlstore.Store) *oldSwaps {
	o := &oldSwaps{db: db, p: swaptest.Policy()}
	o.p.MaxAttempts = 1
	o.open(t, db)
	ctx := context.Background()
	err := db.Update(ctx, func(tx store.Unit) error {
		h := tx.SwapHouse()
		old, err := h.Control(true)
		if err != nil {
			return err
		}
		c := old.Scanned(swap.Solana).Scanned(swap.Nexus)
		if c, err = c.Seed(40); err == nil {
			err = h.SaveControl(old, c)
		}
		for _, own := range []bool{false, true} {
			w := swap.Waterline{Chain: swap.Nexus, Own: own}
			to := w
			to.At, to.Version = swaptest.Start, 1
			if err == nil {
				err = h.SaveWaterline(w, to)
			}
		}
		return err
	})
	if err == nil {
		err = o.Outbound(ctx, swapOf(swap.Observer, 0), swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "rent", Amount: 5})
	}
	if err != nil {
		t.Fatal(err)
	}
	w, op := swapOf(swap.Worker, time.Second), swapOf(swap.Operator, time.Second)
	late := swapOf(swap.Worker, time.Hour+time.Minute)
	claim, check := swap.Claimed{By: w}, swap.AccountChecked{By: w, State: swap.AccountUsable}
	aside := swap.QuarantineOrdered{By: op, Reason: "because"}
	begun := func(a swap.Action, solana bool) swap.Begun {
		ev := swap.Begun{By: w, Fence: 1, Number: 1, Action: a}
		if solana {
			ev.Signature, ev.Raw, ev.LastValid = fmt.Sprint("sig", len(o.rows)), []byte{0, 255}, 1000
		}
		return ev
	}
	answer := func(outcome statemachine.Outcome) swap.Answered {
		return swap.Answered{By: w, Fence: 1, Number: 1, Outcome: outcome, TxID: fmt.Sprint("sig", len(o.rows)), Reason: "said"}
	}
	done := statemachine.Done
	deposit := func(end string, amount uint64, events ...swap.Event) {
		t.Helper()
		o.add(t, swap.ToUSDD, end, swap.Observed{By: swapOf(swap.Observer, 0), Amount: amount, From: "alice", Time: swaptest.Start, Success: true, Finalized: true}, events...)
	}
	good, bad := swap.MemoFetched{By: w, Memos: []string{"nexus:carol"}}, swap.MemoFetched{By: w, Memos: []string{"hello"}}
	const paid, refunded, moved, fees = "debit_confirmed", "refund_confirmed", "quarantine sent, awaiting confirmation", "processed, amount after fees <= 0"
	deposit(paid, 10_000_000)
	deposit(paid, 10_000_000, claim, good)
	deposit(paid, 10_000_000, claim, good, check, begun(swap.Send, false))
	deposit(paid, 10_000_000, claim, good, check, begun(swap.Send, false), answer(done))
	deposit(paid, 10_000_000, claim, good, check, begun(swap.Send, false), answer(done), o.look(swap.ToUSDD, swap.Send))
	deposit(fees, 5, claim, good, swap.Elapsed{By: w})
	deposit(refunded, 10_000_000, claim, bad)
	deposit(refunded, 10_000_000, claim, bad, begun(swap.Refund, true), answer(done))
	deposit(refunded, 10_000_000, claim, bad, begun(swap.Refund, true), answer(done), o.look(swap.ToUSDD, swap.Refund))
	deposit(moved, 10_000_000, claim, bad, aside)
	deposit(moved, 10_000_000, claim, bad, aside, begun(swap.Quarantine, true), answer(done))
	deposit(moved, 10_000_000, claim, bad, aside, begun(swap.Quarantine, true), answer(statemachine.Failed))
	deposit(paid, 10_000_000, claim, good, swap.Held{By: op, Reason: "because"})
	deposit(paid, 10_000_000, claim, good, swap.PaidBy{By: op, Action: swap.Send, TxID: "byhand", Reason: "seen"})
	credit := func(end string, amount uint64, events ...swap.Event) {
		t.Helper()
		o.add(t, swap.ToUSDC, end, swap.Observed{By: swapOf(swap.Observer, 0), Amount: amount, From: "bob-nexus", To: "treasury", Owner: "bob", Time: swaptest.Start, Success: true}, events...)
	}
	two, closed := swap.Confirmations{By: swapOf(swap.Observer, 0), Count: 2}, swap.AccountChecked{By: w, State: swap.AccountClosed}
	none := swap.MappingLooked{By: w, Asked: w.At, Finding: swap.MappingMissing}
	found := func() swap.MappingLooked {
		return swap.MappingLooked{By: w, Finding: swap.MappingFound, TxID: o.id(), Owner: "bob", Account: "bob-usdc"}
	}
	credit("processed", 10_000_000)
	credit("processed", 10_000_000, two)
	credit("processed", 10_000_000, two, claim, found())
	credit("processed", 10_000_000, two, claim, found(), check, begun(swap.Send, true))
	credit("processed", 10_000_000, two, claim, found(), check, begun(swap.Send, true), answer(done))
	credit("processed", 10_000_000, two, claim, found(), check, begun(swap.Send, true), answer(done), o.look(swap.ToUSDC, swap.Send))
	credit("processed as fees", 5, two)
	credit("processed", 10_000_000, two, claim, none, swap.Elapsed{By: late})
	credit("refunded", 10_000_000, two, claim, none, swap.Elapsed{By: late}, swap.MappingLooked{By: late, Asked: late.At, Finding: swap.MappingMissing})
	credit("refunded", 10_000_000, two, claim, found(), closed)
	credit("refunded", 10_000_000, two, claim, found(), closed, begun(swap.Refund, false), answer(done))
	credit("quarantined", 10_000_000, two, claim, found(), closed, aside)
	credit("quarantined", 10_000_000, two, claim, found(), closed, aside, begun(swap.Quarantine, false), answer(done))
	credit("processed as fees", 10_000_000, two, claim, found(), swap.Confirmations{By: swapOf(swap.Observer, time.Second), Asked: w.At, Gone: true})
	return o
}

// everywhere: each place has items of both directions.
func (o *oldSwaps) everywhere(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	for _, place := range swap.Place(0).Values() {
		ds, err := o.Deposits.List(ctx, place, "", 1)
		cs, failed := o.Credits.List(ctx, place, "", 1)
		if err = errors.Join(err, failed); err != nil || len(ds) == 0 || len(cs) == 0 {
			t.Errorf("%v has no item of one direction, %v", place, err)
		}
	}
}

func (o *oldSwaps) open(t *testing.T, db *sqlstore.Store) {
	t.Helper()
	var err error
	if o.Swaps, err = store.NewSwaps(db, o.p); err != nil {
		t.Fatal(err)
	}
}

// id of the next row.
func (o *oldSwaps) id() string { return fmt.Sprintf("row%02d", len(o.rows)) }

func (o *oldSwaps) add(t *testing.T, d swap.Direction, end string, first swap.Observed, events ...swap.Event) {
	t.Helper()
	first.ID = o.id()
	row := oldSwap{d, first.ID, end}
	o.rows = append(o.rows, row)
	o.do(t, row, append([]swap.Event{first}, events...)...)
}

func (o *oldSwaps) do(t *testing.T, row oldSwap, events ...swap.Event) swap.Record {
	t.Helper()
	if row.d == swap.ToUSDD {
		d, err := o.Deposits.Do(context.Background(), row.id, events...)
		if err != nil {
			t.Fatalf("%+v: %v", row, err)
		}
		return &d
	}
	c, err := o.Credits.Do(context.Background(), row.id, events...)
	if err != nil {
		t.Fatalf("%+v: %v", row, err)
	}
	return &c
}

// look finds the next row's only intent, finally.
func (o *oldSwaps) look(d swap.Direction, a swap.Action) swap.Looked {
	id := fmt.Sprint("sig", len(o.rows))
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: id, Memo: swap.WriteMemo(a, o.id(), 0), Amount: 9_490_000, Destination: "bob-usdc", Token: "USDC", Finalized: true}
	switch {
	case d == swap.ToUSDD && a == swap.Send:
		seen = swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: id, Reference: 43, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 99}
	case d == swap.ToUSDD:
		seen.Amount, seen.Destination = 9_900_000, "alice"
	}
	return swap.Looked{By: swapOf(swap.Worker, 2*time.Second), Number: 1, Finding: swap.LookFound, Seen: seen}
}

// read is all that can be read, and in how many rows each of the eight tables is.
func (o *oldSwaps) read(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	var all []any
	keep := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for _, row := range o.rows {
		if row.d == swap.ToUSDD {
			d, err := o.Deposits.Get(ctx, row.id)
			keep(d, err)
			trail, err := o.Deposits.Trail(ctx, row.id)
			keep(trail, err)
		} else {
			c, err := o.Credits.Get(ctx, row.id)
			keep(c, err)
			trail, err := o.Credits.Trail(ctx, row.id)
			keep(trail, err)
		}
	}
	for _, place := range swap.Place(0).Values() {
		ds, err := o.Deposits.List(ctx, place, "", 100)
		keep(len(ds), err)
		cs, err := o.Credits.List(ctx, place, "", 100)
		keep(len(cs), err)
	}
	c, err := o.Control(ctx)
	keep(c, err)
	notes, _, err := o.Discrepancies(ctx, 0, 100)
	keep(notes, err)
	for _, own := range []bool{false, true} {
		w, _, err := o.Waterline(ctx, swap.Nexus, own)
		keep(w, err)
	}
	text, err := json.Marshal(all)
	keep(nil, err)
	return string(text)
}

// goOn takes each row to its end, as a worker would, with chains on which everything
// lands.
func (o *oldSwaps) goOn(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	c, err := o.Control(ctx)
	if err != nil {
		t.Fatal(err)
	}
	references := map[uint64]string{}
	for _, row := range o.rows {
		now := swaptest.Start.Add(2 * time.Hour)
		a := o.do(t, row)
		for range 20 {
			i := a.Head()
			now = now.Add(time.Minute)
			var step swap.Step
			if row.d == swap.ToUSDD {
				step = o.p.NextDeposit(*a.(*swap.Deposit), c, now)
			} else {
				step = o.p.NextCredit(*a.(*swap.Credit), c, now)
			}
			events := o.answer(i, step, now)
			if events == nil {
				break
			}
			a = o.do(t, row, events...)
		}
		if a.State() != row.end {
			t.Errorf("%s ends as %s, not %s", row.id, a.State(), row.end)
		}
		check := error(nil)
		switch a := a.(type) {
		case *swap.Deposit:
			check = swap.CheckDeposit(*a)
		case *swap.Credit:
			check = swap.CheckCredit(*a)
		}
		if check != nil {
			t.Error(check)
		}
		for _, in := range a.Head().Intents {
			if of := references[in.Reference]; in.Reference != 0 && of != "" {
				t.Errorf("reference %d is of %s and %s", in.Reference, of, row.id)
			}
			references[in.Reference] = row.id
		}
	}
	// What was filed by hand for one is nobody else's.
	other := oldSwap{swap.ToUSDD, "another", ""}
	o.do(t, other, swap.Observed{By: swapOf(swap.Observer, 0), ID: other.id, Amount: 10_000_000, Time: swaptest.Start, Success: true, Finalized: true})
	if _, err := o.Deposits.Do(ctx, other.id, swap.PaidBy{By: swapOf(swap.Operator, time.Hour), Action: swap.Send, TxID: "byhand", Reason: "x"}); err == nil {
		t.Error("a transaction that was filed before the migration is filed once more")
	}
	if err := store.SelfCheckSwaps(ctx, o.db); err != nil {
		t.Error(err)
	}
}

// answer is what the chains and an operator say to what is owed; nil at the end.
func (o *oldSwaps) answer(i *swap.Item, step swap.Step, now time.Time) []swap.Event {
	by := func(r swap.Role) swap.By { return swap.By{Actor: r.String(), Role: r, At: now} }
	for _, task := range step.Tasks {
		switch task.Do {
		case swap.FetchMemo:
			return []swap.Event{swap.MemoFetched{By: by(swap.Worker), Memos: []string{"nexus:carol"}}}
		case swap.CheckAccount:
			return []swap.Event{swap.AccountChecked{By: by(swap.Worker), State: swap.AccountUsable}}
		case swap.LookUpMapping:
			return []swap.Event{swap.MappingLooked{By: by(swap.Worker), Finding: swap.MappingFound, TxID: i.ID, Owner: "bob", Account: "bob-usdc"}}
		case swap.CountConfirmations:
			if strings.Contains(step.Why, "vanished") {
				return []swap.Event{swap.Dropped{By: by(swap.Operator), Reason: "gone"}}
			}
			return []swap.Event{swap.Confirmations{By: by(swap.Observer), Count: 9}}
		case swap.Tell:
			return []swap.Event{swap.Elapsed{By: by(swap.System)}}
		case swap.Begin:
			ev := swap.Begun{By: by(swap.Worker), Fence: i.Lease.Fence, Number: task.Number, Action: task.Action}
			if task.Chain == swap.Solana {
				ev.Signature, ev.LastValid = fmt.Sprint("late", i.ID, task.Number), 1000
			}
			if !i.Lease.Held(now) {
				ev.Fence++
				return []swap.Event{swap.Claimed{By: by(swap.Worker)}, ev}
			}
			return []swap.Event{ev}
		case swap.LookUp:
			in := i.Intents[task.Number-1]
			seen := swap.Sighting{VaultSigned: true, Chain: in.Chain, TxID: in.TxID, Memo: in.Memo, Reference: in.Reference, Amount: in.Net, Destination: in.Destination, Token: "USDD", Confirmations: 99, Finalized: true}
			if seen.TxID == "" {
				seen.TxID = in.Signature + "n" + i.ID
			}
			if in.Chain == swap.Solana {
				seen.Token = "USDC"
				if in.Signature != "" {
					seen.TxID = in.Signature
				}
			}
			return []swap.Event{swap.Looked{By: by(swap.Worker), Number: task.Number, Finding: swap.LookFound, Seen: seen}}
		}
	}
	switch {
	case i.Hold.Kind == swap.ByOperator:
		return []swap.Event{swap.Released{By: by(swap.Operator), Reason: "go on"}}
	case slices.ContainsFunc(i.Intents, func(in swap.Intent) bool { return in.Outcome == statemachine.Failed && in.Proof == 0 }):
		return nil
	case strings.Contains(step.Why, "requeue"):
		return []swap.Event{swap.Requeued{By: by(swap.Operator), Reason: "go on"}}
	case step.Party == swap.Worker:
		return []swap.Event{swap.Elapsed{By: by(swap.System)}}
	}
	return nil
}
