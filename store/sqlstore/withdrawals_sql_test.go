package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// The database refuses by itself what no step does.
func TestTheDatabaseKeepsTheRulesOfWithdrawals(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		other := named("a chain without nonces")
		b := newBank(t, d, withdrawal.HotWallet{ID: named("other wallet"), Chain: other}, withdrawal.HotWallet{ID: named("idle wallet"), Chain: named("idle")})
		rows := map[string]withdrawal.Withdrawal{"confirmed": b.confirmed(t, bsc), "failed": b.failed(t, bsc), "confirming": b.confirming(t, bsc),
			"pending": b.pending(t, bsc), "executing": b.claimed(t, other), "holding": b.claimed(t, bsc)}
		for state, w := range rows { // with what later ones did to the wallet
			rows[state] = b.do(t, w.Request.ID)
		}
		job := func(state string) string { return "'" + rows[state].Job.ID.String() + "'" }
		request := func(state string) string { return "'" + rows[state].Request.ID.String() + "'" }
		setJob := func(state, set string) string {
			return "UPDATE {withdrawal_queue} SET " + set + " WHERE id = " + job(state)
		}
		setRequest := func(state, set string) string {
			return "UPDATE {withdrawal_requests} SET " + set + " WHERE id = " + request(state)
		}
		ctx := context.Background()
		conn, err := b.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if d == sqlstore.SQLite {
			if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = ON"); err != nil {
				t.Fatal(err)
			}
		}
		idle, hot := "'"+named("idle wallet").String()+"'", "'"+named("hot wallet").String()+"'"
		for rule, text := range map[string]string{
			"a request's status is known":             setRequest("pending", "status = 'paid'"),
			"an amount is positive":                   setRequest("pending", "amount_raw = '0'"),
			"an amount is an integer":                 setRequest("pending", "amount_raw = '1e18'"),
			"an amount has at most 78 digits":         setRequest("pending", "amount_raw = '"+strings.Repeat("9", 79)+"'"),
			"an address is there":                     setRequest("pending", "to_address = ''"),
			"an address is not empty":                 setRequest("pending", "to_address = ''"),
			"a completed request has its hash":        setRequest("confirmed", "final_tx_hash = NULL"),
			"only a completed request has a hash":     setRequest("confirming", "final_tx_hash = '0xabc'"),
			"nobody approves their own request":       setRequest("pending", "first_approver = requested_by"),
			"two approvers are two":                   setRequest("pending", "second_approver = first_approver"),
			"a cancelled request names who closed it": setRequest("pending", "status = 'cancelled'"),
			"a refund has its time":                   setRequest("failed", "refund_reference = 'r', refunded_by = 'b'"),
			"a refund has its actor":                  setRequest("failed", "refund_reference = 'r', refunded_at = created_at"),
			"only what ended unpaid is refunded": setRequest("confirmed",
				"refund_reference = 'r', refunded_by = 'b', refunded_at = created_at"),
			"only what is refunded is paid after it":   setRequest("failed", "paid_after = '0xabc'"),
			"a request has a version":                  setRequest("pending", "version = 0"),
			"a job's status is known":                  setJob("pending", "status = 'sent'"),
			"a priority is known":                      setJob("pending", "priority = 'urgent'"),
			"max_retries is at least 1":                setJob("failed", "retry_count = 0, max_retries = 0"),
			"retry_count is not negative":              setJob("pending", "retry_count = -1"),
			"retry_count is at most max_retries":       setJob("failed", "retry_count = 6"),
			"a pending job has an execution left":      setJob("pending", "retry_count = 5"),
			"a started job has an execution counted":   setJob("confirming", "retry_count = 0"),
			"a terminal job has processed_at":          setJob("failed", "processed_at = NULL"),
			"only a terminal job has processed_at":     setJob("pending", "processed_at = created_at"),
			"a pending job has no hash":                setJob("pending", "tx_hash = '0xabc'"),
			"a confirming job has a hash":              setJob("confirming", "tx_hash = NULL"),
			"a confirmed job has a hash":               setJob("confirmed", "tx_hash = NULL"),
			"a confirmed job has its evidence":         setJob("confirmed", "evidence_hash = NULL"),
			"a confirming job has a next check":        setJob("confirming", "next_check_at = NULL"),
			"a confirming job has a live transaction":  setJob("confirming", "txs_dead = txs_on_file"),
			"no more are dead than on file":            setJob("failed", "txs_dead = 1"),
			"an execution is leased":                   setJob("executing", "lease_holder = NULL, lease_until = NULL"),
			"a pending job is not leased":              setJob("pending", "lease_holder = 'w', lease_until = created_at"),
			"a lease has an end":                       setJob("executing", "lease_until = NULL"),
			"only an execution holds a slot":           setJob("pending", "slot = operation_wallet_address_id"),
			"a slot is of the job's wallet":            setJob("executing", "slot = "+idle),
			"a slot belongs to one job":                setJob("executing", "operation_wallet_address_id = "+hot+", slot = "+hot),
			"a dispatch leaves no hash":                setJob("holding", "dispatched_at = created_at, dispatch_ref = 'r', tx_hash = '0xabc'"),
			"a dispatch has its reference":             setJob("holding", "dispatched_at = created_at"),
			"a review is of what may be sent":          setJob("pending", "review = (1 = 1)"),
			"a job has its request":                    setJob("pending", "withdrawal_request_id = "+idle),
			"a job has its wallet":                     setJob("pending", "operation_wallet_address_id = "+request("pending")),
			"a request has one job that is not failed": setJob("pending", "withdrawal_request_id = "+request("confirmed")+", number = 2"),
			"a request is not deleted":                 "DELETE FROM {withdrawal_requests} WHERE id = " + request("failed"),
			"a job is not deleted":                     "DELETE FROM {withdrawal_queue} WHERE id = " + job("failed"),
			"an attempt is not deleted":                "DELETE FROM {withdrawal_attempts} WHERE job_id = " + job("failed"),
			"an attempt that has ended is not changed": "UPDATE {withdrawal_attempts} SET error_message = 'x' WHERE job_id = " + job("failed"),
			"an attempt has an outcome when it ends":   "UPDATE {withdrawal_attempts} SET ended_at = started_at WHERE job_id = " + job("holding"),
			"a transaction is not changed":             "UPDATE {withdrawal_txs} SET nonce = 7 WHERE job_id = " + job("confirming"),
			"a transaction is not deleted":             "DELETE FROM {withdrawal_txs} WHERE job_id = " + job("confirming"),
			"a nonce is not given to another":          "UPDATE {withdrawal_nonces} SET job_id = " + job("failed") + " WHERE nonce = 0",
			"a nonce belongs to one job":               "INSERT INTO {withdrawal_nonces} SELECT operation_wallet_address_id, nonce, " + job("failed") + " FROM {withdrawal_nonces}",
			"a nonce is not taken back":                "DELETE FROM {withdrawal_nonces}",
			"a wallet is not deleted":                  "DELETE FROM {operation_wallet_addresses} WHERE id = " + idle,
			"history is not changed":                   "UPDATE {transitions} SET to_status = 'failed'",
			"history is not deleted":                   "DELETE FROM {transitions}",
			"a version has one line of history":        "INSERT INTO {transitions} (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) SELECT horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data FROM {transitions}",
			"a transaction of a request is on file once": "INSERT INTO {withdrawal_txs} SELECT withdrawal_request_id, seq + 1, job_id, tx_hash, raw_tx, operation_wallet_address_id, " +
				"nonce, input, is_cancel, created_at FROM {withdrawal_txs}",
		} {
			if res, err := conn.ExecContext(ctx, b.tables(text)); err == nil {
				if n, _ := res.RowsAffected(); n > 0 {
					t.Errorf("%s: the database took %s", rule, text)
				}
			} else if strings.Contains(err.Error(), "syntax") || strings.Contains(err.Error(), "no such") || strings.Contains(err.Error(), "does not exist") {
				t.Errorf("%s: %v", rule, err)
			}
		}
		for state, want := range rows {
			if got := b.do(t, want.Request.ID); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("the %s withdrawal was changed to %+v", state, got)
			}
		}
	})
}

// tables puts the names of tables in, with their schema.
func (d database) tables(text string) string {
	return strings.NewReplacer("{", d.table(""), "}", "").Replace(text)
}

// Every SELECT of the source document, as it is written there.
func TestTheQueriesOfTheSourceRun(t *testing.T) {
	portable := map[string]string{
		"hot wallet": `SELECT id FROM operation_wallet_addresses
WHERE chain_id = 'bsc'
  AND role = 'hot_wallet'
  AND status = 'active'
ORDER BY last_used_at ASC, balance_reserved ASC
LIMIT 1;`,
		"to confirm": `SELECT * FROM withdrawal_queue
WHERE status = 'confirming'
  AND tx_hash IS NOT NULL;`,
		"pending withdrawals": `SELECT COUNT(*) FROM withdrawal_requests WHERE status = 'pending';`,
		"active jobs":         `SELECT COUNT(*) FROM withdrawal_queue WHERE status IN ('pending', 'processing', 'confirming');`,
		"failed jobs": `SELECT id, withdrawal_request_id, error_message, retry_count
FROM withdrawal_queue
WHERE status = 'failed'
ORDER BY created_at DESC
LIMIT 10;`,
		"all requests": `SELECT * FROM withdrawal_requests;`,
	}
	onPostgres := map[string]string{
		"next job": `SELECT * FROM withdrawal_queue
WHERE status = 'pending'
  AND scheduled_at <= NOW()
  AND chain_id = 'bsc'
ORDER BY priority DESC, scheduled_at ASC
LIMIT 1;`,
		"stuck jobs": `SELECT id, status, created_at, error_message
FROM withdrawal_queue
WHERE status = 'processing'
  AND created_at < NOW() - INTERVAL '5 minutes';`,
		"columns of requests": `SELECT column_name, data_type
FROM information_schema.columns
WHERE table_name = 'withdrawal_requests'
ORDER BY ordinal_position;`,
		"columns of jobs": `SELECT column_name, data_type
FROM information_schema.columns
WHERE table_name = 'withdrawal_queue'
ORDER BY ordinal_position;`,
		"backup": `CREATE TEMPORARY TABLE withdrawal_requests_backup AS
SELECT * FROM withdrawal_requests;`,
	}
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d)
		b.confirmed(t, bsc)
		b.failed(t, bsc)
		b.confirming(t, bsc)
		b.pending(t, bsc)
		submitted := b.submission(bsc)
		b.do(t, submitted.Request, submitted)
		conn := session(t, b.DB)
		queries := []map[string]string{portable}
		if d == sqlstore.Postgres {
			if _, err := conn.ExecContext(context.Background(), "SET search_path = "+b.opts.Schema); err != nil {
				t.Fatal(err)
			}
			queries = append(queries, onPostgres)
		}
		want := map[string]int{"to confirm": 1, "failed jobs": 1, "pending withdrawals": 1, "active jobs": 1, "all requests": 5, "hot wallet, by id": 1}
		counted := map[string]int{"pending withdrawals": 1, "active jobs": 2}
		for _, all := range queries {
			for name, text := range all {
				if n := countRows(t, conn, name, text); want[name] != 0 && n != want[name] {
					t.Errorf("%s: %d rows, not %d", name, n, want[name])
				}
			}
		}
		for name, n := range counted {
			var got int
			if err := conn.QueryRowContext(context.Background(), portable[name]).Scan(&got); err != nil || got != n {
				t.Errorf("%s: %d, not %d, %v", name, got, n, err)
			}
		}
		// With the id of a chain in the place of its name.
		byID := strings.Replace(portable["hot wallet"], "bsc", bsc.String(), 1)
		if n := countRows(t, conn, "hot wallet, by id", byID); n != 1 {
			t.Errorf("%d hot wallets of a chain", n)
		}
	})
}

func countRows(t *testing.T, conn *sql.Conn, name, text string) (n int) {
	t.Helper()
	rows, err := conn.QueryContext(context.Background(), text)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	if rows.Err() != nil {
		t.Errorf("%s: %v", name, rows.Err())
	}
	return n
}

// A text that a later version or another program has written names its row, and
// other rows stay readable.
func TestAnUnknownTextNamesItsRow(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		for _, c := range []struct{ column, constraint, table, value string }{
			{"status", "withdrawal_queue_status_check", "withdrawal_queue", "held"},
			{"priority", "withdrawal_queue_priority_check", "withdrawal_queue", "urgent"},
			{"status", "withdrawal_requests_status_check", "withdrawal_requests", "escalated"},
			{"outcome", "withdrawal_attempts_outcome_check", "withdrawal_attempts", "perhaps"},
		} {
			b := newBank(t, d)
			good, bad := b.failed(t, bsc), b.failed(t, bsc)
			id, key := bad.Job.ID, "id"
			switch c.table {
			case "withdrawal_requests":
				id = bad.Request.ID
			case "withdrawal_attempts":
				key = "job_id"
			}
			texts := []string{"PRAGMA ignore_check_constraints = ON", "DROP TRIGGER keep_withdrawal_attempts_UPDATE"}
			if d == sqlstore.Postgres {
				texts = []string{"ALTER TABLE {" + c.table + "} DROP CONSTRAINT " + c.constraint, "ALTER TABLE {withdrawal_attempts} DISABLE TRIGGER USER",
					"ALTER TABLE {withdrawal_queue} DROP CONSTRAINT terminal_has_processed_at", "ALTER TABLE {withdrawal_queue} DROP CONSTRAINT execution_is_leased"}
			}
			conn, err := b.DB.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range append(texts, "UPDATE {"+c.table+"} SET "+c.column+" = '"+c.value+"' WHERE "+key+" = '"+id.String()+"'") {
				if _, err := conn.ExecContext(ctx, b.tables(text)); err != nil {
					t.Fatal(err)
				}
			}
			conn.Close()
			_, err = b.Get(ctx, bad.Request.ID)
			var unknown *statemachine.UnknownTextError
			if !errors.As(err, &unknown) || unknown.Text != c.value || unknown.Where != c.table+" "+id.String() {
				t.Errorf("%s of %s: %v", c.column, c.table, err)
			}
			if _, err := b.Get(ctx, good.Request.ID); err != nil {
				t.Errorf("another row: %v", err)
			}
		}
	})
}

// The host's rows and ours commit together, or not at all.
func TestWithdrawalsJoinTheHostsTransaction(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b, ctx := newBank(t, d), context.Background()
		for _, commits := range []bool{false, true} {
			s := b.submission(bsc)
			err := inHostTx(b, commits, func(tx store.Unit) error {
				_, err := b.Withdrawals.Within(tx).Submit(ctx, s)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Get(ctx, s.Request); errors.Is(err, statemachine.ErrNotFound) == commits {
				t.Errorf("the host commits %v: %v", commits, err)
			}
		}
	})
}

func inHostTx(b *bank, commit bool, fn func(store.Unit) error) error {
	ctx := context.Background()
	conn, err := b.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if b.dialect == sqlstore.SQLite {
		for _, pragma := range []string{"journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000"} {
			if _, err := conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
				return err
			}
		}
	}
	host, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx, err := b.Store.Within(ctx, host)
	if err == nil {
		err = fn(tx)
	}
	if err == nil && commit {
		return host.Commit()
	}
	return errors.Join(err, host.Rollback())
}
