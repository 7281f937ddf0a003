package swap

import (
	"slices"

	"github.com/settlehq/settle/statemachine"
)

// DepositStatus is the state of a [Deposit]. Its text is what the table holds,
// but for Detected, which is NULL there.
// Values: DepositDetected, DepositReady, DepositDebited, DepositProcessed, DepositAsFees,
// DepositToBeRefunded, DepositRefundSent, DepositRefunded, DepositToBeQuarantined, DepositQuarantined,
// DepositQuarantineFailed.
type DepositStatus = statemachine.Enum[depositStatus]

const (
	// DepositDetected: the transfer is finalized on Solana. A [Worker] fetches its memo. After a crash the fetch is
	// owed again. If the memo cannot be fetched for longer than [Policy.RefundTimeout], the deposit is refunded.
	DepositDetected DepositStatus = iota + 1
	// DepositReady: the memo names an address on Nexus. A Worker checks the account and begins the payment. After a
	// crash behind [Begun] the intent is open: it is looked up, and never sent again.
	DepositReady
	// DepositDebited: the payment went out. A Worker looks it up until it is final, has landed with an error, or
	// cannot land any more; time alone moves nothing. After a crash the look-up is due again.
	DepositDebited
	// DepositProcessed: the payment is final, and evidence against it is a discrepancy. A crash changes nothing,
	// here, in DepositAsFees and in DepositRefunded.
	DepositProcessed
	// DepositAsFees: too small to be sent, refunded or quarantined; kept as fee.
	DepositAsFees
	// DepositToBeRefunded: a Worker proves that nothing went out, then begins the refund. After a crash behind
	// [Begun] the intent is open: it is looked up.
	DepositToBeRefunded
	// DepositRefundSent: a refund went out. A Worker looks it up. If it cannot land any more, there is no second
	// refund: the amount goes to quarantine. After a crash the look-up is due again.
	DepositRefundSent
	// DepositRefunded: the refund is final.
	DepositRefunded
	// DepositToBeQuarantined: a Worker proves that nothing went out, then begins the move to
	// [Policy.USDCQuarantineAccount]. After a crash behind [Begun] the intent is open: it is looked up.
	DepositToBeQuarantined
	// DepositQuarantined: the move went out, and is looked up until it is final. If it cannot land any more, an
	// [Operator] may requeue it. After a crash the look-up is due again.
	DepositQuarantined
	// DepositQuarantineFailed: all attempts to move the amount have failed. An Operator requeues the move, or gives
	// the amount back by hand and says [Settled]. A crash changes nothing.
	DepositQuarantineFailed
)

type depositStatus struct{}

func (depositStatus) Kind() string    { return "deposit status" }
func (depositStatus) Names() []string { return depositStatusNames }

// Aliases are texts of the source document beside those that it writes.
func (depositStatus) Aliases() map[string]string { return depositStatusAliases }

var (
	depositStatusNames = []string{"detected", "ready for processing", "debited, awaiting confirmation", "debit_confirmed",
		"processed, amount after fees <= 0", "to be refunded", "refund sent, awaiting confirmation", "refund_confirmed",
		"to be quarantined", "quarantine sent, awaiting confirmation", "quarantine failed"}
	depositStatusAliases = map[string]string{"processed": "debit_confirmed", "quarantine_confirmed": "quarantine sent, awaiting confirmation"}
)

// DepositTrigger is what moves a deposit.
type DepositTrigger = statemachine.Enum[depositTrigger]

// Triggers of deposits alone.
const (
	validMemo   trigger = byHand + 1 + iota
	invalidMemo         // absent, too
	memoTimeout         // it could not be fetched
	stale               // nobody could finish it in a day
)

type depositTrigger struct{}

func (depositTrigger) Kind() string    { return "deposit trigger" }
func (depositTrigger) Names() []string { return depositTriggerNames }

// The shared ones first, in the order of their numbers.
var depositTriggerNames = []string{"observed", "noted", "begun", "sent", "refund sent", "quarantine sent",
	"confirmed", "landed with an error",
	"confirmation timeout", "timeout to quarantine", "max attempts", "account_unusable", "amount after fees <= 0", "no_sender",
	"operator refund", "operator quarantine", "requeue", "recovered payout", "recovered refund", "recovered quarantine", "given back by hand",
	"valid memo", "invalid memo", "memo timeout", "stale"}

type depositHop = hop[DepositStatus]

// DepositMachine is the law of USDC to USDD.
var DepositMachine = statemachine.Must("deposit", slices.Concat(
	edges[DepositStatus, DepositTrigger]("",
		depositHop{0, observed, DepositDetected},
		depositHop{DepositDetected, validMemo, DepositReady},
		depositHop{DepositReady, sent, DepositDebited},
		depositHop{DepositDebited, confirmed, DepositProcessed},
		depositHop{DepositReady, asFees, DepositAsFees},
		depositHop{DepositDetected, invalidMemo, DepositToBeRefunded},
		depositHop{DepositDetected, memoTimeout, DepositToBeRefunded},
		depositHop{DepositDetected, orderRefund, DepositToBeRefunded},
		depositHop{DepositReady, accountUnusable, DepositToBeRefunded},
		depositHop{DepositReady, maxAttempts, DepositToBeRefunded},
		depositHop{DepositReady, orderRefund, DepositToBeRefunded},
		depositHop{DepositDebited, confirmTimeout, DepositToBeRefunded},
		depositHop{DepositDebited, errored, DepositToBeRefunded},
		depositHop{DepositDebited, orderRefund, DepositToBeRefunded},
		depositHop{DepositToBeRefunded, refundSent, DepositRefundSent},
		depositHop{DepositRefundSent, confirmed, DepositRefunded},
		depositHop{DepositToBeRefunded, maxAttempts, DepositToBeQuarantined},
		depositHop{DepositToBeRefunded, noSender, DepositToBeQuarantined},
		depositHop{DepositToBeRefunded, orderQuarantine, DepositToBeQuarantined},
		depositHop{DepositRefundSent, confirmTimeout, DepositToBeQuarantined},
		depositHop{DepositRefundSent, errored, DepositToBeQuarantined},
		depositHop{DepositToBeQuarantined, quarantineSent, DepositQuarantined},
		depositHop{DepositToBeQuarantined, maxAttempts, DepositQuarantineFailed}),
	edges[DepositStatus, DepositTrigger](extNet,
		depositHop{DepositToBeRefunded, asFees, DepositAsFees},
		depositHop{DepositToBeQuarantined, asFees, DepositAsFees}),
	edges[DepositStatus, DepositTrigger](extStale,
		depositHop{DepositDetected, stale, DepositToBeQuarantined},
		depositHop{DepositReady, stale, DepositToBeQuarantined},
		depositHop{DepositDetected, orderQuarantine, DepositToBeQuarantined},
		depositHop{DepositReady, orderQuarantine, DepositToBeQuarantined}),
	edges[DepositStatus, DepositTrigger](extRequeue,
		depositHop{DepositQuarantineFailed, requeued, DepositToBeQuarantined},
		depositHop{DepositQuarantined, requeued, DepositToBeQuarantined}),
	edges[DepositStatus, DepositTrigger](extByHand,
		depositHop{DepositQuarantineFailed, byHand, DepositQuarantineFailed},
		depositHop{DepositQuarantined, byHand, DepositQuarantined}),
	edges[DepositStatus, DepositTrigger](extPolicy,
		depositHop{DepositDebited, timeoutAside, DepositToBeQuarantined},
		depositHop{DepositDebited, orderQuarantine, DepositToBeQuarantined}),
	edges[DepositStatus, DepositTrigger](extReconcile,
		depositHop{DepositToBeRefunded, sent, DepositDebited},
		depositHop{DepositToBeQuarantined, sent, DepositDebited},
		depositHop{DepositToBeQuarantined, refundSent, DepositRefundSent}),
	edges[DepositStatus, DepositTrigger](extRecovered,
		depositHop{0, recoveredSend, DepositProcessed},
		depositHop{0, recoveredRefund, DepositRefunded},
		depositHop{0, recoveredQuarantine, DepositQuarantined}),
	notes[DepositStatus, DepositTrigger](DepositReady, DepositToBeRefunded, DepositToBeQuarantined),
))

// depositStages, by status.
var depositStages = [...]stage{
	DepositDetected:         {place: Unprocessed, patient: true},
	DepositReady:            {performs: Send, place: Unprocessed},
	DepositDebited:          {awaits: Send, place: Unprocessed},
	DepositProcessed:        {awaits: Send, place: Processed},
	DepositAsFees:           {place: Processed},
	DepositToBeRefunded:     {performs: Refund, place: Unprocessed},
	DepositRefundSent:       {awaits: Refund, place: Unprocessed},
	DepositRefunded:         {awaits: Refund, place: Refunded},
	DepositToBeQuarantined:  {performs: Quarantine, place: Unprocessed},
	DepositQuarantined:      {awaits: Quarantine, place: Quarantined},
	DepositQuarantineFailed: {place: Unprocessed},
}

// Deposit is USDC that came in to become USDD: a row of unprocessed_sigs,
// processed_sigs, refunded_sigs or quarantined_sigs. ID is the Solana signature.
type Deposit struct {
	Item
	Status DepositStatus `json:",omitzero"`
	Memo   string        // as fetched; see [ParseMemo]
	Read   bool          // the memo was fetched; an absent one is empty
}
