package relaysynctest

import (
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// History checks the answers that one relay gives, in order: each alone, all together, and
// against a naive second implementation that keeps every activity and states the rules in another
// way. Set Policy and leave the other fields alone.
type History struct {
	Policy relaysync.Policy

	last relaysync.Sync
	log  []statemachine.Transition[string]
	all  []relaysync.Activity
}

// Add checks one answer to an event: a change, or a refusal with the change that was returned
// beside it.
func (h *History) Add(ev relaysync.Event, c relaysync.Change, refusal error) error {
	if refusal != nil {
		if !c.Empty() || len(c.Activities) > 0 || c.New != c.Old {
			return fmt.Errorf("a refusal changed something: %w", refusal)
		}
		return nil
	}
	if c.Old != h.last {
		return fmt.Errorf("the change does not begin where the last one ended")
	}
	if c.Empty() {
		if c.New != c.Old || len(c.Activities) > 0 {
			return fmt.Errorf("something changed without a line of the log")
		}
		return nil
	}
	for _, a := range c.Activities {
		a.Sequence = int64(len(h.all)) + 1
		if n := len(h.all); n > 0 && a.CreatedAt.Before(h.all[n-1].CreatedAt) {
			return fmt.Errorf("activity %s is before the one before it", a.Type)
		}
		h.all = append(h.all, a)
	}
	h.log = append(h.log, c.Log...)
	h.last = c.New
	for _, check := range []func(relaysync.Event, *relaysync.Change) error{h.record, h.timer, h.effect} {
		if err := check(ev, &c); err != nil {
			return err
		}
	}
	return nil
}

func (h *History) record(_ relaysync.Event, c *relaysync.Change) error {
	s := &c.New
	if err := relaysync.Check(*s); err != nil {
		return err
	}
	if got := h.naive(); got != s.History {
		return fmt.Errorf("the activities say %+v, the record %+v", got, s.History)
	}
	phase, err := statemachine.Replay(relaysync.Machine, h.log)
	if err != nil || phase != s.Phase() || int(s.Relay.Version) != len(h.log) {
		return fmt.Errorf("the log ends in %v at version %d, the record is %v at %d: %v", phase, len(h.log), s.Phase(), s.Relay.Version, err)
	}
	if s.Phase() != relaysync.PhaseDeleted && (s.Timer.Lease.Fence < c.Old.Timer.Lease.Fence || s.Timer.Generation < c.Old.Timer.Generation) {
		return fmt.Errorf("a fence or a generation went back")
	}
	return nil
}

// naive walks the activities from the newest one, as the source does.
func (h *History) naive() (f relaysync.History) {
	counting := true
	for i := len(h.all) - 1; i >= 0; i-- {
		a := h.all[i]
		if counting = counting && a.Type == "fail_relay_sync"; counting {
			f.Streak++
		}
		f.Completed = f.Completed || a.Type == "complete_relay_sync"
		if f.Newest.IsZero() {
			f.Newest = a.CreatedAt
		}
	}
	return f
}

// timer checks that every unsynced relay has a due time, a lease or a person, and that no delay
// is longer than the source's.
func (h *History) timer(ev relaysync.Event, c *relaysync.Change) error {
	s := &c.New
	r, t := &s.Relay, &s.Timer
	running := t.Lease.Holder != ""
	if (!r.Synced || strings.TrimSpace(r.SyncError) != "") && t.Due.IsZero() && !running && !t.Exhausted {
		return fmt.Errorf("the relay is unsynced, and nobody has it")
	}
	at := h.log[len(h.log)-1].At
	if _, ok := ev.(relaysync.Finished); ok && s.Phase() == relaysync.PhaseWaiting {
		want := 30 * time.Second
		for range s.History.Streak - 1 {
			want = min(2*want, 15*time.Minute)
		}
		if got := t.Due.Sub(at); s.History.Streak > 6 || h.Policy.Backoff.JitterPercent == 0 && got != want || got > want || got < 0 {
			return fmt.Errorf("after failure %d the next sync is in %v, expected %v", s.History.Streak, got, want)
		}
	}
	return nil
}

// effect: what each activity says of the relay.
func (h *History) effect(ev relaysync.Event, c *relaysync.Change) error {
	r := &c.New.Relay
	activity := ""
	if len(c.Activities) > 0 {
		activity = c.Activities[0].Type
	}
	changed := r.Revision != c.Old.Relay.Revision
	switch activity {
	case "create_relay", "update_relay", "activate_relay", "deactivate_relay":
		if r.Synced || !changed || r.SyncError != c.Old.Relay.SyncError {
			return fmt.Errorf("%s: synced %v, error %q", activity, r.Synced, r.SyncError)
		}
	case "fail_relay_sync":
		if r.Synced || r.SyncError == "" || changed {
			return fmt.Errorf("a failure leaves synced %v, error %q", r.Synced, r.SyncError)
		}
	case "complete_relay_sync":
		if r.SyncError != "" || changed || r.Synced && c.Old.Timer.Revision != r.Revision {
			return fmt.Errorf("a success leaves error %q, synced %v", r.SyncError, r.Synced)
		}
	case "":
		if _, result := ev.(relaysync.Finished); changed || r.Synced && !c.Old.Relay.Synced || result && r.SyncError != c.Old.Relay.SyncError {
			return fmt.Errorf("the relay changed without an activity")
		}
	}
	if len(c.Activities) > 1 {
		return fmt.Errorf("one step, %d activities", len(c.Activities))
	}
	return nil
}
