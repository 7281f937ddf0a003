-- +goose Up
ALTER TABLE @withdrawal_requests ADD COLUMN urgency {int} NOT NULL DEFAULT 0;
ALTER TABLE @withdrawal_queue ADD COLUMN urgent_since {time};

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90003, 'withdrawals', 3);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90003;
ALTER TABLE @withdrawal_queue DROP COLUMN urgent_since;
ALTER TABLE @withdrawal_requests DROP COLUMN urgency;
