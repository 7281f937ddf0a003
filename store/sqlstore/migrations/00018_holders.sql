-- +goose Up

-- What a worker holds, to be given back at once.
CREATE INDEX refresh_wallets_held ON @refresh_wallets (lease_holder, xpub_van) WHERE lease_holder IS NOT NULL;
CREATE INDEX refresh_jobs_held ON @refresh_jobs (lease_holder, xpub_van) WHERE lease_holder IS NOT NULL;
CREATE INDEX relays_held ON @relays (lease_holder, id) WHERE lease_holder IS NOT NULL;
CREATE INDEX unprocessed_sigs_held ON @unprocessed_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX processed_sigs_held ON @processed_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX refunded_sigs_held ON @refunded_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX quarantined_sigs_held ON @quarantined_sigs (lease_holder, sig) WHERE lease_holder IS NOT NULL;
CREATE INDEX unprocessed_txids_held ON @unprocessed_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;
CREATE INDEX processed_txids_held ON @processed_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;
CREATE INDEX refunded_txids_held ON @refunded_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;
CREATE INDEX quarantined_txids_held ON @quarantined_txids (lease_holder, txid) WHERE lease_holder IS NOT NULL;

-- +goose Down
DROP INDEX @quarantined_txids_held;
DROP INDEX @refunded_txids_held;
DROP INDEX @processed_txids_held;
DROP INDEX @unprocessed_txids_held;
DROP INDEX @quarantined_sigs_held;
DROP INDEX @refunded_sigs_held;
DROP INDEX @processed_sigs_held;
DROP INDEX @unprocessed_sigs_held;
DROP INDEX @relays_held;
DROP INDEX @refresh_jobs_held;
DROP INDEX @refresh_wallets_held;
