package ops

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// Sample is one value of a metric.
type Sample struct {
	Name   string
	Labels []Label // closed enumerations, chains, assets, names of a host's consumers and workers; never the id of a record or a person
	Value  string  // a decimal number, of any length: sums of money are exact
}

// Label names one dimension of a sample.
type Label struct{ Name, Value string }

// metric is what is said of a metric as a whole.
type metric struct{ name, kind, help string }

// metrics are all that there are, in the order in which they are written.
var metrics = []metric{
	{"settle_items", "gauge", "How many records have a state."},
	{"settle_oldest_seconds", "gauge", "For how long the oldest of a kind has waited; 0 if nothing waits."},
	{"settle_stuck", "gauge", "How many records somebody has forgotten."},
	{"settle_in_review", "gauge", "How many records rest with a person."},
	{"settle_amount", "gauge", "Money under way in base units: open, and of it in review, unknown, stuck."},
	{"settle_incidents_open", "gauge", "How many incidents and discrepancies nobody has settled."},
	{"settle_alert", "gauge", "1 while an alert fires by the limits of this process."},
	{"settle_switch_level", "gauge", "How far a scope is stopped: 0 on, 1 begin, 2 all, 3 send."},
	{"settle_recovering", "gauge", "1 while a scope is recovering from a restore."},
	{"settle_workers", "gauge", "How many workers of a domain were seen in the last minutes."},
	{"settle_feed_lag_seconds", "gauge", "For how long a committed line has been held back from whoever follows the log."},
	{"settle_consumer_lag_seconds", "gauge", "How old the first line is that a consumer is not done with; 0 for none."},
	{"settle_consumer_parked", "gauge", "How many lines or deposits a consumer goes on without."},
	{"settle_consumer_stopped", "gauge", "1 while a consumer has stopped at a line that fails."},
	{"settle_consumer_late", "gauge", "How often in a row the lease of a consumer ended before its commit."},
	{"settle_deposits", "gauge", "How many deposits are waiting in the best chain, or credited and shaken."},
	{"settle_deposits_satoshi", "gauge", "What these deposits amount to."},
	{"settle_stats_age_seconds", "gauge", "How old a part of the statistics is; it grows while that part cannot be read."},
	{"settle_transitions_total", "counter", "Lines of the log that this process has followed."},
	{"settle_dwells_total", "counter", "States that a record has left, as far as this process followed it into them."},
	{"settle_dwell_seconds_total", "counter", "How long these states lasted."},
	{"settle_turns_total", "counter", "Turns of a worker of this process."},
	{"settle_turn_seconds_total", "counter", "Time of these turns."},
	{"settle_handled_total", "counter", "Items whose result was stored."},
	{"settle_handle_seconds_total", "counter", "Time from the claim of these items to the stored result."},
	{"settle_lost_total", "counter", "Items whose lease was lost."},
	{"settle_refused_total", "counter", "Results that the store refused."},
}

// MetricName is one metric by its name, for an exporter of another kind.
type MetricName struct {
	Name, Help string
	Counter    bool // else it is a gauge
}

// MetricNames are all metrics.
func MetricNames() (all []MetricName) {
	for _, m := range metrics {
		all = append(all, MetricName{m.name, m.help, m.kind == "counter"})
	}
	return all
}

// samples collects what statistics say.
type samples []Sample

func (s *samples) add(name string, value int64, labels ...string) {
	s.put(name, strconv.FormatInt(value, 10), labels...)
}

func (s *samples) put(name, value string, labels ...string) {
	one := Sample{Name: name, Value: value}
	for i := 0; i < len(labels); i += 2 {
		one.Labels = append(one.Labels, Label{labels[i], labels[i+1]})
	}
	*s = append(*s, one)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// age is how long something has waited; it is never negative, also where a clock was ahead.
func (s *samples) age(at, since time.Time, domain, kind string) {
	var d time.Duration
	if !since.IsZero() {
		d = max(0, at.Sub(since))
	}
	s.put("settle_oldest_seconds", seconds(d), "domain", domain, "kind", kind)
}

func (s *samples) money(m statemachine.Money, labels ...string) {
	for _, of := range []struct {
		state string
		sum   statemachine.Sum
	}{{"open", m.Open}, {"review", m.Review}, {"unknown", m.Unknown}, {"stuck", m.Stuck}} {
		s.put("settle_amount", of.sum.String(), append(slices.Clone(labels), "state", of.state)...)
	}
}

// items counts the records of a machine, each state of it, so that none appears out of nowhere.
func items[N statemachine.Names](s *samples, machine string, count map[statemachine.Enum[N]]int64) {
	for _, state := range statemachine.Enum[N](0).Values() {
		s.add("settle_items", count[state], "machine", machine, "state", state.String())
	}
}

// Samples are the gauges of what was read: the domains' own numbers, and which alerts fire.
func (s *Statistics) Samples(l Limits) []Sample {
	var all samples
	if w := s.Withdrawals; w != nil {
		all.withdrawals(w)
	}
	if w := s.Swaps; w != nil {
		all.swaps(w)
	}
	if r := s.Refreshes; r != nil {
		items(&all, refresh.JobMachine.Name(), r.Jobs)
		items(&all, refresh.WatcherMachine.Name(), r.Watchers)
		all.age(r.At, r.OldestLive, "refreshes", "live job")
		all.age(r.At, r.OldestJob, "refreshes", "due job")
		all.age(r.At, r.OldestWatcher, "refreshes", "due watcher")
		all.add("settle_stuck", r.LeaseExpired, "domain", "refreshes", "kind", "lease expired")
		all.add("settle_stuck", r.PastExpiry, "domain", "refreshes", "kind", "past expiry")
		all.add("settle_in_review", r.ExpiredOpen, "domain", "refreshes")
	}
	if r := s.Relays; r != nil {
		items(&all, relaysync.Machine.Name(), r.Phases)
		all.age(r.At, r.OldestDue, "relays", "due")
		all.age(r.At, r.OldestOwed, "relays", "owed")
		all.add("settle_stuck", r.Lapsed, "domain", "relays", "kind", "lapsed")
		all.add("settle_in_review", r.Phases[relaysync.PhaseExhausted], "domain", "relays")
	}
	if t := s.Tenants; t != nil {
		items(&all, dunning.TenantMachine.Name(), t.Tenants)
		all.age(t.At, t.OldestDue, "tenants", "due")
		all.age(t.At, t.OldestOut, "tenants", "charge out")
		all.age(t.At, t.OldestOwed, "tenants", "owed")
		all.add("settle_stuck", t.Missed, "domain", "tenants", "kind", "never arrives")
		all.add("settle_in_review", t.Overpaid, "domain", "tenants")
		all.money(t.Money, "domain", "tenants", "chain", "", "asset", "", "decimals", "")
	}
	for _, c := range s.Consumers {
		all.put("settle_consumer_lag_seconds", seconds(c.Lag), "consumer", c.Name)
		all.add("settle_consumer_parked", int64(c.Parked), "consumer", c.Name)
		all.add("settle_consumer_stopped", bit(c.Stopped), "consumer", c.Name)
		all.add("settle_consumer_late", c.Late, "consumer", c.Name)
	}
	if d := s.Deposits; d != nil {
		all.add("settle_deposits", int64(d.Waiting), "state", "waiting")
		all.add("settle_deposits", int64(d.Shaken), "state", "shaken")
		all.add("settle_deposits_satoshi", d.WaitingAmount, "state", "waiting")
		all.add("settle_deposits_satoshi", d.ShakenAmount, "state", "shaken")
		all.age(d.At, d.WaitsSince, "deposits", "waiting")
	}
	for _, w := range s.Switches {
		all.add("settle_switch_level", int64(max(w.Level, switches.On, w.Recovery)-switches.On), "scope", string(w.Scope))
		all.add("settle_recovering", bit(w.Recovering), "scope", string(w.Scope))
	}
	if d := s.Database; d != nil {
		all.put("settle_feed_lag_seconds", seconds(d.FeedLag))
		live := map[string]int64{}
		for _, p := range s.Processes {
			live[p.Domain] += bit(p.Live(d.At))
		}
		for _, domain := range slices.Sorted(maps.Keys(live)) {
			all.add("settle_workers", live[domain], "domain", domain)
		}
	}
	fires := map[string]bool{}
	for _, a := range s.Alerts(l) {
		fires[a.Name] = true
	}
	for _, k := range alertKinds() {
		needs := "nobody"
		if k.Person {
			needs = "person"
		}
		all.add("settle_alert", bit(fires[k.Name]), "name", k.Name, "needs", needs)
	}
	return all
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func (s *samples) withdrawals(w *withdrawal.Stats) {
	const domain = "withdrawals"
	items(s, withdrawal.RequestMachine.Name(), w.Requests)
	items(s, withdrawal.JobMachine.Name(), w.Jobs)
	for _, wait := range []struct {
		kind  string
		since time.Time
	}{{"pending", w.OldestPending}, {"approved", w.OldestApproved}, {"queued", w.OldestQueued}, {"due job", w.OldestJob},
		{"review", w.OldestReview}, {"sent", w.OldestSent}, {"batch", w.OldestBatch}, {"to refund", w.OldestToRefund}} {
		s.age(w.At, wait.since, domain, wait.kind)
	}
	s.add("settle_stuck", w.LeaseExpired, "domain", domain, "kind", "lease expired")
	s.add("settle_stuck", w.CheckOverdue, "domain", domain, "kind", "check overdue")
	s.add("settle_stuck", w.BatchesOverdue, "domain", domain, "kind", "batch overdue")
	s.add("settle_in_review", w.InReview, "domain", domain)
	s.add("settle_incidents_open", w.OpenIncidents, "domain", domain)
	for _, m := range w.Money {
		s.money(m.Money, "domain", domain, "chain", m.Chain.String(), "asset", m.Asset.String(), "decimals", strconv.Itoa(int(m.Decimals)))
	}
}

func (s *samples) swaps(w *swap.Stats) {
	const domain = "swaps"
	items(s, swap.DepositMachine.Name(), w.Deposits)
	items(s, swap.CreditMachine.Name(), w.Credits)
	s.age(w.At, w.OldestAwaiting, domain, "confirmation")
	s.age(w.At, w.OldestHeld, domain, "hold")
	s.age(w.At, w.OldestScan, domain, "scan")
	s.add("settle_stuck", w.Overdue, "domain", domain, "kind", "overdue")
	s.add("settle_in_review", w.Held, "domain", domain)
	s.add("settle_incidents_open", w.Discrepancies, "domain", domain)
	for _, d := range slices.Sorted(maps.Keys(w.Money)) {
		s.money(w.Money[d], "domain", domain, "chain", "", "asset", d.String(), "decimals", "")
	}
}

// again is how old statistics may be before they are read once more.
const again = 2 * time.Second

// Metrics is an [http.Handler] of samples in the text format of Prometheus. It reads the statistics at most every two
// seconds, however many ask. For a part that cannot be read it goes on giving the last numbers, with their age in
// settle_stats_age_seconds: so a stopped, locked or slow database is seen, and no scrape fails for it. It is not to be
// copied.
type Metrics struct {
	read   func(context.Context, Statistics) Statistics
	limits Limits
	now    func() time.Time

	reading sync.Mutex // of what follows
	triedAt time.Time
	expired bool
	done    chan struct{} // closed by the reading that is under way; nil: none is

	sync.Mutex
	last     Statistics
	readAt   map[string]time.Time
	counters map[string]*counter
	since    [2]map[record]time.Time // when records entered their states: the latest ones, and those of before
}

type record struct{ machine, id string }

type counter struct {
	sample Sample
	value  float64
}

// NewMetrics returns the metrics of services, and of the workers and followers of this
// process that are told to it by [HooksOf] and [Metrics.Lines].
func NewMetrics(s Services, l Limits) *Metrics {
	read := func(ctx context.Context, last Statistics) Statistics { return s.Read(ctx, l.Window, last) }
	return &Metrics{read: read, limits: l, now: time.Now, readAt: map[string]time.Time{}, counters: map[string]*counter{}}
}

// ServeHTTP implements [http.Handler].
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read by GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(Text(m.Samples(r.Context())))
}

// Samples are the gauges as they were last read, two seconds ago at most where they can be read, and the
// counters of this process.
func (m *Metrics) Samples(ctx context.Context) []Sample {
	m.refresh(ctx)
	m.Lock()
	defer m.Unlock()
	now := m.now()
	all := samples(m.last.Samples(m.limits))
	for _, name := range Parts {
		if at, was := m.readAt[name]; was {
			all.put("settle_stats_age_seconds", seconds(now.Sub(at)), "part", name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.counters)) {
		c := m.counters[key]
		c.sample.Value = strconv.FormatFloat(c.value, 'f', -1, 64)
		all = append(all, c.sample)
	}
	return all
}

// Statistics are as they were last read, see [Metrics]: what pages of many viewers show. Of a part
// that is among Failed they have the last numbers.
func (m *Metrics) Statistics(ctx context.Context) Statistics {
	m.refresh(ctx)
	m.Lock()
	defer m.Unlock()
	return m.last
}

// Expire makes the next call read the statistics again, however young they are.
func (m *Metrics) Expire() {
	m.reading.Lock()
	defer m.reading.Unlock()
	m.expired = !m.triedAt.IsZero()
}

// patience is how long a caller who has older numbers waits for new ones.
const patience = 100 * time.Millisecond

// refresh reads statistics that are old. One reading is under way at a time; all wait for the first one of all, and for a
// later one no longer than patience: what is slow or locked shows the numbers of before, with their age.
func (m *Metrics) refresh(ctx context.Context) {
	m.reading.Lock()
	first := m.triedAt.IsZero() && !m.expired
	if !first && !m.expired && m.now().Sub(m.triedAt) < again {
		m.reading.Unlock()
		return
	}
	if m.done == nil {
		m.done = make(chan struct{})
		go m.readAll(context.WithoutCancel(ctx))
	}
	done := m.done
	m.reading.Unlock()
	if first {
		<-done
		return
	}
	select {
	case <-done:
	case <-time.After(patience):
	}
}

func (m *Metrics) readAll(ctx context.Context) {
	began := m.now()
	got := m.read(ctx, m.last) // written by the reading that is under way alone
	m.Lock()
	m.last = got
	for _, name := range Parts {
		failed := slices.ContainsFunc(got.Failed, func(f Failure) bool { return f.Part == name })
		if _, tried := m.readAt[name]; !failed || !tried { // the age of what was never read counts from the first try
			m.readAt[name] = began
		}
	}
	m.Unlock()
	m.reading.Lock()
	defer m.reading.Unlock()
	m.triedAt, m.expired = m.now(), false
	close(m.done)
	m.done = nil
}

// count adds to a counter.
func (m *Metrics) count(n float64, name string, labels ...string) {
	var one samples
	one.put(name, "", labels...)
	key := name + "\x00" + strings.Join(labels, "\x00")
	m.Lock()
	defer m.Unlock()
	if m.counters[key] == nil {
		m.counters[key] = &counter{sample: one[0]}
	}
	m.counters[key].value += n
}

// maxSince bounds the records of which [Metrics.Lines] knows when they entered their state: of twice as many at most. What
// is forgotten is not counted when it leaves its state.
const maxSince = 50_000

// entered notes when a record entered a state, and returns when it entered the one before; zero: not known.
func (m *Metrics) entered(r record, at time.Time) (before time.Time) {
	m.Lock()
	defer m.Unlock()
	before, known := m.since[0][r]
	if !known {
		before = m.since[1][r]
	}
	if m.since[0] == nil || len(m.since[0]) >= maxSince {
		m.since[1], m.since[0] = m.since[0], map[record]time.Time{}
	}
	m.since[0][r] = at
	return before
}

// Lines counts lines of the log, such as a consumer of package follow or [follow.Plain] gives.
// Each process that follows counts what it was given; sum over processes where they share a cursor.
func (m *Metrics) Lines(lines []follow.Line) {
	for _, l := range lines {
		m.count(1, "settle_transitions_total", "machine", l.Machine, "from", l.From, "trigger", l.Trigger, "to", l.To)
		if before := m.entered(record{l.Machine, l.ID}, l.At); !before.IsZero() {
			m.count(1, "settle_dwells_total", "machine", l.Machine, "state", l.From)
			m.count(max(0, l.At.Sub(before).Seconds()), "settle_dwell_seconds_total", "machine", l.Machine, "state", l.From)
		}
	}
}

// HooksOf counts what a worker does. The name is of the kind of worker, such as "payer", and not
// of the process. Give it to [worker.Join] beside hooks of your own.
func HooksOf[W, R any](m *Metrics, name string) worker.Hooks[W, R] {
	return worker.Hooks[W, R]{
		Stored: func(_ worker.Item[W], sinceClaim time.Duration) {
			m.count(1, "settle_handled_total", "worker", name)
			m.count(sinceClaim.Seconds(), "settle_handle_seconds_total", "worker", name)
		},
		Lost:    func(worker.Item[W], error) { m.count(1, "settle_lost_total", "worker", name) },
		Refused: func(worker.Item[W], R, error) { m.count(1, "settle_refused_total", "worker", name) },
		Turned: func(_, _ int, took time.Duration, err error) {
			result := "done"
			if err != nil {
				result = "failed"
			}
			m.count(1, "settle_turns_total", "worker", name, "result", result)
			m.count(took.Seconds(), "settle_turn_seconds_total", "worker", name)
		},
	}
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Text is samples in the text format of Prometheus, version 0.0.4.
func Text(all []Sample) []byte {
	order := func(name string) int { return slices.IndexFunc(metrics, func(m metric) bool { return m.name == name }) }
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Sample) int { return cmp.Compare(order(a.Name), order(b.Name)) })
	var text bytes.Buffer
	for i, s := range all {
		if i == 0 || all[i-1].Name != s.Name {
			if n := order(s.Name); n >= 0 {
				fmt.Fprintf(&text, "# HELP %[1]s %[3]s\n# TYPE %[1]s %[2]s\n", s.Name, metrics[n].kind, metrics[n].help)
			}
		}
		text.WriteString(s.Name)
		for k, l := range s.Labels {
			open := ","
			if k == 0 {
				open = "{"
			}
			fmt.Fprintf(&text, `%s%s="%s"`, open, l.Name, escapes.Replace(l.Value))
		}
		if len(s.Labels) > 0 {
			text.WriteString("}")
		}
		fmt.Fprintf(&text, " %s\n", s.Value)
	}
	return text.Bytes()
}
