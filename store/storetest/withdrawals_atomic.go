package storetest

import (
	"context"
	"errors"
	"fmt"
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
	snapshot := func() string {
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
		return w.dump(t, old.Request.ID) + text(t, requests) + text(t, incidents) + text(t, feed)
	}
	before := snapshot()
	if err := update(old); err == nil {
		t.Fatal("the update reported no error")
	}
	if after := snapshot(); after != before {
		t.Fatalf("it left a trace\nbefore %s\nafter  %s", before, after)
	}
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
	request := w.id()
	err := w.Update(ctx, func(tx T) error {
		s := w.service.Within(tx)
		done, err := s.Do(ctx, request, submission(request, evm, start))
		if err != nil {
			return err
		}
		loaded, err := s.Get(ctx, request)
		if err != nil {
			return err
		}
		same(t, "a request that was saved just now", loaded.Request, done.Request)
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
	_, _, err = w.service.Follow(ctx, "no cursor of ours", 1)
	refusedWith(t, err, statemachine.ErrInvalid, "a cursor that the store has not made")
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

// halfWithdrawals: one writer moves pairs of requests together, readers compare.
func halfWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func requestPages[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	var want []uuid.UUID
	for i := range 7 { // in pairs of the same moment
		want = append(want, w.approved(t, evm, start.Add(time.Duration(i/2)*time.Microsecond)).Request.ID)
	}
	late := w.id()
	w.do(t, late, submission(late, evm, start.Add(time.Hour)))
	for _, test := range []struct {
		status withdrawal.RequestStatus
		want   []uuid.UUID
	}{{0, append(want[:7:7], late)}, {withdrawal.RequestApproved, want}, {withdrawal.RequestPending, []uuid.UUID{late}}, {withdrawal.RequestFailed, nil}} {
		var got []uuid.UUID
		var last *withdrawal.Request
		for {
			page, err := w.service.Requests(ctx, test.status, last, 2)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page {
				got = append(got, page[i].ID)
			}
			if len(page) == 0 {
				break
			}
			last = &page[len(page)-1]
			early := w.id() // behind the page: it is not seen, and moves nothing
			w.do(t, early, submission(early, evm, start.Add(-time.Hour)), withdrawal.Rejected{By: by(withdrawal.Approver, start)})
		}
		equalIDs(t, "requests with status "+test.status.String(), got, test.want)
	}
}
