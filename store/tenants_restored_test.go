package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// After a restore nobody is charged, churned or written to before a person has started charges,
// by the store's clock; from then on each invoice that was stored before is looked back for
// first. The policy of the biller says nothing of the restore.
func TestChargesAreRecoveringUntilTheyAreStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := context.Background(), memory.New(memory.Options{})
		p := relaysync.DefaultPolicy()
		p.RelayDomain = "x.example"
		relays, err1 := store.NewRelays(s, p)
		tenants, err2 := store.NewTenants(s, relays, dunning.DefaultPolicy())
		switched, err3 := store.NewSwitches(s)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		host, biller := dunning.By{Actor: "host", Role: dunning.Host}, dunning.By{Actor: "biller", Role: dunning.Biller}
		olga := switches.By{Actor: "olga", Role: switches.Operator}
		do := func(tenant string, events ...dunning.Event) {
			t.Helper()
			if _, err := tenants.Do(ctx, tenant, events...); err != nil {
				t.Fatal(err)
			}
		}
		for tenant, method := range map[string]dunning.Method{"card": dunning.Stripe, "hand": dunning.Manual} {
			do(tenant, dunning.Enrolled{By: host, Tenant: tenant, Method: method})
		}
		_, err := switched.Recover(ctx, switches.Recovering{By: olga, Scope: switches.Everything, Level: switches.Send, Generation: 1, Reason: "restored"})
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-8 * 24 * time.Hour)
		do("card", dunning.Issued{By: host, Invoice: "c1", Amount: 5, CreatedAt: old})
		do("hand", dunning.Issued{By: host, Invoice: "h1", Amount: 5, CreatedAt: old})
		owed := func(want string) {
			t.Helper()
			for _, tenant := range []string{"card", "hand"} {
				a, err := tenants.Do(ctx, tenant, dunning.StepBegun{By: biller})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				step, now, err := tenants.Next(ctx, tenant)
				if err != nil || !now.Equal(time.Now()) || !reflect.DeepEqual(step, tenants.Policy().Next(a, now)) {
					t.Errorf("%s: %+v at %v, %v", tenant, step, now, err)
				}
				if step.Action != nil {
					got = step.Action.Do.String()
				}
				if got != want {
					t.Errorf("%s: %q is owed, want %q", tenant, got, want)
				}
				if _, err := tenants.Do(ctx, tenant, dunning.Churned{By: biller}); !errors.Is(err, statemachine.ErrIllegal) {
					t.Errorf("%s is churned: %v", tenant, err)
				}
				if _, err := tenants.Do(ctx, tenant, dunning.LookedBack{By: biller, Invoice: tenant[:1] + "1", Asked: time.Now()}); err != nil {
					t.Error(err)
				}
			}
			for invoice, tenant := range map[string]string{"c1/0": "card", "h1/0": "hand"} {
				if _, err := tenants.Do(ctx, tenant, dunning.ChargeIntended{By: biller, Invoice: invoice[:2], Key: invoice}); !errors.Is(err, statemachine.ErrIllegal) {
					t.Errorf("%s is charged: %v", tenant, err)
				}
			}
		}
		owed("")
		time.Sleep(time.Hour)
		owed("") // however long it takes
		if _, err := switched.Start(ctx, switches.Started{By: olga, Scope: switches.Charges, Recovery: true, Reason: "all is said"}); err != nil {
			t.Fatal(err)
		}
		owed("")
		p2 := tenants.Policy()
		time.Sleep(p2.Hold + p2.Linger + time.Second)
		for tenant, invoice := range map[string]string{"card": "c1", "hand": "h1"} {
			a, err := tenants.Do(ctx, tenant, dunning.StepBegun{By: biller})
			if err != nil || p2.Next(a, time.Now()).Action == nil || p2.Next(a, time.Now()).Action.Do != dunning.DoLookBack {
				t.Fatalf("%s: %+v, %v", tenant, p2.Next(a, time.Now()), err)
			}
			a, err = tenants.Do(ctx, tenant, dunning.LookedBack{By: biller, Invoice: invoice, Asked: time.Now()})
			if err != nil || p2.Next(a, time.Now()).Action == nil || p2.Next(a, time.Now()).Action.Do == dunning.DoLookBack {
				t.Errorf("%s: %+v, %v", tenant, p2.Next(a, time.Now()), err)
			}
		}
	})
}
