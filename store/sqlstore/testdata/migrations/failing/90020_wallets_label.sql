-- +goose Up
ALTER TABLE @transactions ADD COLUMN kind {text} NOT NULL DEFAULT '';
UPDATE @transactions SET kind = status;

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90020, 'wallets', 2);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90020;
ALTER TABLE @transactions DROP COLUMN kind;
