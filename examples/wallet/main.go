// Wallet replays Bitcoin blocks into a wallet, shows what it holds, and then
// lets the last blocks leave the chain and come back.
//
//	go run ./examples/wallet                            blocks 0 to 300, one script, SQLite
//	go run ./examples/wallet -watch all -reorg 200      every output is ours
//	go run ./examples/wallet -db postgres://...         the same on PostgreSQL
//
// It may be stopped, or killed, at any point, in the reorg too: what was
// committed stays, and running it again continues there.
//
// What a host copies from here: how to open the database (database.go), how to
// feed blocks in and go on after an error (replay.go), how to take them back
// (reorg.go), and how to read several things at one moment (state.go).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

func main() {
	program.Main("wallet", func(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
		return run(ctx, args, stdout, stderr)
	})
}

type options struct {
	db         string // path of a file, or URL of a PostgreSQL database
	blocks     string // path of a file; empty for the built-in one
	watch      watchSet
	reorg      int
	reorgAsked bool // it is not the default
	json       bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, o.db, o.watch, stderr)
	if err != nil {
		return err
	}
	return errors.Join(show(ctx, db, o, stdout, stderr), db.Close())
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("wallet", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "", "`path` of an SQLite file, or a postgres URL (default a new file in a temporary directory)")
	flags.StringVar(&o.blocks, "blocks", "",
		"`file` of mainnet blocks from block 0 on, framed as bitcoind does (default blocks 0 to 300, built in)")
	flags.Func("watch", "output `script` in hex that is ours, repeatable, or all (default the script of block 9's coinbase)", o.watch.add)
	flags.IntVar(&o.reorg, "reorg", 120, "disconnect the last `N` blocks, show what changes, and reconnect them; 0 does not")
	flags.BoolVar(&o.json, "json", false, "print one object with the state at the end, and everything else to the standard error")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.reorg < 0 {
		return o, fmt.Errorf("-reorg %d: a number of blocks is not negative", o.reorg)
	}
	flags.Visit(func(f *flag.Flag) { o.reorgAsked = o.reorgAsked || f.Name == "reorg" })
	return o, o.watch.complete()
}

// walletID is the one wallet that the program keeps in its database.
const walletID utxo.WalletID = 1

// wallet is the program at work on a store, which can be any.
type wallet struct {
	store   store.Store[store.Unit]
	service *store.Wallets
	blocks  string
	out     io.Writer // what the user wants to know
	log     io.Writer // what goes on
}

// show runs the whole demonstration.
func show(ctx context.Context, db store.Store[store.Unit], o options, stdout, stderr io.Writer) error {
	service, err := store.NewWallets(db, o.watch.policy())
	if err != nil {
		return err
	}
	w := &wallet{store: db, service: service, blocks: o.blocks, out: stdout, log: stderr}
	if o.json {
		w.out = stderr
	}
	if _, err := w.service.Do(ctx, utxo.WalletOpened{Wallet: walletID}); err != nil {
		return err
	}
	count, err := w.replay(ctx)
	if err != nil {
		return err
	}
	end, err := w.state(ctx)
	if err != nil {
		return err
	}
	if err := w.print(ctx, end); err != nil {
		return err
	}
	if err := w.reorg(ctx, o, end, count); err != nil || !o.json {
		return err
	}
	return json.NewEncoder(stdout).Encode(end)
}
