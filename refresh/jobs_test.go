package refresh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// How an attempt ends, and what follows.

// Delays 5, 10, 20 ... 1280 s after failures 1 to 9; the 10th is the end.
func TestRetries(t *testing.T) {
	for _, outcome := range []statemachine.Outcome{failed, statemachine.Unknown} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		now := t0
		for n := 1; n <= 10; n++ {
			h := x.claim(now)
			x.do(refresh.JobNotDone{By: worker(now), Fences: h, Outcome: outcome, Error: "busy"})
			j := x.job(1)
			if int(j.Attempts) != n || j.Error != "busy" || x.w.Lock != (refresh.Lock{}) {
				t.Fatalf("failure %d: %+v", n, j)
			}
			if n == 10 {
				if j.Status != refresh.JobFailed || !j.ProcessedAt.Equal(now) {
					t.Fatalf("after the 10th failure: %+v", j)
				}
				break
			}
			delay := time.Duration(5<<(n-1)) * time.Second
			if j.Status != refresh.JobPending || j.AvailableAt.Sub(now) != delay {
				t.Fatalf("failure %d: %v, due in %v", n, j.Status, j.AvailableAt.Sub(now))
			}
			if h := x.claim(now.Add(delay - time.Microsecond)); h.Job != uuid.Nil {
				t.Fatalf("failure %d: claimed before it is due", n)
			}
			now = now.Add(delay)
		}
		if h := x.claim(now.Add(24 * time.Hour)); h.Job != uuid.Nil {
			t.Error("a failed job was claimed")
		}
	}
	if d := config.RetryDelay(9); d != 1280*time.Second {
		t.Error(d)
	}
	rare := config
	rare.RetryDelayBase = 25 * time.Hour
	for _, c := range []struct {
		of   *refresh.Policy
		n    int32
		want time.Duration
	}{{&config, 15, 81_920 * time.Second}, {&config, 16, 24 * time.Hour}, {&config, 10_000, 24 * time.Hour}, {&rare, 1, 25 * time.Hour},
		{&rare, 2, 25 * time.Hour}} {
		if d := c.of.RetryDelay(c.n); d != c.want {
			t.Errorf("failure %d with a base of %v: %v, want %v", c.n, c.of.RetryDelayBase, d, c.want)
		}
	}
}

func TestPermanentAndGivenBack(t *testing.T) {
	for _, c := range []struct {
		name     string
		event    refresh.JobNotDone
		status   refresh.JobStatus
		attempts int32
		due      time.Duration
	}{
		{"permanent", refresh.JobNotDone{Outcome: failed, Permanent: true}, refresh.JobFailed, 1, 0},
		{"unknown is no proof", refresh.JobNotDone{Outcome: statemachine.Unknown, Permanent: true}, refresh.JobPending, 1, 5 * time.Second},
		{"deferred", refresh.JobNotDone{Outcome: statemachine.Deferred}, refresh.JobPending, 0, 30 * time.Second},
		{"stopped", refresh.JobNotDone{Outcome: statemachine.Deferred, Stopped: true}, refresh.JobPending, 0, 0},
	} {
		x := newWorld(t)
		now := after(time.Second)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		c.event.Fences, c.event.By = x.claim(now), worker(now)
		x.do(c.event)
		j := x.job(1)
		if j.Status != c.status || j.Attempts != c.attempts || j.Status == refresh.JobPending && j.AvailableAt.Sub(now) != c.due {
			t.Errorf("%s: %+v", c.name, j)
		}
		version := j.Version
		x.do(c.event) // again: no-op
		if x.job(1).Version != version {
			t.Errorf("%s: counted twice", c.name)
		}
	}
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	h := x.claim(t0)
	for _, o := range []statemachine.Outcome{0, done, 9} {
		if _, err := x.try(refresh.JobNotDone{By: worker(t0), Fences: h, Outcome: o}, t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// The end of a job is stored once; the same event again changes nothing.
func TestJobDoneAgain(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	ev := refresh.JobDone{By: worker(t0), Fences: x.claim(t0), Listing: listing(t0, open("r", "a"))}
	x.do(ev)
	if c := x.do(ev); !c.Empty() {
		t.Error("stored twice")
	}
}

// A JobDone of an invoice that no listing shows ends the attempt as failed (and the job, after
// the last attempt). The same event again changes nothing and is not refused. With a listing
// that shows the invoice, or with the fence of another attempt, it is refused as fenced off.
func TestJobDoneAgainOfAnInvoiceThatIsNotListed(t *testing.T) {
	for _, attempts := range []int32{0, config.MaxRefreshRetries - 1} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", "a"))
		x.w.Jobs[0].Attempts = attempts
		ev := refresh.JobDone{By: worker(t0), Fences: x.claim(t0), Listing: listing(t0, open("another", "a"))}
		x.do(ev)
		if c := x.do(ev); !c.Empty() {
			t.Error("stored twice")
		}
		shown, next := ev, ev
		shown.Listing = listing(t0, open("r", "a"))
		next.Fence++
		for _, late := range []refresh.JobDone{shown, next} {
			if _, err := x.try(late, t0); !errors.Is(err, statemachine.ErrFenced) {
				t.Errorf("%d attempts: %v", attempts, err)
			}
		}
	}
}

// A processing job whose lease has ended is due work. The next claim first returns it, and the
// attempt counts.
func TestOrphans(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(after(time.Second), 2, refresh.Sync, "", ""))
	x.claim(t0) // and its worker is gone
	end := after(config.LockTTL)
	if h := x.claim(end.Add(-time.Microsecond)); h.Job != uuid.Nil {
		t.Fatal("claimed under a held lock")
	}
	j := x.job(2)
	if j.Status != refresh.JobPending || j.Attempts != 0 || j.Version != 1 || !j.AvailableAt.Equal(end.Add(5*time.Second-time.Microsecond)) {
		t.Errorf("a held lock claims nothing and puts the job off: %+v", j)
	}
	if h := x.claim(end); h.Job != uuid.Nil {
		t.Fatal("nothing is due but the orphan")
	}
	j = x.job(1)
	if j.Status != refresh.JobPending || j.Attempts != 1 || j.Error != "lease expired" || !j.AvailableAt.Equal(end.Add(5*time.Second)) {
		t.Errorf("%+v", j)
	}
	if h := x.claim(end.Add(5 * time.Second)); h.Job != id(1) {
		t.Errorf("claimed %v: creation orders", h.Job)
	}
	for i := range x.w.Jobs {
		x.w.Jobs[i].Attempts = 10
	}
	x.claim(end.Add(time.Hour))
	if j := x.job(1); j.Status != refresh.JobFailed || j.Error != "lease expired" {
		t.Errorf("%+v", j)
	}
}

// An invoice with asset is not done while no listing shows its recipient.
func TestInvoiceWhoseRecipientIsNotListed(t *testing.T) {
	for status, want := range map[int]refresh.JobStatus{-1: refresh.JobPending, 0: refresh.JobCompleted, 1: refresh.JobCompleted,
		2: refresh.JobCompleted, 3: refresh.JobCompleted} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", "a"))
		l := listing(t0, open("another", "a"))
		if status >= 0 {
			l.Transfers = append(l.Transfers, ended("r", "a", status))
		}
		x.pass(t0, l)
		if j := x.job(1); j.Status != want || j.Attempts != 1 || x.w.Lock != (refresh.Lock{}) {
			t.Errorf("status %d: %+v", status, j)
		}
		if x.watcher("another").Status != refresh.Watching {
			t.Error("the pass counts for the others")
		}
	}
}
