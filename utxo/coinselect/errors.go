package coinselect

import (
	"fmt"
	"strings"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// Why [Select] finds nothing.
var (
	// ErrInsufficientFunds: the selectable coins do not bring enough.
	ErrInsufficientFunds = statemachine.NewSentinel("insufficient-funds", "insufficient funds")
	// ErrTooManyInputs: it takes more inputs, or weight, than the limit.
	ErrTooManyInputs = statemachine.NewSentinel("too-many-inputs", "more inputs or weight than the limit")
	// ErrTooManyAncestors: it takes more unconfirmed ancestors than the limit.
	ErrTooManyAncestors = statemachine.NewSentinel("too-many-ancestors", "more unconfirmed ancestors than the limit")
	// ErrNoChangeless: [BranchAndBound] found no set without change.
	ErrNoChangeless = statemachine.NewSentinel("no-changeless", "no changeless set was found")

	// ErrTooManyDescendants: an unconfirmed ancestor would get more unconfirmed
	// descendants than the limit.
	ErrTooManyDescendants = statemachine.NewSentinel("too-many-descendants", "more unconfirmed descendants than the limit")
	// ErrDust: nodes relay no output of so little.
	ErrDust = statemachine.NewSentinel("dust", "output is dust")

	ErrExcluded     = statemachine.NewSentinel("excluded", "coin is excluded")
	ErrOtherOwner   = statemachine.NewSentinel("other-owner", "coin belongs to another owner")
	ErrNoWeight     = statemachine.NewSentinel("no-weight", "input weight of the script is not known")
	ErrUneconomic   = statemachine.NewSentinel("uneconomic", "coin costs as much as it brings")
	ErrReplacing    = statemachine.NewSentinel("replacing", "coin hangs on a replacement that is not settled")
	ErrUnscanned    = statemachine.NewSentinel("unscanned", "wallet or owner is not scanned to the tip")
	ErrNotBroadcast = statemachine.NewSentinel("not-broadcast", "coin hangs on a transaction that is not broadcast")
	ErrUnconfirmed  = statemachine.NewSentinel("unconfirmed", "coin has too few confirmations")
	ErrUnknownFee   = statemachine.NewSentinel("unknown-fee", "fee of an unconfirmed transaction is not known")
)

// Bar is why a coin cannot be selected. Where several reasons apply, the first in the order
// of the constants counts.
// Values: BarDead, BarSpent, BarExcluded, BarOtherOwner, BarNoWeight, BarUneconomic,
// BarLeased, BarImmature, BarReplacing, BarUnscanned, BarNotBroadcast, BarUnconfirmed,
// BarAncestors, BarDescendants, BarUnknownFee, BarNoRoom.
type Bar = statemachine.Enum[bar]

const (
	BarDead         Bar = iota + 1 // [utxo.ErrDeadParent]
	BarSpent                       // [utxo.ErrInputSpent]
	BarExcluded                    // [ErrExcluded]
	BarOtherOwner                  // [ErrOtherOwner]
	BarNoWeight                    // [ErrNoWeight]
	BarUneconomic                  // [ErrUneconomic]
	BarLeased                      // [statemachine.ErrHeld]
	BarImmature                    // [utxo.ErrImmature]
	BarReplacing                   // [ErrReplacing]
	BarUnscanned                   // [ErrUnscanned]
	BarNotBroadcast                // [ErrNotBroadcast]
	BarUnconfirmed                 // [ErrUnconfirmed]
	BarAncestors                   // [ErrTooManyAncestors], by itself, or together with what All took
	BarDescendants                 // [ErrTooManyDescendants], of an ancestor, by itself, or together with what All took
	BarUnknownFee                  // [ErrUnknownFee], of an ancestor
	BarNoRoom                      // [ErrTooManyInputs], together with what All took
)

type bar struct{}

func (bar) Kind() string    { return "bar to selection" }
func (bar) Names() []string { return barNames }

var barNames = []string{
	"dead", "spent", "excluded", "other owner", "unknown weight", "uneconomic", "leased", "immature", "replacing",
	"unscanned", "not broadcast", "too few confirmations", "too many ancestors",
	"too many descendants", "unknown ancestor fee", "no room",
}

var barErrors = [...]error{
	BarDead: utxo.ErrDeadParent, BarSpent: utxo.ErrInputSpent, BarExcluded: ErrExcluded, BarOtherOwner: ErrOtherOwner,
	BarNoWeight: ErrNoWeight, BarUneconomic: ErrUneconomic, BarLeased: statemachine.ErrHeld, BarImmature: utxo.ErrImmature,
	BarReplacing: ErrReplacing, BarUnscanned: ErrUnscanned, BarNotBroadcast: ErrNotBroadcast,
	BarUnconfirmed: ErrUnconfirmed, BarAncestors: ErrTooManyAncestors,
	BarDescendants: ErrTooManyDescendants, BarUnknownFee: ErrUnknownFee, BarNoRoom: ErrTooManyInputs,
}

// Error says why nothing was selected, and what there is. It matches Err. If Err is
// [ErrInsufficientFunds], Error also matches the error of each bar whose coins alone would
// make up what is missing, limits aside: waiting for their maturity, for the end of a lease
// or for a scan would help.
type Error struct {
	Err  error // [ErrInsufficientFunds], [ErrTooManyInputs], [ErrTooManyAncestors], [ErrTooManyDescendants] or [ErrNoChangeless]
	Need int64 // satoshi: the payment, and the fee of everything but the inputs
	Have int64 // what the selectable coins bring all together, after their fee, in satoshi
	// Barred sums up the coins that could not be selected, by bar. The sums are of
	// effective values, but of amounts for coins that are dead, spent, excluded, of another
	// owner, of unknown weight, or uneconomic.
	Barred map[Bar]int64
}

// Error names the amounts.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coin selection: %v: %d satoshi needed, %d selectable", e.Err, e.Need, e.Have)
	for _, bar := range Bar(0).Values() {
		if e.Barred[bar] > 0 {
			fmt.Fprintf(&b, ", %d %s", e.Barred[bar], bar)
		}
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error of a bar that alone stands in the way.
func (e *Error) Is(target error) bool {
	if e.Err != ErrInsufficientFunds {
		return false
	}
	for bar, amount := range e.Barred {
		if barErrors[bar] == target && bar > BarUneconomic && amount >= e.Need-e.Have {
			return true
		}
	}
	return false
}

// DustError names a payee that nodes would not relay. It matches [ErrDust] and
// [statemachine.ErrInvalid].
type DustError struct {
	Output int   // its place among the outputs that were given to [Pay]; for [Replace], in the original
	Amount int64 // satoshi
	Least  int64 // what nodes relay to its script, in satoshi, see [DustThreshold]
}

func (e *DustError) Error() string {
	return fmt.Sprintf("coin selection: output %d of %d satoshi: %v: nodes relay %d or more", e.Output, e.Amount, ErrDust, e.Least)
}

// Unwrap returns ErrDust and [statemachine.ErrInvalid].
func (e *DustError) Unwrap() []error { return []error{ErrDust, statemachine.ErrInvalid} }

// PinnedError says that a pinned coin cannot be selected. It matches the error of the
// coin's bar, or [statemachine.ErrNotFound] if the coin is not among the candidates.
type PinnedError struct {
	OutPoint wire.OutPoint
	Err      error
}

func (e *PinnedError) Error() string {
	return fmt.Sprintf("coin selection: pinned input %s: %v", e.OutPoint, e.Err)
}

// Unwrap returns Err.
func (e *PinnedError) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
}
