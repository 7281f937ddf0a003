package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

var errDown = errors.New("the database is down")

type batchItems = []worker.Item[store.BatchWork]

// downAt is a store whose call number at, of those that the work on batches makes, fails.
type downAt struct {
	store.Store[store.Unit]
	at, calls int
}

func (d *downAt) Update(ctx context.Context, fn func(store.Unit) error) error {
	return d.Store.Update(ctx, func(tx store.Unit) error { return fn(downUnit{tx, d}) })
}

func (d *downAt) call() error {
	if d.calls++; d.calls == d.at {
		return errDown
	}
	return nil
}

type downUnit struct {
	store.Unit
	of *downAt
}

func (u downUnit) Withdrawals() store.WithdrawalRecords {
	return downRecords{u.Unit.Withdrawals(), u.of}
}

func (u downUnit) Batches() store.BatchRecords { return downBatches{u.Unit.Batches(), u.of} }

func (u downUnit) Now() (time.Time, error) {
	now, err := u.Unit.Now()
	return now, errors.Join(u.of.call(), err)
}

type (
	downRecords struct {
		store.WithdrawalRecords
		of *downAt
	}
	downBatches struct {
		store.BatchRecords
		of *downAt
	}
)

func (r downRecords) Get(ids ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	all, err := r.WithdrawalRecords.Get(ids...)
	return all, errors.Join(r.of.call(), err)
}

func (r downRecords) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	all, err := r.WithdrawalRecords.Due(q)
	return all, errors.Join(r.of.call(), err)
}

func (r downRecords) NextDue(q store.DueWithdrawals) (time.Time, error) {
	at, err := r.WithdrawalRecords.NextDue(q)
	return at, errors.Join(r.of.call(), err)
}

func (r downBatches) Due(q store.DueBatches) ([]withdrawal.Payout, error) {
	all, err := r.BatchRecords.Due(q)
	return all, errors.Join(r.of.call(), err)
}

func (r downBatches) NextDue(q store.DueBatches) (time.Time, error) {
	at, err := r.BatchRecords.NextDue(q)
	return at, errors.Join(r.of.call(), err)
}

func (r downRecords) Save(changes ...withdrawal.Change) error {
	return errors.Join(r.of.call(), r.WithdrawalRecords.Save(changes...))
}

func (r downRecords) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) ([]uuid.UUID, error) {
	lost, err := r.WithdrawalRecords.Renew(now, leases...)
	return lost, errors.Join(r.of.call(), err)
}

func (r downBatches) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) ([]uuid.UUID, error) {
	lost, err := r.BatchRecords.Renew(now, leases...)
	return lost, errors.Join(r.of.call(), err)
}

// Whichever call of the database fails, the work on batches ends with that error, and
// nothing is handed out or taken for renewed.
func TestAnErrorOfTheDatabaseEndsTheWorkOnBatches(t *testing.T) {
	ctx := context.Background()
	for name, tt := range map[string]struct {
		made func(b *bank) // what there is to do
		work func(source store.BatchSource, items batchItems) (batchItems, error)
	}{
		"a turn": {func(b *bank) { b.pending(t); b.pending(t) }, func(source store.BatchSource, _ batchItems) (batchItems, error) {
			items, _, err := source.Turn(ctx, nil, 4)
			return items, err
		}},
		"a turn of one, after one that sent": {func(b *bank) {
			if _, _, err := b.Payments(chain, "other").Turn(ctx, nil, 1); err != nil { // what could be paid
				t.Fatal(err)
			}
		}, func(source store.BatchSource, _ batchItems) (batchItems, error) {
			if _, _, err := source.Turn(ctx, nil, 1); err != nil {
				return nil, err
			}
			items, _, err := source.Turn(ctx, nil, 1)
			return items, err
		}},
		"a renewal": {func(b *bank) {}, func(source store.BatchSource, items batchItems) (batchItems, error) {
			return nil, source.Renew(ctx, items)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
				b.owedBatches(t, b.batches.Payments(chain, "payer", 3), 2)
				items, _, err := b.batches.Payments(chain, "payer", 3).Turn(ctx, nil, 2)
				if err != nil || len(items) != 2 { // one is sent again, one is paid
					t.Fatalf("%d items, %v", len(items), err)
				}
				tt.made(b)
				down := &downAt{Store: b.store}
				service, err := store.NewBatches[store.Unit](down, b.Policy())
				if err != nil {
					t.Fatal(err)
				}
				source := service.Payments(chain, "payer", 3)
				if _, _, err := service.Withdrawals().Payments(chain, "payer").Turn(ctx, nil, 0); err != nil { // it notes that it is alive, which may fail
					t.Fatal(err)
				}
				down.at, down.calls = at, 0
				work, err := tt.work(source, items)
				if down.calls < at {
					if err != nil || at < 4 {
						t.Errorf("with all of %d calls: %v", down.calls, err)
					}
					return
				}
				if !errors.Is(err, errDown) || len(work) > 0 {
					t.Errorf("call %d fails: %d items, %v", at, len(work), err)
				}
			}
		})
	}
}

// A turn says when more is due, of requests too.
func TestBatchPaymentsSayWhenMoreIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		source := b.batches.Payments(chain, "payer", 3)
		next := func() time.Duration {
			t.Helper()
			items, at, err := source.Turn(context.Background(), nil, 3)
			if err != nil || len(items) > 0 {
				t.Fatalf("%d items, %v", len(items), err)
			}
			return time.Until(at)
		}
		if got := next(); got != b.Policy().Lease {
			t.Errorf("nothing is scheduled: %v", got)
		}
		b.do(t, b.pending(t).Request.ID, withdrawal.PutOff{By: as(withdrawal.System)})
		if got := next(); got != b.Policy().CheckEvery {
			t.Errorf("what is put off is due after %v", got)
		}
	})
}
