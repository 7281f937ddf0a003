package swap

import "github.com/settlehq/settle/statemachine"

// Chain is one of the two ledgers.
// Values: Solana, Nexus.
type Chain = statemachine.Enum[chain]

const (
	Solana Chain = iota + 1 // holds USDC; a transaction carries a memo
	Nexus                   // holds USDD; a transaction carries a reference number
)

type chain struct{}

func (chain) Kind() string    { return "chain" }
func (chain) Names() []string { return chainNames }

var chainNames = []string{"solana", "nexus"}

// Direction says which of the two machines an item belongs to.
// Values: ToUSDD, ToUSDC.
type Direction = statemachine.Enum[direction]

const (
	ToUSDD Direction = iota + 1 // a [Deposit]: USDC in, USDD out
	ToUSDC                      // a [Credit]: USDD in, USDC out
)

type direction struct{}

func (direction) Kind() string    { return "swap direction" }
func (direction) Names() []string { return directionNames }

var directionNames = []string{"deposit", "credit"}

// Inbound is the chain on which items of the direction arrive, and on which
// they are refunded and quarantined.
func Inbound(d Direction) Chain {
	if d == ToUSDD {
		return Solana
	}
	return Nexus
}

// Action is what an outbound transaction is for.
// Values: Send, Refund, Quarantine.
type Action = statemachine.Enum[action]

const (
	Send       Action = iota + 1 // the swap itself, on the other chain
	Refund                       // back to the sender
	Quarantine                   // to the quarantine account, for people to settle
)

type action struct{}

func (action) Kind() string    { return "swap action" }
func (action) Names() []string { return actionNames }

var actionNames = []string{"send", "refund", "quarantine"}

// Role is in which capacity an actor speaks.
// Values: Observer, Worker, Operator, System.
type Role = statemachine.Enum[role]

const (
	Observer Role = iota + 1 // watches the chains: what came in, what went out
	Worker                   // claims an item, looks up, sends
	Operator                 // gives orders
	System                   // time, and rows rebuilt from the chains
)

type role struct{}

func (role) Kind() string    { return "swap role" }
func (role) Names() []string { return roleNames }

var roleNames = []string{"observer", "worker", "operator", "system"}

// trigger is the number of a trigger. Both machines have the numbers up to byHand; the triggers of one machine alone
// come after them.
type trigger uint8

const (
	observed        trigger = iota + 1 // the item was seen on its chain
	noted                              // a fact is on file; the status stays
	begun                              // an intent is on file, nothing has been sent
	sent                               // a send went out: answered as done, or seen
	refundSent                         // a refund went out
	quarantineSent                     // a move to the quarantine account went out
	confirmed                          // what the state waits for is final
	errored                            // what the state waits for landed with an error
	confirmTimeout                     // it cannot land any more, policy Refund
	timeoutAside                       // it cannot land any more, policy Quarantine
	maxAttempts                        // the last attempt failed
	accountUnusable                    // nothing can be paid to the destination
	asFees                             // amount at or below the minimum, or nothing left after fees
	noSender                           // a refund has nowhere to go
	orderRefund                        // operator
	orderQuarantine                    // operator
	requeued                           // operator: once more, after a failure or a loss
	recoveredSend                      // a finished item was rebuilt from the chains
	recoveredRefund
	recoveredQuarantine
	byHand // operator: given back by hand, see [Settled]
)

// landing is the trigger of an outbound that went out.
func landing(a Action) trigger { return sent + trigger(a) - 1 }

func recovering(a Action) trigger { return recoveredSend + trigger(a) - 1 }

const (
	extNoted     = "a new version without a new status: an intent, an answer, a hold or a look-up is on file"
	extNet       = "nothing is left after the fee of a refund or a quarantine: it is never sent"
	extStale     = "the stale sweep of the time-out table, and an operator's order"
	extRequeue   = "only an operator orders what failed or was lost once more"
	extPolicy    = "the time-out policy Quarantine, and an operator's order"
	extReconcile = "an earlier outbound was found: the item follows the money"
	extRecovered = "a finished item was rebuilt from the chains after its row was lost"
	extByHand    = "an operator has given it back by hand: nothing more is owed"
	extOrder     = "an operator may refund at any time before the money is out"
)

// Place is in which of the four tables of its direction an item is. It follows from the status, so no
// event moves an item to another place alone.
// Values: Unprocessed, Processed, Refunded, Quarantined.
type Place = statemachine.Enum[place]

const (
	Unprocessed Place = iota + 1 // under way
	Processed                    // sent, or kept as a fee
	Refunded                     // a refund has ended it
	Quarantined                  // a move to the quarantine account ends it, or no payment was possible
)

type place struct{}

func (place) Kind() string    { return "place of a swap" }
func (place) Names() []string { return placeNames }

var placeNames = []string{"unprocessed", "processed", "refunded", "quarantined"}

// stage is what the rules that both machines share need to know of a state.
type stage struct {
	performs Action // what may be begun here
	awaits   Action // the outbound whose end it waits for
	place    Place
	patient  bool // [Policy].RefundTimeout ends it
}

func (g stage) finished() bool { return g.place > Unprocessed }

// hop is an edge of either machine.
type hop[S statemachine.Label] struct {
	from S
	on   trigger
	to   S
}

// edges are hops that the source document draws, or extensions for one reason.
func edges[S, T statemachine.Label](extension string, hops ...hop[S]) []statemachine.Edge[S, T] {
	out := make([]statemachine.Edge[S, T], len(hops))
	for i, h := range hops {
		out[i] = statemachine.Edge[S, T]{From: h.from, Trigger: T(h.on), To: h.to, Extension: extension}
	}
	return out
}

// notes are the steps that change a version and no status.
func notes[S, T statemachine.Label](begins ...S) []statemachine.Edge[S, T] {
	var hops []hop[S]
	for s := S(1); s.Valid(); s++ {
		hops = append(hops, hop[S]{s, noted, s})
	}
	for _, s := range begins {
		hops = append(hops, hop[S]{s, begun, s})
	}
	return edges[S, T](extNoted, hops...)
}
