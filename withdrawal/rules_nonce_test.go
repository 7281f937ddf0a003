package withdrawal_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Which nonce Prepared may have: the wallet's next on file, the chain's next (-1: it
// was not told), and the policy's gap.
func TestRule4Nonce(t *testing.T) {
	for _, tt := range []struct {
		name        string
		nonce, file uint64
		chain       int64
		gap         uint64
		want        string
	}{
		{"the next on file, the chain's was not told", 8, 8, -1, 0, "invalid"},
		{"the next on file", 8, 8, 8, 0, "processing"},
		{"below the chain's, which is the next on file", 7, 8, 8, 0, "nonce used"},
		{"above the next on file", 9, 8, 8, 0, "nonce gap"},
		{"above the next on file, within the gap of the policy", 10, 8, 8, 2, "processing"},
		{"above the next on file, beyond the gap of the policy", 11, 8, 8, 2, "nonce gap"},
		{"nothing on file, the chain's was not told", 0, 0, -1, 0, "invalid"},
		{"nothing on file, the chain's", 702, 0, 702, 0, "processing"},
		{"nothing on file, a gap", 705, 0, 702, 0, "nonce gap"},
		{"nothing on file, below the chain's", 701, 0, 702, 0, "nonce used"},
		{"a gap is filled", 702, 706, 702, 0, "processing"},
		{"a gap is filled above the chain's next", 704, 706, 702, 0, "processing"},
		{"the chain is ahead of the file", 10, 8, 10, 0, "on hold"},
		{"the chain is ahead of the file by one", 9, 8, 9, 2, "on hold"},
		{"the greatest, far away", withdrawal.MaxNonce, 8, 8, 0, "nonce gap"},
		{"the greatest, in turn", withdrawal.MaxNonce, withdrawal.MaxNonce, withdrawal.MaxNonce, 0, "processing"},
		{"beyond the greatest", withdrawal.MaxNonce + 1, withdrawal.MaxNonce + 1, 8, 0, "invalid"},
		{"after the greatest was imported the chain's counts", 8, withdrawal.MaxNonce + 1, 8, 0, "processing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy
			p.Chain.NonceGap = tt.gap
			w := states(t)["processing"]
			w.Wallet.NextNonce = tt.file
			ev := prepared(t0, 1, "tx1", tt.nonce)
			ev.ChainNonce, ev.HasChainNonce = uint64(max(tt.chain, 0)), tt.chain >= 0
			w = expect(t, p, w, ev, tt.want)
			if tt.want == "processing" && (w.Job.Nonce != tt.nonce || !w.Job.HasNonce || w.Wallet.NextNonce != max(tt.file, tt.nonce+1)) {
				t.Errorf("%+v", w.Wallet)
			}
		})
	}
	none := prepared(t0, 1, "tx1", 0)
	none.HasNonce = false
	expect(t, policy, states(t)["processing"], none, "invalid")
	far := prepared(t0, 1, "tx1", 5)
	far.ChainNonce = math.MaxUint64
	expect(t, policy, states(t)["processing"], far, "invalid")
}

// Signers that choose, imports and payments by hand skip the rule of the gap.
func TestRule6WhoChoosesSkipsTheGap(t *testing.T) {
	w := states(t)["dispatched"]
	w.Wallet.NextNonce = 3
	w = expect(t, policy, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "h", Nonce: 900, HasNonce: true}, "confirming")
	if w.Wallet.NextNonce != 901 {
		t.Errorf("%+v", w.Wallet)
	}
	w = states(t)["job pending"]
	w.Wallet.NextNonce = 3
	paid := paidBy(t0, withdrawal.Operator, "x")
	paid.Nonce, paid.HasNonce = 900, true
	expect(t, policy, w, paid, "confirmed")
}

func TestFreeNonceAgainstAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taken := rapid.SliceOfDistinct(rapid.Uint64Range(0, 12), rapid.ID).Draw(t, "taken")
		slices.Sort(taken)
		chain := rapid.Uint64Range(0, 12).Draw(t, "chain")
		want := chain
		for slices.Contains(taken, want) {
			want++
		}
		if got := withdrawal.FreeNonce(chain, taken); got != want {
			t.Fatalf("%d, expected %d", got, want)
		}
	})
}

// Gaps are named up to a limit, also where one is enormous.
func TestGapsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		chain uint64
		taken []uint64
		limit int
		want  []uint64
	}{
		{5, nil, 3, nil},
		{5, []uint64{5, 6}, 3, nil},
		{5, []uint64{3, 6, 9}, 9, []uint64{5, 7, 8}},
		{5, []uint64{withdrawal.MaxNonce}, 2, []uint64{5, 6}},
	} {
		if got := withdrawal.Gaps(tt.chain, tt.taken, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("from %d without %v: %v, expected %v", tt.chain, tt.taken, got, tt.want)
		}
	}
}

// A filler names its wallet and chain, its transaction, and who recorded it.
func TestAFillerIsWhole(t *testing.T) {
	whole := withdrawal.Filler{Wallet: id(1), Chain: id(2), Nonce: 3, Hash: "h", Actor: "olga", CreatedAt: t0}
	if _, err := withdrawal.NewFiller(whole); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*withdrawal.Filler){
		"no wallet":                    func(f *withdrawal.Filler) { f.Wallet = uuid.Nil },
		"no chain":                     func(f *withdrawal.Filler) { f.Chain = uuid.Nil },
		"a nonce that no column holds": func(f *withdrawal.Filler) { f.Nonce = withdrawal.MaxNonce + 1 },
		"no hash":                      func(f *withdrawal.Filler) { f.Hash = "" },
		"no actor":                     func(f *withdrawal.Filler) { f.Actor = "" },
	} {
		f := whole
		spoil(&f)
		if _, err := withdrawal.NewFiller(f); !errors.Is(err, statemachine.ErrInvalid) && !errors.Is(err, statemachine.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a stray has is no longer free: the wallet's next nonce is above it.
func TestTheNonceOfAStrayIsTaken(t *testing.T) {
	w := states(t)["sent unfiled"]
	w.Wallet = withdrawal.HotWallet{ID: w.Job.Wallet, Chain: w.Job.Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive, NextNonce: 8}
	x := paidBy(t0, withdrawal.Operator, "x")
	x.Nonce, x.HasNonce = 20, true
	if got := run(t, w, x); got.Wallet.NextNonce != 21 {
		t.Errorf("the next is %d", got.Wallet.NextNonce)
	}
}

// A proof of death by nonce that the chain's next nonce contradicts: the
// transaction may still be mined, so nothing is prepared beside it.
func TestANonceThatWasSaidToBeUsedIsNot(t *testing.T) {
	w := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := w.Job.ScheduledAt
	w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: 2})
	w.Wallet.NextNonce = 8
	elsewhere := w
	elsewhere.Txs = slices.Clone(w.Txs)
	elsewhere.Txs[0].Wallet = id(99)
	// A stray that was proven dead, beside nothing on file.
	stray := states(t)["processing"]
	stray.Wallet.NextNonce = 8
	stray.Request.StraysOnFile = 1
	stray.Strays = []withdrawal.Stray{{Request: stray.Request.ID, Seq: 1, Job: stray.Job.ID, Claim: withdrawal.ClaimSent, Hash: "tx1",
		Wallet: stray.Job.Wallet, Nonce: 7, HasNonce: true, CreatedAt: t0, SettledAt: t0}}
	for _, tt := range []struct {
		name         string
		w            withdrawal.Withdrawal
		nonce, chain uint64
		want         string
		incidents    int
	}{
		{"above the dead one, which is used", w, 8, 8, "processing", 0},
		{"above the dead one, which is not used", w, 8, 7, "nonce gap", 0},
		{"below the dead one, and so is the chain's", w, 6, 6, "nonce gap", 0},
		{"above the dead one, which is of another wallet", elsewhere, 8, 7, "processing", 0},
		{"that of the dead one", w, 7, 7, "processing", 1},
		{"above a dead stray, which is used", stray, 8, 8, "processing", 0},
		{"above a dead stray, which is not used", stray, 8, 7, "nonce gap", 0},
		{"that of a dead stray", stray, 7, 7, "processing", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := prepared(tt.w.Job.ClaimedAt, tt.w.Job.Lease.Fence, "tx2", tt.nonce)
			ev.ChainNonce = tt.chain
			expect(t, policy, tt.w, ev, tt.want)
			c, _ := policy.Apply(tt.w, ev)
			if len(c.Incidents) != tt.incidents || tt.incidents > 0 && (c.Incidents[0].Hash != "tx1" ||
				c.Incidents[0].Claim != withdrawal.ClaimNotDead || c.New.Request.Mined != "") {
				t.Errorf("incidents %+v", c.Incidents)
			}
		})
	}
}

// The same in a batch, for each member that has a dead transaction.
func TestANonceThatWasSaidToBeUsedIsNotOfAMember(t *testing.T) {
	members := claimedMembers(t, policy, 2)
	w := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	w = run(t, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt), Fence: 2, Behind: true})
	members = append(members, w)
	ev := batchPrepared(w.Job.ClaimedAt, members)
	ev.Nonce, ev.ChainNonce = 8, 7
	p := policy
	p.Chain.NonceGap = 1
	if _, err := p.ApplyBatch(withdrawal.Payout{Members: members}, ev, t0); !errors.Is(err, withdrawal.ErrNonceGap) {
		t.Errorf("%v", err)
	}
	ev.ChainNonce = 8
	if _, err := p.ApplyBatch(withdrawal.Payout{Members: members}, ev, t0); err != nil {
		t.Error(err)
	}
}

// Who holds a nonce: what may still be mined, or was; of the wallet.
func TestWhoHoldsANonce(t *testing.T) {
	s := states(t)
	proven := run(t, s["confirming"], dead(t0, "tx1", 3, 7))
	told := paidBy(t0, withdrawal.Operator, "x")
	told.Nonce, told.HasNonce = 20, true
	for _, tt := range []struct {
		name  string
		w     withdrawal.Withdrawal
		nonce uint64
		want  bool
	}{
		{"on its way", s["confirming"], 7, true},
		{"another one", s["confirming"], 8, false},
		{"mined", s["confirmed"], 7, true},
		{"reverted", s["reverted"], 7, true},
		{"declared dead", proven, 7, false},
		{"told of, and not on file", run(t, s["sent unfiled"], told), 20, true},
	} {
		if got := tt.w.HoldsNonce(hot, tt.nonce); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if w := s["confirming"]; w.HoldsNonce(id(99), 7) {
		t.Error("it is of another wallet")
	}
}
