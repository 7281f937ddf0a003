package swap_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

var (
	t0     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy = func() swap.Policy {
		p := swap.DefaultPolicy()
		p.USDCQuarantineAccount, p.USDDQuarantineAccount = "solana-quarantine", "nexus-quarantine"
		p.OwnAccounts = []string{"solana-vault", "nexus-treasury"}
		return p
	}()
	open = swap.Control{Generation: 1, SolanaScanned: true, NexusScanned: true, RecoveredAt: t0.Add(-48 * time.Hour), MissingSaid: t0.Add(-47 * time.Hour)}
)

func by(r swap.Role, at time.Time) swap.By { return swap.By{Actor: r.String(), Role: r, At: at} }

// run is one item under test, and the clock.
type run[A any] struct {
	t     *testing.T
	p     swap.Policy
	ctl   swap.Control
	now   time.Time
	item  A
	apply func(swap.Policy, A, swap.Event, time.Time) (swap.Change[A], error)
	check func(A) error
	head  func(*A) *swap.Item
	state func(*A) string
	last  swap.Change[A]
	log   []statemachine.Transition[string]
	sigs  int
}

func deposits(t *testing.T) *run[swap.Deposit] {
	return &run[swap.Deposit]{t: t, p: policy, ctl: open, now: t0,
		apply: swap.Policy.ApplyDeposit, check: swap.CheckDeposit,
		head:  func(d *swap.Deposit) *swap.Item { return &d.Item },
		state: func(d *swap.Deposit) string { return d.Status.String() }}
}

func credits(t *testing.T) *run[swap.Credit] {
	return &run[swap.Credit]{t: t, p: policy, ctl: open, now: t0,
		apply: swap.Policy.ApplyCredit, check: swap.CheckCredit,
		head:  func(c *swap.Credit) *swap.Item { return &c.Item },
		state: func(c *swap.Credit) string { return c.Status.String() }}
}

func (r *run[A]) i() *swap.Item { return r.head(&r.item) }

// try applies an event and keeps the result if it was accepted.
func (r *run[A]) try(ev swap.Event) error {
	r.t.Helper()
	c, err := r.apply(r.p, r.item, ev, time.Time{})
	if err != nil {
		if !c.Empty() {
			r.t.Fatalf("%T: a refusal changed something", ev)
		}
		return err
	}
	if err := r.check(c.New); err != nil {
		r.t.Fatalf("%T: %v", ev, err)
	}
	old, now := r.head(&c.Old), r.head(&c.New)
	if len(c.Log) == 0 && !(reflect.DeepEqual(old.Intents, now.Intents) && reflect.DeepEqual(old.Discrepancies, now.Discrepancies)) {
		r.t.Fatalf("%T changes what is on file, and no version", ev)
	}
	again, err := r.apply(r.p, c.New, ev, time.Time{})
	if err == nil && len(again.Log) > 0 && !repeatable(ev) {
		r.t.Fatalf("%T is taken twice: %+v", ev, again.Log)
	}
	r.item, r.last, r.log = c.New, c, append(r.log, c.Log...)
	return nil
}

// repeatable: events that may lead to another edge when they come again.
func repeatable(ev swap.Event) bool {
	switch ev.(type) {
	case swap.Elapsed, swap.Looked, swap.Outbound:
		return true
	}
	return false
}

func (r *run[A]) do(events ...swap.Event) *run[A] {
	r.t.Helper()
	for _, ev := range events {
		if err := r.try(ev); err != nil {
			r.t.Fatalf("%T %+v: %v", ev, ev, err)
		}
	}
	return r
}

func (r *run[A]) refused(ev swap.Event, sentinel error) *run[A] {
	r.t.Helper()
	if err := r.try(ev); !errors.Is(err, sentinel) {
		r.t.Fatalf("%T %+v: got %v, expected %v", ev, ev, err, sentinel)
	}
	return r
}

func (r *run[A]) is(state string) *run[A] {
	r.t.Helper()
	if got := r.state(&r.item); got != state {
		r.t.Fatalf("the state is %q, expected %q", got, state)
	}
	return r
}

func (r *run[A]) wait(d time.Duration) *run[A] { r.now = r.now.Add(d); return r }

func (r *run[A]) worker() swap.By   { return by(swap.Worker, r.now) }
func (r *run[A]) operator() swap.By { return by(swap.Operator, r.now) }

func (r *run[A]) elapse() *run[A] {
	r.t.Helper()
	return r.do(swap.Elapsed{By: by(swap.System, r.now), Control: r.ctl})
}

// order gives an operator's order.
func (r *run[A]) order(ev swap.Event) *run[A] {
	r.t.Helper()
	return r.do(ordered(ev, r.operator(), "because"))
}

// claim takes the lease, waiting until the item is due.
// ordered is an order by somebody, for a reason.
func ordered(ev swap.Event, by swap.By, reason string) swap.Event {
	to := reflect.New(reflect.TypeOf(ev)).Elem()
	to.Set(reflect.ValueOf(ev))
	to.FieldByName("By").Set(reflect.ValueOf(by))
	to.FieldByName("Reason").SetString(reason)
	return to.Interface().(swap.Event)
}

func (r *run[A]) claim() *run[A] {
	r.t.Helper()
	if l := r.i().Lease; l.Holder == "worker" && l.Held(r.now) {
		return r
	}
	if at := r.i().DueAt(); r.now.Before(at) {
		r.now = at
	}
	return r.do(swap.Claimed{By: r.worker()})
}

// begun is the next intent of an action, as a worker would put it on file.
func (r *run[A]) begun(a swap.Action) swap.Begun {
	r.sigs++
	ev := swap.Begun{By: r.worker(), Fence: r.i().Lease.Fence, Number: int64(len(r.i().Intents)) + 1, Action: a, Control: r.ctl}
	if (a == swap.Send) == (any(r.item) != nil && isDeposit(r.item)) {
		ev.Reference = r.ctl.Reference + uint64(100+r.sigs)
	} else {
		ev.Signature, ev.LastValid = "sig"+string(rune('A'+r.sigs)), 1000
	}
	return ev
}

func isDeposit(a any) bool { _, ok := a.(swap.Deposit); return ok }

// begin claims and puts an intent on file, after an account check for a send.
func (r *run[A]) begin(a swap.Action) *run[A] {
	r.t.Helper()
	r.claim()
	if a == swap.Send {
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	}
	return r.do(r.begun(a))
}

func (r *run[A]) latest() swap.Intent { return r.i().Intents[len(r.i().Intents)-1] }

// answer of the latest intent.
func (r *run[A]) answer(o statemachine.Outcome) *run[A] {
	r.t.Helper()
	in := r.latest()
	id := in.Signature
	if in.Chain == swap.Nexus {
		id = "tx" + string(rune('A'+in.Number))
	}
	return r.do(swap.Answered{By: r.worker(), Fence: r.i().Lease.Fence, Number: in.Number, Outcome: o, TxID: id, Reason: "said so"})
}

// sighting is how a chain shows an intent.
func sighting(in swap.Intent, confirmations uint64, final bool) swap.Sighting {
	s := swaptest.Sighting(&in, final)
	if s.Confirmations = confirmations; in.Chain == swap.Nexus && !in.Filed {
		s.TxID = "tx" + string(rune('A'+in.Number))
	}
	return s
}

// found looks an intent up and finds it.
func (r *run[A]) found(number int64, confirmations uint64) *run[A] {
	r.t.Helper()
	return r.do(swap.Looked{By: r.worker(), Number: number, Finding: swap.LookFound,
		Seen: sighting(*r.i().Intent(number), confirmations, confirmations >= 10)})
}

// later waits until the latest word that an intent went out is older than now.
func (r *run[A]) later(number int64) {
	if in := r.i().Intent(number); in != nil && !r.now.After(in.SeenAt) {
		r.now = in.SeenAt.Add(time.Microsecond)
	}
}

// failedOnChain looks an intent up, later than it was seen, and finds it with an error.
func (r *run[A]) failedOnChain(number int64) *run[A] {
	r.t.Helper()
	r.later(number)
	s := sighting(*r.i().Intent(number), 10, true)
	s.Errored = true
	return r.do(swap.Looked{By: r.worker(), Number: number, Finding: swap.LookFound, Seen: s})
}

// view is a complete one.
func (r *run[A]) view(number int64) swap.View {
	direction := swap.ToUSDC
	if isDeposit(r.item) {
		direction = swap.ToUSDD
	}
	from := r.p.Since(direction, r.i().At)
	if in := r.i().Intent(number); in != nil {
		from = in.At.Add(-r.p.WaterlineMargin)
	}
	return swap.View{From: from, Asked: r.now, ByID: true, ByMemo: true, Before: 1001, After: 1001, CannotLand: true}
}

// missing looks an intent up completely, later than it was seen, and does not find it.
func (r *run[A]) missing(number int64) *run[A] {
	r.t.Helper()
	r.later(number)
	r.watch(number)
	return r.do(swap.Looked{By: r.worker(), Number: number, Finding: swap.LookMissing, View: r.view(number), Nexus: r.view(number), Control: r.ctl})
}

// sends is for how long an intent without a last valid height must be missed.
func (r *run[A]) sends(in swap.Intent) time.Duration {
	return in.SendBy.Sub(in.At) + r.p.CallTimeout + 2*r.p.LookEvery
}

// watch has look-ups miss an intent, from when that counts, for the time that a proof needs.
// What they say proves nothing.
func (r *run[A]) watch(number int64) *run[A] {
	r.t.Helper()
	in := r.i().Intent(number)
	if in == nil || in.LastValid > 0 || in.Settled() {
		return r
	}
	now := r.now
	for r.now = in.MissedAt; r.i().Intent(number).Missed <= r.sends(*in); {
		r.now = r.now.Add(min(2*r.p.LookEvery, r.sends(*in)-r.i().Intent(number).Missed+time.Microsecond))
		ev := swap.Looked{By: r.worker(), Number: number, Finding: swap.LookMissing, View: r.view(number)}
		ev.View.CannotLand = false
		r.do(ev)
	}
	r.now = later(now, r.now.Add(time.Microsecond))
	return r
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// prove waits until the latest intent can be proved, and proves it.
func (r *run[A]) prove() *run[A] {
	r.t.Helper()
	in := r.latest()
	if at := in.SendBy.Add(r.p.CallTimeout + time.Microsecond); r.now.Before(at) {
		r.now = at
	}
	return r.missing(in.Number)
}

// release gives the lease back if it is held.
func (r *run[A]) release() *run[A] {
	r.t.Helper()
	if r.i().Lease.Held(r.now) {
		r.do(swap.GivenBack{By: r.worker(), Fence: r.i().Lease.Fence})
	}
	return r
}

const amount = 10_000_000

func observedDeposit(id string, amount uint64) swap.Observed {
	return swap.Observed{By: by(swap.Observer, t0), ID: id, Amount: amount, From: "alice-solana", Time: t0, Success: true, Finalized: true, Control: open}
}

func observedCredit(id string, amount uint64) swap.Observed {
	return swap.Observed{By: by(swap.Observer, t0), ID: id, Amount: amount, From: "bob-nexus", Time: t0, Success: true, To: "nexus-treasury", Owner: "bob", Control: open}
}

// memo brings a deposit to ready for processing, or to its refund.
func memo(r *run[swap.Deposit], memos ...string) *run[swap.Deposit] {
	r.t.Helper()
	return r.claim().do(swap.MemoFetched{By: r.worker(), Memos: memos})
}

func detected(t *testing.T) *run[swap.Deposit] {
	t.Helper()
	return deposits(t).do(observedDeposit("sig1", amount)).is("detected")
}

func ready(t *testing.T) *run[swap.Deposit] {
	t.Helper()
	return memo(detected(t), "nexus:carol").is("ready for processing")
}

func debited(t *testing.T) *run[swap.Deposit] {
	t.Helper()
	return ready(t).begin(swap.Send).answer(statemachine.Done).is("debited, awaiting confirmation")
}

func toBeRefunded(t *testing.T) *run[swap.Deposit] {
	t.Helper()
	return memo(detected(t), "hello").is("to be refunded")
}

func refundSent(t *testing.T) *run[swap.Deposit] {
	t.Helper()
	return toBeRefunded(t).begin(swap.Refund).answer(statemachine.Done).is("refund sent, awaiting confirmation")
}

func toBeQuarantined(t *testing.T) *run[swap.Deposit] {
	t.Helper()
	return toBeRefunded(t).order(swap.QuarantineOrdered{}).is("to be quarantined")
}

func pending(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return credits(t).do(observedCredit("tx1", amount)).is("pending_receival")
}

func ripe(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return pending(t).do(swap.Confirmations{By: by(swap.Observer, t0), Count: 2}).is("pending_receival")
}

func (r *run[A]) mapping() swap.MappingLooked {
	return swap.MappingLooked{By: r.worker(), Asked: r.now, Finding: swap.MappingFound, TxID: r.i().ID, Owner: "bob", Account: "bob-usdc"}
}

func (r *run[A]) unmapped() swap.MappingLooked {
	return swap.MappingLooked{By: r.worker(), Asked: r.now, Finding: swap.MappingMissing}
}

func creditReady(t *testing.T) *run[swap.Credit] {
	t.Helper()
	r := ripe(t).claim()
	return r.do(r.mapping()).is("ready for processing")
}

func sending(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return creditReady(t).begin(swap.Send).is("sending")
}

func awaiting(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return sending(t).answer(statemachine.Done).is("sig created, awaiting confirmations")
}

func balanceCheck(t *testing.T) *run[swap.Credit] {
	t.Helper()
	r := ripe(t).claim()
	r.do(r.unmapped())
	return r.wait(time.Hour + time.Microsecond).elapse().is("trade balance to be checked")
}

func collecting(t *testing.T) *run[swap.Credit] {
	t.Helper()
	r := balanceCheck(t).claim()
	return r.do(r.unmapped()).is("collecting refund")
}

func refundPending(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return creditReady(t).do(swap.AccountChecked{By: by(swap.Worker, t0), State: swap.AccountClosed}).is("refund pending")
}

func refunded(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return refundPending(t).begin(swap.Refund).answer(statemachine.Done).is("refunded")
}

func quarantined(t *testing.T) *run[swap.Credit] {
	t.Helper()
	return refundPending(t).order(swap.QuarantineOrdered{}).is("quarantined")
}

// kinds of the discrepancies on file.
func (r *run[A]) kinds(want ...swap.DiscrepancyKind) *run[A] {
	r.t.Helper()
	var got []swap.DiscrepancyKind
	for _, d := range r.i().Discrepancies {
		got = append(got, d.Kind)
	}
	if len(got) != len(want) {
		r.t.Fatalf("discrepancies are %v, expected %v", got, want)
	}
	for k := range got {
		if got[k] != want[k] {
			r.t.Fatalf("discrepancies are %v, expected %v", got, want)
		}
	}
	return r
}
