package worker

import (
	"context"
	"time"
)

// patience is how long calls of a source may take. A time-out doubles it, so that a
// call which needs longer than [Options.CallTimeout], as after an overload in which
// connections and caches were lost, gets the time to end: with the same time-out each
// time it would be cut off each time, and its retries would be the next overload. The
// first call that succeeds within CallTimeout sets it back.
type patience struct {
	usual, most, now time.Duration // usual is CallTimeout
}

// newPatience returns the patience with a source whose shortest lease is lease; zero:
// it is not known, and no call may take longer than usual.
func newPatience(usual, lease time.Duration) patience {
	return patience{usual: usual, most: max(usual, lease/2), now: usual}
}

// learn takes account of a call that took so long and returned err, on a context of
// which cut is the error.
func (p *patience) learn(took time.Duration, err, cut error) {
	switch {
	case err == nil && took <= p.usual:
		p.now = p.usual
	case err != nil && cut == context.DeadlineExceeded:
		p.now = min(2*p.now, p.most)
	}
}
