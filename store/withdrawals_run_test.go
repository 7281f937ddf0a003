package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// What cannot start is refused before anything is claimed, and the error names it.
func TestRunWithdrawalsStartsWholeOrNotAtAll(t *testing.T) {
	handle := func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal { return result(w) }
	for name, tt := range map[string]struct {
		change func(*store.RunWithdrawals)
		want   string
	}{
		"no chain":                            {func(r *store.RunWithdrawals) { r.Chains = nil }, "Chains"},
		"a chain that is zero":                {func(r *store.RunWithdrawals) { r.Chains = append(r.Chains, uuid.Nil) }, "Chains"},
		"a chain twice":                       {func(r *store.RunWithdrawals) { r.Chains = append(r.Chains, chain) }, "twice"},
		"no payer":                            {func(r *store.RunWithdrawals) { r.Pay = nil }, "RunWithdrawals.Pay"},
		"no look":                             {func(r *store.RunWithdrawals) { r.Look = nil }, "RunWithdrawals.Look"},
		"calls that fit into no look's lease": {func(r *store.RunWithdrawals) { r.CallTimeout = time.Minute }, "CallTimeout"},
		"too many at once":                    {func(r *store.RunWithdrawals) { r.Concurrency = 10_001 }, "Concurrency"},
		"a name that is too long":             {func(r *store.RunWithdrawals) { r.Name = strings.Repeat("n", 201) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bank{}
			b.open(t, memory.New(memory.Options{}), withdrawal.DefaultPolicy())
			b.wallet(t, named("wallet"), chain)
			w := b.pending(t)
			r := store.RunWithdrawals{Chains: []uuid.UUID{chain}, Pay: handle, Look: handle}
			tt.change(&r)
			if err := b.Run(t.Context(), r); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, expected invalid input that names %q", err, tt.want)
			}
			if now, err := b.Get(t.Context(), w.Request.ID); err != nil || now.Job.Version != w.Job.Version {
				t.Errorf("it was claimed all the same: %+v, %v", now.Job, err)
			}
		})
	}
}

// Without Order nothing is enqueued, and the end of ctx is the end of all parts.
func TestRunWithdrawalsWithoutOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bank{}
		b.open(t, memory.New(memory.Options{}), withdrawal.DefaultPolicy())
		b.wallet(t, named("wallet"), chain)
		w := b.approved(t)
		ctx, stop := context.WithTimeout(context.Background(), time.Hour)
		defer stop()
		handle := func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal { return result(w) }
		if err := b.Run(ctx, store.RunWithdrawals{Chains: []uuid.UUID{chain}, Pay: handle, Look: handle}); err != nil {
			t.Error(err)
		}
		if now, err := b.Get(context.Background(), w.Request.ID); err != nil || now.Request.Status != withdrawal.RequestApproved {
			t.Errorf("%v, %v", now.Request.Status, err)
		}
	})
}

// Batches are run beside requests that are paid alone, or nothing is.
func TestRunBatchesStartsWholeOrNotAtAll(t *testing.T) {
	alone := func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal { return result(w) }
	together := func(context.Context, store.BatchWork) store.BatchResult { return store.BatchResult{} }
	for name, tt := range map[string]struct {
		change func(*store.RunBatches)
		want   string
	}{
		"no chain":               {func(r *store.RunBatches) { r.Chains = nil }, "Chains"},
		"no payer of batches":    {func(r *store.RunBatches) { r.PayBatch = nil }, "RunBatches.PayBatch"},
		"no look-up of batches":  {func(r *store.RunBatches) { r.LookBatch = nil }, "RunBatches.LookBatch"},
		"a size that is too big": {func(r *store.RunBatches) { r.Size = withdrawal.MaxMembers + 1 }, "RunBatches.Size"},
		"too many alone":         {func(r *store.RunBatches) { r.Alone = 10_001 }, "Concurrency"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank(t)
			w := b.pending(t)
			r := store.RunBatches{RunWithdrawals: store.RunWithdrawals{Chains: []uuid.UUID{chain}, Pay: alone, Look: alone}, PayBatch: together, LookBatch: together}
			tt.change(&r)
			if err := b.batches.Run(t.Context(), r); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, expected invalid input that names %q", err, tt.want)
			}
			if now, err := b.Get(t.Context(), w.Request.ID); err != nil || now.Job.Version != w.Job.Version {
				t.Errorf("it was claimed all the same: %+v, %v", now.Job, err)
			}
		})
	}
}
