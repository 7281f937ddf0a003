// Withdrawal pays a batch: it submits the rows, has them approved by policy,
// pays them through a small chain of its own, confirms them, and then proves
// from the chain's ledger that each was paid exactly once.
//
//	go run ./examples/withdrawal                     a sample of 300 rows, SQLite, 4 workers
//	go run ./examples/withdrawal -chaos -seed 7      workers are killed, the node misbehaves
//	go run ./examples/withdrawal -together 8         one transaction pays up to 8 requests
//	go run ./examples/withdrawal -db postgres://...  the same on PostgreSQL; needs -ledger
//	go run ./examples/withdrawal -db ... -lossless   its synchronous standby may take over meanwhile
//
// It may be killed at any point, all of its processes at once too: running it
// again on the same database and ledger goes on from there, and pays nothing
// twice. A batch that was paid already changes nothing.
//
// What a host copies from here: the handlers (pay.go, confirm.go, together.go), how they
// are run (work in child.go), and how requests come in (intake.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/withdrawal/node"
)

func main() { program.Main("withdrawal", run) }

type options struct {
	db       string // path of a file, or URL of a PostgreSQL database
	lossless bool   // a standby of the database that takes over lacks no commit
	ledger   string // path of the chain's file
	batch    string // path of a file; empty for the sample
	workers  int
	wallets  int
	several  int // requests that one transaction pays at most; 0: each alone
	chaos    bool
	seed     uint64
	timeout  time.Duration
	json     bool
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 1 && (args[0] == roleNode || args[0] == roleWorker) {
		return child(ctx, args[0], stdin, stdout, stderr)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	return pay(ctx, o, stdout, stderr)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("withdrawal", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "", "`path` of an SQLite file, or a postgres URL (default a new file in a temporary directory)")
	flags.BoolVar(&o.lossless, "lossless", false, "the standby of the PostgreSQL database is synchronous: work goes on after a promotion")
	flags.StringVar(&o.ledger, "ledger", "", "`file` of the chain (default beside the SQLite file)")
	flags.StringVar(&o.batch, "batch", "", "CSV `file` of payments: user,asset,chain,address,amount,priority (default a sample, built in)")
	flags.IntVar(&o.workers, "workers", 4, "`N` worker processes")
	flags.IntVar(&o.wallets, "wallets", 4, "`N` hot wallets of a new ledger")
	flags.IntVar(&o.several, "together", 0, "pay up to `N` requests by one transaction (default each alone)")
	flags.BoolVar(&o.chaos, "chaos", false, "kill workers and the node while they run, and let the node misbehave")
	flags.Uint64Var(&o.seed, "seed", 1, "`number` that the choices of -chaos come from")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after so long; running again goes on")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.workers < 1 || o.workers > 64:
		return o, fmt.Errorf("-workers %d: 1 to 64 are possible", o.workers)
	case o.wallets < 1 || o.wallets > 64:
		return o, fmt.Errorf("-wallets %d: 1 to 64 are possible", o.wallets)
	case o.several < 0 || o.several > node.MaxTransfers:
		return o, fmt.Errorf("-together %d: 0 to %d are possible", o.several, node.MaxTransfers)
	case o.timeout <= 0:
		return o, fmt.Errorf("-timeout %v: it must be positive", o.timeout)
	case program.IsPostgres(o.db) && o.ledger == "":
		return o, errors.New("-db with a postgres URL needs -ledger: the database and the chain belong together")
	}
	if o.db == "" {
		var err error
		if o.db, err = program.Temporary("withdrawal"); err != nil {
			return o, err
		}
	}
	if o.ledger == "" {
		o.ledger = o.db + ".ledger"
	}
	if !program.IsPostgres(o.db) {
		fmt.Fprintf(stderr, "the database is %s, the chain is %s\n", o.db, o.ledger)
	}
	return o, nil
}
