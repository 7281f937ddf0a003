package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
)

// A mark outside of the database tells that an older copy was put in its place.
func ExampleStore_KeepMark() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "mark")
	must(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "host.db"))
	must(err)
	defer db.Close()
	must(sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}))

	opts := sqlstore.Options{Mark: sqlstore.MarkFile(filepath.Join(dir, "mark"))} // on another disk, and in no backup of the database
	s, err := sqlstore.Open(ctx, db, sqlstore.SQLite, opts)
	if err != nil {
		log.Fatal(err)
	}
	keep := worker.Sweep{Name: "mark", Call: s.KeepMark}
	defer s.Close()

	wait, err := keep.Call(ctx)
	fmt.Println(wait, err)
	// Output: 15s <nil>
}
