package swap

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided. The set is closed.
type Event interface{ statemachine.Event[Role] }

// By says who speaks, in which capacity, when, and about which version of the item. Only [NotSent] uses At, as the time
// when the person looked; everything else goes by the store's clock.
type By = statemachine.By[Role]

// What came in.
type (
	// Observed creates an item, at its first sighting as a transfer to the treasury that succeeded and, on Solana, is
	// finalized. Amount is the net increase of the treasury's account. Key: ID; a second sighting with other facts
	// changes nothing and is recorded as a discrepancy. A transfer from an own account, or of more than [MaxAmount],
	// makes no item, only a discrepancy; an amount of 0 is [ErrNothing]. After a restore a transfer that came in before
	// it is [ErrUnsettled] until [Control].MissingSaid is set.
	Observed struct {
		By
		ID        string // of a credit in its one form, see [Credit]
		Amount    uint64
		From      string    // the owner of the sources; empty if there are several owners. A text that can be no address counts as empty
		Time      time.Time // of its block; By.At counts instead if this is later, zero or before 1970
		Success   bool
		Finalized bool   // Solana
		To        string // credit: the treasury account; empty if nobody knows it. A text that can be no address counts as empty
		Owner     string // credit: who must own the asset that maps it; empty if nobody is named. A text that can be no address counts as empty
		Control   Control
	}
	// Confirmations counts the confirmations of a credit's inbound transaction. Gone: a complete look-up no longer
	// finds the transaction. Gone counts only if the look-up began after the credit was stored, and a later count
	// cancels it.
	Confirmations struct {
		By
		Count   uint64
		Gone    bool
		Asked   time.Time // as in View
		Control Control
	}
	// MemoFetched brings the memos of a deposit as plain text: none, one or several. Several are taken for one if
	// they are equal, and for an invalid one otherwise. Failed: they could not be read.
	MemoFetched struct {
		By
		Memos  []string
		Failed bool
	}
	// AccountChecked says whether the account can be paid: the Nexus account of
	// a deposit's memo, or a credit's receival account.
	AccountChecked struct {
		By
		State AccountState `json:",omitzero"`
	}
	// MappingLooked is a look-up of the asset that maps a credit to a Solana account. A mapping counts only with the
	// credit's own id and owner; any other mapping counts as a missing one. A missing mapping counts only if the
	// look-up began after the credit entered its state.
	MappingLooked struct {
		By
		Asked   time.Time      // as in View
		Finding MappingFinding `json:",omitzero"`
		TxID    string
		Owner   string
		Account string
		State   AccountState `json:",omitzero"` // of the account, if it was checked too
	}
)

// AccountState is what a look-up says of an account.
// Values: AccountUsable, AccountMissing, AccountClosed, AccountFrozen, AccountOtherToken, AccountNoToken,
// AccountOwn, AccountUnknown.
type AccountState = statemachine.Enum[accountState]

const (
	AccountUsable AccountState = iota + 1
	AccountMissing
	AccountClosed
	AccountFrozen
	AccountOtherToken
	AccountNoToken
	AccountOwn     // of the house
	AccountUnknown // the look-up failed
)

type accountState struct{}

func (accountState) Kind() string    { return "account state" }
func (accountState) Names() []string { return accountStates }

var accountStates = []string{"usable", "missing", "closed", "frozen", "other token", "no token account", "own account", "unknown"}

// MappingFinding is what a look-up says of a mapping.
// Values: MappingFound, MappingMissing, MappingUnknown.
type MappingFinding = statemachine.Enum[mappingFinding]

const (
	MappingFound MappingFinding = iota + 1
	MappingMissing
	MappingUnknown // the look-up failed
)

type mappingFinding struct{}

func (mappingFinding) Kind() string    { return "mapping finding" }
func (mappingFinding) Names() []string { return mappingFindings }

var mappingFindings = []string{"found", "missing", "unknown"}

// What goes out, by a worker under its lease. The holder is By.Actor.
type (
	// Claimed takes an item. Fence is Lease.Fence + 1; 0 takes the next fence, whatever it is. Key: Fence.
	Claimed struct {
		By
		Fence int64
	}
	// GivenBack gives an item back. The time at which it is due stays. Key: Fence.
	GivenBack struct {
		By
		Fence int64
	}
	// Revoked takes the leases that Holder has: a worker may revoke its own name, an operator any. The transactions
	// that Holder's intents may have sent are looked up as ever. Key: Holder has no lease.
	Revoked struct {
		By
		statemachine.Revocation
	}
	// Begun puts an intent on file, before anything is sent. Amount, fee, destination and memo come from the record and
	// the policy. Begun is [switches.ErrOnHold] while the direction is stopped or recovering, while the item is held,
	// or while an earlier intent may have paid. Key: Number.
	Begun struct {
		By
		Fence     int64
		Number    int64 // the next one, len(Intents) + 1
		Action    Action
		Reference uint64 // Nexus: drawn from the counter in the same commit, above Control.Reference
		Signature string // Solana: of the signed transaction
		Raw       []byte // Solana: its bytes, if they are kept
		LastValid uint64 // Solana: the last block height at which it can land
		Control   Control
	}
	// Answered is the answer to handing an intent over. Failed means that every node refused it before it reached
	// anybody who could execute it; if one of several nodes refuses, the outcome is Unknown. Under the lease Answered
	// also says that the sender is done with the intent. Key: Number and Outcome.
	Answered struct {
		By
		Fence   int64
		Number  int64
		Outcome statemachine.Outcome `json:",omitzero"`
		TxID    string               // with Done
		Reason  string               // bounded and stored; the host redacts secrets
		Rival   string               `json:",omitempty"` // as in Sighting
	}
)

// What the chains say of it.
type (
	// Sighting is an outbound transaction as a chain shows it. A transaction that the vault did not sign proves
	// nothing.
	Sighting struct {
		VaultSigned   bool
		Chain         Chain `json:",omitzero"`
		TxID          string
		Memo          string // Solana
		Reference     uint64 // Nexus
		Amount        uint64
		Destination   string
		Token         string
		Errored       bool // it landed with an error
		Confirmations uint64
		Finalized     bool // Solana
		Time          time.Time
		// Of is another item whose intent has this reference: the transaction belongs to that item, unless a person has
		// said [NotSent] of it there (Denied), see [Policy.Denied]. The service fills both in.
		Of     string `json:",omitempty"`
		Denied bool   `json:",omitempty"`
		// Rival is another item that has the transaction on file, by [Intent].Claim.
		// The service fills it in.
		Rival string `json:",omitempty"`
	}
	// View is how much a look-up covered. Apply decides by it whether a look-up that found nothing is a complete
	// negative; see [Policy.Complete]. For an answer from a cache, from a node that is behind or pruned, or from pages
	// with gaps a host reports [LookUnknown], whatever the answer says.
	View struct {
		From time.Time // the scan begins at this block time, or earlier
		// Asked is when the look-up began, by the clock of the store: the look-up does not cover what is sent later.
		// Zero with LookMissing is ErrInvalid. With a time that is after the store's the look-up proves nothing.
		Asked  time.Time
		ByID   bool   // asked by signature (Solana) or reference (Nexus)
		ByMemo bool   // Solana: and by memo
		Before uint64 // finalized height (Solana) or tip (Nexus), read before the look-up
		After  uint64 // height of the answer
		// CannotLand says that a transaction on Nexus which was not found will never be mined. It is the one fact
		// that the rules take from the host without evidence.
		CannotLand bool
	}
	// Looked is a look-up of one intent. Number 0 is a look-back, owed after a database was lost or restored: it
	// searches all outbounds of the item, on file or not, by memo, and on Nexus by reference, destination and amount,
	// see [Policy.RecoverDeposit]. A look-back begins at [Policy.Since] of the item's own time or earlier; its
	// CannotLand says that no transaction from before the loss can land any more, and its LookMissing that every
	// outbound that exists is on file.
	Looked struct {
		By
		Number  int64
		Finding Finding  `json:",omitzero"`
		Seen    Sighting // with LookFound
		// View is what was covered by a look-up that answers LookMissing; with Number 0 it is the view of Solana. With
		// LookFound View.Asked says when Seen was asked for; zero: when the event is said. The other fields then say
		// what was covered beside Seen, on the assumption that no other transaction has that reference: if Seen is
		// known to be another item's or intent's, the look-up is judged like LookMissing. Leave them empty where a
		// chain can have a number twice.
		View    View
		Nexus   View    // with Number 0
		Control Control // with Number 0
	}
	// Outbound is a transaction of the vault's own history that names the item.
	Outbound struct {
		By
		Asked time.Time // as in View; zero: when it is told
		Seen  Sighting
	}
)

// Finding is what a look-up says.
// Values: LookFound, LookMissing, LookUnknown.
type Finding = statemachine.Enum[finding]

const (
	LookFound Finding = iota + 1 // Seen says what, an error included
	LookMissing
	LookUnknown // it could not be asked, or the answer is not whole
)

type finding struct{}

func (finding) Kind() string    { return "look-up finding" }
func (finding) Names() []string { return findings }

var findings = []string{"found", "missing", "unknown"}

// Time, orders, recovery.
type (
	// Elapsed: time has passed.
	Elapsed struct {
		By
		Control Control
	}
	// Settled is an operator's word that he has given the amount back by hand, outside of settle. It is said in the
	// commit of the posting in the host's books, or before it. It ends a deposit whose quarantine has failed, a
	// quarantined item, and a credit whose refund is lost; while an outbound of the item may still pay, it is ErrHeld.
	// Afterwards nothing is begun and [Requeued] is [ErrSettled]; evidence is taken as ever, and an outbound that has
	// paid or refunded after all is a discrepancy. Key: Reference; a second Settled with another Reference is
	// ErrConflict.
	Settled struct {
		By
		Reference string // in the host's books, 1 to MaxReferenceText bytes
		Reason    string // required, bounded
	}
	// Recovered rebuilds the row of a finished item from the chains, after a database was lost: see
	// [Policy.RecoverMissing]. Without an Action nobody can tell which outbound paid for the item: it is then made like
	// a new one, and held.
	Recovered struct {
		By
		Observed Observed // what came in; its By is not looked at
		Memo     string   // of a deposit
		Action   Action
		Seen     Sighting // what the action owes, see Past
		Past     []Fees   // that were in force beside today's
	}
)

// What an operator orders. What is carried out already is a no-op. A reason is required but for
// [Released], and bounded.
type (
	// RefundOrdered and QuarantineOrdered choose how the item ends. They also end a hold by policy. While an intent
	// of the item is open, both are ErrHeld.
	RefundOrdered struct {
		By
		Reason string
	}
	QuarantineOrdered struct {
		By
		Reason string
	}
	// Requeued orders an action that failed for good, or was lost, once more: the counter of attempts of that action
	// begins anew. After [Settled] it is [ErrSettled]. For an item without a look-back since a restore it is
	// [ErrUnsettled].
	Requeued struct {
		By
		Reason  string
		Control Control
	}
	// Held stops an item; Released ends that.
	Held struct {
		By
		Reason string
	}
	Released struct {
		By
		Reason string
	}
	// NotSent closes an intent as proved not to have paid, on the operator's word, or says that the transaction of a
	// mismatch is no payment of the item. It is refused while the intent may still be sent, that is until SendBy +
	// [Policy].CallTimeout by By.At, the time when the person looked. Without By.At it is accepted once look-ups have
	// seen that much time pass, see [Intent].Missed.
	NotSent struct {
		By
		Number int64  // the intent
		TxID   string // or the transaction of a mismatch
		Height uint64 // on Solana: the finalized block height
		Reason string
	}
	// PaidBy says, on the operator's word, that a transaction paid for the item. The transaction is filed as an intent,
	// or its intent is reopened if it was proved not to have paid; the look-up of the intent then finishes the item.
	PaidBy struct {
		By
		Action Action `json:",omitzero"` // what the transaction was for
		TxID   string
		Amount uint64 // what the transaction moved; 0: what the action pays
		Reason string
		Rival  string `json:",omitempty"` // as in Sighting
	}
	// Dropped gives up a credit that has vanished.
	Dropped struct {
		By
		Reason string
	}
	// Acknowledged says that a person has dealt with a discrepancy.
	Acknowledged struct {
		By
		Number int64 // the discrepancy, from 1
		Reason string
	}
)

// Speakers are the roles that may send an event; none for what is no event of the domain.
func Speakers(ev Event) statemachine.Roles[Role] {
	switch ev.(type) {
	case Observed, Confirmations, Outbound:
		return byObserver | bySystem
	case MemoFetched, AccountChecked, MappingLooked, Claimed, GivenBack, Begun, Answered:
		return byWorker
	case Revoked:
		return byWorker | byOperator
	case Looked:
		return byWorker | byObserver
	case Elapsed:
		return byWorker | bySystem
	case RefundOrdered, QuarantineOrdered, Requeued, Held, Released, NotSent, PaidBy, Dropped, Acknowledged, Settled:
		return byOperator
	case Recovered:
		return bySystem
	}
	return 0
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event {
	return []Event{
		Observed{}, Confirmations{}, Outbound{}, MemoFetched{}, AccountChecked{}, MappingLooked{}, Claimed{}, GivenBack{},
		Begun{}, Answered{}, Revoked{}, Looked{}, Elapsed{}, Settled{}, Recovered{},
		RefundOrdered{}, QuarantineOrdered{}, Requeued{}, Held{}, Released{}, NotSent{}, PaidBy{}, Dropped{}, Acknowledged{},
	}
}

// roles is a set of [Role].
type roles = statemachine.Roles[Role]

const (
	byObserver roles = 1 << Observer
	byWorker   roles = 1 << Worker
	byOperator roles = 1 << Operator
	bySystem   roles = 1 << System
)
