package swaptest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// filed counts runs in which a store was restored from a copy and an operator filed
// what the copy did not know.
func filed[A any](w *swaptest.World[A], n *int) {
	if w.Restores > 0 && slices.ContainsFunc(w.Head().Intents, func(in swap.Intent) bool { return in.Filed && in.Final }) {
		*n++
	}
}

func deposits(reached map[swap.DepositStatus]int, restored *int) func(*rapid.T) {
	return func(t *rapid.T) {
		w := swaptest.Run(t, 80, swaptest.Deposits(swaptest.Policy()), swaptest.Arrivals(swap.ToUSDD).Draw(t, "arrival"), func(log []statemachine.Transition[string]) error {
			_, err := statemachine.Replay(swap.DepositMachine, log)
			return err
		})
		reached[w.Item.Status]++
		filed(&w, restored)
	}
}

func credits(reached map[swap.CreditStatus]int, restored *int) func(*rapid.T) {
	return func(t *rapid.T) {
		w := swaptest.Run(t, 80, swaptest.Credits(swaptest.Policy()), swaptest.Arrivals(swap.ToUSDC).Draw(t, "arrival"), func(log []statemachine.Transition[string]) error {
			_, err := statemachine.Replay(swap.CreditMachine, log)
			return err
		})
		reached[w.Item.Status]++
		filed(&w, restored)
	}
}

func TestDepositsAgainstTheAdversary(t *testing.T) {
	rapid.Check(t, deposits(map[swap.DepositStatus]int{}, new(int)))
}

func TestCreditsAgainstTheAdversary(t *testing.T) {
	rapid.Check(t, credits(map[swap.CreditStatus]int{}, new(int)))
}

// The same runs each time: the adversary ends everywhere.
func TestTheAdversaryReachesEveryState(t *testing.T) {
	restored := 0
	ds, cs := map[swap.DepositStatus]int{}, map[swap.CreditStatus]int{}
	fixedtest.Run(t, 400, deposits(ds, &restored))
	fixedtest.Run(t, 400, credits(cs, &restored))
	for _, s := range swap.DepositMachine.States() {
		if ds[s] == 0 {
			t.Errorf("no deposit ended in %v", s)
		}
	}
	for _, s := range swap.CreditMachine.States() {
		if cs[s] == 0 {
			t.Errorf("no credit ended in %v", s)
		}
	}
	if restored == 0 {
		t.Error("after a restore nothing ended with what an operator has filed")
	}
	t.Log(ds, cs, restored)
}

// Hosts that are wrong in a way that is seldom seen.
func TestTheAdversaryFindsABrokenHost(t *testing.T) {
	type apply = func(swap.Deposit, swap.Event, time.Time) (swap.DepositChange, error)
	p := swaptest.Policy()
	for name, host := range map[string]apply{
		"one that drops the end of every lease": func(d swap.Deposit, ev swap.Event, now time.Time) (swap.DepositChange, error) {
			c, err := p.ApplyDeposit(d, ev, now)
			c.New.Lease.Until = time.Time{}
			return c, err
		},
		"one that takes an old fence for nothing changed": func(d swap.Deposit, ev swap.Event, now time.Time) (swap.DepositChange, error) {
			c, err := p.ApplyDeposit(d, ev, now)
			if errors.Is(err, statemachine.ErrFenced) {
				err = nil
			}
			return c, err
		},
		"one that does nothing": func(d swap.Deposit, _ swap.Event, _ time.Time) (swap.DepositChange, error) {
			return swap.DepositChange{Old: d, New: d}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixedtest.Finds(t, 60, func(t *rapid.T) {
				rules := swaptest.Deposits(p)
				rules.Apply = host
				swaptest.Run(t, 80, rules, swaptest.Arrivals(swap.ToUSDD).Draw(t, "arrival"), func([]statemachine.Transition[string]) error { return nil })
			})
		})
	}
}

// Paths to a second payment that are seldom drawn: after a restore by a server whose clock
// is behind, where blocks are older than what they hold was sent, nothing is paid again.
func TestARestoredWorldPaysOnce(t *testing.T) {
	for name, c := range map[string]struct {
		slow, lag, wait time.Duration
		moves           []string
	}{
		"while a process of before may still send": {wait: 4 * time.Minute, moves: []string{"worker 1 begins", "the copy is restored", "", "all is on file", "worker 1 begins"}},
		"its block is older than the item": {lag: 2 * time.Minute, wait: 10 * time.Minute,
			moves: []string{"worker 1 begins", "worker 1 hands 1 over", "1 lands", "the copy is restored", "", "all since it came in is on file", "worker 1 begins"}},
		"the clock is behind": {slow: 2 * time.Minute, wait: 3 * time.Minute,
			moves: []string{"worker 1 begins", "worker 1 hands 1 over", "1 lands", "the copy is restored", "", "worker 1 begins"}},
		"a scan from the commit on": {lag: 2 * time.Minute, wait: 11 * time.Minute,
			moves: []string{"worker 1 begins", "worker 1 hands 1 over", "1 lands", "", "a scan from its commit on does not show 1", "worker 1 crashes", "worker 1 begins"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := swap.Observed{By: swap.By{Actor: "observer", Role: swap.Observer, At: swaptest.Start}, ID: "sig1", Amount: 10_000_000, From: "alice", Time: swaptest.Start, Success: true, Finalized: true, Control: swaptest.Control()}
			w := swaptest.World[swap.Deposit]{Rules: swaptest.Deposits(swaptest.Policy()), Now: swaptest.Start, Control: swaptest.Control(), Limit: 12, Copies: 1, Slow: c.slow, Lag: c.lag}
			w, _ = w.Take(o)
			w, _ = w.Take(swap.MemoFetched{By: swap.By{Actor: "reader", Role: swap.Worker, At: swaptest.Start}, Memos: []string{"nexus:carol"}})
			for _, name := range append([]string{"a copy is made"}, c.moves...) {
				if name == "" {
					w.Now = w.Now.Add(c.wait)
				}
				moves := w.Moves()
				if k := slices.IndexFunc(moves, func(m swaptest.Move[swap.Deposit]) bool { return m.Name == name }); k >= 0 {
					w = moves[k].To
				}
				if n := w.Possible(); n > 1 {
					t.Fatalf("%s: %d outbounds paid or may still pay", name, n)
				}
			}
			if n, _ := w.Paid(); len(w.Places)+len(w.Strays) != 1 || n > 1 {
				t.Errorf("places %v, strays %+v", w.Places, w.Strays)
			}
		})
	}
}
