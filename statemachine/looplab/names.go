package looplab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/looplab/fsm"

	"github.com/settlehq/settle/statemachine"
)

// NameError: looplab would take a name for something else. It matches
// [statemachine.ErrInvalid].
type NameError struct {
	Kind   string // "state", "trigger" or "callback"
	Name   string
	Reason string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("looplab cannot use the %s %q: %s", e.Kind, e.Name, e.Reason)
}

// Is reports a match with [statemachine.ErrInvalid].
func (e *NameError) Is(target error) bool { return target == statemachine.ErrInvalid }

// AmbiguousError: a looplab list gives two targets for one event and source.
// It matches [statemachine.ErrInvalid].
type AmbiguousError struct {
	Event, Src string
	Dst        [2]string // in the order of the list
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("looplab event %q leads from %q to both %q and %q", e.Event, e.Src, e.Dst[0], e.Dst[1])
}

// Is reports a match with [statemachine.ErrInvalid].
func (e *AmbiguousError) Is(target error) bool { return target == statemachine.ErrInvalid }

// checkCallbacks reads the names of callbacks as looplab does, and refuses names that looplab
// would take for another callback.
func checkCallbacks(events fsm.Events, callbacks fsm.Callbacks) error {
	states, triggers := make(map[string]bool), make(map[string]bool)
	for _, e := range events {
		states[e.Src[0]], states[e.Dst], triggers[e.Name] = true, true, true
	}
	names := make([]string, 0, len(callbacks))
	for name := range callbacks {
		names = append(names, name)
	}
	slices.Sort(names)
	slots := make(map[string]string) // the full form of a name, and the name
	for _, name := range names {
		slot := name
		prefix, target, prefixed := cutPrefix(name)
		reason := ""
		switch {
		case callbacks[name] == nil:
			reason = "there is no function"
		case prefixed && (states[name] || triggers[name]):
			reason = "looplab reads its prefix; write it in full"
		case prefixed:
			known, all := triggers, "event"
			if prefix == "enter_" || prefix == "leave_" {
				known, all = states, "state"
			}
			if target != all && !known[target] {
				reason = fmt.Sprintf("there is no %s %q, and looplab would drop it", all, target)
			}
		case states[name] && triggers[name]:
			reason = "it names a state and a trigger; write it in full"
		case states[name]:
			slot = "enter_" + name
		case triggers[name]:
			slot = "after_" + name
		default:
			reason = "there is no such state or event, and looplab would drop it"
		}
		if first, twice := slots[slot]; twice && reason == "" {
			reason = fmt.Sprintf("it means the same as %q, and looplab would keep either", first)
		}
		if reason != "" {
			return &NameError{"callback", name, reason}
		}
		slots[slot] = name
	}
	return nil
}

func cutPrefix(name string) (prefix, target string, ok bool) {
	for _, p := range []string{"before_", "leave_", "enter_", "after_"} {
		if target, ok := strings.CutPrefix(name, p); ok {
			return p, target, true
		}
	}
	return "", name, false
}
