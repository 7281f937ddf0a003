package downstream

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/storetest"
)

// TestMain bounds how often rapid draws, so that the module is tested in half a minute.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.checks", "30")
	os.Exit(m.Run())
}

func openPayouts(tb testing.TB) store.Store[*Unit] { return empty(tb) }

func empty(tb testing.TB) *Store {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(tb.TempDir(), "host.db")+"?_txlock=immediate&_pragma=synchronous(off)&_pragma=foreign_keys(on)")
	if err == nil {
		tb.Cleanup(func() { db.Close() })
		_, err = db.ExecContext(context.Background(), Schema)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return New(db, nil)
}

func TestWithdrawals(t *testing.T) { storetest.Withdrawals(t, openPayouts) }
func TestSwitches(t *testing.T)    { storetest.Switches(t, openPayouts) }
func TestProcesses(t *testing.T)   { storetest.Processes(t, openPayouts) }
