// Package memory keeps everything in memory: the reference that the other
// adapters are compared with, and a store for tests. Nothing survives the
// process.
//
// One mutex serialises all transactions, reads included. A failed Update is
// taken back from an undo log, so it costs what it wrote.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// Store is an in-memory [store.Store].
type Store struct {
	mu          sync.Mutex
	now         func() time.Time
	wallets     *utxo.Ledger
	walletFeed  *trails[utxo.TxID]
	withdrawals *withdrawalTables
	refreshes   *refreshTables
	relays      *relayTables
	tenants     *tenantTables
	swaps       *swapTables
	switches    *switchTables
	processes   *rows[processes.Key, processes.Process]
	journal     []statemachine.JournalLine
}

var _ store.Store[store.Unit] = (*Store)(nil)

// Options changes the defaults of a store; the zero value is ready to use.
type Options struct {
	// Now is the store's clock; nil means [time.Now].
	Now func() time.Time
	// Wallets is the policy whose maturity the wallets' balances are kept for.
	Wallets utxo.Policy
}

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{now: o.Now, wallets: utxo.NewLedger(o.Wallets), walletFeed: walletFeed(),
		withdrawals: newWithdrawalTables(), refreshes: newRefreshTables(),
		relays: newRelayTables(), tenants: newTenantTables(), swaps: newSwapTables(), switches: newSwitchTables(), processes: newProcesses()}
}

// Update implements [store.Store]. fn runs once.
func (s *Store) Update(ctx context.Context, fn func(store.Unit) error) error {
	return s.run(ctx, fn, true)
}

// View implements [store.Store].
func (s *Store) View(ctx context.Context, fn func(store.Unit) error) error {
	return s.run(ctx, fn, false)
}

func (s *Store) run(ctx context.Context, fn func(store.Unit) error, writable bool) error {
	if fn == nil {
		return fmt.Errorf("%w: the function is nil", statemachine.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &tx{store: s, writable: writable}
	ended := false
	defer func() {
		if !ended { // by a panic
			t.rollback()
		}
		t.closed = true
	}()
	err := fn(t)
	if err == nil {
		err = t.failed // fn must not commit past a refused write
	}
	if err == nil {
		err = ctx.Err()
	}
	ended = true
	if err != nil {
		t.rollback()
		s.journal = append(s.journal, statemachine.Undone(t.said, err)...)
	}
	return err
}

// tx is one transaction.
type tx struct {
	store    *Store
	writable bool
	closed   bool
	failed   error // the first refused write, which ends the transaction
	undo     []func()
	said     []statemachine.JournalLine // that the journal was given
}

func (t *tx) rollback() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
}

// writes is an error unless the transaction may write.
func (t *tx) writes() error {
	if t.closed || !t.writable {
		return fmt.Errorf("%w: a write outside an update", statemachine.ErrIllegal)
	}
	return t.failed
}

// fail remembers that a write was refused.
func (t *tx) fail(err error) error {
	t.failed = err
	return err
}

// Now implements [store.Clock].
func (t *tx) Now() (time.Time, error) {
	return t.store.now().UTC().Truncate(time.Microsecond), nil
}

// do makes one change and remembers how to take it back.
func (t *tx) do(change, undo func()) {
	change()
	t.undo = append(t.undo, undo)
}

// set is m[key] = v that a rollback takes back.
func set[K comparable, V any](t *tx, m map[K]V, key K, v V) {
	old, had := m[key]
	t.do(func() { m[key] = v }, func() {
		if had {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
}

// unset is delete(m, key) that a rollback takes back.
func unset[K comparable, V any](t *tx, m map[K]V, key K) {
	if old, had := m[key]; had {
		t.do(func() { delete(m, key) }, func() { m[key] = old })
	}
}

// assign is *p = v that a rollback takes back. What p held is not written to,
// so that a list grows by assign(t, &list, append(list, v)).
func assign[V any](t *tx, p *V, v V) {
	old := *p
	t.do(func() { *p = v }, func() { *p = old })
}

// pageOf returns the elements of an append-only list behind the first after, and
// how many there are up to the last of them; an empty page returns after.
func pageOf[V any](all []V, after int64, limit int) (page []V, next int64) {
	from := min(max(after, 0), int64(len(all)))
	page = slices.Clone(all[from:min(from+int64(limit), int64(len(all)))])
	if len(page) == 0 {
		return nil, after
	}
	return page, from + int64(len(page))
}
