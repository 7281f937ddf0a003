-- +goose Up

-- In which role the actor of a transition spoke; empty where it has none, and in
-- rows that are older than this column.
ALTER TABLE @transitions ADD COLUMN role {text} NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE @transitions DROP COLUMN role;
