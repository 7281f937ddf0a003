package dunning_test

import (
	"errors"
	"fmt"
	"reflect"
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
	t     *testing.T
	a     dunning.Account
	p     dunning.Policy
	last  dunning.Change
	jumps bool // between events no step is taken: a clock that jumps
}

func (x *account) do(events ...dunning.Event) *account {
	x.t.Helper()
	for _, ev := range events {
		c, err := x.p.Apply(x.lived(at(ev)).a, ev)
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
	y := *x
	if c, err := x.p.Apply(y.lived(at(ev)).a, ev); !errors.Is(err, want) || !c.Empty() {
		x.t.Errorf("%T: %v, expected %v", ev, err, want)
	}
}

func (x *account) nothing(ev dunning.Event) {
	x.t.Helper()
	y := *x
	if c, err := x.p.Apply(y.lived(at(ev)).a, ev); err != nil || !c.Empty() {
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
	y := *x
	if got := y.lived(after(d)).owes(after(d)); got != want {
		x.t.Errorf("after %v: %q, expected %q", d, got, want)
	}
}

// lived lets time pass up to a moment, with steps that come as late as they may and in
// which nothing is done.
func (x *account) lived(at time.Time) *account {
	x.t.Helper()
	for !x.jumps {
		due, ok := x.a.Tenant.Due()
		due = due.Add(max(x.p.Tick, x.p.Hold))
		if !ok || !due.Before(at) {
			break
		}
		c, err := x.p.Apply(x.a, dunning.StepBegun{By: by(dunning.Biller, due)})
		if err != nil || len(c.Log) > 0 {
			x.t.Fatalf("a tick in time: %v, %v", c.Log, err)
		}
		x.a = c.New
	}
	return x
}

// at is when an event says that it was.
func at(ev dunning.Event) time.Time {
	return reflect.ValueOf(ev).FieldByName("By").Interface().(dunning.By).At
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
	step := x.p.Next(x.lived(after(d)).a, after(d))
	if step.Action == nil || step.Action.Do != dunning.DoNotify {
		x.t.Fatalf("after %v no message is due: %s", d, x.owes(after(d)))
	}
	x.do(dunning.NoticeIntended{By: by(dunning.Biller, after(d)), Notice: step.Action.Key})
	return step.Action.Key
}
