package refresh_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

func small(processes int32) refresh.Policy {
	c := config
	c.MaxWalletProcesses = processes
	return c
}

func slots(now time.Time, ready bool, names ...string) (all []refresh.Slot) {
	for i, name := range names {
		all = append(all,
			refresh.Slot{XpubVan: name, Number: int32(i) + 1, Ready: ready, Since: now.Add(-time.Duration(len(names)-i) * time.Second),
				Lease: statemachine.Lease{Holder: "w1", Fence: 1, Until: now.Add(time.Second)}})
	}
	return all
}

func waiting(since time.Time, names ...string) (all []refresh.Candidate) {
	for _, name := range names {
		all = append(all, refresh.Candidate{XpubVan: name, Since: since})
	}
	return all
}

func TestAssign(t *testing.T) {
	expired := func(s []refresh.Slot, which ...int) []refresh.Slot {
		for _, i := range which {
			s[i].Lease.Until = t0
		}
		return s
	}
	busy := func(s []refresh.Slot, which ...int) []refresh.Slot {
		for _, i := range which {
			s[i].Ready = false
		}
		return s
	}
	later := t0.Add(time.Microsecond) // not due
	const never = time.Duration(1<<63 - 1)
	due := func(s []refresh.Slot, in ...time.Duration) []refresh.Slot {
		for i, d := range in {
			if d != never {
				s[i].Due = t0.Add(d)
			}
		}
		return s
	}
	for _, c := range []struct {
		name string
		max  int32
		s    refresh.Snapshot
		room int
		want string
	}{
		{"nothing", 2, refresh.Snapshot{}, 9, "{[] [] []}"},
		{"free numbers", 2, refresh.Snapshot{Waiting: waiting(t0, "a", "b", "c")}, 9, "{[] [] [{a 1 } {b 2 }]}"},
		{"room", 2, refresh.Snapshot{Waiting: waiting(t0, "a", "b", "c")}, 1, "{[] [] [{a 1 }]}"},
		{"no room", 2, refresh.Snapshot{Waiting: waiting(t0, "a")}, 0, "{[] [] []}"},
		{"a watching wallet gets what is free", 2, refresh.Snapshot{Waiting: waiting(later, "a")}, 9, "{[] [] [{a 1 }]}"},
		{"the lease of a slot ended", 2, refresh.Snapshot{Slots: expired(slots(t0, false, "x", "y"), 1), Waiting: waiting(t0, "a", "b")},
			9, "{[y] [] [{a 2 y}]}"},
		{"one waits, none is free", 2, refresh.Snapshot{Slots: slots(t0, true, "x", "y"), Waiting: waiting(t0, "a")}, 9, "{[] [x] [{a 1 x}]}"},
		{"one waits, one is free", 3, refresh.Snapshot{Slots: slots(t0, true, "x", "y"), Waiting: waiting(t0, "a")}, 9, "{[] [] [{a 3 }]}"},
		{"three wait, one is free", 3, refresh.Snapshot{Slots: slots(t0, true, "x", "y"), Waiting: waiting(t0, "a", "b", "c")},
			9, "{[] [x y] [{a 1 x} {b 2 y} {c 3 }]}"},
		{"who is due last gives way", 2,
			refresh.Snapshot{Slots: due(slots(t0, true, "x", "y"), time.Second, time.Minute), Waiting: waiting(t0, "a")}, 9, "{[] [y] [{a 2 y}]}"},
		{"who is due gives way after who will be", 2,
			refresh.Snapshot{Slots: due(slots(t0, true, "x", "y"), 0, time.Microsecond), Waiting: waiting(t0, "a")}, 9, "{[] [y] [{a 2 y}]}"},
		{"who has waited for as long keeps its slot", 2, refresh.Snapshot{Slots: due(slots(t0, true, "x", "y"), -time.Second, -time.Second),
			Waiting: waiting(t0.Add(-time.Second), "a")}, 9, "{[] [] []}"},
		{"who has waited for less does not",
			2, refresh.Snapshot{Slots: due(slots(t0, true, "x", "y"), -time.Second+time.Microsecond, -time.Second),
				Waiting: waiting(t0.Add(-time.Second), "a", "b")}, 9, "{[] [x] [{a 1 x}]}"},
		{"who is never due gives way first", 3,
			refresh.Snapshot{Slots: due(slots(t0, true, "x", "y", "z"), time.Hour, 0, never), Waiting: waiting(t0, "a")}, 9, "{[] [z] [{a 3 z}]}"},
		{"a round is not done", 2, refresh.Snapshot{Slots: busy(slots(t0, true, "x", "y"), 0), Waiting: waiting(t0, "a")},
			9, "{[] [y] [{a 2 y}]}"},
		{"nobody yields to what is not due",
			2, refresh.Snapshot{Slots: slots(t0, true, "x", "y"), Waiting: waiting(later, "a")}, 9, "{[] [] []}"},
		{"a greater process drains", 1, refresh.Snapshot{Slots: slots(t0, true, "x", "y")[1:], Waiting: waiting(t0, "a")}, 9, "{[] [] [{a 1 }]}"},
		{"without numbers of ours", 1, refresh.Snapshot{Slots: slots(t0, true, "x", "y"), Waiting: waiting(t0, "a", "b")}, 9,
			"{[] [x y] [{a 1 x}]}"},
	} {
		c.s.Now = t0
		if got := fmt.Sprint(small(c.max).Assign(c.s, c.room)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Whether the speaker of a RoundEnded has its slot still.
func TestSlotGone(t *testing.T) {
	for refused, want := range map[error]bool{nil: true, statemachine.ErrFenced: true, statemachine.ErrIllegal: false} {
		if got := refresh.SlotGone(refused); got != want {
			t.Errorf("%v: %v", refused, got)
		}
	}
}

// Wallets have rounds of random length, with one or two orchestrators that see the same
// snapshot. No number is ever given twice, and every wallet with due work is served within the
// bound: ceil(n / MAX) x (longest round + POLL_INTERVAL).
func TestBoundedWait(t *testing.T) {
	for _, n := range []int{51, 500} {
		const longest = 7 * time.Second
		c := small(50)
		type wallet struct {
			since  time.Time // of the slot, or of the wait
			number int32
			ends   time.Time
		}
		wallets := map[string]*wallet{}
		for i := range n {
			wallets[fmt.Sprintf("w%03d", i)] = &wallet{since: t0}
		}
		bound := time.Duration((n+49)/50) * (longest + c.PollInterval)
		worst := time.Duration(0)
		for tick := range 600 {
			now := t0.Add(time.Duration(tick) * c.PollInterval)
			snapshot := func() refresh.Snapshot {
				s := refresh.Snapshot{Now: now}
				for name, w := range wallets {
					if w.number > 0 {
						s.Slots = append(s.Slots, refresh.Slot{XpubVan: name, Number: w.number, Since: w.since, Due: w.ends, Ready: !now.Before(w.ends),
							Lease: statemachine.Lease{Holder: "p", Until: now.Add(time.Second)}})
					} else {
						s.Waiting = append(s.Waiting, refresh.Candidate{XpubVan: name, Since: w.since})
					}
				}
				slices.SortFunc(s.Waiting, refresh.CompareCandidates)
				return s
			}
			for range 2 { // the second orchestrator sees what the first one stored
				s := snapshot()
				a := c.Assign(s, 50)
				for _, name := range a.Yield {
					*wallets[name] = wallet{since: now}
				}
				for _, claim := range a.Claim {
					had := ""
					for _, slot := range s.Slots {
						if slot.Number == claim.Number {
							had = slot.XpubVan
						}
					}
					if claim.After != had {
						t.Fatalf("number %d is claimed after %q, it was of %q", claim.Number, claim.After, had)
					}
					for name, w := range wallets {
						if w.number == claim.Number {
							t.Fatalf("number %d is of %s and %s", claim.Number, name, claim.XpubVan)
						}
					}
					w := wallets[claim.XpubVan]
					worst = max(worst, now.Sub(w.since))
					w.number, w.since = claim.Number, now
					w.ends = now.Add(time.Duration(1+(tick*7+int(claim.Number)*13)%7) * time.Second)
				}
			}
			for _, w := range wallets { // who keeps its slot begins another round
				if w.number > 0 && !now.Before(w.ends) {
					w.ends = now.Add(time.Duration(1+(tick*5+int(w.number)*11)%7) * time.Second)
				}
			}
		}
		for name, w := range wallets {
			if w.number == 0 {
				worst = max(worst, t0.Add(600*c.PollInterval).Sub(w.since))
			}
			if w.since.Equal(t0) {
				t.Errorf("%s was never served", name)
			}
		}
		if worst > bound {
			t.Errorf("%d wallets: waited %v, bound %v", n, worst, bound)
		}
	}
}

// Waiting wallets are ordered by the later of their last release and the time at which their
// oldest work became due; then by id.
func TestCandidates(t *testing.T) {
	minute := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Minute) }
	now := minute(10)
	job := func(at time.Time) []refresh.Job { return []refresh.Job{{Status: refresh.JobPending, AvailableAt: at}} }
	watcher := func(next, expires time.Time, provisional bool) []refresh.Watcher {
		return []refresh.Watcher{{Status: refresh.Watching, NextAt: next, ExpiresAt: expires, Provisional: provisional}}
	}
	for _, c := range []struct {
		name     string
		wallet   refresh.Wallet
		jobs     []refresh.Job
		watchers []refresh.Watcher
		since    time.Time
		needs    bool
	}{
		{"nothing", refresh.Wallet{}, nil, nil, time.Time{}, false},
		{"a due job", refresh.Wallet{UnservedSince: minute(2)}, job(minute(4)), nil, minute(4), true},
		{"released since", refresh.Wallet{UnservedSince: minute(6)}, job(minute(4)), nil, minute(6), true},
		{"a job at this moment", refresh.Wallet{}, job(now), nil, now, true},
		{"a job that is not due", refresh.Wallet{}, job(now.Add(1000)), nil, now.Add(1000), false},
		{"a lease that ended", refresh.Wallet{},
			[]refresh.Job{{Status: refresh.JobProcessing, Lease: statemachine.Lease{Until: minute(3)}}}, nil, minute(3), true},
		{"a job that ended", refresh.Wallet{}, []refresh.Job{{Status: refresh.JobCompleted, AvailableAt: t0}}, nil, time.Time{}, false},
		{"a due watcher", refresh.Wallet{}, nil, watcher(minute(5), minute(20), false), minute(5), true},
		{"a watching row", refresh.Wallet{}, nil, watcher(minute(11), minute(20), false), minute(11), true},
		{"an expired watching row", refresh.Wallet{}, nil, watcher(minute(11), minute(3), false), minute(11), true},
		{"an ended watcher", refresh.Wallet{}, nil, []refresh.Watcher{{Status: refresh.Expired, NextAt: t0}}, time.Time{}, false},
		{"hung", refresh.Wallet{NotBefore: minute(11)}, job(minute(1)), watcher(minute(1), minute(20), true), minute(11), false},
		{"hung until now", refresh.Wallet{NotBefore: now}, job(minute(1)), nil, now, true},
		{"hung, a provisional expiry", refresh.Wallet{NotBefore: minute(11)}, nil, watcher(minute(1), minute(9), true), minute(9), true},
		{"hung, another expiry", refresh.Wallet{NotBefore: minute(11)}, nil, watcher(minute(1), minute(9), false), minute(11), false},
	} {
		c.wallet.Status, c.wallet.XpubVan = refresh.Unserved, "x"
		got, needs := c.wallet.Candidate(c.jobs, c.watchers, now)
		if needs != c.needs || !got.Since.Equal(c.since) {
			t.Errorf("%s: %v, since %v", c.name, needs, got.Since)
		}
		c.wallet.Status = refresh.Served
		if _, needs := c.wallet.Candidate(c.jobs, c.watchers, now); needs {
			t.Errorf("%s: served and waiting", c.name)
		}
	}
}
