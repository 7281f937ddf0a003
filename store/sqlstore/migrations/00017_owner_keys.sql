-- +goose Up

{update keys wallet_owners: wallet_id, owner_tag}
-- {sqlite
DROP TRIGGER keep_withdrawal_acknowledgements_INSERT;
-- }
{insert or ignore withdrawal_acknowledgements: withdrawal_request_id, tx_hash, claim, block_hash; rowid}

-- +goose Down

-- {sqlite
DROP TRIGGER keep_wallet_owners_KEYS;
DROP TRIGGER keep_withdrawal_acknowledgements_INSERT;
-- }
{insert or ignore withdrawal_acknowledgements: withdrawal_request_id, tx_hash, claim, block_hash}
