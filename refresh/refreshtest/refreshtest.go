// Package refreshtest has generators, events and invariants for property tests of hosts and
// adapters. Its adversary sends a wallet any event in any order, twice, too late, in the wrong
// role and under old fences; the whole state of a wallet is a value, and the package checks the
// rules that must hold after each step.
package refreshtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Start is a moment from which the generators' times go on.
var Start = time.Date(2001, 1, 2, 3, 4, 5, 0, time.UTC)

// Wallet names wallet n.
func Wallet(n int) refresh.Credentials {
	return refresh.Credentials{XpubVan: fmt.Sprintf("xpub-van-%03d", n), XpubCol: fmt.Sprintf("xpub-col-%03d", n),
		MasterFingerprint: fmt.Sprintf("%08x", n)}
}

// UUIDs draws random job ids, version 4.
func UUIDs() *rapid.Generator[uuid.UUID] {
	return rapid.Custom(func(t *rapid.T) uuid.UUID {
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		return id
	})
}

// Recipients are those that the generators know; few, so that they meet.
var Recipients = []string{"r0", "r1", "r2"}

// Transfers draws transfers as a node lists them about now; some have numbers that no rule
// knows.
func Transfers(now time.Time) *rapid.Generator[refresh.Transfer] {
	return rapid.Custom(func(t *rapid.T) refresh.Transfer {
		x := refresh.Transfer{
			Recipient: rapid.SampledFrom(append([]string{""}, Recipients...)).Draw(t, "recipient"),
			Asset:     rapid.SampledFrom([]string{"", "asset", "another"}).Draw(t, "asset"),
			Status:    rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 3, 7}).Draw(t, "status"),
			Kind:      rapid.SampledFrom([]int{0, 1, 1, 2, 3, -1}).Draw(t, "kind"),
			HasIndex:  rapid.IntRange(0, 4).Draw(t, "has index") > 0,
		}
		if x.HasIndex {
			x.Index = rapid.Int32Range(0, 2).Draw(t, "index")
		}
		day := int64(24 * 60 * 60)
		all := []int64{0, 0, -1, 1, -day, -day - 1, -day + 1, day, 20 * 365 * day}
		around := rapid.SampledFrom(all).Draw(t, "expiration")
		if around != 0 {
			x.Expiration = now.Unix() + around
		}
		return x
	})
}

// Listings draws listings that were answered at or before now.
func Listings(now time.Time) *rapid.Generator[refresh.Listing] {
	return rapid.Custom(func(t *rapid.T) refresh.Listing {
		age := time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Second
		return refresh.Listing{Answered: now.Add(-age),
			Transfers: rapid.SliceOfN(Transfers(now), 0, 5).Draw(t, "transfers")}
	})
}

// Apply is the function under test: [refresh.Policy.ApplyAt] on what [Load] returns of w, or a
// service that stores the change and reads it again.
type Apply func(ev refresh.Event, w refresh.Work, now time.Time) (refresh.Change, error)

// Run sends n events to a new wallet and checks every answer. Events under an old fence must be
// refused, and at least one event must be stored. Run returns the whole state at the end.
func Run(t *rapid.T, n int, config refresh.Policy, apply Apply) (w refresh.Work) {
	a := Adversary{Of: Wallet(1), Policy: config}
	now := Start
	for i := range n {
		now = now.Add(Pause(t))
		ev := a.Event(t, w, now)
		if i == 0 {
			ev = refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API, At: now},
				Job: UUIDs().Draw(t, "first job"), Credentials: a.Of, Cause: refresh.Sync}
		}
		c, err := apply(ev, w, now)
		_, want := config.ApplyAt(Load(w, refresh.Needs(ev), now), ev, now)
		if errors.Is(want, statemachine.ErrFenced) && err == nil {
			t.Fatalf("step %d, %T: it comes under an old fence and is not refused", i, ev)
		}
		switch {
		case err != nil && (len(c.Log) > 0 || !c.Empty()):
			t.Fatalf("step %d, %T: a refusal changed something: %v", i, ev, err)
		case err != nil && i == 0:
			t.Fatalf("the first job was refused: %v", err)
		case err != nil:
			continue
		}
		if err := Sound(c); err != nil {
			t.Fatalf("step %d, %T: %v", i, ev, err)
		}
		w = Store(w, c)
		if err := refresh.Check(w); err != nil {
			t.Fatalf("step %d, %T: %v", i, ev, err)
		}
		if w.Wallet.Status == 0 {
			t.Fatalf("step %d, %T: nothing is stored", i, ev)
		}
	}
	return w
}

// Load returns what an event needs of the whole state of a wallet, as a store must load it: the
// sets in their order, then the named records.
func Load(all refresh.Work, r refresh.Reads, now time.Time) refresh.Work {
	w := refresh.Work{Wallet: all.Wallet, Lock: all.Lock, Jobs: r.Jobs.Pick(slices.Clone(all.Jobs), now),
		Watchers: r.Watchers.Pick(slices.Clone(all.Watchers), now)}
	recipients := slices.Clone(r.Recipients)
	for _, j := range all.Jobs {
		if j.ID == r.Job && !slices.Contains(w.Jobs, j) {
			w.Jobs = append(w.Jobs, j)
		}
	}
	for _, j := range w.Jobs {
		if r.Invoices {
			recipients = append(recipients, j.Recipient)
		}
	}
	for _, x := range all.Watchers {
		if slices.Contains(recipients, x.Recipient) && !slices.Contains(w.Watchers, x) {
			w.Watchers = append(w.Watchers, x)
		}
	}
	return w
}

// Store writes a change into the whole state of its wallet.
func Store(all refresh.Work, c refresh.Change) refresh.Work {
	all.Wallet, all.Lock = c.New.Wallet, c.New.Lock
	all.Jobs, all.Watchers = slices.Clone(all.Jobs), slices.Clone(all.Watchers)
	for _, j := range c.New.Jobs {
		if i := slices.IndexFunc(all.Jobs, func(o refresh.Job) bool { return o.ID == j.ID }); i >= 0 {
			all.Jobs[i] = j
		} else {
			all.Jobs = append(all.Jobs, j)
		}
	}
	for _, w := range c.New.Watchers {
		if i := slices.IndexFunc(all.Watchers,
			func(o refresh.Watcher) bool { return o.Recipient == w.Recipient }); i >= 0 {
			all.Watchers[i] = w
		} else {
			all.Watchers = append(all.Watchers, w)
		}
	}
	return all
}

// Sound returns the rule that a change breaks, nil for none: each new version has its line,
// each line continues its record, records keep their places, and [refresh.Change.Complete] and [refresh.Check] hold.
func Sound(c refresh.Change) error {
	versions := map[uuid.UUID]int64{c.Old.Wallet.ID(): c.Old.Wallet.Version}
	for i := range c.Old.Jobs {
		versions[c.Old.Jobs[i].ID] = c.Old.Jobs[i].Version
		if c.New.Jobs[i].ID != c.Old.Jobs[i].ID {
			return fmt.Errorf("job %d changed its place", i)
		}
	}
	for i := range c.Old.Watchers {
		versions[c.Old.Watchers[i].ID()] = c.Old.Watchers[i].Version
		if c.New.Watchers[i].Recipient != c.Old.Watchers[i].Recipient {
			return fmt.Errorf("watcher %d changed its place", i)
		}
	}
	for _, line := range c.Log {
		if line.Version != versions[line.ID]+1 || line.Actor == "" || line.Role == "" || line.At.IsZero() {
			return fmt.Errorf("line %+v follows version %d", line, versions[line.ID])
		}
		versions[line.ID] = line.Version
	}
	if w := &c.New.Wallet; w.Status != 0 && versions[w.ID()] != w.Version {
		return fmt.Errorf("wallet at version %d, lines up to %d", w.Version, versions[w.ID()])
	}
	for i := range c.New.Jobs {
		if j := &c.New.Jobs[i]; versions[j.ID] != j.Version {
			return fmt.Errorf("job %s at version %d, lines up to %d", j.ID, j.Version, versions[j.ID])
		}
	}
	for i := range c.New.Watchers {
		if w := &c.New.Watchers[i]; versions[w.ID()] != w.Version {
			return fmt.Errorf("watcher of %s at version %d, lines up to %d", w.Recipient, w.Version, versions[w.ID()])
		}
	}
	if err := c.Complete(); err != nil {
		return err
	}
	return refresh.Check(c.New)
}
