package withdrawal

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Apply takes one step. It is pure: the same arguments give the same result.
//
// The same event again (its key is in the record) gives Old equal to New, an
// empty log and no error. A refusal changes nothing and is a
// [statemachine.Refusal] around its sentinel. Where several reasons hold, the
// first of these is given: role or actor, fence, version, state, input.
//
// What w must hold: Request always, and Job if there is one. Txs, Strays,
// Dispatches and Attempt for every event of the execution layer but Claimed of
// a pending job, Elapsed, Revoked and the two that give up an execution (AttemptFailed,
// GivenBack), which need none of them; Txs alone for Claimed in confirming; with
// the Attempt loaded the last two recognise their repetition. Txs for Enqueued,
// Requeued and Imported if there was a job before. Wallet, as it is stored now,
// for Claimed, Prepared, Dispatched, AttemptFailed and Elapsed: without it
// nobody sees that it was switched off, and only the store guards the nonce. Level, as
// the switch says it in the same transaction, for Prepared, Dispatched, Rebumped,
// AttemptFailed, Elapsed and Revoked, and Recovering for these and for Submitted, Enqueued,
// Requeued, Imported, Refunded and a Broadcast that [Withdrawal.Forgot] reports. Unclaimed for Enqueued,
// Refunded and Released. Generation and Said for Enqueued, Prepared and ProvenDead, see [Withdrawal].
func (p Policy) Apply(w Withdrawal, ev Event) (Change, error) { return p.ApplyAt(w, ev, time.Time{}) }

// ApplyAt is [Policy.Apply]; now is the store's time, see [statemachine.EventTime].
func (p Policy) ApplyAt(w Withdrawal, ev Event, now time.Time) (s Change, err error) {
	s.Old = w
	s.New = w
	s.work = work{ev: ev, speakers: Speakers(ev)}
	s.New.Owner, s.New.Level, s.New.Recovering, s.New.Unclaimed = uuid.NullUUID{}, 0, false, "" // of this event alone
	s.New.Generation, s.New.Said = 0, nil
	err = s.begin(now)
	if err == nil && w.Job.Batch != uuid.Nil {
		err = s.notOfBatch()
	}
	if err == nil {
		err = p.take(&s)
	}
	if err == nil {
		err = s.flagged()
	}
	if err != nil {
		return Change{Old: w, New: w}, err
	}
	s.work = work{}
	return s, nil
}

func (p *Policy) take(s *step) error {
	switch e := s.ev.(type) {
	case Submitted:
		return p.submit(s, &e)
	case Approved:
		return p.approve(s, &e)
	case Rejected:
		return p.reject(s, &e)
	case Cancelled:
		return p.cancel(s, &e)
	case Held:
		return p.hold(s, &e)
	case Released:
		return p.release(s, &e)
	case Acknowledged:
		return s.acknowledge(&e)
	case Enqueued:
		return p.enqueue(s, &e)
	case Requeued:
		return p.requeue(s, &e)
	case Refunded:
		return p.refund(s, &e)
	case Imported:
		return p.imported(s, &e)
	case Claimed:
		return p.claim(s, &e)
	case Prepared:
		return p.prepare(s, &e)
	case Dispatched:
		return p.dispatch(s, &e)
	case Broadcast:
		return p.broadcast(s, &e)
	case Rebumped:
		return p.rebump(s, &e)
	case AttemptFailed:
		return p.attemptFailed(s, &e)
	case GivenBack:
		return p.snooze(s, &e)
	case Rebroadcast:
		return p.rebroadcast(s, &e)
	case Looking:
		return p.looking(s, &e)
	case Receipt:
		return p.receipt(s, &e)
	case Missing:
		return p.missing(s, &e)
	case ProvenDead:
		return p.provenDead(s, &e)
	case PaidBy:
		return p.paidBy(s, &e)
	case CannotTell:
		return s.cannotTell(&e)
	case Resolved:
		return p.resolve(s, &e)
	case Elapsed:
		return p.elapsed(s, &e)
	case Revoked:
		return p.revoke(s, &e)
	case PutOff:
		return p.putOff(s)
	}
	return fmt.Errorf("%w: no event", statemachine.ErrInvalid)
}

// Speakers are the roles that may send an event; none for what is no event of the domain.
func Speakers(ev Event) statemachine.Roles[Role] {
	switch ev.(type) {
	case Approved, Rejected:
		return byApprover
	case Claimed, Prepared, Dispatched, Broadcast, Rebumped, AttemptFailed, GivenBack, Rebroadcast:
		return byWorker
	case Looking, Receipt, Missing, CannotTell:
		return byChecker
	case ProvenDead, PaidBy:
		return byChecker | byOperator
	case Revoked:
		return byWorker | byOperator
	case Cancelled, Held, Released, Acknowledged, Requeued, Resolved:
		return byOperator
	case Refunded:
		return bySystem | byOperator
	case Submitted, Enqueued, Imported, Elapsed, PutOff:
		return bySystem
	}
	return 0
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event {
	return []Event{
		Approved{}, Rejected{}, Claimed{}, Prepared{}, Dispatched{}, Broadcast{}, Rebumped{}, AttemptFailed{}, GivenBack{},
		Rebroadcast{}, Looking{}, Receipt{}, Missing{}, CannotTell{}, ProvenDead{}, PaidBy{}, Revoked{}, Cancelled{}, Held{},
		Released{}, Acknowledged{}, Requeued{}, Resolved{}, Refunded{}, Submitted{}, Enqueued{}, Imported{}, Elapsed{},
		PutOff{},
	}
}

// roles is a set of [Role].
type roles = statemachine.Roles[Role]

const (
	byApprover roles = 1 << Approver
	byWorker   roles = 1 << WithdrawalWorker
	byChecker  roles = 1 << ConfirmationWorker
	byOperator roles = 1 << Operator
	bySystem   roles = 1 << System
)

// step is a change while it is made. It is worked on where it is returned: with
// two records of 1.4 KB each, one more copy costs as much as all rules of a step.
type step = Change

// work is used while a change is made, and is zero in one that is returned.
type work struct {
	ev statemachine.Event[Role]
	by By
	// said is when it happened by the host, by.At the time by which the rules judge.
	said time.Time
	why  string // of the request's flagged line

	speakers roles

	ended []Attempt // New.Dispatches, with room for the one that ends
	room  bool      // New.Txs has room for the transaction
	shown bool      // the evidence shows that the transaction pays this request, or reverted
}

// event names what is refused.
func (c *step) event() string { return statemachine.EventName(c.ev) }

// begin checks the role and the actor, the first of all checks, and brings the
// time to UTC microseconds.
func (c *step) begin(now time.Time) error {
	var reason string
	var err error
	if c.by, c.said, reason, err = statemachine.Begin(c.ev, c.speakers, now); err != nil {
		return c.refuse(err, reason)
	}
	return nil
}

// fenced checks a worker's fence, then the version. In a terminal state there
// is no lease to hold, so the state answers for itself.
func (c *step) fenced(fence int64) error {
	j := &c.Old.Job
	over := j.Status == 0 || JobMachine.Terminal(j.Status)
	if j.Status != 0 && fence != j.Lease.Fence || !over && !(j.Lease.Held(c.by.At) && j.Lease.Holder == c.by.Actor) {
		return c.refuse(statemachine.ErrFenced, "")
	}
	return c.jobVersion()
}

func (c *step) jobVersion() error {
	if c.by.Version != 0 && c.by.Version != c.Old.Job.Version {
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", c.by.Version, c.Old.Job.Version))
	}
	return nil
}

func (c *step) requestVersion() error {
	if c.by.Version != 0 && c.by.Version != c.Old.Request.Version {
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", c.by.Version, c.Old.Request.Version))
	}
	return nil
}

// allows asks the table, before anything is allocated.
func (c *step) allows(t JobTrigger) error {
	if _, ok := JobMachine.Next(c.Old.Job.Status, t); !ok {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	return nil
}

func (c *step) allowsRequest(t RequestTrigger) error {
	if _, ok := RequestMachine.Next(c.Old.Request.Status, t); !ok {
		return c.refuseRequest(statemachine.ErrIllegal, "")
	}
	return nil
}

// moveJob is the only place that sets a job's status and version.
func (c *step) moveJob(t JobTrigger, reason string) error {
	j := &c.New.Job // a new one where a job was before
	if _, ok := JobMachine.Next(j.Status, t); !ok {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	return statemachine.Move(JobMachine, &j.Status, &j.Version, t, c.newLine(j.ID, reason))
}

// moveRequest is the only place that sets a request's status and version.
func (c *step) moveRequest(t RequestTrigger, reason string) error {
	r := &c.New.Request
	if _, ok := RequestMachine.Next(r.Status, t); !ok {
		return c.refuseRequest(statemachine.ErrIllegal, "")
	}
	switch t {
	case onHold, onRelease, onFlagged, onRefund: // how long it waits, and when it ended, is measured from the step before
	default:
		r.UpdatedAt = c.by.At
	}
	return statemachine.Move(RequestMachine, &r.Status, &r.Version, t, c.newLine(r.ID, reason))
}

// newLine adds a line to the log, in place. A step with more than one line, or
// with facts beside it, has made room for all of them in one piece of memory.
func (c *step) newLine(id uuid.UUID, reason string) *statemachine.Transition[uuid.UUID] {
	if c.Log == nil {
		c.Log = make([]statemachine.Transition[uuid.UUID], 0, 1)
	}
	c.Log = append(c.Log, statemachine.Transition[uuid.UUID]{})
	line := &c.Log[len(c.Log)-1]
	line.ID, line.At, line.Actor, line.Role, line.Trace, line.Reason = id, c.by.At, c.by.Actor, c.by.Role.String(), c.by.Trace, reason
	return line
}

// refuse names the job, or the request while there is no job.
func (c *step) refuse(err error, reason string) error {
	j := &c.Old.Job
	if j.Status == 0 {
		return c.refuseRequest(err, reason)
	}
	state := j.Status.String()
	if j.Review {
		state += ", in review"
	}
	return &statemachine.Refusal{Err: err, Machine: JobMachine.Name(), ID: j.ID.String(), State: state, Event: c.event(), Reason: reason}
}

func (c *step) refuseRequest(err error, reason string) error {
	r := &c.Old.Request
	if r.Status == 0 {
		r = &Request{ID: c.New.Request.ID}
		switch e := c.ev.(type) { // which may be refused before its request is made
		case Submitted:
			r.ID = e.Request
		case Imported:
			r.ID = e.Request
		}
	}
	return &statemachine.Refusal{Err: err, Machine: RequestMachine.Name(), ID: r.ID.String(), State: r.Status.String(),
		Event: c.event(), Reason: reason}
}

// word reports whether s can be a hash, an input or a reference.
func word(s string) bool { return s != "" && len(s) <= MaxHash && statemachine.Storable(s) }

// notOfBatch refuses what is said to one member of a batch of the transaction
// that it shares with the others.
func (c *step) notOfBatch() error {
	tx := ""
	switch e := c.ev.(type) {
	case Receipt:
		tx = e.Tx
	case Missing:
		tx = e.Tx
	case ProvenDead:
		tx = e.Tx
	case CannotTell:
		tx = e.Tx
	case Looking:
		tx = c.Old.Job.TxHash
	case Resolved: // one that pays many names the output, or it would be this member's alone
		if e.Sent && !e.ByOutput && c.Old.find(e.Hash) < 0 {
			tx = c.Old.Job.TxHash
		}
	case PaidBy:
		facts := txFacts{Nonce: e.Nonce, HasNonce: e.HasNonce, Input: e.Input}
		if tx = e.Tx; c.Old.find(tx) < 0 && c.Old.exclusiveWithLive(&facts) {
			tx = c.Old.Job.TxHash
		}
	}
	if tx == "" || c.Old.find(tx) < int(c.Old.Job.TxsDead) {
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	return c.refuse(ErrInBatch, c.Old.Job.Batch.String())
}
