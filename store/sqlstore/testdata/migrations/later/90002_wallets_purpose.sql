-- +goose Up
ALTER TABLE @transactions ADD COLUMN purpose {text} NOT NULL DEFAULT '';
CREATE INDEX transactions_purpose ON @transactions (purpose) WHERE purpose <> '';

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90002, 'wallets', 2);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90002;
DROP INDEX @transactions_purpose;
ALTER TABLE @transactions DROP COLUMN purpose;
