package relaysynctest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// AccountAdversary draws the next event for a tenant and its invoices. The zero value is ready
// for use, by one test at a time.
type AccountAdversary struct {
	Now    time.Time     // starts at Start; now and then it steps forward or back
	Ahead  time.Duration // by how much the time of the latest event is ahead of a clock that never steps
	sent   []sentAt
	steady bool          // no two events are further apart than a tick of the policy, but for steps of the clock
	ahead  time.Duration // by how much Now is
	wrong  time.Duration // by how much the clock steps back when it is set right
	Prefix string        // of the ids of invoices
	n      int           // invoices made
}

// Next draws an event for a.
func (d *AccountAdversary) Next(t *rapid.T, p dunning.Policy, a dunning.Account) dunning.Event {
	if d.Now.IsZero() {
		d.Now = Start
		d.steady = rapid.Bool().Draw(t, "the biller is there all the time")
	}
	moments := []time.Duration{0, time.Second, 4 * time.Minute, time.Hour, 24 * time.Hour, 7*24*time.Hour - time.Second, 12 * 24 * time.Hour}
	if d.steady { // else the age of what is owed stops in most gaps, and nobody is churned
		moments = []time.Duration{0, min(p.Tick, time.Hour), p.Tick / 2, p.Tick}
	}
	d.Now = d.Now.Add(rapid.SampledFrom(moments).Draw(t, "later"))
	if rapid.IntRange(0, 19).Draw(t, "the clock steps") == 0 { // by the boundaries of the rules, and then it is set right
		d.step(-d.wrong)
		d.wrong = rapid.SampledFrom([]time.Duration{0, p.Hold + p.Linger - time.Second, p.Hold + p.Linger, 8 * time.Minute,
			2*p.Tick + time.Second, 24 * time.Hour, 240 * time.Hour,
			-2*p.Tick - time.Second, -24 * time.Hour, -240 * time.Hour}).Draw(t, "ahead")
		d.step(d.wrong)
	}
	if rapid.IntRange(0, 39).Draw(t, "the clock goes back") == 0 {
		d.step(-time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour)
	}
	if next := p.Next(a, d.Now); next.Action == nil && next.Due.After(d.Now) && rapid.Bool().Draw(t, "exactly") {
		d.Now = next.Due.Add(-time.Duration(rapid.IntRange(0, 1).Draw(t, "just before")) * time.Microsecond)
	}
	if len(d.sent) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		again := rapid.SampledFrom(d.sent).Draw(t, "event again")
		d.Ahead = d.ahead - d.Now.Sub(again.at)
		return again.ev
	}
	ev := d.draw(t, &p, &a)
	d.sent, d.Ahead = append(d.sent, sentAt{ev, d.Now}), d.ahead
	return ev
}

type sentAt struct {
	ev dunning.Event
	at time.Time
}

// step moves the clock alone.
func (d *AccountAdversary) step(by time.Duration) { d.Now, d.ahead = d.Now.Add(by), d.ahead+by }

func (d *AccountAdversary) draw(t *rapid.T, p *dunning.Policy, a *dunning.Account) dunning.Event {
	by := func(role dunning.Role) dunning.By {
		if rapid.IntRange(0, 49).Draw(t, "wrong role") == 0 {
			role = rapid.SampledFrom(append(dunning.Role(0).Values(), 0)).Draw(t, "role")
		}
		return dunning.By{Actor: rapid.SampledFrom([]string{"somebody", "somebody", "another"}).Draw(t, "actor"), Role: role, At: d.Now}
	}
	var i dunning.Invoice
	if len(a.Invoices) > 0 {
		i = rapid.SampledFrom(a.Invoices).Draw(t, "invoice")
	}
	key := i.ChargeKey
	if rapid.IntRange(0, 5).Draw(t, "odd key") == 0 {
		key = fmt.Sprintf("%s/%d", i.ID, i.Attempts-rapid.Int32Range(0, 2).Draw(t, "before"))
	}
	methods := rapid.SampledFrom(dunning.Method(0).Values())
	outcomes := rapid.SampledFrom(statemachine.Outcome(0).Values())
	missing := func(invoice, key string) dunning.Event { // of a look-up that took some time
		since := rapid.SampledFrom([]time.Duration{0, 0, time.Second, 5 * time.Minute, time.Hour, 100 * time.Hour}).Draw(t, "asked before")
		return dunning.ChargeMissing{By: by(dunning.Biller), Invoice: invoice, Key: key, Asked: d.Now.Add(-since)}
	}
	switch k := rapid.IntRange(0, 21).Draw(t, "kind"); {
	case k < 10: // what is owed
		do := p.Next(*a, d.Now).Action
		if do == nil && !a.Tenant.ChurnedAt.IsZero() && rapid.IntRange(0, 3).Draw(t, "wanted back") == 0 {
			return dunning.Reinstated{By: by(dunning.Host)}
		}
		if do == nil {
			return dunning.StepBegun{By: by(dunning.Biller)}
		}
		switch do.Do {
		case dunning.DoCharge:
			return dunning.ChargeIntended{By: by(dunning.Biller), Invoice: do.Invoices[0], Key: do.Key}
		case dunning.DoLookUp:
			if rapid.Bool().Draw(t, "missing") {
				return missing(do.Invoices[0], do.Key)
			}
			return dunning.ChargeAnswered{By: by(dunning.Biller), Invoice: do.Invoices[0], Key: do.Key,
				Outcome: outcomes.Draw(t, "found"), Error: "declined"}
		case dunning.DoChurn:
			return dunning.Churned{By: by(dunning.Biller)}
		case dunning.DoLookBack:
			return dunning.LookedBack{By: by(dunning.Biller), Invoice: do.Invoices[0], Asked: d.Now}
		}
		return dunning.NoticeIntended{By: by(dunning.Biller), Notice: do.Key}
	case k < 13:
		return dunning.ChargeAnswered{By: by(dunning.Biller), Invoice: i.ID, Key: key, Outcome: outcomes.Draw(t, "outcome"), Error: "declined"}
	case k == 13:
		return dunning.NoticeAnswered{By: by(dunning.Biller), Notice: a.Tenant.Notice, Outcome: outcomes.Draw(t, "sent")}
	case k == 14:
		return dunning.MethodSet{By: by(dunning.Host), Method: methods.Draw(t, "method")}
	case k == 15:
		d.n++
		return dunning.Issued{By: by(dunning.Host), Invoice: fmt.Sprint(d.Prefix, "invoice", d.n),
			Amount: rapid.Int64Range(0, 3).Draw(t, "amount")}
	case k == 16:
		return rapid.SampledFrom([]dunning.Event{dunning.Paid{By: by(dunning.Host), Invoice: i.ID, Method: dunning.Manual,
			Payment: rapid.SampledFrom([]string{"", i.ID + " 1", i.ID + " 2"}).Draw(t, "payment")},
			dunning.Paid{By: by(dunning.Host), Invoice: i.ID, Method: dunning.NWC}, dunning.Voided{By: by(dunning.Host), Invoice: i.ID},
			dunning.Amended{By: by(dunning.Host), Invoice: i.ID, Amount: i.Amount - 1}}).Draw(t, "settled")
	case k == 17:
		return dunning.Resolved{By: by(dunning.Operator), Invoice: i.ID, Key: key, Outcome: outcomes.Draw(t, "resolution"), Reason: "seen"}
	case k == 18:
		return missing(i.ID, key)
	case k == 19:
		return dunning.LookedBack{By: by(dunning.Biller), Invoice: i.ID,
			Asked: d.Now.Add(-rapid.SampledFrom([]time.Duration{0, time.Hour, 100 * time.Hour}).Draw(t, "asked before"))}
	case k == 20:
		return rapid.SampledFrom([]dunning.Event{dunning.Reinstated{By: by(dunning.Host)}, dunning.Provisioned{By: by(dunning.Host)},
			dunning.Acknowledged{By: by(dunning.Operator), Invoice: i.ID, Key: rapid.SampledFrom(append(i.Overpayments(), key)).Draw(t, "overpaid"),
				Reason: "paid back"}}).Draw(t, "late")
	}
	return dunning.Churned{By: by(dunning.Biller)}
}

// AccountHistory checks the answers that one tenant gives, in order. Set Policy, and before each
// answer Ahead; leave the other fields alone.
type AccountHistory struct {
	Policy dunning.Policy
	Ahead  time.Duration // by how much the clock of the event is ahead of a right one

	last dunning.Account
	logs map[string][]statemachine.Transition[string] // by machine and id
	// How often a payment became an overpayment, by key: once for what it is more than is
	// owed, while it is the one that paid, and once for all of it, when another one paid.
	paid map[string]int
	sent map[string]time.Time // the last message that named an invoice

	charges map[string]terms // by key
	found   map[string]bool  // invoices of which nothing was forgotten by a restored database

	out   map[string]int             // how often a charge may have been made that nobody has answered, by key
	money map[string]map[string]bool // the payments of an invoice, each once, by method and key: true for one that was paid back

	clocks clocks
}

// terms are what one charge is of.
type terms struct {
	method dunning.Method
	amount int64
}

// Add checks one answer to an event: a change, or a refusal with the change that was returned
// beside it.
func (h *AccountHistory) Add(ev dunning.Event, c dunning.Change, refusal error) error {
	if h.logs == nil {
		h.logs, h.paid, h.sent = map[string][]statemachine.Transition[string]{}, map[string]int{}, map[string]time.Time{}
		h.charges, h.found = map[string]terms{}, map[string]bool{}
		h.out, h.money = map[string]int{}, map[string]map[string]bool{}
		h.clocks.owed = map[string]time.Time{}
	}
	if refusal != nil {
		if e, ok := ev.(dunning.Paid); ok && errors.Is(refusal, statemachine.ErrIllegal) && h.last.Invoice(e.Invoice) != nil {
			return fmt.Errorf("money came, and is not filed: %w", refusal)
		}
		if e, ok := ev.(dunning.Amended); ok && errors.Is(refusal, statemachine.ErrHeld) && h.stuck(e.Invoice, e.At) {
			return fmt.Errorf("nobody is named, and nothing is due that ends it: %w", refusal)
		}
		if !c.Empty() {
			return fmt.Errorf("a refusal changed something: %w", refusal)
		}
		return nil
	}
	if !slices.Equal(c.Old.Invoices, h.last.Invoices) || c.Old.Tenant != h.last.Tenant {
		return fmt.Errorf("the change does not begin where the last one ended")
	}
	h.last = c.New
	if err := dunning.Check(c.New); err != nil {
		return err
	}
	for _, l := range c.Log {
		h.logs[l.Machine+"/"+l.ID] = append(h.logs[l.Machine+"/"+l.ID], l)
	}
	t := &c.New.Tenant
	if log := h.logs[dunning.TenantMachine.Name()+"/"+t.ID]; t.Version > 0 {
		if s, err := statemachine.Replay(dunning.TenantMachine, log); err != nil || s != t.Status() || len(log) != int(t.Version) {
			return fmt.Errorf("the log of the tenant ends in %v at %d: %v", s, len(log), err)
		}
	}
	for k := range c.New.Invoices {
		i := &c.New.Invoices[k]
		log := h.logs[dunning.InvoiceMachine.Name()+"/"+i.ID]
		if s, err := statemachine.Replay(dunning.InvoiceMachine, log); err != nil || s != i.Status() || len(log) != int(i.Version) {
			return fmt.Errorf("the log of invoice %s ends in %v at %d: %v", i.ID, s, len(log), err)
		}
		if err := h.invoice(&c, c.Old.Invoice(i.ID), i); err != nil {
			return fmt.Errorf("invoice %s: %w", i.ID, err)
		}
	}
	if err := h.proof(ev, &c); err != nil {
		return err
	}
	if err := h.sendings(ev, &c); err != nil {
		return err
	}
	if err := h.payments(ev, &c); err != nil {
		return err
	}
	if e, ok := ev.(dunning.LookedBack); ok && !e.Asked.After(e.At) && e.Asked.Sub(h.Policy.RecoveredAt) >= h.Policy.Hold+h.Policy.Linger {
		h.found[e.Invoice] = true
	}
	if err := h.licence(ev, &c); err != nil {
		return err
	}
	if err := h.clocks.add(&h.Policy, h.Ahead, &c); err != nil {
		return err
	}
	if c.Churned() {
		if out := slices.ContainsFunc(c.New.Invoices, func(i dunning.Invoice) bool { return i.Charge != dunning.ChargeNone }); out {
			return fmt.Errorf("churned while a charge may be out")
		}
	}
	return nil
}

// stuck reports that a charge which holds up an invoice is neither looked up nor made again, and
// that no person is named.
func (h *AccountHistory) stuck(invoice string, now time.Time) bool {
	i, t := h.last.Invoice(invoice), &h.last.Tenant
	again := t.Method != dunning.Manual && t.Status() == dunning.TenantActive
	return i.Charge == dunning.ChargeNone && !again && !t.NeedsOperator(i, now)
}

// proof checks that a charge is taken for not arrived, or for failed, only by a look-up from
// after the time when nobody sends it any more and the last request has arrived. The only
// exception is an intent from a clock that was more than a day, or a tick of the policy, ahead. An
// operator's word of what is owed has no exception, and waits for two ticks more, also behind a
// look-up.
func (h *AccountHistory) proof(ev dunning.Event, c *dunning.Change) error {
	var asked, now time.Time
	var id string
	switch e := ev.(type) {
	case dunning.ChargeMissing:
		asked, now, id = e.Asked, e.At, e.Invoice
	case dunning.Resolved:
		was := c.Old.Invoice(e.Invoice)
		if was == nil || e.Outcome != statemachine.Failed || was.Attempts == c.New.Invoice(e.Invoice).Attempts {
			return nil
		}
		asked, now, id = e.At, e.At, e.Invoice
		said := was.ChargeAt.Add(h.Policy.Hold + h.Policy.Linger + 2*max(h.Policy.Tick, h.Policy.Hold))
		if was.Owed() && (was.Charge != dunning.ChargeNone || was.Missed > 0) && e.At.Before(said) {
			return fmt.Errorf("somebody says at %v what became of a charge of %v", e.At, was.ChargeAt)
		}
	}
	was := c.Old.Invoice(id)
	if was == nil || was.Charge == dunning.ChargeNone || c.New.Invoice(id).Charge != dunning.ChargeNone {
		return nil
	}
	arrived := was.ChargeAt.Add(h.Policy.Hold + h.Policy.Linger)
	if asked.Before(arrived) && arrived.Sub(now) <= max(24*time.Hour, h.Policy.Tick) {
		return fmt.Errorf("a look-up of %v says what became of a charge that may arrive up to %v", asked, arrived)
	}
	return nil
}

// licence checks every answer that permits the effect of a stored intent, also to a speaker that asks
// again: the charge or the message must still be owed at that moment.
func (h *AccountHistory) licence(ev dunning.Event, c *dunning.Change) error {
	for _, i := range c.Old.Invoices {
		if i.Owed() && i.CreatedAt.Before(h.Policy.RecoveredAt) && !h.found[i.ID] &&
			(c.Churned() || charged(c, i.ID) || c.New.Tenant.Notice != c.Old.Tenant.Notice && c.New.Tenant.Notice != "") {
			return fmt.Errorf("%T: what was paid of %s may be forgotten", ev, i.ID)
		}
	}
	for k := range c.New.Invoices {
		i, begun, at := &c.New.Invoices[k], time.Time{}, time.Time{}
		switch e := ev.(type) {
		case dunning.ChargeIntended:
			if e.Invoice == i.ID {
				begun, at = i.ChargeAt, e.At
			}
		case dunning.NoticeIntended:
			if e.Notice == i.Notice {
				begun, at = i.NotifiedAt, e.At
			}
		}
		if !begun.IsZero() && (!i.Owed() || c.New.Tenant.Status() != dunning.TenantActive || at.Sub(begun) > h.Policy.Hold+time.Second) {
			return fmt.Errorf("%T at %v for %s, which is over", ev, at, i.ID)
		}
	}
	return nil
}

// charged reports whether a step stores the intent of a charge of an invoice.
func charged(c *dunning.Change, invoice string) bool {
	return slices.ContainsFunc(c.Log, func(t statemachine.Transition[string]) bool {
		return t.Machine == dunning.InvoiceMachine.Name() && t.ID == invoice && t.Trigger == "charge"
	})
}

// invoice: what one step may do to an invoice.
func (h *AccountHistory) invoice(c *dunning.Change, old, i *dunning.Invoice) error {
	if old == nil {
		return nil
	}
	at := c.Log
	switch {
	case old.Charge != dunning.ChargeNone && charged(c, i.ID):
		return fmt.Errorf("charged while a charge may be out")
	case old.ChargeAt != i.ChargeAt && !charged(c, i.ID) &&
		(i.ChargeAt != at[0].At || old.ChargeAt.Sub(at[0].At) <= 2*max(h.Policy.Tick, h.Policy.Hold)): // of a clock that was ahead
		return fmt.Errorf("the intent of %v is dated %v at %v", old.ChargeAt, i.ChargeAt, at[0].At)
	case i.Charge == dunning.ChargeOpen && old.Charge != dunning.ChargeOpen && (c.Old.Tenant.Status() != dunning.TenantActive || !old.Owed()):
		return fmt.Errorf("charged after the end")
	case i.NotifiedAt.After(old.NotifiedAt) && i.Notice != old.Notice:
		if c.Old.Tenant.Status() != dunning.TenantActive || !old.Owed() {
			return fmt.Errorf("a message after the end")
		}
		if before, ok := h.sent[i.ID]; ok && old.Notice != "" && i.NotifiedAt.Unix()-before.Unix() < int64(h.Policy.NoticeEvery/time.Second) {
			return fmt.Errorf("two messages within %v", i.NotifiedAt.Sub(before))
		}
		h.sent[i.ID] = i.NotifiedAt
	case i.NotifiedAt.Before(old.NotifiedAt) && i.Notice == old.Notice: // of a clock that was ahead
		if len(at) > 0 && old.NotifiedAt.Sub(at[0].At) <= 2*h.Policy.Tick {
			return fmt.Errorf("a message of %v is dated %v at %v", old.NotifiedAt, i.NotifiedAt, at[0].At)
		}
		h.sent[i.ID] = i.NotifiedAt
	case old.PaidAt != i.PaidAt && !old.PaidAt.IsZero():
		return fmt.Errorf("paid twice")
	}
	if was, is := h.charges[i.ChargeKey], (terms{i.ChargeMethod, i.ChargeAmount}); i.ChargeKey != "" && was != is {
		if was != (terms{}) {
			return fmt.Errorf("%s is the key of %v and of %v", i.ChargeKey, was, is)
		}
		h.charges[i.ChargeKey] = is
	}
	for _, key := range i.Overpayments() {
		if slices.Contains(old.Overpayments(), key) {
			continue
		}
		if !i.PaidAt.IsZero() && key == cmp.Or(i.PaidKey, i.Method.String()) {
			h.paid[i.ID+" "+key+", of which a part is over"]++
		} else {
			h.paid[i.ID+" "+key]++
		}
	}
	for key, n := range h.paid {
		if n > 1 && len(at) > 0 {
			return fmt.Errorf("payment %s is filed twice", key)
		}
	}
	return nil
}

// ApplyAccount is what is tested: [dunning.Policy.Apply], or a service.
type ApplyAccount func(ev dunning.Event, a dunning.Account) (dunning.Change, error)

// RunAccount sends n events to a new tenant and checks every answer.
func RunAccount(t *rapid.T, n int, p dunning.Policy, apply ApplyAccount) {
	h := AccountHistory{Policy: p}
	var d AccountAdversary
	var a dunning.Account
	for i := range n {
		var ev dunning.Event = dunning.Enrolled{By: dunning.By{Actor: "host", Role: dunning.Host, At: Start},
			Tenant: "tenant_" + IDs().Draw(t, "tenant"),
			Method: rapid.SampledFrom(dunning.Method(0).Values()).Draw(t, "method")}
		if i > 0 {
			ev = d.Next(t, p, a)
			h.Ahead = d.Ahead
		}
		for _, what := range []string{"", " again"} {
			c, err := apply(ev, a)
			if what != "" && err == nil && len(c.Log) > 0 && !moves(ev) {
				t.Fatalf("step %d, %T is taken twice: %v", i, ev, c.Log)
			}
			if err := h.Add(ev, c, err); err != nil {
				t.Fatalf("step %d, %T%s %+v: %v", i, ev, what, ev, err)
			}
			a = c.New
		}
	}
}

// moves reports whether the same event twice may change something twice: a repeated look-up
// without a result puts the next one off again, and each provisioned relay is another one.
func moves(ev dunning.Event) bool {
	if _, ok := ev.(dunning.Provisioned); ok {
		return true
	}
	e, ok := ev.(dunning.ChargeAnswered)
	return ok && e.Outcome == statemachine.Unknown
}
