package withdrawal

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

var (
	// ErrActiveJob: the request has a job that is not failed. It comes in a
	// [TakenError] with the job's id.
	ErrActiveJob = statemachine.NewSentinel("active-job", "the request has an active job")
	// ErrNonceTaken: another job owns (wallet, nonce). From a store it comes
	// in a [TakenError] with that job's id. It is [statemachine.ErrIllegal].
	ErrNonceTaken = statemachine.NewSentinel("nonce-taken", "another job owns this nonce of the wallet", statemachine.ErrIllegal)
	// ErrNonceUsed: the nonce is below the chain's next one. Or it is a filler's,
	// wherever that is. It is [statemachine.ErrIllegal].
	ErrNonceUsed = statemachine.NewSentinel("nonce-used", "the nonce is below the next one of the wallet, or a filler's",
		statemachine.ErrIllegal)
	// ErrNonceGap: the nonce leaves more than [Chain.NonceGap] unused nonces below it, and nothing with it can be mined
	// before they are used. Or it leaves the nonce of a dead transaction of the request unused, see
	// Prepared.ChainNonce.
	ErrNonceGap = statemachine.NewSentinel("nonce-gap", "the nonce leaves a gap")
	// ErrPaymentTaken: the transaction, or its output, pays another request.
	// It comes in a [TakenError] with that request's id, or with the zero id where
	// it is a filler. It is [statemachine.ErrIllegal].
	ErrPaymentTaken = statemachine.NewSentinel("payment-taken",
		"the transaction pays another request, or is a filler", statemachine.ErrIllegal)
	// ErrOnHold is [switches.ErrOnHold], the one error of all domains for work that may not begin now: here the request
	// is held, its wallet is not active, or its chain is paused or stopped by the switch.
	ErrOnHold = switches.ErrOnHold
	// ErrUnsettled: the database was put back to an earlier state, and the chain has not been started again. In an
	// [UnsettledError] it refuses to start a chain, to switch a hot wallet on or to pay from it, while a transaction that
	// may have paid somebody is unknown or not explained, restored or not. It is ErrOnHold.
	ErrUnsettled = switches.ErrUnsettled
	// ErrUnclaimed: somebody with this payee was paid before the restore, and nobody knows
	// by which request, see [Unclaimed]. It is ErrOnHold.
	ErrUnclaimed = statemachine.NewSentinel("unclaimed", "it may be what an unclaimed transfer paid", ErrOnHold)
	// ErrInBatch: the job is one of a batch, and what becomes of its transaction
	// is said to that. It is [statemachine.ErrIllegal].
	ErrInBatch = statemachine.NewSentinel("in-batch", "it is in a batch", statemachine.ErrIllegal)
	// ErrPaidTwice is what [Check] finds on a completed request if an incident says that another transaction was mined
	// too; the error names the latest. The record is sound; people have to settle it, and then say [Acknowledged].
	ErrPaidTwice = statemachine.NewSentinel("paid-twice", "an incident says that it was paid by another transaction too")
	// ErrRefunded: the host has given the money back, so that no job may pay it. It
	// is [statemachine.ErrIllegal].
	ErrRefunded = statemachine.NewSentinel("refunded", "it was refunded", statemachine.ErrIllegal)
	// ErrPaidAndRefunded is what [Check] finds on a refunded request if an incident after the refund says that it was
	// mined, sent or taken; the error names the latest. The record is sound; people have to settle it, and then say
	// [Acknowledged].
	ErrPaidAndRefunded = statemachine.NewSentinel("paid-and-refunded", "it was refunded, and an incident says that it was paid")
	// ErrSlotTaken: another job in processing holds the wallet. From a store
	// it comes in a [TakenError] with that job's id.
	ErrSlotTaken = statemachine.NewSentinel("slot-taken", "another job holds this wallet")
	// ErrNoHotWallet: no active hot wallet of the chain, or after a restore only such as are [HotWallet.Unbound]; then it
	// is ErrUnsettled too. The request stays approved; ask again after [Policy.EnqueueEvery].
	ErrNoHotWallet = statemachine.NewSentinel("no-hot-wallet", "no active hot wallet of this chain")
)

// TakenError: a unique rule gave what was asked for to another record, ID.
type TakenError struct {
	Err error // such as [ErrActiveJob]
	ID  uuid.UUID
}

func (e *TakenError) Error() string { return fmt.Sprintf("%v: %s", e.Err, e.ID) }

// Unwrap returns the sentinel.
func (e *TakenError) Unwrap() error { return e.Err }

// UnsettledError is the first open point of a chain that is not to be started yet, or of a hot wallet
// that does not pay before it is explained.
type UnsettledError struct {
	Open Open
	// Said is stored though the event is refused, by a transaction of its own: unknown outbounds, at most [MaxGaps].
	Said []Statement
	// Back ends, in that transaction, the executions of the payment that is refused: they cost no attempt.
	Back []Ended
}

// Ended is the end of an execution of a request.
type Ended struct {
	Request uuid.UUID
	GivenBack
}

func (e *UnsettledError) Error() string { return fmt.Sprintf("%v: %v", ErrUnsettled, e.Open) }

// Unwrap returns ErrUnsettled.
func (e *UnsettledError) Unwrap() error { return ErrUnsettled }
