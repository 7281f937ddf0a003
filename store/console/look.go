package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// machine is a row of the home page.
type machine struct {
	Name   string
	States []count
}

type count struct{ State, Number string }

// fact is a sample that is not zero, for people.
type fact struct{ What, Of, Value string }

// home shows what is stopped, what alerts and how much waits, also where a part cannot be read.
func (c *Console) home(r *request) error {
	s := c.numbers.Statistics(r.Context())
	if fresh, err := c.o.Services.Switches.List(r.Context(), "", store.MaxPage); err == nil { // who has stopped sees it at once
		s.Switches = fresh
	}
	var stopped []switches.Switch
	for _, w := range s.Switches {
		if w.Level > switches.On || w.Recovering {
			stopped = append(stopped, w)
		}
	}
	lines, _ := c.journal.read(r.Context(), &c.o.Services)
	recent := slices.DeleteFunc(lines, func(l statemachine.JournalLine) bool { return s.At.Sub(l.At) > time.Hour })
	var machines []machine
	var waits, money []fact
	ages, sums := map[string]time.Duration{}, map[string]int64{}
	for _, one := range c.numbers.Samples(r.Context()) {
		of := map[string]string{}
		for _, l := range one.Labels {
			of[l.Name] = l.Value
		}
		switch one.Name {
		case "settle_items":
			if i := len(machines) - 1; i < 0 || machines[i].Name != of["machine"] {
				machines = append(machines, machine{Name: of["machine"]})
			}
			m := &machines[len(machines)-1]
			m.States = append(m.States, count{of["state"], one.Value})
		case "settle_oldest_seconds":
			if n, err := strconv.ParseFloat(one.Value, 64); err == nil && n > 0 {
				waits = append(waits, fact{"oldest " + of["kind"], of["domain"], ago(time.Duration(n * float64(time.Second)))})
			}
		case "settle_stuck", "settle_in_review", "settle_incidents_open":
			n, _ := strconv.ParseInt(one.Value, 10, 64)
			if sums[one.Name] += n; n != 0 {
				what := strings.ReplaceAll(strings.TrimPrefix(one.Name, "settle_"), "_", " ")
				waits = append(waits, fact{strings.TrimSpace(what + " " + of["kind"]), of["domain"], one.Value})
			}
		case "settle_amount":
			if one.Value != "0" {
				asset := of["domain"] + " " + of["asset"]
				if of["chain"] != "" {
					asset = fmt.Sprintf("asset %.8s on chain %.8s, %s decimals", of["asset"], of["chain"], of["decimals"])
				}
				money = append(money, fact{of["state"], asset, one.Value})
			}
		case "settle_stats_age_seconds":
			n, _ := strconv.ParseFloat(one.Value, 64)
			ages[of["part"]] = time.Duration(n * float64(time.Second))
		}
	}
	oldest := time.Duration(0)
	for _, age := range ages {
		oldest = max(oldest, age)
	}
	r.again()
	return r.page(http.StatusOK, "home", "Overview", map[string]any{"Stats": s, "Alerts": s.Alerts(c.o.Limits), "Stopped": stopped,
		"On": switches.On, "Review": sums["settle_in_review"], "Stuck": sums["settle_stuck"], "Incidents": sums["settle_incidents_open"],
		"Machines": machines, "Waits": waits, "Money": money, "Ages": ages, "Oldest": oldest, "Recent": recent,
		"Kinds":    c.o.Services.Kinds(),
		"MayStart": domain(r.by.Can.Operate, store.DomainSwitches)})
}

// draw draws a machine: with ?state= the place of a record, else with the counts of the statistics.
func (c *Console) draw(r *request) error {
	counts := map[string]int64{}
	if state := r.URL.Query().Get("state"); state != "" {
		counts[state] = 1
	} else {
		for _, one := range c.numbers.Samples(r.Context()) {
			if one.Name == "settle_items" && one.Labels[0].Value == r.PathValue("machine") {
				counts[one.Labels[1].Value], _ = strconv.ParseInt(one.Value, 10, 64)
			}
		}
	}
	picture := ops.Drawing(r.PathValue("machine"), counts)
	if picture == "" {
		return fmt.Errorf("%w: no machine %q", statemachine.ErrNotFound, r.PathValue("machine"))
	}
	r.w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'") // of the picture alone
	r.w.Header().Set("Content-Type", "image/svg+xml")
	_, err := r.w.Write([]byte(picture))
	return err
}

// group is a part of a list: what waits for the same.
type group struct {
	Cause string
	Rows  []ops.Row
}

// listed is a page of one list, grouped by cause.
type listed struct {
	Kind   *ops.Kind
	List   string
	Groups []group
	Rows   []ops.Row
	Next   string
	Err    error
}

func (c *Console) page(ctx context.Context, k *ops.Kind, q ops.List) listed {
	page, err := k.List(ctx, q)
	l := listed{Kind: k, List: q.Name, Rows: page.Rows, Next: page.Next, Err: err}
	for _, g := range statemachine.ByCause(page.Rows, func(r *ops.Row) string { return cmp.Or(r.Cause, r.State) }) {
		rows := make([]ops.Row, 0, len(g.Items))
		for _, i := range g.Items {
			rows = append(rows, page.Rows[i])
		}
		l.Groups = append(l.Groups, group{g.Cause, rows})
	}
	return l
}

// review shows all that rests with a person, or is stuck, of every domain: each list oldest first, by cause.
func (c *Console) review(r *request) error {
	title, of := "Review", func(k *ops.Kind) []string { return k.Review }
	if r.URL.Path == "/stuck" {
		title, of = "Stuck", func(k *ops.Kind) []string { return k.Stuck }
	}
	now, err := c.o.Services.Now(r.Context())
	if err != nil {
		return err
	}
	var all []listed
	for _, k := range c.o.Services.Kinds() {
		for _, name := range of(k) {
			all = append(all, listed{Kind: k, List: name})
		}
	}
	var reading sync.WaitGroup
	for i := range all {
		reading.Go(func() { all[i] = c.page(r.Context(), all[i].Kind, ops.List{Name: all[i].List, Limit: maxRows}) })
	}
	reading.Wait()
	r.again()
	return r.page(http.StatusOK, "review", title, map[string]any{"Lists": all, "Now": now})
}

func (c *Console) list(r *request) error {
	k, err := c.o.Services.Kind(r.PathValue("kind"))
	if err != nil {
		return err
	}
	if len(k.Lists) == 0 {
		return fmt.Errorf("%w: %s has no lists", statemachine.ErrNotFound, k.Name)
	}
	v := r.URL.Query()
	q := ops.List{Name: cmp.Or(v.Get("list"), k.Lists[0]), State: v.Get("state"), Chain: v.Get("chain"), Wallet: v.Get("wallet"),
		Holder: v.Get("holder"), User: v.Get("user"), After: v.Get("after"), Newest: v.Get("newest") != "", Limit: maxRows}
	now, err := c.o.Services.Now(r.Context())
	if err != nil {
		return err
	}
	l := c.page(r.Context(), k, q)
	if l.Err != nil {
		return l.Err
	}
	next := ""
	if l.Next != "" {
		v.Set("after", l.Next)
		next = "?" + v.Encode()
	}
	v.Del("after")
	other := url.Values(maps.Clone(v))
	if q.Newest {
		other.Del("newest")
	} else {
		other.Set("newest", "1")
	}
	r.again()
	return r.page(http.StatusOK, "list", k.Name+": "+q.Name, map[string]any{"L": l, "Q": q, "Now": now, "Next": next,
		"Other": "?" + other.Encode(), "Both": k.Name == "withdrawal"})
}

// find goes to the one record that a text names, or shows several.
func (c *Console) find(r *request) error {
	text := r.URL.Query().Get("q")
	var found []ops.Found
	if text != "" {
		var err error
		if found, err = c.o.Services.Find(r.Context(), text); err != nil {
			return err
		}
	}
	if len(found) == 1 {
		return r.see("item/" + found[0].Kind.Name + "/" + url.PathEscape(found[0].ID))
	}
	return r.page(http.StatusOK, "find", "Find", map[string]any{"Q": text, "Found": found})
}

// record reads the record that a path names.
func (c *Console) record(r *request) (*ops.Kind, *ops.Item, error) {
	k, err := c.o.Services.Kind(r.PathValue("kind"))
	if err != nil {
		return nil, nil, err
	}
	is, err := k.Get(r.Context(), strings.TrimSuffix(r.PathValue("id"), ".json"))
	return k, is, err
}

// item shows one record: the sentence, its facts, what could be said of it, and its history.
func (c *Console) item(r *request) error {
	k, is, err := c.record(r)
	if err != nil {
		return err
	}
	return c.shown(r, k, is.Masked())
}

func (c *Console) shown(r *request, k *ops.Kind, is *ops.Item) error {
	if strings.HasSuffix(r.PathValue("id"), ".json") {
		r.w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(r.w).Encode(is)
	}
	offers, err := k.Offers(r.Context(), is, r.by.ID)
	if err != nil {
		return err
	}
	type offer struct {
		ops.Offer
		May bool
	}
	var all []offer
	for _, o := range offers {
		all = append(all, offer{o, may(r.by.Can, k, o.Action)})
	}
	slices.SortStableFunc(all, func(a, b offer) int { return rank(a.Offer) - rank(b.Offer) })
	place := map[string]string{}
	for _, l := range is.Trail {
		place[l.Machine] = l.To
	}
	now, err := c.o.Services.Now(r.Context())
	if err != nil {
		return err
	}
	return r.page(http.StatusOK, "item", k.Name, map[string]any{"Is": is, "Offers": all, "Place": place, "Now": now,
		"MayReveal": r.by.Can.Reveal})
}

// rank puts what can be said before what cannot.
func rank(o ops.Offer) int {
	switch {
	case len(o.Moves) > 0:
		return 0
	case o.Form:
		return 1
	case o.Why == "":
		return 2
	}
	return 3
}

// reveal shows a record whole, once the journal has it.
func (c *Console) reveal(r *request) error {
	k, is, err := c.record(r)
	if err != nil {
		return err
	}
	line := statemachine.JournalLine{Actor: r.by.ID, Role: "operator", Domain: string(k.Domain), Machine: k.Machine, ID: is.ID,
		Version: is.Version, Event: "Reveal", Via: via}
	if err := c.o.Services.Note(r.Context(), line, nil); err != nil {
		return err
	}
	return c.shown(r, k, is)
}

func (c *Console) help(r *request) error {
	found := ops.Explain(r.PathValue("name"))
	if len(found) == 0 {
		return fmt.Errorf("%w: nothing is explained under this name", statemachine.ErrNotFound)
	}
	return r.page(http.StatusOK, "help", "What it means", map[string]any{"Entries": found})
}

// tail is the end of the journal, which is read on from where it was left, once for all who look.
type tail struct {
	sync.Mutex
	at   store.Cursor
	last []statemachine.JournalLine
}

// read returns the latest lines, the newest first, and why there may be newer ones.
func (t *tail) read(ctx context.Context, s *ops.Services) (latest []statemachine.JournalLine, err error) {
	t.Lock()
	defer t.Unlock()
	for {
		page, next, bad := s.Journal.Page(ctx, t.at, store.MaxPage)
		if bad != nil || len(page) == 0 {
			err = bad
			break
		}
		t.at, t.last = next, append(t.last, page...)
		t.last = slices.Clone(t.last[max(0, len(t.last)-maxRows):])
	}
	latest = slices.Clone(t.last)
	slices.Reverse(latest)
	return latest, err
}

// lines shows the journal: its end, or with ?from= a page from a place on.
func (c *Console) lines(r *request) error {
	v := r.URL.Query()
	if !v.Has("from") {
		latest, err := c.journal.read(r.Context(), &c.o.Services)
		r.again()
		return r.page(http.StatusOK, "journal", "Journal", map[string]any{"Lines": latest, "Err": err, "Latest": true})
	}
	page, next, err := c.o.Services.Journal.Page(r.Context(), store.Cursor(v.Get("from")), maxRows)
	if err != nil {
		return err
	}
	more := ""
	if len(page) == maxRows {
		more = "?" + url.Values{"from": {string(next)}}.Encode()
	}
	return r.page(http.StatusOK, "journal", "Journal", map[string]any{"Lines": page, "More": more})
}

// incidents shows the open incidents of withdrawals and the open discrepancies of swaps.
func (c *Console) incidents(r *request) error {
	data := map[string]any{}
	after := func(name string) int64 {
		n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
		return max(0, n)
	}
	if w := c.o.Services.Withdrawals; w != nil {
		page, next, err := w.OpenIncidents(r.Context(), after("after"), maxRows)
		if err != nil {
			return err
		}
		data["Incidents"] = page
		if len(page) == maxRows {
			data["Next"] = fmt.Sprintf("?after=%d&swaps=%d", next, after("swaps"))
		}
	}
	if s := c.o.Services.Swaps; s != nil {
		var open []swap.Discrepancy
		for next, more := after("swaps"), true; more && len(open) == 0; { // what is settled stays on file
			page, to, err := s.Discrepancies(r.Context(), next, maxRows)
			if err != nil {
				return err
			}
			if next, more = to, len(page) == maxRows; more {
				data["NextSwaps"] = fmt.Sprintf("?after=%d&swaps=%d", after("after"), next)
			}
			open = slices.DeleteFunc(page, func(d swap.Discrepancy) bool { return !d.ClosedAt.IsZero() })
		}
		data["Discrepancies"] = open
	}
	data["MayWithdrawals"] = domain(r.by.Can.Operate, store.DomainWithdrawals)
	data["MaySwaps"] = domain(r.by.Can.Operate, store.DomainSwaps)
	return r.page(http.StatusOK, "incidents", "Incidents", data)
}

// wallets shows the hot wallets of withdrawals.
func (c *Console) wallets(r *request) error {
	all, err := c.o.Services.HotWallets(r.Context(), c.numbers.Statistics(r.Context()).Withdrawals)
	if err != nil {
		return err
	}
	return r.page(http.StatusOK, "wallets", "Hot wallets", map[string]any{"Wallets": all, "Active": withdrawal.WalletActive,
		"MayPause": r.by.Can.Stop, "MayResume": domain(r.by.Can.Operate, store.DomainWithdrawals)})
}
