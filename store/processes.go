package store

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
)

// ProcessRecords stores the lives of workers, see package processes. It decides nothing.
type ProcessRecords interface {
	// Put writes a process in the place of the one with its key, of which
	// [processes.Process.Seen] says what stays. It writes one row, after everything that
	// the transaction has written before, since two workers with one name write the same.
	Put(processes.Process) error
	// Delete deletes processes that are as they were read, and leaves the others.
	Delete(...processes.Process) error
	// List pages through the processes in the order of [processes.Compare], behind a key.
	// A limit is 1 to [MaxPage], else it is [statemachine.ErrInvalid].
	List(after processes.Key, limit int) ([]processes.Process, error)
}

// Processes tells which workers are alive on a store, and which were lately: of each its
// name, the version of its binary, and a digest of its policy. A worker notes itself with one
// of its turns, once a minute. No rule depends on it.
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

// lives is what a service knows of the workers that have its sources: when each has noted
// itself.
type lives struct {
	sync.Mutex
	domain, policy string // the policy's digest
	err            error  // the policy has none
	noted          map[string]time.Time
}

// newLives returns nil for a service without workers, which has no policy here.
func newLives(domain string, policy any) *lives {
	if policy == nil {
		return nil
	}
	digest, err := processes.Digest(policy)
	return &lives{domain: domain, policy: digest, err: err, noted: map[string]time.Time{}}
}

// owed reports whether the worker of a name has to note itself, and whether for the first time.
func (l *lives) owed(name string) (owed, first bool) {
	if l == nil || name == "" {
		return false, false
	}
	l.Lock()
	defer l.Unlock()
	last, known := l.noted[name]
	return !known || time.Since(last) >= processes.Every, !known
}

// done is told that the worker of a name has noted itself.
func (l *lives) done(name string) {
	l.Lock()
	defer l.Unlock()
	l.noted[name] = time.Now()
}

// pruned is how many processes that are long gone a new one deletes at most.
const pruned = 100

// note writes that the worker of a name is alive, behind all else that the transaction writes.
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
