-- +goose Up

-- Who serves a wallet: the slot is a number that no other wallet has.
CREATE TABLE @refresh_wallets (
	id {uuid} PRIMARY KEY, -- made from xpub_van
	xpub_van {text} NOT NULL UNIQUE CHECK (xpub_van <> ''),
	status {text} NOT NULL CHECK (status IN ('unserved', 'served')),
	work_seq {int} NOT NULL CHECK (work_seq >= 1), -- orders what happened to the wallet: seq and end_seq below are its values
	unserved_since {time},
	slot {int} CHECK (slot >= 1),
	lease_holder {text},
	lease_fence {int} NOT NULL CHECK (lease_fence >= 0),
	lease_until {time},
	hung_rounds {int} NOT NULL CHECK (hung_rounds >= 0),
	not_before {time},
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	CONSTRAINT served_has_a_slot CHECK ((status = 'served') = (slot IS NOT NULL) AND (slot IS NULL) = (lease_holder IS NULL)),
	CONSTRAINT wallet_lease_has_an_end CHECK ((lease_holder IS NULL) = (lease_until IS NULL)),
	CONSTRAINT unserved_waits CHECK ((status = 'unserved') = (unserved_since IS NOT NULL))
) {strict};

CREATE UNIQUE INDEX uniq_refresh_wallets_slot ON @refresh_wallets (slot) WHERE slot IS NOT NULL;
-- What a worker holds, to be given back at once.
CREATE INDEX refresh_wallets_held ON @refresh_wallets (lease_holder, xpub_van) WHERE lease_holder IS NOT NULL;

{no delete refresh_wallets}
{keys or ignore refresh_wallets: id; rowid; xpub_van; slot}

-- Orders to refresh a wallet.
CREATE TABLE @refresh_jobs (
	job_id {uuid} PRIMARY KEY,
	xpub_van {text} NOT NULL REFERENCES @refresh_wallets (xpub_van),
	xpub_col {text} NOT NULL,
	master_fingerprint {text} NOT NULL,
	trigger {text} NOT NULL CHECK (trigger IN ('sync', 'asset_sent', 'invoice_created', 'recovery', 'manual')),
	recipient_id {text},
	asset_id {text},
	status {text} NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
	attempts {int} NOT NULL CHECK (attempts >= 0),
	available_at {time} NOT NULL,
	lease_holder {text},
	lease_fence {int} NOT NULL CHECK (lease_fence >= 0),
	lease_until {time},
	error {text},
	seq {int} NOT NULL CHECK (seq >= 1),
	created_at {time} NOT NULL,
	processed_at {time},
	end_seq {int},
	version {int} NOT NULL CHECK (version >= 1),
	CONSTRAINT invoice_has_a_recipient CHECK (trigger <> 'invoice_created' OR recipient_id IS NOT NULL),
	CONSTRAINT processing_is_leased CHECK ((status = 'processing') = (lease_holder IS NOT NULL)
		AND (lease_holder IS NULL) = (lease_until IS NULL)),
	CONSTRAINT ended_has_processed_at CHECK ((status IN ('completed', 'failed')) = (processed_at IS NOT NULL)
		AND (processed_at IS NULL) = (end_seq IS NULL))
) {strict};

CREATE UNIQUE INDEX uniq_refresh_jobs_recovery ON @refresh_jobs
	(xpub_van) WHERE trigger = 'recovery' AND status IN ('pending', 'processing');
CREATE INDEX refresh_jobs_live ON @refresh_jobs (xpub_van, created_at, job_id) WHERE status IN ('pending', 'processing');
CREATE INDEX refresh_jobs_pending ON @refresh_jobs (xpub_van, available_at) WHERE status = 'pending';
CREATE INDEX refresh_jobs_available ON @refresh_jobs (available_at) WHERE status = 'pending';
CREATE INDEX refresh_jobs_processing ON @refresh_jobs (xpub_van, lease_until) WHERE status = 'processing';
CREATE INDEX refresh_jobs_by_status ON @refresh_jobs (status, created_at, job_id);
CREATE INDEX refresh_jobs_by_wallet ON @refresh_jobs (xpub_van, created_at, job_id);
CREATE INDEX refresh_jobs_failed ON @refresh_jobs (xpub_van) WHERE status = 'failed';
CREATE INDEX refresh_jobs_completed ON @refresh_jobs (xpub_van, seq) WHERE status = 'completed';
CREATE INDEX refresh_jobs_by_age ON @refresh_jobs (created_at, job_id);
CREATE INDEX refresh_jobs_held ON @refresh_jobs (lease_holder, xpub_van) WHERE lease_holder IS NOT NULL;

{no delete refresh_jobs}
{keys or ignore refresh_jobs: job_id; rowid; xpub_van where trigger = 'recovery' AND status IN ('pending', 'processing')}

-- Transfers that are watched. The row is kept, and watches again.
CREATE TABLE @refresh_watchers (
	id {uuid} PRIMARY KEY, -- made from xpub_van and recipient_id
	xpub_van {text} NOT NULL REFERENCES @refresh_wallets (xpub_van),
	xpub_col {text} NOT NULL,
	master_fingerprint {text} NOT NULL,
	recipient_id {text} NOT NULL CHECK (recipient_id <> ''),
	asset_id {text},
	provisional {bool} NOT NULL,
	status {text} NOT NULL CHECK (status IN ('watching', 'settled', 'failed', 'expired')),
	expires_at {time} NOT NULL,
	refresh_count {int} NOT NULL CHECK (refresh_count >= 0),
	next_at {time} NOT NULL,
	cancel_tried {bool} NOT NULL, -- at the expiry; until then all batches are asked for again
	refused {text}, -- the batches of the transfer that the host refuses to cancel
	ended_at {time},
	end_seq {int},
	end_reason {text} CHECK (end_reason IN ('transfer', 'cancelled', 'expired_open', 'expired_gone', 'provisional')),
	last_error {text},
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	UNIQUE (xpub_van, recipient_id),
	CONSTRAINT ended_has_a_reason CHECK ((status = 'watching') = (ended_at IS NULL) AND (ended_at IS NULL) = (end_reason IS NULL)
		AND (ended_at IS NULL) = (end_seq IS NULL)),
	CONSTRAINT provisional_has_no_asset CHECK (NOT provisional OR asset_id IS NULL)
) {strict};

CREATE INDEX refresh_watchers_due ON @refresh_watchers (xpub_van, next_at, recipient_id) WHERE status = 'watching';
CREATE INDEX refresh_watchers_next ON @refresh_watchers (next_at) WHERE status = 'watching';
CREATE INDEX refresh_watchers_expiry ON @refresh_watchers (expires_at) WHERE status = 'watching';
CREATE INDEX refresh_watchers_by_status ON @refresh_watchers (status);
CREATE INDEX refresh_watchers_by_reason ON @refresh_watchers (end_reason, xpub_van, recipient_id) WHERE end_reason IS NOT NULL;

{no delete refresh_watchers}
{keys refresh_watchers: id; rowid; xpub_van, recipient_id}

-- Who may refresh a wallet. A row is deleted by its release, so fences are drawn
-- from a sequence.
CREATE TABLE @wallet_locks (
	xpub_van {text} PRIMARY KEY,
	holder {text} NOT NULL,
	fence {int} NOT NULL CHECK (fence >= 1),
	seq {int} NOT NULL CHECK (seq >= 1),
	locked_at {time} NOT NULL,
	expires_at {time} NOT NULL
) {strict};

CREATE INDEX wallet_locks_expiry ON @wallet_locks (expires_at);

-- {postgres
CREATE SEQUENCE @wallet_lock_fences AS bigint;
-- }
-- {sqlite
CREATE TABLE @wallet_lock_fences (id INTEGER PRIMARY KEY CHECK (id = 1), fence INTEGER NOT NULL) STRICT;
INSERT INTO @wallet_lock_fences VALUES (1, 0);
-- }

INSERT INTO @settle_versions (version, domain, oldest) VALUES (5, 'refreshes', 5);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 5;
DROP TABLE @wallet_locks;
-- {postgres
DROP SEQUENCE @wallet_lock_fences;
-- }
-- {sqlite
DROP TABLE @wallet_lock_fences;
-- }
DROP TABLE @refresh_watchers;
DROP TABLE @refresh_jobs;
DROP TABLE @refresh_wallets;
