package follow

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// cancelled is a request whose money is to be given back.
func (h *host) cancelled() uuid.UUID {
	h.t.Helper()
	id := h.order()
	by := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	if _, err := h.orders.Do(h.t.Context(), id, withdrawal.Cancelled{By: by, Reason: "the customer asks"}); err != nil {
		h.t.Fatal(err)
	}
	return id
}

// Refund and posting are one commit, once; what one of them fails for keeps nothing, and
// stops no other.
func TestRefundDue(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		bad, good := h.cancelled(), h.cancelled()
		boom, calls := true, 0
		post := func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
			calls++
			ev := withdrawal.Refunded{By: withdrawal.By{Actor: "books", Role: withdrawal.System}, Reference: "refund " + w.Request.ID.String()}
			_, err := tx.ExecContext(ctx, "INSERT INTO "+h.table+" (n, machine, id, version) VALUES (1, 'refund', $1, 1)", w.Request.ID.String())
			if w.Request.ID == bad && boom {
				panic("no such account")
			}
			return ev, err
		}
		refunded, _, err := RefundDue(ctx, h.store, h.orders, 10, post)
		if err == nil || len(refunded) != 1 || refunded[0].Request.ID != good || refunded[0].Request.RefundReference == "" {
			t.Errorf("%d refunds, %v", len(refunded), err)
		}
		if n := h.count("SELECT count(*) FROM " + h.table); n != 1 {
			t.Errorf("%d postings", n)
		}
		calls, boom = 0, false
		if refunded, wait, err := RefundDue(ctx, h.store, h.orders, 10, post); err != nil || len(refunded) != 0 || calls != 0 || wait <= 0 {
			t.Errorf("what was put off, or done, comes again: %d, %d calls, wait %v, %v", len(refunded), calls, wait, err)
		}
		policy := h.orders.Policy()
		h.pass(policy.EnqueueEvery)
		if refunded, _, err := RefundDue(ctx, h.store, h.orders, 10, post); err != nil || len(refunded) != 1 || refunded[0].Request.ID != bad {
			t.Errorf("%d refunds, %v", len(refunded), err)
		}
		if n := h.count("SELECT count(*) FROM " + h.table); n != 2 {
			t.Errorf("%d postings", n)
		}
		if _, _, err := RefundDue(ctx, h.store, h.orders, 10, nil); !errors.Is(err, statemachine.ErrInvalid) {
			t.Error(err)
		}
	})
}

// After an error that says nothing about the request it is due at once, and is not put off.
func TestARefundThatMayHaveLandedIsNotPutOff(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		h.cancelled()
		for _, lost := range []error{sqlstore.ErrConnection, store.ErrUnknownCommit} {
			calls := 0
			_, _, err := RefundDue(t.Context(), h.store, h.orders, 10, func(context.Context, sqlstore.Tx, store.Unit, withdrawal.Withdrawal) (withdrawal.Refunded, error) {
				calls++
				return withdrawal.Refunded{}, fmt.Errorf("the posting: %w", lost)
			})
			if calls != 1 || !errors.Is(err, lost) {
				t.Errorf("%v: %d calls, %v", lost, calls, err)
			}
		}
	})
}

// A request that somebody refunds between the list and its turn is skipped.
func TestRefundDueSkipsWhatIsNoLongerTrue(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		first, second := h.cancelled(), h.cancelled()
		post := func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
			if w.Request.ID == second {
				t.Error("it is refunded twice")
			}
			other := withdrawal.Refunded{By: withdrawal.By{Actor: "olga", Role: withdrawal.Operator}, Reference: "by hand",
				Reason: "the customer waits"}
			if _, err := h.orders.Within(unit).Do(ctx, second, other); err != nil {
				return other, err
			}
			return withdrawal.Refunded{By: withdrawal.By{Actor: "books", Role: withdrawal.System}, Reference: "r"}, nil
		}
		refunded, _, err := RefundDue(ctx, h.store, h.orders, 10, post)
		if err != nil || len(refunded) != 1 || refunded[0].Request.ID != first {
			t.Errorf("%d refunds, %v", len(refunded), err)
		}
	})
}

// A request that somebody refunds while fn posts it is skipped, and the posting is undone.
// On SQLite nobody else writes meanwhile.
func TestRefundDueLosesToAPerson(t *testing.T) {
	h := newHost(t, sqlstore.Postgres)
	ctx := t.Context()
	id := h.cancelled()
	post := func(inside context.Context, tx sqlstore.Tx, unit store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
		_, err := tx.ExecContext(inside, "INSERT INTO "+h.table+" (n, machine, id, version) VALUES (1, 'refund', $1, 1)", id.String())
		byHand := withdrawal.Refunded{By: withdrawal.By{Actor: "olga", Role: withdrawal.Operator}, Reference: "by hand", Reason: "the customer waits"}
		if _, err := h.orders.Do(ctx, id, byHand); err != nil { // in a transaction of its own
			t.Error(err)
		}
		return withdrawal.Refunded{By: withdrawal.By{Actor: "books", Role: withdrawal.System}, Reference: "r"}, err
	}
	refunded, _, err := RefundDue(ctx, h.store, h.orders, 10, post)
	if err != nil || len(refunded) != 0 {
		t.Errorf("%d refunds, %v", len(refunded), err)
	}
	if n := h.count("SELECT count(*) FROM " + h.table); n != 0 {
		t.Errorf("%d postings", n)
	}
	if w, err := h.orders.Get(ctx, id); err != nil || w.Request.RefundReference != "by hand" {
		t.Errorf("it is refunded by %q, %v", w.Request.RefundReference, err)
	}
}

// An event that is refused for what fn itself did to the request is no lost race: it is
// named, and put off.
func TestRefundDueNamesWhatItsFunctionDid(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		id := h.cancelled()
		post := func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
			by := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
			_, err := h.orders.Within(unit).Do(ctx, id, withdrawal.Refunded{By: by, Reference: "by hand", Reason: "the customer waits"})
			return withdrawal.Refunded{By: withdrawal.By{Actor: "books", Role: withdrawal.System}, Reference: "r"}, err
		}
		if refunded, _, err := RefundDue(ctx, h.store, h.orders, 10, post); err == nil || len(refunded) != 0 {
			t.Errorf("%d refunds, %v", len(refunded), err)
		}
		if w, err := h.orders.Get(ctx, id); err != nil || w.Request.RefundReference != "" {
			t.Errorf("it is refunded by %q, %v", w.Request.RefundReference, err)
		}
	})
}
