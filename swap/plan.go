package swap

import (
	"slices"
	"time"
)

// MaxPass bounds what one priority of a pass works on.
const MaxPass = 1000

// Planned is an item and what it owes in a pass.
type Planned[A any] struct {
	Item A
	Step Step
}

// PlanCredits returns what credits owe at one of the source's priorities, the oldest first, then by id, at most
// [MaxPass]. A pass calls it for 1 to 6, on records that it reads again each time, so that an item may go through
// several priorities. The pass puts an id into sent with each [Begun], whatever its answer, so that no item has two
// intents in one pass.
//
//	1 pending receival             4 trade balance to be checked
//	2 sending, then ready          5 collecting refund
//	3 awaiting, and finished       6 refund pending; quarantined
func (p Policy) PlanCredits(items []Credit, c Control, priority int, sent map[string]bool, now time.Time) []Planned[Credit] {
	rank := map[CreditStatus]int{CreditPending: 1, CreditReady: 2, CreditSending: 2, CreditAwaiting: 3, CreditProcessed: 3,
		CreditAsFees: 3, CreditRefunded: 3,
		CreditTradeBalanceCheck: 4, CreditCollectingRefund: 5, CreditRefundPending: 6, CreditQuarantined: 6}
	return plan(items, func(a, b *Credit) int {
		if a.Status != b.Status && priority == 2 {
			return int(b.Status) - int(a.Status) // sending is before ready
		}
		return CompareDue(&a.Item, &b.Item)
	}, func(cr *Credit) (Step, bool) {
		if rank[cr.Status] != priority {
			return Step{}, false
		}
		return pass(p.NextCredit(*cr, c, now), func(Task) bool { return true }, sent[cr.ID]), true
	})
}

// PlanDeposits is [Policy.PlanCredits] for deposits: 1 confirm, 2 validate,
// 3 send, 4 refund, 5 quarantine.
func (p Policy) PlanDeposits(items []Deposit, c Control, priority int, sent map[string]bool, now time.Time) []Planned[Deposit] {
	return plan(items, func(a, b *Deposit) int { return CompareDue(&a.Item, &b.Item) }, func(d *Deposit) (Step, bool) {
		return pass(p.NextDeposit(*d, c, now), func(t Task) bool {
			switch t.Do {
			case LookUp, LookBack:
				return priority == 1
			case Begin:
				return priority == 2+int(t.Action)
			case Tell:
				return priority == max(2, 2+int(depositStages[d.Status].performs))
			}
			return priority == 2
		}, sent[d.ID]), true
	})
}

// pass keeps the tasks of one priority.
func pass(s Step, fits func(Task) bool, sent bool) Step {
	s.Tasks = slices.DeleteFunc(s.Tasks, func(t Task) bool { return !fits(t) || sent && t.Do == Begin })
	return s
}

func plan[A any](items []A, compare func(a, b *A) int, step func(*A) (Step, bool)) []Planned[A] {
	var out []Planned[A]
	for k := range items {
		if s, ok := step(&items[k]); ok && len(s.Tasks) > 0 {
			out = append(out, Planned[A]{items[k], s})
		}
	}
	slices.SortFunc(out, func(a, b Planned[A]) int { return compare(&a.Item, &b.Item) })
	return out[:min(len(out), MaxPass)]
}
