-- +goose Up

-- When a look-up began for what a restored database had forgotten of an invoice, and
-- how many charges under its latest key never arrived.
ALTER TABLE @invoices ADD COLUMN looked_back {time};
ALTER TABLE @invoices ADD COLUMN missed {int} NOT NULL DEFAULT 0 CHECK (missed >= 0);

-- +goose Down

ALTER TABLE @invoices DROP COLUMN missed;
ALTER TABLE @invoices DROP COLUMN looked_back;
