package follow

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// From is where a consumer begins.
type From uint8

// Where a consumer begins. A consumer that has run before goes on where it stopped, whichever of these
// is given, so a program may keep the value of its first start.
const (
	Beginning From = iota + 1 // a new consumer is given all lines
	Now                       // a new consumer is given what is committed from now on
	Here                      // a consumer that is there is given the lines of more machines, from its cursor on
)

// OnFailure is what becomes of a line that fails alone.
type OnFailure uint8

const (
	// Stop ends Run with the error. The next Run begins with the same line.
	Stop OnFailure = iota
	// Park goes on without the line that failed and without the later lines of its aggregate. They are
	// tried again in their order, the failed line after a minute, then after twice as long each time,
	// up to a day.
	Park
)

// Consumer is one effect that follows the log.
type Consumer struct {
	// Name is the key of the consumer's cursor, 1 to 100 bytes.
	Name    string
	Domains []store.Domain // one at least
	From    From           // where a new name begins: [Beginning] or [Now]; [Here] adds domains to a name on file
	// Lease is how long a process is alone with the consumer after each write. The function has at most this time, and
	// at least half of it. A line that needs longer comes again, later each time, see [Stats].Late. Zero means a
	// minute; up to an hour.
	Lease time.Duration
	// Lines is how many lines a call of the function gets at most: 1 to 1,000, zero
	// means 100.
	Lines     int
	OnFailure OnFailure    // of a line that fails alone: [Stop], the default, or [Park]
	Log       *slog.Logger // nil means slog.Default
}

// Line is a transition of any machine, as text.
type Line struct {
	statemachine.Transition[string]
	// Aggregate names what commits together with the record: for a job its request, for an invoice its
	// tenant, for any other record the record itself.
	Aggregate string
	// Generation is how often the database had been put back when the line was written,
	// see sqlstore.Restored: a version may have been written once in each generation.
	Generation int64
}

// Func posts the effects of lines. It gets a context that ends with the lease.
type Func func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error

// poll is how often a consumer that is done looks for new lines.
const poll = time.Second

// Run gives the lines of a consumer's domains to fn, each once. It returns nil when ctx ends, and an
// error when a line fails alone and the consumer stops, or when the database was put back. Arguments
// that make no sense are [statemachine.ErrInvalid], as are [ErrNew] and [ErrMachines].
func Run(ctx context.Context, db *sqlstore.Store, c Consumer, fn Func) error {
	r, err := newRunner(db, c, fn)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

func (r *runner) run(ctx context.Context) error {
	defer r.release(context.WithoutCancel(ctx))
	pause := statemachine.Backoff{Base: 50 * time.Millisecond, Cap: 10 * time.Second}
	for failures := 0; ; {
		wait, err := r.step(ctx)
		v := judge(r.Consumer, err, 0, false)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failures = 0
		case v == again, v == late:
			r.Log.Warn("settle: a consumer waits for the database", slog.String("consumer", r.Name), slog.Any("error", err))
			wait = pause.Delay(failures, 0)
			failures++
		default:
			return fmt.Errorf("consumer %s: %w", r.Name, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
