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
