package relaysync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// A relay that has reached the limit of paths takes no new path until an operator's Recreated has
// ended in a sync after which no other request can arrive.
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

// Another writer has left a document for which there is no room. An operator's Recreated sends it
// as it is, and a host can send it after cutting it back.
func TestADocumentWithoutRoom(t *testing.T) {
	wide := func(prefix string, n int) relaysync.Document {
		var keys []string
		for k := range n {
			keys = append(keys, fmt.Sprintf(`"%s%d":1`, prefix, k))
		}
		return relaysync.Document("{" + strings.Join(keys, ",") + "}")
	}
	x := start(t)
	u := updated(t0, "a")
	u.Roles = wide("a", 3000)
	x.do(u)
	x.succeed(t0)
	u.Roles = wide("b", 10)
	x.do(u)
	full, err := policy.Apply(relaysync.Sync{},
		relaysync.Created{By: u.By, Relay: "x", Tenant: "t", Subdomain: "x", Config: relaysync.Config{Info: u.Info, Roles: wide("b", 3000)}})
	if err != nil {
		t.Fatal(err)
	}
	x.s.Relay.Roles = full.New.Relay.Roles
	sent := x.s.Relay.Sent
	x.do(claimed(t0))
	if _, err := policy.Attempt(x.s); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "Recreated") ||
		x.s.Relay.Sent != sent {
		t.Fatalf("3000 paths beside 3000 others: %v", err)
	}
	x.do(finished(t0, x.s.Timer.Lease.Fence, statemachine.Failed, "no room"))
	stuck := *x

	x.do(relaysync.Recreated{By: by(relaysync.Operator, sec(40)), Reason: "no room"})
	if _, err := policy.Attempt(x.s); err != nil {
		t.Error(err)
	}
	x.do(claimed(sec(40)))
	a, err := policy.Attempt(x.s)
	if err != nil || a.Requests[0].Method != "POST" || strings.Contains(string(a.Requests[0].Body), "null") ||
		strings.Count(string(a.Requests[1].Body), "null") != 3000 {
		t.Fatalf("after Recreated: %v", err)
	}
	if n := strings.Count(string(x.s.Relay.Sent), "{}"); n < 6000 {
		t.Errorf("%d paths are on file before a PATCH may bring 6000", n)
	}
	x.do(finished(sec(41), x.s.Timer.Lease.Fence, statemachine.Unknown, "time-out"))
	x.do(claimed(sec(100)), finished(sec(100), x.s.Timer.Lease.Fence+1, statemachine.Done, ""))
	if n := strings.Count(string(x.s.Relay.Sent), "{}"); !x.s.Relay.Synced || n > 3010 {
		t.Errorf("%v, %d paths after the success", x.s.Phase(), n)
	}

	// A success that is followed by another sync ends the order to recreate. The paths that are
	// on file already are sent once more, and the limit does not stop them.
	y := stuck
	y.do(relaysync.Recreated{By: by(relaysync.Operator, sec(40))}, claimed(sec(40)),
		finished(sec(41), y.s.Timer.Lease.Fence+1, statemachine.Unknown, "time-out"))
	y.do(relaysync.Retried{By: by(relaysync.Operator, sec(42))}, claimed(sec(42)),
		finished(sec(43), y.s.Timer.Lease.Fence+1, statemachine.Done, ""), claimed(sec(73)))
	if a, err := policy.Attempt(y.s); err != nil || a.Requests[0].Method != "PATCH" {
		t.Errorf("the sync that follows: %v", err)
	}

	stuck.do(updated(sec(40), "cut back"))
	stuck.succeed(sec(40))
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
