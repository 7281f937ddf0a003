package withdrawal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/withdrawal"
)

// Rules whose removal internal/mutants found to be noticed by no test.

// A replacement is sent, so that a stop of sends refuses it; a stop of new payments does not.
func TestAStopOfSendsRefusesReplacements(t *testing.T) {
	bump := withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte("b"), Nonce: 7, HasNonce: true}
	for level, want := range map[switches.Level]string{switches.On: "touch", switches.Begin: "touch", switches.Send: "on hold"} {
		w := states(t)["leased confirming"]
		w.Level = level
		if got := word(policy.Apply(w, bump)); got != want && !(want == "touch" && got == "confirming") {
			t.Errorf("at %v: %s, expected %s", level, got, want)
		}
	}
}

func TestAHotWalletHasIDs(t *testing.T) {
	for name, change := range map[string]func(*withdrawal.HotWallet){
		"without an id":    func(h *withdrawal.HotWallet) { h.ID = uuid.Nil },
		"without a chain":  func(h *withdrawal.HotWallet) { h.Chain = uuid.Nil },
		"without a role":   func(h *withdrawal.HotWallet) { h.Role = "" },
		"without a status": func(h *withdrawal.HotWallet) { h.Status = "" },
	} {
		h := wallets()[0]
		change(&h)
		if _, err := withdrawal.NewHotWallet(h); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("a wallet %s: %v", name, err)
		}
	}
}

// A stop of sends refuses the replacement of a batch, and asks for no broadcast of it.
func TestAStopOfSendsHoldsABatch(t *testing.T) {
	for level, stops := range map[switches.Level]bool{switches.On: false, switches.Begin: false, switches.Send: true} {
		b := newBatch(t, 2)
		b.Level = level
		_, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0), t0)
		if errors.Is(err, withdrawal.ErrOnHold) != stops || !stops && err != nil {
			t.Errorf("replaced at %v: %v", level, err)
		}
		at := freeAt(b)
		sends := slices.ContainsFunc(policy.NextBatch(b, at).Actions, func(a withdrawal.Action) bool { return a.Do == withdrawal.DoRebroadcast })
		if sends == stops {
			t.Errorf("at %v it is owed a broadcast: %v", level, sends)
		}
		s := switches.State{Level: level}
		if got := withdrawal.BatchDueIn(withdrawal.DueBatchSend, s); got == stops {
			t.Errorf("at %v a send is due: %v", level, got)
		}
		if !withdrawal.BatchDueIn(withdrawal.DueBatchCheck, s) {
			t.Errorf("at %v no look-up is due", level)
		}
	}
}

// A stop of sends asks for no broadcast, first or again, and a stop of what begins asks for both.
func TestAStopOfSendsAsksForNoBroadcast(t *testing.T) {
	s := states(t)
	lost := run(t, s["confirming"], withdrawal.Missing{By: checker(t0), Tx: "tx1"})
	for level, stops := range map[switches.Level]bool{0: false, switches.On: false, switches.Begin: false, switches.Send: true} {
		for do, w := range map[withdrawal.Do]withdrawal.Withdrawal{withdrawal.DoBroadcast: s["prepared"], withdrawal.DoRebroadcast: lost} {
			w.Level = level
			step := policy.Next(w, map[bool]time.Time{true: t0, false: t0.Add(policy.Lease)}[do == withdrawal.DoBroadcast])
			if slices.ContainsFunc(step.Actions, func(a withdrawal.Action) bool { return a.Do == do }) == stops || step.Party == 0 {
				t.Errorf("%v at %v: %+v", do, level, step)
			}
		}
	}
}

// What is due is offered as the switch has it: a stop holds up no refund, and a recovery does.
func TestWhatASwitchLeavesDue(t *testing.T) {
	for level, due := range map[switches.Level]string{0: "claim rebroadcast enqueue", switches.On: "claim rebroadcast enqueue",
		switches.Begin: "rebroadcast", switches.Send: ""} {
		for _, recovering := range []bool{false, true} {
			for _, kind := range withdrawal.DueKind(0).Values() {
				for _, outbound := range []uuid.UUID{uuid.Nil, uuid.Max} {
					want := slices.Contains(strings.Fields(due+" check rescue"), kind.String()) || kind == withdrawal.DueRefund && !recovering
					if outbound != uuid.Nil && slices.Contains([]string{"claim", "enqueue", "refund"}, kind.String()) {
						want = false
					}
					if got := withdrawal.DueIn(kind, switches.State{Level: level, Recovering: recovering}, outbound); got != want {
						t.Errorf("%v at %v, recovering %v, outbound %v: %v", kind, level, recovering, outbound, got)
					}
				}
			}
		}
	}
}

func TestABatchNamesOthers(t *testing.T) {
	b := newBatch(t, 2)
	for hash, want := range map[string]bool{"v1": false, "other": true, "": false} {
		if got := b.NamesOthers(hash); got != want {
			t.Errorf("%q: %v", hash, got)
		}
	}
	b.Batch.HasNonce = false
	if b.NamesOthers("other") {
		t.Error("without a nonce nothing is used by others")
	}
}

// Every rule of a batch's own fields, broken alone, while it is confirming and when it is over.
func TestCheckOfABatchFindsEachField(t *testing.T) {
	type change = func(*withdrawal.Batch)
	for name, of := range map[string]struct{ confirming, over change }{
		"its chain":       {func(b *withdrawal.Batch) { b.Chain = uuid.Nil }, nil},
		"its wallet":      {func(b *withdrawal.Batch) { b.Wallet = uuid.Nil }, nil},
		"its owner":       {func(b *withdrawal.Batch) { b.Owner = uuid.Nil }, nil},
		"an input too":    {func(b *withdrawal.Batch) { b.Input = "x" }, nil},
		"no nonce":        {func(b *withdrawal.Batch) { b.HasNonce = false }, nil},
		"its versions":    {func(b *withdrawal.Batch) { b.TxsOnFile++ }, nil},
		"its members":     {func(b *withdrawal.Batch) { b.Members++ }, nil},
		"its hash":        {func(b *withdrawal.Batch) { b.TxHash = "v2" }, nil},
		"its next check":  {func(b *withdrawal.Batch) { b.NextCheckAt = time.Time{} }, func(b *withdrawal.Batch) { b.NextCheckAt = t0 }},
		"a broadcast":     {nil, func(b *withdrawal.Batch) { b.Rebroadcast = true }},
		"its end":         {func(b *withdrawal.Batch) { b.EndedAt = t0 }, func(b *withdrawal.Batch) { b.EndedAt = time.Time{} }},
		"its block":       {func(b *withdrawal.Batch) { b.EvidenceHash = "b10" }, func(b *withdrawal.Batch) { b.EvidenceHash = "" }},
		"its lease":       {func(b *withdrawal.Batch) { b.Lease.Until = time.Time{} }, func(b *withdrawal.Batch) { b.Lease.Holder, b.Lease.Until = "x", t0 }},
		"a lease of none": {func(b *withdrawal.Batch) { b.Lease.Holder = "" }, nil},
		"its status":      {func(b *withdrawal.Batch) { b.Status = 99 }, nil},
	} {
		for over, change := range map[bool]change{false: of.confirming, true: of.over} {
			if change == nil {
				continue
			}
			b := newBatch(t, 2)
			if over {
				b = runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...))
			}
			change(&b.Batch)
			if err := withdrawal.CheckBatch(b); !errors.Is(err, statemachine.ErrCorrupt) {
				t.Errorf("%s, over %v: %v", name, over, err)
			}
		}
	}
}

// A report of a broadcast is known by the fence under which the bytes went out. Under another one it
// is news, and refused.
func TestAReportOfABatchIsKnownByItsFence(t *testing.T) {
	b := claimedBatch(t, newBatch(t, 2), freeAt(newBatch(t, 2)))
	at := b.Batch.Lease.Until.Add(-time.Second)
	b = runBatch(t, b, batchSent(at, b, "v1"))
	again := batchSent(at, b, "v1")
	if c, err := policy.ApplyBatch(b, again, at); err != nil || !c.Empty() {
		t.Errorf("the same report: %v", err)
	}
	again.Fence--
	if _, err := policy.ApplyBatch(b, again, at); !errors.Is(err, statemachine.ErrFenced) {
		t.Errorf("under an earlier fence: %v", err)
	}
}

func TestDefaultThresholds(t *testing.T) {
	want := withdrawal.Thresholds{ApprovalWait: 24 * time.Hour, EnqueueWait: time.Hour, QueueWait: 6 * time.Hour, ClaimWait: 15 * time.Minute,
		ReviewWait: 2 * time.Hour, ConfirmWait: 2 * time.Hour, BatchWait: 2 * time.Hour, RefundWait: 72 * time.Hour, Ahead: time.Minute,
		Stuck: 20, CompletionRate: 9_000, RetryRate: 2_000}
	if got := withdrawal.DefaultThresholds(); got != want {
		t.Errorf("%+v", got)
	}
}

// A chain that is stopped by a person is on hold; only one that recovers is unsettled.
func TestAStopIsNoRecovery(t *testing.T) {
	for recovering, want := range map[bool]error{false: withdrawal.ErrOnHold, true: withdrawal.ErrUnsettled} {
		w := states(t)["job pending"]
		w.Level, w.Recovering = switches.Begin, recovering
		_, err := policy.Apply(w, withdrawal.Claimed{By: worker(t0), Fence: 1})
		if !errors.Is(err, want) || errors.Is(err, withdrawal.ErrUnsettled) != recovering {
			t.Errorf("recovering %v: %v", recovering, err)
		}
	}
}

func TestWhatIsPreparedHasItsBytes(t *testing.T) {
	ev := prepared(t0, 1, "tx1", 7)
	ev.Raw = nil
	expect(t, policy, states(t)["processing"], ev, "invalid")
}

func TestADispatchIsKnownByItsFence(t *testing.T) {
	ev := withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "ref"}
	w := states(t)["dispatched"]
	expect(t, policy, w, ev, "-")
	ev.Fence = 2
	expect(t, policy, w, ev, "fenced")
}

// The hash of a block that is evidence of a death or of another payment fits a database.
func TestAHashOfABlockThatIsEvidenceIsBounded(t *testing.T) {
	for name, hash := range map[string]string{"101 bytes": strings.Repeat("b", withdrawal.MaxHash+1), "a NUL": "b\x00"} {
		gone, paid := dead(t0, "tx1", 3, 7), paidBy(t0, withdrawal.ConfirmationWorker, "x")
		paid.Nonce, paid.HasNonce = 7, true
		gone.Block.Hash, gone.Canonical = hash, hash
		paid.Block.Hash, paid.Canonical = hash, hash
		if got := word(policy.Apply(states(t)["confirming"], gone)); got != "invalid" {
			t.Errorf("dead, %s: %s", name, got)
		}
		if got := word(policy.Apply(states(t)["confirming"], paid)); got != "invalid" {
			t.Errorf("paid by another, %s: %s", name, got)
		}
	}
	long := strings.Repeat("b", withdrawal.MaxHash)
	paid := paidBy(t0, withdrawal.ConfirmationWorker, "x")
	paid.Nonce, paid.HasNonce = 7, true
	paid.Block.Hash, paid.Canonical = long, long
	if got := word(policy.Apply(states(t)["confirming"], paid)); got == "invalid" {
		t.Error("100 bytes are refused")
	}
}

// What has used a nonce is an unknown outbound unless it was told as just this one.
func TestWhatWasToldOfANonceIsOfItsWallet(t *testing.T) {
	told := withdrawal.Statement{Says: withdrawal.SaidUsed, Wallet: hot, Number: 7, Hash: "other"}
	for name, of := range map[string]struct {
		change func(*withdrawal.Statement)
		news   int
	}{
		"this one":        {func(*withdrawal.Statement) {}, 0},
		"another wallet":  {func(s *withdrawal.Statement) { s.Wallet = id(99) }, 1},
		"another nonce":   {func(s *withdrawal.Statement) { s.Number = 8 }, 1},
		"another hash":    {func(s *withdrawal.Statement) { s.Hash = "x" }, 1},
		"unknown, before": {func(s *withdrawal.Statement) { s.Says = withdrawal.SaidUnknown }, 1},
	} {
		w, said := states(t)["confirming"], told
		of.change(&said)
		w.Said = []withdrawal.Statement{said}
		c, err := policy.Apply(w, dead(t0, "tx1", 3, 7))
		if err != nil || len(c.Said) != of.news {
			t.Errorf("%s: %v, %+v", name, err, c.Said)
		}
	}
}
