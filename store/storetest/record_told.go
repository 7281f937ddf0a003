package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

// toldOnce: an attempt of a person is one line of the journal, with the error in which it ended, whether its
// transaction is kept or undone. If a transaction is undone by an error that is no refusal, the events that were done
// in it have no line.
func (s *subject[T, K, L, A, E, C]) toldOnce(t *testing.T) {
	if s.speech.events == nil {
		t.Skip("another subject proves it")
	}
	p := people[T, K, L, A, E, C]{s, readJournal(s.Store), map[string]bool{}}
	g := &s.stages[0]
	olga := func(ev E, role reflect.Value, version int64) E {
		return as(ev, role, func(by reflect.Value) {
			by.FieldByName("Actor").SetString("olga")
			by.FieldByName("Version").SetInt(version)
		})
	}
	a := s.make(t, g)
	id := s.id(&a)
	refused := olga(s.speech.events[0], persons(s.speech.events[0])[0], 1<<40)
	stale := s.change(t, a, g.rivals(&a, 1))
	s.do(t, id, g.rivals(&a, 0))
	conflicts := func(tx T) { // a refused write, whenever the store carries it out
		_ = s.records(tx).Save(stale)
		_, _ = s.records(tx).Get(id)
	}
	boom := errors.New("an error of the host")

	var said E // the words of a case, and their error inside of fn
	var inside error
	say := func(tx T) error {
		_, inside = s.within(tx).Do(ctx, id, said)
		return inside
	}
	told := func(err error) []statemachine.JournalLine {
		line, _ := p.line(id, said, err)
		return []statemachine.JournalLine{line}
	}
	check := func(name string, run func(context.Context, func(T) error) error, fn func(T) error,
		want func(err error) []statemachine.JournalLine) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			p.journal.more(t)
			err := run(ctx, fn)
			p.journal.has(t, name, want(err)...)
		})
	}
	first := func(error) []statemachine.JournalLine { return told(inside) }

	said = refused
	check("refused alone", func(ctx context.Context, _ func(T) error) error { return errOf(s.service.Do(ctx, id, said)) }, nil, told)
	check("refused, and the refusal is returned", s.Update, say, told)
	check("refused, and the refusal is swallowed", s.Update, func(tx T) error { _ = say(tx); return nil }, first)
	check("refused, and an error of the host is returned", s.Update, func(tx T) error { _ = say(tx); return boom }, first)
	check("refused, and a later write is refused", s.Update, func(tx T) error { _ = say(tx); conflicts(tx); return nil }, first)
	check("refused, and the caller goes away", func(ctx context.Context, fn func(T) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return s.Update(ctx, func(tx T) error { _ = say(tx); cancel(); return nil })
	}, nil, first)
	check("tried in a transaction that has failed", s.Update, func(tx T) error { conflicts(tx); return say(tx) }, first)

	unseen := olga(s.speech.events[0], persons(s.speech.events[0])[0], 0)
	known := id
	id = s.newID()
	said = unseen
	check("said of an unknown record", func(ctx context.Context,
		_ func(T) error) error {
		return errOf(s.service.Do(ctx, id, said))
	}, nil, told)
	id = known

	// What is done, in a transaction that is undone.
	for i := range s.stages {
		g := &s.stages[i]
		made := s.newID()
		ev := g.events(made)[0]
		role := p.role(ev)
		if !role.IsValid() {
			continue
		}
		id, said = made, olga(ev, role, 0)
		check("done, and an error of the host is returned", s.Update, func(tx T) error { _ = say(tx); return boom },
			func(error) []statemachine.JournalLine { return nil })
		check("done, and a later write is refused", s.Update, func(tx T) error { noError(t, say(tx)); conflicts(tx); return nil },
			func(err error) []statemachine.JournalLine {
				refusedWith(t, err, statemachine.ErrConflict, "the transaction")
				return told(err)
			})
		check("done, and a refusal is returned", s.Update, func(tx T) error { noError(t, say(tx)); return statemachine.ErrHeld }, told)
		check("done", s.Update, say, told)
		check("done, and said again", s.Update, say, func(error) []statemachine.JournalLine {
			lines := told(nil)
			lines[0].Outcome = statemachine.JournalSame
			return lines
		})
		break
	}
}
