package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// decided is a transaction that has read a withdrawal and decided a step, and has
// written nothing yet.
type decided struct {
	tx    *sql.Tx
	store store.Unit
	save  func() error
}

// begin is a transaction that has decided nothing yet.
func (b *bank) begin(t *testing.T, ctx context.Context) *decided {
	t.Helper()
	tx, err := b.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	d := &decided{tx: tx}
	if d.store, err = b.Store.Within(ctx, tx); err != nil {
		t.Fatal(err)
	}
	return d
}

func (b *bank) decide(t *testing.T, ctx context.Context, request uuid.UUID, ev withdrawal.Event) *decided {
	t.Helper()
	d := b.begin(t, ctx)
	ws, err := d.store.Withdrawals().Get(request)
	if err != nil {
		t.Fatal(err)
	}
	if hash, byOutput, output, ok := ws[0].Names(ev); ok {
		if ws[0].Owner, err = d.store.Withdrawals().PaidRequest(request, ws[0].Request.Chain, hash, byOutput, output); err != nil {
			t.Fatal(err)
		}
	}
	change, err := b.policy.ApplyAt(ws[0], ev, clockOf(ev))
	if err != nil {
		t.Fatal(err)
	}
	d.save = func() error { return d.store.Withdrawals().Save(change) }
	return d
}

// clockOf is a clock that has come to an event that waits.
func clockOf(ev withdrawal.Event) time.Time {
	now := time.Now()
	switch e := ev.(type) {
	case withdrawal.Claimed:
		return later(now, e.At)
	case withdrawal.Elapsed:
		return later(now, e.At)
	}
	return now
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sendWaiting sends what the second transaction does next, which must wait for the
// first. The answer comes after the first has ended.
func sendWaiting(t *testing.T, first, second *sql.Tx, send func() error) (answer func() error) {
	t.Helper()
	var pid int
	if err := second.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- send() }()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		select {
		case err := <-answered:
			t.Fatalf("it does not wait: %v", err)
		default:
		}
		if err := first.QueryRow("SELECT pg_backend_pid() = ANY (pg_blocking_pids($1))", pid).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	return func() error { return <-answered }
}

// exclude saves two decisions, the second one after the first has committed or,
// if it waits, before: it is refused.
func exclude(t *testing.T, first, second *decided, waits bool) {
	t.Helper()
	if err := first.save(); err != nil {
		t.Fatal(err)
	}
	answer := second.save
	if waits { // for the rows of the first, which has not committed
		answer = sendWaiting(t, first.tx, second.tx, second.save)
	}
	if err := first.tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := answer(); !errors.Is(err, statemachine.ErrConflict) {
		t.Fatalf("the second one got %v", err)
	}
}

// Each fact that forbids a step, and the step, by two transactions at READ
// COMMITTED that read before either commits, in both orders: the second one is
// refused, whether it writes after the first has committed or waits for it.
func TestFactAndStepExcludeEachOtherOnPostgres(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	chain := named("no nonces")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	op, worker := as(withdrawal.Operator), as(withdrawal.WithdrawalWorker)
	n := 0
	hash := func() string { n++; return fmt.Sprint("outside ", n) }
	paid := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.PaidBy{By: op, Tx: hash(), Payee: w.Request.ToAddress, AssetOnChain: named("usdt on bsc"), AmountRaw: w.Request.AmountRaw,
			Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 9}, Reason: "seen"}
	}
	gone := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.ProvenDead{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash, Cause: withdrawal.InputSpent, Other: "other", Input: w.Live()[0].Input,
			NotThisPayment: true, Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 9}}
	}
	requeue := func(w *withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Requeued{By: op, Job: w.Job.ID, NotRefunded: true}
	}
	enqueue := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Enqueued{By: as(withdrawal.System), Job: b.id(), AssetOnChain: named("usdt on bsc"), Priority: withdrawal.Normal,
			Wallets: []withdrawal.HotWallet{{ID: named("payer"), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}}
	}
	dead := func(w *withdrawal.Withdrawal) withdrawal.Event { // what was declared dead is mined
		return withdrawal.Receipt{By: as(withdrawal.ConfirmationWorker), Tx: w.Txs[0].Hash, GasUsed: "1", GasPrice: "1", Block: withdrawal.Block{Height: 2, Hash: "c", Canonical: "c", Head: 9}}
	}
	claim := func(w *withdrawal.Withdrawal) withdrawal.Event {
		c := withdrawal.Claimed{By: worker}
		c.At = w.Job.ScheduledAt.Add(time.Second)
		return c
	}
	prepare := func(w *withdrawal.Withdrawal) withdrawal.Event {
		p := prepared(w)
		p.Hash = hash()
		return p
	}
	hold := func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Held{By: op} }
	cancel := func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Cancelled{By: op} }
	late := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Broadcast{By: worker, Fence: 1, Hash: hash()}
	}
	// A failed job whose transaction was declared dead at the last execution.
	failed := func() withdrawal.Withdrawal {
		s := b.submission(chain)
		e := enqueue(nil).(withdrawal.Enqueued)
		e.MaxRetries = 1
		w := b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)}, e, withdrawal.Claimed{By: worker})
		w = b.do(t, s.Request, prepared(&w), broadcast(&w))
		return b.do(t, s.Request, gone(&w))
	}
	requeued := func() withdrawal.Withdrawal { w := failed(); return b.do(t, w.Request.ID, requeue(&w)) }
	again := func() withdrawal.Withdrawal { w := requeued(); return b.do(t, w.Request.ID, enqueue(&w)) }
	pending := func() withdrawal.Withdrawal { return b.pending(t, chain) }
	executing := func() withdrawal.Withdrawal { return b.claimed(t, chain) }
	confirming := func() withdrawal.Withdrawal { return b.confirming(t, chain) }
	unclear := func() withdrawal.Withdrawal {
		w := b.claimed(t, chain)
		return b.do(t, w.Request.ID, withdrawal.Dispatched{By: worker, Fence: 1, Reference: "ref"}, withdrawal.AttemptFailed{By: worker, Fence: 1, Failure: withdrawal.Unclear, Error: "?"})
	}
	notSent := func(w *withdrawal.Withdrawal) withdrawal.Event {
		r := withdrawal.Resolved{By: op, Job: w.Job.ID, Reason: "no such reference"}
		r.Version = w.Job.Version
		return r
	}
	unsent := func() withdrawal.Withdrawal { w := unclear(); return b.do(t, w.Request.ID, notSent(&w)) }
	heldUnsent := func() withdrawal.Withdrawal { w := unsent(); return b.do(t, w.Request.ID, hold(nil)) }
	another := confirming().Job.TxHash
	theirs := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Broadcast{By: worker, Fence: 1, Hash: another}
	}
	release := func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Released{By: op} }
	refund := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Refunded{By: as(withdrawal.System), Reference: "refund"}
	}
	unsentFailed := func() withdrawal.Withdrawal { w := unsent(); return b.do(t, w.Request.ID, cancel(nil)) }
	refundOfUnsent := func(*withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Refunded{By: op, Reference: "refund", Reason: "the signer's history has nothing"}
	}
	for _, tt := range []struct {
		name       string
		from       func() withdrawal.Withdrawal
		fact, step func(*withdrawal.Withdrawal) withdrawal.Event
	}{
		{"mined and requeue", failed, dead, requeue},
		{"mined and enqueue", requeued, dead, enqueue},
		{"mined and claim", again, dead, claim},
		{"paid by another and enqueue", requeued, paid, enqueue},
		{"paid by another and claim", pending, paid, claim},
		{"paid by another and prepare", executing, paid, prepare},
		{"paid by another and proven dead", confirming, paid, gone},
		{"hold and enqueue", requeued, hold, enqueue},
		{"hold and claim", pending, hold, claim},
		{"hold and prepare", executing, hold, prepare},
		{"cancel and claim", pending, cancel, claim},
		{"cancel and prepare", executing, cancel, prepare},
		{"a late answer and claim", unsent, late, claim},
		{"an answer and not sent", unclear, late, notSent},
		{"another's and not sent", unclear, theirs, notSent},
		{"another's and release", heldUnsent, theirs, release},
		{"refund and requeue", failed, refund, requeue},
		{"mined and refund", failed, dead, refund},
		{"paid by another and refund", failed, paid, refund},
		{"a late answer and refund", unsentFailed, late, refundOfUnsent},
		{"another's and refund", unsentFailed, theirs, refundOfUnsent},
	} {
		for _, factFirst := range []bool{true, false} {
			for _, waits := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/fact first %v/waits %v", tt.name, factFirst, waits), func(t *testing.T) {
					ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
					defer stop()
					w := tt.from()
					first, second := b.decide(t, ctx, w.Request.ID, tt.fact(&w)), b.decide(t, ctx, w.Request.ID, tt.step(&w))
					if !factFirst {
						first, second = second, first
					}
					exclude(t, first, second, waits)
				})
			}
		}
	}
}

// A requeued request counts against the windows again. A submission of the same
// user that reads them waits for it, and it for the submission: by two
// transactions on PostgreSQL, in both orders.
func TestRequeueAndSubmissionOfOneUserExcludeEachOtherOnPostgres(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	chain := named("no nonces")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	p := b.policy
	p.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{named("usdt"): {
		Automatic: decimal.NewFromInt(100), Windows: []withdrawal.Window{{Length: time.Hour, Max: decimal.NewFromInt(150)}}}}}
	limited, err := store.NewWithdrawals(b.Store, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, requeueFirst := range []bool{true, false} {
		failed := b.failed(t, chain)
		requeue := func(s *store.Withdrawals) (withdrawal.Withdrawal, error) {
			return s.Do(ctx, failed.Request.ID, withdrawal.Requeued{By: as(withdrawal.Operator), Job: failed.Job.ID, Reason: "again",
				NotRefunded: true})
		}
		submission := b.submission(chain)
		submission.User = failed.Request.User
		submit := func(s *store.Withdrawals) (withdrawal.Withdrawal, error) { return s.Submit(ctx, submission) }
		first, second := requeue, submit
		if !requeueFirst {
			first, second = submit, requeue
		}
		tx, err := b.DB.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		within, err := b.Store.Within(ctx, tx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := first(limited.Within(within)); err != nil {
			t.Fatal(err)
		}
		if _, err := within.Withdrawals().Get(failed.Request.ID); err != nil { // written by now
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := second(limited); done <- err }()
		select {
		case err := <-done:
			t.Fatalf("requeue first %v: the second does not wait: %v", requeueFirst, err)
		case <-time.After(50 * time.Millisecond):
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w, err := b.Get(ctx, submission.Request)
		if want := map[bool]int32{true: 1, false: 0}[requeueFirst]; err != nil || w.Request.ApprovalsNeeded != want {
			t.Errorf("requeue first %v: %d approvals are needed, %v", requeueFirst, w.Request.ApprovalsNeeded, err)
		}
	}
}

// A claim that commits between the read and the write of another step gives a fence
// and no version: the step reads the record again, as after a new version.
func TestALeaseThatIsGivenMeanwhileIsReadAgain(t *testing.T) {
	ctx := context.Background()
	chain := named("no nonces")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	w := b.claimed(t, chain)
	w = b.do(t, w.Request.ID, prepared(&w))
	w = b.do(t, w.Request.ID, broadcast(&w))
	runs := 0
	err := b.Store.Update(ctx, func(tx store.Unit) error {
		runs++
		read, err := tx.Withdrawals().Get(w.Request.ID)
		if err != nil {
			return err
		}
		if runs == 1 {
			again := withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)}
			again.At = w.Job.NextCheckAt
			b.do(t, w.Request.ID, again)
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		c, err := b.policy.ApplyAt(read[0], mined(&read[0]), now)
		if err != nil {
			return err
		}
		return tx.Withdrawals().Save(c)
	})
	if err != nil || runs != 2 {
		t.Fatalf("%d runs, %v", runs, err)
	}
	if now, err := b.Get(ctx, w.Request.ID); err != nil || now.Job.Status != withdrawal.JobConfirmed {
		t.Errorf("it is %v, %v", now.Job.Status, err)
	}
}

// A claimer does not wait for a job that another one has locked: it takes the next.
func TestAClaimWaitsForNoOther(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	chain := named("no nonces")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	first, second := b.pending(t, chain), b.pending(t, chain)
	tx, err := b.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	within, err := b.Store.Within(ctx, tx)
	if err != nil {
		t.Fatal(err)
	}
	now, err := within.Now()
	if err != nil {
		t.Fatal(err)
	}
	locked, err := within.Withdrawals().Due(store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: chain, Now: now, Limit: 1})
	if err != nil || len(locked) != 1 {
		t.Fatalf("%d jobs, %v", len(locked), err)
	}
	source := b.Payments(chain, "other")
	other := first
	if locked[0].Request.ID == first.Request.ID {
		other = second
	}
	items, _, err := source.Turn(ctx, nil, 2)
	if err != nil || len(items) != 1 || items[0].Work.Request.ID != other.Request.ID {
		t.Errorf("%d items, %v", len(items), err)
	}
}
