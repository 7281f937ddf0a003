package swap_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Every event in every state: the new state, "=" for a new version of the same
// one, "touch" for what changes only when it is due, "-" for nothing, or the
// refusal.

type matrixEvent[A any] struct {
	name string
	ev   func(r *run[A]) swap.Event
}

func matrixEvents[A any]() []matrixEvent[A] {
	worker := func(r *run[A]) swap.By { return r.worker() }
	looked := func(f swap.Finding, change func(r *run[A], s *swap.Sighting)) func(r *run[A]) swap.Event {
		return func(r *run[A]) swap.Event {
			if f == swap.LookMissing {
				r.watch(1)
			}
			ev := swap.Looked{By: worker(r), Number: 1, Finding: f, View: r.view(1)}
			if in := r.i().Intent(1); in != nil && f == swap.LookFound {
				ev.Seen = sighting(*in, 99, true)
				change(r, &ev.Seen)
			}
			return ev
		}
	}
	answered := func(o statemachine.Outcome) func(r *run[A]) swap.Event {
		return func(r *run[A]) swap.Event {
			ev := swap.Answered{By: worker(r), Number: 1, Outcome: o, TxID: "txB"}
			if in := r.i().Intent(1); in != nil && in.Signature != "" {
				ev.TxID = in.Signature
			}
			return ev
		}
	}
	all := []matrixEvent[A]{
		{"claimed", func(r *run[A]) swap.Event { return swap.Claimed{By: worker(r)} }},
		{"elapsed", func(r *run[A]) swap.Event { return swap.Elapsed{By: by(swap.System, r.now), Control: open} }},
		{"done", answered(statemachine.Done)}, {"failed", answered(statemachine.Failed)}, {"unknown", answered(statemachine.Unknown)}, {"deferred", answered(statemachine.Deferred)},
		{"found", looked(swap.LookFound, func(*run[A], *swap.Sighting) {})},
		{"errored", looked(swap.LookFound, func(_ *run[A], s *swap.Sighting) { s.Errored = true })},
		{"mismatch", looked(swap.LookFound, func(_ *run[A], s *swap.Sighting) { s.Amount++ })},
		{"missing", looked(swap.LookMissing, nil)}, {"unsure", looked(swap.LookUnknown, nil)},
		{"memo", func(r *run[A]) swap.Event { return swap.MemoFetched{By: worker(r), Memos: []string{"nexus:zoe"}} }},
		{"usable", func(r *run[A]) swap.Event { return swap.AccountChecked{By: worker(r), State: swap.AccountUsable} }},
		{"closed", func(r *run[A]) swap.Event { return swap.AccountChecked{By: worker(r), State: swap.AccountClosed} }},
		{"confirmed", func(r *run[A]) swap.Event { return swap.Confirmations{By: by(swap.Observer, r.now), Count: 2} }},
		{"gone", func(r *run[A]) swap.Event {
			return swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Gone: true}
		}},
		{"mapped", func(r *run[A]) swap.Event { return r.mapping() }}, {"unmapped", func(r *run[A]) swap.Event { return r.unmapped() }},
	}
	for _, o := range []struct {
		name string
		ev   swap.Event
	}{
		{"refund", swap.RefundOrdered{}}, {"quarantine", swap.QuarantineOrdered{}}, {"requeue", swap.Requeued{}}, {"hold", swap.Held{}},
		{"release", swap.Released{}}, {"not_sent", swap.NotSent{Number: 1, Height: 2000}}, {"paid_by", swap.PaidBy{Action: swap.Send, TxID: "foreign"}},
		{"drop", swap.Dropped{}}, {"acknowledge", swap.Acknowledged{Number: 1}},
	} {
		all = append(all, matrixEvent[A]{"order " + o.name, func(r *run[A]) swap.Event { return ordered(o.ev, r.operator(), "x") }})
	}
	return all
}

func matrixWord[A any](r *run[A], err error, before string) string {
	for text, sentinel := range map[string]error{"illegal": statemachine.ErrIllegal, "held": statemachine.ErrHeld, "fenced": statemachine.ErrFenced,
		"invalid": statemachine.ErrInvalid, "missing": statemachine.ErrNotFound, "conflict": statemachine.ErrConflict} {
		if errors.Is(err, sentinel) {
			return text
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case len(r.last.Log) == 0 && r.last.Touched:
		return "touch"
	case len(r.last.Log) == 0:
		return "-"
	case r.state(&r.item) == before:
		return "="
	}
	return r.state(&r.item)
}

func matrix[A any](t *testing.T, order []string, states map[string]func() *run[A], want string) {
	rows := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(want), "\n") {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[cells[0]] = cells[1:]
	}
	for _, e := range matrixEvents[A]() {
		var got []string
		for _, name := range order {
			r := states[name]().release()
			r.wait(2 * time.Hour)
			before := r.state(&r.item)
			err := r.try(e.ev(r))
			got = append(got, matrixWord(r, err, before))
		}
		if !slices.Equal(got, rows[e.name]) {
			t.Errorf("\n%s | %s, expected\n%s | %s", e.name, strings.Join(got, " | "), e.name, strings.Join(rows[e.name], " | "))
		}
	}
}

func depositStatesOf(t *testing.T) map[string]func() *run[swap.Deposit] {
	d := func(f func(*testing.T) *run[swap.Deposit]) func() *run[swap.Deposit] {
		return func() *run[swap.Deposit] { return f(t) }
	}
	return map[string]func() *run[swap.Deposit]{
		"detected": d(detected), "ready": d(ready), "debited": d(debited), "to be refunded": d(toBeRefunded), "refund sent": d(refundSent), "to be quarantined": d(toBeQuarantined),
		"intent":        func() *run[swap.Deposit] { return ready(t).begin(swap.Send) },
		"processed":     func() *run[swap.Deposit] { return debited(t).found(1, 10) },
		"refund intent": func() *run[swap.Deposit] { return toBeRefunded(t).begin(swap.Refund) },
		"refunded":      func() *run[swap.Deposit] { return refundSent(t).found(1, 10) },
		"as fees": func() *run[swap.Deposit] {
			return memo(deposits(t).do(observedDeposit("sig1", 5)), "x").elapse()
		},
		"quarantined": func() *run[swap.Deposit] { return toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done) },
		"quarantine failed": func() *run[swap.Deposit] {
			r := toBeQuarantined(t)
			for range 2 {
				r.begin(swap.Quarantine).answer(statemachine.Failed).prove().release()
			}
			return r.begin(swap.Quarantine).answer(statemachine.Failed).prove()
		},
	}
}

func TestEveryEventInEveryStateOfADeposit(t *testing.T) {
	matrix(t, []string{"detected", "ready", "intent", "debited", "processed", "as fees", "to be refunded", "refund intent", "refund sent", "refunded", "to be quarantined", "quarantined", "quarantine failed"},
		depositStatesOf(t), `
claimed | touch | touch | touch | touch | illegal | illegal | touch | touch | touch | illegal | touch | touch | illegal
elapsed | - | - | - | - | - | - | - | - | - | - | - | - | -
done | invalid | invalid | debited, awaiting confirmation | - | - | invalid | invalid | refund sent, awaiting confirmation | - | - | invalid | - | =
failed | invalid | invalid | = | - | - | invalid | invalid | = | - | - | invalid | - | -
unknown | invalid | invalid | = | - | - | invalid | invalid | = | - | - | invalid | - | -
deferred | invalid | invalid | = | - | - | invalid | invalid | = | - | - | invalid | - | -
found | invalid | invalid | debited, awaiting confirmation | debit_confirmed | - | invalid | invalid | refund sent, awaiting confirmation | refund_confirmed | - | invalid | = | =
errored | invalid | invalid | = | to be refunded | = | invalid | invalid | = | to be quarantined | = | invalid | = | -
mismatch | invalid | invalid | = | = | = | invalid | invalid | = | = | = | invalid | = | =
missing | invalid | invalid | = | to be refunded | = | invalid | invalid | = | to be quarantined | = | invalid | = | -
unsure | invalid | invalid | touch | touch | - | invalid | invalid | touch | touch | - | invalid | touch | -
memo | ready for processing | - | - | - | - | - | - | - | - | - | - | - | -
usable | illegal | = | = | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
closed | illegal | to be refunded | held | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
confirmed | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
gone | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
mapped | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
unmapped | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
order refund | to be refunded | to be refunded | held | to be refunded | illegal | illegal | - | - | - | - | illegal | illegal | illegal
order quarantine | to be quarantined | to be quarantined | held | to be quarantined | illegal | illegal | to be quarantined | held | illegal | illegal | - | - | illegal
order requeue | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | to be quarantined
order hold | = | = | = | = | illegal | illegal | = | = | = | illegal | = | illegal | =
order release | - | - | - | - | - | - | - | - | - | - | - | - | -
order not_sent | invalid | invalid | = | illegal | illegal | invalid | invalid | = | illegal | illegal | invalid | illegal | -
order paid_by | to be refunded | = | held | = | = | invalid | = | held | = | = | = | = | =
order drop | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
order acknowledge | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid`)
}

func creditStatesOf(t *testing.T) map[string]func() *run[swap.Credit] {
	c := func(f func(*testing.T) *run[swap.Credit]) func() *run[swap.Credit] {
		return func() *run[swap.Credit] { return f(t) }
	}
	return map[string]func() *run[swap.Credit]{
		"pending": c(pending), "ripe": c(ripe), "ready": c(creditReady), "sending": c(sending), "awaiting": c(awaiting), "balance check": c(balanceCheck), "collecting": c(collecting),
		"refund pending": c(refundPending), "refunded": c(refunded), "quarantined": c(quarantined),
		"processed": func() *run[swap.Credit] { return awaiting(t).found(1, 10) },
		"as fees": func() *run[swap.Credit] {
			return credits(t).do(observedCredit("tx1", 5), swap.Confirmations{By: by(swap.Observer, t0), Count: 2})
		},
		"refund intent": func() *run[swap.Credit] { return refundPending(t).begin(swap.Refund) },
		"moving":        func() *run[swap.Credit] { return quarantined(t).begin(swap.Quarantine) },
	}
}

func TestEveryEventInEveryStateOfACredit(t *testing.T) {
	matrix(t, []string{"pending", "ripe", "ready", "sending", "awaiting", "processed", "as fees", "balance check", "collecting", "refund pending", "refund intent", "refunded", "quarantined", "moving"},
		creditStatesOf(t), `
claimed | touch | touch | touch | touch | touch | illegal | illegal | touch | touch | touch | touch | touch | touch | touch
elapsed | - | - | - | - | - | - | - | - | - | - | - | - | - | -
done | invalid | invalid | invalid | sig created, awaiting confirmations | - | - | invalid | invalid | invalid | invalid | refunded | - | invalid | =
failed | invalid | invalid | invalid | = | - | - | invalid | invalid | invalid | invalid | = | - | invalid | =
unknown | invalid | invalid | invalid | = | - | - | invalid | invalid | invalid | invalid | = | - | invalid | =
deferred | invalid | invalid | invalid | = | - | - | invalid | invalid | invalid | invalid | = | - | invalid | =
found | invalid | invalid | invalid | sig created, awaiting confirmations | processed | - | invalid | invalid | invalid | invalid | refunded | = | invalid | =
errored | invalid | invalid | invalid | = | refund pending | = | invalid | invalid | invalid | invalid | = | = | invalid | =
mismatch | invalid | invalid | invalid | = | = | = | invalid | invalid | invalid | invalid | = | = | invalid | =
missing | invalid | invalid | invalid | = | refund pending | = | invalid | invalid | invalid | invalid | = | = | invalid | =
unsure | invalid | invalid | invalid | touch | touch | - | invalid | invalid | invalid | invalid | touch | touch | invalid | touch
memo | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
usable | illegal | illegal | = | = | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
closed | illegal | illegal | refund pending | held | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
confirmed | = | - | - | - | - | - | - | - | - | - | - | - | - | -
gone | = | = | = | = | = | = | = | = | = | = | = | = | = | =
mapped | touch | ready for processing | illegal | illegal | illegal | illegal | illegal | ready for processing | illegal | illegal | illegal | illegal | illegal | illegal
unmapped | touch | = | illegal | illegal | illegal | illegal | illegal | collecting refund | illegal | illegal | illegal | illegal | illegal | illegal
order refund | illegal | refund pending | refund pending | held | refund pending | illegal | illegal | refund pending | - | - | - | - | illegal | illegal
order quarantine | illegal | illegal | illegal | illegal | quarantined | illegal | illegal | illegal | quarantined | quarantined | held | illegal | - | -
order requeue | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | - | illegal
order hold | = | = | = | = | = | illegal | illegal | = | = | = | = | illegal | = | =
order release | - | - | - | - | - | - | - | - | - | - | - | - | - | -
order not_sent | invalid | invalid | invalid | = | illegal | illegal | invalid | invalid | invalid | invalid | = | illegal | invalid | =
order paid_by | illegal | refund pending | refund pending | held | = | = | invalid | refund pending | = | = | held | = | = | held
order drop | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
order acknowledge | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid | invalid`)
}
