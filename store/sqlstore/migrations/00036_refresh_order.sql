-- +goose Up

-- The order in which things happened to a wallet, whatever the clock said: work_seq of
-- the wallet, when a job was made and ended, a watcher ended, a lock was taken. Of what
-- ended before, 0: a later job watches it again, or settles it.
ALTER TABLE @refresh_jobs ADD COLUMN seq {int} NOT NULL DEFAULT 0 CHECK (seq >= 0);
ALTER TABLE @refresh_jobs ADD COLUMN end_seq {int} NOT NULL DEFAULT 0 CHECK (end_seq >= 0);
ALTER TABLE @refresh_watchers ADD COLUMN end_seq {int} NOT NULL DEFAULT 0 CHECK (end_seq >= 0);
ALTER TABLE @wallet_locks ADD COLUMN seq {int} NOT NULL DEFAULT 0 CHECK (seq >= 0);

CREATE INDEX refresh_jobs_completed ON @refresh_jobs (xpub_van, seq) WHERE status = 'completed';

-- +goose Down
DROP INDEX refresh_jobs_completed;
ALTER TABLE @wallet_locks DROP COLUMN seq;
ALTER TABLE @refresh_watchers DROP COLUMN end_seq;
ALTER TABLE @refresh_jobs DROP COLUMN end_seq;
ALTER TABLE @refresh_jobs DROP COLUMN seq;
