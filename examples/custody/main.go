// Custody is a day at a custodial service: deposits on Bitcoin, withdrawals, swaps of stablecoins,
// wallets that are kept fresh, and hosted relays with their bills. All of it is in one SQLite file,
// beside a double-entry book of the service's own.
//
//	go run ./examples/custody                  a day in 15 seconds, and a report
//	go run ./examples/custody -console :8080   the same, with a web page that shows it live
//
// During the day its two workers are killed at random, most often in the middle of a transaction,
// and every node and provider loses messages and answers. The report compares the book, the records
// of settle and the simulated chains. The program ends with 1 if they do not agree.
//
// What a service copies: service.go (opens the database, and runs the loops), ledger.go (the
// book), deposits.go, withdrawals.go, swaps.go, refreshes.go and relays.go. What stands for the
// world outside is in outside.go, the day itself in day.go, and its proof in report.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/settlehq/settle/store/console"
	"github.com/settlehq/settle/store/ops"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "custody:", err)
		os.Exit(1)
	}
}

type options struct {
	db, console string
	log         bool
	seed        uint64
	length      time.Duration
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("custody", flag.ContinueOnError)
	flags.StringVar(&o.db, "db", "", "`path` of a new SQLite file, which is kept (default a file in a temporary directory)")
	flags.StringVar(&o.console, "console", "", "`address` on which a web page shows everything, until the program is interrupted")
	flags.BoolVar(&o.log, "log", false, "show the log, which is long: every kill is noticed by many")
	flags.Uint64Var(&o.seed, "seed", 1, "`number` that the orders, faults and kills come from")
	flags.DurationVar(&o.length, "length", 15*time.Second, "how long a day lasts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.length <= 0 {
		return fmt.Errorf("unexpected argument %q, or a -length of %v", flags.Arg(0), o.length)
	}
	if !o.log {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	dir, err := os.MkdirTemp("", "settle-custody-") // the simulated chains, and the database unless -db names another
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.db == "" {
		o.db = filepath.Join(dir, "custody.db")
	} else if _, err := os.Stat(o.db); err == nil {
		return fmt.Errorf("%s is there already: the simulated chains begin with each day, and so must the database", o.db)
	}
	fmt.Fprintln(out, "custody: opens SQLite and makes its tables; then a day passes in", o.length)
	return live(ctx, o, dir, out)
}

// live opens everything, lets the day pass, and prints the report.
func live(ctx context.Context, o options, dir string, out io.Writer) (err error) {
	world, err := newOutside(dir, o.seed)
	if err != nil {
		return err
	}
	conn, err := openSQLite(ctx, o.db)
	if err != nil {
		return err
	}
	s, err := openService(ctx, conn, world)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if o.console != "" {
		stop, err := serve(o.console, s)
		if err != nil {
			return err
		}
		defer stop()
		fmt.Fprintf(out, "the console is on %s\n", o.console)
	}
	d := &day{options: o, service: s, print: out}
	if err := d.pass(ctx); err != nil {
		return err
	}
	if err := d.report(context.WithoutCancel(ctx)); err != nil || o.console == "" {
		return err
	}
	fmt.Fprintln(out, "the console goes on until you interrupt the program")
	<-ctx.Done()
	return nil
}

// serve shows the console to everybody who reaches the address: a service asks who they are.
func serve(address string, s *service) (stop func(), err error) {
	anybody := func(*http.Request) (console.Operator, error) { return console.Operator{ID: "anybody"}, nil }
	pages, err := console.New(console.Options{Services: s.Services, Limits: ops.DefaultLimits(), Auth: anybody})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until stop
	return func() { _ = server.Close() }, nil
}
