package refresh

import (
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Snapshot is what an orchestrator sees of all processes.
type Snapshot struct {
	Now   time.Time
	Slots []Slot // every wallet with a slot
	// Waiting are wallets that need a worker, in the order of
	// CompareCandidates: as many as there are numbers at least.
	Waiting []Candidate
}

// Slot is a number that a wallet has.
type Slot struct {
	XpubVan string
	Number  int32
	Lease   statemachine.Lease
	// Ready: its round is done and it is of this process, which may give it back.
	Ready bool
	// Since is when this process got it; only read where Ready.
	Since time.Time
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
}

// Assign distributes numbers 1 to MAX_WALLET_PROCESSES: leases that have ended
// are freed; with k wallets waiting for due work and f numbers free, the k - f
// that were held longest and are ready are given back; free numbers go to the
// wallets that wait longest, with due work first, at most room of them. Numbers
// above the maximum are of a process with a greater one: they drain.
func (c Config) Assign(s Snapshot, room int) Assignment {
	var a Assignment
	free := make([]bool, c.MaxWalletProcesses+1)
	for n := range free {
		free[n] = n > 0
	}
	var ready []*Slot
	for i := range s.Slots {
		slot := &s.Slots[i]
		switch {
		case !slot.Lease.Held(s.Now):
			a.Free = append(a.Free, slot.XpubVan)
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
	due := 0
	for i := range s.Waiting {
		if s.Waiting[i].Due(s.Now) {
			due++
		}
	}
	slices.SortFunc(ready, func(x, y *Slot) int {
		if c := x.Since.Compare(y.Since); c != 0 {
			return c
		}
		return strings.Compare(x.XpubVan, y.XpubVan)
	})
	for _, slot := range ready[:min(len(ready), max(due-numbers, 0))] {
		a.Yield = append(a.Yield, slot.XpubVan)
		if int(slot.Number) < len(free) {
			free[slot.Number] = true
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
		a.Claim = append(a.Claim, Claim{w.XpubVan, number})
		number++
	}
	return a
}
