package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func withdrawalTrails[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	a := w.processing(t, evm, start)
	p := prepared(&a, start)
	a = w.do(t, a.Request.ID, p, withdrawal.Rebumped{By: workerAt(start), Fence: 1, Hash: "bump", Raw: []byte{1}, Nonce: p.Nonce, HasNonce: true})
	a = w.do(t, a.Request.ID, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: "bump"})
	w.do(t, a.Request.ID, withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, start)}) // no version
	r := receipt(&a, start, 3)
	r.Tx = p.Hash
	a = w.do(t, a.Request.ID, r)
	for id, version := range map[uuid.UUID]int64{a.Request.ID: a.Request.Version, a.Job.ID: a.Job.Version} {
		trail, err := w.service.Trail(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(trail)) != version {
			t.Fatalf("%d lines for %d versions", len(trail), version)
		}
	}
	trail, err := w.service.Trail(ctx, a.Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := statemachine.Transition[uuid.UUID]{Machine: withdrawal.JobMachine.Name(), ID: a.Job.ID, Version: 3, From: "processing", Trigger: "prepare",
		To: "processing", At: start.Truncate(time.Microsecond), Actor: worker1, Role: "withdrawal-worker"}
	same(t, "a line in which the status stays", trail[2], want)
	bad := statemachine.Transition[uuid.UUID]{Machine: withdrawal.JobMachine.Name(), ID: a.Job.ID, Version: a.Job.Version + 2, From: "confirmed", Trigger: "claim", To: "processing", At: start}
	gap := w.change(t, w.pending(t, evm, start), withdrawal.Claimed{By: workerAt(start)})
	gap.Log[0] = bad
	refusedWith(t, w.save(gap), statemachine.ErrInvalid, "a line of history with a gap before it")
	silent := w.change(t, w.pending(t, evm, start), withdrawal.Claimed{By: workerAt(start)})
	silent.Log = nil
	refusedWith(t, w.save(silent), statemachine.ErrInvalid, "a version without a line of history")
	again := w.change(t, w.pending(t, evm, start), withdrawal.Claimed{By: workerAt(start)})
	again.Log[0] = want
	refusedWith(t, w.save(again), statemachine.ErrInvalid, "a second line for one version")
}
