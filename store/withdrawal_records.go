package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// WithdrawalTx is the part of a transaction that [Withdrawals] needs.
type WithdrawalTx interface {
	Clock
	Withdrawals() WithdrawalRecords
}

// WithdrawalRecords stores the withdrawals of package withdrawal. It keeps the
// unique rules that the package names under "Storing a change", and decides
// nothing.
type WithdrawalRecords interface {
	// Get returns the aggregates of these requests, in their order: the
	// request, its latest job, all transactions of the request, the attempt of
	// the job's current fence, and the job's wallet with its next nonce. An
	// unknown request is a zero Withdrawal, which is what it is created from.
	Get(requests ...uuid.UUID) ([]withdrawal.Withdrawal, error)
	// RequestOf returns the request of a job, [statemachine.ErrNotFound] for
	// an unknown one.
	RequestOf(job uuid.UUID) (uuid.UUID, error)
	// Due returns aggregates that something is due for, as Get does, in the
	// order of the kind. The records stay locked until the transaction ends;
	// what another transaction holds is skipped, so an empty answer does not
	// mean that nothing is due. A record that cannot be read is left out; Get
	// names it. In a View it is [statemachine.ErrIllegal].
	Due(q DueWithdrawals) ([]withdrawal.Withdrawal, error)
	// NextDue returns the earliest moment after q.Now at which Due has
	// something that it has not now; zero if nothing is scheduled.
	NextDue(q DueWithdrawals) (time.Time, error)
	// HotWallets returns the wallets of a chain, by id, without a lock.
	HotWallets(chain uuid.UUID) ([]withdrawal.HotWallet, error)
	// PutHotWallet inserts a wallet, or sets role and status of a stored one.
	// The other columns belong to the withdrawals.
	PutHotWallet(withdrawal.HotWallet) error
	// Usage returns what [withdrawal.UsageOf] defines, and keeps other
	// submissions of the user out until the transaction ends. Listed stays
	// false: the allow-list is the host's.
	Usage(user, asset uuid.UUID, windows []withdrawal.Window, now time.Time) (withdrawal.Usage, error)
	// Save writes changes of different requests: records whose version moved
	// by compare-and-swap on the version in Old (the job of Old only if it is
	// the one of New; another one is inserted, and so is a record of version
	// 0), columns outside the version where the version still stands, and all
	// facts. A job is written only where the fence in Old's lease still stands
	// too, so that no fence repeats, and so do the lease's holder, the next
	// check and rebroadcast, so that a stale touch brings nothing back. Under
	// the same holder and fence the stored end of a lease stays: only Renew
	// moves it. A version may move by more than one; there is a line of the
	// log for each. A stale version is [statemachine.ErrConflict], then a
	// stale fence [statemachine.ErrFenced], anything else that does not stand
	// ErrConflict, a
	// unique rule its [withdrawal.TakenError] with the job that has it. In a
	// View it is [statemachine.ErrIllegal]. The writes, and these errors, may
	// be delayed to the next read or the end of the transaction.
	Save(changes ...withdrawal.Change) error
	// Renew sets the end of leases that are held under their fence at now. It
	// returns the jobs whose lease is lost; the others are renewed.
	Renew(now time.Time, leases ...JobLease) (lost []uuid.UUID, err error)

	// Attempts returns all executions of a job, by fence.
	Attempts(job uuid.UUID) ([]withdrawal.Attempt, error)
	// Incidents pages through the incidents, oldest first, after a cursor
	// from 0.
	Incidents(after int64, limit int) (page []withdrawal.Incident, cursor int64, err error)
	// Requests pages through the requests with a status, or with any for
	// zero, by created_at and id, after the given one.
	Requests(status withdrawal.RequestStatus, after *withdrawal.Request, limit int) ([]withdrawal.Request, error)
	// Transitions returns the audit trail of a request or job, oldest first.
	Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error)
	// Feed returns the transitions of requests and jobs.
	Feed[uuid.UUID]
	// Stats counts; rates and means are over what ended in [now-window, now).
	Stats(now time.Time, window time.Duration) (withdrawal.Stats, error)
}

// JobLease names a held lease and its new end.
type JobLease struct {
	Job   uuid.UUID
	Fence int64
	Until time.Time
}

// DueWithdrawals asks for what is due.
type DueWithdrawals struct {
	Kind  DueKind
	Chain uuid.UUID // zero: every chain
	Now   time.Time
	Limit int // at least 1
	// Sequential says that executions of one hot wallet do not overlap: a
	// claim then skips wallets with a slot that is taken and returns at most
	// one job of a wallet. See [withdrawal.Chain].
	Sequential bool
	// Grace is for [DueCheck]: for so long a due job that is owed another
	// broadcast is left to the withdrawal workers, since a look-up puts
	// next_check_at off for both.
	Grace time.Duration
}

// DueKind says what is due, and in which order it is returned.
type DueKind = statemachine.Enum[dueKind]

const (
	// DueClaim: pending jobs with scheduled_at <= now, in the order of
	// [withdrawal.CompareClaims].
	DueClaim DueKind = iota + 1
	// DueRebroadcast: confirming jobs that are owed another broadcast:
	// rebroadcast set, not in review, next_check_at <= now, lease not held; in
	// the order of [withdrawal.CompareRebroadcasts].
	DueRebroadcast
	// DueCheck: confirming jobs with next_check_at <= now, or for those with
	// rebroadcast set and not in review next_check_at <= now - Grace; by
	// next_check_at and id.
	DueCheck
	// DueRescue: processing jobs, not in review, whose lease has ended, by
	// lease end and id.
	DueRescue
	// DueEnqueue: approved requests, by updated_at and id.
	DueEnqueue
)

type dueKind struct{}

func (dueKind) Kind() string    { return "kind of due work" }
func (dueKind) Names() []string { return dueNames }

var dueNames = []string{"claim", "rebroadcast", "check", "rescue", "enqueue"}
