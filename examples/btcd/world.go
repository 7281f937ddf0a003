package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// world is everything around the service: the network with its miner, the
// customers, and what goes wrong.
type world struct {
	random *rand.Rand
	out    io.Writer
	file   string // of the service's database

	miner *node // the network; it is never killed
	node  *node // the service's own, which knows what the miner tells it
	db    *sql.DB

	mu      sync.Mutex
	service *exec.Cmd
	kills   int

	coinbases []wire.OutPoint // of the miner, mature ones first
	deposits  []*wire.MsgTx   // the last of them may be double-spent
	payouts   int
	reorgs    int
	doubles   int
}

const coinbaseAmount = 50_0000_0000

// start mines coins for the customers and starts the service on its own node.
func (w *world) start(ctx context.Context, binary, dir string) error {
	address, err := regtestAddress("miner")
	if err != nil {
		return err
	}
	miner, listen, err := newNode(binary, dir, "miner", address, "")
	if err != nil {
		return err
	}
	if w.node, _, err = newNode(binary, dir, "node", "", listen); err != nil {
		return err
	}
	w.miner = miner
	go w.miner.keep(ctx)
	if err := w.until(ctx, "the miner answers", func() bool {
		_, _, err := w.miner.tip(ctx)
		return err == nil
	}); err != nil {
		return err
	}
	if err := w.mine(ctx, 140); err != nil {
		return err
	}
	for height := int32(1); height <= 38; height++ {
		hash, err := w.miner.hashAt(ctx, height)
		if err != nil {
			return err
		}
		block, err := w.miner.block(ctx, hash)
		if err != nil {
			return err
		}
		w.coinbases = append(w.coinbases, wire.OutPoint{Hash: block.Transactions[0].TxHash()})
	}
	go w.node.keep(ctx)
	d, err := openDatabase(ctx, w.file) // makes the tables
	if err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	if w.db, err = connect(w.file); err != nil {
		return err
	}
	go w.keepService(ctx)
	return w.until(ctx, "the service follows its node", func() bool {
		heights, err := column[int32](ctx, w.db, "SELECT coalesce(max(block_height), 0) FROM blocks")
		return err == nil && heights[0] == 140
	})
}

// keepService keeps a service running in a process of its own.
func (w *world) keepService(ctx context.Context) {
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintln(w.out, err)
		return
	}
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, program, "serve", w.file, w.node.address)
		cmd.Stderr = w.out
		if end, err := startBound(cmd); err == nil {
			w.mu.Lock()
			w.service = cmd
			w.mu.Unlock()
			_ = cmd.Wait()
			_ = end.Close()
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func (w *world) killService() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.service != nil && w.service.Process.Kill() == nil {
		w.kills++
	}
}

func (w *world) mine(ctx context.Context, blocks int) error {
	return w.miner.call(ctx, "generate", nil, blocks)
}

// play lets things happen, good and bad, in a random order.
func (w *world) play(ctx context.Context, duration time.Duration) error {
	for end, i := time.Now().Add(duration), 0; ctx.Err() == nil && (time.Now().Before(end) || i < 60); i++ {
		var err error
		switch roll := w.random.IntN(100); {
		case i == 20 || i == 40:
			err = w.doubleSpend(ctx)
		case i == 30:
			w.node.kill()
		case i < 3 || roll < 16:
			err = w.deposit(ctx)
		case roll < 46:
			err = w.payout(ctx, 20_000+w.random.Int64N(2_000_000))
		case roll < 78:
			err = w.mine(ctx, 1)
		case roll < 86:
			err = w.reorg(ctx, 1+w.random.IntN(2))
		case roll < 96:
			w.killService()
		default:
			w.node.kill()
		}
		if err != nil {
			return err
		}
		pause(ctx, time.Duration(20+w.random.IntN(300))*time.Millisecond)
	}
	return ctx.Err()
}

// deposit pays customers from a coinbase of the miner.
func (w *world) deposit(ctx context.Context) error {
	if len(w.coinbases) == 0 {
		return nil
	}
	from := w.coinbases[0]
	w.coinbases = w.coinbases[1:]
	amounts := make([]int64, 1+w.random.IntN(3))
	for i := range amounts {
		amounts[i] = 100_000 + w.random.Int64N(4_000_000)
	}
	tx, err := w.pay(from, 2000, amounts...)
	if err != nil {
		return err
	}
	w.deposits = append(w.deposits, tx)
	return w.miner.send(ctx, tx)
}

// pay makes a signed transaction to customers, with a fee.
func (w *world) pay(from wire.OutPoint, fee int64, amounts ...int64) (*wire.MsgTx, error) {
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(&wire.TxIn{PreviousOutPoint: from, Sequence: wire.MaxTxInSequenceNum - 2})
	rest := coinbaseAmount - fee
	for _, amount := range amounts {
		rest -= amount
		tx.AddTxOut(wire.NewTxOut(amount, script(customer(w.random.IntN(customers)))))
	}
	tx.AddTxOut(wire.NewTxOut(rest, script("miner")))
	spends := []*wire.TxOut{wire.NewTxOut(coinbaseAmount, script("miner"))}
	return tx, sign(tx, spends, []string{"miner"})
}

func payee(id int) []byte { return script(fmt.Sprintf("payee %d", id)) }

// payout asks the service to pay somebody, each a script of their own.
func (w *world) payout(ctx context.Context, amount int64) error {
	w.payouts++
	_, err := w.db.ExecContext(ctx, "INSERT INTO payouts (id, script, amount) VALUES ($1, $2, $3)", w.payouts, payee(w.payouts), amount)
	return err
}

// reorg takes blocks from the chain of the network and mines one more. Their
// transactions go back to the mempool.
func (w *world) reorg(ctx context.Context, blocks int) error {
	w.reorgs++
	height, _, err := w.miner.tip(ctx)
	if err != nil {
		return err
	}
	hash, err := w.miner.hashAt(ctx, height-int32(blocks)+1)
	if err != nil {
		return err
	}
	if err := w.miner.call(ctx, "invalidateblock", nil, hash.String()); err != nil {
		return err
	}
	return w.mine(ctx, blocks+1)
}

// doubleSpend confirms a deposit that is larger than all others together, waits
// until the service has spent it, and has it replaced by another in a reorg:
// the payments that
// spent it are dead, and are made again once that is sure.
func (w *world) doubleSpend(ctx context.Context) error {
	if len(w.coinbases) == 0 {
		return nil
	}
	w.doubles++
	from := w.coinbases[0]
	w.coinbases = w.coinbases[1:]
	first, err := w.pay(from, 2000, 30_0000_0000)
	if err != nil {
		return err
	}
	second, err := w.pay(from, 5_000_000, 20_0000_0000, 10_0000_0000) // its fee is above all that hangs on the first
	if err != nil {
		return err
	}
	if err := w.miner.send(ctx, first); err != nil {
		return err
	}
	if err := w.mine(ctx, 1); err != nil {
		return err
	}
	height, hash, err := w.miner.tip(ctx)
	if err != nil {
		return err
	}
	if err := w.payout(ctx, 15_0000_0000*int64(w.doubles)); err != nil {
		return err
	}
	if err := w.until(ctx, fmt.Sprintf("payout %d is in the mempool at height %d", w.payouts, height), func() bool {
		versions, err := column[string](ctx, w.db, "SELECT hash FROM versions WHERE payout = $1", w.payouts)
		if err != nil {
			return false
		}
		pool, err := w.miner.mempool(ctx)
		return err == nil && slices.ContainsFunc(pool, func(h chainhash.Hash) bool { return slices.Contains(versions, h.String()) })
	}); err != nil {
		return err
	}
	if err := w.miner.call(ctx, "invalidateblock", nil, hash.String()); err != nil {
		return err
	}
	if err := w.miner.send(ctx, second); err != nil {
		return fmt.Errorf("double spend: %w", err)
	}
	w.deposits = append(w.deposits, second)
	return w.mine(ctx, 2)
}

// finish kills nobody any more, mines until everything is settled, and sends
// all that is left.
func (w *world) finish(ctx context.Context) error {
	if err := w.settled(ctx); err != nil {
		return err
	}
	if err := w.until(ctx, "leases have ended", func() bool {
		leases, err := column[int](ctx, w.db, "SELECT count(*) FROM utxo_leases WHERE expires_at > CURRENT_TIMESTAMP")
		return err == nil && leases[0] == 0
	}); err != nil {
		return err
	}
	if err := w.payout(ctx, 0); err != nil {
		return err
	}
	return w.settled(ctx)
}

func (w *world) settled(ctx context.Context) error {
	round := 0
	return w.until(ctx, "all is settled", func() bool {
		if round++; round%3 == 0 {
			if w.mine(ctx, 1) != nil {
				return false
			}
		}
		if round%50 == 0 {
			w.node.kill() // with what it keeps to itself in its mempool
		}
		open, err := column[int](ctx, w.db, "SELECT (SELECT count(*) FROM payouts WHERE done = 0) + "+
			"(SELECT count(*) FROM deposits WHERE state = 'waiting' AND in_chain)")
		if err != nil || open[0] > 0 {
			return false
		}
		for _, tx := range w.deposits {
			n, err := column[int](ctx, w.db, "SELECT count(*) FROM credits WHERE outpoint LIKE $1", tx.TxHash().String()+":%")
			if err != nil || n[0] != len(tx.TxOut)-1 {
				return false
			}
		}
		_, hash, err := w.miner.tip(ctx)
		if err != nil {
			return false
		}
		ours, err := column[[]byte](ctx, w.db, "SELECT block_hash FROM blocks ORDER BY block_height DESC LIMIT 1")
		return err == nil && chainhash.Hash(ours[0]) == hash
	})
}

// until waits for something. How long it takes is the machine's business: only the end of
// ctx ends the wait.
func (w *world) until(ctx context.Context, what string, ok func() bool) error {
	for !ok() {
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}
