package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// runner is one process of a consumer.
type runner struct {
	Consumer
	db       *sqlstore.Store
	fn       Func
	machines []string
	fence    int64                                            // of the last lease that the process has held
	alone    int                                              // lines that come one at a time, after a page failed
	side     func(u store.Unit, look sideLook) (*task, error) // nil: there is nothing but lines
	single   int                                              // items of tasks that come one at a time, after several failed together
	limit    func(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc)
}

func newRunner(db *sqlstore.Store, c Consumer, fn Func) (*runner, error) {
	c.Lease, c.Lines, c.Log = cmp.Or(c.Lease, time.Minute), cmp.Or(c.Lines, 100), cmp.Or(c.Log, slog.Default())
	r := &runner{Consumer: c, db: db, fn: fn, limit: context.WithTimeout}
	for _, d := range c.Domains {
		machines := sqlstore.Machines(d)
		if machines == nil {
			return nil, fmt.Errorf("%w: consumer %q: domain %q", statemachine.ErrInvalid, c.Name, d)
		}
		if db != nil && !db.HasDomain(d) {
			return nil, fmt.Errorf("%w: consumer %q: %s", store.ErrNoDomain, c.Name, d)
		}
		r.machines = append(r.machines, machines...)
	}
	slices.Sort(r.machines)
	r.machines = slices.Compact(r.machines)
	switch {
	case db == nil || fn == nil:
		return nil, fmt.Errorf("%w: consumer %q: the store or the function is nil", statemachine.ErrInvalid, c.Name)
	case c.Name == "" || len(c.Name) > 100 || c.Name != statemachine.Bounded(c.Name, 100):
		return nil, fmt.Errorf("%w: a consumer's name has 1 to 100 bytes: %.120q", statemachine.ErrInvalid, c.Name)
	case len(r.machines) == 0 || c.Lease < time.Millisecond || c.Lease > maxLease || c.Lines < 1 || c.Lines > 1000 ||
		c.From > Here || c.OnFailure > Park:
		return nil, fmt.Errorf("%w: consumer %q: %d domains, Lease %v (1ms to 1h), Lines %d (1 to 1000), From %d, OnFailure %d",
			statemachine.ErrInvalid, c.Name, len(c.Domains), c.Lease, c.Lines, c.From, c.OnFailure)
	}
	return r, nil
}

// seen is what a step reads in one View.
type seen struct {
	began  time.Time // by this process's clock, before the View
	now    time.Time // by the store's
	row    sqlstore.Consumer
	claim  *sqlstore.Consumer // to be written before anything else
	until  time.Time          // nothing is to be done before
	due    sqlstore.Parked
	page   []sqlstore.Line
	next   store.Cursor // behind the page
	parked map[string]bool
	task   *task // where no line is left
	count  int   // of parked lines
	last   int64 // the number of the last of them
}

func (r *runner) look(ctx context.Context) (s seen, err error) {
	err = r.db.View(ctx, func(u store.Unit) error {
		s = seen{began: time.Now()}
		c, err := sqlstore.ConsumersOf(u)
		if err == nil {
			s.now, err = u.Now()
		}
		if err == nil {
			s.row, err = c.Get(r.Name)
		}
		var head store.Cursor
		if err == nil {
			head, err = c.Head()
		}
		if err != nil {
			return err
		}
		s.claim, s.until, err = claim(r.Consumer, r.machines, r.fence, s.row, head, s.now)
		if err != nil || s.claim != nil || !s.until.IsZero() {
			return err
		}
		if s.count, s.last, err = c.Parked(r.Name); err != nil {
			return err
		}
		if s.count > 0 {
			if s.due, err = c.DueParked(r.Name, s.now, s.now.Add(retries.Cap)); err != nil || s.due.Consumer != "" {
				if err != nil {
					return err
				}
				if s.due.Version == 0 && r.side != nil {
					s.task, err = r.side(u, sideLook{due: s.due})
					return err
				}
				line, err := c.Line(s.due.Machine, s.due.ID, s.due.Version)
				s.page = []sqlstore.Line{line}
				return err
			}
		}
		lines := r.Lines
		if r.alone > 0 {
			lines = 1
		}
		if s.page, s.next, err = c.Lines(s.row.Cursor, lines, r.machines...); err != nil {
			return err
		}
		if len(s.page) < lines {
			s.next = head // of the same moment: the lines between are of other machines
		}
		if r.side != nil && len(s.page) == 0 { // lines of other machines, which may come all the time, hold up nothing
			s.task, err = r.side(u, sideLook{fence: s.row.Fence, now: s.now, single: r.single > 0})
			return err
		}
		s.parked, err = c.ParkedOf(r.Name, s.page)
		return err
	})
	return s, err
}

// idle reports whether the consumer is done with all lines.
func (s *seen) idle() bool { return len(s.page) == 0 && s.next == s.row.Cursor }

// step does one piece of a consumer's work, and says when to look again.
func (r *runner) step(ctx context.Context) (wait time.Duration, err error) {
	s, err := r.look(ctx)
	switch {
	case err != nil:
		return 0, err
	case s.claim != nil:
		return 0, r.take(ctx, s)
	case !s.until.IsZero():
		return min(s.until.Sub(s.now), r.Lease), nil
	case s.due.Consumer != "" && s.task == nil:
		err = r.post(ctx, s, s.page, func(c sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
			return moved(r.Consumer, s.row, s.row.Cursor, now), c.Unpark(s.due)
		})
		return 0, r.outcome(ctx, s, nil, err)
	case s.task != nil:
		err = r.commit(ctx, s, s.task.items > 0, s.task.run, func(c sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
			if s.due.Consumer != "" {
				return moved(r.Consumer, s.row, s.row.Cursor, now), c.Unpark(s.due)
			}
			return moved(r.Consumer, s.row, s.next, now), nil
		})
		return 0, r.tasked(ctx, s, err)
	case s.idle():
		return min(poll, r.Lease/4), nil
	}
	give, skip := split(s.page, s.parked)
	if s.count+len(skip) > MaxParked {
		return 0, r.outcome(ctx, s, skip, failure{ErrTooManyParked})
	}
	err = r.post(ctx, s, give, func(c sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
		return moved(r.Consumer, s.row, s.next, now), c.Park(parkable(r.Consumer, skip, s.last, nil, now)...)
	})
	return 0, r.outcome(ctx, s, give, err)
}

// take writes a claim.
func (r *runner) take(ctx context.Context, s seen) error {
	err := r.write(ctx, s.row, func(sqlstore.Consumers, time.Time) (sqlstore.Consumer, error) { return *s.claim, nil })
	if err == nil {
		r.fence = s.claim.Fence
	}
	if errors.Is(err, errLost) {
		return nil // another look says who has the lease
	}
	return err
}

// rewrite makes the new row of a consumer, and writes what goes with it.
type rewrite func(c sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error)

// write moves a row that is as it was read.
func (r *runner) write(ctx context.Context, row sqlstore.Consumer, next rewrite) error {
	return r.db.Update(ctx, func(u store.Unit) error { return r.move(u, row, next) })
}

func (r *runner) move(u store.Unit, row sqlstore.Consumer, next rewrite) error {
	c, err := sqlstore.ConsumersOf(u)
	if err != nil {
		return err
	}
	now, err := u.Now()
	if err != nil {
		return err
	}
	after, err := next(c, now)
	if err != nil {
		return err
	}
	is, err := c.Move(row, after)
	if err == nil && !is {
		err = errLost
	}
	return err
}

// post gives lines to the function, and moves the row last, in one commit.
func (r *runner) post(ctx context.Context, s seen, lines []sqlstore.Line, next rewrite) error {
	given := mapped(lines)
	return r.commit(ctx, s, len(lines) > 0, func(ctx context.Context, tx sqlstore.Tx, u store.Unit) error {
		return r.fn(ctx, tx, u, given)
	}, next)
}

// commit calls fn if there is something for it, and moves the row last, in one commit. The context of fn, and of the
// transaction, ends with the lease. The end is counted by this process's clock from before the store's time was read.
func (r *runner) commit(ctx context.Context, s seen, calls bool,
	fn func(context.Context, sqlstore.Tx, store.Unit) error, next rewrite,
) error {
	called := false
	leased, cancel := r.limit(ctx, s.row.Until.Sub(s.now)-time.Since(s.began))
	defer cancel()
	err := r.db.UpdateTx(leased, func(ctx context.Context, tx sqlstore.Tx, u store.Unit) error {
		if called = calls; called {
			if _, err := call(func() (any, error) { return nil, fn(ctx, tx, u) }); err != nil {
				return failure{err}
			}
		}
		return r.move(u, s.row, next)
	})
	switch {
	case err == nil || leased.Err() == nil || errors.Is(err, errLost):
		return err
	case called:
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	return fmt.Errorf("%w: %w", errLate, err)
}

// outlast stores that the lease ended before a commit, for statistics and alerts, and returns err, after which the same
// work is tried again. If the database is too slow even for this write, the log of the process says so.
func (r *runner) outlast(ctx context.Context, s seen, err error) error {
	stored := r.write(ctx, s.row, func(_ sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
		return outlasted(s.row, err, now), nil
	})
	if errors.Is(stored, errLost) {
		return r.ignoreLost(stored)
	}
	return errors.Join(err, stored)
}

func mapped(lines []sqlstore.Line) []Line {
	made := make([]Line, len(lines))
	for i := range lines {
		made[i] = Line{Transition: lines[i].Transition, Aggregate: lines[i].Aggregate, Generation: lines[i].Generation}
	}
	return made
}

// call turns a panic into an error.
func call[R any](fn func() (R, error)) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn()
}

// outcome decides what follows from the end of a transaction. It returns an error if Run must end or
// wait.
func (r *runner) outcome(ctx context.Context, s seen, given []sqlstore.Line, err error) error {
	v := judge(r.Consumer, err, len(given), s.due.Consumer != "")
	if ctx.Err() != nil && v != done {
		return ctx.Err()
	}
	switch v {
	case done:
		if s.due.Consumer == "" {
			r.alone = max(0, r.alone-len(s.page))
		}
		return nil
	case lost:
		r.fence = 0
		return nil
	case oneByOne:
		r.Log.Warn("settle: a consumer's page failed, its lines come one at a time", slog.String("consumer", r.Name), slog.Any("error", err))
		r.alone = len(s.page)
		return nil
	case retry:
		return r.later(ctx, s, err)
	case park:
		_, behind := split(s.page, s.parked)
		if s.count+1+len(behind) > MaxParked {
			err = failure{errors.Join(ErrTooManyParked, err)}
			break
		}
		r.Log.Warn("settle: a consumer goes on without a line", slog.String("consumer", r.Name),
			slog.String("aggregate", given[0].Aggregate), slog.Any("error", err))
		r.alone = max(0, r.alone-1)
		return r.ignoreLost(r.write(ctx, s.row, func(c sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
			row := failed(moved(r.Consumer, s.row, s.next, now), err, false, now)
			rows := append(parkable(r.Consumer, given, s.last, err, now), parkable(r.Consumer, behind, s.last+1, nil, now)...)
			return row, c.Park(rows...)
		}))
	case late:
		return r.outlast(ctx, s, err)
	case again, fatal:
		return err
	}
	what := ""
	if len(given) == 1 {
		what = fmt.Sprintf("%s %s version %d", given[0].Machine, given[0].ID, given[0].Version)
	}
	return r.stop(ctx, s, what, err)
}

// later puts off a parked line, or item, that has failed once more.
func (r *runner) later(ctx context.Context, s seen, err error) error {
	return r.ignoreLost(r.write(ctx, s.row, func(c sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
		return failed(s.row, err, false, now), c.Retry(tried(s.due, err, now))
	}))
}

// stop stores that the consumer goes no further, and returns why.
func (r *runner) stop(ctx context.Context, s seen, what string, err error) error {
	stopped := r.write(ctx, s.row, func(_ sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
		return failed(s.row, err, true, now), nil
	})
	if what != "" {
		err = fmt.Errorf("%s: %w", what, err)
	}
	if errors.Is(stopped, errLost) { // what the other process posted may be why this one failed
		return r.ignoreLost(stopped)
	}
	if stopped != nil {
		r.Log.Error("settle: that a consumer stopped was not stored", slog.String("consumer", r.Name), slog.Any("error", stopped))
	}
	return err
}

// ignoreLost is for a write that another process makes in its turn.
func (r *runner) ignoreLost(err error) error {
	if errors.Is(err, errLost) {
		r.fence = 0
		return nil
	}
	return err
}

// release ends the lease, so that another process need not wait for its end. A lease that cannot be
// released ends by itself.
func (r *runner) release(ctx context.Context) {
	if r.fence == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := r.db.Update(ctx, func(u store.Unit) error {
		c, err := sqlstore.ConsumersOf(u)
		if err != nil {
			return err
		}
		row, err := c.Get(r.Name)
		if err != nil || row.Fence != r.fence {
			return err
		}
		return r.move(u, row, func(_ sqlstore.Consumers, now time.Time) (sqlstore.Consumer, error) {
			row.Until = now
			return row, nil
		})
	})
	if err != nil {
		r.Log.Info("settle: a consumer's lease was not given back", slog.String("consumer", r.Name), slog.Any("error", err))
	}
}
