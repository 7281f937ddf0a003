-- +goose Up

-- Lists, each in its order.
CREATE INDEX withdrawal_requests_of_user ON @withdrawal_requests (user_id, created_at, id);
CREATE INDEX withdrawal_requests_of_chain ON @withdrawal_requests (chain_id, created_at, id);
CREATE INDEX withdrawal_requests_open ON @withdrawal_requests (created_at, id) WHERE status IN ('pending', 'approved', 'queued');
CREATE INDEX withdrawal_requests_held ON @withdrawal_requests (created_at, id) WHERE held;
CREATE INDEX withdrawal_payments_of_hash ON @withdrawal_payments (tx_form);

-- +goose Down
DROP INDEX @withdrawal_payments_of_hash;
DROP INDEX @withdrawal_requests_held;
DROP INDEX @withdrawal_requests_open;
DROP INDEX @withdrawal_requests_of_chain;
DROP INDEX @withdrawal_requests_of_user;
