package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Do is what a host must do.
// Values: FetchMemo, CheckAccount, LookUpMapping, CountConfirmations, LookUp, LookBack, Begin, Tell.
type Do = statemachine.Enum[do]

const (
	FetchMemo          Do = iota + 1 // read the memo of the inbound transaction: [MemoFetched]
	CheckAccount                     // can Account be paid? [AccountChecked]
	LookUpMapping                    // [MappingLooked]
	CountConfirmations               // confirmations of the inbound transaction: [Confirmations]
	LookUp                           // intent Number: [Looked]
	LookBack                         // every outbound of the item, after a lost database: [Looked] with number 0
	Begin                            // sign, store [Begun], hand over, say [Answered]
	Tell                             // say [Elapsed]
)

type do struct{}

func (do) Kind() string    { return "task" }
func (do) Names() []string { return doNames }

var doNames = []string{"fetch memo", "check account", "look up mapping", "count confirmations", "look up",
	"look back", "begin", "tell the time"}

// Task is one thing that is owed. The same thing has the same Key each time. Make an idempotency key for a provider
// of the item, Number and Action together: after a restore a Number may be used a second time.
type Task struct {
	Do      Do `json:",omitzero"`
	Key     string
	Item    string
	Number  int64  // LookUp: the intent; Begin: its number
	Action  Action `json:",omitzero"`
	Chain   Chain  `json:",omitzero"`
	Account string // CheckAccount, Begin: who is paid
	Net     uint64 // Begin: what is paid
	Memo    string // Begin on Solana
}

// Step says what is owed.
type Step struct {
	Tasks []Task
	// Due is when to ask again; zero: only Party can move it on.
	Due time.Time
	// Party is who moves the item on; zero where nothing is owed any more. Why says what an Operator has to decide,
	// also where a worker has tasks, or what else is waited for.
	Party Role `json:",omitzero"`
	Why   string
}

// NextDeposit says what a deposit owes at now. It is level-triggered: it looks at nothing but the record, so a restart
// needs no replay. An open intent is looked up, never sent: only the worker that stored [Begun] hands it over.
func (p Policy) NextDeposit(d Deposit, c Control, now time.Time) Step {
	return p.next(&d.Item, &depositSide{d: d}, c, now, func() bool {
		change, err := p.ApplyDeposit(d, tell(c, now), now)
		return err == nil && len(change.Log) > 0
	})
}

// NextCredit is [Policy.NextDeposit] for a credit.
func (p Policy) NextCredit(cr Credit, c Control, now time.Time) Step {
	return p.next(&cr.Item, &creditSide{c: cr}, c, now, func() bool {
		change, err := p.ApplyCredit(cr, tell(c, now), now)
		return err == nil && len(change.Log) > 0
	})
}

func tell(c Control, now time.Time) Event {
	return Elapsed{By: By{Actor: "next", Role: System, At: now}, Control: c}
}

func (p *Policy) next(i *Item, x side, c Control, now time.Time, elapses func() bool) Step {
	a := p.ask(i, x, c)
	switch {
	case i.Version == 0 || len(a.tasks) == 0 && a.why == "":
		return Step{}
	case len(a.tasks) == 0:
		return Step{Party: Operator, Why: a.why}
	case i.CheckAt.IsZero() && !i.Lease.Held(now): // no worker is offered it
		if a.why == "" {
			a.why = p.ask(i, x, Control{}).why // why it came to rest
		}
		if a.why == "" {
			a.why = "it came to rest, and something is owed since: requeue it"
		}
		return Step{Party: Operator, Why: a.why}
	}
	step := Step{Party: Worker, Why: a.why}
	if a.persons() {
		step.Party = Operator
	}
	if elapses() {
		step.Tasks, step.Due = []Task{a.task(Tell, "tell/"+number(i.Version))}, now.Add(p.LookEvery)
		return step
	}
	if !p.due(i.CheckAt, now) && !i.Lease.Held(now) { // who holds it goes on at once
		step.Due = i.CheckAt
		return step
	}
	for k, t := range a.tasks {
		at := a.at[k]
		if t.Do == Begin && (c.Recovering() || c.stops(t.Action) != "") {
			at = now.Add(p.DeferFor)
		}
		if (t.Do == Begin || t.Do == LookBack) && c.Recovering() && step.Why == "" {
			step.Why = "nothing goes out before the vault's own history was scanned: on " + c.unscanned()
		}
		if p.due(at, now) && t.Do != Tell {
			step.Tasks = append(step.Tasks, t)
			at = now.Add(p.LookEvery)
		}
		at = earlier(at, now.Add(p.Longest()))
		if step.Due.IsZero() || at.Before(step.Due) {
			step.Due = at
		}
	}
	return step
}

// asking collects what is owed and from when on. A zero time is at once.
type asking struct {
	p     *Policy
	i     *Item
	x     side
	c     Control
	tasks []Task
	at    []time.Time
	why   string // what an operator has to decide; empty: nothing
}

func (p *Policy) ask(i *Item, x side, c Control) *asking {
	a := &asking{p: p, i: i, x: x, c: c}
	for k := range i.Intents {
		in := &i.Intents[k]
		if in.Settled() {
			continue
		}
		at := time.Time{}
		switch {
		case in.Outcome == 0:
			at = in.SendBy // its sender works on it until then
		case !in.Open():
			at = in.ClosedAt.Add(p.LookEvery)
		}
		t := a.task(LookUp, "look/"+number(in.Number))
		t.Number, t.Action, t.Chain = in.Number, in.Action, in.Chain
		a.add(at, t)
	}
	if i.Version == 0 {
		return a
	}
	if on, _ := follows(x, i); len(a.tasks) == 0 && i.openIntent() == 0 && (i.Hold.Kind == ByLate || on != 0) {
		a.add(time.Time{}, a.task(Tell, "tell"))
	}
	switch {
	case i.Hold.Kind != 0:
		a.why = "held, " + i.Hold.Kind.String() + ": " + endOf(i.Hold.Kind) + " (" + i.Hold.Reason + ")"
	case i.Lost != 0:
		a.why = fmt.Sprintf("intent %d is lost: requeue it", i.Lost)
		if n, in := i.landed(); n > 0 {
			a.why = fmt.Sprintf("intent %d is lost and intent %d, a %s, has paid: requeue it, and it follows that", i.Lost, in.Number, in.Action)
		}
	case lacksIntent(x, i):
		a.why = "what its status says went out is not on file, or did not pay: " + ways(x)
	}
	x.asks(a)
	if n, in := i.landed(); n > 0 && len(a.tasks) == 0 && a.why == "" && !x.stage().finished() && !i.givenBack() {
		a.why = fmt.Sprintf("intent %d, a %s, has paid, and no edge follows it from here: %s", in.Number, in.Action, ways(x))
	}
	return a
}

// ways are the orders by which a person can move an item on from its state.
func ways(x side) string {
	out := "say paid_by of what paid for it"
	if x.allows(orderRefund) {
		out += ", or order a refund"
	}
	if x.allows(orderQuarantine) {
		out += ", or order a quarantine"
	}
	return out
}

func (a *asking) task(do Do, key string) Task {
	return Task{Do: do, Key: a.x.machine() + "/" + a.i.ID + "/" + key, Item: a.i.ID}
}

func (a *asking) add(at time.Time, t Task) {
	a.tasks, a.at = append(a.tasks, t), append(a.at, at)
}

// now adds a task that is owed at once, and nothing while the item is held.
func (a *asking) now(do Do, key string) {
	if a.i.Hold.Kind == 0 {
		a.add(time.Time{}, a.task(do, key))
	}
}

// ends adds the moment at which time ends a wait. Nothing is added if nobody has tried to move the item on, or while
// the item is held.
func (a *asking) ends(at time.Time) {
	if a.i.Tried && a.i.Hold.Kind == 0 {
		a.add(at, a.task(Tell, "tell"))
	}
}

// perform asks for what the action of the state needs: a check of the account, or an intent. The intent comes after the
// proof of all earlier intents, after the look-back that a lost database makes necessary, and after the cooldown.
func (a *asking) perform(act Action) {
	i := a.i
	if act == 0 || i.givenBack() || i.Hold.Kind != 0 || i.Lost != 0 || i.unproved() != nil || lacksIntent(a.x, i) {
		return
	}
	if i.behind(a.c) {
		a.add(a.p.lookBackAt(a.c), a.task(LookBack, "look back"))
		return
	}
	at := i.beginAt(a.p, act)
	net, _ := a.p.fees(a.x.direction()).pays(act, i.Amount)
	if act == Send {
		net = i.Terms.Net
	}
	chain, to := a.x.pays(a.p, act)
	exhausted := i.Attempts.Of(act) >= a.p.MaxAttempts
	switch {
	case exhausted && !a.x.allows(maxAttempts):
		a.why = "all attempts were made: requeue it"
		return
	case net == 0 && !a.x.allows(asFees):
		a.why = "the fee leaves nothing to move: mend the policy and requeue it"
		return
	case exhausted || net == 0 || !a.p.payable(act, chain, to) || act == Send && i.Terms.micro(i.Amount):
		a.now(Tell, "tell")
		return
	case len(i.Intents) >= MaxIntents:
		a.why = fmt.Sprintf("%d intents were begun, and no more may be: pay it by hand and say paid_by", len(i.Intents))
		return
	case act == Send && !i.Checked:
		t := a.task(CheckAccount, "check")
		t.Account = to
		a.add(at, t)
		return
	}
	t := a.task(Begin, "begin/"+number(int64(len(i.Intents))+1)+"/"+act.String())
	t.Number, t.Action, t.Chain, t.Account, t.Net = int64(len(i.Intents))+1, act, chain, to, net
	if chain == Solana {
		t.Memo = WriteMemo(act, i.ID, i.Reason)
	}
	a.add(at, t)
}

func (x *depositSide) asks(a *asking) {
	switch x.d.Status {
	case DepositDetected:
		if x.d.Read {
			a.now(Tell, "tell")
		} else {
			a.now(FetchMemo, "memo")
			a.ends(after(a.p.RefundTimeout, x.d.At, x.d.Stored))
		}
	case DepositQuarantineFailed:
		if !x.d.givenBack() {
			a.why = "all attempts were made: requeue it, or give it back by hand and say settled"
		}
	default:
		a.perform(x.stage().performs)
		if d := &x.d; d.Status == DepositReady && a.persons() { // it is stale some day
			a.ends(after(a.p.StaleAfter+d.Stood, d.At, d.Stored))
		}
	}
}

func (x *creditSide) asks(a *asking) {
	c := &x.c
	switch {
	case c.uncounted(a.p), !c.GoneAt.IsZero() && c.unpaid():
		a.add(time.Time{}, a.task(CountConfirmations, "count"))
		if a.why == "" && !c.GoneAt.IsZero() {
			a.why = "what came in has vanished: drop it"
		} else if a.why == "" {
			a.why = fmt.Sprintf("what came in has %d of %d confirmations", c.Confirmations, a.p.CreditConfirmations)
		}
	case c.Status == CreditPending && c.Terms.micro(c.Amount):
		a.perform(Send) // it is kept
	case c.Status == CreditPending, c.Status == CreditTradeBalanceCheck:
		a.now(LookUpMapping, "mapping")
		if c.Status == CreditPending {
			a.ends(after(a.p.RefundTimeout, c.At, c.Stored))
		}
	case c.Status == CreditQuarantined && c.SettledBy != 0:
	default:
		a.perform(c.stage().performs)
	}
}

// persons reports whether only a person can move the item on, but for time.
func (a *asking) persons() bool {
	return a.why != "" && !slices.ContainsFunc(a.tasks, func(t Task) bool { return t.Do != Tell })
}

// schedule derives when the item is due and when it is overdue. A step that changed nothing puts the due time off
// only if it comes from a worker and the item was due. So an observer or an operator cannot keep an item from its
// worker.
func (s *step) schedule() {
	i := s.item
	if i.Version == s.old.Version && !(s.later && s.by.Role == Worker && s.p.due(i.CheckAt, s.by.At)) {
		return
	}
	a := s.p.ask(i, s.side, Control{}) // without the control row: a look-back is asked for once the action that waits for it is due
	if i.Version != s.old.Version {
		// with the version only, so that a look-up which finds nothing puts no alert off
		i.OverdueAt = earlier(s.overdue(a), s.by.At.Add(s.p.Longest()))
	}
	i.CheckAt = time.Time{}
	for k, at := range a.at {
		floor := s.by.At
		if statemachine.Ahead(floor, at, s.p.Longest()) { // a clock was ahead
			at = time.Time{}
		}
		if s.later && (a.tasks[k].Do != Tell || at.Before(floor)) {
			floor = floor.Add(s.p.LookEvery)
		}
		if at = later(at, floor); i.CheckAt.IsZero() || at.Before(i.CheckAt) {
			i.CheckAt = at
		}
	}
}

// after is the moment from which on something is older than a limit.
func after(limit time.Duration, times ...time.Time) time.Time {
	at := times[0]
	for _, t := range times[1:] {
		at = later(at, t)
	}
	return at.Add(limit + time.Microsecond)
}

// overdue is when a person has to look at the item: when it is in one state for too long, has an intent that could not
// be settled in time or two outbounds of which one is not final, can be moved on only by a person, was finished and
// then held for long, or is a credit without confirmations or one that vanished. A hold of an item that is not finished
// counts only in the statistics, by its age.
func (s *step) overdue(a *asking) (at time.Time) {
	i := s.item
	earliest := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for k := range i.Intents {
		if in := &i.Intents[k]; !in.Settled() {
			earliest(in.At.Add(s.p.ConfirmTimeout))
		}
	}
	n, _ := i.landed()
	g := s.side.stage()
	if n > 1 && !i.discrepant(DoublePayout) {
		earliest(i.Intents[len(i.Intents)-1].At)
	}
	if i.Hold.Kind == 0 && !i.givenBack() && (!g.finished() || g.performs != 0 && len(a.tasks) > 0) {
		earliest(i.Entered.Add(s.p.stay(g)))
	}
	switch {
	case i.Hold.Kind != 0 && g.finished():
		earliest(i.Hold.At.Add(s.p.StaleAfter))
	case i.Hold.Kind == 0 && a.persons():
		earliest(s.by.At)
	}
	if c, ok := s.side.(*creditSide); ok && c.c.unpaid() {
		if c.c.uncounted(s.p) {
			earliest(later(i.At, i.Stored).Add(s.p.RefundTimeout))
		}
		if !c.c.GoneAt.IsZero() {
			earliest(c.c.GoneAt)
		}
	}
	return at
}

// stay is how long an item that is not finished may be in one state before it is overdue. It counts from when the
// item entered the state, so no event that leaves the item there puts the end off.
func (p *Policy) stay(g stage) time.Duration {
	if g.patient {
		return p.RefundTimeout + p.OverdueAfter
	}
	return p.OverdueAfter
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// Overdue reports whether a person has to look at the item at now.
func (i *Item) Overdue(now time.Time) bool { return !i.OverdueAt.IsZero() && now.After(i.OverdueAt) }
