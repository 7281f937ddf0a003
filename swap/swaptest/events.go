package swaptest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Adversary draws events for an item as it is stored: mostly events that may come, sometimes late, stale or wrong ones.
// Its clock goes on with each. It is for comparing hosts and adapters with one another; [World] compares them with what
// really happened.
type Adversary struct {
	Now  time.Time
	Salt string // makes signatures and references of this item its own
	Base uint64 // references begin above it
}

// Next draws an event.
func (a *Adversary) Next(t *rapid.T, r swap.Record) swap.Event {
	i := r.Head()
	a.Now = a.Now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 6 * time.Minute, 11 * time.Minute, 2 * time.Hour,
		25 * time.Hour}).Draw(t, "time"))
	if at := i.DueAt(); rapid.IntRange(0, 2).Draw(t, "due") == 0 && at.After(a.Now) {
		a.Now = at
	}
	by := func(r swap.Role) swap.By {
		b := swap.By{Actor: r.String(), Role: r, At: a.Now}
		if rapid.IntRange(0, 19).Draw(t, "stale") == 0 {
			b.Version = i.Version - 1
		}
		return b
	}
	worker, fence, house := by(swap.Worker), i.Lease.Fence, Control()
	number := int64(0)
	if n := int64(len(i.Intents)); n > 0 {
		number = rapid.Int64Range(1, n).Draw(t, "number")
	}
	switch rapid.IntRange(0, 11).Draw(t, "event") {
	case 0:
		return swap.Claimed{By: worker}
	case 1:
		if rapid.Bool().Draw(t, "revoked") {
			return swap.Revoked{By: by(swap.Operator), Revocation: statemachine.Revocation{Holder: i.Lease.Holder, Reason: "dead"}}
		}
		return swap.GivenBack{By: worker, Fence: fence}
	case 2, 3:
		return a.outside(t, i, by)
	case 4, 5:
		for _, action := range swap.Action(0).Values() {
			deposit := r.Machine() == swap.DepositMachine.Name()
			ev := swap.Begun{By: worker, Fence: fence, Number: int64(len(i.Intents)) + 1, Action: action, Control: house}
			if (action == swap.Send) == deposit {
				ev.Reference = a.Base + uint64(len(i.Intents)) + 1
			} else {
				ev.Signature, ev.Raw, ev.LastValid = fmt.Sprint(a.Salt, len(i.Intents)), []byte{1, 2, 3}, 1000
			}
			if rapid.IntRange(0, 1).Draw(t, "action") == 0 || action == swap.Quarantine {
				return ev
			}
		}
	case 6:
		ev := swap.Answered{By: worker, Fence: fence, Number: number, Outcome: rapid.SampledFrom(statemachine.Outcome(0).Values()).Draw(t,
			"outcome"), Reason: "said so"}
		if in := i.Intent(number); in != nil {
			ev.TxID = a.txid(in)
		}
		return ev
	case 7, 8:
		in := i.Intent(number)
		if in == nil {
			v := swap.View{From: i.At.Add(-time.Hour), Asked: a.Now, ByID: true, ByMemo: true, Before: 2000, After: 2000, CannotLand: true}
			return swap.Looked{By: worker, Finding: swap.LookMissing, View: v, Nexus: v}
		}
		ev := swap.Looked{By: worker, Number: number, Finding: rapid.SampledFrom(swap.Finding(0).Values()).Draw(t, "finding"),
			Seen: a.sighting(t, in), View: swap.View{From: in.At.Add(-time.Hour), Asked: a.Now, ByID: true, ByMemo: true, Before: 2000,
				After: 2000, CannotLand: true}}
		return ev
	case 9:
		if in := i.Intent(number); in != nil {
			return swap.Outbound{By: by(swap.Observer), Seen: a.sighting(t, in)}
		}
	case 10:
		if rapid.IntRange(0, 3).Draw(t, "by hand") == 0 {
			return swap.Settled{By: by(swap.Operator), Reference: rapid.SampledFrom([]string{"refund 1", "refund 1", "refund 2", ""}).Draw(t,
				"reference"), Reason: "because"}
		}
		oscar := by(swap.Operator)
		switch rapid.IntRange(0, 7).Draw(t, "order") {
		case 0:
			return swap.RefundOrdered{By: oscar, Reason: "because"}
		case 1:
			return swap.QuarantineOrdered{By: oscar, Reason: "because"}
		case 2:
			return swap.Requeued{By: oscar, Reason: "because", Control: house}
		case 3:
			return swap.Held{By: oscar, Reason: "because"}
		case 4:
			return swap.Released{By: oscar, Reason: "because"}
		case 5:
			return swap.NotSent{By: oscar, Number: number, Height: 2000, Reason: "because"}
		case 6:
			ev := swap.PaidBy{By: oscar, Action: rapid.SampledFrom(swap.Action(0).Values()).Draw(t, "for"), TxID: a.Salt + "paid", Reason: "because"}
			if in := i.Intent(number); in != nil && rapid.Bool().Draw(t, "of an intent") {
				ev.Action, ev.TxID = in.Action, a.txid(in)
			}
			return ev
		}
		return swap.Acknowledged{By: oscar, Number: number, Reason: "because"}
	}
	return swap.Elapsed{By: by(swap.System), Control: house}
}

func (a *Adversary) txid(in *swap.Intent) string {
	if in.TxID+in.Signature == "" {
		return fmt.Sprint(a.Salt, "tx", in.Number)
	}
	return txid(in)
}

func (a *Adversary) sighting(t *rapid.T, in *swap.Intent) swap.Sighting {
	s := Sighting(in, rapid.Bool().Draw(t, "final"))
	s.TxID, s.Errored, s.Time = a.txid(in), rapid.IntRange(0, 4).Draw(t, "errored") == 0, a.Now
	if rapid.IntRange(0, 19).Draw(t, "other amount") == 0 {
		s.Amount++
	}
	return s
}

// outside is what others say: confirmations, memos, accounts, mappings.
func (a *Adversary) outside(t *rapid.T, i *swap.Item, by func(swap.Role) swap.By) swap.Event {
	switch rapid.IntRange(0, 3).Draw(t, "outside") {
	case 0:
		n := rapid.SampledFrom([]uint64{2, 2, 1, 0}).Draw(t, "confirmations")
		return swap.Confirmations{By: by(swap.Observer), Asked: a.Now, Count: n, Gone: n == 0}
	case 1:
		return swap.MemoFetched{By: by(swap.Worker), Memos: rapid.SampledFrom([][]string{{"nexus:carol"}, {"nexus:carol"}, {"hello"},
			{"refundSig:x"}, nil}).Draw(t, "memo"), Failed: rapid.IntRange(0, 4).Draw(t, "failed") == 0}
	case 2:
		return swap.AccountChecked{By: by(swap.Worker), State: rapid.SampledFrom([]swap.AccountState{swap.AccountUsable, swap.AccountUsable,
			swap.AccountUsable, swap.AccountUnknown, swap.AccountMissing}).Draw(t, "account")}
	}
	return swap.MappingLooked{By: by(swap.Worker), Asked: a.Now, Finding: rapid.SampledFrom([]swap.MappingFinding{swap.MappingFound,
		swap.MappingFound, swap.MappingMissing, swap.MappingUnknown}).Draw(t, "mapping"), TxID: i.ID, Owner: "bob", Account: "bob-usdc"}
}
