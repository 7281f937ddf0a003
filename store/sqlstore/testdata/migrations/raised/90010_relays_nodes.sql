-- +goose Up
ALTER TABLE @relays RENAME COLUMN subdomain TO node;

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90010, 'relays', 90010);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90010;
ALTER TABLE @relays RENAME COLUMN node TO subdomain;
