package dunning_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

func TestMessages(t *testing.T) {
	x := open(t, dunning.Manual)
	x.p.Grace = 100 * day
	x.do(dunning.Issued{By: by(dunning.Host, after(12*hour)), Invoice: "i2", Amount: 1},
		dunning.Issued{By: by(dunning.Host, after(12*hour)), Invoice: "i4", Amount: 0})
	x.expect(day, "notify i1")
	x.expect(36*hour, "notify i1 i2") // one message names all that are due then
	x.refused(statemachine.ErrConflict, dunning.NoticeIntended{By: by(dunning.Biller, after(36*hour)), Notice: "n"})
	first := x.notify(36 * hour)
	again := dunning.NoticeIntended{By: by(dunning.Biller, after(36*hour)), Notice: first}
	x.nothing(again)
	x.expect(37*hour, "wait 1h0m0s") // no answer: counts as sent, and blocks nothing
	x.do(dunning.NoticeAnswered{By: by(dunning.Biller, after(37*hour)), Notice: first, Outcome: statemachine.Done})
	x.nothing(dunning.NoticeAnswered{By: by(dunning.Biller, after(37*hour)), Notice: first, Outcome: statemachine.Unknown})
	x.refused(statemachine.ErrIllegal, again) // it would be sent again
	// Spacing is per invoice.
	x.do(dunning.Issued{By: by(dunning.Host, after(10*day)), Invoice: "i3", Amount: 1})
	x.expect(11*day, "notify i3")
	second := x.notify(11 * day)
	if first == second {
		t.Error("two messages have one key")
	}
	x.expect(13*day+12*hour, "notify i1 i2")
	// Failed gives back what it named, and nothing else.
	third := x.notify(13*day + 12*hour)
	failed := func(d time.Duration, key string, o statemachine.Outcome) dunning.NoticeAnswered {
		return dunning.NoticeAnswered{By: by(dunning.Biller, after(d)), Notice: key, Outcome: o}
	}
	x.nothing(failed(13*day+13*hour, first, statemachine.Failed))
	x.do(failed(13*day+13*hour, third, statemachine.Failed))
	x.nothing(failed(13*day+13*hour, third, statemachine.Failed))
	if i := x.a.Invoice("i1"); i.NotifiedAt != after(36*hour) {
		t.Errorf("%+v", i)
	}
	x.expect(13*day+13*hour, "wait 1h0m0s") // the next tick
	x.expect(13*day+14*hour, "notify i1 i2")
	x.notify(13*day + 14*hour)
	x.do(dunning.Paid{By: by(dunning.Host, after(14*day)), Invoice: "i1", Method: dunning.Manual}, dunning.Voided{By: by(dunning.Host, after(14*day)), Invoice: "i2"},
		dunning.Amended{By: by(dunning.Host, after(14*day)), Invoice: "i3", Amount: 0})
	x.expect(99*day, "nothing")
	x.refused(statemachine.ErrIllegal, dunning.NoticeIntended{By: by(dunning.Biller, after(99*day)), Notice: "n"})
}

func TestChurnNeedsNotice(t *testing.T) {
	x := open(t, dunning.Manual)
	x.p.ChurnNeedsNotice = true
	x.expect(9*day, "notify i1")
	answer := func(d time.Duration, o statemachine.Outcome) dunning.NoticeAnswered {
		return dunning.NoticeAnswered{By: by(dunning.Biller, after(d)), Notice: x.a.Tenant.Notice, Outcome: o}
	}
	// The intent is no message yet.
	x.notify(9 * day)
	x.expect(9*day, "wait 5m0s")
	x.refused(statemachine.ErrIllegal, dunning.Churned{By: by(dunning.Biller, after(9*day))})
	x.do(answer(9*day, statemachine.Failed))
	x.expect(9*day, "wait 1h0m0s")
	x.refused(statemachine.ErrIllegal, dunning.Churned{By: by(dunning.Biller, after(9*day))})
	// A message from before a reinstatement is none of the new time.
	x.notify(10 * day)
	x.do(answer(10*day, statemachine.Done), dunning.Churned{By: by(dunning.Biller, after(10*day))}, dunning.Reinstated{By: by(dunning.Host, after(11*day))})
	x.expect(18*day, "wait 1h0m0s")
	x.notify(22 * day) // whoever meant to send it has died
	x.expect(22*day+policy.Hold-time.Second, "wait 1s")
	x.expect(22*day+policy.Hold, "churn")
}

// One effect at a time: while a message is on its way nothing is charged, nobody is
// churned and no other message goes out, until it is answered or its sender has died.
func TestAMessageOnItsWayHoldsBackEverythingElse(t *testing.T) {
	for _, r := range []struct {
		name, next string
		d          time.Duration // when the message is sent
	}{
		{"churn", "churn", 7*day - time.Second}, {"charge", "charge i1", day}, {"message", "notify i2", 36*hour - time.Second},
	} {
		for _, o := range append(statemachine.Outcome(0).Values(), 0) {
			x := open(t, dunning.Manual)
			x.do(dunning.Issued{By: by(dunning.Host, after(12*hour)), Invoice: "i2", Amount: 1})
			key := x.notify(r.d)
			if r.name == "charge" {
				x.do(dunning.MethodSet{By: by(dunning.Host, after(r.d)), Method: dunning.Stripe})
			}
			x.expect(r.d+time.Minute, "wait 4m0s")
			if o == 0 {
				x.expect(r.d+policy.Hold, r.next)
				continue
			}
			x.do(dunning.NoticeAnswered{By: by(dunning.Biller, after(r.d+time.Minute)), Notice: key, Outcome: o})
			if sent := o == statemachine.Done || o == statemachine.Unknown; sent || r.name != "message" { // not for an hour
				x.expect(r.d+time.Minute, r.next)
			}
		}
	}
	// A clock that was ahead holds back nothing.
	x := open(t, dunning.Manual)
	x.p.Grace = 3660 * day
	x.notify(3650 * day)
	x.p.Grace = 7 * day
	x.expect(7*day, "churn")
	x = open(t, dunning.Manual)
	x.p.Grace = 3660 * day
	x.do(dunning.NoticeAnswered{By: by(dunning.Biller, after(3650*day)), Notice: x.notify(3650 * day), Outcome: statemachine.Failed})
	x.expect(2*day, "notify i1")
}

// A message names what its intent stamps: its key is of that very set.
func TestAMessageNamesWhatItStamps(t *testing.T) {
	x := open(t, dunning.Manual)
	x.do(dunning.Issued{By: by(dunning.Host, after(time.Second)), Invoice: "i2", Amount: 1})
	do := x.p.Next(x.a, after(day)).Action
	x.expect(day, "notify i1")
	x.refused(statemachine.ErrConflict, dunning.NoticeIntended{By: by(dunning.Biller, after(day+time.Second)), Notice: do.Key})
	x.do(dunning.NoticeIntended{By: by(dunning.Biller, after(day+time.Second-time.Microsecond)), Notice: do.Key},
		dunning.NoticeAnswered{By: by(dunning.Biller, after(day+time.Second)), Notice: do.Key, Outcome: statemachine.Done})
	x.expect(day+time.Second, "notify i2")
	if i := x.a.Invoice("i2"); !i.NotifiedAt.IsZero() {
		t.Errorf("stamped by a message that does not name it: %+v", i)
	}
	// Of a tenant with the longest id it is answered all the same.
	x = &account{t: t, p: policy}
	x.do(dunning.Enrolled{By: by(dunning.Host, t0), Tenant: strings.Repeat("t", dunning.MaxID), Method: dunning.Manual}, dunning.Issued{By: by(dunning.Host, t0), Invoice: "i1", Amount: 1})
	x.do(dunning.NoticeAnswered{By: by(dunning.Biller, after(day)), Notice: x.notify(day), Outcome: statemachine.Failed})
}
