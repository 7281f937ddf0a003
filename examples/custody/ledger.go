package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// tables are the book of the service, in the same database as settle's tables.
var tables = []string{
	// Only the world outside, and what a customer owes, may be below zero.
	`CREATE TABLE custody_accounts (
		asset text NOT NULL,
		name text NOT NULL,
		balance bigint NOT NULL CHECK (balance >= 0 OR name = 'outside' OR name LIKE 'owed:%'),
		PRIMARY KEY (asset, name)
	)`,
	// A posting moves an amount from one account to another, so that the balances of an asset add
	// up to zero. Its key is its meaning: what is posted again is in the book already.
	`CREATE TABLE custody_postings (
		subject text NOT NULL, -- an outpoint, a request, an item of a swap, an invoice
		kind text NOT NULL,
		number bigint NOT NULL,
		asset text NOT NULL,
		debit text NOT NULL, -- the account that the amount leaves
		credit text NOT NULL, -- where it goes
		amount bigint NOT NULL CHECK (amount > 0), -- in the least units of the asset
		PRIMARY KEY (subject, kind, number)
	)`,
}

// The accounts. What a customer has is available, or held for a withdrawal.
const (
	outsideAccount = "outside"    // the other side of all that comes in and goes out
	floatAccount   = "float"      // what the house has for swaps
	swapsAccount   = "swaps"      // what came in for swaps that have not ended
	feesAccount    = "fees"       // what swaps have earned
	quarantine     = "quarantine" // what swaps have put aside
	revenueAccount = "revenue"    // what tenants have paid
)

func available(customer string) string { return "available:" + customer }
func held(customer string) string      { return "held:" + customer }
func owed(customer string) string      { return "owed:" + customer }

// posting is a row of the book.
type posting struct {
	Subject, Kind        string
	Number               int64
	Asset, Debit, Credit string
	Amount               int64
}

// errFunds: the account has too little for the posting.
var errFunds = errors.New("insufficient funds")

// post writes a posting and moves its two balances. A posting that is in the book changes nothing.
// Another one with the same meaning is [statemachine.ErrConflict].
func post(ctx context.Context, tx sqlstore.Tx, p posting) error {
	done, err := tx.ExecContext(ctx, "INSERT INTO custody_postings VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
		p.Subject, p.Kind, p.Number, p.Asset, p.Debit, p.Credit, p.Amount)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, same(ctx, tx, p))
	}
	for _, leg := range []struct {
		account string
		amount  int64
	}{{p.Debit, -p.Amount}, {p.Credit, p.Amount}} {
		const open = "INSERT INTO custody_accounts VALUES ($1, $2, 0) ON CONFLICT DO NOTHING"
		if _, err := tx.ExecContext(ctx, open, p.Asset, leg.account); err != nil {
			return err
		}
		// The statement that takes an amount compares it with what is there: two orders at once never spend the same.
		done, err := tx.ExecContext(ctx, "UPDATE custody_accounts SET balance = balance + $1 WHERE asset = $2 AND name = $3 "+
			"AND (balance + $1 >= 0 OR name = 'outside' OR name LIKE 'owed:%')", leg.amount, p.Asset, leg.account)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("%w: %s of %s", errFunds, leg.account, p.Asset))
		}
	}
	return nil
}

// same compares a posting with the one that has its key.
func same(ctx context.Context, tx sqlstore.Tx, p posting) error {
	var is posting
	err := tx.QueryRowContext(ctx, "SELECT asset, debit, credit, amount FROM custody_postings "+
		"WHERE subject = $1 AND kind = $2 AND number = $3",
		p.Subject, p.Kind, p.Number).Scan(&is.Asset, &is.Debit, &is.Credit, &is.Amount)
	is.Subject, is.Kind, is.Number = p.Subject, p.Kind, p.Number
	if err == nil && is != p {
		err = fmt.Errorf("%w: the book has %+v and not %+v", statemachine.ErrConflict, is, p)
	}
	return err
}

// fund books what the house has brought for swaps before the day.
func (s *service) fund(ctx context.Context) error {
	return s.DB.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
		for _, asset := range []string{usdc, usdd} {
			if err := post(ctx, tx, posting{"house", asset, 1, asset, outsideAccount, floatAccount, houseFloat}); err != nil {
				return err
			}
		}
		return nil
	})
}

// book is called by [follow.Run] with each line of the history once, in the commit that says how
// far it came. What the record says now counts, and not the line.
func (s *service) book(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []follow.Line) error {
	for i := range lines {
		var err error
		switch id := lines[i].Aggregate; lines[i].Machine {
		case withdrawal.RequestMachine.Name():
			err = s.bookWithdrawal(ctx, tx, unit, id)
		case swap.DepositMachine.Name():
			var d swap.Deposit
			if d, err = s.Swaps.Within(unit).Deposits.Get(ctx, id); err == nil {
				err = bookSwap(ctx, tx, d.Head(), d.Money(), usdc, usdd)
			}
		case swap.CreditMachine.Name():
			var c swap.Credit
			if c, err = s.Swaps.Within(unit).Credits.Get(ctx, id); err == nil {
				err = bookSwap(ctx, tx, c.Head(), c.Money(), usdd, usdc)
			}
		case dunning.InvoiceMachine.Name():
			err = s.bookInvoices(ctx, tx, unit, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *service) bookWithdrawal(ctx context.Context, tx sqlstore.Tx, unit store.Unit, aggregate string) error {
	id, err := uuid.Parse(aggregate)
	if err != nil {
		return err
	}
	w, err := s.Withdrawals.Within(unit).Get(ctx, id)
	if err != nil || w.Request.Status != withdrawal.RequestCompleted {
		return err
	}
	return post(ctx, tx, capture(&w.Request))
}

// bookSwap brings the book to what the record of an item says. The money of an item may move more
// than once, as when a lost payment turns up: so the difference is posted, under the item's version.
func bookSwap(ctx context.Context, tx sqlstore.Tx, i *swap.Item, m swap.Money, in, out string) error {
	for _, part := range []struct {
		kind, asset, from, to string
		amount                uint64
	}{
		{"received", in, outsideAccount, swapsAccount, m.Deposited},
		{"exchanged", in, swapsAccount, floatAccount, m.PaidOut},
		{"paid", out, floatAccount, outsideAccount, m.PaidOut},
		{"refunded", in, swapsAccount, outsideAccount, m.Refunded},
		{"quarantined", in, swapsAccount, quarantine, m.Quarantined},
		{"fee", in, swapsAccount, feesAccount, m.Fees},
	} {
		var booked int64
		err := tx.QueryRowContext(ctx, "SELECT coalesce(sum(CASE credit WHEN $1 THEN amount ELSE -amount END), 0) FROM custody_postings "+
			"WHERE subject = $2 AND kind = $3", part.to, i.ID, part.kind).Scan(&booked)
		if err != nil {
			return err
		}
		p := posting{i.ID, part.kind, i.Version, part.asset, part.from, part.to, int64(part.amount) - booked}
		if p.Amount < 0 {
			p.Debit, p.Credit, p.Amount = p.Credit, p.Debit, -p.Amount
		}
		if p.Amount == 0 {
			continue
		}
		if err := post(ctx, tx, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) bookInvoices(ctx context.Context, tx sqlstore.Tx, unit store.Unit, tenant string) error {
	a, err := s.Tenants.Within(unit).Get(ctx, tenant)
	if err != nil {
		return err
	}
	for _, i := range a.Invoices {
		if i.PaidAt.IsZero() {
			continue
		}
		if err := post(ctx, tx, posting{i.ID, "paid", 1, usd, outsideAccount, revenueAccount, i.Amount}); err != nil {
			return err
		}
	}
	return nil
}
