package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// The queries of the source document, as they are written. On PostgreSQL its own
// clock stands for strftime.
const (
	distributionOfSigs  = "SELECT status, COUNT(*) as count \nFROM unprocessed_sigs \nGROUP BY status;"
	distributionOfTxids = "SELECT status, COUNT(*) as count \nFROM unprocessed_txids \nGROUP BY status;"
	oldestUnprocessed   = "SELECT sig, timestamp, status, memo \nFROM unprocessed_sigs \nORDER BY timestamp ASC \nLIMIT 10;"
	recentQuarantines   = "SELECT sig, timestamp, from_address, amount_usdc_units, memo\nFROM quarantined_sigs\nWHERE timestamp > (strftime('%s', 'now') - 86400)\nORDER BY timestamp DESC;"
)

func TestTheSourcesQueries(t *testing.T) {
	ctx := context.Background()
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		all, err := store.NewSwaps(s, swaptest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC()
		for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
			if _, err := all.Scanned(ctx, c, true, swap.Scan{Began: now, From: now, Complete: true, Tip: now}); err != nil {
				t.Fatal(err)
			}
		}
		old := now.Add(-100 * 24 * time.Hour)
		worker := swap.By{Actor: "w", Role: swap.Worker}
		arrive := func(id string, at time.Time) {
			t.Helper()
			o := swap.Observed{By: swap.By{Actor: "o", Role: swap.Observer}, ID: id, Amount: 10_000_000, From: "alice", Time: at, Success: true, Finalized: true}
			if _, err := all.Deposits.Do(ctx, id, o); err != nil {
				t.Fatal(err)
			}
			o.To, o.Owner = "treasury", "bob"
			if _, err := all.Credits.Do(ctx, id, o); err != nil {
				t.Fatal(err)
			}
		}
		do := func(id string, events ...swap.Event) swap.Deposit {
			t.Helper()
			dep, err := all.Deposits.Do(ctx, id, events...)
			if err != nil {
				t.Fatal(err)
			}
			return dep
		}
		arrive("new", now)
		arrive("ready", now.Add(-time.Hour))
		do("ready", swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:carol"}})
		arrive("aside", old)
		do("aside", swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"what's this?"}},
			swap.QuarantineOrdered{By: swap.By{Actor: "oscar", Role: swap.Operator}, Reason: "x"},
			swap.Begun{By: worker, Fence: 1, Number: 1, Action: swap.Quarantine, Signature: "q1", LastValid: 5},
			swap.Answered{By: worker, Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "q1"})
		arrive("paid", old)
		paid := do("paid", swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:carol"}}, swap.AccountChecked{By: worker, State: swap.AccountUsable},
			swap.Begun{By: worker, Fence: 1, Number: 1, Action: swap.Send}, swap.Answered{By: worker, Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "n1"})
		seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "n1", Reference: paid.Intents[0].Reference, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10}
		do("paid", swap.Looked{By: worker, Number: 1, Finding: swap.LookFound, Seen: seen})

		conn := session(t, db.DB)
		if d == sqlstore.Postgres {
			if _, err := conn.ExecContext(ctx, "SET search_path TO "+db.opts.Schema); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(query string) (lines []string) {
			t.Helper()
			if d == sqlstore.Postgres {
				query = strings.Replace(query, "strftime('%s', 'now')", "extract(epoch from now())", 1)
			}
			rows, err := conn.QueryContext(ctx, query)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			defer rows.Close()
			columns, _ := rows.Columns()
			for rows.Next() {
				values, places := make([]any, len(columns)), make([]any, len(columns))
				for k := range values {
					places[k] = &values[k]
				}
				if err := rows.Scan(places...); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprint(values...))
			}
			return lines
		}
		same := func(query string, want ...string) {
			t.Helper()
			if got := ask(query); strings.Join(got, "; ") != strings.Join(want, "; ") {
				t.Errorf("%s\n%q, expected %q", query, got, want)
			}
		}
		if got := strings.Join(ask(distributionOfSigs), "; "); !strings.Contains(got, "<nil> 1") && !strings.Contains(got, "<nil>1") || !strings.Contains(got, "ready for processing") {
			t.Errorf("the distribution is %q", got)
		}
		if got := strings.Join(ask(distributionOfTxids), "; "); !strings.Contains(got, "pending_receival") || !strings.Contains(got, "4") {
			t.Errorf("the distribution is %q", got)
		}
		if got := ask(oldestUnprocessed); len(got) != 2 || !strings.HasPrefix(got[0], "ready") || !strings.Contains(got[0], fmt.Sprint(now.Add(-time.Hour).Unix())) || !strings.Contains(got[0], "nexus:carol") {
			t.Errorf("the oldest are %q", got)
		}
		if got := ask(recentQuarantines); len(got) != 1 || !strings.HasPrefix(got[0], "aside") || !strings.Contains(got[0], "what's this?") {
			t.Errorf("the recent quarantines are %q", got)
		}
		// What the other tables of the source show.
		same("SELECT sig, timestamp, amount_usdc_units, txid, amount_usdd, status, reference FROM processed_sigs",
			fmt.Sprint("paid", old.Unix(), int64(10_000_000), "n1", "9.890000", "debit_confirmed", int64(paid.Intents[0].Reference)))
		same("SELECT sig, quarantine_sig, quarantined_units, item_time FROM quarantined_sigs", fmt.Sprint("aside", "q1", int64(9_900_000), old.Unix()))
		same("SELECT count(*) FROM (SELECT sig FROM unprocessed_sigs UNION ALL SELECT sig FROM processed_sigs UNION ALL SELECT sig FROM refunded_sigs UNION ALL SELECT sig FROM quarantined_sigs) a", fmt.Sprint(int64(4)))
		for _, columns := range []string{
			"sig, timestamp, memo, from_address, amount_usdc_units, status, txid FROM unprocessed_sigs",
			"sig, timestamp, memo, from_address, amount_usdc_units, status, txid, refund_sig, refunded_units FROM refunded_sigs",
			"txid, timestamp, amount_usdd, from_address, to_address, owner_from_address, confirmations_credit, status, receival_account FROM unprocessed_txids",
			"txid, timestamp, amount_usdd, from_address, to_address, owner, sig, status FROM processed_txids",
			"txid, timestamp, amount_usdd, from_address, to_address, owner_from_address, confirmations_credit, status, receival_account, sig FROM refunded_txids",
			"txid, timestamp, amount_usdd, from_address, to_address, owner, sig, status FROM quarantined_txids",
		} {
			ask("SELECT " + columns)
		}
	})
}

// A row with a status that this version does not know stops no other.
func TestASwapThatCannotBeReadStopsNoOther(t *testing.T) {
	ctx := context.Background()
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		all, err := store.NewSwaps(s, swaptest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			o := swap.Observed{By: swap.By{Actor: "o", Role: swap.Observer}, ID: id, Amount: 5, Time: time.Now(), Success: true, Finalized: true}
			if _, err := all.Deposits.Do(ctx, id, o); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Exec("UPDATE " + db.table("unprocessed_sigs") + " SET hold_kind = 'a later kind', hold_at = entered WHERE sig = 'a'"); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Deposits.Get(ctx, "a"); err == nil || !strings.Contains(err.Error(), "unprocessed_sigs a") {
			t.Errorf("reading it: %v", err)
		}
		items, _, err := all.Deposits.Work("w").Turn(ctx, nil, 10)
		if err != nil || len(items) != 1 || items[0].Key != "b" {
			t.Errorf("claimed are %v, %v", items, err)
		}
		// A status that no version has is refused by the database itself.
		if _, err := db.Exec("UPDATE " + db.table("unprocessed_sigs") + " SET status = 'debit_confirmed' WHERE sig = 'b'"); err == nil {
			t.Error("a finished status is taken in unprocessed_sigs")
		}
		// What names it is its own, and evidence for another goes on.
		o := newOldSwaps(t, db.at(t, time.Time{}))
		paid := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "n", Reference: 43, Amount: 5, Destination: "x", Token: "USDD", Confirmations: 99}
		refund := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s", Memo: swap.WriteMemo(swap.Refund, "row08", swap.ReasonMemo), Amount: 5, Destination: "x", Token: "USDC", Finalized: true}
		for table, id := range map[string]string{"processed_sigs": "row04", "refunded_sigs": "row08"} {
			db.exec(t, "UPDATE %s SET hold_kind = 'a later kind', hold_at = entered WHERE sig = '"+id+"'", table)
			if _, err := o.Deposits.Get(ctx, id); err == nil {
				t.Errorf("%s can be read", id)
			}
		}
		for id, seen := range map[string]swap.Sighting{"row04": paid, "row08": refund} {
			if d, got, err := o.Named(ctx, seen); d != swap.ToUSDD || got != id || err != nil {
				t.Errorf("the outbound of %s is of %v %s, %v", id, d, got, err)
			}
		}
		o.do(t, o.rows[2], swap.Looked{By: swapOf(swap.Worker, 2*time.Second), Number: 1, Finding: swap.LookFound, Seen: paid})
	})
}

// A copy from before the transaction is as old in the next run, whatever else is
// read in it: the second run shows that, and the refusal names the record.
func TestAHeldRecordThatIsOldIsNotSavedTenTimes(t *testing.T) {
	ctx := context.Background()
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, _ := newStore(t, d)
		all, err := store.NewSwaps(s, swaptest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			o := swap.Observed{By: swap.By{Actor: "o", Role: swap.Observer}, ID: id, Amount: 5, Time: time.Now(), Success: true, Finalized: true}
			if _, err := all.Deposits.Do(ctx, id, o); err != nil {
				t.Fatal(err)
			}
		}
		held, err := all.Deposits.Get(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		op := swap.By{Actor: "p", Role: swap.Operator}
		hold := swap.Held{By: op, Reason: "because"}
		now, err := all.Deposits.Do(ctx, "a", hold)
		if err != nil {
			t.Fatal(err)
		}
		save := func(tx store.Unit, d swap.Deposit, ev swap.Event) error {
			c, err := swaptest.Policy().ApplyDeposit(d, ev, time.Now())
			if err != nil {
				return err
			}
			return tx.Deposits().Save(c)
		}
		runs := 0
		err = s.Update(ctx, func(tx store.Unit) error {
			runs++
			if _, err := all.Deposits.Within(tx).Get(ctx, "b"); err != nil {
				return err
			}
			return save(tx, held, hold)
		})
		if !errors.Is(err, statemachine.ErrConflict) {
			t.Fatalf("an old copy is saved: %v", err)
		}
		for _, word := range []string{swap.DepositMachine.Name() + " a", fmt.Sprintf("expected version %d, stored is %d", held.Version, now.Version)} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not say %q", err, word)
			}
		}
		if want := map[sqlstore.Dialect]int{sqlstore.SQLite: 1, sqlstore.Postgres: 2}[d]; runs != want {
			t.Errorf("it ran %d times, want %d", runs, want)
		}
		runs = 0 // read in the transaction, it is saved in the end, however often another one is between
		err = s.Update(ctx, func(tx store.Unit) error {
			ev := []swap.Event{swap.Released{By: op, Reason: "because"}, hold}[runs%2]
			runs++
			a, err := all.Deposits.Within(tx).Get(ctx, "a")
			if err == nil && runs <= 3 && d == sqlstore.Postgres {
				_, err = all.Deposits.Do(ctx, "a", ev)
			}
			if err != nil {
				return err
			}
			return save(tx, a, ev)
		})
		if want := map[sqlstore.Dialect]int{sqlstore.SQLite: 1, sqlstore.Postgres: 4}[d]; err != nil || runs != want {
			t.Errorf("it ran %d times, want %d: %v", runs, want, err)
		}
	})
}

// The database refuses by itself what no step does, in each of the tables, and shows what
// was sent of an item.
func TestTheDatabaseKeepsTheRulesOfSwaps(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		_, db := newStore(t, d)
		s := db.at(t, time.Time{})
		newOldSwaps(t, s)
		refused := func(table, set string) {
			t.Helper()
			if _, err := db.Exec("UPDATE " + db.table(table) + " SET " + set); err == nil {
				t.Errorf("%s: the database took %s", table, set)
			}
		}
		for _, place := range []string{"unprocessed", "processed", "refunded", "quarantined"} {
			for _, of := range []string{"_sigs", "_txids"} {
				for _, set := range []string{"version = 0", "send_attempts = -1", "refund_attempts = -1", "quarantine_attempts = -1", "fee_units = -1", "lease_fence = -1",
					"hold_kind = 'operator', hold_at = NULL", "hold_kind = NULL, hold_at = entered", "lease_holder = 'w', lease_until = NULL", "status = 'paid'",
					map[string]string{"_sigs": "amount_usdc_units = 0", "_txids": "amount_usdd_units = 0"}[of]} {
					refused(place+of, set)
				}
				if place+of != "unprocessed_sigs" {
					refused(place+of, "status = NULL")
				}
			}
		}
		for table, sets := range map[string][]string{
			"swap_intents": {"direction = 'x'", "number = 0", "action = 'x'", "chain = 'x'", "reference = 0", "net_units = 0", "fee_units = -1",
				"outcome = 'x', proof = NULL, is_final = (1 = 0)", "proof = 'x', outcome = 'failed', is_final = (1 = 0)",
				"proof = 'operator', outcome = 'done'", "proof = 'operator', outcome = NULL, is_final = (1 = 0)", "is_final = (1 = 1), outcome = NULL", "is_final = (1 = 1), outcome = 'failed'",
				"reference = 7", "signature = 'x'", "claim = 'x'"},
			"swap_discrepancies": {"closed_by = 'x'", "closed_at = at"},
			"swap_waterlines":    {"chain = 'x'", "version = 0"},
			"swap_control":       {"id = 2", "reference = -1"},
		} {
			for _, set := range sets {
				refused(table, set)
			}
			if _, err := db.Exec("DELETE FROM " + db.table(table)); err == nil {
				t.Errorf("rows of %s are deleted", table)
			}
		}
		const columns = "direction, number, action, attempt, chain, net_units, fee_units, raw_tx, last_valid, at, filed, send_by, is_final, missed, missed_at"
		for outcome, taken := range map[string]bool{"NULL": false, "'failed'": true} {
			_, err := db.Exec("INSERT INTO " + db.table("swap_intents") + " (item, outcome, proof, " + columns + ") SELECT '" + fmt.Sprint(taken) + "', " + outcome + ", 'operator', " +
				columns + " FROM " + db.table("swap_intents") + " WHERE item = 'row02'")
			if (err == nil) != taken {
				t.Errorf("a new intent with a proof and the outcome %s: %v", outcome, err)
			}
		}
		for columns, want := range map[string][]string{
			"sig txid FROM unprocessed_sigs WHERE txid IS NOT NULL":           {"row03 0 sig3"},
			"sig txid amount_usdd reference FROM processed_sigs":              {"row04 0 sig4 9.890000 43", "row05 0 - - -"},
			"sig txid refund_sig refunded_units FROM refunded_sigs":           {"row08 0 - sig8 9900000"},
			"sig txid quarantine_sig quarantined_units FROM quarantined_sigs": {"row10 1 - sig10 9900000"},
			"txid amount_usdd FROM unprocessed_txids WHERE txid = 'row14'":    {"row14 0 10.000000"},
			"txid amount_usdd sig FROM processed_txids":                       {"row19 0 10.000000 sig19", "row20 0 0.000005 -"},
			"txid amount_usdd sig FROM refunded_txids":                        {"row24 0 10.000000 sig24"},
			"txid amount_usdd sig FROM quarantined_txids":                     {"row25 1 10.000000 -", "row26 1 10.000000 sig26"},
		} {
			shown, from, _ := strings.Cut(columns, " FROM ")
			key, shown, _ := strings.Cut(shown, " ")
			text := "SELECT " + key + " || ' ' || (timestamp - item_time)"
			for c := range strings.SplitSeq(shown, " ") {
				text += " || ' ' || coalesce(CAST(" + c + " AS TEXT), '-')"
			}
			if got := db.texts(t, text+" FROM "+db.table(from)+" ORDER BY "+key); !slices.Equal(got, want) {
				t.Errorf("%s: %q, expected %q", columns, got, want)
			}
		}
	})
}
