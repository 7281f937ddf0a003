package withdrawal

import (
	"github.com/settlehq/settle/statemachine"
)

// resolve ends a review. Only what was dispatched and left no transaction on
// file can be declared not sent; a transaction on file needs [ProvenDead].
func (p *Policy) resolve(c *Change, e *Resolved) error {
	if err := c.admit(&e.By, byOperator, "Resolved"); err != nil {
		return err
	}
	j := &c.New.Job
	if j.Status != 0 && e.Job != j.ID {
		return c.refuse("Resolved", statemachine.ErrConflict, "the latest job is another one")
	}
	if e.Version != 0 && e.Version == j.ResolvedVersion {
		if e.Sent && c.Old.find(e.Hash) >= 0 || !e.Sent && j.Status != JobConfirming && j.Status != JobConfirmed {
			return nil
		}
		return c.refuse("Resolved", statemachine.ErrConflict, "this version was resolved with another answer")
	}
	if err := c.jobVersion(&e.By, "Resolved"); err != nil {
		return err
	}
	reason := bounded(e.Reason)
	switch {
	case !j.Review:
		return c.refuse("Resolved", statemachine.ErrIllegal, "it is not in review")
	case !e.Sent && j.Live():
		return c.refuse("Resolved", statemachine.ErrIllegal, "a transaction is on file: only ProvenDead shows that it was not sent")
	case e.Version == 0 || reason == "":
		return c.refuse("Resolved", statemachine.ErrInvalid, "the version that was looked at and a reason are needed")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded("Resolved")
	}
	j.ResolvedVersion = e.Version
	if !e.Sent {
		j.TxHash = c.Old.paidByDead() // a payment that is known keeps its hash
		return c.retry(p, &e.By, JobNotSent, reason, 0)
	}
	if j.Live() {
		if !c.Old.live(e.Hash) {
			return c.refuse("Resolved", statemachine.ErrInvalid, "this is not a transaction on file")
		}
	} else {
		tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
		if err := c.wellFormed(&tx, "Resolved"); err != nil {
			return err
		}
		c.addTx(&e.By, tx)
	}
	c.startConfirming(e.At, e.Hash, e.At, false)
	return c.moveJob(JobFound, &e.By, reason)
}
