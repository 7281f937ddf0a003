package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestWallets(t *testing.T) {
	suite(t, store.DomainWallets, storetest.Wallets[store.Unit])
}

// Every event and every read has the same answer from the database and from
// the ledger in memory.
func TestRandomHistoriesAgreeWithTheLedger(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		seeds := 1 // the suite of storetest plays others
		if os.Getenv("SETTLE_SOAK") != "" {
			seeds = 12
		}
		for seed := range seeds {
			if err := compareHistory(t, d, utxotest.NewHistory(uint64(seed), 60)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	})
}

func compareHistory(t *testing.T, d sqlstore.Dialect, h utxotest.History) error {
	_, db := newStore(t, d)
	s := db.at(t, time.Time{})
	ctx := context.Background()
	ledger := utxo.NewLedger(h.Policy)
	service := walletsOf(t, s, h.Policy)
	return h.Play(func(ev utxo.Event) error {
		_, wantErr := ledger.Do(ev)
		if _, err := service.Do(ctx, ev); fmt.Sprint(wantErr) != fmt.Sprint(err) {
			return fmt.Errorf("the ledger says %v, the store %v", wantErr, err)
		}
		want := everything(ledger, h.Policy, utxo.Said(ev).At)
		var got []string
		if err := s.View(ctx, func(tx store.Unit) error {
			got = everything(store.WalletSource(tx), h.Policy, utxo.Said(ev).At)
			return nil
		}); err != nil {
			return err
		}
		for i := range want {
			if i >= len(got) || want[i] != got[i] {
				return fmt.Errorf("the ledger has\n%s, the store\n%s", want[i], got[min(i, len(got)-1)])
			}
		}
		return nil
	})
}

// Events of one transaction see what those before them have written.
func TestEventsOfOneTransactionAgreeWithTheLedger(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		h := utxotest.NewHistory(7, 80)
		_, db := newStore(t, d)
		s := db.at(t, time.Time{})
		ledger := utxo.NewLedger(utxotest.Policy())
		service := walletsOf(t, s, utxotest.Policy()) // who never learns of the late owner
		var events []utxo.Event
		if err := h.Play(func(ev utxo.Event) error {
			if _, err := ledger.Do(ev); err == nil {
				events = append(events, ev)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for group := range slices.Chunk(events, 9) {
			if _, err := service.Do(context.Background(), group...); err != nil {
				t.Fatal(err)
			}
		}
		now := utxo.Said(events[len(events)-1]).At
		want := everything(ledger, h.Policy, now)
		if err := s.View(context.Background(), func(tx store.Unit) error {
			if got := everything(store.WalletSource(tx), h.Policy, now); !slices.Equal(got, want) {
				t.Errorf("the store has\n%s\nthe ledger\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// What a transaction has read before it holds the lock may have changed when it
// gets it.
func TestWhatWasReadBeforeTheLockIsReadAgain(t *testing.T) {
	s, _ := newStore(t, sqlstore.Postgres)
	ctx := context.Background()
	service := walletsOf(t, s, utxotest.Policy())
	coin := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(5, utxotest.Script(1, "a")))
	id := utxo.TxID{Wallet: 1, Hash: coin.TxHash()}
	if _, err := service.Do(ctx, utxo.WalletOpened{Wallet: 1}, utxo.Submitted{Wallet: 1, Tx: coin}); err != nil {
		t.Fatal(err)
	}
	err := s.Update(ctx, func(tx store.Unit) error {
		ours := service.Within(tx)
		if d, err := ours.Detail(ctx, id); err != nil || d.Tx.Status != utxo.Pending {
			t.Fatal(d.Tx, err)
		}
		if _, err := service.Do(ctx, utxo.Invalidated{ID: id}); err != nil { // another connection
			t.Fatal(err)
		}
		_, err := ours.Do(ctx, utxo.Broadcasted{ID: id})
		return err
	})
	if !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("a transaction that is dead by now was broadcast: %v", err)
	}
}

// A host may roll back to a savepoint beside us: what was read since then does
// not count.
func TestWhatAHostRolledBackIsReadAgain(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		ctx := context.Background()
		service := walletsOf(t, s, utxotest.Policy())
		coin := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(5, utxotest.Script(1, "a")))
		id := utxo.TxID{Wallet: 1, Hash: coin.TxHash()}
		if _, err := service.Do(ctx, utxo.WalletOpened{Wallet: 1}, utxo.Submitted{Wallet: 1, Tx: coin}); err != nil {
			t.Fatal(err)
		}
		pool := db.DB
		if d == sqlstore.SQLite {
			pool = hostDB(t, db, "_txlock=immediate&_pragma=synchronous(2)&_pragma=foreign_keys(1)")
		}
		host, err := pool.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = host.Rollback() }()
		tx, err := s.Within(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		ours := service.Within(tx)
		spend := utxotest.NewTx(2, []wire.OutPoint{utxotest.Out(coin, 0)}, utxotest.Pay(1, utxotest.Foreign))
		for _, step := range []func() error{
			func() error { _, err := host.Exec("SAVEPOINT a"); return err },
			func() error { _, err := ours.Do(ctx, utxo.Broadcasted{ID: id}); return err },
			func() error { _, err := ours.Detail(ctx, id); return err },
			func() error { _, err := host.Exec("ROLLBACK TO SAVEPOINT a"); return err },
			func() error { _, err := ours.Do(ctx, utxo.Submitted{Wallet: 1, Tx: spend}); return err },
			host.Commit,
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if b, err := service.Balance(ctx, 1, nil, 1); err != nil || b != (utxo.Balance{}) {
			t.Errorf("the balance is %+v, %v, want nothing", b, err)
		}
	})
}

// A refusal of what somebody else has written meanwhile names the record.
func TestAConflictOfWalletsNamesTheRecord(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, _ := newStore(t, d)
		coin := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(5, utxotest.Script(1, "a")))
		seen := utxotest.NewTx(2, []wire.OutPoint{utxotest.External(2)}, utxotest.Pay(5, utxotest.Script(1, "a")))
		lock := utxo.LockID{1}
		for _, c := range []struct {
			ev   utxo.Event
			want string
		}{
			{utxo.WalletOpened{Wallet: 1}, "wallets 1: "},
			{utxo.Connected{Block: utxotest.NewBlock(7, chainhash.Hash{}, 0)}, "blocks 7 "},
			{utxo.Submitted{Wallet: 1, Tx: coin}, "transactions 1/" + coin.TxHash().String() + ": "},
			{utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: coin.TxHash()}}, "transactions 1/" + coin.TxHash().String() + ": "},
			{utxo.Submitted{Wallet: 1, Tx: seen}, "transactions 1/" + seen.TxHash().String() + ": "},
			{utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{utxotest.Out(coin, 0), utxotest.Out(seen, 0)}, Lock: lock, Duration: time.Hour},
				"leases 1/" + coin.TxHash().String() + ":0 and 1 more: "},
			{utxo.OwnersAnnounced{Wallet: 1, Tags: []string{"b"}, Birth: 9}, "wallets 1/b: "},
		} {
			err := s.Update(context.Background(), func(tx store.Unit) error {
				set, err := utxotest.Policy().PlanAt(tx.Wallets(), c.ev, utxotest.Start)
				if err == nil {
					err = tx.Wallets().Save(set, set)
				}
				return err
			})
			if !errors.Is(err, statemachine.ErrConflict) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T twice: %v, want a conflict that names %q", c.ev, err, c.want)
			}
			if _, err := walletsOf(t, s, utxotest.Policy()).Do(context.Background(), c.ev); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// everything asks a source all that can be asked, one line an answer.
func everything(s utxo.Source, p utxo.Policy, now time.Time) (lines []string) {
	line := func(what string, answer any, err error) {
		lines = append(lines, fmt.Sprintf("%s: %v %v", what, answer, err))
	}
	txs := func(what string, all []*utxo.Tx, err error) {
		var b strings.Builder
		for _, t := range all {
			row := *t
			row.Arrival = 0 // each store numbers its own
			fmt.Fprintf(&b, "\n\t%+v", row)
		}
		line(what, b.String(), err)
	}
	sorted := func(all []*utxo.Tx, err error) ([]*utxo.Tx, error) {
		all = slices.Clone(all)
		slices.SortFunc(all, func(a, b *utxo.Tx) int { return strings.Compare(a.ID.String(), b.ID.String()) })
		return all, err
	}
	coins := func(what string, all []utxo.Coin, err error) {
		for _, c := range all {
			line(what, fmt.Sprintf("%+v", c), nil)
		}
		line(what, len(all), err)
	}
	tip, ok, err := s.Tip()
	line("tip", fmt.Sprint(tip, ok), err)
	line("block", fmt.Sprint(s.BlocksNamed(tip.Hash)), nil)
	blocks, err := s.Blocks(0, tip.Height)
	line("blocks", blocks, err)
	snapshot, err := s.Snapshot()
	txs("snapshot", snapshot.Txs, err)
	snapshot.Txs, err = nil, nil
	line("snapshot", fmt.Sprintf("%+v", snapshot), err)
	for _, b := range blocks {
		all, err := s.ConfirmedAt(b.Height, b.Height)
		txs(fmt.Sprintf("confirmed at %d", b.Height), all, err)
	}
	all, _ := s.Snapshot()
	var ids []utxo.TxID
	var hashes []chainhash.Hash
	var ops []wire.OutPoint
	seq, err := s.Seq()
	line("sequence", seq, err)
	for i, t := range all.Txs {
		ids, hashes = append(ids, t.ID), append(hashes, t.ID.Hash)
		ops = append(append(ops, t.Inputs...), wire.OutPoint{Hash: t.ID.Hash})
		raw, err := s.Raw(t.ID)
		line("raw", raw, err)
		log, err := s.Transitions(t.ID)
		line("transitions of "+t.ID.String(), log, err)
		if i%3 != 0 {
			continue
		}
		found, err := s.Children(t.ID.Hash)
		txs("children of "+t.ID.String(), found, err)
		found, err = sorted(s.Descendants(t.ID.Hash))
		txs("descendants of "+t.ID.String(), found, err)
		for _, reach := range []utxo.Reach{utxo.NotPublished, utxo.NotConfirmed} {
			found, err = sorted(s.Ancestors(reach, t.ID.Hash))
			txs(fmt.Sprintf("ancestors %d of %s", reach, t.ID), found, err)
		}
	}
	found, err := sorted(s.Txs(ids...))
	txs("all", found, err)
	found, err = s.Children(hashes...)
	txs("children", found, err)
	found, err = s.Spenders(ops...)
	txs("spenders", found, err)
	found, err = sorted(s.Descendants(hashes...))
	txs("descendants", found, err)
	edges, err := s.Replacements(ids...)
	line("replacements", edges, err)
	for w := utxo.WalletID(1); w < 4; w++ {
		on := fmt.Sprintf(" of wallet %d", w)
		found, err := s.LiveUnconfirmed(w)
		txs("live unconfirmed"+on, found, err)
		list, err := s.Unspent(w, nil)
		coins("unspent"+on, list, err)
		list, err = s.Watch(w)
		coins("watched"+on, list, err)
		list, err = s.Coins(w, ops...)
		coins("coins"+on, list, err)
		leases, err := s.Leases(w, ops...)
		line("leases"+on, leases, err)
		tag := "main"
		list, err = s.Unspent(w, &tag)
		coins("unspent main"+on, list, err)
		for _, min := range []int32{0, 1, 2, 5} {
			for _, of := range []*string{nil, &tag} {
				sum, err := s.Balance(p, w, of, min, now)
				line("balance"+on, fmt.Sprintf("%d %v %+v", min, of == nil, sum), err)
			}
		}
		for after, more := (*utxo.HistoryKey)(nil), true; more; {
			page, err := s.History(w, after, 3)
			txs("history"+on, page, err)
			if more = len(page) > 0; more {
				key := page[len(page)-1].Key()
				after = &key
			}
		}
		for after, more := (*wire.OutPoint)(nil), true; more; {
			page, err := s.Outputs(w, after, 3)
			coins("outputs"+on, page, err)
			if more = len(page) > 0; more {
				after = &page[len(page)-1].OutPoint
			}
		}
	}
	return lines
}

// walletsOf is the service of wallets.
func walletsOf(t testing.TB, s *sqlstore.Store, p utxo.Policy) *store.Wallets {
	t.Helper()
	w, err := store.NewWallets(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
