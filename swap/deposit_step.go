package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// depositSide is the machine of deposits, as the shared half sees it.
type depositSide struct{ d Deposit }

func (x *depositSide) direction() Direction { return ToUSDD }
func (x *depositSide) machine() string      { return DepositMachine.Name() }
func (x *depositSide) state() string        { return x.d.Status.String() }
func (x *depositSide) stage() stage         { return depositStages[x.d.Status] }
func (x *depositSide) money() Money         { return x.d.Money() }

func (x *depositSide) allows(on trigger) bool {
	_, ok := DepositMachine.Next(x.d.Status, DepositTrigger(on))
	return ok
}

func (x *depositSide) move(on trigger, line *statemachine.Transition[string]) error {
	return statemachine.Move(DepositMachine, &x.d.Status, &x.d.Version, DepositTrigger(on), line)
}

func (x *depositSide) pays(p *Policy, a Action) (Chain, string) {
	switch a {
	case Send:
		address, _ := ParseMemo(x.d.Memo)
		return Nexus, address
	case Refund:
		return Solana, x.d.From
	}
	return Solana, p.USDCQuarantineAccount
}

func (x *depositSide) take(s *step) error {
	switch e := s.ev.(type) {
	case MemoFetched:
		return x.memoFetched(s, &e)
	case AccountChecked:
		return x.accountChecked(s, &e)
	}
	return s.refuse(statemachine.ErrIllegal, "of credits only")
}

// memoFetched decides by the syntax of the memo at once. A transfer without a memo is refunded like one with a wrong
// memo.
func (x *depositSide) memoFetched(s *step, e *MemoFetched) error {
	d := &x.d
	if d.Status != DepositDetected {
		if d.Read {
			return nil
		}
		return s.refuse(statemachine.ErrIllegal, "")
	}
	if d.Read {
		return nil
	}
	if e.Failed {
		return s.tried("the memo could not be read")
	}
	d.Read = true
	valid := len(e.Memos) > 0 && len(slices.Compact(slices.Clone(e.Memos))) == 1
	if len(e.Memos) > 0 {
		d.Memo = statemachine.Bounded(e.Memos[0], MaxMemo)
		valid = valid && d.Memo == e.Memos[0]
	}
	if slices.ContainsFunc(e.Memos, ownMemo) {
		s.hold(ByMemo, "the memo begins like one that only the house writes")
		return s.note("a memo of the house came in from outside")
	}
	address, err := ParseMemo(d.Memo)
	switch {
	case !valid || err != nil:
		s.refundFor(ReasonMemo)
		return s.move(invalidMemo, "")
	case s.p.own(Nexus, address):
		s.refundFor(ReasonMemo)
		return s.move(invalidMemo, "the address is the house's own")
	}
	s.freeze()
	return s.move(validMemo, "")
}

// tried records that somebody has tried to move the item on. Some time-outs count only after that.
func (s *step) tried(reason string) error {
	s.later = true
	if s.item.Tried {
		return nil
	}
	s.item.Tried = true
	return s.note(reason)
}

// freeze takes what the send pays from the present policy, so that a later policy does not change it.
func (s *step) freeze() {
	f := s.p.fees(s.side.direction())
	s.item.Terms = Terms{Frozen: true, Min: f.Minimum}
	s.item.Terms.Net, s.item.Terms.Fee = f.Net(s.item.Amount)
}

func (x *depositSide) accountChecked(s *step, e *AccountChecked) error {
	if x.d.Status != DepositReady {
		return s.refuse(statemachine.ErrIllegal, "")
	}
	if x.d.Terms.micro(x.d.Amount) {
		return s.refuse(statemachine.ErrIllegal, "it is kept as fee, its account does not matter")
	}
	return s.checked(e.State)
}

// checked takes the state of the account that is to be paid, for both directions. A usable account allows the next
// intent, and only that one. Every other state but AccountUnknown ends in a refund.
func (s *step) checked(state AccountState) error {
	switch state {
	case AccountUsable:
		if s.item.Checked {
			s.later = true
			return nil
		}
		s.item.Checked = true
		return s.note("the account can be paid")
	case AccountUnknown:
		return s.tried("the account could not be looked up")
	case 0:
		return s.refuse(statemachine.ErrInvalid, "an account state is needed")
	}
	if in := s.item.Intent(s.item.openIntent()); in != nil {
		return s.refuse(statemachine.ErrHeld, fmt.Sprintf("intent %d is open", in.Number))
	}
	s.refundFor(ReasonAccount)
	return s.move(accountUnusable, state.String())
}

// elapsed does what time alone may do to a deposit. The time-out of a memo that cannot be read comes before the one
// of a stale deposit.
func (x *depositSide) elapsed(s *step, house Control) error {
	d := &x.d
	switch d.Status {
	case DepositDetected:
		switch {
		case d.Read: // a memo like ours, released
			s.refundFor(ReasonMemo)
			return s.move(invalidMemo, "")
		case d.Tried && s.over(s.p.RefundTimeout, 0): // it comes before what is stale
			if s.age(house.RecoveredAt) <= s.p.RefundTimeout { // a copy's clock begins anew
				return nil
			}
			s.refundFor(ReasonMemoTimeout)
			return s.move(memoTimeout, "")
		}
		return x.stale(s, house)
	case DepositReady:
		if err := s.idle(Send, house); err != nil || len(s.log) > 0 {
			return err
		}
		return x.stale(s, house)
	}
	return s.idle(x.stage().performs, house)
}

// idle moves the item on if the action of its state cannot be begun: nothing is left to pay after the fee, nobody can
// be paid, or no attempt is left.
func (s *step) idle(a Action, house Control) error {
	if a == 0 || s.item.givenBack() || s.item.unproved() != nil || s.item.behind(house) || lacksIntent(s.side, s.item) {
		return nil
	}
	net, _ := s.terms(a)
	chain, to := s.side.pays(s.p, a)
	nowhere := !s.p.payable(a, chain, to)
	switch {
	case (a == Send && s.item.Terms.micro(s.item.Amount) || a != Send && net == 0) && s.side.allows(asFees):
		return s.keep()
	case nowhere && a == Send:
		s.refundFor(ReasonAccount)
		return s.move(accountUnusable, "nothing can be paid to the account")
	case nowhere && a == Refund:
		reason := ""
		if to != "" {
			reason = "nothing is sent back to " + to
		}
		return s.move(noSender, reason)
	case s.item.Attempts.Of(a) >= s.p.MaxAttempts && s.side.allows(maxAttempts):
		return s.move(maxAttempts, "")
	}
	return nil
}

// keep books the whole amount as fee.
func (s *step) keep() error {
	s.item.Fees = s.item.Amount
	return s.move(asFees, "")
}

// over reports whether the item is older than a limit, both by the time of its block and by when it was stored. The
// time stood is not counted.
func (s *step) over(limit, stood time.Duration) bool {
	return s.age(s.item.At) > limit+stood && s.age(s.item.Stored) > limit+stood
}

// stale puts a deposit aside that is older than [Policy.StaleAfter], if somebody has tried to move it on and no
// outbound of it may pay. Time in holds does not count, and the time begins anew after the direction was stopped or
// recovering.
func (x *depositSide) stale(s *step, house Control) error {
	d := &x.d
	if house.stops(Send) != "" || !d.Tried || d.unproved() != nil || !s.over(s.p.StaleAfter, d.Stood) ||
		!house.RunsSince.IsZero() && s.age(house.RunsSince) <= s.p.StaleAfter {
		return nil
	}
	return s.move(stale, "")
}
