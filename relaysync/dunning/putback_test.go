package dunning_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// outside is what no copy of the database puts back: the provider, and the host's own books.
type outside struct {
	done    map[string][]time.Time // charges by key
	refused map[string]time.Time
	wires   map[string]int // of invoices
	said    []dunning.Event
}

func (o *outside) payments(invoice string) (n int) {
	for key, all := range o.done {
		if strings.HasPrefix(key, invoice+"/") {
			n += len(all)
		}
	}
	return n + o.wires[invoice]
}

// charge is what the provider does with a charge. It answers one key once a day, and has forgotten the key then.
func (o *outside) charge(key string, now time.Time, declines bool) statemachine.Outcome {
	recent := func(at time.Time) bool { return now.Sub(at) < day }
	switch all := o.done[key]; {
	case len(all) > 0 && recent(all[len(all)-1]):
	case recent(o.refused[key]) || declines:
		o.refused[key] = now
		return statemachine.Failed
	default:
		o.done[key] = append(all[:len(all):len(all)], now)
	}
	return statemachine.Done
}

// house is a biller with its database, which is an account.
type house struct {
	t *testing.T
	*outside
	a    dunning.Account
	now  time.Time
	r    *rand.Rand // nil: nothing goes wrong any more
	late []dunning.Event
	keep func() // after each commit
}

func (h *house) chance(of int) bool { return h.r != nil && h.r.IntN(of) == 0 }

// do sends an event at the present time, and reports whether it was taken.
func (h *house) do(ev dunning.Event) error {
	h.t.Helper()
	c, err := policy.ApplyAt(h.a, ev, h.now)
	if err != nil {
		return err
	}
	if err := dunning.Check(c.New); err != nil {
		h.t.Fatalf("%T: %v", ev, err)
	}
	h.a = c.New
	if h.keep != nil && !c.Empty() {
		h.keep()
	}
	return nil
}

func (h *house) must(ev dunning.Event) {
	h.t.Helper()
	if err := h.do(ev); err != nil {
		h.t.Fatalf("%T %+v: %v", ev, ev, err)
	}
}

// host says something that the host's own books keep.
func (h *house) host(ev dunning.Event) {
	if h.do(ev) == nil {
		h.said = append(h.said, ev)
	}
}

// work does what is owed now, or lets time pass.
func (h *house) work() {
	h.t.Helper()
	biller, host := dunning.By{Actor: "biller", Role: dunning.Biller}, dunning.By{Actor: "host", Role: dunning.Host}
	h.must(dunning.StepBegun{By: biller})
	step := policy.Next(h.a, h.now)
	do := step.Action
	if do == nil {
		pass := time.Hour
		if !step.Due.IsZero() {
			pass = min(pass, max(time.Minute, step.Due.Sub(h.now)))
		}
		h.now = h.now.Add(pass)
		return
	}
	switch do.Do {
	case dunning.DoCharge:
		h.must(dunning.ChargeIntended{By: biller, Invoice: do.Invoices[0], Key: do.Key})
		if h.chance(4) {
			return // the process dies before it charges
		}
		answer := dunning.ChargeAnswered{By: biller, Invoice: do.Invoices[0], Key: do.Key,
			Outcome: h.charge(do.Key, h.now, h.chance(3)), Error: "declined"}
		if h.chance(4) {
			return // or before it knows
		}
		if h.chance(4) {
			answer.Outcome = statemachine.Unknown
		}
		h.must(answer)
	case dunning.DoLookUp:
		answer := dunning.ChargeAnswered{By: biller, Invoice: do.Invoices[0], Key: do.Key}
		switch {
		case len(h.done[do.Key]) > 0:
			answer.Outcome = statemachine.Done
		case !h.refused[do.Key].IsZero():
			answer.Outcome = statemachine.Failed
		default:
			h.must(dunning.ChargeMissing{By: biller, Invoice: do.Invoices[0], Key: do.Key, Asked: h.now})
			return
		}
		h.must(answer)
	case dunning.DoLookBack: // the host's books were said before
		invoice := do.Invoices[0]
		for key := range h.done {
			if strings.HasPrefix(key, invoice+"/") {
				h.must(dunning.Paid{By: host, Invoice: invoice, Method: dunning.Stripe, Payment: key})
				return
			}
		}
		h.must(dunning.LookedBack{By: biller, Invoice: invoice, Asked: h.now})
	case dunning.DoNotify:
		h.must(dunning.NoticeIntended{By: biller, Notice: do.Key})
		if !h.chance(4) {
			h.must(dunning.NoticeAnswered{By: biller, Notice: do.Key, Outcome: statemachine.Done})
		}
	case dunning.DoChurn:
		h.must(dunning.Churned{By: biller})
	}
}

// live is a random stretch of the house's life.
func (h *house) live(steps int) {
	host := dunning.By{Actor: "host", Role: dunning.Host}
	for range steps {
		h.work()
		id := fmt.Sprint("i", h.r.IntN(4))
		switch h.r.IntN(12) {
		case 0, 1, 2:
			h.host(dunning.Issued{By: host, Invoice: id, Amount: int64(10 + h.r.IntN(3)), CreatedAt: h.now})
		case 3:
			h.host(dunning.Amended{By: host, Invoice: id, Amount: int64(1 + h.r.IntN(12))})
		case 4:
			h.host(dunning.Voided{By: host, Invoice: id})
		case 5:
			if h.a.Invoice(id) != nil && h.payments(id) == 0 && h.r.IntN(2) == 0 {
				h.wires[id]++
				h.host(dunning.Paid{By: host, Invoice: id, Method: dunning.Manual, Payment: "wire " + id})
			}
		case 6:
			h.host(dunning.MethodSet{By: host, Method: dunning.Method(1 + h.r.IntN(3))})
		case 7:
			if h.a.Tenant.Status() == dunning.TenantChurned {
				h.host(dunning.Reinstated{By: host})
			}
		}
	}
}

// putBack is the house behind a copy of its database, after the procedure: the host has said again what its books
// have, and everything that is owed is charged from now on.
func (h *house) putBack(a dunning.Account) *house {
	host := dunning.By{Actor: "host", Role: dunning.Host}
	o := &outside{done: maps.Clone(h.done), refused: maps.Clone(h.refused), wires: maps.Clone(h.wires)}
	b := &house{t: h.t, outside: o, a: a, now: h.now}
	b.a.RecoveredAt = b.now
	for _, ev := range append(h.said[:len(h.said):len(h.said)], dunning.Event(dunning.Reinstated{By: host}), dunning.MethodSet{By: host, Method: dunning.Stripe}) {
		b.again(ev)
	}
	return b
}

// again says what the host has said before the restore. Held is what a charge that may arrive forbids for now.
func (h *house) again(ev dunning.Event) {
	switch err := h.do(ev); {
	case errors.Is(err, statemachine.ErrHeld):
		h.late = append(h.late, ev)
	case err != nil && !errors.Is(err, statemachine.ErrIllegal) && !errors.Is(err, statemachine.ErrInvalid):
		h.t.Fatalf("%T again: %v", ev, err)
	}
}

func (h *house) owes() bool {
	for k := range h.a.Invoices {
		if i := &h.a.Invoices[k]; i.Owed() || i.Charge != dunning.ChargeNone {
			return true
		}
	}
	return false
}

// The database of a biller is put back to each of its commits, all later ones are lost, and the procedure is
// followed to its end: what was paid outside is not paid once more, and each debt is paid once. SETTLE_SOAK=1 has
// more histories.
func TestADatabaseOfChargesIsPutBack(t *testing.T) {
	histories, copies, forgotten := 200, 0, 0
	if os.Getenv("SETTLE_SOAK") != "" {
		histories = 2000
	}
	for seed := range uint64(histories) {
		o := &outside{done: map[string][]time.Time{}, refused: map[string]time.Time{}, wires: map[string]int{}}
		h := &house{t: t, outside: o, now: t0, r: rand.New(rand.NewPCG(seed, 1))}
		var kept []dunning.Account
		h.keep = func() { kept = append(kept, h.a) }
		h.host(dunning.Enrolled{By: dunning.By{Actor: "host", Role: dunning.Host}, Tenant: "tenant", Method: dunning.Stripe})
		h.live(80)
		for n, a := range kept {
			b := h.putBack(a)
			copies++
			before := map[string]int{}
			for k := range b.a.Invoices {
				i := &b.a.Invoices[k]
				if before[i.ID] = b.payments(i.ID); before[i.ID] > 0 && i.Owed() {
					forgotten++
				}
			}
			for steps := 0; b.owes(); steps++ {
				b.work()
				late := b.late
				b.late = nil
				for _, ev := range late {
					b.again(ev)
				}
				if steps > 500 {
					t.Fatalf("history %d, commit %d: it goes on for ever: %+v", seed, n, b.a)
				}
			}
			for k := range b.a.Invoices {
				i := &b.a.Invoices[k]
				paid := b.payments(i.ID)
				if was := before[i.ID]; was > 0 && paid != was || was == 0 && paid > 1 ||
					i.Amount > 0 && i.Status() == dunning.InvoicePaid && paid == 0 {
					t.Errorf("history %d, commit %d: %s was paid %d times, and is paid %d times now: %+v", seed, n, i.ID, was, paid, i)
				}
			}
		}
	}
	if copies < 20*histories || forgotten < histories {
		t.Errorf("%d copies, and %d payments were forgotten", copies, forgotten)
	}
}
