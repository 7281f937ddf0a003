// Package swaptest has a world in which one item is swapped: two chains, two
// workers that crash and forget, answers that lie or come late, orders of an
// operator, a store that is restored from an older copy while the chains went on, on a
// server whose clock is behind, blocks whose times lag behind the store's, and a store's
// clock that is set forward or back at any moment. It is for
// property tests of hosts and adapters, which run it on what they store, and for the
// model checker, which visits all of it.
package swaptest

import (
	"fmt"
	"slices"
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
	return swap.Control{Generation: 1, RecoveredAt: Start.Add(-48 * time.Hour), MissingSaid: Start.Add(-47 * time.Hour),
		SolanaScanned: true, NexusScanned: true}
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
	Slips   int  // how many sightings below finality may misread, and answers name another transaction
	// Old are sightings of those that it took back: a node that is behind tells of them.
	Old []swap.Sighting
	// Copies is how often the store may still be restored from a copy that was Kept,
	// Restores how often it was, and Strays what the copies did not know.
	Copies, Restores int
	Kept             *A
	Strays           []Stray
	// Slow is how far the clock of the server on which a copy is restored is behind, and Behind how far Now has been
	// behind since. Lag is how far the time of a block is behind Now. Each is at most [swap.Policy].WaterlineMargin.
	Slow, Behind, Lag time.Duration
	// Jumps is how often the store's clock may still be set, at any moment, but not after a restore. Ahead is how far
	// these jumps have put Now ahead of the time that has really passed. Then is the value that Ahead had when each
	// intent was begun, by number.
	Jumps int
	Ahead time.Duration
	Then  []time.Duration
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
		w.Places, w.Blocks, w.Then = append(slices.Clone(w.Places), Nowhere), append(slices.Clone(w.Blocks), time.Time{}),
			append(slices.Clone(w.Then), w.Ahead)
	}
	return w, true
}

// real is now by the store's clock as it went when an intent was begun: what a sender goes by,
// who has a clock that does not jump, and the chains.
func (w *World[A]) real(in *swap.Intent) time.Time { return w.Now.Add(w.Then[in.Number-1] - w.Ahead) }

// jump sets the store's clock: forward by as much as a look-up may count, or by more than a
// sender has, or back.
func (w World[A]) jump(add func(string, World[A])) {
	every := w.Rules.Policy.LookEvery
	for _, d := range []time.Duration{2 * every, 12 * every, -2 * every} {
		if to := w; w.Jumps > 0 && w.Restores == 0 {
			to.Now, to.Ahead, to.Jumps = w.Now.Add(d), w.Ahead+d, w.Jumps-1
			add(fmt.Sprintf("the clock is set by %v", d), to)
		}
	}
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
