package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestWallets is a history with everything that is measured below.
func TestWallets(t *testing.T) {
	w := newTrio(t)
	check := func(what string, err error) {
		t.Helper()
		if err = errors.Join(err, w.agree()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	blocks := w.deposits(20, 10)
	check("deposits", w.connect(blocks...))
	check("a roll-back", w.each(func(w wallet) error { return w.disconnect(blocks[10:]...) }))
	check("the blocks again", w.connect(blocks[10:]...))
	base, spends, rival := w.conflict(20)
	check("a coin", w.connect(base))
	check("unconfirmed spends", w.each(func(w wallet) error { return w.observe(base.Block, spends...) }))
	check("their conflict", w.connect(rival))
	if n, err := w.all[0].unspent(nil); n != 401 || err != nil {
		t.Fatalf("%d coins, %v", n, err)
	}
}

var (
	microsPerTx = unit{"us/tx", time.Microsecond, nil}
	micros      = unit{"us/op", time.Microsecond, nil}
)

// BenchmarkWallets has wallets of transactions with two coins each, ten in a
// block.
func BenchmarkWallets(b *testing.B) {
	for _, size := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("txs=%d", size), func(b *testing.B) { benchmarkWallets(b, size) })
	}
}

func benchmarkWallets(b *testing.B, size int) {
	w := newTrio(b)
	for range size / 1000 {
		if err := w.connect(w.deposits(100, 10)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.agree(); err != nil {
		b.Fatal(err)
	}
	b.Run("balance", func(b *testing.B) {
		balance := func(w wallet) error {
			sum, err := w.balance()
			if err == nil && sum != int64(size)*3000 {
				err = fmt.Errorf("the balance is %d", sum)
			}
			return err
		}
		sides := w.sides(1, balance)
		const times = 1000 // of what takes less than a clock can tell
		sides[1] = side{sides[1].name, times, func() error {
			for range times {
				if err := balance(w.all[1]); err != nil {
					return err
				}
			}
			return nil
		}}
		race(b, micros, nil, sides[0], sides[1:]...)
	})
	b.Run("unspent", func(b *testing.B) {
		w.race(b, micros, 1, nil, func(w wallet) error {
			n, err := w.unspent(nil)
			if err == nil && n != 2*size {
				err = fmt.Errorf("%d coins", n)
			}
			return err
		})
	})
	// One commit rolls 100 blocks back; between the rounds another one puts
	// them on again.
	b.Run("rollback", func(b *testing.B) {
		blocks := w.deposits(100, 10)
		connect := func() error { return w.connect(blocks...) }
		w.race(b, micros, 1, connect, func(w wallet) error { return w.disconnect(blocks...) })
		if err := errors.Join(connect(), w.agree()); err != nil {
			b.Fatal(err)
		}
	})
	// One commit inserts 100 blocks.
	b.Run("insert", func(b *testing.B) {
		var blocks []block
		w.race(b, microsPerTx, 1000, func() error { blocks = w.deposits(100, 10); return nil },
			func(w wallet) error { return w.connect(blocks...) })
		if err := w.agree(); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkConflict fails a chain of unconfirmed transactions by a block with
// another spend of its first coin. The peer deletes what fails, ours keep it.
func BenchmarkConflict(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("descendants=%d", n), func(b *testing.B) {
			w := newTrio(b)
			var rival block
			w.race(b, micros, 1, func() error {
				base, spends, r := w.conflict(n)
				rival = r
				return errors.Join(w.connect(base), w.each(func(w wallet) error { return w.observe(base.Block, spends...) }))
			}, func(w wallet) error { return w.connect(rival) })
			if err := w.agree(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
