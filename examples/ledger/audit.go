package main

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// audit is what a look at the whole book and at the records of settle has found.
type audit struct {
	Held     int64    `json:"held"` // in the accounts of all customers, in base units
	Open     int64    `json:"open"` // amounts of the requests that are neither booked as paid nor refunded
	Requests int      `json:"requests"`
	Ended    int      `json:"ended"`    // of the requests: booked as paid, or refunded
	Credited int      `json:"credited"` // deposits
	Wrong    []string `json:"wrong"`    // must be empty

	book     map[string]map[string]bool // the kinds of postings of each subject
	credits  map[string]int64           // what is credited of each deposit
	expected map[string]int64           // what each account must have
}

// audit reads book and records at one moment: SQLite has no other way, PostgreSQL is
// asked for it. A host with millions of requests does it page by page.
func (s *service) audit(ctx context.Context) (a audit, err error) {
	level := sql.LevelDefault
	if s.db.Dialect == sqlstore.Postgres {
		level = sql.LevelRepeatableRead
	}
	tx, err := s.conn.BeginTx(ctx, &sql.TxOptions{Isolation: level, ReadOnly: true})
	if err != nil {
		return a, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return auditOf(ctx, tx)
}

func auditOf(ctx context.Context, tx queryer) (a audit, err error) {
	a = audit{Wrong: []string{}, book: map[string]map[string]bool{}, credits: map[string]int64{}, expected: map[string]int64{}}
	balances, sums := map[string]int64{}, map[string]int64{}
	err = each(ctx, tx, "SELECT name, balance FROM accounts", func(scan func(...any) error) error {
		var account string
		var has int64
		err := scan(&account, &has)
		balances[account] = has
		return err
	})
	if err != nil {
		return a, err
	}
	err = each(ctx, tx, "SELECT subject, kind, debit, credit, amount FROM postings", func(scan func(...any) error) error {
		var p posting
		var amount int64
		if err := scan(&p.Subject, &p.Kind, &p.Debit, &p.Credit, &amount); err != nil {
			return err
		}
		sums[p.Debit] -= amount
		sums[p.Credit] += amount
		switch p.Kind {
		case "credited":
			a.credits[p.Subject] += amount
		case "reversed":
			a.credits[p.Subject] -= amount
		}
		switch p.Kind {
		case "fund", "credited", "reversed", "collect":
			a.expected[p.Debit] -= amount
			a.expected[p.Credit] += amount
			return nil
		}
		if a.book[p.Subject] == nil {
			a.book[p.Subject] = map[string]bool{}
		}
		a.book[p.Subject][p.Kind] = true
		return nil
	})
	if err != nil {
		return a, err
	}
	err = each(ctx, tx, "SELECT CAST(id AS text), CAST(user_id AS text), amount_raw, status, coalesce(refund_reference, ''), "+
		"coalesce(paid_after, '') FROM withdrawal_requests", func(scan func(...any) error) error {
		var r withdrawal.Request
		if err := scan(&r.ID, &r.User, &r.AmountRaw, &r.Status, &r.RefundReference, &r.PaidAfter); err != nil {
			return err
		}
		a.request(&r)
		return nil
	})
	if err != nil {
		return a, err
	}
	err = each(ctx, tx, "SELECT tx_hash, output_index, state, amount FROM deposits", func(scan func(...any) error) error {
		var d utxo.Deposit
		hash := d.OutPoint.Hash[:]
		if err := scan(&hash, &d.OutPoint.Index, &d.State, &d.Amount); err != nil {
			return err
		}
		copy(d.OutPoint.Hash[:], hash)
		a.deposit(&d)
		return nil
	})
	for outpoint, amount := range a.credits {
		a.wrong("the book has credited %d of %s, which is no deposit", amount, outpoint)
	}
	for _, subject := range slices.Sorted(maps.Keys(a.book)) {
		a.wrong("the book has postings of %s, which is no request", subject)
	}
	for account := range a.expected { // also one that is missing
		balances[account] += 0
	}
	for account, has := range balances {
		if strings.HasPrefix(account, held("")) {
			a.Held += has
		}
		switch {
		case has < 0 && (strings.HasPrefix(account, available("")) || strings.HasPrefix(account, held(""))):
			a.wrong("%s has %d", account, has)
		case has != sums[account]:
			a.wrong("%s has %d, and its postings are %d", account, has, sums[account])
		case has != a.expected[account]:
			a.wrong("%s has %d, and by the requests it is %d", account, has, a.expected[account])
		}
	}
	return a, err
}

func (a *audit) wrong(format string, args ...any) {
	a.Wrong = append(a.Wrong, fmt.Sprintf(format, args...))
}

// deposit says what must be credited of a deposit: its amount, or nothing.
func (a *audit) deposit(d *utxo.Deposit) {
	outpoint, want := d.OutPoint.String(), int64(0)
	if d.State == utxo.DepositCredited {
		want = d.Amount
		a.Credited++
	}
	if has := a.credits[outpoint]; has != want {
		a.wrong("of deposit %s %d are credited, and it is %s of %d", outpoint, has, d.State, d.Amount)
	}
	delete(a.credits, outpoint)
}

// request says which postings of a request there must be, and what they make of the
// accounts.
func (a *audit) request(r *withdrawal.Request) {
	of := a.book[r.ID.String()]
	delete(a.book, r.ID.String())
	amount, user := r.AmountRaw.Int().Int64(), r.User.String()
	completed, refunded := r.Status == withdrawal.RequestCompleted, r.RefundReference != ""
	a.Requests++
	a.expected[available(user)] -= amount
	switch {
	case !of["hold"]:
		a.wrong("request %s has no hold", r.ID)
	case of["release"] != refunded:
		a.wrong("request %s is %s, refunded as %q: that it was released is %v", r.ID, r.Status, r.RefundReference, of["release"])
	case of["capture"] && !completed && r.PaidAfter == "":
		a.wrong("request %s is %s, and captured", r.ID, r.Status)
	}
	switch {
	case refunded:
		a.expected[available(user)] += amount
	case !of["capture"]:
		a.expected[held(user)] += amount
		a.Open += amount
	}
	if of["capture"] {
		a.expected[chainAccount] += amount
	}
	if of["capture"] && refunded {
		a.expected[owed(user)] -= amount
	}
	if of["capture"] || refunded {
		a.Ended++
	}
}

// queryer is a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls row for each row of a query.
func each(ctx context.Context, tx queryer, query string, row func(scan func(...any) error) error) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
