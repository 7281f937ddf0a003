package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/settlehq/settle/withdrawal"
)

// sign stands for a signer: equal jobs give equal bytes.
func sign(job withdrawal.Job) (hash string, raw []byte) {
	raw = []byte(job.ID.String() + " pays " + string(job.AmountRaw) + " to " + job.ToAddress)
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), raw
}

// fakeNode mines each transaction in a block of its own. It loses the first
// message before it arrives, and the answer to the second.
type fakeNode struct {
	mu    sync.Mutex
	calls int
	paid  map[string]int // the height of each transaction, by hash
}

var errTimeout = errors.New("the node did not answer")

func (n *fakeNode) Send(_ context.Context, raw []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls++; n.calls == 1 {
		return errTimeout
	}
	sum := sha256.Sum256(raw)
	if hash := hex.EncodeToString(sum[:]); n.paid[hash] == 0 {
		n.paid[hash] = len(n.paid) + 1
	}
	if n.calls == 2 {
		return errTimeout
	}
	return nil
}

func (n *fakeNode) Mined(_ context.Context, hash string) (block withdrawal.Block, found bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	height := n.paid[hash]
	if height == 0 {
		return block, false, nil
	}
	name := "block of " + hash
	return withdrawal.Block{Height: uint64(height), Hash: name, Canonical: name, Head: uint64(len(n.paid))}, true, nil
}
