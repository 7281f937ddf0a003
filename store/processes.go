package store

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
)

// ProcessRecords stores the lives of workers, see package processes. It decides nothing.
type ProcessRecords interface {
	// Put writes a process in the place of the one with its key, of which
	// [processes.Process.Seen] says what stays. It writes one row.
	Put(processes.Process) error
	// Delete deletes processes that are as they were read, and leaves the others.
	Delete(...processes.Process) error
	// List pages through the processes in the order of [processes.Compare], behind a key.
	// A limit is 1 to [MaxPage], else it is [statemachine.ErrInvalid].
	List(after processes.Key, limit int) ([]processes.Process, error)
}

// Processes tells which workers are alive on a store, and which were lately: of each its name, the version of its
// binary, and a digest of its policy. Once a minute a worker notes itself after one of its turns. No rule depends on
// it: a note that fails is logged by [slog.Default], and the turn goes on without it.
type Processes struct {
	view func(context.Context, func(Journaled) error) error
}

// NewProcesses returns the processes of a store of any transaction type.
func NewProcesses[T Journaled](s Store[T]) (*Processes, error) {
	s = present(s)
	return &Processes{func(ctx context.Context, fn func(Journaled) error) error {
		return s.View(ctx, func(tx T) error { return fn(tx) })
	}}, nil
}

// List pages through the processes in the order of [processes.Compare], behind a key. A limit
// is 1 to [MaxPage], else it is [statemachine.ErrInvalid].
func (p *Processes) List(ctx context.Context, after processes.Key, limit int) ([]processes.Process, error) {
	return read(ctx, p.view, func(tx Journaled) ([]processes.Process, error) { return tx.Processes().List(after, limit) })
}

// Alerts compares the processes with limits, see [processes.Alerts].
func (p *Processes) Alerts(ctx context.Context, limits processes.Thresholds) ([]statemachine.Alert, error) {
	return readNow(ctx, p.view, func(tx Journaled, now time.Time) ([]statemachine.Alert, error) {
		all, err := tx.Processes().List(processes.Key{}, MaxPage)
		return processes.Alerts(all, now, limits), err
	})
}

// lives is what a service knows of the workers that have its sources: when each has last tried to
// note itself, and which have done so.
type lives struct {
	sync.Mutex
	domain, policy string // the policy's digest
	err            error  // the policy has none
	tried          map[string]time.Time
	noted          map[string]bool
	wait           time.Duration // that the next note has
}

// A note has noteWait, since the turn before it has claimed items whose leases run. The time
// doubles with each note that fails, up to noteMost, so that a slow database is noted in the end.
const (
	noteWait = 250 * time.Millisecond
	noteMost = 4 * time.Second
)

// newLives returns nil for a service without workers, which has no policy here.
func newLives(domain string, policy any) *lives {
	if policy == nil {
		return nil
	}
	digest, err := processes.Digest(policy)
	return &lives{domain: domain, policy: digest, err: err, tried: map[string]time.Time{}, noted: map[string]bool{}, wait: noteWait}
}

// owed reports whether the worker of a name has to note itself now, whether it has never done so,
// and how long the note may take. It is asked again a minute later.
func (l *lives) owed(name string) (owed, first bool, wait time.Duration) {
	if l == nil || name == "" {
		return false, false, 0
	}
	l.Lock()
	defer l.Unlock()
	if last, known := l.tried[name]; known && time.Since(last) < processes.Every {
		return false, false, 0
	}
	l.tried[name] = time.Now()
	return true, !l.noted[name], l.wait
}

// done is told how the note of the worker of a name has ended.
func (l *lives) done(name string, err error) {
	l.Lock()
	defer l.Unlock()
	if err != nil {
		l.wait = min(2*l.wait, noteMost)
		return
	}
	l.noted[name], l.wait = true, noteWait
}

// alive notes that the worker of a name is alive, behind a turn that was committed and in a
// transaction of its own: whoever locks the table of processes stops no work.
func (s *core[T, K, L, A, E, C]) alive(ctx context.Context, name string) {
	owed, first, wait := s.lives.owed(name)
	if !owed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.update(ctx, func(tx T) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		return s.lives.note(tx, name, first, now)
	})
	s.lives.done(name, err)
	if err != nil {
		slog.WarnContext(ctx, "settle: a worker could not note that it is alive", "worker", name, "domain", s.lives.domain, "error", err)
	}
}

// pruned is how many processes that are long gone a new one deletes at most.
const pruned = 100

// note writes that the worker of a name is alive.
func (l *lives) note(tx Journaled, name string, first bool, now time.Time) error {
	if l.err != nil {
		return l.err
	}
	records := tx.Processes()
	if first { // only a new life adds a row
		all, err := records.List(processes.Key{}, MaxPage)
		if err != nil {
			return err
		}
		if gone := processes.Old(all, now, pruned); len(gone) > 0 {
			if err := records.Delete(gone...); err != nil {
				return err
			}
		}
	}
	key := processes.Key{Domain: l.domain, Name: name, Version: built(), Policy: l.policy}
	return records.Put(processes.Process{Key: key, First: now, Last: now})
}

// built is the version of the program, as its build has noted it.
var built = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return statemachine.Bounded(build.Main.Version, processes.MaxText)
})
