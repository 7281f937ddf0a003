package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/withdrawal"
)

// A Bitcoin wallet pays a withdrawal. docs/bitcoin.md says what becomes of it when the
// transaction is replaced, dead or reorganised.
func ExampleWithdrawals_bitcoin() {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	db := memory.New(memory.Options{})
	wallets, err := store.NewWallets(db, utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1}, bytes.Equal(script, ours)
	}})
	must(err)
	policy := withdrawal.DefaultPolicy()
	policy.Chain = withdrawal.Chain{Confirmations: 1} // no nonces; a depth of 6 is usual
	withdrawals, err := store.NewWithdrawals(db, policy)
	must(err)
	_, err = wallets.Do(ctx, utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.Connected{Block: block1, Txs: []*wire.MsgTx{deposit}})
	must(err)

	chain, asset, id := uuid.New(), uuid.New(), uuid.New()
	must(withdrawals.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System},
		withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}))
	system := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	payer := withdrawal.By{Actor: "payer-1", Role: withdrawal.WithdrawalWorker}
	w, err := withdrawals.Do(ctx, id,
		withdrawal.Submitted{By: system, Request: id, User: uuid.New(), Asset: asset, Chain: chain, ToAddress: hex.EncodeToString(theirs), Amount: "60000"},
		withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
		withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset, Priority: withdrawal.Normal},
		withdrawal.Claimed{By: payer}) // in a service Payments claims
	must(err)

	// The lock is the same until what was signed is proven dead: an execution after a crash
	// holds the coins that it chooses and no others.
	lock := utxo.LockID(sha256.Sum256(fmt.Appendf(nil, "%s/%d", w.Job.ID, w.Job.TxsDead)))
	payment, err := coinselect.Pay(wire.NewTxOut(60_000, theirs))
	must(err)
	coins, err := wallets.SelectAndLease(ctx, store.Spend{Wallet: 1, Lock: lock, Duration: policy.Lease,
		Request: coinselect.Request{Payment: payment, ChangeScript: ours, FeeRate: 2_000}})
	must(err)
	tx := build(coins) // and sign it
	hash, raw := tx.TxHash(), new(bytes.Buffer)
	must(tx.Serialize(raw))

	// One commit for both records, before anybody sees the transaction.
	must(db.Update(ctx, func(t store.Unit) error {
		_, err := withdrawals.Within(t).Do(ctx, id, withdrawal.Prepared{By: payer, Fence: w.Job.Lease.Fence, Hash: hash.String(), Raw: raw.Bytes(),
			Input: coins.Inputs[0].OutPoint.String()})
		if err == nil {
			_, err = wallets.Within(t).Do(ctx, utxo.Submitted{Wallet: 1, Tx: tx, Lock: lock})
		}
		return err
	}))
	// Here the node takes it.
	must(db.Update(ctx, func(t store.Unit) error {
		_, err := withdrawals.Within(t).Do(ctx, id, withdrawal.Broadcast{By: payer, Fence: w.Job.Lease.Fence, Hash: hash.String()})
		if err == nil {
			_, err = wallets.Within(t).Do(ctx, utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: hash}})
		}
		return err
	}))

	// The wallet follows the chain, so what it has stored is the evidence for the withdrawal.
	_, err = wallets.Do(ctx, utxo.Connected{Block: block2, Txs: []*wire.MsgTx{tx}})
	must(err)
	var seen withdrawal.Block
	must(wallets.View(ctx, func(at *store.Wallets) error { // of one moment
		d, err := at.Detail(ctx, utxo.TxID{Wallet: 1, Hash: hash})
		if err != nil || !d.Tx.Confirmed() {
			return err
		}
		blocks, err := at.Blocks(ctx, d.Tx.Height, d.Tx.Height)
		if err != nil {
			return err
		}
		tip, _, err := at.Tip(ctx)
		in := blocks[0].Hash.String()
		seen = withdrawal.Block{Height: uint64(d.Tx.Height), Hash: in, Canonical: in, Head: uint64(tip.Height)}
		return err
	}))
	w, err = withdrawals.Do(ctx, id, withdrawal.Receipt{By: withdrawal.By{Actor: "checker-1", Role: withdrawal.ConfirmationWorker}, Block: seen, Tx: hash.String()})
	must(err)
	balance, err := wallets.Balance(ctx, 1, nil, 1)
	must(err)
	fmt.Println(w.Request.Status, balance.Confirmed)
	// Output: completed 39718
}
