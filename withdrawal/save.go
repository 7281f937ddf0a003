package withdrawal

import (
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
)

// Merge takes next, the following change of the same request, into c, and reports whether it did. It does not if a
// store has to see what lies between the two: a slot that was taken, or a job or an attempt that next no longer holds.
// Merged changes are saved as one, so that each record is written once.
func (c *Change) Merge(next *Change) bool {
	job, a := &c.New.Job, c.Attempt()
	if job.Slot != c.Old.Job.Slot ||
		job.ID != next.New.Job.ID && *job != c.Old.Job ||
		a != nil && (a.Job != next.New.Attempt.Job || a.Fence != next.New.Attempt.Fence) {
		return false
	}
	c.New = next.New
	c.Log = slices.Concat(c.Log, next.Log)
	c.Txs = slices.Concat(c.Txs, next.Txs)
	c.Reservations = slices.Concat(c.Reservations, next.Reservations)
	c.Incidents = slices.Concat(c.Incidents, next.Incidents)
	c.Strays = mergeStrays(c.Strays, next.Strays)
	return true
}

// mergeStrays keeps of each stray the last state.
func mergeStrays(a, b []Stray) []Stray {
	all := slices.Clone(a)
	for _, s := range b {
		if i := slices.IndexFunc(all, func(o Stray) bool { return o.Seq == s.Seq }); i >= 0 {
			all[i] = s
		} else {
			all = append(all, s)
		}
	}
	return all
}

// Reserve applies a reservation of h: its Delta to BalanceReserved, and the
// later of the two times to LastUsedAt.
func (h *HotWallet) Reserve(r Reservation) {
	h.BalanceReserved = h.BalanceReserved.Add(r.Delta())
	if h.LastUsedAt.Before(r.UsedAt) {
		h.LastUsedAt = r.UsedAt
	}
}

// Complete checks that the log has exactly one line for each new version of the
// request and of the job, see [statemachine.Complete].
func (c *Change) Complete() error {
	job := c.Old.Job.Version
	if c.New.Job.ID != c.Old.Job.ID {
		job = 0
	}
	return statemachine.Complete(c.Log,
		statemachine.Versions[uuid.UUID]{Machine: RequestMachine.Name(), ID: c.New.Request.ID,
			Old: c.Old.Request.Version, New: c.New.Request.Version},
		statemachine.Versions[uuid.UUID]{Machine: JobMachine.Name(), ID: c.New.Job.ID, Old: job, New: c.New.Job.Version})
}
