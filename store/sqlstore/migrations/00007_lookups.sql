-- +goose Up

-- What people ask, beside the history of years: which jobs are active, and what
-- a transaction paid.
CREATE INDEX withdrawal_queue_active ON @withdrawal_queue (status) WHERE status IN ('pending', 'processing', 'confirming');
CREATE INDEX withdrawal_queue_hash ON @withdrawal_queue (tx_hash) WHERE tx_hash IS NOT NULL;
CREATE INDEX withdrawal_requests_hash ON @withdrawal_requests (final_tx_hash) WHERE final_tx_hash IS NOT NULL;
CREATE INDEX withdrawal_txs_hash ON @withdrawal_txs (tx_hash);

-- +goose Down
DROP INDEX @withdrawal_queue_active;
DROP INDEX @withdrawal_queue_hash;
DROP INDEX @withdrawal_requests_hash;
DROP INDEX @withdrawal_txs_hash;
