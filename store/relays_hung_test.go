package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
)

// A signer that never returns does not keep its lease for ever: one time-out after the last
// moment at which something may be sent, the lease is lost and a lapse is counted.
func TestAHungSyncIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := context.Background(), relaysynctest.Policy()
		relays, err := store.NewRelays(memory.New(memory.Options{Now: func() time.Time { return time.Now().UTC() }}), p)
		if err != nil {
			t.Fatal(err)
		}
		create := func(id string) {
			t.Helper()
			_, err := relays.Do(ctx, id, relaysync.Created{By: relaysync.By{Actor: "host", Role: relaysync.Host}, Relay: id, Tenant: "t",
				Subdomain: "s", Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + strings.Repeat("ab", 32) + `"}`)}})
			if err != nil {
				t.Fatal(err)
			}
		}
		syncs := relays.Work("reactor")
		claim := func(id string) worker.Item[store.ClaimedRelay] {
			t.Helper()
			create(id)
			items, _, err := syncs.Turn(ctx, nil, 10)
			if err != nil || len(items) != 1 {
				t.Fatal(items, err)
			}
			return items[0]
		}
		first := claim("a")
		items := []worker.Item[store.ClaimedRelay]{first}
		last := first.Until.Add(p.Timeout)
		for time.Now().Before(last) {
			if err := syncs.Renew(ctx, items); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		items = append(items, claim("b"))
		if err := syncs.Renew(ctx, items); err != nil { // at the very end
			t.Fatal(err)
		}
		held := items[0].Until
		time.Sleep(time.Microsecond)
		err = syncs.Renew(ctx, items)
		if lost := (*worker.LostError)(nil); !errors.As(err, &lost) || !slices.Equal(lost.Keys, []string{"a"}) {
			t.Fatalf("a sync that hangs is renewed: %v", err)
		}
		if !items[0].Until.Equal(held) || !items[1].Until.Equal(time.Now().Add(p.Lease)) {
			t.Errorf("held until %v and %v", items[0].Until, items[1].Until)
		}
		time.Sleep(p.Lease)
		if stats, err := relays.Stats(ctx, time.Hour); err != nil || stats.Lapsed != 2 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}
