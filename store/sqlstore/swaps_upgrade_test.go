package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
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

// What was filed for two items before a transaction could be claimed refuses no
// evidence after the migration: an operator is told, and says whose it is.
func TestOneTransactionThatWasFiledForTwoItemsBefore(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		_, file := newStore(t, d)
		db := file.at(t, time.Time{})
		o := newOldSwaps(t, db)
		first, second := o.rows[1], o.rows[13] // in the order of their ids
		byHand := oldSwap{swap.ToUSDC, o.rows[16].id, ""}
		o.do(t, byHand, swap.Ordered{By: swapOf(swap.Operator, time.Hour), Order: swap.PaidBy, Action: swap.Send, TxID: "on-solana", Reason: "x"})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		file.downTo(t, 21)
		if got := file.texts(t, "SELECT signature FROM "+file.table("swap_intents")+" WHERE item = '"+byHand.id+"'"); len(got) != 1 || got[0] != "on-solana" {
			t.Errorf("the older version does not find what was filed by its signature: %q", got)
		}
		columns := "action, attempt, chain, reference, memo, destination, net_units, fee_units, signature, raw_tx, last_valid, at, filed, send_by, outcome, txid, proof, is_final, closed_at"
		file.exec(t, "INSERT INTO %s (direction, item, number, "+columns+") SELECT direction, '"+first.id+"', number, "+columns+" FROM %[1]s WHERE item = '"+second.id+"'", "swap_intents")
		file.migrate(t)
		o.open(t, file.at(t, time.Time{}))
		now := swapOf(swap.Worker, 2*time.Hour)
		seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "byhand", Reference: 900, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 99}
		look := swap.Looked{By: now, Number: 1, Finding: swap.LookFound, Seen: seen}
		for range 2 {
			r := o.do(t, second, look).Head()
			if r.Hold.Kind != swap.ByMismatch || len(r.Discrepancies) != 1 || r.Intents[0].Landed() {
				t.Fatalf("the second: %+v", r)
			}
		}
		order := swap.Ordered{By: swapOf(swap.Operator, 3*time.Hour), Order: swap.PaidBy, Action: swap.Send, TxID: "byhand", Reason: "its own"}
		if _, err := o.Deposits.Do(ctx, second.id, order); err == nil || !strings.Contains(err.Error(), first.id) {
			t.Errorf("the first has it: %v", err)
		}
		o.do(t, first, swap.Ordered{By: swapOf(swap.Operator, 3*time.Hour), Order: swap.NotSent, Number: 1, Reason: "another's"})
		if r := o.do(t, second, order, look, look); r.State() != "debit_confirmed" || r.Head().Intents[0].Claim != "nexus byhand" {
			t.Errorf("the second ends as %s: %+v", r.State(), r.Head())
		}
	})
}

// A counter that a person's number has raised under an older version goes back to
// what the house drew, and nothing goes out before the chain says what else that was.
func TestACounterThatCannotDrawGoesBack(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		db, file := newStore(t, d)
		o := newOldSwaps(t, db)
		before, err := o.Control(ctx)
		if err == nil {
			err = db.Close()
		}
		if err != nil || before.Recovering() {
			t.Fatal(before, err)
		}
		for reference, want := range map[uint64]uint64{swap.MaxSeen: swap.MaxSeen, swap.MaxSeen + 1: before.Reference, swap.MaxAmount: before.Reference} {
			file.downTo(t, 24)
			file.exec(t, "UPDATE %s SET nexus_scanned = solana_scanned, reference = "+fmt.Sprint(reference), "swap_control")
			file.migrate(t)
			o.open(t, file.open(t))
			c, err := o.Control(ctx)
			reset := reference != want
			if err != nil || c.Reference != want || c.Recovering() != reset {
				t.Errorf("%d became %+v, %v", reference, c, err)
			}
			for _, own := range []bool{true, false} {
				if w, _, err := o.Waterline(ctx, swap.Nexus, own); err != nil || (w.At.Unix() == 0) != (reset && own) {
					t.Errorf("%d: own %v, the waterline is %+v, %v", reference, own, w, err)
				}
			}
			file.exec(t, "UPDATE %s SET at = (SELECT solana_scanned FROM %s)", "swap_waterlines", "swap_control")
		}
	})
}

// There is no way down where the older tables cannot keep what is known.
func TestNoWayDownLosesAnOverpayment(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		db, file := newStore(t, d)
		p := relaysync.DefaultPolicy()
		p.RelayDomain = "x.example"
		relays, err := store.NewRelays(db, p)
		if err != nil {
			t.Fatal(err)
		}
		tenants, err := store.NewTenants(db, relays, dunning.DefaultPolicy())
		if err == nil {
			host := dunning.By{Actor: "host", Role: relaysync.Host}
			_, err = tenants.Do(ctx, "t1", dunning.Enrolled{By: host, Tenant: "t1", Method: dunning.NWC}, dunning.Issued{By: host, Invoice: "t1/1", Amount: 5})
		}
		if err != nil {
			t.Fatal(err)
		}
		for change, kept := range map[string]bool{"overpaid = NULL, repaid = NULL": true, "repaid = '3'": true, "repaid = '1 3'": false, "issued = 6": false} {
			file.exec(t, "UPDATE %s SET issued = amount, repaid = NULL", "invoices")
			file.exec(t, "UPDATE %s SET "+change, "invoices")
			files, err := sqlstore.Migrations(file.dialect, file.opts)
			if err != nil {
				t.Fatal(err)
			}
			host, err := goose.NewProvider(map[sqlstore.Dialect]goose.Dialect{sqlstore.SQLite: goose.DialectSQLite3, sqlstore.Postgres: goose.DialectPostgres}[file.dialect],
				file.DB, files, goose.WithTableName(file.table("settle_db_version")))
			if err != nil {
				t.Fatal(err)
			}
			_, err = host.DownTo(ctx, 22)
			if (err == nil) != kept || err != nil && !strings.Contains(err.Error(), "the_older_tables_cannot_keep") {
				t.Errorf("%s: %v", change, err)
			}
			file.migrate(t)
		}
	})
}
