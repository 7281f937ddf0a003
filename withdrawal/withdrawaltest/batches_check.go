package withdrawaltest

import (
	"errors"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// check counts the money on the chain, and holds the records against it.
func (w *batchWorld) check() {
	used := 0 // nonces that no reorg gives back
	for _, tx := range w.blocks[:min(w.deepest, len(w.blocks))] {
		if tx != nil {
			used++
		}
	}
	for i := range w.requests {
		r := w.get(i)
		paid, final, nonces := 0, "", map[int]bool{}
		for h, tx := range w.blocks {
			if tx == nil {
				continue
			}
			if _, pays := tx.pays[i]; pays {
				paid++
				nonces[tx.nonce] = true
				if h < w.deepest {
					final = tx.hash
				}
			}
		}
		for _, tx := range w.txs { // that may be mined yet
			if _, pays := tx.pays[i]; pays && tx.nonce >= used {
				nonces[tx.nonce] = true
			}
		}
		pending := r.Job.Status == withdrawal.JobPending || r.Job.Status == withdrawal.JobProcessing && !r.Job.Live()
		switch s := r.Request.Status; {
		case paid > 1 || len(nonces) > 1:
			w.Fatalf("request %d is paid %d times, and may be by transactions of %d nonces", i, paid, len(nonces))
		case s == withdrawal.RequestCompleted && (final == "" || final != r.Request.FinalTxHash):
			w.Fatalf("request %d is completed by %q, the chain shows %q", i, r.Request.FinalTxHash, final)
		case (s == withdrawal.RequestFailed || s == withdrawal.RequestCancelled || s == withdrawal.RequestQueued && pending) && len(nonces) > 0:
			w.Fatalf("request %d is %v, its job %v, and is paid or may be", i, s, r.Job.Status)
		}
		if err := withdrawal.Check(r); err != nil {
			w.Fatal(err)
		}
	}
	for _, id := range w.batches {
		b := w.payout(id)
		if err := withdrawal.CheckBatch(b); err != nil {
			w.Fatal(err)
		}
		for i := range b.Members {
			if m := &b.Members[i]; m.Job.Batch != uuid.Nil && m.Job.Batch == id && m.Job.Status != withdrawal.JobConfirming {
				w.Fatal(errors.New("a batch has a member that does not confirm"))
			}
		}
	}
}
