// Refresh keeps a few hundred wallets fresh: an HTTP wallet API with a small
// simulation of transfers behind it, and refresh workers beside it that are killed
// while they work. At the end it proves that no job was lost, that each watcher
// ended as its transfer did, and that no wallet was refreshed twice at a time.
//
//	go run ./examples/refresh                      200 wallets, SQLite, 2 workers, 3 kills
//	go run ./examples/refresh -db postgres://...   the same on PostgreSQL
//	REFRESH_INTERVAL=1 go run ./examples/refresh   the workers read the environment
//
// Time is accelerated: a second of the settings' defaults lasts -second. Those
// that are set in the environment (REFRESH_INTERVAL and so on, see
// refresh.ParsePolicy) count as they are.
//
// What a host copies from here: the calls of its API (client.go), how a worker is
// run (worker.go), and how requests enqueue jobs (api.go).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/refresh"
)

func main() { program.Main("refresh", run) }

type options struct {
	db      string
	wallets int
	workers int
	kills   int
	second  time.Duration
	timeout time.Duration
	json    bool
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 1 && args[0] == roleWorker {
		return children.Run(ctx, roleWorker, stdin, func(ctx context.Context, s workerSettings) error { return work(ctx, s, stderr) })
	}
	var o options
	flags := flag.NewFlagSet("refresh", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "",
		"`path` of an SQLite file, or a postgres URL (default POSTGRES_URL, else a new file in a temporary directory)")
	flags.IntVar(&o.wallets, "wallets", 200, "`N` wallets")
	flags.IntVar(&o.workers, "workers", 2, "`N` worker processes")
	flags.IntVar(&o.kills, "kills", 3, "how often a worker is killed")
	flags.DurationVar(&o.second, "second", 20*time.Millisecond, "how long a second of the defaults lasts")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Minute, "give up after so long")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.wallets < 1 || o.wallets > 10_000:
		return fmt.Errorf("-wallets %d: 1 to 10000 are possible", o.wallets)
	case o.workers < 1 || o.workers > 16:
		return fmt.Errorf("-workers %d: 1 to 16 are possible", o.workers)
	case o.kills < 0 || o.kills > 100:
		return fmt.Errorf("-kills %d: 0 to 100 are possible", o.kills)
	case o.second < time.Millisecond || o.second > time.Second:
		return fmt.Errorf("-second %v: 1ms to 1s is possible", o.second)
	case o.timeout <= 0:
		return fmt.Errorf("-timeout %v: it must be positive", o.timeout)
	}
	if o.db == "" {
		o.db = os.Getenv("POSTGRES_URL")
	}
	if o.db == "" {
		var err error
		if o.db, err = program.Temporary("refresh"); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "the database is", o.db)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done after %v", o.timeout))
	defer cancel()
	return play(ctx, o, stdout, stderr)
}

// accelerated is the environment with the source's settings that it lacks, at a
// second of so long. What a slow machine needs is not made shorter.
func accelerated(second time.Duration) func(name string) (string, bool) {
	c := refresh.DefaultPolicy()
	scaled := func(d, least time.Duration) string {
		d = max(d*second/time.Second, least).Round(time.Millisecond)
		return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	}
	all := map[string]string{
		"REFRESH_INTERVAL":            scaled(c.RefreshInterval, 0),
		"RETRY_DELAY_BASE":            scaled(c.RetryDelayBase, 0),
		"POLL_INTERVAL":               scaled(c.PollInterval, 50*time.Millisecond),
		"WALLET_WORKER_IDLE_TIMEOUT":  scaled(c.WalletWorkerIdleTimeout, 0),
		"WALLET_WORKER_POLL_INTERVAL": scaled(c.WalletWorkerPollInterval, 50*time.Millisecond),
		"HTTP_TIMEOUT":                scaled(c.HTTPTimeout, c.HTTPTimeout),
		"DURATION_RCV_TRANSFER":       "2", // expirations are whole seconds
	}
	return func(name string) (string, bool) {
		if v, ok := os.LookupEnv(name); ok {
			return v, true
		}
		v, ok := all[name]
		return v, ok
	}
}

// configure is the configuration of the workers and of the API alike.
func configure(second time.Duration, apiURL string) (refresh.Policy, error) {
	env := accelerated(second)
	c, err := refresh.ParsePolicy(func(name string) (string, bool) {
		if name == "API_URL" && apiURL != "" {
			return apiURL, true
		}
		return env(name)
	})
	if err != nil {
		return c, err
	}
	c.ProvisionalTTL = c.ProvisionalTTL * second / time.Second
	c.LockTTL = max(c.LockTTL*second/time.Second, 5*time.Second) // as HTTP_TIMEOUT: a call of a dead holder has ended before the next begins
	c.MaxHungPause = max(c.MaxHungPause*second/time.Second, c.RefreshInterval)
	return c, c.Validate()
}
