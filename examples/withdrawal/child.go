package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// The program runs itself again as these.
const (
	roleNode   = "node"
	roleWorker = "worker"
)

// workerConfig is the first line on a worker's standard input. It may have a
// password, which the list of processes must not show.
type workerConfig struct {
	Database string `json:"database"`
	Node     string `json:"node"`
	Name     string `json:"name"`
	Hasty    bool   `json:"hasty"`
	Together int    `json:"together"` // requests that one transaction pays at most
	Lossless bool   `json:"lossless"`
	// Skew is how far this host's clock is off.
	Skew time.Duration `json:"skew"`
}

// nodeConfig is the first line on the node's.
type nodeConfig struct {
	node.Config
	Address string `json:"address"` // to listen on
}

// child runs as a part of another process, and ends with it: at the latest when
// its standard input ends.
func child(ctx context.Context, role string, stdin io.Reader, stdout, stderr io.Writer) error {
	if role == roleNode {
		return children.Run(ctx, role, stdin, func(ctx context.Context, c nodeConfig) error { return runNode(ctx, c, stdout) })
	}
	return children.Run(ctx, role, stdin, func(ctx context.Context, c workerConfig) error {
		return runWorker(ctx, c, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	})
}

// runNode serves a chain and prints its URL.
func runNode(ctx context.Context, c nodeConfig, stdout io.Writer) error {
	n, err := node.Open(c.Config)
	if err != nil {
		return err
	}
	defer n.Close()
	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return err
	}
	server := http.Server{Handler: n, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(stdout, listener.Addr()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { cancel(<-served) }()
	if err := n.Mine(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

func runWorker(ctx context.Context, c workerConfig, log *slog.Logger) error {
	p := steady
	if c.Hasty {
		p = hasty
	}
	if c.Together > 0 {
		p.check = together
	}
	db, err := program.Open(ctx, c.Database, program.Options{Options: sqlstore.Options{LosslessPromotion: c.Lossless}})
	if err != nil {
		if ctx.Err() != nil { // stopped before it began
			return nil
		}
		return err
	}
	batches, err := store.NewBatches(db, p.policy())
	if err == nil {
		err = work(ctx, batches, node.NewClient(c.Node, p.patience), c.Name, c.Skew, c.Together, log)
	}
	return errors.Join(err, db.Close())
}

// work pays and confirms until ctx is done, some requests together if one
// transaction may pay several. name is this process's alone.
func work(ctx context.Context, b *store.Batches, n *node.Client, name string, skew time.Duration, several int, log *slog.Logger) error {
	s := b.Withdrawals()
	now := func() time.Time { return time.Now().Add(skew) }
	pay := &payer{s, n, demoKeys, name, now}
	r := store.RunWithdrawals{
		Name:        name,
		Chains:      []uuid.UUID{chainID},
		Pay:         pay.handle,
		Look:        (&checker{n, demoKeys, name, now}).handle,
		Concurrency: 8,
		Poll:        statemachine.Backoff{Base: 20 * time.Millisecond, Cap: 400 * time.Millisecond, JitterPercent: 50},
		Retry:       statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second, JitterPercent: 50},
		Grace:       s.Policy().Lease,
		CallTimeout: s.Policy().CheckEvery / 2, // two calls fit into the time of a look-up, see worker.Source
		Log:         log,
	}
	if several == 0 {
		return s.Run(ctx, r)
	}
	return b.Run(ctx, store.RunBatches{RunWithdrawals: r, Size: several, PayBatch: (&builder{pay, b}).handle,
		LookBatch: (&watcher{n, demoKeys, name, now}).handle})
}
