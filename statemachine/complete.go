package statemachine

import "fmt"

// Versions says from which version to which a change takes a record; a new
// record comes from version 0.
type Versions[ID comparable] struct {
	Machine  string
	ID       ID
	Old, New int64
}

// Complete checks that log has exactly one line for each new version of the
// records that a change writes, in order, and no other line; if not it is
// [ErrInvalid]. A store asks it for each change: with the comparison of versions
// no history has then a gap.
func Complete[ID comparable](log []Transition[ID], records ...Versions[ID]) error {
	for i := range log {
		l := &log[i]
		next, known := int64(1), false
		for _, earlier := range log[:i] {
			if earlier.Machine == l.Machine && earlier.ID == l.ID {
				next++
			}
		}
		for _, r := range records {
			known = known || r.Machine == l.Machine && r.ID == l.ID && l.Version == r.Old+next && l.Version <= r.New
		}
		if !known {
			return fmt.Errorf("%w: the log of a change has %s %v version %d, which is not the next one of a record that the change writes",
				ErrInvalid, l.Machine, l.ID, l.Version)
		}
	}
	lines := int64(len(log))
	for _, r := range records {
		lines -= r.New - r.Old
	}
	if lines != 0 {
		return fmt.Errorf("%w: a change has versions without a line in its log: %v", ErrInvalid, records)
	}
	return nil
}
