-- +goose Up

-- A proof says why an outbound that failed cannot have paid. Without an outcome
-- nobody has said that it failed: such a row is open again, and looked up. (SQLite
-- adds no rule to a table that is there.)
UPDATE @swap_intents SET proof = NULL, closed_at = NULL WHERE proof IS NOT NULL AND outcome IS NULL;
-- {postgres
ALTER TABLE @swap_intents ADD CONSTRAINT a_proof_has_an_outcome CHECK (proof IS NULL OR outcome IS NOT NULL);
-- }
-- {sqlite
-- +goose StatementBegin
CREATE TRIGGER a_proof_has_an_outcome_INSERT BEFORE INSERT ON swap_intents WHEN NEW.proof IS NOT NULL AND NEW.outcome IS NULL BEGIN
	SELECT RAISE(ABORT, 'swap_intents: a proof has an outcome');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER a_proof_has_an_outcome_UPDATE BEFORE UPDATE OF proof, outcome ON swap_intents WHEN NEW.proof IS NOT NULL AND NEW.outcome IS NULL BEGIN
	SELECT RAISE(ABORT, 'swap_intents: a proof has an outcome');
END;
-- +goose StatementEnd
-- }

-- Who asks for a hash asks the payments, which are the versions of all, or the
-- transactions: no statement finds a job or a request by its last one.
DROP INDEX @withdrawal_queue_hash;
DROP INDEX @withdrawal_requests_hash;

-- +goose Down
CREATE INDEX withdrawal_requests_hash ON @withdrawal_requests (final_tx_hash) WHERE final_tx_hash IS NOT NULL;
CREATE INDEX withdrawal_queue_hash ON @withdrawal_queue (tx_hash) WHERE tx_hash IS NOT NULL;
-- {postgres
ALTER TABLE @swap_intents DROP CONSTRAINT a_proof_has_an_outcome;
-- }
-- {sqlite
DROP TRIGGER a_proof_has_an_outcome_INSERT;
DROP TRIGGER a_proof_has_an_outcome_UPDATE;
-- }
