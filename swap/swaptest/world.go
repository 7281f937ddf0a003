// Package swaptest has a world in which one item is swapped: two chains, two
// workers that crash and forget, answers that lie or come late, orders of an
// operator, a store that is restored from an older copy while the chains went on, on a
// server whose clock is behind, and blocks whose times lag behind the store's. It is for
// property tests of hosts and adapters, which run it on what they store, and for the
// model checker, which visits all of it.
package swaptest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Start is when the world begins.
var Start = time.Date(2001, 1, 2, 3, 4, 5, 0, time.UTC)

// Land is for how long a transaction on Solana can land after its intent.
const Land = 90 * time.Second

// Control lets everything go out.
func Control() swap.Control {
	return swap.Control{RecoveredAt: Start.Add(-48 * time.Hour), SolanaScanned: Start.Add(-time.Hour), NexusScanned: Start.Add(-time.Hour)}
}

// Policy is the default one with quarantine accounts.
func Policy() swap.Policy {
	p := swap.DefaultPolicy()
	p.USDCQuarantineAccount, p.USDDQuarantineAccount = "solana-quarantine", "nexus-quarantine"
	return p
}

// Rules is what is tested: the functions of one machine, or a service that
// stores each change and reads it again.
type Rules[A any] struct {
	Policy swap.Policy
	Apply  func(A, swap.Event, time.Time) (swap.Change[A], error)
	Next   func(A, swap.Control, time.Time) swap.Step
	Check  func(A) error
	Head   func(*A) *swap.Item
	Money  func(*A) swap.Money
}

// Deposits are the rules of deposits under a policy.
func Deposits(p swap.Policy) *Rules[swap.Deposit] {
	return &Rules[swap.Deposit]{Policy: p, Apply: p.ApplyDeposit, Next: p.NextDeposit, Check: swap.CheckDeposit,
		Head: func(d *swap.Deposit) *swap.Item { return &d.Item }, Money: (*swap.Deposit).Money}
}

// Credits are the rules of credits under a policy.
func Credits(p swap.Policy) *Rules[swap.Credit] {
	return &Rules[swap.Credit]{Policy: p, Apply: p.ApplyCredit, Next: p.NextCredit, Check: swap.CheckCredit,
		Head: func(c *swap.Credit) *swap.Item { return &c.Item }, Money: (*swap.Credit).Money}
}

// Place is where an outbound really is.
type Place uint8

// The places, in the order in which a transaction goes through them.
const (
	Nowhere Place = iota // on file at most
	Flight               // handed over: it may land
	Dead                 // it never lands
	Errored              // it landed with an error, finally
	Landed               // it paid; a reorganisation may take it back
	Final
)

// World is one state of everything. It is a value: a move makes another one.
type World[A any] struct {
	Rules   *Rules[A]
	Item    A
	Now     time.Time
	Control swap.Control
	Places  []Place     // of the intents, by number
	Blocks  []time.Time // of those that landed: the times of their blocks
	Workers [2]Worker
	Crew    int  // how many of them work; 0 is 1
	Orders  int  // how many orders an operator may still give
	Lies    int  // how many wrong proofs the host may still give
	Limit   int  // of intents
	Hour    bool // an hour may pass
	Forks   int  // how many outbounds that landed a reorganisation may still take back
	// Old are sightings of those that it took back: a node that is behind tells of them.
	Old []swap.Sighting
	// Copies is how often the store may still be restored from a copy that was Kept,
	// Restores how often it was, and Strays what the copies did not know.
	Copies, Restores int
	Kept             *A
	Strays           []Stray
	// Slow is how far the clock of the server that a copy is restored on is behind, and
	// Behind how far Now is since. Lag is how far the time of a block is behind Now. Each
	// is at most [swap.Policy].WaterlineMargin.
	Slow, Behind, Lag time.Duration
	// Trail is the audit trail of the item, kept if it is not nil.
	Trail []statemachine.Transition[string]
}

// Worker is what a worker remembers; the zero value is an idle one.
type Worker struct {
	Intent int64 // it works on this one
	Fence  int64
	Sent   bool
}

// Move is a step that may come next.
type Move[A any] struct {
	Name string
	To   World[A]
}

// Head of the item.
func (w *World[A]) Head() *swap.Item { return w.Rules.Head(&w.Item) }

func (w *World[A]) by(r swap.Role, actor string) swap.By {
	return swap.By{Actor: actor, Role: r, At: w.Now}
}

// Take applies an event; ok is false for a refusal.
func (w World[A]) Take(ev swap.Event) (to World[A], ok bool) {
	c, err := w.Rules.Apply(w.Item, ev, w.Now)
	if err != nil {
		return w, false
	}
	w.Item = c.New
	if w.Trail != nil {
		w.Trail = append(w.Trail[:len(w.Trail):len(w.Trail)], c.Log...)
	}
	for len(w.Places) < len(w.Head().Intents) {
		w.Places, w.Blocks = append(slices.Clone(w.Places), Nowhere), append(slices.Clone(w.Blocks), time.Time{})
	}
	return w, true
}

// put is the world in which an intent is at a place.
func (w World[A]) put(k int, p Place) World[A] {
	w.Places = slices.Clone(w.Places)
	if p >= Errored && w.Places[k] < Errored {
		w.Blocks = slices.Clone(w.Blocks)
		w.Blocks[k] = w.Now.Add(-w.Lag)
	}
	w.Places[k] = p
	return w
}

// Moves are all steps that may come next, in a fixed order.
func (w World[A]) Moves() []Move[A] {
	var out []Move[A]
	add := func(name string, to World[A]) { out = append(out, Move[A]{name, to}) }
	take := func(name string, ev swap.Event) {
		if to, ok := w.Take(ev); ok {
			add(name, to)
		}
	}
	for k := range max(w.Crew, 1) {
		w.work(k, add)
	}
	w.chain(add)
	w.restore(add)
	i := w.Head()
	for k := range i.Intents {
		if !i.Intents[k].Settled() {
			w.look(int64(k)+1, add)
		}
		if w.Places[k] >= Landed {
			take(fmt.Sprintf("the history shows %d", k+1), swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: w.sighting(&i.Intents[k])})
		}
	}
	for _, seen := range w.Old {
		take("an old sighting is told", swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: seen})
	}
	take("time is told", swap.Elapsed{By: w.by(swap.System, "clock"), Control: w.Control})
	if w.Orders > 0 {
		for _, o := range []swap.Order{swap.OrderRefund, swap.OrderQuarantine, swap.Requeue, swap.HoldItem} {
			if to, ok := w.Take(swap.Ordered{By: w.by(swap.Operator, "oscar"), Order: o, Reason: "because"}); ok {
				to.Orders--
				add("oscar orders "+o.String(), to)
			}
		}
	}
	if w.Orders > 0 {
		if to, ok := w.Take(swap.Settled{By: w.by(swap.Operator, "oscar"), Reference: "refund 1", Reason: "the customer asked"}); ok {
			to.Orders--
			add("oscar gives it back by hand", to)
		}
	}
	take("oscar releases it", swap.Ordered{By: w.by(swap.Operator, "oscar"), Order: swap.Release})
	if w.Hour {
		w.Now = w.Now.Add(time.Hour)
		add("an hour passes", w)
	}
	return out
}

// work is what one worker does: claim, put an intent on file, hand it over,
// answer. It may crash or wait between any two of them.
func (w World[A]) work(k int, add func(string, World[A])) {
	name := fmt.Sprintf("worker %d ", k+1)
	me := w.Workers[k]
	by := w.by(swap.Worker, name)
	emit := func(what string, to World[A], next Worker) {
		to.Workers[k] = next
		add(name+what, to)
	}
	if me.Intent == 0 {
		if to, ok := w.begin(by); ok {
			i := to.Head()
			emit("begins", to, Worker{Intent: int64(len(i.Intents)), Fence: i.Lease.Fence})
		}
		return
	}
	emit("crashes", w, Worker{})
	in := w.Head().Intent(me.Intent)
	if !me.Sent && w.Now.Before(in.SendBy) {
		to := w
		if to.Places[me.Intent-1] == Nowhere {
			to = to.put(int(me.Intent-1), Flight)
		}
		emit(fmt.Sprintf("hands %d over", me.Intent), to, Worker{me.Intent, me.Fence, true})
	}
	for _, o := range statemachine.Outcome(0).Values() {
		place := w.Places[me.Intent-1]
		if o == statemachine.Done && (place < Flight || place == Dead) {
			continue // that would be a lie about a payment
		}
		ev := swap.Answered{By: by, Fence: me.Fence, Number: me.Intent, Outcome: o, Reason: "said so"}
		if o == statemachine.Done {
			ev.TxID = txid(in)
		}
		if to, ok := w.Take(ev); ok {
			if l := to.Head().Lease; l.Held(to.Now) && l.Fence == me.Fence {
				to, _ = to.Take(swap.Released{By: by, Fence: me.Fence})
			}
			emit(fmt.Sprintf("answers %d with %v", me.Intent, o), to, Worker{})
		}
	}
}

// begin claims, has the account checked, and puts on file what is owed.
func (w World[A]) begin(by swap.By) (World[A], bool) {
	if w.Head().CheckAt.IsZero() || len(w.Head().Intents) >= w.Limit {
		return w, false
	}
	for round := range 2 {
		for _, t := range w.Rules.Next(w.Item, w.Control, w.Now).Tasks {
			if round == 0 && !w.Head().Lease.Held(w.Now) {
				var ok bool
				if w, ok = w.Take(swap.Claimed{By: by}); !ok {
					return w, false
				}
			}
			fence := w.Head().Lease.Fence
			switch t.Do {
			case swap.CheckAccount:
				w, _ = w.Take(swap.AccountChecked{By: by, State: swap.AccountUsable})
			case swap.Begin:
				ev := swap.Begun{By: by, Fence: fence, Number: t.Number, Action: t.Action, Control: w.Control}
				if t.Chain == swap.Nexus {
					ev.Reference = uint64(t.Number) + 1000*uint64(w.Restores) // a scan has raised the counter
				} else {
					ev.Signature, ev.LastValid = fmt.Sprintf("sig%d", ev.Number+1000*int64(w.Restores)), 1000
				}
				return w.Take(ev)
			}
		}
	}
	return w, false
}

// chain is what happens to a transaction by itself.
func (w World[A]) chain(add func(string, World[A])) {
	for k, place := range w.Places {
		in := &w.Head().Intents[k]
		become := func(what string, p Place) {
			add(fmt.Sprintf("%d %s", k+1, what), w.put(k, p))
		}
		switch {
		case place == Flight && w.canLand(in):
			become("lands", Landed)
			become("lands with an error", Errored)
			if in.Chain == swap.Nexus {
				become("is dropped for good", Dead)
			}
		case place == Landed:
			become("is final", Final)
			if w.Forks > 0 {
				to := w.put(k, Flight)
				to.Old = append(slices.Clone(w.Old), w.sighting(in))
				to.Forks--
				add(fmt.Sprintf("%d is taken back", k+1), to)
			}
		}
	}
}

func (w *World[A]) canLand(in *swap.Intent) bool {
	return in.Chain == swap.Nexus || !w.Now.After(in.At.Add(Land))
}

// over: nothing of the intent can land any more, really.
func (w *World[A]) over(in *swap.Intent) bool { return w.cannotLand(in, w.Places[in.Number-1]) }

func (w *World[A]) cannotLand(in *swap.Intent, place Place) bool {
	switch place {
	case Nowhere:
		return !w.Now.Before(in.SendBy) || in.Chain == swap.Solana && !w.canLand(in)
	case Flight:
		return !w.canLand(in)
	}
	return place == Dead
}

func txid(in *swap.Intent) string {
	switch {
	case in.TxID != "":
		return in.TxID
	case in.Chain == swap.Solana:
		return in.Signature
	}
	return fmt.Sprintf("nexus%d", in.Reference)
}

func (w *World[A]) sighting(in *swap.Intent) swap.Sighting {
	return sighting(in, w.Places[in.Number-1], w.Blocks[in.Number-1])
}

func sighting(in *swap.Intent, place Place, block time.Time) swap.Sighting {
	s := Sighting(in, place != Landed)
	s.Errored, s.Time = place == Errored, block
	return s
}

// Sighting is what a chain shows of an intent that has paid, to the unit.
func Sighting(in *swap.Intent, final bool) swap.Sighting {
	s := swap.Sighting{VaultSigned: true, Chain: in.Chain, TxID: txid(in), Memo: in.Memo, Reference: in.Reference, Amount: in.Net,
		Destination: in.Destination, Token: map[swap.Chain]string{swap.Solana: "USDC", swap.Nexus: "USDD"}[in.Chain], Confirmations: 1}
	if final {
		s.Confirmations, s.Finalized = 100, true
	}
	return s
}

// look is an honest look-up, or one that lies while lies are left.
func (w World[A]) look(n int64, add func(string, World[A])) {
	in := w.Head().Intent(n)
	ev := swap.Looked{By: w.by(swap.Worker, "looker"), Number: n, Finding: swap.LookFound}
	if p := w.Places[n-1]; p >= Errored {
		ev.Seen = w.sighting(in)
		if to, ok := w.Take(ev); ok {
			add(fmt.Sprintf("%d is found", n), to)
		}
		if p >= Landed && w.Blocks[n-1].Before(in.At) {
			ev.Finding, ev.View = swap.LookMissing, w.view(in, in.Chain == swap.Nexus || !w.canLand(in))
			ev.View.From = in.At // its block is older
			if to, ok := w.Take(ev); ok {
				add(fmt.Sprintf("a scan from its commit on does not show %d", n), to)
			}
		}
		return
	}
	for _, lie := range []bool{false, true} {
		if lie && (w.Lies == 0 || w.over(in)) {
			continue
		}
		ev.Finding, ev.View = swap.LookMissing, w.view(in, lie || w.over(in))
		to, ok := w.Take(ev)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%d is not found", n)
		if lie {
			to.Lies--
			name += ", which is a lie"
		}
		add(name, to)
	}
}

// view of a look-up that finds nothing now. over: nothing can land any more.
func (w *World[A]) view(in *swap.Intent, over bool) swap.View {
	v := swap.View{From: in.At.Add(-time.Hour), Asked: w.Now, ByID: true, ByMemo: true, Before: 1000, After: 1000}
	if over {
		v.CannotLand, v.Before, v.After = true, 1001, 1001
	}
	return v
}

// negative is a look-up of an intent that is not found, and on Nexus is not on its way:
// it says nothing about what is handed over later.
func (w *World[A]) negative(n int) swap.Looked {
	in := w.Head().Intent(int64(n))
	over := w.over(in) || in.Chain == swap.Nexus && w.Places[n-1] != Flight
	return swap.Looked{Number: in.Number, Finding: swap.LookMissing, View: w.view(in, over)}
}

// Paid is what really went out, for a comparison with [swap.Money]: how many
// outbounds paid, and their sum.
func (w *World[A]) Paid() (n int, sum uint64) {
	for k, p := range w.Places {
		if p >= Landed {
			n++
			sum += w.Head().Intents[k].Net
		}
	}
	for k := range w.Strays {
		if w.Strays[k].Place >= Landed {
			n++
			sum += w.Strays[k].Intent.Net
		}
	}
	return n, sum
}

// Possible is how many outbounds paid or may still pay.
func (w *World[A]) Possible() (n int) {
	for k := range w.Places {
		if in := &w.Head().Intents[k]; w.Places[k] >= Landed || w.Places[k] != Errored && !w.over(in) {
			n++
		}
	}
	for k := range w.Strays {
		if s := &w.Strays[k]; s.Place >= Landed || s.Place != Errored && !w.then().cannotLand(&s.Intent, s.Place) {
			n++
		}
	}
	return n
}

// Attended is an error if nobody is named to move the item on. What is not finished,
// and what has an outbound that is not settled, owes something that its store offers
// to a worker, or names an operator and why; and time is told only where that
// changes something.
func (w *World[A]) Attended() error {
	i := w.Head()
	if i.Version == 0 {
		return nil
	}
	open := any(&w.Item).(swap.Record).Place() == swap.Unprocessed && i.ByHand == swap.ByHand{}
	for k := range i.Intents {
		open = open || !i.Intents[k].Settled()
	}
	late := w.Now.Add(1000 * time.Hour) // every wait is over then
	step := w.Rules.Next(w.Item, w.Control, late)
	for _, t := range step.Tasks {
		if t.Do != swap.Tell {
			continue
		}
		c, err := w.Rules.Apply(w.Item, swap.Elapsed{By: swap.By{Actor: "clock", Role: swap.System, At: late}, Control: w.Control}, late)
		if err != nil || len(c.Log) == 0 {
			return fmt.Errorf("time is told and changes nothing: %v", err)
		}
	}
	if place := any(&w.Item).(swap.Record).Place(); place == swap.Unprocessed && i.Hold.Kind == 0 && i.ByHand == (swap.ByHand{}) && !i.Overdue(late) {
		return fmt.Errorf("it is not finished, and nobody is ever told: overdue at %v", i.OverdueAt)
	}
	switch {
	case step.Party == swap.Operator && step.Why != "":
	case step.Party == swap.Worker && len(step.Tasks) > 0 && !i.CheckAt.IsZero():
	case step.Party == 0 && !open:
	default:
		return fmt.Errorf("nobody is named: %+v, due %v, hold %v", step, i.CheckAt, i.Hold)
	}
	return nil
}

// Rumours is an error if a discrepancy is open that says what did not happen, once all
// is known and nothing was paid twice.
func (w *World[A]) Rumours() error {
	i := w.Head()
	for _, d := range i.Discrepancies {
		n, _ := strconv.ParseInt(d.Key, 10, 64)
		in := i.Intent(n)
		switch {
		case d.ClosedBy != "":
		case d.Kind == swap.LateOutbound && in != nil && in.Final, d.Kind == swap.PaidWhileQuarantined && in != nil && in.Final:
		case d.Kind == swap.OutboundLost && i.Lost == n:
		case d.Kind == swap.PaidAndGivenBack && in != nil && in.Final && i.ByHand != swap.ByHand{}:
		default:
			return fmt.Errorf("it is not so, and open: %+v", d)
		}
	}
	return nil
}

// Books is an error if the item was given back by hand and is paid or refunded for
// good, too, and no open discrepancy says so.
func (w *World[A]) Books() error {
	i := w.Head()
	for k := range i.Intents {
		in := &i.Intents[k]
		if w.Places[k] != Final || !in.Final || in.Action == swap.Quarantine || i.ByHand.At.IsZero() {
			continue
		}
		if !slices.ContainsFunc(i.Discrepancies, func(d swap.Discrepancy) bool { return d.Kind == swap.PaidAndGivenBack && d.ClosedBy == "" }) {
			return fmt.Errorf("intent %d has paid what was given back by hand, and nobody is told", in.Number)
		}
	}
	return nil
}

// Ended reports whether nothing is left to be done, or an operator is named.
func (w *World[A]) Ended() bool {
	step := w.Rules.Next(w.Item, w.Control, w.Now)
	return step.Party == 0 || step.Party == swap.Operator
}

// Known reports whether the record knows all that was paid, finally.
func (w *World[A]) Known() bool {
	if slices.ContainsFunc(w.Strays, func(s Stray) bool { return s.Place >= Landed }) {
		return false
	}
	for k, p := range w.Places {
		if in := &w.Head().Intents[k]; in.Final != (p == Final) || p == Landed || !in.Settled() {
			return false
		}
	}
	return true
}
