package dunning_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

const (
	hour = time.Hour
	day  = 24 * hour
)

var (
	t0     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy = dunning.DefaultPolicy()
)

func after(d time.Duration) time.Time { return t0.Add(d) }

func by(role dunning.Role, at time.Time) dunning.By {
	return dunning.By{Actor: "somebody", Role: role, At: at}
}

type account struct {
	t    *testing.T
	a    dunning.Account
	p    dunning.Policy
	last dunning.Change
}

func (x *account) do(events ...dunning.Event) *account {
	x.t.Helper()
	for _, ev := range events {
		c, err := x.p.Apply(x.a, ev)
		if err != nil {
			x.t.Fatalf("%T: %v", ev, err)
		}
		if err := dunning.Check(c.New); err != nil {
			x.t.Fatalf("%T: %v", ev, err)
		}
		x.last, x.a = c, c.New
	}
	return x
}

func (x *account) refused(want error, ev dunning.Event) {
	x.t.Helper()
	if c, err := x.p.Apply(x.a, ev); !errors.Is(err, want) || !c.Empty() {
		x.t.Errorf("%T: %v, expected %v", ev, err, want)
	}
}

func (x *account) nothing(ev dunning.Event) {
	x.t.Helper()
	if c, err := x.p.Apply(x.a, ev); err != nil || !c.Empty() {
		x.t.Errorf("%T is no no-op: %v, %v", ev, err, c.Log)
	}
}

// owes is what Next says at a time, in words.
func (x *account) owes(at time.Time) string {
	step := x.p.Next(x.a, at)
	if a := step.Action; a != nil {
		return strings.TrimSpace(fmt.Sprintf("%v %s", a.Do, strings.Join(a.Invoices, " ")))
	}
	if step.Due.IsZero() {
		return "nothing"
	}
	return "wait " + step.Due.Sub(at).String()
}

func (x *account) expect(d time.Duration, want string) {
	x.t.Helper()
	if got := x.owes(after(d)); got != want {
		x.t.Errorf("after %v: %q, expected %q", d, got, want)
	}
}

// open is a tenant with one invoice of t0.
func open(t *testing.T, m dunning.Method) *account {
	t.Helper()
	x := &account{t: t, p: policy}
	return x.do(dunning.Enrolled{By: by(dunning.Host, t0), Tenant: "tenant", Method: m},
		dunning.Issued{By: by(dunning.Host, t0), Invoice: "i1", Amount: 100})
}

func intended(d time.Duration, key string) dunning.ChargeIntended {
	return dunning.ChargeIntended{By: by(dunning.Biller, after(d)), Invoice: key[:2], Key: key}
}

func answered(d time.Duration, key string, o statemachine.Outcome) dunning.ChargeAnswered {
	return dunning.ChargeAnswered{By: by(dunning.Biller, after(d)), Invoice: key[:2], Key: key, Outcome: o, Error: "declined"}
}

// asked is what a look-up says that began at a time and ended at another.
func asked(began, d time.Duration, key string) dunning.ChargeMissing {
	return dunning.ChargeMissing{By: by(dunning.Biller, after(d)), Invoice: key[:2], Key: key, Asked: after(began)}
}

func (x *account) notify(d time.Duration) string {
	x.t.Helper()
	step := x.p.Next(x.a, after(d))
	if step.Action == nil || step.Action.Do != dunning.DoNotify {
		x.t.Fatalf("after %v no message is due: %s", d, x.owes(after(d)))
	}
	x.do(dunning.NoticeIntended{By: by(dunning.Biller, after(d)), Notice: step.Action.Key})
	return step.Action.Key
}
