package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

func TestEnqueueDueSpreadsOverTheWallets(t *testing.T) {
	single, grouped := newBank(t), newBank(t)
	for _, b := range []*bank{single, grouped} {
		for i := range 3 {
			b.wallet(t, named(fmt.Sprint("wallet", i)), chain)
		}
		for range 10 {
			b.approved(t)
		}
	}
	for range 10 {
		if _, wait, err := single.EnqueueDue(context.Background(), chain, 1, single.order); err != nil || wait != 0 {
			t.Fatal(wait, err)
		}
	}
	ws, wait, err := grouped.EnqueueDue(context.Background(), chain, 11, grouped.order)
	if err != nil || len(ws) != 10 || wait != grouped.Policy().EnqueueEvery {
		t.Fatal(len(ws), wait, err)
	}
	one, _ := single.HotWallets(context.Background(), chain)
	all, _ := grouped.HotWallets(context.Background(), chain)
	if text(t, one) != text(t, all) {
		t.Errorf("one by one  %s\nin a batch %s", text(t, one), text(t, all))
	}
	if _, _, err := grouped.EnqueueDue(context.Background(), uuid.Nil, 1, grouped.order); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("every chain at once: %v", err)
	}
}

func TestEnqueueDueLeavesWhatIsRefused(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	bad, good := b.approved(t), b.approved(t)
	ws, _, err := b.EnqueueDue(ctx, chain, 10, func(r withdrawal.Request) withdrawal.Enqueued {
		ev := b.order(r)
		if r.ID == bad.Request.ID {
			ev.Priority = 255 // there is none such
		}
		return ev
	})
	refused(t, err, statemachine.ErrInvalid)
	if len(ws) != 1 || ws[0].Request.ID != good.Request.ID || b.do(t, good.Request.ID).Job.Status != withdrawal.JobPending {
		t.Fatalf("enqueued %s", text(t, ws))
	}
	foreign := b.submission()
	foreign.Chain = otherChain
	b.do(t, foreign.Request, foreign, withdrawal.Approved{By: as(withdrawal.Approver)})
	ws, wait, err := b.EnqueueDue(ctx, otherChain, 10, b.order)
	refused(t, err, withdrawal.ErrNoHotWallet)
	if len(ws) != 0 || wait != b.Policy().EnqueueEvery || b.do(t, foreign.Request).Request.Status != withdrawal.RequestApproved {
		t.Fatal(ws, wait)
	}
	b.wallet(t, named("late wallet"), otherChain)
	if ws, _, err = b.EnqueueDue(ctx, otherChain, 10, b.order); err != nil || len(ws) != 1 {
		t.Fatal(ws, err)
	}
}

func TestRescueTellsWhenToComeBack(t *testing.T) {
	b, ctx := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false }), context.Background()
	lease := b.Policy().Lease
	rescue := func(n int) (int, time.Duration) {
		ws, wait, err := b.Rescue(ctx, as(withdrawal.System), n)
		if err != nil {
			t.Fatal(err)
		}
		return len(ws), wait
	}
	if n, wait := rescue(10); n != 0 || wait != lease {
		t.Errorf("nothing to rescue: %d, %v", n, wait)
	}
	begun := b.now
	var ids []uuid.UUID
	for i := range 3 {
		b.now = begun.Add(time.Duration(i) * time.Second)
		ids = append(ids, b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)}).Request.ID)
	}
	for _, test := range []struct {
		at   time.Duration
		n    int
		got  int
		wait time.Duration
	}{{lease - 1000, 10, 0, 1000}, {lease, 10, 1, time.Second}, {lease + 2*time.Second, 1, 1, 0}, {lease + 2*time.Second, 2, 1, lease}} {
		b.now = begun.Add(test.at)
		if n, wait := rescue(test.n); n != test.got || wait != test.wait {
			t.Errorf("at %v: rescued %d, wait %v; expected %d, %v", test.at, n, wait, test.got, test.wait)
		}
	}
	for _, id := range ids {
		if w := b.do(t, id); w.Job.Status != withdrawal.JobPending || w.Job.RetryCount != 1 {
			t.Errorf("rescued as %s", text(t, w.Job))
		}
	}
}

func TestRescueGoesByTheStoresClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		b := newBank(t)
		w := b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
		by := as(withdrawal.System)
		by.Version = 77
		for _, at := range []time.Time{w.Job.Lease.Until.Add(-1000), w.Job.Lease.Until} {
			b.now, by.At = at, at.Add(off)
			ws, _, err := b.Rescue(context.Background(), by, 10)
			if ended := at.Equal(w.Job.Lease.Until); err != nil || (len(ws) == 1) != ended || ended && ws[0].Job.Status == withdrawal.JobProcessing {
				t.Errorf("a clock that is off by %v rescued %s, %v", off, text(t, ws), err)
			}
		}
	}
}

func TestEnqueueDueIsNotHiddenByWhatIsRefused(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	bad := map[uuid.UUID]bool{}
	for i := range 8 {
		bad[b.approved(t).Request.ID] = i < 5
		b.now = b.now.Add(time.Second)
	}
	order := func(r withdrawal.Request) withdrawal.Enqueued {
		ev := b.order(r)
		if bad[r.ID] {
			ev.Priority = 255 // there is none such
		}
		return ev
	}
	for i, want := range []int{1, 1, 1, 0} {
		ws, _, err := b.EnqueueDue(ctx, chain, 1, order)
		if i == 0 { // later they are put off
			refused(t, err, statemachine.ErrInvalid)
		} else if err != nil {
			t.Error(err)
		}
		if len(ws) != want {
			t.Errorf("call %d enqueued %s", i, text(t, ws))
		}
	}
}

func TestEnqueueDueRefusesNoSum(t *testing.T) {
	b := newBank(t)
	for _, amount := range []string{"1", strings.Repeat("9", 78), "5"} {
		s := b.submission()
		s.Decimals, s.Amount = 0, amount
		b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)})
		b.now = b.now.Add(time.Second)
	}
	ws, _, err := b.EnqueueDue(context.Background(), chain, 10, b.order)
	if sum := withdrawal.Raw("1" + strings.Repeat("0", 77) + "5"); err != nil || len(ws) != 3 || ws[2].Wallet.BalanceReserved != sum {
		t.Fatalf("enqueued %s", text(t, ws))
	}
}

func TestSubmissionsThatAreDatedBackCountInTheWindows(t *testing.T) {
	b := newBank(t, func(p *withdrawal.Policy) {
		p.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{asset: {Automatic: decimal.NewFromInt(10),
			Windows: []withdrawal.Window{{Length: 24 * time.Hour, Max: decimal.NewFromInt(3)}}}}}
	})
	automatic := 0
	for _, at := range []time.Duration{-25 * time.Hour, -25 * time.Hour, time.Minute, 0, -25 * time.Hour} {
		s := b.submission() // of 1.5
		s.At = b.now.Add(at)
		w := b.do(t, s.Request, s)
		if w.Request.Status == withdrawal.RequestApproved {
			automatic++
		}
		if !w.Request.CreatedAt.Equal(b.now) {
			t.Errorf("created at %v", w.Request.CreatedAt)
		}
	}
	if automatic != 2 {
		t.Errorf("%d of 1.5 were approved automatically, the window holds 3", automatic)
	}
}

// An order that cannot be made stops no other: of its own wallets none pays, or its
// id is that of a job that exists.
func TestABadOrderStopsNoOther(t *testing.T) {
	for name, spoil := range map[string]func(b *bank, o *withdrawal.Enqueued, existing uuid.UUID){
		"its wallets do not pay": func(_ *bank, o *withdrawal.Enqueued, _ uuid.UUID) { o.Wallets = []withdrawal.HotWallet{} },
		"its job exists":         func(_ *bank, o *withdrawal.Enqueued, existing uuid.UUID) { o.Job = existing },
		"its job is another's of the page": func(b *bank, o *withdrawal.Enqueued, _ uuid.UUID) {
			o.Job = named("the same for all")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, ctx := newBank(t), context.Background()
			existing := b.pending(t).Job.ID
			bad := map[uuid.UUID]bool{}
			for i := range 6 {
				bad[b.approved(t).Request.ID] = i < 3
				b.now = b.now.Add(time.Second)
			}
			order := func(r withdrawal.Request) withdrawal.Enqueued {
				o := b.order(r)
				if bad[r.ID] {
					spoil(b, &o, existing)
				}
				return o
			}
			ws, _, err := b.EnqueueDue(ctx, chain, 4, order)
			if err == nil {
				t.Error("nobody is told")
			}
			good := 0
			for _, w := range ws {
				if !bad[w.Request.ID] {
					good++
				}
			}
			if good != 3 {
				t.Fatalf("%d of 3 good ones were enqueued: %v", good, err)
			}
			if ws, _, err := b.EnqueueDue(ctx, chain, 4, order); err != nil || len(ws) > 0 { // put off
				t.Errorf("at once again: %d, %v", len(ws), err)
			}
		})
	}
}

// What the system may refund is listed, the longest due first; what may not be yet, or
// by a person alone, is put off and hides nothing.
func TestRefundsDue(t *testing.T) {
	b, ctx := newBank(t, func(p *withdrawal.Policy) {
		p.Chain.Nonces, p.Chain.AnswerWithin = false, time.Hour
		p.Chains = map[uuid.UUID]withdrawal.Chain{otherChain: {Confirmations: 1}} // whose signers may always answer
	}), context.Background()
	b.wallet(t, named("of the other chain"), otherChain)
	cancel := withdrawal.Cancelled{By: as(withdrawal.Operator), Reason: "no"}
	unsent := func(on uuid.UUID) withdrawal.Withdrawal {
		s, worker := b.submission(), as(withdrawal.WithdrawalWorker)
		s.Chain = on
		w := b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)}, b.order(withdrawal.Request{}),
			withdrawal.Claimed{By: worker},
			withdrawal.Dispatched{By: worker, Fence: 1, Reference: "ref"}, withdrawal.AttemptFailed{By: worker, Fence: 1,
				Failure: withdrawal.Unclear, Error: "?"})
		notSent := withdrawal.Resolved{By: as(withdrawal.Operator), Job: w.Job.ID, Reason: "no such reference"}
		notSent.Version = w.Job.Version
		return b.do(t, s.Request, notSent, cancel)
	}
	answered, always := unsent(chain), unsent(otherChain)
	var cancelled []withdrawal.Withdrawal
	for range 3 {
		b.now = b.now.Add(time.Second)
		w := b.approved(t)
		cancelled = append(cancelled, b.do(t, w.Request.ID, cancel))
	}
	refunds := func(n int) (due []uuid.UUID, wait time.Duration) {
		t.Helper()
		ws, wait, err := b.RefundsDue(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ws {
			due = append(due, w.Request.ID)
		}
		return due, wait
	}
	refund := func(w withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Refunded{By: as(withdrawal.System), Reference: "refund of " + w.Request.ID.String()}
	}
	if due, wait := refunds(2); len(due) != 2 || due[0] != cancelled[0].Request.ID || due[1] != cancelled[1].Request.ID || wait != 0 {
		t.Errorf("%v, %v", due, wait)
	}
	if due, wait := refunds(4); len(due) != 3 || wait != b.Policy().EnqueueEvery {
		t.Errorf("%v, %v", due, wait)
	}
	for _, w := range cancelled {
		b.do(t, w.Request.ID, refund(w))
	}
	// A requeue of another one, and evidence, take it off the list; the time of the signer puts it on.
	b.now = answered.Dispatches[0].EndedAt.Add(time.Hour - time.Second)
	if due, wait := refunds(4); len(due) != 0 || wait != time.Second {
		t.Errorf("%v, %v", due, wait)
	}
	b.now = b.now.Add(time.Second)
	if due, _ := refunds(4); len(due) != 1 || due[0] != answered.Request.ID {
		t.Errorf("%v", due)
	}
	b.do(t, answered.Request.ID, withdrawal.PutOff{By: as(withdrawal.System)}) // it could not be posted
	if due, wait := refunds(4); len(due) != 0 || wait != b.Policy().EnqueueEvery {
		t.Errorf("%v, %v", due, wait)
	}
	b.now = b.now.Add(100 * 24 * time.Hour)
	if due, _ := refunds(4); len(due) != 1 {
		t.Errorf("%v", due)
	}
	if all, err := b.List(ctx, store.ListWithdrawals{Filter: withdrawal.Filter{Kind: withdrawal.ListToRefund}, Limit: 10}); err != nil ||
		len(all) != 2 {
		t.Errorf("%d to refund, %v", len(all), err)
	}
	_, err := b.Do(ctx, always.Request.ID, refund(always))
	refused(t, err, statemachine.ErrForbidden)
	if _, _, err := b.RefundsDue(ctx, 0); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("%v", err)
	}
	paid := withdrawal.PaidBy{By: as(withdrawal.Operator), Tx: "paid", Payee: cancelled[0].Request.ToAddress,
		AmountRaw: cancelled[0].Request.AmountRaw, Reason: "seen"}
	b.do(t, cancelled[0].Request.ID, paid)
	alerts, err := b.Alerts(ctx, time.Hour, withdrawal.Thresholds{OpenIncidents: 9, Incidents: 9, Stuck: 9}, nil)
	if err != nil || len(alerts) != 1 || alerts[0].Name != "paid and refunded" {
		t.Errorf("%v, %v", alerts, err)
	}
}

// While a hot wallet of the chain is off since an unknown outbound, what was paid from it may have paid any request:
// nothing of the chain is refunded until the wallet is on again. Another chain goes on.
func TestNothingIsRefundedWhileAWalletIsOff(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	b.wallet(t, named("of the other chain"), otherChain)
	put := func(status string) {
		t.Helper()
		err := b.store.Update(ctx, func(tx store.Unit) error {
			return tx.HotWallets().Put(withdrawal.HotWallet{ID: hot, Chain: chain, Role: withdrawal.WalletRoleHot, Status: status})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cancelled := func(on uuid.UUID) uuid.UUID {
		s := b.submission()
		s.Chain = on
		b.do(t, s.Request, s, withdrawal.Cancelled{By: as(withdrawal.Operator), Reason: "no"})
		return s.Request
	}
	here, there := cancelled(chain), cancelled(otherChain)
	due := func() (ids []uuid.UUID) {
		t.Helper()
		all, _, err := b.RefundsDue(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			ids = append(ids, all[i].Request.ID)
		}
		return ids
	}
	put(withdrawal.WalletUnknown)
	if ids := due(); len(ids) != 1 || ids[0] != there {
		t.Errorf("due are %v", ids)
	}
	for _, role := range []withdrawal.Role{withdrawal.System, withdrawal.Operator} {
		_, err := b.Do(ctx, here, withdrawal.Refunded{By: as(role), Reference: "r", Reason: "x"})
		refused(t, err, withdrawal.ErrUnsettled)
	}
	put(withdrawal.WalletActive)
	b.now = b.now.Add(time.Hour)
	if ids := due(); len(ids) != 2 {
		t.Errorf("due are %v", ids)
	}
	b.do(t, here, withdrawal.Refunded{By: as(withdrawal.System), Reference: "r"})
}
