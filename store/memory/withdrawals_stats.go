package memory

import (
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// Stats implements [store.WithdrawalRecords]. It reads everything.
func (w withdrawals) Stats(now time.Time, window time.Duration, chain uuid.UUID) (withdrawal.Stats, error) {
	s := withdrawal.Stats{At: now, Requests: map[withdrawal.RequestStatus]int64{}, Jobs: map[withdrawal.JobStatus]int64{}}
	from := now.Add(-window)
	within := func(t time.Time) bool { return !t.Before(from) && t.Before(now) }
	var approval, confirmation withdrawal.Mean
	of := func(c uuid.UUID) bool { return chain == uuid.Nil || c == chain }
	for _, i := range w.incidents {
		if r := w.requests.at[i.Request]; r == nil || !of(r.Chain) {
			continue
		}
		if within(i.At) {
			s.Incidents++
		}
		if !w.acked[incidentKey{i.Request, i.Hash, i.Claim, i.BlockHash}] {
			s.OpenIncidents++
		}
	}
	for _, r := range w.requests.at {
		if !of(r.Chain) {
			continue
		}
		s.Requests[r.Status]++
		switch r.Status {
		case withdrawal.RequestPending:
			oldest(&s.OldestPending, r.CreatedAt)
		case withdrawal.RequestApproved:
			oldest(&s.OldestApproved, r.UpdatedAt)
		case withdrawal.RequestCompleted, withdrawal.RequestFailed:
			if within(r.UpdatedAt) {
				s.Ended++
				if r.Status == withdrawal.RequestCompleted {
					s.Completed++
				}
			}
		}
		for _, line := range w.of[record[uuid.UUID]{withdrawal.RequestMachine.Name(), r.ID}] {
			if withdrawal.IsApproval(&line) && within(line.At) {
				approval.Add(r.CreatedAt, line.At)
			}
		}
	}
	for _, j := range w.jobs.at {
		if !of(j.Chain) {
			continue
		}
		s.Jobs[j.Status]++
		var a withdrawal.Withdrawal // what only a live job needs
		if !withdrawal.JobMachine.Terminal(j.Status) {
			a = w.aggregate(j.Request)
		}
		if j.Status == withdrawal.JobPending || j.Status == withdrawal.JobProcessing {
			oldest(&s.OldestQueued, a.Request.QueuedAt)
		}
		switch j.Status {
		case withdrawal.JobPending:
			if withdrawal.IsDue(withdrawal.DueClaim, &a, 0, now) {
				oldest(&s.OldestJob, j.ScheduledAt)
			}
		case withdrawal.JobProcessing:
			if withdrawal.IsDue(withdrawal.DueRescue, &a, 0, now) {
				s.LeaseExpired++
			}
		case withdrawal.JobConfirming:
			oldest(&s.OldestSent, j.BroadcastAt)
			if withdrawal.IsDue(withdrawal.DueCheck, &a, 0, now.Add(-time.Microsecond)) {
				s.CheckOverdue++
			}
		case withdrawal.JobConfirmed:
			if within(j.ProcessedAt) {
				confirmation.Add(j.BroadcastAt, j.ProcessedAt)
				s.GasUsed = s.GasUsed.Plus(j.GasUsed)
				s.GasJobs++
			}
		}
		if j.Review {
			s.InReview++
			since := j.ClaimedAt
			if since.IsZero() { // imported
				since = j.BroadcastAt
			}
			oldest(&s.OldestReview, since)
		}
		for i, a := range w.attempts[j.ID] {
			if within(a.StartedAt) {
				s.Executions++
				if i > 0 {
					s.Retries++
				}
			}
		}
	}
	s.ApprovalTime, s.ConfirmationTime = approval.Value(), confirmation.Value()
	return s, nil
}

func oldest(t *time.Time, candidate time.Time) {
	if t.IsZero() || candidate.Before(*t) {
		*t = candidate
	}
}
