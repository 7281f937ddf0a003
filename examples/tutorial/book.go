package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/settlehq/settle/store/sqlstore"
)

// tables are the shop's own book: what each account has, and every movement between two accounts.
// The account "bank" is the other side of all customers, so that the sum of all balances is zero.
const tables = `
	CREATE TABLE IF NOT EXISTS accounts (
		name text PRIMARY KEY,
		balance bigint NOT NULL CHECK (balance >= 0 OR name = 'bank')
	);
	CREATE TABLE IF NOT EXISTS postings (
		key text PRIMARY KEY, -- what the movement means, such as "<request>/hold"
		debit text NOT NULL,
		credit text NOT NULL,
		amount bigint NOT NULL CHECK (amount > 0) -- in cents
	);`

var errFunds = errors.New("insufficient funds")

// post moves an amount from one account to another. A key that is in the book already changes nothing:
// whoever is not sure whether it has posted, posts again.
func post(ctx context.Context, tx sqlstore.Tx, key, debit, credit string, amount int64) error {
	done, err := tx.ExecContext(ctx, "INSERT INTO postings (key, debit, credit, amount) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
		key, debit, credit, amount)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO accounts (name, balance) VALUES ($1, 0), ($2, 0) ON CONFLICT DO NOTHING", debit, credit)
	if err != nil {
		return err
	}
	done, err = tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - $1 WHERE name = $2 AND (balance >= $1 OR name = 'bank')",
		amount, debit)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("%w: %s for %s", errFunds, debit, key))
	}
	_, err = tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + $1 WHERE name = $2", amount, credit)
	return err
}
