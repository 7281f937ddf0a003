package withdrawal_test

import (
	"errors"
	"reflect"
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
	if got := b.Stopped(); len(got) > 0 {
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

// What a version and its evidence must be, at their bounds.
func TestBoundsOfABatch(t *testing.T) {
	m := claimedMembers(t, policy, 2)
	for name, change := range map[string]func(*withdrawal.BatchPrepared){
		"an id":                     func(e *withdrawal.BatchPrepared) { e.Batch = uuid.Nil },
		"a request that is none":    func(e *withdrawal.BatchPrepared) { e.Pays[1].Request = id(1) },
		"bytes of 128 KiB and more": func(e *withdrawal.BatchPrepared) { e.Raw = make([]byte, withdrawal.MaxRaw+1) },
	} {
		e := batchPrepared(t0, m)
		change(&e)
		if c, err := policy.ApplyBatch(withdrawal.Payout{Members: m}, e, t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
			t.Errorf("%s: %v", name, err)
		}
	}
	largest := batchPrepared(t0, m)
	largest.Raw = make([]byte, withdrawal.MaxRaw)
	b := runBatch(t, withdrawal.Payout{Members: m}, largest)
	for name, change := range map[string]func(*withdrawal.BatchReplaced){
		"a hash": func(e *withdrawal.BatchReplaced) { e.Hash = "" }, "a hash of 101 bytes": func(e *withdrawal.BatchReplaced) { e.Hash = strings.Repeat("h", 101) },
		"a NUL in a hash": func(e *withdrawal.BatchReplaced) { e.Hash = "h\x00" },
	} {
		e := batchReplaced(t0, b, "v2") // which pays nobody: no member looks at it
		change(&e)
		if _, err := policy.ApplyBatch(b, e, t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unloaded := b
	unloaded.Txs = nil
	if _, err := policy.ApplyBatch(unloaded, batchReplaced(t0, b, "v2"), t0); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("not loaded: %v", err)
	}
	for name, change := range map[string]func(*withdrawal.BatchMined){
		"a block hash of 101 bytes": func(e *withdrawal.BatchMined) { e.Block.Hash = strings.Repeat("b", 101) },
		"a NUL in a block hash":     func(e *withdrawal.BatchMined) { e.Block.Hash = "b\x00" },
		"a nonce that is none":      func(e *withdrawal.BatchMined) { *e = outside(*e); e.Tx, e.HasNonce = "x", false },
	} {
		e := batchMined(t0, "v1")
		change(&e)
		e.Canonical = e.Block.Hash
		if _, err := policy.ApplyBatch(b, e, t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := slices.Clone(m)
	other[1].Job.Chain = id(77)
	if _, err := policy.ApplyBatch(withdrawal.Payout{Members: other}, batchPrepared(t0, m), t0); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("of two chains: %v", err)
	}
	// What reverted pays nobody, whoever made it: nobody needs to look.
	reverted := outside(batchMined(t0, "x"))
	reverted.Looked, reverted.Reverted = false, true
	if got := where(runBatch(t, b, reverted)); got != "pending, pending" {
		t.Error(got)
	}
}

// A step writes through none of what it was given, in one order whatever the order of
// what it pays, with one line and one fact for each change.
func TestABatchStepIsAValue(t *testing.T) {
	m := claimedMembers(t, policy, 3)
	slices.Reverse(m)
	before := slices.Clone(m)
	c, err := policy.ApplyBatch(withdrawal.Payout{Members: m}, batchPrepared(t0, m), t0)
	if err != nil || !reflect.DeepEqual(m, before) {
		t.Fatalf("what it was given has changed, %v", err)
	}
	sorted := func(all []withdrawal.Change) bool {
		return slices.IsSortedFunc(all, func(a, b withdrawal.Change) int { return withdrawal.CompareMembers(&a.New, &b.New) })
	}
	if !sorted(c.Members) || len(c.Txs) != 1 || c.Txs[0].Hash != "v1" || len(c.Log) != 1 || c.New.Batch.Owner != c.New.Members[0].Job.ID {
		t.Errorf("%d facts, %d lines", len(c.Txs), len(c.Log))
	}
	next, err := policy.ApplyBatch(c.New, batchReplaced(t0, c.New, "v2", 2, 1, 0), t0)
	if err != nil || !sorted(next.Members) || len(next.Txs) != 1 || next.Txs[0].Seq != 2 {
		t.Errorf("%v, %d facts", err, len(next.Txs))
	}
	for i := range next.Members { // the events of members carry no version and no owner of theirs
		if next.Members[i].New.Owner.Valid {
			t.Error("an owner stays")
		}
	}
	// A version that the batch decided on is none of a member's.
	e := batchReplaced(t0, c.New, "v3", 0)
	if e.Version == c.New.Members[0].Job.Version {
		t.Fatal("the versions are equal: nothing is tried")
	}
	runBatch(t, c.New, e)
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

// Changes of columns outside the version are a touch, each alone; nothing is one.
func TestTouchOfABatch(t *testing.T) {
	b := newBatch(t, 2)
	none := withdrawal.BatchChange{Old: b, New: b}
	if none.Touch() || !none.Empty() {
		t.Error("nothing is a touch")
	}
	for name, change := range map[string]func(*withdrawal.BatchChange){
		"next check":  func(c *withdrawal.BatchChange) { c.New.Batch.NextCheckAt = t0.Add(time.Second) },
		"rebroadcast": func(c *withdrawal.BatchChange) { c.New.Batch.Rebroadcast = !c.New.Batch.Rebroadcast },
		"lease":       func(c *withdrawal.BatchChange) { c.New.Batch.Lease.Fence++ },
	} {
		c := none
		if change(&c); !c.Touch() || c.Empty() {
			t.Errorf("%s: touch %v, empty %v", name, c.Touch(), c.Empty())
		}
		if c.New.Batch.Version++; c.Touch() {
			t.Errorf("%s: a version is a touch", name)
		}
	}
	lines, members := none, none
	lines.Log, members.Members = make([]statemachine.Transition[uuid.UUID], 1), make([]withdrawal.Change, 1)
	if lines.Empty() || members.Empty() {
		t.Error("a line, or a member, is nothing")
	}
}

// Below the depth only the next check moves, and of one that is over nothing.
func TestAShallowBatch(t *testing.T) {
	b := newBatch(t, 2)
	shallow := batchMined(t0.Add(time.Second), "v1", transfers(b.Members, 0, 1)...)
	shallow.Block = block(2)
	c, err := policy.ApplyBatch(b, shallow, time.Time{})
	if err != nil || !c.Touch() || !c.New.Batch.NextCheckAt.Equal(shallow.At.Add(policy.CheckEvery)) || len(c.Members) > 0 {
		t.Errorf("%v, next at %v", err, c.New.Batch.NextCheckAt)
	}
	end := runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...))
	if c, err := policy.ApplyBatch(end, shallow, time.Time{}); err != nil || !c.Empty() {
		t.Errorf("after the end: %v", err)
	}
	// The end has the hash as it is on file, in whichever spelling it was told.
	hex := claimedMembers(t, policy, 2)
	prep := batchPrepared(t0, hex)
	prep.Hash = "0xABCD"
	spelt := runBatch(t, withdrawal.Payout{Members: hex}, prep, batchMined(t0, "abcd", transfers(hex, 0, 1)...))
	if spelt.Batch.TxHash != "0xABCD" || spelt.Members[0].Request.FinalTxHash != "0xABCD" {
		t.Errorf("%s, %s", spelt.Batch.TxHash, spelt.Members[0].Request.FinalTxHash)
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

// When a batch is due: not of one that is over, and of one that somebody sends when
// the lease and the next check are over.
func TestWhenABatchIsDue(t *testing.T) {
	b := newBatch(t, 2)
	h := b.Batch
	send := func() time.Time { at, _ := withdrawal.BatchDueAt(withdrawal.DueBatchSend, &h, 0); return at }
	if at := send(); !at.Equal(h.Lease.Until) {
		t.Errorf("leased: %v", at)
	}
	h.NextCheckAt = h.Lease.Until.Add(time.Second)
	if at := send(); !at.Equal(h.NextCheckAt) {
		t.Errorf("leased, and checked later: %v", at)
	}
	h.Lease.Holder = ""
	if h.NextCheckAt = t0; !send().Equal(t0) {
		t.Errorf("not leased: %v", send())
	}
	h.Status = withdrawal.BatchConfirmed
	for _, kind := range withdrawal.BatchDue(0).Values() {
		if _, ok := withdrawal.BatchDueAt(kind, &h, 0); ok {
			t.Errorf("%v of one that is over", kind)
		}
	}
	// The step is due again at the next check, or after it has been due.
	if step := policy.NextBatch(b, b.Batch.NextCheckAt.Add(-time.Microsecond)); !step.Due.Equal(b.Batch.NextCheckAt) {
		t.Errorf("%v", step.Due)
	}
	if step := policy.NextBatch(b, b.Batch.NextCheckAt); !step.Due.Equal(b.Batch.NextCheckAt.Add(policy.CheckEvery)) {
		t.Errorf("%v", step.Due)
	}
	unloaded := b
	unloaded.Txs, unloaded.Batch.Lease = nil, statemachine.Lease{}
	if step := policy.NextBatch(unloaded, b.Batch.NextCheckAt); len(step.Actions) != 1 {
		t.Errorf("%+v", step.Actions)
	}
	// Versions of the batch are looked up once, whoever has them on file.
	look := policy.NextBatch(b, b.Batch.NextCheckAt).Actions[0]
	if !slices.Equal(look.Hashes, []string{"v1"}) {
		t.Errorf("%v", look.Hashes)
	}
	spelt := b
	spelt.Members = slices.Clone(b.Members)
	spelt.Members[0].Txs = slices.Clone(spelt.Members[0].Txs)
	spelt.Members[0].Txs[0].Hash = "v0" // an audit finds it; it is no other transaction to look up
	if look := policy.NextBatch(spelt, b.Batch.NextCheckAt).Actions[0]; !slices.Equal(look.Hashes, []string{"v1"}) {
		t.Errorf("%v", look.Hashes)
	}
}

// Each invariant of a batch, broken alone.
func TestCheckOfABatch(t *testing.T) {
	if err := withdrawal.CheckBatch(withdrawal.Payout{}); err != nil {
		t.Errorf("none: %v", err)
	}
	for want, change := range map[string]func(*withdrawal.Payout){
		"numbered without gaps":           func(b *withdrawal.Payout) { b.Txs[0].Seq = 2 },
		"have their bytes":                func(b *withdrawal.Payout) { b.Txs[0].Raw = nil },
		"on file once":                    func(b *withdrawal.Payout) { b.Txs[0].Hash, b.Txs[1].Hash, b.Batch.TxHash = "0xAB", "ab", "ab" },
		"has a version on file":           func(b *withdrawal.Payout) { b.Members[1].Txs[0].Batch = uuid.Nil },
		"is a version":                    func(b *withdrawal.Payout) { b.Members[1].Txs[0].Hash = "other" },
		"paid from the batch's wallet":    func(b *withdrawal.Payout) { b.Members[1].Job.Wallet = id(77) },
		"is exclusive with the batch":     func(b *withdrawal.Payout) { b.Members[1].Txs[0].Nonce = 8 },
		"an output pays one member":       func(b *withdrawal.Payout) { b.Members[1].Txs[0].Output = 0 },
		"a status and a version":          func(b *withdrawal.Payout) { b.Batch.Version = 0 },
		"0 <= retry_count <= max_retries": func(b *withdrawal.Payout) { b.Members[1].Job.MaxRetries = 0 },
	} {
		b := newBatch(t, 2)
		b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
		b.Txs, b.Members = slices.Clone(b.Txs), slices.Clone(b.Members)
		for i := range b.Members {
			b.Members[i].Txs = slices.Clone(b.Members[i].Txs)
		}
		change(&b)
		if err := withdrawal.CheckBatch(b); !errors.Is(err, statemachine.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
