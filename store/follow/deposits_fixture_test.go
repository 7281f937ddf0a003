package follow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// exchange is a host that credits its customers, with a chain that it follows.
type exchange struct {
	*host
	wallets *store.Wallets
	policy  utxo.DepositPolicy
	chain   []utxo.Connected // the best chain, from height 1
	third   bool             // there is a third wallet
	salt    uint32
	credits string // the table of postings
	r       *runner
}

const depth = 3

func exchanges(t *testing.T, test func(*testing.T, *exchange)) {
	both(t, func(t *testing.T, h *host) { test(t, newExchange(h)) })
}

func newExchange(h *host) *exchange {
	x := &exchange{host: h, credits: strings.Replace(h.table, "host_lines", "host_credits", 1)}
	x.policy = utxo.DepositPolicy{
		Customer: func(o utxo.Owner) bool { return o.Tag != "change" && o.Tag != "hot" },
		Depth:    func(utxo.Owner, int64) int32 { return depth },
		Minimum:  2, Maturity: utxotest.Policy().Maturity,
	}
	x.exec("CREATE TABLE " + x.credits + " (outpoint text, round integer, kind text, tag text, amount bigint, actor text, reason text, " +
		"PRIMARY KEY (outpoint, round, kind))")
	ours := utxotest.Policy()
	ours.Owner = func(script []byte) (utxo.Owner, bool) {
		o, ok := utxotest.Policy().Owner(script)
		return o, ok && (o.Wallet != 3 || x.third)
	}
	var err error
	x.wallets, err = store.NewWallets(h.store, ours)
	if err != nil {
		h.t.Fatal(err)
	}
	x.do(utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.WalletOpened{Wallet: 2, Birth: 1})
	x.restart()
	return x
}

// restart is another process that credits.
func (x *exchange) restart() {
	x.t.Helper()
	r, err := newDeposits(x.store, Consumer{Lines: 3}, x.policy, x.credit)
	if err != nil {
		x.t.Fatal(err)
	}
	if x.r != nil {
		x.r.release(x.t.Context())
	}
	x.r = r
}

func (x *exchange) do(events ...utxo.Event) {
	x.t.Helper()
	if _, err := x.wallets.Do(x.t.Context(), events...); err != nil {
		x.t.Fatal(err)
	}
}

// credit is the function of the host. A fact that it gets twice is a failure, and so is
// one after which the facts of the output are not 0 or its amount.
func (x *exchange) credit(ctx context.Context, tx sqlstore.Tx, _ store.Unit, facts []Fact) error {
	for _, f := range facts {
		amount := f.Amount
		if f.Kind == utxo.FactReversed {
			amount = -amount
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO "+x.credits+" VALUES ($1, $2, $3, $4, $5, $6, $7)",
			f.OutPoint.String(), f.Round, f.Kind.String(), f.Tag, amount, f.Actor, f.Reason)
		if err != nil {
			return err
		}
		var sum int64
		row := tx.QueryRowContext(ctx, "SELECT sum(amount) FROM "+x.credits+" WHERE outpoint = $1", f.OutPoint.String())
		if err := row.Scan(&sum); err != nil || sum != 0 && sum != f.Amount {
			return fmt.Errorf("the facts of %s are %d, %w", f.OutPoint, sum, err)
		}
	}
	return nil
}

// pays is a transaction with an input of a stranger, which no other has.
func (x *exchange) pays(outs ...*wire.TxOut) *wire.MsgTx {
	x.salt++
	return utxotest.NewTx(x.salt, []wire.OutPoint{utxotest.External(x.salt)}, outs...)
}

func (x *exchange) spends(op wire.OutPoint, outs ...*wire.TxOut) *wire.MsgTx {
	x.salt++
	return utxotest.NewTx(x.salt, []wire.OutPoint{op}, outs...)
}

func to(tag string, amount int64) *wire.TxOut { return utxotest.Pay(amount, utxotest.Script(1, tag)) }

func (x *exchange) tip() (b utxo.Block) {
	if n := len(x.chain); n > 0 {
		b = x.chain[n-1].Block
	}
	return b
}

// mine connects a block, and lets the consumer work.
func (x *exchange) mine(txs ...*wire.MsgTx) {
	x.t.Helper()
	x.connect(txs...)
	x.work()
}

func (x *exchange) connect(txs ...*wire.MsgTx) {
	x.t.Helper()
	x.salt++
	b := utxo.Connected{Block: utxotest.NewBlock(int32(len(x.chain))+1, x.tip().Hash, x.salt), Txs: txs}
	for i, tx := range txs {
		if tx.TxIn[0].PreviousOutPoint.Hash == (chainhash.Hash{}) {
			b.Positions = append(b.Positions, 0)
		} else {
			b.Positions = append(b.Positions, int32(i)+1)
		}
	}
	x.do(b)
	x.chain = append(x.chain, b)
}

// blocks mines empty ones.
func (x *exchange) blocks(n int) {
	x.t.Helper()
	for range n {
		x.mine()
	}
}

// drop disconnects the last blocks, and returns them.
func (x *exchange) drop(n int) (dropped []utxo.Connected) {
	x.t.Helper()
	for range n {
		x.do(utxo.Disconnected{Hash: x.tip().Hash})
		dropped = append(dropped, x.chain[len(x.chain)-1])
		x.chain = x.chain[:len(x.chain)-1]
		x.work()
	}
	return dropped
}

func (x *exchange) observe(txs ...*wire.MsgTx) {
	x.t.Helper()
	x.do(utxo.Observed{Txs: txs, Tip: x.tip().Hash})
	x.work()
}

// work lets the consumer do all that it can, and checks that the host has of each output
// what its row says, which is nothing or its amount.
func (x *exchange) work() {
	x.t.Helper()
	if err := settle(x.t.Context(), x.r); err != nil {
		x.t.Fatal(err)
	}
	x.check()
}

func (x *exchange) check() {
	x.t.Helper()
	sums := map[string]int64{}
	rows, err := x.db.Query("SELECT outpoint, sum(amount) FROM " + x.credits + " GROUP BY outpoint")
	if err != nil {
		x.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var op string
		var sum int64
		if err := rows.Scan(&op, &sum); err != nil {
			x.t.Fatal(err)
		}
		sums[op] = sum
	}
	if err := rows.Err(); err != nil {
		x.t.Fatal(err)
	}
	for _, d := range x.rows() {
		want := int64(0)
		if d.State == utxo.DepositCredited {
			want = d.Amount
		}
		if op := d.OutPoint.String(); sums[op] != want || utxo.CheckDeposit(d) != nil {
			x.t.Errorf("%s is %s, and the host has %d of it: %v", op, d.State, sums[op], utxo.CheckDeposit(d))
		}
		delete(sums, d.OutPoint.String())
	}
	if len(sums) > 0 {
		x.t.Errorf("the host has %v, which are on no file", sums)
	}
}

// rows are all deposits on file.
func (x *exchange) rows() (all []utxo.Deposit) {
	x.t.Helper()
	var ops []wire.OutPoint
	rows, err := x.db.Query("SELECT tx_hash, output_index FROM " + x.name("deposits"))
	if err != nil {
		x.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var hash []byte
		var op wire.OutPoint
		if err := rows.Scan(&hash, &op.Index); err != nil {
			x.t.Fatal(err)
		}
		copy(op.Hash[:], hash)
		ops = append(ops, op)
	}
	x.view(func(of sqlstore.Deposits) (err error) {
		all, err = of.Named(ops...)
		return err
	})
	return all
}

func (x *exchange) view(fn func(sqlstore.Deposits) error) {
	x.t.Helper()
	err := x.store.View(x.t.Context(), func(u store.Unit) error {
		of, err := sqlstore.DepositsOf(u)
		if err != nil {
			return err
		}
		return fn(of)
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

// is compares a deposit with "state", its round, and what the host has of it; empty for
// one that is not on file.
func (x *exchange) is(when string, tx *wire.MsgTx, index uint32, want string) {
	x.t.Helper()
	op := utxotest.Out(tx, index)
	got := ""
	x.view(func(of sqlstore.Deposits) error {
		rows, err := of.Named(op)
		if err == nil && len(rows) > 0 {
			got = fmt.Sprintf("%s %d", rows[0].State, rows[0].Round)
			if rows[0].Shaken(x.tip().Height) {
				got += " shaken"
			}
		}
		return err
	})
	if got != want {
		x.t.Errorf("%s: it is %q, want %q", when, got, want)
	}
}

// postings counts the host's postings of an output.
func (x *exchange) postings(tx *wire.MsgTx, index uint32) int {
	return x.count("SELECT count(*) FROM "+x.credits+" WHERE outpoint = $1", utxotest.Out(tx, index).String())
}

var errBooks = errors.New("no such account")
