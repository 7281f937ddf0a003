package statemachine

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// This file has the rules for values that come from outside: what every store can keep, and the
// one form in which values are compared.

// firstRefused is the first second after the year 9000. Milliseconds that were taken for seconds
// lie after it, and the due times that a rule adds to an accepted time can still be stored.
const firstRefused = 221876928000

// Time returns t as every store keeps it: in UTC and cut to whole microseconds. A time before
// 1970 or after the year 9000 is [ErrInvalid]. So is the zero time: a caller for whom a time may
// be absent must check for zero first.
func Time(t time.Time) (time.Time, error) {
	if sec := t.Unix(); sec < 0 || sec >= firstRefused {
		return t, fmt.Errorf("%w: a time in the year %d", ErrInvalid, t.Year())
	}
	return time.Unix(t.Unix(), int64(t.Nanosecond()/1000*1000)).UTC(), nil
}

// MaxAhead is how far the clock of a host may be ahead of the store's.
const MaxAhead = time.Minute

// EventTime returns the two times of an event in the form that every store keeps, see [Time].
//
// clock is the time by which a domain judges: it gives leases and due times, and ends them. Where
// there is a store, clock is now, the store's time. So a host with a wrong clock can neither take
// what another holder has, nor act under a lease that has ended. said is when the event happened as
// the host says: at, or now where at is zero or after now. Where nobody has a clock, as in a test of
// the rules alone, now is zero, and both times are at. EventTime returns [ErrInvalid] if at and now
// are both zero, if a store cannot keep at, or if at is more than [MaxAhead] after now.
//
// So the rule for the time of an event, By.At in every domain, is: zero means now, and is right for
// an event that is sent as it happens. A host sets At where an event reports what was seen earlier.
// Only the events whose comments say so use At.
func EventTime(at, now time.Time) (said, clock time.Time, err error) {
	switch {
	case now.IsZero() && at.IsZero():
		return at, now, fmt.Errorf("%w: neither the event nor a clock says when it was", ErrInvalid)
	case now.IsZero():
		now = at
	case at.IsZero():
		at = now
	case at.After(now.Add(MaxAhead)):
		return at, now, fmt.Errorf("%w: %s is ahead of the store's clock, %s", ErrInvalid, at.UTC().Format(time.RFC3339Nano),
			now.UTC().Format(time.RFC3339Nano))
	case at.After(now):
		at = now
	}
	if said, err = Time(at); err == nil {
		clock, err = Time(now)
	}
	return said, clock, err
}

// NoEvent says why ev is no event of a domain; empty if it may be one. Nil and pointers are no
// events: events are values, but a pointer to one has the methods of an event too, so the
// compiler does not refuse it. Every domain calls NoEvent before it looks at an event.
func NoEvent(ev any) (why string) {
	switch {
	case ev == nil:
		return "no event"
	case reflect.TypeOf(ev).Kind() == reflect.Pointer:
		return "events are values: give the " + EventName(ev) + " itself, and not a pointer to it"
	}
	return ""
}

// EventName names an event in a refusal: its type, without the package.
func EventName(ev any) string {
	name := fmt.Sprintf("%T", ev)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// MaxActor bounds the name of who speaks, in bytes.
const MaxActor = 200

// Actor checks the name of the actor of an event, by the same rule in all domains: storable, 1 to
// [MaxActor] bytes. Any other name is [ErrInvalid].
func Actor(name string) error {
	if name == "" || len(name) > MaxActor || !Storable(name) {
		return fmt.Errorf("%w: an actor of 1 to %d bytes is needed", ErrInvalid, MaxActor)
	}
	return nil
}

// Storable reports whether every store can keep s as it is: valid UTF-8
// without NUL.
func Storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// Bounded makes a text for people storable: at most limit bytes, cut between two characters and
// marked with "...", with U+FFFD in the place of NUL and of bytes that are not UTF-8. limit is at
// least 3.
func Bounded(s string, limit int) string {
	if len(s) <= limit && Storable(s) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit-3], "") + "..."
	}
	return s
}

// HashForm returns the one form in which hashes and identifiers from outside are compared. A text
// that is hexadecimal, after an optional 0x, becomes lower case without the 0x; any other text
// stays as it is. Only comparisons use this form: texts are stored as they came.
func HashForm(s string) string {
	digits := s
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		digits = s[2:]
	}
	if digits == "" {
		return s
	}
	for i := range len(digits) {
		if c := digits[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return s
		}
	}
	return strings.ToLower(digits)
}

// SameHash reports whether two texts name the same hash, see [HashForm].
func SameHash(a, b string) bool { return a == b || HashForm(a) == HashForm(b) }

// Word returns a text as one word of a list that is kept as one text, with a space
// between two words. It differs for different texts; Unword gives the text back.
func Word(s string) string { return escapes.Replace(s) }

// Unword returns the text of which [Word] made a word.
func Unword(word string) string { return unescapes.Replace(word) }

var (
	escapes   = strings.NewReplacer("%", "%25", " ", "%20")
	unescapes = strings.NewReplacer("%25", "%", "%20", " ")
)

// MaxPage is how many rows a page has at most, and how many items a call takes
// at most.
const MaxPage = 10_000

// Limit checks a limit from outside, by the same rule in all calls: 1 to [MaxPage], anything else
// is [ErrInvalid]. A limit of 0 would let an audit that read nothing answer that nothing is
// wrong.
func Limit(n int) error {
	if n < 1 || n > MaxPage {
		return fmt.Errorf("%w: a limit of %d is not in 1 to %d", ErrInvalid, n, MaxPage)
	}
	return nil
}
