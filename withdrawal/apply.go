package withdrawal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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
// What w must hold: Request always, and Job if there is one. Txs and Attempt
// for every event of the execution layer but Claimed of a pending job, Elapsed
// and the two that give up an execution (AttemptFailed, Snoozed), which need
// neither; Txs alone for Claimed in confirming; with the
// Attempt loaded the last two recognise their repetition. Txs for Enqueued,
// Requeued and Imported if there was a job before. Wallet for Prepared, where
// the chain has nonces: without it only the store guards the nonce.
func (p Policy) Apply(w Withdrawal, ev Event) (c Change, err error) {
	c.Old = w
	c.New = w
	switch e := ev.(type) {
	case Submitted:
		err = p.submit(&c, &e)
	case Approved:
		err = p.approve(&c, &e)
	case Rejected:
		err = p.reject(&c, &e)
	case Cancelled:
		err = p.cancel(&c, &e)
	case Enqueued:
		err = p.enqueue(&c, &e)
	case Requeued:
		err = p.requeue(&c, &e)
	case Imported:
		err = p.imported(&c, &e)
	case Claimed:
		err = p.claim(&c, &e)
	case Prepared:
		err = p.prepare(&c, &e)
	case Dispatched:
		err = p.dispatch(&c, &e)
	case Broadcast:
		err = p.broadcast(&c, &e)
	case Rebumped:
		err = p.rebump(&c, &e)
	case AttemptFailed:
		err = p.attemptFailed(&c, &e)
	case Snoozed:
		err = p.snooze(&c, &e)
	case Rebroadcast:
		err = p.rebroadcast(&c, &e)
	case Looking:
		err = p.looking(&c, &e)
	case Receipt:
		err = p.receipt(&c, &e)
	case Missing:
		err = p.missing(&c, &e)
	case ProvenDead:
		err = p.provenDead(&c, &e)
	case Resolved:
		err = p.resolve(&c, &e)
	case Elapsed:
		err = p.elapsed(&c, &e)
	default:
		err = fmt.Errorf("%w: no event", statemachine.ErrInvalid)
	}
	if err != nil {
		return Change{Old: w, New: w}, err
	}
	return c, nil
}

// roles is a set of [Role].
type roles uint8

const (
	byApprover roles = 1 << Approver
	byWorker   roles = 1 << WithdrawalWorker
	byChecker  roles = 1 << ConfirmationWorker
	byOperator roles = 1 << Operator
	bySystem   roles = 1 << System
)

// admit checks the role and the actor, the first of all checks, and brings the
// time to UTC microseconds.
func (c *Change) admit(by *By, allowed roles, event string) error {
	if !by.Role.Valid() || allowed&(1<<by.Role) == 0 {
		return c.refuse(event, statemachine.ErrForbidden, "the role is "+by.Role.String())
	}
	if by.Actor == "" || len(by.Actor) > MaxActor || !clean(by.Actor) || by.At.IsZero() {
		return c.refuse(event, statemachine.ErrInvalid, "an actor of 1 to 200 bytes and a time are needed")
	}
	by.At = time.Unix(by.At.Unix(), int64(by.At.Nanosecond()/1000*1000)).UTC()
	if sec := by.At.Unix(); sec < 0 || sec >= year9001 { // milliseconds taken for seconds: no store could keep what is due later
		return c.refuse(event, statemachine.ErrInvalid, fmt.Sprintf("a time in the year %d", by.At.Year()))
	}
	return nil
}

const year9001 = 221876928000 // the first second that is refused, since 1970

// fenced checks a worker's fence, then the version. In a terminal state there
// is no lease to hold, so the state answers for itself.
func (c *Change) fenced(by *By, fence int64, event string) error {
	j := &c.Old.Job
	over := j.Status == 0 || JobMachine.Terminal(j.Status)
	if j.Status != 0 && fence != j.Lease.Fence || !over && !(j.Lease.Held(by.At) && j.Lease.Holder == by.Actor) {
		return c.refuse(event, statemachine.ErrFenced, "")
	}
	return c.jobVersion(by, event)
}

func (c *Change) jobVersion(by *By, event string) error {
	if by.Version != 0 && by.Version != c.Old.Job.Version {
		return c.refuse(event, statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", by.Version, c.Old.Job.Version))
	}
	return nil
}

func (c *Change) requestVersion(by *By, event string) error {
	if by.Version != 0 && by.Version != c.Old.Request.Version {
		return c.refuse(event, statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", by.Version, c.Old.Request.Version))
	}
	return nil
}

// allows asks the table, before anything is allocated.
func (c *Change) allows(t JobTrigger, event string) error {
	if _, ok := JobMachine.Next(c.Old.Job.Status, t); !ok {
		return c.refuse(event, statemachine.ErrIllegal, "")
	}
	return nil
}

func (c *Change) allowsRequest(t RequestTrigger, event string) error {
	if _, ok := RequestMachine.Next(c.Old.Request.Status, t); !ok {
		return c.refuseRequest(event, statemachine.ErrIllegal, "")
	}
	return nil
}

// moveJob is the only place that sets a job's status and version.
func (c *Change) moveJob(t JobTrigger, by *By, reason string) error {
	j := &c.New.Job
	from := j.Status
	to, ok := JobMachine.Next(from, t)
	if !ok {
		return c.refuse(t.String(), statemachine.ErrIllegal, "")
	}
	j.Status = to
	j.Version++
	line := c.newLine(by, reason)
	line.Machine, line.ID, line.Version = JobMachine.Name(), j.ID, j.Version
	line.From, line.Trigger, line.To = before(from), t.String(), to.String()
	return nil
}

// moveRequest is the only place that sets a request's status and version.
func (c *Change) moveRequest(t RequestTrigger, by *By, reason string) error {
	r := &c.New.Request
	from := r.Status
	to, ok := RequestMachine.Next(from, t)
	if !ok {
		return c.refuseRequest(t.String(), statemachine.ErrIllegal, "")
	}
	r.Status = to
	r.Version++
	r.UpdatedAt = by.At
	line := c.newLine(by, reason)
	line.Machine, line.ID, line.Version = RequestMachine.Name(), r.ID, r.Version
	line.From, line.Trigger, line.To = before(from), t.String(), to.String()
	return nil
}

// newLine adds a line to the log, in place. A step with more than one line, or
// with facts beside it, has made room for all of them in one piece of memory.
func (c *Change) newLine(by *By, reason string) *statemachine.Transition[uuid.UUID] {
	if c.Log == nil {
		c.Log = make([]statemachine.Transition[uuid.UUID], 0, 1)
	}
	c.Log = c.Log[:len(c.Log)+1]
	line := &c.Log[len(c.Log)-1]
	line.At, line.Actor, line.Reason = by.At, by.Actor, reason
	return line
}

func before[S statemachine.Label](s S) string {
	if s == 0 {
		return ""
	}
	return s.String()
}

// refuse names the job, or the request while there is no job.
func (c *Change) refuse(event string, err error, reason string) error {
	j := &c.Old.Job
	if j.Status == 0 {
		return c.refuseRequest(event, err, reason)
	}
	state := j.Status.String()
	if j.Review {
		state += ", in review"
	}
	return &statemachine.Refusal{Err: err, Machine: JobMachine.Name(), ID: j.ID.String(), State: state, Event: event, Reason: reason}
}

func (c *Change) refuseRequest(event string, err error, reason string) error {
	r := &c.Old.Request
	return &statemachine.Refusal{Err: err, Machine: RequestMachine.Name(), ID: r.ID.String(), State: r.Status.String(), Event: event, Reason: reason}
}

// clean reports whether every store can keep s: valid UTF-8 without NUL.
func clean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// bounded makes text from outside storable: at most MaxText bytes, valid UTF-8,
// no NUL.
func bounded(s string) string {
	if len(s) <= MaxText && clean(s) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > MaxText {
		s = strings.ToValidUTF8(s[:MaxText-3], "") + "..."
	}
	return s
}

// word reports whether s can be a hash, an input or a reference.
func word(s string) bool { return s != "" && len(s) <= MaxHash && clean(s) }
