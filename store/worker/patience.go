package worker

import (
	"context"
	"time"
)

// patience is how long calls of a source may take. A time-out doubles it. After an overload in
// which connections and caches were lost, a call may need longer than [Options.CallTimeout]. With
// the same time-out at each try it would be cut off each time, and its retries would be the next
// overload. The first call that succeeds within CallTimeout sets the patience back.
type patience struct {
	usual, most, now time.Duration // usual is CallTimeout
}

// newPatience returns the patience with a source whose shortest lease is lease. If lease is zero,
// the lease is not known, and no call may take longer than usual.
func newPatience(usual, lease time.Duration) patience {
	return patience{usual: usual, most: max(usual, lease/2), now: usual}
}

// learn adjusts the patience after a call that took a given time and returned err; cut is the error of
// the call's context.
func (p *patience) learn(took time.Duration, err, cut error) {
	switch {
	case err == nil && took <= p.usual:
		p.now = p.usual
	case err != nil && cut == context.DeadlineExceeded:
		p.now = min(2*p.now, p.most)
	}
}
