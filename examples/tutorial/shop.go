package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
	_ "modernc.org/sqlite" // the driver is yours
)

// The shop pays one asset on one chain, from one hot wallet. The names are its own.
var (
	chainID  = statemachine.ID("chain", "demo")
	asset    = statemachine.ID("asset", "USDX")
	cashdesk = withdrawal.HotWallet{ID: statemachine.ID("wallet", "cash desk"), Chain: chainID,
		Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	house = withdrawal.By{Actor: "shop", Role: withdrawal.System}
)

// shop is the service: its book and the records of settle in one database.
type shop struct {
	conn        *sql.DB
	db          *sqlstore.Store
	withdrawals *store.Withdrawals
}

// openShop makes the tables that are missing, and opens the service on them.
func openShop(ctx context.Context, file string) (*shop, error) {
	conn, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	s := &shop{conn: conn}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *shop) open(ctx context.Context) error {
	options := sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals}}
	err := sqlstore.Migrate(ctx, s.conn, sqlstore.SQLite, options)
	if err != nil {
		return err
	}
	if _, err = s.conn.ExecContext(ctx, tables); err != nil {
		_, err = s.conn.ExecContext(ctx, tables) // PostgreSQL refuses one of two processes that make a table at once: now it is there
	}
	if err != nil {
		return err
	}
	if s.db, err = sqlstore.Open(ctx, s.conn, sqlstore.SQLite, options); err != nil {
		return err
	}
	policy := withdrawal.DefaultPolicy()
	// No nonces, no inputs: what was signed is mined within 100 blocks, or never. Paid is what lies two blocks deep.
	policy.Chain = withdrawal.Chain{Confirmations: 2, MinedWithin: 100}
	policy.CheckEvery = time.Second
	policy.EnqueueEvery = time.Second
	if s.withdrawals, err = store.NewWithdrawals(s.db, policy); err != nil {
		return err
	}
	return s.withdrawals.PutHotWallet(ctx, house, cashdesk)
}

func (s *shop) close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.conn.Close())
}

// account is where a customer's balance stands. settle knows customers by a uuid, which is made of the shop's own name.
func account(user uuid.UUID) string { return "customer:" + user.String() }

func customer(name string) uuid.UUID { return statemachine.ID("customer", name) }

// fund books what a customer has paid in.
func (s *shop) fund(ctx context.Context, key, name string, cents int64) error {
	return s.db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
		return post(ctx, tx, key, "bank", account(customer(name)), cents)
	})
}

// balance is what an account has.
func (s *shop) balance(ctx context.Context, account string) (cents int64, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT coalesce(sum(balance), 0) FROM accounts WHERE name = $1", account).Scan(&cents)
	return cents, err
}

// withdraw takes an order and sets its amount aside, in one commit: no request is without its hold, and no hold
// without its request. The id is the caller's, who sends the same order again until there is an answer.
func (s *shop) withdraw(ctx context.Context, id uuid.UUID, name, to, amount string) error {
	order := withdrawal.Submitted{By: house, Request: id, User: customer(name), Asset: asset, Chain: chainID,
		ToAddress: to, Amount: amount, Decimals: decimals}
	return s.db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error {
		w, err := s.withdrawals.Within(unit).Submit(ctx, order)
		if err != nil {
			return err
		}
		if !w.Request.AmountRaw.Int().IsInt64() { // settle takes any amount, and the book keeps an int64
			return fmt.Errorf("%w: %s is more than the book can hold", statemachine.ErrInvalid, amount)
		}
		return post(ctx, tx, id.String()+"/hold", account(w.Request.User), "held", cents(&w.Request)) // too little: the request is undone too
	})
}

// decimals of the asset: an amount of "1.5" is 150 cents.
const decimals = 2

// cents is the amount of a request, which withdraw has found to be an int64.
func cents(r *withdrawal.Request) int64 { return r.AmountRaw.Int().Int64() }
