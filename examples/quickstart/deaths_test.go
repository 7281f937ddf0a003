package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

var errDead = errors.New("the process is dead")

// life is one process: its node and its database. Once it is dead, neither takes anything from it.
type life struct {
	store.Store[store.Unit]
	*world
	die  context.CancelFunc
	dead bool
}

// world is what outlives a process.
type world struct {
	mu    sync.Mutex
	mined []string // hashes of the transactions that moved money
	calls int
	dies  int // at which call the process dies; 0: at none
}

// at is a place where a process may die.
func (l *life) at() error {
	if l.calls++; l.calls == l.dies {
		l.dead = true
		l.die()
	}
	if l.dead {
		return errDead
	}
	return nil
}

// Update is a commit: a process dies before it, or behind it and without its answer.
func (l *life) Update(ctx context.Context, fn func(store.Unit) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.at(); err != nil {
		return err
	}
	return errors.Join(l.Store.Update(ctx, fn), l.at())
}

// Send mines each transaction once.
func (l *life) Send(_ context.Context, raw []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.at(); err != nil {
		return err
	}
	if !slices.Contains(l.mined, string(raw)) {
		l.mined = append(l.mined, string(raw))
	}
	return l.at()
}

func (l *life) Mined(_ context.Context, hash string) (withdrawal.Block, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := slices.Contains(l.mined, hash)
	if found {
		time.AfterFunc(5*time.Second, l.die) // by then it is completed
	}
	return withdrawal.Block{Height: 7, Hash: "block 7", Canonical: "block 7", Head: 7}, found, l.at()
}

// signAnew makes another transaction each time that it is called, as a signer does that asks for fees first. If two of
// them are sent, the customer is paid twice.
func signAnew(withdrawal.Job) (hash string, raw []byte) {
	hash = uuid.NewString()
	return hash, []byte(hash)
}

// The process dies at its first call of the node or the database, then at its second, and so on until there are no more.
// Another process finishes what it has left behind. Each time the customer is paid once.
func TestTheCustomerIsPaidOnceWhereverTheProcessDies(t *testing.T) {
	for dies, calls := 1, 1; dies <= calls; dies++ {
		synctest.Test(t, func(t *testing.T) {
			all := &world{}
			db, chain, request := memory.New(memory.Options{}), statemachine.ID("chain", "test"), uuid.New()
			policy := withdrawal.DefaultPolicy()
			policy.Chain = withdrawal.Chain{Confirmations: 1}
			live := func(dies int, how func(context.Context, *store.Withdrawals, *life) error) error {
				ctx, stop := context.WithTimeout(t.Context(), time.Hour) // by a clock that jumps where nobody is busy
				defer stop()
				all.calls, all.dies = 0, dies
				l := &life{Store: db, world: all, die: stop}
				withdrawals, err := store.NewWithdrawals(l, policy)
				if err != nil {
					t.Fatal(err)
				}
				return how(ctx, withdrawals, l)
			}
			if err := live(0, func(ctx context.Context, w *store.Withdrawals, _ *life) error { return submit(ctx, w, chain, request) }); err != nil {
				t.Fatal(err)
			}
			run := func(ctx context.Context, w *store.Withdrawals, l *life) error {
				return serve(ctx, w, chain, l, signAnew)
			}
			_ = live(dies, run) // it says what it could not store
			calls = all.calls
			if err := live(0, run); err != nil {
				t.Error(err)
			}
			withdrawals, err := store.NewWithdrawals(db, policy)
			if err != nil {
				t.Fatal(err)
			}
			w, err := withdrawals.Get(t.Context(), request)
			if err != nil || w.Request.Status != withdrawal.RequestCompleted || len(all.mined) != 1 {
				t.Errorf("died at call %d: %v, %d payments: %v", dies, w.Request.Status, len(all.mined), err)
			}
		})
	}
}
