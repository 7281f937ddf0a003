package swap_test

import (
	"errors"
	"testing"

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
		r := ready(t).begin(swap.Send)
		change(r.i())
		if err := swap.CheckDeposit(r.item); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
