package store

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Journaled is what the unit of work of every domain has beside its records: the clock,
// the journal of what people did and tried, and the processes, which are one for all domains.
type Journaled interface {
	Clock
	Journal() JournalRecords
	Processes() ProcessRecords
}

// JournalRecords stores the journal.
type JournalRecords interface {
	// Append adds lines, which [statemachine.JournalLine.Check] accepts; a line without a time gets the store's. A
	// stored line never changes, except that an operator may erase what a law requires.
	//
	// An attempt is in the journal even if nothing else of it is stored: if Update ends in an error, it keeps the lines
	// that [statemachine.Undone] makes of those that the last run of fn gave to Append, also of those that Append refused
	// since an earlier write had been refused. They are kept in the same transaction if it has written nothing else, or
	// in one of their own. After [ErrUnknownCommit] none are kept, since they may be there. A line that cannot be kept is
	// named in the error of Update.
	Append(lines ...statemachine.JournalLine) error
	// Page returns up to limit (1 to [MaxPage]) lines behind a cursor, oldest first, and
	// the cursor behind the last of them, as [Feed] has it: nothing is ever missed.
	Page(after Cursor, limit int) (page []statemachine.JournalLine, next Cursor, err error)
}

// Journal reads what people did and tried in every domain: each event of an operator or an approver, and each other
// call that names its actor and such a role, whether it was done, changed nothing or was refused. The services write
// it.
//
// The line of an event is committed together with the event. Update, and UpdateTx of package sqlstore, commit the line
// of a refusal although nothing else is committed. Only in a transaction that the host itself ends does the line go
// back with the rest.
type Journal struct {
	view func(context.Context, func(Journaled) error) error
}

// NewJournal returns the journal of a store of any transaction type.
func NewJournal[T Journaled](s Store[T]) *Journal {
	s = present(s)
	return &Journal{func(ctx context.Context, fn func(Journaled) error) error {
		return s.View(ctx, func(tx T) error { return fn(tx) })
	}}
}

// Page returns up to limit (1 to [MaxPage]) lines behind a cursor, oldest first, and the cursor behind the last of
// them; an empty page returns the cursor that was given. The empty cursor is the beginning; otherwise the cursors are
// like those of a [Feed].
func (j *Journal) Page(ctx context.Context, after Cursor, limit int) (page []statemachine.JournalLine, next Cursor, err error) {
	return paged(ctx, j.view, func(tx Journaled) ([]statemachine.JournalLine, Cursor, error) { return tx.Journal().Page(after, limit) })
}

// JournalCursor is [CursorOf] for a line of the journal.
func JournalCursor(place string, l statemachine.JournalLine) Cursor {
	return CursorOf(place, statemachine.Transition[string]{Machine: l.Domain + " " + l.Machine, ID: l.ID, Version: l.Version,
		From: l.Event, Trigger: l.Outcome, To: l.Via, Actor: l.Actor, Role: l.Role, Trace: l.Trace, At: l.At})
}

// spoken is an event of any domain: it says whether a person speaks.
type spoken interface {
	Line() (line statemachine.JournalLine, person bool)
}

// lineOf returns the line of the journal that an event begins about a record. Nothing is
// kept of what is no event, see [statemachine.NoEvent].
func lineOf(d Domain, machine string, id any, ev spoken) (line statemachine.JournalLine, person bool) {
	if statemachine.NoEvent(ev) != "" {
		return line, false
	}
	if line, person = ev.Line(); person {
		line.Domain, line.Machine, line.ID, line.Event = string(d), machine, fmt.Sprint(id), statemachine.EventName(ev)
	}
	return line, person
}

// keep appends the lines of what people tried, which ended in err, nil if it was not
// refused, and returns err. Now is the store's time; zero: the store asks for it.
func keep[T Journaled](tx T, now time.Time, lines []statemachine.JournalLine, err error) error {
	var kept []statemachine.JournalLine
	for _, l := range lines {
		l.At = now
		if l, ok := l.Tried(err); ok {
			kept = append(kept, l)
		}
	}
	if len(kept) == 0 {
		return err
	}
	if failed := tx.Journal().Append(kept...); err == nil {
		err = failed
	}
	return err
}

// call is update(ctx, fn) of a call that is no event, by a person who speaks as by says.
func call[T Journaled](ctx context.Context, update func(context.Context, func(T) error) error, by spoken, d Domain, machine, id,
	name string, fn func(T) error) error {
	line, person := by.Line()
	if !person {
		return update(ctx, fn)
	}
	line.Domain, line.Machine, line.ID, line.Event = string(d), machine, id, name
	return update(ctx, func(tx T) error { return keep(tx, time.Time{}, []statemachine.JournalLine{line}, fn(tx)) })
}
