// Tutorial is the service that the page docs/tutorial.md builds, step by step: a shop that pays withdrawals, with the
// hold of each in the commit of its request.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := day(ctx, "shop.db", &chain{file: "chain.txt"}); err != nil {
		log.Fatal(err)
	}
}

// orders are what the customers of the day ask for. Their ids are the customers': a day that was killed begins again
// with the same orders, and each is paid once.
var orders = []struct{ id, customer, amount string }{
	{"00000000-0000-4000-8000-000000000001", "ann", "10.00"},
	{"00000000-0000-4000-8000-000000000002", "ann", "2.50"},
	{"00000000-0000-4000-8000-000000000003", "bob", "7.00"},
	{"00000000-0000-4000-8000-000000000004", "bob", "1.00"}, // nobody approves it
}

// day funds two customers, takes their orders, and pays them. It ends when the book holds nothing any more.
func day(ctx context.Context, file string, node *chain) error {
	s, err := openShop(ctx, file)
	if err != nil {
		return err
	}
	defer s.close()
	for _, name := range []string{"ann", "bob"} {
		if err := s.fund(ctx, "first payment of "+name, name, 2000); err != nil {
			return err
		}
	}
	for i, o := range orders {
		id := uuid.MustParse(o.id)
		if err := s.withdraw(ctx, id, o.customer, "address of "+o.customer, o.amount); err != nil {
			return err
		}
		decision := withdrawal.Event(withdrawal.Approved{By: withdrawal.By{Actor: "olga", Role: withdrawal.Approver}})
		if i == 3 {
			decision = withdrawal.Rejected{By: withdrawal.By{Actor: "olga", Role: withdrawal.Approver}, Reason: "not this address"}
		}
		if _, err := s.withdrawals.Do(ctx, id, decision); err != nil {
			return err
		}
	}
	return s.work(ctx, payer{s, node})
}

// work runs what goes on beside the customers until nothing is held any more, and prints the book.
func (s *shop) work(ctx context.Context, p payer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context) error{p.run, s.follow, s.refunds, s.untilDone} {
		loops.Go(func() { stop(loop(ctx)) }) // the first that ends ends all: a service without one of them is not whole
	}
	loops.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errDone) {
		return err
	}
	for _, who := range []string{"ann", "bob"} {
		cents, err := s.balance(context.WithoutCancel(ctx), account(customer(who)))
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%s has %d cents\n", who, cents)
	}
	blocks, err := p.node.blocks()
	fmt.Fprintf(os.Stdout, "the chain has %d payments\n", len(blocks)/2)
	return err
}

var errDone = errors.New("nothing is held any more")

func (s *shop) untilDone(ctx context.Context) error {
	for ctx.Err() == nil {
		held, err := s.balance(ctx, "held")
		if err != nil {
			return err
		}
		if held == 0 {
			return errDone
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}
