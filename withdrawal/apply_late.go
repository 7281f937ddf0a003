package withdrawal

import (
	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// The law for late answers: a dispatch that has ended stays on record, answered or
// not, and an answer with a hash that is not on file is news whenever it comes.

// dispatchUnder returns the dispatch under fence that has ended.
func (w *Withdrawal) dispatchUnder(fence int64) *Attempt {
	for i := range w.Dispatches {
		if w.Dispatches[i].Fence == fence {
			return &w.Dispatches[i]
		}
	}
	return nil
}

// lateAnswer: the signer of dispatch d says that it sent e.Hash.
//
// If nothing else is out, the hash is put on file and looked up; if there is a stray that is not settled, this is an
// incident too, and an operator has the job. If something else is out, two transactions may be: then this is an
// incident, and a [Stray] by which the request gets no other execution until the hash is on file or proven dead.
// Transactions that are out stay out, and an operator has them.
func (p *Policy) lateAnswer(c *step, e *Broadcast, d *Attempt) error {
	j := &c.New.Job
	if c.Old.find(e.Hash) >= 0 || c.Old.stray(e.Hash, ClaimSent) >= 0 {
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
	if d.Job != j.ID { // an earlier job may have had another wallet
		tx.Nonce, tx.HasNonce = 0, false
	}
	if err := c.wellFormed(&tx); err != nil {
		return err
	}
	if c.Old.Owner.Valid {
		return c.taken(&tx, d.Fence)
	}
	queued := c.Old.Request.Status == RequestQueued
	if queued && !c.maybeSent() {
		text := statemachine.Bounded("answered late: "+e.Hash, MaxText)
		if j.Status == JobProcessing {
			c.closeAttempt(c.by.At, statemachine.Unknown, text, e.Hash)
		}
		beside := c.Old.elsewhere()
		if beside {
			if err := c.incident(e.Hash, ClaimSent, Block{}); err != nil {
				return err
			}
		}
		c.addTx(tx)
		j.RetryCount = max(j.RetryCount, 1)
		c.startConfirming(c.by.At, e.Hash, c.by.At.Add(p.CheckEvery), false)
		j.Review = beside
		return c.moveJob(jobLateAnswer, text)
	}
	if err := c.incident(e.Hash, ClaimSent, Block{}); err != nil {
		return err
	}
	c.addStray(ClaimSent, tx, d.Fence)
	if !queued {
		return nil
	}
	if j.Live() && c.Old.exclusiveWithLive(&tx) {
		c.addTx(tx)
	}
	return c.park("sent: " + e.Hash)
}

// Forgot reports whether an answer names a transaction that the record does not know, of its latest
// execution or of a later one: while its chain is recovering, the restore has forgotten what that execution did.
func (w *Withdrawal) Forgot(e *Broadcast) bool {
	return e.Fence > 0 && e.Fence >= w.Job.Lease.Fence && w.find(e.Hash) < 0
}

// forgottenAnswer: a transaction was sent that is on no file. It is an incident, and a [Stray] by
// which the request gets no other execution until the hash is on file or proven dead. Nobody knows which wallet sent
// it, and so whose its nonce is.
func (c *step) forgottenAnswer(e *Broadcast) error {
	if c.Old.stray(e.Hash, ClaimSent) >= 0 {
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Input: e.Input}
	if err := c.wellFormed(&tx); err != nil {
		return err
	}
	if c.Old.Owner.Valid {
		return c.taken(&tx, e.Fence)
	}
	if err := c.incident(e.Hash, ClaimSent, Block{}); err != nil {
		return err
	}
	c.addStray(ClaimSent, tx, e.Fence)
	if c.Old.Request.Status == RequestQueued && c.maybeSent() {
		return c.park("sent: " + e.Hash)
	}
	return nil
}

// taken: the signer answers with a hash that is the transaction of another request, or a filler. Nobody can tell
// whether it sent anything for this request. If something may be out, an operator has the job; else the request is
// held. In every state the hash is in Request.Taken and gets a line, so that a decision made before is stale. The same
// answer to the same dispatch is no news, but it stops the request again if an operator has let it go on since.
func (c *step) taken(tx *txFacts, fence int64) error {
	if err := c.incident(tx.Hash, ClaimTaken, Block{}); err != nil {
		return err
	}
	r := &c.New.Request
	text := "the hash is a filler's: " + tx.Hash
	if of := c.Old.Owner.UUID; of != uuid.Nil {
		text = "the hash is that of request " + of.String() + ": " + tx.Hash
	}
	switch news := c.tell(told{ClaimTaken, fence, tx.Hash}, text); {
	case r.Status == RequestQueued && c.maybeSent():
		if !news && c.Old.Job.Review {
			return nil
		}
		return c.park(text)
	case (r.Status == RequestQueued || r.Status == RequestApproved) && !r.Held:
		return c.stopped(text)
	}
	return nil
}

// exclusiveWithLive reports whether tx and each live transaction can never both
// be mined. With none it is true.
func (w *Withdrawal) exclusiveWithLive(tx *txFacts) bool {
	live := w.Live()
	for i := range live {
		if !live[i].exclusive(w.Job.Wallet, tx.HasNonce, tx.Nonce, tx.Input) {
			return false
		}
	}
	return true
}

// park gives an operator a job that has, or may have, a transaction out: its transactions on file are looked up, and
// nothing new is sent. A job that is in review already gets a line too, so that an operator's answer to what was known
// before is stale.
func (c *step) park(text string) error {
	j := &c.New.Job
	text = statemachine.Bounded(text, MaxText)
	trigger := jobPark
	if j.Status == JobProcessing && !j.Review {
		c.closeAttempt(c.by.At, statemachine.Unknown, text, j.TxHash)
	}
	if j.Status == JobProcessing && j.Live() {
		c.startConfirming(c.by.At, j.TxHash, c.by.At, false)
		trigger = jobUnknown
	}
	j.ErrorMessage = text
	j.Review, j.Rebroadcast = true, false
	j.letGo()
	return c.moveJob(trigger, text)
}
