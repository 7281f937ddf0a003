package withdrawaltest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/withdrawal"
)

// BatchHost is what takes the events of batches in [RunBatches]: *store.Batches does.
type BatchHost interface {
	Do(ctx context.Context, batch uuid.UUID, events ...withdrawal.BatchEvent) (withdrawal.Payout, error)
	Get(ctx context.Context, batch uuid.UUID) (withdrawal.Payout, error)
}

// BatchRequests is what takes the events of their requests: *store.Withdrawals does.
type BatchRequests interface {
	PutHotWallet(ctx context.Context, by withdrawal.By, wallets ...withdrawal.HotWallet) error
	Say(ctx context.Context, ev withdrawal.Event) error
	Do(ctx context.Context, request uuid.UUID, events ...withdrawal.Event) (withdrawal.Withdrawal, error)
	Get(ctx context.Context, request uuid.UUID) (withdrawal.Withdrawal, error)
}

// BatchPolicy is the policy that a [BatchHost] has: nonces, and a depth of 3.
func BatchPolicy() withdrawal.Policy {
	p := withdrawal.DefaultPolicy()
	p.MaxRetries, p.Chain.Confirmations = 4, batchDepth
	return p
}

const batchDepth = 3

// batchWorld is a chain with one account, on which batches pay some requests, several of which have the same payee and
// amount. It counts by itself what the chain pays, and reads a record only for what the record claims.
type batchWorld struct {
	*rapid.T
	host     BatchRequests
	payouts  BatchHost
	clock    *time.Time
	off      time.Duration // by how much somebody has set it ahead
	chain    uuid.UUID
	wallet   withdrawal.HotWallet
	requests []uuid.UUID
	batches  []uuid.UUID
	stale    []withdrawal.Payout // as somebody read them
	groups   [][]withdrawal.Withdrawal
	txs      []*batchTx
	blocks   []*batchTx // nil: an empty one
	deepest  int        // so many blocks are there for ever
	again    []func()
	hashes   int
}

// batchTx is a transaction that was stored before it was sent, or of somebody else.
type batchTx struct {
	hash     string
	nonce    int
	outs     []withdrawal.Transfer // that are made
	pays     map[int]uint32        // request to output, of those that are made
	intends  []int                 // requests
	batch    uuid.UUID
	foreign  bool
	reverted bool
	sent     bool
}

// RunBatches plays a run of a host with [BatchPolicy], such as store.NewBatches and its Withdrawals give: n random
// steps of workers, an operator, a confirmation worker and a chain with reorgs below its depth, all of whom tell the
// truth and some of whom are late; then it lets all of it end. After each step it fails t if a request is paid twice,
// or is paid and may be paid again, or is completed and not paid; at the end, if a request has not ended.
//
// The run sets and moves clock, and the store of the host takes its time from there, as with memory.Options{Now: func()
// time.Time { return clock }}. Runs may share a store if they have no request in common. If they do, or if the host has
// another clock or policy, RunBatches says so and fails.
func RunBatches(t *rapid.T, n int, host BatchRequests, payouts BatchHost, clock *time.Time) {
	w := &batchWorld{T: t, host: host, payouts: payouts, clock: clock, chain: UUIDs().Draw(t, "chain")}
	if *clock = Start; host == nil || payouts == nil {
		t.Fatal("RunBatches: a host is needed, of requests and of batches")
	}
	for _, of := range []any{host, payouts} {
		if h, ok := of.(interface{ Policy() withdrawal.Policy }); ok && !reflect.DeepEqual(h.Policy(), BatchPolicy()) {
			t.Fatal("RunBatches: the host has another policy than BatchPolicy")
		}
	}
	wallet := withdrawal.HotWallet{ID: UUIDs().Draw(t, "wallet"), Chain: w.chain, Role: withdrawal.WalletRoleHot,
		Status: withdrawal.WalletActive}
	w.wallet = wallet
	w.switchOn()
	for i := range 5 {
		id := UUIDs().Draw(t, "request")
		w.requests = append(w.requests, id)
		if r, err := host.Get(context.Background(), id); err == nil && r.Request.Status != 0 {
			t.Fatalf("RunBatches: request %s is there already: give this run a store of its own", id)
		}
		w.do(i, withdrawal.Submitted{By: w.by(withdrawal.System), Request: id, User: id, Asset: w.chain, Chain: w.chain,
			ToAddress: fmt.Sprint("payee", i/2), Amount: "7"},
			withdrawal.Approved{By: w.by(withdrawal.Approver)},
			withdrawal.Enqueued{By: w.by(withdrawal.System), Job: UUIDs().Draw(t, "job"), AssetOnChain: w.chain, Priority: withdrawal.Normal,
				Wallets: []withdrawal.HotWallet{wallet}})
	}
	if at := w.get(0).Request.CreatedAt; !at.Equal(*clock) {
		t.Fatalf("RunBatches: the host made a request at %v, and its clock should say %v: give its store the clock of the run", at, *clock)
	}
	steps := []func(){w.claim, w.claim, w.sign, w.sign, w.sign, w.replace, w.replace, w.send, w.send, w.mine, w.mine, w.mine,
		w.reorg, w.look, w.look, w.lookAlone,
		w.operate, w.stop, w.pass, w.repeat, w.set}
	for range n {
		rapid.SampledFrom(steps).Draw(t, "step")()
		w.check()
	}
	*clock = clock.Add(-w.off)
	for range 60 { // let it end
		if w.open() < 0 {
			return
		}
		w.groups = nil
		for i := range w.requests {
			w.do(i, withdrawal.Released{By: w.by(withdrawal.Operator)})
		}
		for _, step := range []func(){w.pass, w.claim, w.sign, w.sign, w.sendAll, w.dig, w.look, w.lookAlone, w.operate} {
			step()
			w.check()
		}
	}
	if i := w.open(); i >= 0 {
		r := w.get(i)
		t.Fatalf("request %d does not end: %v, its job %v, review %v, %s", i, r.Request.Status, r.Job.Status, r.Job.Review, r.Job.ErrorMessage)
	}
}

// open returns a request that has not ended, or -1.
func (w *batchWorld) open() int {
	return slices.IndexFunc(w.requests, func(id uuid.UUID) bool {
		r := w.get(slices.Index(w.requests, id))
		return !w.ended(&r)
	})
}

func (w *batchWorld) ended(r *withdrawal.Withdrawal) bool {
	s := r.Request.Status
	return s == withdrawal.RequestCompleted || s == withdrawal.RequestFailed || s == withdrawal.RequestCancelled
}

func (w *batchWorld) by(role withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: role.String(), Role: role, At: *w.clock}
}

func (w *batchWorld) chance(one int, what string) bool {
	return rapid.IntRange(1, one).Draw(w.T, what) == 1
}

func (w *batchWorld) do(i int, events ...withdrawal.Event) bool {
	_, err := w.host.Do(context.Background(), w.requests[i], events...)
	return err == nil
}

func (w *batchWorld) get(i int) withdrawal.Withdrawal {
	r, err := w.host.Get(context.Background(), w.requests[i])
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *batchWorld) payout(id uuid.UUID) withdrawal.Payout {
	b, err := w.payouts.Get(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// say sends an event to a batch, which may be said again later.
func (w *batchWorld) say(id uuid.UUID, ev withdrawal.BatchEvent) bool {
	do := func() bool {
		_, err := w.payouts.Do(context.Background(), id, ev)
		return err == nil
	}
	w.again = append(w.again, func() { do() })
	return do()
}

func (w *batchWorld) repeat() {
	if len(w.again) > 0 {
		rapid.SampledFrom(w.again).Draw(w.T, "again")()
	}
}

// claim takes a group of what is pending; the first holds the slot.
func (w *batchWorld) claim() {
	var group []withdrawal.Withdrawal
	for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(w.T, "order") {
		if w.do(i, withdrawal.Claimed{By: w.by(withdrawal.WithdrawalWorker), Behind: len(group) > 0}) {
			group = append(group, w.get(i))
		}
		if len(group) > 1 && w.chance(3, "enough") {
			break
		}
	}
	if len(group) > 0 {
		w.groups = append(w.groups, group)
	}
}

// sign pays a group by one transaction, or its first alone. What is refused is
// not sent, and the group is given back.
func (w *batchWorld) sign() {
	if len(w.groups) == 0 {
		return
	}
	k := rapid.IntRange(0, len(w.groups)-1).Draw(w.T, "group")
	group := w.groups[k]
	w.groups = slices.Delete(w.groups, k, k+1)
	next := w.next()
	var taken []uint64
	for _, tx := range w.txs {
		taken = append(taken, uint64(tx.nonce))
	}
	slices.Sort(taken)
	nonce := withdrawal.FreeNonce(uint64(next), slices.Compact(taken))
	stored := false
	if len(group) == 1 && w.chance(2, "alone") || w.chance(6, "alone of many") {
		tx := w.tx(int(nonce), uuid.Nil, group[:1])
		stored = w.do(tx.intends[0], withdrawal.Prepared{By: w.by(withdrawal.WithdrawalWorker), Fence: group[0].Job.Lease.Fence,
			Hash: tx.hash, Raw: []byte{1},
			Nonce: nonce, HasNonce: true, ChainNonce: uint64(next), HasChainNonce: true})
		w.keep(tx, stored)
	} else {
		tx := w.tx(int(nonce), UUIDs().Draw(w.T, "batch"), group)
		stored = w.say(tx.batch, withdrawal.BatchPrepared{By: w.by(withdrawal.WithdrawalWorker), Batch: tx.batch, Pays: payOf(group),
			Hash: tx.hash, Raw: []byte{1},
			Nonce: nonce, HasNonce: true, ChainNonce: uint64(next), HasChainNonce: true})
		if w.keep(tx, stored); stored {
			w.batches = append(w.batches, tx.batch)
		}
	}
	for i := range group { // what it does not pay
		w.do(w.index(&group[i]), withdrawal.GivenBack{By: w.by(withdrawal.WithdrawalWorker), Fence: group[i].Job.Lease.Fence, Reason: "not paid"})
	}
}

func payOf(members []withdrawal.Withdrawal) (all []withdrawal.Pay) {
	for i := range members {
		m := &members[i]
		all = append(all, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: transfer(m, i)})
	}
	return all
}

func transfer(m *withdrawal.Withdrawal, output int) withdrawal.Transfer {
	return withdrawal.Transfer{Output: uint32(output), Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain,
		AmountRaw: m.Request.AmountRaw}
}

func (w *batchWorld) index(m *withdrawal.Withdrawal) int {
	return slices.Index(w.requests, m.Request.ID)
}

// tx makes a transaction, of a contract that may leave a transfer out or fail.
func (w *batchWorld) tx(nonce int, batch uuid.UUID, members []withdrawal.Withdrawal) *batchTx {
	w.hashes++
	tx := &batchTx{hash: fmt.Sprintf("%s-%d", w.chain, w.hashes), nonce: nonce, batch: batch, pays: map[int]uint32{},
		reverted: w.chance(8, "reverted")}
	for k := range members {
		i := w.index(&members[k])
		tx.intends = append(tx.intends, i)
		if !tx.reverted && (batch == uuid.Nil || !w.chance(8, "left out")) {
			tx.outs, tx.pays[i] = append(tx.outs, transfer(&members[k], k)), uint32(k)
		}
	}
	return tx
}

func (w *batchWorld) keep(tx *batchTx, stored bool) {
	if stored {
		w.txs = append(w.txs, tx)
	}
}

// replace pays some of the members by another version, as they are or were.
func (w *batchWorld) replace() {
	if len(w.batches) == 0 {
		return
	}
	b := w.payout(rapid.SampledFrom(w.batches).Draw(w.T, "batch"))
	w.stale = append(w.stale, b)
	if w.chance(3, "late") {
		b = rapid.SampledFrom(w.stale).Draw(w.T, "read")
	}
	var members []withdrawal.Withdrawal
	for i := range b.Members {
		if b.Has(&b.Members[i]) && !w.chance(3, "dropped") {
			members = append(members, b.Members[i])
		}
	}
	by := w.by(withdrawal.WithdrawalWorker)
	if !w.chance(4, "without a claim") {
		w.say(b.Batch.ID, withdrawal.BatchClaimed{By: by})
	}
	fence := w.payout(b.Batch.ID).Batch.Lease.Fence
	by.Version = b.Batch.Version
	tx := w.tx(int(b.Batch.Nonce), b.Batch.ID, members)
	w.keep(tx, w.say(b.Batch.ID, withdrawal.BatchReplaced{By: by, Fence: fence, Pays: payOf(members), Hash: tx.hash, Raw: []byte{2}}))
}

func (w *batchWorld) send() {
	if len(w.txs) > 0 {
		tx := rapid.SampledFrom(w.txs).Draw(w.T, "sent")
		tx.sent = true
		if tx.batch != uuid.Nil && !tx.foreign {
			w.say(tx.batch, withdrawal.BatchSent{By: w.by(withdrawal.WithdrawalWorker),
				Fence: w.payout(tx.batch).Batch.Lease.Fence, Hash: tx.hash, Done: true})
		}
	}
}

func (w *batchWorld) sendAll() {
	for _, tx := range w.txs {
		tx.sent = true
	}
}

// next is the account's next nonce.
func (w *batchWorld) next() (n int) {
	for _, tx := range w.blocks {
		if tx != nil {
			n++
		}
	}
	return n
}

// mine makes a block with the next transaction of the account, one of somebody
// else that has its nonce, or none.
func (w *batchWorld) mine() {
	var fits []*batchTx
	next := w.next()
	for _, tx := range w.txs {
		if tx.nonce == next && tx.sent {
			fits = append(fits, tx)
		}
	}
	switch {
	case w.chance(6, "foreign") && slices.ContainsFunc(w.txs, func(tx *batchTx) bool { return tx.nonce == next }):
		w.blocks = append(w.blocks, w.foreign(next))
	case len(fits) > 0:
		w.blocks = append(w.blocks, rapid.SampledFrom(fits).Draw(w.T, "mined"))
	default:
		w.blocks = append(w.blocks, nil)
	}
	w.deepest = max(w.deepest, len(w.blocks)-batchDepth+1)
}

// foreign is a transaction of the account that nobody has on file: it pays some of
// those whom others with that nonce pay, or less to their payee.
func (w *batchWorld) foreign(nonce int) *batchTx {
	tx := w.tx(nonce, uuid.Nil, nil)
	tx.foreign, tx.reverted, tx.sent = true, false, true
	var some []int
	for _, other := range w.txs {
		if other.nonce == nonce && !other.foreign {
			some = append(some, other.intends...)
		}
	}
	slices.Sort(some)
	for _, i := range slices.Compact(some) {
		r := w.get(i)
		out := transfer(&r, len(tx.outs))
		switch rapid.IntRange(0, 4).Draw(w.T, "pays") {
		case 0:
			out.AmountRaw = "1"
		case 1, 2:
			continue
		default:
			tx.pays[i] = out.Output
		}
		tx.outs = append(tx.outs, out)
	}
	w.txs = append(w.txs, tx)
	return tx
}

func (w *batchWorld) dig() {
	for range batchDepth + 2 {
		w.mine()
	}
}

func (w *batchWorld) reorg() {
	w.blocks = w.blocks[:max(w.deepest, len(w.blocks)-rapid.IntRange(1, batchDepth).Draw(w.T, "undone"))]
}

// at returns what is mined with a nonce, and its block.
func (w *batchWorld) at(nonce int) (*batchTx, withdrawal.Block) {
	for h, tx := range w.blocks {
		if tx != nil && tx.nonce == nonce {
			hash := fmt.Sprint("block of ", tx.hash)
			return tx, withdrawal.Block{Height: uint64(h), Hash: hash, Canonical: hash, Head: uint64(len(w.blocks) - 1)}
		}
	}
	return nil, withdrawal.Block{}
}

// look tells of every batch what the chain shows.
func (w *batchWorld) look() {
	for _, id := range w.batches {
		w.show(id, withdrawal.ConfirmationWorker)
	}
}

func (w *batchWorld) show(id uuid.UUID, role withdrawal.Role) {
	b := w.payout(id)
	tx, block := w.at(int(b.Batch.Nonce))
	switch {
	case tx == nil:
		w.say(id, withdrawal.BatchMissing{By: w.by(withdrawal.ConfirmationWorker)})
	case tx.foreign && role == withdrawal.ConfirmationWorker && w.chance(3, "cannot tell"):
		w.say(id, withdrawal.BatchCannotTell{By: w.by(role), Other: tx.hash})
	default:
		w.say(id, withdrawal.BatchMined{By: w.by(role), Block: block, Tx: tx.hash, Reverted: tx.reverted, GasUsed: "21000",
			GasPrice: "1", Transfers: tx.outs,
			Nonce: b.Batch.Nonce, HasNonce: true, Looked: true, Reason: "looked"})
	}
}

// lookAlone tells of every request that no batch has what the chain shows.
func (w *batchWorld) lookAlone() {
	for i := range w.requests {
		if r := w.get(i); r.Job.Status == withdrawal.JobConfirming && r.Job.Batch == uuid.Nil {
			w.tell(i, &r, withdrawal.ConfirmationWorker)
		}
	}
}

// tell says what became of the nonce of a request.
func (w *batchWorld) tell(i int, r *withdrawal.Withdrawal, role withdrawal.Role) {
	tx, block := w.at(int(r.Job.Nonce))
	if tx == nil {
		return
	}
	output, pays := tx.pays[i]
	onFile := slices.IndexFunc(r.Txs, func(f withdrawal.Tx) bool { return f.Hash == tx.hash })
	dead := withdrawal.ProvenDead{By: w.by(role), Block: block, Tx: r.Job.TxHash, Cause: withdrawal.NonceUsed, Other: tx.hash,
		Nonce: r.Job.Nonce, NotThisPayment: true}
	switch {
	case onFile >= 0 && (tx.reverted || r.Txs[onFile].Batch == uuid.Nil || !pays && role != withdrawal.Operator):
		w.do(i, withdrawal.Receipt{By: w.by(withdrawal.ConfirmationWorker), Block: block, Tx: tx.hash, Reverted: tx.reverted})
	case pays:
		w.do(i, withdrawal.PaidBy{By: w.by(role), Block: block, Tx: tx.hash, Output: output, Payee: r.Request.ToAddress,
			AssetOnChain: r.Job.AssetOnChain,
			AmountRaw:    r.Request.AmountRaw, Nonce: r.Job.Nonce, HasNonce: true, Reason: "looked"})
	case onFile >= 0:
		dead.Tx, dead.Cause = tx.hash, withdrawal.LeftOut
		w.do(i, dead)
	default:
		w.do(i, dead)
	}
}

// switchOn switches the wallet on, which an unknown outbound has switched off: the operator says what
// the chain shows of each, and whom it pays, once it is deep enough.
func (w *batchWorld) switchOn() {
	var last withdrawal.Open
	for {
		err := w.host.PutHotWallet(context.Background(), w.by(withdrawal.Operator), w.wallet)
		of := new(withdrawal.UnsettledError)
		switch {
		case err == nil:
			return
		case !errors.As(err, &of):
			w.Fatal(err)
		case of.Open == last || !w.explain(&of.Open): // it waits for blocks, or for what a request waits for
			return
		}
		last = of.Open
	}
}

// explain says what the chain shows of an open point of the wallet: of a nonce what has used it, of a
// transfer the request that it pays, or that it pays none.
func (w *batchWorld) explain(o *withdrawal.Open) bool {
	ctx, by := context.Background(), w.by(withdrawal.Operator)
	if o.Point == withdrawal.OpenUntold {
		tx, block := w.at(int(o.Number))
		if tx == nil {
			return false
		}
		used := withdrawal.Used{By: by, Wallet: w.wallet.ID, Tx: tx.hash, Block: block, Nonce: o.Number, Reverted: tx.reverted}
		for i := range tx.outs {
			used.Transfers = append(used.Transfers, withdrawal.UsedTransfer{Transfer: tx.outs[i]})
		}
		return w.host.Say(ctx, used) == nil
	}
	k := slices.IndexFunc(w.txs, func(tx *batchTx) bool { return tx.hash == o.Hash })
	tx, block := w.at(w.txs[k].nonce)
	out := tx.outs[slices.IndexFunc(tx.outs, func(t withdrawal.Transfer) bool { return uint64(t.Output) == o.Number })]
	for i, output := range tx.pays {
		if r := w.get(i); output == out.Output && !w.ended(&r) {
			return w.do(i, withdrawal.PaidBy{By: by, Block: block, Tx: tx.hash, Output: output, Payee: out.Payee, AssetOnChain: out.AssetOnChain,
				AmountRaw: out.AmountRaw, Nonce: uint64(tx.nonce), HasNonce: true, Reason: "looked"})
		}
	}
	const reason = "no payment of ours"
	return w.host.Say(ctx, withdrawal.Unclaimed{By: by, Wallet: w.wallet.ID, Tx: tx.hash, Transfer: out, Reason: reason}) == nil &&
		w.host.Say(ctx, withdrawal.Dropped{By: by, Wallet: w.wallet.ID, Tx: tx.hash, Output: out.Output, Reason: reason}) == nil
}

// operate ends reviews by what the chain shows, and switches the wallet on.
func (w *batchWorld) operate() {
	w.switchOn()
	for i := range w.requests {
		r := w.get(i)
		switch j := &r.Job; {
		case !j.Review:
		case j.Batch == uuid.Nil:
			w.tell(i, &r, withdrawal.Operator)
		case w.chance(2, "of all"):
			w.show(j.Batch, withdrawal.Operator)
		default:
			by := w.by(withdrawal.Operator)
			by.Version = j.Version
			w.do(i, withdrawal.Resolved{By: by, Job: j.ID, Sent: true, Hash: j.TxHash, Reason: "looked"})
		}
	}
}

func (w *batchWorld) stop() {
	i := rapid.IntRange(0, len(w.requests)-1).Draw(w.T, "stopped")
	op := w.by(withdrawal.Operator)
	w.do(i, rapid.SampledFrom([]withdrawal.Event{withdrawal.Held{By: op}, withdrawal.Held{By: op}, withdrawal.Released{By: op},
		withdrawal.Released{By: op}, withdrawal.Cancelled{By: op}}).Draw(w.T, "stop"))
}

// set sets the clock, by the longest that a rule waits or by days, ahead or back, or right.
func (w *batchWorld) set() {
	d := rapid.SampledFrom([]time.Duration{-w.off, time.Microsecond, -time.Microsecond, 2 * time.Hour, -2 * time.Hour, 48 * time.Hour,
		-48 * time.Hour}).Draw(w.T, "the clock is set")
	*w.clock, w.off = w.clock.Add(d), w.off+d
}

// pass lets leases end.
func (w *batchWorld) pass() {
	*w.clock = w.clock.Add(30 * time.Minute)
	for i := range w.requests {
		w.do(i, withdrawal.Elapsed{By: w.by(withdrawal.System)})
	}
}
