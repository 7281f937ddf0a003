package withdrawal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

func (p *Policy) submit(c *step, e *Submitted) error {
	old := &c.Old.Request
	human, raw, amountErr := ParseAmount(e.Amount, e.Decimals)
	if old.Status != 0 && old.ID == e.Request && old.User == e.User && old.Asset == e.Asset && old.Chain == e.Chain &&
		old.ToAddress == e.ToAddress && old.Memo == e.Memo && old.AmountRaw == raw && old.Decimals == e.Decimals {
		return nil
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if old.Status != 0 {
		return c.refuseRequest(statemachine.ErrIllegal, old.unlike(e, raw))
	}
	if err := c.allowsRequest(onSubmit); err != nil {
		return err
	}
	if amountErr != nil {
		return c.refuseRequest(statemachine.ErrInvalid, amountErr.Error())
	}
	r := &c.New.Request
	*r = Request{ID: e.Request, User: e.User, Asset: e.Asset, Chain: e.Chain, ToAddress: e.ToAddress, Memo: e.Memo,
		Amount: human, AmountRaw: raw, Decimals: e.Decimals, RequestedBy: c.by.Actor, CreatedAt: c.by.At}
	if why := r.malformed(); why != "" {
		return c.refuseRequest(statemachine.ErrInvalid, why)
	}
	needed, why := p.Approval.Approvals(e.Asset, human, e.Usage)
	if c.Old.Recovering && needed == 0 {
		needed, why = 1, "the database was put back: the windows of the policy have forgotten requests"
	}
	r.ApprovalsNeeded = needed
	c.Log = make([]statemachine.Transition[uuid.UUID], 0, 2)
	if err := c.moveRequest(onSubmit, why); err != nil || needed > 0 {
		return err
	}
	return c.moveRequest(onAutomatic, "")
}

// unlike says which field of a submission is another one than that of the request of the same id, with both values.
func (r *Request) unlike(e *Submitted, raw Raw) string {
	for _, f := range []struct {
		name    string
		same    bool
		was, is any
	}{
		{"request", r.ID == e.Request, r.ID, e.Request}, {"user", r.User == e.User, r.User, e.User},
		{"asset", r.Asset == e.Asset, r.Asset, e.Asset}, {"chain", r.Chain == e.Chain, r.Chain, e.Chain},
		{"address", r.ToAddress == e.ToAddress, r.ToAddress, e.ToAddress}, {"memo", r.Memo == e.Memo, r.Memo, e.Memo},
		{"decimals", r.Decimals == e.Decimals, r.Decimals, e.Decimals}, {"amount", r.AmountRaw == raw, r.Amount, e.Amount},
	} {
		if !f.same {
			return fmt.Sprintf("the request of this id has the %s %.100q, and not %.100q", f.name, fmt.Sprint(f.was), fmt.Sprint(f.is))
		}
	}
	return ""
}

// malformed says what is wrong with the columns that come from outside.
func (r *Request) malformed() string {
	switch {
	case r.ID == uuid.Nil:
		return "Request is the zero id"
	case r.User == uuid.Nil:
		return "User is the zero id"
	case r.Asset == uuid.Nil:
		return "Asset is the zero id"
	case r.Chain == uuid.Nil:
		return "Chain is the zero id"
	case r.ToAddress == "" || utf8.RuneCountInString(r.ToAddress) > MaxAddress || !statemachine.Storable(r.ToAddress):
		return fmt.Sprintf("an address of 1 to %d characters is needed", MaxAddress)
	case utf8.RuneCountInString(r.Memo) > MaxMemo || !statemachine.Storable(r.Memo):
		return fmt.Sprintf("a memo has at most %d characters", MaxMemo)
	}
	return ""
}

func (p *Policy) approve(c *step, e *Approved) error {
	r := &c.New.Request
	if r.Status != 0 && (samePerson(c.by.Actor, r.FirstApprover) || samePerson(c.by.Actor, r.SecondApprover)) {
		return nil
	}
	if r.Status != 0 && (samePerson(c.by.Actor, r.RequestedBy) || isUser(c.by.Actor, r.User)) {
		return c.refuseRequest(statemachine.ErrForbidden, "nobody approves their own request")
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if err := c.allowsRequest(onApprove); err != nil {
		return err
	}
	if r.FirstApprover != "" {
		r.SecondApprover = c.by.Actor
		return c.moveRequest(onApprove, "")
	}
	r.FirstApprover = c.by.Actor
	if r.ApprovalsNeeded > 1 {
		return c.moveRequest(onFirstApproval, "")
	}
	return c.moveRequest(onApprove, "")
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

func (p *Policy) reject(c *step, e *Rejected) error {
	return c.stop(onReject, RequestRejected, e.Reason)
}

func (c *step) stop(t RequestTrigger, to RequestStatus, reason string) error {
	r := &c.New.Request
	if r.Status == to && r.ClosedBy == c.by.Actor {
		return nil
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if err := c.allowsRequest(t); err != nil {
		return err
	}
	r.ClosedBy, r.CloseReason, r.OfferAt = c.by.Actor, statemachine.Bounded(reason, MaxText), time.Time{}
	return c.moveRequest(t, r.CloseReason)
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

func (c *step) newPair() {
	if c.Log != nil {
		return
	}
	m := new(pair)
	c.Log, c.Reservations = m.log[:0], m.reservation[:0]
}

func (p *Policy) enqueue(c *step, e *Enqueued) error {
	old := &c.Old.Job
	if old.Status != 0 && old.ID == e.Job && c.Old.Request.Status != RequestApproved {
		return nil
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if old.Status != 0 && !JobMachine.Terminal(old.Status) {
		return c.refuseRequest(&TakenError{ErrActiveJob, old.ID}, "")
	}
	if err := c.allowsRequest(onEnqueue); err != nil {
		return err
	}
	if err := c.reopens(); err != nil {
		return err
	}
	if err := p.begins(c); err != nil {
		return err
	}
	executions := e.MaxRetries
	if executions == 0 {
		executions = p.MaxRetries
	}
	priority := cmp.Or(e.Priority, Normal)
	switch {
	case e.Job == uuid.Nil || e.AssetOnChain == uuid.Nil:
		return c.refuseRequest(statemachine.ErrInvalid, "ids of job and asset on chain are needed")
	case e.Job == old.ID:
		return c.refuseRequest(statemachine.ErrInvalid, "this is the job that failed: another one needs its own id")
	case !priority.Valid():
		return c.refuseRequest(statemachine.ErrInvalid, "unknown priority "+priority.String())
	case executions < 1:
		return c.refuseRequest(statemachine.ErrInvalid, "max_retries must be at least 1")
	case int(old.TxsOnFile) != len(c.Old.Txs):
		return c.notLoaded()
	}
	wallet, err := c.chooseBound(e.Wallets)
	if err != nil {
		return c.refuseRequest(err, "")
	}
	if wallet.LastUsedAt.Before(c.by.At) {
		wallet.LastUsedAt = c.by.At
	}
	c.newPair()
	c.newJob(e.Job, e.AssetOnChain, wallet, wallet.LastUsedAt)
	j := &c.New.Job
	j.Priority, j.MaxRetries, j.ScheduledAt, j.ScheduledFrom = priority, executions, c.by.At, c.by.At
	if err := c.moveJob(jobEnqueue, ""); err != nil {
		return err
	}
	return c.moveRequest(onEnqueue, "")
}

// newJob makes the columns that enqueue and import share, and reserves the amount.
func (c *step) newJob(id, assetOnChain uuid.UUID, wallet HotWallet, usedAt time.Time) {
	r := &c.New.Request
	c.New.Wallet = wallet
	c.New.Job = Job{ID: id, Request: r.ID, Chain: r.Chain, AssetOnChain: assetOnChain, Wallet: wallet.ID,
		ToAddress: r.ToAddress, AmountRaw: r.AmountRaw, AmountHuman: r.Amount,
		Lease:     statemachine.Lease{Fence: c.Old.Job.Lease.Fence}, // no fence of an earlier job fits this one
		TxsOnFile: c.Old.Job.TxsOnFile, TxsDead: c.Old.Job.TxsOnFile, Dispatches: c.Old.Job.Dispatches, CreatedAt: c.by.At}
	c.New.Attempt = Attempt{}
	r.QueuedAt, r.OfferAt = c.by.At, time.Time{}
	c.Reservations = append(c.Reservations, Reservation{Wallet: wallet.ID, Job: id, Amount: r.AmountRaw, UsedAt: usedAt})
}

const maybePaid = "an incident says that it was mined, sent or taken: it is not paid again"

func (c *step) notLoaded() error {
	return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("%d transactions are on file, %d were loaded", c.Old.Job.TxsOnFile, len(c.Old.Txs)))
}

// requeue is refused while any transaction on file is not proven dead, also a reverted or cancelling one. So no two
// transactions of one request are ever both mined.
func (p *Policy) requeue(c *step, e *Requeued) error {
	j := &c.Old.Job
	if c.Old.Request.Status == RequestApproved && j.Status == JobFailed && j.ID == e.Job {
		return nil
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if err := c.allowsRequest(onRequeue); err != nil {
		return err
	}
	if ref := c.Old.Request.RefundReference; ref != "" {
		return c.refuseRequest(ErrRefunded, "as "+ref)
	}
	if err := c.reopens(); err != nil {
		return err
	}
	if j.ID != e.Job {
		return c.refuseRequest(statemachine.ErrConflict, "the latest job is "+j.ID.String())
	}
	if j.Live() || j.TxHash != "" {
		return c.refuseRequest(statemachine.ErrIllegal, "a transaction on file is not proven dead")
	}
	if c.Old.Request.flagged() {
		return c.refuseRequest(statemachine.ErrIllegal, maybePaid)
	}
	if !e.NotRefunded {
		return c.refuseRequest(statemachine.ErrInvalid, "NotRefunded is needed: look whether the host has given the money back")
	}
	c.New.Request.OfferAt = time.Time{}
	return c.moveRequest(onRequeue, statemachine.Bounded(e.Reason, MaxText))
}

func (p *Policy) imported(c *step, e *Imported) error {
	if differs := c.Old.Request.differs(e); differs != "" {
		return c.refuseRequest(statemachine.ErrConflict, "the stored request has another "+differs)
	}
	if c.Old.Job.Status != 0 && c.Old.find(e.Hash) >= 0 {
		return nil
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if old := &c.Old.Job; old.Status != 0 && !JobMachine.Terminal(old.Status) {
		return c.refuseRequest(&TakenError{ErrActiveJob, old.ID}, "")
	}
	if ref := c.Old.Request.RefundReference; ref != "" { // nothing of it may be paid; what was is told
		return c.refuseRequest(ErrRefunded, "as "+ref+": say PaidBy of what paid it all the same")
	}
	if err := c.allowsRequest(onImport); err != nil {
		return err
	}
	if c.Old.Job.Status != 0 || c.Old.Request.Status == RequestFailed { // it was requeued and paid after the copy was made
		switch {
		case !c.Old.Recovering:
			return c.refuseRequest(statemachine.ErrIllegal, "it has had a job: only while its chain is recovering another one was")
		case c.Old.Job.Live() || c.Old.Job.TxHash != "":
			return c.refuseRequest(statemachine.ErrIllegal, "a transaction on file is not proven dead")
		case c.Old.Request.flagged() && !c.Old.flaggedBy(e.Hash):
			return c.refuseRequest(statemachine.ErrIllegal, maybePaid)
		case c.Old.Job.ID == e.Job:
			return c.refuseRequest(statemachine.ErrInvalid, "this is the job that failed: another one needs its own id")
		case int(c.Old.Job.TxsOnFile) != len(c.Old.Txs):
			return c.notLoaded()
		}
	}
	if e.Job == uuid.Nil || e.AssetOnChain == uuid.Nil {
		return c.refuseRequest(statemachine.ErrInvalid, "Job or AssetOnChain is the zero id")
	}
	tx := txFacts{Hash: e.Hash, Nonce: e.Nonce, HasNonce: e.HasNonce, ByOutput: e.ByOutput, Output: e.Output}
	if err := c.wellFormed(&tx); err != nil {
		return err
	}
	if e.HasNonce && len(e.Wallets) > 1 {
		return c.refuseRequest(statemachine.ErrInvalid, "the nonce belongs to one wallet: name the one that sent it")
	}
	r := &c.New.Request
	if r.Status == 0 {
		human, raw, err := ParseAmount(e.Amount, e.Decimals)
		if err != nil {
			return c.refuseRequest(statemachine.ErrInvalid, err.Error())
		}
		*r = Request{ID: e.Request, User: e.User, Asset: e.Asset, Chain: e.Chain, ToAddress: e.ToAddress, Memo: e.Memo,
			Amount: human, AmountRaw: raw, Decimals: e.Decimals, RequestedBy: c.by.Actor, CreatedAt: c.by.At}
		if !e.CreatedAt.IsZero() {
			if r.CreatedAt, err = statemachine.Time(e.CreatedAt); err != nil {
				return c.refuseRequest(statemachine.ErrInvalid, fmt.Sprintf("created in the year %d", e.CreatedAt.Year()))
			}
			if r.CreatedAt.After(c.by.At) { // how long it waits is measured from there
				return c.refuseRequest(statemachine.ErrInvalid, "created in the future")
			}
		}
		if why := r.malformed(); why != "" {
			return c.refuseRequest(statemachine.ErrInvalid, why)
		}
	}
	wallet, err := importWallet(e.Wallets, r.Chain)
	if err != nil {
		return c.refuseRequest(err, "name the wallet that sent it")
	}
	m := new(importing)
	c.Log, c.Reservations = m.log[:0], m.reservation[:0]
	if len(c.Old.Txs) == 0 {
		c.New.Txs, c.room = m.txs[:0], true
	}
	c.newJob(e.Job, e.AssetOnChain, wallet, time.Time{}) // an import uses no wallet
	j := &c.New.Job
	j.Priority, j.MaxRetries, j.RetryCount = Normal, max(1, p.MaxRetries), 1
	j.ScheduledAt, j.ScheduledFrom, j.BroadcastAt, j.NextCheckAt = c.by.At, c.by.At, r.CreatedAt, c.by.At
	c.addTx(tx)
	c.settle(e.Hash) // a survivor has spoken of it
	if err := c.moveJob(jobImport, ""); err != nil {
		return err
	}
	return c.moveRequest(onImport, "")
}

// flaggedBy reports whether all that may have paid the request beside the record is one transaction.
func (w *Withdrawal) flaggedBy(hash string) bool {
	r := &w.Request
	return (r.Mined == "" || statemachine.SameHash(r.Mined, hash)) && (r.Taken == "" || r.Acknowledged) &&
		!slices.ContainsFunc(w.Strays, func(s Stray) bool { return s.SettledAt.IsZero() && !statemachine.SameHash(s.Hash, hash) })
}

// importWallet is the only candidate, whatever its status, since a transaction
// that is out needs no active wallet; of several the one that would be chosen.
func importWallet(candidates []HotWallet, chain uuid.UUID) (HotWallet, error) {
	if len(candidates) == 1 && candidates[0].Chain == chain {
		return candidates[0], nil
	}
	wallet, err := ChooseWallet(candidates, chain)
	if err != nil && len(candidates) > 1 {
		err = statemachine.ErrInvalid
	}
	return wallet, err
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
	case e.Memo != "" && e.Memo != r.Memo:
		return "memo"
	case e.Amount == "" && e.Decimals != 0 && e.Decimals != r.Decimals:
		return "decimals"
	case e.Amount != "":
		if _, raw, err := ParseAmount(e.Amount, e.Decimals); err != nil || raw != r.AmountRaw || e.Decimals != r.Decimals {
			return "amount"
		}
	}
	return ""
}
