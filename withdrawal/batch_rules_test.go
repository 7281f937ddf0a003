package withdrawal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// A stopped batch whose newest version the node still shows is asked to be replaced
// after each look-up: nothing is missing, so the look-up itself asks.
func TestAStoppedBatchThatTheNodeShowsIsReplaced(t *testing.T) {
	b := stoppedBatch(t)
	b = runBatch(t, b, batchSent(t0, b, "v1"))
	if does, _ := owed(b); does != 0 {
		t.Fatalf("before the look-up: %v", does)
	}
	shown := runBatch(t, b, withdrawal.BatchLooking{By: checker(t0)})
	if does, without := owed(shown); does != withdrawal.DoReplace || !slices.Equal(without, []uuid.UUID{b.Members[2].Request.ID}) {
		t.Errorf("after the look-up: %v without %v", does, without)
	}
	going := newBatch(t, 3)
	going = runBatch(t, going, batchSent(t0, going, "v1"), withdrawal.BatchLooking{By: checker(t0)})
	if does, _ := owed(going); does != 0 {
		t.Errorf("of one that nobody stops: %v", does)
	}
}

// Nobody can tell whom the other transaction pays: the members that the batch has are
// parked, and no other one. What has left it has its own story.
func TestCannotTellParksNoneThatHasLeft(t *testing.T) {
	b := newBatch(t, 3)
	b.Members = slices.Clone(b.Members)
	left := &b.Members[2]
	left.Job.Batch = uuid.Nil // as after a review
	before := *left
	c, err := policy.ApplyBatch(b, withdrawal.BatchCannotTell{By: checker(t0), Other: "x", Reason: "no logs"}, t0)
	if err != nil || len(c.Members) != 2 || where(c.New) != "review in, review in, confirming" || !same(c.New.Members[2], before) {
		t.Fatalf("%v, %v", where(c.New), err)
	}
	if text := c.New.Members[0].Job.ErrorMessage; text != "cannot tell whether x pays it: no logs" {
		t.Error(text)
	}
}

// A job that left its batch and is in another one stays there, whatever the first one is told.
func TestAMemberOfAnotherBatchStaysThere(t *testing.T) {
	b := newBatch(t, 2)
	b.Members = slices.Clone(b.Members)
	other := &b.Members[1]
	other.Job.Batch = id(91)
	if b.Has(other) {
		t.Fatal("it has what another one has")
	}
	c, err := policy.ApplyBatch(b, batchMined(t0, "v1", transfers(b.Members, 0)...), t0)
	if err != nil || len(c.Members) != 1 || c.New.Members[1].Job.Batch != id(91) || c.New.Members[1].Job.Review {
		t.Errorf("%+v, %v", c.New.Members[1].Job, err)
	}
	other.Job.Review = true
	if got := b.Unwanted(); len(got) > 0 {
		t.Errorf("it stops for %v", got)
	}
	_, err = policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0, 1), t0)
	if !errors.Is(err, statemachine.ErrIllegal) || !strings.Contains(err.Error(), "the batch does not have it") {
		t.Errorf("a version pays it: %v", err)
	}
	if got := b.Payable(); len(got) != 1 {
		t.Errorf("%d are payable", len(got))
	}
}

// Events of what does not exist, of what is over, and said again.
func TestBatchEventsOutOfPlace(t *testing.T) {
	b := newBatch(t, 2)
	end := runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...))
	again := batchPrepared(t0, claimedMembers(t, policy, 2))
	another := again
	another.Hash = "v9"
	stale := batchMined(t0, "v1", transfers(b.Members, 0, 1)...)
	stale.Version = b.Batch.Version + 1
	late := stale
	late.Version = b.Batch.Version
	unloaded := b
	unloaded.Txs = nil
	two := runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	for name, tt := range map[string]struct {
		b    withdrawal.Payout
		ev   withdrawal.BatchEvent
		want error
	}{
		"missing of none":                   {withdrawal.Payout{}, withdrawal.BatchMissing{By: checker(t0)}, statemachine.ErrIllegal},
		"mined of none":                     {withdrawal.Payout{}, batchMined(t0, "v1"), statemachine.ErrIllegal},
		"claimed of none":                   {withdrawal.Payout{}, withdrawal.BatchClaimed{By: worker(t0)}, statemachine.ErrIllegal},
		"claimed after the end":             {end, withdrawal.BatchClaimed{By: worker(t0)}, statemachine.ErrIllegal},
		"claimed after the end, by a fence": {end, withdrawal.BatchClaimed{By: worker(t0), Fence: end.Batch.Lease.Fence}, statemachine.ErrFenced},
		"sent after the end":                {end, withdrawal.BatchSent{By: worker(t0), Fence: 9, Hash: "v1"}, nil},
		"sent after the end, no version":    {end, withdrawal.BatchSent{By: worker(t0), Fence: 1, Hash: "x"}, statemachine.ErrInvalid},
		"prepared again":                    {b, again, nil},
		"prepared again, another":           {b, another, statemachine.ErrIllegal},
		"replaced again":                    {two, batchReplaced(t0, two, "v2", 0), nil},
		"decided on another version":        {b, stale, statemachine.ErrConflict},
		"of another version after the end":  {end, late, nil},
		"versions are not loaded":           {unloaded, batchMined(t0, "v1"), statemachine.ErrInvalid},
		"no event":                          {b, nil, statemachine.ErrInvalid},
		"cannot tell after the end":         {end, withdrawal.BatchCannotTell{By: checker(t0), Other: "x"}, nil},
	} {
		c, err := policy.ApplyBatch(tt.b, tt.ev, t0)
		if !errors.Is(err, tt.want) || !c.Empty() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := policy.ApplyBatch(withdrawal.Payout{}, withdrawal.BatchMissing{By: checker(t0)}, t0); !strings.Contains(err.Error(),
		"withdrawal_batch "+uuid.Nil.String()) {
		t.Errorf("%v", err)
	}
	_, err := withdrawal.Policy{}.ApplyBatch(withdrawal.Payout{Members: claimedMembers(t, policy, 2)}, again, t0)
	if !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("no lease: %v", err)
	}
	_, err = withdrawal.Policy{}.ApplyBatch(b, withdrawal.BatchClaimed{By: worker(b.Batch.Lease.Until)}, t0.Add(time.Hour))
	if !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("no lease again: %v", err)
	}
}

// A refusal names the batch that it is about, also before there is one; By.Version is
// the batch's, and no member's; whose a transaction is is known in its step alone.
func TestWhatABatchEventIsAbout(t *testing.T) {
	m := claimedMembers(t, policy, 2)
	bad := batchPrepared(t0, m)
	bad.Raw = nil
	if _, err := policy.ApplyBatch(withdrawal.Payout{Members: m}, bad, t0); err == nil || !strings.Contains(err.Error(), batch1.String()) {
		t.Errorf("%v", err)
	}
	b := newBatch(t, 2)
	seen := batchMined(t0, "v1", transfers(b.Members, 0, 1)...)
	if seen.Version = b.Batch.Version; seen.Version == b.Members[0].Job.Version {
		t.Fatal("the versions are equal: nothing is tried")
	}
	if got := where(runBatch(t, b, seen)); got != "confirmed, confirmed" {
		t.Error(got)
	}
	b.Members = slices.Clone(b.Members)
	b.Members[1].Owner = owned(id(99))
	c, err := policy.ApplyBatch(b, outside(batchMined(t0, "x", transfers(b.Members, 0)...)), t0)
	if err != nil || c.New.Members[1].Owner.Valid || c.New.Members[1].Job.Status != withdrawal.JobPending {
		t.Errorf("%+v, %v", c.New.Members[1].Owner, err)
	}
	// Without its versions, or its transactions, nobody sees what a hash is.
	for name, change := range map[string]func(*withdrawal.Payout, *withdrawal.BatchMined){
		"no versions": func(b *withdrawal.Payout, e *withdrawal.BatchMined) { b.Txs = nil },
		"no hash":     func(b *withdrawal.Payout, e *withdrawal.BatchMined) { e.Tx = "" },
	} {
		b, e := newBatch(t, 2), outside(batchMined(t0, "v1"))
		change(&b, &e)
		if c, err := policy.ApplyBatch(b, e, t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
			t.Errorf("%s: %v", name, err)
		}
	}
	unloaded := newBatch(t, 2)
	unloaded.Members = slices.Clone(unloaded.Members)
	unloaded.Members[0].Txs = nil
	if c, err := policy.ApplyBatch(unloaded, batchReplaced(t0, unloaded, "v2", 0), t0); !errors.Is(err, statemachine.ErrInvalid) ||
		!c.Empty() {
		t.Errorf("no transactions: %v", err)
	}
	// What a member has alone on file pays it by whichever output fits.
	alone := newBatch(t, 2)
	alone.Members = slices.Clone(alone.Members)
	alone.Members[0].Txs = []withdrawal.Tx{{Hash: "x"}}
	e := batchMined(t0, "x", another(transfers(alone.Members, 0)[0], 5))
	if got := alone.PaidOutputs(&e); got[0] != 5 {
		t.Errorf("by output %d", got[0])
	}
}

// What says that a member was paid beside its end is a line of its request too.
func TestAFlagOfAMemberIsALine(t *testing.T) {
	b := newBatch(t, 2)
	other := runBatch(t, b, outside(batchMined(t0, "x", transfers(b.Members, 0, 1)...)))
	c, err := policy.ApplyBatch(other, batchMined(t0, "v1", transfers(b.Members, 0)...), t0)
	if err != nil {
		t.Fatal(err)
	}
	m := c.New.Members[0]
	if m.Request.Mined != "v1" || m.Request.Version != other.Members[0].Request.Version+1 {
		t.Errorf("%+v", m.Request)
	}
}

// Why a member rests with an operator is on its job.
func TestWhyAMemberIsParked(t *testing.T) {
	b := newBatch(t, 3)
	review := b
	review.Members = slices.Clone(b.Members)
	review.Members[2] = run(t, b.Members[2], paidElsewhere(&b.Members[2]))
	less1 := outside(batchMined(t0, "x", transfers(b.Members, 0)[0], less(b.Members, 1)))
	for name, tt := range map[string]struct {
		b      withdrawal.Payout
		ev     withdrawal.BatchMined
		member int
		why    string
	}{
		"a version that does not show it": {b, batchMined(t0, "v1", transfers(b.Members, 0)...), 1, "mined without it: v1"},
		"a part of what is due":           {b, less1, 1, "cannot tell whether x pays it"},
		"in review, and not paid":         {review, outside(batchMined(t0, "x", transfers(b.Members, 0)...)), 2, "mined without it: x"},
	} {
		got := runBatch(t, tt.b, tt.ev).Members[tt.member].Job
		if !got.Review || got.Batch != uuid.Nil || got.ErrorMessage != tt.why {
			t.Errorf("%s: %q, review %v", name, got.ErrorMessage, got.Review)
		}
	}
}

// What another transaction pays a member nobody can tell, and somebody has said it of
// that very transaction: it is known, live or as a stray, and no news.
func TestWhatIsUnclearAndKnownIsNoNews(t *testing.T) {
	b := newBatch(t, 2)
	end := runBatch(t, b, outside(batchMined(t0, "x", transfers(b.Members, 0)...)))
	unclear := outside(batchMined(t0, "y", less(b.Members, 1)))
	unclear.Block.Hash, unclear.Canonical = "b11", "b11"
	said := withdrawal.PaidBy{By: by(withdrawal.Operator, t0), Tx: "y", Output: 1, Payee: "0xpayee1", AssetOnChain: token,
		AmountRaw: b.Members[1].Request.AmountRaw, Reason: "in two halves"}
	live := end
	live.Members = slices.Clone(end.Members)
	live.Members[0] = withdrawal.Withdrawal{Request: end.Members[0].Request, Job: end.Members[0].Job, Txs: end.Members[0].Txs} // as it is
	live.Members[1] = run(t, end.Members[1], said)
	if !live.Members[1].Job.Live() {
		t.Fatal("it is not on file as live")
	}
	at := end.Members[1].Job.ScheduledAt
	out := run(t, end.Members[1], withdrawal.Claimed{By: worker(at)}, prepared(at, 2, "alone", 8))
	stray := live
	stray.Members = slices.Clone(live.Members)
	stray.Members[1] = run(t, out, said)
	if len(stray.Members[1].Strays) != 1 {
		t.Fatal("it is no stray")
	}
	paid := live // by a transaction with another nonce, beside which y may be mined
	paid.Members = slices.Clone(live.Members)
	paid.Members[1] = run(t, out, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "alone"}, receipt(at, "alone", 3))
	nobody := live
	nobody.Members = slices.Clone(live.Members)
	nobody.Members[1] = out
	for name, tt := range map[string]struct {
		b    withdrawal.Payout
		want error
	}{"live": {live, nil}, "a stray": {stray, nil}, "paid alone": {paid, statemachine.ErrForbidden}, "not known": {nobody,
		statemachine.ErrForbidden}} {
		c, err := policy.ApplyBatch(tt.b, unclear, t0)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, m := range c.Members {
			if m.New.Request.ID == b.Members[1].Request.ID {
				t.Errorf("%s: it is news", name)
			}
		}
	}
}
