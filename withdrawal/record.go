package withdrawal

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Bounds of text from outside. Addresses, memos and hashes beyond them are
// refused; error messages and reasons are cut.
const (
	MaxAddress = 256                   // characters
	MaxMemo    = 1000                  // characters
	MaxHash    = 100                   // bytes; also block hashes, inputs and signer references
	MaxActor   = statemachine.MaxActor // bytes
	MaxText    = 1000                  // bytes of an error message or a reason
	MaxRaw     = 1 << 17
	// MaxTxs bounds the transactions on file of one request that a worker may add to. Transactions that somebody tells
	// of have as many places again, so that a transaction that was sent or has paid is recorded when the workers'
	// places are used up. Strays are 2*MaxTxs.
	MaxTxs = 100
)

// Withdrawal is what commits together: a request, its latest job with the
// transactions and the attempt, and the wallet that pays. A pure value; Apply
// never writes through its slices.
//
// What a store must load depends on the event; see [Policy.Apply].
type Withdrawal struct {
	Request Request
	Job     Job       // the latest one; zero while there is none
	Txs     []Tx      // of all jobs of the request, by Seq
	Attempt Attempt   // key (Job.ID, Job.Lease.Fence), open or closed; zero if there is none
	Wallet  HotWallet // Job.Wallet; zero if not loaded
	// Strays are of the request, by Seq; all of them where Request.StraysOnFile
	// is not zero.
	Strays []Stray
	// Dispatches are the attempts of all jobs of the request that were
	// dispatched and have ended, by Fence: all Job.Dispatches of them.
	Dispatches []Attempt
	// Level is how far the switch stops the chain. Recovering: the database was put back to an earlier state, and the
	// chain has not been started again. The service sets both for an event, as it does Owner; they are no columns.
	Level      switches.Level `json:",omitzero"`
	Recovering bool
	// Unclaimed names, as hash:output, a transfer that may have paid the request, see
	// [UnclaimedFor]; empty if there is none. Given as Level is, for Enqueued, Refunded and Released.
	Unclaimed string `json:",omitempty"`
	// Outbound is the hot wallet that stops the chain, see [OutboundOf]; zero if there is none. Given as Level is, for
	// Enqueued and Refunded; what begins otherwise reads Wallet.Outbound.
	Outbound uuid.UUID `json:",omitzero"`
	// Owner is valid if the transaction that an event names belongs to another request or, with the zero id, is a
	// filler. It is looked up for Broadcast, Resolved, PaidBy, and ProvenDead by the use of its nonce, and otherwise
	// not valid.
	Owner uuid.NullUUID
	// Generation is how often the database was put back, and Said are the statements about the chain of every
	// generation. The service sets them as it does Level: for a Prepared whose ChainNonce is above Wallet.NextNonce,
	// for ProvenDead by the use of its nonce, and for an Enqueued with a wallet that was never used.
	Generation int64       `json:",omitzero"`
	Said       []Statement `json:",omitempty"`
}

// Request is a row of withdrawal_requests: what the user wants, who agreed, and
// how it ended. It knows nothing of gas, retries, workers or wallets.
type Request struct {
	ID        uuid.UUID
	User      uuid.UUID
	Asset     uuid.UUID
	Chain     uuid.UUID
	ToAddress string // opaque; at most MaxAddress characters
	Memo      string // at most MaxMemo characters

	Amount    decimal.Decimal `json:",omitzero"` // for people: AmountRaw / 10^Decimals, without trailing zeros
	AmountRaw Raw             // base units; authoritative
	Decimals  int32           // of the asset on this chain, 0 to MaxDecimals

	Status          RequestStatus `json:",omitzero"`
	RequestedBy     string        // who submitted it: never one of its approvers
	ApprovalsNeeded int32         // decided at submission: 0 automatic, 1, or 2
	FirstApprover   string        // empty until then
	SecondApprover  string        // distinct from the first
	ClosedBy        string        // who rejected or cancelled it
	CloseReason     string        // bounded

	// Held: an operator has stopped it. It gets no job, and its job no
	// execution, until it is released; what is out goes on.
	Held bool
	// Mined is the first transaction that an [Incident] says was mined beside the record's own. It is never cleared,
	// and replaced only if it has become FinalTxHash and another one is mined too. The request may have been paid: it
	// gets no other job and no other execution.
	Mined string
	// Taken is the latest hash that a signer of this request answered with although it is another request's or a
	// filler's: see [ClaimTaken]. Nobody can tell whether the signer sent something for this request: it gets no other
	// job and no other execution until an operator has said [Acknowledged].
	Taken string
	// Told is all that was said to be mined or taken, and after a refund all that was
	// said to be mined, taken or sent since. What is added is a version of the request.
	Told Told
	// Acknowledged: an operator has settled what all of Told means. What is added to Told takes
	// the acknowledgement back.
	Acknowledged bool
	// Disproved is the transaction on file that was declared dead and then
	// mined; set once. The proof was wrong. DisprovedBy is who said so.
	Disproved   string
	DisprovedBy string
	// StraysOnFile counts the rows of Withdrawal.Strays; StraysSent those of
	// them that say "sent" and are not settled: while there is one, the request
	// gets no other job and no other execution.
	StraysOnFile int32
	StraysSent   int32

	// RefundedAt, RefundedBy and RefundReference are of [Refunded]: the host gives the
	// money back. Zero and empty before; no event takes them back.
	RefundedAt      time.Time
	RefundedBy      string
	RefundReference string
	// PaidAfter is the first hash that was told to be mined, sent or taken after the refund, or that was open when a
	// refund made before a restore was reported; set once. The request may have been both paid and refunded.
	PaidAfter string

	OfferAt time.Time // not offered for a job, or for a refund, before; outside the version, see [PutOff]

	QueuedAt    time.Time // when the latest job was made; zero before
	FinalTxHash string    // the transaction that was mined; empty unless completed

	Version   int64 // 1 at creation, +1 with each transition
	CreatedAt time.Time
	UpdatedAt time.Time // of the last step but hold, release, flagged and refund
}

// Job is a row of withdrawal_queue: one order to pay.
//
// The columns of Lease, OfferAt, NextCheckAt and Rebroadcast are outside the
// version: a change that touches nothing else has no transition (see
// [Change.Touch]).
type Job struct {
	ID           uuid.UUID
	Request      uuid.UUID
	Chain        uuid.UUID
	AssetOnChain uuid.UUID
	Wallet       uuid.UUID // the hot wallet; chosen once, no retry changes it
	ToAddress    string
	AmountRaw    Raw
	AmountHuman  decimal.Decimal `json:",omitzero"`

	Status      JobStatus `json:",omitzero"`
	Priority    Priority  `json:",omitzero"`
	RetryCount  int32     // executions so far: +1 at the claim, given back by a snooze
	MaxRetries  int32     // executions allowed, at least 1
	ScheduledAt time.Time // not claimed before, unless a clock that was ahead says so
	// ScheduledFrom is when ScheduledAt was set, by the store's clock then. ScheduledAt is
	// the same time where nothing delays the job; it is later by a back-off, by a deferral, or
	// by what a snooze has asked for.
	ScheduledFrom time.Time
	OfferAt       time.Time // not offered for a claim before; zero or in pending, see [PutOff]
	Deferrals     int32     // deferrals in a row because the hot wallet could not pay

	Lease     statemachine.Lease
	Slot      uuid.NullUUID // the wallet, while the job holds it in processing on a chain with nonces; unique
	ClaimedAt time.Time     // of the latest claim
	// StoppedFence is the fence of the latest execution that a hold or a stop
	// ended; 0 if none. Its worker's last report is no error.
	StoppedFence int64

	DispatchedAt time.Time // set: a signer that also sends may have been called, no hash is known
	DispatchRef  string    // what to ask that signer for
	Dispatches   int32     // dispatched executions of the request that have ended, of all its jobs

	TxsOnFile int32  // transactions of the request, of all its jobs
	TxsDead   int32  // the first TxsDead of them are proven dead; the others are live
	Nonce     uint64 // shared by the live ones, if HasNonce
	HasNonce  bool
	TxHash    string // the newest live one; after the end the one that was mined, a job that failed for a wrong proof of death included

	Review          bool      // parked for an operator
	ResolvedVersion int64     // the version that an operator last resolved: the key of that event
	BroadcastAt     time.Time // when it went out, or was first taken to have gone out
	NextCheckAt     time.Time // confirming: when to look it up again
	Rebroadcast     bool      // at NextCheckAt the bytes on file are owed another broadcast

	EvidenceHeight uint64 // block of the last definitive evidence: mined, reverted, dead
	EvidenceHash   string
	GasUsed        Raw
	GasPrice       Raw
	// Batch is the batch that has the job, while it is confirming: what becomes
	// of its transaction is said to that, see [Payout].
	Batch uuid.UUID

	ErrorMessage string    // of the latest failure, bounded
	ProcessedAt  time.Time // terminal only

	Version   int64
	CreatedAt time.Time
}

// Tx is a row of withdrawal_txs: a transaction that may be mined. Append-only.
type Tx struct {
	Request  uuid.UUID
	Seq      int32 // number within the request, from 1 without gaps
	Job      uuid.UUID
	Hash     string
	Raw      []byte // the signed bytes; empty if only the signer has them
	Wallet   uuid.UUID
	Nonce    uint64
	HasNonce bool
	Input    string // where there is no nonce: what makes it exclusive with its replacements
	Cancel   bool   // a self-transfer that ends the payment instead of making it
	// ByOutput: only Output of the transaction pays the request, and its other
	// outputs may pay others. Else it is this request's alone.
	ByOutput bool
	Output   uint32
	// Batch is the batch of which the transaction is a version; zero if it is this request's alone. The nonce of a
	// version belongs to the batch's owner job, and the bytes are stored with the batch.
	Batch     uuid.UUID
	CreatedAt time.Time
}

// Stray is a row of withdrawal_strays: a transaction that is not on file, and of which a signer says that it sent it,
// or somebody says that it paid the request. Append-only except for SettledAt, which is set once.
type Stray struct {
	Request   uuid.UUID
	Seq       int32         // number within the request, from 1 without gaps
	Job       uuid.UUID     // the latest one then; zero if there was none
	Claim     IncidentClaim `json:",omitzero"` // ClaimSent or ClaimMined
	Hash      string
	Raw       []byte // if known
	Wallet    uuid.UUID
	Nonce     uint64
	HasNonce  bool
	Input     string
	ByOutput  bool
	Output    uint32
	Fence     int64 // of the dispatch that answered; 0 with ClaimMined
	CreatedAt time.Time
	SettledAt time.Time // when it was put on file as live, or proven dead; zero before
}

// OwnsNonce reports whether the job of a transaction that the change puts on file owns the transaction's nonce, so that
// no other job or filler takes it. The nonce of a version of a batch belongs to the batch's owner. So does the nonce of
// a transaction that somebody tells of and that cannot be mined beside such a version, dead or not; a worker signs
// nothing new with it.
func (c *Change) OwnsNonce(t *Tx) bool {
	return t.HasNonce && t.Batch == uuid.Nil && (c.New.Job.Status == JobProcessing || !c.sharesNonce(t.Wallet, t.Nonce))
}

// OwnsStrayNonce is the same for a stray.
func (c *Change) OwnsStrayNonce(s *Stray) bool {
	return s.HasNonce && s.Job != uuid.Nil && !c.sharesNonce(s.Wallet, s.Nonce)
}

// sharesNonce: a version of a batch had the nonce, also one that is dead by now.
func (c *Change) sharesNonce(wallet uuid.UUID, nonce uint64) bool {
	return slices.ContainsFunc(c.New.Txs, func(t Tx) bool { return t.Batch != uuid.Nil && t.exclusive(wallet, true, nonce, "") })
}

// Attempt is one execution: inserted at the claim, closed once. Key (Job, Fence).
type Attempt struct {
	Job       uuid.UUID
	Fence     int64
	Worker    string
	StartedAt time.Time
	EndedAt   time.Time            // zero while open
	Outcome   statemachine.Outcome `json:",omitzero"`
	Error     string               // bounded
	Hash      string
	// DispatchedAt is set if a signer that also sends may have been called;
	// DispatchRef is the reference. Written with the end.
	DispatchedAt time.Time
	DispatchRef  string
}

// Dispatched reports whether the execution was dispatched and has ended: its signer
// may answer yet, or again. See [Withdrawal].Dispatches.
func (a *Attempt) Dispatched() bool { return !a.DispatchedAt.IsZero() && !a.EndedAt.IsZero() }

// HotWallet is a row of operation_wallet_addresses.
type HotWallet struct {
	ID              uuid.UUID
	Chain           uuid.UUID
	Role            string    // only WalletRoleHot pays
	Status          string    // only WalletActive pays
	LastUsedAt      time.Time // zero: never
	BalanceReserved Raw       // sum of the amounts of its open jobs; an ordering hint, since assets mix
	NextNonce       uint64    // highest nonce on file + 1, 0 if none; derived, not a column
	Outbound        uuid.UUID `json:",omitzero"` // [OutboundOf] the wallets of its chain; derived, not a column
}

const (
	WalletRoleHot = "hot_wallet"
	WalletActive  = "active"
	// WalletUnknown: an unknown outbound was told of the wallet. Nothing of its chain begins and nothing is refunded, see
	// [OutboundOf], until all of it is explained ([Unexplained]) and an operator gives the wallet another status, see
	// [Puts].
	WalletUnknown = "unknown outbound"
)

// Off returns the wallet as an unknown outbound leaves it, whatever its status was.
func (h HotWallet) Off() HotWallet {
	h.Status = WalletUnknown
	if h.Outbound == uuid.Nil || bytes.Compare(h.ID[:], h.Outbound[:]) < 0 {
		h.Outbound = h.ID
	}
	return h
}

// Reservation is a difference to a wallet's row. Differences commute, so
// concurrent steps need no lock on the wallet: add [Reservation.Delta] to
// balance_reserved; set last_used_at to max(last_used_at, UsedAt).
type Reservation struct {
	Wallet  uuid.UUID
	Job     uuid.UUID
	Amount  Raw
	Release bool      // the terminal commit: subtract
	UsedAt  time.Time // zero with Release and of an import
}

// Delta is the signed difference.
func (r Reservation) Delta() Raw {
	if r.Release {
		return r.Amount.Neg()
	}
	return r.Amount
}

// Incident is evidence of the chain that contradicts the record. Its key is
// (Request, Hash, Claim, BlockHash): a store inserts it once and ignores it
// afterwards.
type Incident struct {
	Request   uuid.UUID
	Job       uuid.UUID
	Hash      string
	Claim     IncidentClaim `json:",omitzero"` // what the chain says, or a signer: sent, taken
	BlockHash string        // empty for missing, not dead, sent and taken
	Height    uint64
	Status    JobStatus `json:",omitzero"` // what the record says; zero without a job
	Actor     string
	At        time.Time
}

// Change is the result of one step. Old and New hold the records; a record has changed if its version has, and a store
// saves it by compare-and-swap on the version in Old; for an attempt see [Change.Attempt]. The other fields are facts
// to append in the same commit.
type Change struct {
	Old, New     Withdrawal
	Log          []statemachine.Transition[uuid.UUID] // one per new record version
	Txs          []Tx                                 // append-only
	Strays       []Stray                              // new ones, and those that were settled: by (Request, Seq)
	Reservations []Reservation                        // signed differences, applied to the wallet's row
	Incidents    []Incident                           // insert or ignore, by key
	// Said are unknown outbounds, to be said in the same commit; it switches their wallets off too, see
	// [HotWallet.Off]. The service writes both with the records of hot wallets: saving a change does not.
	Said []Statement
	work
}

// Attempt returns the execution that the step opened or closed, to be stored by
// its key; nil if it did neither.
func (c *Change) Attempt() *Attempt {
	if a := &c.New.Attempt; a.Job != uuid.Nil && *a != c.Old.Attempt {
		return a
	}
	return nil
}

// Touch reports that only columns outside the job's version changed. A store then saves Lease, OfferAt, NextCheckAt and
// Rebroadcast, where the stored id, version, fence, lease holder, OfferAt, NextCheckAt and Rebroadcast are those of
// Old.
func (c *Change) Touch() bool {
	return c.Old.Job.Version == c.New.Job.Version &&
		(c.Old.Job.Lease != c.New.Job.Lease || c.Old.Job.OfferAt != c.New.Job.OfferAt ||
			c.Old.Job.NextCheckAt != c.New.Job.NextCheckAt || c.Old.Job.Rebroadcast != c.New.Job.Rebroadcast)
}

// TouchRequest reports that of the request only OfferAt changed: save it
// where id, version and OfferAt are those of Old.
func (c *Change) TouchRequest() bool {
	return c.Old.Request.Version == c.New.Request.Version && c.Old.Request.OfferAt != c.New.Request.OfferAt
}

// Empty reports that there is nothing to save: the event was there already.
func (c *Change) Empty() bool {
	return len(c.Log) == 0 && len(c.Incidents) == 0 && !c.Touch() && !c.TouchRequest()
}

// Live reports whether a transaction of the job may still be mined, as far as
// the record knows.
func (j *Job) Live() bool { return j.TxsOnFile > j.TxsDead }

// Live returns the transactions that may still be mined. All of them are
// exclusive: they share a nonce or an input. Txs must be loaded.
func (w *Withdrawal) Live() []Tx {
	if int(w.Job.TxsDead) >= len(w.Txs) {
		return nil
	}
	return w.Txs[w.Job.TxsDead:]
}
