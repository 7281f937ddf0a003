package simtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Charges is a provider of payments, with customers who are charged for their invoices: some by card,
// some of whom pay by hand or change how they pay. The provider takes a key once.
type Charges struct {
	*Sim
	Policy  dunning.Policy
	Relays  relaysync.Policy
	service *store.Tenants
	tenants []string
	issued  int
	answers map[string]statemachine.Outcome // by key
	paid    map[string]int64                // by key
	hand    map[string]bool                 // invoices that were paid by hand
	notices map[string]int                  // by key
}

// NewCharges returns a provider; dunning.DefaultPolicy is that of its hosts.
func NewCharges(relays relaysync.Policy) *Charges {
	return &Charges{Policy: dunning.DefaultPolicy(), Relays: relays, answers: map[string]statemachine.Outcome{}, paid: map[string]int64{},
		hand: map[string]bool{}, notices: map[string]int{}}
}

// Provider is the provider as a process calls it.
type Provider struct {
	*Process
	of *Charges
}

// Provider returns the provider for a process.
func (c *Charges) Provider(p *Process) Provider { return Provider{p, c} }

// Charge takes an amount from a tenant under a key. An error: nobody knows.
func (p Provider) Charge(ctx context.Context, key string, amount int64) (outcome statemachine.Outcome, err error) {
	err = p.CallLate(ctx, "charge "+key, p.of.Policy.Linger, func() {
		if p.of.answers[key] == 0 {
			p.of.answers[key] = statemachine.Failed
			if p.of.calm || p.of.IntN(3) > 0 {
				p.of.answers[key], p.of.paid[key] = statemachine.Done, amount
			}
		}
		outcome = p.of.answers[key]
	})
	return outcome, err
}

// LookUp says what became of a charge; found is false where the provider has none under the key.
func (p Provider) LookUp(ctx context.Context, key string) (outcome statemachine.Outcome, found bool, err error) {
	err = p.Call(ctx, "look up "+key, func() { outcome = p.of.answers[key] })
	return outcome, outcome != 0, err
}

// Notify sends a message to a tenant.
func (p Provider) Notify(ctx context.Context, key string) error {
	return p.Call(ctx, "notify "+key, func() { p.of.notices[key]++ })
}

// Open implements [World].
func (c *Charges) Open(s *Sim) {
	c.Sim = s
	relays, err := store.NewRelays(s.DB, c.Relays)
	s.Must(err)
	c.service, err = store.NewTenants(s.DB, relays, c.Policy)
	s.Must(err)
	for i := range 1 + s.IntN(2) {
		id := fmt.Sprint("tenant", i)
		c.tenants = append(c.tenants, id)
		c.do(id, dunning.Enrolled{By: c.by(dunning.Host), Tenant: id, Method: dunning.Stripe})
		c.issue(id)
	}
}

func (c *Charges) by(r dunning.Role) dunning.By { return dunning.By{Actor: "world", Role: r} }

func (c *Charges) do(tenant string, ev dunning.Event) bool {
	_, err := c.service.Do(context.Background(), tenant, ev)
	c.Say("%s: %T: %v", tenant, ev, err)
	return err == nil
}

func (c *Charges) get(tenant string) dunning.Account {
	a, err := c.service.Get(context.Background(), tenant)
	c.Must(err)
	return a
}

func (c *Charges) issue(tenant string) {
	c.issued++
	c.do(tenant, dunning.Issued{By: c.by(dunning.Host), Invoice: fmt.Sprint("invoice", c.issued), Amount: int64(1 + c.IntN(3))})
}

// Move implements [World].
func (c *Charges) Move() {
	tenant := c.tenants[c.IntN(len(c.tenants))]
	a := c.get(tenant)
	i := &a.Invoices[c.IntN(len(a.Invoices))]
	switch c.IntN(8) {
	case 0:
		if c.issued < 5 {
			c.issue(tenant)
		}
	case 1:
		m := dunning.Method(0).Values()
		c.do(tenant, dunning.MethodSet{By: c.by(dunning.Host), Method: m[c.IntN(len(m))]})
	case 2:
		if !c.hand[i.ID] && i.Owed() && c.IntN(3) == 0 {
			c.hand[i.ID] = true
			c.Ends["paid by hand"]++
			if !c.do(tenant, dunning.Paid{By: c.by(dunning.Host), Invoice: i.ID, Method: dunning.Manual, Payment: "by hand " + i.ID}) {
				c.Errorf("money came for %s, and is not filed", i.ID)
			}
		}
	case 3:
		if i.Owed() && c.IntN(4) == 0 {
			c.do(tenant, dunning.Voided{By: c.by(dunning.Host), Invoice: i.ID})
		}
	case 4:
		if !a.Tenant.ChurnedAt.IsZero() {
			c.do(tenant, dunning.Reinstated{By: c.by(dunning.Host)})
		}
	}
	c.once()
}

// once: an invoice is charged at most once, whatever its keys are.
func (c *Charges) once() {
	for n := range c.issued {
		if keys := c.keys(fmt.Sprint("invoice", n+1)); len(keys) > 1 {
			c.Errorf("invoice %d is charged as %q", n+1, keys)
		}
	}
}

func (c *Charges) keys(invoice string) (keys []string) {
	for key := range c.paid {
		if strings.HasPrefix(key, invoice+"/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Settle implements [World].
func (c *Charges) Settle() bool {
	ended := true
	for _, tenant := range c.tenants {
		a := c.get(tenant)
		if !a.Tenant.ChurnedAt.IsZero() {
			c.do(tenant, dunning.Reinstated{By: c.by(dunning.Host)})
		}
		if a.Tenant.Method != dunning.Stripe {
			c.do(tenant, dunning.MethodSet{By: c.by(dunning.Host), Method: dunning.Stripe})
		}
		for k := range a.Invoices {
			ended = ended && !a.Invoices[k].Owed() && a.Invoices[k].Charge == dunning.ChargeNone
		}
	}
	return ended
}

// Count implements [World].
func (c *Charges) Count() {
	c.once()
	for _, tenant := range c.tenants {
		a := c.get(tenant)
		c.Must(dunning.Check(a))
		for k := range a.Invoices {
			i, charged := &a.Invoices[k], c.keys(a.Invoices[k].ID)
			c.Ends["invoice "+i.Status().String()]++
			known := append(i.Overpayments(), i.PaidKey)
			for _, key := range charged {
				if !slices.Contains(known, key) {
					c.Errorf("%s was charged as %s, and says %q", i.ID, key, known)
				}
			}
			if n := len(charged); n == 0 && !c.hand[i.ID] && !i.PaidAt.IsZero() {
				c.Errorf("%s says that %q paid it, and nobody did", i.ID, i.PaidKey)
			}
			if len(i.Overpayments()) > 0 {
				c.Ends["overpaid, and said so"]++
			}
		}
	}
}
