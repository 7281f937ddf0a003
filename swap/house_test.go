package swap_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

func TestWaterlines(t *testing.T) {
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	scan := swap.Scan{From: at(0), Complete: true, Tip: at(1000)}
	for _, c := range []struct {
		name   string
		line   time.Time
		change func(*swap.Scan)
		oldest time.Time
		now    time.Time
		want   time.Time
	}{
		{"to the tip less two minutes", at(0), nil, time.Time{}, at(2000), at(880)},
		{"to the oldest item", at(0), nil, at(500), at(2000), at(380)},
		{"never backwards", at(900), func(s *swap.Scan) { s.From = at(900) }, at(500), at(2000), at(900)},
		{"never above now", at(0), func(s *swap.Scan) { s.Tip = at(9000) }, time.Time{}, at(2000), at(2000)},
		{"not by a scan that was cut short", at(0), func(s *swap.Scan) { s.Complete = false }, time.Time{}, at(2000), at(0)},
		{"not by an empty answer without a tip", at(0), func(s *swap.Scan) { s.Empty, s.Tip = true, time.Time{} }, time.Time{}, at(2000), at(0)},
		{"by an empty answer with a tip", at(0), func(s *swap.Scan) { s.Empty = true }, time.Time{}, at(2000), at(880)},
		{"not over a gap", at(0), func(s *swap.Scan) { s.From = at(1) }, time.Time{}, at(2000), at(0)},
		{"as far as it was read", at(600), func(s *swap.Scan) { s.From = at(600) }, at(500), at(2000), at(600)},
		{"the first one", time.Time{}, func(s *swap.Scan) { s.From = at(700) }, time.Time{}, at(2000), at(880)},
	} {
		s := scan
		if c.change != nil {
			c.change(&s)
		}
		w := swap.Waterline{Chain: swap.Solana, At: c.line, Version: 1}
		got := policy.Advance(w, swap.Control{}, s, c.oldest, c.now)
		if !got.At.Equal(c.want) || got.Version == 1 && !got.At.Equal(c.line) {
			t.Errorf("%s: %v at version %d, expected %v", c.name, got.At, got.Version, c.want)
		}
	}
	w := swap.Waterline{Chain: swap.Solana, At: t0}
	week := 7 * 24 * time.Hour
	if from := policy.ScanFrom(w, t0.Add(week+time.Hour)); !from.Equal(t0.Add(time.Hour)) {
		t.Errorf("inbound is scanned from %v", from)
	}
	w.Own = true
	if from := policy.ScanFrom(w, t0.Add(week+time.Hour)); !from.Equal(t0) {
		t.Errorf("the vault's own history is scanned from %v", from)
	}
	w.Own = false
	op := by(swap.Operator, t0.Add(week))
	moved, d, err := swap.AcceptGap(w, t0, t0.Add(time.Hour), op, "the node pruned it")
	if err != nil || !moved.At.Equal(t0.Add(time.Hour)) || d.Kind != swap.GapAccepted || d.Actor != "operator" {
		t.Errorf("%+v %+v %v", moved, d, err)
	}
	for name, err := range map[string]error{
		"a worker":          second(swap.AcceptGap(w, t0, t0.Add(time.Hour), by(swap.Worker, t0.Add(week)), "x")),
		"no reason":         second(swap.AcceptGap(w, t0, t0.Add(time.Hour), op, "")),
		"beyond now":        second(swap.AcceptGap(w, t0, t0.Add(2*week), op, "x")),
		"backwards":         second(swap.AcceptGap(w, t0, t0, op, "x")),
		"not at the line":   second(swap.AcceptGap(w, t0.Add(1), t0.Add(time.Hour), op, "x")),
		"own history":       second(swap.AcceptGap(swap.Waterline{Own: true, At: t0}, t0, t0.Add(time.Hour), op, "x")),
		"the year 20000":    second(swap.AcceptGap(w, t0, time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), op, "x")),
		"a time before 70s": second(swap.AcceptGap(w, t0, time.Time{}, op, "x")),
	} {
		if err == nil {
			t.Errorf("%s accepts a gap", name)
		}
	}
}

// An item that nobody can finish holds the waterline back for ever, and no scan: one
// that goes back seven days has no gap, before and after the item is that old.
func TestAnOldItemMakesNoGap(t *testing.T) {
	const day = 24 * time.Hour
	w, oldest := swap.Waterline{Chain: swap.Solana}, t0
	scan := func(w swap.Waterline, now time.Time, oldest time.Time) swap.Waterline {
		return policy.Advance(w, swap.Control{}, swap.Scan{Began: now, From: policy.ScanFrom(w, now), Complete: true, Tip: now}, oldest, now)
	}
	now := t0.Add(time.Hour)
	for d := range 30 {
		now = t0.Add(time.Duration(d) * day)
		next := scan(w, now, oldest)
		if want := now.Add(-policy.WaterlineMargin); !next.Seen.Equal(want) || next.Version != w.Version+1 || !next.At.Equal(oldest.Add(-policy.WaterlineMargin)) {
			t.Fatalf("day %d: %+v, read up to %v", d, next, want)
		}
		w = next
	}
	if a := scan(w, now, oldest); a != w {
		t.Errorf("the same scan again: %+v, it was %+v", a, w)
	}
	// The item has ended: the waterline is where it would be without it.
	ended := scan(w, now.Add(time.Second), time.Time{})
	if want := now.Add(time.Second - policy.WaterlineMargin); !ended.At.Equal(want) || !ended.Seen.Equal(want) {
		t.Errorf("after its end: %+v", ended)
	}
	// What nobody has read is a gap still, to the microsecond.
	at := w.Seen.Add(policy.LookBack)
	if got := scan(w, at, oldest); got.Version == w.Version {
		t.Errorf("a scan from where the last one ended: %+v", got)
	}
	if got := scan(w, at.Add(time.Microsecond), oldest); got != w {
		t.Errorf("a scan over a gap: %+v", got)
	}
	op := by(swap.Operator, at.Add(day))
	for name, c := range map[string]struct {
		from, to time.Time
		ok       bool
	}{"the gap": {w.Seen, at, true}, "what was read": {w.At, w.Seen, false}, "beyond what was read": {w.Seen.Add(time.Microsecond), at, false}} {
		got, d, err := swap.AcceptGap(w, c.from, c.to, op, "the node pruned it")
		if (err == nil) != c.ok || c.ok && (!got.At.Equal(c.to) || !got.Seen.Equal(c.to) || d.Kind != swap.GapAccepted) {
			t.Errorf("%s is accepted as %+v, %v", name, got, err)
		}
	}
	// A history that is not read any more is told.
	tally := swap.NewTally(now, time.Hour)
	tally.Waterline(&w)
	w.Chain = swap.Solana
	tally.Waterline(&w)
	tally.Waterline(&swap.Waterline{Chain: swap.Nexus, At: now.Add(-time.Hour)})
	tally.Waterline(&swap.Waterline{Chain: swap.Solana, Own: true, At: now.Add(-time.Hour), Seen: now.Add(-time.Hour - time.Microsecond)})
	tally.Waterline(&swap.Waterline{Chain: swap.Nexus, Own: true, At: now.Add(-time.Hour)})
	s := tally.Stats()
	if a := swap.Alerts(s, swap.DefaultThresholds()); len(a) != 0 {
		t.Errorf("an hour alerts: %+v", a)
	}
	s.OldestScan = s.OldestScan.Add(-time.Microsecond)
	if a := swap.Alerts(s, swap.DefaultThresholds()); len(a) != 1 || a[0].Name != "scan" {
		t.Errorf("alerts: %+v", a)
	}
}

func second(_ swap.Waterline, _ swap.Discrepancy, err error) error { return err }

func TestReferences(t *testing.T) {
	var c swap.Control
	for want := uint64(1); want < 4; want++ {
		var err error
		if c, err = c.Draw(); err != nil || c.Reference != want {
			t.Fatalf("%d, %v", c.Reference, err)
		}
	}
	if c, _ = c.Seed(2); c.Reference != 3 {
		t.Errorf("seeding lowered it to %d", c.Reference)
	}
	if c, _ = c.Seed(10); c.Reference != 10 {
		t.Errorf("seeded to %d", c.Reference)
	}
	if _, err := c.Seed(math.MaxUint64); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("seeded beyond 63 bits: %v", err)
	}
	// A person may pay with any number: one that no counter comes to is not taken.
	for _, n := range []uint64{swap.MaxSeen + 1, swap.MaxReference, swap.MaxAmount, math.MaxUint64} {
		if got := c.Saw(swap.Sighting{VaultSigned: true, Chain: swap.Nexus, Reference: n}); got != c {
			t.Errorf("%d raises the counter to %d", n, got.Reference)
		}
	}
	if _, err := c.Seed(swap.MaxSeen + 1); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("seeded to what a person chose: %v", err)
	}
	// The highest that is taken leaves as many to draw.
	c = c.Saw(swap.Sighting{VaultSigned: true, Chain: swap.Nexus, Reference: swap.MaxSeen})
	for n := uint64(swap.MaxSeen) + 1; n < swap.MaxSeen+3; n++ {
		next, err := c.Draw()
		if c, _ = c.Seed(next.Reference); err != nil || c.Reference != n {
			t.Errorf("drew %d, the counter is at %d, %v", next.Reference, c.Reference, err)
		}
	}
	c.Reference = swap.MaxReference - 1
	if c, _ = c.Draw(); c.Reference != swap.MaxReference {
		t.Errorf("the last one: %d", c.Reference)
	}
	if _, err := c.Draw(); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("drawn at the end: %v", err)
	}
}

func TestPolicies(t *testing.T) {
	if err := policy.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*swap.Policy){
		"no quarantine account":  func(p *swap.Policy) { p.USDCQuarantineAccount = "" },
		"no lease":               func(p *swap.Policy) { p.Lease = 0 },
		"a cooldown of 10 years": func(p *swap.Policy) { p.Cooldown = 1e5 * time.Hour },
		"11000 basis points":     func(p *swap.Policy) { p.Deposits.BasisPoints = 11_000 },
		"no attempt":             func(p *swap.Policy) { p.MaxAttempts = 0 },
		"one confirmation":       func(p *swap.Policy) { p.CreditConfirmations = 1 },
		"no time-out policy":     func(p *swap.Policy) { p.OnTimeout = 0 },
	} {
		p := policy
		spoil(&p)
		if err := p.Validate(); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecoverFindsAndProves(t *testing.T) {
	r := sending(t).wait(time.Hour)
	in := r.latest()
	full := swap.History{Chain: swap.Solana, View: r.view(1)}
	events := policy.RecoverCredit(r.item, open, nil, by(swap.Observer, r.now), full)
	r.do(events...)
	if r.latest().Proof != swap.Negative {
		t.Errorf("a complete scan proves nothing: %+v", events)
	}
	full.Outbound = []swap.Sighting{{VaultSigned: true, Chain: swap.Solana, TxID: "x", Memo: "nexus_txid:tx2"}, sighting(in, 1, false)}
	r.do(policy.RecoverCredit(r.item, open, nil, by(swap.Observer, r.now), full)...).is(awaitingText)
	r.do(policy.RecoverCredit(r.item, open, nil, by(swap.Observer, r.now), full)...).is(awaitingText)
	dust := sighting(in, 10, true)
	dust.VaultSigned = false
	r2 := sending(t)
	r2.do(policy.RecoverCredit(r2.item, open, nil, by(swap.Observer, r2.now), swap.History{Chain: swap.Solana, Outbound: []swap.Sighting{dust}})...).is("sending")
}

func TestALostDatabaseIsRebuilt(t *testing.T) {
	dep := func(id, memo string, amount uint64) swap.LostDeposit {
		return swap.LostDeposit{Observed: observedDeposit(id, amount), Memo: memo}
	}
	solana := func(txid, memo string, amount uint64) swap.Sighting {
		s := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: txid, Memo: memo, Amount: amount, Token: "USDC", Finalized: true, Destination: "alice-solana", Time: t0}
		if strings.HasPrefix(memo, "quarantinedSig:") {
			s.Destination = "solana-quarantine"
		}
		return s
	}
	nexus := func(txid, to string, amount, reference uint64) swap.Sighting {
		return swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: txid, Destination: to, Amount: amount, Reference: reference, Token: "USDD", Confirmations: 10, Time: t0}
	}
	lost := swap.Lost{
		Deposits: []swap.LostDeposit{
			dep("paid", "nexus:carol", amount), dep("refunded", "hello", amount), dep("aside", "hello", amount), dep("open", "nexus:dave", amount),
			dep("twin1", "nexus:erin", amount), dep("twin2", "nexus:erin", amount), dep("both", "nexus:frank", amount), dep("oldfee", "nexus:gil", amount),
		},
		Credits: []swap.Observed{observedCredit("c-paid", amount), observedCredit("c-refunded", amount), observedCredit("c-open", amount)},
		Solana: swap.History{Chain: swap.Solana, Outbound: []swap.Sighting{
			solana("s1", "nexus_txid:c-paid", 9_490_000), solana("s2", "refundSig:refunded invalid memo", 9_900_000), solana("s3", "quarantinedSig:aside", 9_900_000),
			solana("s4", "refundSig:both", 9_900_000), solana("s5", "rent", 1), {Chain: swap.Solana, TxID: "dust", Memo: "nexus_txid:c-open", Amount: 1, Token: "USDC", Finalized: true},
		}},
		Nexus: swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{
			nexus("n1", "carol", 9_890_000, 1), nexus("n2", "erin", 9_890_000, 2), nexus("n3", "frank", 9_890_000, 3), nexus("n4", "gil", 9_800_000, 4), nexus("n5", "nobody", 5, 5),
		}},
		PastDeposits: []swap.Fees{policy.Deposits, {Flat: 200_000}}, PastCredits: []swap.Fees{policy.Credits},
	}
	// Of the two credits of bob one was refunded; which, nobody can tell.
	lost.Credits[2].From = "eve-nexus"
	lost.Credits[0].From = "zoe-nexus"
	lost.Nexus.Outbound = append(lost.Nexus.Outbound, nexus("n6", "bob-nexus", 9_999_000, 6))
	rec := policy.RecoverMissing(lost, by(swap.System, t0))
	got := map[string]string{}
	for _, ev := range rec.Deposits {
		c, err := policy.ApplyDeposit(swap.Deposit{}, ev, t0)
		if err == nil {
			err = swap.CheckDeposit(c.New)
		}
		if err != nil {
			t.Fatal(err)
		}
		got[ev.Observed.ID] = c.New.Status.String()
		if again, err := policy.ApplyDeposit(c.New, ev, t0); err != nil || !again.Empty() {
			t.Errorf("%s again: %v", ev.Observed.ID, err)
		}
		if c.New.Hold.Kind != 0 {
			got[ev.Observed.ID] += ", held"
		}
	}
	for _, ev := range rec.Credits {
		c, err := policy.ApplyCredit(swap.Credit{}, ev, t0)
		if err == nil {
			err = swap.CheckCredit(c.New)
		}
		if err != nil {
			t.Fatal(err)
		}
		got[ev.Observed.ID] = c.New.Status.String()
	}
	want := map[string]string{"paid": "debit_confirmed", "refunded": "refund_confirmed", "aside": "quarantine sent, awaiting confirmation",
		"twin1": "detected, held", "twin2": "detected, held", "both": "detected, held", "oldfee": "debit_confirmed",
		"c-paid": "processed", "c-refunded": "refunded"}
	for id, s := range want {
		if got[id] != s {
			t.Errorf("%s is %q, expected %q", id, got[id], s)
		}
	}
	for id := range got {
		if want[id] == "" {
			t.Errorf("%s is %q, expected nothing", id, got[id])
		}
	}
	if len(rec.Unattributed) != 2 || rec.Unattributed[0].TxID != "s5" || rec.Unattributed[1].TxID != "n5" {
		t.Errorf("unattributed: %+v", rec.Unattributed)
	}
}

func TestNextOwesALookUpNeverASend(t *testing.T) {
	r := ready(t).begin(swap.Send)
	if s := r.p.NextDeposit(r.item, open, r.latest().SendBy); len(s.Tasks) != 1 || s.Tasks[0].Do != swap.LookUp || s.Tasks[0].Number != 1 {
		t.Errorf("owed: %+v", s)
	}
	if due := r.i().CheckAt; !due.Equal(r.latest().SendBy) {
		t.Errorf("due at %v, the sender works until %v", due, r.latest().SendBy)
	}
}

// A scan is of the store's clock: one from the future would count after a loss that
// it has not seen.
func TestAScanIsOfTheStoresClock(t *testing.T) {
	odd := t0.Add(123 * time.Nanosecond)
	for _, c := range []struct {
		began time.Time
		ok    bool
	}{{t0, true}, {odd.Add(-time.Second), true}, {t0.Add(time.Microsecond), false}, {time.Time{}, false}, {time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), false}} {
		s, err := policy.CheckScan(swap.Scan{Began: c.began, From: odd, Tip: odd}, t0)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("a scan that began at %v: %v", c.began, err)
		}
		if c.ok && (!s.Began.Equal(c.began.Truncate(time.Microsecond)) || !s.From.Equal(t0) || !s.Tip.Equal(t0)) {
			t.Errorf("its times are %+v", s)
		}
	}
	if _, err := policy.CheckScan(swap.Scan{Began: t0, Tip: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, t0); err == nil {
		t.Error("a tip in the year 20000")
	}
	// What is waited for meanwhile is said.
	r := creditReady(t).claim().do(swap.AccountChecked{By: by(swap.Worker, t0), State: swap.AccountUsable})
	for _, c := range []struct {
		ctl  swap.Control
		want string
	}{{swap.Control{}, "on solana and nexus"}, {swap.Control{SolanaScanned: true}, "on nexus"}, {open, ""}} {
		if s := policy.NextCredit(r.item, c.ctl, t0); !strings.HasSuffix(s.Why, c.want) || c.want == "" && s.Why != "" {
			t.Errorf("owed: %+v, expected %q", s, c.want)
		}
	}
}

// Whoever stores the vault's own history is told what is wrong with it.
func TestWhoSaysWhatWentOut(t *testing.T) {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "n1", Reference: math.MaxUint64, Amount: 5}
	for name, c := range map[string]struct {
		seen swap.Sighting
		by   swap.By
		err  error
	}{
		"an observer":       {seen, by(swap.Observer, t0), nil},
		"the system":        {seen, by(swap.System, t0), nil},
		"an operator":       {seen, by(swap.Operator, t0), statemachine.ErrForbidden},
		"nobody":            {seen, swap.By{}, statemachine.ErrForbidden},
		"one without name":  {seen, swap.By{Role: swap.Observer}, statemachine.ErrInvalid},
		"no chain":          {swap.Sighting{TxID: "n1"}, by(swap.Observer, t0), statemachine.ErrInvalid},
		"no transaction":    {swap.Sighting{Chain: swap.Nexus}, by(swap.Observer, t0), statemachine.ErrInvalid},
		"an endless memo":   {swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s", Memo: strings.Repeat("m", swap.MaxMemo+1)}, by(swap.Observer, t0), statemachine.ErrInvalid},
		"an amount of 2^63": {swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s", Amount: 1 << 63}, by(swap.Observer, t0), statemachine.ErrInvalid},
		"a stranger's":      {swap.Sighting{Chain: swap.Solana, TxID: "s", Memo: strings.Repeat("m", swap.MaxMemo+1), Amount: 1 << 63}, by(swap.Observer, t0), nil},
	} {
		if d, err := swap.Unattributed(c.seen, c.by); !errors.Is(err, c.err) || (err == nil) != (d.Kind == swap.UnattributedOutbound) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	for want, change := range map[string]func(*swap.Observed){
		"an amount of 0": func(o *swap.Observed) { o.Amount = 0 }, "an id of 1 to 200": func(o *swap.Observed) { o.ID = "tx 1" },
	} {
		o := observedDeposit("tx1", 5)
		change(&o)
		if _, err := policy.ApplyDeposit(swap.Deposit{}, o, t0); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), o.ID) {
			t.Errorf("%q is refused as %v", want, err)
		}
	}
}

// Every state of each machine has something owed, or somebody named.
func TestNobodyIsForgotten(t *testing.T) {
	for name, r := range map[string]*run[swap.Deposit]{
		"detected": detected(t), "own memo": memo(detected(t), "refundSig:x"), "ready": ready(t), "sent": ready(t).begin(swap.Send), "debited": debited(t),
		"to be refunded": toBeRefunded(t), "refund sent": refundSent(t), "to be quarantined": toBeQuarantined(t),
		"quarantined": toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done), "held": ready(t).order(swap.Held{}),
	} {
		if s := r.p.NextDeposit(r.item, open, r.now.Add(time.Hour)); s.Party == 0 || s.Party == swap.Worker && (s.Due.IsZero() || r.i().CheckAt.IsZero()) {
			t.Errorf("%s: %+v, due %v", name, s, r.i().CheckAt)
		}
	}
	for name, r := range map[string]*run[swap.Credit]{
		"pending": pending(t), "ripe": ripe(t), "ready": creditReady(t), "sending": sending(t), "awaiting": awaiting(t), "balance check": balanceCheck(t),
		"collecting": collecting(t), "refund pending": refundPending(t), "refunded": refunded(t), "quarantined": quarantined(t),
		"gone": ripe(t).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}),
	} {
		if s := r.p.NextCredit(r.item, open, r.now.Add(time.Hour)); s.Party == 0 || s.Party == swap.Worker && (s.Due.IsZero() || r.i().CheckAt.IsZero()) {
			t.Errorf("%s: %+v, due %v", name, s, r.i().CheckAt)
		}
	}
	if s := policy.NextDeposit(debited(t).found(1, 10).item, open, t0); s.Party != 0 || len(s.Tasks) > 0 {
		t.Errorf("a finished deposit owes %+v", s)
	}
}

// A row that was imported and says that something went out has nobody but an
// operator.
func TestAnOutboundThatIsNotOnFileIsAnOperators(t *testing.T) {
	r := debited(t)
	r.item.Intents = nil
	if err := swap.CheckDeposit(r.item); err == nil {
		r.item.Attempts = swap.Attempts{}
	}
	if s := r.p.NextDeposit(r.item, open, r.now.Add(time.Hour)); s.Party != swap.Operator || len(s.Tasks) > 0 {
		t.Errorf("owed: %+v", s)
	}
}
