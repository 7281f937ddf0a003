package withdrawal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

// The bookkeeper of the model gives the money back whenever Refundable says so, to the
// system or to an operator who believes everything: signers answer after their time,
// one answer or one proof of death is wrong, and an operator may requeue.

// books is what the books of the host say of the request. It is not read from the
// record: a library that forgets the refund is found by it.
type books struct {
	refunded bool
	careless bool // the system gave it back although it was told of a transaction that may pay
	told     bool // after the refund the library took an event that says mined or sent
	settled  bool // and then an operator acknowledged it
}

// follow notes an event that was taken; w is what it was taken in.
func (b *books) follow(w *world, ev withdrawal.Event) {
	switch e := ev.(type) {
	case withdrawal.Acknowledged:
		b.settled = b.told
	case withdrawal.Refunded:
		b.refunded = true
		for n := range w.signed {
			if w.heard&(1<<n) != 0 && w.possible(n) && e.Role == withdrawal.System {
				b.careless = true
			}
		}
	case withdrawal.Receipt:
		b.told = b.told || b.refunded && e.Head > e.Height && !e.Reverted && !w.cancels(e.Tx)
	case withdrawal.PaidBy:
		b.told = b.told || b.refunded && e.Head > e.Height
	case withdrawal.Broadcast: // of one that is on file it is no news
		known := false
		for _, tx := range w.rec.Txs {
			known = known || tx.Hash == e.Hash
		}
		for _, s := range w.rec.Strays {
			known = known || s.Hash == e.Hash && s.Claim == withdrawal.ClaimSent
		}
		b.told = b.told || b.refunded && !known
	}
}

func (w *world) cancels(hash string) bool {
	n := int8(hash[0] - 'A')
	return n < w.signed && w.txs[n].cancel
}

// paid: the payee has it, at depth.
func (w *world) paid() bool {
	for _, tx := range w.txs[:w.signed] {
		if tx.place == final && !tx.reverted && !tx.cancel {
			return true
		}
	}
	return w.twin != 0 && w.foreign[w.twin-1] == final
}

// bookkeeper refunds, and has an operator acknowledge whatever an incident says.
func (r rules) bookkeeper(w world, step func(string, world)) {
	try := func(what string, from world, ev withdrawal.Event) {
		if to, ok := r.store(from, ev); ok {
			step(what, to)
		}
	}
	r.refund(w, w.rec, try)
	if q := &w.rec.Request; ended(w) && !q.Acknowledged {
		try("the operator acknowledges", w, withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "r"})
	}
}

// refund gives back what rec may be refunded by, as somebody has read it.
func (r rules) refund(w world, rec *withdrawal.Withdrawal, try func(string, world, withdrawal.Event)) {
	for _, role := range []withdrawal.Role{withdrawal.System, withdrawal.Operator} {
		at, err := r.policy.Refundable(*rec, role, t0)
		switch {
		case r.trusting:
			at = t0.Add(r.policy.Chain.AnswerWithin + time.Hour)
		case err != nil:
			continue
		case at.IsZero():
			at = t0
		}
		try("the "+role.String()+" refunds", w, withdrawal.Refunded{By: by(role, at), Reference: "refund", Reason: "r"})
	}
}

// bookProperties is what holds of the books whatever the others lie.
func bookProperties(r rules) []explore.Property[world] {
	honest := properties(r)
	known := func(w world) bool {
		over := ended(w) || w.rec.Request.Status == withdrawal.RequestApproved // an operator cancels it
		return over && (!w.books.refunded || !w.paid() || w.rec.Request.PaidAfter != "")
	}
	return []explore.Property[world]{
		explore.Valid("the record is sound", func(w world) error {
			if err := withdrawal.Check(*w.rec); !errors.Is(err, withdrawal.ErrPaidTwice) && !errors.Is(err, withdrawal.ErrPaidAndRefunded) {
				return err
			}
			return nil
		}),
		honest[5], // somebody is named
		explore.Always("refunded, and told mined or sent: an incident says so, until it is acknowledged", func(w world) bool {
			return !w.books.told || w.books.settled || errors.Is(withdrawal.Check(*w.rec), withdrawal.ErrPaidAndRefunded)
		}),
		explore.Always("what is refunded is refunded for ever, and nothing of it begins", func(w world) bool {
			q := &w.rec.Request
			return w.books.refunded == (q.RefundReference != "") && (!w.books.refunded || ended(w) && q.Status != withdrawal.RequestCompleted)
		}),
		explore.Always("the system refunds nothing that it was told may pay", func(w world) bool { return !w.books.careless }),
		explore.CanFinish("refunded and mined comes to be an incident", known),
		explore.Reachable("it is refunded", func(w world) bool { return w.books.refunded }),
	}
}

// trueBookProperties is what holds besides where nobody lies and no signer is late.
func trueBookProperties(r rules) []explore.Property[world] {
	return append(bookProperties(r), explore.Always("refunded: nothing was paid or can be", func(w world) bool {
		for n := range w.signed {
			if tx := w.txs[n]; w.books.refunded && w.possible(n) && !(tx.place == final && (tx.reverted || tx.cancel)) {
				return false
			}
		}
		return !w.books.refunded || w.twin == 0 || w.rec.Request.Mined != ""
	}))
}

// paidAfter requires that the trouble of a run is reached.
func paidAfter(of func(rules) []explore.Property[world]) func(rules) []explore.Property[world] {
	return func(r rules) []explore.Property[world] {
		return append(of(r), explore.Reachable("it is refunded, paid, and known", func(w world) bool {
			return w.books.refunded && w.paid() && w.rec.Request.PaidAfter != ""
		}))
	}
}

func bookRuns() []stopRun {
	honest := newRules()
	honest.refunds, honest.policy.MaxRetries, honest.maxJobs = true, 1, 2
	honest.policy.Chain.AnswerWithin = time.Hour
	signer := honest
	signer.dispatch, signer.revert, signer.maxJobs = true, true, 1
	lies := honest
	lies.lies, lies.maxJobs = true, 1
	unsent := honest
	unsent.unsent, unsent.dispatch, unsent.quiet, unsent.maxJobs = true, true, true, 1
	twice := honest
	twice.twice, twice.dispatch, twice.quiet, twice.maxJobs = true, true, true, 1
	anothers := unsent
	anothers.anothers = true
	stale := lies
	stale.stale, stale.quiet, stale.maxJobs = true, true, 2
	stop := honest
	stop.stop, stop.quiet, stop.maxJobs = true, true, 1
	return []stopRun{
		{modelRun{"nobody lies", honest, 19210}, trueBookProperties},
		{modelRun{"a signer that answers", signer, 2527}, trueBookProperties},
		{modelRun{"cancelled", stop, 7401}, trueBookProperties},
		{modelRun{"a wrong proof of death", lies, 2987}, paidAfter(bookProperties)},
		{modelRun{"sent after not sent", unsent, 2168}, paidAfter(bookProperties)},
		{modelRun{"sent twice for one reference", twice, 11841}, bookProperties},
		{modelRun{"named what is another's", anothers, 2612}, bookProperties},
		{modelRun{"decided on what was read before", stale, 81734}, paidAfter(bookProperties)},
	}
}

func TestModelBooks(t *testing.T) {
	for _, tt := range bookRuns() {
		t.Run(tt.name, func(t *testing.T) {
			result, err := explore.CheckBy(model(tt.rules), world.key, tt.properties(tt.rules)...)
			if err != nil {
				t.Fatalf("%v\n%v", result, err)
			}
			t.Log(result)
			if result.States != tt.states {
				t.Errorf("%d states, expected %d", result.States, tt.states)
			}
		})
	}
}

// Each rule of the books, taken away: the checker finds the run in which money is lost.
func TestModelFindsEachMissingRuleOfTheBooks(t *testing.T) {
	type step = func(withdrawal.Policy, withdrawal.Withdrawal, withdrawal.Event) (withdrawal.Change, error)
	// forgetful requeues what is refunded, as if the books knew nothing of it.
	forgetful := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		if _, ok := ev.(withdrawal.Requeued); ok {
			q := &w.Request
			q.RefundReference, q.RefundedBy, q.RefundedAt, q.PaidAfter = "", "", time.Time{}, ""
		}
		return p.Apply(w, ev)
	}
	// silent records an incident after the refund as any other one.
	silent := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		c, err := p.Apply(w, ev)
		c.New.Request.PaidAfter = ""
		return c, err
	}
	// hasty refunds although a signer says that it sent something.
	hasty := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		sent := w.Request.StraysSent
		if _, ok := ev.(withdrawal.Refunded); ok {
			w.Request.StraysSent = 0
		}
		c, err := p.Apply(w, ev)
		if _, ok := ev.(withdrawal.Refunded); ok {
			c.New.Request.StraysSent = sent
		}
		return c, err
	}
	// unacknowledged keeps what an operator acknowledged before the refund.
	unacknowledged := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		c, err := p.Apply(w, ev)
		if err == nil && c.New.Request.PaidAfter != c.Old.Request.PaidAfter {
			c.New.Request.Acknowledged = c.Old.Request.Acknowledged
		}
		return c, err
	}
	for _, tt := range []struct {
		name     string
		run      int // of bookRuns
		property int // of bookProperties
		step     step
	}{
		{"a refund does not stop a requeue: paid and refunded", 0, 3, forgetful},
		{"what is told after the refund is one incident among others", 3, 2, silent},
		{"what was sent is refunded", 4, 4, hasty},
		{"an acknowledgement of before hides the payment", 3, 2, unacknowledged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bookRuns()[tt.run].rules
			r.apply, r.trusting = tt.step, true
			result, err := explore.CheckBy(model(r), world.key, bookProperties(r)[tt.property])
			var found *explore.Counterexample[world]
			if !errors.As(err, &found) {
				t.Fatalf("not found among %v: %v", result, err)
			}
			t.Log(err)
		})
	}
}
