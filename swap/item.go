package swap

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Bounds of text from outside.
const (
	MaxID      = 200                   // bytes of a signature, a txid or "txid:contract"
	MaxAddress = 256                   // bytes of an address or an owner
	MaxMemo    = 1000                  // bytes of a memo that is kept; what is longer is cut and invalid
	MaxActor   = statemachine.MaxActor // bytes
	MaxText    = 1000                  // bytes of a reason
	MaxRaw     = 1 << 12               // bytes of a signed transaction; Solana allows 1232
	// MaxAmount bounds every amount, in units of 10^-6. It is the largest number that a signed 64-bit column holds.
	MaxAmount = 1<<63 - 1
	// MaxIntents bounds the intents that are begun for one item. After the last one only an [Operator] moves the item
	// on.
	MaxIntents = 1000
	// MaxDeferral is the longest pause after an intent that was not tried, unless [Policy].DeferFor is longer. So an
	// item that is postponed for ever has one intent a day.
	MaxDeferral = 24 * time.Hour
)

// Item is what a [Deposit] and a [Credit] have in common. All times are UTC
// microseconds, amounts are units of 10^-6.
type Item struct {
	ID     string
	Amount uint64
	From   string    // the sender, to whom a refund goes; empty if the transfer has no single sender
	At     time.Time // its own time: of its block, in whole seconds
	Stored time.Time // when the item was first stored
	// Entered is when it entered its status.
	Entered time.Time
	Version int64 // 1 at creation, +1 with each transition

	Terms    Terms    // of its send; frozen when they first matter
	Tried    bool     // somebody has tried to move the item on since it entered its status
	Checked  bool     // the account was found usable; good for the next intent only
	Attempts Attempts // failed or open intents, by action
	Fees     uint64   // the amount kept, of an item that is processed as fees
	// Reason is why it is refunded.
	Reason RefundReason `json:",omitzero"`
	Hold   Hold         `json:",omitzero"`
	// Stood is the time in holds that have ended, which the stale clock does not count.
	Stood time.Duration
	// LookedBack is the [Control].Generation in which all outbounds of the item were known to be on file: when it was
	// stored, or at its last complete look-up with number 0. After a database was lost nothing is begun while
	// LookedBack is below the generation of the control row.
	LookedBack int64
	// Lost is the number of the intent that a finished item rested on and that cannot have paid; an operator requeues
	// the item. 0: there is none.
	Lost int64
	// ByHand is the operator's word that the amount was given back outside.
	ByHand ByHand `json:",omitzero"`
	// OverdueAt is when a person has to look at the item; zero if nothing is out or waited for. Each step derives it
	// anew: a row that an earlier release wrote keeps its value until the item's next step.
	OverdueAt time.Time

	Intents       []Intent      // by number, from 1 without gaps
	Discrepancies []Discrepancy // in the order of their discovery

	// Lease and CheckAt are outside the version.
	Lease statemachine.Lease
	// CheckAt is when the item is due for a worker; zero: never by itself. Each step derives it anew.
	CheckAt time.Time
}

// Head returns the item itself: what a deposit and a credit share.
func (i *Item) Head() *Item { return i }

// Terms are what a send pays, frozen so that a later policy changes nothing.
type Terms struct {
	Frozen        bool
	Net, Fee, Min uint64
}

// micro reports whether the amount is kept as fee.
func (t Terms) micro(amount uint64) bool { return t.Frozen && (amount <= t.Min || t.Net == 0) }

// Attempts counts by action: index Action - 1.
type Attempts [3]int32

// Of returns the attempts of an action.
func (a Attempts) Of(action Action) int32 { return a[action-1] }

// Intent is one outbound transaction, on file before it is sent. At most one intent of an item is open at a time.
// Scans match amount, destination, memo and reference with what the chain shows, so these never change.
type Intent struct {
	Number      int64 // within the item, from 1, never used again; the key of Begun, Answered and Looked
	Action      Action
	Attempt     int32 // number of the attempt among those of its action
	Chain       Chain
	Reference   uint64 // Nexus: unique over all items, from 1
	Memo        string // Solana: exact
	Destination string // who is paid; empty in an intent that an operator filed
	Net, Fee    uint64
	Signature   string    // Solana: signed before the intent was stored; empty in one that was filed
	Raw         []byte    // Solana: the signed bytes, if the host keeps them
	LastValid   uint64    // Solana: the last block height at which it can land
	At          time.Time // commit: "sent at" for time-outs and cooldown
	SendBy      time.Time // from this moment on the sender must not hand the transaction over
	Filed       bool      // it was not begun here: see [PaidBy]
	// Claim names the transaction that a filed intent has for its item alone. Empty: another item has the
	// transaction, the intent is proved not to have paid, or it was not filed.
	Claim string

	Outcome  statemachine.Outcome `json:",omitzero"` // zero and Unknown: open
	TxID     string               // the transaction's id on its chain, once known
	Proof    Proof                `json:",omitzero"` // why the intent cannot have paid; zero: it may have
	Final    bool                 // the intent has paid, and no reorganisation takes that back
	ClosedAt time.Time            // when the first answer or evidence closed the intent
	// SeenAt is the time of the latest word that the intent went out: when a chain was asked for a
	// sighting, or when an answer or a person said so. Zero: nobody has said so. A look-up that denies
	// the intent counts only if it was asked after SeenAt, whichever of the two arrived first.
	SeenAt time.Time
	// Missed is the time that look-ups have seen pass since the intent's commit, or since its sender said under the
	// lease that it is done. The time between two look-ups that did not find the intent counts if the later one was
	// asked at most twice [Policy].LookEvery after the earlier. Missed counts only without a last valid height, and
	// only up to what a proof needs. MissedAt is when the latest of these look-ups was asked; before the first one,
	// when the time began.
	Missed   time.Duration
	MissedAt time.Time
}

// Open reports whether nobody knows yet what became of it.
func (i *Intent) Open() bool { return i.Outcome == 0 || i.Outcome == statemachine.Unknown }

// Landed reports whether it went out, as far as the record knows.
func (i *Intent) Landed() bool { return i.Outcome == statemachine.Done }

// Settled reports whether the intent is final or proved not to have paid, so that nothing about it can change. Until
// then it is looked up.
func (i *Intent) Settled() bool { return i.Final || i.Proof != 0 }

// Proof says why an intent has not paid and never will.
// Values: Negative, Errored, Said.
type Proof = statemachine.Enum[proof]

const (
	// Negative: a complete look-up did not find the transaction, and it cannot land any more. See [View].
	Negative Proof = iota + 1
	// Errored: it landed with an error, finally.
	Errored
	// Said: an operator says so, see [NotSent].
	Said
)

type proof struct{}

func (proof) Kind() string    { return "proof" }
func (proof) Names() []string { return proofNames }

var proofNames = []string{"complete negative", "landed with an error", "operator"}

// Hold stops an item: nothing new is begun and time alone moves nothing, while
// look-ups go on. The zero value is no hold.
type Hold struct {
	Kind   HoldKind `json:",omitzero"`
	At     time.Time
	Reason string // bounded
}

// HoldKind says who holds an item, and what ends the hold.
// Values: ByOperator, ByPolicy, ByMismatch, ByLate, ByMemo, ByRecovery.
type HoldKind = statemachine.Enum[holdKind]

const (
	// ByOperator ends by [Released].
	ByOperator HoldKind = iota + 1
	// ByPolicy: a payment cannot land any more and the policy is [OnTimeoutHold]. The hold ends when an operator
	// orders a refund or a quarantine.
	ByPolicy
	// ByMismatch: an outbound of the vault names the item and is none of its intents. The hold ends by [PaidBy] or
	// [NotSent]; below finality also by evidence that the outbound cannot have paid, or is an intent of the item after
	// all.
	ByMismatch
	// ByLate: an intent that was closed has paid while a later one is open. The hold ends by itself, when evidence
	// has closed every open intent.
	ByLate
	// ByMemo: the inbound memo begins like those that only the house writes. The hold ends by [Released].
	ByMemo
	// ByRecovery: a database was lost, and nobody can tell what was paid for this item. The hold ends by [PaidBy] or
	// [Released].
	ByRecovery
)

type holdKind struct{}

func (holdKind) Kind() string    { return "kind of hold" }
func (holdKind) Names() []string { return holdNames }

var holdNames = []string{"operator", "policy", "mismatch", "late outbound", "own memo", "recovery"}

// ByHand says who has given an amount back by hand, when that was said, and under
// which reference of the host's books; zero: nobody. See [Settled].
type ByHand struct {
	Reference string // 1 to [MaxReferenceText] bytes
	Actor     string
	At        time.Time
}

// ErrNothing refuses an [Observed] of an amount of 0: nothing came in, and no scan waits for
// it. It is an [statemachine.ErrInvalid].
var ErrNothing = statemachine.NewSentinel("nothing-came-in", "an amount of 0: nothing came in", statemachine.ErrInvalid)

// MaxReferenceText bounds [Settled].Reference, in bytes.
const MaxReferenceText = 100

// givenBack reports whether an operator has given the amount back by hand. Then nothing more is owed, and an outbound
// that pays all the same is a discrepancy.
func (i *Item) givenBack() bool { return !i.ByHand.At.IsZero() }

// Discrepancy is evidence that contradicts the record, or an operator's word
// that replaces evidence. It is recorded once by its key: Direction, Item,
// Kind and Key.
type Discrepancy struct {
	Direction Direction `json:",omitzero"` // zero: of no item
	Item      string
	Kind      DiscrepancyKind `json:",omitzero"`
	Key       string          // tells it from others of its kind and item: a transaction, or the number of an intent
	Chain     Chain           `json:",omitzero"`
	TxID      string
	Amount    uint64 // what moved
	Other     uint64 // DoublePayout: what the other outbound moved; Overpaid: how much of Amount is too much
	Text      string // bounded
	Actor     string
	At        time.Time
	ClosedBy  string // who dealt with it, or whose evidence refuted it
	ClosedAt  time.Time
	// Firm is set for a Mismatch that no evidence closes any more: it was final when a chain showed it, a person has
	// said what it is, or it is on Nexus and has the reference of no intent of the item.
	Firm bool
}

// mismatch reports whether it is an outbound with that id that is no intent.
func (d *Discrepancy) mismatch(txid string) bool {
	return d.Kind == Mismatch && alike(d.Chain, d.Key, txid)
}

// Close returns the discrepancy as dealt with by an operator. It takes only discrepancies of no item; those of an
// item are closed by [Acknowledged].
func (d Discrepancy) Close(operator string, now time.Time) (Discrepancy, error) {
	switch {
	case statemachine.Actor(operator) != nil:
		return d, statemachine.Actor(operator)
	case d.Kind != UnattributedOutbound && d.Kind != OwnSender && d.Kind != InboundTooLarge:
		return d, fmt.Errorf("%w: it is of an item: acknowledge it there", statemachine.ErrIllegal)
	}
	if d.ClosedBy == "" {
		d.ClosedBy, d.ClosedAt = operator, now
	}
	return d, nil
}

// DiscrepancyKind says what is wrong.
// Values: DoublePayout, LateOutbound, Mismatch, UnattributedOutbound, PaidWhileQuarantined, OutboundLost,
// InboundGone, InboundChanged, SecondOutbound, OwnSender, GapAccepted, Contested, Overpaid, PaidAndGivenBack, FinalDenied,
// InboundTooLarge.
type DiscrepancyKind = statemachine.Enum[discrepancyKind]

const (
	DoublePayout         DiscrepancyKind = iota + 1 // two outbounds of one item have paid, both finally
	LateOutbound                                    // an intent that was closed as failed, deferred or proved has paid
	Mismatch                                        // the vault paid something that names the item and is none of its intents
	UnattributedOutbound                            // the vault paid something that names no item
	PaidWhileQuarantined                            // a quarantined credit turned out to be paid
	OutboundLost                                    // what a finished item rests on cannot land, or failed
	InboundGone                                     // what came in has vanished
	InboundChanged                                  // what came in was seen with other facts
	SecondOutbound                                  // two transactions were named for one intent; proof that one of them did not pay closes it
	OwnSender                                       // a transfer between own accounts; no item
	GapAccepted                                     // an operator gave up the inbound of a span of time
	Contested                                       // the transaction that paid the item is on file for another item too
	Overpaid                                        // a person has paid more than was left of what came in
	PaidAndGivenBack                                // the item was paid or refunded finally, and an operator has given it back by hand too
	FinalDenied                                     // a final outbound is missing or has failed by later evidence; seen final again it closes
	InboundTooLarge                                 // more than MaxAmount came in at once; no item
)

type discrepancyKind struct{}

func (discrepancyKind) Kind() string    { return "kind of discrepancy" }
func (discrepancyKind) Names() []string { return discrepancyNames }

var discrepancyNames = []string{"double payout", "late outbound", "mismatch", "unattributed outbound", "paid while quarantined",
	"outbound lost", "inbound gone", "inbound changed", "second outbound", "own sender", "gap accepted", "contested", "overpaid",
	"paid and given back", "final denied", "inbound too large"}

// RefundReason is why an item is refunded: the text behind the signature in the
// memo of a refund, at most 64 bytes.
// Values: ReasonMemo, ReasonMemoTimeout, ReasonAccount, ReasonSend, ReasonMapping, ReasonOperator.
type RefundReason = statemachine.Enum[refundReason]

const (
	ReasonMemo        RefundReason = iota + 1 // the memo names no address
	ReasonMemoTimeout                         // the memo could not be read
	ReasonAccount                             // nothing can be paid to the account
	ReasonSend                                // the payment failed
	ReasonMapping                             // no asset maps the credit to an account
	ReasonOperator                            // an operator ordered it
)

type refundReason struct{}

func (refundReason) Kind() string    { return "refund reason" }
func (refundReason) Names() []string { return refundReasons }

var refundReasons = []string{"invalid memo", "memo not readable", "account unusable", "payment failed",
	"no account mapping", "ordered by operator"}

// Change is the result of one step on a Deposit or a Credit. If the version
// moved, the record is written where the version in Old still stands, with its
// lines of the log, the intents that differ, and Notes, in one commit.
type Change[A any] struct {
	Old, New A
	Log      []statemachine.Transition[string] // one per new version
	Notes    []Discrepancy                     // new ones, to insert once by their key; those of the item are in New too
	// Touched: Lease or CheckAt changed.
	Touched bool
}

// Empty reports that there is nothing to save: the event was there already.
func (c *Change[A]) Empty() bool { return len(c.Log) == 0 && len(c.Notes) == 0 && !c.Touched }

// DepositChange and CreditChange are what the two machines return.
type (
	DepositChange = Change[Deposit]
	CreditChange  = Change[Credit]
)

// Intent returns the intent of a number, nil if there is none.
func (i *Item) Intent(number int64) *Intent {
	if number < 1 || number > int64(len(i.Intents)) {
		return nil
	}
	return &i.Intents[number-1]
}

// openIntent returns the number of the open intent, 0 if there is none.
func (i *Item) openIntent() int64 {
	for k := range i.Intents {
		if i.Intents[k].Open() {
			return i.Intents[k].Number
		}
	}
	return 0
}

// landed returns how many intents have paid as far as the record knows, and the first of them.
func (i *Item) landed() (n int, first *Intent) {
	for k := range i.Intents {
		if i.Intents[k].Landed() {
			if n++; n == 1 {
				first = &i.Intents[k]
			}
		}
	}
	return n, first
}

// behind reports whether the store was emptied or restored since the last look-back of the item: the chains may have an
// outbound of it that is not on file, for example one that was begun after the copy was made.
func (i *Item) behind(c Control) bool { return i.LookedBack < c.Generation }

// unexplained reports whether a Mismatch is open: an outbound that names the item and is none of its intents waits
// for an operator's word.
func (i *Item) unexplained() bool {
	return slices.ContainsFunc(i.Discrepancies, func(d Discrepancy) bool { return d.Kind == Mismatch && d.ClosedBy == "" })
}

// unproved returns the first intent that may have paid or may still pay.
func (i *Item) unproved() *Intent {
	for k := range i.Intents {
		if i.Intents[k].Proof == 0 {
			return &i.Intents[k]
		}
	}
	return nil
}

// awaited returns the intent whose finality a state waits for: the latest of an action that went out, nil if none
// did.
func (i *Item) awaited(a Action) *Intent {
	for k := len(i.Intents) - 1; k >= 0; k-- {
		if in := &i.Intents[k]; in.Action == a && in.Landed() {
			return in
		}
	}
	return nil
}

// discrepant reports whether a discrepancy of a kind is on file.
func (i *Item) discrepant(kinds ...DiscrepancyKind) bool {
	return slices.ContainsFunc(i.Discrepancies, func(d Discrepancy) bool { return slices.Contains(kinds, d.Kind) })
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
