package statemachine

import (
	"math"
	"math/bits"
	"time"
)

// Backoff is an exponential delay: Base, 2 x Base, 4 x Base, ... up to Cap.
type Backoff struct {
	// Base is the delay for n = 0. Zero or less means no delay at all.
	Base time.Duration
	// Cap is the longest delay; zero means none but the longest Duration.
	Cap time.Duration
	// JitterPercent, 0 to 100, is how much of a delay the jitter may take away; 0 for a delay
	// without jitter.
	JitterPercent uint8
}

// Delay returns min(Base x 2^n, Cap), less the jitter. It saturates for every n; a negative n
// counts as 0.
//
// hash is any evenly spread number that is stable for one retry, such as a hash of the record's
// id and attempt: the same hash gives the same delay. A zero hash takes nothing away. With d for
// the delay before the jitter, the result lies in [d - d x JitterPercent / 100, d].
func (b Backoff) Delay(n int, hash uint64) time.Duration {
	if b.Base <= 0 {
		return 0
	}
	limit := b.Cap
	if limit <= 0 {
		limit = math.MaxInt64
	}
	d := limit
	n = max(n, 0)
	if n < bits.LeadingZeros64(uint64(b.Base)) {
		d = min(b.Base<<n, limit)
	}
	percent := uint64(min(b.JitterPercent, 100))
	most, _ := bits.Mul64(uint64(d), percent*(math.MaxUint64/100)) // d x percent / 100
	cut, _ := bits.Mul64(most, hash)                               // most x hash / 2^64
	return d - time.Duration(cut)
}
