-- +goose Up
ALTER TABLE @transitions ADD COLUMN shard {text} NOT NULL DEFAULT '';

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90001, 'shared', 1);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90001;
ALTER TABLE @transitions DROP COLUMN shard;
