package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// overdueIn is how long what a stage has made may wait without an alert.
func overdueIn(a *withdrawal.Withdrawal) time.Duration {
	t := withdrawal.DefaultThresholds()
	switch s := a.Request.Status; {
	case s == withdrawal.RequestPending:
		return t.ApprovalWait
	case s == withdrawal.RequestApproved:
		return t.EnqueueWait
	case s == withdrawal.RequestFailed:
		return t.RefundWait
	case a.Job.Review:
		return t.ReviewWait
	case a.Job.Status == withdrawal.JobConfirming:
		return t.ConfirmWait
	}
	return t.QueueWait
}

// waiting are the alerts by the default limits.
func waiting(tx store.WithdrawalUnit, now time.Time) (names []string, err error) {
	stats, err := tx.Withdrawals().Stats(now, time.Hour, uuid.Nil)
	for _, a := range withdrawal.Alerts(stats, withdrawal.DefaultThresholds()) {
		if strings.HasSuffix(a.Name, " wait") {
			names = append(names, a.Name)
		}
	}
	return names, err
}

// again makes happen what may happen for ever: it is put off, given back, deferred,
// looked up without an answer.
func (w *withdrawals) again(t testing.TB, a *withdrawal.Withdrawal, now time.Time) {
	worker, checker := workerAt(now), by(withdrawal.ConfirmationWorker, now)
	system := by(withdrawal.System, now)
	fence := a.Job.Lease.Fence
	if a.Job.Status == withdrawal.JobPending {
		fence++
	}
	for _, ev := range []withdrawal.Event{withdrawal.PutOff{By: system}, withdrawal.Elapsed{By: system}, withdrawal.Claimed{By: worker},
		withdrawal.AttemptFailed{By: worker, Fence: fence, Failure: withdrawal.InsufficientBalance, Error: "no money"},
		withdrawal.Missing{By: checker, Tx: a.Job.TxHash, Error: "no answer"}, withdrawal.Looking{By: checker}} {
		if _, err := w.service.Do(ctx, a.Request.ID, ev); err != nil && !errors.As(err, new(*statemachine.Refusal)) {
			t.Fatal(err)
		}
	}
}

// unpaid makes what has ended unpaid: of which a refund is due, is put off, is a
// person's, or was made, and what was paid all the same.
func (w *withdrawals) unpaid(t testing.TB) (all []withdrawal.Withdrawal) {
	t.Helper()
	refund := withdrawal.Refunded{By: by(withdrawal.System, start), Reference: "refund"}
	settled := withdrawal.Acknowledged{By: operatorAt(start), Reason: "settled"}
	for i, chain := range []uuid.UUID{utxos, evm, utxos, evm} {
		at := start.Add(time.Duration(3-i) * tick)
		cancelled := func(more ...withdrawal.Event) {
			a := w.approved(t, chain, at)
			all = append(all, w.do(t, a.Request.ID, append([]withdrawal.Event{withdrawal.Cancelled{By: operatorAt(at)}}, more...)...))
		}
		cancelled()
		cancelled(withdrawal.PutOff{By: by(withdrawal.System, at)})
		cancelled(refund)
		told := func() withdrawal.Event { return paidBy(&all[0], fmt.Sprint("paid ", w.id()), start) }
		cancelled(refund, told())
		cancelled(refund, told(), settled)
		cancelled(refund, told(), settled, told())
		cancelled(told(), settled)
		failed := w.processing(t, chain, at)
		all = append(all, w.do(t, failed.Request.ID, withdrawal.AttemptFailed{By: workerAt(at), Fence: 1, Failure: withdrawal.Permanent,
			Error: "no such address"}))
		unsent := w.declaredNotSent(t, chain)
		all = append(all, w.do(t, unsent.Request.ID, withdrawal.Cancelled{By: operatorAt(start)}))
		other, named := w.confirming(t, chain, start), w.declaredNotSent(t, chain) // whose signer names what is another's
		all = append(all, other, w.do(t, named.Request.ID, withdrawal.Cancelled{By: operatorAt(start)},
			withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: other.Job.TxHash}))
	}
	return all
}
