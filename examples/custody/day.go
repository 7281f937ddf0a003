package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// day is what happens outside of the code that a service has: the orders of customers, and the ends
// of the workers.
type day struct {
	options
	*service // of the desk: it takes orders, and reads. Nobody breaks its connections
	print    io.Writer
	began    time.Time

	mu      sync.Mutex
	kills   int
	refused int     // orders for which there was too little
	faults  []error // of workers that ended by themselves
}

// How much happens in a day.
const (
	orders     = 40
	swapsIn    = 24 // of each direction
	rgbWallets = 8
	tenants    = 6
	poorTenant = "tenant3" // whose card is declined each time
)

func tenantID(i int) string { return fmt.Sprint("tenant", i+1) }

// pass lets the day pass, and what it leaves open end.
func (d *day) pass(ctx context.Context) error {
	d.began = time.Now()
	ctx, stop := context.WithTimeoutCause(ctx, 10*d.length+5*time.Minute, errors.New("what is open does not end"))
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	ended := make(chan error, 1)
	all.Go(func() { ended <- d.out.run(ctx, d.length*6/10) })
	for i := range uint64(2) {
		all.Go(func() { d.worker(ctx, i == 0, rand.New(rand.NewPCG(d.seed, 10+i))) })
	}
	all.Go(func() { d.progress(ctx) })
	if err := d.traffic(ctx, rand.New(rand.NewPCG(d.seed, 20))); err != nil {
		return err
	}
	d.say("the day is over, and what is open ends")
	for open := "something"; open != "" && ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		if t, err := d.count(ctx); err == nil {
			open = d.open(t)
		}
	}
	cause := context.Cause(ctx)
	stop()
	return errors.Join(cause, <-ended)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// worker runs a worker again and again. Each life ends at a random moment: by a signal, or as the
// database sees a crash, at a random statement that was run or not. The next life begins at once,
// while handlers of the last one may still be calling somebody.
func (d *day) worker(ctx context.Context, scans bool, random *rand.Rand) {
	var dying sync.WaitGroup
	defer dying.Wait()
	for ctx.Err() == nil {
		conn, process, err := cutdb.Open("sqlite", dsn(d.db))
		var s *service
		if err == nil {
			s, err = openService(ctx, conn, d.out)
		}
		if err != nil {
			d.failed(ctx, err)
			wait(ctx, 100*time.Millisecond)
			continue
		}
		life, end := context.WithCancel(ctx)
		dying.Go(func() {
			err := s.work(life, scans)
			if life.Err() == nil {
				d.failed(ctx, err)
			}
			end()
			_ = s.close() // its connections may be gone
		})
		wait(life, d.length/20+time.Duration(random.Int64N(int64(d.length/10))))
		if time.Since(d.began) > d.length { // what is open ends with the last life
			<-life.Done()
			continue
		}
		if crash := random.IntN(4) > 0; crash && ctx.Err() == nil {
			process.Cut(1+random.IntN(100), random.IntN(2) == 0, "")
			for !process.Dead() && life.Err() == nil {
				wait(life, 5*time.Millisecond)
			}
		}
		end()
		d.mu.Lock()
		d.kills++
		d.mu.Unlock()
	}
}

// failed keeps the error of a worker that nobody has ended.
func (d *day) failed(ctx context.Context, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() == nil {
		d.faults = append(d.faults, fmt.Errorf("a worker ended by itself: %w", err))
	}
}

// traffic is what customers ask for during the day, and what people decide.
func (d *day) traffic(ctx context.Context, random *rand.Rand) error {
	for i := range tenants {
		if err := d.enroll(ctx, tenantID(i)); err != nil {
			return err
		}
	}
	const steps = 100
	left := orders
	for step := 0; (step < steps || left > 0) && ctx.Err() == nil; step++ {
		t, err := d.count(ctx)
		if err == nil && left > 0 && t.credited > 0 {
			left, err = left-1, d.order(ctx, random)
		}
		if err != nil {
			return err
		}
		if step%4 == 0 && step/4 < swapsIn {
			d.swapIn(ctx, step/4)
		}
		if step%5 == 0 && step < steps {
			d.invoice(ctx, step/5%rgbWallets)
		}
		for i := range tenants {
			if id := tenantID(i); step == steps/3 {
				if _, err := d.Tenants.Do(ctx, id, dunning.Issued{By: desk, Invoice: id + "-2", Amount: 2100}); err != nil {
					return err
				}
			}
		}
		wait(ctx, time.Until(d.began.Add(d.length*time.Duration(step+1)/steps)))
	}
	return ctx.Err()
}

// order is a withdrawal that a customer asks for, and what people say of it.
func (d *day) order(ctx context.Context, random *rand.Rand) error {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	customer := customers[random.IntN(len(customers))]
	order := withdrawal.Submitted{Request: id, ToAddress: fmt.Sprintf("0x%040x", random.Uint64()),
		Amount: fmt.Sprintf("%d.%03d", random.IntN(15), 1+random.IntN(999))}
	switch random.IntN(8) {
	case 0:
		order.ToAddress = node.Reverting // the payment is mined and moves nothing
	case 1:
		order.Amount = "100000" // more than anybody has
	}
	w, err := d.withdraw(ctx, customer, order)
	if errors.Is(err, errFunds) {
		d.refused++
		return nil
	}
	if err == nil && random.IntN(4) == 0 {
		w, err = d.withdraw(ctx, customer, order) // the customer got no answer: the same again
	}
	if err != nil {
		return err
	}
	switch dice := random.IntN(4); {
	case w.Request.Status == withdrawal.RequestPending && dice == 0:
		_, err = d.Withdrawals.Do(ctx, id, withdrawal.Rejected{By: approver, Reason: "unknown address"})
	case w.Request.Status == withdrawal.RequestPending:
		_, err = d.Withdrawals.Do(ctx, id, withdrawal.Approved{By: approver})
	case dice == 0:
		_, err = d.Withdrawals.Do(ctx, id, withdrawal.Cancelled{By: operator, Reason: "the customer changed their mind"})
		if errors.Is(err, statemachine.ErrIllegal) {
			err = nil
		}
	}
	return err
}

// swapIn has somebody send to the vault, on both chains. Some tell nobody where the other side is to
// be paid, and some name an account that is frozen: those are paid back.
func (d *day) swapIn(ctx context.Context, i int) {
	usdcTo, usddTo := fmt.Sprint("usdc-account-", i), fmt.Sprint("nexus:usdd-account-", i)
	switch i % 6 {
	case 2:
		usdcTo, usddTo = "", "for my sister"
	case 4:
		usdcTo, usddTo = "usdc-frozen", "nexus:usdd-frozen"
	}
	amount := uint64(10_000_000 + i*1_234_567)
	for c, t := range map[swap.Chain]chain.Transfer{
		swap.Solana: {ID: fmt.Sprint("deposit-", i), Token: usdc, Memo: usddTo},
		swap.Nexus:  {ID: fmt.Sprint("credit-", i), Token: usdd, Memo: usdcTo},
	} {
		t.From, t.To, t.Amount, t.Time = fmt.Sprint("sender-", i), vault, amount, time.Now().UTC()
		for d.swapper().Chain(c).Receive(ctx, t) != nil && ctx.Err() == nil {
			wait(ctx, blockEvery)
		}
	}
}

func (d *day) say(format string, args ...any) {
	hours := time.Since(d.began) * 24 / d.length
	fmt.Fprintf(d.print, "%02d:%02d  %s\n", hours, (time.Since(d.began)*24*60/d.length)%60, fmt.Sprintf(format, args...))
}

// progress says every three hours how far everything is, and after the day what is still open.
func (d *day) progress(ctx context.Context) {
	for {
		wait(ctx, d.length/8)
		t, err := d.count(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && time.Since(d.began) < d.length:
			d.say("block %d, %d deposits credited; of %d withdrawals %d ended; of %d swaps %d; of %d wallets' invoices %d; of %d bills %d; %d kills",
				t.tip, t.credited, t.requests, t.paid+t.givenBack, t.swaps, t.swapsEnded, t.watched, t.settled, t.bills, t.billsPaid, t.kills)
		case err == nil:
			d.say("still open:%s", d.open(t))
		}
	}
}
