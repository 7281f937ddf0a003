package swap

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// When evidence was asked for, which is newer, and how long nothing was found.

// at returns the time at which a speaker asked a chain. It is the time of the event if the speaker gives no time, or
// one that is later than the event.
func (s *step) at(asked time.Time) time.Time {
	if t, err := statemachine.Time(asked); err == nil && !asked.IsZero() && t.Before(s.by.At) {
		return t
	}
	return s.by.At
}

// outdated reports whether a look-up that denies an intent was asked at or before SeenAt, the latest word that the
// intent went out: then the denial counts for nothing, whichever of the two arrived first. A SeenAt in the future was
// set by a clock that was ahead: it becomes now, and the next look-up is later.
func (s *step) outdated(in *Intent, asked time.Time) (bool, error) {
	switch {
	case in.SeenAt.After(s.by.At):
		in.SeenAt = s.by.At
		s.later = true
		return true, s.note(fmt.Sprintf("%s %d was seen by a clock that was ahead", in.Action, in.Number))
	case !asked.After(in.SeenAt):
		s.later = true
		return true, nil
	}
	return false, nil
}

// missed returns Missed and MissedAt of an intent after one more look-up that did not find it. Time counts as passed
// only between two look-ups in a row. If they are further apart than twice LookEvery, the clock may have been set
// forward; if the later look-up has the earlier time, the clock was set back; in both cases nothing is added. So a
// clock that was set forward once adds at most twice LookEvery.
func (p *Policy) missed(in *Intent, asked, now time.Time) (time.Duration, time.Time) {
	switch gap := asked.Sub(in.MissedAt); {
	case in.MissedAt.After(now):
		return in.Missed, now
	case gap <= 0:
		return in.Missed, in.MissedAt
	case gap > 2*p.LookEvery:
		return in.Missed, asked
	default:
		return in.Missed + gap, asked
	}
}

// sends is for how long look-ups must miss an intent before nobody can be sending it any more: the time that its
// sender had, the time of one call, and the time by which the clock may have been set forward unseen.
func (p *Policy) sends(in *Intent) time.Duration {
	return in.SendBy.Sub(in.At) + p.CallTimeout + 2*p.LookEvery
}

// incomplete takes a look-up that does not find an intent and proves nothing yet. If the look-up would have shown the
// intent, the time since the look-up before it is added to Missed.
func (s *step) incomplete(in *Intent, v *View) error {
	if in.Final || !s.p.covers(in, v, s.by.At) {
		s.later = !in.Final
		return nil
	}
	return s.unseen(in, v.Asked)
}

// unseen adds to Missed the time since the last look-up that did not find the intent either, until Missed is enough
// for a proof.
func (s *step) unseen(in *Intent, asked time.Time) error {
	s.later = true
	missed, at := s.p.missed(in, asked, s.by.At)
	if in.LastValid > 0 || at.Equal(in.MissedAt) || in.Missed > s.p.sends(in) {
		return nil
	}
	in = s.intent(in.Number)
	in.Missed, in.MissedAt = missed, at
	return s.note(fmt.Sprintf("%s %d is not found, for %v", in.Action, in.Number, missed))
}
