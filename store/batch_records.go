package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// BatchUnit is the part of a transaction that [Batches] needs: a batch is stored with the
// requests that it pays, in one commit.
type BatchUnit interface {
	WithdrawalUnit
	Batches() BatchRecords
}

// BatchRecords stores the batches of package withdrawal, for hosts that pay several requests by
// one transaction. It keeps the unique rules that the package names under "Storing a change", and
// decides nothing.
type BatchRecords interface {
	// Get returns batches, in the order of ids, each with its versions by Seq and with the requests that have a
	// transaction of the batch on file, as [WithdrawalRecords] returns them and in the order of
	// [withdrawal.CompareMembers]. An unknown batch is a zero Payout.
	Get(ids ...uuid.UUID) ([]withdrawal.Payout, error)
	// Save writes changes of different batches, each with the changes of its members, by the rules of
	// [WithdrawalRecords]. A batch is inserted if the version in Old is 0; else it is written where the version,
	// NextCheckAt, Rebroadcast and the lease in Old still stand, as points 3 and 4 there say of a job. A touch
	// ([withdrawal.BatchChange.Touch]) moves no version. Versions of a batch are appended by (Batch, Seq). The nonce of
	// a batch belongs to Batch.Owner, by the unique rule of nonces.
	Save(changes ...withdrawal.BatchChange) error
	// Due and NextDue are those of [WithdrawalRecords] for batches, in the order of
	// [withdrawal.CompareDueBatches].
	Due(q DueBatches) ([]withdrawal.Payout, error)
	NextDue(q DueBatches) (time.Time, error)
	// Renew sets the end of leases of batches that are held under their fence at now. It returns
	// the batches whose lease is lost; the others are renewed.
	Renew(now time.Time, leases ...Lease[uuid.UUID]) (lost []uuid.UUID, err error)
	// List returns a page of the batches that [withdrawal.Filter.HasBatch] lists, in the order of
	// [withdrawal.CompareListedBatches] or backwards, otherwise as that of [WithdrawalRecords].
	List(q ListBatches) ([]withdrawal.Payout, error)
	// ByHash returns, by id, the batches of which a version has this hash, compared by
	// [statemachine.HashForm], on any chain; at most [MaxPage].
	ByHash(hash string) ([]uuid.UUID, error)
	// IDs pages through the ids of all batches, in their order.
	IDs(after uuid.UUID, limit int) ([]uuid.UUID, error)
	// Transitions returns the audit trail of a batch, oldest first. They are also in the feed of
	// [WithdrawalRecords].
	Transitions(batch uuid.UUID) ([]statemachine.Transition[uuid.UUID], error)
}

// ListBatches is [ListWithdrawals] for batches.
type ListBatches struct {
	withdrawal.Filter
	After     *withdrawal.Batch
	Backwards bool
	Now       time.Time
	Limit     int
}

// DueBatches asks for batches that something is due for.
type DueBatches struct {
	Kind  withdrawal.BatchDue
	Chain uuid.UUID // zero: every chain
	Now   time.Time
	Limit int           // 1 to [MaxPage]
	Grace time.Duration // for [withdrawal.DueBatchCheck]
	Ahead time.Time     // as in [DueWithdrawals]
}
