package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

const (
	// skipsBooks: of what the host has said since the copy it says nothing again.
	skipsBooks = "the host says nothing again"
	day        = 24 * time.Hour
)

// copiesOfCharges: copies are made after commits of random lives of tenants, and everything after a copy is lost. A
// truthful host follows docs/restore.md, then all that is owed is charged. At the provider each debt is paid once, and
// no debt that was paid before is paid again. A procedure with one of skips left out must fail on some copy: otherwise
// the test could see nothing. Each copy is a tenant of one store, which is put back as a whole.
func copiesOfCharges(t *testing.T, open func(testing.TB) store.Store[store.TenantUnit], lives uint64, steps, copies int, skips ...string) {
	for _, skip := range skips {
		first := &house{Store: open(t)}
		first.serve(t, first.Store)
		var all []*billed
		latest, forgotten, wrong := start, 0, 0
		for seed := range lives {
			h := first.life(t, seed, steps)
			every := max(1, len(h.said)/copies)
			for k := 1; k <= len(h.said); k += every {
				all = append(all, h.copyAt(t, k))
			}
			if h.now.After(latest) {
				latest = h.now
			}
		}
		of := first
		if skip != skipsRestored {
			dated(first.Store, latest)
			db, _ := putBack(t, first.Store)
			of = &house{Store: db}
			of.serve(t, db)
		}
		for _, b := range all {
			b.house, b.now = of, latest
			dated(of.Store, latest)
			if skip != skipsBooks {
				b.sayAgain(t)
			}
		}
		if skip != skipsRestored {
			_ = must(must(store.NewSwitches(of.Store))(t).Start(ctx, endedEvent(switches.Charges)))(t)
		}
		for _, b := range all {
			lost, err := b.worked(t)
			if forgotten += lost; err == nil {
				continue
			}
			if wrong++; skip == "" {
				t.Errorf("%s: %v", b.tenant, err)
			}
		}
		if skip != "" && wrong == 0 || forgotten == 0 {
			t.Errorf("%q: of %d copies, which forgot %d payments, %d are wrong", skip, len(all), forgotten, wrong)
		}
	}
}

// house is a biller with its database.
type house struct {
	store.Store[store.TenantUnit]
	service *store.Tenants
}

func (h *house) serve(t testing.TB, db store.Store[store.TenantUnit]) {
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "relays.example"
	h.service = must(store.NewTenants(db, must(store.NewRelays(db, p))(t), dunning.DefaultPolicy()))(t)
}

// atProvider is what no copy of the database puts back: the provider, and the host's own books.
type atProvider struct {
	done    map[string][]time.Time // charges by key
	refused map[string]time.Time
	wires   map[string]int // of invoices
}

func (o *atProvider) payments(invoice string) (n int) {
	for key, all := range o.done {
		if strings.HasPrefix(key, invoice+"/") {
			n += len(all)
		}
	}
	return n + o.wires[invoice]
}

// charge is what the provider does with a charge. It answers one key once a day, and has forgotten the key then.
func (o *atProvider) charge(key string, now time.Time, declines bool) statemachine.Outcome {
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

// saidAt is an event that was taken, of the tenant with a name.
type saidAt struct {
	at   time.Time
	ev   func(tenant string) dunning.Event
	host bool // the host's books keep it
}

// billed is a tenant, whose invoices have ids that begin with its own.
type billed struct {
	*house
	atProvider
	tenant string
	now    time.Time
	r      *rand.Rand // nil: nothing goes wrong any more
	said   []saidAt
	late   []dunning.Event // what the host has to say once no charge may arrive any more
}

func (b *billed) chance(of int) bool { return b.r != nil && b.r.IntN(of) == 0 }

func (b *billed) pass(to time.Time) {
	b.now = to
	dated(b.Store, to)
}

// do sends an event of the present time. What was taken, and changed something, is kept.
func (b *billed) do(t testing.TB, host bool, ev func(tenant string) dunning.Event) error {
	before, _ := b.service.Get(ctx, b.tenant)
	after, err := b.service.Do(ctx, b.tenant, ev(b.tenant))
	if err != nil {
		return err
	}
	noError(t, dunning.Check(after))
	if after.Tenant.Version != before.Tenant.Version || after.Tenant.DueAt != before.Tenant.DueAt {
		b.said = append(b.said, saidAt{b.now, ev, host})
	}
	return nil
}

func (b *billed) must(t testing.TB, ev func(tenant string) dunning.Event) {
	t.Helper()
	noError(t, b.do(t, false, ev), b.tenant, ": ")
}

func hostBy() dunning.By   { return dunning.By{Actor: "host", Role: dunning.Host} }
func billerBy() dunning.By { return dunning.By{Actor: "biller", Role: dunning.Biller} }

// local is an id or a key without the tenant, by which the provider knows it.
func (b *billed) local(id string) string { return strings.TrimPrefix(id, b.tenant+"-") }

// work does what is owed now, or lets time pass.
func (b *billed) work(t testing.TB) {
	t.Helper()
	b.must(t, func(string) dunning.Event { return dunning.StepBegun{By: billerBy()} })
	step, _, err := b.service.Next(ctx, b.tenant)
	noError(t, err)
	do := step.Action
	if do == nil {
		pass := time.Hour
		if !step.Due.IsZero() {
			pass = min(pass, max(time.Minute, step.Due.Sub(b.now)))
		}
		b.pass(b.now.Add(pass))
		return
	}
	invoice, key := "", b.local(do.Key)
	if len(do.Invoices) > 0 {
		invoice = b.local(do.Invoices[0])
	}
	answered := func(outcome statemachine.Outcome) {
		b.must(t, func(of string) dunning.Event {
			return dunning.ChargeAnswered{By: billerBy(), Invoice: of + "-" + invoice, Key: of + "-" + key, Outcome: outcome, Error: "declined"}
		})
	}
	now := b.now
	switch do.Do {
	case dunning.DoCharge:
		b.must(t, func(of string) dunning.Event {
			return dunning.ChargeIntended{By: billerBy(), Invoice: of + "-" + invoice, Key: of + "-" + key}
		})
		if b.chance(4) {
			return // the process dies before it charges
		}
		outcome := b.charge(key, b.now, b.chance(3))
		if b.chance(4) {
			return // or before it knows
		}
		if b.chance(4) {
			outcome = statemachine.Unknown
		}
		answered(outcome)
	case dunning.DoLookUp:
		switch {
		case len(b.done[key]) > 0:
			answered(statemachine.Done)
		case !b.refused[key].IsZero():
			answered(statemachine.Failed)
		default:
			b.must(t, func(of string) dunning.Event {
				return dunning.ChargeMissing{By: billerBy(), Invoice: of + "-" + invoice, Key: of + "-" + key, Asked: now}
			})
		}
	case dunning.DoLookBack: // the host's books were said before
		for key := range b.done {
			if strings.HasPrefix(key, invoice+"/") {
				b.must(t, func(of string) dunning.Event {
					return dunning.Paid{By: hostBy(), Invoice: of + "-" + invoice, Method: dunning.Stripe, Payment: of + "-" + key}
				})
				return
			}
		}
		b.must(t, func(of string) dunning.Event {
			return dunning.LookedBack{By: billerBy(), Invoice: of + "-" + invoice, Asked: now}
		})
	case dunning.DoNotify:
		notice := strings.TrimPrefix(do.Key, b.tenant)
		b.must(t, func(of string) dunning.Event { return dunning.NoticeIntended{By: billerBy(), Notice: of + notice} })
		if !b.chance(4) {
			b.must(t, func(of string) dunning.Event {
				return dunning.NoticeAnswered{By: billerBy(), Notice: of + notice, Outcome: statemachine.Done}
			})
		}
	case dunning.DoChurn:
		b.must(t, func(string) dunning.Event { return dunning.Churned{By: billerBy()} })
	}
}

// life is a random stretch of the life of a tenant.
func (h *house) life(t testing.TB, seed uint64, steps int) *billed {
	t.Helper()
	b := &billed{house: h, tenant: fmt.Sprint("life", seed), r: rand.New(rand.NewPCG(seed, 1)),
		atProvider: atProvider{done: map[string][]time.Time{}, refused: map[string]time.Time{}, wires: map[string]int{}}}
	b.pass(start)
	host := func(ev func(of string) dunning.Event) bool { return b.do(t, true, ev) == nil }
	host(func(of string) dunning.Event {
		return dunning.Enrolled{By: hostBy(), Tenant: of, Method: dunning.Stripe}
	})
	for range steps {
		b.work(t)
		id, amount, method, at := fmt.Sprint("i", b.r.IntN(4)), int64(1+b.r.IntN(12)), dunning.Method(1+b.r.IntN(3)), b.now
		switch b.r.IntN(12) {
		case 0, 1, 2:
			host(func(of string) dunning.Event {
				return dunning.Issued{By: hostBy(), Invoice: of + "-" + id, Amount: amount, CreatedAt: at}
			})
		case 3:
			host(func(of string) dunning.Event {
				return dunning.Amended{By: hostBy(), Invoice: of + "-" + id, Amount: amount}
			})
		case 4:
			host(func(of string) dunning.Event { return dunning.Voided{By: hostBy(), Invoice: of + "-" + id} })
		case 5:
			a, err := h.service.Get(ctx, b.tenant)
			noError(t, err)
			if a.Invoice(b.tenant+"-"+id) != nil && b.payments(id) == 0 && b.r.IntN(2) == 0 {
				b.wires[id]++
				host(func(of string) dunning.Event {
					return dunning.Paid{By: hostBy(), Invoice: of + "-" + id, Method: dunning.Manual, Payment: "wire " + of + id}
				})
			}
		case 6:
			host(func(string) dunning.Event { return dunning.MethodSet{By: hostBy(), Method: method} })
		case 7:
			host(func(string) dunning.Event { return dunning.Reinstated{By: hostBy()} })
		}
	}
	return b
}

// copyAt is the tenant as the first k commits have made it, in a provider's world of after the last one.
func (b *billed) copyAt(t testing.TB, k int) *billed {
	t.Helper()
	c := &billed{house: b.house, tenant: fmt.Sprintf("%s.after%d", b.tenant, k), said: b.said,
		atProvider: atProvider{done: maps.Clone(b.done), refused: maps.Clone(b.refused), wires: maps.Clone(b.wires)}}
	for _, s := range b.said[:k] {
		c.pass(s.at)
		_ = must(b.service.Do(ctx, c.tenant, s.ev(c.tenant)))(t)
	}
	return c
}

// sayAgain says what the host's books have, and that all that is owed is charged from now on.
func (b *billed) sayAgain(t testing.TB) {
	for _, s := range b.said {
		if s.host {
			b.again(t, s.ev(b.tenant))
		}
	}
}

// again says what the host has said before the restore. What a charge that may arrive forbids for now is said later.
func (b *billed) again(t testing.TB, ev dunning.Event) {
	t.Helper()
	switch _, err := b.service.Do(ctx, b.tenant, ev); {
	case errors.Is(err, statemachine.ErrHeld):
		b.late = append(b.late, ev)
	case err != nil && !errors.Is(err, statemachine.ErrIllegal) && !errors.Is(err, statemachine.ErrInvalid):
		t.Fatalf("%T again: %v", ev, err)
	}
}

// worked charges all that is owed. It returns how many debts that were paid the copy still takes for owed, and
// what is wrong at the provider in the end.
func (b *billed) worked(t testing.TB) (forgotten int, wrong error) {
	t.Helper()
	b.pass(b.now)
	b.again(t, dunning.Reinstated{By: hostBy()})
	b.again(t, dunning.MethodSet{By: hostBy(), Method: dunning.Stripe})
	before := map[string]int{}
	owes := true
	for step := 0; owes; step++ {
		a, err := b.service.Get(ctx, b.tenant)
		noError(t, err)
		owes = false
		for k := range a.Invoices {
			i := &a.Invoices[k]
			if owes = owes || i.Owed() || i.Charge != dunning.ChargeNone; step == 0 {
				if before[i.ID] = b.payments(b.local(i.ID)); before[i.ID] > 0 && i.Owed() {
					forgotten++
				}
			}
		}
		if step > 500 {
			return forgotten, fmt.Errorf("it goes on for ever: %+v", a)
		}
		if !owes {
			for k := range a.Invoices {
				i := &a.Invoices[k]
				paid, was := b.payments(b.local(i.ID)), before[i.ID]
				if was > 0 && paid != was || was == 0 && paid > 1 || i.Amount > 0 && i.Status() == dunning.InvoicePaid && paid == 0 {
					wrong = errors.Join(wrong, fmt.Errorf("%s was paid %d times, and is paid %d times now: %+v", i.ID, was, paid, i))
				}
			}
			return forgotten, wrong
		}
		b.work(t)
		late := b.late
		b.late = nil
		for _, ev := range late {
			b.again(t, ev)
		}
	}
	return forgotten, nil
}
