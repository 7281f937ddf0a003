package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// What a person does after a restore that docs/restore.md does not say.
const (
	skipsRestored = "nobody says that the copy was restored"
	skipsMissing  = "nobody says MissingSaid"
	saysLatest    = "what is on its way still is said to be gone"
)

// copiesOfSwaps: copies are made after commits of random histories of swaps, and everything after a copy is lost.
// For each copy a person who tells the truth follows docs/restore.md; then the copy is worked to its end, while the
// chains go on with what was handed over. On the chains each item is paid, refunded or put aside exactly once. A
// procedure with one of skips left out must fail on some copy: otherwise the test could see nothing.
func copiesOfSwaps(t *testing.T, open func(testing.TB) store.Store[store.SwapUnit], histories uint64, steps, copies int, skips ...string) {
	for _, skip := range skips {
		made, wrong := 0, 0
		for seed := range histories {
			h := swapsHistory(t, open(t), seed, steps)
			every := max(1, len(h.steps)/copies)
			for k := 0; k <= len(h.steps); k += every {
				made++
				t.Run(fmt.Sprintf("history %d, after %d of %d commits", seed, k, len(h.steps)), func(t *testing.T) {
					if err := h.copyAt(t, open(t), k).recover(t, skip); err != nil {
						if wrong++; skip == "" {
							t.Error(err)
						}
					}
				})
			}
		}
		if skip != "" && wrong == 0 {
			t.Errorf("%s, and %d copies are right", skip, made)
		}
	}
}

// swapTx is what the vault signed and handed over: in flight, then landed or dead.
type swapTx struct {
	of     string // the item that it pays
	action swap.Action
	until  uint64 // Solana: the last height at which it lands
	dead   bool
	landed time.Time
	swap.Sighting
}

// swapsOutside is what no restore takes back.
type swapsOutside struct {
	came []swapArrival
	txs  []*swapTx
}

type swapArrival struct {
	swap.Observed
	direction swap.Direction
	memo      string
}

// flies reports whether something may still land.
func (o *swapsOutside) flies() bool {
	return slices.ContainsFunc(o.txs, func(x *swapTx) bool { return !x.dead && x.landed.IsZero() })
}

// swapsStep is one commit, at its time.
type swapsStep struct {
	at time.Time
	do func(*swapsCopy) error
}

// swapsLost is a history, and the store in which it happens for the first time.
type swapsLost struct {
	*swapsCopy
	steps []swapsStep
}

// swapsCopy is one store with its clock.
type swapsCopy struct {
	db    store.Store[store.SwapUnit]
	swaps *store.Swaps
	now   time.Time
	rand  *rand.Rand
	*swapsOutside
	step  func(do func(*swapsCopy) error) error // keeps what is done, in the first store
	flaky bool                                  // workers crash, and transactions are on their way for a while
	lies  bool                                  // of what may still land
	last  error
}

func newSwapsCopy(t testing.TB, db store.Store[store.SwapUnit], seed, k uint64, out *swapsOutside) *swapsCopy {
	t.Helper()
	c := &swapsCopy{rand: rand.New(rand.NewPCG(seed, k)), swapsOutside: out}
	c.over(t, db)
	c.pass(swaptest.Start)
	c.step = func(do func(*swapsCopy) error) error {
		err := do(c)
		if err != nil {
			c.last = err
		}
		return err
	}
	return c
}

// over goes on with another store.
func (c *swapsCopy) over(t testing.TB, db store.Store[store.SwapUnit]) {
	c.db, c.swaps = db, must(store.NewSwaps(db, swaptest.Policy()))(t)
}

// pass sets the clock.
func (c *swapsCopy) pass(to time.Time) {
	c.now = to
	dated(c.db, to)
}

func swapsHistory(t testing.TB, db store.Store[store.SwapUnit], seed uint64, steps int) *swapsLost {
	t.Helper()
	h := &swapsLost{swapsCopy: newSwapsCopy(t, db, seed, 1<<32, &swapsOutside{})}
	h.flaky = true
	h.step = func(do func(*swapsCopy) error) error {
		at := h.now
		err := do(h.swapsCopy)
		if err == nil {
			h.steps = append(h.steps, swapsStep{at, do})
		}
		return err
	}
	noError(t, h.scan())
	for range 20 * steps {
		if len(h.steps) >= steps {
			break
		}
		h.pass(h.now.Add(time.Duration(1+h.rand.IntN(60)) * time.Second))
		switch h.rand.IntN(12) {
		case 0:
			if len(h.came) < 8 {
				h.arrive(swap.Direction(1 + h.rand.IntN(2)))
			}
		case 1:
			h.chains(3)
		default:
			if len(h.came) > 0 {
				h.work(&h.came[h.rand.IntN(len(h.came))])
			}
		}
	}
	// The last item's payment is on its way at the loss.
	h.arrive(swap.ToUSDD)
	last := &h.came[len(h.came)-1]
	last.memo = "nexus:dora"
	for n := len(h.txs); len(h.txs) == n; h.pass(h.now.Add(31 * time.Second)) {
		h.work(last)
	}
	h.txs[len(h.txs)-1].landed = time.Time{}
	return h
}

// copyAt makes the first k commits again. The chains are where they are after the last one.
func (h *swapsLost) copyAt(t testing.TB, db store.Store[store.SwapUnit], k int) *swapsCopy {
	t.Helper()
	out := &swapsOutside{came: h.came}
	for _, x := range h.txs {
		of := *x
		out.txs = append(out.txs, &of)
	}
	c := newSwapsCopy(t, db, uint64(len(h.steps)), uint64(k), out)
	for _, s := range h.steps[:k] {
		c.pass(s.at)
		if err := s.do(c); err != nil {
			t.Fatalf("commit %v is made again: %v", s.at, err)
		}
	}
	c.pass(h.now.Add(time.Minute))
	return c
}

func swapsBy(r swap.Role) swap.By { return swap.By{Actor: r.String(), Role: r} }

func (c *swapsCopy) height() uint64 { return uint64(c.now.Sub(swaptest.Start)/time.Second) + 1 }

func (c *swapsCopy) do(a *swapArrival, events ...swap.Event) error {
	d, id := a.direction, a.ID
	return c.step(func(c *swapsCopy) (err error) {
		if d == swap.ToUSDD {
			_, err = c.swaps.Deposits.Do(ctx, id, events...)
		} else {
			_, err = c.swaps.Credits.Do(ctx, id, events...)
		}
		return err
	})
}

// arrive is a new item. Some have the same payee and the same amount.
func (c *swapsCopy) arrive(d swap.Direction) {
	n := len(c.came)
	a := swapArrival{direction: d, memo: fmt.Sprint("nexus:carol", n%2), Observed: swap.Observed{By: swapsBy(swap.Observer),
		ID: fmt.Sprint("sig", n), Amount: 10_000_000 + uint64(n/4), From: fmt.Sprint("alice", n), Time: c.now.Truncate(time.Second),
		Success: true, Finalized: true}}
	switch {
	case d == swap.ToUSDC:
		a.ID, a.To, a.Owner = fmt.Sprintf("ab%02x", n), "treasury", fmt.Sprint("bob", n)
	case c.rand.IntN(4) == 0:
		a.memo = "hello" // it is refunded
	}
	c.came = append(c.came, a)
	_ = c.do(&a, a.Observed)
}

// chains go on by themselves: what is in flight lands, or one time in some never does.
func (c *swapsCopy) chains(some int) {
	for _, x := range c.txs {
		if x.dead || !x.landed.IsZero() || c.flaky && c.rand.IntN(2) == 0 {
			continue
		}
		if x.dead = x.until > 0 && c.height() > x.until || c.rand.IntN(some) == 0; !x.dead {
			x.landed = c.now
		}
	}
}

func (c *swapsCopy) seen(x *swapTx) swap.Sighting {
	s := x.Sighting
	s.Time = x.landed
	if s.Confirmations = 1; c.now.Sub(x.landed) > time.Minute {
		s.Confirmations, s.Finalized = 100, true
	}
	return s
}

func (c *swapsCopy) view(from time.Time, cannotLand bool) swap.View {
	return swap.View{From: from, Asked: c.now, ByID: true, ByMemo: true, Before: c.height(), After: c.height(), CannotLand: cannotLand}
}

func (c *swapsCopy) history(chain swap.Chain) swap.History {
	h := swap.History{Chain: chain, View: c.view(swaptest.Start.Add(-48*time.Hour), c.lies || !c.flies())}
	for _, x := range c.txs {
		if x.Chain == chain && !x.landed.IsZero() {
			h.Outbound = append(h.Outbound, c.seen(x))
		}
	}
	return h
}

// scan reads the vault's own history on both chains.
func (c *swapsCopy) scan() error {
	var all []error
	for _, chain := range swap.Chain(0).Values() {
		for _, x := range c.history(chain).Outbound {
			all = append(all, c.swaps.Outbound(ctx, swapsBy(swap.Observer), x))
		}
		complete := c.lies || !c.flies()
		all = append(all, c.step(func(c *swapsCopy) error {
			_, s, err := c.swaps.Waterline(ctx, chain, true)
			if s.Complete, s.Tip = complete, c.now; s.From.IsZero() {
				s.From = swaptest.Start.Add(-48 * time.Hour)
			}
			_, err2 := c.swaps.Scanned(ctx, chain, true, s)
			return errors.Join(err, err2)
		}))
	}
	return errors.Join(all...)
}

// get is an item as it is stored, and what it owes.
func (c *swapsCopy) get(a *swapArrival) (r swap.Record, step swap.Step) {
	if a.direction == swap.ToUSDD {
		d, _ := c.swaps.Deposits.Get(ctx, a.ID)
		step, _, _ = c.swaps.Deposits.Next(ctx, a.ID)
		return &d, step
	}
	cr, _ := c.swaps.Credits.Get(ctx, a.ID)
	step, _, _ = c.swaps.Credits.Next(ctx, a.ID)
	return &cr, step
}

// work does what an item owes, truthfully.
func (c *swapsCopy) work(a *swapArrival) {
	r, step := c.get(a)
	if r.Head().Version == 0 {
		return
	}
	worker := swapsBy(swap.Worker)
	for _, t := range step.Tasks {
		switch t.Do {
		case swap.FetchMemo:
			_ = c.do(a, swap.MemoFetched{By: worker, Memos: []string{a.memo}})
		case swap.CheckAccount:
			_ = c.do(a, swap.AccountChecked{By: worker, State: swap.AccountUsable})
		case swap.LookUpMapping:
			_ = c.do(a, swap.MappingLooked{By: worker, Asked: c.now, Finding: swap.MappingFound, TxID: a.ID, Owner: a.Owner,
				Account: "usdc-" + a.Owner})
		case swap.CountConfirmations:
			_ = c.do(a, swap.Confirmations{By: swapsBy(swap.Observer), Asked: c.now, Count: 12})
		case swap.Tell:
			_ = c.do(a, swap.Elapsed{By: worker})
		case swap.LookUp:
			c.lookUp(a, r.Head().Intent(t.Number))
		case swap.LookBack:
			c.lookBack(a, r)
		case swap.Begin:
			c.begin(a, t)
		}
	}
}

func (c *swapsCopy) lookUp(a *swapArrival, in *swap.Intent) {
	ev := swap.Looked{By: swapsBy(swap.Worker), Number: in.Number, Finding: swap.LookFound, View: swap.View{Asked: c.now}}
	k := slices.IndexFunc(c.txs, func(x *swapTx) bool {
		if in.Chain == swap.Solana || in.TxID != "" {
			return x.Chain == in.Chain && x.TxID == max(in.Signature, in.TxID)
		}
		return x.Chain == in.Chain && x.Reference == in.Reference
	})
	if k >= 0 && !c.txs[k].landed.IsZero() {
		ev.Seen = c.seen(c.txs[k])
	} else {
		ev.Finding, ev.View = swap.LookMissing, c.view(swaptest.Start.Add(-48*time.Hour), c.lies || k < 0 || c.txs[k].dead)
	}
	_ = c.do(a, ev)
}

func (c *swapsCopy) lookBack(a *swapArrival, r swap.Record) {
	control, _ := c.swaps.Control(ctx)
	p, by := swaptest.Policy(), swapsBy(swap.Observer)
	var events []swap.Event
	switch r := r.(type) {
	case *swap.Deposit:
		events = p.RecoverDeposit(*r, control, nil, by, c.history(swap.Solana), c.history(swap.Nexus))
	case *swap.Credit:
		events = p.RecoverCredit(*r, control, nil, by, c.history(swap.Solana), c.history(swap.Nexus))
	}
	for _, ev := range events {
		_ = c.do(a, ev)
	}
}

// begin puts an intent on file and hands it over.
func (c *swapsCopy) begin(a *swapArrival, t swap.Task) {
	worker := swapsBy(swap.Worker)
	_ = c.do(a, swap.Claimed{By: worker})
	r, _ := c.get(a)
	ev := swap.Begun{By: worker, Fence: r.Head().Lease.Fence, Number: t.Number, Action: t.Action}
	if t.Chain == swap.Solana {
		ev.Signature, ev.LastValid = fmt.Sprint("S", len(c.txs), "-", a.ID, "-", t.Number), c.height()+90
	}
	if c.do(a, ev) != nil {
		return
	}
	if c.flaky && c.rand.IntN(4) == 0 { // a worker dies
		return
	}
	r, _ = c.get(a)
	in := r.Head().Intent(t.Number)
	x := &swapTx{of: a.ID, action: t.Action, until: ev.LastValid, Sighting: swaptest.Sighting(in, false)}
	if in.Chain == swap.Nexus {
		x.TxID = fmt.Sprintf("cc%04x", len(c.txs))
	}
	if c.txs = append(c.txs, x); !c.flaky || c.rand.IntN(2) == 0 {
		x.landed = c.now
	}
	if c.flaky && c.rand.IntN(3) == 0 {
		return
	}
	answer := swap.Answered{By: worker, Fence: ev.Fence, Number: t.Number, Outcome: statemachine.Done, TxID: x.TxID}
	if c.flaky && x.landed.IsZero() {
		answer.Outcome, answer.TxID = statemachine.Unknown, ""
	}
	_ = c.do(a, answer, swap.GivenBack{By: worker, Fence: ev.Fence})
}
