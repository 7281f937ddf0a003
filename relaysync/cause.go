package relaysync

import (
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Cause is what relays of a list wait for.
type Cause struct {
	Party  Role // who moves them on, see [Step]
	Reason string
	Error  string // of the last sync, as it was reported, where the relay waits because of it
}

// ByCause groups a page of a list by what its relays wait for at now, the largest group first. Relays
// whose last sync failed are grouped by its error. Relays that wait for nothing are left out.
func (p Policy) ByCause(page []Sync, now time.Time) []statemachine.Caused[Cause] {
	return statemachine.ByCause(page, func(s *Sync) Cause {
		step := p.Next(*s, now)
		if step.Party == 0 {
			return Cause{}
		}
		c := Cause{Party: step.Party, Reason: p.waitsFor(s, now)}
		if c.Reason == byPerson || c.Reason == nextTry {
			c.Error = s.Relay.SyncError
		}
		return c
	})
}

const (
	byPerson = "a person"
	nextTry  = "its next try"
)

// waitsFor says in a few words why a relay rests at a step.
func (p *Policy) waitsFor(s *Sync, now time.Time) string {
	at, due := s.DueAt()
	switch phase := s.Phase(); {
	case due && !now.Before(at) && s.Level >= switches.Begin:
		return "the switch of relays"
	case phase == PhaseExhausted:
		return byPerson
	case phase == PhaseClean:
		return "a reconcile"
	case phase == PhaseSyncing && p.held(&s.Timer, now):
		return "the server"
	case phase == PhaseWaiting && now.Before(at):
		return nextTry
	case now.Before(at):
		return "its time"
	}
	return "a reactor"
}
