package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// batched is the life of a request in a batch.
func (f *fields) batched() {
	f.t.Helper()
	f.queued(anAsset, f.w.id(), withdrawal.Enqueued{Priority: withdrawal.High}, "alice")
	f.claim()
	c, err := f.w.policy.ApplyBatch(withdrawal.Payout{Members: []withdrawal.Withdrawal{f.a}}, batchOf(f.w.id(), f.tick(), f.a), f.now)
	if err == nil {
		err = f.Update(ctx, func(tx store.WithdrawalUnit) error { return tx.Withdrawals().SaveBatches(c) })
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.saved(f.a, &c.Members[0], "in a batch")
}

// everyBatchField takes two batches through their lives.
func (w *withdrawals) everyBatchField(t *testing.T) {
	l := newLife(t, versionedPayouts(t, w))
	l.records = func(b *withdrawal.Payout) map[string]any { return map[string]any{"Batch": b.Batch} }
	l.follow = func(_ withdrawal.Payout, c *withdrawal.BatchChange) {
		for i := range c.Txs {
			l.note("BatchTx", nil, c.Txs[i])
		}
		for i := range l.a.Members { // whose wallets have rows of their own
			l.a.Members[i].Wallet = w.get(t, l.a.Members[i].Request.ID).Wallet
		}
	}
	l.compareMore = func(tx store.WithdrawalUnit, what string) error {
		for i := range l.a.Members {
			got, err := tx.Withdrawals().Get(l.a.Members[i].Request.ID)
			if err != nil {
				return err
			}
			same(t, what+": a member", got[0], l.a.Members[i])
			inUTC(t, what, reflect.ValueOf(got[0]))
		}
		return nil
	}
	for _, members := range [][]withdrawal.Withdrawal{w.behind(t, 3), {w.processing(t, utxos, start), w.processing(t, utxos, start)}} {
		l.a = withdrawal.Payout{}
		l.now = start
		first := batchOf(w.id(), l.tick(), members...)
		if first.HasNonce {
			first.Nonce, first.ChainNonce, first.HasChainNonce = 7, 7, true
		}
		l.do(first)
		l.do(withdrawal.BatchSent{By: by(withdrawal.WithdrawalWorker, l.tick()), Fence: 1, Hash: first.Hash, Done: true},
			withdrawal.BatchMissing{By: by(withdrawal.ConfirmationWorker, l.tick())}, withdrawal.BatchClaimed{By: by(withdrawal.WithdrawalWorker, l.tick())})
		l.do(replacedBatch(&l.a, l.tick(), "v2", 1))
		l.do(minedBatch(&l.a, l.tick(), l.a.Batch.TxHash, 0))
		for i, m := range l.a.Members {
			if paid := m.Request.Status == withdrawal.RequestCompleted; paid != (i == 1) || !paid && m.Job.Status != withdrawal.JobPending {
				t.Fatalf("member %d is %v, its job %v", i, m.Request.Status, m.Job.Status)
			}
		}
	}
	l.end(strings.Fields("Batch.ID Batch.Chain Batch.Wallet Batch.Owner Batch.Nonce Batch.HasNonce Batch.Input Batch.Members Batch.CreatedAt"),
		map[string]any{"Batch": withdrawal.Batch{}}, map[string]any{"BatchTx": withdrawal.BatchTx{}})
}

// batchWithMembers: of a stale member nothing is stored, and of a refused one
// neither.
func (w *withdrawals) batchWithMembers(t *testing.T) {
	op := by(withdrawal.Operator, start)
	members := w.behind(t, 3)
	e := batchOf(w.id(), start, members...)
	c := must(w.policy.ApplyBatch(withdrawal.Payout{Members: members}, e, start))(t)
	held := w.do(t, members[2].Request.ID, withdrawal.Held{By: op})
	refusedWith(t, w.Update(ctx, func(tx store.WithdrawalUnit) error { return tx.Withdrawals().SaveBatches(c) }), statemachine.ErrConflict, "a batch with a member that was held meanwhile")
	refusedWith(t, errOf(w.service.Batch(ctx, e.Batch, e)), statemachine.ErrFenced, "a batch with a held member")
	for i, m := range append(members[:2:2], held) {
		same(t, fmt.Sprint("member ", i, " after a batch that was refused"), w.get(t, m.Request.ID), m)
	}
	refusedWith(t, errOf(w.service.GetBatch(ctx, e.Batch)), statemachine.ErrNotFound, "a batch that was refused")
	e.Pays = e.Pays[:2]
	b := w.batch(t, e.Batch, e)
	if again, err := w.service.Batch(ctx, e.Batch, e); err != nil || again.Batch.Version != b.Batch.Version {
		t.Fatalf("the same again: %v, version %d", err, again.Batch.Version)
	}
	// One member moves between the look-up and the save of the end.
	end := must(w.policy.ApplyBatch(b, minedBatch(&b, start, e.Hash, 0), start))(t)
	moved := w.do(t, members[1].Request.ID, withdrawal.PaidBy{By: op, Block: withdrawal.Block{Height: 9, Hash: "b9", Canonical: "b9", Head: 12}, Tx: "elsewhere",
		Payee: members[1].Request.ToAddress, AssetOnChain: tokenOnChain, AmountRaw: members[1].Request.AmountRaw, Reason: "seen"})
	refusedWith(t, w.Update(ctx, func(tx store.WithdrawalUnit) error { return tx.Withdrawals().SaveBatches(end) }), statemachine.ErrConflict, "the end of a batch with a member that moved")
	now, err := w.service.GetBatch(ctx, e.Batch)
	if err != nil || now.Batch.Status != withdrawal.BatchConfirming || now.Members[0].Request.Status != withdrawal.RequestQueued {
		t.Fatalf("half of an end is stored: %v, %v, %v", err, now.Batch.Status, now.Members[0].Request.Status)
	}
	same(t, "the member that moved", now.Members[1], moved)
	if due := w.due(t, store.DueWithdrawals{Kind: withdrawal.DueCheck, Chain: b.Batch.Chain, Now: start.Add(time.Hour), Limit: 10}); len(due) > 0 {
		t.Fatalf("%d members of a batch are looked up alone", len(due))
	}
	must(w.service.AuditBatches(ctx, uuid.Nil, 100))(t)
	same(t, "an audit behind the last one", must(w.service.AuditBatches(ctx, e.Batch, 100))(t), uuid.Nil)
}

// batchNonce: all members have the nonce, and one job owns it.
func (w *withdrawals) batchNonce(t *testing.T) {
	members := w.behind(t, 3)
	e := batchOf(w.id(), start, members...)
	e.Nonce, e.ChainNonce, e.HasChainNonce = 5, 5, true
	refusedWith(t, errOf(w.service.Batch(ctx, w.id(), e)), statemachine.ErrInvalid, "another id than the event's")
	b := w.batch(t, e.Batch, e)
	if b.Batch.Owner != members[0].Job.ID {
		t.Fatalf("the owner is %v", b.Batch.Owner)
	}
	same(t, "the free nonce", must(w.service.FreeNonce(ctx, b.Batch.Wallet, 5))(t), uint64(6))
	other := w.do(t, w.pending(t, b.Batch.Chain, start).Request.ID, withdrawal.Claimed{By: workerAt(start)})
	p := prepared(&other, start)
	p.Nonce, p.ChainNonce, p.HasChainNonce = 5, 5, true
	taken(t, errOf(w.service.Do(ctx, other.Request.ID, p)), withdrawal.ErrNonceTaken, b.Batch.Owner) // alone
	second := batchOf(w.id(), start, other)
	second.Nonce, second.ChainNonce, second.HasChainNonce = 5, 5, true
	taken(t, errOf(w.service.Batch(ctx, second.Batch, second)), withdrawal.ErrNonceTaken, b.Batch.Owner)
	// An output of a transaction pays one request, whoever says so.
	second.Nonce, second.ChainNonce, second.Hash = 6, 6, e.Hash
	refusedWith(t, errOf(w.service.Batch(ctx, second.Batch, second)), withdrawal.ErrPaymentTaken, "the transaction of another batch, by the same output")
	// What is mined instead pays a member by an output that is another's: an
	// operator has the member, and the others are decided.
	p.Nonce, p.ChainNonce = 6, 6
	x := w.do(t, other.Request.ID, p, withdrawal.Broadcast{By: workerAt(start), Fence: p.Fence, Hash: p.Hash})
	if b = w.batch(t, b.Batch.ID, insteadOf(&b, x.Job.TxHash)); b.Batch.Status != withdrawal.BatchFailed {
		t.Fatal(b.Batch.Status)
	}
	for i := range b.Members {
		if j := &b.Members[i].Job; !j.Review || j.Batch != uuid.Nil {
			t.Errorf("member %d, paid by the transaction of another request: %v, review %v", i, j.Status, j.Review)
		}
	}
}

// batchInstead: members that own no nonce are paid, each by an output, by a
// transaction that is no version and has the nonce of the batch.
func (w *withdrawals) batchInstead(t *testing.T) {
	e := batchOf(w.id(), start, w.behind(t, 3)...)
	b := w.batch(t, e.Batch, e, withdrawal.BatchCannotTell{By: by(withdrawal.ConfirmationWorker, start), Other: "instead"})
	op := by(withdrawal.Operator, start)
	op.Version = b.Members[2].Job.Version
	found := withdrawal.Resolved{By: op, Job: b.Members[2].Job.ID, Sent: true, Hash: "instead", Nonce: e.Nonce, HasNonce: true, Reason: "seen"}
	refusedWith(t, errOf(w.service.Do(ctx, b.Members[2].Request.ID, found)), withdrawal.ErrInBatch, "the transaction of many, whole")
	found.ByOutput, found.Output = true, 2
	w.do(t, b.Members[2].Request.ID, found)
	b = w.batch(t, e.Batch, insteadOf(&b, "instead"))
	for i := range b.Members {
		if m := &b.Members[i]; m.Request.FinalTxHash != "instead" {
			t.Errorf("member %d, of one an operator had named: %v", i, m.Job.Status)
		}
	}
	e = batchOf(w.id(), start, w.behind(t, 3)...)
	b = w.batch(t, e.Batch, e)
	twins := insteadOf(&b, "another") // which pays two of three twins
	twins.Transfers = twins.Transfers[1:]
	if b = w.batch(t, e.Batch, twins); b.Batch.Status != withdrawal.BatchFailed {
		t.Fatal(b.Batch.Status)
	}
	for i := range b.Members[1:] { // an operator knows which
		m, pay := &b.Members[i+1], &twins.Transfers[i]
		got := w.do(t, m.Request.ID, withdrawal.PaidBy{By: by(withdrawal.Operator, start), Block: twins.Block, Tx: "another", Output: pay.Output, Payee: pay.Payee,
			AssetOnChain: pay.AssetOnChain, AmountRaw: pay.AmountRaw, Nonce: e.Nonce, HasNonce: true, Reason: "seen"})
		if got.Request.FinalTxHash != "another" {
			t.Errorf("out of its batch: %v", got.Job.Status)
		}
	}
}

// batchLists: each filter lists what its function says of the stored batches.
func (w *withdrawals) batchLists(t *testing.T) {
	all := w.owed(t, start)
	op := operatorAt(start)
	claimed := withdrawal.BatchClaimed{By: workerAt(all[0].Batch.Lease.Until)}
	claimed.Actor = "worker-2"
	for i, ev := range []withdrawal.BatchEvent{claimed, withdrawal.BatchSent{By: workerAt(start), Fence: 1, Hash: all[1].Batch.TxHash, Done: true}, minedBatch(&all[2], start, all[2].Batch.TxHash, 0)} {
		w.batch(t, all[i].Batch.ID, ev)
	}
	w.do(t, all[1].Members[0].Request.ID, withdrawal.Held{By: op, Reason: "look"})
	w.batch(t, all[3].Batch.ID, withdrawal.BatchCannotTell{By: by(withdrawal.ConfirmationWorker, start), Other: "x"})
	for i := range all {
		all[i] = must(w.service.GetBatch(ctx, all[i].Batch.ID))(t)
	}
	moved := moments(all, 10, func(b *withdrawal.Payout) []time.Time {
		return []time.Time{start, b.Batch.Lease.Until, b.Batch.NextCheckAt}
	})
	slices.SortFunc(all, func(a, b withdrawal.Payout) int { return withdrawal.CompareListedBatches(&a.Batch, &b.Batch) })
	for _, kind := range append([]withdrawal.ListKind{0}, withdrawal.ListKind(0).Values()...) {
		listed := 0
		for _, now := range moved {
			for _, f := range []withdrawal.Filter{{}, {Chain: all[0].Batch.Chain}, {Wallet: all[3].Batch.Wallet}, {Holder: worker1}, {Holder: "worker-2", Chain: all[0].Batch.Chain}, {User: aUser}} {
				f.Kind = kind
				listed += w.listedBatches(t, all, f, now)
			}
		}
		if refunds := kind == withdrawal.ListToRefund || kind == withdrawal.ListPaidAndRefunded; (listed == 0) != refunds { // of requests alone
			t.Errorf("%d are listed by kind %v: the rule is not tested", listed, kind)
		}
	}
	for name, q := range map[string]store.ListBatches{"no limit": {}, "a limit too high": {Limit: store.MaxPage + 1},
		"no such kind": {Limit: 1, Filter: withdrawal.Filter{Kind: 99}}, "a NUL": {Limit: 1, Filter: withdrawal.Filter{Holder: "a\x00"}}} {
		refusedWith(t, errOf(w.service.ListBatches(ctx, q)), statemachine.ErrInvalid, name)
	}
}

func (w *withdrawals) listedBatches(t testing.TB, stored []withdrawal.Payout, f withdrawal.Filter, now time.Time) int {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(stored), func(b withdrawal.Payout) bool { return !f.HasBatch(&b, now) })
	for _, backwards := range []bool{false, true} {
		if backwards {
			slices.Reverse(want)
		}
		inPages(t, fmt.Sprintf("batches of %+v at %v, backwards %v", f, now.Sub(start), backwards), want, func(after *withdrawal.Payout, _ int) ([]withdrawal.Payout, error) {
			q := store.ListBatches{Filter: f, Now: now, Backwards: backwards, Limit: 2}
			if after != nil {
				q.After = &after.Batch
			}
			return w.service.ListBatches(ctx, q)
		})
	}
	return len(want)
}

func (w *withdrawals) batchesByHash(t *testing.T) {
	e := batchOf(w.id(), start, w.behind(t, 2)...)
	e.Hash = "0xAbCd" + strings.ReplaceAll(e.Batch.String(), "-", "")
	b := w.batch(t, e.Batch, e)
	nobody := replacedBatch(&b, start, "", 0)
	nobody.Pays, nobody.Hash = nil, "Cancel"+e.Hash
	if b = w.batch(t, e.Batch, nobody); len(b.Txs) != 2 {
		t.Fatalf("its versions are %+v", b.Txs)
	}
	for hash, found := range map[string]bool{e.Hash: true, strings.ToLower(e.Hash[2:]): true, strings.ToUpper(e.Hash): statemachine.SameHash(strings.ToUpper(e.Hash), e.Hash),
		nobody.Hash: true, strings.ToLower(nobody.Hash): false, "nobody's": false} {
		var want []uuid.UUID
		if found {
			want = []uuid.UUID{e.Batch}
		}
		if got, err := w.service.BatchesByHash(ctx, hash); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is of %v, %v", hash, got, err)
		}
	}
}

func (w *withdrawals) batchNonceAgain(t *testing.T) {
	e := batchOf(w.id(), start, w.behind(t, 2)...)
	b := w.batch(t, e.Batch, e)
	b = w.batch(t, e.Batch, replacedBatch(&b, start, "v2", 0))
	b = w.batch(t, e.Batch, minedBatch(&b, start, b.Batch.TxHash, 0))
	due := b.Members[1].Job.ScheduledAt
	again := w.do(t, b.Members[1].Request.ID, withdrawal.Claimed{By: workerAt(due)})
	p := prepared(&again, due)
	p.Nonce, p.ChainNonce, p.HasChainNonce = e.Nonce, e.Nonce, true
	taken(t, errOf(w.service.Do(ctx, again.Request.ID, p)), withdrawal.ErrNonceTaken, b.Batch.Owner)
}

// batchBesideMembers: a batch whose event is refused keeps none from being given
// back that came in the same result.
func (w *withdrawals) batchBesideMembers(t *testing.T) {
	live(w.Store)
	chain := w.payingChain(t)
	for range 3 {
		w.pending(t, chain, time.Time{})
	}
	source := w.service.BatchPayments(chain, "builder", 10)
	m := claimed(t, source, 1, 1)[0].Work.Members
	e := batchOf(w.id(), time.Time{}, m[:2]...)
	e.Actor = "builder"
	b := w.batch(t, e.Batch, e)
	late := withdrawal.BatchSent{By: e.By, Fence: b.Batch.Lease.Fence + 1, Hash: e.Hash, Done: true}
	busy := withdrawal.Snoozed{By: e.By, Fence: m[2].Job.Lease.Fence, For: time.Minute, Reason: "busy"}
	_, _, err := source.Turn(ctx, []store.BatchResult{{Batch: e.Batch, Events: []withdrawal.BatchEvent{late},
		Members: []store.HeldWithdrawal{{Withdrawal: m[2], Events: []withdrawal.Event{busy}}}}}, 0)
	if !errors.Is(err, statemachine.ErrFenced) {
		t.Errorf("the refusal is not told: %v", err)
	}
	if now := w.get(t, m[2].Request.ID); now.Job.Status != withdrawal.JobPending {
		t.Errorf("the member is %v", now.Job.Status)
	}
}

// batchGivenBack: of three members one has moved on; the others are given back, by
// Release, by a panic, and by a worker that ends. What is sent is given back too.
func (w *withdrawals) batchGivenBack(t *testing.T) {
	live(w.Store)
	for _, give := range []func(store.BatchSource, store.BatchWork) store.BatchResult{
		store.BatchSource.Release,
		func(s store.BatchSource, b store.BatchWork) store.BatchResult { return s.Panicked(b, "oops") },
	} {
		chain := w.payingChain(t)
		for range 3 {
			w.pending(t, chain, time.Time{})
		}
		source := w.service.BatchPayments(chain, "builder", 10)
		items := claimed(t, source, 1, 1)
		m := items[0].Work.Members
		w.do(t, m[1].Request.ID, withdrawal.Revoked{By: operatorAt(time.Time{}), Revocation: statemachine.Revocation{Holder: "builder", Reason: "its lease is another's"}})
		if _, _, err := source.Turn(ctx, []store.BatchResult{give(source, items[0].Work)}, 0); !errors.Is(err, statemachine.ErrFenced) {
			t.Errorf("one that is refused: %v", err)
		}
		for i := range m {
			if now := w.get(t, m[i].Request.ID); now.Job.Status != withdrawal.JobPending {
				t.Errorf("member %d is %v", i, now.Job.Status)
			}
		}
	}
	chain := w.payingChain(t)
	w.pending(t, chain, time.Time{})
	source := w.service.BatchPayments(chain, "builder", 10)
	items := claimed(t, source, 1, 1)
	e := batchOf(w.id(), time.Time{}, items[0].Work.Members...)
	e.Actor = "builder"
	w.batch(t, e.Batch, e)
	other := w.service.BatchPayments(chain, "other", 10)
	claimed(t, other, 2, 0)                                      // what its maker has
	if err := source.(worker.Revoking).Revoke(ctx); err != nil { // it begins anew
		t.Fatal(err)
	}
	items = claimed(t, other, 2, 1)
	if of := items[0].Work.Payout.Batch.ID; of != e.Batch {
		t.Fatalf("%v is claimed after %v was given back", of, e.Batch)
	}
	claimed(t, source, 2, 0) // two would send one batch
	noError(t, other.Renew(ctx, items), "who has it: ")
	if _, _, err := other.Turn(ctx, []store.BatchResult{other.Release(items[0].Work)}, 0); err != nil {
		t.Error(err)
	}
	var lost *worker.LostError
	if err := other.Renew(ctx, items); !errors.As(err, &lost) {
		t.Errorf("given back: %v", err)
	}
	if b, err := w.service.GetBatch(ctx, e.Batch); err != nil || b.Batch.Lease.Holder != "" || b.Batch.Rebroadcast {
		t.Errorf("given back, it is leased to %q, to be sent again %v, %v", b.Batch.Lease.Holder, b.Batch.Rebroadcast, err)
	}
}
