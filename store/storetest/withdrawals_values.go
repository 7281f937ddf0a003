package storetest

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

func decimalOf(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// exactWithdrawals stores values at the edges of their types and reads them.
func exactWithdrawals[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	latest := time.Date(9000, 12, 31, 23, 59, 59, 999999000, time.UTC)          // that the rules take
	huge := "1" + strings.Repeat("0", 59) + "." + strings.Repeat("0", 17) + "1" // 78 digits
	wide := strings.Repeat("\u4e16\U0001F600", withdrawal.MaxAddress/2)
	for name, ev := range map[string]withdrawal.Submitted{
		"78 digits":             {Amount: huge, Decimals: 18},
		"10^10 of 18 decimals":  {Amount: "10000000000", Decimals: 18},
		"1 unit of 24 decimals": {Amount: "0.000000000000000000000001", Decimals: 24},
		"no decimals":           {Amount: "1", Decimals: 0},
		"trailing zeros":        {Amount: "1.500", Decimals: 6},
		"unicode":               {Amount: "1", ToAddress: wide, Memo: "\u00e9\t\n'\"\\%_\u202e" + strings.Repeat("\U0001F600", 100)},
		"the latest time":       {Amount: "1", By: withdrawal.By{At: latest.Add(-24 * time.Hour)}},
		"an early time":         {Amount: "1", By: withdrawal.By{At: time.Date(1970, 1, 1, 0, 0, 0, 1000, time.UTC)}},
		"the least microsecond": {Amount: "1", By: withdrawal.By{At: start.Truncate(time.Second).Add(time.Microsecond)}},
	} {
		t.Run(name, func(t *testing.T) {
			at := ev.At
			if at.IsZero() {
				at = start
			}
			full := submission(w.id(), utxos, at)
			full.Amount, full.Decimals, full.Memo = ev.Amount, ev.Decimals, ev.Memo
			if ev.ToAddress != "" {
				full.ToAddress = ev.ToAddress
			}
			w.exact(t, full)
		})
	}
}

// exact takes a request through its life and compares each step with what is
// read.
func (w *withdrawals[T]) exact(t *testing.T, ev withdrawal.Submitted) {
	at := ev.At
	hash := strings.Repeat("\u00e9", withdrawal.MaxHash/2-8) + ev.Request.String()[20:] // the end of the id
	raw := bytes.Repeat([]byte{0, 1, 2, 254, 255}, 64<<10/5)
	tx := withdrawal.Prepared{By: workerAt(at), Fence: 1, Hash: hash, Raw: raw, Input: "in"}
	r := withdrawal.Receipt{By: by(withdrawal.ConfirmationWorker, at), Tx: hash, GasUsed: "0",
		GasPrice: withdrawal.Raw(strings.Repeat("9", withdrawal.MaxDigits)),
		Block:    withdrawal.Block{Height: math.MaxInt64 - 2, Hash: "b", Canonical: "b", Head: math.MaxInt64}}
	e := w.enqueued(at, withdrawal.Low)
	if err := w.View(ctx, func(tx T) (err error) { e.Wallets, err = tx.Withdrawals().HotWallets(utxos); return err }); err != nil {
		t.Fatal(err)
	}
	var done withdrawal.Withdrawal
	e.MaxRetries = math.MaxInt32
	for i, ev := range []withdrawal.Event{ev, withdrawal.Approved{By: by(withdrawal.Approver, at)}, e, withdrawal.Claimed{By: workerAt(at)}, tx,
		withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: hash}, r} {
		// A store's own clock is not asked: the times of a record may be any.
		c, err := w.policy.Apply(done, ev)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := w.Update(ctx, func(tx T) error { return tx.Withdrawals().Save(c) }); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		done = c.New
		if err := withdrawal.Check(done); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		loaded := w.get(t, done.Request.ID)
		// The wallet's row belongs to all its jobs.
		want := done
		loaded.Wallet, want.Wallet = withdrawal.HotWallet{}, withdrawal.HotWallet{}
		same(t, fmt.Sprintf("read after %T", ev), loaded, want)
	}
	attempts, err := w.service.Attempts(ctx, e.Job)
	if err != nil || len(attempts) != 1 {
		t.Fatal(attempts, err)
	}
	same(t, "the attempt", attempts[0], w.get(t, done.Request.ID).Attempt)
}

// usage compares the windows with their definition, at their boundaries.
func usage[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	var all []withdrawal.Request
	add := func(ago time.Duration, amount string, user, asset uuid.UUID, events ...withdrawal.Event) {
		ev := submission(w.id(), evm, start.Add(-ago))
		ev.Amount, ev.User, ev.Asset = amount, user, asset
		all = append(all, w.do(t, ev.Request, append([]withdrawal.Event{ev}, events...)...).Request)
	}
	stop := by(withdrawal.Operator, start)
	add(time.Hour, "0.000000000000000001", aUser, anAsset)
	add(time.Hour+tick, "10", aUser, anAsset)
	add(time.Hour-tick, "100", aUser, anAsset, withdrawal.Approved{By: by(withdrawal.Approver, start)})
	add(tick, "1000", aUser, anAsset)
	add(0, "10000", aUser, anAsset)
	add(time.Minute, "7", aUser, anAsset, withdrawal.Rejected{By: by(withdrawal.Approver, start)})
	add(time.Minute, "7", aUser, anAsset, withdrawal.Cancelled{By: stop})
	add(time.Minute, "7", w.id(), anAsset)
	add(time.Minute, "7", aUser, w.id())
	windows := []withdrawal.Window{{Length: time.Hour, Max: decimalOf("1")}, {Length: time.Minute}, {Length: 240 * time.Hour}, {Length: tick}}
	for _, now := range []time.Time{start.Add(-time.Hour), start, start.Add(tick), start.Add(time.Hour)} {
		err := w.Update(ctx, func(tx T) error {
			got, err := tx.Withdrawals().Usage(aUser, anAsset, windows, now)
			if err == nil {
				same(t, "usage at "+now.String(), got, withdrawal.UsageOf(all, aUser, anAsset, windows, now, false))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
