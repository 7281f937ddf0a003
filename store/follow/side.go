package follow

import (
	"context"
	"log/slog"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// A consumer may have work that no line asks for, such as what a new tip of the chain
// makes due. It is done under the same lease, where no line is left: each task in a
// commit that moves the consumer's row.

// sideLook is what a runner says when it asks for such work.
type sideLook struct {
	fence  int64     // another one than at the last time: what was done meanwhile is not known
	now    time.Time // of the store
	single bool      // several items have failed together: they come one at a time
}

// task is a piece of such work.
type task struct {
	name  string // of its first item, for a person
	items int
	run   func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error
	// done: it is committed. parked: its only item fails, and comes later.
	done, parked func()
}

// tasked does what follows from the end of a task's transaction, see outcome.
func (r *runner) tasked(ctx context.Context, s seen, err error) error {
	v := judge(r.Consumer, err, s.task.items, false)
	if ctx.Err() != nil && v != done {
		return ctx.Err()
	}
	switch v {
	case done:
		r.single = max(0, r.single-s.task.items)
		s.task.done()
		return nil
	case lost:
		r.fence = 0
		return nil
	case oneByOne:
		r.Log.Warn("settle: what a consumer posts failed, it comes one at a time", slog.String("consumer", r.Name), slog.Any("error", err))
		r.single = s.task.items
		return nil
	case park:
		r.Log.Warn("settle: a consumer goes on without an item", slog.String("consumer", r.Name), slog.String("item", s.task.name),
			slog.Any("error", err))
		r.single = max(0, r.single-1)
		s.task.parked()
		return r.ignoreLost(r.write(ctx, s.row, func(_ sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
			return failed(s.row, err, false, now), nil
		}))
	case again, fatal:
		return err
	}
	return r.stop(ctx, s, s.task.name, err)
}
