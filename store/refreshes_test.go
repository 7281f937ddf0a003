package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// A failure to enqueue goes to the caller's log and does not fail the request.
func TestEnqueueLogged(t *testing.T) {
	s, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	ev := refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API},
		Credentials: refresh.Credentials{XpubVan: "a", XpubCol: "b", MasterFingerprint: "c"}, Cause: refresh.Sync}
	if id := s.EnqueueLogged(context.Background(), ev, log); id == uuid.Nil || out.Len() > 0 {
		t.Errorf("%v %s", id, out.Bytes())
	}
	gone, hangUp := context.WithCancel(context.Background())
	hangUp()
	ev.XpubVan = "hung up"
	if id := s.EnqueueLogged(gone, ev, nil); id == uuid.Nil {
		t.Error("a client that hung up took its job with it")
	}
	ev.XpubVan = ""
	if id := s.EnqueueLogged(gone, ev, nil); id != uuid.Nil {
		t.Error(id)
	}
	if id := s.EnqueueLogged(context.Background(), ev, log); id != uuid.Nil || !strings.Contains(out.String(), "invalid input") {
		t.Errorf("%v %s", id, out.Bytes())
	}
	if _, err := s.Enqueue(context.Background(), ev); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.Policy{}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
}

// A recovery goes through all wallets page by page. A wallet whose work is not due yet is not
// idle.
func TestRecoverInPages(t *testing.T) {
	ctx := context.Background()
	s, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	by := func(role refresh.Role) refresh.By { return refresh.By{Actor: "w1", Role: role} }
	for _, xpub := range []string{"a", "b", "c"} {
		if _, err := s.Enqueue(ctx,
			refresh.Enqueued{By: by(refresh.API), Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "b", MasterFingerprint: "c"},
				Cause: refresh.InvoiceCreated, Recipient: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	turned, err := s.Turn(ctx, "w1", nil, 3)
	if err != nil || len(turned.Claimed) != 3 {
		t.Fatalf("%+v, %v", turned, err)
	}
	for _, h := range turned.Claimed {
		if _, err := s.Step(ctx, h.XpubVan, refresh.JobClaimed{By: by(refresh.Worker), Slot: h.Fence}); err != nil {
			t.Fatal(err)
		}
	}
	jobs, next, err := s.Recover(ctx, by(refresh.Orchestrator), "", 2)
	if err != nil || len(jobs) != 2 || next != "b" {
		t.Fatalf("%v, %q, %v", jobs, next, err)
	}
	if jobs, next, err = s.Recover(ctx, by(refresh.Orchestrator), next, 2); err != nil || len(jobs) != 1 || next != "" {
		t.Fatalf("%v, %q, %v", jobs, next, err)
	}
	c, err := s.Step(ctx, "a", refresh.JobClaimed{By: by(refresh.Worker), Slot: 1})
	if err != nil {
		t.Fatal(err)
	}
	held := refresh.Fences{Slot: 1, Job: c.Job, Fence: 1, Lock: c.New.Lock.Lease.Fence}
	if _, err := s.Step(ctx, "a", refresh.JobNotDone{By: by(refresh.Worker), Fences: held, Outcome: statemachine.Deferred}); err != nil {
		t.Fatal(err)
	}
	_, _, now, err := s.Owed(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	look := refresh.Looked{By: by(refresh.Worker), Slot: 1, Began: now,
		Listing: refresh.Listing{Answered: now, Transfers: []refresh.Transfer{{Recipient: "r", Status: refresh.TransferSettled}}}}
	if _, err := s.Step(ctx, "a", look); err != nil {
		t.Fatal(err)
	}
	if step, _, now, err := s.Owed(ctx, "a"); err != nil || step.Do != 0 || step.Idle || !step.Due.After(now) {
		t.Errorf("%+v, %v", step, err)
	}
}

// busyOnce is a store in which another transaction has the rows of wallets when they are asked
// for the first time.
type busyOnce struct {
	store.Store[store.Unit]
	armed bool
}

func (b *busyOnce) Update(ctx context.Context, fn func(store.RefreshUnit) error) error {
	return b.Store.Update(ctx, func(tx store.Unit) error { return fn(busyUnit{tx, b}) })
}

func (b *busyOnce) View(ctx context.Context, fn func(store.RefreshUnit) error) error {
	return b.Store.View(ctx, func(tx store.Unit) error { return fn(tx) })
}

type busyUnit struct {
	store.RefreshUnit
	of *busyOnce
}

func (u busyUnit) Refreshes() store.RefreshRecords {
	return busyRecords{u.RefreshUnit.Refreshes(), u.of}
}

type busyRecords struct {
	store.RefreshRecords
	of *busyOnce
}

func (r busyRecords) Free(xpubs ...string) ([]refresh.Work, error) {
	if !r.of.armed || len(xpubs) == 0 {
		return r.RefreshRecords.Free(xpubs...)
	}
	r.of.armed = false
	all := make([]refresh.Work, len(xpubs))
	for i := range all {
		all[i].Wallet.XpubVan = xpubs[i]
	}
	return all, nil
}

// A round hung, and another transaction is busy with the wallet, so that a turn cannot give the
// slot back. The same turn must not yield the slot to a waiting wallet, which would skip the
// pause; the next turn gives it back as hung.
func TestAHungRoundKeepsItsPause(t *testing.T) {
	ctx := context.Background()
	db := &busyOnce{Store: memory.New(memory.Options{})}
	c := refresh.DefaultPolicy()
	c.MaxWalletProcesses = 1
	s, err := store.NewRefreshes(db, c)
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(xpub string) {
		_, err := s.Enqueue(ctx, refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync,
			Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "b", MasterFingerprint: "c"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	enqueue("a")
	turned, err := s.Turn(ctx, "w1", nil, 1)
	if err != nil || len(turned.Claimed) != 1 {
		t.Fatalf("%+v, %v", turned, err)
	}
	enqueue("b")
	mine := turned.Claimed
	mine[0].End = refresh.EndHung
	db.armed = true
	if turned, err = s.Turn(ctx, "w1", mine, 1); err != nil || len(turned.Busy) != 1 || len(turned.Gone)+len(turned.Claimed) > 0 {
		t.Fatalf("%+v, %v", turned, err)
	}
	if turned, err = s.Turn(ctx, "w1", mine, 1); err != nil || len(turned.Gone) != 1 || len(turned.Claimed) != 1 {
		t.Fatalf("%+v, %v", turned, err)
	}
	if w, err := s.Get(ctx, "a"); err != nil || w.Wallet.HungRounds != 1 || w.Wallet.NotBefore.IsZero() {
		t.Errorf("%+v, %v", w.Wallet, err)
	}
}
