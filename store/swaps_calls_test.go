package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// Who says that swaps were restored, and up to which number, is in the journal where that is a
// person, refused or not; nobody but a person and the system may.
func TestARestoreOfSwapsIsTold(t *testing.T) {
	ctx, s := context.Background(), memory.New(memory.Options{})
	swaps, err := store.NewSwaps(s, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	by := func(r swap.Role) swap.By { return swap.By{Actor: "olga", Role: r} }
	calls := map[string]func(swap.By) error{
		"Restored": func(by swap.By) error { _, err := swaps.Restored(ctx, by); return err },
		"Seed":     func(by swap.By) error { _, err := swaps.Seed(ctx, by, 7); return err },
		"Seed too": func(by swap.By) error { _, err := swaps.Seed(ctx, by, swap.MaxReference+1); return err },
	}
	told := 0
	for _, c := range []struct {
		call, want string
		by         swap.By
		err        error
	}{
		{"Restored", "Restored done", by(swap.Operator), nil}, {"Seed", "Seed done", by(swap.Operator), nil},
		{"Seed too", "Seed invalid", by(swap.Operator), statemachine.ErrInvalid},
		{"Restored", "", by(swap.System), nil}, {"Seed", "", by(swap.System), nil},
		{"Restored", "", by(swap.Worker), statemachine.ErrForbidden}, {"Seed", "", by(swap.Observer), statemachine.ErrForbidden},
		{"Restored", "", swap.By{Role: swap.System}, statemachine.ErrInvalid},
	} {
		before, _ := swaps.Control(ctx)
		if err := calls[c.call](c.by); !errors.Is(err, c.err) {
			t.Errorf("%s by %v: %v", c.call, c.by, err)
		}
		if now, _ := swaps.Control(ctx); c.err != nil && now != before {
			t.Errorf("%s by %v is refused, and changes %+v", c.call, c.by, now)
		}
		lines, _, err := store.NewJournal(s).Page(ctx, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			told++
		}
		if len(lines) != told {
			t.Fatalf("%s by %v: %d lines, expected %d", c.call, c.by, len(lines), told)
		}
		if last := lines[len(lines)-1]; c.want != "" && (last.Event+" "+last.Outcome != c.want || last.Actor != "olga") {
			t.Errorf("%s: the journal has %+v", c.call, last)
		}
	}
}
