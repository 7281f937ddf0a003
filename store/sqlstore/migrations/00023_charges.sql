-- +goose Up

-- What an invoice was issued for, -1 where that is not known any more, and all of
-- its overpayments by the number in their keys, instead of the latest one.
ALTER TABLE @invoices ADD COLUMN issued {int} NOT NULL DEFAULT -1 CHECK (issued = -1 OR issued >= amount);
UPDATE @invoices SET issued = amount WHERE id NOT IN (SELECT t.id FROM @transitions t WHERE t.machine = 'invoice' AND t.trigger = 'amend');
ALTER TABLE @invoices ADD COLUMN overpaid {text}; -- not acknowledged
ALTER TABLE @invoices ADD COLUMN repaid {text}; -- acknowledged
UPDATE @invoices SET overpaid = substr(overpaid_key, length(id) + 2) WHERE overpaid_at IS NOT NULL;
UPDATE @invoices SET repaid = substr(overpaid_key, length(id) + 2) WHERE overpaid_at IS NULL AND overpaid_key IS NOT NULL;
ALTER TABLE @invoices DROP COLUMN overpaid_key;

-- +goose Down

-- The older tables keep one overpayment of an invoice, and not what an amended one
-- was issued for. With more there is no way down.
CREATE TABLE @no_way_down (id {text} CONSTRAINT the_older_tables_cannot_keep_what_is_known_of_this_invoice CHECK (id = ''));
INSERT INTO @no_way_down SELECT id FROM @invoices WHERE overpaid IS NOT NULL AND repaid IS NOT NULL OR issued > amount
	OR length(ltrim(coalesce(overpaid, repaid), '0123456789')) > 0 LIMIT 1;
DROP TABLE @no_way_down;
ALTER TABLE @invoices ADD COLUMN overpaid_key {text};
UPDATE @invoices SET overpaid_key = id || '/' || substr(coalesce(overpaid, repaid), length(rtrim(coalesce(overpaid, repaid), '0123456789')) + 1);
ALTER TABLE @invoices DROP COLUMN repaid;
ALTER TABLE @invoices DROP COLUMN overpaid;
ALTER TABLE @invoices DROP COLUMN issued;
