package store

import (
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// SwitchUnit is the part of a transaction that [Switches] needs, and every domain in
// which a payment begins.
type SwitchUnit interface {
	Journaled
	Switches() SwitchRecords
}

// SwitchRecords stores the switches of package switches. It decides nothing.
type SwitchRecords interface {
	// Get returns the switches of these scopes, in their order. Every field comes back
	// as it was saved, times as UTC microseconds. A scope without a row is a zero
	// Switch.
	Get(scopes ...switches.Scope) ([]switches.Switch, error)
	// List pages through the rows in byte order of their scopes, behind one. A limit is
	// 1 to [MaxPage], else it is [statemachine.ErrInvalid].
	List(after switches.Scope, limit int) ([]switches.Switch, error)
	// Ask returns the state that counts for a scope, see [switches.Of]. A transaction that begins something asks before
	// it does. In an Update Ask locks [switches.Everything] and the scope until the transaction ends, shared with all
	// others who ask, and reads only under these locks, so that the answer is not an older state. In a View it only
	// reads.
	Ask(scope switches.Scope) (switches.State, error)
	// Open returns the transactions that asked for a scope (or, with [switches.Everything], for any scope) and have not
	// ended. It waits for none of them. If there is none, every transaction that asks from then on sees what was
	// committed before this transaction began. A store with one writer at a time has none. In a View it is
	// [statemachine.ErrIllegal].
	Open(scope switches.Scope) ([]OpenTransaction, error)
	// Save writes changes of different scopes, all of them or none, by compare-and-swap
	// on the version in Old; a row whose version is another one is
	// [statemachine.ErrConflict]. Log has exactly one line for each new version, else it
	// is [statemachine.ErrInvalid]. In a View it is [statemachine.ErrIllegal].
	Save(changes ...switches.Change) error
	// Transitions returns the audit trail of a scope, oldest first.
	Transitions(scope switches.Scope) ([]statemachine.Transition[switches.Scope], error)
	// Feed returns the transitions of switches.
	Feed[switches.Scope]
}

// OpenTransaction is a transaction that asked a switch and has not ended.
type OpenTransaction struct {
	PID         int64     // of its process at the server; 0: it is prepared, and has none
	Since       time.Time // when it began; zero where the server does not track activities, or does not show them to this user
	Application string    // what its connection calls itself
	State       string    // what the server says that it does, such as "idle in transaction"
}
