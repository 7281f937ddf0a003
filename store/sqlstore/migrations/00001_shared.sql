-- +goose Up

-- {postgres
-- +goose StatementBegin
CREATE FUNCTION @settle_keep() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
	RAISE EXCEPTION ''% keeps its history: no %'', TG_TABLE_NAME, TG_OP USING ERRCODE = ''restrict_violation'';
END';
-- +goose StatementEnd
-- }

-- The migrations that were run, of every domain. Binaries that know at least the
-- migration oldest of a domain may use the tables that the migration leaves behind,
-- so that old ones and new ones work on one database. Every migration ends with its
-- row, and its Down deletes it.
CREATE TABLE @settle_versions (
	version {int} PRIMARY KEY CHECK (version >= 1),
	domain {text} NOT NULL,
	oldest {int} NOT NULL CHECK (oldest BETWEEN 1 AND version)
) {strict};

-- The audit trail of every machine: one row for each version of each record.
CREATE TABLE @transitions (
	n {count}, -- order of writing
	-- On PostgreSQL, where several transactions write at once, rows become
	-- visible in the order of neither n nor their transactions. horizon is the
	-- number of the transaction, or the horizon of the previous version if that
	-- is greater: no row joins those below the oldest running transaction.
	horizon {int} NOT NULL,
	machine {text} NOT NULL,
	id {text} NOT NULL,
	version {int} NOT NULL CHECK (version >= 1),
	from_status {text} NOT NULL, -- empty at creation
	trigger {text} NOT NULL,
	to_status {text} NOT NULL,
	at {time} NOT NULL,
	actor {text} NOT NULL,
	role {text} NOT NULL DEFAULT '', -- in which the actor spoke; empty where it has none
	trace {text} NOT NULL DEFAULT '', -- what the host calls the request or run that the event belongs to
	reason {text} NOT NULL,
	data {text} NOT NULL, -- JSON, or empty
-- {sqlite
	UNIQUE (machine, id, version), -- the primary key; SQLite counts up only that of one column
-- }
-- {postgres
	PRIMARY KEY (machine, id, version),
-- }
	CHECK ((version = 1) = (from_status = ''))
) {strict};

-- {postgres
CREATE UNIQUE INDEX transitions_feed ON @transitions (horizon, n);
-- }

{append only transitions but reason, data of machine, id}
{insert once transitions: n; machine, id, version}

-- The journal: what people did and tried in every domain, refused or not.
CREATE TABLE @settle_journal (
	n {count}, -- order of writing
	horizon {int} NOT NULL, -- as that of transitions
	at {time} NOT NULL,
	actor {text} NOT NULL,
	role {text} NOT NULL CHECK (role IN ('operator', 'approver')),
	domain {text} NOT NULL CHECK (domain <> ''),
	machine {text} NOT NULL CHECK (machine <> ''), -- with id the record that was spoken of
	id {text} NOT NULL,
	version {int} NOT NULL CHECK (version >= 0), -- that the person had seen; 0 if she did not say
	event {text} NOT NULL CHECK (event <> ''),
	outcome {text} NOT NULL CHECK (outcome <> ''), -- done, already so, or the code of the refusal
	error {text} NOT NULL, -- the sentence of a refusal
	via {text} NOT NULL, -- the program through which the person spoke
-- {sqlite
	trace {text} NOT NULL
-- }
-- {postgres
	trace {text} NOT NULL,
	PRIMARY KEY (horizon, n)
-- }
) {strict};

{append only settle_journal but error of machine, id}
{insert once settle_journal: n}

-- Where the database is, and how often it was put back: one row when the tables are made, one
-- for each restore that somebody has told. The last one counts.
CREATE TABLE @settle_places (
	n {int} PRIMARY KEY CHECK (n >= 1),
	generation {int} NOT NULL CHECK (generation >= 0), -- how often it was put back with something lost
	lines {int} NOT NULL, -- n of the last transition of the generation before
	base {int} NOT NULL, -- what is added to the number of a transaction where it becomes a horizon
	system {text} NOT NULL, -- of the server, by pg_control_system; empty: not known
	timeline {int} NOT NULL, -- of the server's log; 0: not known
	relation {int} NOT NULL, -- the object identifier of transitions, which a dump does not keep
	lost_at {time}, -- when, as the person says
	at {time},
	actor {text} NOT NULL,
	reason {text} NOT NULL
) {strict};

{append only settle_places}
{insert once settle_places: n; rowid}

-- {sqlite
INSERT INTO @settle_places VALUES (1, 0, 0, 0, '', 0, 0, NULL, NULL, '', 'the tables were made');
-- }
-- {postgres
-- What names this server. A role that may not call one of the functions compares less.
-- +goose StatementBegin
CREATE FUNCTION @settle_server(OUT system text, OUT timeline bigint, OUT relation bigint) LANGUAGE plpgsql STABLE AS '
BEGIN
	system := '''';
	timeline := 0;
	relation := to_regclass(''@transitions'')::oid::bigint;
	IF has_function_privilege(''pg_control_system()'', ''EXECUTE'') THEN
		SELECT c.system_identifier::text INTO system FROM pg_control_system() c;
	END IF;
	IF NOT pg_is_in_recovery() AND has_function_privilege(''pg_current_wal_insert_lsn()'', ''EXECUTE'')
		AND has_function_privilege(''pg_walfile_name(pg_lsn)'', ''EXECUTE'') THEN
		timeline := (''x'' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
	END IF;
END';
-- +goose StatementEnd

-- Whether the database is not where the last row of settle_places says: another server holds it,
-- a dump was loaded, or a standby has taken over. A timeline that went up is none of these
-- where lossless says that a promotion loses nothing.
-- +goose StatementBegin
CREATE FUNCTION @settle_moved(lossless boolean) RETURNS boolean LANGUAGE plpgsql STABLE AS '
DECLARE
	was @settle_places;
	here record;
BEGIN
	SELECT p.* INTO was FROM @settle_places p ORDER BY p.n DESC LIMIT 1;
	SELECT s.* INTO here FROM @settle_server() s;
	RETURN was.relation <> here.relation
		OR (was.system <> '''' AND here.system <> '''' AND was.system <> here.system)
		OR (was.timeline <> 0 AND here.timeline <> 0 AND was.timeline <> here.timeline AND NOT (lossless AND here.timeline > was.timeline));
END';
-- +goose StatementEnd
INSERT INTO @settle_places SELECT 1, 0, 0, 0, s.system, s.timeline, s.relation, NULL, NULL, '', 'the tables were made' FROM @settle_server() s;
-- }

-- Consumers of package follow: how far each has come in the log.
CREATE TABLE @settle_consumers (
	name {text} PRIMARY KEY,
	machines {text} NOT NULL, -- whose lines it is given, sorted, with blanks between
	cursor {text} NOT NULL, -- of the last line that it is done with; empty: none
	lease_fence {int} NOT NULL CHECK (lease_fence > 0), -- counts the processes that have held the lease
	lease_until {time} NOT NULL,
	stopped {bool} NOT NULL, -- at the line behind the cursor, which failed alone
	error {text} NOT NULL, -- of the last line that failed alone; empty once a line was done
	failed_at {time},
	late {int} NOT NULL CHECK (late >= 0) -- how often the lease has ended before a commit since the last one
) {strict};

-- Lines that a consumer goes on without: one that failed, and the later ones of its
-- aggregate. Of package follow's deposits each is an aggregate of its own, without a line.
CREATE TABLE @settle_parked (
	consumer {text} NOT NULL REFERENCES @settle_consumers (name),
	n {int} NOT NULL, -- their order
	machine {text} NOT NULL,
	id {text} NOT NULL,
	version {int} NOT NULL,
	aggregate {text} NOT NULL,
	parked_at {time} NOT NULL,
	tries {int} NOT NULL,
	error {text} NOT NULL,
	next_try {time} NOT NULL,
	PRIMARY KEY (consumer, n),
	UNIQUE (consumer, machine, id, version)
) {strict};
CREATE INDEX settle_parked_aggregates ON @settle_parked (consumer, aggregate, n);

-- The lives of workers, see package processes: which binaries work here, and by which policies.
CREATE TABLE @settle_processes (
	domain {text} NOT NULL CHECK (domain <> ''),
	name {text} NOT NULL CHECK (name <> ''), -- the holder of the worker's leases
	version {text} NOT NULL, -- of the binary
	policy {text} NOT NULL CHECK (policy <> ''), -- its digest
	first_seen {time} NOT NULL,
	last_seen {time} NOT NULL,
	PRIMARY KEY (domain, name, version, policy)
) {strict};

-- What is stopped, and how far: see package switches. A scope without a row runs.
CREATE TABLE @settle_switches (
	scope {text} PRIMARY KEY,
	level {text} NOT NULL CHECK (level IN ('on', 'begin', 'all', 'send')), -- a person's
	actor {text},
	reason {text},
	since {time},
	recovering {bool} NOT NULL,
	recovery {text} CHECK (recovery IN ('begin', 'all', 'send')), -- the level meanwhile
	generation {int} NOT NULL CHECK (generation >= 0), -- of the database in which these two were written
	recovered_at {time}, -- when the recovery of the scope was last said or ended
	version {int} NOT NULL CHECK (version >= 1),
	CHECK (recovering = (recovery IS NOT NULL)),
	CHECK (level = 'on' OR actor IS NOT NULL)
) {strict};

{no delete settle_switches}
{keys settle_switches: scope; rowid}

-- {postgres
-- A transaction that begins a payment calls settle_ask. The function takes the locks of everything
-- and of the scope, shared, until the transaction ends. After a stop is committed, Switches.Quiet
-- tries the same lock exclusively, to learn whether such transactions are still open. In READ
-- COMMITTED each statement of this function has a snapshot of its own, so the rows are read after
-- the locks were taken. Where the database is not where it was, one more row says so.
-- +goose StatementBegin
CREATE FUNCTION @settle_ask(asked text, lossless boolean) RETURNS SETOF @settle_switches LANGUAGE plpgsql VOLATILE AS '
DECLARE
	moved @settle_switches; -- a later migration may give the table more columns
BEGIN
	PERFORM pg_advisory_xact_lock_shared(hashtextextended(''@settle_switches everything'', 0));
	PERFORM pg_advisory_xact_lock_shared(hashtextextended(''@settle_switches '' || asked, 0));
	RETURN QUERY SELECT s.* FROM @settle_switches s WHERE s.scope IN (''everything'', asked);
	IF @settle_moved(lossless) THEN
		moved.scope := ''moved'';
		moved.level := ''on'';
		moved.recovering := true;
		moved.recovery := ''send'';
		moved.generation := 0;
		moved.version := 1;
		RETURN NEXT moved;
	END IF;
END';
-- +goose StatementEnd
-- }

INSERT INTO @settle_versions (version, domain, oldest) VALUES (1, 'shared', 1);

-- +goose Down
-- {postgres
DROP FUNCTION @settle_ask(text, boolean);
-- }
DROP TABLE @settle_switches;
DROP TABLE @settle_processes;
DROP TABLE @settle_parked;
DROP TABLE @settle_consumers;
-- {postgres
DROP FUNCTION @settle_moved(boolean);
DROP FUNCTION @settle_server();
-- }
DROP TABLE @settle_places;
DROP TABLE @settle_journal;
DROP TABLE @transitions;
DROP TABLE @settle_versions;
-- {postgres
DROP FUNCTION @settle_keep();
-- }
