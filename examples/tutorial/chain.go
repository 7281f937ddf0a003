package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/settlehq/settle/withdrawal"
)

// chain is what you replace: a signer, and the client of a node. The one of this page is a file with a block a line,
// and behaves as nodes do: it loses each third message, and the answer to each third.
type chain struct {
	mu    sync.Mutex
	file  string
	calls int
}

var errTimeout = errors.New("the node did not answer")

// sign makes the transaction of a job. Equal jobs give equal bytes.
func (c *chain) sign(job withdrawal.Job) (hash string, raw []byte) {
	raw = []byte(job.ID.String() + " pays " + string(job.AmountRaw) + " to " + job.ToAddress)
	return hashOf(string(raw)), raw
}

func hashOf(raw string) string {
	sum := sha256.Sum256([]byte(raw))
	return hex.EncodeToString(sum[:])
}

func (c *chain) blocks() ([]string, error) {
	all, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix("genesis\n"+string(all), "\n"), "\n"), nil
}

// send gives the bytes to the node. The same bytes twice are one transaction.
func (c *chain) send(_ context.Context, raw []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.calls%3 == 1 {
		return errTimeout // before it arrived
	}
	blocks, err := c.blocks()
	if err == nil && !slices.Contains(blocks, string(raw)) {
		err = c.add(string(raw), "an empty block above")
	}
	if err == nil && c.calls%3 == 2 {
		err = errTimeout // after it arrived
	}
	return err
}

func (c *chain) add(blocks ...string) error {
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(blocks, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// mined says in which block a transaction is, and how far the chain has come since.
func (c *chain) mined(_ context.Context, hash string) (block withdrawal.Block, found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocks, err := c.blocks()
	for height, raw := range blocks {
		if hashOf(raw) == hash {
			name := "block of " + hash
			return withdrawal.Block{Height: uint64(height), Hash: name, Canonical: name, Head: uint64(len(blocks) - 1)}, true, nil
		}
	}
	return block, false, err
}
