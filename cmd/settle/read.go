package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// reads adds the commands that only look.
func (a *app) reads(root *cobra.Command) {
	a.command(root, "status", "Stops, workers, what is under way and what fires", 0, a.status)
	a.command(root, "alerts", "Alerts that fire, those that need a person first (exit 7)", 0, a.alerts)
	root.AddCommand(&cobra.Command{Use: "explain NAME", Short: "What an alert, an incident, a hold or an action means, and what to do",
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(strings.Join(args, " ")) }})
	a.lists(root)
	a.command(root, "show ID", "A withdrawal, by its id or that of its job", 1, a.show)
	a.command(root, "find TEXT", "Records of any domain by id, job, hash in any spelling, user, or the address of what is open", 1, a.find)
	a.command(root, "trail ID", "The history of a withdrawal or a job, held against what is stored", 1, a.trail)
	a.command(root, "next ID", "What a withdrawal waits for, and who moves it on", 1, a.next)
	a.openAgainst(root)
	a.command(root, "journal", "What people did and tried, the latest last", 0, a.journal)
	verify := a.command(root, "verify", "Hold the trail of a withdrawal, or every record (--all), against the rules", 0, a.verifyAll)
	verify.Use = "verify ID | --all"
	all := verify.Flags().Bool("all", false, "every record of every domain but wallets")
	verify.RunE = func(c *cobra.Command, args []string) error {
		if *all == (len(args) == 1) || len(args) > 1 {
			return fmt.Errorf("%w: settle %s", errUsage, verify.Use)
		}
		if err := a.open(c.Context()); err != nil {
			return err
		}
		if *all {
			return a.verifyAll(c.Context(), nil)
		}
		_, err := a.trailOf(c.Context(), args[0])
		if err == nil {
			err = a.print(map[string]string{"id": args[0], "trail": "sound"}, "the trail of %s is sound", args[0])
		}
		return err
	}
	root.AddCommand(&cobra.Command{Use: "doctor", Short: "Whether the database keeps what settle needs of it (exit 7)",
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context()) }})
	a.migrates(root)
	a.desks(root)
}

func (a *app) status(ctx context.Context, _ []string) error {
	limits := ops.DefaultLimits()
	s := a.Read(ctx, limits.Window, ops.Statistics{})
	if a.json {
		return errors.Join(a.print(map[string]any{"statistics": s, "alerts": s.Alerts(limits)}, ""), s.Err())
	}
	for _, w := range s.Switches {
		if w.Level > switches.On || w.Recovering {
			text := fmt.Sprintf("stopped    %s at %v%s", w.Scope, max(w.Level, w.Recovery), map[bool]string{true: ", recovering"}[w.Recovering])
			if !w.Since.IsZero() { // zero where nobody has stopped the scope, and a restore alone did
				text += " since " + stamp(w.Since)
			}
			if w.Actor != "" {
				text += " by " + w.Actor
			}
			if w.Reason != "" {
				text += ": " + w.Reason
			}
			if w.Recovering && w.Scope == switches.Everything {
				text += "; this one stays: settle start --recovery starts each scope by itself"
			}
			fmt.Fprintln(a.out, text)
		}
	}
	for _, p := range s.Processes {
		if p.Live(s.At) {
			fmt.Fprintf(a.out, "worker     %s of %s, version %q, policy %s, last seen %s\n", p.Name, p.Domain, p.Version, p.Policy,
				stamp(p.Last))
		}
	}
	for _, c := range s.Consumers {
		text := fmt.Sprintf("consumer   %s of %s, %v behind, %d parked", c.Name, strings.Join(c.Machines, " "), c.Lag, c.Parked)
		if c.Error != "" {
			text += fmt.Sprintf("; %s at %s: %s", map[bool]string{true: "stopped", false: "failed"}[c.Stopped], stamp(c.FailedAt), c.Error)
		}
		fmt.Fprintln(a.out, text)
	}
	shows := []string{"settle_deposits", "settle_deposits_satoshi",
		"settle_items", "settle_in_review", "settle_stuck", "settle_incidents_open", "settle_amount"}
	for _, one := range s.Samples(limits) {
		if slices.Contains(shows, one.Name) && one.Value != "0" {
			var labels []string
			for _, l := range one.Labels {
				if l.Value != "" {
					labels = append(labels, l.Value)
				}
			}
			fmt.Fprintf(a.out, "%-10s %s %s\n", strings.TrimPrefix(one.Name, "settle_"), strings.Join(labels, " "), one.Value)
		}
	}
	for _, f := range s.Failed {
		fmt.Fprintf(a.out, "unread     %s: %v\n", f.Part, f.Err)
	}
	fmt.Fprintf(a.out, "alerts     %d\n", len(s.Alerts(limits)))
	return s.Err()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (a *app) alerts(ctx context.Context, _ []string) error {
	limits := ops.DefaultLimits()
	s := a.Read(ctx, limits.Window, ops.Statistics{})
	fires := s.Alerts(limits)
	for _, f := range fires {
		who := "goes on by itself"
		if f.Person {
			who = "needs a person"
		}
		if err := a.print(f, "%s (%s): %s\n  ends: %s", f.Name, who, f.Text, f.Ends); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	if len(fires) > 0 {
		return errAlerts
	}
	return nil
}

func (a *app) explain(name string) error {
	found := ops.Explain(name)
	if len(found) == 0 {
		return fmt.Errorf("%w: nothing is explained under %q; settle explain lists all", statemachine.ErrNotFound, name)
	}
	for _, e := range found {
		var err error
		if name == "" && !a.json {
			_, err = fmt.Fprintf(a.out, "%-34s %s\n", e.Topic, e.Name)
		} else {
			err = a.print(e, "%s: %s\n  means    %s\n  look at  %s\n  say      %s\n  do not   %s", e.Topic, e.Name, e.Means, e.LookAt,
				e.Say, e.DoNot)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) lists(root *cobra.Command) {
	q := ops.List{}
	limit := 50
	const short = "A page of records, oldest first: a list of withdrawals (open), or a kind and a list of it (relay pending)"
	c := &cobra.Command{Use: "list [KIND] [LIST]", Short: short}
	f := c.Flags()
	f.StringVar(&q.Chain, "chain", "", "withdrawals and batches: id of a chain")
	f.StringVar(&q.Wallet, "wallet", "", "withdrawals and batches: id of the hot wallet that pays")
	f.StringVar(&q.User, "user", "", "withdrawals: id of a user")
	f.StringVar(&q.Holder, "holder", "", "withdrawals and batches: name of the worker that has them")
	f.StringVar(&q.State, "status", "", "withdrawals and batches: their status")
	f.StringVar(&q.After, "after", "", "where the page begins, as the page before has said")
	f.IntVar(&limit, "limit", limit, "most")
	f.BoolVar(&q.Newest, "newest", false, "withdrawals and batches: newest first")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.open(c.Context()); err != nil {
			return err
		}
		name := "withdrawal"
		if len(args) > 0 {
			if _, err := a.Kind(args[0]); err == nil || errors.Is(err, store.ErrNoDomain) {
				name, args = args[0], args[1:]
			}
		}
		k, err := a.Kind(name)
		if err != nil {
			return err
		}
		if q.Name = strings.Join(args, " "); q.Name == "" {
			q.Name = k.Lists[len(k.Lists)-1]
			if slices.Contains(k.Lists, "all") {
				q.Name = "all"
			}
		}
		if !slices.Contains(k.Lists, q.Name) {
			return fmt.Errorf("%w: %s has no list %q: %s", errUsage, k.Name, q.Name, strings.Join(k.Lists, ", "))
		}
		for shown := 0; shown < limit; {
			q.Limit = min(limit-shown, store.MaxPage)
			page, err := k.List(c.Context(), q)
			if err != nil {
				return err
			}
			for i := range page.Rows {
				if err := a.listed(k, q.Name, &page.Rows[i]); err != nil {
					return err
				}
			}
			shown += len(page.Rows)
			if q.After = page.Next; q.After == "" {
				return nil
			}
		}
		more := &app{out: a.errs, flags: a.flags} // beside the records
		return more.print(map[string]string{"after": q.After}, "settle: more: --after %q", q.After)
	}
	root.AddCommand(c)
}

// listed prints one row of a list.
func (a *app) listed(k *ops.Kind, list string, r *ops.Row) error {
	return a.print(map[string]any{"kind": k.Name, "list": list, "row": r}, "%s", strings.Join(slices.DeleteFunc(
		[]string{r.ID, r.State, r.Amount, r.Payee, r.Cause, "since " + stamp(r.Since), r.Error}, func(s string) bool { return s == "" }), "  "))
}

// withdrawals opens the database, and refuses one without withdrawals.
func (a *app) withdrawals(ctx context.Context) error {
	if a.database == nil {
		if err := a.open(ctx); err != nil {
			return err
		}
	}
	_, err := a.Kind("withdrawal")
	return err
}

func usage(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", errUsage, err)
	}
	return err
}

// ids parses texts that may be empty into the ids behind them, as long as err is nil.
func ids(err *error, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		if text := pairs[i].(string); text != "" && *err == nil {
			id, bad := uuid.Parse(text)
			*pairs[i+1].(*uuid.UUID), *err = id, usage(bad)
		}
	}
}

// get reads a withdrawal by the id of the request or of its job.
func (a *app) get(ctx context.Context, text string) (w withdrawal.Withdrawal, err error) {
	var id uuid.UUID
	if ids(&err, text, &id); err != nil {
		return w, err
	}
	if err = a.withdrawals(ctx); err != nil {
		return w, err
	}
	if w, err = a.Withdrawals.Get(ctx, id); errors.Is(err, statemachine.ErrNotFound) {
		if request, notJob := a.Withdrawals.RequestOf(ctx, id); notJob == nil {
			return a.Withdrawals.Get(ctx, request)
		}
	}
	return w, err
}

// masked is [ops.Masked] unless all is to be seen.
func (a *app) masked(text string) string {
	if a.reveal {
		return text
	}
	return ops.Masked(text)
}

// shown is what people see of a withdrawal: never the bytes of a transaction.
type shown struct {
	ID, Status              string
	Version                 int64
	User, To, Memo          string
	Chain, Asset            uuid.UUID
	Amount, RequestedBy     string
	Held                    bool
	Job, JobStatus          string `json:",omitempty"`
	JobVersion              int64  `json:",omitempty"`
	Review                  bool
	Wallet                  string   `json:",omitempty"`
	Attempts                string   `json:",omitempty"`
	Reference, Holder       string   `json:",omitempty"`
	Hashes                  []string `json:",omitempty"`
	Error                   string   `json:",omitempty"`
	Mined, Taken, PaidAfter string   `json:",omitempty"`
	Refund                  string   `json:",omitempty"`
	Updated                 time.Time
}

func (a *app) shown(w *withdrawal.Withdrawal) shown {
	r, j := &w.Request, &w.Job
	s := shown{ID: r.ID.String(), Status: r.Status.String(), Version: r.Version, User: a.masked(r.User.String()), To: a.masked(r.ToAddress),
		Memo: a.masked(r.Memo), Chain: r.Chain, Asset: r.Asset, Amount: r.Amount.String(), RequestedBy: r.RequestedBy, Held: r.Held,
		Mined: r.Mined, Taken: r.Taken, PaidAfter: r.PaidAfter, Refund: r.RefundReference, Updated: r.UpdatedAt}
	if j.Status != 0 {
		s.Job, s.JobStatus, s.JobVersion, s.Review, s.Wallet = j.ID.String(), j.Status.String(), j.Version, j.Review, j.Wallet.String()
		s.Attempts = fmt.Sprintf("%d of %d", j.RetryCount, j.MaxRetries)
		s.Reference, s.Holder, s.Error = j.DispatchRef, j.Lease.Holder, a.masked(j.ErrorMessage)
	}
	for _, tx := range w.Live() {
		s.Hashes = append(s.Hashes, tx.Hash)
	}
	return s
}

// row is one line of a list.
func (a *app) row(w *withdrawal.Withdrawal) error {
	s := a.shown(w)
	state := s.Status
	if s.JobStatus != "" {
		state += "/" + s.JobStatus
	}
	if s.Review {
		state += " in review"
	}
	if s.Held {
		state += " held"
	}
	return a.print(s, "%s v%d %s %s to %s since %s", s.ID, s.Version, state, s.Amount, s.To, stamp(s.Updated))
}

func (a *app) show(ctx context.Context, args []string) error {
	w, err := a.get(ctx, args[0])
	if err != nil {
		return err
	}
	if a.reveal {
		if err := a.note(ctx, &w, withdrawal.Operator, "Reveal", nil); err != nil {
			return err
		}
	}
	s := a.shown(&w)
	if a.json {
		return a.print(s, "")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if v := fmt.Sprint(fields[name]); v != "" && v != "false" {
			fmt.Fprintf(a.out, "%-12s %s\n", name, v)
		}
	}
	return a.sentence(ctx, &w)
}

// note keeps in the journal what somebody did here, or tried and was refused with an error,
// and no event tells. It returns the refusal.
func (a *app) note(ctx context.Context, w *withdrawal.Withdrawal, role withdrawal.Role, what string, refused error) error {
	line, _ := statemachine.JournalLine{Actor: a.speaks(), Role: role.String(), Domain: string(store.DomainWithdrawals),
		Machine: withdrawal.RequestMachine.Name(), ID: w.Request.ID.String(), Version: w.Request.Version, Event: what, Via: via}.Tried(refused)
	err := a.store.Update(ctx, func(u store.Unit) error { return u.Journal().Append(line) })
	return errors.Join(refused, err)
}

// sentence says who moves a withdrawal on, and when.
func (a *app) sentence(ctx context.Context, w *withdrawal.Withdrawal) error {
	step, _, err := a.Withdrawals.Next(ctx, w.Request.ID)
	if err != nil {
		return err
	}
	var does []string
	for _, act := range step.Actions {
		does = append(does, act.Do.String())
	}
	text := ops.Sentence(w, step, time.Time{})
	return a.print(map[string]any{"id": w.Request.ID, "party": step.Party.String(), "due": step.Due, "actions": does, "sentence": text},
		"%s%s", text, strings.TrimSuffix(" ("+strings.Join(does, ", ")+")", " ()"))
}

func (a *app) find(ctx context.Context, args []string) error {
	found, err := a.Find(ctx, args[0])
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: nothing is known as %q", statemachine.ErrNotFound, args[0])
	}
	for _, f := range found {
		if err != nil {
			return err
		}
		if f.Kind.Name != "withdrawal" {
			err = a.print(map[string]string{"kind": f.Kind.Name, "id": f.ID}, "%s %s", f.Kind.Name, f.ID)
			continue
		}
		w, bad := a.get(ctx, f.ID)
		if err = bad; err == nil {
			err = a.row(&w)
		}
	}
	return err
}

func (a *app) trailOf(ctx context.Context, text string) (lines []statemachine.Transition[uuid.UUID], err error) {
	var id uuid.UUID
	if ids(&err, text, &id); err != nil {
		return nil, err
	}
	if err := a.withdrawals(ctx); err != nil {
		return nil, err
	}
	return a.Withdrawals.Trail(ctx, id)
}

func (a *app) trail(ctx context.Context, args []string) error {
	lines, err := a.trailOf(ctx, args[0])
	for i, l := range lines {
		lasted := ""
		if i > 0 {
			lasted = fmt.Sprintf(" after %v", l.At.Sub(lines[i-1].At))
		}
		err := a.print(l, "%s v%d %s -> %s by %s (%s %s)%s%s", stamp(l.At), l.Version, cmp.Or(l.From, "none"), l.To, l.Trigger, l.Role, l.Actor,
			lasted, strings.TrimSuffix(": "+l.Reason, ": "))
		if err != nil {
			return err
		}
	}
	return err
}

func (a *app) next(ctx context.Context, args []string) error {
	w, err := a.get(ctx, args[0])
	if err != nil {
		return err
	}
	return a.sentence(ctx, &w)
}

// openAgainst adds the command that shows what was found against the records and nobody has dealt with.
func (a *app) openAgainst(root *cobra.Command) {
	limit, incidents, discrepancies := 1_000, int64(0), int64(0)
	const short = "Incidents of withdrawals and discrepancies of swaps that are open"
	f := a.command(root, "incidents", short, 0, func(ctx context.Context, _ []string) error {
		if limit < 1 || incidents < 0 || discrepancies < 0 {
			return fmt.Errorf("%w: --limit begins at 1, --after and --swaps-after at 0", errUsage)
		}
		if a.Withdrawals != nil {
			page := func(after int64, n int) ([]withdrawal.Incident, int64, error) {
				return a.Withdrawals.OpenIncidents(ctx, after, n)
			}
			if err := shownOf(a, "--after", incidents, limit, page, func(i withdrawal.Incident) (bool, error) {
				return true, a.print(i, "%s %s: %s of request %s, told by %s; settle explain %q", stamp(i.At), i.Claim, i.Hash, i.Request, i.Actor,
					i.Claim.String())
			}); err != nil {
				return err
			}
		}
		if !a.store.HasDomain(store.DomainSwaps) {
			return nil
		}
		page := func(after int64, n int) (page []swap.Discrepancy, next int64, err error) {
			err = a.store.View(ctx, func(u store.Unit) error {
				page, next, err = u.SwapHouse().Discrepancies(after, n)
				return err
			})
			return page, next, err
		}
		return shownOf(a, "--swaps-after", discrepancies, limit, page, func(d swap.Discrepancy) (bool, error) {
			if !d.ClosedAt.IsZero() { // what somebody has dealt with stays on file
				return false, nil
			}
			return true, a.print(d, "%s %s: %s %s; settle explain %q", stamp(d.At), d.Kind, d.TxID, d.Text, d.Kind.String())
		})
	}).Flags()
	f.IntVar(&limit, "limit", limit, "most that are shown of each of the two")
	f.Int64Var(&incidents, "after", 0, "withdrawals: where the incidents begin, as the call before has said")
	f.Int64Var(&discrepancies, "swaps-after", 0, "swaps: where the discrepancies begin, as the call before has said")
}

// shownOf reads page after page and shows at most limit records. Where it stops before the last page, it says with which flag
// the next call goes on.
func shownOf[T any](a *app, flag string, cursor int64, limit int, page func(after int64, n int) ([]T, int64, error),
	show func(T) (bool, error)) error {
	for shown := 0; ; {
		all, next, err := page(cursor, min(max(limit-shown, 1), store.MaxPage))
		if err != nil || len(all) == 0 {
			return err
		}
		if shown == limit {
			more := &app{out: a.errs, flags: a.flags} // beside the records
			return more.print(map[string]any{"after": cursor, "flag": flag}, "settle: stopped after %d: %s %d goes on", limit, flag, cursor)
		}
		for _, one := range all {
			is, err := show(one)
			if err != nil {
				return err
			}
			if is {
				shown++
			}
		}
		cursor = next
	}
}

func (a *app) journal(ctx context.Context, _ []string) error {
	for cursor := store.Cursor(""); ; {
		page, next, err := a.Journal.Page(ctx, cursor, store.MaxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, l := range page {
			err := a.print(l, "%s %s (%s) %s of %s %s v%d: %s%s", stamp(l.At), l.Actor, l.Role, l.Event, l.Machine, l.ID, l.Version,
				l.Outcome, strings.TrimSuffix(": "+l.Error, ": "))
			if err != nil {
				return err
			}
		}
		cursor = next
	}
}
