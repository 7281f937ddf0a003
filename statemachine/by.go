package statemachine

import (
	"fmt"
	"math/bits"
	"time"
)

// By is the head of an event: who says it, in which role, when, about which version,
// and by which way. R is the enumeration of the domain's roles. Every event of a domain
// embeds its By and has the methods of [Event] from it.
type By[R role] struct {
	Actor string // 1 to [MaxActor] bytes; of a worker the name of its process, the holder of its leases
	Role  R      `json:",omitzero"`
	// At is when, UTC, in microseconds, by the law of [EventTime]: zero is now.
	At time.Time
	// Version, if not zero, is the version of the record that the decision was made
	// on. Where the record has another version by then, the event is [ErrConflict].
	Version int64 `json:",omitempty"`
	// Trace names the request, call or run that the event belongs to, in the host's
	// own words: at most [MaxTrace] bytes. It is in the log and in the journal, and
	// decides nothing.
	Trace string `json:",omitempty"`
	// Via is the program through which a person spoke, such as a console: at most
	// [MaxTrace] bytes. It is in the journal, and decides nothing.
	Via string `json:",omitempty"`
}

// MaxTrace bounds a trace and a way, in bytes.
const MaxTrace = 64

// Event is what the events of a domain have from the [By] that they embed.
type Event[R role] interface {
	Said() By[R]
	Line() (line JournalLine, person bool)
}

// Said returns the head of an event as it was said.
func (b By[R]) Said() By[R] { return b }

// Line returns the line of the journal that an event begins, with what its head says,
// and whether it is kept: only what a person said is, see [Person].
func (b By[R]) Line() (line JournalLine, person bool) {
	if !Person(b.Role.String()) {
		return line, false
	}
	return JournalLine{At: b.At, Actor: b.Actor, Role: b.Role.String(), Version: b.Version, Trace: b.Trace, Via: b.Via}, true
}

// Roles is a set of the roles of a domain, bit 1 << role for each: who may send an event.
type Roles[R role] uint8

// Has reports whether a role is in the set.
func (s Roles[R]) Has(r R) bool { return r.Valid() && s&(1<<r) != 0 }

// First is the first role of the set in the order of their enumeration; zero of an empty one.
func (s Roles[R]) First() R { return R(bits.TrailingZeros8(uint8(s)) % 8) }

// role is an [Enum] of roles.
type role interface {
	~uint8
	Valid() bool
	String() string
}

// Begin checks the head of an event, before anything else: that the value is an event, that the
// role may speak, that the actor is a valid one, that trace and way are within their bounds, and
// then the times, see [EventTime]. by is the head with the time by which the domain judges; said is
// the time that the host gave. reason is the text that a refusal adds to err, empty for none.
func Begin[R role](ev Event[R], speakers Roles[R], now time.Time) (by By[R], said time.Time, reason string, err error) {
	if why := NoEvent(ev); why != "" {
		return by, said, why, ErrInvalid
	}
	by = ev.Said()
	if !speakers.Has(by.Role) {
		return by, said, "the role is " + by.Role.String(), ErrForbidden
	}
	if err = Actor(by.Actor); err == nil {
		err = Ways(by.Trace, by.Via)
	}
	if err == nil {
		said, by.At, err = EventTime(by.At, now)
	}
	return by, said, "", err
}

// Ways is the one law for a trace and for a way: storable, at most [MaxTrace] bytes
// each, anything else is [ErrInvalid].
func Ways(trace, via string) error {
	if len(trace) > MaxTrace || len(via) > MaxTrace || !Storable(trace) || !Storable(via) {
		return fmt.Errorf("%w: a trace and a way are UTF-8 of at most %d bytes", ErrInvalid, MaxTrace)
	}
	return nil
}
