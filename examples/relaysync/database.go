package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// texts returns every text of our tables, for a search. The tables have no
// column in which a secret could be but those of text.
func texts(ctx context.Context, db *sql.DB) (string, error) {
	var all strings.Builder
	for _, table := range []string{"relays", "activities", "tenants", "invoices", "transitions"} {
		rows, err := db.QueryContext(ctx, "SELECT * FROM "+table)
		if err != nil {
			return "", err
		}
		columns, err := rows.Columns()
		for err == nil && rows.Next() {
			row, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				places[i] = &row[i]
			}
			if err = rows.Scan(places...); err == nil {
				fmt.Fprintf(&all, "%s\n", row)
			}
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}
