package refresh

import (
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

const leaseExpired = "lease expired"

// claimJob returns the jobs of dead workers, and claims one due job together with the lock, in
// one commit.
func (s *step) claimJob(e *JobClaimed) error {
	if err := s.slot(e.Slot); err != nil {
		return err
	}
	if s.mine(e.Known) { // by a copy of this event
		mine := func(j *Job) bool { return j.working(s.by.At) && j.Lease.Holder == s.by.Actor }
		if i := find(s.Old.Jobs, mine); i >= 0 {
			s.Job = s.Old.Jobs[i].ID
			return nil
		}
	}
	var due []int
	held, busy := s.Old.held(s.by.At), s.Old.working(s.by.At)
	for i := range s.New.Jobs {
		j := &s.New.Jobs[i]
		if j.Status == JobProcessing && !j.working(s.by.At) {
			if err := s.again(j, jobLeaseExpired, leaseExpired); err != nil {
				return err
			}
		}
		if j.Status == JobPending && !s.by.At.Before(j.Due(&s.Old.Wallet)) {
			due = append(due, i)
		}
	}
	slices.SortFunc(due, func(a, b int) int { return CompareJobs(&s.New.Jobs[a], &s.New.Jobs[b]) })
	for _, i := range due {
		j := &s.New.Jobs[i]
		switch {
		case j.Invoice() && !busy:
			return s.invoice(j)
		case held: // nothing is claimed: work is kept
			j.AvailableAt = s.by.At.Add(s.c.WalletWorkerPollInterval)
		default:
			if err := s.lock(e.Lock); err != nil {
				return err
			}
			return s.claim(j)
		}
	}
	return nil
}

// mine reports whether the speaker holds a lock of the wallet with a fence above known, the
// fence that it knew when it first sent the event. Then an earlier copy of the same event took
// the lock.
func (s *step) mine(known int64) bool {
	l := &s.Old.Lock.Lease
	return l.Held(s.by.At) && l.Holder == s.by.Actor && l.Fence > known
}

func (s *step) claim(j *Job) error {
	l, err := j.Lease.Claim(s.by.Actor, s.by.At, s.c.LockTTL)
	if err != nil {
		return s.refuse(err, "job "+j.ID.String())
	}
	j.Lease = l
	j.Attempts++
	s.Job = j.ID
	return s.moveJob(j, jobClaim, "")
}

// invoice works on a job for an invoice without asset: it makes a provisional watcher, unless the
// recipient has a watcher, and completes the job. It needs neither lock nor refresh.
func (s *step) invoice(j *Job) error {
	if err := s.claim(j); err != nil {
		return err
	}
	if s.watcher(j.Recipient) < 0 {
		now := s.by.At
		err := s.watch(Watcher{Credentials: j.Credentials, Recipient: j.Recipient, Provisional: true, CreatedAt: now,
			NextAt: now, ExpiresAt: now.Add(s.c.ProvisionalTTL)}, watchInvoice)
		if err != nil {
			return err
		}
	}
	return s.finish(j)
}

func (s *step) finish(j *Job) error {
	j.Error = ""
	return s.endJob(j, jobComplete)
}

// endJob ends a job for ever.
func (s *step) endJob(j *Job, t JobTrigger) error {
	j.ProcessedAt, j.EndSeq, j.Lease = s.by.At, s.New.Wallet.WorkSeq, j.Lease.Release()
	return s.moveJob(j, t, j.Error)
}

// again ends an attempt that counts. The job is pending again after the delay of this attempt,
// or failed if it was the last one.
func (s *step) again(j *Job, t JobTrigger, text string) error {
	j.Error = statemachine.Bounded(text, MaxText)
	j.Lease = j.Lease.Release()
	if j.Attempts >= s.c.MaxRefreshRetries {
		return s.endJob(j, jobMaxRetries)
	}
	j.AvailableAt = s.by.At.Add(s.c.RetryDelay(j.Attempts))
	return s.moveJob(j, t, j.Error)
}

// held finds the job and checks slot, job and lock, in this order. over reports that the
// attempt with this fence has ended already in the way in which the event would end it.
func (s *step) held(h *Fences, ended func(*Job) bool) (j *Job, over bool, err error) {
	i := find(s.New.Jobs, func(j *Job) bool { return j.ID == h.Job })
	if i < 0 {
		return nil, false, s.refuse(statemachine.ErrNotFound, "job "+h.Job.String())
	}
	j = &s.New.Jobs[i]
	if j.Lease.Holder == "" && j.Lease.Fence == h.Fence && ended(j) {
		return j, true, nil
	}
	if err := s.slot(h.Slot); err != nil {
		return j, false, err
	}
	if j.Status != JobProcessing || j.Lease.Holder != s.by.Actor || j.Lease.Fenced(h.Fence, s.by.At) != nil {
		return j, false, s.refuse(statemachine.ErrFenced, "the job is not held")
	}
	return j, false, s.locked(h.Lock)
}

// jobDone stores a pass. The attempt fails where the job is an invoice with an asset and its
// recipient is in no listing.
func (s *step) jobDone(e *JobDone) error {
	unlisted := func(j *Job) bool {
		return j.Cause == InvoiceCreated && !slices.ContainsFunc(e.Listing.Transfers,
			func(t Transfer) bool { return t.Recipient == j.Recipient })
	}
	j, over, err := s.held(&e.Fences, func(j *Job) bool { return j.Status == JobCompleted || unlisted(j) && notDone(j) })
	if over || err != nil {
		return err
	}
	v, err := s.view(&e.Listing, e.Cancelled)
	if err != nil {
		return err
	}
	// An unknown answer may be a time-out: the round is no success.
	if !slices.ContainsFunc(e.Cancelled, func(c Cancelled) bool { return c.Outcome == statemachine.Unknown }) {
		if err := s.answered(); err != nil {
			return err
		}
	}
	if err := s.pass(v, j.Credentials); err != nil {
		return err
	}
	s.New.Lock = Lock{}
	j = &s.New.Jobs[find(s.New.Jobs, func(j *Job) bool { return j.ID == e.Job })]
	if unlisted(j) {
		return s.again(j, jobRetry, "the recipient is in no listing")
	}
	return s.finish(j)
}

// notDone reports whether the latest attempt ended without a result.
func notDone(j *Job) bool { return j.Status == JobPending || j.Status == JobFailed }

func (s *step) jobNotDone(e *JobNotDone) error {
	j, over, err := s.held(&e.Fences, notDone)
	if over || err != nil {
		return err
	}
	s.New.Lock = Lock{}
	switch e.Outcome {
	case statemachine.Failed, statemachine.Unknown:
		if e.Permanent && e.Outcome == statemachine.Failed {
			j.Error = statemachine.Bounded(e.Error, MaxText)
			return s.endJob(j, jobPermanent)
		}
		return s.again(j, jobRetry, e.Error)
	case statemachine.Deferred:
		j.Attempts--
		j.Error = statemachine.Bounded(e.Error, MaxText)
		j.Lease = j.Lease.Release()
		if e.Stopped {
			j.AvailableAt = s.by.At
			return s.moveJob(j, jobRelease, "")
		}
		j.AvailableAt = s.by.At.Add(s.c.RefreshInterval)
		return s.moveJob(j, jobDefer, j.Error)
	}
	return s.refuse(statemachine.ErrInvalid, "an outcome other than done is needed")
}

// view reads a listing after its bounds are checked.
func (s *step) view(l *Listing, worked []Cancelled) (*view, error) {
	if len(l.Transfers) > MaxTransfers {
		return nil, s.refuse(statemachine.ErrInvalid, "a listing has at most 100000 transfers")
	}
	read := *l
	at, err := statemachine.Time(l.Answered)
	if err != nil {
		return nil, s.refuse(statemachine.ErrInvalid, "a listing needs the time of its answer")
	}
	read.Answered = s.notAhead(at)
	v := s.c.read(&read, worked)
	s.Faults = v.faults
	return v, nil
}

// notAhead limits a time that a process counted by its own clock to the time of the event:
// between two answers of the store this clock may run ahead of the store's.
func (s *step) notAhead(at time.Time) time.Time {
	if at.After(s.by.At) {
		return s.by.At
	}
	return at
}
