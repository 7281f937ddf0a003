package main

import (
	"context"
	"fmt"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

const usd = "USD"

// authorize signs a request to the relay server. A service has the key of a Nostr account here:
// see examples/relaysync.
func authorize(context.Context, relaysync.AuthEvent) (string, error) { return "Nostr signed", nil }

// enroll stores a tenant, a relay and a first invoice, in one commit: a tenant who has not paid in
// the end, and is churned, gets no relay.
func (s *service) enroll(ctx context.Context, tenant string) error {
	info := relaysync.Document(fmt.Sprintf(`{"name":"%s","pubkey":"%064x"}`, tenant, len(tenant)))
	return s.DB.Update(ctx, func(tx store.Unit) error {
		_, err := s.Tenants.Within(tx).Do(ctx, tenant, dunning.Enrolled{By: desk, Tenant: tenant, Method: dunning.Stripe},
			dunning.Provisioned{By: desk}, dunning.Issued{By: desk, Invoice: tenant + "-1", Amount: 2100})
		if err == nil {
			relay := tenant + "_relay"
			_, err = s.Relays.Within(tx).Do(ctx, relay, relaysync.Created{By: host, Relay: relay, Tenant: tenant, Subdomain: tenant,
				Config: relaysync.Config{Info: info}})
		}
		return err
	})
}

// bill does what a tenant owes, one effect at a time, each after its intent is stored. An error
// leaves the rest for later: the record says what is owed.
func (s *service) bill(ctx context.Context, steps *store.TenantWork, due store.DueTenant) store.HeldTenant {
	a, policy, by := due.Account, s.Tenants.Policy(), steps.By()
	for do := policy.Next(a, due.At).Action; do != nil; do = policy.Next(a, due.At).Action {
		var intent, answer dunning.Event
		switch do.Do {
		case dunning.DoCharge:
			intent = dunning.ChargeIntended{By: by, Invoice: do.Invoices[0], Key: do.Key}
		case dunning.DoNotify:
			intent = dunning.NoticeIntended{By: by, Notice: do.Key}
		}
		if intent != nil {
			if _, err := s.Tenants.DoHeld(ctx, a, intent); err != nil {
				break
			}
		}
		switch do.Do {
		case dunning.DoCharge:
			outcome, text := s.out.cards.charge(do.Tenant, do.Key, do.Amount)
			answer = dunning.ChargeAnswered{By: by, Invoice: do.Invoices[0], Key: do.Key, Outcome: outcome, Error: text}
		case dunning.DoLookUp: // the answer to a charge was lost
			switch outcome, known := s.out.cards.lookUp(do.Key); {
			case known:
				answer = dunning.ChargeAnswered{By: by, Invoice: do.Invoices[0], Key: do.Key, Outcome: outcome}
			default:
				answer = dunning.ChargeMissing{By: by, Invoice: do.Invoices[0], Key: do.Key, Asked: due.At}
			}
		case dunning.DoNotify:
			s.out.cards.remind(do.Key)
			answer = dunning.NoticeAnswered{By: by, Notice: do.Key, Outcome: statemachine.Done}
		case dunning.DoChurn:
			answer = dunning.Churned{By: by}
		default: // DoLookBack is for a database that was put back: see examples/relaysync
			return store.HeldTenant{Account: due.Account}
		}
		stored, err := s.Tenants.Do(ctx, do.Tenant, answer) // whatever came between
		if err != nil {
			break
		}
		a = stored
	}
	return store.HeldTenant{Account: due.Account}
}
