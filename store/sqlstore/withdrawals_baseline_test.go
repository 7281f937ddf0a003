package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/store/sqlstore"
)

// byHand pays as BenchmarkWithdrawal does, with SQL that is written for just
// this way of one request: the same tables, rows, keys and durable commits, no
// rules, no Go values, every statement prepared once.
type byHand struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	err   error
}

func (h *byHand) exec(text string, args ...any) {
	if h.err != nil {
		return
	}
	st := h.stmts[text]
	if st == nil {
		if st, h.err = h.conn.PrepareContext(context.Background(), text); h.err != nil {
			return
		}
		h.stmts[text] = st
	}
	if _, err := st.Exec(args...); err != nil {
		h.err = fmt.Errorf("%s: %w", text, err)
	}
}

func (h *byHand) log(machine, id string, version int, from, trigger, to, now string) {
	h.exec("INSERT INTO transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) "+
		"VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'somebody', '', '')", machine, id, version, from, trigger, to, now)
}

const (
	aRequest = "withdrawal_request"
	aJob     = "withdrawal_job"
)

// pay takes a group through its five commits.
func (h *byHand) pay(ids []string, wallet string) {
	now := time.Now().UTC()
	at, later := now.Format("2006-01-02 15:04:05.000000"), now.Add(time.Minute).Format("2006-01-02 15:04:05.000000")
	for _, step := range []func(request, job string){
		func(request, job string) {
			h.exec("INSERT INTO withdrawal_requests (id, user_id, asset_id, chain_id, to_address, memo, amount, amount_raw, decimals, status, requested_by, "+
				"approvals_needed, close_reason, version, created_at, updated_at) VALUES (?1, ?1, ?2, ?2, '0xABC', '', '100', '100000000000000000000', 18, "+
				"'pending', 'system', 1, '', 1, ?3, ?3)", request, wallet, at)
			h.log(aRequest, request, 1, "", "submit", "pending", at)
			h.exec("UPDATE withdrawal_requests SET status = 'approved', first_approver = 'alice', approved_at = ?2, updated_at = ?2, version = 2 WHERE id = ?1 AND version = 1", request, at)
			h.log(aRequest, request, 2, "pending", "approve", "approved", at)
			h.exec("UPDATE withdrawal_requests SET status = 'queued', queued_at = ?2, updated_at = ?2, version = 3 WHERE id = ?1 AND version = 2", request, at)
			h.exec("INSERT INTO withdrawal_queue (id, withdrawal_request_id, number, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, "+
				"amount_raw, amount_human, status, priority, retry_count, max_retries, scheduled_at, scheduled_from, lease_fence, txs_on_file, txs_dead, review, "+
				"resolved_version, rebroadcast, evidence_height, version, created_at) VALUES (?1, ?2, 1, ?3, ?3, ?3, '0xABC', '100000000000000000000', '100', "+
				"'pending', 'normal', 0, 5, ?4, ?4, 0, 0, 0, 0, 0, 0, 0, 1, ?4)", job, request, wallet, at)
			h.log(aJob, job, 1, "", "enqueue", "pending", at)
			h.log(aRequest, request, 3, "approved", "enqueue", "queued", at)
		},
		func(request, job string) {
			h.exec("UPDATE withdrawal_queue SET status = 'processing', retry_count = retry_count + 1, lease_holder = 'worker', lease_fence = 1, "+
				"lease_until = ?2, claimed_at = ?3, version = 2 WHERE id = ?1 AND version = 1", job, later, at)
			h.exec("INSERT INTO withdrawal_attempts (job_id, fence, worker, started_at) VALUES (?1, 1, 'worker', ?2)", job, at)
			h.log(aJob, job, 2, "pending", "claim", "processing", at)
		},
		func(request, job string) {
			h.exec("UPDATE withdrawal_queue SET tx_hash = ?2, txs_on_file = 1, version = 3 WHERE id = ?1 AND version = 2 AND lease_fence = 1", job, job)
			h.exec("INSERT INTO withdrawal_txs (withdrawal_request_id, seq, job_id, tx_hash, raw_tx, operation_wallet_address_id, input, is_cancel, created_at) "+
				"VALUES (?1, 1, ?2, ?2, zeroblob(110), ?3, ?2, 0, ?4)", request, job, wallet, at)
			h.log(aJob, job, 3, "processing", "prepare", "processing", at)
		},
		func(request, job string) {
			h.exec("UPDATE withdrawal_queue SET status = 'confirming', broadcast_at = ?2, next_check_at = ?3, lease_holder = NULL, lease_until = NULL, "+
				"version = 4 WHERE id = ?1 AND version = 3 AND lease_fence = 1", job, at, later)
			h.exec("UPDATE withdrawal_attempts SET ended_at = ?2, outcome = 'done', tx_hash = ?1 WHERE job_id = ?1 AND fence = 1", job, at)
			h.log(aJob, job, 4, "processing", "broadcast", "confirming", at)
		},
		func(request, job string) {
			h.exec("UPDATE withdrawal_queue SET status = 'confirmed', processed_at = ?2, next_check_at = NULL, gas_used = '21000', gas_price = '5000000000', "+
				"evidence_height = 10, evidence_hash = 'b10', version = 5 WHERE id = ?1 AND version = 4 AND lease_fence = 1", job, at)
			h.exec("UPDATE withdrawal_requests SET status = 'completed', final_tx_hash = ?2, updated_at = ?3, version = 4 WHERE id = ?1 AND version = 3", request, job, at)
			h.log(aJob, job, 5, "confirming", "confirm", "confirmed", at)
			h.log(aRequest, request, 4, "queued", "job confirmed", "completed", at)
		},
	} {
		h.exec("BEGIN IMMEDIATE")
		for i := 0; i < len(ids); i += 2 {
			step(ids[i], ids[i+1])
		}
		h.exec("UPDATE operation_wallet_addresses SET balance_reserved = '100', last_used_at = ?2 WHERE id = ?1", wallet, at)
		h.exec("COMMIT")
	}
}

// BenchmarkWithdrawalByHand is what BenchmarkWithdrawal is measured against.
func BenchmarkWithdrawalByHand(b *testing.B) {
	for _, group := range []int{1, 100} {
		b.Run(fmt.Sprintf("sqlite/groups of %d", group), func(b *testing.B) {
			db := database{openFile(b, filepath.Join(b.TempDir(), "hand.db")), sqlstore.SQLite, sqlstore.Options{}, ""}
			db.migrate(b)
			conn, err := db.Conn(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			h := &byHand{conn: conn, stmts: map[string]*sql.Stmt{}}
			for _, pragma := range strings.Split("journal_mode = WAL; synchronous = FULL; foreign_keys = ON", "; ") {
				if _, err := conn.ExecContext(context.Background(), "PRAGMA "+pragma); err != nil {
					b.Fatal(err)
				}
			}
			wallet := named("payer").String()
			h.exec("INSERT INTO operation_wallet_addresses (id, chain_id, role, status) VALUES (?1, ?1, 'hot_wallet', 'active')", wallet)
			made := new(bank)
			b.ResetTimer()
			for left := b.N; left > 0; left -= group {
				ids := make([]string, 2*min(group, left))
				for i := range ids {
					ids[i] = made.id().String()
				}
				h.pay(ids, wallet)
			}
			b.StopTimer()
			rate(b)
			var n int
			if err := conn.QueryRowContext(context.Background(), "SELECT count(*) FROM withdrawal_requests WHERE status = 'completed'").Scan(&n); err != nil || n != b.N || h.err != nil {
				b.Fatalf("%d of %d are completed, %v, %v", n, b.N, err, h.err)
			}
		})
	}
}
