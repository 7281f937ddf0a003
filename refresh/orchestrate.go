package refresh

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Snapshot is what an orchestrator sees of all processes.
type Snapshot struct {
	Now   time.Time
	Slots []Slot // every wallet with a slot
	// Waiting has the first [Policy.Candidates] wallets that need a worker, in the order of
	// CompareCandidates.
	Waiting []Candidate
}

// Candidates is how many waiting wallets a snapshot has: twice as many as there are slots, since
// another transaction may give a slot to some of them meanwhile.
func (c Policy) Candidates() int { return 2 * int(c.MaxWalletProcesses) }

// Slot is a number that a wallet has.
type Slot struct {
	XpubVan string
	Number  int32
	Lease   statemachine.Lease
	// Ready: this process has the slot, its round is done, and the process may give it back.
	Ready bool
	// Since is when this process got the slot. Due is when the wallet began, or will begin, to wait
	// for its next round: the end of the last round, or the time at which its oldest work becomes
	// due, whichever is later; zero if nothing is known to become due. Both are read only where
	// Ready is set.
	Since, Due time.Time
}

// Assignment is what the orchestrator does with a snapshot, in this order.
type Assignment struct {
	Free  []string // send SlotElapsed: their leases have ended
	Yield []string // send RoundEnded with EndYield
	Claim []Claim  // send SlotClaimed
}

// Claim gives a wallet a number.
type Claim struct {
	XpubVan string
	Number  int32
	// After is the wallet that has the number now, and is to be freed or to yield. If it keeps the
	// number, the claim is not sent. Empty: no wallet has the number.
	After string
}

// SlotGone reports, from the answer to a RoundEnded, whether its speaker has lost the slot: it
// was given back now or was lost before. An idle exit that finds work keeps the slot.
func SlotGone(refused error) bool { return !errors.Is(refused, statemachine.ErrIllegal) }

// yields is the order in which slots are given back: first those of wallets without a known due time,
// then those whose wallet is due last.
func yields(x, y *Slot) int {
	never := func(slot *Slot) int {
		if slot.Due.IsZero() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(never(x), never(y)), y.Due.Compare(x.Due), x.Since.Compare(y.Since), strings.Compare(x.XpubVan, y.XpubVan))
}

// Assign distributes the numbers 1 to MAX_WALLET_PROCESSES. It frees slots whose leases have
// ended. With k wallets waiting for due work and f numbers free, up to k - f ready slots are
// given back, first the slot whose wallet is due last, but only where the wallet that gets the
// number has waited for longer than the wallet that gives it up. The free numbers, at most room
// of them, go to the wallets that wait longest, with due work first. Numbers above the maximum
// belong to a process with a greater maximum: they are not given again.
func (c Policy) Assign(s Snapshot, room int) Assignment {
	var a Assignment
	free, after := make([]bool, c.MaxWalletProcesses+1), map[int32]string{}
	for n := range free {
		free[n] = n > 0
	}
	var ready []*Slot
	for i := range s.Slots {
		slot := &s.Slots[i]
		switch {
		case !slot.Lease.Held(s.Now):
			a.Free = append(a.Free, slot.XpubVan)
			after[slot.Number] = slot.XpubVan
			continue
		case slot.Ready:
			ready = append(ready, slot)
		}
		if int(slot.Number) < len(free) {
			free[slot.Number] = false
		}
	}
	numbers := 0
	for _, is := range free {
		if is {
			numbers++
		}
	}
	slices.SortFunc(ready, yields)
	for i, slot := range ready {
		// The wallet that waits for it must wait for longer than its own.
		n := numbers + i
		if n >= len(s.Waiting) || !s.Waiting[n].Due(s.Now) || !slot.Due.IsZero() && !slot.Due.After(s.Waiting[n].Since) {
			break
		}
		a.Yield = append(a.Yield, slot.XpubVan)
		if int(slot.Number) < len(free) {
			free[slot.Number], after[slot.Number] = true, slot.XpubVan
		}
	}
	number := int32(1)
	for _, w := range s.Waiting {
		for int(number) < len(free) && !free[number] {
			number++
		}
		if int(number) == len(free) || len(a.Claim) >= room {
			break
		}
		a.Claim = append(a.Claim, Claim{w.XpubVan, number, after[number]})
		number++
	}
	return a
}
