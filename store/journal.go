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
	// Append adds lines, which [statemachine.JournalLine.Check] accepts. A line that is
	// stored never changes but for what a law makes an operator erase.
	Append(lines ...statemachine.JournalLine) error
	// Page returns up to limit (1 to [MaxPage]) lines behind a cursor, oldest first, and
	// the cursor behind the last of them, as [Feed] has it: nothing is ever missed.
	Page(after Cursor, limit int) (page []statemachine.JournalLine, next Cursor, err error)
}

// Journal reads what people did and tried in every domain: each event of an operator or
// an approver, and each other call that names its actor and such a role, whether it was done,
// changed nothing or was refused. The services write it.
//
// The line of what was done is committed with it. That of a refusal is committed though
// nothing else is; only in a transaction of the host's own, as with [Withdrawals.Within],
// it goes back with the rest, where UpdateTx of package sqlstore writes it again.
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

// Page returns up to limit (1 to [MaxPage]) lines behind a cursor, oldest first, and the
// cursor behind the last of them; an empty page returns the cursor that was given. A
// cursor is empty at the beginning, and as those of a [Feed].
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

// keepNow is keep at the store's time.
func keepNow[T Journaled](tx T, lines []statemachine.JournalLine, err error) error {
	now, failed := tx.Now()
	if failed != nil {
		return failed
	}
	return keep(tx, now, lines, err)
}

// keep appends the lines of attempts that ended in err, nil if they were not refused.
func keep[T Journaled](tx T, now time.Time, lines []statemachine.JournalLine, err error) error {
	var kept []statemachine.JournalLine
	for _, l := range lines {
		if !now.IsZero() {
			l.At = now
		}
		if l, ok := l.Tried(err); ok {
			kept = append(kept, l)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return tx.Journal().Append(kept...)
}

// attempt is update(ctx, fn) of what people try, of which fn keeps what is done. What is
// refused is kept here: in the same transaction where clean says that fn has written
// nothing until it is refused, and afterwards in another one where that was undone.
func attempt[T Journaled](ctx context.Context, update func(context.Context, func(T) error) error, clean bool, lines []statemachine.JournalLine, fn func(T) error) error {
	var refused error
	err := update(ctx, func(tx T) error {
		refused = nil
		err := fn(tx)
		if err == nil || !clean || len(lines) == 0 || statemachine.CodeOf(err) == "" || keepNow(tx, lines, err) != nil {
			return err
		}
		refused = err
		return nil
	})
	if err == nil {
		return refused
	}
	return keepRefused(ctx, update, lines, err)
}

// call is update(ctx, fn) of a call that is no event, by a person who speaks as by says.
func call[T Journaled](ctx context.Context, update func(context.Context, func(T) error) error, by spoken, d Domain, machine, id, name string, fn func(T) error) error {
	line, person := by.Line()
	if !person {
		return update(ctx, fn)
	}
	line.Domain, line.Machine, line.ID, line.Event = string(d), machine, id, name
	lines := []statemachine.JournalLine{line}
	return attempt(ctx, update, true, lines, func(tx T) error {
		if err := fn(tx); err != nil {
			return err
		}
		return keepNow(tx, lines, nil)
	})
}

// keepRefused keeps in a transaction of its own that lines were refused with err, which it
// returns.
func keepRefused[T Journaled](ctx context.Context, update func(context.Context, func(T) error) error, lines []statemachine.JournalLine, err error) error {
	if len(lines) == 0 || statemachine.CodeOf(err) == "" {
		return err
	}
	if failed := update(ctx, func(tx T) error { return keepNow(tx, lines, err) }); failed != nil {
		return fmt.Errorf("%w; it is not in the journal: %v", err, failed)
	}
	return err
}
