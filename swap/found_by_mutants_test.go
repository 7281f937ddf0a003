package swap_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Rules whose removal internal/mutants found to be noticed by no test.

// An amount at the minimum is kept as fee, also where something is left of it after the fees; one
// unit more is paid.
func TestTheMinimumItselfIsKept(t *testing.T) {
	for minimum, want := range map[uint64]error{amount: statemachine.ErrIllegal, amount - 1: nil} {
		r := detected(t)
		r.p.Deposits.Minimum, r.p.Deposits.Flat, r.p.Deposits.BasisPoints = minimum, 0, 0
		memo(r, "nexus:carol")
		if err := r.try(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable}); !errors.Is(err, want) {
			t.Errorf("a minimum of %d: %v, expected %v", minimum, err, want)
		}
	}
}

// A send that landed with an error is no time-out: the policy of time-outs does not hold it.
func TestAnErrorOnChainIsNoTimeOut(t *testing.T) {
	for _, policy := range []swap.OnTimeout{swap.OnTimeoutRefund, swap.OnTimeoutHold, swap.OnTimeoutQuarantine} {
		r := debited(t)
		r.p.OnTimeout = policy
		r.failedOnChain(1).is("to be refunded")
		if r.i().Hold.Kind != 0 {
			t.Errorf("%v: held: %+v", policy, r.i().Hold)
		}
	}
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	for name, change := range map[string]func(*swap.Item){
		"no amount":     func(i *swap.Item) { i.Amount = 0 },
		"a huge amount": func(i *swap.Item) { i.Amount = swap.MaxAmount + 1 },
		"no id":         func(i *swap.Item) { i.ID = "" },
		"no version":    func(i *swap.Item) { i.Version = 0 },
		"two open intents": func(i *swap.Item) {
			second := i.Intents[0]
			second.Number, second.Reference = 2, second.Reference+1
			i.Intents = append(i.Intents, second)
		},
	} {
		r := detected(t)
		if name == "two open intents" {
			r = ready(t).begin(swap.Send)
		}
		change(r.i())
		if err := swap.CheckDeposit(r.item); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALastValidHeightFitsADatabase(t *testing.T) {
	for height, want := range map[uint64]error{0: statemachine.ErrInvalid, 1: nil, swap.MaxAmount: nil, swap.MaxAmount + 1: statemachine.ErrInvalid} {
		r := toBeRefunded(t).claim()
		ev := r.begun(swap.Refund)
		ev.LastValid = height
		if err := r.try(ev); !errors.Is(err, want) {
			t.Errorf("%d: %v, expected %v", height, err, want)
		}
	}
}

// What a policy allows no longer is not begun again: somebody is told.
func TestAttemptsThatAPolicyAllowsNoLonger(t *testing.T) {
	r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove()
	if r.i().Attempts.Of(swap.Send) != 1 || r.state(&r.item) != "ready for processing" {
		t.Skipf("%s after one attempt", r.state(&r.item))
	}
	r.p.MaxAttempts = 1
	tasks := r.p.NextDeposit(r.item, r.ctl, r.i().DueAt()).Tasks
	if len(tasks) != 1 || tasks[0].Do != swap.Tell {
		t.Errorf("it is owed %+v", tasks)
	}
}

func TestClaimOfEachEvent(t *testing.T) {
	r := ready(t).begin(swap.Send)
	seen := swap.Sighting{Chain: swap.Nexus, TxID: "tx9"}
	want := swap.ClaimOf(&r.item, swap.Outbound{Seen: seen})
	if want == "" {
		t.Fatal("an outbound takes a claim")
	}
	for name, ev := range map[string]swap.Event{
		"an answer":  swap.Answered{Number: 1, TxID: "tx9"},
		"a look-up":  swap.Looked{Number: 1, Seen: seen},
		"a recovery": swap.Recovered{Seen: seen},
	} {
		if got := swap.ClaimOf(&r.item, ev); got != want {
			t.Errorf("%s: %q, expected %q", name, got, want)
		}
	}
	for name, ev := range map[string]swap.Event{
		"an answer without a transaction": swap.Answered{Number: 1},
		"an answer of another intent":     swap.Answered{Number: 2, TxID: "tx9"},
		"a look-up that found nothing":    swap.Looked{Number: 1},
	} {
		if got := swap.ClaimOf(&r.item, ev); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The waterline waits for what is not processed, and not for what is quarantined in vain or is gone.
func TestWhatTheWaterlineWaitsFor(t *testing.T) {
	r := ready(t)
	r.item.At, r.item.Stored = t0.Add(-1), t0
	if at, waits := r.item.Waits(t0); !waits || !at.Equal(t0.Add(-1)) {
		t.Errorf("a deposit: %v %v", at, waits)
	}
	if r.item.Status = swap.DepositQuarantineFailed; true {
		if _, waits := r.item.Waits(t0); waits {
			t.Error("it waits for a quarantine that failed")
		}
	}
	done := refundSent(t).found(1, 10)
	if _, waits := done.item.Waits(t0); waits {
		t.Errorf("it waits for %s", done.state(&done.item))
	}
	c := pending(t)
	c.item.At, c.item.Stored = t0.Add(-1), t0
	for name, of := range map[string]struct {
		gone  time.Time
		waits bool
	}{"on its chain": {time.Time{}, true}, "gone at the moment": {t0, true}, "gone before": {t0.Add(-1), false}} {
		c.item.GoneAt = of.gone
		if at, waits := c.item.Waits(t0); waits != of.waits || !at.Equal(t0.Add(-1)) {
			t.Errorf("a credit %s: %v %v", name, at, waits)
		}
	}
}

func TestMergeKeepsThatSomethingWasTouched(t *testing.T) {
	for _, touched := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		first, next := swap.Change[swap.Deposit]{Touched: touched[0]}, swap.Change[swap.Deposit]{Touched: touched[1]}
		if first.Merge(&next); first.Touched != (touched[0] || touched[1]) {
			t.Errorf("%v: %v", touched, first.Touched)
		}
	}
}

func TestFeesFitADatabase(t *testing.T) {
	for name, set := range map[string]func(*swap.Fees, uint64){
		"flat":       func(f *swap.Fees, n uint64) { f.Flat = n },
		"minimum":    func(f *swap.Fees, n uint64) { f.Minimum = n },
		"refund":     func(f *swap.Fees, n uint64) { f.Refund = n },
		"quarantine": func(f *swap.Fees, n uint64) { f.Quarantine = n },
	} {
		for n, want := range map[uint64]error{swap.MaxAmount: nil, swap.MaxAmount + 1: statemachine.ErrInvalid} {
			p := policy
			set(&p.Credits, n)
			if err := p.Validate(); !errors.Is(err, want) {
				t.Errorf("%s of %d: %v, expected %v", name, n, err, want)
			}
		}
	}
}

// What has the reference of an intent and does not pay what it pays is not taken for it.
func TestWhatDoesNotFitAnIntentIsNotIt(t *testing.T) {
	r := ready(t).begin(swap.Send)
	x := sighting(r.latest(), 10, true)
	x.Amount--
	r.do(swap.Outbound{By: by(swap.Observer, r.now), Seen: x})
	if in := r.latest(); in.TxID != "" || in.Landed() {
		t.Errorf("%+v", in)
	}
}
