package main

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

var (
	hot = statemachine.ID("wallet", "of the test")
	by  = withdrawal.By{Actor: "test", Role: withdrawal.ConfirmationWorker}
)

// newChain is an adapter to a network of its own, without a miner.
func newChain(t *testing.T) (*chain, *network) {
	t.Helper()
	keys := keyring{hot: demoKey("of the test")}
	net, err := newNetwork(t.Context(), keys[hot], demoKey("of a stranger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = net.backend.Close() })
	return &chain{node: net, signer: net.signer, keys: keys, patience: patience, free: nothingOnFile}, net
}

func nothingOnFile(_ context.Context, _ uuid.UUID, next uint64) (uint64, error) { return next, nil }

// job is a claimed one.
func job(to, ether string) *withdrawal.Withdrawal {
	return &withdrawal.Withdrawal{
		Job: withdrawal.Job{Wallet: hot, ToAddress: to, AmountRaw: withdrawal.Raw(decimal.RequireFromString(ether).Shift(18).String())},
	}
}

func prepared(t *testing.T, c *chain, w *withdrawal.Withdrawal) withdrawal.Prepared {
	t.Helper()
	p, ok := c.payment(t.Context(), by, w).(withdrawal.Prepared)
	if !ok {
		t.Fatalf("got %+v", c.payment(t.Context(), by, w))
	}
	return p
}

// out is a withdrawal with a transaction on its way.
func out(p withdrawal.Prepared) *withdrawal.Withdrawal {
	w := job(recipient("nobody").Hex(), "1")
	w.Txs = live(p)
	return w
}

func live(p withdrawal.Prepared) []withdrawal.Tx {
	return []withdrawal.Tx{{Hash: p.Hash, Raw: p.Raw, Wallet: hot, Nonce: p.Nonce, HasNonce: true}}
}

func TestWhatCannotBePaidIsNotSigned(t *testing.T) {
	c, _ := newChain(t)
	to := recipient("nobody").Hex()
	stranger := job(to, "1")
	stranger.Job.Wallet = statemachine.ID("wallet", "another")
	for name, tt := range map[string]struct {
		w    *withdrawal.Withdrawal
		want withdrawal.Failure
	}{
		"no key":           {stranger, withdrawal.Permanent},
		"no address":       {job("bc1qxyz", "1"), withdrawal.Permanent},
		"more than we own": {job(to, "1000"), withdrawal.InsufficientBalance}, // with the gas
	} {
		if e, ok := c.payment(t.Context(), by, tt.w).(withdrawal.AttemptFailed); !ok || e.Failure != tt.want {
			t.Errorf("%s: got %+v, expected %v", name, e, tt.want)
		}
	}
}

func TestTheNonceIsNeitherTheNodesNorTheRecordsAlone(t *testing.T) {
	c, _ := newChain(t)
	for _, tt := range []struct {
		onFile []uint64
		want   uint64
	}{{nil, 2}, {[]uint64{0, 1}, 2}, {[]uint64{2}, 3}, {[]uint64{2, 4}, 3}} {
		n := node(countingNode{c.node, 2})
		w := job(recipient("nobody").Hex(), "1")
		free := func(_ context.Context, _ uuid.UUID, next uint64) (uint64, error) {
			return withdrawal.FreeNonce(next, tt.onFile), nil
		}
		if p := prepared(t, &chain{node: n, signer: c.signer, keys: c.keys, free: free}, w); p.Nonce != tt.want || p.ChainNonce != 2 {
			t.Errorf("the node says 2, on file is %v: got %d", tt.onFile, p.Nonce)
		}
	}
}

type countingNode struct {
	node
	next uint64
}

func (n countingNode) NonceAt(context.Context, common.Address, *big.Int) (uint64, error) {
	return n.next, nil
}

func TestTheSameBytesMayBeSentTwice(t *testing.T) {
	c, net := newChain(t)
	p := prepared(t, c, job(recipient("twice").Hex(), "1"))
	for range 2 {
		if err := c.send(t.Context(), p.Raw); err != nil {
			t.Fatal(err)
		}
	}
	net.backend.Commit()
	balance, err := net.BalanceAt(t.Context(), recipient("twice"), nil)
	if err != nil || balance.Cmp(ether(1)) != 0 {
		t.Errorf("arrived is %s, %v", balance, err)
	}
}

// leavingNode lets the chain leave between two answers.
type leavingNode struct {
	*network
	parent common.Hash
	calls  int
}

func (n *leavingNode) HeaderByNumber(ctx context.Context, height *big.Int) (*types.Header, error) {
	if n.calls++; n.calls == 2 {
		if err := n.forget(n.parent); err != nil {
			return nil, err
		}
		for range 3 {
			n.backend.Commit()
		}
	}
	return n.network.HeaderByNumber(ctx, height)
}

func TestAnswersOfTwoChainsAreNoEvidence(t *testing.T) {
	c, net := newChain(t)
	genesis, err := net.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := prepared(t, c, job(recipient("left").Hex(), "1"))
	if err := c.send(t.Context(), p.Raw); err != nil {
		t.Fatal(err)
	}
	net.backend.Commit()
	net.backend.Commit()
	if _, ok := c.lookUp(t.Context(), by, out(p))[0].(withdrawal.Receipt); !ok {
		t.Fatal("it is in a block")
	}

	c.node = &leavingNode{network: net, parent: genesis.Hash()}
	said := c.lookUp(t.Context(), by, out(p))
	if e, ok := said[0].(withdrawal.Missing); len(said) != 1 || !ok || e.Error == "" {
		t.Errorf("got %+v, expected that nobody can tell", said)
	}
	c.node = net
	said = c.lookUp(t.Context(), by, out(p))
	if e, ok := said[0].(withdrawal.Missing); len(said) != 1 || !ok || e.Error != "" {
		t.Errorf("got %+v, expected that it is missing", said)
	}
}

// What took the nonce is the same payment only if payee, asset and amount say so.
func TestWhatTookTheNonceIsJudgedByWhatItPays(t *testing.T) {
	to, other, stranger := recipient("payee"), recipient("somebody else"), demoKey("of a stranger")
	for name, tt := range map[string]struct {
		send func(net *network, k key) (*types.Transaction, error)
		want withdrawal.Event
	}{
		"the same payment": {func(net *network, k key) (*types.Transaction, error) {
			return net.transfer(t.Context(), k, 0, to, ether(1))
		}, withdrawal.PaidBy{}},
		"another amount": {func(net *network, k key) (*types.Transaction, error) {
			return net.transfer(t.Context(), k, 0, to, ether(2))
		}, withdrawal.CannotTell{}},
		"another payee": {func(net *network, k key) (*types.Transaction, error) {
			return net.transfer(t.Context(), k, 0, other, ether(1))
		}, withdrawal.ProvenDead{}},
		"a call": {func(net *network, k key) (*types.Transaction, error) {
			return net.transact(t.Context(), k, 0, &other, []byte{1})
		}, withdrawal.CannotTell{}},
		"ether for a contract, which could hand it on": {func(net *network, k key) (*types.Transaction, error) {
			made, err := net.transact(t.Context(), stranger, 0, nil, common.FromHex("615b006000526002601ef3")) // whose code is JUMPDEST, STOP
			if err != nil {
				return nil, err
			}
			contract := crypto.CreateAddress(stranger.address, made.Nonce())
			net.backend.Commit()
			return net.transact(t.Context(), k, 0, &contract, nil)
		}, withdrawal.CannotTell{}},
	} {
		c, net := newChain(t)
		w := job(to.Hex(), "1")
		w.Txs = live(prepared(t, c, w)) // signed, and never sent
		if _, err := tt.send(net, c.keys[hot]); err != nil {
			t.Fatal(err)
		}
		net.backend.Commit()
		said := c.lookUp(t.Context(), by, w)
		for range 12_000 { // the node takes a moment to index the block; only what hangs takes all of them
			if e, ok := said[0].(withdrawal.Missing); !ok || e.Error == "" {
				break
			}
			time.Sleep(10 * time.Millisecond)
			said = c.lookUp(t.Context(), by, w)
		}
		if len(said) != 1 || fmt.Sprintf("%T", said[0]) != fmt.Sprintf("%T", tt.want) {
			t.Errorf("%s: got %+v, expected %T", name, said, tt.want)
		}
	}
}
