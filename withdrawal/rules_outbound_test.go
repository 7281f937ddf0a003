package withdrawal_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

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
			case (len(open.Said) == 1) != (tt.open == withdrawal.OpenUntold):
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
		{"a payment on record beside it", run(t, states(t)["confirming"], paidBy(t0, withdrawal.Operator, "other")), ev, 0},
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
		has := func(is bool) func(uuid.UUID, uint64) bool { return func(uuid.UUID, uint64) bool { return is } }
		if got := withdrawal.UnknownOutbounds(tt.said, has(tt.filler), has(tt.job)); len(got)+len(tt.want) > 0 && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// What an unknown outbound has switched off an operator alone switches on: the system says at each
// start of a host that its wallets are active.
func TestWhatAnUnknownOutboundSwitchedOffAPersonSwitchesOn(t *testing.T) {
	active := aWallet
	active.Status = withdrawal.WalletActive
	of := func(status string) withdrawal.HotWallet { w := active; w.Status = status; return w }
	cold := active
	cold.Role = "cold"
	for _, tt := range []struct {
		name     string
		old, h   withdrawal.HotWallet
		operator bool // else the system says it
		puts     bool
	}{
		{"a new one", withdrawal.HotWallet{}, active, false, true},
		{"said again", active, active, false, false},
		{"said again by an operator", active, active, true, true},
		{"off by an unknown outbound", active.Off(), active, false, false},
		{"off by an unknown outbound, an operator", active.Off(), active, true, true},
		{"off by an unknown outbound, retired", active.Off(), of("retired"), false, true},
		{"off by an unknown outbound, cold", active.Off(), cold, false, true},
		{"off by another reason", of("retired"), active, false, true},
		{"switched off", active, of("retired"), false, true},
	} {
		by := withdrawal.By{Role: withdrawal.System}
		if tt.operator {
			by.Role = withdrawal.Operator
		}
		if got := withdrawal.Puts(by, tt.old, tt.h); got != tt.puts {
			t.Errorf("%s: %v", tt.name, got)
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

// Used is taken of a chain that is not recovering where it ends an unknown outbound, and a bound of a
// wallet that came after a restore.
func TestWhatIsSaidWhileNothingRecovers(t *testing.T) {
	unknown := withdrawal.Statement{Wallet: aWallet.ID, Says: withdrawal.SaidUnknown, Number: 7}
	another := unknown
	another.Wallet = id(99)
	used, bound := usedNonce(7, "x"), through(7, 7)
	p := withdrawal.DefaultPolicy()
	p.Chain = numbered
	for _, tt := range []struct {
		name       string
		ev         withdrawal.Event
		generation int64
		next       uint64
		said       []withdrawal.Statement
		want       error
	}{
		{"used, told as unknown", used, 0, 7, []withdrawal.Statement{unknown}, nil},
		{"used, after a restore", used, 1, 7, []withdrawal.Statement{unknown}, nil},
		{"used, nothing is unknown", used, 0, 7, nil, statemachine.ErrIllegal},
		{"used, another nonce is unknown", usedNonce(8, "x"), 0, 7, []withdrawal.Statement{unknown}, statemachine.ErrIllegal},
		{"used, unknown of another wallet", used, 0, 7, []withdrawal.Statement{another}, statemachine.ErrIllegal},
		{"a bound of a new wallet", bound, 1, 0, nil, nil},
		{"a bound of a wallet that has paid", bound, 1, 7, nil, statemachine.ErrIllegal},
		{"a bound where nothing was put back", bound, 0, 0, nil, statemachine.ErrIllegal},
	} {
		r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet, Generation: tt.generation, Said: tt.said}
		r.Wallet.NextNonce = tt.next
		if _, err := p.Statements(tt.ev, r, t0); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, expected %v", tt.name, err, tt.want)
		}
	}
}
