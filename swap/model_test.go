package swap_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// modelKey leaves out what no step decides by: versions, numbers of fences, and
// of each time all but whether it lies in this hour, since the model's clock
// goes by hours and every limit is shorter than one. It is a sum, so that the
// checker keeps 16 bytes for each state.
func modelKey[A any](w swaptest.World[A], status string) [16]byte {
	b := append(make([]byte, 0, 512), status...)
	put := func(ns ...int64) {
		for _, n := range ns {
			b = binary.AppendVarint(b, n)
		}
	}
	flags := func(fs ...bool) {
		for _, f := range fs {
			if b = append(b, 0); f {
				b[len(b)-1] = 1
			}
		}
	}
	fresh := func(t time.Time) {
		if t.IsZero() {
			put(2)
		} else {
			put(int64(t.Compare(w.Now)))
		}
	}
	i := w.Head()
	flags(i.Tried, i.Checked, i.ByHand != swap.ByHand{}, i.Lease.Holder != "")
	put(int64(i.Attempts[0]), int64(i.Attempts[1]), int64(i.Attempts[2]), int64(i.Hold.Kind), i.Lost, int64(i.Reason), int64(i.Fees),
		int64(w.Orders), int64(w.Lies), int64(w.Forks), int64(w.Jumps), int64(w.Slips), int64(len(w.Old)), int64(len(i.Intents)))
	fresh(i.CheckAt)
	if i.Lease.Holder != "" {
		fresh(i.Lease.Until)
	}
	for k := range i.Intents {
		in := &i.Intents[k]
		put(int64(in.Action), int64(in.Outcome), int64(in.Proof), int64(w.Places[k]))
		flags(in.Final, in.Filed)
		for _, t := range []time.Time{in.At, in.SendBy, in.ClosedAt, in.SeenAt} {
			fresh(t)
		}
		every, passed := w.Rules.Policy.LookEvery, w.Now.Sub(in.MissedAt)
		switch {
		case in.LastValid > 0 || in.Settled():
		case in.Missed > in.SendBy.Sub(in.At)+w.Rules.Policy.CallTimeout+2*every: // enough
			put(-1)
			flags(passed > 0)
		default:
			put(int64(in.Missed), int64(min(passed, 2*every+1)))
		}
		really := w.Now.Add(w.Then[k] - w.Ahead)
		flags(really.Before(in.SendBy), really.After(in.At.Add(swaptest.Land)))
	}
	var kinds []string
	for _, d := range i.Discrepancies {
		kinds = append(kinds, fmt.Sprint(d.Kind, d.Key, d.ClosedBy != ""))
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		b = append(b, kind...)
	}
	// The workers are alike: which of them does what changes nothing but the name of
	// who holds the lease.
	var crew [2]int64
	for k, me := range w.Workers {
		crew[k] = 8 * me.Intent
		for bit, f := range []bool{me.Sent, me.Fence == i.Lease.Fence && i.Lease.Holder != "", i.Lease.Holder == fmt.Sprintf("worker %d ", k+1)} {
			if f {
				crew[k] += 1 << bit
			}
		}
	}
	put(min(crew[0], crew[1]), max(crew[0], crew[1]))
	sum := sha256.Sum256(b)
	return [16]byte(sum[:])
}

type modelRun[A any] struct {
	item   A
	rules  *swaptest.Rules[A]
	status func(A) string
	orders int
	lies   int
	forks  int
	jumps  int
	crew   int
	limit  int
}

func (m modelRun[A]) check(properties ...explore.Property[swaptest.World[A]]) (explore.Result, error) {
	w := swaptest.World[A]{Rules: m.rules, Item: m.item, Now: t0, Control: open, Orders: m.orders, Lies: m.lies, Forks: m.forks, Jumps: m.jumps, Limit: m.limit, Crew: m.crew, Hour: true}
	return explore.CheckBy(explore.Model[swaptest.World[A]]{Init: []swaptest.World[A]{w}, Limit: 3 << 20,
		Next: func(w swaptest.World[A], step func(string, swaptest.World[A])) {
			for _, move := range w.Moves() {
				step(move.Name, move.To)
			}
		}}, func(w swaptest.World[A]) [16]byte { return modelKey(w, m.status(w.Item)) }, properties...)
}

// mustAct is who acts at last where it can again and again: time, the workers, look-ups and the chains,
// each by each of its steps. What fails, crashes, is taken back or ordered need not come.
func mustAct(action string) string {
	switch _, rest, _ := strings.Cut(action, " "); {
	case action == "an hour passes", action == "time is told", strings.HasPrefix(action, "the history shows"),
		strings.HasSuffix(action, " begins"), strings.HasSuffix(action, " gives up"), strings.Contains(action, " hands "), strings.HasSuffix(action, " with done"),
		strings.HasSuffix(action, " is found"), strings.HasSuffix(action, " is not found"),
		slices.Contains([]string{"lands", "is final"}, rest):
		return action
	}
	return ""
}

// honest: with a host that keeps its contract nothing is ever paid twice.
func (m modelRun[A]) honest() []explore.Property[swaptest.World[A]] {
	type world = swaptest.World[A]
	// late are the exceptions of EndsFairly. Look-ups of an intent without a last valid height that are
	// further apart than twice LookEvery, again and again, prove nothing. After a reorganisation a
	// scanner may go on telling what was taken back, so that every look-up is older than its word.
	late := func(w world) bool {
		return len(w.Old) > 0 || slices.ContainsFunc(w.Head().Intents, func(in swap.Intent) bool {
			return in.LastValid == 0 && !in.Settled() && w.Now.Sub(in.MissedAt) > 2*w.Rules.Policy.LookEvery
		})
	}
	return []explore.Property[world]{
		explore.Valid("the record is sound", func(w world) error { return m.rules.Check(w.Item) }),
		explore.Valid("somebody is named", func(w world) error { return w.Attended() }),
		explore.Always("at most one outbound paid or may still pay", func(w world) bool { return w.Possible() <= 1 }),
		explore.Always("what is finally known was paid", func(w world) bool {
			n, sum := w.Paid()
			money := m.rules.Money(&w.Item)
			return !w.Known() || n == 0 && money.PaidOut+money.Refunded+money.Quarantined == 0 || n == 1 && money.PaidOut+money.Refunded+money.Quarantined == sum
		}),
		explore.Valid("what did not happen is no open discrepancy", func(w world) error {
			if !w.Known() {
				return nil
			}
			return w.Rumours()
		}),
		explore.CanFinish("it ends, or an operator has it", func(w world) bool { return w.Ended() || len(w.Places) >= m.limit }),
		explore.EndsFairly("it ends, or an operator has it", func(w world) bool {
			return w.Ended() || len(w.Places) >= m.limit || w.Head().Hold.Kind != 0 || w.Head().Lost != 0 || late(w)
		}, mustAct),
		explore.CanFinish("everything is known, and something was paid or is ordered", func(w world) bool { return w.Known() && w.Now.After(t0) }),
		explore.Reachable("a payment lands although it was answered as failed", func(w world) bool {
			return w.Head().Version > 0 && slices.ContainsFunc(w.Head().Discrepancies, func(d swap.Discrepancy) bool { return d.Kind == swap.LateOutbound })
		}),
	}
}

// lying: one wrong proof. Then two may be paid, and that is on file as soon as
// the record knows of both.
func (m modelRun[A]) lying() []explore.Property[swaptest.World[A]] {
	type world = swaptest.World[A]
	said := func(w world) bool {
		return slices.ContainsFunc(w.Head().Discrepancies, func(d swap.Discrepancy) bool {
			return d.Kind == swap.DoublePayout || d.Kind == swap.LateOutbound
		})
	}
	return []explore.Property[world]{
		explore.Valid("the record is sound", func(w world) error { return m.rules.Check(w.Item) }),
		explore.Valid("somebody is named", func(w world) error { return w.Attended() }),
		explore.Valid("what is paid and given back by hand is an open discrepancy", func(w world) error { return w.Books() }),
		explore.Always("two payments are a discrepancy", func(w world) bool {
			n, _ := w.Paid()
			return n < 2 || !w.Known() || said(w)
		}),
		explore.Reachable("two are paid", func(w world) bool { n, _ := w.Paid(); return n > 1 && w.Known() && said(w) }),
		explore.CanFinish("everything is known", func(w world) bool { return w.Known() }),
	}
}

func modelPolicy(attempts int32) swap.Policy {
	p := swaptest.Policy()
	p.MaxAttempts, p.StaleAfter, p.LookEvery = attempts, 300*24*time.Hour, 30*time.Minute
	return p
}

func depositModel(t *testing.T, attempts int32) modelRun[swap.Deposit] {
	return modelRun[swap.Deposit]{item: ready(t).release().item, rules: swaptest.Deposits(modelPolicy(attempts)),
		status: func(d swap.Deposit) string { return d.Status.String() }, limit: 2, crew: 2}
}

func creditModel(t *testing.T, attempts int32) modelRun[swap.Credit] {
	return modelRun[swap.Credit]{item: creditReady(t).release().item, rules: swaptest.Credits(modelPolicy(attempts)),
		status: func(c swap.Credit) string { return fmt.Sprint(c.Status, c.SettledBy) }, limit: 2, crew: 2}
}

// The exact numbers: a model that silently shrinks proves less.
func TestModelOfDeposits(t *testing.T) {
	m := depositModel(t, 1)
	m.prove(t, "honest", m.honest(), 8100)
	m.orders, m.crew = 1, 1
	m.prove(t, "honest, an order", m.honest(), 41039)
	if os.Getenv("SETTLE_SOAK") != "" {
		m = depositModel(t, 2)
		m.limit, m.orders, m.crew = 3, 1, 1
		m.prove(t, "honest, two attempts, three intents, an order", m.honest(), 433956)
	}
}

// The store's clock is set forward or back once, at any moment.
func TestModelOfAClockThatIsSet(t *testing.T) {
	m := depositModel(t, 1)
	m.jumps, m.crew = 1, 1
	m.prove(t, "honest, a clock that is set", m.honest(), 27259)
}

func TestModelOfCredits(t *testing.T) {
	m := creditModel(t, 1)
	m.prove(t, "honest", m.honest(), 23686)
	m.lies, m.crew = 1, 1
	m.prove(t, "one lie", m.lying(), 38658)
	m.lies, m.orders = 0, 1
	m.prove(t, "honest, an order", m.honest(), 54368)
	m.forks, m.orders = 1, 0
	m.prove(t, "honest, a reorganisation", m.honest(), 75796)
	if os.Getenv("SETTLE_SOAK") != "" {
		m = creditModel(t, 2)
		m.limit, m.orders, m.crew = 3, 1, 1
		m.prove(t, "honest, two attempts, three intents, an order", m.honest(), 677329)
	}
}

// A refund that a lie has proved not to have paid, given back by hand, and paid.
func TestModelOfWhatIsGivenBackByHand(t *testing.T) {
	type world = swaptest.World[swap.Credit]
	m := creditModel(t, 1)
	m.item, m.lies, m.orders, m.crew, m.limit = refundPending(t).release().item, 1, 1, 1, 1
	properties := append(m.lying()[:3:3], explore.Reachable("it is given back, and paid", func(w world) bool {
		n, _ := w.Paid()
		return n == 1 && w.Known() && w.Head().ByHand != swap.ByHand{} && w.Item.Money().Refunded > 0
	}))
	m.prove(t, "one lie, given back by hand", properties, 12033)
}

// Two workers on one row, who crash, wait and lose their leases between any two
// steps, over a second attempt. Without an order: what an operator adds is above.
func TestModelOfTwoWorkers(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK is not set: one attempt of two workers is above")
	}
	d := depositModel(t, 1)
	d.lies = 1
	d.prove(t, "one lie", d.lying(), 64378)
	d = depositModel(t, 2)
	d.limit = 3
	d.prove(t, "deposits", d.honest(), 162655)
	c := creditModel(t, 2)
	c.limit = 3
	c.prove(t, "credits", c.honest(), 339153)
}

func (m modelRun[A]) prove(t *testing.T, name string, properties []explore.Property[swaptest.World[A]], states int) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a step leaves little behind and allocates much
	result, err := m.check(properties...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if result.States != states {
		t.Errorf("%s: %v, expected %d states", name, result, states)
	}
	t.Logf("%s: %v", name, result)
}

// A library that takes "failed" for a proof is caught.
func TestTheModelFindsABrokenLibrary(t *testing.T) {
	m := creditModel(t, 2)
	apply := m.rules.Apply
	broken := *m.rules
	broken.Apply = func(c swap.Credit, ev swap.Event, now time.Time) (swap.Change[swap.Credit], error) {
		change, err := apply(c, ev, now)
		if a, ok := ev.(swap.Answered); ok && err == nil && a.Outcome == statemachine.Failed && len(change.Log) > 0 {
			change.New.Intents = slices.Clone(change.New.Intents)
			change.New.Intents[a.Number-1].Proof = swap.Negative
		}
		return change, err
	}
	m.rules = &broken
	_, err := m.check(m.honest()[2])
	if err == nil {
		t.Fatal("it is not caught")
	}
	t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
}
