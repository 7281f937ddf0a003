-- +goose Up

-- Rows that a wallet has only as the direct parent or rival of one of its own;
-- and whether the network has had a transaction, or only its wallet. What is
-- older than these columns is in histories as it was.
-- {sqlite
ALTER TABLE transactions ADD COLUMN is_context INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transactions ADD COLUMN is_public INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tx_replacements ADD COLUMN declared INTEGER NOT NULL DEFAULT 1;
UPDATE transactions SET is_public = 0 WHERE status = 'pending';
-- }
-- {postgres
ALTER TABLE @transactions ADD COLUMN is_context boolean NOT NULL DEFAULT false;
ALTER TABLE @transactions ADD COLUMN is_public boolean NOT NULL DEFAULT true;
ALTER TABLE @tx_replacements ADD COLUMN declared boolean NOT NULL DEFAULT true;
UPDATE @transactions SET is_public = false WHERE status = 'pending';
-- }

-- The number of the last reading of a mempool.
ALTER TABLE @chain_tip ADD COLUMN last_seq {int} NOT NULL DEFAULT 0;
UPDATE @chain_tip SET last_seq = coalesce((SELECT max(t.seq) FROM @transactions t), 0);

DROP INDEX @transactions_history;
DROP INDEX @transactions_unconfirmed;
DROP INDEX @transactions_live;
CREATE INDEX transactions_history ON @transactions (wallet_id, block_height, block_position) WHERE block_height IS NOT NULL AND NOT is_context;
CREATE INDEX transactions_unconfirmed ON @transactions (wallet_id, first_seen, tx_hash) WHERE block_height IS NULL AND NOT is_context;
CREATE INDEX transactions_live ON @transactions (wallet_id, id) WHERE block_height IS NULL AND status IN ('pending', 'published') AND NOT is_context;

-- +goose Down

DROP INDEX @transactions_history;
DROP INDEX @transactions_unconfirmed;
DROP INDEX @transactions_live;
CREATE INDEX transactions_history ON @transactions (wallet_id, block_height, block_position) WHERE block_height IS NOT NULL;
CREATE INDEX transactions_unconfirmed ON @transactions (wallet_id, first_seen, tx_hash) WHERE block_height IS NULL;
CREATE INDEX transactions_live ON @transactions (wallet_id, id) WHERE block_height IS NULL AND status IN ('pending', 'published');
ALTER TABLE @chain_tip DROP COLUMN last_seq;
ALTER TABLE @tx_replacements DROP COLUMN declared;
ALTER TABLE @transactions DROP COLUMN is_public;
ALTER TABLE @transactions DROP COLUMN is_context;
