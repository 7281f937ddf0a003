package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/store"
)

// forOperator is the list of what rests with a person.
const forOperator = "operator"

// listed pages by ids: what lists has, each as a row.
func listed(lists map[string]func(context.Context, string, int) ([]string, error), of func(context.Context, string) (Row, error),
) func(context.Context, List) (Page, error) {
	return func(ctx context.Context, q List) (page Page, err error) {
		ids, err := lists[q.Name](ctx, q.After, q.Limit)
		for _, id := range ids {
			if err == nil {
				var r Row
				r, err = of(ctx, id)
				page.add(r)
			}
		}
		page.next(len(ids) == q.Limit, func() string { return ids[len(ids)-1] })
		return page, err
	}
}

// relays is the kind of relays.
func (s *Services) relays() *Kind {
	if s.Relays == nil {
		return nil
	}
	k := &Kind{Name: "relay", Domain: store.DomainRelays, Machine: relaysync.Machine.Name(), events: "relaysync",
		Review: []string{forOperator},
		Lists:  []string{forOperator, "pending", everything}, Help: map[string]string{forOperator: "exhausted"}}
	k.list = listed(map[string]func(context.Context, string, int) ([]string, error){
		forOperator: s.Relays.ForOperator, "pending": s.Relays.Pending,
		everything: func(ctx context.Context, after string, n int) ([]string, error) {
			return s.Relays.List(ctx, "", after, n)
		},
	}, func(ctx context.Context, id string) (Row, error) {
		r, err := s.Relays.Get(ctx, id)
		row := Row{ID: id, State: r.Phase().String(), Since: r.Timer.Since, Holder: r.Timer.Lease.Holder, Error: Masked(r.Relay.SyncError)}
		causes, failed := s.Relays.ByCause(ctx, id)
		for _, c := range causes {
			row.Cause = fmt.Sprintf("%s, by %s", c.Cause.Reason, c.Cause.Party)
		}
		return row, errors.Join(err, failed)
	})
	k.get = func(ctx context.Context, id string) (*Item, error) {
		r, err := s.Relays.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		step, _, err := s.Relays.Next(ctx, id)
		if err != nil {
			return nil, err
		}
		is := &Item{Kind: k.Name, ID: id, State: r.Phase().String(), Version: r.Relay.Version,
			Sentence: waits(step.Party, relaysync.Operator, step.Due, "")}
		trail, err := s.Relays.Trail(ctx, id)
		if err := is.tell(err, lines(trail)); err != nil {
			return nil, err
		}
		is.put("tenant", r.Relay.Tenant, "subdomain", r.Relay.Subdomain, "status", r.Relay.Status, "synced", r.Relay.Synced, "revision",
			r.Relay.Revision,
			"*last error", r.Relay.SyncError, "due", r.Timer.Due, "retries exhausted", r.Timer.Exhausted, "owed since", r.Timer.Since,
			"held by", r.Timer.Lease.Holder, "held until", r.Timer.Lease.Until, "failures in a row", r.History.Streak, "made", r.Relay.CreatedAt,
			"deleted", r.Relay.DeletedAt)
		activities, err := s.Relays.Activities(ctx, id, 50)
		told := Table{Name: "Activities", Columns: []string{"number", "type", "at"}}
		for _, a := range activities {
			told.Rows = append(told.Rows, row(a.Sequence, a.Type, a.CreatedAt))
		}
		is.Tables = []Table{told}
		is.record = map[string]any{"Revision": r.Relay.Revision}
		is.digest(r.Timer.Generation)
		return is, err
	}
	k.find = func(ctx context.Context, text string) ([]string, error) {
		r, err := s.Relays.Get(ctx, text)
		return []string{r.Relay.ID}, err
	}
	return speaks(k, s.Relays, same)
}

// tenants is the kind of tenants with their invoices.
func (s *Services) tenants() *Kind {
	if s.Tenants == nil {
		return nil
	}
	k := &Kind{Name: "tenant", Domain: store.DomainRelays, Machine: dunning.TenantMachine.Name(), events: "dunning",
		Review: []string{forOperator},
		Lists:  []string{forOperator, everything}, Help: map[string]string{forOperator: "overpaid"}}
	k.list = listed(map[string]func(context.Context, string, int) ([]string, error){forOperator: s.Tenants.ForOperator,
		everything: s.Tenants.List},
		func(ctx context.Context, id string) (Row, error) {
			a, err := s.Tenants.Get(ctx, id)
			if err != nil {
				return Row{}, err
			}
			now, err := s.Now(ctx)
			r := Row{ID: id, State: a.Tenant.Status().String(), Error: Masked(a.Tenant.PaymentError)}
			causes, failed := s.Tenants.ByCause(ctx, id)
			err = errors.Join(err, failed)
			for _, c := range causes {
				r.Cause = strings.TrimSpace(fmt.Sprintf("%s, by %s", c.Cause.Reason, c.Cause.Party))
			}
			for i := range a.Invoices {
				if n := &a.Invoices[i]; a.Tenant.NeedsOperator(n, now) {
					r.Amount, r.Since = fmt.Sprint(n.Amount), firstTime(n.OverpaidAt, n.ChargeAt, n.CreatedAt)
				}
			}
			return r, err
		})
	k.get = func(ctx context.Context, id string) (*Item, error) {
		a, err := s.Tenants.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		step, now, err := s.Tenants.Next(ctx, id)
		if err != nil {
			return nil, err
		}
		t := &a.Tenant
		is := &Item{Kind: k.Name, ID: id, State: t.Status().String(), Version: t.Version}
		trail, err := s.Tenants.Trail(ctx, id)
		if err := is.tell(err, lines(trail)); err != nil {
			return nil, err
		}
		is.put("method", t.Method, "churned", t.ChurnedAt, "reinstated", t.ReinstatedAt, "*last payment error", t.PaymentError,
			"last notice", t.Notice,
			"due", t.DueAt, "made", t.CreatedAt)
		invoices := Table{Name: "Invoices", Columns: []string{"invoice", "state", "owed", "issued", "made", "charge", "key of the charge",
			"charged at",
			"paid at", "overpaid by", "error"}}
		seen := []any{}
		needs := 0
		var ids, keys, paid []string
		for i := range a.Invoices {
			n := &a.Invoices[i]
			if t.NeedsOperator(n, now) {
				needs++
			}
			over := n.Overpayments()
			invoices.Rows = append(invoices.Rows, row(n.ID, n.Status(), n.Amount, n.Issued, n.CreatedAt, n.Charge, n.ChargeKey, n.ChargeAt, n.PaidAt,
				strings.Join(over, ", "), Masked(n.PaymentError)))
			seen, ids = append(seen, n.ID, n.Version), append(ids, n.ID)
			if paid = append(paid, over...); n.ChargeKey != "" {
				keys = append(keys, n.ChargeKey)
			}
			trail, err := s.Tenants.InvoiceTrail(ctx, n.ID)
			if err := is.tell(err, lines(trail)); err != nil {
				return nil, err
			}
		}
		switch {
		case needs > 0:
			is.Sentence = fmt.Sprintf("%d of its invoices wait for an operator.", needs)
		case step.Action != nil:
			is.Sentence = fmt.Sprintf("It goes on by itself: %s.", step.Action.Do)
		case !step.Due.IsZero():
			is.Sentence = fmt.Sprintf("It goes on by itself, asked again at %s.", step.Due.UTC().Format(time.RFC3339))
		default:
			is.Sentence = "Nothing is owed: nobody has to move it on."
		}
		is.Tables = []Table{invoices}
		is.choices = map[string][]string{"Invoice": ids, "Key": keys, "Acknowledged.Key": paid}
		is.digest(seen...)
		return is, nil
	}
	k.find = func(ctx context.Context, text string) ([]string, error) {
		a, err := s.Tenants.Get(ctx, text)
		return []string{a.Tenant.ID}, err
	}
	return speaks(k, s.Tenants, same)
}

func firstTime(all ...time.Time) (at time.Time) {
	for _, t := range all {
		if at.IsZero() {
			at = t
		}
	}
	return at
}
