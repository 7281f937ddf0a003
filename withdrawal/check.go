package withdrawal

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Check returns [statemachine.ErrCorrupt] with the first invariant that the record breaks. For a sound record it
// returns [ErrPaidTwice] or [ErrPaidAndRefunded] if people have something to settle and have not acknowledged it. Txs
// and Strays must be loaded. Attempt and Wallet are checked if they are loaded.
func Check(w Withdrawal) error {
	if w.Request.Status == 0 && w.Job.Status == 0 {
		return nil // does not exist yet
	}
	broken := checkRequest(&w)
	id := w.Request.ID
	if broken == "" && w.Job.Status != 0 {
		broken, id = checkJob(&w), w.Job.ID
		if broken == "" {
			broken = checkTxs(&w)
		}
	}
	if broken == "" {
		if r := &w.Request; r.Status == RequestCompleted && !r.Acknowledged {
			if beside := w.paidBeside(); beside != "" {
				return fmt.Errorf("%w: withdrawal %s: %s, beside %s", ErrPaidTwice, r.ID, beside, r.FinalTxHash)
			}
		} else if r.PaidAfter != "" && !r.Acknowledged {
			news := r.Told.list() // the latest of which nobody has acknowledged
			return fmt.Errorf("%w: withdrawal %s: %s, after the refund %s", ErrPaidAndRefunded, r.ID, news[len(news)-1].hash, r.RefundReference)
		}
		return nil
	}
	return fmt.Errorf("%w: withdrawal %s: %s", statemachine.ErrCorrupt, id, broken)
}

// paidBeside returns a transaction that was mined beside the one that the request
// is completed by, the latest that was told; empty if none is known.
func (w *Withdrawal) paidBeside() string {
	var known []string
	for _, news := range slices.Backward(w.Request.Told.list()) {
		if news.claim == ClaimMined {
			known = append(known, news.hash)
		}
	}
	known = append(known, w.Request.Mined, w.Request.Disproved) // a full list may have lost these, and strays
	for i := range w.Strays {
		if s := &w.Strays[i]; s.Claim == ClaimMined && s.SettledAt.IsZero() {
			known = append(known, s.Hash)
		}
	}
	for _, hash := range known {
		if hash != "" && !statemachine.SameHash(hash, w.Request.FinalTxHash) {
			return hash
		}
	}
	return ""
}

// first returns the text of the first rule that does not hold.
func first(rules ...rule) string {
	for _, r := range rules {
		if !r.holds {
			return r.text
		}
	}
	return ""
}

type rule struct {
	holds bool
	text  string
}

func checkRequest(w *Withdrawal) string {
	r, j := &w.Request, &w.Job
	raw, valid := r.AmountRaw, r.AmountRaw.Valid() && r.AmountRaw.Sign() > 0
	active := j.Status != 0 && j.Status != JobFailed
	refunded := r.RefundReference != ""
	return first(
		rule{r.Status.Valid() && r.Version >= 1, "a request has a status and a version"},
		rule{r.malformed() == "", "ids, address and memo of a request are within bounds"},
		rule{r.Decimals >= 0 && r.Decimals <= MaxDecimals, "decimals are 0 to 77"},
		rule{valid && raw.Human(r.Decimals).Equal(r.Amount), "amount_raw is positive and equals amount x 10^decimals"},
		rule{r.SecondApprover == "" || r.FirstApprover != "" && r.FirstApprover != r.SecondApprover, "approvers are distinct"},
		rule{r.FirstApprover == "" || r.FirstApprover != r.RequestedBy && r.SecondApprover != r.RequestedBy, "nobody approves their own request"},
		rule{(r.Status == RequestRejected || r.Status == RequestCancelled) == (r.ClosedBy != ""),
			"exactly a rejected or cancelled request names who closed it"},
		rule{(r.FinalTxHash != "") == (r.Status == RequestCompleted), "exactly a completed request has a final hash"},
		rule{active == (r.Status == RequestQueued || r.Status == RequestCompleted), "exactly a queued or completed request has an active job"},
		rule{(r.Status == RequestCompleted) == (j.Status == JobConfirmed), "a request is completed exactly when its job is confirmed"},
		rule{r.Status != RequestFailed || j.Status == JobFailed, "a failed request has a failed job"},
		rule{j.Status == 0 || !r.QueuedAt.IsZero(), "a request with a job has queued_at"},
		rule{r.Status != RequestCompleted || r.FinalTxHash == j.TxHash, "the final hash is the job's"},
		rule{r.Disproved == "" || r.Mined != "", "a wrong proof is an incident"},
		rule{(r.Disproved == "") == (r.DisprovedBy == ""), "exactly a wrong proof has somebody who said so"},
		rule{!r.Acknowledged || !r.Told.More(), "what is not remembered is not acknowledged"},
		rule{!r.Acknowledged || r.Mined != "" || r.Taken != "" || r.PaidAfter != "", "only an incident is acknowledged"},
		rule{refunded == !r.RefundedAt.IsZero() && refunded == (r.RefundedBy != ""), "exactly a refund has a reference, an actor and a time"},
		rule{!refunded || r.endedUnpaid(), "only what has ended unpaid is refunded"},
		rule{r.PaidAfter == "" || refunded, "only what is refunded is paid after the refund"},
		rule{(len(r.Told.words()) > 0) == (r.PaidAfter != "" || !refunded && (r.Mined != "" || r.Taken != "")),
			"exactly an incident is told, after a refund once more"},
		rule{len(r.Told.words()) <= MaxTold || len(r.Told.words()) == MaxTold+1 && r.Told.More(), "what was told is bounded"},
		rule{!slices.ContainsFunc(w.Strays, func(s Stray) bool { return s.Claim == ClaimSent && s.SettledAt.IsZero() && w.toldMined(s.Hash) }),
			"what was mined is not in doubt as sent"},
		rule{int(r.StraysOnFile) == len(w.Strays) && int(r.StraysSent) == w.straysSent(), "strays are counted, those that are not settled too"},
	)
}

func checkJob(w *Withdrawal) string {
	r, j := &w.Request, &w.Job
	pending, processing, confirming := j.Status == JobPending, j.Status == JobProcessing, j.Status == JobConfirming
	terminal := JobMachine.Terminal(j.Status)
	dispatched := !j.DispatchedAt.IsZero()
	executing := processing && !j.Review
	return first(
		rule{j.Status.Valid() && j.Version >= 1 && j.Priority.Valid(), "a job has a status, a version and a priority"},
		rule{j.Request == r.ID && j.Chain == r.Chain && j.ToAddress == r.ToAddress && j.AmountRaw == r.AmountRaw,
			"a job pays what its request says"},
		rule{j.Wallet != uuid.Nil && (w.Wallet.ID == uuid.Nil || w.Wallet.ID == j.Wallet), "a job has its wallet"},
		rule{j.MaxRetries >= 1 && j.RetryCount >= 0 && j.RetryCount <= j.MaxRetries, "0 <= retry_count <= max_retries, and max_retries >= 1"},
		rule{!pending || j.RetryCount < j.MaxRetries, "a pending job has an execution left"},
		rule{!processing && !confirming || j.RetryCount >= 1, "a started job has an execution counted"},
		rule{(executing || confirming) || j.Lease.Holder == "", "only an execution or a re-broadcast is leased"},
		rule{!executing || j.Lease.Holder != "" && j.Lease.Fence >= 1, "an execution is leased"},
		rule{(j.Lease.Holder == "") == j.Lease.Until.IsZero(), "exactly a lease that somebody holds has an end"},
		rule{!j.Slot.Valid || executing && j.Slot.UUID == j.Wallet, "only an execution holds the slot of its wallet"},
		rule{!j.Review || processing && dispatched || confirming, "a review is of what was dispatched or broadcast"},
		rule{!dispatched || processing && !j.Live(), "dispatched means that no hash is known"},
		rule{0 <= j.TxsDead && j.TxsDead <= j.TxsOnFile && int(j.TxsOnFile) == len(w.Txs), "0 <= txs dead <= txs on file"},
		rule{pending || j.OfferAt.IsZero(), "only a pending job is put off"},
		rule{!j.ScheduledFrom.After(j.ScheduledAt), "a job is scheduled at a time that is not before that of the step"},
		rule{!pending || !j.Live(), "nothing of a pending job can be mined"},
		rule{!confirming || j.Live() && !j.BroadcastAt.IsZero() && !j.NextCheckAt.IsZero(),
			"a confirming job has a transaction and a next check"},
		rule{confirming || j.NextCheckAt.IsZero() && !j.Rebroadcast, "only a confirming job is checked"},
		rule{terminal == !j.ProcessedAt.IsZero(), "exactly a terminal job has processed_at"},
		rule{j.Status != JobConfirmed || j.EvidenceHash != "" && j.TxHash != "", "a confirmed job has its transaction and block"},
		rule{j.Status != JobFailed || !j.Live() || j.EvidenceHash != "" && j.TxHash != "",
			"a failed job has evidence that nothing of it can be mined"},
		rule{j.Batch == uuid.Nil || confirming && j.Lease.Holder == "" && !j.Rebroadcast,
			"what is in a batch is confirming, and the batch is sent again"},
		rule{len(j.ErrorMessage) <= MaxText, "an error message is bounded"},
		rule{w.Attempt.Job != j.ID || w.Attempt.Fence <= j.Lease.Fence, "an attempt is of this or an earlier fence"},
		rule{w.Attempt.Job != j.ID || w.Attempt.Fence != j.Lease.Fence || w.Attempt.EndedAt.IsZero() == executing,
			"an attempt is open exactly during its execution"},
	)
}

// straysSent counts the strays that are sent and not settled.
func (w *Withdrawal) straysSent() (n int) {
	for i := range w.Strays {
		if s := &w.Strays[i]; s.Claim == ClaimSent && s.SettledAt.IsZero() {
			n++
		}
	}
	return n
}

// checkTxs: no two transactions of a request can both be mined.
func checkTxs(w *Withdrawal) string {
	live := w.Live()
	hash := len(live) == 0 && (w.Job.TxHash == "" || w.Job.Status == JobFailed && w.find(w.Job.TxHash) >= 0)
	seen := make(map[string]bool, len(w.Txs))
	for i := range w.Txs {
		tx := &w.Txs[i]
		form := statemachine.HashForm(tx.Hash)
		if tx.Seq != int32(i)+1 || tx.Request != w.Request.ID {
			return "transactions are numbered within the request, without gaps"
		}
		if seen[form] { // in no spelling twice
			return "a transaction is on file once"
		}
		seen[form] = true
	}
	for i := range live {
		tx := &live[i]
		hash = hash || tx.Hash == w.Job.TxHash
		if tx.Job != w.Job.ID || tx.Wallet != w.Job.Wallet {
			return "a live transaction is of the latest job and its wallet"
		}
		if i > 0 && !live[0].exclusive(tx.Wallet, tx.HasNonce, tx.Nonce, tx.Input) { // so are all of them then
			return "two transactions of this request could both be mined"
		}
	}
	if !hash {
		return "tx_hash is a live transaction"
	}
	return ""
}
