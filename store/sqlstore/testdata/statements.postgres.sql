-- acknowledgementTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.withdrawal_request_id, u.tx_hash, u.claim, u.block_hash, u.withdrawal_request_id, u.tx_hash, u.claim, u.block_hash
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::uuid[], $6::text::text[], $7::text::text[], $8::text::text[]) AS u(withdrawal_request_id, tx_hash, claim, block_hash, withdrawal_request_id, tx_hash, claim, block_hash) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.withdrawal_request_id, x.tx_hash, x.claim, x.block_hash
	FROM @withdrawal_acknowledgements x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash AND NOT (x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash) OFFSET 0) n;
-- acknowledgementTable.made.insertOne
INSERT INTO @withdrawal_acknowledgements (withdrawal_request_id, tx_hash, claim, block_hash, actor, role, reason, at) SELECT r.withdrawal_request_id, r.tx_hash, r.claim, r.block_hash, r.actor, r.role, r.reason, r.at
	FROM (SELECT u.withdrawal_request_id, u.tx_hash, u.claim, u.block_hash, u.actor, u.role, u.reason, u.at
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::timestamptz[]) AS u(withdrawal_request_id, tx_hash, claim, block_hash, actor, role, reason, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- acknowledgementsOf
SELECT withdrawal_request_id, tx_hash, claim, block_hash, actor, role, reason, at
	FROM @withdrawal_acknowledgements
	WHERE withdrawal_request_id = $1
	ORDER BY at, tx_hash, claim, block_hash;
-- activitiesOf
SELECT sequence, resource_type, resource_id, activity_type, created_at
	FROM @activities
	WHERE resource_type = $1 AND resource_id = $2
	ORDER BY created_at DESC, sequence DESC LIMIT $3;
-- activityTable.made.insertOne
INSERT INTO @activities (resource_type, resource_id, activity_type, created_at) SELECT r.resource_type, r.resource_id, r.activity_type, r.created_at
	FROM (SELECT u.resource_type, u.resource_id, u.activity_type, u.created_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::timestamptz[]) AS u(resource_type, resource_id, activity_type, created_at) LIMIT (SELECT NULL::bigint)) AS r;
-- addBalances
INSERT INTO @wallet_balances (wallet_id, owner_tag, bucket, amount) SELECT r.wallet_id, r.owner_tag, r.bucket, r.amount
	FROM (SELECT u.wallet_id, u.owner_tag, u.bucket, u.amount
	FROM unnest($1::text::bigint[], $2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(wallet_id, owner_tag, bucket, amount)) AS r
	WHERE true
	ON CONFLICT (wallet_id, owner_tag, bucket) DO UPDATE
	SET amount = @wallet_balances.amount + excluded.amount;
-- addCounts
INSERT INTO @withdrawal_counts (record, status, shard, n) SELECT r.record, r.status, coalesce((SELECT s.n
	FROM generate_series(0, 31) AS s(n)
	WHERE pg_try_advisory_xact_lock(hashtext('settle counts @'), s.n) LIMIT 1), 1000 + pg_backend_pid()), r.n
	FROM (SELECT u.record, u.status, u.n
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[]) AS u(record, status, n) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT (record, status, shard) DO UPDATE
	SET n = @withdrawal_counts.n + excluded.n;
-- addReserved
UPDATE @operation_wallet_addresses AS w
	SET balance_reserved = w.balance_reserved + r.delta, last_used_at = greatest(w.last_used_at, r.used_at)
	FROM (SELECT u.id, u.delta, u.used_at
	FROM unnest($1::text::uuid[], $2::text::numeric[], $3::text::timestamptz[]) AS u(id, delta, used_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE w.id = r.id;
-- aheadWallets
SELECT x.xpub_van
	FROM @refresh_wallets x
	WHERE x.slot IS NOT NULL AND x.lease_until > $3 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @wallet_locks x
	WHERE x.expires_at > $3 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status = 'processing' AND x.lease_until > $3 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status = 'pending' AND x.available_at > $4 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status = 'pending' AND x.attempts = 0 AND x.available_at > $8 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.next_at > $5 AND x.xpub_van > $1 UNION SELECT w.xpub_van
	FROM @refresh_wallets w
	WHERE (w.not_before > $6 OR w.unserved_since > $7) AND w.xpub_van > $1 AND w.xpub_van IN (SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.status IN ('pending', 'processing') UNION SELECT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching')
	ORDER BY 1 LIMIT $2;
-- allConsumers
SELECT x.name, x.machines, x.cursor, x.lease_fence, x.lease_until, x.stopped, x.error, x.failed_at, x.late
	FROM @settle_consumers x
	WHERE x.name > $1
	ORDER BY x.name LIMIT $2;
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
	WHERE (x.created_at, x.job_id) > ($1, $2)
	ORDER BY x.created_at, x.job_id LIMIT $3;
-- allRefreshWallets
SELECT x.xpub_van
	FROM @refresh_wallets x
	WHERE x.xpub_van > $1
	ORDER BY x.xpub_van LIMIT $2;
-- allTxs
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	ORDER BY t.wallet_id, t.tx_hash;
-- allWaterlines
SELECT x.chain, x.own, x.at, x.seen, x.version
	FROM @swap_waterlines x;
-- alterDiscrepancies
UPDATE @swap_discrepancies AS x
	SET closed_by = r.closed_by, closed_at = r.closed_at, firm = r.firm
	FROM (SELECT u.closed_by, u.closed_at, u.firm, u.direction, u.item, u.kind, u.key
	FROM unnest($1::text::text[], $2::text::timestamptz[], $3::text::boolean[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[]) AS u(closed_by, closed_at, firm, direction, item, kind, key) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key;
-- alterIntents
UPDATE @swap_intents AS x
	SET destination = r.destination, net_units = r.net_units, fee_units = r.fee_units, send_by = r.send_by, outcome = r.outcome, txid = r.txid, proof = r.proof, is_final = r.is_final, closed_at = r.closed_at, claim = r.claim, seen_at = r.seen_at, missed = r.missed, missed_at = r.missed_at
	FROM (SELECT u.destination, u.net_units, u.fee_units, u.send_by, u.outcome, u.txid, u.proof, u.is_final, u.closed_at, u.claim, u.seen_at, u.missed, u.missed_at, u.direction, u.item, u.number
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::bigint[], $4::text::timestamptz[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::timestamptz[], $10::text::text[], $11::text::timestamptz[], $12::text::bigint[], $13::text::timestamptz[], $14::text::text[], $15::text::text[], $16::text::bigint[]) AS u(destination, net_units, fee_units, send_by, outcome, txid, proof, is_final, closed_at, claim, seen_at, missed, missed_at, direction, item, number) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.direction = r.direction AND x.item = r.item AND x.number = r.number;
-- alterParked
UPDATE @settle_parked AS x
	SET tries = r.tries, error = r.error, next_try = r.next_try
	FROM (SELECT u.tries, u.error, u.next_try, u.consumer, u.n
	FROM unnest($1::text::bigint[], $2::text::text[], $3::text::timestamptz[], $4::text::text[], $5::text::bigint[]) AS u(tries, error, next_try, consumer, n) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.consumer = r.consumer AND x.n = r.n;
-- ancestorsWithin
WITH RECURSIVE walk(tx_hash) AS (SELECT r.tx_hash
	FROM (SELECT u.tx_hash
	FROM unnest($2::text::bytea[]) AS u(tx_hash)) AS r UNION SELECT n.*
	FROM walk w
	CROSS JOIN LATERAL (SELECT i.prev_hash
	FROM @transactions t
	CROSS JOIN @tx_inputs i
	WHERE t.tx_hash = w.tx_hash AND ($1 = 1 AND t.status <> 'published' OR $1 = 2 AND coalesce(t.block_height, -1) < 0) AND NOT EXISTS (SELECT 1
	FROM @transactions o
	WHERE o.tx_hash = t.tx_hash AND o.wallet_id < t.wallet_id) AND i.wallet_id = t.wallet_id AND i.tx_id = t.id OFFSET 0) n) SELECT n.*
	FROM walk w
	CROSS JOIN LATERAL (SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.tx_hash = w.tx_hash AND ($1 = 1 AND t.status <> 'published' OR $1 = 2 AND coalesce(t.block_height, -1) < 0) OFFSET 0) n;
-- askSwitches
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_ask($1, false) x
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
	WHERE d.datname = current_database()) AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('@settle_switches ' || $1, 0)
	ORDER BY a.xact_start, l.pid;
-- attemptTable.made.insertOne
INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref) SELECT r.job_id, r.fence, r.worker, r.started_at, r.ended_at, r.outcome, r.error_message, r.tx_hash, r.dispatched_at, r.dispatch_ref
	FROM (SELECT u.job_id, u.fence, u.worker, u.started_at, u.ended_at, u.outcome, u.error_message, u.tx_hash, u.dispatched_at, u.dispatch_ref
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::text[], $4::text::timestamptz[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::timestamptz[], $10::text::text[]) AS u(job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref) LIMIT (SELECT NULL::bigint)) AS r;
-- attemptsOf
SELECT job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref
	FROM @withdrawal_attempts
	WHERE job_id = $1
	ORDER BY fence;
-- attemptsStarted[false]
SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1
	FROM @withdrawal_attempts p
	WHERE p.job_id = a.job_id AND p.fence < a.fence) THEN 1 ELSE 0 END), 0)
	FROM @withdrawal_attempts a
	JOIN @withdrawal_queue x ON x.id = a.job_id
	WHERE a.started_at >= $1 AND a.started_at < $2;
-- attemptsStarted[true]
SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1
	FROM @withdrawal_attempts p
	WHERE p.job_id = a.job_id AND p.fence < a.fence) THEN 1 ELSE 0 END), 0)
	FROM @withdrawal_attempts a
	JOIN @withdrawal_queue x ON x.id = a.job_id
	WHERE a.started_at >= $1 AND a.started_at < $2 AND x.chain_id = $3;
-- batchIDs
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.id > $1
	ORDER BY x.id LIMIT $2;
-- batchLeases.lost
SELECT r.id
	FROM (SELECT u.id, u.fence, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[]) AS u(id, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_batches x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- batchLeases.renew
UPDATE @withdrawal_batches AS x
	SET lease_until = r.until
	FROM (SELECT u.id, u.fence, u.until, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(id, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- batchTable.made.inOrder
SELECT x.id
	FROM @withdrawal_batches x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- batchTable.made.insertOne
INSERT INTO @withdrawal_batches (id, chain_id, operation_wallet_address_id, owner_job_id, nonce, input, members, created_at, status, txs_on_file, tx_hash, evidence_height, evidence_hash, gas_used, gas_price, ended_at, version, next_check_at, rebroadcast, lease_holder, lease_fence, lease_until) SELECT r.id, r.chain_id, r.operation_wallet_address_id, r.owner_job_id, r.nonce, r.input, r.members, r.created_at, r.status, r.txs_on_file, r.tx_hash, r.evidence_height, r.evidence_hash, r.gas_used, r.gas_price, r.ended_at, r.version, r.next_check_at, r.rebroadcast, r.lease_holder, r.lease_fence, r.lease_until
	FROM (SELECT u.id, u.chain_id, u.operation_wallet_address_id, u.owner_job_id, u.nonce, u.input, u.members, u.created_at, u.status, u.txs_on_file, u.tx_hash, u.evidence_height, u.evidence_hash, u.gas_used, u.gas_price, u.ended_at, u.version, u.next_check_at, u.rebroadcast, u.lease_holder, u.lease_fence, u.lease_until
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::uuid[], $4::text::uuid[], $5::text::bigint[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::bigint[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::text[], $15::text::text[], $16::text::timestamptz[], $17::text::bigint[], $18::text::timestamptz[], $19::text::boolean[], $20::text::text[], $21::text::bigint[], $22::text::timestamptz[]) AS u(id, chain_id, operation_wallet_address_id, owner_job_id, nonce, input, members, created_at, status, txs_on_file, tx_hash, evidence_height, evidence_hash, gas_used, gas_price, ended_at, version, next_check_at, rebroadcast, lease_holder, lease_fence, lease_until) LIMIT (SELECT NULL::bigint)) AS r;
-- batchTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::uuid[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, x.lease_fence, l.version
	FROM @withdrawal_batches x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- batchTable.made.touchOne
UPDATE @withdrawal_batches AS x
	SET next_check_at = r.next_check_at, rebroadcast = r.rebroadcast, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END
	FROM (SELECT u.next_check_at, u.rebroadcast, u.lease_holder, u.lease_fence, u.lease_until, u.id, u.old_version, u.old_next_check_at, u.old_rebroadcast, u.old_lease_holder, u.old_lease_fence
	FROM unnest($1::text::timestamptz[], $2::text::boolean[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::uuid[], $7::text::bigint[], $8::text::timestamptz[], $9::text::boolean[], $10::text::text[], $11::text::bigint[]) AS u(next_check_at, rebroadcast, lease_holder, lease_fence, lease_until, id, old_version, old_next_check_at, old_rebroadcast, old_lease_holder, old_lease_fence) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.next_check_at IS NOT DISTINCT
	FROM r.old_next_check_at AND x.rebroadcast IS NOT DISTINCT
	FROM r.old_rebroadcast AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence;
-- batchTable.made.updateOne
UPDATE @withdrawal_batches AS x
	SET status = r.status, txs_on_file = r.txs_on_file, tx_hash = r.tx_hash, evidence_height = r.evidence_height, evidence_hash = r.evidence_hash, gas_used = r.gas_used, gas_price = r.gas_price, ended_at = r.ended_at, version = r.version, next_check_at = r.next_check_at, rebroadcast = r.rebroadcast, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END
	FROM (SELECT u.status, u.txs_on_file, u.tx_hash, u.evidence_height, u.evidence_hash, u.gas_used, u.gas_price, u.ended_at, u.version, u.next_check_at, u.rebroadcast, u.lease_holder, u.lease_fence, u.lease_until, u.id, u.old_version, u.old_next_check_at, u.old_rebroadcast, u.old_lease_holder, u.old_lease_fence
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::timestamptz[], $9::text::bigint[], $10::text::timestamptz[], $11::text::boolean[], $12::text::text[], $13::text::bigint[], $14::text::timestamptz[], $15::text::uuid[], $16::text::bigint[], $17::text::timestamptz[], $18::text::boolean[], $19::text::text[], $20::text::bigint[]) AS u(status, txs_on_file, tx_hash, evidence_height, evidence_hash, gas_used, gas_price, ended_at, version, next_check_at, rebroadcast, lease_holder, lease_fence, lease_until, id, old_version, old_next_check_at, old_rebroadcast, old_lease_holder, old_lease_fence) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.next_check_at IS NOT DISTINCT
	FROM r.old_next_check_at AND x.rebroadcast IS NOT DISTINCT
	FROM r.old_rebroadcast AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence;
-- batchTxTable.made.insertOne
INSERT INTO @withdrawal_batch_txs (batch_id, seq, tx_hash, raw_tx, created_at) SELECT r.batch_id, r.seq, r.tx_hash, r.raw_tx, r.created_at
	FROM (SELECT u.batch_id, u.seq, u.tx_hash, u.raw_tx, u.created_at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::text[], $4::text::bytea[], $5::text::timestamptz[]) AS u(batch_id, seq, tx_hash, raw_tx, created_at) LIMIT (SELECT NULL::bigint)) AS r;
-- blocksNamed
SELECT n.*
	FROM (SELECT u.block_hash
	FROM unnest($1::text::bytea[]) AS u(block_hash)) AS r
	CROSS JOIN LATERAL (SELECT b.block_height, b.block_hash, b.prev_hash, b.block_time
	FROM @blocks b
	WHERE b.block_hash = r.block_hash OFFSET 0) n;
-- closeDiscrepancy
UPDATE @swap_discrepancies AS x
	SET closed_by = coalesce(x.closed_by, r.closed_by), closed_at = coalesce(x.closed_at, r.closed_at), firm = r.firm
	FROM (SELECT u.closed_by, u.closed_at, u.firm, u.direction, u.item, u.kind, u.key
	FROM unnest($1::text::text[], $2::text::timestamptz[], $3::text::boolean[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[]) AS u(closed_by, closed_at, firm, direction, item, kind, key) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key;
-- coinsNamed
SELECT n.*
	FROM (SELECT u.tx_hash, u.output_index
	FROM unnest($2::text::bytea[], $3::text::bigint[]) AS u(tx_hash, output_index)) AS r
	CROSS JOIN LATERAL (SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase, s.tx_hash
	FROM @utxos u
	CROSS JOIN @transactions t
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE u.wallet_id = $1 AND u.output_index = r.output_index AND u.tx_id = (SELECT n.id
	FROM @transactions n
	WHERE n.tx_hash = r.tx_hash AND n.wallet_id = $1) AND t.id = u.tx_id OFFSET 0) n;
-- consumerTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.name, u.name
	FROM unnest($1::text::text[], $2::text::text[]) AS u(name, name) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.name
	FROM @settle_consumers x
	WHERE x.name = r.name AND NOT (x.name = r.name) OFFSET 0) n;
-- consumerTable.made.insertOne
INSERT INTO @settle_consumers (name, machines, cursor, lease_fence, lease_until, stopped, error, failed_at, late) SELECT r.name, r.machines, r.cursor, r.lease_fence, r.lease_until, r.stopped, r.error, r.failed_at, r.late
	FROM (SELECT u.name, u.machines, u.cursor, u.lease_fence, u.lease_until, u.stopped, u.error, u.failed_at, u.late
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::boolean[], $7::text::text[], $8::text::timestamptz[], $9::text::bigint[]) AS u(name, machines, cursor, lease_fence, lease_until, stopped, error, failed_at, late) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- controlTable.made.inOrder
SELECT x.id
	FROM @swap_control x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::bigint[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- controlTable.made.insertOne
INSERT INTO @swap_control (id, generation, recovered_at, solana_scanned, nexus_scanned, missing_said, books_read, reference, version) SELECT r.id, r.generation, r.recovered_at, r.solana_scanned, r.nexus_scanned, r.missing_said, r.books_read, r.reference, r.version
	FROM (SELECT u.id, u.generation, u.recovered_at, u.solana_scanned, u.nexus_scanned, u.missing_said, u.books_read, u.reference, u.version
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::timestamptz[], $4::text::boolean[], $5::text::boolean[], $6::text::timestamptz[], $7::text::timestamptz[], $8::text::bigint[], $9::text::bigint[]) AS u(id, generation, recovered_at, solana_scanned, nexus_scanned, missing_said, books_read, reference, version) LIMIT (SELECT NULL::bigint)) AS r;
-- controlTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::bigint[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, 0, l.version
	FROM @swap_control x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- controlTable.made.touchOne
UPDATE @swap_control AS x
	SET  = r.
	FROM (SELECT u., u.id, u.old_version
	FROM unnest($1::text::[], $2::text::bigint[], $3::text::bigint[]) AS u(, id, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version;
-- controlTable.made.updateOne
UPDATE @swap_control AS x
	SET generation = r.generation, recovered_at = r.recovered_at, solana_scanned = r.solana_scanned, nexus_scanned = r.nexus_scanned, missing_said = r.missing_said, books_read = r.books_read, reference = r.reference, version = r.version
	FROM (SELECT u.generation, u.recovered_at, u.solana_scanned, u.nexus_scanned, u.missing_said, u.books_read, u.reference, u.version, u.id, u.old_version
	FROM unnest($1::text::bigint[], $2::text::timestamptz[], $3::text::boolean[], $4::text::boolean[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::bigint[], $8::text::bigint[], $9::text::bigint[], $10::text::bigint[]) AS u(generation, recovered_at, solana_scanned, nexus_scanned, missing_said, books_read, reference, version, id, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version;
-- countActivities
SELECT count(CASE WHEN activity_type = 'fail_relay_sync' THEN 1 END), count(CASE WHEN activity_type = 'complete_relay_sync' THEN 1 END)
	FROM @activities
	WHERE activity_type IN ('fail_relay_sync', 'complete_relay_sync') AND resource_type = 'relay' AND created_at >= $1 AND created_at < $2;
-- countBatches[false]
SELECT coalesce(sum(CASE WHEN x.next_check_at < $1 THEN 1 END), 0), min(x.created_at), max(x.created_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming';
-- countBatches[true]
SELECT coalesce(sum(CASE WHEN x.next_check_at < $1 THEN 1 END), 0), min(x.created_at), max(x.created_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.chain_id = $2;
-- countEnded
SELECT record, status, CAST(sum(n) AS bigint)
	FROM @withdrawal_counts
	WHERE record IN ($1, $2)
	GROUP BY record, status;
-- countIncidents[false]
SELECT count(*)
	FROM @withdrawal_incidents i
	JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id
	WHERE i.at >= $1 AND i.at < $2;
-- countIncidents[true]
SELECT count(*)
	FROM @withdrawal_incidents i
	JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id
	WHERE i.at >= $1 AND i.at < $2 AND q.chain_id = $3;
-- countInvoices
SELECT count(CASE WHEN paid_at IS NULL AND voided_at IS NULL AND amount > 0 THEN 1 END), count(CASE WHEN charge <> 'none' THEN 1 END), min(CASE WHEN charge <> 'none' THEN charge_at END), max(CASE WHEN charge <> 'none' THEN charge_at END), count(overpaid_at), CAST(coalesce(sum(CASE WHEN paid_at IS NULL AND voided_at IS NULL AND amount > 0 THEN amount / 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN paid_at IS NULL AND voided_at IS NULL AND amount > 0 THEN amount % 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN charge <> 'none' THEN charge_amount / 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN charge <> 'none' THEN charge_amount % 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN charge = 'unknown' OR charge = 'open' AND charge_after <= $1 OR overpaid_at IS NOT NULL THEN amount / 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN charge = 'unknown' OR charge = 'open' AND charge_after <= $1 OR overpaid_at IS NOT NULL THEN amount % 4294967296 END), 0) AS bigint)
	FROM @invoices
	WHERE paid_at IS NULL AND voided_at IS NULL OR charge <> 'none' OR overpaid_at IS NOT NULL;
-- countJobs[false]
SELECT 'pending', count(*), min(CASE WHEN x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= $1 THEN x.scheduled_at END), 0, NULL, 0, max(x.scheduled_from)
	FROM @withdrawal_queue x
	WHERE x.status = 'pending'
	UNION ALL SELECT 'processing', count(*), NULL, coalesce(sum(CASE WHEN x.status = 'processing' AND NOT x.review AND x.lease_until <= $1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing'
	UNION ALL SELECT 'confirming', count(*), min(x.broadcast_at), coalesce(sum(CASE WHEN x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $1 AND x.next_check_at < $1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review AND x.claimed_at > x.broadcast_at THEN x.claimed_at ELSE x.broadcast_at END)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming';
-- countJobs[true]
SELECT 'pending', count(*), min(CASE WHEN x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= $1 THEN x.scheduled_at END), 0, NULL, 0, max(x.scheduled_from)
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND x.chain_id = $2
	UNION ALL SELECT 'processing', count(*), NULL, coalesce(sum(CASE WHEN x.status = 'processing' AND NOT x.review AND x.lease_until <= $1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND x.chain_id = $2
	UNION ALL SELECT 'confirming', count(*), min(x.broadcast_at), coalesce(sum(CASE WHEN x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $1 AND x.next_check_at < $1 THEN 1 END), 0), min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0), max(CASE WHEN x.review AND x.claimed_at > x.broadcast_at THEN x.claimed_at ELSE x.broadcast_at END)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.chain_id = $2;
-- countMissed
SELECT count(*), CAST(coalesce(sum(CASE WHEN true THEN i.amount / 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN true THEN i.amount % 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN overpaid_at IS NULL THEN i.amount / 4294967296 END), 0) AS bigint), CAST(coalesce(sum(CASE WHEN overpaid_at IS NULL THEN i.amount % 4294967296 END), 0) AS bigint)
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
	WHERE a.withdrawal_request_id = i.withdrawal_request_id AND a.tx_hash = i.tx_hash AND a.claim = i.claim AND a.block_hash = i.block_hash) AND q.chain_id = $1;
-- countPaidAndRefunded[false]
SELECT count(*)
	FROM @withdrawal_requests x
	WHERE x.paid_after IS NOT NULL AND NOT x.acknowledged;
-- countPaidAndRefunded[true]
SELECT count(*)
	FROM @withdrawal_requests x
	WHERE x.paid_after IS NOT NULL AND NOT x.acknowledged AND x.chain_id = $1;
-- countParked
SELECT count(*), coalesce(max(n), 0)
	FROM @settle_parked
	WHERE consumer = $1;
-- countRelays
SELECT (CASE WHEN x.deleted_at IS NOT NULL THEN 'deleted' WHEN x.claimed_at IS NOT NULL THEN 'syncing' WHEN x.exhausted THEN 'exhausted' WHEN x.due_at IS NULL THEN 'clean' WHEN x.backoff THEN 'waiting' ELSE 'due' END), count(*), min(CASE WHEN x.claimed_at IS NULL AND x.due_at <= $1 THEN x.due_at END), min(CASE WHEN (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) THEN coalesce(x.since, (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END)) END), max(CASE WHEN (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) THEN x.since END), max(CASE WHEN (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) THEN (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) END), count(CASE WHEN x.claimed_at IS NOT NULL AND x.lease_until <= $1 THEN 1 END), coalesce(sum(CASE WHEN x.claimed_at IS NOT NULL THEN x.lapses END), 0), count(CASE WHEN x.synced = 0 OR trim(x.sync_error, ' 	                  　') <> '' THEN 1 END)
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
	WHERE status IN ('pending', 'approved', 'queued') AND chain_id = $1
	GROUP BY status;
-- countTenants
SELECT count(CASE WHEN churned_at IS NULL THEN 1 END), count(churned_at), max(due_at), max(churned_at), min(CASE WHEN x.due_at IS NOT NULL AND x.due_at <= $1 THEN x.due_at END)
	FROM @tenants x;
-- creditSwaps.get
SELECT n.*
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @unprocessed_txids x
	WHERE x.txid = r.txid
	UNION ALL SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @processed_txids x
	WHERE x.txid = r.txid
	UNION ALL SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @refunded_txids x
	WHERE x.txid = r.txid
	UNION ALL SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @quarantined_txids x
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditSwaps.places[0].due.ahead[0]
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[0].due.found[0]
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[0].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @unprocessed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- creditSwaps.places[0].held
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE x.lease_holder = $3 AND x.txid > $1
	ORDER BY x.txid LIMIT $2;
-- creditSwaps.places[0].leases.lost
SELECT r.txid
	FROM (SELECT u.txid, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(txid, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @unprocessed_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[0].leases.renew
UPDATE @unprocessed_txids AS x
	SET lease_until = r.until
	FROM (SELECT u.txid, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(txid, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- creditSwaps.places[0].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @unprocessed_txids x
	WHERE (txid) > ($1)
	ORDER BY txid LIMIT $2;
-- creditSwaps.places[0].remove
DELETE
	FROM @unprocessed_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[0].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @unprocessed_txids x
	WHERE $1 = $1 AND $2 = $2;
-- creditSwaps.places[0].table.made.inOrder
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[0].table.made.insertOne
INSERT INTO @unprocessed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner_from_address, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner_from_address, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::timestamptz[], $18::text::bigint[], $19::text::boolean[], $20::text::bigint[], $21::text::bigint[], $22::text::bigint[], $23::text::boolean[], $24::text::boolean[], $25::text::bigint[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::text[], $33::text::bigint[], $34::text::bigint[], $35::text::bigint[], $36::text::text[], $37::text::text[], $38::text::timestamptz[], $39::text::timestamptz[], $40::text::text[], $41::text::bigint[], $42::text::timestamptz[], $43::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditSwaps.places[0].table.made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @unprocessed_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditSwaps.places[0].table.made.touchOne
UPDATE @unprocessed_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[0].table.made.updateOne
UPDATE @unprocessed_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::timestamptz[], $10::text::bigint[], $11::text::boolean[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::boolean[], $16::text::boolean[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::text[], $22::text::text[], $23::text::timestamptz[], $24::text::text[], $25::text::bigint[], $26::text::bigint[], $27::text::bigint[], $28::text::text[], $29::text::text[], $30::text::timestamptz[], $31::text::timestamptz[], $32::text::text[], $33::text::bigint[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::text[], $39::text::bigint[], $40::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[1].due.ahead[0]
SELECT x.txid
	FROM @processed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[1].due.found[0]
SELECT x.txid
	FROM @processed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[1].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @processed_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- creditSwaps.places[1].held
SELECT x.txid
	FROM @processed_txids x
	WHERE x.lease_holder = $3 AND x.txid > $1
	ORDER BY x.txid LIMIT $2;
-- creditSwaps.places[1].leases.lost
SELECT r.txid
	FROM (SELECT u.txid, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(txid, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @processed_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[1].leases.renew
UPDATE @processed_txids AS x
	SET lease_until = r.until
	FROM (SELECT u.txid, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(txid, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- creditSwaps.places[1].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.sig, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @processed_txids x
	WHERE (txid) > ($1)
	ORDER BY txid LIMIT $2;
-- creditSwaps.places[1].remove
DELETE
	FROM @processed_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[1].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @processed_txids x
	WHERE x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1;
-- creditSwaps.places[1].table.made.inOrder
SELECT x.txid
	FROM @processed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[1].table.made.insertOne
INSERT INTO @processed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.sig, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::text[], $18::text::timestamptz[], $19::text::bigint[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::boolean[], $25::text::boolean[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::bigint[], $36::text::bigint[], $37::text::text[], $38::text::text[], $39::text::timestamptz[], $40::text::timestamptz[], $41::text::text[], $42::text::bigint[], $43::text::timestamptz[], $44::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditSwaps.places[1].table.made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @processed_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditSwaps.places[1].table.made.touchOne
UPDATE @processed_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[1].table.made.updateOne
UPDATE @processed_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, sig = r.sig, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[], $11::text::bigint[], $12::text::boolean[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::boolean[], $17::text::boolean[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::text[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[], $36::text::timestamptz[], $37::text::text[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[2].due.ahead[0]
SELECT x.txid
	FROM @refunded_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[2].due.found[0]
SELECT x.txid
	FROM @refunded_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[2].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @refunded_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- creditSwaps.places[2].held
SELECT x.txid
	FROM @refunded_txids x
	WHERE x.lease_holder = $3 AND x.txid > $1
	ORDER BY x.txid LIMIT $2;
-- creditSwaps.places[2].leases.lost
SELECT r.txid
	FROM (SELECT u.txid, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(txid, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refunded_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[2].leases.renew
UPDATE @refunded_txids AS x
	SET lease_until = r.until
	FROM (SELECT u.txid, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(txid, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- creditSwaps.places[2].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner_from_address, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.sig, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @refunded_txids x
	WHERE (txid) > ($1)
	ORDER BY txid LIMIT $2;
-- creditSwaps.places[2].remove
DELETE
	FROM @refunded_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[2].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @refunded_txids x
	WHERE x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1;
-- creditSwaps.places[2].table.made.inOrder
SELECT x.txid
	FROM @refunded_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[2].table.made.insertOne
INSERT INTO @refunded_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner_from_address, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.sig, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner_from_address, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::text[], $18::text::timestamptz[], $19::text::bigint[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::boolean[], $25::text::boolean[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::bigint[], $36::text::bigint[], $37::text::text[], $38::text::text[], $39::text::timestamptz[], $40::text::timestamptz[], $41::text::text[], $42::text::bigint[], $43::text::timestamptz[], $44::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditSwaps.places[2].table.made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @refunded_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditSwaps.places[2].table.made.touchOne
UPDATE @refunded_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[2].table.made.updateOne
UPDATE @refunded_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, sig = r.sig, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[], $11::text::bigint[], $12::text::boolean[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::boolean[], $17::text::boolean[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::text[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[], $36::text::timestamptz[], $37::text::text[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[3].due.ahead[0]
SELECT x.txid
	FROM @quarantined_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[3].due.found[0]
SELECT x.txid
	FROM @quarantined_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.txid LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- creditSwaps.places[3].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @quarantined_txids x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- creditSwaps.places[3].held
SELECT x.txid
	FROM @quarantined_txids x
	WHERE x.lease_holder = $3 AND x.txid > $1
	ORDER BY x.txid LIMIT $2;
-- creditSwaps.places[3].leases.lost
SELECT r.txid
	FROM (SELECT u.txid, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(txid, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @quarantined_txids x
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- creditSwaps.places[3].leases.renew
UPDATE @quarantined_txids AS x
	SET lease_until = r.until
	FROM (SELECT u.txid, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(txid, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- creditSwaps.places[3].list
SELECT x.txid, x.amount_usdd, x.amount_usdd_units, x.to_address, x.owner, x.from_address, x.item_time, x.stored_at, x.status, x.receival_account, x.confirmations_credit, x.timestamp, x.counted_at, x.gone_at, x.collecting, x.settled_by, x.sig, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @quarantined_txids x
	WHERE (txid) > ($1)
	ORDER BY txid LIMIT $2;
-- creditSwaps.places[3].remove
DELETE
	FROM @quarantined_txids
	WHERE txid IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid)) AS r)
	RETURNING txid, lease_until;
-- creditSwaps.places[3].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdd_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'credit' AND t.item = x.txid AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @quarantined_txids x
	WHERE x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1;
-- creditSwaps.places[3].table.made.inOrder
SELECT x.txid
	FROM @quarantined_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditSwaps.places[3].table.made.insertOne
INSERT INTO @quarantined_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.sig, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::text[], $18::text::timestamptz[], $19::text::bigint[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::boolean[], $25::text::boolean[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::bigint[], $36::text::bigint[], $37::text::text[], $38::text::text[], $39::text::timestamptz[], $40::text::timestamptz[], $41::text::text[], $42::text::bigint[], $43::text::timestamptz[], $44::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditSwaps.places[3].table.made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @quarantined_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditSwaps.places[3].table.made.touchOne
UPDATE @quarantined_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditSwaps.places[3].table.made.updateOne
UPDATE @quarantined_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, sig = r.sig, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[], $11::text::bigint[], $12::text::boolean[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::boolean[], $17::text::boolean[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::text[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[], $36::text::timestamptz[], $37::text::text[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[processed].made.inOrder
SELECT x.txid
	FROM @processed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[processed].made.insertOne
INSERT INTO @processed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.sig, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::text[], $18::text::timestamptz[], $19::text::bigint[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::boolean[], $25::text::boolean[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::bigint[], $36::text::bigint[], $37::text::text[], $38::text::text[], $39::text::timestamptz[], $40::text::timestamptz[], $41::text::text[], $42::text::bigint[], $43::text::timestamptz[], $44::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditTables[processed].made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @processed_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditTables[processed].made.touchOne
UPDATE @processed_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[processed].made.updateOne
UPDATE @processed_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, sig = r.sig, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[], $11::text::bigint[], $12::text::boolean[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::boolean[], $17::text::boolean[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::text[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[], $36::text::timestamptz[], $37::text::text[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[quarantined].made.inOrder
SELECT x.txid
	FROM @quarantined_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[quarantined].made.insertOne
INSERT INTO @quarantined_txids (txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.sig, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::text[], $18::text::timestamptz[], $19::text::bigint[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::boolean[], $25::text::boolean[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::bigint[], $36::text::bigint[], $37::text::text[], $38::text::text[], $39::text::timestamptz[], $40::text::timestamptz[], $41::text::text[], $42::text::bigint[], $43::text::timestamptz[], $44::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditTables[quarantined].made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @quarantined_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditTables[quarantined].made.touchOne
UPDATE @quarantined_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[quarantined].made.updateOne
UPDATE @quarantined_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, sig = r.sig, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[], $11::text::bigint[], $12::text::boolean[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::boolean[], $17::text::boolean[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::text[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[], $36::text::timestamptz[], $37::text::text[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[refunded].made.inOrder
SELECT x.txid
	FROM @refunded_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[refunded].made.insertOne
INSERT INTO @refunded_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner_from_address, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.sig, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner_from_address, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::text[], $18::text::timestamptz[], $19::text::bigint[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::boolean[], $25::text::boolean[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::bigint[], $36::text::bigint[], $37::text::text[], $38::text::text[], $39::text::timestamptz[], $40::text::timestamptz[], $41::text::text[], $42::text::bigint[], $43::text::timestamptz[], $44::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditTables[refunded].made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @refunded_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditTables[refunded].made.touchOne
UPDATE @refunded_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[refunded].made.updateOne
UPDATE @refunded_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, sig = r.sig, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.sig, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[], $11::text::bigint[], $12::text::boolean[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::boolean[], $17::text::boolean[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::text[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[], $36::text::timestamptz[], $37::text::text[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, sig, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[unprocessed].made.inOrder
SELECT x.txid
	FROM @unprocessed_txids x
	WHERE (x.txid) IN (SELECT r.txid
	FROM (SELECT u.txid
	FROM unnest($1::text::text[]) AS u(txid) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.txid FOR NO KEY UPDATE OF x;
-- creditTables[unprocessed].made.insertOne
INSERT INTO @unprocessed_txids (txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.txid, r.amount_usdd, r.amount_usdd_units, r.to_address, r.owner_from_address, r.from_address, r.item_time, r.stored_at, r.status, r.receival_account, r.confirmations_credit, r.timestamp, r.counted_at, r.gone_at, r.collecting, r.settled_by, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.txid, u.amount_usdd, u.amount_usdd_units, u.to_address, u.owner_from_address, u.from_address, u.item_time, u.stored_at, u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[], $15::text::boolean[], $16::text::bigint[], $17::text::timestamptz[], $18::text::bigint[], $19::text::boolean[], $20::text::bigint[], $21::text::bigint[], $22::text::bigint[], $23::text::boolean[], $24::text::boolean[], $25::text::bigint[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::text[], $30::text::text[], $31::text::timestamptz[], $32::text::text[], $33::text::bigint[], $34::text::bigint[], $35::text::bigint[], $36::text::text[], $37::text::text[], $38::text::timestamptz[], $39::text::timestamptz[], $40::text::text[], $41::text::bigint[], $42::text::timestamptz[], $43::text::timestamptz[]) AS u(txid, amount_usdd, amount_usdd_units, to_address, owner_from_address, from_address, item_time, stored_at, status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- creditTables[unprocessed].made.storedNow
SELECT n.*
	FROM (SELECT u.txid, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(txid, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.txid, x.version, x.lease_fence, l.version
	FROM @unprocessed_txids x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.txid = r.txid OFFSET 0) n;
-- creditTables[unprocessed].made.touchOne
UPDATE @unprocessed_txids AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- creditTables[unprocessed].made.updateOne
UPDATE @unprocessed_txids AS x
	SET status = r.status, receival_account = r.receival_account, confirmations_credit = r.confirmations_credit, timestamp = r.timestamp, counted_at = r.counted_at, gone_at = r.gone_at, collecting = r.collecting, settled_by = r.settled_by, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.receival_account, u.confirmations_credit, u.timestamp, u.counted_at, u.gone_at, u.collecting, u.settled_by, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.txid, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::boolean[], $8::text::bigint[], $9::text::timestamptz[], $10::text::bigint[], $11::text::boolean[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::boolean[], $16::text::boolean[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::bigint[], $21::text::text[], $22::text::text[], $23::text::timestamptz[], $24::text::text[], $25::text::bigint[], $26::text::bigint[], $27::text::bigint[], $28::text::text[], $29::text::text[], $30::text::timestamptz[], $31::text::timestamptz[], $32::text::text[], $33::text::bigint[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::text[], $39::text::bigint[], $40::text::timestamptz[]) AS u(status, receival_account, confirmations_credit, timestamp, counted_at, gone_at, collecting, settled_by, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, txid, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.txid = r.txid AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- declareEdges
UPDATE @tx_replacements AS e
	SET declared = true
	FROM (SELECT u.wallet_id, u.loser, u.winner
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[]) AS u(wallet_id, loser, winner)) AS r
	WHERE e.wallet_id = r.wallet_id AND e.replaced_tx_id = r.loser AND e.replacement_tx_id = r.winner AND NOT e.declared;
-- deleteBlocks
DELETE
	FROM @blocks
	WHERE (block_height, block_hash) IN (SELECT r.block_height, r.block_hash
	FROM (SELECT u.block_height, u.block_hash
	FROM unnest($3::text::bigint[], $4::text::bytea[]) AS u(block_height, block_hash)) AS r) AND block_height BETWEEN $1 AND $2 AND (SELECT max(block_height)
	FROM @blocks) <= $2;
-- deleteLeases
DELETE
	FROM @utxo_leases
	WHERE (wallet_id, utxo_id, lock_id, expires_at) IN (SELECT r.wallet_id, r.tx_id * 4294967296 + r.output_index, r.lock_id, r.expires_at
	FROM (SELECT u.wallet_id, u.tx_id, u.output_index, u.lock_id, u.expires_at
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bytea[], $5::text::timestamptz[]) AS u(wallet_id, tx_id, output_index, lock_id, expires_at)) AS r);
-- deleteParked
DELETE
	FROM @settle_parked
	WHERE consumer = $1 AND n = $2;
-- deleteProcesses
DELETE
	FROM @settle_processes
	WHERE (domain, name, version, policy, last_seen) IN (SELECT r.domain, r.name, r.version, r.policy, r.last_seen
	FROM (SELECT u.domain, u.name, u.version, u.policy, u.last_seen
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::timestamptz[]) AS u(domain, name, version, policy, last_seen) LIMIT (SELECT NULL::bigint)) AS r);
-- deleteScans
DELETE
	FROM @wallet_scans
	WHERE (wallet_id, scan_id, scanned_to) IN (SELECT r.wallet_id, r.scan_id, r.scanned_to
	FROM (SELECT u.wallet_id, u.scan_id, u.scanned_to
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[]) AS u(wallet_id, scan_id, scanned_to)) AS r);
-- depositSwaps.get
SELECT n.*
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @unprocessed_sigs x
	WHERE x.sig = r.sig
	UNION ALL SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @processed_sigs x
	WHERE x.sig = r.sig
	UNION ALL SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @refunded_sigs x
	WHERE x.sig = r.sig
	UNION ALL SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @quarantined_sigs x
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositSwaps.places[0].due.ahead[0]
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[0].due.found[0]
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[0].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @unprocessed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- depositSwaps.places[0].held
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE x.lease_holder = $3 AND x.sig > $1
	ORDER BY x.sig LIMIT $2;
-- depositSwaps.places[0].leases.lost
SELECT r.sig
	FROM (SELECT u.sig, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(sig, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @unprocessed_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[0].leases.renew
UPDATE @unprocessed_sigs AS x
	SET lease_until = r.until
	FROM (SELECT u.sig, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(sig, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- depositSwaps.places[0].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @unprocessed_sigs x
	WHERE (sig) > ($1)
	ORDER BY sig LIMIT $2;
-- depositSwaps.places[0].remove
DELETE
	FROM @unprocessed_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[0].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @unprocessed_sigs x
	WHERE $1 = $1 AND $2 = $2;
-- depositSwaps.places[0].table.made.inOrder
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[0].table.made.insertOne
INSERT INTO @unprocessed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::timestamptz[], $12::text::bigint[], $13::text::boolean[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[], $17::text::boolean[], $18::text::boolean[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::bigint[], $23::text::text[], $24::text::text[], $25::text::timestamptz[], $26::text::text[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::timestamptz[], $34::text::text[], $35::text::bigint[], $36::text::timestamptz[], $37::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositSwaps.places[0].table.made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @unprocessed_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositSwaps.places[0].table.made.touchOne
UPDATE @unprocessed_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[0].table.made.updateOne
UPDATE @unprocessed_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::timestamptz[], $7::text::bigint[], $8::text::boolean[], $9::text::bigint[], $10::text::bigint[], $11::text::bigint[], $12::text::boolean[], $13::text::boolean[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[], $17::text::bigint[], $18::text::text[], $19::text::text[], $20::text::timestamptz[], $21::text::text[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::timestamptz[], $29::text::text[], $30::text::bigint[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::text[], $36::text::bigint[], $37::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[1].due.ahead[0]
SELECT x.sig
	FROM @processed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[1].due.found[0]
SELECT x.sig
	FROM @processed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[1].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @processed_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- depositSwaps.places[1].held
SELECT x.sig
	FROM @processed_sigs x
	WHERE x.lease_holder = $3 AND x.sig > $1
	ORDER BY x.sig LIMIT $2;
-- depositSwaps.places[1].leases.lost
SELECT r.sig
	FROM (SELECT u.sig, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(sig, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @processed_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[1].leases.renew
UPDATE @processed_sigs AS x
	SET lease_until = r.until
	FROM (SELECT u.sig, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(sig, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- depositSwaps.places[1].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.amount_usdd, x.reference, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @processed_sigs x
	WHERE (sig) > ($1)
	ORDER BY sig LIMIT $2;
-- depositSwaps.places[1].remove
DELETE
	FROM @processed_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[1].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @processed_sigs x
	WHERE x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1;
-- depositSwaps.places[1].table.made.inOrder
SELECT x.sig
	FROM @processed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[1].table.made.insertOne
INSERT INTO @processed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.amount_usdd, r.reference, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.amount_usdd, u.reference, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[], $14::text::bigint[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::boolean[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::text[], $29::text::bigint[], $30::text::bigint[], $31::text::bigint[], $32::text::text[], $33::text::text[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::timestamptz[], $39::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositSwaps.places[1].table.made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @processed_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositSwaps.places[1].table.made.touchOne
UPDATE @processed_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[1].table.made.updateOne
UPDATE @processed_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, amount_usdd = r.amount_usdd, reference = r.reference, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.amount_usdd, u.reference, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::boolean[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::timestamptz[], $23::text::text[], $24::text::bigint[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::text[], $36::text::bigint[], $37::text::text[], $38::text::bigint[], $39::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[2].due.ahead[0]
SELECT x.sig
	FROM @refunded_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[2].due.found[0]
SELECT x.sig
	FROM @refunded_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[2].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @refunded_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- depositSwaps.places[2].held
SELECT x.sig
	FROM @refunded_sigs x
	WHERE x.lease_holder = $3 AND x.sig > $1
	ORDER BY x.sig LIMIT $2;
-- depositSwaps.places[2].leases.lost
SELECT r.sig
	FROM (SELECT u.sig, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(sig, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refunded_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[2].leases.renew
UPDATE @refunded_sigs AS x
	SET lease_until = r.until
	FROM (SELECT u.sig, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(sig, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- depositSwaps.places[2].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.refund_sig, x.refunded_units, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @refunded_sigs x
	WHERE (sig) > ($1)
	ORDER BY sig LIMIT $2;
-- depositSwaps.places[2].remove
DELETE
	FROM @refunded_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[2].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @refunded_sigs x
	WHERE x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1;
-- depositSwaps.places[2].table.made.inOrder
SELECT x.sig
	FROM @refunded_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[2].table.made.insertOne
INSERT INTO @refunded_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.refund_sig, r.refunded_units, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.refund_sig, u.refunded_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[], $14::text::bigint[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::boolean[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::text[], $29::text::bigint[], $30::text::bigint[], $31::text::bigint[], $32::text::text[], $33::text::text[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::timestamptz[], $39::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositSwaps.places[2].table.made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @refunded_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositSwaps.places[2].table.made.touchOne
UPDATE @refunded_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[2].table.made.updateOne
UPDATE @refunded_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, refund_sig = r.refund_sig, refunded_units = r.refunded_units, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.refund_sig, u.refunded_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::boolean[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::timestamptz[], $23::text::text[], $24::text::bigint[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::text[], $36::text::bigint[], $37::text::text[], $38::text::bigint[], $39::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[3].due.ahead[0]
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[3].due.found[0]
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) <= $2
	ORDER BY x.item_time, x.sig LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- depositSwaps.places[3].due.soon[0]
SELECT min((CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END))
	FROM @quarantined_sigs x
	WHERE x.check_at IS NOT NULL AND (CASE WHEN x.lease_holder IS NOT NULL AND x.lease_until > x.check_at THEN x.lease_until ELSE x.check_at END) > $1;
-- depositSwaps.places[3].held
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE x.lease_holder = $3 AND x.sig > $1
	ORDER BY x.sig LIMIT $2;
-- depositSwaps.places[3].leases.lost
SELECT r.sig
	FROM (SELECT u.sig, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(sig, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @quarantined_sigs x
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- depositSwaps.places[3].leases.renew
UPDATE @quarantined_sigs AS x
	SET lease_until = r.until
	FROM (SELECT u.sig, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(sig, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- depositSwaps.places[3].list
SELECT x.sig, x.amount_usdc_units, x.from_address, x.item_time, x.stored_at, x.status, x.memo, x.memo_read, x.timestamp, x.txid, x.quarantine_sig, x.quarantined_units, x.entered, x.version, x.terms_frozen, x.terms_net, x.terms_fee, x.terms_min, x.tried, x.account_checked, x.send_attempts, x.refund_attempts, x.quarantine_attempts, x.fee_units, x.refund_reason, x.hold_kind, x.hold_at, x.hold_reason, x.stood, x.looked_back, x.lost, x.by_hand_reference, x.by_hand_actor, x.by_hand_at, x.overdue_at, x.lease_holder, x.lease_fence, x.lease_until, x.check_at
	FROM @quarantined_sigs x
	WHERE (sig) > ($1)
	ORDER BY sig LIMIT $2;
-- depositSwaps.places[3].remove
DELETE
	FROM @quarantined_sigs
	WHERE sig IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig)) AS r)
	RETURNING sig, lease_until;
-- depositSwaps.places[3].stats
SELECT x.status, x.stored_at, x.entered, x.hold_kind, x.hold_at, x.overdue_at, x.by_hand_at, x.amount_usdc_units, EXISTS (SELECT 1
	FROM @swap_intents t
	WHERE t.direction = 'deposit' AND t.item = x.sig AND (t.outcome IS NULL OR t.outcome = 'unknown'))
	FROM @quarantined_sigs x
	WHERE x.entered >= $1 OR x.overdue_at < $2 OR x.by_hand_at >= $1;
-- depositSwaps.places[3].table.made.inOrder
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositSwaps.places[3].table.made.insertOne
INSERT INTO @quarantined_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.quarantine_sig, r.quarantined_units, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.quarantine_sig, u.quarantined_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[], $14::text::bigint[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::boolean[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::text[], $29::text::bigint[], $30::text::bigint[], $31::text::bigint[], $32::text::text[], $33::text::text[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::timestamptz[], $39::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositSwaps.places[3].table.made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @quarantined_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositSwaps.places[3].table.made.touchOne
UPDATE @quarantined_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositSwaps.places[3].table.made.updateOne
UPDATE @quarantined_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, quarantine_sig = r.quarantine_sig, quarantined_units = r.quarantined_units, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.quarantine_sig, u.quarantined_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::boolean[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::timestamptz[], $23::text::text[], $24::text::bigint[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::text[], $36::text::bigint[], $37::text::text[], $38::text::bigint[], $39::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTable.made.insertOne
INSERT INTO @deposits (tx_hash, output_index, wallet_id, owner_tag, amount, block_height, block_hash, in_chain, state, round, depth, deep_at, reversed_by, reason, changed_at) SELECT r.tx_hash, r.output_index, r.wallet_id, r.owner_tag, r.amount, r.block_height, r.block_hash, r.in_chain, r.state, r.round, r.depth, r.deep_at, r.reversed_by, r.reason, r.changed_at
	FROM (SELECT u.tx_hash, u.output_index, u.wallet_id, u.owner_tag, u.amount, u.block_height, u.block_hash, u.in_chain, u.state, u.round, u.depth, u.deep_at, u.reversed_by, u.reason, u.changed_at
	FROM unnest($1::text::bytea[], $2::text::bigint[], $3::text::bigint[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::bytea[], $8::text::boolean[], $9::text::text[], $10::text::bigint[], $11::text::bigint[], $12::text::bigint[], $13::text::text[], $14::text::text[], $15::text::timestamptz[]) AS u(tx_hash, output_index, wallet_id, owner_tag, amount, block_height, block_hash, in_chain, state, round, depth, deep_at, reversed_by, reason, changed_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositTables[processed].made.inOrder
SELECT x.sig
	FROM @processed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[processed].made.insertOne
INSERT INTO @processed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.amount_usdd, r.reference, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.amount_usdd, u.reference, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[], $14::text::bigint[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::boolean[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::text[], $29::text::bigint[], $30::text::bigint[], $31::text::bigint[], $32::text::text[], $33::text::text[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::timestamptz[], $39::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositTables[processed].made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @processed_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositTables[processed].made.touchOne
UPDATE @processed_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[processed].made.updateOne
UPDATE @processed_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, amount_usdd = r.amount_usdd, reference = r.reference, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.amount_usdd, u.reference, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::boolean[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::timestamptz[], $23::text::text[], $24::text::bigint[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::text[], $36::text::bigint[], $37::text::text[], $38::text::bigint[], $39::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, amount_usdd, reference, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[quarantined].made.inOrder
SELECT x.sig
	FROM @quarantined_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[quarantined].made.insertOne
INSERT INTO @quarantined_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.quarantine_sig, r.quarantined_units, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.quarantine_sig, u.quarantined_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[], $14::text::bigint[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::boolean[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::text[], $29::text::bigint[], $30::text::bigint[], $31::text::bigint[], $32::text::text[], $33::text::text[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::timestamptz[], $39::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositTables[quarantined].made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @quarantined_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositTables[quarantined].made.touchOne
UPDATE @quarantined_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[quarantined].made.updateOne
UPDATE @quarantined_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, quarantine_sig = r.quarantine_sig, quarantined_units = r.quarantined_units, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.quarantine_sig, u.quarantined_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::boolean[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::timestamptz[], $23::text::text[], $24::text::bigint[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::text[], $36::text::bigint[], $37::text::text[], $38::text::bigint[], $39::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, quarantine_sig, quarantined_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[refunded].made.inOrder
SELECT x.sig
	FROM @refunded_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[refunded].made.insertOne
INSERT INTO @refunded_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.refund_sig, r.refunded_units, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.refund_sig, u.refunded_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[], $14::text::bigint[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::boolean[], $20::text::boolean[], $21::text::bigint[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::text[], $29::text::bigint[], $30::text::bigint[], $31::text::bigint[], $32::text::text[], $33::text::text[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::text[], $37::text::bigint[], $38::text::timestamptz[], $39::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositTables[refunded].made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @refunded_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositTables[refunded].made.touchOne
UPDATE @refunded_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[refunded].made.updateOne
UPDATE @refunded_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, refund_sig = r.refund_sig, refunded_units = r.refunded_units, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.refund_sig, u.refunded_units, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::boolean[], $15::text::boolean[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::timestamptz[], $23::text::text[], $24::text::bigint[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::text[], $36::text::bigint[], $37::text::text[], $38::text::bigint[], $39::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, refund_sig, refunded_units, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[unprocessed].made.inOrder
SELECT x.sig
	FROM @unprocessed_sigs x
	WHERE (x.sig) IN (SELECT r.sig
	FROM (SELECT u.sig
	FROM unnest($1::text::text[]) AS u(sig) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.sig FOR NO KEY UPDATE OF x;
-- depositTables[unprocessed].made.insertOne
INSERT INTO @unprocessed_sigs (sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) SELECT r.sig, r.amount_usdc_units, r.from_address, r.item_time, r.stored_at, r.status, r.memo, r.memo_read, r.timestamp, r.txid, r.entered, r.version, r.terms_frozen, r.terms_net, r.terms_fee, r.terms_min, r.tried, r.account_checked, r.send_attempts, r.refund_attempts, r.quarantine_attempts, r.fee_units, r.refund_reason, r.hold_kind, r.hold_at, r.hold_reason, r.stood, r.looked_back, r.lost, r.by_hand_reference, r.by_hand_actor, r.by_hand_at, r.overdue_at, r.lease_holder, r.lease_fence, r.lease_until, r.check_at
	FROM (SELECT u.sig, u.amount_usdc_units, u.from_address, u.item_time, u.stored_at, u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::boolean[], $9::text::bigint[], $10::text::text[], $11::text::timestamptz[], $12::text::bigint[], $13::text::boolean[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[], $17::text::boolean[], $18::text::boolean[], $19::text::bigint[], $20::text::bigint[], $21::text::bigint[], $22::text::bigint[], $23::text::text[], $24::text::text[], $25::text::timestamptz[], $26::text::text[], $27::text::bigint[], $28::text::bigint[], $29::text::bigint[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::timestamptz[], $34::text::text[], $35::text::bigint[], $36::text::timestamptz[], $37::text::timestamptz[]) AS u(sig, amount_usdc_units, from_address, item_time, stored_at, status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at) LIMIT (SELECT NULL::bigint)) AS r;
-- depositTables[unprocessed].made.storedNow
SELECT n.*
	FROM (SELECT u.sig, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(sig, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.sig, x.version, x.lease_fence, l.version
	FROM @unprocessed_sigs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.sig = r.sig OFFSET 0) n;
-- depositTables[unprocessed].made.touchOne
UPDATE @unprocessed_sigs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositTables[unprocessed].made.updateOne
UPDATE @unprocessed_sigs AS x
	SET status = r.status, memo = r.memo, memo_read = r.memo_read, timestamp = r.timestamp, txid = r.txid, entered = r.entered, version = r.version, terms_frozen = r.terms_frozen, terms_net = r.terms_net, terms_fee = r.terms_fee, terms_min = r.terms_min, tried = r.tried, account_checked = r.account_checked, send_attempts = r.send_attempts, refund_attempts = r.refund_attempts, quarantine_attempts = r.quarantine_attempts, fee_units = r.fee_units, refund_reason = r.refund_reason, hold_kind = r.hold_kind, hold_at = r.hold_at, hold_reason = r.hold_reason, stood = r.stood, looked_back = r.looked_back, lost = r.lost, by_hand_reference = r.by_hand_reference, by_hand_actor = r.by_hand_actor, by_hand_at = r.by_hand_at, overdue_at = r.overdue_at, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, check_at = r.check_at
	FROM (SELECT u.status, u.memo, u.memo_read, u.timestamp, u.txid, u.entered, u.version, u.terms_frozen, u.terms_net, u.terms_fee, u.terms_min, u.tried, u.account_checked, u.send_attempts, u.refund_attempts, u.quarantine_attempts, u.fee_units, u.refund_reason, u.hold_kind, u.hold_at, u.hold_reason, u.stood, u.looked_back, u.lost, u.by_hand_reference, u.by_hand_actor, u.by_hand_at, u.overdue_at, u.lease_holder, u.lease_fence, u.lease_until, u.check_at, u.sig, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_check_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::boolean[], $4::text::bigint[], $5::text::text[], $6::text::timestamptz[], $7::text::bigint[], $8::text::boolean[], $9::text::bigint[], $10::text::bigint[], $11::text::bigint[], $12::text::boolean[], $13::text::boolean[], $14::text::bigint[], $15::text::bigint[], $16::text::bigint[], $17::text::bigint[], $18::text::text[], $19::text::text[], $20::text::timestamptz[], $21::text::text[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::timestamptz[], $29::text::text[], $30::text::bigint[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::text[], $36::text::bigint[], $37::text::timestamptz[]) AS u(status, memo, memo_read, timestamp, txid, entered, version, terms_frozen, terms_net, terms_fee, terms_min, tried, account_checked, send_attempts, refund_attempts, quarantine_attempts, fee_units, refund_reason, hold_kind, hold_at, hold_reason, stood, looked_back, lost, by_hand_reference, by_hand_actor, by_hand_at, overdue_at, lease_holder, lease_fence, lease_until, check_at, sig, old_version, old_lease_holder, old_lease_fence, old_check_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.sig = r.sig AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.check_at IS NOT DISTINCT
	FROM r.old_check_at;
-- depositsNamed
SELECT n.*
	FROM (SELECT u.tx_hash, u.output_index
	FROM unnest($1::text::bytea[], $2::text::bigint[]) AS u(tx_hash, output_index)) AS r
	CROSS JOIN LATERAL (SELECT x.tx_hash, x.output_index, x.wallet_id, x.owner_tag, x.amount, x.block_height, x.block_hash, x.in_chain, x.state, x.round, x.depth, x.deep_at, x.reversed_by, x.reason, x.changed_at
	FROM @deposits x
	WHERE x.tx_hash = r.tx_hash AND x.output_index = r.output_index OFFSET 0) n;
-- depositsShaken
SELECT x.tx_hash, x.output_index, x.wallet_id, x.owner_tag, x.amount, x.block_height, x.block_hash, x.in_chain, x.state, x.round, x.depth, x.deep_at, x.reversed_by, x.reason, x.changed_at
	FROM @deposits x
	WHERE x.state = 'credited' AND (x.deep_at, x.tx_hash, x.output_index) > ($1, $2, $3)
	ORDER BY x.deep_at, x.tx_hash, x.output_index LIMIT $4;
-- depositsWaiting
SELECT x.tx_hash, x.output_index, x.wallet_id, x.owner_tag, x.amount, x.block_height, x.block_hash, x.in_chain, x.state, x.round, x.depth, x.deep_at, x.reversed_by, x.reason, x.changed_at
	FROM @deposits x
	WHERE x.in_chain AND x.state <> 'credited' AND (x.block_height, x.tx_hash, x.output_index) > ($1, $2, $3) AND (x.amount >= $4 OR x.state = 'reversed')
	ORDER BY x.block_height, x.tx_hash, x.output_index LIMIT $5;
-- descendants
WITH RECURSIVE walk(tx_hash, go_on) AS (SELECT r.tx_hash, 1
	FROM (SELECT u.tx_hash
	FROM unnest($1::text::bytea[]) AS u(tx_hash)) AS r UNION SELECT n.*
	FROM walk w
	CROSS JOIN LATERAL (SELECT t.tx_hash, CASE WHEN t.block_height IS NULL THEN 1 ELSE 0 END
	FROM @tx_inputs i
	CROSS JOIN @transactions t
	WHERE w.go_on = 1 AND i.prev_hash = w.tx_hash AND t.id = i.tx_id AND t.status IN ('pending', 'published') OFFSET 0) n) SELECT n.*
	FROM walk w
	CROSS JOIN LATERAL (SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.tx_hash = w.tx_hash OFFSET 0) n;
-- discrepanciesOf
SELECT n.*
	FROM (SELECT u.direction, u.item
	FROM unnest($1::text::text[], $2::text::text[]) AS u(direction, item) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.n, x.direction, x.item, x.kind, x.key, x.chain, x.txid, x.amount_units, x.other_units, x.description, x.actor, x.at, x.closed_by, x.closed_at, x.firm
	FROM @swap_discrepancies x
	WHERE x.direction = r.direction AND x.item = r.item OFFSET 0) n;
-- discrepancyRows.behind
SELECT n, direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm
	FROM @swap_discrepancies
	WHERE n > $1
	ORDER BY n LIMIT $2;
-- discrepancyRows.lock
SELECT pg_advisory_xact_lock(hashtextextended('settle swap_discrepancies', 0));
-- discrepancyRows.table.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.direction, u.item, u.kind, u.key, u.direction, u.item, u.kind, u.key
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[]) AS u(direction, item, kind, key, direction, item, kind, key) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.direction, x.item, x.kind, x.key
	FROM @swap_discrepancies x
	WHERE x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key AND NOT (x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key) OFFSET 0) n;
-- discrepancyRows.table.made.insertOne
INSERT INTO @swap_discrepancies (direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm) SELECT r.direction, r.item, r.kind, r.key, r.chain, r.txid, r.amount_units, r.other_units, r.description, r.actor, r.at, r.closed_by, r.closed_at, r.firm
	FROM (SELECT u.direction, u.item, u.kind, u.key, u.chain, u.txid, u.amount_units, u.other_units, u.description, u.actor, u.at, u.closed_by, u.closed_at, u.firm
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::bigint[], $9::text::text[], $10::text::text[], $11::text::timestamptz[], $12::text::text[], $13::text::timestamptz[], $14::text::boolean[]) AS u(direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- discrepancyTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.direction, u.item, u.kind, u.key, u.direction, u.item, u.kind, u.key
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[]) AS u(direction, item, kind, key, direction, item, kind, key) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.direction, x.item, x.kind, x.key
	FROM @swap_discrepancies x
	WHERE x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key AND NOT (x.direction = r.direction AND x.item = r.item AND x.kind = r.kind AND x.key = r.key) OFFSET 0) n;
-- discrepancyTable.made.insertOne
INSERT INTO @swap_discrepancies (direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm) SELECT r.direction, r.item, r.kind, r.key, r.chain, r.txid, r.amount_units, r.other_units, r.description, r.actor, r.at, r.closed_by, r.closed_at, r.firm
	FROM (SELECT u.direction, u.item, u.kind, u.key, u.chain, u.txid, u.amount_units, u.other_units, u.description, u.actor, u.at, u.closed_by, u.closed_at, u.firm
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::bigint[], $9::text::text[], $10::text::text[], $11::text::timestamptz[], $12::text::text[], $13::text::timestamptz[], $14::text::boolean[]) AS u(direction, item, kind, key, chain, txid, amount_units, other_units, description, actor, at, closed_by, closed_at, firm) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- dueBatches[check].after[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND x.next_check_at > $1;
-- dueBatches[check].after[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND x.next_check_at > $1 AND x.chain_id = $2;
-- dueBatches[check].ahead[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at > $2 AND ((x.rebroadcast) OR x.next_check_at > $3)
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[check].ahead[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at > $2 AND ((x.rebroadcast) OR x.next_check_at > $3) AND x.chain_id = $4
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[check].found[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at <= $2 AND (NOT (x.rebroadcast) OR x.next_check_at <= $3)
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[check].found[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at <= $2 AND (NOT (x.rebroadcast) OR x.next_check_at <= $3) AND x.chain_id = $4
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[check].soon[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND NOT (x.rebroadcast) AND x.next_check_at > $1;
-- dueBatches[check].soon[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND NOT (x.rebroadcast) AND x.next_check_at > $1 AND x.chain_id = $2;
-- dueBatches[send].ahead[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > $2) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[send].ahead[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > $2) AND x.chain_id = $3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[send].found[0]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= $2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= $2) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[send].found[1]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= $2 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_batches l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < x.nonce AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= $2) AND x.chain_id = $3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueBatches[send].soon[0]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $1 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueBatches[send].soon[1]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.rebroadcast AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $1 AND x.chain_id = $2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueParked
SELECT x.consumer, x.n, x.machine, x.id, x.version, x.aggregate, x.parked_at, x.tries, x.error, x.next_try
	FROM @settle_parked x
	WHERE x.consumer = $1 AND (x.next_try <= $2 OR x.next_try > $3) AND NOT EXISTS (SELECT 1
	FROM @settle_parked e
	WHERE e.consumer = x.consumer AND e.aggregate = x.aggregate AND e.n < x.n)
	ORDER BY x.next_try, x.n LIMIT 1;
-- dueRelays.ahead[0]
SELECT x.id
	FROM @relays x
	WHERE (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) AND (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) > $2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays') AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays')
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send'))
	ORDER BY (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueRelays.found[0]
SELECT x.id
	FROM @relays x
	WHERE (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) AND (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) <= $2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays') AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays')
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send'))
	ORDER BY (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueRelays.soon[0]
SELECT min((CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END))
	FROM @relays x
	WHERE (x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL) AND (CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END) > $1 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays') AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'relays')
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send'));
-- dueTenants.ahead[0]
SELECT x.id
	FROM @tenants x
	WHERE x.due_at IS NOT NULL AND x.due_at > $2
	ORDER BY x.due_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueTenants.found[0]
SELECT x.id
	FROM @tenants x
	WHERE x.due_at IS NOT NULL AND x.due_at <= $2
	ORDER BY x.due_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueTenants.soon[0]
SELECT min(x.due_at)
	FROM @tenants x
	WHERE x.due_at IS NOT NULL AND x.due_at > $1;
-- dueWithdrawals[check].after[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.rebroadcast AND NOT x.review AND x.next_check_at > $1;
-- dueWithdrawals[check].after[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.rebroadcast AND NOT x.review AND x.next_check_at > $1 AND x.chain_id = $2;
-- dueWithdrawals[check].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at > $2 AND ((x.rebroadcast AND NOT x.review) OR x.next_check_at > $3)
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[check].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at > $2 AND ((x.rebroadcast AND NOT x.review) OR x.next_check_at > $3) AND x.chain_id = $4
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[check].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $2 AND (NOT (x.rebroadcast AND NOT x.review) OR x.next_check_at <= $3)
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[check].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $2 AND (NOT (x.rebroadcast AND NOT x.review) OR x.next_check_at <= $3) AND x.chain_id = $4
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[check].soon[0]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND NOT (x.rebroadcast AND NOT x.review) AND x.next_check_at > $1;
-- dueWithdrawals[check].soon[1]
SELECT min(x.next_check_at)
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.batch_id IS NULL AND NOT (x.rebroadcast AND NOT x.review) AND x.next_check_at > $1 AND x.chain_id = $2;
-- dueWithdrawals[claim].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > $2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $2 AND (x.scheduled_at <= $2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > $3) AND (x.offer_at IS NULL OR x.offer_at <= $2 OR x.offer_at > $3) AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[claim].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > $2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $2 AND (x.scheduled_at <= $2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > $3) AND (x.offer_at IS NULL OR x.offer_at <= $2 OR x.offer_at > $3) AND x.chain_id = $4 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $4) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $4)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $4 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[claim].ahead[2]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > $2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $2 AND (x.scheduled_at <= $2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > $3) AND (x.offer_at IS NULL OR x.offer_at <= $2 OR x.offer_at > $3) AND x.chain_id = $4 AND x.operation_wallet_address_id = $5 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $4) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $4)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $4 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[claim].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= $2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[claim].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= $2 AND x.chain_id = $3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[claim].found[2]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) <= $2 AND x.chain_id = $3 AND x.operation_wallet_address_id = $4 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[claim].soon[0]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $1 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
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
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $1 AND x.chain_id = $2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $2 AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
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
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $1 AND x.chain_id = $2 AND x.operation_wallet_address_id = $3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $2 AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
	FROM (SELECT 0 AS n
	UNION ALL SELECT 1 AS n
	UNION ALL SELECT 2 AS n) p;
-- dueWithdrawals[enqueue].ahead[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[enqueue].ahead[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $2 AND x.chain_id = $3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[enqueue].found[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= $2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[enqueue].found[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= $2 AND x.chain_id = $3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[enqueue].soon[0]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $1 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'));
-- dueWithdrawals[enqueue].soon[1]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND NOT x.held AND x.mined IS NULL AND x.strays_sent = 0 AND (x.taken IS NULL OR x.acknowledged) AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $1 AND x.chain_id = $2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $2 AND u.status = 'unknown outbound'));
-- dueWithdrawals[rebroadcast].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > $2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rebroadcast].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) > $2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND x.chain_id = $3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rebroadcast].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= $2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= $2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rebroadcast].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) <= $2 AND (x.nonce IS NULL OR x.id = (SELECT l.id
	FROM @withdrawal_queue l
	WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review AND l.nonce IS NOT NULL AND (CASE WHEN l.lease_until > l.next_check_at THEN l.lease_until ELSE l.next_check_at END) <= $2
	ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1)) AND x.chain_id = $3 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'))
	ORDER BY x.next_check_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rebroadcast].soon[0]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $1 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueWithdrawals[rebroadcast].soon[1]
SELECT min((CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'confirming' AND x.rebroadcast AND NOT x.review AND (CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END) > $1 AND x.chain_id = $2 AND NOT ((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2) AND s.level IN ('send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('send'));
-- dueWithdrawals[refund].ahead[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $2 AND NOT ((coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[refund].ahead[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $2 AND x.chain_id = $3 AND NOT ((coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[refund].found[0]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= $2 AND NOT ((coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[refund].found[1]
SELECT x.id
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') <= $2 AND x.chain_id = $3 AND NOT ((coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY coalesce(x.offer_at, '1970-01-01 00:00:00.000000'), x.updated_at, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[refund].soon[0]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $1 AND NOT ((coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || x.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = x.chain_id AND u.status = 'unknown outbound'));
-- dueWithdrawals[refund].soon[1]
SELECT min(coalesce(x.offer_at, '1970-01-01 00:00:00.000000'))
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0 AND coalesce(x.offer_at, '1970-01-01 00:00:00.000000') > $1 AND x.chain_id = $2 AND NOT ((coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)) IS NOT NULL) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $2 AND u.status = 'unknown outbound'));
-- dueWithdrawals[rescue].ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > $2
	ORDER BY x.lease_until, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rescue].ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > $2 AND x.chain_id = $3
	ORDER BY x.lease_until, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rescue].found[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until <= $2
	ORDER BY x.lease_until, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rescue].found[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until <= $2 AND x.chain_id = $3
	ORDER BY x.lease_until, x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- dueWithdrawals[rescue].soon[0]
SELECT min(x.lease_until)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > $1;
-- dueWithdrawals[rescue].soon[1]
SELECT min(x.lease_until)
	FROM @withdrawal_queue x
	WHERE x.status = 'processing' AND NOT x.review AND x.lease_until > $1 AND x.chain_id = $2;
-- edges
SELECT l.wallet_id, l.tx_hash, n.tx_hash, e.declared
	FROM @tx_replacements e
	JOIN @transactions l ON l.id = e.replaced_tx_id
	JOIN @transactions n ON n.id = e.replacement_tx_id
	ORDER BY 1, 2, 3;
-- edgesOf
WITH named AS (SELECT t.wallet_id, t.id
	FROM (SELECT u.wallet_id, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bytea[]) AS u(wallet_id, tx_hash)) AS r
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
	SET error = CASE WHEN error NOT IN ('', $3, $4) THEN $3 ELSE error END
	WHERE machine = $1 AND id = $2 AND (error NOT IN ('', $3, $4));
-- erase.transitions
UPDATE @transitions
	SET reason = CASE WHEN reason NOT IN ('', $3, $4) THEN $3 ELSE reason END, data = CASE WHEN data NOT IN ('', $3, $4) THEN $3 ELSE data END
	WHERE machine = $1 AND id = $2 AND (reason NOT IN ('', $3, $4) OR data NOT IN ('', $3, $4));
-- erase.withdrawal_acknowledgements
UPDATE @withdrawal_acknowledgements
	SET reason = CASE WHEN reason NOT IN ('', $3, $4) THEN $3 ELSE reason END
	WHERE $1 <> '' AND CAST(withdrawal_request_id AS text) = $2 AND (reason NOT IN ('', $3, $4));
-- erase.withdrawal_attempts
UPDATE @withdrawal_attempts
	SET error_message = CASE WHEN error_message NOT IN ('', $3, $4) THEN $3 ELSE error_message END
	WHERE $1 <> '' AND CAST(job_id AS text) = $2 AND (error_message NOT IN ('', $3, $4));
-- erase.withdrawal_fillers
UPDATE @withdrawal_fillers
	SET reason = CASE WHEN reason NOT IN ('', $3, $4) THEN $3 ELSE reason END
	WHERE $1 <> '' AND CAST(operation_wallet_address_id AS text) = $2 AND (reason NOT IN ('', $3, $4));
-- erase.withdrawal_statements
UPDATE @withdrawal_statements
	SET reason = CASE WHEN reason NOT IN ('', $3, $4) THEN $3 ELSE reason END
	WHERE $1 <> '' AND CAST(operation_wallet_address_id AS text) = $2 AND (reason NOT IN ('', $3, $4));
-- failedByWallet
SELECT x.xpub_van, COUNT(*), COUNT(*) OVER ()
	FROM @refresh_jobs x
	WHERE x.status = 'failed' AND NOT EXISTS (SELECT 1
	FROM @refresh_jobs p
	WHERE p.xpub_van = x.xpub_van AND p.seq > x.end_seq AND p.status = 'completed' AND (p.trigger <> 'invoice_created' OR p.asset_id IS NOT NULL))
	GROUP BY x.xpub_van
	ORDER BY COUNT(*) DESC, x.xpub_van LIMIT $1;
-- fillerOf
SELECT n.*
	FROM (SELECT u.wallet, u.nonce
	FROM unnest($1::text::uuid[], $2::text::bigint[]) AS u(wallet, nonce) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT f.tx_hash
	FROM @withdrawal_fillers f
	WHERE f.operation_wallet_address_id = r.wallet AND f.nonce = r.nonce OFFSET 0) n;
-- fillerTable.made.insertOne
INSERT INTO @withdrawal_fillers (operation_wallet_address_id, nonce, chain_id, tx_hash, actor, reason, created_at) SELECT r.operation_wallet_address_id, r.nonce, r.chain_id, r.tx_hash, r.actor, r.reason, r.created_at
	FROM (SELECT u.operation_wallet_address_id, u.nonce, u.chain_id, u.tx_hash, u.actor, u.reason, u.created_at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::timestamptz[]) AS u(operation_wallet_address_id, nonce, chain_id, tx_hash, actor, reason, created_at) LIMIT (SELECT NULL::bigint)) AS r;
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
	WHERE (horizon, n) > ($1, $2) AND horizon < (SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) AND data <> $4 AND machine IN (SELECT r.machine
	FROM (SELECT u.machine
	FROM unnest($5::text::text[]) AS u(machine)) AS r)
	ORDER BY horizon, n LIMIT $3;
-- freeHeads
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT u.xpub_van
	FROM unnest($1::text::text[]) AS u(xpub_van)) AS r)
	ORDER BY x.xpub_van FOR NO KEY UPDATE OF x SKIP LOCKED;
-- freeLocks
DELETE
	FROM @wallet_locks
	WHERE (xpub_van, fence) IN (SELECT r.xpub_van, r.fence
	FROM (SELECT u.xpub_van, u.fence
	FROM unnest($1::text::text[], $2::text::bigint[]) AS u(xpub_van, fence) LIMIT (SELECT NULL::bigint)) AS r);
-- generationsOf
SELECT x.machine, x.id, x.version, (SELECT max(p.generation)
	FROM @settle_places p
	WHERE p.lines < x.n)
	FROM (SELECT u.machine, u.id, u.version
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[]) AS u(machine, id, version)) AS r
	JOIN @transitions x ON x.machine = r.machine AND x.id = r.id AND x.version = r.version;
-- historyConfirmed
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height IS NOT NULL AND NOT t.is_context
	ORDER BY t.block_height DESC, t.block_position DESC LIMIT $2;
-- historyConfirmedAfter
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height IS NOT NULL AND NOT t.is_context AND (t.block_height, t.block_position) < ($3, $4)
	ORDER BY t.block_height DESC, t.block_position DESC LIMIT $2;
-- historyUnconfirmed
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height IS NULL AND NOT t.is_context
	ORDER BY t.first_seen DESC, t.tx_hash DESC LIMIT $2;
-- historyUnconfirmedAfter
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height IS NULL AND NOT t.is_context AND (t.first_seen, t.tx_hash) < ($3, $4)
	ORDER BY t.first_seen DESC, t.tx_hash DESC LIMIT $2;
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
INSERT INTO @operation_wallet_addresses (id, chain_id, role, status, last_used_at, balance_reserved) SELECT r.id, r.chain_id, r.role, r.status, r.last_used_at, r.balance_reserved
	FROM (SELECT u.id, u.chain_id, u.role, u.status, u.last_used_at, u.balance_reserved
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::timestamptz[], $6::text::numeric[]) AS u(id, chain_id, role, status, last_used_at, balance_reserved) LIMIT (SELECT NULL::bigint)) AS r;
-- incidentRows.behind
SELECT id, withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at
	FROM @withdrawal_incidents
	WHERE id > $1
	ORDER BY id LIMIT $2;
-- incidentRows.lock
SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawal_incidents', 0));
-- incidentRows.table.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.withdrawal_request_id, u.withdrawal_request_id, u.tx_hash, u.claim, u.block_hash
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[], $4::text::text[], $5::text::text[]) AS u(withdrawal_request_id, withdrawal_request_id, tx_hash, claim, block_hash) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.withdrawal_request_id
	FROM @withdrawal_incidents x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash AND NOT (x.withdrawal_request_id = r.withdrawal_request_id) OFFSET 0) n;
-- incidentRows.table.made.insertOne
INSERT INTO @withdrawal_incidents (withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at) SELECT r.withdrawal_request_id, r.job_id, r.tx_hash, r.claim, r.block_hash, r.height, r.status, r.actor, r.at
	FROM (SELECT u.withdrawal_request_id, u.job_id, u.tx_hash, u.claim, u.block_hash, u.height, u.status, u.actor, u.at
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::text[], $9::text::timestamptz[]) AS u(withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- incidentTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.withdrawal_request_id, u.withdrawal_request_id, u.tx_hash, u.claim, u.block_hash
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[], $4::text::text[], $5::text::text[]) AS u(withdrawal_request_id, withdrawal_request_id, tx_hash, claim, block_hash) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.withdrawal_request_id
	FROM @withdrawal_incidents x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.tx_hash = r.tx_hash AND x.claim = r.claim AND x.block_hash = r.block_hash AND NOT (x.withdrawal_request_id = r.withdrawal_request_id) OFFSET 0) n;
-- incidentTable.made.insertOne
INSERT INTO @withdrawal_incidents (withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at) SELECT r.withdrawal_request_id, r.job_id, r.tx_hash, r.claim, r.block_hash, r.height, r.status, r.actor, r.at
	FROM (SELECT u.withdrawal_request_id, u.job_id, u.tx_hash, u.claim, u.block_hash, u.height, u.status, u.actor, u.at
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::bigint[], $7::text::text[], $8::text::text[], $9::text::timestamptz[]) AS u(withdrawal_request_id, job_id, tx_hash, claim, block_hash, height, status, actor, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- inputsOf
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_id
	FROM unnest($1::text::bigint[], $2::text::bigint[]) AS u(wallet_id, tx_id)) AS r
	CROSS JOIN LATERAL (SELECT i.tx_id, i.input_index, i.prev_hash, i.prev_index
	FROM @tx_inputs i
	WHERE i.wallet_id = r.wallet_id AND i.tx_id = r.tx_id OFFSET 0) n;
-- insertBlocks
INSERT INTO @blocks (block_height, block_hash, prev_hash, block_time) SELECT r.block_height, r.block_hash, r.prev_hash, r.block_time
	FROM (SELECT u.block_height, u.block_hash, u.prev_hash, u.block_time
	FROM unnest($1::text::bigint[], $2::text::bytea[], $3::text::bytea[], $4::text::timestamptz[]) AS u(block_height, block_hash, prev_hash, block_time)) AS r;
-- insertEdges
INSERT INTO @tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id, declared) SELECT r.wallet_id, r.loser, r.winner, r.declared
	FROM (SELECT u.wallet_id, u.loser, u.winner, u.declared
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::boolean[]) AS u(wallet_id, loser, winner, declared)) AS r;
-- insertInputs
INSERT INTO @tx_inputs (wallet_id, tx_id, input_index, prev_hash, prev_index) SELECT r.wallet_id, r.tx_id, r.input_index, r.prev_hash, r.prev_index
	FROM (SELECT u.tx_id, u.wallet_id, u.input_index, u.prev_hash, u.prev_index
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bytea[], $5::text::bigint[]) AS u(tx_id, wallet_id, input_index, prev_hash, prev_index)) AS r;
-- insertLeases
INSERT INTO @utxo_leases (wallet_id, utxo_id, lock_id, expires_at, leased_at) SELECT r.wallet_id, r.tx_id * 4294967296 + r.output_index, r.lock_id, r.expires_at, r.leased_at
	FROM (SELECT u.wallet_id, u.tx_id, u.output_index, u.lock_id, u.expires_at, u.leased_at
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bytea[], $5::text::timestamptz[], $6::text::timestamptz[]) AS u(wallet_id, tx_id, output_index, lock_id, expires_at, leased_at)) AS r;
-- insertNonces
INSERT INTO @withdrawal_nonces (operation_wallet_address_id, nonce, job_id) SELECT r.operation_wallet_address_id, r.nonce, r.job_id
	FROM (SELECT u.operation_wallet_address_id, u.nonce, u.job_id
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::uuid[]) AS u(operation_wallet_address_id, nonce, job_id) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_nonces o
	WHERE o.operation_wallet_address_id = r.operation_wallet_address_id AND o.nonce = r.nonce) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_fillers f
	WHERE f.operation_wallet_address_id = r.operation_wallet_address_id AND f.nonce = r.nonce)
	ON CONFLICT DO NOTHING;
-- insertOutputs
INSERT INTO @utxos (wallet_id, tx_id, output_index, amount, script, owner_tag, spent_by_tx_id, spent_input_index) SELECT r.wallet_id, r.tx_id, r.output_index, r.amount, r.script, r.owner_tag, r.spent_by, CASE WHEN r.spent_by IS NOT NULL THEN (SELECT i.input_index
	FROM @tx_inputs i
	WHERE i.prev_hash = r.tx_hash AND i.prev_index = r.output_index AND i.wallet_id = r.wallet_id AND i.tx_id = r.spent_by) END
	FROM (SELECT u.tx_id, u.wallet_id, u.output_index, u.amount, u.script, u.owner_tag, u.spent_by, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bytea[], $6::text::text[], $7::text::bigint[], $8::text::bytea[]) AS u(tx_id, wallet_id, output_index, amount, script, owner_tag, spent_by, tx_hash)) AS r;
-- insertOwners
INSERT INTO @wallet_owners (wallet_id, owner_tag, birth_height, scan_id) SELECT r.wallet_id, r.owner_tag, r.birth_height, 0
	FROM (SELECT u.wallet_id, u.owner_tag, u.birth_height
	FROM unnest($1::text::bigint[], $2::text::text[], $3::text::bigint[]) AS u(wallet_id, owner_tag, birth_height)) AS r;
-- insertPayments
INSERT INTO @withdrawal_payments (chain_id, tx_form, output, withdrawal_request_id) SELECT r.chain_id, r.tx_form, r.output, r.withdrawal_request_id
	FROM (SELECT u.chain_id, u.tx_form, u.output, u.withdrawal_request_id
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::uuid[]) AS u(chain_id, tx_form, output, withdrawal_request_id) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- insertScans
INSERT INTO @wallet_scans (wallet_id, scan_id, scanned_to) SELECT r.wallet_id, r.scan_id, r.scanned_to
	FROM (SELECT u.wallet_id, u.scan_id, u.scanned_to
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[]) AS u(wallet_id, scan_id, scanned_to)) AS r;
-- insertTxs
INSERT INTO @transactions (wallet_id, tx_hash, status, block_height, block_position, is_coinbase, first_seen, seq, label, is_context, is_public, version, raw_tx) SELECT r.wallet_id, r.tx_hash, r.status, r.block_height, r.block_position, r.is_coinbase, r.first_seen, r.seq, r.label, r.is_context, r.is_public, r.version, r.raw_tx
	FROM (SELECT u.wallet_id, u.tx_hash, u.status, u.block_height, u.block_position, u.is_coinbase, u.first_seen, u.seq, u.label, u.is_context, u.is_public, u.version, u.raw_tx, u.n
	FROM unnest($1::text::bigint[], $2::text::bytea[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::boolean[], $7::text::timestamptz[], $8::text::bigint[], $9::text::text[], $10::text::boolean[], $11::text::boolean[], $12::text::bigint[], $13::text::bytea[], $14::text::bigint[]) AS u(wallet_id, tx_hash, status, block_height, block_position, is_coinbase, first_seen, seq, label, is_context, is_public, version, raw_tx, n) LIMIT (SELECT NULL::bigint)) AS r
	ORDER BY r.n
	RETURNING id, wallet_id, tx_hash;
-- insertWallets
INSERT INTO @wallets (id, birth_height, scanned_to, follows_tip, announced) SELECT r.id, r.birth_height, r.scanned_to, r.follows_tip, r.announced
	FROM (SELECT u.id, u.birth_height, u.scanned_to, u.follows_tip, u.announced
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::boolean[], $5::text::bigint[]) AS u(id, birth_height, scanned_to, follows_tip, announced)) AS r;
-- intentTable.made.insertOne
INSERT INTO @swap_intents (direction, item, number, action, attempt, chain, reference, memo, signature, raw_tx, last_valid, at, filed, destination, net_units, fee_units, send_by, outcome, txid, proof, is_final, closed_at, claim, seen_at, missed, missed_at) SELECT r.direction, r.item, r.number, r.action, r.attempt, r.chain, r.reference, r.memo, r.signature, r.raw_tx, r.last_valid, r.at, r.filed, r.destination, r.net_units, r.fee_units, r.send_by, r.outcome, r.txid, r.proof, r.is_final, r.closed_at, r.claim, r.seen_at, r.missed, r.missed_at
	FROM (SELECT u.direction, u.item, u.number, u.action, u.attempt, u.chain, u.reference, u.memo, u.signature, u.raw_tx, u.last_valid, u.at, u.filed, u.destination, u.net_units, u.fee_units, u.send_by, u.outcome, u.txid, u.proof, u.is_final, u.closed_at, u.claim, u.seen_at, u.missed, u.missed_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::text[], $5::text::bigint[], $6::text::text[], $7::text::bigint[], $8::text::text[], $9::text::text[], $10::text::bytea[], $11::text::bigint[], $12::text::timestamptz[], $13::text::boolean[], $14::text::text[], $15::text::bigint[], $16::text::bigint[], $17::text::timestamptz[], $18::text::text[], $19::text::text[], $20::text::text[], $21::text::boolean[], $22::text::timestamptz[], $23::text::text[], $24::text::timestamptz[], $25::text::bigint[], $26::text::timestamptz[]) AS u(direction, item, number, action, attempt, chain, reference, memo, signature, raw_tx, last_valid, at, filed, destination, net_units, fee_units, send_by, outcome, txid, proof, is_final, closed_at, claim, seen_at, missed, missed_at) LIMIT (SELECT NULL::bigint)) AS r;
-- intentsOf
SELECT n.*
	FROM (SELECT u.direction, u.item
	FROM unnest($1::text::text[], $2::text::text[]) AS u(direction, item) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.direction, x.item, x.number, x.action, x.attempt, x.chain, x.reference, x.memo, x.signature, x.raw_tx, x.last_valid, x.at, x.filed, x.destination, x.net_units, x.fee_units, x.send_by, x.outcome, x.txid, x.proof, x.is_final, x.closed_at, x.claim, x.seen_at, x.missed, x.missed_at
	FROM @swap_intents x
	WHERE x.direction = r.direction AND x.item = r.item OFFSET 0) n;
-- invoiceOwners
SELECT i.id, i.tenant
	FROM @invoices i
	WHERE i.id IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id)) AS r);
-- invoiceTable.made.inOrder
SELECT x.id
	FROM @invoices x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- invoiceTable.made.insertOne
INSERT INTO @invoices (id, tenant, created_at, amount, issued, since, paid_at, voided_at, notified_at, method, payment_error, attempts, charge, charge_key, charge_by, charge_at, charge_amount, charge_method, charge_after, missed, looked_back, paid_key, overpaid_at, overpaid, repaid, notice, prior_notified_at, version) SELECT r.id, r.tenant, r.created_at, r.amount, r.issued, r.since, r.paid_at, r.voided_at, r.notified_at, r.method, r.payment_error, r.attempts, r.charge, r.charge_key, r.charge_by, r.charge_at, r.charge_amount, r.charge_method, r.charge_after, r.missed, r.looked_back, r.paid_key, r.overpaid_at, r.overpaid, r.repaid, r.notice, r.prior_notified_at, r.version
	FROM (SELECT u.id, u.tenant, u.created_at, u.amount, u.issued, u.since, u.paid_at, u.voided_at, u.notified_at, u.method, u.payment_error, u.attempts, u.charge, u.charge_key, u.charge_by, u.charge_at, u.charge_amount, u.charge_method, u.charge_after, u.missed, u.looked_back, u.paid_key, u.overpaid_at, u.overpaid, u.repaid, u.notice, u.prior_notified_at, u.version
	FROM unnest($1::text::text[], $2::text::text[], $3::text::timestamptz[], $4::text::bigint[], $5::text::bigint[], $6::text::timestamptz[], $7::text::timestamptz[], $8::text::timestamptz[], $9::text::timestamptz[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::text[], $15::text::text[], $16::text::timestamptz[], $17::text::bigint[], $18::text::text[], $19::text::timestamptz[], $20::text::bigint[], $21::text::timestamptz[], $22::text::text[], $23::text::timestamptz[], $24::text::text[], $25::text::text[], $26::text::text[], $27::text::timestamptz[], $28::text::bigint[]) AS u(id, tenant, created_at, amount, issued, since, paid_at, voided_at, notified_at, method, payment_error, attempts, charge, charge_key, charge_by, charge_at, charge_amount, charge_method, charge_after, missed, looked_back, paid_key, overpaid_at, overpaid, repaid, notice, prior_notified_at, version) LIMIT (SELECT NULL::bigint)) AS r;
-- invoiceTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, 0, l.version
	FROM @invoices x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- invoiceTable.made.touchOne
UPDATE @invoices AS x
	SET  = r.
	FROM (SELECT u., u.id, u.old_version
	FROM unnest($1::text::[], $2::text::text[], $3::text::bigint[]) AS u(, id, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version;
-- invoiceTable.made.updateOne
UPDATE @invoices AS x
	SET amount = r.amount, issued = r.issued, since = r.since, paid_at = r.paid_at, voided_at = r.voided_at, notified_at = r.notified_at, method = r.method, payment_error = r.payment_error, attempts = r.attempts, charge = r.charge, charge_key = r.charge_key, charge_by = r.charge_by, charge_at = r.charge_at, charge_amount = r.charge_amount, charge_method = r.charge_method, charge_after = r.charge_after, missed = r.missed, looked_back = r.looked_back, paid_key = r.paid_key, overpaid_at = r.overpaid_at, overpaid = r.overpaid, repaid = r.repaid, notice = r.notice, prior_notified_at = r.prior_notified_at, version = r.version
	FROM (SELECT u.amount, u.issued, u.since, u.paid_at, u.voided_at, u.notified_at, u.method, u.payment_error, u.attempts, u.charge, u.charge_key, u.charge_by, u.charge_at, u.charge_amount, u.charge_method, u.charge_after, u.missed, u.looked_back, u.paid_key, u.overpaid_at, u.overpaid, u.repaid, u.notice, u.prior_notified_at, u.version, u.id, u.old_version
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::text[], $8::text::text[], $9::text::bigint[], $10::text::text[], $11::text::text[], $12::text::text[], $13::text::timestamptz[], $14::text::bigint[], $15::text::text[], $16::text::timestamptz[], $17::text::bigint[], $18::text::timestamptz[], $19::text::text[], $20::text::timestamptz[], $21::text::text[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::bigint[], $26::text::text[], $27::text::bigint[]) AS u(amount, issued, since, paid_at, voided_at, notified_at, method, payment_error, attempts, charge, charge_key, charge_by, charge_at, charge_amount, charge_method, charge_after, missed, looked_back, paid_key, overpaid_at, overpaid, repaid, notice, prior_notified_at, version, id, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version;
-- isMoved
SELECT (SELECT CASE WHEN @settle_moved(false) THEN 'send' END);
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
	FROM (SELECT u.id, u.fence, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[]) AS u(id, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @withdrawal_queue x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- jobLeases.renew
UPDATE @withdrawal_queue AS x
	SET lease_until = r.until
	FROM (SELECT u.id, u.fence, u.until, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(id, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- jobOwners
SELECT q.id, q.withdrawal_request_id
	FROM @withdrawal_queue q
	WHERE q.id IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id)) AS r);
-- jobTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.id, u.withdrawal_request_id
	FROM unnest($1::text::uuid[], $2::text::uuid[]) AS u(id, withdrawal_request_id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id
	FROM @withdrawal_queue x
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.status <> 'failed' AND NOT (x.id = r.id) OFFSET 0) n;
-- jobTable.made.holdersNow[1]
SELECT n.*
	FROM (SELECT u.id, u.slot
	FROM unnest($1::text::uuid[], $2::text::uuid[]) AS u(id, slot) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id
	FROM @withdrawal_queue x
	WHERE x.slot = r.slot AND NOT (x.id = r.id) OFFSET 0) n;
-- jobTable.made.inOrder
SELECT x.id
	FROM @withdrawal_queue x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- jobTable.made.insertOne
INSERT INTO @withdrawal_queue (id, withdrawal_request_id, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, amount_raw, amount_human, priority, max_retries, created_at, status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast, number) SELECT r.id, r.withdrawal_request_id, r.chain_id, r.asset_on_chain_id, r.operation_wallet_address_id, r.to_address, r.amount_raw, r.amount_human, r.priority, r.max_retries, r.created_at, r.status, r.retry_count, r.scheduled_at, r.scheduled_from, r.slot, r.claimed_at, r.dispatched_at, r.dispatch_ref, r.txs_on_file, r.txs_dead, r.nonce, r.tx_hash, r.review, r.resolved_version, r.broadcast_at, r.evidence_height, r.evidence_hash, r.gas_used, r.gas_price, r.error_message, r.processed_at, r.deferrals, r.stopped_fence, r.dispatches, r.batch_id, r.version, r.lease_holder, r.lease_fence, r.lease_until, r.offer_at, r.next_check_at, r.rebroadcast, (SELECT coalesce(max(l.number), 0) + 1
	FROM @withdrawal_queue l
	WHERE l.withdrawal_request_id = r.withdrawal_request_id)
	FROM (SELECT u.id, u.withdrawal_request_id, u.chain_id, u.asset_on_chain_id, u.operation_wallet_address_id, u.to_address, u.amount_raw, u.amount_human, u.priority, u.max_retries, u.created_at, u.status, u.retry_count, u.scheduled_at, u.scheduled_from, u.slot, u.claimed_at, u.dispatched_at, u.dispatch_ref, u.txs_on_file, u.txs_dead, u.nonce, u.tx_hash, u.review, u.resolved_version, u.broadcast_at, u.evidence_height, u.evidence_hash, u.gas_used, u.gas_price, u.error_message, u.processed_at, u.deferrals, u.stopped_fence, u.dispatches, u.batch_id, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.offer_at, u.next_check_at, u.rebroadcast
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[], $4::text::uuid[], $5::text::uuid[], $6::text::text[], $7::text::text[], $8::text::numeric[], $9::text::text[], $10::text::bigint[], $11::text::timestamptz[], $12::text::text[], $13::text::bigint[], $14::text::timestamptz[], $15::text::timestamptz[], $16::text::uuid[], $17::text::timestamptz[], $18::text::timestamptz[], $19::text::text[], $20::text::bigint[], $21::text::bigint[], $22::text::bigint[], $23::text::text[], $24::text::boolean[], $25::text::bigint[], $26::text::timestamptz[], $27::text::bigint[], $28::text::text[], $29::text::text[], $30::text::text[], $31::text::text[], $32::text::timestamptz[], $33::text::bigint[], $34::text::bigint[], $35::text::bigint[], $36::text::uuid[], $37::text::bigint[], $38::text::text[], $39::text::bigint[], $40::text::timestamptz[], $41::text::timestamptz[], $42::text::timestamptz[], $43::text::boolean[]) AS u(id, withdrawal_request_id, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, amount_raw, amount_human, priority, max_retries, created_at, status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- jobTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::uuid[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, x.lease_fence, l.version
	FROM @withdrawal_queue x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- jobTable.made.touchOne
UPDATE @withdrawal_queue AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, offer_at = r.offer_at, next_check_at = r.next_check_at, rebroadcast = r.rebroadcast
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.offer_at, u.next_check_at, u.rebroadcast, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_offer_at, u.old_next_check_at, u.old_rebroadcast, u.head, u.old_head
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::timestamptz[], $6::text::boolean[], $7::text::uuid[], $8::text::bigint[], $9::text::text[], $10::text::bigint[], $11::text::timestamptz[], $12::text::timestamptz[], $13::text::boolean[], $14::text::uuid[], $15::text::bigint[]) AS u(lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast, id, old_version, old_lease_holder, old_lease_fence, old_offer_at, old_next_check_at, old_rebroadcast, head, old_head) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.offer_at IS NOT DISTINCT
	FROM r.old_offer_at AND x.next_check_at IS NOT DISTINCT
	FROM r.old_next_check_at AND x.rebroadcast IS NOT DISTINCT
	FROM r.old_rebroadcast AND (SELECT g.version
	FROM @withdrawal_requests g
	WHERE g.id = r.head) = r.old_head;
-- jobTable.made.updateOne
UPDATE @withdrawal_queue AS x
	SET status = r.status, retry_count = r.retry_count, scheduled_at = r.scheduled_at, scheduled_from = r.scheduled_from, slot = r.slot, claimed_at = r.claimed_at, dispatched_at = r.dispatched_at, dispatch_ref = r.dispatch_ref, txs_on_file = r.txs_on_file, txs_dead = r.txs_dead, nonce = r.nonce, tx_hash = r.tx_hash, review = r.review, resolved_version = r.resolved_version, broadcast_at = r.broadcast_at, evidence_height = r.evidence_height, evidence_hash = r.evidence_hash, gas_used = r.gas_used, gas_price = r.gas_price, error_message = r.error_message, processed_at = r.processed_at, deferrals = r.deferrals, stopped_fence = r.stopped_fence, dispatches = r.dispatches, batch_id = r.batch_id, version = r.version, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, offer_at = r.offer_at, next_check_at = r.next_check_at, rebroadcast = r.rebroadcast
	FROM (SELECT u.status, u.retry_count, u.scheduled_at, u.scheduled_from, u.slot, u.claimed_at, u.dispatched_at, u.dispatch_ref, u.txs_on_file, u.txs_dead, u.nonce, u.tx_hash, u.review, u.resolved_version, u.broadcast_at, u.evidence_height, u.evidence_hash, u.gas_used, u.gas_price, u.error_message, u.processed_at, u.deferrals, u.stopped_fence, u.dispatches, u.batch_id, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.offer_at, u.next_check_at, u.rebroadcast, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_offer_at, u.old_next_check_at, u.old_rebroadcast, u.head, u.old_head
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::uuid[], $6::text::timestamptz[], $7::text::timestamptz[], $8::text::text[], $9::text::bigint[], $10::text::bigint[], $11::text::bigint[], $12::text::text[], $13::text::boolean[], $14::text::bigint[], $15::text::timestamptz[], $16::text::bigint[], $17::text::text[], $18::text::text[], $19::text::text[], $20::text::text[], $21::text::timestamptz[], $22::text::bigint[], $23::text::bigint[], $24::text::bigint[], $25::text::uuid[], $26::text::bigint[], $27::text::text[], $28::text::bigint[], $29::text::timestamptz[], $30::text::timestamptz[], $31::text::timestamptz[], $32::text::boolean[], $33::text::uuid[], $34::text::bigint[], $35::text::text[], $36::text::bigint[], $37::text::timestamptz[], $38::text::timestamptz[], $39::text::boolean[], $40::text::uuid[], $41::text::bigint[]) AS u(status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast, id, old_version, old_lease_holder, old_lease_fence, old_offer_at, old_next_check_at, old_rebroadcast, head, old_head) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.offer_at IS NOT DISTINCT
	FROM r.old_offer_at AND x.next_check_at IS NOT DISTINCT
	FROM r.old_next_check_at AND x.rebroadcast IS NOT DISTINCT
	FROM r.old_rebroadcast AND (SELECT g.version
	FROM @withdrawal_requests g
	WHERE g.id = r.head) = r.old_head AND (r.slot IS NULL OR NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = r.slot AND NOT (h.id = r.id)));
-- jobsConfirmed[false]
SELECT broadcast_at, processed_at, gas_used
	FROM @withdrawal_queue
	WHERE processed_at >= $1 AND processed_at < $2 AND status = 'confirmed';
-- jobsConfirmed[true]
SELECT broadcast_at, processed_at, gas_used
	FROM @withdrawal_queue
	WHERE processed_at >= $1 AND processed_at < $2 AND status = 'confirmed' AND chain_id = $3;
-- jobsOfRequest
SELECT id, withdrawal_request_id, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, amount_raw, amount_human, priority, max_retries, created_at, status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast
	FROM @withdrawal_queue
	WHERE withdrawal_request_id = $1
	ORDER BY number;
-- jobsOfSet[1]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = $1 AND x.status IN ('pending', 'processing')
	ORDER BY x.created_at, x.job_id LIMIT $2;
-- jobsOfSet[2]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = $1 AND x.status IN ('pending', 'processing') AND (x.status = 'processing' OR x.status = 'pending' AND x.available_at <= $2)
	ORDER BY CASE x.status WHEN 'processing' THEN 0 ELSE 1 END, x.created_at, x.job_id LIMIT $3;
-- jobsOfSet[3]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = $1 AND x.status IN ('pending', 'processing') AND (x.trigger = 'recovery' OR x.trigger = 'sync' AND x.status = 'pending' AND x.attempts = 0)
	ORDER BY CASE x.trigger WHEN 'recovery' THEN 0 ELSE 1 END, x.created_at, x.job_id LIMIT $2;
-- jobsOfSet[4]
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.xpub_van = $1
	ORDER BY x.created_at DESC, x.job_id DESC LIMIT $2;
-- journalAt
SELECT horizon, n, at, actor, role, domain, machine, id, version, event, outcome, error, via, trace
	FROM @settle_journal
	WHERE horizon = $1 AND n = $2;
-- journalBehind
SELECT horizon, n, at, actor, role, domain, machine, id, version, event, outcome, error, via, trace
	FROM @settle_journal
	WHERE (horizon, n) > ($1, $2) AND horizon < (SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
	ORDER BY horizon, n LIMIT $3;
-- journalTable.made.insertOne
INSERT INTO @settle_journal (at, actor, role, domain, machine, id, version, event, outcome, error, via, trace) SELECT r.at, r.actor, r.role, r.domain, r.machine, r.id, r.version, r.event, r.outcome, r.error, r.via, r.trace
	FROM (SELECT u.at, u.actor, u.role, u.domain, u.machine, u.id, u.version, u.event, u.outcome, u.error, u.via, u.trace
	FROM unnest($1::text::timestamptz[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::text[], $9::text::text[], $10::text::text[], $11::text::text[], $12::text::text[]) AS u(at, actor, role, domain, machine, id, version, event, outcome, error, via, trace) LIMIT (SELECT NULL::bigint)) AS r;
-- knownIncident
SELECT i.id
	FROM @withdrawal_incidents i
	WHERE i.withdrawal_request_id = $1 AND i.tx_hash = $2 AND i.claim = $3 AND i.block_hash = $4;
-- lastTransition
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE horizon < (SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
	ORDER BY horizon DESC, n DESC LIMIT 1;
-- lastTx
SELECT coalesce(max(id), 0)
	FROM @transactions;
-- leased
SELECT coalesce(sum((SELECT CASE WHEN u.spent_by_tx_id IS NULL THEN u.amount END
	FROM @utxos u
	JOIN @transactions t ON t.id = u.tx_id
	WHERE u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296 AND t.status IN ('pending', 'published') AND (CAST($2 AS text) IS NULL OR u.owner_tag = $2))), 0)
	FROM @utxo_leases l
	WHERE l.wallet_id = $1 AND l.expires_at > $3;
-- leasesActive
SELECT l.wallet_id, (SELECT t.tx_hash
	FROM @transactions t
	WHERE t.id = l.tx_id), l.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	WHERE l.wallet_id = $1 AND l.expires_at > $2
	ORDER BY 2, 3;
-- leasesNamed
SELECT n.*
	FROM (SELECT u.tx_hash, u.output_index
	FROM unnest($2::text::bytea[], $3::text::bigint[]) AS u(tx_hash, output_index)) AS r
	CROSS JOIN LATERAL (SELECT u.wallet_id, r.tx_hash, r.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxos u
	CROSS JOIN @utxo_leases l
	WHERE u.wallet_id = $1 AND u.output_index = r.output_index AND u.tx_id = (SELECT n.id
	FROM @transactions n
	WHERE n.tx_hash = r.tx_hash AND n.wallet_id = $1) AND l.wallet_id = u.wallet_id AND l.utxo_id = u.tx_id * 4294967296 + u.output_index OFFSET 0) n;
-- leasesOf
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	JOIN @utxos u ON u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296
	JOIN @transactions t ON t.id = u.tx_id
	WHERE l.wallet_id = $1;
-- leasesOfLock
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxo_leases l
	JOIN @utxos u ON u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296
	JOIN @transactions t ON t.id = u.tx_id
	WHERE l.wallet_id = $1 AND l.lock_id = $2
	ORDER BY 2, 3;
-- leasesUnspent
SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at
	FROM @utxos u
	CROSS JOIN @utxo_leases l
	JOIN @transactions t ON t.id = u.tx_id
	WHERE u.wallet_id = $1 AND u.spent_by_tx_id IS NULL AND l.wallet_id = u.wallet_id AND l.utxo_id = u.tx_id * 4294967296 + u.output_index;
-- lineAt
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE machine = $1 AND id = $2 AND version = $3;
-- listRelays
SELECT id
	FROM @relays
	WHERE id > $1
	ORDER BY id LIMIT $2;
-- listStatements[{ false}]
SELECT u.id
	FROM (SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'pending' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_pending
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'approved' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_approved
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'queued' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_queued
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'completed' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_completed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'failed' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_failed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'rejected' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_rejected
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'cancelled' AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3) s_cancelled) u
	WHERE true AND (u.created_at, u.id) > ($1, $2)
	ORDER BY u.created_at, u.id LIMIT $3;
-- listStatements[{ true}]
SELECT u.id
	FROM (SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'pending' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_pending
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'approved' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_approved
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'queued' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_queued
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'completed' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_completed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'failed' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_failed
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'rejected' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_rejected
	UNION ALL SELECT *
	FROM (SELECT q.id, q.created_at
	FROM @withdrawal_requests q
	WHERE q.status = 'cancelled' AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3) s_cancelled) u
	WHERE true AND (u.created_at, u.id) < ($1, $2)
	ORDER BY u.created_at DESC, u.id DESC LIMIT $3;
-- listStatements[{chain false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.chain_id = $5 AND (q.user_id = $4 OR $4 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{chain true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.chain_id = $5 AND (q.user_id = $4 OR $4 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{check overdue false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $8 AND x.next_check_at < $8 AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{check overdue true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $8 AND x.next_check_at < $8 AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{held false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.held AND q.status IN ('pending', 'approved', 'queued') AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{held job false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND q.held AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{held job true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND q.held AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{held true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.held AND q.status IN ('pending', 'approved', 'queued') AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{job false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{job true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{lease ended false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND x.status = 'processing' AND NOT x.review AND x.lease_until <= $8 AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{lease ended true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND x.status = 'processing' AND NOT x.review AND x.lease_until <= $8 AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{open false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('pending', 'approved', 'queued') AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{open true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('pending', 'approved', 'queued') AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{paid and refunded false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.paid_after IS NOT NULL AND NOT q.acknowledged AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{paid and refunded true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.paid_after IS NOT NULL AND NOT q.acknowledged AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{review false}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND x.review AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{review true}]
SELECT q.id
	FROM @withdrawal_queue x
	JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id
	WHERE x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL) AND x.review AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{to refund false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('failed', 'cancelled', 'rejected') AND q.refund_reference IS NULL AND NOT (q.acknowledged AND q.mined IS NOT NULL) AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{to refund true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.status IN ('failed', 'cancelled', 'rejected') AND q.refund_reference IS NULL AND NOT (q.acknowledged AND q.mined IS NOT NULL) AND (q.user_id = $4 OR $4 IS NULL) AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listStatements[{user false}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.user_id = $4 AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) > ($1, $2)
	ORDER BY q.created_at, q.id LIMIT $3;
-- listStatements[{user true}]
SELECT q.id
	FROM @withdrawal_requests q
	WHERE q.user_id = $4 AND (q.chain_id = $5 OR $5 IS NULL) AND (q.created_at, q.id) < ($1, $2)
	ORDER BY q.created_at DESC, q.id DESC LIMIT $3;
-- listTenants
SELECT id
	FROM @tenants
	WHERE id > $1
	ORDER BY id LIMIT $2;
-- listedBatches[{check overdue false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at < $7 AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{check overdue true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.next_check_at < $7 AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
-- listedBatches[{held false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND q.held) AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{held true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND q.held) AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
-- listedBatches[{lease ended false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.lease_until <= $7 AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{lease ended true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND x.lease_until <= $7 AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
-- listedBatches[{none false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{none true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
-- listedBatches[{of a holder false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.lease_holder = $6 AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{of a holder true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.lease_holder = $6 AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
-- listedBatches[{open false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{open true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
-- listedBatches[{review false}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND j.review) AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) > ($1, $2)
	ORDER BY x.created_at, x.id LIMIT $3;
-- listedBatches[{review true}]
SELECT x.id
	FROM @withdrawal_batches x
	WHERE x.status = 'confirming' AND EXISTS (SELECT 1
	FROM @withdrawal_queue j
	JOIN @withdrawal_requests q ON q.id = j.withdrawal_request_id
	WHERE j.batch_id = x.id AND j.review) AND (x.lease_holder = $6 OR $6 IS NULL) AND (x.chain_id = $4 OR $4 IS NULL) AND (x.operation_wallet_address_id = $5 OR $5 IS NULL) AND (x.created_at, x.id) < ($1, $2)
	ORDER BY x.created_at DESC, x.id DESC LIMIT $3;
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
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id)) AS r)
	ORDER BY w.id FOR NO KEY UPDATE OF w;
-- lockSlots
SELECT pg_advisory_xact_lock(hashtextextended('settle refresh slots', 0));
-- lockStatements
SELECT pg_advisory_xact_lock(hashtextextended('settle statements about ' || $1, 0));
-- lockTip
SELECT id
	FROM @chain_tip FOR NO KEY UPDATE;
-- lockUser
SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawals of user ' || $1, 0));
-- lockWallet
SELECT id
	FROM @wallets
	WHERE id = $1 FOR NO KEY UPDATE;
-- lockWallets
SELECT id
	FROM @wallets
	ORDER BY id FOR NO KEY UPDATE;
-- lockedHeads
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT u.xpub_van
	FROM unnest($1::text::text[]) AS u(xpub_van)) AS r)
	ORDER BY x.xpub_van FOR NO KEY UPDATE OF x;
-- moveConsumer
UPDATE @settle_consumers AS x
	SET machines = r.machines, cursor = r.cursor, lease_fence = r.lease_fence, lease_until = r.lease_until, stopped = r.stopped, error = r.error, failed_at = r.failed_at, late = r.late
	FROM (SELECT u.machines, u.cursor, u.lease_fence, u.lease_until, u.stopped, u.error, u.failed_at, u.late, u.name, u.old_fence, u.old_cursor, u.old_until
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::timestamptz[], $6::text::boolean[], $7::text::text[], $8::text::timestamptz[], $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::text[], $13::text::timestamptz[]) AS u(machines, cursor, lease_fence, lease_until, stopped, error, failed_at, late, name, old_fence, old_cursor, old_until) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.name = r.name AND x.lease_fence = r.old_fence AND x.cursor = r.old_cursor AND x.lease_until = r.old_until AND $1 = (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- moveDeposits
UPDATE @deposits AS x
	SET block_height = r.block_height, block_hash = r.block_hash, in_chain = r.in_chain, state = r.state, round = r.round, depth = r.depth, deep_at = r.deep_at, reversed_by = r.reversed_by, reason = r.reason, changed_at = r.changed_at
	FROM (SELECT u.block_height, u.block_hash, u.in_chain, u.state, u.round, u.depth, u.deep_at, u.reversed_by, u.reason, u.changed_at, u.tx_hash, u.output_index, u.old_state, u.old_round
	FROM unnest($1::text::bigint[], $2::text::bytea[], $3::text::boolean[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::bigint[], $8::text::text[], $9::text::text[], $10::text::timestamptz[], $11::text::bytea[], $12::text::bigint[], $13::text::text[], $14::text::bigint[]) AS u(block_height, block_hash, in_chain, state, round, depth, deep_at, reversed_by, reason, changed_at, tx_hash, output_index, old_state, old_round) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.tx_hash = r.tx_hash AND x.output_index = r.output_index AND x.state = r.old_state AND x.round = r.old_round;
-- moveSeq
UPDATE @chain_tip
	SET last_seq = $2
	WHERE last_seq = $1;
-- moveSpenders
UPDATE @utxos AS u
	SET spent_by_tx_id = r.spent_by, spent_input_index = CASE WHEN r.spent_by IS NOT NULL THEN (SELECT i.input_index
	FROM @tx_inputs i
	WHERE i.prev_hash = r.tx_hash AND i.prev_index = r.output_index AND i.wallet_id = r.wallet_id AND i.tx_id = r.spent_by) END
	FROM (SELECT u.wallet_id, u.tx_id, u.output_index, u.old, u.spent_by, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::bytea[]) AS u(wallet_id, tx_id, output_index, old, spent_by, tx_hash)) AS r
	WHERE u.wallet_id = r.wallet_id AND u.tx_id = r.tx_id AND u.output_index = r.output_index AND u.spent_by_tx_id IS NOT DISTINCT
	FROM r.old;
-- newestTransition
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	ORDER BY horizon DESC, n DESC LIMIT 1;
-- nextFence
SELECT nextval('@wallet_lock_fences');
-- nextPlace
INSERT INTO @settle_places (n, generation, lines, base, system, timeline, relation, lost_at, at, actor, reason) SELECT p.n + 1, p.generation + $1, CASE WHEN $1 = 0 THEN p.lines ELSE coalesce((SELECT max(l.n)
	FROM @transitions l), 0) END, CASE WHEN coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false) THEN (SELECT max(l.horizon)
	FROM @transitions l) + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint ELSE p.base END, s.system, s.timeline, s.relation, $2, $3, $4, $5
	FROM (SELECT *
	FROM @settle_places
	ORDER BY n DESC LIMIT 1) p, @settle_server() s
	WHERE @settle_moved(false) OR coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false) OR NOT (coalesce(p.lost_at = $2, false) AND ($1 = 0 OR p.generation > (SELECT max(q.generation)
	FROM @settle_places q
	WHERE q.n < p.n)));
-- noncesFrom
SELECT n.nonce, j.withdrawal_request_id
	FROM @withdrawal_nonces n
	JOIN @withdrawal_queue j ON j.id = n.job_id
	WHERE n.operation_wallet_address_id = $1 AND n.nonce >= $2
	UNION ALL SELECT nonce, NULL
	FROM @withdrawal_fillers
	WHERE operation_wallet_address_id = $1 AND nonce >= $2
	ORDER BY nonce;
-- ofClaim
SELECT direction, item
	FROM @swap_intents
	WHERE claim = $1;
-- ofReference
SELECT direction, item
	FROM @swap_intents
	WHERE reference = $1;
-- oldestCredit
SELECT min(item_time)
	FROM @unprocessed_txids
	WHERE gone_at IS NULL OR gone_at >= $1;
-- oldestDeposit
SELECT min(item_time)
	FROM @unprocessed_sigs
	WHERE (status IS NULL OR status <> 'quarantine failed') AND $1 = $1;
-- oldestOwed
SELECT min(CASE WHEN CASE WHEN t.reinstated_at > i.created_at THEN t.reinstated_at ELSE i.created_at END < CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) ELSE coalesce(i.since, i.created_at) END THEN CASE WHEN t.reinstated_at > i.created_at THEN t.reinstated_at ELSE i.created_at END ELSE CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) ELSE coalesce(i.since, i.created_at) END END), max(CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) ELSE coalesce(i.since, i.created_at) END)
	FROM @invoices i
	JOIN @tenants t ON t.id = i.tenant
	WHERE (paid_at IS NULL AND voided_at IS NULL OR charge <> 'none' OR overpaid_at IS NOT NULL) AND paid_at IS NULL AND voided_at IS NULL AND amount > 0 AND t.churned_at IS NULL;
-- oldestParked
SELECT x.consumer, x.n, x.machine, x.id, x.version, x.aggregate, x.parked_at, x.tries, x.error, x.next_try
	FROM @settle_parked x
	WHERE x.consumer = $1
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
	WHERE x.status IN ('pending', 'processing', 'confirming') AND x.status <> 'confirming' AND q.status = 'queued' AND x.chain_id = $1;
-- oldestToRefund[false]
SELECT (SELECT min(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL)), (SELECT max(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL));
-- oldestToRefund[true]
SELECT (SELECT min(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL) AND x.chain_id = $1), (SELECT max(x.updated_at)
	FROM @withdrawal_requests x
	WHERE x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL AND NOT (x.acknowledged AND x.mined IS NOT NULL) AND x.chain_id = $1);
-- openIncidents
SELECT i.id, i.withdrawal_request_id, i.job_id, i.tx_hash, i.claim, i.block_hash, i.height, i.status, i.actor, i.at
	FROM @withdrawal_incidents i
	WHERE i.id > $1 AND NOT EXISTS (SELECT 1
	FROM @withdrawal_acknowledgements a
	WHERE a.withdrawal_request_id = i.withdrawal_request_id AND a.tx_hash = i.tx_hash AND a.claim = i.claim AND a.block_hash = i.block_hash)
	ORDER BY i.id LIMIT $2;
-- openOnes
SELECT count(*)
	FROM @swap_discrepancies
	WHERE closed_by IS NULL;
-- outputsFrom
SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase, s.tx_hash
	FROM @transactions t
	CROSS JOIN @utxos u
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE t.wallet_id = $1 AND u.wallet_id = t.wallet_id AND u.tx_id = t.id AND (t.tx_hash, u.output_index) > ($2, $3)
	ORDER BY t.tx_hash, u.output_index LIMIT $4;
-- outputsOf
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_id
	FROM unnest($1::text::bigint[], $2::text::bigint[]) AS u(wallet_id, tx_id)) AS r
	CROSS JOIN LATERAL (SELECT u.tx_id, u.output_index, u.amount, u.script, u.owner_tag, s.tx_hash
	FROM @utxos u
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE u.wallet_id = r.wallet_id AND u.tx_id = r.tx_id OFFSET 0) n;
-- own[00]
SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1), (SELECT CASE WHEN @settle_moved(false) THEN 'send' END);
-- own[01]
SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool;
-- own[02]
SELECT current_setting('server_version_num');
-- own[03]
SELECT coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false);
-- own[04]
SELECT version, domain, oldest
	FROM @settle_versions;
-- own[05]
SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit');
-- own[06]
SELECT current_setting('transaction_isolation');
-- own[07]
SELECT extract(epoch
	FROM now())::text;
-- own[08]
SELECT count(*) > 0
	FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = coalesce(nullif($1::text, ''), current_schema()) AND c.relname = $2::text;
-- ownerOf
SELECT n.*
	FROM (SELECT u.id, u.wallet, u.nonce
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::bigint[]) AS u(id, wallet, nonce) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT n.job_id
	FROM @withdrawal_nonces n
	WHERE n.operation_wallet_address_id = r.wallet AND n.nonce = r.nonce AND n.job_id <> r.id OFFSET 0) n;
-- owners[invoice].of
SELECT i.id, i.tenant
	FROM @invoices i
	WHERE i.id IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id)) AS r);
-- owners[withdrawal_job].of
SELECT q.id, q.withdrawal_request_id
	FROM @withdrawal_queue q
	WHERE q.id IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id)) AS r);
-- pageOfProcesses
SELECT x.domain, x.name, x.version, x.policy, x.first_seen, x.last_seen
	FROM @settle_processes x
	WHERE (domain, name, version, policy) > ($1, $2, $3, $4)
	ORDER BY domain, name, version, policy LIMIT $5;
-- pageOfSwitches
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_switches x
	WHERE (scope) > ($1)
	ORDER BY scope LIMIT $2;
-- paidRequest
SELECT n.*
	FROM (SELECT u.chain_id, u.tx_form, u.output, u.request
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::uuid[]) AS u(chain_id, tx_form, output, request) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT p.withdrawal_request_id
	FROM @withdrawal_payments p
	WHERE p.chain_id = r.chain_id AND p.tx_form = r.tx_form AND p.withdrawal_request_id <> r.request AND (r.output = -1 OR p.output IN (-1, r.output)) OFFSET 0) n;
-- parkedOf
SELECT DISTINCT p.aggregate
	FROM @settle_parked p
	WHERE p.consumer = $1 AND p.aggregate IN (SELECT r.aggregate
	FROM (SELECT u.aggregate
	FROM unnest($2::text::text[]) AS u(aggregate)) AS r);
-- parkedTable.made.insertOne
INSERT INTO @settle_parked (consumer, n, machine, id, version, aggregate, parked_at, tries, error, next_try) SELECT r.consumer, r.n, r.machine, r.id, r.version, r.aggregate, r.parked_at, r.tries, r.error, r.next_try
	FROM (SELECT u.consumer, u.n, u.machine, u.id, u.version, u.aggregate, u.parked_at, u.tries, u.error, u.next_try
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::text[], $7::text::timestamptz[], $8::text::bigint[], $9::text::text[], $10::text::timestamptz[]) AS u(consumer, n, machine, id, version, aggregate, parked_at, tries, error, next_try) LIMIT (SELECT NULL::bigint)) AS r;
-- pendingRelays
SELECT id
	FROM @relays
	WHERE (synced = 0 OR trim(sync_error) <> '') AND id > $1
	ORDER BY id LIMIT $2;
-- processTable.made.insertOne
INSERT INTO @settle_processes (domain, name, version, policy, first_seen, last_seen) SELECT r.domain, r.name, r.version, r.policy, r.first_seen, r.last_seen
	FROM (SELECT u.domain, u.name, u.version, u.policy, u.first_seen, u.last_seen
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::timestamptz[], $6::text::timestamptz[]) AS u(domain, name, version, policy, first_seen, last_seen) LIMIT (SELECT NULL::bigint)) AS r;
-- putProcess
INSERT INTO @settle_processes (domain, name, version, policy, first_seen, last_seen) SELECT r.domain, r.name, r.version, r.policy, r.first_seen, r.last_seen
	FROM (SELECT u.domain, u.name, u.version, u.policy, u.first_seen, u.last_seen
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::timestamptz[], $6::text::timestamptz[]) AS u(domain, name, version, policy, first_seen, last_seen) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT (domain, name, version, policy) DO UPDATE
	SET last_seen = excluded.last_seen, first_seen = CASE WHEN @settle_processes.first_seen < excluded.first_seen THEN @settle_processes.first_seen ELSE excluded.first_seen END;
-- quietScope
SELECT CASE WHEN pg_try_advisory_lock(hashtextextended('@settle_switches ' || $1, 0)) THEN pg_advisory_unlock(hashtextextended('@settle_switches ' || $1, 0)) ELSE false END;
-- raiseFences
SELECT setval('@wallet_lock_fences', (SELECT f.last_value
	FROM @wallet_lock_fences f) + 4294967296);
-- readGeneration
SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1);
-- readSwitch
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_switches x
	WHERE x.scope IN ('everything', $1)
	UNION ALL SELECT 'newer', 'on', NULL, NULL, NULL, true, 'send', 0, NULL, 1
	WHERE EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- recent
SELECT t.block_height, sum(coalesce((SELECT sum(u.amount)
	FROM @utxos u
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND u.spent_by_tx_id IS NULL AND (CAST($2 AS text) IS NULL OR u.owner_tag = $2) AND NOT EXISTS (SELECT 1
	FROM @wallet_owners o
	CROSS JOIN @wallet_scans c
	WHERE o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id)), 0))
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height >= $3 AND NOT t.is_context AND NOT t.is_coinbase
	GROUP BY t.block_height;
-- recentCoinbases
SELECT t.block_height, sum(coalesce((SELECT sum(u.amount)
	FROM @utxos u
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND u.spent_by_tx_id IS NULL AND (CAST($2 AS text) IS NULL OR u.owner_tag = $2) AND NOT EXISTS (SELECT 1
	FROM @wallet_owners o
	CROSS JOIN @wallet_scans c
	WHERE o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id)), 0))
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height >= $3 AND NOT t.is_context AND t.is_coinbase
	GROUP BY t.block_height;
-- recoverableWallets
SELECT DISTINCT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at > $3 AND x.xpub_van > $1
	ORDER BY x.xpub_van LIMIT $2;
-- refreshCounts
SELECT x.status, COUNT(*)
	FROM @refresh_jobs x
	GROUP BY x.status;
-- refreshHeads
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT u.xpub_van
	FROM unnest($1::text::text[]) AS u(xpub_van)) AS r)
	ORDER BY x.xpub_van;
-- refreshJobLeases.lost
SELECT r.job_id
	FROM (SELECT u.job_id, u.fence, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[]) AS u(job_id, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refresh_jobs x
	WHERE x.job_id = r.job_id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- refreshJobLeases.renew
UPDATE @refresh_jobs AS x
	SET lease_until = r.until
	FROM (SELECT u.job_id, u.fence, u.until, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(job_id, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.job_id = r.job_id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- refreshJobOf
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.job_id = $1;
-- refreshJobTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.job_id, u.xpub_van, u.trigger
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::text[]) AS u(job_id, xpub_van, trigger) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.job_id
	FROM @refresh_jobs x
	WHERE x.xpub_van = r.xpub_van AND x.trigger = r.trigger AND x.trigger = 'recovery' AND x.status IN ('pending', 'processing') AND NOT (x.job_id = r.job_id) OFFSET 0) n;
-- refreshJobTable.made.inOrder
SELECT x.job_id
	FROM @refresh_jobs x
	WHERE (x.job_id) IN (SELECT r.job_id
	FROM (SELECT u.job_id
	FROM unnest($1::text::uuid[]) AS u(job_id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.job_id FOR NO KEY UPDATE OF x;
-- refreshJobTable.made.insertOne
INSERT INTO @refresh_jobs (job_id, xpub_van, xpub_col, master_fingerprint, trigger, recipient_id, asset_id, seq, created_at, status, attempts, error, processed_at, end_seq, version, lease_holder, lease_fence, lease_until, available_at) SELECT r.job_id, r.xpub_van, r.xpub_col, r.master_fingerprint, r.trigger, r.recipient_id, r.asset_id, r.seq, r.created_at, r.status, r.attempts, r.error, r.processed_at, r.end_seq, r.version, r.lease_holder, r.lease_fence, r.lease_until, r.available_at
	FROM (SELECT u.job_id, u.xpub_van, u.xpub_col, u.master_fingerprint, u.trigger, u.recipient_id, u.asset_id, u.seq, u.created_at, u.status, u.attempts, u.error, u.processed_at, u.end_seq, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.available_at
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[], $10::text::text[], $11::text::bigint[], $12::text::text[], $13::text::timestamptz[], $14::text::bigint[], $15::text::bigint[], $16::text::text[], $17::text::bigint[], $18::text::timestamptz[], $19::text::timestamptz[]) AS u(job_id, xpub_van, xpub_col, master_fingerprint, trigger, recipient_id, asset_id, seq, created_at, status, attempts, error, processed_at, end_seq, version, lease_holder, lease_fence, lease_until, available_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- refreshJobTable.made.storedNow
SELECT n.*
	FROM (SELECT u.job_id, u.record, u.old_version
	FROM unnest($2::text::uuid[], $3::text::text[], $4::text::bigint[]) AS u(job_id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.job_id, x.version, x.lease_fence, l.version
	FROM @refresh_jobs x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.job_id = r.job_id OFFSET 0) n;
-- refreshJobTable.made.touchOne
UPDATE @refresh_jobs AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, available_at = r.available_at
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.available_at, u.job_id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_available_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::uuid[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[]) AS u(lease_holder, lease_fence, lease_until, available_at, job_id, old_version, old_lease_holder, old_lease_fence, old_available_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.job_id = r.job_id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.available_at IS NOT DISTINCT
	FROM r.old_available_at;
-- refreshJobTable.made.updateOne
UPDATE @refresh_jobs AS x
	SET status = r.status, attempts = r.attempts, error = r.error, processed_at = r.processed_at, end_seq = r.end_seq, version = r.version, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, available_at = r.available_at
	FROM (SELECT u.status, u.attempts, u.error, u.processed_at, u.end_seq, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.available_at, u.job_id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_available_at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::text[], $4::text::timestamptz[], $5::text::bigint[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[], $10::text::timestamptz[], $11::text::uuid[], $12::text::bigint[], $13::text::text[], $14::text::bigint[], $15::text::timestamptz[]) AS u(status, attempts, error, processed_at, end_seq, version, lease_holder, lease_fence, lease_until, available_at, job_id, old_version, old_lease_holder, old_lease_fence, old_available_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.job_id = r.job_id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.available_at IS NOT DISTINCT
	FROM r.old_available_at;
-- refreshJobsOf
SELECT x.job_id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.trigger, x.recipient_id, x.asset_id, x.seq, x.created_at, x.status, x.attempts, x.error, x.processed_at, x.end_seq, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.available_at
	FROM @refresh_jobs x
	WHERE x.status = $4 AND (x.created_at, x.job_id) > ($1, $2)
	ORDER BY x.created_at, x.job_id LIMIT $3;
-- refreshNumbers
SELECT (SELECT COUNT(*)
	FROM @wallet_locks), (SELECT COUNT(*)
	FROM @refresh_wallets x
	WHERE x.slot IS NOT NULL AND x.lease_until > $1), (SELECT min(x.created_at)
	FROM @refresh_jobs x
	WHERE x.status IN ('pending', 'processing') AND x.created_at <= $1), (SELECT max(n.created_at)
	FROM (SELECT x.created_at
	FROM @refresh_jobs x
	WHERE x.status IN ('pending', 'processing')
	UNION ALL SELECT x.created_at
	FROM @refresh_watchers x
	WHERE x.status = 'watching') n), (SELECT min(x.available_at)
	FROM @refresh_jobs x
	WHERE x.status = 'pending' AND x.available_at <= $1), (SELECT min(x.next_at)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.next_at <= $1), (SELECT COUNT(*)
	FROM @refresh_jobs x
	WHERE x.status = 'processing' AND x.lease_until <= $1), (SELECT min(x.lease_until)
	FROM @refresh_jobs x
	WHERE x.status = 'processing' AND x.lease_until <= $1), (SELECT COUNT(*)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at <= $1), (SELECT min(x.expires_at)
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at <= $1), (SELECT x.xpub_van
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND x.expires_at <= $1
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
	FROM (SELECT u.id, u.fence, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[]) AS u(id, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @refresh_wallets x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- refreshSlotLeases.renew
UPDATE @refresh_wallets AS x
	SET lease_until = r.until
	FROM (SELECT u.id, u.fence, u.until, u.at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(id, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- refreshWalletTable.made.holdersNow[0]
SELECT n.*
	FROM (SELECT u.id, u.slot
	FROM unnest($1::text::uuid[], $2::text::bigint[]) AS u(id, slot) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id
	FROM @refresh_wallets x
	WHERE x.slot = r.slot AND NOT (x.id = r.id) OFFSET 0) n;
-- refreshWalletTable.made.inOrder
SELECT x.id
	FROM @refresh_wallets x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- refreshWalletTable.made.insertOne
INSERT INTO @refresh_wallets (id, xpub_van, created_at, status, unserved_since, slot, hung_rounds, not_before, version, lease_holder, lease_fence, lease_until, work_seq) SELECT r.id, r.xpub_van, r.created_at, r.status, r.unserved_since, r.slot, r.hung_rounds, r.not_before, r.version, r.lease_holder, r.lease_fence, r.lease_until, r.work_seq
	FROM (SELECT u.id, u.xpub_van, u.created_at, u.status, u.unserved_since, u.slot, u.hung_rounds, u.not_before, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.work_seq
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::timestamptz[], $4::text::text[], $5::text::timestamptz[], $6::text::bigint[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::timestamptz[], $13::text::bigint[]) AS u(id, xpub_van, created_at, status, unserved_since, slot, hung_rounds, not_before, version, lease_holder, lease_fence, lease_until, work_seq) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT DO NOTHING;
-- refreshWalletTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::uuid[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, x.lease_fence, l.version
	FROM @refresh_wallets x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- refreshWalletTable.made.touchOne
UPDATE @refresh_wallets AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, work_seq = r.work_seq
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.work_seq, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_work_seq
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::bigint[], $5::text::uuid[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::bigint[]) AS u(lease_holder, lease_fence, lease_until, work_seq, id, old_version, old_lease_holder, old_lease_fence, old_work_seq) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.work_seq IS NOT DISTINCT
	FROM r.old_work_seq;
-- refreshWalletTable.made.updateOne
UPDATE @refresh_wallets AS x
	SET status = r.status, unserved_since = r.unserved_since, slot = r.slot, hung_rounds = r.hung_rounds, not_before = r.not_before, version = r.version, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, work_seq = r.work_seq
	FROM (SELECT u.status, u.unserved_since, u.slot, u.hung_rounds, u.not_before, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.work_seq, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_work_seq
	FROM unnest($1::text::text[], $2::text::timestamptz[], $3::text::bigint[], $4::text::bigint[], $5::text::timestamptz[], $6::text::bigint[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[], $10::text::bigint[], $11::text::uuid[], $12::text::bigint[], $13::text::text[], $14::text::bigint[], $15::text::bigint[]) AS u(status, unserved_since, slot, hung_rounds, not_before, version, lease_holder, lease_fence, lease_until, work_seq, id, old_version, old_lease_holder, old_lease_fence, old_work_seq) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.work_seq IS NOT DISTINCT
	FROM r.old_work_seq AND (r.slot IS NULL OR NOT EXISTS (SELECT 1
	FROM @refresh_wallets h
	WHERE h.slot = r.slot AND NOT (h.id = r.id)));
-- refreshesHeld
SELECT x.xpub_van
	FROM @refresh_wallets x
	WHERE x.lease_holder = $3 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @refresh_jobs x
	WHERE x.lease_holder = $3 AND x.xpub_van > $1 UNION SELECT x.xpub_van
	FROM @wallet_locks x
	WHERE x.holder = $3 AND x.xpub_van > $1
	ORDER BY 1 LIMIT $2;
-- relayLeases.lost
SELECT r.id
	FROM (SELECT u.id, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(id, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @relays x
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at);
-- relayLeases.renew
UPDATE @relays AS x
	SET lease_until = r.until
	FROM (SELECT u.id, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(id, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at;
-- relayTable.made.inOrder
SELECT x.id
	FROM @relays x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- relayTable.made.insertOne
INSERT INTO @relays (id, tenant, created_at, subdomain, status, info, policy, groups, management, push, roles, blossom_enabled, blossom, livekit_enabled, livekit, synced, sync_error, revision, recreate, sent, version, deleted_at, generation, due_at, backoff, exhausted, claimed_at, claimed_revision, lapses, lapsed_fence, unanswered_at, since, lease_holder, lease_fence, lease_until) SELECT r.id, r.tenant, r.created_at, r.subdomain, r.status, r.info, r.policy, r.groups, r.management, r.push, r.roles, r.blossom_enabled, r.blossom, r.livekit_enabled, r.livekit, r.synced, r.sync_error, r.revision, r.recreate, r.sent, r.version, r.deleted_at, r.generation, r.due_at, r.backoff, r.exhausted, r.claimed_at, r.claimed_revision, r.lapses, r.lapsed_fence, r.unanswered_at, r.since, r.lease_holder, r.lease_fence, r.lease_until
	FROM (SELECT u.id, u.tenant, u.created_at, u.subdomain, u.status, u.info, u.policy, u.groups, u.management, u.push, u.roles, u.blossom_enabled, u.blossom, u.livekit_enabled, u.livekit, u.synced, u.sync_error, u.revision, u.recreate, u.sent, u.version, u.deleted_at, u.generation, u.due_at, u.backoff, u.exhausted, u.claimed_at, u.claimed_revision, u.lapses, u.lapsed_fence, u.unanswered_at, u.since, u.lease_holder, u.lease_fence, u.lease_until
	FROM unnest($1::text::text[], $2::text::text[], $3::text::timestamptz[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::text[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::text[], $14::text::bigint[], $15::text::text[], $16::text::bigint[], $17::text::text[], $18::text::bigint[], $19::text::boolean[], $20::text::text[], $21::text::bigint[], $22::text::timestamptz[], $23::text::bigint[], $24::text::timestamptz[], $25::text::boolean[], $26::text::boolean[], $27::text::timestamptz[], $28::text::bigint[], $29::text::bigint[], $30::text::bigint[], $31::text::timestamptz[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::timestamptz[]) AS u(id, tenant, created_at, subdomain, status, info, policy, groups, management, push, roles, blossom_enabled, blossom, livekit_enabled, livekit, synced, sync_error, revision, recreate, sent, version, deleted_at, generation, due_at, backoff, exhausted, claimed_at, claimed_revision, lapses, lapsed_fence, unanswered_at, since, lease_holder, lease_fence, lease_until) LIMIT (SELECT NULL::bigint)) AS r;
-- relayTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, x.lease_fence, l.version
	FROM @relays x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- relayTable.made.touchOne
UPDATE @relays AS x
	SET lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END
	FROM (SELECT u.lease_holder, u.lease_fence, u.lease_until, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::text[], $5::text::bigint[], $6::text::text[], $7::text::bigint[]) AS u(lease_holder, lease_fence, lease_until, id, old_version, old_lease_holder, old_lease_fence) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence;
-- relayTable.made.updateOne
UPDATE @relays AS x
	SET subdomain = r.subdomain, status = r.status, info = r.info, policy = r.policy, groups = r.groups, management = r.management, push = r.push, roles = r.roles, blossom_enabled = r.blossom_enabled, blossom = r.blossom, livekit_enabled = r.livekit_enabled, livekit = r.livekit, synced = r.synced, sync_error = r.sync_error, revision = r.revision, recreate = r.recreate, sent = r.sent, version = r.version, deleted_at = r.deleted_at, generation = r.generation, due_at = r.due_at, backoff = r.backoff, exhausted = r.exhausted, claimed_at = r.claimed_at, claimed_revision = r.claimed_revision, lapses = r.lapses, lapsed_fence = r.lapsed_fence, unanswered_at = r.unanswered_at, since = r.since, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END
	FROM (SELECT u.subdomain, u.status, u.info, u.policy, u.groups, u.management, u.push, u.roles, u.blossom_enabled, u.blossom, u.livekit_enabled, u.livekit, u.synced, u.sync_error, u.revision, u.recreate, u.sent, u.version, u.deleted_at, u.generation, u.due_at, u.backoff, u.exhausted, u.claimed_at, u.claimed_revision, u.lapses, u.lapsed_fence, u.unanswered_at, u.since, u.lease_holder, u.lease_fence, u.lease_until, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::text[], $13::text::bigint[], $14::text::text[], $15::text::bigint[], $16::text::boolean[], $17::text::text[], $18::text::bigint[], $19::text::timestamptz[], $20::text::bigint[], $21::text::timestamptz[], $22::text::boolean[], $23::text::boolean[], $24::text::timestamptz[], $25::text::bigint[], $26::text::bigint[], $27::text::bigint[], $28::text::timestamptz[], $29::text::timestamptz[], $30::text::text[], $31::text::bigint[], $32::text::timestamptz[], $33::text::text[], $34::text::bigint[], $35::text::text[], $36::text::bigint[]) AS u(subdomain, status, info, policy, groups, management, push, roles, blossom_enabled, blossom, livekit_enabled, livekit, synced, sync_error, revision, recreate, sent, version, deleted_at, generation, due_at, backoff, exhausted, claimed_at, claimed_revision, lapses, lapsed_fence, unanswered_at, since, lease_holder, lease_fence, lease_until, id, old_version, old_lease_holder, old_lease_fence) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence;
-- relaysGivenUp
SELECT id
	FROM @relays
	WHERE exhausted AND id > $1
	ORDER BY id LIMIT $2;
-- relaysHeld
SELECT x.id
	FROM @relays x
	WHERE x.lease_holder = $3 AND x.id > $1
	ORDER BY x.id LIMIT $2;
-- relaysOf
SELECT id
	FROM @relays
	WHERE tenant = $3 AND deleted_at IS NULL AND id > $1
	ORDER BY id LIMIT $2;
-- requestTable.made.inOrder
SELECT x.id
	FROM @withdrawal_requests x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- requestTable.made.insertOne
INSERT INTO @withdrawal_requests (id, user_id, asset_id, chain_id, to_address, memo, amount, amount_raw, decimals, requested_by, approvals_needed, created_at, status, first_approver, second_approver, closed_by, close_reason, queued_at, final_tx_hash, held, mined, acknowledged, disproved, disproved_by, strays_on_file, strays_sent, taken, told, refunded_at, refunded_by, refund_reference, paid_after, version, updated_at, offer_at, approved_at) SELECT r.id, r.user_id, r.asset_id, r.chain_id, r.to_address, r.memo, r.amount, r.amount_raw, r.decimals, r.requested_by, r.approvals_needed, r.created_at, r.status, r.first_approver, r.second_approver, r.closed_by, r.close_reason, r.queued_at, r.final_tx_hash, r.held, r.mined, r.acknowledged, r.disproved, r.disproved_by, r.strays_on_file, r.strays_sent, r.taken, r.told, r.refunded_at, r.refunded_by, r.refund_reference, r.paid_after, r.version, r.updated_at, r.offer_at, r.approved_at
	FROM (SELECT u.id, u.user_id, u.asset_id, u.chain_id, u.to_address, u.memo, u.amount, u.amount_raw, u.decimals, u.requested_by, u.approvals_needed, u.created_at, u.status, u.first_approver, u.second_approver, u.closed_by, u.close_reason, u.queued_at, u.final_tx_hash, u.held, u.mined, u.acknowledged, u.disproved, u.disproved_by, u.strays_on_file, u.strays_sent, u.taken, u.told, u.refunded_at, u.refunded_by, u.refund_reference, u.paid_after, u.version, u.updated_at, u.offer_at, u.approved_at
	FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::uuid[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::numeric[], $8::text::text[], $9::text::bigint[], $10::text::text[], $11::text::bigint[], $12::text::timestamptz[], $13::text::text[], $14::text::text[], $15::text::text[], $16::text::text[], $17::text::text[], $18::text::timestamptz[], $19::text::text[], $20::text::boolean[], $21::text::text[], $22::text::boolean[], $23::text::text[], $24::text::text[], $25::text::bigint[], $26::text::bigint[], $27::text::text[], $28::text::text[], $29::text::timestamptz[], $30::text::text[], $31::text::text[], $32::text::text[], $33::text::bigint[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::timestamptz[]) AS u(id, user_id, asset_id, chain_id, to_address, memo, amount, amount_raw, decimals, requested_by, approvals_needed, created_at, status, first_approver, second_approver, closed_by, close_reason, queued_at, final_tx_hash, held, mined, acknowledged, disproved, disproved_by, strays_on_file, strays_sent, taken, told, refunded_at, refunded_by, refund_reference, paid_after, version, updated_at, offer_at, approved_at) LIMIT (SELECT NULL::bigint)) AS r;
-- requestTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::uuid[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, 0, l.version
	FROM @withdrawal_requests x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- requestTable.made.touchOne
UPDATE @withdrawal_requests AS x
	SET offer_at = r.offer_at
	FROM (SELECT u.offer_at, u.id, u.old_version, u.old_offer_at
	FROM unnest($1::text::timestamptz[], $2::text::uuid[], $3::text::bigint[], $4::text::timestamptz[]) AS u(offer_at, id, old_version, old_offer_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.offer_at IS NOT DISTINCT
	FROM r.old_offer_at;
-- requestTable.made.updateOne
UPDATE @withdrawal_requests AS x
	SET status = r.status, first_approver = r.first_approver, second_approver = r.second_approver, closed_by = r.closed_by, close_reason = r.close_reason, queued_at = r.queued_at, final_tx_hash = r.final_tx_hash, held = r.held, mined = r.mined, acknowledged = r.acknowledged, disproved = r.disproved, disproved_by = r.disproved_by, strays_on_file = r.strays_on_file, strays_sent = r.strays_sent, taken = r.taken, told = r.told, refunded_at = r.refunded_at, refunded_by = r.refunded_by, refund_reference = r.refund_reference, paid_after = r.paid_after, version = r.version, updated_at = r.updated_at, offer_at = r.offer_at, approved_at = coalesce(r.approved_at, x.approved_at)
	FROM (SELECT u.status, u.first_approver, u.second_approver, u.closed_by, u.close_reason, u.queued_at, u.final_tx_hash, u.held, u.mined, u.acknowledged, u.disproved, u.disproved_by, u.strays_on_file, u.strays_sent, u.taken, u.told, u.refunded_at, u.refunded_by, u.refund_reference, u.paid_after, u.version, u.updated_at, u.offer_at, u.approved_at, u.id, u.old_version, u.old_offer_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::timestamptz[], $7::text::text[], $8::text::boolean[], $9::text::text[], $10::text::boolean[], $11::text::text[], $12::text::text[], $13::text::bigint[], $14::text::bigint[], $15::text::text[], $16::text::text[], $17::text::timestamptz[], $18::text::text[], $19::text::text[], $20::text::text[], $21::text::bigint[], $22::text::timestamptz[], $23::text::timestamptz[], $24::text::timestamptz[], $25::text::uuid[], $26::text::bigint[], $27::text::timestamptz[]) AS u(status, first_approver, second_approver, closed_by, close_reason, queued_at, final_tx_hash, held, mined, acknowledged, disproved, disproved_by, strays_on_file, strays_sent, taken, told, refunded_at, refunded_by, refund_reference, paid_after, version, updated_at, offer_at, approved_at, id, old_version, old_offer_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.offer_at IS NOT DISTINCT
	FROM r.old_offer_at;
-- requestsApproved[false]
SELECT created_at, approved_at
	FROM @withdrawal_requests
	WHERE approved_at >= $1 AND approved_at < $2;
-- requestsApproved[true]
SELECT created_at, approved_at
	FROM @withdrawal_requests
	WHERE approved_at >= $1 AND approved_at < $2 AND chain_id = $3;
-- requestsByHash
SELECT DISTINCT p.withdrawal_request_id
	FROM @withdrawal_payments p
	WHERE p.tx_form = $1 AND p.withdrawal_request_id IS NOT NULL AND p.withdrawal_request_id <> '00000000-0000-0000-0000-000000000000'
	ORDER BY 1 LIMIT 10000;
-- requestsEnded[false]
SELECT status, count(*)
	FROM @withdrawal_requests
	WHERE status IN ('completed', 'failed') AND updated_at >= $1 AND updated_at < $2
	GROUP BY status;
-- requestsEnded[true]
SELECT status, count(*)
	FROM @withdrawal_requests
	WHERE status IN ('completed', 'failed') AND updated_at >= $1 AND updated_at < $2 AND chain_id = $3
	GROUP BY status;
-- requestsOf
SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = $4 AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3;
-- requestsOfAll
SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'pending' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_pending
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'approved' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_approved
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'queued' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_queued
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'completed' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_completed
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'failed' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_failed
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'rejected' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_rejected
	UNION ALL SELECT *
	FROM (SELECT x.id, x.user_id, x.asset_id, x.chain_id, x.to_address, x.memo, x.amount, x.amount_raw, x.decimals, x.requested_by, x.approvals_needed, x.created_at, x.status, x.first_approver, x.second_approver, x.closed_by, x.close_reason, x.queued_at, x.final_tx_hash, x.held, x.mined, x.acknowledged, x.disproved, x.disproved_by, x.strays_on_file, x.strays_sent, x.taken, x.told, x.refunded_at, x.refunded_by, x.refund_reference, x.paid_after, x.version, x.updated_at, x.offer_at
	FROM @withdrawal_requests x
	WHERE x.status = 'cancelled' AND (created_at, id) > ($1, $2)
	ORDER BY created_at, id LIMIT $3) s_cancelled
	ORDER BY created_at, id LIMIT $3;
-- resignTxs
UPDATE @transactions AS t
	SET raw_tx = r.raw_tx
	FROM (SELECT u.id, u.version, u.raw_tx
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bytea[]) AS u(id, version, raw_tx)) AS r
	WHERE t.id = r.id AND t.version = r.version;
-- restateTxs
UPDATE @transactions AS t
	SET status = r.status, seq = r.seq, label = r.label, is_context = r.is_context, is_public = r.is_public, version = r.version
	FROM (SELECT u.id, u.old, u.status, u.seq, u.label, u.is_context, u.is_public, u.version
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::text[], $6::text::boolean[], $7::text::boolean[], $8::text::bigint[]) AS u(id, old, status, seq, label, is_context, is_public, version)) AS r
	WHERE t.id = r.id AND t.version = r.old;
-- restateWallet
UPDATE @operation_wallet_addresses
	SET role = $2, status = $3
	WHERE id = $1;
-- saveAttempts
INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref) SELECT r.job_id, r.fence, r.worker, r.started_at, r.ended_at, r.outcome, r.error_message, r.tx_hash, r.dispatched_at, r.dispatch_ref
	FROM (SELECT u.job_id, u.fence, u.worker, u.started_at, u.ended_at, u.outcome, u.error_message, u.tx_hash, u.dispatched_at, u.dispatch_ref
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::text[], $4::text::timestamptz[], $5::text::timestamptz[], $6::text::text[], $7::text::text[], $8::text::text[], $9::text::timestamptz[], $10::text::text[]) AS u(job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT (job_id, fence) DO UPDATE
	SET ended_at = excluded.ended_at, outcome = excluded.outcome, error_message = excluded.error_message, tx_hash = excluded.tx_hash, dispatched_at = excluded.dispatched_at, dispatch_ref = excluded.dispatch_ref
	WHERE @withdrawal_attempts.ended_at IS NULL;
-- scanOwners
UPDATE @wallet_owners AS o
	SET scan_id = r.scan_id
	FROM (SELECT u.wallet_id, u.owner_tag, u.scan_id
	FROM unnest($1::text::bigint[], $2::text::text[], $3::text::bigint[]) AS u(wallet_id, owner_tag, scan_id)) AS r
	WHERE o.wallet_id = r.wallet_id AND o.owner_tag = r.owner_tag;
-- selectAggregates
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT q.id, q.user_id, q.asset_id, q.chain_id, q.to_address, q.memo, q.amount, q.amount_raw, q.decimals, q.requested_by, q.approvals_needed, q.created_at, q.status, q.first_approver, q.second_approver, q.closed_by, q.close_reason, q.queued_at, q.final_tx_hash, q.held, q.mined, q.acknowledged, q.disproved, q.disproved_by, q.strays_on_file, q.strays_sent, q.taken, q.told, q.refunded_at, q.refunded_by, q.refund_reference, q.paid_after, q.version, q.updated_at, q.offer_at, j.id, j.withdrawal_request_id, j.chain_id, j.asset_on_chain_id, j.operation_wallet_address_id, j.to_address, j.amount_raw, j.amount_human, j.priority, j.max_retries, j.created_at, j.status, j.retry_count, j.scheduled_at, j.scheduled_from, j.slot, j.claimed_at, j.dispatched_at, j.dispatch_ref, j.txs_on_file, j.txs_dead, j.nonce, j.tx_hash, j.review, j.resolved_version, j.broadcast_at, j.evidence_height, j.evidence_hash, j.gas_used, j.gas_price, j.error_message, j.processed_at, j.deferrals, j.stopped_fence, j.dispatches, j.batch_id, j.version, j.lease_holder, j.lease_fence, j.lease_until, j.offer_at, j.next_check_at, j.rebroadcast, a.job_id, a.fence, a.worker, a.started_at, a.ended_at, a.outcome, a.error_message, a.tx_hash, a.dispatched_at, a.dispatch_ref, w.id, w.chain_id, w.role, w.status, w.last_used_at, w.balance_reserved, m.nonce, f.nonce, u.id
	FROM @withdrawal_requests q
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
	WHERE q.id = r.id OFFSET 0) n;
-- selectBatches
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.chain_id, x.operation_wallet_address_id, x.owner_job_id, x.nonce, x.input, x.members, x.created_at, x.status, x.txs_on_file, x.tx_hash, x.evidence_height, x.evidence_hash, x.gas_used, x.gas_price, x.ended_at, x.version, x.next_check_at, x.rebroadcast, x.lease_holder, x.lease_fence, x.lease_until
	FROM @withdrawal_batches x
	WHERE x.id = r.id OFFSET 0) n;
-- selectBlocks
SELECT block_height, block_hash, prev_hash, block_time
	FROM @blocks
	WHERE block_height BETWEEN $1 AND $2
	ORDER BY block_height;
-- selectConsumer
SELECT x.name, x.machines, x.cursor, x.lease_fence, x.lease_until, x.stopped, x.error, x.failed_at, x.late
	FROM @settle_consumers x
	WHERE x.name = $1;
-- selectControl
SELECT x.id, x.generation, x.recovered_at, x.solana_scanned, x.nexus_scanned, x.missing_said, x.books_read, x.reference, x.version
	FROM @swap_control x
	WHERE x.id = 1;
-- selectDispatches
SELECT n.*
	FROM (SELECT u.id, u.n
	FROM unnest($1::text::uuid[], $2::text::bigint[]) AS u(id, n) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT r.id, t.job_id, t.fence, t.worker, t.started_at, t.ended_at, t.outcome, t.error_message, t.tx_hash, t.dispatched_at, t.dispatch_ref
	FROM @withdrawal_queue j
	JOIN @withdrawal_attempts t ON t.job_id = j.id
	WHERE j.withdrawal_request_id = r.id AND r.n > 0 AND t.dispatched_at IS NOT NULL AND t.ended_at IS NOT NULL OFFSET 0) n;
-- selectInvoices
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.tenant, x.created_at, x.amount, x.issued, x.since, x.paid_at, x.voided_at, x.notified_at, x.method, x.payment_error, x.attempts, x.charge, x.charge_key, x.charge_by, x.charge_at, x.charge_amount, x.charge_method, x.charge_after, x.missed, x.looked_back, x.paid_key, x.overpaid_at, x.overpaid, x.repaid, x.notice, x.prior_notified_at, x.version
	FROM @invoices x
	WHERE x.tenant = r.id OFFSET 0) n;
-- selectMembers
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT DISTINCT t.batch_id, t.withdrawal_request_id
	FROM @withdrawal_txs t
	WHERE t.batch_id = r.id OFFSET 0) n;
-- selectNow
SELECT clock_timestamp(), EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
-- selectOwners
SELECT n.*
	FROM (SELECT u.owner_tag
	FROM unnest($2::text::text[]) AS u(owner_tag)) AS r
	CROSS JOIN LATERAL (SELECT o.owner_tag, o.birth_height
	FROM @wallet_owners o
	WHERE o.wallet_id = $1 AND o.owner_tag = r.owner_tag OFFSET 0) n;
-- selectRaw
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bytea[]) AS u(wallet_id, tx_hash)) AS r
	CROSS JOIN LATERAL (SELECT t.wallet_id, t.tx_hash, t.raw_tx
	FROM @transactions t
	WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id OFFSET 0) n;
-- selectRelays
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.tenant, x.created_at, x.subdomain, x.status, x.info, x.policy, x.groups, x.management, x.push, x.roles, x.blossom_enabled, x.blossom, x.livekit_enabled, x.livekit, x.synced, x.sync_error, x.revision, x.recreate, x.sent, x.version, x.deleted_at, x.generation, x.due_at, x.backoff, x.exhausted, x.claimed_at, x.claimed_revision, x.lapses, x.lapsed_fence, x.unanswered_at, x.since, x.lease_holder, x.lease_fence, x.lease_until, (SELECT count(*)
	FROM @activities f
	WHERE f.resource_type = 'relay' AND f.resource_id = x.id AND f.activity_type = 'fail_relay_sync' AND (l.sequence IS NULL OR (f.created_at, f.sequence) > (l.created_at, l.sequence))), c.sequence IS NOT NULL, n.created_at
	FROM @relays x
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
	WHERE x.id = r.id OFFSET 0) n;
-- selectRequestOf
SELECT withdrawal_request_id
	FROM @withdrawal_queue
	WHERE id = $1;
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
SELECT n.*
	FROM (SELECT u.id, u.n
	FROM unnest($1::text::uuid[], $2::text::bigint[]) AS u(id, n) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT r.id, t.withdrawal_request_id, t.seq, t.job_id, t.claim, t.tx_hash, t.raw_tx, t.operation_wallet_address_id, t.nonce, t.input, t.by_output, t.output, t.fence, t.created_at, t.settled_at
	FROM @withdrawal_strays t
	WHERE t.withdrawal_request_id = r.id AND t.seq <= r.n OFFSET 0) n;
-- selectSwitches
SELECT x.scope, x.level, x.actor, x.reason, x.since, x.recovering, x.recovery, x.generation, x.recovered_at, x.version
	FROM @settle_switches x
	WHERE x.scope IN (SELECT r.scope
	FROM (SELECT u.scope
	FROM unnest($1::text::text[]) AS u(scope)) AS r);
-- selectTenants
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.billing_anchor, x.created_at, x.method, x.churned_at, x.reinstated_at, x.since, x.payment_error, x.notice, x.notice_by, x.notice_after, x.version, x.due_at
	FROM @tenants x
	WHERE x.id = r.id OFFSET 0) n;
-- selectTheseWallets
SELECT n.*
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT w.id, w.chain_id, w.role, w.status, w.last_used_at, w.balance_reserved, m.nonce, f.nonce, u.id
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
	WHERE w.id = r.id OFFSET 0) n;
-- selectTip
SELECT block_height, block_hash, prev_hash, block_time
	FROM @blocks
	ORDER BY block_height DESC LIMIT 1;
-- selectTxIDs
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bytea[]) AS u(wallet_id, tx_hash)) AS r
	CROSS JOIN LATERAL (SELECT t.id, t.wallet_id, t.tx_hash
	FROM @transactions t
	WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id OFFSET 0) n;
-- selectTxs
SELECT n.*
	FROM (SELECT u.id, u.n
	FROM unnest($1::text::uuid[], $2::text::bigint[]) AS u(id, n) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT r.id, t.withdrawal_request_id, t.seq, t.job_id, t.tx_hash, t.raw_tx, t.operation_wallet_address_id, t.nonce, t.input, t.is_cancel, t.by_output, t.output, t.batch_id, t.created_at
	FROM @withdrawal_txs t
	WHERE t.withdrawal_request_id = r.id AND t.seq <= r.n OFFSET 0) n;
-- selectUsage
SELECT created_at, amount
	FROM @withdrawal_requests
	WHERE user_id = $1 AND asset_id = $2 AND created_at >= $3 AND created_at < $4 AND status IN ('pending', 'approved', 'queued', 'completed');
-- selectVersions
SELECT n.*
	FROM (SELECT u.id, u.on_file
	FROM unnest($1::text::uuid[], $2::text::bigint[]) AS u(id, on_file) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT t.batch_id, t.seq, t.tx_hash, t.raw_tx, t.created_at
	FROM @withdrawal_batch_txs t
	WHERE t.batch_id = r.id AND t.seq <= r.on_file OFFSET 0) n;
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
	WHERE w.chain_id = $1
	ORDER BY w.id;
-- selectWaterline
SELECT x.chain, x.own, x.at, x.seen, x.version
	FROM @swap_waterlines x
	WHERE x.chain = $1 AND x.own = $2;
-- sequentialClaims.ahead[0]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	CROSS JOIN @operation_wallet_addresses w
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND w.id = x.operation_wallet_address_id AND w.role = 'hot_wallet' AND w.status = 'active' AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > $2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $2 AND (x.scheduled_at <= $2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > $3) AND (x.offer_at IS NULL OR x.offer_at <= $2 OR x.offer_at > $3) AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = x.operation_wallet_address_id AND (CASE WHEN f.offer_at > f.scheduled_from THEN f.offer_at ELSE f.scheduled_from END) > $2 AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) > $2 AND (f.scheduled_at <= $2 OR f.scheduled_at = f.scheduled_from OR f.scheduled_from > $3) AND (f.offer_at IS NULL OR f.offer_at <= $2 OR f.offer_at > $3)
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = x.operation_wallet_address_id) AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = w.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- sequentialClaims.ahead[1]
SELECT x.withdrawal_request_id
	FROM @withdrawal_queue x
	CROSS JOIN @operation_wallet_addresses w
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND w.id = x.operation_wallet_address_id AND w.role = 'hot_wallet' AND w.status = 'active' AND (CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > $2 AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $2 AND (x.scheduled_at <= $2 OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > $3) AND (x.offer_at IS NULL OR x.offer_at <= $2 OR x.offer_at > $3) AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = x.operation_wallet_address_id AND (CASE WHEN f.offer_at > f.scheduled_from THEN f.offer_at ELSE f.scheduled_from END) > $2 AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) > $2 AND (f.scheduled_at <= $2 OR f.scheduled_at = f.scheduled_from OR f.scheduled_from > $3) AND (f.offer_at IS NULL OR f.offer_at <= $2 OR f.offer_at > $3)
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = x.operation_wallet_address_id) AND w.chain_id = $4 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $4) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $4)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $4 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- sequentialClaims.found[0]
SELECT x.withdrawal_request_id
	FROM @operation_wallet_addresses w
	CROSS JOIN @withdrawal_queue x
	WHERE upper(x.status) = 'PENDING' AND w.role = 'hot_wallet' AND w.status = 'active' AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = w.id AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) <= $2
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = w.id) AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = w.chain_id AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- sequentialClaims.found[1]
SELECT x.withdrawal_request_id
	FROM @operation_wallet_addresses w
	CROSS JOIN @withdrawal_queue x
	WHERE upper(x.status) = 'PENDING' AND w.role = 'hot_wallet' AND w.status = 'active' AND x.id = (SELECT f.id
	FROM @withdrawal_queue f
	WHERE f.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = f.withdrawal_request_id) AND f.operation_wallet_address_id = w.id AND (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END) <= $2
	ORDER BY (CASE f.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN f.offer_at > f.scheduled_at THEN f.offer_at ELSE f.scheduled_at END), f.id LIMIT 1) AND NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = w.id) AND w.chain_id = $3 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $3)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $3 AND u.status = 'unknown outbound'))
	ORDER BY (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END), x.id LIMIT $1 FOR NO KEY UPDATE OF x SKIP LOCKED;
-- sequentialClaims.soon[0]
SELECT min((SELECT min((CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END))
	FROM @withdrawal_queue x
	WHERE x.status = 'pending' AND (SELECT NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)
	FROM @withdrawal_requests q
	WHERE q.id = x.withdrawal_request_id) AND (SELECT w.role = 'hot_wallet' AND w.status = 'active'
	FROM @operation_wallet_addresses w
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $1 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || w.chain_id) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
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
	WHERE w.id = x.operation_wallet_address_id) AND (CASE WHEN x.offer_at > x.scheduled_at THEN x.offer_at ELSE x.scheduled_at END) > $1 AND w.chain_id = $2 AND NOT (((SELECT count(*)
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2) AND s.level IN ('begin', 'all', 'send')) > 0 OR coalesce(coalesce((SELECT CASE WHEN @settle_moved(false) THEN 'send' END), (SELECT s.recovery
	FROM @settle_switches s
	WHERE s.scope IN ('everything', 'chain/' || $2)
	ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1)), '') IN ('begin', 'all', 'send')) OR EXISTS (SELECT 1
	FROM @operation_wallet_addresses u
	WHERE u.chain_id = $2 AND u.status = 'unknown outbound')) AND (CASE x.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END) = p.n))
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
	SET settled_at = r.settled_at
	FROM (SELECT u.withdrawal_request_id, u.seq, u.settled_at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::timestamptz[]) AS u(withdrawal_request_id, seq, settled_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.seq = r.seq AND x.settled_at IS NULL;
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
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id AND t.id > $1 AND t.id <= $2 AND t.block_height IS NOT NULL;
-- sightsOfOutputs
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_hash, u.output_index
	FROM unnest($1::text::bigint[], $2::text::bytea[], $3::text::bigint[]) AS u(wallet_id, tx_hash, output_index)) AS r
	CROSS JOIN LATERAL (SELECT t.wallet_id, t.tx_hash, u.output_index, u.amount, u.owner_tag, t.status, t.is_coinbase, t.block_height, b.block_hash, p.height, coalesce(s.scanned_to, CASE WHEN w.follows_tip THEN p.height ELSE w.scanned_to END)
	FROM @transactions t
	CROSS JOIN @utxos u
	CROSS JOIN @wallets w
	CROSS JOIN (SELECT coalesce(max(block_height), -1) AS height
	FROM @blocks) p
	LEFT JOIN @blocks b ON b.block_height = t.block_height
	LEFT JOIN @wallet_owners o ON o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag
	LEFT JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id AND t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id AND u.output_index = r.output_index OFFSET 0) n;
-- sightsOfTxs
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bytea[]) AS u(wallet_id, tx_hash)) AS r
	CROSS JOIN LATERAL (SELECT t.wallet_id, t.tx_hash, u.output_index, u.amount, u.owner_tag, t.status, t.is_coinbase, t.block_height, b.block_hash, p.height, coalesce(s.scanned_to, CASE WHEN w.follows_tip THEN p.height ELSE w.scanned_to END)
	FROM @transactions t
	CROSS JOIN @utxos u
	CROSS JOIN @wallets w
	CROSS JOIN (SELECT coalesce(max(block_height), -1) AS height
	FROM @blocks) p
	LEFT JOIN @blocks b ON b.block_height = t.block_height
	LEFT JOIN @wallet_owners o ON o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag
	LEFT JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id
	WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id AND t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id OFFSET 0) n;
-- statementRows.behind
SELECT id, chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at
	FROM @withdrawal_statements
	WHERE id > $1
	ORDER BY id LIMIT $2;
-- statementRows.lock
SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawal_statements', 0));
-- statementRows.table.made.insertOne
INSERT INTO @withdrawal_statements (chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at) SELECT r.chain_id, r.operation_wallet_address_id, r.generation, r.says, r.number, r.low, r.tx_hash, r.named, r.asset_on_chain_id, r.amount_raw, r.withdrawal_request_id, r.height, r.block_hash, r.source, r.reason, r.actor, r.at
	FROM (SELECT u.chain_id, u.operation_wallet_address_id, u.generation, u.says, u.number, u.low, u.tx_hash, u.named, u.asset_on_chain_id, u.amount_raw, u.withdrawal_request_id, u.height, u.block_hash, u.source, u.reason, u.actor, u.at
	FROM unnest($1::text::text[], $2::text::uuid[], $3::text::bigint[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::text[], $8::text::text[], $9::text::uuid[], $10::text::text[], $11::text::uuid[], $12::text::bigint[], $13::text::text[], $14::text::text[], $15::text::text[], $16::text::text[], $17::text::timestamptz[]) AS u(chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at) LIMIT (SELECT NULL::bigint)) AS r;
-- statementTable.made.insertOne
INSERT INTO @withdrawal_statements (chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at) SELECT r.chain_id, r.operation_wallet_address_id, r.generation, r.says, r.number, r.low, r.tx_hash, r.named, r.asset_on_chain_id, r.amount_raw, r.withdrawal_request_id, r.height, r.block_hash, r.source, r.reason, r.actor, r.at
	FROM (SELECT u.chain_id, u.operation_wallet_address_id, u.generation, u.says, u.number, u.low, u.tx_hash, u.named, u.asset_on_chain_id, u.amount_raw, u.withdrawal_request_id, u.height, u.block_hash, u.source, u.reason, u.actor, u.at
	FROM unnest($1::text::text[], $2::text::uuid[], $3::text::bigint[], $4::text::text[], $5::text::bigint[], $6::text::bigint[], $7::text::text[], $8::text::text[], $9::text::uuid[], $10::text::text[], $11::text::uuid[], $12::text::bigint[], $13::text::text[], $14::text::text[], $15::text::text[], $16::text::text[], $17::text::timestamptz[]) AS u(chain_id, operation_wallet_address_id, generation, says, number, low, tx_hash, named, asset_on_chain_id, amount_raw, withdrawal_request_id, height, block_hash, source, reason, actor, at) LIMIT (SELECT NULL::bigint)) AS r;
-- statementsAbout
SELECT x.chain_id, x.operation_wallet_address_id, x.generation, x.says, x.number, x.low, x.tx_hash, x.named, x.asset_on_chain_id, x.amount_raw, x.withdrawal_request_id, x.height, x.block_hash, x.source, x.reason, x.actor, x.at
	FROM @withdrawal_statements x
	WHERE x.chain_id = $1 AND x.generation >= $2
	ORDER BY x.generation, x.id;
-- strayTable.made.insertOne
INSERT INTO @withdrawal_strays (withdrawal_request_id, seq, job_id, claim, tx_hash, raw_tx, operation_wallet_address_id, nonce, input, by_output, output, fence, created_at, settled_at) SELECT r.withdrawal_request_id, r.seq, r.job_id, r.claim, r.tx_hash, r.raw_tx, r.operation_wallet_address_id, r.nonce, r.input, r.by_output, r.output, r.fence, r.created_at, r.settled_at
	FROM (SELECT u.withdrawal_request_id, u.seq, u.job_id, u.claim, u.tx_hash, u.raw_tx, u.operation_wallet_address_id, u.nonce, u.input, u.by_output, u.output, u.fence, u.created_at, u.settled_at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::uuid[], $4::text::text[], $5::text::text[], $6::text::bytea[], $7::text::uuid[], $8::text::bigint[], $9::text::text[], $10::text::boolean[], $11::text::bigint[], $12::text::bigint[], $13::text::timestamptz[], $14::text::timestamptz[]) AS u(withdrawal_request_id, seq, job_id, claim, tx_hash, raw_tx, operation_wallet_address_id, nonce, input, by_output, output, fence, created_at, settled_at) LIMIT (SELECT NULL::bigint)) AS r;
-- sumMoney[false]
SELECT q.chain_id, q.asset_id, q.decimals, coalesce(x.review, false), (x.dispatched_at IS NOT NULL OR q.strays_sent > 0 OR q.mined IS NOT NULL OR q.disproved IS NOT NULL OR q.taken IS NOT NULL), coalesce(x.status = 'processing' AND NOT x.review AND x.lease_until <= $1 OR x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $1 AND x.next_check_at < $1 OR b.next_check_at < $1, false), CAST(sum(CAST(q.amount_raw AS numeric)) AS text)
	FROM @withdrawal_requests q
	LEFT JOIN @withdrawal_queue x ON x.withdrawal_request_id = q.id AND x.status IN ('pending', 'processing', 'confirming')
	LEFT JOIN @withdrawal_batches b ON b.id = x.batch_id AND b.status = 'confirming' AND x.status = 'confirming'
	WHERE q.status IN ('pending', 'approved', 'queued')
	GROUP BY 1, 2, 3, 4, 5, 6;
-- sumMoney[true]
SELECT q.chain_id, q.asset_id, q.decimals, coalesce(x.review, false), (x.dispatched_at IS NOT NULL OR q.strays_sent > 0 OR q.mined IS NOT NULL OR q.disproved IS NOT NULL OR q.taken IS NOT NULL), coalesce(x.status = 'processing' AND NOT x.review AND x.lease_until <= $1 OR x.status = 'confirming' AND x.batch_id IS NULL AND x.next_check_at <= $1 AND x.next_check_at < $1 OR b.next_check_at < $1, false), CAST(sum(CAST(q.amount_raw AS numeric)) AS text)
	FROM @withdrawal_requests q
	LEFT JOIN @withdrawal_queue x ON x.withdrawal_request_id = q.id AND x.status IN ('pending', 'processing', 'confirming')
	LEFT JOIN @withdrawal_batches b ON b.id = x.batch_id AND b.status = 'confirming' AND x.status = 'confirming'
	WHERE q.status IN ('pending', 'approved', 'queued') AND q.chain_id = $2
	GROUP BY 1, 2, 3, 4, 5, 6;
-- sums
SELECT CASE WHEN EXISTS (SELECT 1
	FROM @wallet_owners o
	CROSS JOIN @wallet_scans c
	WHERE o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id) THEN 'unscanned' ELSE u.bucket END, sum(u.amount)
	FROM @wallet_balances u
	WHERE u.wallet_id = $1 AND (CAST($2 AS text) IS NULL OR u.owner_tag = $2)
	GROUP BY 1;
-- sweepLocks
DELETE
	FROM @wallet_locks
	WHERE xpub_van IN (SELECT x.xpub_van
	FROM @wallet_locks x
	WHERE x.expires_at <= $1
	ORDER BY x.xpub_van LIMIT $2 FOR UPDATE SKIP LOCKED);
-- switchTable.made.inOrder
SELECT x.scope
	FROM @settle_switches x
	WHERE (x.scope) IN (SELECT r.scope
	FROM (SELECT u.scope
	FROM unnest($1::text::text[]) AS u(scope) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.scope FOR NO KEY UPDATE OF x;
-- switchTable.made.insertOne
INSERT INTO @settle_switches (scope, level, actor, reason, since, recovering, recovery, generation, recovered_at, version) SELECT r.scope, r.level, r.actor, r.reason, r.since, r.recovering, r.recovery, r.generation, r.recovered_at, r.version
	FROM (SELECT u.scope, u.level, u.actor, u.reason, u.since, u.recovering, u.recovery, u.generation, u.recovered_at, u.version
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::timestamptz[], $6::text::boolean[], $7::text::text[], $8::text::bigint[], $9::text::timestamptz[], $10::text::bigint[]) AS u(scope, level, actor, reason, since, recovering, recovery, generation, recovered_at, version) LIMIT (SELECT NULL::bigint)) AS r;
-- switchTable.made.storedNow
SELECT n.*
	FROM (SELECT u.scope, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(scope, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.scope, x.version, 0, l.version
	FROM @settle_switches x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.scope = r.scope OFFSET 0) n;
-- switchTable.made.touchOne
UPDATE @settle_switches AS x
	SET  = r.
	FROM (SELECT u., u.scope, u.old_version
	FROM unnest($1::text::[], $2::text::text[], $3::text::bigint[]) AS u(, scope, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.scope = r.scope AND x.version = r.old_version;
-- switchTable.made.updateOne
UPDATE @settle_switches AS x
	SET level = r.level, actor = r.actor, reason = r.reason, since = r.since, recovering = r.recovering, recovery = r.recovery, generation = r.generation, recovered_at = r.recovered_at, version = r.version
	FROM (SELECT u.level, u.actor, u.reason, u.since, u.recovering, u.recovery, u.generation, u.recovered_at, u.version, u.scope, u.old_version
	FROM unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::timestamptz[], $5::text::boolean[], $6::text::text[], $7::text::bigint[], $8::text::timestamptz[], $9::text::bigint[], $10::text::text[], $11::text::bigint[]) AS u(level, actor, reason, since, recovering, recovery, generation, recovered_at, version, scope, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.scope = r.scope AND x.version = r.old_version;
-- takeLocks
INSERT INTO @wallet_locks AS x (xpub_van, holder, fence, locked_at, seq, expires_at) SELECT r.xpub_van, r.holder, r.fence, r.locked_at, r.seq, r.expires_at
	FROM (SELECT u.xpub_van, u.holder, u.fence, u.locked_at, u.seq, u.expires_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::timestamptz[], $5::text::bigint[], $6::text::timestamptz[]) AS u(xpub_van, holder, fence, locked_at, seq, expires_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT (xpub_van) DO UPDATE
	SET holder = excluded.holder, fence = excluded.fence, locked_at = excluded.locked_at, seq = excluded.seq, expires_at = excluded.expires_at
	WHERE x.expires_at <= excluded.locked_at OR x.fence = excluded.fence;
-- tallyShaken
SELECT count(*), CAST(coalesce(sum(x.amount), 0) AS bigint)
	FROM @deposits x
	WHERE x.state = 'credited' AND x.deep_at > $1;
-- tallyWaiting
SELECT count(*), CAST(coalesce(sum(x.amount), 0) AS bigint), min(x.changed_at)
	FROM @deposits x
	WHERE x.in_chain AND x.state <> 'credited' AND (x.amount >= $1 OR x.state = 'reversed');
-- tenantOf
SELECT tenant
	FROM @invoices
	WHERE id = $1;
-- tenantTable.made.inOrder
SELECT x.id
	FROM @tenants x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::text[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- tenantTable.made.insertOne
INSERT INTO @tenants (id, billing_anchor, created_at, method, churned_at, reinstated_at, since, payment_error, notice, notice_by, notice_after, version, due_at) SELECT r.id, r.billing_anchor, r.created_at, r.method, r.churned_at, r.reinstated_at, r.since, r.payment_error, r.notice, r.notice_by, r.notice_after, r.version, r.due_at
	FROM (SELECT u.id, u.billing_anchor, u.created_at, u.method, u.churned_at, u.reinstated_at, u.since, u.payment_error, u.notice, u.notice_by, u.notice_after, u.version, u.due_at
	FROM unnest($1::text::text[], $2::text::timestamptz[], $3::text::timestamptz[], $4::text::text[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::timestamptz[], $8::text::text[], $9::text::text[], $10::text::text[], $11::text::timestamptz[], $12::text::bigint[], $13::text::timestamptz[]) AS u(id, billing_anchor, created_at, method, churned_at, reinstated_at, since, payment_error, notice, notice_by, notice_after, version, due_at) LIMIT (SELECT NULL::bigint)) AS r;
-- tenantTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, 0, l.version
	FROM @tenants x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- tenantTable.made.touchOne
UPDATE @tenants AS x
	SET due_at = r.due_at
	FROM (SELECT u.due_at, u.id, u.old_version, u.old_due_at
	FROM unnest($1::text::timestamptz[], $2::text::text[], $3::text::bigint[], $4::text::timestamptz[]) AS u(due_at, id, old_version, old_due_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.due_at IS NOT DISTINCT
	FROM r.old_due_at;
-- tenantTable.made.updateOne
UPDATE @tenants AS x
	SET method = r.method, churned_at = r.churned_at, reinstated_at = r.reinstated_at, since = r.since, payment_error = r.payment_error, notice = r.notice, notice_by = r.notice_by, notice_after = r.notice_after, version = r.version, due_at = r.due_at
	FROM (SELECT u.method, u.churned_at, u.reinstated_at, u.since, u.payment_error, u.notice, u.notice_by, u.notice_after, u.version, u.due_at, u.id, u.old_version, u.old_due_at
	FROM unnest($1::text::text[], $2::text::timestamptz[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::timestamptz[], $9::text::bigint[], $10::text::timestamptz[], $11::text::text[], $12::text::bigint[], $13::text::timestamptz[]) AS u(method, churned_at, reinstated_at, since, payment_error, notice, notice_by, notice_after, version, due_at, id, old_version, old_due_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.due_at IS NOT DISTINCT
	FROM r.old_due_at;
-- together[claim, alone]
WITH part1 AS (UPDATE @withdrawal_queue AS x
	SET status = r.status, retry_count = r.retry_count, scheduled_at = r.scheduled_at, scheduled_from = r.scheduled_from, slot = r.slot, claimed_at = r.claimed_at, dispatched_at = r.dispatched_at, dispatch_ref = r.dispatch_ref, txs_on_file = r.txs_on_file, txs_dead = r.txs_dead, nonce = r.nonce, tx_hash = r.tx_hash, review = r.review, resolved_version = r.resolved_version, broadcast_at = r.broadcast_at, evidence_height = r.evidence_height, evidence_hash = r.evidence_hash, gas_used = r.gas_used, gas_price = r.gas_price, error_message = r.error_message, processed_at = r.processed_at, deferrals = r.deferrals, stopped_fence = r.stopped_fence, dispatches = r.dispatches, batch_id = r.batch_id, version = r.version, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, offer_at = r.offer_at, next_check_at = r.next_check_at, rebroadcast = r.rebroadcast
	FROM (SELECT u.status, u.retry_count, u.scheduled_at, u.scheduled_from, u.slot, u.claimed_at, u.dispatched_at, u.dispatch_ref, u.txs_on_file, u.txs_dead, u.nonce, u.tx_hash, u.review, u.resolved_version, u.broadcast_at, u.evidence_height, u.evidence_hash, u.gas_used, u.gas_price, u.error_message, u.processed_at, u.deferrals, u.stopped_fence, u.dispatches, u.batch_id, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.offer_at, u.next_check_at, u.rebroadcast, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_offer_at, u.old_next_check_at, u.old_rebroadcast, u.head, u.old_head
	FROM unnest($5::text::text[], $6::text::bigint[], $7::text::timestamptz[], $8::text::timestamptz[], $9::text::uuid[], $10::text::timestamptz[], $11::text::timestamptz[], $12::text::text[], $13::text::bigint[], $14::text::bigint[], $15::text::bigint[], $16::text::text[], $17::text::boolean[], $18::text::bigint[], $19::text::timestamptz[], $20::text::bigint[], $21::text::text[], $22::text::text[], $23::text::text[], $24::text::text[], $25::text::timestamptz[], $26::text::bigint[], $27::text::bigint[], $28::text::bigint[], $29::text::uuid[], $30::text::bigint[], $31::text::text[], $32::text::bigint[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::timestamptz[], $36::text::boolean[], $37::text::uuid[], $38::text::bigint[], $39::text::text[], $40::text::bigint[], $41::text::timestamptz[], $42::text::timestamptz[], $43::text::boolean[], $44::text::uuid[], $45::text::bigint[]) AS u(status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast, id, old_version, old_lease_holder, old_lease_fence, old_offer_at, old_next_check_at, old_rebroadcast, head, old_head) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.offer_at IS NOT DISTINCT
	FROM r.old_offer_at AND x.next_check_at IS NOT DISTINCT
	FROM r.old_next_check_at AND x.rebroadcast IS NOT DISTINCT
	FROM r.old_rebroadcast AND (SELECT g.version
	FROM @withdrawal_requests g
	WHERE g.id = r.head) = r.old_head AND (r.slot IS NULL OR NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = r.slot AND NOT (h.id = r.id)))
	RETURNING 1), part2 AS (INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref) SELECT r.job_id, r.fence, r.worker, r.started_at, r.ended_at, r.outcome, r.error_message, r.tx_hash, r.dispatched_at, r.dispatch_ref
	FROM (SELECT u.job_id, u.fence, u.worker, u.started_at, u.ended_at, u.outcome, u.error_message, u.tx_hash, u.dispatched_at, u.dispatch_ref
	FROM unnest($46::text::uuid[], $47::text::bigint[], $48::text::text[], $49::text::timestamptz[], $50::text::timestamptz[], $51::text::text[], $52::text::text[], $53::text::text[], $54::text::timestamptz[], $55::text::text[]) AS u(job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref)
	WHERE $2 = (SELECT count(*)
	FROM part1) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT (job_id, fence) DO UPDATE
	SET ended_at = excluded.ended_at, outcome = excluded.outcome, error_message = excluded.error_message, tx_hash = excluded.tx_hash, dispatched_at = excluded.dispatched_at, dispatch_ref = excluded.dispatch_ref
	WHERE @withdrawal_attempts.ended_at IS NULL
	RETURNING 1), part3 AS (INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) SELECT greatest((SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_current_xact_id()::text::bigint), (SELECT p.horizon
	FROM @transitions p
	WHERE r.version > 1 AND (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint > pg_current_xact_id()::text::bigint) AND p.machine = r.machine AND p.id = r.id
	ORDER BY p.version DESC LIMIT 1)), r.machine, r.id, r.version, r.from_status, r.trigger, r.to_status, r.at, r.actor, r.role, r.trace, r.reason, r.data
	FROM (SELECT u.machine, u.id, u.version, u.from_status, u.trigger, u.to_status, u.at, u.actor, u.role, u.trace, u.reason, u.data
	FROM unnest($56::text::text[], $57::text::text[], $58::text::bigint[], $59::text::text[], $60::text::text[], $61::text::text[], $62::text::timestamptz[], $63::text::text[], $64::text::text[], $65::text::text[], $66::text::text[], $67::text::text[]) AS u(machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data)
	WHERE $3 = (SELECT count(*)
	FROM part2) LIMIT (SELECT NULL::bigint)) AS r
	WHERE $1 = (SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1)) AND NOT (SELECT coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false)) AND NOT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END)
	RETURNING 1) SELECT 1 / CASE WHEN (SELECT count(*)
	FROM part3) = $4 THEN 1 ELSE 0 END;
-- together[claim]
WITH part1 AS (UPDATE @withdrawal_queue AS x
	SET status = r.status, retry_count = r.retry_count, scheduled_at = r.scheduled_at, scheduled_from = r.scheduled_from, slot = r.slot, claimed_at = r.claimed_at, dispatched_at = r.dispatched_at, dispatch_ref = r.dispatch_ref, txs_on_file = r.txs_on_file, txs_dead = r.txs_dead, nonce = r.nonce, tx_hash = r.tx_hash, review = r.review, resolved_version = r.resolved_version, broadcast_at = r.broadcast_at, evidence_height = r.evidence_height, evidence_hash = r.evidence_hash, gas_used = r.gas_used, gas_price = r.gas_price, error_message = r.error_message, processed_at = r.processed_at, deferrals = r.deferrals, stopped_fence = r.stopped_fence, dispatches = r.dispatches, batch_id = r.batch_id, version = r.version, lease_holder = r.lease_holder, lease_fence = r.lease_fence, lease_until = CASE WHEN x.lease_fence = r.lease_fence AND x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END, offer_at = r.offer_at, next_check_at = r.next_check_at, rebroadcast = r.rebroadcast
	FROM (SELECT u.status, u.retry_count, u.scheduled_at, u.scheduled_from, u.slot, u.claimed_at, u.dispatched_at, u.dispatch_ref, u.txs_on_file, u.txs_dead, u.nonce, u.tx_hash, u.review, u.resolved_version, u.broadcast_at, u.evidence_height, u.evidence_hash, u.gas_used, u.gas_price, u.error_message, u.processed_at, u.deferrals, u.stopped_fence, u.dispatches, u.batch_id, u.version, u.lease_holder, u.lease_fence, u.lease_until, u.offer_at, u.next_check_at, u.rebroadcast, u.id, u.old_version, u.old_lease_holder, u.old_lease_fence, u.old_offer_at, u.old_next_check_at, u.old_rebroadcast, u.head, u.old_head
	FROM unnest($4::text::text[], $5::text::bigint[], $6::text::timestamptz[], $7::text::timestamptz[], $8::text::uuid[], $9::text::timestamptz[], $10::text::timestamptz[], $11::text::text[], $12::text::bigint[], $13::text::bigint[], $14::text::bigint[], $15::text::text[], $16::text::boolean[], $17::text::bigint[], $18::text::timestamptz[], $19::text::bigint[], $20::text::text[], $21::text::text[], $22::text::text[], $23::text::text[], $24::text::timestamptz[], $25::text::bigint[], $26::text::bigint[], $27::text::bigint[], $28::text::uuid[], $29::text::bigint[], $30::text::text[], $31::text::bigint[], $32::text::timestamptz[], $33::text::timestamptz[], $34::text::timestamptz[], $35::text::boolean[], $36::text::uuid[], $37::text::bigint[], $38::text::text[], $39::text::bigint[], $40::text::timestamptz[], $41::text::timestamptz[], $42::text::boolean[], $43::text::uuid[], $44::text::bigint[]) AS u(status, retry_count, scheduled_at, scheduled_from, slot, claimed_at, dispatched_at, dispatch_ref, txs_on_file, txs_dead, nonce, tx_hash, review, resolved_version, broadcast_at, evidence_height, evidence_hash, gas_used, gas_price, error_message, processed_at, deferrals, stopped_fence, dispatches, batch_id, version, lease_holder, lease_fence, lease_until, offer_at, next_check_at, rebroadcast, id, old_version, old_lease_holder, old_lease_fence, old_offer_at, old_next_check_at, old_rebroadcast, head, old_head) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.lease_holder IS NOT DISTINCT
	FROM r.old_lease_holder AND x.lease_fence IS NOT DISTINCT
	FROM r.old_lease_fence AND x.offer_at IS NOT DISTINCT
	FROM r.old_offer_at AND x.next_check_at IS NOT DISTINCT
	FROM r.old_next_check_at AND x.rebroadcast IS NOT DISTINCT
	FROM r.old_rebroadcast AND (SELECT g.version
	FROM @withdrawal_requests g
	WHERE g.id = r.head) = r.old_head AND (r.slot IS NULL OR NOT EXISTS (SELECT 1
	FROM @withdrawal_queue h
	WHERE h.slot = r.slot AND NOT (h.id = r.id)))
	RETURNING 1), part2 AS (INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref) SELECT r.job_id, r.fence, r.worker, r.started_at, r.ended_at, r.outcome, r.error_message, r.tx_hash, r.dispatched_at, r.dispatch_ref
	FROM (SELECT u.job_id, u.fence, u.worker, u.started_at, u.ended_at, u.outcome, u.error_message, u.tx_hash, u.dispatched_at, u.dispatch_ref
	FROM unnest($45::text::uuid[], $46::text::bigint[], $47::text::text[], $48::text::timestamptz[], $49::text::timestamptz[], $50::text::text[], $51::text::text[], $52::text::text[], $53::text::timestamptz[], $54::text::text[]) AS u(job_id, fence, worker, started_at, ended_at, outcome, error_message, tx_hash, dispatched_at, dispatch_ref)
	WHERE $2 = (SELECT count(*)
	FROM part1) LIMIT (SELECT NULL::bigint)) AS r
	WHERE true
	ON CONFLICT (job_id, fence) DO UPDATE
	SET ended_at = excluded.ended_at, outcome = excluded.outcome, error_message = excluded.error_message, tx_hash = excluded.tx_hash, dispatched_at = excluded.dispatched_at, dispatch_ref = excluded.dispatch_ref
	WHERE @withdrawal_attempts.ended_at IS NULL
	RETURNING 1), part3 AS (INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) SELECT greatest((SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_current_xact_id()::text::bigint), (SELECT p.horizon
	FROM @transitions p
	WHERE r.version > 1 AND (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint > pg_current_xact_id()::text::bigint) AND p.machine = r.machine AND p.id = r.id
	ORDER BY p.version DESC LIMIT 1)), r.machine, r.id, r.version, r.from_status, r.trigger, r.to_status, r.at, r.actor, r.role, r.trace, r.reason, r.data
	FROM (SELECT u.machine, u.id, u.version, u.from_status, u.trigger, u.to_status, u.at, u.actor, u.role, u.trace, u.reason, u.data
	FROM unnest($55::text::text[], $56::text::text[], $57::text::bigint[], $58::text::text[], $59::text::text[], $60::text::text[], $61::text::timestamptz[], $62::text::text[], $63::text::text[], $64::text::text[], $65::text::text[], $66::text::text[]) AS u(machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data)
	WHERE $3 = (SELECT count(*)
	FROM part2) LIMIT (SELECT NULL::bigint)) AS r
	WHERE $1 = (SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1)) AND NOT (SELECT coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false)) AND NOT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END)
	RETURNING 1) SELECT (SELECT count(*)
	FROM part1), (SELECT count(*)
	FROM part2), (SELECT count(*)
	FROM part3);
-- transitionAt
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE horizon = $1 AND n = $2;
-- transitionsOf
SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data
	FROM @transitions
	WHERE machine = $1 AND id = $2
	ORDER BY version;
-- txTable.made.insertOne
INSERT INTO @withdrawal_txs (withdrawal_request_id, seq, job_id, tx_hash, raw_tx, operation_wallet_address_id, nonce, input, is_cancel, by_output, output, batch_id, created_at) SELECT r.withdrawal_request_id, r.seq, r.job_id, r.tx_hash, r.raw_tx, r.operation_wallet_address_id, r.nonce, r.input, r.is_cancel, r.by_output, r.output, r.batch_id, r.created_at
	FROM (SELECT u.withdrawal_request_id, u.seq, u.job_id, u.tx_hash, u.raw_tx, u.operation_wallet_address_id, u.nonce, u.input, u.is_cancel, u.by_output, u.output, u.batch_id, u.created_at
	FROM unnest($1::text::uuid[], $2::text::bigint[], $3::text::uuid[], $4::text::text[], $5::text::bytea[], $6::text::uuid[], $7::text::bigint[], $8::text::text[], $9::text::boolean[], $10::text::boolean[], $11::text::bigint[], $12::text::uuid[], $13::text::timestamptz[]) AS u(withdrawal_request_id, seq, job_id, tx_hash, raw_tx, operation_wallet_address_id, nonce, input, is_cancel, by_output, output, batch_id, created_at) LIMIT (SELECT NULL::bigint)) AS r;
-- txsAt
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.block_height BETWEEN $1 AND $2
	ORDER BY t.block_height, t.wallet_id, t.block_position;
-- txsBelow
SELECT n.*
	FROM (SELECT u.tx_hash
	FROM unnest($1::text::bytea[]) AS u(tx_hash)) AS r
	CROSS JOIN LATERAL (SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @tx_inputs i
	CROSS JOIN @transactions t
	WHERE i.prev_hash = r.tx_hash AND t.id = i.tx_id OFFSET 0) n;
-- txsLive
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id = $1 AND t.block_height IS NULL AND t.status IN ('pending', 'published') AND NOT t.is_context
	ORDER BY t.id;
-- txsNamed
SELECT n.*
	FROM (SELECT u.wallet_id, u.tx_hash
	FROM unnest($1::text::bigint[], $2::text::bytea[]) AS u(wallet_id, tx_hash)) AS r
	CROSS JOIN LATERAL (SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.tx_hash = r.tx_hash AND (t.wallet_id = r.wallet_id OR r.wallet_id = 0) OFFSET 0) n;
-- txsPendingElsewhere
SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @transactions t
	WHERE t.wallet_id <> $1 AND t.block_height IS NULL AND t.status IN ('pending', 'published') AND NOT t.is_context AND t.status = 'pending'
	ORDER BY +t.id;
-- txsSpending
SELECT n.*
	FROM (SELECT u.prev_hash, u.prev_index
	FROM unnest($1::text::bytea[], $2::text::bigint[]) AS u(prev_hash, prev_index)) AS r
	CROSS JOIN LATERAL (SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version
	FROM @tx_inputs i
	CROSS JOIN @transactions t
	WHERE i.prev_hash = r.prev_hash AND i.prev_index = r.prev_index AND t.id = i.tx_id OFFSET 0) n;
-- unclaimedOf
SELECT x.chain_id, x.operation_wallet_address_id, x.generation, x.says, x.number, x.low, x.tx_hash, x.named, x.asset_on_chain_id, x.amount_raw, x.withdrawal_request_id, x.height, x.block_hash, x.source, x.reason, x.actor, x.at
	FROM @withdrawal_statements x
	WHERE x.chain_id = $1 AND x.says IN ('unclaimed', 'not this', 'dropped')
	ORDER BY x.id;
-- unclearTenants
SELECT p.tenant
	FROM (SELECT tenant
	FROM @invoices
	WHERE charge <> 'none' AND (charge = 'unknown' OR charge_after <= $3) AND tenant > $1
	ORDER BY tenant LIMIT $2) p UNION SELECT m.tenant
	FROM (SELECT DISTINCT i.tenant
	FROM @invoices i
	JOIN @tenants t ON t.id = i.tenant
	WHERE i.missed > 0 AND i.charge = 'none' AND i.paid_at IS NULL AND i.voided_at IS NULL AND (i.missed > 1 OR t.method NOT IN ('nwc', 'stripe') OR t.churned_at IS NOT NULL) AND i.tenant > $1
	ORDER BY i.tenant LIMIT $2) m UNION SELECT q.tenant
	FROM (SELECT DISTINCT tenant
	FROM @invoices
	WHERE overpaid_at IS NOT NULL AND tenant > $1
	ORDER BY tenant LIMIT $2) q
	ORDER BY tenant LIMIT $2;
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
	WHERE n.operation_wallet_address_id = x.operation_wallet_address_id AND n.nonce = x.number)) AND x.chain_id = $1
	ORDER BY x.id;
-- unspent
SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase
	FROM @utxos u
	JOIN @transactions t ON t.id = u.tx_id
	WHERE u.wallet_id = $1 AND u.spent_by_tx_id IS NULL AND t.status IN ('pending', 'published') AND (CAST($2 AS text) IS NULL OR u.owner_tag = $2)
	ORDER BY u.tx_id, u.output_index;
-- updateLeases
UPDATE @utxo_leases AS l
	SET lock_id = r.lock_id, expires_at = r.expires_at, leased_at = r.leased_at
	FROM (SELECT u.wallet_id, u.tx_id, u.output_index, u.lock_id, u.expires_at, u.leased_at, u.old_lock, u.old_end
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bytea[], $5::text::timestamptz[], $6::text::timestamptz[], $7::text::bytea[], $8::text::timestamptz[]) AS u(wallet_id, tx_id, output_index, lock_id, expires_at, leased_at, old_lock, old_end)) AS r
	WHERE l.wallet_id = r.wallet_id AND l.utxo_id = r.tx_id * 4294967296 + r.output_index AND l.lock_id = r.old_lock AND l.expires_at = r.old_end;
-- updateOwners
UPDATE @wallet_owners AS o
	SET birth_height = r.birth_height
	FROM (SELECT u.wallet_id, u.owner_tag, u.old, u.birth_height
	FROM unnest($1::text::bigint[], $2::text::text[], $3::text::bigint[], $4::text::bigint[]) AS u(wallet_id, owner_tag, old, birth_height)) AS r
	WHERE o.wallet_id = r.wallet_id AND o.owner_tag = r.owner_tag AND o.birth_height = r.old;
-- updateReserved
UPDATE @operation_wallet_addresses AS w
	SET balance_reserved = r.balance_reserved, last_used_at = r.last_used_at
	FROM (SELECT u.id, u.balance_reserved, u.last_used_at
	FROM unnest($1::text::uuid[], $2::text::numeric[], $3::text::timestamptz[]) AS u(id, balance_reserved, last_used_at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE w.id = r.id;
-- updateScans
UPDATE @wallet_scans AS s
	SET scanned_to = r.scanned_to
	FROM (SELECT u.wallet_id, u.scan_id, u.old, u.scanned_to
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bigint[]) AS u(wallet_id, scan_id, old, scanned_to)) AS r
	WHERE s.wallet_id = r.wallet_id AND s.scan_id = r.scan_id AND s.scanned_to = r.old;
-- updateTxs
UPDATE @transactions AS t
	SET status = r.status, block_height = r.block_height, block_position = r.block_position, seq = r.seq, label = r.label, is_context = r.is_context, is_public = r.is_public, version = r.version
	FROM (SELECT u.id, u.old, u.status, u.block_height, u.block_position, u.seq, u.label, u.is_context, u.is_public, u.version
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::text[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[], $7::text::text[], $8::text::boolean[], $9::text::boolean[], $10::text::bigint[]) AS u(id, old, status, block_height, block_position, seq, label, is_context, is_public, version)) AS r
	WHERE t.id = r.id AND t.version = r.old;
-- updateWallets
UPDATE @wallets AS w
	SET scanned_to = r.scanned_to, follows_tip = r.follows_tip, announced = r.announced
	FROM (SELECT u.id, u.old, u.followed, u.was, u.scanned_to, u.follows_tip, u.announced
	FROM unnest($1::text::bigint[], $2::text::bigint[], $3::text::boolean[], $4::text::bigint[], $5::text::bigint[], $6::text::boolean[], $7::text::bigint[]) AS u(id, old, followed, was, scanned_to, follows_tip, announced)) AS r
	WHERE w.id = r.id AND w.follows_tip = r.followed AND (r.followed OR w.scanned_to = r.old) AND w.announced = r.was;
-- versionsByHash
SELECT DISTINCT t.batch_id, t.tx_hash
	FROM @withdrawal_batch_txs t
	WHERE lower(t.tx_hash) IN (lower($1), '0x' || lower($1))
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
	WHERE q.since <= $1 OR q.watching = 1 AND (q.not_before IS NULL OR q.not_before <= $1)
	ORDER BY q.since, q.xpub_van LIMIT $2;
-- walletByID
SELECT x.id, x.xpub_van, x.created_at, x.status, x.unserved_since, x.slot, x.hung_rounds, x.not_before, x.version, x.lease_holder, x.lease_fence, x.lease_until, x.work_seq
	FROM @refresh_wallets x
	WHERE x.id = $1;
-- walletLockLeases.lost
SELECT r.xpub_van
	FROM (SELECT u.xpub_van, u.fence, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[]) AS u(xpub_van, fence, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT EXISTS (SELECT 1
	FROM @wallet_locks x
	WHERE x.xpub_van = r.xpub_van AND x.fence = r.fence AND x.expires_at > r.at);
-- walletLockLeases.renew
UPDATE @wallet_locks AS x
	SET expires_at = r.until
	FROM (SELECT u.xpub_van, u.fence, u.until, u.at
	FROM unnest($1::text::text[], $2::text::bigint[], $3::text::timestamptz[], $4::text::timestamptz[]) AS u(xpub_van, fence, until, at) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.xpub_van = r.xpub_van AND x.fence = r.fence AND x.expires_at > r.at;
-- walletLockTable.made.insertOne
INSERT INTO @wallet_locks (xpub_van, holder, fence, locked_at, seq, expires_at) SELECT r.xpub_van, r.holder, r.fence, r.locked_at, r.seq, r.expires_at
	FROM (SELECT u.xpub_van, u.holder, u.fence, u.locked_at, u.seq, u.expires_at
	FROM unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::timestamptz[], $5::text::bigint[], $6::text::timestamptz[]) AS u(xpub_van, holder, fence, locked_at, seq, expires_at) LIMIT (SELECT NULL::bigint)) AS r;
-- walletLocksOf
SELECT x.xpub_van, x.holder, x.fence, x.locked_at, x.seq, x.expires_at
	FROM @wallet_locks x
	WHERE x.xpub_van IN (SELECT r.xpub_van
	FROM (SELECT u.xpub_van
	FROM unnest($1::text::text[]) AS u(xpub_van)) AS r);
-- walletsOff[false]
SELECT x.id
	FROM @operation_wallet_addresses x
	WHERE x.status = 'unknown outbound'
	ORDER BY x.id LIMIT 100;
-- walletsOff[true]
SELECT x.id
	FROM @operation_wallet_addresses x
	WHERE x.status = 'unknown outbound' AND x.chain_id = $1
	ORDER BY x.id LIMIT 100;
-- watched
SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase, s.tx_hash
	FROM @utxos u
	JOIN @transactions t ON t.id = u.tx_id
	LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id
	WHERE u.wallet_id = $1 AND t.status IN ('pending', 'published') AND (u.spent_by_tx_id IS NULL OR s.block_height IS NULL)
	ORDER BY u.tx_id, u.output_index;
-- watcherCounts
SELECT x.status, COUNT(*)
	FROM @refresh_watchers x
	GROUP BY x.status;
-- watcherTable.made.inOrder
SELECT x.id
	FROM @refresh_watchers x
	WHERE (x.id) IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.id FOR NO KEY UPDATE OF x;
-- watcherTable.made.insertOne
INSERT INTO @refresh_watchers (id, xpub_van, xpub_col, master_fingerprint, recipient_id, created_at, asset_id, provisional, status, expires_at, cancel_tried, refused, ended_at, end_reason, end_seq, version, refresh_count, next_at, last_error) SELECT r.id, r.xpub_van, r.xpub_col, r.master_fingerprint, r.recipient_id, r.created_at, r.asset_id, r.provisional, r.status, r.expires_at, r.cancel_tried, r.refused, r.ended_at, r.end_reason, r.end_seq, r.version, r.refresh_count, r.next_at, r.last_error
	FROM (SELECT u.id, u.xpub_van, u.xpub_col, u.master_fingerprint, u.recipient_id, u.created_at, u.asset_id, u.provisional, u.status, u.expires_at, u.cancel_tried, u.refused, u.ended_at, u.end_reason, u.end_seq, u.version, u.refresh_count, u.next_at, u.last_error
	FROM unnest($1::text::uuid[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::timestamptz[], $7::text::text[], $8::text::boolean[], $9::text::text[], $10::text::timestamptz[], $11::text::boolean[], $12::text::text[], $13::text::timestamptz[], $14::text::text[], $15::text::bigint[], $16::text::bigint[], $17::text::bigint[], $18::text::timestamptz[], $19::text::text[]) AS u(id, xpub_van, xpub_col, master_fingerprint, recipient_id, created_at, asset_id, provisional, status, expires_at, cancel_tried, refused, ended_at, end_reason, end_seq, version, refresh_count, next_at, last_error) LIMIT (SELECT NULL::bigint)) AS r;
-- watcherTable.made.storedNow
SELECT n.*
	FROM (SELECT u.id, u.record, u.old_version
	FROM unnest($2::text::uuid[], $3::text::text[], $4::text::bigint[]) AS u(id, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.id, x.version, 0, l.version
	FROM @refresh_watchers x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.id = r.id OFFSET 0) n;
-- watcherTable.made.touchOne
UPDATE @refresh_watchers AS x
	SET refresh_count = r.refresh_count, next_at = r.next_at, last_error = r.last_error
	FROM (SELECT u.refresh_count, u.next_at, u.last_error, u.id, u.old_version, u.old_refresh_count, u.old_next_at, u.old_last_error
	FROM unnest($1::text::bigint[], $2::text::timestamptz[], $3::text::text[], $4::text::uuid[], $5::text::bigint[], $6::text::bigint[], $7::text::timestamptz[], $8::text::text[]) AS u(refresh_count, next_at, last_error, id, old_version, old_refresh_count, old_next_at, old_last_error) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.refresh_count IS NOT DISTINCT
	FROM r.old_refresh_count AND x.next_at IS NOT DISTINCT
	FROM r.old_next_at AND x.last_error IS NOT DISTINCT
	FROM r.old_last_error;
-- watcherTable.made.updateOne
UPDATE @refresh_watchers AS x
	SET asset_id = r.asset_id, provisional = r.provisional, status = r.status, expires_at = r.expires_at, cancel_tried = r.cancel_tried, refused = r.refused, ended_at = r.ended_at, end_reason = r.end_reason, end_seq = r.end_seq, version = r.version, refresh_count = r.refresh_count, next_at = r.next_at, last_error = r.last_error
	FROM (SELECT u.asset_id, u.provisional, u.status, u.expires_at, u.cancel_tried, u.refused, u.ended_at, u.end_reason, u.end_seq, u.version, u.refresh_count, u.next_at, u.last_error, u.id, u.old_version, u.old_refresh_count, u.old_next_at, u.old_last_error
	FROM unnest($1::text::text[], $2::text::boolean[], $3::text::text[], $4::text::timestamptz[], $5::text::boolean[], $6::text::text[], $7::text::timestamptz[], $8::text::text[], $9::text::bigint[], $10::text::bigint[], $11::text::bigint[], $12::text::timestamptz[], $13::text::text[], $14::text::uuid[], $15::text::bigint[], $16::text::bigint[], $17::text::timestamptz[], $18::text::text[]) AS u(asset_id, provisional, status, expires_at, cancel_tried, refused, ended_at, end_reason, end_seq, version, refresh_count, next_at, last_error, id, old_version, old_refresh_count, old_next_at, old_last_error) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.id = r.id AND x.version = r.old_version AND x.refresh_count IS NOT DISTINCT
	FROM r.old_refresh_count AND x.next_at IS NOT DISTINCT
	FROM r.old_next_at AND x.last_error IS NOT DISTINCT
	FROM r.old_last_error;
-- watchersByID
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.id IN (SELECT r.id
	FROM (SELECT u.id
	FROM unnest($1::text::uuid[]) AS u(id)) AS r);
-- watchersEnded
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.end_reason = $4 AND (x.xpub_van, x.recipient_id) > ($1, $2)
	ORDER BY x.xpub_van, x.recipient_id LIMIT $3;
-- watchersOfSet[1]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = $1 AND x.status = 'watching'
	ORDER BY x.next_at, x.recipient_id LIMIT $2;
-- watchersOfSet[2]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = $1 AND x.status = 'watching' AND (x.next_at <= $2 OR x.provisional AND x.expires_at <= $2)
	ORDER BY x.next_at, x.recipient_id LIMIT $3;
-- watchersOfSet[3]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = $1 AND x.status = 'watching' AND x.expires_at <= $2 AND x.provisional
	ORDER BY x.next_at, x.recipient_id LIMIT $3;
-- watchersOfSet[4]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = $1 AND x.status = 'watching' AND NOT x.expires_at <= $2
	ORDER BY x.created_at DESC, x.recipient_id DESC LIMIT $3;
-- watchersOfSet[5]
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.xpub_van = $1
	ORDER BY x.created_at DESC, x.recipient_id DESC LIMIT $2;
-- watchersOpen
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.end_reason = $4 AND NOT EXISTS (SELECT 1
	FROM @refresh_jobs p
	WHERE p.xpub_van = x.xpub_van AND p.seq > x.end_seq AND p.status = 'completed' AND (p.trigger <> 'invoice_created' OR p.asset_id IS NOT NULL)) AND (x.xpub_van, x.recipient_id) > ($1, $2)
	ORDER BY x.xpub_van, x.recipient_id LIMIT $3;
-- watchingWatchers
SELECT x.id, x.xpub_van, x.xpub_col, x.master_fingerprint, x.recipient_id, x.created_at, x.asset_id, x.provisional, x.status, x.expires_at, x.cancel_tried, x.refused, x.ended_at, x.end_reason, x.end_seq, x.version, x.refresh_count, x.next_at, x.last_error
	FROM @refresh_watchers x
	WHERE x.status = 'watching' AND (x.xpub_van, x.recipient_id) > ($1, $2)
	ORDER BY x.xpub_van, x.recipient_id LIMIT $3;
-- waterlineTable.made.inOrder
SELECT x.chain, x.own
	FROM @swap_waterlines x
	WHERE (x.chain, x.own) IN (SELECT r.chain, r.own
	FROM (SELECT u.chain, u.own
	FROM unnest($1::text::text[], $2::text::boolean[]) AS u(chain, own) LIMIT (SELECT NULL::bigint)) AS r)
	ORDER BY x.chain, x.own FOR NO KEY UPDATE OF x;
-- waterlineTable.made.insertOne
INSERT INTO @swap_waterlines (chain, own, at, seen, version) SELECT r.chain, r.own, r.at, r.seen, r.version
	FROM (SELECT u.chain, u.own, u.at, u.seen, u.version
	FROM unnest($1::text::text[], $2::text::boolean[], $3::text::timestamptz[], $4::text::timestamptz[], $5::text::bigint[]) AS u(chain, own, at, seen, version) LIMIT (SELECT NULL::bigint)) AS r;
-- waterlineTable.made.storedNow
SELECT n.*
	FROM (SELECT u.chain, u.own, u.record, u.old_version
	FROM unnest($2::text::text[], $3::text::boolean[], $4::text::text[], $5::text::bigint[]) AS u(chain, own, record, old_version) LIMIT (SELECT NULL::bigint)) AS r
	CROSS JOIN LATERAL (SELECT x.chain, x.own, x.version, 0, l.version
	FROM @swap_waterlines x
	LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1
	WHERE x.chain = r.chain AND x.own = r.own OFFSET 0) n;
-- waterlineTable.made.touchOne
UPDATE @swap_waterlines AS x
	SET  = r.
	FROM (SELECT u., u.chain, u.own, u.old_version
	FROM unnest($1::text::[], $2::text::text[], $3::text::boolean[], $4::text::bigint[]) AS u(, chain, own, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.chain = r.chain AND x.own = r.own AND x.version = r.old_version;
-- waterlineTable.made.updateOne
UPDATE @swap_waterlines AS x
	SET at = r.at, seen = r.seen, version = r.version
	FROM (SELECT u.at, u.seen, u.version, u.chain, u.own, u.old_version
	FROM unnest($1::text::timestamptz[], $2::text::timestamptz[], $3::text::bigint[], $4::text::text[], $5::text::boolean[], $6::text::bigint[]) AS u(at, seen, version, chain, own, old_version) LIMIT (SELECT NULL::bigint)) AS r
	WHERE x.chain = r.chain AND x.own = r.own AND x.version = r.old_version;
-- writeJournal
INSERT INTO @settle_journal (horizon, at, actor, role, domain, machine, id, version, event, outcome, error, via, trace) SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_current_xact_id()::text::bigint, r.at, r.actor, r.role, r.domain, r.machine, r.id, r.version, r.event, r.outcome, r.error, r.via, r.trace
	FROM (SELECT u.at, u.actor, u.role, u.domain, u.machine, u.id, u.version, u.event, u.outcome, u.error, u.via, u.trace
	FROM unnest($1::text::timestamptz[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::bigint[], $8::text::text[], $9::text::text[], $10::text::text[], $11::text::text[], $12::text::text[]) AS u(at, actor, role, domain, machine, id, version, event, outcome, error, via, trace) LIMIT (SELECT NULL::bigint)) AS r
	WHERE NOT (SELECT coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false));
-- writeTransitions
INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) SELECT greatest((SELECT (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + pg_current_xact_id()::text::bigint), (SELECT p.horizon
	FROM @transitions p
	WHERE r.version > 1 AND (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint > pg_current_xact_id()::text::bigint) AND p.machine = r.machine AND p.id = r.id
	ORDER BY p.version DESC LIMIT 1)), r.machine, r.id, r.version, r.from_status, r.trigger, r.to_status, r.at, r.actor, r.role, r.trace, r.reason, r.data
	FROM (SELECT u.machine, u.id, u.version, u.from_status, u.trigger, u.to_status, u.at, u.actor, u.role, u.trace, u.reason, u.data
	FROM unnest($2::text::text[], $3::text::text[], $4::text::bigint[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::timestamptz[], $9::text::text[], $10::text::text[], $11::text::text[], $12::text::text[], $13::text::text[]) AS u(machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) LIMIT (SELECT NULL::bigint)) AS r
	WHERE $1 = (SELECT (SELECT g.generation
	FROM @settle_places g
	ORDER BY g.n DESC LIMIT 1)) AND NOT (SELECT coalesce((SELECT l.horizon
	FROM @transitions l
	ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > (SELECT b.base
	FROM @settle_places b
	ORDER BY b.n DESC LIMIT 1) + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), false)) AND NOT EXISTS (SELECT 1
	FROM @settle_versions v
	WHERE v.oldest > CASE v.domain WHEN 'shared' THEN 1 WHEN 'wallets' THEN 2 WHEN 'withdrawals' THEN 3 WHEN 'swaps' THEN 4 WHEN 'refreshes' THEN 5 WHEN 'relays' THEN 6 END);
