package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// WithdrawalUnit is the part of a transaction that [Withdrawals] needs.
type WithdrawalUnit interface {
	SwitchUnit
	Withdrawals() WithdrawalRecords
	HotWallets() HotWalletRecords
}

// WithdrawalRecords stores the withdrawals of package withdrawal. It keeps the
// unique rules that the package names under "Storing a change", and decides
// nothing.
type WithdrawalRecords interface {
	// Get returns the aggregates of these requests, in their order: the request, its latest job, all transactions of
	// the request, the attempt of the job's current fence (zero if there is none), the job's wallet as
	// [HotWalletRecords] returns it, the strays of the request by Seq, and, if the job counts dispatches, its Dispatches. Every field comes
	// back as it was saved, times as UTC microseconds. An unknown request is a zero Withdrawal, from which it is
	// created.
	Get(requests ...uuid.UUID) ([]withdrawal.Withdrawal, error)
	// RequestOf returns the request of a job, [statemachine.ErrNotFound] for
	// an unknown one.
	RequestOf(job uuid.UUID) (uuid.UUID, error)
	// Due returns aggregates that something is due for ([withdrawal.DueAt]), as Get does, in the order of
	// [withdrawal.CompareDue]. The records stay locked until the transaction ends; records that another transaction
	// holds are skipped, so an empty answer does not mean that nothing is due. A record that cannot be read is left
	// out; Get names it. A Limit out of bounds or an unknown kind is [statemachine.ErrInvalid]; in a View it is
	// [statemachine.ErrIllegal].
	Due(q DueWithdrawals) ([]withdrawal.Withdrawal, error)
	// NextDue returns the earliest moment after q.Now at which Due has
	// something that it has not now; zero if nothing is scheduled.
	NextDue(q DueWithdrawals) (time.Time, error)
	// PaidRequest returns another request than the given one that has the transaction on file, or among its strays; the
	// zero id for a filler; not valid if nothing has it. Hashes are compared by [statemachine.HashForm], in one chain.
	// If byOutput is set, a transaction that pays by output ([withdrawal.Tx].ByOutput) counts only with the same
	// output. A request that has an output of a transaction on file and names the transaction whole afterwards, as its
	// signer may, keeps that output alone: PaidRequest still answers that nobody has the other outputs.
	PaidRequest(request, chain uuid.UUID, hash string, byOutput bool, output uint32) (uuid.NullUUID, error)
	// Usage returns what [withdrawal.UsageOf] defines, and keeps other
	// submissions of the user out until the transaction ends. Listed stays
	// false: the allow-list is the host's.
	Usage(user, asset uuid.UUID, windows []withdrawal.Window, now time.Time) (withdrawal.Usage, error)
	// Save writes changes of different requests; all of them, or none.
	//
	//  1. A refused Save ends the transaction: Update returns its error even if
	//     fn swallows it. The writes, and these errors, may be delayed to the
	//     next read or the end of the transaction. In a View it is
	//     [statemachine.ErrIllegal].
	//  2. A record is written if its version moved: inserted if the version in
	//     Old is 0, or if New has another job than Old; else by compare-and-swap
	//     on the version in Old. Another stored version, and an insert of a record
	//     that exists, is [statemachine.ErrConflict]. A job of a request that does
	//     not exist is [statemachine.ErrNotFound]. A write of a job, also a touch,
	//     compares the version of its request in Old too. A TouchRequest
	//     ([withdrawal.Change.TouchRequest]) writes OfferAt where the version and
	//     OfferAt in Old still stand, else ErrConflict.
	//  3. A job is written only where the fence in Old's lease still stands too,
	//     else [statemachine.ErrFenced], and so do its holder, OfferAt,
	//     NextCheckAt and Rebroadcast, else ErrConflict. So no fence repeats, and
	//     a stale touch brings no old value back. A touch
	//     ([withdrawal.Change.Touch]) writes the columns outside the version where
	//     the version still stands.
	//  4. Under the same holder and fence the stored end of a lease stays: only
	//     Renew moves it.
	//  5. A broken unique rule is its [withdrawal.TakenError] with the job that has
	//     the value. The nonce rule covers every transaction ever on file of that
	//     wallet and every stray of a job, whatever became of them; a job may have
	//     its own nonce again. A Tx of a batch takes no nonce, see [BatchRecords].
	//     Slots that changes of one Save give back are free for its other changes,
	//     whatever their order.
	//  6. Log has exactly one line for each new version of the two records, each
	//     the next after the last one stored, else [statemachine.ErrInvalid].
	//     Lines are never changed or deleted.
	//  7. Txs are appended: a Seq or a hash that the request has on file is
	//     ErrConflict. If PaidRequest finds another request for a new Tx or Stray,
	//     it is [withdrawal.ErrPaymentTaken] in a TakenError.
	//  8. The attempt ([withdrawal.Change.Attempt]) is inserted by (Job, Fence).
	//     While EndedAt is zero a later save sets EndedAt, Outcome, Error, Hash
	//     and the dispatch; Worker and StartedAt stay. Any other value of a closed
	//     attempt is ErrConflict.
	//  9. A reservation adds its Delta to BalanceReserved, never a value of
	//     New.Wallet, and sets LastUsedAt to the greater of the two. An unknown
	//     wallet is ErrNotFound.
	// 10. An incident is inserted once by its key, and ignored afterwards.
	// 11. A stray is inserted by (Request, Seq); while SettledAt is zero a later
	//     save sets it.
	//
	// A zero time and an empty text are absent, which a column may say with NULL; what is read is zero again. A nonce
	// is absent without HasNonce, and 0 is a nonce.
	Save(changes ...withdrawal.Change) error
	// Renew sets the end of leases that are held under their fence at now. It
	// returns the jobs whose lease is lost; the others are renewed.
	Renew(now time.Time, leases ...Lease[uuid.UUID]) (lost []uuid.UUID, err error)

	// Attempts returns all executions of a job, by fence.
	Attempts(job uuid.UUID) ([]withdrawal.Attempt, error)
	// Incidents pages through the incidents (with open only those without an acknowledgement), oldest first, after a
	// cursor from 0, and returns the cursor behind the last one; an empty page returns the cursor that was given. A
	// cursor below 0 is [statemachine.ErrInvalid], and so is a limit that is not 1 to [MaxPage], as for Requests.
	Incidents(open bool, after int64, limit int) (page []withdrawal.Incident, cursor int64, err error)
	// Acknowledge inserts once by the key of the incident, and is ignored
	// afterwards; an unknown incident is [statemachine.ErrNotFound].
	Acknowledge(withdrawal.Acknowledgement) error
	// Acknowledgements returns those of a request, by At and key.
	Acknowledgements(request uuid.UUID) ([]withdrawal.Acknowledgement, error)
	// Requests pages through the requests with a status, or with any for
	// zero, by created_at and id, after the given one.
	Requests(status withdrawal.RequestStatus, after *withdrawal.Request, limit int) ([]withdrawal.Request, error)
	// List returns a page of the aggregates that a filter lists, as Get does, in the order of
	// [withdrawal.CompareListed] or backwards. An aggregate that cannot be read is left out. A filter or a Limit out of
	// bounds is [statemachine.ErrInvalid].
	List(q ListWithdrawals) ([]withdrawal.Withdrawal, error)
	// Jobs returns all jobs of a request, in the order in which they were made.
	Jobs(request uuid.UUID) ([]withdrawal.Job, error)
	// ByHash returns, by id, the requests that have a transaction with this hash
	// on file or among their strays, compared by [statemachine.HashForm], on any
	// chain; at most [MaxPage].
	ByHash(hash string) ([]uuid.UUID, error)
	// Transitions returns the audit trail of a request or a job, oldest first; of the request, where a job has the same
	// id.
	Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error)
	// Feed returns the transitions of requests and jobs, and of batches where there are some.
	Feed[uuid.UUID]
	// Stats counts what the fields of [withdrawal.Stats] say, as [withdrawal.StatsOf] defines them; rates and means are
	// over [now-window, now). chain is zero for all chains. UnknownOutbound is [withdrawal.UnknownOutbounds] of the
	// statements, by chain and in the order in which they were said. The service adds Gaps.
	Stats(now time.Time, window time.Duration, chain uuid.UUID) (withdrawal.Stats, error)
}

// ListWithdrawals asks for a page of a list.
type ListWithdrawals struct {
	withdrawal.Filter
	After     *withdrawal.Request // the last one of the page before; nil is the beginning
	Backwards bool                // newest first
	Now       time.Time           // of leases and look-ups; zero: the service sets it
	Limit     int                 // 1 to [MaxPage]
}

// DueWithdrawals asks for what is due.
type DueWithdrawals struct {
	Kind  withdrawal.DueKind
	Chain uuid.UUID // zero: every chain
	Now   time.Time
	Limit int // 1 to [MaxPage]
	// Sequential says that executions of one hot wallet do not overlap: a
	// claim then skips wallets with a slot that is taken and returns at most
	// one job of a wallet. See [withdrawal.Chain].
	Sequential bool
	// Wallet: of one chain, claims of this wallet alone, whoever has its slot. Not
	// for NextDue.
	Wallet uuid.UUID
	// Grace is for [withdrawal.DueCheck]: for this time a due job that is owed another broadcast is left to the
	// withdrawal workers, since a look-up moves next_check_at, and so the broadcast, too.
	Grace time.Duration
	// Ahead, if it is set, asks for work whose due time is after Ahead, instead of work that is due at Now: a clock
	// that was ahead has put it off, see [withdrawal.Policy.Longest]. Not for NextDue.
	Ahead time.Time
}
