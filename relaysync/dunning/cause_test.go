package dunning_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// What the tenants of a page wait for, by cause: a person first, then what Next asks for, then what is waited for.
func TestByCause(t *testing.T) {
	const now = 2 * day
	refused := func() dunning.Account {
		return open(t, dunning.Stripe).do(intended(now-hour, "i1/0"), answered(now-hour, "i1/0", statemachine.Failed)).notified(now - hour)
	}
	stopped := open(t, dunning.Stripe).a
	stopped.Level = switches.Begin
	restored := open(t, dunning.Stripe).a
	restored.RecoveredAt = after(now)
	page := []dunning.Account{
		refused(), refused(),
		open(t, dunning.Stripe).a,
		open(t, dunning.Stripe).do(intended(now, "i1/0")).a,
		open(t, dunning.NWC).do(intended(now-hour, "i1/0"), answered(now-hour, "i1/0", statemachine.Unknown)).a,
		open(t, dunning.Manual).notified(now - hour),
		open(t, dunning.Manual).a,
		open(t, dunning.Manual).do(paid(hour, dunning.Manual, "a"), paid(hour, dunning.Manual, "b")).a,
		open(t, dunning.Manual).do(paid(hour, dunning.Manual, "a")).a,
		stopped, restored,
		open(t, dunning.Stripe).do(intended(0, "i1/0"), asked(hour, hour, "i1/0"), intended(hour, "i1/0"), asked(2*hour, 2*hour, "i1/0")).a,
		{},
	}
	want := []string{"[0 1] biller stripe its next charge: declined", "[2] biller none charge", "[3] biller stripe the answer to a charge",
		"[4] biller nwc the answer to a charge", "[5] host manual a payment", "[6] biller none notify", "[7] operator none a person: an overpayment",
		"[9] operator none the switch of charges", "[10] biller none look back", "[11] operator stripe a person: a charge that never arrives"}
	var got []string
	for _, c := range policy.ByCause(page, after(now)) {
		got = append(got, fmt.Sprint(c.Items, " ", c.Cause.Party, " ", c.Cause.Method, " ", strings.TrimSuffix(c.Cause.Reason+": "+c.Cause.Error, ": ")))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// notified is the account after the message that is due.
func (x *account) notified(d time.Duration) dunning.Account {
	x.notify(d)
	return x.a
}
