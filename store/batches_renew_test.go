package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// lostOf are the keys that a renewal says are lost.
func lostOf(t *testing.T, source store.BatchSource, items ...worker.Item[store.BatchWork]) []string {
	t.Helper()
	var lost *worker.LostError
	err := source.Renew(context.Background(), items)
	if errors.As(err, &lost) {
		return lost.Keys
	}
	if err != nil {
		t.Fatal(err)
	}
	return nil
}

// twoOfEach is what a turn of four hands out: two batches to send again, and two
// requests that are paid one by one.
func (b *bank) twoOfEach(t *testing.T) (source store.BatchSource, sends, pays []worker.Item[store.BatchWork]) {
	t.Helper()
	source = b.batches.Payments(chain, "payer", 1)
	b.owedBatches(t, source, 2)
	items, _, err := source.Turn(context.Background(), nil, 4)
	if err != nil || len(items) != 4 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return source, items[:2], items[2:]
}

func (b *bank) batch(t *testing.T, item worker.Item[store.BatchWork]) withdrawal.Batch {
	t.Helper()
	p, err := b.batches.Get(context.Background(), item.Work.Payout.Batch.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p.Batch
}

func withoutNonces(p *withdrawal.Policy) { p.Chain.Nonces = false }

// Leases of batches and of members are renewed in one call; each that is lost is named,
// and no other.
func TestRenewalOfBatchesAndOfMembers(t *testing.T) {
	b := newBank(t, withoutNonces)
	source, sends, pays := b.twoOfEach(t)
	lease := b.Policy().Lease
	b.now = b.now.Add(lease / 2)
	if lost := lostOf(t, source, sends[0], pays[0], pays[1]); lost != nil {
		t.Errorf("%v are lost", lost)
	}
	if until := b.batch(t, sends[0]).Lease.Until; !until.Equal(b.now.Add(lease)) {
		t.Errorf("the lease of the batch ends at %v", until)
	}
	for _, item := range pays {
		w, err := b.Get(context.Background(), item.Work.Members[0].Request.ID)
		if err != nil || !w.Job.Lease.Until.Equal(b.now.Add(lease)) {
			t.Errorf("the lease of a member ends at %v, %v", w.Job.Lease.Until, err)
		}
	}
	b.do(t, pays[1].Work.Members[0].Request.ID, withdrawal.Held{By: as(withdrawal.Operator)})
	b.now = b.now.Add(lease / 2) // the end of the lease of the other batch
	if _, _, err := b.batches.Payments(chain, "another", 1).Turn(context.Background(), nil, 4); err != nil {
		t.Fatal(err)
	}
	all := []worker.Item[store.BatchWork]{sends[0], sends[1], pays[0], pays[1]}
	if lost := lostOf(t, source, all...); !slices.Equal(lost, []string{sends[1].Key, pays[1].Key}) {
		t.Errorf("%v are lost, expected %v", lost, []string{sends[1].Key, pays[1].Key})
	}
	if lost := lostOf(t, source, pays[1], pays[0]); !slices.Equal(lost, []string{pays[1].Key}) {
		t.Errorf("%v are lost", lost)
	}
}

// What is signed under the item's own lease is the item's, whichever item it is.
func TestRenewalOfWhatIsSigned(t *testing.T) {
	b := newBank(t, withoutNonces)
	source, _, pays := b.twoOfEach(t)
	e := signedTogether(pays[1].Work.Members, 0)
	e.HasNonce, e.HasChainNonce, e.Input = false, false, "coin"
	if _, err := b.batches.Do(context.Background(), e.Batch, e); err != nil {
		t.Fatal(err)
	}
	if lost := lostOf(t, source, pays...); lost != nil {
		t.Errorf("%v are lost", lost)
	}
}

// What was signed under a later lease than the item's is not the item's.
func TestRenewalOfWhatAnotherHasSigned(t *testing.T) {
	b := newBank(t, withoutNonces)
	w := b.pending(t)
	source := b.batches.Payments(chain, "payer", 1)
	old := claimBatch(t, source)
	b.now = b.now.Add(b.Policy().Lease)
	b.now = b.do(t, w.Request.ID, withdrawal.Elapsed{By: as(withdrawal.System)}).Job.ScheduledAt
	item := claimBatch(t, b.batches.Payments(chain, "another", 1))
	e := signedTogether(item.Work.Members, 0)
	e.By.Actor, e.HasNonce, e.HasChainNonce, e.Input = "another", false, false, "coin"
	if _, err := b.batches.Do(context.Background(), e.Batch, e); err != nil {
		t.Fatal(err)
	}
	if lost := lostOf(t, source, old); !slices.Equal(lost, []string{old.Key}) {
		t.Errorf("%v are lost", lost)
	}
}

// A renewal that runs twice counts what the second run found.
func TestRenewalThatRunsTwice(t *testing.T) {
	b := newBank(t, withoutNonces)
	_, sends, _ := b.twoOfEach(t)
	service, err := store.NewBatches[store.Unit](&twice{Store: b.store}, b.Policy())
	if err != nil {
		t.Fatal(err)
	}
	if lost := lostOf(t, service.Payments(chain, "payer", 1), sends...); lost != nil {
		t.Errorf("%v are lost", lost)
	}
}

// twice is a store whose updates run twice, where the first run finds no batch leased.
type twice struct{ store.Store[store.Unit] }

func (s *twice) Update(ctx context.Context, fn func(store.Unit) error) error {
	err := s.Store.Update(ctx, func(tx store.Unit) error { return errors.Join(fn(noneLeased{tx}), errDown) })
	if !errors.Is(err, errDown) {
		return err
	}
	return s.Store.Update(ctx, fn)
}

type noneLeased struct{ store.Unit }

func (u noneLeased) Batches() store.BatchRecords { return noneRenewed{u.Unit.Batches()} }

type noneRenewed struct{ store.BatchRecords }

func (noneRenewed) Renew(_ time.Time, leases ...store.Lease[uuid.UUID]) (lost []uuid.UUID, err error) {
	for _, l := range leases {
		lost = append(lost, l.ID)
	}
	return lost, nil
}

// What was not begun, or panicked, is given back: members as those of single payments,
// a batch until a look-up misses it again.
func TestBatchWorkIsGivenBack(t *testing.T) {
	b := newBank(t, withoutNonces)
	source, sends, pays := b.twoOfEach(t)
	for _, end := range []struct {
		of     func(store.BatchWork) store.BatchResult
		member func(withdrawal.Withdrawal) store.HeldWithdrawal
	}{
		{source.Release, b.Payments(chain, "payer").Release},
		{func(w store.BatchWork) store.BatchResult { return source.Panicked(w, "boom") },
			func(w withdrawal.Withdrawal) store.HeldWithdrawal {
				return b.Payments(chain, "payer").Panicked(w, "boom")
			}},
	} {
		r := end.of(pays[0].Work)
		want := end.member(pays[0].Work.Members[0])
		if len(r.Members) != 1 || len(r.Events) != 0 || r.Batch != uuid.Nil || len(r.Members[0].Events) != len(want.Events) ||
			r.Members[0].Withdrawal.Request.ID != want.Withdrawal.Request.ID {
			t.Errorf("of members: %+v, expected %+v", r, want)
		}
		batch := sends[0].Work.Payout.Batch
		if r = end.of(sends[0].Work); len(r.Members) != 0 || r.Batch != batch.ID || len(r.Events) != 1 {
			t.Fatalf("of a batch: %+v", r)
		}
		if sent, ok := r.Events[0].(withdrawal.BatchSent); !ok || sent.Fence != batch.Lease.Fence || sent.Hash != batch.TxHash ||
			sent.Done || sent.Actor != "payer" {
			t.Errorf("of a batch: %+v", r.Events[0])
		}
	}
	done := []store.BatchResult{source.Release(sends[0].Work), source.Release(pays[0].Work)}
	if items, _, err := source.Turn(context.Background(), done, 0); err != nil || len(items) > 0 {
		t.Errorf("%d items, %v", len(items), err)
	}
	if l := b.batch(t, sends[0]).Lease; l.Holder != "" {
		t.Errorf("the batch is leased to %s", l.Holder)
	}
}

// A look-up of a batch is put off while it is confirming, and lost when it is over; its
// turns store what they are given before they claim.
func TestLookupsOfBatches(t *testing.T) {
	ctx := context.Background()
	b := newBank(t, withoutNonces)
	b.owedBatches(t, b.batches.Payments(chain, "payer", 1), 2)
	b.now = b.now.Add(b.Policy().CheckEvery) // what is owed a broadcast is looked up later
	source := b.batches.Lookups(chain, "checker")
	items, _, err := source.Turn(ctx, nil, 2)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	b.now = b.now.Add(b.Policy().CheckEvery / 2)
	if lost := lostOf(t, source, items...); lost != nil {
		t.Errorf("%v are lost", lost)
	}
	if at := b.batch(t, items[0]).NextCheckAt; !at.Equal(b.now.Add(b.Policy().CheckEvery)) {
		t.Errorf("the next check is at %v", at)
	}
	mined := withdrawal.BatchMined{By: as(withdrawal.ConfirmationWorker), Tx: items[1].Work.Payout.Batch.TxHash, Reverted: true,
		Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 99}}
	none, _, err := source.Turn(ctx, []store.BatchResult{{Batch: items[1].Work.Payout.Batch.ID, Events: []withdrawal.BatchEvent{mined}}}, 0)
	if err != nil || len(none) > 0 {
		t.Errorf("%d items, %v", len(none), err)
	}
	if lost := lostOf(t, source, items...); !slices.Equal(lost, []string{items[1].Key}) {
		t.Errorf("%v are lost", lost)
	}
	b.now = b.now.Add(3 * b.Policy().CheckEvery)
	unknown := []store.BatchResult{{Batch: uuid.New(), Events: []withdrawal.BatchEvent{mined}}}
	if items, _, err := source.Turn(ctx, unknown, 2); !errors.Is(err, statemachine.ErrNotFound) || len(items) > 0 {
		t.Errorf("%d items, %v", len(items), err)
	}
	if _, _, err := b.batches.Lookups(chain, "").Turn(ctx, nil, 0); err == nil {
		t.Error("nobody looks up")
	}
	if items, _, err := source.Turn(ctx, nil, 2); err != nil || len(items) != 1 {
		t.Errorf("%d items, %v", len(items), err)
	}
}
