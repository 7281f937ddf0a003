package simtest

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// Swaps are two chains and their customers. What is sent on Solana is on its way for a while and lands
// only up to its last valid height; Nexus takes a reference number once, when it is called. Neither
// takes back what landed.
type Swaps struct {
	*Sim
	Policy  swap.Policy
	service *store.Swaps
	items   map[swap.Direction][]string
	account map[string]swap.AccountState
	flight  []*Outbound
	sent    map[string]*Outbound // by signature, or "reference n"
	landed  []*Outbound
}

// Outbound is what the vault sends. On Solana it has a signature and a last valid height.
type Outbound struct {
	Chain                              swap.Chain
	Item, Signature, Destination, Memo string
	Reference                          uint64
	LastValid                          uint64
	Amount                             uint64

	id     string
	height uint64
	at     time.Time
}

// NewSwaps returns chains for hosts of a policy.
func NewSwaps(p swap.Policy) *Swaps {
	return &Swaps{Policy: p, items: map[swap.Direction][]string{}, account: map[string]swap.AccountState{}, sent: map[string]*Outbound{}}
}

// Chains are both chains, and what is asked of customers, as a process calls them.
type Chains struct {
	*Process
	of *Swaps
}

// Chains returns the chains for a process.
func (w *Swaps) Chains(p *Process) Chains { return Chains{p, w} }

// Height of a chain now.
func (c Chains) Height(ctx context.Context, of swap.Chain) (h uint64, err error) {
	err = c.Call(ctx, "height "+of.String(), func() { h = c.of.height() })
	return h, err
}

func (w *Swaps) height() uint64 { return uint64(time.Since(w.began)/time.Second) + 1 }

// Send hands an outbound over. Of Nexus id is that of the transaction.
func (c Chains) Send(ctx context.Context, out Outbound) (id string, err error) {
	key := out.key()
	err = c.Call(ctx, "send "+key, func() {
		if c.of.sent[key] != nil {
			id = c.of.sent[key].id
			return
		}
		o := &out
		c.of.sent[key] = o
		if o.id = o.Signature; o.Chain == swap.Nexus {
			o.id = fmt.Sprintf("%08x", 1<<20+len(c.of.sent))
			c.of.land(o)
		} else {
			c.of.flight = append(c.of.flight, o)
		}
		id = o.id
	})
	return id, err
}

func (o *Outbound) key() string {
	if o.Chain == swap.Nexus {
		return fmt.Sprint("reference ", o.Reference)
	}
	return o.Signature
}

func (w *Swaps) land(o *Outbound) {
	o.height, o.at = w.height(), w.now()
	w.landed = append(w.landed, o)
	w.Say("%s lands: %d to %s", o.key(), o.Amount, o.Destination)
	for _, other := range w.landed[:len(w.landed)-1] {
		if other.Item == o.Item {
			w.Errorf("%s is sent twice: %s and %s", o.Item, other.key(), o.key())
		}
	}
}

// now is the time of blocks, by the store's clock.
func (w *Swaps) now() (now time.Time) {
	w.Must(w.DB.View(context.Background(), func(tx store.Unit) (err error) { now, err = tx.Now(); return err }))
	return now
}

// Look looks an intent up: its sighting if it has landed, and the height before and after.
func (c Chains) Look(ctx context.Context, in *swap.Intent) (seen swap.Sighting, found bool, height uint64, err error) {
	key := (&Outbound{Chain: in.Chain, Signature: in.Signature, Reference: in.Reference}).key()
	err = c.Call(ctx, "look "+key, func() {
		height = c.of.height()
		if o := c.of.sent[key]; o != nil && o.height > 0 {
			seen, found = c.of.sighting(o), true
		}
	})
	return seen, found, height, err
}

func (w *Swaps) sighting(o *Outbound) swap.Sighting {
	s := swap.Sighting{VaultSigned: true, Chain: o.Chain, TxID: o.id, Memo: o.Memo, Reference: o.Reference, Amount: o.Amount,
		Destination: o.Destination, Token: w.Policy.USDC, Confirmations: (w.height() - o.height) / 10, Time: o.at}
	if o.Chain == swap.Nexus {
		s.Token = w.Policy.USDD
	}
	s.Finalized = s.Confirmations >= 4
	return s
}

// Memo of a deposit.
func (c Chains) Memo(ctx context.Context, deposit string) (memo string, err error) {
	err = c.Call(ctx, "memo "+deposit, func() {
		if c.of.account[deposit] != swap.AccountMissing {
			memo = "nexus:account-" + deposit
		}
	})
	return memo, err
}

// Account is the state of the account that an item would be paid to.
func (c Chains) Account(ctx context.Context, item string) swap.AccountState {
	state := swap.AccountUnknown
	if c.Call(ctx, "account "+item, func() { state = c.of.account[item] }) != nil {
		return swap.AccountUnknown
	}
	return state
}

// Open implements [World].
func (w *Swaps) Open(s *Sim) {
	w.Sim = s
	var err error
	w.service, err = store.NewSwaps(s.DB, w.Policy)
	s.Must(err)
	for _, chain := range swap.Chain(0).Values() {
		_, scan, err := w.service.Waterline(context.Background(), chain, true)
		s.Must(err)
		scan.From, scan.Complete, scan.Tip = scan.Began.Add(-time.Hour), true, scan.Began
		_, err = w.service.Scanned(context.Background(), chain, true, scan)
		s.Must(err)
	}
	for range 1 + s.IntN(3) {
		w.arrive()
	}
}

func (w *Swaps) by(r swap.Role) swap.By { return swap.By{Actor: "world", Role: r} }

// arrive is a payment of a customer.
func (w *Swaps) arrive() {
	d := swap.ToUSDD
	if w.IntN(2) == 0 {
		d = swap.ToUSDC
	}
	id := fmt.Sprintf("%d%d%s", d, len(w.items[d])+1, "aaaaaaaa")
	w.items[d] = append(w.items[d], id)
	w.account[id] = []swap.AccountState{swap.AccountUsable, swap.AccountFrozen, swap.AccountMissing}[max(0, w.IntN(5)-2)]
	ev := swap.Observed{By: w.by(swap.Observer), ID: id, Amount: 10_000_000 + uint64(w.IntN(1000)), From: "alice-" + id, Time: w.now(),
		Success: true, Finalized: true}
	if d == swap.ToUSDC {
		ev.To, ev.Owner = "treasury", "bob"
	}
	w.do(d, id, ev)
}

func (w *Swaps) do(d swap.Direction, id string, ev swap.Event) {
	var err error
	if d == swap.ToUSDD {
		_, err = w.service.Deposits.Do(context.Background(), id, ev)
	} else {
		_, err = w.service.Credits.Do(context.Background(), id, ev)
	}
	w.Say("%s: %T", id, ev)
	w.Must(err)
}

// Move implements [World].
func (w *Swaps) Move() {
	switch k := w.IntN(8); {
	case k == 0 && len(w.items[swap.ToUSDC])+len(w.items[swap.ToUSDD]) < 5:
		w.arrive()
	case k < 4 && len(w.flight) > 0:
		w.deliver(w.IntN(len(w.flight)), w.IntN(6) > 0)
	case k == 4 && len(w.landed) > 0: // a scanner tells of what it sees
		o := w.landed[w.IntN(len(w.landed))]
		w.Must(w.service.Outbound(context.Background(), w.by(swap.Observer), w.sighting(o)))
	}
}

func (w *Swaps) deliver(i int, arrives bool) {
	o := w.flight[i]
	w.flight = append(w.flight[:i:i], w.flight[i+1:]...)
	if arrives && w.height() <= o.LastValid {
		w.land(o)
	} else {
		w.Ends["never landed"]++
	}
}

// Settle implements [World].
func (w *Swaps) Settle() bool {
	for len(w.flight) > 0 {
		w.deliver(0, true)
	}
	for _, o := range w.landed {
		if s := w.sighting(o); s.Finalized && s.Confirmations >= uint64(w.Policy.FinalConfirmations) {
			w.Must(w.service.Outbound(context.Background(), w.by(swap.Observer), s))
		}
	}
	ended := true
	for _, r := range w.records() {
		i := r.Head()
		settled := true
		for k := range i.Intents {
			settled = settled && i.Intents[k].Settled()
		}
		ended = ended && settled && (r.Place() != swap.Unprocessed || i.Hold.Kind != 0)
	}
	return ended
}

func (w *Swaps) records() (all []swap.Record) {
	for _, id := range w.items[swap.ToUSDD] {
		d, err := w.service.Deposits.Get(context.Background(), id)
		w.Must(err)
		all = append(all, &d)
	}
	for _, id := range w.items[swap.ToUSDC] {
		c, err := w.service.Credits.Get(context.Background(), id)
		w.Must(err)
		all = append(all, &c)
	}
	return all
}

// Count implements [World].
func (w *Swaps) Count() {
	for _, r := range w.records() {
		i, sum := r.Head(), uint64(0)
		for _, o := range w.landed {
			if o.Item == i.ID {
				sum += o.Amount
			}
		}
		var m swap.Money
		switch r := r.(type) {
		case *swap.Deposit:
			w.Must(swap.CheckDeposit(*r))
			m = r.Money()
			w.Ends["deposit "+r.Status.String()]++
		case *swap.Credit:
			w.Must(swap.CheckCredit(*r))
			m = r.Money()
			w.Ends["credit "+r.Status.String()]++
		}
		if got := m.PaidOut + m.Refunded + m.Quarantined; got != sum {
			w.Errorf("%s: the chains paid %d, the record says %+v", i.ID, sum, m)
		}
		for _, d := range i.Discrepancies {
			if w.Ends[d.Kind.String()]++; d.Kind != swap.OutboundLost {
				w.Errorf("%s: nobody lied, and there is %+v", i.ID, d)
			}
		}
	}
}
