package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
)

// Processes proves the processes of a store.
func Processes[T store.Journaled](t *testing.T, open func(testing.TB) store.Store[T]) {
	type of = *lives[T]
	prove(t, func(t *testing.T) of { return &lives[T]{open(t)} }, []rule[of]{
		{"what is put and deleted is what a map keeps, and comes back in pages", of.asAMap},
		{"an update that fails leaves no process", of.takenBack},
		{"what cannot be stored is refused, and a View writes nothing", of.refusesProcesses},
	})
}

// lives is one store under test.
type lives[T store.Journaled] struct{ store.Store[T] }

func (s *lives[T]) put(p processes.Process) error {
	return s.Update(ctx, func(tx T) error { return tx.Processes().Put(p) })
}

func (s *lives[T]) remove(all ...processes.Process) error {
	return s.Update(ctx, func(tx T) error { return tx.Processes().Delete(all...) })
}

func (s *lives[T]) all(t interface{ Fatalf(string, ...any) }, limit int) (all []processes.Process) {
	var after processes.Key
	for {
		var page []processes.Process
		err := s.View(ctx, func(tx T) (err error) {
			page, err = tx.Processes().List(after, limit)
			return err
		})
		if err != nil || len(page) > limit {
			t.Fatalf("a page of %d: %d, %v", limit, len(page), err)
		}
		if len(page) == 0 {
			return all
		}
		all, after = append(all, page...), page[len(page)-1].Key
	}
}

func (s *lives[T]) asAMap(t *testing.T) {
	want := map[processes.Key]processes.Process{}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "A", "b", "a\x01", "é世", "a b", strings.Repeat("x", processes.MaxText)})
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			p := processes.Process{Key: processes.Key{Domain: text.Draw(rt, "domain"), Name: text.Draw(rt, "name"), Policy: text.Draw(rt, "policy")}}
			p.Version = rapid.OneOf(text, rapid.Just("")).Draw(rt, "version")
			p.First = start.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "first")) * time.Microsecond)
			p.Last = p.First.Add(time.Duration(rapid.IntRange(0, 1).Draw(rt, "last")) * time.Microsecond)
			is, stored := want[p.Key]
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				if err := s.remove(p); err != nil {
					rt.Fatal(err)
				}
				if is.Last.Equal(p.Last) {
					delete(want, p.Key)
				}
			default:
				if err := s.put(p); err != nil {
					rt.Fatal(err)
				}
				if stored && is.First.Before(p.First) {
					p.First = is.First
				}
				want[p.Key] = p
			}
		}
		byKey := func(a, b processes.Process) int { return processes.Compare(a.Key, b.Key) }
		kept := slices.SortedFunc(maps.Values(want), byKey)
		if got := s.all(rt, rapid.IntRange(1, 4).Draw(rt, "limit")); !slices.Equal(got, kept) {
			rt.Fatalf("stored are\n%+v, expected\n%+v", got, kept)
		}
	})
	several := s.all(t, store.MaxPage)
	noError(t, s.remove(several...))
	if left := s.all(t, store.MaxPage); len(several) < 2 || len(left) > 0 {
		t.Errorf("of %d, %d are left", len(several), len(left))
	}
}

func (s *lives[T]) takenBack(t *testing.T) {
	p := processes.Process{Key: processes.Key{Domain: "swaps", Name: "worker", Policy: "1"}, First: start, Last: start}
	noError(t, s.put(p))
	other := p
	other.Last, other.Name = start.Add(time.Hour), "other"
	boom := fmt.Errorf("boom")
	err := s.Update(ctx, func(tx T) error {
		later := p
		later.Last = other.Last
		noError(t, tx.Processes().Put(other))
		noError(t, tx.Processes().Put(later))
		noError(t, tx.Processes().Delete(later))
		if all, err := tx.Processes().List(processes.Key{}, 10); err != nil || len(all) != 1 {
			t.Errorf("in the transaction there are %+v, %v", all, err)
		}
		return boom
	})
	refusedWith(t, err, boom, "the update")
	same(t, "the processes", s.all(t, 10), []processes.Process{p})
}

func (s *lives[T]) refusesProcesses(t *testing.T) {
	fine := processes.Process{Key: processes.Key{Domain: "swaps", Name: "worker", Policy: "1"}, First: start, Last: start}
	for what, alter := range map[string]func(*processes.Process){
		"no name":  func(p *processes.Process) { p.Name = "" },
		"too long": func(p *processes.Process) { p.Version = strings.Repeat("x", processes.MaxText+1) },
		"NUL":      func(p *processes.Process) { p.Policy = "a\x00" },
	} {
		p := fine
		alter(&p)
		refusedWith(t, s.put(p), statemachine.ErrInvalid, what)
	}
	for _, limit := range []int{0, -1, store.MaxPage + 1} {
		err := s.View(ctx, func(tx T) error { return errOf(tx.Processes().List(processes.Key{}, limit)) })
		refusedWith(t, err, statemachine.ErrInvalid, fmt.Sprint("a limit of ", limit))
	}
	refusedWith(t, s.View(ctx, func(tx T) error { return tx.Processes().Put(fine) }), statemachine.ErrIllegal, "Put in a View")
	refusedWith(t, s.View(ctx, func(tx T) error { return tx.Processes().Delete(fine) }), statemachine.ErrIllegal, "Delete in a View")
	if all := s.all(t, 10); len(all) > 0 {
		t.Errorf("stored are %+v", all)
	}
}
