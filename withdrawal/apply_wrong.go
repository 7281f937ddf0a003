package withdrawal

import (
	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// The law for a proof of death that was wrong: a transaction that was declared
// dead was mined.

const deadWasMined = "A transaction that was declared dead was mined: "

// disproved returns the index of the transaction that was declared dead and is
// known to be mined; -1 if there is none.
func (w *Withdrawal) disproved() int {
	if w.Request.Disproved == "" {
		return -1
	}
	return w.find(w.Request.Disproved)
}

// paidByDead returns the hash of that transaction if it counts as dead still;
// empty if there is none.
func (w *Withdrawal) paidByDead() string {
	if i := w.disproved(); i >= 0 && i < int(w.Job.TxsDead) {
		return w.Txs[i].Hash
	}
	return ""
}

// revived reports whether that transaction is live again.
func (w *Withdrawal) revived() bool {
	i := w.disproved()
	return i >= int(w.Job.TxsDead) // false for -1, on no file: TxsDead is 0 at least
}

// contradicted: transaction i was declared dead, and the chain shows it mined at depth. The payment stops: the job has
// no execution left, whatever follows, and an operator looks at it. If nothing else of the job is out, the transaction
// is live again, to be resolved as sent. If the record cannot say so, since later transactions were not exclusive with
// it or it is of an earlier job, the job fails with the hash, and is never requeued.
func (c *step) contradicted(e *Receipt, i int) error {
	j := &c.New.Job
	if known := c.Old.disproved(); j.Review && known >= 0 && (j.Live() || !c.revivable(i)) {
		return nil // an operator has it already
	}
	text := statemachine.Bounded(deadWasMined+e.Tx, MaxText)
	if r := &c.New.Request; r.Disproved == "" {
		r.Disproved, r.DisprovedBy = e.Tx, c.by.Actor
		c.why = text
	}
	executing := j.Status == JobProcessing && !j.Review
	out := j.Live() || !j.DispatchedAt.IsZero()
	if !out && !c.revivable(i) {
		j.TxHash, j.EvidenceHeight, j.EvidenceHash = e.Tx, e.Height, e.Block.Hash
		return c.fail(jobMaxRetries, text, text, statemachine.Unknown)
	}
	if executing {
		c.closeAttempt(c.by.At, statemachine.Unknown, text, j.TxHash)
	}
	j.RetryCount = j.MaxRetries
	j.ErrorMessage = text
	trigger := jobPark
	switch {
	case j.Live() && j.Status == JobProcessing:
		c.startConfirming(c.by.At, j.TxHash, c.by.At, false)
		trigger = jobUnknown
	case j.Live(): // confirming: what is out is looked up, and not sent again
		j.Rebroadcast = false
	case c.revivable(i):
		tx := &c.Old.Txs[i]
		j.TxsDead = int32(i)
		j.Nonce, j.HasNonce = tx.Nonce, tx.HasNonce
		if j.DispatchRef != "" {
			text = statemachine.Bounded(text+"; dispatched as "+j.DispatchRef, MaxText)
		}
		j.EvidenceHeight, j.EvidenceHash = e.Height, e.Block.Hash
		c.startConfirming(c.by.At, e.Tx, c.by.At, false)
		trigger = jobRevived
	}
	j.Review = true
	j.letGo()
	return c.moveJob(trigger, text)
}

// revivable: transaction i and all after it are of this job and exclusive.
func (c *step) revivable(i int) bool {
	txs := c.Old.Txs[i:]
	for k := range txs {
		tx := &txs[k]
		if tx.Job != c.Old.Job.ID || k > 0 && !txs[0].exclusive(tx.Wallet, tx.HasNonce, tx.Nonce, tx.Input) {
			return false
		}
	}
	return true
}

// awaitsOperator: the receipt is the one by which the transaction came back to life, whoever sends it again, and no
// operator has said Resolved yet. For a transaction of a batch, which pays many requests, an operator's PaidBy is the
// answer instead: it says by which output this request is paid. But if the PaidBy of the same operator brought the
// transaction back to life, a second one is only a repetition, unless it names the version of the job that the first
// one made.
func (c *step) awaitsOperator(e *Receipt) bool {
	j := &c.Old.Job
	same := c.by.Actor == c.Old.Request.DisprovedBy && c.by.Version != j.Version
	if i := c.Old.find(e.Tx); c.by.Role == Operator && i >= 0 && c.Old.Txs[i].Batch != uuid.Nil && !same {
		return false
	}
	return j.Review && !e.Reverted && c.Old.Request.Disproved == e.Tx && j.TxHash == e.Tx &&
		j.EvidenceHash == e.Block.Hash && j.EvidenceHeight == e.Height
}
