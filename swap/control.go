package swap

import (
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Control is the one row that concerns all items: it says which scans of the vault's own history were made, and has
// the counter of reference numbers. Begun and Elapsed read the row in the transaction that stores them; Begun also
// locks it.
type Control struct {
	// Level is how far the switch stops the direction of an item, and RunsSince the time since which the direction has
	// not been stopped ([switches.State]). They are no columns: the service sets them for an event and for Next, see
	// [Control.With]. At Begin no outbound swap is begun, also no attempt after a failed one; at All no refund and no
	// quarantine either. Look-ups and recovery go on.
	Level     switches.Level `json:",omitzero"`
	RunsSince time.Time      `json:",omitzero"`
	// Generation counts the calls of [Control.Restored]. Each look-back and each scan has the generation in which it
	// was made, and this number alone says whether it was made before or after the last restore: its time may come from
	// a clock that was ahead.
	Generation int64
	// RecoveredAt is when the last one was said: the last start on an empty or restored store.
	RecoveredAt time.Time
	// SolanaScanned and NexusScanned say that a scan of this generation has read the vault's own history whole.
	// Nothing is begun before both are true.
	SolanaScanned, NexusScanned bool
	// MissingSaid is when somebody said that the items which [Policy.RecoverMissing] found are stored, or that it found
	// none. BooksRead is when an operator said that the host's other books were read, and that each [Settled], hold and
	// order made since the copy was entered again. Zero: not said in this generation.
	MissingSaid time.Time
	BooksRead   time.Time
	Reference   uint64 // the last one drawn; the first is 1
	Version     int64
}

// unscanned names the chains of which the vault's own history is owed.
func (c *Control) unscanned() string {
	var of []string
	for _, h := range []struct {
		chain   Chain
		scanned bool
	}{{Solana, c.SolanaScanned}, {Nexus, c.NexusScanned}} {
		if !h.scanned {
			of = append(of, h.chain.String())
		}
	}
	return strings.Join(of, " and ")
}

// Recovering reports whether what went out before this generation is not known yet.
func (c Control) Recovering() bool {
	return c.unscanned() != ""
}

// With returns the row together with the state of the switch of a direction.
func (c Control) With(s switches.State) Control {
	c.Level, c.RunsSince = s.Level, s.RunsSince
	return c
}

// Scope is what the switch calls a direction.
func Scope(d Direction) switches.Scope { return switches.Direction(d.String()) }

// stops says why an action may not begin; empty if it may.
func (c *Control) stops(a Action) string {
	if c.Level >= switches.All || c.Level >= switches.Begin && a == Send {
		return "the switch stops the direction at " + c.Level.String()
	}
	return ""
}

// Restored says that the store is empty or was restored from a copy, and begins a new generation: scans and look-backs
// of earlier generations no longer count, whatever their times are. When the vault's history is scanned afterwards, no
// transaction that was begun before the restore may still be on its way: see [Scan].Complete. Restored raises the
// reference counter to the unix seconds of now x 2^20, so that no number is drawn again that was drawn before, not even
// one drawn in an abandoned copy.
func (c Control) Restored(now time.Time) Control {
	c.Generation++
	c.RecoveredAt, c.SolanaScanned, c.NexusScanned, c.MissingSaid, c.BooksRead = now, false, false, time.Time{}, time.Time{}
	c.Reference = max(c.Reference, uint64(max(0, now.Unix()))<<20)
	c.Version++
	return c
}

// forgot reports whether rows of items that were finished before the restore may still be missing.
func (c *Control) forgot() bool { return c.Generation > 0 && c.MissingSaid.IsZero() }

// SaysMissing records, after a restore, the word of an operator or of the system that the items which
// [Policy.RecoverMissing] found are stored, or that it found none. A second call changes nothing.
func (c Control) SaysMissing(by By, now time.Time) (Control, error) {
	if err := SaysRestored(by); err != nil || !c.forgot() {
		return c, err
	}
	c.MissingSaid = now
	c.Version++
	return c, nil
}

// ReadsBooks records, after a restore, an operator's word that he has read the books that the host keeps elsewhere,
// and has sent again each [Settled], hold and order since the copy was made. A second call changes nothing.
func (c Control) ReadsBooks(by By, now time.Time) (Control, error) {
	switch {
	case by.Role != Operator:
		return c, fmt.Errorf("%w: an operator reads the books", statemachine.ErrForbidden)
	case statemachine.Actor(by.Actor) != nil:
		return c, statemachine.Actor(by.Actor)
	case c.Generation == 0 || !c.BooksRead.IsZero():
		return c, nil
	}
	c.BooksRead = now
	c.Version++
	return c, nil
}

// ErrUnsettled refuses, after a restore, a step that may already have been paid or done before it: see
// [Control.Unsettled], [Begun], [Observed] and [Requeued]. It is also [switches.ErrUnsettled], which all domains share,
// and so [switches.ErrOnHold].
var ErrUnsettled = statemachine.NewSentinel("swaps-unsettled", "what went out before the restore is not known yet", switches.ErrUnsettled)

// Unsettled returns, as [ErrUnsettled], the first condition that is missing after a restore before a direction may be
// started; nil if none is missing. The look-backs of single items are no condition: each is made before its item is
// paid.
func (c Control) Unsettled() error {
	open := func(what string) error { return fmt.Errorf("%w: %s", ErrUnsettled, what) }
	switch {
	case c.Generation == 0:
		return nil
	case c.forgot():
		return open("store what RecoverMissing finds, and say MissingSaid")
	case c.BooksRead.IsZero():
		return open("say again each settled, hold and order since the copy, and say BooksRead")
	case c.Recovering():
		return open("the vault's own history is not scanned yet on " + c.unscanned())
	}
	return nil
}

// Restored is [Control.Restored] with a time that is [Policy.WaterlineMargin] after now, since the store's clock may
// be behind the clock of the copy by so much.
func (p Policy) Restored(c Control, now time.Time) Control {
	return c.Restored(now.Add(p.WaterlineMargin))
}

// SaysRestored returns [statemachine.ErrForbidden] unless by is an operator or the system: only they
// may say that a store was restored, and up to which reference number was drawn.
func SaysRestored(by By) error {
	if by.Role != Operator && by.Role != System {
		return fmt.Errorf("%w: the role of who restores swaps is %v", statemachine.ErrForbidden, by.Role)
	}
	return statemachine.Actor(by.Actor)
}

// Scanned records that the vault's own history on a chain was read whole in this generation. [Policy.Scanned] decides
// which scan counts.
func (c Control) Scanned(chain Chain) Control {
	is := &c.SolanaScanned
	if chain == Nexus {
		is = &c.NexusScanned
	}
	if !*is {
		*is = true
		c.Version++
	}
	return c
}

// Draw returns the next reference number, 1 above the last. The number is unique and never given back. Draw returns
// [statemachine.ErrInvalid] when the counter is at [MaxReference] or above, where draws and sightings cannot bring it.
func (c Control) Draw() (Control, error) {
	if c.Reference >= MaxReference {
		return c, fmt.Errorf("%w: the reference counter is at %d, above all that can be drawn: set it to the last number that was drawn",
			statemachine.ErrInvalid, c.Reference)
	}
	c.Reference++
	c.Version++
	return c, nil
}

// MaxReference bounds the reference numbers that are drawn, and MaxSeen the sightings that raise the counter. Numbers
// above MaxSeen are left to people, who may pay with any number: whatever they choose, 2^61 numbers are left to be
// drawn.
const (
	MaxReference = 1 << 62
	MaxSeen      = 1 << 61
)

// follows reports whether the counter has drawn a number, or can still draw it.
func (c *Control) follows(n uint64) bool {
	return n <= MaxSeen || n == c.Reference+1 && n <= MaxReference
}

// Saw raises the counter to the reference number of an outbound. A transaction that the vault did not sign proves
// nothing; one with an error has used its number up. A number above [MaxSeen] was chosen by a person and is never
// drawn, so it does not raise the counter: above it no number might be left.
func (c Control) Saw(t Sighting) Control {
	if t.VaultSigned && t.Chain == Nexus && t.Reference <= MaxSeen {
		c, _ = c.Seed(t.Reference)
	}
	return c
}

// Seed raises the counter so that the next reference number is above seen; it never lowers the counter. A number
// above [MaxSeen] is [statemachine.ErrInvalid], unless it is the next one to be drawn.
func (c Control) Seed(seen uint64) (Control, error) {
	if !c.follows(seen) {
		return c, fmt.Errorf("%w: a reference number is at most %d", statemachine.ErrInvalid, uint64(MaxSeen))
	}
	if seen > c.Reference {
		c.Reference = seen
		c.Version++
	}
	return c, nil
}
