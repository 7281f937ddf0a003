package refresh

import (
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Do is what the worker of a wallet does next.
// Values: DoJob, DoTick, DoExpire.
type Do = statemachine.Enum[do]

const (
	DoJob    Do = iota + 1 // send JobClaimed; then refresh, list, cancel, and send JobDone
	DoTick                 // look up and send Looked; then what its Tick says, and Ticked
	DoExpire               // send Elapsed
)

type do struct{}

func (do) Kind() string    { return "refresh action" }
func (do) Names() []string { return doNames }

var doNames = []string{"job", "tick", "expire"}

// Step says what a wallet owes.
type Step struct {
	Do  Do
	Job uuid.UUID // with DoJob: the first due one
	// Held, with DoJob: somebody has the lock, or another job works. A claim then puts the due
	// jobs off, so that they do not delay a tick.
	Held bool
	// Tick: watchers are due, also where a job goes first.
	Tick bool
	// Due is when to ask again if nothing is owed now; zero: nothing is
	// known to become due.
	Due time.Time
	// Party is who acts next: Worker while one holds the wallet's slot, Orchestrator otherwise.
	Party Role `json:",omitzero"`
	// Idle: there is neither a live job nor a watching row among what is loaded.
	Idle bool
}

// Next says what the worker of a wallet does at now: due jobs before watchers, in the order of
// their creation; then one tick for all due watchers. w must hold the first of the wallet's due
// jobs and watchers; jobs and watchers that are due later count only for Due and Idle. Next is
// level-triggered: it looks at nothing but the record.
func (c Policy) Next(w Work, now time.Time) Step {
	step := Step{Party: Worker, Idle: true}
	if !w.Wallet.Lease.Held(now) {
		step.Party = Orchestrator
	}
	earlier := func(at time.Time) bool {
		if step.Due.IsZero() || at.Before(step.Due) {
			step.Due = at
		}
		return !now.Before(at)
	}
	var job *Job
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if !j.Live() {
			continue
		}
		step.Idle = false
		if earlier(j.Due(&w.Wallet)) && (job == nil || CompareJobs(j, job) < 0) {
			job = j
		}
	}
	tick, expire := false, false
	for i := range w.Watchers {
		watcher := &w.Watchers[i]
		if watcher.Status != Watching {
			continue
		}
		step.Idle = false
		if earlier(watcher.Due(&w.Wallet)) {
			if now.Before(w.Wallet.NotBefore) {
				expire = true
			} else {
				tick = true
			}
		}
	}
	step.Tick = tick
	switch {
	case job != nil:
		step.Do, step.Job, step.Held = DoJob, job.ID, w.held(now)
	case tick:
		step.Do = DoTick
	case expire:
		step.Do = DoExpire
	}
	return step
}

// IdleOver reports whether a wallet that has been idle since then is given up.
func (c Policy) IdleOver(since, now time.Time) bool {
	return !now.Before(since.Add(c.WalletWorkerIdleTimeout))
}
