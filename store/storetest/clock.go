package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

// timed is the store of a test: each of its transactions is bounded, and its clock is the test's. At first this clock
// is zero: then the times of events count, as in a test of the rules alone, so that two stores store the same.
type timed[T, U any] struct {
	of    store.Store[T]
	unit  func(T, *clock) U
	clock clock
}

type clock struct{ at atomic.Pointer[time.Time] }

func (c *clock) now(of store.Clock) (time.Time, error) {
	if at := c.at.Load(); at != nil {
		return *at, nil
	}
	return of.Now()
}

// live gives a store its own clock.
func live[T any](s store.Store[T]) { s.(interface{ setClock(*time.Time) }).setClock(nil) }

// dated sets the clock of a store; zero leaves it to the events.
func dated[T any](s store.Store[T], at time.Time) {
	s.(interface{ setClock(*time.Time) }).setClock(&at)
}

func timing[T, U any](s store.Store[T], unit func(T, *clock) U) store.Store[U] {
	own := &timed[T, U]{of: s, unit: unit}
	own.setClock(new(time.Time))
	return own
}

func (s *timed[T, U]) setClock(at *time.Time) { s.clock.at.Store(at) }

func (s *timed[T, U]) Update(ctx context.Context, fn func(U) error) error {
	return bounded(ctx, func(ctx context.Context) error {
		return s.of.Update(ctx, func(tx T) error { return fn(s.unit(tx, &s.clock)) })
	})
}

func (s *timed[T, U]) View(ctx context.Context, fn func(U) error) error {
	return bounded(ctx, func(ctx context.Context) error {
		return s.of.View(ctx, func(tx T) error { return fn(s.unit(tx, &s.clock)) })
	})
}

// The units of work with the clock of a test.
type (
	switchTime struct {
		store.SwitchUnit
		clock *clock
	}
	walletTime struct {
		store.WalletUnit
		clock *clock
	}
	withdrawalTime struct {
		store.WithdrawalUnit
		clock *clock
	}
	batchTime struct {
		store.BatchUnit
		clock *clock
	}
	refreshTime struct {
		store.RefreshUnit
		clock *clock
	}
	relayTime struct {
		store.RelayUnit
		clock *clock
	}
	tenantTime struct {
		store.TenantUnit
		clock *clock
	}
	swapTime struct {
		store.SwapUnit
		clock *clock
	}
)

func (u switchTime) Now() (time.Time, error)     { return u.clock.now(u.SwitchUnit) }
func (u walletTime) Now() (time.Time, error)     { return u.clock.now(u.WalletUnit) }
func (u withdrawalTime) Now() (time.Time, error) { return u.clock.now(u.WithdrawalUnit) }
func (u batchTime) Now() (time.Time, error)      { return u.clock.now(u.BatchUnit) }
func (u refreshTime) Now() (time.Time, error)    { return u.clock.now(u.RefreshUnit) }
func (u relayTime) Now() (time.Time, error)      { return u.clock.now(u.RelayUnit) }
func (u tenantTime) Now() (time.Time, error)     { return u.clock.now(u.TenantUnit) }
func (u swapTime) Now() (time.Time, error)       { return u.clock.now(u.SwapUnit) }

// Refreshes loads by the store's own clock, by which all that a test has made is due.
func (u refreshTime) Refreshes() store.RefreshRecords {
	return loads{u.RefreshUnit.Refreshes(), u.RefreshUnit}
}

type loads struct {
	store.RefreshRecords
	clock store.Clock
}

func (l loads) Load(w *refresh.Work, r refresh.Reads, now time.Time) (err error) {
	if now.IsZero() {
		if now, err = l.clock.Now(); err != nil {
			return err
		}
	}
	return l.RefreshRecords.Load(w, r, now)
}

func timedSwitches[T store.SwitchUnit](s store.Store[T]) store.Store[store.SwitchUnit] {
	return timing(s, func(tx T, c *clock) store.SwitchUnit { return switchTime{tx, c} })
}

func timedWallets[T store.WalletUnit](s store.Store[T]) store.Store[store.WalletUnit] {
	return timing(s, func(tx T, c *clock) store.WalletUnit { return walletTime{tx, c} })
}

func timedWithdrawals[T store.WithdrawalUnit](s store.Store[T]) store.Store[store.WithdrawalUnit] {
	return timing(s, func(tx T, c *clock) store.WithdrawalUnit { return withdrawalTime{tx, c} })
}

func timedBatches[T store.BatchUnit](s store.Store[T]) store.Store[store.BatchUnit] {
	return timing(s, func(tx T, c *clock) store.BatchUnit { return batchTime{tx, c} })
}

func timedRefreshes[T store.RefreshUnit](s store.Store[T]) store.Store[store.RefreshUnit] {
	return timing(s, func(tx T, c *clock) store.RefreshUnit { return refreshTime{tx, c} })
}

func timedRelays[T store.RelayUnit](s store.Store[T]) store.Store[store.RelayUnit] {
	return timing(s, func(tx T, c *clock) store.RelayUnit { return relayTime{tx, c} })
}

func timedTenants[T store.TenantUnit](s store.Store[T]) store.Store[store.TenantUnit] {
	return timing(s, func(tx T, c *clock) store.TenantUnit { return tenantTime{tx, c} })
}

func timedSwaps[T store.SwapUnit](s store.Store[T]) store.Store[store.SwapUnit] {
	return timing(s, func(tx T, c *clock) store.SwapUnit { return swapTime{tx, c} })
}
