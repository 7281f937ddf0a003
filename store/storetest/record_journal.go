package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// speech is what the law of the journal needs of a domain, see [subject.journal].
type speech[K, A, E any] struct {
	domain   store.Domain
	machine  string // of the aggregate's own record
	events   []E    // an empty one of each
	speakers func(E) uint8
	// lives are those in which people say what they say in no stage: say sends events and
	// returns what is stored then.
	lives []func(id K, say func(...E) A)
}

// persons are the roles of a domain in which people speak.
func persons(ev any) (roles []reflect.Value) {
	role := reflect.TypeOf(ev).Field(0).Type // of By, which every event begins with
	field, _ := role.FieldByName("Role")
	for r := range uint64(8) {
		v := reflect.New(field.Type).Elem()
		if v.SetUint(r); statemachine.Person(fmt.Sprint(v.Interface())) {
			roles = append(roles, v)
		}
	}
	return roles
}

// as returns an event as somebody says it in a role, with what else its head has.
func as[E any](ev E, role reflect.Value, head func(by reflect.Value)) E {
	v := reflect.New(reflect.TypeOf(ev)).Elem()
	v.Set(reflect.ValueOf(ev))
	by := v.FieldByName("By")
	by.FieldByName("Role").Set(role)
	head(by)
	return v.Interface().(E)
}

// reading is a reader of the journal in pages.
type reading struct {
	page   func(after store.Cursor) ([]statemachine.JournalLine, store.Cursor, error)
	cursor store.Cursor
}

func readJournal[T store.Journaled](s store.Store[T]) *reading {
	j := store.NewJournal(s)
	return &reading{page: func(after store.Cursor) ([]statemachine.JournalLine, store.Cursor, error) {
		return j.Page(ctx, after, 3)
	}}
}

// more reads what was appended since the last call.
func (r *reading) more(t testing.TB) (all []statemachine.JournalLine) {
	t.Helper()
	for {
		page, next, err := r.page(r.cursor)
		noError(t, err)
		if len(page) == 0 {
			if next != r.cursor {
				t.Fatalf("an empty page moves the cursor from %q to %q", r.cursor, next)
			}
			return all
		}
		all, r.cursor = append(all, page...), next
	}
}

// has requires that lines were appended since the last call, whenever that was.
func (r *reading) has(t testing.TB, what string, lines ...statemachine.JournalLine) {
	t.Helper()
	got := r.more(t)
	for i := range got {
		noError(t, got[i].Check(), what)
		got[i].At = time.Time{}
	}
	same(t, "the journal of "+what, got, lines)
}

// journal: each event of a person, whether done, without effect or refused, is one line of the journal, with the
// event's head and its result; other events have no line. Each event that a person may send is tried as done and as
// refused.
func (s *subject[T, K, L, A, E, C]) journal(t *testing.T) {
	if s.speech == nil {
		t.Fatal("the subject does not say what people say in it")
	}
	if s.speech.events == nil {
		t.Skip("another rule proves it")
	}
	p := people[T, K, L, A, E, C]{s, readJournal(s.Store), map[string]bool{}}
	for i := range s.stages {
		p.live(t, func(id K, say func(...E) A) { say(s.stages[i].events(id)...) })
	}
	for _, life := range s.speech.lives {
		p.live(t, life)
	}
	a := s.make(t, &s.stages[0])
	for _, ev := range s.speech.events {
		p.refused(t, s.id(&a), ev)
	}
	p.together(t)
	s.journalCursors(t)
	for _, ev := range s.speech.events {
		if p.role(ev).IsValid() && !p.heard[statemachine.EventName(ev)] {
			t.Errorf("no person was heard with %s: its subject needs a life in which one is", statemachine.EventName(ev))
		}
	}
}

// people say what they may, and what they may not.
type people[T store.Journaled, K, L comparable, A, E, C any] struct {
	*subject[T, K, L, A, E, C]
	journal *reading
	heard   map[string]bool // events that were taken and changed something
}

// role is one in which a person may say an event; not valid if there is none.
func (p *people[T, K, L, A, E, C]) role(ev E) (role reflect.Value) {
	for _, r := range persons(ev) {
		if p.speech.speakers(ev)&(1<<r.Uint()) != 0 {
			return r
		}
	}
	return role
}

// live sends the events of a life, each by a person where one may say it.
func (p *people[T, K, L, A, E, C]) live(t *testing.T, life func(K, func(...E) A)) {
	t.Helper()
	id := p.newID()
	life(id, func(events ...E) (a A) {
		t.Helper()
		for _, ev := range events {
			if role := p.role(ev); role.IsValid() {
				ev = as(ev, role, func(by reflect.Value) {
					by.FieldByName("Trace").SetString("trace of " + statemachine.EventName(ev))
					by.FieldByName("Via").SetString("console")
				})
			}
			noError(t, p.try(t, id, ev), statemachine.EventName(ev), " ")
		}
		return p.get(t, id)
	})
}

// refused tries an event in each role of a person, on a version that nobody has seen.
func (p *people[T, K, L, A, E, C]) refused(t *testing.T, id K, ev E) {
	t.Helper()
	for _, role := range persons(ev) {
		ev = as(ev, role, func(by reflect.Value) {
			by.FieldByName("Actor").SetString("olga")
			by.FieldByName("At").Set(reflect.ValueOf(start))
			by.FieldByName("Version").SetInt(1 << 40)
		})
		_ = p.try(t, id, ev) // where nothing has to change, the version is not asked
	}
}

// try sends an event as one of a command of its own: it is one line of the journal, or
// none where no person says it.
func (p *people[T, K, L, A, E, C]) try(t *testing.T, id K, ev E) error {
	t.Helper()
	before := p.dump(t, id)
	p.journal.more(t)
	was, known := p.service.Get(ctx, id)
	is, err := p.service.Do(ctx, id, ev)
	line, person := p.line(id, ev, err)
	if moved := known != nil || fmt.Sprint(p.states(&was)) != fmt.Sprint(p.states(&is)); err == nil && moved && line.Trace != "" {
		p.traced(t, &is, line.Trace)
	}
	switch same := reflect.DeepEqual(before, p.dump(t, id)); {
	case !person:
		p.journal.has(t, line.Event)
		return err
	case err != nil && !same:
		t.Errorf("%T, which was refused, changed something", ev)
	case err == nil && same:
		line.Outcome = "already so"
	case err == nil:
		p.heard[line.Event] = true
	}
	p.journal.has(t, line.Event, line)
	return err
}

// traced: the newest line of the log of one of the records has the trace of the event.
func (p *people[T, K, L, A, E, C]) traced(t *testing.T, a *A, trace string) {
	t.Helper()
	found := false
	noError(t, p.View(ctx, func(tx T) error {
		for _, r := range p.states(a) {
			lines, err := p.records(tx).Transitions(r.id)
			if err != nil {
				return err
			}
			found = found || len(lines) > 0 && lines[len(lines)-1].Trace == trace
		}
		return nil
	}))
	if !found {
		t.Errorf("no record's log ends with the trace %q", trace)
	}
}

// line is that of the journal for an event that ended in err.
func (p *people[T, K, L, A, E, C]) line(id K, ev E, err error) (line statemachine.JournalLine, person bool) {
	by := reflect.ValueOf(ev).FieldByName("By")
	text := func(name string) string { return fmt.Sprint(by.FieldByName(name).Interface()) }
	line = statemachine.JournalLine{Actor: statemachine.Bounded(text("Actor"), statemachine.MaxActor), Role: text("Role"),
		Domain:  string(p.speech.domain),
		Machine: p.speech.machine, ID: fmt.Sprint(id), Version: by.FieldByName("Version").Int(), Event: statemachine.EventName(ev),
		Outcome: "done", Trace: text("Trace"), Via: text("Via")}
	if err != nil {
		line.Outcome, line.Error = string(statemachine.CodeOf(err)), statemachine.Bounded(err.Error(), 1000)
	}
	return line, line.Role == "operator" || line.Role == "approver"
}

// together: of several events of which the last is refused, all that people said is in the
// journal as refused, though all was undone.
func (p *people[T, K, L, A, E, C]) together(t *testing.T) {
	id := p.newID()
	var events []E
	for _, ev := range append(p.stages[0].events(id), p.speech.events[0]) {
		by := p.role(ev)
		if !by.IsValid() {
			by = persons(ev)[0] // who may not say it
		}
		events = append(events, as(ev, by, func(by reflect.Value) { by.FieldByName("At").Set(reflect.ValueOf(start)) }))
	}
	last := len(events) - 1
	events[last] = as(events[last], persons(events[last])[0], func(by reflect.Value) { by.FieldByName("Actor").SetString("olga\x00") })
	p.journal.more(t)
	_, err := p.service.Do(ctx, id, events...)
	if err == nil {
		t.Fatal("an actor with a NUL was heard")
	}
	var lines []statemachine.JournalLine
	for _, ev := range events {
		line, _ := p.line(id, ev, err)
		lines = append(lines, line)
	}
	p.journal.has(t, "a command of several events", lines...)
	if _, err := p.service.Get(ctx, id); err == nil {
		t.Error("what was refused is stored")
	}
}

// journalCursors: a cursor of the journal is one that the store has made.
func (s *subject[T, K, L, A, E, C]) journalCursors(t *testing.T) {
	j := store.NewJournal(s.Store)
	_, next, err := j.Page(ctx, "", 1)
	noError(t, err)
	for _, cursor := range []store.Cursor{"no cursor of ours", "x", "0", "01", "-1", "999999", next + "0"} {
		_, _, err := j.Page(ctx, cursor, 1)
		refusedWith(t, err, statemachine.ErrInvalid, "the cursor "+string(cursor)+" of the journal")
	}
}
