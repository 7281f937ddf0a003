package withdrawal

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// The law for payments under another hash: the death of a transaction is not
// the death of its payment.

// paidBy files a transaction that pays the request and was not on file.
//
// The transaction joins the file if nothing is live, or if it and what is live can never both be mined; it is then
// confirmed like any other. If something live can still be mined beside it, or the record is over, the payment is an
// incident. Beside something live an operator has the job, and e.Tx joins the file once the live transactions are
// proven dead. If the transaction was declared dead, or the job has ended, an operator's word is an incident at any
// depth, so that nothing is paid before it is resolved.
func (p *Policy) paidBy(c *step, e *PaidBy) error {
	r, j := &c.New.Request, &c.New.Job
	tx := txFacts{Hash: e.Tx, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input, ByOutput: true, Output: e.Output}
	onFile := c.Old.find(e.Tx)
	fits := j.Live() && c.Old.exclusiveWithLive(&tx)
	if c.by.Role != Operator && onFile < 0 && !fits {
		return c.refuse(statemachine.ErrForbidden, "it has not the nonce or input of what is live: only an operator may say so")
	}
	name, stray := e.Tx, c.Old.stray(e.Tx, ClaimMined)
	further := c.Old.further(onFile, stray, e.Output)
	if further { // it pays this request twice
		name = outpoint(e.Tx, e.Output)
	}
	// A stray that was told without its nonce joins the file once the nonce is told.
	joins := fits && r.Status == RequestQueued
	known := (onFile < 0 && stray >= 0 && !joins || further) && r.Told.has(told{claim: ClaimMined, hash: name})
	final := e.Block.final(p.chain(r.Chain).Confirmations)
	version := c.jobVersion
	if j.Status == 0 {
		version = c.requestVersion
	}
	if err := version(); err != nil {
		switch over := JobMachine.Terminal(j.Status); {
		case onFile >= int(j.TxsDead) && !over && (!final || c.awaitsOperator(&Receipt{Block: e.Block, Tx: c.Old.Txs[onFile].Hash})), known:
			return nil // the same event again
		case onFile < 0 || !over: // after the end no version counts
			return err
		}
	}
	switch {
	case r.Status == 0 || r.Status == RequestPending:
		return c.refuseRequest(statemachine.ErrIllegal, "nothing of it can have been paid")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded()
	case known:
		return nil
	}
	if why := c.notThis(e); why != "" {
		return c.refuse(statemachine.ErrInvalid, why)
	}
	if onFile >= 0 {
		switch of := &c.Old.Txs[onFile]; {
		case !further:
		case of.Batch != uuid.Nil && !statemachine.SameHash(r.FinalTxHash, e.Tx):
			return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("it pays this request by output %d", of.Output))
		case c.by.Role != Operator && !final:
			return p.notYet(c)
		default:
			return c.incident(name, ClaimMined, e.Block)
		}
		c.shown = true
		return p.receipt(c, &Receipt{By: e.By, Block: e.Block, Tx: e.Tx, GasUsed: e.GasUsed, GasPrice: e.GasPrice})
	}
	if err := c.wellFormed(&tx); err != nil {
		return err
	}
	if owner := c.Old.Owner; owner.Valid {
		return c.refuseRequest(&TakenError{ErrPaymentTaken, owner.UUID}, "")
	}
	if final {
		c.skipped(&tx)
	}
	text := statemachine.Bounded("paid by "+e.Tx+": "+e.Reason, MaxText)
	queued := r.Status == RequestQueued
	if c.by.Role != Operator && (!e.Block.canonical() || !queued && !final) {
		return p.notYet(c)
	}
	if tx.HasNonce && !c.Old.Recovering { // after a restore Unsettled asks
		c.outboundOf(j.Wallet, tx.Nonce, tx.Hash, e.Block.Height, &e.Block, "it pays a request, and was on no file")
	}
	if queued && (fits || !j.Live()) {
		c.joins(p, tx, text)
		if err := c.moveJob(jobPaidBy, text); err != nil || !final {
			return err
		}
		return c.confirm(e.Tx, &e.Block, e.GasUsed, e.GasPrice)
	}
	if err := c.incident(name, ClaimMined, e.Block); err != nil {
		return err
	}
	if stray < 0 {
		c.addStray(ClaimMined, tx, 0)
	}
	if !queued {
		return nil
	}
	return c.park(text)
}

// further reports whether e shows that a transaction pays the request by another output than the one already known, on
// file or as a stray that was mined. It is false for a stray of a queued request, whose job is in review: an operator
// finds that out.
func (w *Withdrawal) further(onFile, stray int, output uint32) bool {
	switch {
	case onFile >= 0:
		return w.Txs[onFile].ByOutput && w.Txs[onFile].Output != output
	case stray >= 0 && w.Request.Status != RequestQueued:
		return w.Strays[stray].ByOutput && w.Strays[stray].Output != output
	}
	return false
}

// outpoint names an output of a transaction, as Bitcoin writes it: the hash, a colon, the index.
func outpoint(hash string, output uint32) string {
	return hash + ":" + strconv.FormatUint(uint64(output), 10)
}

// joins puts a transaction that pays on file, as the live one to look up.
func (c *step) joins(p *Policy, tx txFacts, text string) {
	j := &c.New.Job
	if j.Status == JobProcessing && !c.Old.Job.Review {
		c.closeAttempt(c.by.At, statemachine.Unknown, text, tx.Hash)
	}
	sent := j.BroadcastAt
	c.addTx(tx)
	j.RetryCount = max(j.RetryCount, 1)
	c.startConfirming(c.by.At, tx.Hash, c.by.At.Add(p.CheckEvery), false)
	if !sent.IsZero() {
		j.BroadcastAt = sent
	}
}

// strayJoins puts the first stray that was mined, and is not settled, on file,
// now that nothing that is on file can be mined any more; false if there is none.
func (c *step) strayJoins(p *Policy) (bool, error) {
	for _, s := range c.New.Strays {
		if s.Claim == ClaimMined && s.SettledAt.IsZero() {
			j := &c.New.Job
			j.TxsDead, j.Batch, j.Nonce, j.HasNonce = j.TxsOnFile, uuid.Nil, 0, false
			text := statemachine.Bounded("paid by "+s.Hash, MaxText)
			c.joins(p, txFacts{Hash: s.Hash, Raw: s.Raw, Nonce: s.Nonce, HasNonce: s.HasNonce, Input: s.Input,
				ByOutput: s.ByOutput, Output: s.Output}, text)
			return true, c.moveJob(jobPaidBy, text)
		}
	}
	return false, nil
}

// notYet: evidence below its depth, or of another chain, changes nothing but
// the next check.
func (p *Policy) notYet(c *step) error {
	if j := &c.New.Job; j.Status == JobConfirming {
		j.NextCheckAt = c.by.At.Add(p.CheckEvery)
	}
	return nil
}

// notThis says why what e shows is not the payment of this request.
func (c *step) notThis(e *PaidBy) string {
	r, j := &c.Old.Request, &c.Old.Job
	switch {
	case e.Reverted:
		return "a reverted transaction pays nothing: it is the death of what is on file"
	case !statemachine.SameHash(e.Payee, r.ToAddress):
		return "it pays another address"
	case j.Status != 0 && e.AssetOnChain != j.AssetOnChain:
		return "it pays another asset"
	case e.AmountRaw != r.AmountRaw:
		return "it pays another amount"
	case j.DispatchRef != "" && e.Reference != j.DispatchRef:
		return "it has another reference than the dispatch"
	case c.by.Role == Operator && e.Reason == "":
		return "an operator gives a reason"
	case !gas(e.GasUsed, e.GasPrice) || len(e.Block.Hash) > MaxHash || !statemachine.Storable(e.Block.Hash):
		return badReceipt
	}
	return ""
}

// cannotTell parks a job whose nonce or input another transaction has used that
// may be its payment.
func (c *step) cannotTell(e *CannotTell) error {
	if err := c.evidence(); err != nil {
		return err
	}
	j := &c.New.Job
	i := c.Old.find(e.Tx)
	if j.Status == JobConfirming && (j.Review || i >= 0 && i < int(j.TxsDead)) {
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	switch {
	case j.Status != JobConfirming:
		return c.refuse(statemachine.ErrIllegal, "")
	case i < 0:
		return c.refuse(statemachine.ErrInvalid, "no such transaction is on file")
	case !word(e.Other):
		return c.refuse(statemachine.ErrInvalid, "the hash of the other transaction is needed")
	case c.Old.live(e.Other):
		return c.refuse(statemachine.ErrInvalid, "the other transaction is on file: send its receipt")
	}
	if tx := &c.Old.Txs[i]; tx.HasNonce {
		c.outboundOf(tx.Wallet, tx.Nonce, e.Other, 0, &Block{}, "it was mined in place of "+tx.Hash+", and may pay a request")
	}
	return c.park("cannot tell whether " + e.Other + " pays it: " + e.Reason)
}
