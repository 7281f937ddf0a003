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
}

// ByCause groups a page of a list by what its relays wait for at now, the largest group first. Relays whose last
// sync failed are grouped by its error. What waits for nobody is left out.
func (p Policy) ByCause(page []Sync, now time.Time) []statemachine.Caused[Cause] {
	return statemachine.ByCause(page, func(s *Sync) Cause {
		step := p.Next(*s, now)
		if step.Party == 0 {
			return Cause{}
		}
		return Cause{step.Party, p.waitsFor(s, now)}
	})
}

// waitsFor says in a few words why a relay rests at a step.
func (p *Policy) waitsFor(s *Sync, now time.Time) string {
	at, due := s.DueAt()
	switch phase := s.Phase(); {
	case due && !now.Before(at) && s.Level >= switches.Begin:
		return "the switch of relays"
	case phase == PhaseExhausted:
		return "a person: " + s.Relay.SyncError
	case phase == PhaseClean:
		return "a reconcile"
	case phase == PhaseSyncing && p.held(&s.Timer, now):
		return "the server"
	case phase == PhaseWaiting && now.Before(at):
		return "its next try: " + s.Relay.SyncError
	case now.Before(at):
		return "its time"
	}
	return "a reactor"
}
