package relaysync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// What the relays of a page wait for, by cause: the largest group first, errors apart.
func TestByCause(t *testing.T) {
	exhausted := start(t)
	for at := t0; exhausted.s.Phase() != relaysync.PhaseExhausted; at = exhausted.s.Timer.Due {
		exhausted.fail(at, "full")
	}
	untimed := start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s
	untimed.Relay.Synced = false
	failed := func(text string) relaysync.Sync {
		return start(t, claimed(t0), finished(t0, 1, statemachine.Failed, text)).s
	}
	stopped := failed("no route")
	stopped.Level = switches.Begin
	page := []relaysync.Sync{start(t).s, failed("no route"), exhausted.s, failed("no route"), failed("refused"), untimed,
		start(t, claimed(t0)).s, start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s, stopped}
	for at, want := range map[float64][]string{
		10: {"[1 3 8] reactor: its next try: no route", "[0] reactor: a reactor", "[2] operator: a person: full", "[4] reactor: its next try: refused",
			"[5] reactor: a reconcile", "[6] reactor: the server"},
		30: {"[0 1 3 4 6] reactor: a reactor", "[2] operator: a person: full", "[5] reactor: a reconcile", "[8] operator: the switch of relays"},
	} {
		var got []string
		for _, c := range policy.ByCause(page, sec(at)) {
			got = append(got, fmt.Sprintf("%v %v: %s", c.Items, c.Cause.Party, strings.TrimSuffix(c.Cause.Reason+": "+c.Cause.Error, ": ")))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %v s: %q", at, got)
		}
	}
}
