package explore_test

import (
	"fmt"

	"github.com/settlehq/settle/statemachine/explore"
)

// payout is one row that two workers want to pay out. A worker claims the row, and the claim may
// expire before the worker has written.
type payout struct {
	Fence   int    // number of the last claim
	Held    bool   // the last claim has not expired
	Paid    int    // how often it was paid
	Working [2]int // per worker: the claim that it believes in, 0 for none
}

func (p payout) String() string {
	return fmt.Sprintf("claim %d, held %v, paid %d", p.Fence, p.Held, p.Paid)
}

// payouts is the model of all runs with at most three claims. With fenced, a
// write is refused unless its claim is the one that holds the row.
func payouts(fenced bool) explore.Model[payout] {
	return explore.Model[payout]{
		Init: []payout{{}},
		Next: func(p payout, step func(string, payout)) {
			for w, claim := range p.Working {
				worker := string(rune('A' + w))
				switch {
				case claim == 0 && !p.Held && p.Paid == 0 && p.Fence < 3:
					to := p
					to.Fence++
					to.Held = true
					to.Working[w] = to.Fence
					step(worker+" claims", to)
				case claim != 0:
					to := p
					to.Working[w] = 0
					if !fenced || p.Held && claim == p.Fence {
						to.Paid++
						to.Held = false
					}
					step(worker+" pays", to)
				}
			}
			if p.Held && p.Fence < 3 {
				to := p
				to.Held = false
				step("the claim expires", to)
			}
		},
	}
}

func paidOnce(p payout) bool { return p.Paid == 1 }

func Example() {
	for _, fenced := range []bool{false, true} {
		result, err := explore.Check(payouts(fenced),
			explore.Always("never paid twice", func(p payout) bool { return p.Paid <= 1 }),
			explore.CanFinish("every payout can be paid", paidOnce),
			explore.NoDeadlock("only a paid row rests", paidOnce),
			explore.Reachable("a claim is lost and taken over", func(p payout) bool { return p.Fence == 2 }),
		)
		if err != nil {
			fmt.Printf("without a fence, %v\n\n", err)
			continue
		}
		fmt.Println("with a fence, every property holds:", result)
	}
	// Output:
	// without a fence, "never paid twice" is broken after 5 steps: this state breaks it
	//    0. at first: claim 0, held false, paid 0
	//    1. A claims: claim 1, held true, paid 0
	//    2. the claim expires: claim 1, held false, paid 0
	//    3. B claims: claim 2, held true, paid 0
	//    4. A pays: claim 2, held false, paid 1
	//    5. B pays: claim 2, held false, paid 2
	//
	// with a fence, every property holds: 32 states and 52 transitions, at most 8 steps deep
}
