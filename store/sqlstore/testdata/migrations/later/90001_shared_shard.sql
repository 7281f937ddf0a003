-- +goose Up
ALTER TABLE @transitions ADD COLUMN shard {text} NOT NULL DEFAULT '';
ALTER TABLE @settle_journal ADD COLUMN shard {text} NOT NULL DEFAULT '';
ALTER TABLE @settle_places ADD COLUMN shard {text} NOT NULL DEFAULT '';
ALTER TABLE @settle_consumers ADD COLUMN shard {text} NOT NULL DEFAULT '';
ALTER TABLE @settle_parked ADD COLUMN shard {text} NOT NULL DEFAULT '';
ALTER TABLE @settle_processes ADD COLUMN shard {text} NOT NULL DEFAULT '';
ALTER TABLE @settle_switches ADD COLUMN shard {text} NOT NULL DEFAULT '';

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90001, 'shared', 1);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90001;
ALTER TABLE @settle_switches DROP COLUMN shard;
ALTER TABLE @settle_processes DROP COLUMN shard;
ALTER TABLE @settle_parked DROP COLUMN shard;
ALTER TABLE @settle_consumers DROP COLUMN shard;
ALTER TABLE @settle_places DROP COLUMN shard;
ALTER TABLE @settle_journal DROP COLUMN shard;
ALTER TABLE @transitions DROP COLUMN shard;
