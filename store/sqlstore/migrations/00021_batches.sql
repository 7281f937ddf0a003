-- +goose Up

-- One transaction, with its replacements, that pays many requests: those that
-- have a version of it on file.
CREATE TABLE @withdrawal_batches (
	id {uuid} PRIMARY KEY,
	chain_id {text} NOT NULL,
	operation_wallet_address_id {uuid} NOT NULL REFERENCES @operation_wallet_addresses (id),
	owner_job_id {uuid} NOT NULL REFERENCES @withdrawal_queue (id), -- whose the nonce is
	nonce {int} CHECK (nonce >= 0),
	input {text},
	members {int} NOT NULL CHECK (members >= 1), -- that its first version pays
	status {text} NOT NULL CHECK (status IN ('confirming', 'confirmed', 'failed')),
	txs_on_file {int} NOT NULL CHECK (txs_on_file >= 1),
	tx_hash {text} NOT NULL,
	next_check_at {time},
	rebroadcast {bool} NOT NULL,
	evidence_height {int} NOT NULL, -- the 64 bits of an unsigned number
	evidence_hash {text},
	gas_used {text} CHECK (ltrim(gas_used, '0123456789') = ''),
	gas_price {text} CHECK (ltrim(gas_price, '0123456789') = ''),
	ended_at {time},
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	CONSTRAINT versions_are_exclusive CHECK ((nonce IS NULL) = (input IS NOT NULL)),
	CONSTRAINT a_batch_is_checked CHECK ((status = 'confirming') = (next_check_at IS NOT NULL) AND (status = 'confirming' OR NOT rebroadcast)),
	CONSTRAINT an_end_has_evidence CHECK ((status = 'confirming') = (ended_at IS NULL) AND (status = 'confirming') = (evidence_hash IS NULL))
) {strict};

CREATE INDEX withdrawal_batches_check ON @withdrawal_batches (next_check_at, id, chain_id) WHERE status = 'confirming';
CREATE INDEX withdrawal_batches_send ON @withdrawal_batches (next_check_at, id, chain_id) WHERE status = 'confirming' AND rebroadcast;

{no delete withdrawal_batches}
{keys withdrawal_batches: id; rowid}

-- The versions of a batch, with their bytes.
CREATE TABLE @withdrawal_batch_txs (
	batch_id {uuid} NOT NULL REFERENCES @withdrawal_batches (id),
	seq {int} NOT NULL CHECK (seq >= 1),
	tx_hash {text} NOT NULL CHECK (length(tx_hash) BETWEEN 1 AND 100),
	raw_tx {bytes} NOT NULL,
	created_at {time} NOT NULL,
	PRIMARY KEY (batch_id, seq),
	UNIQUE (batch_id, tx_hash)
) {strict};

{append only withdrawal_batch_txs}
{insert once withdrawal_batch_txs: batch_id, seq; batch_id, tx_hash; rowid}

ALTER TABLE @withdrawal_queue ADD COLUMN batch_id {uuid} CHECK (batch_id IS NULL OR status = 'confirming' AND NOT rebroadcast);
ALTER TABLE @withdrawal_txs ADD COLUMN batch_id {uuid};
CREATE INDEX withdrawal_txs_of_batch ON @withdrawal_txs (batch_id) WHERE batch_id IS NOT NULL;

-- +goose Down

DROP INDEX @withdrawal_txs_of_batch;
ALTER TABLE @withdrawal_txs DROP COLUMN batch_id;
ALTER TABLE @withdrawal_queue DROP COLUMN batch_id;
DROP TABLE @withdrawal_batch_txs;
DROP TABLE @withdrawal_batches;
