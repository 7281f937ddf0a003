package store_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// What is tried is what is done, and trying leaves neither a record nor a line.
func TestTryIsDoWithoutStoring(t *testing.T) {
	ctx := t.Context()
	db := memory.New(memory.Options{})
	w, err := store.NewWithdrawals(db, withdrawal.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	chain := uuid.New()
	wallet := withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	if err := w.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, wallet); err != nil {
		t.Fatal(err)
	}
	system := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	desk := withdrawal.By{Actor: "olga", Role: withdrawal.Operator, Version: 3}
	id := uuid.New()
	submitted := withdrawal.Submitted{By: system, Request: id, User: uuid.New(), Asset: uuid.New(), Chain: chain, ToAddress: "payee",
		Amount: "5"}
	is, moves, err := w.Try(ctx, id, submitted)
	if err != nil || len(moves) != 1 || moves[0].From != "none" || is.Request.ID != id {
		t.Errorf("%+v, %v", moves, err)
	}
	if _, err := w.Get(ctx, id); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("what was tried is stored: %v", err)
	}
	_, err = w.Do(ctx, id, submitted, withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
		withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: uuid.New()})
	if err != nil {
		t.Fatal(err)
	}
	lines := func() int {
		t.Helper()
		page, _, err := store.NewJournal(db).Page(ctx, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(page)
	}
	before := lines()
	cancelled := withdrawal.Cancelled{By: desk, Reason: "the user asked"}
	_, moves, err = w.Try(ctx, id, cancelled)
	if err != nil || len(moves) != 2 {
		t.Fatalf("%+v, %v", moves, err)
	}
	stale := cancelled
	stale.Version = 2
	if _, _, err := w.Try(ctx, id, stale); !errors.Is(err, statemachine.ErrConflict) {
		t.Errorf("a version that has passed: %v", err)
	}
	if _, _, err := w.Try(ctx, uuid.New(), cancelled); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("an unknown request: %v", err)
	}
	if lines() != before {
		t.Error("what was tried is in the journal")
	}
	done, err := w.Do(ctx, id, cancelled)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		is, version := done.Request.Status.String(), done.Request.Version
		if m.Machine == withdrawal.JobMachine.Name() {
			is, version = done.Job.Status.String(), done.Job.Version
		}
		if m.To != is || m.Version != version {
			t.Errorf("tried %+v, and it is %s at %d", m, is, version)
		}
	}
	cancelled.Version = 0
	if _, again, err := w.Try(ctx, id, cancelled); err != nil || len(again) != 0 {
		t.Errorf("it is so already: %+v, %v", again, err)
	}

	s, err := store.NewSwitches(db)
	if err != nil {
		t.Fatal(err)
	}
	by := switches.By{Actor: "olga", Role: switches.Operator}
	stop := switches.Stopped{By: by, Scope: switches.Chain(chain), Level: switches.Send, Reason: "drill"}
	if is, moves, err := s.Try(ctx, stop.Scope, stop); err != nil || len(moves) != 1 || is.Level != switches.Send {
		t.Errorf("%+v, %v", is, err)
	}
	if state, err := s.State(ctx, stop.Scope); err != nil || !state.Begins() {
		t.Errorf("a stop that was tried stops: %+v, %v", state, err)
	}
}
