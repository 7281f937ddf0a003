package purity_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// A pointer to an event has the methods of an event. Every domain refuses it by its
// name, before it looks at who speaks, and so it does with no event at all.
func TestEventsAreValues(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one := func(_ any, err error) error { return err }
	for name, tt := range map[string]struct {
		pointer, null, none error
	}{
		"withdrawal": {one(withdrawal.Policy{}.ApplyAt(withdrawal.Withdrawal{}, &withdrawal.Elapsed{}, now)),
			one(withdrawal.Policy{}.ApplyAt(withdrawal.Withdrawal{}, (*withdrawal.Elapsed)(nil), now)),
			one(withdrawal.Policy{}.ApplyAt(withdrawal.Withdrawal{}, nil, now))},
		"batch": {one(withdrawal.Policy{}.ApplyBatch(withdrawal.Payout{}, &withdrawal.BatchMissing{}, now)),
			one(withdrawal.Policy{}.ApplyBatch(withdrawal.Payout{}, (*withdrawal.BatchMissing)(nil), now)),
			one(withdrawal.Policy{}.ApplyBatch(withdrawal.Payout{}, nil, now))},
		"deposit": {one(swap.Policy{}.ApplyDeposit(swap.Deposit{}, &swap.Elapsed{}, now)),
			one(swap.Policy{}.ApplyDeposit(swap.Deposit{}, (*swap.Elapsed)(nil), now)),
			one(swap.Policy{}.ApplyDeposit(swap.Deposit{}, nil, now))},
		"credit": {one(swap.Policy{}.ApplyCredit(swap.Credit{}, &swap.Elapsed{}, now)),
			one(swap.Policy{}.ApplyCredit(swap.Credit{}, (*swap.Elapsed)(nil), now)),
			one(swap.Policy{}.ApplyCredit(swap.Credit{}, nil, now))},
		"refresh": {one(refresh.Policy{}.ApplyAt(refresh.Work{}, &refresh.SlotElapsed{}, now)),
			one(refresh.Policy{}.ApplyAt(refresh.Work{}, (*refresh.SlotElapsed)(nil), now)),
			one(refresh.Policy{}.ApplyAt(refresh.Work{}, nil, now))},
		"relaysync": {one(relaysync.Policy{}.ApplyAt(relaysync.Sync{}, &relaysync.Retried{}, now)),
			one(relaysync.Policy{}.ApplyAt(relaysync.Sync{}, (*relaysync.Retried)(nil), now)),
			one(relaysync.Policy{}.ApplyAt(relaysync.Sync{}, nil, now))},
		"dunning": {one(dunning.Policy{}.ApplyAt(dunning.Account{}, &dunning.StepBegun{}, now)),
			one(dunning.Policy{}.ApplyAt(dunning.Account{}, (*dunning.StepBegun)(nil), now)),
			one(dunning.Policy{}.ApplyAt(dunning.Account{}, nil, now))},
		"utxo": {one(utxo.Policy{}.PlanAt(nil, &utxo.Disconnected{}, now)),
			one(utxo.Policy{}.PlanAt(nil, (*utxo.Disconnected)(nil), now)),
			one(utxo.Policy{}.PlanAt(nil, nil, now))},
	} {
		for _, err := range []error{tt.pointer, tt.null} {
			if !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "events are values") {
				t.Errorf("%s, by a pointer: %v", name, err)
			}
		}
		if !errors.Is(tt.none, statemachine.ErrInvalid) || !strings.Contains(tt.none.Error(), "no event") {
			t.Errorf("%s, none: %v", name, tt.none)
		}
	}
}
