package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// The tables are made at the start of each process, and a request is stored together with
// a row of the host.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "settle-sqlstore-")
	must(err)
	defer os.RemoveAll(dir)
	conn, err := sql.Open("sqlite", filepath.Join(dir, "host.db")) // PostgreSQL: "pgx", and a URL
	must(err)
	defer conn.Close()

	options := sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals}}
	must(sqlstore.Migrate(ctx, conn, sqlstore.SQLite, options)) // any number of processes may call it
	db, err := sqlstore.Open(ctx, conn, sqlstore.SQLite, options)
	must(err)
	defer db.Close()
	withdrawals, err := store.NewWithdrawals(db, withdrawal.DefaultPolicy())
	must(err)

	_, err = conn.ExecContext(ctx, "CREATE TABLE holds (request TEXT PRIMARY KEY, amount TEXT NOT NULL)")
	must(err)
	order := withdrawal.Submitted{By: withdrawal.By{Actor: "api", Role: withdrawal.System}, Request: uuid.New(),
		User: statemachine.ID("user", "17"), Asset: statemachine.ID("asset", "USDX"), Chain: statemachine.ID("chain", "demo"),
		ToAddress: "0xABC", Amount: "12.5", Decimals: 6}
	for range 2 { // whoever got no answer asks again
		must(db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
			w, err := withdrawals.Within(unit).Submit(ctx, order)
			if err != nil {
				return err // neither is stored
			}
			_, err = tx.ExecContext(ctx, "INSERT INTO holds (request, amount) VALUES ($1, $2) ON CONFLICT DO NOTHING",
				w.Request.ID.String(), string(w.Request.AmountRaw))
			return err
		}))
	}
	var holds, amount int64
	must(conn.QueryRowContext(ctx, "SELECT count(*), sum(CAST(amount AS INTEGER)) FROM holds").Scan(&holds, &amount))
	fmt.Println(holds, "hold of", amount)
	// Output: 1 hold of 12500000
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
