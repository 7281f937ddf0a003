package swap_test

import (
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// A credit has one id, however its transaction is written.
func TestASpellingIsNoOtherCredit(t *testing.T) {
	const id = "ab12cd34"
	first := credits(t).do(observedCredit(id, amount))
	for _, c := range []struct {
		id  string
		err error
	}{
		{id, nil}, {"AB12CD34", statemachine.ErrInvalid}, {"Ab12cd34", statemachine.ErrInvalid}, {"0xab12cd34", statemachine.ErrInvalid}, {"0Xab12cd34", statemachine.ErrInvalid},
		{"0xAB12CD34", statemachine.ErrInvalid}, {id + ":1", nil}, {id + ":ab", nil}, {id + ":", statemachine.ErrInvalid}, {id + ":01", statemachine.ErrInvalid}, {id + ":0", nil},
		{id + ":AB", statemachine.ErrInvalid}, {id + ":0x1", statemachine.ErrInvalid}, {"AB12CD34:1", statemachine.ErrInvalid}, {"0xab12cd34:1", statemachine.ErrInvalid},
		{" " + id, statemachine.ErrInvalid}, {id + " ", statemachine.ErrInvalid}, {"", statemachine.ErrInvalid}, {"no-hex", nil},
	} {
		seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s1", Memo: "nexus_txid:" + c.id, Amount: 9_490_000, Token: "USDC", Finalized: true}
		o := observedCredit(c.id, amount)
		for _, ev := range []swap.Event{o, swap.Recovered{By: by(swap.System, t0), Observed: o, Action: swap.Send, Seen: seen}} {
			r := credits(t)
			if c.err != nil {
				r.refused(ev, c.err)
			} else if r.do(ev); r.i().ID != c.id {
				t.Errorf("%q is stored as %q", c.id, r.i().ID)
			}
		}
		if c.err == nil && c.id == id {
			if first.do(o); !first.last.Empty() {
				t.Errorf("%q again changes %+v", c.id, first.last)
			}
		}
	}
	// A memo names the credit in any spelling, also of an older house.
	for memo, want := range map[string]string{"nexus_txid:AB12CD34": id, "nexus_txid:0xab12cd34 x": id, "processedTxid:0xAB12CD34:1": id + ":1", "nexus_txid:no-Hex": "no-Hex", "refundSig:AB": "AB"} {
		if _, _, got, ok := swap.ReadMemo(memo); !ok || got != want {
			t.Errorf("%q names %q", memo, got)
		}
	}
	paid := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s1", Memo: "nexus_txid:0xAB12CD34", Amount: 9_490_000, Token: "USDC", Finalized: true, Destination: "x"}
	lost := policy.RecoverMissing(swap.Lost{Credits: []swap.Observed{observedCredit(id, amount)}, Solana: swap.History{Chain: swap.Solana, Outbound: []swap.Sighting{paid}}}, by(swap.System, t0))
	if len(lost.Credits) != 1 || lost.Credits[0].Action != swap.Send {
		t.Errorf("recovered: %+v", lost)
	}
	// On the way out: of a refund, however it is written, there is one.
	out := refundPending(t).begin(swap.Refund)
	for _, txid := range []string{"AB", "0xab", "ab", "0XAB"} {
		out.do(swap.Answered{By: out.worker(), Fence: out.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: txid})
		s := sighting(out.latest(), 1, false)
		s.TxID = txid
		out.outbound(s).kinds().is("refunded")
		out.do(swap.PaidBy{By: out.operator(), Action: swap.Refund, TxID: txid, Reason: "x"})
	}
	if len(out.i().Intents) != 1 || out.latest().TxID != "ab" {
		t.Errorf("on file: %+v", out.i().Intents)
	}
	rebuilt := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "0xAB", Reference: 3, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD", Confirmations: 10}
	again := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit(id, amount), Action: swap.Refund, Seen: rebuilt})
	if in := again.latest(); in.TxID != "ab" || in.Claim != "nexus ab" {
		t.Errorf("rebuilt: %+v", in)
	}
}

func TestOneSpellingOfATxid(t *testing.T) {
	for id, want := range map[string]error{
		"0123abcdef": nil, "0123abcdef:7": nil, "tx1": nil, "0123ABCDEF": statemachine.ErrInvalid, "0x0123abcdef": statemachine.ErrInvalid,
		"0123Abcdef:7": statemachine.ErrInvalid,
	} {
		if want == nil {
			credits(t).do(observedCredit(id, amount))
		} else {
			credits(t).refused(observedCredit(id, amount), want)
		}
	}
	deposits(t).do(observedDeposit("ABCDEF", amount)) // a signature is not a number
	// An operator's and a chain's spelling are one.
	r := ready(t).order(swap.RefundOrdered{})
	r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "0xABCDEF", Reason: "x"})
	r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "abcdef", Reason: "x"})
	if len(r.i().Intents) != 1 || r.latest().TxID != "abcdef" {
		t.Errorf("filed: %+v", r.i().Intents)
	}
	s := sighting(r.latest(), 10, true)
	s.TxID = "ABCdef"
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}).is(debitedText)
}

// An address of Nexus is one in any spelling of its digits; on Solana each letter counts.
func TestASpellingIsNoOtherAddress(t *testing.T) {
	p := policy
	p.OwnAccounts, p.NoRefund = []string{"abcdef02"}, []string{"0xABCDEF01", "0xABCDEF03"}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, state string
	}{{"abcdef01", "quarantined"}, {"ABCDEF01", "quarantined"}, {"0xABCdef01", "quarantined"}, {"abcdef04", "refund pending"}} {
		o := observedCredit("tx1", amount)
		o.From = c.from
		r := credits(t).do(o, swap.Confirmations{By: by(swap.Observer, t0), Count: 2}).claim()
		r.p = p
		r.do(r.mapping()).order(swap.RefundOrdered{}).elapse().is(c.state)
		if c.state == "quarantined" {
			continue
		}
		s := sighting(r.begin(swap.Refund).latest(), 10, true)
		s.Destination = "0xABCDEF04" // what the chain shows of the refund
		r.outbound(s).kinds().is("refunded")
	}
	for from, state := range map[string]string{"ABCDEF03": toBeRefundedText, "0xABCDEF03": "to be quarantined"} {
		o := observedDeposit("sig1", amount)
		o.From = from
		r := deposits(t).do(o)
		r.p = p
		memo(r, "hello").elapse().is(state)
	}
	for _, own := range []string{"abcdef02", "ABCDEF02", "0xAbcdef02"} {
		o := observedCredit("tx1", amount)
		o.From = own
		r := credits(t)
		r.p = p
		if r.do(o); r.i().Version != 0 || len(r.last.Notes) != 1 || r.last.Notes[0].Kind != swap.OwnSender {
			t.Errorf("%s is the house's: %+v", own, r.last)
		}
		d := detected(t)
		d.p = p
		memo(d, "nexus:"+own).is(toBeRefundedText)
	}
	r := credits(t)
	o := observedCredit("tx1", amount)
	o.From, o.Owner = "abcdef05", "abcdef06"
	r.do(o, swap.Confirmations{By: by(swap.Observer, t0), Count: 2})
	o.From, o.Owner = "0xABCDEF05", "ABCDEF06"
	r.do(o).kinds().claim() // no other facts
	m := r.mapping()
	m.Owner = "0xABCDEF06"
	r.do(m).is("ready for processing")
	twins := policy
	twins.USDCQuarantineAccount, twins.USDDQuarantineAccount = "abcd", "0xABCD"
	for _, bad := range [][]string{{""}, {"a b"}} {
		p := policy
		if p.OwnAccounts = bad; p.Validate() == nil {
			t.Errorf("%q is no account", bad)
		}
	}
	if twins.Validate() == nil {
		t.Error("one account on two chains")
	}
}
