package main

import (
	"context"
	"database/sql"

	"github.com/settlehq/settle/examples/internal/program"
)

// count runs one of the source's queries "status, count" as it is written.
func count(ctx context.Context, d *program.Database, schema, query string) (map[string]int, error) {
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if schema != "" {
		if _, err := conn.ExecContext(ctx, "SET search_path TO "+schema); err != nil {
			return nil, err
		}
		defer conn.ExecContext(context.WithoutCancel(ctx), "RESET search_path")
	}
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var status sql.NullString
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, err
		}
		if !status.Valid {
			status.String = "detected"
		}
		all[status.String] += n
	}
	return all, rows.Err()
}
