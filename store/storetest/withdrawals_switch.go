package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// switches returns the switch of the store.
func (w *withdrawals) switches(t testing.TB) *store.Switches {
	t.Helper()
	return must(store.NewSwitches(w.Store))(t)
}

func (w *withdrawals) stop(t testing.TB, scope switches.Scope, level switches.Level) {
	t.Helper()
	_, err := w.switches(t).Do(ctx, scope, stopEvent(scope, level))
	noError(t, err)
}

func (w *withdrawals) start(t testing.TB, scope switches.Scope) {
	t.Helper()
	_, err := w.switches(t).Do(ctx, scope, startEvent(scope, 0))
	noError(t, err)
}

// stopped: at level begin nothing begins, and what has begun goes on.
func (w *withdrawals) stopped(t *testing.T) {
	live(w.Store)
	var now time.Time
	for _, scope := range []switches.Scope{switches.Chain(utxos), switches.Everything} {
		for _, level := range []switches.Level{switches.Begin, switches.Send} {
			request, job := w.approved(t, utxos, now), w.pending(t, utxos, now)
			a, b, c, out, m := w.processing(t, utxos, now), w.processing(t, utxos, now), w.processing(t, utxos, now),
				w.processing(t, utxos, now), w.processing(t, utxos, now)
			out = w.do(t, out.Request.ID, prepared(&out, now))
			elsewhere := w.processing(t, evm, now)
			w.stop(t, scope, level)
			for name, ev := range map[string]withdrawal.Event{"a preparation": prepared(&a, now),
				"a dispatch": withdrawal.Dispatched{By: workerAt(now), Fence: 1, Reference: "r"}} {
				refusedWith(t, errOf(w.service.Do(ctx, a.Request.ID, ev)), withdrawal.ErrOnHold, name)
				_, err := w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: a, Events: []withdrawal.Event{ev}})
				refusedWith(t, err, withdrawal.ErrOnHold, name+" of who holds it")
			}
			for name, x := range map[string]struct {
				of withdrawal.Withdrawal
				ev withdrawal.Event
			}{
				"a failure":    {a, withdrawal.AttemptFailed{By: workerAt(now), Fence: 1, Failure: withdrawal.Retryable, Error: "x"}},
				"a revocation": {b, withdrawal.Revoked{By: operatorAt(now), Revocation: statemachine.Revocation{Holder: worker1, Reason: "dead"}}},
			} {
				if got := w.do(t, x.of.Request.ID, x.ev); got.Job.Status != withdrawal.JobPending || got.Job.RetryCount != 0 {
					t.Errorf("%s costs an attempt: %v, %d", name, got.Job.Status, got.Job.RetryCount)
				}
			}
			w.do(t, c.Request.ID, withdrawal.GivenBack{By: workerAt(now), Fence: 1})
			w.do(t, out.Request.ID, withdrawal.Broadcast{By: workerAt(now), Fence: 1, Hash: out.Job.TxHash}) // what happened is told
			if enqueued, wait, err := w.service.EnqueueDue(ctx, utxos, 10, func(withdrawal.Request) withdrawal.Enqueued {
				return w.enqueued(now,
					withdrawal.Normal)
			}); len(enqueued) > 0 || wait <= 0 || err != nil {
				t.Errorf("%d are enqueued, wait %v, %v", len(enqueued), wait, err)
			}
			if items, _, err := w.service.Payments(utxos, "payer").Turn(ctx, nil, 10); len(items) > 0 || err != nil {
				t.Errorf("%d are claimed, %v", len(items), err)
			}
			for _, id := range []uuid.UUID{request.Request.ID, job.Request.ID} {
				if step, _, err := w.service.Next(ctx, id); err != nil || len(step.Actions) > 0 || step.Party != withdrawal.Operator {
					t.Errorf("it owes %+v, %v", step, err)
				}
			}
			if _, err := w.service.Do(ctx, elsewhere.Request.ID, prepared(&elsewhere, now)); (err == nil) != (scope != switches.Everything) {
				t.Errorf("another chain beside %s: %v", scope, err)
			}
			w.start(t, scope)
			w.do(t, elsewhere.Request.ID, withdrawal.Revoked{By: operatorAt(now),
				Revocation: statemachine.Revocation{Holder: worker1, Reason: "dead"}})
			enqueued, _, err := w.service.EnqueueDue(ctx, utxos, 10, func(withdrawal.Request) withdrawal.Enqueued {
				return w.enqueued(now,
					withdrawal.Normal)
			})
			items, _, err2 := w.service.Payments(utxos, "payer").Turn(ctx, nil, 10)
			if len(enqueued) != 1 || err != nil || len(items) < 4 || err2 != nil { // job, a, b, c
				t.Errorf("after the start %d are enqueued and %d claimed, %v, %v", len(enqueued), len(items), err, err2)
			}
			w.do(t, m.Request.ID, prepared(&m, now))
			noError(t, errOf(w.service.Revoke(ctx, operatorAt(now), statemachine.Revocation{Holder: "payer", Reason: "dead"})))
			for _, of := range append(enqueued, request, job, a, b, c) { // none is left for the next round
				w.do(t, of.Request.ID, withdrawal.Cancelled{By: operatorAt(now), Reason: "x"})
			}
		}
	}
}

// unsent: at level send nothing is handed out to be sent, replacements neither, and what
// is out is looked up.
func (w *withdrawals) unsent(t *testing.T) {
	chain := w.payingChain(t)
	out := w.confirming(t, chain, start)
	out = w.do(t, out.Request.ID, withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start), Tx: out.Job.TxHash},
		withdrawal.Claimed{By: workerAt(start)})
	bump := withdrawal.Rebumped{By: workerAt(start), Fence: out.Job.Lease.Fence, Hash: "bump", Raw: []byte{1},
		Nonce: out.Job.Nonce, HasNonce: true}
	w.handedOut(t, chain, func(now time.Time) (int, error) {
		return len(w.due(t, store.DueWithdrawals{Kind: withdrawal.DueRebroadcast, Chain: chain, Now: now, Limit: 10})), nil
	}, func() (withdrawal.Step, time.Time, error) { return w.service.Next(ctx, out.Request.ID) },
		func() error { return errOf(w.service.Do(ctx, out.Request.ID, bump)) })
}

// handedOut requires that something out on a chain, which is owed a broadcast and a replacement, is due
// and named by the next step at level begin, and neither at level send, where it is looked up alone.
func (w *withdrawals) handedOut(t *testing.T, chain uuid.UUID, due func(time.Time) (int, error),
	next func() (withdrawal.Step, time.Time, error), replace func() error) {
	t.Helper()
	later := start.Add(time.Hour)
	handed := func() int {
		t.Helper()
		n := must(due(later))(t)
		dated(w.Store, later)
		defer dated(w.Store, time.Time{})
		step, now, err := next()
		if err != nil || !now.Equal(later) {
			t.Fatal(now, err)
		}
		looked := false
		for _, a := range step.Actions {
			looked = looked || a.Do == withdrawal.DoLookUp
			if a.Do == withdrawal.DoRebroadcast || a.Do == withdrawal.DoReplace {
				n++
			}
		}
		if !looked {
			t.Errorf("it is not looked up: %+v", step)
		}
		return n
	}
	for _, scope := range []switches.Scope{switches.Chain(chain), switches.Everything} {
		w.stop(t, scope, switches.Begin)
		if n := handed(); n != 2 {
			t.Errorf("at begin %d are handed out, expected 2", n)
		}
		w.stop(t, scope, switches.Send)
		if n := handed(); n != 0 {
			t.Errorf("at send %d are handed out", n)
		}
		refusedWith(t, replace(), withdrawal.ErrOnHold, "a replacement")
		w.start(t, scope)
	}
	w.stop(t, switches.Everything, switches.Begin)
	noError(t, replace())
}

// offered: what is due, and what is due next, of each kind at each level is what the
// domain says of each record and of the switch.
func (w *withdrawals) offered(t *testing.T) {
	var all []withdrawal.Withdrawal
	for _, chain := range []uuid.UUID{utxos, utxos2} {
		w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: utxos2})
		out, review := w.confirming(t, chain, start), w.processing(t, chain, start)
		out = w.do(t, out.Request.ID, withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start), Tx: out.Job.TxHash})
		failed := w.processing(t, chain, start)
		failed = w.do(t, failed.Request.ID, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "x"})
		all = append(all, w.approved(t, chain, start), w.pending(t, chain, start), out, review, failed)
	}
	at := start.Add(24 * time.Hour)
	for i, ev := range []switches.Event{
		nil, stopEvent(switches.Chain(utxos), switches.Begin), stopEvent(switches.Chain(utxos), switches.Send),
		startEvent(switches.Chain(utxos), 0),
		stopEvent(switches.Everything, switches.Begin), stopEvent(switches.Everything, switches.Send), startEvent(switches.Everything, 0),
		recoveringEvent(switches.Chain(utxos), switches.Begin, 1), endedEvent(switches.Chain(utxos)),
		recoveringEvent(switches.Everything, switches.Send, 2),
		recoveringEvent(switches.Chain(utxos), switches.Begin, 2), endedEvent(switches.Chain(utxos)), endedEvent(switches.Chain(utxos2)),
		nil, // an unknown outbound of another wallet of a chain
	} {
		if i > 0 && ev == nil {
			noError(t, w.service.PutHotWallet(ctx, operatorAt(start),
				withdrawal.HotWallet{ID: w.id(), Chain: utxos, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletUnknown}))
		}
		if ev != nil {
			if started, is := ev.(switches.Started); is && started.Recovery {
				chain, _ := started.Scope.OfChain()
				Settle(t, w.service, chain)
			}
			_, err := w.switches(t).Do(ctx, switches.ScopeOf(ev), ev)
			noError(t, err)
		}
		for _, kind := range withdrawal.DueKind(0).Values() {
			for _, chain := range []uuid.UUID{uuid.Nil, utxos, utxos2} {
				var want, got []uuid.UUID
				var wantNext time.Time
				for k := range all {
					a := &all[k]
					state := must(w.switches(t).State(ctx, switches.Chain(a.Request.Chain)))(t)
					wallets := must(w.service.HotWallets(ctx, a.Request.Chain))(t)
					from, ok := withdrawal.DueAt(kind, a, grace)
					if !ok || !withdrawal.DueIn(kind, state, withdrawal.OutboundOf(wallets)) || chain != uuid.Nil && chain != a.Request.Chain {
						continue
					}
					if want = append(want, a.Request.ID); from.After(start.Add(-time.Hour)) && (wantNext.IsZero() || from.Before(wantNext)) {
						wantNext = from
					}
				}
				for _, sequential := range []bool{false, true} {
					what := fmt.Sprintf("step %d: %v of %s, sequential %v", i, kind, chain, sequential)
					q := store.DueWithdrawals{Kind: kind, Chain: chain, Now: at, Limit: 100, Grace: grace, Sequential: sequential}
					got = nil
					for _, a := range w.due(t, q) {
						got = append(got, a.Request.ID)
						if a.Level != 0 || a.Recovering {
							t.Errorf("%s: it comes with what the switch says", what)
						}
					}
					q.Now = start.Add(-time.Hour)
					next := must(read(w.Store, func(tx store.WithdrawalUnit) (time.Time, error) { return tx.Withdrawals().NextDue(q) }))(t)
					slices.SortFunc(got, compareUUIDs)
					slices.SortFunc(want, compareUUIDs)
					equalIDs(t, what, got, want)
					if !next.Equal(wantNext) {
						t.Errorf("%s: next is %v, expected %v", what, next, wantNext)
					}
				}
			}
		}
	}
}

func compareUUIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// recoveringRefunds: while the chain is recovering only what was refunded before the restore
// is taken, and no new refund; once it was started only a new refund is.
func (w *withdrawals) recoveringRefunds(t *testing.T) {
	live(w.Store)
	var now time.Time
	chain := w.payingChain(t)
	scope := switches.Chain(chain)
	cancelled := func() uuid.UUID {
		id := w.approved(t, chain, now).Request.ID
		w.do(t, id, withdrawal.Cancelled{By: operatorAt(now), Reason: "x"})
		return id
	}
	a, b := cancelled(), cancelled()
	refund := func(id uuid.UUID, role withdrawal.Role, already bool) error {
		return errOf(w.service.Do(ctx, id, withdrawal.Refunded{By: by(role, now), Reference: "refund " + id.String(),
			Reason: "in the books", Already: already}))
	}
	due := func() (n int) {
		t.Helper()
		found, _, err := w.service.RefundsDue(ctx, 10)
		noError(t, err)
		return len(found)
	}
	refusedWith(t, refund(a, withdrawal.Operator, true), statemachine.ErrIllegal, "a refund of before a restore, where there was none")
	for _, s := range []switches.Scope{scope, switches.Everything} {
		if n := due(); n != 2 {
			t.Fatalf("%d refunds are due before the restore", n)
		}
		_, err := w.switches(t).Recover(ctx, recoveringEvent(s, switches.Begin, map[switches.Scope]int64{scope: 1, switches.Everything: 2}[s]))
		noError(t, err)
		for _, role := range []withdrawal.Role{withdrawal.System, withdrawal.Operator} {
			refusedWith(t, refund(a, role, false), statemachine.ErrIllegal, "a refund while the chain recovers")
		}
		if n := due(); n != 0 {
			t.Errorf("%d refunds are due while the chain recovers", n)
		}
		if s == switches.Everything {
			noError(t, refund(b, withdrawal.Operator, true), "what was refunded before the restore: ")
		}
		Settle(t, w.service, chain)
		w.started(t, chain)
	}
	refusedWith(t, refund(a, withdrawal.Operator, true), statemachine.ErrIllegal, "a refund of before the restore, after the start")
	noError(t, refund(a, withdrawal.System, false), "a refund after the start: ")
}
