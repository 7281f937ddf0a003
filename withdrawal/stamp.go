package withdrawal

import "time"

// Stamp returns ev with now as its time, if it has none.
func Stamp(ev Event, now time.Time) Event {
	set := func(by *By) {
		if by.At.IsZero() {
			by.At = now
		}
	}
	switch e := ev.(type) {
	case Submitted:
		set(&e.By)
		return e
	case Approved:
		set(&e.By)
		return e
	case Rejected:
		set(&e.By)
		return e
	case Cancelled:
		set(&e.By)
		return e
	case Enqueued:
		set(&e.By)
		return e
	case Requeued:
		set(&e.By)
		return e
	case Imported:
		set(&e.By)
		return e
	case Claimed:
		set(&e.By)
		return e
	case Prepared:
		set(&e.By)
		return e
	case Dispatched:
		set(&e.By)
		return e
	case Broadcast:
		set(&e.By)
		return e
	case Rebumped:
		set(&e.By)
		return e
	case AttemptFailed:
		set(&e.By)
		return e
	case Snoozed:
		set(&e.By)
		return e
	case Rebroadcast:
		set(&e.By)
		return e
	case Looking:
		set(&e.By)
		return e
	case Receipt:
		set(&e.By)
		return e
	case Missing:
		set(&e.By)
		return e
	case ProvenDead:
		set(&e.By)
		return e
	case Resolved:
		set(&e.By)
		return e
	case Elapsed:
		set(&e.By)
		return e
	}
	return ev
}
