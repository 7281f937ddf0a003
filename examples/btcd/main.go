// Btcd runs a wallet service against a real node: btcd in regtest, built from
// its module. Customers deposit, payouts are paid, replaced and bumped with real
// signatures, blocks leave the chain, a deposit is double-spent, the service and
// its node are killed at random. Then the end is proved from the node's own
// chain: every deposit is credited once, every payout paid once, and the wallet
// holds what the chain says.
//
//	cd examples/btcd && go run .
//
// Each run is a new story in a new folder, with nodes and a database of its own: one that
// was killed is not continued, its processes end with the first one, and its folder, which
// the first line of the output names, may be removed. That a service continues where it was
// killed is a part of each story.
//
// It builds btcd with the go command; nothing but Go is needed. What a host
// copies from here: follow.go, credit.go, pay.go and service.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "node" {
		if err := keepNode(os.Args[2:]); err != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		ctx, alone := withParent(ctx)
		defer alone()
		err := serve(ctx, os.Args[2], os.Args[3], os.Stderr)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, "btcd service:", err)
			os.Exit(1)
		}
		return
	}
	duration := flag.Duration("duration", 25*time.Second, "how long things go wrong")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of what happens")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := run(ctx, *duration, *seed, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "btcd:", err)
		os.Exit(1)
	}
}

// run plays the story in a folder of its own, which it keeps if the proof fails.
func run(ctx context.Context, duration time.Duration, seed uint64, out io.Writer) (p proof, err error) {
	dir, err := os.MkdirTemp("", "settle-btcd-")
	if err != nil {
		return p, err
	}
	fmt.Fprintf(out, "seed %d, in %s\n", seed, dir)
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		pause(context.Background(), 200*time.Millisecond) // the nodes end
		if err == nil {
			err = os.RemoveAll(dir)
		}
	}()
	binary, err := buildNode(ctx, dir)
	if err != nil {
		return p, err
	}
	w := &world{random: rand.New(rand.NewPCG(seed, 0)), file: filepath.Join(dir, "service.db"), out: out}
	if err := w.start(ctx, binary, dir); err != nil {
		return p, err
	}
	if err := w.play(ctx, duration); err != nil {
		return p, err
	}
	if err := w.finish(ctx); err != nil {
		return p, errors.Join(err, w.describe(ctx))
	}
	if p, err = w.prove(ctx); err != nil {
		return p, errors.Join(err, w.describe(ctx))
	}
	fmt.Fprintln(out, p)
	return p, nil
}
