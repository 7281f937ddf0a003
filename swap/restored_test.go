package swap_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

// restored is a copy that was taken up again at the run's time, what it lacked rebuilt and its
// scans complete.
func restored[A any](r *run[A]) *run[A] {
	r.ctl, _ = r.ctl.Restored(r.now).SaysMissing(by(swap.System, r.now), r.now)
	r.ctl = r.ctl.Scanned(swap.Solana).Scanned(swap.Nexus)
	return r
}

// next of either machine.
func (r *run[A]) next() swap.Step {
	switch a := any(r.item).(type) {
	case swap.Deposit:
		return r.p.NextDeposit(a, r.ctl, r.now)
	case swap.Credit:
		return r.p.NextCredit(a, r.ctl, r.now)
	}
	panic("no such item")
}

// owes compares the one task that is owed, and when nothing is owed until.
func (r *run[A]) owes(do swap.Do) *run[A] {
	r.t.Helper()
	if s := r.next(); len(s.Tasks) != 1 || s.Tasks[0].Do != do {
		r.t.Fatalf("owed: %+v, expected %v", s, do)
	}
	return r
}

// An item of a copy is not paid before all that went out since is on file: also an
// attempt that was begun after the copy was made, whatever the copy shows.
func TestARestoredCopyPaysNothingBeforeALookBack(t *testing.T) {
	for name, r := range map[string]*run[swap.Deposit]{
		"a send": ready(t), "a refund": toBeRefunded(t), "a quarantine": toBeQuarantined(t),
		"a second attempt": ready(t).begin(swap.Send).answer(statemachine.Failed).prove(),
	} {
		t.Run(name, func(t *testing.T) {
			restoredCopy(t, r, map[string]swap.Action{"a refund": swap.Refund, "a quarantine": swap.Quarantine}[name])
		})
	}
	for name, r := range map[string]*run[swap.Credit]{"a credit's send": creditReady(t), "a credit's refund": refundPending(t), "a credit's move": quarantined(t), "a second attempt of a credit": sending(t).answer(statemachine.Failed).prove()} {
		t.Run(name, func(t *testing.T) {
			restoredCopy(t, r, map[string]swap.Action{"a credit's refund": swap.Refund, "a credit's move": swap.Quarantine}[name])
		})
	}
}

func restoredCopy[A any](t *testing.T, r *run[A], a swap.Action) {
	r.t = t
	if a == 0 {
		a = swap.Send
	}
	restored(r.release().wait(time.Hour))
	bar := r.now.Add(r.p.Lease + r.p.CallTimeout)
	r.claim()
	if a == swap.Send {
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	}
	r.refused(r.begun(a), switches.ErrOnHold)
	if s := r.next(); len(s.Tasks) > 0 {
		t.Fatalf("owed while an old sender may still send: %+v", s)
	}
	r.now = bar
	r.missing(0).refused(r.begun(a), statemachine.ErrFenced) // the lease is over
	r.now = bar.Add(time.Microsecond)
	r.claim()
	if a == swap.Send {
		r.i().Checked = true
	}
	r.owes(swap.LookBack).refused(r.begun(a), switches.ErrOnHold)
	r.missing(0).owes(swap.Begin).do(r.begun(a))
	// A second loss begins anew.
	r.answer(statemachine.Failed).release().prove()
	restored(r.wait(time.Hour)).claim()
	if a == swap.Send {
		r.i().Checked = true
	}
	r.refused(r.begun(a), switches.ErrOnHold)
}

// What is kept as fee was not paid before the loss either.
func TestNothingIsBookedAsFeeBeforeALookBack(t *testing.T) {
	r := memo(deposits(t).do(observedDeposit("sig1", 100_000)), "x").is("to be refunded").release()
	restored(r.wait(time.Hour)).elapse().is("to be refunded").wait(10 * time.Minute).owes(swap.LookBack)
	r.missing(0).elapse().is("processed, amount after fees <= 0")
}

// What went out after the copy is found by memo on Solana, and on Nexus by
// destination and amount: the item is held for a person, who says paid_by.
func TestALookBackFindsWhatIsNotOnFile(t *testing.T) {
	scans := func(r interface{ view(int64) swap.View }, solana, nexus []swap.Sighting) []swap.History {
		return []swap.History{{Chain: swap.Solana, Outbound: solana, View: r.view(0)}, {Chain: swap.Nexus, Outbound: nexus, View: r.view(0)}}
	}
	t.Run("a debit", func(t *testing.T) {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		debit := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostdebit", Reference: 7, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0.Add(-r.p.WaterlineMargin)}
		others := []swap.Sighting{debit, debit, debit, debit, debit}
		others[0].Destination = "dave"
		others[1].Amount--
		others[2].VaultSigned = false
		others[3].Errored = true
		others[4].Time = debit.Time.Add(-time.Microsecond)
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, append(others, debit))...)...).kinds(swap.Mismatch)
		if r.i().Hold.Kind != swap.ByMismatch || (r.i().LookedBack == r.ctl.Generation) {
			t.Fatalf("hold %v, looked back %v", r.i().Hold, r.i().LookedBack)
		}
		r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "lostdebit", Reason: "seen"})
		if r.i().LookedBack == r.ctl.Generation {
			t.Error("paid_by is no look-back")
		}
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}).is(debitedText)
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}).is("debit_confirmed")
	})
	t.Run("a debit under past fees, that is another's", func(t *testing.T) {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		old := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "old", Amount: 9_800_000, Destination: "carol", Token: "USDD"}
		events := r.p.RecoverDeposit(r.item, r.ctl, []swap.Fees{{Flat: 200_000}}, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{old})...)
		r.do(events...).kinds(swap.Mismatch)
		r.do(swap.NotSent{By: r.operator(), TxID: "old", Reason: "it is of another deposit"})
		r.do(r.p.RecoverDeposit(r.item, r.ctl, []swap.Fees{{Flat: 200_000}}, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{old})...)...)
		r.begin(swap.Send)
	})
	t.Run("a refund", func(t *testing.T) {
		r := toBeRefunded(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		refund := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "lostrefund", Memo: "refundSig:sig1 invalid memo", Amount: 9_900_000, Destination: "alice-solana", Token: "USDC", Finalized: true}
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, []swap.Sighting{refund}, nil)...)...).kinds(swap.Mismatch)
		if r.i().LookedBack == r.ctl.Generation {
			t.Error("nothing was found")
		}
	})
	t.Run("a credit's refund", func(t *testing.T) {
		r := refundPending(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		refund := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostrefund", Reference: 9, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD"}
		r.do(r.p.RecoverCredit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{refund})...)...).kinds(swap.Mismatch)
	})
	// A reorganisation has moved the credit to a later block than its refund's.
	t.Run("a refund that is older than the credit", func(t *testing.T) {
		refund := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostrefund", Reference: 9, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD"}
		early := refundPending(t).release()
		first := early.p.Since(swap.ToUSDC, early.i().At)
		if !first.Equal(t0.Add(-early.p.WaterlineMargin - early.p.GoneAfter)) {
			t.Fatalf("something may have gone out for it since %v", first)
		}
		for at, found := range map[time.Time]bool{first: true, first.Add(-time.Microsecond): false} {
			refund.Time = at
			r := refundPending(t).release()
			restored(r.wait(time.Hour)).wait(time.Hour)
			if r.do(r.p.RecoverCredit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{refund})...)...); (r.i().Hold.Kind == swap.ByMismatch) != found {
				t.Errorf("a refund at %v: hold %v", at, r.i().Hold)
			}
		}
		restored(early.wait(time.Hour)).wait(time.Hour)
		for _, after := range []time.Duration{time.Microsecond, 0} {
			scan := early.view(0)
			scan.From = first.Add(after)
			early.do(swap.Looked{By: early.worker(), Finding: swap.LookMissing, View: scan, Nexus: early.view(0), Control: early.ctl})
			if (early.i().LookedBack == early.ctl.Generation) != (after == 0) {
				t.Errorf("a scan that begins %v later: looked back %v", after, early.i().LookedBack)
			}
		}
	})
	t.Run("nothing", func(t *testing.T) {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, nil)...)...).begin(swap.Send)
	})
	t.Run("a debit of a deposit whose memo nobody can read", func(t *testing.T) {
		r := detected(t).claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true}).release()
		restored(r.wait(5 * time.Hour)).elapse().is("detected").wait(time.Hour).elapse().is("detected") // the clock begins anew
		r.wait(time.Microsecond).attended().elapse().is(toBeRefundedText).owes(swap.LookBack)
		debit := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostdebit", Reference: 7, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0}
		other := debit
		other.Amount--
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{other, debit})...)...).kinds(swap.Mismatch)
		r.attended()
		r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "lostdebit", Reason: "it is this one"})
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}, swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}).is("debit_confirmed")
	})
	t.Run("a move to a quarantine account of another day", func(t *testing.T) {
		r := quarantined(t).release()
		r.p.OwnAccounts = append([]string{"old-quarantine"}, r.p.OwnAccounts...)
		restored(r.wait(time.Hour)).wait(time.Hour)
		move := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostmove", Reference: 9, Amount: amount, Destination: "old-quarantine", Token: "USDD"}
		r.do(r.p.RecoverCredit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{move})...)...).kinds(swap.Mismatch)
	})
	t.Run("what is on file", func(t *testing.T) {
		r := ready(t).begin(swap.Send).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{sighting(r.latest(), 10, true)})...)...).is(debitedText).kinds()
	})
}

// What was at rest in a copy is offered to no worker, so it is an operator's, by
// whose order the look back comes first.
func TestAnItemAtRestInACopyIsAnOperators(t *testing.T) {
	r := quarantined(t)
	r.p.Credits.Quarantine = amount
	restored(r.order(swap.Held{}).order(swap.Released{}).release().wait(time.Hour)).wait(time.Hour)
	for _, p := range []swap.Policy{r.p, policy} { // also when the fee is mended
		r.p = p
		if s := r.attended().next(); s.Party != swap.Operator || s.Why == "" || len(s.Tasks) > 0 {
			t.Errorf("owed: %+v, due %v", s, r.i().CheckAt)
		}
	}
	r.order(swap.Requeued{}).attended().claim().owes(swap.LookBack).refused(r.begun(swap.Quarantine), switches.ErrOnHold)
	r.missing(0).do(r.begun(swap.Quarantine))
	over := toBeQuarantined(t)
	for range 3 {
		over.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed)
		if over.state(&over.item) != "quarantine failed" {
			over.prove()
		}
	}
	if s := restored(over.release().wait(time.Hour)).attended().next(); s.Why == "" {
		t.Errorf("owed: %+v", s)
	}
}

// Whether an item came in after the loss is told by the clocks of two machines.
func TestAnItemIsYoungerThanTheLossByTheMargin(t *testing.T) {
	for _, c := range []struct {
		at     time.Duration
		behind bool
	}{{2*time.Minute - time.Second, true}, {2 * time.Minute, false}} {
		r := deposits(t)
		restored(r)
		o := observedDeposit("sig1", amount)
		o.Time, o.Control = t0.Add(c.at), r.ctl
		o.By.At = t0.Add(time.Hour)
		r.now = o.By.At
		memo(r.do(o), "nexus:carol").do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
		if err := r.try(r.begun(swap.Send)); (err != nil) != c.behind {
			t.Errorf("an item of %v after the loss: %v", c.at, err)
		}
	}
}

// A credit may have been paid in a block of before the loss, and a reorganisation have
// moved it to one of after: it is looked back for. A deposit is final when it is seen.
func TestACreditThatMovedAcrossTheLossIsLookedBackFor(t *testing.T) {
	for _, c := range []struct {
		at     time.Duration
		behind bool
	}{{24*time.Hour + 2*time.Minute - time.Second, true}, {24*time.Hour + 2*time.Minute, false}} {
		r := restored(credits(t))
		o := observedCredit("tx1", amount)
		o.Time, o.Control = t0.Add(c.at), r.ctl
		r.now = t0.Add(48 * time.Hour)
		o.By.At = r.now
		r.do(o, swap.Confirmations{By: by(swap.Observer, r.now), Count: 2, Control: r.ctl}).claim().do(r.mapping())
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
		if !c.behind {
			r.do(r.begun(swap.Send))
			continue
		}
		r.owes(swap.LookBack).refused(r.begun(swap.Send), switches.ErrOnHold)
		r.missing(0).do(r.begun(swap.Send))
	}
}

// A server that a copy is restored on may have a clock that is behind: an item enters a
// status before it was stored, and is no corrupt row.
func TestAClockThatIsBehindCorruptsNothing(t *testing.T) {
	r := detected(t)
	r.now = t0.Add(-policy.WaterlineMargin)
	r.do(swap.MemoFetched{By: r.worker(), Memos: []string{"nexus:carol"}}).is("ready for processing")
	if !r.i().Entered.Before(r.i().Stored) {
		t.Errorf("entered at %v", r.i().Entered)
	}
}

// A scan that began while somebody of before the loss might still send has not seen
// the last reference number.
func TestAScanCountsOnceNobodyMaySendWhatWasLost(t *testing.T) {
	lost := swap.Control{Generation: 2, RecoveredAt: t0}
	bar := policy.Lease + policy.CallTimeout
	for _, c := range []struct {
		name  string
		house swap.Control
		own   bool
		began time.Duration
		other int64
		want  bool
	}{
		{"at the end of the last lease and call", lost, true, bar, 0, false},
		{"after it", lost, true, bar + time.Microsecond, 0, true},
		{"nothing was lost", swap.Control{}, true, 0, 0, true},
		{"of what came in", lost, false, time.Hour, 0, false},
		{"it began before the loss, by a clock that was ahead", lost, true, time.Hour, -1, false},
		{"of a generation that is not there", lost, true, time.Hour, 1, false},
	} {
		w := swap.Waterline{Chain: swap.Nexus, Own: c.own}
		got := policy.Scanned(c.house, w, swap.Scan{Began: t0.Add(c.began), Generation: c.house.Generation + c.other, From: t0.Add(-time.Hour), Complete: true, Tip: t0})
		if (got.Version > c.house.Version) != c.want || got.NexusScanned != c.want {
			t.Errorf("%s: scanned %v", c.name, got.NexusScanned)
		}
	}
}

// What names an item after a lost database is believed if it is what the item owes,
// by today's fees or past ones. Anything else is a person's, and a mismatch when it is
// looked back for.
func TestOfALostDatabaseOnlyWhatIsOwedIsBelieved(t *testing.T) {
	past := []swap.Fees{{Flat: 200_000, Refund: 300_000, Quarantine: 400_000}}
	seen := func(c swap.Chain, memo, to string, amount uint64) swap.Sighting {
		return swap.Sighting{VaultSigned: true, Chain: c, TxID: "ab", Memo: memo, Amount: amount, Destination: to, Token: map[swap.Chain]string{swap.Solana: "USDC", swap.Nexus: "USDD"}[c], Finalized: true, Confirmations: 10, Time: t0}
	}
	for name, c := range map[string]struct {
		d      swap.Direction
		action swap.Action
		seen   swap.Sighting
		owed   bool
	}{
		"a payout":                           {swap.ToUSDC, swap.Send, seen(swap.Solana, "nexus_txid:tx1", "anybody", 9_490_000), true},
		"a payout by past fees":              {swap.ToUSDC, swap.Send, seen(swap.Solana, "nexus_txid:tx1", "anybody", 9_800_000), true},
		"a payout of all":                    {swap.ToUSDC, swap.Send, seen(swap.Solana, "nexus_txid:tx1", "anybody", amount), false},
		"a payout of a unit":                 {swap.ToUSDC, swap.Send, seen(swap.Solana, "nexus_txid:tx1", "anybody", 1), false},
		"a payout on the other chain":        {swap.ToUSDC, swap.Send, seen(swap.Nexus, "", "anybody", 9_490_000), false},
		"a credit's refund":                  {swap.ToUSDC, swap.Refund, seen(swap.Nexus, "", "bob-nexus", 9_999_000), true},
		"a credit's refund to somebody else": {swap.ToUSDC, swap.Refund, seen(swap.Nexus, "", "mallory", 9_999_000), false},
		"a credit's move":                    {swap.ToUSDC, swap.Quarantine, seen(swap.Nexus, "", "nexus-quarantine", amount), true},
		"a debit":                            {swap.ToUSDD, swap.Send, seen(swap.Nexus, "", "carol", 9_890_000), true},
		"a debit to somebody else":           {swap.ToUSDD, swap.Send, seen(swap.Nexus, "", "mallory", 9_890_000), false},
		"a refund":                           {swap.ToUSDD, swap.Refund, seen(swap.Solana, "refundSig:sig1 invalid memo", "alice-solana", 9_900_000), true},
		"a refund by past fees":              {swap.ToUSDD, swap.Refund, seen(swap.Solana, "refundSig:sig1", "alice-solana", 9_700_000), true},
		"a refund less a unit":               {swap.ToUSDD, swap.Refund, seen(swap.Solana, "refundSig:sig1", "alice-solana", 9_899_999), false},
		"a refund to somebody else":          {swap.ToUSDD, swap.Refund, seen(swap.Solana, "refundSig:sig1", "mallory", 9_900_000), false},
		"a refund from before": {swap.ToUSDD, swap.Refund, func() swap.Sighting {
			s := seen(swap.Solana, "refundSig:sig1", "alice-solana", 9_900_000)
			s.Time = t0.Add(-time.Hour)
			return s
		}(), false},
		"a move":                   {swap.ToUSDD, swap.Quarantine, seen(swap.Solana, "quarantinedSig:sig1", "solana-quarantine", 9_900_000), true},
		"a move to an own account": {swap.ToUSDD, swap.Quarantine, seen(swap.Solana, "quarantinedSig:sig1", "solana-vault", 9_600_000), true},
		"a move to somebody else":  {swap.ToUSDD, swap.Quarantine, seen(swap.Solana, "quarantinedSig:sig1", "mallory", 9_900_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := swap.Lost{PastDeposits: past, PastCredits: past}
			if c.d == swap.ToUSDD {
				l.Deposits = []swap.LostDeposit{{Observed: observedDeposit("sig1", amount), Memo: "nexus:carol"}}
			} else {
				l.Credits = []swap.Observed{observedCredit("tx1", amount)}
			}
			if c.seen.Chain == swap.Solana {
				l.Solana.Outbound = []swap.Sighting{c.seen}
			} else {
				l.Nexus.Outbound = []swap.Sighting{c.seen}
			}
			r := policy.RecoverMissing(l, by(swap.System, t0))
			all := append(r.Deposits, r.Credits...)
			if c.seen.Chain == swap.Nexus && !c.owed { // it names nobody
				if len(all) > 0 || len(r.Unattributed) != 1 {
					t.Errorf("%+v", r)
				}
				all = []swap.Recovered{{By: by(swap.System, t0)}}
			} else if len(all) != 1 || all[0].Action != map[bool]swap.Action{true: c.action}[c.owed] {
				t.Fatalf("%+v", r)
			}
			// Whoever says it, the rule is the same.
			said := all[0]
			said.Action, said.Seen, said.Past, said.Memo = c.action, c.seen, past, "nexus:carol"
			var err error
			if c.d == swap.ToUSDD {
				said.Observed = observedDeposit("sig1", amount)
				d := deposits(t)
				if err = d.try(said); err == nil && d.item.Memo != "nexus:carol" {
					t.Errorf("the memo is %q", d.item.Memo)
				}
			} else {
				said.Observed = observedCredit("tx1", amount)
				err = credits(t).try(said)
			}
			if c.owed != (err == nil) || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("said: %v", err)
			}
			if c.owed || c.seen.Chain == swap.Nexus {
				return
			}
			if c.d == swap.ToUSDD {
				d := deposits(t).do(all[0])
				if d.i().Hold.Kind != swap.ByRecovery {
					t.Errorf("hold %v", d.i().Hold)
				}
				d.outbound(c.seen).kinds(swap.Mismatch).order(swap.Released{})
				if d.attended(); d.i().Hold.Kind != swap.ByMismatch {
					t.Errorf("released: %v", d.i().Hold)
				}
				return
			}
			credits(t).do(all[0]).outbound(c.seen).kinds(swap.Mismatch).attended()
		})
	}
}

// A micro credit is booked as fee once every outbound from before the loss is on file:
// by an older minimum it was paid.
func TestAMicroCreditIsNotKeptBeforeALookBack(t *testing.T) {
	count := func(r *run[swap.Credit]) swap.Confirmations {
		return swap.Confirmations{By: by(swap.Observer, r.now), Count: 2, Control: r.ctl}
	}
	copied := func() *run[swap.Credit] {
		r := credits(t).do(observedCredit("tx1", 500_000))
		r = restored(r.wait(time.Hour))
		r.do(count(r)).is("pending_receival").attended().elapse().is("pending_receival")
		r.wait(time.Hour).do(count(r)).is("pending_receival").owes(swap.LookBack).claim()
		return r.do(r.mapping()).is("pending_receival").wait(2 * time.Hour).elapse().is("pending_receival").release()
	}
	r := copied()
	r.missing(0).owes(swap.Tell).elapse().is("processed as fees").over()
	if m := r.item.Money(); m.Fees != 500_000 {
		t.Errorf("money %+v", m)
	}
	// It was paid.
	paid := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "lost", Memo: "nexus_txid:tx1", Amount: 499_000, Destination: "bob-usdc", Token: "USDC", Finalized: true}
	r = copied().outbound(paid).kinds(swap.Mismatch).missing(0).elapse().is("pending_receival").attended()
	r.do(r.paidBy(swap.Send, "lost")).is("refund pending").attended()
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: paid}, swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: paid}).is("processed").over()
	if m := r.item.Money(); m.PaidOut != 499_000 || m.Fees != 1_000 {
		t.Errorf("money %+v", m)
	}
	// While a person holds it, and while an outbound is not explained, nothing is booked.
	for _, hold := range []func(*run[swap.Credit]){
		func(r *run[swap.Credit]) { r.order(swap.Held{}) },
		func(r *run[swap.Credit]) { r.outbound(paid) },
	} {
		r := credits(t).do(observedCredit("tx1", 500_000))
		hold(r)
		r.do(count(r)).is("pending_receival").attended().elapse().is("pending_receival")
	}
	// A person may refund it.
	r = copied()
	r.missing(0).order(swap.RefundOrdered{}).is("refund pending").attended().begin(swap.Refund)
}

// One view that proves nothing is not mended by that of the other chain.
func TestALookBackNeedsBothViews(t *testing.T) {
	for name, c := range map[string]struct {
		chain swap.Chain
		spoil func(*swap.View)
	}{
		"Solana's answer is behind":  {swap.Solana, func(v *swap.View) { v.Before, v.After = 300_000_000, 299_000_000 }},
		"Nexus's answer is behind":   {swap.Nexus, func(v *swap.View) { v.Before, v.After = 300_000_000, 299_000_000 }},
		"Solana has no height":       {swap.Solana, func(v *swap.View) { v.Before = 0 }},
		"Solana begins nowhere":      {swap.Solana, func(v *swap.View) { v.From = time.Time{} }},
		"Nexus begins nowhere":       {swap.Nexus, func(v *swap.View) { v.From = time.Time{} }},
		"Solana was asked too early": {swap.Solana, func(v *swap.View) { v.Asked = v.Asked.Add(-time.Hour) }},
		"Nexus was asked too early":  {swap.Nexus, func(v *swap.View) { v.Asked = v.Asked.Add(-time.Hour) }},
		"Solana is of the future":    {swap.Solana, func(v *swap.View) { v.Asked = v.Asked.Add(time.Microsecond) }},
		"Nexus is of the future":     {swap.Nexus, func(v *swap.View) { v.Asked = v.Asked.Add(time.Microsecond) }},
		"Nexus may land still":       {swap.Nexus, func(v *swap.View) { v.CannotLand = false }},
		"nothing is wrong with them": {},
	} {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		scans := []swap.History{{Chain: swap.Solana, View: r.view(0)}, {Chain: swap.Nexus, View: r.view(0)}}
		for k := range scans {
			if scans[k].Chain == c.chain {
				c.spoil(&scans[k].View)
			}
		}
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans...)...)
		if got := (r.i().LookedBack == r.ctl.Generation); got != (c.spoil == nil) {
			t.Errorf("%s: looked back %v", name, got)
		}
	}
}

// What has another item's reference is that one's: the item that it could be rebuilt
// from is held, once.
func TestARebuiltOutboundOfAnotherItemHoldsThisOne(t *testing.T) {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "ab", Reference: 3, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Of: "sig2", Time: t0}
	ev := swap.Recovered{By: by(swap.System, t0), Observed: observedDeposit("sig1", amount), Memo: "nexus:carol", Action: swap.Send, Seen: seen}
	r := deposits(t).do(ev).is("detected").attended()
	if r.i().Hold.Kind != swap.ByRecovery || len(r.i().Intents) > 0 {
		t.Errorf("hold %v, %+v", r.i().Hold, r.i().Intents)
	}
	if r.do(ev); !r.last.Empty() {
		t.Error("the same again changes something")
	}
}

// A memo that could not be read is refunded, however old the copy is: it is not put
// aside as stale while its clock begins anew.
func TestAStaleCopyIsRefundedFirst(t *testing.T) {
	r := detected(t).claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true}).release()
	restored(r.wait(25 * time.Hour)).elapse().is("detected").attended()
	r.wait(time.Hour).elapse().is("detected").wait(time.Microsecond).elapse().is(toBeRefundedText)
}
