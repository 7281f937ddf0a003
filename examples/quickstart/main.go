// Quickstart pays one withdrawal from an SQLite file, through a node that loses
// messages and answers. A service copies open, submit and serve, and brings its own
// node and signer.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
	_ "modernc.org/sqlite" // the driver is yours
)

func main() {
	dir, err := os.MkdirTemp("", "settle-quickstart-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := quickstart(context.Background(), filepath.Join(dir, "settle.db")); err != nil {
		log.Fatal(err)
	}
}

func quickstart(ctx context.Context, file string) error {
	conn, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer conn.Close()
	policy := withdrawal.DefaultPolicy()
	policy.CheckEvery = time.Second // 15 s by default
	// No nonces and no inputs: what was signed is mined within 100 blocks, or never. One block is final.
	policy.Chain = withdrawal.Chain{Confirmations: 1, MinedWithin: 100}
	withdrawals, err := open(ctx, conn, policy)
	if err != nil {
		return err
	}
	chain, request := statemachine.ID("chain", "demo"), uuid.New()
	if err := submit(ctx, withdrawals, chain, request); err != nil {
		return err
	}
	node := &fakeNode{paid: map[string]int{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, withdrawals, chain, node, sign) }()
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(policy.CheckEvery / 10):
		}
		w, err := withdrawals.Get(ctx, request)
		if err != nil || w.Request.Status == withdrawal.RequestCompleted {
			stop()
			err = errors.Join(err, <-ended)
			fmt.Printf("%s: the node has %d payment\n", w.Request.Status, len(node.paid))
			return err
		}
	}
}

// open brings the tables up to date and returns the service of withdrawals.
func open(ctx context.Context, conn *sql.DB, policy withdrawal.Policy) (*store.Withdrawals, error) {
	if err := sqlstore.Migrate(ctx, conn, sqlstore.SQLite, sqlstore.Options{}); err != nil { // any number of processes may call it
		return nil, err
	}
	db, err := sqlstore.Open(ctx, conn, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	return store.NewWithdrawals(db, policy)
}

// submit stores what a user asks for, and an approval.
func submit(ctx context.Context, withdrawals *store.Withdrawals, chain, request uuid.UUID) error {
	asset := statemachine.ID("asset", "USDX") // of the host's own names and numbers
	wallet := withdrawal.HotWallet{ID: statemachine.ID("wallet", "hot"), Chain: chain, Role: withdrawal.WalletRoleHot,
		Status: withdrawal.WalletActive}
	if err := withdrawals.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, wallet); err != nil {
		return err
	}
	intake := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	_, err := withdrawals.Do(ctx, request, // one transaction: both events, or none
		withdrawal.Submitted{By: intake, Request: request, User: statemachine.ID("user", "17"), Asset: asset, Chain: chain,
			ToAddress: "alice", Amount: "12.5", Decimals: 6},
		withdrawal.Approved{By: withdrawal.By{Actor: "desk", Role: withdrawal.Approver}})
	return err
}

// Node is what a host brings: it sends bytes, and says in which block a transaction is.
type Node interface {
	Send(ctx context.Context, raw []byte) error
	Mined(ctx context.Context, hash string) (block withdrawal.Block, found bool, err error)
}

// serve pays what is approved on a chain, and looks up what was sent, until ctx is done.
func serve(ctx context.Context, withdrawals *store.Withdrawals, chain uuid.UUID, node Node,
	sign func(withdrawal.Job) (hash string, raw []byte)) error {
	type held = store.HeldWithdrawal
	say := func(w withdrawal.Withdrawal, events ...withdrawal.Event) held {
		return held{Withdrawal: w, Events: events}
	}
	pay := func(ctx context.Context, w withdrawal.Withdrawal) held {
		by, fence := withdrawal.By{Actor: w.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}, w.Job.Lease.Fence
		if w.Job.Status == withdrawal.JobConfirming { // the node has lost the transaction: it gets the same bytes again
			tx := w.Live()[0]
			return say(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: tx.Hash, Done: node.Send(ctx, tx.Raw) == nil})
		}
		hash, raw := sign(w.Job)
		stored, err := withdrawals.DoHeld(ctx, say(w, withdrawal.Prepared{By: by, Fence: fence, Hash: hash, Raw: raw}))
		if err != nil { // stored or not, nothing was sent: once the lease has ended, the record says how to go on
			slog.Error("not prepared", "request", w.Request.ID, "error", err)
			return say(w)
		}
		if err := node.Send(ctx, raw); err != nil { // a time-out is no failure: the transaction will be looked up
			return say(stored[0], withdrawal.AttemptFailed{By: by, Fence: fence, Failure: withdrawal.Unclear, Error: err.Error()})
		}
		return say(stored[0], withdrawal.Broadcast{By: by, Fence: fence, Hash: hash})
	}
	look := func(ctx context.Context, w withdrawal.Withdrawal) held {
		by, missing := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, []withdrawal.Event(nil)
		for _, tx := range w.Live() { // whichever is mined pays
			block, found, err := node.Mined(ctx, tx.Hash)
			switch {
			case err != nil: // no answer is no evidence
				return say(w, withdrawal.Missing{By: by, Tx: tx.Hash, Error: err.Error()})
			case found:
				return say(w, withdrawal.Receipt{By: by, Tx: tx.Hash, Block: block})
			}
			missing = append(missing, withdrawal.Missing{By: by, Tx: tx.Hash})
		}
		return say(w, missing...)
	}
	order := func(r withdrawal.Request) withdrawal.Enqueued { // a job for what was approved, from the wallet that was used longest ago
		return withdrawal.Enqueued{By: withdrawal.By{Actor: "payer", Role: withdrawal.System}, Job: uuid.New(), AssetOnChain: r.Asset}
	}
	return withdrawals.Run(ctx, store.RunWithdrawals{Chains: []uuid.UUID{chain}, Pay: pay, Look: look, Order: order, Log: slog.Default()})
}
