package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func withdrawalTrails[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	a := w.processing(t, evm, start)
	p := prepared(&a, start)
	a = w.do(t, a.Request.ID, p, withdrawal.Rebumped{By: workerAt(start), Fence: 1, Hash: "bump", Raw: []byte{1}, Nonce: p.Nonce, HasNonce: true})
	a = w.do(t, a.Request.ID, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: "bump"})
	w.do(t, a.Request.ID, withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, start)}) // no version
	r := receipt(&a, start, 3)
	r.Tx = p.Hash
	a = w.do(t, a.Request.ID, r)
	for id, version := range map[uuid.UUID]int64{a.Request.ID: a.Request.Version, a.Job.ID: a.Job.Version} {
		trail, err := w.service.Trail(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(trail)) != version {
			t.Fatalf("%d lines for %d versions", len(trail), version)
		}
	}
	trail, err := w.service.Trail(ctx, a.Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := statemachine.Transition[uuid.UUID]{Machine: withdrawal.JobMachine.Name(), ID: a.Job.ID, Version: 3, From: "processing", Trigger: "prepare",
		To: "processing", At: start.Truncate(time.Microsecond), Actor: worker1, Role: "withdrawal-worker"}
	same(t, "a line in which the status stays", trail[2], want)
	bad := statemachine.Transition[uuid.UUID]{Machine: withdrawal.JobMachine.Name(), ID: a.Job.ID, Version: a.Job.Version + 2, From: "confirmed", Trigger: "claim", To: "processing", At: start}
	gap := w.change(t, w.pending(t, evm, start), withdrawal.Claimed{By: workerAt(start)})
	gap.Log[0] = bad
	refusedWith(t, w.save(gap), statemachine.ErrInvalid, "a line of history with a gap before it")
	silent := w.change(t, w.pending(t, evm, start), withdrawal.Claimed{By: workerAt(start)})
	silent.Log = nil
	refusedWith(t, w.save(silent), statemachine.ErrInvalid, "a version without a line of history")
	again := w.change(t, w.pending(t, evm, start), withdrawal.Claimed{By: workerAt(start)})
	again.Log[0] = want
	refusedWith(t, w.save(again), statemachine.ErrInvalid, "a second line for one version")
}

// followAll reads the feed from a cursor to its end.
func (w *withdrawals[T]) followAll(t testing.TB, from store.Cursor, limit int) (all []statemachine.Transition[uuid.UUID], end store.Cursor) {
	t.Helper()
	for end = from; ; {
		page, next, err := w.service.Follow(ctx, end, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > limit || len(next) > 100 {
			t.Fatalf("a page of %d of %d, and cursor %q", len(page), limit, next)
		}
		if len(page) == 0 {
			if next != end {
				t.Fatalf("an empty page moved the cursor from %q to %q", end, next)
			}
			return all, end
		}
		all, end = append(all, page...), next
	}
}

// inOrder requires versions 1, 2, 3, ... of each record and returns how many
// records there are.
func inOrder(t testing.TB, all []statemachine.Transition[uuid.UUID]) int {
	t.Helper()
	versions := map[uuid.UUID]int64{}
	for _, line := range all {
		if line.Version != versions[line.ID]+1 {
			t.Fatalf("%s %s: version %d was seen after %d", line.Machine, line.ID, line.Version, versions[line.ID])
		}
		versions[line.ID]++
	}
	return len(versions)
}

// head returns where the feed ends.
func (w *withdrawals[T]) head(t testing.TB) store.Cursor {
	t.Helper()
	end, err := w.service.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// cursors: a cursor is of one line, and of no other. The feed begins and ends
// where it says.
func cursors[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	if end := w.head(t); end != "" {
		t.Fatalf("the head of an empty feed is %q", end)
	}
	w.confirming(t, evm, start)
	all, end := w.followAll(t, "", 3)
	if head := w.head(t); head != end {
		t.Errorf("the feed ends at %q, its head is %q", end, head)
	}
	place, err := end.Place()
	if err != nil {
		t.Fatalf("the store makes cursor %q, which is not of CursorOf: %v", end, err)
	}
	last := all[len(all)-1]
	if made := store.CursorOf(place, last); made != end {
		t.Errorf("the cursor of %+v is %q, not %q", last, end, made)
	}
	for what, change := range map[string]func(*statemachine.Transition[uuid.UUID]){
		"machine": func(l *statemachine.Transition[uuid.UUID]) { l.Machine += "x" },
		"id":      func(l *statemachine.Transition[uuid.UUID]) { l.ID[15] ^= 1 },
		"version": func(l *statemachine.Transition[uuid.UUID]) { l.Version++ },
		"from":    func(l *statemachine.Transition[uuid.UUID]) { l.From += "x" },
		"trigger": func(l *statemachine.Transition[uuid.UUID]) { l.Trigger += "x" },
		"to":      func(l *statemachine.Transition[uuid.UUID]) { l.To += "x" },
		"time":    func(l *statemachine.Transition[uuid.UUID]) { l.At = l.At.Add(time.Microsecond) },
		"actor":   func(l *statemachine.Transition[uuid.UUID]) { l.Actor += "x" },
		"role":    func(l *statemachine.Transition[uuid.UUID]) { l.Role += "x" },
		"reason":  func(l *statemachine.Transition[uuid.UUID]) { l.Reason += "x" },
		"data":    func(l *statemachine.Transition[uuid.UUID]) { l.Data += "x" },
	} {
		other := last
		change(&other)
		_, _, err := w.service.Follow(ctx, store.CursorOf(place, other), 1)
		refusedWith(t, err, store.ErrCursor, "the cursor of a line with another "+what)
	}
	for _, invented := range []store.Cursor{store.CursorOf("9"+place, last), store.CursorOf("0", last), store.CursorOf("0.0", last), store.CursorOf("x", last), end + "0", end[1:]} {
		_, _, err := w.service.Follow(ctx, invented, 1)
		refusedWith(t, err, store.ErrCursor, "an invented cursor, "+string(invented))
	}
	w.processing(t, evm, start)
	if more, to := w.followAll(t, end, 2); len(more) == 0 || to != w.head(t) {
		t.Errorf("after the old head are %d lines up to %q, the head is %q", len(more), to, w.head(t))
	}
}

func follow[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	if page, cursor, err := w.service.Follow(ctx, "", 10); err != nil || len(page) > 0 || cursor != "" {
		t.Fatalf("the feed of an empty store is %v, %q, %v", page, cursor, err)
	}
	a := w.confirming(t, evm, start)
	first, cursor := w.followAll(t, "", 2)
	if inOrder(t, first) != 2 || len(first) != int(a.Request.Version+a.Job.Version) {
		t.Fatalf("%d transitions of %d versions", len(first), a.Request.Version+a.Job.Version)
	}
	_ = w.Update(ctx, func(tx T) error { // an aborted update leaves nothing in the feed
		_, _ = w.service.Within(tx).Do(ctx, a.Request.ID, receipt(&a, start, 3))
		return errRollback
	})
	w.do(t, a.Request.ID, receipt(&a, start, 3))
	early := w.id() // an earlier time, and a later commit
	w.do(t, early, submission(early, evm, start.Add(-24*time.Hour)))
	second, _ := w.followAll(t, cursor, 10)
	if len(second) != 3 || second[2].ID != early {
		t.Fatalf("after the cursor: %v", second)
	}
	whole, _ := w.followAll(t, "", 100)
	same(t, "the feed in pages", append(slices.Clone(first), second...), whole)
}

// followWhileWriting: transactions overlap, so that the numbers that they draw
// are not the order in which they commit.
func followWhileWriting[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	const writers, each = 6, 15
	done := make(chan []error)
	go func() {
		done <- atOnce(writers, func(i int) error {
			for range each {
				request, other := w.id(), w.id()
				err := w.Update(ctx, func(tx T) error {
					s := w.service.Within(tx)
					for _, id := range []uuid.UUID{request, other} {
						if _, err := s.Do(ctx, id, submission(id, utxos, start)); err != nil {
							return err
						}
						if _, err := tx.Withdrawals().Get(id); err != nil { // write now
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
				if _, err := w.service.Do(ctx, request, withdrawal.Approved{By: by(withdrawal.Approver, start)}); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	var seen []statemachine.Transition[uuid.UUID]
	var cursor store.Cursor
	for writing := true; writing; {
		select {
		case errs := <-done:
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
			writing = false
		default:
		}
		page, next := w.followAll(t, cursor, 7)
		seen, cursor = append(seen, page...), next
	}
	if records := inOrder(t, seen); records != 2*writers*each || len(seen) != 3*writers*each {
		t.Fatalf("saw %d transitions of %d records, expected %d of %d", len(seen), records, 3*writers*each, 2*writers*each)
	}
}
