package ops

import (
	"fmt"
	"strings"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Source says where a field of an event comes from when a person speaks.
type Source string

const (
	Record Source = "record" // what was shown: an id, a version
	Choice Source = "choice" // one of what the record has
	Typed  Source = "typed"  // by the person, never filled in before: reasons, and evidence such as a hash or an amount
	Read   Source = "read"   // the service brings it
	Given  Source = "given"  // whether another field was typed: HasNonce, ByOutput
)

// Action is one event that an operator or an approver may say. What is possible is the
// domain's law; this list says what is asked of a person.
type Action struct {
	Event any // an empty one
	// Fields are those of the event beside its By, by name.
	Fields map[string]Source
	// NotOffered is why a console shows no button and no form for it; empty: it does.
	NotOffered string
	// NotAsked are fields that the form leaves empty.
	NotAsked []string
	// Name of the form where one event has several; empty: that of the event.
	Name string
	// Fixed are fields that the form says by itself.
	Fixed map[string]string
	// OfJob: By.Version is that of the job.
	OfJob bool
}

// reason is what most events ask of a person.
func reason(fields ...any) map[string]Source { return from(append(fields, "Reason", Typed)...) }

func from(pairs ...any) map[string]Source {
	all := map[string]Source{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i].(string)] = pairs[i+1].(Source)
	}
	return all
}

const (
	byFile   = "it has many parts: by a command, with a file"
	byHost   = "the host says it; by hand after a restore alone"
	byLaw    = "it is of a recovery: by command, in the order of docs/restore.md"
	byHolder = "it is of a worker and not of a record: by the service's Revoke"
)

// TheActions are the events of all domains that an operator or an approver may say.
func TheActions() []Action {
	evidence := func(names ...string) map[string]Source {
		all := reason()
		for _, n := range names {
			all[n] = Typed
		}
		return all
	}
	return []Action{
		{Event: switches.Stopped{}, Fields: reason("Scope", Choice, "Level", Choice)},
		{Event: switches.Started{}, Fields: reason("Scope", Choice, "To", Choice, "Recovery", Choice, "All", Read, "Moved", Read,
			"Unsettled", Read)},
		{Event: switches.Recovering{}, Fields: reason("Scope", Choice, "Level", Choice, "Generation", Record), NotOffered: byLaw},

		{Event: withdrawal.Approved{}},
		{Event: withdrawal.Rejected{}, Fields: reason()},
		{Event: withdrawal.Cancelled{}, Fields: reason()},
		{Event: withdrawal.Held{}, Fields: reason()},
		{Event: withdrawal.Released{}, Fields: reason()},
		{Event: withdrawal.Acknowledged{}, Fields: reason()},
		{Event: withdrawal.Requeued{}, Fields: reason("Job", Record, "NotRefunded", Typed)},
		{Event: withdrawal.Refunded{}, Fields: evidence("Reference"), NotAsked: []string{"Already"}},
		{Event: withdrawal.Resolved{}, Name: "NotSent", Fields: reason("Job", Record),
			NotAsked: []string{"Sent", "Hash", "Raw", "Nonce", "HasNonce", "Input", "ByOutput", "Output"}, OfJob: true},
		{Event: withdrawal.Resolved{}, Name: "Sent", Fields: reason("Job", Record, "Hash", Typed, "Raw", Typed, "Nonce", Typed, "HasNonce", Given,
			"Input", Typed, "ByOutput", Given, "Output", Typed), Fixed: map[string]string{"Sent": "true"}, OfJob: true},
		{Event: withdrawal.ProvenDead{}, Fields: reason("Block", Typed, "Tx", Choice, "Cause", Typed, "Other", Typed, "Nonce", Typed,
			"Input", Typed, "NotThisPayment", Typed), OfJob: true},
		{Event: withdrawal.PaidBy{}, Fields: reason("Block", Typed, "Tx", Typed, "Output", Typed, "Payee", Typed, "AssetOnChain", Typed,
			"AmountRaw", Typed, "Reference", Typed, "Nonce", Typed, "HasNonce", Given, "Input", Typed, "Raw", Typed),
			NotAsked: []string{"Reverted", "GasUsed", "GasPrice"}, OfJob: true},
		{Event: withdrawal.Revoked{}, Fields: from("Revocation", Choice), NotOffered: byHolder},
		{Event: withdrawal.BatchRevoked{}, Fields: from("Revocation", Choice, "ofBatch", Read), NotOffered: byHolder},
		{Event: withdrawal.BatchMined{}, Fields: evidence("ofBatch", "Block", "Tx", "Reverted", "GasUsed", "GasPrice", "Transfers", "Nonce",
			"HasNonce", "Input", "Looked"), NotOffered: byFile},
		{Event: withdrawal.Bound{}, Fields: evidence("Wallet", "Through", "From", "Coins", "NoCoins", "Barrier", "Source", "SignerEnded"),
			NotOffered: byLaw},
		{Event: withdrawal.AtDepth{}, Fields: evidence("Wallet", "Block", "Next", "AllTold"), NotOffered: byLaw},
		{Event: withdrawal.Used{}, Fields: evidence("Wallet", "Tx", "Block", "Nonce", "Inputs", "Reverted", "Transfers", "Coins"),
			NotOffered: byLaw},
		{Event: withdrawal.Unclaimed{}, Fields: evidence("Wallet", "Tx", "Transfer"), NotOffered: byLaw},
		{Event: withdrawal.BooksRead{}, Fields: evidence("Chain", "Since"), NotOffered: byLaw},
		{Event: withdrawal.NotThis{}, Fields: evidence("Wallet", "Tx", "Output", "Request"), NotOffered: byLaw},
		{Event: withdrawal.Dropped{}, Fields: evidence("Wallet", "Tx", "Output"), NotOffered: byLaw},

		{Event: swap.RefundOrdered{}, Fields: reason()},
		{Event: swap.QuarantineOrdered{}, Fields: reason()},
		{Event: swap.Requeued{}, Fields: reason("Control", Read)},
		{Event: swap.Held{}, Fields: reason()},
		{Event: swap.Released{}, Fields: reason()},
		{Event: swap.NotSent{}, Fields: reason("Number", Choice, "TxID", Typed, "Height", Typed, "At", Typed)},
		{Event: swap.PaidBy{}, Fields: reason("Action", Choice, "TxID", Typed, "Amount", Typed, "Rival", Read)},
		{Event: swap.Dropped{}, Fields: reason()},
		{Event: swap.Acknowledged{}, Fields: reason("Number", Choice)},
		{Event: swap.Settled{}, Fields: evidence("Reference")},
		{Event: swap.Revoked{}, Fields: from("Revocation", Choice), NotOffered: byHolder},

		{Event: refresh.Enqueued{}, Fields: from("Job", Read, "Credentials", Typed, "Cause", Choice, "Recipient", Typed, "Asset", Typed),
			NotOffered: "it carries credentials: by the host"},
		{Event: refresh.Locked{}, Fields: from("Fence", Read), NotOffered: "the lock is of work in a process: by the host"},
		{Event: refresh.Unlocked{}, Fields: from("Fence", Read), NotOffered: "the lock is of work in a process: by the host"},
		{Event: refresh.Revoked{}, Fields: from("Revocation", Choice), NotOffered: byHolder},

		{Event: relaysync.Created{}, Fields: from("Relay", Typed, "Tenant", Typed, "Subdomain", Typed, "Config", Typed), NotOffered: byHost},
		{Event: relaysync.Updated{}, Fields: from("Revision", Record, "Subdomain", Typed, "Config", Typed), NotOffered: byHost},
		{Event: relaysync.Activated{}, Fields: from("Revision", Record)},
		{Event: relaysync.Deactivated{}, Fields: from("Revision", Record)},
		{Event: relaysync.Deleted{}, NotOffered: byHost},
		{Event: relaysync.Reconciled{}},
		{Event: relaysync.Retried{}, Fields: reason()},
		{Event: relaysync.Recreated{}, Fields: reason()},
		{Event: relaysync.Revoked{}, Fields: from("Revocation", Choice), NotOffered: byHolder},

		{Event: dunning.Enrolled{}, Fields: from("Tenant", Typed, "Method", Typed, "BillingAnchor", Typed), NotOffered: byHost},
		{Event: dunning.MethodSet{}, Fields: from("Method", Typed), NotOffered: byHost},
		{Event: dunning.Issued{}, Fields: from("Invoice", Typed, "Amount", Typed, "CreatedAt", Typed, "Taken", Read), NotOffered: byHost},
		{Event: dunning.Amended{}, Fields: from("Invoice", Choice, "Amount", Typed)},
		{Event: dunning.Paid{}, Fields: from("Invoice", Choice, "Method", Typed, "Payment", Typed)},
		{Event: dunning.Voided{}, Fields: from("Invoice", Choice)},
		{Event: dunning.Provisioned{}, NotOffered: byHost},
		{Event: dunning.Reinstated{}},
		{Event: dunning.Resolved{}, Fields: reason("Invoice", Choice, "Key", Choice, "Outcome", Typed)},
		{Event: dunning.Acknowledged{}, Fields: reason("Invoice", Choice, "Key", Choice)},

		{Event: utxo.Invalidated{}, Fields: reason("ID", Record)},
		{Event: utxo.Labelled{}, Fields: from("ID", Record, "Label", Typed)},
	}
}

// As is the name of an action in links and commands.
func (a Action) As() string {
	if a.Name != "" {
		return a.Name
	}
	_, event, _ := strings.Cut(fmt.Sprintf("%T", a.Event), ".")
	return event
}

// Approves reports whether an approver says it, and no operator.
func (a Action) Approves() bool {
	ev, is := a.Event.(withdrawal.Event)
	return is && withdrawal.Speakers(ev).Has(withdrawal.Approver)
}

// Explained is the name under which [Explain] has it.
func (a Action) Explained() string { return fmt.Sprintf("%T", a.Event) }
