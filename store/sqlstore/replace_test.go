package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/store/sqlstore"
)

// What REPLACE would delete in passing, or set back, stays: the rows of a
// payment, each over a key that is not the one of the new row.
func TestReplaceOverAnotherKeyKeepsTheRow(t *testing.T) {
	b := newBank(t, sqlstore.SQLite)
	failed, confirming, pending := b.failed(t, bsc), b.confirming(t, bsc), b.pending(t, bsc)
	holding := b.claimed(t, bsc)
	wants := map[string]string{"failed": failed.Request.ID.String(), "confirming": confirming.Request.ID.String(), "pending": pending.Request.ID.String(), "holding": holding.Request.ID.String()}
	before := map[string]string{}
	state := func(name string) string { return fmt.Sprintf("%+v", b.do(t, uuidOf(t, wants[name]))) }
	for name := range wants {
		before[name] = state(name)
	}
	columns := b.columns(t, "withdrawal_queue")
	job := func(change map[string]string) string {
		var values []string
		for _, c := range columns {
			if v, ok := change[c]; ok {
				c = v
			}
			values = append(values, c)
		}
		return "INSERT OR REPLACE INTO withdrawal_queue SELECT " + strings.Join(values, ", ") + " FROM withdrawal_queue WHERE id = '" + pending.Job.ID.String() + "'"
	}
	for what, text := range map[string]string{
		"an active job, by its request":       job(map[string]string{"id": "'new'", "number": "7"}),
		"a job, by its number":                job(map[string]string{"id": "'new'", "status": "'failed'", "processed_at": "created_at"}),
		"a job, by rowid":                     "INSERT OR REPLACE INTO withdrawal_queue (rowid, " + strings.Join(columns, ", ") + ") SELECT rowid, 'new', " + strings.Join(columns[1:], ", ") + " FROM withdrawal_queue",
		"a job, by another's id":              "UPDATE OR REPLACE withdrawal_queue SET id = '" + pending.Job.ID.String() + "' WHERE id = '" + failed.Job.ID.String() + "'",
		"an active job, by another's request": "UPDATE OR REPLACE withdrawal_queue SET withdrawal_request_id = '" + pending.Request.ID.String() + "', number = 7 WHERE id = '" + confirming.Job.ID.String() + "'",
		"the holder of a slot":                "UPDATE OR REPLACE withdrawal_queue SET slot = '" + holding.Job.Slot.UUID.String() + "', status = 'processing' WHERE id = '" + pending.Job.ID.String() + "'",
		"a request, by another's id":          "UPDATE OR REPLACE withdrawal_requests SET id = '" + pending.Request.ID.String() + "' WHERE id = '" + failed.Request.ID.String() + "'",
		"a request, by rowid":                 "UPDATE OR REPLACE withdrawal_requests SET rowid = 1",
		"a closed attempt, by an open one":    "UPDATE OR REPLACE withdrawal_attempts SET job_id = '" + failed.Job.ID.String() + "' WHERE job_id = '" + holding.Job.ID.String() + "'",
		"a reservation, by the wallet's id":   "REPLACE INTO operation_wallet_addresses (id, chain_id, role, status) SELECT id, chain_id, role, status FROM operation_wallet_addresses",
	} {
		conn, err := b.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, pragma := range []string{"PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"} {
			if _, err := conn.ExecContext(context.Background(), pragma); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.ExecContext(context.Background(), text); err != nil && !strings.Contains(err.Error(), "keeps its history") {
			t.Errorf("%s: %v", what, err)
		}
		conn.Close()
		for name, want := range before {
			if got := state(name); got != want {
				t.Fatalf("%s: the %s withdrawal is\n%s\nnot\n%s", what, name, got, want)
			}
		}
	}
}

func (d database) columns(t *testing.T, table string) (all []string) {
	t.Helper()
	return d.texts(t, "SELECT name FROM pragma_table_info('"+table+"')")
}

// texts is a column of what a query finds.
func (d database) texts(t testing.TB, query string) (all []string) {
	t.Helper()
	rows, err := d.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

// Of every table whose rows are not to be deleted, no row is lost to INSERT or
// UPDATE OR REPLACE over any of its unique keys: those of the schema, whatever
// domain it is of. Rows are made up.
func TestReplaceDeletesNothing(t *testing.T) {
	ctx, db := context.Background(), emptyFile(t)
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, pragma := range []string{"PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"} {
		if _, err := conn.ExecContext(ctx, pragma); err != nil {
			t.Fatal(err)
		}
	}
	tables := db.texts(t, "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = 'keep_' || tbl_name || '_DELETE' ORDER BY 1")
	if len(tables) < 14 {
		t.Fatalf("tables without DELETE are %v", tables)
	}
	for _, name := range tables {
		k := kept{t, conn, name, db.columns(t, name), db.texts(t, "SELECT type FROM pragma_table_info('"+name+"')")}
		keys := [][]string{db.texts(t, "SELECT name FROM pragma_table_info('"+name+"') WHERE pk > 0 ORDER BY pk")}
		for _, index := range db.texts(t, "SELECT name FROM pragma_index_list('"+name+"') WHERE \"unique\" = 1 AND origin <> 'pk'") {
			keys = append(keys, db.texts(t, "SELECT name FROM pragma_index_info('"+index+"') ORDER BY seqno"))
			for _, text := range db.texts(t, "SELECT sql FROM sqlite_master WHERE sql LIKE '% WHERE %' AND name = '"+index+"'") {
				defer k.inForce(index, text)
			}
		}
		for i := range 2 {
			k.exec("INSERT INTO "+name+" ("+strings.Join(k.columns, ", ")+") VALUES ("+k.row(i, nil)+")", true)
		}
		k.mustBe(0, "two rows were made")
		for i, key := range keys {
			k.tries(i, key)
		}
		if !regexp.MustCompile(`(?i)WITHOUT\s+ROWID`).MatchString(db.texts(t, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = '"+name+"'")[0]) {
			for _, rowid := range []string{"rowid", "_rowid_", "oid"} {
				k.triesRowid(rowid)
			}
		}
	}
}

// kept is a table whose rows are not to be deleted.
type kept struct {
	t              *testing.T
	conn           *sql.Conn
	table          string
	columns, types []string
}

func (k kept) exec(text string, must bool) {
	k.t.Helper()
	_, err := k.conn.ExecContext(context.Background(), text)
	if err != nil && (must || !strings.Contains(err.Error(), "keeps its history") && !strings.Contains(err.Error(), "constraint failed")) {
		k.t.Fatalf("%s: %v", text, err)
	}
}

// indexedValues are those that a partial index asks for.
var indexedValues = map[string]string{"refresh_jobs.trigger": "'recovery'", "refresh_jobs.status": "'pending'"}

// value is that of a column in the i-th row.
func (k kept) value(i, column int) string {
	n := 1000 + 100*i + column
	if v, ok := indexedValues[k.table+"."+k.columns[column]]; ok {
		return v
	}
	switch k.types[column] {
	case "INTEGER":
		return fmt.Sprint(n)
	case "BLOB":
		return fmt.Sprintf("x'%064x'", n)
	}
	return fmt.Sprintf("'t%d'", n)
}

// row is the i-th row, but for what is as in the first.
func (k kept) row(i int, first []string) string {
	var values []string
	for c, name := range k.columns {
		at := i
		if slices.Contains(first, name) {
			at = 0
		}
		values = append(values, k.value(at, c))
	}
	return strings.Join(values, ", ")
}

// is compares all columns with those of the i-th row.
func (k kept) is(i int) string {
	var same []string
	for c, name := range k.columns {
		same = append(same, name+" = "+k.value(i, c))
	}
	return strings.Join(same, " AND ")
}

func (k kept) mustBe(i int, after string) {
	k.t.Helper()
	var n int
	if err := k.conn.QueryRowContext(context.Background(), "SELECT count(*) FROM "+k.table+" WHERE "+k.is(i)).Scan(&n); err != nil || n != 1 {
		k.t.Fatalf("%s: after %s there are %d rows like the first one, %v", k.table, after, n, err)
	}
}

func (k kept) tries(n int, key []string) {
	k.t.Helper()
	text := "INSERT OR REPLACE INTO " + k.table + " (" + strings.Join(k.columns, ", ") + ") VALUES (" + k.row(10+n, key) + ")"
	k.exec(text, false)
	k.mustBe(0, text)
	var sets []string
	for c, name := range k.columns {
		if slices.Contains(key, name) {
			sets = append(sets, name+" = "+k.value(0, c))
		}
	}
	text = "UPDATE OR REPLACE " + k.table + " SET " + strings.Join(sets, ", ") + " WHERE " + k.is(1)
	k.exec(text, false)
	k.mustBe(0, text)
	k.mustBe(1, text)
}

func (k kept) triesRowid(rowid string) {
	k.t.Helper()
	first := "(SELECT rowid FROM " + k.table + " WHERE " + k.is(0) + ")"
	others := slices.Clone(k.columns)
	for _, alias := range []string{"id", "n"} { // where they are the rowid by another name
		if c := slices.Index(others, alias); c >= 0 && k.types[c] == "INTEGER" {
			others = slices.Delete(others, c, c+1)
		}
	}
	var values []string
	for c, name := range k.columns {
		if slices.Contains(others, name) {
			values = append(values, k.value(30, c))
		}
	}
	into := strings.Join(append([]string{rowid}, others...), ", ")
	text := "INSERT OR REPLACE INTO " + k.table + " (" + into + ") VALUES (" + strings.Join(append([]string{first}, values...), ", ") + ")"
	k.exec(text, false)
	k.mustBe(0, text)
	text = "UPDATE OR REPLACE " + k.table + " SET " + rowid + " = " + first + " WHERE " + k.is(1)
	k.exec(text, false)
	k.mustBe(0, text)
}

// inForce requires that a partial index holds the made-up rows: else its key was
// not tried.
func (k kept) inForce(index, text string) {
	_, condition, _ := strings.Cut(text, " WHERE ")
	var n int
	if err := k.conn.QueryRowContext(context.Background(), "SELECT count(*) FROM "+k.table+" WHERE ("+k.is(0)+") AND ("+condition+")").Scan(&n); err != nil || n != 1 {
		k.t.Errorf("%s: the made-up row is not in index %s (%s), %v: give it values that are", k.table, index, condition, err)
	}
}
