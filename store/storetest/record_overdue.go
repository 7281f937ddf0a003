package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// What is unfinished is named by an alert a bounded time after it entered its state, in
// every domain.

// overdue is how a domain says so.
type overdue[T, A any] struct {
	// states are those in which something is unfinished, see unfinished: each is the state
	// of a record of some stage.
	states []string
	// until is how long after start at the latest an alert names an aggregate that a stage
	// has just made: what the domain documents for its default policy and thresholds.
	until func(*A) time.Duration
	// rests says that a person has the aggregate, or that it waits for nothing, in whatever
	// state; nil: none does.
	rests func(*A) bool
	// alerts are the names of those alerts at now, by the default thresholds, that say that
	// something waits for too long.
	alerts func(tx T, now time.Time) ([]string, error)
	// again makes happen what may happen for ever while an aggregate waits, such as a retry,
	// at the store's time now; nil: a touch of the stage, if it has one.
	again func(t testing.TB, a *A, now time.Time)
}

// walkedElsewhere are the aggregates that do not have a stage here for each state: a test of their own package walks
// the states of their machines (TestInEveryStateWhatIsNotFinishedIsOverdue of swap, TestWhatIsUnfinishedIsTold of
// utxo). Any other aggregate must say here when it is overdue.
var walkedElsewhere = []string{"swap.Deposit", "swap.Credit", "utxo.Tx"}

// waitForNothing are the aggregates of which no state waits: a person moves a switch, and
// what waits behind it is named by its own domain.
var waitForNothing = []string{"switches.Switch"}

// unfinished names the states of a machine that are neither an end nor one of rest.
func unfinished[S, L statemachine.Label](m *statemachine.Machine[S, L], rest ...S) (all []string) {
	for _, s := range m.States() {
		if !m.Terminal(s) && !slices.Contains(rest, s) {
			all = append(all, m.Name()+" "+s.String())
		}
	}
	return all
}

// overdueInTime proves it of one of each stage, each in a store of its own: in silence, and
// while the same happens again and again. Each unfinished state is that of a stage.
func overdueInTime[T store.Journaled, K, L comparable, A, E, C any](t *testing.T, open func(*testing.T) *subject[T, K, L, A, E, C]) {
	s := open(t)
	name := reflect.TypeFor[A]().String()
	if s.overdue == nil {
		if slices.Contains(waitForNothing, name) {
			t.Skip("it waits for nothing in any state")
		}
		if !slices.Contains(walkedElsewhere, name) {
			t.Fatalf("nothing says when a %s is overdue", name)
		}
		t.Skip("a test of its own package walks its states")
	}
	if slices.Contains(walkedElsewhere, name) {
		t.Errorf("%s says when it is overdue: take it out of the list", name)
	}
	seen := map[string]bool{}
	for i := range s.stages {
		for _, silent := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, silent %v", s.stages[i].name, silent), func(t *testing.T) {
				s := open(t)
				g, o := &s.stages[i], s.overdue
				a := s.make(t, g)
				waits := false
				for _, state := range s.lastStates(t, &a) {
					seen[state] = true
					waits = waits || slices.Contains(o.states, state)
				}
				if !waits || o.rests != nil && o.rests(&a) {
					t.Skip("it waits for nothing")
				}
				alerts := func(after time.Duration) []string {
					return must(read(s.Store, func(tx T) ([]string, error) { return o.alerts(tx, start.Add(after)) }))(t)
				}
				if got := alerts(0); len(got) > 0 {
					t.Errorf("at once there is an alert: %v", got)
				}
				until, times := o.until(&a), usual(4, 20)
				for n := range times {
					if silent {
						break
					}
					now := start.Add(until * time.Duration(n+1) / time.Duration(times+1))
					dated(s.Store, now)
					a = s.get(t, s.id(&a))
					switch {
					case o.again != nil:
						o.again(t, &a, now)
					case g.touch != nil:
						s.do(t, s.id(&a), g.touch(&a, now))
					}
				}
				if got := alerts(until + tick); len(got) == 0 {
					t.Errorf("it waits for more than %v, and no alert says so: %v", until, s.lastStates(t, &a))
				}
			})
		}
	}
	for _, state := range s.overdue.states {
		if !seen[state] {
			t.Errorf("%s is the state of no stage: nothing says when it is overdue", state)
		}
	}
}

// lastStates are the machine and the state of each record of an aggregate, by its trail.
func (s *subject[T, K, L, A, E, C]) lastStates(t testing.TB, a *A) (all []string) {
	t.Helper()
	noError(t, s.View(ctx, func(tx T) error {
		all = nil
		for _, r := range s.states(a) {
			lines, err := s.records(tx).Transitions(r.id)
			if err != nil {
				return err
			}
			if len(lines) > 0 {
				all = append(all, lines[len(lines)-1].Machine+" "+lines[len(lines)-1].To)
			}
		}
		return nil
	}))
	return all
}
