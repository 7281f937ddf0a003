package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
)

// What a wallet does every day.
var daily = map[string]*statement{
	"lock on PostgreSQL": &lockWallet, "selectTip": &selectTip, "blocksNamed": &blocksNamed, "selectBlocks": &selectBlocks, "selectRaw": &selectRaw,
	"inputsOf": &inputsOf, "outputsOf": &outputsOf, "txsNamed": &txsNamed, "txsSpending": &txsSpending, "txsBelow": &txsBelow,
	"txsAt": &txsAt, "txsLive": &txsLive, "txsPendingElsewhere": &txsPendingElsewhere, "descendants": &descendants, "ancestors": &ancestorsWithin,
	"sums": &sums, "recent": &recent, "recentCoinbases": &recentCoinbases, "addBalances": &addBalances, "coinsNamed": &coinsNamed, "leasesNamed": &leasesNamed, "leasesUnspent": &leasesUnspent, "leasesOfLock": &leasesOfLock, "leasesActive": &leasesActive, "leased": &leased, "historyUnconfirmed": &historyUnconfirmed, "historyUnconfirmedAfter": &historyUnconfirmedAfter,
	"historyConfirmed": &historyConfirmed, "historyConfirmedAfter": &historyConfirmedAfter, "edgesOf": &edgesOf,
	"deleteBlocks": &deleteBlocks, "insertInputs": &insertInputs, "updateTxs": &updateTxs, "restateTxs": &restateTxs, "insertOutputs": &insertOutputs,
	"moveSpenders": &moveSpenders, "insertEdges": &insertEdges, "declareEdges": &declareEdges, "insertLeases": &insertLeases, "updateLeases": &updateLeases, "deleteLeases": &deleteLeases,
	"depositsNamed": &depositsNamed, "depositsWaiting": &depositsWaiting, "depositsShaken": &depositsShaken, "tallyWaiting": &tallyWaiting,
	"tallyShaken": &tallyShaken, "moveDeposits": &moveDeposits, "sightsOfTxs": &sightsOfTxs, "sightsOfOutputs": &sightsOfOutputs,
	"journal on SQLite": journalBehind[SQLite], "journal on PostgreSQL": journalBehind[Postgres], "journalAt": &journalAt,
	"transitionsOf": &transitionsOf, "transitionAt": &transitionAt, "last on SQLite": lastTransition[SQLite], "last on PostgreSQL": lastTransition[Postgres], "newest on PostgreSQL": newestTransition[Postgres], "restored on PostgreSQL": &isRestored, "follow on SQLite": followTransitions[SQLite], "follow on PostgreSQL": followTransitions[Postgres],
	"log on SQLite": writeTransitions[SQLite], "log on PostgreSQL": writeTransitions[Postgres],
}

// No statement reads a whole table, whatever the database guesses about the
// size of a batch: a plan that does so is right in every test and stops a
// wallet that has grown.
func TestNoPlanReadsAWholeTable(t *testing.T) {
	pgtest.Beside(t)
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			_, _, syn, conn := migrated(t, d)
			fill(t, conn, syn)
			for name, st := range daily {
				if strings.HasSuffix(name, "SQLite") && d == Postgres || strings.HasSuffix(name, "PostgreSQL") && d == SQLite {
					continue
				}
				plan := explain(t, conn, syn, syn.statement(st, 0))
				if whole.MatchString(plan) && !(d == SQLite && slices.Contains(inKeyOrder, name)) || wallet.MatchString(plan) && !slices.Contains(ofWallet, name) {
					t.Errorf("%s:\n%s", name, plan)
				}
			}
		})
	}
}

var whole = regexp.MustCompile(`(?m)Seq Scan on (blocks|transactions|tx_inputs|utxos|tx_replacements|utxo_leases|deposits|wallet_owners|wallet_scans|transitions)\b|SCAN (t|u|i|s|o|l|n|e|b|x|deposits|transactions|tx_inputs|utxos|blocks|transitions)$`)

// On SQLite two of these read the last row of a table by its key.
var inKeyOrder = []string{"last on SQLite", "selectTip"}

// Nor does a look-up read a whole wallet.
var (
	wallet   = regexp.MustCompile(`Index Cond: \(wallet_id = [^()]*\)\n|\(wallet_id=\?\)\n`)
	ofWallet = []string{"historyUnconfirmed", "historyConfirmed", "txsLive", "sums", "leasesUnspent"}
)

// plans are the statements of what a domain does every day, none of which may
// read a table from end to end.
type plans struct {
	statements func(Dialect) map[string]*statement
	all        *regexp.Regexp // a plan that does
	onceOver   *regexp.Regexp // statements that do so once while the tables are empty, nil for none
	fill       func(*testing.T, *sql.Conn, syntax, int)
}

// What a domain does every day is explained before its tables have rows, since a
// server keeps that plan until it has statistics, and behind a history: however
// many columns are the same in all rows of a batch.
func TestNoPlanReadsAll(t *testing.T) {
	pgtest.Beside(t)
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			_, _, syn, conn := migrated(t, d)
			domains := []plans{withdrawalPlans, refreshPlans, relayPlans, swapPlans}
			check := func(when string) {
				for _, p := range domains {
					for name, st := range p.statements(d) {
						seen := map[string]bool{}
						for _, once := range []columns{0, 1<<63 - 2, 1<<63 - 1} { // no column, all but the first, and those of a single row
							text := syn.statement(st, once)
							if seen[text] {
								continue
							}
							seen[text] = true
							plan := explain(t, conn, syn, text)
							if p.all.MatchString(plan) && !(when == "empty" && p.onceOver != nil && p.onceOver.MatchString(name)) {
								t.Errorf("%s, %s, %b once:\n%s", when, name, once, plan)
							}
						}
					}
				}
			}
			check("empty")
			for _, p := range domains {
				p.fill(t, conn, syn, 5000)
			}
			check("filled")
		})
	}
}

var explained atomic.Int64

func explain(t *testing.T, conn *sql.Conn, syn syntax, text string) string {
	t.Helper()
	ctx := context.Background()
	params := 0
	for strings.Contains(text, fmt.Sprintf("$%d", params+1)) || strings.Contains(text, fmt.Sprintf("?%d", params+1)) {
		params++
	}
	args := make([]any, params)
	ask := "EXPLAIN QUERY PLAN " + text
	if syn.Dialect == Postgres {
		nulls := strings.TrimSuffix(strings.Repeat("NULL,", params), ",")
		if params > 0 {
			nulls = "(" + nulls + ")"
		}
		name := fmt.Sprintf("plan_%d", explained.Add(1))
		for _, setup := range []string{"SET plan_cache_mode = force_generic_plan", "PREPARE " + name + " AS " + text} {
			if _, err := conn.ExecContext(ctx, setup); err != nil {
				t.Fatalf("%s: %v", setup, err)
			}
		}
		ask, args = "EXPLAIN EXECUTE "+name+nulls, nil
	}
	rows, err := conn.QueryContext(ctx, ask, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if syn.Dialect == Postgres {
			err = rows.Scan(&line)
		} else {
			var skip int
			err = rows.Scan(&skip, &skip, &skip, &line)
		}
		if err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	return plan.String()
}

// fill makes a wallet that has some history, without statistics.
func fill(t *testing.T, conn *sql.Conn, syn syntax) {
	t.Helper()
	hash := func(n string) string { return "unhex(printf('%064x', " + n + "))" }
	series := "json_each('[' || substr(replace(hex(zeroblob(20000)), '00', ',1'), 2) || ']')"
	key, at, yes := "key", "'2026-01-01 00:00:00.000000'", "1"
	if syn.Dialect == Postgres {
		hash = func(n string) string { return "decode(lpad(to_hex(" + n + "), 64, '0'), 'hex')" }
		series, key, at, yes = "generate_series(0, 19999) AS s(key)", "key", "now()", "true"
	}
	for _, text := range []string{
		"INSERT INTO @wallets (id, birth_height, scanned_to) VALUES (1, 1, 0), (2, 1, 0)",
		"INSERT INTO @blocks SELECT " + key + ", " + hash(key) + ", " + hash(key) + ", " + at + " FROM " + series,
		"INSERT INTO @transactions (wallet_id, tx_hash, status, block_height, block_position, is_coinbase, first_seen, seq, label, version, raw_tx) " +
			"SELECT 1, " + hash(key) + ", 'published', " + key + ", 1, " + map[Dialect]string{SQLite: "0", Postgres: "false"}[syn.Dialect] + ", " + at + ", 0, '', 1, " + hash(key) + " FROM " + series,
		"INSERT INTO @tx_inputs SELECT wallet_id, id, 0, tx_hash, 1 FROM @transactions",
		"INSERT INTO @utxos (wallet_id, tx_id, output_index, amount, script, owner_tag) SELECT wallet_id, id, 0, 1, tx_hash, 'main' FROM @transactions",
		"INSERT INTO @tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id, declared) " +
			"SELECT a.wallet_id, a.id, b.id, " + map[Dialect]string{SQLite: "0", Postgres: "false"}[syn.Dialect] + " FROM @transactions a JOIN @transactions b ON b.block_height = a.block_height + 1",
		"INSERT INTO @utxo_leases (wallet_id, utxo_id, lock_id, expires_at, leased_at) SELECT wallet_id, id, script, " + at + ", " + at + " FROM @utxos",
		"INSERT INTO @deposits SELECT tx_hash, 0, wallet_id, 'main', 1, block_height, tx_hash, " + yes + ", CASE WHEN id < 19900 THEN 'credited' ELSE 'waiting' END, " +
			"CASE WHEN id < 19900 THEN 1 ELSE 0 END, CASE WHEN id < 19900 THEN 1 ELSE 0 END, block_height, '', '', first_seen FROM @transactions",
		"INSERT INTO @wallet_owners SELECT wallet_id, CAST(id AS text), 1, 0 FROM @transactions",
		"INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) " +
			"SELECT 0, 'utxo.tx', CAST(id AS text), 1, '', 'confirmed', 'published', first_seen, '', '', '' FROM @transactions",
	} {
		if _, err := conn.ExecContext(context.Background(), syn.expand(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// EmptyFile is the file of an empty store: to copy it takes less than to make its tables.
var EmptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "settle-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settle.db")
	db, err := sql.Open("sqlite", pgtest.FileURL(path))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(Migrate(context.Background(), db, SQLite, Options{}), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migrated is a new database of a dialect with the tables in it, and a connection.
func migrated(t *testing.T, d Dialect) (db *sql.DB, opts Options, syn syntax, conn *sql.Conn) {
	t.Helper()
	if testing.Short() {
		t.Skip("thousands of rows, and plans have no races")
	}
	path := filepath.Join(t.TempDir(), "settle.db")
	driver, url := "sqlite", pgtest.FileURL(path)
	if d == Postgres {
		driver, url = "pgx", pgtest.URL(t)
	} else if text, err := EmptyFile(); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if d == Postgres {
		opts.Schema = pgtest.Schema(t, db)
	}
	if err := Migrate(t.Context(), db, d, opts); err != nil { // nothing to do for the file
		t.Fatal(err)
	}
	if syn, err = opts.syntax(d); err != nil {
		t.Fatal(err)
	}
	if conn, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return db, opts, syn, conn
}
