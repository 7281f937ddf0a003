package withdrawal_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/withdrawal"
)

func limits() withdrawal.Policy {
	p := policy
	p.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{asset: {
		Automatic: decimal.NewFromInt(100), Dual: decimal.NewFromInt(1000), ListedOnly: true,
		Windows: []withdrawal.Window{{Length: 24 * time.Hour, Max: decimal.NewFromInt(300)}},
	}}}
	return p
}

func TestRule10Approval(t *testing.T) {
	on := limits()
	off := on
	off.Approval.Enabled = false
	sum := func(n string) withdrawal.Usage {
		return withdrawal.Usage{Listed: true, Sums: []decimal.Decimal{decimal.RequireFromString(n)}}
	}
	for name, tt := range map[string]struct {
		p      withdrawal.Policy
		amount string
		usage  withdrawal.Usage
		asset  uuid.UUID
		needed int32
	}{
		"just below the automatic limit": {on, "99.999999999999999999", sum("0"), asset, 0},
		"at the automatic limit":         {on, "100", sum("0"), asset, 0},
		"just above the automatic limit": {on, "100.000000000000000001", sum("0"), asset, 1},
		"at the dual limit":              {on, "1000", sum("0"), asset, 1},
		"just above the dual limit":      {on, "1000.000000000000000001", sum("0"), asset, 2},
		"window reached":                 {on, "100", sum("200"), asset, 0},
		"window exceeded":                {on, "100", sum("200.000000000000000001"), asset, 1},
		"sums missing":                   {on, "1", withdrawal.Usage{Listed: true}, asset, 1},
		"not listed":                     {on, "1", withdrawal.Usage{Sums: sum("0").Sums}, asset, 1},
		"asset without limits":           {on, "1", sum("0"), id(77), 1},
		"disabled":                       {off, "1", sum("0"), asset, 1},
		"no policy":                      {policy, "1", sum("0"), asset, 1},
	} {
		e := submitted(t0)
		e.Amount, e.Usage, e.Asset = tt.amount, tt.usage, tt.asset
		w := runWith(t, tt.p, withdrawal.Withdrawal{}, e)
		if w.Request.ApprovalsNeeded != tt.needed || (w.Request.Status == withdrawal.RequestApproved) != (tt.needed == 0) {
			t.Errorf("%s: %d approvals, %v", name, w.Request.ApprovalsNeeded, w.Request.Status)
		}
	}
}

func TestRule10FourEyes(t *testing.T) {
	e := submitted(t0)
	e.Amount = "1001"
	w := runWith(t, limits(), withdrawal.Withdrawal{}, e)
	as := func(actor string) withdrawal.Approved {
		return withdrawal.Approved{By: withdrawal.By{Actor: actor, Role: withdrawal.Approver, At: t0}}
	}
	expect(t, policy, w, as("system"), "forbidden") // who submitted it
	expect(t, policy, w, as(user.String()), "forbidden")
	w = expect(t, policy, w, as("alice"), "pending")
	expect(t, policy, w, as("alice"), "-")
	w = expect(t, policy, w, as("bob"), "approved")
	if w.Request.FirstApprover != "alice" || w.Request.SecondApprover != "bob" || w.Request.Version != 3 {
		t.Errorf("%+v", w.Request)
	}
	expect(t, policy, w, as("bob"), "-")
	expect(t, policy, w, as("carol"), "illegal")
}

// The naive way: look at every request, for every window.
func TestWindowsAgreeWithEnumeration(t *testing.T) {
	windows := []withdrawal.Window{{Length: 3 * time.Second}, {Length: 5 * time.Second}}
	rapid.Check(t, func(t *rapid.T) {
		status := append(withdrawal.RequestStatus(0).Values(), 0)[:7]
		earlier := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) withdrawal.Request {
			return withdrawal.Request{User: id(rapid.ByteRange(1, 2).Draw(t, "user")), Asset: id(rapid.ByteRange(1, 2).Draw(t, "asset")),
				Status: rapid.SampledFrom(status).Draw(t, "status"), Amount: decimal.NewFromInt(int64(rapid.IntRange(1, 5).Draw(t, "amount"))),
				CreatedAt: t0.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "at")) * time.Second)}
		}), 0, 12).Draw(t, "earlier")
		now := 6
		want := []int64{0, 0}
		for i, length := range []int{3, 5} {
			for second := now - length; second < now; second++ {
				for _, r := range earlier {
					if r.CreatedAt.Equal(t0.Add(time.Duration(second)*time.Second)) && r.User == id(1) && r.Asset == id(2) &&
						!slices.Contains([]string{"rejected", "cancelled", "failed"}, r.Status.String()) {
						want[i] += r.Amount.IntPart()
					}
				}
			}
		}
		got := withdrawal.UsageOf(earlier, id(1), id(2), windows, t0.Add(time.Duration(now)*time.Second), true)
		if len(got.Sums) != 2 || !got.Listed || got.Sums[0].IntPart() != want[0] || got.Sums[1].IntPart() != want[1] {
			t.Fatalf("%v, expected %v", got.Sums, want)
		}
	})
}

// The naive way: sort all that qualify by every rule, the last rule first.
func TestWalletChoiceAgreesWithStableSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := byte(0)
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) withdrawal.HotWallet {
			n++
			w := withdrawal.HotWallet{ID: id(n), Chain: id(rapid.ByteRange(1, 2).Draw(t, "chain")),
				Role: rapid.SampledFrom([]string{"hot_wallet", "cold_wallet"}).Draw(t, "role"), Status: rapid.SampledFrom([]string{"active", "off"}).Draw(t, "status"),
				BalanceReserved: rapid.SampledFrom([]withdrawal.Raw{"", "0", "9", "10", "-3"}).Draw(t, "reserved")}
			if s := rapid.IntRange(0, 2).Draw(t, "used"); s > 0 {
				w.LastUsedAt = t0.Add(time.Duration(s))
			}
			return w
		}), 0, 8).Draw(t, "wallets")
		var fit []withdrawal.HotWallet
		for _, w := range rapid.Permutation(all).Draw(t, "order") {
			if w.Chain == id(1) && w.Role == "hot_wallet" && w.Status == "active" {
				fit = append(fit, w)
			}
		}
		slices.SortStableFunc(fit, func(a, b withdrawal.HotWallet) int { return int(a.ID[15]) - int(b.ID[15]) })
		slices.SortStableFunc(fit, func(a, b withdrawal.HotWallet) int { return a.BalanceReserved.Int().Cmp(b.BalanceReserved.Int()) })
		slices.SortStableFunc(fit, func(a, b withdrawal.HotWallet) int { return a.LastUsedAt.Compare(b.LastUsedAt) })
		slices.SortStableFunc(fit, func(a, b withdrawal.HotWallet) int {
			switch {
			case a.LastUsedAt.IsZero() == b.LastUsedAt.IsZero():
				return 0
			case a.LastUsedAt.IsZero():
				return -1
			}
			return 1
		})
		got, err := withdrawal.ChooseWallet(all, id(1))
		if (err != nil) != (len(fit) == 0) || err == nil && got != fit[0] {
			t.Fatalf("%v, %v, expected the first of %v", got, err, fit)
		}
	})
}

// The naive way: double k times and stop at the cap.
func TestBackoffAgreesWithDoubling(t *testing.T) {
	for k := int32(1); k < 100; k++ {
		want := 30 * time.Second
		for range k {
			want = min(2*want, 24*time.Hour)
		}
		w := states(t)["processing"]
		w.Job.RetryCount, w.Job.MaxRetries = k, 1000
		if got := run(t, w, failedAttempt(t0, 1, withdrawal.Retryable)).Job.ScheduledAt.Sub(t0); got != want {
			t.Errorf("after execution %d: %v, expected %v", k, got, want)
		}
	}
}

func TestPolicyValidate(t *testing.T) {
	if err := withdrawal.DefaultPolicy().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*withdrawal.Policy){
		"zero":                  func(p *withdrawal.Policy) { *p = withdrawal.Policy{} },
		"no executions":         func(p *withdrawal.Policy) { p.MaxRetries = 0 },
		"no back-off":           func(p *withdrawal.Policy) { p.Backoff.Base = 0 },
		"no cap":                func(p *withdrawal.Policy) { p.Backoff.Cap = 0 },
		"jitter":                func(p *withdrawal.Policy) { p.Backoff.JitterPercent = 101 },
		"no lease":              func(p *withdrawal.Policy) { p.Lease = 0 },
		"no look-ups":           func(p *withdrawal.Policy) { p.CheckEvery = 0 },
		"no alert":              func(p *withdrawal.Policy) { p.AlertAfter = 0 },
		"hold without a time":   func(p *withdrawal.Policy) { p.HoldInsufficient, p.HoldFor = true, 0 },
		"no depth":              func(p *withdrawal.Policy) { p.Chain.Confirmations = 0 },
		"no depth of one chain": func(p *withdrawal.Policy) { p.Chains = map[uuid.UUID]withdrawal.Chain{chain: {}} },
		"dual below automatic": func(p *withdrawal.Policy) {
			l := p.Approval.Assets[asset]
			l.Dual = decimal.NewFromInt(1)
			p.Approval.Assets[asset] = l
		},
		"negative automatic": func(p *withdrawal.Policy) {
			p.Approval.Assets[asset] = withdrawal.ApprovalLimits{Automatic: decimal.NewFromInt(-1)}
		},
		"window without a length": func(p *withdrawal.Policy) {
			p.Approval.Assets[asset] = withdrawal.ApprovalLimits{Windows: make([]withdrawal.Window, 1)}
		},
	} {
		p := limits()
		spoil(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
