package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// dialectText writes what a person would: X'..' and times in the dialect.
func dialectText(d sqlstore.Dialect, db database, text string) string {
	for _, name := range []string{"blocks", "transactions", "tx_inputs", "utxos", "tx_replacements", "utxo_leases", "wallets", "transitions", "spendable_utxos"} {
		text = strings.ReplaceAll(text, "@"+name, db.table(name))
	}
	hash := func(n byte) string {
		h := strings.Repeat(fmt.Sprintf("%02x", n), 32)
		if d == sqlstore.Postgres {
			return `'\x` + h + `'::bytea`
		}
		return "X'" + h + "'"
	}
	for n := byte(1); n < 10; n++ {
		text = strings.ReplaceAll(text, fmt.Sprintf("#%d", n), hash(n))
	}
	yes, no := "1", "0"
	if d == sqlstore.Postgres {
		yes, no = "true", "false"
	}
	return strings.NewReplacer("{yes}", yes, "{no}", no, "{now}", "'2026-01-02 03:04:05.000006'").Replace(text)
}

const (
	txRow = "INSERT INTO @transactions (id, wallet_id, tx_hash, status, block_height, block_position, is_coinbase, first_seen, seq, label, version, raw_tx) VALUES "
	utxo1 = "INSERT INTO @utxos (wallet_id, tx_id, output_index, amount, script, owner_tag, spent_by_tx_id, spent_input_index) VALUES "
)

// The rules of the domain, once more: a row that breaks one is refused by the
// database, whoever writes it.
func TestDatabaseRefusesBrokenRows(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		_, db := newStore(t, d)
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if d == sqlstore.SQLite {
			if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = ON"); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range []string{
			"INSERT INTO @wallets (id, birth_height, scanned_to) VALUES (1, 1, 0), (2, 1, 0)",
			"INSERT INTO @blocks VALUES (1, #1, #2, {now})",
			txRow + "(11, 1, #1, 'published', 1, 0, {yes}, {now}, 0, '', 1, #1), (12, 1, #2, 'published', NULL, 0, {no}, {now}, 0, '', 1, #1), (21, 2, #1, 'pending', NULL, 0, {no}, {now}, 0, '', 1, #1)",
			"INSERT INTO @tx_inputs VALUES (1, 12, 0, #1, 0), (2, 21, 0, #9, 0)",
			utxo1 + "(1, 11, 0, 5, #1, 'a', NULL, NULL), (1, 12, 0, 5, #1, 'a', NULL, NULL)",
			"INSERT INTO @tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id) VALUES (1, 11, 12)",
			"INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) VALUES (0, 'm', 'x', 1, '', 't', 'a', {now}, '', '', '')",
		} {
			if _, err := conn.ExecContext(ctx, dialectText(d, db, text)); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		for name, text := range map[string]string{
			"unknown status":                   txRow + "(13, 1, #3, 'abandoned', NULL, 0, {no}, {now}, 0, '', 1, #1)",
			"confirmed and pending":            txRow + "(13, 1, #3, 'pending', 1, 1, {no}, {now}, 0, '', 1, #1)",
			"confirmed and failed":             "UPDATE @transactions SET status = 'failed' WHERE id = 11",
			"unconfirmed coinbase":             "UPDATE @transactions SET block_height = NULL, block_position = 0 WHERE id = 11",
			"failed coinbase":                  "UPDATE @transactions SET block_height = NULL, block_position = 0, status = 'failed' WHERE id = 11",
			"confirmed and orphaned":           "UPDATE @transactions SET status = 'orphaned' WHERE id = 11",
			"orphaned, no coinbase":            "UPDATE @transactions SET status = 'orphaned' WHERE id = 12",
			"unknown block":                    "UPDATE @transactions SET block_height = 7 WHERE id = 12",
			"block with transactions deleted":  "DELETE FROM @blocks WHERE block_height = 1",
			"same hash twice in a wallet":      txRow + "(13, 1, #1, 'pending', NULL, 0, {no}, {now}, 0, '', 1, #1)",
			"short hash":                       "INSERT INTO @tx_inputs SELECT 1, 12, 1, substr(raw_tx, 1, 31), 0 FROM @transactions WHERE id = 11",
			"output of another wallet's tx":    utxo1 + "(2, 11, 1, 5, #1, 'a', NULL, NULL)",
			"spender without input":            "UPDATE @utxos SET spent_by_tx_id = 12 WHERE tx_id = 11",
			"input without spender":            "UPDATE @utxos SET spent_input_index = 0 WHERE tx_id = 11",
			"spender of another wallet":        "UPDATE @utxos SET spent_by_tx_id = 21, spent_input_index = 0 WHERE tx_id = 11",
			"spender with an input it has not": "UPDATE @utxos SET spent_by_tx_id = 12, spent_input_index = 3 WHERE tx_id = 11",
			"own spender":                      "UPDATE @utxos SET spent_by_tx_id = 12, spent_input_index = 0 WHERE tx_id = 12",
			"lease of another wallet":          "INSERT INTO @utxo_leases VALUES (2, 11 * 4294967296, #1, {now}, {now})",
			"short lock id":                    "INSERT INTO @utxo_leases SELECT 1, 11 * 4294967296, script, {now}, {now} FROM (SELECT substr(raw_tx, 1, 31) AS script FROM @transactions WHERE id = 11) AS x",
			"own replacement":                  "INSERT INTO @tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id) VALUES (1, 11, 11)",
			"replacement of another wallet":    "INSERT INTO @tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id) VALUES (1, 11, 21)",
			"negative amount":                  "UPDATE @utxos SET amount = -1 WHERE tx_id = 11",
			"transaction deleted":              "DELETE FROM @transactions WHERE id = 12",
			"input deleted":                    "DELETE FROM @tx_inputs WHERE tx_id = 21",
			"input changed":                    "UPDATE @tx_inputs SET prev_index = 1 WHERE tx_id = 21",
			"output deleted":                   "DELETE FROM @utxos WHERE tx_id = 12",
			"replacement deleted":              "DELETE FROM @tx_replacements WHERE wallet_id = 1",
			"replacement changed":              "UPDATE @tx_replacements SET replaced_tx_id = 12, replacement_tx_id = 11 WHERE wallet_id = 1",
			"wallet deleted":                   "DELETE FROM @wallets WHERE id = 2",
			"audit changed":                    "UPDATE @transitions SET reason = 'x' WHERE version = 1",
			"audit deleted":                    "DELETE FROM @transitions WHERE version = 1",
			"version twice":                    "INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) VALUES (0, 'm', 'x', 1, '', 't', 'b', {now}, '', '', '')",
			"second version without a state":   "INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) VALUES (0, 'm', 'x', 2, '', 't', 'b', {now}, '', '', '')",
			"text in a number":                 "UPDATE @utxos SET amount = 'much' WHERE tx_id = 11",
		} {
			if res, err := conn.ExecContext(ctx, dialectText(d, db, text)); err == nil {
				n, _ := res.RowsAffected()
				t.Errorf("%s: the database takes it (%d rows)", name, n)
			} else if !constraint(err) {
				t.Errorf("%s is refused for another reason: %v", name, err)
			}
		}
		if d == sqlstore.Postgres {
			if _, err := conn.ExecContext(ctx, "TRUNCATE "+db.table("transitions")); err == nil {
				t.Error("the database truncates the audit trail")
			}
		}
		// What is right is not refused.
		for _, text := range []string{
			"UPDATE @utxos SET spent_by_tx_id = 12, spent_input_index = 0 WHERE tx_id = 11",
			"UPDATE @transactions SET status = 'orphaned', block_height = NULL, block_position = 0 WHERE id = 11",
			"UPDATE @transactions SET status = 'published', block_height = 1 WHERE id = 11",
			"INSERT INTO @utxo_leases VALUES (1, 11 * 4294967296, #1, {now}, {now})",
		} {
			if _, err := conn.ExecContext(ctx, dialectText(d, db, text)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// constraint reports whether the database named a rule that a row breaks.
func constraint(err error) bool {
	var sqlite interface{ Code() int }
	var postgres interface{ SQLState() string }
	switch {
	case errors.As(err, &sqlite):
		return sqlite.Code()&0xff == 19
	case errors.As(err, &postgres):
		return strings.HasPrefix(postgres.SQLState(), "23") || postgres.SQLState() == "22P02" // a text that is no number
	}
	return false
}

// coins is a store with a wallet that has one confirmed transaction with n coins.
func coins(t *testing.T, d sqlstore.Dialect, n int) (*sqlstore.Store, database, *store.Wallets, chainhash.Hash) {
	t.Helper()
	s, db := newStore(t, d)
	service := walletsOf(t, s, utxotest.Policy())
	tx := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)})
	for range n {
		tx.AddTxOut(utxotest.Pay(1000, utxotest.Script(1, "main")))
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := service.Do(context.Background(), utxo.WalletOpened{Wallet: 1, Birth: 1, By: utxo.By{At: at}},
		utxo.Connected{Block: utxotest.NewBlock(1, chainhash.Hash{}, 0), Txs: []*wire.MsgTx{tx}, Positions: []int32{1}, By: utxo.By{At: at}})
	if err != nil {
		t.Fatal(err)
	}
	return s, db, service, tx.TxHash()
}

// The source's filter compares with CURRENT_TIMESTAMP, which has whole seconds
// on SQLite: a lease may hold up to one second longer there, never shorter.
func TestSourcesLeaseFilter(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		_, db, service, hash := coins(t, d, 2)
		query := dialectText(d, db, "SELECT count(*) FROM @spendable_utxos s WHERE NOT EXISTS (SELECT 1 FROM @utxo_leases l "+
			"WHERE l.wallet_id = s.wallet_id AND l.utxo_id = s.id AND l.expires_at > CURRENT_TIMESTAMP)")
		spendable := func() (n int) {
			if err := db.QueryRow(query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := spendable(); n != 2 {
			t.Fatalf("%d coins are spendable, want 2", n)
		}
		const held = 1300 * time.Millisecond
		start := time.Now()
		until := start.UTC().Truncate(time.Microsecond).Add(held)
		_, err := service.Do(context.Background(), utxo.OutputsLeased{
			Wallet: 1, OutPoints: []wire.OutPoint{{Hash: hash}}, Lock: utxo.LockID{1}, Duration: held, By: utxo.By{At: start},
		})
		if err != nil {
			t.Fatal(err)
		}
		for {
			n := spendable()
			now := time.Now()
			if n == 2 {
				if now.Before(until) {
					t.Errorf("the lease ended %v too early", until.Sub(now))
				}
				break
			}
			if now.Sub(until) > 2*time.Minute { // only what hangs reaches it
				t.Fatal("the lease does not end")
			}
			time.Sleep(5 * time.Millisecond)
		}
		// The text itself, at its boundary, whatever the clock does meanwhile.
		if d == sqlstore.SQLite {
			for until, holds := range map[string]bool{
				"2026-01-01 00:00:05.999999": true, "2026-01-01 00:00:05.000000": true, "2026-01-01 00:00:04.999999": false,
			} {
				var got bool
				if err := db.QueryRow("SELECT ? > '2026-01-01 00:00:05'", until).Scan(&got); err != nil || got != holds {
					t.Errorf("%s: %v %v", until, got, err)
				}
			}
		}
	})
}

func TestUnknownStatusNamesTheRow(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db, service, hash := coins(t, d, 1)
		ctx := context.Background()
		other := utxotest.NewTx(2, []wire.OutPoint{utxotest.External(2)}, utxotest.Pay(7, utxotest.Script(1, "main")))
		if _, err := service.Do(ctx, utxo.Submitted{Wallet: 1, Tx: other, By: utxo.By{At: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		plant := []string{"PRAGMA ignore_check_constraints = ON", "UPDATE transactions SET status = 'abandoned' WHERE block_height IS NULL"}
		if d == sqlstore.Postgres {
			plant = []string{"ALTER TABLE " + db.table("transactions") + " DROP CONSTRAINT transactions_status_check", "UPDATE " + db.table("transactions") + " SET status = 'abandoned' WHERE block_height IS NULL"}
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, text := range plant {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				t.Fatal(err)
			}
		}
		err = s.View(ctx, func(tx store.Unit) error {
			if txs, err := tx.Wallets().Txs(utxo.TxID{Wallet: 1, Hash: hash}); err != nil || len(txs) != 1 {
				t.Errorf("another row: %v %v", txs, err)
			}
			_, err := tx.Wallets().Txs(utxo.TxID{Wallet: 1, Hash: other.TxHash()})
			var unknown *statemachine.UnknownTextError
			want := "transactions 1/" + other.TxHash().String()
			if !errors.As(err, &unknown) || unknown.Text != "abandoned" || unknown.Where != want {
				t.Errorf("%v, want one that names %s", err, want)
			}
			_, err = tx.Wallets().Txs(utxo.TxID{Wallet: 1, Hash: hash})
			return err
		})
		if err != nil {
			t.Errorf("the transaction does not go on: %v", err)
		}
	})
}

// An observer of committed transitions misses none, also when one transaction
// that began earlier commits later.
func TestFollowMissesNothing(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db, service, hash := coins(t, d, 1)
		ctx := context.Background()
		var cursor store.Cursor
		read := func() (seen []string) {
			t.Helper()
			err := s.View(ctx, func(tx store.Unit) error {
				feed := tx.Wallets().(store.Feed[utxo.TxID])
				for {
					page, next, err := feed.Follow(cursor, 2)
					if err != nil || len(page) == 0 {
						return err
					}
					cursor = next
					for _, l := range page {
						seen = append(seen, fmt.Sprint(l.ID.Wallet, " ", l.Version, " ", l.Trigger))
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return seen
		}
		if got := fmt.Sprint(read()); got != "[1 1 confirmed]" {
			t.Fatalf("first: %s", got)
		}
		label := func(n int) { // one more version
			id := utxo.TxID{Wallet: 1, Hash: hash}
			if _, err := service.Do(ctx, utxo.Labelled{ID: id, Label: fmt.Sprint(n), By: utxo.By{At: time.Now()}}); err != nil {
				t.Fatal(err)
			}
		}
		if d == sqlstore.Postgres {
			tx, err := db.BeginTx(ctx, nil) // an older transaction that is still running
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() // no feed of the server goes on beside it
			ours, err := s.Within(ctx, tx)
			if err != nil {
				t.Fatal(err)
			}
			if err := ours.Wallets().Save(opened(2)); err != nil {
				t.Fatal(err)
			}
			label(1)
			if got := read(); len(got) != 0 {
				t.Errorf("what commits now could still be missed: %v", got)
			}
			id, at := utxo.TxID{Wallet: 2, Hash: hash}, time.Now().UTC().Truncate(time.Microsecond)
			if err := ours.Wallets().Save(utxo.ChangeSet{
				Inserts: []*utxo.Tx{{ID: id, Status: utxo.Pending, Height: utxo.Unconfirmed, FirstSeen: at, Version: 1, Raw: []byte{1}}},
				Log:     []statemachine.Transition[utxo.TxID]{{Machine: utxo.TxMachine.Name(), ID: id, Version: 1, Trigger: "submit", To: "pending", At: at}},
			}); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(read()); got != "[2 1 submit 1 2 labelled]" {
				t.Errorf("after it: %s", got)
			}
			return
		}
		label(1)
		label(2)
		label(3)
		if got := fmt.Sprint(read()); got != "[1 2 labelled 1 3 labelled 1 4 labelled]" {
			t.Errorf("then: %s", got)
		}
		for _, bad := range []store.Cursor{"x", "1", "1.2.3", "01.2"} {
			err := s.View(ctx, func(tx store.Unit) error {
				_, _, err := tx.Wallets().(store.Feed[utxo.TxID]).Follow(bad, 1)
				return err
			})
			if !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	})
}
