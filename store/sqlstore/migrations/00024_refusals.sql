-- +goose Up

-- The batches of a transfer that the host refuses to cancel, apart from whether the
-- cancellation at the expiry was tried: until then all are asked for again.
ALTER TABLE @refresh_watchers ADD COLUMN refused {text};
UPDATE @refresh_watchers SET cancel_tried = false WHERE status = 'watching' AND cancel_tried;

-- +goose Down
ALTER TABLE @refresh_watchers DROP COLUMN refused;
