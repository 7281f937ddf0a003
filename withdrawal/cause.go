package withdrawal

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Cause is what requests of a list wait for: the same reason at the same hot wallet, or at the same
// chain while they have no job.
type Cause struct {
	Chain  uuid.UUID
	Wallet uuid.UUID // zero without a job
	Party  Role      // who moves them on, see [Step]
	Reason string
}

// ByCause groups a page of a list by what its requests wait for at now, the largest group first: "47 wait for nonce
// 1203". A request that waits for nobody is left out. That a nonce waits for a lower one is seen only if the page also
// has the request with the lower nonce.
func (p Policy) ByCause(page []Withdrawal, now time.Time) []statemachine.Caused[Cause] {
	lowest := map[uuid.UUID]uint64{} // that is not mined, of the wallets of the page
	for i := range page {
		j := &page[i].Job
		if n, known := lowest[j.Wallet]; j.Status == JobConfirming && j.HasNonce && (!known || j.Nonce < n) {
			lowest[j.Wallet] = j.Nonce
		}
	}
	return statemachine.ByCause(page, func(w *Withdrawal) Cause {
		step := p.Next(*w, now)
		if step.Party == 0 {
			return Cause{}
		}
		j := &w.Job
		c := Cause{Chain: w.Request.Chain, Wallet: j.Wallet, Party: step.Party, Reason: p.waitsFor(w, &step)}
		if n := lowest[j.Wallet]; j.Status == JobConfirming && !j.Review && j.HasNonce && j.Nonce > n {
			c.Reason = fmt.Sprintf("nonce %d", n)
		}
		return c
	})
}

// waitsFor says in a few words why a request rests at a step.
func (p *Policy) waitsFor(w *Withdrawal, step *Step) string {
	switch r, j := &w.Request, &w.Job; {
	case r.Status == RequestPending:
		return "approval"
	case j.Review:
		return "review"
	case j.Status == JobConfirming:
		return "confirmation"
	case j.Status == JobProcessing && len(step.Actions) > 0:
		return step.Actions[0].Do.String()
	case j.Status == JobProcessing:
		return "the answer of its signer"
	case r.Status == RequestApproved || j.Status == JobPending:
		if why := p.off(w); why != "" {
			return why
		}
		if r.flagged() {
			return maybePaid
		}
		if len(step.Actions) == 0 {
			return "its time"
		}
		return step.Actions[0].Do.String()
	}
	return "a person: refund or requeue"
}
