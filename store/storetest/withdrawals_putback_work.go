package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// recover follows the procedure, works to the end, and says what is wrong then.
func (c *putCopy) recover() error {
	if err := c.settle(); err != nil {
		return fmt.Errorf("it is not settled: %w", err)
	}
	if err := c.work(); err != nil {
		return fmt.Errorf("it is not worked to its end: %w", err)
	}
	paid := map[string]int{}
	for _, x := range c.mined {
		for _, r := range x.pays {
			paid[r]++
		}
	}
	for _, r := range c.requests {
		w := c.get(r)
		want := 0
		if w.Request.Status == withdrawal.RequestCompleted {
			want = 1
		}
		open := w.Request.Status == withdrawal.RequestApproved || w.Request.Status == withdrawal.RequestQueued
		if paid[r] != want || open || w.Request.Status != 0 && withdrawal.Check(w) != nil {
			return fmt.Errorf("%s is %v, its job %v, and was paid %d times: %v", r, w.Request.Status, w.Job.Status, paid[r], withdrawal.Check(w))
		}
	}
	return nil
}

// settle is steps 3 to 7 of the page.
func (c *putCopy) settle() error {
	olga := role(withdrawal.Operator)
	for _, r := range c.requests { // the leases of processes that have ended
		_ = c.do(r, withdrawal.Revoked{By: olga, Revocation: statemachine.Revocation{Holder: worker1, Reason: "ended"}})
	}
	chains, err := store.NewSwitches(c.w.Store)
	if err != nil {
		return err
	}
	for range 400 {
		for _, r := range c.requests { // look-ups go on; what is refused is looked up again
			_ = c.look(r, c.mined)
		}
		_, err := chains.Start(ctx, endedEvent(switches.Chain(c.chain)))
		of := new(withdrawal.UnsettledError)
		if err == nil { // a look-up may have met what was not told yet, which has switched it off
			return c.service.PutHotWallet(ctx, olga,
				withdrawal.HotWallet{ID: c.wallet, Chain: c.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive})
		}
		if !errors.As(err, &of) {
			return err
		}
		var ev withdrawal.Event
		switch o := of.Open; o.Point {
		case withdrawal.OpenBooks:
			ev = withdrawal.BooksRead{By: olga, Chain: c.chain, Since: c.madeAt, Reason: "read"}
		case withdrawal.OpenBound:
			ev = c.bound()
		case withdrawal.OpenNonce:
			c.use(fmt.Sprint(c.next), &signedTx{hash: fmt.Sprint("self ", c.next), nonce: c.next})
			ev = withdrawal.AtDepth{By: olga, Wallet: c.wallet, Block: deepest, Next: c.next}
		case withdrawal.OpenUntold:
			ev = c.told(fmt.Sprint(o.Number))
		case withdrawal.OpenCoin:
			if c.mined[o.Coin] == nil {
				c.use(o.Coin, &signedTx{hash: "sweep of " + o.Coin, input: o.Coin, change: "swept " + o.Coin})
			}
			ev = c.told(o.Coin)
		case withdrawal.OpenTransfer:
			for _, x := range c.signed {
				if x.hash == o.Hash {
					if err := c.explain(x, uint32(o.Number)); err != nil {
						return fmt.Errorf("%v: %w", o, err)
					}
				}
			}
			continue
		}
		if err := c.service.Say(ctx, ev); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: something stays open", statemachine.ErrIllegal)
}

// use has the chain mine what uses a nonce or a coin: what was signed, or the person's own.
func (c *putCopy) use(what string, own *signedTx) {
	all := []*signedTx{own}
	for _, x := range c.signed {
		if x.uses() == what && c.can(x) {
			all = append(all, x)
		}
	}
	c.mine(all[c.rand.IntN(len(all))])
}

func (c *putCopy) bound() withdrawal.Bound {
	b := withdrawal.Bound{By: role(withdrawal.Operator), Wallet: c.wallet, Source: withdrawal.SignerLog, Reason: "line 1"}
	if !c.nonces {
		b.Coins = slices.Clone(firstCoins)
		if c.lie == lieBound { // the last coin that something may spend is left out
			for i, coin := range b.Coins {
				if slices.ContainsFunc(c.signed, func(x *signedTx) bool { return x.input == coin }) {
					b.Coins = slices.Delete(b.Coins, i, i+1)
					break
				}
			}
		}
		b.NoCoins = len(b.Coins) == 0
		return b
	}
	for _, x := range c.signed {
		b.Through = max(b.Through, x.nonce+1)
	}
	if c.lie == lieBound && b.Through > 0 {
		b.Through--
	}
	return b
}

// told is what the person tells of the transaction that used a nonce or a coin.
func (c *putCopy) told(what string) withdrawal.Used {
	x := c.mined[what]
	shown := x
	if c.lie == lieLatest && !c.lied && len(x.pays) > 0 && !c.onFile(x, 0) {
		// A block showed the person's own transfer, and was replaced by one with what was signed.
		shown, c.lied = &signedTx{hash: "seen before " + x.hash, nonce: x.nonce, input: x.input}, true
	}
	e := withdrawal.Used{By: role(withdrawal.Operator), Wallet: c.wallet, Block: deepest, Nonce: shown.nonce, Tx: shown.hash}
	if !c.nonces {
		e.Inputs = []string{shown.input}
		if slices.Contains(c.signed, shown) {
			e.Coins = []string{shown.change}
		}
	}
	for _, t := range shown.transfers() {
		if c.lie == lieUntold && !c.lied && !c.onFile(x, t.Output) {
			c.lied = true
			continue
		}
		e.Transfers = append(e.Transfers, withdrawal.UsedTransfer{Transfer: t})
	}
	return e
}

// onFile reports whether the copy knows whom an output pays.
func (c *putCopy) onFile(x *signedTx, output uint32) bool {
	w := c.get(x.pays[output])
	return slices.ContainsFunc(w.Txs, func(t withdrawal.Tx) bool { return t.Hash == x.hash }) ||
		slices.ContainsFunc(w.Strays, func(s withdrawal.Stray) bool { return s.Hash == x.hash })
}

// explain tells the request that an output pays, by the table of the page.
func (c *putCopy) explain(x *signedTx, output uint32) error {
	r := x.pays[output]
	w := c.get(r)
	switch w.Request.Status {
	case 0, withdrawal.RequestPending, withdrawal.RequestApproved, withdrawal.RequestFailed:
		s := c.submission(r)
		return c.do(r, withdrawal.Imported{By: s.By, Request: s.Request, User: s.User, Asset: s.Asset, Chain: s.Chain,
			ToAddress: s.ToAddress, Amount: s.Amount,
			Job: c.id("import " + x.hash + r), AssetOnChain: tokenOnChain, Hash: x.hash, ByOutput: true, Output: output,
			Wallets: []withdrawal.HotWallet{{ID: c.wallet, Chain: c.chain}}})
	}
	return c.paidBy(r, x, output)
}

func (c *putCopy) paidBy(r string, x *signedTx, output uint32) error {
	return c.do(r, withdrawal.PaidBy{By: role(withdrawal.Operator), Block: deepest, Tx: x.hash, Output: output, Payee: "payee of " + r,
		AssetOnChain: tokenOnChain, AmountRaw: "5", Reason: "in the log"})
}

// unsaid is a copy of which nobody said that it was put back: what was signed is mined, and the wallet is off by
// the first payment. The person says what the chain shows, and whom it paid, each time that it is asked.
func (c *putCopy) unsaid() error {
	for _, r := range c.requests { // the leases of processes that have ended
		_ = c.do(r, withdrawal.Revoked{By: role(withdrawal.Operator), Revocation: statemachine.Revocation{Holder: worker1, Reason: "ended"}})
	}
	c.asked = true
	if err := c.work(); err != nil {
		return fmt.Errorf("it is not worked to its end: %w", err)
	}
	paid := map[string]int{}
	for _, x := range c.mined {
		for _, r := range x.pays {
			paid[r]++
		}
	}
	for _, r := range c.requests {
		w := c.get(r)
		known := w.Request.Status == withdrawal.RequestCompleted || w.Request.Mined != "" // what has ended unpaid nobody asks for
		open := w.Request.Status == withdrawal.RequestApproved || w.Request.Status == withdrawal.RequestQueued
		if paid[r] > 1 || known && paid[r] != 1 || open && !known || w.Request.Status != 0 && withdrawal.Check(w) != nil {
			return fmt.Errorf("%s is %v, its job %v, mined %q, and was paid %d times: %v", r, w.Request.Status, w.Job.Status,
				w.Request.Mined, paid[r], withdrawal.Check(w))
		}
	}
	return nil
}

// explained says what is asked of the wallet until it can be switched on.
func (c *putCopy) explained() error {
	olga := role(withdrawal.Operator)
	on := withdrawal.HotWallet{ID: c.wallet, Chain: c.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	for range 400 {
		err, of := c.service.PutHotWallet(ctx, olga, on), new(withdrawal.UnsettledError)
		if !errors.As(err, &of) {
			return err
		}
		switch o := of.Open; o.Point {
		case withdrawal.OpenUntold:
			err = c.service.Say(ctx, c.told(fmt.Sprint(o.Number)))
		case withdrawal.OpenTransfer:
			x := c.signed[slices.IndexFunc(c.signed, func(x *signedTx) bool { return x.hash == o.Hash })]
			r := x.pays[o.Number]
			if s := c.get(r).Request.Status; s == 0 || s == withdrawal.RequestPending { // nothing of it can be paid before
				err = c.explain(x, uint32(o.Number))
			} else {
				err = c.paidBy(r, x, uint32(o.Number))
			}
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: something stays open", statemachine.ErrIllegal)
}

// work pays what is to be paid, while the chain mines whatever can be mined.
func (c *putCopy) work() error {
	for round := range 60 {
		busy := false
		for able := c.able(); len(able) > 0; able = c.able() {
			c.mine(able[c.rand.IntN(len(able))])
		}
		for _, r := range c.requests {
			if c.look(r, c.mined) == nil {
				busy = true
			}
			w := c.get(r)
			var err error
			switch {
			case w.Request.Status == withdrawal.RequestPending:
				err = c.do(r, withdrawal.Approved{By: role(withdrawal.Approver)})
			case w.Request.Status == withdrawal.RequestApproved && w.Request.Mined != "": // an operator's
				continue
			case w.Request.Status == withdrawal.RequestApproved:
				err = c.do(r, withdrawal.Enqueued{By: role(withdrawal.System), Job: c.id(fmt.Sprint("work ", round, r)), AssetOnChain: tokenOnChain,
					Priority: withdrawal.Normal})
			case w.Job.Status == withdrawal.JobPending:
				err = c.paysNow(r, w)
			default:
				continue
			}
			if c.asked && (errors.Is(err, withdrawal.ErrOnHold) || errors.Is(err, withdrawal.ErrNoHotWallet)) {
				if got := c.get(r).Job; got.ID == w.Job.ID && got.RetryCount != w.Job.RetryCount {
					return fmt.Errorf("the refusal has cost an attempt: %w", err)
				}
				err = c.explained()
			}
			if err != nil {
				return err
			}
			busy = true
		}
		if !busy {
			return nil
		}
	}
	return fmt.Errorf("%w: it never ends", statemachine.ErrIllegal)
}

func (c *putCopy) paysNow(r string, w withdrawal.Withdrawal) error {
	x := &signedTx{hash: fmt.Sprint("new ", len(c.signed)), nonce: c.next, pays: []string{r}}
	if !c.nonces {
		i := slices.IndexFunc(c.coins, func(coin string) bool {
			return !slices.ContainsFunc(c.signed, func(o *signedTx) bool { return o.input == coin })
		})
		if i < 0 {
			return fmt.Errorf("%w: no coin", statemachine.ErrIllegal)
		}
		x.nonce, x.input, x.change = 0, c.coins[i], x.hash+":c"
	}
	if err := c.do(r, withdrawal.Claimed{By: workerAt(time.Time{})}); err != nil {
		return err
	}
	if err := c.do(r, c.prepared(r, x, c.next)); err != nil {
		return err
	}
	c.signed = append(slices.Clone(c.signed), x)
	c.mine(x)
	return c.do(r, withdrawal.Broadcast{By: workerAt(time.Time{}), Fence: c.get(r).Job.Lease.Fence, Hash: x.hash},
		withdrawal.Receipt{By: role(withdrawal.ConfirmationWorker), Block: deepest, Tx: x.hash})
}
