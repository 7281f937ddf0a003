package follow_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// Each approval of a request gives one mail to an outbox of the host, in the commit that
// says how far the consumer has come.
func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	_, settle, closeAll := hostDatabase(ctx, "CREATE TABLE outbox (key TEXT PRIMARY KEY, mail TEXT)")
	defer closeAll()
	withdrawals, err := store.NewWithdrawals(settle, withdrawal.DefaultPolicy())
	must(err)
	order := withdrawal.Submitted{By: withdrawal.By{Actor: "api", Role: withdrawal.System}, Request: uuid.New(),
		User: statemachine.ID("user", "17"), Asset: statemachine.ID("asset", "USDX"), Chain: statemachine.ID("chain", "demo"),
		ToAddress: "0xABC", Amount: "12.5", Decimals: 6}
	_, err = withdrawals.Do(ctx, order.Request, order, withdrawal.Approved{By: withdrawal.By{Actor: "olga", Role: withdrawal.Approver}})
	must(err)

	consumer := follow.Consumer{Name: "mails", Domains: []store.Domain{store.DomainWithdrawals}, From: follow.Beginning}
	must(follow.Run(ctx, settle, consumer, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []follow.Line) error {
		for _, line := range lines {
			if line.Machine != withdrawal.RequestMachine.Name() || line.To != withdrawal.RequestApproved.String() {
				continue
			}
			id, err := uuid.Parse(line.Aggregate)
			if err != nil {
				return err
			}
			w, err := withdrawals.Within(unit).Get(ctx, id) // what the record says now counts
			if err == nil && w.Request.Status == withdrawal.RequestApproved {
				_, err = tx.ExecContext(ctx, "INSERT INTO outbox (key, mail) VALUES ($1, $2) ON CONFLICT DO NOTHING", id.String()+"/approved",
					"we send "+w.Request.Amount.String())
				fmt.Println(line.From, "->", line.To)
			}
			if err != nil {
				return err
			}
		}
		stop() // a service goes on
		return nil
	}))
	// Output: pending -> approved
}

// What ended unpaid is given back in the commit of Refunded. A service calls this in a
// [github.com/settlehq/settle/store/worker.Sweep].
func ExampleRefundDue() {
	ctx := context.Background()
	db, settle, closeAll := hostDatabase(ctx, "CREATE TABLE releases (key TEXT PRIMARY KEY, amount TEXT)")
	defer closeAll()
	withdrawals, err := store.NewWithdrawals(settle, withdrawal.DefaultPolicy())
	must(err)
	order := withdrawal.Submitted{By: withdrawal.By{Actor: "api", Role: withdrawal.System}, Request: uuid.New(),
		User: statemachine.ID("user", "17"), Asset: statemachine.ID("asset", "USDX"), Chain: statemachine.ID("chain", "demo"),
		ToAddress: "0xABC", Amount: "12.5", Decimals: 6}
	_, err = withdrawals.Do(ctx, order.Request, order,
		withdrawal.Rejected{By: withdrawal.By{Actor: "olga", Role: withdrawal.Approver}, Reason: "the address is on a list"})
	must(err)

	refunded, _, err := follow.RefundDue(ctx, settle, withdrawals, 50,
		func(ctx context.Context, tx sqlstore.Tx, _ store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
			key := w.Request.ID.String() + "/release/1"
			_, err := tx.ExecContext(ctx, "INSERT INTO releases (key, amount) VALUES ($1, $2) ON CONFLICT DO NOTHING", key, string(w.Request.AmountRaw))
			return withdrawal.Refunded{By: withdrawal.By{Actor: "ledger", Role: withdrawal.System}, Reference: key}, err
		})
	must(err)
	var amount string
	must(db.QueryRow("SELECT amount FROM releases").Scan(&amount))
	fmt.Println(len(refunded), "refund of", amount)
	// Output: 1 refund of 12500000
}

// hostDatabase is an SQLite file of a host, with settle's tables and one of its own.
func hostDatabase(ctx context.Context, table string) (*sql.DB, *sqlstore.Store, func()) {
	dir, err := os.MkdirTemp("", "settle-follow-")
	must(err)
	db, err := sql.Open("sqlite", filepath.Join(dir, "host.db"))
	must(err)
	must(sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}))
	settle, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	must(err)
	_, err = db.ExecContext(ctx, table)
	must(err)
	return db, settle, func() { must(errors.Join(settle.Close(), db.Close(), os.RemoveAll(dir))) }
}
