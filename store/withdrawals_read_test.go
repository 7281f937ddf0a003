package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// lying is a store that loses the last line of every history.
type lying struct{ store.Store[store.Unit] }

type lyingTx struct{ store.Unit }

type lyingRecords struct{ store.WithdrawalRecords }

func (l lying) View(ctx context.Context, fn func(store.Unit) error) error {
	return l.Store.View(ctx, func(tx store.Unit) error { return fn(lyingTx{tx}) })
}

func (l lyingTx) Withdrawals() store.WithdrawalRecords { return lyingRecords{l.Unit.Withdrawals()} }

func (l lyingRecords) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	trail, err := l.WithdrawalRecords.Transitions(id)
	return trail[:max(0, len(trail)-1)], err
}

func TestTrailFindsAHistoryThatDoesNotEndInWhatIsStored(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	w := b.confirming(t)
	for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID} {
		if trail, err := b.Trail(ctx, id); err != nil || len(trail) < 3 {
			t.Fatal(trail, err)
		}
	}
	refused(t, b.Verify(ctx, named("unknown")), statemachine.ErrNotFound)
	b.open(t, lying{b.store}, b.Policy())
	for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID} {
		refused(t, b.Verify(ctx, id), statemachine.ErrCorrupt)
	}
}

func TestReads(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	w := b.confirming(t)
	b.approved(t)
	if id, err := b.RequestOf(ctx, w.Job.ID); err != nil || id != w.Request.ID {
		t.Error(id, err)
	}
	if attempts, err := b.Attempts(ctx, w.Job.ID); err != nil || len(attempts) != 1 || attempts[0] != w.Attempt {
		t.Error(attempts, err)
	}
	if step, _, err := b.Next(ctx, w.Request.ID); err != nil || step.Party != withdrawal.ConfirmationWorker || !step.Due.Equal(w.Job.NextCheckAt) {
		t.Error(step, err)
	}
	b.now = b.now.Add(2 * time.Hour)
	alerts, err := b.Alerts(ctx, time.Hour, withdrawal.Thresholds{EnqueueWait: time.Hour, ConfirmWait: 3 * time.Hour, Stuck: 1}, nil)
	if err != nil || len(alerts) != 1 || alerts[0].Name != "enqueue wait" {
		t.Error(alerts, err)
	}
	last, err := b.Audit(ctx, "", 1)
	if err != nil || last == "" {
		t.Fatal(last, err)
	}
	if last, err = b.Audit(ctx, last, 10); err != nil || last == "" {
		t.Fatal(last, err)
	}
	if last, err = b.Audit(ctx, last, 10); err != nil || last != "" {
		t.Error(last, err)
	}
	page, cursor, err := b.Follow(ctx, "", 2)
	if err != nil || len(page) != 2 || page[0].From != "" || page[0].To != "pending" {
		t.Error(page, err)
	}
	if page, _, err = b.Follow(ctx, cursor, 100); err != nil || len(page) != int(w.Request.Version+w.Job.Version) {
		t.Errorf("%d more, %v", len(page), err)
	}
}

// A host's own writes and ours commit together, or not at all.
func TestWithinJoinsATransactionOfTheHost(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	mine := errors.New("the host's posting failed")
	for _, fails := range []bool{true, false} {
		s := b.submission()
		err := b.store.Update(ctx, func(tx store.Unit) error {
			if _, err := b.Within(tx).Submit(ctx, s); err != nil {
				return err
			}
			if fails {
				return mine
			}
			return nil
		})
		_, found := b.Get(ctx, s.Request)
		if fails != errors.Is(err, mine) || fails != errors.Is(found, statemachine.ErrNotFound) {
			t.Errorf("fails %v: %v, then %v", fails, err, found)
		}
	}
}

// Missing, said after the end: at once it is an incident, without a time, which is now;
// of a worker whose look-up began before the end it is none.
func TestASlowLookUpIsNoIncident(t *testing.T) {
	b := newBank(t)
	w := b.confirming(t)
	b.now = b.now.Add(b.Policy().CheckEvery)
	source := b.Lookups(chain, "slow")
	item := turn(t, source, 1)
	b.now = b.now.Add(time.Second)
	b.do(t, w.Request.ID, mined(w.Job.TxHash))
	missing := withdrawal.Missing{By: withdrawal.By{Actor: "slow", Role: withdrawal.ConfirmationWorker}, Tx: w.Job.TxHash}
	incidents := func() int {
		t.Helper()
		all, _, err := b.Incidents(context.Background(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	b.now = b.now.Add(time.Second)
	turn(t, source, 1, result(item[0].Work, missing))
	if n := incidents(); n != 0 {
		t.Errorf("%d incidents of a look-up that began before the end", n)
	}
	b.do(t, w.Request.ID, missing)
	if n := incidents(); n != 1 {
		t.Errorf("%d incidents of a transaction that is missing after the end", n)
	}
}

// An event by a pointer is refused by its name, whatever it is, and one that is nothing.
func TestEventsAreValues(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	w := b.pending(t)
	by, submission := as(withdrawal.Operator), b.submission()
	for name, tt := range map[string]struct {
		request uuid.UUID
		ev      withdrawal.Event
		says    string
	}{
		"one that creates": {submission.Request, &submission, "give the Submitted itself"},
		"one of a request": {w.Request.ID, &withdrawal.Cancelled{By: by}, "give the Cancelled itself"},
		"a nil pointer":    {w.Request.ID, (*withdrawal.Cancelled)(nil), "give the Cancelled itself"},
		"none":             {w.Request.ID, nil, "no event"},
	} {
		if _, err := b.Do(ctx, tt.request, tt.ev); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.batches.Do(ctx, uuid.New(), &withdrawal.BatchMissing{}); !errors.Is(err, statemachine.ErrInvalid) ||
		!strings.Contains(err.Error(), "give the BatchMissing itself") {
		t.Errorf("of a batch: %v", err)
	}
	if lines, _, err := store.NewJournal(b.store).Page(ctx, "", 10); err != nil || len(lines) != 1 || lines[0].Event != "Approved" {
		t.Errorf("%+v, %v", lines, err)
	}
}
