package withdrawal

import (
	"bytes"
	"cmp"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// DueKind says what is due, and in which order it is taken. Only the rules here say what makes a record due: stores ask
// them, or repeat them as a query.
// Values: DueClaim, DueRebroadcast, DueCheck, DueRescue, DueEnqueue, DueRefund.
type DueKind = statemachine.Enum[dueKind]

const (
	// DueClaim: pending jobs from [Job.DueAt] on, or earlier by [IsAhead], in the order of [CompareClaims]; not jobs
	// for which [Claimed] is refused, since the request is held or flagged or the wallet does not pay. Nobody asks for
	// the jobs of a chain that the policy pauses, see [Chain]; jobs of a chain that the switch stops are not offered,
	// see [DueIn].
	DueClaim DueKind = iota + 1
	// DueRebroadcast: confirming jobs that are owed another broadcast, from next_check_at on unless somebody has a
	// lease, in the order of [CompareRebroadcasts]. Of the due jobs of a wallet with nonces only the first by
	// [LowerNonce] is offered.
	DueRebroadcast
	// DueCheck: confirming jobs from next_check_at on, in the order of this time and of the id. A job that is owed
	// another broadcast is left to the withdrawal workers for a grace, since a look-up would move next_check_at, and so
	// the broadcast, too. A job in a batch is looked up with the batch, see [BatchDueAt].
	DueCheck
	// DueRescue: processing jobs, not in review, from the end of the lease on,
	// by that and id.
	DueRescue
	// DueEnqueue: approved requests that are neither held nor flagged, at once
	// or from offer_at on, by updated_at and id.
	DueEnqueue
	// DueRefund: requests that have ended unpaid and are not [Refunded], and that may not have been paid as far as the
	// record says; at once or from offer_at on, in the order of offer_at, updated_at and id. [Policy.Refundable] says
	// whether a request may be refunded now; one that may not is [PutOff] until it may.
	DueRefund
)

type dueKind struct{}

func (dueKind) Kind() string    { return "kind of due work" }
func (dueKind) Names() []string { return dueNames }

var dueNames = []string{"claim", "rebroadcast", "check", "rescue", "enqueue", "refund"}

// DueAt says from when on something of a kind is due for w, as it is stored; ok is false if nothing will be due,
// whatever the time. Work that is due at once is due from the zero time on. Grace is for [DueCheck].
func DueAt(kind DueKind, w *Withdrawal, grace time.Duration) (at time.Time, ok bool) {
	j := &w.Job
	switch kind {
	case DueClaim:
		return j.DueAt(), j.Status == JobPending && !w.Request.Held && !w.Request.flagged() && w.Wallet.Pays()
	case DueRebroadcast:
		at = j.NextCheckAt
		if j.Lease.Holder != "" && j.Lease.Until.After(at) {
			at = j.Lease.Until
		}
		return at, j.owesBroadcast()
	case DueCheck:
		at = j.NextCheckAt
		if j.owesBroadcast() {
			at = at.Add(grace)
		}
		return at, j.Status == JobConfirming && j.Batch == uuid.Nil
	case DueRescue:
		return j.Lease.Until, j.Status == JobProcessing && !j.Review
	case DueEnqueue:
		r := &w.Request
		return r.OfferAt, r.Status == RequestApproved && !r.Held && !r.flagged()
	case DueRefund:
		return w.Request.OfferAt, w.Request.awaitsRefund()
	}
	return time.Time{}, false
}

func (j *Job) owesBroadcast() bool { return j.Status == JobConfirming && j.Rebroadcast && !j.Review }

// DueIn reports whether due work of a kind is offered while the switch has state s for the chain and outbound is
// [OutboundOf] its wallets: no claim and no order while nothing begins, no broadcast while nothing is sent, no refund
// while the chain is recovering, and neither claim, order nor refund while a wallet stops the chain.
func DueIn(kind DueKind, s switches.State, outbound uuid.UUID) bool {
	switch kind {
	case DueClaim, DueEnqueue:
		return s.Begins() && outbound == uuid.Nil
	case DueRebroadcast:
		return s.Sends()
	case DueRefund:
		return !s.Recovering && outbound == uuid.Nil
	}
	return true
}

// IsDue reports whether the time of something of a kind that is due for w has come.
func IsDue(kind DueKind, w *Withdrawal, grace time.Duration, now time.Time) bool {
	at, ok := DueAt(kind, w, grace)
	return ok && !at.After(now)
}

// IsAhead reports whether something of a kind is due for w although its time has not come, since a clock that was ahead
// has put it off: its time is later than ahead, which is now + [Policy.Longest] + the grace. A scheduled job may be put
// off by a snooze for as long as the snooze asks, so for it the time of the scheduling ([Job].ScheduledFrom) is
// compared; and a job that nothing delays is due whatever the clock said.
func IsAhead(kind DueKind, w *Withdrawal, grace time.Duration, now, ahead time.Time) bool {
	at, ok := DueAt(kind, w, grace)
	switch {
	case !ok || !at.After(now):
		return false
	case kind != DueClaim:
		return at.After(ahead)
	}
	j := &w.Job
	return j.scheduled(now, ahead) && (!j.OfferAt.After(now) || j.OfferAt.After(ahead))
}

// scheduled reports whether the time at which a pending job is scheduled has come.
func (j *Job) scheduled(now, ahead time.Time) bool {
	return !j.ScheduledAt.After(now) || j.ScheduledAt.Equal(j.ScheduledFrom) || j.ScheduledFrom.After(ahead)
}

// claimable reports whether a pending job may be claimed at now, as far as its times say.
func (p *Policy) claimable(j *Job, now time.Time) bool {
	return j.scheduled(now, now.Add(p.Longest(DueClaim))) && p.due(DueClaim, j.OfferAt, now)
}

// Longest is the longest time for which the rules put off work of a kind, without a grace. A due time that is further
// ahead of now was set by a clock that was ahead, and the work is due now, see [IsAhead] and [statemachine.Due]. For
// [DueClaim] it is how long a job is not offered again, and how far [Job].ScheduledFrom may be ahead of now: that much
// two clocks may differ, or a transaction may have begun before the one that scheduled the job. All processes of a
// store need the same policy, since a process with shorter pauses does not wait for the longer pauses of another.
func (p *Policy) Longest(kind DueKind) time.Duration {
	switch kind {
	case DueRebroadcast:
		return max(p.CheckEvery, p.Lease)
	case DueClaim, DueCheck:
		return p.CheckEvery
	case DueRescue:
		return p.Lease
	case DueRefund:
		longest := max(p.EnqueueEvery, p.Chain.AnswerWithin)
		for _, c := range p.Chains {
			longest = max(longest, c.AnswerWithin)
		}
		return longest + askAgain
	}
	return p.EnqueueEvery
}

// due reports whether what a rule of a kind has put off until at is due at now.
func (p *Policy) due(kind DueKind, at, now time.Time) bool {
	return statemachine.Due(now, at, p.Longest(kind))
}

// CompareDue is the order in which what is due of a kind is taken.
func CompareDue(kind DueKind, a, b *Withdrawal) int {
	byID := func(x, y *uuid.UUID) int { return bytes.Compare(x[:], y[:]) }
	switch kind {
	case DueClaim:
		return CompareClaims(&a.Job, &b.Job)
	case DueRebroadcast:
		return CompareRebroadcasts(&a.Job, &b.Job)
	case DueCheck:
		return cmp.Or(a.Job.NextCheckAt.Compare(b.Job.NextCheckAt), byID(&a.Job.ID, &b.Job.ID))
	case DueRescue:
		return cmp.Or(a.Job.Lease.Until.Compare(b.Job.Lease.Until), byID(&a.Job.ID, &b.Job.ID))
	case DueRefund:
		return cmp.Or(a.Request.OfferAt.Compare(b.Request.OfferAt), a.Request.UpdatedAt.Compare(b.Request.UpdatedAt),
			byID(&a.Request.ID, &b.Request.ID))
	}
	return cmp.Or(a.Request.UpdatedAt.Compare(b.Request.UpdatedAt), byID(&a.Request.ID, &b.Request.ID))
}

// RebroadcastShare is how many items of a claim of n are re-broadcasts, taken before executions: half, rounded up,
// since a later nonce cannot be mined before an earlier one. Claims of one item alternate: again is whether the last
// one was a re-broadcast.
func RebroadcastShare(n int, again bool) int {
	if n == 1 && again {
		return 0
	}
	return (n + 1) / 2
}

// FreesSlot reports whether the change gives the slot of a wallet back: changes
// that do are saved before others, which may take it.
func (c *Change) FreesSlot() bool {
	return c.Old.Job.Slot.Valid && c.New.Job.Slot != c.Old.Job.Slot
}

// ApprovedAt is when the change approved a pending request; zero if it does not.
func (c *Change) ApprovedAt() time.Time {
	for i := range c.Log {
		if IsApproval(&c.Log[i]) {
			return c.Log[i].At
		}
	}
	return time.Time{}
}

// IsApproval reports whether a line of the log led a request from pending to
// approved. A requeue is no approval.
func IsApproval(l *statemachine.Transition[uuid.UUID]) bool {
	return l.Machine == RequestMachine.Name() && l.From == RequestPending.String() && l.To == RequestApproved.String()
}

// GivenBack is the event by which a worker gives back what it claimed and has
// not started: the execution, or a re-broadcast as one that was not done.
func (w *Withdrawal) GivenBack(by By) Event {
	if w.Job.Status == JobConfirming {
		return w.notRebroadcast(by)
	}
	return GivenBack{By: by, Fence: w.Job.Lease.Fence, Reason: "given back"}
}

// Abandoned is the event by which a worker reports work that ended in a way that
// tells nothing of what was done.
func (w *Withdrawal) Abandoned(by By, why string) Event {
	if w.Job.Status == JobConfirming {
		return w.notRebroadcast(by)
	}
	return AttemptFailed{By: by, Fence: w.Job.Lease.Fence, Failure: Unclear, Error: why}
}

func (w *Withdrawal) notRebroadcast(by By) Event {
	hash := w.Job.TxHash
	if tx := w.newestBytes(); tx != nil { // the newest may be a copy without bytes, which somebody else made
		hash = tx.Hash
	}
	return Rebroadcast{By: by, Fence: w.Job.Lease.Fence, Hash: hash}
}
