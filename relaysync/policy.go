package relaysync

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Policy is what a host may choose. Start from [DefaultPolicy], set RelayDomain, and check with
// [Policy.Validate]. With the zero value no lease can be taken.
type Policy struct {
	// RelayDomain follows the subdomain in the host name of each relay.
	RelayDomain string
	// Backoff delays the sync after failure n of a streak by Base x 2^(n-1), up to Cap. A jitter
	// only shortens the delay.
	Backoff statemachine.Backoff
	// MaxAttempts is the number of retries after failures in a row: failure MaxAttempts + 1 gives
	// the relay up.
	MaxAttempts int32
	// Lease is how long a reactor may send without renewal. It must be longer than two requests
	// of Timeout.
	Lease time.Duration
	// Timeout is what one request may take.
	Timeout time.Duration
	// Linger is how long after its sending a request without an answer may still arrive at the
	// server.
	Linger time.Duration
}

// DefaultPolicy has the source's values (30 s doubled up to 15 min, six retries, 5 s a request)
// and leases of 30 s.
func DefaultPolicy() Policy {
	return Policy{
		Backoff:     statemachine.Backoff{Base: 30 * time.Second, Cap: 15 * time.Minute},
		MaxAttempts: 6,
		Lease:       30 * time.Second,
		Timeout:     5 * time.Second,
		Linger:      30 * time.Second,
	}
}

// Validate returns [statemachine.ErrInvalid] with the first limit that is out of bounds.
func (p Policy) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: relay sync policy: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"Backoff.Base", p.Backoff.Base}, {"Backoff.Cap", p.Backoff.Cap}, {"Lease", p.Lease}, {"Timeout", p.Timeout}, {"Linger", p.Linger},
	} {
		if d.d < time.Millisecond || d.d > 365*24*time.Hour {
			return bad("%s is %v, 1 ms to 365 days are possible", d.name, d.d)
		}
	}
	switch {
	case p.MaxAttempts < 0 || p.MaxAttempts > 1000:
		return bad("MaxAttempts is %d, 0 to 1000 are possible", p.MaxAttempts)
	case p.Lease/2 <= p.Timeout:
		return bad("a Lease of %v is not longer than two requests of %v", p.Lease, p.Timeout)
	case p.Backoff.JitterPercent > 100:
		return bad("Backoff.JitterPercent is %d, at most 100 is possible", p.Backoff.JitterPercent)
	case !hostName(p.RelayDomain):
		return bad("RelayDomain %q is no host name", p.RelayDomain)
	}
	return nil
}
