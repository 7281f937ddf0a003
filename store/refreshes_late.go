package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

const (
	enqueueWait = time.Second // how long EnqueueLogged waits for the store
	maxLate     = 10_000      // jobs that a service keeps for later
)

// EnqueueLogged is Enqueue for an API request that must neither fail nor wait because of its
// refresh job. It takes at most a second. A client that hangs up does not stop it, since the
// effect that the job follows up has happened already.
//
// If the store does not accept the job within this second, the id is zero, and log, where
// nil means [slog.Default], says so. The job is then tried again as long as the process lives, until it is stored
// once; meanwhile [Refreshes.Stats] of this service counts it, for the alert "not enqueued".
// Beyond 10,000 waiting jobs further ones are dropped, and counted until the process ends. A job
// that is [statemachine.ErrInvalid] is only logged. When the process dies its waiting jobs are
// lost, so a host that must not lose a job calls Enqueue. Within a transaction nothing is tried
// again: the transaction fails as a whole.
func (s *Refreshes) EnqueueLogged(ctx context.Context, ev refresh.Enqueued, log *slog.Logger) uuid.UUID {
	if ev.Job == uuid.Nil {
		ev.Job = uuid.New()
	}
	log = cmp.Or(log, slog.Default()).With("wallet", ev.XpubVan, "trigger", ev.Cause.String(), "job", ev.Job)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueWait)
	defer cancel()
	job, err := s.Enqueue(ctx, ev)
	switch {
	case err == nil:
		return job
	case s.late == nil || errors.Is(err, statemachine.ErrInvalid):
		log.ErrorContext(ctx, "refresh job not enqueued", "error", err)
	case s.late.add(lateJob{ev, log}, s.storeLate):
		log.ErrorContext(ctx, "refresh job not enqueued yet, it is tried again", "error", err)
	default:
		log.ErrorContext(ctx, "refresh job not enqueued, and too many others are tried again: it is dropped", "error", err)
	}
	return uuid.Nil
}

// late are the jobs that EnqueueLogged could not store, in the order in which they are tried. One
// goroutine tries them; it is started with the first job and ends when none is left.
type late struct {
	mu      sync.Mutex
	jobs    []lateJob
	dropped int64
}

type lateJob struct {
	ev  refresh.Enqueued
	log *slog.Logger
}

// add reports whether the job is kept, and starts try with the first one.
func (l *late) add(j lateJob, try func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) >= maxLate {
		l.dropped++
		return false
	}
	if l.jobs = append(l.jobs, j); len(l.jobs) == 1 {
		go try()
	}
	return true
}

// next returns the job to try. If one was tried, it is first removed from the front: when it is
// not done, it goes behind the others.
func (l *late) next(tried, done bool) (j lateJob, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tried {
		if j = l.jobs[0]; !done {
			l.jobs = append(l.jobs, j)
		}
		l.jobs = l.jobs[1:]
	}
	if len(l.jobs) == 0 {
		l.jobs = nil
		return j, false
	}
	return l.jobs[0], true
}

// storeLate tries until no job is left.
func (s *Refreshes) storeLate() {
	pause := statemachine.Backoff{Base: 100 * time.Millisecond, Cap: 30 * time.Second}
	tried, done := false, false
	for fails := 0; ; {
		j, ok := s.late.next(tried, done)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.policy.HTTPTimeout)
		_, err := s.Enqueue(ctx, j.ev)
		cancel()
		tried, done = true, err == nil || errors.Is(err, statemachine.ErrInvalid)
		switch {
		case err == nil:
			j.log.Info("refresh job enqueued")
			fails = 0
		case done:
			j.log.Error("refresh job not enqueued", "error", err)
		default:
			time.Sleep(pause.Delay(fails, 0))
			fails++
		}
	}
}

// count adds the jobs of this process that are not stored.
func (l *late) count(s *refresh.Stats) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.NotEnqueued = int64(len(l.jobs)) + l.dropped
}
