package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// Withdrawals are paid by a hot wallet on a simulated chain that has nonces, as Ethereum has.
var (
	chainID   = statemachine.ID("chain", "simulated")
	bitcoin   = statemachine.ID("asset", btc)
	hotWallet = statemachine.ID("wallet", "hot")
)

const decimals = 8

// key signs for the hot wallet. A service has it in a signer, and never in its program.
var key = func() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("the coins of the simulated chain are worth nothing"))
	return ed25519.NewKeyFromSeed(seed[:])
}()

var hotAddress = node.Address(key.Public().(ed25519.PublicKey))

// withdraw stores what a customer asks for and sets the amount aside, in one commit. The same order
// again changes nothing, so that whoever got no answer asks again.
func (s *service) withdraw(ctx context.Context, customer string, order withdrawal.Submitted) (w withdrawal.Withdrawal, err error) {
	order.By, order.User, order.Asset, order.Chain, order.Decimals = house, userID(customer), bitcoin, chainID, decimals
	err = s.DB.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) (err error) {
		if w, err = s.Withdrawals.Within(unit).Submit(ctx, order); err != nil {
			return err
		}
		if !w.Request.AmountRaw.Int().IsInt64() { // settle takes any amount, and the book keeps an int64
			return fmt.Errorf("%w: the amount is more than the book can hold", statemachine.ErrInvalid)
		}
		return post(ctx, tx, hold(&w.Request)) // too little is available: the request is undone too
	})
	return w, err
}

// userID is the id that settle knows a customer by, and customerOf is the customer again.
func userID(customer string) uuid.UUID { return statemachine.ID("customer", customer) }

func customerOf(r *withdrawal.Request) string {
	return customers[slices.IndexFunc(customers, func(name string) bool { return userID(name) == r.User })]
}

// The postings of a request: hold, and in the end capture (paid) or release (given back).

func hold(r *withdrawal.Request) posting {
	return posting{r.ID.String(), "hold", 1, btc, available(customerOf(r)), held(customerOf(r)), r.AmountRaw.Int().Int64()}
}

func capture(r *withdrawal.Request) posting {
	return posting{r.ID.String(), "capture", 1, btc, held(customerOf(r)), outsideAccount, r.AmountRaw.Int().Int64()}
}

func release(r *withdrawal.Request) posting {
	return posting{r.ID.String(), "release", 1, btc, held(customerOf(r)), available(customerOf(r)), r.AmountRaw.Int().Int64()}
}

// refunds gives back what has ended unpaid, once nothing of it can be paid any more. The release and
// Refunded are one commit: from then on nobody orders the request again.
func (s *service) refunds(ctx context.Context) (time.Duration, error) {
	_, wait, err := follow.RefundDue(ctx, s.DB, s.Withdrawals, 50,
		func(ctx context.Context, tx sqlstore.Tx, _ store.Unit, w withdrawal.Withdrawal) (withdrawal.Refunded, error) {
			p := release(&w.Request)
			return withdrawal.Refunded{By: house, Reference: p.Subject + "/" + p.Kind}, post(ctx, tx, p)
		})
	return min(wait, s.Withdrawals.Policy().EnqueueEvery), err
}

// newJob is what the service decides of an approved request when it gets a job. The job's id is made
// of the request and its version: ordered twice, it is the same job.
func newJob(r withdrawal.Request) withdrawal.Enqueued {
	return withdrawal.Enqueued{By: house, Job: uuid.NewSHA1(r.ID, strconv.AppendInt(nil, r.Version, 10)), AssetOnChain: bitcoin}
}
