package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// torn is a store in which one relay cannot be read.
type torn struct{ *memory.Store }

type (
	tornUnit    struct{ store.Unit }
	tornRecords struct{ store.RelayRecords }
)

func (s torn) View(ctx context.Context, fn func(store.Unit) error) error {
	return s.Store.View(ctx, func(tx store.Unit) error { return fn(tornUnit{tx}) })
}

func (u tornUnit) Relays() store.RelayRecords { return tornRecords{u.Unit.Relays()} }

func (r tornRecords) Get(ids ...string) ([]relaysync.Sync, error) {
	if slices.Contains(ids, "bad_relay") {
		return nil, fmt.Errorf("%w: bad_relay", statemachine.ErrCorrupt)
	}
	return r.RelayRecords.Get(ids...)
}

// A relay that cannot be read is named, and keeps no other out of the groups of a page.
func TestACauseIsOfTheOthersWhereOneIsDamaged(t *testing.T) {
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "x.example"
	relays, err := store.NewRelays(torn{memory.New(memory.Options{})}, p)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for i := range 2 {
		_, err := relays.Create(ctx, relaysync.Created{By: relaysync.By{Actor: "host", Role: relaysync.Host}, Relay: fmt.Sprint("relay_00", i),
			Tenant: "tenant", Subdomain: fmt.Sprint("r", i), Config: relaysync.Config{Info: relaysync.Document(fmt.Sprintf(`{"pubkey":"%064x","name":"n"}`, i))}})
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := relays.ByCause(ctx, "relay_000", "bad_relay", "relay_001")
	if !errors.Is(err, statemachine.ErrCorrupt) || len(all) != 1 || !slices.Equal(all[0].Items, []int{0, 2}) {
		t.Errorf("%+v, %v", all, err)
	}
}
