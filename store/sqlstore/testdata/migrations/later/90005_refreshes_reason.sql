-- +goose Up
ALTER TABLE @refresh_jobs ADD COLUMN reason {text} NOT NULL DEFAULT '';

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90005, 'refreshes', 5);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90005;
ALTER TABLE @refresh_jobs DROP COLUMN reason;
