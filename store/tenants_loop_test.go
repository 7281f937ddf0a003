package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
)

// A handler takes its time between a charge that failed and the message that is due
// then, and ends before it can store the answer of that: nobody else has begun from
// the same account meanwhile, who would take the intent for its own and send again.
func TestASlowBillerSendsAMessageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Hour)
		defer stop()
		began := time.Now().UTC()
		db := memory.New(memory.Options{Now: func() time.Time { return time.Now().UTC() }})
		relays, err := store.NewRelays(db, relaysynctest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		tenants, err := store.NewTenants(db, relays, dunning.DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		host := dunning.By{Actor: "host", Role: dunning.Host}
		if _, err := tenants.Do(ctx, "t", dunning.Enrolled{By: host, Tenant: "t", Method: dunning.Stripe},
			dunning.Issued{By: host, Invoice: "i", Amount: 1, CreatedAt: began.Add(-48 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		steps := tenants.Work("biller")
		sent := map[string]int{}
		bill := func(ctx context.Context, due store.DueTenant) store.HeldTenant {
			a, end := due.Account, store.HeldTenant{Account: due.Account}
			for do := tenants.Policy().Next(a, due.At).Action; do != nil; do = tenants.Policy().Next(a, due.At).Action {
				switch do.Do {
				case dunning.DoCharge:
					if _, err = tenants.DoHeld(ctx, a, dunning.ChargeIntended{By: steps.By(), Invoice: "i", Key: do.Key}); err != nil {
						return end
					}
					if a, err = tenants.Do(ctx, "t", dunning.ChargeAnswered{By: steps.By(), Invoice: "i", Key: do.Key, Outcome: statemachine.Failed}); err != nil {
						t.Error(err)
						return end
					}
				case dunning.DoNotify:
					time.Sleep(time.Minute)
					if _, err := tenants.DoHeld(ctx, a, dunning.NoticeIntended{By: steps.By(), Notice: do.Key}); err == nil {
						sent[do.Key]++
					}
					return end
				}
			}
			return end
		}
		if err := worker.Run(ctx, steps, bill, worker.Options[store.DueTenant, store.HeldTenant]{}); err != nil {
			t.Fatal(err)
		}
		if len(sent) != 1 || sent["t/4:1"] != 1 {
			t.Errorf("sent %v", sent)
		}
	})
}
