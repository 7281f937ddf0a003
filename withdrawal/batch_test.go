package withdrawal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
	"github.com/settlehq/settle/withdrawal"
)

func TestBatchTable(t *testing.T) {
	looplabtest.Agree(t, withdrawal.BatchMachine)
	compareTable(t, withdrawal.BatchMachine, `none prepare confirming, confirming replace confirming, confirming confirm confirmed,
confirming reverted failed, confirming mined by another failed`)
}

// What becomes of a batch of three.
func TestBatchDecidesEachMember(t *testing.T) {
	b := newBatch(t, 3)
	if got := where(b); got != "in, in, in" || b.Batch.Status != withdrawal.BatchConfirming || b.Batch.Owner != b.Members[0].Job.ID {
		t.Fatalf("prepared: %s, owner %v", got, b.Batch.Owner)
	}
	m := b.Members
	wrong := transfers(m, 0, 1, 2)
	wrong[1].AmountRaw = "1"
	swapped := transfers(m, 0, 1, 2)
	swapped[1].Output, swapped[2].Output = 2, 1
	dropped := runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	if got := where(dropped); got != "in, in, in" {
		t.Fatalf("dropped: %s: a member is dropped by proof alone", got)
	}
	empty := runBatch(t, dropped, batchReplaced(t0, dropped, "v3"))
	again := runBatch(t, dropped, batchReplaced(t0, dropped, "v3", 2))
	reverted := func(tx string) withdrawal.BatchMined { e := batchMined(t0, tx); e.Reverted = true; return e }
	low := batchMined(t0, "v1", transfers(m, 0, 1, 2)...)
	low.Block = block(2)
	fork := low
	fork.Block = block(3)
	fork.Canonical = "other"
	partial := transfers(m, 0)
	partial = append(partial, withdrawal.Transfer{Output: 1, Payee: m[1].Request.ToAddress, AssetOnChain: token, AmountRaw: "5"})
	for _, tt := range []struct {
		name  string
		b     withdrawal.Payout
		ev    withdrawal.BatchEvent
		where string
		batch withdrawal.BatchStatus
	}{
		{"all shown", b, batchMined(t0, "v1", transfers(m, 0, 1, 2)...), "confirmed, confirmed, confirmed", withdrawal.BatchConfirmed},
		{"below the depth", b, low, "in, in, in", withdrawal.BatchConfirming},
		{"another chain", b, fork, "in, in, in", withdrawal.BatchConfirming},
		{"one is not shown", b, batchMined(t0, "v1", transfers(m, 0, 2)...), "confirmed, review, confirmed", withdrawal.BatchConfirmed},
		{"none is shown", b, batchMined(t0, "v1"), "review, review, review", withdrawal.BatchConfirmed},
		{"another amount", b, batchMined(t0, "v1", wrong...), "confirmed, review, confirmed", withdrawal.BatchConfirmed},
		{"by each other's output", b, batchMined(t0, "v1", swapped...), "confirmed, review, review", withdrawal.BatchConfirmed},
		{"reverted", b, reverted("v1"), "failed, failed, failed", withdrawal.BatchFailed},
		{"mined without the dropped one", dropped, batchMined(t0, "v2", transfers(m, 0, 1)...), "confirmed, confirmed, pending", withdrawal.BatchConfirmed},
		{"the version before the drop is mined", dropped, batchMined(t0, "v1", transfers(m, 0, 1, 2)...), "confirmed, confirmed, confirmed", withdrawal.BatchConfirmed},
		{"reverted without the dropped one", dropped, reverted("v2"), "failed, failed, pending", withdrawal.BatchFailed},
		{"a version that pays nobody", empty, batchMined(t0, "v3"), "pending, pending, pending", withdrawal.BatchConfirmed},
		{"dropped and taken back", again, batchMined(t0, "v3", transfers(m, 2)...), "pending, pending, confirmed", withdrawal.BatchConfirmed},
		{"missing", b, withdrawal.BatchMissing{By: checker(t0.Add(1000 * time.Hour))}, "in, in, in", withdrawal.BatchConfirming},
		{"another, of somebody else", b, outside(batchMined(t0, "x")), "pending, pending, pending", withdrawal.BatchFailed},
		{"another, reverted", b, outside(reverted("x")), "pending, pending, pending", withdrawal.BatchFailed},
		{"another, that pays all", b, outside(batchMined(t0, "x", transfers(m, 0, 1, 2)...)), "confirmed, confirmed, confirmed", withdrawal.BatchFailed},
		{"another, that pays one", b, outside(batchMined(t0, "x", transfers(m, 1)...)), "pending, confirmed, pending", withdrawal.BatchFailed},
		{"another, with less for one", b, outside(batchMined(t0, "x", partial...)), "confirmed, review, pending", withdrawal.BatchFailed},
		{"nobody can tell", b, withdrawal.BatchCannotTell{By: checker(t0), Other: "x"}, "review in, review in, review in", withdrawal.BatchConfirming},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runBatch(t, tt.b, tt.ev)
			if where(got) != tt.where || got.Batch.Status != tt.batch {
				t.Fatalf("%s, batch %v; expected %s, %v", where(got), got.Batch.Status, tt.where, tt.batch)
			}
			again, err := policy.ApplyBatch(got, tt.ev, time.Time{})
			if err == nil && !again.Empty() && len(again.Log)+len(again.Members) > 0 {
				t.Fatalf("the same again changes %d members", len(again.Members))
			}
			for i := range got.Members {
				w := &got.Members[i]
				if tt.where == "pending, pending, pending" && (w.Job.Live() || w.Job.TxHash != "" || w.Job.Batch != uuid.Nil) {
					t.Fatalf("member %d is pending with something live: %+v", i, w.Job)
				}
			}
		})
	}
}

// What was claimed behind another job cannot be paid alone, and takes no slot.
func TestBehindHasNoSlot(t *testing.T) {
	m := claimedMembers(t, policy, 2)
	if !m[0].Job.Slot.Valid || m[1].Job.Slot.Valid {
		t.Fatalf("slots %v, %v", m[0].Job.Slot, m[1].Job.Slot)
	}
	for _, ev := range []withdrawal.Event{prepared(t0, 1, "alone", 7), withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"}} {
		if _, err := policy.Apply(m[1], ev); !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("%T behind another: %v", ev, err)
		}
		if _, err := policy.Apply(m[0], ev); err != nil {
			t.Errorf("%T with the slot: %v", ev, err)
		}
	}
}

// A batch without nonces shares an input.
func TestBatchByInput(t *testing.T) {
	p := newPolicy()
	p.Chain.Nonces = false
	m := claimedMembers(t, p, 2)
	e := batchPrepared(t0, m)
	e.Nonce, e.HasNonce, e.ChainNonce, e.HasChainNonce, e.Input = 0, false, 0, false, "in:0"
	c, err := p.ApplyBatch(withdrawal.Payout{Members: m}, e, t0)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = p.ApplyBatch(c.New, batchReplaced(t0, c.New, "v2", 1), t0); err != nil {
		t.Fatal(err)
	}
	x := batchMined(t0, "x")
	x.Looked, x.Input = true, "in:1"
	if _, err := p.ApplyBatch(c.New, x, t0); !errors.Is(err, statemachine.ErrInvalid) {
		t.Fatalf("another input: %v", err)
	}
	if c, err = p.ApplyBatch(c.New, batchMined(t0, "v2", transfers(m, 1)...), t0); err != nil || where(c.New) != "pending, confirmed" {
		t.Fatalf("%v: %s", err, where(c.New))
	}
	if err := withdrawal.CheckBatch(c.New); err != nil {
		t.Fatal(err)
	}
}

// A member that the mined version left out is resolved by an operator.
func TestLeftOut(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0)...))
	w := b.Members[1]
	op := by(withdrawal.Operator, t0)
	if !w.Job.Review || w.Job.Batch != uuid.Nil {
		t.Fatalf("%+v", w.Job)
	}
	if c, err := policy.Apply(w, receipt(t0, "v1", 3)); err != nil || len(c.Log) > 0 {
		t.Fatalf("a bare receipt: %v, %v", err, c.Log)
	}
	left := withdrawal.ProvenDead{By: checker(t0), Block: block(3), Tx: "v1", Cause: withdrawal.LeftOut}
	if _, err := policy.Apply(w, left); !errors.Is(err, statemachine.ErrForbidden) {
		t.Fatalf("the confirmation worker: %v", err)
	}
	left.By = op
	back := run(t, w, left)
	if back.Job.Status != withdrawal.JobPending || back.Job.Live() {
		t.Fatalf("left out: %v", back.Job.Status)
	}
	paid := withdrawal.PaidBy{By: op, Block: block(3), Tx: "v1", Output: 1, Payee: w.Request.ToAddress, AssetOnChain: token, AmountRaw: w.Request.AmountRaw, Reason: "the event is there"}
	if got := run(t, w, paid); got.Request.Status != withdrawal.RequestCompleted || got.Request.FinalTxHash != "v1" {
		t.Fatalf("paid after all: %v", got.Request.Status)
	}
	paid.Output = 0
	if _, err := policy.Apply(w, paid); !errors.Is(err, statemachine.ErrInvalid) {
		t.Fatalf("by the output of another: %v", err)
	}
	// It was wrong that it was left out: an incident, and it is not paid again.
	b.Members[1] = back
	b = runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...))
	if w := b.Members[1]; !w.Job.Review || w.Request.Mined != "v1" {
		t.Fatalf("a wrong proof: %v, mined %q", where(b), w.Request.Mined)
	}
	// Of a transaction that is the request's alone it is no cause.
	alone := states(t)["confirming review"]
	left.Tx = "tx1"
	if _, err := policy.Apply(alone, left); !errors.Is(err, statemachine.ErrInvalid) {
		t.Fatalf("alone: %v", err)
	}
}

// After the end the chain shows another version, at depth: incidents.
func TestBatchAfterItsEnd(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	end := runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...))
	c, err := policy.ApplyBatch(end, batchMined(t0, "v2", transfers(b.Members, 0)...), t0)
	if err != nil || len(c.Members) != 2 {
		t.Fatalf("%v: %d members", err, len(c.Members))
	}
	for i, claim := range []withdrawal.IncidentClaim{withdrawal.ClaimMined, withdrawal.ClaimDead} {
		if in := c.Members[i].Incidents; len(in) != 1 || in[0].Claim != claim {
			t.Errorf("member %d: %+v, expected %s", i, in, claim)
		}
	}
	if c.New.Batch.Version != end.Batch.Version || c.New.Members[0].Request.Status != withdrawal.RequestCompleted {
		t.Error("an end is no end")
	}
	gone, err := policy.ApplyBatch(end, batchMined(t0, "v1", transfers(b.Members, 0)...), t0)
	if err != nil || len(gone.Members) != 1 || gone.Members[0].Incidents[0].Claim != withdrawal.ClaimLeftOut {
		t.Fatalf("%v: %+v", err, gone.Members)
	}
	for _, ev := range []withdrawal.BatchEvent{batchSent(t0, end, "v2"), withdrawal.BatchCannotTell{By: checker(t0), Other: "x"}, withdrawal.BatchMissing{By: checker(t0)}, withdrawal.BatchLooking{By: checker(t0)}} {
		if c, err := policy.ApplyBatch(end, ev, t0); err != nil || !c.Empty() {
			t.Errorf("%T after the end: %v", ev, err)
		}
	}
}

func TestBatchOwes(t *testing.T) {
	b := newBatch(t, 2)
	does := func(b withdrawal.Payout, at time.Time) (all []string) {
		for _, a := range policy.NextBatch(b, at).Actions {
			all = append(all, a.Do.String()+" "+strings.Join(a.Hashes, " "))
		}
		return all
	}
	if got := does(b, t0); !slices.Equal(got, []string{"look up v1"}) {
		t.Fatalf("who prepared it sends it: %v", got)
	}
	if got := does(b, freeAt(b)); !slices.Equal(got, []string{"look up v1", "rebroadcast v1"}) {
		t.Fatalf("prepared: %v", got)
	}
	for kind, want := range map[withdrawal.BatchDue]time.Time{withdrawal.DueBatchSend: freeAt(b), withdrawal.DueBatchCheck: t0.Add(time.Second)} {
		if at, ok := withdrawal.BatchDueAt(kind, &b.Batch, time.Second); !ok || !at.Equal(want) {
			t.Errorf("%v from %v, %v", kind, at, ok)
		}
	}
	sent := runBatch(t, b, batchSent(t0, b, "v1"))
	if _, ok := withdrawal.BatchDueAt(withdrawal.DueBatchSend, &sent.Batch, 0); ok || len(does(sent, t0)) > 0 {
		t.Fatalf("sent: %v", does(sent, t0))
	}
	later := t0.Add(policy.CheckEvery)
	if got := does(sent, later); !slices.Equal(got, []string{"look up v1"}) {
		t.Fatalf("later: %v", got)
	}
	two := claimedBatch(t, sent, t0)
	two = runBatch(t, two, batchReplaced(t0, two, "v2", 0))
	if got := does(two, freeAt(two)); !slices.Equal(got, []string{"look up v1 v2", "rebroadcast v2"}) {
		t.Fatalf("replaced: %v", got)
	}
	old := runBatch(t, two, batchSent(t0, two, "v1"))
	if !old.Batch.Rebroadcast {
		t.Error("an older version is no answer for the newest")
	}
	missing := runBatch(t, sent, withdrawal.BatchMissing{By: checker(later)})
	if !missing.Batch.Rebroadcast || where(missing) != "in, in" {
		t.Error("a missing one is sent again")
	}
	for at, want := range map[time.Time]int64{later: 0, later.Add(time.Microsecond): 1} {
		s := withdrawal.Stats{At: at}
		if s.CountBatch(&sent.Batch); s.BatchesOverdue != want || s.Stuck() != want {
			t.Errorf("at %v %d are overdue", at, s.BatchesOverdue)
		}
	}
	end := runBatch(t, two, batchMined(t0, "v2", transfers(two.Members, 0)...))
	if step := policy.NextBatch(end, later); len(step.Actions) > 0 || step.Party != 0 {
		t.Errorf("an ended one owes %+v", step)
	}
	s := withdrawal.Stats{At: later.Add(time.Hour)}
	if s.CountBatch(&end.Batch); s.BatchesOverdue != 0 {
		t.Error("an ended one is overdue")
	}
}

// What is on the file of one member and is no version is of that member alone:
// what it pays is told by its receipt, and by no output that a version has.
func TestWhatIsNoVersionIsOfOneMember(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, withdrawal.BatchCannotTell{By: checker(t0), Other: "y"})
	y1 := saidSent(&b.Members[1], "y")
	y1.Output = 1
	b.Members[1] = run(t, b.Members[1], y1)
	if _, pays := b.Pays("y", &b.Members[1]); pays || !b.Has(&b.Members[1]) {
		t.Fatal("it is taken for a version")
	}
	y := outside(batchMined(t0, "y", transfers(b.Members, 1)...))
	if got := where(runBatch(t, b, y)); got != "review, confirmed" {
		t.Fatal(got)
	}
	y.Transfers = nil
	if got := where(runBatch(t, b, y)); got != "review, review" {
		t.Fatalf("it does not show what it pays: %s", got)
	}
}

// After the end another transaction has the nonce, at depth, and pays: what the
// record says is wrong, and nobody is paid again in silence.
func TestPaidByAnotherAfterTheEnd(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	b = runBatch(t, b, batchMined(t0, "v2", transfers(b.Members, 0)...))
	first := outside(batchMined(t0, "x", transfers(b.Members, 0)...))
	c, err := policy.ApplyBatch(b, first, t0)
	if err != nil || len(c.Members) != 1 || c.New.Members[0].Request.Mined != "x" {
		t.Fatalf("%v: of a confirmed one: %+v", err, c.Members)
	}
	both := outside(batchMined(t0, "x", transfers(b.Members, 0, 1)...))
	if c, err := policy.ApplyBatch(b, both, t0); !errors.Is(err, statemachine.ErrForbidden) || !c.Empty() {
		t.Fatalf("a pending one by the confirmation worker: %v", err)
	}
	both.By, both.Reason = by(withdrawal.Operator, t0), "seen"
	if c, err = policy.ApplyBatch(b, both, t0); err != nil || where(c.New) != "confirmed, confirmed" || c.New.Members[1].Request.FinalTxHash != "x" {
		t.Fatalf("by an operator: %v, %s", err, where(c.New))
	}
}

// A version that shows less than the one by which a member was confirmed.
func TestAnotherVersionLeavesOutWhoWasConfirmed(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	b = runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...))
	c, err := policy.ApplyBatch(b, batchMined(t0, "v2", transfers(b.Members, 0)...), t0)
	if err != nil || len(c.Members) != 2 || c.Members[1].Incidents[0].Claim != withdrawal.ClaimDead {
		t.Fatalf("%v: %+v", err, c.Members)
	}
}

// Out of its batch and out of review a receipt tells nothing, and an operator
// gets it again; what an operator says of it counts.
func TestABareReceiptIsNoEnd(t *testing.T) {
	op := by(withdrawal.Operator, t0)
	b := newBatch(t, 2)
	out := runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0)...)).Members[1]
	paid := withdrawal.PaidBy{By: op, Block: block(3), Tx: "v1", Output: 1, Payee: out.Request.ToAddress, AssetOnChain: token, AmountRaw: out.Request.AmountRaw, Reason: "the event is there"}
	dropped := runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	dropped = runBatch(t, dropped, batchMined(t0, "v2", transfers(b.Members, 0)...))
	revived := runBatch(t, dropped, batchMined(t0, "v1", transfers(b.Members, 0, 1)...)).Members[1]
	for name, w := range map[string]withdrawal.Withdrawal{"left out": out, "declared dead": revived} {
		if !w.Job.Review {
			t.Fatalf("%s: not in review", name)
		}
		if got := run(t, w, paid); got.Request.FinalTxHash != "v1" {
			t.Errorf("%s: an operator's word: %v", name, got.Job.Status)
		}
		sent := op
		sent.Version = w.Job.Version
		w = run(t, w, withdrawal.Resolved{By: sent, Job: w.Job.ID, Sent: true, Hash: "v1", Reason: "it is there"}, receipt(t0, "v1", 2))
		if w.Job.Review {
			t.Errorf("%s: below the depth", name)
		}
		if w = run(t, w, receipt(t0, "v1", 3)); !w.Job.Review || w.Job.Status != withdrawal.JobConfirming {
			t.Errorf("%s: a bare receipt: %+v", name, w.Job)
		}
	}
}

// Two members with one address and one amount: each output pays one of them.
func TestTwinsInABatch(t *testing.T) {
	m := claimedMembers(t, policy, 3)
	for i := range m {
		m[i].Request.ToAddress, m[i].Job.ToAddress = "0xtwin", "0xtwin"
		m[i].Request.Amount, m[i].Request.AmountRaw, m[i].Job.AmountRaw = m[0].Request.Amount, m[0].Request.AmountRaw, m[0].Job.AmountRaw
	}
	b := runBatch(t, withdrawal.Payout{Members: m}, batchPrepared(t0, m))
	for _, tt := range []struct {
		name  string
		ev    withdrawal.BatchMined
		where string
	}{
		{"all three", batchMined(t0, "v1", transfers(m, 0, 1, 2)...), "confirmed, confirmed, confirmed"},
		{"one is not there", batchMined(t0, "v1", transfers(m, 0, 2)...), "confirmed, review, confirmed"},
		{"another pays three", outside(batchMined(t0, "x", transfers(m, 0, 1, 2)...)), "confirmed, confirmed, confirmed"},
		{"another pays two of them: which?", outside(batchMined(t0, "x", transfers(m, 0, 1)...)), "review, review, review"},
		{"another pays none", outside(batchMined(t0, "x")), "pending, pending, pending"},
	} {
		if got := where(runBatch(t, b, tt.ev)); got != tt.where {
			t.Errorf("%s: %s, expected %s", tt.name, got, tt.where)
		}
	}
}

// A batch of one, and a full one.
func TestSmallestAndLargestBatch(t *testing.T) {
	one := newBatch(t, 1)
	if got := where(runBatch(t, one, batchMined(t0, "v1", transfers(one.Members, 0)...))); got != "confirmed" {
		t.Error(got)
	}
	e := batchPrepared(t0, claimedMembers(t, policy, 1))
	for len(e.Pays) < withdrawal.MaxMembers+1 {
		e.Pays = append(e.Pays, e.Pays[0])
	}
	if _, err := policy.ApplyBatch(withdrawal.Payout{Members: one.Members}, e, t0); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("too many: %v", err)
	}
}

// A receipt with more transfers than evidence shows is refused by that name; those of
// others can be left out.
func TestTransfersOfABatchAreBounded(t *testing.T) {
	b := newBatch(t, 1)
	all := transfers(b.Members, 0)
	for len(all) < withdrawal.MaxTransfers {
		all = append(all, withdrawal.Transfer{Output: uint32(len(all)), Payee: "somebody", AmountRaw: "1"})
	}
	if got := where(runBatch(t, b, batchMined(t0, "v1", all...))); got != "confirmed" {
		t.Errorf("with %d transfers: %s", len(all), got)
	}
	all = append(all, withdrawal.Transfer{Output: uint32(len(all)), Payee: "somebody", AmountRaw: "1"})
	_, err := policy.ApplyBatch(b, batchMined(t0, "v1", all...), t0)
	if !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "at most 10000 transfers") {
		t.Errorf("with %d transfers: %v", len(all), err)
	}
}
