package refresh_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
)

// This file has the rules for one recipient a second time, written slowly, one question after
// the other.

// naiveCancel is rule 8.
func naiveCancel(t refresh.Transfer, now time.Time) bool {
	if t.Status != 0 || t.Kind < 0 || t.Kind > 3 || t.Expiration <= 0 {
		return false
	}
	if !(t.Expiration < now.Unix()) {
		return false
	}
	return t.Kind == 1 || t.Expiration+24*60*60 < now.Unix()
}

// naivePlan returns the indexes with which failtransfers is called for the transfers that asked
// selects. A batch is cancelled as a whole, so each of its transfers must be one that can be
// cancelled or that has failed.
func naivePlan(l refresh.Listing, asked func(refresh.Transfer) bool) (indexes []int32) {
	for _, t := range l.Transfers {
		ok := t.HasIndex && naiveCancel(t, l.Answered) && asked(t) && !slices.Contains(indexes, t.Index)
		for _, other := range l.Transfers {
			sane := other.Status >= 0 && other.Status <= 3 && other.Kind >= 0 && other.Kind <= 3 && other.Expiration >= 0
			ok = ok && (!other.HasIndex || other.Index != t.Index || sane && other.Status == 3 || naiveCancel(other, l.Answered))
		}
		if ok {
			indexes = append(indexes, t.Index)
		}
	}
	return indexes
}

// The calls of a pass, and those of a tick.
func TestCancellationsAgreeWithTheNaivePlan(t *testing.T) {
	planned, held := 0, 0
	randomly(t, func(t *rapid.T) {
		now := refreshtest.Start
		l := refreshtest.Listings(now).Draw(t, "listing")
		for i, index := range rapid.SliceOfN(rapid.Int32Range(0, 2), 1, 3).Draw(t, "to cancel") {
			l.Transfers = append(l.Transfers,
				refresh.Transfer{Recipient: refreshtest.Recipients[i], Kind: refresh.ReceiveBlind, Expiration: 1, Index: index, HasIndex: true})
		}
		want := naivePlan(l, func(refresh.Transfer) bool { return true })
		got, faults := config.PlanPass(l, 0)
		if !slices.Equal(got, want) {
			t.Fatalf("a pass calls %v, want %v: %+v", got, want, l)
		}
		planned += len(got)
		held += len(faults)
		x := &world{t: &testing.T{}, c: config}
		refused := rapid.SampledFrom(append([]string{""}, refreshtest.Recipients...)).Draw(t, "refused before")
		for i, r := range refreshtest.Recipients {
			x.do(enqueued(now, byte(i+1), refresh.InvoiceCreated, r, ""))
			x.claim(now)
			if r == refused {
				x.w.Watchers[i].Refused = "0,2"
			}
		}
		c := x.do(refresh.Looked{By: worker(now), Slot: x.serve(now), Lock: x.fence(), Began: now, Listing: l})
		want = naivePlan(l, func(t refresh.Transfer) bool {
			return slices.Contains(c.Tick.Recipients, t.Recipient) && (t.Recipient != refused || t.Index == 1)
		})
		slices.Sort(want) // a tick asks in the order of its watchers
		calls := slices.Clone(c.Tick.Cancel)
		slices.Sort(calls)
		if !slices.Equal(calls, want) {
			t.Fatalf("a tick calls %v, want %v: %+v", calls, want, l)
		}
	})
	if planned == 0 || held == 0 {
		t.Errorf("%d calls, %d faults", planned, held)
	}
}

type verdict struct {
	exists bool
	status refresh.WatcherStatus
	reason refresh.EndReason
	again  bool // watched for the first time or again
}

// naivePass returns what a pass makes of the watcher of a recipient. later says that the lock
// of the pass was taken after the watcher ended.
func naivePass(old *refresh.Watcher, recipient string, l refresh.Listing, worked map[int32]bool, answers map[int32]statemachine.Outcome,
	later bool, now time.Time) verdict {
	var open, settled, failed, cancelled []int32
	cancelDue := false
	for _, t := range l.Transfers {
		if t.Recipient != recipient {
			continue
		}
		known := t.Status >= 0 && t.Status <= 3 && t.Kind >= 0 && t.Kind <= 3 && t.Expiration >= 0
		index := int32(-1)
		if t.HasIndex {
			index = t.Index
		}
		switch {
		case t.Status != 2 && t.Status != 3: // an unknown number is no end
			if known && t.HasIndex && worked[t.Index] {
				cancelled = append(cancelled, index)
				continue
			}
			open = append(open, index)
			cancelDue = cancelDue || naiveCancel(t, l.Answered)
		case known && t.Status == 2:
			settled = append(settled, index)
		case known && t.Status == 3:
			failed = append(failed, index)
		}
	}
	if old == nil {
		return verdict{exists: len(open) > 0, status: refresh.Watching, again: true}
	}
	v := verdict{exists: true, status: old.Status, reason: old.EndReason}
	listed := slices.ContainsFunc(l.Transfers, func(t refresh.Transfer) bool { return t.Recipient == recipient })
	if !listed {
		return v
	}
	if old.Status != refresh.Watching {
		if len(open) > 0 && later {
			return verdict{exists: true, status: refresh.Watching, again: true}
		}
		return v
	}
	if len(open) == 0 {
		highest := func(indexes []int32) int32 {
			if len(indexes) == 0 {
				return -2
			}
			return slices.Max(indexes)
		}
		s, f, c := highest(settled), highest(failed), highest(cancelled)
		switch {
		case s > -2 && s >= f && s >= c:
			return verdict{exists: true, status: refresh.Settled, reason: refresh.EndTransfer}
		case f > -2 && f >= c:
			return verdict{exists: true, status: refresh.Failed, reason: refresh.EndTransfer}
		case c > -2:
			return verdict{exists: true, status: refresh.Expired, reason: refresh.EndCancelled}
		}
	}
	hasAsset := slices.ContainsFunc(l.Transfers, func(t refresh.Transfer) bool { return t.Recipient == recipient && t.Asset != "" })
	if old.Provisional && !hasAsset {
		if !now.Before(old.ExpiresAt) {
			return verdict{exists: true, status: refresh.Expired, reason: refresh.EndProvisional}
		}
		return v
	}
	expires := old.ExpiresAt
	if old.Asset == "" && hasAsset {
		from := old.CreatedAt.Add(24 * time.Hour)
		if from.After(expires) {
			expires = from
		}
		for _, t := range l.Transfers {
			isOpen := t.Status != 2 && t.Status != 3 &&
				!(t.HasIndex && worked[t.Index] && t.Kind >= 0 && t.Kind <= 3 && t.Status >= 0 && t.Status <= 3)
			sane := t.Expiration > 0 && time.Unix(t.Expiration, 0).Sub(l.Answered) < refresh.MaxAhead
			if end := time.Unix(t.Expiration, 0).Add(24*time.Hour + 30*time.Second); t.Recipient == recipient && isOpen &&
				sane && end.After(expires) {
				expires = end
			}
		}
	}
	if l.Answered.Before(expires) {
		return v
	}
	missed, deferred, unknown := false, false, false
	for _, index := range naivePlan(l, func(t refresh.Transfer) bool { return t.Recipient == recipient }) {
		missed = missed || answers[index] == 0
		deferred = deferred || answers[index] == statemachine.Deferred
		unknown = unknown || answers[index] == statemachine.Unknown
	}
	if cancelDue && (!old.CancelTried || now.Before(old.NextAt) || deferred || missed && !unknown) {
		return v
	}
	if len(open) > 0 {
		return verdict{exists: true, status: refresh.Expired, reason: refresh.EndOpen}
	}
	return verdict{exists: true, status: refresh.Expired, reason: refresh.EndGone}
}

// Random histories are compared with the naive rules: every pass, and the state of every
// watcher after it.
func TestPassesAgreeWithTheNaiveRules(t *testing.T) {
	passes := map[refresh.EndReason]int{}
	randomly(t, func(t *rapid.T) {
		x := &world{t: &testing.T{}, c: config}
		adversary := refreshtest.Adversary{Of: refreshtest.Wallet(1), Policy: config}
		now := refreshtest.Start
		locked, ends := 0, map[string]int{} // the number of the event that took the lock, and of that which ended a watcher
		for n := range rapid.IntRange(60, 80).Draw(t, "events") {
			now = now.Add(refreshtest.Pause(t))
			ev := adversary.Event(t, x.w, now)
			old := x.w
			needed := refreshtest.Load(x.w, refresh.Needs(ev), now)
			c, err := config.ApplyAt(needed, ev, now)
			if err != nil {
				continue
			}
			taken := c.New.Lock.Lease.Fence > c.Old.Lock.Lease.Fence
			if config.TakesLock(needed, refresh.WithFence(ev, 0), now) != taken {
				t.Fatalf("%T takes the lock: %v", ev, taken)
			}
			if err := refreshtest.Sound(c); err != nil {
				t.Fatalf("%T: %v", ev, err)
			}
			x.w = refreshtest.Store(x.w, c)
			if err := refresh.Check(x.w); err != nil {
				t.Fatalf("%T: %v", ev, err)
			}
			if taken {
				locked = n
			}
			before := maps.Clone(ends)
			for _, w := range x.w.Watchers {
				if w.Status != refresh.Watching && !slices.Contains(old.Watchers, w) {
					ends[w.Recipient] = n
				}
			}
			e, pass := ev.(refresh.JobDone)
			if !pass || c.Empty() {
				continue
			}
			worked, answers := map[int32]bool{}, map[int32]statemachine.Outcome{}
			for _, a := range e.Cancelled {
				worked[a.Index], answers[a.Index] = worked[a.Index] || a.Outcome == statemachine.Done, a.Outcome
			}
			for _, recipient := range refreshtest.Recipients {
				is := func(w refresh.Watcher) bool { return w.Recipient == recipient }
				var was *refresh.Watcher
				if i := slices.IndexFunc(old.Watchers, is); i >= 0 {
					was = &old.Watchers[i]
				}
				want := naivePass(was, recipient, e.Listing, worked, answers, locked > before[recipient], now)
				i := slices.IndexFunc(x.w.Watchers, is)
				if want.exists != (i >= 0) {
					t.Fatalf("%s exists: %v", recipient, !want.exists)
				}
				if i < 0 {
					continue
				}
				w := x.w.Watchers[i]
				if was != nil && was.Status == refresh.Watching {
					passes[w.EndReason]++
				}
				if w.Status != want.status || w.EndReason != want.reason || want.again && (w.Provisional || w.RefreshCount != 0) {
					t.Fatalf("%s\nwas  %+v\nis   %+v\nwant %+v\nat %v, %+v", recipient, was, w, want, now, e)
				}
			}
		}
	})
	if len(passes) < 4 {
		t.Errorf("ends seen: %v", passes)
	}
}

// The work of a wallet is due exactly when the rules of its records say so, and Next finds it.
func TestNextFindsWhatIsDue(t *testing.T) {
	counts := map[string]int{}
	randomly(t, func(t *rapid.T) {
		w := refresh.Work{}
		adversary := refreshtest.Adversary{Of: refreshtest.Wallet(1), Policy: config}
		now := refreshtest.Start
		for range rapid.IntRange(60, 80).Draw(t, "events") {
			now = now.Add(refreshtest.Pause(t))
			ev := adversary.Event(t, w, now)
			if c, err := config.ApplyAt(refreshtest.Load(w, refresh.Needs(ev), now), ev, now); err == nil {
				w = refreshtest.Store(w, c)
			}
			want, idle := naiveNext(w, now)
			step := config.Next(w, now)
			for i, r := range refresh.NextReads() { // as a store reads it
				read := config.Next(refreshtest.Load(w, r, now), now)
				if read.Do != step.Do || read.Job != step.Job || read.Tick != step.Tick {
					t.Fatalf("of what is read it says %+v, of all %+v: %+v", read, step, w)
				}
				if !read.Idle {
					break
				}
				if i == 1 && !step.Idle {
					t.Fatalf("idle by what is read: %+v", w)
				}
			}
			if step.Do.String() != want || step.Idle != idle {
				t.Fatalf("%v idle %v, want %s idle %v: %+v", step.Do, step.Idle, want, idle, w)
			}
			counts[want]++
			if !idle && step.Due.IsZero() || step.Party == 0 {
				t.Fatalf("nothing and nobody moves %+v: %+v", w, step)
			}
			if want == "none" && !step.Due.IsZero() {
				before, _ := naiveNext(w, step.Due.Add(-time.Microsecond))
				then, _ := naiveNext(w, step.Due)
				if before != "none" || then == "none" || !step.Due.After(now) {
					t.Fatalf("due at %v: %s before, %s then: %+v", step.Due, before, then, w)
				}
			}
			if held := w.Wallet.Status == refresh.Served && now.Before(w.Wallet.Lease.Until); held != (step.Party == refresh.Worker) {
				t.Fatalf("%v moves %+v", step.Party, w.Wallet)
			}
			if c, needs := w.Wallet.Candidate(w.Jobs, w.Watchers, now); w.Wallet.Status == refresh.Unserved {
				if w.Wallet.UnservedSince.After(now) { // by a clock that was set back: it waits for that, or for a reconcile
					continue
				}
				if c.Due(now) != (step.Do != 0) && needs {
					t.Fatalf("candidate %+v, step %+v", c, step)
				}
				if step.Do != 0 && !needs {
					t.Fatalf("due work and no candidate: %+v", w)
				}
			} else if needs {
				t.Fatalf("a candidate that is served: %+v", w)
			}
		}
	})
	if len(counts) < 3 {
		t.Errorf("seen only %v", counts)
	}
}

func naiveNext(w refresh.Work, now time.Time) (do string, idle bool) {
	do, idle = "none", true
	hung := now.Before(w.Wallet.NotBefore)
	for _, watcher := range w.Watchers {
		if watcher.Status == refresh.Watching {
			idle = false
			if hung && watcher.Provisional && !now.Before(watcher.ExpiresAt) {
				do = "expire"
			}
		}
	}
	for _, watcher := range w.Watchers {
		if watcher.Status == refresh.Watching && !hung && (!now.Before(watcher.NextAt) || watcher.Provisional && !now.Before(watcher.ExpiresAt)) {
			do = "tick"
		}
	}
	for _, j := range w.Jobs {
		live := j.Status == refresh.JobPending || j.Status == refresh.JobProcessing
		idle = idle && !live
		due := j.Status == refresh.JobPending && !now.Before(j.AvailableAt) || j.Status == refresh.JobProcessing && !now.Before(j.Lease.Until)
		if live && due && !hung {
			do = "job"
		}
	}
	return do, idle
}
