package relaysync

import (
	"slices"

	"github.com/settlehq/settle/statemachine"
)

// Complete checks that the log has one line for each new version, see [statemachine.Complete].
func (c *Change) Complete() error {
	return statemachine.Complete(c.Log,
		statemachine.Versions[string]{Machine: Machine.Name(), ID: c.New.Relay.ID, Old: c.Old.Relay.Version, New: c.New.Relay.Version})
}

// Merge takes the following change into this one, so that both are saved as one.
func (c *Change) Merge(next *Change) bool {
	c.New = next.New
	c.Log = slices.Concat(c.Log, next.Log)
	c.Activities = slices.Concat(c.Activities, next.Activities)
	return true
}

// GivesUp reports that the retries of the relay are exhausted by this change; each streak has at
// most one such change.
func (c *Change) GivesUp() bool { return c.New.Timer.Exhausted && !c.Old.Timer.Exhausted }

// GivenBack is the event by which a reactor gives back a relay that it claimed and has not sent.
func (s *Sync) GivenBack(by By) Event {
	return Finished{By: by, Fence: s.Timer.Lease.Fence, Outcome: statemachine.Deferred, Error: "given back"}
}

// Abandoned is the event by which a reactor reports a sync that ended without telling whether
// something was sent.
func (s *Sync) Abandoned(by By, why string) Event {
	return Finished{By: by, Fence: s.Timer.Lease.Fence, Outcome: statemachine.Unknown, Error: why}
}

// Churned is the event that deactivates the relay of a churned tenant; false if the relay is
// inactive already.
func (s *Sync) Churned(by By) (Event, bool) {
	return Deactivated{By: by}, s.Relay.Status == Active
}
