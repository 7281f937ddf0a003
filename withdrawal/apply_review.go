package withdrawal

import (
	"github.com/settlehq/settle/statemachine"
)

// resolve ends a review. Only what was dispatched and left no transaction on
// file can be declared not sent; a transaction on file needs [ProvenDead].
func (p *Policy) resolve(c *step, e *Resolved) error {
	j := &c.New.Job
	if j.Status != 0 && e.Job != j.ID {
		return c.refuse(statemachine.ErrConflict, "the latest job is another one")
	}
	if c.by.Version != 0 && c.by.Version == j.ResolvedVersion {
		if e.Sent && c.Old.find(e.Hash) >= 0 || !e.Sent && j.Status != JobConfirming && j.Status != JobConfirmed {
			return nil
		}
		return c.refuse(statemachine.ErrConflict, "this version was resolved with another answer")
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	reason := statemachine.Bounded(e.Reason, MaxText)
	switch {
	case !j.Review:
		return c.refuse(statemachine.ErrIllegal, "it is not in review")
	case !e.Sent && j.Live():
		return c.refuse(statemachine.ErrIllegal, "a transaction is on file: only ProvenDead shows that it was not sent")
	case c.by.Version == 0 || reason == "":
		return c.refuse(statemachine.ErrInvalid, "the version that was looked at and a reason are needed")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded()
	}
	if owner := c.Old.Owner; e.Sent && owner.Valid && c.Old.find(e.Hash) < 0 {
		return c.refuse(&TakenError{ErrPaymentTaken, owner.UUID}, "")
	}
	j.ResolvedVersion = c.by.Version
	if !e.Sent {
		j.TxHash = c.Old.paidByDead() // a payment that is known keeps its hash
		return c.retry(p, jobNotSent, reason, 0)
	}
	hash := e.Hash
	if i := c.Old.find(hash); i >= 0 && i >= int(j.TxsDead) {
		hash = c.Old.Txs[i].Hash
	} else {
		tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input, ByOutput: e.ByOutput, Output: e.Output}
		if err := c.wellFormed(&tx); err != nil {
			return err
		}
		if !c.Old.exclusiveWithLive(&tx) {
			return c.refuse(statemachine.ErrInvalid, "it has not the nonce or input of what is live: both could be mined")
		}
		c.addTx(tx)
	}
	c.startConfirming(c.by.At, hash, c.by.At, false)
	return c.moveJob(jobFound, reason)
}
