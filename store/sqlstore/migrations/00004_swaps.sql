-- +goose Up

-- The eight tables of the source, with its columns and ours beside them. An item
-- is in exactly one of the four of its direction; moving is one commit. timestamp
-- is the item's own time in unix seconds, of a quarantined one the time of its
-- quarantine. What shows an outbound (txid, sig, refund_sig, ...) is written with
-- the item and never read: the intents are below.
--
-- The block below is our columns, the same in all of them. looked_back is the generation
-- of swap_control in which every outbound of the item was on file. by_hand is an operator's word that the amount was given back outside.
-- {item
	from_address {text}, item_time {int} NOT NULL, stored_at {time} NOT NULL, entered {time} NOT NULL,
	version {int} NOT NULL CHECK (version >= 1),
	terms_frozen {bool} NOT NULL, terms_net {int} NOT NULL, terms_fee {int} NOT NULL,
	terms_min {int} NOT NULL,
	tried {bool} NOT NULL, account_checked {bool} NOT NULL, send_attempts {int} NOT NULL CHECK (send_attempts >= 0),
	refund_attempts {int} NOT NULL CHECK (refund_attempts >= 0), quarantine_attempts {int} NOT NULL CHECK (quarantine_attempts >= 0),
	fee_units {int} NOT NULL CHECK (fee_units >= 0), refund_reason {text}, hold_kind {text}, hold_at {time}, hold_reason {text},
	stood {int} NOT NULL,
	looked_back {int} NOT NULL CHECK (looked_back >= 0), lost {int} NOT NULL, overdue_at {time},
	by_hand_reference {text}, by_hand_actor {text}, by_hand_at {time},
	lease_holder {text}, lease_fence {int} NOT NULL CHECK (lease_fence >= 0), lease_until {time}, check_at {time},
	CHECK ((hold_kind IS NULL) = (hold_at IS NULL)),
	CHECK ((by_hand_at IS NULL) = (by_hand_reference IS NULL)), CHECK ((by_hand_at IS NULL) = (by_hand_actor IS NULL)),
	CHECK (lease_holder IS NULL OR lease_until IS NOT NULL)
-- }

CREATE TABLE @unprocessed_sigs (
	sig {text} PRIMARY KEY, timestamp {int} NOT NULL, memo {text} NOT NULL,
	amount_usdc_units {int} NOT NULL CHECK (amount_usdc_units > 0),
	status {text} CHECK (status IN ('ready for processing', 'debited, awaiting confirmation', 'to be refunded',
		'refund sent, awaiting confirmation', 'to be quarantined', 'quarantine failed')), -- NULL: detected
	txid {text}, memo_read {bool} NOT NULL,
	{item}
) {strict};
CREATE INDEX unprocessed_sigs_due ON @unprocessed_sigs (item_time, sig) WHERE check_at IS NOT NULL;
CREATE INDEX unprocessed_sigs_next ON @unprocessed_sigs
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX unprocessed_sigs_held ON @unprocessed_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;

CREATE TABLE @processed_sigs (
	sig {text} PRIMARY KEY, timestamp {int} NOT NULL, memo {text} NOT NULL,
	amount_usdc_units {int} NOT NULL CHECK (amount_usdc_units > 0),
	status {text} CHECK (status IS NOT NULL AND status IN ('debit_confirmed', 'processed', 'processed, amount after fees <= 0')),
	txid {text}, amount_usdd {text}, reference {int}, memo_read {bool} NOT NULL,
	{item}
) {strict};
CREATE INDEX processed_sigs_due ON @processed_sigs (item_time, sig) WHERE check_at IS NOT NULL;
CREATE INDEX processed_sigs_next ON @processed_sigs
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX processed_sigs_held ON @processed_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX processed_sigs_entered ON @processed_sigs (entered);
CREATE INDEX processed_sigs_overdue ON @processed_sigs (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX processed_sigs_by_hand ON @processed_sigs (by_hand_at) WHERE by_hand_at IS NOT NULL;

CREATE TABLE @refunded_sigs (
	sig {text} PRIMARY KEY, timestamp {int} NOT NULL, memo {text} NOT NULL,
	amount_usdc_units {int} NOT NULL CHECK (amount_usdc_units > 0),
	status {text} CHECK (status IS NOT NULL AND status = 'refund_confirmed'),
	txid {text}, refund_sig {text}, refunded_units {int}, memo_read {bool} NOT NULL,
	{item}
) {strict};
CREATE INDEX refunded_sigs_due ON @refunded_sigs (item_time, sig) WHERE check_at IS NOT NULL;
CREATE INDEX refunded_sigs_next ON @refunded_sigs
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX refunded_sigs_held ON @refunded_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX refunded_sigs_entered ON @refunded_sigs (entered);
CREATE INDEX refunded_sigs_overdue ON @refunded_sigs (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX refunded_sigs_by_hand ON @refunded_sigs (by_hand_at) WHERE by_hand_at IS NOT NULL;

CREATE TABLE @quarantined_sigs (
	sig {text} PRIMARY KEY, timestamp {int} NOT NULL, memo {text} NOT NULL,
	amount_usdc_units {int} NOT NULL CHECK (amount_usdc_units > 0),
	status {text} CHECK (status IS NOT NULL AND status IN ('quarantine sent, awaiting confirmation', 'quarantine_confirmed')),
	txid {text}, quarantine_sig {text}, quarantined_units {int}, memo_read {bool} NOT NULL,
	{item}
) {strict};
CREATE INDEX quarantined_sigs_due ON @quarantined_sigs (item_time, sig) WHERE check_at IS NOT NULL;
CREATE INDEX quarantined_sigs_next ON @quarantined_sigs
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX quarantined_sigs_held ON @quarantined_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX quarantined_sigs_entered ON @quarantined_sigs (entered);
CREATE INDEX quarantined_sigs_overdue ON @quarantined_sigs (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX quarantined_sigs_by_hand ON @quarantined_sigs (by_hand_at) WHERE by_hand_at IS NOT NULL;

CREATE TABLE @unprocessed_txids (
	txid {text} PRIMARY KEY, timestamp {int} NOT NULL, amount_usdd {text} NOT NULL,
	amount_usdd_units {int} NOT NULL CHECK (amount_usdd_units > 0),
	to_address {text} NOT NULL, owner_from_address {text} NOT NULL, confirmations_credit {int} NOT NULL, receival_account {text},
	status {text} NOT NULL CHECK (status IN ('pending_receival', 'ready for processing', 'sending',
		'sig created, awaiting confirmations', 'refund pending', 'trade balance to be checked', 'collecting refund')),
	counted_at {time}, gone_at {time}, collecting {bool} NOT NULL, settled_by {int} NOT NULL,
	{item}
) {strict};
CREATE INDEX unprocessed_txids_due ON @unprocessed_txids (item_time, txid) WHERE check_at IS NOT NULL;
CREATE INDEX unprocessed_txids_next ON @unprocessed_txids
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX unprocessed_txids_held ON @unprocessed_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;

CREATE TABLE @processed_txids (
	txid {text} PRIMARY KEY, timestamp {int} NOT NULL, amount_usdd {text} NOT NULL,
	amount_usdd_units {int} NOT NULL CHECK (amount_usdd_units > 0),
	to_address {text} NOT NULL, owner {text} NOT NULL, confirmations_credit {int} NOT NULL, receival_account {text},
	status {text} NOT NULL CHECK (status IN ('processed', 'processed as fees')),
	sig {text}, counted_at {time}, gone_at {time}, collecting {bool} NOT NULL, settled_by {int} NOT NULL,
	{item}
) {strict};
CREATE INDEX processed_txids_due ON @processed_txids (item_time, txid) WHERE check_at IS NOT NULL;
CREATE INDEX processed_txids_next ON @processed_txids
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX processed_txids_held ON @processed_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;
CREATE INDEX processed_txids_entered ON @processed_txids (entered);
CREATE INDEX processed_txids_overdue ON @processed_txids (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX processed_txids_by_hand ON @processed_txids (by_hand_at) WHERE by_hand_at IS NOT NULL;

CREATE TABLE @refunded_txids (
	txid {text} PRIMARY KEY, timestamp {int} NOT NULL, amount_usdd {text} NOT NULL,
	amount_usdd_units {int} NOT NULL CHECK (amount_usdd_units > 0),
	to_address {text} NOT NULL, owner_from_address {text} NOT NULL, confirmations_credit {int} NOT NULL, receival_account {text},
	status {text} NOT NULL CHECK (status = 'refunded'),
	sig {text}, counted_at {time}, gone_at {time}, collecting {bool} NOT NULL, settled_by {int} NOT NULL,
	{item}
) {strict};
CREATE INDEX refunded_txids_due ON @refunded_txids (item_time, txid) WHERE check_at IS NOT NULL;
CREATE INDEX refunded_txids_next ON @refunded_txids
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX refunded_txids_held ON @refunded_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;
CREATE INDEX refunded_txids_entered ON @refunded_txids (entered);
CREATE INDEX refunded_txids_overdue ON @refunded_txids (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX refunded_txids_by_hand ON @refunded_txids (by_hand_at) WHERE by_hand_at IS NOT NULL;

CREATE TABLE @quarantined_txids (
	txid {text} PRIMARY KEY, timestamp {int} NOT NULL, amount_usdd {text} NOT NULL,
	amount_usdd_units {int} NOT NULL CHECK (amount_usdd_units > 0),
	to_address {text} NOT NULL, owner {text} NOT NULL, confirmations_credit {int} NOT NULL, receival_account {text},
	status {text} NOT NULL CHECK (status = 'quarantined'),
	sig {text}, counted_at {time}, gone_at {time}, collecting {bool} NOT NULL, settled_by {int} NOT NULL,
	{item}
) {strict};
CREATE INDEX quarantined_txids_due ON @quarantined_txids (item_time, txid) WHERE check_at IS NOT NULL;
CREATE INDEX quarantined_txids_next ON @quarantined_txids
	((CASE WHEN lease_holder IS NOT NULL AND lease_until > check_at THEN lease_until ELSE check_at END)) WHERE check_at IS NOT NULL;
CREATE INDEX quarantined_txids_held ON @quarantined_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;
CREATE INDEX quarantined_txids_entered ON @quarantined_txids (entered);
CREATE INDEX quarantined_txids_overdue ON @quarantined_txids (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX quarantined_txids_by_hand ON @quarantined_txids (by_hand_at) WHERE by_hand_at IS NOT NULL;

-- Every outbound, on file before it is sent.
CREATE TABLE @swap_intents (
	direction {text} NOT NULL CHECK (direction IN ('deposit', 'credit')), item {text} NOT NULL,
	number {int} NOT NULL CHECK (number >= 1),
	action {text} NOT NULL CHECK (action IN ('send', 'refund', 'quarantine')), attempt {int} NOT NULL,
	chain {text} NOT NULL CHECK (chain IN ('solana', 'nexus')),
	reference {int} CHECK (reference > 0), memo {text}, destination {text}, net_units {int} NOT NULL CHECK (net_units > 0),
	fee_units {int} NOT NULL CHECK (fee_units >= 0),
	signature {text}, raw_tx {bytes} NOT NULL, last_valid {int} NOT NULL, at {time} NOT NULL, filed {bool} NOT NULL,
	send_by {time} NOT NULL, outcome {text} CHECK (outcome IN ('done', 'failed', 'unknown', 'deferred')), txid {text},
	proof {text} CHECK (proof IN ('complete negative', 'landed with an error', 'operator')), is_final {bool} NOT NULL,
	closed_at {time},
	claim {text}, -- the chain and transaction that a person has filed for it
	seen_at {time}, -- of the latest word that it went out: a look-up that was asked before denies nothing
	missed {int} NOT NULL CHECK (missed >= 0), -- nanoseconds that look-ups in a row have seen to pass without it, the last one asked at
	missed_at {time} NOT NULL,
	PRIMARY KEY (direction, item, number),
	CHECK (proof IS NULL OR outcome IN ('failed', 'deferred')),
	CONSTRAINT a_proof_has_an_outcome CHECK (proof IS NULL OR outcome IS NOT NULL), -- nobody has said yet that it failed
	CHECK (NOT is_final OR outcome = 'done' AND outcome IS NOT NULL)
) {strict};
CREATE UNIQUE INDEX swap_intents_reference ON @swap_intents (reference) WHERE reference IS NOT NULL;
-- One transaction is one intent's, and one that was filed by hand pays for one item.
CREATE UNIQUE INDEX swap_intents_signature ON @swap_intents (signature) WHERE signature IS NOT NULL;
CREATE UNIQUE INDEX swap_intents_claim ON @swap_intents (claim) WHERE claim IS NOT NULL;
{no delete swap_intents}
{keys swap_intents: direction, item, number; rowid; reference; signature; claim}

CREATE TABLE @swap_discrepancies (
	n {id}, -- order of discovery
	direction {text} NOT NULL, item {text} NOT NULL, kind {text} NOT NULL, key {text} NOT NULL, chain {text}, txid {text},
	amount_units {int} NOT NULL, other_units {int} NOT NULL, description {text} NOT NULL, actor {text} NOT NULL, at {time} NOT NULL,
	closed_by {text}, closed_at {time}, firm {bool} NOT NULL,
	UNIQUE (direction, item, kind, key),
	CHECK ((closed_by IS NULL) = (closed_at IS NULL))
) {strict};
CREATE INDEX swap_discrepancies_open ON @swap_discrepancies (n) WHERE closed_by IS NULL;
{no delete swap_discrepancies}
{keys or ignore swap_discrepancies: n; rowid; direction, item, kind, key}

CREATE TABLE @swap_waterlines (
	chain {text} NOT NULL CHECK (chain IN ('solana', 'nexus')), own {bool} NOT NULL, at {time} NOT NULL,
	version {int} NOT NULL CHECK (version >= 1),
	seen {time}, -- up to when the history was read, which an old item does not hold back
	PRIMARY KEY (chain, own)
) {keyed};
{no delete swap_waterlines}
{keys swap_waterlines: chain, own}

-- One row: the scans of the vault's own history, and the last reference
-- number that was drawn.
CREATE TABLE @swap_control (
	id {int} PRIMARY KEY CHECK (id = 1), generation {int} NOT NULL CHECK (generation >= 0), recovered_at {time},
	solana_scanned {bool} NOT NULL, nexus_scanned {bool} NOT NULL, -- in this generation
	missing_said {time}, books_read {time}, reference {int} NOT NULL CHECK (reference >= 0),
	version {int} NOT NULL
) {strict};
INSERT INTO @swap_control (id, generation, solana_scanned, nexus_scanned, reference, version) VALUES (1, 0, FALSE, FALSE, 0, 0);
{no delete swap_control}
{keys swap_control: id; rowid}

INSERT INTO @settle_versions (version, domain, oldest) VALUES (4, 'swaps', 4);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 4;
DROP TABLE @swap_control;
DROP TABLE @swap_waterlines;
DROP TABLE @swap_discrepancies;
DROP TABLE @swap_intents;
DROP TABLE @quarantined_txids;
DROP TABLE @refunded_txids;
DROP TABLE @processed_txids;
DROP TABLE @unprocessed_txids;
DROP TABLE @quarantined_sigs;
DROP TABLE @refunded_sigs;
DROP TABLE @processed_sigs;
DROP TABLE @unprocessed_sigs;
