package sqlstore_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// randomDeposits are rows of every shape that keeps the invariants.
func randomDeposits(random *rand.Rand, n int) []utxo.Deposit {
	var all []utxo.Deposit
	for i := range n {
		hash := chainhash.Hash{byte(random.IntN(4)), byte(i), byte(i >> 8), 1}
		d := utxo.Deposit{OutPoint: wire.OutPoint{Hash: hash, Index: uint32(random.IntN(2)) * 0xffffffff},
			Owner: utxo.Owner{Wallet: 1, Tag: "müller"}, Amount: 1 + random.Int64N(5), Height: utxo.Unconfirmed,
			State: utxo.DepositWaiting + utxo.DepositState(random.IntN(3)), At: utxotest.Start.Add(time.Duration(i) * time.Microsecond)}
		if random.IntN(5) > 0 {
			d.Height, d.Block, d.InChain = int32(random.IntN(12)), chainhash.Hash{9, byte(i)}, random.IntN(3) > 0
		}
		if d.State != utxo.DepositWaiting {
			d.Round, d.Depth = 1+random.Int64N(3), 1+random.Int32N(4)
		}
		if d.State == utxo.DepositReversed {
			d.Actor, d.Reason = []string{"", "olga"}[i%2], "why"
		}
		all = append(all, d)
	}
	return all
}

func byKey(a, b utxo.Deposit) int {
	return cmp.Or(slices.Compare(a.OutPoint.Hash[:], b.OutPoint.Hash[:]), cmp.Compare(a.OutPoint.Index, b.OutPoint.Index))
}

// The two lists of what a new tip is a reason to look at, and what is counted of them,
// are what the rules say of each row.
func TestDueDepositsAreThoseOfTheRules(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		s, _ := newStore(t, d)
		wallets := walletsOf(t, s, utxotest.Policy())
		if _, err := wallets.Do(ctx, utxo.WalletOpened{Wallet: 1, Birth: 1}); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		rows := randomDeposits(random, 300)
		in := func(fn func(sqlstore.Deposits) error) error {
			return s.Update(ctx, func(u store.Unit) error {
				of, err := sqlstore.DepositsOf(u)
				if err != nil {
					return err
				}
				return fn(of)
			})
		}
		for i := range rows {
			if err := utxo.CheckDeposit(rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := in(func(of sqlstore.Deposits) error { return of.Insert(rows...) }); err != nil {
			t.Fatal(err)
		}
		compare := func() {
			t.Helper()
			for _, tip := range []int32{-1, 0, 3, 7, 15} {
				err := in(func(of sqlstore.Deposits) error {
					for _, minimum := range []int64{0, 3} {
						var want, shaken, got []utxo.Deposit
						var count sqlstore.DepositTally
						for _, r := range rows {
							switch {
							case r.Shaken(tip):
								shaken = append(shaken, r)
								count.Shaken++
								count.ShakenAmount += r.Amount
							case r.Due(tip) && (r.Amount >= minimum || r.State == utxo.DepositReversed):
								want = append(want, r)
								count.Waiting++
								count.WaitingAmount += r.Amount
								if count.WaitsSince.IsZero() || r.At.Before(count.WaitsSince) {
									count.WaitsSince = r.At
								}
							}
						}
						slices.SortFunc(want, func(a, b utxo.Deposit) int { return cmp.Or(cmp.Compare(a.Height, b.Height), byKey(a, b)) })
						slices.SortFunc(shaken, func(a, b utxo.Deposit) int { return cmp.Or(cmp.Compare(a.DeepAt(), b.DeepAt()), byKey(a, b)) })
						for _, list := range []struct {
							want []utxo.Deposit
							page func(after *utxo.Deposit) ([]utxo.Deposit, error)
						}{{want, func(after *utxo.Deposit) ([]utxo.Deposit, error) { return of.Waiting(minimum, after, 7) }},
							{shaken, func(after *utxo.Deposit) ([]utxo.Deposit, error) { return of.Shaken(tip, after, 7) }}} {
							got = nil
							for page, err := list.page(nil); ; page, err = list.page(&got[len(got)-1]) {
								if err != nil {
									return err
								}
								if got = append(got, page...); len(page) < 7 {
									break
								}
							}
							if !slices.Equal(got, list.want) {
								t.Errorf("tip %d: %d deposits, want %d:\n%v\n%v", tip, len(got), len(list.want), got, list.want)
							}
						}
						if got, err := of.Tally(minimum, tip); err != nil || got != count {
							t.Errorf("tip %d, minimum %d: %+v, want %+v, %v", tip, minimum, got, count, err)
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		compare()
		// Each row becomes one of another shape, from what was read alone.
		next := randomDeposits(random, len(rows))
		for i := range next {
			next[i].OutPoint, next[i].Amount = rows[i].OutPoint, rows[i].Amount
		}
		for i, change := range []func(*utxo.Deposit){func(d *utxo.Deposit) { d.Round++ }, func(d *utxo.Deposit) { d.State = d.State%3 + 1 },
			func(d *utxo.Deposit) { d.OutPoint.Index = 5 }, func(d *utxo.Deposit) { d.OutPoint.Hash[31]++ }} {
			was, now := rows[0], next[0]
			if change(&was); i > 1 {
				now = was
			}
			err := in(func(of sqlstore.Deposits) error { return of.Move([]utxo.Deposit{was}, []utxo.Deposit{now}) })
			if !errors.Is(err, statemachine.ErrConflict) {
				t.Errorf("%d: it moves from what was not read: %v", i, err)
			}
		}
		if err := in(func(of sqlstore.Deposits) error { return of.Move(rows, next) }); err != nil {
			t.Fatal(err)
		}
		rows = next
		compare()
		err := in(func(of sqlstore.Deposits) error {
			got, err := of.Named(rows[3].OutPoint, rows[4].OutPoint, wire.OutPoint{})
			slices.SortFunc(got, byKey)
			want := slices.SortedFunc(slices.Values(rows[3:5]), byKey)
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			return errors.Join(err, of.Insert(), of.Move(nil, nil))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := in(func(of sqlstore.Deposits) error { return of.Insert(rows[0]) }); err == nil {
			t.Error("it is on file twice")
		}
		if _, err := sqlstore.DepositsOf(nil); !errors.Is(err, statemachine.ErrInvalid) {
			t.Error(err)
		}
	})
}

// A sight says what the wallets' own reads say.
func TestSightsOfDeposits(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		s, _ := newStore(t, d)
		wallets := walletsOf(t, s, utxotest.Policy())
		do := func(events ...utxo.Event) {
			t.Helper()
			if _, err := wallets.Do(ctx, events...); err != nil {
				t.Fatal(err)
			}
		}
		do(utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.WalletOpened{Wallet: 2, Birth: 0})
		tx := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(5, utxotest.Script(1, "a")),
			utxotest.Pay(6, utxotest.Foreign), utxotest.Pay(7, utxotest.Script(2, "b")), utxotest.Pay(8, utxotest.Script(1, "late")))
		coinbase := utxotest.NewCoinbase(2, utxotest.Pay(50, utxotest.Script(1, "a")))
		one := utxotest.NewBlock(1, chainhash.Hash{}, 0)
		two := utxotest.NewBlock(2, one.Hash, 0)
		id := func(w string, tx *wire.MsgTx) string { return w + "/" + tx.TxHash().String() }
		ids := []string{id("1", tx), id("2", tx), id("1", coinbase), id("1", tx)}
		sight := func(w utxo.WalletID, tag string, tx *wire.MsgTx, index uint32, amount int64, height, tip, scanned int32) utxo.DepositSight {
			s := utxo.DepositSight{Owner: utxo.Owner{Wallet: w, Tag: tag}, OutPoint: utxotest.Out(tx, index), Amount: amount, Status: utxo.Published,
				Coinbase: tx == coinbase, Height: height, Tip: tip, Scanned: scanned}
			switch height {
			case 1:
				s.Block = one.Hash
			case 2:
				s.Block = two.Hash
			}
			return s
		}
		same := func(when string, want ...utxo.DepositSight) {
			t.Helper()
			err := s.View(ctx, func(u store.Unit) error {
				of, err := sqlstore.DepositsOf(u)
				if err != nil {
					return err
				}
				got, err := of.OfLines(ids...)
				if err != nil {
					return err
				}
				order := func(a, b utxo.DepositSight) int {
					return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), cmp.Compare(a.Amount, b.Amount))
				}
				slices.SortFunc(got, order)
				if !slices.Equal(got, want) {
					t.Errorf("%s:\n%+v, want\n%+v", when, got, want)
				}
				var rows []utxo.Deposit
				for _, w := range want {
					rows = append(rows, utxo.Deposit{OutPoint: w.OutPoint, Owner: w.Owner})
				}
				if got, err = of.Sights(rows...); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, of rows:\n%+v, want\n%+v, %v", when, got, want, err)
				}
				none := utxo.Deposit{OutPoint: utxotest.External(77), Owner: utxo.Owner{Wallet: 1, Tag: "a"}}
				got, err = of.Sights(none)
				tip, ok, failed := wallets.Tip(ctx)
				if !ok {
					tip.Height = -1
				}
				if err != nil || failed != nil || len(got) != 1 || got[0] != (utxo.DepositSight{Owner: none.Owner, OutPoint: none.OutPoint,
					Height: utxo.Unconfirmed, Tip: tip.Height, Scanned: -1}) {
					t.Errorf("%s, of what is not stored: %+v, %v", when, got, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		same("an empty chain")
		do(utxo.Observed{Txs: []*wire.MsgTx{tx}})
		same("no block", sight(1, "a", tx, 0, 5, -1, -1, 0), sight(1, "late", tx, 3, 8, -1, -1, 0), sight(2, "b", tx, 2, 7, -1, -1, -1))
		do(utxo.Connected{Block: one, Txs: []*wire.MsgTx{coinbase}})
		do(utxo.Connected{Block: two, Txs: []*wire.MsgTx{tx}, Positions: []int32{1}})
		same("two blocks", sight(1, "a", tx, 0, 5, 2, 2, 2), sight(1, "late", tx, 3, 8, 2, 2, 2), sight(1, "a", coinbase, 0, 50, 1, 2, 2),
			sight(2, "b", tx, 2, 7, 2, 2, -1)) // whose birth is below the base
		do(utxo.OwnersAnnounced{Wallet: 1, Birth: 1, Tags: []string{"late", "later"}})
		same("an owner who is behind",
			sight(1, "a", tx, 0, 5, 2, 2, 2), sight(1, "late", tx, 3, 8, 2, 2, 0), sight(1, "a", coinbase, 0, 50, 1, 2, 2),
			sight(2, "b", tx, 2, 7, 2, 2, -1))
		do(utxo.Connected{Block: one, Txs: []*wire.MsgTx{coinbase}}, utxo.Connected{Block: two, Txs: []*wire.MsgTx{tx}, Positions: []int32{1}},
			utxo.Disconnected{Hash: two.Hash}, utxo.Disconnected{Hash: one.Hash})
		orphan := sight(1, "a", coinbase, 0, 50, -1, -1, 0)
		orphan.Status = utxo.Orphaned
		same("no chain", sight(1, "a", tx, 0, 5, -1, -1, 0), sight(1, "late", tx, 3, 8, -1, -1, 0), orphan, sight(2, "b", tx, 2, 7, -1, -1, -1))
		err := s.View(ctx, func(u store.Unit) error {
			of, err := sqlstore.DepositsOf(u)
			if err == nil {
				_, err = of.OfLines("x")
			}
			return err
		})
		if !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("a line of nothing: %v", err)
		}
	})
}
