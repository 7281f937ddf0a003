-- +goose Up

-- What happened to relays, in the source's words. Its order is created_at, then
-- sequence: newest first, the failures at the head are the streak.
CREATE TABLE @activities (
	sequence {id},
	resource_type {text} NOT NULL,
	resource_id {text} NOT NULL,
	activity_type {text} NOT NULL,
	created_at {time} NOT NULL
) {strict};

CREATE INDEX activities_of ON @activities (resource_type, resource_id, created_at, sequence);
CREATE INDEX activities_but_failures ON @activities
	(resource_type, resource_id, created_at, sequence) WHERE activity_type <> 'fail_relay_sync';
CREATE INDEX activities_completed ON @activities
	(resource_id, sequence) WHERE resource_type = 'relay' AND activity_type = 'complete_relay_sync';
CREATE INDEX activities_by_type ON @activities (activity_type, created_at);

{append only activities}
{insert once activities: sequence}

-- A relay with its timer: one due time for each, gone with the relay.
CREATE TABLE @relays (
	id {text} PRIMARY KEY,
	tenant {text} NOT NULL,
	subdomain {text} NOT NULL,
	status {text} NOT NULL CHECK (status IN ('active', 'inactive')),
	info {text} NOT NULL,
	policy {text} NOT NULL,
	groups {text} NOT NULL,
	management {text} NOT NULL,
	push {text} NOT NULL,
	roles {text} NOT NULL,
	blossom_enabled {int} NOT NULL,
	blossom {text} NOT NULL,
	livekit_enabled {int} NOT NULL,
	livekit {text} NOT NULL,
	synced {int} NOT NULL CHECK (synced IN (0, 1)),
	sync_error {text} NOT NULL,
	revision {int} NOT NULL CHECK (revision >= 1),
	recreate {bool} NOT NULL,
	sent {text} NOT NULL, -- the paths that a server may know, as JSON
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL,
	deleted_at {time},
	generation {int} NOT NULL,
	due_at {time}, -- NULL: no timer
	backoff {bool} NOT NULL,
	exhausted {bool} NOT NULL,
	lease_holder {text},
	lease_fence {int} NOT NULL CHECK (lease_fence >= 0),
	lease_until {time},
	claimed_at {time}, -- a sync is under way
	claimed_revision {int} NOT NULL,
	lapses {int} NOT NULL,
	lapsed_fence {int} NOT NULL,
	unanswered_at {time},
	since {time}, -- a sync is owed since then, whatever was tried or changed meanwhile
	CONSTRAINT a_sync_is_leased CHECK ((claimed_at IS NULL) = (lease_holder IS NULL)),
	CONSTRAINT given_up_has_no_timer CHECK (NOT exhausted OR due_at IS NULL AND claimed_at IS NULL),
	CONSTRAINT deleted_has_no_timer CHECK (deleted_at IS NULL OR due_at IS NULL AND claimed_at IS NULL AND NOT exhausted)
) {strict};

CREATE INDEX relays_of_tenant ON @relays (tenant, id) WHERE deleted_at IS NULL;
CREATE INDEX relays_pending ON @relays (id) WHERE synced = 0 OR trim(sync_error) <> '';
CREATE INDEX relays_given_up ON @relays (id) WHERE exhausted;
CREATE INDEX relays_due ON @relays
	((CASE WHEN claimed_at IS NULL THEN due_at ELSE lease_until END), id) WHERE due_at IS NOT NULL OR claimed_at IS NOT NULL;
CREATE INDEX relays_held ON @relays (lease_holder, id) WHERE lease_holder IS NOT NULL;

{no delete relays}
{keys relays: id; rowid}

CREATE TABLE @tenants (
	id {text} PRIMARY KEY,
	method {text} NOT NULL CHECK (method IN ('nwc', 'stripe', 'manual')),
	billing_anchor {time},
	churned_at {time},
	reinstated_at {time},
	since {time}, -- counts instead of reinstated_at, which a clock that was ahead gave
	payment_error {text} NOT NULL,
	notice {text},
	notice_by {text},
	notice_after {time},
	due_at {time}, -- NULL: nothing is owed
	version {int} NOT NULL CHECK (version >= 1),
	created_at {time} NOT NULL
) {strict};

CREATE INDEX tenants_due ON @tenants (due_at, id) WHERE due_at IS NOT NULL;

{no delete tenants}
{keys tenants: id; rowid}

CREATE TABLE @invoices (
	id {text} PRIMARY KEY,
	tenant {text} NOT NULL REFERENCES @tenants (id),
	amount {int} NOT NULL CHECK (amount >= 0), -- what is owed, in base units
	issued {int} NOT NULL DEFAULT -1 CHECK (issued = -1 OR issued >= amount), -- what it was issued for; -1: not known any more
	created_at {time} NOT NULL,
	since {time}, -- counts instead of created_at, which a clock that was ahead gave
	paid_at {time},
	voided_at {time},
	notified_at {time},
	method {text}, -- how it was paid
	payment_error {text} NOT NULL,
	attempts {int} NOT NULL CHECK (attempts >= 0),
	charge {text} NOT NULL CHECK (charge IN ('none', 'open', 'unknown')),
	charge_key {text},
	charge_by {text},
	charge_at {time},
	charge_amount {int} NOT NULL,
	charge_method {text},
	charge_after {time},
	paid_key {text},
	overpaid_at {time},
	overpaid {text}, -- payments to be paid back: charges by number, others as method:id
	repaid {text}, -- those that somebody has acknowledged
	looked_back {time}, -- when a look-up began for what a restored database had forgotten of it
	missed {int} NOT NULL DEFAULT 0 CHECK (missed >= 0), -- charges under its latest key that no look-up found
	notice {text},
	prior_notified_at {time},
	version {int} NOT NULL CHECK (version >= 1),
	CONSTRAINT paid_or_void CHECK (paid_at IS NULL OR voided_at IS NULL),
	CONSTRAINT paid_says_how CHECK ((paid_at IS NULL) = (method IS NULL)),
	CONSTRAINT a_charge_has_its_key CHECK (charge = 'none' OR charge_key IS NOT NULL AND charge_at IS NOT NULL
		AND charge_after IS NOT NULL)
) {strict};

CREATE INDEX invoices_of_tenant ON @invoices (tenant, created_at, id);
CREATE UNIQUE INDEX invoices_out ON @invoices (tenant) WHERE charge <> 'none'; -- one charge at a time
CREATE INDEX invoices_unclear ON @invoices (tenant) WHERE charge = 'unknown' OR overpaid_at IS NOT NULL;
CREATE INDEX invoices_missed ON @invoices (tenant) WHERE missed > 0 AND charge = 'none' AND paid_at IS NULL AND voided_at IS NULL;
CREATE INDEX invoices_live ON @invoices
	(id) WHERE paid_at IS NULL AND voided_at IS NULL OR charge <> 'none' OR overpaid_at IS NOT NULL;

{no delete invoices}
{keys invoices: id; rowid; tenant where charge <> 'none'}

INSERT INTO @settle_versions (version, domain, oldest) VALUES (6, 'relays', 6);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 6;
DROP TABLE @invoices;
DROP TABLE @tenants;
DROP TABLE @relays;
DROP TABLE @activities;
