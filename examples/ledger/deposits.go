package main

import (
	"bytes"
	"context"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// wallet has the addresses at which customers pay in, on Bitcoin.
const wallet utxo.WalletID = 1

// prefix begins the output scripts of the example: behind it comes the id of a customer.
// A host gives out addresses, and looks a script up among them.
var prefix = []byte{0x51, 16}

func script(customer uuid.UUID) []byte { return append(bytes.Clone(prefix), customer[:]...) }

func ownerOf(script []byte) (utxo.Owner, bool) {
	id, err := uuid.FromBytes(bytes.TrimPrefix(script, prefix))
	return utxo.Owner{Wallet: wallet, Tag: id.String()}, err == nil && bytes.HasPrefix(script, prefix)
}

// depositPolicy says what is credited, and how deep.
var depositPolicy = utxo.DepositPolicy{
	Customer: func(utxo.Owner) bool { return true }, // the wallet has no change and nothing of the house
	Depth: func(_ utxo.Owner, amount int64) int32 {
		if amount > 1e8 {
			return 6
		}
		return 3
	},
	Minimum: 1000,
}

// credit is called by [follow.Deposits], and posts in the commit that moves the deposits.
// Reversed is what was credited and will not come back: the customer owes it, and what is
// available of it is taken at once. The keys are (outpoint, kind, round).
func (s *service) credit(ctx context.Context, tx sqlstore.Tx, _ store.Unit, facts []follow.Fact) error {
	for i := range facts {
		f := &facts[i]
		p := posting{f.OutPoint.String(), f.Kind.String(), f.Round, chainAccount, available(f.Tag), withdrawal.RawOf(f.Amount)}
		if f.Kind == utxo.FactReversed {
			p.Debit, p.Credit = owed(f.Tag), chainAccount
		}
		if err := post(ctx, tx, p); err != nil {
			return err
		}
		if f.Kind == utxo.FactReversed {
			if err := collect(ctx, tx, p, available(f.Tag)); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect takes what is available of an amount that is owed.
func collect(ctx context.Context, tx sqlstore.Tx, of posting, from string) error {
	// The row is locked before it is read: an order that comes now waits.
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance WHERE name = $1", from); err != nil {
		return err
	}
	has, err := balance(ctx, tx, from)
	if err != nil || has == 0 {
		return err
	}
	amount := min(has, of.Amount.Int().Int64())
	return post(ctx, tx, posting{of.Subject, "collect", of.Number, from, of.Debit, withdrawal.RawOf(amount)})
}
