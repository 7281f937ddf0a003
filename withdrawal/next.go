package withdrawal

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Do is a kind of [Action].
// Values: DoEnqueue, DoClaim, DoPay, DoBroadcast, DoLookUp, DoRebroadcast, DoRescue, DoResolve, DoReplace.
type Do = statemachine.Enum[do]

const (
	DoEnqueue     Do = iota + 1 // send Enqueued
	DoClaim                     // send Claimed
	DoPay                       // sign and send Prepared, or send Dispatched and call the signer
	DoBroadcast                 // send the bytes to the node, then Broadcast
	DoLookUp                    // ask the chain for Hashes, then Receipt, Missing, PaidBy, CannotTell or ProvenDead
	DoRebroadcast               // send Claimed, send the bytes to the node, then Rebroadcast
	DoRescue                    // send Elapsed
	DoResolve                   // a person finds out, then Resolved, PaidBy or ProvenDead
	DoReplace                   // sign a version of the batch that does not pay Without, send BatchReplaced, and the bytes to the node
)

type do struct{}

func (do) Kind() string    { return "withdrawal action" }
func (do) Names() []string { return doNames }

var doNames = []string{"enqueue", "claim", "pay", "broadcast", "look up", "rebroadcast", "rescue", "resolve", "replace"}

// Action is something that the host must do now. Plain data; no secrets.
type Action struct {
	Do      Do
	Key     string // idempotency key: the same for every retry of the same action
	By      Role   // who does it
	Request uuid.UUID
	Job     uuid.UUID // zero for DoEnqueue
	Wallet  uuid.UUID
	Batch   uuid.UUID `json:",omitzero"` // then Request and Job are zero
	Fence   int64     // of the lease to act under; for DoClaim and DoRebroadcast the one to claim
	// DoLookUp: all live transactions; DoBroadcast, DoRebroadcast: the one to send; DoReplace: to replace
	Hashes  []string    `json:",omitempty"`
	Raw     []byte      `json:",omitempty"` // the bytes to send
	Without []uuid.UUID `json:",omitempty"` // DoReplace: see [Payout.Unwanted]
	// NextNonce is the highest nonce on file + 1, for DoPay; 0: none is on file.
	// It is the one to use only where the chain's next is not known: see FreeNonce.
	NextNonce uint64 `json:",omitempty"`
}

// Step says what is owed.
type Step struct {
	Actions []Action
	// Due is when to ask again; zero: only Party can move it on.
	Due time.Time
	// Party is who moves it on; zero at the end.
	Party Role `json:",omitzero"`
}

// Next says what the record owes at now. It is level-triggered: it looks at
// nothing but the record, so a restart needs no replay, and doing an action
// twice is harmless under its key. Txs must be loaded for a job in processing
// or confirming. Level, where it is given, leaves out what the switch stops.
func (p Policy) Next(w Withdrawal, now time.Time) Step {
	switch w.Request.Status {
	case RequestPending:
		return Step{Party: Approver}
	case RequestApproved:
		if w.Request.flagged() || p.off(&w) != "" {
			return Step{Party: Operator} // cancels or releases it, or switches the chain on
		}
		if !p.due(DueEnqueue, w.Request.OfferAt, now) {
			return Step{Due: w.Request.OfferAt, Party: System}
		}
		return p.owe(now, p.EnqueueEvery, w.action(DoEnqueue, System,
			"enqueue/"+w.Request.ID.String()+"/"+strconv.FormatInt(w.Request.Version, 10)))
	case RequestQueued:
		return p.nextJob(&w, now)
	case RequestFailed, RequestRejected, RequestCancelled, RequestCompleted:
		r := &w.Request
		open := !r.Acknowledged && (w.paidBeside() != "" || r.Taken != "" || r.PaidAfter != "")
		requeue := r.Status == RequestFailed && r.RefundReference == "" // an operator may; it owes nothing
		if open || r.StraysSent > 0 || requeue {
			return Step{Party: Operator} // it may have been paid, or twice: nobody else refunds it
		}
	}
	return Step{}
}

func (p *Policy) nextJob(w *Withdrawal, now time.Time) Step {
	j := &w.Job
	id := j.ID.String()
	switch {
	case j.Status == JobPending && (w.Request.flagged() || p.off(w) != ""):
		return Step{Party: Operator} // releases or cancels it, or switches wallet or chain on
	case j.Status == JobPending && !p.claimable(j, now):
		return Step{Due: j.DueAt(), Party: WithdrawalWorker}
	case j.Status == JobPending:
		a := w.action(DoClaim, WithdrawalWorker, "claim/"+id+"/"+strconv.FormatInt(j.Lease.Fence+1, 10))
		a.Fence++
		return p.owe(now, p.CheckEvery, a)
	case j.Status == JobProcessing && j.Review:
		return Step{Actions: []Action{w.review()}, Party: Operator}
	case j.Status == JobProcessing && !j.Lease.Taken(now, p.Lease):
		return p.owe(now, p.CheckEvery, w.action(DoRescue, System, "rescue/"+id+"/"+strconv.FormatInt(j.Lease.Fence, 10)))
	case j.Status == JobProcessing:
		return p.nextExecution(w)
	case j.Status == JobConfirming:
		return p.nextConfirming(w, now)
	}
	return Step{}
}

// DueAt is when a pending job may be claimed: neither before it is scheduled nor
// before it is offered again.
func (j *Job) DueAt() time.Time {
	if j.OfferAt.After(j.ScheduledAt) {
		return j.OfferAt
	}
	return j.ScheduledAt
}

// GivenAt is the store's time at which w, as a claim or a look-up returned it, was given to a worker. The worker passes
// it to [Policy.Next], whose times are compared with the store's clock and not with the host's; a worker that lost the
// lease meanwhile is refused by its fence. GivenAt is the zero time if nobody has work on w.
func (p *Policy) GivenAt(w *Withdrawal) time.Time {
	j, claimed := &w.Job, time.Time{}
	if j.Lease.Holder != "" {
		claimed = j.Lease.Until.Add(-p.Lease)
	}
	if look := j.NextCheckAt.Add(-p.CheckEvery); j.Status == JobConfirming && look.After(claimed) {
		return look // beside the lease of a sender who died
	}
	return claimed
}

// nextExecution is what the holder of the lease must do.
func (p *Policy) nextExecution(w *Withdrawal) Step {
	j := &w.Job
	step := Step{Due: j.Lease.Until, Party: WithdrawalWorker}
	switch {
	case !j.DispatchedAt.IsZero(): // the signer's answer, or the end of the lease
	case j.Live() && w.Level >= switches.Send: // the end of the lease
	case j.Live():
		step.Actions = w.send(DoBroadcast, "broadcast/")
	default:
		// One key for all executions until something is proven dead: a
		// signer that keeps keys sends once, whatever happened in between.
		a := w.action(DoPay, WithdrawalWorker, "pay/"+j.ID.String()+"/"+strconv.Itoa(int(j.TxsDead)))
		a.NextNonce = w.Wallet.NextNonce
		step.Actions = []Action{a}
	}
	return step
}

func (p *Policy) nextConfirming(w *Withdrawal, now time.Time) Step {
	j := &w.Job
	step := Step{Due: j.NextCheckAt, Party: ConfirmationWorker}
	if j.Review {
		step.Party = Operator
		step.Actions = append(step.Actions, w.review())
	}
	if !p.due(DueCheck, j.NextCheckAt, now) {
		return step
	}
	step.Due = now.Add(p.CheckEvery)
	if j.Batch != uuid.Nil {
		return step // see [Policy.NextBatch]
	}
	look := w.action(DoLookUp, ConfirmationWorker, "look up/"+j.ID.String()+"/"+j.NextCheckAt.UTC().Format(time.RFC3339Nano))
	for _, tx := range w.Live() {
		look.Hashes = append(look.Hashes, tx.Hash)
	}
	step.Actions = append(step.Actions, look)
	if j.Rebroadcast && !j.Review && !j.Lease.Taken(now, p.Lease) && w.Level < switches.Send {
		step.Actions = append(step.Actions, w.send(DoRebroadcast, "rebroadcast/")...)
	}
	return step
}

// owe is one action, and the moment to ask whether it was done.
func (p *Policy) owe(now time.Time, every time.Duration, a Action) Step {
	return Step{Actions: []Action{a}, Due: now.Add(max(every, time.Second)), Party: a.By}
}

func (w *Withdrawal) action(do Do, by Role, key string) Action {
	return Action{Do: do, Key: key, By: by, Request: w.Request.ID, Job: w.Job.ID, Wallet: w.Job.Wallet, Fence: w.Job.Lease.Fence}
}

func (w *Withdrawal) review() Action {
	return w.action(DoResolve, Operator, "resolve/"+w.Job.ID.String()+"/"+strconv.FormatInt(w.Job.Version, 10))
}

// send is the newest transaction with bytes on file.
func (w *Withdrawal) send(do Do, prefix string) []Action {
	tx := w.newestBytes()
	if tx == nil {
		return nil
	}
	a := w.action(do, WithdrawalWorker, prefix+tx.Hash)
	a.Hashes, a.Raw = []string{tx.Hash}, tx.Raw
	if do == DoRebroadcast {
		a.Fence++
	}
	return []Action{a}
}
