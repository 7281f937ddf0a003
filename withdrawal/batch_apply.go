package withdrawal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// ApplyBatch takes one step of a batch, with all members that it concerns; now is
// the store's time, see [statemachine.EventTime]. It is pure, and refuses as
// [Policy.Apply] does.
//
// What b must hold: Batch, Txs, and Members with all that [Policy.Apply] says.
// For BatchPrepared Members are the requests that it pays, as they are stored.
// [Withdrawal].Owner is looked up for BatchMined of a transaction that is none of
// the batch, by the output that [Payout.PaidOutputs] says.
func (p Policy) ApplyBatch(b Payout, ev BatchEvent, now time.Time) (BatchChange, error) {
	c := batchStep{BatchChange: BatchChange{Old: b, New: b}, policy: &p, ev: ev}
	c.New.Level, c.New.Recovering, c.New.Owner, c.New.Generation, c.New.Said = 0, false, uuid.NullUUID{}, 0, nil // of this event alone
	if err := c.take(now); err != nil {
		return BatchChange{Old: b, New: b}, err
	}
	return c.BatchChange, nil
}

// batchStep is the work on one event of a batch.
type batchStep struct {
	BatchChange
	policy *Policy
	ev     BatchEvent
	by     By
}

func (c *batchStep) take(now time.Time) error {
	var reason string
	var err error
	if c.by, _, reason, err = statemachine.Begin(c.ev, BatchSpeakers(c.ev), now); err != nil {
		return c.refuse(err, reason)
	}
	switch e := c.ev.(type) {
	case BatchPrepared:
		return c.prepare(&e)
	case BatchReplaced:
		return c.replace(&e)
	case BatchClaimed:
		return c.claim(&e)
	case BatchRevoked:
		return c.revoke(&e)
	case BatchSent:
		return c.sent(&e)
	case BatchLooking:
		return c.check(c.New.Batch.Rebroadcast)
	case BatchMissing:
		return c.check(true)
	case BatchMined:
		return c.mined(&e)
	case BatchCannotTell:
		return c.cannotTell(&e)
	}
	return fmt.Errorf("%w: no event", statemachine.ErrInvalid)
}

func (c *batchStep) refuse(err error, reason string) error {
	b := &c.Old.Batch
	if b.Status == 0 {
		b = &Batch{ID: c.New.Batch.ID}
	}
	return &statemachine.Refusal{Err: err, Machine: BatchMachine.Name(), ID: b.ID.String(), State: b.Status.String(),
		Event: statemachine.EventName(c.ev), Reason: reason}
}

// current refuses an event that was decided on another version, then one that the
// state does not accept.
func (c *batchStep) current(t BatchTrigger) error {
	b := &c.Old.Batch
	if c.by.Version != 0 && c.by.Version != b.Version {
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", c.by.Version, b.Version))
	}
	if _, ok := BatchMachine.Next(b.Status, t); !ok {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	return nil
}

// move is the only place that sets a batch's status and version.
func (c *batchStep) move(t BatchTrigger, reason string) error {
	b := &c.New.Batch
	c.Log = append(c.Log, statemachine.Transition[uuid.UUID]{ID: b.ID, At: c.by.At, Actor: c.by.Actor, Role: c.by.Role.String(),
		Trace: c.by.Trace, Reason: reason})
	return statemachine.Move(BatchMachine, &b.Status, &b.Version, t, &c.Log[len(c.Log)-1])
}

// member takes the step of one member, by the rules of its own machine.
func (c *batchStep) member(i int, do func(*step) error) error {
	w := c.New.Members[i]
	s := step{Old: w, New: w, work: work{ev: c.ev, by: c.by}}
	s.Old.Level, s.Old.Recovering, s.Old.Generation, s.Old.Said = c.Old.Level, c.Old.Recovering, c.Old.Generation, c.Old.Said
	s.by.Version = 0 // the batch's
	s.New.Owner = uuid.NullUUID{}
	err := do(&s)
	if err == nil {
		err = s.flagged()
	}
	if err != nil || s.Empty() {
		return err
	}
	c.New.Members[i] = s.New
	s.work = work{}
	c.Members = append(c.Members, s)
	return nil
}

// own makes the slice of members writable.
func (c *batchStep) own() { c.New.Members = slices.Clone(c.New.Members) }

// addTx puts a version on file, with the bytes.
func (c *batchStep) addTx(hash string, raw []byte) {
	b := &c.New.Batch
	b.TxsOnFile++
	b.TxHash = hash
	tx := BatchTx{Batch: b.ID, Seq: b.TxsOnFile, Hash: hash, Raw: raw, CreatedAt: c.by.At}
	c.New.Txs = append(slices.Clip(c.New.Txs), tx)
	c.Txs = append(c.Txs, tx)
	b.NextCheckAt, b.Rebroadcast = c.by.At, true
}

// malformed says what is wrong with a version and what it pays, one output to
// one member each.
func (c *batchStep) malformed(hash string, raw []byte, pays []Pay) string {
	requests, outputs := map[uuid.UUID]bool{}, map[uint32]bool{}
	for i := range pays {
		requests[pays[i].Request], outputs[pays[i].Output] = true, true
	}
	switch {
	case !word(hash):
		return "a hash of 1 to 100 bytes is needed"
	case len(raw) == 0 || len(raw) > MaxRaw:
		return "the signed bytes are needed, at most 128 KiB"
	case len(pays) > MaxMembers:
		return fmt.Sprintf("a transaction pays at most %d requests", MaxMembers)
	case len(requests) != len(pays) || len(outputs) != len(pays):
		return "each request is paid by one output, and each output pays one request"
	case int(c.Old.Batch.TxsOnFile) != len(c.Old.Txs):
		return "not all versions of the batch were loaded"
	case len(c.Old.Txs) >= MaxTxs:
		return "a batch has at most 100 versions"
	}
	return ""
}

// unlike says in what a transfer differs from what a request is to be paid.
func (w *Withdrawal) unlike(t *Transfer) string {
	switch {
	case !statemachine.SameHash(t.Payee, w.Request.ToAddress):
		return "another address"
	case t.AssetOnChain != w.Job.AssetOnChain:
		return "another asset"
	case t.AmountRaw != w.Request.AmountRaw:
		return "another amount"
	}
	return ""
}

// prepare makes the batch, and files its transaction with every member.
func (c *batchStep) prepare(e *BatchPrepared) error {
	b := &c.New.Batch
	if b.Status != 0 && c.Old.find(e.Hash) == 0 {
		return nil
	}
	if err := c.current(batchPrepare); err != nil {
		return err
	}
	lease, err := b.Lease.Claim(c.by.Actor, c.by.At, c.policy.Lease)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, err.Error())
	}
	*b = Batch{ID: e.Batch, Lease: lease, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input,
		Members: int32(len(e.Pays)), CreatedAt: c.by.At}
	if why := c.malformed(e.Hash, e.Raw, e.Pays); why != "" {
		return c.refuse(statemachine.ErrInvalid, why)
	}
	if e.Batch == uuid.Nil || len(e.Pays) == 0 || len(e.Pays) != len(c.Old.Members) {
		return c.refuse(statemachine.ErrInvalid, "an id is needed, and all the requests that it pays, at least one")
	}
	if !e.HasNonce && e.Input == "" {
		return c.refuse(statemachine.ErrInvalid, "a nonce or an input is needed, by which its replacements are exclusive")
	}
	c.own()
	slices.SortFunc(c.New.Members, func(a, b Withdrawal) int { return CompareMembers(&a, &b) })
	owner := slices.IndexFunc(c.New.Members, func(w Withdrawal) bool { return w.Job.Slot.Valid })
	owner = max(owner, 0) // without nonces nobody holds a slot
	b.Owner, b.Chain, b.Wallet = c.New.Members[owner].Job.ID, c.New.Members[owner].Job.Chain, c.New.Members[owner].Job.Wallet
	for i := range c.New.Members {
		k := slices.IndexFunc(e.Pays, func(pay Pay) bool { return pay.Request == c.New.Members[i].Request.ID })
		if k < 0 {
			return c.refuse(statemachine.ErrInvalid, "request "+c.New.Members[i].Request.ID.String()+" is not paid")
		}
		if err := c.member(i, func(s *step) error { return c.policy.batched(s, e, &e.Pays[k], b, i == owner) }); err != nil {
			return c.backAll(err, e.Pays)
		}
	}
	c.addTx(e.Hash, e.Raw)
	return c.move(batchPrepare, "")
}

// backAll has a refusal that gives the execution of one member back do so with those of all.
func (c *batchStep) backAll(err error, pays []Pay) error {
	of := new(UnsettledError)
	if errors.As(err, &of) && len(of.Back) == 1 {
		one := of.Back[0]
		of.Back = nil
		for i := range pays {
			one.Request, one.Fence = pays[i].Request, pays[i].Fence
			of.Back = append(of.Back, one)
		}
	}
	return err
}

// batched is the first version of a batch, for one member.
func (p *Policy) batched(c *step, e *BatchPrepared, pay *Pay, b *Batch, owner bool) error {
	j := &c.New.Job
	if err := c.fenced(pay.Fence); err != nil {
		return err
	}
	if err := c.allows(jobBatched); err != nil {
		return err
	}
	check := c.nothingLive
	if owner { // which holds the slot
		check = func() error { return p.nothingOut(c) }
	}
	if err := check(); err != nil {
		return err
	}
	if err := p.begins(c); err != nil {
		return err
	}
	tx := txFacts{Hash: e.Hash, Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input, ByOutput: true, Output: pay.Output, Batch: b.ID}
	if err := c.wellAdded(&tx); err != nil {
		return err
	}
	switch differs := c.Old.unlike(&pay.Transfer); {
	case differs != "":
		return c.refuse(statemachine.ErrInvalid, "the transaction pays "+differs)
	case j.Chain != b.Chain || j.Wallet != b.Wallet:
		return c.refuse(statemachine.ErrInvalid, "it is paid from another wallet than the rest of the batch")
	case p.chain(j.Chain).Nonces != e.HasNonce:
		return c.refuse(statemachine.ErrInvalid, "a nonce is needed exactly where the chain has nonces")
	case !owner && j.Slot.Valid:
		return c.refuse(statemachine.ErrInvalid, "two members hold the slot of their wallet")
	}
	if owner {
		if err := p.nonceFault(c, &Prepared{Nonce: e.Nonce, HasNonce: true, ChainNonce: e.ChainNonce,
			HasChainNonce: e.HasChainNonce}); err != nil {
			return err
		}
	}
	if err := c.reopened(e.Nonce, e.ChainNonce, e.HasChainNonce); err != nil {
		return err
	}
	c.closeAttempt(c.by.At, statemachine.Unknown, "", e.Hash)
	j.Batch = b.ID
	c.addTx(tx)
	c.startConfirming(c.by.At, e.Hash, c.by.At.Add(p.CheckEvery), false)
	return c.moveJob(jobBatched, b.ID.String())
}

// replace files another version with the members that it pays.
func (c *batchStep) replace(e *BatchReplaced) error {
	b := &c.New.Batch
	if c.Old.find(e.Hash) >= 0 {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.current(batchReplace); err != nil {
		return err
	}
	if c.Old.Level >= switches.Send { // the replacement would be sent
		return c.refuse(ErrOnHold, stopped(c.Old.Level))
	}
	if c.by.Version == 0 {
		return c.refuse(statemachine.ErrInvalid, "the version that was looked at is needed")
	}
	if why := c.malformed(e.Hash, e.Raw, e.Pays); why != "" {
		return c.refuse(statemachine.ErrInvalid, why)
	}
	c.own()
	pays := slices.Clone(e.Pays)
	slices.SortFunc(pays, func(x, y Pay) int { return slices.Compare(x.Request[:], y.Request[:]) })
	for k := range pays {
		pay := &pays[k]
		i := c.New.member(pay.Request)
		if i < 0 {
			return c.refuse(statemachine.ErrIllegal, "the batch does not have request "+pay.Request.String())
		}
		err := c.member(i, func(s *step) error {
			tx := txFacts{Hash: e.Hash, Nonce: b.Nonce, HasNonce: b.HasNonce, Input: b.Input, ByOutput: true, Output: pay.Output, Batch: b.ID}
			if err := s.allows(jobRebump); err != nil {
				return err
			}
			if why := c.Old.unpayable(&s.Old); why != "" {
				return s.refuse(statemachine.ErrIllegal, why)
			}
			if differs := s.Old.unlike(&pay.Transfer); differs != "" {
				return s.refuse(statemachine.ErrInvalid, "the transaction pays "+differs)
			}
			if err := s.evidence(); err != nil { // loaded
				return err
			}
			if err := s.wellFormed(&tx); err != nil {
				return err
			}
			if !s.Old.exclusiveWithLive(&tx) {
				return s.refuse(statemachine.ErrInvalid, "something else of it is live: both could be mined")
			}
			s.addTx(tx)
			return s.moveJob(jobRebump, "")
		})
		if err != nil {
			return err
		}
	}
	c.addTx(e.Hash, e.Raw)
	return c.move(batchReplace, fmt.Sprintf("pays %d", len(pays)))
}

// sent reports a broadcast. What a node refuses may be mined already, and only a
// look-up can tell.
func (c *batchStep) sent(e *BatchSent) error {
	b := &c.New.Batch
	i, reported := c.Old.find(e.Hash), b.Lease.Holder == "" && e.Fence == b.Lease.Fence
	if i >= 0 && (BatchMachine.Terminal(b.Status) || reported) {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	switch {
	case i < 0:
		return c.refuse(statemachine.ErrInvalid, "these bytes are not on file")
	case i < len(c.Old.Txs)-1: // replaced since
		return nil
	}
	b.Lease = b.Lease.Release()
	return c.check(false)
}

// fenced checks a worker's fence, as for a job.
func (c *batchStep) fenced(fence int64) error {
	b := &c.Old.Batch
	if l := &b.Lease; b.Status == BatchConfirming && (l.Fenced(fence, c.by.At) != nil || l.Holder != c.by.Actor) {
		return c.refuse(statemachine.ErrFenced, "")
	}
	return nil
}

// claim gives the lease: two workers do not send, or replace, at once.
func (c *batchStep) claim(e *BatchClaimed) error {
	b := &c.New.Batch
	if e.Fence != 0 && c.fenced(e.Fence) == nil && b.Status == BatchConfirming {
		return nil
	}
	if e.Fence != 0 && e.Fence != b.Lease.Fence+1 {
		return c.refuse(statemachine.ErrFenced, fmt.Sprintf("the next fence is %d", b.Lease.Fence+1))
	}
	if err := c.current(batchReplace); err != nil {
		return err
	}
	if b.Lease.Taken(c.by.At, c.policy.Lease) {
		return c.refuse(statemachine.ErrHeld, "by "+b.Lease.Holder)
	}
	lease, err := b.Lease.Release().Claim(c.by.Actor, c.by.At, c.policy.Lease)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, err.Error())
	}
	b.Lease = lease
	return nil
}

// revoke ends the lease of a holder before its time; what is owed stays.
func (c *batchStep) revoke(e *BatchRevoked) error {
	b := &c.New.Batch
	if err := e.Check(c.by.Actor, c.by.Role == WithdrawalWorker); err != nil {
		return c.refuse(err, "")
	}
	if b.Lease.Holder == e.Holder {
		b.Lease = b.Lease.Release()
	}
	return nil
}

// check puts the next check off. It proves nothing and moves nothing. After a broadcast no other one is owed; a look-up
// that misses the transaction (again) makes one due, or a replacement if the batch has unwanted members.
func (c *batchStep) check(again bool) error {
	b := &c.New.Batch
	if b.Status != BatchConfirming {
		if b.Status == 0 {
			return c.refuse(statemachine.ErrIllegal, "")
		}
		return nil // what was seen before the end
	}
	if len(c.New.Unwanted()) > 0 {
		again = c.by.Role == ConfirmationWorker
	}
	b.NextCheckAt, b.Rebroadcast = c.by.At.Add(c.policy.CheckEvery), again
	return nil
}
