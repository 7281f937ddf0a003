package console

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store/ops/opstest"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// copies makes n copies of a request and of its job, if it has one, with ids of their own.
func (d *desk) copies(w withdrawal.Withdrawal, prefix string, n int) {
	d.T.Helper()
	ctx := d.T.Context()
	schema, series, id := "", fmt.Sprintf("generate_series(1, %d) AS s(n)", n), "('"+prefix+"'||lpad(to_hex(n), 12, '0'))::uuid"
	if d.Dialect == sqlstore.Postgres {
		schema = d.Opts.Schema + "."
	} else {
		series = fmt.Sprintf("(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s) AS s", n)
		id = "'" + prefix + "'||printf('%012x', n)"
	}
	copied := func(table, own string, of uuid.UUID, also map[string]string) {
		rows, err := d.SQL.QueryContext(ctx, "SELECT * FROM "+schema+table+" WHERE FALSE")
		d.Check(err)
		columns, err := rows.Columns()
		d.Check(err)
		d.Check(rows.Close())
		values := slices.Clone(columns)
		for i, c := range columns {
			if values[i] = "t." + c; c == own {
				values[i] = id
			}
			if is, has := also[c]; has {
				values[i] = is
			}
		}
		_, err = d.SQL.ExecContext(ctx, fmt.Sprintf("INSERT INTO %[1]s%[2]s (%[3]s) SELECT %[4]s FROM %[1]s%[2]s t, %[5]s WHERE t.id = '%[6]s'", schema, table,
			strings.Join(columns, ", "), strings.Join(values, ", "), series, of))
		d.Check(err)
	}
	copied("withdrawal_requests", "id", w.Request.ID, nil)
	if w.Job.Status != 0 {
		job := strings.Replace(id, prefix, "f"+prefix[1:], 1)
		copied("withdrawal_queue", "withdrawal_request_id", w.Job.ID, map[string]string{"id": job})
	}
}

// Beside a million ended requests and ten thousand open ones each page is answered: the pages ask what package sqlstore
// holds to its indexes, of a bounded number of rows. What it takes is logged; the bound is for an idle machine.
func TestPagesBesideAMillion(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK is not set")
	}
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		d := deskOf(h)
		d.HotWallet()
		records := d.Others()
		checker := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}
		ended := d.Sent(0)
		ended, err := d.Withdrawals.Do(t.Context(), ended.Request.ID, withdrawal.Receipt{By: checker, Tx: ended.Txs[0].Hash,
			Block: withdrawal.Block{Height: 10, Hash: "0xb", Canonical: "0xb", Head: 1000}})
		d.Check(err)
		if ended.Request.Status != withdrawal.RequestCompleted {
			t.Fatalf("it is %s", ended.Request.Status)
		}
		d.copies(ended, "aaaaaaaa-0000-4000-8000-", 1_000_000)
		d.Later(30 * 24 * time.Hour) // they ended long ago
		review, pending := d.Review(), d.Request()
		queued := d.Request(opstest.Queued()...)
		d.copies(review, "bbbbbbbb-0000-4000-8000-", 1_000)
		d.copies(pending, "cccccccc-0000-4000-8000-", 5_000)
		d.copies(queued, "dddddddd-0000-4000-8000-", 4_000)
		_, err = d.SQL.ExecContext(t.Context(), "ANALYZE")
		d.Check(err)
		d.who.Can = Can{Stop: true, Operate: all, Lease: all}
		item := path("withdrawal", review.Request.ID.String())
		pages := []string{"/", "/review", "/stuck", "/find?q=" + ended.Txs[0].Hash, "/find?q=" + review.Job.ID.String(), "/find?q=nobody", item, item + ".json", item + "/NotSent",
			path("deposit", records["deposit"]), path("tenant", records["tenant"]), "/incidents", "/wallets", "/journal", "/stop",
			"/list/withdrawal?list=all", "/list/withdrawal?list=all&newest=1", "/list/withdrawal?list=all&state=completed",
			"/list/withdrawal?list=open&chain=" + opstest.Chain.String(), "/list/withdrawal?list=all&wallet=" + opstest.Wallet.String(),
			"/list/withdrawal?list=all&holder=payer-1", "/list/withdrawal?list=review&after=" + review.Request.ID.String()}
		for _, k := range d.Kinds() {
			for _, name := range k.Lists {
				pages = append(pages, "/list/"+k.Name+"?list="+strings.ReplaceAll(name, " ", "%20"))
			}
		}
		for _, page := range pages {
			took := time.Hour
			for range 3 { // the first one plans
				d.console.numbers.Expire()
				began := time.Now()
				if got := d.ask("GET", page, nil); got.Code != http.StatusOK && got.Code != http.StatusSeeOther {
					t.Fatalf("%s: %d %s", page, got.Code, got.Body)
				}
				took = min(took, time.Since(began))
			}
			t.Logf("%-60s %v", page, took.Round(100*time.Microsecond))
			if took > readWait {
				t.Errorf("%s took %v", page, took)
			}
		}
		began := time.Now() // statistics count every state, so they take their time beside a million; no page waits for them
		stats, err := d.Withdrawals.Stats(t.Context(), 24*time.Hour)
		d.Check(err)
		t.Logf("statistics of withdrawals: %v", time.Since(began).Round(time.Millisecond))
		if stats.InReview != 1_001 {
			t.Errorf("%d are in review", stats.InReview)
		}
	})
}
