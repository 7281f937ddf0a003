package relaysynctest

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"strings"

	"github.com/settlehq/settle/internal/shapes"
	"github.com/settlehq/settle/relaysync"
)

var (
	//go:embed testdata/edges.txt
	explored string
	//go:embed testdata/beyond.txt
	beyond string

	modelEdges, alike, notInModel = listed(explored, beyond)
)

// listed reads both files: the edges, which trigger is taken for which, and which are not judged.
func listed(explored, beyond string) (edges shapes.Set, alike map[string]string, not map[string]bool) {
	edges, alike, not = shapes.Parse(explored), map[string]string{}, map[string]bool{}
	for line := range strings.Lines(beyond) {
		what, _, _ := strings.Cut(line, ": ")
		trigger, other, same := strings.Cut(what, " = ")
		switch more := shapes.Parse(what); {
		case strings.HasPrefix(line, "//"):
		case len(more) > 0:
			maps.Copy(edges, more)
		case same:
			alike[trigger] = other
		default:
			not[trigger] = true
		}
	}
	return edges, alike, not
}

// Shape is what the model of relays keeps of a record, in words: its phase, whether it is synced and
// has an error, whether its due time is one of the back-off, and whether a sync is under way.
func Shape(s relaysync.Sync) string {
	words := []string{s.Phase().String()}
	for _, w := range []struct {
		is   bool
		word string
	}{{s.Relay.Synced, "synced"}, {s.Relay.SyncError != "", "with an error"}, {s.Timer.Backoff, "backing off"},
		{!s.Timer.Due.IsZero(), "timed"}, {s.Timer.Lease.Holder != "", "leased"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// Explored is nil if the model has explored a path from the old record of a change to its new one, by
// the triggers of its log. testdata/beyond.txt says what the model does not have, and why: a change
// by such a trigger is not judged. [Run] asks it of every change.
func Explored(c relaysync.Change) error {
	var triggers []string
	for _, line := range c.Log {
		if notInModel[line.Trigger] {
			return nil
		}
		triggers = append(triggers, cmp.Or(alike[line.Trigger], line.Trigger))
	}
	from, to := Shape(c.Old), Shape(c.New)
	if !modelEdges.Path(from, triggers, to) {
		return fmt.Errorf("no run of the model leads from %q by %q to %q", from, triggers, to)
	}
	return nil
}
