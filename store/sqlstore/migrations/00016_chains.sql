-- +goose Up

-- The counts of what has ended, of each chain too.
INSERT INTO @withdrawal_counts (record, status, shard, n) SELECT 'request ' || chain_id, status, 0, count(*) FROM @withdrawal_requests
	WHERE status IN ('completed', 'failed', 'rejected', 'cancelled') GROUP BY chain_id, status;
INSERT INTO @withdrawal_counts (record, status, shard, n) SELECT 'job ' || chain_id, status, 0, count(*) FROM @withdrawal_queue
	WHERE status IN ('confirmed', 'failed') GROUP BY chain_id, status;

-- +goose Down
DELETE FROM @withdrawal_counts WHERE record NOT IN ('request', 'job');
