package follow

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// Who gets the lease: at the end of another's, at the half of an own one, and never
// with fewer machines than the row names.
func TestClaim(t *testing.T) {
	const lease = time.Minute
	row := func(fence int64, left time.Duration, machines string) sqlstore.Consumer {
		return sqlstore.Consumer{Name: "c", Fence: fence, Until: noon.Add(left), Machines: strings.Fields(machines), Cursor: "p"}
	}
	for _, c := range []struct {
		name     string
		from     From
		machines string
		fence    int64
		row      sqlstore.Consumer
		fenceNow int64 // of the claim; 0: none
		place    store.Cursor
		wait     time.Duration
		err      error
	}{
		{"new, from the beginning", Beginning, "a", 0, sqlstore.Consumer{}, 1, "", 0, nil},
		{"new, from now", Now, "a", 0, sqlstore.Consumer{}, 1, "head", 0, nil},
		{"new, from nowhere", 0, "a", 0, sqlstore.Consumer{}, 0, "", 0, ErrNew},
		{"new, from here", Here, "a", 0, sqlstore.Consumer{}, 0, "", 0, ErrNew},
		{"another's, just before its end", 0, "a", 0, row(3, 1, "a"), 0, "", 1, nil},
		{"another's, at its end", 0, "a", 0, row(3, 0, "a"), 4, "p", 0, nil},
		{"another's, of an earlier life of ours", 0, "a", 2, row(3, 1, "a"), 0, "", 1, nil},
		{"another's, as long as a lease may be", 0, "a", 0, row(3, time.Hour, "a"), 0, "", time.Hour, nil},
		{"another's, by a clock that was ahead", 0, "a", 0, row(3, time.Hour+1, "a"), 4, "p", 0, nil},
		{"ours, by a clock that was ahead", 0, "a", 3, row(3, time.Hour+1, "a"), 3, "p", 0, nil},
		{"ours, at its half", 0, "a", 3, row(3, lease/2, "a"), 0, "", 0, nil},
		{"ours, after its half", 0, "a", 3, row(3, lease/2-1, "a"), 3, "p", 0, nil},
		{"ours, over and taken by nobody", 0, "a", 3, row(3, -lease, "a"), 3, "p", 0, nil},
		{"the beginning of one that is there is its cursor", Beginning, "a", 0, row(3, 0, "a"), 4, "p", 0, nil},
		{"fewer machines", 0, "a", 0, row(3, -lease, "a b"), 0, "", lease, nil},
		{"fewer machines, from here", Here, "a", 0, row(3, -lease, "a b"), 0, "", lease, nil},
		{"other machines, from here", Here, "a c", 0, row(3, -lease, "a b"), 0, "", lease, nil},
		{"more machines", Now, "a b", 0, row(3, -lease, "a"), 0, "", 0, ErrMachines},
		{"more machines, from here", Here, "a b", 0, row(3, 0, "a"), 4, "p", 0, nil},
		{"more machines, from here, before the end", Here, "a b", 0, row(3, 1, "a"), 0, "", 1, nil},
		{"the same machines, from here", Here, "a b", 0, row(3, 0, "a b"), 4, "p", 0, nil},
	} {
		next, until, err := claim(Consumer{Name: "c", From: c.from, Lease: lease}, strings.Fields(c.machines), c.fence, c.row, "head", noon)
		switch {
		case !errors.Is(err, c.err) || c.err == nil && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case (next == nil) != (c.fenceNow == 0) || !until.Equal(time.Time{}) != (c.wait > 0) || c.wait > 0 && !until.Equal(noon.Add(c.wait)):
			t.Errorf("%s: claims %+v, waits until %v", c.name, next, until)
		case next != nil && (next.Fence != c.fenceNow || next.Cursor != c.place || next.Name != "c" ||
			!next.Until.Equal(noon.Add(lease)) || strings.Join(next.Machines, " ") != c.machines):
			t.Errorf("%s: claims %+v", c.name, next)
		}
	}
}

func TestJudge(t *testing.T) {
	own := failure{errors.New("no such account")}
	wrap := func(err error) error { return fmt.Errorf("%w: wrapped", err) }
	for _, c := range []struct {
		name      string
		err       error
		given     int
		parked    bool
		on        OnFailure
		want      verdict
		whichever bool // the same for every count, and for parked lines
	}{
		{"done", nil, 2, false, Stop, done, true},
		{"another process", wrap(errLost), 1, false, Park, lost, true},
		{"restored", wrap(store.ErrRestored), 1, false, Park, fatal, true},
		{"restored, in the function", failure{store.ErrRestored}, 1, false, Park, fatal, true},
		{"no such line", wrap(store.ErrCursor), 1, false, Park, fatal, true},
		{"unknown commit", wrap(store.ErrUnknownCommit), 1, false, Park, again, true},
		{"deadlock", failure{store.ErrRetry}, 1, false, Park, again, true},
		{"no connection", wrap(sqlstore.ErrConnection), 1, false, Park, again, true},
		{"waited for longer than the lease", wrap(errLate), 1, false, Park, late, true},
		{"restored meanwhile", errors.Join(errLate, store.ErrRestored), 1, false, Park, fatal, true},
		{"a page outlasts the lease", wrap(errSlow), 2, false, Park, oneByOne, false},
		{"a line outlasts the lease", wrap(errSlow), 1, false, Stop, late, false},
		{"a line outlasts the lease, of one that parks", wrap(errSlow), 1, false, Park, late, false},
		{"a line outlasts the lease, and the connection is gone", errors.Join(errSlow, sqlstore.ErrConnection), 1, false, Stop, late, false},
		{"a page outlasts the lease, and the connection is gone", errors.Join(errSlow, sqlstore.ErrConnection), 2, false, Stop, oneByOne, false},
		{"a parked line outlasts the lease", wrap(errSlow), 1, true, Park, retry, false},
		{"a statement of ours", errors.New("syntax"), 1, false, Park, fatal, true},
		{"too many parked", failure{ErrTooManyParked}, 2, false, Park, stop, true},
		{"a page fails", own, 2, false, Park, oneByOne, false},
		{"a line fails", own, 1, false, Stop, stop, false},
		{"a line fails and is parked", own, 1, false, Park, park, false},
		{"a parked line fails", own, 1, true, Park, retry, false},
		{"a parked line fails, of one that stops", own, 1, true, Stop, retry, false},
		{"a swallowed error", sqlstore.ErrAborted, 1, false, Stop, stop, false},
		{"an ended transaction", errors.Join(sqlstore.ErrEnded, store.ErrUnknownCommit), 1, false, Stop, stop, false},
	} {
		if got := judge(Consumer{OnFailure: c.on}, c.err, c.given, c.parked); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if c.whichever {
			for given := range 3 {
				if got := judge(Consumer{OnFailure: Stop}, c.err, given, given == 1); got != c.want {
					t.Errorf("%s, %d lines: %d, want %d", c.name, given, got, c.want)
				}
			}
		}
	}
}

func TestWhenAParkedLineIsTried(t *testing.T) {
	p := sqlstore.Parked{Consumer: "c", N: 7}
	for i, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		p = tried(p, errors.New(strings.Repeat("x", 1000)), noon)
		if p.NextTry != noon.Add(wait) || p.Tries != int64(i)+1 || len(p.Error) > 500 || p.Error == "" || p.N != 7 {
			t.Errorf("%+v, want it to wait for %v", p, wait)
		}
	}
	for p.Tries < 100 {
		p = tried(p, errors.New("x"), noon)
	}
	if p.NextTry != noon.Add(24*time.Hour) {
		t.Errorf("after 100 tries it waits until %v", p.NextTry)
	}
	first := statemachine.Transition[string]{Machine: "m", ID: "1", Version: 2}
	lines := []sqlstore.Line{{Transition: first, Aggregate: "a", Root: "r"}, {Aggregate: "b", Root: "r"}}
	rows := parkable(Consumer{Name: "c"}, lines, 4, nil, noon)
	if rows[0].N != 5 || rows[1].N != 6 ||
		!rows[0].NextTry.Equal(noon) || rows[0].Tries != 0 || rows[0].Aggregate != "r a" || rows[0].Version != 2 {
		t.Errorf("%+v", rows)
	}
	rows = parkable(Consumer{Name: "c"}, lines[:1], 4, errors.New("no"), noon)
	if rows[0].Tries != 1 || rows[0].Error != "no" || !rows[0].NextTry.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", rows)
	}
}

func TestSplitMovedAndFailed(t *testing.T) {
	page := []sqlstore.Line{{Aggregate: "a", Root: "r"}, {Aggregate: "b", Root: "r"}, {Aggregate: "a", Root: "other"},
		{Aggregate: "b", Root: "r"}}
	give, skip := split(page, map[string]bool{"r b": true})
	if len(give) != 2 || give[0].Root != "r" || give[1].Root != "other" || len(skip) != 2 {
		t.Errorf("%v, %v", give, skip)
	}
	row := sqlstore.Consumer{Name: "c", Fence: 4, Cursor: "p", Until: noon}
	bad := failed(row, errors.New("no"), true, noon)
	if !bad.Stopped || bad.Error != "no" || bad.Cursor != "p" || bad.Fence != 4 || bad.FailedAt != noon || bad.Until != noon {
		t.Errorf("%+v", bad)
	}
	late := outlasted(outlasted(row, errSlow, noon), errSlow, noon)
	if late.Stopped || late.Late != 2 || late.Error == "" || late.Cursor != "p" || late.FailedAt != noon || late.Until != noon {
		t.Errorf("%+v", late)
	}
	bad.Late = 2
	good := moved(Consumer{Lease: time.Hour}, bad, "q", noon)
	if good.Late != 0 || good.Stopped || good.Error != "" || !good.FailedAt.IsZero() || good.Cursor != "q" || good.Until != noon.Add(time.Hour) {
		t.Errorf("%+v", good)
	}
}

func TestAlerts(t *testing.T) {
	s := Stats{At: noon, Consumer: sqlstore.Consumer{Name: "c", Stopped: true, Error: "no"}, Parked: 2, Lag: time.Hour}
	s.Late = 1
	names := func(all []statemachine.Alert) string {
		var n []string
		for _, a := range all {
			n = append(n, a.Name)
		}
		return strings.Join(n, ", ")
	}
	if got := names(Alerts(s, Thresholds{Parked: 1, Lag: time.Hour - 1})); got != "consumer stopped, consumer parked, consumer late, consumer lag" {
		t.Error(got)
	}
	s.Stopped, s.Late = false, 0
	if got := names(Alerts(s, Thresholds{Parked: 2, Lag: time.Hour})); got != "" {
		t.Error(got)
	}
	if got := names(Alerts(s, Thresholds{Parked: 2})); got != "" {
		t.Error(got)
	}
}
