package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// leavesNoTrace: whatever ends an update but its success.
func (s *subject[T, K, L, A, E, C]) leavesNoTrace(t *testing.T) {
	for name, end := range map[string]func(cancel func()) error{
		"an error":            func(func()) error { return errRollback },
		"a panic":             func(func()) error { panic(errRollback) },
		"a cancelled context": func(cancel func()) error { cancel(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s.noTrace(t, func(t *testing.T, g *stage[K, A, E], old A) (err error) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer func() {
					if p := recover(); p != nil {
						err = p.(error)
					}
					if want := map[bool]error{true: context.Canceled, false: errRollback}[name == "a cancelled context"]; !errors.Is(err, want) {
						t.Errorf("it ended in %v, expected %v", err, want)
					}
				}()
				return s.Update(ctx, func(tx T) error {
					noError(t, s.everything(tx, g, old))
					return end(cancel)
				})
			})
		})
	}
}

// ignoredRefusal: a store may begin again after a refusal that reading again can
// end, which it has noticed then.
func (s *subject[T, K, L, A, E, C]) ignoredRefusal(t *testing.T) {
	s.noTrace(t, func(t *testing.T, g *stage[K, A, E], old A) error {
		stale := s.change(t, old, g.rivals(&old, 1))
		runs := 0
		err := s.Update(ctx, func(tx T) error {
			if runs++; runs > 1 {
				return errRollback
			}
			noError(t, s.everything(tx, g, old))
			_ = s.records(tx).Save(stale)
			return nil
		})
		want := statemachine.ErrConflict
		if runs > 1 {
			want = errRollback
		}
		refusedWith(t, err, want, "the update")
		return err
	})
}

func (s *subject[T, K, L, A, E, C]) viewSaves(t *testing.T) {
	s.noTrace(t, func(t *testing.T, g *stage[K, A, E], old A) error {
		c := s.change(t, old, g.rivals(&old, 0))
		for _, k := range s.due {
			if !k.reads {
				refusedWith(t, s.View(ctx, func(tx T) error { return errOf(k.find(tx, start, 1)) }), statemachine.ErrIllegal, "what is due, in a View")
			}
		}
		err := s.View(ctx, func(tx T) error { return s.records(tx).Save(c) })
		refusedWith(t, err, statemachine.ErrIllegal, "Save in a View")
		if s.renew != nil {
			refusedWith(t, s.View(ctx, func(tx T) error {
				return errOf(s.renew(tx, start, &old, s.lease(&old).Fence, start.Add(time.Hour)))
			}), statemachine.ErrIllegal, "Renew in a View")
		}
		return err
	})
}

func (s *subject[T, K, L, A, E, C]) seesOwnWrites(t *testing.T) {
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		id, old := s.newID(), s.make(t, g)
		var done A
		noError(t, s.Update(ctx, func(tx T) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			inUTC(t, "Now", reflect.ValueOf(now))
			in := s.within(tx)
			for i, of := range []K{id, s.id(&old)} {
				events := g.events(id)
				if i == 1 {
					events = []E{g.rivals(&old, 0)}
				}
				for _, ev := range events {
					if done, err = in.Do(ctx, of, ev); err != nil {
						return err
					}
					loaded, err := in.Get(ctx, of)
					if err != nil {
						return err
					}
					s.sameVersions(t, "what was saved just now", loaded, done)
				}
			}
			return nil
		}))
		s.sameVersions(t, "several saves in one update", s.get(t, s.id(&old)), done)
	})
}

func (s *subject[T, K, L, A, E, C]) unknown(t *testing.T) {
	g := &s.stages[0]
	known := s.make(t, g)
	noError(t, s.View(ctx, func(tx T) error {
		as, err := s.records(tx).Get(s.newID(), s.id(&known), s.newID())
		if err != nil {
			return err
		}
		for _, i := range []int{0, 2} {
			if len(as) != 3 || !reflect.ValueOf(as[i]).IsZero() {
				t.Fatalf("an unknown aggregate among known ones: got %+v", as)
			}
		}
		if got := s.id(&as[1]); got != s.id(&known) {
			t.Errorf("Get returned %v in the place of %v", got, s.id(&known))
		}
		none, err := s.records(tx).Get()
		if len(none) > 0 {
			t.Errorf("Get of nothing returned %v", none)
		}
		return err
	}))
	refusedWith(t, errOf(s.service.Get(ctx, s.newID())), statemachine.ErrNotFound, "an unknown aggregate")
	unknown := statemachine.ErrNotFound
	if s.named { // it is for another one
		unknown = statemachine.ErrInvalid
	}
	refusedWith(t, errOf(s.service.Do(ctx, s.newID(), g.rivals(&known, 0))), unknown, "an event for an unknown aggregate")
	var never L
	refusedWith(t, errOf(s.service.Trail(ctx, never)), statemachine.ErrNotFound, "the trail of an unknown record")
	for _, cursor := range []store.Cursor{"no cursor of ours", "x", "0", "01", "-1", "999999"} {
		if _, _, err := s.service.Follow(ctx, cursor, 1); !errors.Is(err, statemachine.ErrInvalid) {
			t.Fatalf("the store has not made cursor %s: got error %v", cursor, err)
		}
	}
}

// halfCommit: what commits between two reads of a View is seen by neither; then
// one writer moves pairs together, and readers compare.
func (s *subject[T, K, L, A, E, C]) halfCommit(t *testing.T) {
	g := &s.stages[0]
	move := func(as ...A) error {
		return s.Update(ctx, func(tx T) error {
			for i := range as {
				if _, err := s.within(tx).Do(ctx, s.id(&as[i]), g.rivals(&as[i], 0)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	first, second := s.make(t, g), s.make(t, g)
	written := make(chan error, 1)
	err := s.View(ctx, func(tx T) error {
		if _, err := s.records(tx).Get(s.id(&first)); err != nil {
			return err
		}
		go func() { written <- move(first, second) }()
		select {
		case err := <-written:
			written <- err
		case <-time.After(200 * time.Millisecond): // a store may keep writers out until the View ends
		}
		for i := range 2 {
			as, err := s.records(tx).Get(s.id(&first), s.id(&second))
			if err != nil {
				return err
			}
			same(t, fmt.Sprintf("read %d of a View during a commit", i+2), as, []A{first, second})
		}
		return nil
	})
	noError(t, errors.Join(err, <-written))
	pairs := usual(8, 20)
	var all []A
	var ids []K
	for range 2 * pairs {
		all = append(all, s.make(t, g))
		ids = append(ids, s.id(&all[len(all)-1]))
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.View(ctx, func(tx T) error {
					as, err := s.records(tx).Get(ids...)
					if err != nil {
						return err
					}
					for i := range as {
						if err := s.check(as[i]); err != nil {
							return err
						}
						a, b := s.states(&as[i])[0], s.states(&as[i^1])[0]
						if a.status != b.status || a.version != b.version {
							return fmt.Errorf("%v at %d and %v at %d were committed together", a.status, a.version, b.status, b.version)
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := 0; i < len(all); i += 2 {
		if err := move(all[i], all[i+1]); err != nil { // the readers are to end
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}
