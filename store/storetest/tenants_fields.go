package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// everyTenantField goes through a life that sets and moves every field.
func (r *tenants) everyTenantField(t *testing.T) {
	f := newLife(t, r.tenantSubject)
	f.records = func(a *dunning.Account) map[string]any {
		all := map[string]any{"Tenant": a.Tenant}
		for _, i := range a.Invoices {
			all["Invoice"] = i // the latest one
		}
		return all
	}
	by := func(role dunning.Role) dunning.By { return dunningBy(role, f.tick()) }
	biller := func() dunning.By { return by(dunning.Biller) }
	const day = 24 * time.Hour
	pass := func(d time.Duration) { // a biller is there, and does nothing
		f.now = f.now.Add(d)
		before, c := f.a, dunning.Change{Old: f.a, New: f.a}
		for _, ev := range ticks(f.a.Tenant.DueAt, f.now) {
			c.New = f.change(t, c.New, ev).New
		}
		noError(t, f.save(c))
		f.saved(before, &c, "after some time")
	}
	f.do(dunning.Enrolled{By: by(dunning.Host), Tenant: r.id(), Method: dunning.Stripe, BillingAnchor: f.now.Add(day)},
		dunning.Issued{By: by(dunning.Host), Invoice: "é-1", Amount: 1 << 62, CreatedAt: start.Add(-2 * time.Hour)},
		dunning.LookedBack{By: biller(), Invoice: "é-1", Asked: start},
		dunning.Amended{By: by(dunning.Host), Invoice: "é-1", Amount: 7},
		dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/0"},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/0", Outcome: statemachine.Failed, Error: "declined"})
	pass(23*day/24 + time.Hour + 59*time.Minute)
	f.do(dunning.MethodSet{By: by(dunning.Host), Method: dunning.NWC}, dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/1", Outcome: statemachine.Deferred})
	for range 2 {
		f.do(dunning.NoticeIntended{By: biller(), Notice: r.service.Policy().Next(f.a, f.now).Action.Key})
		f.do(dunning.NoticeAnswered{By: biller(), Notice: f.a.Tenant.Notice, Outcome: statemachine.Failed})
		pass(2 * time.Hour)
		f.do(dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"}, dunning.ChargeAnswered{By: biller(), Invoice: "é-1",
			Key: "é-1/1", Outcome: statemachine.Deferred})
	}
	f.do(dunning.NoticeIntended{By: biller(), Notice: r.service.Policy().Next(f.a, f.now).Action.Key})
	pass(8 * day)
	f.do(dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/1",
			Outcome: statemachine.Unknown})
	pass(time.Hour)
	f.do(dunning.ChargeMissing{By: biller(), Invoice: "é-1", Key: "é-1/1", Asked: f.now},
		dunning.MethodSet{By: by(dunning.Host), Method: dunning.Manual}, dunning.Churned{By: biller()},
		dunning.Reinstated{By: by(dunning.Operator)})
	pass(13 * day)
	f.do(dunning.Churned{By: biller()}, dunning.Reinstated{By: by(dunning.Operator)})
	pass(2 * day)
	f.do(dunning.NoticeIntended{By: biller(), Notice: r.service.Policy().Next(f.a, f.now).Action.Key})
	f.do(dunning.NoticeAnswered{By: biller(), Notice: f.a.Tenant.Notice, Outcome: statemachine.Done},
		// a clock that is behind, and right again
		dunning.StepBegun{By: dunningBy(dunning.Biller, start.Add(-10*day))}, dunning.StepBegun{By: biller()},
		dunning.MethodSet{By: by(dunning.Host), Method: dunning.Stripe},
		dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"}, dunning.ChargeAnswered{By: biller(), Invoice: "é-1",
			Key: "é-1/1", Outcome: statemachine.Done},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/0", Outcome: statemachine.Done}, // of what was declared failed
		dunning.Acknowledged{By: by(dunning.Operator), Invoice: "é-1", Key: "é-1/0", Reason: "paid back"},
		dunning.Paid{By: by(dunning.Host), Invoice: "é-1", Method: dunning.Manual, Payment: "é 1"}, // which the charge is paid back for
		dunning.Acknowledged{By: by(dunning.Operator), Invoice: "é-1", Key: "é-1/1", Reason: "paid back"},
		dunning.Issued{By: by(dunning.Host), Invoice: "é-2", Amount: 1}, dunning.Voided{By: by(dunning.Host), Invoice: "é-2"})
	f.end(strings.Fields("Tenant.ID Tenant.BillingAnchor Tenant.CreatedAt Invoice.ID Invoice.Tenant Invoice.CreatedAt Invoice.Issued"),
		map[string]any{"Tenant": dunning.Tenant{}, "Invoice": dunning.Invoice{}}, nil)
}
