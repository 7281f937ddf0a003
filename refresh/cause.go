package refresh

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// WaitCause is what wallets of a list wait for.
type WaitCause struct {
	Party  Role // who acts next, see [Step]
	Reason string
	Error  string // of the job that is tried again, as it was reported; empty: none
}

// ByCause groups wallets by what they wait for at now, the largest group first. Wallets whose job is
// tried again are grouped by its error. Idle wallets are left out. Of each wallet the records are
// loaded that [NextReads] names.
func (c Policy) ByCause(page []Work, now time.Time) []statemachine.Caused[WaitCause] {
	return statemachine.ByCause(page, func(w *Work) WaitCause {
		step := c.Next(*w, now)
		if step.Idle {
			return WaitCause{}
		}
		reason, failed := waitsFor(w, &step, now)
		return WaitCause{step.Party, reason, failed}
	})
}

// waitsFor says in a few words why a wallet rests at a step.
func waitsFor(w *Work, step *Step, now time.Time) (reason, failed string) {
	switch {
	case step.Do == DoJob && step.Held:
		return "what holds its lock", ""
	case step.Do != 0:
		return step.Do.String(), ""
	case now.Before(w.Wallet.NotBefore):
		return "the pause after a round that hung", ""
	}
	for i := range w.Jobs {
		if j := &w.Jobs[i]; j.Status == JobPending && j.Error != "" {
			return "its next try", j.Error
		}
	}
	return "its time", ""
}
