package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// refreshes is the kind of wallets with their jobs and watchers, by xpub.
func (s *Services) refreshes() *Kind {
	if s.Refreshes == nil {
		return nil
	}
	k := &Kind{Name: "refresh", Domain: store.DomainRefreshes, Machine: refresh.WalletMachine.Name(), events: "refresh"}
	for _, status := range refresh.JobStatus(0).Values() {
		k.Lists = append(k.Lists, status.String())
	}
	k.Review = []string{refresh.EndOpen.String()}
	k.Help = map[string]string{refresh.EndOpen.String(): "expired open"}
	k.Lists = append(k.Lists, k.Review...)
	k.list = func(ctx context.Context, q List) (page Page, err error) {
		xpub, id, _ := strings.Cut(q.After, " ")
		if q.Name == k.Review[0] {
			var after *refresh.Watcher
			if q.After != "" {
				if after, err = s.watcherOf(ctx, xpub, id); err != nil {
					return page, err
				}
			}
			all, err := s.Refreshes.Watchers(ctx, refresh.EndOpen, after, q.Limit)
			for i := range all {
				w := &all[i]
				page.add(Row{ID: w.XpubVan, State: w.Status.String(), Payee: Masked(w.Recipient), Since: w.EndedAt, Cause: w.EndReason.String(),
					Error: Masked(w.LastError)})
			}
			page.next(len(all) == q.Limit, func() string { return all[len(all)-1].XpubVan + " " + all[len(all)-1].ID().String() })
			return page, err
		}
		var status refresh.JobStatus
		if err := status.UnmarshalText([]byte(q.Name)); err != nil {
			return page, err
		}
		var after *refresh.Job
		if q.After != "" {
			if after, err = s.jobOf(ctx, xpub, id); err != nil {
				return page, err
			}
		}
		all, err := s.Refreshes.Jobs(ctx, status, after, q.Limit)
		for i := range all {
			j := &all[i]
			page.add(Row{ID: j.XpubVan, State: j.Status.String(), Since: j.CreatedAt, Holder: j.Lease.Holder, Cause: j.Cause.String(),
				Error: Masked(j.Error)})
		}
		page.next(len(all) == q.Limit, func() string { return all[len(all)-1].XpubVan + " " + all[len(all)-1].ID.String() })
		return page, err
	}
	k.get = func(ctx context.Context, xpub string) (*Item, error) {
		step, _, err := s.Refreshes.Next(ctx, xpub)
		if err != nil {
			return nil, err
		}
		w, err := s.Refreshes.Get(ctx, xpub)
		if err != nil {
			return nil, err
		}
		if w.Wallet.XpubVan == "" {
			return nil, fmt.Errorf("%w: no such wallet", statemachine.ErrNotFound)
		}
		is := &Item{Kind: k.Name, ID: xpub, State: w.Wallet.Status.String(), Version: w.Wallet.Version, Sentence: waits(step.Party,
			refresh.Operator, step.Due, "")}
		if step.Idle {
			is.Sentence = "Nothing is owed: no job is live and nothing is watched."
		}
		causes, err := s.Refreshes.ByCause(ctx, xpub)
		if err != nil {
			return nil, err
		}
		for _, c := range causes {
			is.put("waits for", c.Cause.Reason, "*after", c.Cause.Error)
		}
		is.put("slot", w.Wallet.Slot, "held by", w.Wallet.Lease.Holder, "held until", w.Wallet.Lease.Until, "unserved since",
			w.Wallet.UnservedSince,
			"rounds that hung", w.Wallet.HungRounds, "not before", w.Wallet.NotBefore, "made", w.Wallet.CreatedAt)
		jobs := Table{Name: "Jobs", Columns: []string{"job", "state", "cause", "attempts", "not before", "held by", "made", "error"}}
		seen := []any{}
		trails := []uuid.UUID{refresh.WalletID(xpub)}
		for i := range w.Jobs {
			j := &w.Jobs[i]
			jobs.Rows = append(jobs.Rows, row(j.ID, j.Status, j.Cause, j.Attempts, j.AvailableAt, j.Lease.Holder, j.CreatedAt, Masked(j.Error)))
			seen, trails = append(seen, j.ID, j.Version), append(trails, j.ID)
		}
		watchers := Table{Name: "Watchers", Columns: []string{"recipient", "state", "expires", "next", "ended", "why", "refused", "error"}}
		for i := range w.Watchers {
			t := &w.Watchers[i]
			watchers.Rows = append(watchers.Rows, row(Masked(t.Recipient), t.Status, t.ExpiresAt, t.NextAt, t.EndedAt, t.EndReason, t.Refused,
				Masked(t.LastError)))
			seen, trails = append(seen, t.ID(), t.Version), append(trails, t.ID())
		}
		for _, id := range trails {
			trail, err := s.Refreshes.Trail(ctx, id)
			if err := is.tell(err, lines(trail)); err != nil {
				return nil, err
			}
		}
		is.Tables = []Table{jobs, watchers}
		is.digest(seen...)
		return is, nil
	}
	k.find = func(ctx context.Context, text string) ([]string, error) {
		w, err := s.Refreshes.Get(ctx, text)
		if err == nil && w.Wallet.XpubVan != "" || err != nil && !errors.Is(err, statemachine.ErrNotFound) {
			return []string{w.Wallet.XpubVan}, err
		}
		return s.receiving(ctx, text)
	}
	return speaks(k, s.Refreshes, same)
}

// receiving are the wallets with a recipient that is watched, or that expired while its transfer was open, or for which a job
// is live. No index has recipients, so they are looked for among these alone: of the rest, the host knows the wallet of its invoice.
func (s *Services) receiving(ctx context.Context, recipient string) (all []string, err error) {
	for _, reason := range []refresh.EndReason{0, refresh.EndOpen} {
		some, err := among(func(after *refresh.Watcher) ([]refresh.Watcher, error) {
			return s.Refreshes.Watchers(ctx, reason, after, store.MaxPage)
		}, func(w *refresh.Watcher) (string, bool) { return w.XpubVan, w.Recipient == recipient })
		if all = append(all, some...); err != nil {
			return nil, err
		}
	}
	for _, status := range []refresh.JobStatus{refresh.JobPending, refresh.JobProcessing} {
		some, err := among(func(after *refresh.Job) ([]refresh.Job, error) {
			return s.Refreshes.Jobs(ctx, status, after, store.MaxPage)
		}, func(j *refresh.Job) (string, bool) { return j.XpubVan, j.Recipient == recipient })
		if all = append(all, some...); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxFound)], nil
}

func (s *Services) watcherOf(ctx context.Context, xpub, id string) (*refresh.Watcher, error) {
	w, err := s.Refreshes.Get(ctx, xpub)
	for i := range w.Watchers {
		if w.Watchers[i].ID().String() == id {
			return &w.Watchers[i], nil
		}
	}
	return nil, firstOf(err, fmt.Errorf("%w: no watcher %s", statemachine.ErrNotFound, id))
}

func (s *Services) jobOf(ctx context.Context, xpub, id string) (*refresh.Job, error) {
	w, err := s.Refreshes.Get(ctx, xpub)
	for i := range w.Jobs {
		if w.Jobs[i].ID.String() == id {
			return &w.Jobs[i], nil
		}
	}
	return nil, firstOf(err, fmt.Errorf("%w: no job %s", statemachine.ErrNotFound, id))
}
