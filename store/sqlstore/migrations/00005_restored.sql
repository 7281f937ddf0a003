-- +goose Up

-- {postgres
-- What is added to the number of a transaction where it becomes a horizon: not
-- 0 once a dump was restored where the numbers are lower, see Restored.
CREATE TABLE @transitions_base (id {int} PRIMARY KEY CHECK (id = 1), base {int} NOT NULL);
INSERT INTO @transitions_base VALUES (1, 0);

{no delete transitions_base}
-- }

-- +goose Down
-- {postgres
DROP TABLE @transitions_base;
-- }
