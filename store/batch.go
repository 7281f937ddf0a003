package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// beside does beside a step what the domain cannot: it reads.
type beside[A, E, C any] interface {
	fill(*A, E) (E, error) // brings what an event needs from the store
	follow(*C) error       // does to what was read what the store will do
}

// ender is a beside that knows how a batch leaves what several aggregates share.
type ender[A any] interface{ end([]A) }

// batch collects the changes of one transaction.
type batch[T Journaled, K, L comparable, A any, E spoken, C any] struct {
	of      *aggregate[T, K, L, A, E, C]
	beside  beside[A, E, C] // nil if events need nothing
	handed  *handed[K, A]
	tx      T
	began   time.Time // this process's clock
	now     time.Time // the store's
	fresh   bool      // the aggregates were loaded in this transaction
	room    int       // changes to expect
	changes []C
	last    C         // of the latest step
	at      map[K]int // where the change of an aggregate is
	lines   []statemachine.JournalLine
}

func (s *core[T, K, L, A, E, C]) batch(tx T) (*batch[T, K, L, A, E, C], error) {
	began := time.Now()
	now, err := tx.Now()
	if err != nil {
		return nil, err
	}
	b := &batch[T, K, L, A, E, C]{of: s.of, handed: s.handed, tx: tx, began: began, now: now, fresh: true}
	if s.of.beside != nil {
		b.beside = s.of.beside(b)
	}
	return b, nil
}

// step applies one event to a, the aggregate with an id. Where it is refused, so is what
// people said in the batch and what is not saved.
func (b *batch[T, K, L, A, E, C]) step(a *A, id K, ev E) error {
	err := b.take(a, id, ev)
	b.heard(id, ev, err)
	if err != nil {
		return b.told(err)
	}
	return nil
}

// heard adds the line of an event that a person said, and that was taken if err is nil.
func (b *batch[T, K, L, A, E, C]) heard(id K, ev E, err error) {
	if line, person := lineOf(b.of.domain, b.of.machines[0].name, id, ev); person {
		if err == nil && b.of.empty(&b.last) {
			line.Outcome = statemachine.JournalSame
		}
		b.lines = append(b.lines, line)
	}
}

// told keeps the lines of what ended in err, which it returns.
func (b *batch[T, K, L, A, E, C]) told(err error) error {
	lines := b.lines
	b.lines = nil
	return keep(b.tx, b.now, lines, err)
}

func (b *batch[T, K, L, A, E, C]) take(a *A, id K, ev E) (err error) {
	if why := statemachine.NoEvent(ev); why != "" { // before it is asked what it creates
		return &statemachine.Refusal{Err: statemachine.ErrInvalid, Machine: b.of.machines[0].name, ID: fmt.Sprint(id),
			Event: statemachine.EventName(ev), Reason: why}
	}
	if created, ok := b.of.creates(ev); ok && created != id {
		return fmt.Errorf("%w: the event is for %s %v, the command for %v", statemachine.ErrInvalid, b.of.machines[0].name, created, id)
	} else if !ok && !b.of.exists(a) {
		return b.of.noRecord(id, statemachine.EventName(ev))
	}
	if b.beside != nil {
		if ev, err = b.beside.fill(a, ev); err != nil {
			return err
		}
	}
	if b.last, err = b.of.apply(*a, ev, b.now); err != nil {
		return err
	}
	if !b.of.empty(&b.last) {
		if b.beside != nil {
			if err := b.beside.follow(&b.last); err != nil {
				return err
			}
		}
		if err := b.add(id, &b.last); err != nil {
			return err
		}
	}
	*a = *b.of.result(&b.last)
	return nil
}

// try is step for one of many that must not stop each other: an event that the
// domain refuses changes nothing and is returned as refused.
func (b *batch[T, K, L, A, E, C]) try(a *A, id K, ev E) (refused, err error) {
	err = b.take(a, id, ev)
	if refusal := (*statemachine.Refusal)(nil); !errors.As(err, &refusal) {
		b.heard(id, ev, err)
		if err != nil {
			return nil, b.told(err)
		}
		return nil, nil
	}
	others := b.lines
	b.lines = nil
	b.heard(id, ev, err)
	_ = b.told(err) // a store that does not take the line refuses the rest too
	b.lines = others
	return err, nil
}

// add takes the next change. One that follows another of its aggregate is merged
// with it if it can be, so that each record is written once.
func (b *batch[T, K, L, A, E, C]) add(id K, c *C) error {
	if i, ok := b.at[id]; ok {
		if b.of.merge != nil && b.of.merge(&b.changes[i], c) {
			return nil
		}
		if err := b.save(); err != nil {
			return err
		}
	}
	if b.changes == nil {
		b.changes, b.at = make([]C, 0, b.room), make(map[K]int, b.room)
	}
	b.at[id] = len(b.changes)
	b.changes = append(b.changes, *c)
	return nil
}

// save writes what was collected; what follows is a new save.
func (b *batch[T, K, L, A, E, C]) save() (err error) {
	if changes := b.changes; len(changes) > 0 {
		b.changes, b.at, b.room = nil, nil, 0 // the store may keep the slice
		err = b.of.records(b.tx).Save(changes...)
	}
	return b.told(err)
}
