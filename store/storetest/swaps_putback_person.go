package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// order is what a person says of an item who knows what was paid for it.
func (c *swapsCopy) order(a *swapArrival) {
	r, _ := c.get(a)
	olga, i := swapsBy(swap.Operator), r.Head()
	paid := func(txid string) {
		k := slices.IndexFunc(c.txs, func(x *swapTx) bool { return x.TxID == txid })
		if x := c.txs[k]; x.of == a.ID {
			_ = c.do(a, swap.PaidBy{By: olga, Action: x.action, TxID: txid, Reason: "the chain shows it"})
		} else {
			_ = c.do(a, swap.NotSent{By: olga, TxID: txid, Reason: "it is another's"})
		}
	}
	switch {
	case i.Hold.Kind == swap.ByMismatch:
		for _, d := range i.Discrepancies {
			if d.Kind == swap.Mismatch && d.ClosedBy == "" {
				paid(d.TxID)
			}
		}
	case i.Hold.Kind == swap.ByRecovery:
		for _, x := range c.txs {
			if x.of == a.ID && !x.landed.IsZero() {
				paid(x.TxID)
			}
		}
		_ = c.do(a, swap.Released{By: olga})
	case i.Lost != 0 || r.State() == "quarantine failed":
		c.lookBack(a, r) // no worker is offered what is at rest
		_ = c.do(a, swap.Requeued{By: olga, Reason: "once more"})
	}
}

// recover follows docs/restore.md, but for what is skipped, and works to the end. The error says
// what is wrong outside.
func (c *swapsCopy) recover(t testing.TB, skips string) error {
	by := swapsBy(swap.Operator)
	all := func(errs ...error) error { return errors.Join(errs...) }
	c.lies = skips == saysLatest
	if skips != skipsRestored {
		db, whole := putBack(t, c.db)
		c.over(t, db)
		c.pass(c.now)
		if !whole {
			_ = must(c.swaps.Restored(ctx, by))(t)
		}
		p := swaptest.Policy()
		c.pass(c.now.Add(p.WaterlineMargin + p.Lease + p.CallTimeout + time.Second))
		if !c.lies {
			c.chains(3)
			c.pass(c.now.Add(2 * time.Minute))
		}
		if err := c.missing(skips); err != nil {
			return err
		}
		_, err1 := c.swaps.BooksRead(ctx, by)
		err2 := c.scan()
		chains := must(store.NewSwitches(c.db))(t)
		for _, d := range swap.Direction(0).Values() {
			_, err := chains.Start(ctx, endedEvent(swap.Scope(d)))
			err2 = all(err2, err)
		}
		if err := all(err1, err2); err != nil {
			return err
		}
	}
	ended := false
	for range 400 {
		c.pass(c.now.Add(31 * time.Second))
		ended = true
		for k := range c.came {
			a := &c.came[k]
			_ = c.do(a, a.Observed)
			c.work(a)
			c.order(a)
			r, step := c.get(a)
			ended = ended && r.Head().Version > 0 && r.Place() != swap.Unprocessed && len(step.Tasks) == 0 &&
				!slices.ContainsFunc(r.Head().Intents, func(in swap.Intent) bool { return !in.Settled() })
		}
		if ended {
			break
		}
	}
	c.chains(1 << 30) // what could land still, and was said to be gone
	for k := range c.came {
		a, n := &c.came[k], 0
		for _, x := range c.txs {
			if x.of == a.ID && !x.landed.IsZero() {
				n++
			}
		}
		if r, step := c.get(a); n != 1 || !ended {
			return fmt.Errorf("%s is paid %d times, ended %v: %+v owes %+v (%v)", a.ID, n, ended, r, step, c.last)
		}
	}
	return nil
}

// missing stores what RecoverMissing makes of both chains.
func (c *swapsCopy) missing(skips string) error {
	lost := swap.Lost{Solana: c.history(swap.Solana), Nexus: c.history(swap.Nexus)}
	for _, a := range c.came {
		if a.direction == swap.ToUSDD {
			lost.Deposits = append(lost.Deposits, swap.LostDeposit{Observed: a.Observed, Memo: a.memo})
		} else {
			lost.Credits = append(lost.Credits, a.Observed)
		}
	}
	found := swaptest.Policy().RecoverMissing(lost, swapsBy(swap.System))
	for _, ev := range slices.Concat(found.Deposits, found.Credits) {
		k := slices.IndexFunc(c.came, func(a swapArrival) bool { return a.ID == ev.Observed.ID })
		if r, _ := c.get(&c.came[k]); r.Head().Version == 0 {
			if err := c.do(&c.came[k], ev); err != nil {
				return err
			}
		}
	}
	if skips == skipsMissing {
		return nil
	}
	_, err := c.swaps.MissingSaid(ctx, swapsBy(swap.Operator))
	return err
}
