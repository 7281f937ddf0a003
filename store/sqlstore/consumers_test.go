package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// A consumer's row moves only from what was read: its fence, its cursor, and its lease.
func TestConsumerMovesFromWhatWasRead(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		s, _ := newStore(t, d)
		at := time.Date(2024, 5, 1, 12, 0, 0, 123456000, time.UTC)
		row := sqlstore.Consumer{Name: "c", Machines: []string{"a", "b"}, Cursor: "1.2-x", Fence: 3, Until: at, Stopped: true, Error: "no", FailedAt: at}
		move := func(old, row sqlstore.Consumer) (moved bool) {
			if err := s.Update(ctx, func(u store.Unit) error {
				c, err := sqlstore.ConsumersOf(u)
				if err == nil {
					moved, err = c.Move(old, row)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return moved
		}
		if !move(sqlstore.Consumer{}, row) || move(sqlstore.Consumer{}, row) {
			t.Error("a new consumer is not made once")
		}
		other := []sqlstore.Consumer{row, row, row, row}
		other[0].Fence++
		other[1].Cursor += "y"
		other[2].Until = at.Add(time.Microsecond)
		other[3].Name = "d"
		for i, old := range other {
			if move(old, row) {
				t.Errorf("%d: it moved from what was not read", i)
			}
		}
		next := row
		next.Fence, next.Cursor, next.Until, next.Stopped, next.Error, next.FailedAt = 4, "", at.Add(time.Hour), false, "", time.Time{}
		if !move(row, next) || move(row, next) {
			t.Error("it does not move once")
		}
		err := s.View(ctx, func(u store.Unit) error {
			c, err := sqlstore.ConsumersOf(u)
			if err != nil {
				return err
			}
			got, err := c.Get("c")
			if got.Fence != 4 || got.Cursor != "" || !got.Until.Equal(next.Until) || got.Stopped || got.Error != "" || !got.FailedAt.IsZero() || !slices.Equal(got.Machines, row.Machines) {
				t.Errorf("%+v", got)
			}
			if none, failed := c.Get("d"); failed != nil || none.Name != "" {
				t.Errorf("%+v, %v", none, failed)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sqlstore.ConsumersOf(nil); !errors.Is(err, statemachine.ErrInvalid) {
			t.Error(err)
		}
	})
}

// Of an aggregate the first parked line alone is due; lines are read from the log with
// the aggregates of their records.
func TestParkedLines(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, now := context.Background(), time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
		b := newBank(t, d)
		w := b.pending(t, bsc)
		err := b.Update(ctx, func(u store.Unit) error {
			c, err := sqlstore.ConsumersOf(u)
			if err != nil {
				return err
			}
			if _, err := c.Move(sqlstore.Consumer{}, sqlstore.Consumer{Name: "c", Fence: 1, Until: now}); err != nil {
				return err
			}
			lines := []sqlstore.Parked{}
			for i, of := range []string{"x", "x", "y"} {
				lines = append(lines, sqlstore.Parked{Consumer: "c", N: int64(i) + 1, Machine: "m", ID: of, Version: int64(i) + 1, Aggregate: of, At: now, NextTry: now})
			}
			lines[0].NextTry = now.Add(time.Minute)
			if err := c.Park(lines...); err != nil {
				return err
			}
			due := func(at time.Time) sqlstore.Parked {
				p, err := c.DueParked("c", at, at.Add(24*time.Hour))
				if err != nil {
					t.Error(err)
				}
				return p
			}
			if got := due(now); got != lines[2] {
				t.Errorf("due is %+v", got)
			}
			if err := c.Unpark(lines[2]); err != nil {
				return err
			}
			if got := due(now.Add(time.Minute - time.Microsecond)); got.N != 0 {
				t.Errorf("due early, or behind one that waits: %+v", got)
			}
			if got := due(now.Add(time.Minute)); got.N != 1 {
				t.Errorf("due is %+v", got)
			}
			lines[0].Tries, lines[0].Error, lines[0].NextTry = 2, "no", now.Add(time.Hour)
			if err := c.Retry(lines[0]); err != nil {
				return err
			}
			if got := due(now.Add(time.Hour)); got != lines[0] {
				t.Errorf("due is %+v", got)
			}
			parked, err := c.ParkedOf("c", []sqlstore.Line{{Root: "x"}, {Aggregate: "x", Root: "m"}})
			if n, last, failed := c.Parked("c"); err != nil || failed != nil || len(parked) != 0 || n != 2 || last != 2 {
				t.Errorf("%v, %d parked, the last is %d, %v, %v", parked, n, last, err, failed)
			}
			if first, err := c.OldestParked("c"); err != nil || first != lines[0] {
				t.Errorf("the oldest is %+v, %v", first, err)
			}
			if first, err := c.OldestParked("d"); err != nil || first != (sqlstore.Parked{}) {
				t.Errorf("the oldest of another is %+v, %v", first, err)
			}
			return c.Unpark(lines[0])
		})
		if err != nil {
			t.Fatal(err)
		}
		err = b.View(ctx, func(u store.Unit) error {
			c, err := sqlstore.ConsumersOf(u)
			if err != nil {
				return err
			}
			page, next, err := c.Lines("", 100, withdrawal.JobMachine.Name(), withdrawal.RequestMachine.Name(), dunning.InvoiceMachine.Name())
			head, failed := c.Head()
			if err != nil || failed != nil || next != head || len(page) < 4 {
				t.Errorf("%d lines to %q, the head is %q, %v, %v", len(page), next, head, err, failed)
			}
			for i := range page {
				if page[i].Key() != withdrawal.RequestMachine.Name()+" "+w.Request.ID.String() {
					t.Errorf("%s %s is of %s", page[i].Machine, page[i].ID, page[i].Key())
				}
				if one, err := c.Line(page[i].Machine, page[i].ID, page[i].Version); err != nil || one != page[i] {
					t.Errorf("%+v, %v", one, err)
				}
			}
			if _, err := c.Line("m", "x", 1); !errors.Is(err, statemachine.ErrNotFound) {
				t.Errorf("a line that is not there: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
