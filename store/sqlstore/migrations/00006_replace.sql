-- +goose Up

-- {sqlite
DROP TRIGGER keep_wallets_INSERT;
DROP TRIGGER keep_transactions_INSERT;
DROP TRIGGER keep_utxos_INSERT;
DROP TRIGGER keep_withdrawal_requests_INSERT;
DROP TRIGGER keep_withdrawal_queue_INSERT;
DROP TRIGGER keep_withdrawal_txs_INSERT;
-- }

{keys wallets: id; rowid}
{keys chain_tip: id; rowid}
{keys transactions: id; rowid; tx_hash, wallet_id}
{keys utxos: id; rowid; wallet_id, tx_id, output_index}
{keys operation_wallet_addresses: id; rowid}
{keys withdrawal_requests: id; rowid}
{keys or ignore withdrawal_queue: id; rowid; withdrawal_request_id, number; withdrawal_request_id where status <> 'failed'; slot}
{insert once withdrawal_txs: withdrawal_request_id, seq; rowid; withdrawal_request_id, tx_hash}
{update keys withdrawal_attempts: job_id, fence}

-- +goose Down

-- {sqlite
DROP TRIGGER keep_wallets_INSERT;
DROP TRIGGER keep_wallets_KEYS;
DROP TRIGGER keep_chain_tip_INSERT;
DROP TRIGGER keep_chain_tip_KEYS;
DROP TRIGGER keep_transactions_INSERT;
DROP TRIGGER keep_transactions_KEYS;
DROP TRIGGER keep_utxos_INSERT;
DROP TRIGGER keep_utxos_KEYS;
DROP TRIGGER keep_operation_wallet_addresses_INSERT;
DROP TRIGGER keep_operation_wallet_addresses_KEYS;
DROP TRIGGER keep_withdrawal_requests_INSERT;
DROP TRIGGER keep_withdrawal_requests_KEYS;
DROP TRIGGER keep_withdrawal_queue_INSERT;
DROP TRIGGER keep_withdrawal_queue_KEYS;
DROP TRIGGER keep_withdrawal_txs_INSERT;
DROP TRIGGER keep_withdrawal_attempts_KEYS;
-- }

{insert once wallets: id}
{insert once transactions: id; tx_hash, wallet_id}
{insert once utxos: id; wallet_id, tx_id, output_index}
{insert once withdrawal_requests: id}
{insert or ignore withdrawal_queue: id; withdrawal_request_id, number}
{insert once withdrawal_txs: withdrawal_request_id, seq; withdrawal_request_id, tx_hash}
