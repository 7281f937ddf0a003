package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// fixed are the fields that no change moves after the insert. Every other one
// must be seen to move.
var fixed = strings.Fields("Request.ID Request.User Request.Asset Request.Chain Request.ToAddress Request.Memo Request.Amount " +
	"Request.AmountRaw " +
	"Request.Decimals Request.RequestedBy Request.ApprovalsNeeded Request.CreatedAt " +
	"Job.ID Job.Request Job.Chain Job.AssetOnChain Job.Wallet Job.ToAddress Job.AmountRaw Job.AmountHuman Job.Priority Job.MaxRetries " +
	"Job.CreatedAt " +
	"Stray.Request Stray.Seq Stray.Job Stray.Claim Stray.Hash Stray.Raw Stray.Wallet Stray.Nonce Stray.HasNonce Stray.Input Stray.ByOutput " +
	"Stray.Output " +
	"Stray.Fence Stray.CreatedAt Attempt.Job Attempt.Fence Attempt.Worker Attempt.StartedAt HotWallet.ID HotWallet.Chain")

// fields goes through the lives of requests.
type fields struct {
	*life[store.WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change]
	w         *withdrawals
	wallet    withdrawal.HotWallet
	attempts  map[uuid.UUID][]withdrawal.Attempt
	incidents []withdrawal.Incident
}

func newFields(t *testing.T, w *withdrawals) *fields {
	f := &fields{life: newLife(t, w.withdrawalSubject), w: w, attempts: map[uuid.UUID][]withdrawal.Attempt{}}
	f.follow, f.compareMore = f.followChange, f.compareLists
	f.records = func(a *withdrawal.Withdrawal) map[string]any {
		all := map[string]any{"Request": a.Request}
		if a.Job.ID == f.a.Job.ID {
			all["Job"] = a.Job
		}
		return all
	}
	return f
}

func (w *withdrawals) everyField(t *testing.T) {
	f := newFields(t, w)
	for _, life := range []func(){f.replaced, f.reviewed, f.requeued, f.disproved, f.stopped, f.refunded, f.strays, f.imports} {
		life()
	}
	f.frozen()
	for _, path := range []string{"Job.Batch", "Tx.Batch"} { // everyBatchField compares the members of batches
		f.set[path], f.moved[path] = true, true
	}
	f.end(fixed, map[string]any{"Request": withdrawal.Request{}, "Job": withdrawal.Job{}, "Attempt": withdrawal.Attempt{},
		"Stray": withdrawal.Stray{}, "HotWallet": withdrawal.HotWallet{}},
		map[string]any{"Tx": withdrawal.Tx{}, "Incident": withdrawal.Incident{}})
}

// do saves events. What they leave out it gives them: who speaks, when, under
// which fence, of which job, and the one wallet.
func (f *fields) do(events ...withdrawal.Event) {
	f.t.Helper()
	for _, ev := range events {
		switch e := ev.(type) {
		case withdrawal.Enqueued:
			e.Job, e.AssetOnChain, e.Wallets = f.w.id(), tokenOnChain, []withdrawal.HotWallet{f.wallet}
			ev = e
		case withdrawal.Resolved:
			e.Job, e.Version = f.a.Job.ID, f.a.Job.Version
			ev = e
		case withdrawal.Requeued:
			e.Job = f.a.Job.ID
			ev = e
		}
		e := reflect.New(reflect.TypeOf(ev)).Elem()
		e.Set(reflect.ValueOf(ev))
		head := e.FieldByName("By").Addr().Interface().(*withdrawal.By)
		speaks := by(cmp.Or(head.Role, withdrawal.Speakers(ev).First()), f.tick())
		head.Actor, head.Role, head.At = cmp.Or(head.Actor, speaks.Actor), speaks.Role, speaks.At
		_, claims := ev.(withdrawal.Claimed) // takes the next fence
		if fence := e.FieldByName("Fence"); fence.IsValid() && fence.IsZero() && !claims {
			fence.SetInt(f.a.Job.Lease.Fence)
		}
		f.life.do(e.Interface().(withdrawal.Event))
	}
}

// followChange keeps what is expected of attempts, incidents and the wallet.
func (f *fields) followChange(old withdrawal.Withdrawal, c *withdrawal.Change) {
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
		f.wallet.Reserve(r)
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
func (f *fields) compareLists(tx store.WithdrawalUnit, what string) error {
	f.t.Helper()
	r, a := tx.Withdrawals(), &f.a
	listed, err1 := r.Requests(a.Request.Status, &withdrawal.Request{CreatedAt: a.Request.CreatedAt}, 100)
	incidents, _, err2 := r.Incidents(false, 0, 100)
	attempts, err3 := r.Attempts(a.Job.ID)
	wallets, err4 := tx.HotWallets().OfChain(f.wallet.Chain)
	listed = slices.DeleteFunc(listed, func(r withdrawal.Request) bool { return r.ID != a.Request.ID })
	got := map[string]any{"Requests": listed, "Incidents": incidents, "Attempts": attempts, "HotWallets": wallets}
	same(f.t, what, got, map[string]any{"Requests": []withdrawal.Request{a.Request}, "Incidents": f.incidents,
		"Attempts":   f.attempts[a.Job.ID],
		"HotWallets": []withdrawal.HotWallet{f.wallet}})
	for name, list := range got {
		inUTC(f.t, what+": "+name, reflect.ValueOf(list))
	}
	return errors.Join(err1, err2, err3, err4)
}

// put stores the only wallet of a chain.
func (f *fields) put(w withdrawal.HotWallet) {
	f.t.Helper()
	noError(f.t, f.Update(ctx, func(tx store.WithdrawalUnit) error { return tx.HotWallets().Put(w) }))
	f.wallet = w
}

// open stores the only wallet of a chain, in which payments begin.
func (f *fields) open(chain uuid.UUID) {
	f.t.Helper()
	f.put(withdrawal.HotWallet{ID: f.w.id(), Chain: chain, Role: withdrawal.WalletRoleHot,
		Status: withdrawal.WalletActive, BalanceReserved: "0"})
}

// begin submits a request on a chain of its own with one wallet.
func (f *fields) begin(asset, chain uuid.UUID) {
	f.t.Helper()
	f.a = withdrawal.Withdrawal{}
	if f.wallet.Chain != chain {
		f.open(chain)
	}
	ev := submission(f.w.id(), chain, f.now)
	ev.Asset, ev.Memo, ev.Amount = asset, "memo \u00e9", "20.5"
	f.do(ev)
}

func (f *fields) approve(actors ...string) {
	f.t.Helper()
	for _, actor := range actors {
		f.do(withdrawal.Approved{By: withdrawal.By{Actor: actor}})
	}
}

// queued begins a request that gets a job.
func (f *fields) queued(asset, chain uuid.UUID, e withdrawal.Enqueued, approvers ...string) {
	f.t.Helper()
	f.begin(asset, chain)
	f.approve(approvers...)
	f.do(e)
}

func (f *fields) claim() (fence int64) {
	f.t.Helper()
	f.do(withdrawal.Claimed{})
	return f.a.Job.Lease.Fence
}

func block(height uint64) withdrawal.Block {
	hash := fmt.Sprint("block ", height)
	return withdrawal.Block{Height: height, Hash: hash, Canonical: hash, Head: height + 20}
}

// dead proves that a transaction with an input will never be mined.
func dead(hash string) withdrawal.ProvenDead {
	return withdrawal.ProvenDead{Tx: hash, Cause: withdrawal.InputSpent, Other: "another", NotThisPayment: true,
		Input: "input", Block: block(5)}
}

// replaced: two approvers, a replacement that cancels, a proof of death, a
// rescue, and evidence against the end.
func (f *fields) replaced() {
	f.queued(dualAsset, f.w.id(), withdrawal.Enqueued{Priority: withdrawal.High}, "alice", "bob")
	f.do(withdrawal.Claimed{}, withdrawal.Prepared{Hash: "tx 1", Raw: []byte{0, 255}, Nonce: 7, HasNonce: true,
		ChainNonce: 7, HasChainNonce: true},
		withdrawal.Broadcast{Hash: "tx 1"})
	f.later()
	f.claim()
	if f.a.Attempt != (withdrawal.Attempt{}) {
		f.t.Fatal("a lease to send again is no execution")
	}
	f.do(withdrawal.Rebumped{Hash: "tx 2", Raw: []byte{1}, Nonce: 7, HasNonce: true, Cancel: true},
		withdrawal.Rebroadcast{Hash: "tx 2", Done: true},
		withdrawal.Missing{Tx: "tx 2"}, withdrawal.Looking{},
		withdrawal.ProvenDead{Tx: "tx 2", Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: 7, Block: block(5)})
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.AttemptFailed{Failure: withdrawal.Retryable,
		Error: strings.Repeat("x\u00e9%'", withdrawal.MaxText/5)})
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.Prepared{Hash: "tx 3", Raw: []byte{2}, Nonce: 8, HasNonce: true, ChainNonce: 8, HasChainNonce: true})
	f.later()
	r := withdrawal.Receipt{Tx: "tx 3", GasUsed: "21000", GasPrice: "5000000000", Block: block(10)}
	f.do(withdrawal.Elapsed{}, r)
	r.Reverted = true
	f.do(r)
}

// reviewed: a signer that also sends, and an operator's two answers.
func (f *fields) reviewed() {
	f.queued(anAsset, utxos2, withdrawal.Enqueued{Priority: withdrawal.High}, "alice")
	f.do(withdrawal.Claimed{}, withdrawal.Dispatched{Reference: "ref 1"},
		withdrawal.AttemptFailed{Failure: withdrawal.Unclear, Error: "no answer"},
		withdrawal.Resolved{Reason: "not sent"})
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.Dispatched{Reference: "ref 2"})
	f.later()
	f.do(withdrawal.Elapsed{}, withdrawal.Resolved{Sent: true, Hash: "found", Raw: []byte{3}, Input: "input", Reason: "seen"})
	r := receipt(&f.a, f.now, 9)
	r.Reverted = true
	f.do(r)
	f.queued(anAsset, utxos2, withdrawal.Enqueued{Priority: withdrawal.High}, "alice")
	f.do(withdrawal.Claimed{}, withdrawal.Dispatched{Reference: "ref 3"}, withdrawal.Broadcast{Hash: "answered", Input: "input"},
		withdrawal.Broadcast{Hash: "and again"})
}

// requeued: a second job, with the transactions of the first.
func (f *fields) requeued() {
	f.queued(anAsset, utxos2, withdrawal.Enqueued{Priority: withdrawal.High}, "alice")
	f.do(withdrawal.Claimed{}, withdrawal.GivenBack{For: time.Minute, Reason: "no money"})
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.Prepared{Hash: "old", Raw: []byte{4}, Input: "input"},
		withdrawal.Broadcast{Hash: "old"}, dead("old"))
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.AttemptFailed{Failure: withdrawal.Permanent, Error: "never"},
		withdrawal.Requeued{Reason: "corrected", NotRefunded: true},
		withdrawal.Enqueued{Priority: withdrawal.High}, withdrawal.Claimed{})
}

// disproved: what was declared dead is mined after the end.
func (f *fields) disproved() {
	f.queued(anAsset, utxos2, withdrawal.Enqueued{Priority: withdrawal.Low, MaxRetries: 1}, "alice")
	f.do(withdrawal.Claimed{}, withdrawal.Prepared{Hash: "undead", Raw: []byte{5}, Input: "input"},
		withdrawal.Broadcast{Hash: "undead"}, dead("undead"),
		withdrawal.Receipt{Tx: "undead", GasUsed: "1", GasPrice: "1", Block: block(8)})
	if f.a.Request.Mined == "" {
		f.t.Error("the record does not know that it was mined")
	}
}

// stopped: before execution.
func (f *fields) stopped() {
	f.begin(dualAsset, utxos2)
	f.approve("alice")
	f.do(withdrawal.Rejected{Reason: "no"})
	f.begin(anAsset, utxos2)
	f.approve("alice")
	f.do(withdrawal.Cancelled{Reason: strings.Repeat("r", withdrawal.MaxText)})
}

// refunded: before that a signer named what is another's; afterwards it was paid.
func (f *fields) refunded() {
	f.queued(anAsset, utxos2, withdrawal.Enqueued{Priority: withdrawal.Low, MaxRetries: 1}, "alice")
	fence := f.claim()
	f.do(withdrawal.Dispatched{Reference: "ref 1"}, withdrawal.AttemptFailed{Failure: withdrawal.Unclear, Error: "no answer"},
		withdrawal.Resolved{Reason: "not sent"})
	f.a.Owner.Valid = true // a filler
	f.do(withdrawal.Broadcast{Fence: fence, Hash: "a filler"})
	f.do(withdrawal.Acknowledged{Reason: "it is a filler"}, withdrawal.Refunded{Reference: "refund 1",
		Reason: "the signer's history has nothing"},
		withdrawal.Broadcast{Fence: fence, Hash: "sent after all"})
	f.do(withdrawal.Acknowledged{Reason: "paid back"}, withdrawal.Broadcast{Fence: fence, Hash: "sent again"})
	if r := f.a.Request; r.PaidAfter != "sent after all" || r.Taken == "" || r.Acknowledged ||
		r.Told != "sent:sent%20after%20all sent:sent%20again" {
		f.t.Errorf("%+v", r)
	}
}

// strays: put off, held and released; what was declared dead or not sent comes
// after all, and what nobody knew of pays.
func (f *fields) strays() {
	f.begin(anAsset, utxos2)
	f.approve("alice")
	f.do(withdrawal.PutOff{}, withdrawal.Held{Reason: "fraud?"}, withdrawal.Released{},
		withdrawal.Enqueued{Priority: withdrawal.Low, MaxRetries: 9},
		withdrawal.PutOff{}, withdrawal.Claimed{}, withdrawal.Held{}, withdrawal.Released{}, withdrawal.Claimed{},
		withdrawal.AttemptFailed{Failure: withdrawal.InsufficientBalance, Error: "empty"})
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.Prepared{Hash: "disproved", Raw: []byte{1}, Input: "input"},
		withdrawal.Broadcast{Hash: "disproved"}, dead("disproved"))
	f.later()
	first, unsent, lateDead := f.claim(), withdrawal.Resolved{Reason: "the signer has no such reference"}, dead("late")
	lateDead.Role = withdrawal.Operator
	f.do(withdrawal.Dispatched{Reference: "first"}, withdrawal.AttemptFailed{Failure: withdrawal.Unclear, Error: "?"}, unsent)
	f.later()
	f.do(withdrawal.Claimed{}, withdrawal.Dispatched{Reference: "second"},
		withdrawal.Broadcast{Fence: first, Hash: "late", Raw: []byte{9}, Input: "input"}, lateDead, unsent) // beside another dispatch
	f.later()
	f.do(withdrawal.Receipt{Tx: "disproved", GasUsed: "1", GasPrice: "1", Block: block(8)})
	paid := paidBy(&f.a, "by hand", f.now)
	paid.Output, paid.Nonce, paid.HasNonce, paid.Raw = 3, 5, true, []byte{3}
	found := withdrawal.Resolved{Sent: true, Hash: "disproved", Reason: "mined"}
	f.do(paid, found, withdrawal.Receipt{Tx: "disproved", GasUsed: "1", GasPrice: "1", Block: block(9)},
		withdrawal.Acknowledged{Reason: "settled"}) // beside what is live again

	f.queued(anAsset, utxos2, withdrawal.Enqueued{Priority: withdrawal.Low, MaxRetries: 9}, "alice")
	paid = paidBy(&f.a, "output", f.now)
	paid.Output, paid.Input = 4, "input"
	f.do(paid)
}

// frozen: a wallet with reservations is put again.
func (f *fields) frozen() {
	before, after := f.wallet, f.wallet
	after.Role, after.Status, after.Outbound = "cold", withdrawal.WalletUnknown, before.ID
	f.put(withdrawal.HotWallet{ID: before.ID, Chain: before.Chain, Role: after.Role, Status: after.Status,
		LastUsedAt: f.now.Add(time.Hour), BalanceReserved: "77"})
	f.wallet, f.a.Wallet = after, after
	f.note("HotWallet", before, after)
	f.compare("after PutHotWallet")
}

// imports: with a nonce, which is on file with a job that nobody has claimed.
func (f *fields) imports() {
	f.a = withdrawal.Withdrawal{}
	f.open(f.w.id())
	f.do(withdrawal.Imported{Request: f.w.id(), User: aUser, Asset: anAsset, Chain: f.wallet.Chain,
		ToAddress: "0xabc", Amount: "1", Decimals: 18,
		CreatedAt: f.now.Add(-time.Hour), Job: f.w.id(), AssetOnChain: tokenOnChain, Hash: "imported", Nonce: 0, HasNonce: true,
		Wallets: []withdrawal.HotWallet{f.wallet}})
}

func decimalOf(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// exactWithdrawals stores values at the edges of their types and reads them.
func (w *withdrawals) exactWithdrawals(t *testing.T) {
	latest := time.Date(9000, 12, 31, 23, 59, 59, 999999000, time.UTC)          // that the rules take
	huge := "1" + strings.Repeat("0", 59) + "." + strings.Repeat("0", 17) + "1" // 78 digits
	wide := strings.Repeat("\u4e16\U0001F600", withdrawal.MaxAddress/2)
	for name, ev := range map[string]withdrawal.Submitted{
		"78 digits":             {Amount: huge, Decimals: 18},
		"10^10 of 18 decimals":  {Amount: "10000000000", Decimals: 18},
		"1 unit of 24 decimals": {Amount: "0.000000000000000000000001", Decimals: 24},
		"no decimals":           {Amount: "1", Decimals: 0},
		"trailing zeros":        {Amount: "1.500", Decimals: 6},
		"unicode":               {Amount: "1", ToAddress: wide, Memo: "\u00e9\t\n'\"\\%_\u202e" + strings.Repeat("\U0001F600", 100)},
		"the latest time":       {Amount: "1", By: withdrawal.By{At: latest.Add(-24 * time.Hour)}},
		"an early time":         {Amount: "1", By: withdrawal.By{At: time.Date(1970, 1, 1, 0, 0, 0, 1000, time.UTC)}},
		"the least microsecond": {Amount: "1", By: withdrawal.By{At: start.Truncate(time.Second).Add(time.Microsecond)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFields(t, w)
			f.now = cmp.Or(ev.At, start).Add(-time.Second - tick) // the first event is at it
			f.open(w.id())
			ev.Request, ev.User, ev.Asset, ev.Chain, ev.ToAddress = w.id(), aUser, anAsset, f.wallet.Chain, cmp.Or(ev.ToAddress, "0xabc")
			hash := strings.Repeat("\u00e9", withdrawal.MaxHash/2-8) + ev.Request.String()[20:] // the end of the id
			f.do(ev, withdrawal.Approved{}, withdrawal.Enqueued{Priority: withdrawal.Low, MaxRetries: math.MaxInt32}, withdrawal.Claimed{},
				withdrawal.Prepared{Hash: hash, Raw: bytes.Repeat([]byte{0, 1, 2, 254, 255}, 64<<10/5), Nonce: withdrawal.MaxNonce, HasNonce: true,
					ChainNonce: withdrawal.MaxNonce, HasChainNonce: true}, withdrawal.Broadcast{Hash: hash},
				withdrawal.Receipt{Tx: hash, GasUsed: "0", GasPrice: withdrawal.Raw(strings.Repeat("9", withdrawal.MaxDigits)),
					Block: withdrawal.Block{Height: math.MaxInt64 - 2, Hash: "b", Canonical: "b", Head: math.MaxInt64}})
			if err := withdrawal.Check(f.a); err != nil || f.a.Job.Status != withdrawal.JobConfirmed {
				t.Fatalf("its end: %v, %v", f.a.Job.Status, err)
			}
		})
	}
}
