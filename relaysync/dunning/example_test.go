package dunning_test

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// A card is declined, a message is due after a day, and after a week the tenant
// is churned. A tick begins each step, Next says what is owed, and each intent
// is stored before its effect.
func Example() {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := begun
	policy := dunning.DefaultPolicy()
	var a dunning.Account // a host loads and stores it in a transaction
	apply := func(ev dunning.Event) {
		c, err := policy.Apply(a, ev)
		if err != nil {
			fmt.Println(err)
			return
		}
		a = c.New
	}
	by := func(role dunning.Role) dunning.By { return dunning.By{Actor: "example", Role: role, At: now} }
	apply(dunning.Enrolled{By: by(dunning.Host), Tenant: "alice", Method: dunning.Stripe})
	apply(dunning.Issued{By: by(dunning.Host), Invoice: "january", Amount: 2100})
	for a.Tenant.Status() == dunning.TenantActive {
		apply(dunning.StepBegun{By: by(dunning.Biller)})
		next := policy.Next(a, now)
		if next.Action == nil {
			now = next.Due
			continue
		}
		fmt.Println(now.Sub(begun), next.Action.Do, next.Action.Key)
		switch do := next.Action; do.Do {
		case dunning.DoCharge:
			apply(dunning.ChargeIntended{By: by(dunning.Biller), Invoice: do.Invoices[0], Key: do.Key})
			apply(dunning.ChargeAnswered{By: by(dunning.Biller), Invoice: do.Invoices[0], Key: do.Key, Outcome: statemachine.Failed, Error: "declined"})
			apply(dunning.MethodSet{By: by(dunning.Host), Method: dunning.Manual}) // no other card
		case dunning.DoNotify:
			apply(dunning.NoticeIntended{By: by(dunning.Biller), Notice: do.Key})
			apply(dunning.NoticeAnswered{By: by(dunning.Biller), Notice: do.Key, Outcome: statemachine.Done})
		case dunning.DoChurn:
			apply(dunning.Churned{By: by(dunning.Biller)})
		}
	}
	// Output:
	// 0s charge january/0
	// 24h0m0s notify alice/5:1
	// 168h0m0s churn churn/alice/7
}
