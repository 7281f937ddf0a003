package swap

import (
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// CreditStatus is the state of a [Credit]. Its text is what the table holds.
// Values: CreditPending, CreditReady, CreditSending, CreditAwaiting, CreditProcessed, CreditAsFees,
// CreditRefundPending, CreditTradeBalanceCheck, CreditCollectingRefund, CreditRefunded, CreditQuarantined.
type CreditStatus = statemachine.Enum[creditStatus]

const (
	// CreditPending: USDD came in. An [Observer] counts its confirmations; from two on a [Worker] looks up the asset
	// that maps it to a Solana account. After [Policy.RefundTimeout] without a mapping it is refunded.
	CreditPending CreditStatus = iota + 1
	// CreditReady: the account that is to be paid is fixed. A Worker checks it and sends. After a crash before
	// [Begun] the credit is due again.
	CreditReady
	// CreditSending: a payment is begun, or was begun and has failed. After a crash its intent is open: it is looked
	// up, and never sent again. After proof that it cannot land a Worker begins another one, up to
	// [Policy.MaxAttempts].
	CreditSending
	// CreditAwaiting: a payment went out. A Worker looks it up until it is final, has landed with an error, or cannot
	// land any more. After a crash the look-up is due again.
	CreditAwaiting
	// CreditProcessed: the payment is final, and evidence against it is a discrepancy. A crash changes nothing, here
	// and in CreditAsFees.
	CreditProcessed
	// CreditAsFees: the amount is too small to be sent or refunded, and is kept as a fee; or the inbound transaction
	// has vanished, and nothing is kept.
	CreditAsFees
	// CreditRefundPending: a Worker proves that nothing went out, then begins the refund. After a crash behind
	// [Begun] the intent is open: it is looked up.
	CreditRefundPending
	// CreditTradeBalanceCheck: no mapping was found in time. A Worker looks for it once more. After a crash the
	// look-up is due again.
	CreditTradeBalanceCheck
	// CreditCollectingRefund: the last look-up found no mapping either. A Worker proves that nothing went out, then
	// begins the refund. After a crash behind [Begun] the intent is open: it is looked up.
	CreditCollectingRefund
	// CreditRefunded: a refund went out, and is looked up until it is final. If it cannot land any more, an
	// [Operator] may requeue it. After a crash the look-up is due again.
	CreditRefunded
	// CreditQuarantined: nobody could be paid. A Worker owes the move to [Policy.USDDQuarantineAccount]; after
	// [Policy.MaxAttempts] attempts an Operator has the credit. After a crash behind [Begun] the intent is open: it
	// is looked up.
	CreditQuarantined
)

type creditStatus struct{}

func (creditStatus) Kind() string    { return "credit status" }
func (creditStatus) Names() []string { return creditStatusNames }

var creditStatusNames = []string{"pending_receival", "ready for processing", "sending", "sig created, awaiting confirmations",
	"processed", "processed as fees", "refund pending", "trade balance to be checked", "collecting refund", "refunded", "quarantined"}

// CreditTrigger is what moves a credit.
type CreditTrigger = statemachine.Enum[creditTrigger]

// Triggers of credits alone.
const (
	mappingFound       trigger = byHand + 1 + iota
	mappingTimeout             // none in time
	missingConfirmed           // none after the time-out, by a complete look-up
	requeuedCollecting         // back to where a lost refund came from
	inboundGone                // operator: what came in has vanished
)

type creditTrigger struct{}

func (creditTrigger) Kind() string    { return "credit trigger" }
func (creditTrigger) Names() []string { return creditTriggerNames }

// The shared ones first, in the order of their numbers.
var creditTriggerNames = []string{"observed", "noted", "begun", "sent", "refund sent", "quarantine sent",
	"confirmed", "landed with an error",
	"confirmation timeout", "timeout to quarantine", "max attempts", "account_unusable", "amount after fees <= 0", "no_sender",
	"operator refund", "operator quarantine", "requeue", "recovered payout", "recovered refund", "recovered quarantine", "given back by hand",
	"mapping found", "mapping timeout", "missing_confirmed",
	"requeue collecting", "inbound gone"}

type creditHop = hop[CreditStatus]

// CreditMachine is the law of USDD to USDC.
var CreditMachine = statemachine.Must("credit", slices.Concat(
	edges[CreditStatus, CreditTrigger]("",
		creditHop{0, observed, CreditPending},
		creditHop{CreditPending, mappingFound, CreditReady},
		creditHop{CreditReady, begun, CreditSending},
		creditHop{CreditSending, sent, CreditAwaiting},
		creditHop{CreditAwaiting, confirmed, CreditProcessed},
		creditHop{CreditPending, asFees, CreditAsFees},
		creditHop{CreditPending, inboundGone, CreditAsFees},
		creditHop{CreditPending, mappingTimeout, CreditTradeBalanceCheck},
		creditHop{CreditTradeBalanceCheck, accountUnusable, CreditRefundPending},
		creditHop{CreditTradeBalanceCheck, orderRefund, CreditRefundPending},
		creditHop{CreditTradeBalanceCheck, missingConfirmed, CreditCollectingRefund},
		creditHop{CreditReady, accountUnusable, CreditRefundPending},
		creditHop{CreditReady, orderRefund, CreditRefundPending},
		creditHop{CreditSending, maxAttempts, CreditRefundPending},
		creditHop{CreditSending, accountUnusable, CreditRefundPending},
		creditHop{CreditSending, orderRefund, CreditRefundPending},
		creditHop{CreditAwaiting, confirmTimeout, CreditRefundPending},
		creditHop{CreditAwaiting, errored, CreditRefundPending},
		creditHop{CreditAwaiting, orderRefund, CreditRefundPending},
		creditHop{CreditRefundPending, refundSent, CreditRefunded},
		creditHop{CreditCollectingRefund, refundSent, CreditRefunded},
		creditHop{CreditRefundPending, maxAttempts, CreditQuarantined},
		creditHop{CreditRefundPending, noSender, CreditQuarantined},
		creditHop{CreditRefundPending, orderQuarantine, CreditQuarantined},
		creditHop{CreditCollectingRefund, maxAttempts, CreditQuarantined},
		creditHop{CreditCollectingRefund, noSender, CreditQuarantined},
		creditHop{CreditCollectingRefund, orderQuarantine, CreditQuarantined}),
	edges[CreditStatus, CreditTrigger](extNet,
		creditHop{CreditRefundPending, asFees, CreditAsFees},
		creditHop{CreditCollectingRefund, asFees, CreditAsFees}),
	edges[CreditStatus, CreditTrigger]("a mapping that is found after all is used",
		creditHop{CreditTradeBalanceCheck, mappingFound, CreditReady}),
	edges[CreditStatus, CreditTrigger](extPolicy,
		creditHop{CreditAwaiting, timeoutAside, CreditQuarantined},
		creditHop{CreditAwaiting, orderQuarantine, CreditQuarantined}),
	edges[CreditStatus, CreditTrigger](extReconcile,
		creditHop{CreditRefundPending, sent, CreditAwaiting},
		creditHop{CreditCollectingRefund, sent, CreditAwaiting}),
	edges[CreditStatus, CreditTrigger](extOrder,
		creditHop{CreditPending, orderRefund, CreditRefundPending}),
	edges[CreditStatus, CreditTrigger]("what came in has vanished, and nothing went out",
		creditHop{CreditReady, inboundGone, CreditAsFees},
		creditHop{CreditSending, inboundGone, CreditAsFees},
		creditHop{CreditAwaiting, inboundGone, CreditAsFees},
		creditHop{CreditTradeBalanceCheck, inboundGone, CreditAsFees},
		creditHop{CreditRefundPending, inboundGone, CreditAsFees},
		creditHop{CreditCollectingRefund, inboundGone, CreditAsFees},
		creditHop{CreditQuarantined, inboundGone, CreditAsFees}),
	edges[CreditStatus, CreditTrigger](extRequeue,
		creditHop{CreditRefunded, requeued, CreditRefundPending},
		creditHop{CreditRefunded, requeuedCollecting, CreditCollectingRefund},
		creditHop{CreditQuarantined, requeued, CreditQuarantined}),
	edges[CreditStatus, CreditTrigger](extByHand,
		creditHop{CreditRefunded, byHand, CreditRefunded},
		creditHop{CreditQuarantined, byHand, CreditQuarantined}),
	edges[CreditStatus, CreditTrigger](extRecovered,
		creditHop{0, recoveredSend, CreditProcessed},
		creditHop{0, recoveredRefund, CreditRefunded},
		creditHop{0, recoveredQuarantine, CreditQuarantined}),
	edges[CreditStatus, CreditTrigger]("the move to the quarantine account is owed in the same state",
		creditHop{CreditQuarantined, quarantineSent, CreditQuarantined}),
	notes[CreditStatus, CreditTrigger](CreditSending, CreditRefundPending, CreditCollectingRefund, CreditQuarantined),
))

// creditStages, by status.
var creditStages = [...]stage{
	CreditPending:           {place: Unprocessed, patient: true},
	CreditReady:             {performs: Send, place: Unprocessed},
	CreditSending:           {performs: Send, place: Unprocessed},
	CreditAwaiting:          {awaits: Send, place: Unprocessed},
	CreditProcessed:         {awaits: Send, place: Processed},
	CreditAsFees:            {place: Processed},
	CreditRefundPending:     {performs: Refund, place: Unprocessed},
	CreditTradeBalanceCheck: {place: Unprocessed},
	CreditCollectingRefund:  {performs: Refund, place: Unprocessed},
	CreditRefunded:          {awaits: Refund, place: Refunded},
	CreditQuarantined:       {performs: Quarantine, awaits: Quarantine, place: Quarantined},
}

// Credit is USDD that came in to become USDC: a row of unprocessed_txids, processed_txids, refunded_txids or
// quarantined_txids. ID is the Nexus txid; the ID of a second credit of one transaction is "txid:contract". Hexadecimal
// digits are lower case and without 0x, a contract's number has no leading zero; any other spelling is refused, since
// it would be stored as another credit.
type Credit struct {
	Item
	Status        CreditStatus `json:",omitzero"`
	To            string       // the treasury account that got the amount
	Owner         string       // who must own the asset that maps the credit; empty: nobody can, and the credit is refunded
	Account       string       // the Solana account that is paid; it is fixed when the mapping is found
	Confirmations uint64       // of the inbound transaction
	CountedAt     time.Time    // when the latest count above zero was asked for; a Gone that was asked earlier does not count
	GoneAt        time.Time    // when a complete look-up found no inbound transaction any more; zero while it is there
	Collecting    bool         // refunded from collecting refund
	SettledBy     int64        // Quarantined: the intent that was found to have paid after all; the move is not owed any more
}
