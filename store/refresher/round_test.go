package refresher

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
)

// A renewal moves the end of the lock that it names, and of no other. The renewal of a slot alone
// gives a round without the lock no right to call.
func TestRenewalsOfTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := refresh.DefaultPolicy()
		for name, c := range map[string]struct {
			held, renewed int64
			want          error
		}{
			"the lock":                       {5, 5, nil},
			"an earlier one":                 {5, 4, errNotHeld},
			"the slot alone, under a lock":   {5, 0, errNotHeld},
			"the slot alone, without a lock": {0, 0, errNotHeld},
		} {
			r := &round{slots: &slots{policy: policy}, began: time.Now()}
			r.bound(0)
			if r.letGo(); c.held != 0 {
				r.hold(uuid.New(), 1, c.held, time.Now())
			}
			time.Sleep(policy.LockTTL)
			r.renewed(c.renewed, time.Now().Add(policy.LockTTL))
			called := false
			err := r.callFor(t.Context(), func(context.Context) error { called = true; return nil })
			if !errors.Is(err, c.want) || called != (c.want == nil) {
				t.Errorf("%s: called %v, %v", name, called, err)
			}
		}
	})
}

// The result of an earlier round of a wallet changes nothing about the slot that the process has
// got since.
func TestResultsOfALostSlot(t *testing.T) {
	now := time.Now()
	old, running := &round{xpub: "a"}, &round{xpub: "a"}
	s := &slots{policy: refresh.DefaultPolicy(), all: map[string]*slot{"a": {held: store.HeldSlot{XpubVan: "a", Fence: 2}, running: running}}}
	if mine, starts := s.ready(now, []result{{of: old, end: refresh.EndHung}}, 5); len(mine) != 0 || starts != 0 {
		t.Errorf("%+v", mine)
	}
	if s.lost(old); s.all["a"].running != running {
		t.Error("the loss of another slot freed it")
	}
	if mine, _ := s.ready(now, []result{{of: running, end: refresh.EndHung}}, 5); len(mine) != 1 || mine[0].End != refresh.EndHung {
		t.Errorf("%+v", mine)
	}
}

// A result that is offered again, since its commit failed, changes nothing about the next round
// of the same slot, which runs meanwhile.
func TestAResultThatIsOfferedAgain(t *testing.T) {
	db := &slow{Store: memory.New(memory.Options{})}
	s := newSlots(t, db, "a")
	first := s.turn(t, 1)[0].Work
	done := first.ended(result{})
	db.fails = errors.New("the connection is lost")
	if _, _, err := s.Turn(t.Context(), []result{done}, 1); err == nil {
		t.Fatal("no error")
	}
	db.fails = nil
	second := s.turn(t, 1)
	if len(second) != 1 || second[0].Work == first {
		t.Fatalf("%+v", second)
	}
	if items := s.turn(t, 1, done); len(items) != 0 || s.all["a"].running != second[0].Work {
		t.Errorf("it ended the round that runs: %+v", items)
	}
	if items := s.turn(t, 1, second[0].Work.ended(result{})); len(items) != 1 {
		t.Error("the wallet is never worked on again")
	}
}

// corrupt is a store of which a row cannot be read.
type corrupt struct {
	store.Store[store.Unit]
	tries int
}

func (c *corrupt) Update(context.Context, func(store.Unit) error) error {
	c.tries++
	return statemachine.ErrCorrupt
}

// A row that cannot be read does not keep a process from serving the others.
func TestRecoveryOfACorruptStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &corrupt{Store: memory.New(memory.Options{})}
		service, err := store.NewRefreshes(db, refresh.DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := &slots{service: service, name: "w1", log: slog.New(slog.DiscardHandler)}
		if err := s.recover(ctx); err != nil || db.tries != 1 {
			t.Errorf("%d tries, %v", db.tries, err)
		}
	})
}

// host counts calls.
type host struct{ calls int }

func (h *host) Refresh(context.Context, refresh.Credentials) error { h.calls++; return nil }

func (h *host) ListAssets(context.Context, refresh.Credentials) ([]string, error) {
	h.calls++
	return nil, nil
}

func (h *host) ListTransfers(context.Context, refresh.Credentials, string) ([]refresh.Transfer, error) {
	h.calls++
	return nil, nil
}

func (h *host) FailTransfers(context.Context, refresh.Credentials, int32) error {
	h.calls++
	return nil
}

// Where the answer to a claim comes after the end of the lock, nothing is called.
func TestNothingIsCalledAtTheEndOfTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{}
		r := &round{slots: &slots{policy: refresh.DefaultPolicy(), host: h, log: slog.New(slog.DiscardHandler)},
			log: slog.New(slog.DiscardHandler), began: time.Now()}
		r.bound(0)
		r.hold(uuid.New(), 1, 5, time.Now())
		time.Sleep(r.policy.LockTTL)
		if err := r.pass(t.Context(), refresh.Credentials{}, 0, new(refresh.JobDone)); !errors.Is(err, errNotHeld) {
			t.Error(err)
		}
		if got := r.cancel(t.Context(), refresh.Credentials{}, []int32{0}, nil); len(got) != 0 || h.calls != 0 {
			t.Errorf("%d calls, %+v", h.calls, got)
		}
	})
}

// slow is a store of which each answer takes a while, in which something happens.
type slow struct {
	store.Store[store.Unit]
	takes     time.Duration
	meanwhile func()
	fails     error
}

func (s *slow) Update(ctx context.Context, fn func(store.Unit) error) error {
	err := s.fails
	if err == nil {
		err = s.Store.Update(ctx, fn)
	}
	time.Sleep(s.takes)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return err
}

// View implements [store.Store].
func (s *slow) View(ctx context.Context, fn func(store.Unit) error) error {
	if s.fails != nil {
		return s.fails
	}
	return s.Store.View(ctx, fn)
}

// Where the store does not answer what is owed, a round still counts its time: the listing of a
// tick that goes on has the present time.
func TestTheTimeOfARoundWhereTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slow{Store: memory.New(memory.Options{})}
		r := newSlots(t, db, "a").turn(t, 1)[0].Work
		if _, _, err := r.owed(t.Context()); err != nil {
			t.Fatal(err)
		}
		db.fails = errors.New("the connection is lost")
		time.Sleep(3 * time.Second)
		if _, _, err := r.owed(t.Context()); err == nil {
			t.Fatal("no error")
		}
		if now := r.now(); !now.Equal(time.Now()) {
			t.Errorf("it is %v, want %v", now, time.Now())
		}
	})
}

// newSlots are those of a process on a store that has one wallet with a job each.
func newSlots(t *testing.T, db store.Store[store.Unit], xpubs ...string) *slots {
	t.Helper()
	service, err := store.NewRefreshes(db, refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	for _, xpub := range xpubs {
		_, err := service.Enqueue(t.Context(), refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync,
			Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "c", MasterFingerprint: "f"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return &slots{service: service, host: &host{}, policy: service.Policy(), name: "w1", log: slog.New(slog.DiscardHandler),
		stopping: t.Context(), all: map[string]*slot{}}
}

func (s *slots) turn(t *testing.T, n int, done ...result) []worker.Item[*round] {
	t.Helper()
	items, _, err := s.Turn(t.Context(), done, n)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// A lease ends LockTTL after its renewal was sent, however late the answer comes. A job or lock
// that the round gave back meanwhile is not reported as lost.
func TestRenewalsThatTakeAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slow{Store: memory.New(memory.Options{})}
		s := newSlots(t, db, "a")
		items := s.turn(t, 1)
		r := items[0].Work
		c, err := s.service.Step(t.Context(), "a", refresh.JobClaimed{By: r.by(), Slot: r.held.Slot})
		if err != nil {
			t.Fatal(err)
		}
		held := r.hold(c.Job, 1, c.New.Lock.Lease.Fence, time.Now())
		db.takes = 3 * time.Second
		end := time.Now().Add(s.policy.LockTTL)
		if err := s.Renew(t.Context(), items); err != nil || !items[0].Until.Equal(end) || !r.lockEnd().Equal(end) {
			t.Errorf("%v, until %v and %v, want %v", err, items[0].Until, r.lockEnd(), end)
		}
		if _, err := s.service.Step(t.Context(), "a", refresh.JobNotDone{By: r.by(), Fences: held, Outcome: statemachine.Failed}); err != nil {
			t.Fatal(err)
		}
		db.meanwhile = r.letGo // the round hears of it while the renewal is under way
		if err := s.Renew(t.Context(), items); err != nil || !items[0].Until.Equal(end) {
			t.Errorf("%v, until %v", err, items[0].Until)
		}
	})
}

// An idle exit that is refused, since a job came, is asked for once: the slot stays, and its next
// round starts.
func TestARefusedExit(t *testing.T) {
	s := newSlots(t, memory.New(memory.Options{}), "a")
	items := s.turn(t, 1)
	if len(items) != 1 {
		t.Fatal(items)
	}
	slot := s.all["a"]
	slot.idleSince, slot.workSeq = time.Now().Add(-time.Hour), 1
	if items := s.turn(t, 1, result{of: items[0].Work, idle: true, workSeq: 1}); len(items) != 0 || s.all["a"] == nil {
		t.Fatalf("%v, %v", items, s.all)
	}
	if items := s.turn(t, 1); len(items) != 1 {
		t.Error("the wallet is never worked on again")
	}
}

// Rounds that are due take their part of the room for new wallets.
func TestRoomOfATurn(t *testing.T) {
	s := newSlots(t, memory.New(memory.Options{}), "a", "b")
	first := s.turn(t, 1)
	if len(first) != 1 {
		t.Fatal(first)
	}
	if items := s.turn(t, 1, first[0].Work.ended(result{})); len(items) != 1 || items[0].Key != first[0].Key || len(s.all) != 1 {
		t.Errorf("%v, %v", items, s.all)
	}
}
