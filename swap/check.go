package swap

import (
	"fmt"
	"slices"

	"github.com/settlehq/settle/statemachine"
)

// CheckDeposit returns [statemachine.ErrCorrupt] with the first invariant that
// the record breaks.
func CheckDeposit(d Deposit) error {
	if d.Status == 0 && d.Version == 0 {
		return nil // does not exist yet
	}
	broken := first(
		rule{d.Status.Valid(), "a deposit has a status"},
		rule{len(d.Memo) <= MaxMemo && statemachine.Storable(d.Memo), "a memo is bounded"},
		rule{d.Read || d.Memo == "", "a memo is there once it was read"},
	)
	if broken == "" {
		broken = d.check(&depositSide{d: d})
	}
	if broken == "" {
		broken = first(
			rule{(d.Status == DepositAsFees) == (d.Fees != 0), "exactly a deposit that was processed as fees has fees"},
			rule{d.Status != DepositAsFees || d.Fees == d.Amount, "what was processed as fees is kept whole"},
			rule{d.Status != DepositReady || d.Terms.Frozen && d.Read, "a deposit is ready with its memo and its terms"},
			rule{d.Status != DepositProcessed && d.Status != DepositRefunded || d.finally(), "a deposit ends with a final outbound"},
		)
	}
	return corrupt("deposit", d.ID, broken)
}

// CheckCredit is [CheckDeposit] for a credit.
func CheckCredit(c Credit) error {
	if c.Status == 0 && c.Version == 0 {
		return nil
	}
	broken := first(
		rule{c.Status.Valid(), "a credit has a status"},
		rule{c.To == "" || word(c.To, MaxAddress), "the account that got a credit is bounded"},
		rule{c.Owner == "" || word(c.Owner, MaxAddress), "an owner is bounded"},
		rule{len(c.Account) <= MaxAddress && statemachine.Storable(c.Account), "an account is bounded"},
	)
	if broken == "" {
		broken = c.check(&creditSide{c: c})
	}
	sending := c.Status == CreditReady || c.Status == CreditSending
	if broken == "" {
		broken = first(
			rule{c.Status == CreditAsFees || c.Fees == 0, "only a credit that was processed as fees has fees"},
			rule{c.Status != CreditAsFees || c.dropped() && c.discrepant(InboundGone) || c.Fees == c.Amount,
				"what was processed as fees is kept whole, or has vanished"},
			rule{!sending || c.Terms.Frozen && (c.Account != "" || c.Status == CreditReady), "a credit is ready with its account and its terms"},
			rule{c.Status == CreditPending || !c.Terms.Frozen || !c.Terms.micro(c.Amount) || c.Status == CreditAsFees || c.Reason == ReasonOperator,
				"a micro credit leaves only as fees, or by an operator's word"},
			rule{c.SettledBy == 0 || c.Status == CreditQuarantined && c.Intent(c.SettledBy) != nil,
				"only a quarantined credit is settled by an earlier intent"},
			rule{c.Status != CreditProcessed || c.finally(), "a credit is processed with a final payment"},
		)
	}
	return corrupt("credit", c.ID, broken)
}

// Money is where the amount of the deposit is.
func (d *Deposit) Money() Money { return d.money(false) }

// Money is where the amount of the credit is. Nothing was deposited for a credit whose inbound transaction vanished
// and that was dropped.
func (c *Credit) Money() Money { return c.money(c.Status == CreditAsFees && c.Fees == 0) }

func corrupt(kind, id, broken string) error {
	if broken == "" {
		return nil
	}
	return fmt.Errorf("%w: %s %s: %s", statemachine.ErrCorrupt, kind, id, broken)
}

type rule struct {
	holds bool
	text  string
}

// first returns the text of the first rule that does not hold.
func first(rules ...rule) string {
	for _, r := range rules {
		if !r.holds {
			return r.text
		}
	}
	return ""
}

// finally reports whether an outbound is final.
func (i *Item) finally() bool {
	for k := range i.Intents {
		if i.Intents[k].Final {
			return true
		}
	}
	return false
}

// contradicted reports whether a discrepancy on file says why more than one outbound may have paid.
func (i *Item) contradicted() bool {
	return i.discrepant(DoublePayout, LateOutbound, SecondOutbound, PaidWhileQuarantined, Mismatch, Overpaid, PaidAndGivenBack)
}

// check checks what the two machines share.
func (i *Item) check(x side) string {
	landed, final, open, m := 0, 0, 0, x.money()
	for k := range i.Intents {
		in := &i.Intents[k]
		if broken := in.check(i, int64(k)+1); broken != "" {
			return broken
		}
		if in.Landed() {
			landed++
		}
		if in.Final {
			final++
		}
		if in.Open() && !in.Filed {
			open++
		}
	}
	g := x.stage()
	waits := g.awaits != 0 && !g.finished()
	return first(
		rule{word(i.ID, MaxID) && i.Version >= 1, "an item has an id and a version"},
		rule{i.Amount > 0 && i.Amount <= MaxAmount, "an amount is 1 to 2^63 - 1"},
		rule{i.From == "" || word(i.From, MaxAddress), "a sender is bounded"},
		rule{!i.At.IsZero() && !i.Stored.IsZero() && !i.Entered.IsZero(), "an item has its times"},
		rule{open <= 1, "one intent is open at a time"},
		rule{landed <= 1 || final > 1 || !i.OverdueAt.IsZero(), "two outbounds of which one may be taken back are somebody's business"},
		rule{final <= 1 || i.discrepant(DoublePayout), "two final outbounds are a double payout on file"},
		rule{m.Excess == 0 || i.contradicted(), "no more went out than came in, or a discrepancy says so"},
		rule{sum(m.PaidOut, m.Refunded, m.Quarantined, m.Fees, m.Held, m.GivenBack) == sum(m.Deposited, m.Excess),
			"paid out + refunded + quarantined + fees + held + given back is what was deposited"},
		rule{min(i.Attempts[0], i.Attempts[1], i.Attempts[2]) >= 0 && int(i.Attempts[0]+i.Attempts[1]+i.Attempts[2]) <= len(i.Intents),
			"an attempt has its intent"},
		rule{!waits || i.awaited(g.awaits) != nil || len(i.Intents) == 0 || landed > 0 || slices.ContainsFunc(i.Intents,
			func(in Intent) bool { return in.Action == g.awaits }), "what the state waits for is on file"},
		rule{i.Lost == 0 || g.finished() && i.Intent(i.Lost) != nil, "only a finished item has lost its outbound"},
		rule{!i.Terms.Frozen || i.Terms.Net+i.Terms.Fee == i.Amount, "net + fee is the amount"},
		rule{i.givenBack() == (i.ByHand.Reference != "") && i.givenBack() == (i.ByHand.Actor != "") &&
			len(i.ByHand.Reference) <= MaxReferenceText, "what was given back by hand has a reference, a time and a person"},
		rule{!i.givenBack() || i.Lost == 0 && (x.allows(byHand) || g.place == Processed), "what was given back by hand has ended"},
		rule{(i.Hold.Kind == 0) == i.Hold.At.IsZero(), "a hold has a kind and a time"},
		rule{i.Hold.Kind == 0 || i.Hold.Kind.Valid(), "a hold has a known kind"},
		rule{g.finished() || i.Hold.Kind != 0 || i.givenBack() || !i.OverdueAt.IsZero(), "what is not finished and not held is overdue some day"},
	)
}

func (in *Intent) check(i *Item, number int64) string {
	return first(
		rule{in.Number == number, "intents are numbered from 1 without gaps"},
		rule{in.Action.Valid() && in.Chain.Valid(), "an intent has an action and a chain"},
		rule{in.Net > 0 && (in.Filed || in.Net+in.Fee == i.Amount || i.discrepant(Mismatch)),
			"net + fee of an intent is the amount, or a discrepancy says what it moved"},
		rule{in.Filed || in.Destination != "" || i.discrepant(Mismatch), "an intent has a destination"},
		rule{in.Filed || (in.Chain == Nexus) == (in.Reference != 0) && (in.Chain == Solana) == (in.Signature != "" && in.Memo != ""),
			"an intent has a reference on Nexus, a signature and a memo on Solana"},
		rule{!in.Final || in.Landed() && in.Proof == 0, "what is final has paid"},
		rule{in.Proof == 0 || in.Outcome == statemachine.Failed || in.Outcome == statemachine.Deferred, "what is proved has not paid"},
		rule{!in.Landed() || in.TxID != "", "what went out has an id"},
		rule{in.Open() == in.ClosedAt.IsZero(), "an intent has closed_at exactly when it is closed"},
		rule{in.Claim == "" || in.Filed && in.Proof == 0 && in.Claim == claim(in.Chain, in.TxID),
			"only what was filed and may have paid claims its transaction"},
		rule{!in.At.IsZero() && !in.SendBy.IsZero() && !in.MissedAt.IsZero() && in.Missed >= 0, "an intent has its times"},
	)
}
