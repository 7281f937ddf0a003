package store

import (
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

// EnqueueLogged is Enqueue for an API request that must not fail, nor wait, because of its
// job: it takes a second at most. A client that hangs up stops nothing: what it asked for
// has been done already. A job that the store does not take by then is tried again until
// it is stored, once, as long as the process lives; the id is zero, log, which may be nil,
// says so, and [Refreshes.Stats] of this service counts it, for the alert "not enqueued".
// Of more than 10,000 such jobs the others are dropped, and counted until the process
// ends. One that [statemachine.ErrInvalid] refuses is logged alone. A process that dies
// takes with it what was not stored, so a host that must not lose a job calls Enqueue.
// Within a transaction nothing is tried again: it fails as a whole.
func (s *Refreshes) EnqueueLogged(ctx context.Context, ev refresh.Enqueued, log *slog.Logger) uuid.UUID {
	if ev.Job == uuid.Nil {
		ev.Job = uuid.New()
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("wallet", ev.XpubVan, "trigger", ev.Cause.String(), "job", ev.Job)
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

// late are the jobs that EnqueueLogged could not store, in the order in which they are
// tried. One goroutine tries them, from the first one on until none is left.
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

// next is the first job, once the one before it, if one was tried, is done, or goes behind
// the others.
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
		ctx, cancel := context.WithTimeout(context.Background(), s.config.HTTPTimeout)
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
