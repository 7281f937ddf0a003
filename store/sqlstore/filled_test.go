package sqlstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

func (d database) exec(t *testing.T, format string, tables ...string) {
	t.Helper()
	var names []any
	for _, n := range tables {
		names = append(names, d.table(n))
	}
	if _, err := d.Exec(fmt.Sprintf(format, names...)); err != nil {
		t.Fatal(err)
	}
}

// filledRows are rows in every state of every domain, and what they read as.
type filledRows struct {
	*bank
	rows          []oldRow
	swaps         *oldSwaps
	before, after []string
}

// fill fills the database of a bank.
func fill(t *testing.T, b *bank) *filledRows {
	t.Helper()
	f := &filledRows{bank: b, rows: b.fill(t)}
	newCoins(t, b.Store)
	f.swaps = newOldSwaps(t, b.at(t, time.Time{}))
	f.swaps.everywhere(t)
	newOldOthers(t, b.database)
	f.before = f.read(t, b.database)
	return f
}

// read is all that can be read by a binary that opens the database.
func (f *filledRows) read(t *testing.T, db database) []string {
	t.Helper()
	b := bankOf(t, db, db.open(t))
	swaps := *f.swaps
	swaps.open(t, db.at(t, time.Time{}))
	return append(b.readAll(t, f.rows), openCoins(t, b.Store).read(t), swaps.read(t), openOthers(t, db).read(t))
}

func sameRows(t *testing.T, got, want []string) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("a record reads\n%s\nit was\n%s", got[i], want[i])
		}
	}
}

// same: a binary reads what was there when the database was filled.
func (f *filledRows) same(t *testing.T, db database) {
	t.Helper()
	sameRows(t, f.read(t, db), f.before)
}

// ended: a binary reads what goOn has left.
func (f *filledRows) ended(t *testing.T, db database) {
	t.Helper()
	sameRows(t, f.read(t, db), f.after)
}

// goOn reads the same and takes each row to its end.
func (f *filledRows) goOn(t *testing.T) {
	t.Helper()
	f.same(t, f.database)
	ctx, b := context.Background(), f.bank
	var ahead time.Duration
	b.reopen(t, func() time.Time { return time.Now().Add(ahead) })
	for _, row := range f.rows {
		w, err := b.Get(ctx, row.id)
		if err != nil {
			t.Fatal(row.name, ": ", err)
		}
		for _, next := range row.rest {
			ahead = max(ahead, time.Until(w.Job.ScheduledAt)+time.Second) // a back-off is over
			if w, err = b.Do(ctx, row.id, next(&w)); err != nil {
				t.Fatal(row.name, ": ", err)
			}
		}
		if got := fmt.Sprint(w.Request.Status, w.Request.Mined != "", w.Request.StraysSent); got != row.end {
			t.Errorf("%s ends as %s, not %s", row.name, got, row.end)
		}
		if err := withdrawal.Check(w); err != nil {
			t.Error(row.name, ": ", err)
		}
		for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID} {
			if id == uuid.Nil {
				continue
			}
			if err := b.Verify(ctx, id); err != nil {
				t.Error(row.name, ": ", err)
			}
		}
	}
	b.keepsOwners(t, f.rows)
	openCoins(t, b.Store).goOn(t)
	openOthers(t, b.database).goOn(t)
	f.swaps.db = b.Store
	f.swaps.open(t, b.at(t, time.Time{}))
	f.swaps.goOn(t)
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	f.after = f.read(t, f.database)
}

// oldRow is a request in a state, and what leads it to its end.
type oldRow struct {
	name string
	id   uuid.UUID
	rest []func(*withdrawal.Withdrawal) withdrawal.Event
	end  string // status, whether something else was mined, strays that are sent
}

// fill makes a request in every state that the first migrations know.
func (b *bank) fill(t *testing.T) (rows []oldRow) {
	type next = func(*withdrawal.Withdrawal) withdrawal.Event
	plain, worker, op := named("no nonces"), as(withdrawal.WithdrawalWorker), as(withdrawal.Operator)
	add := func(name string, w withdrawal.Withdrawal, end string, rest ...next) {
		rows = append(rows, oldRow{name, w.Request.ID, rest, end})
	}
	approve := func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Approved{By: as(withdrawal.Approver)} }
	enqueue := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Enqueued{By: as(withdrawal.System), Job: b.id(), AssetOnChain: named("usdt on bsc"), Priority: withdrawal.High}
	}
	claim := func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Claimed{By: worker} }
	prepare := func(w *withdrawal.Withdrawal) withdrawal.Event {
		p := prepared(w)
		p.Hash += "/" + fmt.Sprint(w.Job.Lease.Fence)
		return p
	}
	send := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Broadcast{By: worker, Fence: w.Job.Lease.Fence, Hash: w.Job.TxHash}
	}
	seen := func(w *withdrawal.Withdrawal) withdrawal.Event { return mined(w) }
	pays := []next{claim, prepare, send, seen}
	dead := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.ProvenDead{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash, Cause: withdrawal.InputSpent, Other: "other", Input: w.Live()[0].Input,
			NotThisPayment: true, Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 9}}
	}
	do := func(w withdrawal.Withdrawal, events ...next) withdrawal.Withdrawal {
		for _, ev := range events {
			w = b.do(t, w.Request.ID, ev(&w))
		}
		return w
	}
	submitted := func() withdrawal.Withdrawal { s := b.submission(plain); return b.do(t, s.Request, s) }
	add("pending", submitted(), "completed false 0", append([]next{approve, enqueue}, pays...)...)
	add("approved", do(submitted(), approve), "completed false 0", append([]next{enqueue}, pays...)...)
	add("rejected", b.do(t, submitted().Request.ID, withdrawal.Rejected{By: as(withdrawal.Approver), Reason: "no"}), "rejected false 0")
	add("cancelled", b.do(t, submitted().Request.ID, withdrawal.Cancelled{By: op, Reason: "no"}), "cancelled false 0")
	add("queued", b.pending(t, plain), "completed false 0", pays...)
	add("processing", b.claimed(t, plain), "completed false 0", prepare, send, seen)
	add("prepared", do(b.claimed(t, plain), prepare), "completed false 0", send, seen)
	add("confirming with a nonce", b.confirming(t, bsc), "completed false 0", seen)
	add("the next of that wallet", b.claimed(t, bsc), "completed false 0", func(w *withdrawal.Withdrawal) withdrawal.Event { return prepared(w) }, send, seen)
	lost := b.confirming(t, plain)
	add("confirming, to be sent again", b.do(t, lost.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: lost.Job.TxHash}), "completed false 0", seen)
	add("confirmed", b.confirmed(t, plain), "completed true 0", func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.PaidBy{By: op, Tx: "twice", Payee: w.Request.ToAddress, AssetOnChain: w.Job.AssetOnChain, AmountRaw: w.Request.AmountRaw, Reason: "seen"}
	}, func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Acknowledged{By: op, Reason: "settled"}
	})
	again := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Requeued{By: op, Job: w.Job.ID, Reason: "again", NotRefunded: true}
	}
	add("failed", b.failed(t, plain), "completed false 0", append([]next{again, enqueue}, pays...)...)
	add("requeued", do(b.failed(t, plain), again), "completed false 0", append([]next{enqueue}, pays...)...)
	add("a second job", do(b.failed(t, plain), again, enqueue), "completed false 0", pays...)
	add("proven dead, to be tried again", do(b.confirming(t, plain), dead), "completed false 0", pays...)
	undead := func(w *withdrawal.Withdrawal) withdrawal.Event {
		r := mined(w)
		r.Tx = w.Txs[0].Hash
		return r
	}
	add("a wrong proof", do(b.confirming(t, plain), dead, undead), "completed true 0", func(w *withdrawal.Withdrawal) withdrawal.Event {
		r := withdrawal.Resolved{By: op, Job: w.Job.ID, Sent: true, Hash: w.Txs[0].Hash, Reason: "seen"}
		r.Version = w.Job.Version
		return r
	}, func(w *withdrawal.Withdrawal) withdrawal.Event {
		r := mined(w)
		r.Height, r.Head = 11, 20
		r.Hash, r.Canonical = "c", "c"
		return r
	})
	dispatch := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Dispatched{By: worker, Fence: 1, Reference: "ref"}
	}
	unclear := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.AttemptFailed{By: worker, Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"}
	}
	answer := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Broadcast{By: worker, Fence: 1, Hash: "answer for " + w.Request.ID.String()}
	}
	notSent := func(w *withdrawal.Withdrawal) withdrawal.Event {
		r := withdrawal.Resolved{By: op, Job: w.Job.ID, Reason: "no such reference"}
		r.Version = w.Job.Version
		return r
	}
	add("dispatched", do(b.claimed(t, plain), dispatch), "completed false 0", answer, seen)
	add("dispatched, then in review", do(b.claimed(t, plain), dispatch), "completed false 0", unclear, notSent, answer, seen)
	add("in review", do(b.claimed(t, plain), dispatch, unclear), "completed false 0", notSent, answer, seen)
	add("in review, executed again", do(b.claimed(t, plain), dispatch, unclear), "queued false 1", notSent, claim, prepare, answer)
	return rows
}

// readAll is what can be read of each request, and of all of them. Lines of the
// trail had no role at first.
func (b *bank) readAll(t *testing.T, rows []oldRow) (all []string) {
	t.Helper()
	ctx := context.Background()
	say := func(values ...any) {
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows {
		w, err := b.Get(ctx, row.id)
		must(err)
		trail, err := b.Trail(ctx, row.id)
		must(err)
		jobs, err := b.Jobs(ctx, row.id)
		must(err)
		values := []any{w, jobs}
		for _, j := range jobs {
			of, err := b.Trail(ctx, j.ID)
			must(err)
			trail = append(trail, of...)
			attempts, err := b.Attempts(ctx, j.ID)
			must(err)
			values = append(values, attempts)
		}
		for i := range trail {
			trail[i].Role = ""
		}
		say(append(values, trail)...)
	}
	incidents, _, err := b.Incidents(ctx, 0, 100)
	must(err)
	wallets, err := b.HotWallets(ctx, bsc)
	must(err)
	var stats []withdrawal.Stats
	at := time.Now().Add(24 * time.Hour)
	must(b.View(ctx, func(tx store.Unit) error {
		stats = nil
		for _, chain := range []uuid.UUID{{}, bsc} {
			s, err := tx.Withdrawals().Stats(at.Truncate(24*time.Hour), 48*time.Hour, chain)
			if err != nil {
				return err
			}
			stats = append(stats, s)
		}
		return nil
	}))
	say(incidents, wallets)
	for i := range stats {
		stats[i].At = time.Time{}
	}
	say(stats)
	return all
}

// keepsOwners: a transaction and a nonce of before are nobody else's.
func (b *bank) keepsOwners(t *testing.T, rows []oldRow) {
	t.Helper()
	ctx := context.Background()
	for _, row := range rows {
		w, err := b.Get(ctx, row.id)
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range w.Txs {
			other := b.claimed(t, w.Request.Chain)
			p := prepared(&other)
			if tx.HasNonce {
				p.Nonce, p.HasChainNonce, p.ChainNonce = tx.Nonce, true, 0
				if _, err := b.Do(ctx, other.Request.ID, p); !errors.Is(err, withdrawal.ErrNonceTaken) {
					t.Errorf("%s: its nonce once more: %v", row.name, err)
				}
			}
			paid := withdrawal.PaidBy{By: as(withdrawal.Operator), Tx: tx.Hash, Payee: other.Request.ToAddress, AssetOnChain: other.Job.AssetOnChain,
				AmountRaw: other.Request.AmountRaw, Reason: "seen"}
			if _, err := b.Do(ctx, other.Request.ID, paid); !errors.Is(err, withdrawal.ErrPaymentTaken) {
				t.Errorf("%s: its transaction once more: %v", row.name, err)
			}
			b.do(t, other.Request.ID, withdrawal.Cancelled{By: as(withdrawal.Operator)})
		}
	}
}

// oldCoins is a wallet with a coin in a block, one that is expected, and a
// payment that nobody has seen.
type oldCoins struct{ *store.Wallets }

var (
	ourScript  = append([]byte{0, 20}, bytes.Repeat([]byte{1}, 20)...)
	coinPolicy = utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1, Tag: "alice"}, bytes.Equal(script, ourScript)
	}}
	coinTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func coinTx(from wire.OutPoint, amount int64, script []byte) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(wire.NewTxIn(&from, nil, nil))
	tx.AddTxOut(wire.NewTxOut(amount, script))
	return tx
}

func coinBlock(height int32, txs ...*wire.MsgTx) utxo.Connected {
	b := utxo.Block{Height: height, Hash: chainhash.HashH([]byte{byte(height)}), Prev: chainhash.HashH([]byte{byte(height - 1)})}
	return utxo.Connected{Block: b, Txs: txs, By: utxo.By{At: coinTime}}
}

var (
	deposit  = coinTx(wire.OutPoint{Hash: chainhash.HashH([]byte("a coin"))}, 100_000, ourScript)
	expected = coinTx(wire.OutPoint{Hash: chainhash.HashH([]byte("another"))}, 50_000, ourScript)
	payment  = coinTx(wire.OutPoint{Hash: deposit.TxHash()}, 90_000, []byte{0x51})
)

func openCoins(t testing.TB, s *sqlstore.Store) oldCoins {
	return oldCoins{walletsOf(t, s, coinPolicy)}
}

func newCoins(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	c := openCoins(t, s)
	by := utxo.By{At: coinTime}
	c.do(t, utxo.WalletOpened{Wallet: 1, Birth: 1, By: by}, coinBlock(1, deposit), utxo.Observed{Txs: []*wire.MsgTx{expected}, Tip: coinBlock(1).Block.Hash, By: by}, utxo.Submitted{Wallet: 1, Tx: payment, By: by})
}

func (c oldCoins) do(t *testing.T, events ...utxo.Event) {
	t.Helper()
	if _, err := c.Do(context.Background(), events...); err != nil {
		t.Fatal(err)
	}
}

func (c oldCoins) read(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	balance, err := c.Balance(ctx, 1, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	coins, err := c.Outputs(ctx, 1, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	history, err := c.History(ctx, 1, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	var lines []any
	for _, tx := range history {
		trail, err := c.Trail(ctx, tx.ID)
		if err != nil {
			t.Fatal(err)
		}
		for i := range trail {
			trail[i].Role = ""
		}
		lines = append(lines, tx, trail)
	}
	tip, _, err := c.Tip(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{balance, coins, lines, tip})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (c oldCoins) goOn(t *testing.T) {
	t.Helper()
	c.do(t, utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: payment.TxHash()}, By: utxo.By{At: coinTime}}, coinBlock(2, expected, payment))
	if b, err := c.Balance(context.Background(), 1, nil, 1); err != nil || b.Confirmed != 50_000 {
		t.Errorf("the balance is %+v, %v", b, err)
	}
	if err := c.Audit(context.Background(), 1); err != nil {
		t.Error(err)
	}
}
