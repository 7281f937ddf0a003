package withdrawaltest

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// History checks the answers that one withdrawal gives, in order: each alone,
// and all together. The zero value is ready for use.
type History struct {
	last     withdrawal.Withdrawal
	logs     map[entity][]statemachine.Transition[uuid.UUID]
	txs      []withdrawal.Tx
	attempts map[int64]withdrawal.Attempt // by fence, which never repeats in a request
	claims   map[uuid.UUID]int32          // per job: executions begun and not given back
	reserved withdrawal.Raw
	named    map[string]bool // hashes of others that a signer has named
	books    string          // the reference under which the host gave the money back
	told     map[claim]bool  // what was said beside the record, since the refund once there is one: whether an operator has acknowledged it
}

// claim is what an incident says of a hash.
type claim struct {
	claim withdrawal.IncidentClaim
	hash  string // in its one form
}

type entity struct {
	machine string
	id      uuid.UUID
}

// Add checks one answer: a change, or a refusal with the change that came with it.
func (h *History) Add(c withdrawal.Change, refusal error) error {
	if h.logs == nil {
		h.named, h.told = map[string]bool{}, map[claim]bool{}
		h.logs, h.attempts, h.claims = map[entity][]statemachine.Transition[uuid.UUID]{}, map[int64]withdrawal.Attempt{}, map[uuid.UUID]int32{}
	}
	if refusal != nil {
		if !c.Empty() || c.Attempt() != nil || len(c.Txs)+len(c.Reservations)+len(c.Strays) > 0 {
			return fmt.Errorf("a refusal changed something: %w", refusal)
		}
		return nil
	}
	for _, check := range []func(*withdrawal.Change) error{h.addRecord, h.addNamed, h.addLog, h.addTxs, h.addAttempts, h.addReservations} {
		if err := check(&c); err != nil {
			return err
		}
	}
	h.last = c.New
	return nil
}

func (h *History) addRecord(c *withdrawal.Change) error {
	if err := withdrawal.Check(c.New); err != nil && !errors.Is(err, withdrawal.ErrPaidTwice) &&
		!errors.Is(err, withdrawal.ErrPaidAndRefunded) {
		return err
	}
	if c.Old.Request != h.last.Request || c.Old.Job != h.last.Job {
		return fmt.Errorf("the change does not begin where the last one ended")
	}
	if len(c.Incidents) > 0 && (c.New.Job.Status != c.Old.Job.Status || c.Touch()) && !wasDead(c) && !stopped(c) {
		return fmt.Errorf("an incident moved the record")
	}
	if err := flagged(c); err != nil {
		return err
	}
	if err := h.refunded(c); err != nil {
		return err
	}
	if err := h.acknowledged(c); err != nil {
		return err
	}
	if len(c.Log) == 0 && (c.Attempt() != nil || len(c.Txs) > 0 || len(c.Strays) > 0 || len(c.Reservations) > 0) {
		return fmt.Errorf("facts without a line of the log")
	}
	if c.New.Job.Lease.Fence < c.Old.Job.Lease.Fence {
		return fmt.Errorf("the fence went back")
	}
	return nil
}

// stopped: the incident gives the job to an operator, who had not got it yet or
// has what is out looked up; or it is held.
func stopped(c *withdrawal.Change) bool {
	return c.New.Job.Review && c.New.Job.Status != withdrawal.JobPending || c.New.Request.Held && !c.Old.Request.Held
}

// acknowledged: each claim beside the record is open in the record until an operator has acknowledged it, and Check
// finds it if the request was paid twice or refunded. An acknowledged claim that comes again opens nothing. The test
// keeps its own list of claims and acknowledgements, and does not read them from the record.
func (h *History) acknowledged(c *withdrawal.Change) error {
	o, n := &c.Old.Request, &c.New.Request
	news := false
	for _, i := range c.Incidents {
		key := claim{i.Claim, statemachine.HashForm(i.Hash)}
		switch i.Claim {
		case withdrawal.ClaimSent:
			if h.books == "" { // a stray, which forbids a refund by itself
				continue
			}
		case withdrawal.ClaimTaken: // of each dispatch it is news
			news = true
		case withdrawal.ClaimMined:
		default:
			continue
		}
		if _, known := h.told[key]; !known {
			news, h.told[key] = true, false
		}
	}
	switch {
	case n.Acknowledged && !o.Acknowledged && !news:
		for key := range h.told {
			h.told[key] = true
		}
	case o.Acknowledged && !n.Acknowledged && !news && n.PaidAfter == o.PaidAfter:
		return fmt.Errorf("what was acknowledged is open again, and nothing is new")
	}
	for key, settled := range h.told {
		finding := withdrawal.Check(c.New)
		switch {
		case settled || statemachine.SameHash(key.hash, n.FinalTxHash):
		case n.Acknowledged:
			return fmt.Errorf("%s is %s, nobody has acknowledged it, and it counts as acknowledged", key.hash, key.claim)
		case n.Status == withdrawal.RequestCompleted && key.claim == withdrawal.ClaimMined && !errors.Is(finding, withdrawal.ErrPaidTwice):
			return fmt.Errorf("%s was mined beside %s, and no audit finds it", key.hash, n.FinalTxHash)
		case h.books != "" && !errors.Is(finding, withdrawal.ErrPaidAndRefunded):
			return fmt.Errorf("%s is %s after the refund, and no audit finds it", key.hash, key.claim)
		}
	}
	return nil
}

// refunded: a request that the host has given back is closed for ever, and none is given back while a claim that it was
// paid is not acknowledged. The test itself remembers whether it was given back, and does not read that from the
// record.
func (h *History) refunded(c *withdrawal.Change) error {
	o, n := &c.Old.Request, &c.New.Request
	for _, line := range c.Log {
		if line.Trigger == "refund" {
			for key, settled := range h.told {
				if !settled {
					return fmt.Errorf("it is refunded as %s, and nobody has acknowledged that %s is %s", n.RefundReference, key.hash, key.claim)
				}
			}
			if h.books != "" || o.StraysSent > 0 || o.Disproved != "" && !o.Acknowledged {
				return fmt.Errorf("it is refunded as %s, after %q, and may have been paid", n.RefundReference, h.books)
			}
			h.books = n.RefundReference
			clear(h.told) // what was known before is news once more
		}
	}
	if h.books == "" {
		return nil
	}
	if n.RefundReference != h.books || n.Status != o.Status || n.Status == withdrawal.RequestCompleted || c.New.Job.ID != c.Old.Job.ID {
		return fmt.Errorf("it was refunded as %s, and goes on: %v, refunded as %q", h.books, n.Status, n.RefundReference)
	}
	return nil
}

// flagged: what may have been paid beside the record takes no step to a payment,
// and nobody forgets it.
func flagged(c *withdrawal.Change) error {
	o, n := &c.Old, &c.New
	switch was := o.Request.Mined != "" || o.Request.StraysSent > 0; {
	case o.Request.Mined != "" && n.Request.Mined != o.Request.Mined && o.Request.Mined != o.Request.FinalTxHash:
		return fmt.Errorf("it is forgotten that %s was mined", o.Request.Mined)
	case o.Request.Disproved != "" && n.Request.Disproved != o.Request.Disproved:
		return fmt.Errorf("it is forgotten that %s was declared dead", o.Request.Disproved)
	case was && (n.Job.ID != o.Job.ID || n.Request.Status == withdrawal.RequestApproved && o.Request.Status != withdrawal.RequestApproved):
		return fmt.Errorf("a flagged request gets another job")
	case was && o.Job.Status == withdrawal.JobPending && n.Job.Status == withdrawal.JobProcessing:
		return fmt.Errorf("a flagged request is executed")
	case was && o.Job.DispatchedAt.IsZero() && !n.Job.DispatchedAt.IsZero():
		return fmt.Errorf("a flagged request is dispatched")
	case o.Request.Held && (n.Job.ID != o.Job.ID || n.Job.Status == withdrawal.JobProcessing && o.Job.Status == withdrawal.JobPending) &&
		n.Job.Status != withdrawal.JobConfirming:
		return fmt.Errorf("a held request is executed")
	}
	return nil
}

// wasDead: the incident is that a transaction was mined which was declared dead.
// It stops the payment.
func wasDead(c *withdrawal.Change) bool {
	if len(c.Incidents) == 0 || c.New.Job.Status != withdrawal.JobFailed && !c.New.Job.Review {
		return false
	}
	for _, tx := range c.Old.Txs[:c.Old.Job.TxsDead] {
		if tx.Hash == c.Incidents[0].Hash {
			return true
		}
	}
	return false
}

// addLog: one line per version, and the table leads to where the record is.
func (h *History) addLog(c *withdrawal.Change) error {
	for _, line := range c.Log {
		e := entity{line.Machine, line.ID}
		h.logs[e] = append(h.logs[e], line)
	}
	r, j := &c.New.Request, &c.New.Job
	return errors.Join(replays(h, withdrawal.RequestMachine, r.ID, r.Status, r.Version),
		replays(h, withdrawal.JobMachine, j.ID, j.Status, j.Version))
}

func replays[S, T statemachine.Label](h *History, m *statemachine.Machine[S, T], id uuid.UUID, status S, version int64) error {
	log := h.logs[entity{m.Name(), id}]
	if end, err := statemachine.Replay(m, log); err != nil || end != status || int(version) != len(log) {
		return fmt.Errorf("the log of a %s ends in %v at version %d: %v", m.Name(), end, len(log), err)
	}
	return nil
}

// addTxs: append-only, and a second live one is a replacement of the first.
func (h *History) addTxs(c *withdrawal.Change) error {
	h.txs = append(h.txs, c.Txs...)
	if len(h.txs) != len(c.New.Txs) {
		return fmt.Errorf("%d transactions were put on file, the record has %d", len(h.txs), len(c.New.Txs))
	}
	for i, tx := range c.New.Txs {
		if tx.Hash != h.txs[i].Hash || tx.Seq != h.txs[i].Seq {
			return fmt.Errorf("transaction %d changed", i)
		}
	}
	if c.New.Job.TxsDead < c.Old.Job.TxsDead && !wasDead(c) {
		return fmt.Errorf("a dead transaction came back")
	}
	final := c.New.Request.FinalTxHash
	if c.New.Request.Status == withdrawal.RequestCompleted {
		for i, tx := range h.txs {
			if tx.Hash == final && (tx.Cancel || i < int(c.New.Job.TxsDead)) {
				return fmt.Errorf("completed by transaction %d, which pays nothing", i)
			}
		}
	}
	return nil
}

// addAttempts: opened at the claim, closed once, never more than max_retries.
func (h *History) addAttempts(c *withdrawal.Change) error {
	if a := c.Attempt(); a != nil {
		before, known := h.attempts[a.Fence]
		switch {
		case a.EndedAt.IsZero() && known:
			return fmt.Errorf("attempt %d was opened twice", a.Fence)
		case a.EndedAt.IsZero():
			h.claims[a.Job]++
		case !known || !before.EndedAt.IsZero():
			return fmt.Errorf("attempt %d was closed, but not open", a.Fence)
		case a.Outcome == statemachine.Deferred:
			h.claims[a.Job]--
		}
		h.attempts[a.Fence] = *a
	}
	if o, n := &c.Old.Job, &c.New.Job; o.ID == n.ID && o.RetryCount == 0 && n.RetryCount == 1 && n.Status != withdrawal.JobProcessing {
		h.claims[n.ID] = 1 // somebody else's
	}
	if wasDead(c) && h.claims[c.New.Job.ID] > 0 {
		h.claims[c.New.Job.ID] = c.New.Job.RetryCount // all that were left are taken away
	}
	if j := &c.New.Job; len(h.attempts) > 0 && h.claims[j.ID] > 0 && (h.claims[j.ID] != j.RetryCount || j.RetryCount > j.MaxRetries) {
		return fmt.Errorf("%d executions are counted as %d of %d", h.claims[j.ID], j.RetryCount, j.MaxRetries)
	}
	return nil
}

// addNamed: the first time that a signer names what is another's is news to whoever
// may order another payment.
func (h *History) addNamed(c *withdrawal.Change) error {
	for _, i := range c.Incidents {
		if i.Claim != withdrawal.ClaimTaken {
			continue
		}
		if !h.named[i.Hash] && len(c.Log) == 0 {
			return fmt.Errorf("a signer names %s, which is another's, and no version says so", i.Hash)
		}
		h.named[i.Hash] = true
	}
	return nil
}

// dispatched: the signer of an execution that has ended was called.
func (h *History) dispatched(fence int64) bool {
	a := h.attempts[fence]
	return a.Dispatched()
}

// addReservations: what is reserved is the amount of the open job.
func (h *History) addReservations(c *withdrawal.Change) error {
	for _, r := range c.Reservations {
		h.reserved = h.reserved.Add(r.Delta())
	}
	open := withdrawal.Raw("0")
	if j := &c.New.Job; j.Status != 0 && !withdrawal.JobMachine.Terminal(j.Status) {
		open = j.AmountRaw
	}
	if h.reserved.Cmp(open) != 0 {
		return fmt.Errorf("%s is reserved for open jobs of %s", h.reserved, open)
	}
	return nil
}
