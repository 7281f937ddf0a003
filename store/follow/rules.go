package follow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// The rules of a consumer, as pure functions of its row, the time and an error.

// MaxParked is how many lines one consumer parks. It stops instead of one more.
const MaxParked = 1000

// retries are the waits before a parked line is tried again.
var retries = statemachine.Backoff{Base: time.Minute, Cap: 24 * time.Hour}

var (
	// ErrNew: no consumer of this name is stored, so that somebody must say where it
	// begins: [Beginning] or [Now].
	ErrNew = fmt.Errorf("%w: the consumer is new, and From says not where it begins", statemachine.ErrInvalid)
	// ErrMachines: the consumer would be given the lines of more machines than its row
	// names. [Here] adds them.
	ErrMachines = fmt.Errorf("%w: the consumer's row does not name all machines, and From is not Here", statemachine.ErrInvalid)
	// ErrTooManyParked: the consumer stops, since it may not park one more.
	ErrTooManyParked = fmt.Errorf("%d lines are parked", MaxParked)

	errLost = errors.New("another process has the consumer's lease")
	errLate = errors.New("the lease ended before the function began")
	errSlow = errors.New("the lease ended before the function and its commit did")
)

// maxLease bounds [Consumer].Lease.
const maxLease = time.Hour

// claim says what a process does when it has read the row of its consumer (zero for a new consumer). The process knows
// some machines and holds the lease with a fence, 0 for none. It writes next, or waits until a time, or works on (both
// are zero).
//
// A lease of which half has passed is renewed, so that a function has at least half of it. A process that knows fewer
// machines than the row never gets the lease, since it would pass over lines that somebody asked for. A lease that ends
// later than any lease may was given by a clock that was ahead, and counts as free.
func claim(c Consumer, machines []string, fence int64, row sqlstore.Consumer, head store.Cursor,
	now time.Time,
) (next *sqlstore.Consumer, until time.Time, err error) {
	taken, left := row, row.Until.Sub(now)
	if left > maxLease {
		left = 0
	}
	switch {
	case row.Name == "" && c.From == Now:
		taken.Cursor = head
	case row.Name == "" && c.From != Beginning:
		return nil, until, fmt.Errorf("%w: %q", ErrNew, c.Name)
	case lacks(machines, row.Machines) != "":
		return nil, now.Add(c.Lease), nil
	case row.Name != "" && c.From != Here && lacks(row.Machines, machines) != "":
		return nil, until, fmt.Errorf("%w: %q lacks %s", ErrMachines, c.Name, lacks(row.Machines, machines))
	case row.Fence == fence && left >= c.Lease/2 && len(row.Machines) == len(machines):
		return nil, until, nil
	case row.Fence != fence && left > 0:
		return nil, row.Until, nil
	}
	taken.Name, taken.Machines, taken.Until = c.Name, machines, now.Add(c.Lease)
	if row.Fence != fence || fence == 0 {
		taken.Fence++
	}
	return &taken, until, nil
}

// lacks names what is in all and not in some.
func lacks(some, all []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(all), func(m string) bool { return slices.Contains(some, m) }), ", ")
}

// verdict is what follows from the end of a transaction.
type verdict uint8

const (
	done     verdict = iota
	lost             // another process goes on
	again            // the database, and not the function, has failed: the same, later
	late             // the lease ended first, which is stored: the same, later
	fatal            // the database went back
	oneByOne         // the lines of the page come alone
	stop             // a line fails alone: the consumer goes no further
	park             // a line fails alone: the consumer goes on without its aggregate
	retry            // a parked line fails: it is tried later
)

// judge says what a consumer does after it was given a number of lines, of a page or parked ones, and
// fn returned err.
func judge(c Consumer, err error, given int, parked bool) verdict {
	switch {
	case err == nil:
		return done
	case errors.Is(err, errLost):
		return lost
	case errors.Is(err, store.ErrRestored), errors.Is(err, store.ErrCursor):
		return fatal
	case errors.Is(err, errLate):
		return late
	case errors.Is(err, errSlow) && parked:
		return retry // what is parked is not in the way of others
	case errors.Is(err, errSlow) && given > 1:
		return oneByOne // which needs less time
	case errors.Is(err, errSlow):
		return late
	case !errors.Is(err, sqlstore.ErrEnded) && isAny(err, store.ErrUnknownCommit, store.ErrRetry, sqlstore.ErrConnection):
		return again
	case !errors.As(err, new(failure)) && !errors.Is(err, sqlstore.ErrAborted) && !errors.Is(err, sqlstore.ErrEnded):
		return fatal // a statement of this package
	case errors.Is(err, ErrTooManyParked):
		return stop
	case parked:
		return retry
	case given > 1:
		return oneByOne
	case c.OnFailure == Park:
		return park
	}
	return stop
}

// isAny reports whether an error is one of some.
func isAny(err error, some ...error) bool {
	return slices.ContainsFunc(some, func(s error) bool { return errors.Is(err, s) })
}

// failure is the function's own.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// moved is a row whose consumer is done with lines up to a cursor.
func moved(c Consumer, row sqlstore.Consumer, to store.Cursor, now time.Time) sqlstore.Consumer {
	row.Cursor, row.Until = to, now.Add(c.Lease)
	row.Stopped, row.Error, row.FailedAt, row.Late = false, "", time.Time{}, 0
	return row
}

// outlasted is a row whose consumer's lease has ended before a commit.
func outlasted(row sqlstore.Consumer, err error, now time.Time) sqlstore.Consumer {
	row = failed(row, err, false, now)
	row.Late++
	return row
}

// failed is a row whose consumer had a failure of one line.
func failed(row sqlstore.Consumer, err error, stopped bool, now time.Time) sqlstore.Consumer {
	row.Stopped, row.Error, row.FailedAt = stopped, bounded(err), now
	return row
}

func bounded(err error) string { return statemachine.Bounded(err.Error(), 500) }

// split divides a page into the lines to give, and those to park since earlier lines of their aggregate
// are parked already.
func split(page []sqlstore.Line, parked map[string]bool) (give, skip []sqlstore.Line) {
	for i := range page {
		if parked[page[i].Key()] {
			skip = append(skip, page[i])
		} else {
			give = append(give, page[i])
		}
	}
	return give, skip
}

// parkable makes the rows of lines to park, numbered from last+1 on. With err the lines have failed with it; without,
// they are lines behind a failed one, and may be tried as soon as they are the first of their aggregate.
func parkable(c Consumer, lines []sqlstore.Line, last int64, err error, now time.Time) []sqlstore.Parked {
	var rows []sqlstore.Parked
	for i := range lines {
		l := &lines[i]
		p := sqlstore.Parked{Consumer: c.Name, N: last + 1 + int64(i), Machine: l.Machine, ID: l.ID, Version: l.Version,
			Aggregate: l.Key(), At: now, NextTry: now}
		if err != nil {
			p = tried(p, err, now)
		}
		rows = append(rows, p)
	}
	return rows
}

// tried is a parked line that has failed once more.
func tried(p sqlstore.Parked, err error, now time.Time) sqlstore.Parked {
	p.NextTry = now.Add(retries.Delay(int(min(p.Tries, 64)), 0))
	p.Tries++
	p.Error = bounded(err)
	return p
}
