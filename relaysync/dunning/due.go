package dunning

import (
	"cmp"
	"time"
)

// Due returns when a step of the tenant is due; ok is false for never. Each event sets this time to
// what [Policy.Next] says; the begin of a step puts it off by Policy.Hold.
func (t *Tenant) Due() (at time.Time, ok bool) { return t.DueAt, !t.DueAt.IsZero() }

// CompareDue is the order of steps: by due time, then by id in byte order.
func CompareDue(a, b *Tenant) int {
	return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID))
}
