package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// node is what this program asks of an EVM node; *ethclient.Client is an implementation. It must be one node, not a
// pool of nodes behind one address: the answers of two nodes do not belong together.
type node interface {
	ethereum.ChainReader
	ethereum.ChainStateReader
	ethereum.GasPricer1559
	ethereum.TransactionReader
	ethereum.TransactionSender
}

const (
	// gasLimit is enough for a plain payment, 21000, and for a contract that
	// does little when it is paid. An estimate would be no promise: the
	// contract may have changed when the transaction is mined.
	gasLimit = 60_000
	// scanned is how many blocks are searched for what took a nonce.
	scanned = 300
)

// maxFee is the most that is ever paid for a unit of gas.
var maxFee = big.NewInt(500 * params.GWei)

// chain says in events of package withdrawal what an EVM chain says. It keeps
// no state and decides nothing about money: what may be sent when, and which
// depth is final, is for the library to say.
type chain struct {
	node   node
	signer types.Signer // of the chain's id
	keys   keyring
	// patience is how long a transaction may wait in the mempool before the
	// withdrawal worker is asked to have another look at its price.
	patience time.Duration
	// free returns the nonce to use: the lowest that nothing on file has, at or
	// above the node's next.
	free func(ctx context.Context, wallet uuid.UUID, next uint64) (uint64, error)
}

// payment signs what a claimed job owes. It returns Prepared, or why there is
// nothing to prepare. Nothing leaves the house.
func (c *chain) payment(ctx context.Context, by withdrawal.By, w *withdrawal.Withdrawal) withdrawal.Event {
	failed := func(kind withdrawal.Failure, err error) withdrawal.Event {
		return withdrawal.AttemptFailed{By: by, Fence: w.Job.Lease.Fence, Failure: kind, Error: err.Error()}
	}
	key, ok := c.keys[w.Job.Wallet]
	if !ok {
		return failed(withdrawal.Permanent, fmt.Errorf("no key of hot wallet %s", w.Job.Wallet))
	}
	if !common.IsHexAddress(w.Job.ToAddress) {
		return failed(withdrawal.Permanent, errors.New("this is not an address of the chain"))
	}
	tip, feeCap, err := c.fees(ctx)
	if err != nil {
		return failed(withdrawal.Retryable, err)
	}
	balance, err := c.node.BalanceAt(ctx, key.address, nil)
	if err != nil {
		return failed(withdrawal.Retryable, err)
	}
	if cost := new(big.Int).Mul(feeCap, big.NewInt(gasLimit)); balance.Cmp(cost.Add(cost, w.Job.AmountRaw.Int())) < 0 {
		return failed(withdrawal.InsufficientBalance, errors.New("the hot wallet has too little ether"))
	}
	next, err := c.node.NonceAt(ctx, key.address, nil) // of what is mined: a node forgets what is pending
	if err != nil {
		return failed(withdrawal.Retryable, err)
	}
	nonce, err := c.free(ctx, w.Job.Wallet, next) // the node's number alone would be used twice, by all that is not mined yet
	if err != nil {
		return failed(withdrawal.Retryable, err)
	}
	hash, raw, err := c.sign(&w.Job, nonce, tip, feeCap)
	if err != nil {
		return failed(withdrawal.Permanent, err)
	}
	return withdrawal.Prepared{By: by, Fence: w.Job.Lease.Fence, Hash: hash, Raw: raw, Nonce: nonce, HasNonce: true,
		ChainNonce: next, HasChainNonce: true}
}

// replacement signs the payment again for today's fee, under the nonce that it
// has: only one of the two can be mined. It returns nil where the newest one
// pays enough, waits behind an earlier nonce, or is too young to judge.
func (c *chain) replacement(ctx context.Context, by withdrawal.By, w *withdrawal.Withdrawal) withdrawal.Event {
	live := w.Live()
	newest := live[len(live)-1]
	var old types.Transaction
	if time.Since(newest.CreatedAt) < c.patience || old.UnmarshalBinary(newest.Raw) != nil {
		return nil
	}
	next, err := c.node.NonceAt(ctx, c.keys[w.Job.Wallet].address, nil)
	if err != nil || next != newest.Nonce {
		return nil
	}
	tip, feeCap, err := c.fees(ctx)
	if err != nil || tip.Cmp(old.GasTipCap()) <= 0 && feeCap.Cmp(old.GasFeeCap()) <= 0 {
		return nil
	}
	// Nodes take a replacement only if both prices are at least a tenth higher.
	tip, feeCap = higher(tip, old.GasTipCap()), higher(feeCap, old.GasFeeCap())
	if feeCap.Cmp(maxFee) > 0 {
		return nil
	}
	hash, raw, err := c.sign(&w.Job, newest.Nonce, tip, feeCap)
	if err != nil {
		return nil
	}
	return withdrawal.Rebumped{By: by, Fence: w.Job.Lease.Fence, Hash: hash, Raw: raw, Nonce: newest.Nonce, HasNonce: true}
}

// higher returns the greater of price and old + 12.5 %.
func higher(price, old *big.Int) *big.Int {
	least := new(big.Int).Rsh(old, 3)
	least.Add(least, old).Add(least, common.Big1)
	if price.Cmp(least) > 0 {
		return price
	}
	return least
}

// fees returns the price of gas: the tip, and a cap that holds for six full
// blocks in a row, each of which raises the base fee by an eighth.
func (c *chain) fees(ctx context.Context) (tip, feeCap *big.Int, err error) {
	if tip, err = c.node.SuggestGasTipCap(ctx); err != nil {
		return nil, nil, err
	}
	head, err := c.node.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	feeCap = new(big.Int).Lsh(head.BaseFee, 1)
	if feeCap.Add(feeCap, tip).Cmp(maxFee) > 0 {
		feeCap = maxFee
	}
	if tip.Cmp(feeCap) > 0 {
		tip = feeCap
	}
	return tip, feeCap, nil
}

// sign makes the payment of a job. The same arguments give the same bytes.
func (c *chain) sign(j *withdrawal.Job, nonce uint64, tip, feeCap *big.Int) (hash string, raw []byte, err error) {
	to := common.HexToAddress(j.ToAddress)
	tx, err := types.SignNewTx(c.keys[j.Wallet].private, c.signer, &types.DynamicFeeTx{
		ChainID: c.signer.ChainID(), Nonce: nonce, To: &to, Value: j.AmountRaw.Int(), Gas: gasLimit, GasTipCap: tip, GasFeeCap: feeCap})
	if err != nil {
		return "", nil, err
	}
	raw, err = tx.MarshalBinary()
	return tx.Hash().Hex(), raw, err
}

// send gives bytes that are on file to the node. nil means that the node has
// them; an error means that it may have them.
func (c *chain) send(ctx context.Context, raw []byte) error {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return err
	}
	err := c.node.SendTransaction(ctx, tx)
	if err != nil && strings.Contains(err.Error(), "already known") { // errors come as text over RPC
		return nil
	}
	return err
}

// pointless reports that it makes no sense to send the bytes once more: their
// nonce is used, by them or by others, which a look-up tells.
func pointless(err error) bool { return err != nil && strings.Contains(err.Error(), "nonce too low") }

// lookUp asks for all transactions of a withdrawal that may be mined, and
// returns what the chain says of them.
func (c *chain) lookUp(ctx context.Context, by withdrawal.By, w *withdrawal.Withdrawal) (said []withdrawal.Event) {
	live := w.Live()
	complete := true // no answer is no evidence
	for _, tx := range live {
		receipt, err := c.receipt(ctx, by, tx.Hash)
		if err == nil {
			return []withdrawal.Event{receipt}
		}
		if errors.Is(err, ethereum.NotFound) {
			_, _, err = c.node.TransactionByHash(ctx, common.HexToHash(tx.Hash))
		}
		switch {
		case errors.Is(err, ethereum.NotFound):
			said = append(said, withdrawal.Missing{By: by, Tx: tx.Hash})
		case err != nil:
			complete = false
			said = append(said, withdrawal.Missing{By: by, Tx: tx.Hash, Error: err.Error()})
		case time.Since(tx.CreatedAt) > c.patience:
			said = append(said, withdrawal.Missing{By: by, Tx: tx.Hash, Error: "it waits in the mempool for long"})
		}
	}
	if complete && len(live) > 0 {
		if instead, err := c.instead(ctx, by, w); err == nil {
			return []withdrawal.Event{instead}
		}
	}
	return said
}

func (c *chain) receipt(ctx context.Context, by withdrawal.By, hash string) (withdrawal.Event, error) {
	r, err := c.node.TransactionReceipt(ctx, common.HexToHash(hash))
	if err != nil {
		return nil, err
	}
	block, err := c.block(ctx, r.BlockNumber, r.BlockHash)
	if err != nil {
		return nil, err
	}
	return withdrawal.Receipt{By: by, Block: block, Tx: hash, Reverted: r.Status == types.ReceiptStatusFailed,
		GasUsed: withdrawal.Raw(strconv.FormatUint(r.GasUsed, 10)), GasPrice: withdrawal.Raw(r.EffectiveGasPrice.String())}, nil
}

// block reads what makes evidence out of an answer: the block that the chain
// has at this height, and its head. The two are of one chain if the head is
// still a part of it afterwards.
func (c *chain) block(ctx context.Context, height *big.Int, hash common.Hash) (withdrawal.Block, error) {
	head, err := c.node.HeaderByNumber(ctx, nil)
	var canonical, again *types.Header
	if err == nil {
		canonical, err = c.node.HeaderByNumber(ctx, height)
	}
	if err == nil {
		again, err = c.node.HeaderByNumber(ctx, head.Number)
	}
	switch {
	case err != nil: // a block that is not found says nothing of the transaction
		return withdrawal.Block{}, fmt.Errorf("reading block %s: %v", height, err)
	case again.Hash() != head.Hash():
		return withdrawal.Block{}, errors.New("the chain moved while it was read")
	}
	return withdrawal.Block{Height: height.Uint64(), Hash: hash.Hex(), Canonical: canonical.Hash().Hex(), Head: head.Number.Uint64()}, nil
}

// instead says what another transaction of the wallet that used their nonce means.
// It may be the same payment under a hash that is not on file, bumped in another
// wallet with the same key: its hash alone proves nothing of the payment. It is
// an error where there is none.
func (c *chain) instead(ctx context.Context, by withdrawal.By, w *withdrawal.Withdrawal) (withdrawal.Event, error) {
	live := w.Live()
	nonce, address := live[0].Nonce, c.keys[live[0].Wallet].address
	next, err := c.node.NonceAt(ctx, address, nil)
	if err != nil || next <= nonce {
		return nil, errors.Join(err, errors.New("the nonce is free"))
	}
	head, err := c.node.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, err
	}
	height := new(big.Int).Set(head.Number)
	for range min(scanned, head.Number.Uint64()) {
		block, err := c.node.BlockByNumber(ctx, height)
		if err != nil {
			return nil, err
		}
		for _, tx := range block.Transactions() {
			from, err := types.Sender(c.signer, tx)
			if err != nil || from != address || tx.Nonce() != nonce {
				continue
			}
			if slices.ContainsFunc(live, func(l withdrawal.Tx) bool { return statemachine.SameHash(l.Hash, tx.Hash().Hex()) }) {
				return nil, errors.New("it is one of them, mined since it was looked for")
			}
			return c.judge(ctx, by, w, tx)
		}
		height.Sub(height, common.Big1)
	}
	return nil, errors.New("what used the nonce is older than the blocks that were searched")
}

// judge says whether tx, which took the nonce of what is live, pays the request.
// A plain transfer of ether carries no reference: payee, asset and amount are
// all that there is. A contract may pay anybody anything, also one that only receives ether.
func (c *chain) judge(ctx context.Context, by withdrawal.By, w *withdrawal.Withdrawal, tx *types.Transaction) (withdrawal.Event, error) {
	r, err := c.node.TransactionReceipt(ctx, tx.Hash())
	if err != nil {
		return nil, err
	}
	where, err := c.block(ctx, r.BlockNumber, r.BlockHash)
	if err != nil {
		return nil, err
	}
	live := w.Live()[0]
	hash := tx.Hash().Hex()
	plain := tx.To() != nil && len(tx.Data()) == 0
	payee := plain && *tx.To() == common.HexToAddress(w.Job.ToAddress)
	amount := tx.Value().Cmp(w.Job.AmountRaw.Int()) == 0
	quiet := r.GasUsed == params.TxGas // no code has run, which could hand the ether on
	switch {
	case r.Status == types.ReceiptStatusFailed || plain && !payee && quiet:
		return withdrawal.ProvenDead{By: by, Block: where, Tx: live.Hash, Cause: withdrawal.NonceUsed, Other: hash,
			Nonce: live.Nonce, NotThisPayment: true}, nil
	case payee && amount:
		return withdrawal.PaidBy{By: by, Block: where, Tx: hash, Payee: tx.To().Hex(), AssetOnChain: etherID,
			AmountRaw: withdrawal.Raw(tx.Value().String()),
			Nonce:     live.Nonce, HasNonce: true, GasUsed: withdrawal.Raw(strconv.FormatUint(r.GasUsed, 10)),
			GasPrice: withdrawal.Raw(r.EffectiveGasPrice.String())}, nil
	}
	return withdrawal.CannotTell{By: by, Tx: live.Hash, Other: hash,
		Reason: "it pays the same address another amount, or calls a contract"}, nil
}
