package memory

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// takeNonce gives a nonce to an owner, which may have it already.
func (w withdrawals) takeNonce(wallet uuid.UUID, nonce uint64, by nonceOwner) error {
	by.walletNonce = walletNonce{wallet, nonce}
	switch owner := w.nonces.at[by.walletNonce]; {
	case owner != nil && *owner == by:
		return nil
	case owner != nil && owner.filler != "":
		return &statemachine.Refusal{Err: withdrawal.ErrNonceUsed, Machine: "hot wallet", ID: wallet.String(), Event: "save",
			Reason: fmt.Sprintf("nonce %d is that of filler %s", nonce, owner.filler)}
	case owner != nil:
		return &withdrawal.TakenError{Err: withdrawal.ErrNonceTaken, ID: owner.job}
	}
	set(w.tx, w.nextNonce, wallet, max(w.nextNonce[wallet], nonce+1))
	return w.nonces.put(w.tx, &by)
}

// PutFiller implements [store.HotWalletRecords].
func (w hotWallets) PutFiller(f withdrawal.Filler) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	if w.wallets.at[f.Wallet] == nil {
		return w.tx.fail(&statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "hot wallet", ID: f.Wallet.String(), Event: "filler"})
	}
	known := w.nonces.at[walletNonce{f.Wallet, f.Nonce}] != nil
	if err := w.takeNonce(f.Wallet, f.Nonce, nonceOwner{filler: statemachine.HashForm(f.Hash)}); err != nil {
		return w.tx.fail(err)
	}
	if of := w.payments[chainHash{f.Chain, statemachine.HashForm(f.Hash)}]; !known && len(of) > 0 && of[0] == (payment{}) {
		return w.tx.fail(f.Twice())
	}
	return w.pay(f.Chain, f.Hash, payment{})
}

// NoncesFrom implements [store.HotWalletRecords].
func (w hotWallets) NoncesFrom(wallet uuid.UUID, from uint64) (all []withdrawal.OwnedNonce, err error) {
	w.nonces.scan(idKey(wallet), idKey(wallet)+numberKey(from), func(_ string, o *nonceOwner) bool {
		n := withdrawal.OwnedNonce{Nonce: o.nonce}
		if o.filler == "" {
			n.Request = w.jobs.at[o.job].Request
		}
		all = append(all, n)
		return true
	})
	return all, nil
}

// pay gives a transaction, or one output of it, to a request; a filler is no
// request's.
func (w withdrawals) pay(chain uuid.UUID, hash string, p payment) error {
	key := chainHash{chain, statemachine.HashForm(hash)}
	for _, o := range w.payments[key] {
		if o.request != p.request && (!o.byOutput || !p.byOutput || o.output == p.output) {
			return w.tx.fail(&withdrawal.TakenError{Err: withdrawal.ErrPaymentTaken, ID: o.request})
		}
	}
	if !p.byOutput && len(w.payments[key]) > 0 { // the request has this transaction already, whole or by an output
		return nil
	}
	set(w.tx, w.payments, key, append(w.payments[key][:len(w.payments[key]):len(w.payments[key])], p))
	return nil
}

// PaidRequest implements [store.WithdrawalRecords].
func (w withdrawals) PaidRequest(request, chain uuid.UUID, hash string, byOutput bool, output uint32) (uuid.NullUUID, error) {
	for _, o := range w.payments[chainHash{chain, statemachine.HashForm(hash)}] {
		if o.request != request && (!o.byOutput || !byOutput || o.output == output) {
			return uuid.NullUUID{UUID: o.request, Valid: true}, nil
		}
	}
	return uuid.NullUUID{}, nil
}

// Say implements [store.HotWalletRecords].
func (w hotWallets) Say(statements ...withdrawal.Statement) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	for i := range statements {
		if id := statements[i].Wallet; id != uuid.Nil && w.wallets.at[id] == nil {
			return w.tx.fail(&statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "hot wallet", ID: id.String(), Event: "say"})
		}
	}
	for i := range statements {
		chain := statements[i].Chain
		set(w.tx, w.said, chain, append(w.said[chain], statements[i]))
	}
	return nil
}

// Statements implements [store.HotWalletRecords].
func (w hotWallets) Statements(chain uuid.UUID, generation int64) (all []withdrawal.Statement, err error) {
	for _, s := range w.said[chain] {
		if s.Generation >= generation {
			all = append(all, s)
		}
	}
	return all, nil
}

// Unclaimed implements [store.HotWalletRecords].
func (w hotWallets) Unclaimed(chain uuid.UUID) (all []withdrawal.Statement, err error) {
	for _, s := range w.said[chain] {
		if s.OfUnclaimed() {
			all = append(all, s)
		}
	}
	return all, nil
}
