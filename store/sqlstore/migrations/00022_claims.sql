-- +goose Up

-- A transaction that was filed by hand pays for one item. Of those that were filed
-- for several before, the first keeps it.
ALTER TABLE @swap_intents ADD COLUMN claim {text};
UPDATE @swap_intents SET claim = chain || ' ' || txid WHERE filed AND proof IS NULL AND txid IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM @swap_intents o WHERE o.filed AND o.proof IS NULL AND o.chain = @swap_intents.chain AND o.txid = @swap_intents.txid
	AND (o.at < @swap_intents.at OR o.at = @swap_intents.at AND (o.direction < @swap_intents.direction OR o.direction = @swap_intents.direction AND (o.item < @swap_intents.item
	OR o.item = @swap_intents.item AND o.number < @swap_intents.number))));
CREATE UNIQUE INDEX swap_intents_claim ON @swap_intents (claim) WHERE claim IS NOT NULL;
-- {sqlite
DROP TRIGGER keep_swap_intents_INSERT;
DROP TRIGGER keep_swap_intents_KEYS;
-- }
{keys swap_intents: direction, item, number; rowid; reference; signature; claim}

-- Up to when a history was read, which an old item does not hold back.
ALTER TABLE @swap_waterlines ADD COLUMN seen {time};

-- +goose Down
ALTER TABLE @swap_waterlines DROP COLUMN seen;
-- {sqlite
DROP TRIGGER keep_swap_intents_INSERT;
DROP TRIGGER keep_swap_intents_KEYS;
-- }
-- What was filed is found by its signature there. Of several items with one
-- transaction, who claims it is found.
UPDATE @swap_intents SET signature = txid WHERE chain = 'solana' AND filed AND signature IS NULL AND claim IS NOT NULL
	AND NOT EXISTS (SELECT 1 FROM @swap_intents o WHERE o.signature = @swap_intents.txid);
UPDATE @swap_intents SET signature = txid WHERE chain = 'solana' AND filed AND signature IS NULL
	AND NOT EXISTS (SELECT 1 FROM @swap_intents o WHERE o.signature = @swap_intents.txid OR o.chain = 'solana' AND o.filed AND o.txid = @swap_intents.txid
	AND (o.direction < @swap_intents.direction OR o.direction = @swap_intents.direction AND (o.item < @swap_intents.item OR o.item = @swap_intents.item AND o.number < @swap_intents.number)));
{keys swap_intents: direction, item, number; rowid; reference; signature}
DROP INDEX @swap_intents_claim;
ALTER TABLE @swap_intents DROP COLUMN claim;
