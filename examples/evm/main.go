// Evm pays withdrawals of ether on a real EVM: go-ethereum's simulated chain,
// in this process, with transactions that two hot wallets sign. It lets a fee
// be too low, a reply get lost, a transfer revert, blocks leave the chain and a
// nonce be taken, and then proves from the chain alone that everything was paid
// exactly once.
//
//	cd examples/evm && go run .
//
// What a host copies from here: chain.go, which says in withdrawal events what
// a node says, and workers.go, which runs it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
	_ "modernc.org/sqlite" // registers "sqlite"
)

var (
	chainID = statemachine.ID("chain", "simulated")
	etherID = statemachine.ID("asset", "ether")
)

// The chain of the example is in a hurry. On a public one a block takes
// seconds, the depth is 12 or more, and withdrawal.DefaultPolicy fits.
const (
	confirmations = 3
	blockTime     = 60 * time.Millisecond
	patience      = 400 * time.Millisecond
)

func policy() withdrawal.Policy {
	p := withdrawal.DefaultPolicy()
	p.Backoff = statemachine.Backoff{Base: 20 * time.Millisecond, Cap: time.Second}
	p.EnqueueEvery = 50 * time.Millisecond
	p.CheckEvery = 300 * time.Millisecond
	p.Chain.Confirmations = confirmations
	p.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{
		etherID: {Automatic: decimal.NewFromInt(1), Dual: decimal.NewFromInt(10)}}}
	return p
}

func main() {
	payments := flag.Int("payments", 24, "how many withdrawals are paid before things go wrong")
	flag.Parse()
	if *payments < 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := run(ctx, *payments, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "evm:", err)
		os.Exit(1)
	}
}

// run plays the story on a new chain and a new database, and proves its end.
func run(ctx context.Context, payments int, out io.Writer) (p proof, err error) {
	db, closeDB, err := openDatabase(ctx)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, closeDB()) }()
	withdrawals, err := store.NewWithdrawals(db, policy())
	if err != nil {
		return p, err
	}
	keys := keyring{}
	s := &story{Withdrawals: withdrawals, keys: keys, stranger: demoKey("stranger"), foreign: map[string]bool{}, out: out}
	funded := []key{s.stranger}
	for _, name := range []string{"hot wallet 1", "hot wallet 2"} {
		wallet := withdrawal.HotWallet{ID: statemachine.ID("wallet", name), Chain: chainID, Role: withdrawal.WalletRoleHot,
			Status: withdrawal.WalletActive}
		if err := withdrawals.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, wallet); err != nil {
			return p, err
		}
		keys[wallet.ID] = demoKey(name)
		funded = append(funded, keys[wallet.ID])
	}
	if s.net, err = newNetwork(ctx, funded...); err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.net.backend.Close()) }()
	if err := s.play(ctx, payments); err != nil {
		return p, err
	}
	if p, err = prove(ctx, withdrawals, s.net, keys, s.foreign); err != nil {
		return p, err
	}
	p.print(out)
	return p, errors.Join(p.Broken...)
}

// play runs a miner and the workers while one act of the story follows the
// other. Both have stopped when it returns.
func (s *story) play(ctx context.Context, payments int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.net.mine(ctx, blockTime) })
	var failed error
	running.Go(func() {
		failed = work(ctx, s.Withdrawals, &chain{node: s.net, signer: s.net.signer, keys: s.keys, patience: patience, free: s.FreeNonce})
		cancel(errors.New("the workers have stopped")) // no act goes on without them
	})
	err := s.deploy(ctx)
	for _, act := range []func(context.Context) error{
		func(ctx context.Context) error { return s.payments(ctx, payments) },
		s.stuck, s.lostReply, s.reverted, s.reorg, s.usurped, s.bumpedOutside,
	} {
		if err == nil {
			err = act(ctx)
		}
	}
	cancel(err)
	running.Wait()
	return errors.Join(err, failed)
}

// openDatabase makes an SQLite database that lasts as long as the chain.
func openDatabase(ctx context.Context) (*sqlstore.Store, func() error, error) {
	dir, err := os.MkdirTemp("", "settle-evm-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	db, err := sql.Open("sqlite", filepath.Join(dir, "evm.db"))
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return nil, nil, errors.Join(err, db.Close(), remove())
	}
	s, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close(), remove())
	}
	return s, func() error { return errors.Join(s.Close(), db.Close(), remove()) }, nil
}
