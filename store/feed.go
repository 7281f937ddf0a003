package store

import "github.com/settlehq/settle/statemachine"

// Cursor is a place in the order of committed transitions: how far an observer
// has come. Its text belongs to the store and has at most 100 bytes; empty is
// the beginning.
type Cursor string

// Feed lets observers follow committed transitions. It is a part of the
// records of each domain.
type Feed[ID comparable] interface {
	// Follow returns up to limit (at least 1) transitions of the domain's
	// machines that were committed after a cursor, and the cursor after the
	// last of them; an empty page returns the cursor that was given. A cursor
	// that the store has not made is [statemachine.ErrInvalid].
	//
	// Versions of one record come in their order. Nothing is ever missed:
	// whatever commits later sorts behind every page that was returned. The
	// same cursor gives the same transitions again, and perhaps more after
	// them. Call it in a View.
	//
	// For adapters: numbers that are drawn when a row is written are not the
	// order of commits. Where several transactions write at once, store with
	// each row its horizon: the number of its transaction, or the horizon of
	// the record's previous version if that is greater. Return only rows
	// whose horizon is below the oldest running transaction (on PostgreSQL
	// pg_snapshot_xmin(pg_current_snapshot())), by horizon and number.
	Follow(after Cursor, limit int) (page []statemachine.Transition[ID], next Cursor, err error)
}
