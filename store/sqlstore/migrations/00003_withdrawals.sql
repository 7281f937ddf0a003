-- +goose Up

-- Wallets that pay. balance_reserved is the sum of the amounts of the open jobs.
CREATE TABLE @operation_wallet_addresses (
	id {uuid} PRIMARY KEY,
	chain_id {text} NOT NULL, -- an id in lower case; text, as the queries of hosts compare it
	role {text} NOT NULL,
	status {text} NOT NULL,
	last_used_at {time}, -- NULL: never
	balance_reserved {num} NOT NULL DEFAULT '0' -- an integer of base units
) {strict};

CREATE INDEX operation_wallet_addresses_by_chain ON @operation_wallet_addresses (chain_id, id);
CREATE INDEX operation_wallet_addresses_unknown ON @operation_wallet_addresses (chain_id, id) WHERE status = 'unknown outbound';

{no delete operation_wallet_addresses}
{keys operation_wallet_addresses: id; rowid}

-- What the user wants, who agreed, and how it ended.
CREATE TABLE @withdrawal_requests (
	id {uuid} PRIMARY KEY,
	user_id {uuid} NOT NULL,
	asset_id {uuid} NOT NULL,
	chain_id {text} NOT NULL,
	to_address {text} NOT NULL CHECK (to_address <> ''),
	memo {text} NOT NULL,
	amount {num} NOT NULL, -- for people: amount_raw / 10^decimals
	amount_raw {text} NOT NULL,
	decimals {int} NOT NULL CHECK (decimals BETWEEN 0 AND 77),
	status {text} NOT NULL CHECK (status IN ('pending', 'approved', 'queued', 'completed', 'failed', 'rejected', 'cancelled')),
	requested_by {text} NOT NULL,
	approvals_needed {int} NOT NULL CHECK (approvals_needed >= 0),
	first_approver {text},
	second_approver {text},
	closed_by {text},
	close_reason {text} NOT NULL,
	approved_at {time}, -- when it left pending
	queued_at {time},
	final_tx_hash {text},
	held {bool} NOT NULL DEFAULT FALSE, -- by an operator
	mined {text}, -- the first hash that was mined beside the record
	told {text}, -- what was said beside the record, oldest first: words with a space between two, as mined:0xab or taken@3:0xab
	acknowledged {bool} NOT NULL DEFAULT FALSE, -- an operator has settled what told says
	disproved {text}, -- a transaction on file that was declared dead and then mined
	disproved_by {text}, -- who said that it was mined
	strays_on_file {int} NOT NULL DEFAULT 0, -- rows of withdrawal_strays
	strays_sent {int} NOT NULL DEFAULT 0, -- of them, those that are said to be sent and are not settled
	taken {text}, -- the latest hash of another request, or of a filler, that a signer answered with
	refunded_at {time}, -- when the host said that it gives the money back
	refunded_by {text},
	refund_reference {text}, -- the key of its posting
	paid_after {text}, -- the first hash that is said to be mined, sent or taken after the refund
	offer_at {time}, -- not offered for a job, or for a refund, before
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	updated_at {time} NOT NULL,
	CONSTRAINT amount_is_a_number CHECK (ltrim(CAST(amount AS text), '0123456789.') = ''),
	CONSTRAINT amount_is_positive CHECK (length(amount_raw) BETWEEN 1 AND 78 AND ltrim(amount_raw, '0123456789') = ''
		AND amount_raw NOT LIKE '0%'),
	CONSTRAINT final_hash_of_completed CHECK ((final_tx_hash IS NOT NULL) = (status = 'completed')),
	CONSTRAINT closed_by_somebody CHECK ((closed_by IS NOT NULL) = (status IN ('rejected', 'cancelled'))),
	CONSTRAINT approvers_are_distinct CHECK (second_approver IS NULL OR first_approver IS NOT NULL
		AND first_approver <> second_approver),
	CONSTRAINT nobody_approves_their_own CHECK (first_approver <> requested_by
		AND (second_approver IS NULL OR second_approver <> requested_by)),
	CONSTRAINT refunded_by_somebody CHECK ((refund_reference IS NULL) = (refunded_at IS NULL)
		AND (refund_reference IS NULL) = (refunded_by IS NULL)),
	CONSTRAINT refunded_is_unpaid CHECK (refund_reference IS NULL OR status IN ('failed', 'cancelled', 'rejected')),
	CONSTRAINT paid_after_a_refund CHECK (paid_after IS NULL OR refund_reference IS NOT NULL),
	CONSTRAINT queued_has_queued_at CHECK (status NOT IN ('queued', 'completed', 'failed') OR queued_at IS NOT NULL)
) {strict};

-- Lists, each in its order.
CREATE INDEX withdrawal_requests_by_status ON @withdrawal_requests (status, created_at, id);
CREATE INDEX withdrawal_requests_of_user ON @withdrawal_requests (user_id, created_at, id);
CREATE INDEX withdrawal_requests_of_chain ON @withdrawal_requests (chain_id, created_at, id);
CREATE INDEX withdrawal_requests_open ON @withdrawal_requests (created_at, id) WHERE status IN ('pending', 'approved', 'queued');
CREATE INDEX withdrawal_requests_held ON @withdrawal_requests (created_at, id) WHERE held;
CREATE INDEX withdrawal_requests_approved ON @withdrawal_requests (approved_at) WHERE approved_at IS NOT NULL;
CREATE INDEX withdrawal_requests_ended ON @withdrawal_requests (updated_at) WHERE status IN ('completed', 'failed');
-- What may be enqueued: due work skips what is held, flagged or put off.
CREATE INDEX withdrawal_requests_enqueue ON @withdrawal_requests (chain_id, updated_at, id)
	WHERE status = 'approved' AND NOT held AND mined IS NULL AND strays_sent = 0;
-- What has ended and is not refunded: due work in its order, the list, and the oldest.
CREATE INDEX withdrawal_requests_unrefunded ON @withdrawal_requests (updated_at)
	WHERE status IN ('failed', 'cancelled', 'rejected') AND refund_reference IS NULL;
CREATE INDEX withdrawal_requests_refund ON @withdrawal_requests ((coalesce(offer_at, '1970-01-01 00:00:00.000000')), updated_at, id)
	WHERE status IN ('failed', 'cancelled', 'rejected') AND refund_reference IS NULL;
CREATE INDEX withdrawal_requests_to_refund ON @withdrawal_requests (created_at, id)
	WHERE status IN ('failed', 'cancelled', 'rejected') AND refund_reference IS NULL;
CREATE INDEX withdrawal_requests_paid_after ON @withdrawal_requests (created_at, id)
	WHERE paid_after IS NOT NULL AND NOT acknowledged;

{no delete withdrawal_requests}
{keys withdrawal_requests: id; rowid}

-- Orders to pay.
CREATE TABLE @withdrawal_queue (
	id {uuid} PRIMARY KEY,
	withdrawal_request_id {uuid} NOT NULL REFERENCES @withdrawal_requests (id),
	number {int} NOT NULL CHECK (number >= 1), -- within the request
	chain_id {text} NOT NULL,
	asset_on_chain_id {uuid} NOT NULL,
	operation_wallet_address_id {uuid} NOT NULL REFERENCES @operation_wallet_addresses (id),
	to_address {text} NOT NULL,
	amount_raw {text} NOT NULL,
	amount_human {num} NOT NULL,
	status {text} NOT NULL CHECK (status IN ('pending', 'processing', 'confirming', 'confirmed', 'failed')),
	priority {text} NOT NULL CHECK (priority IN ('low', 'normal', 'high')),
	retry_count {int} NOT NULL CHECK (retry_count >= 0),
	max_retries {int} NOT NULL CHECK (max_retries >= 1),
	scheduled_at {time} NOT NULL,
	scheduled_from {time} NOT NULL, -- when scheduled_at was set: the same time where nothing delays the job
	offer_at {time}, -- not offered for a claim before
	deferrals {int} NOT NULL DEFAULT 0, -- in a row, because the hot wallet could not pay
	lease_holder {text},
	lease_fence {int} NOT NULL CHECK (lease_fence >= 0),
	lease_until {time},
	stopped_fence {int} NOT NULL DEFAULT 0, -- of the latest execution that a hold or a stop ended
	slot {uuid}, -- the wallet, while the job holds it
	claimed_at {time},
	dispatched_at {time},
	dispatch_ref {text},
	dispatches {int} NOT NULL DEFAULT 0, -- executions of all jobs of the request that were dispatched and have ended
	txs_on_file {int} NOT NULL,
	txs_dead {int} NOT NULL,
	nonce {int} CHECK (nonce >= 0),
	tx_hash {text},
	batch_id {uuid} CHECK (batch_id IS NULL OR status = 'confirming' AND NOT rebroadcast), -- that pays it
	review {bool} NOT NULL,
	resolved_version {int} NOT NULL,
	broadcast_at {time},
	next_check_at {time},
	rebroadcast {bool} NOT NULL,
	evidence_height {int} NOT NULL, -- the 64 bits of an unsigned number
	evidence_hash {text},
	gas_used {text} CHECK (ltrim(gas_used, '0123456789') = ''),
	gas_price {text} CHECK (ltrim(gas_price, '0123456789') = ''),
	error_message {text},
	processed_at {time},
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	UNIQUE (withdrawal_request_id, number),
	CONSTRAINT job_amount_is_a_number CHECK (ltrim(CAST(amount_human AS text), '0123456789.') = ''),
	CONSTRAINT job_amount_is_positive CHECK (length(amount_raw) BETWEEN 1 AND 78 AND ltrim(amount_raw, '0123456789') = ''
		AND amount_raw NOT LIKE '0%'),
	CONSTRAINT executions_are_bounded CHECK (retry_count <= max_retries AND (status <> 'pending' OR retry_count < max_retries)
		AND (status NOT IN ('processing', 'confirming') OR retry_count >= 1)),
	CONSTRAINT terminal_has_processed_at CHECK ((processed_at IS NOT NULL) = (status IN ('confirmed', 'failed'))),
	CONSTRAINT lease_has_an_end CHECK ((lease_holder IS NULL) = (lease_until IS NULL)),
	CONSTRAINT execution_is_leased CHECK ((status = 'processing' AND NOT review) = (lease_holder IS NOT NULL)
		OR status = 'confirming' AND NOT review),
	CONSTRAINT slot_is_held_in_execution CHECK (slot IS NULL OR status = 'processing' AND NOT review
		AND slot = operation_wallet_address_id),
	CONSTRAINT dead_are_on_file CHECK (0 <= txs_dead AND txs_dead <= txs_on_file),
	CONSTRAINT dispatched_has_no_hash CHECK ((dispatched_at IS NULL) = (dispatch_ref IS NULL)
		AND (dispatched_at IS NULL OR status = 'processing' AND tx_hash IS NULL)),
	CONSTRAINT review_of_what_may_be_sent CHECK (NOT review OR status = 'confirming' OR status = 'processing'
		AND dispatched_at IS NOT NULL),
	CONSTRAINT pending_has_no_hash CHECK (status <> 'pending' OR tx_hash IS NULL AND txs_dead = txs_on_file),
	CONSTRAINT sent_has_a_hash CHECK (status NOT IN ('confirming', 'confirmed') OR tx_hash IS NOT NULL AND broadcast_at IS NOT NULL),
	CONSTRAINT confirming_is_checked CHECK ((status = 'confirming') = (next_check_at IS NOT NULL)
		AND (status = 'confirming' OR NOT rebroadcast)),
	CONSTRAINT confirming_is_live CHECK (status <> 'confirming' OR txs_dead < txs_on_file),
	CONSTRAINT confirmed_has_evidence CHECK (status <> 'confirmed' OR evidence_hash IS NOT NULL)
) {strict};

CREATE UNIQUE INDEX uniq_withdrawal_queue_active ON @withdrawal_queue (withdrawal_request_id) WHERE status <> 'failed';
CREATE UNIQUE INDEX uniq_withdrawal_queue_slot ON @withdrawal_queue (slot) WHERE slot IS NOT NULL;
-- One index for each kind of due work, in its order; it skips what is put off.
CREATE INDEX withdrawal_queue_claim ON @withdrawal_queue
	(chain_id, (CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END),
	(CASE WHEN offer_at > scheduled_at THEN offer_at ELSE scheduled_at END), id) WHERE status = 'pending';
CREATE INDEX withdrawal_queue_claim_of_wallet ON @withdrawal_queue
	(operation_wallet_address_id, (CASE priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END),
	(CASE WHEN offer_at > scheduled_at THEN offer_at ELSE scheduled_at END), id) WHERE status = 'pending';
-- What may be put off by a clock that was ahead has a time here that is later than now.
CREATE INDEX withdrawal_queue_ahead ON @withdrawal_queue
	((CASE WHEN offer_at > scheduled_from THEN offer_at ELSE scheduled_from END)) WHERE status = 'pending';
CREATE INDEX withdrawal_queue_rebroadcast ON @withdrawal_queue
	(operation_wallet_address_id, (coalesce(nonce, 0)), id, chain_id) WHERE status = 'confirming' AND rebroadcast AND NOT review;
CREATE INDEX withdrawal_queue_rebroadcast_check ON @withdrawal_queue
	(next_check_at, id, chain_id) WHERE status = 'confirming' AND rebroadcast AND NOT review;
CREATE INDEX withdrawal_queue_check ON @withdrawal_queue (next_check_at, id, chain_id) WHERE status = 'confirming';
CREATE INDEX withdrawal_queue_rescue ON @withdrawal_queue (lease_until, id, chain_id) WHERE status = 'processing';
-- What people and statistics ask, beside the history of years.
CREATE INDEX withdrawal_queue_active ON @withdrawal_queue (status) WHERE status IN ('pending', 'processing', 'confirming');
CREATE INDEX withdrawal_queue_ended ON @withdrawal_queue (processed_at) WHERE processed_at IS NOT NULL;
CREATE INDEX withdrawal_queue_failed ON @withdrawal_queue (created_at) WHERE status = 'failed';
CREATE INDEX withdrawal_queue_batch ON @withdrawal_queue (batch_id) WHERE batch_id IS NOT NULL;

{no delete withdrawal_queue}
{keys or ignore withdrawal_queue: id; rowid; withdrawal_request_id, number; withdrawal_request_id where status <> 'failed'; slot}

-- {postgres
ALTER TABLE @withdrawal_queue SET (fillfactor = 60); -- a version that moves no index entry fits where the last one was
-- }

-- Every transaction that may be mined.
CREATE TABLE @withdrawal_txs (
	withdrawal_request_id {uuid} NOT NULL,
	seq {int} NOT NULL CHECK (seq >= 1),
	job_id {uuid} NOT NULL REFERENCES @withdrawal_queue (id),
	tx_hash {text} NOT NULL CHECK (tx_hash <> ''),
	raw_tx {bytes} NOT NULL, -- empty if only the signer has it
	operation_wallet_address_id {uuid} NOT NULL,
	nonce {int} CHECK (nonce >= 0),
	input {text},
	is_cancel {bool} NOT NULL,
	by_output {bool} NOT NULL DEFAULT FALSE, -- it pays this request by one output
	output {int} NOT NULL DEFAULT 0,
	batch_id {uuid}, -- whose version it is
	created_at {time} NOT NULL,
	PRIMARY KEY (withdrawal_request_id, seq)
) {strict};

-- One index finds a hash and keeps it unique.
CREATE UNIQUE INDEX withdrawal_txs_hash ON @withdrawal_txs (tx_hash, withdrawal_request_id);
CREATE INDEX withdrawal_txs_of_batch ON @withdrawal_txs (batch_id) WHERE batch_id IS NOT NULL;

{append only withdrawal_txs}
{insert once withdrawal_txs: withdrawal_request_id, seq; rowid; withdrawal_request_id, tx_hash}

-- The job that owns a nonce of a wallet; the transactions that replace one
-- another share it.
CREATE TABLE @withdrawal_nonces (
	operation_wallet_address_id {uuid} NOT NULL,
	nonce {int} NOT NULL CHECK (nonce >= 0),
	job_id {uuid} NOT NULL REFERENCES @withdrawal_queue (id),
	PRIMARY KEY (operation_wallet_address_id, nonce)
) {keyed};

{append only withdrawal_nonces}
{insert once withdrawal_nonces: operation_wallet_address_id, nonce}

-- Executions: inserted at the claim, closed once.
CREATE TABLE @withdrawal_attempts (
	job_id {uuid} NOT NULL REFERENCES @withdrawal_queue (id),
	fence {int} NOT NULL CHECK (fence >= 1),
	worker {text} NOT NULL,
	started_at {time} NOT NULL,
	ended_at {time},
	outcome {text} CHECK (outcome IN ('done', 'failed', 'unknown', 'deferred')),
	error_message {text},
	tx_hash {text},
	dispatched_at {time},
	dispatch_ref {text},
	PRIMARY KEY (job_id, fence),
	CONSTRAINT ended_has_an_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL))
) {keyed};

CREATE INDEX withdrawal_attempts_started ON @withdrawal_attempts (started_at);

{append only withdrawal_attempts once ended_at but error_message of job_id}
{update keys withdrawal_attempts: job_id, fence}

-- {postgres
ALTER TABLE @withdrawal_attempts SET (fillfactor = 50); -- the end of a row fits where it began
-- }
-- {sqlite
-- +goose StatementBegin
CREATE TRIGGER keep_withdrawal_attempts_INSERT BEFORE INSERT ON @withdrawal_attempts WHEN EXISTS (SELECT 1 FROM @withdrawal_attempts a
	WHERE a.job_id = NEW.job_id AND a.fence = NEW.fence
	AND (a.ended_at IS NOT NULL OR a.worker <> NEW.worker OR a.started_at <> NEW.started_at)) BEGIN
	SELECT RAISE(IGNORE); -- the upsert leaves those alone, and REPLACE must not delete them
END;
-- +goose StatementEnd
-- }

-- Evidence of the chain that contradicts a record.
CREATE TABLE @withdrawal_incidents (
	id {id},
	withdrawal_request_id {uuid} NOT NULL,
	job_id {uuid} NOT NULL,
	tx_hash {text} NOT NULL,
	claim {text} NOT NULL,
	block_hash {text} NOT NULL, -- empty for a transaction that is missing
	height {int} NOT NULL, -- the 64 bits of an unsigned number
	status {text} NOT NULL,
	actor {text} NOT NULL,
	at {time} NOT NULL,
	UNIQUE (withdrawal_request_id, tx_hash, claim, block_hash)
) {strict};

CREATE INDEX withdrawal_incidents_at ON @withdrawal_incidents (at);

{append only withdrawal_incidents}
{insert or ignore withdrawal_incidents: id; withdrawal_request_id, tx_hash, claim, block_hash}

-- What an operator has settled of the incidents.
CREATE TABLE @withdrawal_acknowledgements (
	withdrawal_request_id {uuid} NOT NULL,
	tx_hash {text} NOT NULL,
	claim {text} NOT NULL,
	block_hash {text} NOT NULL,
	actor {text} NOT NULL,
	role {text} NOT NULL,
	reason {text} NOT NULL,
	at {time} NOT NULL,
	PRIMARY KEY (withdrawal_request_id, tx_hash, claim, block_hash),
	FOREIGN KEY (withdrawal_request_id, tx_hash, claim, block_hash)
		REFERENCES @withdrawal_incidents (withdrawal_request_id, tx_hash, claim, block_hash)
) {strict};

{append only withdrawal_acknowledgements but reason of withdrawal_request_id}
{insert or ignore withdrawal_acknowledgements: withdrawal_request_id, tx_hash, claim, block_hash; rowid}

-- Transactions that are not on file, of which somebody says that they were sent
-- for a request or paid it.
CREATE TABLE @withdrawal_strays (
	withdrawal_request_id {uuid} NOT NULL REFERENCES @withdrawal_requests (id),
	seq {int} NOT NULL CHECK (seq >= 1),
	job_id {uuid} NOT NULL,
	claim {text} NOT NULL CHECK (claim IN ('sent', 'mined')),
	tx_hash {text} NOT NULL CHECK (tx_hash <> ''),
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
	PRIMARY KEY (tx_form, chain_id, output), -- who asks knows the hash, and perhaps not the chain
	CONSTRAINT an_output_pays_somebody CHECK (output = -1 OR withdrawal_request_id IS NOT NULL)
) {keyed};

{append only withdrawal_payments}
{insert or ignore withdrawal_payments: chain_id, tx_form, output}

-- Transactions of hot wallets that pay no request.
CREATE TABLE @withdrawal_fillers (
	operation_wallet_address_id {uuid} NOT NULL REFERENCES @operation_wallet_addresses (id),
	nonce {int} NOT NULL CHECK (nonce >= 0),
	chain_id {text} NOT NULL,
	tx_hash {text} NOT NULL CHECK (tx_hash <> ''),
	actor {text} NOT NULL,
	reason {text} NOT NULL,
	created_at {time} NOT NULL,
	PRIMARY KEY (operation_wallet_address_id, nonce)
) {strict};

{append only withdrawal_fillers but reason of operation_wallet_address_id}
{insert once withdrawal_fillers: operation_wallet_address_id, nonce; rowid}

-- What operators have found out about hot wallets after the database was put back, in the order
-- in which they said it.
CREATE TABLE @withdrawal_statements (
	id {id},
	chain_id {text} NOT NULL,
	operation_wallet_address_id {uuid} REFERENCES @operation_wallet_addresses (id), -- NULL: of none
	generation {int} NOT NULL CHECK (generation >= 0), -- of the database then
	says {text} NOT NULL CHECK (says IN ('through', 'coins', 'until', 'at depth', 'used', 'spends', 'coin', 'pays', 'own', 'unclaimed',
		'books', 'not this', 'dropped', 'unknown outbound')),
	number {int} NOT NULL CHECK (number >= 0), -- a nonce, a height, or the number of an output
	low {int} NOT NULL CHECK (low >= 0),
	tx_hash {text} NOT NULL,
	named {text} NOT NULL, -- a payee, a coin, or the moment of the copy
	asset_on_chain_id {uuid},
	amount_raw {text} CHECK (ltrim(amount_raw, '0123456789') = ''),
	withdrawal_request_id {uuid}, -- which was not paid by it
	height {int} NOT NULL CHECK (height >= 0),
	block_hash {text} NOT NULL,
	source {text},
	reason {text} NOT NULL,
	actor {text} NOT NULL,
	at {time} NOT NULL,
	CONSTRAINT about_a_wallet_or_the_books CHECK ((says = 'books') = (operation_wallet_address_id IS NULL)),
	CONSTRAINT a_transfer_is_whole CHECK ((says IN ('pays', 'own', 'unclaimed')) = (amount_raw IS NOT NULL)
		AND (amount_raw IS NULL) = (asset_on_chain_id IS NULL))
) {strict};

CREATE INDEX withdrawal_statements_about ON @withdrawal_statements (chain_id, generation, id);
CREATE INDEX withdrawal_statements_used ON @withdrawal_statements (operation_wallet_address_id, number, id) WHERE says = 'used';
CREATE INDEX withdrawal_statements_unknown ON @withdrawal_statements (id) WHERE says = 'unknown outbound';
CREATE INDEX withdrawal_statements_unclaimed ON @withdrawal_statements (chain_id, id) WHERE says IN ('unclaimed', 'not this', 'dropped');

{append only withdrawal_statements but reason of operation_wallet_address_id}
{insert once withdrawal_statements: id}

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
	lease_holder {text}, -- who sends it, or replaces it
	lease_fence {int} NOT NULL DEFAULT 0 CHECK (lease_fence >= 0),
	lease_until {time} CHECK ((lease_holder IS NULL) = (lease_until IS NULL) AND (lease_holder IS NULL OR status = 'confirming')),
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	CONSTRAINT versions_are_exclusive CHECK ((nonce IS NULL) = (input IS NOT NULL)),
	CONSTRAINT a_batch_is_checked CHECK ((status = 'confirming') = (next_check_at IS NOT NULL)
		AND (status = 'confirming' OR NOT rebroadcast)),
	CONSTRAINT an_end_has_evidence CHECK ((status = 'confirming') = (ended_at IS NULL)
		AND (status = 'confirming') = (evidence_hash IS NULL))
) {strict};

CREATE INDEX withdrawal_batches_check ON @withdrawal_batches (next_check_at, id, chain_id) WHERE status = 'confirming';
CREATE INDEX withdrawal_batches_send ON @withdrawal_batches
	(next_check_at, id, chain_id) WHERE status = 'confirming' AND rebroadcast;
CREATE INDEX withdrawal_batches_held ON @withdrawal_batches (lease_holder, created_at, id) WHERE lease_holder IS NOT NULL;
-- What people look for.
CREATE INDEX withdrawal_batches_listed ON @withdrawal_batches (created_at, id);
CREATE INDEX withdrawal_batches_open ON @withdrawal_batches (created_at, id) WHERE status = 'confirming';

{no delete withdrawal_batches}
{keys withdrawal_batches: id; rowid}

-- The versions of a batch, with their bytes.
CREATE TABLE @withdrawal_batch_txs (
	batch_id {uuid} NOT NULL REFERENCES @withdrawal_batches (id),
	seq {int} NOT NULL CHECK (seq >= 1),
	tx_hash {text} NOT NULL CHECK (tx_hash <> ''),
	raw_tx {bytes} NOT NULL,
	created_at {time} NOT NULL,
	PRIMARY KEY (batch_id, seq),
	UNIQUE (batch_id, tx_hash)
) {strict};

CREATE INDEX withdrawal_batch_txs_hash ON @withdrawal_batch_txs (lower(tx_hash));

{append only withdrawal_batch_txs}
{insert once withdrawal_batch_txs: batch_id, seq; batch_id, tx_hash; rowid}

-- How many requests and jobs are in a state that they may stay in for ever, so
-- that nobody counts history. Shards let transactions end at the same time.
CREATE TABLE @withdrawal_counts (
	record {text} NOT NULL,
	status {text} NOT NULL,
	shard {int} NOT NULL,
	n {int} NOT NULL,
	PRIMARY KEY (record, status, shard)
) {keyed};

INSERT INTO @settle_versions (version, domain, oldest) VALUES (3, 'withdrawals', 3);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 3;
DROP TABLE @withdrawal_counts;
DROP TABLE @withdrawal_batch_txs;
DROP TABLE @withdrawal_batches;
DROP TABLE @withdrawal_statements;
DROP TABLE @withdrawal_fillers;
DROP TABLE @withdrawal_payments;
DROP TABLE @withdrawal_strays;
DROP TABLE @withdrawal_acknowledgements;
DROP TABLE @withdrawal_incidents;
DROP TABLE @withdrawal_attempts;
DROP TABLE @withdrawal_nonces;
DROP TABLE @withdrawal_txs;
DROP TABLE @withdrawal_queue;
DROP TABLE @withdrawal_requests;
DROP TABLE @operation_wallet_addresses;
