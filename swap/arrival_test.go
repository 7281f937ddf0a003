package swap_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Money that came in is stored, whatever its sender wrote, and is paid out, back or
// aside: an unreadable sender gets no refund, and a credit without an owner no mapping.
func TestWhateverASenderWroteIsStored(t *testing.T) {
	texts := []string{"", "al ice", "a\tb", "a\x00b", "\xff", strings.Repeat("x", swap.MaxAddress+1), strings.Repeat("x", swap.MaxAddress)}
	for _, from := range texts {
		legible := len(from) == swap.MaxAddress
		o := observedDeposit("sig1", amount)
		o.From = from
		r := deposits(t).do(o).is("detected").do(o)
		if got := r.i().From; got != "" && !legible || legible && got != from || len(r.log) != 1 || !legible && from != "" && !strings.Contains(r.log[0].Reason, "sender") {
			t.Errorf("%.20q: sender %q, log %+v", from, got, r.log)
		}
		paid := *r
		memo(&paid, "nexus:carol").begin(swap.Send).answer(statemachine.Done).found(1, 10).is("debit_confirmed").kinds()
		if memo(r, "hello").is("to be refunded"); !legible {
			r.elapse().is("to be quarantined")
		}
		for _, owner := range texts {
			o := observedCredit("tx1", amount)
			o.From, o.Owner = from, owner
			r := credits(t).do(o, swap.Confirmations{By: by(swap.Observer, t0), Count: 2}).do(o).is("pending_receival").kinds().claim()
			m := r.mapping()
			m.Owner = owner
			if r.do(m); len(owner) == swap.MaxAddress {
				r.is("ready for processing")
				continue
			}
			r.is("pending_receival").do(r.unmapped()).wait(r.p.RefundTimeout + 1000).elapse().is("trade balance to be checked").claim()
			m.By, m.Asked = r.worker(), r.now
			if r.do(m).is("collecting refund"); !legible {
				r.elapse().is("quarantined").attended()
			}
		}
	}
	// It is rebuilt alike.
	lost := swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount)}
	lost.Observed.From, lost.Observed.Owner = "al ice", ""
	if r := credits(t).do(lost).is("pending_receival"); r.i().From != "" || r.i().Hold.Kind != swap.ByRecovery {
		t.Errorf("%+v", r.i())
	}
}

// More than a column holds makes no item, and is a discrepancy that somebody acknowledges, so
// that no scan waits for it; nothing is [swap.ErrNothing].
func TestAnAmountThatNoItemHas(t *testing.T) {
	apply := func(d swap.Deposit, o swap.Observed) (swap.DepositChange, error) {
		return policy.ApplyDeposit(d, o, t0)
	}
	c, err := apply(swap.Deposit{}, observedDeposit("sig1", swap.MaxAmount))
	if err != nil || c.New.Version != 1 || len(c.Notes) != 0 {
		t.Errorf("the largest amount: %+v, %v", c, err)
	}
	for _, more := range []uint64{swap.MaxAmount + 1, math.MaxUint64} {
		none, err := apply(swap.Deposit{}, observedDeposit("sig2", more))
		if err != nil || none.New.Version != 0 || len(none.Notes) != 1 || none.Notes[0].Kind != swap.InboundTooLarge || none.Notes[0].Item != "" ||
			none.Notes[0].Key != "sig2" || none.Notes[0].Amount != swap.MaxAmount || !strings.Contains(none.Notes[0].Text, swap.FormatAmount(more)) {
			t.Errorf("%d: %+v, %v", more, none, err)
		}
		if closed, err := none.Notes[0].Close("oscar", t0); err != nil || closed.ClosedBy != "oscar" {
			t.Errorf("%d: %+v, %v", more, closed, err)
		}
		// Of an item that is stored it is other facts.
		again, err := apply(c.New, observedDeposit("sig1", more))
		if err != nil || len(again.Notes) != 1 || again.Notes[0].Kind != swap.InboundChanged || again.Notes[0].Amount != swap.MaxAmount {
			t.Errorf("%d, seen again: %+v, %v", more, again.Notes, err)
		}
		lost := swap.Recovered{By: by(swap.System, t0), Observed: observedDeposit("sig3", more)}
		if r := deposits(t).do(lost); r.i().Version != 0 || len(r.last.Notes) != 1 || r.last.Notes[0].Kind != swap.InboundTooLarge {
			t.Errorf("%d, rebuilt: %+v", more, r.last)
		}
	}
	for _, stored := range []swap.Deposit{{}, c.New} {
		if c, err := apply(stored, observedDeposit("sig1", 0)); !errors.Is(err, swap.ErrNothing) || !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
			t.Errorf("nothing: %+v, %v", c, err)
		}
	}
}

// Nothing is sent back to a sender that the policy names, by rule or by order.
func TestASenderThatIsNotRefunded(t *testing.T) {
	exchange := policy
	exchange.NoRefund = []string{"alice-solana", "bob-nexus"}
	if err := exchange.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "a b"} {
		p := policy
		p.NoRefund = []string{bad}
		if p.Validate() == nil {
			t.Errorf("%q is no address", bad)
		}
	}
	d := toBeRefunded(t)
	d.p = exchange
	d.claim().refused(d.begun(swap.Refund), statemachine.ErrIllegal)
	d.owes(swap.Tell).elapse().is("to be quarantined").release().begin(swap.Quarantine)
	d = ready(t)
	d.p = exchange
	d.order(swap.RefundOrdered{}).elapse().is("to be quarantined")
	for _, enter := range []func(*testing.T) *run[swap.Credit]{refundPending, collecting} {
		c := enter(t)
		c.p = exchange
		c.claim().refused(c.begun(swap.Refund), statemachine.ErrIllegal)
		c.owes(swap.Tell).elapse().is("quarantined").release().begin(swap.Quarantine)
		if reason := c.log[len(c.log)-2].Reason; !strings.Contains(reason, "bob-nexus") {
			t.Errorf("reason %q", reason)
		}
	}
	// A refund of before the policy named it is found like any other.
	d = toBeRefunded(t).begin(swap.Refund)
	d.p = exchange
	d.found(1, 10).found(1, 10).is("refund_confirmed")
}

// A time that is none, and a credit whose account nobody knows, are stored, once however
// often they are seen. On a store that was restored nobody knows whether such an item was
// paid before: a person has it.
func TestWithoutATimeOrAnAccount(t *testing.T) {
	recovered := open
	for _, at := range []time.Time{
		{}, time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(-1, 0),
		time.Date(292277026596, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		for _, restored := range []bool{false, true} {
			d, c := observedDeposit("sig1", amount), observedCredit("tx1", amount)
			d.Time, c.Time, c.To = at, at, "a b"
			c.Control, d.Control = swap.Control{}, swap.Control{}
			want := swap.HoldKind(0)
			if restored {
				d.Control, c.Control, want = recovered, recovered, swap.ByRecovery
			}
			x, y := deposits(t).do(d).is("detected"), credits(t).do(c).is("pending_receival")
			for _, i := range []*swap.Item{x.i(), y.i()} {
				if !i.At.Equal(t0.Truncate(time.Second)) || i.Hold.Kind != want || i.LookedBack != 0 {
					t.Errorf("%v, restored %v: %+v", at, restored, i)
				}
			}
			for n, log := range [][]statemachine.Transition[string]{x.log, y.log} {
				if !strings.Contains(log[0].Reason, "its time") || (n == 1) != strings.Contains(log[0].Reason, "account") {
					t.Errorf("%v: %q", at, log[0].Reason)
				}
			}
			x.wait(time.Hour).do(d).kinds().attended()
			if c.To = ""; len(x.log) != 1 || len(y.wait(time.Hour).do(c).kinds().attended().log) != 1 {
				t.Error("it is seen again, and something changed")
			}
		}
	}
}
