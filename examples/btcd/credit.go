package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// deposits says who is credited, and when.
var deposits = utxo.DepositPolicy{
	Customer: func(o utxo.Owner) bool { return o.Tag != "change" },
	Depth:    func(utxo.Owner, int64) int32 { return depth },
}

// credit gives customers what is deep enough until ctx is done. Where the service was
// killed, another one goes on when its lease is over.
func (s *service) credit(ctx context.Context, log io.Writer) {
	c := follow.Consumer{Lease: 5 * time.Second}
	for ctx.Err() == nil {
		if err := follow.Deposits(ctx, s.Store, c, deposits, post); err != nil {
			fmt.Fprintln(log, "service:", err)
			pause(ctx, time.Second)
		}
	}
}

// post writes to the accounts of customers, in the commit that moves the deposits: a reversal takes back what
// the credit of its round has given. The key of a fact is used as the key of its posting.
func post(ctx context.Context, tx sqlstore.Tx, _ store.Unit, facts []follow.Fact) error {
	for _, f := range facts {
		amount := f.Amount
		if f.Kind == utxo.FactReversed {
			amount = -amount
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO credits (outpoint, round, kind, customer, amount) VALUES ($1, $2, $3, $4, $5)",
			f.OutPoint.String(), f.Round, f.Kind.String(), f.Tag, amount)
		if err != nil {
			return err
		}
	}
	return nil
}
