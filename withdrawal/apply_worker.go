package withdrawal

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// claim counts the execution, once. In confirming it only takes the lease,
// for a re-broadcast or a rebump.
func (p *Policy) claim(c *Change, e *Claimed) error {
	if err := c.admit(&e.By, byWorker, "Claimed"); err != nil {
		return err
	}
	j := &c.New.Job
	held := j.Lease.Held(e.At)
	if e.Fence != 0 && e.Fence == j.Lease.Fence && held && j.Lease.Holder == e.Actor {
		return nil
	}
	if e.Fence != 0 && e.Fence != j.Lease.Fence+1 {
		return c.refuse("Claimed", statemachine.ErrFenced, fmt.Sprintf("the next fence is %d", j.Lease.Fence+1))
	}
	if err := c.jobVersion(&e.By, "Claimed"); err != nil {
		return err
	}
	if held {
		return c.refuse("Claimed", statemachine.ErrHeld, "by "+j.Lease.Holder)
	}
	if j.Status == JobConfirming {
		if j.Review {
			return c.refuse("Claimed", statemachine.ErrIllegal, "")
		}
		if err := c.sendable(); err != nil {
			return err
		}
		c.New.Attempt = Attempt{} // a lease to send again is no execution
		return c.lease(p, &e.By)
	}
	if err := c.allows(JobClaim, "Claimed"); err != nil {
		return err
	}
	if e.At.Before(j.ScheduledAt) {
		return c.refuse("Claimed", statemachine.ErrIllegal, "not due before "+j.ScheduledAt.Format(time.RFC3339))
	}
	if err := c.lease(p, &e.By); err != nil {
		return err
	}
	j.RetryCount++
	j.ClaimedAt = e.At
	j.ErrorMessage = ""
	if p.chain(j.Chain).Nonces {
		j.Slot = uuid.NullUUID{UUID: j.Wallet, Valid: true}
	}
	c.New.Attempt = Attempt{Job: j.ID, Fence: j.Lease.Fence, Worker: e.Actor, StartedAt: e.At}
	return c.moveJob(JobClaim, &e.By, "")
}

// sendable refuses a lease in confirming that is of no use: no bytes are on
// file to be sent again, and the transactions have no nonce or input with which
// one of them could be replaced.
func (c *Change) sendable() error {
	if int(c.Old.Job.TxsOnFile) != len(c.Old.Txs) {
		return c.notLoaded("Claimed")
	}
	live := c.Old.Live()
	for i := range live {
		if tx := &live[i]; len(tx.Raw) > 0 || tx.HasNonce || tx.Input != "" {
			return nil
		}
	}
	return c.refuse("Claimed", statemachine.ErrIllegal, "no bytes are on file, and nothing by which to replace the transaction")
}

func (c *Change) lease(p *Policy, by *By) error {
	l, err := c.New.Job.Lease.Claim(by.Actor, by.At, p.Lease)
	if err != nil {
		return c.refuse("Claimed", statemachine.ErrInvalid, err.Error())
	}
	c.New.Job.Lease = l
	return nil
}

// prepare: intent before effect. From here on the job never leaves this
// transaction and its replacements but by proof.
func (p *Policy) prepare(c *Change, e *Prepared) error {
	if err := c.admit(&e.By, byWorker, "Prepared"); err != nil {
		return err
	}
	repeat := c.Old.live(e.Hash) && c.Old.Job.Lease.Fenced(e.Fence, e.At) == nil
	if repeat {
		return nil
	}
	if err := c.fenced(&e.By, e.Fence, "Prepared"); err != nil {
		return err
	}
	if err := c.allows(JobPrepare, "Prepared"); err != nil {
		return err
	}
	j := &c.New.Job
	if err := c.nothingOut("Prepared"); err != nil {
		return err
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
	if err := c.wellFormed(&tx, "Prepared"); err != nil {
		return err
	}
	nonces := p.chain(j.Chain).Nonces
	switch w := &c.Old.Wallet; {
	case len(e.Raw) == 0:
		return c.refuse("Prepared", statemachine.ErrInvalid, "the signed bytes are needed")
	case nonces != e.HasNonce:
		return c.refuse("Prepared", statemachine.ErrInvalid, "a nonce is needed exactly where the chain has nonces")
	case nonces && w.ID == j.Wallet && e.Nonce < w.NextNonce:
		return c.refuse("Prepared", ErrNonceTaken, fmt.Sprintf("nonce %d, the lowest free one is %d", e.Nonce, w.NextNonce))
	}
	c.addTx(&e.By, tx)
	return c.moveJob(JobPrepare, &e.By, "")
}

// nothingOut refuses a second intent: at most one may be undecided.
func (c *Change) nothingOut(event string) error {
	j := &c.Old.Job
	if j.Review || j.Live() || !j.DispatchedAt.IsZero() {
		return c.refuse(event, statemachine.ErrIllegal, "a transaction of this job may be on its way")
	}
	if int(j.TxsOnFile) != len(c.Old.Txs) {
		return c.notLoaded(event)
	}
	return nil
}

func (p *Policy) dispatch(c *Change, e *Dispatched) error {
	if err := c.admit(&e.By, byWorker, "Dispatched"); err != nil {
		return err
	}
	j := &c.New.Job
	if !j.DispatchedAt.IsZero() && j.DispatchRef == e.Reference && j.Lease.Fenced(e.Fence, e.At) == nil {
		return nil
	}
	if err := c.fenced(&e.By, e.Fence, "Dispatched"); err != nil {
		return err
	}
	if err := c.allows(JobDispatch, "Dispatched"); err != nil {
		return err
	}
	if err := c.nothingOut("Dispatched"); err != nil {
		return err
	}
	if !word(e.Reference) {
		return c.refuse("Dispatched", statemachine.ErrInvalid, "a reference of 1 to 100 bytes is needed")
	}
	j.DispatchedAt, j.DispatchRef = e.At, e.Reference
	return c.moveJob(JobDispatch, &e.By, e.Reference)
}

func (p *Policy) broadcast(c *Change, e *Broadcast) error {
	if err := c.admit(&e.By, byWorker, "Broadcast"); err != nil {
		return err
	}
	j := &c.New.Job
	onFile := c.Old.live(e.Hash)
	if onFile && e.Fence == j.Lease.Fence && j.Status != JobProcessing {
		return nil
	}
	dispatched := !j.DispatchedAt.IsZero()
	// The answer of the very dispatch on file is news whenever it comes, in
	// review too: without it somebody could find that nothing was sent.
	if dispatched && j.Status == JobProcessing && e.Fence == j.Lease.Fence {
		if err := c.jobVersion(&e.By, "Broadcast"); err != nil {
			return err
		}
	} else if err := c.fenced(&e.By, e.Fence, "Broadcast"); err != nil {
		return err
	}
	if err := c.allows(JobBroadcast, "Broadcast"); err != nil {
		return err
	}
	switch {
	case !j.Live() && !dispatched:
		return c.refuse("Broadcast", statemachine.ErrIllegal, "nothing was prepared or dispatched")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded("Broadcast")
	case j.Live() && !onFile:
		return c.refuse("Broadcast", statemachine.ErrInvalid, "this is not the prepared transaction")
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
	if dispatched {
		if err := c.wellFormed(&tx, "Broadcast"); err != nil {
			return err
		}
	}
	if dispatched {
		c.addTx(&e.By, tx)
	}
	if !j.Review { // else the rescue has closed it
		c.closeAttempt(e.At, statemachine.Done, "", e.Hash)
	}
	c.startConfirming(e.At, e.Hash, e.At.Add(p.CheckEvery), false)
	// A request that was paid by another transaction stays an operator's, or
	// the second one would be sent again.
	j.Review = c.Old.Job.Review && strings.HasPrefix(j.ErrorMessage, deadWasMined)
	return c.moveJob(JobBroadcast, &e.By, "")
}

// startConfirming sets the columns of a job that may have a transaction out.
func (c *Change) startConfirming(at time.Time, hash string, check time.Time, again bool) {
	j := &c.New.Job
	j.TxHash, j.BroadcastAt, j.NextCheckAt, j.Rebroadcast = hash, at, check, again
	j.DispatchedAt, j.DispatchRef, j.Review = time.Time{}, "", false
	j.letGo()
}

// letGo ends the lease and frees the wallet's slot, never its nonce.
func (j *Job) letGo() {
	j.Lease = j.Lease.Release()
	j.Slot = uuid.NullUUID{}
}

func (p *Policy) rebump(c *Change, e *Rebumped) error {
	if err := c.admit(&e.By, byWorker, "Rebumped"); err != nil {
		return err
	}
	j := &c.New.Job
	if c.Old.live(e.Hash) && j.Lease.Fenced(e.Fence, e.At) == nil {
		return nil
	}
	if err := c.fenced(&e.By, e.Fence, "Rebumped"); err != nil {
		return err
	}
	if err := c.allows(JobRebump, "Rebumped"); err != nil {
		return err
	}
	live := c.Old.Live()
	switch {
	case j.Review || !j.Live():
		return c.refuse("Rebumped", statemachine.ErrIllegal, "there is no transaction to replace")
	case int(j.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded("Rebumped")
	case len(e.Raw) == 0:
		return c.refuse("Rebumped", statemachine.ErrInvalid, "the signed bytes are needed")
	}
	tx := txFacts{Hash: e.Hash, Raw: e.Raw, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input, Cancel: e.Cancel}
	if err := c.wellFormed(&tx, "Rebumped"); err != nil {
		return err
	}
	for i := range live {
		if !live[i].exclusive(j.Wallet, e.HasNonce, e.Nonce, e.Input) {
			return c.refuse("Rebumped", statemachine.ErrInvalid, "a replacement needs the same nonce or input, else both could be mined")
		}
	}
	c.addTx(&e.By, tx)
	if j.Status == JobConfirming {
		j.NextCheckAt, j.Rebroadcast = e.At, true
	}
	return c.moveJob(JobRebump, &e.By, "")
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
func (p *Policy) rebroadcast(c *Change, e *Rebroadcast) error {
	if err := c.admit(&e.By, byWorker, "Rebroadcast"); err != nil {
		return err
	}
	j := &c.New.Job
	decided := (JobMachine.Terminal(j.Status) || j.Status == JobPending) && c.Old.find(e.Hash) >= 0
	if (j.Status == JobConfirming || decided) && e.Fence == j.Lease.Fence && j.Lease.Holder == "" {
		return nil
	}
	if err := c.fenced(&e.By, e.Fence, "Rebroadcast"); err != nil {
		return err
	}
	if j.Status != JobConfirming {
		return c.refuse("Rebroadcast", statemachine.ErrIllegal, "")
	}
	if int(j.TxsOnFile) != len(c.Old.Txs) {
		return c.notLoaded("Rebroadcast")
	}
	if i := c.Old.find(e.Hash); i < int(j.TxsDead) || len(c.Old.Txs[i].Raw) == 0 {
		return c.refuse("Rebroadcast", statemachine.ErrInvalid, "these bytes are not on file")
	}
	// Owed once for each look-up that misses it, done or not: what the node
	// refuses may be mined already, and only a look-up can tell.
	j.NextCheckAt = e.At.Add(p.CheckEvery)
	j.Rebroadcast = false
	j.Lease = j.Lease.Release()
	return nil
}
