// Relaysync provisions relays at a relay-hosting server of its own, and bills for
// them. A server process has zooid's HTTP contract and misbehaves; two reactor
// processes bring relays to it over net/http and are killed in the middle; then
// ninety days of dunning pass in accelerated time. In the end it proves, from
// the server's records, from a ledger of payments and from the database, that
// every relay is there as it was changed last, with the secret that it was made
// with, that nobody paid twice, and that each reminder was sent once.
//
//	go run .                      three dozen relays, SQLite, about a minute
//	go run . -db postgres://...   the same on PostgreSQL
//	go run . -base 30s            with the source's own delays, up to an hour
//
// What a host copies from here: the signer (signer.go), how the reactor is run
// (child.go), and the steps of a biller (biller.go).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/settlehq/settle/examples/internal/program"
)

func main() { program.Main("relaysync", run) }

type options struct {
	db      string // path of a file, or URL of a PostgreSQL database
	relays  int
	base    time.Duration
	seed    uint64
	timeout time.Duration
	json    bool
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 1 && (args[0] == roleServer || args[0] == roleReactor) {
		return child(ctx, args[0], stdin, stdout, stderr)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	r, err := everything(ctx, o, stderr)
	if err != nil {
		return err
	}
	return r.conclude(o.json, stdout)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("relaysync", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "",
		"`path` of a new SQLite file, or a postgres URL of a database that is used for nothing else (default a file in a temporary directory)")
	flags.IntVar(&o.relays, "relays", 36, "`N` relays")
	flags.DurationVar(&o.base, "base", defaultBase,
		"the first delay after a failure; the source's is 30s, and below 400ms the time-outs are shorter too")
	flags.Uint64Var(&o.seed, "seed", 1, "`number` that the server's faults come from")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Hour, "give up after so long")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.relays < 4 || o.relays > 1000:
		return o, fmt.Errorf("-relays %d: 4 to 1000 are possible", o.relays)
	case o.base < 50*time.Millisecond || o.base > time.Minute:
		return o, fmt.Errorf("-base %v: 50ms to 1m are possible", o.base)
	case o.timeout <= 0:
		return o, fmt.Errorf("-timeout %v: it must be positive", o.timeout)
	}
	if o.db == "" {
		var err error
		if o.db, err = program.Temporary("relaysync"); err != nil {
			return o, err
		}
		fmt.Fprintln(stderr, "the database is", o.db)
	}
	return o, nil
}
