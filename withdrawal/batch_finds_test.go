package withdrawal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Whatever may pay a member is looked up: also what is on the file of that member
// alone, as long as the batch has it. Afterwards it is looked up with the member.
func TestWhatMayPayAMemberIsLookedUpWithTheBatch(t *testing.T) {
	b := runBatch(t, newBatch(t, 2), withdrawal.BatchCannotTell{By: checker(t0), Other: "y"})
	looks := func(b withdrawal.Payout) []string {
		return policy.NextBatch(b, b.Batch.NextCheckAt).Actions[0].Hashes
	}
	for i := range b.Members { // both name it, in two spellings
		b.Members[i] = run(t, b.Members[i], saidSent(&b.Members[i], []string{"0xAB", "ab"}[i]))
	}
	if got := looks(b); !slices.Equal(got, []string{"v1", "0xAB"}) {
		t.Errorf("%v is looked up", got)
	}
	b.Members[0].Job.Batch = uuid.Nil
	if got := looks(b); !slices.Equal(got, []string{"v1", "ab"}) {
		t.Errorf("%v is looked up without the first", got)
	}
}

// The bytes of a version may pay more than its file says: its receipt is held
// against every member, and nobody is paid again.
func TestAVersionThatPaysMoreThanItsFile(t *testing.T) {
	b := newBatch(t, 3)
	m := b.Members
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	third := transfers(m, 2)[0]
	less := third
	less.AmountRaw = "1"
	moved := transfers(m, 1)[0]
	moved.Output = 0 // which is that of the first
	for _, tt := range []struct {
		name  string
		ev    withdrawal.BatchMined
		where string
	}{
		{"as on file", batchMined(t0, "v2", transfers(m, 0)...), "confirmed, pending, pending"},
		{"the third too", batchMined(t0, "v2", append(transfers(m, 0), third)...), "confirmed, pending, confirmed"},
		{"less for the third", batchMined(t0, "v2", append(transfers(m, 0), less)...), "confirmed, pending, review"},
		{"the third instead", batchMined(t0, "v2", third), "review, pending, confirmed"},
		{"the second, by the output of the first", batchMined(t0, "v2", moved), "review, review, pending"},
		{"reverted", func() withdrawal.BatchMined { e := batchMined(t0, "v2", third); e.Reverted = true; return e }(), "failed, pending, pending"},
	} {
		end := runBatch(t, b, tt.ev)
		if got := where(end); got != tt.where {
			t.Errorf("%s: %s, expected %s", tt.name, got, tt.where)
		}
		if c, err := policy.ApplyBatch(end, tt.ev, t0); err != nil || !c.Empty() {
			t.Errorf("%s, told twice: %v, %d members", tt.name, err, len(c.Members))
		}
	}
	// Twins: what is on file of one is not another's.
	twins := claimedMembers(t, policy, 2)
	for i := range twins {
		twins[i].Request.ToAddress, twins[i].Job.ToAddress = "0xtwin", "0xtwin"
		twins[i].Request.Amount, twins[i].Request.AmountRaw, twins[i].Job.AmountRaw = twins[0].Request.Amount, twins[0].Request.AmountRaw, twins[0].Job.AmountRaw
	}
	b = runBatch(t, withdrawal.Payout{Members: twins}, batchPrepared(t0, twins))
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	if got := where(runBatch(t, b, batchMined(t0, "v2", transfers(twins, 0)...))); got != "confirmed, pending" {
		t.Errorf("one of two twins: %s", got)
	}
	little := transfers(twins, 0, 1)
	little[1].AmountRaw = "1"
	if got := where(runBatch(t, b, batchMined(t0, "v2", little...))); got != "confirmed, review" {
		t.Errorf("one of two twins, and less for the other: %s", got)
	}
	if got := where(runBatch(t, b, batchMined(t0, "v2", transfers(twins, 0, 1)...))); got != "confirmed, confirmed" {
		t.Errorf("two twins, one of them on file: %s", got)
	}
}

// What was decided is told twice: a member that an operator got, since the
// transaction is another request's, is no reason to refuse it.
func TestTheSameMinedAgainAfterARefusedMember(t *testing.T) {
	for _, version := range []bool{false, true} {
		b := newBatch(t, 2)
		ev := outside(batchMined(t0, "x", transfers(b.Members, 0, 1)...))
		if version {
			b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
			ev = batchMined(t0, "v2", transfers(b.Members, 0, 1)...)
		}
		b.Members = slices.Clone(b.Members)
		b.Members[1].Owner = owned(id(77))
		end := runBatch(t, b, ev)
		if got := where(end); got != "confirmed, review" {
			t.Fatal(got)
		}
		end.Members[1].Owner = owned(id(77)) // as it is looked up again
		if c, err := policy.ApplyBatch(end, ev, t0); err != nil || !c.Empty() {
			t.Errorf("of a version %v: %v, %d members", version, err, len(c.Members))
		}
		ev.Block.Hash, ev.Canonical = "another", "another" // other evidence is heard, and refused
		if _, err := policy.ApplyBatch(end, ev, t0); !errors.Is(err, withdrawal.ErrPaymentTaken) {
			t.Errorf("other evidence: %v", err)
		}
	}
}

// Of two workers one sends a batch, or replaces it: who made it, until its lease has
// ended or is revoked.
func TestBatchLease(t *testing.T) {
	made := newBatch(t, 2)
	end := made.Batch.Lease.Until
	other := func(at time.Time) withdrawal.By { by := worker(at); by.Actor = "worker-2"; return by }
	replaced := func(by withdrawal.By, fence int64) withdrawal.BatchReplaced {
		e := batchReplaced(t0, made, "v2", 0)
		e.Actor, e.At, e.Fence = by.Actor, by.At, fence
		return e
	}
	sent := func(by withdrawal.By, fence int64) withdrawal.BatchSent {
		return withdrawal.BatchSent{By: by, Fence: fence, Hash: "v1", Done: true}
	}
	if l := made.Batch.Lease; l.Holder != "worker-1" || l.Fence != 1 || !end.Equal(t0.Add(policy.Lease)) {
		t.Fatalf("who made it has %+v", l)
	}
	last := end.Add(-time.Microsecond)
	revoke := func(holder string, by withdrawal.By) withdrawal.BatchRevoked {
		return withdrawal.BatchRevoked{By: by, Revocation: statemachine.Revocation{Holder: holder, Reason: "it burnt"}}
	}
	revoked := runBatch(t, made, revoke("worker-1", by(withdrawal.Operator, t0)))
	taken := runBatch(t, made, withdrawal.BatchClaimed{By: other(end), Fence: 2})
	over := runBatch(t, made, batchMined(t0, "v1", transfers(made.Members, 0, 1)...))
	for _, tt := range []struct {
		name string
		b    withdrawal.Payout
		ev   withdrawal.BatchEvent
		is   error
		none bool // nothing changes
	}{
		{"sent in its last moment", made, sent(worker(last), 1), nil, false},
		{"sent when it has ended", made, sent(worker(end), 1), statemachine.ErrFenced, true},
		{"sent by another", made, sent(other(t0), 1), statemachine.ErrFenced, true},
		{"sent under another fence", made, sent(worker(t0), 2), statemachine.ErrFenced, true},
		{"replaced in its last moment", made, replaced(worker(last), 1), nil, false},
		{"replaced when it has ended", made, replaced(worker(end), 1), statemachine.ErrFenced, true},
		{"replaced by another", made, replaced(other(t0), 1), statemachine.ErrFenced, true},
		{"claimed by another", made, withdrawal.BatchClaimed{By: other(last)}, statemachine.ErrHeld, true},
		{"claimed anew by its holder", made, withdrawal.BatchClaimed{By: worker(last)}, statemachine.ErrHeld, true},
		{"the same claim again", made, withdrawal.BatchClaimed{By: worker(last), Fence: 1}, nil, true},
		{"a fence that is not the next", made, withdrawal.BatchClaimed{By: other(end), Fence: 3}, statemachine.ErrFenced, true},
		{"claimed when it has ended", made, withdrawal.BatchClaimed{By: other(end)}, nil, false},
		{"sent by who lost it", taken, sent(worker(end), 1), statemachine.ErrFenced, true},
		{"replaced by who lost it", taken, replaced(worker(end), 1), statemachine.ErrFenced, true},
		{"sent by who has it", taken, sent(other(end), 2), nil, false},
		{"replaced by whose was revoked", revoked, replaced(worker(t0), 1), statemachine.ErrFenced, true},
		{"claimed after it was revoked", revoked, withdrawal.BatchClaimed{By: other(t0), Fence: 2}, nil, false},
		{"the report of whose was revoked", revoked, sent(worker(t0), 1), nil, true},
		{"revoked of another", made, revoke("worker-2", other(t0)), nil, true},
		{"revoked by another worker", made, revoke("worker-1", other(t0)), statemachine.ErrForbidden, true},
		{"revoked by itself", made, revoke("worker-1", worker(t0)), nil, false},
		{"an operator gives no reason", made, withdrawal.BatchRevoked{By: by(withdrawal.Operator, t0), Revocation: statemachine.Revocation{Holder: "worker-1"}}, statemachine.ErrInvalid, true},
		{"claimed by a confirmation worker", revoked, withdrawal.BatchClaimed{By: checker(t0)}, statemachine.ErrForbidden, true},
		{"claimed after the end", over, withdrawal.BatchClaimed{By: other(end)}, statemachine.ErrIllegal, true},
		{"sent after the end", over, sent(worker(end), 1), nil, true},
		{"unknown bytes", made, withdrawal.BatchSent{By: worker(t0), Fence: 1, Hash: "v9"}, statemachine.ErrInvalid, true},
	} {
		c, err := policy.ApplyBatch(tt.b, tt.ev, time.Time{})
		if !errors.Is(err, tt.is) || c.Empty() != tt.none {
			t.Errorf("%s: %v, nothing changes: %v", tt.name, err, c.Empty())
		}
		if err := withdrawal.CheckBatch(c.New); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if over.Batch.Lease.Holder != "" {
		t.Error("a batch that is over is leased")
	}
	twice := runBatch(t, made, sent(worker(t0), 1))
	if c, err := policy.ApplyBatch(twice, sent(worker(t0), 1), t0); err != nil || !c.Empty() {
		t.Errorf("the same report again: %v", err)
	}
}

// The room that is kept for what others tell of a member is not for versions of a
// second batch.
func TestRoomForFactsOfAMember(t *testing.T) {
	b := newBatch(t, 2)
	for n := 2; n <= withdrawal.MaxTxs-1; n++ {
		b = runBatch(t, b, batchReplaced(t0, b, fmt.Sprint("v", n), 1))
	}
	b = runBatch(t, b, outside(batchMined(t0, "x", transfers(b.Members, 0)...)))
	if got := where(b); got != "confirmed, pending" || len(b.Members[1].Txs) != withdrawal.MaxTxs-1 {
		t.Fatalf("%s, %d on file", got, len(b.Members[1].Txs))
	}
	w := run(t, b.Members[1], withdrawal.Claimed{By: worker(b.Members[1].Job.ScheduledAt)})
	e := batchPrepared(w.Job.ClaimedAt, []withdrawal.Withdrawal{w})
	e.Batch, e.Hash, e.Nonce, e.ChainNonce = id(91), "w1", 8, 8
	second := runBatch(t, withdrawal.Payout{Members: []withdrawal.Withdrawal{w}}, e)
	if len(second.Payable()) != 0 {
		t.Error("a replacement may pay it, and there is no room")
	}
	full := batchReplaced(w.Job.ClaimedAt, second, "w2", 0)
	if c, err := policy.ApplyBatch(second, full, time.Time{}); !errors.Is(err, statemachine.ErrIllegal) || !strings.Contains(fmt.Sprint(err), "at most 100") || !c.Empty() {
		t.Errorf("the 101st of a worker: %v", err)
	}
	none := runBatch(t, second, batchReplaced(w.Job.ClaimedAt, second, "w2"))
	none = runBatch(t, none, batchMined(t0, "w2"))
	again := none.Members[0]
	again = run(t, again, withdrawal.Claimed{By: worker(again.Job.ScheduledAt)})
	e = batchPrepared(again.Job.ClaimedAt, []withdrawal.Withdrawal{again})
	e.Batch, e.Hash, e.Nonce, e.ChainNonce = id(92), "z1", 9, 9
	if c, err := policy.ApplyBatch(withdrawal.Payout{Members: []withdrawal.Withdrawal{again}}, e, time.Time{}); !strings.Contains(fmt.Sprint(err), "at most 100") || !c.Empty() {
		t.Errorf("another batch: %v", err)
	}
	told := withdrawal.PaidBy{By: by(withdrawal.Operator, t0), Block: block(3), Tx: "told", Payee: again.Request.ToAddress, AssetOnChain: token, AmountRaw: again.Request.AmountRaw, Reason: "seen"}
	if paid := run(t, again, told); paid.Request.Status != withdrawal.RequestCompleted {
		t.Errorf("what somebody tells of: %v", paid.Request.Status)
	}
}

// largestBatch has 1,000 members and 100 versions, each of which pays all.
func largestBatch(t testing.TB) withdrawal.Payout {
	m := claimedMembers(t, policy, 1)
	b := runBatch(t, withdrawal.Payout{Members: m}, batchPrepared(t0, m))
	one := b.Members[0]
	b.Members, b.Txs = nil, nil
	b.Batch.Members, b.Batch.TxsOnFile, b.Batch.TxHash = withdrawal.MaxMembers, withdrawal.MaxTxs, "v100"
	for n := range withdrawal.MaxTxs {
		b.Txs = append(b.Txs, withdrawal.BatchTx{Batch: b.Batch.ID, Seq: int32(n) + 1, Hash: fmt.Sprint("v", n+1), Raw: []byte{1}})
	}
	for i := range withdrawal.MaxMembers {
		w := one
		w.Request.ID[0], w.Request.ID[1] = byte(i>>8), byte(i)
		w.Job.Request, w.Attempt, w.Txs = w.Request.ID, withdrawal.Attempt{}, nil
		w.Job.TxsOnFile, w.Job.TxHash = withdrawal.MaxTxs, "v100"
		for n := range withdrawal.MaxTxs {
			tx := one.Txs[0]
			tx.Request, tx.Seq, tx.Hash, tx.Output = w.Request.ID, int32(n)+1, b.Txs[n].Hash, uint32(i)
			w.Txs = append(w.Txs, tx)
		}
		b.Members = append(b.Members, w)
	}
	return b
}

// The largest batch is checked in time that grows with what is on file: by pairs of
// members and versions it would take hours.
func TestTheLargestBatchIsChecked(t *testing.T) {
	b := largestBatch(t)
	if err := withdrawal.CheckBatch(b); err != nil {
		t.Fatal(err)
	}
	b.Members[999].Txs[99].Output = 0
	if err := withdrawal.CheckBatch(b); !errors.Is(err, statemachine.ErrCorrupt) || !strings.Contains(err.Error(), "an output pays one member") {
		t.Errorf("two of one output: %v", err)
	}
	b.Members[999].Txs[99].Output, b.Members[999].Txs[98].Hash = 999, "v0"
	if err := withdrawal.CheckBatch(b); !errors.Is(err, statemachine.ErrCorrupt) || !strings.Contains(err.Error(), "is a version") {
		t.Errorf("of no version: %v", err)
	}
}

func BenchmarkCheckBatch(b *testing.B) {
	p := largestBatch(b)
	for b.Loop() {
		if err := withdrawal.CheckBatch(p); err != nil {
			b.Fatal(err)
		}
	}
}
