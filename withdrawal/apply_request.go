package withdrawal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

func (p *Policy) submit(c *Change, e *Submitted) error {
	if err := c.admit(&e.By, bySystem, "Submitted"); err != nil {
		return err
	}
	old := &c.Old.Request
	human, raw, amountErr := ParseAmount(e.Amount, e.Decimals)
	if old.Status != 0 && old.ID == e.Request && old.User == e.User && old.Asset == e.Asset && old.Chain == e.Chain &&
		old.ToAddress == e.ToAddress && old.Memo == e.Memo && old.AmountRaw == raw && old.Decimals == e.Decimals {
		return nil
	}
	if err := c.requestVersion(&e.By, "Submitted"); err != nil {
		return err
	}
	if err := c.allowsRequest(OnSubmit, "Submitted"); err != nil {
		return err
	}
	if amountErr != nil {
		return c.refuseRequest("Submitted", statemachine.ErrInvalid, amountErr.Error())
	}
	r := &c.New.Request
	*r = Request{ID: e.Request, User: e.User, Asset: e.Asset, Chain: e.Chain, ToAddress: e.ToAddress, Memo: e.Memo,
		Amount: human, AmountRaw: raw, Decimals: e.Decimals, RequestedBy: e.Actor, CreatedAt: e.At}
	if why := r.malformed(); why != "" {
		return c.refuseRequest("Submitted", statemachine.ErrInvalid, why)
	}
	needed, why := p.Approval.Approvals(e.Asset, human, e.Usage)
	r.ApprovalsNeeded = needed
	c.Log = make([]statemachine.Transition[uuid.UUID], 0, 2)
	if err := c.moveRequest(OnSubmit, &e.By, why); err != nil || needed > 0 {
		return err
	}
	return c.moveRequest(OnAutomatic, &e.By, "")
}

// malformed says what is wrong with the columns that come from outside.
func (r *Request) malformed() string {
	switch {
	case r.ID == uuid.Nil || r.User == uuid.Nil || r.Asset == uuid.Nil || r.Chain == uuid.Nil:
		return "ids of request, user, asset and chain are needed"
	case r.ToAddress == "" || utf8.RuneCountInString(r.ToAddress) > MaxAddress || !clean(r.ToAddress):
		return fmt.Sprintf("an address of 1 to %d characters is needed", MaxAddress)
	case utf8.RuneCountInString(r.Memo) > MaxMemo || !clean(r.Memo):
		return fmt.Sprintf("a memo has at most %d characters", MaxMemo)
	}
	return ""
}

func (p *Policy) approve(c *Change, e *Approved) error {
	if err := c.admit(&e.By, byApprover, "Approved"); err != nil {
		return err
	}
	r := &c.New.Request
	if r.Status != 0 && (samePerson(e.Actor, r.FirstApprover) || samePerson(e.Actor, r.SecondApprover)) {
		return nil
	}
	if r.Status != 0 && (samePerson(e.Actor, r.RequestedBy) || isUser(e.Actor, r.User)) {
		return c.refuseRequest("Approved", statemachine.ErrForbidden, "nobody approves their own request")
	}
	if err := c.requestVersion(&e.By, "Approved"); err != nil {
		return err
	}
	if err := c.allowsRequest(OnApprove, "Approved"); err != nil {
		return err
	}
	if r.FirstApprover != "" {
		r.SecondApprover = e.Actor
		return c.moveRequest(OnApprove, &e.By, "")
	}
	r.FirstApprover = e.Actor
	if r.ApprovalsNeeded > 1 {
		return c.moveRequest(OnFirstApproval, &e.By, "")
	}
	return c.moveRequest(OnApprove, &e.By, "")
}

// isUser compares in whatever form the id is written.
func isUser(actor string, user uuid.UUID) bool {
	actor = strings.TrimSpace(actor)
	if len(actor) < 32 { // no form of an id
		return false
	}
	id, err := uuid.Parse(actor)
	return err == nil && id == user
}

// samePerson compares two actors; ids in whatever form they are written.
func samePerson(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a == b || len(b) < 32 {
		return a == b
	}
	id, err := uuid.Parse(b)
	return err == nil && isUser(a, id)
}

func (p *Policy) reject(c *Change, e *Rejected) error {
	if err := c.admit(&e.By, byApprover, "Rejected"); err != nil {
		return err
	}
	return c.stop(&e.By, OnReject, RequestRejected, "Rejected", e.Reason)
}

func (p *Policy) cancel(c *Change, e *Cancelled) error {
	if err := c.admit(&e.By, byOperator, "Cancelled"); err != nil {
		return err
	}
	return c.stop(&e.By, OnCancel, RequestCancelled, "Cancelled", e.Reason)
}

func (c *Change) stop(by *By, t RequestTrigger, to RequestStatus, event, reason string) error {
	r := &c.New.Request
	if r.Status == to && r.ClosedBy == by.Actor {
		return nil
	}
	if err := c.requestVersion(by, event); err != nil {
		return err
	}
	if err := c.allowsRequest(t, event); err != nil {
		return err
	}
	r.ClosedBy, r.CloseReason = by.Actor, bounded(reason)
	return c.moveRequest(t, by, r.CloseReason)
}

// pair is the memory of a step that ends or begins a job: one allocation.
type pair struct {
	log         [2]statemachine.Transition[uuid.UUID]
	reservation [1]Reservation
}

// importing is the same, with the transaction that an import brings.
type importing struct {
	pair
	txs [1]Tx
}

func (c *Change) newPair() {
	m := new(pair)
	c.Log, c.Reservations = m.log[:0], m.reservation[:0]
}

func (p *Policy) enqueue(c *Change, e *Enqueued) error {
	if err := c.admit(&e.By, bySystem, "Enqueued"); err != nil {
		return err
	}
	old := &c.Old.Job
	if old.Status != 0 && old.ID == e.Job && c.Old.Request.Status != RequestApproved {
		return nil
	}
	if err := c.requestVersion(&e.By, "Enqueued"); err != nil {
		return err
	}
	if old.Status != 0 && !JobMachine.Terminal(old.Status) {
		return c.refuseRequest("Enqueued", &TakenError{ErrActiveJob, old.ID}, "")
	}
	if err := c.allowsRequest(OnEnqueue, "Enqueued"); err != nil {
		return err
	}
	if c.Old.Mined { // after it was requeued
		return c.refuseRequest("Enqueued", statemachine.ErrIllegal, maybePaid)
	}
	executions := e.MaxRetries
	if executions == 0 {
		executions = p.MaxRetries
	}
	switch {
	case e.Job == uuid.Nil || e.AssetOnChain == uuid.Nil:
		return c.refuseRequest("Enqueued", statemachine.ErrInvalid, "ids of job and asset on chain are needed")
	case e.Job == old.ID:
		return c.refuseRequest("Enqueued", statemachine.ErrInvalid, "this is the job that failed: another one needs its own id")
	case !e.Priority.Valid():
		return c.refuseRequest("Enqueued", statemachine.ErrInvalid, "unknown priority "+e.Priority.String())
	case executions < 1:
		return c.refuseRequest("Enqueued", statemachine.ErrInvalid, "max_retries must be at least 1")
	case int(old.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded("Enqueued")
	}
	c.newPair()
	if err := c.newJob(&e.By, e.Job, e.AssetOnChain, e.Wallets); err != nil {
		return err
	}
	j := &c.New.Job
	j.Priority, j.MaxRetries, j.ScheduledAt = e.Priority, executions, e.At
	if err := c.moveJob(JobEnqueue, &e.By, ""); err != nil {
		return err
	}
	return c.moveRequest(OnEnqueue, &e.By, "")
}

// newJob makes the columns that enqueue and import share, chooses the wallet
// and reserves the amount.
func (c *Change) newJob(by *By, id, assetOnChain uuid.UUID, wallets []HotWallet) error {
	r := &c.New.Request
	wallet, err := ChooseWallet(wallets, r.Chain)
	if err != nil {
		return c.refuseRequest("a job", err, "")
	}
	if wallet.LastUsedAt.Before(by.At) {
		wallet.LastUsedAt = by.At
	}
	c.New.Wallet = wallet
	c.New.Job = Job{ID: id, Request: r.ID, Chain: r.Chain, AssetOnChain: assetOnChain, Wallet: wallet.ID,
		ToAddress: r.ToAddress, AmountRaw: r.AmountRaw, AmountHuman: r.Amount,
		Lease:     statemachine.Lease{Fence: c.Old.Job.Lease.Fence}, // no fence of an earlier job fits this one
		TxsOnFile: c.Old.Job.TxsOnFile, TxsDead: c.Old.Job.TxsOnFile, CreatedAt: by.At}
	c.New.Attempt = Attempt{}
	r.QueuedAt = by.At
	c.Reservations = append(c.Reservations, Reservation{Wallet: wallet.ID, Job: id, Amount: r.AmountRaw, UsedAt: wallet.LastUsedAt})
	return nil
}

const maybePaid = "an incident says that a transaction of it was mined: it is not paid again"

func (c *Change) notLoaded(event string) error {
	return c.refuse(event, statemachine.ErrInvalid, fmt.Sprintf("%d transactions are on file, %d were loaded", c.Old.Job.TxsOnFile, len(c.Old.Txs)))
}

// requeue is refused with any transaction on file that is not proven dead, a
// reverted and a cancelling one included: no two transactions of one request
// are ever both mined.
func (p *Policy) requeue(c *Change, e *Requeued) error {
	if err := c.admit(&e.By, byOperator, "Requeued"); err != nil {
		return err
	}
	j := &c.Old.Job
	if c.Old.Request.Status == RequestApproved && j.Status == JobFailed && j.ID == e.Job {
		return nil
	}
	if err := c.requestVersion(&e.By, "Requeued"); err != nil {
		return err
	}
	if err := c.allowsRequest(OnRequeue, "Requeued"); err != nil {
		return err
	}
	if j.ID != e.Job {
		return c.refuseRequest("Requeued", statemachine.ErrConflict, "the latest job is "+j.ID.String())
	}
	if j.Live() || j.TxHash != "" {
		return c.refuseRequest("Requeued", statemachine.ErrIllegal, "a transaction on file is not proven dead")
	}
	if c.Old.Mined {
		return c.refuseRequest("Requeued", statemachine.ErrIllegal, maybePaid)
	}
	return c.moveRequest(OnRequeue, &e.By, bounded(e.Reason))
}

func (p *Policy) imported(c *Change, e *Imported) error {
	if err := c.admit(&e.By, bySystem, "Imported"); err != nil {
		return err
	}
	if differs := c.Old.Request.differs(e); differs != "" {
		return c.refuseRequest("Imported", statemachine.ErrConflict, "the stored request has another "+differs)
	}
	if c.Old.Job.Status != 0 && c.Old.find(e.Hash) >= 0 {
		return nil
	}
	if err := c.requestVersion(&e.By, "Imported"); err != nil {
		return err
	}
	if old := &c.Old.Job; old.Status != 0 && !JobMachine.Terminal(old.Status) {
		return c.refuseRequest("Imported", &TakenError{ErrActiveJob, old.ID}, "")
	}
	if err := c.allowsRequest(OnImport, "Imported"); err != nil {
		return err
	}
	if c.Old.Job.Status != 0 {
		return c.refuseRequest("Imported", statemachine.ErrIllegal, "it has had a job")
	}
	if e.Job == uuid.Nil || e.AssetOnChain == uuid.Nil {
		return c.refuseRequest("Imported", statemachine.ErrInvalid, "ids of job and asset on chain are needed")
	}
	tx := txFacts{Hash: e.Hash, Nonce: e.Nonce, HasNonce: e.HasNonce}
	if err := c.wellFormed(&tx, "Imported"); err != nil {
		return err
	}
	if e.HasNonce && len(e.Wallets) > 1 {
		return c.refuseRequest("Imported", statemachine.ErrInvalid, "the nonce belongs to one wallet: name the one that sent it")
	}
	r := &c.New.Request
	if r.Status == 0 {
		human, raw, err := ParseAmount(e.Amount, e.Decimals)
		if err != nil {
			return c.refuseRequest("Imported", statemachine.ErrInvalid, err.Error())
		}
		*r = Request{ID: e.Request, User: e.User, Asset: e.Asset, Chain: e.Chain, ToAddress: e.ToAddress, Memo: e.Memo,
			Amount: human, AmountRaw: raw, Decimals: e.Decimals, RequestedBy: e.Actor, CreatedAt: e.CreatedAt.UTC().Truncate(time.Microsecond)}
		if e.CreatedAt.IsZero() {
			r.CreatedAt = e.At
		}
		if why := r.malformed(); why != "" {
			return c.refuseRequest("Imported", statemachine.ErrInvalid, why)
		}
	}
	m := new(importing)
	c.Log, c.Reservations, c.New.Txs = m.log[:0], m.reservation[:0], m.txs[:0]
	if err := c.newJob(&e.By, e.Job, e.AssetOnChain, e.Wallets); err != nil {
		return err
	}
	for i := range e.Wallets { // an import uses no wallet
		if w := &c.New.Wallet; e.Wallets[i].ID == w.ID {
			w.LastUsedAt = e.Wallets[i].LastUsedAt
		}
	}
	c.Reservations[0].UsedAt = time.Time{}
	j := &c.New.Job
	j.Priority, j.MaxRetries, j.RetryCount = Normal, max(1, p.MaxRetries), 1
	j.ScheduledAt, j.BroadcastAt, j.NextCheckAt = e.At, r.CreatedAt, e.At
	c.addTx(&e.By, tx)
	if err := c.moveJob(JobImport, &e.By, ""); err != nil {
		return err
	}
	return c.moveRequest(OnImport, &e.By, "")
}

// differs names the column in which an imported row contradicts the request.
func (r *Request) differs(e *Imported) string {
	if r.Status == 0 {
		return ""
	}
	other := func(got, stored uuid.UUID) bool { return got != uuid.Nil && got != stored }
	switch {
	case other(e.Request, r.ID):
		return "id"
	case other(e.User, r.User):
		return "user"
	case other(e.Asset, r.Asset):
		return "asset"
	case other(e.Chain, r.Chain):
		return "chain"
	case e.ToAddress != "" && e.ToAddress != r.ToAddress:
		return "address"
	case e.Amount != "":
		if _, raw, err := ParseAmount(e.Amount, e.Decimals); err != nil || raw != r.AmountRaw || e.Decimals != r.Decimals {
			return "amount"
		}
	}
	return ""
}
