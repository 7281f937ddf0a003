package ops

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// Each event that an operator or an approver may say is in the list, offered or with the reason
// why not, and of each of its fields the list says where it comes from.
func TestActionsAreWhatPeopleMaySay(t *testing.T) {
	var want []string
	spoken(&want, switches.Events(), switches.Speakers, switches.Operator)
	spoken(&want, withdrawal.Events(), withdrawal.Speakers, withdrawal.Operator, withdrawal.Approver)
	spoken(&want, withdrawal.BatchEvents(), withdrawal.BatchSpeakers, withdrawal.Operator, withdrawal.Approver)
	for _, ev := range withdrawal.StatementEvents() {
		want = append(want, fmt.Sprintf("%T", ev))
	}
	spoken(&want, swap.Events(), swap.Speakers, swap.Operator)
	spoken(&want, refresh.Events(), refresh.Speakers, refresh.Operator)
	spoken(&want, relaysync.Events(), relaysync.Speakers, relaysync.Operator)
	spoken(&want, dunning.Events(), dunning.Speakers, dunning.Operator)
	want = append(want, "utxo.Invalidated", "utxo.Labelled")
	var got []string
	for _, a := range TheActions() {
		name := fmt.Sprintf("%T", a.Event)
		if !slices.Contains(got, name) { // one event may have several forms
			got = append(got, name)
		}
		of := reflect.TypeOf(a.Event)
		fields := map[string]bool{}
		for i := range of.NumField() {
			field := of.Field(i).Name
			_, fixed := a.Fixed[field]
			if fields[field] = true; field != "By" && a.Fields[field] == "" && !fixed && !slices.Contains(a.NotAsked, field) {
				t.Errorf("%s: where does %s come from?", name, field)
			}
		}
		for field := range a.Fields {
			if !fields[field] && field != "At" { // of By
				t.Errorf("%s has no %s", name, field)
			}
		}
		if a.NotOffered == "" && len(Explain(name)) == 0 {
			t.Errorf("%s is offered and not explained", name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the list has\n%q, and people may say\n%q", got, want)
	}
}

// What is evidence is never filled in before a person types it.
func TestEvidenceIsTyped(t *testing.T) {
	evidence := []string{"Hash", "Payee", "Amount", "AmountRaw", "Block", "Height", "Outcome", "TxID", "Other", "Reference",
		"Raw", "Payment", "Reason"}
	for _, a := range TheActions() {
		for field, from := range a.Fields {
			if slices.Contains(evidence, field) && from != Typed {
				t.Errorf("%T: %s is %s", a.Event, field, from)
			}
		}
	}
	for _, a := range TheActions() { // what a probe says beside its head is the reason
		ev, err := a.event(map[string]any{}, nil, Said{Actor: "olga", Fields: map[string]string{}, probe: true})
		if err != nil {
			t.Errorf("%T: %v", a.Event, err)
			continue
		}
		v := reflect.ValueOf(ev)
		for i := range v.NumField() {
			if f := v.Type().Field(i).Name; slices.Contains(evidence, f) && !v.Field(i).IsZero() {
				t.Errorf("%T: %s is filled in", ev, f)
			}
		}
	}
}

// The law is asked: what is taken is offered with its moves, what needs evidence is a form, the
// rest says why not, and asking leaves nothing behind.
func TestWithdrawalOffers(t *testing.T) {
	both(t, func(t *testing.T, h *house) {
		h.wallet()
		w := h.review()
		k := h.withdrawals()
		shown, err := k.Get(t.Context(), w.Request.ID.String())
		h.check(err)
		offers, err := k.Offers(t.Context(), shown, "olga")
		h.check(err)
		got := map[string]string{}
		for _, o := range offers {
			switch {
			case o.Form:
				got[o.As()] = "form"
			case o.Why != "":
				got[o.As()] = "refused"
			case len(o.Moves) == 0:
				got[o.As()] = "already so"
			default:
				got[o.As()] = o.Moves[0].To
			}
		}
		want := map[string]string{"Approved": "refused", "Rejected": "refused", "Cancelled": "refused", "Held": "queued",
			"Released": "already so", "Acknowledged": "refused", "Requeued": "refused", "Refunded": "refused", "NotSent": "pending", "Sent": "form",
			"PaidBy": "form", "ProvenDead": "refused"} // no transaction is on file that could be dead
		for _, event := range slices.Sorted(maps.Keys(want)) {
			if got[event] != want[event] {
				t.Errorf("%s is %q, not %q", event, got[event], want[event])
			}
		}
		is, err := h.Withdrawals.Get(t.Context(), w.Request.ID)
		if h.check(err); is.Request.Version != w.Request.Version || is.Job.Version != w.Job.Version {
			t.Error("asking has changed it")
		}
	})
}
