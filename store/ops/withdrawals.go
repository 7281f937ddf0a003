package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Masked hides the middle of what a thief could use: the first six and the last four characters
// stay of a text of more than twelve, and none of a shorter one.
func Masked(text string) string {
	runes := []rune(text)
	if len(runes) > 12 {
		return string(runes[:6]) + "..." + string(runes[len(runes)-4:])
	}
	return strings.Repeat("*", len(runes))
}

// Sentence says who moves a withdrawal on, and when, for a person who has not read the source.
// step is what [withdrawal.Policy.Next] says of it, since when its job took its latest step; zero: not known.
func Sentence(w *withdrawal.Withdrawal, step withdrawal.Step, since time.Time) string {
	switch {
	case step.Party == withdrawal.Operator && w.Job.Review:
		text := "In review" + sinceWhen(since) + ". An operator must decide; nothing happens before."
		if w.Job.DispatchRef != "" {
			text += " Paying again is not safe: reference " + w.Job.DispatchRef + " was called."
		} else if len(w.Live()) > 0 {
			text += " Paying again is not safe: a transaction on file may still be mined."
		}
		return text
	case step.Party == withdrawal.Approver:
		return fmt.Sprintf("It waits for an approver; %d are needed.", w.Request.ApprovalsNeeded)
	}
	return waits(step.Party, withdrawal.Operator, step.Due, "")
}

func sinceWhen(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " since " + at.UTC().Format(time.RFC3339)
}

// waits is the sentence of every domain: who moves a record on, when, and why.
func waits[R interface {
	comparable
	String() string
}](party, operator R, due time.Time, why string) string {
	var nobody R
	var text string
	switch {
	case party == operator:
		text = "It waits for an operator. Nothing happens before."
	case party == nobody:
		text = "Nothing is owed: nobody has to move it on."
	case due.IsZero():
		text = fmt.Sprintf("It goes on by itself: %s.", party)
	default:
		text = fmt.Sprintf("It goes on by itself: %s, asked again at %s.", party, due.UTC().Format(time.RFC3339))
	}
	if why != "" {
		text += " What it waits for: " + why + "."
	}
	return text
}

// withdrawals is the kind of requests with their jobs.
func (s *Services) withdrawals() *Kind {
	if s.Withdrawals == nil {
		return nil
	}
	k := &Kind{Name: "withdrawal", Domain: store.DomainWithdrawals, Machine: withdrawal.RequestMachine.Name(), events: "withdrawal",
		Review: []string{withdrawal.ListReview.String(), withdrawal.ListToRefund.String(), withdrawal.ListPaidAndRefunded.String(),
			withdrawal.ListHeld.String()},
		Stuck: []string{withdrawal.ListLeaseEnded.String(), withdrawal.ListCheckOverdue.String()},
		Help: map[string]string{withdrawal.ListReview.String(): "review wait", withdrawal.ListToRefund.String(): "refund wait",
			withdrawal.ListPaidAndRefunded.String(): "paid and refunded", withdrawal.ListHeld.String(): "withdrawal.Held",
			withdrawal.ListLeaseEnded.String(): "stuck", withdrawal.ListCheckOverdue.String(): "stuck"}}
	for _, l := range withdrawal.ListKind(0).Values() {
		k.Lists = append(k.Lists, l.String())
	}
	k.Lists = append(k.Lists, everything)
	k.get = s.withdrawal
	k.list = s.listWithdrawals
	k.find = func(ctx context.Context, text string) ([]string, error) {
		id, err := uuid.Parse(text)
		if err != nil {
			found, err := s.Withdrawals.ByHash(ctx, text)
			if err == nil && len(found) == 0 {
				return s.paying(ctx, text)
			}
			return texts(found), err
		}
		if w, err := s.requestOf(ctx, text); !errors.Is(err, statemachine.ErrNotFound) {
			return []string{w.Request.ID.String()}, err
		}
		page, err := s.Withdrawals.List(ctx, store.ListWithdrawals{Filter: withdrawal.Filter{User: id}, Backwards: true, Limit: maxFound})
		var ids []uuid.UUID
		for i := range page {
			ids = append(ids, page[i].Request.ID)
		}
		return texts(ids), err
	}
	return speaks(k, s.Withdrawals, uuid.Parse)
}

// paying are the requests to an address that have not ended. No index has the address, so it is looked for among the open
// requests alone: of those that ended, the host's own books know the id.
func (s *Services) paying(ctx context.Context, address string) (all []string, err error) {
	for _, status := range []withdrawal.RequestStatus{withdrawal.RequestPending, withdrawal.RequestApproved, withdrawal.RequestQueued} {
		some, err := among(func(after *withdrawal.Request) ([]withdrawal.Request, error) {
			return s.Withdrawals.Requests(ctx, status, after, store.MaxPage)
		}, func(r *withdrawal.Request) (string, bool) { return r.ID.String(), r.ToAddress == address })
		if all = append(all, some...); err != nil {
			return nil, err
		}
	}
	return all[:min(len(all), maxFound)], nil
}

// among looks through all pages of a list for the ids of records, at most maxFound of them, where no index has what is looked for.
func among[A any](page func(after *A) ([]A, error), is func(*A) (id string, named bool)) (found []string, err error) {
	for after := (*A)(nil); len(found) < maxFound; {
		all, err := page(after)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if id, named := is(&all[i]); named && len(found) < maxFound && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
		if len(all) < store.MaxPage {
			break
		}
		after = &all[len(all)-1]
	}
	return found, nil
}

// maxFound is how many records of a kind one text finds.
const maxFound = 50

func texts(ids []uuid.UUID) (all []string) {
	for _, id := range ids {
		all = append(all, id.String())
	}
	return all
}

// everything is the list of all records of a kind.
const everything = "all"

// requestOf reads a withdrawal by the id of the request or of its job.
func (s *Services) requestOf(ctx context.Context, text string) (w withdrawal.Withdrawal, err error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return w, fmt.Errorf("%w: %w", statemachine.ErrNotFound, err)
	}
	if w, err = s.Withdrawals.Get(ctx, id); errors.Is(err, statemachine.ErrNotFound) {
		if request, none := s.Withdrawals.RequestOf(ctx, id); none == nil {
			return s.Withdrawals.Get(ctx, request)
		}
	}
	return w, err
}

func (s *Services) withdrawal(ctx context.Context, id string) (*Item, error) {
	w, err := s.requestOf(ctx, id)
	if err != nil {
		return nil, err
	}
	r, j := &w.Request, &w.Job
	is := &Item{Kind: "withdrawal", ID: r.ID.String(), State: stateOf(&w), Version: r.Version, Job: j.Version,
		Amount: r.Amount.String(), Payee: r.ToAddress}
	trail, err := s.Withdrawals.Trail(ctx, r.ID)
	if err := is.tell(err, lines(trail)); err != nil {
		return nil, err
	}
	jobs, err := s.Withdrawals.Jobs(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	attempts := Table{Name: "Attempts", Columns: []string{"job", "fence", "worker", "began", "ended", "outcome", "hash", "reference", "error"}}
	for i := range jobs {
		trail, err := s.Withdrawals.Trail(ctx, jobs[i].ID)
		if err := is.tell(err, lines(trail)); err != nil {
			return nil, err
		}
		tried, err := s.Withdrawals.Attempts(ctx, jobs[i].ID)
		if err != nil {
			return nil, err
		}
		for _, a := range tried {
			attempts.Rows = append(attempts.Rows, row(a.Job, a.Fence, a.Worker, a.StartedAt, a.EndedAt, a.Outcome, a.Hash, a.DispatchRef,
				Masked(a.Error)))
		}
	}
	step, now, err := s.Withdrawals.Next(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	is.Sentence = Sentence(&w, step, is.since(withdrawal.JobMachine.Name()))
	cause := ""
	for _, c := range s.Withdrawals.Policy().ByCause([]withdrawal.Withdrawal{w}, now) {
		cause = c.Cause.Reason
	}
	is.put("waits for", cause, "amount", r.Amount, "base units", r.AmountRaw, "*to", r.ToAddress, "*memo", r.Memo, "*user", r.User,
		"asset", r.Asset, "chain", r.Chain, "requested by", r.RequestedBy, "approvals needed", r.ApprovalsNeeded,
		"first approver", r.FirstApprover, "second approver", r.SecondApprover, "closed by", r.ClosedBy, "why closed", r.CloseReason,
		"mined beside", r.Mined, "taken", r.Taken, "disproved", r.Disproved, "told", string(r.Told), "refunded", r.RefundedAt,
		"refund reference", r.RefundReference, "paid after refund", r.PaidAfter, "final transaction", r.FinalTxHash,
		"made", r.CreatedAt, "updated", r.UpdatedAt)
	if j.Status != 0 {
		is.put("job", j.ID, "job is", j.Status, "job version", j.Version, "hot wallet", j.Wallet, "held by", j.Lease.Holder, "held until",
			j.Lease.Until, "executions", fmt.Sprintf("%d of %d", j.RetryCount, j.MaxRetries), "scheduled", j.ScheduledAt,
			"reference", j.DispatchRef, "dispatched", j.DispatchedAt, "broadcast", j.BroadcastAt, "next look-up", j.NextCheckAt,
			"batch", j.Batch, "*last error", j.ErrorMessage)
	}
	txs := Table{Name: "Transactions", Columns: []string{"hash", "nonce", "input", "output", "batch", "live", "since"}}
	for i := range w.Txs {
		t := &w.Txs[i]
		nonce, output := any(""), any("")
		if t.HasNonce {
			nonce = t.Nonce
		}
		if t.ByOutput {
			output = t.Output
		}
		live := slices.ContainsFunc(w.Live(), func(l withdrawal.Tx) bool { return l.Hash == t.Hash })
		txs.Rows = append(txs.Rows, row(t.Hash, nonce, t.Input, output, t.Batch, map[bool]string{true: "may be mined"}[live], t.CreatedAt))
	}
	told := Table{Name: "Strays", Columns: []string{"hash", "claim", "job"}}
	for i := range w.Strays {
		told.Rows = append(told.Rows, row(w.Strays[i].Hash, w.Strays[i].Claim, w.Strays[i].Job))
	}
	is.Tables = []Table{txs, attempts, told}
	var live []string
	for _, t := range w.Live() {
		live = append(live, t.Hash)
	}
	for i := range w.Strays {
		live = append(live, w.Strays[i].Hash)
	}
	is.record, is.choices = map[string]any{"Job": j.ID}, map[string][]string{"Tx": live}
	is.digest()
	return is, nil
}

// row is a row of a table as texts; what is zero is empty.
func row(values ...any) (all []string) {
	for _, v := range values {
		text := fmt.Sprint(v)
		switch is := v.(type) {
		case uuid.UUID:
			if is == uuid.Nil {
				text = ""
			}
		case time.Time:
			if text = is.UTC().Format(time.RFC3339); is.IsZero() {
				text = ""
			}
		}
		all = append(all, strings.TrimSuffix(text, "none"))
	}
	return all
}

// filterOf is what a list of withdrawals or batches asks for, beside its state.
func filterOf(q List) (f withdrawal.Filter, err error) {
	f.Holder = q.Holder
	if q.Name != everything {
		if err := f.Kind.UnmarshalText([]byte(q.Name)); err != nil {
			return f, err
		}
	}
	for text, id := range map[string]*uuid.UUID{q.Chain: &f.Chain, q.Wallet: &f.Wallet, q.User: &f.User} {
		if text == "" {
			continue
		}
		if *id, err = uuid.Parse(text); err != nil {
			return f, fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
		}
	}
	return f, nil
}

func (s *Services) listWithdrawals(ctx context.Context, q List) (page Page, err error) {
	of := store.ListWithdrawals{Limit: q.Limit, Backwards: q.Newest}
	if of.Filter, err = filterOf(q); err != nil {
		return page, err
	}
	if q.After != "" {
		w, err := s.requestOf(ctx, q.After)
		if err != nil {
			return page, err
		}
		of.After = &w.Request
	}
	var status withdrawal.RequestStatus
	if q.State != "" {
		if err := status.UnmarshalText([]byte(q.State)); err != nil {
			return page, fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
		}
	}
	if status != 0 && of.Filter == (withdrawal.Filter{}) && !q.Newest { // one query finds them
		found, err := s.Withdrawals.Requests(ctx, status, of.After, q.Limit)
		for i := range found {
			page.add(Row{ID: found[i].ID.String(), State: status.String(), Amount: found[i].Amount.String(),
				Payee: Masked(found[i].ToAddress), Since: found[i].UpdatedAt})
		}
		page.next(len(found) == q.Limit, func() string { return found[len(found)-1].ID.String() })
		return page, err
	}
	all, err := s.Withdrawals.List(ctx, of)
	if err != nil {
		return page, err
	}
	now, err := s.Now(ctx)
	causes := map[int]string{}
	for _, c := range s.Withdrawals.Policy().ByCause(all, now) {
		for _, i := range c.Items {
			at := "chain " + short(c.Cause.Chain)
			if c.Cause.Wallet != uuid.Nil {
				at = "hot wallet " + short(c.Cause.Wallet)
			}
			causes[i] = fmt.Sprintf("%s, by %s, at %s", c.Cause.Reason, c.Cause.Party, at)
		}
	}
	for i := range all {
		w := &all[i]
		if status != 0 && w.Request.Status != status {
			continue
		}
		page.add(Row{ID: w.Request.ID.String(), State: stateOf(w), Amount: w.Request.Amount.String(), Payee: Masked(w.Request.ToAddress),
			Since: w.Request.UpdatedAt, Holder: w.Job.Lease.Holder, Cause: causes[i], Error: Masked(w.Job.ErrorMessage)})
	}
	page.next(len(all) == q.Limit, func() string { return all[len(all)-1].Request.ID.String() })
	return page, err
}

// stateOf is the state of a request, with that of its job while it matters.
func stateOf(w *withdrawal.Withdrawal) string {
	text := w.Request.Status.String()
	if w.Job.Live() {
		text += ", job " + w.Job.Status.String()
	}
	if w.Job.Review {
		text += ", in review"
	}
	if w.Request.Held {
		text += ", held"
	}
	return text
}

// short is the beginning of an id, which a person compares.
func short(id uuid.UUID) string { return id.String()[:8] }
