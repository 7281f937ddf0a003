-- +goose Up

-- Up to when every outbound of an item is on file, instead of a flag that only a
-- new item had: a restored store compares it with its own loss.
ALTER TABLE @unprocessed_sigs ADD COLUMN looked_back {time};
UPDATE @unprocessed_sigs SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @unprocessed_sigs DROP COLUMN unscanned;
ALTER TABLE @processed_sigs ADD COLUMN looked_back {time};
UPDATE @processed_sigs SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @processed_sigs DROP COLUMN unscanned;
ALTER TABLE @refunded_sigs ADD COLUMN looked_back {time};
UPDATE @refunded_sigs SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @refunded_sigs DROP COLUMN unscanned;
ALTER TABLE @quarantined_sigs ADD COLUMN looked_back {time};
UPDATE @quarantined_sigs SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @quarantined_sigs DROP COLUMN unscanned;
ALTER TABLE @unprocessed_txids ADD COLUMN looked_back {time};
UPDATE @unprocessed_txids SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @unprocessed_txids DROP COLUMN unscanned;
ALTER TABLE @processed_txids ADD COLUMN looked_back {time};
UPDATE @processed_txids SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @processed_txids DROP COLUMN unscanned;
ALTER TABLE @refunded_txids ADD COLUMN looked_back {time};
UPDATE @refunded_txids SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @refunded_txids DROP COLUMN unscanned;
ALTER TABLE @quarantined_txids ADD COLUMN looked_back {time};
UPDATE @quarantined_txids SET looked_back = stored_at WHERE NOT unscanned;
ALTER TABLE @quarantined_txids DROP COLUMN unscanned;

-- One transaction is one intent's.
CREATE UNIQUE INDEX swap_intents_signature ON @swap_intents (signature) WHERE signature IS NOT NULL;
-- {sqlite
DROP TRIGGER keep_swap_intents_INSERT;
DROP TRIGGER keep_swap_intents_KEYS;
-- }
{keys swap_intents: direction, item, number; rowid; reference; signature}

-- +goose Down
-- {sqlite
DROP TRIGGER keep_swap_intents_INSERT;
DROP TRIGGER keep_swap_intents_KEYS;
-- }
{keys swap_intents: direction, item, number; rowid; reference}
DROP INDEX @swap_intents_signature;
ALTER TABLE @unprocessed_sigs ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @unprocessed_sigs SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @unprocessed_sigs DROP COLUMN looked_back;
ALTER TABLE @processed_sigs ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @processed_sigs SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @processed_sigs DROP COLUMN looked_back;
ALTER TABLE @refunded_sigs ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @refunded_sigs SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @refunded_sigs DROP COLUMN looked_back;
ALTER TABLE @quarantined_sigs ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @quarantined_sigs SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @quarantined_sigs DROP COLUMN looked_back;
ALTER TABLE @unprocessed_txids ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @unprocessed_txids SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @unprocessed_txids DROP COLUMN looked_back;
ALTER TABLE @processed_txids ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @processed_txids SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @processed_txids DROP COLUMN looked_back;
ALTER TABLE @refunded_txids ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @refunded_txids SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @refunded_txids DROP COLUMN looked_back;
ALTER TABLE @quarantined_txids ADD COLUMN unscanned {bool} NOT NULL DEFAULT FALSE;
UPDATE @quarantined_txids SET unscanned = TRUE WHERE looked_back IS NULL;
ALTER TABLE @quarantined_txids DROP COLUMN looked_back;
