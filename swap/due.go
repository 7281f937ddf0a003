package swap

import (
	"strings"
	"time"
)

// DueAt is when an item is due for a worker: at CheckAt, and not before the
// lease has ended; zero: never by itself. It is due from that moment on.
func (i *Item) DueAt() time.Time {
	switch {
	case i.CheckAt.IsZero():
		return time.Time{}
	case i.Lease.Holder != "" && i.Lease.Until.After(i.CheckAt):
		return i.Lease.Until
	}
	return i.CheckAt
}

// Due reports whether a worker may claim the item at now.
func (i *Item) Due(now time.Time) bool {
	at := i.DueAt()
	return !at.IsZero() && !now.Before(at)
}

// CompareDue is the order in which due items are claimed, and in which a pass
// goes through them: the oldest first, then by id in byte order.
func CompareDue(a, b *Item) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
