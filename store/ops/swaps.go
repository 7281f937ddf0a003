package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// swapped is what deposits and credits of package swap have in common.
type swapped[A any] interface {
	*A
	Head() *swap.Item
	State() string
	Money() swap.Money
	Place() swap.Place
	Machine() string
}

// swaps is the service of one direction.
type swaps[A any] interface {
	service[string, swap.Event, A]
	Get(ctx context.Context, id string) (A, error)
	List(ctx context.Context, place swap.Place, after string, limit int) ([]A, error)
	Next(ctx context.Context, id string) (swap.Step, time.Time, error)
	Trail(ctx context.Context, id string) ([]statemachine.Transition[string], error)
}

func (s *Services) deposits() *Kind {
	if s.Swaps == nil {
		return nil
	}
	receiver := func(d *swap.Deposit) string {
		address, _ := swap.ParseMemo(d.Memo)
		return address
	}
	return direction[swap.Deposit](s, "deposit", s.Swaps.Deposits, receiver, func(is *Item, d *swap.Deposit) {
		is.put("memo was read", d.Read,
			"*memo", d.Memo)
	})
}

func (s *Services) credits() *Kind {
	if s.Swaps == nil {
		return nil
	}
	receiver := func(c *swap.Credit) string { return c.Account }
	return direction[swap.Credit](s, "credit", s.Swaps.Credits, receiver, func(is *Item, c *swap.Credit) {
		is.Payee = c.Account
		is.put("*to", c.To, "*owner", c.Owner, "*account", c.Account, "confirmations", c.Confirmations, "vanished", c.GoneAt)
	})
}

// heldSwaps and overdueSwaps are lists of what is not processed: the few that a person sees to.
const (
	heldSwaps    = "held"
	overdueSwaps = "overdue"
	openSwaps    = "unprocessed"
)

func direction[A any, P swapped[A]](s *Services, name string, of swaps[A], receiver func(*A) string,
	own func(*Item, *A)) *Kind {
	k := &Kind{Name: name, Domain: store.DomainSwaps, Machine: name, events: "swap", Review: []string{heldSwaps},
		Stuck: []string{overdueSwaps},
		Lists: []string{heldSwaps, overdueSwaps}, Help: map[string]string{heldSwaps: "hold", overdueSwaps: "overdue"}}
	for _, p := range swap.Place(0).Values() {
		k.Lists = append(k.Lists, p.String())
	}
	k.get = func(ctx context.Context, id string) (*Item, error) {
		a, err := of.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		step, _, err := of.Next(ctx, id)
		if err != nil {
			return nil, err
		}
		i := P(&a).Head()
		is := &Item{Kind: name, ID: i.ID, State: P(&a).State(), Version: i.Version, Amount: units(i.Amount),
			Sentence: waits(step.Party, swap.Operator, step.Due, step.Why)}
		trail, err := of.Trail(ctx, id)
		if err := is.tell(err, lines(trail)); err != nil {
			return nil, err
		}
		m := P(&a).Money()
		is.put("place", P(&a).Place(), "amount", units(i.Amount), "*from", i.From, "at", i.At, "entered this state", i.Entered, "stored",
			i.Stored,
			"hold", i.Hold.Kind, "held since", i.Hold.At, "why held", i.Hold.Reason, "why refunded", i.Reason, "lost intent", i.Lost,
			"given back by hand", i.ByHand.Reference, "overdue at", i.OverdueAt, "held by", i.Lease.Holder, "held until", i.Lease.Until,
			"next look", i.CheckAt, "paid out", units(m.PaidOut), "refunded", units(m.Refunded), "quarantined", units(m.Quarantined),
			"fees", units(m.Fees), "not paid and not kept", units(m.Held), "given back", units(m.GivenBack), "paid beyond", units(m.Excess))
		own(is, &a)
		intents := Table{Name: "Outbounds", Columns: []string{"number", "action", "attempt", "chain", "net", "at", "outcome", "transaction",
			"proof", "to"}}
		var numbers, open, actions []string
		for _, n := range i.Intents {
			intents.Rows = append(intents.Rows, row(n.Number, n.Action, n.Attempt, n.Chain, units(n.Net), n.At, n.Outcome, n.TxID, n.Proof,
				Masked(n.Destination)))
			numbers = append(numbers, strconv.FormatInt(n.Number, 10))
		}
		against := Table{Name: "Discrepancies", Columns: []string{"number", "kind", "transaction", "amount", "at", "text", "dealt with by"}}
		for n, d := range i.Discrepancies {
			against.Rows = append(against.Rows, row(n+1, d.Kind, d.TxID, units(d.Amount), d.At, d.Text, d.ClosedBy))
			if d.ClosedAt.IsZero() {
				open = append(open, strconv.Itoa(n+1))
			}
		}
		for _, a := range swap.Action(0).Values() {
			actions = append(actions, a.String())
		}
		is.Tables = []Table{intents, against}
		is.choices = map[string][]string{"Number": numbers, "Acknowledged.Number": open, "Action": actions}
		is.digest(len(i.Intents), len(i.Discrepancies))
		return is, nil
	}
	k.list = func(ctx context.Context, q List) (page Page, err error) {
		var place swap.Place
		if place = swap.Unprocessed; q.Name != heldSwaps && q.Name != overdueSwaps {
			err = place.UnmarshalText([]byte(q.Name))
		}
		now, bad := s.Now(ctx)
		if err != nil || bad != nil {
			return page, firstOf(err, bad)
		}
		all, err := of.List(ctx, place, q.After, q.Limit)
		for n := range all {
			a := P(&all[n])
			i := a.Head()
			if q.Name == heldSwaps && i.Hold.Kind == 0 || q.Name == overdueSwaps && !i.Overdue(now) {
				continue
			}
			cause := a.State()
			if i.Hold.Kind != 0 {
				cause = "hold: " + i.Hold.Kind.String() + " " + i.Hold.Reason
			}
			page.add(Row{ID: i.ID, State: a.State(), Amount: units(i.Amount), Payee: Masked(i.From), Since: i.Entered, Holder: i.Lease.Holder,
				Cause: cause})
		}
		page.next(len(all) == q.Limit, func() string { return P(&all[len(all)-1]).Head().ID })
		return page, err
	}
	k.find = func(ctx context.Context, text string) (found []string, err error) {
		if _, err := of.Get(ctx, text); !errors.Is(err, statemachine.ErrNotFound) {
			return []string{text}, err
		}
		// No index has addresses, so they are looked for among what is unprocessed: of the rest, the host's books know the id.
		return among(func(after *A) ([]A, error) {
			last := ""
			if after != nil {
				last = P(after).Head().ID
			}
			return of.List(ctx, swap.Unprocessed, last, store.MaxPage)
		}, func(a *A) (string, bool) {
			i := P(a).Head()
			return i.ID, i.From == text || receiver(a) == text ||
				slices.ContainsFunc(i.Intents, func(n swap.Intent) bool { return n.Destination == text })
		})
	}
	return speaks(k, of, same)
}

// units are base units of 10^-6 as a decimal number; empty for 0.
func units(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%06d", n/1_000_000, n%1_000_000)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
