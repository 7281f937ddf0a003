package downstream

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// TestMain bounds how often rapid draws, so that the module is tested in half a minute.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.checks", "20")
	os.Exit(m.Run())
}

func openPayouts(tb testing.TB) store.Store[*Unit] { return payoutsAt(tb, nil) }

// payoutsAt opens an empty store with a clock.
func payoutsAt(tb testing.TB, now func() time.Time) *Store {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(tb.TempDir(), "host.db")+
		"?_txlock=immediate&_pragma=synchronous(off)&_pragma=foreign_keys(on)")
	if err == nil {
		tb.Cleanup(func() { db.Close() })
		_, err = db.ExecContext(context.Background(), Schema)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return New(db, now)
}

func TestWithdrawals(t *testing.T) { storetest.Withdrawals(t, openPayouts) }
func TestSwitches(t *testing.T)    { storetest.Switches(t, openPayouts) }
func TestProcesses(t *testing.T)   { storetest.Processes(t, openPayouts) }

// Whatever is sent to a payout, the host's own queries find in the columns what the record says, and what the host posts
// in the same transaction is there exactly if settle took the event.
func TestColumnsSayWhatTheRecordSays(t *testing.T) {
	ctx, now := t.Context(), withdrawaltest.Start
	s := payoutsAt(t, func() time.Time { return now })
	service, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
	if err == nil {
		_, err = s.db.ExecContext(ctx, "CREATE TABLE postings (payout TEXT NOT NULL, step INTEGER NOT NULL)")
	}
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		first := withdrawaltest.Submissions().Draw(t, "submission")
		first.Request, first.User = uuid.New(), uuid.New()
		id := first.Request
		hot := withdrawal.HotWallet{ID: uuid.New(), Chain: first.Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
		if err := service.PutHotWallet(ctx, withdrawal.By{Actor: "host", Role: withdrawal.System}, hot); err != nil {
			t.Fatal(err)
		}
		adversary := withdrawaltest.Adversary{Prefix: id.String()}
		var w withdrawal.Withdrawal
		took := 0
		for step := range 40 {
			var ev withdrawal.Event = first
			if step > 0 {
				ev = adversary.Next(t, w, []withdrawal.HotWallet{hot})
				now = adversary.Now
			}
			err := s.Update(ctx, func(u *Unit) error {
				if _, err := service.Within(u).Do(ctx, id, ev); err != nil {
					return err
				}
				_, err := u.Exec("INSERT INTO postings (payout, step) VALUES (?, ?)", id, step)
				return err
			})
			if err == nil {
				took++
			}
			if w, err = service.Get(ctx, id); err != nil {
				t.Fatal(err)
			}
			var state, amount string
			var orders, posted int
			err = s.db.QueryRowContext(ctx, `SELECT state, amount, (SELECT count(*) FROM payout_attempts WHERE payout = id AND kind = 'order'
				AND state <> 'given up'), (SELECT count(*) FROM postings WHERE payout = id) FROM payouts WHERE id = ?`, id).
				Scan(&state, &amount, &orders, &posted)
			if err != nil || state != requestStates[w.Request.Status] || amount != string(w.Request.AmountRaw) || orders > 1 || posted != took {
				t.Fatalf("after %T: %s of %s, %d orders, %d postings of %d (%v), and the record is %+v", ev, amount, state, orders, posted, took,
					err, w.Request)
			}
		}
		if _, err := service.Trail(ctx, id); err != nil { // it replays
			t.Fatal(err)
		}
	})
}

// A row that cannot be read is left out of what is due, and Get names it. Nobody changes the log.
func TestABrokenRowStopsNoOther(t *testing.T) {
	ctx := t.Context()
	s := payoutsAt(t, nil)
	service, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	whole, broken := uuid.New(), uuid.New()
	for _, id := range []uuid.UUID{whole, broken} {
		if _, err := service.Do(ctx, id, withdrawal.Submitted{By: withdrawal.By{Actor: "host", Role: withdrawal.System}, Request: id,
			User: uuid.New(), Asset: uuid.New(), Chain: uuid.New(), ToAddress: "0xabc", Amount: "1", Decimals: 6},
			withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE payouts SET details = '{' WHERE id = ?", broken); err != nil {
		t.Fatal(err)
	}
	var due []withdrawal.Withdrawal
	if err := s.Update(ctx, func(u *Unit) (err error) {
		due, err = u.Withdrawals().Due(store.DueWithdrawals{Kind: withdrawal.DueEnqueue, Now: time.Now(), Limit: 10})
		return err
	}); err != nil || len(due) != 1 || due[0].Request.ID != whole {
		t.Fatalf("due are %+v (%v)", due, err)
	}
	if _, err := service.Get(ctx, broken); !errors.Is(err, statemachine.ErrCorrupt) {
		t.Fatal(err)
	}
	for _, change := range []string{"UPDATE payout_log SET details = '{}'", "DELETE FROM payout_log"} {
		if _, err := s.db.ExecContext(ctx, change); err == nil {
			t.Errorf("%s is done", change)
		}
	}
}

// Each state has a word of its own, and the words in the SQL are those of the states that are meant there.
func TestWords(t *testing.T) {
	words := map[string]bool{}
	for _, of := range withdrawal.RequestStatus(0).Values() {
		words[requestStates[of]] = true
	}
	for _, of := range withdrawal.JobStatus(0).Values() {
		words[jobStates[of]] = true
	}
	if words[""] || len(words) != len(withdrawal.RequestStatus(0).Values())+len(withdrawal.JobStatus(0).Values()) ||
		requestStates[withdrawal.RequestCompleted] != "paid" ||
		jobStates[withdrawal.JobConfirmed] != "done" || jobStates[withdrawal.JobFailed] != "given up" {
		t.Error(requestStates, jobStates)
	}
}
