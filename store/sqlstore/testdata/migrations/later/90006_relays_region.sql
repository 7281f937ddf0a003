-- +goose Up
ALTER TABLE @relays ADD COLUMN region {text} NOT NULL DEFAULT 'eu';
ALTER TABLE @tenants ADD COLUMN region {text} NOT NULL DEFAULT 'eu';

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90006, 'relays', 6);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90006;
ALTER TABLE @tenants DROP COLUMN region;
ALTER TABLE @relays DROP COLUMN region;
