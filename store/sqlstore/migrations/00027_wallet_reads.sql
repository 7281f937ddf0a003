-- +goose Up

-- An edge that evidence made can be declared later; nothing else of it changes.
-- {sqlite
DROP TRIGGER keep_tx_replacements_UPDATE;
-- +goose StatementBegin
CREATE TRIGGER keep_tx_replacements_UPDATE BEFORE UPDATE ON tx_replacements
WHEN NOT (NEW.wallet_id = OLD.wallet_id AND NEW.replaced_tx_id = OLD.replaced_tx_id AND NEW.replacement_tx_id = OLD.replacement_tx_id AND NOT OLD.declared AND NEW.declared) BEGIN
	SELECT RAISE(ABORT, 'tx_replacements keeps its history: no UPDATE');
END;
-- +goose StatementEnd
-- }
-- {postgres
DROP TRIGGER keep_tx_replacements ON @tx_replacements;
CREATE TRIGGER keep_tx_replacements BEFORE DELETE OR TRUNCATE ON @tx_replacements EXECUTE FUNCTION @settle_keep();
CREATE TRIGGER keep_tx_replacements_update BEFORE UPDATE ON @tx_replacements FOR EACH ROW
WHEN (NOT (NEW.wallet_id = OLD.wallet_id AND NEW.replaced_tx_id = OLD.replaced_tx_id AND NEW.replacement_tx_id = OLD.replacement_tx_id AND NOT OLD.declared AND NEW.declared))
EXECUTE FUNCTION @settle_keep();
-- }

-- Leases stay for ever; what is asked is the active ones, and those of a lock.
CREATE INDEX utxo_leases_end ON @utxo_leases (wallet_id, expires_at);
CREATE INDEX utxo_leases_lock ON @utxo_leases (wallet_id, lock_id, expires_at);

-- +goose Down
DROP INDEX @utxo_leases_lock;
DROP INDEX @utxo_leases_end;
-- {sqlite
DROP TRIGGER keep_tx_replacements_DELETE;
DROP TRIGGER keep_tx_replacements_UPDATE;
-- }
-- {postgres
DROP TRIGGER keep_tx_replacements_update ON @tx_replacements;
DROP TRIGGER keep_tx_replacements ON @tx_replacements;
-- }
{append only tx_replacements}
