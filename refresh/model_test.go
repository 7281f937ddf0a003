package refresh_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/explore"
)

// The model has one wallet with an invoice without asset and a sync job, two processes, an
// orchestrator, a node with one transfer, and time in units of 30 s, which is the length of
// every lease and of the interval. Every step of a process is separate: the process may die,
// stop for ever, or go on with what it remembers long after its slot, its job and its lock were
// taken over. Each event is applied to the stored records, as a store does under a lock of the
// wallet's row.
type node struct {
	work    refresh.Work
	now     time.Time
	fence   int64
	workers [2]process
	listed  transferState
	old     bool // the transfer's expiration is past: it can be cancelled while open
	fenced  bool // some process met ErrFenced
	fault   string
}

type transferState int8

const (
	hidden transferState = iota
	noAsset
	withAsset
	settled
	failedAtNode
)

// process is what a process remembers.
type process struct {
	phase phase
	held  refresh.Fences
	until time.Time // of the lock, by its own clock
	began time.Time
	list  refresh.Listing
	tick  refresh.Tick
}

type phase int8

const (
	idle    phase = iota
	serving       // has the slot, as far as it knows
	passing       // claimed a job and the lock; to call the node
	listing2
	ticking // took the lock in a tick; to call the node
	called
)

const unit = 30 * time.Second

var modelConfig = func() refresh.Policy {
	c := config
	c.RetryDelayBase, c.MaxRefreshRetries = unit, 2
	c.ProvisionalTTL, c.WatcherTTL, c.DurationRcvTransfer = 2*unit, 3*unit, unit
	c.WalletWorkerPollInterval = unit
	return c
}()

func (n node) transfers() refresh.Listing {
	l := refresh.Listing{Answered: n.now}
	if n.listed == hidden {
		return l
	}
	t := refresh.Transfer{Recipient: "r", Kind: refresh.ReceiveBlind, HasIndex: true}
	if n.listed >= withAsset {
		t.Asset = "asset"
	}
	if n.old {
		t.Expiration = t0.Unix() - 1
	}
	switch n.listed {
	case settled:
		t.Status = refresh.TransferSettled
	case failedAtNode:
		t.Status = refresh.TransferFailed
	}
	l.Transfers = []refresh.Transfer{t}
	return l
}

// apply stores what a process sends.
func (n node) apply(ev refresh.Event) (node, refresh.Change, error) {
	c, err := modelConfig.ApplyAt(refreshtest.Load(n.work, refresh.Needs(ev), n.now), ev, n.now)
	if err != nil {
		n.fenced = n.fenced || errors.Is(err, statemachine.ErrFenced)
		if !errors.Is(err, statemachine.ErrFenced) && !errors.Is(err, statemachine.ErrIllegal) && !errors.Is(err, statemachine.ErrHeld) {
			n.fault = fmt.Sprintf("%T: %v", ev, err)
		}
		return n, c, err
	}
	if broken := refreshtest.Sound(c); broken != nil {
		n.fault = fmt.Sprintf("%T: %v", ev, broken)
	}
	n.work = refreshtest.Store(n.work, c)
	return n, c, nil
}

// mustAct is who acts at last where it can again and again: time, the orchestrator and the workers,
// each by each of its steps. A worker need not die, fail, yield or go without an answer, and the
// host's transfer need not move on.
func mustAct(action string) string {
	switch _, rest, _ := strings.Cut(action, " "); {
	case action == "time passes", action == "the slot is freed",
		slices.Contains([]string{"gets the slot", "renews its slot", "claims", "looks", "lists", "stores its result", "ends: idle"}, rest):
		return action
	}
	return ""
}

func (n node) next(step func(string, node)) {
	if later := n; true { // leases of length one end, whatever is under way
		later.now = n.now.Add(unit)
		step("time passes", later)
	}
	for s := n.listed + 1; s <= failedAtNode; s++ {
		if n.listed >= settled {
			break
		}
		moved := n
		moved.listed = s
		step("the transfer moves on", moved)
	}
	w := &n.work.Wallet
	if w.Status == refresh.Served && !w.Lease.Held(n.now) {
		freed, _, _ := n.apply(refresh.SlotElapsed{By: by(refresh.Orchestrator, n.now)})
		step("the slot is freed", freed)
	}
	for i := range n.workers {
		n.steps(i, step)
	}
}

func (n node) steps(i int, step func(string, node)) {
	me := n.workers[i]
	name := fmt.Sprintf("w%d", i+1)
	speak := refresh.By{Actor: name, Role: refresh.Worker, At: n.now}
	with := func(n node, p process) node { n.workers[i] = p; return n }
	if me.phase != idle {
		step(name+" dies", with(n, process{}))
	}
	mayCall := n.now.Before(me.until)
	lost := process{}
	switch me.phase {
	case idle:
		if _, needs := n.work.Wallet.Candidate(n.work.Jobs, n.work.Watchers, n.now); needs {
			claimed, c, err := n.apply(refresh.SlotClaimed{By: refresh.By{Actor: name, Role: refresh.Orchestrator, At: n.now}, Slot: 1})
			if err == nil {
				step(name+" gets the slot", with(claimed, process{phase: serving, held: refresh.Fences{Slot: c.New.Wallet.Lease.Fence}}))
			}
		}
	case serving:
		if l, err := n.work.Wallet.Lease.Renew(me.held.Slot, n.now, unit); err == nil && l != n.work.Wallet.Lease {
			renewed := n
			renewed.work.Wallet.Lease = l
			step(name+" renews its slot", renewed)
		}
		n.fence++
		next := modelConfig.Next(n.work, n.now)
		switch {
		case next.Do == refresh.DoJob:
			claimed, c, err := n.apply(refresh.JobClaimed{By: speak, Slot: me.held.Slot, Lock: n.fence, Known: n.work.Lock.Lease.Fence})
			p := me
			switch {
			case err != nil:
				p = lost
			case c.New.Lock != c.Old.Lock:
				j := c.New.Jobs[0]
				for k := range c.New.Jobs {
					if c.New.Jobs[k].ID == c.Job {
						j = c.New.Jobs[k]
					}
				}
				p = process{phase: passing, until: n.now.Add(unit),
					held: refresh.Fences{Slot: me.held.Slot, Job: j.ID, Fence: j.Lease.Fence, Lock: n.fence}}
			}
			step(name+" claims", with(claimed, p))
		case next.Do == refresh.DoTick:
			l := n.transfers()
			looked, c, err := n.apply(refresh.Looked{By: speak, Slot: me.held.Slot, Lock: n.fence, Known: n.work.Lock.Lease.Fence,
				Began: n.now, Listing: l})
			p := me
			if err != nil {
				p = lost
			} else if c.Tick.Locked() {
				p = process{phase: ticking, until: n.now.Add(unit), began: n.now, list: l, tick: c.Tick,
					held: refresh.Fences{Slot: me.held.Slot, Lock: n.fence}}
			}
			step(name+" looks", with(looked, p))
			noAnswer, _, err := n.apply(refresh.Looked{By: speak, Slot: me.held.Slot, Lock: n.fence, Known: n.work.Lock.Lease.Fence,
				Began: n.now, Error: "no answer"})
			if err == nil {
				step(name+" gets no answer", noAnswer)
			}
		}
		for _, end := range []refresh.RoundEnd{refresh.EndYield, refresh.EndIdle} {
			if ended, _, err := n.apply(refresh.RoundEnded{By: speak, Slot: me.held.Slot, End: end, WorkSeq: n.work.Wallet.WorkSeq}); err == nil {
				step(name+" ends: "+end.String(), with(ended, process{}))
			}
		}
	case passing:
		if mayCall {
			p := me
			p.phase, p.list = listing2, n.transfers()
			step(name+" lists", with(n, p))
		}
		for _, o := range []statemachine.Outcome{statemachine.Failed, statemachine.Deferred} {
			after, _, err := n.apply(refresh.JobNotDone{By: speak, Fences: me.held, Outcome: o, Error: "busy"})
			p := process{phase: serving, held: refresh.Fences{Slot: me.held.Slot}}
			if err != nil {
				p = lost
			}
			if o == statemachine.Failed || err == nil && n.work.Jobs[0].Attempts < 2 { // given back once in a while
				step(name+": "+o.String(), with(after, p))
			}
		}
	case listing2, ticking:
		cancel := me.tick.Cancel
		if me.phase == listing2 {
			cancel, _ = modelConfig.PlanPass(me.list, n.work.Wallet.HungRounds)
		}
		outcomes := []statemachine.Outcome{0}
		if len(cancel) > 0 && mayCall {
			outcomes = []statemachine.Outcome{statemachine.Done, statemachine.Failed}
		}
		for _, o := range outcomes {
			after := n
			var answers []refresh.Cancelled
			if o != 0 {
				if n.listed == settled || n.listed == failedAtNode {
					o = statemachine.Failed // the host looks again, and it has moved
				}
				answers = []refresh.Cancelled{{Index: 0, Outcome: o}}
				if o == statemachine.Done {
					after.listed = failedAtNode
				}
			}
			var ev refresh.Event = refresh.JobDone{By: speak, Fences: me.held, Listing: me.list, Cancelled: answers}
			if me.phase == ticking {
				refreshed := statemachine.Done
				if !mayCall {
					refreshed = statemachine.Failed
				}
				ev = refresh.Ticked{By: speak, Fences: me.held, Began: me.began, Listing: me.list, Recipients: me.tick.Recipients,
					Cancelled: answers, Refreshed: refreshed}
			}
			stored, _, err := after.apply(ev)
			p := process{phase: serving, held: refresh.Fences{Slot: me.held.Slot}}
			if err != nil {
				p = lost
			}
			step(name+" stores its result", with(stored, p))
		}
	}
}

// key is a state without the values that no rule looks at: absolute times and fences, versions,
// counts.
func (n node) key() string {
	k := make(keyText, 0, 128)
	rel := func(t time.Time) int {
		if t.IsZero() {
			return -9
		}
		return int(max(t.Sub(n.now)/unit, -1))
	}
	w := &n.work
	k.add(int(w.Wallet.Status), rel(w.Wallet.Lease.Until), rel(w.Lock.Lease.Until), int(n.listed), is(n.old), is(n.fenced && n.watchesFences()),
		len(w.Jobs), len(w.Watchers))
	k.texts(w.Wallet.Lease.Holder, w.Lock.Lease.Holder, n.fault)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		k.add(int(j.Cause), int(j.Status), int(j.Attempts), rel(j.AvailableAt), rel(j.Lease.Until), rel(j.CreatedAt))
		k.texts(j.Lease.Holder)
	}
	for i := range w.Watchers {
		x := &w.Watchers[i]
		k.add(int(x.Status), int(x.EndReason), is(x.Provisional), is(x.CancelTried), rel(x.NextAt), rel(x.ExpiresAt),
			is(x.EndSeq <= w.Lock.Seq), rel(x.CreatedAt))
		k.texts(x.Refused)
	}
	for i := range n.workers {
		p := &n.workers[i]
		k.add(int(p.phase), rel(p.until), is(p.held.Slot == w.Wallet.Lease.Fence),
			is(p.held.Lock == w.Lock.Lease.Fence && w.Lock.Lease.Holder != ""), rel(p.began), rel(p.list.Answered), len(p.list.Transfers), len(p.tick.Cancel))
		for _, at := range p.tick.Cancel {
			k.add(int(at))
		}
		held, fenced := -1, false
		for at := range w.Jobs {
			if j := &w.Jobs[at]; j.ID == p.held.Job {
				held, fenced = at, j.Lease.Fence == p.held.Fence
			}
		}
		k.add(held, is(fenced))
		for at := range p.list.Transfers {
			t := &p.list.Transfers[at]
			k.add(int(t.Status))
			k.texts(t.Asset)
		}
	}
	return string(k)
}

// keyText is the text of a key: numbers and texts, each of which says where it ends.
type keyText []byte

func (k *keyText) add(all ...int) {
	for _, n := range all {
		*k = binary.AppendVarint(*k, int64(n))
	}
}

func (k *keyText) texts(all ...string) {
	for _, s := range all {
		k.add(len(s))
		*k = append(*k, s...)
	}
}

func is(b bool) int {
	if b {
		return 1
	}
	return 0
}

// watchesFences: one model tells apart whether a fence was met, which doubles it.
func (n node) watchesFences() bool { return !n.old && !n.work.Jobs[0].Invoice() }

// may reports whether process i may start a call at the node.
func (n node) may(i int) bool {
	p := n.workers[i]
	return (p.phase == passing || p.phase == listing2 || p.phase == ticking) && n.now.Before(p.until)
}

// slow are the exceptions of EndsFairly: a slot that is not renewed in time, and a pass or a tick
// that outlives its lease, again and again, end nothing.
func (n node) slow() bool {
	return n.work.Wallet.Status == refresh.Served && !n.work.Wallet.Lease.Held(n.now) ||
		slices.ContainsFunc(n.workers[:], func(p process) bool { return p.phase > serving && !n.now.Before(p.until) })
}

func (n node) over() bool {
	for i := range n.work.Jobs {
		if n.work.Jobs[i].Live() {
			return false
		}
	}
	for i := range n.work.Watchers {
		if n.work.Watchers[i].Status == refresh.Watching {
			return false
		}
	}
	return n.work.Wallet.Status == refresh.Unserved
}

func TestModel(t *testing.T) {
	start := func(old bool, events ...refresh.Event) node {
		n := node{now: t0, old: old}
		for _, ev := range events {
			var err error
			if n, _, err = n.apply(ev); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	invoice := enqueued(t0, 1, refresh.InvoiceCreated, "r", "")
	sync := enqueued(t0, 2, refresh.Sync, "", "")
	job := func(n node, is uuid.UUID) *refresh.Job {
		for i := range n.work.Jobs {
			if n.work.Jobs[i].ID == is {
				return &n.work.Jobs[i]
			}
		}
		return &refresh.Job{}
	}
	for _, m := range []struct {
		name   string
		init   node
		states int
	}{
		{"a sync job", start(false, sync), 71002},
		{"a sync job and a cancellation", start(true, sync), 74807},
		{"an invoice without asset", start(false, invoice), 60313},
	} {
		if testing.Short() && m.init.old {
			continue
		}
		result, err := explore.CheckBy(explore.Model[node]{Init: []node{m.init}, Next: node.next, Limit: 1 << 20}, node.key,
			explore.Valid("every change is sound", func(n node) error {
				if n.fault != "" {
					return errors.New(n.fault)
				}
				return refresh.Check(n.work)
			}),
			explore.Always("no two processes may start a call at once", func(n node) bool { return !(n.may(0) && n.may(1)) }),
			explore.Always("who may start a call holds the lock", func(n node) bool {
				for i := range n.workers {
					if n.may(i) && !(n.work.Lock.Lease.Held(n.now) && n.work.Lock.Lease.Holder == fmt.Sprintf("w%d", i+1)) {
						return false
					}
				}
				return true
			}),
			explore.Always("no job is lost", func(n node) bool { return len(n.work.Jobs) > 0 }),
			explore.Always("a watcher has ended or is due some time", func(n node) bool {
				for i := range n.work.Watchers {
					w := &n.work.Watchers[i]
					if w.Status == refresh.Watching && (w.NextAt.IsZero() || w.NextAt.After(n.now.Add(unit))) {
						return false
					}
				}
				return true
			}),
			explore.Always("at most one sync job of an expiry", func(n node) bool { return len(n.work.Jobs) <= 3 }),
			explore.CanFinish("all jobs and watchers end", node.over),
			explore.EndsFairly("all jobs and watchers end", func(n node) bool { return n.over() || n.slow() }, mustAct),
			explore.Reachable("an old holder meets its fence", func(n node) bool { return n.fenced || !n.watchesFences() }),
			explore.Reachable("an attempt is lost with its process", func(n node) bool {
				for i := range n.work.Jobs {
					if n.work.Jobs[i].Error == "lease expired" {
						return true
					}
				}
				return m.init.work.Jobs[0].Invoice()
			}),
			explore.Reachable("the job fails",
				func(n node) bool { return m.init.work.Jobs[0].Invoice() || job(n, id(2)).Status == refresh.JobFailed }),
			explore.Reachable("the watcher ends as its transfer", func(n node) bool {
				return len(n.work.Watchers) > 0 && n.work.Watchers[0].EndReason == refresh.EndTransfer
			}),
		)
		if err != nil {
			t.Fatalf("%s: %v\n%v", m.name, result, err)
		}
		if result.States != m.states {
			t.Errorf("%s: %v, want %d states", m.name, result, m.states)
		}
	}
}
