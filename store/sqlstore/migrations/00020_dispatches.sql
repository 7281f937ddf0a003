-- +goose Up

-- A dispatch in review whose execution was closed before attempts had these
-- columns: its signer may answer yet, also after an operator says "not sent".
-- {postgres
ALTER TABLE @withdrawal_attempts DISABLE TRIGGER keep_closed_withdrawal_attempts;
-- }
-- {sqlite
DROP TRIGGER keep_closed_withdrawal_attempts;
-- }
UPDATE @withdrawal_queue SET dispatches = dispatches + 1 WHERE status = 'processing' AND review AND dispatched_at IS NOT NULL AND EXISTS
	(SELECT 1 FROM @withdrawal_attempts a WHERE a.job_id = @withdrawal_queue.id AND a.fence = @withdrawal_queue.lease_fence
	AND a.ended_at IS NOT NULL AND a.dispatched_at IS NULL);
UPDATE @withdrawal_attempts AS a SET dispatched_at = j.dispatched_at, dispatch_ref = j.dispatch_ref FROM @withdrawal_queue j
	WHERE j.id = a.job_id AND j.lease_fence = a.fence AND j.status = 'processing' AND j.review AND j.dispatched_at IS NOT NULL
	AND a.ended_at IS NOT NULL AND a.dispatched_at IS NULL;
-- {postgres
ALTER TABLE @withdrawal_attempts ENABLE TRIGGER keep_closed_withdrawal_attempts;
-- }
-- {sqlite
-- +goose StatementBegin
CREATE TRIGGER keep_closed_withdrawal_attempts BEFORE UPDATE ON withdrawal_attempts WHEN OLD.ended_at IS NOT NULL BEGIN
	SELECT RAISE(ABORT, 'withdrawal_attempts keeps its history: no UPDATE');
END;
-- +goose StatementEnd
-- }

-- +goose Down
SELECT 1; -- the facts stay
