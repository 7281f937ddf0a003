package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// shaky is a store whose commits fail, or whose updates run twice, as after a conflict.
type shaky struct {
	*memory.Store
	lose  bool
	twice bool
}

var errLost = errors.New("lost")

func (s *shaky) Update(ctx context.Context, fn func(store.Unit) error) error {
	if s.twice {
		_ = s.Store.Update(ctx, func(tx store.Unit) error { return errors.Join(fn(tx), errLost) })
	}
	return s.Store.Update(ctx, func(tx store.Unit) error {
		if err := fn(tx); err != nil || !s.lose {
			return err
		}
		return errLost
	})
}

// Subscribers hear of a commit once, and of no other.
func TestNewsAreOfCommits(t *testing.T) {
	db := &shaky{Store: memory.New(memory.Options{})}
	relays, err := store.NewRelays(db, relaysynctest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	ctx, news := context.Background(), relays.Subscribe()
	create := func(id string) error {
		_, err := relays.Do(ctx, id,
			relaysync.Created{By: relaysync.By{Actor: "host", Role: relaysync.Host}, Relay: id, Tenant: "t", Subdomain: "s",
				Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + strings.Repeat("ab", 32) + `"}`)}})
		return err
	}
	db.lose = true
	if err := create("lost"); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	db.lose, db.twice = false, true
	for _, id := range []string{"a", "b"} {
		if err := create(id); err != nil {
			t.Fatal(err)
		}
	}
	relays.Close()
	var heard []string
	for {
		n, err := news.Receive(ctx)
		if err != nil {
			break
		}
		heard = append(heard, n.ResourceID)
	}
	if strings.Join(heard, " ") != "a b" {
		t.Errorf("heard of %v", heard)
	}
}
