package withdrawaltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// records are withdrawals and batches without a store; batch is how a batch takes
// an event.
type records struct {
	policy   withdrawal.Policy
	requests map[uuid.UUID]withdrawal.Withdrawal
	batches  map[uuid.UUID]withdrawal.Payout // without members
	members  map[uuid.UUID][]uuid.UUID
	wallet   withdrawal.HotWallet
	batch    func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error)
}

func newRecords() *records {
	return &records{policy: withdrawaltest.BatchPolicy(), requests: map[uuid.UUID]withdrawal.Withdrawal{}, batches: map[uuid.UUID]withdrawal.Payout{}, members: map[uuid.UUID][]uuid.UUID{},
		batch: func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
			return r.policy.ApplyBatch(b, ev, time.Time{})
		}}
}

func (r *records) PutHotWallet(_ context.Context, _ withdrawal.By, w ...withdrawal.HotWallet) error {
	r.wallet = w[0]
	return nil
}

// Say keeps nothing: what has no store has no unknown outbound.
func (r *records) Say(context.Context, withdrawal.Event) error { return nil }

func (r *records) Get(_ context.Context, id uuid.UUID) (withdrawal.Withdrawal, error) {
	w := r.requests[id]
	w.Wallet = r.wallet
	return w, nil
}

func (r *records) Do(ctx context.Context, id uuid.UUID, events ...withdrawal.Event) (withdrawal.Withdrawal, error) {
	for _, ev := range events {
		w, _ := r.Get(ctx, id)
		if c, ok := ev.(withdrawal.Claimed); ok && !c.Behind {
			for _, other := range r.requests {
				if other.Job.Slot.Valid {
					return w, withdrawal.ErrSlotTaken
				}
			}
		}
		c, err := r.policy.Apply(w, ev)
		if err != nil {
			return w, err
		}
		r.keep(c.New)
	}
	return r.Get(ctx, id)
}

func (r *records) keep(w withdrawal.Withdrawal) {
	r.requests[w.Request.ID] = w
	r.wallet.NextNonce = max(r.wallet.NextNonce, w.Wallet.NextNonce)
}

// payouts are the batches among the records.
type payouts struct{ *records }

func (r payouts) Get(ctx context.Context, id uuid.UUID) (withdrawal.Payout, error) {
	b := r.batches[id]
	b.Members = nil
	for _, m := range r.members[id] {
		w, _ := r.records.Get(ctx, m)
		b.Members = append(b.Members, w)
	}
	return b, nil
}

func (r payouts) Do(ctx context.Context, id uuid.UUID, events ...withdrawal.BatchEvent) (withdrawal.Payout, error) {
	for _, ev := range events {
		b, _ := r.Get(ctx, id)
		if e, ok := ev.(withdrawal.BatchPrepared); ok && b.Batch.Status == 0 {
			for _, p := range e.Pays {
				w, _ := r.records.Get(ctx, p.Request)
				b.Members = append(b.Members, w)
			}
		}
		c, err := r.batch(r.records, b, ev)
		if err != nil {
			return b, err
		}
		r.members[id] = nil
		for _, m := range c.New.Members {
			r.members[id] = append(r.members[id], m.Request.ID)
		}
		for _, m := range c.Members {
			r.keep(m.New)
		}
		r.batches[id] = c.New
	}
	return r.Get(ctx, id)
}

func TestBatchesAgainstTheAdversary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRecords()
		withdrawaltest.RunBatches(rt, 60, r, payouts{r}, new(time.Time))
	})
}

// The same runs each time come everywhere: each edge of a batch, and each end of a
// member.
func TestTheAdversaryOfBatchesComesEverywhere(t *testing.T) {
	reached := map[string]int{}
	fixedtest.Run(t, 40, func(rt *rapid.T) {
		r := newRecords()
		r.batch = func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
			c, err := r.policy.ApplyBatch(b, ev, time.Time{})
			for _, line := range c.Log {
				reached[line.Trigger]++
			}
			for i := range c.Members {
				if line := c.Members[i].Log; len(line) > 0 {
					reached["a member: "+line[0].Trigger]++
				}
			}
			return c, err
		}
		withdrawaltest.RunBatches(rt, 60, r, payouts{r}, new(time.Time))
	})
	for _, b := range withdrawal.BatchTrigger(0).Values() {
		if reached[b.String()] == 0 {
			t.Errorf("no run reached %q", b)
		}
	}
	for _, j := range []string{"batched", "rebump", "confirm", "review", "reverted", "proven dead", "paid by another"} {
		if reached["a member: "+j] == 0 {
			t.Errorf("no member came to %q", j)
		}
	}
	t.Log(reached)
}

// Libraries and hosts that are wrong, each of which some run finds.
func TestTheAdversaryOfBatchesFindsFaults(t *testing.T) {
	// tells is a host that changes what the chain shows.
	tells := func(change func(b *withdrawal.Payout, e *withdrawal.BatchMined)) func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
		return func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
			if e, ok := ev.(withdrawal.BatchMined); ok {
				change(&b, &e)
				ev = e
			}
			return r.policy.ApplyBatch(b, ev, time.Time{})
		}
	}
	for name, batch := range map[string]func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error){
		"a dropped member is pending at once": func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
			c, err := r.policy.ApplyBatch(b, ev, time.Time{})
			e, ok := ev.(withdrawal.BatchReplaced)
			for i := range c.New.Members {
				m := c.New.Members[i]
				if _, pays := c.New.Pays(e.Hash, &m); ok && err == nil && !pays && c.New.Has(&m) && m.Job.RetryCount < m.Job.MaxRetries {
					j := &m.Job
					j.Status, j.TxsDead, j.Batch, j.TxHash, j.HasNonce, j.Nonce, j.Review = withdrawal.JobPending, j.TxsOnFile, uuid.Nil, "", false, 0, false
					j.NextCheckAt, j.BroadcastAt = time.Time{}, time.Time{}
					c.Members = append(c.Members, withdrawal.Change{New: m})
				}
			}
			return c, err
		},
		"what a version was to pay counts as shown": tells(func(b *withdrawal.Payout, e *withdrawal.BatchMined) {
			for i := range b.Members {
				m := &b.Members[i]
				if output, ok := b.Pays(e.Tx, m); ok && !e.Reverted {
					e.Transfers = append([]withdrawal.Transfer{{Output: output, Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw}},
						dropOutput(e.Transfers, output)...)
				}
			}
		}),
		"the first receipt is final":        tells(func(_ *withdrawal.Payout, e *withdrawal.BatchMined) { e.Head += 9 }),
		"every version is the newest":       tells(func(b *withdrawal.Payout, e *withdrawal.BatchMined) { e.Tx = b.Batch.TxHash }),
		"a reverted transaction pays":       tells(func(_ *withdrawal.Payout, e *withdrawal.BatchMined) { e.Reverted = false }),
		"nobody looks at what another pays": tells(func(_ *withdrawal.Payout, e *withdrawal.BatchMined) { e.Transfers = nil }),
		"one output pays every twin": tells(func(b *withdrawal.Payout, e *withdrawal.BatchMined) {
			for _, t := range e.Transfers {
				for k := range b.Members {
					t.Output = uint32(100*(k+1)) + t.Output%100
					e.Transfers = append(e.Transfers, t)
				}
			}
		}),
		"members are written over": func(r *records, b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
			c, err := r.policy.ApplyBatch(b, ev, time.Time{})
			if _, ok := ev.(withdrawal.BatchReplaced); ok && err == nil { // as they were at the claim
				for i := range b.Members {
					m := b.Members[i]
					m.Job.Status, m.Job.Batch, m.Job.TxsDead = withdrawal.JobPending, uuid.Nil, m.Job.TxsOnFile
					c.Members = append(c.Members, withdrawal.Change{New: m})
				}
			}
			return c, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixedtest.Finds(t, 80, func(rt *rapid.T) {
				r := newRecords()
				r.batch = batch
				withdrawaltest.RunBatches(rt, 60, r, payouts{r}, new(time.Time))
			})
		})
	}
}

func dropOutput(all []withdrawal.Transfer, output uint32) (rest []withdrawal.Transfer) {
	for _, t := range all {
		if t.Output != output {
			rest = append(rest, t)
		}
	}
	return rest
}

// A service on a plain store, whose clock is the run's; and what a run says of one that
// it cannot be played on.
func TestBatchesOfAService(t *testing.T) {
	var now time.Time
	service := func(clock func() time.Time, p withdrawal.Policy) *store.Batches {
		s, err := store.NewBatches(memory.New(memory.Options{Now: clock}), p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	run := func(rt *rapid.T, b *store.Batches) { withdrawaltest.RunBatches(rt, 40, b.Withdrawals(), b, &now) }
	its := func() time.Time { return now }
	shared := service(its, withdrawaltest.BatchPolicy())
	fixedtest.Run(t, 3, func(rt *rapid.T) { run(rt, shared) })
	fixedtest.Run(t, 3, func(rt *rapid.T) { run(rt, service(its, withdrawaltest.BatchPolicy())) })
	for name, b := range map[string]*store.Batches{
		"the same requests again": shared, "another clock": service(time.Now, withdrawaltest.BatchPolicy()), "another policy": service(its, withdrawal.DefaultPolicy()),
	} {
		if !fixedtest.Fails(0, func(rt *rapid.T) { run(rt, b) }) {
			t.Errorf("%s: a run is played", name)
		}
	}
	if !fixedtest.Fails(0, func(rt *rapid.T) { withdrawaltest.RunBatches(rt, 40, nil, nil, &now) }) {
		t.Error("none: a run is played")
	}
}
