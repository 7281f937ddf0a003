package statemachine

import "fmt"

// Versions says from which version to which version a change takes a record; a new record comes
// from version 0.
type Versions[ID comparable] struct {
	Machine  string
	ID       ID
	Old, New int64
}

// Complete checks that log has exactly one line for each new version of the records that a change
// writes, in order, and no other line; otherwise it returns [ErrInvalid]. A store calls it for
// each change. Since the store also compares versions, no history can have a gap. Complete counts
// up Old in records: pass a slice that nobody reads afterwards.
func Complete[ID comparable](log []Transition[ID], records ...Versions[ID]) error {
	find := func(l *Transition[ID]) *Versions[ID] {
		for i := range records {
			if r := &records[i]; r.ID == l.ID && r.Machine == l.Machine {
				return r
			}
		}
		return nil
	}
	if len(records) > 8 { // as a block has
		type key struct {
			machine string
			id      ID
		}
		at := make(map[key]*Versions[ID], len(records))
		for i := range records {
			at[key{records[i].Machine, records[i].ID}] = &records[i]
		}
		find = func(l *Transition[ID]) *Versions[ID] { return at[key{l.Machine, l.ID}] }
	}
	for i := range log {
		l := &log[i]
		r := find(l)
		if r == nil || l.Version != r.Old+1 || l.Version > r.New {
			return fmt.Errorf("%w: the log of a change has %s %v version %d, which is not the next one of a record that the change writes",
				ErrInvalid, l.Machine, l.ID, l.Version)
		}
		r.Old++
	}
	for i := range records {
		if r := &records[i]; r.Old != r.New {
			return fmt.Errorf("%w: a change takes %s %v from version %d to %d without a line in its log", ErrInvalid, r.Machine, r.ID, r.Old, r.New)
		}
	}
	return nil
}
