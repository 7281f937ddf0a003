package statemachine

import "time"

// Ahead reports whether a time that a rule has given lies further ahead of now than the rule can
// put anything off, which is longest. A clock that was ahead gave such a time, and has been set
// back since. It is not waited for: see [Due]. At now + longest a time is not ahead.
//
// A rule whose pauses differ gives its longest one. A time that a user may choose has no longest
// pause, and is not asked about.
func Ahead(now, at time.Time, longest time.Duration) bool { return at.Sub(now) > longest }

// Due reports whether work that a rule has put off until at, by longest at most, is due at now:
// from at on, and also where at is [Ahead], so that a time which a wrong clock has set does not
// keep work waiting.
//
// Due is for work that may be done once too often or too early, such as a look-up, a claim under a
// new fence, or another try. Where a wait keeps money from being sent twice, a time that is Ahead
// does not tell how much time has passed: then a person decides.
func Due(now, at time.Time, longest time.Duration) bool {
	return !now.Before(at) || Ahead(now, at, longest)
}

// Taken reports whether somebody holds l at now, where no lease is given for more than longest:
// a lease whose end is [Ahead] is held by nobody, and its holder's fence ends with the next claim.
func (l Lease) Taken(now time.Time, longest time.Duration) bool {
	return l.Holder != "" && !Due(now, l.Until, longest)
}
