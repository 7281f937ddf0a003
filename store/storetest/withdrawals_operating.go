package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// acknowledged: an incident is open until an operator has settled it, once.
func (w *withdrawals) acknowledged(t *testing.T) {
	first, second := w.contradicted(t, start), w.contradicted(t, start)
	all, _, err := w.service.Incidents(ctx, 0, 10)
	if err != nil || len(all) != 2 {
		t.Fatalf("incidents are %v, %v", all, err)
	}
	open := func(want ...withdrawal.Incident) {
		t.Helper()
		same(t, "open incidents", everyPage(t, 1, w.service.OpenIncidents), want)
		stats, err := w.service.Stats(ctx, time.Hour)
		if err != nil || stats.OpenIncidents != int64(len(want)) {
			t.Errorf("%d are counted as open, want %d, %v", stats.OpenIncidents, len(want), err)
		}
		alerts := withdrawal.Alerts(stats, withdrawal.Thresholds{Incidents: 100})
		if alert := slices.ContainsFunc(alerts, func(a withdrawal.Alert) bool { return a.Name == "open incidents" }); alert != (len(want) > 0) {
			t.Errorf("an alert: %v, with %d open", alert, len(want))
		}
	}
	open(all...)
	ack := func(i withdrawal.Incident) withdrawal.Acknowledgement {
		return withdrawal.Acknowledgement{Request: i.Request, Hash: i.Hash, Claim: i.Claim, BlockHash: i.BlockHash,
			Actor: "olga", Role: withdrawal.Operator, Reason: "refunded by the exchange", At: start.Add(time.Minute)}
	}
	for name, c := range map[string]struct {
		change func(*withdrawal.Acknowledgement)
		err    error
	}{
		"a worker":            {func(a *withdrawal.Acknowledgement) { a.Role = withdrawal.WithdrawalWorker }, statemachine.ErrForbidden},
		"nobody":              {func(a *withdrawal.Acknowledgement) { a.Actor = "" }, statemachine.ErrInvalid},
		"no reason":           {func(a *withdrawal.Acknowledgement) { a.Reason = "" }, statemachine.ErrInvalid},
		"a reason with a NUL": {func(a *withdrawal.Acknowledgement) { a.Reason = "a\x00" }, statemachine.ErrInvalid},
		"a long reason":       {func(a *withdrawal.Acknowledgement) { a.Reason = strings.Repeat("x", withdrawal.MaxText+1) }, statemachine.ErrInvalid},
		"the year 20000":      {func(a *withdrawal.Acknowledgement) { a.At = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) }, statemachine.ErrInvalid},
		"another claim":       {func(a *withdrawal.Acknowledgement) { a.Claim = "taken" }, statemachine.ErrNotFound},
		"another request":     {func(a *withdrawal.Acknowledgement) { a.Request = w.id() }, statemachine.ErrNotFound},
	} {
		a := ack(all[0])
		c.change(&a)
		if err := w.service.Acknowledge(ctx, a); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	open(all...)
	noError(t, w.service.Acknowledge(ctx, ack(all[0])))
	again := ack(all[0])
	again.Actor, again.Reason = "oscar", "me too"
	if err := w.service.Acknowledge(ctx, again); err != nil {
		t.Errorf("once more: %v", err)
	}
	open(all[1])
	for request, want := range map[*withdrawal.Withdrawal][]withdrawal.Acknowledgement{&first: {ack(all[0])}, &second: nil} {
		got := must(w.service.Acknowledgements(ctx, request.Request.ID))(t)
		same(t, "acknowledgements", got, want)
	}
}

// journal: what an operator or an approver tried and was refused is kept, and
// nothing else of it is.
func (w *withdrawals) journal(t *testing.T) {
	live(w.Store)
	a := w.confirming(t, w.payingChain(t), start)
	tries := []struct {
		event string // in the journal; empty: not kept
		ev    withdrawal.Event
		err   error
	}{
		{"Cancelled", withdrawal.Cancelled{By: operatorAt(start), Reason: "too late"}, statemachine.ErrIllegal},
		{"Rejected", withdrawal.Rejected{By: by(withdrawal.Approver, start), Reason: "no"}, statemachine.ErrIllegal},
		{"Requeued", withdrawal.Requeued{By: operatorAt(start), Job: a.Job.ID, Reason: "again"}, statemachine.ErrIllegal},
		{"Held", withdrawal.Held{By: by(withdrawal.Approver, start), Reason: "not mine to hold"}, statemachine.ErrForbidden},
		{"", withdrawal.Claimed{By: workerAt(start), Fence: 7}, nil},
	}
	var want []withdrawal.Refused
	for _, c := range tries {
		_, err := w.service.Do(ctx, a.Request.ID, c.ev)
		if err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Fatalf("%T: %v, want %v", c.ev, err, c.err)
		}
		if c.event != "" {
			actor, role := "olga", withdrawal.Operator
			if c.event == "Rejected" || c.event == "Held" {
				actor, role = "alice", withdrawal.Approver
			}
			want = append(want, withdrawal.Refused{Request: a.Request.ID, Event: c.event, Actor: actor, Role: role, Error: err.Error()})
		}
	}
	got := everyPage(t, 2, w.service.Refusals)
	for i := range got {
		if got[i].At.IsZero() {
			t.Errorf("a line of the journal without a time: %+v", got[i])
		}
		got[i].At = time.Time{}
	}
	same(t, "the journal", got, want)
	same(t, "what was refused changes nothing", w.get(t, a.Request.ID), a)
	if err := w.service.Verify(ctx, a.Request.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.service.Do(ctx, w.id(), withdrawal.Cancelled{By: operatorAt(start), Reason: "unknown"}); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("an unknown request: %v", err)
	}
}
