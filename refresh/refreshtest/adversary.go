package refreshtest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Adversary sends one wallet any event that may come. It remembers nothing but the store's
// sequence of fences.
type Adversary struct {
	Of     refresh.Credentials
	Policy refresh.Policy
	Fence  int64 // the last one of the store's sequence
	Slot   int32 // the number that it claims; 0: any
}

// Event draws an event for the wallet whose whole state is w: mostly one that a worker would
// send, and sometimes one under an old fence, in a wrong role, for a wrong job, or for the
// second time.
func (a *Adversary) Event(t *rapid.T, w refresh.Work, now time.Time) refresh.Event {
	by := func(r refresh.Role, actor string) refresh.By {
		if rarely(t, "wrong role") {
			r = rapid.SampledFrom(r.Values()).Draw(t, "role")
		}
		return refresh.By{Actor: actor, Role: r, At: now}
	}
	holder := func(l statemachine.Lease) string {
		if l.Holder == "" || rarely(t, "other") {
			return "w2"
		}
		return l.Holder
	}
	stale := func(fence int64) int64 {
		if rarely(t, "stale") {
			return fence - 1
		}
		return fence
	}
	slot := stale(w.Wallet.Lease.Fence)
	worker := by(refresh.Worker, holder(w.Wallet.Lease))
	held := refresh.Fences{Slot: slot, Lock: stale(w.Lock.Lease.Fence)}
	for i := range w.Jobs {
		if j := &w.Jobs[i]; j.Status == refresh.JobProcessing || held.Job == [16]byte{} {
			held.Job, held.Fence = j.ID, stale(j.Lease.Fence)
		}
	}
	var answers []refresh.Cancelled
	for index := range int32(3) {
		if rapid.Bool().Draw(t, "cancelled") {
			answers = append(answers, refresh.Cancelled{Index: index,
				Outcome: rapid.SampledFrom(statemachine.Outcome(0).Values()).Draw(t, "answer")})
		}
	}
	kinds := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	kind := rapid.SampledFrom(kinds).Draw(t, "event")
	if !rarely(t, "senseless") {
		kind = rapid.SampledFrom(a.sensible(w, now)).Draw(t, "sensible event")
	}
	switch kind {
	case 0, 1:
		e := refresh.Enqueued{By: by(refresh.API, "api"), Job: UUIDs().Draw(t, "job"), Credentials: a.Of,
			Cause:     rapid.SampledFrom(refresh.Cause(0).Values()).Draw(t, "cause"),
			Recipient: rapid.SampledFrom(append([]string{""}, Recipients...)).Draw(t, "recipient"),
			Asset:     rapid.SampledFrom([]string{"", "asset"}).Draw(t, "asset")}
		if len(w.Jobs) > 0 && rarely(t, "again") {
			j := rapid.SampledFrom(w.Jobs).Draw(t, "which")
			e.Job, e.Cause, e.Recipient, e.Asset = j.ID, j.Cause, j.Recipient, j.Asset
		}
		return e
	case 2:
		return refresh.Recovering{By: by(refresh.Orchestrator, "orchestrator"), Job: UUIDs().Draw(t, "job")}
	case 3, 4:
		e := refresh.SlotClaimed{By: by(refresh.Orchestrator,
			rapid.SampledFrom([]string{"w1", "w2"}).Draw(t, "process")), Slot: a.Slot}
		if e.Slot == 0 {
			e.Slot = rapid.Int32Range(0, a.Policy.MaxWalletProcesses+1).Draw(t, "slot")
		}
		return e
	case 5:
		return refresh.SlotElapsed{By: by(refresh.Orchestrator, "orchestrator")}
	case 6:
		return refresh.RoundEnded{By: worker, Slot: slot, WorkSeq: w.Wallet.WorkSeq,
			End: rapid.SampledFrom(refresh.RoundEnd(0).Values()).Draw(t, "end")}
	case 7:
		a.Fence++
		return refresh.Locked{By: by(refresh.API, "api"), Fence: a.Fence}
	case 8:
		return refresh.Unlocked{By: by(refresh.API, holder(w.Lock.Lease)), Fence: held.Lock}
	case 9, 10:
		a.Fence++
		e := refresh.JobClaimed{By: worker, Slot: slot, Lock: a.Fence, Known: w.Lock.Lease.Fence}
		if rarely(t, "sent again") {
			e.Known = w.Lock.Lease.Fence - 1
		}
		return e
	case 11:
		return refresh.JobDone{By: worker, Fences: held, Listing: Listings(now).Draw(t, "listing"), Cancelled: answers}
	case 12:
		return refresh.JobNotDone{By: worker, Fences: held,
			Outcome:   rapid.SampledFrom(statemachine.Outcome(0).Values()).Draw(t, "outcome"),
			Permanent: rarely(t, "permanent"), Stopped: rapid.Bool().Draw(t, "stopped"), Error: "no answer"}
	case 13:
		a.Fence++
		e := refresh.Looked{By: worker, Slot: slot, Lock: a.Fence, Known: w.Lock.Lease.Fence, Began: now,
			Listing: Listings(now).Draw(t, "listing"), JobFirst: rapid.Bool().Draw(t, "job first")}
		if rarely(t, "no answer") {
			e.Error = "no answer"
		}
		return e
	case 14:
		return refresh.Ticked{By: worker, Fences: held, Began: now, Listing: Listings(now).Draw(t, "listing"),
			Recipients: Recipients, Cancelled: answers,
			Refreshed: rapid.SampledFrom(append(statemachine.Outcome(0).Values(), 0)).Draw(t, "refreshed"),
			Error:     "no answer"}
	case 16:
		return refresh.Revoked{By: by(refresh.Operator, "olga"),
			Revocation: statemachine.Revocation{Holder: holder(w.Wallet.Lease), Reason: "dead"}}
	case 17:
		return refresh.Reconciled{By: by(refresh.Orchestrator, "orchestrator")}
	}
	return refresh.Elapsed{By: worker, Slot: slot}
}

// rarely is true once in 16 draws. (Numbers of a range would be small ones.)
func rarely(t *rapid.T, what string) bool {
	return rapid.SampledFrom([]bool{false, false, false, false, false, false, false, false, false, false, false,
		false, false, false, false, true}).Draw(t, what)
}

// sensible are the kinds of event that an honest process could send.
func (a *Adversary) sensible(w refresh.Work, now time.Time) []int {
	locked := w.Lock.Lease.Held(now)
	latest := a.Policy.Latest(now)
	switch step := a.Policy.Next(w, now); {
	case w.Wallet.Status == 0:
		return []int{0}
	case latest.Passed(&w):
		return []int{17}
	case w.Wallet.Status == refresh.Unserved:
		return []int{0, 3}
	case !w.Wallet.Lease.Held(now):
		return []int{5}
	case locked && slices.ContainsFunc(w.Jobs, func(j refresh.Job) bool { return j.Status == refresh.JobProcessing }):
		return []int{11, 11, 11, 11, 12, 12, 16}
	case locked:
		return []int{8, 13, 14, 14}
	case step.Do == refresh.DoJob:
		return []int{9}
	case step.Do == refresh.DoTick:
		return []int{13, 13, 15}
	case step.Do == refresh.DoExpire:
		return []int{15}
	}
	return []int{0, 2, 6}
}

// Pause draws how far the store's clock is moved before the next event: not at all, by a
// moment, far enough for leases, intervals and expiries to end, or back, as when somebody sets
// a clock.
func Pause(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, time.Microsecond, time.Second,
		time.Second, 5 * time.Second, 5 * time.Second,
		30 * time.Second, 30 * time.Second, 180 * time.Second, 24 * time.Hour,
		-time.Microsecond, -5 * time.Second, -48 * time.Hour}).Draw(t, "pause")
}
