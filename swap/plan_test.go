package swap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

func TestPlan(t *testing.T) {
	named := func(id string, at time.Time, r *run[swap.Credit]) swap.Credit {
		r.item.ID, r.item.At = id, at
		r.item.CheckAt = t0
		return r.item
	}
	later := t0.Add(time.Minute)
	items := []swap.Credit{
		named("r2", t0, creditReady(t).release()), named("r1", t0, creditReady(t).release()), named("r0", later, creditReady(t).release()),
		named("s", later, sending(t).answer(statemachine.Failed).prove().release()), named("p", t0, pending(t)), named("a", t0, awaiting(t).release()),
		named("b", t0, balanceCheck(t).release()), named("c", t0, collecting(t).release()), named("f", t0, refundPending(t).release()),
	}
	now := t0.Add(24 * time.Hour)
	for priority, want := range map[int][]string{1: {"p"}, 2: {"s", "r1", "r2", "r0"}, 3: {"a"}, 4: {"b"}, 5: {"c"}, 6: {"f"}, 7: nil} {
		var got []string
		for _, pl := range policy.PlanCredits(items, open, priority, nil, now) {
			got = append(got, pl.Item.ID)
		}
		if len(got) != len(want) {
			t.Errorf("priority %d: %v, expected %v", priority, got, want)
			continue
		}
		for k := range got {
			if got[k] != want[k] {
				t.Errorf("priority %d: %v, expected %v", priority, got, want)
			}
		}
	}
	// What has ended is planned, too: a payment that a person has filed is looked up.
	fees := credits(t).do(observedCredit("tx1", 400_000), swap.Confirmations{By: by(swap.Observer, t0), Count: 2}).is("processed as fees")
	fees.do(fees.paidBy(swap.Refund, "byhand"))
	if got := policy.PlanCredits([]swap.Credit{fees.item}, open, 3, nil, now); len(got) != 1 || got[0].Step.Tasks[0].Do != swap.LookUp {
		t.Errorf("kept as fee: %+v", got)
	}
	for _, s := range swap.CreditStatus(0).Values() { // whatever an item owes, a priority has it
		c, n := fees.item, 0
		c.Status = s
		for priority := range 7 {
			n += len(policy.PlanCredits([]swap.Credit{c}, open, priority, nil, now))
		}
		if n != 1 {
			t.Errorf("%v is in %d priorities", s, n)
		}
	}
	if got := policy.PlanCredits(items, open, 6, map[string]bool{"f": true}, now); len(got) != 0 {
		t.Errorf("two outbounds in a pass: %+v", got)
	}
	ds := []swap.Deposit{debited(t).release().item, detected(t).item, ready(t).release().item, toBeRefunded(t).release().item, toBeQuarantined(t).release().item}
	for priority, want := range map[int]int{1: 1, 2: 2, 3: 0, 4: 1, 5: 1} {
		if got := policy.PlanDeposits(ds, open, priority, nil, now); len(got) != want {
			t.Errorf("deposits at priority %d: %+v", priority, got)
		}
	}
}

func TestAlerts(t *testing.T) {
	s := swap.Stats{At: t0, Processed: 95, Refunded: 5, Created: 100}
	if a := swap.Alerts(s, swap.DefaultThresholds()); len(a) != 0 {
		t.Errorf("5 %% alerts: %v", a)
	}
	s.Processed, s.Refunded, s.Created = 9499, 501, 0
	names := func() (out []string) {
		for _, a := range swap.Alerts(s, swap.DefaultThresholds()) {
			out = append(out, a.Name)
		}
		return out
	}
	if got := names(); len(got) != 1 || got[0] != "refund rate" {
		t.Errorf("501 of 10000: %v", got)
	}
	if got := swap.Alerts(s, swap.DefaultThresholds())[0].Text; got != "501 of 10000 were refunded, more than 5 %" {
		t.Errorf("it says %q", got)
	}
	s = swap.Stats{At: t0, Quarantined: 1, Processed: 99, Created: 101, OldestAwaiting: t0.Add(-10*time.Minute - 1), OldestHeld: t0.Add(-25 * time.Hour), Discrepancies: 1, Overdue: 1}
	if got := names(); len(got) != 6 {
		t.Errorf("%v", got)
	}
	s.OldestAwaiting = t0.Add(-10 * time.Minute)
	if got := names(); len(got) != 5 {
		t.Errorf("10 minutes are not longer than 10 minutes: %v", got)
	}
	if s.QuarantineRate() != 100 || s.SuccessRate() != 9900 || (&swap.Stats{}).RefundRate() != 0 {
		t.Error("rates")
	}
}

// A history that was never read alerts as soon as swaps have begun in a store, whatever has begun
// them, until it is read.
func TestAHistoryThatWasNeverReadAlerts(t *testing.T) {
	four := []swap.Waterline{{Chain: swap.Solana}, {Chain: swap.Nexus}, {Chain: swap.Solana, Own: true}, {Chain: swap.Nexus, Own: true}}
	alert := func(count func(*swap.Tally), read int) string {
		c := swap.NewTally(t0, time.Hour)
		count(c)
		for _, w := range four[:read] {
			w.At = t0
			c.Waterline(&w)
		}
		for _, w := range four[read:] {
			c.Waterline(&w) // a row without a time was not read
		}
		s := c.Stats()
		for _, a := range swap.Alerts(s, swap.DefaultThresholds()) {
			if a.Name == "scan" {
				return a.Text
			}
		}
		return ""
	}
	nothing := func(*swap.Tally) {}
	for name, begun := range map[string]func(*swap.Tally){
		"the first start": func(c *swap.Tally) { c.Control(swap.Control{}.Restored(t0)) },
		"a deposit":       func(c *swap.Tally) { d := detected(t).item; c.Deposit(&d) },
		"a credit":        func(c *swap.Tally) { cr := pending(t).item; c.Credit(&cr) },
	} {
		for read := range 5 {
			if got := alert(begun, read); (got != "") != (read < 4) || read == 3 && !strings.HasSuffix(got, ": the vault's own on nexus") {
				t.Errorf("%s, %d are read: %q", name, read, got)
			}
		}
	}
	for read, want := range []bool{false, true, true, true, false} { // of a store without swaps nobody is told
		if got := alert(nothing, read); (got != "") != want {
			t.Errorf("%d are read: %q", read, got)
		}
	}
	off := swap.DefaultThresholds()
	if off.Scan = 0; len(swap.Alerts(swap.Stats{At: t0, Unread: []string{"x"}}, off)) != 0 {
		t.Error("it is not watched")
	}
}

func TestAWaitEndsAtItsMoment(t *testing.T) {
	r := ripe(t).claim()
	r.do(r.unmapped())
	r.now = t0.Add(time.Hour - 10*time.Second)
	r.i().CheckAt = r.now
	r.do(r.unmapped())
	if want := t0.Add(time.Hour + time.Microsecond); !r.i().CheckAt.Equal(want) {
		t.Errorf("due at %v, the wait ends at %v", r.i().CheckAt, want)
	}
}
