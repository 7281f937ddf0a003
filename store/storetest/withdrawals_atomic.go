package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// everything writes one of each record in tx and makes delayed writes happen.
func (w *withdrawals[T]) everything(tx T, old withdrawal.Withdrawal) error {
	s := w.service.Within(tx)
	request := w.id()
	fresh, err := s.Do(ctx, request, submission(request, evm, start), withdrawal.Approved{By: by(withdrawal.Approver, start)},
		w.enqueued(start, withdrawal.High), withdrawal.Claimed{By: workerAt(start)})
	if err != nil {
		return err
	}
	p := prepared(&fresh, start)
	p.Nonce = 41
	if _, err := s.Do(ctx, request, p); err != nil {
		return err
	}
	a, err := s.Do(ctx, old.Request.ID, receipt(&old, start, 3))
	if err != nil {
		return err
	}
	late := receipt(&a, start, 9)
	late.Reverted = true
	if _, err := s.Do(ctx, old.Request.ID, late); err != nil {
		return err
	}
	if err := s.PutHotWallet(ctx, withdrawal.HotWallet{ID: w.id(), Chain: evm, Role: "hot_wallet", Status: "active", BalanceReserved: "0"}); err != nil {
		return err
	}
	_, err = tx.Withdrawals().Get(request, old.Request.ID)
	return err
}

// noTrace runs an update that must fail, and compares all that can be read.
func (w *withdrawals[T]) noTrace(t *testing.T, update func(old withdrawal.Withdrawal) error) {
	t.Helper()
	old := w.confirming(t, evm, start)
	snapshot := func() any {
		requests, err := w.service.Requests(ctx, 0, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		incidents, _, err := w.service.Incidents(ctx, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		feed, _, err := w.service.Follow(ctx, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		wallets, err := w.service.HotWallets(ctx, evm)
		if err != nil {
			t.Fatal(err)
		}
		return plain(t, map[string]any{"HotWallets": wallets, "a request": w.dump(t, old.Request.ID), "Requests": requests, "Incidents": incidents, "Follow": feed})
	}
	before := snapshot()
	if err := update(old); err == nil {
		t.Fatal("the update reported no error")
	}
	same(t, "it left a trace", snapshot(), before)
	// What was taken back is free for others: slot, nonce, hash.
	if err := w.Update(ctx, func(tx T) error { return w.everything(tx, old) }); err != nil {
		t.Fatal("afterwards: ", err)
	}
}

func failedWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	w.noTrace(t, func(old withdrawal.Withdrawal) error {
		err := w.Update(ctx, func(tx T) error {
			if err := w.everything(tx, old); err != nil {
				t.Fatal(err)
			}
			return errRollback
		})
		refusedWith(t, err, errRollback, "the update")
		return err
	})
}

func panickedWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	w.noTrace(t, func(old withdrawal.Withdrawal) (err error) {
		defer func() { err = fmt.Errorf("%v", recover()) }()
		_ = w.Update(ctx, func(tx T) error {
			if err := w.everything(tx, old); err != nil {
				t.Fatal(err)
			}
			panic("in the middle")
		})
		t.Fatal("the panic was swallowed")
		return nil
	})
}

func cancelledWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	w.noTrace(t, func(old withdrawal.Withdrawal) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return w.Update(ctx, func(tx T) error {
			if err := w.everything(tx, old); err != nil {
				t.Fatal(err)
			}
			cancel()
			return nil
		})
	})
}

func ignoredRefusal[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	w.noTrace(t, func(old withdrawal.Withdrawal) error {
		stale := old
		stale.Job.Version--
		stale.Request.Version--
		err := w.Update(ctx, func(tx T) error {
			if err := w.everything(tx, old); err != nil {
				t.Fatal(err)
			}
			_ = tx.Withdrawals().Save(w.change(t, stale, receipt(&stale, start, 3)))
			return nil
		})
		refusedWith(t, err, statemachine.ErrConflict, "the update")
		return err
	})
}

func withdrawalViews[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	w.noTrace(t, func(old withdrawal.Withdrawal) error {
		writes := map[string]func(store.WithdrawalRecords) error{
			"Save": func(r store.WithdrawalRecords) error { return r.Save(w.change(t, old, receipt(&old, start, 3))) },
			"PutHotWallet": func(r store.WithdrawalRecords) error {
				return r.PutHotWallet(withdrawal.HotWallet{ID: w.id(), Chain: evm, Role: "r", Status: "s"})
			},
			"Due": func(r store.WithdrawalRecords) error {
				_, err := r.Due(store.DueWithdrawals{Kind: withdrawal.DueClaim, Now: start, Limit: 1})
				return err
			},
			"Renew": func(r store.WithdrawalRecords) error {
				_, err := r.Renew(start, store.JobLease{Job: old.Job.ID, Fence: 1, Until: start.Add(time.Hour)})
				return err
			},
		}
		var last error
		for name, write := range writes {
			last = w.View(ctx, func(tx T) error { return write(tx.Withdrawals()) })
			refusedWith(t, last, statemachine.ErrIllegal, name+" in a View")
		}
		return last
	})
}

func ownWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	request, pending := w.id(), w.pending(t, utxos, start)
	err := w.Update(ctx, func(tx T) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		inUTC(t, "Now", reflect.ValueOf(now))
		s := w.service.Within(tx)
		if _, err := s.Do(ctx, pending.Request.ID, withdrawal.Claimed{By: workerAt(start)}); err != nil {
			return err
		}
		due, err := tx.Withdrawals().Due(store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: utxos, Now: start, Limit: 1})
		if err != nil {
			return err
		}
		equalIDs(t, "due after its claim", jobIDs(due), nil)
		done, err := s.Do(ctx, request, submission(request, evm, start))
		if err != nil {
			return err
		}
		loaded, err := s.Get(ctx, request)
		if err != nil {
			return err
		}
		same(t, "a request that was saved just now", loaded.Request, done.Request)
		sums, err := tx.Withdrawals().Usage(aUser, anAsset, []withdrawal.Window{{Length: time.Hour}}, start.Add(tick))
		if err != nil {
			return err
		}
		same(t, "the sum with a request that was saved just now", sums.Sums, []string{"3"})
		_, err = s.Do(ctx, request, withdrawal.Approved{By: by(withdrawal.Approver, start)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := w.get(t, request); a.Request.Status != withdrawal.RequestApproved || a.Request.Version != 2 {
		t.Fatalf("two saves in one update ended in %v at version %d", a.Request.Status, a.Request.Version)
	}
}

func unknownWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	known := w.approved(t, evm, start)
	err := w.View(ctx, func(tx T) error {
		ws, err := tx.Withdrawals().Get(w.id(), known.Request.ID, w.id())
		if err != nil {
			return err
		}
		same(t, "an unknown request among known ones", ws, []withdrawal.Withdrawal{{}, ws[1], {}})
		if ws[1].Request.ID != known.Request.ID {
			t.Errorf("Get returned %s in the place of %s", ws[1].Request.ID, known.Request.ID)
		}
		if trail, err := tx.Withdrawals().Transitions(w.id()); err != nil || len(trail) > 0 {
			t.Errorf("the history of an unknown record is %v, %v", trail, err)
		}
		if attempts, err := tx.Withdrawals().Attempts(w.id()); err != nil || len(attempts) > 0 {
			t.Errorf("the attempts of an unknown job are %v, %v", attempts, err)
		}
		if wallets, err := tx.Withdrawals().HotWallets(w.id()); err != nil || len(wallets) > 0 {
			t.Errorf("the wallets of an unknown chain are %v, %v", wallets, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.service.RequestOf(ctx, w.id())
	refusedWith(t, err, statemachine.ErrNotFound, "the request of an unknown job")
	_, err = w.service.Get(ctx, w.id())
	refusedWith(t, err, statemachine.ErrNotFound, "an unknown request")
	_, err = w.service.Do(ctx, w.id(), withdrawal.Approved{By: by(withdrawal.Approver, start)})
	refusedWith(t, err, statemachine.ErrNotFound, "an event for an unknown request")
	for _, cursor := range []store.Cursor{"no cursor of ours", "x", "0", "01", "-1", "999999"} {
		_, _, err = w.service.Follow(ctx, cursor, 1)
		refusedWith(t, err, statemachine.ErrInvalid, "the store has not made cursor "+string(cursor))
	}
	if _, err := w.service.RequestOf(ctx, known.Request.ID); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("a request's id is not a job's: %v", err)
	}
}

func selfCheck[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	if err := store.SelfCheckWithdrawals(ctx, w.Store); err != nil {
		t.Fatal(err)
	}
	requests, err := w.service.Requests(ctx, 0, nil, 10)
	if err != nil || len(requests) > 0 {
		t.Fatalf("it left %v, %v", requests, err)
	}
}

// halfWithdrawals: what commits between two reads of a View is seen by neither;
// then one writer moves pairs of requests together, and readers compare.
func halfWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	first, second := w.approved(t, evm, start), w.approved(t, utxos, start)
	written := make(chan error, 1)
	err := w.View(ctx, func(tx T) error {
		if _, err := tx.Withdrawals().Get(first.Request.ID); err != nil {
			return err
		}
		go func() {
			_, err := w.service.DoAll(ctx,
				store.WithdrawalCommand{Request: first.Request.ID, Events: []withdrawal.Event{withdrawal.Cancelled{By: by(withdrawal.Operator, start)}}},
				store.WithdrawalCommand{Request: second.Request.ID, Events: []withdrawal.Event{withdrawal.Cancelled{By: by(withdrawal.Operator, start)}}})
			written <- err
		}()
		select {
		case err := <-written:
			written <- err
		case <-time.After(200 * time.Millisecond): // a store may keep writers out until the View ends
		}
		for i := range 2 {
			ws, err := tx.Withdrawals().Get(first.Request.ID, second.Request.ID)
			if err != nil {
				return err
			}
			same(t, fmt.Sprintf("read %d of a View during a commit", i+2), ws, []withdrawal.Withdrawal{first, second})
		}
		return nil
	})
	if err := errors.Join(err, <-written); err != nil {
		t.Fatal(err)
	}
	const pairs = 20
	var ids []uuid.UUID
	for range pairs {
		ids = append(ids, w.approved(t, evm, start).Request.ID, w.approved(t, utxos, start).Request.ID)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := w.View(ctx, func(tx T) error {
					ws, err := tx.Withdrawals().Get(ids...)
					if err != nil {
						return err
					}
					for i := range ws {
						if err := withdrawal.Check(ws[i]); err != nil {
							return err
						}
						if other := ws[i^1]; ws[i].Request.Status != other.Request.Status || ws[i].Job.Status != other.Job.Status {
							return fmt.Errorf("%v and %v were committed together", ws[i].Request.Status, other.Request.Status)
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := 0; i < len(ids); i += 2 {
		_, err := w.service.DoAll(ctx,
			store.WithdrawalCommand{Request: ids[i], Events: []withdrawal.Event{w.enqueued(start, withdrawal.Normal)}},
			store.WithdrawalCommand{Request: ids[i+1], Events: []withdrawal.Event{w.enqueued(start, withdrawal.Normal)}})
		if err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}

// requestPages: pages of three of pairs of the same moment, with ids that do not
// grow with time.
func requestPages[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	submit := func(at time.Time, events ...withdrawal.Event) withdrawal.Request {
		id := w.scattered()
		return w.do(t, id, append([]withdrawal.Event{submission(id, evm, at)}, events...)...).Request
	}
	var approved []withdrawal.Request
	for i := range 10 {
		approved = append(approved, submit(start.Add(time.Duration(i/2)*tick), withdrawal.Approved{By: by(withdrawal.Approver, start)}))
	}
	late := submit(start.Add(time.Hour))
	slices.SortFunc(approved, func(a, b withdrawal.Request) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, test := range []struct {
		status withdrawal.RequestStatus
		want   []withdrawal.Request
	}{{0, append(slices.Clone(approved), late)}, {withdrawal.RequestApproved, approved}, {withdrawal.RequestPending, []withdrawal.Request{late}},
		{withdrawal.RequestFailed, nil}} {
		var got []withdrawal.Request
		var last *withdrawal.Request
		for {
			page, err := w.service.Requests(ctx, test.status, last, 3)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, page...); len(page) == 0 {
				break
			}
			last = &page[len(page)-1]
			// Behind the page: it is not seen, and moves nothing.
			submit(start.Add(-time.Hour), withdrawal.Rejected{By: by(withdrawal.Approver, start)})
		}
		same(t, "requests with status "+test.status.String(), got, test.want)
	}
}

// scattered returns a new id in no order.
func (w *withdrawals[T]) scattered() uuid.UUID { id := w.id(); return uuid.NewSHA1(id, nil) }
