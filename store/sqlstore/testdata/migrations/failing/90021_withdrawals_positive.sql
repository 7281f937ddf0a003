-- +goose Up
CREATE TABLE @withdrawal_sums (id {uuid} PRIMARY KEY, version {int} NOT NULL CHECK (version < 0)) {strict};
INSERT INTO @withdrawal_sums SELECT id, version FROM @withdrawal_requests;

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90021, 'withdrawals', 3);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90021;
DROP TABLE @withdrawal_sums;
