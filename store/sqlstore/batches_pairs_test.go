package sqlstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// decideBatch is decide for a batch, of the requests that a new one pays.
func (b *bank) decideBatch(t *testing.T, ctx context.Context, batch uuid.UUID, ev withdrawal.BatchEvent) *decided {
	t.Helper()
	d := b.begin(t, ctx)
	all, err := d.store.Batches().Get(batch)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := ev.(withdrawal.BatchPrepared); ok {
		for _, p := range e.Pays {
			ws, err := d.store.Withdrawals().Get(p.Request)
			if err != nil {
				t.Fatal(err)
			}
			all[0].Members = append(all[0].Members, ws...)
		}
	}
	change, err := b.policy.ApplyBatch(all[0], ev, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d.save = func() error { return d.store.Batches().Save(change) }
	return d
}

// Moves of batches and of their members, by two transactions on PostgreSQL that
// read before either commits, in both orders: of two that exclude each other the
// second one is refused.
func TestBatchMovesExcludeEachOtherOnPostgres(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	chain := named("no nonces")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	op, worker, checker := as(withdrawal.Operator), as(withdrawal.WithdrawalWorker), as(withdrawal.ConfirmationWorker)
	deep := withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 90}
	n := 0
	pays := func(members []withdrawal.Withdrawal) (all []withdrawal.Pay) {
		for i := range members {
			m := &members[i]
			all = append(all, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: withdrawal.Transfer{Output: uint32(i),
				Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw}})
		}
		return all
	}
	// state is two claimed requests and, if it is made, their batch; third is one more.
	type state struct {
		id      uuid.UUID
		members []withdrawal.Withdrawal
		payout  withdrawal.Payout
	}
	type move func(t *testing.T, ctx context.Context, s *state) *decided
	prepareOf := func(s *state, id uuid.UUID, members ...withdrawal.Withdrawal) withdrawal.BatchPrepared {
		n++
		return withdrawal.BatchPrepared{By: worker, Batch: id, Pays: pays(members), Hash: fmt.Sprint("version ", n), Raw: []byte{1}, Input: fmt.Sprint("input ", n)}
	}
	prepare := func(t *testing.T, ctx context.Context, s *state) *decided {
		return b.decideBatch(t, ctx, s.id, prepareOf(s, s.id, s.members...))
	}
	other := func(t *testing.T, ctx context.Context, s *state) *decided { // another batch, with one of them
		id := b.id()
		return b.decideBatch(t, ctx, id, prepareOf(s, id, s.members[1]))
	}
	replace := func(keep int) move {
		return func(t *testing.T, ctx context.Context, s *state) *decided {
			n++
			by := worker
			by.Version = s.payout.Batch.Version
			return b.decideBatch(t, ctx, s.id, withdrawal.BatchReplaced{By: by, Fence: 1, Pays: pays(s.payout.Members)[:keep], Hash: fmt.Sprint("version ", n), Raw: []byte{2}})
		}
	}
	mined := func(shown int) move {
		return func(t *testing.T, ctx context.Context, s *state) *decided {
			e := withdrawal.BatchMined{By: checker, Block: deep, Tx: s.payout.Batch.TxHash}
			for _, p := range pays(s.payout.Members)[:shown] {
				e.Transfers = append(e.Transfers, p.Transfer)
			}
			return b.decideBatch(t, ctx, s.id, e)
		}
	}
	cannotTell := func(t *testing.T, ctx context.Context, s *state) *decided {
		return b.decideBatch(t, ctx, s.id, withdrawal.BatchCannotTell{By: checker, Other: "x"})
	}
	looking := func(t *testing.T, ctx context.Context, s *state) *decided {
		return b.decideBatch(t, ctx, s.id, withdrawal.BatchSent{By: worker, Fence: 1, Hash: s.payout.Batch.TxHash, Done: true})
	}
	one := func(ev func(*withdrawal.Withdrawal) withdrawal.Event) move { // of the second member
		return func(t *testing.T, ctx context.Context, s *state) *decided {
			return b.decide(t, ctx, s.members[1].Request.ID, ev(&s.members[1]))
		}
	}
	hold := one(func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Held{By: op} })
	cancel := one(func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Cancelled{By: op} })
	alone := one(func(w *withdrawal.Withdrawal) withdrawal.Event { return prepared(w) })
	late := one(func(w *withdrawal.Withdrawal) withdrawal.Event {
		e := withdrawal.Elapsed{By: as(withdrawal.System)}
		e.At = w.Job.Lease.Until
		return e
	})
	elsewhere := one(func(w *withdrawal.Withdrawal) withdrawal.Event {
		n++
		return withdrawal.PaidBy{By: op, Tx: fmt.Sprint("elsewhere ", n), Payee: w.Request.ToAddress, AssetOnChain: named("usdt on bsc"), AmountRaw: w.Request.AmountRaw, Block: deep, Reason: "seen"}
	})
	for _, tt := range []struct {
		name string
		made bool // the batch is there
		a, b move
	}{
		{"two batches of one request", false, prepare, other},
		{"a batch and a hold", false, prepare, hold},
		{"a batch and a cancel", false, prepare, cancel},
		{"a batch and a payment alone", false, prepare, alone},
		{"a batch and the end of a lease", false, prepare, late},
		{"a batch and a payment elsewhere", false, prepare, elsewhere},
		{"two replacements", true, replace(1), replace(2)},
		{"a replacement and a report", true, replace(1), looking},
		{"a replacement and the end", true, replace(1), mined(2)},
		{"a replacement and a payment elsewhere", true, replace(2), elsewhere},
		{"the end and a payment elsewhere", true, mined(2), elsewhere},
		{"the end and a hold", true, mined(2), hold},
		{"two ends", true, mined(2), mined(1)},
		{"the end and nobody can tell", true, mined(2), cannotTell},
		{"the end and somebody who sends it", true, mined(2), looking},
		{"a replacement and nobody can tell", true, replace(2), cannotTell},
	} {
		for _, order := range []bool{true, false} {
			for _, waits := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/first first %v/waits %v", tt.name, order, waits), func(t *testing.T) {
					ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
					defer stop()
					s := &state{id: b.id(), members: []withdrawal.Withdrawal{b.claimed(t, chain), b.claimed(t, chain)}}
					if tt.made {
						var err error
						if s.payout, err = b.batches.Do(ctx, s.id, prepareOf(s, s.id, s.members...)); err != nil {
							t.Fatal(err)
						}
						for i := range s.members { // as they are now, in the order of the claims
							s.members[i] = b.do(t, s.members[i].Request.ID)
						}
					}
					first, second := tt.a(t, ctx, s), tt.b(t, ctx, s)
					if !order {
						first, second = second, first
					}
					exclude(t, first, second, waits)
				})
			}
		}
	}
}
