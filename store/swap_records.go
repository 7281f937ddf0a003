package store

import (
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// SwapUnit is the part of a transaction that [Swaps], [SwapDeposits] and [SwapCredits]
// need.
type SwapUnit interface {
	SwitchUnit
	Deposits() DepositRecords
	Credits() CreditRecords
	SwapHouse() SwapHouse
}

// DepositRecords and CreditRecords store the items of the two directions.
type (
	DepositRecords = SwapRecords[swap.Deposit]
	CreditRecords  = SwapRecords[swap.Credit]
)

// SwapRecords stores deposits or credits of package swap: each in one of four tables,
// with its intents and discrepancies. It keeps the unique rules that the package names
// under "Storing a change", and decides nothing.
type SwapRecords[A any] interface {
	// Get returns the items with these ids, in their order; an unknown one is
	// zero.
	Get(ids ...string) ([]A, error)
	// Due returns up to limit (1 to [MaxPage]) items that a worker may claim at now ([swap.Item.Due]), as Get does, in
	// the order of [swap.CompareDue]. They stay locked until the transaction ends; items that another transaction holds
	// are skipped. An item that cannot be read is left out; Get names it. In a View it is [statemachine.ErrIllegal].
	Due(now time.Time, limit int) ([]A, error)
	// Overslept returns up to limit items whose [swap.Item.DueAt] is after latest: a clock that
	// was ahead has set it. Otherwise as Due.
	Overslept(latest time.Time, limit int) ([]A, error)
	// NextDue returns the earliest moment after now at which an item becomes
	// due; zero if none does.
	NextDue(now time.Time) (time.Time, error)
	// List pages through a table by id, after one.
	List(place swap.Place, after string, limit int) ([]A, error)
	// HeldBy pages through the ids of the items whose lease names a holder,
	// ended or not, in byte order, behind an id.
	HeldBy(holder, after string, limit int) ([]string, error)
	// Oldest returns the time of the oldest item that the waterline waits for (see [swap.Record]), zero if there is
	// none. Items that vanished at or before vanished are left out.
	Oldest(vanished time.Time) (time.Time, error)
	// Save writes changes of different items; all of them, or none.
	//
	//  1. A refused Save ends the transaction: Update returns its error even if
	//     fn swallows it. The writes, and these errors, may be delayed to the next
	//     read or the end of the transaction. In a View it is
	//     [statemachine.ErrIllegal].
	//  2. An item is inserted if the version in Old is 0, else written by
	//     compare-and-swap on that version. Another stored version,
	//     and an insert of an item that exists in any table, is [statemachine.ErrConflict].
	//  3. It is written only where the fence in Old's lease still stands, else
	//     [statemachine.ErrFenced], and so do its holder and CheckAt, else
	//     ErrConflict. A touch ([swap.Change].Touched) writes lease and CheckAt
	//     where the version still stands.
	//  4. Under the same holder and fence the stored end of a lease stays: only
	//     Renew moves it.
	//  5. An item whose place changes moves to that table in the same commit, so
	//     that it is in exactly one.
	//  6. Log has exactly one line for each new version, else
	//     [statemachine.ErrInvalid]. Lines are never changed or deleted.
	//  7. Intents and discrepancies of the change are inserted, or their state is
	//     written. A reference number, a signature or a claim ([swap.Intent].Claim)
	//     that another intent has is ErrConflict. A stored discrepancy stays as it is,
	//     except for who dealt with it.
	Save(changes ...swap.Change[A]) error
	// Renew sets the end of leases that are held under their fence at now. It
	// returns the items whose lease is lost; the others are renewed.
	Renew(now time.Time, leases ...Lease[string]) (lost []string, err error)
	Transitions(id string) ([]statemachine.Transition[string], error)
	Feed[string]
}

// SwapHouse stores what concerns all swaps.
type SwapHouse interface {
	// Control returns the control row; zero before the first save. With lock no other transaction locks or writes it
	// until this one ends; in a View that is [statemachine.ErrIllegal].
	Control(lock bool) (swap.Control, error)
	// SaveControl writes the row by compare-and-swap on its version.
	SaveControl(old, now swap.Control) error
	// OfReference returns the item that has an intent with a reference number, and
	// OfClaim the one that has an intent with a claim; empty if none has.
	OfReference(reference uint64) (d swap.Direction, id string, err error)
	OfClaim(claim string) (d swap.Direction, id string, err error)
	// Waterline returns a waterline; one without a time before the first save.
	Waterline(chain swap.Chain, own bool) (swap.Waterline, error)
	// SaveWaterline writes a waterline by compare-and-swap on its version.
	SaveWaterline(old, now swap.Waterline) error
	// Note records discrepancies of no item, or of an item that does not exist,
	// once by their key.
	Note(discrepancies ...swap.Discrepancy) error
	// Close writes who has dealt with a discrepancy of no item, by its key;
	// [statemachine.ErrNotFound] if there is none.
	Close(swap.Discrepancy) error
	// Discrepancies pages through all discrepancies, oldest first, after a cursor from 0, and returns the cursor behind
	// the last one; an empty page returns the cursor that was given. A cursor below 0 is [statemachine.ErrInvalid], and
	// so is a limit that is not 1 to [MaxPage].
	Discrepancies(after int64, limit int) (page []swap.Discrepancy, cursor int64, err error)
	// Stats counts what the fields of [swap.Stats] say.
	Stats(now time.Time, window time.Duration) (swap.Stats, error)
}
