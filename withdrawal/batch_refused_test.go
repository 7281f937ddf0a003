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
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/withdrawal"
)

// A batch is prepared of what its worker has claimed, and of nothing else.
func TestBatchPreparedIsRefused(t *testing.T) {
	m := claimedMembers(t, policy, 3)
	for _, tt := range []struct {
		name   string
		change func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal
		is     error
		says   string
	}{
		{"another role", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.By = checker(t0)
			return m
		}, statemachine.ErrForbidden, ""},
		{"an old fence", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays[2].Fence = 9
			return m
		}, statemachine.ErrFenced, ""},
		{"the lease is over", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.At = t0.Add(policy.Lease)
			return m
		}, statemachine.ErrFenced, ""},
		{"another worker's", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Actor = "worker-2"
			return m
		}, statemachine.ErrFenced, ""},
		{"cancelled", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[1] = run(t, m[1], withdrawal.Cancelled{By: by(withdrawal.Operator, t0)})
			return m
		}, statemachine.ErrIllegal, ""},
		{"held", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[1] = run(t, m[1], withdrawal.Held{By: by(withdrawal.Operator, t0)})
			return m
		}, statemachine.ErrFenced, ""},
		{"held after its claim, lease kept", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[1].Request.Held = true
			return m
		}, withdrawal.ErrOnHold, ""},
		{"maybe paid", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[1].Request.Mined = "z"
			return m
		}, statemachine.ErrIllegal, "not paid again"},
		{"another amount", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays[1].AmountRaw = "1"
			return m
		}, statemachine.ErrInvalid, "another amount"},
		{"another asset", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays[1].AssetOnChain = asset
			return m
		}, statemachine.ErrInvalid, "another asset"},
		{"another payee", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays[1].Payee = "0xother"
			return m
		}, statemachine.ErrInvalid, "another address"},
		{"one output for two", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays[1].Output = 0
			return m
		}, statemachine.ErrInvalid, "one output"},
		{"one twice", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays[1] = e.Pays[0]
			e.Pays[1].Output = 1
			return m
		}, statemachine.ErrInvalid, "one output"},
		{"one is not loaded", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			return m[:2]
		}, statemachine.ErrInvalid, "at least one"},
		{"nobody", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Pays = nil
			return nil
		}, statemachine.ErrInvalid, "at least one"},
		{"no bytes", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.Raw = nil
			return m
		}, statemachine.ErrInvalid, "signed bytes"},
		{"no nonce", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.HasNonce, e.Nonce, e.Input = false, 0, "in:0"
			return m
		}, statemachine.ErrInvalid, "a nonce is needed"},
		{"neither nonce nor input", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.HasNonce, e.Nonce = false, 0
			return m
		}, statemachine.ErrInvalid, "replacements are exclusive"},
		{"a used nonce", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			e.ChainNonce = 8
			return m
		}, withdrawal.ErrNonceUsed, ""},
		{"nobody holds the slot", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[0].Job.Slot = uuid.NullUUID{}
			return m
		}, statemachine.ErrIllegal, "claimed behind"},
		{"two hold it", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[1].Job.Slot = m[0].Job.Slot
			return m
		}, statemachine.ErrInvalid, "two members"},
		{"another wallet", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[1].Job.Wallet = id(77)
			return m
		}, statemachine.ErrInvalid, "another wallet"},
		{"prepared alone already", func(m []withdrawal.Withdrawal, e *withdrawal.BatchPrepared) []withdrawal.Withdrawal {
			m[0] = run(t, m[0], prepared(t0, 1, "alone", 7))
			return m
		}, statemachine.ErrIllegal, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := batchPrepared(t0, m)
			e.Pays = slices.Clone(e.Pays)
			members := tt.change(slices.Clone(m), &e)
			c, err := policy.ApplyBatch(withdrawal.Payout{Members: members}, e, time.Time{})
			if !errors.Is(err, tt.is) || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Fatalf("%v, expected %v: %s", err, tt.is, tt.says)
			}
			if !c.Empty() {
				t.Fatal("a refusal changes something")
			}
		})
	}
}

func TestBatchReplacedIsRefused(t *testing.T) {
	b := newBatch(t, 3)
	inReview := runBatch(t, b, withdrawal.BatchCannotTell{By: checker(t0), Other: "x"})
	over := runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1, 2)...))
	stale := batchReplaced(t0, b, "v3", 0)
	unversioned := batchReplaced(t0, b, "v3", 0)
	unversioned.Version = 0
	other := batchReplaced(t0, b, "v3", 0)
	other.Pays[0].Request = req
	amount := batchReplaced(t0, b, "v3", 0)
	amount.Pays[0].AmountRaw = "1"
	twice := batchReplaced(t0, b, "v3", 0, 1)
	twice.Pays[1].Output = 0
	for _, tt := range []struct {
		name string
		b    withdrawal.Payout
		ev   withdrawal.BatchReplaced
		is   error
	}{
		{"decided on an older version", runBatch(t, b, batchReplaced(t0, b, "v2", 0)), stale, statemachine.ErrConflict},
		{"decided on none", b, unversioned, statemachine.ErrInvalid},
		{"somebody else's request", b, other, statemachine.ErrIllegal},
		{"another amount", b, amount, statemachine.ErrInvalid},
		{"one output for two", b, twice, statemachine.ErrInvalid},
		{"a member in review", inReview, batchReplaced(t0, inReview, "v2", 0), statemachine.ErrIllegal},
		{"after the end", over, batchReplaced(t0, over, "v2", 0), statemachine.ErrIllegal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if c, err := policy.ApplyBatch(tt.b, tt.ev, t0); !errors.Is(err, tt.is) || !c.Empty() {
				t.Fatalf("%v, expected %v", err, tt.is)
			}
		})
	}
	// A member in review may be dropped.
	if got := where(runBatch(t, inReview, batchReplaced(t0, inReview, "v2"))); got != "review in, review in, review in" {
		t.Fatal(got)
	}
}

func TestBatchMinedIsRefused(t *testing.T) {
	b := newBatch(t, 2)
	for name, change := range map[string]func(*withdrawal.BatchMined){
		"an unknown transaction of another nonce": func(e *withdrawal.BatchMined) { e.Tx, e.HasNonce, e.Nonce, e.Looked = "x", true, 8, true },
		"an unknown transaction without a nonce":  func(e *withdrawal.BatchMined) { e.Tx, e.Looked = "x", true },
		"nobody looked at it":                     func(e *withdrawal.BatchMined) { e.Tx, e.HasNonce, e.Nonce = "x", true, 7 },
		"an operator without a reason":            func(e *withdrawal.BatchMined) { *e = outside(*e); e.Tx, e.By = "x", by(withdrawal.Operator, t0) },
		"an output twice":                         func(e *withdrawal.BatchMined) { e.Transfers[1].Output = 0 },
		"no hash":                                 func(e *withdrawal.BatchMined) { e.Tx = "" },
		"bad gas":                                 func(e *withdrawal.BatchMined) { e.GasUsed = "-1" },
	} {
		e := batchMined(t0, "v1", transfers(b.Members, 0, 1)...)
		change(&e)
		if c, err := policy.ApplyBatch(b, e, t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same hash in another spelling is the version.
	hex := claimedMembers(t, policy, 2)
	prep := batchPrepared(t0, hex)
	prep.Hash = "0xABCD"
	b = runBatch(t, withdrawal.Payout{Members: hex}, prep)
	if got := where(runBatch(t, b, batchMined(t0, "abcd", transfers(hex, 0, 1)...))); got != "confirmed, confirmed" {
		t.Fatal(got)
	}
}

// What is said to one member of the transaction that it shares is refused, and
// so nobody is confirmed by a receipt that shows no output of theirs, and nobody
// is pending again without a version without them.
func TestSpeakToTheBatch(t *testing.T) {
	b := newBatch(t, 2)
	w := b.Members[1]
	op := by(withdrawal.Operator, t0)
	paid := withdrawal.PaidBy{By: checker(t0), Block: block(3), Tx: "x", Payee: w.Request.ToAddress, AssetOnChain: token, AmountRaw: w.Request.AmountRaw, Nonce: 7, HasNonce: true}
	onFile := paid
	onFile.Tx, onFile.Output = "v1", 1
	left := dead(t0, "v1", 3, 7)
	left.By, left.Cause = op, withdrawal.LeftOut
	for _, ev := range []withdrawal.Event{receipt(t0, "v1", 3), dead(t0, "v1", 3, 7), withdrawal.Missing{By: checker(t0), Tx: "v1"}, withdrawal.Looking{By: checker(t0)},
		withdrawal.Claimed{By: worker(t0)}, withdrawal.CannotTell{By: checker(t0), Tx: "v1", Other: "x"}, paid, onFile, left} {
		if c, err := policy.Apply(w, ev); !errors.Is(err, withdrawal.ErrInBatch) || !c.Empty() {
			t.Errorf("%T: %v", ev, err)
		}
	}
	if _, ok := withdrawal.DueAt(withdrawal.DueCheck, &w, 0); ok {
		t.Error("a member is looked up alone")
	}
	if step := policy.Next(w, t0.Add(time.Hour)); len(step.Actions) > 0 || step.Due.IsZero() {
		t.Errorf("a member owes %+v", step)
	}
	// What concerns the request alone goes on.
	held := run(t, w, withdrawal.Held{By: op}, withdrawal.Released{By: op})
	if held.Job.Batch != batch1 {
		t.Error("a hold takes it out of the batch")
	}
	// A payment elsewhere parks it, and the batch goes on.
	elsewhere := paid
	elsewhere.By, elsewhere.Nonce, elsewhere.HasNonce, elsewhere.Reason = op, 0, false, "seen"
	b.Members[1] = run(t, w, elsewhere)
	if got := where(b); got != "in, review in" {
		t.Fatal(got)
	}
	gone := outside(batchMined(t0, "y"))
	if got := where(runBatch(t, b, gone)); got != "pending, review" {
		t.Fatalf("in review it is an operator's: %s", got)
	}
	gone.By, gone.Reason = op, "seen"
	if got := where(runBatch(t, b, gone)); got != "pending, confirming" {
		t.Fatalf("an operator says it of all: %s", got)
	}
}

// Switched off between claim and signature: nothing is signed, and of what is
// out nothing changes.
func TestBatchSwitchedOff(t *testing.T) {
	m := claimedMembers(t, policy, 2)
	m[1].Wallet = withdrawal.HotWallet{ID: m[1].Job.Wallet, Role: withdrawal.WalletRoleHot, Status: "disabled"}
	if _, err := policy.ApplyBatch(withdrawal.Payout{Members: m}, batchPrepared(t0, m), t0); !errors.Is(err, withdrawal.ErrOnHold) {
		t.Errorf("a wallet that is off: %v", err)
	}
	for recovering, want := range map[bool]bool{true: true, false: false} {
		of := withdrawal.Payout{Members: claimedMembers(t, policy, 2), Level: switches.Send, Recovering: recovering}
		_, err := policy.ApplyBatch(of, batchPrepared(t0, m), t0)
		if !errors.Is(err, withdrawal.ErrOnHold) || errors.Is(err, withdrawal.ErrUnsettled) != want {
			t.Errorf("a chain that is stopped, recovering %v: %v", recovering, err)
		}
	}
	p := newPolicy()
	p.Chain.Paused = true
	if _, err := p.ApplyBatch(withdrawal.Payout{Members: claimedMembers(t, policy, 2)}, batchPrepared(t0, m), t0); !errors.Is(err, withdrawal.ErrOnHold) {
		t.Errorf("a chain that is paused: %v", err)
	}
	b := newBatch(t, 2)
	b.Members[0].Wallet.Status = "disabled"
	for _, ev := range []withdrawal.BatchEvent{batchReplaced(t0, b, "v2", 0), batchSent(t0, b, "v1"), batchMined(t0, "v1", transfers(b.Members, 0, 1)...)} {
		if _, err := p.ApplyBatch(b, ev, t0); err != nil {
			t.Errorf("%T of what is out: %v", ev, err)
		}
	}
}

// A batch has at most 100 versions: the 101st is refused.
func TestABatchHasAtMostAHundredVersions(t *testing.T) {
	b := newBatch(t, 1)
	for n := 2; n <= withdrawal.MaxTxs; n++ {
		b = runBatch(t, b, batchReplaced(t0, b, fmt.Sprint("v", n)))
	}
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "one more"), t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
		t.Fatalf("after %d: %v", len(b.Txs), err)
	}
}

// What is a version of the batch pays what the batch says: nobody needs to tell.
func TestNobodyCannotTellOfAVersion(t *testing.T) {
	b := newBatch(t, 2)
	for _, hash := range []string{"v1", ""} {
		if c, err := policy.ApplyBatch(b, withdrawal.BatchCannotTell{By: checker(t0), Other: hash}, t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
			t.Errorf("%q: %v", hash, err)
		}
	}
}

// A version in a block of the chain is not sent again, though it is not deep yet; in
// a block that is no longer of the chain it is.
func TestABatchInABlockIsNotSentAgain(t *testing.T) {
	missing := runBatch(t, newBatch(t, 2), withdrawal.BatchMissing{By: checker(t0)})
	gone := batchMined(t0, "v1")
	gone.Block = block(2)
	gone.Canonical = "another"
	mined := batchMined(t0, "v1")
	mined.Block = block(2)
	for _, tt := range []struct {
		ev   withdrawal.BatchMined
		want bool
	}{{gone, true}, {mined, false}} {
		if got := runBatch(t, missing, tt.ev); got.Batch.Rebroadcast != tt.want || got.Batch.Status != withdrawal.BatchConfirming {
			t.Errorf("in block %+v: to be sent again is %v, in %v", tt.ev.Block, got.Batch.Rebroadcast, got.Batch.Status)
		}
	}
}

// A member that may have been paid beside the record is not paid by another version,
// also when no operator has it.
func TestAFlaggedMemberIsNotPaidByAnotherVersion(t *testing.T) {
	b := newBatch(t, 2)
	b.Members = slices.Clone(b.Members)
	b.Members[1].Request.StraysSent = 1
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0, 1), t0); !errors.Is(err, statemachine.ErrIllegal) || !c.Empty() {
		t.Fatal(err)
	}
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0), t0); err != nil || c.Empty() {
		t.Fatalf("without it: %v", err)
	}
}

// The nonce of a batch is of its owner's job for ever: what paid a member that was
// left out, and has that nonce, is put on file without owning it.
func TestTheNonceOfADeadVersionIsShared(t *testing.T) {
	b := newBatch(t, 3)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	b = runBatch(t, b, batchMined(t0, "v2", transfers(b.Members, 0, 1)...))
	w := b.Members[2]
	if got := where(b); got != "confirmed, confirmed, pending" {
		t.Fatal(got)
	}
	c, err := policy.Apply(w, withdrawal.PaidBy{By: by(withdrawal.Operator, t0), Block: block(1), Tx: "x", Payee: w.Request.ToAddress, AssetOnChain: token,
		AmountRaw: w.Request.AmountRaw, Nonce: 7, HasNonce: true, Reason: "seen"})
	if err != nil || len(c.Txs) != 1 || c.Txs[0].Hash != "x" || c.OwnsNonce(&c.Txs[0]) {
		t.Fatalf("%+v, %v", c.Txs, err)
	}
	c, err = policy.Apply(w, withdrawal.PaidBy{By: by(withdrawal.Operator, t0), Block: block(1), Tx: "x", Payee: w.Request.ToAddress, AssetOnChain: token,
		AmountRaw: w.Request.AmountRaw, Nonce: 8, HasNonce: true, Reason: "seen"})
	if err != nil || !c.OwnsNonce(&c.Txs[0]) {
		t.Fatalf("another nonce: %+v, %v", c.Txs, err)
	}
	// A worker signs nothing new with it: whose it is refuses that.
	w = run(t, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)})
	again := prepared(w.Job.ClaimedAt, w.Job.Lease.Fence, "again", 7)
	if c, err = policy.Apply(w, again); err != nil || !c.OwnsNonce(&c.Txs[0]) {
		t.Fatalf("signed again: %+v, %v", c.Txs, err)
	}
}
