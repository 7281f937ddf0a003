package swap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// ApplyDeposit takes one step of a deposit. It is pure: the same arguments give
// the same result.
//
// The same event again (its key is in the record) gives Old equal to New, an
// empty log and no error. A refusal changes nothing and is a
// [statemachine.Refusal] around its sentinel. Where several reasons hold, the
// first of these is given: role or actor, fence, version, state, hold, input.
// now is the store's time, see [statemachine.EventTime].
func (p Policy) ApplyDeposit(d Deposit, ev Event, now time.Time) (DepositChange, error) {
	side := &depositSide{d: d}
	s := step{p: &p, ev: ev, old: &d.Item, item: &side.d.Item, side: side}
	if err := s.run(now); err != nil {
		return DepositChange{Old: d, New: d}, err
	}
	return DepositChange{Old: d, New: side.d, Log: s.log, Notes: s.notes, Touched: s.touched()}, nil
}

// ApplyCredit is [Policy.ApplyDeposit] for a credit.
func (p Policy) ApplyCredit(c Credit, ev Event, now time.Time) (CreditChange, error) {
	side := &creditSide{c: c}
	s := step{p: &p, ev: ev, old: &c.Item, item: &side.c.Item, side: side}
	if err := s.run(now); err != nil {
		return CreditChange{Old: c, New: c}, err
	}
	return CreditChange{Old: c, New: side.c, Log: s.log, Notes: s.notes, Touched: s.touched()}, nil
}

// side is the machine of one direction: what the shared half asks of it.
type side interface {
	direction() Direction
	machine() string
	state() string // text of the status; "none" before the first step
	money() Money
	stage() stage
	allows(on trigger) bool
	move(on trigger, line *statemachine.Transition[string]) error
	pays(p *Policy, a Action) (Chain, string) // where an outbound goes
	take(s *step) error                       // events of this machine alone
	elapsed(s *step, house Control) error     // what time alone moves
	asks(a *asking)                           // what is owed beside intents and look-ups
}

// step is the work on one event.
type step struct {
	p     *Policy
	ev    Event
	by    By
	said  time.Time // when the speaker says it was, not after by.At
	old   *Item
	item  *Item // the new one
	side  side
	log   []statemachine.Transition[string]
	notes []Discrepancy
	owned bool // Intents and Discrepancies are copies of our own
	later bool // an answer brought nothing: ask again after LookEvery
}

func (s *step) touched() bool {
	return s.old.Version == s.item.Version && (s.old.Lease != s.item.Lease || !s.old.CheckAt.Equal(s.item.CheckAt))
}

func (s *step) run(now time.Time) error {
	if err := s.begin(now); err != nil {
		return err
	}
	if err := s.take(); err != nil {
		return err
	}
	if s.owned {
		s.refute()
	}
	if s.item.Version > 0 {
		s.schedule()
	}
	if s.owned {
		for k := range s.item.Intents {
			if in := &s.item.Intents[k]; in.Proof != 0 {
				in.Claim = ""
			}
		}
	}
	return nil
}

// event names what is refused.
func (s *step) event() string { return statemachine.EventName(s.ev) }

// begin checks role and actor, which is the first of all checks, and brings the time of the event to UTC
// microseconds.
func (s *step) begin(now time.Time) error {
	var reason string
	var err error
	if s.by, s.said, reason, err = statemachine.Begin(s.ev, Speakers(s.ev), now); err != nil {
		return s.refuse(err, reason)
	}
	return nil
}

func (s *step) take() error {
	creates := false
	switch s.ev.(type) {
	case Observed, Recovered:
		creates = true
	}
	if s.old.Version == 0 && !creates {
		return s.refuse(statemachine.ErrNotFound, "")
	}
	if s.by.Version != 0 && s.by.Version != s.old.Version {
		return s.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", s.by.Version, s.old.Version))
	}
	switch e := s.ev.(type) {
	case Observed:
		return s.observe(&e)
	case Claimed:
		return s.claim(&e)
	case GivenBack:
		return s.giveBack(&e)
	case Revoked:
		return s.revoke(&e)
	case Begun:
		return s.begins(&e)
	case Answered:
		return s.answer(&e)
	case Looked:
		return s.looked(&e)
	case Outbound:
		return s.outbound(&e)
	case Elapsed:
		return s.elapsed(&e)
	case RefundOrdered, QuarantineOrdered, Requeued, Held, Released, NotSent, PaidBy, Dropped, Acknowledged:
		return s.ordered()
	case Settled:
		return s.handed(&e)
	case Recovered:
		return s.recovered(&e)
	}
	return s.side.take(s)
}

// move takes one edge of the table. Only move and note, which calls it, set a status and a version.
func (s *step) move(on trigger, reason string) error {
	if !s.side.allows(on) {
		return s.refuse(statemachine.ErrIllegal, triggerName(s.side, on))
	}
	line := statemachine.Transition[string]{ID: s.item.ID, At: s.by.At, Actor: s.by.Actor, Role: s.by.Role.String(), Trace: s.by.Trace,
		Reason: statemachine.Bounded(reason, MaxText)}
	if err := s.side.move(on, &line); err != nil {
		return s.refuse(err, "")
	}
	if line.From != line.To {
		s.item.Entered, s.item.Tried, s.item.Checked = s.by.At, false, false
	}
	s.log = append(s.log, line)
	return nil
}

// note is a new version of the same status.
func (s *step) note(reason string) error { return s.move(noted, reason) }

// moveOrNote takes the edge if the table has it.
func (s *step) moveOrNote(on trigger, reason string) error {
	if s.side.allows(on) {
		return s.move(on, reason)
	}
	return s.note(reason)
}

// own makes the slices of the new item its own, before one is written to.
func (s *step) own() {
	if !s.owned {
		s.owned = true
		s.item.Intents = slices.Clone(s.item.Intents)
		s.item.Discrepancies = slices.Clone(s.item.Discrepancies)
	}
}

// intent returns the intent of a number, for a change: the slices of the item are copied first.
func (s *step) intent(n int64) *Intent {
	s.own()
	return s.item.Intent(n)
}

// discrepancy records evidence that contradicts the record, unless a discrepancy with the same kind and key is on
// file. It reports whether the discrepancy is new.
func (s *step) discrepancy(d Discrepancy) bool {
	d.Direction, d.Item, d.At, d.Actor = s.side.direction(), s.item.ID, s.by.At, s.by.Actor
	d.Text = statemachine.Bounded(d.Text, MaxText)
	for _, known := range s.item.Discrepancies {
		if known.Kind == d.Kind && known.Key == d.Key {
			return false
		}
	}
	s.own()
	s.item.Discrepancies = append(s.item.Discrepancies, d)
	s.notes = append(s.notes, d)
	return true
}

// found records a discrepancy that a chain shows now. If the same discrepancy is on file and closed, since evidence
// refuted it or a person has dealt with it, found opens it again.
func (s *step) found(d Discrepancy) {
	if s.discrepancy(d) {
		return
	}
	s.own()
	for k := range s.item.Discrepancies {
		if known := &s.item.Discrepancies[k]; known.Kind == d.Kind && known.Key == d.Key {
			known.ClosedBy, known.ClosedAt = "", time.Time{}
		}
	}
}

// mended closes the discrepancy of a kind whose key is the number of an intent: evidence has refuted it, or an
// operator's order has dealt with it.
func (s *step) mended(kind DiscrepancyKind, in *Intent) {
	s.close(func(d *Discrepancy) bool { return d.Kind == kind && d.Key == number(in.Number) })
}

// close closes the open discrepancies that this step has dealt with.
func (s *step) close(which func(*Discrepancy) bool) {
	s.own()
	for k := range s.item.Discrepancies {
		if d := &s.item.Discrepancies[k]; d.ClosedBy == "" && which(d) {
			d.ClosedBy, d.ClosedAt = s.by.Actor, s.by.At
		}
	}
}

// hold stops the item; a hold that is there stays.
func (s *step) hold(kind HoldKind, reason string) {
	if s.item.Hold.Kind == 0 {
		s.rehold(kind, reason)
	}
}

// rehold holds the item for another reason than before. The time since which it is held stays.
func (s *step) rehold(kind HoldKind, reason string) {
	at := s.by.At
	if s.item.Hold.Kind != 0 {
		at = s.item.Hold.At
	}
	s.item.Hold = Hold{Kind: kind, At: at, Reason: statemachine.Bounded(reason, MaxText)}
}

// free ends the hold of the item. If an outbound that is none of its intents is still unexplained, the item is held
// again at once, as ByMismatch. The time in the hold is added to Stood, which the stale clock does not count.
func (s *step) free() {
	s.item.Stood += max(0, s.by.At.Sub(s.item.Hold.At))
	s.item.Hold = Hold{}
	if s.item.unexplained() {
		s.hold(ByMismatch, "an outbound that is no intent of this item is not explained")
	}
}

// age is how long ago something was; 0 for what lies in the future.
func (s *step) age(of time.Time) time.Duration { return max(0, s.by.At.Sub(of)) }

func (s *step) refuse(err error, reason string) error {
	id := s.old.ID
	switch e := s.ev.(type) { // what does not exist yet is named by who sees it
	case Observed:
		id = e.ID
	case Recovered:
		id = e.Observed.ID
	}
	return &statemachine.Refusal{Err: err, Machine: s.side.machine(), ID: statemachine.Bounded(id, MaxID), State: s.side.state(),
		Event: s.event(), Reason: reason}
}

func triggerName(d side, on trigger) string {
	if d.direction() == ToUSDD {
		return DepositTrigger(on).String()
	}
	return CreditTrigger(on).String()
}

// observe creates an item.
func (s *step) observe(e *Observed) error {
	unknown := legible(e, s.side.direction())
	if made, err := s.arrive(e); !made {
		return err
	}
	return s.move(observed, unknown)
}

// legible empties what no record can hold: a sender, and the owner and the account of a credit, that can be no address,
// and a time that no store can keep. So money that came in is stored whatever its sender wrote or the node says. An
// item without a sender goes to quarantine instead of being refunded; a credit without an owner has no mapping; for a
// missing time the time at which the item is stored counts. legible returns a text for the log that names what was
// emptied.
func legible(e *Observed, d Direction) (unknown string) {
	type field struct {
		name string
		text *string
	}
	fields := []field{{"sender", &e.From}, {"owner", &e.Owner}}
	if d == ToUSDC {
		fields = append(fields, field{"account", &e.To})
	}
	if _, err := statemachine.Time(e.Time); err != nil {
		unknown = fmt.Sprintf("its time, in the year %d, is none, and now counts; ", e.Time.Year())
		e.Time = time.Time{}
	}
	for _, f := range fields {
		if *f.text != "" && !word(*f.text, MaxAddress) {
			unknown += fmt.Sprintf("the %s %.100q can be no address; ", f.name, *f.text)
			*f.text = ""
		}
	}
	return strings.TrimSuffix(unknown, "; ")
}

// arrive fills a new item with what came in, and reports whether it did.
func (s *step) arrive(e *Observed) (made bool, err error) {
	at := s.by.At
	if !e.Time.IsZero() && e.Time.Before(at) {
		at = e.Time
	}
	at = at.UTC().Truncate(time.Second)
	credit := s.side.direction() == ToUSDC
	switch {
	case credit && !nexusID(e.ID):
		return false, s.refuse(statemachine.ErrInvalid, "a txid in another spelling would be another credit")
	case !word(e.ID, MaxID):
		return false, s.refuse(statemachine.ErrInvalid, "an id of 1 to 200 bytes without white space is needed")
	case !e.Success || !credit && !e.Finalized:
		return false, s.refuse(statemachine.ErrInvalid, "only a success counts, on Solana a finalized one")
	case !credit && e.To+e.Owner != "":
		return false, s.refuse(statemachine.ErrInvalid, "only a credit has an account that got it, and an owner")
	case e.Amount == 0:
		return false, s.refuse(ErrNothing, "")
	}
	if s.old.Version > 0 {
		if s.same(e, at) {
			return false, nil
		}
		if s.discrepancy(Discrepancy{Kind: InboundChanged, Key: fmt.Sprint(e.Amount, " ", e.From, " ", at.Unix()),
			Chain: Inbound(s.side.direction()), TxID: e.ID, Amount: min(e.Amount, MaxAmount),
			Text: fmt.Sprintf("seen again as %s from %q at %s", FormatAmount(e.Amount), e.From, at.Format(time.RFC3339))}) {
			return false, s.note("seen with other facts")
		}
		return false, nil
	}
	none := Discrepancy{Direction: s.side.direction(), Key: e.ID, Chain: Inbound(s.side.direction()), TxID: e.ID,
		Amount: min(e.Amount, MaxAmount), Actor: s.by.Actor, At: s.by.At}
	switch {
	case e.From != "" && s.p.own(Inbound(s.side.direction()), e.From):
		none.Kind, none.Text = OwnSender, "a transfer between own accounts is no swap"
	case e.Amount > MaxAmount:
		none.Kind = InboundTooLarge
		none.Text = fmt.Sprintf("%s came in from %.300q, more than a column holds, and is no item", FormatAmount(e.Amount), e.From)
	case s.early(e, at):
		return false, s.refuse(ErrUnsettled, "it came in before the store was restored: finished rows are rebuilt first, see MissingSaid")
	default:
		s.create(e, at)
		return true, nil
	}
	s.notes = append(s.notes, none)
	return false, nil
}

// before reports whether what came in may have been paid before the store was restored.
func (s *step) before(e *Observed, at time.Time) bool {
	return e.Control.Generation > 0 && (e.Time.IsZero() || s.p.Since(s.side.direction(), at).Before(e.Control.RecoveredAt))
}

// early reports whether an observed item must wait since [Recovered] may still have to rebuild its row: once an item
// is stored, it cannot be rebuilt.
func (s *step) early(e *Observed, at time.Time) bool {
	_, seen := s.ev.(Observed)
	return seen && e.Control.forgot() && s.before(e, at)
}

// creditID brings the id of a credit, "txid" or "txid:contract", to its one form: each of the two parts to that of
// [statemachine.HashForm].
func creditID(id string) string {
	txid, contract, more := strings.Cut(id, ":")
	if txid = statemachine.HashForm(txid); more {
		txid += ":" + statemachine.HashForm(contract)
	}
	return txid
}

// nexusID reports whether the id of a credit is in its one form.
func nexusID(id string) bool {
	_, contract, more := strings.Cut(id, ":")
	return creditID(id) == id && !(more && (contract == "" || len(contract) > 1 && contract[0] == '0'))
}

// create fills a new item.
func (s *step) create(e *Observed, at time.Time) {
	i := s.item
	i.ID, i.Amount, i.From, i.At, i.Stored = e.ID, e.Amount, e.From, at, s.by.At
	switch {
	case !s.before(e, at):
		i.LookedBack = e.Control.Generation
	case e.Time.IsZero():
		s.hold(ByRecovery, "nobody knows whether it came in before the store was restored, and was paid")
	}
	if c, ok := s.side.(*creditSide); ok {
		c.c.To, c.c.Owner = e.To, e.Owner
	}
}

func (s *step) same(e *Observed, at time.Time) bool {
	chain := Inbound(s.side.direction())
	if c, ok := s.side.(*creditSide); ok && (!alike(chain, c.c.To, e.To) || !alike(chain, c.c.Owner, e.Owner)) {
		return false
	}
	if chain == Nexus { // a reorganisation moves it to a block of another time, and is no other fact
		return s.old.Amount == e.Amount && alike(chain, s.old.From, e.From)
	}
	// A time that was above the clock was cut, and is cut again.
	early := e.Time.IsZero() || s.old.At.Equal(s.old.Stored.Truncate(time.Second)) && !at.Before(s.old.At)
	uncut := s.old.At.Equal(e.Time.Truncate(time.Second)) // now is earlier: by a clock that was set back
	return s.old.Amount == e.Amount && alike(chain, s.old.From, e.From) && (s.old.At.Equal(at) || early || uncut)
}

// elapsed follows what has been paid, and only if nothing has, does what time alone may do.
func (s *step) elapsed(e *Elapsed) error {
	if moved, err := s.reconcile(); moved || err != nil {
		return err
	}
	if s.item.Hold.Kind != 0 {
		return nil
	}
	return s.side.elapsed(s, e.Control)
}
