package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// namesAnothers: the late answer of a dispatch that was declared not sent names a
// filler, or the transaction of another request. Nobody can tell what was sent, so
// nothing is paid before an operator has looked.
func (w *withdrawals) namesAnothers(t *testing.T) {
	dated(w.Store, start)
	hot := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: utxos2})
	filler := withdrawal.Filler{Wallet: hot, Chain: utxos2, Nonce: 1, Hash: "0xF1", Actor: "olga", Reason: "a test transfer"}
	noError(t, w.service.PutFiller(ctx, filler))
	dated(w.Store, time.Time{})
	theirs := w.confirming(t, utxos2, start)
	for _, hash := range []string{"0xF1", "f1", theirs.Job.TxHash} {
		a := w.processing(t, utxos2, start)
		at := a.Job.ScheduledAt
		a = w.do(t, a.Request.ID, withdrawal.Dispatched{By: workerAt(at), Fence: 1, Reference: "ref"},
			withdrawal.AttemptFailed{By: workerAt(at), Fence: 1, Failure: withdrawal.Unclear, Error: "x"})
		a = w.do(t, a.Request.ID, notSent(&a, at))
		answer := withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: hash}
		for range 2 {
			if a = w.do(t, a.Request.ID, answer); !a.Request.Held || a.Job.Status != withdrawal.JobPending || len(a.Txs) > 0 {
				t.Fatalf("%s: %+v, %+v", hash, a.Request, a.Job)
			}
		}
		version := a.Request.Version
		if a = w.do(t, a.Request.ID, answer); a.Request.Version != version {
			t.Errorf("%s: the same answer is another version", hash)
		}
		refusedWith(t, errOf(w.service.Do(ctx, a.Request.ID, withdrawal.Claimed{By: workerAt(a.Job.ScheduledAt.Add(time.Hour))})), withdrawal.ErrOnHold, "a claim after the signer named "+hash)
		// The dispatch that is under way is parked.
		b := w.processing(t, utxos2, start)
		b = w.do(t, b.Request.ID, withdrawal.Dispatched{By: workerAt(at), Fence: 1, Reference: "ref2"}, answer)
		if !b.Job.Review || b.Job.Status != withdrawal.JobProcessing {
			t.Errorf("%s: %+v", hash, b.Job)
		}
		sent := notSent(&b, at)
		sent.Sent, sent.Hash = true, hash
		owner := theirs.Request.ID
		if hash != theirs.Job.TxHash {
			owner = uuid.Nil
		}
		taken(t, errOf(w.service.Do(ctx, b.Request.ID, sent)), withdrawal.ErrPaymentTaken, owner)
	}
}

// outputThenWhole: a request has a transaction by an output, and its signer names
// it whole; its other outputs are others' all the same.
func (w *withdrawals) outputThenWhole(t *testing.T) {
	a := w.processing(t, utxos, start)
	a = w.do(t, a.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref"},
		withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "x"})
	a = w.do(t, a.Request.ID, notSent(&a, start))
	at := a.Job.ScheduledAt
	a = w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(at)})
	p := prepared(&a, at)
	w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: p.Fence, Hash: p.Hash})
	out := paidBy(&a, "many", at)
	w.do(t, a.Request.ID, out)
	if a = w.do(t, a.Request.ID, withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: "many"}); len(a.Strays) != 2 {
		t.Fatalf("strays are %+v", a.Strays)
	}
	b, c := w.pending(t, utxos, start), w.pending(t, utxos, start)
	out = paidBy(&b, "many", start)
	out.Output = 1
	if b = w.do(t, b.Request.ID, out); b.Request.FinalTxHash != "many" {
		t.Errorf("%+v", b.Request)
	}
	taken(t, errOf(w.service.Do(ctx, c.Request.ID, paidBy(&c, "many", start))), withdrawal.ErrPaymentTaken, a.Request.ID)
	c = w.do(t, c.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	whole := prepared(&c, start)
	whole.Hash = "many"
	if _, err := w.service.Do(ctx, c.Request.ID, whole); !errors.Is(err, withdrawal.ErrPaymentTaken) {
		t.Errorf("what pays others as one payment: %v", err)
	}
}

// oneOfMany: what one transaction pays to many is told of each by its output, by an
// operator who resolves and by an import alike. One that has it whole keeps the others
// out, and the other way round.
func (w *withdrawals) oneOfMany(t *testing.T) {
	resolved := func(hash string, byOutput bool, output uint32) (uuid.UUID, error) {
		a := w.processing(t, utxos, start)
		a = w.do(t, a.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref"},
			withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "x"})
		found := notSent(&a, start)
		found.Sent, found.Hash, found.ByOutput, found.Output = true, hash, byOutput, output
		_, err := w.service.Do(ctx, a.Request.ID, found)
		return a.Request.ID, err
	}
	imported := func(hash string, byOutput bool, output uint32) (uuid.UUID, error) {
		e := withdrawal.Imported{By: by(withdrawal.System, start), Request: w.id(), User: aUser, Asset: anAsset, Chain: utxos, ToAddress: "to", Amount: "1", CreatedAt: start,
			Job: w.id(), AssetOnChain: tokenOnChain, Hash: hash, ByOutput: byOutput, Output: output}
		_, err := w.service.Do(ctx, e.Request, e)
		return e.Request, err
	}
	type way func(hash string, byOutput bool, output uint32) (uuid.UUID, error)
	for name, pair := range map[string][2]way{"resolved": {resolved, resolved}, "imported": {imported, imported},
		"resolved, then imported": {resolved, imported}, "imported, then resolved": {imported, resolved}} {
		many, whole := "many "+name, "0xAB"+w.id().String()[24:]
		first, err := pair[0](many, true, 3)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		second, err := pair[1](many, true, 4)
		if err != nil {
			t.Fatalf("%s: another output: %v", name, err)
		}
		for id, output := range map[uuid.UUID]uint32{first: 3, second: 4} {
			if a, err := w.service.Get(ctx, id); err != nil || len(a.Txs) != 1 || !a.Txs[0].ByOutput || a.Txs[0].Output != output || a.Job.Status != withdrawal.JobConfirming {
				t.Errorf("%s: %+v, %v", name, a.Txs, err)
			}
		}
		taken(t, errOf(pair[1](many, true, 3)), withdrawal.ErrPaymentTaken, first)
		if _, err = pair[1](many, false, 0); !errors.Is(err, withdrawal.ErrPaymentTaken) {
			t.Errorf("%s: whole, beside outputs: %v", name, err)
		}
		if first, err = pair[0](whole, false, 0); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		taken(t, errOf(pair[1](whole[2:], true, 4)), withdrawal.ErrPaymentTaken, first)
		taken(t, errOf(pair[1](whole, false, 0)), withdrawal.ErrPaymentTaken, first)
	}
}
