package refresher

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// round is one round of one wallet.
type round struct {
	*slots
	xpub    string
	log     *slog.Logger
	started atomic.Bool
	jobs    int  // that were claimed
	calls   int  // of the host, that were started
	hung    bool // a call timed out: the round is over

	// began is when the pass or the tick began, and deadline when it must end, both by this
	// process's clock.
	began, deadline time.Time

	storeTime, localTime time.Time // of the same moment, or the store's is earlier
	lockFence            int64     // of the wallet's lock then

	mu    sync.Mutex
	held  refresh.Fences
	until time.Time // of the lock, by this process's clock
}

// lease is what is to be renewed.
func (r *round) lease() store.RefreshLease {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := store.RefreshLease{XpubVan: r.xpub, Fences: r.held}
	if !r.policy.RenewLock {
		l.Lock = 0
	}
	return l
}

// renewed moves the end of the lock that was renewed. With lock 0 only the slot was renewed, and
// nothing moves: a round without the lock makes no call that has to end with it.
func (r *round) renewed(lock int64, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lock != 0 && lock == r.held.Lock {
		r.until = until
	}
}

// hold notes what was taken by a step that was sent at a time.
func (r *round) hold(job uuid.UUID, fence, lock int64, sent time.Time) refresh.Fences {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.Job, r.held.Fence, r.held.Lock = job, fence, lock
	r.until = sent.Add(r.policy.LockTTL)
	return r.held
}

func (r *round) letGo() { r.hold(uuid.Nil, 0, 0, time.Time{}) }

// lockEnd is when the lock ends by this process's clock.
func (r *round) lockEnd() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until
}

func (r *round) by() refresh.By { return refresh.By{Actor: r.name, Role: refresh.Worker} }

// now is the store's time, or a little earlier.
func (r *round) now() time.Time { return r.storeTime.Add(time.Since(r.localTime)) }

// ended is what became of the round.
func (r *round) ended(how result) result {
	how.of = r
	return how
}

// owed asks what is next, and for the store's time.
func (r *round) owed(ctx context.Context) (refresh.Step, refresh.Work, error) {
	step, w, now, err := r.service.Owed(ctx, r.xpub)
	if err == nil {
		r.storeTime, r.localTime, r.lockFence = now, time.Now(), w.Lock.Lease.Fence
	}
	return step, w, err
}

// run is the round: jobs first, then the watchers.
func (r *round) run(ctx context.Context) result {
	var due time.Time
	rest := func() result {
		return r.ended(result{again: time.Now().Add(r.policy.WalletWorkerPollInterval), due: due})
	}
	r.started.Store(true)
	for ticked := false; ; {
		if ctx.Err() != nil || r.stopping.Err() != nil {
			return rest()
		}
		step, w, err := r.owed(ctx)
		if err == nil {
			if due = step.Due; !due.IsZero() && due.Before(r.storeTime) {
				due = r.storeTime
			}
			switch {
			case step.Do == refresh.DoJob && r.jobs < r.policy.MaxJobs && !ticked:
				err = r.job(ctx)
			case step.Tick && !ticked:
				ticked, err = r.tick(ctx, w)
			case step.Do == refresh.DoExpire && !ticked:
				_, err = r.send(ctx, refresh.Elapsed{By: r.by(), Slot: r.held.Slot})
			case step.Do == refresh.DoJob: // no sleep while a job is due
				return r.ended(result{due: due})
			default:
				end := rest()
				end.idle, end.workSeq = step.Idle, w.Wallet.WorkSeq
				return end
			}
		}
		r.letGo()
		switch {
		case r.hung:
			r.log.Warn("a call timed out: the round is over")
			return r.ended(result{end: refresh.EndHung})
		case err != nil:
			r.log.Warn("the round ended early", "error", err)
			return rest()
		}
	}
}

// send stores an event. An error that is no refusal is tried again for LockTTL/3, since every
// event may be sent twice.
func (r *round) send(ctx context.Context, ev refresh.Event) (c refresh.Change, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.policy.LockTTL/3)
	defer cancel()
	pause := statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second}
	for try := 0; ; try++ {
		c, err = r.service.Step(ctx, r.xpub, ev)
		var refusal *statemachine.Refusal
		if err == nil || errors.As(err, &refusal) || ctx.Err() != nil {
			for _, fault := range c.Faults {
				r.log.Warn("transfer not understood", "error", fault)
			}
			return c, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause.Delay(try, 0)):
		}
	}
}

// job claims one due job and does it.
func (r *round) job(ctx context.Context) error {
	sent := time.Now()
	c, err := r.send(ctx, refresh.JobClaimed{By: r.by(), Slot: r.held.Slot, Known: r.lockFence})
	if err != nil || c.Job == uuid.Nil {
		return err
	}
	r.jobs++
	var job refresh.Job
	for i := range c.New.Jobs {
		if c.New.Jobs[i].ID == c.Job {
			job = c.New.Jobs[i]
		}
	}
	if job.Status != refresh.JobProcessing { // an invoice without asset
		return nil
	}
	r.began = sent
	r.bound(0)
	held := r.hold(job.ID, job.Lease.Fence, c.New.Lock.Lease.Fence, sent)
	done := refresh.JobDone{By: r.by(), Fences: held}
	err = r.pass(ctx, job.Credentials, c.New.Wallet.HungRounds, &done)
	if err == nil {
		_, err = r.send(ctx, done)
		return err
	}
	ev := refresh.JobNotDone{By: r.by(), Fences: held, Outcome: outcome(err), Permanent: errors.Is(err, ErrPermanent), Error: err.Error()}
	if errors.Is(err, errNotHeld) {
		return err // the store would refuse it
	}
	if r.stopping.Err() != nil && ctx.Err() != nil { // the process stops: it gives the attempt back
		ev.Outcome, ev.Stopped = statemachine.Deferred, true
	}
	if _, err := r.send(ctx, ev); err != nil {
		return err
	}
	r.log.Warn("job not done", "job", job.ID, "attempt", job.Attempts, "error", err)
	return nil
}

// pass makes the calls of a job: refresh, look up, cancel.
func (r *round) pass(ctx context.Context, w refresh.Credentials, hungRounds int32, done *refresh.JobDone) (err error) {
	if err := r.callFor(ctx, func(ctx context.Context) error { return r.host.Refresh(ctx, w) }); err != nil {
		return err
	}
	if done.Listing, err = r.look(ctx, w, true, nil); err != nil {
		return err
	}
	indexes, _ := r.policy.PlanPass(done.Listing, hungRounds)
	done.Cancelled = r.cancel(ctx, w, indexes, nil)
	return nil
}

// tick looks up once and refreshes once for all due watchers. over is false if a due job goes
// first.
func (r *round) tick(ctx context.Context, w refresh.Work) (over bool, err error) {
	began := r.storeTime
	r.began = time.Now()
	r.bound(0)
	wallet := credentials(&w)
	jobFirst := func() bool { // between two calls
		if r.jobs >= r.policy.MaxJobs || r.hung {
			return false
		}
		step, _, err := r.owed(ctx)
		return err == nil && step.Do == refresh.DoJob && (!step.Held || r.lockEnd().After(time.Now())) // by its own tick
	}
	looked := refresh.Looked{By: r.by(), Slot: r.held.Slot, Known: r.lockFence, Began: began, JobFirst: r.jobs < r.policy.MaxJobs}
	looked.Listing, err = r.look(ctx, wallet, false, jobFirst)
	switch {
	case errors.Is(err, errJobFirst):
		return false, nil
	case err != nil:
		r.log.Warn("the look-up of the watchers was not answered", "error", err)
		looked.Error = err.Error()
	}
	sent := time.Now()
	c, err := r.send(ctx, looked)
	if err != nil || !c.Tick.Locked() || r.hung {
		return !c.Tick.JobFirst, err
	}
	ticked := refresh.Ticked{By: r.by(), Fences: r.hold(uuid.Nil, 0, c.New.Lock.Lease.Fence, sent), Began: began, Listing: looked.Listing,
		Recipients: c.Tick.Recipients}
	ticked.Cancelled = r.cancel(ctx, wallet, c.Tick.Cancel, jobFirst)
	jobWaits := len(c.Tick.Cancel) > 0 && jobFirst()
	if !jobWaits {
		err := r.callFor(ctx, func(ctx context.Context) error { return r.host.Refresh(ctx, wallet) })
		ticked.Refreshed = outcome(err)
		if err != nil {
			ticked.Error = err.Error()
		}
	}
	_, err = r.send(ctx, ticked)
	return !jobWaits, err
}

// credentials are those of a watcher of the wallet.
func credentials(w *refresh.Work) refresh.Credentials {
	for i := range w.Watchers {
		return w.Watchers[i].Credentials
	}
	return refresh.Credentials{XpubVan: w.Wallet.XpubVan}
}
