package withdrawal

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// MaxMembers bounds the requests that one transaction pays.
const MaxMembers = 1000

// MaxTransfers bounds what evidence shows of one transaction.
const MaxTransfers = 10 * MaxMembers

// Payout is what commits together of a batch: the batch, its transactions, and the requests that have one of them on
// file. A pure value, like [Withdrawal].
//
// Members are ordered by id of the request. A request that has left the batch, since it was paid, failed, is pending
// again or parked, stays among Members: evidence may still concern it. See [Payout.Has].
type Payout struct {
	Batch   Batch
	Txs     []BatchTx // all versions, by Seq
	Members []Withdrawal
	// Level is how far the switch stops the chain, see [Withdrawal].Level: for
	// BatchPrepared and BatchReplaced.
	Level      switches.Level `json:",omitzero"`
	Recovering bool           `json:",omitzero"` // the chain, with Level
	// Owner, Generation and Said are given as those of [Withdrawal] are: for BatchMined of a
	// transaction that is no version, Generation and Said also for BatchPrepared.
	Owner      uuid.NullUUID
	Generation int64       `json:",omitzero"`
	Said       []Statement `json:",omitempty"`
}

// Batch is a row of withdrawal_batches: one transaction, with its replacements,
// that pays many requests. All versions share the nonce of one wallet, or an
// input, so that at most one of them is ever mined.
type Batch struct {
	ID       uuid.UUID
	Chain    uuid.UUID
	Wallet   uuid.UUID
	Owner    uuid.UUID // the job that owns the nonce: of the members that which held the slot of the wallet
	Nonce    uint64    // if HasNonce
	HasNonce bool
	Input    string // where there is no nonce

	Status    BatchStatus `json:",omitzero"`
	Members   int32       // requests that its first version pays
	TxsOnFile int32
	TxHash    string // the newest version; after the end the transaction that was mined, whosever it is

	NextCheckAt time.Time // confirming: when to look it up again; outside the version
	Rebroadcast bool      // at NextCheckAt the newest bytes are owed a broadcast, or a replacement; outside the version
	// Lease is of who sends the newest version, or replaces it: first of who made
	// the batch. Outside the version.
	Lease statemachine.Lease

	EvidenceHeight uint64 // where it was mined
	EvidenceHash   string
	GasUsed        Raw // of the whole transaction: its members have none
	GasPrice       Raw
	EndedAt        time.Time // zero before

	Version   int64 // 1 at creation, +1 with each transition
	CreatedAt time.Time
}

// BatchTx is a row of withdrawal_batch_txs: a version of a batch, with its bytes.
// Append-only. Which requests it pays, and by which output, is on their files.
type BatchTx struct {
	Batch     uuid.UUID
	Seq       int32 // from 1 without gaps
	Hash      string
	Raw       []byte
	CreatedAt time.Time
}

// Pay is what a version of a batch pays to one member.
type Pay struct {
	Request uuid.UUID
	Fence   int64 // of the member's lease; for [BatchPrepared]
	Transfer
}

// Transfer is one output of a transaction, or one transfer that a contract makes
// in it.
type Transfer struct {
	Output       uint32 // index of the output, or of the transfer among those of the transaction
	Payee        string
	AssetOnChain uuid.UUID
	AmountRaw    Raw
}

// BatchChange is the result of one step. The members that it changed commit with
// the batch, each by the rules of its own [Change].
type BatchChange struct {
	Old, New Payout
	Log      []statemachine.Transition[uuid.UUID] // of the batch: one per new version
	Txs      []BatchTx                            // append-only
	Members  []Change                             // of those that changed, by id of the request
	Said     []Statement                          // as in [Change]
}

// Touch reports that only columns of the batch outside the version changed. A store then saves NextCheckAt, Rebroadcast
// and Lease, where the stored version, fence, lease holder, NextCheckAt and Rebroadcast are those of Old.
func (c *BatchChange) Touch() bool {
	o, n := &c.Old.Batch, &c.New.Batch
	return o.Version == n.Version && (o.NextCheckAt != n.NextCheckAt || o.Rebroadcast != n.Rebroadcast || o.Lease != n.Lease)
}

// Empty reports that there is nothing to save.
func (c *BatchChange) Empty() bool {
	return len(c.Log) == 0 && len(c.Members) == 0 && !c.Touch()
}

// Complete checks that the log has exactly one line for each new version of the
// batch. The members' logs are checked with their changes.
func (c *BatchChange) Complete() error {
	return statemachine.Complete(c.Log, statemachine.Versions[uuid.UUID]{Machine: BatchMachine.Name(), ID: c.New.Batch.ID,
		Old: c.Old.Batch.Version, New: c.New.Batch.Version})
}

// Has reports whether the batch has the job of a member: it is confirming, and
// what becomes of it is said to the batch.
func (b *Payout) Has(w *Withdrawal) bool { return w.Job.Batch != uuid.Nil && w.Job.Batch == b.Batch.ID }

// Pays returns by which output a version pays a member; false if it does not.
func (b *Payout) Pays(hash string, w *Withdrawal) (output uint32, ok bool) {
	if i := w.find(hash); i >= 0 && w.Txs[i].Batch == b.Batch.ID {
		return w.Txs[i].Output, true
	}
	return 0, false
}

// Unwanted returns the requests that the newest version pays although an operator has them, or they may be paid
// elsewhere. While there is such a request the newest version is not sent again, but looked up, and the builder is
// asked to replace it by a version that does not pay them: [DoReplace].
func (b *Payout) Unwanted() (without []uuid.UUID) {
	for i := range b.Members {
		w := &b.Members[i]
		if _, pays := b.Pays(b.Batch.TxHash, w); pays && b.Has(w) && (w.Job.Review || w.elsewhere()) {
			without = append(without, w.Request.ID)
		}
	}
	return without
}

// Payable returns the members that a replacement may pay.
func (b *Payout) Payable() (all []Withdrawal) {
	for i := range b.Members {
		if b.unpayable(&b.Members[i]) == "" {
			all = append(all, b.Members[i])
		}
	}
	return all
}

// unpayable says why a replacement may not pay a member; empty if it may.
func (b *Payout) unpayable(w *Withdrawal) string {
	_, out := b.Pays(b.Batch.TxHash, w)
	switch {
	case !b.Has(w):
		return "the batch does not have it"
	case w.Job.Review || w.Request.flagged():
		return "an operator has it, or it may have been paid: it is dropped"
	case !out && w.Request.Held:
		return "it was dropped, and is held"
	case len(w.Txs) >= MaxTxs:
		return fileFull
	}
	return ""
}

// NamesOthers reports whether hash is no version of a batch with a nonce: what has used the nonce may
// be on no file, see [Payout].Owner.
func (b *Payout) NamesOthers(hash string) bool {
	return b.Batch.HasNonce && hash != "" && b.find(hash) < 0
}

// find returns the index of a version, or -1.
func (b *Payout) find(hash string) int {
	return slices.IndexFunc(b.Txs, func(t BatchTx) bool { return statemachine.SameHash(t.Hash, hash) })
}

// member returns the index of a request among the members, or -1.
func (b *Payout) member(request uuid.UUID) int {
	return slices.IndexFunc(b.Members, func(w Withdrawal) bool { return w.Request.ID == request })
}

// CompareMembers is the order of members: by id of the request.
func CompareMembers(a, b *Withdrawal) int { return bytes.Compare(a.Request.ID[:], b.Request.ID[:]) }

// BatchStatus is the state of a [Batch].
// Values: BatchConfirming, BatchConfirmed, BatchFailed.
type BatchStatus = statemachine.Enum[batchStatus]

const (
	// BatchConfirming: a version may be mined. The state begins with the first signed version, before it is sent: a
	// crash leaves bytes that are owed a broadcast, and a lease that ends. A [WithdrawalWorker] claims the batch and
	// sends the bytes, or replaces a version that has [Payout.Unwanted] members; after a crash before the replacement
	// is on file, it is asked for again when the lease has ended. A [ConfirmationWorker] looks all versions up at
	// NextCheckAt. Time alone never fails the batch.
	BatchConfirming BatchStatus = iota + 1
	// BatchConfirmed: a version is mined at depth, and what it pays is paid.
	// Every member was decided in that commit. Terminal.
	BatchConfirmed
	// BatchFailed: the nonce or input is used, at depth, by a version that was
	// reverted or by a transaction that is none of the batch. Every member was
	// decided in that commit. Terminal.
	BatchFailed
)

type batchStatus struct{}

func (batchStatus) Kind() string    { return "withdrawal batch status" }
func (batchStatus) Names() []string { return batchStatusNames }

var batchStatusNames = []string{"confirming", "confirmed", "failed"}

// BatchTrigger is what moves a batch.
// Values: batchPrepare, batchReplace, batchConfirm, batchRevert, batchDead.
type BatchTrigger = statemachine.Enum[batchTrigger]

const (
	batchPrepare BatchTrigger = iota + 1 // the first version is on file, and with each member that it pays
	batchReplace                         // a replacing version is
	batchConfirm                         // a version was mined at depth
	batchRevert                          // mined and reverted at depth
	batchDead                            // another transaction has the nonce or input, at depth
)

type batchTrigger struct{}

func (batchTrigger) Kind() string    { return "withdrawal batch trigger" }
func (batchTrigger) Names() []string { return batchTriggerNames }

var batchTriggerNames = []string{"prepare", "replace", "confirm", "reverted", "mined by another"}

// BatchMachine is the law of batches. The source knows none: all of it is an
// extension.
var BatchMachine = statemachine.Must("withdrawal_batch", []statemachine.Edge[BatchStatus, BatchTrigger]{
	{From: 0, Trigger: batchPrepare, To: BatchConfirming, Extension: extBatched},
	{From: BatchConfirming, Trigger: batchReplace, To: BatchConfirming, Extension: extBatched},
	{From: BatchConfirming, Trigger: batchConfirm, To: BatchConfirmed, Extension: extBatched},
	{From: BatchConfirming, Trigger: batchRevert, To: BatchFailed, Extension: extBatched},
	{From: BatchConfirming, Trigger: batchDead, To: BatchFailed, Extension: extBatched},
})
