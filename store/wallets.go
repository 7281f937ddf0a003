package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/utxo"
)

// Wallets runs the rules of package utxo on a store: load, plan, save. Each method is one
// transaction. It is safe for concurrent use.
//
// Every command may be repeated: the same event again changes nothing. After [ErrUnknownCommit] a
// caller sends the command again.
type Wallets struct {
	policy utxo.Policy
	update func(context.Context, func(WalletUnit) error) error
	view   func(context.Context, func(WalletUnit) error) error
	within bool // in a transaction of the caller's
}

// NewWallets returns the service for a store of any transaction type that has
// wallets. One without is [ErrNoDomain].
func NewWallets[T WalletUnit](s Store[T], p utxo.Policy) (*Wallets, error) {
	if err := lacks(s, DomainWallets); err != nil {
		return nil, err
	}
	s = present(s)
	return &Wallets{
		policy: p,
		update: func(ctx context.Context, fn func(WalletUnit) error) error {
			return s.Update(ctx, func(tx T) error { return fn(tx) })
		},
		view: func(ctx context.Context, fn func(WalletUnit) error) error {
			return s.View(ctx, func(tx T) error { return fn(tx) })
		},
	}, nil
}

// Within returns the service inside a transaction that the caller has begun
// and will end; its methods then commit nothing themselves.
func (s *Wallets) Within(tx WalletUnit) *Wallets {
	run := joined(tx)
	return &Wallets{policy: s.policy, update: run, view: run, within: true}
}

// Do sends events, in order, in one transaction, and returns what each event changed. The events
// are planned as one batch, see [utxo.Policy.PlanAll]: a hundred blocks cost a database as many
// statements as one. If one event fails, nothing is changed. An event without a time gets the
// store's. A refused transaction of a mempool list is no error: see [utxo.ChangeSet.Refused].
//
// An event of one wallet is planned under the lock of this wallet. If the plan meets unconfirmed
// transactions of other wallets, it is made again under the lock of all wallets. In a host's own
// transaction (see [Wallets.Within]) the second lock is taken in addition to the first, which can
// end in [ErrRetry].
func (s *Wallets) Do(ctx context.Context, events ...utxo.Event) ([]utxo.ChangeSet, error) {
	sets, err := s.do(ctx, scopeOf(events), events)
	if errors.Is(err, errWide) {
		sets, err = s.do(ctx, 0, events)
	}
	return sets, err
}

// errWide ends the transaction of a plan that needs the lock of all wallets.
var errWide = errors.New("the plan concerns other wallets")

// scopeOf is the wallet of all events, or zero for several.
func scopeOf(events []utxo.Event) utxo.WalletID {
	var scope utxo.WalletID
	for i, ev := range events {
		w := utxo.Scope(ev)
		if i > 0 && w != scope {
			return 0
		}
		scope = w
	}
	return scope
}

func (s *Wallets) do(ctx context.Context, scope utxo.WalletID, events []utxo.Event) ([]utxo.ChangeSet, error) {
	var sets []utxo.ChangeSet
	var lines []statemachine.JournalLine
	of := make([]int, 0, len(events)) // the event of each line
	for i, ev := range events {
		if line, person := walletLine(ev); person {
			lines, of = append(lines, line), append(of, i)
		}
	}
	err := s.update(ctx, func(tx WalletUnit) error {
		if err := tx.Wallets().Lock(scope); err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		events, err := switched(tx, events)
		if err != nil {
			return err
		}
		if sets, err = s.plan(tx, scope, events, now); err != nil {
			return keep(tx, now, lines, err)
		}
		changed := slices.DeleteFunc(slices.Clone(sets), func(set utxo.ChangeSet) bool { return set.Empty() })
		if len(changed) > 0 {
			err = tx.Wallets().Save(changed...)
		}
		tried := slices.Clone(lines)
		for i := range tried {
			if sets[of[i]].Empty() {
				tried[i].Outcome = statemachine.JournalSame
			}
		}
		return keep(tx, now, tried, err)
	})
	if err != nil {
		return nil, err
	}
	return sets, nil
}

// switched tells submissions what the switch says of their wallets.
func switched(tx WalletUnit, events []utxo.Event) ([]utxo.Event, error) {
	var of asked
	events = slices.Clone(events)
	for i := range events {
		ev, is := events[i].(utxo.Submitted)
		if !is || ev.Wallet < 1 {
			continue
		}
		state, err := of.state(tx, switches.Wallet(int64(ev.Wallet)))
		if ev.Unsettled = state.Recovering; err != nil {
			return nil, err
		}
		events[i] = ev
	}
	return events, nil
}

// Unsettled returns the first thing that stands open before [Switches.Start] of a wallet that is
// recovering after a restore, see [utxo.Unsettled]; nil where nothing does.
func (s *Wallets) Unsettled(ctx context.Context, w utxo.WalletID) (open *utxo.UnsettledError, err error) {
	return read(ctx, s.view, func(tx WalletUnit) (*utxo.UnsettledError, error) {
		state, err := tx.Switches().Ask(switches.Wallet(int64(w)))
		if err != nil || !state.Recovering {
			return nil, err
		}
		return utxo.Unsettled(WalletSource(tx), w, state.RestoredAt)
	})
}

// walletLine is the line of the journal for an event. Its record is the transaction that
// the event names, else the wallet, with the id 0 for all of them.
func walletLine(ev utxo.Event) (line statemachine.JournalLine, person bool) {
	if id := utxo.Names(ev); id != (utxo.TxID{}) {
		return lineOf(DomainWallets, utxo.TxMachine.Name(), id, ev)
	}
	return lineOf(DomainWallets, "utxo.wallet", utxo.Scope(ev), ev)
}

// plan plans events under the lock of a scope.
func (s *Wallets) plan(tx WalletUnit, scope utxo.WalletID, events []utxo.Event, now time.Time) ([]utxo.ChangeSet, error) {
	sets, err := s.policy.PlanAll(tx.Wallets(), now, events...)
	if scope == 0 || !slices.ContainsFunc(sets, func(set utxo.ChangeSet) bool { return set.Wide }) {
		return sets, err
	}
	if !s.within {
		return nil, errWide
	}
	if err := tx.Wallets().Lock(0); err != nil {
		return nil, err
	}
	return s.policy.PlanAll(tx.Wallets(), now, events...)
}

// Next returns what the host must send now and when to ask again, see
// [utxo.Policy.Next].
func (s *Wallets) Next(ctx context.Context, w utxo.WalletID, last time.Time) (actions []utxo.Action, next time.Time, err error) {
	return paged(ctx, s.view, func(tx WalletUnit) ([]utxo.Action, time.Time, error) {
		now, err := tx.Now()
		if err != nil {
			return nil, now, err
		}
		return s.policy.Next(WalletSource(tx), w, last, now)
	})
}

// Balance sums a wallet's coins; tag nil stands for every owner.
func (s *Wallets) Balance(ctx context.Context, w utxo.WalletID, tag *string, minConfirmations int32) (utxo.Balance, error) {
	return readNow(ctx, s.view, func(tx WalletUnit, now time.Time) (utxo.Balance, error) {
		return tx.WalletQueries().Balance(s.policy, w, tag, minConfirmations, now)
	})
}

// CoinState is a coin with its derived state.
type CoinState struct {
	utxo.Coin
	State utxo.OutputState
}

// Unspent lists the live unspent outputs of a wallet, leased ones too, in order
// of arrival.
func (s *Wallets) Unspent(ctx context.Context, w utxo.WalletID, tag *string) ([]CoinState, error) {
	return s.coins(ctx, func(q WalletQueries) ([]utxo.Coin, error) { return q.Unspent(w, tag) })
}

// Outputs pages through all outputs of a wallet, spent and dead ones too, by
// outpoint.
func (s *Wallets) Outputs(ctx context.Context, w utxo.WalletID, after *wire.OutPoint, limit int) ([]CoinState, error) {
	return s.coins(ctx, func(q WalletQueries) ([]utxo.Coin, error) { return q.Outputs(w, after, limit) })
}

// Watch lists the outputs whose spending would matter, see [utxo.Queries].
func (s *Wallets) Watch(ctx context.Context, w utxo.WalletID) ([]CoinState, error) {
	return s.coins(ctx, func(q WalletQueries) ([]utxo.Coin, error) { return q.Watch(w) })
}

func (s *Wallets) coins(ctx context.Context, find func(WalletQueries) ([]utxo.Coin, error)) ([]CoinState, error) {
	return readNow(ctx, s.view, func(tx WalletUnit, now time.Time) ([]CoinState, error) {
		tip, ok, err := tx.Wallets().Tip()
		if err != nil {
			return nil, err
		}
		if !ok {
			tip.Height = -1
		}
		coins, err := find(tx.WalletQueries())
		states := make([]CoinState, len(coins))
		for i, c := range coins {
			states[i] = CoinState{c, s.policy.State(c, tip.Height, now)}
		}
		return states, err
	})
}

// Tip returns the highest block; ok is false for an empty chain.
func (s *Wallets) Tip(ctx context.Context) (tip utxo.Block, ok bool, err error) {
	err = s.view(ctx, func(tx WalletUnit) (err error) {
		tip, ok, err = tx.Wallets().Tip()
		return err
	})
	return tip, ok, err
}

// Blocks returns the stored blocks of a range of at most [MaxPage] heights, both ends included. A
// host uses it to find where its node's chain leaves the stored one.
func (s *Wallets) Blocks(ctx context.Context, from, to int32) ([]utxo.Block, error) {
	if int64(to)-int64(from) >= MaxPage {
		return nil, fmt.Errorf("%w: the heights from %d to %d are more than %d", statemachine.ErrInvalid, from, to, MaxPage)
	}
	return read(ctx, s.view, func(tx WalletUnit) ([]utxo.Block, error) { return tx.Wallets().Blocks(from, to) })
}

// Wallet returns one wallet.
func (s *Wallets) Wallet(ctx context.Context, id utxo.WalletID) (utxo.Wallet, error) {
	return read(ctx, s.view, func(tx WalletUnit) (w utxo.Wallet, err error) {
		ws, err := tx.Wallets().Wallets(id)
		if err == nil {
			w = ws[0]
		}
		return w, err
	})
}

// History pages through a wallet's transactions, newest first; after is the
// [utxo.Tx.Key] of the last one seen.
func (s *Wallets) History(ctx context.Context, w utxo.WalletID, after *utxo.HistoryKey, limit int) ([]*utxo.Tx, error) {
	return read(ctx, s.view, func(tx WalletUnit) ([]*utxo.Tx, error) { return tx.WalletQueries().History(w, after, limit) })
}

// Detail returns one transaction with the coins that it spends and its
// replacements both ways.
func (s *Wallets) Detail(ctx context.Context, id utxo.TxID) (utxo.Detail, error) {
	return read(ctx, s.view, func(tx WalletUnit) (utxo.Detail, error) { return utxo.ReadDetail(WalletSource(tx), id) })
}

// ProvablyDead reports whether spending the inputs of a dead transaction again can no longer pay
// twice, see [utxo.ProvablyDead].
func (s *Wallets) ProvablyDead(ctx context.Context, id utxo.TxID, depth int32) (bool, error) {
	return read(ctx, s.view, func(tx WalletUnit) (bool, error) { return utxo.ProvablyDead(tx.Wallets(), id, depth) })
}

// Trail returns the audit trail of a transaction, oldest first, after replaying
// it through the table: a trail that does not end in the stored state is
// [statemachine.ErrCorrupt].
func (s *Wallets) Trail(ctx context.Context, id utxo.TxID) ([]statemachine.Transition[utxo.TxID], error) {
	return read(ctx, s.view, func(tx WalletUnit) ([]statemachine.Transition[utxo.TxID], error) {
		txs, err := tx.Wallets().Txs(id)
		if err != nil {
			return nil, err
		}
		trail, err := tx.WalletQueries().Transitions(id)
		if err != nil || len(txs) == 0 {
			return trail, err
		}
		return trail, utxo.Replay(*txs[0], trail)
	})
}

// Verify is [Wallets.Trail] for its check alone.
func (s *Wallets) Verify(ctx context.Context, id utxo.TxID) error {
	_, err := s.Trail(ctx, id)
	return err
}

// Stats counts the unfinished work of a wallet at the store's time, see [utxo.ReadStats];
// [utxo.Alerts] compares the counts with limits.
func (s *Wallets) Stats(ctx context.Context, w utxo.WalletID) (utxo.Stats, error) {
	return readNow(ctx, s.view, func(tx WalletUnit, now time.Time) (utxo.Stats, error) {
		return utxo.ReadStats(WalletSource(tx), w, now)
	})
}

// Alerts counts and compares with limits, see [utxo.Alerts].
func (s *Wallets) Alerts(ctx context.Context, w utxo.WalletID, limits utxo.Thresholds) ([]statemachine.Alert, error) {
	stats, err := s.Stats(ctx, w)
	if err != nil {
		return nil, err
	}
	return utxo.Alerts(stats, limits), nil
}

// Audit checks every invariant of the store and recomputes the wallet's
// balance, see [utxo.Policy.Audit]. It reads the whole history.
func (s *Wallets) Audit(ctx context.Context, w utxo.WalletID) error {
	return s.view(ctx, func(tx WalletUnit) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		return s.policy.Audit(WalletSource(tx), w, now)
	})
}

// Follow returns up to limit committed transitions of transactions after a cursor, see [Feed]; an
// empty cursor is the beginning. Rows that a wallet has only as context are not in the feed.
//
// The feed says when to look, not what is true now: before a deposit is credited, read the output
// and the tip in one [Wallets.View]. See the example; on a database package follow has Deposits for it.
func (s *Wallets) Follow(ctx context.Context, after Cursor, limit int) (page []statemachine.Transition[utxo.TxID], next Cursor, err error) {
	return paged(ctx, s.view, func(tx WalletUnit) ([]statemachine.Transition[utxo.TxID], Cursor, error) {
		return tx.Wallets().Follow(after, limit)
	})
}

// Head returns the cursor after what was committed so far, see [Feed].
func (s *Wallets) Head(ctx context.Context) (Cursor, error) {
	return read(ctx, s.view, func(tx WalletUnit) (Cursor, error) { return tx.Wallets().Head() })
}

// View runs fn on one consistent state: all reads through the service that fn gets see the same
// moment.
func (s *Wallets) View(ctx context.Context, fn func(*Wallets) error) error {
	return s.view(ctx, func(tx WalletUnit) error { return fn(s.Within(tx)) })
}
