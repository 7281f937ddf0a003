package swap_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
	"github.com/settlehq/settle/swap"
)

func TestTablesAgreeWithLooplab(t *testing.T) {
	looplabtest.Agree(t, swap.DepositMachine)
	looplabtest.Agree(t, swap.CreditMachine)
}

// The source's drawings, and the extensions, by state: every other pair is refused.
func TestTheTablesHaveTheSourcesEdgesAndTheMarkedOnes(t *testing.T) {
	const deposits = `
none -> detected
detected -> ready for processing
ready for processing -> debited, awaiting confirmation
debited, awaiting confirmation -> debit_confirmed
ready for processing -> processed, amount after fees <= 0
detected -> to be refunded
ready for processing -> to be refunded
debited, awaiting confirmation -> to be refunded
to be refunded -> refund sent, awaiting confirmation
refund sent, awaiting confirmation -> refund_confirmed
to be refunded -> to be quarantined
refund sent, awaiting confirmation -> to be quarantined
to be quarantined -> quarantine sent, awaiting confirmation
to be quarantined -> quarantine failed`
	const depositExtensions = `
to be refunded -> processed, amount after fees <= 0
to be quarantined -> processed, amount after fees <= 0
detected -> to be quarantined
ready for processing -> to be quarantined
quarantine failed -> to be quarantined
quarantine sent, awaiting confirmation -> to be quarantined
debited, awaiting confirmation -> to be quarantined
to be refunded -> debited, awaiting confirmation
to be quarantined -> debited, awaiting confirmation
to be quarantined -> refund sent, awaiting confirmation
none -> debit_confirmed
none -> refund_confirmed
none -> quarantine sent, awaiting confirmation`
	const credits = `
none -> pending_receival
pending_receival -> ready for processing
ready for processing -> sending
sending -> sig created, awaiting confirmations
sig created, awaiting confirmations -> processed
pending_receival -> processed as fees
pending_receival -> trade balance to be checked
trade balance to be checked -> refund pending
trade balance to be checked -> collecting refund
ready for processing -> refund pending
sending -> refund pending
sig created, awaiting confirmations -> refund pending
refund pending -> refunded
collecting refund -> refunded
refund pending -> quarantined
collecting refund -> quarantined`
	const creditExtensions = `
refund pending -> processed as fees
collecting refund -> processed as fees
ready for processing -> processed as fees
sending -> processed as fees
sig created, awaiting confirmations -> processed as fees
trade balance to be checked -> processed as fees
quarantined -> processed as fees
trade balance to be checked -> ready for processing
sig created, awaiting confirmations -> quarantined
refund pending -> sig created, awaiting confirmations
collecting refund -> sig created, awaiting confirmations
pending_receival -> refund pending
refunded -> refund pending
refunded -> collecting refund
none -> processed
none -> refunded
none -> quarantined`
	compareEdges(t, swap.DepositMachine, deposits, depositExtensions)
	compareEdges(t, swap.CreditMachine, credits, creditExtensions)
}

func compareEdges[S, T statemachine.Label](t *testing.T, m *statemachine.Machine[S, T], drawn, extensions string) {
	t.Helper()
	want := map[string]bool{} // true: drawn
	for line := range strings.SplitSeq(strings.TrimSpace(drawn), "\n") {
		want[line] = true
	}
	for line := range strings.SplitSeq(strings.TrimSpace(extensions), "\n") {
		want[line] = false
	}
	seen := map[string]bool{}
	for _, e := range m.Edges() {
		if e.From == e.To {
			if e.Extension == "" {
				t.Errorf("%s: %v stays by %v, which the source does not draw", m.Name(), e.From, e.Trigger)
			}
			continue
		}
		edge := fmt.Sprintf("%v -> %v", e.From, e.To)
		if isDrawn, ok := want[edge]; !ok || isDrawn != (e.Extension == "") {
			t.Errorf("%s: edge %q by %v, extension %q", m.Name(), edge, e.Trigger, e.Extension)
		}
		seen[edge] = true
	}
	for edge := range want {
		if !seen[edge] {
			t.Errorf("%s: missing edge %q", m.Name(), edge)
		}
	}
}

func TestStatusTexts(t *testing.T) {
	for text, want := range map[string]swap.DepositStatus{"processed": swap.DepositProcessed, "debit_confirmed": swap.DepositProcessed,
		"quarantine_confirmed": swap.DepositQuarantined, "quarantine sent, awaiting confirmation": swap.DepositQuarantined,
		"quarantine failed": swap.DepositQuarantineFailed, "refund_confirmed": swap.DepositRefunded} {
		var s swap.DepositStatus
		if err := s.Scan(text); err != nil || s != want {
			t.Errorf("%q is read as %v (%v), expected %v", text, s, err, want)
		}
	}
	if s := swap.DepositProcessed.String(); s != "debit_confirmed" {
		t.Errorf("processed is written as %q", s)
	}
	var c swap.CreditStatus
	for _, unknown := range []string{"debit_confirmed", "Pending_receival", "", "quarantine_confirmed"} {
		if err := c.Scan(unknown); err == nil {
			t.Errorf("a credit status %q is read as %v", unknown, c)
		}
	}
}
