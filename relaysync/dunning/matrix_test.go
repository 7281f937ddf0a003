package dunning_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// Every event in every situation of a tenant with one invoice: what happens, in
// one word. "-" is a no-op, "touch" changes DueAt alone; the others are the
// trigger, or the refusal.
func TestEveryEventInEverySituation(t *testing.T) {
	const now = 10 * day
	order := []string{"none", "nothing owed", "fresh", "charge due", "charge open", "unknown", "refused", "message due", "told", "old", "churned", "paid", "paid, open", "void, unknown", "overpaid"}
	paid := dunning.Paid{By: by(dunning.Host, after(2*hour)), Invoice: "i1", Method: dunning.Manual}
	void := dunning.Voided{By: by(dunning.Host, after(2*hour)), Invoice: "i1"}
	// owing is a tenant whose invoice has an age at now.
	owing := func(m dunning.Method, age time.Duration, events ...dunning.Event) dunning.Account {
		x := &account{t: t, p: policy}
		x.do(dunning.Enrolled{By: by(dunning.Host, t0), Tenant: "tenant", Method: m}, dunning.Issued{By: by(dunning.Host, after(now-age)), Invoice: "i1", Amount: 100})
		return x.do(events...).lived(after(now)).a
	}
	told := func() dunning.Account {
		x := &account{t: t, p: policy, a: owing(dunning.Manual, 2*day)}
		x.notify(now - hour)
		return x.a
	}
	situations := map[string]dunning.Account{
		"none":          {},
		"nothing owed":  owing(dunning.Stripe, day, dunning.Amended{By: by(dunning.Host, after(now-day)), Invoice: "i1"}),
		"fresh":         owing(dunning.Manual, hour),
		"charge due":    owing(dunning.NWC, hour),
		"charge open":   owing(dunning.NWC, 8*day, intended(now-hour, "i1/0")),
		"unknown":       owing(dunning.NWC, 8*day, intended(now-2*hour, "i1/0"), answered(now-2*hour, "i1/0", statemachine.Unknown)),
		"refused":       owing(dunning.NWC, 2*hour, intended(now-2*hour, "i1/0"), answered(now-2*hour, "i1/0", statemachine.Failed)),
		"message due":   owing(dunning.Manual, 2*day),
		"told":          told(),
		"old":           owing(dunning.Manual, 8*day),
		"churned":       owing(dunning.Manual, 10*day, dunning.Churned{By: by(dunning.Biller, after(8*day))}),
		"paid":          owing(dunning.Manual, 10*day, paid),
		"paid, open":    owing(dunning.NWC, 10*day, intended(hour, "i1/0"), paid),
		"void, unknown": owing(dunning.NWC, 10*day, intended(hour, "i1/0"), answered(hour, "i1/0", statemachine.Unknown), void),
		"overpaid":      owing(dunning.NWC, 10*day, intended(hour, "i1/0"), paid, answered(3*hour, "i1/0", statemachine.Done)),
	}
	answer := func(o statemachine.Outcome) func(dunning.Account) dunning.Event {
		return func(dunning.Account) dunning.Event { return answered(now, "i1/0", o) }
	}
	plain := func(ev dunning.Event) func(dunning.Account) dunning.Event {
		return func(dunning.Account) dunning.Event { return ev }
	}
	host, biller, operator := by(dunning.Host, after(now)), by(dunning.Biller, after(now)), by(dunning.Operator, after(now))
	events := []struct {
		name string
		ev   func(a dunning.Account) dunning.Event
	}{
		{"enrol", plain(dunning.Enrolled{By: host, Tenant: "tenant", Method: dunning.Manual})},
		{"method", plain(dunning.MethodSet{By: host, Method: dunning.Stripe})},
		{"issue", plain(dunning.Issued{By: host, Invoice: "i2", Amount: 1})},
		{"amend", plain(dunning.Amended{By: host, Invoice: "i1", Amount: 1})},
		{"pay", plain(dunning.Paid{By: host, Invoice: "i1", Method: dunning.Manual})},
		{"void", plain(dunning.Voided{By: host, Invoice: "i1"})},
		{"provision", plain(dunning.Provisioned{By: host})},
		{"reinstate", plain(dunning.Reinstated{By: host})},
		{"tick", plain(dunning.StepBegun{By: biller})},
		{"charge", plain(dunning.ChargeIntended{By: biller, Invoice: "i1", Key: "i1/0"})},
		{"done", answer(statemachine.Done)}, {"failed", answer(statemachine.Failed)}, {"unclear", answer(statemachine.Unknown)}, {"deferred", answer(statemachine.Deferred)},
		{"missing", plain(asked(now, now, "i1/0"))},
		{"resolved", plain(dunning.Resolved{By: operator, Invoice: "i1", Key: "i1/0", Outcome: statemachine.Done, Reason: "seen"})},
		{"churn", plain(dunning.Churned{By: biller})},
		{"notice", func(a dunning.Account) dunning.Event {
			key := "n"
			if do := policy.Next(a, after(now)).Action; do != nil && do.Do == dunning.DoNotify {
				key = do.Key
			}
			return dunning.NoticeIntended{By: biller, Notice: key}
		}},
		{"not sent", func(a dunning.Account) dunning.Event {
			return dunning.NoticeAnswered{By: biller, Notice: "tenant/2:1", Outcome: statemachine.Failed}
		}},
		{"acknowledge", plain(dunning.Acknowledged{By: operator, Invoice: "i1", Key: "i1/0", Reason: "paid back"})},
	}
	const matrix = `
enrol | enrol | illegal | - | illegal | illegal | illegal | illegal | - | - | - | - | - | illegal | illegal | illegal
method | not found | - | method | method | method | method | method | method | method | method | method | method | method | method | method
issue | not found | issue | issue | issue | issue | issue | issue | issue | issue | issue | issue | issue | issue | issue | issue
amend | not found | invalid | amend | amend | held | held | amend | amend | amend | amend | amend | illegal | illegal | illegal | illegal
pay | not found | pay | pay | pay | pay | pay | pay | pay | pay | pay | pay | - | - | overpaid | -
void | not found | void | void | void | void | void | void | void | void | void | void | illegal | illegal | - | illegal
provision | not found | provision | provision | provision | provision | provision | provision | provision | provision | provision | illegal | provision | provision | provision | provision
reinstate | not found | - | - | - | - | - | - | - | - | - | reinstate | - | - | - | -
tick | not found | - | touch | touch | touch | touch | touch | touch | touch | touch | - | - | touch | touch | -
charge | not found | illegal | illegal | charge | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
done | not found | invalid | invalid | invalid | charged | charged | charged | invalid | invalid | invalid | invalid | invalid | overpaid | overpaid | -
failed | not found | invalid | invalid | invalid | charge refused | charge refused | - | invalid | invalid | invalid | invalid | invalid | charge refused | charge refused | -
unclear | not found | invalid | invalid | invalid | charge unclear | charge unclear | - | invalid | invalid | invalid | invalid | invalid | charge unclear | charge unclear | -
deferred | not found | invalid | invalid | invalid | charge deferred | illegal | - | invalid | invalid | invalid | invalid | invalid | charge deferred | illegal | -
missing | not found | invalid | invalid | invalid | charge never arrived | charge never arrived | - | invalid | invalid | invalid | invalid | invalid | charge never arrived | charge never arrived | -
resolved | not found | invalid | invalid | invalid | charged | charged | charged | invalid | invalid | invalid | invalid | invalid | overpaid | overpaid | -
churn | not found | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | churn | - | illegal | illegal | illegal | illegal
notice | not found | illegal | illegal | illegal | illegal | illegal | illegal | notice | illegal | illegal | illegal | illegal | illegal | illegal | illegal
not sent | not found | - | - | - | - | - | - | - | notice failed | - | - | - | - | - | -
acknowledge | not found | conflict | conflict | conflict | conflict | conflict | conflict | conflict | conflict | conflict | conflict | conflict | conflict | conflict | acknowledge`
	want := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(matrix), "\n") {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		want[cells[0]] = cells[1:]
	}
	if len(want) != len(events) || len(situations) != len(order) {
		t.Errorf("the matrix has %d rows for %d events", len(want), len(events))
	}
	for _, e := range events {
		var got []string
		for _, name := range order {
			a := situations[name]
			before := dunning.Account{Tenant: a.Tenant, Invoices: slices.Clone(a.Invoices)}
			c, err := policy.Apply(a, e.ev(a))
			if err != nil && !c.Empty() {
				t.Errorf("%s, %s: a refusal changed something", e.name, name)
			}
			if err == nil {
				if err := dunning.Check(c.New); err != nil {
					t.Errorf("%s, %s: %v", e.name, name, err)
				}
				if err := c.Complete(); err != nil {
					t.Errorf("%s, %s: %v", e.name, name, err)
				}
			}
			if !reflect.DeepEqual(a, before) {
				t.Errorf("%s, %s: the step wrote to what it was given", e.name, name)
			}
			got = append(got, word(c, err))
		}
		if !slices.Equal(got, want[e.name]) {
			t.Errorf("\n%s | %s\nexpected\n%s | %s", e.name, strings.Join(got, " | "), e.name, strings.Join(want[e.name], " | "))
		}
	}
}

func word(c dunning.Change, err error) string {
	for text, sentinel := range map[string]error{"illegal": statemachine.ErrIllegal, "held": statemachine.ErrHeld, "conflict": statemachine.ErrConflict,
		"not found": statemachine.ErrNotFound, "invalid": statemachine.ErrInvalid} {
		if errors.Is(err, sentinel) {
			return text
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case c.Touch():
		return "touch"
	case c.Empty():
		return "-"
	}
	return c.Log[0].Trigger
}
