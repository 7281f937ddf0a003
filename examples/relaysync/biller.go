package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
)

// provider charges. The same key again is the same charge, whose answer it
// repeats; it never charges twice for one key.
type provider struct {
	paid    map[string]int64 // by key
	refused map[string]bool  // by key
	calls   map[string]int   // by invoice
	held    map[string]bool  // keys that it got and answered nothing to
}

// charge answers as the tenant's name says.
func (p *provider) charge(tenant string, a *dunning.Action) (statemachine.Outcome, string) {
	invoice := a.Invoices[0]
	p.calls[invoice]++
	if p.refused[a.Key] {
		return statemachine.Failed, "card declined"
	}
	switch {
	case strings.HasPrefix(tenant, "declined"), strings.HasPrefix(tenant, "flaky") && p.calls[invoice] == 1:
		p.refused[a.Key] = true
		return statemachine.Failed, "card declined"
	case strings.HasPrefix(tenant, "lost") && !p.held[a.Key]: // the money moves, the answer is lost
		p.held[a.Key] = true
		p.paid[a.Key] = a.Amount
		return statemachine.Unknown, "no answer"
	case strings.HasPrefix(tenant, "absent") && !p.held[a.Key]: // it never arrives
		p.held[a.Key] = true
		return statemachine.Unknown, "no answer"
	}
	p.paid[a.Key] = a.Amount
	return statemachine.Done, ""
}

// ninetyDays of dunning, in accelerated time.
type ninetyDays struct {
	*host
	tenants  *store.Tenants
	now      time.Time
	began    time.Time
	provider provider
	messages map[string][]time.Duration // by invoice, since it was issued
	sent     map[string]int             // messages by key
	churned  map[string]time.Duration
	issued   map[string]time.Time
}

var tenantNames = []string{"punctual_stripe", "punctual_nwc", "flaky_nwc", "lost_stripe", "absent_nwc", "late_manual", "switching_manual",
	"churning_manual", "declined_stripe"}

const day = 24 * time.Hour

// dunning lets ninety days pass, the last of them now.
func (h *host) dunning(ctx context.Context) (err error) {
	n := &ninetyDays{host: h, began: time.Now().UTC().Truncate(time.Second).Add(-91 * day),
		messages: map[string][]time.Duration{}, sent: map[string]int{},
		churned: map[string]time.Duration{}, issued: map[string]time.Time{},
		provider: provider{paid: map[string]int64{}, refused: map[string]bool{}, calls: map[string]int{}, held: map[string]bool{}}}
	n.now = n.began
	db, err := program.Open(ctx, h.options.db, program.Options{Options: sqlstore.Options{Now: func() time.Time { return n.now }}})
	if err != nil {
		return err
	}
	defer db.Close()
	relays, err := store.NewRelays(db, policy(h.options.base))
	if err != nil {
		return err
	}
	if n.tenants, err = store.NewTenants(db, relays, dunning.DefaultPolicy()); err != nil {
		return err
	}
	for i, name := range tenantNames {
		method := dunning.Manual
		for _, m := range dunning.Method(0).Values() {
			if strings.HasSuffix(name, m.String()) {
				method = m
			}
		}
		if _, err := n.tenants.Do(ctx, name, dunning.Enrolled{By: n.by(dunning.Host), Tenant: name, Method: method}); err != nil {
			return err
		}
		id, subdomain, c := relay(10_000+i, 0)
		err := db.Update(ctx, func(tx store.Unit) error { // a tenant who is churned gets no relay
			_, err := n.tenants.Within(tx).Do(ctx, name, dunning.Provisioned{By: n.by(dunning.Host)})
			if err == nil {
				_, err = relays.Within(tx).Do(ctx, id, relaysync.Created{By: by(relaysync.Host), Relay: id, Tenant: name,
					Subdomain: subdomain, Config: c})
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	steps := n.tenants.Work(worker.NewName("biller"))
	for after := ""; ; { // at each start: a clock may have been ahead
		last, _, refused, err := n.tenants.Reconcile(ctx, steps.By(), after, 100)
		if err = errors.Join(err, refused); err != nil {
			return err
		}
		if after = last; last == "" {
			break
		}
	}
	for hour := range 90 * 24 {
		n.now = n.began.Add(time.Duration(hour) * time.Hour)
		if err := n.customers(ctx, hour); err != nil {
			return err
		}
		if d := hour / 24; d >= 40 && d < 43 {
			continue // three days without a biller
		}
		for {
			items, _, err := steps.Turn(ctx, nil, 100)
			if err != nil {
				return err
			}
			if len(items) == 0 {
				break
			}
			for _, item := range items {
				if err := n.step(ctx, steps, item); err != nil {
					return err
				}
			}
		}
	}
	return n.proveDunning(ctx)
}

func (n *ninetyDays) by(role dunning.Role) dunning.By {
	return dunning.By{Actor: map[dunning.Role]string{dunning.Host: "host", dunning.Biller: "biller-1",
		dunning.Operator: "olga"}[role], Role: role}
}

// customers issues an invoice to each tenant every thirty days, and lets some pay
// or change how they pay.
func (n *ninetyDays) customers(ctx context.Context, hour int) error {
	for _, name := range tenantNames {
		invoice := fmt.Sprintf("%s-%d", name, hour/720)
		var ev dunning.Event
		switch at := hour % 720; {
		case at == 0:
			n.issued[invoice] = n.now
			ev = dunning.Issued{By: n.by(dunning.Host), Invoice: invoice, Amount: 2100}
		case at == 3*24+5 && name == "late_manual": // three days late, by other means
			ev = dunning.Paid{By: n.by(dunning.Host), Invoice: invoice, Method: dunning.Manual}
		case hour == 2*24 && name == "switching_manual":
			ev = dunning.MethodSet{By: n.by(dunning.Host), Method: dunning.Stripe}
		}
		if ev == nil {
			continue
		}
		if _, err := n.tenants.Do(ctx, name, ev); err != nil {
			return err
		}
	}
	return nil
}

// step does what is owed, one effect at a time, each after its intent. An intent is
// of the account as it was decided on, an answer is stored whatever came between.
func (n *ninetyDays) step(ctx context.Context, w *store.TenantWork, item worker.Item[store.DueTenant]) error {
	a, policy := item.Work.Account, n.tenants.Policy()
	for {
		do := policy.Next(a, item.Work.At).Action
		if do == nil {
			return nil
		}
		var intent, answer dunning.Event
		outcome := statemachine.Done
		switch do.Do {
		case dunning.DoCharge:
			intent = dunning.ChargeIntended{By: w.By(), Invoice: do.Invoices[0], Key: do.Key}
		case dunning.DoNotify:
			intent = dunning.NoticeIntended{By: w.By(), Notice: do.Key}
		case dunning.DoChurn:
			intent = dunning.Churned{By: w.By()}
		}
		if intent != nil {
			stored, err := n.tenants.DoHeld(ctx, a, intent)
			if err != nil {
				return err
			}
			a = stored
		}
		text := ""
		switch do.Do {
		case dunning.DoCharge:
			outcome, text = n.provider.charge(a.Tenant.ID, do)
			answer = dunning.ChargeAnswered{By: w.By(), Invoice: do.Invoices[0], Key: do.Key, Outcome: outcome, Error: text}
		case dunning.DoLookUp:
			if _, ok := n.provider.paid[do.Key]; ok {
				answer = dunning.ChargeAnswered{By: w.By(), Invoice: do.Invoices[0], Key: do.Key, Outcome: statemachine.Done}
			} else {
				answer = dunning.ChargeMissing{By: w.By(), Invoice: do.Invoices[0], Key: do.Key, Asked: item.Work.At}
			}
		case dunning.DoLookBack: // on a restored database: whatever was paid under any key, or in the host's own books
			answer = dunning.LookedBack{By: w.By(), Invoice: do.Invoices[0], Asked: item.Work.At}
			for key := range n.provider.paid {
				if strings.HasPrefix(key, do.Invoices[0]+"/") {
					answer = dunning.Paid{By: n.by(dunning.Host), Invoice: do.Invoices[0], Method: a.Tenant.Method, Payment: key}
				}
			}
		case dunning.DoNotify:
			n.sent[do.Key]++
			for _, i := range do.Invoices {
				n.messages[i] = append(n.messages[i], n.now.Sub(n.issued[i]))
			}
			answer = dunning.NoticeAnswered{By: w.By(), Notice: do.Key, Outcome: statemachine.Done}
		case dunning.DoChurn:
			n.churned[a.Tenant.ID] = n.now.Sub(a.Invoices[0].CreatedAt)
			continue
		}
		stored, err := n.tenants.Do(ctx, a.Tenant.ID, answer)
		if err != nil {
			return err
		}
		a = stored
	}
}

// proveDunning compares what was stored with what happened outside.
func (n *ninetyDays) proveDunning(ctx context.Context) error {
	for _, name := range tenantNames {
		a, err := n.tenants.Get(ctx, name)
		if err != nil {
			return err
		}
		_, err = n.tenants.Trail(ctx, name)
		n.check(err == nil, "the trail of %s replays: %v", name, err)
		n.check(dunning.Check(a) == nil, "%s is sound: %v", name, dunning.Check(a))
		row := tenantRow{Tenant: name, Status: a.Tenant.Status().String()}
		churns := name == "churning_manual" || name == "declined_stripe"
		for _, i := range a.Invoices {
			row.Invoices++
			row.Charges += n.provider.calls[i.ID]
			row.Messages += len(n.messages[i.ID])
			payments := 0
			for key := range n.provider.paid {
				if strings.HasPrefix(key, i.ID+"/") {
					payments++
				}
			}
			if !i.PaidAt.IsZero() {
				row.Paid++
			}
			byCharge := i.PaidKey != ""
			n.check(payments <= 1 && (payments == 1) == byCharge, "%s was charged for %d times, and says %v", i.ID, payments, byCharge)
			n.check(i.OverpaidAt.IsZero(), "%s is not overpaid", i.ID)
			n.check(churns != !i.PaidAt.IsZero(), "%s: paid at %v", i.ID, i.PaidAt)
			var want []time.Duration
			if first := i.ID == name+"-0"; name == "late_manual" || name == "switching_manual" && first || churns && first {
				want = []time.Duration{day}
			}
			n.check(slices.Equal(n.messages[i.ID], want), "%s: messages after %v, expected %v", i.ID, n.messages[i.ID], want)
		}
		if at, ok := n.churned[name]; ok {
			row.ChurnedAfter = at.String()
		}
		n.check(churns == (n.churned[name] == 7*day), "%s was churned after %v", name, n.churned[name])
		n.report.Tenants = append(n.report.Tenants, row)
	}
	for key, times := range n.sent {
		n.check(times == 1, "message %s was sent %d times", key, times)
	}
	return nil
}

// churned: the reactor brings to the server what the dunning left behind.
func (h *host) churned(ctx context.Context) error {
	if err := h.settled(ctx); err != nil {
		return err
	}
	for i, name := range tenantNames {
		s, err := h.relays.Get(ctx, fmt.Sprint("relay_", 10_000+i))
		if err != nil {
			return err
		}
		churned := name == "churning_manual" || name == "declined_stripe"
		h.check(churned == (s.Relay.Status == relaysync.Inactive), "the relay of %s is %v", name, s.Relay.Status)
	}
	return nil
}
