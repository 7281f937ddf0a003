-- +goose Up
-- A table whose rows move gets no column.
CREATE TABLE @swap_comments (direction {text} NOT NULL, item {text} NOT NULL, comment {text} NOT NULL, PRIMARY KEY (direction, item)) {strict};
{append only swap_comments}
{insert once swap_comments: direction, item; rowid}

INSERT INTO @settle_versions (version, domain, oldest) VALUES (90004, 'swaps', 4);

-- +goose Down
DELETE FROM @settle_versions WHERE version = 90004;
DROP TABLE @swap_comments;
