package refresh_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
)

func TestTablesAgreeWithLooplab(t *testing.T) {
	looplabtest.Agree(t, refresh.JobMachine)
	looplabtest.Agree(t, refresh.WatcherMachine)
	looplabtest.Agree(t, refresh.WalletMachine)
}

// The tables, written out a second time: every pair that is not here is refused.
func TestTables(t *testing.T) {
	compareTable(t, refresh.JobMachine, `
none enqueue pending, pending claim processing, processing complete completed, processing max retries failed,
processing permanent error failed, processing retry pending, processing defer pending, processing release pending,
processing lease expired pending`)
	compareTable(t, refresh.WatcherMachine, `
none invoice created watching, none transfer listed watching, watching transfer settled settled, watching transfer failed failed,
watching transfer cancelled expired, watching expired open expired, watching expired gone expired, watching provisional expired expired,
watching asset found watching, watching cancellation failed watching, watching transfer moved watching, expired transfer listed watching,
settled transfer listed watching, failed transfer listed watching`)
	compareTable(t, refresh.WalletMachine, `
none first job unserved, unserved claim slot served, served idle unserved, served yield unserved, served hung unserved,
served slot lost unserved, served answered served, served reconcile served, unserved reconcile unserved`)
}

func compareTable[S, T statemachine.Label](t *testing.T, m *statemachine.Machine[S, T], text string) {
	t.Helper()
	want := map[string]bool{}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\n", " "), ",") {
		want[strings.TrimSpace(line)] = true
	}
	for _, from := range append([]S{0}, m.States()...) {
		for _, on := range m.Triggers() {
			if to, ok := m.Next(from, on); ok {
				edge := fmt.Sprintf("%v %v %v", from, on, to)
				if !want[edge] {
					t.Errorf("%s: unexpected edge %q", m.Name(), edge)
				}
				delete(want, edge)
			}
		}
	}
	for edge := range want {
		t.Errorf("%s: missing edge %q", m.Name(), edge)
	}
}

// The texts are those of the source.
func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		fmt.Sprint(refresh.JobStatus(0).Values()):     "[pending processing completed failed]",
		fmt.Sprint(refresh.WatcherStatus(0).Values()): "[watching settled failed expired]",
		fmt.Sprint(refresh.Cause(0).Values()):         "[sync asset_sent invoice_created recovery manual]",
		fmt.Sprint(refresh.EndReason(0).Values()):     "[transfer cancelled expired_open expired_gone provisional]",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Who may send what.
func TestRoles(t *testing.T) {
	allowed := map[string]string{"Enqueued": "api operator", "Recovering": "orchestrator", "SlotClaimed": "orchestrator",
		"SlotElapsed": "orchestrator", "Reconciled": "orchestrator", "RoundEnded": "wallet-worker", "Locked": "api operator",
		"Unlocked": "api operator", "JobClaimed": "wallet-worker", "JobDone": "wallet-worker", "JobNotDone": "wallet-worker",
		"Looked": "wallet-worker", "Ticked": "wallet-worker", "Elapsed": "wallet-worker"}
	for _, r := range append([]refresh.Role{0, 99}, refresh.Role(0).Values()...) {
		b := by(r, t0)
		b.Actor = "somebody"
		for _, ev := range []refresh.Event{refresh.Enqueued{By: b}, refresh.Recovering{By: b}, refresh.SlotClaimed{By: b},
			refresh.SlotElapsed{By: b}, refresh.Reconciled{By: b}, refresh.RoundEnded{By: b}, refresh.Locked{By: b}, refresh.Unlocked{By: b},
			refresh.JobClaimed{By: b}, refresh.JobDone{By: b}, refresh.JobNotDone{By: b}, refresh.Looked{By: b}, refresh.Ticked{By: b},
			refresh.Elapsed{By: b}} {
			_, err := config.Apply(refresh.Work{}, ev)
			name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "refresh.")
			want := !strings.Contains(allowed[name], r.String())
			if errors.Is(err, statemachine.ErrForbidden) != want {
				t.Errorf("%s by %v: %v", name, r, err)
			}
		}
	}
	if _, err := config.Apply(refresh.Work{}, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
}
