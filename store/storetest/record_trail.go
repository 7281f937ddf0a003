package storetest

import (
	"slices"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

func (s *subject[T, K, L, A, E, C]) trails(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		a := s.make(t, g)
		var log []statemachine.Transition[L]
		if g.touch != nil { // no version, no line
			a = s.do(t, s.id(&a), g.touch(&a, start))
		}
		c := s.change(t, a, g.rivals(&a, 0))
		_, _, lines := s.partsOf(&c)
		log = append(log, *lines...)
		noError(t, s.save(c))
		a = s.now(c)
		for _, r := range s.states(&a) {
			trail := must(s.service.Trail(ctx, r.id))(t)
			if int64(len(trail)) != r.version {
				t.Fatalf("%d lines for %d versions of %v", len(trail), r.version, r.id)
			}
			var last []statemachine.Transition[L]
			for _, l := range log {
				if l.ID == r.id && l.Machine == trail[0].Machine {
					last = append(last, l)
				}
			}
			same(t, "the last lines of the history", trail[len(trail)-len(last):], last)
		}
	})
}

// brokenLogs: a version has one line, the next one.
func (s *subject[T, K, L, A, E, C]) brokenLogs(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		a := s.make(t, g)
		for what, forge := range map[string]func([]statemachine.Transition[L]) []statemachine.Transition[L]{
			"a version without a line of history": func([]statemachine.Transition[L]) []statemachine.Transition[L] { return nil },
			"a line of history with a gap before it": func(log []statemachine.Transition[L]) []statemachine.Transition[L] {
				log[0].Version++
				return log
			},
			"a second line for one version": func(log []statemachine.Transition[L]) []statemachine.Transition[L] { return append(log, log[0]) },
			"a line of another record": func(log []statemachine.Transition[L]) []statemachine.Transition[L] {
				other := s.make(t, g)
				log[0].ID = s.states(&other)[0].id
				return log
			},
			"a line of another machine": func(log []statemachine.Transition[L]) []statemachine.Transition[L] {
				log[0].Machine = "another"
				return log
			},
		} {
			c := s.change(t, a, g.rivals(&a, 0))
			_, _, log := s.partsOf(&c)
			*log = forge(slices.Clone(*log))
			refusedWith(t, s.save(c), statemachine.ErrInvalid, what)
		}
		s.sameVersions(t, "after refused logs", s.get(t, s.id(&a)), a)
	})
}

// followAll reads the feed from a cursor to its end.
func (s *subject[T, K, L, A, E, C]) followAll(t testing.TB, from store.Cursor,
	limit int) (all []statemachine.Transition[L], end store.Cursor) {
	t.Helper()
	for end = from; ; {
		page, next, err := s.service.Follow(ctx, end, limit)
		noError(t, err)
		if len(page) > limit || len(next) > 100 {
			t.Fatalf("a page of %d of %d, and cursor %q", len(page), limit, next)
		}
		if len(page) == 0 {
			if next != end {
				t.Fatalf("an empty page moved the cursor from %q to %q", end, next)
			}
			return all, end
		}
		all, end = append(all, page...), next
	}
}

// inOrder requires versions 1, 2, 3, ... of each record and returns how many
// records there are.
func inOrder[L comparable](t testing.TB, all []statemachine.Transition[L]) int {
	t.Helper()
	type record struct {
		machine string
		id      L
	}
	versions := map[record]int64{}
	for _, line := range all {
		of := record{line.Machine, line.ID}
		if line.Version != versions[of]+1 {
			t.Fatalf("%s %v: version %d was seen after %d", line.Machine, line.ID, line.Version, versions[of])
		}
		versions[of]++
	}
	return len(versions)
}

// cursors: a cursor is of one line, and of no other. The feed begins and ends
// where it says.
func (s *subject[T, K, L, A, E, C]) cursors(t *testing.T) {
	if s.sharedFeed {
		t.Skip("the feed is not this subject's alone")
	}
	if end := s.head(t); end != "" {
		t.Fatalf("the head of an empty feed is %q", end)
	}
	g := &s.stages[len(s.stages)-1]
	s.make(t, g)
	all, end := s.followAll(t, "", 3)
	if head := s.head(t); head != end {
		t.Errorf("the feed ends at %q, its head is %q", end, head)
	}
	place, err := end.Place()
	if err != nil {
		t.Fatalf("the store makes cursor %q, which is not of CursorOf: %v", end, err)
	}
	last := all[len(all)-1]
	if made := store.CursorOf(place, last); made != end {
		t.Errorf("the cursor of %+v is %q, not %q", last, end, made)
	}
	for what, change := range map[string]func(*statemachine.Transition[L]){
		"machine": func(l *statemachine.Transition[L]) { l.Machine += "x" },
		"id":      func(l *statemachine.Transition[L]) { l.ID = *new(L) },
		"version": func(l *statemachine.Transition[L]) { l.Version++ },
		"from":    func(l *statemachine.Transition[L]) { l.From += "x" },
		"trigger": func(l *statemachine.Transition[L]) { l.Trigger += "x" },
		"to":      func(l *statemachine.Transition[L]) { l.To += "x" },
		"time":    func(l *statemachine.Transition[L]) { l.At = l.At.Add(tick) },
		"actor":   func(l *statemachine.Transition[L]) { l.Actor += "x" },
		"role":    func(l *statemachine.Transition[L]) { l.Role += "x" },
	} {
		other := last
		change(&other)
		_, _, err := s.service.Follow(ctx, store.CursorOf(place, other), 1)
		refusedWith(t, err, store.ErrCursor, "the cursor of a line with another "+what)
	}
	last.Reason, last.Data = "[erased]", "[erased]" // what may be erased is in no cursor
	if _, _, err := s.service.Follow(ctx, store.CursorOf(place, last), 1); err != nil {
		t.Errorf("the cursor of a line that was erased: %v", err)
	}
	for _, invented := range []store.Cursor{store.CursorOf("9"+place, last), store.CursorOf("0", last), store.CursorOf("0.0", last),
		store.CursorOf("x", last), end + "0", end[1:]} {
		_, _, err := s.service.Follow(ctx, invented, 1)
		refusedWith(t, err, store.ErrCursor, "an invented cursor, "+string(invented))
	}
	s.make(t, g)
	if more, to := s.followAll(t, end, 2); len(more) == 0 || to != s.head(t) {
		t.Errorf("after the old head are %d lines up to %q, the head is %q", len(more), to, s.head(t))
	}
}

// head returns where the feed ends.
func (s *subject[T, K, L, A, E, C]) head(t testing.TB) store.Cursor {
	t.Helper()
	end := must(s.service.Head(ctx))(t)
	return end
}

func (s *subject[T, K, L, A, E, C]) follow(t *testing.T) {
	if s.sharedFeed {
		t.Skip("the feed is not this subject's alone")
	}
	if page, cursor, err := s.service.Follow(ctx, "", 10); err != nil || len(page) > 0 || cursor != "" {
		t.Fatalf("the feed of an empty store is %v, %q, %v", page, cursor, err)
	}
	g := &s.stages[len(s.stages)-1]
	a := s.make(t, g)
	total := 0
	for _, r := range s.states(&a) {
		total += int(r.version)
	}
	first, cursor := s.followAll(t, "", 2)
	if inOrder(t, first) != len(s.states(&a)) || len(first) != total {
		t.Fatalf("%d transitions of %d versions", len(first), total)
	}
	_ = s.Update(ctx, func(tx T) error { // an aborted update leaves nothing in the feed
		_, _ = s.within(tx).Do(ctx, s.id(&a), g.rivals(&a, 0))
		return errRollback
	})
	c := s.change(t, a, g.rivals(&a, 0))
	noError(t, s.save(c))
	id := s.newID()
	early := s.do(t, id, s.stages[0].events(id)[0])
	_, _, log := s.partsOf(&c)
	second, _ := s.followAll(t, cursor, 10)
	made := len(s.states(&early)) // each at its first version
	if n := len(*log); len(second) != n+made || second[n].ID != s.states(&early)[0].id {
		t.Fatalf("after the cursor: %v", second)
	}
	whole, _ := s.followAll(t, "", 100)
	same(t, "the feed in pages", append(slices.Clone(first), second...), whole)
}

// followWhileWriting: transactions overlap, so that the numbers that they draw
// are not the order in which they commit.
func (s *subject[T, K, L, A, E, C]) followWhileWriting(t *testing.T) {
	const writers = 6
	each := usual(4, 15)
	g := &s.stages[0]
	done, written := make(chan []error), make(chan struct{}, 1)
	look := func() { // the follower looks once more: what it can see changes here alone
		select {
		case written <- struct{}{}:
		default: // it will anyway
		}
	}
	go func() {
		done <- atOnce(writers, func(i int) error {
			for range each {
				id, other := s.newID(), s.newID()
				var first A
				err := s.Update(ctx, func(tx T) (err error) {
					for _, of := range []K{other, id} {
						if first, err = s.within(tx).Do(ctx, of, g.events(of)...); err != nil {
							return err
						}
						if _, err := s.records(tx).Get(of); err != nil { // write now
							return err
						}
						look()
					}
					return nil
				})
				if err != nil {
					return err
				}
				look()
				if _, err := s.service.Do(ctx, id, g.rivals(&first, 0)); err != nil {
					return err
				}
				look()
			}
			return nil
		})
	}()
	var seen []statemachine.Transition[L]
	var cursor store.Cursor
	for writing := true; writing; {
		select {
		case errs := <-done:
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
			writing = false
		case <-written:
		}
		page, next := s.followAll(t, cursor, 7)
		seen, cursor = append(seen, page...), next
	}
	whole, _ := s.followAll(t, "", 1000)
	inOrder(t, seen)
	if heads := len(whole); len(seen) != heads || heads < 3*writers*each {
		t.Fatalf("saw %d transitions of %d, expected at least %d", len(seen), heads, 3*writers*each)
	}
}
