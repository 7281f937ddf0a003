package ops_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/sqlstore"
)

// The metrics of all domains of a database, for a page that Prometheus reads.
func ExampleNewMetrics() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "settle-ops-")
	check(err)
	defer os.RemoveAll(dir)
	conn, err := sql.Open("sqlite", filepath.Join(dir, "host.db"))
	check(err)
	defer conn.Close()
	options := sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals}}
	check(sqlstore.Migrate(ctx, conn, sqlstore.SQLite, options))
	db, err := sqlstore.Open(ctx, conn, sqlstore.SQLite, options)
	check(err)
	defer db.Close()

	services, err := ops.NewServices(db, ops.DefaultPolicies()) // the policies of the host
	check(err)
	metrics := ops.NewMetrics(services, ops.DefaultLimits())
	http.Handle("/metrics", metrics)
	for _, sample := range metrics.Samples(ctx) {
		if sample.Name == "settle_in_review" {
			fmt.Println(sample.Name, sample.Labels, sample.Value)
		}
	}
	// Output: settle_in_review [{domain withdrawals}] 0
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
