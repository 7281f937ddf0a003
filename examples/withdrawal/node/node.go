// Package node is a small chain for the example: accounts with nonces and
// balances, a mempool, a block every few milliseconds, and JSON-RPC over HTTP.
// What it has mined is in its ledger, an append-only file that is synced before
// anybody is told; the mempool is in memory, and a restart forgets it.
//
// It can be told to misbehave, see [Faults].
package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/settlehq/settle/examples/internal/filelock"
)

// Bounds of the mempool and of a block.
const (
	maxPool   = 100_000
	maxBlock  = 500
	maxAhead  = 10_000 // nonces above the account's
	baseFee   = 10     // gas price that is mined
	spikeFee  = 100    // and during a spike
	spikeTime = 40     // blocks
)

// Config of a node.
type Config struct {
	Ledger     string        `json:"ledger"` // path of a file that [Create] made
	BlockEvery time.Duration `json:"blockEvery"`
	Faults     Faults        `json:"faults"`
}

// Node is a running chain. It is safe for concurrent use.
type Node struct {
	mu     sync.Mutex
	config Config
	ledger *ledger
	chain  *Chain
	pool   map[slot]pooled
	random *rand.Rand
	counts Counts
	spike  int   // blocks for which the high fee is left
	failed error // the ledger could not be written

	started int64
}

type pooled struct {
	raw  json.RawMessage
	hash string
	tx   Tx
}

// Open takes a ledger for this process and continues it.
func Open(c Config) (*Node, error) {
	l, chain, err := openLedger(c.Ledger, filelock.Patience)
	if err != nil {
		return nil, err
	}
	return &Node{config: c, ledger: l, started: time.Now().UnixNano(), chain: chain, pool: map[slot]pooled{},
		random: rand.New(rand.NewPCG(c.Faults.Seed, chain.number))}, nil
}

// Close gives the ledger back.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = errors.Join(n.failed, errors.New("the node is closed"))
	return n.ledger.file.Close()
}

// Look shows the chain to an observer, who changes nothing and keeps nothing of it.
func (n *Node) Look(observe func(*Chain)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	observe(n.chain)
}

// Mine makes blocks until ctx is done or the ledger cannot be written.
func (n *Node) Mine(ctx context.Context) error {
	ticker := time.NewTicker(n.config.BlockEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := n.Tick(); err != nil {
				return err
			}
		}
	}
}

// Tick mines one block, with the faults of its moment.
func (n *Node) Tick() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed != nil {
		return n.failed
	}
	f := &n.config.Faults
	n.dropSome(f.Drop)
	if n.happens(f.Reorg, &n.counts.Reorgs) {
		if err := n.reorganise(); err != nil {
			return err
		}
	}
	if n.spike == 0 && n.happens(f.Spike, &n.counts.Spikes) {
		n.spike = spikeTime
	}
	n.spike = max(0, n.spike-1)
	b := Block{Number: n.chain.number + 1, Height: n.chain.Head() + 1, Parent: n.chain.BlockHash(n.chain.Head()), Txs: n.pick()}
	if err := n.chain.connect(b); err != nil {
		return n.fail(err)
	}
	if err := n.ledger.append(record{Block: &b}); err != nil {
		return n.fail(err)
	}
	n.prune()
	return nil
}

func (n *Node) fail(err error) error {
	n.failed = err
	return err
}

// fee is the gas price from which on a transaction is mined.
func (n *Node) fee() uint64 {
	if n.spike > 0 {
		return spikeFee
	}
	return baseFee
}

// pick returns the transactions of the next block: of each account the next
// nonces, as far as they pay enough and the account has the funds.
func (n *Node) pick() (txs []Mined) {
	byAccount := map[string][]pooled{}
	for at, p := range n.pool {
		byAccount[at.from] = append(byAccount[at.from], p)
	}
	var spent []*Tx // while the block is made up, the balances are those behind it
	defer func() {
		for _, tx := range spent {
			n.chain.transfer(tx, -1)
		}
	}()
	for _, from := range slices.Sorted(maps.Keys(byAccount)) {
		next := n.chain.nonces[from]
		list := byAccount[from]
		slices.SortFunc(list, func(a, b pooled) int { return cmp.Compare(a.tx.Nonce, b.tx.Nonce) })
		for i := range list {
			p := &list[i]
			if p.tx.Nonce != next || p.tx.GasPrice < n.fee() || len(txs) >= maxBlock || !n.chain.payable(&p.tx) {
				break
			}
			next++
			if n.happens(n.config.Faults.Usurp, &n.counts.Usurped) {
				txs = append(txs, Mined{Foreign: &Foreign{From: from, Nonce: p.tx.Nonce}})
				continue
			}
			raw := p.raw
			if n.happens(n.config.Faults.Salt, &n.counts.Salted) {
				raw = p.tx.salted(1 + n.random.Uint64N(1<<40))
			}
			txs = append(txs, Mined{Raw: raw})
			n.chain.transfer(&p.tx, 1)
			spent = append(spent, &p.tx)
		}
	}
	return txs
}

// prune forgets what can be mined no more.
func (n *Node) prune() {
	for at := range n.pool {
		if at.nonce < n.chain.nonces[at.from] {
			delete(n.pool, at)
		}
	}
}

// reorganise takes up to Finality-1 blocks off the chain. Their transactions go
// back to the mempool, but for those that get lost.
func (n *Node) reorganise() error {
	depth := 1 + n.random.Uint64N(Finality-1)
	to := max(n.chain.final, n.chain.Head()-min(n.chain.Head(), depth))
	if to >= n.chain.Head() {
		return nil
	}
	if err := n.ledger.append(record{Reorg: &reorg{To: to}}); err != nil {
		return n.fail(err)
	}
	txs, err := n.chain.disconnect(to)
	if err != nil {
		return n.fail(err)
	}
	for _, m := range txs {
		if m.Foreign == nil && n.random.IntN(4) > 0 {
			if tx, err := Parse(m.Raw); err == nil {
				n.pool[slot{tx.From(), tx.Nonce}] = pooled{m.Raw, HashOf(m.Raw), tx}
			}
		}
	}
	return nil
}

func (n *Node) dropSome(permille int) {
	if permille == 0 {
		return
	}
	slots := slices.SortedFunc(maps.Keys(n.pool), func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.nonce, b.nonce))
	})
	for _, at := range slots {
		if n.happens(permille, &n.counts.Dropped) {
			delete(n.pool, at)
		}
	}
}

// accept puts a transaction into the mempool, and says why not. One that is
// there or mined already is accepted.
func (n *Node) accept(raw []byte) (string, error) {
	tx, err := Parse(raw)
	if err != nil {
		return "", refuse(CodeInvalid, "%v", err)
	}
	hash, at := HashOf(raw), slot{tx.From(), tx.Nonce}
	if _, mined := n.chain.mined[hash]; mined {
		return hash, nil
	}
	next := n.chain.nonces[at.from]
	old, pooledThere := n.pool[at]
	switch {
	case tx.Nonce < next:
		return "", refuse(CodeNonceTooLow, "nonce too low: %d, the next one is %d", tx.Nonce, next)
	case tx.Nonce > next+maxAhead, len(n.pool) >= maxPool:
		return "", refuse(CodeBusy, "the mempool does not take it")
	case pooledThere && old.hash == hash:
		return hash, nil
	case pooledThere && tx.GasPrice <= old.tx.GasPrice+old.tx.GasPrice/10:
		return "", refuse(CodeUnderpriced, "replacement transaction underpriced")
	case !n.chain.payable(&tx):
		return "", refuse(CodeFunds, "insufficient funds")
	}
	n.pool[at] = pooled{slices.Clone(raw), hash, tx}
	return hash, nil
}

// refuse returns an error that the caller is told.
func refuse(code int, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
