package explore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/settlehq/settle/statemachine/explore"
)

// Two-phase commit as Lamport specifies it in "Consensus on Transaction
// Commit". TLC finds 288 distinct states for three participants and 8832 for
// five.
type commitState struct {
	rm       [maxRMs]byte // 0 working, then 'p', 'c', 'a'
	tm       byte         // 0 init, then 'c', 'a'
	prepared uint16       // whom the manager knows to be prepared
	sent     uint16       // whose "prepared" message is on the wire
	commit   bool         // the messages of the manager
	abort    bool
}

const maxRMs = 5

func twoPhase(n int, impatient bool) explore.Model[commitState] {
	all := uint16(1)<<n - 1
	return explore.Model[commitState]{
		Init: []commitState{{}},
		Next: func(s commitState, step func(string, commitState)) {
			if s.tm == 0 {
				if s.prepared == all || impatient && s.prepared != 0 {
					to := s
					to.tm, to.commit = 'c', true
					step("manager commits", to)
				}
				to := s
				to.tm, to.abort = 'a', true
				step("manager aborts", to)
			}
			for r := range n {
				bit, to := uint16(1)<<r, s
				if s.tm == 0 && s.sent&bit != 0 {
					to.prepared |= bit
					step(fmt.Sprintf("manager hears %d", r), to)
					to = s
				}
				if s.rm[r] == 0 {
					to.rm[r], to.sent = 'p', s.sent|bit
					step(fmt.Sprintf("%d prepares", r), to)
					to = s
					to.rm[r] = 'a'
					step(fmt.Sprintf("%d aborts", r), to)
					to = s
				}
				if s.commit {
					to.rm[r] = 'c'
					step(fmt.Sprintf("%d commits", r), to)
				}
				if s.abort {
					to.rm[r] = 'a'
					step(fmt.Sprintf("%d is told to abort", r), to)
				}
			}
		},
	}
}

func consistent(s commitState) bool {
	var committed, aborted bool
	for _, rm := range s.rm {
		committed = committed || rm == 'c'
		aborted = aborted || rm == 'a'
	}
	return !committed || !aborted
}

func decided(n int, outcome byte) func(commitState) bool {
	return func(s commitState) bool {
		for _, rm := range s.rm[:n] {
			if outcome != 0 && rm != outcome || rm == 0 || rm == 'p' {
				return false
			}
		}
		return true
	}
}

func TestTwoPhaseCommitHasTheKnownNumberOfStates(t *testing.T) {
	for _, c := range []struct {
		participants int
		want         explore.Result
	}{
		{1, explore.Result{States: 12, Transitions: 19, Depth: 4}},
		{2, explore.Result{States: 56, Transitions: 153, Depth: 7}},
		{3, explore.Result{States: 288, Transitions: 1145, Depth: 10}},
		{5, explore.Result{States: 8832, Transitions: 58145, Depth: 16}},
	} {
		result, err := explore.Check(twoPhase(c.participants, false),
			explore.Always("no one commits while another aborts", consistent),
			explore.Reachable("all commit", decided(c.participants, 'c')),
			explore.Reachable("all abort", decided(c.participants, 'a')),
			explore.CanFinish("all can decide", decided(c.participants, 0)),
			explore.NoDeadlock("rest only when decided", decided(c.participants, 0)),
		)
		if err != nil {
			t.Errorf("%d participants: %v", c.participants, err)
		}
		if result != c.want {
			t.Errorf("%d participants: %v, want %v", c.participants, result, c.want)
		}
	}
}

func TestTwoPhaseCommitOfAnImpatientManagerIsInconsistent(t *testing.T) {
	_, err := explore.Check(twoPhase(3, true),
		explore.Always("no one commits while another aborts", consistent),
		explore.Reachable("all commit", decided(3, 'c')),
	)
	var broken *explore.Counterexample[commitState]
	if !errors.As(err, &broken) {
		t.Fatalf("got %v", err)
	}
	if len(broken.Trace) != 1+5 || consistent(broken.Trace[5].State) {
		t.Errorf("the shortest run is to prepare, be heard, be told, commit, and abort elsewhere; got\n%v", broken)
	}
}
