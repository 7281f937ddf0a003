package storetest

import (
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// counted adds tenants each of which has the earliest time when it is added, or an amount with which a sum overflows: a
// tenant who was churned and is back owes since the reinstatement, and a charge that has failed is not out.
func (r *tenants) counted(t testing.TB, add func(dunning.Account)) {
	make := func(m dunning.Method, amount int64, events func(invoice string) []dunning.Event) {
		id := r.id()
		e := issued(id + "-invoice")
		e.Amount = amount
		add(r.do(t, id, append([]dunning.Event{enrolled(id, m), e}, events(e.Invoice)...)...))
	}
	late := start.Add(10 * 24 * time.Hour)
	make(dunning.Manual, 100, func(string) []dunning.Event {
		return append(ticks(start, late), dunning.Churned{By: dunningBy(dunning.Biller, late)},
			dunning.Reinstated{By: dunningBy(dunning.Host, late)})
	})
	for _, c := range []struct {
		at      time.Time
		outcome statemachine.Outcome // 0: its biller died at the charge
	}{{start, statemachine.Failed}, {start.Add(time.Second), 0}, {start, 0}, {start, statemachine.Unknown}} {
		make(dunning.Stripe, 100, func(invoice string) []dunning.Event {
			by := dunningBy(dunning.Biller, c.at)
			all := []dunning.Event{dunning.ChargeIntended{By: by, Invoice: invoice, Key: invoice + "/0"},
				dunning.ChargeAnswered{By: by, Invoice: invoice, Key: invoice + "/0", Outcome: c.outcome}}
			return all[:map[bool]int{true: 1, false: 2}[c.outcome == 0]]
		})
	}
	make(dunning.Stripe, 100, func(invoice string) (all []dunning.Event) { // never arrives
		for n := range 2 {
			by, key := dunningBy(dunning.Biller, start.Add(time.Duration(n)*time.Hour)), invoice+"/0"
			asked := by.At.Add(time.Hour - time.Second)
			all = append(all, dunning.ChargeIntended{By: by, Invoice: invoice, Key: key}, dunning.ChargeMissing{By: dunningBy(dunning.Biller,
				asked), Invoice: invoice, Key: key, Asked: asked})
		}
		return all
	})
	missedOnce := func(invoice string) []dunning.Event {
		by, asked := dunningBy(dunning.Biller, start), start.Add(time.Hour-time.Second)
		return []dunning.Event{dunning.ChargeIntended{By: by, Invoice: invoice, Key: invoice + "/0"},
			dunning.ChargeMissing{By: dunningBy(dunning.Biller, asked), Invoice: invoice, Key: invoice + "/0", Asked: asked}}
	}
	make(dunning.Stripe, 100, missedOnce)
	make(dunning.Stripe, 100, func(invoice string) []dunning.Event { // it is not made again
		return append(missedOnce(invoice), dunning.MethodSet{By: dunningBy(dunning.Host, start), Method: dunning.Manual})
	})
	make(dunning.Stripe, 100, func(invoice string) []dunning.Event {
		all := append(missedOnce(invoice), dunning.MethodSet{By: dunningBy(dunning.Host, start.Add(time.Hour)), Method: dunning.Manual})
		all = append(all, ticks(start.Add(time.Hour), late)...)
		return append(all, dunning.Churned{By: dunningBy(dunning.Biller, late)},
			dunning.MethodSet{By: dunningBy(dunning.Host, late), Method: dunning.NWC})
	})
	behind := dunning.StepBegun{By: dunningBy(dunning.Biller, start.Add(-10*24*time.Hour))} // its date does not count
	make(dunning.Manual, 100, func(string) []dunning.Event { return []dunning.Event{behind} })
	make(dunning.Manual, 100, func(string) []dunning.Event {
		return append(ticks(start, late), dunning.Churned{By: dunningBy(dunning.Biller, late)},
			dunning.Reinstated{By: dunningBy(dunning.Host, late)}, behind)
	})
	make(dunning.Manual, 100, func(invoice string) []dunning.Event { return []dunning.Event{issued(invoice + "-too")} })
	make(dunning.Manual, 1<<63-1000, func(string) []dunning.Event { return nil })
	make(dunning.Manual, 1000, func(string) []dunning.Event { return nil })
}
