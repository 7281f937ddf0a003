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
	// Waiting are the first [Config.Candidates] wallets that need a worker, in the
	// order of CompareCandidates.
	Waiting []Candidate
}

// Candidates is how many wallets that wait a snapshot has: twice as many as there are
// numbers, since another transaction may have some of them.
func (c Config) Candidates() int { return 2 * int(c.MaxWalletProcesses) }

// Slot is a number that a wallet has.
type Slot struct {
	XpubVan string
	Number  int32
	Lease   statemachine.Lease
	// Ready: its round is done and it is of this process, which may give it back.
	Ready bool
	// Since is when this process got it. Due is from when its wallet waits for its next
	// round: the later one of the end of the last one and the time at which its oldest work
	// becomes due; zero: nothing is known to become due. Only read where Ready.
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
	// After is the wallet that has the number until it is freed or yields: the claim
	// is not sent unless it did. Empty: nobody has it.
	After string
}

// SlotGone reports by the answer to a RoundEnded whether its speaker has the slot no
// more: it is given back or was lost before. An idle exit that finds work leaves it.
func SlotGone(refused error) bool { return !errors.Is(refused, statemachine.ErrIllegal) }

// yields orders the slots that may be given back: whose wallet is due last goes first, as it
// needs a slot last, and before it one that nothing is known of.
func yields(x, y *Slot) int {
	never := func(slot *Slot) int {
		if slot.Due.IsZero() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(never(x), never(y)), y.Due.Compare(x.Due), x.Since.Compare(y.Since), strings.Compare(x.XpubVan, y.XpubVan))
}

// Assign distributes numbers 1 to MAX_WALLET_PROCESSES: leases that have ended
// are freed; with k wallets waiting for due work and f numbers free, up to k - f
// that are ready are given back, first the one whose wallet is due last, but none whose
// wallet has itself waited for longer than the one that would get it; free numbers go to the
// wallets that wait longest, with due work first, at most room of them. Numbers
// above the maximum are of a process with a greater one: they drain.
func (c Config) Assign(s Snapshot, room int) Assignment {
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
