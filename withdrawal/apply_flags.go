package withdrawal

import (
	"slices"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Three things forbid another payment of a request until an operator has acknowledged them: it may have been paid
// (Request.Mined), a transaction that is not on file may be out (Request.StraysSent), or its signer may have sent
// something, which nobody can tell (Request.Taken). All three are columns of the request, and each change of them makes
// a new version, so that no step that was decided before can be stored.

// flagged reports whether the request may have been paid beside the record.
func (r *Request) flagged() bool {
	return r.Mined != "" || r.StraysSent > 0 || r.Taken != "" && !r.Acknowledged
}

// elsewhere reports whether a transaction that is not live on file may have paid the request, or may still pay it. Then
// the live transactions are not sent again, even if an operator has acknowledged the other one: else both could be
// mined.
func (w *Withdrawal) elsewhere() bool {
	return w.Request.StraysSent > 0 || w.Request.Mined != "" && !w.live(w.Request.Mined) || w.paidByDead() != "" ||
		slices.ContainsFunc(w.Strays, func(s Stray) bool { return s.SettledAt.IsZero() })
}

// flagged writes the line of the request for a flag that the step has set or cleared. While a job is under way, the
// step that sets a flag moves the job too, see [step.park], so that a step decided before cannot write the job.
func (c *step) flagged() error {
	o, n := &c.Old.Request, &c.New.Request
	// A refund empties the list, which has a line of its own, and an acknowledgement makes it shorter.
	news := n.PaidAfter != o.PaidAfter || n.Told != o.Told && n.Told != "" && !n.Acknowledged
	if !news && o.Disproved == n.Disproved && o.Acknowledged == n.Acknowledged &&
		o.StraysOnFile == n.StraysOnFile && o.StraysSent == n.StraysSent {
		return nil
	}
	if news && n.RefundReference != "" {
		c.why = statemachine.Bounded("after the refund "+n.RefundReference+": "+c.why, MaxText)
	}
	return c.moveRequest(onFlagged, c.why)
}

// IncidentClaim is what evidence claims against the record: of an [Incident] any of these, of a [Stray] ClaimMined or
// ClaimSent. store/ops/explain.md of this module says what an operator does about each.
// Values: ClaimMined, ClaimSent, ClaimTaken, ClaimCancelMined, ClaimReverted, ClaimMissing, ClaimDead, ClaimNotDead, ClaimLeftOut.
type IncidentClaim = statemachine.Enum[incidentClaim]

const (
	ClaimMined       IncidentClaim = iota + 1 // a transaction that pays was mined beside what the record says
	ClaimSent                                 // a signer says that it sent something
	ClaimTaken                                // a signer named the transaction of another request, or a filler
	ClaimCancelMined                          // a transaction that replaces the payment and pays nothing was mined
	ClaimReverted                             // a transaction was mined and reverted
	ClaimMissing                              // the node does not know the transaction by which the request is completed
	ClaimDead                                 // that transaction cannot be mined any more
	ClaimNotDead                              // a transaction that was declared dead has a nonce that is not used
	ClaimLeftOut                              // the transaction of a batch by which the request is completed does not pay it
)

type incidentClaim struct{}

func (incidentClaim) Kind() string    { return "withdrawal incident claim" }
func (incidentClaim) Names() []string { return incidentClaimNames }

var incidentClaimNames = []string{"mined", "sent", "taken", "cancel mined", "reverted", "missing", "dead", "not dead", "left out"}

// staining is the memory of a step that records an incident.
type staining struct {
	log       [2]statemachine.Transition[uuid.UUID]
	incidents [1]Incident
}

// incident records a contradiction. Of itself it moves no status, and nothing
// is sent again.
func (c *step) incident(hash string, claim IncidentClaim, b Block) error {
	j := &c.Old.Job
	if !word(hash) || len(b.Hash) > MaxHash || !statemachine.Storable(b.Hash) {
		return c.refuse(statemachine.ErrInvalid, "a hash has 1 to 100 bytes")
	}
	if claim == ClaimMined { // that it was sent is no question any more
		c.settle(hash, ClaimSent)
	}
	key := hash
	if c.Old.find(hash) < 0 { // no spelling is another incident
		key = statemachine.HashForm(hash)
	}
	if c.Log == nil && c.Incidents == nil {
		m := new(staining)
		c.Log, c.Incidents = m.log[:0], m.incidents[:0]
	}
	c.Incidents = append(c.Incidents, Incident{Request: c.Old.Request.ID, Job: j.ID, Hash: key, Claim: claim,
		BlockHash: b.Hash, Height: b.Height, Status: j.Status, Actor: c.by.Actor, At: c.by.At})
	if claim == ClaimMined || claim == ClaimSent && c.New.Request.RefundReference != "" { // before that a stray is enough
		c.tell(told{claim: claim, hash: hash}, hash)
	}
	return nil
}

// tell notes a claim of evidence beside the record, and reports whether it is news. News takes an acknowledgement back
// and makes a version of the request, whose line says text. A claim that is on the list already does neither, however
// often and in whatever order it comes.
func (c *step) tell(news told, text string) bool {
	r := &c.New.Request
	if r.Told.has(news) {
		return false
	}
	r.Told, r.Acknowledged, c.why = r.Told.with(news), false, text
	switch news.claim {
	case ClaimMined: // what has become the payment itself is none beside it
		if r.Mined == "" || statemachine.SameHash(r.Mined, r.FinalTxHash) {
			r.Mined = news.hash
		}
	case ClaimTaken:
		r.Taken = news.hash
	}
	if r.RefundReference != "" && r.PaidAfter == "" {
		r.PaidAfter = news.hash
	}
	return true
}

func (c *step) acknowledge(e *Acknowledged) error {
	r := &c.New.Request
	if r.Acknowledged {
		return nil
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	switch {
	case r.Mined == "" && r.Taken == "" && r.PaidAfter == "":
		return c.refuseRequest(statemachine.ErrIllegal, "no incident says that it was paid beside the record")
	case (r.Status == RequestApproved || r.Status == RequestQueued) && (r.Mined != "" || r.StraysSent > 0):
		return c.refuseRequest(statemachine.ErrIllegal, "it has not ended: by what it is paid, nobody knows yet")
	}
	if e.Reason == "" {
		return c.refuseRequest(statemachine.ErrInvalid, "a reason is needed")
	}
	r.Told = r.Told.settled()
	r.Acknowledged, c.why = true, statemachine.Bounded("acknowledged: "+e.Reason, MaxText)
	return nil
}

// toldMined reports whether evidence has said beside the record that a transaction was mined.
func (w *Withdrawal) toldMined(hash string) bool {
	t := w.Request.Told
	return w.stray(hash, ClaimMined) >= 0 || !t.More() && t.has(told{claim: ClaimMined, hash: hash})
}

// stray returns the index of a stray by its hash and claim, or -1.
func (w *Withdrawal) stray(hash string, claim IncidentClaim) int {
	return slices.IndexFunc(w.Strays, func(s Stray) bool { return s.Claim == claim && statemachine.SameHash(s.Hash, hash) })
}

// addStray records a transaction that is not on file. Strays are loaded.
func (c *step) addStray(claim IncidentClaim, f txFacts, fence int64) {
	r, j := &c.New.Request, &c.New.Job
	r.StraysOnFile++
	s := Stray{Request: r.ID, Seq: r.StraysOnFile, Job: j.ID, Claim: claim, Hash: f.Hash, Raw: f.Raw, Wallet: j.Wallet,
		Nonce: f.Nonce, HasNonce: f.HasNonce, Input: f.Input, ByOutput: f.ByOutput, Output: f.Output, Fence: fence, CreatedAt: c.by.At}
	c.New.Strays = append(slices.Clip(c.New.Strays), s)
	c.Strays = append(c.Strays, s)
	if w := &c.New.Wallet; c.OwnsStrayNonce(&s) && w.ID == s.Wallet {
		w.NextNonce = max(w.NextNonce, s.Nonce+1)
	}
	if claim == ClaimSent {
		r.StraysSent++
		c.why = "sent: " + f.Hash
	}
	if claim == ClaimSent && c.Old.toldMined(f.Hash) {
		c.settle(f.Hash, ClaimSent)
	}
}

// settle ends the doubt about a stray that was put on file as live, or proven dead.
// With claims it settles those alone that make one of them.
func (c *step) settle(hash string, claims ...IncidentClaim) {
	for i := range c.New.Strays {
		if s := &c.New.Strays[i]; !s.SettledAt.IsZero() || !statemachine.SameHash(s.Hash, hash) ||
			len(claims) > 0 && !slices.Contains(claims, s.Claim) {
			continue
		}
		c.New.Strays = slices.Clone(c.New.Strays)
		s := &c.New.Strays[i]
		s.SettledAt = c.by.At
		if s.Claim == ClaimSent {
			c.New.Request.StraysSent--
			c.why = "settled: " + s.Hash
		}
		if k := slices.IndexFunc(c.Strays, func(t Stray) bool { return t.Seq == s.Seq }); k >= 0 {
			c.Strays[k] = *s
		} else {
			c.Strays = append(c.Strays, *s)
		}
	}
}
