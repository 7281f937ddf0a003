package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Say stores a statement of an operator about the hot wallets of a database that was put back: one of
// [withdrawal.StatementEvents]. It is in the journal. A later statement of the same thing replaces the earlier one, see
// [withdrawal.Unsettled].
func (s *Withdrawals) Say(ctx context.Context, ev withdrawal.Event) error {
	if statemachine.NoEvent(ev) != "" {
		_, err := s.policy.Statements(ev, withdrawal.Recovery{}, time.Time{})
		return err
	}
	wallet := withdrawal.About(ev)
	return call(ctx, s.update, ev, DomainWithdrawals, "hot wallet", wallet.String(), statemachine.EventName(ev),
		func(tx WithdrawalUnit) error {
			var r withdrawal.Recovery
			if books, is := ev.(withdrawal.BooksRead); is {
				r.Chain = books.Chain
			}
			found, err := tx.HotWallets().Get(wallet)
			if err != nil {
				return err
			}
			if len(found) == 1 {
				r.Wallet, r.Chain = found[0], found[0].Chain
			}
			if r.Chain != uuid.Nil {
				if r.Said, err = tx.HotWallets().Statements(r.Chain, 0); err != nil { // keeps a Start out, which reads them
					return err
				}
				state, err := tx.Switches().Ask(switches.Chain(r.Chain))
				if err != nil {
					return err
				}
				r.Recovering, r.Generation, r.RestoredAt = state.Recovering && !state.Moved, state.Generation, state.RestoredAt
			}
			if _, is := ev.(withdrawal.Bound); is {
				err := openOf(tx, r.Chain, func(w *withdrawal.Withdrawal) {
					r.Dispatches = r.Dispatches || w.Job.Wallet == wallet && (w.Job.Dispatches > 0 || !w.Job.DispatchedAt.IsZero())
				})
				if err != nil {
					return err
				}
			}
			if not, is := ev.(withdrawal.NotThis); is {
				of, err := tx.Withdrawals().Get(not.Request)
				if err != nil {
					return err
				}
				r.Stored = of[0].Request.Status != 0 && of[0].Request.Chain == r.Chain
			}
			now, err := tx.Now()
			if err != nil {
				return err
			}
			said, err := s.policy.Statements(ev, r, now)
			if err == nil && r.Stops(said) {
				err = tx.HotWallets().Put(r.Wallet.Off())
			}
			if err != nil {
				return err
			}
			return tx.HotWallets().Say(said...)
		})
}

// Unsettled returns up to limit (1 to [MaxPage]) points that stand open before a chain may be
// started after a restore, see [withdrawal.Unsettled]; of a chain that is not recovering, before its hot
// wallets that are off may be switched on, see [withdrawal.Unexplained].
func (s *Withdrawals) Unsettled(ctx context.Context, chain uuid.UUID, limit int) ([]withdrawal.Open, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	return read(ctx, s.view, func(tx WithdrawalUnit) ([]withdrawal.Open, error) {
		state, err := tx.Switches().Ask(switches.Chain(chain))
		if err != nil {
			return nil, err
		}
		if !state.Recovering {
			return unexplained(tx, chain, state.Generation, limit)
		}
		known, err := copyOf(tx, chain, state.Generation)
		if err != nil {
			return nil, err
		}
		return withdrawal.Unsettled(known, limit)
	})
}

// unexplained returns what stands open of the hot wallets of a chain that are off, and the bound of each wallet that gets
// no job without it. A wallet of which all is explained has no open point: the alert names it until an operator gives it
// a status.
func unexplained(tx WithdrawalUnit, chain uuid.UUID, generation int64, limit int) (all []withdrawal.Open, err error) {
	known, err := knownOf(tx, chain, 0)
	if err != nil || len(known.Statements) == 0 {
		return nil, err
	}
	wallets, err := tx.HotWallets().OfChain(chain)
	for i := 0; i < len(wallets) && err == nil && len(all) < limit; i++ {
		var open []withdrawal.Open
		switch w := &wallets[i]; {
		case !w.Pays():
			open, err = withdrawal.Unexplained(known, w.ID, limit-len(all))
		case w.Unbound(known.Statements, generation):
			open = []withdrawal.Open{{Chain: chain, Wallet: w.ID, Point: withdrawal.OpenBound}}
		}
		all = append(all, open...)
	}
	return all, err
}

// unsettled returns the first condition that is missing before a scope may be started after a restore, nil if there is
// none. Relays and wallets have such conditions, chains in a store that has withdrawals, and directions in a store that
// has swaps.
func unsettled(tx SwitchUnit, scope switches.Scope, state switches.State) (open, err error) {
	if open, err := unsettledSwaps(tx, scope); state.Recovering && (open != nil || err != nil) {
		return open, err
	}
	if unit, has := tx.(RelayUnit); has && scope == switches.Relays && state.Recovering {
		now, err := tx.Now()
		if err != nil {
			return nil, err
		}
		stats, err := unit.Relays().Stats(now, 0)
		if errors.Is(err, ErrNoDomain) {
			return nil, nil
		}
		return relaysync.Unsettled(stats), err
	}
	if id, is := scope.OfWallet(); is && state.Recovering {
		return unsettledWallet(tx, utxo.WalletID(id), state.RestoredAt)
	}
	chain, is := scope.OfChain()
	unit, has := tx.(WithdrawalUnit)
	if !is || !has || !state.Recovering {
		return nil, nil
	}
	known, err := copyOf(unit, chain, state.Generation)
	if errors.Is(err, ErrNoDomain) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := withdrawal.Unsettled(known, 1)
	if err == nil && len(all) > 0 {
		open = &withdrawal.UnsettledError{Open: all[0]}
	}
	return open, err
}

// unsettledWallet is the first point that stands open of a wallet of package utxo.
func unsettledWallet(tx SwitchUnit, w utxo.WalletID, restored time.Time) (open, err error) {
	unit, has := tx.(WalletUnit)
	if !has {
		return nil, nil
	}
	point, err := utxo.Unsettled(WalletSource(unit), w, restored)
	if errors.Is(err, ErrNoDomain) {
		return nil, nil
	}
	if point == nil {
		return nil, err
	}
	return point, err
}

// copyOf reads what a store knows of a chain.
func copyOf(tx WithdrawalUnit, chain uuid.UUID, generation int64) (c withdrawal.Copy, err error) {
	if c, err = knownOf(tx, chain, generation); err != nil {
		return c, err
	}
	wallets, err := tx.HotWallets().OfChain(chain)
	if err != nil {
		return c, err
	}
	inputs := map[uuid.UUID][]string{}
	err = openOf(tx, chain, func(w *withdrawal.Withdrawal) { inputs[w.Job.Wallet] = append(inputs[w.Job.Wallet], w.Inputs()...) })
	if err != nil {
		return c, err
	}
	for _, w := range wallets {
		of := withdrawal.CopyWallet{HotWallet: w, Inputs: inputs[w.ID]}
		of.KnownDeep, of.First, err = knownDeep(tx, w, c.MadeAt())
		if err == nil && generation > 1 && of.KnownDeep > 0 {
			of.KnownDeep, err = firstGap(tx, w, of.KnownDeep)
		}
		if err != nil {
			return c, err
		}
		c.Wallets = append(c.Wallets, of)
	}
	return c, nil
}

// openOf reads the withdrawals of a chain that have not ended.
func openOf(tx WithdrawalUnit, chain uuid.UUID, each func(*withdrawal.Withdrawal)) error {
	q := ListWithdrawals{Filter: withdrawal.Filter{Chain: chain, Kind: withdrawal.ListOpen}, Limit: MaxPage}
	for {
		page, err := tx.Withdrawals().List(q)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			each(&page[i])
		}
		q.After = &page[len(page)-1].Request
	}
}

// knownOf reads what was said about a chain in a generation and in later ones, and looks up what is on file.
func knownOf(tx WithdrawalUnit, chain uuid.UUID, generation int64) (c withdrawal.Copy, err error) {
	records, hot := tx.Withdrawals(), tx.HotWallets()
	c.Chain = chain
	if c.Statements, err = hot.Statements(chain, generation); err != nil {
		return c, err
	}
	c.Holds = func(wallet uuid.UUID, nonce uint64) (filler, job bool, err error) {
		owned, err := hot.NoncesFrom(wallet, nonce)
		if err != nil || len(owned) == 0 || owned[0].Nonce != nonce {
			return false, false, err
		}
		return owned[0].Request == uuid.Nil, owned[0].Request != uuid.Nil, nil
	}
	c.OnFile = func(hash string, t withdrawal.Transfer) (uuid.UUID, bool, error) {
		return onFile(records, chain, hash, t)
	}
	c.MayBe = func(payee string) (all []uuid.UUID, err error) {
		err = openOf(tx, chain, func(w *withdrawal.Withdrawal) {
			if r := &w.Request; withdrawal.MayBePaid(r) && withdrawal.SamePayee(r.ToAddress, payee) {
				all = append(all, r.ID)
			}
		})
		return all, err
	}
	return c, nil
}

// onFile returns the request that has a transfer of a transaction on file; a filler is none.
func onFile(records WithdrawalRecords, chain uuid.UUID, hash string, t withdrawal.Transfer) (owner uuid.UUID, whole bool, err error) {
	found, err := records.PaidRequest(uuid.Nil, chain, hash, true, t.Output)
	if err != nil || found.UUID == uuid.Nil {
		return uuid.Nil, false, err
	}
	of, err := records.Get(found.UUID)
	if err != nil {
		return uuid.Nil, false, err
	}
	ok, whole := of[0].Explains(hash, t)
	if !ok {
		return uuid.Nil, false, nil
	}
	return found.UUID, whole, nil
}

// knownDeep looks for the highest nonce of a wallet that the copy, which was made at a moment,
// knows as used at depth, from the highest on file down. first is the lowest on file if there is none.
func knownDeep(tx WithdrawalUnit, w withdrawal.HotWallet, madeAt time.Time) (deep, first uint64, err error) {
	above := w.NextNonce // what is at or above it was looked at
	for back := uint64(MaxPage); above > 0; back *= 2 {
		from := uint64(0)
		if above > back {
			from = above - back
		}
		owned, err := tx.HotWallets().NoncesFrom(w.ID, from)
		if err != nil {
			return 0, 0, err
		}
		for i := len(owned) - 1; i >= 0; i-- {
			o := owned[i]
			if first = o.Nonce; o.Nonce >= above || o.Request == uuid.Nil {
				continue
			}
			of, err := tx.Withdrawals().Get(o.Request)
			if err != nil {
				return 0, 0, err
			}
			if of[0].Deep(w.ID, o.Nonce, madeAt) {
				return o.Nonce + 1, first, nil
			}
		}
		above = from
	}
	return 0, first, nil
}

// firstGap returns the lowest nonce of a wallet, above the lowest on file and below deep, that is neither on file nor told as
// [withdrawal.Used], and deep if there is none. What an earlier restore has forgotten is such a gap if the database was
// put back again before all was told, and a request above it was completed meanwhile.
func firstGap(tx WithdrawalUnit, w withdrawal.HotWallet, deep uint64) (uint64, error) {
	said, err := tx.HotWallets().Statements(w.Chain, 0)
	if err != nil {
		return 0, err
	}
	told := map[uint64]bool{}
	for i := range said {
		if s := &said[i]; s.Wallet == w.ID && s.Says == withdrawal.SaidUsed {
			told[s.Number] = true
		}
	}
	owned, err := tx.HotWallets().NoncesFrom(w.ID, 0)
	for i := 1; i < len(owned) && err == nil; i++ {
		for n := owned[i-1].Nonce + 1; n < min(owned[i].Nonce, deep); n++ {
			if !told[n] {
				return n, nil
			}
		}
	}
	return deep, err
}

// unclaimed tells the rule of a transfer that may have paid a request.
func (b *candidates) unclaimed(w *withdrawal.Withdrawal) error {
	all, known := b.claims[w.Request.Chain]
	if !known {
		var err error
		if all, err = b.tx.HotWallets().Unclaimed(w.Request.Chain); err != nil {
			return err
		}
		if b.claims == nil {
			b.claims = map[uuid.UUID][]withdrawal.Statement{}
		}
		b.claims[w.Request.Chain] = all
	}
	for _, s := range withdrawal.UnclaimedFor(all, &w.Request) {
		claimed, whole, err := onFile(b.tx.Withdrawals(), w.Request.Chain, s.Hash, s.Transfer())
		if err != nil {
			return err
		}
		if claimed == uuid.Nil || whole { // whole: it may be another transfer of the transaction that is its own
			w.Unclaimed = s.Outpoint()
			return nil
		}
	}
	return nil
}
