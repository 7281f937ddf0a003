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

// lateWallet: the copy lacks a hot wallet that has paid since, on a chain with inputs, and the host puts it only after the
// chain was started, which could not ask for its bound. It gets no job, whoever orders, until an operator says that it
// signed nothing; what it did sign is not told any more, since other wallets pay by then.
func (w *withdrawals) lateWallet(t *testing.T) {
	live(w.Store)
	olga := by(withdrawal.Operator, time.Time{})
	w.restored(t, 1)
	Settle(t, w.service, utxos)
	w.started(t, utxos)
	late := withdrawal.HotWallet{ID: w.id(), Chain: utxos}
	w.putWallet(t, late)
	bound := withdrawal.Bound{By: olga, Wallet: late.ID, Coins: []string{"a:0"}, Source: withdrawal.SignerLog, Reason: "line 1"}
	same(t, "what is open", must(w.service.Unsettled(ctx, utxos, 10))(t),
		[]withdrawal.Open{{Chain: utxos, Wallet: late.ID, Point: withdrawal.OpenBound}})

	if got := w.pending(t, utxos, time.Time{}); got.Job.Wallet != utxoHot {
		t.Errorf("wallet %s pays, and its bound is not said", got.Job.Wallet)
	}
	retired := withdrawal.HotWallet{ID: utxoHot, Chain: utxos, Role: withdrawal.WalletRoleHot, Status: "retired"}
	noError(t, w.service.PutHotWallet(ctx, olga, retired))
	waits := w.approved(t, utxos, time.Time{})
	order := w.enqueued(time.Time{}, withdrawal.Normal)
	for _, err := range []error{errOf(w.service.Do(ctx, waits.Request.ID, order)),
		errOf(w.service.Do(ctx, waits.Request.ID, withdrawal.Enqueued{By: order.By, Job: order.Job, AssetOnChain: tokenOnChain,
			Wallets: must(w.service.HotWallets(ctx, utxos))(t)}))} {
		refusedWith(t, err, withdrawal.ErrUnsettled, "an order")
		refusedWith(t, err, withdrawal.ErrNoHotWallet, "an order")
	}
	refusedWith(t, w.service.Say(ctx, bound), statemachine.ErrInvalid, "coins, and the chain was started")
	bound.Coins, bound.NoCoins = nil, true
	noError(t, w.service.Say(ctx, bound))
	if got := w.do(t, waits.Request.ID, order); got.Job.Wallet != late.ID {
		t.Errorf("wallet %s pays", got.Job.Wallet)
	}
	if open := must(w.service.Unsettled(ctx, utxos, 10))(t); len(open) > 0 {
		t.Errorf("%v is open", open)
	}
}
