package processes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// life is a process that was first and last seen so long ago.
func life(name, policy string, first, last time.Duration) processes.Process {
	return processes.Process{Key: processes.Key{Domain: "swaps", Name: name, Version: "v1", Policy: policy}, First: now.Add(-first), Last: now.Add(-last)}
}

func TestTwoPoliciesOfOneDomainAtOnce(t *testing.T) {
	const limit, live = time.Hour, processes.LiveFor
	of := func(p processes.Process, domain string) processes.Process { p.Domain = domain; return p }
	for _, tt := range []struct {
		name  string
		all   []processes.Process
		fires bool
	}{
		{"nobody", nil, false},
		{"one", []processes.Process{life("a", "x", 2*limit, 0)}, false},
		{"two with one policy", []processes.Process{life("a", "x", 2*limit, 0), life("b", "x", 2*limit, 0)}, false},
		{"two policies for as long as it may be", []processes.Process{life("a", "x", 2*limit, 0), life("b", "y", limit, 0)}, false},
		{"two policies for longer", []processes.Process{life("a", "x", 2*limit, 0), life("b", "y", limit+1, 0)}, true},
		{"of two domains", []processes.Process{life("a", "x", 2*limit, 0), of(life("b", "y", 2*limit, 0), "relays")}, false},
		{"one just alive", []processes.Process{life("a", "x", 2*limit, live), life("b", "y", 2*limit, 0)}, true},
		{"one just dead", []processes.Process{life("a", "x", 2*limit, live+1), life("b", "y", 2*limit, 0)}, false},
		{"short lives in a row", []processes.Process{life("a", "x", 2*limit, 0), life("b", "y", live, 0), life("c", "y", limit+1, 2*live)}, true},
		{"short lives after a pause", []processes.Process{life("a", "x", 2*limit, 0), life("b", "y", live, 0), life("c", "y", limit+1, 2*live+1)}, false},
		{"one was seen by a clock that was ahead", []processes.Process{life("a", "x", 2*limit, 0), life("b", "y", 2*limit, -live-1)}, false},
		{"and one by a clock that was slightly ahead", []processes.Process{life("a", "x", 2*limit, 0), life("b", "y", 2*limit, -live)}, true},
		{"one name with two policies", []processes.Process{life("a", "x", 2*limit, 0), life("a", "y", 2*limit, 0)}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			alerts := processes.Alerts(tt.all, now, processes.Thresholds{TwoPolicies: limit})
			if fires := len(alerts) > 0; fires != tt.fires {
				t.Errorf("%+v", alerts)
			}
			for _, a := range alerts {
				if a.Name != "two policies" || !strings.Contains(a.Text, "swaps") || !strings.Contains(a.Text, "by x (v1)") || !strings.Contains(a.Text, "by y (v1)") {
					t.Errorf("%+v", a)
				}
			}
			if off := processes.Alerts(tt.all, now, processes.Thresholds{}); len(off) > 0 {
				t.Errorf("without a limit: %+v", off)
			}
		})
	}
}

func TestAnAlertNamesSomeOfManyPolicies(t *testing.T) {
	var all []processes.Process
	for i := range 100 {
		all = append(all, life(fmt.Sprintf("p%02d", i), fmt.Sprint(i), 2*time.Hour, 0))
	}
	alerts := processes.Alerts(all, now, processes.DefaultThresholds())
	if len(alerts) != 1 || !strings.Contains(alerts[0].Text, "100 policies") || strings.Count(alerts[0].Text, " by ") != 5 {
		t.Errorf("%+v", alerts)
	}
	slices.Reverse(all)
	if again := processes.Alerts(all, now, processes.DefaultThresholds()); !slices.Equal(again, alerts) {
		t.Errorf("in another order of the rows: %+v, %+v", again, alerts)
	}
}

// What goes is compared with a definition in other words: a process stays if it was
// seen lately, and is alive or fewer than so many others were seen later.
func TestWhatGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []processes.Process
		for i := range rapid.IntRange(0, 30).Draw(t, "old") {
			age := rapid.SampledFrom([]time.Duration{0, processes.Kept, processes.Kept + 1, -processes.Kept, -processes.Kept - 1}).Draw(t, "age")
			all = append(all, life(fmt.Sprint("old", i), "x", age, age))
		}
		for i := range rapid.SampledFrom([]int{0, 950, 1000, 1050}).Draw(t, "new") {
			age := rapid.SampledFrom([]time.Duration{processes.LiveFor, processes.LiveFor + 1})
			if i < 10 {
				age = rapid.Just(time.Duration(i % 7))
			}
			since := age.Draw(t, "age")
			all = append(all, life(fmt.Sprint("new", i), "x", since, since))
		}
		limit := rapid.SampledFrom([]int{0, 1, 10, 10_000}).Draw(t, "limit")
		later := func(a, b processes.Process) bool {
			return a.Last.After(b.Last) || a.Last.Equal(b.Last) && a.Name > b.Name
		}
		var want []processes.Process
		for _, p := range all {
			n := 0
			for _, q := range all {
				if later(q, p) {
					n++
				}
			}
			if age := now.Sub(p.Last); age > processes.Kept || age < -processes.Kept || n >= processes.MaxKept && (age > processes.LiveFor || age < -processes.LiveFor) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, func(a, b processes.Process) int {
			if later(a, b) {
				return 1
			}
			return -1
		})
		want = want[:min(len(want), limit)]
		if got := processes.Old(all, now, limit); !slices.Equal(got, want) {
			t.Fatalf("%d go, want %d", len(got), len(want))
		}
	})
}

func TestNoLiveProcessGoes(t *testing.T) {
	var all []processes.Process
	for i := range processes.MaxKept + 1 {
		all = append(all, life(fmt.Sprint(i), "x", time.Hour, 0))
	}
	if gone := processes.Old(all, now, 10); len(gone) != 0 {
		t.Errorf("%d that are alive go", len(gone))
	}
}

func TestSeenAgain(t *testing.T) {
	p := life("a", "x", 0, 0)
	for _, tt := range []struct {
		first time.Duration
		want  time.Duration
	}{{time.Hour, time.Hour}, {0, 0}, {-time.Hour, 0}} {
		if got := p.Seen(life("a", "x", tt.first, -2*time.Hour)); got != life("a", "x", tt.want, 0) {
			t.Errorf("first seen %v ago: %+v", tt.first, got)
		}
	}
}

func TestProcessesThatCannotBeStored(t *testing.T) {
	long := strings.Repeat("x", processes.MaxText+1)
	for name, alter := range map[string]func(*processes.Process){
		"no domain":   func(p *processes.Process) { p.Domain = "" },
		"no name":     func(p *processes.Process) { p.Name = "" },
		"no policy":   func(p *processes.Process) { p.Policy = "" },
		"long":        func(p *processes.Process) { p.Version = long },
		"NUL":         func(p *processes.Process) { p.Name = "a\x00" },
		"no text":     func(p *processes.Process) { p.Policy = "\xff" },
		"before born": func(p *processes.Process) { p.Last = p.First.Add(-1) },
	} {
		p := life("a", "x", 0, 0)
		if alter(&p); !errors.Is(p.Check(), statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, p.Check())
		}
	}
	p := life(long[1:], "x", 0, 0)
	p.Version = ""
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

func TestDigests(t *testing.T) {
	type policy struct {
		A int
		M map[string]int
	}
	one, err := processes.Digest(policy{1, map[string]int{"a": 1, "b": 2}})
	if err != nil || one != "02823365139557d4" {
		t.Errorf("%s, %v", one, err)
	}
	for range 20 { // a map has no order
		if two, _ := processes.Digest(policy{1, map[string]int{"b": 2, "a": 1}}); two != one {
			t.Errorf("%s and %s", one, two)
		}
	}
	if two, _ := processes.Digest(policy{1, map[string]int{"b": 2, "a": 2}}); two == one {
		t.Error("another policy has the same digest")
	}
	if _, err := processes.Digest(func() {}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a policy without JSON: %v", err)
	}
}
