package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/examples/internal/direct"
	"github.com/settlehq/settle/examples/internal/mainnet"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/examples/wallet/blockfile"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
)

// outside is all that is not the service: chains, nodes and providers, all of which lose messages
// and answers. Nothing of it is to be copied.
type outside struct {
	began   time.Time
	bitcoin *blocks
	node    *node.Node // of the chain on which withdrawals are paid
	chains  map[swap.Chain]*chain.Chain
	rgb     *rgbNode
	relays  *relayServer
	cards   *cards
}

const blockEvery = 50 * time.Millisecond

func newOutside(dir string, seed uint64) (*outside, error) {
	o := &outside{began: time.Now(), chains: map[swap.Chain]*chain.Chain{}}
	o.rgb = &rgbNode{faults: newFaults(seed, 1), transfers: map[string][]refresh.Transfer{}}
	o.relays = &relayServer{faults: newFaults(seed, 2), relays: map[string]int{}}
	o.cards = &cards{faults: newFaults(seed, 3), reminders: map[string]int{},
		answers: map[string]statemachine.Outcome{}, paid: map[string]int64{}}
	var err error
	if o.bitcoin, err = newBlocks(seed); err != nil {
		return nil, err
	}
	ledger := filepath.Join(dir, "payments.chain")
	plenty := map[string]map[string]string{hotAddress: {btc: "2100000000000000", node.GasAsset: "1000000000000000000"}}
	if err := node.Create(ledger, node.Genesis{ID: "custody", Accounts: plenty}); err != nil {
		return nil, err
	}
	o.node, err = node.Open(node.Config{Ledger: ledger, BlockEvery: blockEvery,
		Faults: node.Faults{Seed: seed, Errors: 30, Slow: 20, Lost: 150, Garbled: 20, Drop: 20, Reorg: 30}})
	for _, c := range swap.Chain(0).Values() {
		if err == nil {
			o.chains[c], err = chain.Open(chain.Config{Name: c.String(), File: filepath.Join(dir, c.String()+".chain"), BlockEvery: blockEvery,
				Finality: finality, Faults: chain.Faults{Seed: seed, Lost: 15, Refused: 5, Dropped: 5, Late: 5}})
		}
	}
	return o, err
}

// run lets time pass for the chains until ctx is done. All of Bitcoin's blocks come within a time.
func (o *outside) run(ctx context.Context, within time.Duration) error {
	defer o.node.Close()
	loops := []worker.Loop{o.node.Mine, func(ctx context.Context) error { return o.bitcoin.grow(ctx, within) }}
	for _, c := range o.chains {
		loops = append(loops, c.Mine)
	}
	return worker.All(ctx, loops...)
}

// client waits for an answer of the node for a fraction of a second, since a day is short.
func (o *outside) client() *node.Client { return o.node.Client(200 * time.Millisecond) }

// faults draws what goes wrong with a call.
type faults struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newFaults(seed, of uint64) *faults { return &faults{random: rand.New(rand.NewPCG(seed, of))} }

var errLost = errors.New("no answer")

// call does something, or not, and loses the answer now and then.
func (f *faults) call(do func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dice := f.random.IntN(100)
	if dice >= 5 { // else it never arrives
		do()
	}
	if dice < 12 {
		return errLost
	}
	return nil
}

// blocks is a node of Bitcoin: the first blocks of mainnet, one after the other. Now and then the
// last ones leave the chain for others, which are empty, and come back.
type blocks struct {
	mu     sync.Mutex
	all    []utxo.Connected
	height int              // of the chain
	stale  []utxo.Connected // in place of the last blocks
	random *rand.Rand
}

func newBlocks(seed uint64) (*blocks, error) {
	b := &blocks{random: rand.New(rand.NewPCG(seed, 4))}
	for file := blockfile.NewReader(bytes.NewReader(mainnet.Blocks)); ; {
		block, err := file.Next()
		if err == io.EOF {
			return b, nil
		} else if err != nil {
			return nil, err
		}
		b.all = append(b.all, utxo.Connected{Txs: block.Transactions, Block: utxo.Block{Height: int32(block.Index),
			Hash: block.BlockHash(), Prev: block.Header.PrevBlock, Time: block.Header.Timestamp}})
	}
}

// chain is the best chain now, from block 0 on.
func (b *blocks) chain() []utxo.Connected {
	b.mu.Lock()
	defer b.mu.Unlock()
	real := b.all[: b.height+1-len(b.stale) : b.height+1-len(b.stale)]
	return append(real, b.stale...)
}

func (b *blocks) grow(ctx context.Context, within time.Duration) error {
	tick := time.NewTicker(within / time.Duration(len(b.all)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			b.next()
		}
	}
}

func (b *blocks) next() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.height == len(b.all)-1 && b.stale == nil {
		return
	}
	b.height = min(b.height+1, len(b.all)-1)
	switch {
	case b.stale != nil && b.random.IntN(4) == 0, b.height == len(b.all)-1:
		b.stale = nil
	case b.stale != nil: // the other branch grows too
		b.stale = append(b.stale, b.empty(b.stale[len(b.stale)-1].Block))
		if len(b.stale) > 4 {
			b.stale = nil
		}
	case b.height > 5 && b.random.IntN(20) == 0:
		b.stale = append(b.stale, b.empty(b.all[b.height-2].Block))
		b.stale = append(b.stale, b.empty(b.stale[0].Block))
	}
}

func (b *blocks) empty(on utxo.Block) utxo.Connected {
	return utxo.Connected{Block: utxo.Block{Height: on.Height + 1, Prev: on.Hash, Time: on.Time.Add(10 * time.Minute),
		Hash: chainhash.HashH(fmt.Append(nil, "stale ", on.Hash, b.random.Uint64()))}}
}

// rgbNode has wallets, and shows what happened to their transfers only when it is asked to refresh them.
type rgbNode struct {
	*faults
	transfers map[string][]refresh.Transfer // by wallet
	refreshed int
}

func (n *rgbNode) invoice(xpub string) refresh.Transfer {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := len(n.transfers[xpub])
	t := refresh.Transfer{Recipient: fmt.Sprint(xpub, ":", i), Asset: "rgb:usd", Kind: refresh.ReceiveBlind, Index: int32(i), HasIndex: true}
	n.transfers[xpub] = append(n.transfers[xpub], t)
	return t
}

// Refresh implements [refresher.Host]: each call moves the transfers on by one step, until they are settled.
func (n *rgbNode) Refresh(_ context.Context, w refresh.Credentials) error {
	return n.call(func() {
		n.refreshed++
		for i := range n.transfers[w.XpubVan] {
			if t := &n.transfers[w.XpubVan][i]; t.Status < refresh.TransferSettled && n.random.IntN(2) == 0 {
				t.Status++
			}
		}
	})
}

// ListAssets implements [refresher.Host].
func (n *rgbNode) ListAssets(context.Context, refresh.Credentials) ([]string, error) {
	return []string{"rgb:usd"}, n.call(func() {})
}

// ListTransfers implements [refresher.Host].
func (n *rgbNode) ListTransfers(_ context.Context, w refresh.Credentials, asset string) (all []refresh.Transfer, err error) {
	err = n.call(func() {
		if asset != "" {
			all = append(all, n.transfers[w.XpubVan]...)
		}
	})
	return all, err
}

// FailTransfers implements [refresher.Host]; no invoice of the day expires.
func (n *rgbNode) FailTransfers(context.Context, refresh.Credentials, int32) error { return nil }

// relayServer hosts relays: POST makes one, PATCH changes one.
type relayServer struct {
	*faults
	relays map[string]int // how often each was made or changed, by path
}

func (s *relayServer) transport() http.RoundTripper { return direct.Transport{To: s} }

// ServeHTTP implements [http.Handler].
func (s *relayServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.call(func() {
		switch made := s.relays[r.URL.Path] > 0; {
		case made && r.Method == http.MethodPost:
			http.Error(w, "relay with this id already exists", http.StatusConflict)
		case !made && r.Method == http.MethodPatch:
			http.Error(w, "no such relay", http.StatusNotFound)
		default:
			s.relays[r.URL.Path]++
		}
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// cards charges tenants, and reminds them. The same key again is the same charge.
type cards struct {
	*faults
	reminders map[string]int                  // by key
	answers   map[string]statemachine.Outcome // by key
	paid      map[string]int64                // by key
}

func (c *cards) charge(tenant, key string, amount int64) (outcome statemachine.Outcome, text string) {
	err := c.call(func() {
		if c.answers[key] != 0 {
			return
		}
		c.answers[key] = statemachine.Failed
		if tenant != poorTenant && c.random.IntN(5) > 0 {
			c.answers[key], c.paid[key] = statemachine.Done, amount
		}
	})
	if err != nil {
		return statemachine.Unknown, err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[key], "card declined"
}

func (c *cards) lookUp(key string) (outcome statemachine.Outcome, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[key], c.answers[key] != 0
}

// remind counts a message to a tenant.
func (c *cards) remind(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reminders[key]++
}
