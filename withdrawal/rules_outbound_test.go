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

func saidUsed(nonce uint64, hash string) withdrawal.Statement {
	return withdrawal.Statement{Wallet: hot, Says: withdrawal.SaidUsed, Number: nonce, Hash: hash}
}

// What has used a nonce of a wallet and is on no file refuses each payment of the wallet, and is told
// with the first such nonce. What was told as Used is known; after a restore so is what is below the
// bound of a wallet that has no nonce on file.
func TestPreparedTellsAnUnknownOutbound(t *testing.T) {
	bound := withdrawal.Statement{Wallet: hot, Says: withdrawal.SaidThrough, Number: 5}
	another := saidUsed(8, "x")
	another.Wallet = id(99)
	for _, tt := range []struct {
		name        string
		file, chain uint64
		generation  int64
		said        []withdrawal.Statement
		open        withdrawal.OpenPoint // 0: it is prepared
		nonce       uint64
	}{
		{"the chain is at the file", 8, 8, 0, nil, 0, 0},
		{"the chain is ahead", 8, 9, 0, nil, withdrawal.OpenUntold, 8},
		{"the first nonce of a wallet", 0, 702, 0, nil, 0, 0},
		{"the first one, at its bound", 0, 5, 0, []withdrawal.Statement{bound}, 0, 0},
		{"the first one, above its bound", 0, 6, 0, []withdrawal.Statement{bound}, withdrawal.OpenUntold, 5},
		{"the first one, below its bound", 0, 4, 0, []withdrawal.Statement{bound}, withdrawal.OpenNonce, 4},
		{"the first one after a restore, and nobody has said the bound", 0, 702, 1, nil, withdrawal.OpenBound, 0},
		{"the first one after a restore, at its bound", 0, 5, 1, []withdrawal.Statement{bound}, 0, 0},
		{"the first one after a restore, above its bound", 0, 6, 1, []withdrawal.Statement{bound}, withdrawal.OpenUntold, 5},
		{"nothing mined, after a restore, and nobody has said the bound", 0, 0, 1, nil, withdrawal.OpenBound, 0},
		{"the first one after a restore, below its bound", 0, 4, 1, []withdrawal.Statement{bound}, withdrawal.OpenNonce, 4},
		{"a bound is no evidence where something is on file", 4, 5, 1, []withdrawal.Statement{bound}, withdrawal.OpenUntold, 4},
		{"told as used", 8, 10, 1, []withdrawal.Statement{saidUsed(9, "y"), saidUsed(8, "x")}, 0, 0},
		{"one of two was told", 8, 10, 1, []withdrawal.Statement{saidUsed(8, "x")}, withdrawal.OpenUntold, 9},
		{"told of another wallet", 8, 9, 0, []withdrawal.Statement{another}, withdrawal.OpenUntold, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := states(t)["processing"]
			w.Wallet.NextNonce, w.Generation, w.Said = tt.file, tt.generation, tt.said
			c, err := policy.Apply(w, prepared(t0, 1, "tx1", tt.chain))
			open := new(withdrawal.UnsettledError)
			switch errors.As(err, &open); {
			case tt.open == 0:
				if err != nil || len(c.Txs) != 1 || c.New.Said != nil {
					t.Errorf("%v, %+v", err, c.New.Said)
				}
			case !errors.Is(err, withdrawal.ErrUnsettled) || open.Open.Point != tt.open || open.Open.Number != tt.nonce || open.Open.Wallet != hot || !c.Empty():
				t.Errorf("%v", err)
			case (len(open.Said) > 0) != (tt.open == withdrawal.OpenUntold):
				t.Errorf("it tells %+v", open.Said)
			case tt.open == withdrawal.OpenUntold:
				want := withdrawal.Statement{Chain: w.Job.Chain, Wallet: hot, Generation: tt.generation, Says: withdrawal.SaidUnknown, Number: tt.nonce,
					Reason: open.Said[0].Reason, Actor: "worker-1", At: t0}
				if open.Said[0] != want {
					t.Errorf("it tells %+v", open.Said[0])
				}
			}
		})
	}
}

// A death by a nonce tells of what was mined, unless that is on a file or was told as used.
func TestProvenDeadTellsAnUnknownOutbound(t *testing.T) {
	confirming := func(change func(*withdrawal.Withdrawal)) withdrawal.Withdrawal {
		w := states(t)["confirming"]
		if change != nil {
			change(&w)
		}
		return w
	}
	ev := dead(t0, "tx1", 3, 7)
	shallow := ev
	shallow.Block = block(2)
	spent := ev
	spent.Cause, spent.Nonce, spent.Input = withdrawal.InputSpent, 0, "coin"
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		ev   withdrawal.ProvenDead
		want int
	}{
		{"nobody knows it", confirming(nil), ev, 1},
		{"not at depth", confirming(nil), shallow, 0},
		{"another request's", confirming(func(w *withdrawal.Withdrawal) { w.Owner = uuid.NullUUID{UUID: id(9), Valid: true} }), ev, 0},
		{"a filler", confirming(func(w *withdrawal.Withdrawal) { w.Owner.Valid = true }), ev, 0},
		{"told as used", confirming(func(w *withdrawal.Withdrawal) {
			w.Said = []withdrawal.Statement{saidUsed(7, "OTHER"), saidUsed(7, "other")}
		}), ev, 0},
		{"told as what used another nonce", confirming(func(w *withdrawal.Withdrawal) { w.Said = []withdrawal.Statement{saidUsed(6, "other")} }), ev, 1},
		{"another was told as what used the nonce", confirming(func(w *withdrawal.Withdrawal) { w.Said = []withdrawal.Statement{saidUsed(7, "x")} }), ev, 1},
		{"an input", confirming(func(w *withdrawal.Withdrawal) {
			w.Txs[0].Nonce, w.Txs[0].HasNonce, w.Txs[0].Input = 0, false, "coin"
		}), spent, 0},
		{"a payment that a person has told beside it", run(t, states(t)["confirming"], paidBy(t0, withdrawal.Operator, "other")), ev, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.w.Job.Review {
				tt.ev.By = by(withdrawal.Operator, t0)
			}
			c, err := policy.Apply(tt.w, tt.ev)
			if err != nil || len(c.Said) != tt.want || c.New.Said != nil {
				t.Fatalf("%v, it tells %+v", err, c.Said)
			}
			if tt.want == 1 && (c.Said[0].Number != 7 || c.Said[0].Hash != "other" || c.Said[0].Wallet != hot || c.Said[0].Says != withdrawal.SaidUnknown ||
				c.Said[0].Block != "b10") {
				t.Errorf("it tells %+v", c.Said[0])
			}
		})
	}
	again := run(t, states(t)["confirming"], ev)
	if c, err := policy.Apply(again, ev); err != nil || len(c.Said) > 0 {
		t.Errorf("said again: %v, %+v", err, c.Said)
	}
}

// The nonce of a batch that is used by something else is told once for all members.
func TestBatchMinedTellsAnUnknownOutbound(t *testing.T) {
	members := claimedMembers(t, policy, 2)
	b := runBatch(t, withdrawal.Payout{Members: members}, batchPrepared(t0, members))
	mined := batchMined(t0, "x")
	mined.Nonce, mined.HasNonce, mined.Looked = 7, true, true
	owned := b
	owned.Owner = uuid.NullUUID{UUID: id(9), Valid: true}
	told := b
	told.Said = []withdrawal.Statement{saidUsed(7, "x")}
	told.Said[0].Wallet = b.Batch.Wallet
	for name, tt := range map[string]struct {
		b    withdrawal.Payout
		ev   withdrawal.BatchMined
		want int
	}{
		"nobody knows it":   {b, mined, 1},
		"another request's": {owned, mined, 0},
		"told as used":      {told, mined, 0},
		"a version":         {b, batchMined(t0, "v1", transfers(b.Members, 0, 1)...), 0},
	} {
		c, err := policy.ApplyBatch(tt.b, tt.ev, t0)
		if err != nil || len(c.Said) != tt.want || c.New.Said != nil || c.New.Owner.Valid {
			t.Errorf("%s: %v, it tells %+v", name, err, c.Said)
		}
		for i := range c.Members {
			if len(c.Members[i].Said) > 0 {
				t.Errorf("%s: member %d tells %+v", name, i, c.Members[i].Said)
			}
		}
		if tt.want == 1 && (c.Said[0].Number != 7 || c.Said[0].Hash != "x" || c.Said[0].Wallet != b.Batch.Wallet) {
			t.Errorf("%s: it tells %+v", name, c.Said[0])
		}
	}
}

// An unknown outbound is open until it is told as used, in a later statement, or a file has it.
func TestAnUnknownOutboundIsOpen(t *testing.T) {
	unknown := func(nonce uint64, hash string) withdrawal.Statement {
		return withdrawal.Statement{Wallet: hot, Says: withdrawal.SaidUnknown, Number: nonce, Hash: hash}
	}
	one := []withdrawal.UnknownOutbound{{Wallet: hot, Nonce: 7, Hash: ""}}
	other := []withdrawal.UnknownOutbound{{Wallet: hot, Nonce: 7, Hash: "x"}}
	for _, tt := range []struct {
		name        string
		said        []withdrawal.Statement
		filler, job bool
		want        []withdrawal.UnknownOutbound
	}{
		{"told once", []withdrawal.Statement{unknown(7, "")}, false, false, one},
		{"told twice", []withdrawal.Statement{unknown(7, ""), unknown(7, "")}, false, false, one},
		{"used since", []withdrawal.Statement{unknown(7, ""), saidUsed(7, "x")}, false, false, nil},
		{"used before", []withdrawal.Statement{saidUsed(7, "y"), unknown(7, "x")}, false, false, other},
		{"another nonce was used", []withdrawal.Statement{unknown(7, ""), saidUsed(8, "x")}, false, false, one},
		{"a filler has it", []withdrawal.Statement{unknown(7, "")}, true, false, nil},
		{"a job has it", []withdrawal.Statement{unknown(7, "")}, false, true, nil},
		{"a job has it, by what was mined in its place", []withdrawal.Statement{unknown(7, "x")}, false, true, other},
	} {
		got, err := withdrawal.UnknownOutbounds(tt.said, func(uuid.UUID, uint64) (bool, bool, error) { return tt.filler, tt.job, nil })
		if err != nil || len(got)+len(tt.want) > 0 && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, %+v", tt.name, err, got)
		}
	}
}

// What an unknown outbound has switched off an operator alone switches on, and nobody while something of it
// is not explained: the system says at each start of a host what its wallets are, and loses no mark by it.
func TestWhatAnUnknownOutboundSwitchedOffAPersonSwitchesOn(t *testing.T) {
	active := aWallet
	active.Status = withdrawal.WalletActive
	of := func(status string) withdrawal.HotWallet { w := active; w.Status = status; return w }
	cold := func(status string) withdrawal.HotWallet { w := of(status); w.Role = "cold"; return w }
	off := of(withdrawal.WalletUnknown)
	open := []withdrawal.Open{{Wallet: active.ID, Point: withdrawal.OpenTransfer, Hash: "x", Number: 1}}
	for _, tt := range []struct {
		name         string
		old, h       withdrawal.HotWallet
		open         []withdrawal.Open
		system, told withdrawal.HotWallet // as they are stored after the system, and an operator, has said h; zero: refused
	}{
		{"a new one", withdrawal.HotWallet{}, active, nil, active, active},
		{"said again", active, active, open, active, active},
		{"off by an unknown outbound", off, active, nil, off, active},
		{"off by an unknown outbound, not explained", off, active, open, off, withdrawal.HotWallet{}},
		{"off by an unknown outbound, retired", off, of("retired"), nil, off, of("retired")},
		{"off by an unknown outbound, retired and not explained", off, of("retired"), open, off, withdrawal.HotWallet{}},
		{"off by an unknown outbound, cold", off, cold(withdrawal.WalletActive), nil, cold(withdrawal.WalletUnknown), cold(withdrawal.WalletActive)},
		{"off by an unknown outbound, cold and not explained", off, cold(withdrawal.WalletActive), open, cold(withdrawal.WalletUnknown), withdrawal.HotWallet{}},
		{"and hot again", cold(withdrawal.WalletUnknown), active, nil, off, active},
		{"off by another reason", of("retired"), active, nil, of("retired"), active},
		{"cold, and explained", cold(withdrawal.WalletActive), active, nil, cold(withdrawal.WalletActive), active},
		{"off by another reason, not explained", of("retired"), active, open, off, withdrawal.HotWallet{}},
		{"cold, not explained", cold(withdrawal.WalletActive), active, open, off, withdrawal.HotWallet{}},
		{"switched off", active, of("retired"), open, of("retired"), of("retired")},
	} {
		got, err := withdrawal.Puts(withdrawal.By{Role: withdrawal.System}, tt.old, tt.h, tt.open)
		if err != nil || got != tt.system {
			t.Errorf("%s: the system: %+v, %v", tt.name, got, err)
		}
		got, err = withdrawal.Puts(withdrawal.By{Role: withdrawal.Operator}, tt.old, tt.h, tt.open)
		unsettled := new(withdrawal.UnsettledError)
		if refused := tt.told.ID == uuid.Nil; refused != errors.As(err, &unsettled) || refused && (unsettled.Open != open[0] ||
			!errors.Is(err, withdrawal.ErrUnsettled)) || !refused && got != tt.told {
			t.Errorf("%s: an operator: %+v, %v", tt.name, got, err)
		}
	}
}

// A wallet that somebody else has paid from is explained once each unknown outbound is told as used, and each
// of its transfers is a request's, the house's own or unclaimed: restored or not, in whatever order.
func TestAWalletStaysOffUntilItIsExplained(t *testing.T) {
	unknown := func(nonce uint64, hash string) withdrawal.Statement {
		return withdrawal.Statement{Chain: aWallet.Chain, Wallet: aWallet.ID, Says: withdrawal.SaidUnknown, Number: nonce, Hash: hash}
	}
	first, second := unknown(7, ""), unknown(8, "")
	another := first
	another.Wallet = named("another wallet")
	own := usedNonce(7, "x", 0)
	own.Transfers[0].Own = true
	request := uuid.New()
	for _, tt := range []struct {
		what   string
		said   []any // events and statements
		onFile []string
		held   map[uint64]string // who has a nonce
		queued bool              // a request with the payee of output 0 may be paid
		want   string
	}{
		{"nothing is unknown", nil, nil, nil, false, ""},
		{"unknown", []any{first, second}, nil, nil, false, "untold 7, untold 8"},
		{"of another wallet", []any{another}, nil, nil, false, ""},
		{"a filler has one", []any{first, second}, nil, map[uint64]string{7: "filler"}, false, "untold 8"},
		{"a job has one", []any{first, second}, nil, map[uint64]string{8: "job"}, false, "untold 7"},
		{"a job has it, and another transaction was mined", []any{unknown(7, "x")}, nil, map[uint64]string{7: "job"}, false, "untold 7"},
		{"used, and pays somebody", []any{first, usedNonce(7, "x", 0, 1)}, nil, nil, false, "transfer x:0, transfer x:1"},
		{"one transfer is on file", []any{first, usedNonce(7, "x", 0, 1)}, []string{"x:0"}, nil, false, "transfer x:1"},
		{"the other is unclaimed", []any{first, usedNonce(7, "x", 0, 1), claimOf("x", 1)}, []string{"x:0"}, nil, false, ""},
		{"unclaimed before it is used", []any{first, claimOf("x", 0), usedNonce(7, "x", 0)}, nil, nil, false, ""},
		{"unclaimed, and a request may be paid", []any{first, usedNonce(7, "x", 0), claimOf("x", 0)}, nil, nil, true, "payee x:0"},
		{"dropped", []any{first, usedNonce(7, "x", 0), claimOf("x", 0),
			withdrawal.Dropped{By: desk, Wallet: aWallet.ID, Tx: "x", Reason: "x"}}, nil, nil, true, ""},
		{"unclaimed, and told as unknown once more", []any{first, usedNonce(7, "x", 0), claimOf("x", 0), first}, nil, nil, false, "untold 7"},
		{"the house's own", []any{first, own}, nil, nil, false, ""},
		{"reverted", []any{first, usedNonce(7, "x")}, nil, nil, false, ""},
		{"told wrong, and corrected", []any{first, usedNonce(7, "y", 0), usedNonce(7, "x")}, nil, nil, false, ""},
		{"corrected the other way round", []any{first, usedNonce(7, "x"), usedNonce(7, "y", 0)}, nil, nil, false, "transfer y:0"},
	} {
		a := restoredCopy(t, numbered, onFileFrom(0, 7))
		a.Statements = nil
		for _, s := range tt.said {
			switch s := s.(type) {
			case withdrawal.Statement:
				a.Statements = append(a.Statements, s)
			case withdrawal.Event:
				a.say(s)
			}
		}
		for _, key := range tt.onFile {
			a.onFile[key] = true
		}
		if tt.queued {
			a.queued[paysOut(0).Payee] = []uuid.UUID{request}
		}
		a.Holds = func(_ uuid.UUID, nonce uint64) (filler, job bool, err error) {
			return tt.held[nonce] == "filler", tt.held[nonce] == "job", nil
		}
		for limit := 1; limit < 3; limit++ {
			all, err := withdrawal.Unexplained(a.Copy, aWallet.ID, limit)
			want := strings.Join(strings.SplitN(tt.want, ", ", limit+1)[:min(limit, strings.Count(tt.want, ", ")+1)], ", ")
			if got := short(all); err != nil || got != want {
				t.Errorf("%s: %v, open is %q, expected %q", tt.what, err, got, want)
			}
		}
	}
	broken := errors.New("broken")
	a := restoredCopy(t, numbered, onFileFrom(0, 7))
	a.Statements = []withdrawal.Statement{first}
	a.Holds = func(uuid.UUID, uint64) (bool, bool, error) { return false, false, broken }
	if _, err := withdrawal.Unexplained(a.Copy, aWallet.ID, 1); !errors.Is(err, broken) {
		t.Errorf("a read that fails: %v", err)
	}
	a = restoredCopy(t, numbered, onFileFrom(0, 7))
	a.say(usedNonce(7, "x", 0))
	a.OnFile = func(string, withdrawal.Transfer) (uuid.UUID, bool, error) { return uuid.Nil, false, broken }
	if _, err := withdrawal.Unexplained(a.Copy, aWallet.ID, 1); !errors.Is(err, broken) {
		t.Errorf("a read of what is on file that fails: %v", err)
	}
}

// All nonces that something else has used are named at once, up to [withdrawal.MaxGaps].
func TestPreparedNamesEachUnknownNonce(t *testing.T) {
	w := states(t)["processing"]
	w.Wallet.NextNonce, w.Said = 8, []withdrawal.Statement{saidUsed(9, "y")}
	for chain, want := range map[uint64]int{8: 0, 9: 1, 10: 1, 11: 2, 13: 4, 108: 99, 109: 100, 110: 100, withdrawal.MaxNonce: 100} {
		_, err := policy.Apply(w, prepared(t0, 1, "tx1", chain))
		open := new(withdrawal.UnsettledError)
		if errors.As(err, &open); len(open.Said) != want {
			t.Errorf("the chain's next is %d: %d are told, %v", chain, len(open.Said), err)
			continue
		}
		next := uint64(8)
		for _, s := range open.Said {
			if s.Number != next || !strings.Contains(s.Reason, "was the database put back?") {
				t.Errorf("the chain's next is %d: %+v", chain, s)
			}
			if next++; next == 9 {
				next++
			}
		}
	}
}

// What is said to pay a request with a nonce above those on file, and is mined at depth, tells of the nonces that it skips,
// and of its own.
func TestAPaymentThatSkipsNoncesTellsOfThem(t *testing.T) {
	above := paidBy(t0, withdrawal.Operator, "x")
	above.Nonce, above.HasNonce = 10, true
	shallow := above
	shallow.Block = block(2)
	without := paidBy(t0, withdrawal.Operator, "x")
	for _, tt := range []struct {
		name  string
		state string
		ev    withdrawal.PaidBy
		w     func(*withdrawal.Withdrawal)
		want  []uint64
	}{
		{"nothing is out", "job pending", above, nil, []uint64{8, 9, 10}},
		{"beside what is out", "confirming", above, nil, []uint64{8, 9, 10}},
		{"not at depth", "confirming", shallow, nil, []uint64{10}},
		{"no nonce", "confirming", without, nil, nil},
		{"one was told", "confirming", above, func(w *withdrawal.Withdrawal) { w.Said = []withdrawal.Statement{saidUsed(8, "y")} }, []uint64{9, 10}},
		{"a wallet without a nonce", "job pending", above, func(w *withdrawal.Withdrawal) { w.Wallet.NextNonce = 0 }, []uint64{10}},
		{"while it is recovering", "confirming", above, func(w *withdrawal.Withdrawal) { w.Recovering = true }, nil},
	} {
		w := states(t)[tt.state]
		w.Wallet = withdrawal.HotWallet{ID: w.Job.Wallet, Chain: w.Job.Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive, NextNonce: 8}
		if tt.w != nil {
			tt.w(&w)
		}
		c, err := policy.Apply(w, tt.ev)
		var got []uint64
		for _, s := range c.Said {
			got = append(got, s.Number)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, it tells of %v", tt.name, err, got)
		}
	}
}

// A payment that is refused because its wallet is not explained is given back in the same transaction, with
// the reason: it has cost no attempt, and what its worker reports before or afterwards changes nothing.
func TestARefusalOfAnUnexplainedWalletCostsNoAttempt(t *testing.T) {
	failed := failedAttempt(t0, 1, withdrawal.Retryable)
	for name, tt := range map[string]struct {
		generation int64
		file       uint64
		wait       time.Duration
	}{
		"an unknown outbound":       {0, 7, 0}, // its wallet is off, and nothing of it is due
		"no bound, after a restore": {1, 0, policy.HoldFor},
	} {
		w := states(t)["processing"]
		w.Wallet.NextNonce, w.Generation = tt.file, tt.generation
		_, err := policy.Apply(w, prepared(t0, 1, "tx1", 9))
		of := new(withdrawal.UnsettledError)
		if !errors.As(err, &of) || len(of.Back) != 1 || of.Back[0].Request != w.Request.ID {
			t.Fatalf("%s: %v", name, err)
		}
		back := expect(t, policy, w, of.Back[0].GivenBack, "pending")
		if back.Job.RetryCount != 0 || back.Attempt.Outcome != statemachine.Deferred || back.Attempt.Error != of.Error() ||
			!back.Job.ScheduledAt.Equal(t0.Add(tt.wait)) || back.Job.Slot.Valid {
			t.Errorf("%s: %+v, %+v", name, back.Job, back.Attempt)
		}
		expect(t, policy, back, failed, "-")
		expect(t, policy, run(t, w, failed), of.Back[0].GivenBack, "fenced")
		again := run(t, back, withdrawal.Claimed{By: worker(back.Job.ScheduledAt), Fence: 2})
		again.Wallet.NextNonce, again.Generation = tt.file, tt.generation
		_, err = policy.Apply(again, prepared(back.Job.ScheduledAt, 2, "tx1", 9))
		if !errors.As(err, &of) || of.Back[0].For != 2*tt.wait {
			t.Errorf("%s, refused again: it waits for %v, %v", name, of.Back[0].For, err)
		}
		p := policy // without HoldInsufficient no HoldFor is asked for
		p.HoldFor, p.HoldCap, p.HoldInsufficient = 0, 0, false
		_, err = p.Apply(w, prepared(t0, 1, "tx1", 9))
		if !errors.As(err, &of) || of.Back[0].For != min(tt.wait, p.EnqueueEvery) {
			t.Errorf("%s, without HoldFor: it waits for %v, %v", name, of.Back[0].For, err)
		}
	}
	given := run(t, states(t)["processing"], withdrawal.GivenBack{By: worker(t0), Fence: 1})
	expect(t, policy, given, failed, "fenced") // a worker that gave it back itself reports nothing more
}

// All members of a batch that is refused are given back.
func TestARefusedBatchIsGivenBack(t *testing.T) {
	members := claimedMembers(t, policy, 3)
	for i := range members {
		members[i].Wallet.NextNonce = 5
	}
	_, err := policy.ApplyBatch(withdrawal.Payout{Members: members}, batchPrepared(t0, members), t0)
	of := new(withdrawal.UnsettledError)
	if !errors.As(err, &of) || len(of.Said) == 0 || len(of.Back) != len(members) {
		t.Fatal(err)
	}
	for i := range members {
		k := slices.IndexFunc(of.Back, func(e withdrawal.Ended) bool { return e.Request == members[i].Request.ID })
		if w := expect(t, policy, members[i], of.Back[k].GivenBack, "pending"); w.Job.RetryCount != 0 {
			t.Errorf("member %d: %+v", i, w.Job)
		}
	}
}

// The alert stands while an unknown outbound is open or a wallet is off by it, and names the wallet.
func TestAWalletThatIsOffIsAnAlert(t *testing.T) {
	open := []withdrawal.UnknownOutbound{{Wallet: hot, Nonce: 7, Hash: "x"}}
	for name, tt := range map[string]struct {
		s    withdrawal.Stats
		want string
	}{
		"nothing": {},
		"open, and off": {withdrawal.Stats{UnknownOutbound: open, WalletsOff: []uuid.UUID{hot}},
			"nonce 7 of wallet " + hot.String() + ` by "x"; 1 wallets are`},
		"open, switched on":  {withdrawal.Stats{UnknownOutbound: open}, "nonce 7 of wallet " + hot.String()},
		"explained, and off": {withdrawal.Stats{WalletsOff: []uuid.UUID{hot}}, "wallet " + hot.String() + " among them"},
	} {
		alerts := withdrawal.Alerts(tt.s, withdrawal.Thresholds{})
		if tt.want == "" && len(alerts) == 0 {
			continue
		}
		if len(alerts) != 1 || alerts[0].Name != "unknown outbound" || tt.want == "" || !strings.Contains(alerts[0].Text, tt.want) {
			t.Errorf("%s: %+v", name, alerts)
		}
	}
}

// While nothing recovers, Used is taken where it ends an unknown outbound, Unclaimed of a transfer of it, and
// what ends that; and a bound of a wallet that has paid nothing.
func TestWhatIsSaidWhileNothingRecovers(t *testing.T) {
	p := withdrawal.DefaultPolicy()
	p.Chain = numbered
	row := func(says withdrawal.Saying, number uint64, hash string) []withdrawal.Statement {
		return []withdrawal.Statement{{Wallet: aWallet.ID, Says: says, Number: number, Hash: hash}}
	}
	unknown, pays, unclaimed := row(withdrawal.SaidUnknown, 7, ""), row(withdrawal.SaidPays, 2, "0xAB"), row(withdrawal.SaidUnclaimed, 2, "0xAB")
	another := row(withdrawal.SaidUnknown, 7, "")
	another[0].Wallet = id(99)
	used, bound := usedNonce(7, "x"), through(7, 7)
	notThis := withdrawal.NotThis{By: desk, Wallet: aWallet.ID, Tx: "ab", Output: 2, Request: id(1), Reason: "x"}
	dropped := withdrawal.Dropped{By: desk, Wallet: aWallet.ID, Tx: "ab", Output: 2, Reason: "x"}
	for _, tt := range []struct {
		name       string
		ev         withdrawal.Event
		generation int64
		next       uint64
		said       []withdrawal.Statement
		want       error
	}{
		{"used, told as unknown", used, 0, 7, unknown, nil},
		{"used, after a restore", used, 1, 7, unknown, nil},
		{"used, nothing is unknown", used, 0, 7, nil, statemachine.ErrIllegal},
		{"used, another nonce is unknown", usedNonce(8, "x"), 0, 7, unknown, statemachine.ErrIllegal},
		{"used, unknown of another wallet", used, 0, 7, another, statemachine.ErrIllegal},
		{"unclaimed, of a transfer that was told", claimOf("ab", 2), 0, 7, pays, nil},
		{"unclaimed, of another output", claimOf("ab", 1), 0, 7, pays, statemachine.ErrIllegal},
		{"unclaimed, of another transaction", claimOf("y", 2), 0, 7, pays, statemachine.ErrIllegal},
		{"unclaimed, nothing was told", claimOf("x", 7), 1, 7, unknown, statemachine.ErrIllegal},
		{"not this, of what is unclaimed", notThis, 0, 7, unclaimed, nil},
		{"not this, nothing is unclaimed", notThis, 1, 7, pays, statemachine.ErrIllegal},
		{"dropped, of what is unclaimed", dropped, 0, 7, unclaimed, nil},
		{"dropped, nothing is unclaimed", dropped, 1, 7, pays, statemachine.ErrIllegal},
		{"a bound of a new wallet", bound, 1, 0, nil, nil},
		{"a bound of a wallet that has paid", bound, 1, 7, nil, statemachine.ErrIllegal},
		{"a bound of a new wallet, where nothing was put back", bound, 0, 0, nil, nil},
		{"at depth", atDepth(7), 1, 7, unknown, statemachine.ErrIllegal},
	} {
		r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet, Generation: tt.generation, Said: tt.said, Stored: true}
		r.Wallet.NextNonce = tt.next
		if _, err := p.Statements(tt.ev, r, t0); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, expected %v", tt.name, err, tt.want)
		}
	}
	for _, tt := range []struct {
		chain      withdrawal.Chain
		ev         withdrawal.Bound
		generation int64
		want       error
	}{
		{numbered, through(7, 6), 1, statemachine.ErrInvalid}, // nonce 6 has paid somebody since the copy
		{numbered, through(7, 6), 0, nil},
		{numbered, through(0, 0), 1, nil},
		{spending, coins("a:0"), 1, statemachine.ErrInvalid},
		{spending, coins(), 1, nil},
		{windowed, windowFrom(9), 1, nil},
	} {
		p.Chain = tt.chain
		r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet, Generation: tt.generation}
		if _, err := p.Statements(tt.ev, r, t0); !errors.Is(err, tt.want) {
			t.Errorf("after the start, %+v in generation %d: %v, expected %v", tt.ev, tt.generation, err, tt.want)
		}
	}
	p.Chain = spending
	r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet}
	if _, err := p.Statements(coins("a:0"), r, t0); !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("coins, where nothing was put back: %v", err)
	}
}

// A transaction that was on no file and has used a nonce of a hot wallet is an unknown outbound, whether or not it pays
// the request that it was told of: it may pay others too, and somebody else has the key.
func TestPaidByAndCannotTellTellAnUnknownOutbound(t *testing.T) {
	w := states(t)["confirming"] // its transaction has nonce 7
	pays := paidBy(t0, withdrawal.ConfirmationWorker, "other")
	pays.Nonce, pays.HasNonce = 7, true
	unsaid := paidBy(t0, withdrawal.Operator, "other") // of another wallet
	doubt := withdrawal.CannotTell{By: by(withdrawal.ConfirmationWorker, t0), Tx: "tx1", Other: "other"}
	used := func(w withdrawal.Withdrawal) withdrawal.Withdrawal {
		w.Said = []withdrawal.Statement{saidUsed(7, "other")}
		return w
	}
	filler := w
	filler.Owner.Valid = true
	sent := w // a signer that outlived its lease has said that it sent it
	sent.Strays = []withdrawal.Stray{{Request: w.Request.ID, Job: w.Job.ID, Claim: withdrawal.ClaimSent, Hash: "other", SettledAt: t0}}
	sent.Request.StraysOnFile = 1
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		ev   withdrawal.Event
		want int
	}{
		{"it pays the request", w, pays, 1},
		{"it pays the request, and was told as used", used(w), pays, 0},
		{"it pays the request from another wallet", w, unsaid, 0},
		{"it may pay the request", w, doubt, 1},
		{"it may pay the request, and was told as used", used(w), doubt, 0},
		{"it is a filler", filler, doubt, 0},
		{"it is of our signer, and pays the request", sent, pays, 0},
		{"it is of our signer, and may pay the request", sent, doubt, 0},
	} {
		c, err := policy.Apply(tt.w, tt.ev)
		if err != nil || len(c.Said) != tt.want {
			t.Errorf("%s: %v, it tells %+v", tt.name, err, c.Said)
		}
		if len(c.Said) == 1 && (c.Said[0].Says != withdrawal.SaidUnknown || c.Said[0].Wallet != hot || c.Said[0].Number != 7 || c.Said[0].Hash != "other") {
			t.Errorf("%s: it tells %+v", tt.name, c.Said[0])
		}
	}
	after := run(t, w, pays)
	if c, err := policy.Apply(after, pays); err != nil || len(c.Said) > 0 {
		t.Errorf("said again: %v, %+v", err, c.Said)
	}
}

// What Used has told of an output, a filler and an Unclaimed do not contradict.
func TestWhatUsedToldIsNotContradicted(t *testing.T) {
	p := policy
	p.Chain = numbered
	a := restoredCopy(t, numbered, withdrawal.CopyWallet{}, usedNonce(7, "ab", 2))
	r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet, Recovering: true, Said: a.Statements}
	same, other := claimOf("0xAB", 2), claimOf("ab", 2)
	other.Payee = "somebody else"
	untold := claimOf("ab", 3)
	for name, tt := range map[string]struct {
		ev   withdrawal.Unclaimed
		want error
	}{"the same": {same, nil}, "another payee": {other, statemachine.ErrInvalid}, "an output that was not told": {untold, nil}} {
		if _, err := p.Statements(tt.ev, r, t0); !errors.Is(err, tt.want) {
			t.Errorf("unclaimed, %s: %v", name, err)
		}
	}
	filler := withdrawal.Filler{Wallet: aWallet.ID, Chain: aWallet.Chain, Nonce: 7, Hash: "AB"}
	if err := filler.Pays(a.Statements); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a filler that pays somebody: %v", err)
	}
	nobody := restoredCopy(t, numbered, withdrawal.CopyWallet{}, usedNonce(7, "ab"))
	if err := filler.Pays(nobody.Statements); err != nil {
		t.Errorf("a filler that pays nobody: %v", err)
	}
}

// A transaction has one nonce: Used of it with another nonce is refused, until something else is told of the first one.
func TestUsedTellsOfATransactionWithOneNonce(t *testing.T) {
	p := newPolicy()
	p.Chain = numbered
	for _, tt := range []struct {
		name string
		said []any
		ev   withdrawal.Used
		want error
	}{
		{"the same again", []any{usedNonce(7, "ab")}, usedNonce(7, "0xAB"), nil},
		{"another nonce", []any{usedNonce(7, "ab")}, usedNonce(8, "0xAB"), statemachine.ErrInvalid},
		{"another nonce, and the first one is told", []any{usedNonce(7, "ab"), usedNonce(7, "cd")}, usedNonce(8, "ab"), nil},
		{"another transaction", []any{usedNonce(7, "ab")}, usedNonce(8, "cd"), nil},
	} {
		a := restoredCopy(t, numbered, onFileFrom(0, 7))
		for _, ev := range tt.said {
			a.say(ev.(withdrawal.Event))
		}
		said := append(slices.Clone(a.Statements), withdrawal.Statement{Chain: aWallet.Chain, Wallet: aWallet.ID, Says: withdrawal.SaidThrough})
		r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet, Recovering: true, Said: said}
		if rows, err := p.Statements(tt.ev, r, t0); !errors.Is(err, tt.want) || (err == nil) != (len(rows) > 0) {
			t.Errorf("%s: %v, %v", tt.name, rows, err)
		}
	}
}
