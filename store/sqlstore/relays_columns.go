package sqlstore

import (
	"database/sql/driver"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
)

// The records of packages relaysync and dunning, see [table]. A relay's row has
// its timer; its history is in the activities.

var relayTable = newTable(table[relaysync.Sync]{
	name:    "relays",
	machine: relaysync.Machine.Name(),
	version: func(s *relaysync.Sync) int64 { return s.Relay.Version },
	fixed: func(s *relaysync.Sync) list {
		r := &s.Relay
		return list{{"id text", always(&r.ID)}, {"tenant text", always(&r.Tenant)}, {"created_at time", always(&r.CreatedAt)}}
	},
	state: func(s *relaysync.Sync) list {
		r, t := &s.Relay, &s.Timer
		return list{{"subdomain text", always(&r.Subdomain)}, {"status text", always(&r.Status)}, {"info text", always(&r.Info)},
			{"policy text", always(&r.Policy)},
			{"groups text", always(&r.Groups)}, {"management text", always(&r.Management)}, {"push text", always(&r.Push)},
			{"roles text", always(&r.Roles)},
			{"blossom_enabled int", always(&r.BlossomEnabled)}, {"blossom text", always(&r.Blossom)},
			{"livekit_enabled int", always(&r.LivekitEnabled)},
			{"livekit text", always(&r.Livekit)}, {"synced int", flagField{&r.Synced}}, {"sync_error text", always(&r.SyncError)},
			{"revision int", always(&r.Revision)},
			{"recreate bool", always(&r.Recreate)}, {"sent text", always(&r.Sent)}, {"version int", always(&r.Version)},
			{"deleted_at time", maybe(&r.DeletedAt)},
			{"generation int", always(&t.Generation)}, {"due_at time", maybe(&t.Due)}, {"backoff bool", always(&t.Backoff)},
			{"exhausted bool", always(&t.Exhausted)},
			{"claimed_at time", maybe(&t.ClaimedAt)}, {"claimed_revision int", always(&t.Revision)}, {"lapses int", always(&t.Lapses)},
			{"lapsed_fence int", always(&t.LapsedFence)}, {"unanswered_at time", maybe(&t.UnansweredAt)}, {"since time", maybe(&t.Since)}}
	},
	outside: func(s *relaysync.Sync) list {
		l := &s.Timer.Lease
		return list{{"lease_holder text", maybe(&l.Holder)}, {"lease_fence int", always(&l.Fence)}, {leaseUntil, maybe(&l.Until)}}
	},
})

// flagField is a truth that is kept as 0 or 1 in both databases, for the
// source's own queries.
type flagField struct{ at *bool }

func (f flagField) Scan(src any) error {
	n, err := integer(src)
	*f.at = n != 0
	return err
}

func (f flagField) Value() (driver.Value, error) {
	if *f.at {
		return int64(1), nil
	}
	return int64(0), nil
}

var activityTable = newTable(table[relaysync.Activity]{
	name: "activities",
	fixed: func(a *relaysync.Activity) list {
		return list{{"resource_type text", always(&a.ResourceType)}, {"resource_id text", always(&a.ResourceID)},
			{"activity_type text", always(&a.Type)}, {"created_at time", always(&a.CreatedAt)}}
	},
})

var tenantTable = newTable(table[dunning.Tenant]{
	name:    "tenants",
	machine: dunning.TenantMachine.Name(),
	version: func(t *dunning.Tenant) int64 { return t.Version },
	fixed: func(t *dunning.Tenant) list {
		return list{{"id text", always(&t.ID)}, {"billing_anchor time", maybe(&t.BillingAnchor)}, {"created_at time", always(&t.CreatedAt)}}
	},
	state: func(t *dunning.Tenant) list {
		return list{{"method text", always(&t.Method)}, {"churned_at time", maybe(&t.ChurnedAt)}, {"reinstated_at time",
			maybe(&t.ReinstatedAt)}, {"since time", maybe(&t.Since)},
			{"payment_error text", always(&t.PaymentError)}, {"notice text", maybe(&t.Notice)}, {"notice_by text", maybe(&t.NoticeBy)},
			{"notice_after time", maybe(&t.NoticeAfter)}, {"version int", always(&t.Version)}}
	},
	outside: func(t *dunning.Tenant) list { return list{{"due_at time", maybe(&t.DueAt)}} },
})

var invoiceTable = newTable(table[dunning.Invoice]{
	name:    "invoices",
	machine: dunning.InvoiceMachine.Name(),
	version: func(i *dunning.Invoice) int64 { return i.Version },
	fixed: func(i *dunning.Invoice) list {
		return list{{"id text", always(&i.ID)}, {"tenant text", always(&i.Tenant)}, {"created_at time", always(&i.CreatedAt)}}
	},
	state: func(i *dunning.Invoice) list {
		return list{{"amount int", always(&i.Amount)}, {"issued int", always(&i.Issued)}, {"since time", maybe(&i.Since)},
			{"paid_at time", maybe(&i.PaidAt)}, {"voided_at time", maybe(&i.VoidedAt)}, {"notified_at time", maybe(&i.NotifiedAt)},
			{"method text", maybe(&i.Method)}, {"payment_error text", always(&i.PaymentError)}, {"attempts int", always(&i.Attempts)},
			{"charge text", always(&i.Charge)},
			{"charge_key text", maybe(&i.ChargeKey)}, {"charge_by text", maybe(&i.ChargeBy)}, {"charge_at time", maybe(&i.ChargeAt)},
			{"charge_amount int", always(&i.ChargeAmount)},
			{"charge_method text", maybe(&i.ChargeMethod)}, {"charge_after time", maybe(&i.ChargeAfter)}, {"missed int", always(&i.Missed)},
			{"looked_back time", maybe(&i.LookedBack)}, {"paid_key text", maybe(&i.PaidKey)},
			{"overpaid_at time", maybe(&i.OverpaidAt)}, {"overpaid text", maybe(&i.Overpaid)}, {"repaid text", maybe(&i.Repaid)},
			{"notice text", maybe(&i.Notice)},
			{"prior_notified_at time", maybe(&i.PriorNotifiedAt)}, {"version int", always(&i.Version)}}
	},
})
