package storetest

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

func decimalOf(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// exactWithdrawals stores values at the edges of their types and reads them.
func (w *withdrawals) exactWithdrawals(t *testing.T) {
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
			f := newFields(t, w)
			f.now = cmp.Or(ev.At, start).Add(-time.Second - tick) // the first event is at it
			f.open(w.id())
			ev.Request, ev.User, ev.Asset, ev.Chain, ev.ToAddress = w.id(), aUser, anAsset, f.wallet.Chain, cmp.Or(ev.ToAddress, "0xabc")
			hash := strings.Repeat("\u00e9", withdrawal.MaxHash/2-8) + ev.Request.String()[20:] // the end of the id
			f.do(ev, withdrawal.Approved{}, withdrawal.Enqueued{Priority: withdrawal.Low, MaxRetries: math.MaxInt32}, withdrawal.Claimed{},
				withdrawal.Prepared{Hash: hash, Raw: bytes.Repeat([]byte{0, 1, 2, 254, 255}, 64<<10/5), Nonce: withdrawal.MaxNonce, HasNonce: true,
					ChainNonce: withdrawal.MaxNonce, HasChainNonce: true}, withdrawal.Broadcast{Hash: hash},
				withdrawal.Receipt{Tx: hash, GasUsed: "0", GasPrice: withdrawal.Raw(strings.Repeat("9", withdrawal.MaxDigits)),
					Block: withdrawal.Block{Height: math.MaxInt64 - 2, Hash: "b", Canonical: "b", Head: math.MaxInt64}})
			if err := withdrawal.Check(f.a); err != nil || f.a.Job.Status != withdrawal.JobConfirmed {
				t.Fatalf("its end: %v, %v", f.a.Job.Status, err)
			}
		})
	}
}
