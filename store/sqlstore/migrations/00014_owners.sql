-- +goose Up

-- A wallet that is scanned to the tip follows it; then scanned_to says nothing.
-- {sqlite
ALTER TABLE wallets ADD COLUMN follows_tip INTEGER NOT NULL DEFAULT 0;
-- }
-- {postgres
ALTER TABLE @wallets ADD COLUMN follows_tip boolean NOT NULL DEFAULT false;
-- }
ALTER TABLE @wallets ADD COLUMN announced {int} NOT NULL DEFAULT 0; -- late owners, see wallet_owners

-- Owners that were announced to a wallet, for ever, with the first height that
-- can hold one of their coins, and the announcement that they are scanned with.
CREATE TABLE @wallet_owners (
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	owner_tag {text} NOT NULL,
	birth_height {int} NOT NULL CHECK (birth_height >= 0),
	scan_id {int} NOT NULL CHECK (scan_id >= 0), -- 0 for none
	PRIMARY KEY (wallet_id, owner_tag)
) {keyed};

CREATE INDEX wallet_owners_by_scan ON @wallet_owners (wallet_id, scan_id);

{no delete wallet_owners}
{insert once wallet_owners: wallet_id, owner_tag}

-- Announcements whose owners have not caught up with their wallet.
CREATE TABLE @wallet_scans (
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	scan_id {int} NOT NULL CHECK (scan_id > 0),
	scanned_to {int} NOT NULL,
	PRIMARY KEY (wallet_id, scan_id)
) {keyed};

-- Of an owner who is behind since before this table, what is left to scan is
-- what is known.
INSERT INTO @wallet_scans (wallet_id, scan_id, scanned_to)
SELECT s.wallet_id, row_number() OVER (PARTITION BY s.wallet_id ORDER BY s.owner_tag), s.scanned_to FROM @wallet_owner_scans s;
INSERT INTO @wallet_owners (wallet_id, owner_tag, birth_height, scan_id)
SELECT s.wallet_id, s.owner_tag, CASE WHEN s.scanned_to < 0 THEN 0 ELSE s.scanned_to + 1 END,
	row_number() OVER (PARTITION BY s.wallet_id ORDER BY s.owner_tag) FROM @wallet_owner_scans s;
UPDATE @wallets SET announced = (SELECT count(*) FROM @wallet_scans s WHERE s.wallet_id = wallets.id);
DROP TABLE @wallet_owner_scans;

-- +goose Down

CREATE TABLE @wallet_owner_scans (
	wallet_id {int} NOT NULL REFERENCES @wallets (id),
	owner_tag {text} NOT NULL,
	scanned_to {int} NOT NULL,
	PRIMARY KEY (wallet_id, owner_tag)
) {keyed};
INSERT INTO @wallet_owner_scans (wallet_id, owner_tag, scanned_to)
SELECT o.wallet_id, o.owner_tag, s.scanned_to FROM @wallet_owners o JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id;
UPDATE @wallets SET scanned_to = (SELECT max(b.block_height) FROM @blocks b) WHERE follows_tip;
DROP TABLE @wallet_scans;
DROP TABLE @wallet_owners;
ALTER TABLE @wallets DROP COLUMN announced;
ALTER TABLE @wallets DROP COLUMN follows_tip;
