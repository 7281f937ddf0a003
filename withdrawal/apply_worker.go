package withdrawal

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// claim counts the execution, once. In confirming it only takes the lease,
// for a re-broadcast or a rebump.
func (p *Policy) claim(c *step, e *Claimed) error {
	j := &c.New.Job
	if e.Fence != 0 && e.Fence == j.Lease.Fence && j.Lease.Held(c.by.At) && j.Lease.Holder == c.by.Actor {
		return nil
	}
	if e.Fence != 0 && e.Fence != j.Lease.Fence+1 {
		return c.refuse(statemachine.ErrFenced, fmt.Sprintf("the next fence is %d", j.Lease.Fence+1))
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	if j.Lease.Taken(c.by.At, p.Lease) {
		return c.refuse(statemachine.ErrHeld, "by "+j.Lease.Holder)
	}
	if j.Status == JobConfirming {
		if j.Review {
			return c.refuse(statemachine.ErrIllegal, "")
		}
		if j.Batch != uuid.Nil {
			return c.refuse(ErrInBatch, j.Batch.String())
		}
		if err := c.sendable(); err != nil {
			return err
		}
		c.New.Attempt = Attempt{} // a lease to send again is no execution
		return c.lease(p)
	}
	if err := c.allows(jobClaim); err != nil {
		return err
	}
	if !j.scheduled(c.by.At, c.by.At.Add(p.Longest(DueClaim))) {
		return c.refuse(statemachine.ErrIllegal, "not due before "+j.ScheduledAt.Format(time.RFC3339))
	}
	if err := p.begins(c); err != nil {
		return err
	}
	if err := c.lease(p); err != nil {
		return err
	}
	j.RetryCount++
	j.ClaimedAt = c.by.At
	j.ErrorMessage, j.OfferAt = "", time.Time{}
	if p.chain(j.Chain).Nonces && !e.Behind {
		j.Slot = uuid.NullUUID{UUID: j.Wallet, Valid: true}
	}
	c.New.Attempt = Attempt{Job: j.ID, Fence: j.Lease.Fence, Worker: c.by.Actor, StartedAt: c.by.At}
	return c.moveJob(jobClaim, "")
}

// sendable refuses a lease in confirming that is of no use: no bytes are on
// file to be sent again, and the transactions have no nonce or input with which
// one of them could be replaced.
func (c *step) sendable() error {
	if int(c.Old.Job.TxsOnFile) != len(c.Old.Txs) {
		return c.notLoaded()
	}
	live := c.Old.Live()
	for i := range live {
		if tx := &live[i]; len(tx.Raw) > 0 || tx.HasNonce || tx.Input != "" {
			return nil
		}
	}
	return c.refuse(statemachine.ErrIllegal, "no bytes are on file, and nothing by which to replace the transaction")
}

// lease gives the lease, which nobody has.
func (c *step) lease(p *Policy) error {
	l, err := c.New.Job.Lease.Release().Claim(c.by.Actor, c.by.At, p.Lease)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, err.Error())
	}
	c.New.Job.Lease = l
	return nil
}

// prepare: intent before effect. From here on the job never leaves this
// transaction and its replacements but by proof.
func (p *Policy) prepare(c *step, e *Prepared) error {
	repeat := c.Old.live(e.Hash) && c.Old.Job.Lease.Fenced(e.Fence, c.by.At) == nil
	if repeat {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.allows(jobPrepare); err != nil {
		return err
	}
	j := &c.New.Job
	if err := p.nothingOut(c); err != nil {
		return err
	}
	if err := p.begins(c); err != nil {
		return err
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
	if err := c.wellAdded(&tx); err != nil {
		return err
	}
	switch {
	case len(e.Raw) == 0:
		return c.refuse(statemachine.ErrInvalid, "the signed bytes are needed")
	case p.chain(j.Chain).Nonces != e.HasNonce:
		return c.refuse(statemachine.ErrInvalid, "a nonce is needed exactly where the chain has nonces")
	}
	if err := p.nonceFault(c, e); err != nil {
		return err
	}
	if err := c.reopened(e.Nonce, e.ChainNonce, e.HasChainNonce); err != nil {
		return err
	}
	c.addTx(tx)
	return c.moveJob(jobPrepare, "")
}

// nothingOut refuses a second intent: at most one may be undecided.
func (p *Policy) nothingOut(c *step) error {
	j := &c.Old.Job
	if p.chain(j.Chain).Nonces && !j.Slot.Valid {
		return c.refuse(statemachine.ErrIllegal, "it was claimed behind another job of a batch, and is paid with it")
	}
	return c.nothingLive()
}

func (c *step) nothingLive() error {
	j := &c.Old.Job
	if j.Review || j.Live() || !j.DispatchedAt.IsZero() {
		return c.refuse(statemachine.ErrIllegal, "a transaction of this job may be on its way")
	}
	if int(j.TxsOnFile) != len(c.Old.Txs) {
		return c.notLoaded()
	}
	return nil
}

func (p *Policy) dispatch(c *step, e *Dispatched) error {
	j := &c.New.Job
	if !j.DispatchedAt.IsZero() && j.DispatchRef == e.Reference && j.Lease.Fenced(e.Fence, c.by.At) == nil {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.allows(jobDispatch); err != nil {
		return err
	}
	if err := p.nothingOut(c); err != nil {
		return err
	}
	if err := p.begins(c); err != nil {
		return err
	}
	if !word(e.Reference) {
		return c.refuse(statemachine.ErrInvalid, "a reference of 1 to 100 bytes is needed")
	}
	j.DispatchedAt, j.DispatchRef = c.by.At, e.Reference
	return c.moveJob(jobDispatch, e.Reference)
}

func (p *Policy) broadcast(c *step, e *Broadcast) error {
	j := &c.New.Job
	i := c.Old.find(e.Hash)
	onFile := i >= int(j.TxsDead)
	if onFile {
		e.Hash = c.Old.Txs[i].Hash
	}
	if onFile && e.Fence == j.Lease.Fence && j.Status != JobProcessing {
		return nil
	}
	dispatched := !j.DispatchedAt.IsZero()
	// The answer of the very dispatch on file is news whenever it comes, in
	// review too: without it somebody could find that nothing was sent.
	if dispatched && j.Status == JobProcessing && e.Fence == j.Lease.Fence {
		if err := c.jobVersion(); err != nil {
			return err
		}
	} else if int(j.Dispatches) != len(c.Old.Dispatches) {
		return c.refuse(statemachine.ErrInvalid, notAllLoaded)
	} else if d := c.Old.dispatchUnder(e.Fence); d != nil {
		return p.lateAnswer(c, e, d)
	} else if c.Old.Recovering && c.Old.Forgot(e) {
		return c.forgottenAnswer(e)
	} else if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.allows(jobBroadcast); err != nil {
		return err
	}
	switch {
	case !j.Live() && !dispatched:
		return c.refuse(statemachine.ErrIllegal, "nothing was prepared or dispatched")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded()
	case j.Live() && !onFile:
		return c.refuse(statemachine.ErrInvalid, "this is not the prepared transaction")
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
	if dispatched {
		if err := c.wellFormed(&tx); err != nil {
			return err
		}
		if c.Old.Owner.Valid {
			return c.taken(&tx, e.Fence)
		}
		c.addTx(tx)
	}
	if !j.Review { // else the rescue has closed it
		c.closeAttempt(c.by.At, statemachine.Done, "", e.Hash)
	}
	c.startConfirming(c.by.At, e.Hash, c.by.At.Add(p.CheckEvery), false)
	// What may have been paid by another transaction stays an operator's, or
	// the second one would be sent again.
	j.Review = c.Old.Job.Review && c.New.Request.flagged()
	return c.moveJob(jobBroadcast, "")
}

// startConfirming sets the columns of a job that may have a transaction out.
func (c *step) startConfirming(at time.Time, hash string, check time.Time, again bool) {
	j := &c.New.Job
	j.TxHash, j.BroadcastAt, j.NextCheckAt, j.Rebroadcast = hash, at, check, again
	j.DispatchedAt, j.DispatchRef, j.Review = time.Time{}, "", false
	j.OfferAt, j.Deferrals = time.Time{}, 0
	j.letGo()
}

// letGo ends the lease and frees the wallet's slot, never its nonce.
func (j *Job) letGo() {
	j.Lease = j.Lease.Release()
	j.Slot = uuid.NullUUID{}
}

func (p *Policy) rebump(c *step, e *Rebumped) error {
	j := &c.New.Job
	if c.Old.live(e.Hash) && j.Lease.Fenced(e.Fence, c.by.At) == nil {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.allows(jobRebump); err != nil {
		return err
	}
	if c.Old.Level >= switches.Send { // the replacement would be sent
		return c.refuse(ErrOnHold, stopped(c.Old.Level))
	}
	live := c.Old.Live()
	switch {
	case j.Review || !j.Live():
		return c.refuse(statemachine.ErrIllegal, "there is no transaction to replace")
	case !e.Cancel && c.Old.elsewhere():
		return c.refuse(statemachine.ErrIllegal, maybePaid)
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded()
	case len(e.Raw) == 0:
		return c.refuse(statemachine.ErrInvalid, "the signed bytes are needed")
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input, Cancel: e.Cancel}
	if err := c.wellAdded(&tx); err != nil {
		return err
	}
	for i := range live {
		if !live[i].exclusive(j.Wallet, e.HasNonce, e.Nonce, e.Input) {
			return c.refuse(statemachine.ErrInvalid, "a replacement needs the same nonce or input, else both could be mined")
		}
	}
	c.addTx(tx)
	if j.Status == JobConfirming {
		j.NextCheckAt, j.Rebroadcast = c.by.At, true
	}
	return c.moveJob(jobRebump, "")
}

// exclusive reports whether t and a transaction of the wallet with this nonce
// or input can never both be mined. Where either has a nonce, only that counts.
func (t *Tx) exclusive(wallet uuid.UUID, hasNonce bool, nonce uint64, input string) bool {
	if t.HasNonce || hasNonce {
		return t.HasNonce && hasNonce && t.Nonce == nonce && t.Wallet == wallet
	}
	return t.Input != "" && t.Input == input
}

// rebroadcast reports what became of sending the bytes on file again. The
// report of a worker whose transaction was decided meanwhile changes nothing.
func (p *Policy) rebroadcast(c *step, e *Rebroadcast) error {
	j := &c.New.Job
	decided := (JobMachine.Terminal(j.Status) || j.Status == JobPending) && c.Old.find(e.Hash) >= 0
	if (j.Status == JobConfirming || decided) && e.Fence == j.Lease.Fence && j.Lease.Holder == "" {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if j.Status != JobConfirming {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	if int(j.TxsOnFile) != len(c.Old.Txs) {
		return c.notLoaded()
	}
	if i := c.Old.find(e.Hash); i < int(j.TxsDead) || len(c.Old.Txs[i].Raw) == 0 {
		return c.refuse(statemachine.ErrInvalid, "these bytes are not on file")
	}
	// Owed once for each look-up that misses it, done or not: what the node
	// refuses may be mined already, and only a look-up can tell.
	j.NextCheckAt = c.by.At.Add(p.CheckEvery)
	j.Rebroadcast = false
	j.Lease = j.Lease.Release()
	return nil
}
