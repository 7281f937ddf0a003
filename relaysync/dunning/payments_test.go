package dunning_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

func paid(d time.Duration, m dunning.Method, payment string) dunning.Paid {
	return dunning.Paid{By: by(dunning.Host, after(d)), Invoice: "i1", Method: m, Payment: payment}
}

// expectPaid compares who paid, and what awaits a person.
func (x *account) expectPaid(payer string, m dunning.Method, over ...string) {
	x.t.Helper()
	i, s := x.a.Invoices[0], x.stats()
	if i.PaidKey != payer || i.Method != m || !slices.Equal(i.Overpayments(), over) || (s.Overpaid > 0) != (len(over) > 0) ||
		x.a.Tenant.NeedsOperator(&i, after(1000*day)) != (len(over) > 0) {
		x.t.Errorf("paid by %v %q, overpaid by %q, expected %v %q and %q", i.Method, i.PaidKey, i.Overpayments(), m, payer, over)
	}
}

func (x *account) stats() dunning.Stats {
	s := dunning.Stats{At: x.a.Tenant.CreatedAt, Tenants: map[dunning.TenantStatus]int64{}}
	s.Add(&x.a)
	return s
}

// Two payments of one invoice, in both orders: what the host saw has paid, a charge is
// to be paid back.
func TestTwoPaymentsOfOneInvoice(t *testing.T) {
	charged := func(x *account) { x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Done)) }
	wire := func(id string) func(*account) {
		return func(x *account) {
			x.do(paid(hour, dunning.Manual, id))
			x.nothing(paid(2*hour, dunning.Manual, id))
		}
	}
	done := func(x *account) { x.do(answered(2*hour, "i1/0", statemachine.Done)) }
	for _, r := range []struct {
		name   string
		method dunning.Method
		steps  []func(*account)
		payer  string
		over   []string
	}{
		{"a charge", dunning.Stripe, []func(*account){charged}, "i1/0", nil},
		{"a charge, then a wire", dunning.Stripe, []func(*account){charged, wire("w1")}, "w1", []string{"i1/0"}},
		{"a charge, then a wire without an id", dunning.Stripe, []func(*account){charged, wire("")}, "", []string{"i1/0"}},
		{"a wire while a charge is out", dunning.Stripe, []func(*account){func(x *account) { x.do(intended(0, "i1/0")) }, wire("w1"),
			done}, "w1", []string{"i1/0"}},
		{"two wires", dunning.Manual, []func(*account){wire("w1"), wire("w2")}, "w1", []string{"manual:w2"}},
		{"two wires, the other way round", dunning.Manual, []func(*account){wire("w2"), wire("w1")}, "w1", []string{"manual:w2"}},
		{"one of them without an id", dunning.Manual, []func(*account){wire("w1"), wire("")}, "", []string{"manual:w1"}},
		{"one of them without an id, the other way round", dunning.Manual, []func(*account){wire(""), wire("w1")}, "", []string{"manual:w1"}},
		{"an id with a space, a percent sign and a line break", dunning.Manual, []func(*account){wire("w 1%20\n"), wire("a")}, "a",
			[]string{"manual:w 1%20\n"}},
	} {
		x := open(t, r.method)
		for _, step := range r.steps {
			step(x)
		}
		m := dunning.Manual
		if r.over == nil {
			m = dunning.Stripe
		}
		t.Log(r.name)
		x.expectPaid(r.payer, m, r.over...)
		for _, key := range r.over {
			x.do(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: key, Reason: "paid back"})
			x.nothing(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: key, Reason: "paid back"})
		}
		x.expectPaid(r.payer, m)
	}
	x := open(t, dunning.Manual).do(paid(0, dunning.Manual, ""), paid(0, dunning.NWC, "")) // two methods are two payments
	x.expectPaid("", dunning.Manual, "nwc")
}

func TestAWireForAVoidInvoice(t *testing.T) {
	x := open(t, dunning.Manual).do(dunning.Voided{By: by(dunning.Host, t0), Invoice: "i1"}, paid(hour, dunning.Manual, "w1"))
	x.nothing(paid(hour, dunning.Manual, "w1"))
	x.expectPaid("", 0, "manual:w1")
	if x.a.Invoices[0].Status() != dunning.InvoiceVoid {
		t.Error("it is not void any more")
	}
	x.do(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: "manual:w1", Reason: "paid back"})
	x.nothing(paid(2*day, dunning.Manual, "w1"))
}

func TestTheIDOfAPayment(t *testing.T) {
	x := open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Unknown))
	y := *x // the key of a charge that is on file is its answer
	y.do(paid(hour, dunning.Manual, "i1/0")).nothing(answered(hour, "i1/0", statemachine.Done))
	y.expectPaid("i1/0", dunning.Stripe)
	for _, bad := range []string{"a\x00", "\xff", strings.Repeat("x", 2000) + "\x00"} {
		x.refused(statemachine.ErrInvalid, paid(hour, dunning.Manual, bad))
	}
	for _, id := range []string{"", "p1", strings.Repeat("x", dunning.MaxID), "i1", "i1/x", "manual", "nwc", "nwc:1"} {
		x := open(t, dunning.Manual).do(paid(hour, dunning.Manual, id))
		x.nothing(paid(hour, dunning.Manual, id))
		x.expectPaid(id, dunning.Manual)
	}
}

// One id by two methods is two payments: both are on file, in both orders, and an operator names one of them.
func TestOneIDOfTwoMethods(t *testing.T) {
	for _, order := range [][]dunning.Method{{dunning.Manual, dunning.Stripe}, {dunning.Stripe, dunning.Manual}} {
		x := open(t, dunning.Manual).do(paid(hour, order[0], "77"), paid(2*hour, order[1], "77"))
		x.nothing(paid(3*hour, order[0], "77"))
		x.nothing(paid(3*hour, order[1], "77"))
		x.expectPaid("77", dunning.Manual, "stripe:77")
		x.refused(statemachine.ErrConflict, dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: "77", Reason: "paid back"})
		x.do(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: "stripe:77", Reason: "paid back"})
		x.expectPaid("77", dunning.Manual)
	}
}

// Of a long id, such as a whole Lightning invoice, the hash is kept: the same payment is known by it, and another of the
// same length is another payment.
func TestALongIDOfAPayment(t *testing.T) {
	long := "lnbc" + strings.Repeat("x", 1996)
	other := long[:len(long)-1] + "y"
	x := open(t, dunning.NWC).do(paid(hour, dunning.NWC, long))
	x.nothing(paid(2*hour, dunning.NWC, long))
	kept := x.a.Invoices[0].PaidKey
	if !strings.HasPrefix(kept, "sha256:") || len(kept) > dunning.MaxID {
		t.Errorf("%q is kept", kept)
	}
	x.do(paid(2*hour, dunning.NWC, other))
	if over := x.a.Invoices[0].Overpayments(); len(over) != 1 || !strings.HasPrefix(over[0], "nwc:sha256:") {
		t.Errorf("%q", over)
	}
	x.nothing(paid(2*hour, dunning.NWC, other))
	x.nothing(paid(2*hour, dunning.NWC, kept))
}

// A charge that a restored database has forgotten is filed by the key under which the provider has it, and nothing is
// charged after it.
func TestAForgottenChargeIsPaidByItsKey(t *testing.T) {
	for _, key := range []string{"i1/0", "i1/3"} {
		x := open(t, dunning.Stripe)
		x.refused(statemachine.ErrInvalid, answered(hour, key, statemachine.Done))
		x.do(paid(hour, dunning.Stripe, key))
		x.nothing(paid(2*hour, dunning.Stripe, key))
		x.expectPaid(key, dunning.Stripe)
		x.expect(30*day, "nothing")
	}
}

// What is kept is bounded. What does not fit is refused, so that nothing is lost without a
// word, and nothing is filed twice; an acknowledgement makes no room.
func TestMorePaymentsThanAreKept(t *testing.T) {
	for name, id := range map[string]func(n int) string{
		"in order":          func(n int) string { return fmt.Sprintf("%03d", n) },
		"against the order": func(n int) string { return fmt.Sprintf("%03d", 500-n) }, // each has paid, until the next one comes
	} {
		for _, repaid := range []int{0, 1, dunning.MaxOverpaid} {
			x := open(t, dunning.Manual)
			for n := range dunning.MaxOverpaid + 1 {
				x.do(paid(hour, dunning.Manual, id(n)))
			}
			for _, key := range x.a.Invoices[0].Overpayments()[:repaid] {
				x.do(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: key, Reason: "paid back"})
			}
			before := x.a
			for n := range dunning.MaxOverpaid + 1 {
				x.nothing(paid(hour, dunning.Manual, id(n)))
			}
			for range 2 {
				x.refused(statemachine.ErrInvalid, paid(2*hour, dunning.Manual, id(dunning.MaxOverpaid+1)))
			}
			if i := x.a.Invoices[0]; !slices.Equal(before.Invoices, x.a.Invoices) || len(i.Overpayments()) != dunning.MaxOverpaid-repaid ||
				len(strings.Fields(string(i.Repaid))) != repaid {
				t.Errorf("%s, %d acknowledged: %+v", name, repaid, i)
			}
		}
	}
	// The charge that is refused so is still out, of which a person is told.
	x := open(t, dunning.Stripe).do(intended(0, "i1/0"))
	for n := range dunning.MaxOverpaid + 1 {
		x.do(paid(hour, dunning.Manual, fmt.Sprint("w", n)))
	}
	x.refused(statemachine.ErrInvalid, answered(2*hour, "i1/0", statemachine.Done))
	if i := &x.a.Invoices[0]; i.Charge != dunning.ChargeOpen || !x.a.Tenant.NeedsOperator(i, after(2*hour)) {
		t.Errorf("%+v", i)
	}
}

// Money that comes for an invoice of nothing has paid it, and is paid back.
func TestPaidThoughNothingIsOwed(t *testing.T) {
	amended := dunning.Amended{By: by(dunning.Host, after(0)), Invoice: "i1"}
	x := open(t, dunning.Manual).do(amended, paid(hour, dunning.Manual, "w1"))
	x.nothing(paid(hour, dunning.Manual, "w1"))
	x.expectPaid("w1", dunning.Manual, "manual:w1")
	x.do(paid(2*hour, dunning.Manual, "w0")).expectPaid("w0", dunning.Manual, "manual:w0", "manual:w1")
	for _, key := range []string{"manual:w0", "manual:w1"} {
		x.do(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: key, Reason: "paid back"})
	}
	x.nothing(paid(2*day, dunning.Manual, "w0"))
	x.expectPaid("w0", dunning.Manual)
	x = open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Failed), amended,
		answered(hour, "i1/0", statemachine.Done)) // of what was declared failed
	x.expectPaid("i1/0", dunning.Stripe, "i1/0")
}

// What an operator saw to while a payment counted as the one that paid is asked again once
// another payment is: an operator who said that it was just what was owed, or who gave the
// difference back, has not given back the rest.
func TestSeenToAndThenPaidByAnother(t *testing.T) {
	seenTo := func(at time.Duration) dunning.Event {
		return dunning.Acknowledged{By: by(dunning.Operator, after(at)), Invoice: "i1", Key: "i1/0", Reason: "seen to"}
	}
	failed := func() *account {
		return open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Failed))
	}
	for name, x := range map[string]*account{
		"it was just what was owed, and the next charge pays too": failed().do(intended(day, "i1/1"), answered(day, "i1/0", statemachine.Done),
			seenTo(day), answered(2*day, "i1/1", statemachine.Done)),
		"the difference was given back, and a wire comes": failed().do(dunning.Amended{By: by(dunning.Host, after(hour)), Invoice: "i1", Amount: 60},
			answered(2*hour, "i1/0", statemachine.Done), seenTo(day), paid(2*day, dunning.Manual, "w1")),
	} {
		if i := &x.a.Invoices[0]; len(i.Overpayments()) != 1 || i.Overpayments()[0] != "i1/0" || i.OverpaidAt.IsZero() || x.stats().Overpaid != 1 {
			t.Errorf("%s: %+v", name, i)
		}
		x.do(seenTo(3 * day))
		x.nothing(answered(4*day, "i1/0", statemachine.Done))
		if i := &x.a.Invoices[0]; len(i.Overpayments()) != 0 {
			t.Errorf("%s, and seen to: %+v", name, i)
		}
	}
}

// facts are what is known of money and of what is owed, without the times at which it
// became known and the counters of charges of what is settled.
func facts(a dunning.Account) string {
	var all []string
	for _, i := range a.Invoices {
		key := ""
		if i.Status() == dunning.InvoiceOpen {
			key = fmt.Sprint(i.Key(), i.ChargeAfter.IsZero())
		}
		all = append(all, fmt.Sprint(i.ID, i.Amount, i.Status(), i.Method, i.PaidKey, i.PaymentError, i.Charge, key, i.Overpaid, i.Repaid,
			i.OverpaidAt.IsZero(), i.PaidAt.IsZero()))
	}
	t := a.Tenant
	return fmt.Sprint(t.Status(), t.Method, t.PaymentError, policy.Next(a, after(20*day)).Action, all)
}

// payments are those of which a record says that they came, in whatever part.
func payments(i *dunning.Invoice) []string {
	all := strings.Fields(string(i.Overpaid) + " " + string(i.Repaid))
	if !i.PaidAt.IsZero() {
		all = append(all, i.Method.String()+":"+i.PaidKey)
		if strings.HasPrefix(i.PaidKey, "i1/") {
			all[len(all)-1] = strings.TrimPrefix(i.PaidKey, "i1/")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Every pair of events that bring money or a state, in both orders, in each situation:
// what is known in the end is the same. A decision about what is owed is refused once
// it is paid, and whoever made it is told; the money is on file in both orders.
func TestBothOrdersOfEveryPair(t *testing.T) {
	const now = 3 * day
	host, biller, operator := by(dunning.Host, after(now)), by(dunning.Biller, after(now)), by(dunning.Operator, after(now))
	events := map[string]dunning.Event{
		"wire": paid(now, dunning.Manual, "w1"), "another wire": paid(now, dunning.Manual, "w2"), "by hand": paid(now, dunning.Manual,
			""), "by nwc": paid(now, dunning.NWC, ""),
		"done 0": answered(now, "i1/0", statemachine.Done), "done 1": answered(now, "i1/1", statemachine.Done), "done 2": answered(now,
			"i1/2", statemachine.Done),
		"failed 0": answered(now, "i1/0", statemachine.Failed), "failed 2": answered(now, "i1/2", statemachine.Failed),
		"missing 0": asked(now, now, "i1/0"), "missing 2": asked(now, now, "i1/2"), "unknown 2": answered(now, "i1/2",
			statemachine.Unknown), "deferred 2": answered(now, "i1/2", statemachine.Deferred),
		"resolved done":   dunning.Resolved{By: operator, Invoice: "i1", Key: "i1/2", Outcome: statemachine.Done, Reason: "seen"},
		"resolved failed": dunning.Resolved{By: operator, Invoice: "i1", Key: "i1/2", Outcome: statemachine.Failed, Reason: "declined"},
		"void":            dunning.Voided{By: host, Invoice: "i1"}, "amend": dunning.Amended{By: host, Invoice: "i1", Amount: 40},
		"method":         dunning.MethodSet{By: host, Method: dunning.NWC},
		"acknowledge 0":  dunning.Acknowledged{By: operator, Invoice: "i1", Key: "i1/0", Reason: "paid back"},
		"acknowledge w2": dunning.Acknowledged{By: operator, Invoice: "i1", Key: "manual:w2", Reason: "paid back"},
		"churn":          dunning.Churned{By: biller}, "reinstate": dunning.Reinstated{By: host}, "issue": dunning.Issued{By: host, Invoice: "i9",
			Amount: 1}, "provision": dunning.Provisioned{By: host}, "tick": dunning.StepBegun{By: biller},
	}
	// Decisions that what is known may forbid: the order of two of these, or of one and
	// money, is the order in which they were decided.
	decisions := map[string]bool{"void": true, "amend": true, "acknowledge 0": true, "acknowledge w2": true, "churn": true,
		"reinstate": true, "method": false}
	// That a charge was not tried, or its answer is missing, is no fact about money: after a
	// look-up that found nothing it asks for another one.
	noFact := map[string]bool{"unknown 2": true, "deferred 2": true}
	charged := func(n int) []dunning.Event { // two that failed, the third is out
		var all []dunning.Event
		for k := range n {
			key := fmt.Sprint("i1/", k)
			all = append(all, intended(time.Duration(k)*day, key), answered(time.Duration(k)*day, key, statemachine.Failed))
		}
		return all
	}
	third := append(charged(2), intended(2*day, "i1/2"))
	situations := map[string]func() *account{
		"nothing": func() *account { return open(t, dunning.Stripe) },
		"out":     func() *account { return open(t, dunning.Stripe).do(third...) },
		"unknown": func() *account {
			return open(t, dunning.Stripe).do(third...).do(answered(2*day, "i1/2", statemachine.Unknown))
		},
		"never arrived": func() *account { return open(t, dunning.Stripe).do(third...).do(asked(2*day+hour, 2*day+hour, "i1/2")) },
		"twice": func() *account {
			return open(t, dunning.Stripe).do(third...).do(asked(2*day+hour, 2*day+hour, "i1/2"), intended(2*day+hour, "i1/2"))
		},
		"refused":   func() *account { return open(t, dunning.Stripe).do(charged(3)...) },
		"paid, out": func() *account { return open(t, dunning.Stripe).do(third...).do(paid(2*day, dunning.Manual, "w2")) },
		"overpaid": func() *account {
			return open(t, dunning.Stripe).do(third...).do(paid(2*day, dunning.Manual, "w2"), answered(2*day, "i1/0", statemachine.Done))
		},
		"void, out": func() *account {
			return open(t, dunning.Stripe).do(third...).do(dunning.Voided{By: by(dunning.Host, after(2*day)), Invoice: "i1"})
		},
		"void, wired": func() *account {
			return open(t, dunning.Stripe).do(third...).do(dunning.Voided{By: by(dunning.Host, after(2*day)), Invoice: "i1"}, paid(2*day,
				dunning.Manual, "w2"))
		},
		"by hand": func() *account { return open(t, dunning.Manual) },
		"churned": func() *account {
			return open(t, dunning.Stripe).do(charged(1)...).do(dunning.MethodSet{By: by(dunning.Host, after(day)), Method: dunning.Manual},
				dunning.Churned{By: by(dunning.Biller, after(7*day))})
		},
	}
	pairs := 0
	for where, situation := range situations {
		for first, a := range events {
			for second, b := range events {
				if first >= second {
					continue
				}
				pairs++
				one, oneErrs := both(situation().lived(after(now)), a, b)
				two, twoErrs := both(situation().lived(after(now)), b, a)
				name := fmt.Sprintf("%s: %s, %s", where, first, second)
				if x, y := payments(&one.Invoices[0]), payments(&two.Invoices[0]); !slices.Equal(x, y) {
					t.Errorf("%s: %q were paid, or %q", name, x, y)
				}
				told := (oneErrs[0] != nil || oneErrs[1] != nil) != (twoErrs[0] != nil || twoErrs[1] != nil) || oneErrs[1] != nil && twoErrs[1] != nil
				switch {
				case facts(one) == facts(two):
				case noFact[first] || noFact[second]:
				case (decisions[first] || decisions[second]) && told:
				default:
					t.Errorf("%s:\n%s\n%s\n%v, %v", name, facts(one), facts(two), oneErrs, twoErrs)
				}
			}
		}
	}
	if pairs != len(situations)*len(events)*(len(events)-1)/2 {
		t.Errorf("%d pairs", pairs)
	}
}

// both sends two events, and says what was refused.
func both(x *account, a, b dunning.Event) (dunning.Account, [2]error) {
	var errs [2]error
	for k, ev := range []dunning.Event{a, b} {
		c, err := x.p.Apply(x.a, ev)
		errs[k], x.a = err, c.New
		if err := dunning.Check(x.a); err != nil {
			x.t.Errorf("%T: %v", ev, err)
		}
	}
	return x.a, errs
}

// Up to seven payments in random orders end in one record.
func TestPaymentsInAnyOrder(t *testing.T) {
	all := []dunning.Event{paid(day, dunning.Manual, "b"), paid(day, dunning.Manual, "a"), paid(day, dunning.NWC, "c"), paid(day,
		dunning.Manual, ""),
		answered(day, "i1/0", statemachine.Done), answered(day, "i1/1", statemachine.Done), answered(day, "i1/2", statemachine.Done)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		events := slices.Clone(all)
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		events = events[:1+random.IntN(len(events))]
		var want string
		for range 6 {
			random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			x := open(t, dunning.Stripe)
			for n := range 2 {
				key := fmt.Sprint("i1/", n)
				x.do(intended(time.Duration(n)*day, key), answered(time.Duration(n)*day, key, statemachine.Failed))
			}
			x.do(intended(2*day, "i1/2")).do(events...).do(events...)
			if got := facts(x.a); want == "" {
				want = got
			} else if got != want {
				t.Fatalf("%v:\n%s\n%s", events, got, want)
			}
		}
	}
}
