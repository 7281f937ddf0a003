package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

// report is what happened, and what is wrong with it.
type report struct {
	Run        string                    `json:"run"`
	Wallets    int                       `json:"wallets"`
	Workers    int                       `json:"workers"`
	Kills      int                       `json:"kills"`
	Maximum    int32                     `json:"max_wallet_processes"`
	MostServed int64                     `json:"most_served"`
	Requested  string                    `json:"requested_in"`
	Took       string                    `json:"took"`
	Calls      int                       `json:"refreshes_and_cancellations"`
	Transfers  map[string]map[string]int `json:"transfers"` // by flow: how transfer and watcher ended
	Jobs       map[string]map[string]int `json:"jobs"`      // by trigger and status
	Attempts   int                       `json:"attempts_lost"`
	Failures   []string                  `json:"failures"`
}

func newReport(o options, c refresh.Policy) *report {
	return &report{Run: uuid.NewString()[:8], Wallets: o.wallets, Workers: o.workers, Maximum: c.MaxWalletProcesses,
		Transfers: map[string]map[string]int{}, Jobs: map[string]map[string]int{}, Failures: []string{}}
}

func (r *report) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

func count(m map[string]map[string]int, a, b string) {
	if m[a] == nil {
		m[a] = map[string]int{}
	}
	m[a][b]++
}

// prove compares what is stored with what the node did.
func (r *report) prove(ctx context.Context, service *store.Refreshes, node *wallets) error {
	expiry := int64(0)
	all := scenarios(expiry)
	for n := range r.Wallets {
		s, of := all[n%len(all)], r.credentialsOf(n)
		w, err := service.Get(ctx, of.XpubVan)
		if s.ends == "none" {
			if err == nil {
				r.fail("wallet %d: /wallet/sync made a job", n)
			}
			count(r.Transfers, s.name, "no transfer, no watcher")
			continue
		}
		if err != nil {
			r.fail("wallet %d: its job was not enqueued: %v", n, err)
			continue
		}
		if err := r.wallet(ctx, service, s, &w, node.of(of.XpubVan).transfers); err != nil {
			return err
		}
	}
	for after := ""; ; {
		next, err := service.Audit(ctx, after, 1000)
		if err != nil {
			r.fail("audit: %v", err)
		}
		if after = next; next == "" {
			break
		}
	}
	r.Calls = node.calls
	if node.overlaps > 0 {
		r.fail("a wallet was refreshed twice at the same time, %d times", node.overlaps)
	}
	if r.MostServed > int64(r.Maximum) {
		r.fail("%d wallets were served at once, %d are the maximum", r.MostServed, r.Maximum)
	}
	return nil
}

// wallet judges one wallet after everything has ended.
func (r *report) wallet(ctx context.Context, service *store.Refreshes, s scenario, w *refresh.Work, transfers []*transfer) error {
	for i := range w.Jobs {
		j := &w.Jobs[i]
		count(r.Jobs, j.Cause.String(), j.Status.String())
		if j.Status != refresh.JobCompleted {
			r.fail("%s: job %s of %s is %v after %d attempts: %s", s.name, j.ID, j.XpubVan, j.Status, j.Attempts, j.Error)
		}
		r.Attempts += max(int(j.Attempts)-1, 0)
		if _, err := service.Trail(ctx, j.ID); err != nil {
			r.fail("job %s: %v", j.ID, err)
		}
	}
	watchers := map[string]*refresh.Watcher{}
	for i := range w.Watchers {
		watchers[w.Watchers[i].Recipient] = &w.Watchers[i]
		if _, err := service.Trail(ctx, w.Watchers[i].ID()); err != nil {
			r.fail("watcher of %s: %v", w.Watchers[i].Recipient, err)
		}
	}
	for _, t := range transfers {
		if t.RecipientID == "" {
			continue
		}
		state := map[int]string{0: "waiting for its counterparty", 1: "waiting for confirmations", 2: "settled", 3: "failed"}[t.Status]
		if t.cancelled {
			state = "cancelled"
		}
		ended := "no watcher"
		if x := watchers[t.RecipientID]; x != nil {
			ended = "watcher " + x.Status.String()
			if x.Status == refresh.Expired {
				ended += " (" + x.EndReason.String() + ")"
			}
		}
		count(r.Transfers, s.name, state+", "+ended)
		// There is no watcher where the first listing showed the end already; the
		// sync job after a provisional one may find the end, or cancel; and a
		// cancellation whose answer is lost shows as a failed transfer.
		right := map[string][]string{"settled": {"watcher settled", "no watcher"}, "failed": {"watcher failed", "no watcher"},
			"cancelled": {"watcher expired (cancelled)", "watcher failed", "no watcher"}}[state]
		if strings.HasPrefix(s.name, "2 ") {
			right = append(right, "watcher expired (provisional)")
		}
		if state != s.ends || !slices.Contains(right, ended) {
			r.fail("%s: the transfer of %s is %s, %s", s.name, t.RecipientID, state, ended)
		}
	}
	return nil
}

func (r *report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d wallets, %d workers, %d kills: done in %s\n", r.Wallets, r.Workers, r.Kills, r.Took)
	fmt.Fprintf(&b, "%d refreshes and cancellations at the node; at most %d wallets served at once, %d allowed; %d attempts lost\n\n", r.Calls,
		r.MostServed, r.Maximum, r.Attempts)
	table := func(title string, m map[string]map[string]int) {
		fmt.Fprintln(&b, title)
		for _, a := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(&b, "  %s\n", a)
			for _, k := range slices.Sorted(maps.Keys(m[a])) {
				fmt.Fprintf(&b, "    %5d %s\n", m[a][k], k)
			}
		}
	}
	table("transfers, by flow", r.Transfers)
	table("jobs, by trigger", r.Jobs)
	if len(r.Failures) == 0 {
		fmt.Fprintln(&b, "\nno job was lost, every watcher ended as its transfer, no wallet was refreshed twice at a time")
	} else {
		fmt.Fprintf(&b, "\nFAILED\n  %s\n", strings.Join(r.Failures, "\n  "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
