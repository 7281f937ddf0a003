package follow

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// A consumer may have work that no line asks for, such as deposits that a new tip of the chain makes due. Such work is
// done under the same lease, when no line is left: each task in a commit that moves the consumer's row.

// sideLook is what a runner says when it asks for such work.
type sideLook struct {
	fence  int64           // another one than at the last time: what was done meanwhile is not known
	now    time.Time       // of the store
	single bool            // several items have failed together: they come one at a time
	due    sqlstore.Parked // if it is not zero, an item that was parked, and nothing else, is asked for
}

// task is a piece of such work.
type task struct {
	machine, id string // of its first item; empty: the task cannot be parked
	items       int
	run         func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error
	then        func() // it is committed, or its only item is parked
}

// itemKey is the name under which an item is parked among aggregates. An item has no line, so its
// version is 0.
func itemKey(machine, id string) sqlstore.Line { return sqlstore.Line{Root: machine, Aggregate: id} }

// tasked does what follows from the end of a task's transaction, see outcome.
func (r *runner) tasked(ctx context.Context, s seen, err error) error {
	c := r.Consumer
	if s.task.machine == "" {
		c.OnFailure = Stop
	}
	v := judge(c, err, s.task.items, s.due.Consumer != "")
	if ctx.Err() != nil && v != done {
		return ctx.Err()
	}
	name := s.task.machine + " " + s.task.id
	switch v {
	case done:
		r.single = max(0, r.single-s.task.items)
		s.task.then()
		return nil
	case lost:
		r.fence = 0
		return nil
	case oneByOne:
		r.Log.Warn("settle: what a consumer posts failed, it comes one at a time", slog.String("consumer", r.Name), slog.Any("error", err))
		r.single = s.task.items
		return nil
	case retry:
		return r.later(ctx, s, err)
	case park:
		if s.count+1 > MaxParked {
			err = failure{errors.Join(ErrTooManyParked, err)}
			break
		}
		r.Log.Warn("settle: a consumer goes on without an item", slog.String("consumer", r.Name), slog.String("item", name),
			slog.Any("error", err))
		r.single = max(0, r.single-1)
		s.task.then()
		return r.ignoreLost(r.write(ctx, s.row, func(of sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
			key := itemKey(s.task.machine, s.task.id)
			row := sqlstore.Parked{Consumer: r.Name, N: s.last + 1, Machine: s.task.machine, ID: s.task.id, Aggregate: key.Key(), At: now}
			return failed(s.row, err, false, now), of.Park(tried(row, err, now))
		}))
	case late:
		return r.outlast(ctx, s, err)
	case again, fatal:
		return err
	}
	return r.stop(ctx, s, name, err)
}
