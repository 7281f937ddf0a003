package relaysync_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/shapes"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/explore"
)

var update = flag.Bool("update", false, "write the edges that the model explores")

// The model has a relay with its history and timer, two reactors, a host that changes the relay,
// and a server that answers, fails, loses answers and applies requests late. Every step of a
// reactor is separate: the reactor may crash, or go on with what it remembers after its lease was
// taken over; it sends nothing after the end of its lease. Time goes on in seconds, in any state.
type world struct {
	rec      relaysync.Sync
	now      int
	reactors [2]reactor
	exists   bool
	secret   int8 // the one that the server keeps
	server   int64
	secrets  int8 // made so far
	wire     packet
	updates  int8       // left
	losses   int8       // answers or requests that may still be lost
	crashes  int8       // left
	edges    shapes.Set // of all worlds: what the model explores
}

type reactor struct {
	fence    int64 // 0: idle
	until    int
	post     bool
	revision int64
	sent     bool // an answer is awaited
	sentAt   int
	answer   relaysync.Answer
	answered bool
	second   bool // the PATCH after a 409
}

// packet is a request without an answer that may still arrive.
type packet struct {
	out      bool
	post     bool
	secret   int8
	revision int64
	until    int
}

var modelPolicy = relaysync.Policy{RelayDomain: "r", MaxAttempts: 1, Lease: 3 * time.Second, Timeout: time.Second, Linger: 2 * time.Second,
	Backoff: statemachine.Backoff{Base: 2 * time.Second, Cap: 2 * time.Second}}

func (w *world) apply(ev relaysync.Event) bool {
	c, err := modelPolicy.Apply(w.rec, ev)
	if err != nil || c.Empty() {
		return false
	}
	if w.edges != nil {
		for i, line := range c.Log {
			if len(c.Log) > 1 {
				panic(fmt.Sprintf("a step of %d lines has no shape between them: %v", i, line))
			}
			w.edges[shapes.Edge{From: relaysynctest.Shape(c.Old), Trigger: line.Trigger, To: relaysynctest.Shape(c.New)}] = true
		}
	}
	w.rec = c.New
	return true
}

func (w *world) by(role relaysync.Role, i int) relaysync.By {
	return relaysync.By{Actor: fmt.Sprint("r", i), Role: role, At: sec(float64(w.now))}
}

// arrive is the server: a POST of a relay that exists changes nothing.
func (w *world) arrive(post bool, secret int8, revision int64) relaysync.Answer {
	switch {
	case post && w.exists:
		return relaysync.Answer{Status: 409, Text: "exists"}
	case !post && !w.exists:
		return relaysync.Answer{Status: 404, Text: "gone"}
	case post:
		w.exists, w.secret = true, secret
	}
	w.server = revision
	return relaysync.Answer{Status: 200}
}

func (w world) next(step func(string, world)) {
	take := func(action string, do func(*world) bool) {
		to := w
		if do(&to) {
			step(action, to)
		}
	}
	take("a second passes", func(w *world) bool {
		w.now++
		if w.wire.out && w.now >= w.wire.until {
			w.wire = packet{}
		}
		return true
	})
	if w.updates > 0 {
		take("the host changes it", func(w *world) bool {
			w.updates--
			return w.apply(relaysync.Activated{By: w.by(relaysync.Host, 9)})
		})
	}
	take("an operator retries", func(w *world) bool {
		return w.rec.Phase() == relaysync.PhaseExhausted && w.apply(relaysync.Retried{By: w.by(relaysync.Operator, 9)})
	})
	if holder := w.rec.Timer.Lease.Holder; holder != "" && w.crashes > 0 && w.losses > 0 { // the holder goes on with what it remembers
		take("an operator takes it for dead", func(w *world) bool {
			w.crashes--
			w.losses-- // only to keep the model small
			return w.apply(relaysync.Revoked{By: w.by(relaysync.Operator, 9), Revocation: statemachine.Revocation{Holder: holder, Reason: "dead"}})
		})
	}
	take("a reconcile", func(w *world) bool { return w.apply(relaysync.Reconciled{By: w.by(relaysync.Reactor, 9)}) })
	if w.wire.out {
		take("a request arrives late", func(w *world) bool {
			w.arrive(w.wire.post, w.wire.secret, w.wire.revision)
			w.wire = packet{}
			return true
		})
	}
	for i := range w.reactors {
		r := w.reactors[i]
		name := fmt.Sprintf("reactor %d ", i)
		if r.fence == 0 {
			take(name+"claims", func(w *world) bool {
				if !w.apply(relaysync.Claimed{By: w.by(relaysync.Reactor, i)}) {
					return false
				}
				a, err := modelPolicy.Attempt(w.rec)
				w.reactors[i] = reactor{fence: w.rec.Timer.Lease.Fence, until: int(w.rec.Timer.Lease.Until.Sub(t0) / time.Second),
					post: err == nil && a.Requests[0].NeedsSecret, revision: w.rec.Relay.Revision}
				return err == nil
			})
			continue
		}
		if w.crashes > 0 {
			take(name+"crashes", func(w *world) bool { w.crashes--; w.reactors[i] = reactor{}; return true })
		}
		send := func(w *world, deliver bool) *reactor {
			r := &w.reactors[i]
			post := r.post && !r.second
			secret := int8(0)
			if post {
				w.secrets++
				secret = w.secrets
			}
			r.sent, r.sentAt = true, w.now
			if deliver {
				r.answer = w.arrive(post, secret, r.revision)
				r.answered = true
			} else {
				w.wire = packet{true, post, secret, r.revision, w.now + 2}
			}
			return r
		}
		if !r.sent && w.now < r.until {
			what := "sends"
			if r.second {
				what = "sends the PATCH after it"
			}
			take(name+what, func(w *world) bool { send(w, true); return true })
			if w.losses > 0 {
				take(name+"sends, the answer is lost", func(w *world) bool {
					w.losses--
					send(w, true).answered = false
					return true
				})
				take(name+"sends, the server fails", func(w *world) bool {
					w.losses--
					r := &w.reactors[i]
					r.sent, r.answered, r.answer = true, true, relaysync.Answer{Status: 500}
					return true
				})
				if !w.wire.out {
					take(name+"sends, the request is slow", func(w *world) bool { w.losses--; send(w, false); return true })
				}
			}
		}
		if !r.sent && w.now >= r.until {
			take(name+"gives up its lease", func(w *world) bool {
				o := statemachine.Deferred
				if r.second {
					o = statemachine.Unknown // the POST was answered, and it sent something
				}
				w.apply(relaysync.Finished{By: w.by(relaysync.Reactor, i), Fence: r.fence, Outcome: o})
				w.reactors[i] = reactor{}
				return true
			})
		}
		if r.sent && r.answered {
			take(name+"has an answer", func(w *world) bool {
				r := &w.reactors[i]
				a := relaysync.Attempt{Requests: []relaysync.Request{{Method: "PATCH"}}}
				answers := []relaysync.Answer{r.answer}
				if r.post {
					a.Requests = []relaysync.Request{{Method: "POST", NeedsSecret: true}, {Method: "PATCH"}}
					if r.second {
						answers = []relaysync.Answer{{Status: 409}, r.answer}
					}
				}
				follow, o, text := a.Judge(answers...)
				if follow != nil {
					r.second, r.sent, r.answered = true, false, false
					return true
				}
				w.apply(relaysync.Finished{By: w.by(relaysync.Reactor, i), Fence: r.fence, Outcome: o, Error: text})
				w.reactors[i] = reactor{}
				return true
			})
		}
		if r.sent && !r.answered && w.now > r.sentAt {
			take(name+"has no answer", func(w *world) bool {
				w.apply(relaysync.Finished{By: w.by(relaysync.Reactor, i), Fence: r.fence, Outcome: statemachine.Unknown})
				w.reactors[i] = reactor{}
				return true
			})
		}
	}
}

// key forgets what no rule looks at: absolute times, versions and fences.
func (w world) key() string {
	rel := func(t time.Time, least int) int {
		if t.IsZero() {
			return 99
		}
		return max(int(t.Sub(sec(float64(w.now)))/time.Second), least)
	}
	r, t := &w.rec.Relay, &w.rec.Timer
	k := fmt.Sprint(w.rec.Phase(), r.Synced, r.SyncError != "", min(w.rec.History.Streak, 2), w.rec.History.Completed,
		r.Revision-t.Revision, t.Backoff,
		rel(t.Due, 0), rel(t.Lease.Until, -2), t.Lease.Holder != "", rel(t.UnansweredAt, -2),
		t.ClaimedAt.Before(t.UnansweredAt.Add(modelPolicy.Linger)), "|", w.exists, r.Revision-w.server,
		w.updates, w.losses, w.crashes)
	var each [2]string
	for i, a := range w.reactors {
		if a.fence == 0 {
			continue
		}
		each[i] = fmt.Sprint("|", a.fence == t.Lease.Fence, max(a.until-w.now, 0), a.post, r.Revision-a.revision, a.sent, w.now > a.sentAt,
			a.answer.Status, a.answered, a.second)
	}
	k += min(each[0], each[1]) + max(each[0], each[1]) // two reactors are alike
	if w.wire.out {
		k += fmt.Sprint("|", w.wire.post, r.Revision-w.wire.revision, w.wire.until-w.now)
	}
	return k
}

// mustAct is who acts at last where it can again and again: time and the reactors, each by each of
// its steps. The host, the operator, crashes and a server that fails need not.
func mustAct(action string) string {
	switch action = strings.NewReplacer("reactor 0 ", "", "reactor 1 ", "").Replace(action); action {
	case "a second passes", "a reconcile", "claims", "sends", "sends the PATCH after it", "gives up its lease", "has an answer", "has no answer":
		return action
	}
	return ""
}

func TestModel(t *testing.T) {
	c, err := modelPolicy.Apply(relaysync.Sync{}, created(t0))
	if err != nil {
		t.Fatal(err)
	}
	first := world{rec: c.New, updates: 1, losses: 1, crashes: 1, edges: shapes.Set{}}
	if os.Getenv("SETTLE_SOAK") != "" {
		first.losses = 2
	}
	owner := func(w world) bool {
		return !w.rec.Relay.Pending() || !w.rec.Timer.Due.IsZero() || w.rec.Phase() == relaysync.PhaseSyncing ||
			w.rec.Phase() == relaysync.PhaseExhausted
	}
	synced := func(w world) error {
		switch {
		case !w.rec.Relay.Synced:
			return nil
		case !w.exists || w.server != w.rec.Relay.Revision:
			return fmt.Errorf("the server has revision %d, the relay is at %d", w.server, w.rec.Relay.Revision)
		case w.wire.out && !w.wire.post && w.wire.revision != w.rec.Relay.Revision:
			return fmt.Errorf("revision %d may still arrive", w.wire.revision)
		}
		return nil
	}
	// slow is the exception: a reactor whose call outlives its lease, again and again, never syncs.
	slow := func(w world) bool {
		return slices.ContainsFunc(w.reactors[:], func(r reactor) bool { return r.fence != 0 && w.now >= r.until })
	}
	result, err := explore.CheckBy(explore.Model[world]{Init: []world{first}, Next: func(w world, step func(string, world)) {
		w.next(func(action string, to world) {
			if w.exists && w.secret != to.secret {
				t.Fatalf("%s: the secret changed", action)
			}
			step(action, to)
		})
	}}, world.key,
		explore.Valid("the record is sound", func(w world) error { return relaysync.Check(w.rec) }),
		explore.Always("what is unsynced has a timer, a sync or a record that it was given up", owner),
		explore.Valid("synced: the server has the last change, and no other can arrive", synced),
		explore.CanFinish("the relay is synced", func(w world) bool { return w.rec.Relay.Synced && w.updates == 0 }),
		explore.EndsFairly("it is synced, or an operator is told that it was given up", func(w world) bool {
			return w.rec.Relay.Synced || w.rec.Phase() == relaysync.PhaseExhausted || slow(w)
		}, mustAct),
		explore.Reachable("exhausted", func(w world) bool { return w.rec.Phase() == relaysync.PhaseExhausted }),
		explore.Reachable("a holder without its lease", func(w world) bool {
			return w.reactors[0].sent && w.reactors[0].fence > 0 && w.reactors[0].fence < w.rec.Timer.Lease.Fence
		}),
		explore.Reachable("a slow request beside another sync",
			func(w world) bool { return w.wire.out && w.rec.Phase() == relaysync.PhaseSyncing }),
		explore.Reachable("a holder whose lease was revoked", func(w world) bool {
			t := &w.rec.Timer
			return t.LapsedFence == t.Lease.Fence && t.LapsedFence > 0 && (w.reactors[0].fence == t.LapsedFence && w.reactors[0].sent)
		}),
		explore.Reachable("a lease that lapsed", func(w world) bool { return w.rec.Timer.Lapses > 0 }),
	)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("relaysynctest/testdata/edges.txt", []byte(first.edges.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile("relaysynctest/testdata/edges.txt"); err != nil || first.losses == 1 && string(kept) != first.edges.String() {
		t.Errorf("the edges have changed, run it with -update: %v", err)
	}
	if first.losses == 1 && result != (explore.Result{States: 134853, Transitions: 521153, Depth: 46}) {
		t.Errorf("the model has changed: %v", result)
	}
	t.Log(result)
}
