package withdrawal

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Counted is what [StatsOf] reads of one request.
type Counted struct {
	Request   Request
	Latest    Job // zero while there is none
	Wallet    HotWallet
	Batch     Batch       // of Latest.Batch; zero if there is none
	Jobs      []Job       // all of them
	Attempts  [][]Attempt // of each of Jobs, by fence
	Approved  time.Time   // of the line of the log that led from pending to approved; zero if there is none
	Incidents []Incident
	Settled   int // of them those with an [Acknowledgement]
}

// StatsOf counts at now, and in the window before it. It defines what the
// statistics of a store say, but for Gaps, UnknownOutbound, WalletsOff and what
// [Stats.CountBatch] adds.
func StatsOf(all []Counted, now time.Time, window time.Duration) Stats {
	s := Stats{At: now, Requests: map[RequestStatus]int64{}, Jobs: map[JobStatus]int64{}}
	from := now.Add(-window)
	within := func(t time.Time) bool { return !t.Before(from) && t.Before(now) }
	var approval, confirmation Mean
	for i := range all {
		c := &all[i]
		r := &c.Request
		s.Requests[r.Status]++
		switch r.Status {
		case RequestPending:
			s.since(&s.OldestPending, r.CreatedAt)
		case RequestApproved:
			s.since(&s.OldestApproved, r.UpdatedAt)
		case RequestCompleted, RequestFailed:
			if within(r.UpdatedAt) {
				s.Ended++
				s.Completed += one(r.Status == RequestCompleted)
			}
		}
		if !c.Approved.IsZero() && within(c.Approved) {
			approval.Add(r.CreatedAt, c.Approved)
		}
		for k := range c.Incidents {
			s.Incidents += one(within(c.Incidents[k].At))
		}
		s.OpenIncidents += int64(len(c.Incidents) - c.Settled)
		s.PaidAndRefunded += one(r.paidAndRefunded())
		if r.toRefund() {
			s.since(&s.OldestToRefund, r.UpdatedAt)
		}
		for k := range c.Jobs {
			j := &c.Jobs[k]
			s.Jobs[j.Status]++
			if j.Status == JobConfirmed && within(j.ProcessedAt) {
				confirmation.Add(j.BroadcastAt, j.ProcessedAt)
				s.GasUsed = s.GasUsed.Add(j.GasUsed)
				s.GasJobs++
			}
			for n, a := range c.Attempts[k] {
				s.Executions += one(within(a.StartedAt))
				s.Retries += one(within(a.StartedAt) && n > 0)
			}
		}
		stuck := s.underWay(&Withdrawal{Request: *r, Job: c.Latest, Wallet: c.Wallet}, now)
		if r.Status == RequestPending || r.Status == RequestApproved || r.Status == RequestQueued {
			batch, checked := BatchDueAt(DueBatchCheck, &c.Batch, 0)
			unknown := !c.Latest.DispatchedAt.IsZero() || r.StraysSent > 0 || r.maybePaidBeside()
			s.AddMoney(Money{Chain: r.Chain, Asset: r.Asset, Decimals: r.Decimals}, statemachine.Sum(r.AmountRaw), c.Latest.Review, unknown,
				stuck || c.Latest.Status == JobConfirming && checked && batch.Before(now))
		}
	}
	s.ApprovalTime, s.ConfirmationTime = approval.Value(), confirmation.Value()
	return s
}

// underWay counts what the latest job of a request waits for, and says whether it is
// stuck.
func (s *Stats) underWay(w *Withdrawal, now time.Time) (stuck bool) {
	j := &w.Job
	switch j.Status {
	case JobPending:
		s.since(&s.OldestQueued, w.Request.QueuedAt)
		latest(&s.Latest, j.ScheduledFrom)
		if IsDue(DueClaim, w, 0, now) {
			oldest(&s.OldestJob, j.ScheduledAt)
		}
	case JobProcessing:
		s.since(&s.OldestQueued, w.Request.QueuedAt)
		stuck = IsDue(DueRescue, w, 0, now)
		s.LeaseExpired += one(stuck)
	case JobConfirming:
		s.since(&s.OldestSent, j.BroadcastAt)
		stuck = IsDue(DueCheck, w, 0, now.Add(-time.Microsecond))
		s.CheckOverdue += one(stuck)
	}
	if j.Review {
		s.InReview++
		since := j.ClaimedAt
		if since.IsZero() { // imported
			since = j.BroadcastAt
		}
		s.since(&s.OldestReview, since)
	}
	return stuck
}

// CountBatch counts a batch.
func (s *Stats) CountBatch(b *Batch) {
	at, ok := BatchDueAt(DueBatchCheck, b, 0)
	s.BatchesOverdue += one(ok && at.Before(s.At))
	if ok {
		s.since(&s.OldestBatch, b.CreatedAt)
	}
}

func one(counts bool) int64 {
	if counts {
		return 1
	}
	return 0
}

// since counts what has waited since a moment.
func (s *Stats) since(t *time.Time, moment time.Time) {
	oldest(t, moment)
	latest(&s.Latest, moment)
}

func latest(t *time.Time, candidate time.Time) {
	if candidate.After(*t) {
		*t = candidate
	}
}

func oldest(t *time.Time, candidate time.Time) {
	if t.IsZero() || candidate.Before(*t) {
		*t = candidate
	}
}
