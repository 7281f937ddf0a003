package ops

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// Source says where a field of an event comes from when a person speaks.
type Source string

const (
	Record Source = "record" // what was shown: an id, a version
	Choice Source = "choice" // one of what the record has
	Typed  Source = "typed"  // by the person, never filled in before: reasons, and evidence such as a hash or an amount
	Read   Source = "read"   // the service brings it
)

// Action is one event that an operator or an approver may say. What is possible is the
// domain's law; this list says what is asked of a person.
type Action struct {
	Event any // an empty one
	// Fields are those of the event beside its By, by name.
	Fields map[string]Source
	// NotOffered is why a console shows no button and no form for it; empty: it does.
	NotOffered string
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
		{switches.Stopped{}, reason("Scope", Choice, "Level", Choice), ""},
		{switches.Started{}, reason("Scope", Choice, "To", Choice, "Recovery", Choice, "All", Read, "Moved", Read, "Unsettled", Read), ""},
		{switches.Recovering{}, reason("Scope", Choice, "Level", Choice, "Generation", Record), byLaw},

		{withdrawal.Approved{}, nil, ""},
		{withdrawal.Rejected{}, reason(), ""},
		{withdrawal.Cancelled{}, reason(), ""},
		{withdrawal.Held{}, reason(), ""},
		{withdrawal.Released{}, reason(), ""},
		{withdrawal.Acknowledged{}, reason(), ""},
		{withdrawal.Requeued{}, reason("Job", Record, "NotRefunded", Typed), ""},
		{withdrawal.Refunded{}, evidence("Reference", "Already"), ""},
		{withdrawal.Resolved{}, reason("Job", Record, "Sent", Typed, "Hash", Typed, "Raw", Typed, "Nonce", Typed, "HasNonce", Typed,
			"Input", Typed, "ByOutput", Typed, "Output", Typed), ""},
		{withdrawal.ProvenDead{}, reason("Block", Typed, "Tx", Choice, "Cause", Typed, "Other", Typed, "Nonce", Typed, "Input", Typed,
			"NotThisPayment", Typed), ""},
		{withdrawal.PaidBy{}, evidence("Block", "Tx", "Output", "Payee", "AssetOnChain", "AmountRaw", "Reference", "Nonce", "HasNonce",
			"Input", "Raw", "Reverted", "GasUsed", "GasPrice"), ""},
		{withdrawal.Revoked{}, from("Revocation", Choice), byHolder},
		{withdrawal.BatchRevoked{}, from("Revocation", Choice, "ofBatch", Read), byHolder},
		{withdrawal.BatchMined{}, evidence("ofBatch", "Block", "Tx", "Reverted", "GasUsed", "GasPrice", "Transfers", "Nonce", "HasNonce", "Input",
			"Looked"), byFile},
		{withdrawal.Bound{}, evidence("Wallet", "Through", "From", "Coins", "Barrier", "Source", "SignerEnded"), byLaw},
		{withdrawal.AtDepth{}, evidence("Wallet", "Block", "Next"), byLaw},
		{withdrawal.Used{}, evidence("Wallet", "Tx", "Block", "Nonce", "Inputs", "Reverted", "Transfers", "Coins"), byLaw},
		{withdrawal.Unclaimed{}, evidence("Wallet", "Tx", "Transfer"), byLaw},
		{withdrawal.BooksRead{}, evidence("Chain", "Since"), byLaw},
		{withdrawal.NotThis{}, evidence("Wallet", "Tx", "Output", "Request"), byLaw},
		{withdrawal.Dropped{}, evidence("Wallet", "Tx", "Output"), byLaw},

		{swap.RefundOrdered{}, reason(), ""},
		{swap.QuarantineOrdered{}, reason(), ""},
		{swap.Requeued{}, reason("Control", Read), ""},
		{swap.Held{}, reason(), ""},
		{swap.Released{}, reason(), ""},
		{swap.NotSent{}, reason("Number", Choice, "TxID", Typed, "Height", Typed), ""},
		{swap.PaidBy{}, reason("Action", Choice, "TxID", Typed, "Amount", Typed, "Rival", Read), ""},
		{swap.Dropped{}, reason(), ""},
		{swap.Acknowledged{}, reason("Number", Choice), ""},
		{swap.Settled{}, evidence("Reference"), ""},
		{swap.Revoked{}, from("Revocation", Choice), byHolder},

		{refresh.Enqueued{}, from("Job", Read, "Credentials", Typed, "Cause", Choice, "Recipient", Typed, "Asset", Typed),
			"it carries credentials: by the host"},
		{refresh.Locked{}, from("Fence", Read), "the lock is of work in a process: by the host"},
		{refresh.Unlocked{}, from("Fence", Read), "the lock is of work in a process: by the host"},
		{refresh.Revoked{}, from("Revocation", Choice), byHolder},

		{relaysync.Created{}, from("Relay", Typed, "Tenant", Typed, "Subdomain", Typed, "Config", Typed), byHost},
		{relaysync.Updated{}, from("Revision", Record, "Subdomain", Typed, "Config", Typed), byHost},
		{relaysync.Activated{}, from("Revision", Record), ""},
		{relaysync.Deactivated{}, from("Revision", Record), ""},
		{relaysync.Deleted{}, nil, byHost},
		{relaysync.Reconciled{}, nil, ""},
		{relaysync.Retried{}, reason(), ""},
		{relaysync.Recreated{}, reason(), ""},
		{relaysync.Revoked{}, from("Revocation", Choice), byHolder},

		{dunning.Enrolled{}, from("Tenant", Typed, "Method", Typed, "BillingAnchor", Typed), byHost},
		{dunning.MethodSet{}, from("Method", Typed), byHost},
		{dunning.Issued{}, from("Invoice", Typed, "Amount", Typed, "CreatedAt", Typed, "Taken", Read), byHost},
		{dunning.Amended{}, from("Invoice", Choice, "Amount", Typed), ""},
		{dunning.Paid{}, from("Invoice", Choice, "Method", Typed, "Payment", Typed), ""},
		{dunning.Voided{}, from("Invoice", Choice), ""},
		{dunning.Provisioned{}, nil, byHost},
		{dunning.Reinstated{}, nil, ""},
		{dunning.Resolved{}, reason("Invoice", Choice, "Key", Choice, "Outcome", Typed), ""},
		{dunning.Acknowledged{}, reason("Invoice", Choice, "Key", Choice), ""},
	}
}

// Offer is what one action would do to a record as it is now.
type Offer struct {
	Event string // name of the event, such as "Cancelled"
	// Moves are what it would move. None, with neither Form nor Why: it is so already.
	Moves []store.TriedMove
	// Form: whether it is taken depends on what a person types first.
	Form bool
	// Why is the sentence of the refusal; empty if it is not refused.
	Why string
}

// WithdrawalOffers asks the law what an operator or an approver could say of a request now:
// each event that is offered is tried with what the record has, and with nothing typed but a
// reason. Who would speak matters: nobody approves what they have asked for. It stores
// nothing.
func (s *Services) WithdrawalOffers(ctx context.Context, request uuid.UUID, actor string) ([]Offer, error) {
	if s.Withdrawals == nil {
		return nil, store.ErrNoDomain
	}
	w, err := s.Withdrawals.Get(ctx, request)
	if err != nil {
		return nil, err
	}
	var all []Offer
	for _, ev := range probes(&w, actor) {
		offer := Offer{Event: statemachine.EventName(ev)}
		var err error
		_, offer.Moves, err = s.Withdrawals.Try(ctx, request, ev)
		switch {
		case errors.Is(err, statemachine.ErrInvalid):
			offer.Form = true
		case statemachine.CodeOf(err) != "":
			offer.Why = err.Error()
		case err != nil:
			return nil, err
		}
		all = append(all, offer)
	}
	return all, nil
}

// probes are the events of a withdrawal that are offered, with what the record has. What is
// evidence is left empty.
func probes(w *withdrawal.Withdrawal, actor string) []withdrawal.Event {
	const why = "would it be taken?"
	ofRequest := func(role withdrawal.Role) withdrawal.By {
		return withdrawal.By{Actor: actor, Role: role, Version: w.Request.Version}
	}
	by, ofJob := ofRequest(withdrawal.Operator), withdrawal.By{Actor: actor, Role: withdrawal.Operator, Version: w.Job.Version}
	all := []withdrawal.Event{
		withdrawal.Approved{By: ofRequest(withdrawal.Approver)},
		withdrawal.Rejected{By: ofRequest(withdrawal.Approver), Reason: why},
		withdrawal.Cancelled{By: by, Reason: why},
		withdrawal.Held{By: by, Reason: why},
		withdrawal.Released{By: by, Reason: why},
		withdrawal.Acknowledged{By: by, Reason: why},
		withdrawal.Requeued{By: by, Job: w.Job.ID, Reason: why},
		withdrawal.Refunded{By: by, Reason: why},
		withdrawal.Resolved{By: ofJob, Job: w.Job.ID, Reason: why},
		withdrawal.PaidBy{By: ofJob, Reason: why},
	}
	dead := withdrawal.ProvenDead{By: ofJob, Reason: why}
	if live := w.Live(); len(live) > 0 {
		dead.Tx = live[0].Hash
	}
	return append(all, dead)
}
