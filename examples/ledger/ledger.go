package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// tables are the service's own, beside those of settle. A service that has a tool for
// migrations makes them there.
var tables = []string{
	// A customer's money is available, or held for a withdrawal; what a customer was paid too much is owed. The account
	// "chain" is the other side: it is below zero by the amount that the house must have on the chain for all
	// customers.
	`CREATE TABLE IF NOT EXISTS accounts (
		name text PRIMARY KEY,
		balance bigint NOT NULL,
		CHECK (balance >= 0 OR name = 'chain' OR name LIKE 'owed:%')
	)`,
	// A posting moves an amount from one account to another, so that the sum of all
	// balances is zero. Its key is its meaning: the same is never posted twice. It refers to
	// its accounts without a foreign key, whose check on PostgreSQL would have all postings
	// of an account share a lock of the row that each of them is about to change.
	`CREATE TABLE IF NOT EXISTS postings (
		subject text NOT NULL, -- a request of a withdrawal, the outpoint of a deposit
		kind text NOT NULL CHECK (kind IN
			('fund', 'hold', 'capture', 'release', 'refund', 'credited', 'reversed', 'collect')),
		number bigint NOT NULL CHECK (number >= 1),
		debit text NOT NULL, -- the account that the amount leaves
		credit text NOT NULL, -- where it goes
		amount bigint NOT NULL CHECK (amount > 0), -- in base units
		PRIMARY KEY (subject, kind, number)
	)`,
}

// posting is a row of the book.
type posting struct {
	Subject, Kind string
	Number        int64
	Debit, Credit string
	Amount        withdrawal.Raw
}

// reference is the key of a posting as one text.
func (p posting) reference() string {
	return p.Subject + "/" + p.Kind + "/" + strconv.FormatInt(p.Number, 10)
}

// The accounts of a customer, by the id, and the house's.
func available(customer string) string { return "available:" + customer }
func held(customer string) string      { return "held:" + customer }
func owed(customer string) string      { return "owed:" + customer }

const chainAccount = "chain"

// The postings of a withdrawal. Each is made at most once of a request, so that its
// number is 1: never one that is drawn anew, under which a repetition would be another posting.

// hold sets the amount aside.
func hold(r *withdrawal.Request) posting {
	return posting{r.ID.String(), "hold", 1, available(r.User.String()), held(r.User.String()), r.AmountRaw}
}

// release gives a hold back, of what will not be paid.
func release(r *withdrawal.Request) posting {
	return posting{r.ID.String(), "release", 1, held(r.User.String()), available(r.User.String()), r.AmountRaw}
}

// capture books a payment that the chain shows.
func capture(r *withdrawal.Request) posting {
	return posting{r.ID.String(), "capture", 1, held(r.User.String()), chainAccount, r.AmountRaw}
}

// lateCapture books a payment of what was released already: the customer has both.
func lateCapture(r *withdrawal.Request) posting {
	p := capture(r)
	p.Debit = owed(r.User.String())
	return p
}

// fund books what a customer has paid in.
func fund(key string, customer string, amount withdrawal.Raw) posting {
	return posting{key, "fund", 1, chainAccount, available(customer), amount}
}

// errFunds: the account has too little for the posting.
var errFunds = errors.New("insufficient funds")

// post writes a posting and moves its two balances. A posting that is in the book already changes nothing; a different
// one with the same meaning is [statemachine.ErrConflict].
//
// The statement that takes an amount from an account also compares its balance: PostgreSQL locks the row and compares
// what the last commit has left there, SQLite has one writer. So two orders at once never spend the same amount.
func post(ctx context.Context, tx sqlstore.Tx, p posting) error {
	amount, err := strconv.ParseInt(string(p.Amount), 10, 64)
	if err != nil || amount <= 0 {
		return fmt.Errorf("%w: the book holds amounts of 1 to 2^63-1 base units", statemachine.ErrInvalid)
	}
	// Accounts are always met in the order of their names, so that two single postings wait
	// for each other and do not deadlock. Of transactions with several postings PostgreSQL
	// may end one, and UpdateTx repeats it.
	first, second := leg{p.Debit, -amount}, leg{p.Credit, amount}
	if first.account > second.account {
		first, second = second, first
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO accounts (name, balance) VALUES ($1, 0), ($2, 0) ON CONFLICT DO NOTHING",
		first.account, second.account)
	if err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, "INSERT INTO postings (subject, kind, number, debit, credit, amount) "+
		"VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING", p.Subject, p.Kind, p.Number, p.Debit, p.Credit, amount)
	if err != nil {
		return err
	}
	switch n, err := done.RowsAffected(); {
	case err != nil:
		return err
	case n == 0:
		return sameAs(ctx, tx, p, amount)
	}
	for _, l := range []leg{first, second} {
		done, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + $1 WHERE name = $2 "+
			"AND (balance >= $3 OR name = 'chain' OR name LIKE 'owed:%') AND balance BETWEEN $4 AND $5", l.amount, l.account, -l.amount,
			math.MinInt64-min(l.amount, 0), math.MaxInt64-max(l.amount, 0)) // SQLite would go on in floating point
		if err != nil {
			return err
		}
		switch n, err := done.RowsAffected(); {
		case err != nil:
			return err
		case n == 0 && l.amount > 0:
			return fmt.Errorf("%w: %s would hold more than 2^63-1", statemachine.ErrInvalid, l.account)
		case n == 0:
			return fmt.Errorf("%w: %s for %s", errFunds, l.account, p.reference())
		}
	}
	return nil
}

// leg is what a posting does to one of its accounts.
type leg struct {
	account string
	amount  int64
}

// sameAs compares a posting with the one that has its key.
func sameAs(ctx context.Context, tx sqlstore.Tx, p posting, amount int64) error {
	var has posting
	var of int64
	err := tx.QueryRowContext(ctx, "SELECT debit, credit, amount FROM postings WHERE subject = $1 AND kind = $2 AND number = $3",
		p.Subject, p.Kind, p.Number).Scan(&has.Debit, &has.Credit, &of)
	if err == nil && (has.Debit != p.Debit || has.Credit != p.Credit || of != amount) {
		err = fmt.Errorf("%w: %s is in the book, of %d from %s to %s", statemachine.ErrConflict, p.reference(), of, has.Debit, has.Credit)
	}
	return err
}

// posted reports whether a posting of this meaning is in the book.
func posted(ctx context.Context, tx sqlstore.Tx, p posting) (yes bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT count(*) > 0 FROM postings WHERE subject = $1 AND kind = $2 AND number = $3",
		p.Subject, p.Kind, p.Number).Scan(&yes)
	return yes, err
}

// balance is what an account has: nothing, if it is new.
func balance(ctx context.Context, tx sqlstore.Tx, account string) (has int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(sum(balance), 0) FROM accounts WHERE name = $1", account).Scan(&has)
	return has, err
}
