package withdrawal

import (
	"fmt"
	"strings"

	"github.com/settlehq/settle/statemachine"
)

// final reports whether the block is canonical and at least threshold deep:
// head - height + 1 >= threshold.
func (b *Block) final(threshold uint64) bool {
	return threshold > 0 && b.canonical() && b.Head-b.Height >= threshold-1
}

func (b *Block) canonical() bool { return b.Hash != "" && b.Hash == b.Canonical && b.Head >= b.Height }

// receipt: the transaction is in a block.
func (p *Policy) receipt(c *step, e *Receipt) error {
	if err := c.evidence(); err != nil {
		return err
	}
	j := &c.New.Job
	final := e.Block.final(p.chain(j.Chain).Confirmations)
	i := c.Old.find(e.Tx)
	claim := ClaimMined
	switch {
	case e.Reverted:
		claim = "reverted"
	case i >= 0 && c.Old.Txs[i].Cancel: // it paid nothing
		claim = "cancel mined"
	}
	if JobMachine.Terminal(j.Status) {
		ended := j.EvidenceHash != "" && j.TxHash == e.Tx
		agrees := j.Status == JobConfirmed && ended && !e.Reverted ||
			j.Status == JobFailed && ended && i >= 0 && (e.Reverted || c.Old.Txs[i].Cancel)
		if final && !agrees {
			return c.incident(e.Tx, claim, e.Block)
		}
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	switch {
	case i < 0 && j.Status != JobConfirming:
		return c.refuse(statemachine.ErrIllegal, "")
	case i < 0:
		return c.refuse(statemachine.ErrInvalid, "no such transaction is on file")
	case i < int(j.TxsDead): // it was proven dead: the proof was wrong
		if !final {
			return nil
		}
		if err := c.incident(e.Tx, claim, e.Block); err != nil || e.Reverted || c.Old.Txs[i].Cancel {
			return err
		}
		return c.contradicted(e, i)
	case final && c.awaitsOperator(e):
		return nil
	}
	if err := c.allows(JobConfirm); err != nil {
		return err
	}
	if !e.GasUsed.Valid() || !e.GasPrice.Valid() || e.GasUsed.Sign() < 0 || e.GasPrice.Sign() < 0 || len(e.Block.Hash) > MaxHash || !statemachine.Storable(e.Block.Hash) {
		return c.refuse(statemachine.ErrInvalid, "gas is a non-negative integer, a block hash has at most 100 bytes")
	}
	if !final {
		j.NextCheckAt = c.by.At.Add(p.CheckEvery)
		if e.Block.canonical() {
			j.Rebroadcast = false
		}
		return nil
	}
	j.TxHash, j.GasUsed, j.GasPrice = e.Tx, e.GasUsed, e.GasPrice
	j.EvidenceHeight, j.EvidenceHash = e.Height, e.Block.Hash
	switch {
	case e.Reverted:
		return c.fail(JobRevert, "Transaction reverted", "", 0)
	case c.Old.Txs[i].Cancel:
		return c.fail(JobCancelled, "Cancelled by a replacing transaction", "", 0)
	}
	c.newPair()
	j.ErrorMessage = ""
	c.New.Request.FinalTxHash = e.Tx
	c.finish()
	if err := c.moveJob(JobConfirm, ""); err != nil {
		return err
	}
	return c.moveRequest(OnConfirmed, "")
}

// ClaimMined is the claim of an [Incident] that says that something was paid.
const ClaimMined = "mined"

const deadWasMined = "A transaction that was declared dead was mined: "

// deadAndMined returns the transaction that was declared dead and is known to
// be mined, while the job is not over: its index and hash; -1 if there is none.
func (w *Withdrawal) deadAndMined() (i int, hash string) {
	hash, ok := strings.CutPrefix(w.Job.ErrorMessage, deadWasMined)
	if !ok {
		return -1, ""
	}
	return w.find(hash), hash
}

// paidByDead returns the hash of that transaction if it counts as dead still;
// empty if there is none.
func (w *Withdrawal) paidByDead() string {
	if i, hash := w.deadAndMined(); i >= 0 && i < int(w.Job.TxsDead) {
		return hash
	}
	return ""
}

// revived reports whether that transaction is live again.
func (w *Withdrawal) revived() bool {
	i, _ := w.deadAndMined()
	return i >= int(w.Job.TxsDead) // which is not negative
}

// contradicted: transaction i was declared dead, and the chain shows it mined
// at depth. The payment stops: the job has no execution left, whatever follows,
// and an operator looks at it. Where nothing of it is out, the transaction is
// live again, to be resolved as sent; if the record cannot say so, since later
// ones were not exclusive with it or it is of an earlier job, the job fails
// with the hash, and is never requeued.
func (c *step) contradicted(e *Receipt, i int) error {
	j := &c.New.Job
	if known, _ := c.Old.deadAndMined(); j.Review && known >= 0 && (j.Live() || !c.revivable(i)) {
		return nil // an operator has it already
	}
	text := statemachine.Bounded(deadWasMined+e.Tx, MaxText)
	executing := j.Status == JobProcessing && !j.Review
	out := j.Live() || !j.DispatchedAt.IsZero()
	if !out && !c.revivable(i) {
		j.TxHash, j.EvidenceHeight, j.EvidenceHash = e.Tx, e.Height, e.Block.Hash
		return c.fail(JobMaxRetries, text, text, statemachine.Unknown)
	}
	if executing {
		c.closeAttempt(c.by.At, statemachine.Unknown, text, j.TxHash)
	}
	j.RetryCount = j.MaxRetries
	j.ErrorMessage = text
	trigger := JobPark
	switch {
	case j.Live() && j.Status == JobProcessing:
		c.startConfirming(c.by.At, j.TxHash, c.by.At, false)
		trigger = JobUnknown
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
		trigger = JobRevived
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

// awaitsOperator: this is the receipt by which the transaction came back to
// life, and nobody has looked at it yet.
func (c *step) awaitsOperator(e *Receipt) bool {
	j := &c.Old.Job
	return j.Review && !e.Reverted && j.RetryCount >= j.MaxRetries && j.TxHash == e.Tx &&
		j.EvidenceHash == e.Block.Hash && j.EvidenceHeight == e.Height
}

// evidence checks that there is a job with its transactions loaded.
func (c *step) evidence() error {
	j := &c.Old.Job
	switch {
	case j.Status == 0:
		return c.refuse(statemachine.ErrIllegal, "it has no job")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded()
	}
	return nil
}

// incident records a contradiction. Of itself it moves nothing, and nothing is
// sent again.
func (c *step) incident(hash, claim string, b Block) error {
	j := &c.Old.Job
	if !word(hash) || len(b.Hash) > MaxHash || !statemachine.Storable(b.Hash) {
		return c.refuse(statemachine.ErrInvalid, "a hash has 1 to 100 bytes")
	}
	c.Incidents = append(c.Incidents, Incident{Request: j.Request, Job: j.ID, Hash: hash, Claim: claim,
		BlockHash: b.Hash, Height: b.Height, Status: j.Status, Actor: c.by.Actor, At: c.by.At})
	c.New.Mined = c.New.Mined || claim == ClaimMined
	return nil
}

// missing: the node does not know it. Time alone fails nothing.
func (p *Policy) missing(c *step, e *Missing) error {
	if err := c.evidence(); err != nil {
		return err
	}
	j := &c.New.Job
	if JobMachine.Terminal(j.Status) {
		early := c.by.At.Before(j.ProcessedAt) || c.by.Version != 0 && c.by.Version < j.Version // seen before the end
		if j.Status == JobConfirmed && e.Tx == j.TxHash && e.Error == "" && !early {
			return c.incident(e.Tx, "missing", Block{})
		}
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	switch i := c.Old.find(e.Tx); {
	case i >= 0 && i < int(j.TxsDead):
		return nil
	case j.Status != JobConfirming:
		return c.refuse(statemachine.ErrIllegal, "")
	case i < 0:
		return c.refuse(statemachine.ErrInvalid, "no such transaction is on file")
	}
	j.NextCheckAt = c.by.At.Add(p.CheckEvery)
	if e.Tx != j.TxHash { // replaced: the node is right not to know it
		return nil
	}
	j.Rebroadcast = c.Old.newestBytes() != nil
	if j.Rebroadcast || j.Review || e.Error != "" || c.by.At.Before(j.BroadcastAt.Add(p.AlertAfter)) {
		return nil
	}
	j.Review = true
	j.letGo()
	return c.moveJob(JobPark, "missing, and no bytes are on file")
}

// newestBytes returns the newest live transaction with bytes on file, or nil.
func (w *Withdrawal) newestBytes() *Tx {
	live := w.Live()
	for i := len(live) - 1; i >= 0; i-- {
		if len(live[i].Raw) > 0 {
			return &live[i]
		}
	}
	return nil
}

// provenDead is the only way from a transaction on file to another execution.
func (p *Policy) provenDead(c *step, e *ProvenDead) error {
	j := &c.New.Job
	if j.Review && c.by.Role != Operator {
		return c.refuse(statemachine.ErrForbidden, "in review only an operator may say so")
	}
	if err := c.evidence(); err != nil {
		return err
	}
	final := e.Block.final(p.chain(j.Chain).Confirmations)
	i := c.Old.find(e.Tx)
	if i >= 0 && i < int(j.TxsDead) {
		return nil
	}
	if JobMachine.Terminal(j.Status) {
		if final && j.Status == JobConfirmed && e.Tx == j.TxHash {
			return c.incident(e.Tx, "dead", e.Block)
		}
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	if err := c.allows(JobProvenDead); err != nil {
		return err
	}
	if i >= 0 && c.by.Role != Operator && !c.Old.Txs[i].HasNonce && c.Old.Txs[i].Input == "" {
		return c.refuse(statemachine.ErrForbidden, "it has neither nonce nor input: only an operator may say so")
	}
	if j.Review && c.Old.revived() {
		return c.refuse(statemachine.ErrIllegal, "it was mined although it had been declared dead: resolve it as sent")
	}
	if why := c.unproven(e, i); why != "" {
		return c.refuse(statemachine.ErrInvalid, why)
	}
	if !final {
		j.NextCheckAt = c.by.At.Add(p.CheckEvery)
		return nil
	}
	j.EvidenceHeight, j.EvidenceHash = e.Height, e.Block.Hash
	j.TxsDead = j.TxsOnFile
	// A payment that is known keeps its hash: the job fails, and is not requeued.
	j.TxHash, j.Nonce, j.HasNonce = c.Old.paidByDead(), 0, false
	return c.retry(p, JobProvenDead, e.Cause.String(), 0)
}

// unproven says what a proof of death lacks.
func (c *step) unproven(e *ProvenDead, i int) string {
	if i < 0 {
		return "no such transaction is on file"
	}
	tx := &c.Old.Txs[i]
	other := c.Old.find(e.Other)
	switch {
	case !e.Cause.Valid():
		return "unknown cause " + e.Cause.String()
	case len(e.Block.Hash) > MaxHash || !statemachine.Storable(e.Block.Hash):
		return "a block hash has at most 100 bytes"
	case e.Cause == WindowEnded && tx.HasNonce:
		return "a transaction with a nonce has no window: it is dead when its nonce is used"
	case e.Cause == WindowEnded && len(c.Old.Live()) > 1:
		return "a replacement may have a longer window"
	case e.Cause == WindowEnded:
		return ""
	case !word(e.Other):
		return "the hash of the transaction that was mined instead is needed"
	case other >= 0 && e.Other != c.Old.paidByDead():
		return "what was mined instead is a transaction of this request: send its receipt"
	case !tx.HasNonce && tx.Input == "": // an operator's word
		return ""
	case other >= 0 && !tx.exclusive(c.Old.Txs[other].Wallet, c.Old.Txs[other].HasNonce, c.Old.Txs[other].Nonce, c.Old.Txs[other].Input):
		return "what was mined has another nonce or input"
	case e.Cause == NonceUsed && !tx.HasNonce:
		return "the transaction has no nonce"
	case e.Cause == NonceUsed && e.Nonce != tx.Nonce:
		return fmt.Sprintf("the transaction has nonce %d, not %d", tx.Nonce, e.Nonce)
	case e.Cause == InputSpent && tx.Input == "":
		return "the transaction has no input on file"
	case e.Cause == InputSpent && e.Input != tx.Input:
		return "this is not the input of the transaction"
	}
	return ""
}
