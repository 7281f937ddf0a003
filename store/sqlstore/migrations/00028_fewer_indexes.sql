-- +goose Up

-- What a user asked for in a window, of all assets, is found by withdrawal_requests_of_user.
DROP INDEX @withdrawal_requests_by_user;

-- {postgres
-- One index finds a hash and keeps it unique. (SQLite cannot drop the rule of a table.)
ALTER TABLE @withdrawal_txs DROP CONSTRAINT withdrawal_txs_withdrawal_request_id_tx_hash_key;
DROP INDEX @withdrawal_txs_hash;
CREATE UNIQUE INDEX withdrawal_txs_hash ON @withdrawal_txs (tx_hash, withdrawal_request_id);
ALTER TABLE @withdrawal_payments DROP CONSTRAINT withdrawal_payments_pkey;
ALTER TABLE @withdrawal_payments ADD PRIMARY KEY (tx_form, chain_id, output);
DROP INDEX @withdrawal_payments_of_hash;
-- }

-- +goose Down
-- {postgres
CREATE INDEX withdrawal_payments_of_hash ON @withdrawal_payments (tx_form);
ALTER TABLE @withdrawal_payments DROP CONSTRAINT withdrawal_payments_pkey;
ALTER TABLE @withdrawal_payments ADD PRIMARY KEY (chain_id, tx_form, output);
DROP INDEX @withdrawal_txs_hash;
CREATE INDEX withdrawal_txs_hash ON @withdrawal_txs (tx_hash);
ALTER TABLE @withdrawal_txs ADD UNIQUE (withdrawal_request_id, tx_hash);
-- }
CREATE INDEX withdrawal_requests_by_user ON @withdrawal_requests (user_id, asset_id, created_at);
