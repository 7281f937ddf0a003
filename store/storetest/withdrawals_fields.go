package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// fixed are the fields that no change moves after the insert. Every other one
// must be seen to move.
var fixed = strings.Fields("Request.ID Request.User Request.Asset Request.Chain Request.ToAddress Request.Memo Request.Amount Request.AmountRaw " +
	"Request.Decimals Request.RequestedBy Request.ApprovalsNeeded Request.CreatedAt " +
	"Job.ID Job.Request Job.Chain Job.AssetOnChain Job.Wallet Job.ToAddress Job.AmountRaw Job.AmountHuman Job.Priority Job.MaxRetries Job.CreatedAt " +
	"Stray.Request Stray.Seq Stray.Job Stray.Claim Stray.Hash Stray.Raw Stray.Wallet Stray.Nonce Stray.HasNonce Stray.Input Stray.ByOutput Stray.Output " +
	"Stray.Fence Stray.CreatedAt Attempt.Job Attempt.Fence Attempt.Worker Attempt.StartedAt HotWallet.ID HotWallet.Chain")

// fields goes through the lives of requests.
type fields[T store.WithdrawalUnit] struct {
	*life[T, uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change]
	w         *withdrawals[T]
	wallet    withdrawal.HotWallet
	attempts  map[uuid.UUID][]withdrawal.Attempt
	incidents []withdrawal.Incident
}

func everyField[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	f := &fields[T]{life: newLife(t, w.withdrawalSubject), w: w, attempts: map[uuid.UUID][]withdrawal.Attempt{}}
	f.follow, f.compareMore = f.followChange, f.compareLists
	f.records = func(a *withdrawal.Withdrawal) map[string]any {
		all := map[string]any{"Request": a.Request}
		if a.Job.ID == f.a.Job.ID {
			all["Job"] = a.Job
		}
		return all
	}
	for _, life := range []func(){f.replaced, f.reviewed, f.requeued, f.disproved, f.stopped, f.stops, f.imports, f.batched} {
		f.a = withdrawal.Withdrawal{}
		life()
	}
	f.frozen()
	f.end(fixed, map[string]any{"Request": withdrawal.Request{}, "Job": withdrawal.Job{}, "Attempt": withdrawal.Attempt{}, "Stray": withdrawal.Stray{}, "HotWallet": withdrawal.HotWallet{}},
		map[string]any{"Tx": withdrawal.Tx{}, "Incident": withdrawal.Incident{}})
}

func (f *fields[T]) by(role withdrawal.Role) withdrawal.By { return by(role, f.tick()) }

func (f *fields[T]) worker() withdrawal.By { return f.by(withdrawal.WithdrawalWorker) }

// do lets an enqueue choose from the one wallet.
func (f *fields[T]) do(events ...withdrawal.Event) {
	f.t.Helper()
	for _, ev := range events {
		if e, ok := ev.(withdrawal.Enqueued); ok {
			e.Wallets = []withdrawal.HotWallet{f.wallet}
			ev = e
		}
		f.life.do(ev)
	}
}

// followChange keeps what is expected of attempts, incidents and the wallet.
func (f *fields[T]) followChange(old withdrawal.Withdrawal, c *withdrawal.Change) {
	if a := c.Attempt(); a != nil {
		all, before := f.attempts[a.Job], withdrawal.Attempt{}
		if n := len(all); n > 0 && all[n-1].Fence == a.Fence {
			all, before = all[:n-1], all[n-1]
		}
		f.attempts[a.Job] = append(slices.Clone(all), *a)
		f.note("Attempt", before, *a)
	}
	f.incidents = append(f.incidents, c.Incidents...)
	for _, i := range c.Incidents {
		f.note("Incident", nil, i)
	}
	for _, s := range c.Strays {
		was := withdrawal.Stray{}
		if n := int(s.Seq); n <= len(old.Strays) {
			was = old.Strays[n-1]
		}
		f.note("Stray", was, s)
	}
	before := f.wallet
	for _, s := range c.Strays {
		if s.HasNonce {
			f.wallet.NextNonce = max(f.wallet.NextNonce, s.Nonce+1)
		}
	}
	for _, r := range c.Reservations {
		if err := f.wallet.Reserve(r); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, tx := range c.Txs {
		f.note("Tx", nil, tx)
		if tx.HasNonce {
			f.wallet.NextNonce = max(f.wallet.NextNonce, tx.Nonce+1)
		}
	}
	f.note("HotWallet", before, f.wallet)
	if f.a.Job.Status != 0 {
		f.a.Wallet = f.wallet
	}
}

// compareLists reads what Get and the trails do not show.
func (f *fields[T]) compareLists(tx T, what string) error {
	f.t.Helper()
	r := tx.Withdrawals()
	id, job := f.a.Request.ID, f.a.Job.ID
	listed, err := r.Requests(f.a.Request.Status, &withdrawal.Request{CreatedAt: f.a.Request.CreatedAt}, 100)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(listed, func(r withdrawal.Request) bool { return r.ID == id })
	if i < 0 {
		f.t.Fatalf("%s: Requests of status %v leave it out", what, f.a.Request.Status)
	}
	same(f.t, what+": Requests", listed[i], f.a.Request)
	incidents, _, err := r.Incidents(0, 100)
	if err != nil {
		return err
	}
	same(f.t, what+": Incidents", incidents, f.incidents)
	inUTC(f.t, what, reflect.ValueOf(incidents))
	if job == uuid.Nil {
		return nil
	}
	attempts, err := r.Attempts(job)
	if err != nil {
		return err
	}
	same(f.t, what+": Attempts", attempts, f.attempts[job])
	inUTC(f.t, what, reflect.ValueOf(attempts))
	wallets, err := r.HotWallets(f.a.Job.Chain)
	if err != nil {
		return err
	}
	same(f.t, what+": HotWallets", wallets, []withdrawal.HotWallet{f.wallet})
	return nil
}

// put stores the only wallet of a chain.
func (f *fields[T]) put(w withdrawal.HotWallet) {
	f.t.Helper()
	if err := f.Update(ctx, func(tx T) error { return tx.Withdrawals().PutHotWallet(w) }); err != nil {
		f.t.Fatal(err)
	}
	f.wallet = w
}

// begin submits a request on a chain of its own with one wallet.
func (f *fields[T]) begin(asset, chain uuid.UUID) {
	f.t.Helper()
	if f.wallet.Chain != chain {
		f.put(withdrawal.HotWallet{ID: f.w.id(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive, BalanceReserved: "0"})
	}
	ev := submission(f.w.id(), chain, f.now)
	ev.By, ev.Asset, ev.Memo, ev.Amount = f.by(withdrawal.System), asset, "memo \u00e9", "20.5"
	f.do(ev)
}

func (f *fields[T]) approve(actors ...string) {
	f.t.Helper()
	for _, actor := range actors {
		e := withdrawal.Approved{By: f.by(withdrawal.Approver)}
		e.Actor = actor
		f.do(e)
	}
}

func (f *fields[T]) enqueue() {
	f.t.Helper()
	f.do(withdrawal.Enqueued{By: f.by(withdrawal.System), Job: f.w.id(), AssetOnChain: tokenOnChain, Priority: withdrawal.High})
}

func (f *fields[T]) claim() int64 {
	f.t.Helper()
	f.do(withdrawal.Claimed{By: f.worker()})
	return f.a.Job.Lease.Fence
}

// replaced: two approvers, a replacement that cancels, a proof of death, a
// rescue, and evidence against the end.
func (f *fields[T]) replaced() {
	f.begin(dualAsset, f.w.id())
	f.approve("alice", "bob")
	f.enqueue()
	fence := f.claim()
	f.do(withdrawal.Prepared{By: f.worker(), Fence: fence, Hash: "tx 1", Raw: []byte{0, 255}, Nonce: 7, HasNonce: true, ChainNonce: 7, HasChainNonce: true},
		withdrawal.Broadcast{By: f.worker(), Fence: fence, Hash: "tx 1"})
	f.later()
	fence = f.claim()
	if f.a.Attempt != (withdrawal.Attempt{}) {
		f.t.Fatal("a lease to send again is no execution")
	}
	f.do(withdrawal.Rebumped{By: f.worker(), Fence: fence, Hash: "tx 2", Raw: []byte{1}, Nonce: 7, HasNonce: true, Cancel: true},
		withdrawal.Rebroadcast{By: f.worker(), Fence: fence, Hash: "tx 2", Done: true},
		withdrawal.Missing{By: f.by(withdrawal.ConfirmationWorker), Tx: "tx 2"},
		withdrawal.Looking{By: f.by(withdrawal.ConfirmationWorker)},
		withdrawal.ProvenDead{By: f.by(withdrawal.ConfirmationWorker), Tx: "tx 2", Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: 7, Block: block(5)})
	f.later()
	f.do(withdrawal.AttemptFailed{By: f.worker(), Fence: f.claim(), Failure: withdrawal.Retryable, Error: strings.Repeat("x\u00e9%'", withdrawal.MaxText/5)})
	f.later()
	fence = f.claim()
	f.do(withdrawal.Prepared{By: f.worker(), Fence: fence, Hash: "tx 3", Raw: []byte{2}, Nonce: 8, HasNonce: true})
	f.later()
	f.do(withdrawal.Elapsed{By: f.by(withdrawal.System)})
	r := withdrawal.Receipt{By: f.by(withdrawal.ConfirmationWorker), Tx: "tx 3", GasUsed: "21000", GasPrice: "5000000000", Block: block(10)}
	f.do(r)
	r.By, r.Reverted = f.by(withdrawal.ConfirmationWorker), true
	f.do(r)
}

func block(height uint64) withdrawal.Block {
	hash := fmt.Sprint("block ", height)
	return withdrawal.Block{Height: height, Hash: hash, Canonical: hash, Head: height + 20}
}

// reviewed: a signer that also sends, and an operator's two answers.
func (f *fields[T]) reviewed() {
	f.begin(anAsset, utxos2)
	f.approve("alice")
	f.enqueue()
	fence := f.claim()
	f.do(withdrawal.Dispatched{By: f.worker(), Fence: fence, Reference: "ref 1"},
		withdrawal.AttemptFailed{By: f.worker(), Fence: fence, Failure: withdrawal.Unclear, Error: "no answer"})
	f.resolve(withdrawal.Resolved{Reason: "not sent"})
	f.later()
	f.do(withdrawal.Dispatched{By: f.worker(), Fence: f.claim(), Reference: "ref 2"})
	f.later()
	f.do(withdrawal.Elapsed{By: f.by(withdrawal.System)})
	f.resolve(withdrawal.Resolved{Sent: true, Hash: "found", Raw: []byte{3}, Input: "input", Reason: "seen"})
	r := receipt(&f.a, f.now, 9)
	r.By, r.Reverted = f.by(withdrawal.ConfirmationWorker), true
	f.do(r)
}

func (f *fields[T]) resolve(e withdrawal.Resolved) {
	f.t.Helper()
	e.By, e.Job = f.by(withdrawal.Operator), f.a.Job.ID
	e.Version = f.a.Job.Version
	f.do(e)
}

// requeued: a second job, with the transactions of the first.
func (f *fields[T]) requeued() {
	f.begin(anAsset, utxos2)
	f.approve("alice")
	f.enqueue()
	fence := f.claim()
	f.do(withdrawal.Snoozed{By: f.worker(), Fence: fence, For: time.Minute, Reason: "no money"})
	f.later()
	fence = f.claim()
	f.do(withdrawal.Prepared{By: f.worker(), Fence: fence, Hash: "old", Raw: []byte{4}, Input: "input"},
		withdrawal.Broadcast{By: f.worker(), Fence: fence, Hash: "old"},
		withdrawal.ProvenDead{By: f.by(withdrawal.ConfirmationWorker), Tx: "old", Cause: withdrawal.InputSpent, Other: "another", NotThisPayment: true, Input: "input", Block: block(6)})
	f.later()
	f.do(withdrawal.AttemptFailed{By: f.worker(), Fence: f.claim(), Failure: withdrawal.Permanent, Error: "never"},
		withdrawal.Requeued{By: f.by(withdrawal.Operator), Job: f.a.Job.ID, Reason: "corrected"})
	f.enqueue()
	f.claim()
}

// disproved: what was declared dead is mined after the end.
func (f *fields[T]) disproved() {
	f.begin(anAsset, utxos2)
	f.approve("alice")
	f.do(withdrawal.Enqueued{By: f.by(withdrawal.System), Job: f.w.id(), AssetOnChain: tokenOnChain, Priority: withdrawal.Low, MaxRetries: 1})
	fence := f.claim()
	f.do(withdrawal.Prepared{By: f.worker(), Fence: fence, Hash: "undead", Raw: []byte{5}, Input: "input"},
		withdrawal.Broadcast{By: f.worker(), Fence: fence, Hash: "undead"},
		withdrawal.ProvenDead{By: f.by(withdrawal.ConfirmationWorker), Tx: "undead", Cause: withdrawal.InputSpent, Other: "another", NotThisPayment: true, Input: "input", Block: block(7)},
		withdrawal.Receipt{By: f.by(withdrawal.ConfirmationWorker), Tx: "undead", GasUsed: "1", GasPrice: "1", Block: block(8)})
	if f.a.Request.Mined == "" {
		f.t.Error("the record does not know that it was mined")
	}
}

// stopped: before execution.
func (f *fields[T]) stopped() {
	f.begin(dualAsset, utxos2)
	f.approve("alice")
	f.do(withdrawal.Rejected{By: f.by(withdrawal.Approver), Reason: "no"})
	f.a = withdrawal.Withdrawal{}
	f.begin(anAsset, utxos2)
	f.approve("alice")
	f.do(withdrawal.Cancelled{By: f.by(withdrawal.Operator), Reason: strings.Repeat("r", withdrawal.MaxText)})
}

// frozen: a wallet with reservations is put again.
func (f *fields[T]) frozen() {
	before, after := f.wallet, f.wallet
	after.Role, after.Status = "cold", "frozen"
	f.put(withdrawal.HotWallet{ID: before.ID, Chain: before.Chain, Role: after.Role, Status: after.Status, LastUsedAt: f.now.Add(time.Hour), BalanceReserved: "77"})
	f.wallet, f.a.Wallet = after, after
	f.note("HotWallet", before, after)
	f.compare("after PutHotWallet")
}

// imports: with a nonce, which is on file with a job that nobody has claimed.
func (f *fields[T]) imports() {
	chain := f.w.id()
	f.put(withdrawal.HotWallet{ID: f.w.id(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive, BalanceReserved: "0"})
	by := f.by(withdrawal.System)
	f.do(withdrawal.Imported{By: by, Request: f.w.id(), User: aUser, Asset: anAsset, Chain: chain, ToAddress: "0xabc", Amount: "1", Decimals: 18,
		CreatedAt: by.At.Add(-time.Hour), Job: f.w.id(), AssetOnChain: tokenOnChain, Hash: "imported", Nonce: 0, HasNonce: true,
		Wallets: []withdrawal.HotWallet{f.wallet}})
}
