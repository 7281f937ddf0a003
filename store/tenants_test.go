package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// A step is renewed, but the end of an intent is not: from then on whoever stored it
// sends nothing more, and when what was sent has arrived others look the charge up.
func TestAnIntentIsNotRenewed(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	db := memory.New(memory.Options{Now: func() time.Time { return now }})
	relays, err := store.NewRelays(db, relaysynctest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	tenants, err := store.NewTenants(db, relays, dunning.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	host := dunning.By{Actor: "host", Role: dunning.Host}
	if _, err := tenants.Do(ctx, "t", dunning.Enrolled{By: host, Tenant: "t", Method: dunning.Stripe}, dunning.Issued{By: host, Invoice: "i", Amount: 1}); err != nil {
		t.Fatal(err)
	}
	w, hold := tenants.Work("biller"), tenants.Policy().Hold
	items, _, err := w.Turn(ctx, nil, 1)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	left := func() time.Duration {
		t.Helper()
		began := time.Now()
		if err := w.Renew(ctx, items); err != nil {
			t.Fatal(err)
		}
		return items[0].Until.Sub(began).Round(time.Second)
	}
	now = now.Add(time.Minute)
	if got := left(); got != hold {
		t.Errorf("before an intent %v are left, expected %v", got, hold)
	}
	if _, err := tenants.Do(ctx, "t", dunning.ChargeIntended{By: w.By(), Invoice: "i", Key: "i/0"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(hold / 2)
	if got := left(); got != hold/2 {
		t.Errorf("half of it after the intent %v are left, expected %v", got, hold/2)
	}
	now = now.Add(hold/2 - time.Second)
	if got := left(); got != time.Second {
		t.Errorf("a second before its end %v are left", got)
	}
	if due, _, err := tenants.Work("another").Turn(ctx, nil, 1); err != nil || len(due) != 0 {
		t.Fatalf("another biller has it before: %v, %v", due, err)
	}
	now = now.Add(time.Second + tenants.Policy().Linger - time.Microsecond)
	if due, _, err := tenants.Work("another").Turn(ctx, nil, 1); err != nil || len(due) != 0 {
		t.Fatalf("another biller has it while it may still arrive: %v, %v", due, err)
	}
	now = now.Add(time.Microsecond)
	w = tenants.Work("another")
	if items, _, err = w.Turn(ctx, nil, 1); err != nil || len(items) != 1 {
		t.Fatalf("another biller has not got it: %v, %v", items, err)
	}
	if got := left(); got != hold {
		t.Errorf("of a look-up %v are left, expected %v", got, hold)
	}
}
