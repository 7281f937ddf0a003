package relaysync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// A relay that has had as many paths as are kept takes no new one until an
// operator's Recreated has ended in a sync after which nothing else arrives.
func TestTheWayOnAfterTooManyPaths(t *testing.T) {
	full := func(n int, at float64) relaysync.Updated {
		var keys []string
		for k := range 1000 {
			keys = append(keys, fmt.Sprintf(`"k%d_%d":1`, n, k))
		}
		u := updated(sec(at), "a")
		u.Policy = relaysync.Document("{" + strings.Join(keys, ",") + "}")
		return u
	}
	x := start(t)
	at, fence := 0.0, int64(0)
	sync := func(later float64, o statemachine.Outcome) {
		t.Helper()
		at, fence = at+later, fence+1
		x.do(claimed(sec(at)), finished(sec(at), fence, o, "no"))
	}
	recreated := func() relaysync.Recreated {
		return relaysync.Recreated{By: by(relaysync.Operator, sec(at)), Reason: "too many paths"}
	}
	sync(0, statemachine.Done)
	for n := range 4 {
		x.do(full(n, at))
		sync(1, statemachine.Done)
	}
	refused := func(what string) {
		t.Helper()
		if _, err := policy.Apply(x.s, full(4, at)); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "Recreated") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("without an operator")
	x.do(recreated())
	refused("before its sync")
	sync(0, statemachine.Failed)
	refused("after a failure")
	sync(1000, statemachine.Unknown)
	x.do(recreated())
	sync(1, statemachine.Done)
	refused("while what is unanswered may bring a path back")
	x.do(recreated(), claimed(sec(at)), updated(sec(at), "b"), finished(sec(at), fence+1, statemachine.Done, ""))
	fence++
	refused("after a sync of what the relay was before")
	sync(1000, statemachine.Done)
	x.do(full(4, at))
	a, err := policy.Attempt(x.s)
	if body := string(a.Requests[0].Body); err != nil || strings.Contains(body, "null") || !strings.Contains(body, `"k4_7":1`) {
		t.Errorf("what is forgotten is named again: %v", err)
	}
}

// An attempt of nothing is an answer, and no panic.
func TestAttemptsOfNothing(t *testing.T) {
	post := relaysync.Attempt{Requests: []relaysync.Request{{Method: "POST", NeedsSecret: true}}}
	for name, judge := range map[string]func() (*relaysync.Request, statemachine.Outcome, string){
		"zero": func() (*relaysync.Request, statemachine.Outcome, string) { return relaysync.Attempt{}.Judge() },
		"zero, answered": func() (*relaysync.Request, statemachine.Outcome, string) {
			return relaysync.Attempt{}.Judge(relaysync.Answer{Status: 409})
		},
		"a POST without its PATCH": func() (*relaysync.Request, statemachine.Outcome, string) {
			return post.Judge(relaysync.Answer{Status: 409})
		},
	} {
		if next, o, text := judge(); next != nil || o != statemachine.Failed || text == "" {
			t.Errorf("%s: %v, %v, %q", name, next, o, text)
		}
	}
}
