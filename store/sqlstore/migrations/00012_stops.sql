-- +goose Up

-- What stops a payment, and what may have been paid beside the record.
ALTER TABLE @withdrawal_requests ADD COLUMN held {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE @withdrawal_requests ADD COLUMN mined {text};
ALTER TABLE @withdrawal_requests ADD COLUMN acknowledged {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE @withdrawal_requests ADD COLUMN disproved {text};
ALTER TABLE @withdrawal_requests ADD COLUMN strays_on_file {int} NOT NULL DEFAULT 0;
ALTER TABLE @withdrawal_requests ADD COLUMN strays_sent {int} NOT NULL DEFAULT 0;
ALTER TABLE @withdrawal_requests ADD COLUMN offer_at {time};

ALTER TABLE @withdrawal_queue ADD COLUMN offer_at {time};
ALTER TABLE @withdrawal_queue ADD COLUMN deferrals {int} NOT NULL DEFAULT 0;
ALTER TABLE @withdrawal_queue ADD COLUMN stopped_fence {int} NOT NULL DEFAULT 0;
ALTER TABLE @withdrawal_queue ADD COLUMN dispatches {int} NOT NULL DEFAULT 0;

ALTER TABLE @withdrawal_attempts ADD COLUMN dispatched_at {time};
ALTER TABLE @withdrawal_attempts ADD COLUMN dispatch_ref {text};

ALTER TABLE @withdrawal_txs ADD COLUMN by_output {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE @withdrawal_txs ADD COLUMN output {int} NOT NULL DEFAULT 0;

-- What the incidents and messages said until now is a fact of its own.
UPDATE @withdrawal_requests SET mined = (SELECT i.tx_hash FROM @withdrawal_incidents i WHERE i.id = (SELECT min(f.id) FROM @withdrawal_incidents f
	WHERE f.withdrawal_request_id = @withdrawal_requests.id AND f.claim = 'mined'))
	WHERE id IN (SELECT m.withdrawal_request_id FROM @withdrawal_incidents m WHERE m.claim = 'mined');
UPDATE @withdrawal_requests SET disproved = (SELECT substr(j.error_message, 49) FROM @withdrawal_queue j WHERE j.withdrawal_request_id = @withdrawal_requests.id
	AND j.status <> 'failed') WHERE mined IS NOT NULL AND id IN (SELECT q.withdrawal_request_id FROM @withdrawal_queue q
	WHERE q.status <> 'failed' AND q.error_message LIKE 'A transaction that was declared dead was mined: %');

-- Due work skips what is held, flagged or put off.
DROP INDEX @withdrawal_queue_claim;
DROP INDEX @withdrawal_queue_claim_of_wallet;
DROP INDEX @withdrawal_requests_enqueue;
CREATE INDEX withdrawal_queue_claim ON @withdrawal_queue (chain_id, (CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END),
	(CASE WHEN offer_at > scheduled_at THEN offer_at ELSE scheduled_at END), id) WHERE status = 'pending';
CREATE INDEX withdrawal_queue_claim_of_wallet ON @withdrawal_queue (operation_wallet_address_id, (CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END),
	(CASE WHEN offer_at > scheduled_at THEN offer_at ELSE scheduled_at END), id) WHERE status = 'pending';
CREATE INDEX withdrawal_requests_enqueue ON @withdrawal_requests (chain_id, updated_at, id)
	WHERE status = 'approved' AND NOT held AND mined IS NULL AND strays_sent = 0;
CREATE INDEX withdrawal_queue_rebroadcast_check ON @withdrawal_queue (next_check_at, id, chain_id) WHERE status = 'confirming' AND rebroadcast AND NOT review;
CREATE INDEX withdrawal_incidents_at ON @withdrawal_incidents (at);

-- Transactions that are not on file, of which somebody says that they were sent
-- for a request or paid it.
CREATE TABLE @withdrawal_strays (
	withdrawal_request_id {uuid} NOT NULL REFERENCES @withdrawal_requests (id),
	seq {int} NOT NULL CHECK (seq >= 1),
	job_id {uuid} NOT NULL,
	claim {text} NOT NULL CHECK (claim IN ('sent', 'mined')),
	tx_hash {text} NOT NULL CHECK (length(tx_hash) BETWEEN 1 AND 100),
	raw_tx {bytes} NOT NULL, -- empty if nobody told
	operation_wallet_address_id {uuid} NOT NULL,
	nonce {int} CHECK (nonce >= 0),
	input {text},
	by_output {bool} NOT NULL,
	output {int} NOT NULL,
	fence {int} NOT NULL,
	created_at {time} NOT NULL,
	settled_at {time}, -- put on file as live, or proven dead
	PRIMARY KEY (withdrawal_request_id, seq)
) {strict};

{no delete withdrawal_strays}
{keys withdrawal_strays: withdrawal_request_id, seq; rowid}

-- Which request a transaction of a chain pays: all of it (output -1), or one
-- output, and then the row of -1 belongs to nobody. A filler is of the zero id.
CREATE TABLE @withdrawal_payments (
	chain_id {text} NOT NULL,
	tx_form {text} NOT NULL, -- the hash in the form in which hashes are compared
	output {int} NOT NULL CHECK (output >= -1),
	withdrawal_request_id {uuid},
	PRIMARY KEY (chain_id, tx_form, output),
	CONSTRAINT an_output_pays_somebody CHECK (output = -1 OR withdrawal_request_id IS NOT NULL)
) {keyed};

INSERT INTO @withdrawal_payments (chain_id, tx_form, output, withdrawal_request_id)
	SELECT q.chain_id, CASE WHEN ltrim(substr(lower(t.tx_hash), CASE WHEN lower(t.tx_hash) LIKE '0x_%' THEN 3 ELSE 1 END), '0123456789abcdef') = ''
		THEN substr(lower(t.tx_hash), CASE WHEN lower(t.tx_hash) LIKE '0x_%' THEN 3 ELSE 1 END) ELSE t.tx_hash END, -1, t.withdrawal_request_id
	FROM @withdrawal_txs t JOIN @withdrawal_requests q ON q.id = t.withdrawal_request_id WHERE true ON CONFLICT DO NOTHING;

{append only withdrawal_payments}
{insert or ignore withdrawal_payments: chain_id, tx_form, output}

-- Transactions of hot wallets that pay no request.
CREATE TABLE @withdrawal_fillers (
	operation_wallet_address_id {uuid} NOT NULL REFERENCES @operation_wallet_addresses (id),
	nonce {int} NOT NULL CHECK (nonce >= 0),
	chain_id {text} NOT NULL,
	tx_hash {text} NOT NULL CHECK (length(tx_hash) BETWEEN 1 AND 100),
	actor {text} NOT NULL,
	reason {text} NOT NULL,
	created_at {time} NOT NULL,
	PRIMARY KEY (operation_wallet_address_id, nonce)
) {strict};

{append only withdrawal_fillers}
{insert once withdrawal_fillers: operation_wallet_address_id, nonce; rowid}

-- +goose Down

DROP TABLE @withdrawal_fillers;
DROP TABLE @withdrawal_payments;
DROP TABLE @withdrawal_strays;
DROP INDEX @withdrawal_incidents_at;
DROP INDEX @withdrawal_queue_rebroadcast_check;
DROP INDEX @withdrawal_requests_enqueue;
DROP INDEX @withdrawal_queue_claim_of_wallet;
DROP INDEX @withdrawal_queue_claim;
ALTER TABLE @withdrawal_txs DROP COLUMN output;
ALTER TABLE @withdrawal_txs DROP COLUMN by_output;
ALTER TABLE @withdrawal_attempts DROP COLUMN dispatch_ref;
ALTER TABLE @withdrawal_attempts DROP COLUMN dispatched_at;
ALTER TABLE @withdrawal_queue DROP COLUMN dispatches;
ALTER TABLE @withdrawal_queue DROP COLUMN stopped_fence;
ALTER TABLE @withdrawal_queue DROP COLUMN deferrals;
ALTER TABLE @withdrawal_queue DROP COLUMN offer_at;
ALTER TABLE @withdrawal_requests DROP COLUMN offer_at;
ALTER TABLE @withdrawal_requests DROP COLUMN strays_sent;
ALTER TABLE @withdrawal_requests DROP COLUMN strays_on_file;
ALTER TABLE @withdrawal_requests DROP COLUMN disproved;
ALTER TABLE @withdrawal_requests DROP COLUMN acknowledged;
ALTER TABLE @withdrawal_requests DROP COLUMN mined;
ALTER TABLE @withdrawal_requests DROP COLUMN held;
CREATE INDEX withdrawal_queue_claim ON @withdrawal_queue
	(chain_id, (CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), scheduled_at, id) WHERE status = 'pending';
CREATE INDEX withdrawal_queue_claim_of_wallet ON @withdrawal_queue
	(operation_wallet_address_id, (CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END), scheduled_at, id) WHERE status = 'pending';
CREATE INDEX withdrawal_requests_enqueue ON @withdrawal_requests (chain_id, updated_at, id) WHERE status = 'approved';
