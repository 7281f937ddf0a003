package follow

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// kept is a cursor in memory.
type kept struct {
	store.Cursor
	fails error
}

func (k *kept) Load(context.Context) (store.Cursor, error) { return k.Cursor, nil }

func (k *kept) Save(_ context.Context, c store.Cursor) error {
	if k.fails != nil {
		return k.fails
	}
	k.Cursor = c
	return nil
}

func TestPlainGivesEachLineAtLeastOnce(t *testing.T) {
	ctx := t.Context()
	orders, err := store.NewWithdrawals(memory.New(memory.Options{}), withdrawal.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	submit := func(n byte) {
		id := uuid.UUID{n}
		by := withdrawal.By{Actor: "host", Role: withdrawal.System, Trace: "trace 1"}
		if _, err := orders.Submit(ctx, withdrawal.Submitted{By: by, Request: id, User: id, Asset: id, Chain: id,
			ToAddress: "0xABC", Amount: "1", Decimals: 8}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range byte(150) {
		submit(n + 1)
	}
	k, boom := &kept{}, errors.New("boom")
	var seen []Line
	run := func(fn func([]Line) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return Plain[uuid.UUID](ctx, orders, k, func(_ context.Context, lines []Line) error {
			seen = append(seen, lines...)
			if len(lines) < 100 {
				cancel()
			}
			return fn(lines)
		})
	}
	if err := run(func([]Line) error { return boom }); err != boom || len(seen) != 100 || k.Cursor != "" {
		t.Errorf("a function that fails: %v, %d lines, cursor %q", err, len(seen), k.Cursor)
	}
	k.fails = boom
	if err := run(func([]Line) error { return nil }); err != boom || len(seen) != 200 {
		t.Errorf("a cursor that is not saved: %v, %d lines", err, len(seen))
	}
	k.fails, seen = nil, nil
	err = run(func([]Line) error { return nil })
	if err != nil || len(seen) != 150 || seen[149].ID != (uuid.UUID{150}).String() || seen[0].Machine != withdrawal.RequestMachine.Name() ||
		seen[0].Trace != "trace 1" {
		t.Errorf("%v, %d lines", err, len(seen))
	}
	if head, err := orders.Head(ctx); err != nil || k.Cursor != head {
		t.Errorf("the cursor is %q, the head %q, %v", k.Cursor, head, err)
	}
	k.Cursor = "invented"
	if err := run(func([]Line) error { return nil }); !errors.Is(err, store.ErrCursor) || !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a cursor of another store: %v", err)
	}
}

var _ Cursors = (*kept)(nil)
