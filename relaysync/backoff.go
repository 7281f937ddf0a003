package relaysync

import (
	"cmp"
	"slices"
	"time"
)

// Reaction is what an activity asks of a reactor: see [Handle].
type Reaction uint8

const (
	Ignore        Reaction = iota
	SyncNow                // sync the relay at once
	ScheduleRetry          // sync it after the back-off
)

// Handle says what a reactor does about an activity. A store sends each activity to the reactors of its
// process, which only wakes them: the commit that stored the activity has set the due time already, by
// the same rule.
func Handle(a Activity) Reaction {
	if a.ResourceType != ResourceRelay {
		return Ignore
	}
	switch a.Type {
	case CreateRelay, UpdateRelay, ActivateRelay, DeactivateRelay, RetryRelaySync:
		return SyncNow
	case FailRelaySync:
		return ScheduleRetry
	}
	return Ignore
}

// Reconcile says what a relay without a timer needs: nothing, a sync at once where the error is
// blank, otherwise a sync after the back-off.
func Reconcile(r Relay) Reaction {
	switch {
	case !r.DeletedAt.IsZero() || !r.Pending():
		return Ignore
	case r.Error() == "":
		return SyncNow
	}
	return ScheduleRetry
}

// CompareActivities is the order of a history: newest first.
func CompareActivities(a, b Activity) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Sequence, a.Sequence))
}

// HistoryOf derives the facts from all activities of one relay, in any order. The streak is the
// number of failures before the first other activity, newest first by (created_at, sequence).
func HistoryOf(all []Activity) History {
	all = slices.SortedFunc(slices.Values(all), CompareActivities)
	var h History
	head := true
	for i, a := range all {
		if i == 0 {
			h.Newest = a.CreatedAt
		}
		head = head && a.Type == FailRelaySync
		if head {
			h.Streak++
		}
		h.Completed = h.Completed || a.Type == CompleteRelaySync
	}
	return h
}

// Retry returns when a relay is synced after failure n of its streak, which happened at failed;
// ok is false where the retries are exhausted. However a clock was set since, the due time lies
// between now and now + delay. Without a failure in the history (n = 0) it is now + Backoff.Base.
func (p *Policy) Retry(id string, n int32, failed, now time.Time) (due time.Time, ok bool) {
	if n > p.MaxAttempts {
		return time.Time{}, false
	}
	delay := p.Backoff.Delay(int(max(n, 1)-1), jitterHash(id, n)).Truncate(time.Microsecond)
	if n <= 0 {
		failed = now
	}
	due = failed.Add(delay)
	if due.Before(now) {
		due = now
	}
	if latest := now.Add(delay); due.After(latest) {
		due = latest
	}
	return due, true
}

// jitterHash spreads retries: evenly over id and n, the same for the same retry.
func jitterHash(id string, n int32) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= uint64(n) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9 // splitmix64
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
