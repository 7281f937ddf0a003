package main

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"github.com/ethereum/go-ethereum/params"
)

// network is a chain in this process, with one node that misbehaves when it is
// told to.
type network struct {
	simulated.Client
	backend *simulated.Backend
	signer  types.Signer

	mining sync.Mutex // who holds it decides about blocks

	mu     sync.Mutex
	faults map[common.Address]fault             // by recipient
	cheap  bool                                 // the node suggests a tip that no miner takes
	sent   map[common.Hash]int                  // how often the node was given a transaction
	seen   map[common.Hash]map[common.Hash]bool // receipts that it gave out: transaction, blocks
}

type fault int

const (
	faultNone  fault = iota
	loseReply        // once: the node takes the transaction, and its answer is lost
	dropAlways       // until it is lifted: the node says that it took it, and forgets it
)

// ether returns n ether in wei.
func ether(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }

// newNetwork starts a chain on which these keys have 1000 ether each.
func newNetwork(ctx context.Context, funded ...key) (*network, error) {
	genesis := types.GenesisAlloc{}
	for _, k := range funded {
		genesis[k.address] = types.Account{Balance: funds}
	}
	backend := simulated.NewBackend(genesis)
	n := &network{Client: backend.Client(), backend: backend,
		faults: map[common.Address]fault{}, sent: map[common.Hash]int{}, seen: map[common.Hash]map[common.Hash]bool{}}
	id, err := n.ChainID(ctx)
	n.signer = types.LatestSignerForChainID(id)
	return n, err
}

var funds = ether(1000)

// mine makes a block every so often until ctx is done.
func (n *network) mine(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.mining.Lock()
			n.backend.Commit()
			n.mining.Unlock()
		}
	}
}

// pause keeps the chain as it is until resume is called.
func (n *network) pause() (resume func()) {
	n.mining.Lock()
	return sync.OnceFunc(n.mining.Unlock)
}

// forget takes all blocks after parent from the chain, and all transactions
// from the mempool. Call it in a pause.
func (n *network) forget(parent common.Hash) error {
	if err := n.backend.Fork(parent); err != nil {
		return err
	}
	n.backend.Rollback()
	return nil
}

// transact sends a transaction that the withdrawals know nothing of. to is nil
// for a new contract.
func (n *network) transact(ctx context.Context, k key, nonce uint64, to *common.Address, data []byte) (*types.Transaction, error) {
	tip, err := n.Client.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := types.SignNewTx(k.private, n.signer, &types.DynamicFeeTx{ChainID: n.signer.ChainID(), Nonce: nonce,
		To: to, Data: data, Gas: 200_000, GasTipCap: tip, GasFeeCap: big.NewInt(100 * params.GWei)})
	if err != nil {
		return nil, err
	}
	return tx, n.Client.SendTransaction(ctx, tx)
}

// transfer signs and sends a plain payment at five times the price, from outside.
func (n *network) transfer(ctx context.Context, k key, nonce uint64, to common.Address, amount *big.Int) (*types.Transaction, error) {
	tip, err := n.Client.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := types.SignNewTx(k.private, n.signer, &types.DynamicFeeTx{ChainID: n.signer.ChainID(), Nonce: nonce, To: &to, Value: amount,
		Gas: 21_000, GasTipCap: tip.Mul(tip, big.NewInt(5)), GasFeeCap: big.NewInt(100 * params.GWei)})
	if err != nil {
		return nil, err
	}
	return tx, n.Client.SendTransaction(ctx, tx)
}

// set changes how the node misbehaves.
func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

var errLost = errors.New("the connection was lost before the answer came")

// SendTransaction is where payments leave the house.
func (n *network) SendTransaction(ctx context.Context, tx *types.Transaction) error {
	n.mu.Lock()
	n.sent[tx.Hash()]++
	f := n.faults[*tx.To()]
	if f == loseReply {
		delete(n.faults, *tx.To())
	}
	n.mu.Unlock()
	if f == dropAlways {
		return nil
	}
	err := n.Client.SendTransaction(ctx, tx)
	if f == loseReply {
		return errors.Join(errLost, err)
	}
	return err
}

// SuggestGasTipCap is the node's opinion about the tip.
func (n *network) SuggestGasTipCap(ctx context.Context) (*big.Int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cheap {
		return big.NewInt(1), nil
	}
	return n.Client.SuggestGasTipCap(ctx)
}

// TransactionReceipt remembers what was told to whom.
func (n *network) TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	r, err := n.Client.TransactionReceipt(ctx, hash)
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.seen[hash] == nil {
			n.seen[hash] = map[common.Hash]bool{}
		}
		n.seen[hash][r.BlockHash] = true
	}
	return r, err
}

// timesSent returns how often the node was given a transaction.
func (n *network) timesSent(hash string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent[common.HexToHash(hash)]
}

// seenIn returns in how many different blocks a transaction was seen.
func (n *network) seenIn(hash string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.seen[common.HexToHash(hash)])
}
