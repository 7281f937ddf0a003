package downstream

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// records implements [store.WithdrawalRecords].
type records struct {
	store.UnimplementedWithdrawals
	*Unit
}

// The columns of payouts, to be read into a request and to be written from it. What has a column of its own is also in
// details, and the column counts.
const requestColumns = "details, id, customer, coin, network, address, amount, state, requested_at, refunded_at, revision"

func requestFields(r *withdrawal.Request) []any {
	return []any{details{r}, &r.ID, &r.User, &r.Asset, &r.Chain, &r.ToAddress, &r.AmountRaw,
		state[withdrawal.RequestStatus]{&r.Status, requestStates}, moment{&r.CreatedAt}, moment{&r.RefundedAt}, &r.Version}
}

func (u *Unit) requests(where string, args ...any) ([]withdrawal.Request, error) {
	return read(u, requestFields, "SELECT "+requestColumns+" FROM payouts WHERE "+where, args...)
}

func (u *Unit) job(id uuid.UUID) (withdrawal.Job, bool, error) {
	return first(read(u, jobFields, "SELECT details, state FROM payout_attempts WHERE kind = 'order' AND job = ?", id))
}

func jobFields(j *withdrawal.Job) []any {
	return []any{details{j}, state[withdrawal.JobStatus]{&j.Status, jobStates}}
}

func (u *Unit) jobs(request uuid.UUID) ([]withdrawal.Job, error) {
	return read(u, jobFields, "SELECT details, state FROM payout_attempts WHERE kind = 'order' AND payout = ? ORDER BY n", request)
}

// of returns what a payout has of a kind but orders, in its order.
func of[T any](u *Unit, kind string, payout uuid.UUID) ([]T, error) {
	return list[T](u, "SELECT details FROM payout_attempts WHERE kind = ? AND payout = ? ORDER BY number", kind, payout)
}

// Get implements [store.WithdrawalRecords].
func (r records) Get(requests ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	all := make([]withdrawal.Withdrawal, len(requests))
	for i, id := range requests {
		var err error
		if all[i], err = r.aggregate(id); err != nil {
			return nil, fmt.Errorf("payout %s: %w", id, err)
		}
	}
	return all, nil
}

// aggregate reads all that the payout has.
func (r records) aggregate(id uuid.UUID) (w withdrawal.Withdrawal, err error) {
	known := false
	if w.Request, known, err = first(r.requests("id = ?", id)); err != nil || !known {
		return withdrawal.Withdrawal{}, err
	}
	type row struct{ kind, text string }
	rows, err := read(r.Unit, func(t *row) []any { return []any{&t.kind, &t.text} },
		"SELECT kind, details FROM payout_attempts WHERE payout = ? ORDER BY n", id)
	if err != nil {
		return w, err
	}
	jobs, err := r.jobs(id)
	if len(jobs) > 0 {
		w.Job = jobs[len(jobs)-1]
	}
	for _, t := range rows {
		switch t.kind {
		case "transaction":
			err = errors.Join(err, add(&w.Txs, t.text))
		case "stray":
			err = errors.Join(err, add(&w.Strays, t.text))
		case "execution":
			err = errors.Join(err, add(&w.Dispatches, t.text)) // all of them, at first
		}
	}
	for _, a := range w.Dispatches {
		if a.Job == w.Job.ID && a.Fence == w.Job.Lease.Fence {
			w.Attempt = a
		}
	}
	w.Dispatches = slices.DeleteFunc(w.Dispatches, func(a withdrawal.Attempt) bool { return !a.Dispatched() })
	if err == nil && w.Job.Wallet != uuid.Nil {
		w.Wallet, _, err = first(r.HotWallets().Get(w.Job.Wallet))
	}
	return w, err
}

func add[T any](to *[]T, text string) error {
	var v T
	err := details{&v}.Scan(text)
	*to = append(*to, v)
	return err
}

// readable returns those of some payouts that can be read.
func (r records) readable(ids []uuid.UUID) (all []withdrawal.Withdrawal, err error) {
	for _, id := range ids {
		w, err := r.aggregate(id)
		if ok, err := readable(err); err != nil {
			return nil, err
		} else if ok && w.Request.ID != uuid.Nil {
			all = append(all, w)
		}
	}
	return all, nil
}

func (r records) RequestOf(job uuid.UUID) (uuid.UUID, error) {
	j, ok, err := r.job(job)
	if err == nil && !ok {
		err = refusal(statemachine.ErrNotFound, withdrawal.JobMachine.Name(), job, "", "")
	}
	return j.Request, err
}

func (r records) Attempts(job uuid.UUID) ([]withdrawal.Attempt, error) {
	return list[withdrawal.Attempt](r.Unit, "SELECT details FROM payout_attempts WHERE kind = 'execution' AND job = ? ORDER BY number", job)
}

func (r records) Jobs(request uuid.UUID) ([]withdrawal.Job, error) { return r.jobs(request) }

func (r records) Requests(status withdrawal.RequestStatus, after *withdrawal.Request, limit int) ([]withdrawal.Request, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if after == nil {
		after = &withdrawal.Request{CreatedAt: time.UnixMicro(-1 << 62)}
	}
	return r.requests("(?1 = '' OR state = ?1) AND (requested_at, id) > (?2, ?3) ORDER BY requested_at, id LIMIT ?4",
		requestStates[status], moment{&after.CreatedAt}, after.ID, limit)
}

// List asks the domain of one record after the other, in the order of the list.
func (r records) List(q store.ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	than, order := ">", ""
	if q.Backwards {
		than, order = "<", " DESC"
	}
	query, args := "SELECT id FROM payouts WHERE (?1 OR customer = ?2) AND (?3 OR network = ?4)",
		[]any{q.User == uuid.Nil, q.User, q.Chain == uuid.Nil, q.Chain}
	if q.After != nil {
		query += " AND (requested_at, id) " + than + " (?5, ?6)"
		args = append(args, moment{&q.After.CreatedAt}, q.After.ID)
	}
	ids, err := column[uuid.UUID](r.Unit, query+" ORDER BY requested_at"+order+", id"+order, args...)
	var page []withdrawal.Withdrawal
	for len(ids) > 0 && err == nil && len(page) < q.Limit {
		var some []withdrawal.Withdrawal
		some, err = r.readable(ids[:min(len(ids), q.Limit)])
		ids = ids[min(len(ids), q.Limit):]
		for i := range some {
			if q.Has(&some[i], q.Now) {
				page = append(page, some[i])
			}
		}
	}
	return page[:min(len(page), q.Limit)], err
}

func (r records) ByHash(hash string) ([]uuid.UUID, error) {
	return column[uuid.UUID](r.Unit,
		"SELECT DISTINCT payout FROM payout_attempts WHERE hash = ? AND payout IS NOT NULL ORDER BY payout LIMIT ?",
		statemachine.HashForm(hash), store.MaxPage)
}

func (r records) PaidRequest(request, chain uuid.UUID, hash string, byOutput bool, output uint32) (uuid.NullUUID, error) {
	return r.paid(uuid.NullUUID{UUID: request, Valid: true}, chain, hash, outputOf(byOutput, output))
}

// Usage needs no lock, since nobody else submits in this transaction.
func (r records) Usage(user, asset uuid.UUID, windows []withdrawal.Window, now time.Time) (withdrawal.Usage, error) {
	from := now
	for _, w := range windows {
		if begin := now.Add(-w.Length); begin.Before(from) {
			from = begin
		}
	}
	earlier, err := r.requests("customer = ? AND coin = ? AND requested_at >= ? AND requested_at < ?",
		user, asset, moment{&from}, moment{&now})
	return withdrawal.UsageOf(earlier, user, asset, windows, now, false), err
}

// candidates are the payouts of which something of a kind may be due, of orders until a time, zero for any. The domain
// says what is due.
func (r records) candidates(q store.DueWithdrawals, until time.Time) (due []withdrawal.Withdrawal, err error) {
	var states []any
	query := "SELECT payout FROM payout_attempts WHERE kind = 'order' AND state NOT IN ('done', 'given up') AND state = ?1"
	if !until.IsZero() {
		query += fmt.Sprintf(" AND due_at <= %d", until.UnixMicro())
	}
	ofPayouts := "SELECT id FROM payouts WHERE state <> 'paid' AND refunded_at IS NULL AND state IN (?1, ?2, ?3)"
	switch q.Kind {
	case withdrawal.DueClaim:
		states = []any{jobStates[withdrawal.JobPending]}
	case withdrawal.DueRescue:
		states = []any{jobStates[withdrawal.JobProcessing]}
	case withdrawal.DueCheck, withdrawal.DueRebroadcast:
		states = []any{jobStates[withdrawal.JobConfirming]}
	case withdrawal.DueEnqueue:
		query, states = ofPayouts, []any{requestStates[withdrawal.RequestApproved], "", ""}
	case withdrawal.DueRefund:
		query, states = ofPayouts, []any{requestStates[withdrawal.RequestFailed], requestStates[withdrawal.RequestRejected],
			requestStates[withdrawal.RequestCancelled]}
	default:
		return nil, fmt.Errorf("%w: due work of kind %v", statemachine.ErrInvalid, q.Kind)
	}
	if q.Chain != uuid.Nil {
		query += fmt.Sprintf(" AND network = ?%d", len(states)+1)
		states = append(states, q.Chain)
	}
	ids, err := column[uuid.UUID](r.Unit, query, states...)
	if err != nil {
		return nil, err
	}
	all, err := r.readable(ids)
	offered := map[uuid.UUID]bool{}
	for i := range all {
		chain := all[i].Request.Chain
		if _, asked := offered[chain]; !asked {
			s, err := r.Switches().Ask(switches.Chain(chain))
			if err != nil {
				return nil, err
			}
			hot, err := r.HotWallets().OfChain(chain)
			if err != nil {
				return nil, err
			}
			offered[chain] = withdrawal.DueIn(q.Kind, s, withdrawal.OutboundOf(hot))
		}
		if offered[chain] {
			due = append(due, all[i])
		}
	}
	return due, err
}

// Due skips nothing: with one writer no other transaction holds a record.
func (r records) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := r.write(func() error { return nil }); err != nil {
		return nil, err
	}
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	until := q.Now
	if !q.Ahead.IsZero() {
		until = time.Time{}
	}
	all, err := r.candidates(q, until)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w withdrawal.Withdrawal) bool {
		if q.Kind == withdrawal.DueClaim && q.Wallet != uuid.Nil && q.Wallet != w.Job.Wallet {
			return true
		}
		if q.Ahead.IsZero() {
			return !withdrawal.IsDue(q.Kind, &w, q.Grace, q.Now)
		}
		return !withdrawal.IsAhead(q.Kind, &w, q.Grace, q.Now, q.Ahead)
	})
	slices.SortFunc(all, func(a, b withdrawal.Withdrawal) int { return withdrawal.CompareDue(q.Kind, &a, &b) })
	var page []withdrawal.Withdrawal
	for i := range all {
		w := &all[i]
		waits := false
		switch {
		case q.Kind == withdrawal.DueClaim && q.Sequential: // behind the order that the wallet pays, or pays before
			if _, waits, err = r.slotHolder(w.Job.Wallet); err != nil {
				return nil, err
			}
			waits = waits || slices.ContainsFunc(page, func(o withdrawal.Withdrawal) bool { return o.Job.Wallet == w.Job.Wallet })
		case q.Kind == withdrawal.DueRebroadcast: // behind a lower nonce of the wallet
			waits = slices.ContainsFunc(all, func(o withdrawal.Withdrawal) bool { return withdrawal.LowerNonce(&o.Job, &w.Job) })
		}
		if !waits && len(page) < q.Limit {
			page = append(page, *w)
		}
	}
	return page, nil
}

func (r records) NextDue(q store.DueWithdrawals) (next time.Time, err error) {
	all, err := r.candidates(q, time.Time{})
	for i := range all {
		if at, ok := withdrawal.DueAt(q.Kind, &all[i], q.Grace); ok && at.After(q.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, err
}

func (r records) slotHolder(wallet uuid.UUID) (job uuid.UUID, taken bool, err error) {
	return first(column[uuid.UUID](r.Unit, "SELECT job FROM payout_attempts WHERE slot = ?", wallet))
}

func (r records) history() history[uuid.UUID] { return history[uuid.UUID]{r.Unit, "history"} }

func (r records) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return r.history().trail(id, withdrawal.RequestMachine.Name(), withdrawal.JobMachine.Name())
}

func (r records) Follow(after store.Cursor, limit int) ([]statemachine.Transition[uuid.UUID], store.Cursor, error) {
	return r.history().Follow(after, limit)
}

func (r records) Head() (store.Cursor, error) { return r.history().Head() }

// Stats reads all payouts. A host with millions of them counts in SQL, or keeps what it counts.
func (r records) Stats(now time.Time, window time.Duration, chain uuid.UUID) (s withdrawal.Stats, err error) {
	requests, err := r.requests("?1 OR network = ?2", chain == uuid.Nil, chain)
	all := make([]withdrawal.Counted, len(requests))
	for i := range all {
		if all[i], err = r.counted(requests[i]); err != nil {
			return s, err
		}
	}
	s = withdrawal.StatsOf(all, now, window)
	if err != nil {
		return s, err
	}
	said, err := list[withdrawal.Statement](r.Unit,
		"SELECT details FROM payout_log WHERE kind = 'statement' AND (?1 OR subject = ?2) ORDER BY subject, n", chain == uuid.Nil, chain)
	if err != nil {
		return s, err
	}
	s.UnknownOutbound, err = withdrawal.UnknownOutbounds(said, func(wallet uuid.UUID, nonce uint64) (filler, job bool, err error) {
		by, ok, err := r.owner(wallet, nonce)
		return ok && !by.payout.Valid, ok && by.payout.Valid, err
	})
	if err != nil {
		return s, err
	}
	s.UnknownOutbound = s.UnknownOutbound[:min(len(s.UnknownOutbound), withdrawal.MaxGaps)]
	hot, err := list[withdrawal.HotWallet](r.Unit,
		"SELECT details FROM payout_setup WHERE kind = 'wallet' AND (?1 OR network = ?2) ORDER BY key", chain == uuid.Nil, chain)
	for _, w := range hot {
		if w.Status == withdrawal.WalletUnknown && len(s.WalletsOff) < withdrawal.MaxGaps {
			s.WalletsOff = append(s.WalletsOff, w.ID)
		}
	}
	return s, err
}

// counted is what statistics need of a request.
func (r records) counted(of withdrawal.Request) (c withdrawal.Counted, err error) {
	c.Request = of
	if c.Jobs, err = r.jobs(of.ID); err != nil {
		return c, err
	}
	for _, j := range c.Jobs {
		tries, err := r.Attempts(j.ID)
		if err != nil {
			return c, err
		}
		c.Latest, c.Attempts = j, append(c.Attempts, tries)
	}
	if c.Wallet, _, err = first(r.HotWallets().Get(c.Latest.Wallet)); err != nil {
		return c, err
	}
	lines, err := r.history().trail(of.ID, withdrawal.RequestMachine.Name())
	for i := range lines {
		if withdrawal.IsApproval(&lines[i]) {
			c.Approved = lines[i].At
		}
	}
	if err != nil {
		return c, err
	}
	c.Incidents, err = list[withdrawal.Incident](r.Unit, "SELECT details FROM payout_log WHERE kind = 'incident' AND subject = ?", of.ID)
	if err != nil {
		return c, err
	}
	acknowledged, err := r.Acknowledgements(of.ID)
	c.Settled = len(acknowledged)
	return c, err
}

// Save implements [store.WithdrawalRecords]. The comments have the numbers of its rules there.
func (r records) Save(changes ...withdrawal.Change) error {
	return r.write(func() error {
		for _, first := range []bool{true, false} { // 5: what gives a slot back goes before what takes it
			for i := range changes {
				if changes[i].FreesSlot() == first {
					if err := r.save(&changes[i]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func (r records) save(c *withdrawal.Change) error {
	if err := c.Complete(); err != nil { // 6
		return err
	}
	if err := r.saveRequest(c); err != nil {
		return err
	}
	if c.New.Job.ID != c.Old.Job.ID || c.New.Job.Version != c.Old.Job.Version || c.Touch() {
		if err := r.saveJob(c); err != nil {
			return err
		}
	}
	for i := range c.Txs {
		if err := r.addTx(c, &c.Txs[i]); err != nil {
			return err
		}
	}
	for i := range c.Strays {
		if err := r.putStray(c, &c.Strays[i]); err != nil {
			return err
		}
	}
	if a := c.Attempt(); a != nil {
		if err := r.putAttempt(c.New.Request.ID, *a); err != nil {
			return err
		}
	}
	for _, of := range c.Reservations { // 9
		if err := (wallets{Unit: r.Unit}).reserve(of); err != nil {
			return err
		}
	}
	for _, i := range c.Incidents { // 10
		if err := r.log("incident", i.Request.String(), incidentKey(i.Request, i.Hash, i.Claim, i.BlockHash), i); err != nil {
			return err
		}
	}
	return r.history().append(c.Log)
}

// saveRequest compares the request with what was read, also where it does not change (2), and writes what changed.
func (r records) saveRequest(c *withdrawal.Change) error {
	old, now := &c.Old.Request, c.New.Request
	stored, _, err := first(r.requests("id = ?", now.ID))
	if err != nil {
		return err
	}
	name := withdrawal.RequestMachine.Name()
	switch {
	case stored.Version == 0 && now.Version == old.Version && c.New.Job.ID != c.Old.Job.ID:
		return refusal(statemachine.ErrNotFound, name, c.New.Job.Request, "save", "")
	case stored.Version != old.Version:
		return conflict(name, now.ID, fmt.Sprintf("expected version %d, stored is %d", old.Version, stored.Version))
	case now.Version == old.Version && !c.TouchRequest():
		return nil
	case c.TouchRequest():
		if !stored.OfferAt.Equal(old.OfferAt) {
			return conflict(name, now.ID, "its due time was moved")
		}
		stored.OfferAt = now.OfferAt
		now = stored
	}
	_, err = r.exec("INSERT OR REPLACE INTO payouts ("+requestColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", requestFields(&now)...)
	return err
}

// saveJob inserts or writes the job.
func (r records) saveJob(c *withdrawal.Change) error {
	old, now := &c.Old.Job, c.New.Job
	name := withdrawal.JobMachine.Name()
	stored, known, err := r.job(now.ID)
	if err != nil {
		return err
	}
	switch inserted := now.ID != old.ID; {
	case inserted && known:
		return conflict(name, now.ID, "it exists")
	case inserted:
	case stored.Version != old.Version:
		return conflict(name, now.ID, fmt.Sprintf("expected version %d, stored is %d", old.Version, stored.Version))
	case stored.Lease.Fence != old.Lease.Fence: // 3
		return refusal(statemachine.ErrFenced, name, now.ID, "save", "")
	case stored.Lease.Holder != old.Lease.Holder, !stored.OfferAt.Equal(old.OfferAt), !stored.NextCheckAt.Equal(old.NextCheckAt),
		stored.Rebroadcast != old.Rebroadcast:
		return conflict(name, now.ID, "its lease was given back, or its next check was moved")
	case now.Lease.Fence == stored.Lease.Fence && now.Lease.Holder == stored.Lease.Holder: // 4
		now.Lease.Until = stored.Lease.Until
	}
	if c.Touch() && known { // what is outside the version, and nothing else
		stored.Lease, stored.OfferAt, stored.NextCheckAt, stored.Rebroadcast = now.Lease, now.OfferAt, now.NextCheckAt, now.Rebroadcast
		now = stored
	}
	return r.putJob(&now, known)
}

// putJob writes a job, if the unique rules allow (5).
func (r records) putJob(j *withdrawal.Job, known bool) error {
	if j.Status != withdrawal.JobFailed {
		active, err := column[uuid.UUID](r.Unit,
			"SELECT job FROM payout_attempts WHERE kind = 'order' AND state <> 'given up' AND payout = ? AND job <> ?", j.Request, j.ID)
		if err == nil && len(active) > 0 {
			err = &withdrawal.TakenError{Err: withdrawal.ErrActiveJob, ID: active[0]}
		}
		if err != nil {
			return err
		}
	}
	if j.Slot.Valid {
		holder, taken, err := r.slotHolder(j.Slot.UUID)
		if err == nil && taken && holder != j.ID {
			err = &withdrawal.TakenError{Err: withdrawal.ErrSlotTaken, ID: holder}
		}
		if err != nil {
			return err
		}
	}
	due := j.DueAt() // when it is to be claimed
	switch j.Status {
	case withdrawal.JobProcessing:
		due = j.Lease.Until
	case withdrawal.JobConfirming:
		due = j.NextCheckAt
	}
	query := `INSERT INTO payout_attempts (details, state, due_at, slot, network, payout, job, number, kind)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 'order')`
	if known {
		query = "UPDATE payout_attempts SET details = ?, state = ?, due_at = ?, slot = ?, network = ?, payout = ? " +
			"WHERE kind = 'order' AND job = ?"
	}
	_, err := r.exec(query, append(jobFields(j), moment{&due}, j.Slot, j.Chain, j.Request, j.ID)...)
	return err
}

// addTx appends a transaction (7).
func (r records) addTx(c *withdrawal.Change, t *withdrawal.Tx) error {
	all, err := of[withdrawal.Tx](r.Unit, "transaction", t.Request)
	if err != nil {
		return err
	}
	if int(t.Seq) != len(all)+1 || slices.ContainsFunc(all, func(o withdrawal.Tx) bool { return o.Hash == t.Hash }) {
		return conflict(withdrawal.RequestMachine.Name(), t.Request,
			fmt.Sprintf("transaction %d (%s) is on file, or the one before is not", t.Seq, t.Hash))
	}
	return r.addPayment("transaction", c.New.Request.Chain, withdrawal.Stray{Request: t.Request, Job: t.Job, Seq: t.Seq, Hash: t.Hash,
		Wallet: t.Wallet, Nonce: t.Nonce, ByOutput: t.ByOutput, Output: t.Output}, c.OwnsNonce(t), t)
}

// putStray appends a stray, or settles one (11).
func (r records) putStray(c *withdrawal.Change, s *withdrawal.Stray) error {
	all, err := of[withdrawal.Stray](r.Unit, "stray", s.Request)
	switch i := int(s.Seq) - 1; {
	case err != nil:
		return err
	case i == len(all):
		return r.addPayment("stray", c.New.Request.Chain, *s, c.OwnsStrayNonce(s), s)
	case i > len(all) || !all[i].SettledAt.IsZero() || all[i].Hash != s.Hash:
		return conflict(withdrawal.RequestMachine.Name(), s.Request, fmt.Sprintf("stray %d (%s) is settled, or another", s.Seq, s.Hash))
	default:
		all[i].SettledAt = s.SettledAt
		_, err := r.exec("UPDATE payout_attempts SET details = ? WHERE kind = 'stray' AND payout = ? AND number = ?",
			details{all[i]}, s.Request, s.Seq)
		return err
	}
}

// addPayment inserts a transaction or a stray: it takes its nonce, if it owns that, and pays no other payout.
func (r records) addPayment(kind string, chain uuid.UUID, s withdrawal.Stray, owns bool, row any) error {
	var wallet, nonce any
	if owns {
		free, err := r.free(s.Wallet, s.Nonce, s.Job, "")
		if err != nil {
			return err
		}
		if free {
			wallet, nonce = s.Wallet, int64(s.Nonce)
		}
	}
	output := outputOf(s.ByOutput, s.Output)
	by, err := r.paid(uuid.NullUUID{UUID: s.Request, Valid: true}, chain, s.Hash, output)
	if err == nil && by.Valid {
		err = &withdrawal.TakenError{Err: withdrawal.ErrPaymentTaken, ID: by.UUID}
	}
	if err != nil {
		return err
	}
	if output == nil { // it named an output before: then the others stay free
		output, _, err = first(column[*uint32](r.Unit,
			"SELECT output FROM payout_attempts WHERE payout = ? AND hash = ? AND network = ? ORDER BY n",
			s.Request, statemachine.HashForm(s.Hash), chain))
		if err != nil {
			return err
		}
	}
	_, err = r.exec(`INSERT INTO payout_attempts (kind, payout, job, number, network, wallet, nonce, hash, output, details)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		kind, s.Request, s.Job, s.Seq, chain, wallet, nonce, statemachine.HashForm(s.Hash), output, details{row})
	return err
}

// putAttempt inserts an execution, or closes it (8).
func (r records) putAttempt(request uuid.UUID, a withdrawal.Attempt) error {
	stored, known, err := first(list[withdrawal.Attempt](r.Unit,
		"SELECT details FROM payout_attempts WHERE kind = 'execution' AND job = ? AND number = ?", a.Job, a.Fence))
	switch {
	case err != nil:
		return err
	case !known:
		_, err = r.exec("INSERT INTO payout_attempts (kind, payout, job, number, details) VALUES ('execution', ?, ?, ?, ?)",
			request, a.Job, a.Fence, details{a})
		return err
	case !stored.EndedAt.IsZero() && stored != a:
		return conflict(withdrawal.JobMachine.Name(), a.Job, fmt.Sprintf("execution %d is closed", a.Fence))
	}
	a.Worker, a.StartedAt = stored.Worker, stored.StartedAt
	_, err = r.exec("UPDATE payout_attempts SET details = ? WHERE kind = 'execution' AND job = ? AND number = ?", details{a}, a.Job, a.Fence)
	return err
}

// Renew implements [store.WithdrawalRecords].
func (r records) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) (lost []uuid.UUID, err error) {
	return lost, r.write(func() error {
		for _, l := range leases {
			j, known, err := r.job(l.ID)
			if err == nil && !(known && j.Lease.Fence == l.Fence && j.Lease.Held(now)) {
				lost = append(lost, l.ID)
				continue
			}
			if err == nil {
				j.Lease.Until = l.Until
				err = r.putJob(&j, true)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
