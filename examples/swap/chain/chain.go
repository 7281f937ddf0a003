// Package chain is a small ledger of the example, served over HTTP by a process of
// its own: once as Solana, once as Nexus. It misbehaves: it loses answers of what
// it took, refuses, drops, confirms late, and lands transactions with an error.
// What it has written to its file is what really happened.
package chain

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/settlehq/settle/examples/internal/filelock"
)

// Transfer is a transaction. Signature and memo are Solana's, the reference is
// Nexus's.
type Transfer struct {
	ID        string // signature or txid
	Inbound   bool
	Vault     bool // signed by the vault
	From, To  string
	Amount    uint64
	Token     string
	Memo      string
	Reference uint64
	Height    uint64 // of its block
	Time      time.Time
	Errored   bool
}

// Faults are how the ledger misbehaves, in percent of the transfers sent to it.
type Faults struct {
	Lost    int // taken, and the answer is lost
	Refused int // refused before anything happened
	Dropped int // taken, and never lands
	Late    int // lands after many blocks
	Errored int // lands with an error
	Seed    uint64
}

// Config of a chain process.
type Config struct {
	Name       string
	File       string // the ledger
	Address    string // to listen on
	BlockEvery time.Duration
	Finality   uint64 // blocks until a transfer is final
	Faults     Faults
}

// Chain is the ledger.
type Chain struct {
	Config
	mu      sync.Mutex
	height  uint64
	landed  []Transfer
	pending []waiting
	taken   map[string]bool // what was sent once, by signature or reference
	random  *rand.Rand
	file    *os.File
}

// waiting is taken and not in a block yet.
type waiting struct {
	Transfer
	at    uint64 // lands in this block
	valid uint64 // the last block in which it can
}

// Open reads the ledger.
func Open(c Config) (*Chain, error) {
	file, err := os.OpenFile(c.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(file, filelock.Patience); err != nil { // before it is read
		return nil, errors.Join(fmt.Errorf("%s: %w", c.File, err), file.Close())
	}
	old, err := Read(c.File)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	ch := &Chain{Config: c, taken: map[string]bool{}, random: rand.New(rand.NewPCG(c.Faults.Seed, 1)), file: file, landed: old}
	for _, t := range old {
		ch.taken[t.key()] = true
	}
	ch.grow()
	return ch, nil
}

// grow makes the next block. Heights follow the clock, so that they do not go back
// when the process is killed.
func (c *Chain) grow() {
	c.height = max(c.height+1, uint64(time.Now().UnixMilli()/c.BlockEvery.Milliseconds()))
}

// Read returns what really happened.
func Read(file string) (all []Transfer, err error) {
	content, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		var t Transfer
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, t)
	}
	return all, cmp.Or(err, lines.Err())
}

func (t *Transfer) key() string {
	if t.Inbound {
		return "in " + t.ID
	}
	if t.Reference != 0 {
		return fmt.Sprint("reference ", t.Reference)
	}
	return t.ID
}

// Mine makes blocks until ctx is done.
func (c *Chain) Mine(ctx context.Context) error {
	tick := time.NewTicker(c.BlockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.file.Close()
		case <-tick.C:
			if err := c.block(); err != nil {
				return err
			}
		}
	}
}

// block writes what lands now before anybody can see it.
func (c *Chain) block() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grow()
	var left []waiting
	for _, w := range c.pending {
		switch {
		case c.height > w.valid: // it is gone
			delete(c.taken, w.key())
		case c.height < w.at:
			left = append(left, w)
		default:
			w.Height, w.Time = c.height, time.Now().UTC()
			if err := c.write(w.Transfer); err != nil {
				return err
			}
		}
	}
	c.pending = left
	return nil
}

func (c *Chain) write(t Transfer) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if _, err := c.file.Write(append(line, '\n')); err != nil {
		return err
	}
	c.landed = append(c.landed, t)
	return nil
}

// Status answers a look-up.
type Status struct {
	Transfer
	Found         bool
	Waiting       bool // taken, not in a block
	Confirmations uint64
	Final         bool
	Height        uint64 // of the chain
}

// Sent is a transfer that the vault sends. Valid is the last block in which it can
// land; 0: any.
type Sent struct {
	Transfer
	Valid uint64
}

// ServeHTTP serves POST send and receive, GET status, history and height.
func (c *Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/send":
		c.send(w, r)
	case "/receive": // from outside
		var t Transfer
		if err := json.NewDecoder(r.Body).Decode(&t); err != nil || c.taken["in "+t.ID] { // also by the process before this one
			answer(c.height)
			return
		}
		c.taken["in "+t.ID] = true
		t.Inbound, t.Height = true, c.height
		if err := c.write(t); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(c.height)
	case "/status":
		answer(c.status(r.FormValue("id")))
	case "/history": // what the vault sent, with heights; own=false: what it got
		own := r.FormValue("own") != "false"
		var all []Status
		for _, t := range c.landed {
			if t.Inbound != own {
				all = append(all, c.shown(t))
			}
		}
		answer(struct {
			Height  uint64
			Waiting int
			All     []Status
		}{c.height, len(c.pending), all})
	default:
		answer(c.height)
	}
}

func (c *Chain) shown(t Transfer) Status {
	n := c.height - t.Height + 1
	return Status{Transfer: t, Found: true, Confirmations: n, Final: n >= c.Finality, Height: c.height}
}

func (c *Chain) status(key string) Status {
	for _, t := range c.landed {
		if !t.Inbound && t.key() == key {
			return c.shown(t)
		}
	}
	return Status{Height: c.height, Waiting: slices.ContainsFunc(c.pending, func(w waiting) bool { return w.key() == key })}
}

// send takes a transfer, or says that it does. The same one again is no second one.
func (c *Chain) send(w http.ResponseWriter, r *http.Request) {
	var s Sent
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.ID == "" {
		s.ID = fmt.Sprintf("%s-%d", c.Name, s.Reference)
	}
	f := c.Faults
	dice := func(percent int) bool { return c.random.IntN(100) < percent }
	if dice(f.Refused) {
		http.Error(w, "insufficient funds for rent", http.StatusConflict)
		return
	}
	if !c.taken[s.key()] {
		at := c.height + 1
		if dice(f.Late) {
			at += 40
		}
		s.Errored = dice(f.Errored)
		valid := s.Valid
		if valid == 0 {
			valid = at
		}
		if !dice(f.Dropped) {
			c.taken[s.key()] = true
			c.pending = append(c.pending, waiting{s.Transfer, at, valid})
		}
	}
	if dice(f.Lost) {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(s.ID)
}

// Serve runs a chain until ctx is done and prints its address first.
func Serve(ctx context.Context, c Config, stdout io.Writer) error {
	ch, err := Open(c)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return errors.Join(err, ch.file.Close())
	}
	server := http.Server{Handler: ch, ReadTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	defer server.Close()
	go func() { _ = server.Serve(listener) }()
	if _, err := fmt.Fprintln(stdout, listener.Addr()); err != nil {
		return err
	}
	return ch.Mine(ctx)
}
