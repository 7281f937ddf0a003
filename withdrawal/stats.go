package withdrawal

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Stats is what a store counts at the moment At, and in the window [At - window, At): its start is in it, its end is
// not. Means are exact sums of microseconds divided by their number, cut to microseconds; zero if there were none.
type Stats struct {
	At       time.Time
	Requests map[RequestStatus]int64
	Jobs     map[JobStatus]int64

	OldestPending  time.Time // created_at of the oldest request that awaits approval; zero: none
	OldestApproved time.Time // updated_at of the oldest request without a job
	OldestQueued   time.Time // queued_at of the oldest request of which nothing is out: its job is pending, or in processing
	OldestJob      time.Time // scheduled_at of the oldest due pending job: at or before At; one on hold is not due
	OldestReview   time.Time // the least claimed_at, or broadcast_at for one never claimed, of the jobs in review
	OldestSent     time.Time // broadcast_at of the oldest confirming job
	OldestBatch    time.Time // created_at of the oldest batch that confirms, however often it was looked up or sent
	OldestToRefund time.Time // updated_at of the request that ended unpaid first of those that are not refunded

	// Latest is the latest of the times from which these waits are measured, and of the times at which pending jobs
	// were scheduled ([Job].ScheduledFrom). If it is later than At, a clock was ahead, or is behind: the alert on a
	// wait that counts from such a time comes late.
	Latest time.Time

	InReview     int64 // processing or confirming
	LeaseExpired int64 // in processing, not in review, lease ended at or before At: awaits Elapsed
	CheckOverdue int64 // confirming, in review or not, next_check_at before At; those in a batch are looked up with it
	// BatchesOverdue are batches that confirm, next_check_at before At.
	BatchesOverdue int64
	Incidents      int64 // in the window
	// OpenIncidents have no [Acknowledgement], whenever they were.
	OpenIncidents int64
	// PaidAndRefunded are requests of which an incident that is not acknowledged says
	// that they were paid after their refund, whenever it was.
	PaidAndRefunded int64
	// UnknownOutbound are the open ones ([UnknownOutbounds]), in the order in which they were told, at
	// most [MaxGaps].
	UnknownOutbound []UnknownOutbound
	// WalletsOff are the hot wallets whose status is [WalletUnknown], by id, at most [MaxGaps].
	WalletsOff []uuid.UUID

	// ApprovalTime is the mean time from created_at to the line of the log that led from pending to approved, over the
	// lines in the window, whatever became of the request later. A requeue is no approval.
	ApprovalTime time.Duration
	// ConfirmationTime is the mean from broadcast_at to processed_at of the
	// jobs that were confirmed in the window.
	ConfirmationTime time.Duration
	Ended            int64 // requests that are completed or failed, by updated_at in the window
	Completed        int64 // of them completed
	Executions       int64 // attempts started in the window, those given back included
	Retries          int64 // of them those of a job that has an attempt with a lower fence, whenever it was
	GasUsed          Raw   // exact sum over the jobs confirmed in the window, of any length; empty for none
	GasJobs          int64 // their number

	// Money is what the requests that have not ended ask for, by chain, asset and decimals.
	Money []Money

	// Gaps are, by wallet, the nonces that nothing on file has although a transaction with a higher nonce waits for
	// them. Only wallets whose next nonce on the chain was given have an entry, with at most [MaxGaps] nonces.
	Gaps map[uuid.UUID][]uint64
}

// Money is what requests that are pending, approved or queued ask for, of one asset on a chain. Requests that give
// different decimals for one asset are counted apart.
//
// Review: the job is in review. Unknown: the request may have been paid, and no transaction on file says so: a signer
// that was called has not answered, or somebody says that a transaction was sent or mined beside the record. Stuck: the
// job, or its batch, is one of [Stats.Stuck].
type Money struct {
	Chain, Asset uuid.UUID
	Decimals     int32
	statemachine.Money
}

// AddMoney adds an amount, or the sum of some.
func (s *Stats) AddMoney(of Money, amount statemachine.Sum, review, unknown, stuck bool) {
	i, found := slices.BinarySearchFunc(s.Money, of, func(a, b Money) int {
		return cmp.Or(bytes.Compare(a.Chain[:], b.Chain[:]), bytes.Compare(a.Asset[:], b.Asset[:]), cmp.Compare(a.Decimals, b.Decimals))
	})
	if !found {
		s.Money = slices.Insert(s.Money, i, of)
	}
	s.Money[i].Add(amount, review, unknown, stuck)
}

// MaxGaps bounds Stats.Gaps of one wallet.
const MaxGaps = 100

// CompletionRate is the share of ended requests that were completed, in basis
// points (10 000 = all), rounded down; 0 of 0 is 10 000.
func (s *Stats) CompletionRate() int64 { return basisPoints(s.Completed, s.Ended, 10_000) }

// RetryRate is the share of executions that were retries, in basis points,
// rounded down; 0 of 0 is 0.
func (s *Stats) RetryRate() int64 { return basisPoints(s.Retries, s.Executions, 0) }

func basisPoints(part, whole, none int64) int64 {
	if whole <= 0 {
		return none
	}
	return part * 10_000 / whole
}

// Stuck is how many jobs and batches somebody has forgotten.
func (s *Stats) Stuck() int64 { return s.LeaseExpired + s.CheckOverdue + s.BatchesOverdue }

// Thresholds are the limits of [Alerts]. A zero duration or rate is not
// watched; a count alerts when it exceeds its limit.
type Thresholds struct {
	ApprovalWait   time.Duration // the oldest request awaits approval
	EnqueueWait    time.Duration // an approved request has no job: no hot wallet, or a hold
	QueueWait      time.Duration // a queued request is not sent: holds and retries, however often they move it
	ClaimWait      time.Duration // a due job is not claimed
	ReviewWait     time.Duration // a review is not resolved
	ConfirmWait    time.Duration // a broadcast is not confirmed
	BatchWait      time.Duration // a batch is not confirmed, with whatever members it still has
	RefundWait     time.Duration // what ended unpaid is not refunded
	Ahead          time.Duration // a time from which something waits lies in the future
	Stuck          int64
	Incidents      int64
	OpenIncidents  int64
	NonceGaps      int64 // of all wallets
	CompletionRate int64 // basis points, alert below
	RetryRate      int64 // basis points, alert above
}

// DefaultThresholds watch everything: an alert names unfinished work a bounded time after it entered its state, even if
// tries are repeated meanwhile. A request awaits approval for 24 h and a job for 1 h; a queued request has nothing out
// for 6 h; a review, a broadcast and a batch last 2 h; a request that ended unpaid is refunded within 72 h. They fit a
// [DefaultPolicy], whose retries end a quarter of an hour after the first execution, the executions not counted, and
// whose AlertAfter is 1 h.
func DefaultThresholds() Thresholds {
	return Thresholds{ApprovalWait: 24 * time.Hour, EnqueueWait: time.Hour, QueueWait: 6 * time.Hour, ClaimWait: 15 * time.Minute,
		ReviewWait:  2 * time.Hour,
		ConfirmWait: 2 * time.Hour, BatchWait: 2 * time.Hour, RefundWait: 72 * time.Hour, Ahead: time.Minute, Stuck: 20,
		CompletionRate: 9_000, RetryRate: 2_000}
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Wait("approval wait", s.OldestPending, t.ApprovalWait, "a request awaits approval")
	a.Wait("enqueue wait", s.OldestApproved, t.EnqueueWait, "an approved request has no job")
	a.Wait("queue wait", s.OldestQueued, t.QueueWait, "a queued request is not sent")
	a.Wait("claim wait", s.OldestJob, t.ClaimWait, "a due job is not claimed")
	a.Wait("review wait", s.OldestReview, t.ReviewWait, "a job is in review")
	a.Wait("confirm wait", s.OldestSent, t.ConfirmWait, "a broadcast is not confirmed")
	a.Wait("batch wait", s.OldestBatch, t.BatchWait, "a batch is not confirmed")
	a.Wait("refund wait", s.OldestToRefund, t.RefundWait, "what ended unpaid is not refunded")
	a.Add(t.Ahead > 0 && s.Latest.Sub(s.At) > t.Ahead, "withdrawal ahead",
		"something waits since %s, more than %v from now: a clock was ahead, or is behind", s.Latest.UTC().Format(time.RFC3339), t.Ahead)
	a.Add(s.Stuck() > t.Stuck, "stuck", "%d jobs and batches with an expired lease or an overdue check, more than %d", s.Stuck(), t.Stuck)
	a.Add(s.Incidents > t.Incidents, "incidents", "%d incidents, more than %d", s.Incidents, t.Incidents)
	a.Add(s.OpenIncidents > t.OpenIncidents, "open incidents",
		"%d incidents are not acknowledged, more than %d", s.OpenIncidents, t.OpenIncidents)
	a.Add(s.PaidAndRefunded > 0, "paid and refunded", "%d requests were refunded, and incidents say that they were paid", s.PaidAndRefunded)
	switch all, off := s.UnknownOutbound, s.WalletsOff; {
	case len(all) > 0:
		a.Add(true, "unknown outbound", "%d nonces of hot wallets were used by transactions on no file: "+
			"nonce %d of wallet %s by %q; %d wallets are switched off by it. Was the database put back?",
			len(all), all[0].Nonce, all[0].Wallet, all[0].Hash, len(off))
	case len(off) > 0:
		a.Add(true, "unknown outbound",
			"%d wallets are switched off by unknown outbounds that were told since; wallet %s among them: Withdrawals.Unsettled lists "+
				"what is not explained, and once it lists nothing an operator puts the wallet on or off", len(off), off[0])
	}
	gaps, first := int64(0), ""
	for wallet, all := range s.Gaps {
		gaps += int64(len(all))
		if name := wallet.String(); len(all) > 0 && (first == "" || name < first) {
			first = name
		}
	}
	a.Add(gaps > t.NonceGaps, "nonce gaps",
		"%d nonces are missing below others, more than %d; wallet %s among them", gaps, t.NonceGaps, first)
	a.Add(t.CompletionRate > 0 && s.CompletionRate() < t.CompletionRate, "completion rate",
		"%d of %d requests completed, less than %s", s.Completed, s.Ended, statemachine.Percent(t.CompletionRate))
	a.Add(t.RetryRate > 0 && s.RetryRate() > t.RetryRate, "retry rate",
		"%d of %d executions are retries, more than %s", s.Retries, s.Executions, statemachine.Percent(t.RetryRate))
	return a.Alerts
}

// Mean is the mean of times between two moments, cut to microseconds; zero of
// none. No sum of them overflows.
type Mean struct {
	sum   big.Int // microseconds
	count int64
}

// Add counts the time between two moments.
func (m *Mean) Add(from, to time.Time) {
	m.sum.Add(&m.sum, big.NewInt(to.UnixMicro()-from.UnixMicro()))
	m.count++
}

// Value is the mean, at most the longest Duration.
func (m *Mean) Value() time.Duration {
	if m.count == 0 {
		return 0
	}
	mean := new(big.Int).Quo(&m.sum, big.NewInt(m.count))
	const longest = math.MaxInt64 / int64(time.Microsecond)
	if mean.CmpAbs(big.NewInt(longest)) > 0 {
		return time.Duration(longest*int64(mean.Sign())) * time.Microsecond
	}
	return time.Duration(mean.Int64()) * time.Microsecond
}
