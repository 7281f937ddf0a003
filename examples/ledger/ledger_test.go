package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// onEach runs a test on an empty service on each database.
func onEach(t *testing.T, test func(*testing.T, *service)) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t.Context(), database(t), policy(time.Minute), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.close(); err != nil {
					t.Error(err)
				}
			}()
			test(t, s)
		})
	}
}

func (s *service) has(t *testing.T, account string, want int64) {
	t.Helper()
	err := s.db.UpdateTx(t.Context(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
		has, err := balance(ctx, tx, account)
		if err == nil && has != want {
			t.Errorf("%s has %d and not %d", account, has, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func (s *service) post(t *testing.T, p posting) error {
	t.Helper()
	return s.db.UpdateTx(t.Context(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error { return post(ctx, tx, p) })
}

func TestPost(t *testing.T) {
	onEach(t, func(t *testing.T, s *service) {
		if err := s.post(t, fund("a gift", "ann", "10")); err != nil {
			t.Fatal(err)
		}
		if err := s.post(t, fund("a gift", "ann", "10")); err != nil { // once
			t.Error(err)
		}
		if err := s.post(t, fund("a gift", "ann", "11")); !errors.Is(err, statemachine.ErrConflict) {
			t.Errorf("another amount: %v", err)
		}
		if err := s.post(t, fund("a gift", "bea", "10")); !errors.Is(err, statemachine.ErrConflict) {
			t.Errorf("another customer: %v", err)
		}
		for _, amount := range []withdrawal.Raw{"0", "-1", "", "9223372036854775808"} {
			if err := s.post(t, fund("of "+string(amount), "ann", amount)); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%q: %v", amount, err)
			}
		}
		move := posting{"r", "hold", 1, available("ann"), held("ann"), "11"}
		if err := s.post(t, move); !errors.Is(err, errFunds) {
			t.Errorf("one too much: %v", err)
		}
		s.has(t, held("ann"), 0)
		if move.Amount = "10"; s.post(t, move) != nil { // all, and the key of what failed is free
			t.Error("all is refused")
		}
		s.has(t, available("ann"), 0)
		s.has(t, held("ann"), 10)
		s.has(t, chainAccount, -10)
	})
}

// Of many postings that take from the same amount at once, those are made that the amount
// is enough for, and no other.
func TestPostAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *service) {
		if err := s.post(t, fund("a gift", "ann", "10")); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var made atomic.Int64
		for i := range 16 {
			all.Go(func() {
				err := s.post(t, posting{fmt.Sprint(i), "hold", 1, available("ann"), held("ann"), "3"})
				switch {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, errFunds):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := made.Load(); n != 3 {
			t.Errorf("%d holds of 3 are made of 10", n)
		}
		s.has(t, held("ann"), 9)
		s.has(t, available("ann"), 1)
		for i := range 16 { // and in both directions, which no deadlock ends
			all.Go(func() {
				p := posting{fmt.Sprint("again ", i), "hold", 1, available("ann"), held("ann"), "3"}
				if i%2 == 1 {
					p = posting{fmt.Sprint("again ", i), "release", 1, held("ann"), available("ann"), "3"}
				}
				if err := s.post(t, p); err != nil && !errors.Is(err, errFunds) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if a, err := s.audit(t.Context()); err != nil || a.Held < 0 || a.Held > 9 {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// Deposits are reversed while their customer spends them: what is available is taken once.
func TestReversedAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *service) {
		var facts []follow.Fact
		for i := range 8 {
			facts = append(facts, fact(uint32(i), 1, utxo.FactCredited))
		}
		s.credited(t, facts...)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { s.credited(t, fact(uint32(i), 1, utxo.FactReversed)) })
			all.Go(func() {
				if err := s.post(t, posting{fmt.Sprint(i), "hold", 1, available("ann"), held("ann"), "4"}); err != nil && !errors.Is(err, errFunds) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.has(t, chainAccount, 0)
		s.has(t, available("ann"), 0)
	})
}

func fact(index uint32, round int64, kind utxo.FactKind) follow.Fact {
	return follow.Fact{DepositKey: utxo.DepositKey{OutPoint: wire.OutPoint{Index: index}, Round: round, Kind: kind},
		Owner: utxo.Owner{Wallet: wallet, Tag: "ann"}, Amount: 5}
}

// credited posts facts as [follow.Deposits] has them posted.
func (s *service) credited(t *testing.T, facts ...follow.Fact) {
	t.Helper()
	err := s.db.UpdateTx(t.Context(), func(ctx context.Context, tx sqlstore.Tx, u store.Unit) error { return s.credit(ctx, tx, u, facts) })
	if err != nil {
		t.Error(err)
	}
}

// What is reversed is owed, and what is available of it is taken at once.
func TestReversed(t *testing.T) {
	onEach(t, func(t *testing.T, s *service) {
		say := func(facts ...follow.Fact) { t.Helper(); s.credited(t, facts...) }
		say(fact(0, 1, utxo.FactCredited), fact(1, 1, utxo.FactCredited))
		if err := s.post(t, posting{"r", "hold", 1, available("ann"), held("ann"), "7"}); err != nil {
			t.Fatal(err)
		}
		say(fact(0, 1, utxo.FactReversed))
		s.has(t, available("ann"), 0) // of 3
		s.has(t, owed("ann"), -2)
		s.has(t, held("ann"), 7)
		s.has(t, chainAccount, -5)
		say(fact(0, 2, utxo.FactCredited)) // it is back
		s.has(t, available("ann"), 5)
		say(fact(0, 2, utxo.FactReversed))
		s.has(t, available("ann"), 0)
		say(fact(1, 1, utxo.FactReversed))
		s.has(t, owed("ann"), -7)
		s.has(t, chainAccount, 0)
	})
}

// The audit finds what it is there to find.
func TestAuditFinds(t *testing.T) {
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), policy(time.Minute), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	user, err := customer("ann")
	if err != nil {
		t.Fatal(err)
	}
	ann := user.String()
	if err := s.post(t, fund("a gift", ann, "1000")); err != nil {
		t.Fatal(err)
	}
	order := withdrawal.Submitted{By: house, Request: user, User: user, Asset: asset, Chain: chainID, ToAddress: "0x1",
		Amount: "0.000001", Decimals: decimals}
	if _, err := s.withdraw(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	if a, err := s.audit(t.Context()); err != nil || len(a.Wrong) > 0 || a.Held != 100 || a.Open != 100 || a.Requests != 1 || a.Ended != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	for name, c := range map[string]struct {
		p    posting
		want []string // all that is wrong, sorted
	}{
		"a release": {posting{ann, "release", 1, held(ann), available(ann), "100"},
			[]string{available(ann) + " has 1000, and by the requests it is 900", held(ann) + " has 0, and by the requests it is 100",
				"request " + ann + ` is approved, refunded as "": that it was released is true`}},
		"a capture": {posting{ann, "capture", 1, held(ann), chainAccount, "100"},
			[]string{"request " + ann + " is approved, and captured"}},
		"a hold of no request": {posting{"nothing", "hold", 1, available(ann), held(ann), "1"},
			[]string{available(ann) + " has 899, and by the requests it is 900", held(ann) + " has 101, and by the requests it is 100",
				"the book has postings of nothing, which is no request"}},
		"a credit of no deposit": {posting{"nothing", "credited", 1, chainAccount, available(ann), "1"},
			[]string{"the book has credited 1 of nothing, which is no deposit"}},
		"an amount that moved": {posting{ann, "refund", 1, available(ann), chainAccount, "1"},
			[]string{available(ann) + " has 899, and by the requests it is 900", chainAccount + " has -999, and by the requests it is -1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			undone := errors.New("undone")
			err := s.db.UpdateTx(t.Context(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
				if err := post(ctx, tx, c.p); err != nil {
					return err
				}
				a, err := auditOf(ctx, tx)
				slices.Sort(a.Wrong)
				if err == nil && !slices.Equal(a.Wrong, c.want) {
					t.Errorf("wrong is %q, expected %q", a.Wrong, c.want)
				}
				return errors.Join(err, undone)
			})
			if !errors.Is(err, undone) {
				t.Error(err)
			}
		})
	}
}

// /alerts has the wallet's and the database's too.
func TestAlertsOfWalletAndDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, s *service) {
		if err := (&bitcoin{wallets: s.wallets}).mine(t.Context()); err != nil {
			t.Fatal(err)
		}
		alerts := func() (names []string) {
			all, err := s.below(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range all {
				names = append(names, a.Name)
			}
			return names
		}
		if got := alerts(); len(got) > 0 {
			t.Errorf("there are alerts: %q", got)
		}
		change := "UPDATE wallets SET follows_tip = FALSE, scanned_to = 0" // nobody scans it
		if _, err := s.conn.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if got := alerts(); !slices.Equal(got, []string{"behind"}) {
			t.Errorf("a wallet is behind: %q", got)
		}
		if s.db.Dialect == sqlstore.SQLite {
			return // a file is not moved
		}
		change = "CREATE OR REPLACE FUNCTION settle_moved(lossless boolean) RETURNS boolean LANGUAGE sql AS 'SELECT true'"
		if _, err := s.conn.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if got := alerts(); !slices.Equal(got, []string{"behind", "database moved"}) {
			t.Errorf("the database has moved: %q", got)
		}
	})
}

// What a restored database has forgotten comes back with its hold, in one commit, and once. Where too little is available,
// since what paid for it is forgotten too, nothing is stored until that is back.
func TestImportedWithItsHold(t *testing.T) {
	onEach(t, func(t *testing.T, s *service) {
		user, err := customer("ann")
		if err != nil {
			t.Fatal(err)
		}
		ann := user.String()
		e := withdrawal.Imported{By: house, Request: user, User: user, Asset: asset,
			Chain: chainID, ToAddress: "0x1", Amount: "0.000001", Decimals: decimals, Job: user, AssetOnChain: asset,
			Hash: "0xlost", Nonce: 7, HasNonce: true}
		if err := s.bring(t.Context(), e); !errors.Is(err, errFunds) {
			t.Fatalf("before the deposit is back: %v", err)
		}
		if _, err := s.withdrawals.Get(t.Context(), user); !errors.Is(err, statemachine.ErrNotFound) {
			t.Fatalf("the request is there without its hold: %v", err)
		}
		if err := s.post(t, fund("a deposit", ann, "1000")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.bring(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			s.has(t, available(ann), 900)
			s.has(t, held(ann), 100)
			if a, err := s.audit(t.Context()); err != nil || len(a.Wrong) > 0 {
				t.Fatalf("%+v, %v", a, err)
			}
		}
	})
}

// A nonce that a chain that became shorter has left free is taken by a transfer to the wallet itself, which
// can be told as what has used the nonce.
func TestUsedOfAFreeNonce(t *testing.T) {
	ctx, chain := t.Context(), newWorld(t, filepath.Join(t.TempDir(), "chain"), node.Faults{}, time.Hour).chain
	defer chain.Close()
	server := httptest.NewServer(chain)
	defer server.Close()
	client := node.NewClient(server.URL, time.Minute)
	by := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	if _, err := used(ctx, client, by, 0, "a test"); !errors.Is(err, statemachine.ErrIllegal) {
		t.Fatalf("a free nonce: %v", err)
	}
	for range node.Finality {
		if err := chain.Tick(); err != nil {
			t.Fatal(err)
		}
	}
	event, err := used(ctx, client, by, 0, "a test")
	if err != nil {
		t.Fatal(err)
	}
	recovering := withdrawal.Recovery{Chain: chainID, Wallet: withdrawal.HotWallet{ID: hotWallet, Chain: chainID}, Recovering: true, Generation: 1}
	if _, err := policy(time.Minute).Statements(event, recovering, time.Now()); err != nil {
		t.Error(err)
	}
}

// Any number of processes that start at once find the tables made.
func TestTablesAreMadeAtOnce(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				db, errs := database(t), make(chan error)
				const processes = 6
				for range processes {
					go func() {
						s, err := open(t.Context(), db, policy(time.Minute), slog.New(slog.DiscardHandler))
						if err == nil {
							err = s.close()
						}
						errs <- err
					}()
				}
				for range processes {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
