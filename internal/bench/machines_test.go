package bench

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/looplab/fsm"
	"github.com/qmuntal/stateless"

	"github.com/settlehq/settle/statemachine/looplab"
	"github.com/settlehq/settle/withdrawal"
)

var table = withdrawal.JobMachine

// newLooplab and newStateless are an entity in a state, made as the peers'
// documentation shows: with the whole machine. Labels are texts in the first,
// which takes nothing else, and our own bytes in the second.

func newLooplab(tb testing.TB, s withdrawal.JobStatus) *fsm.FSM {
	m, err := looplab.New(table, s, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func newStateless(s withdrawal.JobStatus) *stateless.StateMachine {
	m := stateless.NewStateMachine(s)
	for _, e := range table.Edges() {
		if c := m.Configure(e.From); e.From == e.To {
			c.PermitReentry(e.Trigger)
		} else {
			c.Permit(e.Trigger, e.To)
		}
	}
	return m
}

// entity is what of a record a machine needs.
type entity struct {
	id      uuid.UUID
	status  withdrawal.JobStatus
	version int64
}

func newEntity(s withdrawal.JobStatus) *entity {
	return &entity{id: uuid.New(), status: s, version: 1}
}

func (e *entity) fire(on withdrawal.JobTrigger) error {
	to, err := table.Step(e.status, on)
	if err != nil {
		return err
	}
	e.status = to
	e.version++
	return nil
}

// TestMachines fires every trigger in every state, on all three.
func TestMachines(t *testing.T) {
	ctx := context.Background()
	for _, from := range append([]withdrawal.JobStatus{0}, table.States()...) {
		for _, on := range table.Triggers() {
			want, legal := table.Next(from, on)
			if !legal {
				want = from
			}
			l, s := newLooplab(t, from), newStateless(from)
			err := looplab.Fire(ctx, l, on)
			if (err == nil) != legal || l.Current() != want.String() {
				t.Errorf("looplab: %v --%v--> %v, %v, want %v", from, on, l.Current(), err, want)
			}
			err = s.FireCtx(ctx, on)
			if (err == nil) != legal || s.MustState() != want {
				t.Errorf("stateless: %v --%v--> %v, %v, want %v", from, on, s.MustState(), err, want)
			}
		}
	}
}

const firings = 10_000

// The triggers that are fired, by their texts.
var jobClaim, jobSnooze, jobConfirm = trigger("claim"), trigger("snooze"), trigger("confirm")

func trigger(text string) (t withdrawal.JobTrigger) {
	if err := t.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return t
}

// BenchmarkTransition takes a job from pending to processing and back.
func BenchmarkTransition(b *testing.B) {
	ctx := context.Background()
	e, l, s := newEntity(withdrawal.JobPending), newLooplab(b, withdrawal.JobPending), newStateless(withdrawal.JobPending)
	claim, snooze := jobClaim.String(), jobSnooze.String()
	against(b, func() error {
		for range firings / 2 {
			if err := e.fire(jobClaim); err != nil {
				return err
			}
			if err := e.fire(jobSnooze); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for range firings / 2 {
			if err := l.Event(ctx, claim); err != nil {
				return err
			}
			if err := l.Event(ctx, snooze); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for range firings / 2 {
			if err := s.FireCtx(ctx, jobClaim); err != nil {
				return err
			}
			if err := s.FireCtx(ctx, jobSnooze); err != nil {
				return err
			}
		}
		return nil
	})
}

var errAccepted = errors.New("a pending job was confirmed")

// BenchmarkRefusal confirms a job that nobody has claimed.
func BenchmarkRefusal(b *testing.B) {
	ctx := context.Background()
	e, l, s := newEntity(withdrawal.JobPending), newLooplab(b, withdrawal.JobPending), newStateless(withdrawal.JobPending)
	refused := func(fire func() error) func() error {
		return func() error {
			for range firings {
				if fire() == nil {
					return errAccepted
				}
			}
			return nil
		}
	}
	confirm := jobConfirm.String()
	against(b, refused(func() error { return e.fire(jobConfirm) }),
		refused(func() error { return l.Event(ctx, confirm) }),
		refused(func() error { return s.FireCtx(ctx, jobConfirm) }))
}

func against(b *testing.B, ours, looplab, stateless func() error) {
	for _, peer := range []side{{"looplab", firings, looplab}, {"stateless", firings, stateless}} {
		b.Run(peer.name, func(b *testing.B) { race(b, unit{"ns", time.Nanosecond, nil}, nil, peer, side{"ours", firings, ours}) })
	}
}

// BenchmarkAtRest weighs a machine that is kept in memory: here the id, the
// state and the version; a record's own data would be the same for all.
func BenchmarkAtRest(b *testing.B) {
	for name, peer := range map[string]func() any{
		"looplab":   func() any { return newLooplab(b, withdrawal.JobPending) },
		"stateless": func() any { return newStateless(withdrawal.JobPending) },
	} {
		b.Run(name, func(b *testing.B) {
			var theirs, ours float64
			for b.Loop() {
				theirs = weigh(peer)
				ours = weigh(func() any { return newEntity(withdrawal.JobPending) })
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(theirs, name+"-B")
			b.ReportMetric(ours, "ours-B")
			b.ReportMetric(ours/theirs, "ours-x-of-peer")
		})
	}
}

// weigh returns the bytes of heap that one of many takes.
func weigh(one func() any) float64 {
	all := make([]any, 5000)
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	for i := range all {
		all[i] = one()
	}
	after := heap()
	runtime.KeepAlive(all)
	return (after - before) / float64(len(all))
}
