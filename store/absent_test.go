package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap/swaptest"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Every constructor takes a store that is nil, and every Within a transaction: the
// first call says so.
func TestNilInEveryService(t *testing.T) {
	ctx := context.Background()
	domain := relaysync.DefaultPolicy()
	domain.RelayDomain = "x.example"
	for name, call := range map[string]func(store.Store[store.Unit], bool) error{
		"relays": func(s store.Store[store.Unit], within bool) error {
			r, err := store.NewRelays(s, domain)
			if err == nil && within {
				r = r.Within(nil)
			}
			if err == nil {
				_, err = r.Get(ctx, "a")
			}
			return err
		},
		"tenants": func(s store.Store[store.Unit], within bool) error {
			r, _ := store.NewRelays(s, domain)
			a, err := store.NewTenants(s, r, dunning.DefaultPolicy())
			if err == nil && within {
				a = a.Within(nil)
			}
			if err == nil {
				_, err = a.Get(ctx, "a")
			}
			return err
		},
		"swaps": func(s store.Store[store.Unit], within bool) error {
			w, err := store.NewSwaps(s, swaptest.Policy())
			if err == nil && within {
				w = w.Within(nil)
			}
			if err == nil {
				_, err = w.Control(ctx)
			}
			return err
		},
		"refreshes": func(s store.Store[store.Unit], within bool) error {
			r, err := store.NewRefreshes(s, refresh.DefaultPolicy())
			if err == nil && within {
				r = r.Within(nil)
			}
			if err == nil {
				_, err = r.Get(ctx, "a")
			}
			return err
		},
	} {
		for _, within := range []bool{false, true} {
			var s store.Store[store.Unit]
			if within {
				s = memory.New(memory.Options{})
			}
			if err := call(s, within); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%s, within nil %v: %v", name, within, err)
			}
		}
	}
	if _, err := store.NewTenants[store.Unit](memory.New(memory.Options{}), nil, dunning.DefaultPolicy()); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("tenants without relays: %v", err)
	}
}

// A source of work without a name that can hold a lease is refused at once, by
// its turn and by the loop.
func TestNamesOfWorkers(t *testing.T) { synctest.Test(t, testNamesOfWorkers) }

func testNamesOfWorkers(t *testing.T) {
	ctx, s := context.Background(), memory.New(memory.Options{})
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "x.example"
	relays, err1 := store.NewRelays[store.Unit](s, p)
	tenants, err2 := store.NewTenants[store.Unit](s, relays, dunning.DefaultPolicy())
	batches, err3 := store.NewBatches[store.Unit](s, withdrawal.DefaultPolicy())
	swaps, err4 := store.NewSwaps[store.Unit](s, swaptest.Policy())
	refreshes, err5 := store.NewRefreshes[store.Unit](s, refresh.DefaultPolicy())
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	chain := uuid.New()
	for name, sound := range map[string]bool{"": false, strings.Repeat("n", 201): false, "a\x00": false, "\xff": false, "n": true, strings.Repeat("n", 200): true} {
		for source, turn := range map[string]func() error{
			"syncs":          both(ctx, relays.Work(name)),
			"steps":          both(ctx, tenants.Work(name)),
			"payments":       both(ctx, batches.Withdrawals().Payments(chain, name)),
			"look-ups":       both(ctx, batches.Withdrawals().Lookups(chain, name)),
			"batches":        both(ctx, batches.Payments(chain, name, 1)),
			"batch look-ups": both(ctx, batches.Lookups(chain, name)),
			"deposits":       both(ctx, swaps.Deposits.Work(name)),
			"credits":        both(ctx, swaps.Credits.Work(name)),
			"refreshes":      func() error { _, err := refreshes.Turn(ctx, name, nil, 1); return err },
		} {
			if err := turn(); errors.Is(err, statemachine.ErrInvalid) == sound || sound && err != nil {
				t.Errorf("%s of %.9q: %v", source, name, err)
			}
		}
	}
}

// both asks a source for a turn, and runs a loop over it; they agree.
func both[W, R any](ctx context.Context, source worker.Source[W, R]) func() error {
	return func() error {
		_, _, err := source.Turn(ctx, nil, 1)
		stopped, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		began := time.Now()
		err2 := worker.Run(stopped, source, func(context.Context, W) (r R) { return r }, worker.Options[W, R]{Idle: time.Millisecond, CallTimeout: 100 * time.Millisecond})
		if (err == nil) != (err2 == nil) || err2 == nil && time.Since(began) > 900*time.Millisecond {
			return fmt.Errorf("%w: a turn says %w, a loop %w", statemachine.ErrCorrupt, err, err2)
		}
		return err
	}
}

// A store or a transaction that is nil is an error of the first call.
func TestNilStoresAndTransactions(t *testing.T) {
	ctx := context.Background()
	var none *memory.Store
	stores := map[string]store.Store[store.Unit]{"no store": nil, "a nil pointer": none}
	for name, s := range stores {
		w, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
		if err == nil {
			_, err = w.Get(ctx, uuid.New())
		}
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: withdrawals: %v", name, err)
		}
		wallets, err := store.NewWallets(s, utxo.Policy{})
		if err == nil {
			_, _, err = wallets.Tip(ctx)
		}
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: wallets: %v", name, err)
		}
		if err := store.SelfCheck(ctx, s); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: self-check: %v", name, err)
		}
	}
	s := memory.New(memory.Options{})
	w, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Within(nil).Get(ctx, uuid.New()); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("withdrawals within nil: %v", err)
	}
	wallets, err := store.NewWallets(s, utxo.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := wallets.Within(nil).Tip(ctx); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("wallets within nil: %v", err)
	}
	if err := s.Update(ctx, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a nil function: %v", err)
	}
}
