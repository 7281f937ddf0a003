package ops

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has\n%s\nnot\n%s", file, want, got)
	}
}

// busy is a database on which each metric has a sample.
func (h *house) busy() *Metrics {
	h.t.Helper()
	h.wallet()
	h.review()
	by := switches.By{Actor: "olga", Role: switches.Operator}
	stop := switches.Stopped{By: by, Scope: switches.Chain(chain), Level: switches.Send, Reason: "a stolen key"}
	_, _, err := h.Switches.Stop(h.t.Context(), stop)
	h.check(err)
	_, _, err = h.Withdrawals.Payments(chain, "payer-1").Turn(h.t.Context(), nil, 1)
	h.check(err)
	h.consumer(sqlstore.Consumer{Name: "book", Machines: []string{"withdrawal_job"}, Fence: 1, Until: h.now, Late: 2, FailedAt: h.now, Error: "slow"})
	m := NewMetrics(h.Services, DefaultLimits())
	m.now = func() time.Time { return h.now }
	hooks := HooksOf[string, string](m, "payer")
	hooks.Turned(1, 1, 250*time.Millisecond, nil)
	hooks.Turned(0, 0, time.Second, errors.New("no connection"))
	hooks.Stored(worker.Item[string]{}, 1500*time.Millisecond)
	hooks.Lost(worker.Item[string]{}, nil)
	hooks.Refused(worker.Item[string]{}, "", nil)
	created := statemachine.Transition[string]{Machine: "withdrawal_job", ID: "1", From: "none", Trigger: "create", To: "pending", At: h.now}
	claimed := statemachine.Transition[string]{Machine: "withdrawal_job", ID: "1", From: "pending", Trigger: "claim", To: "processing",
		At: h.now.Add(3 * time.Second)}
	m.Lines([]follow.Line{{Transition: created}, {Transition: claimed}})
	return m
}

// The names and labels of all metrics are promised: the list is a golden file. So are the numbers
// of one small database, which are the same on both.
func TestMetricsAreGolden(t *testing.T) {
	both(t, func(t *testing.T, h *house) {
		m := h.busy()
		answer := httptest.NewRecorder()
		m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		golden(t, "testdata/metrics.txt", answer.Body.String())
		seen := map[string]string{}
		for _, s := range m.Samples(t.Context()) {
			var labels []string
			for _, l := range s.Labels {
				labels = append(labels, l.Name)
			}
			line := s.Name + "{" + strings.Join(labels, ",") + "}\n"
			if was, known := seen[s.Name]; known && was != line {
				t.Errorf("%s has other labels elsewhere: %s", line, was)
			}
			seen[s.Name] = line
		}
		names := ""
		for _, m := range metrics {
			names += m.kind + " " + seen[m.name]
			if seen[m.name] == "" {
				t.Errorf("nothing counts %s", m.name)
			}
			delete(seen, m.name)
		}
		if len(seen) > 0 {
			t.Errorf("samples of no metric: %v", seen)
		}
		golden(t, "testdata/names.txt", names)
	})
}

// Each metric and label of the rules is one that is served.
func TestRulesAreOfMetrics(t *testing.T) {
	rules, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	watched := map[string]bool{}
	for line := range strings.Lines(string(rules)) {
		expr, is := strings.CutPrefix(strings.TrimSpace(line), "expr: ")
		if !is {
			continue
		}
		for _, bad := range unserved(string(names), expr, watched) {
			t.Error(bad)
		}
	}
	if len(watched) < 10 {
		t.Errorf("only %d metrics are watched", len(watched))
	}
}

// What a dashboard shows is served, and each query of it names its metrics and labels as the golden file has them.
func TestDashboardIsOfMetrics(t *testing.T) {
	text, err := os.ReadFile("../../docs/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, q := range p.Targets {
			for _, bad := range unserved(string(names), q.Expr, shown) {
				t.Errorf("%s: %s", p.Title, bad)
			}
		}
	}
	for _, m := range metrics {
		if !shown[m.name] {
			t.Errorf("no panel shows %s", m.name)
		}
	}
}

// unserved names the metrics and labels of a query that the golden file does not have.
func unserved(names, expr string, shown map[string]bool) (bad []string) {
	for _, name := range regexp.MustCompile(`settle_\w+`).FindAllString(expr, -1) {
		shown[name] = true
		m := regexp.MustCompile(` ` + name + `\{(.*)\}\n`).FindStringSubmatch(names)
		if m == nil {
			bad = append(bad, name+" is in no golden file")
			continue
		}
		for _, used := range regexp.MustCompile(`(?:by \(([^)]*)\)|(\w+)=")`).FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.Split(used[1]+used[2], ", ") {
				if !slices.Contains(strings.Split(m[1], ","), label) {
					bad = append(bad, fmt.Sprintf("%s: %s has no label %s", expr, name, label))
				}
			}
		}
	}
	return bad
}

// A process that follows many records forgets some, and never counts a time that it does not know.
func TestDwellIsBounded(t *testing.T) {
	m := NewMetrics(Services{}, DefaultLimits())
	for n := range 3 * maxSince {
		m.entered(record{"m", fmt.Sprint(n)}, noon)
	}
	if n := len(m.since[0]) + len(m.since[1]); n > 2*maxSince || n < maxSince {
		t.Errorf("%d records are known", n)
	}
	if before := m.entered(record{"m", "0"}, noon); !before.IsZero() {
		t.Errorf("what is forgotten entered its state at %v", before)
	}
	if before := m.entered(record{"m", fmt.Sprint(3*maxSince - 1)}, noon); !before.Equal(noon) {
		t.Errorf("the latest entered its state at %v", before)
	}
}

// Ten scrapes at once cost one reading, and what fails keeps its last numbers, whose age grows.
func TestMetricsSurviveTheIncident(t *testing.T) {
	now, reads := noon, 0
	var failed []Failure
	m := NewMetrics(Services{}, DefaultLimits())
	m.now = func() time.Time { return now }
	m.read = func(_ context.Context, last Statistics) Statistics {
		reads++
		if len(failed) == 0 {
			last.Switches = []switches.Switch{{Scope: switches.Charges, Level: switches.Begin}}
		}
		last.Failed = failed
		return last
	}
	has := func(line string) {
		t.Helper()
		if text := string(Text(m.Samples(t.Context()))); !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { m.Samples(t.Context()) })
	}
	all.Wait()
	if reads != 1 {
		t.Errorf("%d readings", reads)
	}
	has(`settle_switch_level{scope="charges"} 1`)
	failed = []Failure{{"switches", context.DeadlineExceeded}, {"tenants", context.DeadlineExceeded}}
	now = now.Add(again)
	has(`settle_stats_age_seconds{part="switches"} 2`)
	has(`settle_stats_age_seconds{part="swaps"} 0`)
	has(`settle_switch_level{scope="charges"} 1`)
	now = now.Add(again - 1)
	has(`settle_stats_age_seconds{part="swaps"} 1.999999999`)
	if reads != 2 {
		t.Errorf("%d readings", reads)
	}
}

// Whoever has older numbers does not wait for a reading that hangs, and no second reading is begun beside it.
func TestOldNumbersAreAnsweredAtOnce(t *testing.T) {
	now, reads := noon, 0
	hangs := make(chan struct{})
	m := NewMetrics(Services{}, DefaultLimits())
	m.now = func() time.Time { return now }
	m.read = func(_ context.Context, last Statistics) Statistics {
		if reads++; reads > 1 {
			<-hangs
			last.At = noon.Add(time.Minute)
		}
		return last
	}
	m.Samples(t.Context())
	m.Expire()
	for range 2 { // a call that waited for the reading would never end
		if s := m.Statistics(t.Context()); !s.At.IsZero() {
			t.Errorf("the numbers are of %v", s.At)
		}
	}
	m.reading.Lock()
	done := m.done
	m.reading.Unlock()
	close(hangs)
	<-done
	if s := m.Statistics(t.Context()); s.At.IsZero() || reads != 2 {
		t.Errorf("after it the numbers are of %v, by %d readings", s.At, reads)
	}
}

// A part that is locked keeps no other back, is named, and is what it was before.
func TestWhatIsLockedIsAsItWas(t *testing.T) {
	h := newHouse(t, sqlstore.Postgres)
	h.wallet()
	h.review()
	last := h.Read(t.Context(), time.Hour, Statistics{})
	h.check(last.Err())
	tx, err := h.sql.BeginTx(t.Context(), nil)
	h.check(err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE "+h.opts.Schema+".withdrawal_queue IN ACCESS EXCLUSIVE MODE")
	h.check(err)
	h.now = h.now.Add(time.Minute)
	got := h.Read(t.Context(), time.Hour, last)
	h.check(tx.Rollback())
	if len(got.Failed) != 1 || got.Failed[0].Part != "withdrawals" || got.Withdrawals == nil || got.Withdrawals.InReview != 1 {
		t.Errorf("%+v, %v", got.Withdrawals, got.Err())
	}
	if !got.Swaps.At.Equal(h.now) || !got.Withdrawals.At.Equal(last.Withdrawals.At) {
		t.Errorf("swaps are of %v, withdrawals of %v", got.Swaps.At, got.Withdrawals.At)
	}
}

func TestTextIsEscaped(t *testing.T) {
	got := string(Text([]Sample{{"settle_items", []Label{{"machine", "a\"b\\c\nd"}}, "1"}}))
	if want := `settle_items{machine="a\"b\\c\nd"} 1` + "\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestMetricsAreRead(t *testing.T) {
	answer := httptest.NewRecorder()
	NewMetrics(Services{}, Limits{}).ServeHTTP(answer, httptest.NewRequest("POST", "/metrics", nil))
	if answer.Code != 405 || answer.Header().Get("Allow") == "" {
		t.Error(fmt.Sprint(answer.Code))
	}
}
