package memory

import (
	"slices"
	"strconv"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// trails are the audit trails of all machines of a domain, and its feed.
type trails[ID comparable] struct {
	of   map[record[ID]][]statemachine.Transition[ID]
	feed []line[ID] // in order of commit
	// hidden is the data of lines that are in no feed, empty for none.
	hidden string
}

// record names a record of any machine.
type record[ID comparable] struct {
	machine string
	id      ID
}

// line names a line of a trail.
type line[ID comparable] struct {
	record[ID]
	version int64
}

func newTrails[ID comparable]() *trails[ID] {
	return &trails[ID]{of: map[record[ID]][]statemachine.Transition[ID]{}}
}

// add appends the log of a change. A line that does not follow the last one of
// its record is [statemachine.ErrConflict].
func (l *trails[ID]) add(t *tx, log []statemachine.Transition[ID]) error {
	for i := range log {
		of := record[ID]{log[i].Machine, log[i].ID}
		trail := l.of[of]
		if log[i].Version != int64(len(trail))+1 {
			return conflict(of.machine, of.id, "version %d of the log does not follow %d", log[i].Version, len(trail))
		}
		set(t, l.of, of, append(trail, log[i]))
		if l.hidden == "" || log[i].Data != l.hidden {
			assign(t, &l.feed, append(l.feed, line[ID]{of, log[i].Version}))
		}
	}
	return nil
}

// trail returns the audit trail of a record of the first of some machines that
// has one, oldest first.
func (l *trails[ID]) trail(id ID, machines ...string) []statemachine.Transition[ID] {
	for _, m := range machines {
		if trail := l.of[record[ID]{m, id}]; trail != nil {
			return slices.Clone(trail)
		}
	}
	return nil
}

// Follow implements [store.Feed]. The place of a line is how many there are up to
// it.
func (l *trails[ID]) Follow(after store.Cursor, limit int) ([]statemachine.Transition[ID], store.Cursor, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, after, err
	}
	from, err := lineBehind(after, len(l.feed), l.cursor)
	if err != nil {
		return nil, after, err
	}
	lines, next := pageOf(l.feed, int64(from), limit)
	if len(lines) == 0 {
		return nil, after, nil
	}
	page := make([]statemachine.Transition[ID], len(lines))
	for i, at := range lines {
		page[i] = l.of[at.record][at.version-1]
	}
	return page, l.cursor(int(next)), nil
}

// lineBehind returns the number of the line that a cursor names among some, of which
// cursor gives the n-th one's.
func lineBehind(after store.Cursor, lines int, cursor func(n int) store.Cursor) (int, error) {
	if after == "" {
		return 0, nil
	}
	place, err := after.Place()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(place)
	if err != nil || n < 1 || n > lines || cursor(n) != after {
		return 0, after.Gone()
	}
	return n, nil
}

// Head implements [store.Feed].
func (l *trails[ID]) Head() (store.Cursor, error) {
	if len(l.feed) == 0 {
		return "", nil
	}
	return l.cursor(len(l.feed)), nil
}

// cursor is that of the n-th line.
func (l *trails[ID]) cursor(n int) store.Cursor {
	at := l.feed[n-1]
	return store.CursorOf(strconv.Itoa(n), l.of[at.record][at.version-1])
}
