-- +goose Up

-- A signer may answer a dispatch twice: those that were answered are counted too, in
-- each job of a request that has one.
UPDATE @withdrawal_queue SET dispatches = (SELECT count(*) FROM @withdrawal_queue o JOIN @withdrawal_attempts a ON a.job_id = o.id
	WHERE o.withdrawal_request_id = @withdrawal_queue.withdrawal_request_id AND a.dispatched_at IS NOT NULL AND a.ended_at IS NOT NULL)
	WHERE EXISTS (SELECT 1 FROM @withdrawal_queue o JOIN @withdrawal_attempts a ON a.job_id = o.id
	WHERE o.withdrawal_request_id = @withdrawal_queue.withdrawal_request_id AND a.dispatched_at IS NOT NULL AND a.outcome = 'done');

-- +goose Down
UPDATE @withdrawal_queue SET dispatches = (SELECT count(*) FROM @withdrawal_queue o JOIN @withdrawal_attempts a ON a.job_id = o.id
	WHERE o.withdrawal_request_id = @withdrawal_queue.withdrawal_request_id AND a.dispatched_at IS NOT NULL AND a.outcome <> 'done')
	WHERE dispatches > 0;
