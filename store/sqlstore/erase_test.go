package sqlstore_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// erasable are the columns whose texts may be erased, by table: nothing else is let
// through by the triggers.
var erasable = map[string][]string{
	"transitions":                 {"reason", "data"},
	"withdrawal_attempts":         {"error_message"},
	"withdrawal_acknowledgements": {"reason"},
	"settle_journal":              {"error"},
	"withdrawal_fillers":          {"reason"},
	"withdrawal_statements":       {"reason"},
}

// The list is what the migrations say, and each other text of an append-only row is none
// that comes from outside: it names, or says what the library says.
func TestEveryTextOfAnAppendOnlyRowIsSortedOut(t *testing.T) {
	kept := map[string][]string{
		"transitions":                 {"machine", "id", "from_status", "trigger", "to_status", "actor", "role", "trace"},
		"settle_journal":              {"actor", "role", "domain", "machine", "id", "event", "outcome", "via", "trace"},
		"settle_places":               {"system", "actor", "reason"}, // of the database: no record has it
		"withdrawal_txs":              {"tx_hash", "input"},
		"withdrawal_attempts":         {"worker", "outcome", "tx_hash", "dispatch_ref"},
		"withdrawal_incidents":        {"tx_hash", "claim", "block_hash", "status", "actor"},
		"withdrawal_acknowledgements": {"tx_hash", "claim", "block_hash", "actor", "role"},
		"withdrawal_payments":         {"chain_id", "tx_form"},
		"withdrawal_fillers":          {"chain_id", "tx_hash", "actor"},
		"withdrawal_statements":       {"chain_id", "says", "tx_hash", "named", "amount_raw", "block_hash", "source", "actor"},
		"withdrawal_batch_txs":        {"tx_hash"},
		"activities":                  {"resource_type", "resource_id", "activity_type"},
	}
	mayGo, stay := sqlstore.AppendOnlyTexts()
	if !reflect.DeepEqual(mayGo, erasable) {
		t.Errorf("the migrations say that these may be erased: %v", mayGo)
	}
	if !reflect.DeepEqual(stay, kept) {
		t.Errorf("these texts of append-only rows stay: %v", stay)
	}
}

// A text from outside in an append-only row may become the mark of erasure, and
// nothing else of the row changes.
func TestOnlyTextsFromOutsideAreErased(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
		f := fill(t, b)
		ctx, by := t.Context(), as(withdrawal.Operator)
		if err := b.PutFiller(ctx, withdrawal.Filler{Wallet: named("hot wallet"), Chain: bsc, Nonce: 900, Hash: "filler", Actor: "op", Reason: "a gap"}); err != nil {
			t.Fatal(err)
		}
		numbered := slices.IndexFunc(f.rows, func(r oldRow) bool { return r.name == "confirming with a nonce" })
		incidents, _, err := b.Incidents(ctx, 0, 1)
		if err != nil || len(incidents) != 1 {
			t.Fatal(incidents, err)
		}
		i := incidents[0]
		if err := b.Acknowledge(ctx, withdrawal.Acknowledgement{Request: i.Request, Hash: i.Hash, Claim: i.Claim, BlockHash: i.BlockHash, Actor: "op",
			Role: withdrawal.Operator, Reason: "settled"}); err != nil {
			t.Fatal(err)
		}
		restored := switches.Recovering{By: switches.By{Actor: "op", Role: switches.Operator}, Scope: switches.Everything, Level: switches.Begin, Generation: 1, Reason: "x"}
		if _, err := switchOf(t, b.database).Recover(ctx, restored); err != nil {
			t.Fatal(err)
		}
		deep := withdrawal.Block{Height: 5, Hash: "b5", Canonical: "b5", Head: 1000}
		pays := withdrawal.Transfer{Output: 2, Payee: "payee", AssetOnChain: named("token"), AmountRaw: "7"}
		for _, ev := range []withdrawal.Event{
			withdrawal.Bound{By: by, Wallet: named("hot wallet"), Through: 901, Source: withdrawal.SignerLog, Reason: "line 1"},
			withdrawal.Used{By: by, Wallet: named("hot wallet"), Tx: "0x1", Block: deep, Nonce: 1, Transfers: []withdrawal.UsedTransfer{{Transfer: pays}}, Reason: "the explorer"},
			withdrawal.NotThis{By: by, Wallet: named("hot wallet"), Tx: "0x1", Output: 2, Request: f.rows[numbered].id, Reason: "no"},
		} {
			if err := b.Say(ctx, ev); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = b.Do(ctx, f.rows[0].id, withdrawal.Requeued{By: by, Reason: "no"}) // refused, and journalled
		for table, columns := range erasable {
			name := b.table(table)
			total := len(b.rows(t, table, "SELECT * FROM "+name))
			if total == 0 {
				t.Errorf("%s has no row", table)
				continue
			}
			all := "SELECT name FROM pragma_table_info('" + table + "')"
			if d == sqlstore.Postgres {
				all = "SELECT attname FROM pg_attribute WHERE attrelid = '" + name + "'::regclass AND attnum > 0 AND NOT attisdropped"
			}
			one := "ctid = (SELECT min(ctid::text)::tid FROM " + name + " WHERE %[2]s IS NOT NULL)"
			if d == sqlstore.SQLite {
				one = "%[2]s = (SELECT max(%[2]s) FROM " + name + ")"
			}
			if table == "withdrawal_attempts" {
				one = "ended_at IS NOT NULL"
			}
			names := b.texts(t, all)
			if d == sqlstore.SQLite && table != "withdrawal_attempts" {
				names = append(names, "rowid")
			}
			for _, column := range names {
				changes := map[string]bool{"NULL": false}
				if slices.Contains(columns, column) {
					changes["'another text'"], changes["'[erased]'"] = false, true
				} else {
					changes[column+" || '[erased]'"], changes["'[erased]'"] = false, false
				}
				for value, allowed := range changes {
					tx, err := b.DB.Begin()
					if err != nil {
						t.Fatal(err)
					}
					_, err = tx.Exec(fmt.Sprintf("UPDATE "+name+" SET %[2]s = %[3]s WHERE "+one, "", column, value))
					if (err == nil) != allowed {
						t.Errorf("%s.%s = %s: %v", table, column, value, err)
					}
					_ = tx.Rollback()
				}
			}
			if _, err := b.DB.Exec("DELETE FROM " + name); err == nil {
				t.Errorf("rows of %s were deleted", table)
			}
		}
	})
}

// After Erase of a record no append-only row holds a text of it; its trail replays,
// cursors of its lines go on, and the second time there is nothing to do.
func TestErase(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		const secret = "Jane Roe"
		ctx := t.Context()
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
		w := b.claimed(t, named("no nonces"))
		w = b.do(t, w.Request.ID, withdrawal.AttemptFailed{By: as(withdrawal.WithdrawalWorker), Fence: w.Job.Lease.Fence, Failure: withdrawal.Permanent, Error: secret})
		_, err := b.Do(ctx, w.Request.ID, withdrawal.Cancelled{By: as(withdrawal.Operator), Reason: secret})
		if err == nil {
			t.Fatal("a failed request was cancelled")
		}
		b.do(t, w.Request.ID, withdrawal.Requeued{By: as(withdrawal.Operator), Job: w.Job.ID, NotRefunded: true, Reason: secret})
		head, err := b.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if holding(b.rowsOf(t), secret) == 0 {
			t.Fatal("nothing was written")
		}
		count := len(b.rowsOf(t))
		for _, of := range [][2]string{{withdrawal.RequestMachine.Name(), w.Request.ID.String()}, {withdrawal.JobMachine.Name(), w.Job.ID.String()}} {
			said := sqlstore.Erasure{Machine: of[0], ID: of[1], Actor: "olga", Trace: "case 7"}
			n, err := b.Erase(ctx, said)
			if err != nil || n == 0 {
				t.Errorf("%v: %d rows, %v", of, n, err)
			}
			if n, err = b.Erase(ctx, said); err != nil || n != 0 {
				t.Errorf("%v once more: %d rows, %v", of, n, err)
			}
			lines := b.rows(t, "", "SELECT actor, role, domain, machine, event, outcome, error, trace FROM "+b.table("settle_journal")+
				" WHERE event = 'Erase' AND id = '"+of[1]+"' ORDER BY n")
			line := "|actor=olga|role=operator|domain=withdrawals|machine=" + of[0] + "|event=Erase|outcome=%s|error=|trace=case 7"
			if want := []string{fmt.Sprintf(line, "done"), fmt.Sprintf(line, "already so")}; !slices.Equal(lines, want) {
				t.Errorf("the journal has\n%q, want\n%q", lines, want)
			}
			if err := b.Verify(ctx, uuidOf(t, of[1])); err != nil {
				t.Error(err)
			}
		}
		for table := range erasable {
			if n := holding(b.rows(t, table, "SELECT * FROM "+b.table(table)), secret); n != 0 {
				t.Errorf("%d rows of %s hold the text", n, table)
			}
		}
		const calls = 4 // each has a line in the journal
		if got := len(b.rowsOf(t)); got != count+calls {
			t.Errorf("there are %d rows, and were %d", got, count)
		}
		if _, _, err := b.Follow(ctx, head, 10); err != nil {
			t.Errorf("behind a line that was erased: %v", err)
		}
		b.exec(t, "INSERT INTO %s (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) "+
			"SELECT horizon, 'another', 'x', 2, 'a', 'b', 'c', at, actor, '"+secret+"', '"+utxo.ContextLine+"' FROM %[1]s WHERE version = 1 AND id = '"+w.Request.ID.String()+"'",
			"transitions")
		n, err := b.Erase(ctx, sqlstore.Erasure{Machine: "another", ID: "x", Actor: "olga"})
		if got := b.rows(t, "", "SELECT reason, data FROM "+b.table("transitions")+" WHERE id = 'x'"); err != nil || n != 1 || got[0] != "|reason=[erased]|data="+utxo.ContextLine {
			t.Errorf("a line that the feed hides is %v, %d rows, %v", got, n, err)
		}
		for what, e := range map[string]sqlstore.Erasure{
			"a record without a machine": {ID: w.Request.ID.String(), Actor: "olga"},
			"a record without an id":     {Machine: withdrawal.RequestMachine.Name(), Actor: "olga"},
			"nobody":                     {Machine: withdrawal.RequestMachine.Name(), ID: w.Request.ID.String()},
			"a long trace": {Machine: withdrawal.RequestMachine.Name(), ID: w.Request.ID.String(), Actor: "olga",
				Trace: strings.Repeat("x", statemachine.MaxTrace+1)},
		} {
			if _, err := b.Erase(ctx, e); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		swapsOnly := b.database.of(store.DomainSwaps).at(t, time.Time{})
		if _, err := swapsOnly.Erase(ctx, sqlstore.Erasure{Machine: withdrawal.RequestMachine.Name(), ID: w.Request.ID.String(), Actor: "olga"}); err != nil {
			t.Error(err)
		}
	})
}

func holding(rows []string, text string) (n int) {
	for _, row := range rows {
		if strings.Contains(row, text) {
			n++
		}
	}
	return n
}
