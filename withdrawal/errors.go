package withdrawal

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

var (
	// ErrActiveJob: the request has a job that is not failed. It comes in a
	// [TakenError] with the job's id.
	ErrActiveJob = errors.New("the request has an active job")
	// ErrNonceTaken: another job owns (wallet, nonce). From a store it comes
	// in a [TakenError] with that job's id.
	ErrNonceTaken = errors.New("another job owns this nonce of the wallet")
	// ErrSlotTaken: another job in processing holds the wallet. From a store
	// it comes in a [TakenError] with that job's id.
	ErrSlotTaken = errors.New("another job holds this wallet")
	// ErrNoHotWallet: no active hot wallet of the chain. The request stays
	// approved; ask again after [Policy.EnqueueEvery].
	ErrNoHotWallet = errors.New("no active hot wallet of this chain")
)

// TakenError: a unique rule gave what was asked for to another record, ID.
type TakenError struct {
	Err error // such as [ErrActiveJob]
	ID  uuid.UUID
}

func (e *TakenError) Error() string { return fmt.Sprintf("%v: %s", e.Err, e.ID) }

// Unwrap returns the sentinel.
func (e *TakenError) Unwrap() error { return e.Err }
