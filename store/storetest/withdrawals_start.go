package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// startOrWord: what opens a point and the start of the chain are two transactions at once. Whichever
// is first, the other one waits for its commit and is refused.
func (w *withdrawals) startOrWord(t *testing.T) {
	live(w.Store) // the store's time says when things are said
	chain := w.id()
	hot := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	w.restored(t, 1)
	Settle(t, w.service, chain)
	scope := switches.Chain(chain)
	bound := withdrawal.Bound{By: by(withdrawal.Operator, time.Time{}), Wallet: hot, Through: 9,
		Source: withdrawal.SignerLog, Reason: "line 2"}
	start := func(s *store.Switches) error { return errOf(s.Start(ctx, endedEvent(scope))) }

	said := w.beside(t, func(tx store.WithdrawalUnit) error { return w.service.Within(tx).Say(ctx, bound) })
	refusedWith(t, said(func() error { return start(w.switches(t)) }), withdrawal.ErrUnsettled, "a start behind a word that opens a point")

	noError(t, w.service.Say(ctx, withdrawal.Bound{By: bound.By, Wallet: hot, Source: withdrawal.SignerLog, Reason: "line 1, after all"}))
	Settle(t, w.service, chain)
	started := w.beside(t, func(tx store.WithdrawalUnit) error { return start(w.switches(t).Within(tx)) })
	used := withdrawal.Used{By: bound.By, Wallet: hot, Block: block(5), Tx: "0x3", Nonce: 3} // a bound of a new wallet is taken later
	refusedWith(t, started(func() error { return w.service.Say(ctx, used) }), statemachine.ErrIllegal, "a word behind a start")
}

// beside runs first in a transaction, and returns a function that runs second while that transaction is
// open, requires that second waits for its commit, and returns how second has ended.
func (w *withdrawals) beside(t *testing.T, first func(store.WithdrawalUnit) error) func(second func() error) error {
	t.Helper()
	inside, commit, committed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		committed <- w.Update(ctx, func(tx store.WithdrawalUnit) error {
			err := first(tx)
			once.Do(func() { close(inside) })
			<-commit
			return err
		})
	}()
	<-inside
	return func(second func() error) error {
		ended := make(chan error, 1)
		go func() { ended <- second() }()
		select { // a second that does not wait has this long to show it
		case err := <-ended:
			close(commit)
			t.Errorf("it has ended before the other one was committed: %v", err)
			noError(t, <-committed)
			return err
		case <-time.After(200 * time.Millisecond):
		}
		close(commit)
		noError(t, <-committed)
		return <-ended
	}
}
