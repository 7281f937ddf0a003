package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// asProgram makes the test binary the program itself: it starts its own workers.
const asProgram = "SETTLE_TEST_RUN_REFRESH"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	_ = os.Setenv(asProgram, "1") // for the processes of the program
	os.Exit(pgtest.Main(m))
}

// play runs the program with real worker processes, one of which is killed.
func playOn(t *testing.T, db string) report {
	t.Helper()
	wallets, kills := "33", "1"
	if os.Getenv("SETTLE_SOAK") != "" {
		wallets, kills = "550", "8"
	}
	var out, log bytes.Buffer
	err := run(context.Background(), []string{"-db", db, "-wallets", wallets, "-kills", kills, "-second", "10ms", "-json"}, nil, &out, &log)
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out.Bytes(), log.Bytes())
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", err, r.Failures, log.Bytes())
	}
	return r
}

func TestProgram(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "refresh.db")
	for range 2 { // again on the same database
		r := playOn(t, db)
		if os.Getenv("SETTLE_SOAK") != "" {
			t.Logf("%+v", r)
			continue
		}
		if r.Kills != 1 || len(r.Transfers) != 11 || r.Jobs["invoice_created"]["completed"] != 21 || r.Jobs["asset_sent"]["completed"] != 6 || r.Jobs["sync"]["completed"] < 3 {
			t.Errorf("%+v", r)
		}
	}
}

func TestProgramOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	admin, err := sql.Open("pgx", pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	address := pgtest.InSchema(t, admin, pgtest.URL(t))
	t.Logf("%+v", playOn(t, address))

	// POSTGRES_MIN_CONNECTIONS are there from the start.
	c := refresh.DefaultPolicy()
	c.PostgresMinConnections = 4
	_, shut, err := openService(t.Context(), pgtest.With(t, address, "application_name", "refresh-minimum"), c, false)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := admin.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'refresh-minimum'").Scan(&n); err != nil || n != 4 {
		t.Errorf("%d connections, %v", n, err)
	}
	if err := shut(); err != nil {
		t.Error(err)
	}
}

// The proof fails where a job or a watcher did not end as it must.
func TestProofFails(t *testing.T) {
	service, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	s := scenario{name: "a payment", ends: "settled"}
	settled := &transfer{apiTransfer: apiTransfer{RecipientID: "r", Status: refresh.TransferSettled}}
	for name, c := range map[string]struct {
		w refresh.Work
		t *transfer
	}{
		"open and no watcher":  {refresh.Work{}, &transfer{apiTransfer: apiTransfer{RecipientID: "r"}}},
		"another end":          {refresh.Work{Watchers: []refresh.Watcher{{Recipient: "r", Status: refresh.Expired, EndReason: refresh.EndGone}}}, settled},
		"watching still":       {refresh.Work{Watchers: []refresh.Watcher{{Recipient: "r", Status: refresh.Watching}}}, settled},
		"a failed job":         {refresh.Work{Jobs: []refresh.Job{{Status: refresh.JobFailed, Cause: refresh.Sync}}}, &transfer{}},
		"the transfer differs": {refresh.Work{Watchers: []refresh.Watcher{{Recipient: "r", Status: refresh.Failed}}}, &transfer{apiTransfer: apiTransfer{RecipientID: "r", Status: refresh.TransferFailed}}},
	} {
		r := newReport(options{}, refresh.DefaultPolicy())
		if err := r.wallet(context.Background(), service, s, &c.w, []*transfer{c.t}); err != nil {
			t.Fatal(err)
		}
		if len(r.Failures) == 0 {
			t.Errorf("%s: nothing failed", name)
		}
	}
	r := newReport(options{wallets: 1}, refresh.DefaultPolicy())
	node := newWallets()
	node.overlaps = 1
	if err := r.prove(context.Background(), service, node); err != nil || len(r.Failures) != 2 { // and its job is missing
		t.Errorf("%v, %v", r.Failures, err)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-wallets", "0"}, {"-workers", "99"}, {"-kills", "-1"}, {"-second", "1h"}, {"-timeout", "0"}, {"more"}, {"-db", "mysql://host/name", "-timeout", "1ns"}} {
		if err := run(context.Background(), args, nil, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	t.Setenv("REFRESH_INTERVAL", "many")
	if err := run(context.Background(), []string{"-db", filepath.Join(t.TempDir(), "x.db")}, nil, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
		t.Error("a setting of the environment is not read")
	}
	t.Setenv("REFRESH_INTERVAL", "7")
	c, err := configure(1e7, "")
	if err != nil || fmt.Sprint(c.RefreshInterval) != "7s" || c.PollInterval.Milliseconds() != 50 || c.ProvisionalTTL.Milliseconds() != 1800 {
		t.Errorf("%+v, %v", c, err)
	}
}
