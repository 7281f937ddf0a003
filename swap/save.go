package swap

import (
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// What a store needs of a change.

// Record is a [Deposit] or a [Credit], for code that stores both.
type Record interface {
	Head() *Item
	Machine() string // name of its machine
	Place() Place    // zero for one that does not exist yet
	State() string   // text of its status
	// Waits returns the item's own time if the waterline waits for the item. It does not wait for a credit that
	// vanished before the given moment.
	Waits(vanished time.Time) (time.Time, bool)
}

// Machine returns the name of [DepositMachine].
func (d *Deposit) Machine() string { return DepositMachine.Name() }

// Place says in which table the deposit is.
func (d *Deposit) Place() Place { return depositStages[d.Status].place }

// State returns the text of the status.
func (d *Deposit) State() string { return d.Status.String() }

// Machine returns the name of [CreditMachine].
func (c *Credit) Machine() string { return CreditMachine.Name() }

// Place says in which table the credit is.
func (c *Credit) Place() Place { return creditStages[c.Status].place }

// State returns the text of the status.
func (c *Credit) State() string { return c.Status.String() }

// Merge takes the following change of the same item into c, so that both are
// saved as one.
func (c *Change[A]) Merge(next *Change[A]) bool {
	c.New = next.New
	c.Log = slices.Concat(c.Log, next.Log)
	c.Notes = slices.Concat(c.Notes, next.Notes)
	c.Touched = c.Touched || next.Touched
	return true
}

// Complete is [statemachine.ErrInvalid] unless each new version has its line.
func (c *Change[A]) Complete() error {
	old, now := record(&c.Old), record(&c.New)
	return statemachine.Complete(c.Log, statemachine.Versions[string]{Machine: now.Machine(), ID: now.Head().ID,
		Old: old.Head().Version, New: now.Head().Version})
}

// Intents are those that the change puts on file, and those that it alters.
func (c *Change[A]) Intents() (added, altered []Intent) {
	return differing(record(&c.Old).Head().Intents, record(&c.New).Head().Intents, sameIntent)
}

// Discrepancies returns those that the change adds, also those of no item, and those of the item that the change has
// closed or opened.
func (c *Change[A]) Discrepancies() (added, altered []Discrepancy) {
	_, altered = differing(record(&c.Old).Head().Discrepancies, record(&c.New).Head().Discrepancies,
		func(a, b *Discrepancy) bool { return *a == *b })
	if added = c.Notes; len(added) == 0 {
		return nil, altered
	}
	// One that was recorded and dealt with in merged steps.
	now := record(&c.New).Head().Discrepancies
	return closed(added, now), altered
}

func closed(added, now []Discrepancy) []Discrepancy {
	out := slices.Clone(added)
	for k := range out {
		for _, d := range now {
			if d.Kind == out[k].Kind && d.Key == out[k].Key {
				out[k] = d
			}
		}
	}
	return out
}

func record[A any](a *A) Record { return any(a).(Record) }

func differing[V any](old, now []V, same func(a, b *V) bool) (added, altered []V) {
	for k := range now {
		switch {
		case k >= len(old):
			added = append(added, now[k])
		case !same(&old[k], &now[k]):
			altered = append(altered, now[k])
		}
	}
	return added, altered
}

// sameIntent compares the fields of an intent that a step can change. Only [PaidBy] changes the amount and the
// destination.
func sameIntent(a, b *Intent) bool {
	return a.Number == b.Number && a.Net == b.Net && a.Fee == b.Fee && a.Destination == b.Destination && a.SendBy.Equal(b.SendBy) &&
		a.Outcome == b.Outcome && a.TxID == b.TxID && a.Claim == b.Claim && a.Proof == b.Proof &&
		a.Final == b.Final && a.ClosedAt.Equal(b.ClosedAt) && a.SeenAt.Equal(b.SeenAt) && a.Missed == b.Missed && a.MissedAt.Equal(b.MissedAt)
}
