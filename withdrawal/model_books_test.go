package withdrawal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

// The bookkeeper of the model gives the money back whenever Refundable says so, to the
// system or to an operator who believes everything: signers answer after their time,
// one answer or one proof of death is wrong, and an operator may requeue. Operators
// acknowledge whatever is told, before a refund and after it, and are told more then.

// books is what the books of the host say of the request. It is not read from the
// record: a library that forgets the refund is found by it.
type books struct {
	refunded bool
	careless bool // the system gave it back although it was told of a transaction that may pay
	blind    bool // it was given back beside what nobody had acknowledged
	told     said // what the library was told to be mined or taken, or, after the refund, sent; since the refund, once there is one
	settled  said // those of them that an operator has acknowledged since
}

// said is a set of hashes, mined or, in the upper half, sent or taken: of ours, of the
// twin, and of what there is gossip about.
type said uint16

func mined(hash string) said {
	return 1 << strings.Index("ABCDPQX", strings.ToUpper(hash)) // no spelling is another one
}

func sent(hash string) said { return mined(hash) << 8 }

// open reports whether something was told that nobody has acknowledged since.
func (b *books) open() bool { return b.told&^b.settled != 0 }

// besides is the same of what was mined alone.
func (b *books) besides() bool { return (b.told&^b.settled)<<8 != 0 }

// follow notes an event that was taken, and what became of it; w is what it was taken in.
func (b *books) follow(w *world, ev withdrawal.Event, c *withdrawal.Change) {
	for _, i := range c.Incidents {
		switch {
		case i.Claim == withdrawal.ClaimMined && !ended(*w):
			b.told |= mined(i.Hash)
		case i.Claim == withdrawal.ClaimTaken:
			b.told |= sent(i.Hash)
		}
	}
	switch e := ev.(type) {
	case withdrawal.Acknowledged:
		b.settled = b.told
	case withdrawal.Refunded:
		b.blind = b.blind || b.open()
		b.refunded, b.told, b.settled = true, 0, 0 // what was known is told once more
		for n := range w.signed {
			if w.heard&(1<<n) != 0 && w.possible(n) && e.Role == withdrawal.System {
				b.careless = true
			}
		}
	case withdrawal.Receipt:
		if ended(*w) && e.Head > e.Height && !e.Reverted && !w.cancels(e.Tx) {
			b.told |= mined(e.Tx)
		}
	case withdrawal.PaidBy:
		if ended(*w) {
			b.told |= mined(e.Tx)
		}
	case withdrawal.Broadcast: // of one that is on file it is no news
		known := false
		for _, tx := range w.rec.Txs {
			known = known || tx.Hash == e.Hash
		}
		for _, s := range w.rec.Strays {
			known = known || s.Hash == e.Hash && s.Claim == withdrawal.ClaimSent
		}
		if b.refunded && !known {
			b.told |= sent(e.Hash)
		}
	}
	if final := c.New.Request.FinalTxHash; final != "" { // which is not beside itself
		b.told &^= mined(final)
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
	for _, hash := range []string{"P", "Q"} {
		if r.gossip && ended(w) {
			try("an operator says that it was paid by "+hash, w, r.paid(&w, hash, by(withdrawal.Operator, t0), 0))
		}
	}
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
		explore.Always("refunded, and told mined or sent: an incident says so, until that very hash is acknowledged", func(w world) bool {
			return !w.books.refunded || !w.books.open() || errors.Is(withdrawal.Check(*w.rec), withdrawal.ErrPaidAndRefunded)
		}),
		explore.Always("what is refunded is refunded for ever, and nothing of it begins", func(w world) bool {
			q := &w.rec.Request
			return w.books.refunded == (q.RefundReference != "") && (!w.books.refunded || ended(w) && q.Status != withdrawal.RequestCompleted)
		}),
		explore.Always("the system refunds nothing that it was told may pay", func(w world) bool { return !w.books.careless }),
		explore.CanFinish("refunded and mined comes to be an incident", known),
		explore.Reachable("it is refunded", func(w world) bool { return w.books.refunded }),
		explore.Always("nothing is refunded beside what nobody has acknowledged", func(w world) bool { return !w.books.blind }),
		explore.Always("completed, and told that another one is mined: a finding, until that very hash is acknowledged", func(w world) bool {
			return w.rec.Request.FinalTxHash == "" || !w.books.besides() || errors.Is(withdrawal.Check(*w.rec), withdrawal.ErrPaidTwice)
		}),
		explore.Always("what is acknowledged stays so, whatever of it is told again", func(w world) bool {
			return w.books.told == 0 || w.books.open() || w.rec.Request.Acknowledged
		}),
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
	staleOnce := stale
	staleOnce.maxJobs = 1
	gossip := honest
	gossip.gossip, gossip.quiet, gossip.maxJobs = true, true, 1
	stop := honest
	stop.stop, stop.quiet, stop.maxJobs = true, true, 1
	return []stopRun{
		{modelRun{"nobody lies", honest, 19210}, trueBookProperties, false},
		{modelRun{"a signer that answers", signer, 2527}, trueBookProperties, false},
		{modelRun{"cancelled", stop, 7401}, trueBookProperties, false},
		{modelRun{"told of two that may have paid", gossip, 4639}, bookProperties, false},
		{modelRun{"a wrong proof of death", lies, 2987}, paidAfter(bookProperties), false},
		{modelRun{"sent after not sent", unsent, 2228}, paidAfter(bookProperties), false},
		{modelRun{"sent twice for one reference", twice, 12121}, bookProperties, false},
		{modelRun{"named what is another's", anothers, 2684}, bookProperties, false},
		{modelRun{"decided on what was read before", stale, 81734}, paidAfter(bookProperties), true},
		{modelRun{"decided on what was read before, one job", staleOnce, 2553}, paidAfter(bookProperties), false},
	}
}

func TestModelBooks(t *testing.T) {
	for _, tt := range bookRuns() {
		t.Run(tt.name, tt.prove)
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
	// settledForEver keeps what an operator acknowledged, whatever is told afterwards.
	settledForEver := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		c, err := p.Apply(w, ev)
		if o, n := &c.Old.Request, &c.New.Request; o.Acknowledged && n.PaidAfter == o.PaidAfter {
			n.Acknowledged = true
		}
		return c, err
	}
	// forgets opens what was acknowledged whenever something is told, known or not.
	forgets := func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
		c, err := p.Apply(w, ev)
		if len(c.Incidents) > 0 {
			c.New.Request.Acknowledged = false
		}
		return c, err
	}
	for _, tt := range []struct {
		name     string
		run      int // of bookRuns
		property int // of bookProperties
		step     step
	}{
		{"what is told after the acknowledgement is refunded", 3, 7, settledForEver},
		{"what is told after the acknowledgement is no finding beside the refund", 3, 2, settledForEver},
		{"what is told after the acknowledgement is no finding beside the payment", 3, 8, settledForEver},
		{"what was told opens it again for ever", 4, 9, forgets},
		{"a refund does not stop a requeue: paid and refunded", 0, 3, forgetful},
		{"what is told after the refund is one incident among others", 4, 2, silent},
		{"what was sent is refunded", 5, 4, hasty},
		{"an acknowledgement of before hides the payment", 4, 2, unacknowledged},
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
