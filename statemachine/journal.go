package statemachine

import (
	"fmt"
	"time"
)

// JournalLine is what one person did or tried: an event, or another call that names its
// actor and a role of people. Append-only, and the same for every domain.
type JournalLine struct {
	At      time.Time // by the store's clock; a store gives it to a line that has none
	Actor   string    // at most [MaxActor] bytes
	Role    string    // in which the actor spoke, see [Person]
	Domain  string    // of the record
	Machine string    // the kind of record that was spoken of, as in a [Transition]
	ID      string    // the record; of an event that creates one the new record
	Version int64     // that the person had seen; 0 if the event named none
	Event   string    // what was tried, see [EventName]
	Outcome string    // [JournalDone], [JournalSame], or the [Code] of the refusal
	Error   string    // the sentence of a refusal; empty if there was none
	Via     string    // the program through which the person spoke, may be empty
	Trace   string    // By.Trace, may be empty
}

// What a line of the journal says of an attempt that was not refused.
const (
	JournalDone = "done"
	JournalSame = "already so" // nothing had to change
)

// Bounds of a line, in bytes, beside [MaxActor] and [MaxTrace].
const (
	maxJournalID    = 200
	maxJournalError = 1000
)

// Person reports whether people speak in a role: the text of the role is that of an
// operator or of an approver, in every domain. What they do and try is in the journal.
func Person(role string) bool { return role == "operator" || role == "approver" }

// Tried completes the line of an attempt that ended in err, nil if it was not refused,
// and bounds its texts. kept is whether the line belongs into the journal: an err that is
// no refusal (see [CodeOf]), such as a lost connection, decided nothing.
func (l JournalLine) Tried(err error) (line JournalLine, kept bool) {
	switch code := CodeOf(err); {
	case err == nil && l.Outcome == "":
		l.Outcome = JournalDone
	case err != nil && code == "":
		return l, false
	case err != nil:
		l.Outcome, l.Error = string(code), Bounded(err.Error(), maxJournalError)
	}
	l.Actor, l.ID = Bounded(l.Actor, MaxActor), Bounded(l.ID, maxJournalID)
	l.Trace, l.Via = Bounded(l.Trace, MaxTrace), Bounded(l.Via, MaxTrace)
	return l, true
}

// Undone returns the lines to keep of a transaction that ended in err, so that its writes were
// taken back. A line of a refusal is kept as it is. A line of an event that was applied is kept as
// refused by err, and dropped where err is no refusal: see Tried.
func Undone(lines []JournalLine, err error) (kept []JournalLine) {
	for _, l := range lines {
		told := l.Outcome != JournalDone && l.Outcome != JournalSame
		if !told {
			l, told = l.Tried(err)
		}
		if told {
			kept = append(kept, l)
		}
	}
	return kept
}

// Check returns [ErrInvalid] for a line that no store takes: one without a person, a
// record, an event or an outcome, or with a time or a text out of its bounds.
func (l *JournalLine) Check() error {
	if !l.At.IsZero() {
		if _, err := Time(l.At); err != nil {
			return err
		}
	}
	switch {
	case Actor(l.Actor) != nil && l.Actor != "":
		return Actor(l.Actor)
	case !Person(l.Role):
		return fmt.Errorf("%w: nobody speaks in the role %q in the journal", ErrInvalid, l.Role)
	case l.Domain == "" || l.Machine == "" || l.Event == "" || l.Outcome == "" || l.Version < 0:
		return fmt.Errorf("%w: a line of the journal names a record, an event and an outcome", ErrInvalid)
	case !Storable(l.Domain + l.Machine + l.ID + l.Event + l.Outcome + l.Error), len(l.ID) > maxJournalID, len(l.Error) > maxJournalError:
		return fmt.Errorf("%w: a text of the journal is out of its bounds", ErrInvalid)
	}
	return Ways(l.Trace, l.Via)
}
