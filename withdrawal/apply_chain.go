package withdrawal

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

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
	known := final || c.shown && c.by.Role == Operator
	i := c.Old.find(e.Tx)
	if i >= 0 {
		e.Tx = c.Old.Txs[i].Hash
		if c.Old.Txs[i].Batch != uuid.Nil && !c.shown {
			return p.bareReceipt(c, e, i, final)
		}
	}
	if JobMachine.Terminal(j.Status) {
		if !known || c.endedBy(e, i) {
			return nil
		}
		return c.incident(e.Tx, c.claimOf(e, i), e.Block)
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	switch {
	case i < 0 && j.Status != JobConfirming:
		return c.refuse(statemachine.ErrIllegal, "")
	case i < 0:
		return c.refuse(statemachine.ErrInvalid, "no such transaction is on file")
	case i < int(j.TxsDead):
		if !known {
			return nil
		}
		return c.deadInBlock(e, i, final)
	case final && c.awaitsOperator(e):
		return nil
	}
	if err := c.allows(jobConfirm); err != nil {
		return err
	}
	if !gas(e.GasUsed, e.GasPrice) || len(e.Block.Hash) > MaxHash || !statemachine.Storable(e.Block.Hash) {
		return c.refuse(statemachine.ErrInvalid, badReceipt)
	}
	if !final {
		if e.Block.canonical() {
			j.Rebroadcast = false
		}
		return p.notYet(c)
	}
	return p.endBy(c, e, i)
}

// bareReceipt: transaction i, which pays many, is in a block, and nobody sees whom
// it pays. Where that contradicts the record it is refused, so that somebody looks.
func (p *Policy) bareReceipt(c *step, e *Receipt, i int, final bool) error {
	j := &c.Old.Job
	switch over := JobMachine.Terminal(j.Status); {
	case final && (i < int(j.TxsDead) || over) && !c.endedBy(e, i):
		return c.refuse(ErrInBatch, "it pays many, and had not counted any more: say BatchMined")
	case final && j.Status == JobConfirming && !j.Review:
		return c.park("mined, and it pays many: whether this one, an operator says with PaidBy: " + e.Tx)
	}
	return p.notYet(c)
}

// claimOf is the [Incident].Claim for a transaction in a block; i is its index on
// file, -1 if it is not there.
func (c *step) claimOf(e *Receipt, i int) IncidentClaim {
	switch {
	case e.Reverted:
		return ClaimReverted
	case c.cancels(i):
		return ClaimCancelMined
	}
	return ClaimMined
}

// cancels reports whether transaction i on file replaces the payment and pays
// nothing, as far as anybody has shown.
func (c *step) cancels(i int) bool { return i >= 0 && c.Old.Txs[i].Cancel && !c.shown }

// endedBy reports whether the job ended by this very transaction, as it is shown.
func (c *step) endedBy(e *Receipt, i int) bool {
	j := &c.Old.Job
	if j.EvidenceHash == "" || j.TxHash != e.Tx {
		return false
	}
	return j.Status == JobConfirmed && !e.Reverted || j.Status == JobFailed && i >= 0 && (e.Reverted || c.cancels(i))
}

// deadInBlock: transaction i was proven dead, and is in a block at depth, or an
// operator says that it pays. The proof was wrong.
func (c *step) deadInBlock(e *Receipt, i int, final bool) error {
	j, pays := &c.Old.Job, !e.Reverted && !c.cancels(i)
	if !pays && j.EvidenceHash == e.Block.Hash && c.Old.stray(j.TxHash, ClaimMined) >= 0 {
		return nil // it ended what was live, and a stray has joined the file for it: see endBy
	}
	if err := c.incident(e.Tx, c.claimOf(e, i), e.Block); err != nil || !pays {
		return err
	}
	if !final { // no evidence yet
		e.Block = Block{}
	}
	return c.contradicted(e, i)
}

// endBy ends the job by transaction i, which is in a block at depth: the job is paid, or failed if the transaction was
// reverted or replaced the payment. Then every other live transaction is dead, and a payment that is on record beside
// it is looked up instead.
func (p *Policy) endBy(c *step, e *Receipt, i int) error {
	trigger, text := jobRevert, "Transaction reverted"
	switch {
	case e.Reverted:
	case c.cancels(i):
		trigger, text = jobCancelled, "Cancelled by a replacing transaction"
	default:
		return c.confirm(e.Tx, &e.Block, e.GasUsed, e.GasPrice)
	}
	c.New.Job.EvidenceHeight, c.New.Job.EvidenceHash = e.Height, e.Block.Hash
	if joined, err := c.strayJoins(p); joined || err != nil {
		return err
	}
	c.mined(e.Tx, &e.Block, e.GasUsed, e.GasPrice)
	return c.fail(trigger, text, "", 0)
}

const badReceipt = "gas is a non-negative integer, a block hash has at most 100 bytes"

func gas(used, price Raw) bool {
	return used.Valid() && price.Valid() && used.Sign() >= 0 && price.Sign() >= 0
}

// mined sets what is known of the transaction that ends the job.
func (c *step) mined(hash string, b *Block, used, price Raw) {
	j := &c.New.Job
	j.TxHash, j.GasUsed, j.GasPrice = hash, used, price
	j.EvidenceHeight, j.EvidenceHash = b.Height, b.Hash
}

// confirm ends job and request: the payment is mined at depth.
func (c *step) confirm(hash string, b *Block, used, price Raw) error {
	c.mined(hash, b, used, price)
	c.newPair()
	c.New.Job.ErrorMessage = ""
	c.New.Request.FinalTxHash = hash
	c.finish()
	if err := c.moveJob(jobConfirm, ""); err != nil {
		return err
	}
	return c.moveRequest(onConfirmed, "")
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

// missing: the node does not know it. Time alone fails nothing.
func (p *Policy) missing(c *step, e *Missing) error {
	if err := c.evidence(); err != nil {
		return err
	}
	j := &c.New.Job
	if JobMachine.Terminal(j.Status) {
		early := c.said.Before(j.ProcessedAt) || c.by.Version != 0 && c.by.Version < j.Version // seen before the end
		if j.Status == JobConfirmed && statemachine.SameHash(e.Tx, j.TxHash) && e.Error == "" && !early {
			return c.incident(j.TxHash, ClaimMissing, Block{})
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
	if !statemachine.SameHash(e.Tx, j.TxHash) { // replaced: the node is right not to know it
		return nil
	}
	newest := c.Old.newestBytes()
	j.Rebroadcast = newest != nil && (newest.Cancel || !c.Old.elsewhere())
	if j.Rebroadcast || j.Review || e.Error != "" || c.by.At.Before(j.BroadcastAt.Add(p.AlertAfter)) {
		return nil
	}
	j.Review = true
	j.letGo()
	return c.moveJob(jobPark, "missing, and no bytes are on file that could be sent again")
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
	if (j.Review || e.Cause == LeftOut) && c.by.Role != Operator {
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
	if i < 0 && c.Old.stray(e.Tx, ClaimSent) >= 0 {
		return c.strayDead(e, final)
	}
	if JobMachine.Terminal(j.Status) {
		if final && j.Status == JobConfirmed && statemachine.SameHash(e.Tx, j.TxHash) {
			return c.incident(j.TxHash, ClaimDead, e.Block)
		}
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	if err := c.allows(jobProvenDead); err != nil {
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
	if toldPays(c.Old.Said, e.Tx, &c.Old.Request) {
		return c.refuse(statemachine.ErrInvalid, "it was told as Used, and pays this payee: say its receipt, or PaidBy")
	}
	if !final {
		j.NextCheckAt = c.by.At.Add(p.CheckEvery)
		return nil
	}
	c.outbound(e, &c.Old.Txs[i])
	j.EvidenceHeight, j.EvidenceHash = e.Height, e.Block.Hash
	j.TxsDead, j.Batch = j.TxsOnFile, uuid.Nil
	if c.paysNothing(e) && c.Old.stray(e.Other, ClaimMined) < 0 { // what a signer sent is settled too
		c.settle(e.Other)
	}
	// A payment that is known keeps its hash: the job fails, and is not requeued.
	j.TxHash, j.Nonce, j.HasNonce = c.Old.paidByDead(), 0, false
	if joined, err := c.strayJoins(p); joined || err != nil {
		return err
	}
	why := e.Cause.String()
	if word(e.Other) {
		why += " by " + e.Other
	}
	if e.Reason != "" {
		why += ": " + e.Reason
	}
	return c.retry(p, jobProvenDead, statemachine.Bounded(why, MaxText), 0)
}

// strayDead: a transaction that a signer says it sent, and that is not on file,
// cannot be mined any more, or was and does not pay. Only an operator can know.
func (c *step) strayDead(e *ProvenDead, final bool) error {
	s := &c.Old.Strays[c.Old.stray(e.Tx, ClaimSent)]
	if c.by.Role != Operator {
		return c.refuse(statemachine.ErrForbidden, "it is not on file: only an operator may say so")
	}
	if !s.SettledAt.IsZero() {
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	tx := Tx{Hash: s.Hash, Wallet: s.Wallet, Nonce: s.Nonce, HasNonce: s.HasNonce, Input: s.Input}
	if !(c.paysNothing(e) && statemachine.SameHash(e.Other, s.Hash)) && toldPays(c.Old.Said, s.Hash, &c.Old.Request) {
		return c.refuse(statemachine.ErrInvalid, "it was told as Used, and pays this payee: say PaidBy, or why it pays nothing")
	}
	if why := c.unprovenOf(e, &tx, true); why != "" {
		return c.refuse(statemachine.ErrInvalid, why)
	}
	if final {
		c.outbound(e, &tx)
		c.settle(s.Hash)
	}
	return nil
}

// outbound tells of an unknown outbound where what has used the nonce of tx at depth is on no file.
func (c *step) outbound(e *ProvenDead, tx *Tx) {
	_, is := c.ev.(ProvenDead) // else of a batch, which tells of it once for all members
	if !is || e.Cause != NonceUsed || !tx.HasNonce {
		return
	}
	c.outboundOf(tx.Wallet, tx.Nonce, e.Other, e.Height, &e.Block, "it was mined in place of "+tx.Hash)
}

// outboundOf tells of an unknown outbound, unless it was told as [Used] already: a transaction that is on no file, of no
// request and no signer of this one, has used a nonce of a hot wallet. That it pays this request says nothing of whom
// else it pays, nor of who has the key.
func (c *step) outboundOf(wallet uuid.UUID, nonce uint64, hash string, height uint64, block *Block, reason string) {
	known := c.Old.Owner.Valid || c.Old.find(hash) >= 0 || c.Old.stray(hash, ClaimSent) >= 0
	if wallet == uuid.Nil || known || toldUsed(c.Old.Said, wallet, nonce, hash) {
		return
	}
	row := c.unknown(wallet, nonce, hash, reason)
	row.Height, row.Block = height, block.Hash
	c.Said = append(c.Said, row)
}

// toldUsed reports whether a transaction was told as what has used a nonce of a wallet.
func toldUsed(said []Statement, wallet uuid.UUID, nonce uint64, hash string) bool {
	return slices.ContainsFunc(said, func(s Statement) bool {
		return s.Says == SaidUsed && s.Wallet == wallet && s.Number == nonce && statemachine.SameHash(s.Hash, hash)
	})
}

// toldPays reports whether a transaction was told as [Used], at depth, and pays the payee of a request.
func toldPays(said []Statement, hash string, r *Request) bool {
	i := slices.IndexFunc(said, func(s Statement) bool { return s.Says == SaidUsed && statemachine.SameHash(s.Hash, hash) })
	if i < 0 {
		return false
	}
	paysIt := func(s *Statement) bool { return SamePayee(s.Text, r.ToAddress) }
	return slices.ContainsFunc(knownOf(said, said[i].Wallet).used, func(tx *usedTx) bool {
		return statemachine.SameHash(tx.Hash, hash) && slices.ContainsFunc(tx.pays, paysIt)
	})
}

// unproven says what a proof of death lacks.
func (c *step) unproven(e *ProvenDead, i int) string {
	if i < 0 {
		return "no such transaction is on file"
	}
	if e.Cause == WindowEnded && len(c.Old.Live()) > 1 && !c.Old.Txs[i].HasNonce {
		return "a replacement may have a longer window"
	}
	return c.unprovenOf(e, &c.Old.Txs[i], false)
}

// paysNothing: an operator has looked at what was mined, which is said to be of
// this request, and says why it pays nothing: it reverted, or paid another amount.
func (c *step) paysNothing(e *ProvenDead) bool {
	return c.by.Role == Operator && e.NotThisPayment && e.Reason != "" && (e.Cause == NonceUsed || e.Cause == InputSpent)
}

// unprovenOf says what a proof of the death of tx lacks. A stray is not on file.
func (c *step) unprovenOf(e *ProvenDead, tx *Tx, stray bool) string {
	other := c.Old.find(e.Other)
	looked := c.paysNothing(e)
	decided := other >= 0 && (other < int(c.Old.Job.TxsDead) || JobMachine.Terminal(c.Old.Job.Status))
	switch {
	case !e.Cause.Valid():
		return "unknown cause " + e.Cause.String()
	case len(e.Block.Hash) > MaxHash || !statemachine.Storable(e.Block.Hash):
		return "a block hash has at most 100 bytes"
	case e.Cause == LeftOut && tx.Batch == uuid.Nil:
		return "it is the transaction of this request alone, and of no batch"
	case e.Cause == LeftOut:
		return ""
	case e.Cause == WindowEnded && tx.HasNonce:
		return "a transaction with a nonce has no window: it is dead when its nonce is used"
	case e.Cause == WindowEnded:
		return ""
	case !word(e.Other):
		return "the hash of the transaction that was mined instead is needed"
	case statemachine.SameHash(e.Other, tx.Hash) && !(stray && looked):
		return "what was mined instead is the transaction itself: send its receipt"
	case other >= 0 && c.Old.Txs[other].Hash != c.Old.paidByDead() && !(decided && looked):
		return "what was mined instead is a transaction of this request: send its receipt"
	case c.Old.stray(e.Other, ClaimSent) >= 0 && c.Old.stray(e.Other, ClaimMined) < 0 && !looked:
		return "what was mined instead is said to be sent for this request: send PaidBy, or say why it pays nothing"
	case !e.NotThisPayment && c.Old.stray(e.Other, ClaimMined) < 0: // which joins the file
		return "look at what was mined instead: NotThisPayment says that it does not pay this request, PaidBy that it does"
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
