package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

type items []worker.Item[withdrawal.Withdrawal]

func turn(t testing.TB, s store.WithdrawalSource, n int, done ...store.HeldWithdrawal) items {
	t.Helper()
	got, _, err := s.Turn(context.Background(), done, n)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func result(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
	return store.HeldWithdrawal{Withdrawal: w, Events: events}
}

// endsIn reports whether a lease ends about so far from now on the clock of this
// process, which is not the store's.
func endsIn(item worker.Item[withdrawal.Withdrawal], d time.Duration) bool {
	left := time.Until(item.Until)
	return left <= d && left > d-10*time.Second
}

func TestPaymentsAreOnePerWalletAndReuseItInTheSameTurn(t *testing.T) {
	b := newBank(t)
	b.wallet(t, named("second wallet"), chain)
	for range 4 {
		b.pending(t)
	}
	source := b.Payments(chain, "w")
	first := turn(t, source, 10)
	if len(first) != 2 || first[0].Key == first[1].Key || !endsIn(first[0], b.Policy().Lease) {
		t.Fatalf("got %+v", first)
	}
	for _, item := range first {
		w := item.Work
		if item.Key != w.Job.Wallet.String() || w.Job.Status != withdrawal.JobProcessing || w.Job.Lease.Holder != "w" || w.Job.RetryCount != 1 {
			t.Errorf("got %s under %q", text(t, w), item.Key)
		}
	}
	if more := turn(t, source, 10); len(more) > 0 {
		t.Fatalf("both wallets are taken, got %+v", more)
	}
	p := prepared(&first[0].Work)
	held, err := b.DoHeld(context.Background(), result(first[0].Work, p))
	if err != nil {
		t.Fatal(err)
	}
	second := turn(t, source, 10, result(held[0], withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash}))
	if len(second) != 1 || second[0].Key != first[0].Key || second[0].Work.Wallet.NextNonce != p.Nonce+1 {
		t.Fatalf("after the result of the first: %+v", second)
	}
	if _, _, err := b.Payments(uuid.Nil, "w").Turn(context.Background(), nil, 1); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("payments of every chain: %v", err)
	}
}

func TestPaymentsOnAChainWithoutNoncesAreOnePerJob(t *testing.T) {
	b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
	for range 3 {
		b.pending(t)
	}
	got := turn(t, b.Payments(chain, "w"), 10)
	if len(got) != 3 || got[0].Key != got[0].Work.Job.ID.String() || got[0].Work.Job.Wallet != got[1].Work.Job.Wallet {
		t.Errorf("got %+v", got)
	}
}

func TestPaymentsSayWhenMoreIsDue(t *testing.T) {
	b := newBank(t)
	source := b.Payments(chain, "w")
	next := func() time.Duration {
		_, at, err := source.Turn(context.Background(), nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(at).Round(10 * time.Second)
	}
	if got := next(); got != b.Policy().Lease {
		t.Errorf("nothing is scheduled: %v", got)
	}
	item := func() worker.Item[withdrawal.Withdrawal] { b.pending(t); return turn(t, source, 1)[0] }()
	failed := withdrawal.AttemptFailed{By: withdrawal.By{Actor: "w", Role: withdrawal.WithdrawalWorker}, Fence: 1, Failure: withdrawal.Retryable}
	turn(t, source, 0, result(item.Work, failed))
	if got := next(); got != time.Minute {
		t.Errorf("the retry is due after %v", got)
	}
}

func TestHalfOfAClaimIsForBytesThatAreSentAgain(t *testing.T) {
	b := newBank(t)
	for i := range 5 {
		b.wallet(t, named(fmt.Sprint("wallet", i)), chain)
	}
	missing := func(w withdrawal.Withdrawal) {
		b.do(t, w.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash})
	}
	for range 3 {
		missing(b.confirming(t))
	}
	for range 6 {
		b.pending(t)
	}
	b.now = b.now.Add(b.Policy().CheckEvery)
	source := b.Payments(chain, "w")
	got := turn(t, source, 4)
	statuses := func(all items) (s []withdrawal.JobStatus) {
		for _, item := range all {
			s = append(s, item.Work.Job.Status)
		}
		return s
	}
	want := []withdrawal.JobStatus{withdrawal.JobConfirming, withdrawal.JobConfirming, withdrawal.JobProcessing, withdrawal.JobProcessing}
	if !slices.Equal(statuses(got), want) {
		t.Fatalf("got %v", statuses(got))
	}
	if got[0].Key != got[0].Work.Job.ID.String() || got[0].Work.Job.Lease.Fence != 2 {
		t.Errorf("a re-broadcast is leased as %+v", got[0].Work.Job.Lease)
	}
	w := got[0].Work
	again := withdrawal.Rebroadcast{By: withdrawal.By{Actor: "w", Role: withdrawal.WithdrawalWorker}, Fence: 2, Hash: w.Job.TxHash, Done: true}
	if rest := turn(t, source, 1, result(w, again)); !slices.Equal(statuses(rest), want[:1]) {
		t.Errorf("then %v", statuses(rest))
	}
	if w = b.do(t, w.Request.ID); w.Job.Rebroadcast || w.Job.Lease.Holder != "" {
		t.Errorf("after it was sent again: %s", text(t, w.Job))
	}
}

func TestPaymentsAreGivenBackWithTheirAttempt(t *testing.T) {
	b := newBank(t)
	b.wallet(t, named("second wallet"), chain)
	source := b.Payments(chain, "w")
	b.pending(t)
	b.pending(t)
	got := turn(t, source, 2)
	turn(t, source, 0, source.Release(got[0].Work), source.Panicked(got[1].Work, "boom"))
	released, panicked := b.do(t, got[0].Work.Request.ID), b.do(t, got[1].Work.Request.ID)
	if released.Job.Status != withdrawal.JobPending || released.Job.RetryCount != 0 || released.Job.ScheduledAt.After(b.now) {
		t.Errorf("released as %s", text(t, released.Job))
	}
	if panicked.Job.Status != withdrawal.JobPending || panicked.Job.RetryCount != 1 || panicked.Attempt.Outcome != statemachine.Unknown ||
		panicked.Job.ErrorMessage != "the handler panicked: boom" {
		t.Errorf("panicked as %s", text(t, panicked))
	}

	out := b.confirming(t)
	for _, give := range []func(withdrawal.Withdrawal) store.HeldWithdrawal{source.Release, func(w withdrawal.Withdrawal) store.HeldWithdrawal { return source.Panicked(w, 1) }} {
		b.do(t, out.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: out.Job.TxHash})
		b.now = b.now.Add(b.Policy().CheckEvery)
		item := turn(t, b.Payments(chain, "w"), 1)[0]
		if item.Work.Request.ID != out.Request.ID {
			t.Fatal("it is not due")
		}
		turn(t, source, 0, give(item.Work))
		if w := b.do(t, out.Request.ID); w.Job.Lease.Holder != "" {
			t.Errorf("a re-broadcast was given back as %s", text(t, w.Job))
		}
		b.now = b.now.Add(b.Policy().CheckEvery)
	}
}

// The handler committed a step that its panic or its result does not know of.
func TestAResultOfAnOlderVersionIsJudgedByWhatIsStored(t *testing.T) {
	b := newBank(t)
	b.pending(t)
	source := b.Payments(chain, "w")
	item := turn(t, source, 1)[0]
	b.do(t, item.Work.Request.ID, prepared(&item.Work))
	turn(t, source, 1, source.Panicked(item.Work, "after the intent"))
	if w := b.do(t, item.Work.Request.ID); w.Job.Status != withdrawal.JobConfirming || !w.Job.Rebroadcast {
		t.Errorf("what was signed is %s", text(t, w.Job))
	}

	b.pending(t)
	item = turn(t, source, 1)[0]
	b.now = b.now.Add(b.Policy().Lease)
	if _, _, err := b.Rescue(context.Background(), as(withdrawal.System), 1); err != nil {
		t.Fatal(err)
	}
	_, _, err := source.Turn(context.Background(), []store.HeldWithdrawal{source.Release(item.Work)}, 1)
	refused(t, err, statemachine.ErrFenced)
}

func TestRenewKeepsALeaseAndNamesWhatIsLost(t *testing.T) {
	b := newBank(t)
	b.wallet(t, named("second wallet"), chain)
	b.pending(t)
	b.pending(t)
	source := b.Payments(chain, "w")
	got := turn(t, source, 2)
	b.now = b.now.Add(b.Policy().Lease - time.Second)
	stale := got[0].Until.Add(-b.Policy().Lease)
	got[0].Until, got[1].Until = stale, stale
	b.do(t, got[1].Work.Request.ID, source.Release(got[1].Work).Events...)
	err := source.Renew(context.Background(), got)
	var lost *worker.LostError
	if !errors.As(err, &lost) || !slices.Equal(lost.Keys, []string{got[1].Key}) {
		t.Fatalf("got %v", err)
	}
	if !endsIn(got[0], b.Policy().Lease) || !got[1].Until.Equal(stale) {
		t.Errorf("until %v and %v", got[0].Until, got[1].Until)
	}
	b.now = b.now.Add(time.Minute) // past the first end
	p := prepared(&got[0].Work)
	if _, err := b.DoHeld(context.Background(), result(got[0].Work, p)); err != nil {
		t.Errorf("the renewed lease: %v", err)
	}
}

func TestLookupsAreSharedOut(t *testing.T) {
	b := newBank(t)
	for range 5 {
		b.confirming(t)
	}
	b.now = b.now.Add(b.Policy().CheckEvery)
	one, two := b.Lookups(chain, "one"), b.Lookups(uuid.Nil, "two")
	first, second := turn(t, one, 2), turn(t, two, 10)
	if len(first) != 2 || len(second) != 3 || !endsIn(first[0], b.Policy().CheckEvery) {
		t.Fatalf("the first got %d, the second %d of 5", len(first), len(second))
	}
	seen := map[string]bool{}
	for _, item := range slices.Concat(first, second) {
		seen[item.Key] = true
	}
	if len(seen) != 5 || len(turn(t, one, 10)) > 0 {
		t.Fatalf("looked up are %v", seen)
	}

	b.now = b.now.Add(b.Policy().CheckEvery - time.Second)
	b.do(t, first[1].Work.Request.ID, mined(first[1].Work.Job.TxHash))
	err := one.Renew(context.Background(), first)
	var lost *worker.LostError
	if !errors.As(err, &lost) || !slices.Equal(lost.Keys, []string{first[1].Key}) || !endsIn(first[0], b.Policy().CheckEvery) {
		t.Fatalf("got %v", err)
	}
	b.now = b.now.Add(time.Second) // the second has not renewed
	if again := turn(t, one, 10); len(again) != 3 {
		t.Errorf("%d are due again", len(again))
	}
}

func TestEvidenceCountsWhateverHappenedMeanwhile(t *testing.T) {
	b := newBank(t)
	w := b.confirming(t)
	b.now = b.now.Add(b.Policy().CheckEvery)
	source := b.Lookups(chain, "c")
	item := turn(t, source, 1)[0]
	b.do(t, w.Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)},
		withdrawal.Rebumped{By: as(withdrawal.WithdrawalWorker), Fence: 2, Hash: "bump", Raw: []byte{1}, Nonce: w.Job.Nonce, HasNonce: true})
	evidence := result(item.Work, mined(w.Job.TxHash))
	turn(t, source, 1, evidence)
	done := b.do(t, w.Request.ID)
	if done.Request.Status != withdrawal.RequestCompleted || done.Request.FinalTxHash != w.Job.TxHash || done.Job.Lease.Fence != 2 {
		t.Errorf("got %s", text(t, done))
	}
	turn(t, source, 1, evidence) // the reply was lost
	if again := b.do(t, w.Request.ID); text(t, again) != text(t, done) {
		t.Errorf("again: %s", text(t, again))
	}
	if held := source.Panicked(item.Work, 1); len(held.Events) > 0 || len(source.Release(item.Work).Events) > 0 {
		t.Error("a look-up that was not made says something")
	}
}

// Look-ups that always come first do not keep the bytes from being sent again.
func TestLookupsDoNotStarveReBroadcasts(t *testing.T) {
	b := newBank(t)
	w := b.confirming(t)
	lookups, payments := b.Lookups(chain, "c"), b.Payments(chain, "w")
	sent := 0
	for range 10 {
		b.now = b.now.Add(b.Policy().CheckEvery)
		for _, item := range turn(t, lookups, 1) {
			turn(t, lookups, 0, result(item.Work, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash}))
		}
		for _, item := range turn(t, payments, 1) {
			sent++
			by := withdrawal.By{Actor: "w", Role: withdrawal.WithdrawalWorker}
			turn(t, payments, 0, result(item.Work, withdrawal.Rebroadcast{By: by, Fence: item.Work.Job.Lease.Fence, Hash: w.Job.TxHash, Done: true}))
		}
	}
	if sent < 4 {
		t.Errorf("sent again %d times in 10 rounds", sent)
	}
	looked := 0
	for range 10 { // and without withdrawal workers look-ups go on
		b.now = b.now.Add(b.Policy().CheckEvery)
		for _, item := range turn(t, lookups, 1) {
			looked++
			turn(t, lookups, 0, result(item.Work, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash}))
		}
	}
	if looked < 4 {
		t.Errorf("looked up %d times in 10 rounds", looked)
	}
}

func TestPaymentsOfOnePlaceTakeTurnsWithRebroadcasts(t *testing.T) {
	b := newBank(t)
	for range 3 {
		out := b.confirming(t)
		b.do(t, out.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: out.Job.TxHash})
	}
	b.pending(t)
	b.now = b.now.Add(b.Policy().CheckEvery)
	source := b.Payments(chain, "w")
	for i, want := range []withdrawal.JobStatus{withdrawal.JobConfirming, withdrawal.JobProcessing, withdrawal.JobConfirming, withdrawal.JobConfirming} {
		if got := turn(t, source, 1); len(got) != 1 || got[0].Work.Job.Status != want {
			t.Fatalf("claim %d gives %d, want one that is %v", i+1, len(got), want)
		}
	}
}

// A signer's answer with the nonce of another job, as a worker's result, is refused
// for good: a loop drops it and tells, and does not offer it until the lease ends.
func TestAResultWithTheNonceOfAnotherIsARefusal(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	a := b.confirming(t)
	filler := withdrawal.Filler{Wallet: a.Job.Wallet, Chain: chain, Nonce: a.Job.Nonce + 1, Hash: "f", Actor: "olga"}
	if err := b.PutFiller(ctx, filler); err != nil {
		t.Fatal(err)
	}
	b.pending(t)
	pay := b.Payments(chain, "payer")
	items, _, err := pay.Turn(ctx, nil, 1)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	by := withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}
	ws, err := b.DoHeld(ctx, result(items[0].Work, withdrawal.Dispatched{By: by, Fence: 1, Reference: "ref"}))
	if err != nil {
		t.Fatal(err)
	}
	answer := withdrawal.Broadcast{By: by, Fence: 1, Hash: "h", Nonce: a.Job.Nonce, HasNonce: true}
	for nonce, sentinel := range map[uint64]error{a.Job.Nonce: withdrawal.ErrNonceTaken, filler.Nonce: withdrawal.ErrNonceUsed} {
		answer.Nonce = nonce
		_, _, err = pay.Turn(ctx, []store.HeldWithdrawal{result(ws[0], answer)}, 0)
		refused(t, err, sentinel)
		refused(t, err, statemachine.ErrIllegal) // which a loop takes for an answer
	}
	answer.Nonce, answer.HasNonce = 0, false
	if w := b.do(t, ws[0].Request.ID, answer); w.Job.TxHash != "h" {
		t.Errorf("%+v", w.Job)
	}
}
