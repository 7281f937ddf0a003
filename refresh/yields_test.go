package refresh_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// fewestTakes is the least number of times that a slot must be taken so that each wallet has
// one whenever it is due. It knows all due times in advance: where a slot is missing, the
// wallet whose next due time is last gives way. due has the sorted due times of each wallet.
func fewestTakes(due [][]int, slots, seconds int) (takes int) {
	next := func(wallet, after int) int {
		for _, at := range due[wallet] {
			if at > after {
				return at
			}
		}
		return 1 << 30
	}
	var have []int
	for second := range seconds {
		var miss []int
		for w, times := range due {
			if slices.Contains(times, second) && !slices.Contains(have, w) {
				miss = append(miss, w)
			}
		}
		for _, w := range miss {
			if takes++; len(have) == slots {
				last := slices.MaxFunc(have, func(a, b int) int { return next(a, second) - next(b, second) })
				have = slices.DeleteFunc(have, func(w int) bool { return w == last })
			}
			have = append(have, w)
		}
	}
	return takes
}

// takes returns how many slots an orchestrator gives, in so many seconds, to wallets that are
// due every 30 s (as watched wallets are), each from a second of its own on; and the most
// seconds by which a round began late.
func takes(wallets, processes, seconds int) (takes, late, fewest int) {
	c := small(int32(processes))
	type wallet struct {
		due, since time.Time
		number     int32
	}
	all := make([]wallet, wallets)
	known := make([][]int, wallets)
	name := func(i int) string { return fmt.Sprintf("w%03d", i) }
	for i := range all {
		all[i] = wallet{due: t0.Add(time.Duration(i*30/wallets) * time.Second), since: t0.Add(-time.Hour)}
	}
	for second := range seconds {
		s := refresh.Snapshot{Now: t0.Add(time.Duration(second) * time.Second)}
		for i := range all {
			if w := &all[i]; w.number > 0 {
				s.Slots = append(s.Slots, refresh.Slot{XpubVan: name(i), Number: w.number, Since: w.since, Due: w.due, Ready: true,
					Lease: statemachine.Lease{Holder: "p", Until: s.Now.Add(time.Second)}})
			} else {
				c := refresh.Candidate{XpubVan: name(i), Since: w.due}
				if w.since.After(w.due) {
					c.Since = w.since
				}
				s.Waiting = append(s.Waiting, c)
			}
		}
		slices.SortFunc(s.Waiting, refresh.CompareCandidates)
		a := c.Assign(s, processes)
		for _, xpub := range a.Yield {
			w := &all[number(xpub)]
			w.number, w.since = 0, s.Now
		}
		for _, claim := range a.Claim {
			w := &all[number(claim.XpubVan)]
			w.number, w.since = claim.Number, s.Now
			takes++
		}
		for i := range all { // a round of no time
			if w := &all[i]; w.number > 0 && !w.due.After(s.Now) {
				late = max(late, int(s.Now.Sub(w.due)/time.Second))
				known[i] = append(known[i], second)
				w.due = s.Now.Add(30 * time.Second)
			}
		}
	}
	return takes, late, fewestTakes(known, processes, seconds)
}

// number is that of a wallet by its name.
func number(name string) (n int) {
	_, _ = fmt.Sscanf(name, "w%d", &n)
	return n
}

// The wallet that is due last gives its slot up. With a few wallets more than slots, hardly
// more slots are taken than must be, and no wallet is late.
func TestFewSlotsAreTaken(t *testing.T) {
	for _, c := range []struct{ wallets, processes, most int }{{50, 50, 50}, {51, 50, 115}, {55, 50, 367}, {60, 50, 682}, {3, 2, 95}} {
		got, late, fewest := takes(c.wallets, c.processes, 1800)
		if got > c.most || late > 0 || got < fewest || got > fewest+fewest/20 {
			t.Errorf("%d wallets on %d slots take %d slots, %d must be taken; one was %d s late", c.wallets, c.processes, got, fewest, late)
		}
	}
}
