-- +goose Up

-- A person's reference number that an older version followed would leave none to
-- draw. The counter goes back to the last one that the house drew, and nothing goes
-- out before the vault's own history on Nexus was read from its beginning: it says
-- what else was drawn.
-- {postgres
UPDATE @swap_waterlines SET at = '1970-01-01 00:00:00+00', seen = NULL, version = version + 1 WHERE chain = 'nexus' AND own
	AND EXISTS (SELECT 1 FROM @swap_control c WHERE c.reference > 2305843009213693952);
-- }
-- {sqlite
UPDATE swap_waterlines SET at = '1970-01-01 00:00:00.000000', seen = NULL, version = version + 1 WHERE chain = 'nexus' AND own
	AND EXISTS (SELECT 1 FROM swap_control c WHERE c.reference > 2305843009213693952);
-- }
UPDATE @swap_control SET reference = coalesce((SELECT max(i.reference) FROM @swap_intents i WHERE i.reference <= 2305843009213693952), 0),
	nexus_scanned = NULL, version = version + 1 WHERE reference > 2305843009213693952;

-- +goose Down
SELECT 1; -- a counter that is right stays
