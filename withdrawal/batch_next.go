package withdrawal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// NextBatch says what a batch owes at now, as [Policy.Next] does for a request.
func (p Policy) NextBatch(b Payout, now time.Time) Step {
	h := &b.Batch
	if h.Status != BatchConfirming {
		return Step{}
	}
	step := Step{Due: h.NextCheckAt, Party: ConfirmationWorker}
	if !p.due(DueCheck, h.NextCheckAt, now) {
		return step
	}
	step.Due = now.Add(p.CheckEvery)
	look := Action{Do: DoLookUp, By: ConfirmationWorker, Batch: h.ID, Wallet: h.Wallet,
		Key: "look up/" + h.ID.String() + "/" + h.NextCheckAt.UTC().Format(time.RFC3339Nano)}
	for i := range b.Txs {
		look.Hashes = append(look.Hashes, b.Txs[i].Hash)
	}
	for i := range b.Members { // what else may pay one that is looked up here alone
		for _, tx := range b.Members[i].Live() {
			if b.Has(&b.Members[i]) && tx.Batch != h.ID && !slices.ContainsFunc(look.Hashes,
				func(hash string) bool { return statemachine.SameHash(hash, tx.Hash) }) {
				look.Hashes = append(look.Hashes, tx.Hash)
			}
		}
	}
	step.Actions = append(step.Actions, look)
	if h.Rebroadcast && len(b.Txs) > 0 && !h.Lease.Taken(now, p.Lease) && b.Level < switches.Send {
		tx := &b.Txs[len(b.Txs)-1]
		owed := Action{Do: DoRebroadcast, By: WithdrawalWorker, Batch: h.ID, Wallet: h.Wallet, Fence: h.Lease.Fence + 1,
			Key: "rebroadcast/" + tx.Hash, Hashes: []string{tx.Hash}, Raw: tx.Raw}
		if without := b.Unwanted(); len(without) > 0 {
			owed.Do, owed.Key, owed.Without, owed.Raw = DoReplace, "replace"+look.Key[len("look up"):], without, nil
		}
		step.Actions = append(step.Actions, owed)
	}
	return step
}

// BatchDue says what is due of batches.
// Values: DueBatchSend, DueBatchCheck.
type BatchDue = statemachine.Enum[batchDue]

const (
	// DueBatchSend: the newest version is owed a broadcast, or a replacement, from next_check_at on unless somebody has
	// the lease. Of the due batches of a wallet only the first by [LowerBatch] is offered.
	DueBatchSend BatchDue = iota + 1
	// DueBatchCheck: the versions are to be looked up, from next_check_at on. A
	// batch that is owed a broadcast is left to the withdrawal workers for a grace.
	DueBatchCheck
)

type batchDue struct{}

func (batchDue) Kind() string    { return "kind of due batches" }
func (batchDue) Names() []string { return batchDueNames }

var batchDueNames = []string{"send", "check"}

// BatchDueAt says from when on something of a kind is due for b, as [DueAt] does
// for a request.
func BatchDueAt(kind BatchDue, b *Batch, grace time.Duration) (at time.Time, ok bool) {
	at = b.NextCheckAt
	switch kind {
	case DueBatchSend:
		if b.Lease.Holder != "" && b.Lease.Until.After(at) {
			at = b.Lease.Until
		}
		return at, b.Status == BatchConfirming && b.Rebroadcast
	case DueBatchCheck:
		if b.Rebroadcast {
			at = at.Add(grace)
		}
		return at, b.Status == BatchConfirming
	}
	return at, false
}

// LongestOfBatch is [Policy.Longest] for batches.
func (p *Policy) LongestOfBatch(kind BatchDue) time.Duration {
	if kind == DueBatchSend {
		return p.Longest(DueRebroadcast)
	}
	return p.Longest(DueCheck)
}

// BatchDueIn is [DueIn] for batches.
func BatchDueIn(kind BatchDue, s switches.State) bool { return kind != DueBatchSend || s.Sends() }

// LowerBatch reports whether a comes before b in the same wallet, as [LowerNonce]
// does of jobs.
func LowerBatch(a, b *Batch) bool {
	return LowerNonce(&Job{ID: a.ID, Wallet: a.Wallet, Nonce: a.Nonce, HasNonce: a.HasNonce},
		&Job{ID: b.ID, Wallet: b.Wallet, Nonce: b.Nonce, HasNonce: b.HasNonce})
}

// CompareDueBatches is the order in which they are taken: by next_check_at and id.
func CompareDueBatches(a, b *Batch) int {
	return cmp.Or(a.NextCheckAt.Compare(b.NextCheckAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// CheckBatch returns [statemachine.ErrCorrupt] with the first invariant that the
// batch breaks, or what [Check] finds of a member.
func CheckBatch(b Payout) error {
	h := &b.Batch
	if h.Status == 0 {
		return nil
	}
	over := BatchMachine.Terminal(h.Status)
	broken := first(
		rule{h.Status.Valid() && h.Version >= 1, "a batch has a status and a version"},
		rule{h.Chain != uuid.Nil && h.Wallet != uuid.Nil && h.Owner != uuid.Nil, "a batch has a chain, a wallet, and a job that owns its nonce"},
		rule{h.HasNonce != (h.Input != ""), "its versions share a nonce, or an input"},
		rule{int(h.TxsOnFile) == len(b.Txs) && len(b.Txs) > 0, "its versions are counted"},
		rule{int(h.Members) == len(b.Members), "its members are those that its first version pays"},
		rule{over == h.NextCheckAt.IsZero() && (!over || !h.Rebroadcast), "exactly a confirming batch is checked"},
		rule{over == !h.EndedAt.IsZero() && over == (h.EvidenceHash != ""), "exactly the end has a time and a block"},
		rule{!over || h.Lease.Holder == "", "a batch that is over is not leased"},
		rule{(h.Lease.Holder == "") == h.Lease.Until.IsZero(), "exactly a lease that somebody holds has an end"},
		rule{over || len(b.Txs) > 0 && h.TxHash == b.Txs[len(b.Txs)-1].Hash, "its hash is that of the newest version"},
	)
	versions, outputs := make(map[string]bool, len(b.Txs)), map[paid]bool{}
	for i := range b.Txs {
		form := statemachine.HashForm(b.Txs[i].Hash)
		if broken == "" && (b.Txs[i].Seq != int32(i)+1 || versions[form] || len(b.Txs[i].Raw) == 0) {
			broken = "versions are numbered without gaps, on file once, and have their bytes"
		}
		versions[form] = true
	}
	for i := range b.Members {
		if broken == "" {
			broken = b.checkMember(&b.Members[i], versions, outputs)
		}
	}
	if broken != "" {
		return fmt.Errorf("%w: withdrawal batch %s: %s", statemachine.ErrCorrupt, h.ID, broken)
	}
	var settle error // what people have to settle, of the first
	for i := range b.Members {
		if err := Check(b.Members[i]); errors.Is(err, statemachine.ErrCorrupt) {
			return err
		} else if settle == nil {
			settle = err
		}
	}
	return settle
}

// paid is an output of a version.
type paid struct {
	version string // by [statemachine.HashForm]
	output  uint32
}

// checkMember: what is live of a member that the batch has is exclusive with
// every version, and no output pays two. outputs are those that pay the members before it.
func (b *Payout) checkMember(w *Withdrawal, versions map[string]bool, outputs map[paid]bool) string {
	h := &b.Batch
	of, filed, once, exclusive := false, true, true, true
	for i := range w.Txs {
		tx := &w.Txs[i]
		if tx.Batch == h.ID {
			key := paid{statemachine.HashForm(tx.Hash), tx.Output}
			of, filed, once = true, filed && versions[key.version], once && !outputs[key]
			outputs[key] = true
		}
		exclusive = exclusive && (i < int(w.Job.TxsDead) || !b.Has(w) || tx.exclusive(h.Wallet, h.HasNonce, h.Nonce, h.Input))
	}
	return first(
		rule{of, "a member has a version on file"},
		rule{filed, "what a member has of the batch on file is a version"},
		rule{!b.Has(w) || h.Status == BatchConfirming, "a batch that is over has nobody"},
		rule{!b.Has(w) || w.Job.Chain == h.Chain && w.Job.Wallet == h.Wallet, "a member is paid from the batch's wallet"},
		rule{exclusive, "what is live of a member is exclusive with the batch"},
		rule{once, "an output pays one member"},
	)
}
