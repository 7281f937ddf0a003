package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// restored makes everything recovering, of a generation.
func (w *withdrawals) restored(t testing.TB, generation int64) {
	t.Helper()
	_, err := w.switches(t).Recover(ctx, recoveringEvent(switches.Everything, switches.Send, generation))
	noError(t, err)
}

// Settle says of a recovering chain that nothing was lost, one statement after the other, until
// [store.Withdrawals.Unsettled] has nothing left. It is for tests that need the chain started and do not test the
// statements. The policy of w has a depth of at most 100.
func Settle(t testing.TB, w *store.Withdrawals, chain uuid.UUID) {
	t.Helper()
	olga := by(withdrawal.Operator, start)
	deep := withdrawal.Block{Height: 1, Hash: "b1", Canonical: "b1", Head: 100}
	policy := w.Policy()
	of := policy.ChainOf(chain)
	for range 1000 {
		open := must(w.Unsettled(ctx, chain, 1))(t)
		if len(open) == 0 {
			return
		}
		wallets := must(w.HotWallets(ctx, chain))(t)
		next := uint64(0)
		for _, hot := range wallets {
			if hot.ID == open[0].Wallet {
				next = hot.NextNonce
			}
		}
		var ev withdrawal.Event
		switch o := open[0]; o.Point {
		case withdrawal.OpenBooks:
			ev = withdrawal.BooksRead{By: olga, Chain: chain, Since: start, Reason: "read"}
		case withdrawal.OpenBound:
			ev = withdrawal.Bound{By: olga, Wallet: o.Wallet, Through: next, NoCoins: !of.Nonces && of.MinedWithin == 0,
				Source: withdrawal.SignerLog, Reason: "line 1"}
		case withdrawal.OpenNonce:
			ev = withdrawal.AtDepth{By: olga, Wallet: o.Wallet, Block: deep, Next: next}
		case withdrawal.OpenUntold:
			ev = withdrawal.Used{By: olga, Wallet: o.Wallet, Block: deep, Nonce: o.Number, Tx: fmt.Sprint("used ", o.Number)}
		case withdrawal.OpenCoin: // of what is out
			ev = withdrawal.Used{By: olga, Wallet: o.Wallet, Block: deep, Inputs: []string{o.Coin}, Tx: "spends " + o.Coin}
		default:
			t.Fatalf("nobody knows what to say of %v", o)
		}
		noError(t, w.Say(ctx, ev))
	}
	t.Fatal("it is never settled")
}

// started ends the recovery of a chain.
func (w *withdrawals) started(t testing.TB, chain uuid.UUID) {
	t.Helper()
	_, err := w.switches(t).Start(ctx, endedEvent(switches.Chain(chain)))
	noError(t, err)
}

// statements: what is said of wallets comes back as it was said, in its order, of the chain and the
// generation that is asked for; of unknown wallets and in a View nothing is stored.
func (w *withdrawals) statements(t *testing.T) {
	olga := by(withdrawal.Operator, start)
	var said []withdrawal.Statement
	chain, other, hot, hot2 := w.id(), w.id(), w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	w.putWallet(t, withdrawal.HotWallet{ID: hot2, Chain: other})
	deep := withdrawal.Block{Height: 5, Hash: "b5", Canonical: "b5", Head: 100}
	pays := withdrawal.Transfer{Output: 2, Payee: "0xPayee", AssetOnChain: tokenOnChain, AmountRaw: "10000000000000000000000000000"}
	own := pays
	own.Output = 3
	events := []withdrawal.Event{
		withdrawal.Bound{By: olga, Wallet: hot, Through: withdrawal.MaxNonce, From: 7, Source: withdrawal.Margin, Reason: "a guess"},
		withdrawal.AtDepth{By: olga, Wallet: hot, Block: deep, Next: 9},
		withdrawal.Used{By: olga, Wallet: hot, Block: deep, Nonce: 7, Tx: "0xT7", Transfers: []withdrawal.UsedTransfer{{Transfer: pays},
			{Transfer: own, Own: true}}},
		withdrawal.Unclaimed{By: olga, Wallet: hot, Tx: "0xT7", Transfer: pays, Reason: "nobody knows"},
		withdrawal.NotThis{By: olga, Wallet: hot, Tx: "0xT7", Output: 2, Request: w.id(), Reason: "another one"},
		withdrawal.Dropped{By: olga, Wallet: hot, Tx: "0xT7", Output: 2, Reason: "settled by hand"},
		withdrawal.BooksRead{By: olga, Chain: chain, Since: start.Add(-time.Hour), Reason: "read"},
	}
	for _, generation := range []int64{1, 2} {
		for _, ev := range events {
			of := must(w.policy.Statements(ev, withdrawal.Recovery{Chain: chain, Wallet: map[bool]withdrawal.HotWallet{true: {ID: hot,
				Chain: chain}}[withdrawal.About(ev) == hot],
				Recovering: true, Generation: generation, Stored: true}, start))(t)
			noError(t, w.say(of...))
			said = append(said, of...)
		}
	}
	coins := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: coins, Chain: utxos2})
	spent := must(w.policy.Statements(withdrawal.Used{By: olga, Wallet: coins, Block: deep, Tx: "t",
		Inputs: []string{"a:0", "b:1"}, Coins: []string{"t:1"}},
		withdrawal.Recovery{Chain: utxos2, Wallet: withdrawal.HotWallet{ID: coins, Chain: utxos2}, Recovering: true, Generation: 1}, start))(t)
	noError(t, w.say(spent...))
	get := func(what func(store.HotWalletRecords) ([]withdrawal.Statement, error)) []withdrawal.Statement {
		t.Helper()
		return must(read(w.Store, func(tx store.WithdrawalUnit) ([]withdrawal.Statement, error) { return what(tx.HotWallets()) }))(t)
	}
	equal := func(what string, got, want []withdrawal.Statement) {
		t.Helper()
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, expected\n%+v", what, got, want)
		}
	}
	for generation, want := range map[int64][]withdrawal.Statement{1: said, 2: said[len(said)/2:], 3: nil} {
		equal(fmt.Sprint("from generation ", generation), get(func(r store.HotWalletRecords) ([]withdrawal.Statement, error) {
			return r.Statements(chain, generation)
		}), want)
	}
	equal("of a chain with inputs", get(func(r store.HotWalletRecords) ([]withdrawal.Statement, error) {
		return r.Statements(utxos2, 1)
	}), spent)
	var unclaimed []withdrawal.Statement
	for i := range said {
		if said[i].OfUnclaimed() {
			unclaimed = append(unclaimed, said[i])
		}
	}
	for of, want := range map[uuid.UUID][]withdrawal.Statement{chain: unclaimed, other: nil} {
		equal("of unclaimed transfers", get(func(r store.HotWalletRecords) ([]withdrawal.Statement, error) { return r.Unclaimed(of) }), want)
	}
	unknown := said[0]
	unknown.Wallet = w.id()
	refusedWith(t, w.say(said[0], unknown), statemachine.ErrNotFound, "a statement about no wallet")
	refusedWith(t, w.View(ctx, func(tx store.WithdrawalUnit) error { return tx.HotWallets().Say(said[0]) }),
		statemachine.ErrIllegal, "a statement in a view")
	equal("after refusals", get(func(r store.HotWalletRecords) ([]withdrawal.Statement, error) { return r.Statements(chain, 0) }), said)
}

func (w *withdrawals) say(all ...withdrawal.Statement) error {
	return w.Update(ctx, func(tx store.WithdrawalUnit) error { return tx.HotWallets().Say(all...) })
}

// unsettled: after a restore a chain is not started before each point is closed, nothing of it is
// ordered meanwhile, and after another restore all is said again.
func (w *withdrawals) unsettled(t *testing.T) {
	live(w.Store)
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	olga := by(withdrawal.Operator, time.Time{})
	var now time.Time
	done := w.processing(t, chain, now)
	p := prepared(&done, now)
	p.Nonce, p.ChainNonce, p.HasChainNonce = 40, 40, true
	deep := withdrawal.Block{Height: 5, Hash: "b5", Canonical: "b5", Head: 100}
	done = w.do(t, done.Request.ID, p, withdrawal.Broadcast{By: workerAt(now), Fence: 1, Hash: p.Hash},
		withdrawal.Receipt{By: by(withdrawal.ConfirmationWorker, now), Block: deep, Tx: p.Hash})
	waits, failed := w.pending(t, chain, now), w.processing(t, chain, now)
	failed = w.do(t, failed.Request.ID, withdrawal.AttemptFailed{By: workerAt(now), Fence: 1, Failure: withdrawal.Permanent, Error: "x"})
	agreed := w.approved(t, chain, now)
	waits = w.get(t, waits.Request.ID)
	pays := withdrawal.Transfer{Output: 1, Payee: waits.Request.ToAddress, AssetOnChain: tokenOnChain, AmountRaw: waits.Request.AmountRaw}
	lost := withdrawal.Transfer{Output: 2, Payee: "0xAbC1", AssetOnChain: tokenOnChain, AmountRaw: "7"}

	bound := withdrawal.Bound{By: olga, Wallet: hot, Through: 43, From: 41, Source: withdrawal.PayerLog, Reason: "grep prepared"}
	refusedWith(t, w.service.Say(ctx, bound), statemachine.ErrIllegal, "a bound where nothing was restored")
	dropped := withdrawal.Dropped{By: olga, Wallet: hot, Tx: "0x41", Output: 2, Reason: "x"}
	refusedWith(t, w.service.Say(ctx, dropped), statemachine.ErrIllegal, "an end of what was never unclaimed")
	w.restored(t, 1)
	for name, err := range map[string]error{
		"an order": errOf(w.service.Do(ctx, agreed.Request.ID, withdrawal.Enqueued{By: by(withdrawal.System, now), Job: w.id(),
			AssetOnChain: tokenOnChain, Priority: withdrawal.Normal})),
		"a requeue": errOf(w.service.Do(ctx, failed.Request.ID, withdrawal.Requeued{By: olga, Job: failed.Job.ID, NotRefunded: true})),
		"a refund":  errOf(w.service.Do(ctx, failed.Request.ID, withdrawal.Refunded{By: by(withdrawal.System, now), Reference: "r"})),
	} {
		refusedWith(t, err, withdrawal.ErrUnsettled, name)
	}
	used := func(n uint64, hash string, transfers ...withdrawal.UsedTransfer) withdrawal.Used {
		return withdrawal.Used{By: olga, Wallet: hot, Block: deep, Nonce: n, Tx: hash, Transfers: transfers}
	}
	imported := func(a *withdrawal.Withdrawal, output uint32) withdrawal.Imported {
		return withdrawal.Imported{By: by(withdrawal.System, now), Request: a.Request.ID, Job: w.id(), AssetOnChain: tokenOnChain, Hash: "0x41",
			ByOutput: true, Output: output,
			Wallets: []withdrawal.HotWallet{{ID: hot, Chain: chain}}}
	}
	point := func(p withdrawal.OpenPoint, number uint64) {
		t.Helper()
		open := must(w.service.Unsettled(ctx, chain, 10))(t)
		if len(open) == 0 || open[0].Point != p || open[0].Number != number || open[0].Chain != chain {
			t.Fatalf("open is %v, expected %v %d", open, p, number)
		}
		_, err := w.switches(t).Start(ctx, endedEvent(switches.Chain(chain)))
		refusedWith(t, err, withdrawal.ErrUnsettled, "a start")
		if of := new(withdrawal.UnsettledError); !errors.As(err, &of) || of.Open != open[0] {
			t.Fatalf("the start is refused with %v, expected %v", err, open[0])
		}
	}
	say := func(ev withdrawal.Event) {
		t.Helper()
		noError(t, w.service.Say(ctx, ev), ev, ": ")
	}
	point(withdrawal.OpenBooks, 0)
	say(withdrawal.BooksRead{By: olga, Chain: chain, Since: done.Job.ProcessedAt, Reason: "x"}) // a moment before it was known
	point(withdrawal.OpenBound, 0)
	say(bound)
	point(withdrawal.OpenNonce, 40)
	say(withdrawal.AtDepth{By: olga, Wallet: hot, Block: deep, Next: 42})
	point(withdrawal.OpenUntold, 40)
	say(withdrawal.BooksRead{By: olga, Chain: chain, Since: done.Job.ProcessedAt.Add(time.Microsecond), Reason: "x"})
	point(withdrawal.OpenUntold, 41)
	say(used(41, "0x41", withdrawal.UsedTransfer{Transfer: pays}, withdrawal.UsedTransfer{Transfer: lost}))
	point(withdrawal.OpenNonce, 42)
	say(withdrawal.AtDepth{By: olga, Wallet: hot, Block: deep, Next: 43})
	say(used(42, "0x42"))
	point(withdrawal.OpenTransfer, 1)
	w.do(t, waits.Request.ID, withdrawal.PaidBy{By: olga, Tx: "0x41", Output: 1, Payee: pays.Payee, AssetOnChain: tokenOnChain,
		AmountRaw: pays.AmountRaw, Reason: "in the log"})
	point(withdrawal.OpenTransfer, 2)
	wrong := lost
	wrong.AmountRaw = "8"
	refusedWith(t, w.service.Say(ctx, withdrawal.Unclaimed{By: olga, Wallet: hot, Tx: "0x41", Transfer: wrong, Reason: "x"}),
		statemachine.ErrInvalid, "another amount than Used told")
	point(withdrawal.OpenTransfer, 2)
	say(withdrawal.Unclaimed{By: olga, Wallet: hot, Tx: "0X41", Transfer: lost, Reason: "x"})
	if open := must(w.service.Unsettled(ctx, chain, 10))(t); len(open) != 0 {
		t.Fatalf("open is %v", open)
	}
	w.started(t, chain)
	w.started(t, chain) // said again

	// The failed one goes on; a later restore makes all open again, and what was requeued and paid before
	// it is imported.
	w.do(t, failed.Request.ID, withdrawal.Requeued{By: olga, Job: failed.Job.ID, NotRefunded: true})
	refusedWith(t, errOf(w.service.Do(ctx, failed.Request.ID, imported(&failed, 3))), statemachine.ErrIllegal,
		"an import beside a job, while nothing is recovering")
	w.restored(t, 2)
	point(withdrawal.OpenBooks, 0)
	if got := w.do(t, failed.Request.ID, imported(&failed, 3)); got.Request.Status != withdrawal.RequestQueued ||
		got.Job.Status != withdrawal.JobConfirming {
		t.Errorf("after its import it is %v, %v", got.Request.Status, got.Job.Status)
	}
	if open := must(w.service.Unsettled(ctx, w.id(), 10))(t); len(open) != 1 || open[0].Point != withdrawal.OpenBooks {
		t.Errorf("a chain without a wallet: %v", open)
	}
}

// unclaimed: while a transfer is unclaimed no request of its payee is ordered or refunded, and a chain on which such a
// request is queued is not started. That ends for a request once an event claims the transfer, says that the transfer
// is another's, or drops it.
func (w *withdrawals) unclaimed(t *testing.T) {
	live(w.Store)
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	olga := by(withdrawal.Operator, time.Time{})
	var now time.Time
	queued, first, second := w.pending(t, chain, now), w.approved(t, chain, now), w.approved(t, chain, now)
	cancelled := w.approved(t, chain, now)
	cancelled = w.do(t, cancelled.Request.ID, withdrawal.Cancelled{By: olga, Reason: "x"})
	w.restored(t, 1)
	deep := withdrawal.Block{Height: 5, Hash: "b5", Canonical: "b5", Head: 100}
	lost := withdrawal.Transfer{Output: 2, Payee: queued.Request.ToAddress, AssetOnChain: tokenOnChain, AmountRaw: queued.Request.AmountRaw}
	for _, ev := range []withdrawal.Event{
		withdrawal.BooksRead{By: olga, Chain: chain, Since: start, Reason: "x"},
		withdrawal.Bound{By: olga, Wallet: hot, Through: 1, Source: withdrawal.SignerList, SignerEnded: true, Reason: "x"},
		withdrawal.AtDepth{By: olga, Wallet: hot, Block: deep, Next: 1},
		withdrawal.Used{By: olga, Wallet: hot, Block: deep, Tx: "0x41", Transfers: []withdrawal.UsedTransfer{{Transfer: lost}}},
		withdrawal.Unclaimed{By: olga, Wallet: hot, Tx: "0x41", Transfer: lost, Reason: "x"},
	} {
		noError(t, w.service.Say(ctx, ev))
	}
	open := must(w.service.Unsettled(ctx, chain, 10))(t)
	if len(open) != 1 || open[0].Point != withdrawal.OpenPayee || open[0].Request != queued.Request.ID {
		t.Fatalf("open is %v, expected the request that is queued", open)
	}
	w.do(t, queued.Request.ID, withdrawal.Held{By: olga, Reason: "x"})
	w.started(t, chain)
	order := func(id uuid.UUID) error {
		return errOf(w.service.Do(ctx, id, withdrawal.Enqueued{By: by(withdrawal.System, now), Job: w.id(), AssetOnChain: tokenOnChain,
			Priority: withdrawal.Normal}))
	}
	refund := func() error {
		return errOf(w.service.Do(ctx, cancelled.Request.ID, withdrawal.Refunded{By: by(withdrawal.System, now), Reference: "r"}))
	}
	refusedWith(t, order(first.Request.ID), withdrawal.ErrUnclaimed, "an order")
	refusedWith(t, refund(), withdrawal.ErrUnclaimed, "a refund")
	noError(t, w.service.Say(ctx, withdrawal.NotThis{By: olga, Wallet: hot, Tx: "0x41", Output: 2, Request: first.Request.ID, Reason: "x"}))
	noError(t, order(first.Request.ID), "an order of which it is known that it is another: ")
	refusedWith(t, order(second.Request.ID), withdrawal.ErrUnclaimed, "another order")
	w.do(t, queued.Request.ID, withdrawal.PaidBy{By: olga, Tx: "0x41", Output: 2, Payee: lost.Payee, AssetOnChain: tokenOnChain,
		AmountRaw: queued.Request.AmountRaw, Reason: "it was that one"})
	noError(t, order(second.Request.ID), "an order, once it is claimed: ")
	noError(t, refund(), "a refund, once it is claimed: ")
}

// explainedOnce: a transaction that a request has on file without an output explains one transfer that pays
// what the request asks for, and no other.
func (w *withdrawals) explainedOnce(t *testing.T) {
	live(w.Store)
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	olga := by(withdrawal.Operator, time.Time{})
	deep := withdrawal.Block{Height: 5, Hash: "b5", Canonical: "b5", Head: 100}
	var now time.Time
	first, other := w.approved(t, chain, now), w.pending(t, chain, now)
	other = w.get(t, other.Request.ID)
	w.restored(t, 1)
	w.do(t, first.Request.ID, withdrawal.Imported{By: by(withdrawal.System, now), Request: first.Request.ID, Job: w.id(),
		AssetOnChain: tokenOnChain, Hash: "0x91", Wallets: []withdrawal.HotWallet{{ID: hot, Chain: chain}}})
	first = w.get(t, first.Request.ID)
	var transfers []withdrawal.UsedTransfer
	for output, of := range []withdrawal.Withdrawal{first, other} {
		transfers = append(transfers, withdrawal.UsedTransfer{Transfer: withdrawal.Transfer{Output: uint32(output), Payee: of.Request.ToAddress,
			AssetOnChain: tokenOnChain, AmountRaw: of.Job.AmountRaw}})
	}
	transfers[1].AmountRaw = first.Job.AmountRaw // a twin: payee, asset and amount of what the first is paid
	for _, ev := range []withdrawal.Event{
		withdrawal.BooksRead{By: olga, Chain: chain, Since: other.Request.CreatedAt, Reason: "x"},
		withdrawal.Bound{By: olga, Wallet: hot, Through: 1, Source: withdrawal.PayerLog, Reason: "x"},
		withdrawal.AtDepth{By: olga, Wallet: hot, Block: deep, Next: 1},
		withdrawal.Used{By: olga, Wallet: hot, Block: deep, Nonce: 0, Tx: "0x91", Transfers: transfers},
	} {
		noError(t, w.service.Say(ctx, ev), ev, ": ")
	}
	opens := func(want withdrawal.OpenPoint, n int) {
		t.Helper()
		open := must(w.service.Unsettled(ctx, chain, 10))(t)
		if len(open) != n || open[0].Point != want || open[0].Number != 1 {
			t.Fatalf("open is %v, expected %v", open, want)
		}
	}
	opens(withdrawal.OpenTransfer, 1)
	noError(t, w.service.Say(ctx, withdrawal.Unclaimed{By: olga, Wallet: hot, Tx: "0x91", Transfer: transfers[1].Transfer, Reason: "x"}))
	opens(withdrawal.OpenPayee, 2) // both are to be paid, and have this payee
	w.do(t, first.Request.ID, withdrawal.Held{By: olga, Reason: "looked for"})
	w.do(t, other.Request.ID, withdrawal.Held{By: olga, Reason: "looked for"})
	w.started(t, chain)
	refusedWith(t, errOf(w.service.Do(ctx, other.Request.ID, withdrawal.Released{By: olga})), withdrawal.ErrUnclaimed, "a release")
	noError(t, w.service.Say(ctx, withdrawal.NotThis{By: olga, Wallet: hot, Tx: "0x91", Output: 1, Request: other.Request.ID, Reason: "x"}))
	if got := w.do(t, other.Request.ID, withdrawal.Released{By: olga}); got.Request.Held {
		t.Error("it is held")
	}
}
