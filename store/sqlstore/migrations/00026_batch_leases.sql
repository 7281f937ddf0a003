-- +goose Up

-- Who sends a batch, or replaces it.
ALTER TABLE @withdrawal_batches ADD COLUMN lease_holder {text};
ALTER TABLE @withdrawal_batches ADD COLUMN lease_fence {int} NOT NULL DEFAULT 0 CHECK (lease_fence >= 0);
ALTER TABLE @withdrawal_batches ADD COLUMN lease_until {time} CHECK ((lease_holder IS NULL) = (lease_until IS NULL) AND (lease_holder IS NULL OR status = 'confirming'));
CREATE INDEX withdrawal_batches_held ON @withdrawal_batches (lease_holder, created_at, id) WHERE lease_holder IS NOT NULL;

-- What people look for.
CREATE INDEX withdrawal_batches_listed ON @withdrawal_batches (created_at, id);
CREATE INDEX withdrawal_batches_open ON @withdrawal_batches (created_at, id) WHERE status = 'confirming';
CREATE INDEX withdrawal_batch_txs_hash ON @withdrawal_batch_txs (lower(tx_hash));
CREATE INDEX withdrawal_queue_batch ON @withdrawal_queue (batch_id) WHERE batch_id IS NOT NULL;

-- +goose Down
DROP INDEX @withdrawal_queue_batch;
DROP INDEX @withdrawal_batch_txs_hash;
DROP INDEX @withdrawal_batches_open;
DROP INDEX @withdrawal_batches_listed;
DROP INDEX @withdrawal_batches_held;
ALTER TABLE @withdrawal_batches DROP COLUMN lease_until;
ALTER TABLE @withdrawal_batches DROP COLUMN lease_fence;
ALTER TABLE @withdrawal_batches DROP COLUMN lease_holder;
