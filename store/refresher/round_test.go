package refresher

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// A renewal moves the end of the lock that it was of, and of no other: that of a
// slot alone gives a round without the lock no right to call.
func TestRenewalsOfTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := refresh.DefaultConfig()
		for name, c := range map[string]struct {
			held, renewed int64
			want          error
		}{
			"the lock":                       {5, 5, nil},
			"an earlier one":                 {5, 4, errNotHeld},
			"the slot alone, under a lock":   {5, 0, errNotHeld},
			"the slot alone, without a lock": {0, 0, errNotHeld},
		} {
			r := &round{slots: &slots{config: config}}
			if r.letGo(); c.held != 0 {
				r.hold(uuid.New(), 1, c.held, time.Now())
			}
			time.Sleep(config.LockTTL)
			r.renewed(c.renewed, time.Now().Add(config.LockTTL))
			called := false
			err := r.call(t.Context(), true, func(context.Context) error { called = true; return nil })
			if !errors.Is(err, c.want) || called != (c.want == nil) {
				t.Errorf("%s: called %v, %v", name, called, err)
			}
		}
	})
}

// What an earlier round of a wallet became says nothing of the slot that the
// process has got since.
func TestResultsOfALostSlot(t *testing.T) {
	now := time.Now()
	s := &slots{config: refresh.DefaultConfig(), all: map[string]*slot{"a": {held: store.HeldSlot{XpubVan: "a", Fence: 2}, running: true}}}
	if mine, starts := s.ready(now, []result{{xpub: "a", slot: 1, end: refresh.EndHung}}, 5); len(mine) != 0 || starts != 0 {
		t.Errorf("%+v", mine)
	}
	old := &round{slots: s, xpub: "a"}
	old.held.Slot = 1
	if s.lost(old); !s.all["a"].running {
		t.Error("the loss of another slot freed it")
	}
	if mine, _ := s.ready(now, []result{{xpub: "a", slot: 2, end: refresh.EndHung}}, 5); len(mine) != 1 || mine[0].End != refresh.EndHung {
		t.Errorf("%+v", mine)
	}
}

// corrupt is a store of which a row cannot be read.
type corrupt struct {
	store.Store[store.Unit]
	tries int
}

func (c *corrupt) Update(context.Context, func(store.Unit) error) error {
	c.tries++
	return statemachine.ErrCorrupt
}

// A row that cannot be read does not keep a process from serving the others.
func TestRecoveryOfACorruptStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &corrupt{Store: memory.New(memory.Options{})}
		service, err := store.NewRefreshes(db, refresh.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := &slots{service: service, name: "w1", log: slog.New(slog.DiscardHandler)}
		if err := s.recover(ctx); err != nil || db.tries != 1 {
			t.Errorf("%d tries, %v", db.tries, err)
		}
	})
}
