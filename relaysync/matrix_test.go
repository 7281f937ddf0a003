package relaysync_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
)

func TestTableAgreesWithLooplab(t *testing.T) { looplabtest.Agree(t, relaysync.Machine) }

// The table, written out a second time: every pair that is not here is refused.
func TestTable(t *testing.T) {
	want := map[string]bool{"none create due": true, "syncing success clean": true, "syncing stale success due": true,
		"syncing follow due": true, "syncing failure waiting": true, "syncing retries exhausted exhausted": true,
		"syncing stale failure due": true, "syncing release due": true, "due claim syncing": true, "waiting claim syncing": true,
		"syncing takeover syncing": true, "clean reconcile due": true, "clean reconcile error waiting": true,
		"clean reconcile exhausted exhausted": true, "due reconcile due": true, "waiting reconcile waiting": true,
		"syncing reconcile syncing": true, "clean retry due": true, "waiting retry due": true, "exhausted retry due": true}
	for _, from := range []string{"clean", "due", "waiting", "exhausted", "syncing"} {
		to := "due"
		if from == "syncing" {
			to = from
		}
		for _, on := range []string{"update", "activate", "deactivate", "recreate", "late send"} {
			want[from+" "+on+" "+to] = true
		}
		want[from+" delete deleted"] = true
	}
	for _, from := range append([]relaysync.Phase{0}, relaysync.Machine.States()...) {
		for _, on := range relaysync.Machine.Triggers() {
			if to, ok := relaysync.Machine.Next(from, on); ok {
				edge := fmt.Sprintf("%v %v %v", from, on, to)
				if !want[edge] {
					t.Errorf("unexpected edge %q", edge)
				}
				delete(want, edge)
			}
		}
	}
	for edge := range want {
		t.Errorf("missing edge %q", edge)
	}
	for _, s := range relaysync.Machine.States() {
		if relaysync.Machine.Terminal(s) != (s == relaysync.PhaseDeleted) {
			t.Errorf("%v: terminal is %v", s, relaysync.Machine.Terminal(s))
		}
	}
}

// The table has the result of every event in every situation: "-" is a no-op, every other entry
// is the new phase with its trigger, or the refusal.
func TestEveryEventInEverySituation(t *testing.T) {
	now := sec(1000)
	other := claimed(sec(60))
	other.Actor = "reactor-2"
	order := []string{"none", "due", "due later", "syncing", "syncing changed", "lapsed", "taken over", "waiting", "waiting due", "exhausted",
		"clean", "untimed", "untimed error", "deleted"}
	situations := map[string]func() relaysync.Sync{
		"none": func() relaysync.Sync { return relaysync.Sync{} },
		"due":  func() relaysync.Sync { return start(t).s },
		"due later": func() relaysync.Sync {
			return start(t, claimed(sec(980)), finished(sec(981), 1, statemachine.Unknown, ""), updated(sec(982), "b"), claimed(sec(982)),
				finished(sec(983), 2, statemachine.Done, "")).s
		},
		"syncing":         func() relaysync.Sync { return start(t, claimed(sec(999))).s },
		"syncing changed": func() relaysync.Sync { return start(t, claimed(sec(998)), updated(sec(999), "b")).s },
		"lapsed":          func() relaysync.Sync { return start(t, claimed(t0)).s },
		"taken over":      func() relaysync.Sync { o := other; o.At = sec(999); return start(t, claimed(t0), o).s },
		"waiting": func() relaysync.Sync {
			return start(t, claimed(sec(999)), finished(sec(999), 1, statemachine.Failed, "no")).s
		},
		"waiting due": func() relaysync.Sync { return start(t, claimed(t0), finished(t0, 1, statemachine.Failed, "no")).s },
		"exhausted": func() relaysync.Sync {
			l := start(t)
			for at := t0; l.s.Phase() != relaysync.PhaseExhausted; at = l.s.Timer.Due {
				l.fail(at, "no")
			}
			return l.s
		},
		"clean": func() relaysync.Sync { return start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s },
		"untimed": func() relaysync.Sync {
			s := start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s
			s.Relay.Synced = false
			return s
		},
		"untimed error": func() relaysync.Sync {
			s := start(t, claimed(t0), finished(t0, 1, statemachine.Done, "")).s
			s.Relay.SyncError = "x"
			return s
		},
		"deleted": func() relaysync.Sync { return start(t, relaysync.Deleted{By: by(relaysync.Host, t0)}).s },
	}
	events := []struct {
		name string
		ev   func(s relaysync.Sync) relaysync.Event
	}{
		{"create", func(relaysync.Sync) relaysync.Event { return created(now) }},
		{"create another", func(relaysync.Sync) relaysync.Event { e := created(now); e.Tenant = "x"; return e }},
		{"update", func(relaysync.Sync) relaysync.Event { return updated(now, "u") }},
		{"activate", func(relaysync.Sync) relaysync.Event { return relaysync.Activated{By: by(relaysync.Host, now)} }},
		{"deactivate", func(relaysync.Sync) relaysync.Event { return relaysync.Deactivated{By: by(relaysync.Biller, now)} }},
		{"delete", func(relaysync.Sync) relaysync.Event { return relaysync.Deleted{By: by(relaysync.Host, now)} }},
		{"claim", func(relaysync.Sync) relaysync.Event { return claimed(now) }},
		{"done", func(s relaysync.Sync) relaysync.Event {
			return finished(now, s.Timer.Lease.Fence, statemachine.Done, "")
		}},
		{"failed", func(s relaysync.Sync) relaysync.Event {
			return finished(now, s.Timer.Lease.Fence, statemachine.Failed, "n")
		}},
		{"unknown", func(s relaysync.Sync) relaysync.Event {
			return finished(now, s.Timer.Lease.Fence, statemachine.Unknown, "n")
		}},
		{"deferred", func(s relaysync.Sync) relaysync.Event {
			return finished(now, s.Timer.Lease.Fence, statemachine.Deferred, "")
		}},
		{"late done", func(s relaysync.Sync) relaysync.Event {
			return finished(now, max(s.Timer.Lease.Fence-1, 1), statemachine.Done, "")
		}},
		{"revoke", func(relaysync.Sync) relaysync.Event {
			return relaysync.Revoked{By: by(relaysync.Operator, now),
				Revocation: statemachine.Revocation{Holder: "reactor-1", Reason: "its machine burnt"}}
		}},
		{"reconcile", func(relaysync.Sync) relaysync.Event { return relaysync.Reconciled{By: by(relaysync.Reactor, now)} }},
		{"retry", func(relaysync.Sync) relaysync.Event { return relaysync.Retried{By: by(relaysync.Operator, now)} }},
		{"recreate", func(relaysync.Sync) relaysync.Event { return relaysync.Recreated{By: by(relaysync.Operator, now)} }},
	}
	const matrix = `
create | due (create) | - | illegal | - | illegal | - | - | - | - | - | - | - | - | illegal
create another | due (create) | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal | illegal
update | not found | due (update) | due (update) | syncing (update) | syncing (update) | syncing (update) | syncing (update) | due (update) | due (update) | due (update) | due (update) | due (update) | due (update) | illegal
activate | not found | due (activate) | due (activate) | syncing (activate) | syncing (activate) | syncing (activate) | syncing (activate) | due (activate) | due (activate) | due (activate) | due (activate) | due (activate) | due (activate) | illegal
deactivate | not found | due (deactivate) | due (deactivate) | syncing (deactivate) | syncing (deactivate) | syncing (deactivate) | syncing (deactivate) | due (deactivate) | due (deactivate) | due (deactivate) | due (deactivate) | due (deactivate) | due (deactivate) | illegal
delete | not found | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | deleted (delete) | -
claim | not found | syncing (claim) | illegal | held | held | syncing (takeover) | held | illegal | syncing (claim) | illegal | illegal | illegal | illegal | illegal
done | not found | fenced | - | clean (success) | due (stale success) | clean (success) | fenced | - | - | - | - | - | - | -
failed | not found | fenced | - | waiting (failure) | due (stale failure) | waiting (failure) | fenced | - | - | - | - | - | - | -
unknown | not found | fenced | - | waiting (failure) | due (stale failure) | waiting (failure) | fenced | - | - | - | - | - | - | -
deferred | not found | fenced | - | due (release) | due (release) | due (release) | fenced | - | - | - | - | - | - | -
late done | not found | fenced | - | clean (success) | due (stale success) | clean (success) | syncing (late send) | - | - | - | - | - | - | -
revoke | not found | - | - | due (release) | due (release) | due (release) | - | - | - | - | - | - | - | -
reconcile | not found | - | - | - | - | - | - | - | - | - | - | due (reconcile) | waiting (reconcile error) | -
retry | not found | - | - | - | - | - | - | due (retry) | due (retry) | due (retry) | due (retry) | due (retry) | due (retry) | illegal
recreate | not found | due (recreate) | due (recreate) | syncing (recreate) | syncing (recreate) | syncing (recreate) | syncing (recreate) | due (recreate) | due (recreate) | due (recreate) | due (recreate) | due (recreate) | due (recreate) | illegal`
	want := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(matrix), "\n") {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		want[cells[0]] = cells[1:]
	}
	if len(want) != len(events) || len(situations) != len(order) {
		t.Errorf("the matrix has %d rows for %d events", len(want), len(events))
	}
	for _, e := range events {
		var got []string
		for _, name := range order {
			s := situations[name]()
			c, err := policy.Apply(s, e.ev(s))
			if err != nil && (c.New != s || c.Log != nil || c.Activities != nil) {
				t.Errorf("%s in %s: a refusal changed something", e.name, name)
			}
			if err == nil && c.New.Relay.Version > 0 && !strings.HasPrefix(name, "untimed") {
				if err := relaysync.Check(c.New); err != nil {
					t.Errorf("%s in %s: %v", e.name, name, err)
				}
			}
			got = append(got, word(c, err))
		}
		if !slices.Equal(got, want[e.name]) {
			t.Errorf("\n%s | %s\nexpected\n%s | %s", e.name, strings.Join(got, " | "), e.name, strings.Join(want[e.name], " | "))
		}
	}
}

func word(c relaysync.Change, err error) string {
	for text, sentinel := range map[string]error{"illegal": statemachine.ErrIllegal, "fenced": statemachine.ErrFenced,
		"held": statemachine.ErrHeld, "not found": statemachine.ErrNotFound, "invalid": statemachine.ErrInvalid} {
		if errors.Is(err, sentinel) {
			return text
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case c.Empty():
		return "-"
	}
	return c.Log[0].To + " (" + c.Log[0].Trigger + ")"
}
