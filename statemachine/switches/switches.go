package switches

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Level is how far a scope is stopped. A higher level stops more, so levels are compared with <. A
// scope without a row has the level zero, which stops nothing, like [On].
// Values: On, Begin, All, Send.
type Level = statemachine.Enum[level]

const (
	// On: everything runs. A person stops it.
	On Level = iota + 1
	// Begin: nothing begins. What has begun goes on to its end.
	Begin
	// All, of swaps: no refund and no quarantine begins either.
	All
	// Send: nothing is handed out to be sent. Look-ups go on.
	Send
)

type level struct{}

func (level) Kind() string    { return "level of a switch" }
func (level) Names() []string { return levelNames }

var levelNames = []string{"on", "begin", "all", "send"}

// Scope is what a switch stops: [Everything], [Charges], [Relays], or what [Chain], [Direction]
// or [Wallet] names.
type Scope string

const (
	Everything Scope = "everything" // all scopes, those that are named later too
	Charges    Scope = "charges"    // of tenants
	Relays     Scope = "relays"     // their provisioning

	chain     = "chain/"
	direction = "direction/"
	wallet    = "wallet/"
)

// Chain is the scope of the withdrawals of a chain.
func Chain(id uuid.UUID) Scope { return Scope(chain + id.String()) }

// OfChain is the id of the chain whose scope s is.
func (s Scope) OfChain() (id uuid.UUID, is bool) {
	text, is := strings.CutPrefix(string(s), chain)
	if is {
		var err error
		id, err = uuid.Parse(text)
		is = err == nil
	}
	return id, is
}

// Direction is the scope of the swaps in a direction, by the name of its machine.
func Direction(name string) Scope { return Scope(direction + name) }

// Wallet is the scope of a wallet of package utxo. It has no stop of its own: only its recovery
// counts, which lets it pay itself alone.
func Wallet(id int64) Scope { return Scope(wallet + strconv.FormatInt(id, 10)) }

// OfWallet is the id of the wallet whose scope s is.
func (s Scope) OfWallet() (id int64, is bool) {
	text, is := strings.CutPrefix(string(s), wallet)
	if is {
		var err error
		id, err = strconv.ParseInt(text, 10, 64)
		is = err == nil && id > 0 && Wallet(id) == s
	}
	return id, is
}

// MaxScope bounds a scope, in bytes.
const MaxScope = 60

// Validate returns [statemachine.ErrInvalid] for a text that is no scope: a chain has
// an id that is not zero, in lower case; a direction has a name of lower-case letters
// and underscores; a wallet has a number from 1.
func (s Scope) Validate() error {
	switch s {
	case Everything, Charges, Relays:
		return nil
	}
	if text, is := strings.CutPrefix(string(s), chain); is {
		if id, err := uuid.Parse(text); err == nil && id != uuid.Nil && id.String() == text {
			return nil
		}
	}
	if _, is := s.OfWallet(); is {
		return nil
	}
	name, is := strings.CutPrefix(string(s), direction)
	if is && len(s) <= MaxScope && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == "" {
		return nil
	}
	return fmt.Errorf("%w: scope %q is none of everything, chain/<id>, direction/<name>, wallet/<number>, charges and relays",
		statemachine.ErrInvalid, statemachine.Bounded(string(s), 2*MaxScope))
}

// takes reports whether a level has a meaning in the scope.
func (s Scope) takes(l Level) bool {
	return l.Valid() && (l != All || s == Everything || strings.HasPrefix(string(s), direction))
}

// ErrOnHold: what was to begin does not begin now, in any domain: the switch stops it, a person
// holds it, or its wallet is off. Nothing was sent, and it costs no attempt. It is
// [statemachine.ErrIllegal].
var ErrOnHold = statemachine.NewSentinel("on-hold", "on hold", statemachine.ErrIllegal)

// ErrUnsettled: what may have been done outside of the record is not known, or not settled yet: the database was put
// back to an earlier state, or somebody else has a key. It is ErrOnHold.
var ErrUnsettled = statemachine.NewSentinel("unsettled", "what was done outside of the record is not known yet", ErrOnHold)

// MaxReason bounds a reason, in bytes; a longer one is cut.
const MaxReason = 500

// Switch is the row of a scope. Its Level is the state of its machine.
type Switch struct {
	Scope Scope
	Level Level `json:",omitzero"` // a person's
	// Actor, Reason and Since are those of the change that gave Level.
	Actor, Reason string
	Since         time.Time
	// Recovering: the database was put back to an earlier state, and nobody has started the scope
	// since. While it is set, Recovery is the level at which the recovery stops the scope; otherwise
	// Recovery is zero.
	Recovering bool
	Recovery   Level `json:",omitzero"`
	// Generation is that of the database in which Recovering and Recovery were written; zero
	// before the first restore.
	Generation int64
	// RecoveredAt is when the latest recovery of the scope ended or, if none has ended since,
	// began, by the store's clock; zero if the scope never recovered. The recovery of [Everything]
	// does not end: its RecoveredAt is the time of the restore.
	RecoveredAt time.Time
	Version     int64
}

// State is what the rows together say of a scope.
type State struct {
	Level      Level // zero or [On]: the scope runs
	Recovering bool
	Generation int64 // of the row that says whether it is recovering
	Moved      bool  // see Elsewhere
	// RecoveredAt is when a person last ended a recovery of the scope or, while the scope's own row
	// is recovering, when this recovery began; zero for neither. RestoredAt is when a restore of
	// the database was last reported, zero for never.
	RecoveredAt, RestoredAt time.Time
	// RunsSince is when a person last ended a stop of either row, or the recovery of the scope,
	// zero: there was none. Of a scope that is stopped it says nothing.
	RunsSince time.Time
}

// Of returns the state of a scope from its own row and from all, the row of [Everything]. Either
// may be zero, for no row. The level is the highest of three: the levels that persons gave in both
// rows, and the level of the recovery. The recovery is that of own if own was written in the
// generation of all or a later one, else that of all.
func Of(all, own Switch) State {
	from := all
	if own.Generation >= all.Generation {
		from = own
	}
	s := State{Level: max(all.Level, own.Level), Recovering: from.Recovering, Generation: from.Generation, RecoveredAt: own.RecoveredAt,
		RestoredAt: all.RecoveredAt}
	if s.Recovering {
		s.Level = max(s.Level, from.Recovery)
	}
	for _, at := range []time.Time{all.Since, own.Since, own.RecoveredAt} {
		if at.After(s.RunsSince) {
			s.RunsSince = at
		}
	}
	return s
}

// Elsewhere is the state of a scope in a database that is not where it was: a copy, or a
// standby that took over. Nobody has said yet what was lost, so each scope is recovering
// at [Send], whatever the rows say, and is not started out of it.
func (s State) Elsewhere() State {
	s.Level, s.Recovering, s.Moved = max(s.Level, Send), true, true
	return s
}

// Begins reports whether something may begin.
func (s State) Begins() bool { return s.Level < Begin }

// Sends reports whether something may be handed out to be sent.
func (s State) Sends() bool { return s.Level < Send }

// Check returns [statemachine.ErrCorrupt] with the first invariant that a stored switch
// breaks.
func Check(s Switch) error {
	for _, r := range []struct {
		holds bool
		what  string
	}{
		{s.Scope.Validate() == nil, "it has a scope"},
		{s.Version >= 1, "it has a version"},
		{s.Scope.takes(s.Level), "its level is one of its scope"},
		{s.Recovering == (s.Recovery >= Begin) && s.Recovering == (s.Recovery != 0),
			"exactly a switch that is recovering has a level of the recovery, begin or higher"},
		{s.Recovery == 0 || s.Scope.takes(s.Recovery), "the level of the recovery is one of its scope"},
		{s.Generation >= 1 || s.Generation == 0 && !s.Recovering, "a switch that is recovering has the generation of a restore"},
		{(s.Actor == "") == s.Since.IsZero(), "exactly a level that somebody gave has a time"},
		{s.Actor != "" || s.Level == On, "a stop has an actor"},
	} {
		if !r.holds {
			return fmt.Errorf("%w: switch %s: %s", statemachine.ErrCorrupt, s.Scope, r.what)
		}
	}
	return nil
}
