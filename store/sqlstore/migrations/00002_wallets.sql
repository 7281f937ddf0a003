-- +goose Up

CREATE TABLE @wallets (
	id {int} PRIMARY KEY CHECK (id > 0),
	birth_height {int} NOT NULL CHECK (birth_height >= 0),
	scanned_to {int} NOT NULL CHECK (scanned_to >= birth_height - 1),
	follows_tip {bool} NOT NULL DEFAULT FALSE, -- scanned to the tip; then scanned_to says nothing
	announced {int} NOT NULL DEFAULT 0 -- announcements of late owners, see wallet_owners
) {strict};

{no delete wallets}
{keys wallets: id; rowid}

-- Owners that were announced to a wallet, for ever, with the first height that
-- can hold one of their coins, and the announcement that they are scanned with.
CREATE TABLE @wallet_owners (
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	owner_tag {text} NOT NULL,
	birth_height {int} NOT NULL CHECK (birth_height >= 0),
	scan_id {int} NOT NULL CHECK (scan_id >= 0), -- 0 for none
	PRIMARY KEY (wallet_id, owner_tag)
) {keyed};

CREATE INDEX wallet_owners_by_scan ON @wallet_owners (wallet_id, scan_id);

{no delete wallet_owners}
{insert once wallet_owners: wallet_id, owner_tag}
{update keys wallet_owners: wallet_id, owner_tag}

-- Announcements whose owners have not caught up with their wallet.
CREATE TABLE @wallet_scans (
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	scan_id {int} NOT NULL CHECK (scan_id > 0),
	scanned_to {int} NOT NULL,
	PRIMARY KEY (wallet_id, scan_id)
) {keyed};

-- The current best chain. A disconnect deletes a row.
CREATE TABLE @blocks (
	block_height {int} PRIMARY KEY CHECK (block_height >= 0),
	block_hash {bytes} NOT NULL UNIQUE CHECK (length(block_hash) = 32),
	prev_hash {bytes} NOT NULL CHECK (length(prev_hash) = 32),
	block_time {time} NOT NULL
) {strict};

-- One row, which block events lock on PostgreSQL.
CREATE TABLE @chain_tip (
	id {int} PRIMARY KEY CHECK (id = 1),
	last_seq {int} NOT NULL DEFAULT 0 -- the number of the last reading of a mempool
) {strict};
INSERT INTO @chain_tip (id) VALUES (1);

{no delete chain_tip}
{keys chain_tip: id; rowid}

CREATE TABLE @transactions (
	id {id}, -- order of arrival
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	tx_hash {bytes} NOT NULL CHECK (length(tx_hash) = 32),
	status {text} NOT NULL CHECK (status IN ('pending', 'published', 'replaced', 'failed', 'orphaned')),
	block_height {int} REFERENCES @blocks (block_height),
	block_position {int} NOT NULL CHECK (block_position >= 0),
	is_coinbase {bool} NOT NULL,
	first_seen {time} NOT NULL,
	seq {int} NOT NULL CHECK (seq >= 0), -- of the last mempool observation, 0 for none
	label {text} NOT NULL,
	version {int} NOT NULL CHECK (version >= 1),
	raw_tx {bytes} NOT NULL,
	is_context {bool} NOT NULL DEFAULT FALSE, -- on file only as the direct parent or rival of one of the wallet's own
	is_public {bool} NOT NULL DEFAULT TRUE, -- the network has had it, and not only its wallet
	UNIQUE (tx_hash, wallet_id),
	UNIQUE (wallet_id, id),
	CONSTRAINT confirmed_is_published CHECK (block_height IS NULL OR status = 'published'),
	CONSTRAINT coinbase_confirmed_or_orphaned CHECK (NOT is_coinbase
		OR status = 'published' AND block_height IS NOT NULL OR status = 'orphaned' AND block_height IS NULL),
	CONSTRAINT orphaned_is_coinbase CHECK (status <> 'orphaned' OR is_coinbase),
	CONSTRAINT position_in_a_block CHECK (block_height IS NOT NULL OR block_position = 0)
) {strict};

CREATE INDEX transactions_by_height ON @transactions (block_height, wallet_id, block_position) WHERE block_height IS NOT NULL;
CREATE INDEX transactions_history ON @transactions
	(wallet_id, block_height, block_position) WHERE block_height IS NOT NULL AND NOT is_context;
CREATE INDEX transactions_coinbase ON @transactions (wallet_id, block_height) WHERE is_coinbase AND block_height IS NOT NULL;
CREATE INDEX transactions_unconfirmed ON @transactions
	(wallet_id, first_seen, tx_hash) WHERE block_height IS NULL AND NOT is_context;
CREATE INDEX transactions_live ON @transactions
	(wallet_id, id) WHERE block_height IS NULL AND status IN ('pending', 'published') AND NOT is_context;

{no delete transactions}
{keys transactions: id; rowid; tx_hash, wallet_id}

-- Every previous outpoint of every transaction, foreign ones too: the conflict
-- index and the history, apart from the live spender of utxos.
CREATE TABLE @tx_inputs (
	wallet_id {int} NOT NULL,
	tx_id {int} NOT NULL,
	input_index {int} NOT NULL CHECK (input_index >= 0),
	prev_hash {bytes} NOT NULL CHECK (length(prev_hash) = 32),
	prev_index {int} NOT NULL CHECK (prev_index >= 0),
	PRIMARY KEY (wallet_id, tx_id, input_index),
	FOREIGN KEY (wallet_id, tx_id) REFERENCES @transactions (wallet_id, id)
) {keyed};

CREATE INDEX tx_inputs_conflict ON @tx_inputs (prev_hash, prev_index, wallet_id, tx_id, input_index);

{append only tx_inputs}
{insert once tx_inputs: wallet_id, tx_id, input_index}

-- Outputs that a wallet owns. The spender is the live transaction, with the
-- input that takes the output. The id is the outpoint as one number, for leases.
CREATE TABLE @utxos (
	wallet_id {int} NOT NULL,
	tx_id {int} NOT NULL,
	output_index {int} NOT NULL CHECK (output_index BETWEEN 0 AND 4294967295),
	amount {int} NOT NULL CHECK (amount >= 0),
	script {bytes} NOT NULL,
	owner_tag {text} NOT NULL,
	spent_by_tx_id {int},
	spent_input_index {int},
	id {int} NOT NULL GENERATED ALWAYS AS (tx_id * 4294967296 + output_index) STORED,
	PRIMARY KEY (wallet_id, tx_id, output_index),
	FOREIGN KEY (wallet_id, tx_id) REFERENCES @transactions (wallet_id, id),
	FOREIGN KEY (wallet_id, spent_by_tx_id, spent_input_index) REFERENCES @tx_inputs (wallet_id, tx_id, input_index),
	CONSTRAINT spender_is_a_pair CHECK ((spent_by_tx_id IS NULL) = (spent_input_index IS NULL)),
	CONSTRAINT no_self_spend CHECK (spent_by_tx_id <> tx_id)
) {keyed};

CREATE INDEX utxos_unspent ON @utxos (wallet_id, tx_id, output_index) WHERE spent_by_tx_id IS NULL;

{no delete utxos}
{keys utxos: wallet_id, tx_id, output_index}

-- What the live unspent outputs of an owner sum up to, by the state of their
-- transactions: a balance must not read them all. Whoever changes utxos or
-- transactions changes this too.
CREATE TABLE @wallet_balances (
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	owner_tag {text} NOT NULL,
	bucket {text} NOT NULL CHECK (bucket IN ('pending', 'unconfirmed', 'confirmed')), -- mature or not
	amount {int} NOT NULL,
	PRIMARY KEY (wallet_id, owner_tag, bucket)
) {keyed};

CREATE TABLE @tx_replacements (
	wallet_id {int} NOT NULL,
	replaced_tx_id {int} NOT NULL,
	replacement_tx_id {int} NOT NULL,
	declared {bool} NOT NULL DEFAULT TRUE, -- by who made it, or else found as evidence
	PRIMARY KEY (wallet_id, replaced_tx_id, replacement_tx_id),
	FOREIGN KEY (wallet_id, replaced_tx_id) REFERENCES @transactions (wallet_id, id),
	FOREIGN KEY (wallet_id, replacement_tx_id) REFERENCES @transactions (wallet_id, id),
	CONSTRAINT no_self_replacement CHECK (replaced_tx_id <> replacement_tx_id)
) {keyed};

CREATE INDEX tx_replacements_by_winner ON @tx_replacements (wallet_id, replacement_tx_id);

-- An edge that evidence made can be declared later; nothing else of it changes.
{no delete tx_replacements}
-- {sqlite
-- +goose StatementBegin
CREATE TRIGGER keep_tx_replacements_UPDATE BEFORE UPDATE ON @tx_replacements
WHEN NOT (NEW.wallet_id = OLD.wallet_id AND NEW.replaced_tx_id = OLD.replaced_tx_id
	AND NEW.replacement_tx_id = OLD.replacement_tx_id AND NOT OLD.declared AND NEW.declared) BEGIN
	SELECT RAISE(ABORT, 'tx_replacements keeps its history: no UPDATE');
END;
-- +goose StatementEnd
-- }
-- {postgres
CREATE TRIGGER keep_tx_replacements_update BEFORE UPDATE ON @tx_replacements FOR EACH ROW
WHEN (NOT (NEW.wallet_id = OLD.wallet_id AND NEW.replaced_tx_id = OLD.replaced_tx_id
	AND NEW.replacement_tx_id = OLD.replacement_tx_id AND NOT OLD.declared AND NEW.declared))
EXECUTE FUNCTION @settle_keep();
-- }
{insert once tx_replacements: wallet_id, replaced_tx_id, replacement_tx_id}

CREATE TABLE @utxo_leases (
	wallet_id {int} NOT NULL,
	utxo_id {int} NOT NULL,
	lock_id {bytes} NOT NULL CHECK (length(lock_id) = 32),
	expires_at {time} NOT NULL,
	leased_at {time} NOT NULL, -- by this lock; a renewal keeps it
	tx_id {int} NOT NULL GENERATED ALWAYS AS (utxo_id / 4294967296) STORED,
	output_index {int} NOT NULL GENERATED ALWAYS AS (utxo_id % 4294967296) STORED,
	PRIMARY KEY (wallet_id, utxo_id),
	FOREIGN KEY (wallet_id, tx_id, output_index) REFERENCES @utxos (wallet_id, tx_id, output_index)
) {keyed};

-- Leases stay for ever; what is asked is the active ones, and those of a lock.
CREATE INDEX utxo_leases_end ON @utxo_leases (wallet_id, expires_at);
CREATE INDEX utxo_leases_lock ON @utxo_leases (wallet_id, lock_id, expires_at, leased_at);

-- Outputs that pay customers, and what the host's ledger has of them: package follow
-- credits each once. A row moves where its state and round are as they were read.
CREATE TABLE @deposits (
	tx_hash {bytes} NOT NULL CHECK (length(tx_hash) = 32),
	output_index {int} NOT NULL CHECK (output_index >= 0),
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	owner_tag {text} NOT NULL,
	amount {int} NOT NULL CHECK (amount > 0),
	block_height {int} CHECK (block_height >= 0), -- of the last block of the best chain that it was in
	block_hash {bytes} CHECK (length(block_hash) = 32),
	in_chain {bool} NOT NULL, -- that block is in the best chain still
	state {text} NOT NULL CHECK (state IN ('waiting', 'credited', 'reversed')),
	round {int} NOT NULL CHECK (round >= 0), -- how often it was credited
	depth {int} NOT NULL CHECK (depth >= 0), -- that it was credited at
	deep_at {int} NOT NULL, -- the height of the tip from which on it is as deep; 2147483647 out of the chain
	reversed_by {text} NOT NULL, -- of the last round: an operator, or empty
	reason {text} NOT NULL,
	changed_at {time} NOT NULL, -- the state
	PRIMARY KEY (tx_hash, output_index),
	CONSTRAINT waiting_has_no_round CHECK ((state = 'waiting') = (round = 0) AND (round = 0) = (depth = 0)),
	CONSTRAINT reversed_has_a_reason CHECK ((state = 'reversed') = (reason <> '') AND (state = 'reversed' OR reversed_by = '')),
	CONSTRAINT height_is_of_a_block CHECK ((block_height IS NULL) = (block_hash IS NULL) AND (block_height IS NOT NULL OR NOT in_chain))
) {keyed};

-- What each new tip is a reason to look at.
CREATE INDEX deposits_waiting ON @deposits (block_height, tx_hash, output_index) WHERE in_chain AND state <> 'credited';
CREATE INDEX deposits_shaken ON @deposits (deep_at, tx_hash, output_index) WHERE state = 'credited';

{no delete deposits}
{insert once deposits: tx_hash, output_index}
{update keys deposits: tx_hash, output_index}

-- What coin selection may look at. It knows neither leases nor maturity: filter
-- utxo_leases by expires_at > CURRENT_TIMESTAMP, and coinbases by height.
CREATE VIEW @spendable_utxos AS
SELECT u.id, u.wallet_id, u.tx_id, t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height,
	t.is_coinbase
FROM @utxos u JOIN @transactions t ON t.id = u.tx_id
WHERE u.spent_by_tx_id IS NULL AND t.status IN ('pending', 'published');

INSERT INTO @settle_versions (version, domain, oldest) VALUES (2, 'wallets', 2);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 2;
DROP VIEW @spendable_utxos;
DROP TABLE @deposits;
DROP TABLE @utxo_leases;
DROP TABLE @tx_replacements;
DROP TABLE @wallet_balances;
DROP TABLE @utxos;
DROP TABLE @tx_inputs;
DROP TABLE @transactions;
DROP TABLE @chain_tip;
DROP TABLE @blocks;
DROP TABLE @wallet_scans;
DROP TABLE @wallet_owners;
DROP TABLE @wallets;
