package follow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

func TestEachLineOnce(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		h.order()
		a := h.runner(h.store, h.consumer(), h.post)
		if err := settle(ctx, a); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log())
		if jobs := h.count("SELECT count(DISTINCT aggregate) FROM " + h.table); jobs != 1 {
			t.Errorf("a request and its job are %d aggregates", jobs)
		}
		h.order()
		if s := h.stats(); s.Lag != 0 || s.Error != "" || s.Parked != 0 { // the clock stands
			t.Errorf("%+v", s)
		}
		h.pass(time.Minute)
		if s := h.stats(); s.Lag != time.Minute {
			t.Errorf("a minute behind: %v", s.Lag)
		}
		for range 2 { // and another life of the process
			if err := settle(ctx, h.runner(h.store, h.consumer(), h.post)); err != nil {
				t.Fatal(err)
			}
			h.posted(h.log())
			h.pass(time.Minute)
		}
		// One of other machines is moved past these lines, to the head.
		late := h.consumer()
		late.Name, late.Domains = "relays", []store.Domain{store.DomainRelays}
		if err := settle(ctx, h.runner(h.store, late, h.post)); err != nil {
			t.Fatal(err)
		}
		s, err := StatsOf(ctx, h.store, "relays")
		if head, failed := h.orders.Head(ctx); err != nil || failed != nil || s.Cursor != head || head == "" {
			t.Errorf("cursor %q, head %q, %v, %v", s.Cursor, head, err, failed)
		}
		// One from now on gets nothing of the past.
		late = h.consumer()
		late.Name, late.From = "late", Now
		r := h.runner(h.store, late, func(context.Context, sqlstore.Tx, store.Unit, []Line) error { return errors.New("given") })
		if err := settle(ctx, r); err != nil {
			t.Errorf("from now on: %v", err)
		}
		h.order()
		if err := settle(ctx, r); err == nil {
			t.Error("a new line is not given")
		}
	})
}

func TestRunEndsWithItsContextAndGivesTheLeaseBack(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		h.order()
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		err := Run(ctx, h.store, h.consumer(), func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
			seen += len(lines)
			if err := h.post(ctx, tx, unit, lines); err != nil {
				return err
			}
			if seen == h.log() {
				cancel()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := h.stats(); s.Until.After(h.now) {
			t.Errorf("the lease goes on until %v", s.Until)
		}
		// What was cancelled in the commit comes again.
		if err := settle(t.Context(), h.runner(h.store, h.consumer(), h.post)); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log())
	})
}

// Another process takes the consumer between the read of a page and its commit.
func TestTakeover(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		c := h.consumer()
		c.Lines = 1
		h.order()
		a, b := h.runner(h.store, c, h.post), h.runner(h.open(h.db), c, h.post)
		if wait, err := a.step(ctx); err != nil || wait != 0 {
			t.Fatal(wait, err)
		}
		if wait, err := b.step(ctx); err != nil || wait != time.Minute {
			t.Errorf("the other process gets the lease: %v, %v", wait, err)
		}
		s, err := a.look(ctx)
		if err != nil || len(s.page) != 1 {
			t.Fatal(s, err)
		}
		h.pass(time.Minute)
		if err := settle(ctx, b); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log())
		nothing := func(context.Context, sqlstore.Tx, store.Unit, []Line) error { return nil }
		for name, fn := range map[string]Func{"a function that notices nothing": nothing,
			"one that meets what the other one has posted": h.post} {
			a.fn = fn
			err := a.post(ctx, s, s.page, func(sqlstore.Consumers, time.Time) (sqlstore.Consumer, error) {
				return moved(c, s.row, s.next, s.now), nil
			})
			if err == nil || a.outcome(ctx, s, s.page, err) != nil || a.fence != 0 {
				t.Errorf("%s: %v, fence %d", name, err, a.fence)
			}
			a.fence = s.row.Fence
		}
		if s := h.stats(); s.Stopped || s.Fence != b.fence {
			t.Errorf("%+v", s)
		}
		h.posted(h.log())
		if wait, err := a.step(ctx); err != nil || wait == 0 {
			t.Errorf("it goes on: %v, %v", wait, err)
		}
	})
	t.Run("while the function runs", func(t *testing.T) {
		h := newHost(t, sqlstore.Postgres)
		c := h.consumer()
		c.Lines = 1
		h.order()
		b := h.runner(h.open(h.db), c, h.post)
		first := true
		a := h.runner(h.store, c, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
			if first {
				first = false
				h.pass(time.Minute)
				if err := settle(t.Context(), b); err != nil { // it reads no further than this open transaction, which has written nothing
					t.Error(err)
				}
				return nil // and posts nothing itself
			}
			return h.post(ctx, tx, unit, lines)
		})
		if err := settle(t.Context(), a); err != nil {
			t.Error(err)
		}
		h.pass(time.Minute)
		if err := settle(t.Context(), a); err != nil {
			t.Error(err)
		}
		h.posted(h.log())
	})
}

// A line that outlasts the lease is undone and stops nothing: it comes again, and is counted until it is done.
func TestALineThatOutlastsTheLease(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		h.order()
		var end context.CancelFunc
		for _, on := range []OnFailure{Stop, Park} {
			c := h.consumer()
			c.OnFailure = on
			r := h.runner(h.store, c, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
				if err := h.post(ctx, tx, unit, lines); err != nil {
					return err
				}
				end()
				<-ctx.Done()
				return ctx.Err()
			})
			lease := time.Duration(0)
			r.limit = func(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
				ctx, end = context.WithCancel(ctx)
				lease = left
				return ctx, end
			}
			for n := range int64(3) {
				err := settle(t.Context(), r)
				s := h.stats()
				if a := Alerts(s, Thresholds{}); judge(c, err, 1, false) != late || s.Stopped || s.Error == "" || s.Cursor != "" ||
					s.Late != n+1 || s.Parked != 0 || len(a) != 1 || a[0].Name != "consumer late" {
					t.Errorf("%v: %+v, %v", err, s, a)
				}
			}
			if lease <= 0 || lease > time.Minute {
				t.Errorf("the function has %v", lease)
			}
			h.posted(0)
			r.fn = h.post
			if _, err := r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := h.stats(); s.Stopped || s.Error != "" || s.Late != 0 {
				t.Errorf("%+v", s)
			}
			r.release(t.Context())
			h.exec("DELETE FROM " + h.table)
			h.exec("DELETE FROM " + h.name("settle_consumers"))
		}
	})
}

// While the database is so slow that each commit outlasts the lease, Run goes on, and it does its work as
// soon as the database is fast again.
func TestRunOutlivesASlowDatabase(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		for range 3 {
			h.order()
		}
		h.opts.Now = nil // leases of 50 ms end by the clock
		h.reopen()
		c := h.consumer()
		c.Lease = 50 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var slow atomic.Bool
		var tries atomic.Int32
		slow.Store(true)
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, h.store, c, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
				if slow.Load() { // the statement is stuck until the lease ends
					tries.Add(1)
					<-ctx.Done()
					return ctx.Err()
				}
				return h.post(ctx, tx, unit, lines)
			})
		}()
		for tries.Load() < 5 {
			time.Sleep(time.Millisecond)
		}
		slow.Store(false)
		for s := (Stats{}); s.Cursor == "" || s.Lag > 0 || s.Late > 0; s = h.stats() {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(10 * time.Millisecond):
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.posted(h.log())
	})
}

// While two releases run, the one that knows fewer machines never has the lease.
func TestRollingDeploy(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		older, newer := h.consumer(), h.consumer()
		newer.Domains = []store.Domain{store.DomainWithdrawals, store.DomainSwaps}
		h.order()
		a, b := h.runner(h.store, older, h.post), h.runner(h.store, newer, h.post)
		if err := settle(ctx, a); err != nil {
			t.Fatal(err)
		}
		if err := settle(ctx, b); !errors.Is(err, ErrMachines) {
			t.Errorf("more machines: %v", err)
		}
		h.pass(time.Minute)
		b.From = Here
		if err := settle(ctx, b); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			h.order()
			h.pass(2 * time.Minute)
			if wait, err := a.step(ctx); err != nil || wait != time.Minute {
				t.Errorf("fewer machines: %v, %v", wait, err)
			}
		}
		if s := h.stats(); len(s.Machines) != 5 || s.Fence != b.fence || s.Lag == 0 {
			t.Errorf("%+v", s)
		}
		if err := settle(ctx, b); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log())
	})
}

// A process that is cut before or after any of its statements has posted each line
// once, or not yet, and the next process goes on. Without SETTLE_SOAK=1 it is each third
// statement: before the first, the fourth and so on, and after the second, the fifth and so on.
func TestKilledAtEveryStatement(t *testing.T) {
	every := 3
	if os.Getenv("SETTLE_SOAK") != "" {
		every = 1
	}
	both(t, func(t *testing.T, h *host) {
		for _, after := range []bool{false, true} {
			cuts, first := 0, 1
			if after && every > 1 {
				first = 2
			}
			for n := first; ; n += every {
				h.order()
				s, process, closed := h.cut()
				r := h.runner(s, h.consumer(), h.post)
				process.Cut(n, after, "")
				err := settle(t.Context(), r)
				if err == nil && process.Dead() {
					t.Fatalf("cut at %d, after %v: and nothing failed", n, after)
				}
				if got, want := h.count("SELECT count(*) FROM "+h.table), h.log(); got > want || err == nil && got != want {
					t.Fatalf("cut at %d, after %v: %v, the host has %d of %d lines", n, after, err, got, want)
				}
				closed()
				if err == nil {
					break
				}
				if v := judge(r.Consumer, err, 0, false); v != again {
					t.Errorf("cut at %d, after %v: Run would not go on after %v", n, after, err)
				}
				cuts++
				h.pass(time.Minute)
				if cuts%3 == 0 { // the backlog ends
					if err := settle(t.Context(), h.runner(h.store, h.consumer(), h.post)); err != nil {
						t.Fatal(err)
					}
					h.posted(h.log())
					h.pass(time.Minute)
				}
			}
			if cuts*every < 20 {
				t.Errorf("only %d cuts", cuts)
			}
			h.pass(time.Minute)
			if err := settle(t.Context(), h.runner(h.store, h.consumer(), h.post)); err != nil {
				t.Fatal(err)
			}
			h.posted(h.log())
			h.pass(time.Minute)
		}
	})
}

// A database that went back stops its consumers.
func TestRestored(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		h.order()
		r := h.runner(h.store, h.consumer(), h.post)
		if err := settle(ctx, r); err != nil {
			t.Fatal(err)
		}
		last := h.stats().Cursor
		h.pass(time.Minute) // the lease
		lost := store.CursorOf("9.9", statemachine.Transition[string]{Machine: "lost"})
		h.exec("UPDATE "+h.name("settle_consumers")+" SET cursor = $1", string(lost))
		if err := Run(ctx, h.store, h.consumer(), h.post); !errors.Is(err, store.ErrCursor) {
			t.Errorf("a cursor whose line is lost: %v", err)
		}
		h.exec("UPDATE "+h.name("settle_consumers")+" SET cursor = $1", string(last))
		if h.dialect == sqlstore.Postgres {
			h.exec("INSERT INTO " + h.name("transitions") +
				" (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) " +
				"VALUES (4000000000000, 'other', 'x', 1, '', 'made', 'made', now(), '', '', '')")
			if err := Run(ctx, h.store, h.consumer(), h.post); !errors.Is(err, store.ErrRestored) {
				t.Errorf("a counter that went back: %v", err)
			}
		}
		burned := sqlstore.Restore{Actor: "olga", Reason: "the disk burned", Lost: noon}
		if err := sqlstore.Restored(ctx, h.db, h.dialect, h.opts, burned); err != nil {
			t.Fatal(err)
		}
		h.reopen()
		h.approved() // nothing is ordered before the chain has been started again
		if err := settle(ctx, r); !errors.Is(err, store.ErrRestored) {
			t.Errorf("a process that has lived across the restore: %v", err)
		}
		r = h.runner(h.store, h.consumer(), func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
			for _, l := range lines {
				if l.Generation != 1 {
					t.Errorf("a line of the next generation has %d", l.Generation)
				}
			}
			return h.post(ctx, tx, unit, lines)
		})
		h.pass(time.Minute)
		if err := settle(ctx, r); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log() - 1 - map[sqlstore.Dialect]int{sqlstore.Postgres: 1}[h.dialect]) // the line of the switch, and the other machine's
	})
}

func TestArguments(t *testing.T) {
	h := newHost(t, sqlstore.SQLite)
	ok := h.consumer()
	for name, change := range map[string]func(*Consumer){
		"no name": func(c *Consumer) { c.Name = "" }, "no domain": func(c *Consumer) { c.Domains = nil },
		"unknown domain": func(c *Consumer) { c.Domains = []store.Domain{"orders"} },
		"negative lease": func(c *Consumer) { c.Lease = -1 }, "long lease": func(c *Consumer) { c.Lease = time.Hour + 1 },
		"negative lines": func(c *Consumer) { c.Lines = -1 },
		"many lines":     func(c *Consumer) { c.Lines = 1001 }, "unknown from": func(c *Consumer) { c.From = 4 },
		"unknown failure": func(c *Consumer) { c.OnFailure = 2 },
		"long name":       func(c *Consumer) { c.Name = fmt.Sprintf("%0101d", 1) }, "new, from nowhere": func(c *Consumer) { c.From = 0 },
	} {
		c := ok
		change(&c)
		if err := Run(t.Context(), h.store, c, h.post); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(Run(t.Context(), nil, ok, h.post)); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if err := Run(t.Context(), h.store, ok, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := StatsOf(t.Context(), h.store, "nobody"); !errors.Is(err, statemachine.ErrNotFound) {
		t.Error(err)
	}
}
