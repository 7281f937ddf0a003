// Swap runs a day of swaps through faults: deposits of USDC that become USDD and
// credits of USDD that become USDC, between two small chains that lose answers,
// refuse, drop and confirm late. Workers are killed, new swaps are stopped for a
// while, and in the middle the database is lost and rebuilt from memos and
// references. Then it proves from the chains' own ledgers that each item was paid
// out, back or aside exactly once, to the unit.
//
//	go run ./examples/swap                     the sample day, SQLite
//	go run ./examples/swap -db postgres://...  the same on PostgreSQL
//	go run ./examples/swap -file day.jsonl     another day
//	go run ./examples/swap -dir DIR            a new day, or the one in DIR that was killed
//
// The ledgers of the chains, the SQLite files and how far the day came are in one
// directory. Its processes end when the first one does, and a second run on the same
// directory, with the same other arguments, continues the day. It ends with 1 if the
// proof fails. What a host copies from here is package payer (what an item owes, and
// how it is sent), worker.go (what a payer asks) and watch.go (what is seen on the
// chains, and recovery).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/swap"
)

func main() { program.Main("swap", run0) }

// The program runs itself again as these.
const (
	roleChain  = "chain"
	roleWorker = "worker"
)

// policy is the source's with its times scaled: an hour is a second or two.
var policy = func() swap.Policy {
	p := swap.DefaultPolicy()
	p.USDCQuarantineAccount, p.USDDQuarantineAccount = "usdc-quarantine", "usdd-quarantine"
	p.OwnAccounts = []string{"solana-vault", "nexus-treasury", "vault"}
	p.RefundTimeout, p.ConfirmTimeout, p.StaleAfter = 2*time.Second, 1200*time.Millisecond, time.Minute
	p.Cooldown, p.DeferFor, p.LookEvery = 300*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	p.Lease, p.CallTimeout = 3*time.Second, 400*time.Millisecond
	p.FinalConfirmations = finality
	p.WaterlineMargin = 2 * time.Second
	return p
}()

const (
	blockEvery = 20 * time.Millisecond
	finality   = 4
)

var faults = chain.Faults{Lost: 10, Refused: 8, Dropped: 6, Late: 6, Errored: 4}

type options struct {
	db, dir, file string
	schema        string
	workers       int
	seed          uint64
	timeout       time.Duration
	json          bool
}

func run0(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 1 && args[0] == roleChain {
		return children.Run(ctx, roleChain, stdin, func(ctx context.Context, c chain.Config) error { return chain.Serve(ctx, c, stdout) })
	}
	if len(args) == 1 && args[0] == roleWorker {
		return children.Run(ctx, roleWorker, stdin, func(ctx context.Context, c workerConfig) error { return runWorker(ctx, c, stderr) })
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	return day(ctx, o, stdout, stderr)
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("swap", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "", "`path` of a new SQLite file, or a postgres URL (default a file in a temporary directory)")
	flags.StringVar(&o.dir, "dir", "", "`directory` of the ledgers and of a day that is continued (default a new temporary one)")
	flags.StringVar(&o.schema, "schema", "swap", "on PostgreSQL the day is in the schema `name`_0 and, after the loss, in name_1")
	flags.StringVar(&o.file, "file", "", "JSON-lines `file` of observations (default a sample, built in)")
	flags.IntVar(&o.workers, "workers", 3, "`N` worker processes")
	flags.Uint64Var(&o.seed, "seed", 1, "`number` that the faults come from")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Minute, "give up after so long")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.workers < 1 || o.workers > 64:
		return o, fmt.Errorf("-workers %d: 1 to 64 are possible", o.workers)
	case o.timeout <= 0:
		return o, fmt.Errorf("-timeout %v: it must be positive", o.timeout)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "settle-swap-"); err != nil {
			return o, err
		}
	}
	if at, err := os.Stat(o.dir); err != nil || !at.IsDir() {
		return o, errors.Join(fmt.Errorf("-dir %s: it must be a directory", o.dir), err)
	}
	if o.db == "" {
		o.db = filepath.Join(o.dir, "swap.db")
	}
	return o, nil
}
