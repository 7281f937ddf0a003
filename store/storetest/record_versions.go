package storetest

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/statemachine"
)

func (s *subject[T, K, L, A, E, C]) staleVersion(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		stale, again := s.change(t, old, g.rivals(&old, 0)), s.change(t, old, g.rivals(&old, 1))
		current := s.do(t, s.id(&old), g.rivals(&old, 1))
		refusedWith(t, s.save(stale), statemachine.ErrConflict, "a change of an old version")
		refusedWith(t, s.save(again), statemachine.ErrConflict, "the change that was saved, once more")
		s.sameVersions(t, "after a stale change", s.get(t, s.id(&old)), current)
	})
}

func (s *subject[T, K, L, A, E, C]) leaveAndReturn(t *testing.T) {
	s.eachStage(t, func(g *stage[K, A, E]) bool { return g.back != nil }, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		stale := s.change(t, old, g.rivals(&old, 0))
		back := s.do(t, s.id(&old), g.back(&old)...)
		for i, r := range s.states(&old) {
			if now := s.states(&back)[i]; now.status != r.status {
				t.Fatalf("%v is %s and was %s: it has not come back", r.id, now.status, r.status)
			}
		}
		refusedWith(t, s.save(stale), statemachine.ErrConflict, "a change from before")
		s.sameVersions(t, "after it", s.get(t, s.id(&old)), back)
	})
}

func (s *subject[T, K, L, A, E, C]) oneWriter(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		for range 2 {
			old := s.make(t, g)
			changes := make([]C, concurrentAttempts)
			for i := range changes {
				changes[i] = s.change(t, old, g.rivals(&old, i))
			}
			winner := oneOf(t, atOnce(len(changes), func(i int) error { return s.save(changes[i]) }), statemachine.ErrConflict)
			s.sameVersions(t, "the winner's version", s.get(t, s.id(&old)), s.now(changes[winner]))
			must(s.service.Trail(ctx, s.states(&old)[0].id))(t)
		}
	})
}

func (s *subject[T, K, L, A, E, C]) oneCreation(t *testing.T) {
	for range 5 {
		id := s.newID()
		first := s.stages[0].events(id)[0]
		for _, err := range atOnce(concurrentAttempts, func(int) error {
			_, err := s.service.Do(ctx, id, first)
			return err
		}) {
			if err != nil {
				refusedWith(t, err, statemachine.ErrConflict, "the same creation at the same time")
			}
		}
		a := s.get(t, id)
		if v := s.states(&a)[0].version; v != 1 {
			t.Fatalf("it is at version %d", v)
		}
	}
}

// insertedOnce: an id that exists is never written over.
func (s *subject[T, K, L, A, E, C]) insertedOnce(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		var none A
		fresh := s.change(t, none, g.events(s.id(&old))[0])
		refusedWith(t, s.save(fresh), statemachine.ErrConflict, "a new one with the id of another")
		s.sameVersions(t, "after another one of its id", s.get(t, s.id(&old)), old)
	})
}

func (s *subject[T, K, L, A, E, C]) staleTouch(t *testing.T) {
	s.eachStage(t, func(g *stage[K, A, E]) bool { return g.touch != nil }, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		at := start.Add(time.Hour)
		first := s.change(t, old, g.touch(&old, at))
		noError(t, s.save(first))
		touched := s.get(t, s.id(&old))
		same(t, "after a touch", touched, s.now(first))
		s.sameVersions(t, "a touch moves no version", touched, old)
		if g.claim != nil {
			leased := s.do(t, s.id(&old), g.claim(&touched))
			if s.lease(&leased).Fence != s.lease(&old).Fence+1 {
				t.Fatalf("it was claimed under fence %d after %d", s.lease(&leased).Fence, s.lease(&old).Fence)
			}
			refusedWith(t, s.save(first), statemachine.ErrFenced, "a touch under the old fence")
			touched = leased
		}
		stale := s.change(t, touched, g.touch(&touched, at.Add(time.Hour)))
		moved := s.do(t, s.id(&old), g.rivals(&touched, 0))
		refusedWith(t, s.save(stale), statemachine.ErrConflict, "a touch of the old version")
		s.sameVersions(t, "after refused touches", s.get(t, s.id(&old)), moved)
	})
}

func (s *subject[T, K, L, A, E, C]) staleFence(t *testing.T) {
	s.eachStage(t, func(g *stage[K, A, E]) bool { return g.claim != nil }, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		stale := s.change(t, old, g.rivals(&old, 0))
		claimed := s.do(t, s.id(&old), g.claim(&old))
		if s.lease(&claimed).Fence != s.lease(&old).Fence+1 {
			t.Fatalf("it was claimed under fence %d after %d", s.lease(&claimed).Fence, s.lease(&old).Fence)
		}
		want := statemachine.ErrFenced
		if s.states(&claimed)[0] != s.states(&old)[0] || len(s.states(&old)) > 1 && s.states(&claimed)[1] != s.states(&old)[1] {
			want = statemachine.ErrConflict // the claim is a version
		}
		refusedWith(t, s.save(stale), want, "a change that would bring an old fence back")
		same(t, "after it", s.get(t, s.id(&old)), claimed)
	})
}

// asRead: each column outside the version is compared, and the version too.
func (s *subject[T, K, L, A, E, C]) asRead(t *testing.T) {
	touched := func(g *stage[K, A, E]) bool { return g.touch != nil }
	concerns := touched
	if !slices.ContainsFunc(s.stages, func(g stage[K, A, E]) bool { return touched(&g) }) {
		concerns = nil // what is outside moves with the version alone, and is compared all the same
	}
	s.eachStage(t, concerns, func(t *testing.T, g *stage[K, A, E]) {
		a := s.make(t, g)
		if s.older != nil && g.touch != nil {
			stale := s.change(t, a, g.touch(&a, start.Add(time.Hour)))
			old, now, _ := s.partsOf(&stale)
			s.older(old)
			s.older(now)
			refusedWith(t, s.save(stale), statemachine.ErrConflict, "a touch of another version than the stored one")
		}
		events := []E{g.rivals(&a, 0)}
		if g.touch != nil {
			events = append(events, g.touch(&a, start.Add(time.Hour)))
		}
		for _, ev := range events {
			for name, forge := range s.outside {
				stale := s.change(t, a, ev)
				old, _, _ := s.partsOf(&stale)
				forge(old)
				want := statemachine.ErrConflict
				if s.lease != nil && s.lease(old).Fence != s.lease(&a).Fence {
					want = statemachine.ErrFenced
				}
				refusedWith(t, s.save(stale), want, "another "+name+" than the stored one")
			}
		}
		same(t, "after refused changes", s.get(t, s.id(&a)), a)
	})
}

// held is a stage whose aggregates have a lease that somebody holds.
func (s *subject[T, K, L, A, E, C]) leased(t *testing.T, test func(t *testing.T, g *stage[K, A, E], a A)) {
	t.Helper()
	if s.renew == nil {
		t.Skip("nothing has a lease")
	}
	found := false
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		a := s.make(t, g)
		if s.lease(&a).Holder == "" {
			return
		}
		found = true
		test(t, g, a)
	})
	if !found {
		t.Fatal("no stage has a lease: the rule is not tested")
	}
}

// renewal renews in one update and requires that the lease is lost, or not.
func (s *subject[T, K, L, A, E, C]) renewal(t *testing.T, what string, now time.Time, of A, fence int64, until time.Time, want bool) {
	t.Helper()
	var lost bool
	err := s.Update(ctx, func(tx T) (err error) {
		lost, err = s.renew(tx, now, &of, fence, until)
		return err
	})
	if err != nil || lost != want {
		t.Fatalf("%s: lost is %v, expected %v, %v", what, lost, want, err)
	}
}

func (s *subject[T, K, L, A, E, C]) renewals(t *testing.T) {
	s.leased(t, func(t *testing.T, g *stage[K, A, E], a A) {
		other := s.make(t, g)
		a, before := s.get(t, s.id(&a)), s.dump(t, s.id(&a))
		end, fence := s.lease(&a).Until, s.lease(&a).Fence
		s.renewal(t, "another fence", end.Add(-tick), a, fence+1, end.Add(time.Hour), true)
		s.renewal(t, "a lease that has just ended", end, a, fence, end.Add(time.Hour), true)
		same(t, "leases that are lost", s.dump(t, s.id(&a)), before)
		s.renewal(t, "the last moment", end.Add(-tick), a, fence, end.Add(time.Hour), false)
		want := a
		s.lease(&want).Until = end.Add(time.Hour)
		same(t, "a renewed lease, and nothing else", s.get(t, s.id(&a)), want)
		same(t, "a lease that was not renewed", s.get(t, s.id(&other)), other)
		s.renewal(t, "renewed once more", end, a, fence, end, false)
		same(t, "no line, no version, no other column", s.dump(t, s.id(&a)), before)
	})
}

func (s *subject[T, K, L, A, E, C]) renewedThenSaved(t *testing.T) {
	s.leased(t, func(t *testing.T, g *stage[K, A, E], a A) {
		until := s.lease(&a).Until.Add(time.Hour)
		c := s.change(t, a, g.rivals(&a, 0))
		s.renewal(t, "a lease that is held", start, a, s.lease(&a).Fence, until, false)
		noError(t, s.save(c), "a change from before a renewal")
		stored, now := s.get(t, s.id(&a)), s.now(c)
		if want := s.lease(&now); want.Holder != "" {
			want.Until = until
		}
		same(t, "the lease after a change from before its renewal", s.lease(&stored), s.lease(&now))
	})
}

// leaseOver: at the end of a lease by the store's clock it is another's to claim, and
// nothing of its holder is taken, though the events bring times from before.
func (s *subject[T, K, L, A, E, C]) leaseOver(t *testing.T) {
	tested := s.lease == nil
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		defer dated(s.Store, time.Time{})
		a := s.make(t, g)
		id := s.id(&a)
		if g.claim != nil {
			if first, err := s.service.Do(ctx, id, g.claim(&a)); err == nil { // else this stage keeps it from others
				a = first
			}
		}
		if s.lease == nil || s.lease(&a).Holder == "" {
			return
		}
		over := s.lease(&a).Until
		dated(s.Store, over)
		if g.claim == nil { // what the rivals are is the domain's; of some stage they need the lease
			_, err := s.service.Do(ctx, id, g.rivals(&a, 0))
			tested = tested || errors.Is(err, statemachine.ErrFenced)
		} else {
			tested = true
			if a, err := s.service.Do(ctx, id, g.claim(&a)); err != nil || !s.lease(&a).Until.After(over) {
				t.Fatalf("a claim at the end of a lease, dated before it: %+v, %v", s.lease(&a), err)
			}
		}
	})
	if !tested {
		t.Fatal("no stage shows that its lease is over")
	}
}

func (s *subject[T, K, L, A, E, C]) revocation(t *testing.T) {
	s.leased(t, func(t *testing.T, g *stage[K, A, E], a A) {
		other := s.make(t, g)
		holder, fence := s.lease(&a).Holder, s.lease(&a).Fence
		stale, before := s.change(t, a, g.rivals(&a, 0)), s.dump(t, s.id(&a), s.id(&other))
		live(s.Store)
		defer dated(s.Store, time.Time{})
		give := func(holder string, want int) {
			t.Helper()
			if n, err := s.revoke(ctx, statemachine.Revocation{Holder: holder, Reason: "its machine burnt"}); err != nil || n != want {
				t.Fatalf("of %q %d were given back, %v, expected %d", holder, n, err, want)
			}
		}
		refusedWith(t, errOf(s.revoke(ctx, statemachine.Revocation{Holder: holder})), statemachine.ErrInvalid, "an operator without a reason")
		give(holder+"x", 0)
		same(t, "what others hold", s.dump(t, s.id(&a), s.id(&other)), before)
		give(holder, 2)
		for _, old := range []A{a, other} {
			now := s.get(t, s.id(&old))
			same(t, "its lease", *s.lease(&now), statemachine.Lease{Fence: fence})
			for _, r := range s.states(&now) {
				must(s.service.Trail(ctx, r.id))(t)
			}
		}
		if s.held == nil { // the service judges by what is stored
			before := s.dump(t, s.id(&a))
			if _, err := s.service.Do(ctx, s.id(&a), g.rivals(&a, 0)); err != nil && !errors.Is(err, statemachine.ErrFenced) {
				t.Fatal("an event of the old holder: ", err)
			}
			same(t, "after an event of the old holder", s.dump(t, s.id(&a)), before)
		} else if err := s.save(stale); !errors.Is(err, statemachine.ErrConflict) && !errors.Is(err, statemachine.ErrFenced) {
			t.Fatalf("a change of the old holder: %v, expected %v or %v", err, statemachine.ErrConflict, statemachine.ErrFenced)
		}
		s.renewal(t, "a renewal of the old holder", start, a, fence, start.Add(time.Hour), true)
		before = s.dump(t, s.id(&a), s.id(&other))
		give(holder, 0)
		same(t, "given back twice", s.dump(t, s.id(&a), s.id(&other)), before)
	})
}

// heldAgain is what a caller does after [store.ErrUnknownCommit].
func (s *subject[T, K, L, A, E, C]) heldAgain(t *testing.T) {
	if s.held == nil {
		t.Skip("the service loads what it writes")
	}
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		ev := g.rivals(&old, 0)
		first := must(s.held(ctx, old, ev))(t)
		again, err := s.held(ctx, old, ev)
		if err != nil {
			t.Fatal("the same event of the same aggregate: ", err)
		}
		s.sameVersions(t, "the same event of the same aggregate", again, first)
		refusedWith(t, errOf(s.held(ctx, old, g.rivals(&old, 1))), statemachine.ErrConflict, "another event of an old aggregate")
		s.sameVersions(t, "after all", s.get(t, s.id(&old)), first)
	})
}

// changedCopy: of a copy whose every field but ids and versions was changed, an event
// leads to where it leads without.
func (s *subject[T, K, L, A, E, C]) changedCopy(t *testing.T) {
	if s.held == nil {
		t.Skip("the service loads what it writes")
	}
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		a := s.make(t, g)
		var want []A
		ev, id := g.rivals(&a, 0), s.id(&a)
		if err := s.Update(ctx, func(tx T) (err error) {
			if _, err = s.within(tx).Do(ctx, id, ev); err == nil {
				want, err = s.records(tx).Get(id)
			}
			return cmp.Or(err, errRollback)
		}); !errors.Is(err, errRollback) {
			t.Fatal(err)
		}
		// which a service may know
		held := must(s.held(ctx, a))(t)
		disturb(reflect.ValueOf(&held).Elem())
		if reflect.DeepEqual(held, a) {
			t.Fatal("nothing was changed")
		}
		if _, err := s.held(ctx, held, ev); err != nil {
			t.Fatal("a copy with other fields of the stored versions: ", err)
		}
		same(t, "after an event of a changed copy", s.get(t, id), want[0])
	})
}

// disturb changes every field within v but ids and versions.
func disturb(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = at.Add(time.Hour)
		return
	case *decimal.Decimal:
		*at = at.Add(decimal.NewFromInt(1))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "ID" && name != "Version" && v.Field(i).CanSet() {
				disturb(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice { // what others may have too stays
			v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		}
		for i := range v.Len() {
			disturb(v.Index(i))
		}
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	}
}

// oneSave: changes of different aggregates, all or none.
func (s *subject[T, K, L, A, E, C]) oneSave(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		a, other := s.make(t, g), s.make(t, g)
		first, stale := s.change(t, a, g.rivals(&a, 0)), s.change(t, other, g.rivals(&other, 0))
		moved := s.do(t, s.id(&other), g.rivals(&other, 1))
		for i, changes := range [][]C{{first, stale}, {stale, first}} {
			refusedWith(t, s.save(changes...), statemachine.ErrConflict, "one of two changes is stale")
			s.sameVersions(t, []string{"the first of two changes was stored", "the second of two changes was stored"}[i], s.get(t, s.id(&a)), a)
			s.sameVersions(t, "the stale one", s.get(t, s.id(&other)), moved)
		}
		next := s.make(t, g)
		second := s.change(t, next, g.rivals(&next, 0))
		noError(t, s.save(first, second))
		s.sameVersions(t, "the first of two changes", s.get(t, s.id(&a)), s.now(first))
		s.sameVersions(t, "the second of two changes", s.get(t, s.id(&next)), s.now(second))
	})
	var none A
	g := &s.stages[0]
	made := []C{s.change(t, none, g.events(s.newID())[0]), s.change(t, none, g.events(s.newID())[0])}
	noError(t, s.save(made...))
	for _, c := range made {
		now := s.now(c)
		s.sameVersions(t, "one of two new aggregates", s.get(t, s.id(&now)), now)
	}
}
