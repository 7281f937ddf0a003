package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// Batches proves the batches of a store. What [Withdrawals] proves of its withdrawals is not
// repeated, but for what is counted, listed and put back beside batches.
func Batches[T store.BatchUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *batches { return newBatches(t, timedBatches(open(t))) }
	versioned(t, func(t *testing.T) *payoutSubject { return versionedPayouts(t, opened(t)) }, nil)
	type of = *batches
	prove(t, opened, []rule[of]{
		{"every field of a batch comes back", of.everyBatchField},
		{"a list of batches has what its filter says, both ways and page by page", of.batchLists},
		{"every version leads to its batch, in any spelling, also one that pays nobody", of.batchesByHash},
		{"a worker signs nothing with the nonce of a batch that it was dropped from", of.batchNonceAgain},
		{"a member that is refused keeps no other from being given back", of.batchGivenBack},
		{"a batch that is refused keeps no member from being given back", of.batchBesideMembers},
		{"a batch is stored with all its members or not at all", of.batchWithMembers},
		{"of many batches in one transaction all are stored or none", of.batchesTogether},
		{"one nonce, one owner job, many requests", of.batchNonce},
		{"the nonce of a batch that was used by what is on no file switches the wallet off", of.unknownOutbound},
		{"what is mined in the place of a batch pays members that own no nonce", of.batchInstead},
		{"of a chain that is stopped no batch begins, and none is handed out to be sent", of.batchStopped},
		{"of many workers each member is claimed by one, behind the slot of its wallet", of.batchClaims},
		{"a full batch is claimed, signed, replaced and paid", of.fullBatch},
		{"workers pay many requests by few transactions, each once", of.batchWorkers},
		{"a chain with reorgs pays each request once, by whatever batch", of.batchHistories},
		{"what is asked of many records, some in batches, is what the domain says of each", of.readsInBatches},
		{"a copy of any commit with batches pays each request once, by the procedure", of.putBack},
		{"a copy of any commit with batches of which nobody speaks pays each request once, by what is asked", of.unsaid},
	})
}

// batches is one store under test that has batches too.
type batches struct {
	*withdrawals
	db      store.Store[store.BatchUnit]
	batches *store.Batches
}

func newBatches(t *testing.T, s store.Store[store.BatchUnit]) *batches {
	w := &batches{newWithdrawals(t, ofRequests{s}), s, must(store.NewBatches(s, policy()))(t)}
	w.together = w
	return w
}

// ofRequests is a store with batches as one that has withdrawals alone, with the same clock.
type ofRequests struct{ of store.Store[store.BatchUnit] }

func (s ofRequests) Update(ctx context.Context, fn func(store.WithdrawalUnit) error) error {
	return s.of.Update(ctx, func(tx store.BatchUnit) error { return fn(tx) })
}

func (s ofRequests) View(ctx context.Context, fn func(store.WithdrawalUnit) error) error {
	return s.of.View(ctx, func(tx store.BatchUnit) error { return fn(tx) })
}

func (s ofRequests) setClock(at *time.Time) { s.of.(interface{ setClock(*time.Time) }).setClock(at) }

func (w *batches) readsInBatches(t *testing.T) { w.readsBeside(t, w.owed(t, start)) }

// everyBatchField takes two batches through their lives.
func (w *batches) everyBatchField(t *testing.T) {
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
	l.compareMore = func(tx store.BatchUnit, what string) error {
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
			withdrawal.BatchMissing{By: by(withdrawal.ConfirmationWorker, l.tick())},
			withdrawal.BatchClaimed{By: by(withdrawal.WithdrawalWorker, l.tick())})
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
func (w *batches) batchWithMembers(t *testing.T) {
	op := by(withdrawal.Operator, start)
	members := w.behind(t, 3)
	e := batchOf(w.id(), start, members...)
	c := must(w.policy.ApplyBatch(withdrawal.Payout{Members: members}, e, start))(t)
	held := w.do(t, members[2].Request.ID, withdrawal.Held{By: op})
	refusedWith(t, w.db.Update(ctx, func(tx store.BatchUnit) error { return tx.Batches().Save(c) }), statemachine.ErrConflict,
		"a batch with a member that was held meanwhile")
	refusedWith(t, errOf(w.batches.Do(ctx, e.Batch, e)), statemachine.ErrFenced, "a batch with a held member")
	for i, m := range append(members[:2:2], held) {
		same(t, fmt.Sprint("member ", i, " after a batch that was refused"), w.get(t, m.Request.ID), m)
	}
	refusedWith(t, errOf(w.batches.Get(ctx, e.Batch)), statemachine.ErrNotFound, "a batch that was refused")
	e.Pays = e.Pays[:2]
	b := w.batch(t, e.Batch, e)
	if again, err := w.batches.Do(ctx, e.Batch, e); err != nil || again.Batch.Version != b.Batch.Version {
		t.Fatalf("the same again: %v, version %d", err, again.Batch.Version)
	}
	// One member moves between the look-up and the save of the end.
	end := must(w.policy.ApplyBatch(b, minedBatch(&b, start, e.Hash, 0), start))(t)
	moved := w.do(t, members[1].Request.ID, withdrawal.PaidBy{By: op, Block: withdrawal.Block{Height: 9, Hash: "b9",
		Canonical: "b9", Head: 12}, Tx: "elsewhere",
		Payee: members[1].Request.ToAddress, AssetOnChain: tokenOnChain, AmountRaw: members[1].Request.AmountRaw, Reason: "seen"})
	refusedWith(t, w.db.Update(ctx, func(tx store.BatchUnit) error { return tx.Batches().Save(end) }), statemachine.ErrConflict,
		"the end of a batch with a member that moved")
	now, err := w.batches.Get(ctx, e.Batch)
	if err != nil || now.Batch.Status != withdrawal.BatchConfirming || now.Members[0].Request.Status != withdrawal.RequestQueued {
		t.Fatalf("half of an end is stored: %v, %v, %v", err, now.Batch.Status, now.Members[0].Request.Status)
	}
	same(t, "the member that moved", now.Members[1], moved)
	if due := w.due(t, store.DueWithdrawals{Kind: withdrawal.DueCheck, Chain: b.Batch.Chain,
		Now: start.Add(time.Hour), Limit: 10}); len(due) > 0 {
		t.Fatalf("%d members of a batch are looked up alone", len(due))
	}
	must(w.batches.Audit(ctx, "", 100))(t)
	same(t, "an audit behind the last one", must(w.batches.Audit(ctx, e.Batch.String(), 100))(t), "")
}

// batchNonce: all members have the nonce, and one job owns it.
func (w *batches) batchNonce(t *testing.T) {
	members := w.behind(t, 3)
	e := batchOf(w.id(), start, members...)
	e.Nonce, e.ChainNonce, e.HasChainNonce = 5, 5, true
	refusedWith(t, errOf(w.batches.Do(ctx, w.id(), e)), statemachine.ErrInvalid, "another id than the event's")
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
	taken(t, errOf(w.batches.Do(ctx, second.Batch, second)), withdrawal.ErrNonceTaken, b.Batch.Owner)
	// An output of a transaction pays one request, whoever says so.
	second.Nonce, second.ChainNonce, second.Hash = 6, 6, e.Hash
	refusedWith(t, errOf(w.batches.Do(ctx, second.Batch, second)), withdrawal.ErrPaymentTaken,
		"the transaction of another batch, by the same output")
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
func (w *batches) batchInstead(t *testing.T) {
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
		got := w.do(t, m.Request.ID, withdrawal.PaidBy{By: by(withdrawal.Operator, start), Block: twins.Block, Tx: "another",
			Output: pay.Output, Payee: pay.Payee,
			AssetOnChain: pay.AssetOnChain, AmountRaw: pay.AmountRaw, Nonce: e.Nonce, HasNonce: true, Reason: "seen"})
		if got.Request.FinalTxHash != "another" {
			t.Errorf("out of its batch: %v", got.Job.Status)
		}
	}
}

// batchLists: each filter lists what its function says of the stored batches.
func (w *batches) batchLists(t *testing.T) {
	all := w.owed(t, start)
	op := operatorAt(start)
	claimed := withdrawal.BatchClaimed{By: workerAt(all[0].Batch.Lease.Until)}
	claimed.Actor = "worker-2"
	for i, ev := range []withdrawal.BatchEvent{claimed, withdrawal.BatchSent{By: workerAt(start), Fence: 1, Hash: all[1].Batch.TxHash,
		Done: true}, minedBatch(&all[2], start, all[2].Batch.TxHash, 0)} {
		w.batch(t, all[i].Batch.ID, ev)
	}
	w.do(t, all[1].Members[0].Request.ID, withdrawal.Held{By: op, Reason: "look"})
	w.batch(t, all[3].Batch.ID, withdrawal.BatchCannotTell{By: by(withdrawal.ConfirmationWorker, start), Other: "x"})
	for i := range all {
		all[i] = must(w.batches.Get(ctx, all[i].Batch.ID))(t)
	}
	moved := moments(all, 10, func(b *withdrawal.Payout) []time.Time {
		return []time.Time{start, b.Batch.Lease.Until, b.Batch.NextCheckAt}
	})
	slices.SortFunc(all, func(a, b withdrawal.Payout) int { return withdrawal.CompareListedBatches(&a.Batch, &b.Batch) })
	for _, kind := range append([]withdrawal.ListKind{0}, withdrawal.ListKind(0).Values()...) {
		listed := 0
		for _, now := range moved {
			for _, f := range []withdrawal.Filter{{}, {Chain: all[0].Batch.Chain}, {Wallet: all[3].Batch.Wallet}, {Holder: worker1},
				{Holder: "worker-2", Chain: all[0].Batch.Chain}, {User: aUser}} {
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
		refusedWith(t, errOf(w.batches.List(ctx, q)), statemachine.ErrInvalid, name)
	}
}

func (w *batches) listedBatches(t testing.TB, stored []withdrawal.Payout, f withdrawal.Filter, now time.Time) int {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(stored), func(b withdrawal.Payout) bool { return !f.HasBatch(&b, now) })
	for _, backwards := range []bool{false, true} {
		if backwards {
			slices.Reverse(want)
		}
		inPages(t, fmt.Sprintf("batches of %+v at %v, backwards %v", f, now.Sub(start), backwards), want,
			func(after *withdrawal.Payout, _ int) ([]withdrawal.Payout, error) {
				q := store.ListBatches{Filter: f, Now: now, Backwards: backwards, Limit: 2}
				if after != nil {
					q.After = &after.Batch
				}
				return w.batches.List(ctx, q)
			})
	}
	return len(want)
}

func (w *batches) batchesByHash(t *testing.T) {
	e := batchOf(w.id(), start, w.behind(t, 2)...)
	e.Hash = "0xAbCd" + strings.ReplaceAll(e.Batch.String(), "-", "")
	b := w.batch(t, e.Batch, e)
	nobody := replacedBatch(&b, start, "", 0)
	nobody.Pays, nobody.Hash = nil, "Cancel"+e.Hash
	if b = w.batch(t, e.Batch, nobody); len(b.Txs) != 2 {
		t.Fatalf("its versions are %+v", b.Txs)
	}
	for hash, found := range map[string]bool{e.Hash: true, strings.ToLower(e.Hash[2:]): true,
		strings.ToUpper(e.Hash): statemachine.SameHash(strings.ToUpper(e.Hash), e.Hash),
		nobody.Hash:             true, strings.ToLower(nobody.Hash): false, "nobody's": false} {
		var want []uuid.UUID
		if found {
			want = []uuid.UUID{e.Batch}
		}
		if got, err := w.batches.ByHash(ctx, hash); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is of %v, %v", hash, got, err)
		}
	}
}

func (w *batches) batchNonceAgain(t *testing.T) {
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
func (w *batches) batchBesideMembers(t *testing.T) {
	live(w.Store)
	chain := w.payingChain(t)
	for range 3 {
		w.pending(t, chain, time.Time{})
	}
	source := w.batches.Payments(chain, "builder", 10)
	m := claimed(t, source, 1, 1)[0].Work.Members
	e := batchOf(w.id(), time.Time{}, m[:2]...)
	e.Actor = "builder"
	b := w.batch(t, e.Batch, e)
	late := withdrawal.BatchSent{By: e.By, Fence: b.Batch.Lease.Fence + 1, Hash: e.Hash, Done: true}
	busy := withdrawal.GivenBack{By: e.By, Fence: m[2].Job.Lease.Fence, For: time.Minute, Reason: "busy"}
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
func (w *batches) batchGivenBack(t *testing.T) {
	live(w.Store)
	for _, give := range []func(store.BatchSource, store.BatchWork) store.BatchResult{
		store.BatchSource.Release,
		func(s store.BatchSource, b store.BatchWork) store.BatchResult { return s.Panicked(b, "oops") },
	} {
		chain := w.payingChain(t)
		for range 3 {
			w.pending(t, chain, time.Time{})
		}
		source := w.batches.Payments(chain, "builder", 10)
		items := claimed(t, source, 1, 1)
		m := items[0].Work.Members
		w.do(t, m[1].Request.ID, withdrawal.Revoked{By: operatorAt(time.Time{}), Revocation: statemachine.Revocation{Holder: "builder",
			Reason: "its lease is another's"}})
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
	source := w.batches.Payments(chain, "builder", 10)
	items := claimed(t, source, 1, 1)
	e := batchOf(w.id(), time.Time{}, items[0].Work.Members...)
	e.Actor = "builder"
	w.batch(t, e.Batch, e)
	other := w.batches.Payments(chain, "other", 10)
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
	if b, err := w.batches.Get(ctx, e.Batch); err != nil || b.Batch.Lease.Holder != "" || b.Batch.Rebroadcast {
		t.Errorf("given back, it is leased to %q, to be sent again %v, %v", b.Batch.Lease.Holder, b.Batch.Rebroadcast, err)
	}
}

// batchesTogether: of two batches in one call the second is refused, and so the first is not
// stored; nor are two that pay the same request.
func (w *batches) batchesTogether(t *testing.T) {
	a, b := batchOf(w.id(), start, w.behind(t, 2)...), batchOf(w.id(), start, w.behind(t, 2)...)
	do := func(all ...withdrawal.BatchPrepared) ([]withdrawal.Payout, error) {
		var commands []store.BatchCommand
		for _, e := range all {
			commands = append(commands, store.BatchCommand{Batch: e.Batch, Events: []withdrawal.BatchEvent{e}})
		}
		return w.batches.DoAll(ctx, commands...)
	}
	none := func(rule string, is error, all ...withdrawal.BatchPrepared) {
		t.Helper()
		refusedWith(t, errOf(do(all...)), is, rule)
		for _, e := range all {
			refusedWith(t, errOf(w.batches.Get(ctx, e.Batch)), statemachine.ErrNotFound, rule)
		}
	}
	late, twice := b, b
	late.Pays = slices.Clone(b.Pays)
	late.Pays[1].Fence++
	none("a batch beside one that is refused", statemachine.ErrFenced, a, late)
	twice.Pays, twice.Nonce, twice.ChainNonce = a.Pays, a.Nonce+1, a.Nonce+1
	none("two batches that pay the same request", statemachine.ErrConflict, a, twice)
	none("two commands for one batch", statemachine.ErrInvalid, a, a)
	made := must(do(a, b))(t)
	if len(made) != 2 || made[0].Batch.ID != a.Batch || made[1].Batch.ID != b.Batch {
		t.Fatalf("made are %v", made)
	}
	for _, e := range []withdrawal.BatchPrepared{a, b} {
		noError(t, w.batches.Verify(ctx, e.Batch))
	}
}

// batchStopped: on a chain that is stopped no batch is made, and at level send none is handed out to
// be sent or replaced.
func (w *batches) batchStopped(t *testing.T) {
	chain := w.payingChain(t)
	e := batchOf(w.id(), start, w.behindOf(t, chain, 2)...)
	for _, scope := range []switches.Scope{switches.Chain(chain), switches.Everything} {
		for _, level := range []switches.Level{switches.Begin, switches.Send} {
			w.stop(t, scope, level)
			refusedWith(t, errOf(w.batches.Do(ctx, e.Batch, e)), withdrawal.ErrOnHold, "a batch")
		}
		w.start(t, scope)
	}
	b := w.batch(t, e.Batch, e)
	replaced := replacedBatch(&b, start, "v2", 0)
	w.handedOut(t, chain, func(now time.Time) (n int, err error) {
		err = w.db.Update(ctx, func(tx store.BatchUnit) error {
			due, err := tx.Batches().Due(store.DueBatches{Kind: withdrawal.DueBatchSend, Chain: chain, Now: now, Limit: 10})
			n = len(due)
			return err
		})
		return n, err
	}, func() (withdrawal.Step, time.Time, error) { return w.batches.Next(ctx, e.Batch) },
		func() error { return errOf(w.batches.Do(ctx, e.Batch, replaced)) })
}
