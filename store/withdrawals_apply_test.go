package store_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// saved is a store that keeps what is saved.
type saved struct {
	store.Store[store.Unit]
	calls [][]withdrawal.Change
}

func (s *saved) Update(ctx context.Context, fn func(store.Unit) error) error {
	return s.Store.Update(ctx, func(tx store.Unit) error { return fn(savedTx{tx, s}) })
}

type savedTx struct {
	store.Unit
	*saved
}

func (t savedTx) Withdrawals() store.WithdrawalRecords {
	return savedRecords{t.Unit.Withdrawals(), t.saved}
}

type savedRecords struct {
	store.WithdrawalRecords
	*saved
}

func (r savedRecords) Save(changes ...withdrawal.Change) error {
	r.calls = append(r.calls, changes)
	return r.WithdrawalRecords.Save(changes...)
}

// The way of a withdrawal in one transaction ends as it does step by step.
func TestManyEventsInOneTransaction(t *testing.T) {
	ctx := context.Background()
	steps, at := newBank(t), []withdrawal.Event(nil)
	request, life := life(steps)
	var want withdrawal.Withdrawal
	for _, event := range life {
		ev := event(want)
		at = append(at, stampOf(ev, steps.now))
		want = steps.do(t, request, ev)
	}
	once := newBank(t)
	once.now = time.Time{} // the events bring their times
	if got := once.do(t, request, at...); text(t, got) != text(t, want) {
		t.Errorf("got  %s\nwant %s", text(t, got), text(t, want))
	}
	verifyEnd(t, once, want)
	for _, job := range []uuid.UUID{want.Job.ID, want.Txs[0].Job} {
		got, err := once.Attempts(ctx, job)
		if all, _ := steps.Attempts(ctx, job); err != nil || text(t, got) != text(t, all) {
			t.Errorf("attempts are %s, %v\nwant %s", text(t, got), err, text(t, all))
		}
	}
}

// Without slots, a job and an attempt that others follow are kept as well.
func TestManyJobsInOneTransaction(t *testing.T) {
	b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
	s, first, second, worker := b.submission(), b.order(withdrawal.Request{}), b.order(withdrawal.Request{}), as(withdrawal.WithdrawalWorker)
	begin := b.now
	b.now = time.Time{} // the events bring their times
	at := func(after time.Duration, ev withdrawal.Event) withdrawal.Event { return stampOf(ev, begin.Add(after)) }
	claim := func(fence int64, after time.Duration) withdrawal.Event {
		return at(after, withdrawal.Claimed{By: worker, Fence: fence})
	}
	b.do(t, s.Request, at(0, s), at(0, withdrawal.Approved{By: as(withdrawal.Approver)}), at(0, first),
		claim(1, 0), at(0, withdrawal.AttemptFailed{By: worker, Fence: 1, Failure: withdrawal.Retryable, Error: "time-out"}),
		claim(2, time.Hour), at(time.Hour, withdrawal.AttemptFailed{By: worker, Fence: 2, Failure: withdrawal.Permanent, Error: "no"}),
		at(0, withdrawal.Requeued{By: as(withdrawal.Operator), Job: first.Job, Reason: "yes", NotRefunded: true}), at(0, second), claim(3, 0))
	for job, want := range map[uuid.UUID][]statemachine.Outcome{first.Job: {statemachine.Failed, statemachine.Failed}, second.Job: {0}} {
		attempts, err := b.Attempts(context.Background(), job)
		var got []statemachine.Outcome
		for _, a := range attempts {
			got = append(got, a.Outcome)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("attempts are %v, not %v, %v", got, want, err)
		}
		if err := b.Verify(context.Background(), job); err != nil {
			t.Error(err)
		}
	}
}

// A transaction writes each record once; but a slot that is taken is seen, also
// if the same transaction gives it back.
func TestARecordIsWrittenOnce(t *testing.T) {
	b := newBank(t)
	s := &saved{Store: b.store}
	b.open(t, s, b.Policy())
	var commands []store.WithdrawalCommand
	for range 3 {
		ev := b.submission()
		commands = append(commands, store.WithdrawalCommand{Request: ev.Request,
			Events: []withdrawal.Event{ev, withdrawal.Approved{By: as(withdrawal.Approver)}, b.order(withdrawal.Request{})}})
	}
	ws, err := b.DoAll(context.Background(), commands...)
	if err != nil || len(s.calls) != 1 || len(s.calls[0]) != 3 || len(s.calls[0][2].Log) != 4 {
		t.Fatalf("%d calls, %v: %+v", len(s.calls), err, s.calls)
	}
	for i := range ws {
		stored := b.do(t, ws[i].Request.ID)
		if text(t, ws[i]) != text(t, stored) || ws[i].Wallet.BalanceReserved != "4500000000000000000" {
			t.Errorf("returned %s\nstored   %s", text(t, ws[i]), text(t, stored))
		}
	}
	claim := withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)}
	fail := withdrawal.AttemptFailed{By: as(withdrawal.WithdrawalWorker), Fence: 1, Failure: withdrawal.Permanent, Error: "no"}
	b.do(t, ws[0].Request.ID, claim)
	_, err = b.Do(context.Background(), ws[1].Request.ID, claim, fail)
	refused(t, err, withdrawal.ErrSlotTaken)
	b.do(t, ws[0].Request.ID, fail)
	b.do(t, ws[1].Request.ID, claim, fail)
}

func stampOf(ev withdrawal.Event, now time.Time) withdrawal.Event {
	v := reflect.New(reflect.TypeOf(ev)).Elem()
	v.Set(reflect.ValueOf(ev))
	if at := v.FieldByName("At"); at.Interface().(time.Time).IsZero() {
		at.Set(reflect.ValueOf(now))
	}
	return v.Interface().(withdrawal.Event)
}
