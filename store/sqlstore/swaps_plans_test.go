package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
)

// swapping is what swaps do every day, for one dialect.
func swapping(d Dialect) map[string]*statement {
	all := map[string]*statement{
		"intents": &intentsOf, "discrepancies": &discrepanciesOf, "reference": &ofReference, "claim": &ofClaim, "open discrepancies": &openOnes,
		"insert intents": &intentTable.insertOne, "answer intents": &alterIntents, "insert discrepancies": &discrepancyTable.insertOne, "close discrepancies": &closeDiscrepancy,
	}
	swappingIn(all, d, depositSwaps)
	swappingIn(all, d, creditSwaps)
	return all
}

func swappingIn[A any](all map[string]*statement, d Dialect, of *swapTables[A]) {
	all["get by "+of.machine] = &of.get
	for _, p := range of.places {
		for name, st := range map[string]*statement{
			"list": &p.list, "remove": &p.remove, "due": p.due.found[d][0], "next": p.due.soon[0], "renew": &p.leases.renew, "lost": &p.leases.lost, "held": &p.held,
			"stats": &p.stats, "update": &p.updateOne, "touch": &p.touchOne, "insert": &p.insertOne, "as stored": &p.storedNow,
		} {
			// Of what is unprocessed all is counted; for the rest PostgreSQL makes a plan
			// for the times that it is asked with, which a test of generic plans does not show.
			if name != "stats" || p != of.places[0] && d == SQLite {
				all[name+" of "+p.name] = st
			}
		}
	}
}

var wholeSwaps = regexp.MustCompile(`Seq Scan on ((unprocessed|processed|refunded|quarantined)_(sigs|txids)|swap_(intents|discrepancies)|transitions)\b|(?m)SCAN (x|h|swap_\w+|\w+_(sigs|txids)|transitions)$`)

var swapPlans = plans{swapping, wholeSwaps, regexp.MustCompile(`^remove of `), fillSwaps}

// fillSwaps makes items in each table.
func fillSwaps(t *testing.T, conn *sql.Conn, syn syntax, n int) {
	t.Helper()
	series, at, no, empty := fmt.Sprintf("(SELECT key FROM json_each('[' || substr(replace(hex(zeroblob(%d)), '00', ',1'), 2) || ']'))", n), "'2026-01-01 00:00:00.000000'", "0", "x''"
	if syn.Dialect == Postgres {
		series, at, no, empty = fmt.Sprintf("generate_series(0, %d) AS s(key)", n-1), "now()", "false", "''::bytea"
	}
	texts := []string{
		"INSERT INTO @swap_intents (direction, item, number, action, attempt, chain, net_units, fee_units, raw_tx, last_valid, at, filed, send_by, missed, missed_at, outcome, is_final) SELECT " +
			"'deposit', 'i' || key, 1, 'send', 1, 'nexus', 1, 0, " + empty + ", 0, " + at + ", " + no + ", " + at + ", 0, " + at + ", 'done', " + no + " FROM " + series,
		"INSERT INTO @swap_discrepancies (direction, item, kind, key, amount_units, other_units, description, actor, at, " +
			"closed_by, closed_at, firm) SELECT " +
			"'deposit', 'i' || key, 'mismatch', 'k', 1, 2, '', '', " + at + ", 'oscar', " + at + ", " + no + " FROM " + series,
	}
	item := ", item_time, stored_at, entered, version, looked_back, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, " +
		"quarantine_attempts, fee_units, stood, lost, lease_fence) SELECT "
	rest := ", 1, " + at + ", " + at + ", 1, 0, " + no + ", 0, 0, 0, " + no + ", " + no + ", 0, 0, 0, 0, 0, 0, 1 FROM " + series
	for _, c := range []struct{ place, owner, deposit, credit string }{
		{"unprocessed", "owner_from_address", "ready for processing", "pending_receival"},
		{"processed", "owner", "processed", "processed"},
		{"refunded", "owner_from_address", "refund_confirmed", "refunded"},
		{"quarantined", "owner", "quarantine_confirmed", "quarantined"},
	} {
		texts = append(texts, "INSERT INTO @"+c.place+"_sigs (sig, timestamp, memo, amount_usdc_units, status, memo_read"+item+"'i' || key, 1, '', 1, '"+c.deposit+"', "+no+rest,
			"INSERT INTO @"+c.place+"_txids (txid, timestamp, amount_usdd, amount_usdd_units, to_address, "+c.owner+", confirmations_credit, status, collecting, settled_by"+item+
				"'i' || key, 1, '1', 1, 'to', 'o', 1, '"+c.credit+"', "+no+", 0"+rest)
	}
	for _, text := range texts {
		if _, err := conn.ExecContext(context.Background(), syn.expand(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// asks counts the queries of a session.
type asks struct {
	*session
	n int
}

func (a *asks) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	a.n++
	return a.session.db.QueryContext(ctx, query, args...)
}

func (a *asks) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return a.session.db.PrepareContext(ctx, query)
}

func (a *asks) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return a.session.db.ExecContext(ctx, query, args...)
}

// A new item costs Get one statement, whatever the number of items; stored ones cost their
// intents and discrepancies too.
func TestGetOfSwapsIsOneStatement(t *testing.T) {
	pgtest.Beside(t)
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			db, opts, syn, conn := migrated(t, d)
			fillSwaps(t, conn, syn, 10)
			for _, of := range [][2]string{{"_sigs", "sig"}, {"_txids", "txid"}} { // else an item is in all four
				for table, which := range map[string]string{"unprocessed": " IN ('i1', 'i2', 'i3')", "processed": " <> 'i1'", "refunded": " <> 'i2'", "quarantined": " <> 'i3'"} {
					if _, err := conn.ExecContext(t.Context(), syn.expand("DELETE FROM @"+table+of[0]+" WHERE "+of[1]+which)); err != nil {
						t.Fatal(err)
					}
				}
			}
			_ = conn.Close()
			s, err := Open(t.Context(), db, d, opts)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			for _, c := range []struct {
				ids         []string
				most, found int
			}{{[]string{"new"}, 1, 0}, {[]string{"new", "newer"}, 1, 0}, {[]string{"i0"}, 3, 1}, {[]string{"i3", "new", "i1", "i2", "i9"}, 3, 4}} {
				err := s.View(t.Context(), func(u store.Unit) error {
					x := u.(*tx)
					was := x.run
					defer func() { x.run = was }()
					n := &asks{session: was}
					x.run = &session{db: n, close: was.close}
					deposits, err1 := u.Deposits().Get(c.ids...)
					of := n.n
					credits, err2 := u.Credits().Get(c.ids...)
					found := 0
					for k, id := range c.ids {
						if deposits[k].ID != credits[k].ID || deposits[k].ID != "" && deposits[k].ID != id {
							t.Errorf("%s is %q and %q", id, deposits[k].ID, credits[k].ID)
						}
						if deposits[k].ID != "" {
							found++
						}
					}
					if of > c.most || n.n-of > c.most || found != c.found {
						t.Errorf("%v: %d and %d statements, %d found", c.ids, of, n.n-of, found)
					}
					return errors.Join(err1, err2)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}
