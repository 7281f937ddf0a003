-- acknowledgementTable.made.holdersNow[0]
SELECT x.withdrawal_request_id, x.tx_hash, x.claim, x.block_hash
	FROM (SELECT value->>0 AS withdrawal_request_id, value->>1 AS tx_hash, value->>2 AS claim, value->>3 AS block_hash, value->>4 AS withdrawal_request_id, value->>5 AS tx_hash, value->>6 AS claim, value->>7 AS block_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_acknowledgements x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash AND NOT (x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash);
-- acknowledgementTable.made.insertOne
INSERT INTO @withdrawal_acknowledgements (withdrawal_request_id, tx_hash, claim, block_hash, actor, role, reason, at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
	ON CONFLICT DO NOTHING;
-- acknowledgementsOf
SELECT withdrawal_request_id, tx_hash, claim, block_hash, actor, role, reason, at
	FROM @withdrawal_acknowledgements
	WHERE withdrawal_request_id = ?1
	ORDER BY at, tx_hash, claim, block_hash;
-- activitiesOf
SELECT sequence, resource_type, resource_id, activity_type, created_at
	FROM @activities
	WHERE resource_type = ?1 AND resource_id = ?2
	ORDER BY created_at DESC, sequence DESC LIMIT ?3;
-- activityTable.made.insertOne
INSERT INTO @activities (resource_type, resource_id, activity_type, created_at)
	VALUES (?1, ?2, ?3, ?4);
-- addBalances
INSERT INTO @wallet_balances (wallet_id, owner_tag, bucket, amount)
	VALUES (?1, ?2, ?3, ?4)
	ON CONFLICT (wallet_id, owner_tag, bucket) DO UPDATE
	SET amount = @wallet_balances.amount + excluded.amount;
-- addCounts
INSERT INTO @withdrawal_counts (record, status, shard, n)
	VALUES (?1, ?2, 0, ?3)
	ON CONFLICT (record, status, shard) DO UPDATE
	SET n = @withdrawal_counts.n + excluded.n;
-- aheadWallets
SELECT x.xpub_van
	FROM @refresh_wallets x
	WHERE x.slot IS NOT NULL AND x.lease_until > ?3 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @wallet_locks x
	WHERE x.expires_at > ?3 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status = 'processing' AND x.lease_until > ?3 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status = 'pending' AND x.available_at > ?4 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status = 'pending' AND x.attempts = 0 AND x.available_at > ?8 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.next_at > ?5 AND x.xpub_van > ?1 UNION SELECT w.xpub_van
	FROM @refresh_wallets w
	WHERE (w.not_before > ?6 OR w.unserved_since > ?7) AND w.xpub_van > ?1 AND w.xpub_van IN (SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status IN ('pending', 'processing') UNION SELECT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching')
	ORDER BY 1 LIMIT ?2;
-- allConsumers
SELECT x.name, x.machines, x.cursor, x.lease_fence, x.lease_until, x.stopped, x.error, x.failed_at, x.late
	FROM @settle_consumers x
	WHERE x.name > ?1
	ORDER BY x.name LIMIT ?2;
-- allLeases
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	JOIN @utxos u ON u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296
	JOIN @transactions t ON t.id = u.tx_id
	ORDER BY 1, 2, 3;
-- allOwners
SELECT o.wallet_id, o.owner_tag, o.birth_height
	FROM @wallet_owners o
	ORDER BY 1, 2;
-- allRaw
SELECT id, raw_tx
	FROM @transactions;
-- allRefreshJobs
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE (x.created_at, x.job_id) > (?1, ?2)
	ORDER BY x.created_at, x.job_id LIMIT ?3;
-- allRefreshWallets
SELECT x.xpub_van
	FROM @refresh_wallets x
	WHERE x.xpub_van > ?1
	ORDER BY x.xpub_van LIMIT ?2;
-- allTxs
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	ORDER BY t.wallet_id, t.tx_hash;
-- allWaterlines
SELECT x.chain, x.own, x.at, x.seen, x.version
	FROM @swap_waterlines x;
-- alterDiscrepancies
UPDATE @swap_discrepancies AS x
	SET closed_by = ?1, closed_at = ?2, firm = ?3
	WHERE x.direction = ?4 AND x.item = ?5 AND x.kind = ?6 AND x.key = ?7;
-- alterIntents
UPDATE @swap_intents AS x
	SET destination = ?1, net_units = ?2, fee_units = ?3, send_by = ?4, outcome = ?5, txid = ?6, proof = ?7, is_final = ?8, closed_at = ?9, claim = ?10, seen_at = ?11, missed = ?12, missed_at = ?13
	WHERE x.direction = ?14 AND x.item = ?15 AND x.number = ?16;
-- alterParked
UPDATE @settle_parked AS x
	SET tries = ?1, error = ?2, next_try = ?3
	WHERE x.consumer = ?4 AND x.n = ?5;
-- ancestorsWithin
WITH RECURSIVE walk(tx_hash) AS (SELECT r.tx_hash
	FROM (SELECT unhex(value) AS tx_hash
	FROM json_each(?2)) AS r UNION SELECT i.prev_hash
	FROM walk w
	CROSS JOIN @transactions t
	CROSS JOIN @tx_inputs i
	WHERE t.tx_hash = w.tx_hash AND (?1 = 1 AND t.status <> 'published' OR ?1 = 2 AND coalesce(t.block_height, -1) < 0) AND NOT EXISTS (SELECT 1
	FROM @transactions o
	WHERE o.tx_hash = t.tx_hash AND o.wallet_id < t.wallet_id) AND i.wallet_id = t.wallet_id AND i.tx_id = t.id) SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM walk w
	CROSS JOIN @transactions t
	WHERE t.tx_hash = w.tx_hash AND (?1 = 1 AND t.status <> 'published' OR ?1 = 2 AND coalesce(t.block_height, -1) < 0);
-- askSwitches
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_ask(?1, false) x
	UNION ALL SELECT 'newer', 'on', NULL, NULL, NULL, true, 'send', 0, NULL, 1
	WHERE EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- askedScope
SELECT coalesce(l.pid, 0), a.xact_start, coalesce(a.application_name, ''), coalesce(a.state, '')
	FROM pg_locks l
	LEFT JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ShareLock' AND l.objsubid = 1 AND l.database = (SELECT d.oid
	FROM pg_database d
	WHERE d.datname = current_database()) AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('@settle_switches ' || ?1, 0)
	ORDER BY a.xact_start, l.pid;
-- attemptTable.made.insertOne
INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
-- attemptsOf
SELECT job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref
	FROM @withdrawal_attempts
	WHERE job_id = ?1
	ORDER BY fence;
-- attemptsStarted[false]
SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1
	FROM @withdrawal_attempts p
	WHERE p.job_id = a.job_id AND p.fence < a.fence) THEN 1 ELSE 0 END), 0)
	FROM @withdrawal_attempts a
	JOIN @withdrawal_queue x ON x.id = a.job_id
	WHERE a.started_at >= ?1 AND a.started_at < ?2;
-- attemptsStarted[true]
SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1
	FROM @withdrawal_attempts p
	WHERE p.job_id = a.job_id AND p.fence < a.fence) THEN 1 ELSE 0 END), 0)
	FROM @withdrawal_attempts a
	JOIN @withdrawal_queue x ON x.id = a.job_id
	WHERE a.started_at >= ?1 AND a.started_at < ?2 AND x.chain_id = ?3;
-- batchIDs
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.id > ?1
	ORDER BY x.id LIMIT ?2;
-- batchLeases.lost
SELECT r.id
	FROM (SELECT value->>0 AS id, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_batches x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- batchLeases.renew
UPDATE @withdrawal_batches AS x
	SET lease_until = ?3
	WHERE x.id = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- batchTable.made.inOrder
SELECT x.id
	FROM @withdrawal_batches x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- batchTable.made.insertOne
INSERT INTO @withdrawal_batches (id, chain_id, operation_wallet_address_id, owner_job_id, nonce, input, members, created_at, status, txs_on_file, tx_hash, evidence_height, evidence_hash, gas_used, gas_price, ended_at, version, next_check_at, rebroadcast, lease_holder, lease_fence, lease_until)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22);
-- batchTable.made.storedNow
SELECT x.id, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @withdrawal_batches x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- batchTable.made.touchOne
UPDATE @withdrawal_batches AS x
	SET next_check_at = ?1, rebroadcast = ?2, lease_holder = ?3, lease_fence = ?4, lease_until = CASE WHEN x.lease_fence = ?4 AND x.lease_holder = ?3 THEN x.lease_until ELSE ?5 END
	WHERE x.id = ?6 AND x.version = ?7 AND x.next_check_at || substr('.000000', length(x.next_check_at) - 18) IS NOT DISTINCT
	FROM ?8 AND x.rebroadcast IS NOT DISTINCT
	FROM ?9 AND x.lease_holder IS NOT DISTINCT
	FROM ?10 AND x.lease_fence IS NOT DISTINCT
	FROM ?11;
-- batchTable.made.updateOne
UPDATE @withdrawal_batches AS x
	SET status = ?1, txs_on_file = ?2, tx_hash = ?3, evidence_height = ?4, evidence_hash = ?5, gas_used = ?6, gas_price = ?7, ended_at = ?8, version = ?9, next_check_at = ?10, rebroadcast = ?11, lease_holder = ?12, lease_fence = ?13, lease_until = CASE WHEN x.lease_fence = ?13 AND x.lease_holder = ?12 THEN x.lease_until ELSE ?14 END
	WHERE x.id = ?15 AND x.version = ?16 AND x.next_check_at || substr('.000000', length(x.next_check_at) - 18) IS NOT DISTINCT
	FROM ?17 AND x.rebroadcast IS NOT DISTINCT
	FROM ?18 AND x.lease_holder IS NOT DISTINCT
	FROM ?19 AND x.lease_fence IS NOT DISTINCT
	FROM ?20;
-- batchTxTable.made.insertOne
INSERT INTO @withdrawal_batch_txs (batch_id, seq, tx_hash, raw_tx, created_at)
	VALUES (?1, ?2, ?3, ?4, ?5);
-- blocksNamed
SELECT b.block_height, b.block_hash, b.prev_hash, b.block_time
	FROM (SELECT unhex(value) AS block_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @blocks b
	WHERE b.block_hash = r.block_hash;
-- closeDiscrepancy
UPDATE @swap_discrepancies AS x
	SET closed_by = coalesce(x.closed_by, ?1), closed_at = coalesce(x.closed_at, ?2), firm = ?3
	WHERE x.direction = ?4 AND x.item = ?5 AND x.kind = ?6 AND x.key = ?7;
-- coinsNamed
SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase, s.tx_hash
	FROM (SELECT unhex(value->>0) AS tx_hash, value->>1 AS output_index
	FROM json_each(?2)) AS r
	CROSS JOIN @utxos u
	CROSS JOIN @transactions t
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE u.wallet_id = ?1 AND u.output_index = r.output_index AND u.tx_id = (SELECT n.id
	FROM @transactions n
	WHERE n.tx_hash = r.tx_hash AND n.wallet_id = ?1) AND t.id = u.tx_id;
-- consumerTable.made.holdersNow[0]
SELECT x.name
	FROM (SELECT value->>0 AS name, value->>1 AS name
	FROM json_each(?1)) AS r
	CROSS JOIN @settle_consumers x
	WHERE x.name = r.name AND NOT (x.name = r.name);
-- consumerTable.made.insertOne
INSERT INTO @settle_consumers (name, machines, cursor, lease_fence, lease_until, stopped, error, failed_at, late)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
	ON CONFLICT DO NOTHING;
-- controlTable.made.inOrder
SELECT x.id
	FROM @swap_control x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- controlTable.made.insertOne
INSERT INTO @swap_control (id, generation, recovered_at, solana_scanned, nexus_scanned, missing_said, books_read, reference, version)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
-- controlTable.made.storedNow
SELECT x.id, x.version, 0, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @swap_control x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- controlTable.made.touchOne
UPDATE @swap_control AS x
	SET  = r.
	WHERE x.id = ?2 AND x.version = ?3;
-- controlTable.made.updateOne
UPDATE @swap_control AS x
	SET generation = ?1, recovered_at = ?2, solana_scanned = ?3, nexus_scanned = ?4, missing_said = ?5, books_read = ?6, reference = ?7, version = ?8
	WHERE x.id = ?9 AND x.version = ?10;
-- countActivities
SELECT count(CASE WHEN activity_type = 'fail_relay_sync' THEN 1 END), count(CASE WHEN activity_type = 'complete_relay_sync' THEN 1 END)
	FROM @activities
	WHERE activity_type IN ('fail_relay_sync', 'complete_relay_sync') AND resource_type = 'relay' AND created_at >= ?1 AND created_at < ?2;
-- countBatches[false]
SELECT coalesce(sum(CASE WHEN x.next_check_at < ?1 THEN 1 END), 0), min(x.created_at), max(x.created_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming';
-- countBatches[true]
SELECT coalesce(sum(CASE WHEN x.next_check_at < ?1 THEN 1 END), 0), min(x.created_at), max(x.created_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.chain_id = ?2;
-- countEnded
SELECT record, status, CAST(sum(n) AS INTEGER)
	FROM @withdrawal_counts
	WHERE record IN (?1, ?2)
	GROUP BY record, status;
-- countIncidents[false]
SELECT count(*)
	FROM @withdrawal_incidents i
	JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id
	WHERE i.at >= ?1 AND i.at < ?2;
-- countIncidents[true]
SELECT count(*)
	FROM @withdrawal_incidents i
	JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id
	WHERE i.at >= ?1 AND i.at < ?2 AND q.chain_id = ?3;
-- countInvoices
SELECT count(CASE WHEN paid_at IS NULL AND voided_at IS NULL AND amount > 0 THEN 1 END), count(CASE WHEN charge <> 'none' THEN 1 END), min(CASE WHEN charge <> 'none' THEN charge_at END), max(CASE WHEN charge <> 'none' THEN charge_at END), count(overpaid_at), CAST(coalesce(sum(CASE WHEN paid_at IS NULL AND voided_at IS NULL AND amount > 0 THEN amount / 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN paid_at IS NULL AND voided_at IS NULL AND amount > 0 THEN amount % 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN charge <> 'none' THEN charge_amount / 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN charge <> 'none' THEN charge_amount % 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN charge = 'unknown' OR charge = 'open' AND charge_after <= ?1 OR overpaid_at IS NOT NULL THEN amount / 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN charge = 'unknown' OR charge = 'open' AND charge_after <= ?1 OR overpaid_at IS NOT NULL THEN amount % 4294967296 END), 0) AS INTEGER)
	FROM @invoices
	WHERE paid_at IS NULL AND voided_at IS NULL OR charge <> 'none' OR overpaid_at IS NOT NULL;
-- countJobs[false]
SELECT 'pending', count(*), min(CASE WHEN x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= ?1 THEN x.scheduled_at END), 0, NULL, 0, max(x.scheduled_from)
	FROM @withdrawal_queue x
	WHERE x.status = 'pending'
	UNION ALL SELECT 'processing', count(*), NULL, coalesce(sum(CASE WHEN x.status = 'processing' AND NOT x.review AND x.lease_until <= ?1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing'
	UNION ALL SELECT 'confirming', count(*), min(x.broadcast_at), coalesce(sum(CASE WHEN x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?1 AND x.next_check_at < ?1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review AND x.claimed_at > x.broadcast_at THEN x.claimed_at ELSE x.broadcast_at END)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming';
-- countJobs[true]
SELECT 'pending', count(*), min(CASE WHEN x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= ?1 THEN x.scheduled_at END), 0, NULL, 0, max(x.scheduled_from)
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND x.chain_id = ?2
	UNION ALL SELECT 'processing', count(*), NULL, coalesce(sum(CASE WHEN x.status = 'processing' AND NOT x.review AND x.lease_until <= ?1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND x.chain_id = ?2
	UNION ALL SELECT 'confirming', count(*), min(x.broadcast_at), coalesce(sum(CASE WHEN x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?1 AND x.next_check_at < ?1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review AND x.claimed_at > x.broadcast_at THEN x.claimed_at ELSE x.broadcast_at END)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.chain_id = ?2;
-- countMissed
SELECT count(*), CAST(coalesce(sum(CASE WHEN true THEN i.amount / 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN true THEN i.amount % 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN overpaid_at IS NULL THEN i.amount / 4294967296 END), 0) AS INTEGER), CAST(coalesce(sum(CASE WHEN overpaid_at IS NULL THEN i.amount % 4294967296 END), 0) AS INTEGER)
	FROM @invoices i
	JOIN @tenants t ON t.id = i.tenant
	WHERE i.missed > 0 AND i.charge = 'none' AND i.paid_at IS NULL AND i.voided_at IS NULL AND (i.missed > 1 OR t.method NOT IN ('nwc', 'stripe') OR t.churned_at IS NOT NULL);
-- countOpenIncidents[false]
SELECT count(*)
	FROM @withdrawal_incidents i
	JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_acknowledgements a
	WHERE a.withdrawal_request_id = i.withdrawal_request_id AND a.tx_hash = i.tx_hash AND a.claim = i.claim AND a.block_hash = i.block_hash);
-- countOpenIncidents[true]
SELECT count(*)
	FROM @withdrawal_incidents i
	JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_acknowledgements a
	WHERE a.withdrawal_request_id = i.withdrawal_request_id AND a.tx_hash = i.tx_hash AND a.claim = i.claim AND a.block_hash = i.block_hash) AND q.chain_id = ?1;
-- countPaidAndRefunded[false]
SELECT count(*)
	FROM @withdrawal_requests x
	WHERE x.paid_after IS NOT NULL AND NOT x.acknowledged;
-- countPaidAndRefunded[true]
SELECT count(*)
	FROM @withdrawal_requests x
	WHERE x.paid_after IS NOT NULL AND NOT x.acknowledged AND x.chain_id = ?1;
-- countParked
SELECT count(*), coalesce(max(n), 0)
	FROM @settle_parked
	WHERE consumer = ?1;
-- countRelays
SELECT (CASE WHEN x.deleted_at IS NOT NULL THEN 'deleted' WHEN x.claimed_at IS NOT NULL THEN 'syncing' WHEN x.exhausted THEN 'exhausted' WHEN x.due_at IS NULL THEN 'clean' WHEN x.backoff THEN 'waiting' ELSE 'due' END), count(*), min(CASE WHEN x.claimed_at IS NULL AND x.due_at <= ?1 THEN x.due_at END), min(CASE WHEN (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) THEN coalesce(x.since, (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END)) END), max(CASE WHEN (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) THEN x.since END), max(CASE WHEN (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) THEN (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) END), count(CASE WHEN x.claimed_at IS NOT NULL AND x.lease_until <= ?1 THEN 1 END), coalesce(sum(CASE WHEN x.claimed_at IS NOT NULL THEN x.lapses END), 0), count(CASE WHEN x.synced = 0 OR trim(x.sync_error, ' 	                  　') <> '' THEN 1 END)
	FROM @relays x
	GROUP BY 1;
-- countRequests[false]
SELECT status, count(*), min(created_at), min(updated_at), max(created_at), max(updated_at)
	FROM @withdrawal_requests
	WHERE status IN ('pending', 'approved', 'queued')
	GROUP BY status;
-- countRequests[true]
SELECT status, count(*), min(created_at), min(updated_at), max(created_at), max(updated_at)
	FROM @withdrawal_requests
	WHERE status IN ('pending', 'approved', 'queued') AND chain_id = ?1
	GROUP BY status;
-- countTenants
SELECT count(CASE WHEN churned_at IS NULL THEN 1 END), count(churned_at), max(due_at), max(churned_at), min(CASE WHEN x.due_at IS NOT NULL AND x.due_at <= ?1 THEN x.due_at END)
	FROM @tenants x;
-- creditSwaps.get
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r
	CROSS JOIN @unprocessed_txids x
	WHERE x.txid = r.txid
	UNION ALL SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r
	CROSS JOIN @processed_txids x
	WHERE x.txid = r.txid
	UNION ALL SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r
	CROSS JOIN @refunded_txids x
	WHERE x.txid = r.txid
	UNION ALL SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r
	CROSS JOIN @quarantined_txids x
	WHERE x.txid = r.txid;
-- creditSwaps.places[0].due.ahead[0]
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[0].due.found[0]
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[0].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @unprocessed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- creditSwaps.places[0].held
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE x.lease_holder = ?3 AND x.txid > ?1
	ORDER BY x.txid LIMIT ?2;
-- creditSwaps.places[0].leases.lost
SELECT r.txid
	FROM (SELECT value->>0 AS txid, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @unprocessed_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[0].leases.renew
UPDATE @unprocessed_txids AS x
	SET lease_until = ?3
	WHERE x.txid = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- creditSwaps.places[0].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @unprocessed_txids x
	WHERE (txid) > (?1)
	ORDER BY txid LIMIT ?2;
-- creditSwaps.places[0].remove
DELETE
	FROM @unprocessed_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[0].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @unprocessed_txids x
	WHERE ?1 = ?1 AND ?2 = ?2;
-- creditSwaps.places[0].table.made.inOrder
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[0].table.made.insertOne
INSERT INTO @unprocessed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43);
-- creditSwaps.places[0].table.made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @unprocessed_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditSwaps.places[0].table.made.touchOne
UPDATE @unprocessed_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditSwaps.places[0].table.made.updateOne
UPDATE @unprocessed_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, entered = ?9, version = ?10, terms_frozen = ?11, terms_net = ?12, terms_fee = ?13, terms_min = ?14, tried = ?15, account_checked = ?16, send_attempts = ?17, refund_attempts = ?18, quarantine_attempts = ?19, fee_units = ?20, refund_reason = ?21, hold_kind = ?22, hold_at = ?23, hold_reason = ?24, stood = ?25, looked_back = ?26, lost = ?27, by_hand_reference = ?28, by_hand_actor = ?29, by_hand_at = ?30, overdue_at = ?31, lease_holder = ?32, lease_fence = ?33, lease_until = CASE WHEN x.lease_fence = ?33 AND x.lease_holder = ?32 THEN x.lease_until ELSE ?34 END, check_at = ?35
	WHERE x.txid = ?36 AND x.version = ?37 AND x.lease_holder IS NOT DISTINCT
	FROM ?38 AND x.lease_fence IS NOT DISTINCT
	FROM ?39 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?40;
-- creditSwaps.places[1].due.ahead[0]
SELECT x.txid
	FROM @processed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[1].due.found[0]
SELECT x.txid
	FROM @processed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[1].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @processed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- creditSwaps.places[1].held
SELECT x.txid
	FROM @processed_txids x
	WHERE x.lease_holder = ?3 AND x.txid > ?1
	ORDER BY x.txid LIMIT ?2;
-- creditSwaps.places[1].leases.lost
SELECT r.txid
	FROM (SELECT value->>0 AS txid, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @processed_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[1].leases.renew
UPDATE @processed_txids AS x
	SET lease_until = ?3
	WHERE x.txid = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- creditSwaps.places[1].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.sig, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @processed_txids x
	WHERE (txid) > (?1)
	ORDER BY txid LIMIT ?2;
-- creditSwaps.places[1].remove
DELETE
	FROM @processed_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[1].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @processed_txids x
	WHERE x.entered >= ?1 OR x.overdue_at < ?2 OR x.by_hand_at >= ?1;
-- creditSwaps.places[1].table.made.inOrder
SELECT x.txid
	FROM @processed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[1].table.made.insertOne
INSERT INTO @processed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44);
-- creditSwaps.places[1].table.made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @processed_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditSwaps.places[1].table.made.touchOne
UPDATE @processed_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditSwaps.places[1].table.made.updateOne
UPDATE @processed_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, sig = ?9, entered = ?10, version = ?11, terms_frozen = ?12, terms_net = ?13, terms_fee = ?14, terms_min = ?15, tried = ?16, account_checked = ?17, send_attempts = ?18, refund_attempts = ?19, quarantine_attempts = ?20, fee_units = ?21, refund_reason = ?22, hold_kind = ?23, hold_at = ?24, hold_reason = ?25, stood = ?26, looked_back = ?27, lost = ?28, by_hand_reference = ?29, by_hand_actor = ?30, by_hand_at = ?31, overdue_at = ?32, lease_holder = ?33, lease_fence = ?34, lease_until = CASE WHEN x.lease_fence = ?34 AND x.lease_holder = ?33 THEN x.lease_until ELSE ?35 END, check_at = ?36
	WHERE x.txid = ?37 AND x.version = ?38 AND x.lease_holder IS NOT DISTINCT
	FROM ?39 AND x.lease_fence IS NOT DISTINCT
	FROM ?40 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?41;
-- creditSwaps.places[2].due.ahead[0]
SELECT x.txid
	FROM @refunded_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[2].due.found[0]
SELECT x.txid
	FROM @refunded_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[2].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @refunded_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- creditSwaps.places[2].held
SELECT x.txid
	FROM @refunded_txids x
	WHERE x.lease_holder = ?3 AND x.txid > ?1
	ORDER BY x.txid LIMIT ?2;
-- creditSwaps.places[2].leases.lost
SELECT r.txid
	FROM (SELECT value->>0 AS txid, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refunded_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[2].leases.renew
UPDATE @refunded_txids AS x
	SET lease_until = ?3
	WHERE x.txid = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- creditSwaps.places[2].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.sig, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @refunded_txids x
	WHERE (txid) > (?1)
	ORDER BY txid LIMIT ?2;
-- creditSwaps.places[2].remove
DELETE
	FROM @refunded_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[2].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @refunded_txids x
	WHERE x.entered >= ?1 OR x.overdue_at < ?2 OR x.by_hand_at >= ?1;
-- creditSwaps.places[2].table.made.inOrder
SELECT x.txid
	FROM @refunded_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[2].table.made.insertOne
INSERT INTO @refunded_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44);
-- creditSwaps.places[2].table.made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refunded_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditSwaps.places[2].table.made.touchOne
UPDATE @refunded_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditSwaps.places[2].table.made.updateOne
UPDATE @refunded_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, sig = ?9, entered = ?10, version = ?11, terms_frozen = ?12, terms_net = ?13, terms_fee = ?14, terms_min = ?15, tried = ?16, account_checked = ?17, send_attempts = ?18, refund_attempts = ?19, quarantine_attempts = ?20, fee_units = ?21, refund_reason = ?22, hold_kind = ?23, hold_at = ?24, hold_reason = ?25, stood = ?26, looked_back = ?27, lost = ?28, by_hand_reference = ?29, by_hand_actor = ?30, by_hand_at = ?31, overdue_at = ?32, lease_holder = ?33, lease_fence = ?34, lease_until = CASE WHEN x.lease_fence = ?34 AND x.lease_holder = ?33 THEN x.lease_until ELSE ?35 END, check_at = ?36
	WHERE x.txid = ?37 AND x.version = ?38 AND x.lease_holder IS NOT DISTINCT
	FROM ?39 AND x.lease_fence IS NOT DISTINCT
	FROM ?40 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?41;
-- creditSwaps.places[3].due.ahead[0]
SELECT x.txid
	FROM @quarantined_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[3].due.found[0]
SELECT x.txid
	FROM @quarantined_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.txid LIMIT ?1;
-- creditSwaps.places[3].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @quarantined_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- creditSwaps.places[3].held
SELECT x.txid
	FROM @quarantined_txids x
	WHERE x.lease_holder = ?3 AND x.txid > ?1
	ORDER BY x.txid LIMIT ?2;
-- creditSwaps.places[3].leases.lost
SELECT r.txid
	FROM (SELECT value->>0 AS txid, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @quarantined_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[3].leases.renew
UPDATE @quarantined_txids AS x
	SET lease_until = ?3
	WHERE x.txid = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- creditSwaps.places[3].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.sig, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @quarantined_txids x
	WHERE (txid) > (?1)
	ORDER BY txid LIMIT ?2;
-- creditSwaps.places[3].remove
DELETE
	FROM @quarantined_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[3].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @quarantined_txids x
	WHERE x.entered >= ?1 OR x.overdue_at < ?2 OR x.by_hand_at >= ?1;
-- creditSwaps.places[3].table.made.inOrder
SELECT x.txid
	FROM @quarantined_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[3].table.made.insertOne
INSERT INTO @quarantined_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44);
-- creditSwaps.places[3].table.made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @quarantined_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditSwaps.places[3].table.made.touchOne
UPDATE @quarantined_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditSwaps.places[3].table.made.updateOne
UPDATE @quarantined_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, sig = ?9, entered = ?10, version = ?11, terms_frozen = ?12, terms_net = ?13, terms_fee = ?14, terms_min = ?15, tried = ?16, account_checked = ?17, send_attempts = ?18, refund_attempts = ?19, quarantine_attempts = ?20, fee_units = ?21, refund_reason = ?22, hold_kind = ?23, hold_at = ?24, hold_reason = ?25, stood = ?26, looked_back = ?27, lost = ?28, by_hand_reference = ?29, by_hand_actor = ?30, by_hand_at = ?31, overdue_at = ?32, lease_holder = ?33, lease_fence = ?34, lease_until = CASE WHEN x.lease_fence = ?34 AND x.lease_holder = ?33 THEN x.lease_until ELSE ?35 END, check_at = ?36
	WHERE x.txid = ?37 AND x.version = ?38 AND x.lease_holder IS NOT DISTINCT
	FROM ?39 AND x.lease_fence IS NOT DISTINCT
	FROM ?40 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?41;
-- creditTables[processed].made.inOrder
SELECT x.txid
	FROM @processed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[processed].made.insertOne
INSERT INTO @processed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44);
-- creditTables[processed].made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @processed_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditTables[processed].made.touchOne
UPDATE @processed_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditTables[processed].made.updateOne
UPDATE @processed_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, sig = ?9, entered = ?10, version = ?11, terms_frozen = ?12, terms_net = ?13, terms_fee = ?14, terms_min = ?15, tried = ?16, account_checked = ?17, send_attempts = ?18, refund_attempts = ?19, quarantine_attempts = ?20, fee_units = ?21, refund_reason = ?22, hold_kind = ?23, hold_at = ?24, hold_reason = ?25, stood = ?26, looked_back = ?27, lost = ?28, by_hand_reference = ?29, by_hand_actor = ?30, by_hand_at = ?31, overdue_at = ?32, lease_holder = ?33, lease_fence = ?34, lease_until = CASE WHEN x.lease_fence = ?34 AND x.lease_holder = ?33 THEN x.lease_until ELSE ?35 END, check_at = ?36
	WHERE x.txid = ?37 AND x.version = ?38 AND x.lease_holder IS NOT DISTINCT
	FROM ?39 AND x.lease_fence IS NOT DISTINCT
	FROM ?40 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?41;
-- creditTables[quarantined].made.inOrder
SELECT x.txid
	FROM @quarantined_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[quarantined].made.insertOne
INSERT INTO @quarantined_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44);
-- creditTables[quarantined].made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @quarantined_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditTables[quarantined].made.touchOne
UPDATE @quarantined_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditTables[quarantined].made.updateOne
UPDATE @quarantined_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, sig = ?9, entered = ?10, version = ?11, terms_frozen = ?12, terms_net = ?13, terms_fee = ?14, terms_min = ?15, tried = ?16, account_checked = ?17, send_attempts = ?18, refund_attempts = ?19, quarantine_attempts = ?20, fee_units = ?21, refund_reason = ?22, hold_kind = ?23, hold_at = ?24, hold_reason = ?25, stood = ?26, looked_back = ?27, lost = ?28, by_hand_reference = ?29, by_hand_actor = ?30, by_hand_at = ?31, overdue_at = ?32, lease_holder = ?33, lease_fence = ?34, lease_until = CASE WHEN x.lease_fence = ?34 AND x.lease_holder = ?33 THEN x.lease_until ELSE ?35 END, check_at = ?36
	WHERE x.txid = ?37 AND x.version = ?38 AND x.lease_holder IS NOT DISTINCT
	FROM ?39 AND x.lease_fence IS NOT DISTINCT
	FROM ?40 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?41;
-- creditTables[refunded].made.inOrder
SELECT x.txid
	FROM @refunded_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[refunded].made.insertOne
INSERT INTO @refunded_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44);
-- creditTables[refunded].made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refunded_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditTables[refunded].made.touchOne
UPDATE @refunded_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditTables[refunded].made.updateOne
UPDATE @refunded_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, sig = ?9, entered = ?10, version = ?11, terms_frozen = ?12, terms_net = ?13, terms_fee = ?14, terms_min = ?15, tried = ?16, account_checked = ?17, send_attempts = ?18, refund_attempts = ?19, quarantine_attempts = ?20, fee_units = ?21, refund_reason = ?22, hold_kind = ?23, hold_at = ?24, hold_reason = ?25, stood = ?26, looked_back = ?27, lost = ?28, by_hand_reference = ?29, by_hand_actor = ?30, by_hand_at = ?31, overdue_at = ?32, lease_holder = ?33, lease_fence = ?34, lease_until = CASE WHEN x.lease_fence = ?34 AND x.lease_holder = ?33 THEN x.lease_until ELSE ?35 END, check_at = ?36
	WHERE x.txid = ?37 AND x.version = ?38 AND x.lease_holder IS NOT DISTINCT
	FROM ?39 AND x.lease_fence IS NOT DISTINCT
	FROM ?40 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?41;
-- creditTables[unprocessed].made.inOrder
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT value AS txid
	FROM json_each(?1)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[unprocessed].made.insertOne
INSERT INTO @unprocessed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43);
-- creditTables[unprocessed].made.storedNow
SELECT x.txid, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS txid, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @unprocessed_txids x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid;
-- creditTables[unprocessed].made.touchOne
UPDATE @unprocessed_txids AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.txid = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- creditTables[unprocessed].made.updateOne
UPDATE @unprocessed_txids AS x
	SET status = ?1, receival_account = ?2, confirmations_credit = ?3, timestamp = ?4, counted_at = ?5, gone_at = ?6, collecting = ?7, settled_by = ?8, entered = ?9, version = ?10, terms_frozen = ?11, terms_net = ?12, terms_fee = ?13, terms_min = ?14, tried = ?15, account_checked = ?16, send_attempts = ?17, refund_attempts = ?18, quarantine_attempts = ?19, fee_units = ?20, refund_reason = ?21, hold_kind = ?22, hold_at = ?23, hold_reason = ?24, stood = ?25, looked_back = ?26, lost = ?27, by_hand_reference = ?28, by_hand_actor = ?29, by_hand_at = ?30, overdue_at = ?31, lease_holder = ?32, lease_fence = ?33, lease_until = CASE WHEN x.lease_fence = ?33 AND x.lease_holder = ?32 THEN x.lease_until ELSE ?34 END, check_at = ?35
	WHERE x.txid = ?36 AND x.version = ?37 AND x.lease_holder IS NOT DISTINCT
	FROM ?38 AND x.lease_fence IS NOT DISTINCT
	FROM ?39 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?40;
-- declareEdges
UPDATE @tx_replacements AS e
	SET declared = true
	WHERE e.wallet_id = ?1 AND e.replaced_tx_id = ?2 AND e.replacement_tx_id = ?3 AND NOT e.declared;
-- deleteBlocks
DELETE
	FROM @blocks
	WHERE (block_height, block_hash) IN (SELECT ?3, ?4) AND block_height BETWEEN ?1 AND ?2 AND (SELECT max(block_height)
	FROM @blocks) <= ?2;
-- deleteLeases
DELETE
	FROM @utxo_leases
	WHERE (wallet_id, utxo_id, lock_id, expires_at) IN (SELECT ?1, ?2 * 4294967296 + ?3, ?4, ?5);
-- deleteParked
DELETE
	FROM @settle_parked
	WHERE consumer = ?1 AND n = ?2;
-- deleteProcesses
DELETE
	FROM @settle_processes
	WHERE (domain, name, version, policy, last_seen || substr('.000000', length(last_seen) - 18)) IN (SELECT ?1, ?2, ?3, ?4, ?5);
-- deleteScans
DELETE
	FROM @wallet_scans
	WHERE (wallet_id, scan_id, scanned_to) IN (SELECT ?1, ?2, ?3);
-- depositSwaps.get
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r
	CROSS JOIN @unprocessed_sigs x
	WHERE x.sig = r.sig
	UNION ALL SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r
	CROSS JOIN @processed_sigs x
	WHERE x.sig = r.sig
	UNION ALL SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r
	CROSS JOIN @refunded_sigs x
	WHERE x.sig = r.sig
	UNION ALL SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r
	CROSS JOIN @quarantined_sigs x
	WHERE x.sig = r.sig;
-- depositSwaps.places[0].due.ahead[0]
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[0].due.found[0]
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[0].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @unprocessed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- depositSwaps.places[0].held
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE x.lease_holder = ?3 AND x.sig > ?1
	ORDER BY x.sig LIMIT ?2;
-- depositSwaps.places[0].leases.lost
SELECT r.sig
	FROM (SELECT value->>0 AS sig, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @unprocessed_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[0].leases.renew
UPDATE @unprocessed_sigs AS x
	SET lease_until = ?3
	WHERE x.sig = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- depositSwaps.places[0].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @unprocessed_sigs x
	WHERE (sig) > (?1)
	ORDER BY sig LIMIT ?2;
-- depositSwaps.places[0].remove
DELETE
	FROM @unprocessed_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[0].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @unprocessed_sigs x
	WHERE ?1 = ?1 AND ?2 = ?2;
-- depositSwaps.places[0].table.made.inOrder
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[0].table.made.insertOne
INSERT INTO @unprocessed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37);
-- depositSwaps.places[0].table.made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @unprocessed_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositSwaps.places[0].table.made.touchOne
UPDATE @unprocessed_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositSwaps.places[0].table.made.updateOne
UPDATE @unprocessed_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, entered = ?6, version = ?7, terms_frozen = ?8, terms_net = ?9, terms_fee = ?10, terms_min = ?11, tried = ?12, account_checked = ?13, send_attempts = ?14, refund_attempts = ?15, quarantine_attempts = ?16, fee_units = ?17, refund_reason = ?18, hold_kind = ?19, hold_at = ?20, hold_reason = ?21, stood = ?22, looked_back = ?23, lost = ?24, by_hand_reference = ?25, by_hand_actor = ?26, by_hand_at = ?27, overdue_at = ?28, lease_holder = ?29, lease_fence = ?30, lease_until = CASE WHEN x.lease_fence = ?30 AND x.lease_holder = ?29 THEN x.lease_until ELSE ?31 END, check_at = ?32
	WHERE x.sig = ?33 AND x.version = ?34 AND x.lease_holder IS NOT DISTINCT
	FROM ?35 AND x.lease_fence IS NOT DISTINCT
	FROM ?36 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?37;
-- depositSwaps.places[1].due.ahead[0]
SELECT x.sig
	FROM @processed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[1].due.found[0]
SELECT x.sig
	FROM @processed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[1].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @processed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- depositSwaps.places[1].held
SELECT x.sig
	FROM @processed_sigs x
	WHERE x.lease_holder = ?3 AND x.sig > ?1
	ORDER BY x.sig LIMIT ?2;
-- depositSwaps.places[1].leases.lost
SELECT r.sig
	FROM (SELECT value->>0 AS sig, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @processed_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[1].leases.renew
UPDATE @processed_sigs AS x
	SET lease_until = ?3
	WHERE x.sig = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- depositSwaps.places[1].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.amount_usdd, x.reference, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @processed_sigs x
	WHERE (sig) > (?1)
	ORDER BY sig LIMIT ?2;
-- depositSwaps.places[1].remove
DELETE
	FROM @processed_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[1].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @processed_sigs x
	WHERE x.entered >= ?1 OR x.overdue_at < ?2 OR x.by_hand_at >= ?1;
-- depositSwaps.places[1].table.made.inOrder
SELECT x.sig
	FROM @processed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[1].table.made.insertOne
INSERT INTO @processed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39);
-- depositSwaps.places[1].table.made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @processed_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositSwaps.places[1].table.made.touchOne
UPDATE @processed_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositSwaps.places[1].table.made.updateOne
UPDATE @processed_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, amount_usdd = ?6, reference = ?7, entered = ?8, version = ?9, terms_frozen = ?10, terms_net = ?11, terms_fee = ?12, terms_min = ?13, tried = ?14, account_checked = ?15, send_attempts = ?16, refund_attempts = ?17, quarantine_attempts = ?18, fee_units = ?19, refund_reason = ?20, hold_kind = ?21, hold_at = ?22, hold_reason = ?23, stood = ?24, looked_back = ?25, lost = ?26, by_hand_reference = ?27, by_hand_actor = ?28, by_hand_at = ?29, overdue_at = ?30, lease_holder = ?31, lease_fence = ?32, lease_until = CASE WHEN x.lease_fence = ?32 AND x.lease_holder = ?31 THEN x.lease_until ELSE ?33 END, check_at = ?34
	WHERE x.sig = ?35 AND x.version = ?36 AND x.lease_holder IS NOT DISTINCT
	FROM ?37 AND x.lease_fence IS NOT DISTINCT
	FROM ?38 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?39;
-- depositSwaps.places[2].due.ahead[0]
SELECT x.sig
	FROM @refunded_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[2].due.found[0]
SELECT x.sig
	FROM @refunded_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[2].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @refunded_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- depositSwaps.places[2].held
SELECT x.sig
	FROM @refunded_sigs x
	WHERE x.lease_holder = ?3 AND x.sig > ?1
	ORDER BY x.sig LIMIT ?2;
-- depositSwaps.places[2].leases.lost
SELECT r.sig
	FROM (SELECT value->>0 AS sig, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refunded_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[2].leases.renew
UPDATE @refunded_sigs AS x
	SET lease_until = ?3
	WHERE x.sig = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- depositSwaps.places[2].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.refund_sig, x.refunded_units, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @refunded_sigs x
	WHERE (sig) > (?1)
	ORDER BY sig LIMIT ?2;
-- depositSwaps.places[2].remove
DELETE
	FROM @refunded_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[2].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @refunded_sigs x
	WHERE x.entered >= ?1 OR x.overdue_at < ?2 OR x.by_hand_at >= ?1;
-- depositSwaps.places[2].table.made.inOrder
SELECT x.sig
	FROM @refunded_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[2].table.made.insertOne
INSERT INTO @refunded_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39);
-- depositSwaps.places[2].table.made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refunded_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositSwaps.places[2].table.made.touchOne
UPDATE @refunded_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositSwaps.places[2].table.made.updateOne
UPDATE @refunded_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, refund_sig = ?6, refunded_units = ?7, entered = ?8, version = ?9, terms_frozen = ?10, terms_net = ?11, terms_fee = ?12, terms_min = ?13, tried = ?14, account_checked = ?15, send_attempts = ?16, refund_attempts = ?17, quarantine_attempts = ?18, fee_units = ?19, refund_reason = ?20, hold_kind = ?21, hold_at = ?22, hold_reason = ?23, stood = ?24, looked_back = ?25, lost = ?26, by_hand_reference = ?27, by_hand_actor = ?28, by_hand_at = ?29, overdue_at = ?30, lease_holder = ?31, lease_fence = ?32, lease_until = CASE WHEN x.lease_fence = ?32 AND x.lease_holder = ?31 THEN x.lease_until ELSE ?33 END, check_at = ?34
	WHERE x.sig = ?35 AND x.version = ?36 AND x.lease_holder IS NOT DISTINCT
	FROM ?37 AND x.lease_fence IS NOT DISTINCT
	FROM ?38 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?39;
-- depositSwaps.places[3].due.ahead[0]
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[3].due.found[0]
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= ?2
	ORDER BY x.item_time, x.sig LIMIT ?1;
-- depositSwaps.places[3].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @quarantined_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > ?1;
-- depositSwaps.places[3].held
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE x.lease_holder = ?3 AND x.sig > ?1
	ORDER BY x.sig LIMIT ?2;
-- depositSwaps.places[3].leases.lost
SELECT r.sig
	FROM (SELECT value->>0 AS sig, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @quarantined_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[3].leases.renew
UPDATE @quarantined_sigs AS x
	SET lease_until = ?3
	WHERE x.sig = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- depositSwaps.places[3].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.quarantine_sig, x.quarantined_units, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @quarantined_sigs x
	WHERE (sig) > (?1)
	ORDER BY sig LIMIT ?2;
-- depositSwaps.places[3].remove
DELETE
	FROM @quarantined_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[3].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @quarantined_sigs x
	WHERE x.entered >= ?1 OR x.overdue_at < ?2 OR x.by_hand_at >= ?1;
-- depositSwaps.places[3].table.made.inOrder
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[3].table.made.insertOne
INSERT INTO @quarantined_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39);
-- depositSwaps.places[3].table.made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @quarantined_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositSwaps.places[3].table.made.touchOne
UPDATE @quarantined_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositSwaps.places[3].table.made.updateOne
UPDATE @quarantined_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, quarantine_sig = ?6, quarantined_units = ?7, entered = ?8, version = ?9, terms_frozen = ?10, terms_net = ?11, terms_fee = ?12, terms_min = ?13, tried = ?14, account_checked = ?15, send_attempts = ?16, refund_attempts = ?17, quarantine_attempts = ?18, fee_units = ?19, refund_reason = ?20, hold_kind = ?21, hold_at = ?22, hold_reason = ?23, stood = ?24, looked_back = ?25, lost = ?26, by_hand_reference = ?27, by_hand_actor = ?28, by_hand_at = ?29, overdue_at = ?30, lease_holder = ?31, lease_fence = ?32, lease_until = CASE WHEN x.lease_fence = ?32 AND x.lease_holder = ?31 THEN x.lease_until ELSE ?33 END, check_at = ?34
	WHERE x.sig = ?35 AND x.version = ?36 AND x.lease_holder IS NOT DISTINCT
	FROM ?37 AND x.lease_fence IS NOT DISTINCT
	FROM ?38 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?39;
-- depositTable.made.insertOne
INSERT INTO @deposits (tx_hash, output_index, wallet_id, owner_tag, amount, block_height, block_hash, in_chain, state, round, depth, deep_at, reversed_by, reason, changed_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);
-- depositTables[processed].made.inOrder
SELECT x.sig
	FROM @processed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[processed].made.insertOne
INSERT INTO @processed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39);
-- depositTables[processed].made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @processed_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositTables[processed].made.touchOne
UPDATE @processed_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositTables[processed].made.updateOne
UPDATE @processed_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, amount_usdd = ?6, reference = ?7, entered = ?8, version = ?9, terms_frozen = ?10, terms_net = ?11, terms_fee = ?12, terms_min = ?13, tried = ?14, account_checked = ?15, send_attempts = ?16, refund_attempts = ?17, quarantine_attempts = ?18, fee_units = ?19, refund_reason = ?20, hold_kind = ?21, hold_at = ?22, hold_reason = ?23, stood = ?24, looked_back = ?25, lost = ?26, by_hand_reference = ?27, by_hand_actor = ?28, by_hand_at = ?29, overdue_at = ?30, lease_holder = ?31, lease_fence = ?32, lease_until = CASE WHEN x.lease_fence = ?32 AND x.lease_holder = ?31 THEN x.lease_until ELSE ?33 END, check_at = ?34
	WHERE x.sig = ?35 AND x.version = ?36 AND x.lease_holder IS NOT DISTINCT
	FROM ?37 AND x.lease_fence IS NOT DISTINCT
	FROM ?38 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?39;
-- depositTables[quarantined].made.inOrder
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[quarantined].made.insertOne
INSERT INTO @quarantined_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39);
-- depositTables[quarantined].made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @quarantined_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositTables[quarantined].made.touchOne
UPDATE @quarantined_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositTables[quarantined].made.updateOne
UPDATE @quarantined_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, quarantine_sig = ?6, quarantined_units = ?7, entered = ?8, version = ?9, terms_frozen = ?10, terms_net = ?11, terms_fee = ?12, terms_min = ?13, tried = ?14, account_checked = ?15, send_attempts = ?16, refund_attempts = ?17, quarantine_attempts = ?18, fee_units = ?19, refund_reason = ?20, hold_kind = ?21, hold_at = ?22, hold_reason = ?23, stood = ?24, looked_back = ?25, lost = ?26, by_hand_reference = ?27, by_hand_actor = ?28, by_hand_at = ?29, overdue_at = ?30, lease_holder = ?31, lease_fence = ?32, lease_until = CASE WHEN x.lease_fence = ?32 AND x.lease_holder = ?31 THEN x.lease_until ELSE ?33 END, check_at = ?34
	WHERE x.sig = ?35 AND x.version = ?36 AND x.lease_holder IS NOT DISTINCT
	FROM ?37 AND x.lease_fence IS NOT DISTINCT
	FROM ?38 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?39;
-- depositTables[refunded].made.inOrder
SELECT x.sig
	FROM @refunded_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[refunded].made.insertOne
INSERT INTO @refunded_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39);
-- depositTables[refunded].made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refunded_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositTables[refunded].made.touchOne
UPDATE @refunded_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositTables[refunded].made.updateOne
UPDATE @refunded_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, refund_sig = ?6, refunded_units = ?7, entered = ?8, version = ?9, terms_frozen = ?10, terms_net = ?11, terms_fee = ?12, terms_min = ?13, tried = ?14, account_checked = ?15, send_attempts = ?16, refund_attempts = ?17, quarantine_attempts = ?18, fee_units = ?19, refund_reason = ?20, hold_kind = ?21, hold_at = ?22, hold_reason = ?23, stood = ?24, looked_back = ?25, lost = ?26, by_hand_reference = ?27, by_hand_actor = ?28, by_hand_at = ?29, overdue_at = ?30, lease_holder = ?31, lease_fence = ?32, lease_until = CASE WHEN x.lease_fence = ?32 AND x.lease_holder = ?31 THEN x.lease_until ELSE ?33 END, check_at = ?34
	WHERE x.sig = ?35 AND x.version = ?36 AND x.lease_holder IS NOT DISTINCT
	FROM ?37 AND x.lease_fence IS NOT DISTINCT
	FROM ?38 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?39;
-- depositTables[unprocessed].made.inOrder
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT value AS sig
	FROM json_each(?1)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[unprocessed].made.insertOne
INSERT INTO @unprocessed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37);
-- depositTables[unprocessed].made.storedNow
SELECT x.sig, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS sig, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @unprocessed_sigs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig;
-- depositTables[unprocessed].made.touchOne
UPDATE @unprocessed_sigs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, check_at = ?4
	WHERE x.sig = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- depositTables[unprocessed].made.updateOne
UPDATE @unprocessed_sigs AS x
	SET status = ?1, memo = ?2, memo_read = ?3, timestamp = ?4, txid = ?5, entered = ?6, version = ?7, terms_frozen = ?8, terms_net = ?9, terms_fee = ?10, terms_min = ?11, tried = ?12, account_checked = ?13, send_attempts = ?14, refund_attempts = ?15, quarantine_attempts = ?16, fee_units = ?17, refund_reason = ?18, hold_kind = ?19, hold_at = ?20, hold_reason = ?21, stood = ?22, looked_back = ?23, lost = ?24, by_hand_reference = ?25, by_hand_actor = ?26, by_hand_at = ?27, overdue_at = ?28, lease_holder = ?29, lease_fence = ?30, lease_until = CASE WHEN x.lease_fence = ?30 AND x.lease_holder = ?29 THEN x.lease_until ELSE ?31 END, check_at = ?32
	WHERE x.sig = ?33 AND x.version = ?34 AND x.lease_holder IS NOT DISTINCT
	FROM ?35 AND x.lease_fence IS NOT DISTINCT
	FROM ?36 AND x.check_at || substr('.000000', length(x.check_at) - 18) IS NOT DISTINCT
	FROM ?37;
-- depositsNamed
SELECT x.tx_hash, x.output_index, x.wallet_id, x.owner_tag, x.amount, x.block_height, x.block_hash, x.in_chain, x.state, x.round, x.depth, x.deep_at, x.reversed_by, x.reason, x.changed_at
	FROM (SELECT unhex(value->>0) AS tx_hash, value->>1 AS output_index
	FROM json_each(?1)) AS r
	CROSS JOIN @deposits x
	WHERE x.tx_hash = r.tx_hash AND x.output_index = r.output_index;
-- depositsShaken
SELECT x.tx_hash, x.output_index, x.wallet_id, x.owner_tag, x.amount, x.block_height, x.block_hash, x.in_chain, x.state, x.round, x.depth, x.deep_at, x.reversed_by, x.reason, x.changed_at
	FROM @deposits x
	WHERE x.state = 'credited' AND (x.deep_at, x.tx_hash, x.output_index) > (?1, ?2, ?3)
	ORDER BY x.deep_at, x.tx_hash, x.output_index LIMIT ?4;
-- depositsWaiting
SELECT x.tx_hash, x.output_index, x.wallet_id, x.owner_tag, x.amount, x.block_height, x.block_hash, x.in_chain, x.state, x.round, x.depth, x.deep_at, x.reversed_by, x.reason, x.changed_at
	FROM @deposits x
	WHERE x.in_chain AND x.state <> 'credited' AND (x.block_height, x.tx_hash, x.output_index) > (?1, ?2, ?3) AND (x.amount >= ?4 OR x.state = 'reversed')
	ORDER BY x.block_height, x.tx_hash, x.output_index LIMIT ?5;
-- descendants
WITH RECURSIVE walk(tx_hash, go_on) AS (SELECT r.tx_hash, 1
	FROM (SELECT unhex(value) AS tx_hash
	FROM json_each(?1)) AS r UNION SELECT t.tx_hash, CASE WHEN t.block_height IS NULL THEN 1 ELSE 0 END
	FROM walk w
	CROSS JOIN @tx_inputs i
	CROSS JOIN @transactions t
	WHERE w.go_on = 1 AND i.prev_hash = w.tx_hash AND t.id = i.tx_id AND t.status IN ('pending', 'published')) SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM walk w
	CROSS JOIN @transactions t
	WHERE t.tx_hash = w.tx_hash;
-- discrepanciesOf
SELECT x.n, x.direction, x.item, x.kind, x.key, x.chain, x.txid, x.amount_units, x.other_units, x.description, x.actor, x.at, x.closed_by, x.closed_at, x.firm
	FROM (SELECT value->>0 AS direction, value->>1 AS item
	FROM json_each(?1)) AS r
	CROSS JOIN @swap_discrepancies x
	WHERE x.direction = r.direction AND x.item = r.item;
-- discrepancyRows.behind
SELECT n, direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm
	FROM @swap_discrepancies
	WHERE n > ?1
	ORDER BY n LIMIT ?2;
-- discrepancyRows.lock
SELECT pg_advisory_xact_lock(hashtextextended('settle swap_discrepancies', 0));
-- discrepancyRows.table.made.holdersNow[0]
SELECT x.direction, x.item, x.kind, x.key
	FROM (SELECT value->>0 AS direction, value->>1 AS item, value->>2 AS kind, value->>3 AS key, value->>4 AS direction, value->>5 AS item, value->>6 AS kind, value->>7 AS key
	FROM json_each(?1)) AS r
	CROSS JOIN @swap_discrepancies x
	WHERE x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key AND NOT (x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key);
-- discrepancyRows.table.made.insertOne
INSERT INTO @swap_discrepancies (direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
	ON CONFLICT DO NOTHING;
-- discrepancyTable.made.holdersNow[0]
SELECT x.direction, x.item, x.kind, x.key
	FROM (SELECT value->>0 AS direction, value->>1 AS item, value->>2 AS kind, value->>3 AS key, value->>4 AS direction, value->>5 AS item, value->>6 AS kind, value->>7 AS key
	FROM json_each(?1)) AS r
	CROSS JOIN @swap_discrepancies x
	WHERE x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key AND NOT (x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key);
-- discrepancyTable.made.insertOne
INSERT INTO @swap_discrepancies (direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
	ON CONFLICT DO NOTHING;
-- dueBatches[check].after[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND x.next_check_at > ?1;
-- dueBatches[check].after[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND x.next_check_at > ?1 AND x.chain_id = ?2;
-- dueBatches[check].ahead[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at > ?2 AND ((x.rebroadcast) OR x.next_check_at > ?3)
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[check].ahead[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at > ?2 AND ((x.rebroadcast) OR x.next_check_at > ?3) AND x.chain_id = ?4
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[check].found[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at <= ?2 AND (NOT (x.rebroadcast) OR x.next_check_at <= ?3)
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[check].found[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at <= ?2 AND (NOT (x.rebroadcast) OR x.next_check_at <= ?3) AND x.chain_id = ?4
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[check].soon[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND NOT (x.rebroadcast) AND x.next_check_at > ?1;
-- dueBatches[check].soon[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND NOT (x.rebroadcast) AND x.next_check_at > ?1 AND x.chain_id = ?2;
-- dueBatches[send].ahead[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > ?2) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[send].ahead[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > ?2) AND x.chain_id = ?3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[send].found[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= ?2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= ?2) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[send].found[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= ?2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= ?2) AND x.chain_id = ?3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueBatches[send].soon[0]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?1 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueBatches[send].soon[1]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?1 AND x.chain_id = ?2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueParked
SELECT x.consumer, x.n, x.machine, x.id, x.version, x.aggregate, x.parked_at, x.tries, x.error, x.next_try
	FROM @settle_parked x
	WHERE x.consumer = ?1 AND (x.next_try <= ?2 OR x.next_try > ?3) AND NOT EXISTS (SELECT 1
	FROM @settle_parked e
	WHERE e.consumer = x.consumer AND e.aggregate = x.aggregate AND e.n < x.n)
	ORDER BY x.next_try, x.n LIMIT 1;
-- dueRelays.ahead[0]
SELECT x.id
	FROM @relays x
	WHERE (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) AND (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) > ?2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays') AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays')
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send'))
	ORDER BY (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END), x.id LIMIT ?1;
-- dueRelays.found[0]
SELECT x.id
	FROM @relays x
	WHERE (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) AND (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) <= ?2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays') AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays')
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send'))
	ORDER BY (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END), x.id LIMIT ?1;
-- dueRelays.soon[0]
SELECT min((CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END))
	FROM @relays x
	WHERE (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) AND (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) > ?1 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays') AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays')
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send'));
-- dueTenants.ahead[0]
SELECT x.id
	FROM @tenants x
	WHERE x.due_at IS NOT NULL AND x.due_at > ?2
	ORDER BY x.due_at, x.id LIMIT ?1;
-- dueTenants.found[0]
SELECT x.id
	FROM @tenants x
	WHERE x.due_at IS NOT NULL AND x.due_at <= ?2
	ORDER BY x.due_at, x.id LIMIT ?1;
-- dueTenants.soon[0]
SELECT min(x.due_at)
	FROM @tenants x
	WHERE x.due_at IS NOT NULL AND x.due_at > ?1;
-- dueWithdrawals[check].after[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.rebroadcast AND NOT x.review AND x.next_check_at > ?1;
-- dueWithdrawals[check].after[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.rebroadcast AND NOT x.review AND x.next_check_at > ?1 AND x.chain_id = ?2;
-- dueWithdrawals[check].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at > ?2 AND ((x.rebroadcast AND NOT x.review) OR x.next_check_at > ?3)
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[check].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at > ?2 AND ((x.rebroadcast AND NOT x.review) OR x.next_check_at > ?3) AND x.chain_id = ?4
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[check].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?2 AND (NOT (x.rebroadcast AND NOT x.review) OR x.next_check_at <= ?3)
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[check].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?2 AND (NOT (x.rebroadcast AND NOT x.review) OR x.next_check_at <= ?3) AND x.chain_id = ?4
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[check].soon[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND NOT (x.rebroadcast AND NOT x.review) AND x.next_check_at > ?1;
-- dueWithdrawals[check].soon[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND NOT (x.rebroadcast AND NOT x.review) AND x.next_check_at > ?1 AND x.chain_id = ?2;
-- dueWithdrawals[claim].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > ?2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?2 AND (x.scheduled_at <= ?2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > ?3) AND (x.offer_at IS NULL OR x.offer_at <= ?2 OR x.offer_at > ?3) AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- dueWithdrawals[claim].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > ?2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?2 AND (x.scheduled_at <= ?2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > ?3) AND (x.offer_at IS NULL OR x.offer_at <= ?2 OR x.offer_at > ?3) AND x.chain_id = ?4 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?4) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?4)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?4 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- dueWithdrawals[claim].ahead[2]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > ?2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?2 AND (x.scheduled_at <= ?2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > ?3) AND (x.offer_at IS NULL OR x.offer_at <= ?2 OR x.offer_at > ?3) AND x.chain_id = ?4 AND x.operation_wallet_address_id = ?5 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?4) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?4)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?4 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- dueWithdrawals[claim].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= ?2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- dueWithdrawals[claim].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= ?2 AND x.chain_id = ?3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- dueWithdrawals[claim].found[2]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= ?2 AND x.chain_id = ?3 AND x.operation_wallet_address_id = ?4 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- dueWithdrawals[claim].soon[0]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?1 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
	FROM (SELECT 0 AS n
	UNION ALL SELECT 1 AS n
	UNION ALL SELECT 2 AS n) p;
-- dueWithdrawals[claim].soon[1]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?1 AND x.chain_id = ?2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?2 AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
	FROM (SELECT 0 AS n
	UNION ALL SELECT 1 AS n
	UNION ALL SELECT 2 AS n) p;
-- dueWithdrawals[claim].soon[2]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?1 AND x.chain_id = ?2 AND x.operation_wallet_address_id = ?3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?2 AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
	FROM (SELECT 0 AS n
	UNION ALL SELECT 1 AS n
	UNION ALL SELECT 2 AS n) p;
-- dueWithdrawals[enqueue].ahead[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[enqueue].ahead[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?2 AND x.chain_id = ?3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[enqueue].found[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= ?2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[enqueue].found[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= ?2 AND x.chain_id = ?3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[enqueue].soon[0]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?1 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'));
-- dueWithdrawals[enqueue].soon[1]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?1 AND x.chain_id = ?2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?2 AND u.status = 'unknown outbound'));
-- dueWithdrawals[rebroadcast].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > ?2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[rebroadcast].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > ?2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND x.chain_id = ?3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[rebroadcast].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= ?2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= ?2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[rebroadcast].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= ?2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= ?2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND x.chain_id = ?3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT ?1;
-- dueWithdrawals[rebroadcast].soon[0]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?1 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueWithdrawals[rebroadcast].soon[1]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > ?1 AND x.chain_id = ?2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2) AND s.level IN ('send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueWithdrawals[refund].ahead[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?2 AND NOT ((coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[refund].ahead[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?2 AND x.chain_id = ?3 AND NOT ((coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[refund].found[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= ?2 AND NOT ((coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[refund].found[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= ?2 AND x.chain_id = ?3 AND NOT ((coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT ?1;
-- dueWithdrawals[refund].soon[0]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?1 AND NOT ((coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'));
-- dueWithdrawals[refund].soon[1]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > ?1 AND x.chain_id = ?2 AND NOT ((coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?2 AND u.status = 'unknown outbound'));
-- dueWithdrawals[rescue].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > ?2
	ORDER BY x.lease_until, x.id LIMIT ?1;
-- dueWithdrawals[rescue].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > ?2 AND x.chain_id = ?3
	ORDER BY x.lease_until, x.id LIMIT ?1;
-- dueWithdrawals[rescue].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until <= ?2
	ORDER BY x.lease_until, x.id LIMIT ?1;
-- dueWithdrawals[rescue].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until <= ?2 AND x.chain_id = ?3
	ORDER BY x.lease_until, x.id LIMIT ?1;
-- dueWithdrawals[rescue].soon[0]
SELECT min(x.lease_until)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > ?1;
-- dueWithdrawals[rescue].soon[1]
SELECT min(x.lease_until)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > ?1 AND x.chain_id = ?2;
-- edges
SELECT l.wallet_id, l.tx_hash, n.tx_hash, e.declared
	FROM @tx_replacements e
	JOIN @transactions l ON l.id = e.replaced_tx_id
	JOIN @transactions n ON n.id = e.replacement_tx_id
	ORDER BY 1, 2, 3;
-- edgesOf
WITH named AS (SELECT t.wallet_id, t.id
	FROM (SELECT value->>0 AS wallet_id, unhex(value->>1) AS tx_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @transactions t
	WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id), edge AS (SELECT e.wallet_id, e.replaced_tx_id, e.replacement_tx_id
	FROM named
	CROSS JOIN @tx_replacements e
	WHERE e.wallet_id = named.wallet_id AND e.replaced_tx_id = named.id UNION SELECT e.wallet_id, e.replaced_tx_id, e.replacement_tx_id
	FROM named
	CROSS JOIN @tx_replacements e
	WHERE e.wallet_id = named.wallet_id AND e.replacement_tx_id = named.id) SELECT l.wallet_id, l.tx_hash, n.tx_hash, e.declared
	FROM edge k
	CROSS JOIN @tx_replacements e
	JOIN @transactions l ON l.id = e.replaced_tx_id
	JOIN @transactions n ON n.id = e.replacement_tx_id
	WHERE e.wallet_id = k.wallet_id AND e.replaced_tx_id = k.replaced_tx_id AND e.replacement_tx_id = k.replacement_tx_id
	ORDER BY 1, 2, 3;
-- erase.settle_journal
UPDATE @settle_journal
	SET error = CASE WHEN error NOT IN ('', ?3, ?4) THEN ?3 ELSE error END
	WHERE machine = ?1 AND id = ?2 AND (error NOT IN ('', ?3, ?4));
-- erase.transitions
UPDATE @transitions
	SET reason = CASE WHEN reason NOT IN ('', ?3, ?4) THEN ?3 ELSE reason END, data = CASE WHEN data NOT IN ('', ?3, ?4) THEN ?3 ELSE data END
	WHERE machine = ?1 AND id = ?2 AND (reason NOT IN ('', ?3, ?4) OR data NOT IN ('', ?3, ?4));
-- erase.withdrawal_acknowledgements
UPDATE @withdrawal_acknowledgements
	SET reason = CASE WHEN reason NOT IN ('', ?3, ?4) THEN ?3 ELSE reason END
	WHERE ?1 <> '' AND CAST(withdrawal_request_id AS text) = ?2 AND (reason NOT IN ('', ?3, ?4));
-- erase.withdrawal_attempts
UPDATE @withdrawal_attempts
	SET error_message = CASE WHEN error_message NOT IN ('', ?3, ?4) THEN ?3 ELSE error_message END
	WHERE ?1 <> '' AND CAST(job_id AS text) = ?2 AND (error_message NOT IN ('', ?3, ?4));
-- erase.withdrawal_fillers
UPDATE @withdrawal_fillers
	SET reason = CASE WHEN reason NOT IN ('', ?3, ?4) THEN ?3 ELSE reason END
	WHERE ?1 <> '' AND CAST(operation_wallet_address_id AS text) = ?2 AND (reason NOT IN ('', ?3, ?4));
-- erase.withdrawal_statements
UPDATE @withdrawal_statements
	SET reason = CASE WHEN reason NOT IN ('', ?3, ?4) THEN ?3 ELSE reason END
	WHERE ?1 <> '' AND CAST(operation_wallet_address_id AS text) = ?2 AND (reason NOT IN ('', ?3, ?4));
-- failedByWallet
SELECT x.xpub_van, COUNT(*), COUNT(*) OVER ()
	FROM @refresh_jobs x
	WHERE x.status = 'failed' AND NOT EXISTS (SELECT 1
	FROM @refresh_jobs p
	WHERE p.xpub_van = x.xpub_van AND p.seq > x.end_seq AND p.status = 'completed' AND (p.trigger <> 'invoice_created' OR p.asset_id IS NOT NULL))
	GROUP BY x.xpub_van
	ORDER BY COUNT(*) DESC, x.xpub_van LIMIT ?1;
-- fillerOf
SELECT f.tx_hash
	FROM (SELECT value->>0 AS wallet, value->>1 AS nonce
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_fillers f
	WHERE f.operation_wallet_address_id = r.wallet AND f.nonce = r.nonce;
-- fillerTable.made.insertOne
INSERT INTO @withdrawal_fillers (operation_wallet_address_id, nonce, chain_id, tx_hash, actor, reason, created_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
-- firstHeldBack
SELECT at
	FROM @transitions
	WHERE horizon >= (SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
	ORDER BY horizon, n LIMIT 1;
-- followTransitions
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE n > ?2 AND ?1 = 0 AND data <> ?4 AND machine IN (SELECT r.machine
	FROM (SELECT value AS machine
	FROM json_each(?5)) AS r)
	ORDER BY n LIMIT ?3;
-- freeHeads
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT value AS xpub_van
	FROM json_each(?1)) AS r)
	ORDER BY x.xpub_van;
-- freeLocks
DELETE
	FROM @wallet_locks
	WHERE (xpub_van, fence) IN (SELECT ?1, ?2);
-- generationsOf
SELECT x.machine, x.id, x.version, (SELECT max(p.generation)
	FROM @settle_places p
	WHERE p.lines < x.n)
	FROM (SELECT value->>0 AS machine, value->>1 AS id, value->>2 AS version
	FROM json_each(?1)) AS r
	JOIN @transitions x ON x.machine = r.machine AND x.id = r.id AND x.version = r.version;
-- historyConfirmed
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height IS NOT NULL AND NOT t.is_context
	ORDER BY t.block_height DESC, t.block_position DESC LIMIT ?2;
-- historyConfirmedAfter
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height IS NOT NULL AND NOT t.is_context AND (t.block_height, t.block_position) < (?3, ?4)
	ORDER BY t.block_height DESC, t.block_position DESC LIMIT ?2;
-- historyUnconfirmed
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height IS NULL AND NOT t.is_context
	ORDER BY t.first_seen DESC, t.tx_hash DESC LIMIT ?2;
-- historyUnconfirmedAfter
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height IS NULL AND NOT t.is_context AND (t.first_seen, t.tx_hash) < (?3, ?4)
	ORDER BY t.first_seen DESC, t.tx_hash DESC LIMIT ?2;
-- holding
SELECT pid, CAST(coalesce(extract(epoch
	FROM clock_timestamp() - since), 0) * 1000000 AS bigint), coalesce(application, ''), coalesce(database, ''), coalesce(state, '')
	FROM (SELECT a.pid, a.xact_start AS since, a.application_name AS application, a.datname AS database, a.state, age(a.backend_xid) AS xid
	FROM pg_stat_activity a
	WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
	UNION ALL SELECT 0, p.prepared, p.gid, p.database, 'prepared', age(p.transaction)
	FROM pg_prepared_xacts p) w
	ORDER BY xid DESC LIMIT 5;
-- hotWalletTable.made.insertOne
INSERT INTO @operation_wallet_addresses (id, chain_id, role, status, last_used_at, balance_reserved)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- incidentRows.behind
SELECT id, withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at
	FROM @withdrawal_incidents
	WHERE id > ?1
	ORDER BY id LIMIT ?2;
-- incidentRows.lock
SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawal_incidents', 0));
-- incidentRows.table.made.holdersNow[0]
SELECT x.withdrawal_request_id
	FROM (SELECT value->>0 AS withdrawal_request_id, value->>1 AS withdrawal_request_id, value->>2 AS tx_hash, value->>3 AS claim, value->>4 AS block_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_incidents x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash AND NOT (x.withdrawal_request_id = r.withdrawal_request_id);
-- incidentRows.table.made.insertOne
INSERT INTO @withdrawal_incidents (withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
	ON CONFLICT DO NOTHING;
-- incidentTable.made.holdersNow[0]
SELECT x.withdrawal_request_id
	FROM (SELECT value->>0 AS withdrawal_request_id, value->>1 AS withdrawal_request_id, value->>2 AS tx_hash, value->>3 AS claim, value->>4 AS block_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_incidents x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash AND NOT (x.withdrawal_request_id = r.withdrawal_request_id);
-- incidentTable.made.insertOne
INSERT INTO @withdrawal_incidents (withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
	ON CONFLICT DO NOTHING;
-- inputsOf
SELECT i.tx_id, i.input_index, i.prev_hash, i.prev_index
	FROM (SELECT value->>0 AS wallet_id, value->>1 AS tx_id
	FROM json_each(?1)) AS r
	CROSS JOIN @tx_inputs i
	WHERE i.wallet_id = r.wallet_id AND i.tx_id = r.tx_id;
-- insertBlocks
INSERT INTO @blocks (block_height, block_hash, prev_hash, block_time)
	VALUES (?1, ?2, ?3, ?4);
-- insertEdges
INSERT INTO @tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id, declared)
	VALUES (?1, ?2, ?3, ?4);
-- insertInputs
INSERT INTO @tx_inputs (wallet_id, tx_id, input_index, prev_hash, prev_index)
	VALUES (?2, ?1, ?3, ?4, ?5);
-- insertLeases
INSERT INTO @utxo_leases (wallet_id, utxo_id, lock_id, expires_at, leased_at)
	VALUES (?1, ?2 * 4294967296 + ?3, ?4, ?5, ?6);
-- insertNonces
INSERT INTO @withdrawal_nonces (operation_wallet_address_id, nonce, job_id) SELECT ?1, ?2, ?3
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_nonces o
	WHERE o.operation_wallet_address_id = ?1 AND o.nonce = ?2) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_fillers f
	WHERE f.operation_wallet_address_id = ?1 AND f.nonce = ?2)
	ON CONFLICT DO NOTHING;
-- insertOutputs
INSERT INTO @utxos (wallet_id, tx_id, output_index, amount, script, owner_tag, spent_by_tx_id, spent_input_index)
	VALUES (?2, ?1, ?3, ?4, ?5, ?6, ?7, CASE WHEN ?7 IS NOT NULL THEN (SELECT i.input_index
	FROM @tx_inputs i
	WHERE i.prev_hash = ?8 AND i.prev_index = ?3 AND i.wallet_id = ?2 AND i.tx_id = ?7) END);
-- insertOwners
INSERT INTO @wallet_owners (wallet_id, owner_tag, birth_height, scan_id)
	VALUES (?1, ?2, ?3, 0);
-- insertPayments
INSERT INTO @withdrawal_payments (chain_id, tx_form, output, withdrawal_request_id)
	VALUES (?1, ?2, ?3, ?4)
	ON CONFLICT DO NOTHING;
-- insertScans
INSERT INTO @wallet_scans (wallet_id, scan_id, scanned_to)
	VALUES (?1, ?2, ?3);
-- insertTxs
INSERT INTO @transactions (id, wallet_id, tx_hash, status, block_height, block_position, is_coinbase, first_seen, seq, label, is_context, is_public, version, raw_tx)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);
-- insertWallets
INSERT INTO @wallets (id, birth_height, scanned_to, follows_tip, announced)
	VALUES (?1, ?2, ?3, ?4, ?5);
-- intentTable.made.insertOne
INSERT INTO @swap_intents (direction, item, number, action, attempt, chain, reference, memo, signature, raw_tx, last_valid, at, filed, destination, net_units, fee_units, send_by, outcome, txid, proof, is_final, closed_at, claim, seen_at, missed, missed_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26);
-- intentsOf
SELECT x.direction, x.item, x.number, x.action, x.attempt, x.chain, x.reference, x.memo, x.signature, x.raw_tx, x.last_valid, x.at, x.filed, x.destination, x.net_units, x.fee_units, x.send_by, x.outcome, x.txid, x.proof, x.is_final, x.closed_at, x.claim, x.seen_at, x.missed, x.missed_at
	FROM (SELECT value->>0 AS direction, value->>1 AS item
	FROM json_each(?1)) AS r
	CROSS JOIN @swap_intents x
	WHERE x.direction = r.direction AND x.item = r.item;
-- invoiceOwners
SELECT i.id, i.tenant
	FROM @invoices i
	WHERE i.id IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r);
-- invoiceTable.made.inOrder
SELECT x.id
	FROM @invoices x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- invoiceTable.made.insertOne
INSERT INTO @invoices (id, tenant, created_at, amount, issued, since, paid_at, voided_at, notified_at, method, payment_error, attempts, charge, charge_key, charge_by, charge_at, charge_amount, charge_method, charge_after, missed, looked_back, paid_key, overpaid_at, overpaid, repaid, notice, prior_notified_at, version)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28);
-- invoiceTable.made.storedNow
SELECT x.id, x.version, 0, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @invoices x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- invoiceTable.made.touchOne
UPDATE @invoices AS x
	SET  = r.
	WHERE x.id = ?2 AND x.version = ?3;
-- invoiceTable.made.updateOne
UPDATE @invoices AS x
	SET amount = ?1, issued = ?2, since = ?3, paid_at = ?4, voided_at = ?5, notified_at = ?6, method = ?7, payment_error = ?8, attempts = ?9, charge = ?10, charge_key = ?11, charge_by = ?12, charge_at = ?13, charge_amount = ?14, charge_method = ?15, charge_after = ?16, missed = ?17, looked_back = ?18, paid_key = ?19, overpaid_at = ?20, overpaid = ?21, repaid = ?22, notice = ?23, prior_notified_at = ?24, version = ?25
	WHERE x.id = ?26 AND x.version = ?27;
-- isMoved
SELECT NULL;
-- isNewer
SELECT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- isRestored
SELECT coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false);
-- jobLeases.lost
SELECT r.id
	FROM (SELECT value->>0 AS id, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_queue x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- jobLeases.renew
UPDATE @withdrawal_queue AS x
	SET lease_until = ?3
	WHERE x.id = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- jobOwners
SELECT q.id, q.withdrawal_request_id
	FROM @withdrawal_queue q
	WHERE q.id IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r);
-- jobTable.made.holdersNow[0]
SELECT x.id
	FROM (SELECT value->>0 AS id, value->>1 AS withdrawal_request_id
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_queue x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.status <> 'failed' AND NOT (x.id = r.id);
-- jobTable.made.holdersNow[1]
SELECT x.id
	FROM (SELECT value->>0 AS id, value->>1 AS slot
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_queue x
	WHERE x.slot = r.slot AND NOT (x.id = r.id);
-- jobTable.made.inOrder
SELECT x.id
	FROM @withdrawal_queue x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- jobTable.made.insertOne
INSERT INTO @withdrawal_queue (id, withdrawal_request_id, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, amount_raw, amount_human, priority, max_retries, created_at, status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast, number)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, (SELECT coalesce(max(l.number), 0) + 1
	FROM @withdrawal_queue l
	WHERE l.withdrawal_request_id = ?2))
	ON CONFLICT DO NOTHING;
-- jobTable.made.storedNow
SELECT x.id, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @withdrawal_queue x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- jobTable.made.touchOne
UPDATE @withdrawal_queue AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, offer_at = ?4, next_check_at = ?5, rebroadcast = ?6
	WHERE x.id = ?7 AND x.version = ?8 AND x.lease_holder IS NOT DISTINCT
	FROM ?9 AND x.lease_fence IS NOT DISTINCT
	FROM ?10 AND x.offer_at || substr('.000000', length(x.offer_at) - 18) IS NOT DISTINCT
	FROM ?11 AND x.next_check_at || substr('.000000', length(x.next_check_at) - 18) IS NOT DISTINCT
	FROM ?12 AND x.rebroadcast IS NOT DISTINCT
	FROM ?13 AND (SELECT g.version
	FROM @withdrawal_requests g
	WHERE g.id = ?14) = ?15;
-- jobTable.made.updateOne
UPDATE @withdrawal_queue AS x
	SET status = ?1, retry_count = ?2, scheduled_at = ?3, scheduled_from = ?4, slot = ?5, claimed_at = ?6, dispatched_at = ?7, dispatch_ref = ?8, txs_on_file = ?9, txs_dead = ?10, nonce = ?11, tx_hash = ?12, review = ?13, resolved_version = ?14, broadcast_at = ?15, evidence_height = ?16, evidence_hash = ?17, gas_used = ?18, gas_price = ?19, error_message = ?20, processed_at = ?21, deferrals = ?22, stopped_fence = ?23, dispatches = ?24, batch_id = ?25, version = ?26, lease_holder = ?27, lease_fence = ?28, lease_until = CASE WHEN x.lease_fence = ?28 AND x.lease_holder = ?27 THEN x.lease_until ELSE ?29 END, offer_at = ?30, next_check_at = ?31, rebroadcast = ?32
	WHERE x.id = ?33 AND x.version = ?34 AND x.lease_holder IS NOT DISTINCT
	FROM ?35 AND x.lease_fence IS NOT DISTINCT
	FROM ?36 AND x.offer_at || substr('.000000', length(x.offer_at) - 18) IS NOT DISTINCT
	FROM ?37 AND x.next_check_at || substr('.000000', length(x.next_check_at) - 18) IS NOT DISTINCT
	FROM ?38 AND x.rebroadcast IS NOT DISTINCT
	FROM ?39 AND (SELECT g.version
	FROM @withdrawal_requests g
	WHERE g.id = ?40) = ?41 AND (?5 IS NULL OR NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = ?5 AND NOT (h.id = ?33)));
-- jobsConfirmed[false]
SELECT broadcast_at, processed_at, gas_used
	FROM @withdrawal_queue
	WHERE processed_at >= ?1 AND processed_at < ?2 AND status = 'confirmed';
-- jobsConfirmed[true]
SELECT broadcast_at, processed_at, gas_used
	FROM @withdrawal_queue
	WHERE processed_at >= ?1 AND processed_at < ?2 AND status = 'confirmed' AND chain_id = ?3;
-- jobsOfRequest
SELECT id, withdrawal_request_id, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, amount_raw, amount_human, priority, max_retries, created_at, status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast
	FROM @withdrawal_queue
	WHERE withdrawal_request_id = ?1
	ORDER BY number;
-- jobsOfSet[1]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = ?1 AND x.status IN ('pending', 'processing')
	ORDER BY x.created_at, x.job_id LIMIT ?2;
-- jobsOfSet[2]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = ?1 AND x.status IN ('pending', 'processing') AND (x.status = 'processing' OR x.status = 'pending' AND x.available_at <= ?2)
	ORDER BY CASE x.status WHEN 'processing' THEN 0 ELSE 1 END, x.created_at, x.job_id LIMIT ?3;
-- jobsOfSet[3]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = ?1 AND x.status IN ('pending', 'processing') AND (x.trigger = 'recovery' OR x.trigger = 'sync' AND x.status = 'pending' AND x.attempts = 0)
	ORDER BY CASE x.trigger WHEN 'recovery' THEN 0 ELSE 1 END, x.created_at, x.job_id LIMIT ?2;
-- jobsOfSet[4]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = ?1
	ORDER BY x.created_at DESC, x.job_id DESC LIMIT ?2;
-- journalAt
SELECT horizon, n, at, actor, role, domain, machine, id, version, event, outcome, error, via, trace
	FROM @settle_journal
	WHERE horizon = ?1 AND n = ?2;
-- journalBehind
SELECT horizon, n, at, actor, role, domain, machine, id, version, event, outcome, error, via, trace
	FROM @settle_journal
	WHERE n > ?2 AND ?1 = 0
	ORDER BY n LIMIT ?3;
-- journalTable.made.insertOne
INSERT INTO @settle_journal (at, actor, role, domain, machine, id, version, event, outcome, error, via, trace)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);
-- knownIncident
SELECT i.id
	FROM @withdrawal_incidents i
	WHERE i.withdrawal_request_id = ?1 AND i.tx_hash = ?2 AND i.claim = ?3 AND i.block_hash = ?4;
-- lastTransition
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	ORDER BY n DESC LIMIT 1;
-- lastTx
SELECT coalesce(max(id), 0)
	FROM @transactions;
-- leased
SELECT coalesce(sum((SELECT CASE WHEN u.spent_by_tx_id IS NULL THEN u.amount END
	FROM @utxos u
	JOIN @transactions t ON t.id = u.tx_id
	WHERE u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296 AND t.status IN ('pending', 'published') AND (CAST(?2 AS text) IS NULL OR u.owner_tag = ?2))), 0)
	FROM @utxo_leases l
	WHERE l.wallet_id = ?1 AND l.expires_at > ?3;
-- leasesActive
SELECT l.wallet_id, (SELECT t.tx_hash
	FROM @transactions t
	WHERE t.id = l.tx_id), l.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	WHERE l.wallet_id = ?1 AND l.expires_at > ?2
	ORDER BY 2, 3;
-- leasesNamed
SELECT u.wallet_id, r.tx_hash, r.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM (SELECT unhex(value->>0) AS tx_hash, value->>1 AS output_index
	FROM json_each(?2)) AS r
	CROSS JOIN @utxos u
	CROSS JOIN @utxo_leases l
	WHERE u.wallet_id = ?1 AND u.output_index = r.output_index AND u.tx_id = (SELECT n.id
	FROM @transactions n
	WHERE n.tx_hash = r.tx_hash AND n.wallet_id = ?1) AND l.wallet_id = u.wallet_id AND l.utxo_id = u.tx_id * 4294967296 + u.output_index;
-- leasesOf
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	JOIN @utxos u ON u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296
	JOIN @transactions t ON t.id = u.tx_id
	WHERE l.wallet_id = ?1;
-- leasesOfLock
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	JOIN @utxos u ON u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296
	JOIN @transactions t ON t.id = u.tx_id
	WHERE l.wallet_id = ?1 AND l.lock_id = ?2
	ORDER BY 2, 3;
-- leasesUnspent
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxos u
	CROSS JOIN @utxo_leases l
	JOIN @transactions t ON t.id = u.tx_id
	WHERE u.wallet_id = ?1 AND u.spent_by_tx_id IS NULL AND l.wallet_id = u.wallet_id AND l.utxo_id = u.tx_id * 4294967296 + u.output_index;
-- lineAt
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE machine = ?1 AND id = ?2 AND version = ?3;
-- listRelays
SELECT id
	FROM @relays
	WHERE id > ?1
	ORDER BY id LIMIT ?2;
-- listStatements[{ false}]
SELECT u.id
	FROM (SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'pending' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_pending
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'approved' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_approved
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'queued' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_queued
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'completed' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_completed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'failed' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_failed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'rejected' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_rejected
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'cancelled' AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3) s_cancelled) u
	WHERE true AND (u.created_at, u.id) > (?1, ?2)
	ORDER BY u.created_at, u.id LIMIT ?3;
-- listStatements[{ true}]
SELECT u.id
	FROM (SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'pending' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_pending
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'approved' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_approved
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'queued' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_queued
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'completed' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_completed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'failed' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_failed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'rejected' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_rejected
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'cancelled' AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3) s_cancelled) u
	WHERE true AND (u.created_at, u.id) < (?1, ?2)
	ORDER BY u.created_at DESC, u.id DESC LIMIT ?3;
-- listStatements[{chain false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.chain_id = ?5 AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{chain true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.chain_id = ?5 AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{check overdue false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?8 AND x.next_check_at < ?8 AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{check overdue true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?8 AND x.next_check_at < ?8 AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{held false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.held AND q.status IN ('pending', 'approved', 'queued') AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{held job false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND q.held AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{held job true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND q.held AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{held true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.held AND q.status IN ('pending', 'approved', 'queued') AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{job false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{job true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{lease ended false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND x.status = 'processing' AND NOT x.review AND x.lease_until <= ?8 AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{lease ended true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND x.status = 'processing' AND NOT x.review AND x.lease_until <= ?8 AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{open false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('pending', 'approved', 'queued') AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{open true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('pending', 'approved', 'queued') AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{paid and refunded false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.paid_after IS NOT NULL AND NOT q.acknowledged AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{paid and refunded true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.paid_after IS NOT NULL AND NOT q.acknowledged AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{review false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND x.review AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{review true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (x.operation_wallet_address_id = ?6 OR ?6 IS NULL) AND (x.lease_holder = ?7 OR ?7 IS NULL) AND x.review AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{to refund false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('failed', 'cancelled', 'rejected') AND q.refund_reference IS NULL AND NOT (q.acknowledged AND q.mined IS NOT NULL) AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{to refund true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('failed', 'cancelled', 'rejected') AND q.refund_reference IS NULL AND NOT (q.acknowledged AND q.mined IS NOT NULL) AND (q.user_id = ?4 OR ?4 IS NULL) AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listStatements[{user false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.user_id = ?4 AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) > (?1, ?2)
	ORDER BY q.created_at, q.id LIMIT ?3;
-- listStatements[{user true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.user_id = ?4 AND (q.chain_id = ?5 OR ?5 IS NULL) AND (q.created_at, q.id) < (?1, ?2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT ?3;
-- listTenants
SELECT id
	FROM @tenants
	WHERE id > ?1
	ORDER BY id LIMIT ?2;
-- listedBatches[{check overdue false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at < ?7 AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{check overdue true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at < ?7 AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- listedBatches[{held false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND q.held) AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{held true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND q.held) AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- listedBatches[{lease ended false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.lease_until <= ?7 AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{lease ended true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.lease_until <= ?7 AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- listedBatches[{none false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{none true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- listedBatches[{of a holder false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.lease_holder = ?6 AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{of a holder true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.lease_holder = ?6 AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- listedBatches[{open false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{open true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- listedBatches[{review false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND j.review) AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) > (?1, ?2)
	ORDER BY x.created_at, x.id LIMIT ?3;
-- listedBatches[{review true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND j.review) AND (x.lease_holder = ?6 OR ?6 IS NULL) AND (x.chain_id = ?4 OR ?4 IS NULL) AND (x.operation_wallet_address_id = ?5 OR ?5 IS NULL) AND (x.created_at, x.id) < (?1, ?2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT ?3;
-- lockControl
SELECT x.id, x.generation, x.recovered_at, x.solana_scanned, x.nexus_scanned, x.missing_said, x.books_read, x.reference, x.version
	FROM @swap_control x
	WHERE x.id = 1 FOR NO KEY UPDATE;
-- lockLines
LOCK TABLE @transitions IN SHARE ROW EXCLUSIVE MODE;
-- lockNonces
LOCK TABLE @withdrawal_nonces IN SHARE ROW EXCLUSIVE MODE;
-- lockReserved
SELECT w.id, w.balance_reserved, w.last_used_at
	FROM @operation_wallet_addresses w
	WHERE w.id IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY w.id;
-- lockSlots
SELECT pg_advisory_xact_lock(hashtextextended('settle refresh slots', 0));
-- lockStatements
SELECT pg_advisory_xact_lock(hashtextextended('settle statements about ' || ?1, 0));
-- lockTip
SELECT id
	FROM @chain_tip FOR NO KEY UPDATE;
-- lockUser
SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawals of user ' || ?1, 0));
-- lockWallet
SELECT id
	FROM @wallets
	WHERE id = ?1 FOR NO KEY UPDATE;
-- lockWallets
SELECT id
	FROM @wallets
	ORDER BY id FOR NO KEY UPDATE;
-- lockedHeads
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT value AS xpub_van
	FROM json_each(?1)) AS r)
	ORDER BY x.xpub_van;
-- moveConsumer
UPDATE @settle_consumers AS x
	SET machines = ?2, cursor = ?3, lease_fence = ?4, lease_until = ?5, stopped = ?6, error = ?7, failed_at = ?8, late = ?9
	WHERE x.name = ?10 AND x.lease_fence = ?11 AND x.cursor = ?12 AND x.lease_until = ?13 AND ?1 = (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- moveDeposits
UPDATE @deposits AS x
	SET block_height = ?1, block_hash = ?2, in_chain = ?3, state = ?4, round = ?5, depth = ?6, deep_at = ?7, reversed_by = ?8, reason = ?9, changed_at = ?10
	WHERE x.tx_hash = ?11 AND x.output_index = ?12 AND x.state = ?13 AND x.round = ?14;
-- moveSeq
UPDATE @chain_tip
	SET last_seq = ?2
	WHERE last_seq = ?1;
-- moveSpenders
UPDATE @utxos AS u
	SET spent_by_tx_id = ?5, spent_input_index = CASE WHEN ?5 IS NOT NULL THEN (SELECT i.input_index
	FROM @tx_inputs i
	WHERE i.prev_hash = ?6 AND i.prev_index = ?3 AND i.wallet_id = ?1 AND i.tx_id = ?5) END
	WHERE u.wallet_id = ?1 AND u.tx_id = ?2 AND u.output_index = ?3 AND u.spent_by_tx_id IS NOT DISTINCT
	FROM ?4;
-- newestTransition
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	ORDER BY n DESC LIMIT 1;
-- nextFence
UPDATE @wallet_lock_fences
	SET fence = fence + 1
	RETURNING fence;
-- nextPlace
INSERT INTO @settle_places (n, generation, lines, base, system, timeline, relation, lost_at, at, actor, reason) SELECT p.n + 1, p.generation + ?1, CASE WHEN ?1 = 0 THEN p.lines ELSE coalesce((SELECT max(l.n)
	FROM @transitions l), 0) END, 0, '', 0, 0, ?2, ?3, ?4, ?5
	FROM (SELECT *
	FROM @settle_places
	ORDER BY n DESC LIMIT 1) p
	WHERE NOT (coalesce(p.lost_at = ?2, false) AND (?1 = 0 OR p.generation > (SELECT max(q.generation)
	FROM @settle_places q
	WHERE q.n < p.n)));
-- noncesFrom
SELECT n.nonce, j.withdrawal_request_id
	FROM @withdrawal_nonces n
	JOIN @withdrawal_queue j ON j.id = n.job_id
	WHERE n.operation_wallet_address_id = ?1 AND n.nonce >= ?2
	UNION ALL SELECT nonce, NULL
	FROM @withdrawal_fillers
	WHERE operation_wallet_address_id = ?1 AND nonce >= ?2
	ORDER BY nonce;
-- ofClaim
SELECT direction, item
	FROM @swap_intents
	WHERE claim = ?1;
-- ofReference
SELECT direction, item
	FROM @swap_intents
	WHERE reference = ?1;
-- oldestCredit
SELECT min(item_time)
	FROM @unprocessed_txids
	WHERE gone_at IS NULL OR gone_at >= ?1;
-- oldestDeposit
SELECT min(item_time)
	FROM @unprocessed_sigs
	WHERE (status IS NULL OR status <> 'quarantine failed') AND ?1 = ?1;
-- oldestOwed
SELECT min(CASE WHEN CASE WHEN t.reinstated_at > i.created_at THEN t.reinstated_at ELSE i.created_at END < CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) ELSE coalesce(i.since, i.created_at) END THEN CASE WHEN t.reinstated_at > i.created_at THEN t.reinstated_at ELSE i.created_at END ELSE CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) ELSE coalesce(i.since, i.created_at) END END), max(CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) ELSE coalesce(i.since, i.created_at) END)
	FROM @invoices i
	JOIN @tenants t ON t.id = i.tenant
	WHERE (paid_at IS NULL AND voided_at IS NULL OR charge <> 'none' OR overpaid_at IS NOT NULL) AND paid_at IS NULL AND voided_at IS NULL AND amount > 0 AND t.churned_at IS NULL;
-- oldestParked
SELECT x.consumer, x.n, x.machine, x.id, x.version, x.aggregate, x.parked_at, x.tries, x.error, x.next_try
	FROM @settle_parked x
	WHERE x.consumer = ?1
	ORDER BY x.n LIMIT 1;
-- oldestQueued[false]
SELECT min(q.queued_at), max(q.queued_at)
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND x.status <> 'confirming' AND q.status = 'queued';
-- oldestQueued[true]
SELECT min(q.queued_at), max(q.queued_at)
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND x.status <> 'confirming' AND q.status = 'queued' AND x.chain_id = ?1;
-- oldestToRefund[false]
SELECT (SELECT min(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL)), (SELECT max(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL));
-- oldestToRefund[true]
SELECT (SELECT min(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL) AND x.chain_id = ?1), (SELECT max(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL) AND x.chain_id = ?1);
-- openIncidents
SELECT i.id, i.withdrawal_request_id, i.job_id, i.tx_hash, i.claim, i.block_hash, i.height, i.status, i.actor, i.at
	FROM @withdrawal_incidents i
	WHERE i.id > ?1 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_acknowledgements a
	WHERE a.withdrawal_request_id = i.withdrawal_request_id AND a.tx_hash = i.tx_hash AND a.claim = i.claim AND a.block_hash = i.block_hash)
	ORDER BY i.id LIMIT ?2;
-- openOnes
SELECT count(*)
	FROM @swap_discrepancies
	WHERE closed_by IS NULL;
-- outputsFrom
SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase, s.tx_hash
	FROM @transactions t
	CROSS JOIN @utxos u
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE t.wallet_id = ?1 AND u.wallet_id = t.wallet_id AND u.tx_id = t.id AND (t.tx_hash, u.output_index) > (?2, ?3)
	ORDER BY t.tx_hash, u.output_index LIMIT ?4;
-- outputsOf
SELECT u.tx_id, u.output_index, u.amount, u.script, u.owner_tag, s.tx_hash
	FROM (SELECT value->>0 AS wallet_id, value->>1 AS tx_id
	FROM json_each(?1)) AS r
	CROSS JOIN @utxos u
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE u.wallet_id = r.wallet_id AND u.tx_id = r.tx_id;
-- own[00]
SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1), NULL;
-- own[01]
BEGIN IMMEDIATE;
-- own[02]
BEGIN;
-- own[03]
COMMIT;
-- own[04]
ROLLBACK;
-- own[05]
UPDATE @transitions
	SET n = n
	WHERE 0;
-- own[06]
SAVEPOINT settle_host;
-- own[07]
RELEASE settle_host;
-- own[08]
SELECT sqlite_version();
-- own[09]
PRAGMA journal_mode;
-- own[10]
PRAGMA synchronous;
-- own[11]
PRAGMA foreign_keys;
-- own[12]
SELECT file
	FROM pragma_database_list
	WHERE name = 'main';
-- own[13]
SELECT version, domain, oldest
	FROM @settle_versions;
-- own[14]
SELECT count(*) > 0
	FROM sqlite_master
	WHERE type IN ('table', 'view') AND name = ?2 COLLATE NOCASE AND ?1 = '';
-- own[15]
PRAGMA busy_timeout = 5000;
-- own[16]
PRAGMA journal_mode = WAL;
-- own[17]
PRAGMA synchronous = FULL;
-- own[18]
PRAGMA foreign_keys = ON;
-- own[19]
PRAGMA temp_store = MEMORY;
-- own[20]
PRAGMA cache_size = -32768;
-- own[21]
PRAGMA wal_autocheckpoint = 8000;
-- own[22]
PRAGMA query_only = ON;
-- ownerOf
SELECT n.job_id
	FROM (SELECT value->>0 AS id, value->>1 AS wallet, value->>2 AS nonce
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_nonces n
	WHERE n.operation_wallet_address_id = r.wallet AND n.nonce = r.nonce AND n.job_id <> r.id;
-- owners[invoice].of
SELECT i.id, i.tenant
	FROM @invoices i
	WHERE i.id IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r);
-- owners[withdrawal_job].of
SELECT q.id, q.withdrawal_request_id
	FROM @withdrawal_queue q
	WHERE q.id IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r);
-- pageOfProcesses
SELECT x.domain, x.name, x.version, x.policy, x.first_seen, x.last_seen
	FROM @settle_processes x
	WHERE (domain, name, version, policy) > (?1, ?2, ?3, ?4)
	ORDER BY domain, name, version, policy LIMIT ?5;
-- pageOfSwitches
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_switches x
	WHERE (scope) > (?1)
	ORDER BY scope LIMIT ?2;
-- paidRequest
SELECT p.withdrawal_request_id
	FROM (SELECT value->>0 AS chain_id, value->>1 AS tx_form, value->>2 AS output, value->>3 AS request
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_payments p
	WHERE p.chain_id = r.chain_id AND p.tx_form = r.tx_form AND p.withdrawal_request_id <> r.request AND (r.output = -1 OR p.output IN (-1, r.output));
-- parkedOf
SELECT DISTINCT p.aggregate
	FROM @settle_parked p
	WHERE p.consumer = ?1 AND p.aggregate IN (SELECT r.aggregate
	FROM (SELECT value AS aggregate
	FROM json_each(?2)) AS r);
-- parkedTable.made.insertOne
INSERT INTO @settle_parked (consumer, n, machine, id, version, aggregate, parked_at, tries, error, next_try)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
-- pendingRelays
SELECT id
	FROM @relays
	WHERE (synced = 0 OR trim(sync_error) <> '') AND id > ?1
	ORDER BY id LIMIT ?2;
-- processTable.made.insertOne
INSERT INTO @settle_processes (domain, name, version, policy, first_seen, last_seen)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- putProcess
INSERT INTO @settle_processes (domain, name, version, policy, first_seen, last_seen)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6)
	ON CONFLICT (domain, name, version, policy) DO UPDATE
	SET last_seen = excluded.last_seen, first_seen = CASE WHEN @settle_processes.first_seen || substr('.000000', length(@settle_processes.first_seen) - 18) < excluded.first_seen THEN @settle_processes.first_seen ELSE excluded.first_seen END;
-- quietScope
SELECT CASE WHEN pg_try_advisory_lock(hashtextextended('@settle_switches ' || ?1, 0)) THEN pg_advisory_unlock(hashtextextended('@settle_switches ' || ?1, 0)) ELSE false END;
-- raiseFences
UPDATE @wallet_lock_fences
	SET fence = fence + 4294967296;
-- readGeneration
SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1);
-- readSwitch
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_switches x
	WHERE x.scope IN ('everything', ?1)
	UNION ALL SELECT 'newer', 'on', NULL, NULL, NULL, true, 'send', 0, NULL, 1
	WHERE EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- recent
SELECT t.block_height, sum(coalesce((SELECT sum(u.amount)
	FROM @utxos u
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND u.spent_by_tx_id IS NULL AND (CAST(?2 AS text) IS NULL OR u.owner_tag = ?2) AND NOT EXISTS (SELECT 1
	FROM @wallet_owners o
	CROSS JOIN @wallet_scans c
	WHERE o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id)), 0))
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height >= ?3 AND NOT t.is_context AND NOT t.is_coinbase
	GROUP BY t.block_height;
-- recentCoinbases
SELECT t.block_height, sum(coalesce((SELECT sum(u.amount)
	FROM @utxos u
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND u.spent_by_tx_id IS NULL AND (CAST(?2 AS text) IS NULL OR u.owner_tag = ?2) AND NOT EXISTS (SELECT 1
	FROM @wallet_owners o
	CROSS JOIN @wallet_scans c
	WHERE o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id)), 0))
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height >= ?3 AND NOT t.is_context AND t.is_coinbase
	GROUP BY t.block_height;
-- recoverableWallets
SELECT DISTINCT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at > ?3 AND x.xpub_van > ?1
	ORDER BY x.xpub_van LIMIT ?2;
-- refreshCounts
SELECT x.status, COUNT(*)
	FROM @refresh_jobs x
	GROUP BY x.status;
-- refreshHeads
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT value AS xpub_van
	FROM json_each(?1)) AS r)
	ORDER BY x.xpub_van;
-- refreshJobLeases.lost
SELECT r.job_id
	FROM (SELECT value->>0 AS job_id, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refresh_jobs x
	WHERE x.job_id = r.job_id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- refreshJobLeases.renew
UPDATE @refresh_jobs AS x
	SET lease_until = ?3
	WHERE x.job_id = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- refreshJobOf
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.job_id = ?1;
-- refreshJobTable.made.holdersNow[0]
SELECT x.job_id
	FROM (SELECT value->>0 AS job_id, value->>1 AS xpub_van, value->>2 AS trigger
	FROM json_each(?1)) AS r
	CROSS JOIN @refresh_jobs x
	WHERE x.xpub_van = r.xpub_van AND x.trigger = r.trigger AND x.trigger = 'recovery' AND x.status IN ('pending', 'processing') AND NOT (x.job_id = r.job_id);
-- refreshJobTable.made.inOrder
SELECT x.job_id
	FROM @refresh_jobs x
	WHERE (x.job_id) IN (SELECT r.job_id
	FROM (SELECT value AS job_id
	FROM json_each(?1)) AS r)
	ORDER BY x.job_id FOR NO KEY UPDATE OF x;
-- refreshJobTable.made.insertOne
INSERT INTO @refresh_jobs (job_id, xpub_van, xpub_col, master_fingerprint, trigger, recipient_id, asset_id, seq, created_at, status, attempts, error, processed_at, end_seq, version, lease_holder, lease_fence, lease_until, available_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
	ON CONFLICT DO NOTHING;
-- refreshJobTable.made.storedNow
SELECT x.job_id, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS job_id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refresh_jobs x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.job_id = r.job_id;
-- refreshJobTable.made.touchOne
UPDATE @refresh_jobs AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, available_at = ?4
	WHERE x.job_id = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.available_at || substr('.000000', length(x.available_at) - 18) IS NOT DISTINCT
	FROM ?9;
-- refreshJobTable.made.updateOne
UPDATE @refresh_jobs AS x
	SET status = ?1, attempts = ?2, error = ?3, processed_at = ?4, end_seq = ?5, version = ?6, lease_holder = ?7, lease_fence = ?8, lease_until = CASE WHEN x.lease_fence = ?8 AND x.lease_holder = ?7 THEN x.lease_until ELSE ?9 END, available_at = ?10
	WHERE x.job_id = ?11 AND x.version = ?12 AND x.lease_holder IS NOT DISTINCT
	FROM ?13 AND x.lease_fence IS NOT DISTINCT
	FROM ?14 AND x.available_at || substr('.000000', length(x.available_at) - 18) IS NOT DISTINCT
	FROM ?15;
-- refreshJobsOf
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.status = ?4 AND (x.created_at, x.job_id) > (?1, ?2)
	ORDER BY x.created_at, x.job_id LIMIT ?3;
-- refreshNumbers
SELECT (SELECT COUNT(*)
	FROM @wallet_locks), (SELECT COUNT(*)
	FROM @refresh_wallets x
	WHERE x.slot IS NOT NULL AND x.lease_until > ?1), (SELECT min(x.created_at)
	FROM @refresh_jobs x
	WHERE x.status IN ('pending', 'processing') AND x.created_at <= ?1), (SELECT max(n.created_at)
	FROM (SELECT x.created_at
	FROM @refresh_jobs x
	WHERE x.status IN ('pending', 'processing')
	UNION ALL SELECT x.created_at
	FROM @refresh_watchers x
	WHERE x.status = 'watching') n), (SELECT min(x.available_at)
	FROM @refresh_jobs x
	WHERE x.status = 'pending' AND x.available_at <= ?1), (SELECT min(x.next_at)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.next_at <= ?1), (SELECT COUNT(*)
	FROM @refresh_jobs x
	WHERE x.status = 'processing' AND x.lease_until <= ?1), (SELECT min(x.lease_until)
	FROM @refresh_jobs x
	WHERE x.status = 'processing' AND x.lease_until <= ?1), (SELECT COUNT(*)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at <= ?1), (SELECT min(x.expires_at)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at <= ?1), (SELECT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at <= ?1
	ORDER BY x.expires_at, x.xpub_van LIMIT 1), (SELECT COUNT(*)
	FROM @refresh_watchers x
	WHERE x.end_reason = 'expired_open' AND NOT EXISTS (SELECT 1
	FROM @refresh_jobs p
	WHERE p.xpub_van = x.xpub_van AND p.seq > x.end_seq AND p.status = 'completed' AND (p.trigger <> 'invoice_created' OR p.asset_id IS NOT NULL))), (SELECT COUNT(*)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.refused IS NOT NULL), (SELECT COUNT(*)
	FROM @refresh_wallets x
	WHERE x.hung_rounds > 0);
-- refreshSlotLeases.lost
SELECT r.id
	FROM (SELECT value->>0 AS id, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refresh_wallets x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- refreshSlotLeases.renew
UPDATE @refresh_wallets AS x
	SET lease_until = ?3
	WHERE x.id = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- refreshWalletTable.made.holdersNow[0]
SELECT x.id
	FROM (SELECT value->>0 AS id, value->>1 AS slot
	FROM json_each(?1)) AS r
	CROSS JOIN @refresh_wallets x
	WHERE x.slot = r.slot AND NOT (x.id = r.id);
-- refreshWalletTable.made.inOrder
SELECT x.id
	FROM @refresh_wallets x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- refreshWalletTable.made.insertOne
INSERT INTO @refresh_wallets (id, xpub_van, created_at, status, unserved_since, slot, hung_rounds, not_before, version, lease_holder, lease_fence, lease_until, work_seq)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
	ON CONFLICT DO NOTHING;
-- refreshWalletTable.made.storedNow
SELECT x.id, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refresh_wallets x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- refreshWalletTable.made.touchOne
UPDATE @refresh_wallets AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END, work_seq = ?4
	WHERE x.id = ?5 AND x.version = ?6 AND x.lease_holder IS NOT DISTINCT
	FROM ?7 AND x.lease_fence IS NOT DISTINCT
	FROM ?8 AND x.work_seq IS NOT DISTINCT
	FROM ?9;
-- refreshWalletTable.made.updateOne
UPDATE @refresh_wallets AS x
	SET status = ?1, unserved_since = ?2, slot = ?3, hung_rounds = ?4, not_before = ?5, version = ?6, lease_holder = ?7, lease_fence = ?8, lease_until = CASE WHEN x.lease_fence = ?8 AND x.lease_holder = ?7 THEN x.lease_until ELSE ?9 END, work_seq = ?10
	WHERE x.id = ?11 AND x.version = ?12 AND x.lease_holder IS NOT DISTINCT
	FROM ?13 AND x.lease_fence IS NOT DISTINCT
	FROM ?14 AND x.work_seq IS NOT DISTINCT
	FROM ?15 AND (?3 IS NULL OR NOT EXISTS (SELECT 1
	FROM @refresh_wallets h
	WHERE h.slot = ?3 AND NOT (h.id = ?11)));
-- refreshesHeld
SELECT x.xpub_van
	FROM @refresh_wallets x
	WHERE x.lease_holder = ?3 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.lease_holder = ?3 AND x.xpub_van > ?1 UNION SELECT x.xpub_van
	FROM @wallet_locks x
	WHERE x.holder = ?3 AND x.xpub_van > ?1
	ORDER BY 1 LIMIT ?2;
-- relayLeases.lost
SELECT r.id
	FROM (SELECT value->>0 AS id, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @relays x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- relayLeases.renew
UPDATE @relays AS x
	SET lease_until = ?3
	WHERE x.id = ?1 AND x.lease_fence = ?2 AND x.lease_holder IS NOT NULL AND x.lease_until > ?4;
-- relayTable.made.inOrder
SELECT x.id
	FROM @relays x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- relayTable.made.insertOne
INSERT INTO @relays (id, tenant, created_at, subdomain, status, info, policy, groups, management, push, roles, blossom_enabled, blossom, livekit_enabled, livekit, synced, sync_error, revision, recreate, sent, version, deleted_at, generation, due_at, backoff, exhausted, claimed_at, claimed_revision, lapses, lapsed_fence, unanswered_at, since, lease_holder, lease_fence, lease_until)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35);
-- relayTable.made.storedNow
SELECT x.id, x.version, x.lease_fence, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @relays x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- relayTable.made.touchOne
UPDATE @relays AS x
	SET lease_holder = ?1, lease_fence = ?2, lease_until = CASE WHEN x.lease_fence = ?2 AND x.lease_holder = ?1 THEN x.lease_until ELSE ?3 END
	WHERE x.id = ?4 AND x.version = ?5 AND x.lease_holder IS NOT DISTINCT
	FROM ?6 AND x.lease_fence IS NOT DISTINCT
	FROM ?7;
-- relayTable.made.updateOne
UPDATE @relays AS x
	SET subdomain = ?1, status = ?2, info = ?3, policy = ?4, groups = ?5, management = ?6, push = ?7, roles = ?8, blossom_enabled = ?9, blossom = ?10, livekit_enabled = ?11, livekit = ?12, synced = ?13, sync_error = ?14, revision = ?15, recreate = ?16, sent = ?17, version = ?18, deleted_at = ?19, generation = ?20, due_at = ?21, backoff = ?22, exhausted = ?23, claimed_at = ?24, claimed_revision = ?25, lapses = ?26, lapsed_fence = ?27, unanswered_at = ?28, since = ?29, lease_holder = ?30, lease_fence = ?31, lease_until = CASE WHEN x.lease_fence = ?31 AND x.lease_holder = ?30 THEN x.lease_until ELSE ?32 END
	WHERE x.id = ?33 AND x.version = ?34 AND x.lease_holder IS NOT DISTINCT
	FROM ?35 AND x.lease_fence IS NOT DISTINCT
	FROM ?36;
-- relaysGivenUp
SELECT id
	FROM @relays
	WHERE exhausted AND id > ?1
	ORDER BY id LIMIT ?2;
-- relaysHeld
SELECT x.id
	FROM @relays x
	WHERE x.lease_holder = ?3 AND x.id > ?1
	ORDER BY x.id LIMIT ?2;
-- relaysOf
SELECT id
	FROM @relays
	WHERE tenant = ?3 AND deleted_at IS NULL AND id > ?1
	ORDER BY id LIMIT ?2;
-- requestTable.made.inOrder
SELECT x.id
	FROM @withdrawal_requests x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- requestTable.made.insertOne
INSERT INTO @withdrawal_requests (id, user_id, asset_id, chain_id, to_address, memo, amount, amount_raw, decimals, requested_by, approvals_needed, created_at, status, first_approver, second_approver, closed_by, close_reason, queued_at, final_tx_hash, held, mined, acknowledged, disproved, disproved_by, strays_on_file, strays_sent, taken, told, refunded_at, refunded_by, refund_reference, paid_after, version, updated_at, offer_at, approved_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36);
-- requestTable.made.storedNow
SELECT x.id, x.version, 0, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @withdrawal_requests x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- requestTable.made.touchOne
UPDATE @withdrawal_requests AS x
	SET offer_at = ?1
	WHERE x.id = ?2 AND x.version = ?3 AND x.offer_at || substr('.000000', length(x.offer_at) - 18) IS NOT DISTINCT
	FROM ?4;
-- requestTable.made.updateOne
UPDATE @withdrawal_requests AS x
	SET status = ?1, first_approver = ?2, second_approver = ?3, closed_by = ?4, close_reason = ?5, queued_at = ?6, final_tx_hash = ?7, held = ?8, mined = ?9, acknowledged = ?10, disproved = ?11, disproved_by = ?12, strays_on_file = ?13, strays_sent = ?14, taken = ?15, told = ?16, refunded_at = ?17, refunded_by = ?18, refund_reference = ?19, paid_after = ?20, version = ?21, updated_at = ?22, offer_at = ?23, approved_at = coalesce(?24, x.approved_at)
	WHERE x.id = ?25 AND x.version = ?26 AND x.offer_at || substr('.000000', length(x.offer_at) - 18) IS NOT DISTINCT
	FROM ?27;
-- requestsApproved[false]
SELECT created_at, approved_at
	FROM @withdrawal_requests
	WHERE approved_at >= ?1 AND approved_at < ?2;
-- requestsApproved[true]
SELECT created_at, approved_at
	FROM @withdrawal_requests
	WHERE approved_at >= ?1 AND approved_at < ?2 AND chain_id = ?3;
-- requestsByHash
SELECT DISTINCT p.withdrawal_request_id
	FROM @withdrawal_payments p
	WHERE p.tx_form = ?1 AND p.withdrawal_request_id IS NOT NULL AND p.withdrawal_request_id <> '00000000-0000-0000-0000-000000000000'
	ORDER BY 1 LIMIT 10000;
-- requestsEnded[false]
SELECT status, count(*)
	FROM @withdrawal_requests
	WHERE status IN ('completed', 'failed') AND updated_at >= ?1 AND updated_at < ?2
	GROUP BY status;
-- requestsEnded[true]
SELECT status, count(*)
	FROM @withdrawal_requests
	WHERE status IN ('completed', 'failed') AND updated_at >= ?1 AND updated_at < ?2 AND chain_id = ?3
	GROUP BY status;
-- requestsOf
SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = ?4 AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3;
-- requestsOfAll
SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'pending' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_pending
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_approved
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'queued' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_queued
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'completed' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_completed
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'failed' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_failed
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'rejected' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_rejected
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'cancelled' AND (created_at, id) > (?1, ?2)
	ORDER BY created_at, id LIMIT ?3) s_cancelled
	ORDER BY created_at, id LIMIT ?3;
-- resignTxs
UPDATE @transactions AS t
	SET raw_tx = ?3
	WHERE t.id = ?1 AND t.version = ?2;
-- restateTxs
UPDATE @transactions AS t
	SET status = ?3, seq = ?4, label = ?5, is_context = ?6, is_public = ?7, version = ?8
	WHERE t.id = ?1 AND t.version = ?2;
-- restateWallet
UPDATE @operation_wallet_addresses
	SET role = ?2, status = ?3
	WHERE id = ?1;
-- saveAttempts
INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
	ON CONFLICT (job_id, fence) DO UPDATE
	SET ended_at = excluded.ended_at, outcome = excluded.outcome, error_message = excluded.error_message, tx_hash = excluded.tx_hash, dispatched_at = excluded.dispatched_at, dispatch_ref = excluded.dispatch_ref
	WHERE @withdrawal_attempts.ended_at IS NULL;
-- scanOwners
UPDATE @wallet_owners AS o
	SET scan_id = ?3
	WHERE o.wallet_id = ?1 AND o.owner_tag = ?2;
-- selectAggregates
SELECT q.id, q.user_id, q.asset_id, q.chain_id, q.to_address, q.memo, q.amount, q.amount_raw, q.decimals, q.requested_by, q.approvals_needed, q.created_at, q.status, q.first_approver, q.second_approver, q.closed_by, q.close_reason, q.queued_at, q.final_tx_hash, q.held, q.mined, q.acknowledged, q.disproved, q.disproved_by, q.strays_on_file, q.strays_sent, q.taken, q.told, q.refunded_at, q.refunded_by, q.refund_reference, q.paid_after, q.version, q.updated_at, q.offer_at, j.id, j.withdrawal_request_id, j.chain_id, j.asset_on_chain_id, j.operation_wallet_address_id, j.to_address, j.amount_raw, j.amount_human, j.priority, j.max_retries, j.created_at, j.status, j.retry_count, j.scheduled_at, j.scheduled_from, j.slot, j.claimed_at, j.dispatched_at, j.dispatch_ref, j.txs_on_file, j.txs_dead, j.nonce, j.tx_hash, j.review, j.resolved_version, j.broadcast_at, j.evidence_height, j.evidence_hash, j.gas_used, j.gas_price, j.error_message, j.processed_at, j.deferrals, j.stopped_fence, j.dispatches, j.batch_id, j.version, j.lease_holder, j.lease_fence, j.lease_until, j.offer_at, j.next_check_at, j.rebroadcast, a.job_id, a.fence, a.worker, a.started_at, a.ended_at, a.outcome, a.error_message, a.tx_hash, a.dispatched_at, a.dispatch_ref, w.id, w.chain_id, w.role, w.status, w.last_used_at, w.balance_reserved, m.nonce, f.nonce, u.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_requests q
	LEFT JOIN @withdrawal_queue j ON j.withdrawal_request_id = q.id AND j.number = (SELECT max(l.number)
	FROM @withdrawal_queue l
	WHERE l.withdrawal_request_id = q.id)
	LEFT JOIN @withdrawal_attempts a ON a.job_id = j.id AND a.fence = j.lease_fence
	LEFT JOIN @operation_wallet_addresses w ON w.id = j.operation_wallet_address_id 
	LEFT JOIN @withdrawal_nonces m ON m.operation_wallet_address_id = w.id AND m.nonce = (SELECT max(o.nonce)
	FROM @withdrawal_nonces o
	WHERE o.operation_wallet_address_id = w.id)
	LEFT JOIN @withdrawal_fillers f ON f.operation_wallet_address_id = w.id AND f.nonce = (SELECT max(o.nonce)
	FROM @withdrawal_fillers o
	WHERE o.operation_wallet_address_id = w.id)
	LEFT JOIN @operation_wallet_addresses u ON u.id = (SELECT o.id
	FROM @operation_wallet_addresses o
	WHERE o.chain_id = w.chain_id AND o.status = 'unknown outbound'
	ORDER BY o.id LIMIT 1)
	WHERE q.id = r.id;
-- selectBatches
SELECT x.id, x.chain_id, x.operation_wallet_address_id, x.owner_job_id, x.nonce, x.input, x.members, x.created_at, x.status, x.txs_on_file, x.tx_hash, x.evidence_height, x.evidence_hash, x.gas_used, x.gas_price, x.ended_at, x.version, x.next_check_at, x.rebroadcast, x.lease_holder, x.lease_fence, x.lease_until
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_batches x
	WHERE x.id = r.id;
-- selectBlocks
SELECT block_height, block_hash, prev_hash, block_time
	FROM @blocks
	WHERE block_height BETWEEN ?1 AND ?2
	ORDER BY block_height;
-- selectConsumer
SELECT x.name, x.machines, x.cursor, x.lease_fence, x.lease_until, x.stopped, x.error, x.failed_at, x.late
	FROM @settle_consumers x
	WHERE x.name = ?1;
-- selectControl
SELECT x.id, x.generation, x.recovered_at, x.solana_scanned, x.nexus_scanned, x.missing_said, x.books_read, x.reference, x.version
	FROM @swap_control x
	WHERE x.id = 1;
-- selectDispatches
SELECT r.id, t.job_id, t.fence, t.worker, t.started_at, t.ended_at, t.outcome, t.error_message, t.tx_hash, t.dispatched_at, t.dispatch_ref
	FROM (SELECT value->>0 AS id, value->>1 AS n
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_queue j
	JOIN @withdrawal_attempts t ON t.job_id = j.id
	WHERE j.withdrawal_request_id = r.id AND r.n > 0 AND t.dispatched_at IS NOT NULL AND t.ended_at IS NOT NULL;
-- selectInvoices
SELECT x.id, x.tenant, x.created_at, x.amount, x.issued, x.since, x.paid_at, x.voided_at, x.notified_at, x.method, x.payment_error, x.attempts, x.charge, x.charge_key, x.charge_by, x.charge_at, x.charge_amount, x.charge_method, x.charge_after, x.missed, x.looked_back, x.paid_key, x.overpaid_at, x.overpaid, x.repaid, x.notice, x.prior_notified_at, x.version
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @invoices x
	WHERE x.tenant = r.id;
-- selectMembers
SELECT DISTINCT t.batch_id, t.withdrawal_request_id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_txs t
	WHERE t.batch_id = r.id;
-- selectNow
SELECT clock_timestamp(), EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- selectOwners
SELECT o.owner_tag, o.birth_height
	FROM (SELECT value AS owner_tag
	FROM json_each(?2)) AS r
	CROSS JOIN @wallet_owners o
	WHERE o.wallet_id = ?1 AND o.owner_tag = r.owner_tag;
-- selectRaw
SELECT t.wallet_id, t.tx_hash, t.raw_tx
	FROM (SELECT value->>0 AS wallet_id, unhex(value->>1) AS tx_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @transactions t
	WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id;
-- selectRelays
SELECT x.id, x.tenant, x.created_at, x.subdomain, x.status, x.info, x.policy, x.groups, x.management, x.push, x.roles, x.blossom_enabled, x.blossom, x.livekit_enabled, x.livekit, x.synced, x.sync_error, x.revision, x.recreate, x.sent, x.version, x.deleted_at, x.generation, x.due_at, x.backoff, x.exhausted, x.claimed_at, x.claimed_revision, x.lapses, x.lapsed_fence, x.unanswered_at, x.since, x.lease_holder, x.lease_fence, x.lease_until, (SELECT count(*)
	FROM @activities f
	WHERE f.resource_type = 'relay' AND f.resource_id = x.id AND f.activity_type = 'fail_relay_sync' AND (l.sequence IS NULL OR (f.created_at, f.sequence) > (l.created_at, l.sequence))), c.sequence IS NOT NULL, n.created_at
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @relays x
	LEFT JOIN @activities l ON l.sequence = (SELECT a.sequence
	FROM @activities a
	WHERE a.resource_type = 'relay' AND a.resource_id = x.id AND a.activity_type <> 'fail_relay_sync'
	ORDER BY a.created_at DESC, a.sequence DESC LIMIT 1)
	LEFT JOIN @activities n ON n.sequence = (SELECT a.sequence
	FROM @activities a
	WHERE a.resource_type = 'relay' AND a.resource_id = x.id AND true
	ORDER BY a.created_at DESC, a.sequence DESC LIMIT 1)
	LEFT JOIN @activities c ON c.sequence = (SELECT min(a.sequence)
	FROM @activities a
	WHERE a.resource_type = 'relay' AND a.resource_id = x.id AND a.activity_type = 'complete_relay_sync')
	WHERE x.id = r.id;
-- selectRequestOf
SELECT withdrawal_request_id
	FROM @withdrawal_queue
	WHERE id = ?1;
-- selectScans
SELECT s.wallet_id, s.scan_id, s.scanned_to, o.owner_tag
	FROM @wallet_scans s
	CROSS JOIN @wallet_owners o
	WHERE o.wallet_id = s.wallet_id AND o.scan_id = s.scan_id
	ORDER BY s.wallet_id, s.scan_id, o.owner_tag;
-- selectSeq
SELECT last_seq
	FROM @chain_tip;
-- selectStrays
SELECT r.id, t.withdrawal_request_id, t.seq, t.job_id, t.claim, t.tx_hash, t.raw_tx, t.operation_wallet_address_id, t.nonce, t.input, t.by_output, t.output, t.fence, t.created_at, t.settled_at
	FROM (SELECT value->>0 AS id, value->>1 AS n
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_strays t
	WHERE t.withdrawal_request_id = r.id AND t.seq <= r.n;
-- selectSwitches
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_switches x
	WHERE x.scope IN (SELECT r.scope
	FROM (SELECT value AS scope
	FROM json_each(?1)) AS r);
-- selectTenants
SELECT x.id, x.billing_anchor, x.created_at, x.method, x.churned_at, x.reinstated_at, x.since, x.payment_error, x.notice, x.notice_by, x.notice_after, x.version, x.due_at
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @tenants x
	WHERE x.id = r.id;
-- selectTheseWallets
SELECT w.id, w.chain_id, w.role, w.status, w.last_used_at, w.balance_reserved, m.nonce, f.nonce, u.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r
	CROSS JOIN @operation_wallet_addresses w
	LEFT JOIN @withdrawal_nonces m ON m.operation_wallet_address_id = w.id AND m.nonce = (SELECT max(o.nonce)
	FROM @withdrawal_nonces o
	WHERE o.operation_wallet_address_id = w.id)
	LEFT JOIN @withdrawal_fillers f ON f.operation_wallet_address_id = w.id AND f.nonce = (SELECT max(o.nonce)
	FROM @withdrawal_fillers o
	WHERE o.operation_wallet_address_id = w.id)
	LEFT JOIN @operation_wallet_addresses u ON u.id = (SELECT o.id
	FROM @operation_wallet_addresses o
	WHERE o.chain_id = w.chain_id AND o.status = 'unknown outbound'
	ORDER BY o.id LIMIT 1)
	WHERE w.id = r.id;
-- selectTip
SELECT block_height, block_hash, prev_hash, block_time
	FROM @blocks
	ORDER BY block_height DESC LIMIT 1;
-- selectTxIDs
SELECT t.id, t.wallet_id, t.tx_hash
	FROM (SELECT value->>0 AS wallet_id, unhex(value->>1) AS tx_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @transactions t
	WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id;
-- selectTxs
SELECT r.id, t.withdrawal_request_id, t.seq, t.job_id, t.tx_hash, t.raw_tx, t.operation_wallet_address_id, t.nonce, t.input, t.is_cancel, t.by_output, t.output, t.batch_id, t.created_at
	FROM (SELECT value->>0 AS id, value->>1 AS n
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_txs t
	WHERE t.withdrawal_request_id = r.id AND t.seq <= r.n;
-- selectUsage
SELECT created_at, amount
	FROM @withdrawal_requests
	WHERE user_id = ?1 AND asset_id = ?2 AND created_at >= ?3 AND created_at < ?4 AND status IN ('pending', 'approved', 'queued', 'completed');
-- selectVersions
SELECT t.batch_id, t.seq, t.tx_hash, t.raw_tx, t.created_at
	FROM (SELECT value->>0 AS id, value->>1 AS on_file
	FROM json_each(?1)) AS r
	CROSS JOIN @withdrawal_batch_txs t
	WHERE t.batch_id = r.id AND t.seq <= r.on_file;
-- selectWallets
SELECT w.id, w.birth_height, CASE WHEN w.follows_tip THEN (SELECT max(b.block_height)
	FROM @blocks b) ELSE w.scanned_to END, w.follows_tip, w.announced
	FROM @wallets w
	ORDER BY w.id;
-- selectWalletsOf
SELECT w.id, w.chain_id, w.role, w.status, w.last_used_at, w.balance_reserved, m.nonce, f.nonce, u.id
	FROM @operation_wallet_addresses w
	LEFT JOIN @withdrawal_nonces m ON m.operation_wallet_address_id = w.id AND m.nonce = (SELECT max(o.nonce)
	FROM @withdrawal_nonces o
	WHERE o.operation_wallet_address_id = w.id)
	LEFT JOIN @withdrawal_fillers f ON f.operation_wallet_address_id = w.id AND f.nonce = (SELECT max(o.nonce)
	FROM @withdrawal_fillers o
	WHERE o.operation_wallet_address_id = w.id)
	LEFT JOIN @operation_wallet_addresses u ON u.id = (SELECT o.id
	FROM @operation_wallet_addresses o
	WHERE o.chain_id = w.chain_id AND o.status = 'unknown outbound'
	ORDER BY o.id LIMIT 1)
	WHERE w.chain_id = ?1
	ORDER BY w.id;
-- selectWaterline
SELECT x.chain, x.own, x.at, x.seen, x.version
	FROM @swap_waterlines x
	WHERE x.chain = ?1 AND x.own = ?2;
-- sequentialClaims.ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	CROSS JOIN @operation_wallet_addresses w
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND w.id = x.operation_wallet_address_id AND w.role = 'hot_wallet' AND w.status = 'active' AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > ?2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?2 AND (x.scheduled_at <= ?2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > ?3) AND (x.offer_at IS NULL OR x.offer_at <= ?2 OR x.offer_at > ?3) AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = x.operation_wallet_address_id AND (CASE WHEN f.offer_at > f.scheduled_from THEN f.offer_at ELSE f.scheduled_from END) > ?2 AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) > ?2 AND (f.scheduled_at <= ?2 OR f.scheduled_at = f.scheduled_from OR f.scheduled_from > ?3) AND (f.offer_at IS NULL OR f.offer_at <= ?2 OR f.offer_at > ?3)
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = x.operation_wallet_address_id) AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = w.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- sequentialClaims.ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	CROSS JOIN @operation_wallet_addresses w
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND w.id = x.operation_wallet_address_id AND w.role = 'hot_wallet' AND w.status = 'active' AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > ?2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?2 AND (x.scheduled_at <= ?2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > ?3) AND (x.offer_at IS NULL OR x.offer_at <= ?2 OR x.offer_at > ?3) AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = x.operation_wallet_address_id AND (CASE WHEN f.offer_at > f.scheduled_from THEN f.offer_at ELSE f.scheduled_from END) > ?2 AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) > ?2 AND (f.scheduled_at <= ?2 OR f.scheduled_at = f.scheduled_from OR f.scheduled_from > ?3) AND (f.offer_at IS NULL OR f.offer_at <= ?2 OR f.offer_at > ?3)
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = x.operation_wallet_address_id) AND w.chain_id = ?4 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?4) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?4)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?4 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- sequentialClaims.found[0]
SELECT x.withdrawal_request_id
	FROM @operation_wallet_addresses w
	CROSS JOIN @withdrawal_queue x
	WHERE upper(x.status) = 'PENDING' AND w.role = 'hot_wallet' AND w.status = 'active' AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = w.id AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) <= ?2
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = w.id) AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = w.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- sequentialClaims.found[1]
SELECT x.withdrawal_request_id
	FROM @operation_wallet_addresses w
	CROSS JOIN @withdrawal_queue x
	WHERE upper(x.status) = 'PENDING' AND w.role = 'hot_wallet' AND w.status = 'active' AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = w.id AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) <= ?2
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = w.id) AND w.chain_id = ?3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?3 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT ?1;
-- sequentialClaims.soon[0]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?1 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = w.chain_id AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
	FROM (SELECT 0 AS n
	UNION ALL SELECT 1 AS n
	UNION ALL SELECT 2 AS n) p;
-- sequentialClaims.soon[1]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > ?1 AND w.chain_id = ?2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce(NULL, (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || ?2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = ?2 AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
	FROM (SELECT 0 AS n
	UNION ALL SELECT 1 AS n
	UNION ALL SELECT 2 AS n) p;
-- servedSlots
SELECT x.xpub_van, x.slot, x.lease_holder, x.lease_fence, x.lease_until
	FROM @refresh_wallets x
	WHERE x.slot IS NOT NULL
	ORDER BY x.slot;
-- settleStrays
UPDATE @withdrawal_strays AS x
	SET settled_at = ?3
	WHERE x.withdrawal_request_id = ?1 AND x.seq = ?2 AND x.settled_at IS NULL;
-- sightsBetween
SELECT t.wallet_id, t.tx_hash, u.output_index, u.amount, u.owner_tag, t.status, t.is_coinbase, t.block_height, b.block_hash, p.height, coalesce(s.scanned_to, CASE WHEN w.follows_tip THEN p.height ELSE w.scanned_to END)
	FROM @transactions t
	CROSS JOIN @utxos u
	CROSS JOIN @wallets w
	CROSS JOIN (SELECT coalesce(max(block_height), -1) AS height
	FROM @blocks) p
	LEFT JOIN @blocks b ON b.block_height = t.block_height
	LEFT JOIN @wallet_owners o ON o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag
	LEFT JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id AND t.id > ?1 AND t.id <= ?2 AND t.block_height IS NOT NULL;
-- sightsOfOutputs
SELECT t.wallet_id, t.tx_hash, u.output_index, u.amount, u.owner_tag, t.status, t.is_coinbase, t.block_height, b.block_hash, p.height, coalesce(s.scanned_to, CASE WHEN w.follows_tip THEN p.height ELSE w.scanned_to END)
	FROM (SELECT value->>0 AS wallet_id, unhex(value->>1) AS tx_hash, value->>2 AS output_index
	FROM json_each(?1)) AS r
	CROSS JOIN @transactions t
	CROSS JOIN @utxos u
	CROSS JOIN @wallets w
	CROSS JOIN (SELECT coalesce(max(block_height), -1) AS height
	FROM @blocks) p
	LEFT JOIN @blocks b ON b.block_height = t.block_height
	LEFT JOIN @wallet_owners o ON o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag
	LEFT JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id AND t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id AND u.output_index = r.output_index;
-- sightsOfTxs
SELECT t.wallet_id, t.tx_hash, u.output_index, u.amount, u.owner_tag, t.status, t.is_coinbase, t.block_height, b.block_hash, p.height, coalesce(s.scanned_to, CASE WHEN w.follows_tip THEN p.height ELSE w.scanned_to END)
	FROM (SELECT value->>0 AS wallet_id, unhex(value->>1) AS tx_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @transactions t
	CROSS JOIN @utxos u
	CROSS JOIN @wallets w
	CROSS JOIN (SELECT coalesce(max(block_height), -1) AS height
	FROM @blocks) p
	LEFT JOIN @blocks b ON b.block_height = t.block_height
	LEFT JOIN @wallet_owners o ON o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag
	LEFT JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id AND t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id;
-- statementRows.behind
SELECT id, chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at
	FROM @withdrawal_statements
	WHERE id > ?1
	ORDER BY id LIMIT ?2;
-- statementRows.lock
SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawal_statements', 0));
-- statementRows.table.made.insertOne
INSERT INTO @withdrawal_statements (chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);
-- statementTable.made.insertOne
INSERT INTO @withdrawal_statements (chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);
-- statementsAbout
SELECT x.chain_id, x.operation_wallet_address_id, x.generation, x.says, x.number, x.low, x.tx_hash, x.named, x.asset_on_chain_id, x.amount_raw, x.withdrawal_request_id, x.height, x.block_hash, x.source, x.reason, x.actor, x.at
	FROM @withdrawal_statements x
	WHERE x.chain_id = ?1 AND x.generation >= ?2
	ORDER BY x.generation, x.id;
-- strayTable.made.insertOne
INSERT INTO @withdrawal_strays (withdrawal_request_id, seq, job_id, claim, tx_hash, raw_tx, operation_wallet_address_id, nonce, input, by_output, output, fence, created_at, settled_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);
-- sumMoney[false]
SELECT q.chain_id, q.asset_id, q.decimals, coalesce(x.review, false), (x.dispatched_at IS NOT NULL OR q.strays_sent > 0 OR q.mined IS NOT NULL OR q.disproved IS NOT NULL OR q.taken IS NOT NULL), coalesce(x.status = 'processing' AND NOT x.review AND x.lease_until <= ?1 OR x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?1 AND x.next_check_at < ?1 OR b.next_check_at < ?1, false), q.amount_raw
	FROM @withdrawal_requests q
	LEFT JOIN @withdrawal_queue x ON x.withdrawal_request_id = q.id AND x.status IN ('pending', 'processing', 'confirming')
	LEFT JOIN @withdrawal_batches b ON b.id = x.batch_id AND b.status = 'confirming' AND x.status = 'confirming'
	WHERE q.status IN ('pending', 'approved', 'queued');
-- sumMoney[true]
SELECT q.chain_id, q.asset_id, q.decimals, coalesce(x.review, false), (x.dispatched_at IS NOT NULL OR q.strays_sent > 0 OR q.mined IS NOT NULL OR q.disproved IS NOT NULL OR q.taken IS NOT NULL), coalesce(x.status = 'processing' AND NOT x.review AND x.lease_until <= ?1 OR x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= ?1 AND x.next_check_at < ?1 OR b.next_check_at < ?1, false), q.amount_raw
	FROM @withdrawal_requests q
	LEFT JOIN @withdrawal_queue x ON x.withdrawal_request_id = q.id AND x.status IN ('pending', 'processing', 'confirming')
	LEFT JOIN @withdrawal_batches b ON b.id = x.batch_id AND b.status = 'confirming' AND x.status = 'confirming'
	WHERE q.status IN ('pending', 'approved', 'queued') AND q.chain_id = ?2;
-- sums
SELECT CASE WHEN EXISTS (SELECT 1
	FROM @wallet_owners o
	CROSS JOIN @wallet_scans c
	WHERE o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id) THEN 'unscanned' ELSE u.bucket END, sum(u.amount)
	FROM @wallet_balances u
	WHERE u.wallet_id = ?1 AND (CAST(?2 AS text) IS NULL OR u.owner_tag = ?2)
	GROUP BY 1;
-- sweepLocks
DELETE
	FROM @wallet_locks
	WHERE xpub_van IN (SELECT x.xpub_van
	FROM @wallet_locks x
	WHERE x.expires_at <= ?1
	ORDER BY x.xpub_van LIMIT ?2);
-- switchTable.made.inOrder
SELECT x.scope
	FROM @settle_switches x
	WHERE (x.scope) IN (SELECT r.scope
	FROM (SELECT value AS scope
	FROM json_each(?1)) AS r)
	ORDER BY x.scope FOR NO KEY UPDATE OF x;
-- switchTable.made.insertOne
INSERT INTO @settle_switches (scope, level, actor, reason, since, recovering, recovery, generation, recovered_at, version)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
-- switchTable.made.storedNow
SELECT x.scope, x.version, 0, l.version
	FROM (SELECT value->>0 AS scope, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @settle_switches x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.scope = r.scope;
-- switchTable.made.touchOne
UPDATE @settle_switches AS x
	SET  = r.
	WHERE x.scope = ?2 AND x.version = ?3;
-- switchTable.made.updateOne
UPDATE @settle_switches AS x
	SET level = ?1, actor = ?2, reason = ?3, since = ?4, recovering = ?5, recovery = ?6, generation = ?7, recovered_at = ?8, version = ?9
	WHERE x.scope = ?10 AND x.version = ?11;
-- takeLocks
INSERT INTO @wallet_locks AS x (xpub_van, holder, fence, locked_at, seq, expires_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6)
	ON CONFLICT (xpub_van) DO UPDATE
	SET holder = excluded.holder, fence = excluded.fence, locked_at = excluded.locked_at, seq = excluded.seq, expires_at = excluded.expires_at
	WHERE x.expires_at <= excluded.locked_at OR x.fence = excluded.fence;
-- tallyShaken
SELECT count(*), CAST(coalesce(sum(x.amount), 0) AS INTEGER)
	FROM @deposits x
	WHERE x.state = 'credited' AND x.deep_at > ?1;
-- tallyWaiting
SELECT count(*), CAST(coalesce(sum(x.amount), 0) AS INTEGER), min(x.changed_at)
	FROM @deposits x
	WHERE x.in_chain AND x.state <> 'credited' AND (x.amount >= ?1 OR x.state = 'reversed');
-- tenantOf
SELECT tenant
	FROM @invoices
	WHERE id = ?1;
-- tenantTable.made.inOrder
SELECT x.id
	FROM @tenants x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- tenantTable.made.insertOne
INSERT INTO @tenants (id, billing_anchor, created_at, method, churned_at, reinstated_at, since, payment_error, notice, notice_by, notice_after, version, due_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);
-- tenantTable.made.storedNow
SELECT x.id, x.version, 0, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @tenants x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- tenantTable.made.touchOne
UPDATE @tenants AS x
	SET due_at = ?1
	WHERE x.id = ?2 AND x.version = ?3 AND x.due_at || substr('.000000', length(x.due_at) - 18) IS NOT DISTINCT
	FROM ?4;
-- tenantTable.made.updateOne
UPDATE @tenants AS x
	SET method = ?1, churned_at = ?2, reinstated_at = ?3, since = ?4, payment_error = ?5, notice = ?6, notice_by = ?7, notice_after = ?8, version = ?9, due_at = ?10
	WHERE x.id = ?11 AND x.version = ?12 AND x.due_at || substr('.000000', length(x.due_at) - 18) IS NOT DISTINCT
	FROM ?13;
-- transitionAt
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE horizon = ?1 AND n = ?2;
-- transitionsOf
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE machine = ?1 AND id = ?2
	ORDER BY version;
-- txTable.made.insertOne
INSERT INTO @withdrawal_txs (withdrawal_request_id, seq, job_id, tx_hash, raw_tx, operation_wallet_address_id, nonce, input, is_cancel, by_output, output, batch_id, created_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);
-- txsAt
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.block_height BETWEEN ?1 AND ?2
	ORDER BY t.block_height, t.wallet_id, t.block_position;
-- txsBelow
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM (SELECT unhex(value) AS tx_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @tx_inputs i
	CROSS JOIN @transactions t
	WHERE i.prev_hash = r.tx_hash AND t.id = i.tx_id;
-- txsLive
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = ?1 AND t.block_height IS NULL AND t.status IN ('pending', 'published') AND NOT t.is_context
	ORDER BY t.id;
-- txsNamed
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM (SELECT value->>0 AS wallet_id, unhex(value->>1) AS tx_hash
	FROM json_each(?1)) AS r
	CROSS JOIN @transactions t
	WHERE t.tx_hash = r.tx_hash AND (t.wallet_id = r.wallet_id OR r.wallet_id = 0);
-- txsPendingElsewhere
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id <> ?1 AND t.block_height IS NULL AND t.status IN ('pending', 'published') AND NOT t.is_context AND t.status = 'pending'
	ORDER BY +t.id;
-- txsSpending
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM (SELECT unhex(value->>0) AS prev_hash, value->>1 AS prev_index
	FROM json_each(?1)) AS r
	CROSS JOIN @tx_inputs i
	CROSS JOIN @transactions t
	WHERE i.prev_hash = r.prev_hash AND i.prev_index = r.prev_index AND t.id = i.tx_id;
-- unclaimedOf
SELECT x.chain_id, x.operation_wallet_address_id, x.generation, x.says, x.number, x.low, x.tx_hash, x.named, x.asset_on_chain_id, x.amount_raw, x.withdrawal_request_id, x.height, x.block_hash, x.source, x.reason, x.actor, x.at
	FROM @withdrawal_statements x
	WHERE x.chain_id = ?1 AND x.says IN ('unclaimed', 'not this', 'dropped')
	ORDER BY x.id;
-- unclearTenants
SELECT p.tenant
	FROM (SELECT tenant
	FROM @invoices
	WHERE charge <> 'none' AND (charge = 'unknown' OR charge_after <= ?3) AND tenant > ?1
	ORDER BY tenant LIMIT ?2) p UNION SELECT m.tenant
	FROM (SELECT DISTINCT i.tenant
	FROM @invoices i
	JOIN @tenants t ON t.id = i.tenant
	WHERE i.missed > 0 AND i.charge = 'none' AND i.paid_at IS NULL AND i.voided_at IS NULL AND (i.missed > 1 OR t.method NOT IN ('nwc', 'stripe') OR t.churned_at IS NOT NULL) AND i.tenant > ?1
	ORDER BY i.tenant LIMIT ?2) m UNION SELECT q.tenant
	FROM (SELECT DISTINCT tenant
	FROM @invoices
	WHERE overpaid_at IS NOT NULL AND tenant > ?1
	ORDER BY tenant LIMIT ?2) q
	ORDER BY tenant LIMIT ?2;
-- unknownOutbounds[false]
SELECT x.operation_wallet_address_id, x.number, x.tx_hash
	FROM @withdrawal_statements x
	WHERE x.says = 'unknown outbound' AND NOT EXISTS (SELECT 1
	FROM @withdrawal_statements u
	WHERE u.says = 'used' AND u.operation_wallet_address_id = x.operation_wallet_address_id AND u.number = x.number AND u.id > x.id) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_fillers f
	WHERE f.operation_wallet_address_id = x.operation_wallet_address_id AND f.nonce = x.number) AND NOT (x.tx_hash = '' AND EXISTS (SELECT 1
	FROM @withdrawal_nonces n
	WHERE n.operation_wallet_address_id = x.operation_wallet_address_id AND n.nonce = x.number))
	ORDER BY x.id;
-- unknownOutbounds[true]
SELECT x.operation_wallet_address_id, x.number, x.tx_hash
	FROM @withdrawal_statements x
	WHERE x.says = 'unknown outbound' AND NOT EXISTS (SELECT 1
	FROM @withdrawal_statements u
	WHERE u.says = 'used' AND u.operation_wallet_address_id = x.operation_wallet_address_id AND u.number = x.number AND u.id > x.id) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_fillers f
	WHERE f.operation_wallet_address_id = x.operation_wallet_address_id AND f.nonce = x.number) AND NOT (x.tx_hash = '' AND EXISTS (SELECT 1
	FROM @withdrawal_nonces n
	WHERE n.operation_wallet_address_id = x.operation_wallet_address_id AND n.nonce = x.number)) AND x.chain_id = ?1
	ORDER BY x.id;
-- unspent
SELECT u.output_index || ' ' || u.amount || ' ' || coalesce(t.block_height, -1) || ' ' || t.is_coinbase || ' ' || t.status || ' ' || u.owner_tag, CAST(t.tx_hash || u.script AS BLOB)
	FROM @utxos u
	JOIN @transactions t ON t.id = u.tx_id
	WHERE u.wallet_id = ?1 AND u.spent_by_tx_id IS NULL AND t.status IN ('pending', 'published') AND (CAST(?2 AS text) IS NULL OR u.owner_tag = ?2)
	ORDER BY u.tx_id, u.output_index;
-- updateLeases
UPDATE @utxo_leases AS l
	SET lock_id = ?4, expires_at = ?5, leased_at = ?6
	WHERE l.wallet_id = ?1 AND l.utxo_id = ?2 * 4294967296 + ?3 AND l.lock_id = ?7 AND l.expires_at = ?8;
-- updateOwners
UPDATE @wallet_owners AS o
	SET birth_height = ?4
	WHERE o.wallet_id = ?1 AND o.owner_tag = ?2 AND o.birth_height = ?3;
-- updateReserved
UPDATE @operation_wallet_addresses AS w
	SET balance_reserved = ?2, last_used_at = ?3
	WHERE w.id = ?1;
-- updateScans
UPDATE @wallet_scans AS s
	SET scanned_to = ?4
	WHERE s.wallet_id = ?1 AND s.scan_id = ?2 AND s.scanned_to = ?3;
-- updateTxs
UPDATE @transactions AS t
	SET status = ?3, block_height = ?4, block_position = ?5, seq = ?6, label = ?7, is_context = ?8, is_public = ?9, version = ?10
	WHERE t.id = ?1 AND t.version = ?2;
-- updateWallets
UPDATE @wallets AS w
	SET scanned_to = ?5, follows_tip = ?6, announced = ?7
	WHERE w.id = ?1 AND w.follows_tip = ?3 AND (?3 OR w.scanned_to = ?2) AND w.announced = ?4;
-- versionsByHash
SELECT DISTINCT t.batch_id, t.tx_hash
	FROM @withdrawal_batch_txs t
	WHERE lower(t.tx_hash) IN (lower(?1), '0x' || lower(?1))
	ORDER BY 1 LIMIT 10000;
-- waitingWallets
SELECT q.xpub_van, q.since, q.id, q.xpub_van, q.created_at, q.status, q.unserved_since, q.slot, q.hung_rounds, q.not_before, q.version, q.lease_holder, q.lease_fence, q.lease_until, q.work_seq
	FROM (SELECT p.*, CASE WHEN p.oldest < p.unserved_since THEN p.unserved_since ELSE p.oldest END AS since
	FROM (SELECT w.*, d.watching, CASE WHEN d.lapse < d.due OR d.lapse < w.not_before THEN d.lapse WHEN d.due < w.not_before THEN w.not_before ELSE d.due END AS oldest
	FROM @refresh_wallets w
	JOIN (SELECT l.xpub_van, min(l.due) AS due, min(l.lapse) AS lapse, max(l.watching) AS watching
	FROM (SELECT x.xpub_van, x.next_at AS due, CASE WHEN x.provisional THEN x.expires_at END AS lapse, 1 AS watching
	FROM @refresh_watchers x
	WHERE x.status = 'watching'
	UNION ALL SELECT x.xpub_van, x.available_at, NULL, 0
	FROM @refresh_jobs x
	WHERE x.status = 'pending'
	UNION ALL SELECT x.xpub_van, x.lease_until, NULL, 0
	FROM @refresh_jobs x
	WHERE x.status = 'processing') l
	GROUP BY l.xpub_van) d ON d.xpub_van = w.xpub_van
	WHERE w.status = 'unserved') p) q
	WHERE q.since <= ?1 OR q.watching = 1 AND (q.not_before IS NULL OR q.not_before <= ?1)
	ORDER BY q.since, q.xpub_van LIMIT ?2;
-- walletByID
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.id = ?1;
-- walletLockLeases.lost
SELECT r.xpub_van
	FROM (SELECT value->>0 AS xpub_van, value->>1 AS fence, value->>2 AS at
	FROM json_each(?1)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @wallet_locks x
	WHERE x.xpub_van = r.xpub_van AND x.fence = r.fence AND x.expires_at > r.at);
-- walletLockLeases.renew
UPDATE @wallet_locks AS x
	SET expires_at = ?3
	WHERE x.xpub_van = ?1 AND x.fence = ?2 AND x.expires_at > ?4;
-- walletLockTable.made.insertOne
INSERT INTO @wallet_locks (xpub_van, holder, fence, locked_at, seq, expires_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- walletLocksOf
SELECT x.xpub_van, x.holder, x.fence, x.locked_at, x.seq, x.expires_at
	FROM @wallet_locks x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT value AS xpub_van
	FROM json_each(?1)) AS r);
-- walletsOff[false]
SELECT x.id
	FROM @operation_wallet_addresses x
	WHERE x.status = 'unknown outbound'
	ORDER BY x.id LIMIT 100;
-- walletsOff[true]
SELECT x.id
	FROM @operation_wallet_addresses x
	WHERE x.status = 'unknown outbound' AND x.chain_id = ?1
	ORDER BY x.id LIMIT 100;
-- watched
SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase, s.tx_hash
	FROM @utxos u
	JOIN @transactions t ON t.id = u.tx_id
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE u.wallet_id = ?1 AND t.status IN ('pending', 'published') AND (u.spent_by_tx_id IS NULL OR s.block_height IS NULL)
	ORDER BY u.tx_id, u.output_index;
-- watcherCounts
SELECT x.status, COUNT(*)
	FROM @refresh_watchers x
	GROUP BY x.status;
-- watcherTable.made.inOrder
SELECT x.id
	FROM @refresh_watchers x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- watcherTable.made.insertOne
INSERT INTO @refresh_watchers (id, xpub_van, xpub_col, master_fingerprint, recipient_id, created_at, asset_id, provisional, status, expires_at, cancel_tried, refused, ended_at, end_reason, end_seq, version, refresh_count, next_at, last_error)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19);
-- watcherTable.made.storedNow
SELECT x.id, x.version, 0, l.version
	FROM (SELECT value->>0 AS id, value->>1 AS record, value->>2 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @refresh_watchers x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id;
-- watcherTable.made.touchOne
UPDATE @refresh_watchers AS x
	SET refresh_count = ?1, next_at = ?2, last_error = ?3
	WHERE x.id = ?4 AND x.version = ?5 AND x.refresh_count IS NOT DISTINCT
	FROM ?6 AND x.next_at || substr('.000000', length(x.next_at) - 18) IS NOT DISTINCT
	FROM ?7 AND x.last_error IS NOT DISTINCT
	FROM ?8;
-- watcherTable.made.updateOne
UPDATE @refresh_watchers AS x
	SET asset_id = ?1, provisional = ?2, status = ?3, expires_at = ?4, cancel_tried = ?5, refused = ?6, ended_at = ?7, end_reason = ?8, end_seq = ?9, version = ?10, refresh_count = ?11, next_at = ?12, last_error = ?13
	WHERE x.id = ?14 AND x.version = ?15 AND x.refresh_count IS NOT DISTINCT
	FROM ?16 AND x.next_at || substr('.000000', length(x.next_at) - 18) IS NOT DISTINCT
	FROM ?17 AND x.last_error IS NOT DISTINCT
	FROM ?18;
-- watchersByID
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.id IN (SELECT r.id
	FROM (SELECT value AS id
	FROM json_each(?1)) AS r);
-- watchersEnded
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.end_reason = ?4 AND (x.xpub_van, x.recipient_id) > (?1, ?2)
	ORDER BY x.xpub_van, x.recipient_id LIMIT ?3;
-- watchersOfSet[1]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = ?1 AND x.status = 'watching'
	ORDER BY x.next_at, x.recipient_id LIMIT ?2;
-- watchersOfSet[2]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = ?1 AND x.status = 'watching' AND (x.next_at <= ?2 OR x.provisional AND x.expires_at <= ?2)
	ORDER BY x.next_at, x.recipient_id LIMIT ?3;
-- watchersOfSet[3]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = ?1 AND x.status = 'watching' AND x.expires_at <= ?2 AND x.provisional
	ORDER BY x.next_at, x.recipient_id LIMIT ?3;
-- watchersOfSet[4]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = ?1 AND x.status = 'watching' AND NOT x.expires_at <= ?2
	ORDER BY x.created_at DESC, x.recipient_id DESC LIMIT ?3;
-- watchersOfSet[5]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = ?1
	ORDER BY x.created_at DESC, x.recipient_id DESC LIMIT ?2;
-- watchersOpen
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.end_reason = ?4 AND NOT EXISTS (SELECT 1
	FROM @refresh_jobs p
	WHERE p.xpub_van = x.xpub_van AND p.seq > x.end_seq AND p.status = 'completed' AND (p.trigger <> 'invoice_created' OR p.asset_id IS NOT NULL)) AND (x.xpub_van, x.recipient_id) > (?1, ?2)
	ORDER BY x.xpub_van, x.recipient_id LIMIT ?3;
-- watchingWatchers
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND (x.xpub_van, x.recipient_id) > (?1, ?2)
	ORDER BY x.xpub_van, x.recipient_id LIMIT ?3;
-- waterlineTable.made.inOrder
SELECT x.chain, x.own
	FROM @swap_waterlines x
	WHERE (x.chain, x.own) IN (SELECT r.chain, r.own
	FROM (SELECT value->>0 AS chain, value->>1 AS own
	FROM json_each(?1)) AS r)
	ORDER BY x.chain, x.own FOR NO KEY UPDATE OF x;
-- waterlineTable.made.insertOne
INSERT INTO @swap_waterlines (chain, own, at, seen, version)
	VALUES (?1, ?2, ?3, ?4, ?5);
-- waterlineTable.made.storedNow
SELECT x.chain, x.own, x.version, 0, l.version
	FROM (SELECT value->>0 AS chain, value->>1 AS own, value->>2 AS record, value->>3 AS old_version
	FROM json_each(?2)) AS r
	CROSS JOIN @swap_waterlines x
	LEFT JOIN @transitions l ON l.machine = ?1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.chain = r.chain AND x.own = r.own;
-- waterlineTable.made.touchOne
UPDATE @swap_waterlines AS x
	SET  = r.
	WHERE x.chain = ?2 AND x.own = ?3 AND x.version = ?4;
-- waterlineTable.made.updateOne
UPDATE @swap_waterlines AS x
	SET at = ?1, seen = ?2, version = ?3
	WHERE x.chain = ?4 AND x.own = ?5 AND x.version = ?6;
-- writeJournal
INSERT INTO @settle_journal (horizon, at, actor, role, domain, machine, id, version, event, outcome, error, via, trace)
	VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);
-- writeTransitions
INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) SELECT 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
	WHERE ?1 = (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
