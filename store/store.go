package store

import (
	"context"
	"errors"
	"time"

	"github.com/settlehq/settle/utxo"
)

// ErrUnknownCommit: the connection was lost while a commit was under way. The change may have landed or not.
// [Store.Update] never repeats it: send the same event again; if it had landed, the second one changes nothing.
var ErrUnknownCommit = errors.New("connection lost during commit: it may have landed")

// ErrRetry: the database let another transaction go first (a deadlock, a
// serialization failure, a file that is busy), and this one changed nothing. The
// same transaction can succeed: [Store.Update] has repeated it already; a host
// that runs a transaction of its own begins it again.
var ErrRetry = errors.New("another transaction was in the way: begin again")

// Store runs transactions. T is what the transaction offers: [Unit] for the
// adapters of this module, or the interface of one domain for a host's own.
// Every method is safe for concurrent use.
type Store[T any] interface {
	// Update runs fn atomically: all of its writes land or none, also when fn panics, ctx is cancelled or the process
	// dies. When Update returns nil, the change survives a crash and a power cut (SQLite in WAL mode: synchronous=FULL;
	// PostgreSQL: synchronous_commit not off): an intent that is lost after its effect is paid again. fn may run more
	// than once and must have no other effects. Every record that fn saves must be at the version that fn read.
	// Otherwise fn runs again, if a new run would read the record anew, or the error is [statemachine.ErrConflict]. A
	// write that was refused ends the transaction: Update returns its error even if fn does not. Records that are read
	// and not written are not checked. The unit is valid until fn returns. fn must not begin another transaction of the
	// same store: with one writer at a time it would wait for itself.
	Update(ctx context.Context, fn func(T) error) error
	// View runs fn on one consistent state. Nothing can be written: in a View each method of the unit that writes is
	// [statemachine.ErrIllegal], and so it is after fn has returned.
	View(ctx context.Context, fn func(T) error) error
}

// Unit is one unit of work: a transaction of the database, over all domains.
type Unit interface {
	SwitchUnit
	WalletUnit
	BatchUnit // and so WithdrawalUnit
	RefreshUnit
	TenantUnit // and relays
	SwapUnit
}

// Clock is the store's own clock. Leases and due times use it, so that hosts
// whose clocks differ agree.
type Clock interface {
	// Now returns the time of this transaction's reads and writes, UTC
	// microseconds; after every lock that it took so far.
	Now() (time.Time, error)
}

// Lease names a held lease, by the id of its record, and its new end.
type Lease[K comparable] struct {
	ID    K
	Fence int64
	Until time.Time
}

// WalletUnit is the part of a transaction that [Wallets] needs.
type WalletUnit interface {
	SwitchUnit
	Wallets() WalletRecords
	WalletQueries() WalletQueries
}

// WalletQueries are what people ask of wallets, and what coins are selected from.
type WalletQueries = utxo.Queries

// WalletSource returns all that is read of wallets in a transaction.
func WalletSource(tx WalletUnit) utxo.Source {
	return struct {
		utxo.Reader
		WalletQueries
	}{tx.Wallets(), tx.WalletQueries()}
}

// WalletRecords stores the wallets of package utxo, and reads what its rules ask. It applies change
// sets and decides nothing.
type WalletRecords interface {
	utxo.Reader
	Feed[utxo.TxID] // without the lines marked with [utxo.ContextLine]
	// Lock keeps other writers of this scope (see [utxo.Scope]) out until the
	// transaction ends. It comes before the first read for a plan. A store
	// with one writer at a time does nothing.
	Lock(scope utxo.WalletID) error
	// Save applies change sets in order, see [utxo.Merge]. A set whose old values are not the
	// stored ones is [statemachine.ErrConflict]. In a View it is
	// [statemachine.ErrIllegal]. The writes may be delayed to the next read
	// or the end of the transaction.
	Save(sets ...utxo.ChangeSet) error
}
