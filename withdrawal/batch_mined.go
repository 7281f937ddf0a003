package withdrawal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// The law for a batch whose nonce or input is used: one commit decides all that
// it has.

// mined decides every member at depth. Evidence after the end concerns those
// alone whose record it contradicts.
func (c *batchStep) mined(e *BatchMined) error {
	b := &c.New.Batch
	version := c.Old.find(e.Tx)
	switch {
	case b.Status == 0:
		return c.refuse(statemachine.ErrIllegal, "")
	case c.by.Version != 0 && c.by.Version != b.Version && !BatchMachine.Terminal(b.Status):
		return c.current(batchConfirm)
	case int(b.TxsOnFile) != len(c.Old.Txs):
		return c.refuse(statemachine.ErrInvalid, "not all versions of the batch were loaded")
	case !word(e.Tx) || !gas(e.GasUsed, e.GasPrice) || len(e.Block.Hash) > MaxHash || !statemachine.Storable(e.Block.Hash):
		return c.refuse(statemachine.ErrInvalid, badReceipt)
	case len(e.Transfers) > MaxTransfers:
		return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("at most %d transfers are shown: leave out those to other payees", MaxTransfers))
	case repeats(e.Transfers):
		return c.refuse(statemachine.ErrInvalid, "each output is shown once")
	case c.by.Role == Operator && e.Reason == "":
		return c.refuse(statemachine.ErrInvalid, "an operator gives a reason")
	case version >= 0:
		e.Tx = c.Old.Txs[version].Hash
	case e.HasNonce != b.HasNonce || e.Nonce != b.Nonce || e.Input != b.Input:
		return c.refuse(statemachine.ErrInvalid, "it is no version of the batch, and has not its nonce or input: both could be mined")
	case !e.Looked && !e.Reverted:
		return c.refuse(statemachine.ErrInvalid, "it is no version of the batch: somebody looks at what it pays, or says BatchCannotTell")
	}
	if !e.Block.final(c.policy.chain(b.Chain).Confirmations) {
		if b.Status == BatchConfirming {
			b.NextCheckAt = c.by.At.Add(c.policy.CheckEvery)
			b.Rebroadcast = b.Rebroadcast && !e.Block.canonical()
		}
		return nil
	}
	c.own()
	outputs := c.Old.PaidOutputs(e)
	further := c.Old.furtherOutputs(e, outputs)
	again := b.EvidenceHash != "" && b.EvidenceHash == e.Block.Hash && statemachine.SameHash(b.TxHash, e.Tx) // it was decided on
	for i := range c.New.Members {
		err := c.member(i, func(s *step) error {
			if err := c.decide(s, e, outputs[i], again); err != nil {
				return err
			}
			if err := s.leaves(b, "the batch was mined: "+e.Tx); err != nil { // what a person knew of it already
				return err
			}
			for _, output := range further[i] {
				if err := s.incident(outpoint(e.Tx, output), ClaimMined, e.Block); err != nil {
					return err
				}
			}
			return nil
		})
		if refused := new(statemachine.Refusal); errors.As(err, &refused) && c.stays(i, again, refused) { // no reason to stop the others
			err = c.member(i, func(s *step) error { return s.leaves(b, "the batch was mined: "+refused.Error()) })
		}
		if err != nil {
			return err
		}
	}
	if b.Status != BatchConfirming {
		return nil
	}
	trigger := batchConfirm
	switch {
	case version < 0:
		trigger = batchDead
		c.outbound(e)
	case e.Reverted:
		trigger = batchRevert
	}
	b.TxHash, b.EvidenceHeight, b.EvidenceHash, b.GasUsed, b.GasPrice = e.Tx, e.Height, e.Block.Hash, e.GasUsed, e.GasPrice
	b.NextCheckAt, b.Rebroadcast, b.EndedAt, b.Lease = time.Time{}, false, c.by.At, b.Lease.Release()
	return c.move(trigger, statemachine.Bounded(strings.TrimSuffix(e.Tx+": "+e.Reason, ": "), MaxText))
}

// outbound tells of an unknown outbound where what was mined with the nonce of the batch is on no file.
func (c *batchStep) outbound(e *BatchMined) {
	b := &c.New.Batch
	if !b.HasNonce || c.Old.Owner.Valid || toldUsed(c.Old.Said, b.Wallet, b.Nonce, e.Tx) {
		return
	}
	c.Said = append(c.Said, Statement{Chain: b.Chain, Wallet: b.Wallet, Generation: c.Old.Generation, Says: SaidUnknown, Number: b.Nonce,
		Hash: e.Tx, Height: e.Height, Block: e.Block.Hash, Reason: "it was mined in place of " + c.Old.Batch.TxHash,
		Actor: c.by.Actor, At: c.by.At})
}

func repeats(all []Transfer) bool {
	seen := make(map[uint32]bool, len(all))
	for i := range all {
		seen[all[i].Output] = true
	}
	return len(seen) != len(all)
}

// Outcomes of PaidOutputs beside an output.
const (
	paysNothing = -1
	maybePays   = -2 // nobody can tell
)

// PaidOutputs returns by which output the transaction of e pays each member, in the order of Members: -1 by none, -2 if
// nobody can tell. A member that has the transaction on file is paid by the output on file. Any other member is paid by
// an output that equals what its request asks for, each output paying one member, also if the bytes of a version pay
// more than its file says. If a payee gets outputs, but fewer that equal the request than there are members with the
// same payee, asset and amount, nobody can tell for these members.
func (b *Payout) PaidOutputs(e *BatchMined) []int64 {
	shown := make(map[uint32]*Transfer, len(e.Transfers))
	for i := range e.Transfers {
		shown[e.Transfers[i].Output] = &e.Transfers[i]
	}
	outputs, filed, has := make([]int64, len(b.Members)), make([]bool, len(b.Members)), map[uint32]bool{}
	for i := range b.Members {
		w := &b.Members[i]
		outputs[i] = paysNothing
		k := w.find(e.Tx)
		if k < 0 || !w.Txs[k].ByOutput {
			continue
		}
		output := w.Txs[k].Output
		filed[i], has[output] = true, true
		if shown[output] != nil && w.unlike(shown[output]) == "" {
			outputs[i] = int64(output)
			delete(shown, output)
		}
	}
	equal, payees := map[Transfer][]uint32{}, map[string]bool{}
	for i := range e.Transfers {
		if t := e.Transfers[i]; shown[t.Output] != nil {
			key := Transfer{Payee: statemachine.HashForm(t.Payee), AssetOnChain: t.AssetOnChain, AmountRaw: t.AmountRaw}
			if payees[key.Payee] = true; !has[t.Output] {
				equal[key] = append(equal[key], t.Output)
			}
		}
	}
	due := func(w *Withdrawal) Transfer {
		return Transfer{Payee: statemachine.HashForm(w.Request.ToAddress), AssetOnChain: w.Job.AssetOnChain, AmountRaw: w.Request.AmountRaw}
	}
	short := map[Transfer]bool{} // what is due to more than are paid
	for i := range b.Members {
		switch key := due(&b.Members[i]); {
		case filed[i]:
		case len(equal[key]) > 0:
			outputs[i], equal[key] = int64(equal[key][0]), equal[key][1:]
		case payees[key.Payee]:
			short[key] = true
		}
	}
	for i := range b.Members {
		if !filed[i] && short[due(&b.Members[i])] {
			outputs[i] = maybePays
		}
	}
	return outputs
}

// furtherOutputs returns the outputs that are shown beside those that pay the members, and are
// equal to what one of them is paid: that member is paid twice. Of equal members it is the first.
func (b *Payout) furtherOutputs(e *BatchMined, outputs []int64) map[int][]uint32 {
	var further map[int][]uint32
	for k := range e.Transfers {
		t := &e.Transfers[k]
		if e.Reverted || slices.Contains(outputs, int64(t.Output)) {
			continue
		}
		for i := range outputs {
			if outputs[i] >= 0 && b.Members[i].unlike(t) == "" {
				if further == nil {
					further = map[int][]uint32{}
				}
				further[i] = append(further[i], t.Output)
				break
			}
		}
	}
	return further
}

// stays reports whether the refusal of member i stops no other member. While the batch has the member, an operator gets
// it. After the end of the batch no operator does; then only a refusal that was known before, of a transaction that is
// another request's, is passed over, and any other stops the event.
func (c *batchStep) stays(i int, again bool, refused error) bool {
	return c.Old.Has(&c.Old.Members[i]) || again && errors.Is(refused, ErrPaymentTaken)
}

// decide is what a transaction that is mined at depth means for one member.
func (c *batchStep) decide(s *step, e *BatchMined, output int64, again bool) error {
	b, j := &c.New.Batch, &s.Old.Job
	_, filed := c.Old.Pays(e.Tx, &s.Old)
	switch {
	case filed && (e.Reverted || output >= 0):
		s.shown = true
		return c.policy.receipt(s, &Receipt{By: s.by, Block: e.Block, Tx: e.Tx, Reverted: e.Reverted})
	case output == paysNothing && j.Status == JobConfirmed && statemachine.SameHash(j.TxHash, e.Tx):
		return s.incident(j.TxHash, ClaimLeftOut, e.Block)
	case filed && j.Status != JobConfirmed:
		return s.leaves(b, "mined without it: "+e.Tx)
	case filed || e.Reverted || output == paysNothing:
		return c.cannotBePaid(s, e)
	case output == maybePays:
		return c.unclear(s, e, again)
	}
	paid := PaidBy{By: s.by, Block: e.Block, Tx: e.Tx, Output: uint32(output), Payee: s.Old.Request.ToAddress, AssetOnChain: j.AssetOnChain,
		AmountRaw: s.Old.Request.AmountRaw, Input: b.Input, Reason: e.Reason}
	if j.Wallet == b.Wallet { // a later job may have another wallet, whose nonce it is not
		paid.Nonce, paid.HasNonce = b.Nonce, b.HasNonce
	}
	return c.policy.paidBy(s, &paid)
}

// unclear: nobody can tell whether the mined transaction pays the member. If the member is completed by a transaction
// that cannot be mined beside it, the mined one does not pay it. For any other member that has left the batch the event
// is refused, so that somebody looks.
func (c *batchStep) unclear(s *step, e *BatchMined, again bool) error {
	switch {
	case c.Old.Has(&s.Old):
		return s.leaves(&c.New.Batch, "cannot tell whether "+e.Tx+" pays it")
	case s.Old.live(e.Tx) || s.Old.stray(e.Tx, ClaimMined) >= 0 || again && s.Old.Job.Review: // an operator has said it, or will
		return nil
	case c.gone(s):
		return c.cannotBePaid(s, e)
	case s.by.Role == Operator:
		return s.refuse(statemachine.ErrInvalid, "nobody can tell whether "+e.Tx+" pays it: hold it, and leave the transfers to its address out")
	}
	return s.refuse(statemachine.ErrForbidden, "it has left the batch, and nobody can tell whether "+e.Tx+
		" pays it: only an operator may say so")
}

// gone reports whether the member is completed by a transaction that has the nonce or
// input of the batch, and so cannot be mined where another one with it is.
func (c *batchStep) gone(s *step) bool {
	b, j := &c.Old.Batch, &s.Old.Job
	i := s.Old.find(j.TxHash)
	return j.Status == JobConfirmed && i >= 0 && s.Old.Txs[i].exclusive(b.Wallet, b.HasNonce, b.Nonce, b.Input)
}

// cannotBePaid: what is mined does not pay the member, so nothing of the batch
// can any more.
func (c *batchStep) cannotBePaid(s *step, e *BatchMined) error {
	b, j := &c.New.Batch, &s.Old.Job
	switch {
	case !c.Old.Has(&s.Old) && !c.gone(s):
		return nil
	case j.Review && s.by.Role != Operator:
		return s.leaves(b, "mined without it: "+e.Tx)
	}
	cause := InputSpent
	if b.HasNonce {
		cause = NonceUsed
	}
	return c.policy.provenDead(s, &ProvenDead{By: s.by, Block: e.Block, Tx: j.TxHash, Cause: cause, Other: e.Tx,
		Nonce: b.Nonce, Input: b.Input, NotThisPayment: true})
}

// leaves takes a member out of its batch and gives it to an operator, who says
// [PaidBy] of what was mined, or [ProvenDead], with LeftOut where a version was
// to pay the member and did not.
func (c *step) leaves(b *Batch, text string) error {
	j := &c.New.Job
	if j.Batch == uuid.Nil || j.Batch != b.ID {
		return nil
	}
	j.Batch = uuid.Nil
	return c.park(text)
}

// cannotTell parks all members.
func (c *batchStep) cannotTell(e *BatchCannotTell) error {
	if BatchMachine.Terminal(c.Old.Batch.Status) {
		return nil // what was seen before the end
	}
	if err := c.current(batchDead); err != nil {
		return err
	}
	if !word(e.Other) || c.Old.find(e.Other) >= 0 {
		return c.refuse(statemachine.ErrInvalid, "the hash of another transaction is needed")
	}
	c.own()
	for i := range c.New.Members {
		if w := &c.New.Members[i]; !c.Old.Has(w) || w.Job.Review {
			continue
		}
		err := c.member(i, func(s *step) error {
			return s.park("cannot tell whether " + e.Other + " pays it: " + e.Reason)
		})
		if err != nil {
			return err
		}
	}
	return c.check(c.New.Batch.Rebroadcast)
}
