package downstream

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// wallets implements [store.HotWalletRecords].
type wallets struct {
	store.UnimplementedHotWallets
	*Unit
}

// wallets returns the wallets of a chain, by id, each with the nonce behind the highest one that is taken.
func (u *Unit) wallets(chain string, args ...any) ([]withdrawal.HotWallet, error) {
	all, err := read(u, func(h *withdrawal.HotWallet) []any { return []any{details{h}, &h.NextNonce} },
		`SELECT details, coalesce((SELECT max(nonce) + 1 FROM payout_attempts WHERE wallet = key AND nonce IS NOT NULL), 0)
		FROM payout_setup WHERE kind = 'wallet' AND network = `+chain+" ORDER BY key", args...)
	outbound := withdrawal.OutboundOf(all)
	for i := range all {
		all[i].Outbound = outbound
	}
	return all, err
}

func (w wallets) OfChain(chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	return w.Unit.wallets("?", chain)
}

func (w wallets) Get(ids ...uuid.UUID) (all []withdrawal.HotWallet, err error) {
	for _, id := range ids {
		of, err := w.Unit.wallets("(SELECT network FROM payout_setup WHERE kind = 'wallet' AND key = ?)", id)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(of, func(h withdrawal.HotWallet) bool { return h.ID != id })...)
	}
	return all, nil
}

func (w wallets) Put(wallet withdrawal.HotWallet) error {
	return w.write(func() error {
		is, known, err := setting[withdrawal.HotWallet](w.Unit, "wallet", wallet.ID.String())
		if err != nil {
			return err
		}
		if known {
			is.Role, is.Status = wallet.Role, wallet.Status
			wallet = is
		}
		if wallet.NextNonce, wallet.Outbound = 0, uuid.Nil; wallet.BalanceReserved == "" {
			wallet.BalanceReserved = "0"
		}
		return w.setUp("wallet", wallet.ID.String(), wallet.Chain, wallet)
	})
}

// must is an error for a wallet that does not exist.
func (w wallets) must(id uuid.UUID, event string) (withdrawal.HotWallet, error) {
	wallet, known, err := setting[withdrawal.HotWallet](w.Unit, "wallet", id.String())
	if err == nil && !known {
		err = refusal(statemachine.ErrNotFound, "hot wallet", id, event, "")
	}
	return wallet, err
}

func (w wallets) reserve(r withdrawal.Reservation) error {
	wallet, err := w.must(r.Wallet, "reserve")
	if err != nil {
		return err
	}
	wallet.Reserve(r)
	return w.setUp("wallet", wallet.ID.String(), wallet.Chain, wallet)
}

// taken is who has a nonce: a payout and its order, or a filler of a hash.
type taken struct {
	payout, job uuid.NullUUID
	hash        string
}

func (u *Unit) owner(wallet uuid.UUID, nonce uint64) (taken, bool, error) {
	return first(read(u, func(t *taken) []any { return []any{&t.payout, &t.job, &t.hash} },
		"SELECT payout, job, hash FROM payout_attempts WHERE wallet = ? AND nonce = ?", wallet, int64(nonce)))
}

// free refuses a nonce that another one has, and says whether nobody has it.
func (u *Unit) free(wallet uuid.UUID, nonce uint64, job uuid.UUID, filler string) (bool, error) {
	switch by, ok, err := u.owner(wallet, nonce); {
	case err != nil || !ok:
		return true, err
	case by.payout.Valid && by.job.UUID != job:
		return false, &withdrawal.TakenError{Err: withdrawal.ErrNonceTaken, ID: by.job.UUID}
	case !by.payout.Valid && by.hash != filler:
		return false, refusal(withdrawal.ErrNonceUsed, "hot wallet", wallet, "save", fmt.Sprintf("nonce %d is that of filler %s", nonce, by.hash))
	}
	return false, nil
}

func (w wallets) NoncesFrom(wallet uuid.UUID, from uint64) ([]withdrawal.OwnedNonce, error) {
	if from > withdrawal.MaxNonce {
		return nil, nil
	}
	type row struct {
		nonce  uint64
		payout uuid.NullUUID
	}
	rows, err := read(w.Unit, func(r *row) []any { return []any{&r.nonce, &r.payout} },
		"SELECT nonce, payout FROM payout_attempts WHERE wallet = ? AND nonce >= ? ORDER BY nonce", wallet, int64(from))
	var all []withdrawal.OwnedNonce
	for _, r := range rows {
		all = append(all, withdrawal.OwnedNonce{Nonce: r.nonce, Request: r.payout.UUID})
	}
	return all, err
}

func (w wallets) PutFiller(f withdrawal.Filler) error {
	return w.write(func() error {
		if _, err := w.must(f.Wallet, "filler"); err != nil {
			return err
		}
		hash := statemachine.HashForm(f.Hash)
		free, err := w.free(f.Wallet, f.Nonce, uuid.Nil, hash)
		if err != nil || !free {
			return err
		}
		switch by, err := w.paid(uuid.NullUUID{}, f.Chain, f.Hash, nil); {
		case err != nil:
			return err
		case by.Valid:
			return &withdrawal.TakenError{Err: withdrawal.ErrPaymentTaken, ID: by.UUID}
		}
		_, other, err := first(column[int64](w.Unit,
			"SELECT n FROM payout_attempts WHERE kind = 'filler' AND hash = ? AND network = ?", hash, f.Chain))
		if err == nil && other {
			err = f.Twice()
		}
		if err != nil {
			return err
		}
		_, err = w.exec("INSERT INTO payout_attempts (kind, network, wallet, nonce, hash, details) VALUES ('filler', ?, ?, ?, ?, ?)",
			f.Chain, f.Wallet, int64(f.Nonce), hash, details{f})
		return err
	})
}

// paid returns another payout than the given one that has a transaction, or its output; a filler has the zero id. output is
// nil for the whole transaction, which pays one payout alone.
func (u *Unit) paid(payout uuid.NullUUID, chain uuid.UUID, hash string, output *uint32) (uuid.NullUUID, error) {
	by, ok, err := first(column[uuid.NullUUID](u, `SELECT payout FROM payout_attempts WHERE hash = ? AND network = ? AND payout IS NOT ?
		AND (output IS NULL OR ?4 IS NULL OR output = ?4) ORDER BY n LIMIT 1`, statemachine.HashForm(hash), chain, payout, output))
	return uuid.NullUUID{UUID: by.UUID, Valid: ok}, err
}

func outputOf(byOutput bool, output uint32) *uint32 {
	if !byOutput {
		return nil
	}
	return &output
}

func (w wallets) Say(statements ...withdrawal.Statement) error {
	return w.write(func() error {
		for _, s := range statements {
			if s.Wallet != uuid.Nil {
				if _, err := w.must(s.Wallet, "say"); err != nil {
					return err
				}
			}
			if err := w.log("statement", s.Chain.String(), "", s); err != nil {
				return err
			}
		}
		return nil
	})
}

// told returns the statements about a chain for which a rule holds.
func (u *Unit) told(chain uuid.UUID, which func(*withdrawal.Statement) bool) (some []withdrawal.Statement, err error) {
	all, err := list[withdrawal.Statement](u,
		"SELECT details FROM payout_log WHERE kind = 'statement' AND subject = ? ORDER BY n", chain.String())
	for i := range all {
		if which(&all[i]) {
			some = append(some, all[i])
		}
	}
	return some, err
}

func (w wallets) Statements(chain uuid.UUID, generation int64) ([]withdrawal.Statement, error) {
	return w.Unit.told(chain, func(s *withdrawal.Statement) bool { return s.Generation >= generation })
}

func (w wallets) Unclaimed(chain uuid.UUID) ([]withdrawal.Statement, error) {
	return w.Unit.told(chain, (*withdrawal.Statement).OfUnclaimed)
}
